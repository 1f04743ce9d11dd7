//! Keys of secrets in the database.
use std::path::Path;

use serde_json::json;
use slackwater_service::config::Config;
use slackwater_store::database::Store;
use slackwater_store::error::StoreError;
use slackwater_store::keyring::EncryptionKey;
use slackwater_store::rekey::{check_keys, encrypt_all};

use crate::commands::arguments::StoreCommand;
use crate::commands::failure::Failure;
use crate::commands::output::{print, print_secret};

/// Runs a command about keys of the database.
pub(crate) async fn run_store_command(
    file: Option<&Path>,
    command: &StoreCommand,
) -> Result<(), Failure> {
    match command {
        StoreCommand::Key => print_secret(&EncryptionKey::generate().map_err(StoreError::from)?),
        StoreCommand::Rekey => {
            let settings = Config::load(file)?.store;
            if settings.keys.current().is_none() {
                return Err(StoreError::NoCurrentKey.into());
            }
            let store = Store::open_existing(&settings.url).await?.with_keys(settings.keys);
            check_keys(&store).await?;
            let done = encrypt_all(&store).await?;
            // The log of a file has what was in clear.
            store.close().await;
            print(&format!("{:#}", json!(done)))
        }
    }
}
