"""The peers of the benchmark solve the problem that slackwater solves, or they are no peers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import slackwater as sw

from peers import (
    agree,
    depot,
    goals,
    lp,
    measure,
    numpy_batch,
    ours,
    problem,
    report,
    results,
    storage,
    switching,
)
from peers.agree import DisagreementError, require_costs
from peers.machine import Machine
from peers.numpy_batch import Columns, OwnKernel, Precision, SharedKernel
from peers.parts import Outcome
from peers.problem import SLOT_S, SLOTS, Fleet, Floats
from peers.results import Figure, Run

PEERS = Path(__file__).resolve().parents[2] / "benches" / "peers"
PRECISIONS = [np.float32, np.float64]
BLOCK = 7
"""Odd, so that the last block of 36 vehicles is a short one."""


@pytest.fixture
def fleet() -> Fleet:
    return problem.overnight(36, seed=3)


def by_hand(fleet: Fleet, prices: Floats) -> Floats:
    """Cheapest slot first, one vehicle and one slot at a time; ``prices`` has a row per vehicle."""
    costs = []
    for limits, curve, energy in zip(fleet.limits_kwh(), prices, fleet.energy_kwh, strict=True):
        cost, missing = 0.0, float(energy)
        for slot in np.argsort(curve):
            taken = min(missing, float(limits[slot]))
            cost += taken * float(curve[slot])
            missing -= taken
        costs.append(cost)
    return np.array(costs)


def one_curve(fleet: Fleet) -> Floats:
    return np.tile(fleet.prices, (len(fleet), 1))


def test_the_same_seed_gives_the_same_fleet() -> None:
    first, again = problem.overnight(50, seed=9), problem.overnight(50, seed=9)
    assert np.array_equal(first.arrival_s, again.arrival_s)
    assert np.array_equal(first.energy_kwh, again.energy_kwh)
    assert not np.array_equal(first.energy_kwh, problem.overnight(50, seed=10).energy_kwh)


def test_the_fleet_is_worth_planning() -> None:
    fleet = problem.overnight(5_000, seed=1)
    assert numpy_batch.slots_used(fleet) >= 10
    assert np.all(fleet.energy_kwh > 0)
    assert np.all(fleet.energy_kwh <= fleet.limits_kwh().sum(axis=1))
    on_border = np.mean(fleet.arrival_s % SLOT_S == 0)
    assert 0.4 < on_border < 0.7, "some arrive inside a slot, some on its border"
    assert set(fleet.power_max_kw) == set(problem.POWERS_KW)


def test_the_reference_costs_are_those_worked_out_one_by_one(fleet: Fleet) -> None:
    costs = numpy_batch.exact_costs(fleet)
    agree.require_costs("reference", costs, by_hand(fleet, one_curve(fleet)))


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("name", numpy_batch.SHARED)
def test_numpy_on_a_shared_curve(fleet: Fleet, name: str, dtype: Precision) -> None:
    kernel: SharedKernel = numpy_batch.SHARED[name]
    plans = kernel(Columns.of(fleet, dtype), BLOCK)
    energies = plans.energy_kwh.T if name == numpy_batch.SLOT_ROWS else plans.energy_kwh
    agree.require_costs(name, plans.cost, by_hand(fleet, one_curve(fleet)))
    agree.require_plan(name, energies, fleet)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("name", numpy_batch.OWN)
def test_numpy_with_a_curve_per_vehicle(fleet: Fleet, name: str, dtype: Precision) -> None:
    kernel: OwnKernel = numpy_batch.OWN[name]
    curves = problem.own_curves(fleet, seed=3)
    plans = kernel(Columns.of(fleet, dtype), curves.astype(dtype), BLOCK)
    agree.require_costs(name, plans.cost, by_hand(fleet, curves))
    agree.require_plan(name, plans.energy_kwh, fleet)


@pytest.mark.parametrize("setting", lp.SETTINGS)
def test_highspy(fleet: Fleet, setting: str) -> None:
    highs = lp.HighspyArrays(fleet.prices, lp.SETTINGS[setting])
    check_solver(fleet, highs.plan)


def test_linprog(fleet: Fleet) -> None:
    check_solver(fleet, lambda limits, energy: lp.plan_by_linprog(fleet.prices, limits, energy))


def check_solver(fleet: Fleet, plan: Callable[[Floats, float], lp.Solution]) -> None:
    needs = zip(fleet.limits_kwh(), fleet.energy_kwh.tolist(), strict=True)
    answers = [plan(limits, energy) for limits, energy in needs]
    costs = np.array([answer.cost for answer in answers])
    agree.require_costs("solver", costs, numpy_batch.exact_costs(fleet))
    agree.require_plan("solver", np.array([answer.energy_kwh for answer in answers]), fleet)


def test_slackwater_one_by_one(fleet: Fleet) -> None:
    curve = ours.prices(fleet)
    costs = np.array([ours.plan_one(curve, stay) for stay in ours.stays(fleet)])
    agree.require_costs("slackwater", costs, numpy_batch.exact_costs(fleet))


def test_slackwater_in_a_batch(fleet: Fleet) -> None:
    answer = ours.summary(ours.plan_batch(ours.table(fleet), ours.prices(fleet)))
    agree.require_costs("slackwater", answer.cost, numpy_batch.exact_costs(fleet))
    agree.require_energies("slackwater", answer.energy_kwh, fleet)
    assert answer.errors == 0
    assert not answer.shortfall_kwh.any()


def test_a_wrong_answer_is_noticed(fleet: Fleet) -> None:
    costs = numpy_batch.exact_costs(fleet)
    energies = numpy_batch.vehicles_first(Columns.of(fleet, np.float64), BLOCK).energy_kwh
    for wrong in (costs * (1 + 2e-6), np.full(len(fleet), np.nan)):
        with pytest.raises(DisagreementError, match="costs"):
            agree.require_costs("wrong", wrong, costs)
    with pytest.raises(DisagreementError, match="asked for"):
        agree.require_plan("too little", energies * 0.999, fleet)
    moved = energies.copy()
    first, last = np.flatnonzero(moved[0])[[0, -1]]
    moved[0, [first, last]] += [-moved[0, first], moved[0, first]]
    with pytest.raises(DisagreementError, match="outside its limits"):
        agree.require_plan("moved", moved, fleet)


def test_memory_growth_is_seen_anew_each_time() -> None:
    for _ in range(2):
        measure.forget_peak()
        before = measure.resident_bytes()
        block = np.ones(8_000_000)
        growth = measure.peak_bytes() - before
        assert 0.98 * block.nbytes < growth < 1.2 * block.nbytes
        del block


def test_a_part_prints_its_timings() -> None:
    command = [sys.executable, str(PEERS / "part_peers.py"), "batch-solvers"]
    sizes = ["--vehicles", "40", "--solver-vehicles", "20", "--repeats", "1"]
    done = subprocess.run([*command, *sizes], capture_output=True, text=True, check=True)
    outcome = Outcome.from_json(done.stdout)
    expected = {"batch/linprog", *(f"batch/highspy-{name}" for name in lp.SETTINGS)}
    assert {timing.id for timing in outcome.timings} == expected
    assert all(seconds > 0 for timing in outcome.timings for seconds in timing.seconds)


def figure(name: str, plan_s: float, cores: int = 1) -> Figure:
    return Figure(name, name, cores, plan_s, (plan_s, plan_s), 3, "", f"measure {name}")


def a_run() -> Run:
    """Slackwater takes 1 us per plan and core, 0.6 us on two cores; numpy's best takes 5 us."""
    figures = [
        figure("batch/slackwater-1", 1e-6),
        figure("batch/slackwater-2", 0.6e-6, cores=2),
        figure("batch/numpy-vehicle-rows", 9e-6),
        figure("batch/numpy-slot-rows", 5e-6),
        figure("batch/highspy-lean", 600e-6),
        figure("storage/highspy-defaults", 700e-6),
    ]
    facts = {
        "batch-ours-2/input_bytes": 100.0,
        "batch-ours-2/output_bytes": 50.0,
        "batch-ours-2/peak_growth_bytes": 250.0,
    }
    machine = Machine("a CPU", 2, 8.0, "a system", "3.11", "rustc", "abc")
    return Run(machine, "run", 10, 3, figures, facts, ["FlexMeasures: no network"])


