//! Who may know whom. A build would accept an arrow in the wrong direction;
//! these tests do not.

mod imports;
mod sources;

use std::collections::BTreeSet;
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use imports::{Imports, circles};

/// The crates of this workspace that each crate may use outside of tests.
const SIBLINGS: [(&str, &[&str]); 20] = [
    ("slackwater-engine", &[]),
    ("slackwater-control", &["slackwater-engine"]),
    ("slackwater-sim", &["slackwater-control", "slackwater-engine"]),
    ("slackwater-wire", &["slackwater-control", "slackwater-engine"]),
    ("slackwater-bindings", &["slackwater-control", "slackwater-engine", "slackwater-wire"]),
    ("slackwater-integration", &["slackwater-control", "slackwater-engine"]),
    ("slackwater-evcc", &["slackwater-engine"]),
    ("slackwater-https", &[]),
    ("slackwater-grid-client", &["slackwater-control", "slackwater-engine", "slackwater-https"]),
    ("slackwater-eebus", ABOVE_GRID_CLIENT),
    ("slackwater-openadr", ABOVE_GRID_CLIENT),
    ("slackwater-ocpp", &["slackwater-control", "slackwater-engine", "slackwater-integration"]),
    ("slackwater-sunspec", &["slackwater-control", "slackwater-engine", "slackwater-integration"]),
    (
        "slackwater-store",
        &["slackwater-control", "slackwater-engine", "slackwater-integration", "slackwater-wire"],
    ),
    ("slackwater-service", BELOW_SERVICE),
    (
        "slackwater-sandbox",
        &[
            "slackwater-control",
            "slackwater-engine",
            "slackwater-integration",
            "slackwater-service",
            "slackwater-sim",
        ],
    ),
    (
        "slackwater-home-assistant",
        &[
            "slackwater-control",
            "slackwater-engine",
            "slackwater-integration",
            "slackwater-service",
            "slackwater-store",
        ],
    ),
    ("slackwater-http", ABOVE_SERVICE),
    ("slackwater-link", ABOVE_HTTP),
    (
        "slackwater-server",
        &[
            "slackwater-control",
            "slackwater-engine",
            "slackwater-home-assistant",
            "slackwater-http",
            "slackwater-https",
            "slackwater-integration",
            "slackwater-link",
            "slackwater-ocpp",
            "slackwater-sandbox",
            "slackwater-service",
            "slackwater-store",
            "slackwater-sunspec",
            "slackwater-wire",
        ],
    ),
];

const ABOVE_GRID_CLIENT: &[&str] =
    &["slackwater-control", "slackwater-engine", "slackwater-grid-client"];

const BELOW_SERVICE: &[&str] = &[
    "slackwater-control",
    "slackwater-engine",
    "slackwater-https",
    "slackwater-integration",
    "slackwater-store",
    "slackwater-wire",
];

const ABOVE_SERVICE: &[&str] = &[
    "slackwater-control",
    "slackwater-engine",
    "slackwater-integration",
    "slackwater-service",
    "slackwater-store",
    "slackwater-wire",
];

const ABOVE_HTTP: &[&str] = &[
    "slackwater-control",
    "slackwater-http",
    "slackwater-integration",
    "slackwater-service",
    "slackwater-store",
];

/// Crates of pure functions: their code reads no clock, file or environment.
const PURE: [(&str, &str); 4] = [
    ("slackwater-engine", "engine"),
    ("slackwater-control", "control"),
    ("slackwater-sim", "sim"),
    ("slackwater-wire", "api/wire"),
];

/// All that the engine may use directly.
const ENGINE_MAY_USE: &[&str] = &[
    "chrono",
    "chrono-tz",
    "good_lp",
    "highs",
    "pulp",
    "rayon",
    "rust_decimal",
    "serde",
    "thiserror",
];

