"""Plans of sites and of devices that switch, verified honest and tampered with."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import slackwater as sw

import saved_plans
from fleets import NOON
from saved_plans import HOUR

Text = dict[str, Any]


def site() -> sw.SitePlan:
    """Two vans under one limit, with a battery, the sun and prices to sell at."""
    prices = sw.Prices.from_values(NOON, [0.30, 0.12, 0.25, 0.40, 0.08, 0.22], currency="EUR")
    return sw.plan_site(
        prices,
        export_prices=prices.times(0.3),
        now=NOON,
        devices=[
            sw.Vehicle("a", power_max_kw=5, targets=[sw.Target(NOON + 3 * HOUR, 6)]),
            sw.Vehicle("b", power_max_kw=5, targets=[sw.Target(None, 4)]),
            sw.Solar("sun", power_kw=[0, 2, 4, 1, 0, 0]),
            sw.Load("house", power_kw=0.7),
        ],
        import_limit_kw=6,
    )


def switching() -> sw.SwitchingPlan:
    """A charger whose bound no price on energy proves."""
    prices = sw.Prices.from_values(NOON, [0.30, 0.10, 0.25, 0.12, 0.28, 0.11], currency="EUR")
    return sw.plan_switching(
        prices,
        now=NOON,
        power_max_kw=10,
        power_min_kw=4,
        targets=[(None, 20)],
        start_cost=0.3,
        on_min=timedelta(hours=2),
    )


def tampered(plan: sw.SitePlan | sw.SwitchingPlan, change: Callable[[Text], None]) -> list[str]:
    """Statements that fail once the run of a saved plan is changed."""
    saved = json.loads(plan.to_json())
    change(saved["recorded"]["run"])
    return type(plan).from_json(json.dumps(saved)).verify().failed


@pytest.mark.parametrize("make", saved_plans.KINDS)
def test_plans_of_every_kind_hold(make: Callable[[], Any]) -> None:
    plan = make()
    verified = plan.verify()
    assert verified.failed == []
    assert verified.holds
    assert "cost" in {check.line for check in verified.checks}
    again = type(plan).from_json(plan.to_json())
    assert again.verify() == verified


def test_a_changed_flow_is_named() -> None:
    def move(run: Text) -> None:
        power = run["plan"]["devices"][0]["power_kw"]
        power[0], power[1] = power[0] + 0.5, power[1] - 0.5

    failed = tampered(site(), move)
    assert {"slots[0].import_kwh", "cost"} <= set(failed)

    def less(run: Text) -> None:
        slots = run["plan"]["slots"]
        next(slot for slot in slots if slot["energy_kwh"] > 0)["energy_kwh"] -= 0.5

    assert tampered(switching(), less)


def test_a_changed_dual_is_named() -> None:
    def shift(run: Text) -> None:
        duals = run["plan"]["certificate"]["evidence"]["duals"]
        row = max(range(len(duals)), key=lambda row: abs(duals[row]))
        duals[row] += 0.5

    assert tampered(site(), shift) == ["bound_by_duals", "bound"]

    def price(run: Text) -> None:
        run["plan"]["certificate"]["relaxed_price_per_kwh"] += 0.02

    assert tampered(switching(), price) == ["relaxed_bound"]


def test_a_changed_price_is_named() -> None:
    def cheaper(run: Text) -> None:
        run["plan"]["slots"][1]["import_price_per_kwh"] -= 0.01

    assert tampered(site(), cheaper) == ["slots[1].import_price_per_kwh"]

    def asked(run: Text) -> None:
        run["request"]["import_limit"]["power"]["constant_kw"] = 4.0

    assert tampered(site(), asked)

    def dearer(run: Text) -> None:
        run["plan"]["slots"][1]["price_per_kwh"] += 0.01

    assert tampered(switching(), dearer) == ["slots[1].price_per_kwh"]


@pytest.mark.parametrize("make", [site, switching])
def test_a_changed_bound_is_named(make: Callable[[], sw.SitePlan | sw.SwitchingPlan]) -> None:
    def lower(run: Text) -> None:
        run["plan"]["certificate"]["bound"] -= 0.1

    assert tampered(make(), lower)[0] == "bound"


def test_a_site_without_whole_numbers_is_proved_by_duals() -> None:
    certificate = site().certificate
    assert certificate.bound_by_search is None
    assert certificate.bound_by_duals == pytest.approx(certificate.cost, abs=1e-6)


def test_the_bound_of_a_switching_plan_is_above_the_one_by_a_price() -> None:
    plan = switching()
    relaxed = plan.certificate.relaxed_bound
    assert relaxed is not None
    assert relaxed < plan.certificate.bound - 0.01
    bound = next(check for check in plan.verify().checks if check.line == "bound")
    assert bound.computed == pytest.approx(plan.cost)


def test_a_site_of_an_older_file_has_no_duals() -> None:
    path = saved_plans.GOLDEN / "site.json"
    plan = sw.load_plan(path)
    assert isinstance(plan, sw.SitePlan)
    assert "duals" in plan.verify().failed
