//! The database: opened, migrated, and its failures told apart.
use std::sync::Arc;

use sqlx::any::{AnyPoolOptions, install_drivers};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AnyPool, Connection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tracing::{Span, warn};

pub use crate::change::Change;
use crate::change::transaction_span;
use crate::commit_log::CommitLog;
use crate::connect::{Connector, PATIENCE, Use};
use crate::error::{StoreError, silence};
use crate::file::{self, FileLock};
use crate::health::Health;
use crate::keyring::Keyring;
use crate::notes::{Listen, listen_to_server};
use crate::url::StoreUrl;
use crate::writer::{Writer, WriterGuard};

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
    (13, "audit", include_str!("migrations/0013_audit.sql")),
    (14, "limits", include_str!("migrations/0014_limits.sql")),
    (16, "secret keys", include_str!("migrations/0016_secret_keys.sql")),
    (17, "traces", include_str!("migrations/0017_traces.sql")),
    (18, "renewals", include_str!("migrations/0018_renewals.sql")),
    (19, "grid orders", include_str!("migrations/0019_grid_orders.sql")),
    (20, "price feeds", include_str!("migrations/0020_price_feeds.sql")),
];

/// Those of a server only, where several processes may work on the same rows.
const SHARED_MIGRATIONS: &[(i64, &str, &str)] = &[
    (11, "notes", include_str!("migrations/0011_notes.sql")),
    (15, "limit notes", include_str!("migrations/0015_limit_notes.sql")),
    (21, "vendor readers", include_str!("migrations/0021_vendor_readers.sql")),
];

/// Connections to a file that read beside the writer.
const SQLITE_READERS: u32 = 4;

/// Connections to a server that read beside the writer.
const POSTGRES_READERS: u32 = 15;

/// Answers of very many rows that are made at a time.
const DUMPS_MAX: usize = 2;

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
    log: Option<CommitLog>,
    /// Lock of a file that this process has for itself.
    lock: Option<FileLock>,
    /// Keys of secrets in rows.
    keys: Arc<Keyring>,
    /// Way to listen to notes of a server.
    listen: Listen,
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

    /// Opens a database that is there, for who looks into it or changes it: none is made in the wrong
    /// folder.
    ///
    /// # Errors
    /// As [`open`](Self::open), or there is no such file.
    pub async fn open_existing(url: &StoreUrl) -> Result<Self, StoreError> {
        file::find(url)?;
        Self::open(url).await
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
        // A program may have installed drivers of its own, which stay.
        let _: Result<(), _> =
            install_drivers(&[sqlx::postgres::any::DRIVER, sqlx::sqlite::any::DRIVER]);
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
            Some(CommitLog::of(&mut first, &connector, &writer).await?)
        } else {
            None
        };
        // What is told to a server before this is not asked for any more.
        let _: Result<(), sqlx::Error> = first.close().await;
        let (health, dumps) = (Health::default(), Arc::new(Semaphore::new(DUMPS_MAX)));
        let (keys, listen): (_, Listen) = (Arc::default(), listen_to_server);
        Ok(Self { readers, connector, writer, health, dumps, log, lock, keys, listen })
    }

    /// The database with keys of secrets in its rows.
    #[must_use]
    pub fn with_keys(self, keys: Keyring) -> Self {
        Self { keys: Arc::new(keys), ..self }
    }

    /// The database with another way to listen to notes than LISTEN of PostgreSQL, which a driver
    /// of the program's own may not have.
    #[must_use]
    pub fn with_listen(self, listen: Listen) -> Self {
        Self { listen, ..self }
    }

    /// Way to listen to notes of a server.
    pub(super) const fn listen(&self) -> Listen {
        self.listen
    }

    /// Waits for a commit whose answer was lost since the last one: its change may have been made,
    /// and is not shown.
    pub async fn wait_for_lost_answer(&self) {
        self.health.wait_for_lost_answer().await;
    }

    /// Keys of secrets in rows.
    #[must_use]
    pub fn keys(&self) -> &Keyring {
        &self.keys
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

    /// Returns `true` if other processes may work on the same rows. A file has one process.
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
        let span = transaction_span();
        let turn = self.writer.turn().await?;
        self.begin_in(turn, span).await
    }

    /// Waits for the turn to write, and begins a change if `is_needed` still holds. Returns `None`
    /// if another task has written the pending items meanwhile; they are on disk.
    ///
    /// # Errors
    /// The turn did not come, the database does not answer, or the disk failed.
    pub async fn begin_if(
        &self,
        is_needed: impl FnOnce() -> bool,
    ) -> Result<Option<Change>, StoreError> {
        let span = transaction_span();
        let turn = self.writer.turn().await?;
        if is_needed() {
            return self.begin_in(turn, span).await.map(Some);
        }
        drop(turn);
        if let Some(CommitLog { flusher, .. }) = &self.log {
            flusher.reach(flusher.count()).await?;
        }
        Ok(None)
    }

    async fn begin_in(&self, turn: WriterGuard, span: Span) -> Result<Change, StoreError> {
        if let Some(CommitLog { flusher, checkpointer }) = &self.log
            && flusher.has_failed()
        {
            // In the turn, so that nothing is committed between the two.
            checkpointer.take_over_all().await?;
            flusher.heal().await;
        }
        let log = self.log.clone();
        Change::begin((turn, span), &self.connector, log, self.health.clone()).await
    }

    /// Returns `true` if the last write failed, so that it is open whether the next succeeds.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.health.is_in_doubt() || self.log.as_ref().is_some_and(|log| log.flusher.has_failed())
    }

    /// Ends all connections, the writer's after all of the log is in the file: a copy
    /// of the file alone is whole then. Later statements fail, changes wait for ever.
    pub async fn close(&self) {
        let mut turn = self.writer.last_turn().await;
        self.readers.close().await;
        if let Some(CommitLog { checkpointer, .. }) = &self.log {
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
    use crate::settings;

    #[tokio::test]
    async fn who_comes_late_finds_the_work_done_and_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}/one.db", folder.path().display());
        let store = Store::open(&address.parse().unwrap()).await.unwrap();
        let change = store.begin_if(|| true).await.unwrap().unwrap();
        let late = store.begin_if(|| false);
        let made = change.commit_unflushed(|| ());
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

    #[tokio::test]
    async fn after_a_flush_that_failed_the_next_change_takes_the_log_over() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}/one.db", folder.path().display());
        let store = Store::open(&address.parse().unwrap()).await.unwrap();
        settings::set_setting(&store, "a", "b").await.unwrap();
        let CommitLog { flusher, .. } = store.log.clone().unwrap();
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
