"""Problems of FlexMeasures by hand; `make flexmeasures` has FlexMeasures itself."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import slackwater as sw
from slackwater import _flexmeasures

MIDNIGHT = datetime(2026, 1, 5, tzinfo=UTC)
COLUMNS = [
    "equals",
    "max",
    "min",
    "efficiency",
    "stock delta",
    *(
        f"derivative {name}"
        for name in ("equals", "max", "min", "up efficiency", "down efficiency")
    ),
]


def frame(count: int, freq: str = "1h", **values: Any) -> pd.DataFrame:
    """Constraints of a device or a site; ``power_max`` stands for ``derivative max``."""
    index = pd.date_range(MIDNIGHT, periods=count, freq=freq)
    made = pd.DataFrame(np.nan, index=index, columns=COLUMNS)
    for name, value in values.items():
        made[name.replace("power_", "derivative ").replace("_", " ")] = value
    return made


def battery(count: int = 3, freq: str = "1h", **values: Any) -> pd.DataFrame:
    """5 of 10 MWh, 4 MW in both directions. Levels are relative, in MW times slots."""
    per_mwh = pd.Timedelta("1h") / pd.Timedelta(freq)
    usual = {"power_max": 4, "power_min": -4, "min": -5 * per_mwh, "max": 5 * per_mwh}
    return frame(count, freq, **(usual | values))


def commitment(name: str, index: pd.DatetimeIndex, **values: Any) -> SimpleNamespace:
    """A commitment with the fields of FlexMeasures."""
    usual = {"quantity": 0.0, "up": 0.0, "down": 0.0, "device": 0, "group": range(len(index))}
    series = {key: pd.Series(value, index=index) for key, value in (usual | values).items()}
    return SimpleNamespace(
        name=name,
        provenance=values.get("provenance", "scheduler"),
        quantity=series["quantity"],
        upwards_deviation_price=series["up"],
        downwards_deviation_price=series["down"],
        device=series["device"],
        group=series["group"],
    )


class StockCommitment(SimpleNamespace):
    """A commitment of levels: FlexMeasures tells by the class."""


def stock(name: str, index: pd.DatetimeIndex, **values: Any) -> StockCommitment:
    return StockCommitment(**vars(commitment(name, index, **values)))


def solve(
    frames: list[pd.DataFrame],
    buy: list[float],
    *more: Any,
    sell: list[float] | None = None,
    **site: Any,
) -> tuple[Any, Any]:
    """Powers in MW and the cost, at prices per MWh; no powers if the problem is infeasible."""
    index = pd.DatetimeIndex(frames[0].index)
    hours = (index[1] - index[0] if len(index) > 1 else pd.Timedelta("1h")) / pd.Timedelta("1h")
    devices = pd.Series([tuple(range(len(frames)))] * len(index), index=index)
    energy = commitment(
        "electricity net energy",
        index,
        up=np.array(buy) * hours,
        down=np.array(sell or buy) * hours,
        device=devices,
    )
    limits = frame(len(index), **site).set_index(index)
    starts = [0.0] * len(frames)
    powers, cost, ended, _ = _flexmeasures.solve(frames, [limits], [energy, *more], starts)
    if ended.solver.termination_condition == "infeasible":
        return None, cost
    return [[round(float(power), 6) for power in series] for series in powers], cost


def test_a_battery_buys_low_and_sells_high() -> None:
    kept = battery(min=[-5.0, -5.0, 0.0])
    assert solve([kept], [100, 400, 200]) == ([[4, -4, 0]], pytest.approx(-1200))


def test_prices_and_levels_are_those_of_slots_of_any_length() -> None:
    kept = battery(freq="15min", min=[-20.0, -20.0, 0.0])
    assert solve([kept], [100, 400, 200]) == ([[4, -4, 0]], pytest.approx(-300))


def test_slots_keep_their_length_where_clocks_change() -> None:
    """A level at the end of the hour that clocks show twice, with both hours on sale."""
    kept = battery(5, min=[-5.0, -5.0, 3.0, -5.0, -5.0])
    prices = [100.0, 400.0, 200.0, 300.0, 500.0]
    expected = solve([kept], prices)
    kept.index = pd.date_range("2026-10-25", periods=5, freq="1h", tz="Europe/Amsterdam")
    assert solve([kept], prices) == expected


def test_a_plan_without_a_proof_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    unproved = SimpleNamespace(certificate=SimpleNamespace(is_proved=False), unserved_kwh=0)
    monkeypatch.setattr(_flexmeasures, "plan_storage", lambda *_, **__: unproved)
    with pytest.raises(sw.InputError, match="flex-model gives a plan that is not proved optimal"):
        solve([battery()], [100, 400, 200])


def test_losses_are_counted_in_both_directions() -> None:
    lossy = battery(2, derivative_up_efficiency=0.8, derivative_down_efficiency=0.5, min=0)
    assert solve([lossy], [100, 200]) == ([[0, 0]], pytest.approx(0))
    assert solve([lossy], [100, 300]) == ([[4, -1.6]], pytest.approx(400 - 480))


def test_a_battery_serves_the_load_behind_its_meter_first() -> None:
    load = frame(2, power_equals=[0.0, 3.0])
    powers, cost = solve([battery(2, min=0), load], [100, 300], sell=[50, 80])
    assert powers == [[3, -3], [0, 3]]
    assert cost == pytest.approx(300)


def test_a_limit_of_the_site_leaves_what_the_load_leaves() -> None:
    load = frame(2, power_equals=[1.0, 0.0])
    powers, _ = solve([battery(2, min=[-5.0, 2.0]), load], [100, 300], power_max=2.5)
    assert powers == [[1.5, 0.5], [1, 0]]


def test_a_peak_is_paid_for_once() -> None:
    wants = battery(2, min=[0.0, 4.0])
    index = pd.DatetimeIndex(wants.index)
    peak = commitment("electricity consumption peak", index, up=1000.0, group=0)
    assert solve([wants], [100, 110], peak) == ([[2, 2]], pytest.approx(2420))


def test_full_sooner_breaks_ties_and_nothing_else() -> None:
    wants = battery(min=[-5.0, -5.0, 4.0])
    index = pd.DatetimeIndex(wants.index)
    full = stock("prefer a full storage 0 sooner", index, quantity=5.0, down=-0.001)
    powers, cost = solve([wants], [100, 100, 100], full)
    assert powers == [[4, 1, -1]]
    assert cost == pytest.approx(400 + 0.002)


def test_a_minimum_that_cannot_be_met_is_missed_by_as_little_as_possible() -> None:
    flat = battery(2, min=0)
    index = pd.DatetimeIndex(flat.index)
    wished = stock("all soc minima", index, quantity=[4.5, np.nan], down=-1e6)
    powers, cost = solve([flat], [100, 50], wished)
    assert powers == [[4, -4]]
    assert cost == pytest.approx(200 + 0.5e6)


def test_what_no_schedule_keeps_is_infeasible() -> None:
    assert solve([battery(1, min=4.5)], [100]) == (None, 0)
    assert solve([battery(1, max=-4.5)], [100]) == (None, 0)


def test_no_schedule_is_guessed_where_a_level_would_have_to_fall() -> None:
    with pytest.raises(
        sw.InputError,
        match=r"^soc-maxima or soc-targets would .* of 2026-01-05T01:00:00.*, by 6 MWh",
    ):
        solve([battery(2, max=[5.0, -2.0])], [-100, -100])


def test_no_price_of_a_breach_is_weighed_against_another() -> None:
    given = battery(2, min=[-5.0, 4.5])
    index = pd.DatetimeIndex(given.index)
    most = stock("all soc maxima", index, quantity=[-2.0, np.nan], up=1e6)
    expected = (
        "soc-minima or soc-targets cannot be met within soc-maxima or soc-targets, and a price"
    )
    with pytest.raises(sw.InputError, match=expected):
        solve([given], [-100, -100], most)


def test_solar_power_is_curtailed_at_negative_prices() -> None:
    solar = frame(2, power_max=0.0, power_min=[-3.0, -2.0])
    powers, cost = solve([solar], [100, -10])
    assert powers == [[-3, 0]]
    assert cost == pytest.approx(-300)


@pytest.mark.parametrize(
    ("device", "named", "message"),
    [
        ({"efficiency": 0.99}, None, "storage-efficiency is below 100 %; leave it out, or"),
        ({"stock_delta": 1.0}, None, "soc-gain is more than soc-usage"),
        (
            {"derivative_up_efficiency": [0.9, 0.8, 0.9]},
            None,
            "charging-efficiency changes from 0.8 to 0.9",
        ),
        ({"derivative_down_efficiency": 1.1}, None, "discharging-efficiency is 1.1, not from"),
        ({"power_min": 1.0}, None, "power-capacity of device 0 forbids it to stand still"),
        ({"power_max": np.nan}, None, "power-capacity of device 0 is missing; give it"),
        ({}, "electricity production peak", "site-peak-production-price is a price on what"),
        ({}, "group 3 any consumption breach", "group limits some of the devices"),
        ({}, "gas net energy", "commodity brings the commitment 'gas net energy'"),
    ],
)
def test_what_cannot_be_honoured_is_named(
    device: dict[str, Any], named: str | None, message: str
) -> None:
    given = battery(**device)
    more = [commitment(named, pd.DatetimeIndex(given.index))] if named else []
    with pytest.raises(sw.InputError, match=f"^{message}"):
        solve([given], [100, 400, 200], *more)


def test_a_price_at_which_missing_a_minimum_pays_is_refused() -> None:
    given = battery()
    wished = stock("all soc minima", pd.DatetimeIndex(given.index), quantity=2.0, down=-1000.0)
    expected = "^soc-minima-breach-price is 1000 per MWh: soc-minima may be missed for money; from"
    with pytest.raises(sw.InputError, match=f"{expected} 1400 on it never is"):
        solve([given], [100, 400, 200], wished)


def test_the_page_tells_the_outcomes_of_the_tests_of_flexmeasures() -> None:
    root = Path(__file__).parents[2]
    with (root / "tests/flexmeasures/outcomes.csv").open(encoding="utf-8", newline="") as file:
        outcomes = [row["outcome"] for row in csv.DictReader(file)]
    passed = outcomes.count("passed")
    refused = sum(outcome.startswith("refused: ") for outcome in outcomes)
    page = (root / "docs/how-to/flexmeasures.md").read_text(encoding="utf-8")
    told = f"of {len(outcomes)} that come to a plan, {passed} pass, {refused} name a refused field"
    assert told in page
    assert passed + refused == len(outcomes)
