"""The problem as a linear programme: HiGHS by its own arrays, and scipy's ``linprog``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import highspy
import numpy as np
from scipy.optimize import linprog

from peers.problem import SLOTS, Floats

# The class has types, its constructor has none.
_NEW_HIGHS: Final[Callable[[], highspy.Highs]] = highspy.Highs
_COLUMNS: Final = np.arange(SLOTS, dtype=np.int32)
_ZEROS: Final[Floats] = np.zeros(SLOTS)
_ONES: Final[Floats] = np.ones(SLOTS)


class Solution(NamedTuple):
    """What a solver answers: the cost, and the energy of each slot."""

    cost: float
    energy_kwh: Floats


@dataclass(frozen=True)
class Setting:
    """A way to use a HiGHS object again and again.

    Attributes:
        label: For readers.
        forget: Whether the last basis is thrown away, so that each plan starts afresh.
        options: What differs from HiGHS' own defaults.
    """

    label: str
    forget: bool
    options: dict[str, str | int] = field(default_factory=dict)


_LEAN: Final[dict[str, str | int]] = {
    "presolve": "off",
    "solver": "simplex",
    "threads": 1,
    "parallel": "off",
}
SETTINGS: Final[dict[str, Setting]] = {
    "defaults": Setting("highspy, default options, from scratch", forget=True),
    "lean": Setting("highspy, simplex without presolve, from scratch", forget=True, options=_LEAN),
    "lean-hot": Setting("highspy, simplex without presolve, hot", forget=False, options=_LEAN),
}


class HighspyArrays:
    """One HiGHS object per price curve. Each plan changes bounds only, whole arrays at a time."""

    def __init__(self, prices: Floats, setting: Setting) -> None:
        """Passes the model once: one row, the energy, over all slots."""
        self._forget = setting.forget
        self._highs = _NEW_HIGHS()
        for name, value in {"output_flag": False, **setting.options}.items():
            self._highs.setOptionValue(name, value)
        self._highs.passModel(_model(prices))

    def plan(self, limits_kwh: Floats, energy_kwh: float) -> Solution:
        """The cheapest way to get ``energy_kwh`` with at most ``limits_kwh`` per slot."""
        highs = self._highs
        highs.changeColsBounds(SLOTS, _COLUMNS, _ZEROS, limits_kwh)
        highs.changeRowBounds(0, energy_kwh, energy_kwh)
        if self._forget:
            highs.clearSolver()
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            message = f"HiGHS found no optimum: {highs.getModelStatus()}"
            raise RuntimeError(message)
        energies = np.asarray(highs.getSolution().col_value, dtype=np.float64)
        return Solution(highs.getInfo().objective_function_value, energies)


def plan_by_linprog(prices: Floats, limits_kwh: Floats, energy_kwh: float) -> Solution:
    """The same by ``scipy.optimize.linprog``, which builds its model on each call."""
    result = linprog(
        prices,
        A_eq=_ONES[None, :],
        b_eq=np.array([energy_kwh]),
        bounds=np.column_stack([_ZEROS, limits_kwh]),
        method="highs",
    )
    if not result.success:
        message = f"linprog found no optimum: {result.message}"
        raise RuntimeError(message)
    return Solution(float(result.fun), np.asarray(result.x, dtype=np.float64))


def plan_depot(
    prices: Floats,
    limits_kwh: Floats,
    needs_kwh: Floats,
    limit_kwh: float,
    *,
    solver: str = "choose",
) -> float:
    """The least cost of vehicles behind one limit, a column for each vehicle and slot.

    ``solver="ipm"`` takes interior points without the crossover to a vertex: only the cost counts.
    """
    vehicles, slots = np.nonzero(limits_kwh)
    count, rows = len(vehicles), len(needs_kwh)
    columns = np.arange(count, dtype=np.int32)
    by_slot = np.argsort(slots, kind="stable").astype(np.int32)
    per_vehicle = np.bincount(vehicles, minlength=rows)
    per_slot = np.bincount(slots, minlength=SLOTS)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = count, rows + SLOTS
    model.col_cost_, model.col_lower_ = prices[slots], np.zeros(count)
    model.col_upper_ = limits_kwh[vehicles, slots]
    model.row_lower_ = np.concatenate([needs_kwh, np.full(SLOTS, -highspy.kHighsInf)])
    model.row_upper_ = np.concatenate([needs_kwh, np.full(SLOTS, limit_kwh)])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lengths = np.concatenate([[0], per_vehicle, per_slot])
    model.a_matrix_.start_ = np.cumsum(lengths).astype(np.int32)
    model.a_matrix_.index_ = np.concatenate([columns, by_slot])
    model.a_matrix_.value_ = np.ones(2 * count)
    highs = _NEW_HIGHS()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("solver", solver)
    if solver == "ipm":
        highs.setOptionValue("run_crossover", "off")
    highs.passModel(model)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        message = f"HiGHS found no optimum: {highs.getModelStatus()}"
        raise RuntimeError(message)
    return float(highs.getInfo().objective_function_value)


def _model(prices: Floats) -> highspy.HighsLp:
    model = highspy.HighsLp()
    model.num_col_ = SLOTS
    model.num_row_ = 1
    model.col_cost_ = prices
    model.col_lower_ = _ZEROS
    model.col_upper_ = _ONES
    model.row_lower_ = np.zeros(1)
    model.row_upper_ = np.zeros(1)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.array([0, SLOTS], dtype=np.int32)
    model.a_matrix_.index_ = _COLUMNS
    model.a_matrix_.value_ = _ONES
    return model
