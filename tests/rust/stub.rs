//! The stub of the Python module is written from its Rust: names, types and documentation.
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;

use expect_test::expect_file;
use pyo3_introspection::{introspect_cdylib, module_stub_files};

#[test]
fn the_stub_is_that_of_the_module() {
    let program = std::env::current_exe().unwrap();
    // The program lies in `deps`, the library beside that folder.
    let folder = program.ancestors().nth(2).unwrap();
    let library = folder.join(format!("{DLL_PREFIX}_engine{DLL_SUFFIX}"));
    assert!(library.exists(), "{} is not there; `make build` makes it", library.display());
    let module = introspect_cdylib(&library, "_engine").unwrap();
    let stubs = module_stub_files(&module);
    assert_eq!(stubs.len(), 1, "one module is one stub");
    expect_file!["../../bindings/python/slackwater/_engine.pyi"]
        .assert_eq(&adapt(&stubs[Path::new("__init__.pyi")]));
}

/// Text that pyo3 leaves out, since it knows no types of exceptions: it ends with this line.
const UNKNOWN: &str = "def __getattr__(name: str) -> Incomplete: ...\n";

/// What stands there in its place.
const EXCEPTIONS: &str = "\
class InputError(ValueError): ...
class LookAheadError(InputError): ...
class PanicException(RuntimeError): ...
class PlausibilityWarning(UserWarning): ...

__version__: str
";

/// The stub for Python 3.11, where `types` has no capsules, and for strict type checks.
fn adapt(stub: &str) -> String {
    let stub = stub
        .replace("from types import CapsuleType\n", "")
        .replace("CapsuleType", "object")
        .replace("Final[tuple]", "Final[tuple[str, ...]]")
        .replace(UNKNOWN, EXCEPTIONS);
    let name_of = |line: &str| {
        let rest = line.strip_prefix("class ").or_else(|| line.strip_prefix("def "))?;
        rest.split(['(', ':']).next().map(str::to_owned)
    };
    let mut all: Vec<String> = stub.lines().filter_map(name_of).collect();
    all.push("__version__".to_owned());
    all.sort();
    format!("{stub}\n__all__ = [\n    \"{}\",\n]\n", all.join("\",\n    \""))
}
