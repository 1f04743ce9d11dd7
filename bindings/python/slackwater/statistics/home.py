"""Series of a home, on the clock of its place."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from slackwater import _engine
from slackwater.statistics.charging import _sample
from slackwater.statistics.types import HomeSeries, Point, Sample


def home_flow(
    samples: Iterable[Sample | tuple[object, ...]],
    *,
    period: str,
    value: str,
    time_zone: str,
    bucket_minutes: int = 15,
) -> HomeSeries:
    """Sum up a flow of a home on the clock of its place.

    Buckets of an hour or more hold energy, shorter ones the mean power. A day
    has the system's own buckets, a month has days, a year has months. The day
    on which clocks go forward has 92 quarter hours, the other one 100.

    Args:
        samples: Generation, consumption or another flow.
        period: ``day``, ``month`` or ``year``, in small or capital letters.
        value: ``2024-03-31``, ``2024-03`` or ``2024``.
        time_zone: IANA name of the zone of the place.
        bucket_minutes: Length of the system's own buckets, 1 to 1440.

    Returns:
        The series; not available if nothing was measured.

    Raises:
        InputError: An unknown period, zone or length, or a value written
            otherwise.
        TypeError: A time has no zone.
    """
    unit, data, reason = _engine.hem_flow(
        [_sample(given) for given in samples],
        period=period,
        value=value,
        time_zone=time_zone,
        bucket_minutes=bucket_minutes,
    )
    return HomeSeries(unit, [Point(*point) for point in data], reason is None, reason)


def home_battery_level(
    readings: Iterable[tuple[datetime, float]] | None,
    *,
    period: str,
    value: str,
    time_zone: str,
    bucket_minutes: int = 15,
) -> HomeSeries:
    """Tell the state of charge at the start of each bucket of a day.

    Args:
        readings: ``(at, soc_percent)`` in any order; ``None`` if the system
            has no battery.
        period: As in :func:`home_flow`; there is a series for single days only.
        value: As in :func:`home_flow`.
        time_zone: As in :func:`home_flow`.
        bucket_minutes: As in :func:`home_flow`.

    Raises:
        InputError: As :func:`home_flow`, or a percentage outside 0 to 100.
        TypeError: A time has no zone.
    """
    unit, data, reason = _engine.hem_battery_level(
        None if readings is None else list(readings),
        period=period,
        value=value,
        time_zone=time_zone,
        bucket_minutes=bucket_minutes,
    )
    return HomeSeries(unit, [Point(*point) for point in data], reason is None, reason)
