"""A fleet planned against a price list: the call, what it comes to, and its load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import perf_counter
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

import slackwater as sw
from slackwater import io

PROVED_GAP_MAX = 1e-9
# Fewer plans than this say nothing about plans a second.
TIMED_FROM = 1000
HOUR_US = 3_600_000_000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fleet:
    """Stays of vehicles, their plans, and what they were planned against.

    Attributes:
        stays: One stay a row.
        prices: The price list.
        plans: One plan a row, in the order of the stays.
        seconds: How long the planning call took, Arrow to Arrow.
        time_zone: IANA name of the zone for display.
    """

    stays: pa.Table
    prices: sw.Prices
    plans: pa.Table
    seconds: float
    time_zone: str

    @classmethod
    def plan(cls, stays: io.VehicleStays, prices: sw.Prices, *, time_zone: str) -> Fleet:
        """Plan all stays, and time the call."""
        table = pa.table(stays)
        # The first call of a process starts the threads; it is not what is timed.
        sw.plan_batch(table.slice(0, 1), prices)
        began = perf_counter()
        plans = sw.plan_batch(table, prices)
        seconds = perf_counter() - began
        return cls(table, prices, pa.table(plans), seconds, time_zone)

    @property
    def vehicles(self) -> int:
        """Number of vehicles."""
        return len(pc.unique(self.stays.column("vehicle")))

    @property
    def first(self) -> datetime:
        """The first arrival."""
        at: datetime = pc.min(self.stays.column("arrival")).as_py()
        return at

    @property
    def last(self) -> datetime:
        """The last departure."""
        at: datetime = pc.max(self.stays.column("departure")).as_py()
        return at

    def total(self, column: str) -> float:
        """The sum of a column of the plans."""
        return pc.sum(self.plans.column(column)).as_py() or 0.0

    @property
    def savings_percent(self) -> float:
        """Savings as a share of the baseline cost, for display."""
        baseline = self.total("baseline_cost")
        return 100 * self.total("savings") / baseline if baseline else 0.0

    @property
    def is_proved(self) -> bool:
        """Whether no plan has more than a rounding error between its cost and its bound."""
        gap = pc.max(self.plans.column("gap")).as_py()
        return gap is not None and gap <= PROVED_GAP_MAX

    def unmanaged(self) -> pa.Table:
        """Plans of the same stays at full power from plug-in: all that is wanted is a reserve."""
        at_once = self.stays.append_column("reserve_kwh", self.stays.column("energy_kwh"))
        return pa.table(sw.plan_batch(at_once, self.prices))

    def between(self, first: datetime, last: datetime) -> Fleet:
        """The stays that touch a period, with their plans."""
        arrives = pc.less(self.stays.column("arrival"), pa.scalar(last))
        leaves = pc.greater(self.stays.column("departure"), pa.scalar(first))
        rows = pc.and_(arrives, leaves)
        stays, plans = self.stays.filter(rows), self.plans.filter(rows)
        return Fleet(stays, self.prices, plans, self.seconds, self.time_zone)

    def coordinate(self, first: datetime, last: datetime) -> Coordination:
        """Plan all stays together, never above the peak of the unmanaged load in a period."""
        slots = self.prices.between(first, last).slots
        # Time without a price is a step of its own, in which nobody charges.
        instants = sorted({at for start, end, _ in slots for at in (start, end)})
        boundaries = np.array([round(at.timestamp() * 1_000_000) for at in instants])
        unmanaged = mean_power_kw(self.unmanaged(), boundaries).max(initial=0)
        alone = mean_power_kw(self.plans, boundaries).max(initial=0)
        horizon = self.prices.between(self.first, self.last)
        area = sw.plan_area(self.stays, horizon, limit_kw=float(unmanaged))
        return Coordination(area, float(unmanaged), float(alone))


@dataclass(frozen=True)
class Coordination:
    """A fleet planned together under a limit.

    Attributes:
        area: The plan.
        limit_kw: The limit: the highest mean power of a slot if all charge at plug-in.
        price_only_peak_kw: The highest mean power if each vehicle follows the prices alone.
    """

    area: sw.AreaPlan
    limit_kw: float
    price_only_peak_kw: float

    @property
    def peak_kw(self) -> float:
        """The highest mean power of a slot."""
        return max(self.area.load_kw, default=0.0)


def summary(fleet: Fleet) -> Iterator[str]:
    """What the plans come to, line by line."""
    money = fleet.prices.currency
    count = fleet.plans.num_rows
    zone = ZoneInfo(fleet.time_zone)
    first, last = (f"{at.astimezone(zone):%a %d %b %Y}" for at in (fleet.first, fleet.last))
    yield f"{fleet.vehicles:,} vehicles, {count:,} stays at a charger, {first} to {last}"
    yield f"  energy          {fleet.total('energy_kwh'):>12,.1f} kWh"
    yield f"  cost            {fleet.total('cost'):>12,.2f} {money}, planned"
    yield f"  baseline cost   {fleet.total('baseline_cost'):>12,.2f} {money}, full power at plug-in"
    share = f"{fleet.savings_percent:.1f} % of the baseline cost"
    yield f"  savings         {fleet.total('savings'):>12,.2f} {money}, {share}"
    yield from _shortfalls(fleet)
    yield from _errors(fleet)
    gap = pc.max(fleet.plans.column("gap")).as_py() or 0.0
    verdict = "every plan proved optimal" if fleet.is_proved else "not every plan is proved optimal"
    yield f"  largest gap     {gap:>12.1e} {money} between a cost and its bound: {verdict}"
    took = f"{count:,} plans in {fleet.seconds * 1000:.1f} ms, Arrow to Arrow"
    if count < TIMED_FROM:
        yield f"  time            {took}"
    else:
        yield f"  speed           {count / fleet.seconds:>12,.0f} plans a second ({took})"


def _shortfalls(fleet: Fleet) -> Iterator[str]:
    short = pc.fill_null(pc.greater(fleet.plans.column("shortfall_kwh"), 0), fill_value=False)
    rows = fleet.plans.filter(short)
    if not rows.num_rows:
        yield f"  shortfall       {0:>12} kWh: every vehicle leaves with what it asked for"
        return
    worst = pc.index(rows.column("shortfall_kwh"), pc.max(rows.column("shortfall_kwh"))).as_py()
    plan = rows.slice(worst, 1).to_pylist()[0]
    stay = fleet.stays.filter(short).slice(worst, 1).to_pylist()[0]
    hours = (stay["departure"] - stay["arrival"]) / timedelta(hours=1)
    where = f"at {rows.num_rows:,} stays too short for their need"
    yield f"  shortfall       {fleet.total('shortfall_kwh'):>12,.1f} kWh {where}"
    yield (
        f"                  worst: {plan['id']}, {plan['shortfall_kwh']:.1f} of "
        f"{stay['energy_kwh']:.1f} kWh missing after {hours:.1f} h at {stay['power_max_kw']:g} kW"
    )


def _errors(fleet: Fleet) -> Iterator[str]:
    errors = fleet.plans.filter(pc.is_valid(fleet.plans.column("error")))
    if errors.num_rows:
        first = errors.slice(0, 1).to_pylist()[0]
        yield f"  in error        {errors.num_rows:>12,} stays; {first['id']}: {first['error']}"


def edges(first: datetime, last: datetime, step: timedelta) -> npt.NDArray[np.int64]:
    """Boundaries of steps over a period, in microseconds since 1970."""
    start, end = (round(at.timestamp() * 1_000_000) for at in (first, last))
    length = step // timedelta(microseconds=1)
    return np.arange(start, end + length, length, dtype=np.int64)


def mean_power_kw(plans: pa.Table, boundaries: npt.NDArray[np.int64]) -> Floats:
    """Power of all plans together, as the mean of each step.

    Energy drawn up to an instant is a broken line with a corner at each start
    and end of charging; the mean is its rise over a step.
    """
    intervals = plans.column("intervals").combine_chunks().flatten()
    starts, ends = (
        pc.struct_field(intervals, name).cast(pa.int64()).to_numpy(zero_copy_only=False)
        for name in ("start", "end")
    )
    power = pc.struct_field(intervals, "power_kw").to_numpy(zero_copy_only=False)
    if not len(power):
        return np.zeros(len(boundaries) - 1)
    times = np.concatenate([starts, ends])
    order = np.argsort(times, kind="stable")
    times = times[order]
    running = np.cumsum(np.concatenate([power, -power])[order])
    hours = np.diff(times) / HOUR_US
    energy = np.concatenate([[0.0], np.cumsum(running[:-1] * hours)])
    drawn: Floats = np.diff(np.interp(boundaries, times, energy))
    return drawn / (np.diff(boundaries) / HOUR_US)
