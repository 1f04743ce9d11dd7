"""Driving logs of SimBEV: stays, and what becomes of the rest."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import slackwater
from io_files import Write, at, refusal, writer
from slackwater import io, samples


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return writer(tmp_path)


HEADER = (
    ",timestamp,event_start,event_time,location,use_case,soc_start,soc_end,energy,"
    "station_charging_capacity,average_charging_power\n"
)
LOG = HEADER + (
    "0,2026-01-05 07:00:00,0,2,driving,,0.8,0.7,-5,0,0\n"
    "1,2026-01-05 07:30:00,2,30,work,work,0.7,0.7,0,0,0\n"
    "2,2026-01-05 15:00:00,32,2,driving,,0.7,0.6,-5,0,0\n"
    "3,2026-01-05 15:30:00,34,40,home,home,0.6,1.0,20,11,2\n"
    "4,2026-01-06 01:30:00,74,20,home,home,1.0,1.0,0,11,0\n"
)


def read_log(path: Path, **more: object) -> io.VehicleStays:
    return io.read_simbev(path, **{"time_zone": "Europe/Berlin", **more})  # type: ignore[arg-type]


def test_a_folder_of_cars() -> None:
    stays = read_log(samples.SIMBEV_EVENTS)
    assert {stay.vehicle for stay in stays.stays} == {"blue", "red"}
    assert {stay.capacity_kwh for stay in stays.stays} == {50.0, 75.0}
    assert {stay.location for stay in stays.stays} == {"home", "work", "hpc"}
    assert all(stay.arrival < stay.departure for stay in stays.stays)
    moved = [note for note in stays.notes if "clocks in Europe/Berlin are behind" in note]
    assert len(moved) == 2
    one = read_log(samples.SIMBEV_EVENTS / "red_events.csv")
    assert one.stays == tuple(stay for stay in stays.stays if stay.vehicle == "red")


def test_each_event_is_a_stay_or_counted(write: Write) -> None:
    stays = read_log(write(LOG))
    assert stays.stays[0] == io.VehicleStay(
        id="prices/1",
        vehicle="prices",
        location="home",
        arrival=at("2026-01-05T14:30Z"),
        departure=at("2026-01-06T00:30Z"),
        energy_kwh=20.0,
        power_max_kw=11.0,
        soc_percent=60.0,
        capacity_kwh=50.0,
    )
    assert stays.stays[1].energy_kwh == 0
    assert stays.notes == (
        (
            "prices: 5 events: 2 stays at a charger (20.0 kWh charged, 1 without a need), "
            "1 parked without one, 2 of driving (10.0 kWh used)"
        ),
    )


def test_stays_are_a_table(write: Write) -> None:
    stays = read_log(write(LOG))
    table = pa.table(stays)
    assert table.to_pydict() == stays.to_pydict()
    assert table.schema.field("arrival").type == pa.timestamp("us", tz="UTC")
    assert pa.table(stays.to_pydict()).num_rows == 2


def test_stays_can_be_planned_as_they_are() -> None:
    week = io.read_prices_csv(samples.AUTUMN_WEEK, time_zone="Europe/Berlin", currency="EUR")
    stays = read_log(samples.SIMBEV_EVENTS)
    plans = pa.table(slackwater.plan_batch(stays, week.prices))
    assert plans.column("id").to_pylist() == [stay.id for stay in stays.stays]
    assert plans.column("error").null_count == len(stays)
    assert max(plans.column("shortfall_kwh").to_pylist()) == 0
    bought = plans.column("energy_kwh").to_pylist()
    assert bought == pytest.approx([stay.energy_kwh for stay in stays.stays], abs=1e-9)


def test_a_log_moves_to_other_days(write: Write) -> None:
    moved = read_log(write(LOG), origin=datetime(2023, 6, 1, 12, tzinfo=UTC))
    assert moved.stays[0].arrival == at("2023-06-01T20:30Z")
    assert moved.stays[0].energy_kwh == 20


def test_what_a_log_does_not_say(write: Write) -> None:
    assert read_log(write(LOG), capacity_kwh=64).stays[0].capacity_kwh == 64
    no_trips = HEADER + "3,2026-01-05 15:30:00,34,40,home,home,0.6,1.0,20,11,2\n"
    assert read_log(write(no_trips)).stays[0].capacity_kwh is None
    assert pa.table(read_log(write(no_trips))).column("capacity_kwh").null_count == 1


def test_a_timestamp_a_step_off_is_named(write: Write) -> None:
    stays = read_log(write(LOG.replace("15:30:00", "15:45:00")))
    assert stays.stays[0].arrival == at("2026-01-05T14:30Z")
    assert "row 5 has the timestamp 2026-01-05 15:45:00" in stays.notes[1]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("location", "place", "prices: no column 'location'; found: '', 'timestamp'"),
        ("soc_end", "soc", "prices: no column 'soc_end'; found: "),
        ("0.6,1.0,20", "0.6,1.0,much", "prices, row 5, column 'energy': 'much' is no number"),
        ("0.6,1.0,20", "0.6,1.0,", "prices, row 5, column 'energy': '' is no number"),
        ("34,40", "34,4.5", "prices, row 5, column 'event_time': 4.5 is no count of steps"),
        ("34,40", "33,40", "prices: row 5 starts at step 33, before row 4 ends at step 34"),
        ("0.6,1.0,20,11", "0.6,1.0,20,0", "prices: row 5: 20 kWh charged where the charger has 0"),
        ("0.6,1.0,20", "60,100,20", "prices: row 5: soc_start is 60, outside 0 to 1"),
        ("-5,0,0\n1", "5,0,0\n1", "prices: row 2: 5 kWh while driving"),
        ("15:30:00", "17:30:00", "prices: row 5 has the timestamp 2026-01-05 17:30:00"),
        (
            "2026-01-05 07:00:00",
            "2026-01-05 07:00Z",
            "prices, row 2, column 'timestamp': '2026-01-05 07:00Z' has an offset",
        ),
        ("34,40", "34,1e30", "prices, row 5, column 'event_time': 1e+30 is no count of steps"),
        ("2026-01-05 07:00:00", "soon", "prices, row 2, column 'timestamp': 'soon' is no time"),
    ],
)
def test_logs_that_are_refused(write: Write, old: str, new: str, expected: str) -> None:
    path = write(LOG.replace(old, new, 1))
    assert refusal(lambda: read_log(path)).startswith(expected)


def test_an_empty_folder(tmp_path: Path) -> None:
    assert refusal(lambda: read_log(tmp_path)).endswith("the folder has no *.csv")


def test_a_log_without_events(write: Write) -> None:
    assert refusal(lambda: read_log(write(HEADER))) == "prices: the log has no events"
