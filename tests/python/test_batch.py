"""Batches: the same plans as alone, through every Arrow library, errors as values."""

from __future__ import annotations

import sys
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import slackwater as sw

from fleets import NOON, day_ahead, fleet

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 300


def through_duckdb(rows: pa.Table) -> pa.Table:  # noqa: ARG001  DuckDB finds it by name
    """Read a table with a query and hand on what DuckDB answers."""
    return duckdb.connect().sql("select * from rows").to_arrow_table()


def naive(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Take the zone off a column of timestamps."""
    return column.cast(pa.timestamp("us"))


def planned(vehicles: Any, prices: sw.Prices | dict[str, sw.Prices]) -> list[dict[str, Any]]:
    """Plan a fleet and list its rows."""
    rows: list[dict[str, Any]] = pa.table(sw.plan_batch(vehicles, prices)).to_pylist()
    return rows


def test_every_row_is_the_plan_it_would_get_alone() -> None:
    """Bit for bit, intervals included."""
    prices, vehicles = day_ahead(), fleet(ROWS)
    for row, got in zip(vehicles.to_pylist(), planned(vehicles, prices), strict=True):
        alone = sw.plan_charge(
            prices,
            now=row["arrival"],
            power_max_kw=row["power_max_kw"],
            targets=[(row["departure"], row["energy_kwh"])],
            until=row["departure"],
        )
        assert got["id"] == row["id"]
        assert (got["cost"], got["energy_kwh"]) == (alone.cost, alone.energy_kwh)
        assert (got["shortfall_kwh"], got["savings"]) == (alone.shortfall_kwh, alone.savings)
        assert got["marginal_price_per_kwh"] == alone.marginal_price_per_kwh
        assert got["status"] == ("shortfall" if alone.shortfall_kwh > 0 else "optimal")
        assert [(i["start"], i["end"], i["power_kw"]) for i in got["intervals"]] == [
            (i.start, i.end, i.power_kw) for i in alone.intervals
        ]
        assert abs(got["gap"]) <= 1e-9
        assert got["unpriced_hours"] == alone.unpriced_hours


def test_a_row_can_be_planned_alone() -> None:
    """Cost and intervals are those of the batch, and the plan explains itself."""
    prices, vehicles = day_ahead(), fleet(30)
    for got in planned(vehicles, prices):
        plan = sw.plan_row(vehicles.to_reader(max_chunksize=7), prices, vehicle=got["id"])
        assert (plan.cost, plan.savings) == (got["cost"], got["savings"])
        assert [each.to_dict() for each in plan.intervals] == got["intervals"]
        assert len(plan.explain()) > 0


def test_a_row_that_is_not_there_or_is_wrong_is_refused() -> None:
    prices, vehicles = day_ahead(), fleet(3)
    twice = pa.concat_tables([vehicles, vehicles])
    name = vehicles["id"][1].as_py()
    with pytest.raises(sw.InputError, match='vehicle is "zeppelin"; no row has this id'):
        sw.plan_row(vehicles, prices, vehicle="zeppelin")
    with pytest.raises(sw.InputError, match=f'vehicle is "{name}"; 2 rows have this id'):
        sw.plan_row(twice, prices, vehicle=name)
    negative = vehicles.set_column(
        vehicles.column_names.index("power_max_kw"), "power_max_kw", pa.array([7.0, -3.0, 7.0])
    )
    with pytest.raises(sw.InputError, match=f'vehicle "{name}": power_max_kw is -3 kW'):
        sw.plan_row(negative, prices, vehicle=name)


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(lambda table: table, id="pyarrow"),
        pytest.param(lambda table: table.to_batches()[0], id="record-batch"),
        pytest.param(lambda table: table.to_reader(max_chunksize=7), id="stream"),
        pytest.param(pl.from_arrow, id="polars"),
        pytest.param(lambda table: table.to_pandas(), id="pandas"),
        pytest.param(through_duckdb, id="duckdb"),
    ],
)
def test_every_arrow_library_hands_vehicles_in(load: Callable[[pa.Table], Any]) -> None:
    """Tables of all of them give the same plans as pyarrow's."""
    prices, vehicles = day_ahead(), fleet(50)
    assert planned(load(vehicles), prices) == planned(vehicles, prices)


def test_every_arrow_library_reads_plans() -> None:
    """The costs add up to the same in each."""
    plans = sw.plan_batch(fleet(ROWS), day_ahead())
    table = pa.table(plans)
    expected = sum(table["cost"].to_pylist())
    frame = pl.DataFrame(plans)
    assert frame["cost"].sum() == pytest.approx(expected)
    assert frame["status"].cast(pl.String).unique().sort().to_list() == ["optimal", "shortfall"]
    assert table.to_pandas()["cost"].sum() == pytest.approx(expected)
    query = duckdb.connect().execute("select sum(cost), count(distinct id) from plans")
    assert query.fetchall() == [(pytest.approx(expected), ROWS)]
    assert pl.DataFrame(plans).to_pandas()["id"].iloc[0] == "vehicle-0"
    assert table.schema.metadata == {b"currency": b"EUR"}
    assert len(plans) == plans.num_rows == ROWS
    assert plans.nbytes > 0
    assert "cost" in repr(plans)


def test_own_curves_by_name() -> None:
    """Each vehicle pays by the curve that it names; a name that is not there is an error."""
    curves = {"north": day_ahead(seed=5), "south": day_ahead(seed=6)}
    names = ["south", "north", "east", None]
    vehicles = fleet(4).append_column("price_id", pa.array(names))
    rows = planned(vehicles, curves)
    alone = [planned(vehicles.slice(row, 1), curves[names[row] or ""]) for row in range(2)]
    assert rows[:2] == [alone[0][0], alone[1][0]]
    assert [row["error"] for row in rows[2:]] == ["price_id names no price curve"] * 2
    with pytest.raises(sw.InputError, match="price_id"):
        sw.plan_batch(fleet(4), curves)
    foreign = {"a": day_ahead(), "b": sw.Prices.from_values(NOON, [1.0], currency="SEK")}
    with pytest.raises(sw.InputError, match="EUR and in SEK"):
        sw.plan_batch(vehicles, foreign)


def test_a_bad_row_fills_its_error_and_stops_nobody() -> None:
    """Nulls, NaN, negative numbers and reversed times are named."""
    vehicles = fleet(6).to_pylist()
    vehicles[1]["energy_kwh"] = None
    vehicles[2]["power_max_kw"] = -3.0
    vehicles[3]["departure"] = vehicles[3]["arrival"] - timedelta(hours=1)
    vehicles[4]["arrival"] = None
    vehicles[5]["energy_kwh"] = float("inf")
    rows = planned(pa.Table.from_pylist(vehicles, schema=fleet(1).schema), day_ahead())
    errors = [row["error"] for row in rows]
    assert errors[0] is None
    assert errors[1] == "energy_kwh is missing"
    assert errors[2] == "power_max_kw is -3 kW; it is 0 kW or more"
    assert "is before arrival at" in errors[3]
    assert errors[4] == "arrival is missing"
    assert errors[5] == "energy_kwh: inf kWh is not a finite number"
    assert [row["status"] for row in rows[1:]] == ["error"] * 5
    assert all(row["cost"] is None and row["intervals"] == [] for row in rows[1:])


def test_percent_reserve_efficiency_and_targets() -> None:
    """A row in percent is the plan of the vehicle in percent."""
    prices = sw.Prices.from_values(NOON, [0.5, 0.1, 0.2, 0.3, 0.4], currency="EUR")
    row = {
        "id": 7,
        "arrival": NOON,
        "departure": NOON + timedelta(hours=5),
        "soc_percent": 20.0,
        "target_percent": 80.0,
        "capacity_kwh": 45.0,
        "efficiency": 0.9,
        "reserve_percent": 28.0,
        "power_max_kw": 10.0,
        "targets": [{"by": NOON + timedelta(hours=2), "energy_kwh": 16.0}],
    }
    vehicles = pa.Table.from_pylist([row])
    [got] = planned(vehicles, prices)
    assert planned(pl.from_arrow(vehicles), prices) == [got], "lists with offsets of 64 bits"
    # 27 kWh stored are 30 at the plug; 4 at once at 0.5, 10 at 0.1, 2 more
    # before two o'clock at 0.5, then 10 at 0.2 and 4 at 0.3.
    assert got["energy_kwh"] == pytest.approx(30)
    assert got["cost"] == pytest.approx(4 * 0.5 + 10 * 0.1 + 2 * 0.5 + 10 * 0.2 + 4 * 0.3)
    assert got["id"] == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns(["arrival"]), 'no column "arrival"; found: id, departure'),
        (lambda t: t.drop_columns(["energy_kwh"]), 'no column "energy_kwh"'),
        (lambda t: t.set_column(3, "energy_kwh", pa.array(["x"] * 3)), "not numbers"),
        (lambda t: t.set_column(1, "arrival", naive(t["arrival"])), "without a time zone"),
        (lambda t: t.append_column("power_min_kw", pa.array([1.4] * 3)), "power_min_kw"),
        (lambda t: t.append_column("targets", pa.array([1] * 3)), "no lists of"),
        (lambda t: t.append_column("reserve_percent", pa.array([9] * 3)), "goes with"),
    ],
)  # fmt: skip
def test_a_wrong_schema_is_refused(change: Callable[[pa.Table], pa.Table], message: str) -> None:
    """The column is named and so is what is wrong with it."""
    with pytest.raises(sw.InputError, match=message.replace("(", r"\(")):
        sw.plan_batch(change(fleet(3)), day_ahead())


