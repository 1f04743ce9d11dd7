"""Was the night as it should be? Judged from meters and events, not from what the server says.

Of the server's own accounts only the statistics and the gaps of its plans are
read, because those are what is compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from itertools import pairwise

from night_drive import Record, Seen
from night_service import instant
from night_town import (
    EARLY,
    ENDS,
    OUTAGE,
    OUTAGE_OF,
    QUARTER,
    STARTS,
    Car,
    Prices,
    Town,
    nights_quarters,
    quarter_at,
    quarter_of,
)
from sandboxes import Json

ACTION = "user:vendor-action:updated"
DEVICE, USER = "device:changed", "user:changed"
"""Events for operators: a receiver gets them only under names that the settings give."""
MONEY_TOLERANCE = 1e-6
ENERGY_TOLERANCE_KWH = 1e-6

NOTICED_WITHIN = timedelta(minutes=15)
"""A plug is seen by a poll, a plan is made, the car is told: it takes so long at most."""

HOUR = timedelta(hours=1)

LATE = timedelta(minutes=4)
"""A car is told with the minute, takes 20 s to obey and 10 s to begin, each time it starts."""

OF_OFFERED = 0.9
"""A car that takes less than this much of what is offered is planned with what it takes."""

MAY_BE_MISSING = timedelta(minutes=2)
"""A plan goes on as long as no more than so much charging is missing."""

MAY_BE_EXCUSED = 0.05
"""Of the stays no more may be late for reasons that nobody could know of, or a reason would
hide what it was not made for. What no service could have met is not counted here."""

PROBLEMS_SHOWN = 5


@dataclass
class Verdict:
    """What came of one thing that was checked."""

    claim: str
    seen: str
    problems: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether nothing spoke against it."""
        return not self.problems

    def lines(self) -> Iterator[str]:
        """For the summary."""
        yield f"{'yes' if self.is_good else 'NO '}  {self.claim}: {self.seen}"
        for problem in self.problems[:PROBLEMS_SHOWN]:
            yield f"       {problem}"
        if len(self.problems) > PROBLEMS_SHOWN:
            yield f"       and {len(self.problems) - PROBLEMS_SHOWN} more"


@dataclass(frozen=True)
class Stay:
    """A car at its plug until its deadline."""

    car: Car
    by: datetime
    arrived: Seen
    ready: Seen

    @property
    def hours(self) -> float:
        """How long it was there."""
        return (self.by - self.arrived.at) / HOUR


def deadline_of(car: Car, record: Record) -> datetime | None:
    """When a car has to be ready, by what its owner said last."""
    return car.by(time.fromisoformat(EARLY) if car.name in record.early else None)


def stays(town: Town, record: Record) -> Iterator[Stay]:
    """The stays of cars that have a deadline, and are there when it comes."""
    for car in town.cars.values():
        by = deadline_of(car, record) if car.is_planned else None
        seen = record.cars[car.name]
        last = next((i for i, look in enumerate(seen) if look.at == by), None)
        if by is None or last is None or not seen[last].is_plugged_in:
            continue
        first = last
        while first > 0 and seen[first - 1].is_plugged_in:
            first -= 1
        yield Stay(car, by, seen[first], seen[last])


def hours_per_point(car: Car) -> float:
    """Hours at the plug for a percent of the battery, below the bend."""
    return car.capacity_kwh / 100 / car.efficiency / car.power_kw


def hours_needed(car: Car, soc_percent: float) -> float:
    """Hours at the plug to a car's target; slow above the bend, and none if it is there."""
    to_bend = max(0.0, min(car.target_percent, car.taper_from) - soc_percent)
    above = max(0.0, car.target_percent - max(soc_percent, car.taper_from))
    return (to_bend + above / car.taper_end) * hours_per_point(car)


def hours_charged(car: Car, looks: list[Seen]) -> float:
    """Hours in which a car charged: what it took between looks, at the power that they show."""
    hours, power_kw = 0.0, car.power_kw
    for look, after in pairwise(looks):
        shown = [one.power_kw for one in (look, after) if one.power_kw > 0]
        power_kw = sum(shown) / len(shown) if shown else power_kw
        rise = (after.soc_percent - look.soc_percent) / 100
        taken_kwh = max(0.0, rise) * car.capacity_kwh / car.efficiency
        hours += min(taken_kwh / power_kw, (after.at - look.at) / HOUR)
    return hours


