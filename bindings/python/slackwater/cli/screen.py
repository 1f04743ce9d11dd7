"""What all commands print alike."""

from __future__ import annotations

import contextlib
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH_OF_FILES = 100
ID_LENGTH_MAX = 24
# Rows of files count from 1, those of tables in Python from 0.
ROW = re.compile(r"^row (\d+): ")
rows_before: ContextVar[int] = ContextVar("rows_before", default=0)
"""Rows of the file before the table that is planned, which may be a piece of it."""


def answers() -> Console:
    """The screen, or a file with a width of its own."""
    return Console(
        highlight=False, markup=False, width=None if sys.stdout.isatty() else WIDTH_OF_FILES
    )


def remarks() -> Console:
    """The place for notes and warnings: stderr, one line each."""
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


@contextlib.contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each warning once, as one line: its place in the source says nothing to a user."""
    told: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        del category, filename, lineno, file, line
        number = rows_before.get() + 1
        text = ROW.sub(lambda row: f"row {number + int(row[1])}: ", " ".join(str(message).split()))
        if text not in told:
            told.add(text)
            remarks().print(Text(f"warning: {text}", style="bold yellow"))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def titled(title: str, *, has_footer: bool = False) -> Table:
    """A table below its title, if it has one."""
    return Table(
        title=title or None,
        title_style="bold",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_footer=has_footer,
    )


def left_out(rows: int, shown: int) -> list[Text]:
    """Say how many rows are not on the screen, if there are any."""
    more = rows - shown
    return [Text(f"… and {more:,} more; --out writes them all", style="dim")] if more > 0 else []


def amount(value: float) -> str:
    """Write money or energy for people."""
    text = f"{value:,.2f}"
    return text.removeprefix("-") if text == "-0.00" else text


def tail(name: object) -> str:
    """The end of a long id, where those of one fleet differ."""
    text = str(name)
    return text if len(text) <= ID_LENGTH_MAX else f"…{text[1 - ID_LENGTH_MAX :]}"


def show_notes(notes: Sequence[str]) -> None:
    """Print the notes of an importer."""
    for note in notes:
        remarks().print(Text(f"note: {note}", style="dim"))
