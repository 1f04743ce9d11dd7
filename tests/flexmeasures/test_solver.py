"""Random problems of FlexMeasures, solved by its solver and by slackwater."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from flask import Flask
from flexmeasures.data.models.planning import FlowCommitment, StockCommitment
from flexmeasures.data.models.planning.linear_optimization import device_scheduler

import slackwater as sw
from slackwater import _flexmeasures

SEEDS = 300
MIDNIGHT = datetime(2026, 1, 5, tzinfo=UTC)
COLUMNS = [
    "equals",
    "max",
    "min",
    "efficiency",
    "derivative equals",
    "derivative max",
    "derivative min",
    "derivative down efficiency",
    "derivative up efficiency",
    "stock delta",
]


@pytest.fixture(scope="module", autouse=True)
def settings() -> Iterator[None]:
    """The settings that the solver reads: none of its own database."""
    app = Flask("solver")
    app.config.update(
        FLEXMEASURES_LP_SOLVER="highspy",
        FLEXMEASURES_LP_SOLVER_OPTIONS={},
        LOGGING_LEVEL="INFO",
    )
    with app.app_context():
        yield


@dataclass
class Case:
    """A random problem, as ``StorageScheduler`` hands it to its solver."""

    seed: int
    random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        minutes = int(self.random.choice([15, 30, 60]))
        self.count = int(self.random.integers(4, 17))
        start = pd.Timestamp(MIDNIGHT)
        self.index = pd.date_range(start, periods=self.count, freq=f"{minutes}min", name="start")
        self.hours = minutes / 60
        self.storages = int(self.random.choice([1, 1, 1, 2]))
        self.has_load = self.chance(0.5)
        self.one_price = self.chance(0.6)
        self.frames = [self.storage() for _ in range(self.storages)]
        if self.has_load:
            load = self.frame()
            load["derivative equals"] = self.random.uniform(-1, 2, self.count).round(2)
            self.frames.append(load)
        self.commitments = self.energy()
        self.site = self.frame()
        for at in range(self.storages):
            self.commitments += self.wishes(at)
        self.limit_site()

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame(np.nan, index=self.index, columns=COLUMNS)

    def storage(self) -> pd.DataFrame:
        """A battery of 1 to 6 MWh, with bounds relative to the level at the start."""
        frame = self.frame()
        capacity = self.random.uniform(1, 6)
        at_start = self.random.uniform(0.2, 0.8) * capacity
        changes = self.one_price and self.chance(0.3)
        most = self.random.uniform(0.3, 2, self.count if changes else 1).round(2)
        frame["derivative max"] = np.broadcast_to(most, self.count)
        frame["derivative min"] = 0.0 if self.chance(0.25) else -frame["derivative max"]
        efficiency = float(self.random.choice([1.0, 0.95, 0.8]))
        frame["derivative up efficiency"] = frame["derivative down efficiency"] = efficiency
        frame["min"], frame["max"] = -at_start / self.hours, (capacity - at_start) / self.hours
        if self.one_price and self.chance(0.2):
            frame["stock delta"] = -self.random.uniform(0, 0.2, self.count).round(3)
        if self.chance(0.3):
            at = int(self.random.integers(1, self.count))
            level = self.random.uniform(0, 1) * capacity
            frame.iloc[at, COLUMNS.index("min")] = (level - at_start) / self.hours
        if self.chance(0.2):
            level = self.random.uniform(0, 1) * capacity
            frame.iloc[-1, COLUMNS.index("equals")] = (level - at_start) / self.hours
        return frame

    def energy(self) -> list[Any]:
        """Prices of energy, which may be negative."""
        up = self.random.uniform(-30, 150, self.count).round(1)
        down = up if self.one_price else up - self.random.uniform(0, 60)
        devices = pd.Series([tuple(range(len(self.frames)))] * self.count, index=self.index)
        return [
            FlowCommitment(
                name="electricity net energy",
                index=self.index,
                quantity=0,
                upwards_deviation_price=pd.Series(up * self.hours, index=self.index),
                downwards_deviation_price=pd.Series(down * self.hours, index=self.index),
                device=devices,
                device_group="electricity",
                commodity="electricity",
            )
        ]

    def wishes(self, at: int) -> list[Any]:
        """What one storage is to do, at a price."""
        made = []
        if self.chance(0.5):
            made.append(
                StockCommitment(
                    name=f"prefer a full storage {at} sooner",
                    index=self.index,
                    quantity=self.frames[at]["max"],
                    upwards_deviation_price=0,
                    downwards_deviation_price=-0.0001,
                    device=at,
                )
            )
        if self.chance(0.4):
            wanted = pd.Series(np.nan, index=self.index)
            low, high = self.frames[at]["min"].iloc[0], self.frames[at]["max"].iloc[0]
            for slot in self.random.integers(0, self.count, 2):
                wanted.iloc[slot] = self.random.uniform(low, high)
            made += [
                StockCommitment(
                    name=f"{extent} soc minima",
                    index=self.index,
                    quantity=wanted,
                    downwards_deviation_price=-1e7 * (self.hours if extent == "all" else 1),
                    device=at,
                    _type="any" if extent == "any" else "each",
                )
                for extent in ("any", "all")
            ]
        if self.chance(0.2):
            made += self.soft_levels(at)
        return made

    def soft_levels(self, at: int) -> list[Any]:
        """Levels that are to be met exactly, or not passed, at a price."""
        kind = str(self.random.choice(["targets", "maxima"]))
        wanted = pd.Series(np.nan, index=self.index)
        low, high = self.frames[at]["min"].iloc[0], self.frames[at]["max"].iloc[0]
        for slot in self.random.integers(0, self.count, 2):
            wanted.iloc[slot] = self.random.uniform(low, high)
        return [
            StockCommitment(
                name=f"{extent} soc {kind}",
                index=self.index,
                quantity=wanted,
                downwards_deviation_price=-price if kind == "targets" else 0,
                upwards_deviation_price=price,
                device=at,
                _type="any" if extent == "any" else "each",
            )
            for extent, price in [("any", 1e7), ("all", 1e7 * self.hours)]
        ]

    def limit_site(self) -> None:
        if self.chance(0.4):
            self.site["derivative max"] = self.random.uniform(2, 4)
        if self.chance(0.4):
            self.site["derivative min"] = -self.random.uniform(2, 4)

    def problem(self) -> dict[str, Any]:
        return {
            "device_constraints": [frame.copy() for frame in self.frames],
            "ems_constraints": [self.site.copy()],
            "ems_constraint_groups": [list(range(len(self.frames)))],
            "commitments": list(self.commitments),
            "initial_stock": [0.0] * self.storages,
        }

    def money(self, costs: dict[int, float]) -> float:
        """Costs without what a full storage is worth, which nobody pays."""
        names = [commitment.name for commitment in self.commitments]
        return sum(cost for at, cost in costs.items() if not names[at].startswith("prefer"))

    def outcome(self) -> str:
        """Compare the solvers: both costs are equal, or neither finds a schedule."""
        _, theirs, results, model = device_scheduler(**self.problem())
        is_feasible = results.solver.termination_condition == "optimal"
        try:
            _, ours, ended, own = _flexmeasures.solve(**self.problem())
        except sw.InputError as error:
            return f"refused: {str(error).split(' ', maxsplit=1)[0]}"
        assert (ended.solver.termination_condition == "optimal") == is_feasible, self.seed
        if not is_feasible:
            return "infeasible"
        assert ours >= theirs - 1e-6, (self.seed, ours, theirs)
        paid, paid_theirs = self.money(own.commitment_costs), self.money(model.commitment_costs)
        assert paid <= paid_theirs + 1e-6, (self.seed, paid, paid_theirs)
        # Where devices share a meter, the wish to be full sooner is beyond our plan.
        if len(self.frames) == 1:
            assert ours <= theirs + 1e-6, (self.seed, ours, theirs)
        return "equal"


def test_costs_are_those_of_the_solver_of_flexmeasures() -> None:
    outcomes = Counter(Case(seed).outcome() for seed in range(SEEDS))
    print(dict(outcomes))
    assert outcomes["equal"] > SEEDS / 2
    assert outcomes["infeasible"] > 0


def test_costs_of_a_schedule_are_counted_as_flexmeasures_does() -> None:
    counted = 0
    for seed in range(40):
        case = Case(seed)
        powers, _, results, model = device_scheduler(**case.problem())
        if results.solver.termination_condition != "optimal":
            continue
        problem = _flexmeasures.read(case.frames, [case.site], case.commitments)
        power = [np.array(series) for series in powers]
        levels = {
            at: machine.stock.levels(power[at], case.hours) / case.hours
            for at, machine in enumerate(problem.machines)
            if machine.stock is not None
        }
        for at, commitment in enumerate(case.commitments):
            cost = _flexmeasures.cost_of(commitment, power, levels)
            assert cost == pytest.approx(model.commitment_costs[at], abs=1e-4), (seed, at)
            counted += 1
    assert counted > 50


def test_a_field_that_cannot_be_honoured_is_named() -> None:
    problem = Case(0).problem()
    with pytest.raises(sw.InputError, match=r"^operation-modes are bands of power; leave it out"):
        _flexmeasures.solve(**problem, device_power_bands=[[(0.0, 1.0)]])
    with pytest.raises(sw.InputError, match=r"^coupling ties devices together"):
        _flexmeasures.solve(**problem, coupling_groups={"chp": [(0, 1.0)]})
    custom = SimpleNamespace(name="green", provenance="custom")
    with pytest.raises(sw.InputError, match=r"^commitments has 'green'"):
        _flexmeasures.solve(**problem | {"commitments": [custom]})
