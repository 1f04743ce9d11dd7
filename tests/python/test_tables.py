"""Tables of results: columns, copies for other processes, load curves."""

from __future__ import annotations

import copy
import json
import multiprocessing
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import slackwater as sw
import test_area_scenarios
import test_capacity
import test_heat
import test_policy
from slackwater import statistics

import fleets
import saved_plans
from saved_plans import pickled

HOUR = timedelta(hours=1)
QUARTER = timedelta(minutes=15)
UTC_MICROS = pa.timestamp("us", "UTC")


def batch() -> sw.PlanTable:
    return sw.plan_batch(fleets.fleet(40), fleets.day_ahead())


def storage_batch() -> sw.PlanTable:
    night = fleets.NOON + 12 * HOUR
    batteries = pa.table(
        {
            "id": [1, 2],
            "arrival": [fleets.NOON] * 2,
            "departure": [night] * 2,
            "capacity_kwh": [50.0, 60.0],
            "soc_percent": [50.0, None],
            "power_max_kw": [11.0, 11.0],
            "discharge_max_kw": [11.0, 11.0],
        }
    )
    return sw.plan_storage_batch(batteries, fleets.day_ahead(), fleets.day_ahead())


def monthly() -> sw.Table:
    start = pa.array([fleets.NOON + hour * HOUR for hour in range(3)], UTC_MICROS)
    end = pa.array([fleets.NOON + (hour + 1) * HOUR for hour in range(3)], UTC_MICROS)
    samples = pa.table({"start": start, "end": end, "energy_kwh": [1.0, 2.0, 3.0]})
    return statistics.aggregate(samples, by=[], resolution="DAY")


def area() -> sw.AreaPlan:
    return sw.plan_area(fleets.fleet(12), fleets.day_ahead(), limit_kw=20)


TABLES = [batch, storage_batch, monthly]


def energy_kwh(table: Any) -> float:
    """Energy of all intervals, by pyarrow."""
    rows = pa.table(table).to_pylist()
    return float(sum(row["power_kw"] * ((row["end"] - row["start"]) / HOUR) for row in rows))


@pytest.mark.parametrize("make", TABLES)
def test_a_table_is_pickled_and_copied(make: Any) -> None:
    table = make()
    for twin in (pickled(table), copy.copy(table), copy.deepcopy(table)):
        assert type(twin) is type(table)
        assert pa.table(twin).equals(pa.table(table), check_metadata=True)
        assert repr(twin) == repr(table)


def test_who_asks_a_table_as_one_of_another_library_is_told_the_way() -> None:
    plans: Any = batch()
    plan = saved_plans.charge()
    tables: list[Any] = [plans, plan, plan.intervals, area()]
    for table in tables:
        with pytest.raises(AttributeError, match=r"to_polars'; polars\.DataFrame\(x\) reads it$"):
            _ = table.to_polars
    with pytest.raises(AttributeError, match=r"; it is a column: polars\.DataFrame\(x\)\['cost'\]"):
        _ = plans.cost
    with pytest.raises(AttributeError, match=r"no attribute 'costs'$"):
        _ = plans.costs


def test_a_table_says_its_rows_and_columns() -> None:
    table = monthly()
    assert type(table) is sw.Table
    assert repr(table) == f"Table(1 row: {', '.join(table.column_names)})"
    plans = batch()
    columns = pa.table(plans)
    short = sum(missing > 0 for missing in columns["shortfall_kwh"].to_pylist())
    revenue = sum(columns["forgone_revenue"].to_pylist())
    left = f"up to {revenue:.2g} EUR at negative prices not used"
    told = f"40 plans, {short} short, {left}"
    assert repr(plans) == f"PlanTable({told}: {', '.join(plans.column_names)})"
    assert isinstance(plans, sw.Table)


