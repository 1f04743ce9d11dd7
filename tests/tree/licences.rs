//! Licences and sources of all crates of `Cargo.lock`, by the lists of `deny.toml`.
//!
//! `cargo deny` reads that file, too, and with it advisories and the texts of licences. It is a
//! program of its own, so it runs in the workflows; these tests run everywhere.

use std::collections::BTreeSet;
use std::path::PathBuf;

use cargo_metadata::{CargoOpt, MetadataCommand, Package};
use spdx::{Expression, Licensee, ParseMode};
use toml::{Table, Value};

/// The one registry that crates come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read_lists() -> Table {
    let text = std::fs::read_to_string(root().join("deny.toml"));
    text.expect("deny.toml is there").parse().expect("deny.toml is TOML")
}

fn list_of<'a>(lists: &'a Table, section: &str, key: &str) -> &'a [Value] {
    let list = lists.get(section).and_then(|section| section.get(key)).and_then(Value::as_array);
    list.unwrap_or_else(|| panic!("deny.toml has no {section}.{key}"))
}

fn packages() -> Vec<Package> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml"));
    command.features(CargoOpt::AllFeatures).other_options(vec!["--locked".to_owned()]);
    command.exec().expect("cargo describes all crates").packages
}

/// Whether an expression of licences is satisfied by those that are allowed. Old manifests write
/// `MIT/Apache-2.0`.
fn is_allowed(expression: &str, allowed: &[Licensee]) -> bool {
    let parsed = Expression::parse_mode(expression, ParseMode::LAX);
    parsed.is_ok_and(|parsed| {
        parsed.evaluate(|wanted| allowed.iter().any(|licensee| licensee.satisfies(wanted)))
    })
}

fn allowed_licences(lists: &Table) -> Vec<Licensee> {
    let names = list_of(lists, "licenses", "allow").iter().filter_map(Value::as_str);
    names.map(|name| Licensee::parse(name).expect("a licence of SPDX")).collect()
}

#[test]
fn every_crate_has_a_licence_that_is_allowed() {
    let allowed = allowed_licences(&read_lists());
    let packages = packages();
    assert!(packages.len() > 300, "{} crates", packages.len());
    let others = packages.iter().filter(|package| {
        !package.license.as_deref().is_some_and(|licence| is_allowed(licence, &allowed))
    });
    let others: Vec<_> = others.map(|package| (&package.name, &package.license)).collect();
    assert!(others.is_empty(), "licences that deny.toml does not allow: {others:#?}");
}

#[test]
fn other_licences_are_found() {
    let allowed = allowed_licences(&read_lists());
    let is_allowed = |expression| is_allowed(expression, &allowed);
    assert!(is_allowed("MIT/Apache-2.0"));
    assert!(is_allowed("GPL-3.0-only OR MIT"));
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(!is_allowed("GPL-3.0-only"));
    assert!(!is_allowed("MIT AND GPL-3.0-only"));
    assert!(!is_allowed("no licence"));
}

#[test]
fn crates_come_from_the_registry_and_none_is_banned() {
    let lists = read_lists();
    let banned = list_of(&lists, "bans", "deny").iter();
    let banned: BTreeSet<&str> =
        banned.filter_map(|entry| entry.get("crate").and_then(Value::as_str)).collect();
    assert!(banned.contains("openssl-sys"), "{banned:?}");
    for package in packages() {
        assert!(!banned.contains(package.name.as_str()), "{} is banned", package.name);
        let source = package.source.as_ref().map(|source| source.repr.as_str());
        assert!(
            source.is_none_or(|source| source == REGISTRY),
            "{} is of {source:?}",
            package.name
        );
    }
}
