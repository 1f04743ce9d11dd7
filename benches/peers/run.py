"""Measures slackwater beside its peers: ``python benches/peers/run.py --json out/peers.json``.

Every planner answers the same problems, its costs are compared, and only then it is timed. The
parts take turns, several rounds of them, so that a noisy minute of a shared machine does not fall
on one planner alone; figures are medians over all rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers import machine, results
from peers.parts import Outcome, Settings, Timing
from peers.results import Figure, Run

HERE: Final = Path(__file__).resolve().parent
PART_LIMIT_S: Final = 3600
QUICK: Final = Settings(
    vehicles=20_000,
    solver_vehicles=200,
    single_vehicles=10,
    storage_batteries=2_000,
    switching_devices=3,
    repeats=2,
)


@dataclass(frozen=True)
class Job:
    """A part with its script and its threads.

    Attributes:
        script: Which of the two scripts serves the part.
        part: Name of the part.
        threads: For slackwater; the peers always run on one.
        once: Whether the first round is enough.
    """

    script: str
    part: str
    threads: int = 1
    once: bool = False

    def environment(self) -> dict[str, str]:
        """Variables that hold each planner to its number of threads."""
        if self.script == OURS:
            return {"RAYON_NUM_THREADS": str(self.threads)}
        return {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def command(self, settings: Settings) -> str:
        """What to type to repeat this part alone, settings at their default left out."""
        usual, given = Settings().arguments(), settings.arguments()
        pairs = zip(given[::2], given[1::2], usual[1::2], strict=True)
        changed = [f"{flag} {value}" for flag, value, default in pairs if value != default]
        variables = [f"{name}={value}" for name, value in self.environment().items()]
        words = [*variables, "python", f"benches/peers/{self.script}", self.part, *changed]
        return " ".join(words)


@dataclass
class Collected:
    """What the rounds have brought so far."""

    timings: dict[str, list[Timing]] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    facts: dict[str, float] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


OURS: Final = "part_ours.py"
PEERS: Final = "part_peers.py"
JOBS: Final = (
    Job(OURS, "single-ours"),
    Job(PEERS, "single-solvers"),
    Job(PEERS, "single-flexmeasures", once=True),
    Job(OURS, "batch-ours", threads=1),
    Job(PEERS, "batch-numpy"),
    Job(OURS, "batch-ours", threads=2),
    Job(PEERS, "batch-solvers"),
    Job(PEERS, "own-numpy"),
    Job(OURS, "site-ours"),
    Job(PEERS, "site-solvers"),
    Job(OURS, "storage-ours", threads=1),
    Job(PEERS, "storage-solvers"),
    Job(OURS, "storage-ours", threads=2),
    Job(OURS, "switching-ours"),
    Job(PEERS, "switching-solvers"),
)


def main() -> None:
    """Runs every part, prints the table, writes the JSON; a failed part gives a status of 1."""
    arguments = _arguments()
    settings = QUICK if arguments.quick else Settings()
    if arguments.vehicles is not None:
        settings = Settings(**{**asdict(settings), "vehicles": arguments.vehicles})
    rounds = 1 if arguments.quick else arguments.rounds
    collected = collect(settings, rounds)
    run = Run(
        machine=machine.describe(),
        command=" ".join(["python benches/peers/run.py", *sys.argv[1:]]),
        vehicles=settings.vehicles,
        rounds=rounds,
        figures=_figures(collected),
        facts=collected.facts,
        missing=[*collected.missing, *collected.failed],
    )
    sys.stdout.write(results.table(run))
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(asdict(run), indent=2) + "\n")
    sys.exit(bool(collected.failed))


def collect(settings: Settings, rounds: int) -> Collected:
    """Runs all jobs ``rounds`` times in turns; a job that fails is named and not run again."""
    collected = Collected()
    dropped: set[Job] = set()
    for number in range(rounds):
        for job in JOBS:
            if job in dropped or (job.once and number > 0):
                continue
            sys.stderr.write(f"round {number + 1} of {rounds}: {job.part}, {job.threads} thread\n")
            try:
                outcome = _run(job, settings)
            except PartError as error:
                collected.failed.append(f"{job.part} failed: {error}")
                dropped.add(job)
                continue
            _add(collected, outcome, job, settings)
    return collected


class PartError(Exception):
    """A part ended without an answer; the message is the last line of its complaint."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--vehicles", type=int, help="size of the batch")
    parser.add_argument("--rounds", type=int, default=3, help="how often all parts take turns")
    parser.add_argument("--quick", action="store_true", help="one round of a small batch")
    parser.add_argument("--json", type=Path, help="where the figures go")
    return parser.parse_args()


def _run(job: Job, settings: Settings) -> Outcome:
    done = subprocess.run(
        [sys.executable, str(HERE / job.script), job.part, *settings.arguments()],
        env={**os.environ, **job.environment()},
        capture_output=True,
        text=True,
        timeout=PART_LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        raise PartError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return Outcome.from_json(done.stdout)


def _add(collected: Collected, outcome: Outcome, job: Job, settings: Settings) -> None:
    for timing in outcome.timings:
        collected.timings.setdefault(timing.id, []).append(timing)
        collected.commands[timing.id] = job.command(settings)
    for name, value in outcome.facts.items():
        key = f"{job.part}-{job.threads}/{name}"
        collected.facts[key] = max(value, collected.facts.get(key, value))
    if outcome.missing is not None:
        collected.missing.append(outcome.missing)


def _figures(collected: Collected) -> list[Figure]:
    return [
        _figure(timings, collected.commands[name]) for name, timings in collected.timings.items()
    ]


def _figure(timings: list[Timing], command: str) -> Figure:
    per_plan = [s / timing.plans for timing in timings for s in timing.seconds]
    low, _, high = statistics.quantiles(per_plan) if len(per_plan) > 1 else per_plan * 3
    return Figure(
        id=timings[0].id,
        label=timings[0].label,
        cores=timings[0].cores,
        plan_s=statistics.median(per_plan),
        quartiles_s=(low, high),
        samples=len(per_plan),
        detail=_joined(timing.detail for timing in timings),
        command=command,
    )


def _joined(details: Iterable[str]) -> str:
    """Different details once each, in the order of their rounds."""
    return "; ".join(dict.fromkeys(detail for detail in details if detail))


if __name__ == "__main__":
    main()