def is_surprise(stay: Stay) -> bool:
    """Whether a car that may not be woken had never slept before it came: nobody could know."""
    idle = stay.car.sleeps_after
    if stay.car.may_be_woken or idle is None:
        return False
    return stay.arrived.at - STARTS < idle + NOTICED_WITHIN


def is_slow_unseen(stay: Stay, record: Record) -> bool:
    """Whether a car takes much less than offered, and first showed it when that was too late.

    It is known from then on, for the next nights, too.
    """
    car = stay.car
    if car.power_kw >= OF_OFFERED * car.offered_kw:
        return False
    began = next((look.at for look in record.cars[car.name] if look.power_kw > 0), stay.by)
    left = (stay.by - began - NOTICED_WITHIN) / HOUR
    return stay.arrived.at <= began < stay.by and hours_missing(stay, record, began) > left


def hours_missing(stay: Stay, record: Record, at: datetime) -> float:
    """Hours at the plug that a car lacks at an instant of its stay."""
    car = stay.car
    looks = [look for look in record.cars[car.name] if stay.arrived.at <= look.at <= at]
    now = looks[-1].soc_percent
    if car.follows != "hours":
        return hours_needed(car, now)
    is_full = now >= car.limit_percent - 0.5
    return 0.0 if is_full else max(0.0, car.hours - hours_charged(car, looks))


def is_cut_off(stay: Stay, record: Record) -> bool:
    """Whether an outage took from a car what it needed: nobody knew of it before it began.

    It was in reach when the outage began, and no longer when it had ended.
    """
    began, ended = OUTAGE
    if stay.car.vendor != OUTAGE_OF or not stay.arrived.at <= began < stay.by:
        return False
    before = hours_missing(stay, record, began)
    after = hours_missing(stay, record, min(ended, stay.by))
    told = ended + NOTICED_WITHIN
    return before <= (stay.by - began) / HOUR and after > max(0.0, (stay.by - told) / HOUR)


OUT_OF_REACH = "not in reach"

EXCUSES: dict[str, Callable[[Stay, Record], bool]] = {
    "asleep before anybody knew": lambda stay, _: is_surprise(stay),
    "slower than anybody knew": is_slow_unseen,
    "cut off by the outage": is_cut_off,
}
"""Why a car may be late that could have been ready, the first that holds. Each is counted."""


def check_deadlines(town: Town, record: Record) -> Verdict:
    """Every deadline that could be met was met."""
    counted = Counter({"met": 0, "missed": 0, OUT_OF_REACH: 0} | dict.fromkeys(EXCUSES, 0))
    problems, latest = [], 0.0
    for stay in stays(town, record):
        car, by = stay.car, stay.by
        missing = hours_missing(stay, record, by)
        needed = hours_missing(stay, record, stay.arrived.at)
        outage = OUTAGE[1] - OUTAGE[0] if car.vendor == OUTAGE_OF else timedelta(0)
        spare = stay.hours - needed - (NOTICED_WITHIN + outage) / HOUR
        if missing <= LATE / HOUR:
            counted["met"] += 1
            latest = max(latest, missing)
        elif spare < 0:
            counted[OUT_OF_REACH] += 1
        elif excuse := next((why for why, holds in EXCUSES.items() if holds(stay, record)), None):
            counted[excuse] += 1
        else:
            counted["missed"] += 1
            problems.append(
                f"{car.name} ({car.follows}, {car.vendor}) was at {stay.ready.soc_percent:.1f} % "
                f"of {car.target_percent:.0f} % by {by:%H:%M}, {missing * 60:.0f} min short; "
                f"there since {stay.arrived.at:%H:%M} with {stay.arrived.soc_percent:.1f} %"
            )
    excused, most = sum(counted[why] for why in EXCUSES), MAY_BE_EXCUSED * counted.total()
    # Of a street one car may be excused: a share of it is less than a car.
    if excused > max(1.0, most):
        problems.append(
            f"{excused} of {counted.total()} were late for reasons that nobody could know of, "
            f"{MAY_BE_EXCUSED:.0%} may be"
        )
    told = ", ".join(f"{count} {word}" for word, count in counted.items())
    told += f"; the latest by {latest * 60:.1f} min of charging"
    return Verdict("every deadline that could be met was met", told, problems)


