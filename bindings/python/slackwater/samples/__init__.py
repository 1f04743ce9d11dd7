"""Small made-up files in the forms that `slackwater.io` reads.

Each carries the surprises of its form. `scripts/make_samples.py` in the
source tree writes them.
"""

from pathlib import Path

_FOLDER = Path(__file__).parent

AUTUMN_WEEK = _FOLDER / "day-ahead-autumn.csv"
"""A week of hours in EUR per MWh on clocks in Europe/Berlin, from 22 October
2026; 02:00 of 25 October is there twice. Some prices are negative."""

SPRING_WEEK = _FOLDER / "day-ahead-spring.csv"
"""A week of hours in cents per kWh on clocks in Europe/Berlin, from 26 March
2026: semicolons, decimal commas, a byte order mark, a row without a price for
the hour that clocks skip, and one price missing."""

NORDPOOL_SPRING = _FOLDER / "nordpool-spring.csv"
"""Three days of hours in öre per kWh on clocks in Europe/Stockholm, from 28
March 2026, with starts and ends; the second day has 23 hours."""

OCTOPUS_DAY = _FOLDER / "octopus-day.json"
"""The half hours of 18 July 2026 in pence per kWh, newest first; the newest
has no end."""

ENTSOE_DAY = _FOLDER / "entsoe-day.xml"
"""The quarter hours of 10 February 2026 in EUR per MWh, in positions; those
that repeat the price before are left out."""

SIMBEV_EVENTS = _FOLDER / "simbev"
"""A folder with a week of two cars, from 22 October 2026 on clocks in
Europe/Berlin: one charges at home, the other at work and once on the road."""

__all__ = [
    "AUTUMN_WEEK",
    "ENTSOE_DAY",
    "NORDPOOL_SPRING",
    "OCTOPUS_DAY",
    "SIMBEV_EVENTS",
    "SPRING_WEEK",
]
