//! Habits that a machine can check, so that reviews can look at the rest.
//!
//! Each check is a function from text to findings, tried on made-up text next
//! to the test that runs it over the project.

mod sources;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use sources::{Source, code_only};

/// A function fits on one screen.
const FUNCTION_LINES_MAX: usize = 70;

/// Where our Rust lies.
const RUST_FOLDERS: [&str; 7] = ["engine", "control", "sim", "bindings", "api", "benches", "tests"];

/// Crates whose code runs for users.
const PRODUCTION_FOLDERS: [&str; 19] = [
    "engine/src",
    "control/src",
    "sim/src",
    "bindings/src",
    "api/integration/src",
    "api/ocpp/src",
    "api/evcc/src",
    "api/https/src",
    "api/grid_client/src",
    "api/eebus/src",
    "api/openadr/src",
    "api/wire/src",
    "api/store/src",
    "api/service/src",
    "api/sandbox/src",
    "api/home_assistant/src",
    "api/http/src",
    "api/link/src",
    "api/server/src",
];

/// Fine in a test, a trap in the field.
const NOT_IN_PRODUCTION: &[&str] =
    &[".unwrap()", ".unwrap_err()", "dbg!", "todo!", "unimplemented!"];

/// Nowhere, with the reason.
const NOWHERE: &[(&str, &str)] = &[
    ("#[ignore", "a test that does not run protects nothing"),
    ("#[should_panic", "any panic passes it; match on the error instead"),
    ("#[allow(", "use #[expect(..)], which says when it is no longer needed"),
    ("#![allow(", "use #![expect(..)], which says when it is no longer needed"),
    ("thread::sleep", "wait for the event, not for a while"),
    ("time::sleep", "wait for the event, not for a while"),
];

/// First words of a doc comment that make its reader look for the thing it is about.
const OPENINGS: [&str; 10] = [
    "The same ",
    "What ",
    "Who ",
    "Whose ",
    "Whether ",
    "Where ",
    "Which ",
    "Why ",
    "How ",
    "Does ",
];

/// The table of requirements and the tests that show them.
const COVERED: &str = "tests/covered.csv";

/// The one file that turns a local time into an instant.
const CIVIL_TIME: &str = "engine/src/time/civil.rs";

/// Files that people read.
const TEXT: &[&str] = &[
    ".rs", ".py", ".pyi", ".md", ".toml", ".txt", ".json", ".ipynb", ".yml", ".html", "Makefile",
    "run",
];

/// Folders that exist on somebody's machine only.
const MACHINE_FOLDERS: &[&str] = &["/home/", "/root/", "/Users/"];

/// The part above the unit tests at the bottom of a file.
fn above_tests(code: &str) -> &str {
    let mut attribute = None;
    let mut start = 0;
    for line in code.split_inclusive('\n') {
        let module = without_visibility(line).starts_with("mod ") && line.contains('{');
        if let (Some(end), true) = (attribute, module) {
            return &code[..end];
        }
        let is_attribute = line.trim_start().starts_with("#[");
        let opens = line.trim_start().starts_with("#[cfg(test)]").then_some(start);
        attribute = if is_attribute { attribute.or(opens) } else { None };
        start += line.len();
    }
    code
}

fn without_visibility(line: &str) -> &str {
    let item = line.trim();
    item.strip_prefix("pub(crate) ").or(item.strip_prefix("pub ")).unwrap_or(item)
}

/// A file that holds nothing but tests.
fn is_test_file(path: &Path) -> bool {
    path.starts_with("tests")
        || path.ends_with("tests.rs")
        || path.iter().any(|part| part == "tests")
}

/// The line on which a byte lies, counted from one.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Lines on which `word` occurs.
fn lines_with(code: &str, word: &str) -> Vec<usize> {
    let mut lines: Vec<usize> = code.match_indices(word).map(|(at, _)| line_of(code, at)).collect();
    lines.dedup();
    lines
}

