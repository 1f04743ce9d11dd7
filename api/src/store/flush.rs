//! To the disk, once for all who wait.
//!
//! SQLite appends what is committed to the log beside its file. Until that log is
//! flushed, a failure of the machine (not of the process) may lose the end of it.
//! Flushing takes milliseconds, so those whose changes were committed meanwhile
//! share the next flush, and nobody holds the writer's turn while it runs.
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

/// The log of a database file, and how much of it is on disk.
#[derive(Debug)]
pub struct Flusher {
    log: Arc<PathBuf>,
    count: Count,
}

/// How many changes were committed, and how many of them are on disk.
#[derive(Debug, Default)]
struct Count {
    committed: AtomicU64,
    flushed: Mutex<u64>,
}

impl Count {
    /// Counts a change that was committed. Returns its number.
    fn committed(&self) -> u64 {
        self.committed.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Returns when the change of that number is on disk: by the flush of
    /// somebody else that began after its commit, or by one of its own.
    async fn reach(
        &self,
        number: u64,
        flush: impl AsyncFnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let mut flushed = self.flushed.lock().await;
        if *flushed < number {
            let committed = self.committed.load(Ordering::Acquire);
            flush().await?;
            *flushed = committed;
        }
        Ok(())
    }
}

impl Flusher {
    /// For the database in a file.
    #[must_use]
    pub fn new(database: &str) -> Self {
        let log = PathBuf::from(format!("{database}-wal"));
        Self { log: Arc::new(log), count: Count::default() }
    }

    /// The log.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Counts a change that was committed. Returns its number.
    pub fn committed(&self) -> u64 {
        self.count.committed()
    }

    /// How many changes were committed.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.committed.load(Ordering::Acquire)
    }

    /// How many of them are on disk.
    #[cfg(test)]
    pub(crate) async fn flushed(&self) -> u64 {
        *self.count.flushed.lock().await
    }

    /// Returns when the change of that number is on disk.
    ///
    /// # Errors
    /// The disk failed: whether the change outlives a failure of the machine is
    /// not known.
    pub async fn reach(&self, number: u64) -> io::Result<()> {
        let log = Arc::clone(&self.log);
        self.count
            .reach(number, async || {
                let flushed = spawn_blocking(move || flush(&log)).await;
                flushed.map_err(io::Error::other)?
            })
            .await
    }
}

/// Flushes a log. One that is gone was taken over into its database, on disk.
fn flush(log: &Path) -> io::Result<()> {
    match File::open(log) {
        Ok(file) => file.sync_data(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn all_who_wait_share_a_flush_that_begins_after_their_commits() {
        let (count, flushes) = (Count::default(), Cell::new(0));
        let flush = async || {
            flushes.set(flushes.get() + 1);
            // A commit during a flush is not part of it.
            count.committed();
            tokio::task::yield_now().await;
            Ok(())
        };
        let [one, two, three] = [(); 3].map(|()| count.committed());
        let reached = tokio::join!(
            count.reach(one, flush),
            count.reach(two, flush),
            count.reach(three, flush)
        );
        assert!(reached.0.is_ok() && reached.1.is_ok() && reached.2.is_ok());
        assert_eq!(flushes.get(), 1);
        count.reach(three + 1, flush).await.unwrap();
        assert_eq!(flushes.get(), 2);
    }

    #[tokio::test]
    async fn a_failure_is_told_and_the_next_tries_again() {
        let count = Count::default();
        let number = count.committed();
        let failed = count.reach(number, async || Err(io::Error::other("full"))).await;
        assert_eq!(failed.unwrap_err().to_string(), "full");
        count.reach(number, async || Ok(())).await.unwrap();
        assert_eq!(*count.flushed.lock().await, 1);
    }
}
