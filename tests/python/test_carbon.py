"""The price of emissions in every planner, and cost against emissions."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slackwater as sw

from fleets import NOON
from saved_plans import pickled

if TYPE_CHECKING:
    from collections.abc import Callable

HOUR = timedelta(hours=1)
HOURS = 8
END = NOON + HOURS * HOUR

CENTS = [10, 30, 20, 25, 5, 40, 15, 35]
GRAMS = [900, 100, 500, 300, 800, 50, 700, 200]
BATTERY = sw.Battery(capacity_kwh=40, soc_percent=25)


def prices_of(cents: list[int]) -> sw.Prices:
    """Prices of an hour each, in cents."""
    return sw.Prices.from_values(NOON, [cent / 100 for cent in cents], currency="EUR")


def grid_of(grams: list[int]) -> sw.Series:
    """Carbon intensity in half hours, two for each hour."""
    halves = [gram for gram in grams for _ in range(2)]
    halves[1::2] = [gram + 60 for gram in grams]
    return sw.Series.from_values(NOON, halves, unit="g/kWh", slot=HOUR / 2)


def charge(prices: sw.Prices, carbon: sw.Carbon | None) -> sw.Plan:
    """A plan in kWh."""
    return sw.plan_charge(
        prices, now=NOON, power_max_kw=7, targets=[(END, 20)], carbon=carbon, reserve_kwh=1
    )


def vehicle(prices: sw.Prices, carbon: sw.Carbon | None) -> sw.Plan:
    """A plan in percent."""
    return sw.plan_vehicle(
        prices,
        now=NOON,
        power_max_kw=7,
        battery=BATTERY,
        targets=[sw.SocTarget(END, 75)],
        carbon=carbon,
    )


def storage(prices: sw.Prices, carbon: sw.Carbon | None) -> sw.StoragePlan:
    """A plan of a battery that also sells."""
    return sw.plan_storage(
        prices,
        now=NOON,
        battery=BATTERY._replace(efficiency=0.9),
        power_max_kw=7,
        discharge_max_kw=7,
        export_prices=prices_of(CENTS),
        targets=[sw.SocTarget(END, 75)],
        carbon=carbon,
    )


def switching(prices: sw.Prices, carbon: sw.Carbon | None) -> sw.SwitchingPlan:
    """A plan with a cost of starts."""
    return sw.plan_switching(
        prices,
        now=NOON,
        power_max_kw=7,
        power_min_kw=2,
        targets=[(END, 20)],
        start_cost=0.05,
        carbon=carbon,
    )


def heat(prices: sw.Prices, carbon: sw.Carbon | None) -> sw.HeatPlan:
    """A room that may cool a little, with a heat pump."""
    return sw.plan_heat(
        prices,
        now=NOON,
        capacity_kwh_per_k=8,
        loss_kw_per_k=0.3,
        temperature_celsius=21,
        comfort_celsius=(20, 24),
        power_max_kw=5,
        cop=3,
        outdoor_celsius=-5,
        carbon=carbon,
    )


def duration(prices: sw.Prices, carbon: sw.Carbon | None) -> sw.Plan:
    """A device that is on for so long."""
    return sw.plan_duration(
        prices, now=NOON, duration=3 * HOUR, by=NOON + 8 * HOUR, power_kw=7, carbon=carbon
    )


PLANNERS: list[Callable[[sw.Prices, sw.Carbon | None], Any]] = [
    charge,
    vehicle,
    storage,
    heat,
    switching,
    duration,
]


def kg_by_hand(plan: Any, grid: sw.Series) -> float:
    """Emissions of the charging intervals, minute by minute."""
    kg = 0.0
    for interval in plan.intervals:
        for slot in grid:
            start, end = max(interval.start, slot.start), min(interval.end, slot.end)
            if start < end:
                kg += max(interval.power_kw, 0.0) * ((end - start) / HOUR) * slot.value
    return kg


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_plan_is_evaluated_with_its_price_of_emissions(planner: Callable[..., Any]) -> None:
    """At its own prices it costs what it cost, whether these hold the price of emissions or not."""
    prices, grid = prices_of(CENTS), grid_of(GRAMS)
    plan = planner(prices, sw.Carbon(price_per_kg=0.3, intensity=grid))
    export = getattr(plan, "export_prices", None)
    parts = plan.evaluate(prices, export_prices=export)
    whole = plan.evaluate(plan.prices, export_prices=export)
    assert parts.cost == pytest.approx(plan.cost)
    assert whole.cost == pytest.approx(plan.cost)
    assert parts.baseline_cost == pytest.approx(whole.baseline_cost)
    assert parts.other_cost - whole.other_cost == pytest.approx(plan.carbon_cost)
    half = prices.plus_emissions(sw.Carbon(price_per_kg=0.15, intensity=grid))
    settled = plan.evaluate(half, export_prices=export)
    assert settled.cost == pytest.approx(plan.cost - plan.carbon_cost / 2)


@pytest.mark.parametrize("planner", PLANNERS)
def test_pages_and_cells_tell_emissions(planner: Callable[..., Any]) -> None:
    prices, grid = prices_of(CENTS), grid_of(GRAMS)
    plan = planner(prices, sw.Carbon(price_per_kg=0.3, intensity=grid))
    told = f"{plan.carbon_cost:.2f}"
    for text in (plan.to_html(), plan._repr_html_()):
        assert re.search(rf"kg CO2, {told.rstrip('0')}0* EUR of the cost \(baseline", text)
    assert "CO2" not in planner(prices, None).to_html()


def test_a_site_has_one_price_of_emissions() -> None:
    prices, grid = prices_of(CENTS), grid_of(GRAMS)
    carbon = sw.Carbon(price_per_kg=0.3, intensity=grid)
    van = sw.Vehicle("van", power_max_kw=7, targets=[sw.Target(END, 20)])
    site = sw.plan_site(prices, now=NOON, devices=[van], carbon=carbon)
    assert site.evaluate(prices).cost == pytest.approx(site.cost)
    assert "kg CO2" in site.to_html()
    with pytest.raises(sw.InputError, match="and the site has one of its own"):
        site.evaluate(prices.plus_emissions(carbon))


def test_a_policy_pays_for_emissions() -> None:
    """As if they were in its prices, in each of their forms."""
    prices, grid = prices_of(CENTS), grid_of(GRAMS)
    carbon = sw.Carbon(price_per_kg=0.3, intensity=grid)
    low = prices.plus(-0.05)
    later = prices[NOON + HOUR :]

    def decide(curves: Any, carbon: sw.Carbon | None) -> sw.ChargePolicy:
        return sw.plan_policy(
            curves,
            now=NOON,
            power_max_kw=7,
            energy_kwh=20,
            shortfall_price_per_kwh=2,
            carbon=carbon,
        )

    def chain(*states: sw.Prices) -> sw.MarkovPrices:
        return sw.MarkovPrices(
            states=states, transitions=[[0.8, 0.2], [0.2, 0.8]], first=[0.5, 0.5]
        )

    def tree(change: Callable[[sw.Prices], sw.Prices]) -> sw.PriceTree:
        branches = [(0.6, change(later)), (0.4, change(later.plus(0.1)))]
        return sw.PriceTree(change(prices[: NOON + HOUR]), then=branches)

    def summed(curve: sw.Prices) -> sw.Prices:
        return curve.plus_emissions(carbon)

    pairs: list[tuple[Any, Any]] = [
        (prices, summed(prices)),
        (chain(low, prices), chain(summed(low), summed(prices))),
        (tree(lambda curve: curve), tree(summed)),
    ]
    for plain, wanted in pairs:
        policy = decide(plain, carbon)
        assert policy.expected_cost == pytest.approx(decide(wanted, None).expected_cost)
        assert policy.expected_cost > decide(plain, None).expected_cost
        assert policy.certificate.is_proved
        assert pickled(policy) == policy
    assert decide(prices, carbon).prices == summed(prices)


def test_an_area_with_scenarios_pays_for_emissions() -> None:
    prices, grid = prices_of(CENTS), grid_of(GRAMS)
    carbon = sw.Carbon(price_per_kg=0.3, intensity=grid)
    other = sw.Prices.concat([prices[: NOON + HOUR], prices[NOON + HOUR :].plus(0.1)])

    def planned(shares: list[tuple[float, sw.Prices]], **more: Any) -> sw.AreaScenarioPlan:
        return sw.plan_area_scenarios(
            vehicles_of(3),
            [sw.AreaScenario(probability=p, prices=each, limit_kw=12) for p, each in shares],
            known_from=NOON + HOUR,
            shortfall_price_per_kwh=2,
            **more,
        )

    shares = [(0.75, prices), (0.25, other)]
    summed = [(share, each.plus_emissions(carbon)) for share, each in shares]
    plan = planned(shares, carbon=carbon)
    assert plan.expected_cost == pytest.approx(planned(summed).expected_cost)
    kg = 0.0
    for interval in plan.intervals:
        share = 1.0 if interval.scenario is None else shares[interval.scenario][0]
        for piece, value in parts(interval.to_dict(), grid):
            kg += share * interval.power_kw * ((piece["end"] - piece["start"]) / HOUR) * value
    assert plan.expected_carbon_kg == pytest.approx(kg)
    assert planned(shares).expected_carbon_kg is None
    assert pickled(plan).expected_carbon_kg == plan.expected_carbon_kg


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_plan_tells_its_emissions(planner: Callable[..., Any]) -> None:
    """Kilograms are those of its intervals, money is the sum, and the proof stands."""
    prices, grid = prices_of(CENTS), grid_of(GRAMS)
    carbon = sw.Carbon(price_per_kg=0.3, intensity=grid)
    plan, plain = planner(prices, carbon), planner(prices, None)
    assert plan.carbon_kg == pytest.approx(kg_by_hand(plan, grid))
    assert plan.carbon_cost == pytest.approx(0.3 * plan.carbon_kg)
    assert plan.certificate.is_proved
    # The dearest emissions are avoided, for money.
    assert plan.carbon_kg < kg_by_hand(plain, grid) - 1
    assert plan.cost - plan.carbon_cost > plain.cost
    # Summed prices are what the plan was made for, so planning for them is the same.
    summed = prices.plus_emissions(carbon)
    assert planner(summed, None) == plan
    assert plain.carbon_kg is plain.carbon_cost is plain.baseline_carbon_kg is None


@pytest.mark.parametrize("planner", PLANNERS[:4])
def test_a_baseline_has_emissions_too(planner: Callable[..., Any]) -> None:
    """The part of the baseline's cost that rises with the price of emissions."""
    prices, grid = prices_of(CENTS), grid_of(GRAMS)
    cheap = planner(prices, sw.Carbon(price_per_kg=0.0, intensity=grid))
    # Slots become as short as those of the intensity, in which a room is planned more closely.
    halves = sw.Prices.from_values(
        NOON, [cent / 100 for cent in CENTS for _ in range(2)], currency="EUR", slot=HOUR / 2
    )
    assert cheap.cost == pytest.approx(planner(halves, None).cost)
    # Full power from plug-in: 15 kWh stored or 20 kWh bought, in the first hours.
    tiny = planner(prices, sw.Carbon(price_per_kg=1e-6, intensity=grid))
    rise = (tiny.baseline_cost - cheap.baseline_cost) / 1e-6
    assert cheap.baseline_carbon_kg == pytest.approx(rise, rel=1e-5)
    assert cheap.baseline_carbon_kg > 0


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_saved_plan_keeps_its_emissions(planner: Callable[..., Any]) -> None:
    """From its text, from a pickle, and planned again."""
    plan = planner(prices_of(CENTS), sw.Carbon(price_per_kg=0.3, intensity=grid_of(GRAMS)))
    for twin in (type(plan).from_json(plan.to_json()), pickled(plan)):
        assert twin == plan
        assert twin.carbon_kg == plan.carbon_kg
        assert twin.baseline_carbon_kg == plan.baseline_carbon_kg
        assert twin.carbon_cost == plan.carbon_cost
        assert twin.to_json() == plan.to_json()
    assert sw.replay(plan.to_json()).same
    other = planner(prices_of(CENTS), sw.Carbon(price_per_kg=0.2, intensity=grid_of(GRAMS)))
    changed = {each.path: each for each in sw.saved.differences(plan, other)}
    assert changed["emissions.price_per_kg"].before == 0.3
    assert "emissions" not in planner(prices_of(CENTS), None).to_json()


