"""Price signals: what a retailer pushes for an area, and what it replaces."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from slackwater import _engine, _public
from slackwater._record import Record
from slackwater._row import native_prices, row
from slackwater.prices import Prices


class _SignalValueFields(NamedTuple):
    at: datetime
    price_per_kwh: float


class SignalValue(_SignalValueFields, Record):
    """One step: the price holds from ``at`` until the next value.

    Attributes:
        at: First instant, aware.
        price_per_kwh: Price per kWh; may be negative.
    """

    __slots__ = ()


class _PriceSignalFields(NamedTuple):
    currency: str
    to: datetime
    values: Sequence[SignalValue]


class PriceSignal(_PriceSignalFields, Record):
    """Prices for one window, from the first value until ``to``.

    Attributes:
        currency: ISO 4217 code.
        to: First instant after the window, aware.
        values: The steps, oldest first; at least one.
    """

    __slots__ = ()


class _ZoneFields(NamedTuple):
    currency: str
    is_activated: bool = True


class Zone(_ZoneFields, Record):
    """A market zone as an operator configures it.

    Attributes:
        currency: ISO 4217 code of its prices.
        is_activated: Whether price signals are taken for it.
    """

    __slots__ = ()


def check(signal: PriceSignal, *, zone: Zone | None = None) -> None:
    """Refuse a price signal that is invalid, or that its zone does not accept.

    Args:
        signal: The signal.
        zone: The zone it is for; without one only the signal is looked at.

    Raises:
        InputError: The currency is no ISO 4217 code or not the zone's; the zone
            is not activated; there is no value; a value is not after the one
            before it; the window is empty or a value lies outside; a price is
            NaN or infinite.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
        >>> late = PriceSignal("EUR", noon, [SignalValue(noon, 0.2)])
        >>> check(late)
        Traceback (most recent call last):
        slackwater.InputError: to is 2026-01-05 12:00:00 UTC, \
not after the first value at 2026-01-05 12:00:00 UTC
    """
    _engine.check_signal(_native(signal), zone)


def replace(before: Prices | None, signal: PriceSignal) -> Prices:
    """Tell the prices of an area after a price signal.

    In the window they are the signal's, outside they are what they were. At
    the end of the window the step function of before resumes, also in the
    middle of a step. Neighbours of one price are merged, so the same signal
    twice gives an equal curve. ``before`` itself is left as it is.

    Args:
        before: Prices of the area so far; ``None`` if it has none.
        signal: The signal.

    Raises:
        InputError: As :func:`check`, or ``before`` is in another currency.
        TypeError: A time has no zone.

    Example:
        0.10 all morning; then 0.50 from two to four. At four it is 0.10 again.

        >>> from datetime import UTC, datetime
        >>> at = lambda hour: datetime(2026, 1, 5, hour, tzinfo=UTC)
        >>> prices = replace(None, PriceSignal("EUR", at(12), [SignalValue(at(0), 0.1)]))
        >>> prices = replace(prices, PriceSignal("EUR", at(4), [SignalValue(at(2), 0.5)]))
        >>> [(start.hour, end.hour, price) for start, end, price in prices.slots]
        [(0, 2, 0.1), (2, 4, 0.5), (4, 12, 0.1)]
    """
    native = None if before is None else native_prices(before, "before")
    return Prices._wrap(_engine.replace_signal(native, _native(signal)))


def _native(signal: PriceSignal) -> PriceSignal:
    signal = row(PriceSignal, signal)
    return signal._replace(values=[row(SignalValue, value) for value in signal.values])


_public.guard(__name__)
