"""Numbers and texts that the native part cannot hold are refused by name, wherever they stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from inspect import signature
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import slackwater as sw
import slackwater.statistics as stats
from slackwater import (
    actions,
    devices,
    flex,
    paging,
    policies,
    schedule,
    signals,
    tariffs,
    versions,
)

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
BY = SIX + 3 * HOUR
PRICES = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2], currency="EUR")
PLAN = sw.plan_charge(PRICES, now=SIX, power_max_kw=7, targets=[(BY, 7)])
BATTERY = sw.Battery(50, 30, 90, 0.9, 20)
FACTS = flex.VehicleFacts("home", "home", True, 40)
WISH = flex.FlexPolicy(10, {"monday": flex.Day("07:00", 80)})
SAMPLE = stats.Sample(SIX, BY, 1.0, 0.2)
CHARGER = policies.ChargerFacts(is_reachable=True, is_plugged_in=True, is_charging=False)
EACH = [0.1, 0.2, 0.3]

Call = tuple[Callable[..., object], dict[str, Any]]

CALLS: dict[str, Call] = {
    "Prices.from_values": (
        sw.Prices.from_values,
        {"start": SIX, "prices_per_kwh": [0.1], "currency": "EUR"},
    ),
    "Prices.from_slots": (
        sw.Prices.from_slots,
        {"slots": [(SIX, BY, 0.1)], "currency": "EUR"},
    ),
    "plan_charge": (
        sw.plan_charge,
        {
            "prices": PRICES,
            "now": SIX,
            "power_max_kw": 7,
            "targets": [sw.Target(BY, 10)],
            "reserve_kwh": 1,
            "energy_max_kwh": 20,
            "power_limits": [sw.PowerLimit(SIX, BY, 5)],
            "after_deadline": "stop",
        },
    ),
    "plan_vehicle": (
        sw.plan_vehicle,
        {
            "prices": PRICES,
            "now": SIX,
            "power_max_kw": 7,
            "battery": BATTERY,
            "targets": [sw.SocTarget(BY, 40)],
            "reserve_percent": 5,
        },
    ),
    "plan_duration": (
        sw.plan_duration,
        {"prices": PRICES, "now": SIX, "duration": HOUR, "by": BY, "power_kw": 2},
    ),
    "plan_switching": (
        sw.plan_switching,
        {
            "prices": PRICES,
            "now": SIX,
            "power_max_kw": 7,
            "power_min_kw": 1,
            "targets": [(BY, 7)],
            "start_cost": 0.1,
            "sessions_max": 2,
            "nodes_max": 100,
        },
    ),
    "plan_storage": (
        sw.plan_storage,
        {
            "prices": PRICES,
            "now": SIX,
            "battery": BATTERY,
            "power_max_kw": 4,
            "discharge_max_kw": 4,
            "discharge_efficiency": 0.9,
            "targets": [sw.SocTarget(BY, 50)],
            "reserve_percent": 10,
            "consumption": [sw.Consumption(SIX, SIX + HOUR, 1)],
            "limits": [sw.StorageLimit(SIX, BY, 3, 3, 10, 80)],
            "end_value_per_kwh": 0.1,
            "wear_price_per_kwh": 0.01,
        },
    ),
    "plan_site": (
        sw.plan_site,
        {
            "prices": PRICES,
            "now": SIX,
            "devices": [
                sw.Vehicle(
                    "van",
                    power_max_kw=10,
                    battery=BATTERY,
                    targets=[sw.SocTarget(BY, 50)],
                    discharge=sw.Discharge(
                        discharge_max_kw=5,
                        discharge_efficiency=0.9,
                        soc_min_percent=10,
                        wear_price_per_kwh=0.1,
                    ),
                    taper=[(50, 10), (100, 1)],
                    group="hall",
                    end_value_per_kwh=0.1,
                    priority=2,
                ),
                sw.Vehicle("small", amps=16, targets=[sw.Target(BY, 5)]),
                sw.StationaryBattery("store", capacity_kwh=10, soc_percent=50, power_max_kw=4),
                sw.Solar("roof", power_kw=[1, 2, 1]),
                sw.Load("house", power_kw=1),
                sw.ShiftableLoad("wash", power_kw=1, duration=HOUR),
            ],
            "groups": [sw.Group("hall", limit_kw=EACH), sw.Group("fuse", amps=32)],
            "import_limit_kw": 50,
            "import_breach_price_per_kwh": 1,
            "export_limit_kw": [(SIX, BY, 5)],
            "demand_charge": sw.DemandCharge(peak_price_per_kw=10, peak_incurred_kw=1),
            "carbon": sw.Carbon(price_per_kg=0.1, intensity=[(SIX, BY, 0.3)]),
            "preference_budget": 0.1,
            "nodes_max": 100,
            "prefer": ["earlier"],
        },
    ),
    "explain": (PLAN.explain, {"time_zone": "UTC"}),
    "close_to": (PLAN.close_to, {"previous": PLAN, "budget": 0.1, "spent": 0}),
    "what_if": (PLAN.what_if, {"more_kwh": 1, "time_zone": "UTC", "floor": [(SIX + HOUR, 1)]}),
    "energy_at_risk": (PLAN.energy_at_risk, {"departures": [(BY, 1)], "wanted_kwh": 5}),
    "from_json": (sw.Plan.from_json, {"text": PLAN.to_json()}),
    "next_deadline": (sw.next_deadline, {"time": "07:00", "time_zone": "UTC", "now": SIX}),
    "actions.next_step": (
        actions.next_step,
        {
            "command": "charge_rate_limit_kw",
            "created_at": SIX,
            "now": SIX,
            "power_state": "charging",
            "sent_count": 1,
            "last_sent_at": SIX,
            "value": 5,
            "timeout_seconds": 900,
            "retry_seconds": 30,
        },
    ),
    "devices.check_command": (
        devices.check_command,
        {"command": "start", "power_state": "unplugged", "value": 5},
    ),
    "devices.serial_number": (devices.serial_number, {"reported": "abc", "vendor_id": "abc"}),
    "devices.shown_consumption_kw": (
        devices.shown_consumption_kw,
        {"reported_kw": 5, "is_active": True},
    ),
    "flex.check": (flex.check, {"policy": WISH, "fixed_reserve_percent": 10}),
    "flex.deadlines": (
        flex.deadlines,
        {"policy": WISH, "time_zone": "UTC", "now": SIX, "until": BY, "charge_limit_percent": 90},
    ),
    "flex.plan": (
        flex.plan,
        {
            "prices": PRICES,
            "policy": WISH,
            "facts": FACTS,
            "time_zone": "UTC",
            "now": SIX,
            "power_max_kw": 7,
            "capacity_kwh": 50,
            "efficiency": 1,
        },
    ),
    "paging.list_page": (paging.list_page, {"items": [(SIX, "a"), (BY, "b")], "page_size": 1}),
    "policies.charger_status": (
        policies.charger_status,
        {
            "prices": PRICES,
            "policy": policies.ChargerPolicy(True, "07:00", "01:00"),
            "facts": CHARGER,
            "now": SIX,
            "by": BY,
        },
    ),
    "schedule.should_charge": (
        schedule.should_charge,
        {
            "rules": [schedule.Rule(True, hour_minute=("07:00", "08:00"), weekdays=[1])],
            "at": SIX,
            "time_zone": "UTC",
        },
    ),
    "signals.check": (
        signals.check,
        {"signal": signals.PriceSignal("EUR", BY, [signals.SignalValue(SIX, 0.2)])},
    ),
    "statistics.series": (
        stats.series,
        {"samples": [SAMPLE], "resolution": "DAY", "utc_offset_hours": 1},
    ),
    "statistics.utc_offset_minutes": (stats.utc_offset_minutes, {"hours": 1}),
    "tariffs.check_rates": (tariffs.check_rates, {"rates": [tariffs.Rate("low", "0.1")]}),
    "versions.stage": (
        versions.stage,
        {"version": "2024-01-01", "releases": [("2024-01-01", SIX)], "now": SIX},
    ),
}


Put = Callable[[Any], Any]


def leaves(value: Any, place: str) -> Iterator[tuple[str, Any, Put]]:
    """Each number and text inside of a value: its place, itself, and how to put another there."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        yield place, value, lambda new: new
        return
    for at, inner, put in parts(value):
        for deeper, leaf, put_inside in leaves(inner, place + at):
            yield deeper, leaf, after(put_inside, put)


