//! The public interface of the engine, one line an item.
//!
//! The golden file shows in a review what becomes public, and how much of it there is. It is
//! written anew with `UPDATE_EXPECT=1`. The items come from the JSON of rustdoc, which the
//! stable compiler writes only when it is told to be a nightly one. Nothing is compiled for it:
//! the dependencies are those that the tests of the workspace were linked with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{CrateType, DependencyKind, Message, MetadataCommand, NodeDep, PackageId};
use expect_test::expect_file;
use public_api::PublicItem;

/// Crates whose types are listed by their last names alone.
const FOREIGN: [&str; 5] = ["alloc::", "chrono::", "chrono_tz::", "core::", "serde_core::"];

/// What is counted, in the order of the first lines.
const KINDS: [&str; 7] = ["struct", "enum", "trait", "type", "const", "fn", "method"];

/// The folder of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the workspace")
}

/// The libraries that the engine is compiled with, by the names that its code has for them.
fn libraries() -> BTreeMap<String, PathBuf> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml"));
    let workspace = command.exec().expect("cargo describes the workspace");
    let engine = workspace.packages.iter().find(|package| package.name == "slackwater-engine");
    let graph = workspace.resolve.as_ref().expect("cargo resolves the workspace");
    let node = graph.nodes.iter().find(|node| engine.is_some_and(|engine| engine.id == node.id));
    let is_normal = |dependency: &&NodeDep| {
        dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
    };
    let normal = node.expect("there is an engine").deps.iter().filter(is_normal);
    let names: BTreeMap<&PackageId, &str> =
        normal.map(|dependency| (&dependency.pkg, &*dependency.name)).collect();
    let mut found = BTreeMap::new();
    let compiled = built();
    for message in Message::parse_stream(&compiled[..]) {
        let Ok(Message::CompilerArtifact(artifact)) = message else { continue };
        let Some(name) = names.get(&artifact.package_id) else { continue };
        let is_library = artifact.target.crate_types.contains(&CrateType::Lib);
        let library = artifact.filenames.iter().find(|file| file.extension() == Some("rmeta"));
        if let (true, Some(library)) = (is_library, library) {
            // Build scripts share libraries that they compile by the same settings.
            let earlier = found.insert((*name).to_owned(), library.clone().into_std_path_buf());
            assert!(earlier.is_none(), "two libraries {name}: one of them is of build scripts");
        }
    }
    assert_eq!(found.len(), names.len(), "not all libraries were compiled: {found:?}");
    found
}

/// Messages of cargo about this test and its libraries, which are compiled already: features
/// are those of the whole workspace.
fn built() -> Vec<u8> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root());
    command.args(["test", "--locked", "--workspace", "--test", "public_api"]);
    command.args(["--no-run", "--message-format", "json"]);
    let output = command.output().expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The JSON of rustdoc about the engine.
