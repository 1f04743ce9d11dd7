//! Encryption of secrets in rows, with keys that the database does not have.
//!
//! A secret is encrypted by XChaCha20-Poly1305 under a key of 256 random bits. The nonce is random:
//! its 192 bits do not repeat in the life of a key (draft-irtf-cfrg-xchacha). Table and key of the
//! row are authenticated with it, so that a ciphertext moved to another row does not decrypt. The
//! row has the name of the encryption key beside it, which is made from the key itself: whoever
//! lacks that key is told so, and rows of several keys are read side by side.
use std::fmt::{self, Write};
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// Bytes of a nonce.
const NONCE_BYTES: usize = 24;

/// Digits of the name of a key.
const NAME_DIGITS: usize = 16;

/// Text that is no key. What it was is not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key is {KEY_BYTES} bytes in base64; `slackwater-api store key` makes one")]
pub struct KeyError;

/// Reason why a secret cannot be encrypted or decrypted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CipherError {
    /// No file has the key.
    #[error(
        "is encrypted with the key {name}, which is neither in store.key_file nor in \
         store.old_key_files"
    )]
    NoKey {
        /// Name of the key.
        name: String,
    },
    /// The ciphertext is not what was written, or belongs to another row.
    #[error("does not decrypt with the key {name}: it was changed, or moved from another row")]
    Changed {
        /// Name of the key.
        name: String,
    },
    /// The system has no random numbers for a nonce.
    #[error("cannot be encrypted: the system gave no random numbers")]
    NoRandomness,
}

/// Key that encrypts secrets. Its debug form has its name only, and its memory is cleared.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptionKey {
    name: String,
    bytes: Zeroizing<[u8; KEY_BYTES]>,
}

/// Keys of a process: one that encrypts, and others that only decrypt. Clones share them.
///
/// Without a key secrets are written in clear text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keyring {
    current: Option<Arc<EncryptionKey>>,
    old: Vec<Arc<EncryptionKey>>,
}

/// Secret as a row has it. Its debug form hides it: it may be in clear text.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredSecret {
    /// Ciphertext in base64, or clear text.
    pub text: String,
    /// Name of the key; `None` for clear text.
    pub key: Option<String>,
}

impl EncryptionKey {
    /// Text of a new key, as it stands in a file.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate() -> Result<Zeroizing<String>, CipherError> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        getrandom::fill(&mut *bytes).map_err(|_| CipherError::NoRandomness)?;
        Ok(Zeroizing::new(STANDARD.encode(*bytes)))
    }

    /// Name of the key: the start of its SHA-256. It tells nothing about the key.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.bytes).into())
    }
}

impl FromStr for EncryptionKey {
    type Err = KeyError;

    fn from_str(given: &str) -> Result<Self, KeyError> {
        let decoded = Zeroizing::new(STANDARD.decode(given.trim()).map_err(|_| KeyError)?);
        let bytes: [u8; KEY_BYTES] = decoded.as_slice().try_into().map_err(|_| KeyError)?;
        let bytes = Zeroizing::new(bytes);
        let mut name = Sha256::digest(*bytes).iter().fold(String::new(), |mut name, byte| {
            // Writing to a text cannot fail.
            let _: fmt::Result = write!(name, "{byte:02x}");
            name
        });
        name.truncate(NAME_DIGITS);
        Ok(Self { name, bytes })
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EncryptionKey").field(&self.name).finish()
    }
}

