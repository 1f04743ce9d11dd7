"""``slackwater area``: limits hold, work that was killed goes on, the page renders."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slackwater as sw
from command_line import HOUR, SIX, SLOTS, carbon, carbon_options, price_file, run
from slackwater import sim
from slackwater.cli import rounds as rounds_of
from slackwater.cli.files import read_vehicles
from slackwater.cli.rounds import Checkpoint, seconds_left

from browser import browse

HOURS = 40
PNG_BYTES_MIN = 40_000

KILLED = """
import os, signal, sys
from slackwater.cli import main
from slackwater.cli.rounds import Checkpoint

keep, kept = Checkpoint.keep, []

def keep_six(checkpoint, text):
    keep(checkpoint, text)
    kept.append(text)
    if len(kept) == 6:
        os.kill(os.getpid(), signal.SIGKILL)

Checkpoint.keep = keep_six
sys.exit(main(sys.argv[1:]))
"""
"""The command, which is killed once it has written six rounds."""


@pytest.fixture
def vehicles(tmp_path: Path) -> Path:
    path = tmp_path / "vehicles.csv"
    path.write_text(
        "id,arrival,departure,energy_kwh,power_max_kw,node\n"
        "van,2026-01-05T18:00Z,2026-01-05T21:00Z,10,10,street\n"
        "bus,2026-01-05T18:00Z,2026-01-05T21:00Z,10,10,town\n"
    )
    return path


@pytest.fixture
def many(tmp_path: Path) -> tuple[Path, Path]:
    """Vehicles for many rounds, and quarter hours of prices."""
    fleet = tmp_path / "fleet.parquet"
    pq.write_table(pa.table(sim.fleet(400, seed=1)), fleet)
    first = SIX - timedelta(hours=19)
    quarter = timedelta(minutes=15)
    slots = [
        {
            "start": (first + n * quarter).isoformat(),
            "end": (first + (n + 1) * quarter).isoformat(),
            "price_per_kwh": round(0.2 + 0.1 * ((n * 37) % 41) / 41, 4),
        }
        for n in range(4 * HOURS)
    ]
    prices = tmp_path / "quarters.json"
    prices.write_text(json.dumps({"currency": "EUR", "slots": slots}))
    return fleet, prices


def test_a_limit_holds_and_the_summary_says_what_it_costs(vehicles: Path, tmp_path: Path) -> None:
    out = tmp_path / "plans.parquet"
    prices = price_file(tmp_path)
    answer = run("area", vehicles, "--prices", prices, "--limit-kw", "15", "--out", out)
    # The vehicles name nodes that a single number does not have.
    assert "there is no such node" in answer.error
    nodes = tmp_path / "nodes.json"
    nodes.write_text(
        json.dumps([{"name": "town", "limit_kw": 15}, {"name": "street", "parent": "town"}])
    )
    answer = run("area", vehicles, "--prices", prices, "--limit-kw", nodes, "--out", out)
    assert answer.code == 0, answer.err
    # 15 kWh at 0.10 and 5 at 0.20.
    cost = next(line for line in answer.out.splitlines() if line.startswith("cost"))
    assert cost.split()[1] == "2.50"
    plans = pq.read_table(out)
    assert plans["energy_kwh"].to_pylist() == pytest.approx([10, 10])
    assert not out.with_name("plans.parquet.rounds").exists()
    assert not out.with_name("plans.parquet.part").exists()


def test_a_price_of_emissions_is_part_of_the_cost(
    vehicles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = tmp_path / "nodes.json"
    nodes.write_text('[{"name": "town", "limit_kw": 15}, {"name": "street", "parent": "town"}]')
    words: list[str | Path] = [
        "area",
        vehicles,
        "--prices",
        price_file(tmp_path),
        "--limit-kw",
        nodes,
    ]
    options = carbon_options(tmp_path)
    answer = run(*words, *options)
    plan = sw.plan_area(
        read_vehicles(vehicles),
        sw.Prices.from_slots(SLOTS, currency="EUR"),
        nodes=[sw.Node(name="town", limit_kw=15), sw.Node(name="street", parent="town")],
        carbon=carbon(),
    )
    assert plan.carbon_kg is not None
    kg, baseline_kg = plan.carbon_kg, plan.baseline_carbon_kg
    assert kg == pytest.approx(15 * 0.1 + 5 * 0.6)
    assert re.search(f"emissions +{kg:.2f} +kg CO2, baseline {baseline_kg:.2f}", answer.out)

    # Rounds of another price of emissions are those of another run.
    marks: list[str] = []
    mark = rounds_of.fingerprint

    def noted(files: list[Path], words: list[str]) -> str:
        marks.append(mark(files, words))
        return marks[-1]

    monkeypatch.setattr("slackwater.cli.area.fingerprint", noted)
    rounds: list[str | Path] = ["--checkpoint", tmp_path / "rounds"]
    assert run(*words, *rounds).code == 0
    assert run(*words, *options, *rounds).code == 0
    assert run(*words, *options[:-1], "0.6", *rounds).code == 0
    assert len(set(marks)) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "has 2 slots; the prices have 3"),
        ('{"limit_kw": 5}', "neither a list of kW"),
        ('[{"name": "a", "limit": 5}]', "`limit` of a node is called `limit_kw`"),
        ('[{"limit_kw": 5}]', "a node needs a name"),
        ("[1, 2", "no JSON"),
    ],
)
def test_a_file_of_limits_that_makes_no_sense_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    fleet = tmp_path / "one.csv"
    fleet.write_text(
        "id,arrival,departure,energy_kwh,power_max_kw\n"
        "van,2026-01-05T18:00Z,2026-01-05T21:00Z,10,10\n"
    )
    limits = tmp_path / "limits.json"
    limits.write_text(text)
    answer = run("area", fleet, "--prices", price_file(tmp_path), "--limit-kw", limits)
    assert message in answer.error


def test_words_that_are_no_limit_are_refused(vehicles: Path, tmp_path: Path) -> None:
    prices = price_file(tmp_path)
    assert (
        "neither a number of kW"
        in run("area", vehicles, "--prices", prices, "--limit-kw", "much").error
    )
    assert (
        "--resume needs"
        in run("area", vehicles, "--prices", prices, "--limit-kw", "5", "--resume").error
    )
    name = "has to end in .html"
    report = ("--report", tmp_path / "page.pdf")
    assert name in run("area", vehicles, "--prices", prices, "--limit-kw", "5", *report).error


def test_unmet_needs_are_named(tmp_path: Path) -> None:
    fleet = tmp_path / "one.csv"
    fleet.write_text(
        "id,arrival,departure,energy_kwh,power_max_kw\n"
        "van,2026-01-05T18:00Z,2026-01-05T21:00Z,10,10\n"
    )
    answer = run("area", fleet, "--prices", price_file(tmp_path), "--limit-kw", "2", "--progress")
    assert answer.code == 0
    assert "van: 4.00 kWh, limit of area" in answer.err
    assert "at departure or at a deadline: 1\n" in answer.err
    assert "round 1: gap" in answer.err


def test_a_failure_of_the_solver_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = tmp_path / "one.csv"
    fleet.write_text(
        "id,arrival,departure,energy_kwh,power_max_kw\n"
        "van,2026-01-05T18:00Z,2026-01-05T21:00Z,10,10\n"
    )
    options: list[str | Path] = [
        "area",
        fleet,
        "--prices",
        price_file(tmp_path),
        "--limit-kw",
        "20",
    ]
    assert "solver" not in run(*options).err
    monkeypatch.setattr(sw.AreaPlan, "status", "solver_failed")
    page = tmp_path / "page.html"
    answer = run(*options, "--report", page)
    assert answer.code == 0
    assert "warning: the solver failed" in answer.err
    assert "the solver failed: limits hold" in page.read_text()


def test_what_was_killed_goes_on_and_comes_to_the_same(
    many: tuple[Path, Path], tmp_path: Path
) -> None:
    fleet, prices = many
    out = tmp_path / "plans.parquet"
    rounds = tmp_path / "plans.parquet.rounds"
    words: list[str | Path] = ["area", fleet, "--prices", prices, "--limit-kw", "380"]
    words += ["--relative-gap", "1e-6", "--out", out]
    whole = tmp_path / "whole.parquet"
    assert run(*words[:-1], whole, "--checkpoint", tmp_path / "all").code == 0
    killed = subprocess.run([sys.executable, "-c", KILLED, *map(str, words)], check=False)
    assert killed.returncode == -signal.SIGKILL
    # A round in flight, half written.
    with rounds.open("a") as file:
        file.write('{"prices_per_kwh":[0.0,0')
    kept = rounds.read_text().splitlines(keepends=True)
    assert len(kept) == 8
    answer = run(*words, "--resume")
    assert answer.code == 0, answer.err
    assert f"going on after {len(kept) - 2} rounds" in answer.err
    assert pq.read_table(out).equals(pq.read_table(whole))
    assert not rounds.exists()


@pytest.mark.usefixtures("ctrl_c")
def test_who_stops_the_writing_is_told_and_may_go_on(
    many: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, prices = many
    out = tmp_path / "plans.parquet"
    words: list[str | Path] = ["area", fleet, "--prices", prices, "--limit-kw", "380"]
    words += ["--out", out]
    written = pq.ParquetWriter.write_table

    def interrupted(*given: Any) -> None:
        written(*given)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(pq.ParquetWriter, "write_table", interrupted)
        stopped = run(*words)
    assert (stopped.code, stopped.out) == (130, "")
    assert f"there is no {out} of this run; --resume goes on there" in stopped.err
    assert [path.name for path in tmp_path.glob("plans*")] == ["plans.parquet.rounds"]
    answer = run(*words, "--resume")
    assert answer.code == 0, answer.err
    whole = tmp_path / "whole.parquet"
    assert run(*words[:-1], whole).code == 0
    assert pq.read_table(out).equals(pq.read_table(whole))


def test_rounds_of_another_call_are_refused(many: tuple[Path, Path], tmp_path: Path) -> None:
    fleet, prices = many
    rounds = tmp_path / "rounds"
    rounds.write_text('{"slackwater_area": "of another"}\n')
    words = ("area", fleet, "--prices", prices, "--limit-kw", "380", "--checkpoint", rounds)
    assert "holds rounds of other files" in run(*words, "--resume").error
    rounds.unlink()
    assert "there is no" in run(*words, "--resume").error


def test_earlier_plans_are_stayed_near(many: tuple[Path, Path], tmp_path: Path) -> None:
    fleet, prices = many
    first = tmp_path / "first.parquet"
    words = ("area", fleet, "--prices", prices, "--limit-kw", "390")
    assert run(*words, "--out", first).code == 0
    near = ("--previous", first, "--stability-budget", "1e9")
    answer = run("area", fleet, "--prices", prices, "--limit-kw", "385", *near)
    assert answer.code == 0, answer.err
    (line,) = [line for line in answer.out.splitlines() if line.startswith("unchanged")]
    assert 100 < int(line.split()[1]) < 400, line
    assert line.split()[3] == "400"


def test_the_page_renders_without_a_word_on_the_console(
    many: tuple[Path, Path], tmp_path: Path
) -> None:
    fleet, prices = many
    page = tmp_path / "page.html"
    words = ("area", fleet, "--prices", prices, "--time-zone", "Europe/Oslo")
    assert run(*words, "--limit-kw", "120", "--report", page).code == 0
    for look in ((), ("--force-dark-mode",)):
        picture = tmp_path / "page.png"
        text, console = browse(page, *look, picture=picture)
        assert console == []
        assert "Vehicles at risk" in text
        assert "limit of area" in text
        assert picture.stat().st_size > PNG_BYTES_MIN
    assert "http" not in page.read_text().replace("http-equiv", "")
    # The console is really heard: a page with a mistake says so.
    page.write_text("<script>nothing.there()</script>")
    assert browse(page)[1]


def test_names_in_a_page_are_text(tmp_path: Path) -> None:
    prices = sw.Prices.from_values(SIX, [0.3, 0.1], currency="<b>")
    name = "<script>alert(1)</script>"
    table = pa.table(
        {
            "id": [name],
            "arrival": [SIX],
            "departure": [SIX + 2 * HOUR],
            "energy_kwh": [10.0],
            "power_max_kw": [10.0],
            "node": [name],
        }
    )
    nodes = [sw.Node(name=name, limit_kw=2), sw.Node(name="x & y", parent=name)]
    plan = sw.plan_area(table, prices, nodes=nodes)
    page = tmp_path / "page.html"
    plan.report(page, names=[name], title=name)
    text = page.read_text()
    assert name not in text
    assert "<b>" not in text
    assert "x &amp; y" in text
    with pytest.raises(sw.InputError, match="time_zone"):
        plan.report(page, time_zone="Mars/Olympus")


def test_time_left_follows_the_gap() -> None:
    falling = [(float(n), 10.0**-n) for n in range(4)]
    left = seconds_left(falling, 1e-5)
    assert left == pytest.approx(2)
    assert seconds_left(falling[:2], 1e-5) is None
    assert seconds_left([(float(n), 0.1) for n in range(5)], 1e-5) is None


def test_rounds_outlive_a_second_failure(tmp_path: Path) -> None:
    file = tmp_path / "rounds"
    with Checkpoint(file, "mark", resume=False) as first:
        for number in range(5):
            first.keep(f"round {number}")
    with file.open("a") as torn:
        torn.write("round 5, half")
    head, *kept = file.read_text().splitlines(keepends=True)[:-1]
    size = len(head) + len("".join(kept))
    again = Checkpoint(file, "mark", resume=True)
    assert [again.recall() for _ in range(6)] == [*kept, None]
    # The disk is full where the first new round is to be kept.
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(head) + 1, most[1]))
    try:
        with again, contextlib.suppress(OSError):
            again.keep("round 5")
    except OSError:
        pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert file.read_bytes()[:size] == (head + "".join(kept)).encode()
    with Checkpoint(file, "mark", resume=True) as third:
        assert [third.recall() for _ in range(6)] == [*kept, None]
        third.keep("round 5")
    assert file.read_text() == "".join([head, *kept, "round 5\n"])
