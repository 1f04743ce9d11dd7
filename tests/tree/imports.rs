//! The import graph of a crate, read from its source text, and the circles in it.
//!
//! An import is any path in code outside `#[cfg(test)]` that leads to another
//! file: in a `use`, with groups, `self`, `super` and globs spread, or in line
//! (`crate::a::b::C`), also through a name that a `use` has brought in.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::code_only;

/// Name of a path's last segment that stands for all names of a module.
const GLOB: &str = "*";

/// One file that uses another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    /// The file that imports, from the folder of the sources.
    pub(crate) from: String,
    /// The file that is imported.
    pub(crate) to: String,
    /// Line of the first such path in `from`.
    pub(crate) line: usize,
}

/// Imports of a crate.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    /// One for each two files, in the order of their names.
    pub(crate) all: Vec<Import>,
    /// Paths that end in a list of modules (`lib.rs`, `mod.rs`), so that nobody
    /// sees which file they mean.
    pub(crate) vague: Vec<String>,
}

impl Imports {
    /// The imports between `files`: names from the folder of the sources, and texts.
    pub(crate) fn read(files: &[(String, String)]) -> Self {
        let files: Vec<_> = files.iter().filter(|(name, _)| !holds_tests(name)).collect();
        let modules: Modules =
            files.iter().map(|(name, _)| (module_of(name).join("::"), &**name)).collect();
        let mut lines = BTreeMap::new();
        let mut found = Self::default();
        for (name, text) in files {
            for (line, path) in paths_of(name, text, &modules) {
                let (file, is_whole) = file_of(&modules, &path);
                if !is_list(file) && file != name {
                    lines.entry((name.clone(), file.to_string())).or_insert(line);
                } else if is_list(file) && !is_whole {
                    found.vague.push(format!("{name}:{line}: crate::{path}"));
                }
            }
        }
        let import = |((from, to), line)| Import { from, to, line };
        found.all = lines.into_iter().map(import).collect();
        found
    }

    /// The imports between folders, nested ones too.
    ///
    /// `x.rs` beside a folder `x` belongs to it, as `x/mod.rs` would.
    pub(crate) fn between_folders(&self) -> Vec<(&str, &str)> {
        let ends = || self.all.iter().flat_map(|import| [&*import.from, &*import.to]);
        let folders: BTreeSet<&str> = ends().flat_map(above).collect();
        let folder = |file: &str| {
            let stem = stem(file);
            if folders.contains(stem) { stem.len() } else { file.rfind('/').unwrap_or(0) }
        };
        let files = self.all.iter().map(|import| (&*import.from, &*import.to));
        files.map(|(from, to)| (&from[..folder(from)], &to[..folder(to)])).collect()
    }
}

/// Groups of nodes each of which leads to all others of its group, of two nodes and more.
pub(crate) fn circles<'a>(edges: &[(&'a str, &'a str)]) -> Vec<Vec<&'a str>> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for &(from, to) in edges {
        next.entry(from).or_default().insert(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        next.keys().map(|&node| (node, reached_from(node, &next))).collect();
    let mutual = |node: &str| -> Vec<&str> {
        let back = |other: &&&str| reached.get(**other).is_some_and(|set| set.contains(node));
        reached[node].iter().filter(back).copied().collect()
    };
    let groups: BTreeSet<Vec<&str>> = next.keys().map(|node| mutual(node)).collect();
    groups.into_iter().filter(|group| group.len() > 1).collect()
}

fn reached_from<'a>(
    node: &'a str,
    next: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        let news = next.get(node).into_iter().flatten().filter(|to| reached.insert(**to));
        open.extend(news);
    }
    reached
}

/// Files by the paths of their modules; that of the crate is empty.
type Modules<'a> = BTreeMap<String, &'a str>;

/// A path in code: the modules around it, its segments, and what it is called here.
struct Path<'a> {
    at: usize,
    inside: Vec<&'a str>,
    segments: Vec<&'a str>,
    name: Option<&'a str>,
}

fn holds_tests(name: &str) -> bool {
    name.split('/').any(|part| part == "tests" || part == "tests.rs")
}

fn is_list(file: &str) -> bool {
    file == "lib.rs" || file == "mod.rs" || file.ends_with("/mod.rs")
}

fn stem(file: &str) -> &str {
    file.strip_suffix(".rs").unwrap_or(file)
}

/// The folders around a file.
fn above(file: &str) -> impl Iterator<Item = &str> {
    file.match_indices('/').map(|(at, _)| &file[..at])
}

/// `plan/charge.rs` is `plan::charge`, `plan/mod.rs` is `plan`, `lib.rs` is the crate.
fn module_of(file: &str) -> Vec<&str> {
    let folder = || above(file).last().unwrap_or_default();
    let stem = if is_list(file) { folder() } else { stem(file) };
    stem.split('/').filter(|part| !part.is_empty()).collect()
}

/// The file of the longest part of a path that is a module, and whether that is all of it.
fn file_of<'a>(modules: &Modules<'a>, path: &str) -> (&'a str, bool) {
    let mut module = path;
    loop {
        match modules.get(module) {
            Some(file) => return (*file, module == path),
            None if module.is_empty() => return ("lib.rs", false),
            None => module = module.rsplit_once("::").map_or("", |(above, _)| above),
        }
    }
}

