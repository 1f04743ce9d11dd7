//! Accounts of users with manufacturers.
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::keyring::{Keyring, StoredSecret};
use crate::lease::{Lease, LeasedTable};
use crate::rekey::CONNECTIONS;
use crate::rows::{Cells, Pair, of_keys};
use crate::samples;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::vendor::Connection;

/// The account of a user with a manufacturer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The client.
    pub client_id: String,
    /// Its user.
    pub user_id: String,
    /// The manufacturer.
    pub vendor: VendorCode,
    /// Connection to call it by; `None` after the client let go of it.
    pub connection: Option<Connection>,
    /// True if the manufacturer accepts the connection.
    pub is_valid: bool,
    /// When it was first linked.
    pub created_at: DateTime<Utc>,
}

/// Keeps an account, in place of what was kept of it. Its connection is encrypted. Whoever renews
/// the tokens of the connection before loses the lease.
///
/// # Errors
/// The database failed, or the system has no random numbers.
pub async fn upsert_account(
    to: &mut AnyConnection,
    row: &Account,
    keys: &Keyring,
) -> Result<(), StoreError> {
    let encrypt = |connection: &Connection| keys.encrypt(&row.cipher_row(), connection.secret());
    let secret = row.connection.as_ref().map(encrypt).transpose()?;
    let (secret, key) = secret.map(|stored| (stored.text, stored.key)).unzip();
    sqlx::query(
        "insert into connections
             (client_id, user_id, vendor, secret, secret_key, is_valid, created_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (client_id, user_id, vendor)
         do update set secret = excluded.secret, secret_key = excluded.secret_key,
                       is_valid = excluded.is_valid, created_at = excluded.created_at,
                       renewed_by = null, renewed_until = 0",
    )
    .bind(&row.client_id)
    .bind(&row.user_id)
    .bind(row.vendor.as_str())
    .bind(secret)
    .bind(key.flatten())
    .bind(i64::from(row.is_valid))
    .bind(row.created_at.timestamp_micros())
    .execute(to)
    .await?;
    Ok(())
}

/// Leases of accounts whose tokens are renewed.
const RENEWALS: LeasedTable = LeasedTable {
    name: "connections",
    key: &["client_id", "user_id", "vendor"],
    holder: "renewed_by",
    until: "renewed_until",
    has_work: "is_valid = 1 and secret is not null",
};

/// Acquires the lease of an account, so that its tokens are renewed by one process. Returns the
/// account as it is kept; `None` if another process renews it, or nothing is to be renewed.
///
/// # Errors
/// The database failed, or the connection cannot be decrypted.
pub async fn acquire_account(
    to: &mut AnyConnection,
    account: &Account,
    lease: &Lease<'_>,
    keys: &Keyring,
) -> Result<Option<Account>, StoreError> {
    let row: Option<EncryptedAccount> = RENEWALS.acquire(to, &account.key(), lease).await?;
    row.map(|row| row.decrypt(keys)).transpose()
}

/// Gives the lease of an account back, with its new connection if there is one. Returns `false` if
/// the process does not hold the lease any more: then the change must not be committed.
///
/// # Errors
/// The database failed, or the system has no random numbers.
pub async fn release_account(
    to: &mut AnyConnection,
    (account, renewed): (&Account, Option<&Connection>),
    holder: &str,
    keys: &Keyring,
) -> Result<bool, StoreError> {
    if let Some(connection) = renewed {
        let stored = keys.encrypt(&account.cipher_row(), connection.secret())?;
        sqlx::query(
            "update connections set secret = $1, secret_key = $2
             where client_id = $3 and user_id = $4 and vendor = $5 and renewed_by = $6",
        )
        .bind(stored.text)
        .bind(stored.key)
        .bind(&account.client_id)
        .bind(&account.user_id)
        .bind(account.vendor.as_str())
        .bind(holder)
        .execute(&mut *to)
        .await?;
    }
    RENEWALS.release(to, &account.key(), holder).await
}

/// Remembers that the manufacturer does not accept an account. What is kept of its connection
/// stays as it is. Returns `false` if that was known, or the account was linked anew or deleted.
///
/// # Errors
/// The database failed.
pub async fn refuse_account(to: &mut AnyConnection, account: &Account) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "update connections set is_valid = 0
         where client_id = $1 and user_id = $2 and vendor = $3 and created_at = $4
             and is_valid = 1",
    )
    .bind(&account.client_id)
    .bind(&account.user_id)
    .bind(account.vendor.as_str())
    .bind(account.created_at.timestamp_micros())
    .execute(to)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Deletes an account, the devices on it, and what was recorded of them (LNK-33).
