"""JSON as its publishers write it."""

import json
from typing import Any, TypeAlias

from slackwater._engine import InputError
from slackwater.io._text import ClockTime, parse_clock_time

Json: TypeAlias = Any


def load_json(path: str, text: str) -> Json:
    """The value of a JSON text. `path` is for messages."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        message = f"{path}, line {error.lineno}: this is no JSON: {error.msg}"
        raise InputError(message) from error
    except RecursionError as error:
        raise InputError(f"{path}: lists or objects are nested too deep to be read") from error
    except ValueError as error:  # Python reads whole numbers of 4,300 digits at most.
        raise InputError(f"{path}: a number cannot be read: {error}") from error


def aware_time(path: str, number: int, key: str, value: Json) -> ClockTime:
    """A time with an offset from an entry of a list.

    Raises:
        InputError: It is no time, or names no offset.
    """
    found = parse_clock_time(value) if isinstance(value, str) else None
    if found is None:
        raise InputError(f"{path}, row {number}: {key} is {value!r}, no time")
    if found.time.tzinfo is None:
        raise InputError(f"{path}, row {number}: {key} is {value!r}, a time without an offset")
    return found


def number_of(value: Json) -> float | None:
    """A number of JSON; ``None`` if it is something else or too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
