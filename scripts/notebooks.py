"""Notebooks: run, compared with their committed outputs, and written with new ones.

Usage: ``python scripts/notebooks.py --write notebooks/01-first-plan.ipynb``, or all without names.

Outputs are committed, so that GitHub and the documentation show them. A fresh run has to give the
same texts, with numbers to six digits and without times of computing, and the same kinds of
pictures.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
TIMEOUT_SECONDS = 300
DIGITS = 6

PICTURES = ("image/png", "image/svg+xml")
# Kinds of output that are compared as text.
TEXTS = ("text/plain", "text/html")

Notebook = Any
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?")
# Times of computing: they depend on the machine.
DURATION = re.compile(r"\d[\d,]*(?:\.\d+)?(?= (?:ms|s)\b)")
# Addresses of objects, and names that a library draws by lot.
ADDRESS = re.compile(r"0x[0-9a-f]+|id=\"[^\"]*\"")


def notebooks() -> list[Path]:
    """All notebooks, in the order in which they are read."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Notebook:
    """A notebook as it is committed."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def run(notebook: Notebook) -> Notebook:
    """A copy of a notebook that was run from top to bottom."""
    fresh = nbformat.from_dict(notebook)  # type: ignore[no-untyped-call]
    resources = {"metadata": {"path": str(FOLDER)}}
    NotebookClient(
        fresh,
        timeout=TIMEOUT_SECONDS,
        resources=resources,
        record_timing=False,
        # A stream comes in as many pieces as the kernel happened to send.
        coalesce_streams=True,
    ).execute()
    return fresh


def rounded(text: str) -> str:
    """Text without what changes from run to run: durations, addresses, last digits."""

    def round_number(match: re.Match[str]) -> str:
        number = float(match[0].replace(",", ""))
        return f"{number:.{DIGITS}g}"

    masked = ADDRESS.sub("…", DURATION.sub("…", text))
    return NUMBER.sub(round_number, masked)


def content(cell: Notebook) -> list[str]:
    """Outputs of a cell in a form that does not depend on the machine."""
    found = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            found.append(f"{output.name}: {rounded(output.text)}")
        data = output.get("data", {})
        found += [f"{kind}: {rounded(data[kind])}" for kind in TEXTS if kind in data]
        found += [kind for kind in PICTURES if kind in data]
    return found


def differences(committed: Notebook, fresh: Notebook) -> list[str]:
    """Cells whose outputs differ, with both outputs."""
    found = []
    for before, after in zip(committed.cells, fresh.cells, strict=True):
        if content(before) != content(after):
            shown = ["--- committed", *content(before), "--- now", *content(after)]
            found.append("\n".join([after.source, *shown]))
    return found


def write(path: Path) -> None:
    """Run a notebook and write it with its outputs."""
    fresh = run(read(path))
    for cell in fresh.cells:
        cell.metadata = {}
    fresh.metadata = {"kernelspec": fresh.metadata["kernelspec"]}
    nbformat.write(fresh, path)  # type: ignore[no-untyped-call]


def main() -> int:
    """Write the notebooks of the command line, or tell in which cells they differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write new outputs")
    parser.add_argument("notebooks", nargs="*", type=Path)
    arguments = parser.parse_args()
    failed = False
    for path in arguments.notebooks or notebooks():
        if arguments.write:
            write(path)
            print(f"{path.name}: written")
            continue
        committed = read(path)
        found = differences(committed, run(committed))
        failed = failed or bool(found)
        print(f"{path.name}: {len(found)} cells differ", *found, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
