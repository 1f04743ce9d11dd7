//! The database: opened, migrated, and its failures told apart.
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use sqlx::any::{AnyPoolOptions, install_default_drivers};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, AnyPool, Connection, Row};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tracing::warn;
use uuid::Uuid;

pub use crate::change::Change;
use crate::checkpoint::Checkpointer;
use crate::connect::{Connector, PATIENCE, Use};
use crate::file::{self, FileLock};
use crate::flush::Flusher;
use crate::health::Health;
use crate::settings;
use crate::url::StoreUrl;
use crate::writer::{Turn, Writer};

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

/// Connections to a file that read beside the writer.
const SQLITE_READERS: u32 = 4;

/// Connections to a server that read beside the writer.
const POSTGRES_READERS: u32 = 15;

/// Answers of very many rows that are made at a time.
const DUMPS_MAX: usize = 2;

/// Name under which a write is tried when it is asked whether writes succeed.
const WRITE_PROBE: &str = "write_probe";

/// Why rows could not be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be opened or brought up to date.
    #[error("cannot open {place}: {reason}")]
    Open {
        /// The database: the host and port of a server, or a file.
        place: String,
        /// The cause, as the system or the server named it.
        reason: String,
    },
    /// Another process serves the file.
    #[error("another process serves {}; one process has a database file", .0.display())]
    Taken(PathBuf),
    /// A file of the database cannot be locked, or not be closed to others.
    #[error("cannot use {}: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// Its tables are not those of this version.
    #[error("cannot bring the database up to date: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// It does not answer now.
    #[error("the database does not answer: {0}")]
    Down(sqlx::Error),
    /// Others write, and the turn to write did not come in time.
    #[error("too many changes wait for the database, or one of them takes too long")]
    Queue,
    /// Another process holds what the statement needs, or the statement took too long.
    #[error("the database is busy: {0}")]
    Busy(sqlx::Error),
    /// There is no room for a change, or the disk did not take it.
    #[error("the disk of the database is full or failed: {0}")]
    Full(sqlx::Error),
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
    /// waited for them while they waited for it. Nothing was kept, and it may be
    /// tried again from its beginning.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        let (Self::Statement(error) | Self::Busy(error)) = self else { return false };
        let sqlx::Error::Database(error) = error else { return false };
        // Class 40 of PostgreSQL: deadlocks and changes that cannot be put in order.
        let is_undone = error.code().is_some_and(|code| code.len() == 5 && code.starts_with("40"));
        error.is_unique_violation() || is_undone
    }

    /// No answer within the time that one waits for it.
    pub(super) fn silent() -> Self {
        Self::Down(silence())
    }

    /// Failure to open the database at an address, which is told without its password.
    fn of_opening(url: &StoreUrl, error: sqlx::Error) -> Self {
        let reason = match error {
            sqlx::Error::Io(error) => error.to_string(),
            sqlx::Error::Database(error) => error.message().to_owned(),
            error => error.to_string(),
        };
        Self::Open { place: url.place(), reason }
    }
}

/// No answer within the time that one waits for it, as an error of the connection.
fn silence() -> sqlx::Error {
    let no_answer = format!("no answer within {} s", PATIENCE.as_secs());
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, no_answer))
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let kind = match &error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => Self::Down,
            sqlx::Error::Database(error) => kind_of_code(&error.code().unwrap_or_default()),
            _ => Self::Statement,
        };
        kind(error)
    }
}

/// Kind of a failure by its code: five letters of PostgreSQL, or a number of SQLite.
fn kind_of_code(code: &str) -> fn(sqlx::Error) -> StoreError {
    if code.len() == 5 {
        return match (code.get(..2).unwrap_or_default(), code) {
            // Out of room on disk; a failure of reading or writing.
            (_, "53100" | "58030") => StoreError::Full,
            // Cancelled by `statement_timeout`, a lock by `lock_timeout`; deadlocks.
            (_, "57014" | "55P03") | ("40", _) => StoreError::Busy,
            // Connections, resources, an operator's stop; a standby takes no writes.
            ("08" | "53" | "57", _) | (_, "25006" | "25P03") => StoreError::Down,
            _ => StoreError::Statement,
        };
    }
    // The lowest byte of SQLite's extended codes is the kind.
    match code.parse::<u32>().unwrap_or_default() & 0xff {
        5 | 6 => StoreError::Busy,
        // No memory, read-only, input and output, full, cannot open a file.
        7 | 8 | 10 | 13 | 14 => StoreError::Full,
        _ => StoreError::Statement,
    }
}