/// Line, name and length of every function.
fn functions(code: &str) -> Vec<(usize, &str, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let preceded = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let signature = &code[at + 3..];
        let name_length =
            signature.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(signature.len());
        if preceded || name_length == 0 {
            continue;
        }
        if let Some(length) = body_end(signature) {
            let lines = signature[..length].matches('\n').count() + 1;
            found.push((line_of(code, at), &signature[..name_length], lines));
        }
    }
    found
}

/// Where the body after a signature ends. A declaration without a body has none.
fn body_end(signature: &str) -> Option<usize> {
    let mut brackets = 0_i32;
    let mut braces = 0_i32;
    for (at, c) in signature.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if brackets == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' if braces == 1 => return Some(at),
            '}' => braces -= 1,
            _ => {}
        }
    }
    None
}

fn long_functions(text: &str) -> Vec<String> {
    let code = code_only(text);
    let all = functions(&code).into_iter();
    all.filter(|&(_, _, lines)| lines > FUNCTION_LINES_MAX)
        .map(|(line, name, lines)| format!("{line}: `{name}` has {lines} lines"))
        .collect()
}

fn unfinished(text: &str) -> Vec<String> {
    let code = code_only(text);
    let code = above_tests(&code);
    let mut found = Vec::new();
    for word in NOT_IN_PRODUCTION {
        found.extend(lines_with(code, word).iter().map(|line| format!("{line}: {word}")));
    }
    found
}

fn bad_habits(text: &str) -> Vec<String> {
    let code = code_only(text);
    let mut found = Vec::new();
    for (word, reason) in NOWHERE {
        let lines = lines_with(&code, word);
        found.extend(lines.iter().map(|line| format!("{line}: {word}: {reason}")));
    }
    for (at, opening) in code.match_indices("[expect(") {
        let attribute = code[at + opening.len()..].split(']').next().unwrap_or_default();
        if !attribute.contains("reason") {
            found.push(format!("{}: #[expect(..)] without a reason", line_of(&code, at)));
        }
    }
    found
}

/// Names of the types that a file defines outside of its tests.
fn types(text: &str) -> Vec<String> {
    let code = code_only(text);
    let item = |line: &str| {
        let item = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
        let kinds = ["struct ", "enum ", "trait ", "type "];
        let name = kinds.iter().find_map(|kind| item.strip_prefix(kind))?;
        name.split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned)
    };
    above_tests(&code).lines().filter_map(item).collect()
}

/// Types of one name within one folder at the top of the engine.
fn shared_names(sources: &[(String, String)]) -> Vec<String> {
    let mut files: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for (path, text) in sources {
        let folder = path.split('/').next().unwrap_or_default();
        for name in types(text) {
            files.entry((folder, name)).or_default().push(path);
        }
    }
    files.retain(|_, files| files.len() > 1);
    files.iter().map(|((_, name), files)| format!("{name}: {}", files.join(", "))).collect()
}

/// A `mod.rs` holds its docs, its list of modules and the names that it passes on.
fn not_a_list(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut passes_on = false;
    for (index, line) in code_only(text).lines().enumerate() {
        let item = without_visibility(line);
        passes_on |= line.starts_with("pub use ");
        let is_listing =
            ["mod ", "#[cfg(", "#[expect("].iter().any(|start| item.starts_with(start));
        if !passes_on && !is_listing && !item.is_empty() {
            found.push(format!("{}: {}", index + 1, line.trim()));
        }
        passes_on &= !line.ends_with(';');
    }
    found
}

/// Paths that hold on one machine only, and numbers of issues, which a reader cannot look up.
fn local_words(text: &str, checkout: &str) -> Vec<String> {
    let mut found = Vec::new();
    let here = (checkout.matches('/').count() > 1).then_some(checkout);
    for word in MACHINE_FOLDERS.iter().copied().chain(here) {
        found.extend(lines_with(text, word).iter().map(|line| format!("{line}: {word}")));
    }
    for (at, word) in text.match_indices("ssue") {
        let after = text[at + word.len()..].trim_start_matches(['s', ' ', '#']);
        let numbered = after.starts_with(|c: char| c.is_ascii_digit());
        if numbered && text[..at].ends_with(['i', 'I']) {
            found.push(format!("{}: the number of an issue", line_of(text, at)));
        }
    }
    found
}

