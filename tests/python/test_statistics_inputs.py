"""Whatever comes in is summed up or refused."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slackwater as sw
from slackwater import statistics
from slackwater.statistics import Sample

from sample_tables import HOUR, MONDAY, aggregate, prices_of, quarters

ANY_NUMBER = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.just(0.0), st.floats(-20, 20), st.none()
)
ANY_TIME = st.datetimes(
    timezones=st.sampled_from([UTC, ZoneInfo("Europe/Berlin"), timezone(timedelta(hours=-5))])
)
ANY_SAMPLE = st.builds(Sample, ANY_TIME, ANY_TIME, ANY_NUMBER, ANY_NUMBER, ANY_NUMBER)
NEAR_SAMPLE = st.builds(
    lambda minute, minutes, kw, price, own: Sample(
        MONDAY + minute * timedelta(minutes=1),
        MONDAY + (minute + minutes) * timedelta(minutes=1),
        kw,
        price,
        own,
    ),
    st.integers(0, 5000),
    st.integers(1, 500),
    st.none() | st.floats(-20, 20),
    st.none() | st.floats(-1, 1),
    st.none() | st.floats(-20, 20),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ANY_SAMPLE, max_size=4), st.sampled_from(statistics.RESOLUTIONS), ANY_NUMBER)
def test_any_samples_are_summed_up_or_refused(
    samples: list[Sample], resolution: str, offset: float | None
) -> None:
    try:
        items = statistics.series(samples, resolution=resolution, utc_offset_hours=offset or 0.0)
    except sw.InputError:
        return
    for item in items:
        assert item.totals.power_kw.min <= item.totals.power_kw.max
        assert item.totals.hours >= 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(NEAR_SAMPLE, max_size=8),
    st.lists(NEAR_SAMPLE, max_size=8),
    st.sampled_from(statistics.RESOLUTIONS),
    st.integers(-840, 840),
)
def test_adding_up_two_lists_is_adding_up_their_items(
    one: list[Sample], two: list[Sample], resolution: str, minutes: int
) -> None:
    sums: dict[datetime, list[Decimal]] = {}
    for part in (one, two):
        for item in statistics.series(part, resolution=resolution, utc_offset_hours=minutes / 60):
            sums.setdefault(item.date, []).append(item.totals.cost)
    whole = statistics.series(one + two, resolution=resolution, utc_offset_hours=minutes / 60)
    assert [(item.date, item.totals.cost) for item in whole] == sorted(
        (date, sum(costs, Decimal(0))) for date, costs in sums.items()
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(NEAR_SAMPLE, max_size=6), ANY_NUMBER, ANY_TIME, st.booleans())
def test_any_session_is_frozen_or_refused(
    samples: list[Sample],
    power: float | None,
    plugged_in: datetime,
    is_smart: bool,  # noqa: FBT001
) -> None:
    bare = [sample._replace(non_smart_kw=None) for sample in samples]
    prices = prices_of([0.2] * 120)
    try:
        frozen = statistics.freeze_session(
            bare, prices, plugged_in=plugged_in, power_max_kw=power or 0.0, is_smart=is_smart
        )
    except sw.InputError:
        return
    item = statistics.session(frozen.samples)
    if item is not None and item.totals.non_smart is not None:
        assert item.totals.non_smart.savings == frozen.savings


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(ANY_TIME, ANY_NUMBER), max_size=6), st.floats(-1, 1e6), st.integers(0, 2))
def test_any_readings_are_made_into_samples_or_refused(
    rows: list[tuple[datetime, float | None]], minutes: float, kind: int
) -> None:
    make: Any = (statistics.samples_from_meter, statistics.samples_from_power)[kind % 2]
    number = ("total_kwh", "power_kw")[kind % 2]
    limit = ("gap_max", "hold_max")[kind % 2]
    try:
        table = pa.table(
            {
                "at": pa.array([at for at, _ in rows], pa.timestamp("us", "UTC")),
                number: pa.array([value for _, value in rows], pa.float64()),
            }
        )
    except (OverflowError, ValueError):
        return
    try:
        found = make(table, **{limit: timedelta(minutes=minutes)})
    except sw.InputError:
        return
    assert found.findings.rows == len(rows)
    assert len(found.samples) < max(len(rows), 1)
    with contextlib.suppress(sw.InputError):  # ten years between two readings
        aggregate(found.samples, resolution="year")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(NEAR_SAMPLE, max_size=4),
    st.sampled_from(["DAY", "MONTH", "YEAR", "WEEK"]),
    st.sampled_from(["2024-01-01", "2024-01", "2024", "0000", "9999-12-31", "9999", "", "x"]),
    st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Apia", "no/where"]),
    st.integers(-5, 3000),
)
def test_any_period_of_a_home_is_summed_up_or_refused(
    samples: list[Sample], period: str, value: str, zone: str, minutes: int
) -> None:
    choices: Any = {
        "period": period,
        "value": value,
        "time_zone": zone,
        "bucket_minutes": minutes,
    }
    calls: list[tuple[Any, Any]] = [
        (statistics.home_flow, samples),
        (statistics.home_battery_level, [(MONDAY, 50.0)]),
    ]
    for call, data in calls:
        try:
            found = call(data, **choices)
        except sw.InputError:
            continue
        assert found.is_available == (found.reason is None)
        assert found.is_available == bool(found.data)


@given(st.text(max_size=12), st.none() | st.text(max_size=12))
def test_members_of_unknown_records_are_refused(record: str, version: str | None) -> None:
    with pytest.raises(sw.InputError):
        statistics.members(record, version=version or "2023-01-01")


def test_times_without_a_zone_are_refused_everywhere() -> None:
    naive = datetime(2024, 1, 1)  # noqa: DTZ001
    calls: list[Any] = [
        lambda: statistics.series([(naive, MONDAY + HOUR, 1.0)], resolution="day"),
        lambda: statistics.series([], resolution="day", start=naive),
        lambda: statistics.session([(naive, MONDAY + HOUR, 1.0)]),
        lambda: statistics.bucket_label(naive, resolution="day"),
        lambda: statistics.available_range(start=naive, now=MONDAY),
        lambda: statistics.aggregate(quarters(1), resolution="day", end=naive),
        lambda: statistics.freeze_session([], prices_of([1]), plugged_in=naive, power_max_kw=1),
        lambda: statistics.home_battery_level(
            [(naive, 1.0)], period="DAY", value="2024-01-01", time_zone="UTC"
        ),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="time zone"):
            call()


@pytest.mark.parametrize("year", [1, 9, 9991, 9999])
def test_times_at_the_ends_of_the_calendar_are_refused(year: int) -> None:
    """Nothing is made of them that Python has no datetime for."""
    edge = datetime(year, 12, 31, 23, tzinfo=UTC)
    calls: list[Any] = [
        lambda: sw.next_deadline("07:00", time_zone="Europe/Oslo", now=edge),
        lambda: statistics.bucket_label(edge, resolution="year"),
        lambda: statistics.available_range(start=None, end=None, now=edge),
        lambda: sw.Prices.from_values(edge, [0.1], currency="EUR"),
        lambda: statistics.freeze_session(
            [], prices_of([0.2]), plugged_in=edge, power_max_kw=1.0, is_smart=True
        ),
    ]
    for call in calls:
        with pytest.raises(sw.InputError, match="lies outside the years 10 to 9990"):
            call()


@pytest.mark.parametrize("is_smart", [True, False])
@pytest.mark.parametrize("power_kw", [1e-12, 1e-9, 1e-8, 1e-6, 1e-4])
def test_a_baseline_beyond_the_calendar_is_told_or_refused(
    power_kw: float,
    is_smart: bool,  # noqa: FBT001
) -> None:
    """Energy at next to no power takes longer than there are years."""
    sample = Sample(MONDAY, MONDAY + HOUR, 20.0)
    with contextlib.suppress(sw.InputError):
        statistics.freeze_session(
            [sample],
            prices_of([0.2]),
            plugged_in=MONDAY,
            power_max_kw=power_kw,
            is_smart=is_smart,
        )


def test_a_list_of_buckets_is_bounded() -> None:
    years = [
        Sample(MONDAY + n * 3650 * 24 * HOUR, MONDAY + (n + 1) * 3650 * 24 * HOUR, 1.0)
        for n in range(2)
    ]
    with pytest.raises(sw.InputError, match="a list holds 400000"):
        statistics.series(years, resolution="quarter_hour")
