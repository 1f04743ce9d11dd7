"""Plans as files: saved, loaded, planned again and compared."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slackwater as sw
from slackwater.saved import differences, plan_from_json

from fleets import NOON, day_ahead
from saved_plans import (
    CHARGING,
    GOLDEN,
    HOUR,
    KINDS,
    charge,
    duration,
    pickled,
    site,
    storage,
    switching,
)


@pytest.mark.parametrize("make", KINDS)
def test_a_loaded_plan_is_the_plan(make: Any, tmp_path: Path) -> None:
    """Figures, prices, reasons, state of charge, picture."""
    mpl.use("Agg")
    plan, path = make(), tmp_path / "plan.json"
    plan.save(path)
    loaded = sw.load_plan(path)
    assert type(loaded) is type(plan)
    assert loaded == plan
    assert loaded.prices == plan.prices
    assert (loaded.now, loaded.currency) == (plan.now, "EUR")
    assert loaded.explain(time_zone="Europe/Oslo") == plan.explain(time_zone="Europe/Oslo")
    assert loaded._repr_html_() == plan._repr_html_()
    assert loaded.plot().axes
    assert loaded.to_json() == plan.to_json() == path.read_text()
    assert pickle.loads(pickle.dumps(plan)) == copy.deepcopy(plan) == plan  # noqa: S301  our own bytes


@pytest.mark.parametrize("make", CHARGING)
def test_a_loaded_plan_knows_its_battery(make: Any) -> None:
    plan, at = make(), NOON + 8 * HOUR
    loaded = sw.Plan.from_json(plan.to_json())
    assert loaded.soc_percent_by(at) == plan.soc_percent_by(at)
    assert loaded.soc_is_assumed == plan.soc_is_assumed
    assert loaded.stability == plan.stability


def test_what_only_one_kind_has_is_loaded_too() -> None:
    """Prices to sell at, the free choice of hours, a device by name."""
    battery = sw.StoragePlan.from_json(storage().to_json())
    assert battery.export_prices == storage().export_prices != battery.prices
    assert battery.soc_percent_by(NOON + HOUR) == storage().soc_percent_by(NOON + HOUR)
    device = sw.SwitchingPlan.from_json(switching().to_json())
    assert device.free_plan == switching().free_plan
    assert device.smoothness_cost == switching().smoothness_cost
    loaded = sw.SitePlan.from_json(site().to_json())
    assert loaded.device("car") == site().device("car")
    nothing_sold = json.loads(storage().to_json())
    nothing_sold["recorded"]["run"]["prices"]["export"] = None
    assert sw.StoragePlan.from_json(json.dumps(nothing_sold)).export_prices is None


@pytest.mark.parametrize("make", KINDS)
def test_a_plan_tells_what_it_was_asked_for(make: Any) -> None:
    plan = make()
    recorded = json.loads(plan.to_json())["recorded"]["run"]["request"]
    assert plan.request == recorded == pickled(plan).request
    if make is charge:
        assert (plan.request["power_max_kw"], plan.request["reserve_kwh"]) == (11, 2.2)


def test_a_plan_of_another_class_is_refused() -> None:
    with pytest.raises(sw.InputError, match="this is a saved SitePlan, not a Plan"):
        sw.Plan.from_json(site().to_json())


def layered() -> sw.Prices:
    known = sw.Prices.from_slots(day_ahead().slots[:8], currency="EUR")
    return known.with_estimates(day_ahead(), source="last week", ceiling_per_kwh=2.0)


def test_estimates_are_still_estimates_when_loaded() -> None:
    """Sources, energy on estimates, the latest time to decide."""
    plan = charge(prices=layered())
    assert plan.energy_on_estimates_kwh > 0
    loaded = sw.Plan.from_json(plan.to_json())
    assert loaded.prices == plan.prices
    assert loaded.prices.provenance == layered().provenance
    assert loaded.energy_on_estimates_kwh == plan.energy_on_estimates_kwh
    assert loaded.cost_on_estimates == plan.cost_on_estimates
    assert loaded.decide_by == plan.decide_by
    assert loaded.awaiting_prices == plan.awaiting_prices
    assert sw.replay(plan.to_json()).same
    assert pickle.loads(pickle.dumps(plan)).prices == plan.prices  # noqa: S301  our own bytes
    known = charge(prices=sw.Prices.from_slots(layered().slots, currency="EUR"))
    places = {each.path.partition("[")[0] for each in differences(known, plan)}
    assert places == {"layers"}
    battery = sw.plan_storage(
        day_ahead(),
        export_prices=layered(),
        now=NOON,
        battery=sw.Battery(52, 40),
        power_max_kw=11,
        discharge_max_kw=11,
    )
    again = sw.StoragePlan.from_json(battery.to_json())
    assert (again.prices, again.export_prices) == (day_ahead(), layered())


def test_layers_that_make_other_prices_are_refused() -> None:
    saved = json.loads(charge(prices=layered()).to_json())
    saved["layers"]["import"][0]["curve"][2]["price_per_kwh"] += 0.5
    with pytest.raises(sw.InputError, match=r"^layers\.import: they differ from the prices"):
        sw.Plan.from_json(json.dumps(saved))
    saved["layers"]["import"][0]["ceiling_per_kwh"] = 1.0
    with pytest.raises(sw.InputError, match=r"layers\.import: .* is known and needs no ceiling"):
        sw.Plan.from_json(json.dumps(saved))


@pytest.mark.parametrize("make", KINDS)
def test_a_plan_comes_out_the_same(make: Any, tmp_path: Path) -> None:
    """From a file, from its text, and twice the same bytes."""
    text = make().to_json()
    path = tmp_path / "plan.json"
    path.write_text(text)
    for source in (text, str(path), path):
        replayed = sw.replay(source)
        assert replayed.same
        assert replayed.differences == []
        assert replayed.kind == make.__name__
        assert replayed.engine_version == replayed.engine_version_now == sw.__version__
        assert replayed.time_zone_version == replayed.time_zone_version_now
    assert make().to_json() == text
    assert sw.replay(json.dumps(json.loads(text), indent=4)).same


def test_the_layout_is_for_people_and_small() -> None:
    """A field a line, a slot a line, and a plan of 96 slots is no 100 kB."""
    quarter = timedelta(minutes=15)
    prices = sw.Prices.from_values(
        NOON, [n % 7 / 10 for n in range(96)], currency="EUR", slot=quarter
    )
    text = charge(prices=prices).to_json()
    assert len(text) < 40_000
    assert text.endswith("}\n")
    lines = text.splitlines()
    assert lines[:9] == [
        "{",
        '  "format": "slackwater_plan",',
        '  "format_version": 1,',
        f'  "engine_version": "{sw.__version__}",',
        f'  "time_zone_version": "{sw.replay(text).time_zone_version}",',
        '  "currency": "EUR",',
        '  "recorded": {',
        '    "kind": "charge",',
        '    "run": {',
    ]
    slot = '{"start": "2026-01-05T12:00:00Z", "end": "2026-01-05T12:15:00Z", "price_per_kwh": 0.0},'
    assert lines[9:11] == ['      "prices": [', f"        {slot}"]
    empty = sw.plan_charge(prices, now=NOON, power_max_kw=1, targets=[]).to_json()
    assert '"power_limits": [],' in empty


def test_a_tampered_plan_is_noticed() -> None:
    """Which field, what it was, what it is."""
    saved = json.loads(charge().to_json())
    saved["recorded"]["run"]["plan"]["cost"] += 0.25
    replayed = sw.replay(json.dumps(saved))
    [change] = replayed.differences
    assert not replayed.same
    assert change.path == "plan.cost"
    assert change.before == pytest.approx(charge().cost + 0.25)
    assert change.after == charge().cost
    price = saved["recorded"]["run"]["prices"][3]
    price["price_per_kwh"] = -1.0
    paths = [each.path for each in sw.replay(json.dumps(saved)).differences]
    assert f"plan.slots[{price['start']}].price_per_kwh" in paths
    saved = json.loads(charge().to_json()) | {"engine_version": "0.0.1"}
    assert sw.replay(json.dumps(saved)).engine_version == "0.0.1"


def test_the_inputs_of_two_plans_are_compared() -> None:
    """Targets and prices by place; an hour more is a change in one hour."""
    assert differences(charge(), charge()) == []
    found = {each.path: each for each in differences(charge(30), charge(20))}
    assert (found["request.targets[1].energy_kwh"].before) == 30.0
    assert (found["request.targets[1].energy_kwh"].after) == 20.0
    fewer = sw.Prices.from_slots(day_ahead().slots[:-1], currency="EUR")
    places = {each.path.split("]")[0] for each in differences(charge(), charge(prices=fewer))}
    last = day_ahead().slots[-1][0]
    assert f"prices[{last:%Y-%m-%dT%H:%M:%SZ}" in places
    assert len([place for place in places if place.startswith("prices")]) == 1
    assert differences(charge(), duration())[0].path == "kind"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "recipe", "format: unknown variant `recipe`"),
        (["format_version"], 2, "format_version: 2 is not known; this engine reads version 1"),
        (["recorded", "kind"], "dream", "recorded.kind: unknown variant `dream`, expected one of"),
        (["recorded", "run", "request", "power_max_kw"], -7, "run: request: power_max_kw is -7 kW"),
        (
            ["recorded", "run", "request", "power_max_kw"],
            None,
            "request.power_max_kw: invalid type",
        ),
        (["recorded", "run", "request", "colour"], "red", "request.*unknown field `colour`"),
        (["recorded", "run", "prices", 1, "price_per_kwh"], 1e300, r"prices\[1\].*is beyond 1e12"),
        (
            ["recorded", "run", "prices", 1, "start"],
            "2026-01-04T00:00:00Z",
            "prices: slot 1 starts",
        ),
        (
            ["recorded", "run", "plan", "slots", 2, "energy_kwh"],
            -1,
            r"run: plan: slots\[2\] has -1",
        ),
        (["recorded", "run", "plan", "purchases", 0, "slot"], 999, "slot is 999; the plan has"),
        (["recorded", "run", "plan", "targets", 0, "by"], "2016-12-31T23:59:60Z", "by is 2016-"),
        (["recorded", "run", "plan", "intervals", 0, "end"], "noon", r"intervals\[0\].end: "),
    ],
)
def test_a_bad_value_is_refused_where_it_stands(
    path: list[Any], value: object, message: str
) -> None:
    """A hand that edits a file is told the place."""
    saved = json.loads(charge().to_json())
    inner = saved
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(sw.InputError, match=message):
        sw.Plan.from_json(json.dumps(saved))


def test_a_purchase_of_nothing_is_drawn_and_told() -> None:
    """A period without length has no price to show."""
    mpl.use("Agg")
    saved = json.loads(duration().to_json())
    for purchase in saved["recorded"]["run"]["plan"]["purchases"]:
        purchase["energy_kwh"] = 0
    plan = sw.Plan.from_json(json.dumps(saved))
    assert plan.explain()[0].start == plan.explain()[0].end
    assert plan.plot().axes


def test_a_file_that_is_none_of_ours_is_named(tmp_path: Path) -> None:
    """Another file, half a file, no text, an older engine."""
    path = tmp_path / "plan.json"
    path.write_text('{"cost": 1.0}')
    with pytest.raises(sw.InputError, match=r"plan.json: this is no saved plan"):
        sw.load_plan(path)
    path.write_text(charge().to_json()[:999])
    with pytest.raises(sw.InputError, match=r"plan.json: recorded.run.*EOF while parsing"):
        sw.replay(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(sw.InputError, match="byte 0 is not UTF-8"):
        sw.load_plan(path)
    path.write_text(charge().to_json() + "{}")
    with pytest.raises(sw.InputError, match="trailing characters"):
        sw.load_plan(str(path))
    with pytest.raises(FileNotFoundError):
        sw.load_plan(tmp_path / "none.json")
    old = charge().to_json().replace(f'"{sw.__version__}"', '"0.0.1"').replace("cost", "price", 1)
    with pytest.raises(sw.InputError, match=r"the file is of engine 0\.0\.1, this is"):
        sw.Plan.from_json(old)
    with pytest.raises(sw.InputError, match="recursion limit"):
        sw.Plan.from_json("[" * 100_000)


TEXTS = [
    make().to_json()
    for make in (lambda: charge(20), storage, switching, site, lambda: charge(prices=layered()))
]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(["", "NaN", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z", -0.0]),
    st.text(max_size=3),
    st.just([]),
    st.just({}),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    inner = [
        place
        for key, item in items
        if isinstance(item, dict | list)
        for place in _places(item, (*path, key))
    ]
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [*((*path, key) for key in keys), *inner]


PLACES = [(text, place) for text in TEXTS for place in _places(json.loads(text))]


def _survives(text: str) -> None:
    """The text is refused in words, or it is a plan that can do everything."""
    try:
        plan = plan_from_json(text)
    except sw.InputError:
        with pytest.raises(sw.InputError):
            sw.replay(text)
        return
    plan.explain(time_zone="Europe/Oslo")
    assert plan_from_json(plan.to_json()) == plan
    for name in ("slots", "targets", "intervals", "sessions", "unmet", "devices", "limits"):
        assert len(getattr(plan, name, [])) >= 0
    assert plan.certificate.cost == plan.certificate.cost
    assert "Plan(" in repr(plan)
    assert plan._repr_html_()
    if isinstance(plan, sw.SwitchingPlan):
        assert plan.free_plan.slots is not None
    replayed = sw.replay(text)
    assert replayed.same == (not replayed.differences)


@given(st.sampled_from(PLACES), ODD)
def test_any_value_in_any_place_is_refused_or_fine(
    at: tuple[str, tuple[Any, ...]], value: object
) -> None:
    """No panic, and no other error."""
    text, place = at
    saved = json.loads(text)
    inner = saved
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    _survives(json.dumps(saved))


@given(st.sampled_from(TEXTS), st.floats(0, 1), st.integers(0, 40), st.text(max_size=4))
def test_any_edit_of_the_text_is_refused_or_fine(
    text: str, share: float, length: int, new: str
) -> None:
    """Cut, overwritten, inserted."""
    at = int(share * len(text))
    _survives(text[:at] + new + text[at + length :])


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_golden_plans_come_out_as_they_were(path: Path) -> None:
    """Files of an earlier engine, byte by byte.

    If this fails the engine answers differently than it did. If that is
    meant, say so in the changelog and add a file; never change one.
    """
    text = path.read_text(encoding="utf-8")
    replayed = sw.replay(text)
    # A file without a field has no tolerance, or no duals; a replay states those that it used.
    names = ("tolerance", "evidence") if replayed.kind == "site" else ()
    missing = [f"plan.certificate.{name}" for name in names if f'"{name}"' not in text]
    assert {each.path for each in replayed.differences} == set(missing)
    assert replayed.same == (not missing)
    now = plan_from_json(text).to_json()
    versions = ("engine_version", "time_zone_version", '"tolerance"')

    def kept(of: str) -> list[str]:
        lines = [line for line in of.splitlines() if not any(v in line for v in versions)]
        return [line.rstrip(",") for line in lines]

    assert kept(now) == kept(text)


def test_there_is_a_golden_plan_of_each_kind() -> None:
    """Of sites there are three: one is older than the tolerance of certificates, one than duals."""
    found = {sw.replay(path).kind for path in GOLDEN.glob("*.json")}
    assert found == {make.__name__ for make in KINDS}
