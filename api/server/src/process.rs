//! The process around the service: arguments, and what they ask for.
use std::io;
use std::process::ExitCode;

use clap::Parser;
use slackwater_integration::registry::Registry;
use tokio::runtime::Runtime;

use crate::commands::arguments::{Arguments, Command};
use crate::commands::failure::Failure;
use crate::commands::output::print;
use crate::commands::{charger, client, command, events, link, policy, prices, sandbox, serve};
use slackwater_http::openapi;

/// Runs the program with the integrations of a registry, as the arguments of the process say.
#[must_use]
pub fn run(registry: &Registry) -> ExitCode {
    let arguments = Arguments::parse();
    let done = match Runtime::new() {
        Ok(runtime) => runtime.block_on(obey(arguments, registry)),
        Err(failure) => Err(Failure::Start(failure)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read, such as `head`, has had enough.
        Err(Failure::Print(reason)) if reason.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn obey(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    let file = arguments.config.as_deref();
    match arguments.command {
        Command::Serve(arguments) => serve::serve(file, &arguments, registry).await,
        Command::Client(line) => client::run(file, line).await,
        Command::Charger(command) => charger::run(&command),
        Command::Tell(line) => command::run(file, line).await,
        Command::Events(line) => events::run(file, line).await,
        Command::Link(line) => link::answer(file, line).await,
        Command::Sandbox(line) => sandbox::pull(file, line).await,
        Command::Prices(line) => prices::order(file, line).await,
        Command::Tariff(line) => prices::tariff(file, line).await,
        Command::Policy(line) => policy::policy(file, line).await,
        Command::Plan(line) => policy::plan(file, line).await,
        Command::Openapi => print(&openapi::write_document()),
    }
}
