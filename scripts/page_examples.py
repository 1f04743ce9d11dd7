"""Examples in pages of Markdown: run from top to bottom, and compared with what the page shows.

Usage: ``python scripts/page_examples.py docs/start.md`` runs the Python examples that need nothing
beside the package. It needs no other package itself: the check of wheels runs it, too.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)(?P<marks>[^\n]*)\n(?P<code>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)


class PageError(Exception):
    """An example that fails, or that prints something else than its page shows."""


@dataclass(frozen=True)
class Block:
    """Fenced block of a page.

    Attributes:
        language: First word after the fence.
        marks: The other words, such as ``needs=plot``.
        code: Text between the fences.
        line: Line of the page on which the code begins.
    """

    language: str
    marks: str
    code: str
    line: int


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a page, in order."""
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("code")) + 1
        found.append(Block(match["language"], match["marks"].strip(), match["code"], line))
    return found


def agrees(shown: str, printed: str) -> bool:
    """Whether a shown line stands for a printed one; ``...`` stands for any text."""
    parts = [re.escape(" ".join(part.split())) for part in shown.split("...")]
    return re.fullmatch(r"\s*.*\s*".join(parts), " ".join(printed.split())) is not None


def compare(shown: list[str], printed: list[str], place: str) -> None:
    """Compare all lines that were printed with those that the page shows.

    Raises:
        PageError: They differ.
    """
    if len(shown) != len(printed) or not all(map(agrees, shown, printed)):
        raise PageError(f"{place} shows {shown}, but prints {printed}")


def comment_after(lines: list[str], end: int) -> list[str]:
    """Lines of the comment that follows a statement without a blank line."""
    found = []
    for line in lines[end:]:
        if not line.startswith("#"):
            break
        found.append(line.removeprefix("#").removeprefix(" "))
    return found


def run_python(block: Block, names: dict[str, Any], page: str) -> Iterator[tuple[int, list[str]]]:
    """Run a block by statements; yields the last line of each that prints, and its output.

    A comment below a statement that prints is its output.
    """
    lines = block.code.splitlines()
    for statement in ast.parse(block.code).body:
        end = statement.end_lineno or statement.lineno
        code = ast.Module([statement], [])
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, f"{page}:{block.line}", "exec"), names)  # noqa: S102  our own page
        printed = output.getvalue().splitlines()
        if printed:
            compare(comment_after(lines, end), printed, f"{page}:{block.line + end - 1}")
            yield end, printed


SHELL = """\
pip() { :; }
make() { :; }
if [ -f .exports ]; then . ./.exports; fi
set -eu -o pipefail -a
"""


def run_shell(block: Block, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Run a block of commands; variables stay for the next block. Returns the lines printed.

    Commands that install or build are left out.
    """
    script = f"{SHELL}{block.code}\nexport -p > .exports\ndeclare -f >> .exports\n"
    done = subprocess.run(
        ["bash", "-c", script],  # noqa: S607  the bash of the machine
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise PageError(f"line {block.line}: {done.stderr}{done.stdout}")
    return done.stdout.splitlines()


def run_page(path: Path, folder: Path, environment: Mapping[str, str]) -> int:
    """Run all examples of a page in a folder, and count them.

    A block of ``text`` right after one of ``sh`` is what the commands print.
    """
    names: dict[str, Any] = {}
    found = blocks(path.read_text(encoding="utf-8"))
    count = 0
    for block, after in zip(found, [*found[1:], None], strict=True):
        if block.marks in {"not-run", "server"}:
            continue
        if block.language == "python":
            count += 1
            list(run_python(block, names, path.name))
        elif block.language == "sh":
            count += 1
            printed = run_shell(block, folder, environment)
            if after is not None and after.language == "text":
                compare(after.code.splitlines(), printed, f"{path.name}:{block.line}")
    return count


def run_bare_python(path: Path) -> int:
    """Run the Python examples of a page that need only the package, and count them."""
    names: dict[str, Any] = {}
    found = [
        block
        for block in blocks(path.read_text(encoding="utf-8"))
        if block.language == "python" and not block.marks
    ]
    for block in found:
        list(run_python(block, names, path.name))
    return len(found)


def main() -> int:
    """Run the examples of the page on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    try:
        count = run_bare_python(parser.parse_args().page)
    except PageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{count} examples")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
