"""Statistics: laws, an oracle written with polars, and what is refused."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from operator import add
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pytest

import slackwater as sw
from slackwater import statistics
from slackwater.statistics import Sample

from sample_tables import HOUR, MONDAY, QUARTER, aggregate, quarters

EVERY = {
    "quarter_hour": "15m",
    "half_hour": "30m",
    "hour": "1h",
    "day": "1d",
    "week": "1w",
    "month": "1mo",
    "year": "1y",
}


def oracle(
    table: pa.Table, resolution: str, offset_minutes: int, hours: float = 0.25
) -> pl.DataFrame:
    """The same sums with polars, of samples that no bucket splits."""
    shift = pl.duration(minutes=offset_minutes)
    power, price = pl.col("power_kw"), pl.col("price_per_kwh")
    instead = pl.col("non_smart_kw")
    is_priced = power.is_not_null() & price.is_not_null()
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


def minutes_of(table: pa.Table) -> pa.Table:
    """The same course of events, each sample cut into its minutes."""
    samples = pl.DataFrame(table).with_columns(
        start=pl.datetime_ranges("start", "end", interval="1m", closed="left")
    )
    frame = samples.explode("start").with_columns(end=pl.col("start") + pl.duration(minutes=1))
    return frame.to_arrow()


@pytest.mark.parametrize("resolution", statistics.RESOLUTIONS)
@pytest.mark.parametrize("offset_minutes", [0, 7, -401, 839])
def test_samples_are_split_as_polars_sums_up_their_minutes(
    resolution: str, offset_minutes: int
) -> None:
    source = random.Random(offset_minutes)
    at = [MONDAY + timedelta(minutes=source.randrange(0, 120_000)) for _ in range(60)]
    lengths = [timedelta(minutes=source.choice((1, 7, 59, 61, 1440, 3000))) for _ in at]
    table = pa.table(
        {
            "device": [f"d{n % 2}" for n in range(60)],
            "start": pa.array(at, pa.timestamp("us", "UTC")),
            "end": pa.array(map(add, at, lengths), pa.timestamp("us", "UTC")),
            "power_kw": [None if n % 11 == 3 else source.uniform(-5, 11) for n in range(60)],
            "price_per_kwh": [None if n % 7 == 1 else source.uniform(-0.1, 0.5) for n in range(60)],
            "non_smart_kw": [source.uniform(0, 11) if n % 3 == 0 else None for n in range(60)],
        }
    )
    found = aggregate(
        table, by="device", resolution=resolution, utc_offset_hours=offset_minutes / 60
    )
    expected = oracle(minutes_of(table), resolution, offset_minutes, hours=1 / 60)
    # The mean by number of minutes is the mean by time.
    assert_same(found.sort("device", "date"), expected)


def test_energy_and_money_do_not_depend_on_resolution_or_offset() -> None:
    table = quarters(400)
    sums = []
    # Every minute of offset is tried in the engine's own tests.
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


def test_a_bad_row_is_named_by_its_place_among_all_batches() -> None:
    rows = {"start": [MONDAY] * 4, "end": [MONDAY + HOUR] * 4}
    table = pa.table(rows | {"power_kw": [1.0] * 4, "device": ["a", "b", "c", None]})
    stream = table.to_reader(max_chunksize=3)
    with pytest.raises(sw.InputError, match="device of row 3 is null"):
        statistics.aggregate(stream, by="device", resolution="day")
    readings = pa.table({"at": [MONDAY] * 4, "total_kwh": [1.0, 2.0, 3.0, -1.0]})
    with pytest.raises(sw.InputError, match="total_kwh of row 3: -1 kWh is below 0 kWh"):
        statistics.samples_from_meter(readings.to_reader(max_chunksize=3))


def test_data_older_than_four_years_are_left_out() -> None:
    table = quarters(300)
    [year] = aggregate(table, resolution="year")["energy_kwh"].to_list()
    now = datetime(2028, 3, 30, tzinfo=UTC)
    [cut] = aggregate(table, resolution="year", now=now)["energy_kwh"].to_list()
    start, end = statistics.available_range(start=None, now=now)
    assert start == datetime(2024, 3, 30, tzinfo=UTC)
    [same] = aggregate(table, resolution="year", start=start, end=end)["energy_kwh"].to_list()
    assert cut == same != year
    assert aggregate(table, resolution="year", now=now + timedelta(days=365)).is_empty()
