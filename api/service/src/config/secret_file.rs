//! Files that hold secrets in the place of settings.
use std::fs;
use std::path::Path;

use crate::config::error::ConfigError;

/// Text of a file with a secret, without the end of its line.
pub(super) fn read_secret(name: &str, file: &Path) -> Result<String, ConfigError> {
    let failed = |reason: std::io::Error| ConfigError::SecretFile {
        name: name.to_owned(),
        file: file.to_owned(),
        reason: reason.to_string(),
    };
    fs::read_to_string(file).map(|text| text.trim().to_owned()).map_err(failed)
}

/// Error of a secret that is given twice: by itself, and by its file.
pub(super) fn both(name: &str) -> ConfigError {
    ConfigError::Both { one: name.to_owned(), other: format!("{name}_file") }
}
