//! To the disk, once for all who wait.
//!
//! SQLite appends what is committed to the log beside its file. Until that log is
//! flushed, a failure of the machine (not of the process) may lose the end of it.
//! Flushing takes milliseconds, so those whose changes were committed meanwhile
//! share the next flush, and nobody holds the writer's turn while it runs.
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::finish::Finish;

/// The log of a database file, and how much of it is on disk.
#[derive(Debug)]
pub struct Flusher {
    log: Arc<Log>,
    count: Arc<Count>,
}

/// The log, and the descriptor by which it is flushed: one that is kept needs none
/// when the process has no more, and the system tells it of failures in between.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: std::sync::Mutex<Option<File>>,
}

/// Number of committed changes, and of those on disk.
#[derive(Debug, Default)]
struct Count {
    committed: AtomicU64,
    flushed: Mutex<u64>,
    has_failed: AtomicBool,
}

impl Count {
    /// Counts a change that was committed. Returns its number.
    fn committed(&self) -> u64 {
        self.committed.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Returns when the change of that number is on disk: by the flush of
    /// somebody else that began after its commit, or by one of its own.
    ///
    /// After a flush that failed a later one proves nothing: the system may have
    /// thrown away what it could not write. Until [`heal`](Self::heal) all fail.
    async fn reach(
        &self,
        number: u64,
        flush: impl AsyncFnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let mut flushed = self.flushed.lock().await;
        if *flushed >= number {
            return Ok(());
        }
        if self.has_failed.load(Ordering::Acquire) {
            return Err(io::Error::other("an earlier change did not reach the disk"));
        }
        let committed = self.committed.load(Ordering::Acquire);
        if let Err(reason) = flush().await {
            self.has_failed.store(true, Ordering::Release);
            return Err(reason);
        }
        *flushed = committed;
        Ok(())
    }

    /// Counts all changes as being on disk: the log was taken over into its file.
    /// Nothing may be committed meanwhile.
    async fn heal(&self) {
        let mut flushed = self.flushed.lock().await;
        *flushed = self.committed.load(Ordering::Acquire);
        self.has_failed.store(false, Ordering::Release);
    }
}

impl Flusher {
    /// For the database in a file.
    #[must_use]
    pub fn new(database: &str) -> Self {
        let path = PathBuf::from(format!("{database}-wal"));
        let log = Log { path, file: std::sync::Mutex::default() };
        Self { log: Arc::new(log), count: Arc::default() }
    }

    /// The log.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log.path
    }

    /// Counts a change that was committed. Returns its number.
    #[must_use]
    pub fn committed(&self) -> u64 {
        self.count.committed()
    }

    /// Number of committed changes.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.committed.load(Ordering::Acquire)
    }

    /// Returns `true` if a change may not have reached the disk. None is acknowledged until the log
    /// is taken over into its file.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.count.has_failed.load(Ordering::Acquire)
    }

    /// Acknowledges changes again. Call it in the writer's turn in which all of the
    /// log was taken over into its file.
    pub async fn heal(&self) {
        self.count.heal().await;
    }

    /// A flush that failed.
    #[cfg(test)]
    pub(crate) fn fail(&self) {
        self.count.has_failed.store(true, Ordering::Release);
    }

    /// Number of changes on disk.
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
        let (log, count) = (Arc::clone(&self.log), Arc::clone(&self.count));
        // Finished whoever waits: the system tells of a failure once, and it must not
        // be somebody who left that it tells.
        Finish::new(async move {
            let flush = async || {
                let flushed = spawn_blocking(move || log.flush()).await;
                flushed.map_err(io::Error::other)?
            };
            count.reach(number, flush).await
        })
        .await
    }
}

impl Log {
    /// Flushes the log. One that is gone was taken over into its database, on disk.
    fn flush(&self) -> io::Result<()> {
        let mut kept = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match fs::metadata(&self.path) {
            Ok(found) => (found.dev(), found.ino()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        // SQLite begins another file after its last connection was closed.
        let file = match kept.take() {
            Some(file) if is_at(&file, found)? => kept.insert(file),
            _ => kept.insert(File::open(&self.path)?),
        };
        file.sync_data()
    }
}

/// Returns `true` if an open file is the one of this device and number.
fn is_at(file: &File, found: (u64, u64)) -> io::Result<bool> {
    let open = file.metadata()?;
    Ok((open.dev(), open.ino()) == found)
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
    async fn after_a_failure_nothing_is_acknowledged_until_the_log_was_taken_over() {
        let count = Count::default();
        count.committed();
        count.reach(1, async || Ok(())).await.unwrap();
        let number = count.committed();
        let failed = count.reach(number, async || Err(io::Error::other("gone"))).await;
        assert_eq!(failed.unwrap_err().to_string(), "gone");
        // A later flush succeeds, although the pages are lost.
        for number in [number, count.committed()] {
            assert!(count.reach(number, async || Ok(())).await.is_err());
        }
        assert!(count.reach(1, async || Ok(())).await.is_ok());
        count.heal().await;
        count.reach(3, async || unreachable!("it is on disk")).await.unwrap();
        let next = count.committed();
        count.reach(next, async || Ok(())).await.unwrap();
        assert_eq!(*count.flushed.lock().await, 4);
    }

    #[test]
    fn a_log_that_was_begun_anew_is_the_one_that_is_flushed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db-wal");
        let log = Log { path: path.clone(), file: std::sync::Mutex::default() };
        log.flush().unwrap();
        let number = || {
            let kept = log.file.lock().unwrap();
            kept.as_ref().map(|file| file.metadata().unwrap().ino())
        };
        assert_eq!(number(), None);
        for _ in 0..2 {
            fs::write(folder.path().join("next"), "x").unwrap();
            fs::rename(folder.path().join("next"), &path).unwrap();
            log.flush().unwrap();
            assert_eq!(number(), Some(fs::metadata(&path).unwrap().ino()));
        }
    }
}
