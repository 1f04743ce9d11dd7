"""Who stops the planning of an area has a plan, at once."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import pyarrow as pa
import pytest

import slackwater as sw
from test_area import HOUR, PRICES, SIX, fleet


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_returns_the_plan_so_far() -> None:
    vehicles = fleet(2_000, energy_kwh=[1.0 + i % 39 for i in range(2_000)])
    pressed: list[float] = []

    def slowly(at: sw.AreaProgress) -> None:
        if at.rounds == 2:
            pressed.append(time.process_time())
            signal.raise_signal(signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    plan = sw.plan_area(vehicles, PRICES, limit_kw=11_000, relative_gap=0, progress=slowly)
    # Work of all threads, so that a busy machine makes no difference.
    assert time.process_time() - pressed[0] < 1
    assert plan.status == "stopped"
    assert max(plan.load_kw) <= 11_000 + 1e-6


def town(count: int, feeders: int) -> tuple[pa.Table, list[sw.Node]]:
    """Make vehicles that come and go at all hours of a night, behind tight feeders."""
    hours = [at * 7919 % 6 for at in range(count)]
    stay = [4 + at * 104729 % 7 for at in range(count)]
    columns: dict[str, list[Any]] = {
        "arrival": [SIX + hour * HOUR for hour in hours],
        "departure": [SIX + (a + b) * HOUR for a, b in zip(hours, stay, strict=True)],
        "energy_kwh": [2.0 + at * 31 % 19 for at in range(count)],
        "node": [f"f{at % feeders}" for at in range(count)],
    }
    each = 1.9 * count / feeders
    nodes = [sw.Node(name="area", limit_kw=1.8 * count)]
    nodes += [sw.Node(name=f"f{at}", parent="area", limit_kw=each) for at in range(feeders)]
    return fleet(count, **columns), nodes


NIGHT = sw.Prices.from_values(
    SIX, [0.2 + (at * 37 % 64) / 400 for at in range(64)], slot=HOUR / 4, currency="EUR"
)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("pressed_at", [1, 30, 75, 90])
def test_ctrl_c_in_a_large_area_returns_a_plan_within_a_second(pressed_at: int) -> None:
    vehicles, nodes = town(36_000, 40)
    calls: list[float] = []

    def press(_: sw.AreaProgress) -> None:
        calls.append(time.process_time())
        if len(calls) == pressed_at:
            signal.raise_signal(signal.SIGINT)

    plan = sw.plan_area(vehicles, NIGHT, nodes=nodes, relative_gap=1e-5, progress=press)
    # Work of all threads, so that a busy machine makes no difference.
    assert time.process_time() - calls[pressed_at - 1] < 1
    assert len(calls) == pressed_at
    assert (plan.status, plan.is_reproducible) == ("stopped", False)
    for node, told in zip(plan.nodes, nodes, strict=True):
        assert isinstance(told.limit_kw, float)
        assert max(node.load_kw) <= told.limit_kw + 1e-6
    # It is a plan worth having: nearly everybody gets what they need.
    assert plan.shortfall_kwh <= 0.01 * sum(vehicles["energy_kwh"].to_pylist())


def test_a_stop_while_a_shortage_is_shared_says_so_and_loses_nothing() -> None:
    vehicles = fleet(40, energy_kwh=[5.0 + i % 30 for i in range(40)])
    calls = [0]

    def count(_: sw.AreaProgress) -> None:
        calls[0] += 1

    whole = sw.plan_area(vehicles, PRICES, limit_kw=100, progress=count)
    assert whole.shortfall_kwh > 1
    for at in range(1, calls[0]):
        told = [0]

        def stop(_: sw.AreaProgress, at: int = at, told: list[int] = told) -> bool:
            told[0] += 1
            return told[0] == at

        plan = sw.plan_area(vehicles, PRICES, limit_kw=100, progress=stop)
        assert (plan.status, plan.is_reproducible) == ("stopped", False), at
        assert told[0] == at
        assert max(plan.load_kw) <= 100 + 1e-9
