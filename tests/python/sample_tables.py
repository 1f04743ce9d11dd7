"""Tables for the tests of statistics."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pyarrow as pa

import slackwater as sw
from slackwater import statistics

MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
HOUR, QUARTER = timedelta(hours=1), timedelta(minutes=15)


def quarters(rows: int, *, seed: int = 0, devices: int = 3) -> pa.Table:
    """Quarter hours over both clock changes of 2024: gaps, no price, no power, smart or not."""
    source = random.Random(seed)
    start = datetime(2024, 3, 29, tzinfo=UTC)
    built = []
    for row in range(rows):
        begins = start + (row // devices) * QUARTER * source.choice((1, 1, 1, 7))
        kind = source.random()
        built.append(
            {
                "device": f"d{row % devices}",
                "start": begins,
                "end": begins + QUARTER,
                "power_kw": None if kind < 0.1 else round(source.uniform(-2, 11), 3),
                "price_per_kwh": None if 0.1 < kind < 0.2 else round(source.uniform(-0.1, 0.6), 4),
                "non_smart_kw": round(source.uniform(0, 11), 3) if kind > 0.7 else None,
            }
        )
    types = pa.schema(
        [
            ("device", pa.string()),
            ("start", pa.timestamp("us", "UTC")),
            ("end", pa.timestamp("us", "UTC")),
            ("power_kw", pa.float64()),
            ("price_per_kwh", pa.float64()),
            ("non_smart_kw", pa.float64()),
        ]
    )
    return pa.Table.from_pylist(built, schema=types)


def aggregate(samples: Any, **choices: Any) -> pl.DataFrame:
    return pl.DataFrame(statistics.aggregate(samples, **choices))


def prices_of(values: list[float]) -> sw.Prices:
    return sw.Prices.from_values(MONDAY, values, currency="EUR")


def ledger_tables(sessions: int, seed: int = 0) -> tuple[pa.Table, pa.Table]:
    source = random.Random(seed)
    heads, rows = [], []
    for session in range(sessions):
        plugged_in = MONDAY + source.randrange(0, 60) * QUARTER
        smart = source.random() < 0.8
        power = source.choice((3.7, 11.0))
        heads.append((f"s{session}", plugged_in, power, smart))
        at = plugged_in + source.randrange(0, 20) * QUARTER
        for _ in range(source.randrange(0, 9)):
            kw = round(source.uniform(0, power), 3)
            rows.append((f"s{session}", at, at + QUARTER, kw))
            at += QUARTER * source.choice((1, 1, 3))
    source.shuffle(rows)
    names = ["session", "plugged_in", "power_max_kw", "is_smart"]
    heads_table = pa.table(dict(zip(names, map(list, zip(*heads, strict=True)), strict=True)))
    columns = zip(["session", "start", "end", "power_kw"], zip(*rows, strict=True), strict=True)
    return heads_table, pa.table({name: list(values) for name, values in columns})
