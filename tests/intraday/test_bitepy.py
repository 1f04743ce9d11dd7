"""Rolling intrinsic trades against bitepy, the engine of Schaurecker and others (2025).

bitepy re-optimises on a grid of stored energies, ours without one. Both get the order books of
seeded random days. Each re-optimisation of bitepy is asked of ours from the same positions at the
same book: no gain of ours may be lower. bitepy rounds losses to its grid, and then holds positions
that overfill or overdraw the battery by up to a lot; these are counted, and not compared. Totals
are printed, not compared: after the first trade paths differ. bitepy counts in MWh and in lots of
0.1 MWh.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import bitepy
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import slackwater as sw

FIRST = datetime(2024, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURS = 14
LOT = 0.1

# Capacity in MWh, power in MW, efficiencies, fee in EUR/MWh, states of bitepy's grid.
BATTERIES = {
    "lossless": (2.0, 1.0, 1.0, 1.0, 0.1, 21),
    "losses": (2.0, 1.0, 0.9, 0.8, 0.1, 21),
    "coarse": (2.0, 1.0, 0.95, 0.95, 0.09, 11),
    "large": (10.0, 5.0, 0.95, 0.95, 0.09, 101),
}


def random_orders(seed: int) -> Any:
    """Orders of a random day, half a minute apart, in the columns of bitepy."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(700):
        time = FIRST + number * timedelta(seconds=30)
        first = (time - FIRST) // HOUR + 2
        start = FIRST + int(random.integers(first, HOURS)) * HOUR
        side = "SELL" if random.random() < 0.5 else "BUY"
        away = 4 if side == "SELL" else -4
        price = 60 + 25 * np.sin(start.hour * 1.3) + away + random.uniform(-6, 6)
        rows.append(
            {
                "id": number + 1,
                "initial": number + 1,
                "side": side,
                "start": start,
                "transaction": time,
                "validity": time + int(random.integers(10, 200)) * timedelta(minutes=1),
                # Numbers that are exact in binary: bitepy truncates to cents and lots.
                "price": round(4 * float(price)) / 4,
                "quantity": int(random.integers(1, 24)) / 2,
            }
        )
    return pd.DataFrame(rows)


def run_bitepy(orders: Any, battery: str) -> dict[str, Any]:
    """Logs of bitepy after a day."""
    capacity, power, efficiency, discharge_efficiency, fee, states = BATTERIES[battery]
    simulation = bitepy.Simulation(
        start_date=pd.Timestamp(FIRST),
        end_date=pd.Timestamp(FIRST + HOURS * HOUR),
        storage_max=capacity,
        lin_deg_cost=0.0,
        loss_in=efficiency,
        loss_out=discharge_efficiency,
        trading_fee=fee,
        num_stor_states=states,
        withdraw_max=power,
        inject_max=power,
    )
    simulation.add_df_to_orderqueue(orders.copy())
    simulation.run_one_day(is_last=True)
    logs: dict[str, Any] = simulation.get_logs()
    return logs


class Book:
    """Resting orders, matched in lots as an exchange does."""

    def __init__(self) -> None:
        """Begin with no orders."""
        self.resting: dict[int, Any] = {}

    def add(self, order: Any) -> None:
        """Match an order, and keep its rest."""
        self.expire(order.transaction)
        left = round(order.quantity / LOT)
        sign = 1 if order.side == "BUY" else -1
        while left > 0:
            crossing = [
                (sign * other.price, other.transaction, number)
                for number, (other, _) in self.resting.items()
                if other.start == order.start
                and other.side != order.side
                and sign * other.price <= sign * order.price
            ]
            if not crossing:
                self.resting[order.id] = (order, left)
                return
            number = min(crossing)[2]
            matched = min(left, self.resting[number][1])
            self.take(number, matched)
            left -= matched

    def take(self, number: int, lots: int) -> None:
        """Take lots from an order."""
        order, left = self.resting.pop(number)
        assert left >= lots, f"order {number} has {left} lots, not {lots}"
        if left > lots:
            self.resting[number] = (order, left - lots)

    def expire(self, time: datetime) -> None:
        """Remove orders that are over."""
        self.resting = {
            number: entry for number, entry in self.resting.items() if entry[0].validity > time
        }