def test_ratios_and_memory() -> None:
    run = a_run()
    assert run.ratio(figure("batch/slackwater-2", 0.6e-6, cores=2)) == pytest.approx(1.2)
    fastest = run.fastest("batch/numpy-")
    assert fastest is not None
    assert run.ratio(fastest) == pytest.approx(5)
    memory = run.memory()
    assert memory is not None
    assert memory.share_of_bound == pytest.approx(1.0), "100 + 250 of 3 * 100 + 50"
    assert "not measured: FlexMeasures: no network" in results.table(run)


def test_the_page_says_which_goals_are_reached(tmp_path: Path) -> None:
    for name in ("shared-compact", "one-core-compact", "one-core-dense"):
        new = tmp_path / "batch" / name / "1000000" / "new"
        new.mkdir(parents=True)
        about = {"full_id": f"batch/{name}/1000000", "throughput": {"Elements": 1_000_000}}
        interval = {"lower_bound": 0.9e9, "upper_bound": 1.1e9}
        # A million plans in a second: a microsecond each.
        point = 0.1e9 if name == "shared-compact" else 1e9
        median = {"point_estimate": point, "confidence_interval": interval}
        (new / "benchmark.json").write_text(json.dumps(about))
        (new / "estimates.json").write_text(json.dumps({"median": median}))

    new = tmp_path / "storage" / "day-96-on-a-grid" / "new"
    new.mkdir(parents=True)
    (new / "benchmark.json").write_text(json.dumps({"full_id": "storage/day-96-on-a-grid"}))
    interval = {"lower_bound": 4.9e3, "upper_bound": 5.1e3}
    median = {"point_estimate": 5e3, "confidence_interval": interval}
    (new / "estimates.json").write_text(json.dumps({"median": median}))

    evidence = goals.Evidence(a_run(), report.read_criterion(tmp_path))
    page = report.page(evidence, "2026-01-31")

    table = page.partition("## Goals")[2].partition("\n## ")[0]
    verdicts = [row.split(" | ")[3] for row in table.splitlines() if row.startswith("| ")][2:]
    compact, dense, own, arrow, peak, call, highspy, lean, numpy, slot_rows, *others = verdicts
    assert (compact, peak, lean, numpy) == ("yes",) * 4, "600 us and 9 us against one"
    assert (dense, own, call, highspy) == ("not measured",) * 4
    assert arrow == "**no**", "1.7 M/s of 3"
    assert slot_rows == "**no**", "5 us against one"
    assert sorted(set(others)) == ["not measured", "yes"], "700 us against five in storage"
    assert "10 M/s" in page
    assert "2026-01-31" in page
    assert "FlexMeasures: no network" in page


