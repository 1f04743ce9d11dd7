"""What is no row, no mapping and no prices is refused by name, wherever rules take one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import slackwater as sw
from slackwater import devices, flex, policies, signals, tariffs

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
MORNING = SIX + timedelta(hours=13)
PRICES = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2], currency="EUR")
WISH = flex.FlexPolicy(10, {"monday": flex.Day("07:00", 80)})
FACTS = flex.VehicleFacts("home", "home", True, 40)
SIGNAL = signals.PriceSignal("EUR", MORNING, [signals.SignalValue(SIX, 0.2)])
CHARGER = policies.ChargerFacts(is_reachable=True, is_plugged_in=True, is_charging=False)
RATE = tariffs.Rate("low", "0.10")

NOTHING: list[Any] = [None, 5, "x", object(), float("nan")]

Call = Callable[[Any], object]

CALLS: dict[str, Call] = {
    "flex.check": flex.check,
    "flex.patch policy": lambda bad: flex.patch(bad, reserve_percent=12),
    "flex.observe": lambda bad: flex.observe(bad, FACTS),
    "flex.state facts": lambda bad: flex.state(20, bad),
    "signals.check": signals.check,
    "signals.replace": lambda bad: signals.replace(PRICES, bad),
    "tariffs.check_rates": lambda bad: tariffs.check_rates([bad]),
    "tariffs.check_intervals": lambda bad: tariffs.check_intervals([bad]),
    "tariffs.prices": lambda bad: tariffs.tariff_prices(bad, start=SIX, end=MORNING),
    "policies.charger_state prices": lambda bad: policies.charger_state(
        bad, CHARGER, is_enabled=True, now=SIX, by=None
    ),
    "policies.charger_state facts": lambda bad: policies.charger_state(
        PRICES, bad, is_enabled=True, now=SIX, by=None
    ),
    "policies.charger_status policy": lambda bad: policies.charger_status(
        PRICES, bad, CHARGER, now=SIX, by=None
    ),
    "policies.charger_deadline": lambda bad: policies.charger_deadline(bad, now=SIX),
    "policies.vehicle_deadline": lambda bad: policies.vehicle_deadline(bad, now=SIX),
    "policies.check_vehicle": policies.check_vehicle,
    "devices.merge vehicle": devices.merge_capabilities,
    "devices.merge ability": lambda bad: devices.merge_capabilities({"charge_state": bad}),
}


@pytest.mark.parametrize("bad", NOTHING, ids=lambda bad: type(bad).__name__)
@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_row_is_refused(name: str, bad: Any) -> None:
    kind = "None" if bad is None else f"an? {type(bad).__name__}"
    expected = rf"has to be .*, not {kind}$|is {kind}; (it has to be|give a) "
    with pytest.raises(TypeError, match=expected):
        CALLS[name](bad)


def test_the_good_calls_are_good() -> None:
    flex.check(WISH)
    signals.check(SIGNAL)
    tariffs.check_rates([RATE])
    assert devices.merge_capabilities({"charge_state": devices.Capability(True)})


@pytest.mark.parametrize("bad", [5, "x", [("monday", flex.Day("07:00", 80))]])
def test_a_schedule_is_a_mapping(bad: Any) -> None:
    with pytest.raises(TypeError, match="schedule has to be a mapping, not a"):
        flex.check(flex.FlexPolicy(10, bad))
    with pytest.raises(TypeError, match="schedule has to be a mapping, not a"):
        flex.patch(WISH, schedule=bad)


@pytest.mark.parametrize("bad", [5, "x", [0.1, 0.2]])
def test_prices_are_prices(bad: Any) -> None:
    with pytest.raises(TypeError, match=r"before has to be Prices, as .* makes them, not a"):
        signals.replace(bad, SIGNAL)


def test_a_battery_may_be_a_plain_tuple() -> None:
    given: Any = (40.0, 50.0)
    limits: Any = {"now": SIX, "power_max_kw": 7.0}
    for battery in (sw.Battery(*given), given):
        plan = sw.plan_vehicle(PRICES, battery=battery, targets=[], **limits)
        assert plan.energy_kwh == 0
        wish = policies.VehiclePolicy(is_enabled=True, minimum_charge_limit_percent=60)
        assert policies.plan_vehicle(PRICES, wish, by=None, battery=battery, **limits).energy_kwh