/// Handle to the database. Clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    readers: AnyPool,
    connector: Connector,
    writer: Writer,
    health: Health,
    /// Places for answers of very many rows.
    dumps: Arc<Semaphore>,
    /// For a file. A server does all that itself.
    log: Option<Log>,
    /// Lock of a file that this process has for itself.
    lock: Option<FileLock>,
}

/// What brings commits to the disk, and from their log into the file.
#[derive(Debug, Clone)]
pub(super) struct Log {
    pub(super) flusher: Arc<Flusher>,
    pub(super) checkpointer: Arc<Checkpointer>,
}

impl Store {
    /// Opens the database, creating a file that is missing, and brings its tables up
    /// to date. Other processes may open it, too: commands beside a service do.
    ///
    /// # Errors
    /// It cannot be opened, or holds tables of a later version.
    pub async fn open(url: &StoreUrl) -> Result<Self, StoreError> {
        Self::open_with(url, None).await
    }

    /// Opens the database as the service that is run on it. Of a file there is one
    /// at a time: two would know nothing of each other's changes.
    ///
    /// # Errors
    /// As [`open`](Self::open), or another process serves the file.
    pub async fn open_alone(url: &StoreUrl) -> Result<Self, StoreError> {
        let lock = file::lock(url)?;
        Self::open_with(url, lock).await
    }

    async fn open_with(url: &StoreUrl, lock: Option<FileLock>) -> Result<Self, StoreError> {
        install_default_drivers();
        file::make(url)?;
        let connector = Connector::new(url);
        // Before the pool, which would try for as long as a request waits, and then
        // say that it waited instead of why.
        let first = timeout(PATIENCE, connector.connect(Use::Migrate)).await;
        let first = first.unwrap_or_else(|_| Err(silence()));
        let mut first = first.map_err(|error| StoreError::of_opening(url, error))?;
        migrator(url.is_sqlite()).run(&mut first).await?;
        let set_up = connector.clone();
        let count = if url.is_sqlite() { SQLITE_READERS } else { POSTGRES_READERS };
        let options = AnyPoolOptions::new().max_connections(count).acquire_timeout(PATIENCE);
        let options = options.after_connect(move |connection, _| {
            let set_up = set_up.clone();
            Box::pin(async move { set_up.set_up(connection, Use::Read).await })
        });
        let readers = options.connect(connector.address()).await;
        let readers = readers.map_err(|error| StoreError::of_opening(url, error))?;
        let writer = Writer::default();
        let log = if url.is_sqlite() {
            Some(Log::of(&mut first, &connector, &writer).await?)
        } else {
            None
        };
        // What is told to a server before this is not asked for any more.
        let _: Result<(), sqlx::Error> = first.close().await;
        let (health, dumps) = (Health::default(), Arc::new(Semaphore::new(DUMPS_MAX)));
        Ok(Self { readers, connector, writer, health, dumps, log, lock })
    }

    /// For statements that only read.
    #[must_use]
    pub const fn reader(&self) -> &AnyPool {
        &self.readers
    }

    /// Place for an answer that is made of very many rows. A few are made at a time,
    /// so that those who dump years leave connections and memory for all others.
    ///
    /// # Errors
    /// No place became free in time.
    pub async fn place_for_many_rows(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        let place = Arc::clone(&self.dumps).acquire_owned();
        let place = timeout(PATIENCE, place).await.map_err(|_| StoreError::Queue)?;
        place.map_err(|_| StoreError::Queue)
    }

