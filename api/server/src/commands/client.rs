//! Making, listing and changing clients.
use std::path::Path;

use axum::http::Method;
use serde_json::{Value, json};

use crate::admin::clients::{ClientChange, ClientChangeError, NewClient, change_client, shown};
use crate::commands::arguments::{ClientCommand, Kept};
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator, path_segment};
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
    let (method, path, body) = match line.command {
        ClientCommand::List => (Method::GET, "clients".to_owned(), Body::default()),
        ClientCommand::Show { client } => (Method::GET, path_of(&client), Body::default()),
        ClientCommand::Create(new) => {
            (Method::POST, "clients".to_owned(), Body::json(&json!(NewClient::from(new))))
        }
        other => {
            let (client, change) = change_of(other);
            (Method::PATCH, path_of(&client), Body::json(&json!(change)))
        }
    };
    let answer = operator.read_answer(method, &path, body).await?;
    print_answer(&serde_json::from_str(&answer).unwrap_or(Value::String(answer)))
}

fn path_of(client: &str) -> String {
    format!("clients/{}", path_segment(client))
}

/// An answer that may have a secret which is shown this once only.
fn print_answer(answer: &Value) -> Result<(), Failure> {
    let text = format!("{answer:#}");
    if answer.get("client_secret").is_some() { print_secret(&text) } else { print(&text) }
}

/// The client of a command, and the change that it asks for.
fn change_of(command: ClientCommand) -> (String, Option<ClientChange>) {
    match command {
        ClientCommand::Rotate { client, end_tokens } => {
            (client, Some(ClientChange::Rotate { ends_tokens: end_tokens }))
        }
        ClientCommand::Revoke { client } => (client, Some(ClientChange::Revoke)),
        ClientCommand::Rename { client, name } => (client, Some(ClientChange::Rename(name))),
        ClientCommand::Pin { client, version } => (client, Some(ClientChange::Pin(version))),
        ClientCommand::Show { client } => (client, None),
        ClientCommand::List | ClientCommand::Create(_) => (String::new(), None),
    }
}

async fn run_in_store(file: Option<&Path>, command: ClientCommand) -> Result<(), Failure> {
    let config = Config::load(file)?;
    let store = match command {
        // A client may be made before the first start.
        ClientCommand::Create(_) => Store::open(&config.store.url).await?,
        _ => Store::open_existing(&config.store.url).await?,
    };
    match command {
        ClientCommand::List => {
            let all = clients::all_clients(&store).await?;
            print(&format!("{:#}", all.iter().map(shown).collect::<Value>()))
        }
        ClientCommand::Create(new) => {
            let made = NewClient::from(new).make(&config.versions, Clock::system().now()).await?;
            // Printed first: a client whose secret nobody read would be of no use.
            print_secret(&format!("{:#}", made.shown()))?;
            Ok(clients::insert_client(&store, &made.row).await?)
        }
        other => {
            let (client, change) = change_of(other);
            let found = match change {
                Some(change) => change_client(&store, &config.versions, &client, change).await?,
                None => clients::get_client(&store, &client).await?.as_ref().map(shown),
            };
            print_answer(&found.ok_or(Failure::UnknownClient(client))?)
        }
    }
}

impl From<ClientChangeError> for Failure {
    fn from(error: ClientChangeError) -> Self {
        match error {
            ClientChangeError::Invalid(error) => error.into(),
            ClientChangeError::Store(error) => error.into(),
        }
    }
}
