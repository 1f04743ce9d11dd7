"""Plans of batteries, switches and sites that are made again with other arguments, and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slackwater as sw
import test_heat

import saved_plans
from fleets import NOON, day_ahead
from saved_plans import HOUR, pickled
from site_model import Model
from site_random import random_bounds

ASKED: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "storage": (saved_plans.storage, {"wear_price_per_kwh": 0.2}),
    "switching": (saved_plans.switching, {"sessions_max": 1, "on_min": timedelta(hours=3)}),
    "site": (saved_plans.site, {"import_limit_kw": 22}),
}


def given(plan: Any) -> dict[str, Any]:
    """The arguments that a plan was made with."""
    return dict(plan._given)


@pytest.mark.parametrize("name", ASKED)
def test_what_if_is_the_plan_with_other_arguments(name: str) -> None:
    make, changes = ASKED[name]
    plan = make()
    answer = plan.what_if(**changes)
    assert type(answer.plan) is type(plan)
    assert answer.cost_change == answer.plan.certificate.cost - plan.certificate.cost != 0
    assert answer.shortfall_change_kwh == answer.plan.shortfall_kwh - plan.shortfall_kwh
    same = plan.what_if()
    assert same.plan == plan
    assert same[1:] == (0, 0, 0, "Nothing was changed; the cost is the same.", 0)
    # Each answer can be asked again, and changes add up.
    back = answer.plan.what_if(**{key: given(plan)[key] for key in changes})
    assert back.plan == plan
    assert back.cost_change == -answer.cost_change


@pytest.mark.parametrize("name", ASKED)
def test_a_copy_can_be_asked_and_a_file_cannot(name: str) -> None:
    make, changes = ASKED[name]
    plan = make()
    assert pickled(plan).what_if(**changes)[1:] == plan.what_if(**changes)[1:]
    loaded = type(plan).from_json(plan.to_json())
    with pytest.raises(sw.InputError, match="read from a file keeps no arguments to change"):
        loaded.what_if(**changes)


def test_lists_that_change_later_do_not_change_what_was_asked() -> None:
    targets = [sw.SocTarget(NOON + 6 * HOUR, 90)]
    plan = sw.plan_storage(
        day_ahead(),
        now=NOON,
        battery=sw.Battery(capacity_kwh=10, soc_percent=20),
        power_max_kw=4,
        discharge_max_kw=4,
        targets=targets,
    )
    targets.clear()
    assert plan.what_if().plan == plan


def rounded(kwh: float) -> str:
    """Two decimals, without zeros at the end."""
    return f"{kwh:.2f}".rstrip("0").rstrip(".")


def test_sentences_tell_money_energy_and_what_is_missing() -> None:
    site = saved_plans.site()
    answer = site.what_if(import_limit_kw=22)
    assert answer.shortfall_change_kwh < 0
    more = "more" if answer.cost_change > 0 else "less"
    assert answer.sentence == (
        f"With import_limit_kw=22, the plan would cost {abs(answer.cost_change):.2f} EUR {more},"
        f" take {rounded(answer.energy_change_kwh)} kWh more"
        f" and miss {rounded(-answer.shortfall_change_kwh)} kWh less."
    )
    fewer = site.what_if(devices=given(site)["devices"][1:])
    assert fewer.sentence.startswith("With changed devices, the plan would cost ")
    assert fewer.energy_change_kwh < 0


def test_a_wrong_change_is_refused_as_the_planner_refuses_it() -> None:
    site = saved_plans.site()
    with pytest.raises(TypeError, match=r"plan_site\(\) takes no 'import_limit'; is it 'import_"):
        site.what_if(import_limit=9)
    with pytest.raises(sw.InputError, match="import_limit_kw: value 0 is -1 kW"):
        site.what_if(import_limit_kw=-1)
    dollars = sw.Prices.from_slots(day_ahead().slots, currency="USD")
    with pytest.raises(sw.InputError, match="prices are in USD, the plan in EUR"):
        site.what_if(prices=dollars, export_prices=None)


@pytest.mark.parametrize("name", ASKED)
def test_differences_turn_one_plan_into_the_other(name: str) -> None:
    make, changes = ASKED[name]
    plan = make()
    after = plan.what_if(**changes).plan
    found = plan.diff(after, time_zone="Europe/Berlin")
    moved = sum(
        (change.after_kw - change.before_kw) * ((change.end - change.start) / HOUR)
        for change in found
    )
    assert len(found) > 0
    assert moved == pytest.approx(plan.what_if(**changes).energy_change_kwh, abs=1e-5)
    assert len(plan.diff(plan)) == 0
    devices = {change.device for change in found}
    assert devices <= ({"van", "car"} if name == "site" else {None})


def test_a_device_that_is_gone_is_a_difference() -> None:
    site = saved_plans.site()
    alone = site.what_if(devices=given(site)["devices"][1:]).plan
    gone = [change for change in site.diff(alone) if change.device == "van"]
    assert gone
    assert all(change.after_kw == 0 for change in gone)


def test_only_plans_of_one_class_are_compared() -> None:
    site, storage = saved_plans.site(), saved_plans.storage()
    for other, text in (
        (storage, "after has to be a SitePlan, not a StoragePlan"),
        (None, "after is None; it has to be a SitePlan"),
        (NOON, "after has to be a SitePlan, not a datetime"),
    ):
        with pytest.raises(TypeError, match=text):
            site.diff(other)  # type: ignore[arg-type]
    heat = test_heat.plan()
    assert len(heat.diff(heat)) == 0


@pytest.mark.parametrize("name", ASKED)
def test_a_plan_is_kept_near_an_earlier_one(name: str, tmp_path: Path) -> None:
    make, changes = ASKED[name]
    plan = make()
    before = plan.what_if(**changes).plan
    free, near = plan.close_to(before), plan.close_to(before, budget=1000)
    assert type(near) is type(plan)
    assert plan.stability is None
    assert free.stability.is_proved
    assert near.stability.is_proved
    assert free.stability.extra_cost == pytest.approx(0, abs=1e-6)
    assert near.stability.change_kwh <= free.stability.change_kwh + 1e-6
    assert free.stability.change_kwh <= free.stability.cheapest_change_kwh
    extra = near.certificate.cost - plan.certificate.cost
    assert near.stability.extra_cost == pytest.approx(extra, abs=1e-6)
    assert near.shortfall_kwh == pytest.approx(plan.shortfall_kwh, abs=1e-4)
    # A plan is as near to itself as can be, and a budget that is spent was needed.
    assert plan.close_to(plan).stability.change_kwh == pytest.approx(0, abs=1e-4)
    # The earlier plan is a part of the request: files, copies and checks know it.
    assert pickled(near) == near
    near.save(tmp_path / "near.json")
    assert sw.load_plan(tmp_path / "near.json") == near
    assert sw.replay(tmp_path / "near.json").same
    checked = near.verify() if hasattr(near, "verify") else near.certificate.verify()
    assert checked.holds, checked


def test_a_full_battery_does_not_burn_energy_to_charge_as_before() -> None:
    prices = sw.Prices.from_values(NOON, [0.1, 0.3], currency="EUR")

    def plan(soc_percent: float, efficiency: float) -> sw.SitePlan:
        home = sw.StationaryBattery(
            "home",
            capacity_kwh=8,
            soc_percent=soc_percent,
            power_max_kw=4,
            efficiency=efficiency,
            end_value_per_kwh=0.0,
        )
        return sw.plan_site(prices, now=NOON, devices=[home], export_prices=prices)

    near = plan(100, 0.8).close_to(plan(0, 1.0), budget=100)
    assert near.stability is not None
    assert near.stability.is_proved
    assert near.device("home").power_kw == pytest.approx([0, -4], abs=1e-6)
    assert near.stability.change_kwh == pytest.approx(4, abs=1e-5)


def test_a_plan_near_another_has_a_budget_and_a_class() -> None:
    site: Any = saved_plans.site()
    storage: Any = saved_plans.storage()
    with pytest.raises(sw.InputError, match="budget is -1 units of currency; a budget is 0 or"):
        site.close_to(site, budget=-1)
    with pytest.raises(sw.InputError, match="budget"):
        site.close_to(site, budget=float("nan"))
    with pytest.raises(TypeError, match="previous has to be a SitePlan, not a StoragePlan"):
        site.close_to(storage)
    with pytest.raises(TypeError, match="previous is None; it has to be a StoragePlan"):
        storage.close_to(None)
    van = sw.Vehicle("van", power_max_kw=7, targets=[sw.Target(None, 7)])
    plans = [
        sw.plan_site(
            sw.Prices.from_slots(day_ahead().slots, currency=currency), now=NOON, devices=[van]
        )
        for currency in ("EUR", "SEK")
    ]
    with pytest.raises(sw.InputError, match="previous is in SEK, the plan in EUR"):
        plans[0].close_to(plans[1])


@pytest.mark.parametrize("seed", range(36))
def test_another_solver_finds_no_site_plan_that_is_nearer(seed: int) -> None:
    """Random sites on three days, of which two have a clock change (`CLOCK_CHANGES`)."""
    case = random_bounds(seed)
    draw = np.random.default_rng([26, seed])
    shift = [round(float(change), 3) for change in draw.normal(0, 0.08, len(case.prices))]
    earlier = replace(case, prices=[p + s for p, s in zip(case.prices, shift, strict=True)])
    before, budget = earlier.plan(), (0.0, 0.05, 0.4)[seed // 3 % 3]
    near = case.plan().close_to(before, budget=budget)
    assert near.stability is not None
    assert near.verify().holds
    powers = {device.name: device.power_kw for device in before.devices}
    least = Model(case).nearest(powers, budget)
    # The model allows 1e-5 of money, which buys change where change is cheap.
    price = near.stability.price_of_change_per_kwh
    rounding = 1e-3 + (0 if price is None else 2e-5 / max(price, 1e-4))
    assert near.stability.change_kwh == pytest.approx(least, abs=rounding), seed
    assert near.stability.extra_cost <= budget + 1e-5
