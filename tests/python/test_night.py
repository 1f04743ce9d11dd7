"""The checker of the night notices what it is there to notice."""

import copy
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from night_check import (  # noqa: E402
    Verdict,
    check_bills,
    check_deadlines,
    check_events,
    check_gaps,
    check_one_active,
    hours_charged,
)
from night_control import check_limit, check_overrides  # noqa: E402
from night_drive import Record, Seen  # noqa: E402
from night_town import (  # noqa: E402
    ENDS,
    OUTAGE,
    OUTAGE_OF,
    STARTS,
    Car,
    Home,
    Prices,
    Town,
    nights_quarters,
    quarter_at,
)

HOUR = timedelta(hours=1)
CAR = "ada-car"
TARGET = "00000000-0000-0000-0000-000000000001"


def written(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def event(seq: int, state: str, action: str = "a", **more: Any) -> dict[str, Any]:
    data = {
        "id": action,
        "targetId": TARGET,
        "state": state,
        "createdAt": written(STARTS + 2 * HOUR),
        "completedAt": None if state == "PENDING" else written(STARTS + 2 * HOUR + HOUR / 60),
    }
    name = "user:vendor-action:updated"
    return {"seq": seq, "id": f"e{seq}", "name": name, "target": TARGET, "data": data, **more}


def plugged(seq: int, at: datetime) -> dict[str, Any]:
    data = {"kind": "vehicle", "changed": ["charging"]}
    return event(seq, "PENDING", name="device:changed", at=written(at), data=data)


def town() -> Town:
    home = Home("ada-home", "ada", ZoneInfo("Europe/Oslo"), "NO1", "oslo-east", None, ())
    clock = (ENDS - 5 * HOUR).astimezone(home.zone).time()
    car = Car(
        name=CAR, home=home, vendor="FJORD", power_kw=10.0, offered_kw=10.0,
        capacity_kwh=50.0, efficiency=1.0, limit_percent=90.0, taper_from=90.0, taper_end=0.3,
        may_be_woken=True, sleeps_after=None, follows="flex", policy="p", target_percent=80.0,
        reserve_percent=0.0, deadline=clock, hours=0.0, device=CAR,
    )  # fmt: skip
    devices: dict[str, Any] = {kind: [] for kind in ("vehicles", "chargers", "hvacs", "inverters")}
    devices["vehicles"] = [{"id": CAR, "user": "ada", "location": "ada-home"}]
    return Town(devices, {"ada-home": home}, {CAR: car}, {})


def prices() -> Prices:
    book = Prices({})
    cheap = quarter_at(nights_quarters()[8])
    rows = {n: 0.5 if cheap <= quarter_at(n) < cheap + 2 * HOUR else 1.0 for n in nights_quarters()}
    book.publish("NO1", STARTS, rows)
    return book


def night() -> Record:
    """A car comes home after an hour and charges 20 kWh in the two cheap hours."""
    record = Record(ids={CAR: TARGET})
    for look in range(24 * 12 + 1):
        at = STARTS + look * HOUR / 12
        soc = 40.0 + max(0.0, min(2.0, (at - STARTS) / HOUR - 2)) * 20
        power = 10.0 if 40 < soc < 80 else 0.0
        record.cars.setdefault(CAR, []).append(Seen(at, soc, at >= STARTS + HOUR, power))
    record.metered[CAR] = [2.5 if 8 <= place < 16 else 0.0 for place in range(96)]
    record.statistics["ada", "vehicle"] = [
        {"date": written(quarter_at(n)), "kwhSum": kwh, "costSum": kwh * 0.5}
        for n, kwh in zip(nights_quarters(), record.metered[CAR], strict=True)
    ]
    record.events = [plugged(1, STARTS + HOUR), event(2, "PENDING"), event(3, "CONFIRMED")]
    record.delivered = record.events[1:]
    at = STARTS + 2 * HOUR
    record.commands = [{"at": written(at), "device": CAR, "command": {"charge": "start"}}]
    by = written(ENDS - 5 * HOUR)
    record.plans = [
        {
            "car": CAR,
            "made_at": written(STARTS + HOUR),
            "cycle": {"promise": {"by": by, "target_percent": 80.0}},
            "plan": {
                "intervals": [
                    {"start": written(at), "end": written(at + 2 * HOUR), "power_kw": 10.0}
                ],
                "energy_kwh": 20.0,
                "shortfall_kwh": 0.0,
                "cost": 10.0,
                "bound": 10.0,
            },
        }
    ]
    return record


def judged(record: Record) -> dict[str, Verdict]:
    return {
        "deadlines": check_deadlines(town(), record),
        "active": check_one_active(record),
        "events": check_events(record, 0),
        "bills": check_bills(town(), prices(), record),
        "gaps": check_gaps(town(), prices(), record),
    }


def faults(record: Record) -> set[str]:
    return {name for name, verdict in judged(record).items() if not verdict.is_good}


def test_a_good_night_is_good() -> None:
    verdicts = judged(night())
    assert {name: verdict.problems for name, verdict in verdicts.items() if verdict.problems} == {}
    assert "1 met" in verdicts["deadlines"].seen
    assert verdicts["gaps"].seen.startswith("1 plans")


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ({"shortfall_kwh": 0.1}, "1 short of their target"),
        ({"intervals": []}, "1 empty"),
        (
            {"intervals": [{"start": written(STARTS), "end": written(ENDS), "power_kw": 1.0}]},
            "1 that go on after their deadline",
        ),
    ],
)
def test_plans_that_are_not_looked_at_are_counted(fault: dict[str, Any], seen: str) -> None:
    record = night()
    record.plans.append(copy.deepcopy(record.plans[0]))
    record.plans[1]["plan"].update(fault)
    verdict = check_gaps(town(), prices(), record)
    assert verdict.seen.startswith("1 plans")
    assert seen in verdict.seen
    record.plans[0]["cycle"] = None
    assert "1 without a deadline ahead" in check_gaps(town(), prices(), record).seen


