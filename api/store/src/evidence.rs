//! Log of evidence in a file: a chain of hashes, signed from time to time.
//!
//! The lines are those of [`slackwater_control::evidence`]. A record is JSON. A signature is a record,
//! too: it signs the hash of the line before it by Ed25519 (RFC 8032), so that whoever has the public
//! key sees up to which line the log is that of the service. A process that is killed while it writes
//! leaves a line without an end: the next one removes it, writes a record that says so, and goes on.
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::Serialize;
use serde_json::{Value, json};
use slackwater_control::evidence::{ChainHash, EvidenceError, START, append_record, follow_line};
use zeroize::Zeroizing;

/// Bytes of a key, private and public.
const KEY_BYTES: usize = 32;

/// Text before the hash in what is signed, so that a signature counts for a log only.
const CONTEXT: &[u8] = b"slackwater evidence ";

/// Rights of files that only their owner reads.
const OWNER_ONLY: u32 = 0o600;

/// Text that is no key of evidence. What it was is not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key is {KEY_BYTES} bytes in base64; `slackwater-api evidence key` makes one")]
pub struct EvidenceKeyError;

/// Reason why a log cannot be continued, or is not what the service wrote.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceLogError {
    /// The file cannot be read or written.
    #[error("{}: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The reason of the operating system.
        reason: io::Error,
    },
    /// Another process writes the file.
    #[error("{}: another process writes it", file.display())]
    Taken {
        /// The file.
        file: PathBuf,
    },
    /// A line was changed, or lines are missing.
    #[error("{}: {reason}", file.display())]
    Chain {
        /// The file.
        file: PathBuf,
        /// The line and its fault.
        reason: EvidenceError,
    },
    /// A line is no text.
    #[error("{}: line {line} is not text", file.display())]
    NoText {
        /// The file.
        file: PathBuf,
        /// Number of the line, from 1.
        line: usize,
    },
    /// A signature that the key did not make.
    #[error("{}: line {line} is not a signature of this key for the lines before it", file.display())]
    Signature {
        /// The file.
        file: PathBuf,
        /// Number of the line, from 1.
        line: usize,
    },
    /// The private key.
    #[error("{}: {reason}", file.display())]
    Key {
        /// The file.
        file: PathBuf,
        /// Its fault.
        reason: EvidenceKeyError,
    },
    /// The system has no random numbers for a key.
    #[error("the system gave no random numbers for a key")]
    NoRandomness,
}

/// Key that signs a log. Its debug form has the public key only.
pub struct EvidenceKey {
    pair: Ed25519KeyPair,
}

/// Key that signatures of a log are checked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvidencePublicKey([u8; KEY_BYTES]);

/// Log that is written. One process at a time has it.
#[derive(Debug)]
pub struct EvidenceLog {
    path: PathBuf,
    file: File,
    key: Option<EvidenceKey>,
    hash: ChainHash,
    /// Bytes of whole lines.
    length: u64,
    /// True if lines follow the last signature.
    is_unsigned: bool,
    /// Records that could not be written yet.
    waiting: Vec<String>,
}

/// Result of the check of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedLog {
    /// Number of whole lines, each of which follows from those before it.
    pub lines: usize,
    /// Number of signatures, all of which are right.
    pub signatures: usize,
    /// Line of the last signature; the lines after it are in order, and nobody has signed them.
    pub signed_to_line: usize,
    /// True if the file ends within a line, as after a process was killed.
    pub is_cut: bool,
    /// Hash of the last whole line in hexadecimal digits.
    pub hash: String,
}

/// Whole lines of a log as they were read.
struct Read {
    checked: CheckedLog,
    hash: ChainHash,
    length: u64,
    cut_bytes: usize,
}

impl EvidenceKey {
    /// Makes a key, and writes it into a new file that only its owner reads.
    ///
    /// # Errors
    /// The file exists or cannot be written, or the system has no random numbers.
    pub fn create_file(file: &Path) -> Result<Self, EvidenceLogError> {
        let mut seed = Zeroizing::new([0; KEY_BYTES]);
        getrandom::fill(&mut *seed).map_err(|_| EvidenceLogError::NoRandomness)?;
        let text = Zeroizing::new(STANDARD.encode(*seed) + "\n");
        let failed = |reason| EvidenceLogError::File { file: file.to_owned(), reason };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(OWNER_ONLY);
        let mut written = options.open(file).map_err(failed)?;
        written.write_all(text.as_bytes()).and_then(|()| written.sync_all()).map_err(failed)?;
        text.parse().map_err(|reason| EvidenceLogError::Key { file: file.to_owned(), reason })
    }