def test_emissions_in_a_file_are_checked() -> None:
    """A price below zero, and an intensity that ends early."""
    carbon = sw.Carbon(price_per_kg=0.25, intensity=grid_of(GRAMS))
    text = charge(prices_of(CENTS), carbon).to_json()
    with pytest.raises(sw.InputError, match=r"price_per_kg is -0.25 per kg"):
        sw.Plan.from_json(text.replace('"price_per_kg": 0.25', '"price_per_kg": -0.25'))
    last = re.findall(r',\n *\{"start"[^\n]*"kg_per_kwh"[^\n]*\}(?=\n)', text)[-1]
    with pytest.raises(sw.InputError, match="the intensity is missing from"):
        sw.Plan.from_json(text.replace(last, ""))


def batteries_of(count: int) -> pa.Table:
    """Batteries of several levels and efficiencies; the last has no state of charge."""
    return pa.table(
        {
            "id": [f"car {n}" for n in range(count)],
            "arrival": [NOON + n * HOUR / 3 for n in range(count)],
            "departure": [END] * count,
            "capacity_kwh": [40.0] * count,
            "soc_percent": [20.0 + 15 * n for n in range(count - 1)] + [None],
            "target_percent": [75.0] * count,
            "efficiency": [0.8 + 0.05 * n for n in range(count)],
            "power_max_kw": [7.0] * count,
            "discharge_max_kw": [4.0] * count,
        }
    )


