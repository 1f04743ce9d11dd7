"""Targets above the charge limit, in every plan that knows a battery."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import slackwater as sw

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
PRICES = sw.Prices.from_values(SIX, [0.30, 0.10, 0.40, 0.20], currency="EUR")


def battery(soc_percent: float = 30, **changes: Any) -> sw.Battery:
    """A battery of 50 kWh that stops charging at 80 %."""
    return sw.Battery(50, soc_percent, **{"charge_limit_percent": 80.0, **changes})


def vehicle(**changes: Any) -> sw.Plan:
    """A plan for 90 % in four hours."""
    wishes: dict[str, Any] = {
        "now": SIX,
        "power_max_kw": 10,
        "battery": battery(),
        "targets": [sw.SocTarget(SIX + 4 * HOUR, 90)],
    }
    return sw.plan_vehicle(PRICES, **(wishes | changes))


def storage(**changes: Any) -> sw.StoragePlan:
    """A plan for 90 % in four hours that may sell."""
    wishes: dict[str, Any] = {
        "export_prices": PRICES,
        "now": SIX,
        "battery": battery(),
        "power_max_kw": 10,
        "discharge_max_kw": 10,
        "targets": [sw.SocTarget(SIX + 4 * HOUR, 90)],
    }
    return sw.plan_storage(PRICES, **(wishes | changes))


def test_a_vehicle_charges_up_to_its_limit_and_misses_the_rest() -> None:
    plan = vehicle()
    (target,) = plan.targets
    assert plan.energy_kwh == pytest.approx(25)
    assert plan.shortfall_kwh == target.shortfall_kwh == pytest.approx(5)
    assert (target.wanted_kwh, target.delivered_kwh) == pytest.approx((30, 25))
    assert target.reached_at is None
    assert plan.certificate.is_proved
    # What can be had is bought when it is cheapest, not without a pause.
    assert [reason.code for reason in plan.explain(time_zone="UTC")] == ["below_marginal_price"] * 3


def test_the_plan_says_what_lies_above_the_limit() -> None:
    short = vehicle(targets=[sw.SocTarget(SIX + HOUR, 90), sw.SocTarget(None, 80)])
    early, late = short.targets
    assert (early.shortfall_kwh, early.above_limit_kwh) == pytest.approx((20, 5))
    assert (late.shortfall_kwh, late.above_limit_kwh) == (0, 0)
    assert "(5 kWh above the charge limit)" in short._repr_html_()
    (target,) = storage().targets
    assert target.above_limit_kwh == pytest.approx(5)
    assert "(5 kWh above the charge limit)" in storage()._repr_html_()


def test_a_vehicle_above_its_limit_misses_what_it_lacks() -> None:
    full = battery(85)
    assert vehicle(battery=full).shortfall_kwh == pytest.approx(2.5)
    assert vehicle(battery=full).energy_kwh == 0
    held = storage(battery=full)
    assert held.shortfall_kwh == pytest.approx(2.5)
    assert held.soc_percent_by(SIX + 4 * HOUR) == pytest.approx(85)


def test_surplus_fills_a_vehicle_up_to_its_limit_only() -> None:
    paid = sw.Prices.from_values(SIX, [-0.10] * 4, currency="EUR")
    wishes: dict[str, Any] = {"now": SIX, "power_max_kw": 10, "fill_when_negative": True}
    target = sw.SocTarget(SIX + HOUR, 90)
    plan = sw.plan_vehicle(paid, battery=battery(), targets=[target], **wishes)
    assert (plan.energy_kwh, plan.shortfall_kwh) == pytest.approx((25, 20))


def test_storage_is_full_to_its_limit_and_misses_the_rest() -> None:
    plan = storage()
    (target,) = plan.targets
    assert target.soc_percent == pytest.approx(80)
    assert plan.shortfall_kwh == target.shortfall_kwh == pytest.approx(5)
    assert target.reached_at is None
    assert plan.certificate.is_proved


def test_storage_misses_what_a_period_forbids() -> None:
    period = sw.StorageLimit(SIX, SIX + 4 * HOUR, soc_max_percent=60)
    plan = storage(limits=[period])
    assert plan.shortfall_kwh == pytest.approx(15)
    assert plan.targets[0].soc_percent == pytest.approx(60)


@pytest.mark.parametrize("soc_percent", [80, 90])
def test_what_nobody_can_have_is_not_owed_for_good(soc_percent: float) -> None:
    """At its limit or above, a battery sells after the deadline, and after one gone by."""
    dear = sw.Prices.from_values(SIX, [0.10, 0.50, 0.10, 0.10], currency="EUR")
    wishes: dict[str, Any] = {
        "now": SIX,
        "power_max_kw": 10,
        "discharge_max_kw": 10,
        "export_prices": dear,
    }
    for by in (SIX + HOUR, SIX, SIX - HOUR):
        target = sw.SocTarget(by, 95)
        plan = sw.plan_storage(dear, battery=battery(soc_percent), targets=[target], **wishes)
        assert plan.slots[1].discharged_kwh == pytest.approx(10)
        assert plan.shortfall_kwh == pytest.approx((95 - soc_percent) / 2)
        first = sw.Prices.from_values(SIX, [0.50, 0.10], currency="EUR")
        wishes_now = wishes | {"export_prices": first}
        sold = sw.plan_storage(first, battery=battery(soc_percent), targets=[target], **wishes_now)
        assert (sold.slots[0].discharged_kwh > 9) == (by <= SIX)


def test_what_can_be_had_later_is_owed_until_the_limit() -> None:
    """60 % at the early deadline, 80 % an hour later; then all may be sold."""
    dear = sw.Prices.from_values(SIX, [0.20, 0.60, 0.70, 0.90, 0.90], currency="EUR")
    plan = sw.plan_storage(
        dear,
        export_prices=dear,
        now=SIX,
        battery=battery(40),
        power_max_kw=10,
        discharge_max_kw=10,
        targets=[sw.SocTarget(SIX + HOUR, 100)],
    )
    stored = [slot.stored_kwh for slot in plan.slots]
    assert stored == pytest.approx([30, 40, 30, 20, 10])
    (target,) = plan.targets
    assert (target.shortfall_kwh, target.above_limit_kwh) == pytest.approx((20, 10))


@pytest.mark.parametrize("discharge", [None, sw.Discharge(discharge_max_kw=10)])
def test_a_site_misses_what_lies_above_the_limit(discharge: sw.Discharge | None) -> None:
    targets: list[Any] = [sw.SocTarget(SIX + 4 * HOUR, 90), sw.Target(None, 28)]
    van = sw.Vehicle(
        "van", power_max_kw=10, battery=battery(), targets=targets, discharge=discharge
    )
    plan = sw.plan_site(PRICES, now=SIX, devices=[van])
    energy, soc = plan.devices[0].wishes
    assert (energy.shortfall_kwh, soc.shortfall_kwh) == pytest.approx((3, 5))
    assert (soc.wanted_kwh, soc.delivered_kwh) == pytest.approx((30, 25))
    assert [cause.code for wish in (energy, soc) for cause in wish.causes] == ["charge_limit"] * 2
    assert soc.reached_at is None
    assert "above its charge limit" in plan._repr_html_()
    assert plan.certificate.is_proved


def test_a_site_sells_after_a_target_above_the_limit() -> None:
    dear = sw.Prices.from_values(SIX, [0.10, 0.10, 0.10, 0.50], currency="EUR")
    for soc_percent in (30, 80, 90):
        van = sw.Vehicle(
            "van",
            power_max_kw=20,
            battery=battery(soc_percent),
            targets=[sw.SocTarget(SIX + 2 * HOUR, 95)],
            discharge=sw.Discharge(discharge_max_kw=10),
        )
        plan = sw.plan_site(dear, export_prices=dear, now=SIX, devices=[van])
        assert plan.devices[0].power_kw[3] == pytest.approx(-10)
        assert plan.shortfall_kwh == pytest.approx((95 - max(80, soc_percent)) / 2)


def test_a_battery_of_a_site_misses_what_lies_above_its_limit() -> None:
    home = sw.StationaryBattery(
        "home",
        capacity_kwh=50,
        soc_percent=30,
        power_max_kw=10,
        charge_limit_percent=80,
        target_percent=90,
    )
    plan = sw.plan_site(PRICES, now=SIX, devices=[home])
    (wish,) = plan.devices[0].wishes
    assert wish.shortfall_kwh == pytest.approx(5)
    assert [cause.code for cause in wish.causes] == ["charge_limit"]


def table(discharge_max_kw: float | None) -> pa.Table:
    """Two vehicles like the one above; the second comes above its limit."""
    columns: dict[str, list[Any]] = {
        "id": ["van", "bus"],
        "arrival": [SIX] * 2,
        "departure": [SIX + 4 * HOUR] * 2,
        "capacity_kwh": [50.0] * 2,
        "soc_percent": [30.0, 85.0],
        "target_percent": [90.0] * 2,
        "charge_limit_percent": [80.0] * 2,
    }
    discharge = pa.array([discharge_max_kw] * 2, pa.float64())
    return pa.table(columns).append_column("discharge_max_kw", discharge)


def test_a_batch_of_storage_misses_what_lies_above_the_limit() -> None:
    rows = table(10.0).append_column("power_max_kw", pa.array([10.0] * 2))
    plans = pa.table(sw.plan_storage_batch(rows, PRICES, export_prices=PRICES))
    assert plans["shortfall_kwh"].to_pylist() == pytest.approx([5, 2.5])
    assert plans["soc_percent"].to_pylist() == pytest.approx([80, 85])


@pytest.mark.parametrize("discharge_max_kw", [10.0, None])
def test_an_area_misses_what_lies_above_the_limit(discharge_max_kw: float | None) -> None:
    rows = table(discharge_max_kw).append_column("power_max_kw", pa.array([10.0] * 2))
    plan = sw.plan_area(rows, PRICES, limit_kw=15)
    assert plan.shortfall_kwh == pytest.approx(7.5, abs=1e-5)
    assert [(need.row, need.node) for need in plan.shortfalls] == [(0, None), (1, None)]
    assert plan.energy_kwh == pytest.approx(25, abs=1e-5)
