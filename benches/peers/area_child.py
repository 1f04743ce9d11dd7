"""One area in a process of its own: ``python benches/peers/area_child.py JSON``.

A process for each case, so that its peak memory is its own. The clock runs from the file of the
vehicles to the file of their plans. Prints a line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import slackwater as sw
import slackwater.sim

from peers import lp
from peers.measure import peak_bytes
from peers.problem import Floats

SLOTS: Final = 96
SLOT: Final = timedelta(minutes=20)
"""A day of arrivals and the morning after it, in as many slots as the other benchmarks have."""
START: Final = datetime(2026, 1, 5, 4, tzinfo=UTC)
FEEDERS: Final = 200
BINDING_FROM: Final = 0.999

Answer = dict[str, Any]


def prices() -> sw.Prices:
    """Dear mornings and evenings, cheap nights, noise."""
    return sw.Prices.from_values(START, curve().tolist(), slot=SLOT, currency="EUR")


def curve() -> Floats:
    """The prices as numbers."""
    hour = (np.arange(SLOTS) / 3 + 5) % 24
    wave = 0.04 * np.cos((hour - 19) / 12 * np.pi) + 0.02 * np.cos((hour - 8) / 6 * np.pi)
    noise = np.random.default_rng(11).normal(0, 0.01, SLOTS)
    found: Floats = np.round(0.2 + wave + noise, 5)
    return found


def fleet(vehicles: int) -> pa.Table:
    """The fleet of :func:`slackwater.sim.fleet`, every vehicle with its feeder."""
    stays = sw.sim.fleet(vehicles, seed=7).stays
    return pa.table(
        {
            "id": [stay.id for stay in stays],
            "arrival": pa.array([stay.arrival for stay in stays], pa.timestamp("us", "UTC")),
            "departure": pa.array([stay.departure for stay in stays], pa.timestamp("us", "UTC")),
            "energy_kwh": [stay.energy_kwh for stay in stays],
            "power_max_kw": [stay.power_max_kw for stay in stays],
            "node": [f"feeder {number % FEEDERS:03}" for number in range(len(stays))],
        }
    )


def make(path: Path, vehicles: int) -> Answer:
    """Write the fleet, and tell what it draws at most."""
    table = fleet(vehicles)
    pq.write_table(table, path)
    loads = unmanaged(table)
    return {
        "peak_kw": float(loads.sum(axis=0).max()),
        "feeder_peaks_kw": loads.max(axis=1).tolist(),
    }


def seconds_of(table: pa.Table, name: str) -> Floats:
    """A column of instants as seconds from the first slot."""
    micros = table.column(name).cast(pa.int64()).to_numpy()
    found: Floats = micros / 1e6 - START.timestamp()
    return found


def hours_in_slots(start: Floats, end: Floats) -> Floats:
    """How long each period overlaps each slot: a row for each period."""
    slots = np.arange(SLOTS) * SLOT.total_seconds()
    until = np.minimum(end[:, None], slots + SLOT.total_seconds())
    found: Floats = np.maximum(until - np.maximum(start[:, None], slots), 0.0) / 3600
    return found


def unmanaged(table: pa.Table) -> Floats:
    """Mean power in each slot of a fleet that charges at once, a row for each feeder."""
    arrival, power = seconds_of(table, "arrival"), table.column("power_max_kw").to_numpy()
    end = arrival + table.column("energy_kwh").to_numpy() / power * 3600
    loads = np.zeros((FEEDERS, SLOTS))
    for feeder in range(FEEDERS):
        own = slice(feeder, None, FEEDERS)
        hours = hours_in_slots(arrival[own], end[own])
        loads[feeder] = power[own] @ hours / (SLOT.total_seconds() / 3600)
    return loads


def read(case: Answer) -> pa.Table:
    """The fleet; without feeders where all are in one area."""
    table = pq.read_table(case["vehicles"])
    return table if case["feeders"] else table.drop_columns("node")


def nodes_of(case: Answer) -> list[sw.Node]:
    """The area, and its feeders if it has some."""
    top = sw.Node(name="area", limit_kw=case["limit_kw"])
    feeders = [
        sw.Node(name=f"feeder {number:03}", parent="area", limit_kw=limit)
        for number, limit in enumerate(case["feeders"])
    ]
    return [top, *feeders]


def plan(case: Answer) -> Answer:
    """Plan an area from file to file, in a process that has planned something before."""
    # What a first call loads is asked for once in the life of a process: a second and a half.
    sw.plan_area(read(case).slice(0, 1), prices(), nodes=nodes_of(case))
    began = time.perf_counter()
    used = time.process_time()
    writer: list[pq.ParquetWriter] = []

    def write(plans: sw.PlanTable) -> None:
        piece = pa.table(plans)
        if not writer:
            writer.append(pq.ParquetWriter(case["out"], piece.schema))
        writer[0].write_table(piece)

    found = sw.plan_area(read(case), prices(), nodes=nodes_of(case), sink=write)
    for open_file in writer:
        open_file.close()
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    return {
        "seconds": [seconds],
        "cpu_seconds": [cpu],
        "peak_bytes": peak_bytes(),
        "gap": found.relative_gap,
        "rounds": found.rounds,
        "status": found.status,
        "cost": found.cost,
        "bound": found.bound,
        "shortfall_kwh": found.shortfall_kwh,
        "binding": binding(found, nodes_of(case)),
    }


def binding(found: sw.AreaPlan, nodes: list[sw.Node]) -> list[int]:
    """Slots of each node whose load is at its limit."""
    counts = []
    for load, node in zip(found.nodes, nodes, strict=True):
        limit = node.limit_kw
        at = [kw for kw in load.load_kw if isinstance(limit, float) and kw >= BINDING_FROM * limit]
        counts.append(len(at))
    return counts


def highs(case: Answer) -> Answer:
    """The same area as one linear programme, by the interior points of HiGHS."""
    began = time.perf_counter()
    used = time.process_time()
    table = pq.read_table(case["vehicles"])
    hours = hours_in_slots(seconds_of(table, "arrival"), seconds_of(table, "departure"))
    limits = hours * table.column("power_max_kw").to_numpy()[:, None]
    needs = table.column("energy_kwh").to_numpy()
    cost = lp.plan_depot(curve(), limits, needs, limit_kwh(case), solver="ipm")
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    return {"seconds": [seconds], "cpu_seconds": [cpu], "peak_bytes": peak_bytes(), "cost": cost}


def limit_kwh(case: Answer) -> float:
    """What the area may take in a slot."""
    return float(case["limit_kw"]) * SLOT.total_seconds() / 3600


def main() -> None:
    """Do what the argument says."""
    case = json.loads(sys.argv[1])
    if case["do"] == "make":
        answer = make(Path(case["vehicles"]), case["count"])
    else:
        answer = highs(case) if case["do"] == "highs" else plan(case)
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
