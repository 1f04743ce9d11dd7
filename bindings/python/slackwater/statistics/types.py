"""Records of statistics."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from slackwater._record import Record

if TYPE_CHECKING:
    from slackwater._engine import Table

RESOLUTIONS = ("quarter_hour", "half_hour", "hour", "day", "week", "month", "year")
"""Lengths of buckets; weeks start on Monday."""


class _SampleFields(NamedTuple):
    start: datetime
    end: datetime
    power_kw: float | None
    price_per_kwh: float | None = None
    non_smart_kw: float | None = None


class Sample(_SampleFields, Record):
    """A period of constant power, with the price that held then.

    Attributes:
        start: First instant, aware.
        end: First instant after it.
        power_kw: Power that flowed; ``None`` where nothing was measured.
        price_per_kwh: Price of a kWh; ``None`` where none was known, which is
            not the same as 0. It has no currency, so any size may be meant:
            no number of it raises a ``PlausibilityWarning``.
        non_smart_kw: Power that would have flowed without smart charging, 0
            included; ``None`` where smart charging had no part in it.
    """

    __slots__ = ()


class _SpreadFields(NamedTuple):
    min: float
    max: float
    mean: float


class Spread(_SpreadFields, Record):
    """Least, largest and mean of a quantity over the samples of a bucket."""

    __slots__ = ()


class _NonSmartFields(NamedTuple):
    energy_kwh: float
    price_per_kwh: Spread | None
    cost: Decimal
    savings: Decimal


class NonSmart(_NonSmartFields, Record):
    """Charging without control.

    Attributes:
        energy_kwh: Energy that would have flowed in the bucket.
        price_per_kwh: Its price; ``None`` if none would have flowed.
        cost: Its cost, exact.
        savings: That cost minus the actual cost of what smart charging
            controlled; negative where smart charging cost more.
    """

    __slots__ = ()


class _TotalsFields(NamedTuple):
    power_kw: Spread
    hours: float
    energy_kwh: float
    priced_kwh: float
    price_per_kwh: Spread | None
    cost: Decimal
    non_smart: NonSmart | None


class Totals(_TotalsFields, Record):
    """Sums of samples.

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

    __slots__ = ()


class _ItemFields(NamedTuple):
    date: datetime
    totals: Totals


class Item(_ItemFields, Record):
    """One bucket of a series.

    Attributes:
        date: Start of the bucket on the shifted clock, written as UTC: a label
            to group by, not an instant.
        totals: What it sums up to.
    """

    __slots__ = ()


class _SessionItemFields(NamedTuple):
    start: datetime
    end: datetime
    totals: Totals


class SessionItem(_SessionItemFields, Record):
    """The sums of one charging session.

    Attributes:
        start: First instant at which something was measured.
        end: First instant after the last measurement.
        totals: What it sums up to.
    """

    __slots__ = ()


class _FrozenSessionFields(NamedTuple):
    samples: list[Sample]
    savings: Decimal | None


class FrozenSession(_FrozenSessionFields, Record):
    """A session as the ledger keeps it: no later price changes it.

    Attributes:
        samples: Measured rows and those of the course without smart charging,
            for :func:`series` and :func:`session`.
        savings: What it saved, exact; ``None`` if smart charging had no part
            in it or a price is not known.
    """

    __slots__ = ()


class _LedgerFields(NamedTuple):
    rows: Table
    sessions: Table


class Ledger(_LedgerFields, Record):
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

    __slots__ = ()


class _FindingsFields(NamedTuple):
    rows: int
    out_of_order: int
    repeated: int
    replaced: int
    resets: int
    gaps: int
    gap_hours: float
    without_length: int
    implausible: int


class Findings(_FindingsFields, Record):
    """Counts of what was odd about measurements.

    Attributes:
        rows: Rows that came in.
        out_of_order: Rows that came before an earlier one; sorted in.
        repeated: Rows that said the same again; dropped.
        replaced: Rows that a later one of the same instant replaced.
        resets: Times at which a counter began anew.
        gaps: Pauses longer than allowed.
        gap_hours: Their time beyond what is allowed.
        without_length: Sessions that end when they start; dropped.
        implausible: Flows beyond ``power_max_kw``, or beyond any machine, and
            energies over more than ten years; dropped.
    """

    __slots__ = ()


class _MeasuredFields(NamedTuple):
    samples: Table
    findings: Findings


class Measured(_MeasuredFields, Record):
    """Samples as a table, with what was found on the way.

    Attributes:
        samples: The grouping columns, ``start``, ``end`` and ``power_kw``.
        findings: What was odd, over all devices.
    """

    __slots__ = ()


class _PointFields(NamedTuple):
    at: datetime
    value: float | None


class Point(_PointFields, Record):
    """One number of a home's series.

    Attributes:
        at: Start of the bucket, with the offset of the place.
        value: The number; ``None`` where nothing was measured.
    """

    __slots__ = ()


class _HomeSeriesFields(NamedTuple):
    unit: str | None
    data: list[Point]
    is_available: bool
    reason: str | None


class HomeSeries(_HomeSeriesFields, Record):
    """A series of a home's energy system over a day, a month or a year.

    Attributes:
        unit: ``kW``, ``kWh`` or ``%``; ``None`` if the series is not available.
        data: One number a bucket, in time order.
        is_available: Whether there is such a series.
        reason: Why not.
    """

    __slots__ = ()