def after(first: Put, then: Put) -> Put:
    return lambda new: then(first(new))


def parts(value: Any) -> list[tuple[str, Any, Put]]:
    """The parts of a value, each with its place and how to put another there."""
    if isinstance(value, Mapping):
        return [
            (f"[{key!r}]", each, partial(in_mapping, value, key)) for key, each in value.items()
        ]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        names = list(value._fields)
        return [(f".{name}", getattr(value, name), partial(in_row, value, name)) for name in names]
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if is_used(value, field.name)]
        return [(f".{name}", getattr(value, name), partial(in_row, value, name)) for name in names]
    if isinstance(value, list | tuple):
        return [(f"[{at}]", each, partial(in_list, value, at)) for at, each in enumerate(value)]
    return []


def in_mapping(value: Mapping[str, Any], key: str, new: object) -> object:
    return {**value, key: new}


def in_row(value: Any, name: str, new: object) -> object:
    changed = {name: new}
    return (
        replace(value, **changed)
        if hasattr(value, "__dataclass_fields__")
        else value._replace(**changed)
    )


def in_list(value: Any, at: int, new: object) -> object:
    return type(value)([*value[:at], new, *value[at + 1 :]])


def is_used(device: Any, name: str) -> bool:
    """A voltage counts only beside a current."""
    return name != "volts" or device.amps is not None