def test_time_without_a_price_is_told_apart() -> None:
    """Three of five hours have no price; the row says so beside its shortfall."""
    hour = timedelta(hours=1)
    slots = [(NOON, NOON + hour, 0.2), (NOON + 3 * hour, NOON + 4 * hour, 0.1)]
    prices = sw.Prices.from_slots(slots, currency="EUR")
    row = {"id": 1, "arrival": NOON, "departure": NOON + 5 * hour}
    vehicles = pa.Table.from_pylist([row | {"energy_kwh": 30.0, "power_max_kw": 10.0}])
    [got] = planned(vehicles, prices)
    assert (got["shortfall_kwh"], got["unpriced_hours"]) == (10.0, 3.0)
    [own] = planned(
        vehicles.append_column("price_id", pa.array(["a"])), {"a": prices, "b": day_ahead()}
    )
    assert (own["shortfall_kwh"], own["unpriced_hours"]) == (10.0, 3.0)


def test_an_empty_fleet_has_an_empty_answer() -> None:
    """Zero rows in, zero rows out, with the schema."""
    plans = pa.table(sw.plan_batch(fleet(3).slice(0, 0), day_ahead()))
    assert plans.num_rows == 0
    assert "intervals" in plans.column_names
    with pytest.raises(sw.InputError, match="energy_kwh"):
        sw.plan_batch(fleet(3).slice(0, 0).drop_columns(["energy_kwh"]), day_ahead())


