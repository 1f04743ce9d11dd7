"""What the night cost, against what it could have cost."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

import slackwater as sw
from night_check import Stay, curve, stays
from night_drive import Record
from night_town import ENDS, QUARTER, Prices, Town, nights_quarters, quarter_at


@dataclass
class Costs:
    """Of all stays in one currency.

    Attributes:
        stays: How many.
        energy_kwh: Energy that their meters counted.
        paid: What it cost at the prices that the plans went by.
        hindsight: The least that each could have cost, with every price known
            on arrival and no limit but its own power.
        unmanaged: At full power from the plug.
        impatient: What of the regret is owed to stays with an override.
        outage: What of it to cars whose manufacturer was down.
    """

    stays: int = 0
    energy_kwh: float = 0.0
    paid: float = 0.0
    hindsight: float = 0.0
    unmanaged: float = 0.0
    impatient: float = 0.0
    outage: float = 0.0

    @property
    def regret(self) -> float:
        """What was paid beyond hindsight."""
        return self.paid - self.hindsight

    @property
    def saved(self) -> float:
        """What was saved, of what could have been."""
        possible = self.unmanaged - self.hindsight
        return (self.unmanaged - self.paid) / possible if possible > 0 else 0.0


def regret(town: Town, prices: Prices, record: Record, outage_of: str) -> dict[str, Costs]:
    """Costs of the stays that ended with a deadline, by currency."""
    costs: dict[str, Costs] = defaultdict(Costs)
    overridden = {name.replace("-charger", "-car") for _, name in record.overrides}
    for stay in stays(town, record):
        car = stay.car
        taken = metered(record, stay)
        energy = sum(kwh for _, kwh in taken)
        slots = curve(car, prices, stay.arrived.at, stay.by)
        if energy < 0.1 or len(slots) != -(-(stay.by - stay.arrived.at) // QUARTER):
            continue
        known = dict(zip((span[0] for span, _ in slots), slots, strict=True))
        paid = sum(kwh * known[max(at, stay.arrived.at)][1] for at, kwh in taken)
        plan = best(stay, energy, slots)
        own = costs[car.home.currency]
        own.stays += 1
        own.energy_kwh += energy
        own.paid += paid
        own.hindsight += plan.cost
        own.unmanaged += plan.baseline_cost
        if car.name in overridden:
            own.impatient += paid - plan.cost
        elif car.vendor == outage_of:
            own.outage += paid - plan.cost
    return dict(costs)


def metered(record: Record, stay: Stay) -> list[tuple[datetime, float]]:
    """What a car took, by the quarters of its stay."""
    rows = zip(nights_quarters(), record.metered[stay.car.name], strict=True)
    found = [(quarter_at(number), kwh) for number, kwh in rows]
    return [(at, kwh) for at, kwh in found if stay.arrived.at - QUARTER < at < stay.by and kwh > 0]


def best(
    stay: Stay, energy: float, slots: list[tuple[tuple[datetime, datetime], float]]
) -> sw.Plan:
    """The cheapest way to the same energy, with the reserve at once."""
    car = stay.car
    missing = max(0.0, car.reserve_percent - stay.arrived.soc_percent)
    reserve = missing * car.capacity_kwh / 100 / car.efficiency
    starts = [span[0] for span, _ in slots]
    prices = sw.Prices.from_values(
        starts[0].replace(minute=starts[0].minute // 15 * 15, second=0, microsecond=0),
        [price for _, price in slots],
        slot=QUARTER,
        currency=car.home.currency,
    )
    return sw.plan_charge(
        prices,
        now=stay.arrived.at,
        power_max_kw=car.power_kw,
        targets=[sw.Target(by=stay.by, energy_kwh=energy)],
        reserve_kwh=min(reserve, energy),
    )


def load_kw(town: Town, record: Record, *, is_limited: bool) -> dict[str, list[float]]:
    """Mean power of the cars of the area by quarters, by what rules them."""
    loads: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(nights_quarters()))
    overridden: dict[str, datetime] = {}
    for at, name in record.overrides:
        overridden[name.replace("-charger", "-car")] = at
    for car in town.cars.values():
        if car.home.is_limited is not is_limited:
            continue
        for place, number in enumerate(nights_quarters()):
            since = overridden.get(car.name)
            is_theirs = since is not None and quarter_at(number) + QUARTER > since
            group = "planned" if car.is_planned else "others"
            group = "impatient" if is_theirs else group
            loads[group][place] += record.metered[car.name][place] / (QUARTER / timedelta(hours=1))
    return loads


def unmanaged_kw(town: Town, record: Record, *, is_limited: bool) -> list[float]:
    """The load if every car had charged at full power from its plug."""
    load = [0.0] * len(nights_quarters())
    first = quarter_at(nights_quarters()[0])
    for car in town.cars.values():
        if car.home.is_limited is not is_limited:
            continue
        own = record.metered[car.name]
        place = 0
        while place < len(own):
            # From one arrival to the next: what was taken in between, at once.
            ends = next_arrival(record, car.name, first + (place + 1) * QUARTER)
            last = min(len(own), max(place + 1, (ends - first) // QUARTER))
            left = sum(own[place:last])
            at = arrival(record, car.name, first + place * QUARTER, first + last * QUARTER)
            spot = max(place, (at - first) // QUARTER)
            while left > 0 and spot < len(load):
                taken = min(left, car.power_kw / 4)
                load[spot] += taken * 4
                left, spot = left - taken, spot + 1
            place = last
    return load


def arrival(record: Record, car: str, start: datetime, end: datetime) -> datetime:
    """When a car was first seen at its plug in a period."""
    looks = record.cars[car]
    return next((s.at for s in looks if start <= s.at < end and s.is_plugged_in), start)


def next_arrival(record: Record, car: str, after: datetime) -> datetime:
    """When a car comes to its plug next."""
    looks = [look for look in record.cars[car] if look.at >= after]
    for before, now in pairwise(looks):
        if now.is_plugged_in and not before.is_plugged_in:
            return now.at
    return ENDS
