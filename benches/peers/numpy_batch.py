"""Batches in numpy: the greedy rule, vectorised over a block of vehicles that stays in cache.

Four layouts compete, because the best one is not obvious. Times are whole seconds and therefore
exact in 32 bits, so that single precision keeps costs to better than 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from peers.problem import SLOT_S, SLOT_STARTS_S, SLOTS, Fleet, Floats

Precision: TypeAlias = type[np.float32] | type[np.float64]
Numbers: TypeAlias = npt.NDArray[np.floating[Any]]

PRICE_STEPS: Final = 100_000
"""Own curves come in steps of 1e-5 per kWh, so that price and slot fit into one 32-bit key."""


class Plans(NamedTuple):
    """What a batch answers.

    Attributes:
        energy_kwh: Energy per slot. One row per vehicle, except where a layout says otherwise.
        cost: Cost per vehicle.
    """

    energy_kwh: Numbers
    cost: Numbers


@dataclass(frozen=True)
class Columns:
    """A fleet in one precision, with the need as seconds at full power."""

    dtype: Precision
    prices: Numbers
    cheapest_first: npt.NDArray[np.intp]
    arrival_s: Numbers
    departure_s: Numbers
    need_s: Numbers
    kwh_per_s: Numbers

    @classmethod
    def of(cls, fleet: Fleet, dtype: Precision) -> Columns:
        """Converts once, ahead of the clock: the peer is not charged for it."""
        return cls(
            dtype=dtype,
            prices=fleet.prices.astype(dtype),
            cheapest_first=np.argsort(fleet.prices, kind="stable"),
            arrival_s=fleet.arrival_s.astype(dtype),
            departure_s=fleet.departure_s.astype(dtype),
            need_s=(fleet.energy_kwh / fleet.power_max_kw * 3600).astype(dtype),
            kwh_per_s=(fleet.power_max_kw / 3600).astype(dtype),
        )

    def __len__(self) -> int:
        """Number of vehicles."""
        return len(self.need_s)

    def column(self, values: Numbers, rows: slice) -> Numbers:
        """A block of ``values`` as a column, to be spread over slots."""
        return values[rows, None]

    def starts_s(self) -> Numbers:
        """Start of every slot."""
        starts: Numbers = SLOT_STARTS_S.astype(self.dtype)
        return starts


SharedKernel: TypeAlias = Callable[[Columns, int], Plans]
OwnKernel: TypeAlias = Callable[[Columns, Numbers, int], Plans]


def vehicles_first(columns: Columns, block: int) -> Plans:
    """Row per vehicle throughout: running sums along the price order, then back to slot order."""
    order = columns.cheapest_first
    starts = columns.starts_s()[order]
    prices = columns.prices[order]
    back = np.argsort(order)
    energy = np.empty((len(columns), SLOTS), columns.dtype)
    cost = np.empty(len(columns), columns.dtype)
    taken = np.empty((block, SLOTS), columns.dtype)
    scratch = np.empty((block, SLOTS), columns.dtype)
    for rows in _blocks(len(columns), block):
        count = rows.stop - rows.start
        taken_s = _take_in_order(columns, rows, starts, taken[:count], scratch[:count])
        taken_s *= columns.column(columns.kwh_per_s, rows)
        np.matmul(taken_s, prices, out=cost[rows])
        np.take(taken_s, back, axis=1, out=energy[rows])
    return Plans(energy, cost)


def slots_first(columns: Columns, block: int) -> Plans:
    """Row per slot throughout, and in the answer: the slots one by one from the cheapest.

    The energies come as one row per slot. No pass runs across a vehicle's slots, which makes
    this the fastest layout; who needs a vehicle's plan in one piece has to gather it.
    """
    energy = np.empty((SLOTS, len(columns)), columns.dtype)
    cost = np.empty(len(columns), columns.dtype)
    for rows in _blocks(len(columns), block):
        _fill_slots(columns, rows, energy[:, rows])
        np.matmul(columns.prices, energy[:, rows], out=cost[rows])
    return Plans(energy, cost)


def slots_first_turned(columns: Columns, block: int) -> Plans:
    """Like :func:`slots_first`, but each block is turned into one row per vehicle."""
    energy = np.empty((len(columns), SLOTS), columns.dtype)
    cost = np.empty(len(columns), columns.dtype)
    cached = np.empty((SLOTS, block), columns.dtype)
    for rows in _blocks(len(columns), block):
        block_energy = cached[:, : rows.stop - rows.start]
        _fill_slots(columns, rows, block_energy)
        np.matmul(columns.prices, block_energy, out=cost[rows])
        energy[rows] = block_energy.T
    return Plans(energy, cost)


def own_argsort(columns: Columns, curves: Numbers, block: int) -> Plans:
    """A curve per vehicle: sort every row, take in that order, scatter back."""
    energy = np.empty((len(columns), SLOTS), columns.dtype)
    cost = np.empty(len(columns), columns.dtype)
    for rows in _blocks(len(columns), block):
        order = np.argsort(curves[rows], axis=1)
        _take_and_scatter(columns, rows, order, energy[rows])
        np.einsum("ij,ij->i", energy[rows], curves[rows], out=cost[rows])
    return Plans(energy, cost)


def own_argpartition(columns: Columns, curves: Numbers, block: int) -> Plans:
    """A curve per vehicle: find as many cheap usable slots as the block needs, sort only those."""
    starts = columns.starts_s()
    ends = columns.starts_s() + columns.dtype(SLOT_S)
    energy = np.zeros((len(columns), SLOTS), columns.dtype)
    cost = np.empty(len(columns), columns.dtype)
    for rows in _blocks(len(columns), block):
        usable = np.minimum(columns.column(columns.departure_s, rows), ends)
        usable -= np.maximum(columns.column(columns.arrival_s, rows), starts)
        priced = np.where(usable > 0, curves[rows], columns.dtype(np.inf))
        # Two slots may be usable in part only, and the last one bought may be too.
        enough = int(np.ceil(columns.need_s[rows].max() / SLOT_S)) + 2
        kept = min(enough, SLOTS)
        order = np.argpartition(priced, kept - 1, axis=1)[:, :kept]
        by_price = np.argsort(np.take_along_axis(priced, order, axis=1), axis=1)
        order = np.take_along_axis(order, by_price, axis=1)
        _take_and_scatter(columns, rows, order, energy[rows])
        np.einsum("ij,ij->i", energy[rows], curves[rows], out=cost[rows])
    return Plans(energy, cost)


def own_packed_sort(columns: Columns, curves: Numbers, block: int) -> Plans:
    """A curve per vehicle: price and slot in one integer, since numpy sorts values fastest."""
    slots = np.arange(SLOTS, dtype=np.uint32)
    energy = np.empty((len(columns), SLOTS), columns.dtype)
    cost = np.empty(len(columns), columns.dtype)
    for rows in _blocks(len(columns), block):
        steps = curves[rows] * columns.dtype(PRICE_STEPS)
        steps += columns.dtype(10 * PRICE_STEPS)  # Prices down to -10 per kWh stay positive keys.
        np.rint(steps, out=steps)
        keys = steps.astype(np.uint32)
        keys <<= 7
        keys |= slots
        keys.sort(axis=1)
        keys &= 127
        _take_and_scatter(columns, rows, keys.astype(np.intp), energy[rows])
        np.einsum("ij,ij->i", energy[rows], curves[rows], out=cost[rows])
    return Plans(energy, cost)


SLOT_ROWS: Final = "slot-rows"
SHARED: Final[dict[str, SharedKernel]] = {
    "vehicle-rows": vehicles_first,
    "vehicle-rows-turned": slots_first_turned,
    SLOT_ROWS: slots_first,
}
OWN: Final[dict[str, OwnKernel]] = {
    "argsort": own_argsort,
    "argpartition": own_argpartition,
    "packed-sort": own_packed_sort,
}


def exact_costs(fleet: Fleet) -> Floats:
    """Costs in double precision: what every other planner is compared with."""
    return vehicles_first(Columns.of(fleet, np.float64), 1024).cost.astype(np.float64)


def slots_used(fleet: Fleet) -> float:
    """Mean number of slots that a plan of this fleet draws from."""
    energy = vehicles_first(Columns.of(fleet.sample(100_000), np.float64), 1024).energy_kwh
    return float((energy > 0).sum(axis=1).mean())


def _blocks(count: int, block: int) -> list[slice]:
    return [slice(at, min(at + block, count)) for at in range(0, count, block)]


def _take_in_order(
    columns: Columns, rows: slice, starts: Numbers, taken: Numbers, scratch: Numbers
) -> Numbers:
    """Seconds at full power taken from slots that stand in price order, into ``taken``."""
    arrival = columns.column(columns.arrival_s, rows)
    np.minimum(columns.column(columns.departure_s, rows), starts + columns.dtype(SLOT_S), out=taken)
    np.maximum(arrival, starts, out=scratch)
    taken -= scratch
    np.maximum(taken, 0, out=taken)
    np.cumsum(taken, axis=1, out=scratch)
    scratch -= taken
    np.subtract(columns.column(columns.need_s, rows), scratch, out=scratch)
    np.maximum(scratch, 0, out=scratch)
    np.minimum(taken, scratch, out=taken)
    return taken


def _take_and_scatter(
    columns: Columns, rows: slice, order: npt.NDArray[np.intp], energy: Numbers
) -> None:
    """Fills ``energy`` at the slots of ``order``, which stand in each vehicle's price order."""
    starts: Numbers = order.astype(columns.dtype)
    starts *= columns.dtype(SLOT_S)
    taken = _take_in_order(columns, rows, starts, np.empty_like(starts), np.empty_like(starts))
    taken *= columns.column(columns.kwh_per_s, rows)
    order += (np.arange(len(order)) * SLOTS)[:, None]
    energy.reshape(-1)[order] = taken


def _fill_slots(columns: Columns, rows: slice, energy: Numbers) -> None:
    """Writes a block's energies, one row per slot; what is written to in between stays in cache."""
    arrival, departure = columns.arrival_s[rows], columns.departure_s[rows]
    kwh_per_s = columns.kwh_per_s[rows]
    missing = columns.need_s[rows].copy()
    taken = np.empty_like(missing)
    since = np.empty_like(missing)
    for slot in columns.cheapest_first:
        start = columns.dtype(slot * SLOT_S)
        np.minimum(departure, start + columns.dtype(SLOT_S), out=taken)
        np.maximum(arrival, start, out=since)
        taken -= since
        np.maximum(taken, 0, out=taken)
        np.minimum(taken, missing, out=taken)
        missing -= taken
        np.multiply(taken, kwh_per_s, out=energy[slot])
