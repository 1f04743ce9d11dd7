//! Secrets of all rows: which keys they need, and their encryption with the present key.
use serde::Serialize;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use crate::database::Store;
use crate::error::StoreError;
use crate::keyring::{CipherError, StoredSecret};

/// Rows that are encrypted in one change, which others wait for.
const ROWS_MAX: u32 = 500;

/// Table with secrets in the columns `secret` and `secret_key`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SecretTable {
    /// Name of the table.
    pub(crate) name: &'static str,
    /// Columns that identify a row. They are authenticated with its secret.
    pub(crate) key: &'static [&'static str],
}

/// Credentials of users' accounts with manufacturers.
pub(crate) const CONNECTIONS: SecretTable =
    SecretTable { name: "connections", key: &["client_id", "user_id", "vendor"] };

/// Secrets that sign events.
pub(crate) const SUBSCRIPTIONS: SecretTable = SecretTable { name: "subscriptions", key: &["name"] };

/// All tables with secrets.
const TABLES: [SecretTable; 2] = [CONNECTIONS, SUBSCRIPTIONS];

/// Number of secrets that a command encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rekeyed {
    /// Name of the key that they are encrypted with.
    pub key: String,
    /// Credentials of accounts that had another key, or none.
    pub connections: u64,
    /// Secrets of receivers that had another key, or none.
    pub subscriptions: u64,
}

impl SecretTable {
    /// Table and key of a row, as the cipher authenticates them.
    pub(crate) fn row<'a>(self, key: &[&'a str]) -> Vec<&'a str> {
        [&[self.name][..], key].concat()
    }

    /// Encrypts some secrets that do not have the present key. Returns for how many rows.
    async fn encrypt_some(self, store: &Store, current: &str) -> Result<u64, StoreError> {
        let Self { name, key } = self;
        let columns = key.join(", ");
        let mut change = store.begin().await?;
        if !store.is_shared() {
            // SQLite overwrites what is replaced with zeros, in place of leaving it in the page.
            sqlx::query("pragma secure_delete = on").execute(change.connection()).await?;
        }
        let select = format!(
            "select {columns}, secret, secret_key from {name}
             where secret is not null and coalesce(secret_key, '') <> $1 limit {ROWS_MAX}"
        );
        let query = sqlx::query(AssertSqlSafe(select)).bind(current);
        let rows = query.fetch_all(change.connection()).await?;
        let given = key.iter().zip(4..).map(|(column, place)| format!("{column} = ${place}"));
        // A secret that was replaced meanwhile has the present key already.
        let update = format!(
            "update {name} set secret = $1, secret_key = $2 where secret = $3 and {}",
            given.collect::<Vec<_>>().join(" and ")
        );
        for row in &rows {
            let (values, stored) = self.read(row)?;
            let names: Vec<&str> = values.iter().map(String::as_str).collect();
            let before = stored.text.clone();
            let secret = store.keys().decrypt(&self.row(&names), stored);
            let secret = secret.map_err(|reason| self.refusal(&names, &reason))?;
            let sealed = store.keys().encrypt(&self.row(&names), &secret)?;
            let query = sqlx::query(AssertSqlSafe(update.clone()));
            let mut query = query.bind(sealed.text).bind(sealed.key).bind(before);
            for value in &values {
                query = query.bind(value);
            }
            query.execute(change.connection()).await?;
        }
        change.commit(|| ()).await?;
        Ok(rows.len() as u64)
    }

    fn read(self, row: &AnyRow) -> Result<(Vec<String>, StoredSecret), StoreError> {
        let values = self.key.iter().map(|column| row.try_get(*column));
        let values = values.collect::<Result<Vec<String>, sqlx::Error>>()?;
        let stored = StoredSecret { text: row.try_get("secret")?, key: row.try_get("secret_key")? };
        Ok((values, stored))
    }

    /// Failure of a row whose secret is not read.
    pub(crate) fn refusal(self, key: &[&str], reason: &CipherError) -> StoreError {
        let reason = format!("secret: {reason}");
        StoreError::Corrupt { table: self.name, id: key.join("/"), reason }
    }
}

/// Refuses to go on if secrets need a key that no file has. Returns how many secrets are in clear
/// text.
///
/// # Errors
/// A key is missing, or the database failed.
pub async fn check_keys(store: &Store) -> Result<u64, StoreError> {
    let mut clear = 0;
    for SecretTable { name, .. } in TABLES {
        let statement = format!(
            "select secret_key, cast(count(*) as bigint) as secrets from {name}
             where secret is not null group by secret_key"
        );
        for row in sqlx::query(AssertSqlSafe(statement)).fetch_all(store.reader()).await? {
            let (key, count): (Option<String>, i64) =
                (row.try_get("secret_key")?, row.try_get("secrets")?);
            match key {
                None => clear += count.unsigned_abs(),
                Some(key) if store.keys().has(&key) => {}
                Some(key) => return Err(StoreError::NoKey { table: name, count, key }),
            }
        }
    }
    Ok(clear)
}

/// Encrypts all secrets with the present key: those in clear text, and those of other keys. A
/// service may run meanwhile. A file does not keep what was there in clear, once its log is taken
/// over into it; a server keeps versions of rows until it removes them (`vacuum full`).
///
/// # Errors
/// There is no present key, a secret cannot be read, or the database failed. What was encrypted
/// before stays so.
pub async fn encrypt_all(store: &Store) -> Result<Rekeyed, StoreError> {
    let Some(current) = store.keys().current().map(str::to_owned) else {
        return Err(StoreError::NoCurrentKey);
    };
    let mut counts = [0; TABLES.len()];
    for (table, count) in TABLES.into_iter().zip(&mut counts) {
        loop {
            match table.encrypt_some(store, &current).await? {
                0 => break,
                some => *count += some,
            }
        }
    }
    let [connections, subscriptions] = counts;
    Ok(Rekeyed { key: current, connections, subscriptions })
}
