"""Tables of any library as arguments: what columns may hold, and which are refused."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import slackwater as sw
from slackwater import statistics

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
BY = SIX + 4 * HOUR
PRICES = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2, 0.25], currency="EUR")
NEGATIVE = sw.Prices.from_values(SIX, [0.3, -0.4, 0.2, 0.25], currency="EUR")
STAYS = pl.DataFrame(
    {
        "id": ["van", "bus"],
        "arrival": [SIX, SIX],
        "departure": [BY, BY],
        "energy_kwh": [10.0, 12.0],
        "power_max_kw": [7.0, 7.0],
    }
)
BATTERY: dict[str, list[Any]] = {
    "id": ["home"],
    "arrival": [SIX],
    "departure": [BY],
    "capacity_kwh": [10.0],
    "soc_percent": [50.0],
    "power_max_kw": [4.0],
    "discharge_max_kw": [4.0],
}


def planned(stays: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame(sw.plan_batch(stays, PRICES))


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("remark", [None, None]),
        pl.Series("remark", [[], []]),
        pl.Series("remark", [{"by": None}, {"by": None}]),
        pl.Series("remark", [1, 2], dtype=pl.Int128),
        pl.Series("remark", [[1], [2**100]], dtype=pl.List(pl.Int128)),
        pl.Series("remark", [object(), None], dtype=pl.Object),
    ],
    ids=lambda column: str(column.dtype),
)
def test_a_column_of_polars_that_nothing_reads_changes_nothing(column: pl.Series) -> None:
    remarked = STAYS.with_columns(column)
    assert planned(remarked).equals(planned(STAYS))
    one, other = (sw.plan_area(stays, PRICES, limit_kw=8) for stays in (STAYS, remarked))
    assert one.plans == other.plans


def test_columns_of_polars_without_values_are_read_as_nulls() -> None:
    plans = planned(STAYS.with_columns(energy_kwh=pl.lit(None)))
    assert plans["error"].to_list() == ["energy_kwh is missing"] * 2
    table = pl.DataFrame({"start": [SIX], "end": [BY], "price_per_kwh": [None]})
    assert len(sw.Prices.from_arrow(table, currency="EUR")) == 0


def test_ids_of_polars_come_back_as_they_went() -> None:
    small = planned(STAYS.with_columns(id=pl.Series([1, 2], dtype=pl.Int128)))
    assert small["id"].to_list() == [1, 2]
    large = planned(STAYS.with_columns(id=pl.Series([2**100, 2], dtype=pl.Int128)))
    assert large["id"].to_list() == [str(2**100), "2"]
    keys = [uuid.UUID(int=1), uuid.UUID(int=2)]
    named = planned(STAYS.with_columns(id=pl.Series(keys, dtype=pl.Object)))
    assert named["id"].to_list() == [str(key) for key in keys]


def test_numbers_in_a_dictionary_are_numbers() -> None:
    plain = pa.table(STAYS)
    coded = plain.set_column(
        3, "energy_kwh", plain["energy_kwh"].combine_chunks().dictionary_encode()
    )
    assert sw.plan_batch(coded, PRICES) == sw.plan_batch(plain, PRICES)


def test_plans_that_went_through_polars_are_earlier_plans() -> None:
    area = sw.plan_area(STAYS, PRICES, limit_kw=8)
    table = pl.DataFrame(area.plans)
    assert area.close_to(table).plans == area.close_to(area).plans
    again = sw.plan_area(STAYS, PRICES, limit_kw=8, previous=table)
    assert again.plans == area.close_to(area).plans


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ({"reserve_kwh": [3.0]}, 'column "reserve_kwh" is not something plan_storage_batch'),
        ({"fill_when_negative": [False]}, 'column "fill_when_negative" is not something'),
        ({"after_deadline": ["stop"]}, 'column "after_deadline" is not something'),
        ({"discharge_to_grid": [False]}, 'column "discharge_to_grid" is not something'),
        ({"soc_min_percnt": [20.0]}, 'is it "reserve_percent"'),
        ({"min_soc": [20.0]}, 'is it "reserve_percent"'),
        ({"wear": [0.1]}, 'is it "wear_price_per_kwh"'),
        ({"target_soc": [0.1]}, 'is it "target_percent"'),
    ],
)
def test_columns_that_a_battery_does_not_honour_are_refused(
    column: dict[str, list[Any]], told: str
) -> None:
    with pytest.raises(sw.InputError, match=told):
        sw.plan_storage_batch(pa.table(BATTERY | column), PRICES)


def test_words_of_a_column_may_stand_in_another_order() -> None:
    column = dict(BATTERY)
    column["max_power_kw"] = column.pop("power_max_kw")
    with pytest.raises(sw.InputError, match='is it "power_max_kw"'):
        sw.plan_storage_batch(pa.table(column), PRICES)
    samples = pa.table({"start": [SIX], "end": [BY], "energy_kwh": [1.0], "price_kwh": [0.1]})
    with pytest.raises(sw.InputError, match='is it "price_per_kwh"'):
        statistics.aggregate(samples, by=[], resolution="DAY")


def test_a_vehicle_that_discharges_cannot_be_kept_from_filling() -> None:
    vehicles = pa.table(BATTERY | {"target_percent": [60.0], "fill_when_negative": [False]})
    with pytest.raises(sw.InputError, match="fill_when_negative of row 0 is false"):
        sw.plan_area(vehicles, NEGATIVE, limit_kw=8)
    charging = vehicles.drop_columns("discharge_max_kw")
    assert sw.plan_area(charging, NEGATIVE, limit_kw=8).plans.column_names


PUBLIC: Any = sw


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: PUBLIC.StationaryBattery(
                "home", capacity_kwh=None, soc_percent=50, power_max_kw=5
            ),
            "capacity_kwh is None; it has to be a number",
        ),
        (
            lambda: PUBLIC.StationaryBattery(
                "home", capacity_kwh=9, soc_percent=50, power_max_kw=5, wear_price_per_kwh=None
            ),
            "wear_price_per_kwh is None; it has to be a number",
        ),
        (
            lambda: PUBLIC.Discharge(discharge_max_kw=None),
            "discharge_max_kw is None; it has to be a number",
        ),
        (
            lambda: PUBLIC.Vehicle("car", power_max_kw=7, targets=[(None, None)]),
            "targets[0].energy_kwh is None; it has to be a number",
        ),
        (
            lambda: PUBLIC.issue_forecasts(lambda *_: None, PRICES, every=HOUR, ahead=2 * HOUR),
            "the forecaster gives None; it has to give a mapping of levels to prices",
        ),
        (
            lambda: PUBLIC.Prices.from_series(None, unit="EUR/kWh"),
            "of pandas, a frame of polars or a table of pyarrow, not None",
        ),
        (
            lambda: PUBLIC.plan_area(STAYS, PRICES, limit_kw=8, memory=3),
            "memory has to be an object with the methods recall and keep, not an int",
        ),
        (
            lambda: PUBLIC.HeatUnit(
                "pump",
                outdoor_celsius=sw.Series.from_values(SIX, [1.0] * 4, unit="kW"),
                power_max_kw=3,
                capacity_kwh_per_k=2,
                loss_kw_per_k=0.1,
                temperature_celsius=20,
                comfort_celsius=(19, 22),
            ),
            "not a Series",
        ),
    ],
)
def test_wrong_values_are_told_by_the_name_of_their_place(
    call: Callable[[], object], told: str
) -> None:
    with pytest.raises(TypeError) as refused:
        call()
    assert told in str(refused.value)


def test_levels_on_the_way_are_energies() -> None:
    plan = sw.plan_vehicle(
        PRICES,
        now=SIX,
        power_max_kw=7,
        battery=sw.Battery(50, 20),
        targets=[sw.SocTarget(BY, 60)],
    )
    floor: Any = [sw.SocTarget(SIX + HOUR, 55)]
    with pytest.raises(TypeError, match=r"floor\[0\] is a SocTarget; give a Target.*kWh"):
        plan.what_if(floor=floor)
    assert plan.what_if(floor=[(SIX + HOUR, 5)]) == plan.what_if(floor=[sw.Target(SIX + HOUR, 5)])


def test_a_price_of_a_forecaster_that_is_none_is_told() -> None:
    forecaster: Any = lambda *_: {0.5: ["x"]}  # noqa: E731  a mistake on purpose
    with pytest.raises(sw.InputError, match="'x', which is no number"):
        sw.issue_forecasts(forecaster, PRICES, every=HOUR, ahead=2 * HOUR)


def test_an_empty_name_of_a_time_zone_is_none() -> None:
    rows = {"time": [datetime(2026, 1, 5, 18)], "price": [0.1]}  # noqa: DTZ001
    with pytest.raises(sw.InputError, match="time zone"):
        sw.Prices.from_series(rows, unit="EUR/kWh", step_minutes=60, time_zone="")


def test_an_emission_that_is_no_number_is_told_by_its_place() -> None:
    carbon = sw.Carbon(price_per_kg=0.5, intensity=[(SIX, BY, float("nan"))])
    with pytest.raises(sw.InputError, match=r"carbon.intensity\[0\] is nan kg per kWh"):
        sw.plan_charge(PRICES, now=SIX, power_max_kw=7, targets=[(BY, 7)], carbon=carbon)


def test_a_device_that_is_not_there_is_told() -> None:
    plan = sw.plan_site(PRICES, now=SIX, devices=[sw.Load("house", power_kw=1.0)])
    with pytest.raises(KeyError, match="there is no device 'oven'; found: 'house'"):
        plan.device("oven")


def test_one_row_is_told_in_the_singular() -> None:
    assert repr(sw.plan_batch(STAYS[:1], PRICES)).startswith("PlanTable(1 plan: id")
    assert repr(sw.plan_batch(STAYS, PRICES)).startswith("PlanTable(2 plans: id")
