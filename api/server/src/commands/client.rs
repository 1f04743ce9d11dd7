//! Making and listing clients.
use std::path::Path;

use axum::http::Method;
use serde_json::{Value, json};

use crate::admin::clients::{NewClient, shown};
use crate::commands::arguments::{ClientCommand, Kept};
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator};
use crate::commands::output::{print, print_secret};
use slackwater_service::clock::Clock;
use slackwater_service::config::Config;
use slackwater_store::clients;
use slackwater_store::database::Store;

/// Runs a command about clients, at a running server or in the database.
pub(crate) async fn run_client_command(
    file: Option<&Path>,
    line: Kept<ClientCommand>,
) -> Result<(), Failure> {
    if line.store {
        return run_in_store(file, line.command).await;
    }
    let operator = Operator::connect(&line.server, file)?;
    match line.command {
        ClientCommand::List => operator.print_answer(Method::GET, "clients", Body::default()).await,
        ClientCommand::Create(new) => {
            let wish = Body::json(&json!(NewClient::from(new)));
            let made = operator.read_answer(Method::POST, "clients", wish).await?;
            let made: Value = serde_json::from_str(&made).unwrap_or(Value::String(made));
            print_secret(&format!("{made:#}"))
        }
    }
}

async fn run_in_store(file: Option<&Path>, command: ClientCommand) -> Result<(), Failure> {
    let config = Config::load(file)?;
    let store = Store::open(&config.store.url).await?;
    match command {
        ClientCommand::List => {
            let all = clients::all_clients(&store).await?;
            let all: Vec<Value> = all.iter().map(|row| shown(&row.client)).collect();
            print(&format!("{:#}", Value::from(all)))
        }
        ClientCommand::Create(new) => {
            let made = NewClient::from(new).make(&config.versions, Clock::system().now()).await?;
            // Printed first: a client whose secret nobody read would be of no use.
            print_secret(&format!("{:#}", made.shown()))?;
            Ok(clients::insert_client(&store, &made.row).await?)
        }
    }
}