def actions_of(record: Record) -> list[Json]:
    """The events of actions, oldest first."""
    return [event for event in record.events if event["name"] == ACTION]


def check_one_active(record: Record) -> Verdict:
    """No target ever had two active actions, and nothing was sent without one."""
    active: dict[str, str] = {}
    spans: dict[str, list[tuple[datetime, datetime | None]]] = defaultdict(list)
    problems = []
    for event in actions_of(record):
        action, target = event["data"], event["data"]["targetId"]
        if action["state"] == "PENDING":
            if target in active:
                problems.append(f"{target} had {active[target]} and {action['id']}")
            active[target] = action["id"]
            spans[target].append((instant(action["createdAt"]), None))
        elif active.get(target) == action["id"]:
            del active[target]
            spans[target][-1] = (spans[target][-1][0], instant(action["completedAt"]))
        else:
            problems.append(f"{action['id']} ended and was not active")
    last: dict[str, str] = {}
    renewed = 0
    for command in record.commands:
        device, told = command["device"], str(command["command"])
        at, own = instant(command["at"]), spans[record.ids[device]]
        if not any(start <= at and (end is None or at <= end) for start, end in own):
            # A limit ends by itself where its charger is out of reach, and holds again afterwards.
            if told.startswith("limit of") and told == last.get(device):
                renewed += 1
            else:
                problems.append(f"{device} was told {told} out of the blue")
        last[device] = told
    seen = f"{sum(map(len, spans.values()))} actions of {len(spans)} targets"
    sent = f"{len(record.commands)} commands at the manufacturers, each within one"
    return Verdict(
        "no target ever had two active actions",
        f"{seen}, {sent}" + (f" but {renewed} limits that were renewed" if renewed else ""),
        problems,
    )


def check_events(record: Record, refused: int) -> Verdict:
    """Every transition has its event exactly once per id."""
    problems = []
    ids = Counter(event["id"] for event in record.events)
    problems += [f"event {name} is kept {n} times" for name, n in ids.items() if n > 1]
    got = Counter(event["id"] for event in record.delivered)
    actions = actions_of(record)
    wanted = {event["id"] for event in record.events if event["name"] not in (DEVICE, USER)}
    problems += [f"event {name} was not delivered" for name in wanted - set(got)]
    problems += [f"event {name} was delivered but is not kept" for name in set(got) - set(ids)]
    problems += [f"event {name} was accepted {n} times" for name, n in got.items() if n > 1]
    order = [event["seq"] for event in record.delivered]
    if order != sorted(order):
        problems.append("events were delivered out of order")
    states: dict[str, list[str]] = defaultdict(list)
    for event in actions:
        states[event["data"]["id"]].append(event["data"]["state"])
    for name, seen in states.items():
        is_life = seen[0] == "PENDING" and (
            len(seen) == 1 or (len(seen) == 2 and seen[1] in ("CONFIRMED", "FAILED", "CANCELLED"))
        )
        if not is_life:
            problems.append(f"action {name} went {' '.join(seen)}")
    problems += unseen_plugs(record)
    return Verdict(
        "every transition has its event, exactly once per id",
        f"{len(record.events)} events, {len(got)} delivered, "
        f"{refused} of them refused once and sent again",
        problems,
    )


def unseen_plugs(record: Record) -> Iterator[str]:
    """Plugs that came or went without an event while somebody could see it."""
    changed: dict[str, list[datetime]] = defaultdict(list)
    for event in record.events:
        if event["name"] == DEVICE and "charging" in event["data"]["changed"]:
            changed[event["target"]].append(instant(event["at"]))
    for name, seen in record.cars.items():
        target = record.ids.get(record.seen_by.get(name, name))
        for before, after in pairwise(seen):
            is_hidden = before.at < OUTAGE[1] and after.at >= OUTAGE[0] - QUARTER
            if target is None or is_hidden or after.at > ENDS - QUARTER:
                continue
            until = after.at + NOTICED_WITHIN
            if before.is_plugged_in != after.is_plugged_in and not any(
                before.at <= at <= until for at in changed[target]
            ):
                yield f"the plug of {name} changed at {after.at:%H:%M} without an event"


