"""Every test and command that the page on reliability names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
FOLDERS = ("api", "engine", "control", "bindings/src", "tests")


def test_tests_and_commands_of_the_page_exist() -> None:
    files = [
        path
        for name in FOLDERS
        for path in (ROOT / name).rglob("*")
        if path.suffix in {".rs", ".py"}
    ]
    defined: set[str] = set()
    for path in files:
        defined |= set(re.findall(r"(?:fn|def) (\w+)\(", path.read_text(encoding="utf-8")))
    # In the code of a page, only names of tests are so long.
    named = set(re.findall(r"`([a-z0-9_]{18,})`", PAGE))
    assert len(named) > 40
    assert named - defined == set()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"`make ([a-z-]+)`", PAGE)):
        assert f"\n{target}:" in makefile, target
