"""A second model of a site, written apart from the engine: a plain matrix for scipy.

It knows no shortcuts: every device has a level in each slot, the meter is always two columns, and
every choice that must be exclusive is a binary from the start. Sites are described by `Case`, from
which both this model and the package are fed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

import slackwater as sw

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
FAR = 1e4

OSLO = ZoneInfo("Europe/Oslo")
CLOCK_CHANGES = (datetime(2026, 3, 28, 23, tzinfo=OSLO), datetime(2026, 10, 25, 0, tzinfo=OSLO))
"""Evenings on the clocks of Oslo, hours before one of them is skipped or comes twice."""


@dataclass(frozen=True)
class StoreLimit:
    """Limits of a store over some hours."""

    first: int
    last: int
    power: float
    feed: float
    least: float
    most: float

    def holds(self, slot: int) -> bool:
        """Whether an hour is one of them."""
        return self.first <= slot < self.last


@dataclass(frozen=True)
class Store:
    """A vehicle or a battery over whole hours."""

    name: str
    first: int
    last: int
    power: float
    level: float
    capacity: float
    wanted: float | None = None
    earlier: tuple[tuple[int, float], ...] = ()
    """Hours before departure, each with the level wanted by then."""
    efficiency: float = 1.0
    feed: float = 0.0
    feed_efficiency: float = 1.0
    wear: float = 0.0
    end_value: float = 0.0
    priority: float = 1.0
    group: str | None = None
    phases: tuple[sw.site_devices.Phase, ...] = ("L1", "L2", "L3")
    power_min: float = 0.0
    taper: tuple[tuple[float, float], ...] = ()
    reserve: float = 0.0
    is_battery: bool = False
    limit: float | None = None
    """Level at which charging ends; the store may begin above it."""
    kept: float = 0.0
    """Level below which nothing is fed; the store may begin below it."""

    soft: tuple[tuple[int, int, float, float, float], ...] = ()
    """Hours, least and highest level, and the price of a kWh outside of them for an hour."""

    limits: tuple[StoreLimit, ...] = ()
    wanted_power: tuple[float, ...] = ()
    """Power by hour that is taken until the store is full."""
    stops: bool = False
    """Whether what a deadline missed is wanted no more."""

    def percent(self, kwh: float) -> float:
        """State of charge of a level; a full battery is at 100 exactly."""
        return min(100.0, 100 * kwh / self.capacity)

    @property
    def until(self) -> float:
        """Level at which charging ends."""
        return self.capacity if self.limit is None else self.limit

    def until_in(self, slot: int) -> float:
        """Level at which charging ends in an hour."""
        return min([self.until, *(limit.most for limit in self.limits if limit.holds(slot))])

    @property
    def fills(self) -> bool:
        """Whether it may charge beyond what is wanted."""
        return bool(self.feed or self.is_battery or self.end_value > 0)

    @property
    def ceiling(self) -> float:
        """Level that it never passes."""
        most = max(self.until, self.level)
        if self.fills:
            return most
        wanted = [kwh for _, kwh in self.earlier]
        soft = [least for _, _, least, _, _ in self.soft]
        limits = [self.least_after(hour) for hour in range(self.first, self.last)]
        all_wanted = [self.level, self.reserve, self.wanted or 0.0, *wanted, *soft, *limits]
        powers = self.efficiency * sum(self.asked(hour) for hour in range(self.first, self.last))
        return min(most, max(all_wanted) + powers)

    @property
    def taper_lines(self) -> list[tuple[float, float]]:
        """Power of each line of the taper at an empty battery, and its fall per kWh."""
        lines = []
        for (s0, p0), (s1, p1) in zip(self.taper, self.taper[1:], strict=False):
            fall = (p0 - p1) / ((s1 - s0) / 100 * self.capacity)
            lines.append((p0 + fall * s0 / 100 * self.capacity, fall))
        return lines

    def asked(self, slot: int) -> float:
        """Power that is taken in an hour until the store is full."""
        return self.wanted_power[slot] if self.wanted_power else 0.0

    def charges_until(self, slot: int) -> float:
        """Level at which charging ends in an hour, also for a store that stops at deadlines."""
        until = self.until_in(slot)
        stops = self.stops and not self.fills and not self.asked(slot)
        return min(until, self.wanted_from(slot)) if stops else until

    def wanted_from(self, slot: int) -> float:
        """Highest level that is wanted after the start of an hour."""
        due = [kwh for hour, kwh in self.earlier if hour > slot]
        bounds = [least for _, _, least, _, _ in self.soft]
        limits = [self.least_after(hour) for hour in range(self.first, self.last)]
        return max([self.wanted or 0.0, self.reserve, *due, *bounds, *limits])

    def least_after(self, slot: int) -> float:
        """Level wanted after an hour: within a limit or where one begins."""
        limits = [limit for limit in self.limits if limit.first <= slot + 1 <= limit.last]
        return min(self.until_in(slot), max([0.0, *(limit.least for limit in limits)]))

    def power_in(self, slot: int) -> float:
        """Highest charging power in an hour: none below the least power."""
        power = min([self.power, *(limit.power for limit in self.limits if limit.holds(slot))])
        return power if power >= self.power_min else 0.0

    def feed_in(self, slot: int) -> float:
        """Highest feeding power in an hour."""
        return min([self.feed, *(limit.feed for limit in self.limits if limit.holds(slot))])


@dataclass(frozen=True)
class Room:
    """A room or tank with a unit that heats or cools it, over all hours of a case."""

    name: str
    capacity: float
    loss: float
    start: float
    band: tuple[float, float]
    power: float
    cop: tuple[float, ...]
    """Heat per electrical energy in each hour."""
    outdoor: tuple[float, ...]
    gain: tuple[float, ...]
    cools: bool = False
    end_value: float = 0.0
    priority: float = 1.0
    set_back: tuple[int, int, float, float] | None = None
    """Hours of the day from and to, on the clocks of the case, with a band of its own."""

    def band_in(self, hour_of_day: int) -> tuple[float, float]:
        """Band of an hour of the day."""
        if self.set_back is None:
            return self.band
        begin, end, low, high = self.set_back
        return (low, high) if (hour_of_day - begin) % 24 < (end - begin) % 24 else self.band


@dataclass(frozen=True)
class Run:
    """A load that runs once for whole hours."""

    name: str
    first: int
    last: int
    power: float
    hours: int


@dataclass
class Case:
    """A site over hours from noon."""

    prices: list[float]
    stores: list[Store] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    rooms: list[Room] = field(default_factory=list)
    export: list[float] | None = None
    load: list[float] | None = None
    solar: list[float] | None = None
    is_curtailable: bool = True
    import_limit: float | None = None
    import_breach: float | None = None
    export_limit: float | None = None
    groups: dict[str, tuple[float | None, float | None, str | None]] = field(default_factory=dict)
    """Name to limit in kW, amps per phase, and parent."""
    peak_price: float = 0.0
    peak_paid: float = 0.0
    peak_hours: int = 1
    feed_peak_price: float = 0.0
    feed_peak_paid: float = 0.0
    feed_peak_hours: int = 1
    tiers: list[tuple[float | None, float]] = field(default_factory=list)
    carbon_price: float = 0.0
    carbon: list[float] = field(default_factory=list)
    start: datetime = START

    def at(self, hour: int) -> datetime:
        """The start of an hour, on the clocks of the start."""
        return (self.start.astimezone(UTC) + hour * HOUR).astimezone(self.start.tzinfo)

    def heat_unit(self, room: Room) -> sw.HeatUnit:
        """A room as the package takes it."""
        set_backs = []
        if room.set_back is not None:
            begin, end, low, high = room.set_back
            set_backs = [sw.SetBack(f"{begin:02}:00", f"{end:02}:00", low, high)]
        zone = self.start.tzinfo
        return sw.HeatUnit(
            room.name,
            capacity_kwh_per_k=room.capacity,
            loss_kw_per_k=room.loss,
            temperature_celsius=room.start,
            comfort_celsius=room.band,
            set_backs=set_backs,
            time_zone=zone.key if isinstance(zone, ZoneInfo) else "UTC",
            power_max_kw=room.power,
            # Each outdoor temperature of the model is a point of the data sheet.
            cop=sorted(set(zip(room.outdoor, room.cop, strict=True))),
            outdoor_celsius=list(room.outdoor),
            gains_kw=list(room.gain),
            mode="cool" if room.cools else "heat",
            end_value_per_kwh=room.end_value,
            priority=room.priority,
        )

    def plan(self, **more: Any) -> sw.SitePlan:
        """The package's answer."""
        devices: list[sw.site_devices.Device] = [
            _battery(self, store) if store.is_battery else _vehicle(self, store)
            for store in self.stores
        ]
        devices.extend(_run(self, run) for run in self.runs)
        devices.extend(self.heat_unit(room) for room in self.rooms)
        if self.load is not None:
            devices.append(sw.Load("house", power_kw=self.load))
        if self.solar is not None:
            devices.append(
                sw.Solar("roof", power_kw=self.solar, is_curtailable=self.is_curtailable)
            )
        groups = [
            sw.Group(name, limit_kw=limit, amps=amps, parent=parent)
            for name, (limit, amps, parent) in self.groups.items()
        ]
        arguments: dict[str, Any] = {
            "now": self.start,
            "devices": devices,
            "groups": groups,
            "import_limit_kw": self.import_limit,
            "import_breach_price_per_kwh": self.import_breach,
            "export_limit_kw": self.export_limit,
        }
        if self.export is not None:
            arguments["export_prices"] = sw.Prices.from_values(
                self.start, self.export, currency="EUR"
            )
        if self.peak_price:
            arguments["demand_charge"] = sw.DemandCharge(
                peak_price_per_kw=self.peak_price,
                peak_incurred_kw=self.peak_paid,
                window=self.peak_hours * HOUR,
            )
        if self.feed_peak_price:
            arguments["export_demand_charge"] = sw.DemandCharge(
                peak_price_per_kw=self.feed_peak_price,
                peak_incurred_kw=self.feed_peak_paid,
                window=self.feed_peak_hours * HOUR,
            )
        if self.tiers:
            arguments["tiers"] = sw.Tiers(blocks=self.tiers)
        if self.carbon_price:
            steps = [(self.at(i), self.at(i + 1), c) for i, c in enumerate(self.carbon)]
            arguments["carbon"] = sw.Carbon(price_per_kg=self.carbon_price, intensity=steps)
        prices = sw.Prices.from_values(self.start, self.prices, currency="EUR")
        return sw.plan_site(prices, **arguments | more)


