//! Evidence of what was ordered, limited and measured: a log whose every line depends on all before.
//!
//! A line is the hash of its record in 64 hexadecimal digits, a blank, and the record:
//!
//! ```text
//! hash_0 = 0          hash_k = SHA-256(hash_{k-1} || record_k)
//! ```
//!
//! The record has the rest of the line, so its length needs no mark. A changed, removed, inserted or
//! moved line breaks the chain from there on. The end of the log is not protected by the chain: whoever
//! keeps evidence signs the last hash, or sends it to somebody else, from time to time.
//!
//! Source of the construction: S. Haber, W. S. Stornetta, *How to time-stamp a digital document*,
//! Journal of Cryptology 3, 1991; SHA-256 is FIPS 180-4.
use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Hash of a record and of all before it.
pub type ChainHash = [u8; 32];

/// Hash before the first record.
pub const START: ChainHash = [0; 32];

/// Error of a record or of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvidenceError {
    /// A record with a line break.
    #[error("a record is one line: byte {at} is a line break")]
    LineBreak {
        /// Position in the record.
        at: usize,
    },
    /// A line without a hash.
    #[error("line {line} does not begin with 64 hexadecimal digits and a blank")]
    NoHash {
        /// Number of the line, from 1.
        line: usize,
    },
    /// A line whose hash does not follow from its record and the lines before.
    #[error("line {line} does not follow from the lines before it")]
    Broken {
        /// Number of the line, from 1.
        line: usize,
    },
}

/// Line of a record after `previous`, without a line break, and the hash for the next one.
///
/// # Errors
/// The record has a line break.
///
/// # Example
///
/// ```
/// use slackwater_control::evidence::{START, append_record, verify_lines};
///
/// let (first, hash) = append_record(&START, "12:00:00Z order 4.2 kW")?;
/// let (second, hash) = append_record(&hash, "12:00:01Z limit in force 4.2 kW")?;
/// assert_eq!(verify_lines([first.as_str(), second.as_str()]), Ok(hash));
///
/// let forged = first.replace("4.2", "9.2");
/// assert!(verify_lines([forged.as_str(), second.as_str()]).is_err());
/// # Ok::<(), slackwater_control::evidence::EvidenceError>(())
/// ```
pub fn append_record(
    previous: &ChainHash,
    record: &str,
) -> Result<(String, ChainHash), EvidenceError> {
    if let Some(at) = record.find(['\n', '\r']) {
        return Err(EvidenceError::LineBreak { at });
    }
    let hash = next_hash(previous, record);
    Ok((format!("{} {record}", as_hex(&hash)), hash))
}

/// Record of the next line of a log after `previous`, and the hash of the line. `line` is its number,
/// from 1.
///
/// # Errors
/// The line is no line of a log, or does not follow from the lines before it.
pub fn follow_line<'a>(
    previous: &ChainHash,
    line: usize,
    text: &'a str,
) -> Result<(&'a str, ChainHash), EvidenceError> {
    let (written, record) = text.split_once(' ').ok_or(EvidenceError::NoHash { line })?;
    if written.len() != 64 || !written.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(EvidenceError::NoHash { line });
    }
    let hash = next_hash(previous, record);
    if as_hex(&hash) != written || record.contains(['\n', '\r']) {
        return Err(EvidenceError::Broken { line });
    }
    Ok((record, hash))
}

/// Hash of the last line of a log, [`START`] if it is empty.
///
/// # Errors
/// The first line that is no line of a log, or does not follow from the lines before.
pub fn verify_lines<'a>(
    lines: impl IntoIterator<Item = &'a str>,
) -> Result<ChainHash, EvidenceError> {
    let mut hash = START;
    for (index, text) in lines.into_iter().enumerate() {
        (_, hash) = follow_line(&hash, index + 1, text)?;
    }
    Ok(hash)
}

fn next_hash(previous: &ChainHash, record: &str) -> ChainHash {
    Sha256::new().chain_update(previous).chain_update(record.as_bytes()).finalize().into()
}

/// Hash in lower-case hexadecimal digits.
#[must_use]
pub fn as_hex(hash: &ChainHash) -> String {
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a `String` does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn log(records: &[String]) -> (Vec<String>, ChainHash) {
        let mut hash = START;
        let mut lines = Vec::new();
        for record in records {
            let (line, next) = append_record(&hash, record).unwrap();
            lines.push(line);
            hash = next;
        }
        (lines, hash)
    }

    fn verify_texts(lines: &[String]) -> Result<ChainHash, EvidenceError> {
        verify_lines(lines.iter().map(String::as_str))
    }

    #[test]
    fn the_first_hash_is_that_of_any_other_program() {
        // printf '\0%.0s' {1..32} | cat - <(printf 'order 4.2 kW') | sha256sum
        let (line, _) = append_record(&START, "order 4.2 kW").unwrap();
        assert_eq!(
            line,
            "50fe7017874cb709bd21dc3e2490ebd380b898022459dbf6359f06ba0a321d4b order 4.2 kW"
        );
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(append_record(&START, "a\nb"), Err(EvidenceError::LineBreak { at: 1 }));
        assert_eq!(verify_lines(["order"]), Err(EvidenceError::NoHash { line: 1 }));
        assert_eq!(verify_lines(["abc order"]), Err(EvidenceError::NoHash { line: 1 }));
        assert_eq!(verify_lines([]), Ok(START));
        let (lines, _) = log(&["a".into(), "b".into(), "c".into()]);
        assert_eq!(verify_texts(&lines[1..]), Err(EvidenceError::Broken { line: 1 }));
        let text = verify_texts(&[lines[0].clone(), lines[2].clone()]).unwrap_err().to_string();
        assert_eq!(text, "line 2 does not follow from the lines before it");
    }

    proptest! {
        /// Any changed byte is found, in its line at the latest.
        #[test]
        fn a_changed_byte_is_found(
            records in prop::collection::vec("[ -~äö]{0,30}", 1..12), place in 0..10_000usize, bit in 0..7u8,
        ) {
            let (mut lines, hash) = log(&records);
            prop_assert_eq!(verify_texts(&lines), Ok(hash));
            let index = place % lines.len();
            let mut bytes = lines[index].clone().into_bytes();
            let at = place / 12 % bytes.len();
            bytes[at] ^= 1 << bit;
            // A text that is no UTF-8 is no log at all.
            if let Ok(changed) = String::from_utf8(bytes) {
                lines[index] = changed;
                let line = index + 1;
                let found = verify_texts(&lines);
                let is_found = found == Err(EvidenceError::Broken { line })
                    || found == Err(EvidenceError::NoHash { line });
                prop_assert!(is_found, "{found:?}");
            }
        }

        /// A removed or a moved line is found, unless it is the end that is cut off.
        #[test]
        fn a_missing_line_is_found(records in prop::collection::vec("[a-z]{1,9}", 2..12), place in 0..100usize) {
            let (mut lines, hash) = log(&records);
            let last = lines.len() - 1;
            let removed = lines.remove(place % last);
            prop_assert_eq!(verify_texts(&lines), Err(EvidenceError::Broken { line: place % last + 1 }));
            lines.push(removed);
            prop_assert!(verify_texts(&lines).is_err());
            let (lines, _) = log(&records);
            prop_assert_ne!(verify_texts(&lines[..last]), Ok(hash));
        }
    }
}
