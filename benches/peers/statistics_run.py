"""Statistics beside polars and DuckDB: ``python benches/peers/statistics_run.py --json FILE``.

Each engine sums up the same table in a process of its own, one after the other and then again:
what else the machine does falls on all of them. What they answer is compared first; a figure of an
engine that answers something else is not written. Last comes one device in quarter hours.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.children import Answer, DisagreementError, child, together

ENGINES: Final = ("slackwater", "polars", "duckdb")
RESOLUTIONS: Final = ("month", "day")
DEVICE_ROWS: Final = 1461 * 96
DEVICES: Final = 1000
# A query of one device takes milliseconds, so it is asked often.
QUERIES: Final = 31
TOLERANCE: Final = 1e-9


def measured(engine: str, resolution: str, rows: int, repeats: int) -> Answer:
    """One engine in a process of its own."""
    words = [engine, resolution, "--rows", str(rows), "--repeats", str(repeats)]
    return child("statistics_child.py", words, engine)


def compare(answers: list[Answer]) -> None:
    """Refuse answers that differ.

    Raises:
        DisagreementError: A sum of one engine is not that of the first.
    """
    first = answers[0]
    for other in answers[1:]:
        for name, expected in first["digest"].items():
            found = other["digest"][name]
            if not math.isclose(expected, found, rel_tol=TOLERANCE):
                text = f"{name}: {first['engine']} {expected!r}, {other['engine']} {found!r}"
                raise DisagreementError(text)


def race(resolution: str, rows: int, repeats: int, rounds: int) -> list[Answer]:
    """All engines, as often as there are rounds."""
    found: dict[str, list[Answer]] = {engine: [] for engine in ENGINES}
    for _ in range(rounds):
        answers = [measured(engine, resolution, rows, repeats) for engine in ENGINES]
        compare(answers)
        for answer in answers:
            found[answer["engine"]].append(answer)
    return [together(found[engine], times=("seconds",), most="extra_bytes") for engine in ENGINES]


def line(answer: Answer) -> str:
    """One engine for people."""
    seconds = statistics.median(answer["seconds"])
    rate = answer["rows"] / seconds / 1e6
    extra, out = (answer[name] / 1e6 for name in ("extra_bytes", "output_bytes"))
    return (
        f"{answer['resolution']:12} {answer['engine']:11} {seconds:8.4f} s  {rate:7.1f} M rows/s  "
        f"{extra:8.0f} MB above the input, {out:.0f} MB of them the answer"
    )


def main() -> None:
    """Runs all engines, compares, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=DEVICES * DEVICE_ROWS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    races = [(resolution, given.rows, 1) for resolution in RESOLUTIONS]
    races.append(("quarter_hour", DEVICE_ROWS, QUERIES))
    found = []
    for resolution, rows, repeats in races:
        answers = race(resolution, rows, repeats, given.rounds)
        found += answers
        print("\n".join(map(line, answers)), flush=True)
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