def check_bills(town: Town, prices: Prices, record: Record) -> Verdict:
    """Bills are what meters say, times the price in force."""
    owners = {
        device["id"]: (device["user"], kind, town.billed_at(device, kind))
        for kind, devices in (
            ("vehicle", "vehicles"),
            ("charger", "chargers"),
            ("hvac", "hvacs"),
            ("inverter", "inverters"),
        )
        for device in town.scenario[devices]
    }
    energy: dict[tuple[str, str, int], float] = defaultdict(float)
    money: dict[tuple[str, str, int], float] = defaultdict(float)
    for name, (user, kind, home) in owners.items():
        if name not in record.ids:
            continue
        sign = -1.0 if kind == "inverter" else 1.0
        for quarter, kwh in zip(nights_quarters(), record.metered[name], strict=True):
            price = None if home is None else prices.paid(home, quarter)
            energy[user, kind, quarter] += sign * kwh
            money[user, kind, quarter] += sign * kwh * (price or 0.0)
    problems, worst = [], 0.0
    total: dict[str, float] = defaultdict(float)
    billed: dict[tuple[str, str, int], Json] = {}
    for (user, kind), rows in record.statistics.items():
        for row in rows:
            billed[user, kind, quarter_of(instant(row["date"]))] = row
    for key, kwh in energy.items():
        row = billed.get(key, {"kwhSum": 0.0, "costSum": 0.0, "earningsSum": 0.0})
        cost = row["earningsSum" if key[1] == "inverter" else "costSum"]
        off = max(abs(row["kwhSum"] - kwh), abs(cost - money[key]))
        worst = max(worst, off)
        total[key[1]] += row["kwhSum"]
        if off > MONEY_TOLERANCE:
            user, kind, quarter = key
            problems.append(
                f"{user}'s {kind} at {quarter_at(quarter):%H:%M}: {row['kwhSum']:.6f} kWh "
                f"for {cost:.6f}, metered {kwh:.6f} kWh for {money[key]:.6f}"
            )
    kwh_of = ", ".join(f"{kind} {kwh:.0f} kWh" for kind, kwh in sorted(total.items()))
    return Verdict(
        "bills are energy times the price in force",
        f"{len(energy)} quarters of devices ({kwh_of}), off by {worst:.1e} at most",
        problems,
    )


@dataclass(frozen=True)
class Plan:
    """A plan as it was kept, and what it rests on."""

    car: Car
    made_at: datetime
    by: datetime
    cost: float
    gap: float
    energy_kwh: float
    power_kw: float
    intervals: list[tuple[datetime, datetime]]


def check_gaps(town: Town, prices: Prices, record: Record) -> Verdict:
    """Each plan was within its reported gap of the best on what was known then."""
    problems, count, worst_gap, worst = [], 0, 0.0, 0.0
    left_out = Counter(dict.fromkeys(LEFT_OUT, 0))
    for document in record.plans:
        why = reason_to_leave_out(document)
        if why is not None:
            left_out[why] += 1
            continue
        plan = plan_of(town.cars[document["car"]], document)
        count += 1
        known = curve(plan.car, prices, plan.made_at, plan.by, plan.made_at)
        cost = sum(
            plan.power_kw * overlap(start, end, span) * price
            for start, end in plan.intervals
            for span, price in known
        )
        best = cheapest(plan, known, at_once(plan, document))
        over = cost - best
        worst, worst_gap = max(worst, over - plan.gap), max(worst_gap, plan.gap)
        label = f"{plan.car.name} at {plan.made_at:%H:%M}"
        if abs(cost - plan.cost) > MONEY_TOLERANCE:
            problems.append(f"{label}: costs {cost:.6f}, reported {plan.cost:.6f}")
        if over > plan.gap + MONEY_TOLERANCE:
            problems.append(f"{label}: {over:.6f} above the best, reported gap {plan.gap:.6f}")
    return Verdict(
        "each plan was within its reported gap on what was known then",
        f"{count} plans, the largest gap {worst_gap:.4f}, none beyond it by more than {worst:.1e}; "
        f"not looked at {', '.join(f'{n} {why}' for why, n in left_out.items())}",
        problems,
    )


