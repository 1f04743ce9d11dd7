"""Tables of rooms and tanks, planned row by row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slackwater as sw

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
CENTS = [0.10, 0.40, 0.40, 0.10, 0.30, 0.05]
PRICES = sw.Prices.from_values(SIX, CENTS, currency="EUR")
WEATHER: dict[str, Any] = {
    "outdoor_celsius": [(SIX, SIX + 2 * HOUR, 5.0), (SIX + 2 * HOUR, SIX + 6 * HOUR, -4.0)],
    "set_backs": [("22:00", "06:00", 16, 23)],
    "time_zone": "Europe/Oslo",
    "cop": [(-7, 2.0), (7, 4.0)],
}


def table(count: int = 2, **columns: Any) -> pa.Table:
    """Rooms at 20 °C with heat pumps of 3 kW, over four hours."""
    rows: dict[str, Any] = {
        "id": [f"room {index}" for index in range(count)],
        "now": [SIX] * count,
        "until": [SIX + 4 * HOUR] * count,
        "capacity_kwh_per_k": [5.0] * count,
        "loss_kw_per_k": [0.2] * count,
        "temperature_celsius": [20.0] * count,
        "min_celsius": [20.0] * count,
        "max_celsius": [23.0] * count,
        "power_max_kw": [3.0] * count,
    }
    return pa.table(rows | columns)


def random_rooms(seed: int) -> pa.Table:
    """Forty rooms, some of which cannot hold their band, with and without optional numbers."""
    draw, count = np.random.default_rng(seed), 40
    least = draw.uniform(18, 21, count)

    def some(low: float, high: float) -> list[float | None]:
        return [value if draw.random() < 0.6 else None for value in draw.uniform(low, high, count)]

    return table(
        count,
        now=[SIX + HOUR * float(at) for at in draw.uniform(0, 2, count)],
        until=[SIX + HOUR * float(at) for at in draw.uniform(2, 6, count)],
        capacity_kwh_per_k=draw.uniform(0.3, 9, count),
        loss_kw_per_k=draw.uniform(0, 0.4, count),
        temperature_celsius=draw.uniform(16, 23, count),
        min_celsius=least,
        max_celsius=least + draw.uniform(0, 3, count),
        power_max_kw=draw.uniform(0.5, 4, count),
        cop=some(1, 5),
        gain_kw=some(-1, 2),
        end_value_per_kwh=some(0, 0.1),
    )


@pytest.mark.parametrize("mode", ["heat", "cool"])
@pytest.mark.parametrize("seed", range(3))
def test_a_row_gets_the_plan_it_would_get_alone(seed: int, mode: Any) -> None:
    rooms = random_rooms(seed)
    given = WEATHER | {"mode": mode, "gains_kw": 0.2, "end_value_per_kwh": 0.02}
    plans = pa.table(sw.plan_heat_batch(rooms, PRICES, **given)).to_pylist()
    statuses = set()
    for row in plans:
        alone = sw.plan_heat_row(rooms, PRICES, room=row["id"], **given)
        assert alone.certificate.is_proved
        for name in (
            "cost",
            "used_kwh",
            "heat_kwh",
            "below_celsius_hours",
            "above_celsius_hours",
            "baseline_cost",
            "savings",
            "unpriced_hours",
        ):
            assert row[name] == getattr(alone, name), name
        assert row["temperature_celsius"] == alone.slots[-1].temperature_celsius
        assert row["gap"] == alone.certificate.gap
        found = [(each["start"], each["end"], each["power_kw"]) for each in row["intervals"]]
        assert found == [(each.start, each.end, each.power_kw) for each in alone.intervals]
        is_held = alone.below_celsius_hours + alone.above_celsius_hours == 0
        assert row["status"] == ("optimal" if is_held else "shortfall")
        statuses.add(row["status"])
    assert statuses == {"optimal", "shortfall"}


def test_a_row_without_sense_stops_no_other_row() -> None:
    rooms = table(3, capacity_kwh_per_k=[0.0, 5.0, None], max_celsius=[23.0, 19.0, 23.0])
    plans = pa.table(sw.plan_heat_batch(rooms, PRICES, outdoor_celsius=5)).to_pylist()
    assert [row["error"] for row in plans] == [
        "capacity_kwh_per_k is 0 kWh/K; it is above 0 kWh/K",
        "comfort: min_celsius is 20 °C, above max_celsius, 19 °C",
        "capacity_kwh_per_k is missing",
    ]
    assert {row["status"] for row in plans} == {"error"}
    assert {row["cost"] for row in plans} == {None}
    assert [row["intervals"] for row in plans] == [[], [], []]
    with pytest.raises(sw.InputError, match='"capacity_kwh_per_k" is null for the room'):
        sw.plan_heat_row(rooms, PRICES, room="room 2", outdoor_celsius=5)
    with pytest.raises(sw.InputError, match='room is "hall"; no row has this id'):
        sw.plan_heat_row(rooms, PRICES, room="hall", outdoor_celsius=5)


def test_a_band_that_is_just_held_is_no_shortfall() -> None:
    # 1 kW at COP 3 is the loss at 20 °C and 5 °C outside.
    rooms = table(1, power_max_kw=[1.0])
    flat = sw.Prices.from_values(SIX, [0.1, 0.4, 0.4, 0.4], currency="EUR")
    found = pa.table(sw.plan_heat_batch(rooms, flat, outdoor_celsius=5, cop=3)).to_pylist()[0]
    assert (found["status"], found["below_celsius_hours"]) == ("optimal", 0)
    alone = sw.plan_heat_row(rooms, flat, room="room 0", outdoor_celsius=5, cop=3)
    assert "below the band" not in repr(alone)
    [reason] = alone.explain()
    assert reason.sentence.endswith("to 20 °C, because it would be outside the band later.")


def test_a_loss_in_watts_is_doubted() -> None:
    message = r"loss_kw_per_k is 200 kW/K; a loss in W/K is divided by 1000"
    with pytest.warns(sw.PlausibilityWarning, match=f"row 0: {message}"):
        sw.plan_heat_batch(table(loss_kw_per_k=[200.0] * 2), PRICES, **WEATHER)


def test_what_all_rows_share_is_refused_at_once() -> None:
    with pytest.raises(sw.InputError, match=r"cop\[0\] is -1; it is above 0"):
        sw.plan_heat_batch(table(), PRICES, outdoor_celsius=5, cop=-1)
    with pytest.raises(sw.InputError, match="mode is 'warm'"):
        sw.plan_heat_batch(table(), PRICES, outdoor_celsius=5, mode="warm")  # type: ignore[arg-type]  # the point
    with pytest.raises(sw.InputError, match='"on_off" is not something plan_heat_batch can honour'):
        sw.plan_heat_batch(table(on_off=[True, True]), PRICES, outdoor_celsius=5)
    with pytest.raises(sw.InputError, match="power_max_kw"):
        sw.plan_heat_batch(table().drop(["power_max_kw"]), PRICES, outdoor_celsius=5)
    short = [(SIX, SIX + HOUR, 5.0)]
    plans = pa.table(sw.plan_heat_batch(table(1), PRICES, outdoor_celsius=short)).to_pylist()
    assert "outdoor_celsius has no value at 2026-01-05 19:00:00 UTC" in plans[0]["error"]
    with pytest.warns(sw.PlausibilityWarning, match="power_max_kw"):
        sw.plan_heat_batch(table(power_max_kw=[3.0, 3000.0]), PRICES, outdoor_celsius=5)


def test_prices_by_name() -> None:
    rooms = table(price_id=["x", "y"])
    halves = sw.Prices.from_values(SIX, [0.2] * 8, currency="EUR", slot=HOUR / 2)
    curves = {"x": PRICES, "z": halves}
    plans = pa.table(sw.plan_heat_batch(rooms, curves, outdoor_celsius=5)).to_pylist()
    assert (
        plans[0]["cost"] == sw.plan_heat_row(table(), PRICES, room="room 0", outdoor_celsius=5).cost
    )
    assert plans[1]["error"] == "price_id names no price curve"
    with pytest.raises(sw.InputError, match="outdoor_celsius"):
        sw.plan_heat_batch(rooms, curves, outdoor_celsius=[5.0] * 6)
    same = {"x": PRICES, "y": PRICES.plus(0.1)}
    both = pa.table(sw.plan_heat_batch(rooms, same, outdoor_celsius=[5.0] * 6)).to_pylist()
    assert both[0]["cost"] == plans[0]["cost"] < both[1]["cost"]


def test_emissions_are_those_of_plans_alone() -> None:
    steps = [(SIX + HOUR * at, SIX + HOUR * (at + 1), 0.1 * at) for at in range(6)]
    carbon = sw.Carbon(price_per_kg=0.3, intensity=steps)
    plans = sw.plan_heat_batch(table(), PRICES, outdoor_celsius=5, carbon=carbon)
    alone = sw.plan_heat_row(table(), PRICES, room="room 1", outdoor_celsius=5, carbon=carbon)
    row = pa.table(plans).to_pylist()[1]
    assert row["cost"] == alone.cost
    assert (row["carbon_kg"], row["baseline_carbon_kg"]) == (
        alone.carbon_kg,
        alone.baseline_carbon_kg,
    )
    assert "carbon_kg" not in sw.plan_heat_batch(table(), PRICES, outdoor_celsius=5).column_names


def test_a_day_with_another_number_of_hours_has_the_plans_of_rows_alone() -> None:
    for start in (datetime(2026, 3, 28, 18, tzinfo=UTC), datetime(2026, 10, 24, 18, tzinfo=UTC)):
        prices = sw.Prices.from_values(start, CENTS * 4, currency="EUR")
        rooms = table(now=[start] * 2, until=[start + 24 * HOUR] * 2)
        given = WEATHER | {"outdoor_celsius": 2}
        plans = pa.table(sw.plan_heat_batch(rooms, prices, **given)).to_pylist()
        alone = sw.plan_heat_row(rooms, prices, room="room 0", **given)
        assert plans[0]["cost"] == plans[1]["cost"] == alone.cost
        # The set-back ends at 06:00 on the clock, whichever hour that is in UTC.
        ends = {slot.end for slot in alone.slots}
        hour = 4 if start.month == 3 else 5
        assert (start + timedelta(hours=6 + hour)) in ends
