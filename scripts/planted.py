"""Plants defects into a copy of the tree, one at a time, and runs the test that must notice each.

The list is ``tests/planted.toml``. Each test first has to pass without the defect. A defect counts
as found if its test then ran and failed; one whose tree does not compile is not found.

Usage: ``python scripts/planted.py FOLDER [--only WORD ...]``. ``FOLDER`` gets the copy, and keeps
it for the next run, which compiles less.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests/planted.toml"
EXTENSION = "bindings/python/slackwater/_engine.abi3.so"
NEXTEST_FAILED = 100
"""Exit code of nextest if a test failed; that of a failed build is another."""
PYTEST_FAILED = 1


class Defect(TypedDict, total=False):
    """An entry of the list."""

    area: str
    file: str
    find: str
    replace: str
    package: str
    target: str
    python: str
    test: str


class ListError(ValueError):
    """An entry that does not fit the tree."""


def planted(text: str, defect: Defect) -> str:
    """The text of the file with the defect.

    Raises:
        ListError: The place is not there once, or nothing changes.
    """
    count = text.count(defect["find"])
    if count != 1 or defect["find"] == defect["replace"]:
        raise ListError(f"{defect['file']} has {count} times {defect['find']!r}")
    return text.replace(defect["find"], defect["replace"])


def read_list() -> list[Defect]:
    """The entries, each of which fits the tree."""
    entries: list[Defect] = tomllib.loads(LIST.read_text(encoding="utf-8"))["defect"]
    for defect in entries:
        planted((ROOT / defect["file"]).read_text(encoding="utf-8"), defect)
    return entries


def command(defect: Defect) -> list[str]:
    """The command that runs the test of a defect."""
    if "python" in defect:
        path = f"tests/python/{defect['python']}"
        return [sys.executable, "-m", "pytest", "-q", "-x", path, "-k", defect["test"]]
    target = ["--lib"] if defect["target"] == "lib" else ["--test", defect["target"]]
    which = ["-E", f"test({defect['test']})"]
    return ["cargo", "nextest", "run", "--locked", "-p", defect["package"], *target, *which]


def run(defect: Defect, copy: Path) -> tuple[int, str]:
    """Exit code and output of the test of a defect."""
    # The file of the tree: with that of the copy, cargo would compile HiGHS anew, here and in the
    # next build of the tree. What the caller has set comes first, as with cargo.
    shared = {"CMAKE_TOOLCHAIN_FILE": str(ROOT / ".cargo/highs.cmake")}
    ran = subprocess.run(
        command(defect),
        cwd=copy,
        env={**shared, **os.environ, "PYTHONPATH": str(copy / "bindings/python")},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


def refresh(copy: Path) -> None:
    """Bring the copy to the state of the tree. Files that are equal keep their time."""
    git = shutil.which("git") or "git"
    listed = subprocess.run(
        [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, [*listed.stdout.split("\0"), EXTENSION]):
        source, target = ROOT / name, copy / name
        if not source.is_file():
            continue
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            # With the time of now, so that what is newer than its result is compiled.
            shutil.copy(source, target)


def find(defect: Defect, copy: Path) -> tuple[bool, str]:
    """Whether the test of a defect notices it, and what was seen."""
    failed = PYTEST_FAILED if "python" in defect else NEXTEST_FAILED
    code, output = run(defect, copy)
    if code != 0:
        return False, f"its test fails without it ({code})\n{output[-2000:]}"
    file = copy / defect["file"]
    before = file.read_text(encoding="utf-8")
    file.write_text(planted(before, defect), encoding="utf-8")
    try:
        code, output = run(defect, copy)
    finally:
        file.write_text(before, encoding="utf-8")
    if code == failed:
        return True, "found"
    return False, f"NOT found: exit code {code}\n{output[-2000:]}"


def main() -> None:
    """Try all, or those that were asked for, and exit with 1 if one was not found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the copy")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="areas with one of these words")
    given = parser.parse_args()
    wanted = [
        defect
        for defect in read_list()
        if given.only is None or any(word in defect["area"] for word in given.only)
    ]
    refresh(given.folder)
    missed = 0
    for defect in wanted:
        begun = time.monotonic()
        is_found, seen = find(defect, given.folder)
        missed += not is_found
        took = time.monotonic() - begun
        print(f"{defect['area']}: {seen} ({defect['test']}, {took:.0f} s)", flush=True)
    print(f"{len(wanted) - missed} of {len(wanted)} planted defects found")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
