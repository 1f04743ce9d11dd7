"""What is asked of areas, and the section of ``RESULTS.md`` about them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from peers.goals import MILLION, Evidence, Goal, Measured
from peers.results import ratio_text

COMMAND: Final = "make bench-area"
ONE_LIMIT: Final = "one limit"
GAP: Final = 1e-3
PICTURE: Final = "area-cost.svg"

Area = dict[str, Any]


def find(areas: Sequence[Area], case: str, vehicles: int, planner: str = "slackwater") -> Area:
    """The figure of a case; empty if it was not taken."""
    wanted = {"case": case, "vehicles": vehicles, "planner": planner}
    found = (area for area in areas if all(area[key] == value for key, value in wanted.items()))
    return next(found, {})


def _time(case: str, vehicles: int) -> Callable[[Evidence], Measured | None]:
    """Seconds from file to file; endless if the gap was not proved."""

    def measure(evidence: Evidence) -> Measured | None:
        if not (area := find(evidence.areas, case, vehicles)):
            return None
        seconds = statistics.median(area["seconds"])
        text = f"{seconds:.2f} s, gap {area['gap']:.1e}, {area['rounds']} rounds"
        return Measured(seconds if area["gap"] <= GAP else math.inf, text, COMMAND)

    return measure


def _memory(case: str, vehicles: int) -> Callable[[Evidence], Measured | None]:
    def measure(evidence: Evidence) -> Measured | None:
        if not (area := find(evidence.areas, case, vehicles)):
            return None
        peak = area["peak_bytes"]
        return Measured(peak, f"{peak / MILLION:,.0f} MB", COMMAND)

    return measure


def _ratio(evidence: Evidence) -> Measured | None:
    ours = find(evidence.areas, ONE_LIMIT, 10_000)
    peer = find(evidence.areas, ONE_LIMIT, 10_000, "highs")
    if not ours or not peer:
        return None
    ratio = statistics.median(peer["seconds"]) / statistics.median(ours["seconds"])
    return Measured(ratio, ratio_text(ratio), COMMAND)


def _at_most(work: str, case: str, vehicles: int, seconds: float) -> Goal:
    measure = _time(case, vehicles)
    return Goal(work, f"<= {seconds:g} s", seconds, at_least=False, measure=measure)


AREA_GOALS: Final = (
    _at_most("area of 10,000 behind one limit, to a gap of 1e-3", ONE_LIMIT, 10_000, 0.25),
    Goal(
        "the same against the interior points of HiGHS",
        ">= 40 x",
        40.0,
        at_least=True,
        measure=_ratio,
    ),
    _at_most("area of a million, file to file, shared curve", ONE_LIMIT, 1_000_000, 10.0),
    Goal(
        "its peak memory",
        "<= 1.5 GB",
        1500 * MILLION,
        at_least=False,
        measure=_memory(ONE_LIMIT, 1_000_000),
    ),
    _at_most("area of a million, a curve each, in Rust", "own curves", 1_000_000, 60.0),
    Goal(
        "its peak memory, curves included",
        "<= 1.5 GB",
        1500 * MILLION,
        at_least=False,
        measure=_memory("own curves", 1_000_000),
    ),
    _at_most("100,000 behind 200 feeders, 20 of them tight", "20 tight feeders", 100_000, 5.0),
    _at_most("the same with all 200 tight", "200 tight feeders", 100_000, 30.0),
)


def section(areas: Sequence[Area]) -> str:
    """All areas as a table, with the picture of cost against size."""
    if not areas:
        return "## Areas\n\nNot measured."
    lines = [
        "| planner | case | vehicles | seconds | CPU s | gap | rounds | slots at the limit | MB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for area in areas:
        seconds = statistics.median(area["seconds"])
        cpu = f"{statistics.median(area['cpu_seconds']):.3f}" if "cpu_seconds" in area else "-"
        gap = f"{area['gap']:.1e}" if "gap" in area else "-"
        cells = [area["planner"], area["case"], f"{area['vehicles']:,}"]
        cells += [f"{seconds:.3f}", cpu, gap, str(area.get("rounds", "-"))]
        cells += [_binding(area.get("binding")), f"{area['peak_bytes'] / MILLION:,.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    about = (
        "From the file of the vehicles to the file of their plans, each case in a process of its"
        " own, the start of Python not counted. The limit is 35 % of the peak of the fleet that"
        " nobody manages; a tight feeder has 36 % of its own. Own curves are planned in Rust,"
        " without files."
    )
    picture = f"![Time against the number of vehicles]({PICTURE})"
    return "\n\n".join(["## Areas", "\n".join(lines), about, picture])


def _binding(counts: list[int] | None) -> str:
    """Slots at the limit of the area, and of all its feeders together."""
    if counts is None:
        return "-"
    area, *feeders = counts
    return f"{area}, feeders {sum(feeders)}" if feeders else str(area)


def draw(areas: Sequence[Area], path: Path) -> None:
    """Draw time against size on logarithmic axes, beside a line of equal cost per vehicle."""
    from matplotlib.figure import Figure  # noqa: PLC0415  only this picture needs it

    ours = [a for a in areas if a["case"] == ONE_LIMIT and a["planner"] == "slackwater"]
    sizes = [area["vehicles"] for area in ours]
    seconds = [statistics.median(area["seconds"]) for area in ours]
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.loglog(sizes, seconds, marker="o", color="#0a6e8a", label="file to file, gap 1e-3")
    linear = [seconds[0] * size / sizes[0] for size in sizes]
    axes.loglog(sizes, linear, linestyle=":", color="#888888", label="as many times as vehicles")
    axes.set_xlabel("vehicles behind one limit")
    axes.set_ylabel("seconds")
    axes.grid(visible=True, which="major", color="#e4e4e4")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path)
