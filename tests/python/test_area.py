"""Areas as users see them: limits hold, gaps are proved, wishes are named."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import slackwater as sw

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
PRICES = sw.Prices.from_values(SIX, [0.30, 0.10, 0.20, 0.40], currency="EUR")


def fleet(count: int, **columns: list[Any]) -> pa.Table:
    """Make vehicles that stay four hours and want 10 kWh at 10 kW."""
    return pa.table(
        {
            "id": list(range(count)),
            "arrival": [SIX] * count,
            "departure": [SIX + 4 * HOUR] * count,
            "energy_kwh": [10.0] * count,
            "power_max_kw": [10.0] * count,
            **columns,
        }
    )


def energies(plan: sw.AreaPlan) -> list[float]:
    """Read what each vehicle gets."""
    return [float(energy) for energy in pa.table(plan)["energy_kwh"].to_pylist()]


def test_a_limit_moves_load_to_the_next_cheapest_hour() -> None:
    plan = sw.plan_area(fleet(3), PRICES, limit_kw=12)
    # 12 kWh at 0.10, 12 at 0.20 and the last 6 at 0.30.
    assert plan.cost == pytest.approx(12 * 0.1 + 12 * 0.2 + 6 * 0.3, rel=1e-3)
    assert max(plan.load_kw) <= 12 + 1e-9
    assert plan.bound <= plan.cost
    assert plan.relative_gap <= 1e-3
    assert (plan.status, plan.is_reproducible, plan.shortfalls) == ("optimal_within_gap", True, [])
    # Half of the fleet's third vehicle pays 0.30, so the 0.10 hour is worth 0.20 more.
    assert plan.nodes[0].congestion_price_per_kwh == pytest.approx([0, 0.2, 0.1, 0], abs=1e-6)


def test_without_a_binding_limit_an_area_is_a_batch() -> None:
    vehicles = fleet(5, energy_kwh=[3.0, 7.5, 0.0, 12.0, 39.0])
    area = pa.table(sw.plan_area(vehicles, PRICES, limit_kw=1000))
    batch = pa.table(sw.plan_batch(vehicles, PRICES))
    for name in ("cost", "energy_kwh", "baseline_cost", "savings"):
        assert area[name].to_pylist() == pytest.approx(batch[name].to_pylist(), abs=1e-8)


def test_a_shortage_is_shared_and_named() -> None:
    plan = sw.plan_area(fleet(2), PRICES, limit_kw=2)
    assert energies(plan) == pytest.approx([4, 4], abs=1e-3)
    assert plan.shortfall_kwh == pytest.approx(12, abs=2e-3)
    assert {unmet.node for unmet in plan.shortfalls} == {"area"}
    weighed = sw.plan_area(fleet(2, priority=[2.0, 1.0]), PRICES, limit_kw=2)
    assert energies(weighed) == pytest.approx([6, 2], abs=1e-3)


def test_a_stay_that_is_too_short_blames_no_limit() -> None:
    plan = sw.plan_area(fleet(1, energy_kwh=[100.0]), PRICES, limit_kw=50)
    assert [(unmet.row, unmet.node) for unmet in plan.shortfalls] == [(0, None)]
    assert plan.shortfall_kwh == pytest.approx(60)


def test_nested_nodes_hold_together() -> None:
    nodes = [
        sw.Node(name="town", limit_kw=25),
        sw.Node(name="street", parent="town", limit_kw=[8.0, 8.0, None, 8.0]),
    ]
    plan = sw.plan_area(fleet(3, node=["street", "street", "town"]), PRICES, nodes=nodes)
    town, street = plan.nodes
    assert max(town.load_kw) <= 25 + 1e-9
    assert street.load_kw[1] <= 8 + 1e-9
    assert plan.shortfalls == []
    # The town's vehicle pays 0.10; of the street 8 kWh do, and 12 pay 0.20.
    assert plan.cost == pytest.approx(1.8 + 12 * 0.2, rel=1e-3)


def test_soft_limits_peaks_blocks_and_targets_cost_what_they_say() -> None:
    def cost(**node: Any) -> float:
        return sw.plan_area(
            fleet(1), PRICES, nodes=[sw.Node(name="n", **node)], relative_gap=1e-6
        ).cost

    # Half of the need moves to the hour at 0.20 or pays 0.05 above 5 kW.
    assert cost(limit_kw=5, breach_price_per_kwh=0.05) == pytest.approx(1.25, rel=1e-4)
    # Each kW less of peak saves 0.08 + nothing: below 0.10 it does not pay to move.
    assert cost(peak_price_per_kw=0.08) == pytest.approx(1.8, rel=1e-4)
    assert cost(peak_price_per_kw=0.08, peak_incurred_kw=10) == pytest.approx(1.0, rel=1e-4)
    assert cost(blocks=[(4, 0.02), (8, 0.2)]) == pytest.approx(
        4 * 0.1 + 4 * 0.12 + 2 * 0.2, rel=1e-4
    )
    assert cost(target_kw=0, target_price_per_kwh=0.01) == pytest.approx(1.1, rel=1e-4)


def test_squares_fill_the_valley() -> None:
    flat = sw.Prices.from_values(SIX, [0.0] * 4, currency="EUR")
    node = sw.Node(name="n", base_kw=[6.0, 0, 2, 10], target_kw=0, target_square_price=1.0)
    plan = sw.plan_area(fleet(2), flat, nodes=[node], relative_gap=1e-5)
    # 20 kWh fill 6, 0 and 2 kW up to 28/3.
    assert plan.nodes[0].load_kw == pytest.approx([28 / 3] * 3 + [10], abs=0.1)
    assert plan.cost == pytest.approx(3 * (28 / 3) ** 2 + 100, rel=1e-4)


def test_an_on_off_vehicle_is_never_chopped() -> None:
    vehicles = fleet(3, power_min_kw=[9.0] * 3)
    table = pa.table(sw.plan_area(vehicles, PRICES, limit_kw=15))
    for intervals in table["intervals"].to_pylist():
        assert all(interval["power_kw"] == 10 for interval in intervals)
    assert energies(sw.plan_area(vehicles, PRICES, limit_kw=15)) == pytest.approx([10] * 3)


def test_an_on_off_vehicle_above_the_limit_withholds_nothing_that_fits() -> None:
    vehicles = pa.table(
        {
            "id": ["truck", "van"],
            "arrival": [SIX + HOUR / 6, SIX],
            "departure": [SIX + 2 * HOUR] * 2,
            "energy_kwh": [24.0, 5.5],
            "power_max_kw": [22.0, 11.0],
            "power_min_kw": [22.0, 0.0],
        }
    )
    prices = sw.Prices.from_values(SIX, [0.38, 0.40], currency="EUR")
    plan = sw.plan_area(vehicles, prices, limit_kw=20)
    # 29.5 of 40 kWh, so that nothing has to go unmet.
    assert energies(plan) == pytest.approx([24.0, 5.5])
    assert (plan.shortfall_kwh, plan.shortfall_bound_kwh) == (0.0, 0.0)
    steady = sw.plan_area(vehicles.drop_columns(["power_min_kw"]), prices, limit_kw=20)
    assert steady.shortfall_bound_kwh is None


def test_previous_prices_save_rounds() -> None:
    vehicles = fleet(300, energy_kwh=[3.0 + 20 * (i * 37 % 100) / 100 for i in range(300)])
    wanted: dict[str, Any] = {"limit_kw": 1200, "relative_gap": 1e-4}
    first = sw.plan_area(vehicles, PRICES, **wanted)
    for left in (vehicles, vehicles.slice(5)):
        again = sw.plan_area(left, PRICES, **wanted, previous=first)
        anew = sw.plan_area(left, PRICES, **wanted)
        assert again.rounds < anew.rounds
        assert again.relative_gap <= 1e-4
        assert again.bound <= anew.cost


def test_progress_is_told_and_can_stop() -> None:
    seen: list[sw.AreaProgress] = []
    vehicles = fleet(50, energy_kwh=[1.0 + i % 17 for i in range(50)])
    plan = sw.plan_area(vehicles, PRICES, limit_kw=120, relative_gap=0, progress=seen.append)
    assert seen
    assert all(at.bound <= plan.cost + 1e-9 for at in seen)
    stopped = sw.plan_area(vehicles, PRICES, limit_kw=120, relative_gap=0, progress=lambda _: True)
    assert (stopped.status, stopped.is_reproducible) == ("stopped", False)
    assert max(stopped.load_kw) <= 120 + 1e-9


def test_an_error_of_the_callback_comes_through() -> None:
    def broken(_: sw.AreaProgress) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        sw.plan_area(fleet(9), PRICES, limit_kw=20, progress=broken)


def test_a_reserve_without_room_comes_later_and_nobody_loses_by_it() -> None:
    vehicles = fleet(3, reserve_kwh=[8.0] * 3)
    plan = sw.plan_area(vehicles, PRICES, limit_kw=8)
    # 8 kWh an hour are 32 in all, for 30; only 8 of 24 are there after the first hour.
    assert plan.shortfall_kwh == pytest.approx(0, abs=1e-6)
    assert energies(plan) == pytest.approx([10.0] * 3, abs=1e-6)
    assert plan.load_kw[0] == pytest.approx(8, abs=1e-6)
    assert plan.late_reserves == [0, 1, 2]


def test_a_shortage_of_many_is_borne_by_all_alike() -> None:
    count = 3_000
    needs = [2.0 + at * 7919 % 37 for at in range(count)]
    priority = [1.0 + at % 2 for at in range(count)]
    vehicles = fleet(count, energy_kwh=needs, priority=priority)
    plan = sw.plan_area(vehicles, PRICES, limit_kw=0.2 * sum(needs))
    assert plan.shortfall_kwh == pytest.approx(0.2 * sum(needs), rel=2e-3)
    unmet = dict.fromkeys(range(count), 0.0) | {
        each.row: each.energy_kwh for each in plan.shortfalls
    }
    # In proportion to need over priority: 0.4 / 1.5 of it for the first, half of that for others.
    weight = sum(need / first for need, first in zip(needs, priority, strict=True))
    share = 0.2 * sum(needs) / weight
    beyond = [unmet[at] / needs[at] - share / priority[at] for at in range(count)]
    assert max(map(abs, beyond)) < 0.02


def test_a_deadline_without_room_is_missed_equally_and_the_need_is_there() -> None:
    by = SIX + HOUR
    targets = [[{"by": by, "energy_kwh": 6.0}]] * 3
    plan = sw.plan_area(fleet(3, targets=targets), PRICES, limit_kw=9)
    assert energies(plan) == pytest.approx([10.0] * 3, abs=1e-6)
    # 18 kWh are wanted by the end of the first hour, and 9 are there.
    assert plan.shortfall_kwh == pytest.approx(9, abs=1e-3)
    assert [need.energy_kwh for need in plan.shortfalls] == pytest.approx([3.0] * 3, abs=1e-3)
    assert {need.node for need in plan.shortfalls} == {"area"}


@settings(max_examples=100, deadline=None)
@given(wanted=st.lists(st.tuples(st.floats(0.5, 9), st.floats(0, 1)), min_size=1, max_size=6))
def test_what_a_deadline_misses_comes_later(wanted: list[tuple[float, float]]) -> None:
    by = SIX + HOUR
    targets = [[{"by": by, "energy_kwh": need * part}] for need, part in wanted]
    vehicles = fleet(len(wanted), energy_kwh=[need for need, _ in wanted], targets=targets)
    plan = sw.plan_area(vehicles, PRICES, limit_kw=[3.0, 100.0, 100.0, 100.0])
    missed = max(0.0, sum(need * part for need, part in wanted) - 3)
    assert plan.shortfall_kwh == pytest.approx(missed, abs=1e-3 * len(wanted))
    assert energies(plan) == pytest.approx([need for need, _ in wanted], abs=1e-3)


def test_alike_vehicles_miss_two_deadlines_alike() -> None:
    wanted = [{"by": SIX + HOUR, "energy_kwh": 6.0}, {"by": SIX + 2 * HOUR, "energy_kwh": 10.0}]
    for count in (3, 300):
        vehicles = fleet(count, energy_kwh=[12.0] * count, targets=[wanted] * count)
        plan = sw.plan_area(vehicles, PRICES, limit_kw=3 * count)
        # By eight o'clock 6 of 10 kWh are there for each, and the need by ten.
        missed = [need.energy_kwh for need in plan.shortfalls]
        assert missed == pytest.approx([4.0] * count, abs=0.2)
        assert sum(missed) == pytest.approx(4 * count, rel=2e-3)
        assert energies(plan) == pytest.approx([12.0] * count, abs=0.1)


def batteries(count: int, **columns: list[Any]) -> pa.Table:
    """Make vehicles that stay four hours and may give back what they store."""
    return (
        fleet(count)
        .drop_columns(["energy_kwh"])
        .append_column("capacity_kwh", pa.array([40.0] * count))
        .append_column("soc_percent", pa.array([50.0] * count))
        .append_column("target_percent", pa.array(columns.pop("target_percent", [50.0] * count)))
        .append_column(
            "discharge_max_kw", pa.array(columns.pop("discharge_max_kw", [10.0] * count))
        )
    )


def test_a_battery_gives_nothing_where_more_is_lost_than_it_helps() -> None:
    lossy = [0.7, 0.7]
    vehicles = batteries(2, target_percent=[85.0, 50.0], discharge_max_kw=[0.0, 10.0])
    vehicles = vehicles.append_column("discharge_efficiency", pa.array(lossy))
    plan = sw.plan_area(vehicles, PRICES, limit_kw=2.5)
    # The first wants 14 kWh where there are 10. A kWh of the other would bring it 0.7.
    assert [need.row for need in plan.shortfalls] == [0]
    assert plan.shortfall_kwh == pytest.approx(4, abs=1e-3)
    assert plan.discharged_kwh == pytest.approx(0, abs=1e-6)


def test_who_misses_a_deadline_takes_nothing_from_those_who_leave_later() -> None:
    by = SIX + HOUR
    targets = [[{"by": by, "energy_kwh": 6.0}], [{"by": by, "energy_kwh": 6.0}], [], []]
    plan = sw.plan_area(fleet(4, targets=targets), PRICES, limit_kw=9)
    # 12 kWh are wanted by the end of the first hour, where there are 9; 40 in all, of 36.
    unmet = {need.row: need.energy_kwh for need in plan.shortfalls}
    assert sum(unmet.values()) == pytest.approx(4, abs=2e-3)
    assert sum(energies(plan)) == pytest.approx(36, abs=2e-3)
    assert min(unmet.get(row, 0.0) for row in (0, 1)) > 0.5


def test_a_vehicle_buys_cheap_and_sells_dear_within_the_limits() -> None:
    plan = sw.plan_area(batteries(1), PRICES, export_prices=PRICES, limit_kw=100)
    # 20 kWh are there: sold are 10 at 0.30 and 10 at 0.40, bought 10 at 0.10 and 10 at 0.20.
    assert plan.load_kw == pytest.approx([-10, 10, 10, -10])
    assert plan.cost == pytest.approx(1 + 2 - 3 - 4)
    assert [plan.energy_kwh, plan.discharged_kwh] == pytest.approx([20, 20])
    powers = [each["power_kw"] for each in pa.table(plan)["intervals"][0].as_py()]
    assert powers == [-10, 10, -10]
    node = sw.Node(name="n", limit_kw=6, export_limit_kw=4)
    plan = sw.plan_area(batteries(1), PRICES, export_prices=PRICES, nodes=[node], relative_gap=1e-6)
    # No more than 4 kWh an hour go out, so no more than 8 need to come in.
    assert plan.cost == pytest.approx(6 * 0.1 + 2 * 0.2 - 4 * 0.7, abs=1e-6)
    assert min(plan.load_kw) >= -4 - 1e-9
    assert max(plan.load_kw) <= 6 + 1e-9


def test_what_one_gives_back_another_takes() -> None:
    # The van needs 20 kWh in two hours in which only 5 a hour come in.
    table = batteries(2, target_percent=[0.0, 100.0], discharge_max_kw=[10.0, 0.0])
    plan = sw.plan_area(table, PRICES, export_prices=PRICES.times(0.1), limit_kw=2.5)
    assert plan.shortfalls == []
    assert plan.energy_kwh == pytest.approx(20, abs=1e-4)
    assert plan.discharged_kwh >= 10 - 1e-4
    assert max(plan.load_kw) <= 2.5 + 1e-9


def test_without_prices_to_sell_at_nothing_is_sold() -> None:
    plan = sw.plan_area(batteries(2), PRICES, limit_kw=100)
    assert (plan.cost, plan.discharged_kwh) == (0, 0)


def test_a_reserve_that_a_limit_delays_is_named() -> None:
    table = batteries(2).append_column("reserve_percent", pa.array([60.0, 60.0]))
    assert sw.plan_area(table, PRICES, limit_kw=100).late_reserves == []
    plan = sw.plan_area(table, PRICES, limit_kw=4)
    assert plan.late_reserves
    assert set(plan.late_reserves) <= {0, 1}
    assert max(plan.load_kw) <= 4 + 1e-9


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"export_prices": {"a": PRICES}}, "of the same kind as prices"),
        ({"export_prices": sw.Prices.from_values(SIX, [1.0], currency="EUR")}, "other slots"),
        ({"export_prices": sw.Prices.from_values(SIX, [1.0] * 4, currency="NOK")}, "NOK"),
        ({"stability_budget": 5}, "stability_budget needs a previous plan"),
    ],
)
def test_prices_to_sell_at_that_make_no_sense_are_refused(
    arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(sw.InputError, match=text):
        sw.plan_area(batteries(2), PRICES, limit_kw=9, **arguments)


def test_a_battery_that_makes_no_sense_is_an_error_of_its_row() -> None:
    table = batteries(3, discharge_max_kw=[-1.0, 5.0, 0.0])
    plan = pa.table(sw.plan_area(table, PRICES, limit_kw=9))
    errors = plan["error"].to_pylist()
    assert "discharge_max_kw" in errors[0]
    assert errors[1:] == [None, None]
    mixed = fleet(1).append_column("discharge_max_kw", pa.array([5.0]))
    error = pa.table(sw.plan_area(mixed, PRICES, limit_kw=9))["error"][0].as_py()
    assert error == "capacity_kwh is missing"


def test_a_budget_keeps_what_vehicles_were_told() -> None:
    vehicles = fleet(200, energy_kwh=[1.0 + i % 17 for i in range(200)])
    first = sw.plan_area(vehicles, PRICES, limit_kw=800)
    assert first.change is None
    tighter: dict[str, Any] = {"limit_kw": 780, "previous": first}
    free = sw.plan_area(vehicles, PRICES, **tighter, stability_budget=0)
    rich = sw.plan_area(vehicles, PRICES, **tighter, stability_budget=1e6)
    told = sw.plan_area(
        vehicles.slice(5), PRICES, limit_kw=780, previous=pa.table(first), stability_budget=1e6
    )
    assert free.change is not None
    assert rich.change is not None
    assert told.change is not None
    assert rich.change.moved_kwh < free.change.moved_kwh / 2 + 1e-9
    assert rich.change.unchanged > 150
    assert rich.cost == pytest.approx(free.cost - free.change.spent + rich.change.spent)
    assert (free.change.vehicles, told.change.vehicles) == (200, 195)
    assert max(rich.load_kw) <= 780 + 1e-9
    assert rich.shortfalls == []


def test_who_was_told_what_has_to_be_known() -> None:
    table = fleet(4)
    gone = sw.plan_area(table, PRICES, limit_kw=15, sink=lambda _: None)
    # Its shadow prices are there; what vehicles were told is not.
    assert sw.plan_area(table, PRICES, limit_kw=15, previous=gone).change is None
    with pytest.raises(sw.InputError, match="previous has no plans of its vehicles"):
        sw.plan_area(table, PRICES, limit_kw=15, previous=gone, stability_budget=0)
    first = pa.table(sw.plan_area(table, PRICES, limit_kw=15))
    twice = pa.concat_tables([first, first.slice(2, 1)])
    with pytest.raises(sw.InputError, match='rows 2 and 4 of the previous plans have the id "2"'):
        sw.plan_area(table, PRICES, limit_kw=15, previous=twice)
    same = fleet(4, id=["a", "b", "b", "c"])
    with pytest.raises(sw.InputError, match='rows 1 and 2 of the vehicles have the id "b"'):
        sw.plan_area(same, PRICES, limit_kw=15, previous=first)
    # Who has no name is new, however many there are.
    nobody = fleet(4, id=pa.array([None, None, 2, 3], pa.int64()))
    change = sw.plan_area(nobody, PRICES, limit_kw=15, previous=first).change
    assert change is not None
    assert change.vehicles == 2


def test_a_sink_gets_all_plans_in_order() -> None:
    pieces: list[pa.Table] = []
    plan = sw.plan_area(
        fleet(70_000), PRICES, limit_kw=300_000, sink=lambda rows: pieces.append(pa.table(rows))
    )
    assert [piece.num_rows for piece in pieces] == [65_536, 4_464]
    assert pa.concat_tables(pieces)["id"].to_pylist() == list(range(70_000))
    assert len(plan.plans) == 0

    def broken(_: sw.PlanTable) -> None:
        raise KeyError("full")

    with pytest.raises(KeyError, match="full"):
        sw.plan_area(fleet(3), PRICES, limit_kw=9, sink=broken)


class Notes:
    """Remembers rounds."""

    def __init__(self, known: list[str]) -> None:
        self.known = list(known)
        self.kept: list[str] = []

    def recall(self) -> str | None:
        """Give back the next one."""
        return self.known.pop(0) if self.known else None

    def keep(self, text: str) -> None:
        """Add one."""
        self.kept.append(text)


def test_remembered_rounds_are_not_asked_again() -> None:
    vehicles = fleet(300, energy_kwh=[1.0 + i % 23 for i in range(300)])
    first = Notes([])
    whole = sw.plan_area(vehicles, PRICES, limit_kw=1_300, memory=first)
    assert len(first.kept) > 2
    second = Notes([*first.kept[:-1], "torn"])
    again = sw.plan_area(vehicles, PRICES, limit_kw=1_300, memory=second)
    assert second.kept == first.kept[-1:]
    assert pa.table(again).equals(pa.table(whole))
    assert (again.cost, again.bound) == (whole.cost, whole.bound)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "give either limit_kw or nodes"),
        ({"limit_kw": 1, "nodes": []}, "give either limit_kw or nodes"),
        ({"nodes": []}, "an area needs at least one node"),
        ({"limit_kw": [1.0, 2.0]}, 'limit_kw of node "area" has 2 slots; the prices have 4'),
        ({"limit_kw": -1.0}, 'limit_kw of node "area" is -1'),
        ({"limit_kw": math.nan}, 'limit_kw of node "area": NaN kW is not a finite number'),
        ({"limit_kw": 5, "relative_gap": -1}, "relative_gap is -1"),
        ({"nodes": [sw.Node(name="a", parent="b")]}, "parent of node"),
        ({"nodes": [sw.Node(name="a", parent="a")]}, "unknown parent, or is its own ancestor"),
        ({"nodes": [sw.Node(name="a"), sw.Node(name="a")]}, "two nodes"),
        ({"nodes": [sw.Node(name="a", blocks=[(5, 0.2), (2, 0.3)])]}, "no less than"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(sw.InputError, match=text):
        sw.plan_area(fleet(2), PRICES, **arguments)


def test_a_vehicle_at_an_unknown_node_is_refused() -> None:
    with pytest.raises(sw.InputError, match='node of row 1 is "moon"'):
        sw.plan_area(fleet(2, node=["a", "moon"]), PRICES, nodes=[sw.Node(name="a", limit_kw=9)])


def test_a_bad_row_stops_nobody_else() -> None:
    table = pa.table(sw.plan_area(fleet(2, energy_kwh=[10.0, -1.0]), PRICES, limit_kw=20))
    assert table["error"].to_pylist() == [None, "energy_kwh is -1 kWh; it is 0 kWh or more"]


@settings(max_examples=60, deadline=None)
@given(
    prices=st.lists(st.integers(-20, 60), min_size=1, max_size=12),
    rows=st.lists(
        st.tuples(st.integers(-2, 8), st.integers(0, 12), st.floats(0, 80), st.floats(0, 22)),
        max_size=12,
    ),
    limit=st.floats(0, 60),
)
def test_limits_hold_and_needs_are_met_or_named(
    prices: list[int], rows: list[tuple[int, int, float, float]], limit: float
) -> None:
    curve = sw.Prices.from_values(SIX, [cents / 100 for cents in prices], currency="EUR")
    vehicles = pa.table(
        {
            "id": pa.array(range(len(rows)), pa.int64()),
            "arrival": pa.array([SIX + a * HOUR for a, *_ in rows], pa.timestamp("us", "UTC")),
            "departure": pa.array(
                [SIX + (a + s) * HOUR for a, s, *_ in rows], pa.timestamp("us", "UTC")
            ),
            "energy_kwh": pa.array([energy for *_, energy, _ in rows], pa.float64()),
            "power_max_kw": pa.array([power for *_, power in rows], pa.float64()),
        }
    )
    plan = sw.plan_area(vehicles, curve, limit_kw=limit)
    assert all(load <= limit + 1e-8 for load in plan.load_kw)
    wanted = sum(energy for *_, energy, _ in rows)
    assert plan.energy_kwh + plan.shortfall_kwh == pytest.approx(wanted, abs=1e-6)
    assert plan.bound <= plan.cost + 1e-9
    assert sum(energies(plan)) == pytest.approx(plan.energy_kwh, abs=1e-6)
    most = most_served(len(prices), rows, limit)
    assert plan.energy_kwh <= most + 1e-6
    # Sharing a shortage equally may leave a little of it unused.
    assert plan.energy_kwh >= most - max(0.02 * most, 2e-3 * wanted) - 1e-6


def most_served(slots: int, rows: list[tuple[int, int, float, float]], limit_kw: float) -> float:
    """Most energy that vehicles can take in hours that hold `limit_kw` each, by scipy."""
    cells = [
        (row, slot)
        for row, (arrival, stay, _, _) in enumerate(rows)
        for slot in range(max(arrival, 0), min(arrival + stay, slots))
    ]
    if not cells:
        return 0.0
    of_row = [[float(row == at) for row, _ in cells] for at in range(len(rows))]
    of_slot = [[float(slot == at) for _, slot in cells] for at in range(slots)]
    found = linprog(
        [-1.0] * len(cells),
        A_ub=[*of_row, *of_slot],
        b_ub=[*(energy for *_, energy, _ in rows), *[limit_kw] * slots],
        bounds=[(0.0, rows[row][3]) for row, _ in cells],
    )
    assert found.status == 0
    return -float(found.fun)
