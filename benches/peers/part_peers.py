"""Measures the peers: ``OMP_NUM_THREADS=1 python benches/peers/part_peers.py batch-numpy``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers import (
    depot,
    flexmeasures_peer,
    lp,
    measure,
    numpy_batch,
    parts,
    problem,
    storage,
    switching,
)
from peers.agree import require_costs, require_energies, require_plan
from peers.numpy_batch import Columns, OwnKernel, Plans, Precision, SharedKernel
from peers.parts import Outcome, Settings, Timing
from peers.problem import Fleet, Floats

PRECISIONS: Final[tuple[Precision, ...]] = (np.float32, np.float64)
BLOCKS: Final = (2048, 8192, 16384, 32768, 65536)
TUNING_VEHICLES: Final = 100_000
OWN_BLOCKS: Final = (256, 1024, 4096)
OWN_TUNING_VEHICLES: Final = 20_000
OWN_VEHICLES_MAX: Final = 200_000
"""A curve per vehicle takes 768 bytes a row; the rate does not depend on the number of blocks."""
LINPROG_SHARE: Final = 10
"""linprog is asked about one vehicle in ten: it takes a millisecond each."""
FLEXMEASURES_VEHICLES: Final = 20
SITE_ROUNDS: Final = 7


class Choice(NamedTuple):
    """What numpy's layouts are tuned over."""

    dtype: Precision
    block: int

    def __str__(self) -> str:
        """As it stands in the results."""
        return f"{self.dtype.__name__}, blocks of {self.block}"


class Solver(NamedTuple):
    """A solver and one call per vehicle, its answers already compared."""

    name: str
    label: str
    calls: list[Callable[[], object]]


def single_solvers(settings: Settings) -> Outcome:
    """HiGHS and linprog, one plan at a time over all 96 slots."""
    timings = [
        Timing(f"single/{name}", label, 1, measure.each(calls, settings.repeats))
        for name, label, calls in _solvers(settings.singles())
    ]
    return Outcome(timings)


def single_flexmeasures(settings: Settings) -> Outcome:
    """FlexMeasures, one plan at a time over all 96 slots; only its scheduler is timed."""
    fleet = settings.singles().sample(FLEXMEASURES_VEHICLES)
    try:
        flexmeasures_peer.install()
        answer = flexmeasures_peer.schedule(fleet, repeats=settings.repeats)
    except flexmeasures_peer.MissingError as reason:
        return Outcome(missing=f"FlexMeasures: {reason}")
    require_costs("FlexMeasures", answer.costs, numpy_batch.exact_costs(fleet))
    require_energies("FlexMeasures", answer.energies_kwh, fleet)
    label = "FlexMeasures device_scheduler"
    return Outcome([Timing("single/flexmeasures", label, 1, answer.seconds, detail=answer.detail)])


def batch_solvers(settings: Settings) -> Outcome:
    """HiGHS and linprog over a sample of the batch."""
    timings = []
    for name, label, calls in _solvers(settings.batch().sample(settings.solver_vehicles)):
        few = calls[::LINPROG_SHARE] if name == "linprog" else calls
        seconds = measure.repeat(partial(_call_all, few), settings.repeats)
        timings.append(Timing(f"batch/{name}", label, len(few), seconds))
    return Outcome(timings)


def batch_numpy(settings: Settings) -> Outcome:
    """The vectorised greedy rule on a shared curve, each layout at its best precision and block."""
    fleet = settings.batch()
    expected = numpy_batch.exact_costs(fleet)
    timings = [
        _shared_timing(name, kernel, fleet, expected, settings.repeats)
        for name, kernel in numpy_batch.SHARED.items()
    ]
    return Outcome(timings, {"slots_used": numpy_batch.slots_used(fleet)})


def own_numpy(settings: Settings) -> Outcome:
    """The vectorised greedy rule with a price curve per vehicle."""
    fleet = settings.batch().sample(OWN_VEHICLES_MAX)
    curves = problem.own_curves(fleet, seed=settings.seed)
    by_argsort = numpy_batch.own_argsort(Columns.of(fleet, np.float64), curves, OWN_BLOCKS[0])
    expected = by_argsort.cost.astype(np.float64)
    timings = [
        _own_timing(name, kernel, (fleet, curves, expected), settings.repeats)
        for name, kernel in numpy_batch.OWN.items()
    ]
    return Outcome(timings)


def site_solvers(settings: Settings) -> Outcome:
    """HiGHS by its own arrays on vehicles behind one limit."""
    timings = []
    for count in depot.SIZES:
        fleet = depot.fleet(count, seed=settings.seed)
        arguments = (depot.limits_of(fleet), fleet.energy_kwh, depot.limit_kwh(fleet))
        call = partial(lp.plan_depot, fleet.prices, *arguments)
        seconds = measure.repeat(call, settings.repeats * SITE_ROUNDS)
        label = "highspy, default options, from scratch"
        timings.append(Timing(f"site-{count}/highspy-defaults", label, 1, seconds))
    return Outcome(timings)


