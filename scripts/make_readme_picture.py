#!/usr/bin/env python3
"""Draws `docs/first-plan.png`, the picture of the README, from the sample data.

It is the plan of a car that comes home almost empty: charged at once to a
reserve, to 40 % for a late errand, and to 80 % by the morning after a night in
which clocks go back.
"""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import slackwater as sw
from slackwater import io, samples

PICTURE = Path(__file__).parents[1] / "docs" / "first-plan.png"
BYTES_MAX = 150_000
ZONE = "Europe/Berlin"


def plan() -> sw.Plan:
    """The plan to be drawn."""
    berlin = ZoneInfo(ZONE)
    market = io.read_prices_csv(samples.AUTUMN_WEEK, time_zone=ZONE, currency="EUR").prices
    return sw.plan_vehicle(
        market.plus(0.12).times(1.19),
        now=datetime(2026, 10, 24, 17, 30, tzinfo=berlin),
        power_max_kw=11,
        battery=sw.Battery(capacity_kwh=60, soc_percent=12, efficiency=0.92),
        reserve_percent=20,
        targets=[
            sw.SocTarget(by=datetime(2026, 10, 24, 23, 30, tzinfo=berlin), soc_percent=40),
            sw.SocTarget(by=datetime(2026, 10, 25, 8, tzinfo=berlin), soc_percent=80),
        ],
    )


def main() -> None:
    """Write the picture, twice as dense as its size on the page."""
    PICTURE.parent.mkdir(exist_ok=True)
    # Without the version of matplotlib in it, the file changes only when the picture does.
    plan().plot(time_zone=ZONE).savefig(PICTURE, dpi=200, metadata={"Software": None})
    size = PICTURE.stat().st_size
    if size > BYTES_MAX:
        raise SystemExit(f"{PICTURE.name} has {size} bytes, more than {BYTES_MAX}")
    print(f"{PICTURE.name}: {size} bytes")


if __name__ == "__main__":
    main()