def _run(case: Case, run: Run) -> sw.ShiftableLoad:
    return sw.ShiftableLoad(
        run.name,
        power_kw=run.power,
        earliest=case.at(run.first),
        latest=case.at(run.last),
        duration=run.hours * HOUR,
    )


def _vehicle(case: Case, store: Store) -> sw.Vehicle:
    wishes = [*store.earlier, *([] if store.wanted is None else [(store.last, store.wanted)])]
    targets = [sw.SocTarget(case.at(hour), store.percent(kwh)) for hour, kwh in wishes]
    discharge = None
    if store.feed:
        discharge = sw.Discharge(
            discharge_max_kw=store.feed,
            discharge_efficiency=store.feed_efficiency,
            soc_min_percent=store.percent(store.kept),
            wear_price_per_kwh=store.wear,
        )
    return sw.Vehicle(
        store.name,
        power_max_kw=store.power,
        targets=targets,
        battery=sw.Battery(
            store.capacity,
            store.percent(store.level),
            charge_limit_percent=store.percent(store.until),
            efficiency=store.efficiency,
        ),
        arrival=case.at(store.first),
        departure=case.at(store.last),
        soft_bounds=_soft_bounds(case, store),
        limits=_limits(case, store),
        discharge=discharge,
        end_value_per_kwh=store.end_value,
        # The model buys what is wanted and no more.
        fill_when_negative=False,
        priority=store.priority,
        group=store.group,
        phases=store.phases,
        power_min_kw=store.power_min,
        taper=store.taper,
        power_wanted_kw=list(store.wanted_power) or None,
        after_deadline="stop" if store.stops else "continue",
        reserve_percent=store.percent(store.reserve),
    )


