"""Rows: the named tuples that users hand over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from slackwater.prices import Prices

if TYPE_CHECKING:
    from slackwater import _engine
    from slackwater.plan import Battery

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
    _check(given, Mapping, name, "a mapping")
    return given


def native_prices(given: Prices, name: str) -> _engine.Prices:
    """Take prices as the engine has them.

    Raises:
        TypeError: They are something else.
    """
    _check(given, Prices, name, "Prices")
    return given._native


def _check(given: object, kind: type[object], name: str, what: str) -> None:
    """Refuse what is of another kind, by the name of its argument."""
    if not isinstance(given, kind):
        raise TypeError(f"{name} has to be {what}, not a {type(given).__name__}")


def native_battery(battery: Battery) -> tuple[float, float | None, float | None, float, float]:
    """The numbers of a battery in the order of the native part. It may be a plain tuple."""
    capacity_kwh, soc_percent, charge_limit_percent, efficiency, soc_fallback_percent = battery
    return capacity_kwh, soc_percent, soc_fallback_percent, charge_limit_percent, efficiency