def test_a_table_says_which_plans_are_not_whole() -> None:
    six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
    known = sw.Prices.from_values(six, [0.3, 0.1], currency="EUR")
    prices = known.with_estimates(sw.Prices.from_values(six, [0.2] * 3, currency="EUR"))
    stays: Any = {
        "id": ["good", "bad", "short", "late"],
        "arrival": [six, six, six, six + 2 * hour],
        "departure": [six + 2 * hour] * 3 + [six + 5 * hour],
        "energy_kwh": [5.0, None, 50.0, 5.0],
        "power_max_kw": [10.0] * 4,
    }
    shown = repr(sw.plan_batch(stays, prices))
    told = "4 plans, 1 in error, 1 short, 5 kWh on estimates in 1 plan, "
    told += "1 plan with hours without a price"
    assert shown.startswith(f"PlanTable({told}: id, cost")


def test_an_area_plan_is_pickled_and_goes_on() -> None:
    first = area()
    twin = pickled(first)
    assert repr(twin) == repr(first)
    assert twin.nodes == first.nodes
    assert pa.table(twin).equals(pa.table(first))
    table, prices = fleets.fleet(12), fleets.day_ahead()
    again = [sw.plan_area(table, prices, limit_kw=20, previous=plan) for plan in (first, twin)]
    assert again[0].cost == again[1].cost
    assert again[0].rounds == again[1].rounds


def load_of(plans: sw.PlanTable) -> float:
    """What another process makes of a table."""
    return float(sum(pa.table(plans.load(QUARTER))["energy_kwh"].to_pylist()))


def cost_of(plan: Any) -> float:
    return float(plan.cost)


def test_tables_and_plans_go_to_other_processes() -> None:
    plans, made = batch(), [kind() for kind in saved_plans.KINDS]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(load_of, (plans,)) == load_of(plans)
        assert pool.map(cost_of, [*made, area()]) == [cost_of(plan) for plan in [*made, area()]]


def test_the_load_of_a_batch_has_all_its_energy() -> None:
    plans = batch()
    energy = sum(pa.table(plans)["energy_kwh"].to_pylist())
    assert energy_kwh(plans.intervals_table()) == pytest.approx(energy, abs=1e-4)
    for resolution in (timedelta(minutes=1), QUARTER, HOUR, timedelta(days=1)):
        load = pa.table(plans.load(resolution))
        assert sum(load["energy_kwh"].to_pylist()) == pytest.approx(energy, abs=1e-4)
        assert energy_kwh(load) == pytest.approx(energy, abs=1e-4)
        starts = load["start"].to_pylist()
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        assert all((start - epoch) % resolution == timedelta() for start in starts)


def test_discharging_counts_against_charging() -> None:
    plans = storage_batch()
    row = pa.table(plans).to_pylist()[0]
    load = pa.table(plans.load(HOUR))
    net = row["charged_kwh"] - row["discharged_kwh"]
    assert sum(load["energy_kwh"].to_pylist()) == pytest.approx(net, abs=1e-4)
    assert min(load["power_kw"].to_pylist()) < 0
    assert pa.table(plans)["error"].to_pylist()[1]
    assert set(pa.table(plans.intervals_table())["id"].to_pylist()) == {1}


def test_a_resolution_without_a_curve_is_refused() -> None:
    plans = batch()
    with pytest.raises(sw.InputError, match=r"resolution: a step of 0 s has no length"):
        plans.load(timedelta())
    with pytest.raises(sw.InputError, match=r"resolution: steps of 0\.001 s from"):
        plans.load(timedelta(milliseconds=1))
    with pytest.raises(TypeError):
        plans.load(900)  # type: ignore[arg-type]


def test_a_batch_without_rows_has_a_load_without_rows() -> None:
    nobody = sw.plan_batch(fleets.fleet(40).slice(0, 0), fleets.day_ahead())
    assert pa.table(nobody.load(HOUR)).num_rows == 0
    assert pa.table(nobody.intervals_table()).column_names == ["id", "start", "end", "power_kw"]


