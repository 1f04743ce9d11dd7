"""Progress of the planning of an area, and types of its plan."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class AreaProgress(NamedTuple):
    """Progress of the rounds.

    Attributes:
        rounds: Rounds of this search; the next search starts at 1 again.
        cost: Cost of the best mix of columns; infinite before there is one.
        bound: No plan costs less.
        relative_gap: Their distance in proportion to the cost.
    """

    rounds: int
    cost: float
    bound: float
    relative_gap: float


class RoundMemory(Protocol):
    """Memory of rounds, so that an interrupted call can be resumed.

    Rounds are the same for the same call. If the kept texts are returned in the
    same order, their rounds are not computed again, and the plan is the same to
    the last bit.
    """

    def recall(self) -> str | None:
        """Return the next kept text; ``None`` after the last one."""

    def keep(self, text: str) -> None:
        """Keep a text of one line."""


class AreaChange(NamedTuple):
    """Distance of a plan from the previous one.

    Energies are sums over vehicles and slots of what is more or less than
    before.

    Attributes:
        cheapest_kwh: Energy that the cheapest plan would have moved.
        moved_kwh: Energy that the plan moves.
        spent: What it costs more than the cheapest one.
        vehicles: Vehicles that had a plan before.
        unchanged: Those of them whose plan is the same.
    """

    cheapest_kwh: float
    moved_kwh: float
    spent: float
    vehicles: int
    unchanged: int


class Shortfall(NamedTuple):
    """Energy that a vehicle misses.

    Attributes:
        row: Row of the vehicle.
        energy_kwh: Energy missing; stored energy if the vehicle discharges.
        node: Node whose limit is the cause; ``None`` where the stay itself is
            too short, the charger too weak, or the charge limit below the
            target.
    """

    row: int
    energy_kwh: float
    node: str | None


class NodeLoad(NamedTuple):
    """Load and prices of a node, slot by slot.

    Attributes:
        name: Its name.
        load_kw: Mean power, base load included; of every node, limited or not.
        breach_kw: Most by which a hard limit is exceeded; only base load and
            limits on export can lead there.
        congestion_price_per_kwh: Amount that limits of the node and of the nodes above it
            add to the price of a kWh. While limits leave needs unmet it ranks
            slots and is not a price: it is highest in slots where one more kWh
            would reduce unmet energy.
        base_kw: Base load, that of the nodes below it included.
    """

    name: str
    load_kw: list[float]
    breach_kw: float
    congestion_price_per_kwh: list[float]
    base_kw: list[float]
