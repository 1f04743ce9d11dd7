"""Areas in parts: one plan, its vehicles priced by several processes or machines.

The rounds of :func:`slackwater.plan_area` need only sums over vehicles. So the
vehicles can be distributed in parts to the workers of a crew, which compute
these sums. The plan is the same to the last bit, in any number of parts.
:mod:`slackwater.ray` has a crew of Ray actors.

A crew of your own needs a way to call a function on partitions of a table.
:func:`answer_parts` and :func:`plan_parts` take and give Arrow record batches,
as Spark's ``mapInArrow`` and Dask's ``map_partitions`` want it; so does
:func:`plan_batches`, for vehicles without shared limits. A partition may hold
several parts and their rows in any order, but each part whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from slackwater import _engine, _public
from slackwater._engine import Table
from slackwater._record import Record
from slackwater.area import plan_batch
from slackwater.area_node import Node, Profile, area_nodes
from slackwater.area_types import AreaProgress, RoundMemory
from slackwater.coordinate import AreaPlan, area_prices, watched
from slackwater.prices import Prices

if TYPE_CHECKING:
    import pyarrow as pa

    from slackwater.typing import ArrowTable

PART = "area_part"
"""Column with the part of a row."""

ROW = "area_row"
"""Column with the row that a vehicle had in the table of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaTerms(Record):
    """Data that all parts of an area share.

    Attributes:
        prices: One curve for all, or curves by their ``price_id``.
        export_prices: Price earned per discharged kWh.
        nodes: Nodes with their limits.
    """

    prices: Prices | Mapping[str, Prices]
    export_prices: Prices | Mapping[str, Prices] | None = None
    nodes: Sequence[Node] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Record):
    """A request to all parts.

    It has all inputs of a response besides the rows, and can be pickled: sent
    twice, or to another process, it gets the same response.

    Attributes:
        terms: Prices and nodes.
        places: Position of each part among all vehicles.
        question: The message to all parts.
        own: A further message to each part.
        changes: Changes of each part since it was distributed; ``None`` where
            there are none.
    """

    terms: AreaTerms
    places: Sequence[str]
    question: str
    own: Sequence[str]
    changes: Sequence[str] | None = None


class Crew(Protocol):
    """Who keeps the parts and has them answer."""

    @property
    def parts(self) -> int:
        """Number of parts wanted; small areas have fewer."""

    def deal(self, part: int, vehicles: Table) -> None:
        """Keep the rows of a part; called once for each, before the first request.

        The table has the columns of the vehicles, and three more.
        """

    def answer(self, request: Request) -> Iterable[ArrowTable]:
        """Give what :func:`answer_parts` says of all parts, in any order."""


@dataclass(frozen=True, slots=True)
class AreaInParts(Record):
    """The plan of an area whose vehicles were priced in parts.

    Attributes:
        area: The plan, without rows.
        request: What :func:`plan_parts` is to be called with on all parts, to
            have the plans of their rows.
    """

    area: AreaPlan
    request: Request


def plan_area(
    vehicles: ArrowTable,
    prices: Prices | Mapping[str, Prices],
    *,
    crew: Crew,
    export_prices: Prices | Mapping[str, Prices] | None = None,
    limit_kw: Profile | None = None,
    nodes: Sequence[Node] | None = None,
    relative_gap: float = 1e-3,
    rounds_max: int = 500,
    progress: Callable[[AreaProgress], object] | None = None,
    previous: AreaPlan | None = None,
    memory: RoundMemory | None = None,
) -> AreaInParts:
    """Plan vehicles that share limits with the workers of a crew.

    This process distributes the vehicles, finds the prices, and brings the plans
    within the limits, for which it holds all vehicles in memory; the crew prices
    the vehicles, adds plans up and writes them. The result is that of
    :func:`slackwater.plan_area`, to the last bit.

    Args:
        vehicles: One row a vehicle, as in :func:`slackwater.plan_area`.
        prices: One curve for all, or curves by their ``price_id``.
        crew: Who asks the vehicles.
        export_prices: Price earned per discharged kWh.
        limit_kw: Highest load of all vehicles together.
        nodes: Nodes with their limits; give these or ``limit_kw``.
        relative_gap: Gap at which to end, in proportion to the cost.
        rounds_max: Rounds after which to end a search.
        progress: Called once a round; a true answer ends the rounds.
        previous: An earlier plan of the same limits and slots, to begin with
            its shadow prices.
        memory: Keeps what was answered, so that work cut off can go on.

    Returns:
        The plan without rows, and the request that returns them.

    Raises:
        InputError: Nodes, limits or columns are invalid, or a response does
            not match its request.
    """
    began = perf_counter()
    nodes = area_nodes(limit_kw, nodes)
    dealer = _Dealer(crew, AreaTerms(prices=prices, export_prices=export_prices, nodes=nodes))
    numbers, plans, (question, told) = _engine.plan_area(
        vehicles,
        area_prices(prices, export_prices),
        nodes=nodes,
        heat=[],
        relative_gap=relative_gap,
        rounds_max=rounds_max,
        before={
            "plans": None,
            "budget": 0.0,
            "start": None if previous is None else previous.warm_start,
        },
        listeners={
            "progress": None if progress is None else watched(progress),
            "recall": None if memory is None else memory.recall,
            "keep": None if memory is None else memory.keep,
            "sink": None,
            "crew": dealer,
        },
    )
    own, changes = [own for own, _ in told], [change for _, change in told]
    request = dealer.request(question, own, changes)
    area = AreaPlan._of(numbers, plans, nodes, prices, perf_counter() - began)
    return AreaInParts(area, request)