def _soft_bounds(case: Case, store: Store) -> list[sw.SoftBound]:
    return [
        sw.SoftBound(
            start=case.at(first),
            end=case.at(last),
            soc_min_percent=store.percent(least),
            soc_max_percent=store.percent(most),
            price_per_kwh_hour=price,
        )
        for first, last, least, most, price in store.soft
    ]


def _limits(case: Case, store: Store) -> list[sw.StorageLimit]:
    return [
        sw.StorageLimit(
            case.at(limit.first),
            case.at(limit.last),
            limit.power,
            limit.feed,
            store.percent(limit.least),
            store.percent(limit.most),
        )
        for limit in store.limits
    ]


def _battery(case: Case, store: Store) -> sw.StationaryBattery:
    return sw.StationaryBattery(
        store.name,
        capacity_kwh=store.capacity,
        soc_percent=store.percent(store.level),
        power_max_kw=store.power,
        discharge_max_kw=store.feed,
        efficiency=store.efficiency,
        discharge_efficiency=store.feed_efficiency,
        soc_min_percent=store.percent(store.kept),
        charge_limit_percent=store.percent(store.until),
        wear_price_per_kwh=store.wear,
        # A value decides what is left at the end, so that the model needs no row for it.
        end_value_per_kwh=store.end_value,
        soft_bounds=_soft_bounds(case, store),
        limits=_limits(case, store),
        power_wanted_kw=list(store.wanted_power) or None,
        group=store.group,
        phases=store.phases,
    )


