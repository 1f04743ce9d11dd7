"""What the measuring processes share: their sizes, and the JSON that they print.

Each part of the side-by-side run is a process of its own, with a fresh memory, its own number of
threads, and no other planner in the same interpreter.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from peers import problem
from peers.problem import Fleet


@dataclass(frozen=True)
class Settings:
    """Sizes of a part.

    Attributes:
        vehicles: Vehicles of a batch.
        solver_vehicles: How many of them the solvers are asked about.
        single_vehicles: Vehicles that are planned one call at a time.
        storage_batteries: Batteries of the batch that also sells.
        switching_devices: Devices that switch, planned one call at a time.
        repeats: How often each figure is taken.
        seed: Of the generator.
    """

    vehicles: int = 1_000_000
    solver_vehicles: int = 2_000
    single_vehicles: int = 50
    storage_batteries: int = 100_000
    switching_devices: int = 10
    repeats: int = 3
    seed: int = 1

    def arguments(self) -> list[str]:
        """As the part's command line spells them."""
        return [word for name, value in asdict(self).items() for word in (_flag(name), str(value))]

    def batch(self) -> Fleet:
        """The fleet of the batch figures."""
        return problem.overnight(self.vehicles, seed=self.seed)

    def singles(self) -> Fleet:
        """The fleet of the single-plan figures: every one of the 96 slots may be used."""
        return problem.plugged_in_all_day(self.single_vehicles, seed=self.seed)


@dataclass(frozen=True)
class Timing:
    """How long a planner took.

    Attributes:
        id: ``<group>/<planner>``.
        label: For readers.
        plans: Plans per entry of ``seconds``.
        seconds: Wall time of each call, or of each sweep over the problems.
        cores: Cores that the planner may use.
        detail: Choices made on the way: precision, block size, version.
    """

    id: str
    label: str
    plans: int
    seconds: list[float]
    cores: int = 1
    detail: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a part prints: timings and other facts, or the reason why there are none."""

    timings: list[Timing] = field(default_factory=list)
    facts: Mapping[str, float] = field(default_factory=dict)
    missing: str | None = None

    def to_json(self) -> str:
        """As one line of text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """The inverse of :meth:`to_json`."""
        values: dict[str, Any] = json.loads(text)
        timings = [Timing(**timing) for timing in values.pop("timings")]
        return cls(timings=timings, **values)


def serve(parts: Mapping[str, Callable[[Settings], Outcome]]) -> None:
    """Runs the part that the command line names and prints its outcome."""
    parser = argparse.ArgumentParser(description="One part of the side-by-side run; prints JSON.")
    parser.add_argument("part", choices=parts)
    for name, value in asdict(Settings()).items():
        parser.add_argument(_flag(name), type=int, default=value)
    arguments = vars(parser.parse_args())
    outcome = parts[arguments.pop("part")](Settings(**arguments))
    sys.stdout.write(outcome.to_json() + "\n")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