def trade_ours(
    rows: list[dict[str, Any]], battery: str, **given: Any
) -> sw.RollingIntrinsicTrading:
    """Trade a table of orders, in kWh."""
    capacity, power, efficiency, discharge_efficiency, fee, _ = BATTERIES[battery]
    return sw.trade_rolling_intrinsic(
        pa.Table.from_pylist(rows),
        start=FIRST,
        until=FIRST + HOURS * HOUR,
        capacity_kwh=1000 * capacity,
        power_max_kw=1000 * power,
        discharge_max_kw=1000 * power,
        efficiency=efficiency,
        discharge_efficiency=discharge_efficiency,
        trading_fee_per_kwh=fee / 1000,
        gate_closure=timedelta(0),
        **given,
    )


def row_of(order: Any, time: datetime, lots: int) -> dict[str, Any]:
    """Row of our table for an order of bitepy's."""
    return {
        "time": time,
        "valid_until": order.validity,
        "delivery_start": order.start,
        "side": order.side.lower(),
        "price_per_kwh": order.price / 1000,
        "energy_kwh": 1000 * LOT * lots,
    }


def compare_updates(orders: Any, battery: str) -> list[tuple[float, float | None]]:
    """Gains of bitepy's re-optimisations and of ours at the same books and positions.

    Ours is ``None`` where the battery cannot deliver the positions that bitepy holds.
    """
    logs = run_bitepy(orders, battery)
    executed, accepted = logs["executed_orders"], logs["accepted_orders"]
    queue = list(orders.itertuples())
    book, positions = Book(), [0.0] * HOURS
    gains: list[tuple[float, float | None]] = []
    for run, trades in executed.groupby("dp_run", sort=False):
        time = trades["time"].iloc[0]
        while queue and queue[0].transaction <= time:
            book.add(queue.pop(0))
        book.expire(time)
        before = time - timedelta(milliseconds=1)
        rows = [row_of(order, before, lots) for order, lots in book.resting.values()]
        rows = [row for row in rows if row["delivery_start"] > time]
        # All orders are in the book before the last one, a bid for nothing, asks for trades.
        bid = {"time": time, "side": "buy", "price_per_kwh": 0.0, "energy_kwh": 1e-9}
        rows.append({**rows[-1], **bid})
        theirs = float(trades["reward_incl_deg_costs"].sum())
        try:
            ours = trade_ours(rows, battery, positions_kwh=positions, trade_from=time)
        except sw.InputError as refused:
            if "the positions leave" not in str(refused):
                raise
            gains.append((theirs, None))
        else:
            assert ours.gap_max <= 1e-9
            gains.append((theirs, ours.profit))
        for trade in accepted[accepted["dp_run"] == run].itertuples():
            lots = round((trade.partial_volume if trade.partial else trade.volume) / LOT)
            book.take(int(trade.id), lots)
            sign = 1 if trade.type == "Sell" else -1
            hour = (trade.delivery - FIRST) // HOUR
            positions[hour] += sign * 1000 * LOT * lots
    return gains


@pytest.mark.parametrize("battery", BATTERIES)
def test_no_re_optimisation_gains_less_than_on_a_grid(
    battery: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lower, equal, refused, theirs_sum, ours_sum, ratios = 0, 0, 0, 0.0, 0.0, []
    for seed in range(10):
        orders = random_orders(seed)
        for theirs, ours in compare_updates(orders, battery):
            if ours is None:
                refused += 1
                continue
            lower += ours < theirs - 1e-6
            equal += abs(ours - theirs) <= 1e-6
            ratios.append(ours / theirs)
        executed = run_bitepy(orders, battery)["executed_orders"]
        theirs_sum += float(executed["reward_incl_deg_costs"].sum())
        rows = [
            row_of(order, order.transaction, round(order.quantity / LOT))
            for order in orders.itertuples()
        ]
        # bitepy waits until books are deep; a trade before that would spoil the comparison.
        ours_sum += trade_ours(rows, battery, trade_from=executed["time"].iloc[0]).profit
    with capsys.disabled():
        print(
            f"\n{battery}: {len(ratios)} re-optimisations of bitepy, {equal} equal; ours gains "
            f"{np.median(ratios):.3f} times as much in the median, at least {min(ratios):.6f}; "
            f"{refused} more from positions that cannot be delivered; ten days {theirs_sum:.2f} "
            f"by bitepy, {ours_sum:.2f} by ours"
        )
    assert len(ratios) >= 10
    assert lower == 0
