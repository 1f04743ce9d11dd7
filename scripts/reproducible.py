"""Builds artefacts twice, in two folders with target folders of their own, and compares them.

Usage: ``python scripts/reproducible.py sdist server wheel``

Each folder is a copy of the tree as git lists it. The date of both builds is that of the commit
(``SOURCE_DATE_EPOCH``). Of archives that differ, the members that differ are named.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVER = ["cargo", "build", "--locked", "--workspace", "--profile", "dist"]
COMMANDS = {
    "sdist": ["maturin", "sdist", "--out", "dist"],
    "server": [*SERVER, "--bin", "slackwater-api"],
    "wheel": [
        "maturin",
        "build",
        "--locked",
        "--profile",
        "dist",
        "--compression-level",
        "9",
        "--out",
        "dist",
    ],
}
RESULTS = {
    "sdist": "dist/*.tar.gz",
    "server": "target/dist/slackwater-api",
    "wheel": "dist/*.whl",
}


def output(*command: str) -> str:
    """What a command prints, in the folder of the project."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def copy_tree(folder: Path) -> None:
    """Copy the files that git has."""
    for name in filter(None, output("git", "ls-files", "-z").split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)


def build(what: str, folder: Path, epoch: str) -> Path:
    """Build an artefact in a copy of the tree."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    environment["CARGO_TARGET_DIR"] = str(folder / "target")
    subprocess.run(COMMANDS[what], cwd=folder, env=environment, check=True)
    (result,) = folder.glob(RESULTS[what])
    return result


def digest(content: bytes) -> str:
    """Hash of a content."""
    return hashlib.sha256(content).hexdigest()


def members(artefact: Path) -> dict[str, str]:
    """Hashes of the members of an archive, of a file alone by its own name."""
    if zipfile.is_zipfile(artefact):
        with zipfile.ZipFile(artefact) as wheel:
            return {name: digest(wheel.read(name)) for name in wheel.namelist()}
    if tarfile.is_tarfile(artefact):
        with tarfile.open(artefact) as source:
            files = [member for member in source.getmembers() if member.isfile()]
            return {
                member.name: digest(content.read())
                for member in files
                if (content := source.extractfile(member)) is not None
            }
    return {artefact.name: digest(artefact.read_bytes())}


def differences(first: Path, second: Path) -> list[str]:
    """Names of members that differ; empty if both files are the same bytes."""
    if first.read_bytes() == second.read_bytes():
        return []
    one, other = members(first), members(second)
    named = [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]
    return named or ["order, dates or compression of members"]


def main() -> int:
    """Build each artefact twice, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="+", choices=list(COMMANDS))
    given = parser.parse_args()
    epoch = output("git", "log", "-1", "--format=%ct").strip()
    differing = 0
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / "first", Path(name) / "the-second-one"]
        for folder in folders:
            copy_tree(folder)
        for what in given.what:
            first, second = (build(what, folder, epoch) for folder in folders)
            found = differences(first, second)
            differing += bool(found)
            told = f"differs in {', '.join(found)}" if found else digest(first.read_bytes())
            print(f"{what}: {told}", flush=True)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
