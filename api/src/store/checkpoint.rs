//! The log of a file is taken over into it beside those who write.
//!
//! SQLite does so by itself within the commit that finds its log long: the writer's
//! turn is held meanwhile, and everybody waits for the disk. Here most of the log is
//! taken over while others write, and the turn is held for the little that they
//! added. After that nothing is left of it, and the next writer begins it anew.
use std::sync::Arc;

use sqlx::{AnyPool, Row};
use tokio::sync::{Mutex, MutexGuard};
use tracing::warn;

/// Pages from which on a log is taken over: 32 MB. Reading gets slower with its
/// length, and a page that changes often is written to the file once for all of it.
const PAGES: i64 = 8_192;

/// Commits from one look at the length to the next.
const LOOK_EACH: u64 = 16;

/// How many pages the log has, without taking any over.
const LENGTH: &str = "pragma wal_checkpoint(noop)";

/// Takes over what nobody reads the older version of; nobody has to wait for it.
const TAKE_OVER: &str = "pragma wal_checkpoint(passive)";

/// Whoever takes the log over.
#[derive(Debug)]
pub struct Checkpointer {
    pool: AnyPool,
    /// The turn of those who write.
    writer: Arc<Mutex<()>>,
    /// Pages from which on it does so.
    pages: i64,
    /// Held by the one who looks.
    alone: Mutex<()>,
}

impl Checkpointer {
    /// For the file behind a pool, whose writers take turns.
    #[must_use]
    pub fn new(pool: AnyPool, writer: Arc<Mutex<()>>) -> Self {
        Self { pool, writer, pages: PAGES, alone: Mutex::default() }
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
        let Ok(alone) = self.alone.try_lock() else { return };
        if let Err(failure) = self.take_over(alone).await {
            // What is in the log is safe there, and the next look finds it again.
            warn!(%failure, "the log of the database was not taken over into its file");
        }
    }

    async fn take_over(&self, _alone: MutexGuard<'_, ()>) -> Result<(), sqlx::Error> {
        if self.pages_after(LENGTH).await? < self.pages {
            return Ok(());
        }
        self.pages_after(TAKE_OVER).await?;
        let _turn = self.writer.lock().await;
        self.pages_after(TAKE_OVER).await?;
        Ok(())
    }

    /// Pages of the log after a statement about it.
    async fn pages_after(&self, statement: &'static str) -> Result<i64, sqlx::Error> {
        sqlx::query(statement).fetch_one(&self.pool).await?.try_get("log")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::database::Store;

    /// A database in a file with a table of wide rows, and who looks at its log.
    async fn opened(folder: &tempfile::TempDir, pages: i64) -> (Store, Checkpointer) {
        let address = format!("sqlite:{}/log.db", folder.path().display());
        let store = Store::open(&address.parse().unwrap()).await.unwrap();
        let mut change = store.begin().await.unwrap();
        sqlx::query("create table t (x text)").execute(change.connection()).await.unwrap();
        change.commit(|| ()).await.unwrap();
        let own = Checkpointer::new(store.reader().clone(), Arc::default());
        (store, Checkpointer { pages, ..own })
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
        let long = checkpointer.pages_after(LENGTH).await.unwrap();
        assert!(long >= 120, "{long} pages");
        checkpointer.look().await;
        write(&store, 1).await;
        let left = checkpointer.pages_after(LENGTH).await.unwrap();
        assert!(left < 20, "{left} pages");
    }

    #[tokio::test]
    async fn a_short_log_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (store, checkpointer) = opened(&folder, 100_000).await;
        write(&store, 120).await;
        checkpointer.look().await;
        write(&store, 1).await;
        assert!(checkpointer.pages_after(LENGTH).await.unwrap() > 120);
    }

    #[tokio::test]
    async fn one_looks_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let (store, checkpointer) = opened(&folder, 100).await;
        write(&store, 120).await;
        let busy = checkpointer.alone.lock().await;
        checkpointer.look().await;
        drop(busy);
        write(&store, 1).await;
        assert!(checkpointer.pages_after(LENGTH).await.unwrap() > 120);
    }
}