impl fmt::Debug for StoredSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredSecret").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Keyring {
    /// Keyring that encrypts with `current`, and decrypts with `old`, too.
    #[must_use]
    pub fn new(current: Option<EncryptionKey>, old: Vec<EncryptionKey>) -> Self {
        Self { current: current.map(Arc::new), old: old.into_iter().map(Arc::new).collect() }
    }

    /// Name of the key that encrypts; `None` if secrets are written in clear text.
    #[must_use]
    pub fn current(&self) -> Option<&str> {
        self.current.as_ref().map(|key| key.name())
    }

    /// Returns `true` if secrets of a key can be read.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn find(&self, name: &str) -> Option<&EncryptionKey> {
        self.current.iter().chain(&self.old).find(|key| key.name() == name).map(|key| &**key)
    }

    /// Encrypts a secret of a row. `row` is the table and the key of the row.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn encrypt(&self, row: &[&str], secret: &str) -> Result<StoredSecret, CipherError> {
        let Some(key) = &self.current else {
            return Ok(StoredSecret { text: secret.to_owned(), key: None });
        };
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|_| CipherError::NoRandomness)?;
        let payload = Payload { msg: secret.as_bytes(), aad: &authenticated(row) };
        let encrypted = key.cipher().encrypt(&XNonce::from(nonce), payload);
        let encrypted = encrypted.map_err(|_| CipherError::NoRandomness)?;
        let text = STANDARD.encode([&nonce[..], &encrypted].concat());
        Ok(StoredSecret { text, key: Some(key.name().to_owned()) })
    }

    /// Decrypts a secret of a row.
    ///
    /// # Errors
    /// The key is missing, or the text was changed or belongs to another row.
    pub fn decrypt(&self, row: &[&str], stored: StoredSecret) -> Result<String, CipherError> {
        let Some(name) = stored.key else { return Ok(stored.text) };
        let Some(key) = self.find(&name) else { return Err(CipherError::NoKey { name }) };
        let clear = || {
            let bytes = STANDARD.decode(&stored.text).ok()?;
            let (nonce, encrypted) = bytes.split_first_chunk::<NONCE_BYTES>()?;
            let payload = Payload { msg: encrypted, aad: &authenticated(row) };
            let clear = key.cipher().decrypt(&XNonce::from(*nonce), payload).ok()?;
            String::from_utf8(clear).ok()
        };
        clear().ok_or(CipherError::Changed { name })
    }
}

/// Table and key of a row as bytes. Each part has its length before it, so that no two rows have
/// the same bytes.
fn authenticated(row: &[&str]) -> Vec<u8> {
    let part = |part: &&str| [&(part.len() as u64).to_le_bytes()[..], part.as_bytes()].concat();
    row.iter().flat_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> EncryptionKey {
        STANDARD.encode([byte; KEY_BYTES]).parse().unwrap()
    }

    const ROW: &[&str] = &["connections", "c", "u", "FJORD"];

    #[test]
    fn a_secret_is_read_by_its_key_in_its_row_and_nowhere_else() {
        let (first, second) =
            (Keyring::new(Some(key(1)), Vec::new()), Keyring::new(Some(key(2)), Vec::new()));
        let stored = first.encrypt(ROW, "sesame").unwrap();
        assert_eq!(stored.key.as_deref(), first.current());
        assert!(!stored.text.contains("sesame"));
        assert_ne!(first.encrypt(ROW, "sesame").unwrap().text, stored.text);
        assert_eq!(first.decrypt(ROW, stored.clone()).unwrap(), "sesame");
        let both = Keyring::new(Some(key(2)), vec![key(1)]);
        assert_eq!(both.decrypt(ROW, stored.clone()).unwrap(), "sesame");
        assert_eq!(both.encrypt(ROW, "x").unwrap().key.as_deref(), second.current());
        let lacking = second.decrypt(ROW, stored.clone()).unwrap_err().to_string();
        assert!(lacking.contains(first.current().unwrap()), "{lacking}");
        for row in [&["connections", "c", "uF", "JORD"][..], &["connections", "c", "u", "HEATH"]] {
            let moved = first.decrypt(row, stored.clone());
            assert!(matches!(moved, Err(CipherError::Changed { .. })), "{row:?}");
        }
        let mut bytes = STANDARD.decode(&stored.text).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        for text in [String::new(), "%".to_owned(), STANDARD.encode(bytes)] {
            let changed = StoredSecret { text, ..stored.clone() };
            assert!(first.decrypt(ROW, changed).is_err());
        }
    }

    #[test]
    fn without_a_key_secrets_are_clear_text_and_read_on_with_one() {
        let stored = Keyring::default().encrypt(ROW, "sesame").unwrap();
        assert_eq!(stored, StoredSecret { text: "sesame".to_owned(), key: None });
        let keyed = Keyring::new(Some(key(1)), Vec::new());
        assert_eq!(keyed.decrypt(ROW, stored).unwrap(), "sesame");
    }

    #[test]
    fn keys_are_random_and_hide_themselves() {
        let text = EncryptionKey::generate().unwrap();
        let key: EncryptionKey = format!(" {}\n", *text).parse().unwrap();
        assert_ne!(EncryptionKey::generate().unwrap(), text);
        assert_eq!(key.name().len(), NAME_DIGITS);
        assert!(!format!("{:?}", Keyring::new(Some(key), Vec::new())).contains(&**text));
        for bad in ["", "sesame", "AAAA", &"A".repeat(44)] {
            assert_eq!(bad.parse::<EncryptionKey>(), Err(KeyError), "{bad}");
        }
    }
}
