"""Statistics beside polars and DuckDB: ``python benches/peers/statistics_run.py --json FILE``.

Each engine sums up the same table in a process of its own. What they answer is compared first; a
figure of an engine that answers something else is not written.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
ENGINES: Final = ("slackwater", "polars", "duckdb")
RESOLUTIONS: Final = ("month", "day")
TOLERANCE: Final = 1e-9
TIME_LIMIT_S: Final = 3600

Answer = dict[str, Any]


class DisagreementError(Exception):
    """Engines that answer the same question differently."""


def child(engine: str, resolution: str, rows: int, repeats: int) -> Answer:
    """Measure one engine in a process of its own."""
    words = [sys.executable, str(HERE / "statistics_child.py"), engine, resolution]
    words += ["--rows", str(rows), "--repeats", str(repeats)]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False, env=os.environ
    )
    if done.returncode:
        raise RuntimeError(f"{engine}: {done.stderr.strip().splitlines()[-1]}")
    answer: Answer = json.loads(done.stdout)
    return answer


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


def line(answer: Answer) -> str:
    """One engine for people."""
    seconds = statistics.median(answer["seconds"])
    rate = answer["rows"] / seconds / 1e6
    extra, out = (answer[name] / 1e6 for name in ("extra_bytes", "output_bytes"))
    return (
        f"{answer['resolution']:6} {answer['engine']:11} {seconds:8.3f} s  {rate:7.1f} M rows/s  "
        f"{extra:8.0f} MB above the input, {out:.0f} MB of them the answer"
    )


def main() -> None:
    """Runs all engines, compares, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1000 * 1461 * 96)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = []
    for resolution in RESOLUTIONS:
        answers = [child(engine, resolution, given.rows, given.repeats) for engine in ENGINES]
        compare(answers)
        found += answers
        print("\n".join(map(line, answers)), flush=True)
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