/// What belongs to one edge and may not turn up at the other.
const STAYS_AT_ITS_EDGE: [(&str, &[&str]); 17] = [
    ("slackwater-bindings", &["axum", "clap", "hyper", "sqlx", "tokio", "tower"]),
    // Both edges use it.
    ("slackwater-wire", &["arrow", "axum", "hyper", "numpy", "pyo3", "sqlx", "tokio", "tower"]),
    // For integrations of strangers: small, and without a runtime.
    ("slackwater-integration", &["axum", "clap", "hyper", "pyo3", "sqlx", "tokio", "tower"]),
    // It has sockets of its own, for chargers.
    ("slackwater-ocpp", &["axum", "clap", "hyper", "pyo3", "sqlx", "tower"]),
    // It opens connections to devices, and answers nobody.
    ("slackwater-sunspec", &["axum", "clap", "hyper", "pyo3", "sqlx", "tower"]),
    ("slackwater-evcc", &["hyper", "maud", "pyo3", "sqlx"]),
    // They ask servers, by `hyper`.
    ("slackwater-https", &["axum", "clap", "maud", "pyo3", "sqlx", "tower"]),
    ("slackwater-grid-client", &["axum", "maud", "pyo3", "sqlx", "tower"]),
    ("slackwater-openadr", &["axum", "eebus", "maud", "pyo3", "sqlx", "tower"]),
    // It has a socket of its own, for a control box.
    ("slackwater-eebus", &["axum", "maud", "pyo3", "sqlx", "tower"]),
    ("slackwater-store", &["axum", "clap", "hyper", "pyo3", "tower"]),
    // It posts events to receivers, by `hyper`, and answers nobody.
    ("slackwater-service", &["axum", "clap", "maud", "pyo3", "tower"]),
    ("slackwater-sandbox", &["axum", "clap", "hyper", "pyo3", "sqlx", "tower"]),
    // It speaks to a broker of MQTT, and answers nobody.
    ("slackwater-home-assistant", &["axum", "clap", "hyper", "maud", "pyo3", "sqlx", "tower"]),
    ("slackwater-http", &["clap", "maud", "pyo3", "sqlx"]),
    ("slackwater-link", &["clap", "pyo3", "sqlx"]),
    ("slackwater-server", &["arrow", "eebus", "numpy", "pyo3", "sqlx"]),
];

/// Features of `chrono` that read the system's clock, or bring such a feature along.
const CLOCK_FEATURES: &[&str] = &["clock", "default", "now", "std"];

/// Paths that have no place in the code of pure crates.
const NOT_IN_PURE_CODE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::os",
    "SystemTime",
    "Instant::now",
    "Utc::now",
    "Local::now",
];

/// Folders and files at the top of the engine, in their order: each may import those above it.
const LAYERS: [(&str, &str); 17] = [
    ("words", "a macro for enums; it knows nothing else"),
    ("units", "quantities know nothing else"),
    ("tolerance", "bare numbers: how far two others may differ and count as equal"),
    ("plausibility", "bare numbers whose unit is doubtful"),
    ("current_share", "one current divided among devices that charge now"),
    ("time", "periods and wall clocks; a length times a power is an energy"),
    ("prices", "step functions over time"),
    ("bill", "months of a meter, priced by the components of a tariff"),
    ("lp", "programmes of bare numbers, whatever these stand for"),
    ("plan", "one device on a price curve"),
    ("columns", "fleets, batteries and their plans, one row a vehicle"),
    ("batch", "many devices at once, each planned as one is"),
    ("area", "many devices under limits that they share"),
    ("shared_supply", "requests within one power, planned as a small area"),
    ("statistics", "what was measured, and what it cost at the prices of the time"),
    ("simulate", "policies in a receding horizon, settled at the facts"),
    ("import", "foreign files, read into series and prices"),
];

/// Folders of the rules of device control, in their order.
const CONTROL_LAYERS: [(&str, &str); 8] = [
    ("evidence", "lines of text and their hashes"),
    ("charging_profile", "limits as charge points keep them; nothing of users or plans"),
    ("quirk", "charge points that deviate from the protocol"),
    ("load_balancing", "charge points behind one fuse"),
    ("grid_order", "limits of grid operators"),
    ("device", "what devices report and what they are told, with or without a plan"),
    ("schedule", "rules of users, carried out as commands to devices"),
    ("policy", "charging policies of users, carried out as plans and as commands to devices"),
];

