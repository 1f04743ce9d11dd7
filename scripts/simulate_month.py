"""Time a month of many homes, planned again every quarter of an hour, from table to table.

Runs on made-up data, each with the regret split and with a row for each decision:

- vehicles: a stay a night at the plug, as in ``engine/examples/simulate_month.rs``;
- batteries: a home battery beside load and solar power, which are forecast from the day before;
- both: such a battery and a vehicle, planned together, in a few homes (``--both``).

Prices are published at 13:00 of the day before, in quarters of an hour; October has 25 hours on one
of its days.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

import slackwater as sw

ZONE = "Europe/Berlin"
QUARTER = timedelta(minutes=15)
MONTH = datetime(2026, 10, 1, tzinfo=ZoneInfo(ZONE))
HISTORY_DAYS = 2

Array = npt.NDArray[np.float64]


def make_prices(start: datetime, count: int, random: np.random.Generator) -> tuple[Array, Array]:
    """Prices to buy and to sell per kWh: dear evenings, cheap noons, noise."""
    hour = hours_of_day(start, count)
    shape = 0.08 * np.cos((hour - 19) / 24 * 2 * np.pi) - 0.09 * np.exp(-(((hour - 13) / 2.5) ** 2))
    market = 0.09 + shape + random.normal(0, 0.02, count)
    return (market + 0.17).round(5), np.minimum(market - 0.005, market + 0.17).round(5)


def hours_of_day(start: datetime, count: int) -> Array:
    """Hour of the day of each quarter, by the sun and not by the clock."""
    first = start.hour + start.minute / 60
    return (first + np.arange(count) / 4) % 24


def make_stays(homes: int, days: int, random: np.random.Generator) -> pa.Table:
    """A stay of each home each night, from a number of hours at full power."""
    count = homes * days
    home = np.repeat(np.arange(homes), days)
    midnight = np.tile(np.arange(days), homes) * 86_400
    arrival = midnight + (16 * 3_600 + random.uniform(0, 4 * 3_600, count)).astype(int)
    length = (12 * 3_600 + random.uniform(0, 4 * 3_600, count)).astype(int)
    power = np.array([3.7, 7.4, 11.0])[home % 3]
    origin = int(MONTH.timestamp())
    instants = pa.timestamp("us", "UTC")
    return pa.table(
        {
            "id": pa.array(np.arange(count)),
            "home": pa.array(home),
            "arrival": pa.array((origin + arrival) * 1_000_000, instants),
            "departure": pa.array((origin + arrival + length) * 1_000_000, instants),
            "energy_kwh": pa.array(power * random.uniform(2, 7, count)),
            "power_max_kw": pa.array(power),
        }
    )


def make_batteries(homes: int) -> pa.Table:
    """A battery of 5 to 15 kWh for each home."""
    number = np.arange(homes)
    capacity = 5.0 + 2.5 * (number % 5)
    return pa.table(
        {
            "home": pa.array(number),
            "capacity_kwh": pa.array(capacity),
            "soc_percent": pa.array(np.full(homes, 50.0)),
            "soc_min_percent": pa.array(np.full(homes, 10.0)),
            "power_max_kw": pa.array(capacity / 2.5),
            "discharge_max_kw": pa.array(capacity / 2.5),
            "efficiency": pa.array(np.full(homes, 0.95)),
            "discharge_efficiency": pa.array(np.full(homes, 0.95)),
            "wear_price_per_kwh": pa.array(np.full(homes, 0.01)),
        }
    )


def make_power(homes: int, start: datetime, count: int, random: np.random.Generator) -> pa.Table:
    """Load and solar power of each home in each quarter."""
    hour = hours_of_day(start, count)
    days = np.arange(count) // 96
    sun = np.clip(np.sin((hour - 6) / 12 * np.pi), 0, None)
    clear = random.uniform(0.1, 1.0, days[-1] + 1)[days]
    evening = np.exp(-(((hour - 19) / 2) ** 2))
    size = random.uniform(0, 8, (homes, 1))
    solar = size * sun * clear * random.uniform(0.7, 1.0, (homes, count))
    load = random.uniform(0.1, 0.5, (homes, count)) + random.exponential(1.2, (homes, count)) * (
        evening + 0.1
    )
    starts = (int(start.timestamp()) + 900 * np.arange(count)) * 1_000_000
    return pa.table(
        {
            "home": pa.array(np.repeat(np.arange(homes), count)),
            "start": pa.array(np.tile(starts, homes), pa.timestamp("us", "UTC")),
            "load_kw": pa.array(load.ravel().round(3)),
            "solar_kw": pa.array(solar.ravel().round(3)),
        }
    )


def run(name: str, work: Callable[[], sw.Simulation | sw.HomeSimulation]) -> float:
    """Time a simulation and print what it found."""
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    steps = result.steps.num_rows if result.steps is not None else 0
    decisions = sum(pa.table(result.homes)["decisions"].to_pylist())
    sys.stdout.write(
        f"{name}: {seconds:.1f} s with {cores} cores at a load of {load:.1f} before it; "
        f"{decisions:,} decisions, {steps:,} rows\n  {result!r}\n"
    )
    return seconds


def main() -> int:
    """Simulate, and fail if a month of homes takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--homes", type=int, default=1_000)
    parser.add_argument("--both", type=int, default=0, help="homes with a battery and a vehicle")
    parser.add_argument("--days", type=int, default=31)
    parser.add_argument(
        "--seconds-max", type=float, default=60.0, help="of vehicles, and of batteries"
    )
    options = parser.parse_args()
    random, homes = np.random.default_rng(26), max(options.homes, options.both)
    end = MONTH + timedelta(days=options.days)
    first = (MONTH - timedelta(days=HISTORY_DAYS)).astimezone(ZoneInfo("UTC"))
    count = round((end.astimezone(ZoneInfo("UTC")) - first) / QUARTER)
    # The last stays end on the day after the month.
    buying, selling = make_prices(first, count + 2 * 96, random)
    prices = sw.Prices.from_values(first, buying, currency="EUR", slot=QUARTER)
    export = sw.Prices.from_values(first, selling, currency="EUR", slot=QUARTER)
    published = sw.publish_day_ahead(prices, time_zone=ZONE)
    sold = sw.publish_day_ahead(export, time_zone=ZONE)
    stays = make_stays(homes, options.days, random)
    batteries = make_batteries(homes)
    power = make_power(homes, first, count, random)

    def simulate_homes(number: int, vehicles: pa.Table | None = None) -> sw.HomeSimulation:
        return sw.simulate_homes(
            sw.Replan(),
            batteries.slice(0, number),
            prices,
            published,
            stays=vehicles,
            power=power.slice(0, number * count),
            power_forecast=sw.SeasonalNaive(time_zone=ZONE, days=1),
            export_prices=export,
            export_forecasts=sold,
            start=MONTH,
            end=end,
        )

    times = [0.0]
    if options.homes:
        few = stays.slice(0, options.homes * options.days)
        times = [
            run("vehicles", lambda: sw.simulate(sw.Replan(), few, prices, published)),
            run("batteries", lambda: simulate_homes(options.homes)),
        ]
    if options.both:
        own = stays.slice(0, options.both * options.days)
        # The last stay of each home ends after the month.
        inside = own.filter(pc.less_equal(own["departure"], pa.scalar(end)))
        run("both", lambda: simulate_homes(options.both, inside))
    return 1 if max(times) > options.seconds_max else 0


if __name__ == "__main__":
    sys.exit(main())
