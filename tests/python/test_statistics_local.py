"""Buckets on the clocks of a time zone, beside polars and pandas."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slackwater as sw
from slackwater import statistics

HOUR = timedelta(hours=1)
QUARTER = timedelta(minutes=15)
ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"]
EVERY = {"hour": "1h", "day": "1d", "week": "1w", "month": "1mo", "year": "1y"}


def readings(start: datetime, count: int, length: timedelta = QUARTER) -> pl.DataFrame:
    """Samples that follow each other, of powers that tell them apart."""
    times = [start + length * row for row in range(count)]
    powers = [float(row % 7 + 1) for row in range(count)]
    return pl.DataFrame({"start": times, "power_kw": powers})


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("resolution", EVERY)
def test_sums_are_those_of_polars(zone: str, resolution: str) -> None:
    """A year of quarter hours, grouped by the local calendar."""
    rows = readings(datetime(2025, 11, 27, 7, 30, tzinfo=UTC), 400 * 96)
    found = pl.DataFrame(
        statistics.aggregate(rows, resolution=resolution, time_zone=zone, sample_length=QUARTER)
    )
    assert found.schema["date"] == pl.Datetime("us", zone)
    local = pl.col("start").dt.convert_time_zone(zone).dt.truncate(EVERY[resolution])
    expected = (
        rows.with_columns(date=local)
        .group_by("date")
        .agg(pl.col("power_kw").sum() / 4)
        .sort("date")
    )
    if zone == "Australia/Lord_Howe" and resolution == "hour":
        # The hour that half an hour is shown twice of is one to polars and two here.
        assert found.height == expected.height + 1
    else:
        assert found["date"].to_list() == expected["date"].to_list()
        assert found["energy_kwh"].to_list() == pytest.approx(expected["power_kw"].to_list())
    assert found["energy_kwh"].sum() == pytest.approx(rows["power_kw"].sum() / 4)
    assert found["hours"].sum() == pytest.approx(400 * 24)


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25)])
def test_days_of_23_and_25_hours(day: str, hours: int) -> None:
    """A local day has the hours that it has, as with pandas."""
    zone = ZoneInfo("Europe/Berlin")
    midnight = datetime.fromisoformat(day).replace(tzinfo=zone)
    rows = readings((midnight - timedelta(days=2)).astimezone(UTC), 5 * 24, HOUR)
    found = pa.table(
        statistics.aggregate(rows, resolution="day", time_zone="Europe/Berlin", sample_length=HOUR)
    ).to_pandas()
    series = pd.Series(
        rows["power_kw"].to_list(), index=pd.DatetimeIndex(rows["start"].to_list(), tz="UTC")
    )
    expected = series.tz_convert("Europe/Berlin").resample("D").sum()
    assert found["date"].to_list() == expected.index.to_list()
    assert found["energy_kwh"].to_list() == pytest.approx(expected.to_list())
    assert found["hours"][2] == hours
    by_hour = pa.table(
        statistics.aggregate(rows, resolution="hour", time_zone="Europe/Berlin", sample_length=HOUR)
    )
    assert by_hour.num_rows == 5 * 24


def test_series_are_labelled_with_instants() -> None:
    """Where clocks show an hour twice a local label would stand for two buckets."""
    start = datetime(2026, 10, 25, tzinfo=UTC)
    samples = [statistics.Sample(start, start + 2 * HOUR, power_kw=1.0)]
    items = statistics.series(samples, resolution="hour", time_zone="Europe/Berlin")
    assert [(item.date, item.totals.energy_kwh) for item in items] == [
        (start, 1.0),
        (start + HOUR, 1.0),
    ]
    label = statistics.bucket_label(start, resolution="month", time_zone="Europe/Berlin")
    assert label == datetime(2026, 9, 30, 22, tzinfo=UTC)


def test_an_offset_and_a_zone_contradict() -> None:
    """One of them, by name."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    samples = [statistics.Sample(start, start + HOUR, power_kw=1.0)]
    with pytest.raises(sw.InputError, match='utc_offset_hours is 1 h and time_zone is "UTC"'):
        statistics.series(samples, resolution="day", utc_offset_hours=1, time_zone="UTC")
    with pytest.raises(sw.InputError, match='time_zone: "Berlin" is no IANA time zone'):
        statistics.bucket_label(start, resolution="day", time_zone="Berlin")


@given(
    day=st.integers(0, 3000),
    minutes=st.lists(st.integers(1, 3000), min_size=1, max_size=20),
    zone=st.sampled_from(ZONES),
    resolution=st.sampled_from(sorted(statistics.RESOLUTIONS)),
)
def test_sums_over_buckets_are_the_total(
    day: int, minutes: list[int], zone: str, resolution: str
) -> None:
    """Whatever the buckets are, energy, time and money are all there."""
    at = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=day)
    samples = []
    for length in minutes:
        end = at + timedelta(minutes=length)
        samples.append(statistics.Sample(at, end, power_kw=3.0, price_per_kwh=0.25))
        at = end
    items = statistics.series(samples, resolution=resolution, time_zone=zone)
    energy = sum(item.totals.energy_kwh for item in items)
    assert energy == pytest.approx(3.0 * sum(minutes) / 60)
    assert float(sum(item.totals.cost for item in items)) == pytest.approx(energy * 0.25)
    dates = [item.date for item in items]
    assert dates == sorted(set(dates))
