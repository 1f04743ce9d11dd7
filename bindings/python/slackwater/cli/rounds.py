"""What a long planning leaves behind and tells: a file of rounds, and a line of progress."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import BinaryIO, Self

from rich.console import Console
from rich.status import Status

import slackwater as sw
from slackwater._engine import InputError, __version__

POINTS_MAX = 8
PATIENCE_S = 0.5


def fingerprint(files: Iterable[Path], words: Sequence[str]) -> str:
    """What tells one planning from another: its files and its options."""
    digest = sha256(json.dumps([__version__, *words]).encode())
    for file in files:
        digest.update(b"\0")
        with file.open("rb") as data:
            while piece := data.read(1 << 20):
                digest.update(piece)
    return digest.hexdigest()


class Checkpoint:
    """A file with a line for each round that is done.

    A line that was cut off, by a kill for one, is dropped: its round is done again.
    """

    def __init__(self, path: Path, mark: str, *, resume: bool) -> None:
        self._path = path
        self._head = json.dumps({"slackwater_area": mark}) + "\n"
        self._is_resumed = resume
        self._lines = self._read() if resume else []
        self._at = 0
        self._is_recalled = False
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    @property
    def rounds(self) -> int:
        """How many rounds an earlier run left."""
        return len(self._lines)

    def _read(self) -> list[str]:
        if not self._path.exists():
            raise InputError(f"--resume: there is no {self._path}")
        head, *lines = self._path.read_bytes().splitlines(keepends=True) or [b""]
        if head != self._head.encode():
            text = "holds rounds of other files, options or versions"
            raise InputError(f"--resume: {self._path} {text}; leave --resume out")
        return [line.decode() for line in lines if line.endswith(b"\n")]

    def recall(self) -> str | None:
        """Give back the next round."""
        self._is_recalled = self._at < len(self._lines)
        if not self._is_recalled:
            return None
        self._at += 1
        return self._lines[self._at - 1]

    def keep(self, text: str) -> None:
        """Add a round, and be sure that it outlives this process."""
        if self._file is None:
            self._file = self._opened()
        self._file.write(text.encode() + b"\n")
        self._file.flush()

    def _opened(self) -> BinaryIO:
        """The file, with what was of use in it; that is never written again."""
        if not self._is_resumed:
            new = self._path.open("wb")
            new.write(self._head.encode())
            return new
        # What was given back last was of no use if it was asked again.
        self._lines = self._lines[: self._at - self._is_recalled]
        file = self._path.open("r+b")
        file.truncate(len("".join([self._head, *self._lines]).encode()))
        file.seek(0, os.SEEK_END)
        return file

    def remove(self) -> None:
        """The work is done: nothing is left to go on with."""
        if self._file:
            self._file.close()
            self._file = None
        self._path.unlink(missing_ok=True)


def seconds_left(points: Sequence[tuple[float, float]], target: float) -> float | None:
    """When a gap will be small enough, if it goes on to fall as it did.

    Args:
        points: Seconds and gaps, oldest first.
        target: The gap wanted.

    Returns:
        Seconds; ``None`` where nobody can tell.
    """
    known = [(at, math.log(gap)) for at, gap in points if 0 < gap < math.inf][-POINTS_MAX:]
    if len(known) < 3 or target <= 0 or points[-1][1] == math.inf:
        return None
    middle = sum(at for at, _ in known) / len(known)
    mean = sum(gap for _, gap in known) / len(known)
    spread = sum((at - middle) ** 2 for at, _ in known)
    slope = sum((at - middle) * (gap - mean) for at, gap in known) / spread if spread else 0.0
    if slope >= 0:
        return None
    return max((math.log(target) - known[-1][1]) / slope, 0.0)


class RoundProgress:
    """A line that says where the rounds are: on a terminal in place, else one a round."""

    def __init__(self, target: float, *, shown: bool | None) -> None:
        self._target = target
        self._is_terminal = sys.stderr.isatty()
        self._is_shown = self._is_terminal if shown is None else shown
        self._began = perf_counter()
        self._round = 0
        self._points: list[tuple[float, float]] = []
        self._status: Status | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def __call__(self, at: sw.AreaProgress) -> bool:
        """Show a round; never asks to stop."""
        now = perf_counter() - self._began
        if at.rounds <= self._round:
            # Another search has begun: on all vehicles, or for a shortage.
            self._points.clear()
        self._round = at.rounds
        self._points.append((now, at.relative_gap))
        if not self._is_shown:
            return False
        text = self.line(at)
        if not self._is_terminal:
            sys.stderr.write(text + "\n")
        elif self._status:
            self._status.update(text)
        elif now > PATIENCE_S:
            self._status = Console(stderr=True, highlight=False).status(text)
            self._status.start()
        return False

    def line(self, at: sw.AreaProgress) -> str:
        """Round, gap, and time left."""
        gap = "none yet" if math.isinf(at.relative_gap) else f"{at.relative_gap:.1e}"
        left = seconds_left(self._points, self._target)
        time = "" if left is None else f", some {left:,.0f} s left"
        return f"round {at.rounds}: gap {gap}, to be {self._target:.0e}{time}"
