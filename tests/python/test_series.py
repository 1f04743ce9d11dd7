"""Prices and other series as pandas, polars and people have them."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slackwater as sw

from fleets import NOON

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HOUR = timedelta(hours=1)
BERLIN = "Europe/Berlin"


def at(text: str) -> datetime:
    """A time, with a zone where the text has one."""
    return datetime.fromisoformat(text)


def prices_of(*values: float, start: datetime = NOON) -> sw.Prices:
    """Prices of an hour each."""
    return sw.Prices.from_values(start, values, currency="EUR")


def values_of(series: sw.Series) -> list[float]:
    """Values alone."""
    return [slot[2] for slot in series]


def wall_clock_day(day: str) -> pd.DatetimeIndex:
    """The hours that clocks in Berlin show on a day, without a time zone."""
    hours = pd.date_range(day, periods=27, freq="h", tz=BERLIN)
    index: pd.DatetimeIndex = hours[hours.date == hours[0].date()].tz_localize(None)
    return index


def as_pandas(index: pd.DatetimeIndex, values: Sequence[float]) -> pd.Series[Any]:
    """A series with an index of times."""
    return pd.Series(list(values), index=index, name="price")


def as_pandas_frame(index: pd.DatetimeIndex, values: Sequence[float]) -> pd.DataFrame:
    """A frame with a column of times."""
    return pd.DataFrame({"time": index, "price": list(values)})


def as_polars(index: pd.DatetimeIndex, values: Sequence[float]) -> pl.DataFrame:
    """A frame of polars."""
    return pl.DataFrame({"time": index.to_list(), "price": list(values)})


def as_arrow(index: pd.DatetimeIndex, values: Sequence[float]) -> pa.Table:
    """A table of pyarrow."""
    return pa.table({"time": index.to_list(), "price": list(values)})


FORMS: list[Callable[..., object]] = [as_pandas, as_pandas_frame, as_polars, as_arrow]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25)])
def test_days_of_23_and_25_hours_by_the_wall_clock(
    form: Callable[..., object], day: str, hours: int
) -> None:
    """Naive local times become the hours that there were, in time order, without a gap."""
    index = wall_clock_day(day)
    assert len(index) == hours
    data = form(index, range(hours))
    read = sw.Prices.from_series(data, unit="EUR/MWh", time_zone=BERLIN)
    midnight = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(BERLIN)).astimezone(UTC)
    expected = sw.Prices.from_values(midnight, [n / 1000 for n in range(hours)], currency="EUR")
    assert read == expected
    assert read.gaps == []
    aware = sw.Prices.from_series(
        form(index.tz_localize(BERLIN, ambiguous="infer"), range(hours)), unit="EUR/MWh"
    )
    assert aware == expected


def test_units_of_money_and_energy() -> None:
    """A unit tells scale and currency, where it can."""
    data = pd.Series([80.0, -5.0], index=pd.date_range(NOON, periods=2, freq="h"))
    for unit, currency, factor in [
        ("EUR/kWh", None, 1.0),
        ("€/MWh", None, 1e-3),
        ("ct/kWh", "EUR", 1e-2),
        ("öre/kWh", "SEK", 1e-2),
        ("p/kWh", None, 1e-2),
    ]:
        read = sw.Prices.from_series(data, unit=unit, currency=currency)
        assert values_of(read) == pytest.approx([80 * factor, -5 * factor])
        assert read.currency == {"€/MWh": "EUR", "p/kWh": "GBP"}.get(unit, currency or "EUR")
    with pytest.raises(sw.InputError, match="DKK, NOK or SEK; say which currency"):
        sw.Prices.from_series(data, unit="öre/kWh")
    with pytest.raises(sw.InputError, match="which is no price; use"):
        sw.Prices.from_series(data, unit="kg/kWh")
    with pytest.raises(sw.InputError, match="a price; use"):
        sw.Series.from_series(data, unit="EUR/MWh")
    with pytest.raises(sw.InputError, match="is an amount of energy; give mean power"):
        sw.Series.from_series(data, unit="kWh")
    co2 = sw.Series.from_series(data, unit="gCO2eq/kWh")
    assert co2.unit == "kg/kWh"
    assert values_of(co2) == pytest.approx([0.08, -0.005])


@pytest.mark.parametrize("zone", [BERLIN, None])
def test_months_last_until_the_next_one_through_changes_of_clocks(zone: str | None) -> None:
    """From February on, so that the first distance is the shortest; the last month has 31 days."""
    index = pd.date_range("2026-02-01", periods=9, freq="MS", tz=BERLIN)
    data = pd.Series(range(9), index=index if zone is None else index.tz_localize(None))
    read = sw.Prices.from_series(data, unit="ct/kWh", currency="EUR", time_zone=zone)
    assert read.gaps == []
    starts = [start for start, _, _ in read.slots]
    assert starts == list(index.to_pydatetime())
    assert read.slots[-1].end == at("2026-11-01T00:00+01:00")
    without = sw.Prices.from_series(
        data.drop(data.index[3]), unit="ct/kWh", currency="EUR", time_zone=zone
    )
    assert without.gaps == [(index[3].to_pydatetime(), index[4].to_pydatetime())]


def test_days_have_the_hours_of_their_clocks() -> None:
    index = pd.date_range("2026-10-24", periods=3, freq="D", tz=BERLIN)
    read = sw.Prices.from_series(pd.Series([1.0, 2.0, 3.0], index=index), unit="EUR/kWh")
    assert [round((end - start) / HOUR) for start, end, _ in read.slots] == [24, 25, 24]


def test_stamps_at_no_regular_distance_are_refused() -> None:
    odd = pd.Series([0.1, 0.2, 0.3], index=[NOON, NOON + 3 * HOUR, NOON + 5 * HOUR])
    with pytest.raises(sw.InputError, match=r"row 1 at .* is 3 h after .*, and row 2 is 2 h"):
        sw.Prices.from_series(odd, unit="EUR/kWh")
    held = sw.Prices.from_series(odd, unit="EUR/kWh", holds_until_next=True)
    assert held.gaps == []
    ends = pd.Series([0.1, 0.2], index=pd.date_range("2026-01-31", periods=2, freq="ME"))
    with pytest.raises(sw.InputError, match="all others are at last days of months"):
        sw.Prices.from_series(ends, unit="EUR/kWh", time_zone=BERLIN)


def test_gaps_are_told_and_ends_taken() -> None:
    """Missing rows and empty prices are gaps; a column of ends is honoured; steps are found."""
    index = pd.date_range(NOON, periods=5, freq="15min").delete(3)
    data = pd.Series([1.0, None, 3.0, 4.0], index=index)
    read = sw.Prices.from_series(data, unit="EUR/kWh")
    quarter = timedelta(minutes=15)
    assert read.gaps == [(NOON + quarter, NOON + 2 * quarter), (NOON + 3 * quarter, NOON + HOUR)]
    assert "2 gaps" in repr(read)
    held = sw.Prices.from_series(data.dropna(), unit="EUR/kWh", holds_until_next=True)
    assert held.gaps == []
    ends = data.to_frame("price").assign(end=index + timedelta(minutes=5))
    short = sw.Prices.from_series(ends, unit="EUR/kWh")
    assert {end - start for start, end, _ in short} == {timedelta(minutes=5)}
    lone = sw.Prices.from_series(data.head(1), unit="EUR/kWh", step_minutes=30)
    assert lone.slots[0].end == NOON + timedelta(minutes=30)


BAD: list[tuple[object, dict[str, Any], str]] = [
    (
        pd.Series([1.0], index=pd.to_datetime(["2026-01-05"])),
        {},
        "times from 'index', values from 'value': the times have no time zone; say whose clocks",
    ),
    (pl.DataFrame({"at": [NOON], "a": [1.0], "b": [2.0]}), {}, "numbers may be in 'a', 'b'; say"),
    (pl.DataFrame({"at": [NOON], "a": ["x"]}), {}, "no column holds numbers; found: 'a'"),
    (pl.DataFrame({"at": [NOON], "a": [1.0]}), {"value": "b"}, "no column 'b'; found: 'at', 'a'"),
    (pl.DataFrame({"a": [1.0]}), {}, "no column holds times; found: 'a'"),
    (
        {"at": [NOON, None], "a": [1.0, 2.0]},
        {"time": "at"},
        "column 'at', row 1: None is no datetime",
    ),
    ({"at": [NOON], "a": [True]}, {"value": "a"}, "column 'a', row 0: True is no number"),
    (
        {"at": [NOON, NOON.replace(tzinfo=None)], "a": [1.0, 2.0]},
        {},
        "only some of the times have a time zone",
    ),
    (
        {"at": [NOON + HOUR, NOON, NOON + 2 * HOUR], "a": [1.0] * 3},
        {},
        "times from 'at', values from 'a': row 1 at .* does not come after row 0",
    ),
    (
        {"at": [NOON, NOON + HOUR], "a": [1.0, float("inf")]},
        {},
        "row 1: the price inf is not a finite number",
    ),
    (
        {"at": [at(f"2026-03-29T0{hour}:00") for hour in (1, 2, 3)], "a": [1.0, 2.0, 3.0]},
        {"time_zone": BERLIN},
        "row 1 has the price 2 at 2026-03-29 02:00:00, which clocks in Europe/Berlin skip",
    ),
    ({"at": [at("2026-03-29")], "a": [1.0]}, {"time_zone": "Berlin"}, "no IANA time zone"),
]


@pytest.mark.parametrize(("data", "options", "message"), BAD)
def test_a_bad_series_is_refused_by_column_and_row(
    data: object, options: dict[str, Any], message: str
) -> None:
    """Each refusal says where, and what to do."""
    with pytest.raises(sw.InputError, match=message):
        sw.Prices.from_series(data, unit="EUR/kWh", **options)


def test_what_is_no_series_is_a_type_error() -> None:
    """A list is no frame."""
    with pytest.raises(TypeError, match="lists go with from_slots or from_values"):
        sw.Prices.from_series([1.0, 2.0], unit="EUR/kWh")
    with pytest.raises(TypeError, match=r"use Series.from_series"):
        sw.Series([1.0])


def test_from_values_takes_arrays_and_series_without_times() -> None:
    """An array of any float, a series that counts its rows; anything else is named."""
    expected = prices_of(0.5, 0.25)
    for values in (
        np.array([0.5, 0.25], dtype=np.float32),
        pd.Series([0.5, 0.25]),
        pl.Series([0.5, 0.25]),
        (0.5, 0.25),
    ):
        assert sw.Prices.from_values(NOON, values, currency="EUR") == expected
    with pytest.raises(sw.InputError, match=r"prices_per_kwh\[1\] is None, which is no number"):
        sw.Prices.from_values(NOON, [0.5, None], currency="EUR")
    late = pd.Series([0.5, 0.25], index=pd.date_range(NOON + HOUR, periods=2, freq="h"))
    with pytest.raises(sw.InputError, match=r"index\[0\] is"):
        sw.Series.from_values(NOON, late, unit="kW")


def test_arithmetic_of_numbers() -> None:
    """Numbers of any kind, on either side."""
    prices = prices_of(0.1, 0.3)
    assert values_of(prices + 0.1) == pytest.approx([0.2, 0.4])
    assert values_of(0.1 + prices) == pytest.approx([0.2, 0.4])
    assert values_of(prices - 0.1) == pytest.approx([0.0, 0.2])
    assert values_of(1 - prices) == pytest.approx([0.9, 0.7])
    assert values_of(np.float32(2.0) * prices) == pytest.approx([0.2, 0.6])
    assert values_of(prices * np.int64(2)) == pytest.approx([0.2, 0.6])
    assert values_of(prices / 2) == pytest.approx([0.05, 0.15])
    assert values_of(-prices) == pytest.approx([-0.1, -0.3])
    assert values_of(sum([prices, prices], start=0)) == pytest.approx([0.2, 0.6])  # type: ignore[arg-type]
    for wrong in ("0.1", None, [0.1, 0.2], np.array([1.0, 2.0]), True):
        with pytest.raises(TypeError):
            prices + wrong  # type: ignore[operator]
    with pytest.raises(TypeError):
        prices * prices  # type: ignore[operator]


def test_series_are_added_over_the_same_time_only() -> None:
    """No hour is dropped without a word, and no currency mixed."""
    hours = prices_of(0.1, 0.3)
    quarters = sw.Prices.from_values(NOON, [0.01] * 8, currency="EUR", slot=HOUR / 4)
    assert values_of(hours + quarters) == pytest.approx([0.11] * 4 + [0.31] * 4)
    assert values_of(hours - quarters) == pytest.approx([0.09] * 4 + [0.29] * 4)
    longer = prices_of(1.0, 1.0, 1.0)
    with pytest.raises(sw.InputError, match=r"only the second has 2026-.*align='overlap'"):
        hours + longer
    assert values_of(hours.plus(longer, align="overlap")) == pytest.approx([1.1, 1.3])
    assert values_of(hours + longer[NOON : NOON + 2 * HOUR]) == pytest.approx([1.1, 1.3])
    with pytest.raises(sw.InputError, match="align is 'outer'; it is one of 'exact', 'overlap'"):
        hours.plus(longer, align="outer")  # type: ignore[arg-type]
    krona = sw.Prices.from_values(NOON, [1.0, 1.0], currency="SEK")
    with pytest.raises(sw.InputError, match="in EUR/kWh and one in SEK/kWh cannot be added"):
        hours + krona
    load = sw.Series.from_values(NOON, [1.0, 1.0], unit="kW")
    with pytest.raises(sw.InputError, match="in EUR/kWh and one in kW cannot be added"):
        hours - load  # type: ignore[operator]


def test_estimates_stay_estimates() -> None:
    """Sums, joins and means of guesses are guesses."""
    known = prices_of(0.1, 0.3).with_estimates(prices_of(9.0, 9.0, 0.5), source="guess")
    for one in (
        known + prices_of(0.0, 0.0, 0.0),
        prices_of(0.0, 0.0, 0.0) + known,
        known * 1.19,
        sw.Prices.concat([known[: NOON + HOUR], known[NOON + HOUR :]]),
        known.resample("quarter_hour")[:],
    ):
        assert one.provenance[-1][4]
        assert not one.provenance[0][4]
    day = known.resample("day")
    [(_, _, mean, source, is_estimate)] = day.provenance
    assert mean == pytest.approx(0.3)
    assert (source, is_estimate) == ("prices + guess", True)


def test_slices_and_slots() -> None:
    """A slice cuts slots; iteration gives named tuples."""
    prices = prices_of(0.1, 0.2, 0.3)
    half = timedelta(minutes=30)
    cut = prices[NOON + half : NOON + 2 * HOUR]
    assert [(slot.start, slot.end, slot.price_per_kwh) for slot in cut] == [
        (NOON + half, NOON + HOUR, 0.1),
        (NOON + HOUR, NOON + 2 * HOUR, 0.2),
    ]
    assert prices[:] == prices
    assert len(prices[NOON + 2 * HOUR :]) == 1
    assert len(prices[NOON + 9 * HOUR :]) == 0
    assert prices[: NOON + HOUR] == prices.between(NOON, NOON + HOUR)
    for wrong in (0, NOON, slice(NOON, None, 2), slice(1, 2)):
        with pytest.raises(TypeError):
            prices[wrong]
    with pytest.raises(TypeError, match="no time zone"):
        prices[at("2026-01-05") :]
    assert prices.slots == list(prices)
    assert list(prices) == [tuple(slot) for slot in prices.slots]


def test_means_follow_local_days() -> None:
    """Buckets follow clocks through their changes, and the mean is weighted with time."""
    start = at("2026-03-27T23:00:00+00:00")
    load = sw.Series.from_values(start, [float(hour) for hour in range(24 * 3 - 1)], unit="kW")
    days = load.resample("day", time_zone=BERLIN)
    assert [(slot.end - slot.start) / HOUR for slot in days] == [24, 23, 24]
    frame = load.to_pandas(time_zone=BERLIN)
    expected = frame.groupby(frame.index.date)["value"].mean()  # type: ignore[attr-defined]
    assert values_of(days) == pytest.approx(expected.to_list())
    assert load.mean() == pytest.approx(35.0)
    assert (load.min(), load.max()) == (0.0, 70.0)
    assert values_of(load.resample("day", how="max", time_zone=BERLIN)) == [23.0, 46.0, 70.0]
    uneven = sw.Prices.from_slots(
        [(NOON, NOON + HOUR, 1.0), (NOON + HOUR, NOON + 4 * HOUR, 3.0)], currency="EUR"
    )
    assert uneven.mean() == 2.5
    with pytest.raises(sw.InputError, match="how is 'median'; it is one of 'mean', 'min', 'max'"):
        load.resample("day", how="median")  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match="resolution is 'minute'; it is one of 'quarter_hour'"):
        load.resample("minute")  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match="no slot, hence no mean"):
        load[NOON + timedelta(days=999) :].mean()


def test_joining() -> None:
    """Pieces in any order; overlaps and other units are refused by position."""
    one, two = prices_of(0.1, 0.2), prices_of(0.3, start=NOON + 5 * HOUR)
    joined = sw.Prices.concat([two, one])
    assert values_of(joined) == [0.1, 0.2, 0.3]
    assert joined.gaps == [(NOON + 2 * HOUR, NOON + 5 * HOUR)]
    with pytest.raises(sw.InputError, match=r"curve 1 starts at .* before curve 0 ends"):
        sw.Prices.concat([one, one])
    with pytest.raises(sw.InputError, match=r"series\[1\] is in SEK/kWh, the first in EUR/kWh"):
        sw.Prices.concat([one, sw.Prices.from_values(NOON, [1.0], currency="SEK")])
    with pytest.raises(TypeError, match=r"series\[0\] is of type Series; give a Prices"):
        sw.Prices.concat([sw.Series.from_values(NOON, [1.0], unit="kW")])  # type: ignore[list-item]
    with pytest.raises(sw.InputError, match="at least one"):
        sw.Prices.concat([])


def test_frames_and_back() -> None:
    """Frames keep slots, ends and gaps; what is read from them is the series."""
    prices = sw.Prices.concat([prices_of(0.1, 0.2), prices_of(0.3, start=NOON + 5 * HOUR)])
    pandas, polars = prices.to_pandas(time_zone=BERLIN), prices.to_polars(time_zone=BERLIN)
    assert str(pandas.index.tz) == BERLIN  # type: ignore[attr-defined]
    assert pandas.columns.to_list() == ["end", "price_per_kwh"]
    assert polars.schema["start"] == pl.Datetime("us", BERLIN)
    for frame in (pandas, polars.drop("end").with_columns(end=polars["end"]), pa.table(prices)):
        options = {} if frame is pandas else {"time": "start"}
        assert sw.Prices.from_series(frame, unit="EUR/kWh", **options) == prices  # type: ignore[arg-type]
    load = sw.Series.from_values(NOON, [1.0, 2.0], unit="kW")
    assert pa.table(load).schema.metadata == {b"unit": b"kW"}
    assert pl.DataFrame(load)["value"].to_list() == [1.0, 2.0]
    for one in (prices, load, prices.with_estimates(prices_of(1.0, 1.0, 1.0))):
        assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301  our own bytes
    assert load != prices


def test_a_unit_is_checked_where_a_series_is_used() -> None:
    """A carbon intensity is no price and no load, and the other way round."""
    load = sw.Series.from_values(NOON, [1.0, 2.0], unit="kW")
    co2 = sw.Series.from_values(NOON, [400, 100], unit="g/kWh")
    prices = prices_of(0.1, 0.2)
    plan = sw.plan_site(prices, now=NOON, devices=[sw.Load("house", power_kw=load)])
    assert plan.cost == pytest.approx(0.1 * 1 + 0.2 * 2)
    with pytest.raises(sw.InputError, match="house: power_kw is a series in kg/kWh; give one in"):
        sw.plan_site(prices, now=NOON, devices=[sw.Load("house", power_kw=co2)])
    with pytest.raises(sw.InputError, match="import_limit_kw is a series in EUR/kWh"):
        sw.plan_site(prices, now=NOON, devices=[sw.Load("h", power_kw=1)], import_limit_kw=prices)
    carbon = sw.Carbon(price_per_kg=1.0, intensity=load)
    with pytest.raises(sw.InputError, match=r"carbon.intensity is a series in kW; give one in kg"):
        sw.plan_charge(prices, now=NOON, power_max_kw=1, targets=[(None, 1)], carbon=carbon)
    with pytest.raises(TypeError, match="prices is a Series in kg/kWh"):
        sw.plan_charge(co2, now=NOON, power_max_kw=1, targets=[(None, 1)])  # type: ignore[arg-type]


def test_powers_are_series_in_every_planner() -> None:
    """Limits and base loads of areas by their mean, facts and gains as they are."""
    prices = prices_of(0.3, 0.1, 0.2)
    halves = sw.Series.from_values(NOON, [8, 4, 3, 9, 6, 6], unit="kW", slot=HOUR / 2)
    cars: Any = {"id": [1], "arrival": [NOON], "departure": [NOON + 3 * HOUR]}
    cars |= {"energy_kwh": [9.0], "power_max_kw": [7.0]}
    area = sw.plan_area(cars, prices, limit_kw=halves)
    by_hand = sw.plan_area(cars, prices, limit_kw=[6, 6, 6])
    assert area.nodes == by_hand.nodes
    wanted: Any = {"target_kw": halves, "target_price_per_kwh": 1}
    nodes = [sw.Node(name="a", base_kw=halves, limit_kw=10, **wanted)]
    both = {"one": prices, "two": prices.plus(0.1)}
    owned: Any = {**cars, "price_id": ["two"], "node": ["a"]}
    own = sw.plan_area(owned, both, nodes=nodes)
    assert own.nodes[0].load_kw[0] >= 6
    plan = sw.plan_charge(prices, now=NOON, power_max_kw=7, targets=[(None, 9)])
    periods = [tuple(slot) for slot in halves]
    assert plan.evaluate(prices, load=halves) == plan.evaluate(prices, load=periods)
    short = halves[: NOON + 2 * HOUR]
    with pytest.raises(sw.InputError, match=r"limit_kw: the series is not known throughout 2026"):
        sw.plan_area(cars, prices, limit_kw=short)
    with pytest.raises(sw.InputError, match="limit_kw is a series in kg/kWh; give one in kW"):
        sw.plan_area(cars, prices, limit_kw=sw.Series.from_values(NOON, [1] * 3, unit="kg/kWh"))
    with pytest.raises(sw.InputError, match="solar is a series in kg/kWh; give one in kW"):
        plan.evaluate(prices, solar=sw.Series.from_values(NOON, [1] * 3, unit="kg/kWh"))
    unlike = {"one": prices, "two": prices_of(0.3, 0.1)}
    with pytest.raises(sw.InputError, match="curves have different slots"):
        sw.plan_area(owned, unlike, limit_kw=halves)
    with pytest.raises(sw.InputError, match="prices holds no price curve"):
        sw.plan_area(owned, {}, limit_kw=halves)


def test_a_picture_in_axes_of_ones_own() -> None:
    """One line for each run without a gap, in the given axes or a figure of its own."""
    figures = pytest.importorskip("matplotlib.figure")
    prices = sw.Prices.concat([prices_of(0.1, 0.2), prices_of(0.3, start=NOON + 5 * HOUR)])
    figure = prices.plot(figsize=(5, 2), time_zone=BERLIN)
    [axes] = figure.axes
    assert figure.get_size_inches().tolist() == [5, 2]
    assert [np.asarray(line.get_ydata()).tolist() for line in axes.lines] == [
        [0.1, 0.2, 0.2],
        [0.3, 0.3],
    ]
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("EUR/kWh", "Time in Europe/Berlin")
    own = figures.Figure().subplots()
    assert prices.plot(ax=own) is own.figure
    assert len(own.lines) == 2
    with pytest.raises(sw.InputError, match="figsize is given with axes"):
        prices.plot(ax=own, figsize=(1, 1))
    dark = prices.plot(theme="dark").axes[0]
    assert dark.lines[0].get_color() != own.lines[0].get_color()
    with pytest.raises(sw.InputError, match="'Berlin' is no IANA time zone"):
        prices.plot(time_zone="Berlin")


FLOATS = st.floats(-10, 10, allow_nan=False)


@given(
    values=st.lists(FLOATS, min_size=1, max_size=48),
    fees=st.lists(FLOATS, min_size=48, max_size=48),
    factor=FLOATS,
)
def test_laws_of_arithmetic(values: list[float], fees: list[float], factor: float) -> None:
    """Sums commute, differences undo sums, factors distribute, means are linear."""
    one = prices_of(*values)
    two = prices_of(*fees)[: NOON + len(values) * HOUR]
    assert values_of(one + two) == pytest.approx(values_of(two + one))
    assert values_of(one + two - two) == pytest.approx(values_of(one), abs=1e-12)
    both = values_of((one + two) * factor)
    assert both == pytest.approx(values_of(one * factor + two * factor), abs=1e-9)
    assert (one + two).mean() == pytest.approx(one.mean() + two.mean(), abs=1e-9)
    assert one.resample("day").mean() == pytest.approx(one.mean(), abs=1e-9)
