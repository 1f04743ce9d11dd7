"""Time series of energy and money that add up.

A *sample* is a period of constant power with the price that held then. Samples
are summed up by *bucket*: quarters of an hour up to years, at any fixed offset
from UTC. Energy is conserved whatever the bucket; money is kept in whole parts
of 1e-12, so slots, sessions, days and months agree to the last digit.

:func:`series` and :func:`session` take lists and suit a handful of samples.
:func:`aggregate` takes Arrow tables and suits hundreds of millions.
:func:`freeze_session` writes a session into the ledger: its prices, and what
would have happened without smart charging, fixed for good;
:func:`freeze_sessions` does so for a table of sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from slackwater import _engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.figure import Figure

    from slackwater.prices import Prices
    from slackwater.typing import ArrowTable

    _Spread = tuple[float, float, float]
    _Native = tuple[_Spread, float, float, float, _Spread | None, str]
    _NativeNonSmart = tuple[float, _Spread | None, str, str]

RESOLUTIONS = ("quarter_hour", "half_hour", "hour", "day", "week", "month", "year")
"""Lengths of buckets; weeks start on Monday."""


class Sample(NamedTuple):
    """A period of constant power, with the price that held then.

    Attributes:
        start: First instant, aware.
        end: First instant after it.
        power_kw: Power that flowed; ``None`` where nothing was measured.
        price_per_kwh: Price of a kWh; ``None`` where none was known, which is
            not the same as 0.
        non_smart_kw: Power that would have flowed without smart charging, 0
            included; ``None`` where smart charging had no part in it.
    """

    start: datetime
    end: datetime
    power_kw: float | None
    price_per_kwh: float | None = None
    non_smart_kw: float | None = None


class Spread(NamedTuple):
    """Least, largest and mean of a quantity over the samples of a bucket."""

    min: float
    max: float
    mean: float


class NonSmart(NamedTuple):
    """What would have been without smart charging.

    Attributes:
        energy_kwh: Energy that would have flowed in the bucket.
        price_per_kwh: Its price; ``None`` if none would have flowed.
        cost: Its cost, exact.
        savings: That cost minus the actual cost of what smart charging
            controlled; negative where smart charging cost more.
    """

    energy_kwh: float
    price_per_kwh: Spread | None
    cost: Decimal
    savings: Decimal


class Totals(NamedTuple):
    """What samples sum up to.

    ``power_kw.mean * hours`` is ``energy_kwh``, and ``price_per_kwh.mean *
    priced_kwh`` is ``cost``.

    Attributes:
        power_kw: Power, its mean weighted by time.
        hours: Time with a measurement.
        energy_kwh: Energy, with a known price or without.
        priced_kwh: Energy with a known price: what price and cost are about.
        price_per_kwh: Price, its mean weighted by energy, or by nothing where
            no energy flowed; ``None`` if no price is known.
        cost: Cost of the priced energy, exact.
        non_smart: What would have been; ``None`` where smart charging had no
            part in it.
    """

    power_kw: Spread
    hours: float
    energy_kwh: float
    priced_kwh: float
    price_per_kwh: Spread | None
    cost: Decimal
    non_smart: NonSmart | None


class Item(NamedTuple):
    """One bucket of a series.

    Attributes:
        date: Start of the bucket on the shifted clock, written as UTC: a label
            to group by, not an instant.
        totals: What it sums up to.
    """

    date: datetime
    totals: Totals


class SessionItem(NamedTuple):
    """The sums of one charging session.

    Attributes:
        start: First instant at which something was measured.
        end: First instant after the last measurement.
        totals: What it sums up to.
    """

    start: datetime
    end: datetime
    totals: Totals


class FrozenSession(NamedTuple):
    """A session as the ledger keeps it: no later price changes it.

    Attributes:
        samples: Measured rows and those of the course without smart charging,
            for :func:`series` and :func:`session`.
        savings: What it saved, exact; ``None`` if smart charging had no part
            in it or a price is not known.
    """

    samples: list[Sample]
    savings: Decimal | None


class Ledger(NamedTuple):
    """Many sessions as the ledger keeps them.

    Attributes:
        rows: The column that tells sessions apart, ``start``, ``end``,
            ``power_kw``, ``price_per_kwh`` and ``non_smart_kw``: what
            :func:`aggregate` takes.
        sessions: A row a session, in their order: ``start`` and ``end`` of
            what was measured, ``energy_kwh``, ``priced_kwh``, ``cost``,
            ``non_smart_cost`` and ``savings``. Money is in exact decimals,
            null where it is not known.
    """

    rows: _engine.Table
    sessions: _engine.Table


class Findings(NamedTuple):
    """What was odd about measurements, and how often.

    Attributes:
        rows: Rows that came in.
        out_of_order: Rows that came before an earlier one; sorted in.
        repeated: Rows that said the same again; dropped.
        replaced: Rows that a later one of the same instant replaced.
        resets: Times at which a counter began anew.
        gaps: Pauses longer than allowed.
        gap_hours: Their time beyond what is allowed.
        without_length: Sessions that end when they start; dropped.
        implausible: Energies that no machine can move in the time; dropped.
    """

    rows: int
    out_of_order: int
    repeated: int
    replaced: int
    resets: int
    gaps: int
    gap_hours: float
    without_length: int
    implausible: int


class Measured(NamedTuple):
    """Samples as a table, with what was found on the way.

    Attributes:
        samples: The grouping columns, ``start``, ``end`` and ``power_kw``.
        findings: What was odd, over all devices.
    """

    samples: _engine.Table
    findings: Findings


class Point(NamedTuple):
    """One number of a home's series.

    Attributes:
        at: Start of the bucket, with the offset of the place.
        value: The number; ``None`` where nothing was measured.
    """

    at: datetime
    value: float | None


class HomeSeries(NamedTuple):
    """A series of a home's energy system over a day, a month or a year.

    Attributes:
        unit: ``kW``, ``kWh`` or ``%``; ``None`` if the series is not available.
        data: One number a bucket, in time order.
        is_available: Whether there is such a series.
        reason: Why not.
    """

    unit: str | None
    data: list[Point]
    is_available: bool
    reason: str | None


def series(
    samples: Iterable[Sample | tuple[object, ...]],
    *,
    resolution: str,
    utc_offset_hours: float = 0.0,
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
            whole minutes. It knows no daylight saving.
        start: First instant that counts.
        end: First instant that does not; ``now`` if that is given.
        now: The present. If given, what is older than four years is left out.

    Returns:
        One item for each bucket with a sample.

    Raises:
        InputError: An unknown resolution, an offset beyond 14 hours, a sample
            without length, a number that is no quantity, a start after the end.
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
    """
    items = _engine.statistics_series(
        [_sample(given) for given in samples],
        resolution=resolution,
        utc_offset_hours=utc_offset_hours,
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


def bucket_label(at: datetime, *, resolution: str, utc_offset_hours: float = 0.0) -> datetime:
    """Tell the label of the bucket that holds an instant.

    Args:
        at: The instant, aware.
        resolution: One of :data:`RESOLUTIONS`.
        utc_offset_hours: As in :func:`series`.

    Raises:
        InputError: An unknown resolution or an offset beyond 14 hours.
        TypeError: The time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> bucket_label(datetime(2024, 1, 1, 22, tzinfo=UTC), resolution="day", utc_offset_hours=2)
        datetime.datetime(2024, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)
    """
    return _engine.bucket_label(at, resolution=resolution, utc_offset_hours=utc_offset_hours)


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


def freeze_session(
    samples: Iterable[Sample | tuple[object, ...]],
    prices: Prices,
    *,
    plugged_in: datetime,
    power_max_kw: float,
    is_smart: bool = True,
) -> FrozenSession:
    """Write a session into the ledger: fix its prices and its baseline.

    The baseline is the same energy at ``power_max_kw`` from plug-in on, so the
    battery ends in the same state. Where a price of either course is not
    known there are no savings: the difference is unknown, not zero.

    Args:
        samples: What was measured. A sample with a price keeps it.
        prices: The prices that held.
        plugged_in: When the vehicle was plugged in, aware.
        power_max_kw: Power at which it would have charged.
        is_smart: Whether smart charging controlled the session.

    Raises:
        InputError: Energy flowed and ``power_max_kw`` is not positive; a sample
            without length; a number that is no quantity.
        TypeError: A time has no zone.

    Example:
        8 kWh at 0.10 in the night instead of at 0.35 on plug-in:

        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Prices
        >>> six, hour = datetime(2024, 1, 1, 18, tzinfo=UTC), timedelta(hours=1)
        >>> prices = Prices.from_slots(
        ...     [(six, six + 4 * hour, 0.35), (six + 4 * hour, six + 12 * hour, 0.10)],
        ...     currency="EUR",
        ... )
        >>> night = Sample(six + 8 * hour, six + 9 * hour, power_kw=8.0)
        >>> frozen = freeze_session([night], prices, plugged_in=six, power_max_kw=8)
        >>> str(frozen.savings.normalize())
        '2'
    """
    rows, savings = _engine.freeze_session(
        [_sample(given) for given in samples],
        prices._native,
        plugged_in=plugged_in,
        power_max_kw=power_max_kw,
        is_smart=is_smart,
    )
    kept = [Sample(*row) for row in rows]
    return FrozenSession(kept, None if savings is None else Decimal(savings))


def freeze_sessions(
    sessions: ArrowTable,
    samples: ArrowTable,
    prices: Prices | Mapping[str, Prices],
    *,
    by: str = "session",
) -> Ledger:
    """Write many sessions into the ledger, Arrow to Arrow, on all cores.

    Each session is frozen as :func:`freeze_session` freezes it. Savings of
    sessions, and of any buckets that their rows are summed up in, are equal to
    the last digit. If one session is refused, none is frozen.

    Args:
        sessions: A row a session:

            ================ ======================================== ========
            column           meaning                                  required
            ================ ======================================== ========
            ``session``      words or whole numbers, each once        yes
            ``plugged_in``   timestamp with a zone                    yes
            ``power_max_kw`` power at which it would have charged     yes
            ``is_smart``     whether smart charging controlled it;    no
                             all without such a column
            ``price_id``     name of its prices                       with a mapping
            ================ ======================================== ========
        samples: Columns ``session``, ``start``, ``end``, ``power_kw`` and, for
            samples that bring their price, ``price_per_kwh``; in any order.
        prices: The prices that held: one list for all, or several by name.
        by: Name of the column that tells sessions apart, in both tables.

    Returns:
        Rows for good, and what each session saved.

    Raises:
        InputError: A column is missing, of a wrong type or holds a null; two
            sessions have one name; a sample belongs to no session; a session
            that :func:`freeze_session` would refuse.

    Example:
        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Prices
        >>> six, hour = datetime(2024, 1, 1, 18, tzinfo=UTC), timedelta(hours=1)
        >>> prices = Prices.from_values(six, [0.35, 0.10], currency="EUR")
        >>> sessions = pa.table({"session": [7], "plugged_in": [six], "power_max_kw": [8.0]})
        >>> late = {"session": [7], "start": [six + hour], "end": [six + 2 * hour]}
        >>> ledger = freeze_sessions(sessions, pa.table(late | {"power_kw": [8.0]}), prices)
        >>> pa.table(ledger.sessions).column("savings").to_pylist()
        [Decimal('2.000000000000')]
    """
    if isinstance(prices, Mapping):
        curves, price_ids = list(prices.values()), list(prices)
    else:
        curves, price_ids = [prices], None
    rows, frozen = _engine.freeze_sessions(
        sessions, samples, [curve._native for curve in curves], by=by, price_ids=price_ids
    )
    return Ledger(rows, frozen)


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


def hours_of_week(
    samples: ArrowTable, *, time_zone: str, sample_length: timedelta | None = None
) -> list[list[float]]:
    """Sum up energy by weekday and hour, on the clock of a place.

    The hour that comes twice when clocks go back is summed up into one; the
    hour that is skipped has what other weeks have in it.

    Args:
        samples: As for :func:`aggregate`.
        time_zone: IANA name of the zone.
        sample_length: As for :func:`aggregate`.

    Returns:
        Seven days from Monday on, each with 24 energies in kWh.

    Raises:
        InputError: As :func:`aggregate`, or the time zone is unknown.

    Example:
        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> late = datetime(2024, 1, 1, 23, 30, tzinfo=UTC)
        >>> monday = pa.table({"start": [late], "power_kw": [8.0]})
        >>> week = hours_of_week(
        ...     monday, time_zone="Europe/Berlin", sample_length=timedelta(minutes=15)
        ... )
        >>> week[1][0]
        2.0
    """
    return _engine.statistics_week(samples, time_zone=time_zone, sample_length=sample_length)


def plot_year(
    samples: ArrowTable,
    *,
    currency: str,
    time_zone: str = "UTC",
    utc_offset_hours: float = 0.0,
    sample_length: timedelta | None = None,
) -> Figure:
    """Draw cost and savings by month, and energy by hour and weekday.

    Above, a bar a month: what was paid, and behind it what would have been
    paid without smart charging, with the savings in figures. Below, the energy
    of each hour of the week, the darker the more.

    Args:
        samples: As for :func:`aggregate`, such as the ``rows`` of a ledger. Any
            length of time is drawn, a year reads best. Read twice, so a stream
            that can be read only once is refused.
        currency: Name of the currency, for the axis.
        time_zone: IANA name of the zone of hours and weekdays.
        utc_offset_hours: Fixed offset of the months, as in :func:`series`.
        sample_length: As for :func:`aggregate`.

    Returns:
        The figure. ``figure.savefig("year.png")`` writes it to a file.

    Raises:
        InputError: As :func:`aggregate`, or the time zone is unknown.
        ModuleNotFoundError: matplotlib is missing: ``pip install slackwater[plot]``.
    """
    from slackwater import plot_statistics  # noqa: PLC0415  matplotlib is optional and slow

    return plot_statistics.plot_year(
        samples,
        currency=currency,
        time_zone=time_zone,
        utc_offset_hours=utc_offset_hours,
        sample_length=sample_length,
    )


def aggregate(
    samples: ArrowTable,
    *,
    by: str | Sequence[str] = (),
    resolution: str,
    utc_offset_hours: float = 0.0,
    start: datetime | None = None,
    end: datetime | None = None,
    sample_length: timedelta | None = None,
) -> _engine.Table:
    """Sum up the samples of many devices by bucket, Arrow to Arrow.

    One pass over the data on all cores. A stream of record batches, as
    ``pyarrow.dataset`` or DuckDB give one, is read batch by batch, so it may
    be larger than memory. The last bit does not depend on the number of cores.

    Args:
        samples: Anything with ``__arrow_c_stream__``, rows in any order:

            ================= ============================================= ========
            column            meaning                                       required
            ================= ============================================= ========
            ``start``         timestamp with a zone                         yes
            ``end``           timestamp with a zone                         or ``sample_length``
            ``power_kw``      mean power; null where nothing was measured   or ``energy_kwh``
            ``price_per_kwh`` price that held; null where none is known     no
            ``non_smart_kw``  power without smart charging; null where      no
                              that had no part in it; or ``non_smart_kwh``
            ================= ============================================= ========
        by: Columns of words or whole numbers to group by, such as a device, a
            location or a user. None sums up everything.
        resolution: One of :data:`RESOLUTIONS`.
        utc_offset_hours: As in :func:`series`.
        start: First instant that counts.
        end: First instant that does not.
        sample_length: Length of every sample, for a table without ``end``.

    Returns:
        A row for each group and bucket: the columns of ``by``, ``date``,
        ``kw_min``, ``kw_max``, ``kw_mean``, ``hours``, ``energy_kwh``,
        ``priced_kwh``, ``price_min_per_kwh``, ``price_max_per_kwh``,
        ``price_mean_per_kwh``, ``cost``, the same for the course without smart
        charging (``non_smart_…``), and ``savings``. Money is in exact decimals.
        Groups come in the order of their first row.

    Raises:
        InputError: A column is missing or of a wrong type, a row has no length
            or holds a number that is no quantity; as :func:`series`.
        TypeError: A time has no zone.

    Example:
        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> midnight = datetime(2024, 1, 1, tzinfo=UTC)
        >>> quarters = pa.table(
        ...     {
        ...         "device": ["van"] * 8,
        ...         "start": [midnight + i * timedelta(minutes=15) for i in range(8)],
        ...         "power_kw": [4.0] * 4 + [8.0] * 4,
        ...         "price_per_kwh": [0.25] * 8,
        ...     }
        ... )
        >>> hours = pa.table(
        ...     aggregate(
        ...         quarters, by="device", resolution="hour", sample_length=timedelta(minutes=15)
        ...     )
        ... )
        >>> hours.select(["device", "energy_kwh"]).to_pylist()
        [{'device': 'van', 'energy_kwh': 4.0}, {'device': 'van', 'energy_kwh': 8.0}]
    """
    return _engine.statistics_aggregate(
        samples,
        by=_names(by),
        resolution=resolution,
        utc_offset_hours=utc_offset_hours,
        start=start,
        end=end,
        sample_length=sample_length,
    )


def samples_from_meter(
    readings: ArrowTable, *, by: str | Sequence[str] = (), gap_max: timedelta = timedelta(hours=1)
) -> Measured:
    """Make samples from readings of a counter of energy.

    The difference of two readings flowed evenly between them. A counter that
    falls began anew at zero. Of two readings of one instant the one that came
    last is kept, and rows out of order are sorted. A long pause keeps its
    energy, which is certain; its time is not, so it is counted.

    Args:
        readings: Columns ``at`` (timestamp with a zone) and ``total_kwh``, and
            those of ``by``.
        by: Columns that tell devices apart.
        gap_max: Longest pause that is not counted as a gap.

    Raises:
        InputError: A column is missing, of a wrong type, or holds a null;
            ``gap_max`` is negative.
    """
    table, findings = _engine.samples_from_meter(readings, by=_names(by), gap_max=gap_max)
    return Measured(table, Findings(*findings))


def samples_from_power(
    readings: ArrowTable,
    *,
    by: str | Sequence[str] = (),
    hold_max: timedelta = timedelta(minutes=15),
) -> Measured:
    """Make samples from readings of power.

    A reading holds until the next, but no longer than ``hold_max``; the last
    one holds for nothing, because nobody saw what came after it.

    Args:
        readings: Columns ``at`` (timestamp with a zone) and ``power_kw``, and
            those of ``by``.
        by: Columns that tell devices apart.
        hold_max: Longest time that a reading stands for.

    Raises:
        InputError: As :func:`samples_from_meter`.
    """
    table, findings = _engine.samples_from_power(readings, by=_names(by), hold_max=hold_max)
    return Measured(table, Findings(*findings))


def samples_from_sessions(sessions: ArrowTable, *, by: str | Sequence[str] = ()) -> Measured:
    """Make samples from sessions of which only the energy is known.

    Energy flowed evenly from start to end. A session without length has no
    power: it is dropped and counted.

    Args:
        sessions: Columns ``start``, ``end`` (timestamps with a zone) and
            ``energy_kwh``, and those of ``by``.
        by: Columns that tell devices apart.

    Raises:
        InputError: As :func:`samples_from_meter`.
    """
    table, findings = _engine.samples_from_sessions(sessions, by=_names(by))
    return Measured(table, Findings(*findings))


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


def _names(by: str | Sequence[str]) -> list[str]:
    return [by] if isinstance(by, str) else list(by)


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
