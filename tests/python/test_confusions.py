"""Inputs that are easily confused with others: each works, or is refused by its name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import slackwater
from public_calls import AREA, BATTERY, BY, HOUR, PLAN, PRICES, SIX
from test_mistakes import (
    HOURS,
    INTERNALS,
    Row,
    area,
    batch,
    cars,
    charge,
    heat,
    load,
    saved,
    simulated,
    site,
    storage,
)

# Wrong types are what is tested.
sw: Any = slackwater
LATE = HOURS + pd.Timedelta("10h")
MIXED: Any = [object()]
NULLABLE = pd.Series([1.0, 2.0, 3.0], index=LATE, dtype="Float64")
DECIMALS = pd.Series([Decimal(1), Decimal(2), Decimal(3)], index=LATE)
OTHER_TIMES = r"index\[0\] is 2026-01-06 04:00:00\+00:00, where slot 0 starts 2026-01-05 18:00"


def indexed(index: Any) -> object:
    return load(pd.Series([1.0, 2.0, 3.0], index=index))


# A series that begins ten hours late, of every kind of column and of index.
ROWS_OF_TIMES: list[Row] = [
    ("a load of a nullable column", lambda: load(NULLABLE), OTHER_TIMES),
    ("a load of whole numbers", lambda: load(NULLABLE.astype("Int64")), OTHER_TIMES),
    ("a load of decimals", lambda: load(DECIMALS), OTHER_TIMES),
    ("a limit of a nullable column", lambda: load(1, import_limit_kw=NULLABLE), OTHER_TIMES),
    ("an area of a nullable column", lambda: area(NULLABLE), OTHER_TIMES),
    ("a list of a nullable column", lambda: area(list(NULLABLE)), None),
    ("weather of decimals", lambda: heat(outdoor_celsius=DECIMALS), OTHER_TIMES),
    ("facts of a nullable column", lambda: PLAN.evaluate(PRICES, load=NULLABLE), OTHER_TIMES),
    (
        "prices of a nullable column",
        lambda: sw.Prices.from_values(SIX, NULLABLE, currency="EUR"),
        OTHER_TIMES,
    ),
    ("an index of periods", lambda: indexed(LATE.tz_localize(None).to_period("h")), "no time zone"),
    ("an index of texts", lambda: indexed(LATE.astype(str)), "is no datetime with a time zone"),
    ("an index of dates", lambda: indexed(list(LATE.date)), "is no datetime with a time zone"),
    (
        "an index of two levels",
        lambda: indexed(pd.MultiIndex.from_arrays([LATE, [1, 2, 3]])),
        "is no datetime with a time zone; series.to_numpy",
    ),
    (
        "an index of local times",
        lambda: indexed(HOURS.tz_localize(None)),
        r"has no time zone; series.tz_localize\('Europe/Berlin'\)",
    ),
    ("an index that counts", lambda: indexed([5, 6, 7]), None),
    ("a nullable column in time", lambda: load(NULLABLE.set_axis(HOURS)), None),
]

ROWS_OF_OPERATORS: list[Row] = [
    ("prices and an array", lambda: PRICES + np.ones(3), r"Prices \+ ndarray is not defined; give"),
    ("an array and prices", lambda: np.ones(3) + PRICES, r"Prices \+ ndarray is not defined; give"),
    (
        "prices and a series",
        lambda: PRICES + pd.Series([1.0] * 3, index=HOURS),
        r"Prices \+ Series .* Prices.from_series give values their times",
    ),
    ("prices less a text", lambda: PRICES - "0.1", "Prices - str is not defined; give a number"),
    ("prices less nothing", lambda: PRICES - None, "Prices - None is not defined; give a number"),
    ("prices times a list", lambda: PRICES * [1, 2], r"Prices \* list is not defined"),
    ("a list times prices", lambda: [1, 2] * PRICES, r"Prices \* list is not defined"),
    ("prices by nothing", lambda: PRICES / 0, "a series in EUR/kWh is divided by 0"),
    ("prices by prices", lambda: PRICES / PRICES, "is divided by a number, not by another one"),
    ("a scalar of numpy and prices", lambda: np.float32(2) * PRICES, None),
]

ROWS_OF_FRAMES: list[Row] = [
    (
        "a lazy frame for a series",
        lambda: sw.Prices.from_series(pl.LazyFrame({"t": [SIX, BY], "v": [1, 2]}), unit="EUR/MWh"),
        None,
    ),
    (
        "a column of polars for a series",
        lambda: sw.Prices.from_series(pl.Series([1.0]), unit="EUR/MWh"),
        "not a Series of polars; numbers without times go with from_values",
    ),
    (
        "an array for a series",
        lambda: sw.Prices.from_series(np.ones(3), unit="EUR/MWh"),
        "not a ndarray; numbers without times go with from_values",
    ),
    (
        "times as texts in a series",
        lambda: sw.Prices.from_series({"t": ["2026-01-05 18:00"], "v": [1]}, unit="EUR/MWh"),
        "no column holds times.* 't' holds texts: make them times first",
    ),
    (
        "prices as texts in a series",
        lambda: sw.Prices.from_series({"t": [SIX, BY], "v": ["1", "2"]}, unit="EUR/MWh"),
        "no column holds numbers.* 'v' holds texts: make them numbers first",
    ),
    (
        "a column of two kinds",
        lambda: sw.plan_batch(pd.DataFrame(cars(id=MIXED)), PRICES),
        'column "id" holds values of several kinds; make them of one kind',
    ),
    (
        "two columns of one name",
        lambda: sw.plan_batch(pd.DataFrame([[1, SIX, SIX]], columns=["id", "a", "a"]), PRICES),
        "columns share a name: .*'a', 'a'",
    ),
    ("ids as a category", lambda: batch(id=pd.Categorical(["van"])), None),
    (
        "a text for the energy of a vehicle",
        lambda: AREA.what_if(vehicle={"id": 1, "energy_kwh": "3"}),
        "vehicle: energy_kwh has to be a number",
    ),
    (
        "a number for the departure of a vehicle",
        lambda: AREA.what_if(vehicle={"id": 1, "departure": 3}),
        "vehicle: departure has to be a datetime with a time zone",
    ),
]

ROWS_OF_PLANS: list[Row] = [
    (
        "a range of charge upside down",
        lambda: storage(limits=[sw.StorageLimit(SIX, BY, 3, 3, 80, 20)]),
        r"limits\[0\].soc_min_percent is 80 %; it is at most soc_max_percent, 20 %",
    ),
    (
        "a function that forgets its plan",
        lambda: sw.pareto(lambda _: None, intensity=[(SIX, BY, 0.1)], prices_per_kg=[0]),
        "plan has to return a plan, not None",
    ),
    ("a flag for a power", lambda: simulated(lambda _: True), "the policy answers True; a power"),
    ("a policy that is off", lambda: simulated(lambda _: None), None),
]


ROWS = [*ROWS_OF_TIMES, *ROWS_OF_OPERATORS, *ROWS_OF_FRAMES, *ROWS_OF_PLANS]


@pytest.mark.parametrize(
    ("call", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_a_confusion_is_told_or_works(call: Callable[[], object], expected: str | None) -> None:
    if expected is None:
        call()
        return
    with pytest.raises((sw.InputError, TypeError), match=expected) as raised:
        call()
    assert not INTERNALS.search(str(raised.value))


def test_a_node_that_is_null_is_refused() -> None:
    table = pl.DataFrame(cars()).with_columns(node=pl.lit(None, dtype=pl.String))
    with pytest.raises(sw.InputError, match="node of row 0 is null; give the name of one"):
        sw.plan_area(table, PRICES, nodes=[sw.Node(name="a", limit_kw=4)])


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    PLAN.save(path)
    with pytest.raises(sw.InputError, match="this is a saved plan; load_plan reads it"):
        sw.load_area(path)
    for text, message in (
        ("start,price\n", "this is no saved area, which is JSON"),
        ("[]", "this is no saved area"),
        ('{"format": "slackwater_area", "format_version": 1}', "damaged: 'numbers' is missing"),
    ):
        path.write_text(text)
        with pytest.raises(sw.InputError, match=message):
            sw.load_area(path)
    with pytest.raises(sw.InputError, match="this is no saved plan"):
        saved(b"[]")


def test_a_table_is_not_replayed(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("start,price\n")
    with pytest.raises(sw.InputError, match=r"prices\.csv: this is no saved plan, which is JSON"):
        sw.replay(path)


AFTER = BY + timedelta(hours=1)
LATE_PLANS: dict[str, Callable[[], object]] = {
    "charge": lambda: charge(now=AFTER, targets=[(None, 10)]),
    "vehicle": lambda: sw.plan_vehicle(
        PRICES, now=AFTER, power_max_kw=7, battery=BATTERY, targets=[]
    ),
    "storage": lambda: storage(now=AFTER),
    "switching": lambda: sw.plan_switching(PRICES, now=AFTER, power_max_kw=7, targets=[(None, 7)]),
    "heat": lambda: heat(now=AFTER),
    "site": lambda: sw.plan_site(PRICES, now=AFTER, devices=[sw.Load("house", power_kw=1)]),
}


@pytest.mark.parametrize("call", LATE_PLANS.values(), ids=LATE_PLANS.keys())
def test_prices_that_end_before_a_plan_are_told(call: Callable[[], Any]) -> None:
    plan = call()
    assert "prices end before it starts" in repr(plan)
    assert "prices end before it starts" in plan.to_html()


def test_a_load_with_other_times_has_a_way_to_be_given() -> None:
    hours = pd.date_range("2026-01-05 18:00", periods=3, freq="h", tz="UTC")
    series = pd.Series([0.5, 0.7, 0.6], index=hours)
    flat = sw.Prices.from_slots([(SIX, SIX + 3 * HOUR, 0.2)], currency="EUR")
    with pytest.raises(sw.InputError, match=r"; Series\.from_series\(x, unit='kW'\) keeps these"):
        sw.plan_site(flat, now=SIX, devices=[sw.Load("house", power_kw=series)])
    power = sw.Series.from_series(series, unit="kW")
    plan = sw.plan_site(flat, now=SIX, devices=[sw.Load("house", power_kw=power)])
    assert plan.cost == pytest.approx(0.36)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
def test_an_index_of_the_hours_that_clocks_repeat_is_that_of_the_slots(zone: str) -> None:
    hours = pd.date_range("2026-10-25", periods=8, freq="h", tz="Europe/Berlin").tz_convert(zone)
    prices = sw.Prices.from_series(pd.Series(0.2, index=hours), unit="EUR/kWh")
    house = sw.Load("house", power_kw=pd.Series(1.0, index=hours))
    plan = sw.plan_site(prices, now=hours[0], devices=[house])
    assert plan.cost == pytest.approx(8 * 0.2)


def test_a_plan_that_may_not_last_does_not_blame_the_prices() -> None:
    assert "prices" not in repr(charge(until=SIX))


def test_a_missing_export_price_is_named_where_nothing_is_planned_for_it() -> None:
    van = sw.Vehicle("van", power_max_kw=7, targets=[sw.Target(BY, 13)])
    plan: Any = site(van, export_prices=PRICES[: SIX + HOUR])
    sentences = [reason.sentence for reason in plan.explain()]
    assert sentences[-1].startswith(
        "Mon 19:00 to Mon 21:00: nothing is planned, because no export price is known; the target"
    )


def test_the_report_of_an_area_names_prices_that_are_missing(tmp_path: Path) -> None:
    plan = sw.plan_area(cars(departure=[BY + 9 * HOUR], energy_kwh=[40.0]), PRICES, limit_kw=99)
    plan.report(tmp_path / "area.html")
    page = (tmp_path / "area.html").read_text(encoding="utf-8")
    assert "<td>no price known</td>" in page
    assert "own limits" not in page
