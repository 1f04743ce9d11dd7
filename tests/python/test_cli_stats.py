"""The command that sums up samples."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from command_line import run

SAMPLES = """\
device,start,end,power_kw,price_per_kwh,non_smart_kw
van,2026-01-31T22:00Z,2026-02-01T00:00Z,4,0.25,
bus,2026-01-05T18:00Z,2026-01-05T19:00Z,,0.35,8
bus,2026-01-06T02:00Z,2026-01-06T03:00Z,8,0.10,0
"""
METER = """\
device,at,total_kwh
van,2026-01-05T18:00Z,100
van,2026-01-05T19:00Z,103
van,2026-01-05T22:00Z,1
"""


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "samples.csv"
    path.write_text(SAMPLES)
    return path


def cells(text: str) -> list[list[str]]:
    lines = (line for line in text.splitlines() if re.search(r"\d{4}-\d\d-\d\d", line))
    return [re.split(r"  +", line.strip()) for line in lines]


def test_devices_and_months_are_shown(samples: Path) -> None:
    answer = run("stats", samples, "--by", "device", "--utc-offset", "1")
    assert (answer.code, answer.err) == (0, "")
    assert cells(answer.out) == [
        ["van", "2026-01-01 00:00", "4.00", "4.00", "4.00", "0.2500", "1.00"],
        ["van", "2026-02-01 00:00", "4.00", "4.00", "4.00", "0.2500", "1.00"],
        ["bus", "2026-01-01 00:00", "8.00", "8.00", "8.00", "0.1000", "0.80", "2.00"],
    ]


def test_samples_come_as_csv_json_and_parquet(samples: Path, tmp_path: Path) -> None:
    rows = [
        {name: cell if name in {"device", "start", "end"} else float(cell) for name, cell in row}
        for row in (
            [(name, cell) for name, cell in row.items() if cell]
            for row in csv.DictReader(io.StringIO(SAMPLES))
        )
    ]
    (tmp_path / "s.json").write_text(json.dumps(rows))
    (tmp_path / "s.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    pq.write_table(pacsv.read_csv(samples), tmp_path / "s.parquet", row_group_size=1)
    answers = []
    for path in (samples, *(tmp_path / f"s.{end}" for end in ("json", "jsonl", "parquet"))):
        out = tmp_path / "sums.parquet"
        answer = run("stats", path, "--by", "device", "--resolution", "day", "--out", out)
        assert answer.code == 0, answer.err
        answers.append(pq.read_table(out))
    assert all(answer.equals(answers[0]) for answer in answers)
    assert answers[0].num_rows == 3


def test_answers_go_to_csv_and_json(samples: Path, tmp_path: Path) -> None:
    text = run("stats", samples, "--resolution", "year", "--format", "csv").out
    [row] = csv.DictReader(io.StringIO(text))
    assert (row["cost"], row["savings"]) == ("2.800000000000", "2.000000000000")
    assert row["date"] == "2026-01-01T00:00:00+00:00"
    [row] = json.loads(run("stats", samples, "--resolution", "year", "--format", "json").out)
    assert (row["cost"], row["savings"]) == (2.8, 2.0)
    out = tmp_path / "sums.json"
    answer = run("stats", samples, "--resolution", "year", "--out", out)
    assert answer.err == f"1 rows written to {out}\n"
    assert json.loads(out.read_text()) == [row]


def test_a_range_cuts(samples: Path) -> None:
    words = ("--start", "2026-01-31T23:30Z", "--end", "2026-01-31T23:45Z", "--format", "json")
    [row] = json.loads(run("stats", samples, *words).out)
    assert row["energy_kwh"] == 1.0


def test_readings_are_made_into_samples(tmp_path: Path) -> None:
    path = tmp_path / "meter.csv"
    path.write_text(METER)
    words = ("--kind", "meter", "--by", "device", "--resolution", "year")
    answer = run("stats", path, *words)
    assert answer.code == 0
    assert cells(answer.out)[0][2] == "4.00"
    assert answer.err.splitlines() == [
        "note: 1 of 3 rows: counters began anew",
        "note: 1 of 3 rows: pauses were too long, 2.0 hours of them",
    ]
    assert run("stats", path, *words, "--strict").code == 1
    assert "too long" not in run("stats", path, *words, "--gap-minutes", "240").err
    none = run("stats", path, *words, "--gap-minutes", "0").err
    assert "2 of 3 rows: pauses were too long, 4.0 hours of them" in none
    weak = run("stats", path, *words, "--power-max-kw", "2.5").err
    assert "1 of 3 rows: were more than the device can do and were dropped" in weak
    path.write_text(METER.replace("total_kwh", "power_kw"))
    powers = ("--kind", "power", "--by", "device", "--resolution", "year", "--format", "json")
    [row] = json.loads(run("stats", path, *powers).out)
    assert (row["hours"], row["energy_kwh"]) == (0.5, 203 / 4)
    path.write_text("start,end,energy_kwh\n2026-01-05T18:00Z,2026-01-05T20:00Z,8\n")
    [row] = json.loads(run("stats", path, "--kind", "sessions", "--format", "json").out)
    assert (row["hours"], row["kw_mean"]) == (2.0, 4.0)


def test_samples_may_have_one_length(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("start,power_kw\n2026-01-05T18:00Z,8\n")
    [row] = json.loads(run("stats", path, "--sample-minutes", "15", "--format", "json").out)
    assert row["energy_kwh"] == 2.0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--by", "user"), 'there is no column "user"'),
        (("--resolution", "minute"), "'minute' is not one of"),
        (("--utc-offset", "14.5"), "utc_offset_hours is 14.5 h; it lies in -14 h to 14 h"),
        (("--utc-offset", "nan"), "utc_offset_hours is NaN h"),
        (("--start", "2026-01-05"), "--start '2026-01-05' has no UTC offset"),
        (("--start", "2027-01-05T00:00Z", "--end", "2026-01-05T00:00Z"), "after the end"),
        (("--sample-minutes", "15"), 'there is a column "end"'),
        (("--sample-minutes", "nan"), "--sample-minutes nan is no length of time"),
        (("--kind", "meter"), 'there is no column "at"'),
        (("--kind", "meter", "--power-max-kw", "0"), "power_max_kw is 0 kW; it is more than 0 kW"),
        (("--power-max-kw", "11"), "--gap-minutes and --power-max-kw are about readings"),
        (("--out", "sums.xlsx"), "the name has to end in .csv, .json, .parquet"),
    ],
)
def test_what_makes_no_sense_is_one_line(samples: Path, words: tuple[str, ...], line: str) -> None:
    assert line in run("stats", samples, *words).error


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("s.csv", "", "Empty CSV file"),
        ("s.csv", SAMPLES.replace("2026-01-31T22:00Z", "late"), "start is 'late', no time"),
        ("s.csv", SAMPLES.replace("2026-02-01T00:00Z", "2026-01-31T22:00Z"), "row 0 ends at"),
        ("s.json", "[]", "there is no row"),
        ("s.parquet", "PAR", "s.parquet"),
        ("s.txt", "x", "the name of a table of rows ends in .csv, .json, .parquet"),
    ],
)
def test_files_that_make_no_sense_are_one_line(
    tmp_path: Path, name: str, content: str, line: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert line in run("stats", path).error


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "none.parquet" in run("stats", tmp_path / "none.parquet").error


def test_parquet_is_read_piece_by_piece(tmp_path: Path) -> None:
    table = pa.concat_tables([pacsv.read_csv(io.BytesIO(SAMPLES.encode()))] * 50)
    path = tmp_path / "s.parquet"
    pq.write_table(table, path, row_group_size=7)
    rows = json.loads(run("stats", path, "--resolution", "year", "--format", "json").out)
    assert [row["cost"] for row in rows] == [140.0]