def storage_solvers(settings: Settings) -> Outcome:
    """HiGHS on batteries that also sell, one plan at a time."""
    given = storage.batteries(settings.storage_batteries, seed=settings.seed)
    few = range(settings.single_vehicles)
    timings, expected = [], None
    for name, setting in lp.SETTINGS.items():
        solver = storage.HighspyStorage(given, setting)
        costs = np.array([solver.plan(index) for index in few])
        expected = costs if expected is None else expected
        require_costs(name, costs, expected)
        calls: list[Callable[[], object]] = [partial(solver.plan, index) for index in few]
        seconds = measure.each(calls, settings.repeats)
        timings.append(Timing(f"storage/highspy-{name}", setting.label, 1, seconds))
    return Outcome(timings)


def switching_solvers(settings: Settings) -> Outcome:
    """HiGHS on devices that switch, one mixed-integer programme at a time."""
    given = switching.devices(settings.switching_devices, seed=settings.seed)
    solver, curve = switching.HighspySwitching(given), storage.prices(given.prices)
    calls: list[Callable[[], object]] = [partial(solver.plan, i) for i in range(len(given))]
    costs = np.array([solver.plan(index) for index in range(len(given))])
    ours = [switching.plan_one(curve, energy) for energy in given.energy_kwh.tolist()]
    require_costs("highspy", costs, np.array(ours))
    seconds = measure.each(calls, settings.repeats)
    return Outcome([Timing("switching/highspy", switching.LABEL, 1, seconds)])


PARTS: Final = {
    "storage-solvers": storage_solvers,
    "switching-solvers": switching_solvers,
    "single-solvers": single_solvers,
    "single-flexmeasures": single_flexmeasures,
    "batch-solvers": batch_solvers,
    "batch-numpy": batch_numpy,
    "own-numpy": own_numpy,
    "site-solvers": site_solvers,
}


def _solvers(fleet: Fleet) -> list[Solver]:
    """Every solver with its calls, once all its answers have been compared."""
    limits, energies = fleet.limits_kwh(), fleet.energy_kwh.tolist()
    expected = numpy_batch.exact_costs(fleet)
    planners = {
        f"highspy-{name}": (setting.label, lp.HighspyArrays(fleet.prices, setting).plan)
        for name, setting in lp.SETTINGS.items()
    }
    planners["linprog"] = ("scipy linprog", partial(lp.plan_by_linprog, fleet.prices))
    solvers = []
    for name, (label, plan) in planners.items():
        calls = [
            partial(plan, limit, energy) for limit, energy in zip(limits, energies, strict=True)
        ]
        answers = [call() for call in calls]
        require_costs(name, np.array([answer.cost for answer in answers]), expected)
        require_plan(name, np.array([answer.energy_kwh for answer in answers]), fleet)
        solvers.append(Solver(name, label, list(calls)))
    return solvers


def _call_all(calls: list[Callable[[], object]]) -> None:
    for call in calls:
        call()


def _shared_timing(
    name: str, kernel: SharedKernel, fleet: Fleet, expected: Floats, repeats: int
) -> Timing:
    trial = fleet.sample(TUNING_VEHICLES)
    columns = {dtype: Columns.of(trial, dtype) for dtype in PRECISIONS}
    candidates = {
        Choice(dtype, block): partial(kernel, columns[dtype], block)
        for dtype in PRECISIONS
        for block in BLOCKS
    }
    trial_costs = numpy_batch.exact_costs(trial)
    for call in candidates.values():
        require_costs(name, call().cost, trial_costs)
    choice = _fastest(candidates)
    energies = candidates[choice]().energy_kwh
    require_plan(name, energies.T if name == numpy_batch.SLOT_ROWS else energies, trial)

    batch = partial(kernel, Columns.of(fleet, choice.dtype), choice.block)
    require_costs(name, batch().cost, expected)
    seconds = measure.repeat(batch, repeats)
    return Timing(f"batch/numpy-{name}", f"numpy, {name}", len(fleet), seconds, detail=str(choice))


def _own_timing(
    name: str, kernel: OwnKernel, problems: tuple[Fleet, Floats, Floats], repeats: int
) -> Timing:
    fleet, curves, expected = problems
    few = slice(0, OWN_TUNING_VEHICLES)
    trial = fleet.pick(few)
    candidates = {
        Choice(dtype, block): partial(
            kernel, Columns.of(trial, dtype), curves[few].astype(dtype), block
        )
        for dtype in PRECISIONS
        for block in OWN_BLOCKS
    }
    for call in candidates.values():
        require_costs(name, call().cost, expected[few])
    choice = _fastest(candidates)
    require_plan(name, candidates[choice]().energy_kwh, trial)

    columns = Columns.of(fleet, choice.dtype)
    batch = partial(kernel, columns, curves.astype(choice.dtype), choice.block)
    require_costs(name, batch().cost, expected)
    seconds = measure.repeat(batch, repeats)
    return Timing(f"own/numpy-{name}", f"numpy, {name}", len(fleet), seconds, detail=str(choice))


def _fastest(candidates: Mapping[Choice, Callable[[], Plans]]) -> Choice:
    """The candidate with the shortest of two runs."""
    seconds = {choice: min(measure.repeat(call, 2)) for choice, call in candidates.items()}
    return min(seconds, key=seconds.__getitem__)


if __name__ == "__main__":
    parts.serve(PARTS)
