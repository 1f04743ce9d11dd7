"""What Ray costs in a round: ``python benches/peers/cluster_run.py --json FILE --page FILE``.

First next to nothing is asked of more and more actors: what is left is Ray.
Then a fleet is planned by one process and by two actors with a core each.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np
import pyarrow as pa
import ray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import slackwater as sw
from slackwater import parts
from slackwater.ray import RayCrew

from peers import area_child, cluster_page, machine
from peers.area_run import SHARE

ACTORS: Final = (1, 2, 4, 8, 16, 32)
SIZES: Final = (100_000, 1_000_000)
REPEATS: Final = 50


def town(count: int) -> tuple[pa.Table, float]:
    """The fleet of ``area_run.py`` as one area, and a limit that binds."""
    rows = area_child.fleet(count)
    peak_kw = area_child.unmanaged(rows).sum(axis=0).max()
    return rows.drop_columns("node"), SHARE * float(peak_kw)


class Timed(RayCrew):
    """Remembers how long answers took, and the last request of a round."""

    def __init__(self, actors: int) -> None:
        super().__init__(parts=actors)
        self.seconds: list[float] = []
        self.rounds: list[parts.Request] = []
        self.kept: list[pa.Table] = []

    def deal(self, part: int, vehicles: sw.Table) -> None:
        """Keep the rows here, too."""
        self.kept.append(pa.table(vehicles))
        super().deal(part, vehicles)

    def answer(self, request: parts.Request) -> Sequence[Any]:
        """Answer by the clock."""
        began = perf_counter()
        found = super().answer(request)
        self.seconds.append(perf_counter() - began)
        if '"answer"' in request.question:
            self.rounds.append(request)
        return found


def timed(function: Callable[[], object], times: int = REPEATS) -> list[float]:
    """Seconds of each of some calls, sorted."""
    found = []
    for _ in range(times):
        began = perf_counter()
        function()
        found.append(perf_counter() - began)
    return sorted(found)


def of_actors(actors: int) -> dict[str, Any]:
    """A round of next to no vehicles."""
    crew = Timed(actors)
    # Groups of one vehicle: as many blocks, and one part for each actor.
    rows, limit_kw = town(4 * actors)
    parts.plan_area(rows, area_child.prices(), crew=crew, limit_kw=limit_kw, rounds_max=10)
    request = crew.rounds[-1]
    seconds = timed(lambda: crew.answer(request))
    crew.close()
    return {"actors": actors, "median_s": statistics.median(seconds), "worst_s": seconds[-1]}


def of_fleet(count: int) -> dict[str, Any]:
    """A fleet by one process, and by two actors."""
    (rows, limit_kw), curve = town(count), area_child.prices()
    marks: list[float] = []
    began = perf_counter()
    local = sw.plan_area(
        rows, curve, limit_kw=limit_kw, progress=lambda _: marks.append(perf_counter())
    )
    took = perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    crew = Timed(2)
    began = perf_counter()
    planned = parts.plan_area(rows, curve, crew=crew, limit_kw=limit_kw)
    by_two = perf_counter() - began
    began = perf_counter()
    ray.get(crew.submit(planned.request, "plans"))
    writing = perf_counter() - began
    if planned.area.cost != local.cost or planned.area.rounds != local.rounds:
        raise AssertionError("the two came to different plans")
    request, answering = crew.rounds[-1], list(crew.seconds)
    seconds = timed(lambda: crew.answer(request))
    here = alone(crew, request)
    crew.close()
    return {
        "vehicles": count,
        "rounds": local.rounds,
        "gap": local.relative_gap,
        "local_s": took,
        "local_between_rounds_s": sorted(np.diff(marks).tolist()),
        "peak_bytes": peak,
        "two_actors_s": by_two,
        "starting_s": answering[0],
        "answering_s": sum(answering[1:]),
        "questions": len(answering),
        "writing_s": writing,
        "round_s": seconds,
        "alone_s": here,
    }


def alone(crew: Timed, request: parts.Request) -> list[float]:
    """The same question, asked of the same parts in this process, one after the other."""
    kept = [
        parts.open_part(table, request.terms, place)
        for table, place in zip(crew.kept, request.places, strict=True)
    ]

    def ask() -> None:
        for part, own in zip(kept, request.own, strict=True):
            part.answer(request.question, own, None)

    return timed(ask)


def main() -> None:
    """Measure, and write what was found."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--json", type=Path, required=True)
    words.add_argument("--page", type=Path, help="where to write it for readers")
    words.add_argument("--largest", type=int, default=SIZES[-1])
    told = words.parse_args()
    ray.init(num_cpus=max(ACTORS), include_dashboard=False, log_to_driver=False)
    found = {
        "actors": [of_actors(actors) for actors in ACTORS],
        "fleets": [of_fleet(size) for size in SIZES if size <= told.largest],
    }
    told.json.parent.mkdir(parents=True, exist_ok=True)
    told.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if told.page:
        about = cluster_page.page(found, machine.describe(), machine.commit_date())
        told.page.write_text(about, encoding="utf-8")
    for row in found["actors"]:
        print(f"{row['actors']:3} actors: {1e3 * row['median_s']:.2f} ms a round")
    for row in found["fleets"]:
        ray_s, here_s = statistics.median(row["round_s"]), statistics.median(row["alone_s"])
        print(f"{row['vehicles']:,}: a round {ray_s:.4f} s by two actors, {here_s:.4f} s here")


if __name__ == "__main__":
    main()
