//! Files of the charge points: their credentials, which the operator writes, and their state,
//! which the service writes. No file has two writers.
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::relay::shared::Shared;
use crate::station::state::Station;

/// Longest identity that a charge point may have, in characters (2.0.1).
pub const IDENTITY_LENGTH_MAX: usize = 48;

/// Credentials of a charge point.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// Identity of the charge point.
    pub identity: String,
    /// Hash of its password.
    pub password_hash: String,
    /// Hash of the code with which its owner links it.
    pub code_hash: String,
}

/// State of a charge point, and who is linked to it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Digests of the tokens of links, the oldest first.
    pub links: Vec<String>,
    /// State of the charge point.
    pub station: Station,
    /// State that a second central system shares.
    #[serde(default)]
    pub shared: Shared,
}

/// A file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// Reason in words.
    pub reason: String,
}

/// Folder with the files of all charge points.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// A folder.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Credentials of a charge point; `None` if it was not added.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn credentials(&self, identity: &str) -> Result<Option<Credentials>, FileError> {
        read(&self.name_file(identity, "credentials"))
    }

    /// Keeps the credentials of a charge point.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_credentials(&self, credentials: &Credentials) -> Result<(), FileError> {
        write_file(&self.name_file(&credentials.identity, "credentials"), credentials)
    }

    /// State of a charge point; `None` if it was never connected.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn state(&self, identity: &str) -> Result<Option<Kept>, FileError> {
        read(&self.name_file(identity, "state"))
    }

    /// Keeps the state of a charge point.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_state(&self, identity: &str, kept: &Kept) -> Result<(), FileError> {
        write_file(&self.name_file(identity, "state"), kept)
    }

    /// Identities of all charge points that were added, in order.
    ///
    /// # Errors
    /// The folder or a file cannot be read.
    pub fn identities(&self) -> Result<Vec<String>, FileError> {
        let failed =
            |error: io::Error| FileError { path: self.0.clone(), reason: error.to_string() };
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.0).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.to_string_lossy().ends_with(".credentials.json") {
                found.extend(read::<Credentials>(&path)?.map(|own| own.identity));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Removes the files of a charge point. Returns false if it was not added.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn forget(&self, identity: &str) -> Result<bool, FileError> {
        // Without credentials it cannot come back, whatever happens before the state is gone.
        let was_added = self.forget_credentials(identity)?;
        self.forget_state(identity)?;
        Ok(was_added)
    }

    /// Removes the credentials of a charge point. Returns false if there are none.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn forget_credentials(&self, identity: &str) -> Result<bool, FileError> {
        remove_file(self.name_file(identity, "credentials"))
    }

    /// Removes the state of a charge point. Returns false if there is none.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn forget_state(&self, identity: &str) -> Result<bool, FileError> {
        remove_file(self.name_file(identity, "state"))
    }

    fn name_file(&self, identity: &str, kind: &str) -> PathBuf {
        self.0.join(format!("{}.{kind}.json", file_name(identity)))
    }
}

/// Identity as the name of a file, which leads nowhere else.
#[must_use]
pub fn file_name(identity: &str) -> String {
    identity.bytes().fold(String::new(), |name, byte| {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            name + &char::from(byte).to_string()
        } else {
            name + &format!("~{byte:02x}")
        }
    })
}

/// Reads a file of JSON; `None` if there is none.
///
/// # Errors
/// The file cannot be read.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    let failed = |reason: String| FileError { path: path.to_owned(), reason };
    match fs::read_to_string(path) {
        Ok(text) => {
            serde_json::from_str(&text).map(Some).map_err(|error| failed(error.to_string()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn remove_file(path: PathBuf) -> Result<bool, FileError> {
    match fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FileError { path, reason: error.to_string() }),
    }
}

/// Writes a file whole or not at all, also if the machine stops in between.
fn write_file(path: &Path, value: &impl Serialize) -> Result<(), FileError> {
    write_whole(path, value)
        .map_err(|error| FileError { path: path.to_owned(), reason: error.to_string() })
}

fn write_whole(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // The new name is in the folder, which has a flush of its own.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_in_their_folder_and_apart() {
        let names = ["CP-1", "..", "a/b", "a~2fb", "é", ""].map(file_name);
        assert_eq!(names, ["CP-1", "~2e~2e", "a~2fb", "a~7e2fb", "~c3~a9", ""]);
    }

    #[test]
    fn charge_points_are_listed_until_they_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let files = Folder::new(folder.path());
        for identity in ["b/2", "CP-1"] {
            let own = Credentials {
                identity: identity.to_owned(),
                password_hash: String::new(),
                code_hash: String::new(),
            };
            files.keep_credentials(&own).unwrap();
            files.keep_state(identity, &Kept::default()).unwrap();
        }
        assert_eq!(files.identities().unwrap(), ["CP-1", "b/2"]);
        assert!(files.forget("b/2").unwrap() && !files.forget("b/2").unwrap());
        assert_eq!(files.identities().unwrap(), ["CP-1"]);
        assert!(files.state("b/2").unwrap().is_none());
        assert!(Folder::new("/no such folder").identities().is_err());
    }

    #[test]
    fn a_state_is_read_as_it_was_kept() {
        let folder = tempfile::tempdir().unwrap();
        let files = Folder::new(folder.path());
        assert!(files.state("CP-1").unwrap().is_none());
        let mut kept = Kept::default();
        kept.links.push("a".to_owned());
        kept.station.last_transaction = 7;
        files.keep_state("CP-1", &kept).unwrap();
        let read = files.state("CP-1").unwrap().unwrap();
        assert_eq!((read.links, read.station), (kept.links, kept.station));
        fs::write(folder.path().join("CP-1.state.json"), "{").unwrap();
        let error = files.state("CP-1").unwrap_err().to_string();
        assert!(error.contains("CP-1.state.json: EOF"), "{error}");
        assert!(Folder::new("/no such folder").keep_state("CP-1", &Kept::default()).is_err());
    }
}
