//! The database: opened, migrated, and its failures told apart.
use std::io;
use std::sync::Arc;
use std::time::Duration;

use sqlx::any::{Any, AnyPoolOptions, install_default_drivers};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AnyPool, Executor, Row, Transaction};
use tokio::sync::{Mutex, OwnedMutexGuard};
use uuid::Uuid;

use crate::config::text::StoreUrl;
use crate::store::checkpoint::Checkpointer;
use crate::store::flush::Flusher;

/// The migrations, oldest first. A released one is never changed.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "identity and devices", include_str!("migrations/0001_identity_and_devices.sql")),
    (2, "events", include_str!("migrations/0002_events.sql")),
    (3, "control", include_str!("migrations/0003_control.sql")),
    (4, "prices", include_str!("migrations/0004_prices.sql")),
    (5, "deliveries", include_str!("migrations/0005_deliveries.sql")),
    (6, "plans", include_str!("migrations/0006_plans.sql")),
    (7, "sleepers", include_str!("migrations/0007_sleepers.sql")),
    (8, "uptakes", include_str!("migrations/0008_uptakes.sql")),
    (9, "refusals", include_str!("migrations/0009_refusals.sql")),
    (10, "restarts", include_str!("migrations/0010_restarts.sql")),
    (12, "rivals", include_str!("migrations/0012_rivals.sql")),
];

/// Those of a server only, where several processes may work on the same rows.
const SHARED_MIGRATIONS: &[(i64, &str, &str)] =
    &[(11, "notes", include_str!("migrations/0011_notes.sql"))];

/// Connections to a file. There is one writer, and one for the log; the others
/// read beside them.
const SQLITE_CONNECTIONS: u32 = 5;

/// Connections to a server.
const POSTGRES_CONNECTIONS: u32 = 16;

/// How long a request waits for a connection before it is told to come again.
const PATIENCE: Duration = Duration::from_secs(5);

/// What every connection to a file is told: readers beside the writer, a commit
/// does not flush by itself (see [`Flusher`]) nor take the log over (see
/// [`Checkpointer`]) before that is 128 MB long, and foreign keys are kept.
const SQLITE_SETUP: &str = "pragma journal_mode = wal; pragma synchronous = normal; \
     pragma wal_autocheckpoint = 32768; pragma foreign_keys = on; pragma busy_timeout = 5000";

/// What every connection to a server is told: whose changes are made on it.
const NAMED: &str = "select set_config('slackwater.replica', $1, false)";

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
    /// What was committed may not outlive a failure of the machine.
    #[error("the disk of the database failed: {0}")]
    Disk(#[from] io::Error),
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
    /// For a file. A server does all that itself.
    log: Option<Log>,
    /// For a server.
    shared: Option<Arc<Shared>>,
}

/// A server, and the name under which this process makes changes there.
#[derive(Debug)]
struct Shared {
    url: String,
    replica: String,
}

/// What brings commits to the disk, and from their log into the file.
#[derive(Debug, Clone)]
struct Log {
    flusher: Arc<Flusher>,
    checkpointer: Arc<Checkpointer>,
}

/// A change that is being made. Nothing of it is kept before [`commit`](Self::commit).
pub struct Change {
    transaction: Transaction<'static, Any>,
    turn: OwnedMutexGuard<()>,
    log: Option<Log>,
}

impl Store {
    /// Opens the database, creating a file that is missing, and brings its tables up to date.
    ///
    /// # Errors
    /// It cannot be opened, or holds tables of a later version.
    pub async fn open(url: &StoreUrl) -> Result<Self, StoreError> {
        install_default_drivers();
        let is_file = url.is_sqlite();
        let shared = (!is_file).then(|| {
            let (url, replica) = (url.as_str().to_owned(), Uuid::new_v4().to_string());
            Arc::new(Shared { url, replica })
        });
        let options = AnyPoolOptions::new()
            .max_connections(if is_file { SQLITE_CONNECTIONS } else { POSTGRES_CONNECTIONS })
            .acquire_timeout(PATIENCE);
        let named = shared.clone();
        let options = options.after_connect(move |connection, _| {
            let named = named.clone();
            Box::pin(async move {
                match &named {
                    None => connection.execute(SQLITE_SETUP).await,
                    Some(shared) => {
                        sqlx::query(NAMED).bind(&shared.replica).execute(connection).await
                    }
                }
                .map(|_| ())
            })
        });
        let pool = options.connect(&address(url)).await.map_err(StoreError::Open)?;
        migrator(is_file).run(&pool).await?;
        let writer = Arc::default();
        let log = if is_file { Some(Log::of(&pool, &writer).await?) } else { None };
        Ok(Self { pool, writer, log, shared })
    }

    /// For statements that only read.
    #[must_use]
    pub const fn reader(&self) -> &AnyPool {
        &self.pool
    }

    /// Whether other processes may work on the same rows. A file has one process.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// The server, and the name of this process there; `None` for a file.
    pub(super) fn server(&self) -> Option<(&str, &str)> {
        self.shared.as_deref().map(|shared| (shared.url.as_str(), shared.replica.as_str()))
    }

