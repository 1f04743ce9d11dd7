//! Connections to a database: the address, and the session settings of each.
use std::sync::Arc;
use std::time::Duration;

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, Connection, Executor};
use uuid::Uuid;

use crate::url::StoreUrl;

/// Longest wait of a request for a connection, for its turn to write or for an answer of the
/// database.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Session settings of a file: readers beside the writer, a commit does not flush
/// by itself (see [`Flusher`](crate::flush::Flusher)) nor take the log over (see
/// [`Checkpointer`](crate::checkpoint::Checkpointer)) before that is 128 MB
/// long, and foreign keys are kept.
const SQLITE_SETUP: &str = "pragma journal_mode = wal; pragma synchronous = normal; \
     pragma wal_autocheckpoint = 32768; pragma foreign_keys = on; pragma busy_timeout = 5000";

/// Session settings of a server: whose changes are made on the connection, and how
/// long a statement and a lock of other processes may take.
///
/// A process that stops in the middle of a change does not keep its locks either.
const POSTGRES_SETUP: &str = "select set_config('slackwater.replica', $1, false), \
     set_config('statement_timeout', $2, false), set_config('lock_timeout', '3s', false), \
     set_config('idle_in_transaction_session_timeout', '30s', false)";

/// Statements that a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Statements that read; a start reads whole tables.
    Read,
    /// Statements of changes, which hold locks.
    Write,
    /// Migrations, which may rewrite a table of any size.
    Migrate,
}

/// Address of a database, and what its connections are told.
#[derive(Debug, Clone)]
pub struct Connector {
    address: Arc<str>,
    /// Name under which this process makes changes on a server; `None` for a file.
    replica: Option<Arc<str>>,
}

impl Connector {
    /// Connector for an address of the settings.
    #[must_use]
    pub fn new(url: &StoreUrl) -> Self {
        let replica = (!url.is_sqlite()).then(|| Uuid::new_v4().to_string().into());
        Self { address: address(url).into(), replica }
    }

    /// The address as the driver takes it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Name of this process on a server; `None` for a file.
    #[must_use]
    pub fn replica(&self) -> Option<&str> {
        self.replica.as_deref()
    }

    /// Opens a connection outside of all pools.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn connect(&self, what_for: Use) -> Result<AnyConnection, sqlx::Error> {
        let options: AnyConnectOptions = self.address.parse()?;
        let mut connection = AnyConnection::connect_with(&options).await?;
        self.set_up(&mut connection, what_for).await?;
        Ok(connection)
    }

    /// Tells a new connection its session settings.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn set_up(
        &self,
        connection: &mut AnyConnection,
        what_for: Use,
    ) -> Result<(), sqlx::Error> {
        let Some(replica) = &self.replica else {
            return connection.execute(SQLITE_SETUP).await.map(|_| ());
        };
        let statement_timeout = match what_for {
            Use::Write => "10s",
            Use::Read => "60s",
            Use::Migrate => "0",
        };
        let setup = sqlx::query(POSTGRES_SETUP).bind(&**replica).bind(statement_timeout);
        setup.execute(connection).await.map(|_| ())
    }
}

/// The address with what the driver is told: a file that is missing is created, and
/// a server lists connections under the name of the service.
fn address(url: &StoreUrl) -> String {
    let (given, name) = (url.as_str(), "application_name");
    match (url.is_sqlite(), given.contains('?')) {
        (true, false) => format!("{given}?mode=rwc"),
        (false, false) => format!("{given}?{name}=slackwater"),
        (false, true) if !given.contains(name) => format!("{given}&{name}=slackwater"),
        _ => given.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_and_what_they_say_stays() {
        let of = |url: &str| address(&url.parse().unwrap());
        assert_eq!(of("sqlite:a.db"), "sqlite:a.db?mode=rwc");
        assert_eq!(of("sqlite:a.db?mode=rw"), "sqlite:a.db?mode=rw");
        assert_eq!(of("postgres://h/d"), "postgres://h/d?application_name=slackwater");
        let tls = "postgres://h/d?sslmode=require";
        assert_eq!(of(tls), format!("{tls}&application_name=slackwater"));
        let named = "postgres://h/d?application_name=mine";
        assert_eq!(of(named), named);
    }
}
