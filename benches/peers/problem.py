"""The problem that every planner here solves, and a generator of it.

One vehicle, slots ``t`` with price ``p_t``, at most ``P`` kW while it is plugged in::

    min  sum_t p_t x_t    with  0 <= x_t <= P * (hours of slot t it is plugged in),  sum_t x_t = E

All vehicles share one price curve of a day in quarter hours. Vehicles come and go on slot borders
and inside slots, and each can get its energy before it leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

SLOTS: Final = 96
SLOT_S: Final = 900
DAY_S: Final = SLOTS * SLOT_S
SLOT_H: Final = SLOT_S / 3600
START: Final = datetime(2026, 1, 5, 12, tzinfo=UTC)
"""Noon: a day that ends at noon holds a whole night."""

SLOT_STARTS_S: Final[Floats] = np.arange(SLOTS, dtype=np.float64) * SLOT_S
POWERS_KW: Final = (3.7, 7.4, 11.0, 22.0)


@dataclass(frozen=True)
class Fleet:
    """Vehicles on one price curve, one entry per vehicle in each column.

    Attributes:
        prices: Price per kWh of each slot.
        arrival_s: Whole seconds from ``START`` to plugging in.
        departure_s: Whole seconds from ``START`` to leaving.
        energy_kwh: Energy wanted by departure. It always fits.
        power_max_kw: Highest charging power.
    """

    prices: Floats
    arrival_s: Floats
    departure_s: Floats
    energy_kwh: Floats
    power_max_kw: Floats

    def __len__(self) -> int:
        """Number of vehicles."""
        return len(self.energy_kwh)

    def pick(self, rows: slice | npt.NDArray[np.intp]) -> Fleet:
        """The same prices with these vehicles only."""
        return Fleet(
            self.prices,
            self.arrival_s[rows],
            self.departure_s[rows],
            self.energy_kwh[rows],
            self.power_max_kw[rows],
        )

    def sample(self, count: int) -> Fleet:
        """At most ``count`` vehicles, spread evenly over the fleet."""
        count = min(count, len(self))
        return self.pick(np.linspace(0, len(self) - 1, count).astype(np.intp))

    def limits_kwh(self) -> Floats:
        """What each slot can deliver: one row per vehicle, one column per slot."""
        until = np.minimum(self.departure_s[:, None], SLOT_STARTS_S + SLOT_S)
        since = np.maximum(self.arrival_s[:, None], SLOT_STARTS_S)
        hours = np.maximum(until - since, 0.0) / 3600
        limits: Floats = hours * self.power_max_kw[:, None]
        return limits


def overnight(vehicles: int, *, seed: int) -> Fleet:
    """A fleet that charges overnight, in stays of 6 to 14 hours, half of them off the slot borders.

    Args:
        vehicles: How many.
        seed: The same seed gives the same fleet.

    Returns:
        A fleet whose plans use well over ten slots on average.
    """
    rng = np.random.default_rng(seed)
    prices = _prices(rng)
    arrival_min = rng.integers(0, 10 * 60, vehicles)
    stay_min = rng.integers(6 * 60, 14 * 60, vehicles)
    on_border = rng.random(vehicles) < 0.5
    arrival_min -= np.where(on_border, arrival_min % 15, 0)
    departure_min = arrival_min + stay_min
    departure_min -= np.where(on_border, departure_min % 15, 0)
    arrival_s = arrival_min.astype(np.float64) * 60
    departure_s = np.minimum(departure_min.astype(np.float64) * 60, DAY_S)
    power_kw = rng.choice(POWERS_KW, vehicles)
    needed_h = (departure_s - arrival_s) / 3600 * rng.uniform(0.2, 0.6, vehicles)
    energy_kwh = np.floor(needed_h * power_kw * 1000) / 1000
    return Fleet(prices, arrival_s, departure_s, energy_kwh, power_kw)


def plugged_in_all_day(vehicles: int, *, seed: int) -> Fleet:
    """A fleet that may use every one of the 96 slots: the largest problem for a single plan."""
    fleet = overnight(vehicles, seed=seed)
    whole_day = np.full(vehicles, float(DAY_S))
    return Fleet(fleet.prices, np.zeros(vehicles), whole_day, fleet.energy_kwh, fleet.power_max_kw)


def own_curves(fleet: Fleet, *, seed: int) -> Floats:
    """A price curve per vehicle, one per row, in steps of 1e-5 per kWh."""
    rng = np.random.default_rng([seed, 1])
    curves: Floats = rng.normal(0.0, 0.03, (len(fleet), SLOTS))
    curves += fleet.prices
    return np.round(curves, 5)


def _prices(rng: np.random.Generator) -> Floats:
    """A day-ahead curve per kWh with two peaks; rounded, so that some slots tie."""
    hours = np.arange(SLOTS) * SLOT_H
    waves = 0.20 + 0.06 * np.sin(hours / 24 * 2 * np.pi) + 0.05 * np.sin(hours / 12 * 2 * np.pi)
    return np.round(waves + rng.normal(0.0, 0.01, SLOTS), 4)
