"""Clocks as Python's ``zoneinfo`` has them, on tables of the engine's edition.

The tables are those of the package ``tzdata``, whatever the machine brings.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from importlib import resources
from typing import NamedTuple
from zoneinfo import ZoneInfo

TABLES = resources.files("tzdata") / "zoneinfo"
FIRST, LAST = datetime(2020, 1, 1, tzinfo=UTC), datetime(2036, 1, 1, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class Clocks(NamedTuple):
    """One of all zones that change their clocks alike from 2020 to 2035."""

    name: str
    zone: ZoneInfo
    changes: tuple[datetime, ...]

    def local(self, at: datetime) -> datetime:
        """Tell what the clocks show."""
        return at.astimezone(self.zone)

    def offset(self, at: datetime) -> timedelta:
        """Tell how far the clocks are ahead of UTC."""
        return offset_of(at, self.zone)

    def instant(self, day: date, clock: time) -> datetime:
        """Find the first occurrence of a time; a skipped one takes the offset before."""
        return datetime.combine(day, clock, self.zone).astimezone(UTC)


def edition() -> str:
    """Tell the edition of the tables, such as ``2025b``."""
    first = (TABLES / "tzdata.zi").read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# version ")


def names() -> list[str]:
    """List all zones of the tables."""
    listed = (resources.files("tzdata") / "zones").read_text(encoding="utf-8")
    return sorted(set(listed.split()) - {"Factory", "localtime"})


def zone_of(name: str) -> ZoneInfo:
    """Read a zone from the tables, past the machine's own and past any cache."""
    with (TABLES / name).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def offset_of(at: datetime, zone: ZoneInfo) -> timedelta:
    """Tell how far clocks are ahead of UTC."""
    return at.astimezone(zone).replace(tzinfo=UTC) - at


def changes_of(zone: ZoneInfo) -> list[tuple[datetime, timedelta]]:
    """Find the clock changes with the offsets behind them; no two lie within two days."""
    found = []
    at, offset = FIRST, offset_of(FIRST, zone)
    while at < LAST:
        following = min(at + 2 * DAY, LAST)
        behind = offset_of(following, zone)
        if behind != offset:
            low, high = at, following
            while high - low > timedelta(seconds=1):
                middle = low + (high - low) // 2
                if offset_of(middle, zone) == offset:
                    low = middle
                else:
                    high = middle
            found.append((high.replace(microsecond=0), behind))
        at, offset = following, behind
    return found


@cache
def distinct_clocks() -> list[Clocks]:
    """List one zone for each distinct set of clock changes."""
    files = {(TABLES / name).read_bytes(): name for name in reversed(names())}
    seen: dict[object, Clocks] = {}
    for name in sorted(files.values()):
        zone = zone_of(name)
        changes = changes_of(zone)
        key = (offset_of(FIRST, zone), tuple(changes))
        seen.setdefault(key, Clocks(name, zone, tuple(at for at, _ in changes)))
    return list(seen.values())
