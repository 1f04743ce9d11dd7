"""Did those in control do what they are there for: the area's limit, schedules, overrides?

Judged from the cars' own meters, like all else.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from night_check import NOTICED_WITHIN, Verdict
from night_drive import FORCED_WITHIN, Record
from night_regret import load_kw
from night_town import OUTAGE, OUTAGE_OF, Car, Town, nights_quarters, quarter_at

MAY_BE_ABOVE = 0.02
"""Of the limit. A car that comes home charges until a poll has seen it and it was told to
wait: at 11 kW for a minute and a half that is 1 kW in the mean of a quarter."""

AT_LIMIT_PERCENT = 0.5
"""A car so close to its charge limit may have stopped of itself."""

NO_CAR, FULL, DOWN = "without a car at the plug", "at the limit", "in the outage"


def check_limit(town: Town, record: Record, limit_kw: float) -> Verdict:
    """Planned cars of the area keep its limit, in the mean of each quarter."""
    loads = load_kw(town, record, is_limited=True)
    planned = loads["planned"]
    all_loads = [sum(parts) for parts in zip(*loads.values(), strict=True)]
    near = sum(load > 0.95 * limit_kw for load in planned)
    above = sum(load > limit_kw for load in planned)
    problems = [
        f"{load:.1f} kW in the quarter from {quarter_at(number):%H:%M}, "
        f"{load / limit_kw - 1:.1%} above"
        for number, load in zip(nights_quarters(), planned, strict=True)
        if load > limit_kw * (1 + MAY_BE_ABOVE)
    ]
    return Verdict(
        f"the area keeps its limit within {MAY_BE_ABOVE:.0%}",
        f"{limit_kw:.0f} kW in NO1/oslo-east, planned cars took {max(planned):.1f} kW at most, "
        f"{near} quarters within 5 % of it, {above} above; all cars {max(all_loads):.0f} kW",
        problems,
    )


def check_overrides(town: Town, record: Record) -> Verdict:
    """Whoever cannot wait has a car that takes energy within minutes."""
    vendors = {charger["id"]: charger["vendor"] for charger in town.scenario["chargers"]}
    cars = {spec.get("charger"): spec["id"] for spec in town.scenario["vehicles"]}
    counted = Counter({"charged": 0, "left alone": 0, NO_CAR: 0, FULL: 0, DOWN: 0})
    problems = []
    for at, charger in record.overrides:
        looks = record.forced[charger]
        name = cars.get(charger)
        if name is None or not all(look.is_plugged_in for look in looks):
            counted[NO_CAR] += 1
        elif looks[0].soc_percent >= town.cars[name].limit_percent - AT_LIMIT_PERCENT:
            counted[FULL] += 1
        elif vendors[charger] == OUTAGE_OF and OUTAGE[0] <= at + FORCED_WITHIN and at < OUTAGE[1]:
            counted[DOWN] += 1
        elif any(look.power_kw > 0 for look in looks[1:]):
            counted["charged"] += 1
        else:
            counted["left alone"] += 1
            problems.append(
                f"{name} at {charger} was at {looks[0].soc_percent:.1f} % of "
                f"{town.cars[name].limit_percent:.0f} % at {at:%H:%M:%S}, and took nothing "
                f"until {looks[-1].at:%H:%M:%S}"
            )
    told = ", ".join(f"{count} {word}" for word, count in counted.items())
    minutes = FORCED_WITHIN / timedelta(minutes=1)
    return Verdict(f"who cannot wait is charged within {minutes:.0f} minutes", told, problems)


def check_schedules(town: Town, record: Record) -> Verdict:
    """Cars under a schedule charge within its window only."""
    problems, count = [], 0
    for car in town.cars.values():
        if car.follows != "schedule":
            continue
        count += 1
        since: datetime | None = None
        for look in record.cars[car.name]:
            local = look.at.astimezone(car.home.zone).hour
            is_forbidden = 6 <= local < 22 and look.power_kw > 0
            since = (since or look.at) if is_forbidden else None
            is_overridden = any(name.startswith(owner_of(car)) for _, name in record.overrides)
            if since and look.at - since > 2 * NOTICED_WITHIN and not is_overridden:
                problems.append(f"{car.name} charged at {look.at:%H:%M}")
                break
    return Verdict("schedules hold", f"{count} cars", problems)


def owner_of(car: Car) -> str:
    """How names of an owner's devices begin."""
    return car.home.user.split("-")[0] + "-"