def test_a_site_costs_what_highs_says() -> None:
    fleet = depot.fleet(4, seed=1)
    limits, most = depot.limits_of(fleet), depot.limit_kwh(fleet)
    expected = lp.plan_depot(fleet.prices, limits, fleet.energy_kwh, most)
    assert depot.plan(ours.prices(fleet), depot.vehicles_of(fleet)) == pytest.approx(expected)


def test_a_plan_over_every_slot() -> None:
    fleet = problem.plugged_in_all_day(4, seed=1)
    assert np.all(fleet.limits_kwh() > 0)
    assert fleet.limits_kwh().shape == (4, SLOTS)


@pytest.mark.parametrize("setting", lp.SETTINGS)
def test_batteries_that_also_sell_cost_the_same(setting: str) -> None:
    """HiGHS, one plan of ours, and a batch of ours."""
    given = storage.batteries(20, seed=7)
    curves = (storage.prices(given.import_prices), storage.prices(given.export_prices))
    solver = storage.HighspyStorage(given, lp.SETTINGS[setting])
    expected = np.array([solver.plan(index) for index in range(len(given))])
    alone = np.array([storage.plan_one(given, curves, index) for index in range(len(given))])
    require_costs("slackwater", alone, expected)
    plans = pa.table(sw.plan_storage_batch(storage.table(given), *curves))
    require_costs("a batch", np.asarray(plans.column("cost").to_numpy()), expected)


def test_devices_that_switch_cost_the_same() -> None:
    """One mixed-integer programme of HiGHS and one plan of ours per device."""
    given = switching.devices(4, seed=7)
    curve = storage.prices(given.prices)
    solver = switching.HighspySwitching(given)
    expected = np.array([solver.plan(index) for index in range(len(given))])
    plans = np.array([switching.plan_one(curve, energy) for energy in given.energy_kwh.tolist()])
    require_costs("slackwater", plans, expected)
    with pytest.raises(DisagreementError, match="costs"):
        require_costs("a dearer plan", plans * (1 + 2e-6), expected)