///
/// The devices go first: whoever records one at the same moment has the row of it until then, or
/// finds none afterwards. Returns `true` if there was an account of this creation; if not, the
/// change must not be committed.
///
/// # Errors
/// The database failed.
pub async fn delete_account(to: &mut AnyConnection, account: &Account) -> Result<bool, StoreError> {
    let Account { client_id, user_id, vendor, created_at, .. } = account;
    let gone = sqlx::query(
        "delete from devices where client_id = $1 and user_id = $2 and vendor = $3 returning id",
    );
    let gone = gone.bind(client_id).bind(user_id).bind(vendor.as_str());
    for row in gone.fetch_all(&mut *to).await? {
        let id: Uuid = Cells::new("devices", &row).get("id")?;
        samples::delete_device_samples(to, (client_id.as_str(), user_id.as_str()), id).await?;
    }
    let done = sqlx::query(
        "delete from connections
         where client_id = $1 and user_id = $2 and vendor = $3 and created_at = $4",
    );
    let done = done.bind(client_id).bind(user_id).bind(vendor.as_str());
    let done = done.bind(created_at.timestamp_micros()).execute(to).await?;
    Ok(done.rows_affected() == 1)
}

/// All accounts.
///
/// # Errors
/// The database failed, or a connection cannot be decrypted.
pub async fn all_accounts(store: &Store) -> Result<Vec<Account>, StoreError> {
    let query = sqlx::query_as("select * from connections");
    let rows: Vec<EncryptedAccount> = query.fetch_all(store.reader()).await?;
    rows.into_iter().map(|row| row.decrypt(store.keys())).collect()
}

/// The accounts of these users.
///
/// # Errors
/// The database cannot be read, or a connection cannot be decrypted.
pub async fn accounts_of_users(
    from: &mut AnyConnection,
    names: &BTreeSet<Pair>,
    keys: &Keyring,
) -> Result<Vec<Account>, StoreError> {
    let query = "select * from connections where (client_id, user_id) in
         (select value ->> 0, value ->> 1 from json_array_elements(cast($1 as json)))";
    let rows: Vec<EncryptedAccount> = of_keys(from, query, names).await?;
    rows.into_iter().map(|row| row.decrypt(keys)).collect()
}

/// An account, apart from its connection, which is encrypted.
struct EncryptedAccount {
    account: Account,
    secret: Option<StoredSecret>,
}

impl EncryptedAccount {
    fn decrypt(self, keys: &Keyring) -> Result<Account, StoreError> {
        let Self { account, secret } = self;
        let row = account.cipher_row();
        let secret = secret.map(|stored| keys.decrypt(&row, stored)).transpose();
        let secret = secret.map_err(|reason| CONNECTIONS.refusal(&row[1..], &reason))?;
        Ok(Account { connection: secret.map(Connection::new), ..account })
    }
}

impl Account {
    /// Key of the row.
    fn key(&self) -> [&str; 3] {
        [&self.client_id, &self.user_id, self.vendor.as_str()]
    }

    /// Table and key of the row, as the cipher authenticates them.
    fn cipher_row(&self) -> Vec<&str> {
        CONNECTIONS.row(&[&self.client_id, &self.user_id, self.vendor.as_str()])
    }
}

impl FromRow<'_, AnyRow> for EncryptedAccount {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("connections", row);
        let account = Account {
            client_id: row.get("client_id")?,
            user_id: row.get("user_id")?,
            vendor: row.get("vendor")?,
            connection: None,
            is_valid: row.get("is_valid")?,
            created_at: row.get("created_at")?,
        };
        Ok(Self { account, secret: row.get("secret")? })
    }
}
