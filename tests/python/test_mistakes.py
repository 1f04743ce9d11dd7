"""Mistakes that people make: each works, or is refused by a text that helps."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

import slackwater
import slackwater.statistics
from public_calls import (
    AREA,
    BATTERY,
    BY,
    CARS,
    HOUR,
    PLAN,
    PRICES,
    SITE,
    SIX,
    STORAGE,
    Call,
    public_calls,
)
from slackwater import _engine

# Words of the machinery, which tell a user nothing.
INTERNALS = re.compile(
    "failed to extract|cannot be converted|is not an instance of|cannot be interpreted|"
    "LargeUtf8|Utf8View|Float64|NoneType|must be real number|object is not iterable|"
    r"has no attribute|_native|PyFloat|PyString|argument of type|unsupported operand|"
    r"positional argument|object is not|__arrow_c|float\(\) argument|Timestamp\("
)

DOCS = Path(__file__).parents[2] / "docs"
# Wrong types are what is tested.
sw: Any = slackwater
stats: Any = slackwater.statistics
schedule: Any = slackwater.schedule
tariffs: Any = slackwater.tariffs
NAIVE = datetime(2026, 1, 5, 18)  # noqa: DTZ001  a mistake on purpose
FRAME = pd.DataFrame({"a": [1.0]})
WRONG: dict[str, Any] = {
    "None": None,
    "text": "x",
    "empty text": "",
    "list": [1.0],
    "list of None": [None],
    "list of text": ["x"],
    "dict": {"a": 1},
    "frame": FRAME,
    "lazy frame": pl.LazyFrame({"a": [1.0]}),
    "zone": ZoneInfo("Europe/Oslo"),
    "Decimal": Decimal("1.5"),
    "Fraction": Fraction(3, 2),
    "float32": np.float32(1.5),
    "int64": np.int64(3),
    "array": np.array([1.0, 2.0]),
    "NaN": float("nan"),
    "inf": float("inf"),
    "huge": 10**400,
    "negative": -1,
    "bool": True,
    "naive": NAIVE,
    "date": date(2026, 1, 5),
    "datetime64": np.datetime64("2026-01-05T18:00"),
    "NaT": pd.NaT,
    "bytes": b"x",
    "class": int,
    "object": object(),
    "surrogate": "\ud800",
    "complex": 1j,
}

CALLS = {call.name: call for call in public_calls()}
PLACES = [(call.name, argument) for call in CALLS.values() for argument in call.arguments]


def test_the_public_functions_are_found() -> None:
    assert len(CALLS) > 90
    assert len(PLACES) > 600


@pytest.mark.filterwarnings("ignore::slackwater.PlausibilityWarning")
@pytest.mark.parametrize(("name", "argument"), PLACES)
def test_no_wrong_value_meets_the_machinery(name: str, argument: str) -> None:
    call: Call = CALLS[name]
    for kind, value in WRONG.items():
        try:
            call.run(**{argument: value})
        except (sw.InputError, TypeError, KeyError, OSError) as error:
            text = str(error)
            assert not INTERNALS.search(text), f"{name}({argument}={kind}): {text}"
            assert text, f"{name}({argument}={kind}) says nothing"
        except Exception as error:  # noqa: BLE001  named by the assertion
            pytest.fail(f"{name}({argument}={kind}): {type(error).__name__}: {error}")


Row = tuple[str, Callable[[], object], str | None]


def charge(**changes: Any) -> object:
    given = {"now": SIX, "power_max_kw": 7, "targets": [sw.Target(BY, 10)]} | changes
    return sw.plan_charge(given.pop("prices", PRICES), **given)


def vehicle(**changes: Any) -> object:
    given = {
        "now": SIX,
        "power_max_kw": 7,
        "battery": BATTERY,
        "targets": [sw.SocTarget(BY, 40)],
    } | changes
    return sw.plan_vehicle(PRICES, **given)


def storage(**changes: Any) -> object:
    given = {"now": SIX, "battery": BATTERY, "power_max_kw": 4, "discharge_max_kw": 4} | changes
    return sw.plan_storage(PRICES, **given)


def switching(**changes: Any) -> object:
    given = {"now": SIX, "power_max_kw": 7, "power_min_kw": 1, "targets": [(BY, 7)]} | changes
    return sw.plan_switching(PRICES, **given)


def site(*devices: Any, **changes: Any) -> object:
    return sw.plan_site(PRICES, now=SIX, devices=devices, **changes)


def load(power: Any, **changes: Any) -> object:
    return site(sw.Load("house", power_kw=power), **changes)


def home(**changes: Any) -> Any:
    given = {"capacity_kwh": 10, "soc_percent": 50, "power_max_kw": 4} | changes
    return sw.StationaryBattery("home", **given)


def cars(**changes: Any) -> Any:
    columns = {"id": ["van"], "arrival": [SIX], "departure": [BY], "power_max_kw": [7.0]}
    columns = columns | {"energy_kwh": [9.0]} | changes
    return {name: column for name, column in columns.items() if column is not ...}


def batch(**changes: Any) -> object:
    return sw.plan_batch(cars(**changes), PRICES)


def batteries(**changes: Any) -> object:
    columns = {"capacity_kwh": [50.0], "soc_percent": [40.0], "discharge_max_kw": [4.0]} | changes
    table: Any = cars(energy_kwh=..., **columns)
    return sw.plan_storage_batch(table, PRICES)


def area(limit: Any = 7.0, **changes: Any) -> object:
    return sw.plan_area(CARS, PRICES, limit_kw=limit, **changes)


def values(*prices: Any, **changes: Any) -> object:
    return sw.Prices.from_values(SIX, prices, currency="EUR", **changes)


def samples(**changes: Any) -> object:
    columns = {"start": [SIX], "end": [BY], "power_kw": [4.0]} | changes
    return stats.aggregate(columns, resolution="DAY")


table: Any = {"start": [SIX], "end": [BY], "price_per_kwh": [0.1]}
ROWS_OF_PRICES: list[Row] = [
    (
        "a list for prices",
        lambda: charge(prices=[0.1]),
        "prices has to be Prices, as Prices.from_values makes them, not a list",
    ),
    (
        "a frame for prices",
        lambda: charge(prices=FRAME),
        "prices has to be Prices, as Prices.from_series makes them, not a DataFrame",
    ),
    (
        "a frame for the prices of a batch",
        lambda: sw.plan_batch(CARS, FRAME),
        "prices has to be Prices, as Prices.from_series makes them, not a DataFrame",
    ),
    (
        "a series for prices",
        lambda: charge(prices=pd.Series([0.1])),
        "prices has to be Prices.*not a Series",
    ),
    ("None for prices", lambda: charge(prices=None), "prices is None; it has to be Prices"),
    (
        "None among prices",
        lambda: values(0.1, None),
        r"prices_per_kwh\[1\] is None, which is no number",
    ),
    (
        "a text among prices",
        lambda: values("0.1"),
        r"prices_per_kwh\[0\] is '0.1', which is no number",
    ),
    ("Decimal prices", lambda: values(Decimal("0.1")), None),
    (
        "float32 prices",
        lambda: sw.Prices.from_values(SIX, np.array([0.1], "float32"), currency="EUR"),
        None,
    ),
    (
        "one price",
        lambda: sw.Prices.from_values(SIX, 0.1, currency="EUR"),
        "prices_per_kwh has to be a list, not a float",
    ),
    ("a NaN price", lambda: values(float("nan")), "NaN|finite"),
    (
        "a NaN price of polars",
        lambda: sw.Prices.from_arrow(
            pl.DataFrame({**table, "price_per_kwh": [float("nan")]}), currency="EUR"
        ),
        "price of slot 0: NaN per kWh is no price; a slot without one is null, or left out",
    ),
    (
        "a NaN price of pandas",
        lambda: sw.Prices.from_arrow(
            pd.DataFrame({**table, "price_per_kwh": [float("nan")]}), currency="EUR"
        ),
        None,
    ),
    ("an infinite price", lambda: values(float("inf")), "finite"),
    ("no slot length", lambda: values(0.1, slot=timedelta(0)), "slot"),
    (
        "minutes for a slot",
        lambda: values(0.1, slot=60),
        "slot has to be a timedelta, not an int",
    ),
    (
        "currency of three letters",
        lambda: sw.Prices.from_values(SIX, [0.1], currency=5),
        "currency has to be a text, not an int",
    ),
    (
        "a naive start",
        lambda: sw.Prices.from_values(NAIVE, [0.1], currency="EUR"),
        "start: 2026-01-05 18:00:00 has no time zone; give an aware datetime",
    ),
    (
        "a text start",
        lambda: sw.Prices.from_values("2026-01-05", [0.1], currency="EUR"),
        "start: expected a datetime with a time zone, not str",
    ),
    (
        "a date start",
        lambda: sw.Prices.from_values(date(2026, 1, 5), [0.1], currency="EUR"),
        "start: expected a datetime with a time zone, not date",
    ),
    ("a dict of columns", lambda: sw.Prices.from_arrow(table, currency="EUR"), None),
    ("a lazy frame", lambda: sw.Prices.from_arrow(pl.LazyFrame(table), currency="EUR"), None),
    (
        "a column that is not there",
        lambda: sw.Prices.from_arrow({"start": [SIX], "price_per_kwh": [0.1]}, currency="EUR"),
        'there is no column "end"; found: start, price_per_kwh',
    ),
    (
        "an index of pandas",
        lambda: sw.Prices.from_arrow(
            pd.DataFrame({"price_per_kwh": [0.1]}, index=pd.date_range(SIX, periods=1, freq="h")),
            currency="EUR",
        ),
        "reset_index",
    ),
    (
        "naive columns",
        lambda: sw.Prices.from_arrow(
            {"start": [NAIVE], "end": [NAIVE], "price_per_kwh": [0.1]}, currency="EUR"
        ),
        "without a time zone; give them the zone of the clock",
    ),
    (
        "times as texts",
        lambda: sw.Prices.from_arrow(
            {"start": ["x"], "end": ["y"], "price_per_kwh": [0.1]}, currency="EUR"
        ),
        'column "start" holds texts, not timestamps with a time zone',
    ),
    (
        "prices as texts",
        lambda: sw.Prices.from_arrow(
            {"start": [SIX], "end": [BY], "price_per_kwh": ["0.1"]}, currency="EUR"
        ),
        'column "price_per_kwh" holds texts, not numbers',
    ),
    (
        "a list of rows",
        lambda: sw.Prices.from_arrow([(SIX, BY, 0.1)], currency="EUR"),
        "data has to be a table.*not a list",
    ),
    (
        "a dict of unlike lengths",
        lambda: sw.Prices.from_arrow({"start": [SIX], "end": []}, currency="EUR"),
        "data is a dict that is no table",
    ),
    (
        "pairs for slots",
        lambda: sw.Prices.from_slots([(SIX, 0.1)], currency="EUR"),
        r"slots\[0\] has 2 members",
    ),
    (
        "plus a text",
        lambda: PRICES.plus("0.1"),
        "other has to be a number, not a str",
    ),
    ("plus a Decimal", lambda: PRICES.plus(Decimal("0.1")), None),
    ("times None", lambda: PRICES.times(None), "factor is None; it has to be a number"),
    ("a naive instant", lambda: PRICES.price_at(NAIVE), "at: .* has no time zone"),
    (
        "layers in a list",
        lambda: sw.Prices.from_layers([PRICES]),
        "known has to be a mapping, not a list",
    ),
    (
        "layers of lists",
        lambda: sw.Prices.from_layers({"market": [0.1]}),
        r"known\['market'\] has to be Prices",
    ),
]


ROWS_OF_VEHICLES: list[Row] = [
    (
        "one target",
        lambda: charge(targets=sw.Target(BY, 10)),
        "targets is one Target; give a list of them",
    ),
    (
        "a number for targets",
        lambda: charge(targets=10),
        "targets has to be a list: .*, not an int",
    ),
    (
        "a dict for targets",
        lambda: charge(targets={"by": BY}),
        "targets has to be a list: .*, not a dict",
    ),
    ("a dict for a target", lambda: charge(targets=[{"by": BY}]), r"targets\[0\] .*Target.*"),
    (
        "percent for energy",
        lambda: charge(targets=[sw.SocTarget(BY, 80)]),
        "targets.0. is a SocTarget; give a Target, which is in kWh",
    ),
    (
        "a percentage for a device that switches",
        lambda: sw.plan_switching(PRICES, now=SIX, power_max_kw=7, targets=[sw.SocTarget(BY, 20)]),
        "targets.0. is a SocTarget; give a Target, which is in kWh",
    ),
    (
        "a unit for a currency",
        lambda: sw.Prices.from_values(SIX, [8.0], currency="EUR/MWh"),
        "currency is 'EUR/MWh'; give its name alone, such as EUR, with prices per kWh",
    ),
    (
        "no currency",
        lambda: sw.Prices.from_slots([(SIX, BY, 0.3)], currency=" "),
        "currency is ' '; give its name alone",
    ),
    (
        "energy for percent",
        lambda: vehicle(targets=[sw.Target(BY, 20)]),
        "targets.0. is a Target; give a SocTarget .*percent",
    ),
    (
        "a pair for percent",
        lambda: vehicle(targets=[(BY, 20)]),
        "targets.0. is a tuple; give a SocTarget",
    ),
    ("an iterator of targets", lambda: charge(targets=iter([sw.Target(BY, 10)])), None),
    (
        "a target without a zone",
        lambda: charge(targets=[sw.Target(NAIVE, 10)]),
        r"targets\[0\].by: .* has no time zone",
    ),
    (
        "a target of text",
        lambda: charge(targets=[sw.Target(BY, "10")]),
        r"targets\[0\].energy_kwh has to be a number, not a str",
    ),
    (
        "a target of nothing",
        lambda: charge(targets=[sw.Target(BY, None)]),
        r"targets\[0\].energy_kwh is None; it has to be a number",
    ),
    ("a target of minus one", lambda: charge(targets=[sw.Target(BY, -1)]), "-1 kWh"),
    (
        "power as a text",
        lambda: charge(power_max_kw="7"),
        "power_max_kw has to be a number, not a str",
    ),
    (
        "power of None",
        lambda: charge(power_max_kw=None),
        "power_max_kw is None; it has to be a number",
    ),
    (
        "power of True",
        lambda: charge(power_max_kw=True),
        "power_max_kw has to be a number, not a bool",
    ),
    (
        "power in a list",
        lambda: charge(power_max_kw=[7]),
        "power_max_kw has to be a number, not a list",
    ),
    (
        "power in an array",
        lambda: charge(power_max_kw=np.array([7.0])),
        "power_max_kw has to be a number, not a ndarray",
    ),
    (
        "power below zero",
        lambda: charge(power_max_kw=-7),
        "power_max_kw is -7 kW; a vehicle that only charges needs 0 kW or more",
    ),
    (
        "power of NaN",
        lambda: charge(power_max_kw=float("nan")),
        "power_max_kw: NaN kW is not a finite number",
    ),
    ("power without end", lambda: charge(power_max_kw=float("inf")), "power_max_kw"),
    ("power of float32", lambda: charge(power_max_kw=np.float32(7)), None),
    ("power of int64", lambda: charge(power_max_kw=np.int64(7)), None),
    ("power of a Decimal", lambda: charge(power_max_kw=Decimal(7)), None),
    (
        "power beyond all",
        lambda: charge(power_max_kw=10**400),
        "power_max_kw is a whole number of 1329 bits",
    ),
    (
        "a complex power",
        lambda: charge(power_max_kw=7j),
        "power_max_kw has to be a number, not a complex",
    ),
    (
        "a naive now",
        lambda: charge(now=NAIVE),
        "now: 2026-01-05 18:00:00 has no time zone; give an aware datetime",
    ),
    (
        "a text now",
        lambda: charge(now="2026-01-05T18:00Z"),
        "now: expected a datetime with a time zone, not str",
    ),
    (
        "a date now",
        lambda: charge(now=date(2026, 1, 5)),
        "now: expected a datetime with a time zone, not date",
    ),
    (
        "a datetime64 now",
        lambda: charge(now=np.datetime64("2026-01-05")),
        "now: expected a datetime with a time zone, not datetime64",
    ),
    ("NaT now", lambda: charge(now=pd.NaT), "now is a missing time"),
    ("a timestamp of pandas", lambda: charge(now=pd.Timestamp(SIX)), None),
    ("another zone", lambda: charge(now=SIX.astimezone(ZoneInfo("Europe/Oslo"))), None),
    ("None now", lambda: charge(now=None), "now is None"),
    (
        "until as text",
        lambda: charge(until="x"),
        "until: expected a datetime with a time zone, not str",
    ),
    (
        "after_deadline misspelt",
        lambda: charge(after_deadline="go on"),
        "after_deadline is 'go on'; it is one of 'continue', 'stop'",
    ),
    (
        "after_deadline of a bool",
        lambda: charge(after_deadline=True),
        "after_deadline has to be one of 'continue', 'stop', not a bool",
    ),
    ("a power limit of two", lambda: charge(power_limits=[(SIX, BY)]), r"power_limits\[0\]"),
    (
        "one power limit",
        lambda: charge(power_limits=sw.PowerLimit(SIX, BY, 5)),
        "power_limits is one PowerLimit; give a list of them",
    ),
    (
        "most below targets",
        lambda: charge(energy_max_kwh=5),
        "energy_max_kwh is 5 kWh, less than the 10 kWh of targets",
    ),
    ("an unknown keyword", lambda: charge(colour=1), r"plan_charge\(\) takes no 'colour'"),
    (
        "a keyword misspelt",
        lambda: charge(reserve_kw=1),
        r"plan_charge\(\) takes no 'reserve_kw'; is it 'reserve_kwh'\?",
    ),
    (
        "a battery in a dict",
        lambda: vehicle(battery={"capacity_kwh": 50}),
        "battery is a dict; give a Battery",
    ),
    (
        "a battery of None",
        lambda: vehicle(battery=None),
        "battery is a NoneType|battery is None",
    ),
    (
        "a capacity of text",
        lambda: vehicle(battery=sw.Battery("50", 30)),
        "battery.capacity_kwh has to be a number, not a str",
    ),
    ("a capacity of zero", lambda: vehicle(battery=sw.Battery(0, 30)), "capacity"),
    (
        "an efficiency in percent",
        lambda: vehicle(battery=sw.Battery(50, 30, 100, 92)),
        "efficiency is 92; it lies above 0 and is at most 1; 92 % is 0.92",
    ),
    (
        "a state of charge of 120",
        lambda: vehicle(battery=sw.Battery(50, 120)),
        "120 % is outside 0 to 100 %",
    ),
    (
        "an unknown state of charge",
        lambda: vehicle(battery=sw.Battery(50, None)),
        "soc_percent is not known; give soc_fallback_percent",
    ),
    (
        "fill as text",
        lambda: vehicle(fill_when_negative="yes"),
        "fill_when_negative has to be True or False, not a str",
    ),
    (
        "fill as a number",
        lambda: vehicle(fill_when_negative=1),
        "fill_when_negative has to be True or False, not an int",
    ),
    (
        "minutes for a duration",
        lambda: sw.plan_duration(PRICES, now=SIX, duration=60, by=BY),
        "duration has to be a timedelta, not an int",
    ),
    (
        "by left to None",
        lambda: sw.plan_duration(PRICES, now=SIX, duration=HOUR, by=None),
        None,
    ),
    ("a zone object", lambda: PLAN.explain(time_zone=ZoneInfo("Europe/Oslo")), None),
    ("UTC of datetime", lambda: PLAN.explain(time_zone=UTC), None),
    (
        "a town for a zone",
        lambda: PLAN.explain(time_zone="Berlin"),
        "is no IANA time zone such as Europe/Oslo",
    ),
    (
        "an offset for a zone",
        lambda: PLAN.explain(time_zone=1),
        "time_zone has to be the IANA name of a time zone, such as 'Europe/Oslo', not an int",
    ),
    (
        "a plan for another",
        lambda: PLAN.close_to(STORAGE),
        "previous has to be a Plan, not a StoragePlan",
    ),
    (
        "a date for a departure",
        lambda: PLAN.what_if(departure=date(2026, 1, 5)),
        "departure: expected a datetime",
    ),
    ("departures of one", lambda: PLAN.energy_at_risk(BY), "departures has to be a list"),
    (
        "a plan for replay",
        lambda: sw.replay(PLAN),
        "plan has to be a text or a PathLike, not a Plan",
    ),
    ("clock of a deadline", lambda: sw.next_deadline("7", now=SIX), "time"),
    (
        "clock as a number",
        lambda: sw.next_deadline(7, now=SIX),
        "time has to be a datetime.time or a text, not an int",
    ),
    (
        "clock of datetime",
        lambda: sw.next_deadline("07:00", time_zone=ZoneInfo("Europe/Oslo"), now=SIX),
        None,
    ),
    ("searches without end", lambda: switching(nodes_max=-1), "nodes_max is -1"),
    (
        "half a session",
        lambda: switching(sessions_max=1.5),
        "sessions_max has to be a whole number, not a float",
    ),
    (
        "a session of True",
        lambda: switching(sessions_max=True),
        "sessions_max has to be a whole number, not a bool",
    ),
    (
        "wear below zero",
        lambda: storage(wear_price_per_kwh=-0.1),
        "wear_price_per_kwh is -0.1 per kWh; it is 0 or more",
    ),
    (
        "discharge of 150 percent",
        lambda: storage(discharge_efficiency=1.5),
        "discharge_efficiency is 1.5; it lies between 0.01 and 1",
    ),
    (
        "power of a battery below zero",
        lambda: storage(power_max_kw=-1),
        "power_max_kw is -1 kW; it is 0 kW or more",
    ),
    ("consumption of two", lambda: storage(consumption=[(SIX, BY)]), r"consumption\[0\]"),
    (
        "a limit of a battery below zero",
        lambda: storage(limits=[sw.StorageLimit(SIX, BY, -3)]),
        r"limits\[0\].power_max_kw is -3 kW; a limit is 0 kW or more",
    ),
]


def drives(*consumption: Any, **changes: Any) -> object:
    given = {"power_max_kw": 7, "battery": BATTERY, "targets": [sw.SocTarget(BY, 40)]} | changes
    return site(sw.Vehicle("van", consumption=consumption, **given))


van: Any = sw.Vehicle("van", power_max_kw=7, targets=[sw.Target(BY, 7)])
ROWS_OF_SITES: list[Row] = [
    (
        "one device",
        lambda: sw.plan_site(PRICES, now=SIX, devices=van),
        "devices is one Vehicle|devices has to be a list",
    ),
    (
        "a dict for a device",
        lambda: site({"name": "van"}),
        r"devices\[0\] has to be a Vehicle or a StationaryBattery.*, not a dict",
    ),
    ("a float32 load", lambda: load(np.float32(2)), None),
    ("a float64 load", lambda: load(np.float64(2)), None),
    ("an array", lambda: load(np.array([1.0, 2.0, 3.0])), None),
    ("a load of text", lambda: load("2"), "power_kw has to be a number or a list.*, not a str"),
    ("a load of None", lambda: load(None), "power_kw is None"),
    ("a None in a load", lambda: load([1.0, None, 2.0]), r"power_kw\[1\] is None"),
    (
        "a NaN in a load",
        lambda: load([1.0, float("nan"), 2.0]),
        r"house.power_kw\[1\]: NaN kW is not a finite number",
    ),
    ("a load below zero", lambda: load(-1), r"power_kw: value 0 is -1 kW"),
    ("two values for three slots", lambda: load([1.0, 2.0]), r"power_kw"),
    (
        "a limit of text",
        lambda: load(1, import_limit_kw="11"),
        "import_limit_kw has to be a number or a list.*, not a str",
    ),
    (
        "a limit below zero",
        lambda: load(1, import_limit_kw=-1),
        "import_limit_kw: value 0 is -1 kW",
    ),
    (
        "a breach below zero",
        lambda: load(1, import_limit_kw=5, import_breach_price_per_kwh=-1),
        "import_breach_price_per_kwh is -1 per kWh",
    ),
    (
        "a breach without a limit",
        lambda: load(1, import_breach_price_per_kwh=1),
        "import_breach_price_per_kwh is 1.* without import_limit_kw",
    ),
    (
        "a number for a demand charge",
        lambda: load(1, demand_charge=8),
        "demand_charge has to be a DemandCharge.*, not an int",
    ),
    (
        "a number for emissions",
        lambda: load(1, carbon=0.1),
        "carbon has to be a Carbon.*, not a float",
    ),
    (
        "intensities without times",
        lambda: sw.Carbon(price_per_kg=0.1, intensity=[0.1]),
        r"intensity\[0\] has to be a tuple of 3",
    ),
    (
        "intensities with the times of pandas",
        lambda: sw.Carbon(price_per_kg=0.1, intensity=pd.Series([0.1], index=[SIX])),
        r"intensity is a pandas\.Series; Series\.from_series\(x, unit=\.\.\.\) makes a Series",
    ),
    (
        "a window of seven minutes",
        lambda: load(1, demand_charge=sw.DemandCharge(peak_price_per_kw=1, window=HOUR / 7)),
        "demand_charge.window",
    ),
    ("tiers of numbers", lambda: sw.Tiers(blocks=[5]), r"blocks\[0\] has to be a tuple of 2"),
    (
        "a preference of text",
        lambda: load(1, prefer="fairer"),
        "prefer has to be a list: .*, not a str",
    ),
    (
        "a preference misspelt",
        lambda: load(1, prefer=["fair"]),
        r"prefer\[0\] is 'fair'; it is one of 'earlier', 'smoother', 'fairer'",
    ),
    (
        "a group that is not there",
        lambda: site(sw.Load("a", power_kw=1, group="hall")),
        'a is in group "hall", which does not exist',
    ),
    ("a name twice", lambda: site(home(), home()), 'the name "home" is given twice'),
    ("a name of None", lambda: sw.Load(None, power_kw=1), "name is None; it has to be a text"),
    (
        "a phase of four",
        lambda: sw.Load("a", power_kw=1, phases=["L4"]),
        r"phases\[0\] is 'L4'; it is one of 'L1', 'L2', 'L3'",
    ),
    (
        "a phase in a text",
        lambda: sw.Load("a", power_kw=1, phases="L1"),
        "phases has to be a list: .*, not a str",
    ),
    (
        "no power",
        lambda: site(sw.Vehicle("van", targets=[])),
        "van: give power_max_kw, or amps and phases",
    ),
    (
        "percent without a battery",
        lambda: site(sw.Vehicle("van", power_max_kw=7, targets=[sw.SocTarget(BY, 40)])),
        "needs the vehicle's battery",
    ),
    (
        "minutes for a run",
        lambda: sw.ShiftableLoad("wash", power_kw=1, duration=60),
        "duration has to be a timedelta, not an int",
    ),
    (
        "a taper of numbers",
        lambda: sw.Vehicle("van", power_max_kw=7, taper=[50]),
        r"taper\[0\] has to be a tuple of 2",
    ),
    ("a drive in a tuple", lambda: drives((SIX, SIX + HOUR, 3)), None),
    ("a drive of nothing", lambda: drives((SIX, SIX + HOUR, 0)), None),
    (
        "one drive",
        lambda: sw.Vehicle("van", power_max_kw=7, consumption=sw.Consumption(SIX, BY, 3)),
        "consumption is one Consumption; give a list of them",
    ),
    (
        "a number for a drive",
        lambda: drives(12),
        r"consumption\[0\] has to be a Consumption or a tuple",
    ),
    ("a drive of text", lambda: drives((SIX, BY, "3")), r"consumption\[0\].*not a str"),
    ("a drive of NaN", lambda: drives((SIX, BY, float("nan"))), r"consumption\[0\].*NaN kWh"),
    (
        "a drive below zero",
        lambda: drives((SIX, BY, -3)),
        r"\(van\).consumption\[0\].energy_kwh is -3 kWh",
    ),
    (
        "a drive by a naive clock",
        lambda: drives((NAIVE, BY, 3)),
        r"consumption\[0\].*no time zone; give an aware datetime",
    ),
    (
        "a drive that ends first",
        lambda: drives((BY, SIX, 3)),
        r"consumption\[0\] ends at .*, not after its start",
    ),
    (
        "two drives at once",
        lambda: drives((SIX, BY, 3), (SIX + HOUR / 2, BY, 3)),
        r"\(van\).consumption: a drive starts at 2026-01-05 18:30:00 UTC, before another one ends",
    ),
    (
        "a drive before arrival",
        lambda: drives((SIX, BY, 3), arrival=SIX + HOUR),
        r"consumption\[0\] from .* lies outside the session from 2026-01-05 19:00:00 UTC",
    ),
    (
        "a drive after departure",
        lambda: drives((SIX, BY, 3), departure=SIX + HOUR),
        r"consumption\[0\] from .* lies outside the session to 2026-01-05 19:00:00 UTC",
    ),
    (
        "a drive at the plug",
        lambda: drives(sw.Consumption(SIX, BY, 3, is_plugged_in=True)),
        "is_plugged_in is true; .* give what it uses at the plug as a load",
    ),
    (
        "a drive without a battery",
        lambda: drives((SIX, BY, 3), battery=None, targets=[]),
        "consumption needs the vehicle's battery",
    ),
    (
        "a target on the way",
        lambda: drives((SIX, BY, 3), targets=[sw.SocTarget(SIX + HOUR, 40)]),
        "a target is due in between, at 2026-01-05 19:00:00 UTC",
    ),
    (
        "energy beside a drive",
        lambda: drives((SIX, BY, 3), targets=[sw.Target(BY, 7)]),
        "energy in kWh counts from arrival, .*; give states of charge",
    ),
    (
        "a battery of text",
        lambda: home(capacity_kwh="10"),
        "capacity_kwh has to be a number.*, not a str",
    ),
    (
        "a share of discharge",
        lambda: site(home(discharge_efficiency=92)),
        "discharge_efficiency is 92 kWh per kWh; it is from 0.001 to 1; 92 % is 0.92",
    ),
    ("a device that is not there", lambda: SITE.device("bus"), "bus"),
    (
        "a search of less than no time",
        lambda: load(1, time_max=-HOUR),
        "time_max is -3600 s; a search takes 0 s or more",
    ),
    (
        "a switch of less than no time",
        lambda: switching(time_max=-HOUR),
        "time_max is -3600 s; a search takes 0 s or more",
    ),
    (
        "a set-back without an edge",
        lambda: heat(set_backs=[("23:00", "06:00", 18)]),
        r"set_backs\[0\] has to be a SetBack or a tuple of 4 .*, not a tuple of 3",
    ),
    ("a number for a device", lambda: SITE.device(1), "name has to be a text, not an int"),
]


ROWS_OF_TABLES: list[Row] = [
    ("a batch of a dict", batch, None),
    ("a batch of polars", lambda: sw.plan_batch(pl.DataFrame(cars()), PRICES), None),
    ("a batch of a lazy frame", lambda: sw.plan_batch(pl.LazyFrame(cars()), PRICES), None),
    ("a batch of pandas", lambda: sw.plan_batch(pd.DataFrame(cars()), PRICES), None),
    (
        "a batch of rows",
        lambda: sw.plan_batch([{"id": 1}], PRICES),
        "vehicles has to be a table.*, not a list",
    ),
    (
        "a batch of nothing",
        lambda: sw.plan_batch(None, PRICES),
        "vehicles is None; it has to be a table",
    ),
    (
        "a batch and a list of prices",
        lambda: sw.plan_batch(CARS, [0.1]),
        "prices has to be Prices or a mapping, not a list",
    ),
    (
        "a batch without arrivals",
        lambda: batch(arrival=...),
        'there is no column "arrival"; found: id, departure',
    ),
    (
        "a batch of naive arrivals",
        lambda: batch(arrival=[NAIVE]),
        'column "arrival" holds timestamps without a time zone',
    ),
    (
        "a batch of texts",
        lambda: batch(power_max_kw=["7"]),
        'column "power_max_kw" holds texts, not numbers',
    ),
    (
        "a batch of flags",
        lambda: batch(power_max_kw=[True]),
        'column "power_max_kw" holds true or false, not numbers',
    ),
    (
        "a column misspelt",
        lambda: batch(reserve_kw=[1.0]),
        'column "reserve_kw", which is not read; is it "reserve_kwh"',
    ),
    (
        "a column of another function",
        lambda: batch(node=["a"]),
        'column "node" is not something plan_batch can honour',
    ),
    ("another column", lambda: batch(depot=["north"]), None),
    (
        "a resolution as text",
        lambda: sw.plan_batch(CARS, PRICES).load("15m"),
        "resolution is '15m'; give a timedelta",
    ),
    (
        "an earlier power",
        lambda: batch(power_kw=[7.0]),
        'the column "power_kw" is called "power_max_kw"; rename it',
    ),
    (
        "fill in a batch as text",
        lambda: batch(
            energy_kwh=...,
            soc_percent=[30.0],
            target_percent=[50.0],
            capacity_kwh=[50.0],
            fill_when_negative=["yes"],
        ),
        'column "fill_when_negative" holds texts, not true or false',
    ),
    (
        "a room in kWh with percent",
        lambda: batch(
            energy_kwh=...,
            soc_percent=[30.0],
            target_percent=[50.0],
            capacity_kwh=[50.0],
            energy_max_kwh=[9.0],
        ),
        'column "energy_max_kwh" goes with "energy_kwh"',
    ),
    (
        "targets of numbers",
        lambda: batch(targets=[[1.0]]),
        'column "targets" holds no lists of {by, energy_kwh}, but lists',
    ),
    (
        "a battery with earlier wear",
        lambda: batteries(wear_per_kwh=[0.1]),
        'the column "wear_per_kwh" is called "wear_price_per_kwh"',
    ),
    (
        "a battery with earlier efficiency",
        lambda: batteries(efficiency_discharge=[0.9]),
        'the column "efficiency_discharge" is called "discharge_efficiency"',
    ),
    (
        "a battery with earlier power",
        lambda: batteries(charge_max_kw=[4.0]),
        'the column "charge_max_kw" is called "power_max_kw"',
    ),
    (
        "a battery misspelt",
        lambda: batteries(efficency=[0.9]),
        'column "efficency", which is not read; is it "efficiency"',
    ),
    (
        "a lowest state of charge",
        lambda: batteries(soc_min_percent=[20.0]),
        'column "soc_min_percent", which is not read; is it "reserve_percent"',
    ),
    (
        "export prices in a mapping",
        lambda: sw.plan_storage_batch(CARS, PRICES, {"a": PRICES}),
        "export_prices is a mapping where prices is not",
    ),
    (
        "samples with a price",
        lambda: samples(price=[0.1]),
        'column "price", which is not read; is it "price_per_kwh"',
    ),
    (
        "a resolution misspelt",
        lambda: stats.aggregate({"start": [SIX], "end": [BY], "power_kw": [4.0]}, resolution="dya"),
        "resolution",
    ),
    (
        "an area below zero",
        lambda: area(-1),
        'limit_kw of node "area" is -1; it is a power from 0 kW on',
    ),
    (
        "an area of text",
        lambda: area("7"),
        "limit_kw has to be a number or a Series or a list.*, not a str",
    ),
    ("an area without a limit", lambda: area(None), "give either limit_kw or nodes"),
    ("an area of two values", lambda: area([1.0, 2.0]), "2 slots; the prices have 3"),
    ("an earlier gap", lambda: area(gap=0.1), r"plan_area\(\): `gap` is called `relative_gap`"),
    ("rounds below zero", lambda: area(rounds_max=-1), "rounds_max is -1 rounds"),
    (
        "half a round",
        lambda: area(rounds_max=1.5),
        "rounds_max has to be a whole number, not a float",
    ),
    (
        "a node for nodes",
        lambda: sw.plan_area(CARS, PRICES, nodes=sw.Node(name="a")),
        "nodes is one Node; give a list of them",
    ),
    (
        "a dict for a node",
        lambda: sw.plan_area(CARS, PRICES, nodes=[{"name": "a"}]),
        r"nodes\[0\] has to be a Node, not a dict",
    ),
    (
        "a stability without a plan",
        lambda: area(stability_budget=1.0),
        "stability_budget needs a previous plan",
    ),
    ("a sink of text", lambda: area(sink="file"), "sink"),
]


rule: Any = schedule.Rule
ROWS_OF_RULES: list[Row] = [
    (
        "a rate of a number",
        lambda: tariffs.check_rates([tariffs.Rate("low", 0.25)]),
        r"rates\[0\]\.\w+ has to be a text or a Decimal, not a float",
    ),
    (
        "a rate alone",
        lambda: tariffs.check_rates(tariffs.Rate("low", "0.25")),
        "rates is one Rate; give a list of them",
    ),
    (
        "weekdays by name",
        lambda: schedule.should_charge([rule(True, weekdays=["Mon"])], at=SIX, time_zone="UTC"),
        r"weekdays\[0\] has to be a whole number, not a str",
    ),
    (
        "a zone for a schedule",
        lambda: schedule.should_charge([rule(True)], at=SIX, time_zone=ZoneInfo("Europe/Oslo")),
        None,
    ),
    (
        "a list of zones",
        lambda: schedule.should_charge([rule(True)], at=SIX, time_zone=["UTC"]),
        "time_zone has to be the IANA name",
    ),
]


def heat(**changes: Any) -> object:
    given = {"now": SIX, "capacity_kwh_per_k": 5, "loss_kw_per_k": 0.2, "temperature_celsius": 20}
    given |= {"power_max_kw": 3, "cop": 3, "outdoor_celsius": 5, "comfort_celsius": (20, 23)}
    return sw.plan_heat(PRICES, **(given | changes))


def simulated(policy: Any = None, forecasts: Any = (), **changes: Any) -> object:
    return sw.simulate(policy or sw.Replan(), cars(**changes), PRICES, forecasts)


def saved(text: bytes) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        path.write_bytes(text)
        return sw.load_plan(path)


HOURS = pd.date_range("2026-01-05T18:00", periods=3, freq="h", tz="UTC")
LATE = pd.Series([1.0, 2.0, 3.0], index=HOURS + pd.Timedelta("10h"))
ROWS_OF_SERIES: list[Row] = [
    ("prices and a number", lambda: PRICES + 0.12, None),
    ("prices times a number", lambda: 1.19 * PRICES, None),
    ("a share of prices", lambda: PRICES / 3, None),
    ("a sum of prices", lambda: sum([PRICES, PRICES]), None),
    ("the number of slots", lambda: len(PRICES), None),
    ("a loop over slots", lambda: [price for _, _, price in PRICES], None),
    ("prices times prices", lambda: PRICES * PRICES, "multiplied by a number, not by another one"),
    (
        "the first of prices",
        lambda: PRICES[0],
        r"Prices\[0\] is not .*\[start:end\].* price_at\(at\)",
    ),
    ("prices from a naive time", lambda: PRICES[NAIVE:], "start: .* has no time zone"),
    ("prices from a text", lambda: PRICES["2026":], "start: expected a datetime"),
    ("a list in the constructor", lambda: sw.Prices([1, 2]), "use Prices.from_series"),
    ("the constructor", sw.Prices, "use Prices.from_series"),
    (
        "prices of two currencies",
        lambda: PRICES + sw.Prices.from_values(SIX, [0.1] * 3, currency="USD"),
        "EUR/kWh and one in USD/kWh cannot be added",
    ),
    (
        "prices that end early",
        lambda: PRICES + sw.Prices.from_values(SIX, [0.1], currency="EUR"),
        "only the first has 2026-01-05 19:00:00 UTC to 2026-01-05 21:00:00 UTC|cut them",
    ),
    ("a resolution in words", lambda: PRICES.resample("1 hour"), "it is one of 'quarter_hour'"),
    ("a time for a resolution", lambda: PRICES.resample(HOUR), "resolution .*'hour'.* not a timed"),
    ("a median", lambda: PRICES.resample("hour", how="median"), "one of 'mean', 'min', 'max'"),
    ("series that overlap", lambda: sw.Prices.concat([PRICES, PRICES]), "starts at .* before"),
    ("one series for a list", lambda: sw.Prices.concat(PRICES), "series has to be a list, not a"),
    (
        "a price for a series",
        lambda: sw.Series.from_values(SIX, [1.0], unit="EUR/MWh"),
        "use slackwater.Prices for prices",
    ),
    (
        "an unknown unit",
        lambda: sw.Series.from_values(SIX, [1.0], unit="furlong"),
        '"furlong" is no unit such as',
    ),
    (
        "a series of numbers",
        lambda: sw.Prices.from_series(pd.Series([1.0]), unit="EUR/MWh"),
        "no column holds times; .* numbers alone go with from_values",
    ),
    (
        "a series of local times",
        lambda: sw.Prices.from_series(
            pd.Series([1.0], index=HOURS[:1].tz_localize(None)), unit="EUR/MWh"
        ),
        "the times have no time zone; say whose clocks they show",
    ),
    (
        "a series of texts",
        lambda: sw.Prices.from_series(pd.Series(["x"], index=HOURS[:1]), unit="EUR/MWh"),
        "no column holds numbers",
    ),
    (
        "a list for a series",
        lambda: sw.Prices.from_series([1.0], unit="EUR/MWh"),
        "lists go with from_slots or from_values",
    ),
    (
        "a frame of two columns",
        lambda: sw.Prices.from_series(
            pd.DataFrame({"a": [1.0], "b": [2.0]}, index=HOURS[:1]), unit="EUR/MWh"
        ),
        "numbers may be in 'a', 'b'; say value=",
    ),
    (
        "times in an index",
        lambda: sw.Prices.from_arrow(
            pd.DataFrame({"price_per_kwh": [1.0]}, index=HOURS[:1]), currency="EUR"
        ),
        r"an index becomes a column by reset_index\(\)",
    ),
    ("a load ten hours late", lambda: load(LATE), r"power_kw: index\[0\] is 2026-01-06 04:00"),
    (
        "a limit ten hours late",
        lambda: load(1, import_limit_kw=LATE),
        r"import_limit_kw: index\[0\] is 2026-01-06 04:00",
    ),
    ("an area ten hours late", lambda: area(LATE), r"limit_kw: index\[0\] is 2026-01-06 04:00"),
    (
        "a scenario ten hours late",
        lambda: sw.plan_area_scenarios(
            cars(),
            [sw.AreaScenario(probability=1, prices=PRICES, limit_kw=1, base_kw=LATE)],
            known_from=SIX,
            shortfall_price_per_kwh=1,
        ),
        r"base_kw of scenarios\[0\]: index\[0\] is 2026-01-06 04:00",
    ),
    (
        "readings ten hours late",
        lambda: sw.identify_heat(
            HOURS,
            temperature_celsius=[20.0, 19.0, 20.0],
            outdoor_celsius=[5.0, 5.0, 5.0],
            heat_kw=LATE,
        ),
        r"heat_kw: index\[0\] is 2026-01-06 04:00:00\+00:00, where reading 0 starts",
    ),
    (
        "local times in a zone without a name",
        lambda: sw.Prices.from_series(
            pd.Series([1.0], index=HOURS[:1].tz_localize(None)), unit="EUR/MWh", time_zone=""
        ),
        "time_zone",
    ),
    (
        "weather ten hours late",
        lambda: heat(outdoor_celsius=LATE),
        r"outdoor_celsius: index\[0\] is 2026-01-06 04:00",
    ),
    (
        "an intensity in kW",
        lambda: charge(
            carbon=sw.Carbon(price_per_kg=1, intensity=sw.Series.from_values(SIX, [1.0], unit="kW"))
        ),
        "intensity.*kW",
    ),
]


ROWS_OF_HEAT: list[Row] = [
    ("a comfort band upside down", lambda: heat(comfort_celsius=(23, 20)), "min_celsius is 23"),
    ("one temperature for comfort", lambda: heat(comfort_celsius=20), "has to be a tuple of 2"),
    ("a temperature in kelvin", lambda: heat(temperature_celsius=293), "in degrees Celsius"),
    ("no heat capacity", lambda: heat(capacity_kwh_per_k=0), "capacity_kwh_per_k is 0 kWh/K"),
    ("a loss below zero", lambda: heat(loss_kw_per_k=-1), "loss_kw_per_k is -1 kW/K"),
    ("a coefficient below zero", lambda: heat(cop=-3), r"cop\[0\] is -3"),
    ("a coefficient of text", lambda: heat(cop="3"), "cop has to be a number or a list.*not a str"),
    ("an unknown mode", lambda: heat(mode="cooling"), "mode is 'cooling'; it is one of 'heat'"),
    ("weather for one slot", lambda: heat(outdoor_celsius=[5.0]), "1 numbers for 3 slots"),
    (
        "a name without its unit",
        lambda: heat(outdoor=5),
        r"plan_heat\(\) takes no 'outdoor'; is it 'outdoor_celsius'\?",
    ),
]


ROWS_OF_RESULTS: list[Row] = [
    ("a table for a plan", lambda: saved(b"start,price\n1,2\n"), "this is no saved plan"),
    ("an empty file for a plan", lambda: saved(b""), "this is no saved plan"),
    ("other JSON for a plan", lambda: saved(b'{"a": 1}'), "this is no saved plan"),
    ("bytes for a plan", lambda: saved(b"\xff\xfe"), "this is no saved plan"),
    ("a number for a file", lambda: sw.load_plan(3), "path has to be a text or a PathLike"),
    ("no file to save to", lambda: PLAN.save(None), "path is None"),
    ("a theme that is not there", lambda: PLAN.plot(theme="blue"), "theme is 'blue'"),
    ("a town for a picture", lambda: PLAN.plot(time_zone="Berlin"), "is no IANA time zone such as"),
    ("a town for a page", lambda: SITE.to_html(time_zone="Berlin"), "is no IANA time zone such as"),
    ("a number for axes", lambda: PLAN.plot(ax=3), "ax has to be .*Axes.*, not an int"),
    ("a number for a size", lambda: PLAN.plot(figsize=3), "figsize has to be a tuple of 2"),
    ("a number for the axes of prices", lambda: PRICES.plot(ax=3), "ax has to be (an )?Axes"),
    ("a size of nothing", lambda: PRICES.plot(figsize=(0, 1)), "figsize is .* above 0"),
    ("a theme of prices", lambda: PRICES.plot(theme="blue"), "theme is 'blue'"),
    ("many axes for one", lambda: SITE.plot(ax=[1, 2]), "ax has to be (an )?Axes.* not a list"),
    (
        "another limit that is none",
        lambda: SITE.what_if(import_limit=9),
        r"plan_site\(\) takes no 'import_limit'; is it 'import_limit_kw'",
    ),
    (
        "another limit below zero",
        lambda: SITE.what_if(import_limit_kw=-9),
        "import_limit_kw: value 0 is -9 kW",
    ),
    (
        "another limit by position",
        lambda: SITE.what_if(9),
        r"SitePlan.what_if\(\) takes none by position",
    ),
    ("another power of text", lambda: STORAGE.what_if(power_max_kw="9"), "power_max_kw has to be"),
    ("a site against a battery", lambda: SITE.diff(STORAGE), "after has to be a SitePlan, not a"),
    ("steps of text", lambda: SITE.load("15m"), "resolution"),
    (
        "a battery that is not there",
        lambda: sw.plan_storage_row(
            cars(energy_kwh=..., capacity_kwh=[9.0], soc_percent=[5.0], discharge_max_kw=[4.0]),
            PRICES,
            vehicle="bus",
        ),
        'vehicle is "bus"; no row has this id',
    ),
    (
        "a battery without a level",
        lambda: sw.plan_storage_row(
            cars(energy_kwh=..., capacity_kwh=[9.0], soc_percent=[None], discharge_max_kw=[4.0]),
            PRICES,
            vehicle="van",
        ),
        'column "soc_percent" is null for the vehicle|holds null',
    ),
    (
        "a wish that is none",
        lambda: PLAN.what_if(reserve=1),
        r"Plan.what_if\(\) takes no 'reserve'",
    ),
    ("a budget below zero", lambda: PLAN.close_to(PLAN, budget=-1), "budget is -1"),
    ("nothing to compare with", lambda: PLAN.diff(None), "after is None"),
    ("a weight below zero", lambda: PLAN.energy_at_risk([(BY, -1)]), "a weight is a finite number"),
    ("facts in a list", lambda: PLAN.evaluate([0.1]), "prices has to be Prices"),
    ("sun below zero", lambda: PLAN.evaluate(PRICES, solar=-1), "solar: value 0 is -1 kW"),
    ("sun for one slot", lambda: PLAN.evaluate(PRICES, solar=[1.0]), "1 numbers for 3 slots"),
    ("a vehicle that is not there", lambda: AREA.explain("bus"), "the id of no plans of this area"),
    ("a row that is not there", lambda: sw.plan_row(cars(), PRICES, vehicle="bus"), "no row has"),
    (
        "one price of emissions",
        lambda: sw.pareto(lambda _: PLAN, intensity=[(SIX, BY, 0.1)], prices_per_kg=0.1),
        "prices_per_kg is one float; give a list of them",
    ),
    (
        "arguments by position",
        lambda: sw.plan_charge(PRICES, SIX, 7, []),
        r"plan_charge\(\) takes 1 by position; the others have names: now=, power_max_kw=",
    ),
    (
        "time below zero",
        lambda: sw.plan_duration(PRICES, now=SIX, duration=-HOUR, by=BY),
        "duration is -1 h; it is 0 h or more",
    ),
    ("an hour that is none", lambda: sw.next_deadline("25:00", now=SIX), '"25:00" is not HH:MM'),
]


def policy(**changes: Any) -> Any:
    given = {"now": SIX, "power_max_kw": 7, "energy_kwh": 9, "shortfall_price_per_kwh": 1}
    given |= changes
    return sw.plan_policy(given.pop("prices", PRICES), **given)


def chain(**changes: Any) -> object:
    given = {"states": [PRICES, PRICES + 0.1], "transitions": [[0.9, 0.1]] * 2, "first": [1, 0]}
    return sw.MarkovPrices(**(given | changes))


def tree(*then: Any) -> object:
    return sw.PriceTree(PRICES[: SIX + HOUR], then=then)


BRANCH = PRICES[SIX + HOUR :]
ROWS_OF_POLICIES: list[Row] = [
    ("a policy for a list", lambda: policy(prices=[0.1]), "prices has to be a MarkovPrices or"),
    ("a policy for a chain", lambda: policy(prices=chain()), None),
    ("a policy for a tree", lambda: policy(prices=tree((0.5, BRANCH), (0.5, BRANCH))), None),
    ("a missing kWh for nothing", lambda: policy(shortfall_price_per_kwh=-1), "a missing kWh cos"),
    ("a bare departure", lambda: policy(departures=[BY]), r"departures\[0\] has to be a Departure"),
    ("a late departure", lambda: policy(departures=[(BY + HOUR, 1)]), "departure"),
    ("a policy for no energy", lambda: policy(energy_kwh=-1), "energy_kwh is -1"),
    (
        "a matrix of one row",
        lambda: chain(transitions=[[1, 0]]),
        "of transitions has 1 entries for 2 sta",
    ),
    ("a matrix of text", lambda: chain(transitions="x"), "a list of lists: a number each"),
    ("a row of 0.9", lambda: chain(transitions=[[0.5, 0.4]] * 2), "row 0 add up to 0.9, not to 1"),
    ("a first state too many", lambda: chain(first=[1, 0, 0]), "first"),
    ("states of two lengths", lambda: chain(states=[PRICES, BRANCH]), "slots"),
    ("a state of a list", lambda: chain(states=[PRICES, [0.1]]), r"states\[1\] has to be Prices"),
    ("a branch of half a chance", lambda: tree((0.5, BRANCH)), "then add up to 0.5, not to 1"),
    ("a branch without its chance", lambda: tree(BRANCH), r"then\[0\] has to be a tuple of 2"),
    ("a branch that begins early", lambda: tree((1, PRICES)), "2026-01-05 18:00:00 UTC"),
    (
        "a decision long after",
        lambda: policy().decide(at=BY + HOUR, wanted_kwh=1),
        "when the policy has no price; it goes from",
    ),
    (
        "a decision without a zone",
        lambda: policy().decide(at=NAIVE, wanted_kwh=1),
        "at: .* has no time zone",
    ),
    (
        "a decision for too much",
        lambda: policy().decide(at=SIX, wanted_kwh=99),
        "wanted_kwh is 99 kWh; the policy was made for 0 to 9 kWh",
    ),
    (
        "a decision in a state that is none",
        lambda: policy().decide(at=SIX, wanted_kwh=1, state=7),
        "state is 7; slot 0 has 1 state",
    ),
    (
        "the risk of everything",
        lambda: policy().conditional_value_at_risk(level=1),
        "level is 1; it is 0 or more and below 1",
    ),
    (
        "bids in a number",
        lambda: policy().plot(at=SIX, wanted_kwh=1, ax=3),
        "ax has to be (an )?Axes",
    ),
]


ROWS_OF_SIMULATIONS: list[Row] = [
    (
        "a class for a policy",
        lambda: simulated(sw.Replan),
        r"policy is the class Replan; give Repl",
    ),
    ("a policy of text", lambda: simulated("replan"), "policy has to be a Replan or a function"),
    ("a text for a power", lambda: simulated(lambda _: "on"), "the policy answers 'on'; a power"),
    ("a power that discharges", lambda: simulated(lambda _: -1), "the policy answers -1 kW"),
    (
        "a missing kWh that earns",
        lambda: sw.simulate(sw.Replan(), cars(), PRICES, (), shortfall_price_per_kwh=-1),
        "shortfall_price_per_kwh is -1 per kWh; a missing kWh costs from 0 to",
    ),
    ("prices for forecasts", lambda: simulated(forecasts=PRICES), "forecasts has to be a list"),
    (
        "prices for a forecast",
        lambda: simulated(forecasts=[PRICES]),
        r"forecasts\[0\] has to be a F",
    ),
    (
        "a naive time of knowing",
        lambda: sw.Forecast(PRICES, known_at=NAIVE),
        "known_at: .* no time",
    ),
    ("a town for a season", lambda: sw.SeasonalNaive(time_zone="Berlin"), "is no IANA time zone"),
    ("a season of no days", lambda: sw.SeasonalNaive(time_zone="UTC", days=0), "days is 0"),
    ("a level of two", lambda: sw.Persistence(levels=(2.0,)), "level"),
    (
        "a quantile of two",
        lambda: sw.Forecast(PRICES, known_at=SIX, quantiles={2.0: PRICES}),
        "quantiles holds 2.0; a level lies between 0 and 1",
    ),
    (
        "a publication in words",
        lambda: sw.publish_day_ahead(PRICES, at="1pm", time_zone="UTC"),
        '"1pm" is not HH:MM',
    ),
    ("a stay beyond prices", lambda: simulated(departure=[BY + 5 * HOUR]), "cover every stay"),
    ("a reserve of a simulation", lambda: simulated(reserve_kwh=[1.0]), "simulate can honour"),
]


RENAMED: dict[str, tuple[Callable[[], object], str]] = {
    "keyword of a function": (
        lambda: storage(charge_max_kw=4),
        r"plan_storage\(\): `charge_max_kw` is called `power_max_kw`",
    ),
    "attribute of a departure": (
        lambda: (
            sw.DepartureOutcome(
                at=BY, probability=1.0, energy_kwh=1.0, shortfall_kwh=0.0
            ).missing_kwh
        ),
        "`missing_kwh` of DepartureOutcome is called `shortfall_kwh`",
    ),
    "keyword of a class": (
        lambda: sw.Discharge(power_max_kw=4),
        r"Discharge\(\): `power_max_kw` is called `discharge_max_kw`",
    ),
    "efficiency of a class": (
        lambda: sw.Discharge(discharge_max_kw=4, efficiency=0.9),
        r"`efficiency` is called `discharge_efficiency`",
    ),
    "keyword of a device": (
        lambda: home(wear_per_kwh=0.1),
        r"`wear_per_kwh` is called `wear_price_per_kwh`",
    ),
    "end of a device": (
        lambda: home(soc_end_percent=50),
        r"`soc_end_percent` is called `target_percent`",
    ),
    "keyword of a charge": (
        lambda: sw.DemandCharge(price_per_kw=4),
        r"`price_per_kw` is called `peak_price_per_kw`",
    ),
    "keyword of a node": (
        lambda: sw.Node(name="a", limit_price_per_kwh=1),
        r"`limit_price_per_kwh` is called `breach_price_per_kwh`",
    ),
    "emissions": (lambda: load(1, co2=None), r"plan_site\(\): `co2` is called `carbon`"),
    "attribute of an area": (
        lambda: AREA.unmanaged_cost,
        "`unmanaged_cost` of AreaPlan is called `baseline_cost`",
    ),
    "gap of an area": (lambda: AREA.gap, "`gap` of AreaPlan is called `relative_gap`"),
    "attribute of a plan": (lambda: PLAN.costs, "`costs` of Plan is called `wish_costs`"),
    "attribute of a node": (
        lambda: AREA.nodes[0].added_per_kwh,
        "`added_per_kwh` of NodeLoad is called `congestion_price_per_kwh`",
    ),
    "attribute of a slot": (
        lambda: STORAGE.slots[0].charge_max_kw,
        "`charge_max_kw` of StorageSlot is called `power_max_kw`",
    ),
    "class": (lambda: sw.UnmetNeed, "slackwater.UnmetNeed is called slackwater.Shortfall"),
}

ROWS = [
    *ROWS_OF_PRICES,
    *ROWS_OF_VEHICLES,
    *ROWS_OF_SITES,
    *ROWS_OF_TABLES,
    *ROWS_OF_RULES,
    *ROWS_OF_SERIES,
    *ROWS_OF_HEAT,
    *ROWS_OF_RESULTS,
    *ROWS_OF_SIMULATIONS,
    *ROWS_OF_POLICIES,
]


def test_there_are_as_many_mistakes_as_a_day_of_trying_makes() -> None:
    names = [name for name, _, _ in ROWS]
    assert len(names) == len(set(names))
    assert len(names) >= 312


@pytest.mark.parametrize(
    ("call", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_a_mistake_is_told_or_works(call: Callable[[], object], expected: str | None) -> None:
    if expected is None:
        call()
        return
    with pytest.raises((sw.InputError, TypeError, KeyError), match=expected) as raised:
        call()
    assert not INTERNALS.search(str(raised.value))


@pytest.mark.parametrize(("call", "expected"), RENAMED.values(), ids=RENAMED.keys())
def test_an_earlier_name_is_refused_by_todays(call: Callable[[], object], expected: str) -> None:
    with pytest.raises((TypeError, AttributeError), match=expected):
        call()


def test_every_renamed_name_stands_in_the_documentation() -> None:
    table = (DOCS / "names.md").read_text(encoding="utf-8")
    for old, new in _engine.renamed_names():
        assert re.search(
            rf"^\| .*`{re.escape(old)}`.*\| `{re.escape(new)}`", table, re.MULTILINE
        ), old


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: charge(power_max_kw=11_000), "power_max_kw is 11000 kW; a power in W is divided"),
        (lambda: charge(targets=[sw.Target(BY, 10_000)]), r"targets\[0\].energy_kwh is 10000 kWh"),
        (lambda: vehicle(battery=sw.Battery(50, 0.3)), "battery.soc_percent is 0.3 %; a share"),
        (lambda: vehicle(targets=[sw.SocTarget(BY, 0.8)]), r"targets\[0\].soc_percent is 0.8 %"),
        (lambda: values(130.0), "price_per_kwh is 130 per kWh; a price in cents is divided by 100"),
        (lambda: batch(power_max_kw=[11_000.0]), "row 0: power_max_kw is 11000 kW"),
        (
            lambda: charge(carbon=sw.Carbon(price_per_kg=0.1, intensity=[(SIX, BY, 400)])),
            "carbon.intensity.kg_per_kwh is 400 kg per kWh; an intensity in g is divided",
        ),
    ],
)
def test_another_unit_is_doubted(call: Callable[[], object], text: str) -> None:
    with pytest.warns(sw.PlausibilityWarning, match=text) as warned:
        call()
    assert warned[0].filename == __file__


@pytest.mark.filterwarnings("error")
def test_ordinary_numbers_raise_no_doubt() -> None:
    charge(power_max_kw=350, targets=[sw.Target(BY, 600)])
    vehicle(battery=sw.Battery(50, 1), reserve_percent=0)
    site(home(capacity_kwh=20_000, power_max_kw=5_000))
    values(4.0, -0.5)
