"""Heat units on sites: against a second model, and what their plans tell."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import slackwater as sw

from site_model import HOUR, START, Model
from site_random import random_rooms

COLD: dict[str, Any] = {
    "capacity_kwh_per_k": 5,
    "loss_kw_per_k": 0.2,
    "temperature_celsius": 20,
    "comfort_celsius": (20, 23),
    "power_max_kw": 3,
    "cop": 3,
    "outdoor_celsius": 5,
}


def prices(*values: float) -> sw.Prices:
    """Hourly prices from noon."""
    return sw.Prices.from_values(START, list(values), currency="EUR")


def pump(**more: Any) -> sw.HeatUnit:
    """A heat pump that holds 20 °C with 1 kW."""
    return sw.HeatUnit("pump", **COLD | more)


def degree_hours(heat: sw.HeatOutcome | None) -> float:
    """Degree-hours outside the band, on either side."""
    assert heat is not None
    return heat.below_celsius_hours + heat.above_celsius_hours


@pytest.mark.parametrize("seed", range(90))
def test_rooms_are_planned_as_a_second_model_says(seed: int) -> None:
    case = random_rooms(seed)
    plan = case.plan()
    model = Model(case)
    breach, miss, money = model.solve()
    assert plan.status == "optimal"
    assert sum(b.excess_kwh for b in plan.breaches if b.is_hard) == pytest.approx(breach, abs=1e-4)
    weights = {store.name: store.priority for store in case.stores}
    missing = sum(d.shortfall_kwh * weights.get(d.name, 1.0) for d in plan.devices)
    assert missing == pytest.approx(miss, abs=1e-4)
    outside = sum(room.priority * degree_hours(plan.device(room.name).heat) for room in case.rooms)
    # The model leaves 1e-5 of each objective before: of energy, which warms a small tank by more.
    assert outside == pytest.approx(model.degree_hours, abs=5e-4)
    assert plan.cost - plan.stored_value == pytest.approx(money, abs=5e-4)
    assert plan.verify().failed == []
    assert sw.SitePlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("seed", range(6))
def test_a_unit_alone_has_its_own_plan(seed: int) -> None:
    case = random_rooms(seed)
    case.stores, case.runs, case.rooms = [], [], case.rooms[:1]
    room = case.rooms[0]
    curve = sw.Prices.from_values(case.start, case.prices, currency="EUR")
    plan = sw.plan_site(curve, now=case.start, devices=[case.heat_unit(room)])
    zone = case.heat_unit(room).time_zone
    alone = sw.plan_heat(
        curve,
        now=case.start,
        capacity_kwh_per_k=room.capacity,
        loss_kw_per_k=room.loss,
        temperature_celsius=room.start,
        comfort_celsius=room.band,
        set_backs=case.heat_unit(room).set_backs,
        time_zone=zone,
        power_max_kw=room.power,
        cop=case.heat_unit(room).cop,
        outdoor_celsius=list(room.outdoor),
        gains_kw=list(room.gain),
        mode="cool" if room.cools else "heat",
        end_value_per_kwh=room.end_value,
    )
    heat = plan.device(room.name).heat
    assert degree_hours(heat) == pytest.approx(
        alone.below_celsius_hours + alone.above_celsius_hours, abs=1e-5
    )
    assert plan.certificate.cost == pytest.approx(alone.cost, abs=1e-5)


def test_a_deadline_comes_before_comfort_and_comfort_before_money() -> None:
    van = sw.Vehicle("van", power_max_kw=4, targets=[sw.Target(START + 2 * HOUR, 8)])
    curve = prices(0.1, 0.1, 0.9, 0.1)
    plan = sw.plan_site(curve, now=START, devices=[pump(), van], import_limit_kw=4)
    assert plan.shortfall_kwh == 0
    assert plan.device("pump").power_kw[:2] == pytest.approx([0, 0], abs=1e-6)
    heat = plan.device("pump").heat
    assert heat is not None
    # Nobody waits for the cheap hour at the end.
    assert heat.slots[2].temperature_celsius == 20
    assert heat.below_celsius_hours > 1
    assert heat.above_celsius_hours == 0
    assert plan.certificate.is_proved
    assert "°C·h below the band" in repr(plan)
    assert plan.device("van").shortfall_kwh == 0


def test_reasons_name_what_a_unit_runs_for() -> None:
    def reasons(*values: float, **more: Any) -> list[tuple[str, str]]:
        plan = sw.plan_site(prices(*values), now=START, devices=[pump()], **more)
        return [(reason.code, reason.sentence) for reason in plan.explain()]

    cheapest = "until when this is the cheapest time (up to 0.10 EUR/kWh)."
    assert reasons(0.1, 0.4, 0.1) == [
        ("ahead", f"Mon 12:00 to Mon 13:00: pump draws 2.04 kWh ahead of Mon 14:00, {cheapest}"),
        (
            "hold",
            "Mon 14:00 to Mon 15:00: pump draws 1 kWh to hold the edge of its comfort band.",
        ),
    ]
    limited = reasons(0.1, 0.4, 0.4, import_limit_kw=1.5)
    assert [code for code, _ in limited] == ["ahead", "limit"]
    assert "the import limit is reached at Mon 12:00" in limited[1][1]


def test_a_plan_with_a_room_is_saved_replayed_evaluated_drawn_and_a_table() -> None:
    curve = prices(0.1, 0.4, 0.4, 0.1)
    plan = sw.plan_site(curve, now=START, devices=[pump()], import_limit_kw=2)
    assert sw.replay(plan.to_json()).same
    assert pickle.loads(pickle.dumps(plan)) == plan  # noqa: S301  our own
    assert copy.deepcopy(plan) == plan
    assert plan.evaluate(curve).cost == pytest.approx(plan.cost)
    heat = plan.device("pump").heat
    assert heat is not None
    assert pickle.loads(pickle.dumps(heat)) == heat  # noqa: S301  our own
    assert heat.slots[0].to_dict()["outdoor_celsius"] == 5
    table = pa.table(plan)
    temperatures = [slot.temperature_celsius for slot in heat.slots]
    assert table["temperature_end_celsius"].to_pylist() == temperatures
    assert "Temperature" in plan.to_html()
    assert plan.plot() is not None
    near = plan.close_to(plan, budget=0.0)
    assert near.stability is not None
    assert near.stability.change_kwh == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"temperature_celsius": 293.0}, "temperature_celsius is 293 °C"),
        ({"capacity_kwh_per_k": 0.0}, "capacity_kwh_per_k is 0 kWh/K"),
        ({"power_max_kw": -1.0}, "power_max_kw is -1 kW"),
        ({"outdoor_celsius": [1.0]}, "outdoor_celsius has 1 numbers for 2 slots"),
        ({"outdoor_celsius": [(START, START + HOUR, 5.0)]}, "outdoor_celsius has no value at"),
        ({"mode": "dry"}, "mode is 'dry'"),
        ({"priority": 0.0}, "priority is 0"),
        ({"group": "fuse"}, "does not exist"),
    ],
)
def test_errors_name_field_value_and_unit(more: dict[str, Any], words: str) -> None:
    with pytest.raises(sw.InputError) as refused:
        sw.plan_site(prices(0.1, 0.2), now=START, devices=[pump(**more)])
    assert words in str(refused.value)


def test_a_unit_without_room_at_the_end_of_the_plan_is_one_of_all_hours() -> None:
    until = START + timedelta(minutes=90)
    plan = sw.plan_site(prices(0.1, 0.2), now=START, until=until, devices=[replace(pump())])
    heat = plan.device("pump").heat
    assert heat is not None
    assert heat.slots[-1].end == until
