"""Numbers that carry times of their own, such as a series of pandas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import cast

from slackwater import _engine


def index_of(values: object) -> object | None:
    """Look up the index of values; ``None`` for those without one."""
    index = getattr(values, "index", None)
    return None if callable(index) else index  # The `index` of a list is a method.


def refuse_other_times(name: str, values: object, starts: Sequence[datetime]) -> None:
    """Refuse values whose index of times is not that of the slots they are for.

    Values are taken by position. A series that begins ten hours later would
    be planned ten hours too early without a word.

    Args:
        name: Name of the argument, for the message.
        values: Numbers; those without an index of times are left alone.
        starts: Start of each slot.

    Raises:
        InputError: The index has another time, or more or fewer of them.
    """
    index = index_of(values)
    if index is None:
        return
    times = list(cast("Iterable[object]", index))
    if not any(isinstance(time, datetime) for time in times):
        return
    for position, (given, start) in enumerate(zip(times, starts, strict=False)):
        if given != start:
            message = f"{name}: index[{position}] is {given}, where slot {position} starts {start}"
            raise _engine.InputError(message)
    if len(times) != len(starts):
        message = f"{name}: the index has {len(times)} times for {len(starts)} slots"
        raise _engine.InputError(message)
