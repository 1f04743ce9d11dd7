"""From readings to samples: the rules, written down once more in Python."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slackwater as sw
from slackwater import statistics

from sample_tables import HOUR, MONDAY, QUARTER, aggregate

MINUTE = timedelta(minutes=1)
STAMP = pa.timestamp("us", "UTC")
TENTHS = st.sampled_from([0, 0, 1, 5, 10, 70, 9_999, 10_000, 10_001, 4_000_000])
# Few instants, so that many rows share one; some far away.
MINUTES = st.sampled_from([0, 1, 2, 15, 16, 30, 45, 60, 75, 600, 100_000, 6_000_000])
DEVICES = st.sampled_from(["a", "b"])

Row = tuple[str, int, int]
Sample = tuple[str, datetime, datetime, Fraction]


def kept(rows: list[Row], found: Counter[str]) -> list[tuple[int, int]]:
    """Rows of one device by time, of each instant the last; what was odd is counted."""
    found["out_of_order"] += sum(two[1] < one[1] for one, two in pairwise(rows))
    last: dict[int, int] = {}
    for _, minute, value in rows:
        if minute in last:
            found["repeated" if last[minute] == value else "replaced"] += 1
        last[minute] = value
    return sorted(last.items())


def model(
    rows: list[Row], *, is_meter: bool, limit: int, power_max: int | None
) -> tuple[list[Sample], Counter[str], Fraction]:
    """Samples, findings and hours of gaps by the rules of the documentation."""
    samples: list[Sample] = []
    found: Counter[str] = Counter(rows=len(rows))
    gap_hours = Fraction(0)
    for device in dict.fromkeys(row[0] for row in rows):
        own = kept([row for row in rows if row[0] == device], found)
        if not is_meter and power_max is not None:
            before = len(own)
            own = [(minute, tenths) for minute, tenths in own if tenths <= 10 * power_max]
            found["implausible"] += before - len(own)
        for (start, one), (end, two) in pairwise(own):
            if end - start > limit:
                found["gaps"] += 1
                gap_hours += Fraction(end - start - limit, 60)
            until = end if is_meter else min(end, start + limit)
            if until == start:
                continue
            power = Fraction(one, 10)
            if is_meter:
                found["resets"] += two < one
                energy = Fraction(two if two < one else two - one, 10)
                power = energy / Fraction(end - start, 60)
            # 10 GW is beyond any machine.
            if power > (power_max or 10_000_000) or until - start > 3660 * 24 * 60:
                found["implausible"] += 1
                continue
            samples.append((device, at(start), at(until), power))
    return samples, found, gap_hours


def at(minute: int) -> datetime:
    return MONDAY + minute * MINUTE


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(DEVICES, MINUTES, TENTHS), max_size=12),
    st.booleans(),
    st.sampled_from([0, 1, 15, 60]),
    st.none() | st.sampled_from([1, 11, 400]),
    st.integers(1, 12),
)
def test_nasty_readings_become_the_samples_of_the_rules(
    rows: list[Row],
    is_meter: bool,  # noqa: FBT001
    limit: int,
    power_max: int | None,
    chunk: int,
) -> None:
    number = "total_kwh" if is_meter else "power_kw"
    table = pa.table(
        {
            "device": pa.array([row[0] for row in rows], pa.string()),
            "at": pa.array([at(row[1]) for row in rows], STAMP),
            number: pa.array([row[2] / 10 for row in rows], pa.float64()),
        }
    )
    make: Any = statistics.samples_from_meter if is_meter else statistics.samples_from_power
    longest = {"gap_max" if is_meter else "hold_max": limit * MINUTE}
    stream = table.to_reader(max_chunksize=chunk)
    measured = make(stream, by="device", power_max_kw=power_max, **longest)
    samples, found, gap_hours = model(rows, is_meter=is_meter, limit=limit, power_max=power_max)
    answered = pa.table(measured.samples).to_pylist()
    assert [(s["device"], s["start"], s["end"]) for s in answered] == [s[:3] for s in samples]
    for answer, sample in zip(answered, samples, strict=True):
        assert answer["power_kw"] == pytest.approx(float(sample[3]), rel=1e-9, abs=1e-9)
    counts = measured.findings._asdict()
    assert counts.pop("gap_hours") == pytest.approx(float(gap_hours))
    assert counts == {name: found[name] for name in counts}
    energy = sum(s[3] * Fraction((s[2] - s[1]) // MINUTE, 60) for s in samples)
    [sums] = aggregate(measured.samples, resolution="year").sum()["energy_kwh"].to_list()
    assert sums == pytest.approx(float(energy), rel=1e-9, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(DEVICES, MINUTES, st.integers(-30, 300), TENTHS), max_size=10),
    st.none() | st.just(11),
)
def test_nasty_sessions_are_kept_once_or_counted(
    rows: list[tuple[str, int, int, int]], power_max: int | None
) -> None:
    table = pa.table(
        {
            "device": pa.array([row[0] for row in rows], pa.string()),
            "start": pa.array([at(row[1]) for row in rows], STAMP),
            "end": pa.array([at(row[1] + row[2]) for row in rows], STAMP),
            "energy_kwh": pa.array([row[3] / 10 for row in rows], pa.float64()),
        }
    )
    measured = statistics.samples_from_sessions(table, by="device", power_max_kw=power_max)
    found = measured.findings
    once = set(rows)
    long = [row for row in once if row[2] > 0]
    most = float("inf") if power_max is None else power_max
    fit = [row for row in long if Fraction(row[3] * 6, row[2]) <= most]
    assert (found.rows, found.repeated) == (len(rows), len(rows) - len(once))
    assert found.without_length == len(once) - len(long)
    assert found.implausible == len(long) - len(fit)
    assert len(measured.samples) == len(fit)
    [energy] = aggregate(measured.samples, resolution="year").sum()["energy_kwh"].to_list()
    assert energy == pytest.approx(sum(row[3] for row in fit) / 10, abs=1e-9)


@pytest.mark.parametrize(
    ("change", "choices", "message"),
    [
        ({"total_kwh": [1.0, -0.5]}, {}, "total_kwh of row 1: -0.5 kWh is below 0 kWh"),
        ({"total_kwh": [1.0, float("nan")]}, {}, "total_kwh of row 1: NaN kWh is not a finite"),
        ({"total_kwh": [float("inf"), 1.0]}, {}, "total_kwh of row 0: inf kWh is not a finite"),
        ({"total_kwh": [1.0, 2e12]}, {}, "total_kwh of row 1: 2e12 kWh is beyond 1e12"),
        ({"total_kwh": [1.0, None]}, {}, "total_kwh of row 1 is null"),
        ({"total_kwh": ["1", "2"]}, {}, 'column "total_kwh" holds'),
        ({"at": [None, MONDAY]}, {}, "at of row 0 is null"),
        ({"at": [datetime(2024, 1, 1)] * 2}, {}, "without a time zone"),  # noqa: DTZ001
        ({}, {"by": "meter"}, 'there is no column "meter"'),
        ({}, {"gap_max": -30 * timedelta(seconds=1)}, "gap_max is -0.5 min; it is 0 min or more"),
        ({}, {"power_max_kw": 0}, "power_max_kw is 0 kW; it is more than 0 kW"),
        ({}, {"power_max_kw": float("nan")}, "power_max_kw: NaN kW is not a finite number"),
    ],
)
def test_readings_that_make_no_sense_are_named_with_value_and_unit(
    change: dict[str, Any], choices: dict[str, Any], message: str
) -> None:
    columns: dict[str, Any] = {"at": [MONDAY, MONDAY + QUARTER], "total_kwh": [1.0, 2.0]}
    table = pa.table(columns | change)
    with pytest.raises(sw.InputError) as caught:
        statistics.samples_from_meter(table, **choices)
    assert message in str(caught.value)


def test_a_reading_with_a_clock_of_1970_does_not_spoil_the_rest() -> None:
    rows = {
        "at": [datetime(1970, 1, 1, tzinfo=UTC), MONDAY, MONDAY + HOUR],
        "total_kwh": [0.0, 500.0, 507.0],
    }
    measured = statistics.samples_from_meter(pa.table(rows))
    assert aggregate(measured.samples, resolution="year")["energy_kwh"].to_list() == [7.0]
    assert measured.findings.implausible == 1
