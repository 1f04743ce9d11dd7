//! The database: opened, migrated, and its failures told apart.
use std::sync::Arc;
use std::time::Duration;

use sqlx::any::{Any, AnyPoolOptions, install_default_drivers};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AnyPool, Executor, Transaction};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::config::text::StoreUrl;

/// The migrations, oldest first. A released one is never changed.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "identity and devices", include_str!("migrations/0001_identity_and_devices.sql")),
    (2, "events", include_str!("migrations/0002_events.sql")),
    (3, "control", include_str!("migrations/0003_control.sql")),
    (4, "prices", include_str!("migrations/0004_prices.sql")),
    (5, "deliveries", include_str!("migrations/0005_deliveries.sql")),
    (6, "plans", include_str!("migrations/0006_plans.sql")),
];

/// Connections to a file. There is one writer; the others read beside it.
const SQLITE_CONNECTIONS: u32 = 4;

/// Connections to a server.
const POSTGRES_CONNECTIONS: u32 = 16;

/// How long a request waits for a connection before it is told to come again.
const PATIENCE: Duration = Duration::from_secs(5);

/// What every connection to a file is told: readers beside the writer, a commit
/// reaches the disk, and foreign keys are kept.
const SQLITE_SETUP: &str = "pragma journal_mode = wal; pragma synchronous = full; \
     pragma foreign_keys = on; pragma busy_timeout = 5000";

/// What PostgreSQL calls two changes that wait for each other.
const DEADLOCK: &str = "40P01";

/// Why rows could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be opened or brought up to date.
    #[error("cannot open the database: {0}")]
    Open(sqlx::Error),
    /// Its tables are not those of this version.
    #[error("cannot bring the database up to date: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// It does not answer now.
    #[error("the database does not answer: {0}")]
    Down(sqlx::Error),
    /// A statement failed.
    #[error("the database refused a statement: {0}")]
    Statement(sqlx::Error),
    /// A row holds what no version of this service has written.
    #[error("{table} {id}: {reason}")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The row.
        id: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl StoreError {
    /// Whether the change did not fit what somebody else had just kept, or
    /// waited for them while they waited for it. It may be tried again.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        let Self::Statement(sqlx::Error::Database(error)) = self else { return false };
        error.is_unique_violation() || error.code().is_some_and(|code| code == DEADLOCK)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => Self::Down(error),
            other => Self::Statement(other),
        }
    }
}

/// Handle to the database. Clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    pool: AnyPool,
    /// A file has one writer at a time, and waiting here is fairer than at its
    /// lock. A server has many, but what readers are shown in memory must change
    /// in the order of the commits.
    writer: Arc<Mutex<()>>,
    is_file: bool,
}

/// A change that is being made. Nothing of it is kept before [`commit`](Self::commit).
pub struct Change {
    transaction: Transaction<'static, Any>,
    _turn: OwnedMutexGuard<()>,
}

impl Store {
    /// Opens the database, creating a file that is missing, and brings its tables up to date.
    ///
    /// # Errors
    /// It cannot be opened, or holds tables of a later version.
    pub async fn open(url: &StoreUrl) -> Result<Self, StoreError> {
        install_default_drivers();
        let is_file = url.is_sqlite();
        let options = AnyPoolOptions::new()
            .max_connections(if is_file { SQLITE_CONNECTIONS } else { POSTGRES_CONNECTIONS })
            .acquire_timeout(PATIENCE)
            .after_connect(move |connection, _| {
                Box::pin(async move {
                    if is_file {
                        connection.execute(SQLITE_SETUP).await?;
                    }
                    Ok(())
                })
            });
        let pool = options.connect(&address(url)).await.map_err(StoreError::Open)?;
        migrator().run(&pool).await?;
        Ok(Self { pool, writer: Arc::default(), is_file })
    }

    /// For statements that only read.
    #[must_use]
    pub const fn reader(&self) -> &AnyPool {
        &self.pool
    }

    /// Begins a change.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn begin(&self) -> Result<Change, StoreError> {
        let turn = Arc::clone(&self.writer).lock_owned().await;
        let begin = if self.is_file { "begin immediate" } else { "begin" };
        Ok(Change { transaction: self.pool.begin_with(begin).await?, _turn: turn })
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("select 1").execute(&self.pool).await?;
        Ok(())
    }

    /// Ends all connections. Later statements fail.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

impl Change {
    /// The connection on which the statements of the change run.
    pub fn connection(&mut self) -> &mut sqlx::AnyConnection {
        &mut self.transaction
    }

    /// Makes the change, and then shows it: `show` runs before the next change
    /// begins. It is on disk when this returns.
    ///
    /// # Errors
    /// It was not made, and not shown.
    pub async fn commit<T>(self, show: impl FnOnce() -> T) -> Result<T, StoreError> {
        self.transaction.commit().await?;
        Ok(show())
    }
}

/// The address with what the driver is told: a file that is missing is created.
fn address(url: &StoreUrl) -> String {
    match url.as_str() {
        file if url.is_sqlite() && !file.contains('?') => format!("{file}?mode=rwc"),
        other => other.to_owned(),
    }
}

fn migrator() -> Migrator {
    let migration = |&(version, name, sql): &(i64, &'static str, &'static str)| {
        let sql = sqlx::SqlSafeStr::into_sql_str(sql);
        Migration::new(version, name.into(), MigrationType::Simple, sql, false)
    };
    Migrator::with_migrations(MIGRATIONS.iter().map(migration).collect())
}