def test_who_does_not_say_where_it_is_pays_no_price() -> None:
    hidden, record = town(), night()
    hidden.scenario["vehicles"][0]["scopes"] = ["read_data"]
    assert not check_bills(hidden, prices(), record).is_good
    for row in record.statistics["ada", "vehicle"]:
        row["costSum"] = 0.0
    assert check_bills(hidden, prices(), record).is_good
    assert not check_bills(town(), prices(), record).is_good


@pytest.mark.parametrize(
    ("limit_kw", "is_good"),
    [(10.0, True), (9.9, True), (9.8, False), (5.0, False)],
)
def test_a_load_above_the_limit_is_noticed(*, limit_kw: float, is_good: bool) -> None:
    verdict = check_limit(town(), night(), limit_kw)
    assert verdict.is_good == is_good
    assert len(verdict.problems) == (0 if is_good else 8)
    # Nobody else's load is the planner's.
    one = town()
    one.cars[CAR] = replace(one.cars[CAR], follows="nobody")
    one.cars["other"] = replace(one.cars[CAR], name="other", follows="flex")
    record = night()
    record.metered["other"] = [0.0] * 96
    assert check_limit(one, record, limit_kw).is_good


def forced(
    *, powers: list[float], soc: float = 50.0, at: datetime = STARTS + 6 * HOUR, plug: bool = True
) -> tuple[Town, Record]:
    """An owner at a charger cannot wait, and the car is looked at each minute."""
    one, record = town(), night()
    one.scenario["vehicles"][0]["charger"] = "ada-charger"
    one.scenario["chargers"] = [{"id": "ada-charger", "vendor": OUTAGE_OF}]
    record.overrides = [(at, "ada-charger")]
    record.forced["ada-charger"] = [
        Seen(at + minute * HOUR / 60, soc, is_plugged_in=plug, power_kw=power)
        for minute, power in enumerate(powers)
    ]
    return one, record


@pytest.mark.parametrize(
    ("powers", "is_good"),
    [
        ([0.0, 0.0, 10.0, 10.0], True),
        ([0.0, 0.0, 0.0, 0.0], False),
        # It charged when it was asked for, and stopped: nobody undid the stop.
        ([10.0, 0.0, 0.0, 0.0], False),
    ],
)
def test_who_cannot_wait_and_is_left_alone_is_noticed(
    *, powers: list[float], is_good: bool
) -> None:
    verdict = check_overrides(*forced(powers=powers))
    assert verdict.is_good == is_good
    assert ("1 charged" in verdict.seen) == is_good


def test_overrides_that_nobody_could_follow_are_counted() -> None:
    idle = [0.0] * 4
    full = check_overrides(*forced(powers=idle, soc=89.8))
    assert full.is_good and "1 at the limit" in full.seen  # noqa: PT018
    gone = check_overrides(*forced(powers=idle, plug=False))
    assert gone.is_good and "1 without a car at the plug" in gone.seen  # noqa: PT018
    down = check_overrides(*forced(powers=idle, at=OUTAGE[0]))
    assert down.is_good and "1 in the outage" in down.seen  # noqa: PT018
    assert not check_overrides(*forced(powers=idle, at=OUTAGE[1])).is_good


