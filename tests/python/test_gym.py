"""The environment for reinforcement learning."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from gymnasium.utils.env_checker import check_env

import slackwater as sw
from slackwater.gym import ChargingEnv

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)


def stays(count: int = 3) -> pa.Table:
    """Vans that come at odd minutes."""
    arrivals = [SIX + timedelta(minutes=7 * index) for index in range(count)]
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "arrival": pa.array(arrivals, pa.timestamp("us", "UTC")),
            "departure": pa.array([at + 3 * HOUR for at in arrivals], pa.timestamp("us", "UTC")),
            "energy_kwh": pa.array([10.0] * count, pa.float64()),
            "power_max_kw": pa.array([7.4] * count, pa.float64()),
        }
    )


def environment(**options: object) -> ChargingEnv:
    """Six hours of prices, all published."""
    prices = sw.Prices.from_values(SIX, [0.3, 0.2, 0.1, 0.4, 0.2, 0.1], currency="EUR")
    forecast = sw.Forecast(prices, known_at=SIX, is_final=True)
    return ChargingEnv(stays(), prices, [forecast], slots=8, **options)  # type: ignore[arg-type]


def test_the_environment_keeps_the_rules_of_gymnasium() -> None:
    check_env(environment(), skip_render_check=True)


def test_an_episode_costs_what_a_simulation_costs() -> None:
    """Charging at a third of the power, in both worlds."""
    env = environment()
    env.reset(seed=1, options={"stay": 1})
    total, has_left = 0.0, False
    while not has_left:
        _, reward, has_left, _, _ = env.step(np.array([1 / 3], dtype=np.float32))
        total -= float(reward)
    prices = sw.Prices.from_values(SIX, [0.3, 0.2, 0.1, 0.4, 0.2, 0.1], currency="EUR")
    share = float(np.float32(1 / 3))
    result = sw.simulate(lambda view: share * view.power_max_kw, stays(), prices, regret=False)
    assert total == pytest.approx(float(pa.table(result.stays)["cost"][1].as_py()))
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(np.array([0.0], dtype=np.float32))


def test_an_observation_tells_what_is_known() -> None:
    env = environment()
    observation, info = env.reset(options={"stay": 0})
    assert info == {"stay": 0}
    assert observation[0] == pytest.approx(10 / 7.4 / 24)
    assert observation[1] == pytest.approx(3 / 24)
    assert observation[5:13] == pytest.approx([0.3] * 4 + [0.2] * 4)
    assert observation[13:] == pytest.approx([1.0] * 8)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(sw.InputError, match="slots is 0"):
        ChargingEnv(stays(), sw.Prices.from_values(SIX, [0.1] * 4, currency="EUR"), slots=0)
    with pytest.raises(sw.InputError, match="the facts have no price"):
        ChargingEnv(stays(), sw.Prices.from_values(SIX, [0.1], currency="EUR"))
    with pytest.raises(sw.InputError, match="stays has no row"):
        ChargingEnv(stays(0), sw.Prices.from_values(SIX, [0.1], currency="EUR"))
    with pytest.raises(sw.InputError, match="stay is 9"):
        environment().reset(options={"stay": 9})
    with pytest.raises(RuntimeError, match="call reset"):
        environment().step(np.array([0.0], dtype=np.float32))
    env = environment()
    env.reset(seed=0)
    with pytest.raises(sw.InputError, match="action: NaN kW"):
        env.step(np.array([np.nan], dtype=np.float32))
