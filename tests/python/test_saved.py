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
from command_line import price_file, run
from slackwater.saved import differences, plan_from_json

from fleets import NOON, day_ahead

HOUR = timedelta(hours=1)
GOLDEN = Path(__file__).parents[1] / "golden"
NEED = ["--now", "2026-01-05T19:00+01:00", "--power-kw", "7", "--time-zone", "Europe/Oslo"]


def charge(kwh: float = 30.0, prices: sw.Prices | None = None) -> sw.Plan:
    targets = [sw.Target(NOON + 6 * HOUR, kwh / 2), sw.Target(NOON + 15 * HOUR, kwh)]
    return sw.plan_charge(
        prices or day_ahead(),
        now=NOON,
        power_max_kw=11,
        targets=targets,
        reserve_kwh=2.2,
        power_limits=[(NOON + HOUR, NOON + 3 * HOUR, 3.7)],
    )


def vehicle() -> sw.Plan:
    battery = sw.Battery(capacity_kwh=61.7, soc_percent=None, efficiency=0.93)
    return sw.plan_vehicle(
        day_ahead(),
        now=NOON,
        power_max_kw=7.4,
        battery=battery._replace(soc_fallback_percent=31),
        targets=[sw.SocTarget(NOON + 12 * HOUR, 80)],
    )


def duration() -> sw.Plan:
    return sw.plan_duration(day_ahead(), now=NOON, duration=2.5 * HOUR, by=None)


def kept() -> sw.Plan:
    fewer = sw.Prices.from_slots(day_ahead().slots()[2:], currency="EUR")
    return vehicle().close_to(charge(prices=fewer), budget=0.5)


def storage() -> sw.StoragePlan:
    return sw.plan_storage(
        day_ahead(),
        export_prices=day_ahead().times(0.8),
        now=NOON,
        battery=sw.Battery(capacity_kwh=52, soc_percent=40, efficiency=0.93),
        efficiency_discharge=0.95,
        charge_max_kw=11,
        discharge_max_kw=7.4,
        targets=[sw.SocTarget(NOON + 12 * HOUR, 80), sw.SocTarget(None, 50)],
        reserve_percent=20,
        consumption=[(NOON + 13 * HOUR, NOON + 14 * HOUR, 6.5)],
        limits=[sw.StorageLimit(NOON, NOON + 2 * HOUR, charge_max_kw=3.7)],
        wear_price_per_kwh=0.01,
    )


def switching() -> sw.SwitchingPlan:
    return sw.plan_switching(
        day_ahead(),
        now=NOON,
        power_max_kw=11,
        power_min_kw=4.1,
        targets=[(NOON + 15 * HOUR, 41)],
        start_cost=0.2,
        sessions_max=3,
        on_min=timedelta(minutes=75),
        running_since=NOON - HOUR,
    )


def site() -> sw.SitePlan:
    van = sw.Vehicle("van", power_max_kw=11, targets=[sw.Target(NOON + 9 * HOUR, 30)])
    car = sw.Vehicle("car", power_max_kw=7.4, targets=[sw.Target(NOON + 9 * HOUR, 90)])
    house = sw.Load("house", power_kw=1.3)
    return sw.plan_site(
        day_ahead(),
        export_prices=day_ahead().times(0.5),
        now=NOON,
        until=NOON + 10 * HOUR,
        devices=[van, car, house],
        import_limit_kw=11,
    )


CHARGING = [charge, vehicle, duration, kept]
KINDS = [*CHARGING, storage, switching, site]


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


def test_a_plan_of_another_class_is_refused() -> None:
    with pytest.raises(sw.InputError, match="this is a saved SitePlan, not a Plan"):
        sw.Plan.from_json(site().to_json())


def layered() -> sw.Prices:
    known = sw.Prices.from_slots(day_ahead().slots()[:8], currency="EUR")
    return known.with_estimates(day_ahead(), source="last week", ceiling_per_kwh=2.0)


