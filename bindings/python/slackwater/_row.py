"""Rows: the named tuples that users hand over."""

from __future__ import annotations

from typing import TypeVar

Row = TypeVar("Row", bound=tuple[object, ...])


def row(kind: type[Row], given: object) -> Row:
    """Take a named tuple, or a plain tuple or list of its members, as JSON has them.

    Raises:
        TypeError: It is something else, or has too few or too many members.

    Example:
        >>> from slackwater.schedule import Rule
        >>> row(Rule, [True, ["22:00", "06:00"]]).hour_minute
        ['22:00', '06:00']
        >>> row(Rule, {"should_charge": True})
        Traceback (most recent call last):
            ...
        TypeError: expected a Rule, not a dict
    """
    if isinstance(given, kind):
        return given
    if isinstance(given, tuple | list):
        return kind(*given)
    raise TypeError(f"expected a {kind.__name__}, not a {type(given).__name__}")
