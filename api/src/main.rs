//! The process around the service: arguments, log, signals.

mod arguments;
mod commands;

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use slackwater_api::admin::openapi;

use crate::arguments::{Arguments, ClientCommand, Command};
use crate::commands::{client, command, events, link, policy, prices, sandbox, serve};

/// Answers are many small texts that live for microseconds.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let file = arguments.config.as_deref();
    let done = match arguments.command {
        Command::Serve(arguments) => serve::serve(file, &arguments).await,
        Command::Client(ClientCommand::Create(new)) => client::create(file, new).await,
        Command::Client(ClientCommand::List) => client::list(file).await,
        Command::Tell(line) => command::run(line).await,
        Command::Events(command) => events::run(file, command).await,
        Command::Link(strings) => link::answer(strings).await,
        Command::Sandbox(strings) => sandbox::pull(strings).await,
        Command::Prices(words) => prices::order(&words.admin, words.command).await,
        Command::Tariff(words) => prices::tariff(&words.admin, words.command).await,
        Command::Policy(words) => policy::policy(&words.admin, words.command).await,
        Command::Plan(words) => policy::plan(&words.admin, words.command).await,
        Command::Openapi => {
            print!("{}", openapi::text());
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
