"""Contents that the files of a database may have after a failure of the machine.

A write is on disk for sure once a sync of its file that began after it has ended. Before that the
disk may have all of it, nothing, or some of its sectors, in any order among the writes of the file.
"""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from crash_trace import Call

SYNCS = ("fdatasync", "fsync")
SECTOR = 512
"""Bytes that a disk writes whole or not at all."""

Files = dict[str, bytes]
"""Contents of files by the ends of their names."""


@dataclass(frozen=True)
class Disk:
    """Files as they were, and what was done to them since.

    Attributes:
        before: Contents at the begin.
        calls: Calls about these files, in the order in which they began.
    """

    before: Files
    calls: list[Call]

    @staticmethod
    def of(database: Path, before: Files, calls: Iterable[Call]) -> "Disk":
        """A disk with a database and its log."""
        names = {f"{database}{ending}": ending for ending in before}
        return Disk(before, [call for call in calls if call.path in names])

    def ending(self, path: str) -> str:
        """The end of a file's name: nothing for the database, `-wal` for its log."""
        return next(end for end in sorted(self.before, reverse=True) if path.endswith(end))

    def contents(self, at: float, rng: random.Random | None) -> Files:
        """Contents after a failure at an instant.

        Args:
            at: The instant.
            rng: Chooses what happened to writes that no sync covers; without it none is there.
        """
        files = dict(self.before)
        by_file = sorted(self.calls, key=lambda call: self.ending(call.path))
        for ending, group in groupby(by_file, lambda call: self.ending(call.path)):
            calls = list(group)
            syncs = [c.began for c in calls if c.name in SYNCS and c.ended <= at]
            synced = max(syncs, default=0.0)
            content = bytearray(files[ending])
            for call in calls:
                if call.name not in SYNCS and call.began <= at:
                    apply(call, content, None if call.ended <= synced else (rng,))
            files[ending] = bytes(content)
        return files


def apply(call: Call, content: bytearray, doubt: tuple[random.Random | None] | None) -> None:
    """Do a call to the content of its file; in doubt all of it, nothing, or some sectors."""
    if doubt is not None:
        (rng,) = doubt
        fate = "none" if rng is None else rng.choice(["all", "none", "some"])
        if fate == "none":
            return
        if fate == "some" and rng is not None and call.name == "pwrite64":
            put_sectors(call, content, rng)
            return
    if call.name == "pwrite64":
        put(content, call.numbers[-1], call.data)
    else:
        del content[call.numbers[-1] if call.name == "ftruncate" else 0 :]


def put(content: bytearray, offset: int, data: bytes) -> None:
    """Write data; a gap before them is filled with zeros."""
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


def put_sectors(call: Call, content: bytearray, rng: random.Random) -> None:
    """Write some of the sectors of a write."""
    offset, start = call.numbers[-1], 0
    while start < len(call.data):
        end = min(len(call.data), start + SECTOR - (offset + start) % SECTOR)
        if rng.random() < 0.5:
            put(content, offset + start, call.data[start:end])
        start = end


def place(database: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a database. An empty log is none."""
    for ending in ("-wal", "-shm"):
        database.with_name(database.name + ending).unlink(missing_ok=True)
    for ending, content in files.items():
        if content:
            database.with_name(database.name + ending).write_bytes(content)
