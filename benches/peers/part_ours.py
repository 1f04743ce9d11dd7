"""Measures slackwater: ``RAYON_NUM_THREADS=1 python benches/peers/part_ours.py batch-ours``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

import slackwater as sw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers import depot, lp, measure, numpy_batch, ours, parts, storage, switching
from peers.agree import require_costs, require_energies
from peers.parts import Outcome, Settings, Timing
from peers.problem import Floats

THREADS_VARIABLE: Final = "RAYON_NUM_THREADS"
SINGLE_ROUNDS: Final = 20
"""A call takes microseconds: the median is to rest on thousands of them."""

SITE_ROUNDS: Final = 7


def single(settings: Settings) -> Outcome:
    """One call per plan over all 96 slots."""
    fleet = settings.singles()
    curve, stays = ours.prices(fleet), ours.stays(fleet)
    costs = np.array([ours.plan_one(curve, stay) for stay in stays])
    require_costs("slackwater", costs, numpy_batch.exact_costs(fleet))
    calls: list[Callable[[], object]] = [partial(ours.plan_one, curve, stay) for stay in stays]
    seconds = measure.each(calls, settings.repeats * SINGLE_ROUNDS)
    return Outcome([Timing("single/slackwater", "slackwater plan_charge", 1, seconds)])


def batch(settings: Settings) -> Outcome:
    """From Arrow to Arrow, and the memory that the first batch of the process takes."""
    fleet = settings.batch()
    curve, vehicles = ours.prices(fleet), ours.table(fleet)
    ours.release_unused()
    measure.forget_peak()
    before = measure.resident_bytes()
    plans = ours.plan_batch(vehicles, curve)
    facts = {
        "input_bytes": vehicles.nbytes,
        "output_bytes": plans.nbytes,
        "peak_growth_bytes": measure.peak_bytes() - before,
    }
    answer = ours.summary(plans)
    del plans
    require_costs("slackwater", answer.cost, numpy_batch.exact_costs(fleet))
    require_energies("slackwater", answer.energy_kwh, fleet)
    if answer.errors or answer.shortfall_kwh.any():
        message = f"slackwater: {answer.errors} errors, shortfall {answer.shortfall_kwh.sum()} kWh"
        raise RuntimeError(message)
    threads = int(os.environ[THREADS_VARIABLE])
    seconds = measure.repeat(partial(ours.plan_batch, vehicles, curve), settings.repeats)
    label = f"slackwater plan_batch, Arrow to Arrow, {threads} thread{'s' * (threads > 1)}"
    timing = Timing(f"batch/slackwater-{threads}", label, len(fleet), seconds, cores=threads)
    return Outcome([timing], facts)


def site(settings: Settings) -> Outcome:
    """Vehicles behind one limit, one call per site."""
    timings = []
    for count in depot.SIZES:
        fleet = depot.fleet(count, seed=settings.seed)
        call = partial(depot.plan, ours.prices(fleet), depot.vehicles_of(fleet))
        cost = lp.plan_depot(
            fleet.prices, depot.limits_of(fleet), fleet.energy_kwh, depot.limit_kwh(fleet)
        )
        require_costs("slackwater", np.array([call()]), np.array([cost]))
        seconds = measure.repeat(call, settings.repeats * SITE_ROUNDS)
        timings.append(Timing(f"site-{count}/slackwater", "slackwater plan_site", 1, seconds))
    return Outcome(timings)


def storage_plans(settings: Settings) -> Outcome:
    """Batteries that also sell: one call per plan, and a batch from Arrow to Arrow."""
    given = storage.batteries(settings.storage_batteries, seed=settings.seed)
    curves = (storage.prices(given.import_prices), storage.prices(given.export_prices))
    few = range(settings.single_vehicles)
    calls: list[Callable[[], object]] = [partial(storage.plan_one, given, curves, i) for i in few]
    rows = storage.table(given)
    whole = partial(_storage_costs, rows, curves)
    alone = np.array([storage.plan_one(given, curves, index) for index in few])
    require_costs("slackwater", whole()[: len(few)], alone)
    threads = int(os.environ[THREADS_VARIABLE])
    label = f"slackwater plan_storage_batch, {threads} thread{'s' * (threads > 1)}"
    batch = measure.repeat(whole, settings.repeats)
    timings = [
        Timing(f"storage/slackwater-batch-{threads}", label, len(given), batch, cores=threads)
    ]
    if threads == 1:
        seconds = measure.each(calls, settings.repeats)
        timings.append(Timing("storage/slackwater", "slackwater plan_storage", 1, seconds))
    return Outcome(timings)


def _storage_costs(rows: pa.Table, curves: tuple[sw.Prices, sw.Prices]) -> Floats:
    plans = pa.table(sw.plan_storage_batch(rows, *curves))
    return np.asarray(plans.column("cost").to_numpy(), dtype=np.float64)


def switching_plans(settings: Settings) -> Outcome:
    """Devices that switch, one call per plan over all 96 slots."""
    given = switching.devices(settings.switching_devices, seed=settings.seed)
    curve = storage.prices(given.prices)
    calls = [partial(switching.plan_one, curve, energy) for energy in given.energy_kwh.tolist()]
    solver = switching.HighspySwitching(given)
    expected = np.array([solver.plan(index) for index in range(len(given))])
    require_costs("slackwater", np.array([call() for call in calls]), expected)
    seconds = measure.each(list(calls), settings.repeats * SINGLE_ROUNDS)
    return Outcome([Timing("switching/slackwater", "slackwater plan_switching", 1, seconds)])


PARTS: Final = {
    "single-ours": single,
    "batch-ours": batch,
    "site-ours": site,
    "storage-ours": storage_plans,
    "switching-ours": switching_plans,
}

if __name__ == "__main__":
    parts.serve(PARTS)