/// Folder of a crate, its layers, and a number of imports that it exceeds.
type Layered = (&'static str, &'static [(&'static str, &'static str)], usize);

/// Crates whose folders are layers.
const LAYERED: [Layered; 2] = [("engine/src", &LAYERS, 500), ("control/src", &CONTROL_LAYERS, 30)];

/// Two files that import each other, and why that reads best.
const PAIRS: [(&str, &str, &str); 2] = [
    ("plan/charge/certificate.rs", "plan/charge/plan.rs", "a type and its proof"),
    ("plan/storage/certificate.rs", "plan/storage/plan.rs", "a type and its proof"),
];

fn workspace() -> Metadata {
    let mut command = MetadataCommand::new();
    command.manifest_path(sources::root().join("Cargo.toml")).no_deps();
    command.exec().expect("cargo describes the workspace")
}

/// Names of the direct dependencies of a workspace crate, those of tests and builds aside.
fn direct<'a>(workspace: &'a Metadata, name: &str) -> Vec<&'a str> {
    let package = workspace.packages.iter().find(|package| package.name.as_str() == name);
    let dependencies = &package.expect("the crate is in the workspace").dependencies;
    let normal = dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal);
    normal.map(|dependency| dependency.name.as_str()).collect()
}

/// Those of `direct` that `allowed` does not name.
fn beyond<'a>(direct: &[&'a str], allowed: &[&str]) -> Vec<&'a str> {
    direct.iter().copied().filter(|name| !allowed.contains(name)).collect()
}

/// Those of `direct` that are, or belong to, a family of crates in `banned`.
fn out_of_place<'a>(direct: &[&'a str], banned: &[&str]) -> Vec<&'a str> {
    let belongs = |name: &str, family: &str| {
        name == family || name.strip_prefix(family).is_some_and(|rest| rest.starts_with(['-', '_']))
    };
    direct.iter().copied().filter(|name| banned.iter().any(|b| belongs(name, b))).collect()
}

/// The clock features of `chrono` in a listing of `crate feature,feature` lines.
///
/// `None` when `chrono` is not in the listing at all.
fn clock_features(listing: &str) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    let mut lines = listing.lines().filter_map(|line| line.strip_prefix("chrono ")).peekable();
    lines.peek()?;
    for features in lines {
        let on = features.split([',', ' ']).filter(|feature| CLOCK_FEATURES.contains(feature));
        found.extend(on);
    }
    Some(found)
}

/// The lines of a file that use something a pure crate must not have.
fn trespasses(text: &str) -> Vec<String> {
    let code = sources::code_only(text);
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let words = NOT_IN_PURE_CODE.iter().filter(|word| line.contains(*word));
        found.extend(words.map(|word| format!("{}: {word}", index + 1)));
    }
    found.extend(grouped_imports(&code));
    found
}

/// `use std::{fs, ...}` says the same as `use std::fs`.
fn grouped_imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, opening) in code.match_indices("std::{") {
        let group = code[at + opening.len()..].split(';').next().unwrap_or_default();
        for word in group.split(|c: char| !c.is_alphanumeric() && c != '_') {
            if NOT_IN_PURE_CODE.contains(&format!("std::{word}").as_str()) {
                let line = code[..at].matches('\n').count() + 1;
                found.push(format!("{line}: std::{word}"));
            }
        }
    }
    found
}

