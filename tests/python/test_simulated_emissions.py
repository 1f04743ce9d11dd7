"""Emissions of simulations: those of the plans that are settled, and of a second model."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import slackwater as sw
from test_simulation import HOUR, SIX, hours, random_world, table

from saved_plans import pickled

GRAMS = [100, 500, 900, 50, 300, 700, 20, 20]
GRID = sw.Series.from_values(SIX, GRAMS, unit="g/kWh", slot=HOUR / 2)
CARBON = sw.Carbon(price_per_kg=0.4, intensity=GRID)
EXPECTED, SETTLED = hours(0.20, 0.30, 0.10, 0.25), hours(0.22, 0.18, 0.45, 0.10)


def known(prices: sw.Prices) -> list[sw.Forecast]:
    """All prices as they are, from six on."""
    return [sw.Forecast(prices, known_at=SIX, is_final=True)]


def planned(prices: sw.Prices, kwh: float = 14.0) -> sw.Plan:
    """Plan of the van of :func:`table`."""
    end = SIX + 4 * HOUR
    return sw.plan_charge(prices, now=SIX, power_max_kw=10, targets=[(end, kwh)], carbon=CARBON)


def test_a_plan_that_is_followed_emits_and_costs_what_it_is_evaluated_at() -> None:
    plan = planned(EXPECTED)
    result = sw.simulate(lambda _: plan, table(energy_kwh=[14.0]), SETTLED, carbon=CARBON)
    found = plan.evaluate(SETTLED)
    assert float(result.cost) == pytest.approx(found.cost)
    assert float(result.baseline_cost) == pytest.approx(found.baseline_cost)
    assert float(result.carbon_cost or 0) == pytest.approx(found.other_cost)
    assert result.carbon_kg == pytest.approx(plan.carbon_kg)
    assert result.baseline_carbon_kg == pytest.approx(plan.baseline_carbon_kg)
    assert found.other_cost > 0


def test_a_planner_that_knows_all_plans_for_energy_and_emissions() -> None:
    plan = planned(SETTLED)
    result = sw.simulate(
        sw.Replan(), table(energy_kwh=[14.0]), SETTLED, known(SETTLED), carbon=CARBON
    )
    assert float(result.cost) == pytest.approx(plan.cost)
    assert result.carbon_kg == pytest.approx(plan.carbon_kg)
    assert result.cost == result.hindsight_cost
    # Without their price it emits more.
    end = SIX + 4 * HOUR
    blind = sw.plan_charge(SETTLED, now=SIX, power_max_kw=10, targets=[(end, 14)])
    energies = pl.DataFrame(blind.load(HOUR / 2)).select("start", "energy_kwh").iter_rows()
    assert result.carbon_kg is not None
    assert sum((GRID.value_at(at) or 0) * kwh for at, kwh in energies) > result.carbon_kg


def test_a_view_has_prices_with_emissions() -> None:
    seen: list[float] = []

    def policy(view: sw.View) -> float:
        seen.append(view.price_at(view.now))
        assert [fc.read(at=view.now) for fc in view.forecasts] == [SETTLED.plus_emissions(CARBON)]
        return view.power_max_kw

    sw.simulate(policy, table(), SETTLED, known(SETTLED), carbon=CARBON, regret=False)
    assert seen[0] == pytest.approx(0.22 + 0.1 * 0.4)


def test_no_price_of_emissions_only_counts_them() -> None:
    stays, prices, forecasts = random_world(3)
    grid = sw.Series.from_values(
        prices.slots[0][0], [kg / 10 for kg in range(24)] * 7, unit="kg/kWh"
    )
    free = sw.Carbon(price_per_kg=0.0, intensity=grid)
    plain = sw.simulate(sw.Replan(), stays, prices, forecasts)
    counted = sw.simulate(sw.Replan(), stays, prices, forecasts, carbon=free)
    assert counted.cost == plain.cost
    assert counted.carbon_cost == 0
    assert (plain.carbon_kg, plain.baseline_carbon_kg, plain.carbon_cost) == (None, None, None)
    assert counted.steps is not None
    assert plain.steps is not None
    shared = pl.DataFrame(plain.stays).columns
    assert pl.DataFrame(counted.stays).select(shared).equals(pl.DataFrame(plain.stays))

    # Tables and totals agree, and so does a second model where no step crosses an hour.
    per_stay, per_home = pl.DataFrame(counted.stays), pl.DataFrame(counted.homes)
    steps = pl.DataFrame(counted.steps)
    assert counted.carbon_kg is not None
    assert counted.carbon_kg > 0
    for rows in (per_stay, per_home, steps):
        assert rows["carbon_kg"].sum() == pytest.approx(counted.carbon_kg)
    for rows in (per_stay, per_home):
        assert rows["baseline_carbon_kg"].sum() == pytest.approx(counted.baseline_carbon_kg)
    emitted = [
        energy * (grid.value_at(start) or 0.0)
        for start, energy in steps.select("start", "energy_kwh").iter_rows()
    ]
    assert sum(emitted) == pytest.approx(counted.carbon_kg)
    assert pickled(counted) == counted
    assert pickled(counted).carbon_kg == counted.carbon_kg
    assert counted != plain


def test_the_price_of_emissions_is_the_difference_to_the_cost_of_energy() -> None:
    stays, prices, forecasts = random_world(5)
    start = prices.slots[0][0]
    grid = sw.Series.from_values(start, [kg / 10 for kg in range(24)] * 7, unit="kg/kWh")
    carbon = sw.Carbon(price_per_kg=0.2, intensity=grid)
    result = sw.simulate(
        sw.Replan(), stays, prices, forecasts, carbon=carbon, shortfall_price_per_kwh=1
    )
    assert result.carbon_kg is not None
    assert result.steps is not None
    assert result.carbon_cost == round(Decimal(0.2 * result.carbon_kg), 12)
    steps = pl.DataFrame(result.steps)
    energy = sum(
        energy * (prices.price_at(start) or 0.0)
        for start, energy in steps.select("start", "energy_kwh").iter_rows()
    )
    starts = sum(pl.DataFrame(result.stays)["starts"] * pl.DataFrame(stays)["start_cost"])
    rest = float(result.cost - result.shortfall_cost - result.carbon_cost)
    assert rest == pytest.approx(energy + starts, abs=1e-6)


@pytest.mark.parametrize("simulate", [sw.simulate, sw.simulate_homes])
def test_errors_are_those_of_the_planners(simulate: Any) -> None:
    rows = table() if simulate is sw.simulate else BATTERY
    half = sw.Carbon(price_per_kg=0.4, intensity=GRID.between(SIX, SIX + HOUR))
    message = "carbon: the intensity is missing from 2026-01-05 19:00:00 UTC"
    with pytest.raises(sw.InputError, match=message):
        planned_with(half)
    with pytest.raises(sw.InputError, match=message):
        simulate(sw.Replan(), rows, SETTLED, carbon=half)
    longer = known(hours(0.2, 0.3, 0.1, 0.25, 0.9))
    with pytest.raises(sw.InputError, match="missing from 2026-01-05 22:00:00 UTC"):
        simulate(sw.Replan(), rows, SETTLED, longer, carbon=CARBON)
    negative = sw.Carbon(price_per_kg=-0.4, intensity=GRID)
    with pytest.raises(sw.InputError, match="a price of emissions is 0 or more"):
        simulate(sw.Replan(), rows, SETTLED, carbon=negative)
    with pytest.raises(sw.InputError, match="a price of emissions already"):
        simulate(sw.Replan(), rows, SETTLED.plus_emissions(CARBON), carbon=CARBON)
    with pytest.raises(TypeError, match="carbon"):
        simulate(sw.Replan(), rows, SETTLED, carbon=GRID)


def planned_with(carbon: sw.Carbon) -> sw.Plan:
    """A plan at another price of emissions."""
    return sw.plan_charge(SETTLED, now=SIX, power_max_kw=10, targets=[(None, 5)], carbon=carbon)


BATTERY = pa.table(
    {
        "home": ["a"],
        "capacity_kwh": [10.0],
        "soc_percent": [0.0],
        "power_max_kw": [4.0],
        "discharge_max_kw": [4.0],
        "efficiency": [0.9],
    }
)


def test_a_battery_that_follows_a_plan_emits_and_costs_what_it_is_evaluated_at() -> None:
    plan = sw.plan_storage(
        EXPECTED,
        export_prices=EXPECTED,
        now=SIX,
        battery=sw.Battery(capacity_kwh=10, soc_percent=0, efficiency=0.9),
        power_max_kw=4,
        discharge_max_kw=4,
        carbon=CARBON,
    )
    result = sw.simulate_homes(
        lambda _: plan, BATTERY, SETTLED, export_prices=SETTLED, carbon=CARBON
    )
    found = plan.evaluate(SETTLED, export_prices=SETTLED)
    assert result.carbon_kg == pytest.approx(plan.carbon_kg)
    assert float(result.carbon_cost or 0) == pytest.approx(found.other_cost)
    assert float(result.cost) == pytest.approx(found.cost, abs=1e-6)
    assert result.baseline_carbon_kg == 0
    assert found.other_cost > 0


def test_emissions_of_homes_are_those_at_their_meters() -> None:
    random = Random(31)
    count = 48
    starts = [SIX + hour * HOUR for hour in range(count)]
    prices = hours(*(random.uniform(0.1, 0.4) for _ in starts))
    grid = sw.Series.from_values(
        SIX, [(hour * 7 % 24) / 20 for hour in range(count)], unit="kg/kWh"
    )
    power = pa.table(
        {
            "home": ["a"] * count,
            "start": starts,
            "load_kw": [random.uniform(0, 2) for _ in starts],
            "solar_kw": [random.uniform(0, 3) for _ in starts],
        }
    )
    given: Any = {
        "power": power,
        "power_forecast": power.append_column("known_at", [[SIX] * count]),
        "stays": table(home=["a"]),
        "regret": False,
    }
    carbon = sw.Carbon(price_per_kg=0.3, intensity=grid)
    result = sw.simulate_homes(sw.Replan(), BATTERY, prices, known(prices), carbon=carbon, **given)
    plain = sw.simulate_homes(sw.Replan(), BATTERY, prices, known(prices), **given)
    assert result.steps is not None
    assert plain.steps is not None
    assert result.carbon_kg is not None
    steps, homes = pl.DataFrame(result.steps), pl.DataFrame(result.homes)
    for start, import_kwh, kg in steps.select("start", "import_kwh", "carbon_kg").iter_rows():
        assert kg == pytest.approx(import_kwh * (grid.value_at(start) or 0.0), abs=1e-9)
    assert steps["carbon_kg"].sum() == pytest.approx(result.carbon_kg)
    assert homes["carbon_kg"].sum() == pytest.approx(result.carbon_kg)
    assert homes["baseline_carbon_kg"].sum() == pytest.approx(result.baseline_carbon_kg)
    assert plain.carbon_kg is None
    assert "carbon_kg" not in pl.DataFrame(plain.steps).columns
    # What has a price is avoided.
    of_plain = pl.DataFrame(plain.steps).select("start", "import_kwh").iter_rows()
    assert result.carbon_kg < sum(kwh * (grid.value_at(start) or 0.0) for start, kwh in of_plain)
    assert pickled(result) == result
