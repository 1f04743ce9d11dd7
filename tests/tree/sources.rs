//! The project's own files, and what of a Rust file is code.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold what tools made, not what we wrote.
const MADE_BY_TOOLS: &[&str] = &["target", "dist", "node_modules", "out", "__pycache__"];

/// One file: its path from the root of the project, and its text.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The folder of the workspace manifest.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("the crate lies two folders below the root");
    root.to_path_buf()
}

/// All files below `folder` whose path ends in one of `endings`, in the order of their paths.
///
/// # Panics
///
/// When there are none: a check that looks at nothing would always pass.
pub(crate) fn below(folder: &str, endings: &[&str]) -> Vec<Source> {
    let mut sources = Vec::new();
    collect(&root(), Path::new(folder), endings, &mut sources);
    assert!(!sources.is_empty(), "no {endings:?} below `{folder}`");
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn collect(root: &Path, folder: &Path, endings: &[&str], sources: &mut Vec<Source>) {
    let entries = fs::read_dir(root.join(folder)).expect("the folder can be listed");
    for entry in entries {
        let entry = entry.expect("the folder can be listed");
        let name = entry.file_name().into_string().expect("our file names are UTF-8");
        let path = folder.join(&name);
        if entry.file_type().expect("the file has a type").is_dir() {
            let skipped = MADE_BY_TOOLS.contains(&name.as_str()) || is_hidden(&name);
            if !skipped {
                collect(root, &path, endings, sources);
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            let text = fs::read_to_string(root.join(&path)).expect("our text is UTF-8");
            sources.push(Source { path, text });
        }
    }
}

/// Caches and environments start with a dot. So does `.ci`, which is ours.
fn is_hidden(name: &str) -> bool {
    name.starts_with('.') && name != ".ci"
}

/// The text with comments and literals blanked out.
///
/// Every line keeps its number, so that what is found in the result can be
/// pointed at in the file.
pub(crate) fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, is_code) = match silent_length(rest) {
            Some(length) => (length, false),
            None if is_word(first) => (word_length(rest), true),
            None => (first.len_utf8(), true),
        };
        let (token, after) = rest.split_at(length);
        if is_code {
            code.push_str(token);
        } else {
            code.extend(token.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
        rest = after;
    }
    code
}

/// The length of the comment or literal that `rest` starts with, if it does.
fn silent_length(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment_length(rest));
    }
    if let Some(after) = rest.strip_prefix('\'') {
        return char_length(after).map(|length| length + 1);
    }
    if rest.starts_with('"') {
        return Some(escaped_length(rest, '"'));
    }
    raw_string_length(rest)
}

/// Block comments nest.
fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// What follows the opening quote of a character. A lifetime has no closing one.
fn char_length(after: &str) -> Option<usize> {
    if after.starts_with('\\') {
        return Some(escaped_length(&format!("'{after}"), '\'') - 1);
    }
    let first = after.chars().next()?;
    after[first.len_utf8()..].starts_with('\'').then_some(first.len_utf8() + 1)
}

/// A literal from its opening quote to the closing one, in bytes.
fn escaped_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#` and so on, also of bytes and C strings.
fn raw_string_length(rest: &str) -> Option<usize> {
    let body = rest.trim_start_matches(['b', 'c']);
    let prefix = rest.len() - body.len();
    let body = body.strip_prefix('r')?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let body = body[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = body.find(&close).map_or(body.len(), |at| at + close.len());
    (prefix <= 1).then_some(prefix + 1 + hashes + 1 + end)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word_length(rest: &str) -> usize {
    rest.find(|c| !is_word(c)).unwrap_or(rest.len())
}

#[test]
fn comments_and_literals_are_no_code() {
    let words = |text: &str| code_only(text).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(r#"a('x', '\'', "q // \" q"); // b"#), "a( , , );");
    assert_eq!(words("r = r#\"c \" d\"#; /* e /* f */ g */ h::<'i>"), "r = ; h::<'i>");
    assert_eq!(words("br\"x\" r#fn for\"text\""), "r#fn for");
}

#[test]
fn lines_keep_their_numbers() {
    let text = "one\n/* two\n three */\n\"four\n five\"\nsix";
    assert_eq!(code_only(text).lines().position(|line| line == "six"), Some(5));
}
