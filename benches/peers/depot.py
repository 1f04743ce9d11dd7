"""Vehicles behind one limit, for the package and for HiGHS by its own arrays.

The peer knows the model that the package derives: a column per vehicle and slot, a row for each
need and one for each slot's limit. Only the call is timed, from the vehicles to their energies;
what the package adds (proof, reasons, shadow prices, baseline) is included in its time.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import numpy as np

import slackwater as sw

from peers import problem
from peers.problem import SLOT_H, SLOT_S, START, Fleet, Floats

SIZES: Final = (10, 100)
LIMIT_PER_VEHICLE_KW: Final = 4.0
"""Binds on an overnight fleet, and leaves room for every need."""


def fleet(vehicles: int, *, seed: int) -> Fleet:
    """A fleet whose stays begin and end with slots."""
    whole = problem.overnight(vehicles, seed=seed)
    arrival = np.floor(whole.arrival_s / SLOT_S) * SLOT_S
    departure = np.ceil(whole.departure_s / SLOT_S) * SLOT_S
    return Fleet(whole.prices, arrival, departure, whole.energy_kwh, whole.power_max_kw)


def vehicles_of(fleet: Fleet) -> list[sw.Vehicle]:
    """The fleet as the package takes it."""
    vehicles = []
    for row in range(len(fleet)):
        leaves = START + timedelta(seconds=float(fleet.departure_s[row]))
        vehicles.append(
            sw.Vehicle(
                f"vehicle {row}",
                power_max_kw=float(fleet.power_max_kw[row]),
                arrival=START + timedelta(seconds=float(fleet.arrival_s[row])),
                departure=leaves,
                targets=[sw.Target(leaves, float(fleet.energy_kwh[row]))],
            )
        )
    return vehicles


def plan(prices: sw.Prices, vehicles: list[sw.Vehicle]) -> float:
    """The cost of a plan, called as a user would write it."""
    limit = LIMIT_PER_VEHICLE_KW * len(vehicles)
    plan = sw.plan_site(prices, now=START, devices=vehicles, import_limit_kw=limit)
    if plan.shortfall_kwh > 0 or not plan.certificate.is_proved:
        message = f"the package: {plan!r}"
        raise RuntimeError(message)
    return plan.cost


def limits_of(fleet: Fleet) -> Floats:
    """What each vehicle can take in each slot."""
    return fleet.limits_kwh()


def limit_kwh(fleet: Fleet) -> float:
    """What all of them may take in a slot."""
    return LIMIT_PER_VEHICLE_KW * len(fleet) * SLOT_H
