"""``slackwater explain``, ``replay`` and ``diff`` on plans of every kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import slackwater as sw
from command_line import price_file, run

from saved_plans import GOLDEN, KINDS, site, storage, switching

NEED = ["--now", "2026-01-05T19:00+01:00", "--power-max-kw", "7", "--time-zone", "Europe/Oslo"]


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
    told = " ".join(answer.out.split())
    assert "(up to 0.20 EUR/kWh) in the cheapest hours before Mon 22:00" in told
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


def test_diff_of_plans_in_two_currencies_names_both(ten: Path, tmp_path: Path) -> None:
    pounds = tmp_path / "pounds.json"
    known = sw.load_plan(ten).prices
    sw.plan_charge(
        sw.Prices.from_slots((known * 2).slots, currency="GBP"),
        now=known.slots[0].start,
        power_max_kw=7,
        targets=[(None, 10)],
    ).save(pounds)
    answer = run("diff", ten, pounds)
    assert answer.code == 3
    assert "EUR and GBP/kWh" in answer.out
    assert ["currency", "EUR", "GBP"] in [line.split() for line in answer.out.splitlines()]


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
        # Time that is not used has a sentence and no row.
        assert reason.code.replace("_", " ") in out or reason.energy_kwh == 0
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
