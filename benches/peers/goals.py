"""What is asked of the engine, and how a figure is judged by it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from peers import results
from peers.results import Run, rate_text, ratio_text, time_text

CRITERION_COMMAND: Final = "cargo bench --workspace --bench '*' -- '{id}'"
MILLION: Final = 1e6
MICROSECOND: Final = 1e-6
MILLISECOND: Final = 1e-3


@dataclass(frozen=True)
class Bench:
    """One criterion benchmark.

    Attributes:
        id: As the benchmark spells it.
        median_s: Median wall time of one iteration.
        interval_s: Confidence interval of the median.
        elements: What one iteration works through, where the benchmark says so.
    """

    id: str
    median_s: float
    interval_s: tuple[float, float]
    elements: int | None

    @property
    def per_s(self) -> float | None:
        """Elements per second."""
        return self.elements / self.median_s if self.elements else None


Sums: TypeAlias = Sequence[dict[str, Any]]
"""What ``statistics_run.py`` or ``area_run.py`` wrote: one entry for each case."""


@dataclass(frozen=True)
class Evidence:
    """Everything that goals are judged by."""

    run: Run
    benches: dict[str, Bench]
    sums: Sums = ()
    areas: Sums = ()
    service: dict[str, Any] = field(default_factory=dict)


class Measured(NamedTuple):
    """A figure that a goal is compared with, and where it comes from."""

    value: float
    text: str
    command: str


@dataclass(frozen=True)
class Goal:
    """A figure to reach.

    Attributes:
        work: What is measured.
        goal: The bound, for readers.
        bound: The bound as a number.
        at_least: Whether more is better.
        measure: Finds the figure; nothing where it was not taken.
    """

    work: str
    goal: str
    bound: float
    at_least: bool
    measure: Callable[[Evidence], Measured | None]

    def verdict(self, measured: Measured | None) -> str:
        """Yes, no, or that nobody looked."""
        if measured is None:
            return "not measured"
        enough = measured.value >= self.bound if self.at_least else measured.value <= self.bound
        return "yes" if enough else "**no**"


def _bench_rate(name: str) -> Callable[[Evidence], Measured | None]:
    def measure(evidence: Evidence) -> Measured | None:
        if (bench := evidence.benches.get(name)) is None or bench.per_s is None:
            return None
        return Measured(bench.per_s, rate_text(bench.per_s), CRITERION_COMMAND.format(id=name))

    return measure


def _bench_time(name: str) -> Callable[[Evidence], Measured | None]:
    def measure(evidence: Evidence) -> Measured | None:
        if (bench := evidence.benches.get(name)) is None:
            return None
        median_s = bench.median_s
        return Measured(median_s, time_text(median_s), CRITERION_COMMAND.format(id=name))

    return measure


def _batch_rate(evidence: Evidence) -> Measured | None:
    figure = evidence.run.figure("batch/slackwater-2")
    if figure is None:
        return None
    return Measured(figure.plans_per_s, rate_text(figure.plans_per_s), figure.command)


def _batch_memory(evidence: Evidence) -> Measured | None:
    memory, figure = evidence.run.memory(), evidence.run.figure("batch/slackwater-2")
    if memory is None or figure is None:
        return None
    share = memory.share_of_bound
    return Measured(share, f"{share:.2f} of the bound", figure.command)


def _call_time(evidence: Evidence) -> Measured | None:
    figure = evidence.run.figure("single/slackwater")
    if figure is None:
        return None
    return Measured(figure.plan_s, time_text(figure.plan_s), figure.command)


def _ratio(bench_id: str, peer_id: str) -> Callable[[Evidence], Measured | None]:
    """How many times one core of the engine does a plan while the peer does one."""

    def measure(evidence: Evidence) -> Measured | None:
        peer, bench = evidence.run.figure(peer_id), evidence.benches.get(bench_id)
        if peer is None or bench is None or bench.per_s is None:
            return None
        ratio = peer.core_s * bench.per_s
        commands = f"{CRITERION_COMMAND.format(id=bench_id)}; {peer.command}"
        return Measured(ratio, ratio_text(ratio), commands)

    return measure


STATISTICS_COMMAND: Final = "make bench-stats"


def _sums_of(evidence: Evidence, engine: str, resolution: str) -> dict[str, Any] | None:
    found = (sums for sums in evidence.sums if sums["engine"] == engine)
    return next((sums for sums in found if sums["resolution"] == resolution), None)


def _sums_ratio(peer: str, resolution: str) -> Callable[[Evidence], Measured | None]:
    """How many times slackwater sums up the table while the peer does once."""

    def measure(evidence: Evidence) -> Measured | None:
        ours = _sums_of(evidence, "slackwater", resolution)
        theirs = _sums_of(evidence, peer, resolution)
        if ours is None or theirs is None:
            return None
        ratio = statistics.median(theirs["seconds"]) / statistics.median(ours["seconds"])
        text = f"{ratio_text(ratio)} over {ours['rows'] / MILLION:,.3g} M rows"
        return Measured(ratio, text, STATISTICS_COMMAND)

    return measure


def _sums_time(evidence: Evidence) -> Measured | None:
    """One device in quarter hours from Python, Arrow to Arrow."""
    ours = _sums_of(evidence, "slackwater", "quarter_hour")
    if ours is None:
        return None
    seconds = statistics.median(ours["seconds"])
    return Measured(seconds, time_text(seconds), STATISTICS_COMMAND)


def _sums_memory(resolution: str) -> Callable[[Evidence], Measured | None]:
    """Peak above the input and the answer."""

    def measure(evidence: Evidence) -> Measured | None:
        ours = _sums_of(evidence, "slackwater", resolution)
        if ours is None:
            return None
        extra = ours["extra_bytes"] - ours["output_bytes"]
        text = f"{extra / MILLION:,.0f} MB, and {ours['output_bytes'] / MILLION:,.0f} MB of answer"
        return Measured(extra, text, STATISTICS_COMMAND)

    return measure


FOUR_YEARS: Final = "statistics/one-device-four-years-quarter-hour"

STATISTICS_GOALS: Final = (
    *(
        Goal(
            f"statistics, samples to {resolution}s, against {peer}",
            ">= 1 x",
            1.0,
            at_least=True,
            measure=_sums_ratio(peer, resolution),
        )
        for resolution in ("month", "day")
        for peer in ("polars", "duckdb")
    ),
    *(
        Goal(
            f"their peak memory above input and answer, {resolution}s",
            "<= 200 MB",
            200 * MILLION,
            at_least=False,
            measure=_sums_memory(resolution),
        )
        for resolution in ("month", "day")
    ),
    Goal(
        "four years of quarter hours of one device, from memory, in Rust",
        "<= 20 ms",
        20 * MILLISECOND,
        at_least=False,
        measure=_bench_time(FOUR_YEARS),
    ),
    Goal(
        "the same from Python, Arrow to Arrow",
        "<= 20 ms",
        20 * MILLISECOND,
        at_least=False,
        measure=_sums_time,
    ),
    *(
        Goal(
            f"the same against {peer}",
            ">= 1 x",
            1.0,
            at_least=True,
            measure=_sums_ratio(peer, "quarter_hour"),
        )
        for peer in ("polars", "duckdb")
    ),
)

ONE_CORE_COMPACT: Final = "batch/one-core-compact/1000000"
ONE_CORE_DENSE: Final = "batch/one-core-dense/1000000"
ONE_STORAGE: Final = "storage/day-96-on-a-grid"
"""Prices and memory are kept from plan to plan, as HiGHS keeps its model."""


def _storage_ratio(evidence: Evidence) -> Measured | None:
    """How many storage plans of the engine fit into one of HiGHS."""
    peer = evidence.run.figure("storage/highspy-defaults")
    bench = evidence.benches.get(ONE_STORAGE)
    if peer is None or bench is None:
        return None
    ratio = peer.core_s / bench.median_s
    commands = f"{CRITERION_COMMAND.format(id=ONE_STORAGE)}; {peer.command}"
    return Measured(ratio, ratio_text(ratio), commands)


def _site_time(vehicles: int) -> Callable[[Evidence], Measured | None]:
    def measure(evidence: Evidence) -> Measured | None:
        figure = evidence.run.figure(f"site-{vehicles}/slackwater")
        if figure is None:
            return None
        return Measured(figure.plan_s, time_text(figure.plan_s), figure.command)

    return measure


GOALS: Final = (
    Goal(
        "engine, 1 M vehicles on a shared curve, compact output",
        ">= 5 M/s",
        5 * MILLION,
        at_least=True,
        measure=_bench_rate("batch/shared-compact/1000000"),
    ),
    Goal(
        "engine, 1 M vehicles on a shared curve, dense f32 output",
        ">= 2.5 M/s",
        2.5 * MILLION,
        at_least=True,
        measure=_bench_rate("batch/shared-dense/1000000"),
    ),
    Goal(
        "engine, 1 M vehicles with a curve each",
        ">= 3 M/s",
        3 * MILLION,
        at_least=True,
        measure=_bench_rate("batch/own-compact/1000000"),
    ),
    Goal(
        "Arrow to Arrow from Python, shared curve, two cores",
        ">= 3 M/s",
        3 * MILLION,
        at_least=True,
        measure=_batch_rate,
    ),
    Goal(
        "its peak memory",
        "<= 3 x input + output",
        1.0,
        at_least=False,
        measure=_batch_memory,
    ),
    Goal(
        "one plan_charge call from Python, 96 slots",
        "<= 20 us",
        20 * MICROSECOND,
        at_least=False,
        measure=_call_time,
    ),
    Goal(
        "per core, compact plans, against highspy by arrays, one object kept, as it comes",
        ">= 500 x",
        500,
        at_least=True,
        measure=_ratio(ONE_CORE_COMPACT, "batch/highspy-defaults"),
    ),
    Goal(
        "the same against highspy with presolve off, tuned for this problem",
        ">= 500 x",
        500,
        at_least=True,
        measure=_ratio(ONE_CORE_COMPACT, "batch/highspy-lean"),
    ),
    Goal(
        "per core, dense rows, against vectorised numpy, a row per vehicle",
        ">= 7 x",
        7,
        at_least=True,
        measure=_ratio(ONE_CORE_DENSE, "batch/numpy-vehicle-rows"),
    ),
    Goal(
        "the same against numpy in float32, a row per slot, blocks tuned to the cache",
        ">= 7 x",
        7,
        at_least=True,
        measure=_ratio(ONE_CORE_DENSE, "batch/numpy-slot-rows"),
    ),
    Goal(
        "switching, 96 slots, least power, 3 sessions",
        "<= 2 ms a plan",
        2000 * MICROSECOND,
        at_least=False,
        measure=_bench_time("switching/day-96"),
    ),
    Goal(
        "a site of 10 vehicles behind one limit, 96 slots, from Python",
        "<= 10 ms",
        10 * MILLISECOND,
        at_least=False,
        measure=_site_time(10),
    ),
    Goal(
        "a site of 100 vehicles behind one limit, 96 slots, from Python",
        "<= 200 ms",
        200 * MILLISECOND,
        at_least=False,
        measure=_site_time(100),
    ),
    Goal(
        "storage with losses and export prices, 96 slots, two cores",
        ">= 300 k/s",
        300_000,
        at_least=True,
        measure=_bench_rate("storage/batch-columns/100000"),
    ),
    Goal(
        "one storage plan in Rust against direct highspy by arrays",
        ">= 100 x",
        100,
        at_least=True,
        measure=_storage_ratio,
    ),
    *STATISTICS_GOALS,
    *(
        Goal(rule.work, rule.goal, rule.most_s, at_least=False, measure=_bench_time(rule.bench))
        for rule in results.RULES
    ),
)
