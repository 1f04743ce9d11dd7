//! The process around the service: arguments, and what they ask for.
use std::process::ExitCode;

use clap::Parser;
use tokio::runtime::Runtime;

use crate::admin::openapi;
use crate::arguments::{Arguments, ClientCommand, Command};
use crate::commands::failure::Failure;
use crate::commands::{client, command, events, link, policy, prices, sandbox, serve};

/// Does what the arguments of this process say.
#[must_use]
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match Runtime::new() {
        Ok(runtime) => runtime.block_on(obey(arguments)),
        Err(failure) => Err(Failure::Start(failure)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn obey(arguments: Arguments) -> Result<(), Failure> {
    let file = arguments.config.as_deref();
    match arguments.command {
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
    }
}
