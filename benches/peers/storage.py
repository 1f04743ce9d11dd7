"""A battery that also sells, for every planner: the problem, and HiGHS by its own arrays.

Slots ``t`` with a price to buy at and one to sell at, losses both ways, and stored energy ``e``::

    min  sum_t p_t c_t - q_t d_t    with  e_t = e_{t-1} + n c_t - d_t / n,  0 <= e_t <= E,  e_T >= G
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import highspy
import numpy as np
import pyarrow as pa

import slackwater as sw

from peers.lp import Setting
from peers.problem import DAY_S, SLOT_H, SLOT_S, SLOT_STARTS_S, SLOTS, START, Floats, overnight

_NEW_HIGHS: Final[Callable[[], highspy.Highs]] = highspy.Highs
_FEE: Final = 0.02
_COLUMNS: Final = np.arange(3 * SLOTS, dtype=np.int32)
_ROWS: Final = np.arange(SLOTS, dtype=np.int32)


@dataclass(frozen=True)
class Batteries:
    """Batteries on one pair of price curves, all day long, one entry per battery in each column."""

    import_prices: Floats
    export_prices: Floats
    capacity_kwh: Floats
    soc_percent: Floats
    target_percent: Floats
    power_kw: Floats
    efficiency: float

    def __len__(self) -> int:
        """Number of batteries."""
        return len(self.capacity_kwh)


def batteries(count: int, *, seed: int) -> Batteries:
    """Batteries whose targets can be met; the same seed gives the same ones."""
    rng = np.random.default_rng([seed, 2])
    prices = overnight(1, seed=seed).prices
    return Batteries(
        import_prices=prices,
        export_prices=prices - _FEE,
        capacity_kwh=rng.uniform(40, 90, count).round(3),
        soc_percent=rng.uniform(10, 80, count).round(3),
        target_percent=rng.uniform(50, 100, count).round(3),
        power_kw=rng.choice([7.4, 11.0, 22.0], count),
        efficiency=0.95,
    )


class HighspyStorage:
    """One HiGHS object. Each plan changes bounds only, whole arrays at a time."""

    def __init__(self, given: Batteries, setting: Setting) -> None:
        """Passes the model once: bought, sold and stored energy of each slot, a balance each."""
        self._given, self._forget = given, setting.forget
        self._highs = _NEW_HIGHS()
        for name, value in {"output_flag": False, **setting.options}.items():
            self._highs.setOptionValue(name, value)
        self._highs.passModel(_model(given))

    def plan(self, index: int) -> float:
        """The cost of the cheapest plan of one battery."""
        given, highs = self._given, self._highs
        capacity = given.capacity_kwh[index]
        least = np.zeros(3 * SLOTS)
        least[-1] = capacity * given.target_percent[index] / 100
        most = np.full(3 * SLOTS, given.power_kw[index] * SLOT_H)
        most[2 * SLOTS :] = capacity
        start = np.zeros(SLOTS)
        start[0] = capacity * given.soc_percent[index] / 100
        highs.changeColsBounds(3 * SLOTS, _COLUMNS, least, most)
        highs.changeRowBounds(0, start[0], start[0])
        if self._forget:
            highs.clearSolver()
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            message = f"HiGHS found no optimum: {highs.getModelStatus()}"
            raise RuntimeError(message)
        return float(highs.getInfo().objective_function_value)


def _model(given: Batteries) -> highspy.HighsLp:
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = 3 * SLOTS, SLOTS
    model.col_cost_ = np.concatenate([given.import_prices, -given.export_prices, np.zeros(SLOTS)])
    model.col_lower_, model.col_upper_ = np.zeros(3 * SLOTS), np.ones(3 * SLOTS)
    model.row_lower_ = model.row_upper_ = np.zeros(SLOTS)
    # Each row: -n c_t + d_t / n + e_t - e_{t-1} = 0, or what is stored at the start.
    rows = [
        ([t, SLOTS + t, 2 * SLOTS + t], [-given.efficiency, 1 / given.efficiency, 1.0])
        for t in range(SLOTS)
    ]
    for t in range(1, SLOTS):
        rows[t][0].append(2 * SLOTS + t - 1)
        rows[t][1].append(-1.0)
    starts = np.cumsum([0, *(len(columns) for columns, _ in rows)])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = starts.astype(np.int32)
    model.a_matrix_.index_ = np.array([c for columns, _ in rows for c in columns], dtype=np.int32)
    model.a_matrix_.value_ = np.array([w for _, weights in rows for w in weights])
    return model


def prices(values: Floats) -> sw.Prices:
    """A curve of the day."""
    slot = timedelta(seconds=SLOT_S)
    starts = [START + timedelta(seconds=at) for at in SLOT_STARTS_S.tolist()]
    slots = zip(starts, values.tolist(), strict=True)
    return sw.Prices.from_slots([(at, at + slot, price) for at, price in slots], currency="EUR")


def plan_one(given: Batteries, curves: tuple[sw.Prices, sw.Prices], index: int) -> float:
    """The cost of a single plan, called as a user would write it."""
    plan = sw.plan_storage(
        curves[0],
        export_prices=curves[1],
        now=START,
        battery=sw.Battery(
            float(given.capacity_kwh[index]),
            float(given.soc_percent[index]),
            efficiency=given.efficiency,
        ),
        discharge_efficiency=given.efficiency,
        power_max_kw=float(given.power_kw[index]),
        discharge_max_kw=float(given.power_kw[index]),
        targets=[sw.SocTarget(None, float(given.target_percent[index]))],
    )
    return plan.cost


def table(given: Batteries) -> pa.Table:
    """The batteries as an Arrow table, one row each."""
    instant, count = pa.timestamp("us", tz="UTC"), len(given)
    end = START + timedelta(seconds=DAY_S)
    efficiency = np.full(count, given.efficiency)
    return pa.table(
        {
            "id": pa.array(np.arange(count)),
            "arrival": pa.array([START] * count, instant),
            "departure": pa.array([end] * count, instant),
            "capacity_kwh": given.capacity_kwh,
            "soc_percent": given.soc_percent,
            "target_percent": given.target_percent,
            "power_max_kw": given.power_kw,
            "discharge_max_kw": given.power_kw,
            "efficiency": efficiency,
            "discharge_efficiency": efficiency,
        }
    )