def test_rows_of_a_storage_batch_are_plans_alone() -> None:
    """Cost, emissions and those of the baseline, also with curves by name."""
    cars, carbon = batteries_of(4), sw.Carbon(price_per_kg=0.3, intensity=grid_of(GRAMS))
    export, prices = prices_of(CENTS[::-1]), prices_of(CENTS)
    rows = pa.table(sw.plan_storage_batch(cars, prices, export, carbon=carbon)).to_pylist()
    named = cars.append_column("price_id", pa.array(["a"] * 4))
    curves = {"b": export, "a": prices}
    own = pa.table(sw.plan_storage_batch(named, curves, export, carbon=carbon)).to_pylist()
    assert own == rows
    for row in rows[:3]:
        alone = sw.plan_storage_row(cars, prices, export, vehicle=row["id"], carbon=carbon)
        assert row["cost"] == pytest.approx(alone.cost)
        assert row["carbon_kg"] == pytest.approx(alone.carbon_kg, abs=1e-6)
        assert row["baseline_carbon_kg"] == pytest.approx(alone.baseline_carbon_kg, abs=1e-6)
    assert rows[3]["error"]
    assert rows[3]["carbon_kg"] is rows[3]["baseline_carbon_kg"] is None
    assert "carbon_kg" not in sw.plan_storage_batch(cars, prices).column_names