def late(record: Record) -> None:
    looks = record.cars[CAR]
    record.cars[CAR] = [
        Seen(look.at, min(look.soc_percent, 75.0), look.is_plugged_in, look.power_kw)
        for look in looks
    ]


def second_action(record: Record) -> None:
    record.events.insert(2, event(20, "PENDING", "b"))
    record.events.append(event(21, "CANCELLED", "b"))
    record.delivered = record.events[1:]
    record.delivered.sort(key=lambda one: one["seq"])


def out_of_the_blue(record: Record) -> None:
    record.commands[0]["at"] = written(STARTS + 3 * HOUR)


def twice(record: Record) -> None:
    record.delivered.append(record.delivered[-1])


def lost(record: Record) -> None:
    record.delivered = record.delivered[:1]


def silent_plug(record: Record) -> None:
    del record.events[0]


def ended_twice(record: Record) -> None:
    record.events.append(event(4, "FAILED"))
    record.delivered = record.events[1:]


def wrong_bill(record: Record) -> None:
    record.statistics["ada", "vehicle"][9]["costSum"] += 2e-6


def missing_bill(record: Record) -> None:
    del record.statistics["ada", "vehicle"][9]


def dear_plan(record: Record) -> None:
    plan = record.plans[0]["plan"]
    (interval,) = plan["intervals"]
    interval["start"] = written(STARTS + 6 * HOUR)
    interval["end"] = written(STARTS + 8 * HOUR)
    plan.update(cost=20.0, bound=20.0)


def false_cost(record: Record) -> None:
    record.plans[0]["plan"]["cost"] = 9.9


@pytest.mark.parametrize(
    ("fault", "noticed"),
    [
        (late, {"deadlines"}),
        (second_action, {"active"}),
        (out_of_the_blue, {"active"}),
        (twice, {"events"}),
        (lost, {"events"}),
        (silent_plug, {"events"}),
        (ended_twice, {"active", "events"}),
        (wrong_bill, {"bills"}),
        (missing_bill, {"bills"}),
        (dear_plan, {"gaps"}),
        (false_cost, {"gaps"}),
    ],
)
def test_a_fault_is_noticed(fault: Any, noticed: set[str]) -> None:
    record = copy.deepcopy(night())
    fault(record)
    assert faults(record) >= noticed


@pytest.mark.parametrize(("minutes", "is_good"), [(0, True), (2, True), (4, False)])
def test_a_reserve_may_miss_what_a_plan_that_goes_on_leaves_open(
    *, minutes: int, is_good: bool
) -> None:
    one, record = town(), night()
    one.cars[CAR] = replace(one.cars[CAR], reserve_percent=40.0)
    plan, made_at, cheap = record.plans[0]["plan"], STARTS + HOUR, STARTS + 2 * HOUR
    # 20 kWh are the target above the reserve; so much of them is bought at once, at 1.0.
    dear = minutes * HOUR / 60
    spans = [(made_at, made_at + dear), (cheap, cheap + 2 * HOUR - dear)]
    plan["intervals"] = [
        {"start": written(start), "end": written(end), "power_kw": 10.0} for start, end in spans
    ]
    cost = 10.0 + 5.0 * (dear / HOUR)
    plan.update(cost=cost, bound=cost)
    assert check_gaps(one, prices(), record).is_good == is_good


def slept(came: datetime, soc: float, full_from: datetime) -> Record:
    """A car that comes home, and charges from an instant on as fast as it can."""
    record = night()
    looks = [STARTS + look * HOUR / 12 for look in range(24 * 12 + 1)]
    charged = {at: max(0.0, (at - full_from) / HOUR) * 20 for at in looks}
    record.cars[CAR] = [
        Seen(at, min(soc + charged[at], 80.0), at >= came, 10.0 * (at >= full_from)) for at in looks
    ]
    return record


@pytest.mark.parametrize(
    ("vendor", "soc", "seen"),
    [
        # 3.9 hours are wanted and 3.75 are left.
        (OUTAGE_OF, 2.0, "1 cut off by the outage"),
        ("VOLTBOX", 2.0, "1 missed"),
        # 3.5 hours: there was time after it.
        (OUTAGE_OF, 10.0, "1 missed"),
    ],
)
def test_an_outage_excuses_what_it_made_impossible(vendor: str, soc: float, seen: str) -> None:
    one = town()
    one.cars[CAR] = replace(one.cars[CAR], vendor=vendor)
    late = slept(STARTS + HOUR, soc, OUTAGE[1] + HOUR)
    assert seen in check_deadlines(one, late).seen


