"""Areas to be planned in parts, and what has to be the same whoever asks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

import slackwater as sw
from slackwater.parts import ROW, AreaInParts, Request, answer_parts, plan_parts

import fleets

MORNING = datetime(2026, 1, 6, 12, tzinfo=UTC)


class HereCrew:
    """Answers in this process, each partition of some parts in an order of its own."""

    def __init__(self, parts: int, *, per_partition: int = 1) -> None:
        self.parts = parts
        self.questions = 0
        self.changes = 0
        self._per_partition = per_partition
        self._tables: list[pa.Table] = []

    def deal(self, part: int, vehicles: Any) -> None:
        assert part == len(self._tables)
        self._tables.append(pa.table(vehicles))

    def partitions(self) -> Iterator[list[pa.RecordBatch]]:
        """Give rows of some parts, mixed up."""
        for first in range(0, len(self._tables), self._per_partition):
            rows = pa.concat_tables(self._tables[first : first + self._per_partition])
            order = list(range(rows.num_rows))
            random.Random(first).shuffle(order)
            yield rows.take(pa.array(order, pa.int64())).to_batches(max_chunksize=700)

    def answer(self, request: Request) -> list[pa.RecordBatch]:
        self.questions += 1
        self.changes += request.changes is not None
        found = [batch for part in self.partitions() for batch in answer_parts(part, request)]
        return found[::-1]

    def plans(self, request: Request) -> list[pa.RecordBatch]:
        return [batch for part in self.partitions() for batch in plan_parts(part, request)]


def in_order(plans: list[pa.RecordBatch] | pa.Table) -> pa.Table:
    """Put the plans of parts in the order of the vehicles."""
    table = plans if isinstance(plans, pa.Table) else pa.Table.from_batches(plans)
    return table.sort_by(ROW).drop_columns([ROW])


def numbers(plan: sw.AreaPlan) -> dict[str, Any]:
    """All that an area plan says, its rows and its time apart."""
    return {
        "cost": plan.cost,
        "bound": plan.bound,
        "gap": plan.relative_gap,
        "rounds": plan.rounds,
        "status": plan.status,
        "energy": plan.energy_kwh,
        "discharged": plan.discharged_kwh,
        "late": plan.late_reserves,
        "unmet": plan.shortfalls,
        "shortfall_kwh": plan.shortfall_kwh,
        "vehicles": plan.vehicles,
        "errors": plan.errors,
        "load": plan.load_kw,
        "unmanaged": (plan.baseline_load_kw, plan.baseline_cost),
        "price_only": (plan.price_only_load_kw, plan.price_only_cost),
        "nodes": plan.nodes,
        "shadow_prices": plan.shadow_price_per_kwh,
        "state": plan.warm_start,
    }


def check_same(local: sw.AreaPlan, planned: AreaInParts, plans: pa.Table) -> None:
    """Compare a plan in parts with that of one process, bit for bit."""
    assert numbers(planned.area) == numbers(local)
    assert bits(plans) == bits(pa.table(local))


def bits(plans: pa.Table) -> list[pa.Array]:
    """Give columns that compare by their bits: a NaN is equal to itself."""
    return [column.combine_chunks().to_pylist().__repr__() for column in plans.columns]


def town(vehicles: int, seed: int = 5) -> tuple[pa.Table, dict[str, sw.Prices], list[sw.Node]]:
    """Give vehicles of three streets on two tariffs, with all that an area honours."""
    noise = random.Random(seed)
    rows = fleets.fleet(vehicles, seed)
    energy = [
        value if row % 101 else None for row, value in enumerate(rows["energy_kwh"].to_pylist())
    ]
    arrival = rows["arrival"].to_pylist()
    departure = rows["departure"].to_pylist()
    targets = [
        [{"by": start + (end - start) / 2, "energy_kwh": 4.0}] if row % 5 == 0 else []
        for row, (start, end) in enumerate(zip(arrival, departure, strict=True))
    ]
    columns = {
        "energy_kwh": pa.array(energy, pa.float64()),
        "node": [noise.choice(["north", "south", "west"]) for _ in range(vehicles)],
        "price_id": [noise.choice(["flat", "night"]) for _ in range(vehicles)],
        "priority": [noise.choice([0.5, 1.0, 3.0]) for _ in range(vehicles)],
        "power_min_kw": [3.0 if row % 7 == 0 else 0.0 for row in range(vehicles)],
        "reserve_kwh": [2.0 if row % 11 == 0 else 0.0 for row in range(vehicles)],
        "targets": pa.array(
            targets,
            pa.list_(pa.struct([("by", pa.timestamp("us", "UTC")), ("energy_kwh", pa.float64())])),
        ),
    }
    for name, values in columns.items():
        column = values if isinstance(values, pa.Array) else pa.array(values)
        at = rows.schema.get_field_index(name)
        rows = rows.append_column(name, column) if at < 0 else rows.set_column(at, name, column)
    peak = 4.0 * vehicles
    nodes = [
        sw.Node(name="town", limit_kw=0.30 * peak, peak_price_per_kw=0.02),
        sw.Node(name="north", parent="town", limit_kw=0.14 * peak),
        sw.Node(name="south", parent="town", limit_kw=0.2 * peak, breach_price_per_kwh=0.05),
        sw.Node(name="west", parent="town", base_kw=0.01 * peak, limit_kw=0.15 * peak),
    ]
    return rows, {"flat": fleets.day_ahead(), "night": fleets.day_ahead(seed=9)}, nodes


def batteries(vehicles: int, seed: int = 3) -> pa.Table:
    """Give vehicles that also discharge, and some that want a reserve at once."""
    noise = random.Random(seed)
    arrival = [fleets.NOON + timedelta(minutes=noise.randrange(200)) for _ in range(vehicles)]
    return pa.table(
        {
            "id": list(range(vehicles)),
            "arrival": pa.array(arrival, pa.timestamp("us", "UTC")),
            "departure": pa.array([MORNING] * vehicles, pa.timestamp("us", "UTC")),
            "soc_percent": [noise.uniform(10, 60) for _ in range(vehicles)],
            "target_percent": [80.0] * vehicles,
            "capacity_kwh": [50.0] * vehicles,
            "power_max_kw": [11.0] * vehicles,
            "discharge_max_kw": [noise.choice([0.0, 10.0]) for _ in range(vehicles)],
            "reserve_percent": [noise.choice([0.0, 50.0]) for _ in range(vehicles)],
            "efficiency": [0.93] * vehicles,
        }
    )
