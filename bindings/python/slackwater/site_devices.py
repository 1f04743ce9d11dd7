"""Devices behind a meter, and charges of a site."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING, ClassVar, Literal

from slackwater import _engine
from slackwater._conversion import warn_of_largest
from slackwater._power import power_periods
from slackwater._record import Record
from slackwater._row import native_battery
from slackwater.heat import CelsiusOverTime, SetBack, cop_points, outdoor_periods
from slackwater.plan import AfterDeadline, Battery, PowerLimit, SocTarget, Target
from slackwater.series import Series, periods_in
from slackwater.storage import Consumption, StorageLimit

if TYPE_CHECKING:
    from slackwater.prices import Prices

Phase = Literal["L1", "L2", "L3"]

PowerOverTime = float | Sequence[float] | Sequence[tuple[datetime, datetime, float]] | Series
"""A power in kW: one number, one for each slot of the prices, periods
``(start, end, power_kw)`` in time order, or a :class:`slackwater.Series` in kW."""

THREE: tuple[Phase, ...] = ("L1", "L2", "L3")


def series(power: PowerOverTime, name: str = "power_kw") -> object:
    """A power over time as the native part takes it.

    Raises:
        InputError: It is a series in another unit than kW.
    """
    if isinstance(power, Series):
        return periods_in(power, "kW", name)
    if isinstance(power, int | float):
        return power
    # What numpy and others hold is copied.
    return list(power)


def _forecast(device: str, power: PowerOverTime) -> object:
    """The power of a load or of solar panels; it warns of one that looks like W."""
    taken = series(power, f"{device}: power_kw")
    each = taken if isinstance(taken, list) else [taken]
    values = (value[2] if isinstance(value, tuple | list) else value for value in each)
    warn_of_largest(f"{device}.power_kw", values)
    return taken


def _wanted(device: str, power: PowerOverTime | None) -> object:
    return None if power is None else series(power, f"{device}: power_wanted_kw")


def _minutes(length: timedelta) -> float:
    return length / timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Discharge(Record):
    """Limits of discharging a vehicle's battery.

    Attributes:
        discharge_max_kw: Highest power at the plug, as a positive number.
        discharge_efficiency: Energy at the plug per stored energy.
        soc_min_percent: State of charge below which it is not discharged.
        wear_price_per_kwh: Cost of wear per discharged kWh.
        discharge_to_grid: Whether it may discharge in slots in which the site
            exports. ``False`` for a battery that feeds the house alone.
    """

    discharge_max_kw: float
    discharge_efficiency: float = 1.0
    soc_min_percent: float = 0.0
    wear_price_per_kwh: float = 0.0
    discharge_to_grid: bool = True


@dataclass(frozen=True, kw_only=True)
class SoftBound(Record):
    """Bounds on the state of charge that cost money to leave.

    Each stored kWh outside of them costs ``price_per_kwh_hour`` an hour, by the
    state of charge at the end of each slot. The price is weighed against all
    others: it is a part of ``SitePlan.costs.breach``. A battery that begins
    outside comes back as soon as that pays.

    Attributes:
        price_per_kwh_hour: Price of a stored kWh outside of the bounds for an
            hour.
        soc_min_percent: Least state of charge; ``None`` for none.
        soc_max_percent: Highest state of charge; ``None`` for none.
        start: First instant at which they hold; ``None`` is ``now``.
        end: First instant after it; ``None`` is the end of the plan.

    Example:
        An empty battery fills to 20 percent in the dear hour already, and to no
        more:

        >>> from datetime import UTC, datetime
        >>> from slackwater import Prices, StationaryBattery, plan_site
        >>> noon = datetime(2026, 6, 1, 12, tzinfo=UTC)
        >>> prices = Prices.from_values(noon, [0.30, 0.10, 0.30], currency="EUR")
        >>> home = StationaryBattery(
        ...     "home",
        ...     capacity_kwh=10,
        ...     soc_percent=0,
        ...     power_max_kw=5,
        ...     soft_bounds=[SoftBound(soc_min_percent=20, price_per_kwh_hour=0.5)],
        ... )
        >>> plan = plan_site(prices, now=noon, devices=[home])
        >>> plan.device("home").power_kw, plan.costs.breach
        ([2.0, 0.0, 0.0], 0.0)
    """

    price_per_kwh_hour: float
    soc_min_percent: float | None = None
    soc_max_percent: float | None = None
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True)
class Vehicle(Record):
    """A vehicle at the plug from arrival to departure, except while it drives.

    Its power is ``power_max_kw``, or amps times volts times phases.

    A vehicle that comes and goes is one vehicle with ``consumption``: its state
    of charge goes on from one stay to the next. Each drive takes its energy at
    its start. It comes before the reserve and the targets, and is an entry of
    ``SitePlan.device(name).wishes`` after those of the targets: ``by`` is its
    start, and energies are counted at the plug. What the battery lacks is
    charged on the way, elsewhere; it is the ``shortfall_kwh`` of the drive, no
    exception, and the battery comes back empty.

    Attributes:
        name: Name, unlike all others of the site.
        power_max_kw: Highest charging power; or give ``amps``.
        targets: Wishes by deadlines: ``Target`` in kWh at the plug, counted
            from arrival, or ``SocTarget`` in percent, which needs ``battery``.
        battery: Capacity, state of charge, charge limit, efficiency.
        arrival: When it is plugged in; ``None`` is ``now``.
        departure: When it leaves; ``None`` is the end of the prices.
        group: Group whose limit it shares.
        amps: Highest current of each phase.
        volts: Voltage between a phase and neutral.
        phases: Phases that it loads, in equal parts.
        power_min_kw: Minimum power while charging: in each slot the mean power
            is zero or at least this. A remainder smaller than one slot at
            minimum power is charged in a part of a slot: the last slot of a
            run that ends at a target, at the reserve or at a full battery.
            Equal to ``power_max_kw`` it is a device that is on or off.
        reserve_percent: State of charge reached as soon as possible.
        priority: Weight of a missing kWh against those of other devices.
        fill_when_negative: Whether negative prices may fill the battery up to
            its charge limit, beyond the targets. Without ``battery`` nobody
            knows how much fits, and nothing is charged beyond the targets.
        discharge: Limits of discharging; ``None`` if it cannot discharge.
        charge_from_grid: Whether it may charge in slots in which the site
            imports. ``False`` for solar power and other batteries alone: what
            its targets miss for that has the cause ``no_surplus``.
        end_value_per_kwh: Value of a stored kWh on departure.
        taper: Highest power by state of charge, ``(percent, kW)``; it must be
            non-increasing and concave, and is linear between the points.
        consumption: Drives between arrival and departure, in any order:
            ``Consumption``, or ``(start, end, energy_kwh)``, of stored energy in
            kWh. They need ``battery``, and targets in percent that are due
            before or after them. Of a drive under way, the part counts that is
            left of its time. Drives after the last price are charged for before
            it, as targets are.
        soft_bounds: Bounds on the state of charge with a price, which need
            ``battery``. The vehicle charges beyond its targets for them where
            that pays.
        limits: Periods with power limits and state-of-charge bounds:
            ``StorageLimit``, or ``(start, end, power_max_kw)``. A state of
            charge that is wanted in a period comes before targets, and is
            reached as far as full power allows.
        power_wanted_kw: Power that it is to take over time, at any price, until
            it is at its charge limit, and as far as ``taper`` leaves it: one
            number, one for each slot of the prices, or periods; between
            periods none is wanted. It needs ``battery``, and is at most
            ``power_max_kw``, which is full power. A demand in kWh is that
            energy over the hours of its slot. It comes before targets and
            counts towards them. What limits leave of it is a shortfall, an
            entry of ``wishes`` after those of drives.
        after_deadline: Whether energy that misses a deadline is still wanted by
            departure (``"continue"``) or no more (``"stop"``).

    Example:
        A car of 4 kW that is half full leaves at 19:00 and uses 12 kWh. Until
        then 2 kWh are missing; at 22:00 it is to be half full again:

        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Battery, Consumption, Prices, SocTarget, plan_site
        >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
        >>> prices = Prices.from_values(six, [0.10, 0.30, 0.20, 0.10], currency="EUR")
        >>> car = Vehicle(
        ...     "car",
        ...     power_max_kw=4,
        ...     battery=Battery(20, 50),
        ...     targets=[SocTarget(None, 50)],
        ...     consumption=[Consumption(six + hour, six + 2 * hour, energy_kwh=12)],
        ... )
        >>> plan = plan_site(prices, now=six, devices=[car])
        >>> plan.device("car").power_kw
        [4.0, 0.0, 4.0, 4.0]
        >>> [round(percent) for percent in plan.device("car").soc_percent]
        [50, 70, 10, 30, 50]
        >>> target, drive = plan.device("car").wishes
        >>> drive.wanted_kwh, drive.shortfall_kwh
        (12.0, 0.0)
    """

    name: str
    power_max_kw: float | None = field(default=None, kw_only=True)
    targets: Iterable[Target | SocTarget] = field(default=(), kw_only=True)
    battery: Battery | None = field(default=None, kw_only=True)
    arrival: datetime | None = field(default=None, kw_only=True)
    departure: datetime | None = field(default=None, kw_only=True)
    group: str | None = field(default=None, kw_only=True)
    amps: float | None = field(default=None, kw_only=True)
    volts: float = field(default=230.0, kw_only=True)
    phases: Sequence[Phase] = field(default=THREE, kw_only=True)
    power_min_kw: float = field(default=0.0, kw_only=True)
    reserve_percent: float = field(default=0.0, kw_only=True)
    priority: float = field(default=1.0, kw_only=True)
    fill_when_negative: bool = field(default=True, kw_only=True)
    discharge: Discharge | None = field(default=None, kw_only=True)
    charge_from_grid: bool = field(default=True, kw_only=True)
    end_value_per_kwh: float = field(default=0.0, kw_only=True)
    taper: Sequence[tuple[float, float]] = field(default=(), kw_only=True)
    consumption: Iterable[Consumption | tuple[datetime, datetime, float]] = field(
        default=(), kw_only=True
    )
    soft_bounds: Iterable[SoftBound] = field(default=(), kw_only=True)
    limits: Iterable[StorageLimit | tuple[datetime, datetime, float | None]] = field(
        default=(), kw_only=True
    )
    power_wanted_kw: PowerOverTime | None = field(default=None, kw_only=True)
    after_deadline: AfterDeadline = field(default="continue", kw_only=True)

    _kind: ClassVar[str] = "vehicle"

    def __post_init__(self) -> None:
        """Keep targets, drives, bounds and limits, so that an iterator can be read twice."""
        object.__setattr__(self, "soft_bounds", tuple(self.soft_bounds))
        object.__setattr__(self, "limits", tuple(StorageLimit(*limit) for limit in self.limits))
        object.__setattr__(self, "targets", tuple(self.targets))
        drives = tuple(Consumption(*period) for period in self.consumption)
        object.__setattr__(self, "consumption", drives)

    @property
    def _power_wanted(self) -> object:
        return _wanted(self.name, self.power_wanted_kw)

    @property
    def _phases(self) -> list[str]:
        return list(self.phases)

    @property
    def _current(self) -> tuple[float, float] | None:
        return None if self.amps is None else (self.amps, self.volts)

    @property
    def _fills(self) -> bool:
        return self.fill_when_negative and self.battery is not None

    @property
    def _battery(self) -> tuple[float, float | None, float | None, float, float] | None:
        return None if self.battery is None else native_battery(self.battery)

    @property
    def _energy_targets(self) -> list[Target]:
        return [target for target in self.targets if not isinstance(target, SocTarget)]

    @property
    def _soc_targets(self) -> list[SocTarget]:
        return [target for target in self.targets if isinstance(target, SocTarget)]

    @property
    def _taper(self) -> list[tuple[float, float]]:
        return list(self.taper)

    @property
    def _consumption(self) -> list[Consumption | tuple[datetime, datetime, float]]:
        return list(self.consumption)


@dataclass(frozen=True)
class StationaryBattery(Record):
    """A stationary battery.

    Attributes:
        name: Name, unlike all others of the site.
        capacity_kwh: Usable energy of the full battery.
        soc_percent: State of charge now.
        power_max_kw: Highest charging power.
        discharge_max_kw: Highest discharging power; ``None`` is ``power_max_kw``.
        efficiency: Stored energy per energy charged.
        discharge_efficiency: Energy at the plug per stored energy.
        soc_min_percent: State of charge below which it is not discharged. A
            battery that begins below it may stay there.
        charge_limit_percent: State of charge at which charging ends. A battery
            that begins above it keeps its level or is discharged, and is
            charged again only below it.
        target_percent: State of charge wanted when prices end. Without it and
            without ``end_value_per_kwh`` the battery ends with at least what
            it holds now: energy that it holds already is no saving. With 0 it
            may end empty.
        wear_price_per_kwh: Cost of wear per discharged kWh.
        end_value_per_kwh: Value of a stored kWh when prices end. It decides
            how much is left, in place of a target.
        charge_from_grid: Whether it may charge in slots in which the site
            imports. ``False`` for a battery that stores solar power alone.
        discharge_to_grid: Whether it may discharge in slots in which the site
            exports. ``False`` for a battery that feeds the house alone.
        soft_bounds: Bounds on the state of charge with a price.
        limits: Periods with power limits and state-of-charge bounds:
            ``StorageLimit``, or ``(start, end, power_max_kw)``. A state of
            charge that is wanted in a period comes before money, and is
            reached as far as full power allows.
        power_wanted_kw: Power that it is to take over time, at any price, until
            it is at its charge limit: one number, one for each slot of the
            prices, or periods; between periods none is wanted. It is at most
            ``power_max_kw``, which is full power. A demand in kWh is that
            energy over the hours of its slot. What limits leave of it is a
            shortfall, an entry of ``wishes`` after the target.
        group: Group whose limit it shares.
        phases: Phases that it loads, in equal parts.

    Example:
        A battery of the sun: 2 of its 3 kWh are left by the house, which takes
        them back in the evening.

        >>> from datetime import UTC, datetime
        >>> from slackwater import Load, Prices, Solar, plan_site
        >>> noon = datetime(2026, 6, 1, 12, tzinfo=UTC)
        >>> prices = Prices.from_values(noon, [0.10, 0.30], currency="EUR")
        >>> home = StationaryBattery(
        ...     "home", capacity_kwh=10, soc_percent=0, power_max_kw=5, charge_from_grid=False
        ... )
        >>> sun = Solar("sun", power_kw=[3.0, 0.0], is_curtailable=False)
        >>> house = Load("house", power_kw=[1.0, 1.0])
        >>> plan_site(prices, now=noon, devices=[home, sun, house]).device("home").power_kw
        [1.0, -1.0]
    """

    name: str
    capacity_kwh: float = field(kw_only=True)
    soc_percent: float = field(kw_only=True)
    power_max_kw: float = field(kw_only=True)
    discharge_max_kw: float | None = field(default=None, kw_only=True)
    efficiency: float = field(default=1.0, kw_only=True)
    discharge_efficiency: float = field(default=1.0, kw_only=True)
    soc_min_percent: float = field(default=0.0, kw_only=True)
    charge_limit_percent: float = field(default=100.0, kw_only=True)
    target_percent: float | None = field(default=None, kw_only=True)
    wear_price_per_kwh: float = field(default=0.0, kw_only=True)
    end_value_per_kwh: float | None = field(default=None, kw_only=True)
    charge_from_grid: bool = field(default=True, kw_only=True)
    discharge_to_grid: bool = field(default=True, kw_only=True)
    soft_bounds: Iterable[SoftBound] = field(default=(), kw_only=True)
    limits: Iterable[StorageLimit | tuple[datetime, datetime, float | None]] = field(
        default=(), kw_only=True
    )
    power_wanted_kw: PowerOverTime | None = field(default=None, kw_only=True)
    group: str | None = field(default=None, kw_only=True)
    phases: Sequence[Phase] = field(default=THREE, kw_only=True)

    _kind: ClassVar[str] = "battery"

    def __post_init__(self) -> None:
        """Keep bounds and limits, so that an iterator can be read twice."""
        object.__setattr__(self, "soft_bounds", tuple(self.soft_bounds))
        object.__setattr__(self, "limits", tuple(StorageLimit(*limit) for limit in self.limits))

    @property
    def _power_wanted(self) -> object:
        return _wanted(self.name, self.power_wanted_kw)

    @property
    def _soc_end(self) -> float | None:
        if self.target_percent is None and self.end_value_per_kwh is None:
            return min(self.soc_percent, self.charge_limit_percent)
        return self.target_percent

    @property
    def _end_value(self) -> float:
        return 0.0 if self.end_value_per_kwh is None else self.end_value_per_kwh

    @property
    def _phases(self) -> list[str]:
        return list(self.phases)

    @property
    def _battery(self) -> tuple[float, float | None, float | None, float, float]:
        return (
            self.capacity_kwh,
            self.soc_percent,
            None,
            self.charge_limit_percent,
            self.efficiency,
        )

    @property
    def _discharge(self) -> Discharge:
        most = self.power_max_kw if self.discharge_max_kw is None else self.discharge_max_kw
        return Discharge(
            discharge_max_kw=most,
            discharge_efficiency=self.discharge_efficiency,
            soc_min_percent=self.soc_min_percent,
            wear_price_per_kwh=self.wear_price_per_kwh,
            discharge_to_grid=self.discharge_to_grid,
        )


@dataclass(frozen=True)
class Solar(Record):
    """Solar power as forecast.

    Attributes:
        name: Name, unlike all others of the site.
        power_kw: Power that it yields: one number, one for each slot of the
            prices, or periods. It must be known wherever there is a price.
        is_curtailable: Whether it can be curtailed.
        group: Group whose limit it shares.
        phases: Phases that it feeds, in equal parts.
    """

    name: str
    power_kw: PowerOverTime = field(kw_only=True)
    is_curtailable: bool = field(default=True, kw_only=True)
    group: str | None = field(default=None, kw_only=True)
    phases: Sequence[Phase] = field(default=THREE, kw_only=True)

    _kind: ClassVar[str] = "solar"

    @property
    def _phases(self) -> list[str]:
        return list(self.phases)

    @property
    def _power(self) -> object:
        return _forecast(self.name, self.power_kw)


@dataclass(frozen=True)
class Load(Record):
    """An inflexible load, as forecast.

    Attributes:
        name: Name, unlike all others of the site.
        power_kw: Power that it draws: one number, one for each slot of the
            prices, or periods. It must be known wherever there is a price.
        group: Group whose limit it shares.
        phases: Phases that it loads, in equal parts.
    """

    name: str
    power_kw: PowerOverTime = field(kw_only=True)
    group: str | None = field(default=None, kw_only=True)
    phases: Sequence[Phase] = field(default=THREE, kw_only=True)

    _kind: ClassVar[str] = "load"

    @property
    def _phases(self) -> list[str]:
        return list(self.phases)

    @property
    def _power(self) -> object:
        return _forecast(self.name, self.power_kw)


@dataclass(frozen=True)
class ShiftableLoad(Record):
    """A load that runs once, without pause, such as a dishwasher.

    It starts with a slot, or so that it ends at ``latest``.

    Attributes:
        name: Name, unlike all others of the site.
        power_kw: Power while it runs.
        duration: How long it runs.
        earliest: First instant at which it may start; ``None`` is ``now``.
        latest: Instant by which it must have ended; ``None`` is the end of
            the prices.
        priority: What a kWh not run weighs against what others miss.
        group: Group whose limit it shares.
        phases: Phases that it loads, in equal parts.
    """

    name: str
    power_kw: float = field(kw_only=True)
    duration: timedelta = field(kw_only=True)
    earliest: datetime | None = field(default=None, kw_only=True)
    latest: datetime | None = field(default=None, kw_only=True)
    priority: float = field(default=1.0, kw_only=True)
    group: str | None = field(default=None, kw_only=True)
    phases: Sequence[Phase] = field(default=THREE, kw_only=True)

    _kind: ClassVar[str] = "shiftable_load"

    @property
    def _phases(self) -> list[str]:
        return list(self.phases)

    @property
    def _duration_minutes(self) -> float:
        return _minutes(self.duration)


@dataclass(frozen=True)
class HeatUnit(Record):
    """A heat pump, heater or air conditioner with its room or tank.

    The room is that of :func:`slackwater.plan_heat`: one heat capacity with one loss, solved
    exactly within each slot. The unit runs at any power up to ``power_max_kw``. A unit that is on
    or off cannot be planned on a site.

    The comfort band comes after drives, reserves and targets by their deadlines, and before money:
    where a limit leaves too little for a deadline and the band, the deadline is met and the room is
    outside the band for as few degree-hours as possible. ``SitePlan.device(name).heat`` has its
    temperatures and degree-hours.

    Attributes:
        name: Name, unlike all others of the site.
        capacity_kwh_per_k: Heat that warms the room or tank by one degree, in
            kWh per K.
        loss_kw_per_k: Heat lost for each degree above the outside, in kW per K.
        temperature_celsius: Temperature at ``now``, in °C.
        comfort_celsius: Lowest and highest wanted temperature, in °C.
        power_max_kw: Highest electrical power of the unit, in kW.
        outdoor_celsius: Temperature outside, or around a tank, in °C: a number,
            one for each slot of the prices, or periods ``(start, end, celsius)``.
            It covers the plan, time without a price included.
        cop: Heat moved per electrical energy: a number, or pairs
            ``(outdoor_celsius, cop)`` with rising temperatures.
        gains_kw: Heat from sun, people or devices, in kW, in the form of
            ``outdoor_celsius``; negative is drawn, as hot water is.
        set_backs: Periods of every day with bands of their own: ``SetBack``, or
            ``(start, end, min_celsius, max_celsius)``.
        time_zone: IANA name of the zone on whose clock set-backs are.
        power_limits: Periods ``(start, end, power_max_kw)`` with a lower one.
        mode: ``"heat"``, or ``"cool"`` for a unit that takes heat out.
        end_value_per_kwh: Value of a kWh of heat (of cold) stored at the end.
            With 0 the plan ends at the edge of the band.
        priority: Weight of a degree-hour against those of other heat units.
        group: Group whose limit it shares.
        phases: Phases that it loads, in equal parts.

    Example:
        A van wants 4 kWh in the cheap hour, of which the connection leaves a heat pump 1 kW:

        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Prices, plan_site
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.10, 0.40], currency="EUR")
        >>> van = Vehicle("van", power_max_kw=4, targets=[Target(six + timedelta(hours=1), 4)])
        >>> pump = HeatUnit(
        ...     "pump",
        ...     capacity_kwh_per_k=5,
        ...     loss_kw_per_k=0.2,
        ...     temperature_celsius=20,
        ...     comfort_celsius=(20, 23),
        ...     power_max_kw=3,
        ...     cop=3,
        ...     outdoor_celsius=5,
        ... )
        >>> plan = plan_site(prices, now=six, devices=[van, pump], import_limit_kw=5)
        >>> [round(power, 6) for power in plan.device("pump").power_kw]
        [1.0, 1.0]
        >>> plan.device("pump").heat.slots[-1].temperature_celsius
        20.0
    """

    name: str
    capacity_kwh_per_k: float = field(kw_only=True)
    loss_kw_per_k: float = field(kw_only=True)
    temperature_celsius: float = field(kw_only=True)
    comfort_celsius: tuple[float, float] = field(kw_only=True)
    power_max_kw: float = field(kw_only=True)
    outdoor_celsius: CelsiusOverTime = field(kw_only=True)
    cop: float | Sequence[tuple[float, float]] = field(default=1.0, kw_only=True)
    gains_kw: PowerOverTime | None = field(default=None, kw_only=True)
    set_backs: Iterable[SetBack | tuple[str, str, float, float]] = field(default=(), kw_only=True)
    time_zone: str = field(default="UTC", kw_only=True)
    power_limits: Iterable[PowerLimit | tuple[datetime, datetime, float]] = field(
        default=(), kw_only=True
    )
    mode: Literal["heat", "cool"] = field(default="heat", kw_only=True)
    end_value_per_kwh: float = field(default=0.0, kw_only=True)
    priority: float = field(default=1.0, kw_only=True)
    group: str | None = field(default=None, kw_only=True)
    phases: Sequence[Phase] = field(default=THREE, kw_only=True)

    _kind: ClassVar[str] = "heat_unit"

    def __post_init__(self) -> None:
        """Keep set-backs and power limits, so that an iterator can be read twice."""
        object.__setattr__(self, "set_backs", tuple(SetBack(*period) for period in self.set_backs))
        object.__setattr__(self, "power_limits", tuple(self.power_limits))

    def _placed(self, prices: Prices, now: datetime, until: datetime | None) -> HeatUnit:
        """This unit with its series as periods, from the present to the end of a plan."""
        outdoor = outdoor_periods(self.outdoor_celsius, prices, (now, until))
        gains = power_periods("gains_kw", self.gains_kw, prices)
        return replace(self, outdoor_celsius=outdoor, gains_kw=gains)

    @property
    def _phases(self) -> list[str]:
        return list(self.phases)

    @property
    def _room(self) -> HeatUnit:
        return self

    @property
    def _set_backs(self) -> list[object]:
        return list(self.set_backs)

    @property
    def _power_limits(self) -> list[object]:
        return list(self.power_limits)

    @property
    def _cop(self) -> list[tuple[float, float]]:
        return cop_points(self.cop)

    @property
    def _outdoor(self) -> object:
        return self.outdoor_celsius

    @property
    def _gains(self) -> object:
        return self.gains_kw or []


Device = Vehicle | StationaryBattery | Solar | Load | ShiftableLoad | HeatUnit


@dataclass(frozen=True)
class Group(Record):
    """Devices that share a limit, such as a fuse. Power counts in either direction.

    Attributes:
        name: Name, unlike all others of the site.
        limit_kw: Limit on the power of all phases together.
        amps: Limit on the current of each phase.
        volts: Voltage between a phase and neutral.
        parent: Group that this one is a part of.
        breach_price_per_kwh: Price of each kWh above the limits; ``None``
            forbids it.
    """

    name: str
    limit_kw: PowerOverTime | None = field(default=None, kw_only=True)
    amps: float | None = field(default=None, kw_only=True)
    volts: float = field(default=230.0, kw_only=True)
    parent: str | None = field(default=None, kw_only=True)
    breach_price_per_kwh: float | None = field(default=None, kw_only=True)

    @property
    def _limit(self) -> object:
        return None if self.limit_kw is None else series(self.limit_kw, "limit_kw")

    @property
    def _current(self) -> tuple[float, float] | None:
        return None if self.amps is None else (self.amps, self.volts)


@dataclass(frozen=True, kw_only=True)
class DemandCharge(Record):
    """A price on the highest mean power at the meter over windows of time.

    It counts the import, or the export as ``export_demand_charge`` of
    ``plan_site``.

    Attributes:
        peak_price_per_kw: Price of each kW of the peak above ``peak_incurred_kw``.
        peak_incurred_kw: Peak that is paid for already.
        window: Length of a window, in whole minutes. Windows begin at whole
            multiples of it since midnight in UTC.
        window_energy_kwh: Energy imported, or exported, so far in the window of
            ``now``.
        periods: Periods ``(start, end)`` whose energy counts; ``None`` for all,
            an empty list for never.
    """

    peak_price_per_kw: float
    peak_incurred_kw: float = 0.0
    window: timedelta = timedelta(minutes=15)
    window_energy_kwh: float = 0.0
    periods: Sequence[tuple[datetime, datetime]] | None = None

    @property
    def is_never(self) -> bool:
        """Whether no energy counts, because there is no period."""
        return self.periods is not None and not list(self.periods)

    @property
    def _window_minutes(self) -> int:
        minutes = self.window // timedelta(minutes=1)
        if minutes * timedelta(minutes=1) != self.window or not 0 < minutes < 2**32:
            message = f"demand_charge.window is {self.window}; it is whole minutes"
            raise _engine.InputError(message)
        return minutes

    @property
    def _periods(self) -> list[tuple[datetime, datetime]]:
        return [] if self.periods is None else list(self.periods)


@dataclass(frozen=True, kw_only=True)
class Tiers(Record):
    """Blocks of imported energy, of rising surcharges.

    Attributes:
        blocks: ``(until_kwh, surcharge_per_kwh)``, the first block first; the
            last one has ``None`` for its end. The surcharge comes on top of
            the prices.
        energy_before_kwh: Energy imported since the count began.
    """

    blocks: Sequence[tuple[float | None, float]]
    energy_before_kwh: float = 0.0

    @property
    def _blocks(self) -> list[tuple[float | None, float]]:
        return [(until, surcharge) for until, surcharge in self.blocks]


@dataclass(frozen=True, kw_only=True)
class Carbon(Record):
    """A price on the emissions of imported energy.

    Attributes:
        price_per_kg: Money per kg of CO2.
        intensity: A :class:`slackwater.Series` of carbon intensity, which is
            in kg per kWh, or periods ``(start, end, kg_per_kwh)`` in time
            order. They must cover all time that has a price.
    """

    price_per_kg: float
    intensity: Series | Sequence[tuple[datetime, datetime, float]]

    @property
    def _intensity(self) -> list[tuple[datetime, datetime, float]]:
        if isinstance(self.intensity, Series):
            slots = periods_in(self.intensity, "kg/kWh", "carbon.intensity")
        else:
            slots = [(start, end, value) for start, end, value in self.intensity]
        for index, (_, _, value) in enumerate(slots):
            if not isfinite(value):
                message = (
                    f"carbon.intensity[{index}] is {value} kg per kWh, which is no finite number"
                )
                raise _engine.InputError(message)
        warn_of_largest("carbon.intensity.kg_per_kwh", (value for _, _, value in slots))
        return slots
