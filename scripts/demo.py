"""The demonstration behind ``make demo``.

Without arguments a made-up fleet of 10,000 cars, with a week of stays at home
and at work, is planned against a made-up year of hourly prices. The week is
one of a clock change. With ``--data`` the files of a folder take the place of
both. Plans go into a Parquet file, the load of the fleet into a picture.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from time import perf_counter

import pyarrow.parquet as pq

from demo_files import plan_files
from demo_fleet import Fleet, summary
from demo_picture import draw
from slackwater import InputError, sim

YEAR = 2025
WEEK_START = date(2025, 10, 20)
TIME_ZONE = "Europe/Berlin"


def demo(vehicles: int, out: Path, *, seed: int = 0) -> Fleet:
    """Make up a fleet and a year of prices, plan, and write what came out."""
    began = perf_counter()
    prices = sim.year_of_prices(YEAR, time_zone=TIME_ZONE, seed=seed)
    stays = sim.week_of_stays(vehicles, week_start=WEEK_START, time_zone=TIME_ZONE, seed=seed)
    seconds = perf_counter() - began
    print(f"made up in {seconds:.1f} s, with seed {seed}, on the clocks of {TIME_ZONE}:")
    print(f"  prices  {prices!r}")
    week_end = WEEK_START + timedelta(days=6)
    print(f"  stays   {len(stays):,} of {vehicles:,} cars, in the week to {week_end:%a %d %b %Y},")
    print("          on whose last day clocks go back: it has 25 hours")
    print()
    fleet = Fleet.plan(stays, prices, time_zone=TIME_ZONE)
    print("\n".join(summary(fleet)))
    print()
    title = f"{vehicles:,} cars: low prices alone make a peak, coordination keeps the limit"
    write(fleet, out / "demo-plans.parquet", out / "demo.png", title=title, start=WEEK_START)
    return fleet


def write(
    fleet: Fleet, plans: Path, picture: Path, *, title: str, start: date | None = None
) -> None:
    """Write plans and picture, and say where."""
    plans.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(fleet.plans, plans)
    draw(fleet, picture, title=title, start=start)
    print(f"plans    {plans}")
    print(f"picture  {picture}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--vehicles", type=int, default=10_000, help="cars to make up")
    parser.add_argument("--seed", type=int, default=0, help="another seed, another fleet")
    parser.add_argument("--data", type=Path, help="folder with price lists and driving logs")
    parser.add_argument(
        "--align",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="with --data: move stays that no price covers by whole weeks onto the price list",
    )
    parser.add_argument("--time-zone", help="with --data: zone of local times in all files")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder to write to")
    wanted = parser.parse_args(arguments)
    try:
        if wanted.data is None:
            demo(wanted.vehicles, wanted.out, seed=wanted.seed)
            return 0
        found = plan_files(wanted.data, time_zone=wanted.time_zone, is_aligned=wanted.align)
        for name, fleet in found:
            title = f"{fleet.vehicles:,} vehicles on the prices of {name.partition(' ')[0]}"
            stem = f"demo-{name.replace(' ', '-')}"
            write(fleet, wanted.out / f"{stem}.parquet", wanted.out / f"{stem}.png", title=title)
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