def odd(leaf: object) -> list[object]:
    """What the place of a number or a text may hold, and no native value can."""
    return ["\ud800", "a\udfffb"] if isinstance(leaf, str) else [10**400, -(10**400)]


def last_name(place: str) -> str:
    """The name that a message has to hold: the argument of the call."""
    # The native part has names of its own for these.
    native = {"import_limit_kw": "import_limit", "export_limit_kw": "export_limit"}
    native |= {"carbon": "carbon", "capacity_kwh": "battery"}
    native |= {"import_breach_price_per_kwh": "import_limit", "efficiency": "battery"}
    argument = re.split(r"[.\[]", place)[0]
    return native.get(argument, argument)


TABLE = [
    pytest.param(name, argument, place, partial(put, value), id=f"{name}-{place}-{index}")
    for name, (_, arguments) in CALLS.items()
    for argument, given in arguments.items()
    for place, leaf, put in leaves(given, argument)
    for index, value in enumerate(odd(leaf))
]


@pytest.mark.parametrize(("name", "argument", "place", "make"), TABLE)
def test_what_cannot_be_converted_is_refused(
    name: str, argument: str, place: str, make: Callable[[], object]
) -> None:
    call, arguments = CALLS[name]
    # Where the value is one of a class, that refuses it, by the name of its field.
    names = "|".join([last_name(place), *re.findall(r"\.(\w+)", place)])
    with pytest.raises(sw.InputError, match=rf"\b({names})\b.* is "):
        call(**(arguments | {argument: make()}))


@pytest.mark.parametrize("value", [-1, 2**32, 2**70])
def test_a_count_that_cannot_be_is_refused(value: int) -> None:
    for name in ("plan_site", "plan_switching"):
        call, arguments = CALLS[name]
        with pytest.raises(
            sw.InputError, match=rf"^nodes_max is {value}(, which is out of range$|; it is)"
        ):
            call(**(arguments | {"nodes_max": value}))


def test_a_number_is_named_where_it_stands() -> None:
    call, arguments = CALLS["plan_site"]
    van = replace(arguments["devices"][0], power_max_kw=10**400)
    with pytest.raises(
        sw.InputError,
        match=r"^devices\[0\]\.power_max_kw is a whole number of 1329 bits, which is out of range$",
    ):
        call(**(arguments | {"devices": [van]}))


def test_a_text_is_named_where_it_stands() -> None:
    call, arguments = CALLS["plan_site"]
    house = sw.Load("\ud800", power_kw=1)
    with pytest.raises(
        sw.InputError, match=r"^devices\[0\]\.name is '\\ud800', which holds a lone surrogate$"
    ):
        call(**(arguments | {"devices": [house]}))


