"""List of contents (SBOM) of the service, in CycloneDX 1.5, for its packages.

Usage: ``python scripts/sbom.py > sbom.cdx.json``

Crates are those that ``cargo tree`` says are linked into the program on this system, in a build of
the workspace as ``make dist`` makes it: none that only build it. HiGHS and SQLite are part of the
crates ``highs-sys`` and ``libsqlite3-sys``. The list has neither date nor number, so that it is the
same however often it is made.
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "slackwater-server"
TREE = ("--locked", "--workspace", "--edges", "normal,no-proc-macro", "--prefix", "depth")
LINE = re.compile(
    r"(?P<depth>\d+)(?P<name>\S+) v(?P<version>\S+)(?: \(.*\))?\|(?P<licence>.*?)(?: \(\*\))?"
)

Component = dict[str, Any]


def tree_lines() -> list[str]:
    """Lines of the tree of crates: depth, name, version and licence."""
    command = ("cargo", "tree", *TREE, "--format", "{p}|{l}")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def crate_component(name: str, version: str, licence: str, checksum: str | None) -> Component:
    """A crate; those of the workspace have no checksum."""
    purl = f"pkg:cargo/{name}@{version}"
    component: Component = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        # Old manifests have a slash for "or".
        "licenses": [{"expression": licence.replace("/", " OR ")}],
    }
    if checksum:
        component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return component


def debian_component(name: str, version: str) -> Component:
    """A package of Debian, whose libraries go along."""
    purl = f"pkg:deb/debian/{name}@{version}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def crates() -> tuple[dict[str, Component], dict[str, set[str]]]:
    """All crates of the workspace and what each of them needs, by their names in the list."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}
    components: dict[str, Component] = {}
    needs: dict[str, set[str]] = {}
    above: list[str] = []
    for line in filter(None, tree_lines()):
        found = LINE.fullmatch(line)
        if not found:
            raise ValueError(f"a line of cargo tree is not understood: {line}")
        depth, name, version, licence = found.groups()
        crate = crate_component(name, version, licence, checksums[name, version])
        above[int(depth) :] = [crate["bom-ref"]]
        components[above[-1]] = crate
        needs.setdefault(above[-1], set())
        if len(above) > 1:
            needs[above[-2]].add(above[-1])
    return components, needs


def all_needs(needs: Mapping[str, set[str]], ref: str) -> set[str]:
    """A crate and all that it needs, also by others."""
    found: set[str] = set()
    waiting = {ref}
    while waiting:
        found |= waiting
        waiting = {need for one in waiting for need in needs[one]} - found
    return found


def make_sbom(packages: Mapping[str, str] | None = None) -> str:
    """The list as JSON.

    Args:
        packages: Versions of Debian packages that go along, by their names.
    """
    components, needs = crates()
    (program,) = (ref for ref, one in components.items() if one["name"] == PROGRAM)
    linked = all_needs(needs, program)
    listed = [components[ref] for ref in linked - {program}]
    system = [debian_component(*package) for package in (packages or {}).items()]
    needs[program] |= {one["bom-ref"] for one in system}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": components[program] | {"type": "application"}},
        "components": sorted([*listed, *system], key=lambda one: str(one["bom-ref"])),
        "dependencies": [{"ref": ref, "dependsOn": sorted(needs[ref])} for ref in sorted(linked)],
    }
    return json.dumps(document, indent=1) + "\n"


if __name__ == "__main__":
    print(make_sbom(), end="")
