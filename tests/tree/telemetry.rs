//! Names of metrics and messages of the log, which dashboards and alarms are built on.
//!
//! The golden file has one line per call of a macro of `metrics` or `tracing`, with its arguments
//! as they are written in the source. `UPDATE_EXPECT=1` writes it anew.

mod sources;

use std::collections::BTreeSet;

use expect_test::expect_file;
use sources::below;

/// Macros that write metrics or log lines.
const MACROS: [&str; 9] = [
    "counter",
    "gauge",
    "histogram",
    "describe_counter",
    "describe_gauge",
    "error",
    "warn",
    "info",
    "debug",
];

/// Calls of the macros in a source, each on one line.
fn calls(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in MACROS {
        let start = format!("{name}!(");
        for (at, _) in text.match_indices(&start) {
            let is_whole = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let call = closed(&text[at..]).filter(|_| is_whole);
            found.extend(call.map(|call| call.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    found
}

/// The text up to the bracket that closes its first one. Brackets in literals do not count.
fn closed(text: &str) -> Option<&str> {
    let (mut depth, mut is_literal, mut before) = (0, false, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '"' if before != '\\' => is_literal = !is_literal,
            '(' if !is_literal => depth += 1,
            ')' if !is_literal && depth == 1 => return Some(&text[..=at]),
            ')' if !is_literal => depth -= 1,
            _ => {}
        }
        before = c;
    }
    None
}

#[test]
fn metrics_and_log_lines_keep_their_names() {
    let all: BTreeSet<String> = below("api", &[".rs"])
        .iter()
        .filter(|s| s.path.components().any(|c| c.as_os_str() == "src"))
        .flat_map(|source| calls(&source.text))
        .collect();
    assert!(all.len() > 50, "{}", all.len());
    let lines: Vec<String> = all.into_iter().collect();
    let golden = sources::root().join("tests/golden/service/telemetry.txt");
    expect_file![golden].assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn calls_are_found_with_all_their_arguments() {
    let text = "fn f() { warn!(\n    id = %g(1),\n    \"a (bad) \\\" thing\"\n); my_error!(x); }";
    assert_eq!(
        calls(text).into_iter().collect::<Vec<_>>(),
        ["warn!( id = %g(1), \"a (bad) \\\" thing\" )"]
    );
}
