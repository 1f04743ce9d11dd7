"""Areas from file to file: ``python benches/peers/area_run.py AREA_OWN --json FILE``.

Each case runs in a process of its own, three times one after the other, and once where it is long.
The peer is one linear programme by the interior points of HiGHS; costs are compared first.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.children import TIME_LIMIT_S, Answer, DisagreementError, child, together

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
PEER_SIZE: Final = 10_000
FEEDER_SIZE: Final = 100_000
BINDING_FEEDERS: Final = 20
SHARE: Final = 0.35
"""Of the peak of a fleet that nobody manages."""
FEEDER_SHARE: Final = 0.36
"""Of the peak of a tight feeder: less would leave vehicles without their energy."""
LOOSE_SHARE: Final = 1.0
OFTEN: Final = 3
OFTEN_UP_TO: Final = 100_000


def asked(case: Answer) -> Answer:
    """One case in a process of its own."""
    return child("area_child.py", [json.dumps(case)], case["do"])


def measured(case: Answer, times: int) -> Answer:
    """A case with all its times, and with the largest of its peaks of memory."""
    runs = [asked(case) for _ in range(times)]
    return together(runs, times=("seconds", "cpu_seconds"), most="peak_bytes")


def compare(ours: Answer, peer: Answer) -> None:
    """Refuse a plan that is not within its gap of the peer's.

    Raises:
        DisagreementError: One of the two is wrong.
    """
    gap = (ours["cost"] - peer["cost"]) / abs(peer["cost"])
    least = ours["bound"] - 1e-6 * abs(ours["bound"])
    if gap > ours["gap"] + 1e-6 or peer["cost"] < least or math.isnan(gap):
        text = f"cost {ours['cost']!r} and bound {ours['bound']!r}, HiGHS {peer['cost']!r}"
        raise DisagreementError(text)


def sizes(folder: Path, largest: int) -> list[Answer]:
    """One limit, from a thousand vehicles on."""
    found: list[Answer] = []
    for vehicles in (size for size in SIZES if size <= largest):
        path = folder / f"{vehicles}.parquet"
        made = asked({"do": "make", "vehicles": str(path), "count": vehicles})
        case: Answer = {"vehicles": str(path), "out": str(folder / "plans.parquet"), "feeders": []}
        case |= {"limit_kw": SHARE * made["peak_kw"]}
        times = OFTEN if vehicles <= OFTEN_UP_TO else 1
        ours = measured(case | {"do": "plan"}, times)
        found.append({"case": "one limit", "planner": "slackwater", "vehicles": vehicles} | ours)
        if vehicles == PEER_SIZE:
            peer = measured(case | {"do": "highs"}, 1)
            compare(ours, peer)
            found.append({"case": "one limit", "planner": "highs", "vehicles": vehicles} | peer)
    return found


def feeders(folder: Path) -> list[Answer]:
    """Two hundred feeders in one area."""
    path = folder / f"{FEEDER_SIZE}.parquet"
    made = asked({"do": "make", "vehicles": str(path), "count": FEEDER_SIZE})
    peaks = made["feeder_peaks_kw"]
    found: list[Answer] = []
    for tight in (BINDING_FEEDERS, len(peaks)):
        shares = [FEEDER_SHARE if number < tight else LOOSE_SHARE for number in range(len(peaks))]
        limits = [share * peak for share, peak in zip(shares, peaks, strict=True)]
        case: Answer = {"do": "plan", "vehicles": str(path), "out": str(folder / "plans.parquet")}
        case |= {"limit_kw": SHARE * made["peak_kw"], "feeders": limits}
        about: Answer = {"case": f"{tight} tight feeders", "planner": "slackwater"}
        found.append(about | {"vehicles": FEEDER_SIZE} | measured(case, 1))
    return found


def own_curves(example: Path, vehicles: int) -> Answer:
    """A curve for each vehicle: in Rust, because no file holds so many curves in a natural way."""
    done = subprocess.run(
        [str(example), str(vehicles)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=TIME_LIMIT_S,
        check=True,
    )
    answer: Answer = json.loads(done.stdout)
    about = {"case": "own curves", "planner": "slackwater", "vehicles": vehicles}
    return about | answer | {"seconds": [answer["seconds"]]}


def main() -> None:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, required=True, help="where the figures go")
    parser.add_argument("example", type=Path, help="the program `area_own`, built")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="vehicles at most")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = sizes(folder, arguments.largest) + feeders(folder)
    found.append(own_curves(arguments.example, arguments.largest))
    for answer in found:
        seconds = min(answer["seconds"])
        megabytes = answer["peak_bytes"] / 1e6
        name = f"{answer['planner']}, {answer['vehicles']:,} vehicles, {answer['case']}"
        sys.stdout.write(f"{name}: {seconds:.3f} s, {megabytes:,.0f} MB\n")
    arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