def test_estimates_are_still_estimates_when_loaded() -> None:
    """Sources, energy on estimates, the latest time to decide."""
    plan = charge(prices=layered())
    assert plan.energy_on_estimates_kwh > 0
    loaded = sw.Plan.from_json(plan.to_json())
    assert loaded.prices == plan.prices
    assert loaded.prices.provenance() == layered().provenance()
    assert loaded.energy_on_estimates_kwh == plan.energy_on_estimates_kwh
    assert loaded.cost_on_estimates == plan.cost_on_estimates
    assert loaded.decide_by == plan.decide_by
    assert loaded.awaiting_prices == plan.awaiting_prices
    assert sw.replay(plan.to_json()).same
    assert pickle.loads(pickle.dumps(plan)).prices == plan.prices  # noqa: S301  our own bytes
    known = charge(prices=sw.Prices.from_slots(layered().slots(), currency="EUR"))
    places = {each.path.partition("[")[0] for each in differences(known, plan)}
    assert places == {"layers"}
    battery = sw.plan_storage(
        day_ahead(),
        export_prices=layered(),
        now=NOON,
        battery=sw.Battery(52, 40),
        charge_max_kw=11,
        discharge_max_kw=11,
    )
    again = sw.StoragePlan.from_json(battery.to_json())
    assert (again.prices, again.export_prices) == (day_ahead(), layered())


def test_layers_that_make_other_prices_are_refused() -> None:
    saved = json.loads(charge(prices=layered()).to_json())
    saved["layers"]["import"][0]["curve"][2]["price_per_kwh"] += 0.5
    with pytest.raises(sw.InputError, match=r"^layers\.import: they make other prices"):
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
    fewer = sw.Prices.from_slots(day_ahead().slots()[:-1], currency="EUR")
    places = {each.path.split("]")[0] for each in differences(charge(), charge(prices=fewer))}
    last = day_ahead().slots()[-1][0]
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
        assert isinstance(getattr(plan, name, []), list)
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
    assert [(each.path, each.before, each.after) for each in replayed.differences] == []
    assert replayed.same
    now = plan_from_json(text).to_json()
    versions = ("engine_version", "time_zone_version")
    assert [line for line in now.splitlines() if not any(v in line for v in versions)] == [
        line for line in text.splitlines() if not any(v in line for v in versions)
    ]


def test_there_is_a_golden_plan_of_each_kind() -> None:
    found = {sw.replay(path).kind for path in GOLDEN.glob("*.json")}
    assert found == {make.__name__ for make in KINDS}


# ------------------------------------------------------------------ command line


def save(folder: Path, name: str, *need: str) -> Path:
    path = folder / name
    answer = run("plan", "--prices", price_file(folder), *NEED, *need, "--save", path)
    assert answer.code == 0, answer.err
    return path


@pytest.fixture
def ten(tmp_path: Path) -> Path:
    return save(tmp_path, "ten.json", "--energy-kwh", "10", "--by", "22:00")


def test_a_saved_plan_explains_itself(ten: Path) -> None:
    answer = run("explain", ten, "--time-zone", "Europe/Oslo")
    assert (answer.code, answer.err) == (0, "")
    assert "Mon 5 Jan 20:00 to 21:25   10.00   0.1000 to 0.2000   1.30" in answer.out
    assert "because 0.2 is among the cheapest before Mon 22:00" in answer.out
    assert "cost 1.3 EUR; no plan costs less than 1.3 EUR" in answer.out
    assert "10.00 kWh before Mon 5 Jan 22:00: one more would cost 0.2000 EUR" in answer.out
    assert max(len(line) for line in answer.out.splitlines()) <= 100


def test_replay_says_same(ten: Path) -> None:
    answer = run("replay", ten)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"The charge plan in {ten} comes out the same, byte by byte.\n"


def test_replay_says_what_differs_and_leaves_with_three(ten: Path) -> None:
    text = ten.read_text().replace(f'"{sw.__version__}"', '"0.0.9"')
    ten.write_text(text.replace('"cost": 1.3,', '"cost": 1.5,', 1))
    answer = run("replay", ten)
    assert answer.code == 3
    assert "comes out different" in answer.out
    assert f"The file is of engine 0.0.9, this is {sw.__version__}." in answer.out
    assert [line.split() for line in answer.out.splitlines() if "plan.cost" in line] == [
        ["plan.cost", "1.5", "1.3"]
    ]


def test_diff_shows_inputs_prices_periods_and_cost(ten: Path, tmp_path: Path) -> None:
    four = save(tmp_path, "four.json", "--energy-kwh", "4", "--by", "22:00")
    saved = json.loads(four.read_text())
    answer = run("diff", ten, four, "--time-zone", "Europe/Oslo")
    assert answer.code == 3
    rows = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert "request.targets[0].energy_kwh 10.0 4.0" in rows
    assert "Mon 5 Jan 20:00 7.00 4.00" in rows
    assert "Mon 5 Jan 21:00 3.00 0.00" in rows
    assert "cost 1.3 0.4" in rows
    reached = "2026-01-05T21:25:42.857143+01:00 2026-01-05T20:34:17.142857+01:00"
    assert f"targets[0].reached_at {reached}" in rows
    assert not any("purchases" in row for row in rows)
    saved["recorded"]["run"]["prices"][0]["price_per_kwh"] = 0.9
    four.write_text(json.dumps(saved))
    rows = [" ".join(line.split()) for line in run("diff", ten, four).out.splitlines()]
    assert "Mon 5 Jan 18:00 0.3000 0.9000" in rows


