"""Plans of sites and of devices that switch, verified honest and tampered with."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
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


# ----------------------------------------------------------------- plans of a vehicle


def cheaper_prices(run: Text) -> None:
    """Prices of the file that the plan was not made for."""
    run["prices"][3]["price_per_kwh"] -= 0.05


def cheaper_slot(run: Text) -> None:
    run["plan"]["slots"][3]["price_per_kwh"] -= 0.05


def longer_interval(run: Text) -> None:
    last = run["plan"]["intervals"][-1]
    last["end"] = last["end"].replace(":00Z", ":30Z")


def stronger_interval(run: Text) -> None:
    run["plan"]["intervals"][0]["power_kw"] = 22.0


def lower_cost(run: Text) -> None:
    run["plan"]["cost"] -= 0.1


def less_energy(run: Text) -> None:
    run["plan"]["energy_kwh"] -= 1.0


def no_shortfall(run: Text) -> None:
    run["plan"]["targets"][1]["delivered_kwh"] += 1.0


def higher_need(run: Text) -> None:
    run["request"]["targets"][1]["energy_kwh"] += 1.0


def later_start(run: Text) -> None:
    run["request"]["now"] = (NOON + HOUR).isoformat()


def weaker_charger(run: Text) -> None:
    run["request"]["power_max_kw"] = 7.4


def no_limit(run: Text) -> None:
    run["request"]["power_limits"] = []


def more_at_once(run: Text) -> None:
    run["request"]["reserve_kwh"] = 9.0


def certificate_of_another(run: Text) -> None:
    other = json.loads(saved_plans.charge(20.0).to_json())
    run["plan"]["certificate"] = other["recorded"]["run"]["plan"]["certificate"]


def plan_of_another(run: Text) -> None:
    other = json.loads(saved_plans.charge(20.0).to_json())
    run["plan"] = other["recorded"]["run"]["plan"]


FORGERIES: dict[Callable[[Text], None], str] = {
    cheaper_prices: "slots[3].price_per_kwh",
    cheaper_slot: "slots[3].price_per_kwh",
    longer_interval: "intervals[8].end",
    stronger_interval: "intervals[0].power_kw",
    lower_cost: "cost of intervals",
    less_energy: "energy_kwh",
    no_shortfall: "targets[1].delivered_kwh",
    higher_need: "targets[1].wanted_kwh",
    later_start: "slots[0].start",
    weaker_charger: "slots[0].power_max_kw",
    no_limit: "slots[4].power_max_kw",
    more_at_once: "slots[0].energy_kwh",
    certificate_of_another: "evidence.requirements[0].energy_kwh",
    plan_of_another: "targets[0].wanted_kwh",
}


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_forged_file_is_named(forge: Callable[[Text], None], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    saved_plans.charge().save(path)
    assert sw.load_plan(path).verify().failed == []
    saved = json.loads(path.read_text())
    forge(saved["recorded"]["run"])
    path.write_text(json.dumps(saved))
    verified = sw.load_plan(path).verify()
    assert not verified.holds
    first = next(check for check in verified.checks if not check.holds)
    assert verified.failed[0] == first.line == FORGERIES[forge]
    assert abs(first.difference) > first.tolerance


def test_a_certificate_alone_does_not_know_its_request() -> None:
    """Why the plan is verified, and not its certificate alone."""
    saved = json.loads(saved_plans.charge().to_json())
    plan_of_another(saved["recorded"]["run"])
    forged = sw.Plan.from_json(json.dumps(saved))
    assert forged.certificate.verify().holds
    assert not forged.verify().holds


@pytest.mark.parametrize("name", ["charge", "vehicle", "duration", "kept"])
def test_older_files_hold_over_a_clock_change(name: str) -> None:
    plan = sw.load_plan(saved_plans.GOLDEN / f"{name}.json")
    assert plan.verify().failed == []


def test_plans_with_emissions_hold_after_they_were_saved() -> None:
    prices = sw.Prices.from_values(NOON, [0.30, 0.12, 0.25, 0.40], currency="EUR")
    grid = sw.Series.from_values(NOON, [500, 100] * 4, unit="g/kWh", slot=HOUR / 2)
    carbon = sw.Carbon(price_per_kg=0.2, intensity=grid)
    plan = sw.plan_charge(prices, now=NOON, power_max_kw=10, targets=[(None, 12)], carbon=carbon)
    again = sw.Plan.from_json(plan.to_json())
    assert again.verify().holds
    assert again.carbon_kg == plan.carbon_kg
