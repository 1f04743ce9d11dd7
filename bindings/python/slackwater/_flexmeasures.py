"""The problems that FlexMeasures gives its solver, planned by slackwater.

FlexMeasures works out all fields of a flex-model and a flex-context, with their sensors and
units, before it calls its solver: :func:`solve` takes what that solver takes. Powers are in MW,
levels are MWh above the level at the start, prices are per MWh.

A problem is planned without those of its limits that slackwater cannot force: a relaxation,
whose plan is proved optimal. Then the plan is checked against every limit. One that keeps them
all is optimal for FlexMeasures, too; for any other the field that is in the way is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from slackwater import _engine
from slackwater._engine import InputError
from slackwater.plan import Battery, SocTarget
from slackwater.prices import Prices
from slackwater.site import SitePlan, plan_site
from slackwater.site_devices import (
    DemandCharge,
    Device,
    Discharge,
    Load,
    Solar,
    Vehicle,
)
from slackwater.storage import Consumption, StorageLimit, plan_storage

Numbers = npt.NDArray[np.float64]

KILO = 1000.0
"""kW per MW, and kWh per MWh."""

TOLERANCE = 1e-6
"""Most that a plan may miss a limit by, in MW and MWh: FlexMeasures rounds to the sixth decimal."""

NO_CURRENCY = "XXX"
"""The code of ISO 4217: the solver is not told a currency, and no plan is handed out."""

REMEDY = "leave it out, or schedule this asset with StorageScheduler"

SOFT = {
    "soc minima": "soc-minima",
    "soc maxima": "soc-maxima",
    "soc targets": "soc-targets",
    "consumption breach": "consumption-capacity",
    "production breach": "production-capacity",
}

SOFT_NAME = re.compile(
    r"(electricity )?(any|all) (soc \w+|(?:consumption|production) breach)(?:es)?(?: device \d+)?"
)


def refuse(name: str, why: str, remedy: str = REMEDY) -> InputError:
    """The error of a field that slackwater cannot honour."""
    return InputError(f"{name} {why}; {remedy}")


@dataclass(frozen=True)
class Stock:
    """A store of energy, slot by slot.

    Attributes:
        floor: Lowest levels at the ends of slots; -inf where there is none.
        ceiling: Highest levels; inf where there is none.
        soft_floor: Which of the lowest levels may be missed, at a price.
        soft_ceiling: Which of the highest levels may be passed, at a price.
        usage: Stored energy used up in each slot.
        efficiency: Stored energy per energy at the plug.
        discharge_efficiency: Energy at the plug per stored energy.
        worth: What a MWh that is put in during a slot saves by being there early.
    """

    floor: Numbers
    ceiling: Numbers
    soft_floor: npt.NDArray[np.bool_]
    soft_ceiling: npt.NDArray[np.bool_]
    usage: Numbers
    efficiency: float
    discharge_efficiency: float
    worth: Numbers

    @property
    def is_bounded(self) -> bool:
        """Whether any level is wanted or forbidden."""
        return bool(np.isfinite(self.floor).any() or np.isfinite(self.ceiling).any())

    @property
    def hard_floor(self) -> Numbers:
        """Lowest levels that may not be missed at any price."""
        return np.where(self.soft_floor, -np.inf, self.floor)

    @property
    def hard_ceiling(self) -> Numbers:
        """Highest levels that may not be passed at any price."""
        return np.where(self.soft_ceiling, np.inf, self.ceiling)

    def levels(self, power: Numbers, hours: float) -> Numbers:
        """Levels at the ends of slots under a power."""
        gained = np.maximum(power, 0) * self.efficiency
        lost = np.maximum(-power, 0) / self.discharge_efficiency
        return np.cumsum((gained - lost) * hours - self.usage)


@dataclass(frozen=True)
class Machine:
    """A device: free between two powers, or fixed, and then without a stock."""

    name: str
    power_min: Numbers
    power_max: Numbers
    stock: Stock | None


@dataclass(frozen=True)
class Soft:
    """A limit that may be passed at a price, which is high enough that it never pays.

    Attributes:
        name: Field of FlexMeasures.
        device: Position of the device; ``None`` for the site.
        is_level: Whether it bounds levels, and not powers.
        price: Price per MWh or MW in each slot; inf where there is no limit.
    """

    name: str
    device: int | None
    is_level: bool
    price: Numbers


@dataclass(frozen=True)
class Problem:
    """Problem to be planned."""

    starts: list[datetime]
    slot: timedelta
    buy: Numbers
    sell: Numbers
    machines: list[Machine]
    site_min: Numbers
    site_max: Numbers
    peak: tuple[float, float] | None
    soft: list[Soft] = field(default_factory=list)

    @property
    def hours(self) -> float:
        """Length of a slot."""
        return self.slot / timedelta(hours=1)

    @property
    def slots(self) -> list[tuple[datetime, datetime]]:
        """Starts and ends of all slots."""
        return [(start, start + self.slot) for start in self.starts]

    @property
    def fixed(self) -> Numbers:
        """Power of all devices that leave no choice."""
        fixed = [each.power_min for each in self.machines if each.stock is None]
        return np.asarray(np.sum([np.zeros(len(self.starts)), *fixed], axis=0), dtype=float)

    @property
    def free(self) -> list[int]:
        """Positions of the other devices."""
        return [at for at, each in enumerate(self.machines) if each.stock is not None]

    @property
    def is_separable(self) -> bool:
        """Whether devices concern each other through the limits of the site alone."""
        stocks = [each.stock for each in self.machines if each.stock is not None]
        has_stocks = all(stock.is_bounded for stock in stocks)
        is_alone = len(self.free) == 1 and not self.fixed.any()
        one_price = np.array_equal(self.buy, self.sell)
        return has_stocks and self.peak is None and (is_alone or one_price)


# ---------------------------------------------------------------- reading


def column(frame: pd.DataFrame, name: str, missing: float) -> Numbers:
    """A column of numbers, with ``missing`` where there is none."""
    if name not in frame:
        return np.full(len(frame), missing)
    values = np.array(frame[name].to_numpy(), dtype=float)
    return np.where(np.isnan(values), missing, values)


def constant(frame: pd.DataFrame, name: str, field_name: str) -> float:
    """An efficiency that does not change."""
    values = column(frame, name, 1.0)
    if np.ptp(values) > 0:
        raise refuse(field_name, f"changes from {values.min():g} to {values.max():g}")
    if not 0.01 <= values[0] <= 1:
        raise refuse(field_name, f"is {values[0]:g}, not from 0.01 to 1")
    return float(values[0])


def read_machine(at: int, frame: pd.DataFrame, hours: float) -> Machine:
    """A device from its constraints."""
    equals = column(frame, "derivative equals", np.nan)
    if not np.isnan(equals).any():
        return Machine(f"device {at}", equals, equals, None)
    name = f"device {at}"
    power_min = column(frame, "derivative min", -np.inf)
    power_max = column(frame, "derivative max", np.inf)
    if not np.isnan(equals).all():
        raise refuse("inflexible-device-sensors", f"has gaps in the power of {name}", "fill them")
    if np.any(power_min > 0) or np.any(power_max < 0):
        raise refuse("power-capacity", f"of {name} forbids it to stand still")
    if not (np.isfinite(power_min).all() and np.isfinite(power_max).all()):
        raise refuse("power-capacity", f"of {name} is missing", "give it")
    return Machine(name, power_min, power_max, read_stock(frame, hours))


def read_stock(frame: pd.DataFrame, hours: float) -> Stock:
    """The stock of a device; without any bound, if it stores nothing."""
    low, high = column(frame, "min", -np.inf), column(frame, "max", np.inf)
    equals = column(frame, "equals", np.nan)
    is_met = ~np.isnan(equals)
    floor = np.where(is_met, np.fmax(low, np.fmin(equals, high)), low) * hours
    ceiling = np.where(is_met, np.fmin(high, np.fmax(equals, low)), high) * hours
    usage = -column(frame, "stock delta", 0.0) * hours
    if np.any(column(frame, "efficiency", 1.0) != 1):
        raise refuse("storage-efficiency", "is below 100 %")
    if np.any(usage < 0):
        raise refuse("soc-gain", "is more than soc-usage")
    return Stock(
        floor=floor,
        ceiling=ceiling,
        soft_floor=np.zeros(len(frame), dtype=bool),
        soft_ceiling=np.zeros(len(frame), dtype=bool),
        usage=usage,
        efficiency=constant(frame, "derivative up efficiency", "charging-efficiency"),
        discharge_efficiency=constant(
            frame, "derivative down efficiency", "discharging-efficiency"
        ),
        worth=np.zeros(len(frame)),
    )


def read(
    frames: Sequence[pd.DataFrame],
    site: Sequence[pd.DataFrame],
    commitments: Sequence[Any],
) -> Problem:
    """The problem of a call of the solver.

    Raises:
        InputError: It has something that slackwater cannot plan.
    """
    index: Any = frames[0].index
    slot = pd.Timedelta(index.freq).to_pytimedelta()
    hours = slot / timedelta(hours=1)
    zeros = np.zeros(len(index))
    problem = Problem(
        # In UTC, because a sum with a length is one of wall clocks in other zones.
        starts=list(index.tz_convert("UTC").to_pydatetime()),
        slot=slot,
        buy=zeros,
        sell=zeros,
        machines=[read_machine(at, frame, hours) for at, frame in enumerate(frames)],
        site_min=np.max([zeros - np.inf, *(column(s, "derivative min", -np.inf) for s in site)], 0),
        site_max=np.min([zeros + np.inf, *(column(s, "derivative max", np.inf) for s in site)], 0),
        peak=None,
    )
    for commitment in commitments:
        problem = add_commitment(problem, commitment)
    return problem


def add_commitment(problem: Problem, commitment: Any) -> Problem:  # noqa: ANN401  of FlexMeasures
    """The problem with one more commitment."""
    name = commitment.name
    if commitment.provenance == "custom":
        raise refuse("commitments", f"has {name!r}")
    if name == "electricity net energy":
        buy = commitment.upwards_deviation_price.to_numpy(dtype=float) / problem.hours
        sell = commitment.downwards_deviation_price.to_numpy(dtype=float) / problem.hours
        return replace(problem, buy=buy, sell=sell)
    if match := re.fullmatch(r"prefer a full storage (\d+) sooner", name):
        return prefer_full(problem, int(match[1]), commitment)
    if name == "electricity consumption peak":
        return replace(problem, peak=read_peak(commitment))
    if match := SOFT_NAME.fullmatch(name):
        of_site, extent, kind = match.groups()
        # The same limit once more, priced by its largest breach.
        return problem if extent == "any" else add_soft(problem, of_site, kind, commitment)
    if name == "electricity production peak":
        raise refuse("site-peak-production-price", "is a price on what is fed at most")
    if name.startswith("group "):
        raise refuse("group", "limits some of the devices")
    raise refuse("commodity", f"brings the commitment {name!r}")


def prefer_full(problem: Problem, at: int, commitment: Any) -> Problem:  # noqa: ANN401
    """The problem in which a stock is worth a little more the earlier it is there."""
    machine = problem.machines[at]
    if machine.stock is None:
        return problem
    per_mwh = -commitment.downwards_deviation_price.to_numpy(dtype=float) / problem.hours
    worth = np.cumsum(per_mwh[::-1])[::-1]
    machine = replace(machine, stock=replace(machine.stock, worth=worth))
    machines = [*problem.machines[:at], machine, *problem.machines[at + 1 :]]
    return replace(problem, machines=machines)


def read_peak(commitment: Any) -> tuple[float, float]:  # noqa: ANN401
    """Power that is paid for already and price per MW above it."""
    numbers = []
    for name, series in [
        ("site-peak-consumption", commitment.quantity),
        ("site-peak-consumption-price", commitment.upwards_deviation_price),
    ]:
        if (series != series.iloc[0]).any():
            raise refuse(name, "changes")
        numbers.append(float(series.iloc[0]))
    return numbers[0], numbers[1]


def add_soft(problem: Problem, of_site: str | None, kind: str, commitment: Any) -> Problem:  # noqa: ANN401
    """The problem with a limit that may be passed at a price."""
    quantity = commitment.quantity.to_numpy(dtype=float)
    up = commitment.upwards_deviation_price.to_numpy(dtype=float)
    down = -commitment.downwards_deviation_price.to_numpy(dtype=float)
    low = np.where((down > 0) & np.isfinite(quantity), quantity, -np.inf)
    high = np.where((up > 0) & np.isfinite(quantity), quantity, np.inf)
    if of_site:
        low, high, price = tighter(low, high, (problem.site_min, problem.site_max), (up, down))
        bounded = replace(problem, site_min=low, site_max=high)
        soft = Soft(f"site-{SOFT[kind]}", None, is_level=False, price=price)
        return replace(bounded, soft=[*problem.soft, soft])
    at = int(commitment.device.iloc[0])
    machine = problem.machines[at]
    if (stock := machine.stock) is None:
        raise refuse(SOFT[kind], f"bounds {machine.name}, whose power is fixed")
    if is_level := kind.startswith("soc "):
        hard = stock.floor / problem.hours, stock.ceiling / problem.hours
        low, high, price = tighter(low, high, hard, (up, down))
        machine = replace(
            machine,
            stock=replace(
                stock,
                floor=low * problem.hours,
                ceiling=high * problem.hours,
                soft_floor=stock.soft_floor | (low > hard[0]),
                soft_ceiling=stock.soft_ceiling | (high < hard[1]),
            ),
        )
        price = price / problem.hours
    else:
        hard = machine.power_min, machine.power_max
        low, high, price = tighter(low, high, hard, (up, down))
        machine = replace(machine, power_min=low, power_max=high)
    machines = [*problem.machines[:at], machine, *problem.machines[at + 1 :]]
    soft = Soft(SOFT[kind], at, is_level=is_level, price=price)
    return replace(problem, machines=machines, soft=[*problem.soft, soft])


def tighter(
    low: Numbers, high: Numbers, hard: tuple[Numbers, Numbers], prices: tuple[Numbers, Numbers]
) -> tuple[Numbers, Numbers, Numbers]:
    """Bounds of both kinds, and the price of passing a soft one: inf where none is tighter."""
    up, down = prices
    price = np.fmin(
        np.where(low > hard[0], down, np.inf),
        np.where(high < hard[1], up, np.inf),
    )
    return np.fmax(low, hard[0]), np.fmin(high, hard[1]), price


# ---------------------------------------------------------------- planning


def plan_problem(problem: Problem) -> list[Numbers] | None:
    """Powers of all devices; ``None`` if no powers keep the limits.

    Raises:
        InputError: A limit is there that slackwater cannot force, or a price of passing a limit
            is so low that passing it may pay.
    """
    powers = [machine.power_min for machine in problem.machines]
    if not problem.free:
        planned: list[Numbers] | None = []
    elif problem.is_separable:
        planned = plan_apart(problem)
        if planned is not None and len(planned) > 1 and not keeps_site(problem, planned):
            planned = plan_together(problem)
    else:
        planned = plan_together(problem)
    if planned is None:
        return None
    for at, power in zip(problem.free, planned, strict=True):
        powers[at] = power
    check(problem, powers)
    return powers


def plan_apart(problem: Problem) -> list[Numbers] | None:
    """Powers of the free devices, each planned as if it were alone."""
    for soft in problem.soft:
        check_price(problem, soft)
    planned = [plan_alone(problem, at) for at in problem.free]
    return (
        None if any(power is None for power in planned) else [p for p in planned if p is not None]
    )


def check_price(problem: Problem, soft: Soft) -> None:
    """Refuse a price at which passing a limit may pay.

    The engine has the bound and its proof. Without limits of the site it holds among other
    devices, too.
    """
    bound = 0.0
    for at in [soft.device] if soft.device is not None else problem.free:
        stock = problem.machines[at].stock
        if stock is None:
            continue
        columns = (problem.buy, problem.sell, stock.worth)
        slots = list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))
        peak = 0.0 if problem.peak is None else problem.peak[1] / problem.hours
        price = _engine.find_breach_price(slots, efficiency=stock.efficiency, peak=peak)
        stored = 1.0 if soft.is_level else problem.hours / stock.discharge_efficiency
        bound = max(bound, price * stored)
    if (least := float(soft.price.min())) < bound:
        unit = "MWh" if soft.is_level else "MW in a slot"
        raise refuse(
            f"{soft.name.replace('targets', 'minima')}-breach-price",
            f"is {least:g} per {unit}: {soft.name} may be missed for money",
            f"from {bound:g} on it never is; raise the price or set relax-constraints to false",
        )


def plan_alone(problem: Problem, at: int) -> Numbers | None:
    """Powers of a stock for which only prices and its own limits count."""
    machine = problem.machines[at]
    stock = machine.stock
    assert stock is not None, "a device apart has a stock"  # noqa: S101  for the type checker
    power_min, power_max = machine.power_min, machine.power_max
    if len(problem.free) == 1:
        power_min = np.fmax(power_min, problem.site_min - problem.fixed)
        power_max = np.fmin(power_max, problem.site_max - problem.fixed)
    power_min, power_max = np.fmin(power_min, 0), np.fmax(power_max, 0)
    lost = -power_min * problem.hours / stock.discharge_efficiency + stock.usage
    passable = [s.name for s in problem.soft if not s.is_level and np.isfinite(s.price).any()]
    if not passable and is_below_lowest(stock, lost):
        return None
    base, capacity = frame_of(stock, lost, power_max * problem.hours * stock.efficiency)
    slots = problem.slots
    percent = np.clip((np.stack([stock.floor, stock.ceiling]) - base) / capacity * 100, 0, 100)
    plan = plan_storage(
        prices_of(problem, problem.buy - stock.efficiency * stock.worth),
        export_prices=prices_of(problem, problem.sell - stock.worth / stock.discharge_efficiency),
        now=problem.starts[0],
        battery=Battery(capacity * KILO, -base / capacity * 100, 100, stock.efficiency),
        power_max_kw=float(power_max.max()) * KILO,
        discharge_max_kw=float(-power_min.min()) * KILO,
        discharge_efficiency=stock.discharge_efficiency,
        targets=[
            SocTarget(end, float(low))
            for (_, end), low in zip(slots, percent[0], strict=True)
            if low > 0
        ],
        consumption=[
            Consumption(start, end, float(used) * KILO, is_plugged_in=True)
            for (start, end), used in zip(slots, stock.usage, strict=True)
            if used > 0
        ],
        limits=[
            StorageLimit(start, end, float(most) * KILO, float(-least) * KILO, None, float(high))
            for (start, end), most, least, high in zip(
                slots, power_max, power_min, percent[1], strict=True
            )
        ],
        # FlexMeasures says what is left in the end by its minima and targets alone.
        end_value_per_kwh=0.0,
        after_deadline="stop",
    )
    if not plan.certificate.is_proved:
        raise refuse("flex-model", "gives a plan that is not proved optimal")
    if plan.unserved_kwh > TOLERANCE * KILO:
        return None
    energy = np.array([slot.charged_kwh - slot.discharged_kwh for slot in plan.slots])
    power = energy / (problem.hours * KILO)
    levels = stock.levels(power, problem.hours)
    missing = stock.floor - levels > TOLERANCE
    # A level that may be passed at a price, and keeps it or a later one from being met.
    is_held = stock.soft_ceiling & (levels > stock.ceiling - TOLERANCE)
    if np.any(is_held[: len(missing) - int(np.argmax(missing[::-1]))]):
        passable.append("soc-maxima or soc-targets")
    if missing.any() and passable:
        raise refuse(
            "soc-minima or soc-targets",
            f"cannot be met within {passable[0]}, and a price decides which of them is passed",
            "set relax-constraints to false",
        )
    return None if np.any(missing & ~stock.soft_floor) else power


def is_below_lowest(stock: Stock, lost: Numbers) -> bool:
    """Whether a highest level lies below what is left when all is discharged."""
    lowest = 0.0
    for floor, ceiling, loss in zip(stock.hard_floor, stock.hard_ceiling, lost, strict=True):
        lowest = max(lowest - loss, floor)
        if lowest > ceiling + TOLERANCE:
            return True
    return False


def frame_of(stock: Stock, lost: Numbers, gained: Numbers) -> tuple[float, float]:
    """Level of an empty battery, and the capacity of one that is never too small."""
    floor, ceiling = stock.hard_floor, stock.hard_ceiling
    base = float(np.fmin(0, floor if np.isfinite(floor).all() else -lost.sum()).min())
    top = float(np.fmax(0, ceiling if np.isfinite(ceiling).all() else gained.sum()).max())
    return base, max(top - base, TOLERANCE)


def prices_of(problem: Problem, per_mwh: Numbers) -> Prices:
    """Prices over the slots of a problem."""
    return Prices.from_values(
        problem.starts[0],
        [float(price) for price in per_mwh / KILO],
        currency=NO_CURRENCY,
        slot=problem.slot,
    )


def plan_together(problem: Problem) -> list[Numbers] | None:
    """Powers of the free devices behind one meter."""
    passable = [soft for soft in problem.soft if np.isfinite(soft.price).any()]
    own = [soft for soft in passable if soft.device is not None]
    if not own:
        return plan_meter(problem, passable)
    for soft in own:
        check_price(problem, soft)
    if all(soft.is_level for soft in own):
        nothing = np.full(len(problem.starts), np.inf)
        planned = plan_meter(replace(problem, site_min=-nothing, site_max=nothing), [])
        if planned is not None and keeps_site(problem, planned):
            return planned
    raise refuse(
        own[0].name,
        "or another limit has to be passed, while devices share a meter",
        "set relax-constraints to false",
    )


def plan_meter(problem: Problem, passable: Sequence[Soft]) -> list[Numbers] | None:
    """Powers of the free devices behind one meter, within all limits."""
    devices = [device_of(problem, at) for at in problem.free] + fixed_devices(problem)
    plan = plan_site(
        prices_of(problem, problem.buy),
        export_prices=prices_of(problem, problem.sell),
        now=problem.starts[0],
        devices=devices,
        import_limit_kw=limit_of(problem.site_max),
        export_limit_kw=limit_of(-problem.site_min),
        demand_charge=charge_of(problem),
    )
    if not plan.certificate.is_proved:
        raise refuse("flex-model", f"gives a plan that is not proved optimal ({plan.status})")
    if plan.shortfall_kwh > TOLERANCE * KILO or plan.breaches:
        if passable:
            raise refuse(
                passable[0].name,
                "or another limit has to be passed, while devices share a meter",
                "set relax-constraints to false",
            )
        return None
    check_shadow_prices(problem, plan)
    return [np.array(plan.devices[at].power_kw) / KILO for at in range(len(problem.free))]


def limit_of(most: Numbers) -> list[float] | None:
    """A limit of the site; a number that nobody reaches where it has none."""
    if not np.isfinite(most).any():
        return None
    return [float(each) * KILO for each in np.fmax(np.nan_to_num(most, posinf=1e6), 0)]


def charge_of(problem: Problem) -> DemandCharge | None:
    """The price on the highest import."""
    if problem.peak is None:
        return None
    incurred, price = problem.peak
    if not (np.isfinite(incurred) and incurred >= 0 and price >= 0):
        raise refuse("site-peak-consumption", f"is {incurred:g} MW at {price:g} per MW")
    return DemandCharge(
        peak_price_per_kw=price / KILO,
        peak_incurred_kw=incurred * KILO,
        window=problem.slot,
    )


def device_of(problem: Problem, at: int) -> Device:
    """A free device as a site has it."""
    machine = problem.machines[at]
    stock = machine.stock
    most, feed = machine.power_max, -machine.power_min
    if stock is None or not stock.is_bounded:
        if most.any():
            raise refuse("soc-max", f"of {machine.name} is missing", "give it")
        return Solar(machine.name, power_kw=[float(each) * KILO for each in feed])
    if np.ptp(most) > 0 or np.ptp(feed) > 0:
        raise refuse("power-capacity", f"of {machine.name} changes, while devices share a meter")
    base, capacity = frame_of(
        stock,
        feed * problem.hours / stock.discharge_efficiency + stock.usage,
        most * problem.hours * stock.efficiency,
    )
    if stock.usage.any():
        raise refuse("soc-usage", f"of {machine.name} is there, while devices share a meter")
    floor = np.clip((stock.floor - base) / capacity * 100, 0, 100)
    return Vehicle(
        machine.name,
        power_max_kw=float(most[0]) * KILO,
        battery=Battery(capacity * KILO, -base / capacity * 100, 100, stock.efficiency),
        discharge=Discharge(
            discharge_max_kw=float(feed[0]) * KILO,
            discharge_efficiency=stock.discharge_efficiency,
        ),
        targets=[
            SocTarget(end, float(low))
            for (_, end), low in zip(problem.slots, floor, strict=True)
            if low > 0
        ],
    )


def fixed_devices(problem: Problem) -> list[Device]:
    """Load and solar power of the devices that leave no choice."""
    drawn, fed = np.fmax(problem.fixed, 0) * KILO, np.fmax(-problem.fixed, 0) * KILO
    return [
        Load("fixed load", power_kw=[float(each) for each in drawn]),
        Solar("fixed feed", power_kw=[float(each) for each in fed], is_curtailable=False),
    ]


def check_shadow_prices(problem: Problem, plan: SitePlan) -> None:
    """Refuse a price of passing a limit of the site that is below what the limit costs."""
    worth: Mapping[str, Sequence[float]] = {
        limit.name: limit.shadow_price_per_kwh for limit in plan.limits
    }
    for soft in problem.soft:
        if soft.device is not None or not np.isfinite(soft.price).any():
            continue
        name = "import" if "consumption" in soft.name else "export"
        saved = np.array(worth.get(name, [0.0])) * KILO * problem.hours
        if np.any(soft.price < saved - TOLERANCE):
            raise refuse(
                f"{soft.name.removesuffix('-capacity')}-breach-price",
                f"is {soft.price.min():g} per MW: the limit may be passed for money",
                "raise the price or set relax-constraints to false",
            )


# ---------------------------------------------------------------- checking


def keeps_site(problem: Problem, planned: Sequence[Numbers]) -> bool:
    """Whether powers of the free devices keep the limits of the site."""
    net = problem.fixed + np.sum(planned, axis=0)
    return bool(
        np.all(net <= problem.site_max + TOLERANCE) and np.all(net >= problem.site_min - TOLERANCE)
    )


def check(problem: Problem, powers: Sequence[Numbers]) -> None:
    """Refuse a plan that misses a limit: the relaxation does not tell the optimum then."""
    net = np.sum(powers, axis=0)
    over = [
        ("site-consumption-capacity", "MW", net - problem.site_max),
        ("site-production-capacity", "MW", problem.site_min - net),
    ]
    for machine, power in zip(problem.machines, powers, strict=True):
        over += [
            ("consumption-capacity", "MW", power - machine.power_max),
            ("production-capacity", "MW", machine.power_min - power),
        ]
        if (stock := machine.stock) is not None:
            levels = stock.levels(power, problem.hours)
            over += [
                ("soc-minima or soc-targets", "MWh", stock.hard_floor - levels),
                ("soc-maxima or soc-targets", "MWh", levels - stock.ceiling),
            ]
    for name, unit, excess in over:
        if (passed := excess > TOLERANCE).any():
            at = problem.starts[int(np.argmax(passed))]
            raise refuse(
                name,
                f"would have to be forced in the slot of {at.isoformat()}, by "
                f"{excess[passed][0]:g} {unit}: slackwater discharges for money, not for a limit",
            )


# ---------------------------------------------------------------- answering


def cost_of(commitment: Any, powers: Sequence[Numbers], levels: Mapping[int, Numbers]) -> float:  # noqa: ANN401
    """Cost of a commitment under powers, as FlexMeasures counts it."""
    first = commitment.device.iloc[0]
    devices = list(first) if isinstance(first, list | tuple | set) else [first]
    is_stock = type(commitment).__name__ == "StockCommitment"
    values = sum((levels if is_stock else dict(enumerate(powers)))[int(at)] for at in devices)
    frame = pd.DataFrame(
        {
            "over": np.asarray(values) - commitment.quantity.to_numpy(dtype=float),
            "up": commitment.upwards_deviation_price.to_numpy(dtype=float),
            "down": commitment.downwards_deviation_price.to_numpy(dtype=float),
        }
    ).replace([np.inf, -np.inf], np.nan)
    groups = frame.groupby(commitment.group.to_numpy())
    most, least = groups["over"].max().clip(lower=0), groups["over"].min().clip(upper=0)
    cost = most.fillna(0) * groups["up"].first() + least.fillna(0) * groups["down"].first()
    return float(cost.sum())


def solve(
    device_constraints: list[pd.DataFrame],
    ems_constraints: list[pd.DataFrame],
    commitments: list[Any],
    initial_stock: list[float],
    stock_groups: Mapping[int, list[int]] | None = None,
    coupling_groups: object = None,
    balance_groups: object = None,
    ems_constraint_groups: list[list[int]] | None = None,
    device_power_bands: list[object] | None = None,
) -> tuple[list[pd.Series], float, SimpleNamespace, SimpleNamespace]:
    """Solve a problem in the place of the solver of FlexMeasures.

    Returns:
        Powers of all devices in MW, the cost, how it ended, and costs by commitment.

    Raises:
        InputError: It has something that slackwater cannot plan; the message names the field.
    """
    del initial_stock
    for groups in (stock_groups or {}).values():
        if len(groups) > 1:
            raise refuse("state-of-charge", "is shared by several devices")
    if coupling_groups:
        raise refuse("coupling", "ties devices together")
    if balance_groups or len(ems_constraint_groups or [()]) > 1:
        raise refuse("commodity or group", "divides the devices")
    if any(device_power_bands or []):
        raise refuse("operation-modes", "are bands of power")
    problem = read(device_constraints, ems_constraints, commitments)
    powers = plan_problem(problem)
    if powers is None:
        return [], 0.0, ended("infeasible"), SimpleNamespace(commitment_costs={})
    levels = {
        at: machine.stock.levels(power, problem.hours) / problem.hours
        for at, (machine, power) in enumerate(zip(problem.machines, powers, strict=True))
        if machine.stock is not None
    }
    costs = {at: cost_of(each, powers, levels) for at, each in enumerate(commitments)}
    series = [pd.Series(power, index=device_constraints[0].index) for power in powers]
    return series, sum(costs.values()), ended("optimal"), SimpleNamespace(commitment_costs=costs)


def ended(condition: str) -> SimpleNamespace:
    """How a solver ended, as FlexMeasures asks for it."""
    return SimpleNamespace(solver=SimpleNamespace(termination_condition=condition))