class _Dealer:
    """Between the engine and a crew: knows the places and the last change."""

    def __init__(self, crew: Crew, terms: AreaTerms) -> None:
        self._crew = crew
        self._terms = terms
        self._places: list[str] = []
        self._changes: list[str] | None = None
        self.parts = crew.parts

    def deal(self, part: int, vehicles: Table, place: str) -> None:
        self._places.append(place)
        self._crew.deal(part, vehicles)

    def change(self, changes: list[str]) -> None:
        self._changes = changes

    def ask(self, question: str, own: list[str]) -> list[ArrowTable]:
        return list(self._crew.answer(self.request(question, own, self._changes)))

    def request(self, question: str, own: list[str], changes: list[str] | None) -> Request:
        places = self._places
        return Request(
            terms=self._terms, places=places, question=question, own=own, changes=changes
        )


def open_part(vehicles: ArrowTable, terms: AreaTerms, place: str) -> _engine.AreaPart:
    """Prepare a part once for many requests.

    ``answer`` and ``plans`` of the result take the message to all parts, that to
    the part, and its change, as a :class:`Request` has them.

    Args:
        vehicles: All rows of the part, in any order.
        terms: Prices and nodes of the area.
        place: Position of the part.

    Raises:
        InputError: The rows are not those of the place.
    """
    paid = area_prices(terms.prices, terms.export_prices)
    return _engine.AreaPart(vehicles, paid, nodes=list(terms.nodes), place=place)


def answer_parts(batches: Iterable[pa.RecordBatch], request: Request) -> Iterator[pa.RecordBatch]:
    """Answer a request for the parts of a partition.

    Args:
        batches: Rows of the parts.
        request: The request.

    Yields:
        A few rows for each part: sums over its vehicles.
    """
    import pyarrow as pa  # noqa: PLC0415 - the package itself needs none

    for number, part in _open(batches, request):
        answer = part.answer(request.question, *_to(number, request))
        yield from pa.table(answer).to_batches()


def plan_parts(batches: Iterable[pa.RecordBatch], request: Request) -> Iterator[pa.RecordBatch]:
    """Write the plans of the parts of a partition.

    Args:
        batches: Rows that were dealt.
        request: That of :class:`AreaInParts`.

    Yields:
        The columns of :attr:`slackwater.AreaPlan.plans`, and ``area_row``, by
        which sorted they stand as the vehicles stood.
    """
    import pyarrow as pa  # noqa: PLC0415 - the package itself needs none

    for number, part in _open(batches, request):
        plans = part.plans(request.question, *_to(number, request))
        yield from pa.table(plans).to_batches()


def plan_batches(
    batches: Iterable[pa.RecordBatch], prices: Prices | Mapping[str, Prices]
) -> Iterator[pa.RecordBatch]:
    """Plan the vehicles of a partition, each as if it were alone.

    Args:
        batches: Vehicles as :func:`slackwater.plan_batch` takes them.
        prices: One curve for all, or curves by their ``price_id``.

    Yields:
        The columns of :func:`slackwater.plan_batch`, ``status`` as plain text,
        which Spark asks for.
    """
    import pyarrow as pa  # noqa: PLC0415 - the package itself needs none

    for batch in batches:
        plans = pa.table(plan_batch(batch, prices))
        at = plans.schema.get_field_index("status")
        yield from plans.set_column(at, "status", plans["status"].cast(pa.string())).to_batches()


def _open(
    batches: Iterable[pa.RecordBatch], request: Request
) -> Iterator[tuple[int, _engine.AreaPart]]:
    """The parts that are among the rows of a partition."""
    import pyarrow as pa  # noqa: PLC0415 - the package itself needs none
    import pyarrow.compute as pc  # noqa: PLC0415

    found = list(batches)
    if not found:
        return
    rows = pa.Table.from_batches(found)
    for number in sorted(pc.unique(rows[PART]).to_pylist()):
        of_part = rows.filter(pc.equal(rows[PART], number))
        yield number, open_part(of_part, request.terms, request.places[number])


def _to(part: int, request: Request) -> tuple[str, str | None]:
    """Message to a part alone."""
    return request.own[part], None if request.changes is None else request.changes[part]


_public.guard(__name__)