EMPTY, NO_DEADLINE, SHORT, BEYOND = LEFT_OUT = (
    "empty",
    "without a deadline ahead",
    "short of their target",
    "that go on after their deadline",
)
"""Plans of which this checker does not know the best: how many there are is told."""


def reason_to_leave_out(document: Json) -> str | None:
    """Why a plan is not compared with the best; `None` if it is."""
    brief, cycle = document["plan"], document["cycle"]
    promise = cycle and cycle.get("promise")
    if not brief["intervals"]:
        return EMPTY
    if not promise or instant(promise["by"]) <= instant(document["made_at"]):
        return NO_DEADLINE
    if brief["shortfall_kwh"] > 0:
        return SHORT
    return BEYOND if instant(brief["intervals"][-1]["end"]) > instant(promise["by"]) else None


def plan_of(car: Car, document: Json) -> Plan:
    """A plan whose deadline is in the morning."""
    brief = document["plan"]
    intervals = [(instant(i["start"]), instant(i["end"])) for i in brief["intervals"]]
    return Plan(
        car=car,
        made_at=instant(document["made_at"]),
        by=instant(document["cycle"]["promise"]["by"]),
        cost=brief["cost"],
        gap=brief["cost"] - brief["bound"],
        energy_kwh=brief["energy_kwh"],
        power_kw=brief["intervals"][0]["power_kw"],
        intervals=intervals,
    )


Span = tuple[datetime, datetime]


def curve(
    car: Car, prices: Prices, start: datetime, end: datetime, known_at: datetime = ENDS
) -> list[tuple[Span, float]]:
    """The prices that a car's plan goes by, in the quarters of a period."""
    found = []
    for number in range(quarter_of(start), quarter_of(end - timedelta(microseconds=1)) + 1):
        price = prices.followed(car.home, number, is_flex=car.follows == "flex", known_at=known_at)
        if price is not None:
            at = quarter_at(number)
            found.append(((max(at, start), min(at + QUARTER, end)), price))
    return found


def overlap(start: datetime, end: datetime, span: Span) -> float:
    """Hours that two periods share."""
    shared = min(end, span[1]) - max(start, span[0])
    return max(0.0, shared / HOUR)


def at_once(plan: Plan, document: Json) -> float:
    """Energy that a car wants at once, in kWh at the plug: what its reserve misses at most."""
    car = plan.car
    if car.follows == "hours":
        return 0.0
    # Whoever will be out of reach when it sleeps gets all that it needs at once.
    if not car.may_be_woken:
        return plan.energy_kwh
    # A plan that goes on may bring a little less than is needed: the car may be
    # so much emptier than the energy of its plan tells.
    needed = plan.energy_kwh + plan.power_kw * (MAY_BE_MISSING / HOUR)
    stored = needed * car.efficiency / car.capacity_kwh * 100
    target = document["cycle"]["promise"]["target_percent"]
    target = min(car.limit_percent if target is None else target, car.limit_percent)
    missing = max(0.0, car.reserve_percent - (target - stored))
    return min(missing * car.capacity_kwh / 100 / car.efficiency, plan.energy_kwh)


def cheapest(plan: Plan, known: list[tuple[Span, float]], reserve: float) -> float:
    """Cost of the same energy, the reserve at once and the rest where it is cheapest."""
    cost, left = 0.0, plan.energy_kwh - reserve
    first = plan.made_at + timedelta(hours=reserve / plan.power_kw)
    for span, price in known:
        cost += plan.power_kw * overlap(plan.made_at, first, span) * price
    for span, price in sorted(known, key=lambda slot: slot[1]):
        bought = min(left, plan.power_kw * overlap(first, plan.by, span))
        cost += bought * price
        left -= bought
    return cost
