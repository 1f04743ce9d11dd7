//! Secrets of charge points and their owners, and what is kept of them.
use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Random bytes of the password of a charge point: the shortest key that security profile 1 of
/// OCPP 1.6 allows, as 32 digits, which is within the bounds of 2.0.1 as well.
const PASSWORD_BYTES: usize = 16;

/// Letters of the code for the owner. None is mistaken for another.
const CODE_LETTERS: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/// Letters in a code: 60 bits.
const CODE_LENGTH: usize = 12;

/// The machine gave no random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system gave no random numbers")]
pub struct NoRandomness;

fn draw_bytes<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// Hexadecimal digits of bytes.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Password for a charge point.
///
/// # Errors
/// The system has no random numbers.
pub fn generate_password() -> Result<String, NoRandomness> {
    Ok(hex(&draw_bytes::<PASSWORD_BYTES>()?))
}

/// Code for the owner of a charge point, in groups of four letters.
///
/// # Errors
/// The system has no random numbers.
pub fn generate_code() -> Result<String, NoRandomness> {
    let bytes = draw_bytes::<CODE_LENGTH>()?;
    let letter = |byte: &u8| char::from(CODE_LETTERS[usize::from(byte % 32)]);
    let letters: Vec<char> = bytes.iter().map(letter).collect();
    Ok(letters.chunks(4).map(String::from_iter).collect::<Vec<_>>().join("-"))
}

/// Code as it is hashed: people leave out the dashes and write small letters.
#[must_use]
pub fn normalised(code: &str) -> String {
    code.chars()
        .filter(|letter| *letter != '-' && *letter != ' ')
        .map(|letter| letter.to_ascii_uppercase())
        .collect()
}

/// Token for a link: 256 random bits.
///
/// # Errors
/// The system has no random numbers.
pub fn generate_token() -> Result<String, NoRandomness> {
    Ok(hex(&draw_bytes::<32>()?))
}

/// Stored form of a token: its SHA-256. Nobody guesses 256 random bits, so that this is enough.
#[must_use]
pub fn digest(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

/// Compares two digests in a time that does not depend on them.
#[must_use]
pub fn is_same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

/// Stored form of a code: argon2id with a salt of its own. Takes tens of milliseconds
/// and 19 MiB: call it off the async threads.
///
/// # Errors
/// The system has no random numbers for the salt.
pub fn hash(secret: &[u8]) -> Result<String, NoRandomness> {
    let hash = Argon2::default().hash_password(secret).map_err(|_| NoRandomness)?;
    Ok(hash.to_string())
}

/// Returns true if a secret is the one that was hashed. Costs as much as [`hash`].
#[must_use]
pub fn matches(secret: &[u8], hash: &str) -> bool {
    PasswordHash::new(hash)
        .is_ok_and(|hash| Argon2::default().verify_password(secret, &hash).is_ok())
}

/// Start of the stored form of a password.
const DIGEST_PREFIX: &str = "sha256:";

/// Stored form of a password that was [generated](generate_password): its SHA-256. Nobody guesses
/// 128 random bits, and after a power cut ten thousand charge points show theirs within a minute.
#[must_use]
pub fn hash_password(password: &str) -> String {
    format!("{DIGEST_PREFIX}{}", digest(password))
}

/// Returns true if the password of a charge point is the one that was hashed. Some read the
/// digits of the key as hexadecimal and send its bytes. Earlier versions kept passwords as codes.
#[must_use]
pub fn matches_password(password: &[u8], kept: &str) -> bool {
    let is_kept = |password: &[u8]| match kept.strip_prefix(DIGEST_PREFIX) {
        Some(digest) => is_same(&hex(&Sha256::digest(password)), digest),
        None => matches(password, kept),
    };
    is_kept(password) || (password.len() == PASSWORD_BYTES && is_kept(hex(password).as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_fit_both_versions_and_codes_can_be_typed() {
        let password = generate_password().unwrap();
        assert_eq!(password.len(), 32);
        let code = generate_code().unwrap();
        assert_eq!((code.len(), normalised(&code).len()), (14, 12));
        assert_eq!(normalised(&code.to_lowercase()), normalised(&code));
        assert_ne!(generate_code().unwrap(), code);
    }

    #[test]
    fn a_key_counts_as_text_and_as_bytes() {
        let key = "000102030405060708090a0b0c0d0e0f";
        let bytes: Vec<u8> = (0..16).collect();
        // As it is kept now, and as earlier versions did.
        for kept in [hash_password(key), hash(key.as_bytes()).unwrap()] {
            assert!(!kept.contains(key));
            assert!(matches_password(key.as_bytes(), &kept) && matches_password(&bytes, &kept));
            assert!(!matches_password(b"000102030405060708090a0b0c0d0e0e", &kept));
            assert!(!matches_password(&bytes[1..], &kept) && !matches_password(b"", &kept));
        }
        assert!(!matches_password(b"", "") && !matches_password(b"", DIGEST_PREFIX));
        assert!(!matches(key.as_bytes(), "no hash"));
        assert!(is_same(&digest("a"), &digest("a")) && !is_same(&digest("a"), &digest("b")));
    }
}
