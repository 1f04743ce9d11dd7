"""Rows: the named tuples that users hand over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from slackwater.prices import Prices

if TYPE_CHECKING:
    from slackwater import _engine

Row = TypeVar("Row", bound=tuple[object, ...])
Key = TypeVar("Key")
Value = TypeVar("Value")


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


def entries(given: Mapping[Key, Value], name: str) -> Mapping[Key, Value]:
    """Take a mapping.

    Raises:
        TypeError: It is none.
    """
    anything: object = given
    if not isinstance(anything, Mapping):
        raise TypeError(f"{name} has to be a mapping, not a {type(anything).__name__}")
    return given


def native_prices(given: Prices, name: str) -> _engine.Prices:
    """Take prices as the engine has them.

    Raises:
        TypeError: They are something else.
    """
    anything: object = given
    if not isinstance(anything, Prices):
        raise TypeError(f"{name} has to be Prices, not a {type(anything).__name__}")
    return given._native