/// The engine's data carry our own names. Capitals in one come from somebody's wire format.
fn foreign_names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let renames_all = |(_, line): &(usize, &str)| line.contains("rename_all");
    let lines = sources::code_only(text);
    let lines = lines.lines().enumerate().filter(renames_all);
    found.extend(lines.map(|(index, _)| format!("{}: rename_all", index + 1)));
    for (index, line) in text.lines().enumerate() {
        for (at, key) in line.match_indices(" = \"") {
            let gives_name = line[..at].ends_with("rename") || is_variant(line[..at].trim_start());
            let name = line[at + key.len()..].split('"').next().unwrap_or_default();
            if gives_name && name.contains(char::is_uppercase) {
                found.push(format!("{}: renamed to {name}", index + 1));
            }
        }
    }
    found
}

/// Variants stand alone before their words, as in `words! { pub enum X { A = "a" } }`.
fn is_variant(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric)
}

#[test]
fn arrows_point_at_the_engine() {
    let workspace = workspace();
    let members: Vec<&str> = workspace.packages.iter().map(|p| p.name.as_str()).collect();
    for (name, allowed) in SIBLINGS {
        let direct = direct(&workspace, name);
        let siblings: Vec<&str> = direct.into_iter().filter(|d| members.contains(d)).collect();
        assert_eq!(beyond(&siblings, allowed), [""; 0], "siblings that `{name}` may not use");
    }
}

#[test]
fn nothing_depends_on_tests_or_benches() {
    let workspace = workspace();
    for package in &workspace.packages {
        let used = direct(&workspace, &package.name);
        let wrong = out_of_place(&used, &["slackwater-tests", "slackwater-benches"]);
        assert_eq!(wrong, [""; 0], "used by `{}`", package.name);
    }
}

#[test]
fn the_engine_uses_what_it_may() {
    let workspace = workspace();
    let direct = direct(&workspace, "slackwater-engine");
    assert!(!direct.is_empty(), "the engine has dependencies");
    assert_eq!(beyond(&direct, ENGINE_MAY_USE), [""; 0], "the engine may not use these");
}

#[test]
fn a_new_dependency_of_the_engine_is_found() {
    assert_eq!(beyond(&["chrono", "serde_json", "tokio"], ENGINE_MAY_USE), ["serde_json", "tokio"]);
}

#[test]
fn the_engine_has_one_default_feature() {
    let workspace = workspace();
    let engine = workspace.packages.iter().find(|p| p.name.as_str() == "slackwater-engine");
    let features = &engine.expect("the engine is in the workspace").features;
    assert_eq!(features["default"], ["lp"]);
}

#[test]
fn the_edges_keep_to_themselves() {
    let workspace = workspace();
    for (name, banned) in STAYS_AT_ITS_EDGE {
        let wrong = out_of_place(&direct(&workspace, name), banned);
        assert_eq!(wrong, [""; 0], "these belong to the other edge of `{name}`");
    }
}

#[test]
fn a_crate_of_the_other_edge_is_found() {
    let direct = ["serde", "pyo3", "arrow-array", "arrows", "pyo3_extra"];
    assert_eq!(out_of_place(&direct, &["arrow", "pyo3"]), ["pyo3", "arrow-array", "pyo3_extra"]);
}

