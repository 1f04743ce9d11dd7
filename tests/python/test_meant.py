"""Arguments that could be taken for something else are refused, by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import slackwater as sw
import slackwater.statistics

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
PRICES = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2], currency="EUR")
BATTERY = sw.Battery(capacity_kwh=50, soc_percent=30)
BY = SIX + 3 * HOUR


def charge(*targets: object) -> sw.Plan:
    return sw.plan_charge(PRICES, now=SIX, power_max_kw=7, targets=targets)  # type: ignore[arg-type]


def vehicle(*targets: object) -> sw.Plan:
    return sw.plan_vehicle(
        PRICES,
        now=SIX,
        power_max_kw=7,
        battery=BATTERY,
        targets=targets,  # type: ignore[arg-type]
    )


def storage(*targets: object) -> sw.StoragePlan:
    return sw.plan_storage(
        PRICES,
        now=SIX,
        battery=BATTERY,
        power_max_kw=7,
        discharge_max_kw=7,
        targets=targets,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("plan", "target", "message"),
    [
        (charge, sw.SocTarget(BY, 80), r"targets\[0\] is a SocTarget; give a Target.*kWh"),
        (vehicle, sw.Target(BY, 20), r"targets\[0\] is a Target; give a SocTarget.*percent"),
        (storage, sw.Target(BY, 20), r"targets\[0\] is a Target; give a SocTarget.*percent"),
        (vehicle, (BY, 20), r"targets\[0\] is a tuple; give a SocTarget"),
        (storage, (BY, 20), r"targets\[0\] is a tuple; give a SocTarget"),
        (charge, 10, r"targets\[0\] has to be a Target"),
    ],
)
def test_energy_is_not_taken_for_percent(
    plan: Callable[..., object], target: object, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        plan(target)


def test_a_bare_pair_is_energy() -> None:
    assert charge((BY, 10)) == charge(sw.Target(BY, 10))
    van = sw.Vehicle("van", power_max_kw=7, targets=[(BY, 10)])  # type: ignore[list-item]
    plan = sw.plan_site(PRICES, now=SIX, devices=[van])
    assert sum(slot.import_kwh for slot in plan.slots) == pytest.approx(10)


def test_one_target_is_no_list() -> None:
    with pytest.raises(TypeError, match="targets is one Target; give a list of them"):
        sw.plan_charge(PRICES, now=SIX, power_max_kw=7, targets=sw.Target(BY, 10))  # type: ignore[arg-type]


def in_series(first: datetime, *values: float) -> Any:
    return pd.Series(values, index=pd.date_range(first, periods=len(values), freq="h"))


def test_a_series_has_the_times_of_the_slots() -> None:
    late = in_series(SIX + 10 * HOUR, 1.0, 2.0, 3.0)
    short = in_series(SIX, 1.0, 2.0)
    fits = in_series(SIX, 1.0, 2.0, 3.0)
    local = fits.tz_convert("Europe/Berlin")
    assert sw.Prices.from_values(SIX, fits, currency="EUR") == sw.Prices.from_values(
        SIX, local, currency="EUR"
    )
    with pytest.raises(sw.InputError, match=r"prices_per_kwh: index\[0\] is .* where slot 0"):
        sw.Prices.from_values(SIX, late, currency="EUR")
    with pytest.raises(sw.InputError, match=r"prices_per_kwh: index\[1\]"):
        sw.Prices.from_values(SIX, fits, currency="EUR", slot=HOUR / 2)

    def site(power: Any, limit: Any = None) -> sw.SitePlan:
        load = sw.Load("house", power_kw=power)
        return sw.plan_site(PRICES, now=SIX, devices=[load], import_limit_kw=limit)

    assert [slot.import_kwh for slot in site(local, fits).slots] == [1.0, 2.0, 3.0]
    assert len(site(fits.reset_index(drop=True)).slots) == 3
    with pytest.raises(sw.InputError, match=r"house: power_kw: index\[0\]"):
        site(late)
    with pytest.raises(sw.InputError, match="house: power_kw: the index has 2 times for 3 slots"):
        site(short)
    with pytest.raises(sw.InputError, match=r"import_limit_kw: index\[0\]"):
        site(fits, late)


def test_a_demand_charge_without_periods_is_never() -> None:
    load = sw.Load("house", power_kw=5)

    def cost(charge: sw.DemandCharge | None) -> float:
        return sw.plan_site(PRICES, now=SIX, devices=[load], demand_charge=charge).cost

    assert cost(sw.DemandCharge(peak_price_per_kw=8, periods=[])) == cost(None)
    assert cost(sw.DemandCharge(peak_price_per_kw=8)) == pytest.approx(cost(None) + 40)


@pytest.mark.parametrize("name", ["import", "export"])
def test_a_price_of_a_breach_needs_a_limit(name: str) -> None:
    message = f"{name}_breach_price_per_kwh is 2.0 without {name}_limit_kw"
    price: dict[str, Any] = {f"{name}_breach_price_per_kwh": 2.0}
    with pytest.raises(sw.InputError, match=message):
        sw.plan_site(PRICES, now=SIX, devices=[], **price)


def columns(**more: object) -> pa.Table:
    times = {"id": [1], "arrival": [SIX], "departure": [BY]}
    return pa.table(times | {name: [value] for name, value in more.items()})


def car(**more: object) -> pa.Table:
    return columns(**({"power_max_kw": 7.0, "energy_kwh": 9.0} | more))


def battery(**more: object) -> pa.Table:
    needed = {"capacity_kwh": 40.0, "soc_percent": 50.0, "power_max_kw": 7.0}
    return columns(**(needed | {"discharge_max_kw": 7.0} | more))


def sample(**more: object) -> pa.Table:
    row = {"start": SIX, "end": BY, "power_kw": 4.0} | more
    return pa.table({name: [value] for name, value in row.items()})


def plan_cars(table: pa.Table) -> object:
    return sw.plan_batch(table, PRICES)


def plan_area(table: pa.Table) -> object:
    return sw.plan_area(table, PRICES, limit_kw=10)


def plan_batteries(table: pa.Table) -> object:
    return sw.plan_storage_batch(table, PRICES, PRICES)


def sum_up(table: pa.Table) -> object:
    return sw.statistics.aggregate(table, resolution="day")


@pytest.mark.parametrize(
    ("call", "table", "given", "meant"),
    [
        (plan_batteries, battery(soc_min_percent=20.0), "soc_min_percent", "reserve_percent"),
        (plan_batteries, battery(efficency=0.9), "efficency", "efficiency"),
        (plan_batteries, battery(Target_Percent=80.0), "Target_Percent", "target_percent"),
        (plan_cars, car(reserve_kw=2.0), "reserve_kw", "reserve_kwh"),
        (plan_area, car(prioritty=2.0), "prioritty", "priority"),
        (sum_up, sample(price=0.3), "price", "price_per_kwh"),
        (sum_up, sample(non_smart_kW=0.3), "non_smart_kW", "non_smart_kw"),
    ],
)
def test_columns_that_look_like_known_ones_are_refused(
    call: Callable[[pa.Table], object], table: pa.Table, given: str, meant: str
) -> None:
    with pytest.raises(
        sw.InputError, match=f'column "{given}", which is not read; is it "{meant}"'
    ):
        call(table)


def test_a_column_with_the_words_of_one_beside_it_is_refused() -> None:
    words = '"max_power_kw" and "power_max_kw", of which the latter is read'
    with pytest.raises(sw.InputError, match=words):
        plan_cars(car(max_power_kw=11.0))


def test_columns_of_ones_own_pass() -> None:
    own = {"vehicle": "a", "colour": "red", "energy_kwh_2": 5.0}
    for call, table in ((plan_cars, car), (plan_area, car), (plan_batteries, battery)):
        call(table(**own))
    sum_up(sample(vehicle="a", price_per_kwh=0.1, price=0.2))


BELOW_ZERO = sw.Prices.from_values(SIX, [0.3, -0.1, 0.2], currency="EUR")
FULL = {"fill_when_negative": True, "energy": 10.0, "cost": -1.0}
LEFT = {"fill_when_negative": False, "energy": 5.0, "cost": -0.5}


@pytest.mark.parametrize("given", [{}, {"fill_when_negative": True}, {"fill_when_negative": False}])
def test_negative_prices_fill_batteries_alike(given: dict[str, Any]) -> None:
    wanted = LEFT if given.get("fill_when_negative") is False else FULL
    need = sw.SocTarget(BY, 40)
    plan = sw.plan_vehicle(
        BELOW_ZERO, now=SIX, power_max_kw=10, battery=BATTERY, targets=[need], **given
    )
    assert (plan.energy_kwh, plan.cost) == pytest.approx((wanted["energy"], wanted["cost"]))
    in_percent: dict[str, Any] = {"soc_percent": [30.0], "target_percent": [40.0]}
    in_percent |= {"capacity_kwh": [50.0], "power_max_kw": [10.0]}
    in_percent |= {name: [value] for name, value in given.items()}
    rows = pa.table({"id": [1], "arrival": [SIX], "departure": [BY]} | in_percent)
    table = pa.table(sw.plan_batch(rows, BELOW_ZERO))
    assert table["cost"].to_pylist() == [plan.cost]
    assert table["energy_kwh"].to_pylist() == [plan.energy_kwh]
    van = sw.Vehicle("van", power_max_kw=10, battery=BATTERY, targets=[need], **given)
    assert sw.plan_site(BELOW_ZERO, now=SIX, devices=[van]).cost == pytest.approx(plan.cost)


def test_a_need_in_kwh_fills_as_far_as_it_may() -> None:
    car = {"id": [1, 2], "arrival": [SIX] * 2, "departure": [BY] * 2, "power_max_kw": [10.0] * 2}
    table = pa.table(car | {"energy_kwh": [5.0] * 2, "energy_max_kwh": [8.0, None]})
    assert pa.table(sw.plan_batch(table, BELOW_ZERO))["energy_kwh"].to_pylist() == [8.0, 5.0]
    plain = sw.plan_charge(BELOW_ZERO, now=SIX, power_max_kw=10, targets=[(BY, 5)])
    assert (plain.forgone_kwh, plain.forgone_revenue) == pytest.approx((5, 0.5))
    assert "up to 0.50 EUR at negative prices not used" in repr(plain)
    reason = plain.explain()[-1]
    assert (reason.code, reason.energy_kwh) == ("negative_unused", 0.0)
    assert "energy_max_kwh allows it" in reason.sentence
    filled = sw.plan_charge(
        BELOW_ZERO, now=SIX, power_max_kw=10, targets=[(BY, 5)], energy_max_kwh=8
    )
    assert (filled.forgone_kwh, filled.forgone_revenue) == (0.0, 0.0)


def test_a_battery_of_a_site_ends_where_it_began() -> None:
    def plan(**more: Any) -> sw.SitePlan:
        home = sw.StationaryBattery("home", capacity_kwh=10, soc_percent=90, power_max_kw=4, **more)
        return sw.plan_site(PRICES, now=SIX, devices=[home, sw.Load("house", power_kw=2)])

    def last(plan: sw.SitePlan) -> float:
        return plan.device("home").soc_percent[-1]

    assert last(plan()) == pytest.approx(90)
    # Three hours of the house; what an export would earn nothing for is kept.
    assert last(plan(target_percent=0)) == pytest.approx(30)
    assert last(plan(end_value_per_kwh=0.0)) == pytest.approx(30)
    assert last(plan(end_value_per_kwh=9.0)) > 90
    assert plan().cost > plan(target_percent=0).cost


def store(**more: Any) -> sw.StoragePlan:
    """A battery of 10 kWh that is 90 % full and may trade at PRICES."""
    return sw.plan_storage(
        PRICES,
        export_prices=PRICES,
        now=SIX,
        battery=sw.Battery(10, 90, more.pop("charge_limit_percent", 100)),
        power_max_kw=4,
        discharge_max_kw=4,
        **more,
    )


def test_a_battery_alone_ends_where_it_began() -> None:
    def last(plan: sw.StoragePlan) -> float:
        return plan.soc_percent_by(plan.slots[-1].end)

    assert last(store()) == pytest.approx(90)
    assert store().stock_used_kwh == 0
    assert last(store(end_value_per_kwh=0.0)) == pytest.approx(0)
    assert store(end_value_per_kwh=0.0).stock_used_kwh == pytest.approx(9)
    assert last(store(targets=[sw.SocTarget(None, 20)])) == pytest.approx(20)
    assert last(store(charge_limit_percent=80)) == pytest.approx(80)
    assert store().cost > store(end_value_per_kwh=0.0).cost
    # What it drives with is not bought again.
    drive = sw.Consumption(SIX, SIX + HOUR, energy_kwh=5)
    driven = store(consumption=[drive])
    assert last(driven) == pytest.approx(40)
    assert (driven.stock_used_kwh, driven.shortfall_kwh) == (0, 0)


def test_batteries_of_a_table_end_where_they_began() -> None:
    columns: dict[str, list[Any]] = {
        "id": [1, 2, 3],
        "arrival": [SIX] * 3,
        "departure": [BY] * 3,
        "capacity_kwh": [10.0] * 3,
        "soc_percent": [90.0] * 3,
        "power_max_kw": [4.0] * 3,
        "discharge_max_kw": [4.0] * 3,
    }
    told: dict[str, list[Any]] = columns | {
        "target_percent": [None, 20.0, None],
        "end_value_per_kwh": [None, None, 0.0],
    }
    for given, expected in ((columns, [90, 90, 90]), (told, [90, 20, 0])):
        table = pa.table(given)
        plans = pa.table(sw.plan_storage_batch(table, PRICES, PRICES))
        assert plans["soc_percent"].to_pylist() == pytest.approx(expected, abs=1e-9)
        for row, key in enumerate(given["id"]):
            alone = sw.plan_storage_row(table, PRICES, PRICES, vehicle=key)
            assert alone.cost == pytest.approx(plans["cost"][row].as_py(), abs=1e-12)


def test_profiles_of_an_area_have_the_times_of_the_slots() -> None:
    cars = car(departure=BY)
    late = in_series(SIX + 10 * HOUR, 9.0, 9.0, 9.0)
    fits = in_series(SIX, 9.0, 9.0, 9.0)
    assert sw.plan_area(cars, PRICES, limit_kw=fits).load_kw
    with pytest.raises(sw.InputError, match=r"limit_kw: index\[0\]"):
        sw.plan_area(cars, PRICES, limit_kw=late)
    with pytest.raises(sw.InputError, match=r"base_kw of node 'a': index\[0\]"):
        sw.plan_area(cars, PRICES, nodes=[sw.Node(name="a", base_kw=late)])


def test_a_picture_without_matplotlib_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.startswith("slackwater.plot")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "slackwater\[plot\]"'):
        charge((BY, 10)).plot()


def test_one_of_several_kinds_is_told_from_a_list() -> None:
    with pytest.raises(TypeError, match="devices is one Load; give a list of them"):
        sw.plan_site(PRICES, now=SIX, devices=sw.Load("house", power_kw=1.0))  # type: ignore[arg-type]


def test_everyday_names_of_arguments_are_understood() -> None:
    with pytest.raises(TypeError, match="takes no 'power'; is it 'power_max_kw'"):
        sw.plan_charge(PRICES, now=SIX, power=7, targets=[])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes no 'deadline'; is it 'by'"):
        sw.Target(deadline=SIX, energy_kwh=10)  # type: ignore[call-arg]