    /// Begins a change.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn begin(&self) -> Result<Change, StoreError> {
        let turn = Arc::clone(&self.writer).lock_owned().await;
        self.begin_in(turn).await
    }

    /// Begins a change if there is something to change when its turn comes. `None`
    /// says that others did it meanwhile, and that what they did is on disk.
    ///
    /// # Errors
    /// The database does not answer, or the disk failed.
    pub async fn begin_if(
        &self,
        is_needed: impl FnOnce() -> bool,
    ) -> Result<Option<Change>, StoreError> {
        let turn = Arc::clone(&self.writer).lock_owned().await;
        if is_needed() {
            return self.begin_in(turn).await.map(Some);
        }
        drop(turn);
        if let Some(Log { flusher, .. }) = &self.log {
            flusher.reach(flusher.count()).await?;
        }
        Ok(None)
    }

    async fn begin_in(&self, turn: OwnedMutexGuard<()>) -> Result<Change, StoreError> {
        let begin = if self.log.is_some() { "begin immediate" } else { "begin" };
        let transaction = self.pool.begin_with(begin).await?;
        Ok(Change { transaction, turn, log: self.log.clone() })
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

    /// Makes the change and shows it, as one of many steps that are done again
    /// from the first if the machine fails before the last, an ordinary
    /// [`commit`](Self::commit), which brings all of them to the disk.
    ///
    /// # Errors
    /// It was not made, and not shown.
    pub async fn step<T>(self, show: impl FnOnce() -> T) -> Result<T, StoreError> {
        self.transaction.commit().await?;
        if let Some(Log { flusher, checkpointer }) = &self.log {
            flusher.committed();
            checkpointer.after_step();
        }
        Ok(show())
    }

    /// Makes the change, and then shows it: `show` runs before the next change
    /// begins. It is on disk when this returns; others may have seen it a moment
    /// before that.
    ///
    /// # Errors
    /// It was not made, and not shown. Or the disk failed afterwards: then it is
    /// not known whether it outlives a failure of the machine.
    pub async fn commit<T>(self, show: impl FnOnce() -> T) -> Result<T, StoreError> {
        self.transaction.commit().await?;
        let number = self.log.as_ref().map(|log| log.flusher.committed());
        let shown = show();
        drop(self.turn);
        if let (Some(Log { flusher, checkpointer }), Some(number)) = (&self.log, number) {
            checkpointer.after_commit(number);
            flusher.reach(number).await?;
        }
        Ok(shown)
    }
}

/// The address with what the driver is told: a file that is missing is created.
fn address(url: &StoreUrl) -> String {
    match url.as_str() {
        file if url.is_sqlite() && !file.contains('?') => format!("{file}?mode=rwc"),
        other => other.to_owned(),
    }
}

impl Log {
    /// For the file that the database is in, wherever its address leads.
    async fn of(pool: &AnyPool, writer: &Arc<Mutex<()>>) -> Result<Self, StoreError> {
        let file =
            "select cast(file as text) as file from pragma_database_list where name = 'main'";
        let row = sqlx::query(file).fetch_one(pool).await?;
        let flusher = Flusher::new(row.try_get("file")?);
        let checkpointer = Checkpointer::new(pool.clone(), Arc::clone(writer));
        Ok(Self { flusher: Arc::new(flusher), checkpointer: Arc::new(checkpointer) })
    }
}

fn migrator(is_file: bool) -> Migrator {
    let migration = |&(version, name, sql): &(i64, &'static str, &'static str)| {
        let sql = sqlx::SqlSafeStr::into_sql_str(sql);
        Migration::new(version, name.into(), MigrationType::Simple, sql, false)
    };
    let shared = if is_file { &[] } else { SHARED_MIGRATIONS };
    Migrator::with_migrations(MIGRATIONS.iter().chain(shared).map(migration).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_comes_late_finds_the_work_done_and_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}/one.db", folder.path().display());
        let store = Store::open(&address.parse().unwrap()).await.unwrap();
        let change = store.begin_if(|| true).await.unwrap().unwrap();
        let late = store.begin_if(|| false);
        let made = change.step(|| ());
        let (late, made) = tokio::join!(late, made);
        made.unwrap();
        assert!(late.unwrap().is_none());
        assert_eq!(store.log.as_ref().unwrap().flusher.flushed().await, 1);
    }

    #[tokio::test]
    async fn what_is_flushed_is_the_log_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}/two%20words.db", folder.path().display());
        let store = Store::open(&address.parse().unwrap()).await.unwrap();
        let mut change = store.begin().await.unwrap();
        sqlx::query("create table t (x bigint)").execute(change.connection()).await.unwrap();
        let log = folder.path().join("two words.db-wal");
        assert_eq!(store.log.as_ref().unwrap().flusher.log(), log);
        assert!(change.commit(|| log.exists()).await.unwrap());
    }
}
