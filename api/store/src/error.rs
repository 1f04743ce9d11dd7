//! Failures of the database.
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::connect::PATIENCE;
use crate::keyring::CipherError;
use crate::url::StoreUrl;

/// Time after which a database that is busy is tried again.
const SOON: Duration = Duration::from_secs(1);

/// Time after which a database that takes no writes or does not answer is tried again.
pub const LATER: Duration = Duration::from_secs(5);

/// Failure of the database.
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
    /// There is no file of that name.
    #[error(
        "there is no database {}; name its settings with --config, or its address in \
         SLACKWATER_STORE__URL",
        .0.display()
    )]
    NoFile(PathBuf),
    /// A file of the database cannot be locked, or not be closed to others.
    #[error("cannot use {}: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Error of the system.
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
    /// A commit that may not outlive a failure of the machine.
    #[error("the disk of the database failed: {0}")]
    Disk(#[from] io::Error),
    /// A statement failed.
    #[error("the database refused a statement: {0}")]
    Statement(sqlx::Error),
    /// Secrets need a key that no file has.
    #[error(
        "{count} secrets in {table} are encrypted with the key {key}, which is neither in \
         store.key_file nor in store.old_key_files"
    )]
    NoKey {
        /// The table.
        table: &'static str,
        /// Number of secrets.
        count: i64,
        /// Name of the key.
        key: String,
    },
    /// There is no key to encrypt with.
    #[error("store.key_file is not set; `slackwater-api store key` makes a key")]
    NoCurrentKey,
    /// A secret cannot be encrypted.
    #[error("a secret {0}")]
    Cipher(#[from] CipherError),
    /// A row holds what no version of this service has written.
    #[error("{table} {id}: {reason}")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The row.
        id: String,
        /// The column, and the fault.
        reason: String,
    },
}

/// Row that no version of this service has written.
#[derive(Debug, thiserror::Error)]
#[error("{table} {id}: {reason}")]
pub(crate) struct Corrupt {
    /// The table.
    pub(crate) table: &'static str,
    /// Identifier of the row, if it has one.
    pub(crate) id: String,
    /// The column, and what is wrong with it.
    pub(crate) reason: String,
}

impl StoreError {
    /// Returns `true` if the change collided with one of another process, or each waited for the
    /// other. Nothing was kept, and the change may be tried again from its beginning.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        let (Self::Statement(error) | Self::Busy(error)) = self else { return false };
        let sqlx::Error::Database(error) = error else { return false };
        // Class 40 of PostgreSQL: deadlocks and changes that cannot be put in order.
        let is_undone = error.code().is_some_and(|code| code.len() == 5 && code.starts_with("40"));
        error.is_unique_violation() || is_undone
    }

    /// Time after which to try again; `None` for a failure that does not pass by itself.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            // Others are ahead, and each of them takes a moment.
            Self::Queue | Self::Busy(_) => Some(SOON),
            // Somebody has to look after the database or its disk.
            Self::Down(_) | Self::Open { .. } | Self::Disk(_) | Self::Full(_) => Some(LATER),
            Self::Corrupt { .. }
            | Self::NoKey { .. }
            | Self::NoCurrentKey
            | Self::Cipher(_)
            | Self::Taken(_)
            | Self::NoFile(_)
            | Self::File { .. }
            | Self::Migrate(_)
            | Self::Statement(_) => None,
        }
    }

    /// No answer within the time that one waits for it.
    pub(super) fn silent() -> Self {
        Self::Down(silence())
    }

    /// Failure to open the database at an address, which is told without its password.
    pub(super) fn of_opening(url: &StoreUrl, error: sqlx::Error) -> Self {
        let reason = match error {
            sqlx::Error::Io(error) => error.to_string(),
            sqlx::Error::Database(error) => error.message().to_owned(),
            error => error.to_string(),
        };
        Self::Open { place: url.place(), reason }
    }
}

/// No answer within the time that one waits for it, as an error of the connection.
pub(super) fn silence() -> sqlx::Error {
    let no_answer = format!("no answer within {} s", PATIENCE.as_secs());
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, no_answer))
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let error = match error {
            sqlx::Error::Decode(source) => match source.downcast::<Corrupt>() {
                Ok(corrupt) => {
                    let Corrupt { table, id, reason } = *corrupt;
                    return Self::Corrupt { table, id, reason };
                }
                Err(source) => sqlx::Error::Decode(source),
            },
            other => other,
        };
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
