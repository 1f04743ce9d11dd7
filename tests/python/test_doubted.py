"""Warnings of powers, prices and shares that look like another unit, wherever they are given."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slackwater as sw

SIX = datetime(2026, 7, 6, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
BY = SIX + 4 * HOUR
PRICES = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2, 0.4], currency="EUR")
CROWNS = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2, 0.4], currency="NOK")
WATTS = [900.0, 400.0, 2500.0, 700.0]
JULY = datetime(2026, 6, 30, 22, tzinfo=UTC)


def capacity(**changes: Any) -> sw.CapacityPlan:
    given: dict[str, Any] = {"battery": sw.Battery(60, 30), "power_max_kw": 11.0} | changes
    return sw.plan_capacity(CROWNS, "no-elvia-2026-07", now=SIX, **given)


def evaluated(**facts: Any) -> object:
    house, roof = sw.Load("house", power_kw=1), sw.Solar("roof", power_kw=1)
    return sw.plan_site(PRICES, now=SIX, devices=[house, roof]).evaluate(PRICES, **facts)


def billed(kw: float, tariff: str = "no-elvia-2026-07", **given: Any) -> sw.Bill:
    load = sw.Series.from_values(JULY, [kw] * 31 * 24 * 4, unit="kW", slot=HOUR / 4)
    return sw.bill(load, tariff, **given)


Doubted = list[tuple[Callable[[], object], str]]

OF_LOADS: Doubted = [
    (lambda: capacity(load_kw=WATTS), "load_kw is 2500 kW; a power in W"),
    (lambda: capacity(load_kw=2500), "load_kw is 2500 kW; a power in W"),
    (lambda: capacity(load_kw=[(SIX, BY, 2500.0)]), "load_kw is 2500 kW; a power in W"),
    (
        lambda: capacity(peaks=[(SIX - HOUR, 4400.0)]),
        "peaks.power_kw is 4400 kW; a power in W",
    ),
    (lambda: billed(2000.0), "load.power_kw is 2000 kW; a power in W"),
    (
        lambda: billed(1.0, peaks=[(JULY - HOUR, 4400.0)]),
        "peaks.power_kw is 4400 kW; a power in W",
    ),
    (lambda: evaluated(load=WATTS), "load.power_kw is 2500 kW; a power in W"),
    (lambda: evaluated(solar=WATTS), "solar.power_kw is 2500 kW; a power in W"),
]


@pytest.mark.parametrize(("call", "text"), OF_LOADS)
def test_a_load_in_watts_is_doubted(call: Callable[[], object], text: str) -> None:
    with pytest.warns(sw.PlausibilityWarning, match=text) as warned:
        call()
    assert [warning.filename for warning in warned] == [__file__]


@pytest.mark.filterwarnings("error")
def test_likely_loads_raise_no_doubt() -> None:
    capacity(load_kw=[500.0, -30.0, 0.0, 999.0], peaks=[(SIX - HOUR, 900.0)])
    evaluated(load=[500.0] * 4, solar=[900.0] * 4)
    billed(900.0)
    billed(2000.0, "be-elia-30-70kv-2026", contracted_kva=2500)


COLUMNS: dict[str, Any] = {
    "Series of pandas": pd.Series([11.0, 7.0]),
    "Series of polars": pl.Series([11.0, 7.0]),
    "array of pyarrow": pa.array([11.0, 7.0]),
    "chunks of pyarrow": pa.chunked_array([[11.0, 7.0]]),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
def test_one_column_is_no_table(column: Any) -> None:
    calls: dict[str, Callable[[], object]] = {
        "vehicles": lambda: sw.plan_batch(column, PRICES),
        "samples": lambda: sw.statistics.aggregate(column, resolution="day"),
        "data": lambda: sw.Prices.from_arrow(column, currency="EUR"),
    }
    for name, call in calls.items():
        kind = type(column).__name__
        with pytest.raises(TypeError, match=f"^{name} is one column, a {kind}; give a table"):
            call()


def test_a_column_of_rows_is_a_table() -> None:
    row = {"id": "a", "arrival": SIX, "departure": BY, "power_max_kw": 11.0, "energy_kwh": 9.0}
    plans = [sw.plan_batch(table, PRICES) for table in (pl.DataFrame([row]), pl.Series([row]))]
    assert pa.table(plans[0]) == pa.table(plans[1])


def frame(name: str) -> pd.DataFrame:
    return pd.DataFrame({name: [11.0, 7.0]}, index=pd.date_range(SIX, periods=2, freq="h"))


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("energy_kwh", "kW"),
        ("power_w", "kW"),
        ("Load [kW]", "W"),
        ("price_eur_per_kwh", "EUR/MWh"),
        ("Price (EUR/MWh)", "EUR/kWh"),
    ],
)
def test_a_column_named_in_another_unit_is_refused(name: str, unit: str) -> None:
    kind = sw.Prices if unit.startswith("EUR") else sw.Series
    with pytest.raises(sw.InputError, match=r"in its name, and unit is .*; give the unit of its"):
        kind.from_series(frame(name), unit=unit)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("power_kw", "kW"),
        ("MW", "MW"),
        ("kw_of_house", "W"),
        ("view", "W"),
        ("price_eur_mwh", "EUR/MWh"),
        ("g_per_kwh", "kg/kWh"),
    ],
)
def test_a_column_named_in_its_unit_or_in_none_is_read(name: str, unit: str) -> None:
    kind = sw.Prices if unit.startswith("EUR") else sw.Series
    plain = frame(name).rename(columns={name: "value"})
    assert kind.from_series(frame(name), unit=unit) == kind.from_series(plain, unit=unit)


def test_a_bill_of_energies_is_not_one_of_powers() -> None:
    july = pd.date_range("2026-07-01", "2026-08-01", freq="15min", tz="Europe/Oslo")[:-1]
    readings = pd.DataFrame({"energy_kwh": [0.25] * len(july)}, index=july)
    with pytest.raises(sw.InputError, match="load: column 'energy_kwh' has 'kwh' in its name"):
        sw.bill(readings, "no-elvia-2026-07")
    powers = pd.DataFrame({"power_kw": [1.0] * len(july)}, index=july)
    with pytest.raises(sw.InputError, match="load: column 'power_kw' has 'kw' in its name"):
        sw.bill(powers, "no-elvia-2026-07", unit="kWh")
    bills = [sw.bill(powers, "no-elvia-2026-07"), sw.bill(readings, "no-elvia-2026-07", unit="kWh")]
    assert bills[0].total == bills[1].total


CARS: Any = {
    "id": ["a", "b"],
    "arrival": [SIX] * 2,
    "departure": [BY] * 2,
    "energy_kwh": [9.0, 12.0],
    "power_max_kw": [11.0, 11.0],
}


def area(**node: Any) -> sw.AreaPlan:
    return sw.plan_area(CARS, PRICES, nodes=[sw.Node(name="street", **node)])


OF_AREAS: Doubted = [
    (
        lambda: sw.plan_area(CARS, PRICES, limit_kw=15e3),
        r"nodes\[\"area\"\].limit_kw is 15000 kW, beside 22 kW of all that is below it; a",
    ),
    (
        lambda: area(limit_kw=[None, 15e3, 20.0, None]),
        r"\].limit_kw is 15000 kW, beside 22 kW of all that is below it; a",
    ),
    (
        lambda: area(export_limit_kw=9e3),
        r"\].export_limit_kw is 9000 kW, beside 22 kW of all that is below it; a",
    ),
    (
        lambda: area(target_kw=[9e3] * 4, target_price_per_kwh=0.01),
        r"\].target_kw is 9000 kW, beside 22 kW of all that is below it; a",
    ),
    (
        lambda: area(peak_price_per_kw=1, peak_incurred_kw=12e3),
        r"\].peak_incurred_kw is 12000 kW, beside 22 kW of all that is below it; a",
    ),
    (
        lambda: area(base_kw=[2500.0, 400.0, -9e3, 0.0], limit_kw=15),
        r"\].base_kw is 9000 kW, beside 15 kW of limit_kw; a",
    ),
]


@pytest.mark.parametrize(("call", "text"), OF_AREAS)
def test_a_power_of_an_area_in_watts_is_doubted(call: Callable[[], object], text: str) -> None:
    with pytest.warns(sw.PlausibilityWarning, match=text) as warned:
        call()
    assert [warning.filename for warning in warned] == [__file__]


@pytest.mark.filterwarnings("error")
def test_likely_powers_of_an_area_raise_no_doubt() -> None:
    area(limit_kw=1000, export_limit_kw=2000, peak_incurred_kw=20, peak_price_per_kw=1)
    area(limit_kw=60_000, base_kw=[40_000.0] * 4)
    area(base_kw=[40_000.0] * 4)
    sw.plan_area(CARS, PRICES, nodes=[sw.Node(name="street")])


def site(**given: Any) -> sw.SitePlan:
    car = sw.Vehicle("car", power_max_kw=11, battery=sw.Battery(60, 30), **given.pop("car", {}))
    return sw.plan_site(PRICES, now=SIX, devices=[car], **given)


def scenarios(**changes: Any) -> object:
    given = sw.AreaScenario(probability=1, prices=PRICES, **changes)
    return sw.plan_area_scenarios(CARS, [given], known_from=SIX, shortfall_price_per_kwh=2)


def carbon(price_per_kg: float) -> sw.Carbon:
    return sw.Carbon(price_per_kg=price_per_kg, intensity=[(SIX, BY, 0.3)])


ROOM: dict[str, Any] = {
    "loss_kw_per_k": 0.2,
    "temperature_celsius": 20,
    "comfort_celsius": (19, 22),
    "power_max_kw": 3,
    "outdoor_celsius": 5,
}


OF_SITES: Doubted = [
    (
        lambda: site(import_limit_kw=17e3),
        "import_limit_kw is 17000 kW, beside 11 kW of all devices; a power in W",
    ),
    (
        lambda: site(export_limit_kw=[17e3, 1.0, 1.0, 1.0]),
        "export_limit_kw is 17000 kW, beside 11 kW of all devices; a power in W",
    ),
    (
        lambda: site(car={"group": "fuse"}, groups=[sw.Group("fuse", limit_kw=11e3)]),
        r"groups\[\"fuse\"\].limit_kw is 11000 kW, beside 11 kW of all devices; a power in W",
    ),
    (
        lambda: scenarios(limit_kw=9e3),
        r"scenarios\[0\].limit_kw is 9000 kW, beside 22 kW of all that is below it; a",
    ),
    (
        lambda: site(carbon=carbon(80)),
        "price_per_kg is 80 per kg; a price per tonne is divided by 1000",
    ),
    (
        lambda: site(car={"targets": [sw.SocTarget(by=BY, soc_percent=1)]}),
        r"targets\[0\].soc_percent is 1 %; a share is multiplied by 100",
    ),
    (
        lambda: sw.HeatUnit("room", capacity_kwh_per_k=8e3, **ROOM),
        "capacity_kwh_per_k is 8000 kWh/K; a capacity in Wh/K is divided by 1000",
    ),
]


@pytest.mark.parametrize(("call", "text"), OF_SITES)
def test_a_number_of_a_site_in_another_unit_is_doubted(
    call: Callable[[], object], text: str
) -> None:
    with pytest.warns(sw.PlausibilityWarning, match=text) as warned:
        call()
    assert [warning.filename for warning in warned] == [__file__]


@pytest.mark.filterwarnings("error")
def test_likely_numbers_of_a_site_raise_no_doubt() -> None:
    site(import_limit_kw=1000, export_limit_kw=1000)
    site(car={"group": "fuse"}, groups=[sw.Group("fuse", limit_kw=60)])
    site(carbon=carbon(0.08))
    site(car={"targets": [sw.SocTarget(by=BY, soc_percent=51)]})
    scenarios(limit_kw=20)
