"""Plans of all kinds under other facts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pandas as pd
import pyarrow as pa
import pytest

import slackwater as sw

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)


def prices(*values: float, currency: str = "EUR") -> sw.Prices:
    """Hours from six on."""
    return sw.Prices.from_values(SIX, list(values), currency=currency)


def charge_plan() -> sw.Plan:
    """10 kWh at 10 kW, planned for the second hour."""
    return sw.plan_charge(
        prices(0.30, 0.10, 0.20), now=SIX, power_max_kw=10, targets=[(None, 10.0)]
    )


def storage_plan() -> sw.StoragePlan:
    """A battery that buys in one hour and sells in the next."""
    return sw.plan_storage(
        prices(0.10, 0.50),
        now=SIX,
        battery=sw.Battery(capacity_kwh=10, soc_percent=50),
        power_max_kw=4,
        discharge_max_kw=4,
        export_prices=prices(0.08, 0.40),
        wear_price_per_kwh=0.01,
        end_value_per_kwh=0.05,
    )


def switching_plan() -> sw.SwitchingPlan:
    """A device with a least power and a cost of starts."""
    return sw.plan_switching(
        prices(0.30, 0.10, 0.20),
        now=SIX,
        power_max_kw=8,
        power_min_kw=4,
        targets=[(None, 12.0)],
        start_cost=0.05,
    )


def site_plan() -> sw.SitePlan:
    """A vehicle, a load and a solar system."""
    return sw.plan_site(
        prices(0.30, 0.10),
        now=SIX,
        devices=[
            sw.Vehicle("van", power_max_kw=5, targets=[sw.Target(None, 5)]),
            sw.Load("house", power_kw=[1.0, 1.0]),
            sw.Solar("roof", power_kw=[0.0, 3.0]),
        ],
        demand_charge=sw.DemandCharge(peak_price_per_kw=1.0, peak_incurred_kw=1.0, window=HOUR),
    )


AnyPlan = sw.Plan | sw.StoragePlan | sw.SwitchingPlan | sw.SitePlan

PLANS: dict[str, Callable[[], AnyPlan]] = {
    "charge": charge_plan,
    "storage": storage_plan,
    "switching": switching_plan,
    "site": site_plan,
}


@pytest.mark.parametrize("kind", PLANS)
def test_a_plan_costs_at_its_own_prices_what_it_cost(kind: str) -> None:
    plan = PLANS[kind]()
    export = plan.export_prices if isinstance(plan, sw.StoragePlan) else None
    found = plan.evaluate(plan.prices, export_prices=export)
    assert found.cost == pytest.approx(plan.cost, abs=1e-12)
    if not isinstance(plan, sw.SwitchingPlan):
        assert found.savings == pytest.approx(plan.savings, abs=1e-9)
    assert found.missing == []


@pytest.mark.parametrize("kind", PLANS)
def test_another_currency_is_refused(kind: str) -> None:
    plan = PLANS[kind]()
    with pytest.raises(sw.InputError, match="prices are in SEK, the plan in EUR"):
        plan.evaluate(prices(1.0, currency="SEK"))


def test_solar_power_in_every_form_is_the_same() -> None:
    plan = charge_plan()
    settled = prices(0.30, 0.10, 0.20)
    table = pa.table(
        {
            "start": [SIX + hour * HOUR for hour in range(3)],
            "end": [SIX + (hour + 1) * HOUR for hour in range(3)],
            "power_kw": [0.0, 4.0, 2.0],
        }
    )
    periods = [(SIX, SIX + HOUR, 0.0), (SIX + HOUR, SIX + 2 * HOUR, 4.0)]
    periods.append((SIX + 2 * HOUR, SIX + 3 * HOUR, 2.0))
    index = pd.date_range(SIX, periods=3, freq="h")
    forms = [[0.0, 4.0, 2.0], periods, table, pd.Series([0.0, 4.0, 2.0], index=index)]
    found = [
        plan.evaluate(settled, solar=form, export_prices=prices(0.05, 0.05, 0.05)) for form in forms
    ]
    assert all(each == found[0] for each in found)
    # 6 of 10 kWh are bought at 0.10, and 2 kWh sold at 0.05.
    assert found[0].cost == pytest.approx(0.6 - 0.1)
    assert (found[0].from_solar_kwh, found[0].from_grid_kwh) == (4.0, 6.0)
    assert plan.evaluate(settled, load=1.0).import_kwh == pytest.approx(13.0)
    shifted = pd.Series([0.0, 4.0, 2.0], index=index + HOUR)
    with pytest.raises(sw.InputError, match="solar: index"):
        plan.evaluate(settled, solar=shifted)  # type: ignore[arg-type]  # a series of pandas


def test_what_is_missing_is_told_with_its_energy() -> None:
    plan = sw.plan_charge(
        prices(0.30, 0.10, 0.05), now=SIX, power_max_kw=10, targets=[(None, 20.0)]
    )
    found = plan.evaluate(prices(0.30, 0.10))
    (fact,) = found.missing
    assert (fact.start, fact.end) == (SIX + 2 * HOUR, SIX + 3 * HOUR)
    assert (fact.fact, fact.energy_kwh) == ("price", 10.0)
    assert found.cost == pytest.approx(1.0)
    assert "missing" in repr(found)


def test_savings_compare_the_same_energy_or_are_none() -> None:
    """All of the plan is in hours without a price, and its baseline is not."""
    plan = sw.plan_charge(
        prices(0.30, 0.10, 0.05), now=SIX, power_max_kw=10, targets=[(None, 20.0)]
    )
    found = plan.evaluate(prices(0.30))
    assert found.cost == 0
    assert found.savings is None
    assert found.missing[0].energy_kwh == pytest.approx(20.0)
    assert plan.evaluate(plan.prices).savings == pytest.approx(plan.savings)


@pytest.mark.parametrize("kind", PLANS)
def test_energy_at_estimated_prices_is_told(kind: str) -> None:
    plan = PLANS[kind]()
    known, *_ = plan.prices.slots
    guessed = prices(known.price_per_kwh).with_estimates(plan.prices)
    found = plan.evaluate(guessed)
    later = plan.evaluate(plan.prices[known.end :])
    assert plan.evaluate(plan.prices).energy_on_estimates_kwh == 0
    assert found.energy_on_estimates_kwh == pytest.approx(later.import_kwh)


def test_a_demand_charge_counts_the_highest_window() -> None:
    charge = sw.DemandCharge(peak_price_per_kw=2.0, peak_incurred_kw=3.0, window=HOUR)
    found = charge_plan().evaluate(prices(0.30, 0.10, 0.20), load=1.0, demand_charge=charge)
    assert (found.peak_kw, found.demand_cost) == (11.0, 16.0)
    plan = site_plan()
    first, second = plan.device("van").power_kw
    site = plan.evaluate(prices(0.30, 0.10), load=[1.0, 4.0], demand_charge=charge)
    peak = max(first + 1.0, second + 4.0 - 3.0)
    assert site.peak_kw == pytest.approx(peak)
    assert site.demand_cost == pytest.approx(2.0 * (peak - 3.0))
    never = sw.DemandCharge(peak_price_per_kw=2.0, periods=[])
    with pytest.raises(sw.InputError, match="no window_energy_kwh and no periods"):
        charge_plan().evaluate(prices(0.30), demand_charge=never)


def test_a_site_draws_what_was_measured() -> None:
    plan = site_plan()
    found = plan.evaluate(prices(0.40, 0.20), solar=[1.0, 0.0], load=[2.0, 3.0])
    assert found.import_kwh == pytest.approx(1.0 + 8.0)
    first, second = plan.device("van").power_kw
    bought = (first + 2.0 - 1.0, second + 3.0)
    assert found.import_cost == pytest.approx(0.4 * bought[0] + 0.2 * bought[1])
    with pytest.raises(sw.InputError, match='power of "house" is not known'):
        plan.evaluate(prices(0.40, 0.20), load=[(SIX, SIX + HOUR, 1.0)])


@pytest.mark.parametrize(
    ("power", "message"),
    [
        ([1.0], "solar has 1 numbers for 3 slots"),
        ([-1.0, 0.0, 0.0], "solar: value 0 is -1 kW"),
        ([(SIX, SIX, 1.0)], "solar: slot 0 ends"),
        ([(SIX, SIX + HOUR, float("nan"))], "solar: NaN kW is not a finite number"),
    ],
)
def test_powers_that_make_no_sense_are_refused(power: list[float], message: str) -> None:
    with pytest.raises(sw.InputError, match=message):
        charge_plan().evaluate(prices(0.30, 0.10, 0.20), solar=power)


def test_a_power_of_another_kind_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="solar has to be"):
        charge_plan().evaluate(prices(0.30), solar=object())  # type: ignore[arg-type]  # on purpose
