//! Checkpoints of SQLite's write-ahead log, in a task of their own, so that no commit pays for them.
//!
//! SQLite by itself runs a checkpoint within the commit that finds the log long: the turn to write
//! is held meanwhile, and all other writers wait for the disk. Here most of the log is taken over
//! into the file while others write, and the turn is held for the little that they added. The log
//! is empty after that, and the next writer begins it anew.
use std::sync::Arc;

use sqlx::{AnyConnection, Row};
use tokio::sync::Mutex;
use tracing::warn;

use crate::connect::{Connector, Use};
use crate::error::StoreError;
use crate::writer::Writer;

/// Pages from which on a log is taken over: 32 MB. Reading gets slower with its
/// length, and a page that changes often is written to the file once for all of it.
const PAGES: i64 = 8_192;

/// Commits from one look at the length to the next.
const LOOK_EACH: u64 = 16;

/// Length of the log in pages, without a checkpoint.
const LENGTH: &str = "pragma wal_checkpoint(noop)";

/// Takes over what nobody reads the older version of; nobody has to wait for it.
const TAKE_OVER: &str = "pragma wal_checkpoint(passive)";

/// Takes over all of it, on disk, and leaves a log without pages. Waits for readers
/// of older versions, but not for ever.
const TAKE_OVER_ALL: &str = "pragma wal_checkpoint(truncate)";

/// Whoever takes the log over.
#[derive(Debug)]
pub struct Checkpointer {
    connector: Connector,
    /// The turn of those who write.
    writer: Writer,
    /// Pages from which on it does so.
    pages: i64,
    /// Connection of the one who looks: readers may have taken all others.
    own: Mutex<Option<AnyConnection>>,
}

/// Result of a statement about the log.
struct Look {
    /// True if readers kept it from its end.
    is_busy: bool,
    /// Pages of the log.
    pages: i64,
}

impl Checkpointer {
    /// For a file whose writers take turns.
    #[must_use]
    pub fn new(connector: Connector, writer: Writer) -> Self {
        Self { connector, writer, pages: PAGES, own: Mutex::default() }
    }

    /// Has it looked at after so many commits, if it is time for that.
    pub fn after_commit(self: &Arc<Self>, number: u64) {
        if number.is_multiple_of(LOOK_EACH) {
            self.after_step();
        }
    }

    /// Has it looked at after a step of a long job, whose rows are many.
    pub fn after_step(self: &Arc<Self>) {
        let own = Arc::clone(self);
        tokio::spawn(async move { own.look().await });
    }

    /// Takes the log over if it is long; not where somebody else is about it.
    async fn look(&self) {
        let Ok(mut own) = self.own.try_lock() else { return };
        if let Err(failure) = self.take_over(&mut own).await {
            // What is in the log is safe there, and the next look finds it again.
            warn!(%failure, "the log of the database was not taken over into its file");
        }
    }

    async fn take_over(&self, own: &mut Option<AnyConnection>) -> Result<(), StoreError> {
        if self.ask(own, LENGTH).await?.pages < self.pages {
            return Ok(());
        }
        self.ask(own, TAKE_OVER).await?;
        let _turn = self.writer.turn().await?;
        self.ask(own, TAKE_OVER).await?;
        Ok(())
    }

    /// Takes all of the log over into the file, on disk. Call it in the writer's turn.
    ///
    /// # Errors
    /// The disk failed, or a reader of an older version does not end.
    pub async fn take_over_all(&self) -> Result<(), StoreError> {
        let mut own = self.own.lock().await;
        if self.ask(&mut own, TAKE_OVER_ALL).await?.is_busy {
            return Err(StoreError::Queue);
        }
        Ok(())
    }

    /// Asks about the log. A connection on which that failed is not used again.
    async fn ask(
        &self,
        own: &mut Option<AnyConnection>,
        statement: &'static str,
    ) -> Result<Look, StoreError> {
        let mut connection = match own.take() {
            Some(connection) => connection,
            None => self.connector.connect(Use::Write).await?,
        };
        let row = sqlx::query(statement).fetch_one(&mut connection).await?;
        *own = Some(connection);
        let is_busy: i64 = row.try_get("busy")?;
        Ok(Look { is_busy: is_busy != 0, pages: row.try_get("log")? })
    }

    /// Closes the connection of the one who looks.
    pub async fn close(&self) {
        if let Some(connection) = self.own.lock().await.take() {
            let _: Result<(), sqlx::Error> = sqlx::Connection::close(connection).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Store;

    /// A database in a file with a table of wide rows, and who looks at its log.
    async fn opened(folder: &tempfile::TempDir, pages: i64) -> (Store, Checkpointer) {
        let address = format!("sqlite:{}/log.db", folder.path().display());
        let store = Store::open(&address.parse().unwrap()).await.unwrap();
        let mut change = store.begin().await.unwrap();
        sqlx::query("create table t (x text)").execute(change.connection()).await.unwrap();
        change.commit(|| ()).await.unwrap();
        let connector = Connector::new(&address.parse().unwrap());
        let own = Checkpointer::new(connector, Writer::default());
        (store, Checkpointer { pages, ..own })
    }

    /// Pages of the log.
    async fn length(checkpointer: &Checkpointer) -> i64 {
        checkpointer.ask(&mut None, LENGTH).await.unwrap().pages
    }

    /// Writes about so many pages.
    async fn write(store: &Store, pages: usize) {
        let mut change = store.begin().await.unwrap();
        for _ in 0..pages {
            let row = sqlx::query("insert into t values ($1)").bind("x".repeat(4_000));
            row.execute(change.connection()).await.unwrap();
        }
        change.commit(|| ()).await.unwrap();
    }

    #[tokio::test]
    async fn a_long_log_is_taken_over_and_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (store, checkpointer) = opened(&folder, 100).await;
        write(&store, 120).await;
        let long = length(&checkpointer).await;
        assert!(long >= 120, "{long} pages");
        checkpointer.look().await;
        write(&store, 1).await;
        let left = length(&checkpointer).await;
        assert!(left < 20, "{left} pages");
    }

    #[tokio::test]
    async fn a_short_log_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (store, checkpointer) = opened(&folder, 100_000).await;
        write(&store, 120).await;
        checkpointer.look().await;
        write(&store, 1).await;
        assert!(length(&checkpointer).await > 120);
    }

    #[tokio::test]
    async fn one_looks_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let (store, checkpointer) = opened(&folder, 100).await;
        write(&store, 120).await;
        let busy = checkpointer.own.lock().await;
        checkpointer.look().await;
        drop(busy);
        write(&store, 1).await;
        assert!(length(&checkpointer).await > 120);
    }
}
