//! Charge points that the operator adds.
use crate::edge::files::{Credentials, FileError, Folder, IDENTITY_LENGTH_MAX};
use crate::edge::secret::{
    NoRandomness, generate_code, generate_password, hash, hash_password, normalised,
};

/// Secrets of a charge point, which exist in clear text only here.
#[derive(Clone, PartialEq, Eq)]
pub struct Enrolled {
    /// Password of the charge point: its `AuthorizationKey` (1.6) or `BasicAuthPassword` (2.0.1).
    pub password: String,
    /// Code with which the owner links it.
    pub code: String,
}

/// Reason why a charge point was not added.
#[derive(Debug, thiserror::Error)]
pub enum EnrolmentError {
    /// The identity is none that a charge point can have.
    #[error(
        "the identity {given:?} is none: 1 to {IDENTITY_LENGTH_MAX} letters, digits or `-_.:@*+=|`"
    )]
    Identity {
        /// Identity as given.
        given: String,
    },
    /// The charge point is there already.
    #[error(
        "the charge point {identity} has credentials already; ask for new ones to replace them"
    )]
    Exists {
        /// Identity.
        identity: String,
    },
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The system has no random numbers.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

/// Adds a charge point with new secrets, or replaces the secrets of one that is there.
///
/// # Errors
/// The identity is malformed, the charge point is there and nothing is to be replaced, or the
/// file cannot be written.
pub fn enrol(folder: &Folder, identity: &str, replaces: bool) -> Result<Enrolled, EnrolmentError> {
    if !is_identity(identity) {
        return Err(EnrolmentError::Identity { given: identity.to_owned() });
    }
    if !replaces && folder.credentials(identity)?.is_some() {
        return Err(EnrolmentError::Exists { identity: identity.to_owned() });
    }
    let (password, code) = (generate_password()?, generate_code()?);
    folder.keep_credentials(&Credentials {
        identity: identity.to_owned(),
        password_hash: hash_password(&password),
        code_hash: hash(normalised(&code).as_bytes())?,
    })?;
    Ok(Enrolled { password, code })
}

/// Returns true for the letters of an identity in both versions.
#[must_use]
pub fn is_identity(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "-_.:@*+=|".contains(c);
    (1..=IDENTITY_LENGTH_MAX).contains(&text.len()) && text.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::secret::matches_password;

    #[test]
    fn secrets_are_kept_as_hashes_and_replaced_on_demand_only() {
        let folder = tempfile::tempdir().unwrap();
        let files = Folder::new(folder.path());
        let first = enrol(&files, "CP:1", false).unwrap();
        let kept = files.credentials("CP:1").unwrap().unwrap();
        assert!(matches_password(first.password.as_bytes(), &kept.password_hash));
        assert!(matches!(enrol(&files, "CP:1", false), Err(EnrolmentError::Exists { .. })));
        let second = enrol(&files, "CP:1", true).unwrap();
        assert!(first != second);
        for wrong in ["", "a b", "a/b", "é", &"x".repeat(49)] {
            let error = enrol(&files, wrong, false).err().unwrap().to_string();
            assert!(error.starts_with("the identity "), "{error}");
        }
    }
}