SCHEMAS: dict[str, tuple[Callable[[], Any], Any]] = {
    "reasons": (lambda: saved_plans.charge().explain(), sw.Reason),
    "storage reasons": (lambda: saved_plans.storage().explain(), sw.StorageReason),
    "switching reasons": (lambda: saved_plans.switching().explain(), sw.SwitchingReason),
    "site reasons": (lambda: saved_plans.site().explain(), sw.SiteReason),
    "intervals": (lambda: saved_plans.charge().intervals, sw.Interval),
    "storage intervals": (lambda: saved_plans.storage().intervals, sw.Interval),
    "switching intervals": (lambda: saved_plans.switching().intervals, sw.SwitchingInterval),
    "power changes": (
        lambda: saved_plans.site().diff(saved_plans.site().what_if(import_limit_kw=9).plan),
        sw.PowerChange,
    ),
    "policy slots": (lambda: test_policy.policy().slots, sw.PolicySlot),
    "policy reasons": (lambda: test_policy.policy().explain(), sw.PolicyReason),
    "bids": (
        lambda: test_policy.policy().bid_curve(at=test_policy.SIX, wanted_kwh=9),
        sw.BidStep,
    ),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_records_are_a_table_and_a_sequence(name: str) -> None:
    make, kind = SCHEMAS[name]
    records = make()
    rows = pl.DataFrame(records).to_dicts()
    assert rows == [record.to_dict() for record in records]
    assert records.column_names == list(kind.__match_args__)
    assert len(records) == records.num_rows == len(rows) > 0
    assert all(isinstance(record, kind) for record in records)
    assert records == list(records) == pickled(records)
    assert list(records) == [records[index] for index in range(len(records))]
    assert records[-1] == list(records)[-1]
    assert records[:2] == list(records)[:2]
    assert repr(records).startswith(f"{type(records).__name__}([{kind.__name__}(")
    with pytest.raises(IndexError):
        records[len(records)]


# Rows of the page of tables by their first words, and a table of each.
TOLD: dict[str, Callable[[], Any]] = {
    "`Prices`": lambda: saved_plans.charge().prices,
    "`Plan`": saved_plans.charge,
    "`plan.intervals` of `Plan`": lambda: saved_plans.charge().intervals,
    "`plan.explain()` of `Plan`": lambda: saved_plans.charge().explain(),
    "`StoragePlan`": saved_plans.storage,
    "`plan.explain()` of `StoragePlan`": lambda: saved_plans.storage().explain(),
    "`HeatPlan`": test_heat.plan,
    "`plan.explain()` of `HeatPlan`": lambda: test_heat.plan().explain(),
    "`ChargePolicy`": test_policy.policy,
    "`policy.explain()`": lambda: test_policy.policy().explain(),
    "`AreaScenarioPlan`": test_area_scenarios.plan,
    "`plan.energies` of `AreaScenarioPlan`": lambda: test_area_scenarios.plan().energies,
    "`plan.explain()` of `AreaScenarioPlan`": lambda: test_area_scenarios.plan().explain(),
    "`plan.slots` of `CapacityPlan`": lambda: test_capacity.plan().slots,
    "`plan.explain()` of `CapacityPlan`": lambda: test_capacity.plan().explain(),
    "`plan.intervals` of `SwitchingPlan`": lambda: saved_plans.switching().intervals,
    "`plan.explain()` of `SwitchingPlan`": lambda: saved_plans.switching().explain(),
    "`SitePlan`": saved_plans.site,
    "`plan.limits_table()`": lambda: saved_plans.site().limits_table(),
    "`plan.explain()` of `SitePlan`": lambda: saved_plans.site().explain(),
    "`plans.intervals_table()`": lambda: batch().intervals_table(),
    "`plans.load(resolution)`": lambda: batch().load(QUARTER),
}


@pytest.mark.parametrize("row", TOLD)
def test_the_page_tells_the_columns_of_each_table(row: str) -> None:
    page = (Path(__file__).parents[2] / "docs/tables.md").read_text(encoding="utf-8")
    (told,) = re.findall(rf"^\| {re.escape(row)}[^|]*\|[^|]*\|([^|]*)\|$", page, re.MULTILINE)
    assert re.findall(r"`([a-z_]+)`", told) == pa.table(TOLD[row]()).column_names


def test_columns_of_reasons_have_their_types() -> None:
    schema = pa.table(saved_plans.charge().explain()).schema
    assert schema.field("start").type == UTC_MICROS
    assert not schema.field("start").nullable
    assert schema.field("deadline").type == UTC_MICROS
    assert schema.field("deadline").nullable
    assert schema.field("price_max_per_kwh").type == pa.float64()
    assert schema.field("sentence").type == pa.string()


def test_a_site_is_a_table_of_devices_and_one_of_limits() -> None:
    plan = saved_plans.site()
    devices = pa.table(plan).to_pylist()
    assert len(devices) == len(plan.devices) * len(plan.slots)
    unknown: list[Any] = [None] * len(plan.slots)
    for device in plan.devices:
        rows = [row for row in devices if row["device"] == device.name]
        assert [row["power_kw"] for row in rows] == device.power_kw
        assert [row["soc_start_percent"] for row in rows] == (
            list(device.soc_percent[:-1]) or unknown
        )
        assert [row["soc_end_percent"] for row in rows] == (list(device.soc_percent[1:]) or unknown)
    limits = pl.DataFrame(plan.limits_table())
    assert limits.columns == [
        "name",
        "phase",
        "start",
        "end",
        "limit_kw",
        "power_kw",
        "shadow_price_per_kwh",
    ]
    for limit in plan.limits:
        rows = limits.filter(pl.col("name") == limit.name).to_dicts()
        assert [row["limit_kw"] for row in rows] == limit.limit_kw
        assert [row["shadow_price_per_kwh"] for row in rows] == limit.shadow_price_per_kwh
        assert [row["start"] for row in rows] == [slot.start for slot in plan.slots]


# The columns of the page that tells what each result can do.
RESULTS: list[Callable[[], Any]] = [
    saved_plans.charge,
    saved_plans.storage,
    saved_plans.switching,
    test_heat.plan,
    saved_plans.site,
    area,
    batch,
    test_capacity.plan,
    test_policy.policy,
]


def can(result: Any, name: str) -> bool:
    """Whether a result has an attribute, or one of an attribute."""
    for part in name.split("."):
        if not hasattr(result, part):
            return False
        result = getattr(result, part)
    return True


def test_the_page_tells_what_each_result_can_do() -> None:
    page = (Path(__file__).parents[2] / "docs/tables.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w.]+)` ((?:\| (?:yes)? ?){9})\|$", page, re.MULTILINE)
    assert len(rows) >= 20
    made = [make() for make in RESULTS]
    for name, cells in rows:
        told = ["yes" in cell for cell in cells.split("|")[1:]]
        assert told == [can(result, name) for result in made], name


# How each method of that page that needs no facts beside the plan is called.
USES: dict[str, Callable[[Any], object]] = {
    "explain": lambda each: (
        each.explain(pa.table(each)["id"][0].as_py())
        if isinstance(each, sw.AreaPlan)
        else each.explain()
    ),
    "evaluate": lambda each: each.evaluate(each.prices).cost,
    "intervals_table": lambda each: each.intervals_table(),
    "load": lambda each: each.load(HOUR),
    "plot": lambda each: (
        each.plot(at=each.slots[0].start, wanted_kwh=1.0)
        if isinstance(each, sw.ChargePolicy)
        else each.plot()
    ),
    "to_html": lambda each: each.to_html(),
    "to_json": lambda each: each.to_json(),
    "to_dict": lambda each: each.to_dict(),
    "diff": lambda each: len(each.diff(each)) == 0,
    "certificate.verify": lambda each: each.certificate.verify().holds,
    "verify": lambda each: each.verify().holds,
}


@pytest.mark.parametrize("make", RESULTS)
def test_what_a_result_can_do_works(make: Callable[[], Any]) -> None:
    result = make()
    used = [name for name in USES if can(result, name)]
    assert len(used) >= 2
    for name in used:
        assert USES[name](result) not in (None, False), name


@pytest.mark.parametrize("make", [*saved_plans.KINDS, test_heat.plan, test_policy.policy])
def test_a_plan_becomes_a_dictionary(make: Callable[[], Any]) -> None:
    plan = make()
    plain = plan.to_dict()
    assert json.loads(json.dumps(plain, default=str)).keys() == plain.keys()
    assert {"prices", "request"}.isdisjoint(plain)
    assert plain["certificate"] == plan.certificate.to_dict()
    assert plain["slots"] == [slot.to_dict() for slot in plan.slots]
    for name in ("cost", "savings", "carbon_kg", "gap", "currency", "now"):
        assert (name in plain) == hasattr(plan, name)
        assert plain.get(name) == getattr(plan, name, None)


@pytest.mark.parametrize("make", [*saved_plans.KINDS, test_heat.plan])
def test_the_load_of_a_plan_has_all_its_energy(make: Callable[[], Any]) -> None:
    plan = make()
    if isinstance(plan, sw.SitePlan):
        drawn = sum(slot.import_kwh - slot.export_kwh for slot in plan.slots)
    else:
        drawn = energy_kwh(plan.intervals)
    load = pa.table(plan.load(HOUR))
    assert sum(load["energy_kwh"].to_pylist()) == pytest.approx(drawn, abs=1e-6)
    assert load.column_names == ["start", "end", "power_kw", "energy_kwh"]
    with pytest.raises(sw.InputError, match="resolution: a step of 0 s has no length"):
        plan.load(timedelta())


def test_a_site_lists_intervals_as_a_batch_does() -> None:
    plan = saved_plans.site()
    rows = pa.table(plan.intervals_table()).to_pylist()
    assert pa.table(plan.intervals_table()).column_names == ["id", "start", "end", "power_kw"]
    listed = [
        {"id": device.name, **interval.to_dict()}
        for device in plan.devices
        for interval in device.intervals
    ]
    assert rows == listed


def test_an_area_is_saved_and_read(tmp_path: Path) -> None:
    table, market = fleets.fleet(12), fleets.day_ahead()
    guess = sw.Prices.from_slots(market.slots[:-6], currency="EUR")
    prices = guess.with_estimates(market, source="last week")
    carbon = sw.Carbon(price_per_kg=0.1, intensity=[(slot[0], slot[1], 0.4) for slot in market])
    before = sw.plan_area(table, market, limit_kw=30)
    nodes = [sw.Node(name="area", limit_kw=20, blocks=[(10, 0.01)], base_kw=[1.0] * len(market))]
    asked: Any = {"previous": before, "stability_budget": 1.0, "carbon": carbon}
    plan = sw.plan_area(table, prices, nodes=nodes, **asked)
    assert plan.change is not None
    assert plan.shortfalls
    plan.save(tmp_path / "area.json")
    twin = sw.load_area(tmp_path / "area.json")
    assert twin.to_json() == plan.to_json()
    assert pa.table(twin).equals(pa.table(plan))
    assert (twin.nodes, twin.periods, twin.change) == (plan.nodes, plan.periods, plan.change)
    assert (twin.carbon_kg, twin.carbon_cost) == (plan.carbon_kg, plan.carbon_cost)
    assert twin.prices is not None
    assert twin.prices.provenance == prices.provenance
    name = pa.table(plan)["id"][0].as_py()
    # The file has no vehicles, which the sentence on those that use the limit needs.
    told = [text.split(" While it stays,")[0] for text in plan.explain(name)]
    assert list(twin.explain(name)) == told != list(plan.explain(name))
    assert twin.to_html() == plan.to_html()
    again = [sw.plan_area(table, prices, nodes=nodes, previous=each) for each in (plan, twin)]
    assert again[0].cost == again[1].cost
    named = table.append_column("price_id", pa.array(["a"] * 12))
    own = sw.plan_area(named, {"a": market}, limit_kw=20)
    assert sw.AreaPlan.from_json(own.to_json()).to_json() == own.to_json()
    # Prices that hold a price of emissions still do, so that it is not added again.
    priced = sw.plan_area(table, prices.plus_emissions(carbon), limit_kw=20)
    read = sw.AreaPlan.from_json(priced.to_json()).prices
    assert read is not None
    with pytest.raises(sw.InputError, match="these prices hold a price of emissions already"):
        read.plus_emissions(carbon)
    changed = json.loads(priced.to_json())
    del changed["prices"][0][3][1][1:]
    with pytest.raises(sw.InputError, match="carbon: the intensity is missing from"):
        sw.AreaPlan.from_json(json.dumps(changed))
    with pytest.raises(sw.InputError, match=r"area.json: this is a saved area; load_area"):
        sw.load_plan(tmp_path / "area.json")
    with pytest.raises(sw.InputError, match="this is a saved area"):
        sw.replay(plan.to_json())
    with pytest.raises(sw.InputError, match="format_version is 2; this engine reads version 1"):
        sw.AreaPlan.from_json(plan.to_json().replace('_version": 1', '_version": 2', 1))
    nested = "[" * 100_000
    for damage in (plan.to_json()[:-9], plan.to_json().replace('"currency"', '"money"'), nested):
        message = "this is no saved area" if damage == nested else "this saved area is damaged"
        with pytest.raises(sw.InputError, match=message):
            sw.AreaPlan.from_json(damage)


def test_an_area_has_what_its_plans_have() -> None:
    plan = area()
    assert plan.savings == plan.baseline_cost - plan.cost
    assert pa.table(plan.load(HOUR)).equals(pa.table(plan.plans.load(HOUR)))
    assert pa.table(plan.intervals_table()).equals(pa.table(plan.plans.intervals_table()))
    assert saved_plans.site().baseline_cost == saved_plans.site().baseline.cost


def storage_slots(prices: list[float], export: list[float] | None) -> Any:
    """Slots of a battery, with a gap of an hour between two curves."""
    night = fleets.NOON + 3 * HOUR

    def curve(values: list[float]) -> sw.Prices:
        slots = [(fleets.NOON + hour * HOUR, value) for hour, value in enumerate(values)]
        return sw.Prices.from_slots(
            [(start, start + HOUR, value) for start, value in slots if value > 0], currency="EUR"
        )

    return sw.plan_storage(
        curve(prices),
        export_prices=None if export is None else curve(export),
        now=fleets.NOON,
        until=night,
        battery=sw.Battery(capacity_kwh=10, soc_percent=50),
        power_max_kw=4,
        discharge_max_kw=4,
    )


def heat_slots(prices: list[float]) -> Any:
    slots = [(test_heat.SIX + hour * HOUR, value) for hour, value in enumerate(prices)]
    curve = sw.Prices.from_slots(
        [(start, start + HOUR, value) for start, value in slots if value > 0], currency="EUR"
    )
    return test_heat.plan(curve, until=test_heat.SIX + 3 * HOUR)


@pytest.mark.parametrize(
    "tables",
    [
        [storage_slots([0.1, 0.2, 0.3], [0.1, 0.2, 0.3]), storage_slots([0.1, 0, 0.3], None)],
        [heat_slots([0.1, 0.2, 0.3]), heat_slots([0.1, 0, 0.3])],
    ],
    ids=["storage", "heat"],
)
def test_nulls_of_a_table_do_not_change_its_schema(tables: list[Any]) -> None:
    complete, with_gaps = (pa.table(table) for table in tables)
    assert complete.schema == with_gaps.schema
    nullable = [field.name for field in complete.schema if field.nullable]
    assert nullable
    assert all("price" in name for name in nullable)
    nulls = {name: with_gaps[name].null_count for name in with_gaps.column_names}
    assert any(nulls.values())
    assert all(count == 0 for name, count in nulls.items() if name not in nullable)
    assert pa.concat_tables([complete, with_gaps]).num_rows


def test_tables_compare_by_their_rows() -> None:
    assert batch() == batch()
    assert hash(batch()) == hash(batch())
    assert batch() != sw.plan_batch(fleets.fleet(39), fleets.day_ahead())
    changed = sw.plan_batch(fleets.fleet(40), fleets.day_ahead().plus(0.01))
    assert batch() != changed
    assert monthly() == pickled(monthly())
    assert batch() != "a text"
    pounds = sw.Prices.from_slots(fleets.day_ahead().slots, currency="GBP")
    assert batch() != sw.plan_batch(fleets.fleet(40), pounds)


def test_areas_compare_by_what_they_plan() -> None:
    first = area()
    assert first == area()
    assert hash(first) == hash(area())
    assert first == pickled(first) == sw.AreaPlan.from_json(first.to_json())
    prices = fleets.day_ahead()
    assert first != sw.plan_area(fleets.fleet(12), prices, limit_kw=21)
    assert first != sw.plan_area(fleets.fleet(12), prices.plus(0.01), limit_kw=20)
    nodes = [sw.Node(name="area", limit_kw=20, blocks=[(30, 0.1)])]
    blocks = sw.plan_area(fleets.fleet(12), prices, nodes=nodes)
    assert blocks == sw.AreaPlan.from_json(blocks.to_json())
    assert first != "a text"
