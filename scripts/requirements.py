"""Which requirements does no test cite?

``tests/requirements.csv`` names them. A test cites one in its own name
(``env_14_lim_04_data_are_at_most_ten_minutes_old``,
``pag_03_to_pag_10_...``), or a case in its ``id``. What a comment says does not
count: nothing fails when it is wrong.
"""

import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = (
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
CITED = re.compile(r"(?<![a-z])([a-z]{2,5})_(\d{2})(?:_to_\1_(\d{2}))?(?=_|$)")
CASE = re.compile(r"[A-Z]{2,5}-\d{2}")


def cited(name: str) -> set[str]:
    """All requirements in the name of a test, ranges spread."""
    found: set[str] = set()
    for area, first, last in CITED.findall(name):
        numbers = range(int(first), int(last or first) + 1)
        found |= {f"{area.upper()}-{number:02}" for number in numbers}
    return found


def citations(path: Path) -> Iterator[str]:
    """The requirements that the tests of a file cite."""
    if path.suffix == ".json":
        cases = json.loads(path.read_text())
        for case in cases if isinstance(cases, list) else []:
            yield from CASE.findall(str(case.get("id", "")) if isinstance(case, dict) else "")
        return
    names = (RUST if path.suffix == ".rs" else PYTHON).findall(path.read_text())
    for name in names:
        yield from cited(name)


def main() -> int:
    """List what no test cites, and fail if there is any."""
    seen: set[str] = set()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".rs", ".py", ".json"}:
                seen.update(citations(path))
    with (ROOT / "tests/requirements.csv").open(newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    shown = {name: row for name, row in rows.items() if name not in NO_BEHAVIOUR}
    missing = [row for name, row in shown.items() if name not in seen]
    for row in missing:
        print(f"{row['id']}  {row['where']}  {row['wording']}")
    for name in sorted(NO_BEHAVIOUR.keys() - rows.keys()):
        print(f"{name}  is no row")
    print(f"{len(shown) - len(missing)} of {len(shown)} are cited")
    for name, reason in NO_BEHAVIOUR.items():
        print(f"{name} is not looked for: {reason}")
    return 1 if missing or NO_BEHAVIOUR.keys() - rows.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