/// Paths of a file that start in the crate, from its root, with their lines.
fn paths_of(name: &str, text: &str, modules: &Modules) -> Vec<(usize, String)> {
    let code = without_tests(&code_only(text));
    let words = words(&code);
    let paths = paths(&words);
    let file = module_of(name);
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    // Imports may rest on each other in any order, so they are read twice.
    for path in paths.iter().chain(&paths) {
        if let (Some(name), Some(found)) = (path.name, absolute(path, &file, modules, &names)) {
            names.entry(name).or_insert(found);
        }
    }
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    let found = paths.iter().filter_map(|path| {
        let found = absolute(path, &file, modules, &names)?;
        Some((line(path.at), found.join("::")))
    });
    found.collect()
}

/// The path from the root of the crate; `None` where it leads out of it.
fn absolute<'a>(
    path: &Path<'a>,
    file: &[&'a str],
    modules: &Modules,
    names: &BTreeMap<&'a str, Vec<&'a str>>,
) -> Option<Vec<&'a str>> {
    let mut base: Vec<&str> = [file, &path.inside].concat();
    let mut rest = &path.segments[..];
    match *rest.first()? {
        "crate" => {
            base.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first() == Some(&"super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        first if modules.contains_key(&[&base[..], &[first]].concat().join("::")) => {}
        first => {
            base.clone_from(names.get(first)?);
            rest = &rest[1..];
        }
    }
    base.extend(rest);
    Some(base)
}

/// The code with each item below a `#[cfg(test)]` blanked out.
fn without_tests(code: &str) -> String {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let mut left = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(ATTRIBUTE) {
        let (before, item) = rest.split_at(at);
        let (item, after) = item.split_at(item_length(item));
        left.push_str(before);
        left.extend(item.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = after;
    }
    left + rest
}

/// Length of an item with its attributes: up to its semicolon or closing brace.
fn item_length(item: &str) -> usize {
    let mut depth = 0_u32;
    for (at, c) in item.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ';' || c == '}') {
            return at + 1;
        }
    }
    item.len()
}

/// Names, `::` and other signs, with their places.
fn words(code: &str) -> Vec<(usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = code[at..].chars().next() {
        let rest = &code[at..];
        let length = match first {
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        if !first.is_whitespace() {
            words.push((at, &rest[..length]));
        }
        at += length;
    }
    words
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// All paths of more than one segment, and those of imports with the names they bring.
fn paths<'a>(words: &[(usize, &'a str)]) -> Vec<Path<'a>> {
    let word = |index: usize| words.get(index).map_or("", |(_, word)| *word);
    let mut found = Vec::new();
    // Modules in line around a place, with the depth of braces at which each began.
    let mut inside: Vec<(&str, usize)> = Vec::new();
    let mut depth = 0;
    let mut index = 0;
    while index < words.len() {
        let around: Vec<&str> = inside.iter().map(|(name, _)| *name).collect();
        match word(index) {
            "mod" if word(index + 2) == "{" => inside.push((word(index + 1), depth)),
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inside.retain(|(_, began)| *began < depth);
            }
            // Not the `use<'a>` of a bound.
            "use" if word(index + 1) != "<" => {
                let mut tree = Tree { words, index: index + 1, inside: &around, found: &mut found };
                tree.read(&[]);
                index = tree.index;
                continue;
            }
            name if is_name(name) && word(index + 1) == "::" => {
                let mut segments = vec![name];
                let at = words[index].0;
                while word(index + 1) == "::" && is_name(word(index + 2)) {
                    segments.push(word(index + 2));
                    index += 2;
                }
                found.push(Path { at, inside: around, segments, name: None });
            }
            _ => {}
        }
        index += 1;
    }
    found
}

/// The tree of one `use`.
struct Tree<'t, 'a> {
    words: &'t [(usize, &'a str)],
    index: usize,
    inside: &'t [&'a str],
    found: &'t mut Vec<Path<'a>>,
}

