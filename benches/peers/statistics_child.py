"""One engine sums up one table: ``python benches/peers/statistics_child.py slackwater month``.

A process of its own for each engine, so that its peak memory is its own. Prints a line of JSON:
seconds, memory, and sums of every column, by which the engines are compared before any timing
counts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.measure import forget_peak, peak_bytes, resident_bytes

QUARTERS: Final = 1461 * 96
QUARTER: Final = timedelta(minutes=15)
FIRST: Final = datetime(2021, 1, 1, tzinfo=UTC)
EVERY: Final = {"month": "1mo", "day": "1d", "quarter_hour": "15m"}
INTERVAL: Final = {"month": "1 month", "day": "1 day", "quarter_hour": "15 minutes"}
COLUMNS: Final = (
    *("kw_min", "kw_max", "kw_mean", "energy_kwh"),
    *("price_min_per_kwh", "price_max_per_kwh", "price_mean_per_kwh", "cost"),
)

Answer = dict[str, Any]


def table(rows: int, seed: int = 0) -> pa.Table:
    """Quarter hours of as many devices as ``rows`` holds, four years each, one after the other.

    Device by device into columns that are there once: 140 million rows in memory twice would be
    more than the sums need by far.
    """
    random = np.random.default_rng(seed)
    hour = np.arange(QUARTERS) % 96 / 4
    prices = 0.2 + 0.1 * np.cos(hour / 24 * 2 * np.pi) + random.normal(0, 0.03, QUARTERS)
    micros = np.arange(QUARTERS) * (QUARTER // timedelta(microseconds=1))
    micros += int(FIRST.timestamp()) * 1_000_000
    device, start = np.empty(rows, np.int32), np.empty(rows, np.int64)
    power, price = np.empty(rows), np.empty(rows)
    for number, first in enumerate(range(0, rows, QUARTERS)):
        own = slice(first, min(first + QUARTERS, rows))
        length = own.stop - own.start
        device[own], start[own], price[own] = number, micros[:length], prices[:length]
        kw = random.random(length) * 11.0
        power[own] = np.where(kw < 8.0, 0.0, kw)
    names = pa.array([f"charger-{n:04}" for n in range(-(-rows // QUARTERS))])
    times = pa.Array.from_buffers(pa.timestamp("us", "UTC"), rows, [None, pa.py_buffer(start)])
    return pa.table(
        {
            "device": pa.DictionaryArray.from_arrays(pa.array(device), names),
            "start": times,
            "power_kw": pa.array(power),
            "price_per_kwh": pa.array(price),
        }
    )


def slackwater(samples: pa.Table, resolution: str) -> pa.Table:
    """Sum up with slackwater."""
    import slackwater as sw  # noqa: PLC0415  only the process that is measured loads it

    return pa.table(
        sw.statistics.aggregate(samples, by="device", resolution=resolution, sample_length=QUARTER)
    )


def polars(samples: pa.Table, resolution: str) -> pa.Table:
    """Sum up with the window function of polars."""
    import polars as pl  # noqa: PLC0415

    frame = pl.DataFrame(samples).lazy().set_sorted("start")
    energy = pl.col("power_kw") * 0.25
    cost = energy * pl.col("price_per_kwh")
    sums = (
        frame.group_by_dynamic("start", every=EVERY[resolution], group_by="device")
        .agg(
            kw_min=pl.col("power_kw").min(),
            kw_max=pl.col("power_kw").max(),
            kw_mean=pl.col("power_kw").mean(),
            energy_kwh=energy.sum(),
            price_min_per_kwh=pl.col("price_per_kwh").min(),
            price_max_per_kwh=pl.col("price_per_kwh").max(),
            price_plain=pl.col("price_per_kwh").mean(),
            cost=cost.sum(),
        )
        .with_columns(
            price_mean_per_kwh=pl.when(pl.col("energy_kwh") != 0)
            .then(pl.col("cost") / pl.col("energy_kwh"))
            .otherwise(pl.col("price_plain"))
        )
        .collect()
    )
    return sums.drop("price_plain").to_arrow()


def duckdb(samples: pa.Table, resolution: str) -> pa.Table:
    """Sum up with buckets of DuckDB."""
    import duckdb as db  # noqa: PLC0415

    connection = db.connect()
    # Buckets of times with a zone go through a calendar that is ten times slower.
    start = samples.column("start").cast(pa.timestamp("us"))
    connection.register("samples", samples.set_column(1, "start", start))
    connection.execute("SET preserve_insertion_order = false")
    found = connection.sql(
        f"""
        SELECT device, time_bucket(INTERVAL '{INTERVAL[resolution]}', start) AS date,
            min(power_kw) AS kw_min, max(power_kw) AS kw_max, avg(power_kw) AS kw_mean,
            sum(power_kw * 0.25) AS energy_kwh,
            min(price_per_kwh) AS price_min_per_kwh, max(price_per_kwh) AS price_max_per_kwh,
            coalesce(
                sum(power_kw * 0.25 * price_per_kwh) / nullif(sum(power_kw * 0.25), 0),
                avg(price_per_kwh)
            ) AS price_mean_per_kwh,
            sum(power_kw * 0.25 * price_per_kwh) AS cost
        FROM samples GROUP BY ALL
        """  # noqa: S608  the resolutions are ours
    )
    return found.to_arrow_table()


ENGINES: Final[dict[str, Callable[[pa.Table, str], pa.Table]]] = {
    "slackwater": slackwater,
    "polars": polars,
    "duckdb": duckdb,
}


def digest(answer: pa.Table) -> dict[str, float]:
    """Number of rows and a sum of each column: orders of rows may differ, sums may not."""
    sums = {"rows": float(answer.num_rows)}
    for name in COLUMNS:
        sums[name] = float(np.sum(answer.column(name).cast(pa.float64()).to_numpy()))
    return sums


def measure(engine: str, resolution: str, rows: int, repeats: int) -> Answer:
    """Digest, seconds of each repetition, and the peak above what was there before."""
    run = ENGINES[engine]
    run(table(QUARTERS // 100), resolution)  # loads the engine
    samples = table(rows)
    forget_peak()
    before = resident_bytes()
    answer = run(samples, resolution)
    peak = peak_bytes() - before
    found = digest(answer)
    written = answer.nbytes
    del answer
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        answer = run(samples, resolution)
        seconds.append(time.perf_counter() - began)
        del answer
    return {
        "engine": engine,
        "resolution": resolution,
        "rows": rows,
        "seconds": seconds,
        "input_bytes": samples.nbytes,
        "output_bytes": written,
        "extra_bytes": peak,
        "digest": found,
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("resolution", choices=EVERY)
    parser.add_argument("--rows", type=int, default=1000 * QUARTERS)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    print(json.dumps(measure(given.engine, given.resolution, given.rows, given.repeats)))


if __name__ == "__main__":
    main()
