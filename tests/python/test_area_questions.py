"""Plans of areas are verified, asked and compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slackwater as sw
from test_area import HOUR, PRICES, SIX, fleet

from saved_plans import pickled

MIXED = [
    {"limit_kw": 12},
    {"limit_kw": 4},
    {"nodes": [sw.Node(name="n", limit_kw=20, breach_price_per_kwh=0.02)]},
    {"nodes": [sw.Node(name="n", peak_price_per_kw=0.08, base_kw=[2.0, 0, 1, 5])]},
    {"nodes": [sw.Node(name="n", blocks=[(4, 0.02), (8, 0.2)])]},
    {"nodes": [sw.Node(name="n", target_kw=9, target_price_per_kwh=0.05)]},
    {"nodes": [sw.Node(name="n", target_kw=9, target_square_price=0.01)]},
    {
        "nodes": [
            sw.Node(name="town", limit_kw=25, export_limit_kw=0),
            sw.Node(name="n", parent="town", limit_kw=[8.0, 8.0, None, 8.0]),
        ]
    },
]


def batteries(count: int) -> pa.Table:
    """Vehicles that also sell, some with a reserve."""
    return pa.table(
        {
            "id": list(range(count)),
            "arrival": [SIX] * count,
            "departure": [SIX + 4 * HOUR] * count,
            "soc_percent": [30.0 + 5 * (row % 5) for row in range(count)],
            "target_percent": [60.0] * count,
            "reserve_percent": [40.0 * (row % 2) for row in range(count)],
            "capacity_kwh": [40.0] * count,
            "efficiency": [0.9] * count,
            "power_max_kw": [10.0] * count,
            "discharge_max_kw": [10.0] * count,
            "discharge_efficiency": [0.95] * count,
            "wear_price_per_kwh": [0.01] * count,
            "end_value_per_kwh": [0.05] * count,
        }
    )


def targets(count: int) -> pa.Table:
    """Vehicles with a need at departure, one before it, and a reserve."""
    wanted = [[{"by": SIX + 2 * HOUR, "energy_kwh": 6.0}]] * count
    return fleet(count, targets=wanted, reserve_kwh=[2.0 * (row % 2) for row in range(count)])


VEHICLES: dict[str, Callable[[int], pa.Table]] = {
    "charging": fleet,
    "targets": targets,
    "on or off": lambda count: fleet(count, power_min_kw=[6.0] * count),
    "batteries": batteries,
}


@pytest.mark.parametrize("kind", VEHICLES)
@pytest.mark.parametrize("limits", MIXED)
def test_every_statement_of_a_plan_is_computed_anew(kind: str, limits: dict[str, Any]) -> None:
    export = PRICES * 0.9 if kind == "batteries" else None
    vehicles = VEHICLES[kind](5)
    if "nodes" in limits:
        vehicles = vehicles.append_column("node", pa.array(["n"] * 5))
    plan = sw.plan_area(vehicles, PRICES, export_prices=export, **limits)
    verified = plan.verify()
    assert verified.holds, [check for check in verified.checks if not check.holds]
    assert all(vehicle.holds for vehicle in verified.vehicles)
    # The gaps of the vehicles and of the limits are the distance from cost to bound.
    gaps = math.fsum(vehicle.gap for vehicle in verified.vehicles)
    assert gaps + verified.limits_gap == pytest.approx(plan.cost - verified.bound, abs=1e-6)
    assert plan.bound <= verified.bound + 1e-6


def test_the_bound_of_an_area_can_be_added_up_by_hand() -> None:
    plan = sw.plan_area(fleet(3), PRICES, limit_kw=12)
    # Prices plus the price of the limit: each car needs 10 kWh at 10 kW.
    prices = np.array([price for _, _, price in PRICES.slots])
    paid = prices + np.array(plan.nodes[0].congestion_price_per_kwh)
    own = 3 * 10 * paid.min()
    bound = own - 12 * sum(plan.shadow_price_per_kwh[0][1])
    verified = plan.verify()
    assert verified.bound == pytest.approx(bound)
    assert [car.bound for car in verified.vehicles] == pytest.approx([own / 3] * 3)
    assert pa.table(verified.vehicles_table())["id"].to_pylist() == ["0", "1", "2"]


def changed(plan: sw.AreaPlan, **fields: Any) -> sw.AreaPlan:
    """Copy a plan with other numbers, as a file could have them."""
    numbers = plan.__getnewargs_ex__()[1]
    return sw.AreaPlan._of(
        sw.AreaNumbers(**{**numbers, **fields}),
        plan.plans,
        plan._nodes,
        plan._prices,
        plan.seconds,
        given=plan._given,
    )


def test_what_was_changed_is_named() -> None:
    plan = sw.plan_area(fleet(3), PRICES, limit_kw=12)
    assert changed(plan).verify().holds
    assert changed(plan, cost=plan.cost + 0.1).verify().failed == ["cost", "relative_gap"]
    assert changed(plan, bound=plan.cost + 0.1).verify().failed == ["bound"]
    free = [("area", [0.0] * 4)]
    assert changed(plan, shadow_price_per_kwh=free).verify().failed == ["bound"]
    # The plan of other limits: its vehicles pass the limit, and cost less.
    wider = sw.plan_area(fleet(3), PRICES, limit_kw=30)
    mixed = changed(plan)
    mixed._plans = wider.plans
    failed = mixed.verify().failed
    assert {"nodes[0].load_kw", "nodes[0].limit_kw", "cost"} <= set(failed)


def test_a_plan_from_a_file_is_verified_with_its_vehicles() -> None:
    carbon = sw.Carbon(price_per_kg=0.1, intensity=[(SIX, SIX + 4 * HOUR, 400.0)])
    plan = sw.plan_area(fleet(3), PRICES, limit_kw=12, carbon=carbon)
    loaded = sw.AreaPlan.from_json(plan.to_json())
    assert loaded.verify(vehicles=fleet(3)) == plan.verify()
    assert loaded.savings == plan.savings == plan.baseline_cost - plan.cost
    with pytest.raises(sw.InputError, match=r"keeps no vehicles; give their table: verify\(vehic"):
        loaded.verify()
    with pytest.raises(sw.InputError, match="vehicles has 4 rows; the plan is of 3 vehicles"):
        loaded.verify(vehicles=fleet(4))
    with pytest.raises(sw.InputError, match='has the id "7"; in the plan it is "2"'):
        loaded.verify(vehicles=fleet(3, id=[0, 1, 7]))
    # Other needs than those that were planned.
    other = loaded.verify(vehicles=fleet(3, energy_kwh=[10.0, 10.0, 12.0]))
    assert other.failed == ["vehicles"]
    assert other.vehicles[2].failed == "targets"
    with pytest.raises(sw.InputError, match="read from a file keeps no arguments to change"):
        loaded.what_if(limit_kw=15)


def test_rows_in_error_are_left_out() -> None:
    plan = sw.plan_area(fleet(3, energy_kwh=[10.0, -1.0, 10.0]), PRICES, limit_kw=12)
    verified = plan.verify()
    assert (verified.holds, [car.row for car in verified.vehicles]) == (True, [0, 2])


# -------------------------------------------------------------------- what ifs


def test_what_if_plans_again_with_another_limit_or_vehicle() -> None:
    plan = sw.plan_area(fleet(3), PRICES, limit_kw=12)
    wider = plan.what_if(limit_kw=30)
    assert wider.plan.cost == pytest.approx(3.0)
    assert wider.cost_change == wider.plan.cost - plan.cost
    assert wider.sentence.startswith("With limit_kw=30, the plan would cost 2.40 EUR less")
    back = wider.plan.what_if(limit_kw=12)
    assert back.cost_change == pytest.approx(-wider.cost_change)
    less = plan.what_if(vehicle={"id": 2, "energy_kwh": 4, "departure": SIX + 3 * HOUR})
    assert less.energy_change_kwh == pytest.approx(-6)
    assert less.sentence.startswith("With energy_kwh=4, changed departure for vehicle 2, the plan")
    same = plan.what_if()
    assert same[1:] == (0, 0, 0, "Nothing was changed; the cost is the same.", 0)
    short = plan.what_if(limit_kw=2)
    assert short.shortfall_change_kwh == pytest.approx(22, abs=0.1)
    assert " and miss 2" in short.sentence


def test_a_gap_that_matters_is_told() -> None:
    plan = sw.plan_area(fleet(3, power_min_kw=[10.0] * 3), PRICES, limit_kw=12)
    dear = plan.what_if(prices=PRICES * 1000)
    gap = max(dear.plan.cost - dear.plan.bound, plan.cost - plan.bound)
    assert ("give or take" in dear.sentence) == (gap >= 0.005)


def test_vehicles_of_the_caller_may_change_later() -> None:
    columns: Any = {name: fleet(2)[name].to_pylist() for name in fleet(2).column_names}
    plan = sw.plan_area(columns, PRICES, limit_kw=12)
    columns["energy_kwh"][0] = 40.0
    assert plan.what_if().plan.cost == plan.cost
    # A stream can be read once; a plan is asked more than once.
    stream = pa.RecordBatchReader.from_batches(fleet(2).schema, fleet(2).to_batches())
    streamed = sw.plan_area(stream, PRICES, limit_kw=12)
    assert streamed.what_if(limit_kw=13).plan.cost == plan.what_if(limit_kw=13).plan.cost
    copied = pickled(plan)
    assert copied.what_if(limit_kw=13)[1:] == plan.what_if(limit_kw=13)[1:]
    assert copied.verify() == plan.verify()


def test_whole_numbers_take_a_fraction() -> None:
    plan = sw.plan_area(fleet(2, energy_kwh=[10, 10]), PRICES, limit_kw=12)
    answer = plan.what_if(vehicle={"id": 1, "energy_kwh": 10.5})
    assert answer.energy_change_kwh == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("vehicle", "kind", "text"),
    [
        ({"energy_kwh": 4}, sw.InputError, 'vehicle names energy_kwh; it needs the "id"'),
        ({"id": 1}, sw.InputError, 'vehicle names id; it needs the "id" and columns to change'),
        ({"id": 9, "energy_kwh": 4}, sw.InputError, 'vehicle is "9", the id of no vehicles'),
        ({"id": 1, "energy": 4}, sw.InputError, 'there is no column "energy"; found: id, arrival'),
        ({"id": 1, "energy_kwh": [4]}, TypeError, "vehicle: energy_kwh is a list; give a number"),
        (
            {"id": 1, "arrival": datetime(2026, 1, 5)},  # noqa: DTZ001  that is the point
            TypeError,
            "vehicle: arrival is 2026-01-05 00:00:00, which has no time zone",
        ),
    ],
)
def test_a_vehicle_that_cannot_be_changed_is_refused(
    vehicle: dict[str, Any], kind: type[Exception], text: str
) -> None:
    plan = sw.plan_area(fleet(2), PRICES, limit_kw=12)
    with pytest.raises(kind) as caught:
        plan.what_if(vehicle=vehicle)
    assert str(caught.value).startswith(text)


# -------------------------------------------------------- close to, and differences


def test_a_plan_is_kept_close_to_an_earlier_one() -> None:
    before = sw.plan_area(fleet(3), PRICES, limit_kw=12)
    nearly = sw.Prices.from_values(SIX, [0.30, 0.201, 0.20, 0.40], currency="EUR")
    after = sw.plan_area(fleet(3), nearly, limit_kw=12)
    steady = after.close_to(before, budget=1.0)
    assert steady.change is not None
    assert steady.change.moved_kwh <= steady.change.cheapest_kwh
    assert steady.change.spent <= 1.0
    assert steady.cost == pytest.approx(after.cost + steady.change.spent, rel=2e-3)
    assert steady.verify().holds
    # The same by the arguments of the planner.
    again = sw.plan_area(fleet(3), nearly, limit_kw=12, previous=before, stability_budget=1.0)
    assert again.change is not None
    assert steady.change.moved_kwh == pytest.approx(again.change.moved_kwh, abs=0.1)
    with pytest.raises(sw.InputError, match="budget is -1 EUR; it is a number from 0 on"):
        after.close_to(before, budget=-1)


def test_differences_turn_one_plan_into_the_other() -> None:
    plan = sw.plan_area(fleet(3), PRICES, limit_kw=12)
    after = plan.what_if(vehicle={"id": 2, "energy_kwh": 4}).plan
    found = plan.diff(after, time_zone="Europe/Oslo")
    moved = sum(
        (change.after_kw - change.before_kw) * ((change.end - change.start) / HOUR)
        for change in found
    )
    assert moved == pytest.approx(-6, abs=1e-6)
    assert len(plan.diff(plan)) == 0
    assert {change.device for change in found} <= {"0", "1", "2"}
    gone = plan.diff(sw.plan_area(fleet(2), PRICES, limit_kw=12))
    assert any(change.device == "2" and change.after_kw == 0 for change in gone)
    with pytest.raises(sw.InputError, match="rows 0 and 1 of the plans after have the id"):
        plan.diff(sw.plan_area(fleet(2, id=[1, 1]), PRICES, limit_kw=12))
    with pytest.raises(TypeError, match="after has to be an AreaPlan, not a"):
        plan.diff(3)  # type: ignore[arg-type]


def test_plans_that_went_to_a_sink_are_not_asked() -> None:
    plan = sw.plan_area(fleet(3), PRICES, limit_kw=12, sink=lambda _: None)
    for ask in (plan.verify, lambda: plan.diff(plan)):
        with pytest.raises(sw.InputError, match="the plans of this area went to a sink"):
            ask()
    # Planned again they are kept.
    assert plan.what_if(limit_kw=13).plan.verify().holds


def test_an_area_without_vehicles_holds() -> None:
    assert sw.plan_area(fleet(1).slice(0, 0), PRICES, limit_kw=12).verify().holds
