"""A policy of stable-baselines3 learns in the environment as it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

import slackwater as sw
from slackwater.gym import ChargingEnv

MIDNIGHT = datetime(2026, 1, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)


def environment() -> ChargingEnv:
    """Nights of two weeks: expensive until ten, cheap afterwards."""
    values = [0.40 if hour < 22 else 0.10 for _ in range(15) for hour in range(24)]
    prices = sw.Prices.from_values(MIDNIGHT, values, currency="EUR")
    arrivals = [MIDNIGHT + day * 24 * HOUR + 18 * HOUR for day in range(14)]
    stays = pa.table(
        {
            "id": list(range(14)),
            "arrival": arrivals,
            "departure": [arrival + 6 * HOUR for arrival in arrivals],
            "energy_kwh": [8.0] * 14,
            "power_max_kw": [7.4] * 14,
        }
    )
    published = sw.publish_day_ahead(prices, time_zone="UTC")
    return ChargingEnv(stays, prices, published, step=HOUR, slots=6, price_scale=0.4)


def test_a_policy_learns_to_wait_for_the_cheap_hours() -> None:
    env = environment()
    model = PPO("MlpPolicy", env, n_steps=126, batch_size=63, seed=0, device="cpu")
    before, _ = evaluate_policy(model, Monitor(environment()), n_eval_episodes=14)
    model.learn(20_000)
    after, _ = evaluate_policy(model, Monitor(environment()), n_eval_episodes=14)
    assert float(np.mean(after)) > float(np.mean(before))
