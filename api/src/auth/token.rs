//! Tokens: issued for a client's secret, good for an hour.
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, TimeDelta, Utc};

use crate::auth::client::Client;
use crate::auth::secret::{digest, generate};
use crate::problem::Problem;
use crate::store::clients;
use crate::store::database::{Store, StoreError};
use crate::store::tokens::{self, TokenRow};

/// How long a token is good (LIM-02).
pub const LIFETIME: TimeDelta = TimeDelta::hours(1);

/// Tokens that are remembered before those that expired are forgotten.
const KNOWN_MAX: usize = 10_000;

/// What a token stands for.
#[derive(Debug, Clone)]
struct Known {
    client: Arc<Client>,
    expires_at: DateTime<Utc>,
}

/// The tokens that were issued, by their hashes.
#[derive(Debug, Default)]
pub struct Tokens {
    known: RwLock<HashMap<String, Known>>,
}

impl Tokens {
    /// A new token of a client. It is kept before this returns.
    ///
    /// # Errors
    /// The database failed, or the system has no random numbers.
    pub async fn issue(
        &self,
        store: &Store,
        client: &Arc<Client>,
        now: DateTime<Utc>,
    ) -> Result<String, Problem> {
        let token = generate()?;
        let expires_at = now + LIFETIME;
        let row = TokenRow { client_id: client.id.clone(), expires_at };
        let hash = digest(&token);
        tokens::insert(store, &hash, &row, now).await?;
        self.remember(hash, Known { client: Arc::clone(client), expires_at }, now);
        Ok(token)
    }

    /// The client that a token was issued to; `None` if it is unknown or expired.
    ///
    /// Tokens that another process issued, or this one before it was started
    /// anew, are found in the database once and then remembered.
    ///
    /// # Errors
    /// The database failed.
    pub async fn client(
        &self,
        store: &Store,
        token: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Arc<Client>>, StoreError> {
        let hash = digest(token);
        if let Some(known) = self.known(&hash) {
            return Ok((now < known.expires_at).then_some(known.client));
        }
        let Some(row) = tokens::get(store, &hash).await? else { return Ok(None) };
        if now >= row.expires_at {
            return Ok(None);
        }
        let Some(client) = clients::get(store, &row.client_id).await? else { return Ok(None) };
        let client = Arc::new(client.client);
        let known = Known { client: Arc::clone(&client), expires_at: row.expires_at };
        self.remember(hash, known, now);
        Ok(Some(client))
    }

    fn known(&self, hash: &str) -> Option<Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(hash).cloned()
    }

    fn remember(&self, hash: String, known: Known, now: DateTime<Utc>) {
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KNOWN_MAX {
            all.retain(|_, known| now < known.expires_at);
        }
        all.insert(hash, known);
    }
}
