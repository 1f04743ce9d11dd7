"""Areas on a Ray cluster: the plan of :func:`slackwater.plan_area`, bit for bit.

Each part of the vehicles is kept by an actor, which prices them in every round
and writes the plans of its rows. A response depends only on the rows and the
request: a killed actor is restarted and gets the request again, with the same
result. ``pip install 'slackwater[ray]'`` installs Ray.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slackwater import _engine, _public, parts
from slackwater.area import PlanTable
from slackwater.area_node import Node, Profile
from slackwater.area_types import AreaProgress, RoundMemory
from slackwater.coordinate import AreaPlan
from slackwater.parts import ROW, AreaTerms, Request, open_part
from slackwater.prices import Prices

if TYPE_CHECKING:
    import pyarrow as pa

    from slackwater.typing import ArrowTable


class _Keeper:
    """Keeps a part in a process of its own."""

    def __init__(self, vehicles: pa.Table, terms: AreaTerms, place: str, threads: int) -> None:
        # Actors share a machine: each has as many threads as it reserved cores.
        os.environ["RAYON_NUM_THREADS"] = str(threads)
        self._part = open_part(vehicles, terms, place)

    def pid(self) -> int:
        return os.getpid()

    def answer(self, question: str, own: str, change: str | None) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - read where it runs

        return pa.table(self._part.answer(question, own, change))

    def plans(self, question: str, own: str, change: str | None) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - read where it runs

        return pa.table(self._part.plans(question, own, change))

    def write(self, path: str, question: str, own: str, change: str | None) -> str:
        """Write plans under another name until all are there: a second try writes the same."""
        import pyarrow.parquet as pq  # noqa: PLC0415 - read where it runs

        Path(path).parent.mkdir(parents=True, exist_ok=True)
        part = Path(path + f".{os.getpid()}.part")
        pq.write_table(self.plans(question, own, change), part)
        part.replace(path)
        return path


class RayCrew:
    """Actors that keep the parts of an area.

    Args:
        parts: Number of parts; one for every ``cores`` cores of the cluster
            without it.
        cores: Cores that each actor reserves and uses.
    """

    def __init__(self, *, parts: int | None = None, cores: int = 1) -> None:
        """Start Ray on this machine, unless the process belongs to a cluster already."""
        import ray  # noqa: PLC0415 - comes with the extra

        if not ray.is_initialized():
            ray.init()
        found = int(ray.cluster_resources().get("CPU", 1))
        self.parts = max(found // cores, 1) if parts is None else parts
        self._cores = cores
        self._tables: list[Any] = []
        self._keepers: list[Any] = []
        # Ray forgets what nobody refers to, and an actor that starts anew wants it again.
        self._terms: Any = None
        self._changes: tuple[Sequence[str] | None, list[Any]] = (None, [])

    def deal(self, part: int, vehicles: PlanTable) -> None:
        """Put the rows of a part where its actor will find them, also after a restart."""
        import pyarrow as pa  # noqa: PLC0415 - comes with the extra
        import ray  # noqa: PLC0415 - comes with the extra

        if part == 0:
            self.close()
        self._tables.append(ray.put(pa.table(vehicles)))

    def _start(self, request: Request) -> None:
        """Start an actor for each part; the terms travel once to every machine."""
        import ray  # noqa: PLC0415 - comes with the extra

        keeper: Any = ray.remote(max_restarts=-1, max_task_retries=-1, num_cpus=self._cores)(
            _Keeper
        )
        self._terms = ray.put(request.terms)
        self._keepers = [
            keeper.remote(table, self._terms, place, self._cores)
            for table, place in zip(self._tables, request.places, strict=True)
        ]

    def submit(self, request: Request, method: str = "answer") -> list[Any]:
        """Ask all actors, and do not wait: a reference for each part."""
        return [
            getattr(keeper, method).remote(request.question, own, change)
            for keeper, own, change in self._told(request)
        ]

    def _told(self, request: Request) -> list[tuple[Any, str, Any]]:
        """Each actor, what is said to it alone, and its change, if there is one."""
        import ray  # noqa: PLC0415 - comes with the extra

        if not self._keepers:
            self._start(request)
        if self._changes[0] is not request.changes:
            # Some megabytes of needs: sent once, not with every question.
            self._changes = (request.changes, [ray.put(text) for text in request.changes or ()])
        changes = self._changes[1] or [None] * len(self._keepers)
        return list(zip(self._keepers, request.own, changes, strict=True))

    def write(self, request: Request, folder: str | Path) -> list[str]:
        """Have every actor write the plans of its rows, as Parquet; return the files."""
        import ray  # noqa: PLC0415 - comes with the extra

        files = [
            keeper.write.remote(
                str(Path(folder) / f"part-{part:05}.parquet"), request.question, own, change
            )
            for part, (keeper, own, change) in enumerate(self._told(request))
        ]
        return list(ray.get(files))

    def answer(self, request: Request) -> Sequence[ArrowTable]:
        """Ask all actors, and wait for them."""
        return self.gather(self.submit(request))

    def gather(self, references: list[Any]) -> Sequence[ArrowTable]:
        """Wait for answers."""
        import ray  # noqa: PLC0415 - comes with the extra

        return list(ray.get(references))

    def pids(self) -> list[int]:
        """Processes of the actors, part by part."""
        import ray  # noqa: PLC0415 - comes with the extra

        return list(ray.get([keeper.pid.remote() for keeper in self._keepers]))

    def close(self) -> None:
        """Stop the actors, and let go of the rows."""
        import ray  # noqa: PLC0415 - comes with the extra

        for keeper in self._keepers:
            ray.kill(keeper)
        self._keepers, self._tables, self._terms = [], [], None
        self._changes = (None, [])


@dataclass(frozen=True, slots=True)
class RayAreaPlan:
    """The plan of an area, and actors with the plans of its vehicles.

    Attributes:
        area: The plan, without rows.
        request: Request to the actors for the plans of their rows.
        crew: The actors; ``crew.close()`` stops them.
    """

    area: AreaPlan
    request: Request
    crew: RayCrew

    def references(self) -> list[Any]:
        """References to the plans, a table for each part, for ``ray.data.from_arrow_refs``.

        They have the columns of :attr:`slackwater.AreaPlan.plans`, and
        ``area_row``, the row of the vehicle.
        """
        return self.crew.submit(self.request, "plans")

    def write(self, folder: str | Path) -> list[str]:
        """Write the plans as Parquet files, each where its actor is.

        Args:
            folder: A folder that all machines share.

        Returns:
            The files.
        """
        return self.crew.write(self.request, folder)

    def to_arrow(self) -> pa.Table:
        """Collect all plans here, in the order of the vehicles."""
        import pyarrow as pa  # noqa: PLC0415 - comes with the extra
        import ray  # noqa: PLC0415 - comes with the extra

        plans = pa.concat_tables(ray.get(self.references()))
        return plans.sort_by(ROW).drop_columns([ROW])


def plan_area(
    dataset: ArrowTable | Any,  # noqa: ANN401 - a dataset of Ray has no type where Ray is not
    prices: Prices | Mapping[str, Prices],
    *,
    export_prices: Prices | Mapping[str, Prices] | None = None,
    limit_kw: Profile | None = None,
    nodes: Sequence[Node] | None = None,
    relative_gap: float = 1e-3,
    rounds_max: int = 500,
    progress: Callable[[AreaProgress], object] | None = None,
    previous: AreaPlan | None = None,
    memory: RoundMemory | None = None,
    crew: RayCrew | None = None,
) -> RayAreaPlan:
    """Plan vehicles that share limits on a Ray cluster.

    Cost, bound, loads, prices and the plan of every vehicle are those of
    :func:`slackwater.plan_area`, to the last bit, in any number of parts.

    This process holds all vehicles: it sorts and distributes them, solves for
    the prices and brings the plans within the limits. The actors price the
    vehicles in every round, add plans up, and write them.

    Args:
        dataset: A ``ray.data.Dataset`` or an Arrow table, one row a vehicle, as
            in :func:`slackwater.plan_area`.
        prices: One curve for all, or curves by their ``price_id``.
        export_prices: Price earned per discharged kWh.
        limit_kw: Highest load of all vehicles together.
        nodes: Nodes with their limits; give these or ``limit_kw``.
        relative_gap: Gap at which to end, in proportion to the cost.
        rounds_max: Rounds after which to end in any case.
        progress: Called once a round; a true answer ends the rounds.
        previous: An earlier plan of the same limits and slots, to begin with
            its shadow prices.
        memory: Keeps finished rounds, so that an interrupted call can go on.
        crew: Actors in other numbers than one for every core.

    Returns:
        The plan, and the actors with its rows.

    Raises:
        InputError: Nodes, limits or columns are invalid.
    """
    crew = RayCrew() if crew is None else crew
    try:
        planned = parts.plan_area(
            _rows(dataset),
            prices,
            crew=crew,
            export_prices=export_prices,
            limit_kw=limit_kw,
            nodes=nodes,
            relative_gap=relative_gap,
            rounds_max=rounds_max,
            progress=progress,
            previous=previous,
            memory=memory,
        )
    except _engine.InputError:
        crew.close()
        raise
    return RayAreaPlan(planned.area, planned.request, crew)


def _rows(dataset: Any) -> ArrowTable:  # noqa: ANN401 - a table or a dataset
    if not hasattr(dataset, "to_arrow_refs"):
        rows: ArrowTable = dataset
        return rows
    import pyarrow as pa  # noqa: PLC0415 - comes with the extra
    import ray  # noqa: PLC0415 - comes with the extra

    table: ArrowTable = pa.concat_tables(ray.get(dataset.to_arrow_refs()))
    return table


_public.guard(__name__)
