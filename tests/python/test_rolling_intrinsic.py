"""Rolling intrinsic trading: trades by hand, laws of random days, and wrong inputs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slackwater as sw

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def table(*orders: tuple[int, int, str, float, float], **more: list[Any]) -> pa.Table:
    """Orders of minutes before six, hour, side, price, energy."""
    minutes, hours, sides, prices, energies = zip(*orders, strict=True)
    return pa.table(
        {
            "time": [SIX - minute * MINUTE for minute in minutes],
            "delivery_start": [SIX + hour * HOUR for hour in hours],
            "side": sides,
            "price_per_kwh": prices,
            "energy_kwh": energies,
            **more,
        }
    )


def trade(orders: Any, **changes: Any) -> sw.RollingIntrinsicTrading:
    given: dict[str, Any] = {
        "start": SIX,
        "until": SIX + 4 * HOUR,
        "capacity_kwh": 10,
        "power_max_kw": 5,
        "discharge_max_kw": 5,
    }
    return sw.trade_rolling_intrinsic(orders, **given | changes)


PAIR = table((60, 0, "sell", 0.10, 4.0), (50, 2, "buy", 0.30, 3.0))


def test_a_spread_is_traded_with_losses_wear_and_fee() -> None:
    day = trade(
        PAIR,
        efficiency=0.8,
        discharge_efficiency=0.5,
        wear_price_per_kwh=0.01,
        trading_fee_per_kwh=0.002,
    )
    # 4 kWh bought are 3.2 stored, and 1.6 sold.
    bought, sold = day.trades
    assert (bought.order, bought.energy_kwh, bought.price_per_kwh) == (0, 4.0, 0.1)
    assert (sold.order, sold.delivery_start) == (1, SIX + 2 * HOUR)
    assert sold.energy_kwh == pytest.approx(-1.6)
    assert day.fees == pytest.approx(5.6 * 0.002)
    assert day.wear_cost == pytest.approx(3.2 * 0.01)
    assert day.profit == pytest.approx(1.6 * 0.3 - 4 * 0.1 - day.fees - day.wear_cost)
    assert [position.stored_kwh for position in day.positions] == pytest.approx([3.2, 3.2, 0, 0])


def test_no_trade_gains_less_than_its_fees() -> None:
    assert len(trade(PAIR, trading_fee_per_kwh=0.1).trades) == 0
    assert trade(PAIR, trading_fee_per_kwh=0.0999).profit == pytest.approx(3 * 0.0002)


def test_positions_of_an_auction_are_traded_against() -> None:
    held = [3.0, 0.0, -3.0, 0.0]
    orders = table((60, 2, "sell", 0.05, 9.0), (50, 3, "buy", 0.20, 9.0))
    day = trade(orders, positions_kwh=held)
    # What was sold is bought back, and sold an hour later; more is bought and sold, too.
    positions = [position.position_kwh for position in day.positions]
    assert positions == pytest.approx([3.0, 0.0, 2.0, -5.0])
    assert day.profit == pytest.approx(5 * 0.15)


def test_orders_before_trading_fill_the_book() -> None:
    orders = table((60, 0, "sell", 0.10, 4.0), (50, 2, "buy", 0.30, 3.0), (10, 3, "buy", 0.01, 1.0))
    day = trade(orders, trade_from=SIX - 30 * MINUTE)
    assert [update.at for update in day.updates] == [SIX - 10 * MINUTE]


def random_day(seed: int) -> Any:
    random = np.random.default_rng(seed)
    count = 600
    side = np.where(random.random(count) < 0.5, "sell", "buy")
    time = pd.Timestamp(SIX) - pd.Timedelta(minutes=610) + pd.to_timedelta(np.arange(count), "min")
    hour = random.integers(0, 4, count)
    return pd.DataFrame(
        {
            "time": time,
            "valid_until": time + pd.to_timedelta(random.integers(5, 200, count), "min"),
            "delivery_start": pd.Timestamp(SIX) + pd.to_timedelta(hour, "h"),
            "side": side,
            "price_per_kwh": 0.05 * hour + random.uniform(-0.1, 0.1, count),
            "energy_kwh": random.uniform(0.1, 4.0, count),
        }
    )


@pytest.mark.parametrize("seed", range(5))
def test_random_days_keep_their_laws(seed: int) -> None:
    orders = random_day(seed)
    day = trade(orders, efficiency=0.9, discharge_efficiency=0.9, trading_fee_per_kwh=0.001)
    assert len(day.updates) > 10
    assert all(update.is_proved and update.gain > 0 for update in day.updates)
    assert day.profit == pytest.approx(sum(update.gain for update in day.updates))
    # Money and positions, from the trades alone.
    trades: Any = pl.DataFrame(day.trades).join(
        pl.from_pandas(orders).with_row_index("order").with_columns(pl.col("order").cast(pl.Int64)),
        on="order",
    )
    assert (trades["price_per_kwh"] == trades["price_per_kwh_right"]).all()
    taken = trades.group_by("order").agg(
        pl.col("energy_kwh").abs().sum(), pl.col("energy_kwh_right").first()
    )
    assert (taken["energy_kwh"] <= taken["energy_kwh_right"] + 1e-9).all()
    assert ((trades["energy_kwh"] > 0) == (trades["side"] == "sell")).all()
    paid = (trades["energy_kwh"] * trades["price_per_kwh"]).sum()
    assert day.profit == pytest.approx(-paid - 0.001 * trades["energy_kwh"].abs().sum())
    stored = 0.0
    for position in day.positions:
        energy = position.position_kwh
        assert abs(energy) <= 5 + 1e-9
        stored += energy * 0.9 if energy > 0 else energy / 0.9
        assert stored == pytest.approx(position.stored_kwh, abs=1e-9)
        assert 0 <= position.stored_kwh <= 10
    assert day.searches < day.orders
    # Another library, and a copy with nulls for no end, read as the same.
    assert trade(pl.from_pandas(orders), efficiency=0.9).profit == pytest.approx(
        trade(pa.Table.from_pandas(orders), efficiency=0.9).profit
    )


@pytest.mark.filterwarnings("error::slackwater.PlausibilityWarning")
def test_a_battery_of_a_power_plant_is_not_doubted() -> None:
    size = {"capacity_kwh": 200_000, "power_max_kw": 50_000, "discharge_max_kw": 50_000}
    assert trade(PAIR, **size).profit > 0
    with pytest.raises(TypeError, match="capacity_kwh is None; it has to be a number"):
        trade(PAIR, capacity_kwh=None)


ORDER = (60, 0, "sell", 0.10, 4.0)


@pytest.mark.parametrize(
    ("orders", "changes", "told"),
    [
        (PAIR, {"capacity_kwh": 0}, "capacity_kwh is 0 kWh; a battery holds at least"),
        (PAIR, {"power_max_kw": -1}, "power_max_kw is -1 kW; it is 0 kW or more"),
        (PAIR, {"efficiency": 90}, "efficiency is 90; it lies between 0.01 and 1; 90 % is 0.9"),
        (PAIR, {"stored_kwh": float("nan")}, "stored_kwh: NaN kWh is not a finite number"),
        (PAIR, {"until": SIX + 90 * MINUTE}, "is no whole number of products of 60 min"),
        (PAIR, {"positions_kwh": [1]}, "positions_kwh has 1 entries for 4 products"),
        (PAIR, {"positions_kwh": [-1, 0, 0, 1]}, "leave -1 kWh stored after the product from"),
        (table((60, 4, "buy", 0.1, 1)), {}, "row 0: delivery_start is 2026-01-05 22:00:00 UTC; no"),
        (table((60, 0, "BUY", 0.1, 1)), {}, 'row 0: side is "BUY"; it is "buy" or "sell"'),
        (table(ORDER, (59, 0, "buy", 0.1, -1)), {}, "row 1: energy_kwh is -1 kWh; the volume of"),
        (table((60, 0, "buy", float("nan"), 1)), {}, "row 0: price_per_kwh: NaN per kWh is not a"),
        (table(ORDER, (61, 0, "buy", 0.1, 1)), {}, "row 1: time is 2026-01-05 16:59:00 UTC"),
        (table((5, 0, "buy", 0.1, 1)), {}, "the product from 2026-01-05 18:00:00 UTC closed at"),
        (table(ORDER, valid_until=[SIX - HOUR]), {}, "row 0: valid_until is 2026-01-05 17:00:00"),
        (
            table(ORDER, delivery_end=[SIX + 15 * MINUTE]),
            {},
            "delivery_end is 2026-01-05 18:15:00 UTC; the product from 2026-01-05 18:00",
        ),
        (table(ORDER, valid_till=[SIX - HOUR]), {}, '"valid_till"'),
        (PAIR, {"positions_kwh": [0, float("nan"), 0, 0]}, "positions_kwh[1]: NaN kWh is not a"),
        (PAIR.drop(["side"]), {}, "side"),
    ],
)  # fmt: skip
def test_wrong_inputs_are_told(orders: Any, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(sw.InputError) as refused:
        trade(orders, **changes)
    assert told in str(refused.value)


def test_positions_of_other_times_are_refused() -> None:
    positions = [1.0, 0.0, -1.0, 0.0]
    index = pd.date_range(SIX, periods=4, freq="h")
    day = trade(PAIR, positions_kwh=pd.Series(positions, index))
    assert day == trade(PAIR, positions_kwh=positions)
    late = pd.Series(positions, index + HOUR)
    with pytest.raises(sw.InputError, match=r"positions_kwh: index\[0\] is 2026-01-05 19:00"):
        trade(PAIR, positions_kwh=late)
