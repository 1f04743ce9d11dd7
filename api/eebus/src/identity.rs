//! Private key of the program, and the SKI by which a control box knows it.
//!
//! SHIP trusts the subject key identifier (SKI), a hash of the public key. The certificate around the key
//! is made anew at each start, since `eebus` 0.10 cannot read one back; the SKI stays.
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use eebus::cert::{
    CertError, CertParams, Identity, key_from_pem, self_signed, self_signed_with,
    ski_from_public_key,
};
use eebus::ship::Ski;

/// Permissions of the file: the owner reads and writes it.
const OWNER_ONLY: u32 = 0o600;

/// Failure to read or make the key.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A file that cannot be read or written.
    #[error("--key-file {}: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Reason.
        reason: io::Error,
    },
    /// A file that others may read.
    #[error("--key-file {}: its mode is {mode:o}; others than its owner can use it", file.display())]
    Mode {
        /// The file.
        file: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A content that is no key of SHIP.
    #[error("--key-file {}: no private key on the curve secp256r1: {reason}", file.display())]
    Key {
        /// The file.
        file: PathBuf,
        /// Reason.
        reason: CertError,
    },
}

/// Key of a file with a new certificate around it. A file that does not exist is written with a new key.
///
/// # Errors
/// The file cannot be read or written, others may read it, or it holds no key of SHIP.
pub fn open_identity(file: &Path) -> Result<Identity, IdentityError> {
    let wrong_key = |reason| IdentityError::Key { file: file.to_owned(), reason };
    let wrong_file = |reason| IdentityError::File { file: file.to_owned(), reason };
    let text = if let Some(text) = read_private(file)? {
        text
    } else {
        let made = self_signed(CertParams::new("Slackwater")).map_err(wrong_key)?;
        let text = made.key_pem();
        write_private(file, &text).map_err(wrong_file)?;
        text
    };
    let key = key_from_pem(&text).map_err(wrong_key)?;
    let name = device_name(ski_from_public_key(&key));
    self_signed_with(CertParams::new(name), key).map_err(wrong_key)
}

/// Name of the device in SHIP and SPINE, which is unique as its key is.
#[must_use]
pub fn device_name(ski: Ski) -> String {
    let mut name = format!("Slackwater-{}", ski.to_txt_value());
    name.truncate("Slackwater-".len() + 12);
    name
}

/// Content of a file that its owner alone can read; `None` if there is no file.
fn read_private(file: &Path) -> Result<Option<String>, IdentityError> {
    let wrong_file = |reason| IdentityError::File { file: file.to_owned(), reason };
    let mut opened = match File::open(file) {
        Err(reason) if reason.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(wrong_file)?,
    };
    let mode = opened.metadata().map_err(wrong_file)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(IdentityError::Mode { file: file.to_owned(), mode });
    }
    let mut text = String::new();
    opened.read_to_string(&mut text).map_err(wrong_file)?;
    Ok(Some(text))
}

fn write_private(file: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut opened = options.write(true).create_new(true).mode(OWNER_ONLY).open(file)?;
    opened.write_all(text.as_bytes())?;
    opened.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, metadata, set_permissions, write};

    use super::*;

    #[test]
    fn a_key_is_made_once_and_its_owner_alone_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("eebus.key");
        let ski = open_identity(&file).unwrap().ski;
        assert_eq!(metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(open_identity(&file).unwrap().ski, ski);
        assert_ne!(open_identity(&folder.path().join("other")).unwrap().ski, ski);
    }

    #[test]
    fn a_file_that_others_read_or_that_has_no_key_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("eebus.key");
        open_identity(&file).unwrap();
        let found = |file: &Path| open_identity(file).unwrap_err().to_string();
        set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        assert!(found(&file).contains("eebus.key: its mode is 640"), "{}", found(&file));
        write(&file, "no key").unwrap();
        set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        assert!(found(&file).contains("eebus.key: no private key"), "{}", found(&file));
        assert!(found(folder.path()).starts_with("--key-file"), "{}", found(folder.path()));
    }
}
