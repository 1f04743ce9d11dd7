//! Making and listing clients.
use std::path::Path;

use crate::auth::client::{Client, Environment};
use crate::auth::secret::{generate, hash};
use crate::clock::Clock;
use crate::config::Config;
use crate::store::clients::{self, ClientRow};
use crate::store::database::Store;
use serde_json::{Value, json};
use slackwater_engine::version::dated::ApiVersion;
use uuid::Uuid;

use crate::arguments::CreateClient;
use crate::commands::failure::Failure;

/// Makes a client and prints its secret, which nobody can ever read again.
pub(crate) async fn create(file: Option<&Path>, new: CreateClient) -> Result<(), Failure> {
    let config = Config::load(file)?;
    let now = Clock::system().now();
    let version = new.version.unwrap_or_else(|| config.versions.current(now));
    if let Some(releases) = &config.versions.releases
        && !releases.stage(version, now).may_be_chosen()
    {
        return Err(Failure::Version(version));
    }
    let store = Store::open(&config.store.url).await?;
    let (client, secret) = keep_new(&store, new.environment, new.name, version).await?;
    let mut shown = shown(&client);
    shown["client_secret"] = secret.into();
    println!("{shown:#}");
    Ok(())
}

/// Prints all clients.
pub(crate) async fn list(file: Option<&Path>) -> Result<(), Failure> {
    let store = Store::open(&Config::load(file)?.store.url).await?;
    let all = clients::all(&store).await?;
    let all: Vec<Value> = all.iter().map(|row| shown(&row.client)).collect();
    println!("{:#}", Value::from(all));
    Ok(())
}

/// A new client and its secret.
pub(crate) async fn keep_new(
    store: &Store,
    environment: Environment,
    name: String,
    version: ApiVersion,
) -> Result<(Client, String), Failure> {
    let secret = generate()?;
    let id = Uuid::new_v4().to_string();
    let created_at = Clock::system().now();
    let client = Client { id, environment, name, version, created_at };
    let row = ClientRow { client: client.clone(), secret_hash: hash(&secret)? };
    clients::insert(store, &row).await?;
    Ok((client, secret))
}

fn shown(client: &Client) -> Value {
    json!({
        "client_id": client.id,
        "environment": client.environment.as_str(),
        "name": client.name,
        "version": client.version.as_str(),
        "created_at": client.created_at,
    })
}
