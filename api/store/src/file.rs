//! The files of a database in a file: who may read them, and which process has them.
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use sqlx::sqlite::SqliteConnectOptions;
use tracing::warn;

use crate::error::StoreError;
use crate::url::StoreUrl;

/// Read and written by the user of the service and nobody else: the rows hold what
/// manufacturers' accounts are called with.
const PRIVATE: u32 = 0o600;

/// Lock of a database file, held until the last clone is dropped or it is released.
/// The system releases it when the process ends in whatever way.
#[derive(Debug, Clone)]
pub struct FileLock(Arc<File>);

impl FileLock {
    /// Lets another process have the file.
    pub fn release(&self) {
        if let Err(reason) = self.0.unlock() {
            warn!(%reason, "the lock of the database file was not released");
        }
    }
}

/// Locks the file of an address for this process; `None` for a server.
///
/// It is a file beside it that is locked: SQLite locks its own file for each
/// change, and loses these locks when somebody else in the process closes it.
///
/// # Errors
/// Another process has it, or the file beside it cannot be made.
pub fn lock(url: &StoreUrl) -> Result<Option<FileLock>, StoreError> {
    let Some(file) = file_of(url) else { return Ok(None) };
    let beside = with_ending(&file, "-lock");
    let refused = |reason| StoreError::File { file: beside.clone(), reason };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(PRIVATE);
    let lock = options.open(&beside).map_err(refused)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(FileLock(Arc::new(lock)))),
        Err(TryLockError::WouldBlock) => Err(StoreError::Taken(file)),
        Err(TryLockError::Error(reason)) => Err(refused(reason)),
    }
}

/// Checks that the file of an address is there; servers always are.
///
/// # Errors
/// It is not there.
pub fn find(url: &StoreUrl) -> Result<(), StoreError> {
    match file_of(url) {
        Some(file) if !file.exists() => Err(StoreError::NoFile(file)),
        _ => Ok(()),
    }
}

/// Makes the file of an address if it is missing, and closes it to other users of
/// the machine with the files beside it. SQLite gives those the mode of the first.
///
/// # Errors
/// It cannot be made, or others may read it and that cannot be changed.
pub fn make(url: &StoreUrl) -> Result<(), StoreError> {
    let Some(file) = file_of(url) else { return Ok(()) };
    // An address with settings of its own says by itself whether a file is made.
    if !url.as_str().contains('?') {
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(PRIVATE).open(&file) {
            Ok(_) => {}
            Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => {}
            Err(reason) => return Err(StoreError::File { file, reason }),
        }
    }
    for ending in ["", "-wal", "-shm"] {
        let one = with_ending(&file, ending);
        if let Err(reason) = close_to_others(&one) {
            return Err(StoreError::File { file: one, reason });
        }
    }
    Ok(())
}

/// Takes rights of others away from a file, if it is there and they have some.
fn close_to_others(file: &Path) -> io::Result<()> {
    match fs::metadata(file) {
        Ok(found) if found.permissions().mode() & 0o077 != 0 => {
            fs::set_permissions(file, Permissions::from_mode(PRIVATE))
        }
        Err(reason) if reason.kind() != io::ErrorKind::NotFound => Err(reason),
        _ => Ok(()),
    }
}

/// The file of an address; `None` for a server and for a database in memory.
fn file_of(url: &StoreUrl) -> Option<PathBuf> {
    let options = SqliteConnectOptions::from_str(url.as_str()).ok().filter(|_| url.is_sqlite())?;
    let file = options.get_filename();
    let is_in_memory = file.to_string_lossy().starts_with("file:");
    (!is_in_memory).then(|| file.to_path_buf())
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Store;

    fn mode(file: &Path) -> u32 {
        fs::metadata(file).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn files_are_closed_to_others_new_ones_and_old_ones() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("two words.db");
        let url: StoreUrl =
            format!("sqlite:{}/two%20words.db", folder.path().display()).parse().unwrap();
        for round in 0..2 {
            let store = Store::open_alone(&url).await.unwrap();
            store.begin().await.unwrap().commit(|| ()).await.unwrap();
            for ending in ["", "-wal", "-shm", "-lock"] {
                assert_eq!(mode(&with_ending(&file, ending)), 0o600, "{ending} {round}");
            }
            store.close().await;
            fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        }
    }

    #[tokio::test]
    async fn a_missing_file_is_made_only_where_that_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("none.db");
        let url: StoreUrl = format!("sqlite:{}", file.display()).parse().unwrap();
        let missing = Store::open_existing(&url).await.unwrap_err().to_string();
        assert!(missing.starts_with(&format!("there is no database {}", file.display())));
        assert!(!file.exists());
        Store::open(&url).await.unwrap().close().await;
        Store::open_existing(&url).await.unwrap().close().await;
    }

    #[tokio::test]
    async fn a_file_has_one_service_and_commands_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("one.db");
        let url: StoreUrl = format!("sqlite:{}", file.display()).parse().unwrap();
        let first = Store::open_alone(&url).await.unwrap();
        let second = Store::open_alone(&url).await.unwrap_err().to_string();
        let expected =
            format!("another process serves {}; one process has a database file", file.display());
        assert_eq!(second, expected);
        Store::open(&url).await.unwrap().close().await;
        first.close().await;
        Store::open_alone(&url).await.unwrap();
    }

    #[tokio::test]
    async fn a_closed_file_is_whole_without_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("one.db");
        let url: StoreUrl = format!("sqlite:{}", file.display()).parse().unwrap();
        let store = Store::open_alone(&url).await.unwrap();
        let reader = store.reader().acquire().await.unwrap();
        crate::settings::set_setting(&store, "a", "b").await.unwrap();
        drop(reader);
        store.close().await;
        let copy = folder.path().join("copy.db");
        fs::copy(&file, &copy).unwrap();
        let copy = Store::open(&format!("sqlite:{}", copy.display()).parse().unwrap()).await;
        let kept = crate::settings::get_setting(&copy.unwrap(), "a").await.unwrap();
        assert_eq!(kept.as_deref(), Some("b"));
    }
}