    /// Reads a key from its file.
    ///
    /// # Errors
    /// The file cannot be read, or holds no key.
    pub fn read_file(file: &Path) -> Result<Self, EvidenceLogError> {
        let failed = |reason| EvidenceLogError::File { file: file.to_owned(), reason };
        let text = Zeroizing::new(std::fs::read_to_string(file).map_err(failed)?);
        text.parse().map_err(|reason| EvidenceLogError::Key { file: file.to_owned(), reason })
    }

    /// Public key.
    #[must_use]
    pub fn public_key(&self) -> EvidencePublicKey {
        let mut bytes = [0; KEY_BYTES];
        bytes.copy_from_slice(self.pair.public_key().as_ref());
        EvidencePublicKey(bytes)
    }

    fn sign_hash(&self, hash: &ChainHash) -> String {
        STANDARD.encode(self.pair.sign(&signed_text(hash)))
    }
}

impl FromStr for EvidenceKey {
    type Err = EvidenceKeyError;

    fn from_str(given: &str) -> Result<Self, EvidenceKeyError> {
        let seed = Zeroizing::new(STANDARD.decode(given.trim()).map_err(|_| EvidenceKeyError)?);
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| EvidenceKeyError)?;
        Ok(Self { pair })
    }
}

impl fmt::Debug for EvidenceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EvidenceKey({})", self.public_key())
    }
}

impl EvidencePublicKey {
    fn is_signature(&self, hash: &ChainHash, signature: &str) -> bool {
        let Ok(signature) = STANDARD.decode(signature) else { return false };
        let key = UnparsedPublicKey::new(&ED25519, self.0);
        key.verify(&signed_text(hash), &signature).is_ok()
    }
}

impl FromStr for EvidencePublicKey {
    type Err = EvidenceKeyError;

    fn from_str(given: &str) -> Result<Self, EvidenceKeyError> {
        let bytes = STANDARD.decode(given.trim()).map_err(|_| EvidenceKeyError)?;
        bytes.try_into().map(Self).map_err(|_| EvidenceKeyError)
    }
}

impl fmt::Display for EvidencePublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl EvidenceLog {
    /// Opens a log at its end, or begins one. A line without an end is removed, and a record of the
    /// time `now` says so.
    ///
    /// # Errors
    /// The file cannot be read or written, another process writes it, or its chain is broken.
    pub fn open_file(
        path: &Path,
        key: Option<EvidenceKey>,
        now: DateTime<Utc>,
    ) -> Result<Self, EvidenceLogError> {
        let failed = |reason| EvidenceLogError::File { file: path.to_owned(), reason };
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(OWNER_ONLY);
        let file = options.open(path).map_err(failed)?;
        file.try_lock().map_err(|_| EvidenceLogError::Taken { file: path.to_owned() })?;
        let Read { checked, hash, length, cut_bytes } = read_log(path, None)?;
        let mut log = Self {
            path: path.to_owned(),
            file,
            key,
            hash,
            length,
            is_unsigned: checked.signed_to_line < checked.lines,
            waiting: Vec::new(),
        };
        if cut_bytes > 0 {
            log.append_records([json!({ "kind": "cut", "at": now, "bytes": cut_bytes })])?;
        }
        Ok(log)
    }