    /// Whether other processes may work on the same rows. A file has one process.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.log.is_none()
    }

    /// The server, and the name of this process there; `None` for a file.
    pub(super) fn server(&self) -> Option<(&str, &str)> {
        Some((self.connector.address(), self.connector.replica()?))
    }

    /// Begins a change.
    ///
    /// # Errors
    /// The turn did not come, or the database does not answer.
    pub async fn begin(&self) -> Result<Change, StoreError> {
        let turn = self.writer.turn().await?;
        self.begin_in(turn).await
    }

    /// Begins a change if there is something to change when its turn comes. `None`
    /// says that others did it meanwhile, and that what they did is on disk.
    ///
    /// # Errors
    /// The turn did not come, the database does not answer, or the disk failed.
    pub async fn begin_if(
        &self,
        is_needed: impl FnOnce() -> bool,
    ) -> Result<Option<Change>, StoreError> {
        let turn = self.writer.turn().await?;
        if is_needed() {
            return self.begin_in(turn).await.map(Some);
        }
        drop(turn);
        if let Some(Log { flusher, .. }) = &self.log {
            flusher.reach(flusher.count()).await?;
        }
        Ok(None)
    }

    async fn begin_in(&self, turn: Turn) -> Result<Change, StoreError> {
        if let Some(Log { flusher, checkpointer }) = &self.log
            && flusher.has_failed()
        {
            // In the turn, so that nothing is committed between the two.
            checkpointer.take_over_all().await?;
            flusher.heal().await;
        }
        Change::begin(turn, &self.connector, self.log.clone(), self.health.clone()).await
    }

    /// Whether the database answers, and takes writes. While changes are made nothing
    /// is written for it; after one that was not, a value is.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("select 1").execute(&self.readers).await?;
        if self.health.is_in_doubt()
            || self.log.as_ref().is_some_and(|log| log.flusher.has_failed())
        {
            settings::keep(self, WRITE_PROBE, &Uuid::new_v4().to_string()).await?;
        }
        Ok(())
    }

    /// Ends all connections, the writer's after all of the log is in the file: a copy
    /// of the file alone is whole then. Later statements fail, changes wait for ever.
    pub async fn close(&self) {
        let mut turn = self.writer.last_turn().await;
        self.readers.close().await;
        if let Some(Log { checkpointer, .. }) = &self.log {
            if let Err(failure) = checkpointer.take_over_all().await {
                warn!(%failure, "the log of the database was not taken over into its file");
            }
            checkpointer.close().await;
        }
        if let Some(connection) = turn.take() {
            let _: Result<(), sqlx::Error> = connection.close().await;
        }
        if let Some(lock) = &self.lock {
            lock.release();
        }
        // Whoever comes after the end of the service does not write.
        std::mem::forget(turn);
    }
}

impl Log {
    /// For the file that the database is in, wherever its address leads.
    async fn of(
        first: &mut AnyConnection,
        connector: &Connector,
        writer: &Writer,
    ) -> Result<Self, StoreError> {
        let file =
            "select cast(file as text) as file from pragma_database_list where name = 'main'";
        let row = sqlx::query(file).fetch_one(first).await?;
        let flusher = Flusher::new(row.try_get("file")?);
        let checkpointer = Checkpointer::new(connector.clone(), writer.clone());
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
    async fn few_long_answers_are_made_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}/one.db", folder.path().display());
        let store = Store::open(&address.parse().unwrap()).await.unwrap();
        let first = store.place_for_many_rows().await.unwrap();
        let _second = store.place_for_many_rows().await.unwrap();
        let mut third = std::pin::pin!(store.place_for_many_rows());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(third.as_mut().poll(&mut context).is_pending());
        drop(first);
        assert!(third.await.is_ok());
    }

    #[test]
    fn failures_that_pass_are_told_from_those_that_do_not() {
        let kind = |code: &str| kind_of_code(code)(sqlx::Error::RowNotFound);
        for down in ["08006", "08P01", "53300", "57P01", "57P03", "25006"] {
            assert!(matches!(kind(down), StoreError::Down(_)), "{down}");
        }
        for busy in ["40P01", "40001", "55P03", "57014", "5", "517", "6", "262"] {
            assert!(matches!(kind(busy), StoreError::Busy(_)), "{busy}");
        }
        for full in ["53100", "58030", "13", "10", "778", "1546", "8", "14"] {
            assert!(matches!(kind(full), StoreError::Full(_)), "{full}");
        }
        for ours in ["23505", "42P01", "22021", "1", "19", "2067", ""] {
            assert!(matches!(kind(ours), StoreError::Statement(_)), "{ours}");
        }
    }

    #[tokio::test]
    async fn after_a_flush_that_failed_the_next_change_takes_the_log_over() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}/one.db", folder.path().display());
        let store = Store::open(&address.parse().unwrap()).await.unwrap();
        settings::keep(&store, "a", "b").await.unwrap();
        let Log { flusher, .. } = store.log.clone().unwrap();
        assert_ne!(std::fs::metadata(flusher.log()).unwrap().len(), 0);
        flusher.fail();
        let change = store.begin().await.unwrap();
        assert!(!flusher.has_failed());
        assert_eq!(std::fs::metadata(flusher.log()).unwrap().len(), 0);
        change.commit(|| ()).await.unwrap();
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
        assert!(change.commit(move || log.exists()).await.unwrap());
    }
}
