"""The demonstration, on a small fleet and on small files."""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow.parquet as pq
import pytest

import slackwater as sw
from slackwater import io, samples, sim
from slackwater._timeline import Steps

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

import demo  # noqa: E402  it stands next to the other programs
import demo_files  # noqa: E402
import demo_fleet  # noqa: E402
import demo_picture  # noqa: E402

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
PNG = b"\x89PNG\r\n"


@pytest.fixture(scope="module")
def fleet() -> demo_fleet.Fleet:
    return demo_fleet.Fleet.plan(
        sim.week_of_stays(30, week_start=demo.WEEK_START),
        sim.year_of_prices(demo.YEAR),
        time_zone=demo.TIME_ZONE,
    )


def stay(number: int, arrival: datetime, hours: float, energy_kwh: float) -> io.VehicleStay:
    return io.VehicleStay(
        id=f"van/{number}",
        vehicle="van",
        location="depot",
        arrival=arrival,
        departure=arrival + hours * HOUR,
        energy_kwh=energy_kwh,
        power_max_kw=10,
        soc_percent=50,
        capacity_kwh=60,
    )


def stays_of(*stays: io.VehicleStay) -> io.VehicleStays:
    return io.VehicleStays(stays, ())


def test_a_demo_prints_a_summary_and_writes_two_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo.main(["--vehicles", "200", "--out", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    for word in ("200 vehicles", "baseline cost", "% of the baseline cost", "every plan proved"):
        assert word in text
    assert "plans a second" in text
    plans = pq.read_table(tmp_path / "out" / "demo-plans.parquet")
    assert plans.num_rows > 1000
    assert (tmp_path / "out" / "demo.png").read_bytes().startswith(PNG)


def test_a_summary_adds_up(fleet: demo_fleet.Fleet) -> None:
    difference = fleet.total("baseline_cost") - fleet.total("cost")
    assert fleet.total("savings") == pytest.approx(difference)
    assert 0 < fleet.savings_percent < 100
    assert fleet.is_proved


def test_the_unmanaged_load_costs_what_the_plans_compare_with(fleet: demo_fleet.Fleet) -> None:
    unmanaged = fleet.unmanaged()
    costs = unmanaged.column("cost").to_pylist()
    assert costs == pytest.approx(fleet.plans.column("baseline_cost").to_pylist())


def test_loads_hold_the_energy_of_all_plans(fleet: demo_fleet.Fleet) -> None:
    step = timedelta(minutes=15)
    boundaries = demo_fleet.edges(fleet.first, fleet.last, step)
    for plans in (fleet.plans, fleet.unmanaged()):
        power_kw = demo_fleet.mean_power_kw(plans, boundaries)
        energy_kwh = sum(plans.column("energy_kwh").to_pylist())
        assert power_kw.sum() * (step / HOUR) == pytest.approx(energy_kwh)


def test_a_load_is_the_mean_of_a_step() -> None:
    prices = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2], currency="EUR")
    two = stays_of(stay(1, SIX, 3, 15), stay(2, SIX + HOUR, 2, 2.5))
    fleet = demo_fleet.Fleet.plan(two, prices, time_zone="UTC")
    boundaries = demo_fleet.edges(SIX, SIX + 3 * HOUR, HOUR)
    assert demo_fleet.mean_power_kw(fleet.plans, boundaries) == pytest.approx([0, 12.5, 5])
    assert demo_fleet.mean_power_kw(fleet.unmanaged(), boundaries) == pytest.approx([10, 7.5, 0])
    empty = fleet.plans.slice(0, 0)
    assert np.array_equal(demo_fleet.mean_power_kw(empty, boundaries), [0, 0, 0])


def test_a_shortfall_names_the_worst_stay() -> None:
    prices = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2], currency="EUR")
    rows = stays_of(stay(1, SIX, 1, 11), stay(2, SIX, 2, 30), stay(3, SIX, 1, 1))
    text = "\n".join(demo_fleet.summary(demo_fleet.Fleet.plan(rows, prices, time_zone="UTC")))
    assert "11.0 kWh at 2 stays too short for their need" in text
    assert "worst: van/2, 10.0 of 30.0 kWh missing after 2.0 h at 10 kW" in text


def test_rows_in_error_are_counted() -> None:
    prices = sw.Prices.from_values(SIX, [0.3], currency="EUR")
    rows = stays_of(stay(1, SIX, 1, -1), stay(2, SIX, 1, 1))
    text = "\n".join(demo_fleet.summary(demo_fleet.Fleet.plan(rows, prices, time_zone="UTC")))
    assert "1 stays; van/1: " in text