def vehicles_of(count: int) -> pa.Table:
    """Vehicles of several needs; the last stays too short."""
    return pa.table(
        {
            "id": [f"van {n}" for n in range(count)],
            "arrival": [NOON + n * HOUR / 3 for n in range(count)],
            "departure": [END] * (count - 1) + [NOON + count * HOUR / 2],
            "energy_kwh": [5.0 + 4 * n for n in range(count)],
            "power_max_kw": [7.0] * count,
        }
    )


def test_rows_of_a_batch_are_plans_alone() -> None:
    """Cost, emissions and those of the baseline of each row, also with curves of its own."""
    vehicles = vehicles_of(4)
    prices, grid = prices_of(CENTS), grid_of(GRAMS)
    carbon = sw.Carbon(price_per_kg=0.3, intensity=grid)
    rows = pa.table(sw.plan_batch(vehicles, prices, carbon=carbon)).to_pylist()
    named = vehicles.append_column("price_id", pa.array(["a", "b", "a", "b"]))
    other = prices_of(CENTS[::-1])
    own = pa.table(sw.plan_batch(named, {"a": prices, "b": other}, carbon=carbon)).to_pylist()
    for place, (van, row, its_own) in enumerate(zip(vehicles.to_pylist(), rows, own, strict=True)):
        for curve, found in ((prices, row), ((prices, other)[place % 2], its_own)):
            alone = sw.plan_charge(
                curve,
                now=van["arrival"],
                power_max_kw=van["power_max_kw"],
                targets=[(van["departure"], van["energy_kwh"])],
                until=van["departure"],
                carbon=carbon,
            )
            assert found["cost"] == pytest.approx(alone.cost)
            assert found["carbon_kg"] == pytest.approx(alone.carbon_kg)
            assert found["baseline_carbon_kg"] == pytest.approx(alone.baseline_carbon_kg)
    assert "carbon_kg" not in sw.plan_batch(vehicles, prices).column_names


