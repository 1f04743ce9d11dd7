//! The process around the service: arguments, and what they ask for.
use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use clap_complete::generate;
use slackwater_integration::registry::Registry;
use tokio::runtime::Runtime;

use crate::commands::arguments::{Arguments, Command};
use crate::commands::failure::Failure;
use crate::commands::output::print;
use crate::commands::{
    admin, charger, client, command, config, events, evidence, grid, inventory, limit, link,
    policy, prices, sandbox, serve, store,
};
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
        Command::Serve(arguments) => Box::pin(serve::run_service(file, &arguments, registry)).await,
        Command::Client(line) => client::run_client_command(file, line).await,
        Command::Charger(line) => charger::run_charger_command(file, line).await,
        Command::Tell(line) => command::run_device_command(file, line).await,
        Command::Events(line) => events::run_events_command(file, line).await,
        Command::Link(line) => link::run_link_command(file, line).await,
        Command::Sandbox(line) => sandbox::run_sandbox_command(file, line).await,
        Command::Prices(line) => prices::run_prices_command(file, line).await,
        Command::Limit(line) => limit::run_limit_command(file, line).await,
        Command::Grid(line) => grid::run_grid_command(file, line).await,
        Command::Evidence(command) => evidence::run_evidence_command(&command),
        Command::Tariff(line) => prices::run_tariff_command(file, line).await,
        Command::Policy(line) => policy::run_policy_command(file, line).await,
        Command::Plan(line) => policy::run_plan_command(file, line).await,
        Command::Admin(line) => admin::run_admin_command(file, line).await,
        Command::Config(command) => config::run_config_command(file, &command, registry),
        Command::Store(command) => store::run_store_command(file, &command).await,
        Command::User(line) => inventory::run_user_command(file, line).await,
        Command::Location(line) => inventory::run_location_command(file, line).await,
        Command::Device(line) => inventory::run_device_command(file, line).await,
        Command::Completions { shell } => {
            let mut text = Vec::new();
            generate(shell, &mut Arguments::command(), "slackwater-api", &mut text);
            print(&String::from_utf8_lossy(&text))
        }
        Command::Openapi => print(&openapi::write_document()),
    }
}
