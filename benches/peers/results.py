"""Figures of a run, and the tables that show them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from peers.machine import Machine

OURS_BY_GROUP: Final = {
    "single": "single/slackwater",
    "batch": "batch/slackwater-1",
    "site-10": "site-10/slackwater",
    "site-100": "site-100/slackwater",
    "storage": "storage/slackwater",
    "switching": "switching/slackwater",
}
"""What each group's peers are measured against."""

TITLES: Final = {
    "single": "One plan per call, 96 slots",
    "batch": "Batch on one price curve, 96 slots",
    "own": "Batch with a price curve per vehicle, 96 slots",
    "site-10": "A site of 10 vehicles behind one limit, 96 slots",
    "site-100": "A site of 100 vehicles behind one limit, 96 slots",
    "storage": "Storage with losses and export prices, 96 slots",
    "switching": "A device that switches, 96 slots, least power, 3 sessions",
}
MEMORY_FACTOR: Final = 3


class Rule(NamedTuple):
    """A decision of the service that has a time to keep.

    Attributes:
        bench: The criterion benchmark.
        work: What is decided.
        goal: The longest time, for readers.
        most_s: The longest time.
    """

    bench: str
    work: str
    goal: str
    most_s: float


RULES: Final = (
    Rule("rules/status", "status of a schedule with its next two transitions", "<= 2 us", 2e-6),
    Rule("rules/flex-two-weeks", "all deadlines of a flex policy in two weeks", "<= 5 us", 5e-6),
    Rule("rules/resolve-year", "a year of quarter hours from tariff and market", "<= 2 ms", 2e-3),
    Rule("rules/signal-35040", "35,040 values of a price signal replaced", "<= 5 ms", 5e-3),
)


@dataclass(frozen=True)
class Figure:
    """A planner's time per plan.

    Attributes:
        id: ``<group>/<planner>``.
        label: For readers.
        cores: Cores that the planner may use.
        plan_s: Median wall time per plan.
        quartiles_s: The middle half of the samples lies between these.
        samples: How many the median rests on.
        detail: Choices made on the way.
        command: What to type to take this figure alone.
    """

    id: str
    label: str
    cores: int
    plan_s: float
    quartiles_s: tuple[float, float]
    samples: int
    detail: str
    command: str

    @property
    def group(self) -> str:
        """The part of the id ahead of the slash."""
        return self.id.partition("/")[0]

    @property
    def plans_per_s(self) -> float:
        """Plans per second, all cores together."""
        return 1 / self.plan_s

    @property
    def core_s(self) -> float:
        """Time per plan and core: twice the wall time where two cores share the work."""
        return self.plan_s * self.cores


@dataclass(frozen=True)
class Memory:
    """Memory of a batch from Arrow to Arrow.

    Attributes:
        input_bytes: The vehicles' table.
        output_bytes: The plans' table.
        growth_bytes: Most memory over what the process held before the call, input included there.
    """

    input_bytes: float
    output_bytes: float
    growth_bytes: float

    @property
    def share_of_bound(self) -> float:
        """Input and growth together, as a share of three times the input plus the output."""
        bound = MEMORY_FACTOR * self.input_bytes + self.output_bytes
        return (self.input_bytes + self.growth_bytes) / bound

    def sentence(self) -> str:
        """For readers."""
        return (
            f"input {_megabytes(self.input_bytes)}, output {_megabytes(self.output_bytes)}, "
            f"peak growth during the call {_megabytes(self.growth_bytes)}: input and growth are "
            f"{self.share_of_bound:.2f} of {MEMORY_FACTOR} x input + output"
        )


@dataclass(frozen=True)
class Run:
    """Everything a side-by-side run found out."""

    machine: Machine
    command: str
    vehicles: int
    rounds: int
    figures: list[Figure]
    facts: dict[str, float]
    missing: list[str]

    @classmethod
    def read(cls, path: Path) -> Run:
        """The run that was written as JSON."""
        values: dict[str, Any] = json.loads(path.read_text())
        figures = [
            Figure(**{**figure, "quartiles_s": tuple(figure["quartiles_s"])})
            for figure in values.pop("figures")
        ]
        return cls(machine=Machine(**values.pop("machine")), figures=figures, **values)

    def figure(self, name: str) -> Figure | None:
        """The figure of this id, where it was taken."""
        return next((figure for figure in self.figures if figure.id == name), None)

    def group(self, name: str) -> list[Figure]:
        """Figures of a group, fastest first."""
        members = [figure for figure in self.figures if figure.group == name]
        return sorted(members, key=lambda figure: figure.core_s)

    def fastest(self, prefix: str) -> Figure | None:
        """The figure with the least time per plan and core whose id begins with ``prefix``."""
        members = [figure for figure in self.figures if figure.id.startswith(prefix)]
        return min(members, key=lambda figure: figure.core_s, default=None)

    def ratio(self, figure: Figure) -> float | None:
        """How many times slackwater's time per plan and core fits into this figure's."""
        name = OURS_BY_GROUP.get(figure.group)
        ours = self.figure(name) if name else None
        return figure.core_s / ours.core_s if ours else None

    def memory(self) -> Memory | None:
        """Memory of the batch on all cores, the worst round of it."""
        names = ("input_bytes", "output_bytes", "peak_growth_bytes")
        values = [self.facts.get(f"batch-ours-2/{name}") for name in names]
        found = [value for value in values if value is not None]
        return Memory(*found) if len(found) == len(names) else None


def time_text(seconds: float) -> str:
    """Three digits and a unit: ``0.152 us``, ``43.4 us``, ``35.7 ms``."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def rate_text(per_s: float) -> str:
    """Three digits with a unit for millions and thousands: ``6.59 M/s``, ``23.0 k/s``."""
    for unit, factor in (("M/s", 1e6), ("k/s", 1e3)):
        if per_s >= factor:
            return f"{per_s / factor:.3g} {unit}"
    return f"{per_s:.3g} /s"


def ratio_text(ratio: float | None) -> str:
    """Three digits, or a dash where there is nothing to compare with."""
    if ratio is None:
        return "-"
    return f"{ratio:.0f} x" if ratio >= 100 else f"{ratio:.3g} x"


def table(run: Run) -> str:
    """All figures as text for a terminal."""
    lines = [f"{run.vehicles:,} vehicles, {run.rounds} rounds, {run.machine.cpu}"]
    slots_used = run.facts.get("batch-numpy-1/slots_used")
    if slots_used is not None:
        lines.append(f"plans use {slots_used:.1f} slots on average; all costs agree")
    for group, title in TITLES.items():
        lines += ["", f"{title:<58} {'per plan':>10} {'plans/s':>10} {'per core':>10} {'ratio':>8}"]
        for figure in run.group(group):
            name = f"{figure.label} ({figure.detail})" if figure.detail else figure.label
            lines.append(
                f"  {name:<56} {time_text(figure.plan_s):>10} {rate_text(figure.plans_per_s):>10}"
                f" {rate_text(1 / figure.core_s):>10} {ratio_text(run.ratio(figure)):>8}"
            )
    memory = run.memory()
    lines += ["", f"memory: {memory.sentence()}" if memory else "memory: not measured"]
    lines += [f"not measured: {reason}" for reason in run.missing]
    return "\n".join(lines) + "\n"


def _megabytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB"


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
