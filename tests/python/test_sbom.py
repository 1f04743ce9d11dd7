"""List of contents of the service: against the lock file, and whole."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import sbom  # noqa: E402  it stands next to the other programs


@pytest.fixture(scope="module")
def contents() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sbom.make_sbom({"libc6": "2.36-9+deb12u10"}))
    return found


def test_all_that_is_linked_is_listed_with_its_checksum(contents: dict[str, Any]) -> None:
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    locked = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}
    crates = [one for one in contents["components"] if one["purl"].startswith("pkg:cargo/")]
    names = {one["name"] for one in crates}
    # Libraries in C and C++, TLS, and our own.
    assert {"highs-sys", "libsqlite3-sys", "ring", "rustls", "slackwater-engine"} < names
    # What builds and tests, and what only Python has.
    assert not {"bindgen", "cc", "proptest", "pyo3", "serde_derive", "syn"} & names
    for crate in crates:
        (checksum,) = [one["content"] for one in crate.get("hashes", [])] or [None]
        assert locked[crate["name"], crate["version"]] == checksum, crate["name"]
        assert checksum or crate["name"].startswith("slackwater-")
        assert crate["licenses"][0]["expression"]


def test_everything_listed_is_needed_from_the_program(contents: dict[str, Any]) -> None:
    program = contents["metadata"]["component"]
    assert (program["type"], program["name"]) == ("application", "slackwater-server")
    needs = {one["ref"]: set(one["dependsOn"]) for one in contents["dependencies"]}
    listed = {one["bom-ref"] for one in contents["components"]}
    assert len(listed) == len(contents["components"]) > 200
    needs |= {ref: set() for ref in listed - set(needs)}
    assert sbom.all_needs(needs, program["bom-ref"]) == listed | {program["bom-ref"]}


def test_packages_of_debian_are_listed_and_the_list_does_not_change(
    contents: dict[str, Any],
) -> None:
    packages = [one["purl"] for one in contents["components"] if "pkg:deb" in one["purl"]]
    assert packages == ["pkg:deb/debian/libc6@2.36-9+deb12u10"]
    assert sbom.make_sbom() == sbom.make_sbom()
