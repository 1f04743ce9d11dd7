"""Notes of a release, and tags that are refused."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import release_notes  # noqa: E402  it stands next to the other programs

CHANGELOG = """\
# Changelog

## [Unreleased]

## [0.2.0] - 2026-12-01

### Added

- A thing.

## [0.1.0] - 2026-11-01

- The first.
"""


def project(folder: Path, *, cargo: str = "0.2.0", python: str = "0.2.0") -> Path:
    """A project with a version in each manifest."""
    (folder / "Cargo.toml").write_text(f'[workspace.package]\nversion = "{cargo}"\n')
    (folder / "pyproject.toml").write_text(f'[project]\nversion = "{python}"\n')
    (folder / "CHANGELOG.md").write_text(CHANGELOG)
    return folder


def test_the_manifests_have_one_version() -> None:
    assert len(set(release_notes.versions(ROOT).values())) == 1


def test_notes_are_the_section_of_the_tag(tmp_path: Path) -> None:
    root = project(tmp_path)
    assert release_notes.notes("v0.2.0", root) == "### Added\n\n- A thing."
    assert release_notes.section(CHANGELOG, "0.1.0") == "- The first."


@pytest.mark.parametrize(
    ("tag", "cargo", "python", "reason"),
    [
        ("0.2.0", "0.2.0", "0.2.0", "is not a tag of a release"),
        ("v0.2.0", "0.1.0", "0.2.0", "Cargo.toml has the version 0.1.0, the tag is v0.2.0"),
        ("v0.2.0", "0.2.0", "0.3.0", "pyproject.toml has the version 0.3.0"),
        ("v0.3.0", "0.3.0", "0.3.0", "CHANGELOG.md has no section [0.3.0]"),
    ],
)
def test_a_tag_that_does_not_fit_is_refused(
    tmp_path: Path, tag: str, cargo: str, python: str, reason: str
) -> None:
    root = project(tmp_path, cargo=cargo, python=python)
    with pytest.raises(release_notes.ReleaseError, match=re.escape(reason)):
        release_notes.notes(tag, root)


def test_an_empty_section_is_refused() -> None:
    with pytest.raises(release_notes.ReleaseError, match="is empty"):
        release_notes.section(CHANGELOG, "Unreleased")