/// Relative paths that climb, and then name something the project does not have.
///
/// The start of a path is a matter of taste (the file's folder, its crate's), so
/// a name that exists at the root is fine from anywhere, but not above the root.
fn stray_paths(path: &Path, text: &str, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    const UP: &str = "../";
    // Folders of the documentation site, and of the reference of Rust beside it.
    const BUILT: [&str; 7] = [
        "how-to",
        "project",
        "slackwater_control",
        "slackwater_engine",
        "slackwater_integration",
        "slackwater_sim",
        "tutorials",
    ];
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    let mut done = 0;
    for (at, _) in text.match_indices(UP) {
        if at < done {
            continue;
        }
        let climb = text[at..].len() - text[at..].trim_start_matches(UP).len();
        done = at + climb;
        let name_end = text[done..].find(|c: char| !c.is_alphanumeric() && !"_-.".contains(c));
        let name = text[done..].split_at(name_end.unwrap_or(text.len() - done)).0;
        let mut target: PathBuf = folder.components().collect();
        let inside = (0..climb / UP.len()).all(|_| target.pop());
        let known = exists(&target.join(name)) || exists(Path::new(name));
        if !BUILT.contains(&name) && (!inside || !known) {
            found.push(format!("{}: {UP}{name} is not in the project", line_of(text, at)));
        }
    }
    found
}

/// Doc comments whose first sentence is a question or a comparison instead of a noun or a verb.
fn openings_without_a_noun(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut marker_before = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let marker = ["///", "//!"].into_iter().find(|marker| line.starts_with(marker));
        if let Some(marker) = marker.filter(|_| marker != marker_before) {
            let sentence = line[marker.len()..].trim_start();
            if OPENINGS.iter().any(|opening| sentence.starts_with(opening)) {
                found.push(format!("{}: begins with a question or a comparison", at + 1));
            }
        }
        marker_before = marker;
    }
    found
}

/// Names of tests, in Rust or Python, that begin with the number of a requirement.
///
/// All functions are read: no other has such a name.
fn numbered_names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let item = line.trim_start();
        let item = item.strip_prefix("async ").unwrap_or(item);
        let name = item.strip_prefix("fn ").or(item.strip_prefix("def test_")).unwrap_or_default();
        let mut words = name.splitn(3, '_');
        let prefix = words.next().unwrap_or_default();
        let number = words.next().unwrap_or_default();
        let is_prefix =
            (2..=5).contains(&prefix.len()) && prefix.chars().all(|c| c.is_ascii_lowercase());
        let is_number = number.len() == 2 && number.chars().all(|c| c.is_ascii_digit());
        if is_prefix && is_number && words.next().is_some() {
            found.push(format!("{}: {prefix}_{number} belongs in {COVERED}", index + 1));
        }
    }
    found
}