def test_a_row_in_error_has_no_emissions() -> None:
    """Null, as its other numbers."""
    vehicles = vehicles_of(2).set_column(4, "power_max_kw", pa.array([7.0, -1.0]))
    carbon = sw.Carbon(price_per_kg=0.3, intensity=grid_of(GRAMS))
    plans = pa.table(sw.plan_batch(vehicles, prices_of(CENTS), carbon=carbon)).to_pylist()
    assert plans[0]["carbon_kg"] > 0
    assert plans[1]["error"]
    assert plans[1]["carbon_kg"] is None
    assert plans[1]["baseline_carbon_kg"] is None


def test_an_area_tells_its_emissions() -> None:
    """Of all plans together, within a limit; the baseline knows no limit."""
    vehicles, grid = vehicles_of(4), grid_of(GRAMS)
    carbon = sw.Carbon(price_per_kg=0.3, intensity=grid)
    area = sw.plan_area(vehicles, prices_of(CENTS), limit_kw=12, carbon=carbon)
    plain = sw.plan_area(vehicles, prices_of(CENTS), limit_kw=12)
    kg = sum(
        interval["power_kw"] * ((interval["end"] - interval["start"]) / HOUR) * value
        for row in pa.table(area.plans).to_pylist()
        for interval in row["intervals"]
        for interval, value in parts(interval, grid)
    )
    assert area.carbon_kg == pytest.approx(kg)
    assert area.carbon_cost == pytest.approx(0.3 * kg)
    assert plain.carbon_kg is plain.carbon_cost is plain.baseline_carbon_kg is None
    assert area.cost - 0.3 * kg >= plain.cost - 1e-6
    alone = pa.table(sw.plan_batch(vehicles, prices_of(CENTS), carbon=carbon))
    baseline = sum(alone.column("baseline_carbon_kg").to_pylist())
    assert area.baseline_carbon_kg == pytest.approx(baseline, rel=0.02)
    assert pickled(area).carbon_kg == area.carbon_kg


def parts(interval: dict[str, Any], grid: sw.Series) -> list[tuple[dict[str, Any], float]]:
    """An interval cut at the slots of the grid, with the intensity of each piece."""
    found = []
    for slot in grid:
        start, end = max(interval["start"], slot.start), min(interval["end"], slot.end)
        if start < end:
            found.append(({**interval, "start": start, "end": end}, slot.value))
    return found