impl<'a> Tree<'_, 'a> {
    fn word(&self) -> &'a str {
        self.words.get(self.index).map_or(";", |(_, word)| *word)
    }

    /// Reads one branch of the tree; afterwards `index` is at what follows it.
    fn read(&mut self, above: &[&'a str]) {
        let mut segments = above.to_vec();
        let at = self.words.get(self.index).map_or(0, |(at, _)| *at);
        let mut name = None;
        loop {
            match self.word() {
                ";" | "," | "}" => break,
                "{" => {
                    self.group(&segments);
                    return;
                }
                "as" => {
                    self.index += 1;
                    name = Some(self.word());
                }
                // `::chrono` is never a module of ours.
                "::" if segments.is_empty() => segments.push("::"),
                "::" => {}
                "self" if !segments.is_empty() => {}
                segment => segments.push(segment),
            }
            self.index += 1;
        }
        let name = name.or(segments.last().copied()).filter(|name| *name != GLOB);
        self.found.push(Path { at, inside: self.inside.to_vec(), segments, name });
    }

    fn group(&mut self, above: &[&'a str]) {
        self.index += 1;
        while !matches!(self.word(), "}" | ";") {
            self.read(above);
            if self.word() == "," {
                self.index += 1;
            }
        }
        self.index += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Imports {
        let owned = |(name, text): &(&str, &str)| ((*name).to_string(), (*text).to_string());
        Imports::read(&files.iter().map(owned).collect::<Vec<_>>())
    }

    /// Files that `a/x.rs` with this text imports.
    fn imported(text: &str) -> Vec<String> {
        let rest = ["lib.rs", "a/mod.rs", "a/y.rs", "b/mod.rs", "b/z.rs", "c.rs", "c/d.rs"];
        let mut files: Vec<(&str, &str)> = rest.iter().map(|name| (*name, "")).collect();
        files.push(("a/x.rs", text));
        let imports = read(&files);
        assert!(imports.all.iter().all(|import| import.from == "a/x.rs"));
        let vague = imports.vague.into_iter().map(|path| format!("? {path}"));
        imports.all.into_iter().map(|import| import.to).chain(vague).collect()
    }

    #[test]
    fn every_way_to_import_is_seen() {
        assert_eq!(imported("use crate::b::z::Z;"), ["b/z.rs"]);
        assert_eq!(
            imported("use crate::{b::z::{self, Z as Y}, c::{d::*, C}};"),
            ["b/z.rs", "c.rs", "c/d.rs"]
        );
        assert_eq!(imported("use super::y::Y;\nuse super::super::c::C;"), ["a/y.rs", "c.rs"]);
        assert_eq!(imported("fn f(x: &crate::b::z::Z) -> crate::c::C {}"), ["b/z.rs", "c.rs"]);
        assert_eq!(imported("use crate::b as other;\nfn f() { other::z::f::<u8>() }"), ["b/z.rs"]);
        assert_eq!(
            imported("fn f() { zed::f() }\nuse bee::z as zed;\nuse crate::b as bee;"),
            ["b/z.rs"]
        );
        assert_eq!(
            imported("mod inner {\n use super::super::y::Y;\n}\nuse super::y::X;"),
            ["a/y.rs"]
        );
        assert_eq!(imported("pub use crate::c::d;\n"), ["c/d.rs"]);
        assert_eq!(
            imported("impl Trait for X { fn f() -> impl Y + use<'a> { crate::c::f() } }"),
            ["c.rs"]
        );
    }

    #[test]
    fn what_is_no_import_is_not_seen() {
        assert_eq!(imported("use std::b::z::Z;\nuse ::c::C;\nuse self::own::X;"), [""; 0]);
        assert_eq!(
            imported("/// [`crate::c::C`]\n// use crate::b::z;\nconst X: &str = \"crate::c::C\";"),
            [""; 0]
        );
        let tests =
            "#[cfg(test)]\nmod tests {\n use crate::c::C;\n fn f() { {} }\n}\nuse crate::b::z;";
        assert_eq!(imported(tests), ["b/z.rs"]);
        assert_eq!(imported("#[cfg(test)]\nmod tests;\n#[cfg(test)]\nuse crate::c::C;\n"), [""; 0]);
        assert_eq!(imported("use super::x::Own;\nuse crate::b;"), [""; 0]);
    }

    #[test]
    fn a_path_that_ends_in_a_list_of_modules_is_vague() {
        assert_eq!(imported("\nuse crate::Facade;"), ["? a/x.rs:2: crate::Facade"]);
        assert_eq!(imported("use crate::b::*;"), ["? a/x.rs:1: crate::b::*"]);
    }

    #[test]
    fn the_first_line_of_an_import_is_told() {
        let imports = read(&[("a.rs", "\nuse crate::b::B;\nuse crate::b::C;"), ("b.rs", "")]);
        let expected = Import { from: "a.rs".into(), to: "b.rs".into(), line: 2 };
        assert_eq!(imports.all, [expected]);
    }

    #[test]
    fn a_file_beside_its_folder_belongs_to_it() {
        let imports = read(&[
            ("c.rs", "mod d;\nuse d::D;\nuse crate::a::x::X;"),
            ("c/d.rs", "use super::C;"),
            ("a/x.rs", "use crate::units::U;"),
            ("units.rs", ""),
        ]);
        assert_eq!(imports.between_folders(), [("a", ""), ("c", "a"), ("c", "c"), ("c", "c")]);
    }

    #[test]
    fn circles_are_found_whatever_hangs_on_them() {
        let chain = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")];
        assert_eq!(circles(&chain), Vec::<Vec<&str>>::new());
        let two =
            [("in", "a"), ("a", "b"), ("b", "a"), ("b", "x"), ("x", "y"), ("y", "z"), ("z", "x")];
        assert_eq!(circles(&two), [vec!["a", "b"], vec!["x", "y", "z"]]);
        // Two circles with a node in common are one.
        assert_eq!(
            circles(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]),
            [vec!["a", "b", "c"]]
        );
        assert_eq!(circles(&[("a", "a")]), Vec::<Vec<&str>>::new());
    }
}