class Model:
    """Columns by name, rows as dictionaries."""

    def __init__(self, case: Case) -> None:
        """Writes the case down."""
        self.case = case
        self.slots = range(len(case.prices))
        self.columns: dict[tuple[Any, ...], int] = {}
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.whole: list[int] = []
        self.rows: list[tuple[dict[int, float], float, float]] = []
        self.money: dict[int, float] = {}
        self.constant = 0.0
        self.breach: dict[int, float] = {}
        self.below: dict[int, float] = {}
        self.unserved: dict[int, float] = {}
        self.miss: dict[int, float] = {}
        self.early: dict[int, float] = {}
        self.late: dict[int, float] = {}
        self.outside: dict[int, float] = {}
        self.degree_hours = 0.0
        self.draws: list[dict[int, float]] = [{} for _ in self.slots]
        self.stores()
        self.runs()
        for room in self.case.rooms:
            self.temperatures(room)
        self.meter()
        self.grid_limits()
        self.group_limits()
        self.charges()

    def column(
        self, *name: Any, lower: float = 0.0, upper: float = FAR, whole: bool = False
    ) -> int:
        """Adds a column."""
        index = self.columns[name] = len(self.columns)
        self.lower.append(lower)
        self.upper.append(upper)
        self.whole.append(int(whole))
        return index

    def row(self, terms: dict[int, float], lower: float, upper: float) -> None:
        """Adds a row."""
        self.rows.append((terms, lower, upper))

    def stores(self) -> None:
        """Levels of everything that stores."""
        ends = sorted(
            {store.last for store in self.case.stores if store.wanted is not None}
            | {hour for store in self.case.stores for hour, _ in store.earlier}
            | {run.last for run in self.case.runs}
        )
        self.weight = {end: (len(ends) - index) / len(ends) for index, end in enumerate(ends)}
        for store in self.case.stores:
            self.levels(store)
            self.wishes(store)

    def levels(self, store: Store) -> None:
        """Charge, feed and level of each hour."""
        before: int | None = None
        ended: dict[int, float] = {}
        wanted = [kwh for _, kwh in store.earlier] + [store.wanted or 0.0]
        limits = {store.least_after(slot) for slot in range(store.first, store.last)}
        ceiling = store.ceiling
        for slot in range(store.first, store.last):
            power, until = store.power_in(slot), store.charges_until(slot)
            charge = self.column("charge", store.name, slot, upper=power)
            feed = self.column("feed", store.name, slot, upper=store.feed_in(slot))
            kept = min(max(store.reserve, store.kept), store.level)
            level = self.column("level", store.name, slot, lower=kept, upper=ceiling)
            least = max(store.reserve, store.least_after(slot))
            if least:
                below = self.column("below", store.name, slot)
                self.row({level: 1, below: 1}, least, np.inf)
                self.below[below] = 1.0
            charges = self.column("charges", store.name, slot, upper=1, whole=True)
            self.row({charge: 1, charges: -power}, -np.inf, 0)
            # It may also do neither, where one bound forbids charging and the other feeding.
            feeds = self.column("feeds", store.name, slot, upper=1, whole=True)
            self.row({feed: 1, feeds: -store.feed}, -np.inf, 0)
            self.row({charges: 1, feeds: 1}, -np.inf, 1)
            # Beyond its bounds it moves in one direction only.
            if ceiling > until:
                self.row({level: 1, charges: ceiling - until}, -np.inf, ceiling)
            if store.kept > kept:
                self.row({level: 1, feeds: -store.kept}, 0, np.inf)
            # A run that a top-off ended is not gone on with.
            self.row(ended | {charges: 1.0}, -np.inf, 1)
            if store.power_min:
                reached = {*wanted, store.reserve, ceiling, until, *limits}
                ended = self.top_offs(store, slot, [end for end in reached if end > kept])
                short = dict.fromkeys(ended, store.power_min)
                self.row({charge: 1, charges: -store.power_min} | short, 0, np.inf)
                self.row(ended | {charges: -1}, -np.inf, 0)
            terms = {level: 1.0, charge: -store.efficiency, feed: 1 / store.feed_efficiency}
            start = store.level if before is None else 0.0
            if before is not None:
                terms[before] = -1.0
            self.row(terms, start, start)
            self.taper(store, charge, level)
            self.soft_bounds(store, slot, level)
            self.wanted_power(store, slot, charge, level)
            self.draws[slot] |= {charge: 1.0, feed: -1.0}
            self.money[feed] = store.wear
            before = level
        if before is not None:
            self.money[before] = self.money.get(before, 0) - store.end_value

    def taper(self, store: Store, charge: int, level: int) -> None:
        """The power that a level leaves."""
        for at_zero, fall in store.taper_lines:
            self.row({charge: 1, level: fall}, -np.inf, at_zero)

    def wanted_power(self, store: Store, slot: int, charge: int, level: int) -> None:
        """What is missing of wanted power in an hour, unless the store takes no more."""
        asked = store.asked(slot)
        if not asked:
            return
        full = self.column("full", store.name, slot, upper=1, whole=True)
        self.row({level: 1, full: -store.charges_until(slot)}, 0, np.inf)
        spared = {full: asked}
        for index, (at_zero, fall) in enumerate(store.taper_lines):
            falls = self.column("tapers", store.name, slot, index, upper=1, whole=True)
            self.row({charge: 1, level: fall, falls: -at_zero}, 0, np.inf)
            spared[falls] = asked
        missing = self.column("unserved", store.name, slot)
        self.row(spared | {charge: 1, missing: 1}, asked, np.inf)
        self.unserved[missing] = store.priority

    def soft_bounds(self, store: Store, slot: int, level: int) -> None:
        """What the energy outside of bounds costs in an hour."""
        for index, (first, last, least, most, price) in enumerate(store.soft):
            if first <= slot < last:
                for name, sign, bound in (("low", 1, least), ("high", -1, most)):
                    outside = self.column(name, store.name, slot, index)
                    self.row({level: sign, outside: 1}, sign * bound, np.inf)
                    self.money[outside] = price

    def wishes(self, store: Store) -> None:
        """What is missing by each hour, and on departure."""
        for hour, kwh in store.earlier:
            self.wish(store, hour, kwh)
        if store.earlier and not store.stops:
            # What was missed is wanted on until departure.
            before = self.columns["level", store.name, store.last - 1]
            late = self.column("late", store.name)
            most = max(kwh for _, kwh in store.earlier)
            self.row({before: 1, late: store.efficiency}, most, np.inf)
            self.late[late] = store.priority
        if store.wanted is not None:
            self.wish(store, store.last, store.wanted)

    def wish(self, store: Store, hour: int, kwh: float) -> None:
        """What is missing of a level by an hour."""
        miss = self.column("miss", store.name, hour)
        level = self.columns["level", store.name, hour - 1]
        self.row({level: 1, miss: store.efficiency}, kwh, np.inf)
        self.miss[miss] = store.priority
        self.early[miss] = store.priority * self.weight[hour]

    def top_offs(self, store: Store, slot: int, ends: list[float]) -> dict[int, float]:
        """A slot below the least power, each to a level at which a run may end."""
        level = self.columns["level", store.name, slot]
        lower, upper = self.lower[level], self.upper[level]
        columns = {}
        for end in ends:
            top_off = self.column("top-off", store.name, slot, end, upper=1, whole=True)
            self.row({level: 1, top_off: lower - end}, lower, np.inf)
            self.row({level: 1, top_off: upper - end}, -np.inf, upper)
            columns[top_off] = 1.0
        return columns

    def runs(self) -> None:
        """One start, or none."""
        for run in self.case.runs:
            miss = self.column("miss", run.name, upper=1)
            terms = {miss: 1.0}
            for start in range(run.first, run.last - run.hours + 1):
                at = self.column("start", run.name, start, upper=1, whole=True)
                terms[at] = 1.0
                for slot in range(start, start + run.hours):
                    self.draws[slot][at] = run.power
            self.row(terms, 1, 1)
            self.miss[miss] = run.power * run.hours
            self.early[miss] = run.power * run.hours * self.weight[run.last]

    def temperatures(self, room: Room) -> None:
        """Temperature after each hour, and how far it is outside the band there."""
        sign = -1.0 if room.cools else 1.0
        before: int | None = None
        start = room.start
        count = len(self.slots)
        for slot in self.slots:
            power = self.column("power", room.name, slot, upper=room.power)
            after = self.column("temperature", room.name, slot, lower=-FAR)
            # A constant heat moves the temperature towards a limit that it would reach in time.
            rest = math.exp(-room.loss / room.capacity)
            warmer = (1 - rest) / room.loss if room.loss else 1 / room.capacity
            constant = (1 - rest) * room.outdoor[slot] + warmer * room.gain[slot]
            terms = {after: 1.0, power: -sign * warmer * room.cop[slot]}
            if before is None:
                constant += rest * start
            else:
                terms[before] = -rest
            self.row(terms, constant, constant)
            bands = [room.band_in(self.case.at(at).hour) for at in (slot, slot + 1) if at < count]
            low = max(band[0] for band in bands)
            high = max(low, min(band[1] for band in bands))
            cold, hot = (self.column(side, room.name, slot) for side in ("cold", "hot"))
            self.row({after: 1, cold: 1}, low, np.inf)
            self.row({after: 1, hot: -1}, -np.inf, high)
            self.outside |= {cold: room.priority, hot: room.priority}
            self.draws[slot][power] = 1.0
            before = after
        if before is not None:
            value = sign * room.end_value * room.capacity
            self.money[before] = -value
            self.constant += value * start

    def fixed(self, slot: int) -> float:
        """Load less sunshine that cannot be turned down."""
        load = self.case.load[slot] if self.case.load else 0.0
        sun = self.case.solar[slot] if self.case.solar and not self.case.is_curtailable else 0.0
        return load - sun

    def meter(self) -> None:
        """Import and export, never both."""
        case = self.case
        for slot in self.slots:
            if case.solar and case.is_curtailable:
                self.draws[slot][self.column("sun", slot, upper=case.solar[slot])] = -1.0
            most = 500.0
            bought, sold = self.column("import", slot), self.column("export", slot)
            buys = self.column("buys", slot, upper=1, whole=True)
            self.row({bought: 1, buys: -most}, -np.inf, 0)
            self.row({sold: 1, buys: most}, -np.inf, most)
            self.row(self.draws[slot] | {bought: -1, sold: 1}, -self.fixed(slot), -self.fixed(slot))
            price = case.prices[slot]
            if case.carbon_price:
                price += case.carbon_price * case.carbon[slot]
            self.money[bought] = price
            self.money[sold] = -(case.export[slot] if case.export else 0.0)

    def grid_limits(self) -> None:
        """Limits at the meter; a hard one gives way to what is fixed."""
        for name, most, price, sign in (
            ("import", self.case.import_limit, self.case.import_breach, 1),
            ("export", self.case.export_limit, None, -1),
        ):
            if most is None:
                continue
            for slot in self.slots:
                above = self.column("above", name, slot)
                if price is not None:
                    self.money[above] = price
                elif sign * self.fixed(slot) > most:
                    self.breach[above] = 1.0
                else:
                    self.upper[above] = 0.0
                self.row({self.columns[name, slot]: 1, above: -1}, -np.inf, most)

    def group_limits(self) -> None:
        """Limits of groups, whole and per phase, in both directions."""
        for name, (most, amps, _) in self.case.groups.items():
            inside = {name}
            for _ in self.case.groups:
                inside |= {child for child, (_, _, up) in self.case.groups.items() if up in inside}
            stores = [store for store in self.case.stores if store.group in inside]
            for slot in self.slots:
                there = [store for store in stores if store.first <= slot < store.last]
                if most is not None:
                    self.row(self.net(there, slot, dict.fromkeys(there, 1.0)), -most, most)
                for phase in ("L1", "L2", "L3") if amps is not None else ():
                    share = {s: (phase in s.phases) / len(s.phases) for s in there}
                    bound = (amps or 0.0) * 0.23
                    self.row(self.net(there, slot, share), -bound, bound)

    def net(self, stores: list[Store], slot: int, share: dict[Store, float]) -> dict[int, float]:
        """What some stores draw."""
        terms = {}
        for store in stores:
            terms[self.columns["charge", store.name, slot]] = share[store]
            terms[self.columns["feed", store.name, slot]] = -share[store]
        return terms

    def charges(self) -> None:
        """Peaks and blocks."""
        case = self.case
        for name, price, paid, hours in (
            ("import", case.peak_price, case.peak_paid, case.peak_hours),
            ("export", case.feed_peak_price, case.feed_peak_paid, case.feed_peak_hours),
        ):
            if not price:
                continue
            peak = self.column("peak", name, lower=paid)
            self.money[peak] = price
            self.constant -= price * paid
            # Windows begin at whole multiples of their length since midnight in UTC.
            first = case.start.astimezone(UTC).hour % hours
            for begin in range(-first, len(case.prices), hours):
                window = range(max(begin, 0), min(begin + hours, len(case.prices)))
                terms: dict[int, float] = {self.columns[name, slot]: 1.0 for slot in window}
                self.row(terms | {peak: -hours}, -np.inf, 0)
        if case.tiers:
            total: dict[int, float] = {self.columns["import", slot]: 1.0 for slot in self.slots}
            before = 0.0
            for index, (until, surcharge) in enumerate(case.tiers):
                width = FAR if until is None else until - before
                block = self.column("block", index, upper=width)
                self.money[block] = surcharge
                total[block] = -1.0
                before = until or 0.0
            self.row(total, 0, 0)

    def least(self, objective: dict[int, float]) -> float:
        """The least value of an objective, kept from now on."""
        count = len(self.columns)
        costs = np.zeros(count)
        for column, cost in objective.items():
            costs[column] = cost
        rows = [(r, c, v) for r, (terms, _, _) in enumerate(self.rows) for c, v in terms.items()]
        index = np.array([(r, c) for r, c, _ in rows]).T
        matrix = csr_array(([v for _, _, v in rows], index), shape=(len(self.rows), count))
        result = milp(
            costs,
            integrality=np.array(self.whole),
            bounds=Bounds(np.array(self.lower), np.array(self.upper)),
            constraints=LinearConstraint(
                matrix, [low for _, low, _ in self.rows], [high for _, _, high in self.rows]
            ),
            options={"mip_rel_gap": 1e-7},
        )
        assert result.success, result.message
        value = float(result.fun)
        if objective:
            self.row(dict(objective), -np.inf, value + 1e-5)
        return value

    def solve(self) -> tuple[float, float, float]:
        """Energy above hard limits, weighted shortfall, and money less stored value."""
        breach = self.least(self.breach) if self.breach else 0.0
        if self.below:
            self.least(self.below)
        unserved = self.least(self.unserved) if self.unserved else 0.0
        miss = self.least(self.miss) if self.miss else 0.0
        if miss > 1e-5:
            self.least(self.early)
        self.degree_hours = self.least(self.outside) if self.outside else 0.0
        if miss > 1e-5 and self.late:
            self.least(self.late)
        return breach, miss + unserved, self.least(self.money) + self.constant

    def nearest(self, before: dict[str, list[float]], budget: float) -> float:
        """The least distance from earlier powers at a cost of up to a budget above the least."""
        self.solve()
        # The last row holds the least money; the budget goes on top.
        terms, low, high = self.rows.pop()
        self.row(terms, low, high + budget)
        distance: dict[int, float] = {}
        fixed = 0.0
        for store in self.case.stores:
            for slot, power in enumerate(before[store.name]):
                if not store.first <= slot < store.last:
                    fixed += abs(power)
                    continue
                charge = self.columns["charge", store.name, slot]
                feed = self.columns["feed", store.name, slot]
                distance[self.change({charge: 1.0}, max(power, 0.0))] = 1.0
                distance[self.change({feed: 1.0}, max(-power, 0.0))] = 1.0
        for run in self.case.runs:
            for slot, power in enumerate(before[run.name]):
                starts = [
                    self.columns[name]
                    for name in self.columns
                    if name[:2] == ("start", run.name) and name[2] <= slot < name[2] + run.hours
                ]
                distance[self.change(dict.fromkeys(starts, run.power), power)] = 1.0
        return self.least(distance) + fixed

    def change(self, terms: dict[int, float], kept: float) -> int:
        """A column for the absolute difference of terms from a number."""
        apart = self.column("apart", len(self.columns))
        self.row(terms | {apart: -1.0}, -np.inf, kept)
        self.row(terms | {apart: 1.0}, kept, np.inf)
        return apart
