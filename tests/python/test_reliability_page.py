"""Every test and command that the pages on reliability and threats name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RELIABILITY, THREATS = PAGES = ("docs/reliability.md", "docs/explanation/threats.md")
FOLDERS = ("api", "engine", "control", "bindings/src", "tests")
# Also those inside of the macro `proptest!`.
RUST_TEST = r"#\[(?:tokio::)?test[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn (\w+)"
# In the code of a page, only names of tests are so long.
NAMED = r"`([a-z0-9_]{18,})`"


@pytest.fixture(scope="module")
def tests() -> set[str]:
    """Names of all tests, in Rust and Python."""
    found: set[str] = set()
    for path in (path for name in FOLDERS for path in (ROOT / name).rglob("*")):
        pattern = {".rs": RUST_TEST, ".py": r"def (test_\w+)\("}.get(path.suffix)
        if pattern:
            found |= set(re.findall(pattern, path.read_text(encoding="utf-8")))
    return found


def rows(title: str) -> list[list[str]]:
    """Cells of the table below a title of the page on threats."""
    page = (ROOT / THREATS).read_text(encoding="utf-8")
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("page", PAGES)
def test_tests_and_commands_of_a_page_exist(page: str, tests: set[str]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(NAMED, text))
    assert len(named) > 40
    assert named - tests == set()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"`make ([a-z-]+)`", text)):
        assert f"\n{target}:" in makefile, target


def test_each_of_the_ten_risks_has_a_test() -> None:
    risks = rows("OWASP API Security Top 10, 2023")
    assert [risk.split()[0] for risk, *_ in risks] == [f"API{i}" for i in range(1, 11)]
    for risk, _, shown in risks:
        assert re.search(NAMED, shown), risk


def test_each_defence_has_a_test() -> None:
    boundaries = rows("Boundaries")
    assert len({boundary for boundary, *_ in boundaries}) > 8
    for boundary, attack, _, shown in boundaries:
        assert re.search(NAMED, shown), (boundary, attack)