def test_diff_of_plans_of_two_kinds_and_days(ten: Path) -> None:
    answer = run("diff", ten, GOLDEN / "duration.json")
    rows = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert "kind charge duration" in rows
    assert "Mon 5 Jan 18:00 0.3000 -" in rows
    assert "Mon 5 Jan 19:00 7.00 -" in rows
    assert "Sat 28 Mar 23:00 - 1.34" in rows
    assert not any(row.endswith(" - -") for row in rows)


def test_diff_of_a_plan_with_itself(ten: Path) -> None:
    answer = run("diff", ten, ten)
    assert (answer.code, answer.out) == (0, "The plans and all their inputs are the same.\n")


def test_bad_files_are_refused_in_one_line(ten: Path, tmp_path: Path) -> None:
    out = tmp_path / "answer.json"
    run("plan", "--prices", price_file(tmp_path), *NEED, "--energy-kwh", "9", "--out", out)
    assert run("replay", out).error.startswith(f"{out}: this is no saved plan")
    ten.write_text(ten.read_text().replace('"power_max_kw": 7.0', '"power_max_kw": null', 1))
    place = "recorded.run.request.power_max_kw: invalid type: null"
    assert run("explain", ten).error.startswith(f"{ten}: {place}")
    assert run("diff", ten, tmp_path / "none.json").code == 2
    assert "No such file" in run("replay", tmp_path / "none.json").error
    save = run("plan", "--prices", price_file(tmp_path), *NEED, "--save", tmp_path / "a.csv")
    assert "has to end in .json" in save.error


@pytest.mark.parametrize("make", KINDS)
def test_every_kind_is_explained_and_replayed(make: Any, tmp_path: Path) -> None:
    """A row and a sentence for each reason, and the proof."""
    plan, path = make(), tmp_path / "plan.json"
    plan.save(path)
    answer = run("explain", path, "--time-zone", "Europe/Oslo")
    assert (answer.code, answer.err) == (0, "")
    out = " ".join(answer.out.split())
    for reason in plan.explain(time_zone="Europe/Oslo"):
        assert " ".join(reason.sentence.split()) in out
        assert reason.code.replace("_", " ") in out
    assert f"no plan costs less than {plan.certificate.bound:.6g} EUR" in out
    assert max(len(line) for line in answer.out.splitlines()) <= 100
    answer = run("replay", path)
    text = f"The {make.__name__} plan in {path} comes out the same, byte by byte."
    assert (answer.code, answer.out.strip()) == (0, text)


@pytest.mark.parametrize(
    ("make", "curve", "titles"),
    [
        (storage, ["prices", "export"], ["Export prices, EUR/kWh, UTC", "Discharging, kWh, UTC"]),
        (switching, ["prices"], ["Prices, EUR/kWh, UTC", "Charging, kWh, UTC"]),
        (site, ["request", "import_prices"], ["Prices, EUR/kWh, UTC", "Import, kWh, UTC"]),
    ],
)
def test_diff_speaks_of_every_kind(
    make: Any, curve: list[str], titles: list[str], tmp_path: Path
) -> None:
    """Prices and energies hour by hour."""
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    make().save(before)
    saved = json.loads(before.read_text())
    inner = saved["recorded"]["run"]
    for key in curve:
        inner = inner[key]
    inner[1]["price_per_kwh"] = 0.9
    for slot in saved["recorded"]["run"]["plan"]["slots"]:
        for name in ("energy_kwh", "discharged_kwh", "import_kwh"):
            if name in slot:
                slot[name] += 0.25
    after.write_text(json.dumps(saved))
    answer = run("diff", before, after)
    assert answer.code == 3
    for title in titles:
        assert title in answer.out
    assert "Inputs" not in answer.out


def test_the_end_of_time_is_refused_in_words(ten: Path) -> None:
    text = ten.read_text().replace('"by": "2026-01-05T21', '"by": "9999-12-31T21')
    ten.write_text(text)
    answer = run("explain", ten, "--time-zone", "Pacific/Auckland")
    assert "outside the years 1 to 9999" in answer.error


@pytest.mark.parametrize("command", ["replay", "diff", "explain"])
def test_exit_codes_are_documented(command: str) -> None:
    answer = run(command, "--help")
    assert answer.code == 0
    assert "Exit codes: 0" in answer.out
