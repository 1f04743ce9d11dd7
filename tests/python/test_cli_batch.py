"""The commands for fleets: a plan a row, and rows from driving logs."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slackwater as sw
from command_line import HOUR, SIX, SLOTS, VEHICLES, carbon, carbon_options, price_file, run
from slackwater import samples
from slackwater.cli import batch as cli_batch
from slackwater.cli.files import read_vehicles
from slackwater.cli.screen import warnings_as_lines


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    return price_file(tmp_path)


@pytest.fixture
def vehicles(tmp_path: Path) -> Path:
    path = tmp_path / "vehicles.csv"
    path.write_text(VEHICLES)
    return path


# ----------------------------------------------------------------- batch


def test_a_batch_shows_rows_and_totals(prices: Path, vehicles: Path) -> None:
    answer = run("batch", vehicles, "--prices", prices)
    assert answer.code == 0
    assert answer.err == ""
    assert "5 Jan 19:00" in answer.out
    cells = (re.split(r"  +", line.strip(), maxsplit=1) for line in answer.out.splitlines())
    lines = {name: rest[0].split() for name, *rest in cells if rest}
    assert lines["stays"] == ["2"]
    assert lines["energy"] == ["50.00", "kWh"]
    assert lines["cost"] == ["13.30", "EUR"]
    assert lines["savings"] == ["1.10", "EUR"]
    assert lines["shortfall"] == ["10.00", "kWh", "of", "1", "stays"]
    assert lines["in error"] == ["0", "rows"]


def test_vehicles_come_as_csv_json_and_parquet(
    prices: Path, vehicles: Path, tmp_path: Path
) -> None:
    rows = list(csv.DictReader(io.StringIO(VEHICLES)))
    numbers = [
        row | {name: float(row[name]) for name in ("energy_kwh", "power_max_kw")} for row in rows
    ]
    (tmp_path / "v.json").write_text(json.dumps(numbers))
    (tmp_path / "v.jsonl").write_text("\n".join(json.dumps(row) for row in numbers))
    times = [
        row | {name: datetime.fromisoformat(str(row[name])) for name in ("arrival", "departure")}
        for row in numbers
    ]
    pq.write_table(pa.Table.from_pylist(times), tmp_path / "v.parquet")
    answers = []
    for path in (vehicles, *(tmp_path / f"v.{end}" for end in ("json", "jsonl", "parquet"))):
        out = tmp_path / "plans.parquet"
        assert run("batch", path, "--prices", prices, "--out", out).code == 0
        answers.append(pq.read_table(out))
    assert all(answer.equals(answers[0]) for answer in answers)
    assert answers[0].column("cost").to_pylist() == pytest.approx([1.3, 12])


def test_a_price_of_emissions_is_part_of_the_cost_of_each_row(
    prices: Path, vehicles: Path, tmp_path: Path
) -> None:
    out = tmp_path / "plans.parquet"
    words: list[str | Path] = ["batch", vehicles, "--prices", prices, *carbon_options(tmp_path)]
    assert run(*words, "--out", out).code == 0
    wanted = pa.table(
        sw.plan_batch(
            read_vehicles(vehicles),
            sw.Prices.from_slots(SLOTS, currency="EUR"),
            carbon=carbon(),
        )
    )
    assert pq.read_table(out).equals(wanted)
    assert re.search(r"emissions +6.50 +kg CO2, baseline 6.50", run(*words).out)


def test_plans_go_to_csv_and_json(prices: Path, vehicles: Path, tmp_path: Path) -> None:
    for ending in ("csv", "json"):
        out = tmp_path / f"plans.{ending}"
        answer = run("batch", vehicles, "--prices", prices, "--out", out, "--time-zone", "UTC")
        assert f"plans written to {out}" in answer.out
    rows = json.loads((tmp_path / "plans.json").read_text())
    interval = rows[0]["intervals"][0]
    assert interval["start"] == "2026-01-05T19:00:00+00:00"
    table = list(csv.DictReader((tmp_path / "plans.csv").read_text().splitlines()))
    assert json.loads(table[0]["intervals"]) == rows[0]["intervals"]
    assert [row["status"] for row in table] == ["optimal", "shortfall"]


def test_targets_of_vehicles_are_read_from_json(prices: Path, tmp_path: Path) -> None:
    path = tmp_path / "v.json"
    van: dict[str, Any] = {
        "id": "van",
        "arrival": "2026-01-05T18:00Z",
        "departure": "2026-01-05T21:00Z",
        "energy_kwh": 10.0,
        "power_max_kw": 7.0,
        "targets": [{"by": "2026-01-05T19:00Z", "energy_kwh": 4.0}],
    }
    path.write_text(json.dumps([van]))
    out = tmp_path / "plans.json"
    assert run("batch", path, "--prices", prices, "--out", out).code == 0
    assert json.loads(out.read_text())[0]["cost"] == pytest.approx(4 * 0.3 + 6 * 0.1)


def test_rows_in_error_stop_nobody_else(prices: Path, tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text(f"{VEHICLES}cab,,2026-01-05T20:00Z,1,7\n[red],2026-01-05T18:00Z,,1,7\n")
    answer = run("batch", path, "--prices", prices)
    assert answer.code == 0
    assert answer.err.splitlines() == [
        "warning: 2 rows are in error and without a plan",
        "  row 3, cab: arrival is missing",
        "  row 4, [red]: departure is missing",
    ]
    assert run("batch", path, "--prices", prices, "--strict").code == 1


def test_vehicles_beyond_the_prices_are_counted(prices: Path, tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text(
        VEHICLES.replace("2026-01-05T18:00Z,2026-01-05", "2027-01-05T18:00Z,2027-01-05")
    )
    answer = run("batch", path, "--prices", prices)
    assert answer.err.startswith("warning: 1 of 2 stays lie wholly outside of the known")


def test_vehicles_name_their_price_list(prices: Path, tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    names = ["price_id", "north", "south"]
    lines = zip(VEHICLES.splitlines(), names, strict=True)
    path.write_text("\n".join(f"{line},{name}" for line, name in lines))
    both = ["--prices", f"north={prices}", "--prices", f"south={prices}"]
    answer = run("batch", path, *both)
    assert answer.code == 0, answer.err
    assert "--prices" in run("batch", path, "--prices", prices, "--prices", prices).error


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "Empty CSV file"),
        ("id,arrival\n", "there is no vehicle"),
        ("id,arrival\nvan,2026-01-05T18:00Z\n", 'there is no column "energy_kwh"'),
        (
            VEHICLES.replace("+01:00", "").replace("Z", ""),
            "without a time zone; write them with their UTC offset, such as 2026-01-05T18:00+01:00",
        ),
        (VEHICLES.replace("2026-01-05T18:00Z", "soon"), "row 3: arrival is 'soon', no time"),
        (VEHICLES.replace(",50,", ",half,"), 'column "energy_kwh" holds'),
    ],
)
def test_a_bad_table_of_vehicles_is_named(
    prices: Path, tmp_path: Path, content: str, line: str
) -> None:
    path = tmp_path / "v.csv"
    path.write_text(content)
    error = run("batch", path, "--prices", prices).error
    assert error.startswith(f"{path}")
    assert line in error


@pytest.mark.filterwarnings("always::slackwater.PlausibilityWarning")
def test_a_warning_tells_the_row_as_errors_do(prices: Path, tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text(VEHICLES.replace(",50,40", ",50,40000"))
    answer = run("batch", path, "--prices", prices)
    text = "warning: row 2: power_max_kw is 40000 kW; a power in W is divided by 1000"
    assert text in answer.err.splitlines()


@pytest.mark.filterwarnings("always::slackwater.PlausibilityWarning")
def test_rows_of_pieces_count_in_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    prices = sw.Prices.from_slots(SLOTS, currency="EUR")
    stay = {"arrival": SIX, "departure": SIX + 3 * HOUR, "energy_kwh": 1.0}
    powers = [7.0, 7.0, 7.0, 7000.0]
    rows = [{"id": n, "power_max_kw": power, **stay} for n, power in enumerate(powers)]
    with warnings_as_lines():
        cli_batch.plan_in_chunks(pa.Table.from_pylist(rows), prices, rows_per_chunk=3)
    assert capsys.readouterr().err.startswith("warning: row 4: power_max_kw is 7000 kW")


def test_pieces_make_no_difference() -> None:
    prices = sw.Prices.from_slots(SLOTS, currency="EUR")
    rows = [
        {
            "id": n,
            "arrival": SIX,
            "departure": SIX + 3 * HOUR,
            "energy_kwh": n / 2,
            "power_max_kw": 7,
        }
        for n in range(50)
    ]
    table = pa.Table.from_pylist(rows)
    whole = cli_batch.plan_in_chunks(table, prices).plans
    pieces = cli_batch.plan_in_chunks(table, prices, rows_per_chunk=7).plans
    assert pieces.num_rows == 50
    assert pieces.equals(whole)


def test_progress_is_shown_on_a_terminal_after_a_second(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    clock = iter([0.0, 0.5, 1.5, 1.6])
    monkeypatch.setattr(cli_batch, "perf_counter", lambda: next(clock))
    shown = []
    with cli_batch.LateProgress(30) as progress:
        for _ in range(3):
            progress.advance(10)
            shown.append(progress._bar is not None)
    assert shown == [False, True, True]
    assert "planning" in capsys.readouterr().err


# ----------------------------------------------------------------- stays


def test_driving_events_become_a_table_for_batch(tmp_path: Path) -> None:
    out = tmp_path / "stays.parquet"
    zone = ["--time-zone", "Europe/Berlin"]
    answer = run("stays", samples.SIMBEV_EVENTS, *zone, "--out", out)
    assert answer.code == 0
    assert "events" in answer.err
    table = pq.read_table(out)
    assert table.num_rows > 5
    plans = run("batch", out, "--prices", samples.AUTUMN_WEEK, *zone)
    assert plans.code == 0
    assert "stays" in plans.out


def test_a_log_can_be_moved_to_other_days() -> None:
    zone = ["--time-zone", "Europe/Berlin", "--format", "json"]
    moved = run("stays", samples.SIMBEV_EVENTS, *zone, "--origin", "2026-11-05T00:00+01:00")
    assert all(row["arrival"] > "2026-11-05" for row in json.loads(moved.out))


def test_a_bad_log_is_named(vehicles: Path) -> None:
    answer = run("stays", vehicles, "--time-zone", "Europe/Berlin")
    assert "no column 'location'" in answer.error
