"""Heat units in areas: under shared limits, told, saved, asked and verified."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import slackwater as sw

from saved_plans import pickled

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
PRICES = sw.Prices.from_values(SIX, [0.10, 0.40, 0.40, 0.10], currency="EUR")
PUMP = sw.HeatUnit(
    "pump",
    capacity_kwh_per_k=5,
    loss_kw_per_k=0.2,
    temperature_celsius=20,
    comfort_celsius=(20, 23),
    power_max_kw=3,
    cop=3,
    outdoor_celsius=5,
)
CARS = {
    "id": ["van", "bus"],
    "arrival": [SIX] * 2,
    "departure": [SIX + timedelta(hours=2), SIX + timedelta(hours=4)],
    "energy_kwh": [6.0, 4.0],
    "power_max_kw": [7.0, 4.0],
}
NODES = [
    sw.Node(name="town", limit_kw=9),
    sw.Node(name="street", parent="town", limit_kw=5),
]


def planned(**changes: object) -> sw.AreaPlan:
    """A plan of both cars and the pump, whose statements all hold."""
    given: dict[str, object] = {"limit_kw": 7.0, "heat": [PUMP], "relative_gap": 1e-6}
    area = sw.plan_area(pa.table(CARS), PRICES, **{**given, **changes})  # type: ignore[arg-type]
    verified = area.verify()
    assert verified.holds, verified.failed
    assert len(verified.heat) == len(area.heat)
    assert all(own.holds and own.gap >= -1e-6 for own in verified.heat)
    gaps = sum(own.gap for own in verified.vehicles) + sum(own.gap for own in verified.heat)
    assert gaps + verified.limits_gap == pytest.approx(area.cost - verified.bound, abs=1e-6)
    return area


def test_a_pump_shares_the_limit_with_cars() -> None:
    """Loads include the pump, costs are sums, and the band is held."""
    area = planned()
    (pump,) = area.heat
    cars = pa.table(area.plans)
    assert area.cost == pytest.approx(pump.cost + sum(cars["cost"].to_pylist()))
    assert area.energy_kwh == pytest.approx(sum(cars["energy_kwh"].to_pylist()))
    assert sum(area.load_kw) == pytest.approx(area.energy_kwh + pump.energy_kwh)
    assert max(area.load_kw) <= 7 + 1e-6
    assert area.nodes[0].load_kw == pytest.approx(area.load_kw)
    assert (pump.node, pump.room.below_celsius_hours, area.shortfall_kwh) == ("area", 0.0, 0.0)
    assert len(pump.room.slots) == 4
    assert area.degree_hour_price > 1


def test_without_a_binding_limit_a_unit_has_its_own_plan() -> None:
    """The cost is that of plan_heat, to a millionth."""
    area = planned(limit_kw=1e3)
    room = ["capacity_kwh_per_k", "loss_kw_per_k", "temperature_celsius", "comfort_celsius"]
    fields = [*room, "power_max_kw", "cop", "outdoor_celsius"]
    alone = sw.plan_heat(PRICES, now=SIX, **{name: getattr(PUMP, name) for name in fields})
    assert area.heat[0].cost == pytest.approx(alone.cost, abs=1e-6)
    used = [slot.used_kwh for slot in area.heat[0].room.slots]
    assert used == pytest.approx([slot.used_kwh for slot in alone.slots], abs=1e-6)
    table = pa.table(area.heat_intervals())
    assert table.column_names == ["unit", "node", "start", "end", "power_kw"]
    assert table["power_kw"].to_pylist() == pytest.approx([own.power_kw for own in alone.intervals])


def test_units_on_nodes_and_what_is_missing() -> None:
    """Needs come before comfort; the shortfall of comfort is a number, told with its limit."""
    street = replace(PUMP, group="street", power_max_kw=5)
    cars = {**CARS, "node": ["street", "town"], "energy_kwh": [10.0, 4.0]}
    area = sw.plan_area(pa.table(cars), PRICES, nodes=NODES, heat=[street], relative_gap=1e-6)
    (pump,) = area.heat
    assert area.verify().holds
    assert (pump.node, area.shortfall_kwh) == ("street", 0.0)
    assert max(area.nodes[1].load_kw) <= 5 + 1e-6
    # The van takes both hours of the street whole.
    assert [slot.used_kwh for slot in pump.room.slots[:2]] == pytest.approx([0, 0], abs=1e-6)
    assert pump.room.below_celsius_hours > 0.5
    sentences = area.explain_heat("pump")
    assert "°C·h below its band" in sentences[1]
    assert {own.code for own in pump.reasons} <= {"recover", "hold", "ahead", "limit", "cheap"}


def test_a_plan_with_units_is_kept_and_asked() -> None:
    """Saved, pickled, changed and kept near an earlier plan."""
    area = planned()
    loaded = sw.AreaPlan.from_json(area.to_json())
    assert loaded.heat == area.heat
    assert loaded.degree_hour_price == area.degree_hour_price
    assert loaded.explain_heat("pump") == area.explain_heat("pump")
    assert loaded.verify(vehicles=pa.table(CARS), heat=[PUMP]).holds
    assert pickled(area.heat) == area.heat
    less = area.what_if(heat=[])
    assert less.plan.heat == []
    assert less.plan.cost < area.cost
    steady = area.close_to(area, budget=0.1)
    assert steady.heat == area.heat
    assert steady.verify().holds


def test_a_plan_without_units_is_as_before() -> None:
    """No heat, no price of a degree-hour, and text of an earlier version is read."""
    area = sw.plan_area(pa.table(CARS), PRICES, limit_kw=7)
    assert (area.heat, area.degree_hour_price, len(area.heat_intervals())) == ([], 0.0, 0)
    text = area.to_json().replace('"heat": [], "degree_hour_price": 0.0, ', "")
    assert '"heat"' not in text
    assert sw.AreaPlan.from_json(text).heat == []


def test_errors_name_unit_and_field() -> None:
    """One clear error each."""
    for unit, text in [
        (
            replace(PUMP, group="north"),
            r"heat\[0\] \(pump\) has a group that is the name of no node",
        ),
        (replace(PUMP, phases=("L1",)), r"heat\[0\] \(pump\) has phases"),
        (replace(PUMP, priority=0), r"heat\[0\] \(pump\).priority is 0"),
        (replace(PUMP, capacity_kwh_per_k=1e9), r"capacity_kwh_per_k is 1000000000 kWh/K"),
    ]:
        with pytest.raises(sw.InputError, match=text):
            sw.plan_area(pa.table(CARS), PRICES, limit_kw=7, heat=[unit])
    with pytest.raises(sw.InputError, match="has the name of another unit"):
        sw.plan_area(pa.table(CARS), PRICES, limit_kw=7, heat=[PUMP, PUMP])
    cars = {**CARS, "price_id": ["a", "a"]}
    with pytest.raises(sw.InputError, match="one curve of prices"):
        sw.plan_area(pa.table(cars), {"a": PRICES}, limit_kw=7, heat=[PUMP])
    with pytest.raises(TypeError, match="heat"):
        sw.plan_area(pa.table(CARS), PRICES, limit_kw=7, heat=[sw.Load("house", power_kw=1)])  # type: ignore[list-item]
    with pytest.raises(sw.InputError, match="the heat units of this area are pump"):
        planned().explain_heat("boiler")
