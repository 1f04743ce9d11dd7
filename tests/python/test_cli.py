"""The command line as a user and as a script meet it: one plan, and the program."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slackwater as sw
from command_line import HOUR, SIX, SLOTS, carbon, carbon_options, price_file, run
from slackwater import samples
from slackwater.cli.clock import Clock

NEED = ["--now", "2026-01-05T19:00+01:00", "--power-max-kw", "7", "--time-zone", "Europe/Oslo"]
TEN_BY_TEN = ["--energy-kwh", "10", "--by", "22:00"]


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    return price_file(tmp_path)


# ------------------------------------------------------------------ plan


def test_a_plan_is_shown_as_a_table_on_local_clocks(prices: Path) -> None:
    answer = run("plan", "--prices", prices, *NEED, *TEN_BY_TEN)
    assert answer.code == 0
    assert answer.err == ""
    assert "Mon 5 Jan 20:00 to 21:25   10.00   0.1000 to 0.2000   1.30" in answer.out
    assert "10.00 kWh for 1.30 EUR; charging at once would cost 2.40 EUR: saves 1.10" in answer.out
    assert "Proved optimal" in answer.out
    assert "charges 10 kWh" not in answer.out


def test_reasons_come_when_asked_for(prices: Path) -> None:
    answer = run("plan", "--prices", prices, *NEED, *TEN_BY_TEN, "--explain")
    assert "Mon 20:00 to Mon 21:25: charges 10 kWh for 1.30 EUR" in answer.out


@pytest.mark.filterwarnings("always::slackwater.PlausibilityWarning")
def test_a_warning_is_one_line_and_is_told_once(prices: Path) -> None:
    watts = [*NEED[:3], "7000", *NEED[4:], *TEN_BY_TEN]
    answer = run("plan", "--prices", prices, *watts, "--explain")
    assert answer.code == 0
    assert answer.err == "warning: power_max_kw is 7000 kW; a power in W is divided by 1000\n"


def test_a_shortfall_is_no_failure_and_is_named(prices: Path) -> None:
    by = ["--energy-kwh", "15", "--by", "2026-01-05T21:00+01:00"]
    answer = run("plan", "--prices", prices, *NEED, *by)
    assert answer.code == 0
    assert "1.00 of 15.00 kWh are missing at Mon 5 Jan 21:00" in answer.out
    assert "reached at Mon 5 Jan 21:08" in answer.out


def test_json_holds_everything_under_stable_keys(prices: Path) -> None:
    answer = run("plan", "--prices", prices, *NEED, *TEN_BY_TEN, "--format", "json")
    plan = json.loads(answer.out)
    assert list(plan) == [
        "slackwater",
        "time_zone",
        "now",
        "currency",
        "energy_kwh",
        "cost",
        "baseline_cost",
        "savings",
        "shortfall_kwh",
        "marginal_price_per_kwh",
        "unpriced_hours",
        "soc_percent_at_end",
        "carbon_kg",
        "baseline_carbon_kg",
        "carbon_cost",
        "intervals",
        "targets",
        "reasons",
        "slots",
        "certificate",
        "notes",
    ]
    assert plan["cost"] == pytest.approx(1.3)
    assert plan["intervals"] == [
        {
            "start": "2026-01-05T20:00:00+01:00",
            "end": "2026-01-05T21:25:42.857143+01:00",
            "power_kw": 7.0,
        }
    ]
    assert plan["targets"][0]["by"] == "2026-01-05T22:00:00+01:00"
    assert plan["certificate"]["is_proved"] is True
    assert plan["certificate"]["requirements"][0]["marginal_price_per_kwh"] == pytest.approx(0.2)
    assert set(plan["reasons"][0]) >= {"code", "sentence", "cost", "energy_kwh", "runner_up_start"}
    assert [slot["energy_kwh"] for slot in plan["slots"]] == pytest.approx([0, 7, 3])


@pytest.mark.parametrize(
    "need", [TEN_BY_TEN, ["--soc-percent", "40", "--capacity-kwh", "20", "--target-percent", "90"]]
)
def test_a_price_of_emissions_is_part_of_the_cost(
    prices: Path, tmp_path: Path, need: list[str]
) -> None:
    words: list[str | Path] = ["plan", "--prices", prices, *NEED, *need, *carbon_options(tmp_path)]
    plan = json.loads(run(*words, "--format", "json").out)
    wanted = sw.plan_charge(
        sw.Prices.from_slots(SLOTS, currency="EUR"),
        now=SIX,
        power_max_kw=7,
        targets=[(None, 10)],
        carbon=carbon(),
    )
    for name in ("cost", "carbon_kg", "baseline_carbon_kg", "carbon_cost"):
        assert plan[name] == pytest.approx(getattr(wanted, name)), name
    # Seven kWh at 100 g and three at 600 g, in place of the two cheapest hours.
    assert plan["carbon_kg"] == pytest.approx(7 * 0.1 + 3 * 0.6)
    assert "2.5 kg CO2, 1.25 EUR of the cost (baseline 2.5 kg)." in run(*words).out


def test_a_price_of_emissions_needs_all_of_its_options(prices: Path, tmp_path: Path) -> None:
    words: list[str | Path] = ["plan", "--prices", prices, *NEED, *TEN_BY_TEN]
    file, unit, price = (carbon_options(tmp_path)[at : at + 2] for at in (0, 2, 4))
    for given, text in [
        (file, "--carbon needs --carbon-unit and --carbon-price-per-kg"),
        ([*unit, *price], "--carbon-unit needs --carbon"),
        ([*file, *price], "--carbon needs --carbon-unit"),
    ]:
        assert run(*words, *given).error == text
    short = tmp_path / "short.csv"
    short.write_text("start,end,intensity\n2026-01-05T18:00Z,2026-01-05T19:00Z,100\n")
    error = run(*words, "--carbon", short, *unit, *price).error
    assert "the intensity is missing from 2026-01-05 19:00:00 UTC" in error
    error = run(*words, *file, "--carbon-unit", "EUR/kWh", *price).error
    assert error.startswith(f"{file[1]}: ")
    error = run(*words, *file, *unit, "--carbon-price-per-kg", "-1").error
    assert "a price of emissions is 0 or more" in error


def test_the_json_of_a_plan_is_a_price_list_again(prices: Path, tmp_path: Path) -> None:
    again = tmp_path / "plan.json"
    first = run("plan", "--prices", prices, *NEED, *TEN_BY_TEN, "--format", "csv", "--out", again)
    second = run("plan", "--prices", again, *NEED, *TEN_BY_TEN, "--format", "csv")
    assert first.out == second.out


def test_csv_has_one_period_a_row(prices: Path) -> None:
    answer = run("plan", "--prices", prices, *NEED, *TEN_BY_TEN, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    assert [row["start"] for row in rows] == ["2026-01-05T20:00:00+01:00"]
    assert float(rows[0]["energy_kwh"]) == pytest.approx(10)
    assert rows[0]["power_kw"] == "7.0"
    assert rows[0]["reason"] == "below_marginal_price"


def test_files_are_written_by_their_ending(prices: Path, tmp_path: Path) -> None:
    for ending in ("csv", "json", "parquet"):
        out = tmp_path / f"plan.{ending}"
        assert run("plan", "--prices", prices, *NEED, *TEN_BY_TEN, "--out", out).code == 0
    assert (tmp_path / "plan.csv").read_text().startswith("start,end,power_kw,energy_kwh,cost,")
    assert json.loads((tmp_path / "plan.json").read_text())["currency"] == "EUR"
    table = pq.read_table(tmp_path / "plan.parquet")
    assert table.column("start").to_pylist() == [SIX + HOUR]


def test_a_plot_is_a_png(prices: Path, tmp_path: Path) -> None:
    picture = tmp_path / "plan.png"
    assert run("plan", "--prices", prices, *NEED, *TEN_BY_TEN, "--plot", picture).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")


def test_percent_brings_a_battery_to_its_targets(prices: Path) -> None:
    soc = [
        "--soc-percent",
        "30",
        "--capacity-kwh",
        "50",
        "--target-percent",
        "60",
        "--charge-limit-percent",
        "80",
    ]
    extra = ["--target-at", "20:00=35%", "--reserve-percent", "32", "--efficiency", "1"]
    by = ["--by", "22:00", "--format", "json"]
    plan = json.loads(run("plan", "--prices", prices, *NEED, *soc, *extra, *by).out)
    assert plan["energy_kwh"] == pytest.approx(15)
    assert plan["soc_percent_at_end"] == pytest.approx(60)
    assert [target["wanted_kwh"] for target in plan["targets"]] == pytest.approx([2.5, 15])
    assert plan["certificate"]["at_once_kwh"] == pytest.approx(1)


def test_energy_takes_further_targets_a_reserve_and_an_end(prices: Path) -> None:
    wishes = ["--energy-kwh", "14", "--target-at", "2026-01-05T20:00+01:00=5 kWh"]
    limits = ["--reserve-kwh", "2", "--until", "21:00", "--format", "json"]
    plan = json.loads(run("plan", "--prices", prices, *NEED, *wishes, *limits).out)
    assert [slot["energy_kwh"] for slot in plan["slots"]] == pytest.approx([7, 7])
    assert plan["targets"][0]["shortfall_kwh"] == 0


def test_a_plan_with_nothing_to_do_says_so(prices: Path) -> None:
    answer = run("plan", "--prices", prices, *NEED, "--energy-kwh", "0")
    assert "Nothing is charged." in answer.out


@pytest.mark.parametrize(
    ("sample", "options", "at"),
    [
        (samples.AUTUMN_WEEK, [], "2026-10-24T20:00+02:00"),
        (samples.SPRING_WEEK, ["--currency", "EUR"], "2026-03-28T20:00+01:00"),
        (samples.NORDPOOL_SPRING, ["--currency", "SEK"], "2026-03-28T20:00+01:00"),
        (samples.OCTOPUS_DAY, [], "2026-07-18T02:00+02:00"),
        (samples.ENTSOE_DAY, [], "2026-02-10T02:00+01:00"),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_every_form_of_prices_is_recognised(sample: Path, options: Sequence[str], at: str) -> None:
    zone = ["--time-zone", "Europe/Berlin", "--by", "07:00"]
    need = ["--now", at, "--power-max-kw", "11", "--energy-kwh", "30", "--format", "json"]
    answer = run("plan", "--prices", sample, *zone, *options, *need)
    assert answer.code == 0, answer.err
    plan = json.loads(answer.out)
    assert plan["energy_kwh"] == pytest.approx(30)
    assert plan["certificate"]["is_proved"]


def test_prices_come_from_parquet_with_their_currency(tmp_path: Path) -> None:
    path = tmp_path / "prices.parquet"
    table = pa.table(sw.Prices.from_slots(SLOTS, currency="NOK"))
    pq.write_table(table.replace_schema_metadata({"currency": "NOK"}), path)
    need = [*NEED, *TEN_BY_TEN, "--format", "json"]
    plan = json.loads(run("plan", "--prices", path, *need).out)
    assert (plan["currency"], plan["cost"]) == ("NOK", pytest.approx(1.3))
    pq.write_table(table.replace_schema_metadata(None), path)
    assert "say --currency" in run("plan", "--prices", path, *need).error
    assert run("plan", "--prices", path, "--currency", "NOK", *need).code == 0


def test_notes_of_the_importer_go_to_stderr() -> None:
    need = ["--now", "2026-10-24T20:00+02:00", "--power-max-kw", "11", "--energy-kwh", "30"]
    answer = run("plan", "--prices", samples.AUTUMN_WEEK, "--time-zone", "Europe/Berlin", *need)
    assert "note: row 77 is the second occurrence of times" in answer.err
    assert "note:" not in answer.out


def test_an_hour_that_clocks_show_twice_has_a_name() -> None:
    clock = Clock("Europe/Oslo")
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert clock.span(first, first + HOUR) == "Sun 25 Oct 02:30 CEST to 02:30 CET"
    assert clock.span(first - HOUR, first + 3 * HOUR) == "Sun 25 Oct 01:30 to 04:30"
    assert clock.iso(first) == "2026-10-25T02:30:00+02:00"


# -------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (["--prices", "missing.csv"], "missing.csv: No such file or directory"),
        (["--prices", "."], ".: Is a directory"),
        (["--now", "2026-01-05T18:00"], "--now '2026-01-05T18:00' has no UTC offset; write it"),
        (["--now", "soon"], "--now 'soon' is no time such as 2026-01-05T18:00+01:00"),
        (["--by", "25:00"], "--by '25:00' is no time of day"),
        (["--by", "9999-12-31T23:59Z"], "--by '9999-12-31T23:59Z' is not between 1900 and 2200"),
        (["--time-zone", "Mars/Olympus"], "--time-zone 'Mars/Olympus' is no IANA time zone"),
        (["--energy-kwh", "-5"], "targets[0].energy_kwh is -5 kWh; a target is 0 kWh or more"),
        (["--energy-kwh", "much"], "invalid value for '--energy-kwh': it has to be a valid number"),
        (["--power-max-kw", "nan"], "power_max_kw: NaN kW is not a finite number"),
        (
            ["--soc-percent", "30"],
            "--energy-kwh is in kWh and --soc-percent in percent: use one of the two",
        ),
        (["--target-at", "06:00"], "--target-at '06:00' is not TIME=LEVEL, such as 06:00=50"),
        (["--prices-format", "xls"], "invalid value for '--prices-format'"),
        (["--currency", "SEK"], "prices are in EUR, not SEK"),
        (["--out", "plan.doc"], "--out plan.doc: the name has to end in .csv, .json, .parquet"),
        (["--out", "nowhere/p.csv"], "--out nowhere/p.csv: there is no folder nowhere"),
        (["--plot", "plan.csv"], "--plot plan.csv: the name has to end in .png, .svg, .pdf"),
        (["--colour", "red"], "no such option: --colour"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    prices: Path, change: Sequence[str], line: str
) -> None:
    answer = run("plan", "--prices", prices, *NEED, *TEN_BY_TEN, *change)
    assert line in answer.error


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], "say --energy-kwh, or --soc-percent and --capacity-kwh"),
        (["--soc-percent", "30"], "--soc-percent needs --capacity-kwh"),
        (["--target-percent", "80"], "--target-percent needs --soc-percent"),
        (["--reserve-kwh", "1"], "--reserve-kwh needs --energy-kwh"),
        (
            ["--soc-percent", "130", "--capacity-kwh", "50"],
            "soc_percent: 130 % is outside 0 to 100 %",
        ),
    ],
)
def test_a_wish_has_to_be_whole(prices: Path, options: Sequence[str], line: str) -> None:
    assert line in run("plan", "--prices", prices, *NEED, *options).error


def test_a_time_of_day_needs_a_zone(prices: Path) -> None:
    need = ["--now", "2026-01-05T19:00+01:00", "--power-max-kw", "7", *TEN_BY_TEN]
    line = "--by 22:00 needs --time-zone, such as Europe/Oslo"
    assert run("plan", "--prices", prices, *need).error == line


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('{"slots": ', "Expecting value"),
        ('{"currency": "EUR"}', "there is no list of {start, end, price_per_kwh}"),
        ('{"currency": "EUR", "slots": []}', "there is no price"),
        ('[{"start": "2026-01-05T18:00Z"}]', "entry 1: there is no start, end, price_per_kwh"),
        (
            '[{"start": "2026-01-05T18:00", "end": "2026-01-05T19:00", "price_per_kwh": 1}]',
            "entry 1: start is '2026-01-05T18:00', without an offset",
        ),
        (
            '[{"start": "2026-01-05T18:00Z", "end": "2026-01-05T19:00Z", "price_per_kwh": "1"}]',
            "entry 1: price_per_kwh is '1', no number",
        ),
        (
            '[{"start": "2026-01-05T18:00Z", "end": "2026-01-05T19:00Z", "price_per_kwh": 1}]',
            "the file names no currency; say --currency, such as EUR",
        ),
        ("time,price_eur_per_mwh\n", "no column holds times"),
        ("time,price\n2026-01-05 18:00,1\n", "the header names no currency; say --currency"),
        ("time,price_eur_per_mwh\nsoon,1\n", "no column holds times"),
        ("PAR1", "Parquet"),
        ("", "the header names no currency"),
    ],
)
def test_a_bad_price_list_is_named(tmp_path: Path, content: str, line: str) -> None:
    path = tmp_path / "bad"
    path.write_text(content)
    error = run("plan", "--prices", path, *NEED, *TEN_BY_TEN).error
    assert error.startswith(f"{path}")
    assert line in error


def test_a_table_of_prices_needs_a_zone() -> None:
    need = ["--now", "2026-10-24T20:00+02:00", "--power-max-kw", "11", "--energy-kwh", "30"]
    assert "needs --time-zone" in run("plan", "--prices", samples.AUTUMN_WEEK, *need).error


# --------------------------------------------------------------- program


def test_the_program_tells_its_version_and_its_commands() -> None:
    assert run("--version").out == f"slackwater {sw.__version__}\n"
    assert "Plan the cheapest charging of one vehicle" in run().out
    assert run("-h").code == 0
    assert "no such command 'dance'" in run("dance").error


def program(*arguments: str | Path, code: str = "") -> list[str]:
    start = f"import sys; {code}from slackwater.cli import main; sys.exit(main())"
    return [sys.executable, "-c", start, *(str(argument) for argument in arguments)]


def test_a_missing_extra_is_named() -> None:
    gone = "sys.modules['typer'] = None; "
    done = subprocess.run(program("plan", code=gone), capture_output=True, text=True, check=False)
    line = "error: the command line needs typer: pip install slackwater[cli]\n"
    assert (done.returncode, done.stderr) == (2, line)


def test_a_closed_pipe_is_quiet(prices: Path) -> None:
    words = program("plan", "--prices", prices, *NEED, *TEN_BY_TEN)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.usefixtures("ctrl_c")
def test_an_interruption_is_quiet(prices: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "v.csv"
    os.mkfifo(pipe)
    words = program("batch", pipe, "--prices", prices)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # Opening answers as soon as the program has opened the other end.
    with process, pipe.open("wb"):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (out, err.strip()) == (b"", b"")
