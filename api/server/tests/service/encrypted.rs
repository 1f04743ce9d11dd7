//! Secrets in the database, encrypted and with another key.
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use slackwater_control::device::scope::DeviceKind;
use slackwater_service::outbox::subscribing::subscribe;
use slackwater_store::accounts::all_accounts;
use slackwater_store::database::Store;
use slackwater_store::deliveries::all_subscriptions;
use slackwater_store::keyring::{EncryptionKey, Keyring};
use slackwater_store::rekey::{check_keys, encrypt_all};
use slackwater_store::subscription::NewSubscription;
use sqlx::Row;

use crate::harness::{On, Stage, device};

const CREDENTIALS: &str = "secret of the account";
const SIGNING: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn key(byte: u8) -> EncryptionKey {
    STANDARD.encode([byte; 32]).parse().unwrap()
}

fn keys(current: u8, old: &[u8]) -> Keyring {
    Keyring::new(Some(key(current)), old.iter().map(|byte| key(*byte)).collect())
}

/// A service whose database has a linked account, and a receiver with a secret.
async fn with_secrets(on: On, keyring: Keyring) -> Stage {
    let stage = Stage::with(on, |config| config.store.keys = keyring).await;
    let asker = stage.client("a").await;
    stage.link(&asker, "u", device("car", DeviceKind::Vehicle)).await;
    let new: NewSubscription = serde_json::from_value(serde_json::json!({
        "name": "billing", "client": asker.id, "url": "http://h.example/", "secret": SIGNING,
    }))
    .unwrap();
    subscribe(stage.app.store(), &new).await.unwrap();
    stage
}

/// All columns with secrets, as the database has them.
async fn stored(store: &Store) -> Vec<(String, Option<String>)> {
    let query = "select secret, secret_key from connections
         union all select secret, secret_key from subscriptions";
    let rows = sqlx::query(query).fetch_all(store.reader()).await.unwrap();
    rows.iter().map(|row| (row.get("secret"), row.get("secret_key"))).collect()
}

/// Secrets as the service uses them, or why it cannot.
async fn used(store: &Store) -> Result<(String, String), String> {
    let accounts = all_accounts(store).await.map_err(|failure| failure.to_string())?;
    let connection = accounts[0].connection.as_ref().unwrap().secret().to_owned();
    let receivers = all_subscriptions(store).await.unwrap();
    let secret =
        receivers[0].signing_secret(store.keys()).map_err(|failure| failure.to_string())?;
    Ok((connection, secret.unwrap().text().to_owned()))
}

fn expected() -> (String, String) {
    (CREDENTIALS.to_owned(), SIGNING.to_owned())
}

#[tokio::test]
async fn the_database_holds_no_secret_in_clear_and_a_restart_reads_all() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = with_secrets(on, keys(1, &[])).await;
        let name = stage.app.store().keys().current().map(str::to_owned);
        for (secret, key) in stored(stage.app.store()).await {
            assert!(!secret.contains(CREDENTIALS) && !secret.contains("whsec"), "{secret}");
            assert_eq!(key, name);
        }
        assert_eq!(check_keys(stage.app.store()).await.unwrap(), 0);
        let stage = stage.restarted().await;
        assert_eq!(used(stage.app.store()).await, Ok(expected()));
    }
}

#[tokio::test]
async fn all_secrets_get_another_key_and_old_rows_are_read_meanwhile() {
    for on in [On::Sqlite, On::Postgres] {
        let stage = with_secrets(on, Keyring::default()).await;
        let url = &stage.app.config().store.url;
        let open = async |keyring| Store::open(url).await.unwrap().with_keys(keyring);
        let none = open(Keyring::default()).await;
        assert!(
            encrypt_all(&none).await.unwrap_err().to_string().contains("store.key_file is not")
        );
        let first = open(keys(1, &[])).await;
        assert_eq!((check_keys(&first).await.unwrap(), used(&first).await), (2, Ok(expected())));
        let done = encrypt_all(&first).await.unwrap();
        assert_eq!((done.connections, done.subscriptions), (1, 1));
        assert_eq!((check_keys(&first).await.unwrap(), used(&first).await), (0, Ok(expected())));
        // Whoever lacks the key is told which one it is, and changes nothing.
        for lacking in [none, open(keys(2, &[])).await] {
            let refused = check_keys(&lacking).await.unwrap_err().to_string();
            assert!(refused.starts_with("1 secrets in connections are encrypted"), "{refused}");
            assert!(refused.contains(&done.key) && refused.contains("store.old_key_files"));
            assert!(used(&lacking).await.unwrap_err().contains(&done.key));
        }
        let both = open(keys(2, &[1])).await;
        assert_eq!(used(&both).await, Ok(expected()));
        let done = encrypt_all(&both).await.unwrap();
        assert_eq!((done.connections, done.subscriptions), (1, 1));
        assert_eq!(encrypt_all(&both).await.unwrap().connections, 0);
        let second = open(keys(2, &[])).await;
        assert_eq!((check_keys(&second).await.unwrap(), used(&second).await), (0, Ok(expected())));
        assert!(check_keys(&first).await.is_err());
    }
}

/// Returns `true` if a file of the database has a secret in clear.
fn has_clear(stage: &Stage) -> bool {
    std::fs::read_dir(stage.folder().path()).unwrap().any(|file| {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        [CREDENTIALS, SIGNING]
            .iter()
            .any(|secret| bytes.windows(secret.len()).any(|window| window == secret.as_bytes()))
    })
}

#[tokio::test]
async fn a_file_keeps_nothing_in_clear_of_secrets_that_were_encrypted_later() {
    let stage = with_secrets(On::Sqlite, Keyring::default()).await;
    // Of several rows in a page, what is replaced is not overwritten by chance.
    let other = stage.client("b").await;
    for user in ["v", "w"] {
        stage.link(&other, user, device(user, DeviceKind::Vehicle)).await;
    }
    stage.app.store().close().await;
    assert!(has_clear(&stage));
    let store = Store::open(&stage.app.config().store.url).await.unwrap();
    let store = store.with_keys(keys(1, &[]));
    encrypt_all(&store).await.unwrap();
    store.close().await;
    assert!(!has_clear(&stage));
}

#[tokio::test]
async fn a_secret_that_was_moved_to_another_row_is_refused() {
    let stage = with_secrets(On::Sqlite, keys(1, &[])).await;
    let mut change = stage.app.store().begin().await.unwrap();
    let moved = sqlx::query("update connections set user_id = 'v' where user_id = 'u'");
    sqlx::query(
        "insert into users (client_id, id, created_at) select client_id, 'v', 0 from users",
    )
    .execute(change.connection())
    .await
    .unwrap();
    moved.execute(change.connection()).await.unwrap();
    change.commit(|| ()).await.unwrap();
    let refused = used(stage.app.store()).await.unwrap_err();
    assert!(refused.contains("moved from another row") && refused.contains("client-a/v/FJORD"));
}
