//! Accounts whose tokens are renewed: their locks, and tokens that are not stored yet.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slackwater_integration::vendor::Connection;
use slackwater_store::accounts::Account;

/// Client, user and manufacturer of an account.
pub(crate) type AccountKey = (String, String, String);

/// Key of an account.
pub(crate) fn key_of(account: &Account) -> AccountKey {
    (account.client_id.clone(), account.user_id.clone(), account.vendor.to_string())
}

/// Lock of an account: one task of this process renews its tokens at a time.
pub(crate) type AccountLock = Arc<tokio::sync::Mutex<()>>;

/// Accounts whose tokens are renewed in this process.
#[derive(Debug, Default)]
pub(crate) struct Renewals {
    locks: Mutex<HashMap<AccountKey, AccountLock>>,
    /// Accounts as they were kept when their tokens were renewed, and the connections that the
    /// database has not taken yet.
    unstored: Mutex<HashMap<AccountKey, (Account, Connection)>>,
}

impl Renewals {
    /// Lock of an account.
    pub(crate) fn lock_of(&self, key: &AccountKey) -> AccountLock {
        Arc::clone(self.locks().entry(key.clone()).or_default())
    }

    /// Forgets a lock that nobody else holds or waits for.
    pub(crate) fn forget(&self, key: &AccountKey, lock: &AccountLock) {
        let mut locks = self.locks();
        // One is in the map, one is that of the caller.
        if Arc::strong_count(lock) == 2 {
            locks.remove(key);
        }
    }

    /// Keeps tokens in memory that took the place of those of `account`.
    pub(crate) fn keep_unstored(&self, account: &Account, renewed: &Connection) {
        self.of_memory().insert(key_of(account), (account.clone(), renewed.clone()));
    }

    /// Forgets tokens that were stored, or that nobody needs any more.
    pub(crate) fn forget_unstored(&self, key: &AccountKey) {
        self.of_memory().remove(key);
    }

    /// The account that unstored tokens belong to, and they.
    pub(crate) fn unstored(&self, key: &AccountKey) -> Option<(Account, Connection)> {
        self.of_memory().get(key).cloned()
    }

    /// The unstored tokens that took the place of those of `account`.
    pub(crate) fn unstored_after(&self, account: &Account) -> Option<Connection> {
        let unstored = self.of_memory();
        if unstored.is_empty() {
            return None;
        }
        let (before, renewed) = unstored.get(&key_of(account))?;
        (before == account).then(|| renewed.clone())
    }

    fn locks(&self) -> MutexGuard<'_, HashMap<AccountKey, AccountLock>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_memory(&self) -> MutexGuard<'_, HashMap<AccountKey, (Account, Connection)>> {
        self.unstored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
