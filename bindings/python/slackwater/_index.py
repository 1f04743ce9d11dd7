"""Numbers that carry times of their own, such as a series of pandas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from numbers import Real
from typing import Any

from slackwater import _engine

POWER_WAY = "Series.from_series(x, unit='kW') keeps these times"


class Indexed(list[Any]):
    """Converted numbers, with the index of the series that they come from.

    Attributes:
        times: The index, an entry for each number.
    """

    __slots__ = ("times",)

    def __init__(self, values: Iterable[Any], times: Iterable[Any]) -> None:
        super().__init__(values)
        self.times = times


def index_of(values: object) -> Iterable[Any] | None:
    """The index of a series; ``None`` of numbers without one."""
    if isinstance(values, Indexed):
        return values.times
    index = getattr(values, "index", None)
    return None if callable(index) else index  # The `index` of a list is a method.


def refuse_other_times(
    name: str, values: object, starts: Sequence[datetime], *, each: str = "slot"
) -> None:
    """Refuse values whose index of times is not that of the slots they are for.

    Values are taken by position. A series that begins ten hours later would
    be planned ten hours too early without a word.

    Args:
        name: Name of the argument, for the message.
        values: Numbers; those without an index, or with one that counts them,
            are left alone.
        starts: Start of each slot.
        each: Noun for one of these, such as a reading.

    Raises:
        InputError: The index has another time, or more or fewer of them, or it
            holds neither times nor numbers.
    """
    index = index_of(values)
    if index is None:
        return
    # A period of pandas is its start.
    times = [getattr(time, "start_time", time) for time in index]
    if all(isinstance(time, Real) for time in times):
        return
    for position, (given, start) in enumerate(zip(times, starts, strict=False)):
        if _in_utc(given) != start:
            place = f"{name}: index[{position}] is"
            own = f"{each} {position} starts {start}"
            way = _way(name) if getattr(given, "tzinfo", None) is not None else ""
            raise _engine.InputError(f"{place} {_difference(given, own)}{way}")
    if len(times) != len(starts):
        message = f"{name}: the index has {len(times)} times for {len(starts)} {each}s"
        raise _engine.InputError(message + _way(name))


def _in_utc(at: object) -> object:
    """An aware time in UTC: one that clocks show twice is equal to no time of another zone."""
    return at.astimezone(UTC) if isinstance(at, datetime) and at.tzinfo is not None else at


def _way(name: str) -> str:
    """Where powers may have times of their own, say how."""
    return f"; {POWER_WAY}" if name.endswith("_kw") else ""


def _difference(given: object, own: str) -> str:
    """Describe an entry of an index, and why it is not the start that ``own`` tells."""
    if not isinstance(given, datetime):
        shown = repr(given) if isinstance(given, str) else f"a {type(given).__name__}"
        way = "series.to_numpy() leaves the index out"
        return f"{shown}, which is no datetime with a time zone; {way}"
    if given.tzinfo is None:
        way = "series.tz_localize('Europe/Berlin') says whose clocks it shows"
        return f"{given}, which has no time zone; {way}"
    return f"{given}, where {own}"