def test_a_site_and_its_summed_prices() -> None:
    """The site has the carbon price of its own; both ways are one plan."""
    prices, grid = prices_of(CENTS), grid_of(GRAMS)
    carbon = sw.Carbon(price_per_kg=0.3, intensity=grid)
    van = sw.Vehicle("van", power_max_kw=7, targets=[sw.Target(END, 20)])
    site = sw.plan_site(prices, now=NOON, devices=[van], carbon=carbon)
    alone = sw.plan_charge(prices, now=NOON, power_max_kw=7, targets=[(END, 20)], carbon=carbon)
    assert site.cost == pytest.approx(alone.cost)
    assert site.carbon_kg == pytest.approx(alone.carbon_kg)
    assert site.carbon_cost == pytest.approx(alone.carbon_cost)
    assert site.baseline_carbon_kg == pytest.approx(alone.baseline_carbon_kg)
    free = sw.plan_site(prices, now=NOON, devices=[van])
    assert free.baseline_carbon_kg is None


def test_a_missing_intensity_is_named() -> None:
    """Nothing is planned where emissions are unknown."""
    short = grid_of(GRAMS)[: END - HOUR]
    carbon = sw.Carbon(price_per_kg=0.3, intensity=short)
    with pytest.raises(sw.InputError, match="carbon: the intensity is missing from 2026-01-05"):
        charge(prices_of(CENTS), carbon)


def test_a_carbon_price_that_makes_no_sense_is_refused() -> None:
    """Negative, no number, or a second one."""
    grid = grid_of(GRAMS)
    for per_kg in (-1.0, float("nan"), float("inf")):
        with pytest.raises(sw.InputError, match=r"carbon: price_per_kg is .* is 0 or more"):
            charge(prices_of(CENTS), sw.Carbon(price_per_kg=per_kg, intensity=grid))
    with pytest.raises(sw.InputError, match=r"carbon: the intensity from 2026-01-05 .* or more"):
        charge(prices_of(CENTS), sw.Carbon(price_per_kg=1.0, intensity=-grid))
    carbon = sw.Carbon(price_per_kg=0.3, intensity=grid)
    with pytest.raises(sw.InputError, match="hold a price of emissions already"):
        charge(prices_of(CENTS).plus_emissions(carbon), carbon)


def test_prices_with_emissions_are_copied_and_added_as_prices() -> None:
    """A copy knows its emissions; a sum is a price like any other."""
    carbon = sw.Carbon(price_per_kg=0.3, intensity=grid_of(GRAMS))
    summed = prices_of(CENTS).plus_emissions(carbon)
    copied = pickled(summed)
    assert charge(copied, None).carbon_kg == charge(summed, None).carbon_kg
    assert charge(summed + 0.1, None).carbon_kg is None


@settings(max_examples=40, deadline=None)
@given(
    cents=st.lists(st.integers(-20, 60), min_size=HOURS, max_size=HOURS),
    grams=st.lists(st.integers(0, 1000), min_size=HOURS, max_size=HOURS),
    per_kg=st.lists(st.floats(0, 2), min_size=2, max_size=6),
    planner=st.sampled_from(PLANNERS[:3]),
)
def test_more_for_carbon_is_never_more_carbon(
    cents: list[int], grams: list[int], per_kg: list[float], planner: Callable[..., Any]
) -> None:
    """Along the front, emissions fall and costs rise."""
    prices = prices_of(cents)
    points = sw.pareto(
        lambda carbon: planner(prices, carbon), intensity=grid_of(grams), prices_per_kg=per_kg
    )
    assert [point.price_per_kg for point in points] == sorted(per_kg)
    for low, high in pairwise(points):
        # At one price there may be several optima.
        if high.price_per_kg > low.price_per_kg + 1e-6:
            assert high.carbon_kg <= low.carbon_kg + 1e-6
            assert high.cost >= low.cost - 1e-6


