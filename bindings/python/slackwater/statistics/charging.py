"""Series and sessions of a handful of samples."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import TypeAlias

from slackwater import _engine
from slackwater.statistics.types import Item, NonSmart, Sample, SessionItem, Spread, Totals

_Spread: TypeAlias = tuple[float, float, float]
_Native: TypeAlias = tuple[_Spread, float, float, float, _Spread | None, str]
_NativeNonSmart: TypeAlias = tuple[float, _Spread | None, str, str]


def series(
    samples: Iterable[Sample | tuple[object, ...]],
    *,
    resolution: str,
    utc_offset_hours: float | None = None,
    time_zone: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    now: datetime | None = None,
) -> list[Item]:
    """Sum up samples by bucket, in time order.

    A sample that crosses an edge is split in proportion to time. A bucket
    without a sample is left out. Production is summed up the same way: its
    cost is what it earns.

    Args:
        samples: In any order; two may overlap, as two devices do.
        resolution: One of :data:`RESOLUTIONS`, in small or capital letters.
        utc_offset_hours: Fixed offset of the buckets, -14 to 14, rounded to
            whole minutes; 0 by default. It knows no daylight saving.
        time_zone: IANA name of the zone whose clocks the buckets follow, in
            place of an offset. A day of it has 23, 24 or 25 hours, and the
            hour that clocks show twice is two buckets.
        start: First instant that counts.
        end: First instant that does not; ``now`` if that is given.
        now: The present. If given, what is older than four years is left out.

    Returns:
        One item for each bucket with a sample. Its ``date`` is the start of
        the bucket: with an offset what a clock at that offset shows, written
        as UTC; with a time zone the instant itself, in UTC.

    Raises:
        InputError: An unknown resolution, an offset beyond 14 hours, an
            unknown time zone, both of these, a sample without length, a
            number that is no quantity, a start after the end.
        TypeError: A time has no zone.

    Example:
        8 kW from 23:30 to 00:30 at 0.25 is 4 kWh for 1.00 on either day:

        >>> from datetime import UTC, datetime, timedelta
        >>> late = datetime(2024, 1, 1, 23, 30, tzinfo=UTC)
        >>> night = Sample(late, late + timedelta(hours=1), power_kw=8.0, price_per_kwh=0.25)
        >>> [
        ...     (i.date.day, i.totals.energy_kwh, str(i.totals.cost.normalize()))
        ...     for i in series([night], resolution="day")
        ... ]
        [(1, 4.0, '1'), (2, 4.0, '1')]

        In Oslo that is one day, which began at 23:00 in UTC:

        >>> [
        ...     (str(i.date), i.totals.energy_kwh)
        ...     for i in series([night], resolution="day", time_zone="Europe/Oslo")
        ... ]
        [('2024-01-01 23:00:00+00:00', 8.0)]
    """
    items = _engine.statistics_series(
        [_sample(given) for given in samples],
        resolution=resolution,
        utc_offset_hours=utc_offset_hours,
        time_zone=time_zone,
        start=start,
        end=end,
        now=now,
    )
    return [Item(date, _totals(totals, instead)) for date, totals, instead in items]


def session(samples: Iterable[Sample | tuple[object, ...]]) -> SessionItem | None:
    """Sum up one charging session; ``None`` if nothing was measured.

    Pauses count for nothing: means are over the time with a measurement.

    Args:
        samples: Of one session, in any order.

    Raises:
        InputError: A sample without length, or a number that is no quantity.
        TypeError: A time has no zone.
    """
    item = _engine.statistics_session([_sample(given) for given in samples])
    if item is None:
        return None
    start, end, totals, instead = item
    return SessionItem(start, end, _totals(totals, instead))


def bucket_label(
    at: datetime,
    *,
    resolution: str,
    utc_offset_hours: float | None = None,
    time_zone: str | None = None,
) -> datetime:
    """Tell the label of the bucket that holds an instant.

    Args:
        at: The instant, aware.
        resolution: One of :data:`RESOLUTIONS`.
        utc_offset_hours: As in :func:`series`.
        time_zone: As in :func:`series`.

    Raises:
        InputError: An unknown resolution, an offset beyond 14 hours, an
            unknown time zone, or both of these.
        TypeError: The time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> bucket_label(datetime(2024, 1, 1, 22, tzinfo=UTC), resolution="day", utc_offset_hours=2)
        datetime.datetime(2024, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)
    """
    return _engine.bucket_label(
        at, resolution=resolution, utc_offset_hours=utc_offset_hours, time_zone=time_zone
    )


def utc_offset_minutes(hours: float) -> int:
    """Round an offset in hours to whole minutes, half a minute away from zero.

    Raises:
        InputError: The hours as given are outside -14 to 14, or no number.

    Example:
        >>> utc_offset_minutes(5.75), utc_offset_minutes(-0.375)
        (345, -23)
    """
    return _engine.utc_offset_minutes(hours)


def available_range(
    *, start: datetime | None, end: datetime | None = None, now: datetime
) -> tuple[datetime, datetime]:
    """Cut a range ``[start, end)`` to the four years of the calendar before ``now``.

    Args:
        start: First instant; ``None`` is the oldest that is available.
        end: First instant after the range; ``None`` is ``now``.
        now: The present.

    Raises:
        InputError: ``start`` is after ``end``.
        TypeError: A time has no zone.
    """
    return _engine.available_range(start=start, end=end, now=now)


def members(record: str, *, version: str | None = None) -> tuple[str, ...]:
    """Name the members that a record of statistics has in a dated version.

    Args:
        record: ``charging``, ``production``, ``session`` or ``smart_stats``,
            which is what a session of 2023-05-01 holds in ``smartStats``.
        version: Its date; ``None`` is the latest.

    Raises:
        InputError: There is no such record or no such version.

    Example:
        >>> old, new = members("charging", version="2023-05-01"), members("charging")
        >>> set(old) - set(new), set(new) - set(old)
        ({'nonSmartCostSum'}, {'estimatedSavings'})
    """
    return tuple(_engine.statistics_members(record, version=version))


def _sample(given: Sample | tuple[object, ...]) -> Sample:
    """Fill up a shorter tuple with what a sample need not have."""
    return given if isinstance(given, Sample) else Sample(*given)  # type: ignore[arg-type]


def _totals(totals: _Native, instead: _NativeNonSmart | None) -> Totals:
    power, hours, energy, priced, price, cost = totals
    non_smart = None
    if instead is not None:
        own_energy, own_price, own_cost, savings = instead
        own_spread = None if own_price is None else Spread(*own_price)
        non_smart = NonSmart(own_energy, own_spread, Decimal(own_cost), Decimal(savings))
    spread = None if price is None else Spread(*price)
    return Totals(Spread(*power), hours, energy, priced, spread, Decimal(cost), non_smart)
