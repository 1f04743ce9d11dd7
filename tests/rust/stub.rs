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

/// The stub for Python 3.11, where `types` has no capsules, and for strict type checks.
fn adapt(stub: &str) -> String {
    stub.replace("from types import CapsuleType\n", "")
        .replace("CapsuleType", "object")
        .replace("Final[tuple]", "Final[tuple[str, ...]]")
}
