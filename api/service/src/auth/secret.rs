//! Random secrets, and what is kept of them.
//!
//! A client's secret is kept as its argon2id hash. Tokens are checked with each
//! request and hold 256 random bits, which nobody guesses: a plain SHA-256 of
//! them is enough, and fast.
use std::collections::HashMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Random bytes in a secret.
pub const SECRET_BYTES: usize = 32;

/// The machine gave no random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system gave no random numbers")]
pub struct NoRandomness;

/// Random bytes of the system.
///
/// # Errors
/// The system has none.
pub fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// A secret of 256 random bits, in letters that need no escaping anywhere.
///
/// # Errors
/// The system has no random numbers.
pub fn generate() -> Result<String, NoRandomness> {
    Ok(URL_SAFE_NO_PAD.encode(random::<SECRET_BYTES>()?))
}

/// Stored form of a token or link: its SHA-256, in hexadecimal digits.
#[must_use]
pub fn digest(secret: &str) -> String {
    let hash = Sha256::digest(secret.as_bytes());
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        text.push(hex_digit(byte >> 4));
        text.push(hex_digit(byte & 15));
        text
    })
}

fn hex_digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).expect("four bits are a hexadecimal digit")
}

/// Stored form of a client's secret: argon2id with a salt of its own.
///
/// Takes tens of milliseconds and 19 MiB, on purpose: call it off the async threads.
///
/// # Errors
/// The system has no random numbers for the salt.
pub fn hash(secret: &str) -> Result<String, NoRandomness> {
    let hash = Argon2::default().hash_password(secret.as_bytes()).map_err(|_| NoRandomness)?;
    Ok(hash.to_string())
}

/// Returns `true` if a secret is the one that was hashed. Costs as much as [`hash`].
#[must_use]
pub fn matches(secret: &str, hash: &str) -> bool {
    PasswordHash::new(hash)
        .is_ok_and(|hash| Argon2::default().verify_password(secret.as_bytes(), &hash).is_ok())
}

/// Secrets that were right before, so that the same secret is not hashed by argon2
/// again. A full table thus costs the owners of secrets nothing.
///
/// Kept is an HMAC-SHA256 of hash and secret under a key that only this process
/// has: what lies in memory is of no use elsewhere, and a secret that is replaced
/// is forgotten with its hash.
pub struct Verified {
    key: [u8; 32],
    proofs: RwLock<HashMap<String, [u8; 32]>>,
}

impl Verified {
    /// An empty table with a key of its own.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new() -> Result<Self, NoRandomness> {
        Ok(Self { key: random()?, proofs: RwLock::default() })
    }

    /// Returns `true` if this secret of a client was right for this hash before.
    /// Takes as long for any secret.
    #[must_use]
    pub fn knows(&self, client_id: &str, secret: &str, hash: &str) -> bool {
        let proof = self.proof(secret, hash);
        let proofs = self.proofs.read().unwrap_or_else(PoisonError::into_inner);
        let known = proofs.get(client_id).copied().unwrap_or_default();
        proof.verify_slice(&known).is_ok()
    }

    /// Keeps that a secret of a client is right for a hash.
    pub fn keep(&self, client_id: &str, secret: &str, hash: &str) {
        let proof = self.proof(secret, hash).finalize().into_bytes().into();
        let mut proofs = self.proofs.write().unwrap_or_else(PoisonError::into_inner);
        proofs.insert(client_id.to_owned(), proof);
    }

    fn proof(&self, secret: &str, hash: &str) -> Hmac<Sha256> {
        let mut proof =
            Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of any length");
        // A hash has a length of its own, so that none runs on into the secret.
        proof.update(&Sha256::digest(hash.as_bytes()));
        proof.update(secret.as_bytes());
        proof
    }
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_after_it_was_right_and_until_it_is_replaced() {
        let verified = Verified::new().unwrap();
        assert!(!verified.knows("a", "secret", "hash"));
        verified.keep("a", "secret", "hash");
        assert!(verified.knows("a", "secret", "hash"));
        for (id, secret, hash) in
            [("b", "secret", "hash"), ("a", "Secret", "hash"), ("a", "secret", "hash of another")]
        {
            assert!(!verified.knows(id, secret, hash), "{id} {secret} {hash}");
        }
        assert!(!format!("{verified:?}").contains(char::is_numeric));
    }

    #[test]
    fn only_hashes_are_kept() {
        let secret = generate().unwrap();
        let kept = hash(&secret).unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert!(!kept.contains(&secret));
        assert_ne!(kept, hash(&secret).unwrap());
        assert!(matches(&secret, &kept));
        assert!(!matches(&generate().unwrap(), &kept));
        assert!(!matches(&secret, "no hash"));
    }

    #[test]
    fn secrets_have_256_bits() {
        let secret = generate().unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(&secret).unwrap().len(), 32);
        assert_ne!(secret, generate().unwrap());
    }

    #[test]
    fn digests_are_sha256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest(""), empty);
    }
}