def test_a_front_of_a_batch_is_that_of_its_sums() -> None:
    """Each vehicle of a batch is planned alone, so sums of fronts are fronts."""
    grid, per_kg, six = grid_of(GRAMS), [0.0, 0.3, 3.0], NOON
    stay = {"arrival": six, "departure": six + HOURS * HOUR, "power_max_kw": 7.0}
    rows = [{"id": 1, "energy_kwh": 9.0, **stay}, {"id": 2, "energy_kwh": 16.0, **stay}]
    broken = {"id": 3, "energy_kwh": -1.0, **stay}
    cars, prices = pa.Table.from_pylist([*rows, broken]), prices_of(CENTS)

    def alone(vehicle: object, carbon: sw.Carbon) -> sw.Plan:
        return sw.plan_row(cars, prices, vehicle=vehicle, carbon=carbon)

    points = sw.pareto(
        lambda carbon: sw.plan_batch(cars, prices, carbon=carbon),
        intensity=grid,
        prices_per_kg=per_kg,
    )
    fronts = [
        sw.pareto(
            partial(alone, row["id"]),
            intensity=grid,
            prices_per_kg=per_kg,
        )
        for row in rows
    ]
    for point, single in zip(points, zip(*fronts, strict=True), strict=True):
        assert point.cost == pytest.approx(sum(each.cost for each in single))
        assert point.carbon_kg == pytest.approx(sum(each.carbon_kg for each in single))
    assert points[0].carbon_kg > points[-1].carbon_kg


def test_a_front_of_a_plan_with_scenarios_has_expected_values() -> None:
    """One scenario that is certain has the front of its prices."""
    grid, prices = grid_of(GRAMS), prices_of(CENTS)
    stay = {"id": "a", "arrival": NOON, "departure": END, "energy_kwh": 9.0, "power_max_kw": 7.0}
    cars = pa.Table.from_pylist([stay])
    scenario = sw.AreaScenario(probability=1, prices=prices, limit_kw=7)
    points = sw.pareto(
        lambda carbon: sw.plan_area_scenarios(
            cars, [scenario], known_from=NOON, shortfall_price_per_kwh=9, carbon=carbon
        ),
        intensity=grid,
        prices_per_kg=[0.0, 3.0],
    )
    alone = sw.pareto(
        lambda carbon: sw.plan_row(cars, prices, vehicle="a", carbon=carbon),
        intensity=grid,
        prices_per_kg=[0.0, 3.0],
    )
    for point, expected in zip(points, alone, strict=True):
        assert point.cost == pytest.approx(expected.cost, rel=1e-3)
        assert point.carbon_kg == pytest.approx(expected.carbon_kg, rel=1e-3)


def test_a_front_needs_emissions_and_prices() -> None:
    """A planner that ignores its argument is found out."""
    grid = grid_of(GRAMS)
    with pytest.raises(sw.InputError, match="without carbon="):
        sw.pareto(lambda _: charge(prices_of(CENTS), None), intensity=grid, prices_per_kg=[1.0])
    with pytest.raises(sw.InputError, match="holds no price"):
        sw.pareto(lambda c: charge(prices_of(CENTS), c), intensity=grid, prices_per_kg=[])
    policy: Any = sw.plan_policy(
        prices_of(CENTS), now=NOON, power_max_kw=7, energy_kwh=5, shortfall_price_per_kwh=1
    )
    with pytest.raises(TypeError, match="not ChargePolicy, which knows no emissions"):
        sw.pareto(lambda _: policy, intensity=grid, prices_per_kg=[1.0])
    unknown = batteries_of(2)
    with pytest.raises(sw.InputError, match="returns a PlanTable that does not know"):
        sw.pareto(
            lambda _: sw.plan_storage_batch(unknown, prices_of(CENTS)),
            intensity=grid,
            prices_per_kg=[1.0],
        )
