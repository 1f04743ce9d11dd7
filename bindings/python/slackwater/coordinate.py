"""Plans of many vehicles that share limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from slackwater import _engine
from slackwater._engine import InputError
from slackwater._index import refuse_other_times
from slackwater.area import PlanTable
from slackwater.area_node import PROFILES, Node, Profile, area_nodes
from slackwater.area_types import AreaChange, AreaProgress, NodeLoad, RoundMemory, Shortfall
from slackwater.prices import Prices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slackwater.typing import ArrowTable


class AreaPlan:
    """Plans for the vehicles of an area, and the proof of how good they are."""

    __slots__ = ("_native", "_nodes", "_seconds")

    def __init__(self, native: _engine.AreaPlan, nodes: Sequence[Node], seconds: float) -> None:
        """Wrap a plan of the engine."""
        self._native = native
        self._nodes = tuple(nodes)
        self._seconds = seconds

    @property
    def cost(self) -> float:
        """Cost of the energy and of soft limits."""
        return self._native.cost

    @property
    def bound(self) -> float:
        """Lower bound: no plan that serves the same needs costs less."""
        return self._native.bound

    @property
    def relative_gap(self) -> float:
        """Cost minus bound, divided by the larger of bound and baseline cost.

        Where vehicles are on or off it is at least the part of the needs by
        which :attr:`shortfall_kwh` is above :attr:`shortfall_bound_kwh`.
        """
        return self._native.relative_gap

    @property
    def rounds(self) -> int:
        """Rounds of the last search; each prices all vehicles once.

        There may be several searches: on samples of a large fleet before the
        whole fleet, and again where limits withhold energy. ``progress`` is
        called in the rounds of each.
        """
        return self._native.rounds

    @property
    def status(self) -> str:
        """Why the rounds ended.

        ``gap`` (converged: the requested gap is proved), ``rounds`` (the
        allowed rounds are used), ``stopped`` (by the caller or Ctrl-C),
        ``stalled`` (no further improvement: the remaining gap is due to
        indivisible vehicle plans) or ``failed`` (the solver failed in one of
        the searches: limits hold and the bound is proved, but a better plan
        may exist).
        """
        return self._native.status

    @property
    def is_reproducible(self) -> bool:
        """Whether the same call gives the same bytes; not if it was stopped."""
        return self._native.is_reproducible

    @property
    def seconds(self) -> float:
        """How long planning took, plans of vehicles included."""
        return self._seconds

    @property
    def vehicles(self) -> int:
        """Vehicles that were planned; rows in error are not."""
        return self._native.vehicles

    @property
    def errors(self) -> int:
        """Invalid rows; their ``error`` column gives the reason."""
        return self._native.errors

    @property
    def energy_kwh(self) -> float:
        """Energy that vehicles charge."""
        return self._native.energy_kwh

    @property
    def discharged_kwh(self) -> float:
        """Energy that vehicles discharge."""
        return self._native.discharged_kwh

    @property
    def late_reserves(self) -> list[int]:
        """Rows whose reserve is delayed by limits, compared with full power from arrival."""
        return self._native.late_reserves

    @property
    def change(self) -> AreaChange | None:
        """Distance from the previous plan; ``None`` if it was not requested."""
        change = self._native.change
        return None if change is None else AreaChange(*change)

    @property
    def shortfall_kwh(self) -> float:
        """Need that is not met in time.

        Sum of (a) energy the stay is too short for and (b) energy withheld by
        limits, each at its worst deadline.
        """
        return self._native.shortfall_kwh

    @property
    def shortfall_bound_kwh(self) -> float | None:
        """Lower bound on the unmet need, where vehicles are on or off.

        In a small area (up to 400 decisions, two a slot of each such vehicle,
        without batteries that discharge and without reserves) it is the bound
        of a mixed-integer search, exact where that search ends. In a larger
        area it is the unmet need if these vehicles could charge in parts of
        slots; with batteries that discharge only the energy that the stays
        are too short for. ``None`` where no vehicle is on or off, or the
        search was stopped.
        """
        return self._native.shortfall_bound_kwh

    @property
    def withheld_kwh(self) -> float:
        """The part of it that limits withhold.

        Without limits it would be met, and paid for: costs of this plan and of
        others compare where it is 0.
        """
        return sum(need.energy_kwh for need in self.shortfalls if need.node is not None)

    @property
    def shortfalls(self) -> list[Shortfall]:
        """Unmet energy by row; a vehicle can have two causes."""
        return [Shortfall(*short) for short in self._native.shortfalls]

    @property
    def short_vehicles(self) -> int:
        """Number of vehicles with unmet energy.

        A vehicle that misses a deadline may get the missing energy later.
        """
        return len({need.row for need in self.shortfalls})

    @property
    def currency(self) -> str:
        """Currency of all costs and prices."""
        return self._native.currency

    @property
    def periods(self) -> list[tuple[datetime, datetime]]:
        """Start and end of each slot."""
        return self._native.periods

    @property
    def load_kw(self) -> list[float]:
        """Mean power of all vehicles in each slot."""
        return self._native.load_kw

    @property
    def baseline_load_kw(self) -> list[float]:
        """Baseline: the load if all vehicles charge at full power from arrival."""
        return self._native.baseline[0]

    @property
    def baseline_cost(self) -> float:
        """Cost of the baseline, soft limits included; also of energy withheld here."""
        return self._native.baseline[1]

    @property
    def price_only_load_kw(self) -> list[float]:
        """Load if each vehicle charges in its own cheapest slots."""
        return self._native.price_only[0]

    @property
    def price_only_cost(self) -> float:
        """What that costs, soft limits included."""
        return self._native.price_only[1]

    @property
    def nodes(self) -> list[NodeLoad]:
        """Load and prices of each node."""
        return [NodeLoad(*node) for node in self._native.nodes]

    @property
    def shadow_price_per_kwh(self) -> list[tuple[str, list[float]]]:
        """Node and price of one more kWh in each slot, a row for each limit.

        While limits leave needs unmet these values are no prices; see
        :attr:`NodeLoad.congestion_price_per_kwh`.
        """
        return self._native.shadow_price_per_kwh

    @property
    def plans(self) -> PlanTable:
        """One plan a row, in the order of the vehicles.

        Columns are ``id``, ``cost``, ``energy_kwh``, ``discharged_kwh``,
        ``shortfall_kwh``, ``baseline_cost``, ``savings``, ``intervals`` (list
        of ``{start, end, power_kw}``; a negative power discharges) and
        ``error``. Without rows if they went to a ``sink``.
        """
        return PlanTable(self._native.plans)

    def to_arrow(self) -> PlanTable:
        """Give the plans of the vehicles to any Arrow library."""
        return self.plans

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the plans of the vehicles to an Arrow library."""
        return self.plans.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Tell cost, gap and what is not met."""
        text = (
            f"AreaPlan({self._native.vehicles} vehicles, cost={self.cost:.2f} {self.currency}, "
            f"relative_gap={self.relative_gap:.1e}, rounds={self.rounds}, status={self.status!r}"
        )
        return f"{text}, shortfall_kwh={self.shortfall_kwh:.3f})" if self.shortfalls else f"{text})"

    def plot(self, *, time_zone: str = "UTC", node: str | None = None) -> Figure:
        """Draw loads of a node against its limit, and below them the shadow prices.

        Three loads are drawn, base load included: unmanaged, each vehicle at
        its own cheapest, and coordinated. The first two are known of all
        vehicles together, and drawn where all of them are below the node.

        Args:
            time_zone: IANA name of the zone of the time axis.
            node: Name of the node; the one at the top without it.

        Returns:
            The figure. ``figure.savefig("area.png")`` writes it to a file.

        Raises:
            InputError: There is no such node, or none is named and several are
                at the top.
        """
        from slackwater.plot_area import plot_area  # noqa: PLC0415 - needs matplotlib

        names = [other.name for other in self._nodes]
        if node is not None and node not in names:
            message = f"node is {node!r}; the area has {', '.join(names)}"
            raise InputError(message)
        tops = [other.name for other in self._nodes if other.parent is None]
        if node is None and len(tops) > 1:
            message = f"node is not said; at the top are {', '.join(tops)}: name one to draw"
            raise InputError(message)
        at = names.index(tops[0] if node is None else node)
        return plot_area(self, at, self._nodes, time_zone)

    def report(
        self,
        path: str | Path,
        *,
        names: Sequence[object] | None = None,
        title: str = "Area plan",
        time_zone: str = "UTC",
    ) -> None:
        """Write a report for grid planners: one HTML file without other resources.

        It has a summary, the load against the limit, the price of the limit,
        the savings, and the vehicles at risk. It shows the top node; of several
        only the first.

        Args:
            path: The file.
            names: Names of the vehicles by row; rows are numbered without them.
            title: Headline of the page.
            time_zone: IANA name of the zone of all times.

        Raises:
            InputError: The time zone is unknown.
            OSError: The file cannot be written.
        """
        from slackwater.area_report import area_report  # noqa: PLC0415 - a page is rarely wanted

        page = area_report(self, self._nodes, names=names, title=title, time_zone=time_zone)
        Path(path).write_text(page, encoding="utf-8")


def plan_area(
    vehicles: ArrowTable,
    prices: Prices | Mapping[str, Prices],
    *,
    export_prices: Prices | Mapping[str, Prices] | None = None,
    limit_kw: Profile | None = None,
    nodes: Sequence[Node] | None = None,
    relative_gap: float = 1e-3,
    rounds_max: int = 500,
    progress: Callable[[AreaProgress], object] | None = None,
    previous: AreaPlan | ArrowTable | None = None,
    stability_budget: float | None = None,
    sink: Callable[[PlanTable], object] | None = None,
    memory: RoundMemory | None = None,
) -> AreaPlan:
    """Plan vehicles that share limits, at a cost proved to be near the least.

    Every hard limit holds in the mean of every slot. Every need is met unless
    limits forbid it; then as little as possible goes unmet, and vehicles of
    one node that miss the same deadline, mostly their departure, bear it in
    equal shares of their needs, divided by their priorities. The gap is that
    of the finished plans.

    Energy that limits withhold at arrival or at a deadline before departure
    is delivered later, and the need at departure is still met if possible.
    Reserves and needs have equal weight in a shortage; only missing need is
    reported as unmet.

    Ctrl-C ends the work, and the plan so far is returned with the status
    ``stopped``: within a second up to about 100,000 vehicles.

    Args:
        vehicles: One row a vehicle, with the columns of
            :func:`slackwater.plan_batch` and besides, all optional:

            ======================== ==========================================
            column                   meaning
            ======================== ==========================================
            ``node``                 name of a node; the first node without it
            ``priority``             weight where energy is short, above 0; 2
                                     bears half of 1
            ``power_min_kw``         least power while charging, at most
                                     ``power_max_kw``; such a vehicle is on at
                                     full power or off, for whole slots but for
                                     one in which a need ends
            ``discharge_max_kw``     highest discharging power; a vehicle with
                                     one gives its needs in percent, and may
                                     sell what it stores
            ``discharge_efficiency`` energy at the plug per stored energy
            ``charge_limit_percent`` where charging ends
            ``end_value_per_kwh``    value of a kWh stored at departure
            ``wear_price_per_kwh``   wear per stored kWh that is discharged
            ======================== ==========================================

        prices: One curve for all, or curves by their ``price_id``.
        export_prices: Price earned per discharged kWh, in the same slots and
            with the same ids; without them nothing is sold.
        limit_kw: Highest load of all vehicles together: one number, or one
            per slot of the prices. A short form of ``nodes`` with one node.
        nodes: Nodes with their limits; give these or ``limit_kw``.
        relative_gap: Gap at which to end, in proportion to the cost.
        rounds_max: Rounds after which to end a search; see
            :attr:`AreaPlan.rounds`.
        progress: Called once a round with an :class:`AreaProgress`; a true
            answer ends the rounds.
        previous: An earlier plan of the same limits and slots, to begin with
            its shadow prices. Where next to nothing has changed, that saves
            about a third of the rounds; after new prices, an hour later or
            with other vehicles it saves none, and may need more.
            With ``stability_budget`` also a table with ``id`` and
            ``intervals`` of an earlier plan.
        stability_budget: Amount that the plan may cost above the cheapest one
            so that vehicles keep their plan of ``previous``; see
            :attr:`AreaPlan.change`. Vehicles are matched by their ``id``, which
            must be unique.
        sink: Called with the plans of the vehicles, some ten thousand at a
            time, in place of keeping them: for files larger than memory.
        memory: Keeps the plans of finished rounds, so that an interrupted
            call can go on.

    Returns:
        The plan. It is an Arrow table of the vehicles' plans as well.

    Raises:
        InputError: Nodes, limits or columns are invalid.

    Example:
        Two vehicles share the cheap hour, whose limit is 15 kW:

        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
        >>> vehicles = pa.table(
        ...     {
        ...         "id": ["van", "bus"],
        ...         "arrival": [six, six],
        ...         "departure": [six + timedelta(hours=3)] * 2,
        ...         "energy_kwh": [10.0, 10.0],
        ...         "power_max_kw": [10.0, 10.0],
        ...     }
        ... )
        >>> area = plan_area(vehicles, prices, limit_kw=15)
        >>> area.load_kw, round(area.cost, 6), area.relative_gap < 1e-3
        ([0.0, 15.0, 5.0], 2.5, True)
        >>> [round(price, 6) for price in area.nodes[0].congestion_price_per_kwh]
        [0.0, 0.1, 0.0]
    """
    began = perf_counter()
    _refuse_other_times(prices, limit_kw, nodes or ())
    nodes = area_nodes(limit_kw, nodes)
    if previous is None and stability_budget is not None:
        message = "stability_budget needs a previous plan"
        raise InputError(message)
    if previous is not None and not isinstance(previous, AreaPlan):
        stability_budget = stability_budget or 0.0
    native = _engine.plan_area(
        vehicles,
        area_prices(prices, export_prices),
        nodes=nodes,
        relative_gap=relative_gap,
        rounds_max=rounds_max,
        before={
            "plans": None if stability_budget is None else _told(previous),
            "budget": 0.0 if stability_budget is None else stability_budget,
            "start": previous._native.state if isinstance(previous, AreaPlan) else None,
        },
        listeners={
            "progress": None if progress is None else watched(progress),
            "recall": None if memory is None else memory.recall,
            "keep": None if memory is None else memory.keep,
            "sink": None if sink is None else _sink(sink),
            "crew": None,
        },
    )
    return AreaPlan(native, nodes, perf_counter() - began)


def _refuse_other_times(
    prices: Prices | Mapping[str, Prices], limit_kw: Profile | None, nodes: Sequence[Node]
) -> None:
    """Refuse series whose index has other times than the slots of the prices.

    The slots of several curves are those of all of them.
    """
    profiles: dict[str, object] = {"limit_kw": limit_kw}
    for node in nodes:
        profiles |= {f"{field} of node {node.name!r}": getattr(node, field) for field in PROFILES}
    indexed = {name: profile for name, profile in profiles.items() if hasattr(profile, "index")}
    curves = [prices] if isinstance(prices, Prices) else list(prices.values())
    starts = sorted({start for curve in curves if indexed for start, _, _ in curve.slots})
    for name, profile in indexed.items():
        refuse_other_times(name, profile, starts)


def _told(previous: AreaPlan | ArrowTable | None) -> object:
    """What vehicles were told before; a plan whose rows went elsewhere does not know."""
    if not isinstance(previous, AreaPlan):
        return previous
    if previous.vehicles and not len(previous.plans):
        message = "previous has no plans of its vehicles, which went elsewhere: give their table"
        raise InputError(message)
    return previous.plans._native


def area_prices(
    prices: Prices | Mapping[str, Prices], export: Prices | Mapping[str, Prices] | None
) -> dict[str, object]:
    """Prices to buy and to sell at, as the engine takes them."""
    shared, curves = _curves(prices)
    export_shared, export_curves = (None, None) if export is None else _curves(export)
    return {
        "prices": shared,
        "curves": curves,
        "export_prices": export_shared,
        "export_curves": export_curves,
    }


def _curves(
    prices: Prices | Mapping[str, Prices],
) -> tuple[_engine.Prices | None, _engine.PriceCurves | None]:
    """One curve for all, or a table of them."""
    if not isinstance(prices, Mapping):
        return prices._native, None
    natives = [curve._native for curve in prices.values()]
    return None, _engine.PriceCurves.from_prices(natives, ids=list(prices))


def watched(
    progress: Callable[[AreaProgress], object],
) -> Callable[[int, float, float, float], object]:
    """What is called with the numbers of a round."""
    return lambda *numbers: progress(AreaProgress(*numbers))


def _sink(sink: Callable[[PlanTable], object]) -> Callable[[_engine.Table], object]:
    return lambda table: sink(PlanTable(table))
