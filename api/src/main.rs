//! The process around the service: arguments, log, signals.

mod arguments;
mod commands;

use std::process::ExitCode;

use clap::Parser;
use slackwater_api::admin::openapi;

use crate::arguments::{Arguments, ClientCommand, Command};
use crate::commands::{client, prices, sandbox, serve};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let file = arguments.config.as_deref();
    let done = match arguments.command {
        Command::Serve(arguments) => serve::serve(file, &arguments).await,
        Command::Client(ClientCommand::Create(new)) => client::create(file, new).await,
        Command::Client(ClientCommand::List) => client::list(file).await,
        Command::Sandbox(strings) => sandbox::pull(strings).await,
        Command::Prices(order) => prices::order(order).await,
        Command::Tariff(order) => prices::tariff(order).await,
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