def test_timestamps_of_any_unit_and_zone() -> None:
    """Seconds in Oslo are the same instants as microseconds in UTC."""
    vehicles = fleet(40)
    oslo = vehicles
    for column in ("arrival", "departure"):
        index = oslo.column_names.index(column)
        oslo = oslo.set_column(index, column, oslo[column].cast(pa.timestamp("ns", "Europe/Oslo")))
    assert planned(oslo, day_ahead()) == planned(vehicles, day_ahead())


def runs_to_its_end_alone(work: Callable[[], object]) -> bool:
    """Whether another thread gets the interpreter only once ``work`` is done."""
    started, done = threading.Event(), threading.Event()

    def run() -> None:
        started.set()
        work()
        done.set()

    interval = sys.getswitchinterval()
    # So long that a thread loses the interpreter only by giving it up.
    sys.setswitchinterval(60)
    try:
        worker = threading.Thread(target=run)
        worker.start()
        started.wait()
        was_done = done.is_set()
        worker.join()
    finally:
        sys.setswitchinterval(interval)
    return was_done


def test_python_runs_on_while_the_engine_plans() -> None:
    """The interpreter lock is free during a call, so two threads use two cores."""
    vehicles, prices, numbers = fleet(150_000), day_ahead(), list(range(1_000_000))
    assert runs_to_its_end_alone(lambda: sum(numbers)), "what keeps the lock is noticed"
    assert not runs_to_its_end_alone(lambda: sw.plan_batch(vehicles, prices))


def test_a_clock_change_inside_a_stay() -> None:
    """The night of 25 October 2026 in Oslo has an hour more to charge in."""
    midnight = datetime(2026, 10, 24, 22, tzinfo=UTC)
    prices = sw.Prices.from_values(midnight, [0.2] * 8, currency="NOK")
    seven = datetime(2026, 10, 25, 6, tzinfo=UTC)
    row = {"id": "a", "arrival": midnight, "departure": seven}
    vehicles = pa.Table.from_pylist([row | {"energy_kwh": 88.0, "power_max_kw": 11.0}])
    [got] = planned(vehicles, prices)
    assert (got["energy_kwh"], got["shortfall_kwh"]) == (88.0, 0.0)
