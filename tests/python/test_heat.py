"""Plans of rooms and tanks, and thermal models from measurements."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import slackwater as sw
from slackwater._pictures import heat_picture
from slackwater._timeline import Steps

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
PRICES = sw.Prices.from_values(SIX, [0.10, 0.40, 0.40, 0.10], currency="EUR")


def plan(prices: sw.Prices = PRICES, **changes: Any) -> sw.HeatPlan:
    """A room at 20 °C with a heat pump of 3 kW, at 5 °C outside."""
    request: dict[str, Any] = {
        "now": SIX,
        "capacity_kwh_per_k": 5,
        "loss_kw_per_k": 0.2,
        "temperature_celsius": 20,
        "comfort_celsius": (20, 23),
        "power_max_kw": 3,
        "cop": 3,
        "outdoor_celsius": 5,
    }
    return sw.plan_heat(prices, **{**request, **changes})


def test_heat_is_stored_before_dear_hours() -> None:
    found = plan()
    assert [round(slot.used_kwh, 3) for slot in found.slots] == [3.0, 0.0, 0.115, 1.0]
    assert found.certificate.is_proved
    assert found.certificate.verify().holds
    assert found.below_celsius_hours == found.above_celsius_hours == 0
    assert found.savings > 0
    assert found.temperature_celsius_at(SIX + timedelta(hours=9)) == pytest.approx(20)


def test_a_picture_has_the_price_of_heat_the_reasons_and_the_band() -> None:
    # Clocks in Oslo are an hour ahead: from 20:00 to 22:00 UTC rooms may be colder.
    prices = sw.Prices.from_values(SIX, [0.10, 0.40, 0.40, 0.40, 0.10], currency="EUR")
    found = plan(prices, set_backs=[("21:00", "22:30", 18, 23)], time_zone="Europe/Oslo")
    price, power, level = heat_picture(found, ZoneInfo("UTC")).panels

    _, heat = price.curves
    assert isinstance(heat, Steps)
    assert heat.values == pytest.approx([(slot.price_per_kwh or 0) / 3 for slot in found.slots])

    assert [curve.label for curve in power.curves] == [
        "to hold the band",
        "ahead, at the cheapest time",
    ]
    running = [
        sum(values)
        for values in zip(
            *(curve.values for curve in power.curves if isinstance(curve, Steps)), strict=True
        )
    ]
    used = [slot.used_kwh * (HOUR / (slot.end - slot.start)) for slot in found.slots]
    assert running == pytest.approx(used)

    band, _ = level.curves
    assert isinstance(band, Steps)
    lows = {end: low for (_, end), low in zip(band.periods, band.base or [], strict=True)}
    assert lows == {
        SIX + 1 * HOUR: 20,
        SIX + 2 * HOUR: 20,
        SIX + 3 * HOUR: 18,
        SIX + 3.5 * HOUR: 18,
        SIX + 4 * HOUR: 20,
        SIX + 5 * HOUR: 20,
    }
    low, high = level.bounds or (0, 0)
    assert 17 < low < 18
    assert 23 < high < 24


def test_electric_heat_has_one_price() -> None:
    (price, *_) = heat_picture(plan(cop=1), ZoneInfo("UTC")).panels
    assert len(price.curves) == 1


def test_a_changed_certificate_does_not_hold() -> None:
    certificate = plan().certificate
    fields: dict[str, Any] = {**certificate.to_dict(), "slots": certificate.slots, "cost": 9.0}
    changed = type(certificate)(**fields)
    assert changed.verify().failed == ["cost", "gap", "is_proved"]


def test_a_plan_is_saved_read_and_made_again() -> None:
    found = plan(set_backs=[("22:00", "06:00", 16, 23)], time_zone="Europe/Oslo")
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301  our own
    assert sw.HeatPlan.from_json(found.to_json()) == found
    assert sw.replay(found.to_json()).same
    assert hash(found) == hash(
        plan(set_backs=[("22:00", "06:00", 16, 23)], time_zone="Europe/Oslo")
    )


def test_a_saved_plan_is_explained_on_the_command_line(tmp_path: Path) -> None:
    plan().save(tmp_path / "plan.json")
    done = subprocess.run(
        [sys.executable, "-m", "slackwater", "explain", str(tmp_path / "plan.json")],
        capture_output=True,
        check=True,
        text=True,
        encoding="utf-8",
    )
    assert "Heat plan" in done.stdout


def test_a_set_back_lets_the_room_cool() -> None:
    found = plan(set_backs=[sw.SetBack("19:30", "06:00", 15, 23)])
    lows = [slot.temperature_min_celsius for slot in found.slots]
    assert lows[0] == 20
    assert lows[-1] == 15


def test_a_cold_room_is_told() -> None:
    found = plan(temperature_celsius=17)
    assert found.below_celsius_hours > 0
    assert "°C·h below the band" in repr(found)
    assert found.explain()[0].code == "recover"


def test_a_room_is_cooled() -> None:
    found = plan(mode="cool", temperature_celsius=23, outdoor_celsius=[38, 38, 38, 38])
    assert found.mode == "cool"
    assert found.slots[0].temperature_celsius < 23
    assert "cools with" in found.explain()[0].sentence


def test_hot_water_is_drawn_from_a_tank() -> None:
    drawn = [(SIX + timedelta(hours=2), SIX + timedelta(hours=3), -4.0)]
    found = plan(gains_kw=drawn, capacity_kwh_per_k=0.3, loss_kw_per_k=0.002, cop=1)
    assert found.slots[2].gain_kw == -4
    assert found.certificate.is_proved


def test_a_plan_under_its_own_prices_costs_what_it_cost() -> None:
    found = plan(end_value_per_kwh=0.02)
    evaluated = found.evaluate(PRICES)
    assert evaluated.cost == pytest.approx(found.cost)
    assert evaluated.baseline_cost == pytest.approx(found.baseline_cost)


QUARTERS = sw.Prices.from_values(
    SIX, [0.10, 0.40, 0.10, 0.40] * 6, slot=timedelta(minutes=15), currency="EUR"
)


def test_a_unit_that_is_on_or_off_keeps_its_least_times() -> None:
    found = plan(QUARTERS, on_off=True, on_min=timedelta(minutes=45), off_min=timedelta(minutes=30))
    assert {run.power_kw for run in found.intervals} == {3.0}
    runs = list(found.intervals)
    assert all(run.end - run.start >= timedelta(minutes=45) for run in runs[:-1])
    pauses = pairwise(runs)
    assert all(after.start - run.end >= timedelta(minutes=30) for run, after in pauses)
    certificate = found.certificate
    assert certificate.bound <= certificate.cost
    assert certificate.gap == certificate.cost - certificate.bound
    assert certificate.on_off is not None
    assert certificate.on_off.on_min_minutes == 45
    assert certificate.verify().holds
    assert found.savings >= 0
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301  our own
    assert sw.HeatPlan.from_json(found.to_json()) == found
    assert sw.replay(found.to_json()).same


def test_a_modulating_unit_has_no_least_times() -> None:
    assert plan().certificate.on_off is None
    without = plan(on_off=True)
    assert {slot.used_kwh for slot in without.slots} <= {0.0, 3.0}


def test_a_state_from_before_lasts_into_the_plan() -> None:
    ten = SIX - timedelta(minutes=10)
    runs = plan(QUARTERS, on_off=True, on_min=timedelta(hours=1), running_since=ten)
    assert all(slot.used_kwh > 0 for slot in runs.slots[:4])
    rests = plan(
        QUARTERS, on_off=True, off_min=timedelta(hours=1), stopped_since=ten, temperature_celsius=17
    )
    assert [slot.used_kwh > 0 for slot in rests.slots[:5]] == [False] * 4 + [True]


def test_a_changed_least_time_does_not_hold() -> None:
    certificate = plan(QUARTERS, on_off=True).certificate
    assert certificate.on_off is not None
    changed: dict[str, Any] = {**certificate.on_off.to_dict(), "on_min_minutes": 600.0}
    rules = type(certificate.on_off)(**changed)
    fields: dict[str, Any] = {
        **certificate.to_dict(),
        "slots": certificate.slots,
        "on_off": rules,
    }
    failed = type(certificate)(**fields).verify().failed
    assert any(line.endswith("on_min_minutes") for line in failed)


def test_a_plan_is_drawn_and_a_table() -> None:
    import pyarrow as pa  # noqa: PLC0415  not all tests need it

    found = plan()
    assert pa.table(found)["temperature_celsius"].to_pylist()[0] > 20
    assert "Temperature" in found.to_html()
    assert found.plot().axes[2].get_ylabel() == "Temperature (°C)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"capacity_kwh_per_k": 0}, "capacity_kwh_per_k is 0 kWh/K; it is above 0 kWh/K"),
        ({"temperature_celsius": 293}, "temperature_celsius is 293 °C"),
        (
            {"comfort_celsius": (24, 20)},
            "comfort_celsius: min_celsius is 24 °C, above max_celsius, 20 °C",
        ),
        ({"mode": "dry"}, "mode"),
        ({"cop": [(7, 4), (2, 3)]}, "outdoor temperatures rise"),
        ({"cop": 0}, r"cop\[0\] is 0"),
        ({"set_backs": [("25:00", "06:00", 16, 20)]}, r"set_backs\[0\].start"),
        ({"outdoor_celsius": [5]}, "outdoor_celsius has 1 numbers for 4 slots"),
        ({"until": SIX + timedelta(hours=9), "outdoor_celsius": [5] * 4}, "no value at"),
        ({"power_max_kw": -1}, "power_max_kw is -1 kW"),
        ({"time_zone": "Europe/Nowhere"}, "Europe/Nowhere"),
        ({"on_min": timedelta(minutes=5)}, "on_min is given for a unit that modulates"),
        ({"stopped_since": SIX}, "stopped_since is given for a unit that modulates"),
        (
            {"on_off": True, "on_min": timedelta(minutes=-5)},
            "on_min is -300 s; it is from 0 to 86400 s",
        ),
        (
            {"on_off": True, "running_since": SIX + timedelta(hours=1)},
            "running_since is 2026-01-05 19:00:00 UTC, after now",
        ),
        (
            {"on_off": True, "running_since": SIX, "stopped_since": SIX},
            "running_since and stopped_since are both given",
        ),
    ],
)
def test_what_makes_no_sense_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(sw.InputError, match=message):
        plan(**change)


def course(noise: float) -> dict[str, Any]:
    """Three days of a house with 0.2 kW/K and 6 kWh/K, whose unit is on every third hour."""
    heat = [6.0 * (hour % 3 == 0) for hour in range(72)]
    inside = [20.0]
    for kw in heat[:-1]:
        limit = 5 + kw / 0.2
        inside.append(limit + (inside[-1] - limit) * math.exp(-0.2 / 6))
    shaken = [celsius + noise * math.sin(7.3 * hour) for hour, celsius in enumerate(inside)]
    return {
        "at": [SIX + timedelta(hours=hour) for hour in range(72)],
        "temperature_celsius": shaken,
        "outdoor_celsius": [5.0] * 72,
        "heat_kw": heat,
    }


def test_a_house_is_identified() -> None:
    fit = sw.identify_heat(**course(0.05))
    assert fit.loss_kw_per_k.low < 0.2 < fit.loss_kw_per_k.high
    assert fit.capacity_kwh_per_k.low < 6 < fit.capacity_kwh_per_k.high
    assert fit.time_constant_hours.value == pytest.approx(30, rel=0.1)
    assert fit.aperture_m2 is None
    assert pickle.loads(pickle.dumps(fit)) == fit  # noqa: S301  our own


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heat_kw": [1.0] * 72}, "heat_kw is 1 in all readings"),
        ({"temperature_celsius": [20.0] * 72}, "temperature_celsius is 20 in all readings"),
        ({"outdoor_celsius": [5.0] * 71}, "outdoor_celsius has 71 values, at has 72"),
        ({"outdoor_celsius": [278.0] * 72}, r"outdoor_celsius\[0\] is 278 °C"),
        ({"irradiance_kw_per_m2": [0.0, 300.0] * 36}, "kw_per_m2.1. is 300 kW/m²; it lies"),
    ],
)
def test_what_cannot_be_identified_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(sw.InputError, match=message):
        sw.identify_heat(**{**course(0.0), **change})


def test_a_question_is_the_plan_with_other_arguments() -> None:
    found = plan()
    answer = found.what_if(power_max_kw=1)
    assert answer.plan == plan(power_max_kw=1)
    assert answer.cost_change == answer.plan.cost - found.cost
    assert answer.degree_hours_change == pytest.approx(0, abs=1e-9)
    assert answer.sentence.startswith("With power_max_kw=1, the plan would cost ")
    assert found.what_if().sentence == "Nothing was changed; the cost is the same."
    assert pickle.loads(pickle.dumps(found)).what_if(power_max_kw=1) == answer  # noqa: S301  our own
    with pytest.raises(sw.InputError, match="read from a file keeps no arguments to change"):
        sw.HeatPlan.from_json(found.to_json()).what_if(power_max_kw=1)


def test_a_question_tells_the_comfort_that_money_is_saved_by() -> None:
    answer = plan().what_if(power_max_kw=0.2)
    assert answer.cost_change < 0
    assert answer.degree_hours_change == pytest.approx(answer.plan.below_celsius_hours)
    assert answer.degree_hours_change > 1
    assert " less and be outside the band by " in answer.sentence
    assert answer.sentence.endswith(" °C·h more.")


def test_a_reason_has_a_deadline() -> None:
    reason = plan().explain()[0]
    assert reason.deadline == SIX + 3 * HOUR
    with pytest.raises(AttributeError, match="`due` of HeatReason is called `deadline`"):
        reason.due  # type: ignore[attr-defined]  # noqa: B018  an earlier name


def test_watts_are_doubted() -> None:
    readings = course(0.0)
    watts = {**readings, "heat_kw": [1000 * kw for kw in readings["heat_kw"]]}
    with pytest.warns(sw.PlausibilityWarning, match=r"heat_kw is 6000 kW; a power in W is"):
        sw.identify_heat(**watts)
    with pytest.warns(sw.PlausibilityWarning, match=r"loss_kw_per_k is 200 kW/K; a loss in W/K"):
        plan(loss_kw_per_k=200)


def test_a_series_is_no_temperature() -> None:
    """Its units are of power, intensity and price; W would be divided by 1000."""
    prices = sw.Prices.from_values(SIX, [0.3, 0.1], currency="EUR")
    cold: Any = sw.Series.from_values(SIX, [5.0, 5.0], unit="W")
    with pytest.raises(TypeError, match=r"outdoor_celsius .*, not a Series"):
        plan(outdoor_celsius=cold)
    rooms = {"capacity_kwh_per_k": [6.0]}
    for call in (sw.plan_heat_batch, partial(sw.plan_heat_row, room=0)):
        with pytest.raises(TypeError, match=r"outdoor_celsius .*, not a Series"):
            call(pa.table(rooms), prices, outdoor_celsius=cold)
