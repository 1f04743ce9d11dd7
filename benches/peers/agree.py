"""Answers are compared before anything is timed: a fast wrong planner is no peer."""

from __future__ import annotations

from typing import Final

import numpy as np

from peers.numpy_batch import Numbers
from peers.problem import Fleet, Floats

COST_TOLERANCE: Final = 1e-6
"""Relative to the cost, and to one hundredth of the currency where a cost is smaller."""

_COST_FLOOR: Final = 0.01
_ENERGY_TOLERANCE_KWH: Final = 1e-4


class DisagreementError(Exception):
    """Two planners answer the same problem differently."""


def require_costs(name: str, costs: Numbers, expected: Floats) -> None:
    """Compares one cost per vehicle.

    Raises:
        DisagreementError: A cost differs by more than ``COST_TOLERANCE``.
    """
    off = np.abs(costs - expected) / np.maximum(np.abs(expected), _COST_FLOOR)
    worst = int(np.argmax(off))
    # Written so that a NaN fails too.
    if not off[worst] <= COST_TOLERANCE:
        message = f"{name}: vehicle {worst} costs {costs[worst]}, expected {expected[worst]}"
        raise DisagreementError(message)


def require_energies(name: str, energies_kwh: Numbers, fleet: Fleet) -> None:
    """Compares one total energy per vehicle with what the vehicle asked for.

    Raises:
        DisagreementError: An energy is off by more than a tenth of a watt-hour.
    """
    off = np.abs(energies_kwh - fleet.energy_kwh)
    worst = int(np.argmax(off))
    if not off[worst] <= _ENERGY_TOLERANCE_KWH:
        message = (
            f"{name}: vehicle {worst} gets {energies_kwh[worst]} kWh, "
            f"asked for {fleet.energy_kwh[worst]} kWh"
        )
        raise DisagreementError(message)


def require_plan(name: str, energies_kwh: Numbers, fleet: Fleet) -> None:
    """Checks a plan slot by slot, one row per vehicle: the limit of each slot, and the total.

    Raises:
        DisagreementError: A slot gives more than it can, less than nothing, or the total is off.
    """
    excess = np.maximum(energies_kwh - fleet.limits_kwh(), -energies_kwh).max(axis=1)
    worst = int(np.argmax(excess))
    if not excess[worst] <= _ENERGY_TOLERANCE_KWH:
        message = f"{name}: a slot of vehicle {worst} is {excess[worst]} kWh outside its limits"
        raise DisagreementError(message)
    require_energies(name, energies_kwh.sum(axis=1, dtype=np.float64), fleet)
