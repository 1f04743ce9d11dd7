"""A power over time, in any of its forms, as periods."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from slackwater import _engine
from slackwater._conversion import warn_of_largest
from slackwater._index import refuse_other_times
from slackwater.series import Series, periods_in

if TYPE_CHECKING:
    from slackwater.prices import Prices
    from slackwater.site_devices import PowerOverTime
    from slackwater.typing import ArrowTable


def power_periods(
    name: str, power: PowerOverTime | ArrowTable | None, prices: Prices
) -> list[tuple[datetime, datetime, float]] | None:
    """Turn a power into periods with their kW, and warn of one that looks like W.

    Args:
        name: Name of the argument, for the messages.
        power: A number, one for each slot of ``prices``, periods, a series in kW, or a table
            with the columns ``start``, ``end`` and ``power_kw``; ``None`` is none.
        prices: Prices whose slots count.

    Raises:
        InputError: There are not as many numbers as slots, or a series is in another unit.
        TypeError: ``power`` is none of these.
    """
    periods = _periods(name, power, prices)
    # The temperature of the air outside has the same forms.
    if periods and not name.endswith("_celsius"):
        place = name if name.endswith("_kw") else f"{name}.power_kw"
        warn_of_largest(place, [period[-1] for period in periods])
    return periods


def _periods(
    name: str, power: PowerOverTime | ArrowTable | None, prices: Prices
) -> list[tuple[datetime, datetime, float]] | None:
    if power is None:
        return None
    if isinstance(power, Series):
        return periods_in(power, "kW", name)
    slots = prices.slots
    if isinstance(power, int | float):
        return [(start, end, float(power)) for start, end, _ in slots]
    if hasattr(power, "__arrow_c_stream__") and not hasattr(power, "index"):
        # A step function with gaps, as prices are.
        return _engine.Prices.from_arrow(
            power, currency="kW", start="start", end="end", price="power_kw"
        ).slots
    if not isinstance(power, Iterable):
        message = f"{name} is a {type(power).__name__}; give a number, numbers, periods or a table"
        raise TypeError(message)
    refuse_other_times(name, power, [start for start, _, _ in slots])
    values: list[object] = list(power)
    if values and isinstance(values[0], tuple):
        return values  # type: ignore[return-value]  # the native part checks each period
    if len(values) != len(slots):
        message = f"{name} has {len(values)} numbers for {len(slots)} slots; give one for each"
        raise _engine.InputError(message)
    pairs = zip(slots, values, strict=True)
    return [(start, end, float(value)) for (start, end, _), value in pairs]  # type: ignore[arg-type]  # what float refuses