def test_an_outage_does_not_excuse_who_was_late_before_it() -> None:
    one = town()
    # 5.6 hours at 7 kW are wanted, and 5.5 are left when the outage begins.
    one.cars[CAR] = replace(one.cars[CAR], vendor=OUTAGE_OF, power_kw=7.0, offered_kw=7.0)
    late = slept(STARTS + HOUR, 2.0, OUTAGE[1] + HOUR)
    assert "1 missed" in check_deadlines(one, late).seen


@pytest.mark.parametrize(
    ("may_be_woken", "came_h", "seen"),
    [
        # It falls asleep an hour after it came, for the first time.
        (False, 0.5, "1 asleep before anybody knew"),
        # It had time to sleep before it came: that it does was known.
        (False, 3.0, "1 missed"),
        (True, 0.5, "1 missed"),
    ],
)
def test_a_first_sleep_is_a_surprise(*, may_be_woken: bool, came_h: float, seen: str) -> None:
    one = town()
    car = replace(one.cars[CAR], sleeps_after=HOUR, may_be_woken=may_be_woken)
    one.cars[CAR] = car
    assert seen in check_deadlines(one, slept(STARTS + came_h * HOUR, 40.0, ENDS)).seen


@pytest.mark.parametrize(
    ("offered_kw", "hours_before", "seen"),
    [
        # It takes 4 kW, so 5 hours: at 10 kW they were to be 2.
        (10.0, 5.0, "1 slower than anybody knew"),
        # It began in time, and was left alone later.
        (10.0, 5.5, "1 missed"),
        # All that was offered: nothing was to be learnt.
        (4.0, 5.0, "1 missed"),
    ],
)
def test_nobody_knows_how_slow_a_car_is_before_it_charges(
    offered_kw: float, hours_before: float, seen: str
) -> None:
    one = town()
    one.cars[CAR] = replace(one.cars[CAR], power_kw=4.0, offered_kw=offered_kw)
    record = night()
    began = ENDS - (5 + hours_before) * HOUR
    for place, look in enumerate(record.cars[CAR]):
        soc = 40.0 + max(0.0, min(4.5, (look.at - began) / HOUR)) * 8
        power = 4.0 if 40 < soc < 76 or look.at == began else 0.0
        record.cars[CAR][place] = replace(look, soc_percent=soc, power_kw=power)
    assert seen in check_deadlines(one, record).seen


@pytest.mark.parametrize(("late", "cars", "is_good"), [(1, 3, True), (2, 3, False), (2, 40, True)])
def test_excuses_of_many_are_no_excuse(*, late: int, cars: int, is_good: bool) -> None:
    one, record = town(), night()
    slow = slept(STARTS + HOUR, 2.0, OUTAGE[1] + HOUR).cars[CAR]
    for number in range(cars):
        name = f"car-{number}"
        one.cars[name] = replace(one.cars[CAR], name=name, vendor=OUTAGE_OF)
        record.cars[name] = slow if number < late else record.cars[CAR]
    verdict = check_deadlines(one, record)
    assert f"{late} cut off by the outage" in verdict.seen
    assert verdict.is_good == is_good


@pytest.mark.parametrize(
    ("looks", "minutes"),
    [
        # Of 50 kWh at 10 kW a percent is three minutes.
        ([(60.0, 0.0), (61.0, 10.0), (62.0, 0.0)], 6.0),
        # Off at a look, and on before and after it.
        ([(60.0, 10.0), (61.0, 0.0), (62.0, 10.0)], 6.0),
        # Nearly full it takes half as much: a percent is six minutes.
        ([(95.0, 5.0), (95.5, 0.0), (96.0, 5.0), (96.0, 0.0)], 6.0),
        # On between two looks only, and never longer than that.
        ([(95.0, 5.0), (95.0, 0.0), (95.5, 0.0), (98.0, 0.0)], 8.0),
    ],
)
def test_hours_are_what_was_taken_at_the_power_shown(
    looks: list[tuple[float, float]], minutes: float
) -> None:
    seen = [
        Seen(STARTS + n * HOUR / 12, soc, is_plugged_in=True, power_kw=kw)
        for n, (soc, kw) in enumerate(looks)
    ]
    assert hours_charged(town().cars[CAR], seen) * 60 == pytest.approx(minutes)
