//! Tokens: issued for a client's secret, good for an hour.
//!
//! The hour is that of the machine, in the sandbox as well: a client counts
//! `expires_in` on its own clock. It ends on the wall clock, which all replicas
//! share, or on the steady clock of this process, whichever is earlier. So a wall
//! clock that is put back makes no token good again.
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tracing::warn;

use crate::auth::secret::{NoRandomness, digest, generate};
use crate::clock::Moment;
use slackwater_store::client::Client;
use slackwater_store::clients;
use slackwater_store::database::Store;
use slackwater_store::error::StoreError;
use slackwater_store::tokens::{self, TokenRow};

/// Lifetime of a token (LIM-02).
pub const LIFETIME: TimeDelta = TimeDelta::hours(1);

/// Time after which a token that is remembered is looked up again: a client whose secret was taken
/// back, or who was pinned to another version, may have been changed by another process.
pub const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// Tokens that are remembered before those that expired are forgotten.
const KNOWN_MAX: usize = 10_000;

/// Failure to issue a token.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The system has no random numbers.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Owner and lifetime of a token.
#[derive(Debug, Clone)]
struct Known {
    client: Arc<Client>,
    expires_at: DateTime<Utc>,
    /// End of its lifetime on the steady clock.
    ends: Duration,
    /// When it was looked up, on the steady clock.
    looked_up: Duration,
}

impl Known {
    fn new(client: Arc<Client>, expires_at: DateTime<Utc>, at: Moment) -> Self {
        // No token is good for longer than that, whatever the wall clock says.
        let left = (expires_at - at.wall).min(LIFETIME).to_std().unwrap_or_default();
        let looked_up = at.steady;
        Self { client, expires_at, ends: at.steady.saturating_add(left), looked_up }
    }

    fn is_good(&self, at: Moment) -> bool {
        at.wall < self.expires_at && at.steady < self.ends
    }

    fn is_fresh(&self, at: Moment) -> bool {
        at.steady < self.looked_up.saturating_add(LOOK_AGAIN)
    }
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
        at: Moment,
    ) -> Result<String, IssueError> {
        let token = generate()?;
        let expires_at = at.wall + LIFETIME;
        let row = TokenRow { client_id: client.id.clone(), expires_at };
        let hash = digest(&token);
        tokens::insert_token(store, &hash, &row, at.wall).await?;
        self.remember(hash, Known::new(Arc::clone(client), expires_at, at), at);
        Ok(token)
    }

    /// The client that a token was issued to; `None` if it is unknown or expired.
    ///
    /// Tokens that another process issued, or this one before it was started
    /// anew, are found in the database once and then remembered. One that has
    /// expired is deleted there, and refused for ever.
    ///
    /// # Errors
    /// The database failed.
    pub async fn client(
        &self,
        store: &Store,
        token: &str,
        at: Moment,
    ) -> Result<Option<Arc<Client>>, StoreError> {
        let hash = digest(token);
        let Some(known) = self.known(&hash) else {
            let found = self.look_up(store, &hash, at).await?;
            return Ok(found.map(|known| known.client));
        };
        if !known.is_good(at) {
            self.end(store, &hash).await;
            return Ok(None);
        }
        if known.is_fresh(at) {
            return Ok(Some(known.client));
        }
        match self.look_up(store, &hash, at).await {
            // The steady clock goes on from where the token was first seen.
            Ok(Some(fresh)) => {
                let again = Known { ends: known.ends.min(fresh.ends), ..fresh };
                self.remember(hash, again.clone(), at);
                Ok(Some(again.client))
            }
            Ok(None) => {
                self.known.write().unwrap_or_else(PoisonError::into_inner).remove(&hash);
                Ok(None)
            }
            // Reads go on while the database does not answer.
            Err(_) => Ok(Some(known.client)),
        }
    }

    /// Finds a token in the database, and remembers it.
    async fn look_up(
        &self,
        store: &Store,
        hash: &str,
        at: Moment,
    ) -> Result<Option<Known>, StoreError> {
        let Some(row) = tokens::get_token(store, hash).await? else { return Ok(None) };
        if at.wall >= row.expires_at {
            self.end(store, hash).await;
            return Ok(None);
        }
        let Some(client) = clients::get_client(store, &row.client_id).await? else {
            return Ok(None);
        };
        let known = Known::new(Arc::new(client.client), row.expires_at, at);
        self.remember(hash.to_owned(), known.clone(), at);
        Ok(Some(known))
    }

    /// Forgets the tokens of a client, so that they are looked up again.
    pub fn forget(&self, client_id: &str) {
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, known| known.client.id != client_id);
    }

    fn known(&self, hash: &str) -> Option<Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(hash).cloned()
    }

    fn remember(&self, hash: String, known: Known, at: Moment) {
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KNOWN_MAX {
            // Those that ended on the steady clock alone may still be in the database.
            all.retain(|_, known| at.wall < known.expires_at);
        }
        all.insert(hash, known);
    }

    /// Deletes a token that has expired.
    async fn end(&self, store: &Store, hash: &str) {
        match tokens::delete_token(store, hash).await {
            Ok(()) => {
                self.known.write().unwrap_or_else(PoisonError::into_inner).remove(hash);
            }
            // It is refused all the same, and tried again when it is next sent.
            Err(error) => warn!(%error, "a token that has expired cannot be deleted"),
        }
    }
}