/// Runs a check over files and fails with all that it finds.
#[track_caller]
fn run(sources: &[Source], check: impl Fn(&Source) -> Vec<String>) {
    let mut found = Vec::new();
    for source in sources {
        let path = source.path.display();
        found.extend(check(source).iter().map(|finding| format!("{path}:{finding}")));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

fn rust_below(folders: &[&str]) -> Vec<Source> {
    folders.iter().flat_map(|folder| sources::below(folder, &[".rs"])).collect()
}

#[test]
fn functions_fit_on_a_screen() {
    run(&rust_below(&RUST_FOLDERS), |source| long_functions(&source.text));
}

#[test]
fn a_long_function_is_found() {
    let body = "    call('{');\n".repeat(FUNCTION_LINES_MAX - 2);
    let fits = format!("trait T {{ fn declared(a: [u8; 2]); }}\nfn fits() {{\n{body}}}\n");
    assert_eq!(long_functions(&fits), [""; 0]);
    let long = format!("{fits}pub fn long(f: fn(u8) -> u8) {{\n{body}    // more\n}}\n");
    assert_eq!(long_functions(&long), ["72: `long` has 71 lines"]);
}

#[test]
fn production_code_is_finished() {
    let sources = rust_below(&PRODUCTION_FOLDERS);
    run(
        &sources,
        |source| {
            if is_test_file(&source.path) { Vec::new() } else { unfinished(&source.text) }
        },
    );
}

#[test]
fn unfinished_code_is_found() {
    let text = "/// a.unwrap()\nfn f() { b.unwrap();\n todo!() }\n#[cfg(test)]\nmod tests {\n c.unwrap() }";
    assert_eq!(unfinished(text), ["2: .unwrap()", "3: todo!"]);
    assert!(is_test_file(Path::new("engine/src/plan/tests.rs")));
    assert!(!is_test_file(Path::new("engine/src/plan/latests.rs")));
}

#[test]
fn habits_are_kept() {
    run(&rust_below(&RUST_FOLDERS), |source| bad_habits(&source.text));
}

#[test]
fn bad_habits_are_found() {
    let text = "#[allow(dead_code)]\n#[expect(dead_code)]\n#[expect(dead_code, reason = \"r\")]\n";
    let found = bad_habits(text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("1: #[allow(") && found[1].starts_with("2: #[expect"));
    assert_eq!(bad_habits("// #[ignore]\n#[ignore]\nstd::thread::sleep(a);").len(), 2);
}

#[test]
fn local_times_are_resolved_in_one_place() {
    let sources = rust_below(&PRODUCTION_FOLDERS);
    run(&sources, |source| {
        let code = code_only(&source.text);
        let elsewhere = source.path != Path::new(CIVIL_TIME);
        let lines = if elsewhere { lines_with(&code, "from_local_datetime") } else { Vec::new() };
        lines.iter().map(|line| format!("{line}: belongs in {CIVIL_TIME}")).collect()
    });
}

#[test]
fn module_files_are_lists() {
    let mut sources = rust_below(&PRODUCTION_FOLDERS);
    sources.retain(|source| source.path.ends_with("mod.rs"));
    run(&sources, |source| not_a_list(&source.text));
}

#[test]
fn code_in_a_module_file_is_found() {
    let text = "//! Docs.\n\npub mod a;\nmod b;\n#[cfg(feature = \"lp\")]\npub(crate) mod c;\n";
    assert_eq!(not_a_list(text), [""; 0]);
    assert_eq!(not_a_list("mod a;\npub use a::{\n    B, C,\n};\nfn b() {}\n"), ["5: fn b() {}"]);
}

#[test]
fn documentation_begins_with_a_noun_or_a_verb() {
    run(
        &rust_below(&[
            "engine/src",
            "engine/examples",
            "control/src",
            "control/examples",
            "sim/src",
            "api",
        ]),
        |source| openings_without_a_noun(&source.text),
    );
}

#[test]
fn an_opening_without_a_noun_is_found() {
    let text = "/// Why a range is refused.\n/// What follows is fine.\nenum E {}\n\
                /// Price of a kWh.\n/// How it is found.\nfn price() {}\n    /// The same price.\n";
    let found = openings_without_a_noun(text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("1:") && found[1].starts_with("7:"), "{found:?}");
}

#[test]
fn names_of_tests_have_no_numbers_of_requirements() {
    let mut sources = rust_below(&RUST_FOLDERS);
    sources.extend(sources::below("tests", &[".py"]));
    run(&sources, |source| numbered_names(&source.text));
}

#[test]
fn a_name_with_the_number_of_a_requirement_is_found() {
    let text = "#[test]\nfn env_01_env_21_every_answer() {}\n    async fn scope_02_words() {}\n";
    let text = format!("{text}def test_ns_44_pages() -> None:\n");
    let found = numbered_names(&text);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].starts_with("2: env_01 ") && found[1].starts_with("3: scope_02 "));
    assert!(found[2].starts_with("4: ns_44 "));
    let fine = "fn env_1_a() {}\nfn utf_16() {}\nfn a_name_of_12_words() {}\n// fn env_01_a\n";
    assert_eq!(numbered_names(fine), [""; 0]);
    let fine = "fn env_2026_a() {}\ndef test_a_day_of_25_hours() -> None:\n";
    assert_eq!(numbered_names(fine), [""; 0]);
}