    /// Returns true if nothing was recorded yet, nor waits to be written.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0 && self.waiting.is_empty()
    }

    /// Adds records, after those that could not be written before. They are on the disk when this
    /// returns.
    ///
    /// # Errors
    /// The file cannot be written. The records wait for the next call.
    pub fn append_records(
        &mut self,
        records: impl IntoIterator<Item = Value>,
    ) -> Result<(), EvidenceLogError> {
        self.waiting.extend(records.into_iter().map(|record| record.to_string()));
        if self.waiting.is_empty() {
            return Ok(());
        }
        let (mut hash, mut text) = (self.hash, String::new());
        for record in &self.waiting {
            let failed = |reason| EvidenceLogError::Chain { file: self.path.clone(), reason };
            let (line, next) = append_record(&hash, record).map_err(failed)?;
            text.push_str(&line);
            text.push('\n');
            hash = next;
        }
        // What an earlier attempt left behind is no line.
        let written = self.file.set_len(self.length);
        let written = written.and_then(|()| self.file.write_all(text.as_bytes()));
        written
            .and_then(|()| self.file.sync_data())
            .map_err(|reason| EvidenceLogError::File { file: self.path.clone(), reason })?;
        self.hash = hash;
        self.length += text.len() as u64;
        self.waiting.clear();
        self.is_unsigned = true;
        Ok(())
    }

    /// Signs all lines up to here, if there is a key and a line that is not signed yet.
    ///
    /// # Errors
    /// As for [`append_records`](Self::append_records); the signature is made anew with the next call.
    pub fn sign_lines(&mut self, now: DateTime<Utc>) -> Result<(), EvidenceLogError> {
        self.append_records([])?;
        let Some(key) = self.key.as_ref().filter(|_| self.is_unsigned) else { return Ok(()) };
        let signature = key.sign_hash(&self.hash);
        let record = json!({ "kind": "signature", "at": now, "signature": signature });
        let signed = self.append_records([record]);
        if signed.is_err() {
            self.waiting.clear();
        }
        self.is_unsigned = signed.is_err();
        signed
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Checks a log: each line with those before it, and each signature with the key.
///
/// # Errors
/// The file cannot be read, or a line is not what the service wrote.
pub fn check_log(path: &Path, key: &EvidencePublicKey) -> Result<CheckedLog, EvidenceLogError> {
    Ok(read_log(path, Some(key))?.checked)
}

fn read_log(path: &Path, key: Option<&EvidencePublicKey>) -> Result<Read, EvidenceLogError> {
    let file = || path.to_owned();
    let failed = |reason| EvidenceLogError::File { file: file(), reason };
    let mut lines = BufReader::new(File::open(path).map_err(failed)?);
    let (mut hash, mut length, mut cut_bytes) = (START, 0, 0);
    let (mut line, mut signatures, mut signed_to_line) = (0, 0, 0);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let count = lines.read_until(b'\n', &mut bytes).map_err(failed)?;
        if count == 0 {
            break;
        }
        if bytes.pop() != Some(b'\n') {
            cut_bytes = count;
            break;
        }
        line += 1;
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|_| EvidenceLogError::NoText { file: file(), line })?;
        let broken = |reason| EvidenceLogError::Chain { file: file(), reason };
        let (record, next) = follow_line(&hash, line, text).map_err(broken)?;
        if let Some(signature) = read_signature(record) {
            if key.is_some_and(|key| !key.is_signature(&hash, &signature)) {
                return Err(EvidenceLogError::Signature { file: file(), line });
            }
            (signatures, signed_to_line) = (signatures + 1, line);
        }
        hash = next;
        length += count as u64;
    }
    let is_cut = cut_bytes > 0;
    let digits = slackwater_control::evidence::as_hex(&hash);
    let checked = CheckedLog { lines: line, signatures, signed_to_line, is_cut, hash: digits };
    Ok(Read { checked, hash, length, cut_bytes })
}

/// Signature of a record that is one.
fn read_signature(record: &str) -> Option<String> {
    let record: Value = serde_json::from_str(record).ok()?;
    let is_signature = record.get("kind")? == "signature";
    is_signature.then(|| record["signature"].as_str().unwrap_or_default().to_owned())
}

