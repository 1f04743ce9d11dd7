//! The kept inputs of the fuzz targets, among them each that once failed.
#![expect(
    unreachable_pub,
    clippy::unnecessary_wraps,
    reason = "the files are those of the crate for cargo-fuzz"
)]
#[path = "../fuzz/src/bytes.rs"]
mod bytes;
#[path = "../fuzz/src/targets.rs"]
mod targets;

use std::fs;
use std::path::Path;

/// Runs a target on all files of its corpus.
fn replay(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|reason| panic!("{}: {reason}", folder.display()))
        .map(|entry| entry.expect("an entry of the folder").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for file in files {
        println!("{}", file.display());
        target(&fs::read(&file).expect("a file of the corpus"));
    }
}

#[test]
fn targets_hold_on_their_corpus() {
    replay("charge", targets::charge);
    replay("storage", targets::storage);
    replay("switching", targets::switching);
    replay("saved_plan", targets::saved_plan);
    replay("tariff_file", targets::tariff_file);
    replay("market_reply", targets::market_reply);
    replay("texts", targets::texts);
}
