"""Notes of a release: the section of ``CHANGELOG.md`` that belongs to a tag.

Usage: ``python scripts/release_notes.py v0.1.0``

A tag is refused unless ``Cargo.toml`` and ``pyproject.toml`` have its version and the
changelog has a section with it, so that a tag set too early publishes nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SECTION = re.compile(r"^## \[(?P<version>[^\]]+)\](?P<rest>.*)$", re.MULTILINE)


class ReleaseError(Exception):
    """A tag that does not fit what it was set on."""


def versions(root: Path) -> dict[str, str]:
    """Version in each manifest, by the name of the file."""
    cargo = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))
    python = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return {
        "Cargo.toml": cargo["workspace"]["package"]["version"],
        "pyproject.toml": python["project"]["version"],
    }


def section(changelog: str, version: str) -> str:
    """Text below the heading of a version, up to the next heading of a version."""
    headings = list(SECTION.finditer(changelog))
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        if heading["version"] == version:
            end = following.start() if following else len(changelog)
            text = changelog[heading.end() : end].strip()
            if text:
                return text
            raise ReleaseError(f"the section [{version}] of CHANGELOG.md is empty")
    raise ReleaseError(f"CHANGELOG.md has no section [{version}]")


def notes(tag: str, root: Path) -> str:
    """Notes of the release that a tag names; a tag that does not fit is refused."""
    version = tag.removeprefix("v")
    if version == tag:
        raise ReleaseError(f"{tag!r} is not a tag of a release, such as v0.1.0")
    for file, found in versions(root).items():
        if found != version:
            raise ReleaseError(f"{file} has the version {found}, the tag is {tag}")
    return section((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)


def main() -> int:
    """Print the notes of the tag of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tag")
    try:
        print(notes(parser.parse_args().tag, ROOT))
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