#[test]
fn every_tariff_file_is_in_the_library() {
    let library = std::fs::read_to_string(sources::root().join("engine/src/bill/library.rs"));
    let library = library.expect("the engine has a library of tariffs");
    let files = sources::below("engine/data/tariffs", &[".json"]);
    assert!(files.len() >= 40, "{} files of tariffs", files.len());
    for file in files {
        let name = file.path.file_name().and_then(|name| name.to_str()).expect("files have names");
        assert!(library.contains(&format!("/{name}\")")), "{name} is not in the library");
    }
}

#[test]
fn one_name_is_one_type_within_a_folder() {
    for (crate_folder, files_min) in [("engine/src", 100), ("control/src", 30)] {
        let mut sources = sources::below(crate_folder, &[".rs"]);
        sources.retain(|source| !is_test_file(&source.path));
        let text = |source: &Source| {
            let path = source.path.strip_prefix(crate_folder).unwrap_or(&source.path);
            (path.display().to_string(), source.text.clone())
        };
        let sources: Vec<(String, String)> = sources.iter().map(text).collect();
        assert!(sources.len() > files_min, "{} files in {crate_folder}", sources.len());
        assert_eq!(shared_names(&sources), [""; 0], "a name that stands for several types");
    }
}

#[test]
fn a_name_of_two_types_is_found() {
    let source = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let sources = [
        source("a/b.rs", "pub struct One;\nenum Two {}\n#[cfg(test)]\nmod tests { struct Two; }"),
        source("a/c/d.rs", "type Two = u8;\n"),
        source("b.rs", "pub(crate) trait One {}\n"),
    ];
    assert_eq!(shared_names(&sources), ["Two: a/b.rs, a/c/d.rs"]);
}

#[test]
fn files_hold_on_every_machine() {
    let root = sources::root();
    let checkout = root.display().to_string();
    // This file and its like name what they look for.
    let (this, checks) = (Path::new("tests/tree/tidy.rs"), sources::below(".", TEXT));
    run(&checks, |source| {
        let path = source.path.components().filter(|part| *part != Component::CurDir);
        let path: PathBuf = path.collect();
        let mut found = stray_paths(&path, &source.text, |target| root.join(target).exists());
        found.extend(local_words(&source.text, &checkout));
        if path == this { Vec::new() } else { found }
    });
}

#[test]
fn words_of_one_machine_are_found() {
    let text = "a\n/home/me/x\nsee issue #12, Issue 3\nissues[0], tissue 4\n/a/b/c.rs";
    let expected =
        ["2: /home/", "5: /a/b", "3: the number of an issue", "3: the number of an issue"];
    let found = local_words(text, "/a/b");
    assert_eq!(found[..3], expected[..3]);
}

#[test]
fn a_path_out_of_the_project_is_found() {
    let exists =
        |target: &Path| ["README.md", "docs", "notebooks/a"].contains(&target.to_str().unwrap());
    let stray = |path: &str, text: &str| stray_paths(Path::new(path), text, exists).len();
    assert_eq!(stray("docs/x.md", "[r](../README.md)"), 0);
    assert_eq!(stray("docs/x.md", "../../README.md"), 1);
    assert_eq!(stray("notebooks/deep/x.md", "../a and ../docs/y"), 0);
    assert_eq!(stray("notebooks/x.md", "../elsewhere/data.csv"), 1);
    assert_eq!(stray("x.md", "../elsewhere"), 1);
}