#[test]
fn a_pure_crate_alone_has_no_clock() {
    for (name, _) in PURE {
        for features in ["--no-default-features", "--all-features"] {
            let mut tree = Command::new(env!("CARGO"));
            tree.current_dir(sources::root()).args(["tree", "--package", name, features]);
            tree.args(["--offline", "--edges=normal", "--prefix=none", "--format={lib} {f}"]);
            let output = tree.output().expect("cargo runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let listing = String::from_utf8(output.stdout).expect("crate names are ASCII");
            let found = clock_features(&listing);
            assert_eq!(found, Some(Vec::new()), "features of chrono for `{name}`, {features}");
        }
    }
}

#[test]
fn a_clock_feature_is_found() {
    let listing = "serde std\nchrono alloc,now,serde\nchrono_tz std\n";
    assert_eq!(clock_features(listing), Some(vec!["now"]));
    assert_eq!(clock_features("chrono alloc,serde (*)\n"), Some(Vec::new()));
    assert_eq!(clock_features("chrono_tz std\n"), None);
}

#[test]
fn pure_crates_read_nothing_from_the_machine() {
    let mut found = Vec::new();
    for (_, folder) in PURE {
        for source in sources::below(&format!("{folder}/src"), &[".rs"]) {
            let path = source.path.display();
            found.extend(trespasses(&source.text).iter().map(|what| format!("{path}:{what}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn trespasses_are_found() {
    let text = "// std::fs is fine here\nuse std::{\n    cmp, fs};\nlet now = Instant::now();\n";
    assert_eq!(trespasses(text), ["4: Instant::now", "2: std::fs"]);
    assert_eq!(trespasses("use std::{cmp, fmt};"), [""; 0]);
}

/// Planners of a foreign contract, whose request and answer are its documents: to rename their
/// fields would be a second contract.
const CONTRACTS: [&str; 1] = ["engine/src/plan/evcc/"];

#[test]
fn the_engine_knows_no_names_of_a_wire_format() {
    let mut found = Vec::new();
    for folder in ["engine/src", "control/src", "sim/src"] {
        for source in sources::below(folder, &[".rs"]) {
            let path = source.path.display().to_string();
            if CONTRACTS.iter().any(|contract| path.starts_with(contract)) {
                continue;
            }
            found.extend(foreign_names(&source.text).iter().map(|what| format!("{path}:{what}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn names_of_a_wire_format_are_found() {
    let text = "#[serde(rename_all = \"x\")]\n#[serde(rename = \"powerMax\")]\n";
    assert_eq!(foreign_names(text), ["1: rename_all", "2: renamed to powerMax"]);
    assert_eq!(foreign_names("#[serde(rename = \"power_max_kw\")]"), [""; 0]);
    let text = "words! {\n    Full = \"full\",\n    NoPower = \"noPower\",\n}\n";
    assert_eq!(foreign_names(text), ["3: renamed to noPower"]);
    assert_eq!(foreign_names("const NAME: &str = \"Full\";\nlet name = \"Full\";"), [""; 0]);
}

/// Imports of the engine that go up its layers, or to what is none.
fn against_layers(imports: &Imports, layers: &[(&str, &str)]) -> Vec<String> {
    let place = |name: &str| layers.iter().position(|(layer, _)| *layer == name);
    let mut found = Vec::new();
    for import in &imports.all {
        let (from, to) = (top(&import.from), top(&import.to));
        let is_fine = from == to || place(from).zip(place(to)).is_some_and(|(from, to)| to < from);
        if !is_fine {
            found.push(format!("{}:{}: {from} may not import {to}", import.from, import.line));
        }
    }
    found
}

/// Circles of files, but for allowed pairs.
fn file_circles(imports: &Imports, pairs: &[(&str, &str, &str)]) -> Vec<String> {
    let edges: Vec<(&str, &str)> =
        imports.all.iter().map(|import| (&*import.from, &*import.to)).collect();
    let is_pair = |circle: &[&str]| pairs.iter().any(|(a, b, _)| *circle == [*a, *b]);
    let mut circles = circles(&edges);
    circles.retain(|circle| !is_pair(circle));
    circles.iter().map(|circle| circle.join(", ")).collect()
}

fn folder_circles(imports: &Imports) -> Vec<String> {
    circles(&imports.between_folders()).iter().map(|circle| circle.join(", ")).collect()
}

/// The layer of a path: its first folder, or the file at the top.
fn top(path: &str) -> &str {
    let name = path.split('/').next().unwrap_or_default();
    name.strip_suffix(".rs").unwrap_or(name)
}

/// Imports between the files of a crate, but for its root.
fn imports_of(folder: &str) -> Imports {
    let mut sources = sources::below(folder, &[".rs"]);
    sources.retain(|source| !source.path.ends_with("src/lib.rs"));
    let files: Vec<(String, String)> = sources
        .into_iter()
        .map(|source| {
            let name = source.path.strip_prefix(folder).expect("it lies there");
            (name.to_str().expect("our file names are UTF-8").to_string(), source.text)
        })
        .collect();
    Imports::read(&files)
}

#[test]
fn folders_of_pure_crates_are_layers() {
    for (folder, layers, imports_min) in LAYERED {
        let imports = imports_of(folder);
        assert!(imports.all.len() > imports_min, "the imports of {folder} were read");
        assert_eq!(imports.vague, [""; 0], "import these from the files that hold them");
        let found = against_layers(&imports, layers);
        assert!(found.is_empty(), "{}", found.join("\n"));
        for (layer, _) in layers {
            let path = sources::root().join(folder).join(layer);
            assert!(path.is_dir() || path.with_extension("rs").is_file(), "there is no `{layer}`");
        }
    }
}

#[test]
fn no_circle_of_imports_in_pure_crates() {
    for (folder, _, _) in LAYERED {
        let imports = imports_of(folder);
        let files = file_circles(&imports, &PAIRS);
        assert_eq!(files, [""; 0], "files of {folder} that import each other");
        let folders = folder_circles(&imports);
        assert_eq!(folders, [""; 0], "folders of {folder} that import each other");
    }
}

/// Crates of the service. Two files of one folder may import each other, and no more.
const SERVICE_FOLDERS: [&str; 14] = [
    "api/integration/src",
    "api/ocpp/src",
    "api/evcc/src",
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

#[test]
fn no_circle_of_imports_in_the_service() {
    for folder in SERVICE_FOLDERS {
        let imports = imports_of(folder);
        assert!(!imports.all.is_empty(), "the imports of {folder} were read");
        assert_eq!(imports.vague, [""; 0], "import these from the files that hold them");
        let edges: Vec<(&str, &str)> =
            imports.all.iter().map(|import| (&*import.from, &*import.to)).collect();
        let mut large = circles(&edges);
        large.retain(|circle| circle.len() > 2);
        assert!(large.is_empty(), "files of {folder} that import each other: {large:?}");
        let across = circles_across_folders(&imports);
        assert_eq!(across, [""; 0], "folders of {folder} that import each other");
    }
}

/// Circles among the files and folders that lie in one folder, at any depth, with a folder in them.
/// `x.rs` beside a folder `x` belongs to it; two files may import each other.
fn circles_across_folders(imports: &Imports) -> Vec<String> {
    let folders: BTreeSet<&str> = imports
        .all
        .iter()
        .flat_map(|import| [&*import.from, &*import.to])
        .flat_map(|path| path.match_indices('/').map(|(at, _)| &path[..at]))
        .collect();
    let siblings = imports.all.iter().filter_map(|import| siblings(&import.from, &import.to));
    let mut found = circles(&siblings.collect::<Vec<_>>());
    found.retain(|circle| circle.iter().any(|place| folders.contains(place)));
    found.iter().map(|circle| circle.join(", ")).collect()
}

/// The two places in the lowest folder above both files that hold one file each; `None` if the
/// files are of one place.
fn siblings<'a>(from: &'a str, to: &'a str) -> Option<(&'a str, &'a str)> {
    let end = |path: &str, start: usize| path[start..].find('/').map(|at| start + at);
    let mut start = 0;
    loop {
        let place = |path: &'a str| {
            let stem = path.strip_suffix(".rs").unwrap_or(path);
            &path[..end(path, start).unwrap_or(stem.len())]
        };
        let (one, other) = (place(from), place(to));
        if one != other {
            return Some((one, other));
        }
        // A file is below the place of its folder's own file.
        start = end(from, start).and(end(to, start))? + 1;
    }
}

#[test]
fn circles_across_folders_are_found_at_any_depth() {
    let imports = made_up(&[
        ("a.rs", "use crate::a::b::B;"),
        ("a/b.rs", "use crate::a::A;\nuse crate::a::deep::x::X;"),
        ("a/deep/x.rs", "use crate::a::b::B;\nuse crate::a::deep::y::Y;"),
        ("a/deep/y.rs", "use crate::a::deep::x::X;\nuse crate::c::C;"),
        ("c.rs", "use crate::d::D;"),
        ("d.rs", "use crate::c::C;"),
    ]);
    assert_eq!(circles_across_folders(&imports), ["a/b, a/deep"]);
    let imports = made_up(&[
        ("a/b.rs", "use crate::c::C;"),
        ("c.rs", "use crate::e::f::F;"),
        ("e/f.rs", "use crate::a::b::B;"),
    ]);
    assert_eq!(circles_across_folders(&imports), ["a, c, e"]);
}

#[test]
fn pairs_import_each_other() {
    let imports = imports_of("engine/src");
    for (a, b, _) in PAIRS {
        let has = |from, to| imports.all.iter().any(|i| i.from == from && i.to == to);
        assert!(has(a, b) && has(b, a), "{a} and {b} are no pair any more");
    }
}

#[test]
fn imports_against_the_layers_are_found() {
    let imports = made_up(&[
        ("units.rs", "use crate::time::zone::Zone;"),
        ("time/zone.rs", "use crate::units::Power;\nuse super::other::X;"),
        ("time/other.rs", "\nuse crate::unknown::Y;"),
        ("unknown.rs", ""),
    ]);
    let found = against_layers(&imports, &[("units", ""), ("time", "")]);
    let expected =
        ["time/other.rs:2: time may not import unknown", "units.rs:1: units may not import time"];
    assert_eq!(found, expected);
}

#[test]
fn circles_are_found_but_for_those_allowed() {
    let imports = made_up(&[
        ("a/plan.rs", "use super::proof::Proof;"),
        ("a/proof.rs", "use super::plan::Plan;\nuse crate::a::deep::x::X;"),
        ("a/deep/x.rs", "use crate::a::leaf::Leaf;"),
        ("a/leaf.rs", ""),
        ("b.rs", "use crate::b::c::C;"),
        ("b/c.rs", "use crate::b::B;"),
    ]);
    let pair = [("a/plan.rs", "a/proof.rs", "a type and its proof")];
    assert_eq!(file_circles(&imports, &pair), ["b.rs, b/c.rs"]);
    assert_eq!(file_circles(&imports, &[]).len(), 2);
    assert_eq!(folder_circles(&imports), ["a, a/deep"]);
}

fn made_up(files: &[(&str, &str)]) -> Imports {
    let owned = |(name, text): &(&str, &str)| ((*name).to_string(), (*text).to_string());
    Imports::read(&files.iter().map(owned).collect::<Vec<_>>())
}

/// Crates of a build with their versions and features.
fn features(packages: &[&str], edges: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p} {f}"])
        .args(packages)
        .args(["--edges", edges])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names are UTF-8");
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

/// `make demo` builds the bindings alone, and what it compiled serves `make test`, too.
#[test]
fn the_bindings_alone_are_built_with_the_features_of_the_workspace() {
    // Without build scripts and macros, whose crates are compiled with features of their own; then
    // with them.
    for (of_all, of_bindings) in
        [("normal,dev,no-proc-macro", "normal,no-proc-macro"), ("all", "normal,build")]
    {
        let all = features(&["--workspace"], of_all);
        let alone = features(&["--package", "slackwater-bindings"], of_bindings);
        let twice: Vec<&String> = alone.difference(&all).collect();
        assert!(twice.is_empty(), "compiled with these and with other features: {twice:#?}");
    }
}

/// Tables of the profile of daily work, without comments.
fn dev_profile(manifest: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line.starts_with("[profile.dev");
        }
        if inside && !line.is_empty() && !line.starts_with('#') {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// Another profile would compile all crates, and HiGHS, once more for the example.
#[test]
fn the_example_is_compiled_by_the_profile_of_the_workspace() {
    let read = |path: &str| {
        let text = std::fs::read_to_string(sources::root().join(path));
        dev_profile(&text.expect("the manifest is there"))
    };
    let workspace = read("Cargo.toml");
    assert!(workspace.len() > 10, "{workspace:#?}");
    assert_eq!(read("examples/integration/Cargo.toml"), workspace);
}
