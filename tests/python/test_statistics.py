"""Statistics: laws, an oracle written with polars, the ledger, and what is refused."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slackwater as sw
from slackwater import statistics
from slackwater.statistics import Sample

MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
HOUR, QUARTER = timedelta(hours=1), timedelta(minutes=15)
EVERY = {
    "quarter_hour": "15m",
    "half_hour": "30m",
    "hour": "1h",
    "day": "1d",
    "week": "1w",
    "month": "1mo",
    "year": "1y",
}


def quarters(rows: int, *, seed: int = 0, devices: int = 3) -> pa.Table:
    """Quarter hours over both clock changes of 2024: gaps, no price, no power, smart or not."""
    source = random.Random(seed)
    start = datetime(2024, 3, 29, tzinfo=UTC)
    built = []
    for row in range(rows):
        begins = start + (row // devices) * QUARTER * source.choice((1, 1, 1, 7))
        kind = source.random()
        built.append(
            {
                "device": f"d{row % devices}",
                "start": begins,
                "end": begins + QUARTER,
                "power_kw": None if kind < 0.1 else round(source.uniform(-2, 11), 3),
                "price_per_kwh": None if 0.1 < kind < 0.2 else round(source.uniform(-0.1, 0.6), 4),
                "non_smart_kw": round(source.uniform(0, 11), 3) if kind > 0.7 else None,
            }
        )
    types = pa.schema(
        [
            ("device", pa.string()),
            ("start", pa.timestamp("us", "UTC")),
            ("end", pa.timestamp("us", "UTC")),
            ("power_kw", pa.float64()),
            ("price_per_kwh", pa.float64()),
            ("non_smart_kw", pa.float64()),
        ]
    )
    return pa.Table.from_pylist(built, schema=types)


def oracle(table: pa.Table, resolution: str, offset_minutes: int) -> pl.DataFrame:
    """The same sums with polars, of samples that no bucket splits."""
    shift = pl.duration(minutes=offset_minutes)
    power, price = pl.col("power_kw"), pl.col("price_per_kwh")
    instead = pl.col("non_smart_kw")
    is_priced = power.is_not_null() & price.is_not_null()
    hours = 0.25
    return (
        pl.DataFrame(table)
        .with_columns(date=(pl.col("start") + shift).dt.truncate(EVERY[resolution]))
        .group_by("device", "date")
        .agg(
            kw_min=power.min().fill_null(0),
            kw_max=power.max().fill_null(0),
            kw_mean=power.mean().fill_null(0),
            hours=power.count() * hours,
            energy_kwh=power.sum() * hours,
            priced_kwh=power.filter(is_priced).sum() * hours,
            price_min_per_kwh=price.filter(is_priced).min(),
            price_max_per_kwh=price.filter(is_priced).max(),
            cost=(power * price).sum() * hours,
            non_smart_kwh=pl.when(instead.count() > 0).then(instead.sum() * hours),
            non_smart_cost=pl.when(instead.count() > 0).then((instead * price).sum() * hours),
            savings=pl.when(instead.count() > 0).then(
                ((instead - power.fill_null(0)) * price).sum() * hours
            ),
            seen=power.count() + instead.count(),
        )
        .filter(pl.col("seen") > 0)
        .drop("seen")
        .sort("device", "date")
    )


def aggregate(samples: Any, **choices: Any) -> pl.DataFrame:
    return pl.DataFrame(statistics.aggregate(samples, **choices))


def assert_same(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    for name in expected.columns:
        one, two = found[name].to_list(), expected[name].to_list()
        if isinstance(two[0], str | datetime):
            assert one == two, name
            continue
        assert [value is None for value in one] == [value is None for value in two], name
        pairs = zip(one, two, strict=True)
        numbers = [(float(a), float(b)) for a, b in pairs if a is not None]
        assert all(a == pytest.approx(b, rel=1e-9, abs=1e-9) for a, b in numbers), name


@pytest.mark.parametrize("resolution", statistics.RESOLUTIONS)
@pytest.mark.parametrize("offset_minutes", [0, 60, -210, 345, 840])
def test_sums_are_those_of_polars(resolution: str, offset_minutes: int) -> None:
    table = quarters(1200, seed=offset_minutes)
    hours = offset_minutes / 60
    found = aggregate(table, by="device", resolution=resolution, utc_offset_hours=hours)
    assert_same(found.sort("device", "date"), oracle(table, resolution, offset_minutes))


def test_many_rows_take_the_short_way_to_the_same_sums() -> None:
    rows = 50_000
    table = pa.table(
        {
            "device": pa.array([f"d{row // 20_000}" for row in range(rows)]),
            "start": pa.array(
                [MONDAY + (row % 20_000) * QUARTER for row in range(rows)],
                pa.timestamp("us", "UTC"),
            ),
            "power_kw": [None if row % 13 == 0 else row % 97 / 9 for row in range(rows)],
            "price_per_kwh": [None if row % 17 == 0 else row % 53 / 100 for row in range(rows)],
            "non_smart_kw": pa.nulls(rows, pa.float64()),
        }
    )
    for resolution in ("day", "month", "year"):
        found = aggregate(
            table, by="device", resolution=resolution, utc_offset_hours=-3.5, sample_length=QUARTER
        )
        assert_same(found.sort("device", "date"), oracle(table, resolution, -210))


def test_energy_and_money_do_not_depend_on_resolution_or_offset() -> None:
    table = quarters(400)
    sums = []
    for minutes in range(-840, 841, 35):
        for resolution in statistics.RESOLUTIONS:
            found = aggregate(table, resolution=resolution, utc_offset_hours=minutes / 60)
            sums.append((found["energy_kwh"].sum(), found["cost"].sum(), found["savings"].sum()))
            mean = (found["kw_mean"] * found["hours"]).to_list()
            assert mean == pytest.approx(found["energy_kwh"].to_list(), rel=1e-9, abs=1e-9)
            paid = (found["price_mean_per_kwh"] * found["priced_kwh"]).fill_null(0).to_list()
            assert paid == pytest.approx(found["cost"].cast(float).to_list(), rel=1e-9, abs=1e-9)
    assert [energy for energy, _, _ in sums] == pytest.approx([sums[0][0]] * len(sums), rel=1e-9)
    assert {(cost, savings) for _, cost, savings in sums} == {sums[0][1:]}


def test_buckets_of_buckets_are_larger_buckets() -> None:
    table = quarters(900)
    days = aggregate(table, by="device", resolution="day", utc_offset_hours=5.75)
    months = aggregate(table, by="device", resolution="month", utc_offset_hours=5.75)
    grouped = days.group_by("device", date=pl.col("date").dt.truncate("1mo")).agg(
        pl.col("kw_min").filter(pl.col("hours") > 0).min().fill_null(0),
        pl.col("kw_max").filter(pl.col("hours") > 0).max().fill_null(0),
        pl.col("hours", "energy_kwh", "priced_kwh", "cost", "savings").sum(),
    )
    grouped = grouped.sort("device", "date")
    months = months.sort("device", "date")
    assert grouped["cost"].to_list() == months["cost"].to_list()
    assert grouped["savings"].to_list() == months["savings"].to_list()
    assert_same(months, grouped)


def test_a_list_and_a_table_have_the_same_sums() -> None:
    table = quarters(300, devices=1)
    rows = [Sample(*row.values()) for row in table.drop_columns(["device"]).to_pylist()]
    for resolution in statistics.RESOLUTIONS:
        items = statistics.series(rows, resolution=resolution, utc_offset_hours=-9.5)
        found = aggregate(table, resolution=resolution, utc_offset_hours=-9.5)
        assert [item.date for item in items] == found["date"].to_list()
        assert [item.totals.cost for item in items] == found["cost"].to_list()
        instead = [item.totals.non_smart for item in items]
        assert [own.savings if own else None for own in instead] == found["savings"].to_list()
        energies = [item.totals.energy_kwh for item in items]
        assert energies == pytest.approx(found["energy_kwh"].to_list(), rel=1e-9, abs=1e-12)


# ------------------------------------------------------------ forms of a table


def test_a_stream_is_read_batch_by_batch() -> None:
    table = quarters(600)
    read: list[int] = []

    def batches() -> Any:
        for batch in table.to_batches(max_chunksize=37):
            read.append(batch.num_rows)
            yield batch

    stream = pa.RecordBatchReader.from_batches(table.schema, batches())
    in_pieces = aggregate(stream, by="device", resolution="month")
    assert len(read) == -(-600 // 37)
    at_once = aggregate(table, by="device", resolution="month")
    assert_same(in_pieces, at_once)
    assert in_pieces["cost"].to_list() == at_once["cost"].to_list()


def test_a_failing_stream_raises_and_nothing_is_answered() -> None:
    table = quarters(10)

    def batches() -> Any:
        yield from table.to_batches()
        raise RuntimeError("the disk is gone")

    stream = pa.RecordBatchReader.from_batches(table.schema, batches())
    with pytest.raises(sw.InputError, match="the disk is gone"):
        statistics.aggregate(stream, resolution="month")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_timestamps_may_have_any_unit_and_zone(unit: str, zone: str) -> None:
    table = quarters(50)
    expected = aggregate(table, resolution="day")
    for name in ("start", "end"):
        column = table.column(name).cast(pa.timestamp(unit, zone))
        table = table.set_column(table.column_names.index(name), name, column)
    assert aggregate(table, resolution="day").equals(expected)


def test_keys_may_be_words_numbers_or_dictionaries_and_several() -> None:
    table = quarters(90, devices=3)
    words = table.column("device")
    numbers = pa.array([int(word.as_py()[1:]) for word in words])
    many = table.append_column("number", numbers).append_column(
        "coded", words.combine_chunks().dictionary_encode()
    )
    plain = aggregate(many, by="device", resolution="year")
    assert plain["device"].to_list() == ["d0", "d1", "d2"]
    for key in ("number", "coded"):
        found = aggregate(many, by=key, resolution="year")
        assert found.drop(key).equals(plain.drop("device"))
        assert [int(str(name).removeprefix("d")) for name in found[key]] == [0, 1, 2]
    pairs = aggregate(many, by=["number", "coded"], resolution="year")
    assert pairs.columns[:3] == ["number", "coded", "date"]
    assert pairs.drop("number", "coded").equals(plain.drop("device"))


def test_energy_may_stand_for_power() -> None:
    table = quarters(200)
    energy = [None if kw is None else kw / 4 for kw in table.column("power_kw").to_pylist()]
    instead = [None if kw is None else kw / 4 for kw in table.column("non_smart_kw").to_pylist()]
    as_energy = table.drop_columns(["power_kw", "non_smart_kw"])
    as_energy = as_energy.append_column("energy_kwh", pa.array(energy))
    as_energy = as_energy.append_column("non_smart_kwh", pa.array(instead))
    found = aggregate(as_energy, by="device", resolution="day")
    assert_same(found, aggregate(table, by="device", resolution="day"))


def test_an_empty_table_has_no_rows_and_the_same_columns() -> None:
    table = quarters(10)
    empty = aggregate(table.slice(0, 0), by="device", resolution="day")
    assert empty.shape == (0, len(aggregate(table, by="device", resolution="day").columns))


def test_a_constant_flow_over_clock_changes_is_its_power_by_elapsed_time() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start, end = datetime(2024, 3, 31, tzinfo=berlin), datetime(2024, 4, 1, tzinfo=berlin)
    [item] = statistics.series([Sample(start, end, 1.0)], resolution="year")
    assert item.totals.energy_kwh == pytest.approx(23)
    table = pa.table({"start": [start], "end": [end], "power_kw": [1.0]})
    week = statistics.hours_of_week(table, time_zone="Europe/Berlin")
    assert week[6] == [1.0, 1.0, 0.0, *[1.0] * 21]
    assert sum(map(sum, week[:6])) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"power_kw": None}, 'there is no column "power_kw"'),
        ({"power_kw": ["much"]}, 'column "power_kw" holds'),
        ({"power_kw": [float("inf")]}, "power_kw of row 0: inf kW is not a finite number"),
        ({"price_per_kwh": [1e13]}, "price_per_kwh of row 0"),
        ({"start": [None]}, "start"),
        ({"start": [datetime(2024, 1, 1)]}, "without a time zone"),  # noqa: DTZ001
        ({"end": [MONDAY]}, "row 0 ends at 2024-01-01 00:00:00 UTC, not after its start"),
        ({"end": None}, 'there is no column "end"'),
        ({"energy_kwh": [1.0]}, 'there are both "power_kw" and "energy_kwh"'),
        ({"device": [None]}, "device of row 0 is null"),
        ({"device": [1.5]}, "not words or whole numbers"),
        ({"device": None}, 'there is no column "device"'),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    row: dict[str, Any] = {
        "device": ["d"],
        "start": [MONDAY],
        "end": [MONDAY + HOUR],
        "power_kw": [1.0],
        "price_per_kwh": [0.1],
    }
    table = pa.table({name: value for name, value in (row | change).items() if value is not None})
    if change.get("start") == [None]:
        table = table.set_column(1, "start", pa.nulls(1, pa.timestamp("us", "UTC")))
    if change.get("device") == [None]:
        table = table.set_column(0, "device", pa.nulls(1, pa.string()))
    with pytest.raises(sw.InputError, match=message):
        statistics.aggregate(table, by="device", resolution="day")


def test_a_length_for_all_goes_with_tables_without_end() -> None:
    table = quarters(3)
    with pytest.raises(sw.InputError, match="sample_length"):
        statistics.aggregate(table, resolution="day", sample_length=QUARTER)
    bare = table.drop_columns(["end"])
    with pytest.raises(sw.InputError, match="ends at"):
        statistics.aggregate(bare, resolution="day", sample_length=timedelta(0))


# -------------------------------------------------------------------- ledger


def prices_of(values: list[float]) -> sw.Prices:
    return sw.Prices.from_values(MONDAY, values, currency="EUR")


def ledger_tables(sessions: int, seed: int = 0) -> tuple[pa.Table, pa.Table]:
    source = random.Random(seed)
    heads, rows = [], []
    for session in range(sessions):
        plugged_in = MONDAY + source.randrange(0, 60) * QUARTER
        smart = source.random() < 0.8
        power = source.choice((3.7, 11.0))
        heads.append((f"s{session}", plugged_in, power, smart))
        at = plugged_in + source.randrange(0, 20) * QUARTER
        for _ in range(source.randrange(0, 9)):
            kw = round(source.uniform(0, power), 3)
            rows.append((f"s{session}", at, at + QUARTER, kw))
            at += QUARTER * source.choice((1, 1, 3))
    source.shuffle(rows)
    names = ["session", "plugged_in", "power_max_kw", "is_smart"]
    heads_table = pa.table(dict(zip(names, map(list, zip(*heads, strict=True)), strict=True)))
    columns = zip(["session", "start", "end", "power_kw"], zip(*rows, strict=True), strict=True)
    return heads_table, pa.table({name: list(values) for name, values in columns})


def test_many_sessions_are_frozen_as_each_alone() -> None:
    prices = prices_of([round(0.1 + (n * 7 % 11) / 50, 3) for n in range(72)])
    heads, rows = ledger_tables(60)
    ledger = statistics.freeze_sessions(heads, rows, prices)
    summary = pa.table(ledger.sessions).to_pylist()
    kept = Counter(pa.table(ledger.rows).column("session").to_pylist())
    for head, found in zip(heads.to_pylist(), summary, strict=True):
        own = [row for row in rows.to_pylist() if row["session"] == head["session"]]
        alone = statistics.freeze_session(
            [Sample(row["start"], row["end"], row["power_kw"]) for row in own],
            prices,
            plugged_in=head["plugged_in"],
            power_max_kw=head["power_max_kw"],
            is_smart=head["is_smart"],
        )
        assert found["savings"] == alone.savings
        assert found["session"] == head["session"]
        assert kept[head["session"]] == len(alone.samples)
        item = statistics.session(alone.samples)
        assert found["cost"] == (item.totals.cost if item else None)


@pytest.mark.parametrize("resolution", statistics.RESOLUTIONS)
@pytest.mark.parametrize("offset", [0, -13.75, 2])
def test_savings_of_buckets_are_those_of_sessions_to_the_last_digit(
    resolution: str, offset: float
) -> None:
    prices = prices_of([0.1 + (n * 13 % 17) / 30 for n in range(96)])
    ledger = statistics.freeze_sessions(*ledger_tables(80, seed=3), prices)
    sessions = pl.DataFrame(ledger.sessions)
    buckets = aggregate(ledger.rows, resolution=resolution, utc_offset_hours=offset)
    assert sessions["savings"].sum() != 0
    assert buckets["savings"].sum() == sessions["savings"].sum()
    assert buckets["cost"].sum() == sessions["cost"].sum()
    by_session = aggregate(ledger.rows, by="session", resolution="year")
    assert by_session["savings"].sum() == sessions["savings"].sum()


def test_sessions_may_have_prices_of_their_own() -> None:
    heads = pa.table(
        {
            "session": [1, 2],
            "plugged_in": [MONDAY] * 2,
            "power_max_kw": [10.0] * 2,
            "price_id": ["a", "b"],
        }
    )
    late = MONDAY + HOUR
    rows = pa.table(
        {"session": [2, 1], "start": [late] * 2, "end": [late + HOUR] * 2, "power_kw": [10.0] * 2}
    )
    prices = {"a": prices_of([0.3, 0.1]), "b": prices_of([0.2, 0.3])}
    ledger = statistics.freeze_sessions(heads, rows, prices)
    assert pa.table(ledger.sessions).column("savings").to_pylist() == [Decimal(2), Decimal(-1)]
    with pytest.raises(sw.InputError, match='there are no prices "b"'):
        statistics.freeze_sessions(heads, rows, {"a": prices["a"]})


def test_a_ledger_has_all_sessions_or_says_which_it_refuses() -> None:
    prices = prices_of([0.3, 0.1])
    heads = pa.table(
        {"session": ["a", "b"], "plugged_in": [MONDAY] * 2, "power_max_kw": [1.0, 0.0]}
    )
    row = {"start": [MONDAY], "end": [MONDAY + HOUR], "power_kw": [1.0]}

    def refused(heads: pa.Table, rows: pa.Table) -> str:
        with pytest.raises(sw.InputError) as caught:
            statistics.freeze_sessions(heads, rows, prices)
        return str(caught.value)

    known = pa.table({"session": ["b"]} | row)
    assert refused(heads, known).startswith("session in row 1: power_max_kw is 0 kW")
    unknown = pa.table({"session": ["c"]} | row)
    assert refused(heads, unknown) == "session of row 0 of the samples is no session"
    twice = pa.concat_tables([heads, heads])
    assert refused(twice, known) == "session of row 2 is there already"
    flags = heads.append_column("is_smart", pa.array([1, 0]))
    assert "not true or false" in refused(flags, known)
    assert 'no column "plugged_in"' in refused(heads.drop_columns(["plugged_in"]), known)
    empty = statistics.freeze_sessions(heads.slice(0, 0), known.slice(0, 0), prices)
    assert (len(empty.rows), len(empty.sessions)) == (0, 0)


def test_no_later_price_changes_the_ledger() -> None:
    heads, rows = ledger_tables(20, seed=8)
    ledger = statistics.freeze_sessions(heads, rows, prices_of([0.1, 0.4] * 48))
    savings = pl.DataFrame(ledger.sessions)["savings"].to_list()
    again = pa.table(ledger.rows)
    for session, expected in zip(heads.column("session").to_pylist(), savings, strict=True):
        own = again.filter(pa.compute.equal(again.column("session"), session))
        kept = [Sample(*row.values()) for row in own.drop_columns(["session"]).to_pylist()]
        item = statistics.session(kept)
        found = item.totals.non_smart.savings if item and item.totals.non_smart else None
        assert found == (None if item is None else expected)


# ----------------------------------------------------- whatever may come in

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


# ----------------------------------------------------------------- pictures


def test_a_year_is_drawn() -> None:
    prices = prices_of([0.1 + (n * 13 % 17) / 30 for n in range(96)])
    ledger = statistics.freeze_sessions(*ledger_tables(40), prices)
    figure = statistics.plot_year(ledger.rows, currency="EUR", time_zone="Europe/Berlin")
    above, below, _ = figure.axes
    assert above.get_ylabel() == "Cost (EUR)"
    assert "than without smart charging" in above.get_title(loc="left")
    assert below.get_xlabel() == "Hour in Europe/Berlin"
    week = statistics.hours_of_week(ledger.rows, time_zone="Europe/Berlin")
    drawn: Any = below.images[0].get_array()
    assert [list(row) for row in drawn] == week
    figure.canvas.draw()


def test_pictures_of_nothing_and_of_no_smart_charging_are_drawn() -> None:
    plain = quarters(40).drop_columns(["non_smart_kw"])
    figure = statistics.plot_year(plain, currency="$US$")
    assert figure.axes[0].get_title(loc="left") == "Cost by month"
    figure.canvas.draw()
    nothing = statistics.plot_year(plain.slice(0, 0), currency="EUR")
    assert nothing.axes[0].texts[0].get_text() == "nothing was measured"
    with pytest.raises(sw.InputError, match="only once"):
        statistics.plot_year(plain.to_reader(), currency="EUR")
    with pytest.raises(sw.InputError, match="no/where"):
        statistics.plot_year(plain, currency="EUR", time_zone="no/where")
