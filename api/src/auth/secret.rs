//! Random secrets, and what is kept of them.
//!
//! A client's secret is kept as its argon2id hash. Tokens are checked with each
//! request and hold 256 random bits, which nobody guesses: a plain SHA-256 of
//! them is enough, and fast.
use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
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

/// What is kept of a token or link: its SHA-256, in hexadecimal digits.
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

/// What is kept of a client's secret: argon2id with a salt of its own.
///
/// Takes tens of milliseconds and 19 MiB, on purpose: call it off the async threads.
///
/// # Errors
/// The system has no random numbers for the salt.
pub fn hash(secret: &str) -> Result<String, NoRandomness> {
    let hash = Argon2::default().hash_password(secret.as_bytes()).map_err(|_| NoRandomness)?;
    Ok(hash.to_string())
}

/// Whether a secret is the one that was hashed. Costs as much as [`hash`].
#[must_use]
pub fn matches(secret: &str, hash: &str) -> bool {
    PasswordHash::new(hash)
        .is_ok_and(|hash| Argon2::default().verify_password(secret.as_bytes(), &hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auth_15_only_hashes_are_kept() {
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
