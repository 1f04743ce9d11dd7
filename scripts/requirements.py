"""Which requirements does no test cite?

``tests/requirements.csv`` names them. A test cites one in its name
(``env_14_lim_04_data_are_at_most_ten_minutes_old``, ``pag_03_to_pag_10_...``)
or in a comment (``// ENV-12: ...``). Rows of what the service does not have yet
(pages, events) are counted and not listed.
"""

import csv
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("engine/src", "api/src", "api/tests", "tests")
LATER = {"pages", "events", "docs"}

IDENTIFIER = r"[A-Z]{2,5}-\d{2}"
NAME = r"\b(?:[a-z]{2,5}_\d{2}_)(?:[a-z0-9_]+)\("
IN_NAME = re.compile(r"([a-z]{2,5})_(\d{2})(?:_to_\1_(\d{2}))?")
IN_TEXT = re.compile(rf"({IDENTIFIER})(?: to ({IDENTIFIER}))?")


def spread(first: str, last: str | None) -> set[str]:
    """All identifiers of a range such as ``PAG-03 to PAG-10``."""
    area, start = first.split("-")
    end = last.split("-")[1] if last else start
    return {f"{area}-{number:02}" for number in range(int(start), int(end) + 1)}


def cited(text: str) -> set[str]:
    """Every identifier that a source cites by a test's name or in words."""
    found: set[str] = set()
    for name in re.findall(NAME, text):
        for area, start, end in IN_NAME.findall(name):
            last = f"{area.upper()}-{end}" if end else None
            found |= spread(f"{area.upper()}-{start}", last)
    for first, last in IN_TEXT.findall(text):
        found |= spread(first, last or None)
    return found


def tests_of(path: Path) -> str:
    """The part of a source that tests: all of a test file, the end of another."""
    text = path.read_text()
    if "tests" in path.relative_to(ROOT).parts or path.name == "tests.rs":
        return text
    _, _, tests = text.partition("#[cfg(test)]")
    return tests


def main() -> int:
    """List what no test cites, and fail if there is any."""
    seen: set[str] = set()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".rs", ".py", ".json"}:
                seen |= cited(tests_of(path))
    with (ROOT / "tests/requirements.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    now = [row for row in rows if row["where"] not in LATER]
    missing = [row for row in now if row["id"] not in seen]
    for row in missing:
        print(f"{row['id']}  {row['where']}  {row['wording']}")
    later = len(rows) - len(now)
    print(f"{len(now) - len(missing)} of {len(now)} are cited; {later} are for later")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