fn signed_text(hash: &ChainHash) -> Vec<u8> {
    [CONTEXT, hash].concat()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn noon() -> DateTime<Utc> {
        "2026-01-05T12:00:00Z".parse().unwrap()
    }

    fn record(number: u32) -> Value {
        json!({ "kind": "order", "limit_kw": number })
    }

    #[test]
    fn a_log_is_signed_and_checked_with_the_public_key() {
        let folder = tempfile::tempdir().unwrap();
        let (key_file, path) = (folder.path().join("key"), folder.path().join("log"));
        let public = EvidenceKey::create_file(&key_file).unwrap().public_key();
        assert_eq!(fs::metadata(&key_file).unwrap().mode() & 0o7777, OWNER_ONLY);
        assert!(EvidenceKey::create_file(&key_file).is_err(), "a key is not overwritten");
        let key = EvidenceKey::read_file(&key_file).unwrap();
        assert_eq!(key.public_key(), public);
        let mut log = EvidenceLog::open_file(&path, Some(key), noon()).unwrap();
        log.append_records([record(1), record(2)]).unwrap();
        log.sign_lines(noon()).unwrap();
        log.sign_lines(noon()).unwrap();
        log.append_records([record(3)]).unwrap();
        let checked = check_log(&path, &public).unwrap();
        assert_eq!((checked.lines, checked.signatures, checked.signed_to_line), (4, 1, 3));
        let taken = EvidenceLog::open_file(&path, None, noon()).unwrap_err().to_string();
        assert!(taken.ends_with("another process writes it"), "{taken}");
        // Another key, and each changed line, is found.
        let other = EvidenceKey::create_file(&folder.path().join("other")).unwrap().public_key();
        let error = check_log(&path, &other).unwrap_err().to_string();
        assert!(error.contains("line 3 is not a signature of this key"), "{error}");
        let text = fs::read_to_string(&path).unwrap();
        for (from, to, line) in [(":1}", ":9}", 1), (":2}", ":9}", 2), (":3}", ":9}", 4)] {
            fs::write(&path, text.replace(from, to)).unwrap();
            let error = check_log(&path, &public).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line} does not follow")), "{error}");
        }
        let lines: Vec<&str> = text.lines().collect();
        fs::write(&path, [lines[0], lines[2], ""].join("\n")).unwrap();
        assert!(check_log(&path, &public).unwrap_err().to_string().contains("line 2 does not"));
        // Who makes the chain anew lacks the key.
        fs::remove_file(&path).unwrap();
        drop(log);
        let other_key = EvidenceKey::read_file(&folder.path().join("other")).unwrap();
        let mut forged = EvidenceLog::open_file(&path, Some(other_key), noon()).unwrap();
        forged.append_records([record(9)]).unwrap();
        forged.sign_lines(noon()).unwrap();
        assert!(check_log(&path, &public).unwrap_err().to_string().contains("line 2 is not a sig"));
    }

    #[test]
    fn a_half_written_line_is_removed_wherever_it_ends_and_the_chain_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let public = EvidencePublicKey([0; KEY_BYTES]);
        let mut log = EvidenceLog::open_file(&path, None, noon()).unwrap();
        log.append_records([record(1)]).unwrap();
        let whole = fs::read(&path).unwrap();
        log.append_records([record(2)]).unwrap();
        drop(log);
        let both = fs::read(&path).unwrap();
        for length in whole.len()..=both.len() {
            fs::write(&path, &both[..length]).unwrap();
            let is_cut = length > whole.len() && length < both.len();
            assert_eq!(check_log(&path, &public).unwrap().is_cut, is_cut);
            let mut log = EvidenceLog::open_file(&path, None, noon()).unwrap();
            log.append_records([record(3)]).unwrap();
            drop(log);
            let text = fs::read_to_string(&path).unwrap();
            let cut = format!("\"bytes\":{}", length - whole.len());
            assert_eq!(text.contains(&cut), is_cut, "{text}");
            assert!(text.starts_with(std::str::from_utf8(&whole).unwrap()), "{text}");
            let checked = check_log(&path, &public).unwrap();
            assert_eq!(
                (checked.lines, checked.is_cut),
                (if length == whole.len() { 2 } else { 3 }, false)
            );
        }
    }

    #[test]
    fn a_broken_chain_is_not_continued() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = EvidenceLog::open_file(&path, None, noon()).unwrap();
        log.append_records([record(1), record(2)]).unwrap();
        drop(log);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(":1}", ":8}")).unwrap();
        let error = EvidenceLog::open_file(&path, None, noon()).unwrap_err().to_string();
        assert!(error.contains("line 1 does not follow from the lines before it"), "{error}");
        fs::write(&path, b"\xff\xfe\n").unwrap();
        assert!(
            EvidenceLog::open_file(&path, None, noon())
                .unwrap_err()
                .to_string()
                .contains("is not text")
        );
    }
}
