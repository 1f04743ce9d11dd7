"""Slackwater behind the same questions: the one module here that knows its interface."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

import slackwater as sw

from peers.problem import SLOT_S, SLOT_STARTS_S, START, Fleet, Floats

_START_US: Final = int(START.timestamp()) * 1_000_000


class Stay(NamedTuple):
    """One vehicle, in the arguments of a single plan."""

    arrival: datetime
    departure: datetime
    energy_kwh: float
    power_max_kw: float


class Summary(NamedTuple):
    """The columns of a batch that are compared with the other planners."""

    cost: Floats
    energy_kwh: Floats
    shortfall_kwh: Floats
    errors: int


def prices(fleet: Fleet) -> sw.Prices:
    """The fleet's curve, built once and used for every plan."""
    slot = timedelta(seconds=SLOT_S)
    slots = zip(_instants(SLOT_STARTS_S), fleet.prices.tolist(), strict=True)
    return sw.Prices.from_slots([(at, at + slot, price) for at, price in slots], currency="EUR")


def stays(fleet: Fleet) -> list[Stay]:
    """The fleet's vehicles, one by one."""
    columns = zip(
        _instants(fleet.arrival_s),
        _instants(fleet.departure_s),
        fleet.energy_kwh.tolist(),
        fleet.power_max_kw.tolist(),
        strict=True,
    )
    return [Stay(*row) for row in columns]


def plan_one(curve: sw.Prices, stay: Stay) -> float:
    """The cost of a single plan, called as a user would write it."""
    plan = sw.plan_charge(
        curve,
        now=stay.arrival,
        power_max_kw=stay.power_max_kw,
        targets=[sw.Target(by=stay.departure, energy_kwh=stay.energy_kwh)],
    )
    return plan.cost


def table(fleet: Fleet) -> pa.Table:
    """The fleet as an Arrow table, one row per vehicle."""
    instant = pa.timestamp("us", tz="UTC")
    arrival_us = fleet.arrival_s.astype(np.int64) * 1_000_000 + _START_US
    departure_us = fleet.departure_s.astype(np.int64) * 1_000_000 + _START_US
    return pa.table(
        {
            "id": pa.array(np.arange(len(fleet))).cast(pa.string()),
            "arrival": pa.array(arrival_us).cast(instant),
            "departure": pa.array(departure_us).cast(instant),
            "energy_kwh": pa.array(fleet.energy_kwh),
            "power_max_kw": pa.array(fleet.power_max_kw),
        }
    )


def release_unused() -> None:
    """Gives back what Arrow keeps of freed memory, before memory is measured."""
    pa.default_memory_pool().release_unused()


def plan_batch(vehicles: pa.Table, curve: sw.Prices) -> pa.Table:
    """Arrow in, Arrow out."""
    return pa.table(sw.plan_batch(vehicles, curve))


def summary(plans: pa.Table) -> Summary:
    """Reads a batch's answer."""
    return Summary(
        cost=_numbers(plans, "cost"),
        energy_kwh=_numbers(plans, "energy_kwh"),
        shortfall_kwh=_numbers(plans, "shortfall_kwh"),
        errors=plans.num_rows - plans.column("error").null_count,
    )


def _instants(seconds: Floats) -> list[datetime]:
    return [START + timedelta(seconds=at) for at in seconds.tolist()]


def _numbers(plans: pa.Table, name: str) -> Floats:
    return np.asarray(plans.column(name).to_numpy(), dtype=np.float64)