def test_other_errors_stay_as_they_are() -> None:
    call, arguments = CALLS["plan_charge"]
    with pytest.raises(TypeError, match="power_max_kw"):
        call(**(arguments | {"power_max_kw": "7"}))
    with pytest.raises(TypeError, match="has no time zone"):
        call(**(arguments | {"now": datetime(2026, 1, 5)}))  # noqa: DTZ001  what is refused


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_of_the_table_are_fine(name: str) -> None:
    call, arguments = CALLS[name]
    call(**arguments)


# Times near the ends of the calendar, which zones and horizons carry beyond it.
FAR = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=timezone(-HOUR))]
TIMES = [
    (name, argument)
    for name, (_, arguments) in CALLS.items()
    for argument, value in arguments.items()
    if isinstance(value, datetime)
]


@pytest.mark.parametrize("far", FAR, ids=["first", "last"])
@pytest.mark.parametrize(("name", "argument"), TIMES)
def test_a_time_near_the_ends_of_the_calendar_is_named(
    name: str, argument: str, far: datetime
) -> None:
    call, arguments = CALLS[name]
    far_text = rf"{argument}(\[0\])?: \d+-.* lies outside the years 10 to 9990"
    text = f"^({far_text}|until is .*, which is before now)"
    with pytest.raises(sw.InputError, match=text):
        call(**(arguments | {argument: far}))


@pytest.mark.parametrize("far", FAR, ids=["first", "last"])
def test_such_a_time_is_named_where_it_stands(far: datetime) -> None:
    load = sw.Load("house", power_kw=[(SIX, far, 1.0)])
    with pytest.raises(sw.InputError, match=r"^devices\[0\]\.power_kw\[0\]\[1\]: \d+-"):
        sw.plan_site(PRICES, now=SIX, devices=[load])
    targets = [sw.Target(BY, 1), sw.Target(far, 2)]
    with pytest.raises(sw.InputError, match=r"^targets\[1\]\.by: \d+-"):
        sw.plan_charge(PRICES, now=SIX, power_max_kw=7, targets=targets)
    with pytest.raises(sw.InputError, match=r"^at: \d+-"):
        PRICES.price_at(far)


ENDING: dict[str, Call] = {
    **{name: CALLS[name] for name in CALLS if "until" in signature(CALLS[name][0]).parameters},
    "plan_heat": (
        sw.plan_heat,
        {
            "prices": PRICES,
            "capacity_kwh_per_k": 5,
            "loss_kw_per_k": 0.2,
            "temperature_celsius": 20,
            "comfort_celsius": (19, 22),
            "power_max_kw": 3,
            "cop": 3,
            "outdoor_celsius": 5,
        },
    ),
    "plan_capacity": (
        sw.plan_capacity,
        {"prices": PRICES, "tariff": "no-elvia-2026-07", "battery": BATTERY, "power_max_kw": 7},
    ),
    "flex.intent": (flex.intent, {"policy": WISH, "facts": FACTS}),
}


@pytest.mark.parametrize("name", ENDING)
def test_an_end_before_the_present_is_refused(name: str) -> None:
    call, arguments = ENDING[name]
    text = "until is 2026-01-05 17:00:00+00:00, which is before now, 2026-01-05 18:00:00+00:00"
    with pytest.raises(sw.InputError, match=re.escape(text)):
        call(**(arguments | {"now": SIX, "until": SIX - HOUR}))


def test_an_end_at_the_present_is_a_plan_of_nothing() -> None:
    plan = sw.plan_charge(PRICES, now=SIX, until=SIX, power_max_kw=7, targets=[(BY, 7)])
    assert (plan.energy_kwh, plan.shortfall_kwh) == (0, 7)


def test_the_order_of_times_is_not_that_of_clocks_that_go_back() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    now = datetime(2026, 10, 25, 2, 30, tzinfo=berlin)
    until = datetime(2026, 10, 25, 2, 0, tzinfo=berlin, fold=1)
    prices = sw.Prices.from_values(now, [0.1], currency="EUR")
    plan = sw.plan_charge(prices, now=now, until=until, power_max_kw=8, targets=[(until, 4)])
    assert plan.shortfall_kwh == 0
    with pytest.raises(sw.InputError, match="before now"):
        sw.plan_charge(prices, now=until, until=now, power_max_kw=8, targets=[])
