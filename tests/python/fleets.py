"""Small fleets and prices that several tests share."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa

import slackwater as sw

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)


def day_ahead(slots: int = 96, seed: int = 1) -> sw.Prices:
    """Quarter hours from noon on: dear in the evening, cheap at night."""
    noise = random.Random(seed)
    wave = [0.12 + 0.13 * math.cos(slot / 96 * math.tau) for slot in range(slots)]
    prices = [price + noise.uniform(-0.04, 0.04) for price in wave]
    return sw.Prices.from_values(NOON, prices, currency="EUR", slot=QUARTER)


def fleet(vehicles: int, seed: int = 2) -> pa.Table:
    """Vehicles that come in the afternoon and leave in the morning."""
    noise = random.Random(seed)
    arrival = [NOON + timedelta(minutes=noise.randrange(360)) for _ in range(vehicles)]
    stay = [timedelta(minutes=noise.randrange(60, 1000)) for _ in range(vehicles)]
    return pa.table(
        {
            "id": [f"vehicle-{row}" for row in range(vehicles)],
            "arrival": pa.array(arrival, pa.timestamp("us", "UTC")),
            "departure": pa.array(
                [start + length for start, length in zip(arrival, stay, strict=True)],
                pa.timestamp("us", "UTC"),
            ),
            "energy_kwh": [noise.uniform(0, 60) for _ in range(vehicles)],
            "power_max_kw": [noise.choice([3.7, 7.4, 11.0, 22.0]) for _ in range(vehicles)],
        }
    )
