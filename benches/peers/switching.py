"""A day of a device that switches, for the package and for HiGHS by its own arrays.

Slots ``t`` with energy ``e``, on ``u``, a start ``s`` and the top-off ``v``, the last slot that is
on, which ends early at the least power. Power lies between ``l`` and ``m`` per slot::

    min  sum_t p_t e_t + c s_t    with  l (u_t - v_t) <= e_t <= m u_t - (m - l) v_t,
         s_t >= u_t - u_{t-1},  u_t + v_1 + .. + v_{t-1} <= 1,  sum s <= S,  sum e = E
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import highspy
import numpy as np

import slackwater as sw

from peers.problem import DAY_S, SLOT_H, SLOTS, START, Floats, overnight

LABEL: Final = "highspy, mixed-integer, gap closed"
_NEW_HIGHS: Final[Callable[[], highspy.Highs]] = highspy.Highs
_POWER_MAX_KW: Final = 11.0
_POWER_MIN_KW: Final = 4.14
_START_COST: Final = 0.05
_SESSIONS_MAX: Final = 3
_LEAST_KWH: Final = _POWER_MIN_KW * SLOT_H
_MOST_KWH: Final = _POWER_MAX_KW * SLOT_H
_COLUMNS: Final = 4 * SLOTS
_NEED_ROW: Final = 4 * SLOTS + 1


@dataclass(frozen=True)
class Devices:
    """Devices on one price curve, all day long: 4.14 to 11 kW, 3 sessions, 5 cents a start."""

    prices: Floats
    energy_kwh: Floats

    def __len__(self) -> int:
        """Number of devices."""
        return len(self.energy_kwh)


def devices(count: int, *, seed: int) -> Devices:
    """Devices with needs that can be met; the same seed gives the same ones."""
    rng = np.random.default_rng([seed, 3])
    return Devices(overnight(1, seed=seed).prices, rng.uniform(10, 60, count).round(3))


def plan_one(prices: sw.Prices, energy_kwh: float) -> float:
    """The cost of a plan, called as a user would write it."""
    plan = sw.plan_switching(
        prices,
        now=START,
        power_max_kw=_POWER_MAX_KW,
        power_min_kw=_POWER_MIN_KW,
        targets=[(START + timedelta(seconds=DAY_S), energy_kwh)],
        start_cost=_START_COST,
        sessions_max=_SESSIONS_MAX,
    )
    if plan.shortfall_kwh > 0 or not plan.certificate.is_proved:
        message = f"the package: {plan!r}"
        raise RuntimeError(message)
    return plan.cost


class HighspySwitching:
    """One HiGHS object. Each plan changes the need only, and starts afresh."""

    def __init__(self, given: Devices) -> None:
        """Passes the model once: energy, on, start and top-off of each slot."""
        self._given = given
        self._highs = _NEW_HIGHS()
        options = {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-9}
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        self._highs.passModel(_model(given.prices))

    def plan(self, index: int) -> float:
        """The cost of the cheapest plan of one device."""
        highs, energy = self._highs, float(self._given.energy_kwh[index])
        highs.changeRowBounds(_NEED_ROW, energy, energy)
        highs.clearSolver()
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            message = f"HiGHS found no optimum: {highs.getModelStatus()}"
            raise RuntimeError(message)
        return float(highs.getInfo().objective_function_value)


def _model(prices: Floats) -> highspy.HighsLp:
    model, rows = highspy.HighsLp(), _rows()
    model.num_col_, model.num_row_ = _COLUMNS, len(rows)
    none, starts = np.zeros(SLOTS), np.full(SLOTS, _START_COST)
    model.col_cost_ = np.concatenate([prices, none, starts, none])
    model.col_lower_ = np.zeros(_COLUMNS)
    model.col_upper_ = np.concatenate([np.full(SLOTS, _MOST_KWH), np.ones(3 * SLOTS)])
    kinds = highspy.HighsVarType
    model.integrality_ = [kinds.kContinuous] * SLOTS + [kinds.kInteger] * (3 * SLOTS)
    model.row_lower_ = np.full(len(rows), -highspy.kHighsInf)
    model.row_upper_ = np.array([upper for _, _, upper in rows])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lengths = np.cumsum([0, *(len(columns) for columns, _, _ in rows)])
    model.a_matrix_.start_ = lengths.astype(np.int32)
    model.a_matrix_.index_ = np.array([c for columns, _, _ in rows for c in columns], np.int32)
    model.a_matrix_.value_ = np.array([w for _, weights, _ in rows for w in weights])
    return model


def _rows() -> list[tuple[list[int], list[float], float]]:
    """Columns, weights and upper limit of each row; that of the need is given with each plan."""
    energy, on, start, top_off = (range(i * SLOTS, (i + 1) * SLOTS) for i in range(4))
    rows: list[tuple[list[int], list[float], float]] = []
    for t in range(SLOTS):
        switch = [energy[t], on[t], top_off[t]]
        before = [] if t == 0 else [on[t - 1]]
        rows += [
            (switch, [1.0, -_MOST_KWH, _MOST_KWH - _LEAST_KWH], 0.0),
            (switch, [-1.0, _LEAST_KWH, -_LEAST_KWH], 0.0),
            ([on[t], start[t], *before], [1.0, -1.0, *(-1.0 for _ in before)], 0.0),
            ([on[t], *top_off[:t]], [1.0] * (1 + t), 1.0),
        ]
    rows.append((list(start), [1.0] * SLOTS, float(_SESSIONS_MAX)))
    rows.append((list(energy), [1.0] * SLOTS, 0.0))
    return rows