fn described() -> PathBuf {
    let libraries = libraries();
    let folder = libraries.values().next().and_then(|library| library.parent());
    let folder = folder.expect("libraries lie in a folder");
    let to = folder.with_file_name("public-api");
    let mut command = Command::new("rustdoc");
    command.env("RUSTC_BOOTSTRAP", "1").current_dir(root());
    command.args(["--crate-name", "slackwater_engine", "--edition", "2024"]);
    command.args(["--cfg", "feature=\"lp\"", "--cap-lints", "allow"]);
    command.args(["-Z", "unstable-options", "--output-format", "json", "--out-dir"]).arg(&to);
    command.arg("-L").arg(option("dependency", folder));
    for (name, library) in &libraries {
        command.arg("--extern").arg(option(name, library));
    }
    let output = command.arg("engine/src/lib.rs").output().expect("rustdoc can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    to.join("slackwater_engine.json")
}

fn option(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

/// Whether an item is an implementation of a trait.
fn is_of_trait(item: &PublicItem) -> bool {
    let text = item.to_string();
    text.starts_with("impl") && text.contains(" for ")
}

/// What kind of definition a line is; `None` for modules, members and implementations.
fn kind(line: &str) -> Option<&'static str> {
    let words = line.strip_prefix("#[non_exhaustive] ").unwrap_or(line).strip_prefix("pub ")?;
    let words = words.replacen("const fn ", "fn ", 1);
    let (word, rest) = words.split_once(' ')?;
    let path = rest.split(['<', '(', ' ']).next()?;
    let is_of_type = path.split("::").any(|name| name.starts_with(char::is_uppercase));
    let word = if word == "fn" && is_of_type { "method" } else { word };
    KINDS.into_iter().find(|kind| *kind == word)
}

/// Items by their longest paths: what the front page of the crate and the facade of a folder name
/// once more is listed and counted once.
fn by_longest_path(items: Vec<PublicItem>) -> Vec<PublicItem> {
    let mut longest: BTreeMap<u32, usize> = BTreeMap::new();
    for item in &items {
        let length = longest.entry(item.id().0).or_default();
        *length = item.to_string().len().max(*length);
    }
    let is_longest = |item: &PublicItem| longest[&item.id().0] == item.to_string().len();
    items.into_iter().filter(is_longest).collect()
}

/// Definitions by kind, and all items.
fn listing(items: &[PublicItem]) -> String {
    let of_traits: BTreeSet<u32> =
        items.iter().filter(|item| is_of_trait(item)).map(|item| item.id().0).collect();
    let is_listed = |item: &&PublicItem| {
        let is_head = item.to_string().starts_with("impl") && !is_of_trait(item);
        !is_head && item.parent_id().is_none_or(|parent| !of_traits.contains(&parent.0))
    };
    let lines: Vec<String> = items.iter().filter(is_listed).map(short).collect();
    let counts = KINDS.map(|of| lines.iter().filter(|line| kind(line) == Some(of)).count());
    let each: Vec<String> = KINDS.iter().zip(counts).map(|(of, n)| format!("{n} {of}")).collect();
    let (methods, names) =
        (counts[KINDS.len() - 1], counts[..KINDS.len() - 1].iter().sum::<usize>());
    let each = each[..KINDS.len() - 1].join(", ");
    format!("{names} public names: {each}; {methods} methods\n\n{}\n", lines.join("\n"))
}

/// The text of an item, without the paths of types of other crates.
fn short(item: &PublicItem) -> String {
    let text = item.to_string().replace("slackwater_engine::", "");
    let words = text.split_inclusive(|c: char| !c.is_alphanumeric() && !"_:".contains(c));
    let is_foreign = |word: &str| FOREIGN.iter().any(|root| word.starts_with(root));
    let last = |word: &'_ str| word.rsplit_once("::").map_or(0, |(path, _)| path.len() + 2);
    words.map(|word| if is_foreign(word) { &word[last(word)..] } else { word }).collect()
}

#[test]
fn the_public_interface_is_as_it_was() {
    let items = public_api::Builder::from_rustdoc_json(described())
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .expect("the JSON is of a version that is known");
    let items = by_longest_path(items.into_items().collect());
    expect_file!["../golden/public-api.txt"].assert_eq(&listing(&items));
}

#[test]
fn definitions_are_told_from_members() {
    let kinds = [
        ("pub mod area", None),
        ("#[non_exhaustive] pub enum area::Status", Some("enum")),
        ("pub struct area::fleet::Fleet<'a>", Some("struct")),
        ("pub area::fleet::Fleet::arrival: &'a [i64]", None),
        ("pub fn area::fleet::Fleet<'_>::len(&self) -> usize", Some("method")),
        ("pub const fn units::kw(f64) -> Power", Some("fn")),
        ("pub const area::batch::RUN: usize", Some("const")),
        ("impl Default for area::AreaOptions", None),
    ];
    for (line, expected) in kinds {
        assert_eq!(kind(line), expected, "{line}");
    }
}
