"""List the requirements that no test covers.

``tests/requirements.csv`` names the requirements, and ``tests/covered.csv`` the
tests of each, one pair a row. Numbers of readings and laws are in
``docs/requirements.md``. A case of ``tests/cases`` names its requirement
in its ``id``. What a comment says does not count: nothing fails when it is wrong.
"""

import csv
import json
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent
COVERED = Path("tests/covered.csv")
READINGS = Path("docs/requirements.md")
# Where cases lie, among other JSON.
CASE_FOLDERS = (
    "engine/src",
    "control/src",
    "sim/src",
    "api",
    "bindings",
    "tests",
)

# Rows that no test can show, each with the reason.
NO_BEHAVIOUR = {
    "TIM-10": "it says that times are no contract, so that no test may fail by them",
}

# Names of tests: Rust below an attribute of a test or in a ``proptest!``, and Python.
RUST = re.compile(r"#\[(?:tokio::)?test\b[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:async\s+)?fn\s+(\w+)")
PYTHON = re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE)
NUMBER = re.compile(r"[A-Z]{2,5}-\d{2}")


def tests(path: Path) -> set[str]:
    """Names of the tests of a file; none if there is no such file."""
    if not path.is_file():
        return set()
    return set((RUST if path.suffix == ".rs" else PYTHON).findall(path.read_text()))


def in_cases(path: Path) -> Iterator[str]:
    """Requirements in the identifiers of a file of cases."""
    cases = json.loads(path.read_text())
    for case in cases if isinstance(cases, list) else []:
        yield from NUMBER.findall(str(case.get("id", "")) if isinstance(case, dict) else "")


def covered(known: set[str]) -> tuple[set[str], list[str]]:
    """Requirements that tests and cases cover, and what is wrong with the table of tests."""
    known = known | set(NUMBER.findall((ROOT / READINGS).read_text()))
    seen: set[str] = set()
    for folder in CASE_FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.json")):
            seen.update(in_cases(path))
    with (ROOT / COVERED).open(newline="") as file:
        rows = [(row["requirement"], row["file"], row["test"]) for row in csv.DictReader(file)]
    names = {file: tests(ROOT / file) for _, file, _ in rows}
    findings = [
        f"{requirement}  {file} has no test {test}"
        for requirement, file, test in rows
        if test not in names[file]
    ]
    findings += [
        f"{','.join(second)}  is out of order or there twice"
        for first, second in pairwise(rows)
        if first >= second
    ]
    findings += [
        f"{number}  is neither a requirement nor in {READINGS}"
        for number in sorted({number for number, _, _ in rows} - known)
    ]
    return seen | {requirement for requirement, _, _ in rows}, findings


def main() -> int:
    """List what no test covers, and fail if there is any or the table is wrong."""
    with (ROOT / "tests/requirements.csv").open(newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    seen, findings = covered(set(rows))
    shown = {name: row for name, row in rows.items() if name not in NO_BEHAVIOUR}
    missing = [row for name, row in shown.items() if name not in seen]
    for row in missing:
        print(f"{row['id']}  {row['where']}  {row['wording']}")
    findings += [f"{name}  is no row" for name in sorted(NO_BEHAVIOUR.keys() - rows.keys())]
    for finding in findings:
        print(finding)
    print(f"{len(shown) - len(missing)} of {len(shown)} are cited")
    for name, reason in NO_BEHAVIOUR.items():
        print(f"{name} is not looked for: {reason}")
    return 1 if missing or findings else 0


if __name__ == "__main__":
    sys.exit(main())