def test_the_picture_shows_three_ways_to_charge_under_one_limit(fleet: demo_fleet.Fleet) -> None:
    picture = demo_picture.picture(fleet, title="A title", start=demo.WEEK_START)
    price, load = picture.panels
    assert (price.label, load.label) == ("Price (EUR/kWh)", "Charging (kW)")
    drawn = [curve for curve in load.curves if isinstance(curve, Steps)]
    peaks = {curve.name: max(value or 0.0 for value in curve.values) for curve in drawn}
    assert set(peaks) == {"baseline", "price", "coordinated", "coordinated-fill", "limit"}
    assert peaks["price"] > 2 * peaks["limit"]
    assert peaks["coordinated"] <= peaks["limit"] * (1 + 1e-9)
    ways = [fact.partition(",")[0].split() for fact in picture.facts[1:]]
    assert [way[0] for way in ways] == ["baseline", "price", "coordinated"]
    baseline, alone, together = (float(way[-2]) for way in ways)
    # Coordination costs more than prices alone, and less than no plan at all.
    assert alone <= together < baseline


@pytest.mark.parametrize("days", [1, 5, 12, 40])
def test_a_picture_fits_any_number_of_days(days: int, tmp_path: Path) -> None:
    start = datetime(2026, 3, 25, 17, tzinfo=UTC)
    prices = sw.Prices.from_values(start - 48 * HOUR, [0.1, -0.1, 0.2] * 400, currency="EUR")
    rows = stays_of(*(stay(day, start + 24 * day * HOUR, 3, 12) for day in range(days)))
    fleet = demo_fleet.Fleet.plan(rows, prices, time_zone="Europe/Berlin")
    demo_picture.draw(fleet, tmp_path / "p.png", title="A title")
    assert (tmp_path / "p.png").read_bytes().startswith(PNG)


# ----------------------------------------------------- the files of others


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A price list, a driving log of the same week, and a file that is neither."""
    target = tmp_path / "data"
    shutil.copytree(samples.SIMBEV_EVENTS, target / "cars")
    shutil.copy(samples.AUTUMN_WEEK, target / "prices-de-2026.csv")
    shutil.copy(samples.NORDPOOL_SPRING, target / "prices-se.csv")
    (target / "broken.csv").write_text("a,b\n1,2\n")
    (target / "README.md").write_text("nothing to read")
    return target


def test_all_files_of_a_folder_are_named_read_and_planned(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo.main(["--data", str(folder), "--out", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    assert "prices   broken.csv\n         not read: " in text
    assert "local times are those of Europe/Berlin, for the 'de' in its name" in text
    assert "local times are those of Europe/Stockholm, for the 'se' in its name" in text
    assert "second occurrence" in " ".join(text.split())
    assert "stays    cars/" in text
    assert "== cars on prices-de-2026" in text
    assert "moved by" not in text.partition("== cars on prices-se")[0]
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert "demo-prices-de-2026-cars.parquet" in names
    assert "demo-prices-de-2026-cars.png" in names


def test_stays_are_moved_openly_or_not_at_all(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "prices-de-2026.csv").unlink()
    out = ["--out", str(tmp_path / "out")]
    assert demo.main(["--data", str(folder), "--no-align", *out]) == 0
    text = capsys.readouterr().out
    assert "lies within these prices" in text
    assert "nothing is planned; --align would move the stays by whole weeks" in text
    assert not (tmp_path / "out").exists()
    assert demo.main(["--data", str(folder), *out]) == 0
    assert "moved by -" in capsys.readouterr().out
    assert list((tmp_path / "out").glob("*.parquet"))


def test_moving_keeps_the_day_of_the_week_and_the_first_time_of_day() -> None:
    zone = ZoneInfo("Europe/Berlin")
    first = datetime(2026, 7, 6, 18, tzinfo=zone).astimezone(UTC)
    before = stays_of(stay(1, first, 3, 1), stay(2, first + 48 * HOUR, 3, 1))
    after = demo_files.moved(before, 26, zone)
    arrivals = [each.arrival.astimezone(zone) for each in after.stays]
    assert arrivals[0] == datetime(2027, 1, 4, 18, tzinfo=zone)
    assert arrivals[1] - arrivals[0] == 48 * HOUR
    assert date(2027, 1, 4).weekday() == date(2026, 7, 6).weekday()


def test_only_stays_within_known_prices_are_planned(capsys: pytest.CaptureFixture[str]) -> None:
    gap = sw.Prices.from_slots(
        [(SIX, SIX + 2 * HOUR, 0.1), (SIX + 3 * HOUR, SIX + 5 * HOUR, 0.2)], currency="EUR"
    )
    rows = stays_of(
        stay(1, SIX, 2, 1),
        stay(2, SIX + HOUR, 3, 1),
        stay(3, SIX + 3 * HOUR, 2, 1),
        stay(4, SIX + 4 * HOUR, 2, 1),
        stay(5, SIX - HOUR, 2, 1),
    )
    log = demo_files.DrivingLog("cars", rows, "UTC")
    known = demo_files.PriceList("list", gap, "UTC")
    kept = demo_files._stays_for(log, known, is_aligned=True)
    assert [each.id for each in kept.stays] == ["van/1", "van/3"]
    assert "2 stays lie wholly within known prices; 3 are left out" in capsys.readouterr().out


def test_a_folder_without_files_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo.main(["--data", str(tmp_path / "nowhere")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
    assert demo.main(["--data", str(tmp_path)]) == 2
    assert "there is no price list that can be read" in capsys.readouterr().err
