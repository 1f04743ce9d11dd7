"""No silent wrong answer: estimates, missing prices, money left and stock sold are told."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import slackwater as sw

from saved_plans import pickled

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
BELOW_ZERO = sw.Prices.from_values(SIX, [0.3, -0.1, -0.2, 0.2], currency="EUR")
KNOWN = sw.Prices.from_values(SIX, [0.30, 0.20], currency="EUR")
GUESS = sw.Prices.from_values(SIX, [0.30, 0.30, 0.05, 0.25], currency="EUR")
GUESSED = KNOWN.with_estimates(GUESS, source="last week")


def cars(count: int = 2, hours: int = 4, **columns: list[Any]) -> pa.Table:
    """Make vehicles with 10 kW that stay some hours."""
    return pa.table(
        {
            "id": list(range(count)),
            "arrival": [SIX] * count,
            "departure": [SIX + hours * HOUR] * count,
            "power_max_kw": [10.0] * count,
            **columns,
        }
    )


def in_percent(count: int = 2, **columns: list[Any]) -> pa.Table:
    """Make vehicles that want 5 kWh, with room for 30 more."""
    own = {"soc_percent": [30.0], "target_percent": [40.0], "capacity_kwh": [50.0]}
    needs: dict[str, list[Any]] = {name: value * count for name, value in own.items()}
    return cars(count, hours=4, **needs, **columns)


def batteries(**columns: list[Any]) -> pa.Table:
    """Make one battery that is half full."""
    own: dict[str, list[Any]] = {
        "capacity_kwh": [40.0],
        "soc_percent": [50.0],
        "discharge_max_kw": [10.0],
    }
    return cars(1, hours=4, **own, **columns)


def column(table: object, name: str) -> list[float]:
    """Read a column of numbers."""
    return [float(value) for value in pa.table(table)[name].to_pylist()]


def store(prices: sw.Prices, **more: Any) -> sw.StoragePlan:
    """Plan a battery that is half full and may sell."""
    return sw.plan_storage(
        prices,
        export_prices=prices,
        now=SIX,
        battery=sw.Battery(capacity_kwh=40, soc_percent=50),
        power_max_kw=10,
        discharge_max_kw=10,
        **more,
    )


# ---------------------------------------------------------------------- estimates


def test_a_batch_tells_what_it_buys_on_estimates() -> None:
    table = cars(energy_kwh=[15.0, 4.0])
    # 10 kWh at the guess of 0.05, 5 at 0.20; and 4 at 0.05.
    assert column(sw.plan_batch(table, GUESSED), "energy_on_estimates_kwh") == [10.0, 4.0]
    assert column(sw.plan_batch(table, GUESS), "energy_on_estimates_kwh") == [0.0, 0.0]
    row = sw.plan_row(table, GUESSED, vehicle=0)
    assert row.energy_on_estimates_kwh == pytest.approx(10)
    named = table.append_column("price_id", [["a", "b"]])
    curves = {"a": GUESS, "b": GUESSED}
    assert column(sw.plan_batch(named, curves), "energy_on_estimates_kwh") == [0.0, 4.0]


def told_in_line(plans: object) -> list[str]:
    """Notes in the line of a table, between the number of plans and the names of columns."""
    notes, _, _ = repr(plans).removeprefix("PlanTable(").partition(": id, ")
    return notes.split(", ")


def test_the_line_of_a_batch_tells_what_stands_on_estimates() -> None:
    table = cars(3, energy_kwh=[15.0, 4.0, -1.0])
    plans = sw.plan_batch(table, GUESSED)
    assert told_in_line(plans) == ["3 plans", "1 in error", "14 kWh on estimates in 2 plans"]
    assert told_in_line(sw.plan_batch(table, GUESS)) == ["3 plans", "1 in error"]
    assert told_in_line(pickled(plans)) == told_in_line(plans)
    area = sw.plan_area(cars(energy_kwh=[10.0, 10.0]), GUESSED, limit_kw=12)
    assert told_in_line(area.plans) == ["2 plans", "12 kWh on estimates in 2 plans"]
    empty = sw.plan_batch(table.slice(0, 0), GUESSED)
    assert told_in_line(empty) == ["0 plans"]


def test_the_line_of_a_batch_tells_what_else_its_plans_tell() -> None:
    filled = sw.plan_batch(in_percent(fill_when_negative=[True, False]), BELOW_ZERO)
    assert told_in_line(filled)[1:] == ["up to 2.00 EUR at negative prices not used"]
    longer = cars(2, hours=6, energy_kwh=[5.0, 5.0])
    assert told_in_line(sw.plan_batch(longer, KNOWN))[1:] == ["2 plans with hours without a price"]
    sold = sw.plan_storage_batch(batteries(end_value_per_kwh=[0.0]), GUESSED, GUESSED)
    assert told_in_line(sold)[-1] == "20 kWh of stock used up"
    assert any(note.endswith("kWh sold on estimates in 1 plan") for note in told_in_line(sold))


def test_a_row_in_error_is_on_no_estimates() -> None:
    plans = pa.table(sw.plan_batch(cars(energy_kwh=[5.0, -1.0]), GUESSED))
    assert plans["energy_on_estimates_kwh"].to_pylist() == [5.0, None]
    assert plans["forgone_kwh"].to_pylist() == [0.0, None]


def test_batches_of_batteries_and_rooms_tell_estimates() -> None:
    plans = sw.plan_storage_batch(batteries(target_percent=[75.0]), GUESSED, GUESSED)
    alone = store(GUESSED, targets=[sw.SocTarget(None, 75)])
    (bought,) = [share.energy_kwh for share in alone.sources if share.is_estimate]
    (sold,) = [share.energy_kwh for share in alone.export_sources if share.is_estimate]
    assert column(plans, "energy_on_estimates_kwh") == pytest.approx([bought])
    assert column(plans, "sold_on_estimates_kwh") == pytest.approx([sold])
    room = {"id": [1], "now": [SIX], "until": [SIX + 4 * HOUR], "capacity_kwh_per_k": [2.0]}
    room |= {"loss_kw_per_k": [0.1], "temperature_celsius": [20.0], "min_celsius": [20.0]}
    room |= {"max_celsius": [24.0], "power_max_kw": [3.0]}
    warm = pa.table(sw.plan_heat_batch(pa.table(room), GUESSED, outdoor_celsius=0.0, cop=2.0))
    known = pa.table(sw.plan_heat_batch(pa.table(room), GUESS, outdoor_celsius=0.0, cop=2.0))
    assert 0 < column(warm, "energy_on_estimates_kwh")[0] <= column(warm, "used_kwh")[0]
    assert column(known, "energy_on_estimates_kwh") == [0.0]


def test_an_area_tells_what_it_buys_on_estimates() -> None:
    table = cars(energy_kwh=[10.0, 10.0])
    area = sw.plan_area(table, GUESSED, limit_kw=12)
    assert area.energy_on_estimates_kwh == pytest.approx(12)
    assert sum(column(area, "energy_on_estimates_kwh")) == pytest.approx(12)
    assert "12 kWh on estimates (last week)" in repr(area)
    assert "12 kWh on estimates (last week)" in area._repr_html_()
    told = [line for id_ in (0, 1) for line in area.explain(id_) if "on estimates" in line]
    assert told
    assert all("bought on estimates (last week)" in line for line in told)
    loaded = sw.AreaPlan.from_json(area.to_json())
    assert loaded.energy_on_estimates_kwh == area.energy_on_estimates_kwh
    assert repr(loaded) == repr(area)
    assert "estimates" not in repr(sw.plan_area(table, GUESS, limit_kw=12))


def test_an_area_whose_plans_go_elsewhere_tells_estimates_too() -> None:
    rows: list[object] = []
    table = cars(energy_kwh=[10.0, 10.0])
    area = sw.plan_area(table, GUESSED, limit_kw=12, sink=rows.append)
    assert area.energy_on_estimates_kwh == pytest.approx(12)
    assert sum(sum(column(piece, "energy_on_estimates_kwh")) for piece in rows) == pytest.approx(12)


def test_an_area_tells_what_it_sells_on_estimates() -> None:
    dear = sw.Prices.from_values(SIX, [0.30, 0.30, 0.05, 0.60], currency="EUR")
    prices = KNOWN.with_estimates(dear, source="last week")
    area = sw.plan_area(batteries(target_percent=[25.0]), prices, export_prices=prices, limit_kw=20)
    assert area.sold_on_estimates_kwh == pytest.approx(10)
    assert column(area, "sold_on_estimates_kwh") == pytest.approx([10])
    assert "10 kWh sold on estimates (last week)" in repr(area)


# ---------------------------------------------------------------- negative prices


def test_an_area_is_filled_at_negative_prices() -> None:
    area = sw.plan_area(in_percent(), BELOW_ZERO, limit_kw=100)
    batch = pa.table(sw.plan_batch(in_percent(), BELOW_ZERO))
    assert column(area, "energy_kwh") == pytest.approx(column(batch, "energy_kwh"))
    assert column(area, "cost") == pytest.approx(column(batch, "cost"))
    assert area.forgone_revenue == 0.0
    assert area.verify().holds
    limited = sw.plan_area(in_percent(), BELOW_ZERO, limit_kw=12)
    assert limited.load_kw == pytest.approx([0, 12, 12, 0])
    assert limited.verify().holds
    assert "negative prices" not in repr(limited)


def test_an_area_that_is_not_filled_tells_what_it_leaves() -> None:
    table = in_percent(fill_when_negative=[False, True])
    area = sw.plan_area(table, BELOW_ZERO, limit_kw=100)
    # One of them takes 5 kWh of 10 at -0.20, and none of 10 at -0.10.
    assert [one.row for one in area.forgone] == [0]
    assert area.forgone[0].energy_kwh == pytest.approx(15)
    assert (area.forgone_kwh, area.forgone_revenue) == pytest.approx((15, 2))
    assert "up to 2.00 EUR at negative prices not used" in repr(area)
    assert any("negative prices" in line for line in area.explain(0))
    assert not any("negative prices" in line for line in area.explain(1))
    assert sw.AreaPlan.from_json(area.to_json()).forgone == area.forgone


def test_limits_bound_what_an_area_leaves() -> None:
    table = cars(energy_kwh=[5.0, 5.0])
    area = sw.plan_area(table, BELOW_ZERO, limit_kw=12)
    # 10 of 12 kWh are bought at -0.20; beside them 2 fit there, and 12 at -0.10.
    assert (area.forgone_kwh, area.forgone_revenue) == pytest.approx((14, 1.6))
    full = sw.plan_area(table, BELOW_ZERO, limit_kw=[10.0, 0.0, 10.0, 10.0])
    assert (full.forgone_kwh, full.forgone) == (0.0, [])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    cents=st.lists(st.integers(-30, 30), min_size=3, max_size=6),
    rows=st.lists(
        st.tuples(
            st.floats(5, 60), st.floats(0, 50), st.floats(60, 100), st.floats(2, 11), st.booleans()
        ),
        min_size=1,
        max_size=4,
    ),
    limit=st.floats(4, 30),
    eta=st.sampled_from([1.0, 0.9]),
)
def test_filled_areas_cost_what_a_linear_programme_costs(
    cents: list[int], rows: list[tuple[float, float, float, float, bool]], limit: float, eta: float
) -> None:
    """Each vehicle takes its need at least, and up to its limit if it is filled."""
    prices = [cent / 100 for cent in cents]
    hours, count = len(prices), len(rows)
    capacity, soc = 40.0, [row[1] / 2 for row in rows]
    target = [soc[at] + row[0] / 2 for at, row in enumerate(rows)]
    table = cars(
        count,
        hours,
        soc_percent=soc,
        target_percent=target,
        capacity_kwh=[capacity] * count,
        charge_limit_percent=[row[2] for row in rows],
        efficiency=[eta] * count,
        fill_when_negative=[row[4] for row in rows],
    ).set_column(3, "power_max_kw", [[row[3] for row in rows]])
    curve = sw.Prices.from_values(SIX, prices, currency="EUR")
    area = sw.plan_area(table, curve, limit_kw=limit, relative_gap=1e-6)
    if area.withheld_kwh > 1e-3:
        return
    upper, lower = [], []
    for at, row in enumerate(rows):
        most = min(row[3] * hours, (min(row[2], 100.0) - soc[at]) / 100 * capacity / eta)
        need = min((target[at] - soc[at]) / 100 * capacity / eta, most)
        upper.append(most if row[4] and min(prices) < 0 else need)
        lower.append(need - 1e-6)
    per_car = [[float(slot // hours == at) for slot in range(count * hours)] for at in range(count)]
    per_slot = [[float(x % hours == slot) for x in range(count * hours)] for slot in range(hours)]
    best = linprog(
        prices * count,
        A_ub=per_car + [[-x for x in row] for row in per_car] + per_slot,
        b_ub=upper + [-x for x in lower] + [limit] * hours,
        bounds=[(0, row[3]) for row in rows for _ in range(hours)],
    )
    assert best.success
    money = max(abs(area.baseline_cost), abs(area.bound), 1.0)
    assert area.cost >= best.fun - 1e-4
    assert area.cost <= best.fun + area.relative_gap * money + 1e-4
    assert area.bound <= best.fun + 1e-4
    assert area.verify().holds


def test_batches_tell_the_money_that_they_leave() -> None:
    plans = sw.plan_batch(cars(energy_kwh=[5.0, 40.0]), BELOW_ZERO)
    assert column(plans, "forgone_kwh") == pytest.approx([15, 0])
    assert column(plans, "forgone_revenue") == pytest.approx([2, 0])
    filled = sw.plan_batch(in_percent(fill_when_negative=[True, False]), BELOW_ZERO)
    assert column(filled, "forgone_revenue") == pytest.approx([0, 2])
    for vehicle in (0, 1):
        alone = sw.plan_row(cars(energy_kwh=[5.0, 40.0]), BELOW_ZERO, vehicle=vehicle)
        assert column(plans, "forgone_revenue")[vehicle] == pytest.approx(alone.forgone_revenue)


def test_devices_that_switch_and_sites_tell_the_money_that_they_leave() -> None:
    plan = sw.plan_switching(
        BELOW_ZERO, now=SIX, power_max_kw=10, power_min_kw=2, targets=[(SIX + 4 * HOUR, 5)]
    )
    assert (plan.forgone_kwh, plan.forgone_revenue) == pytest.approx((15, 2))
    van = sw.Vehicle("van", power_max_kw=10, targets=[sw.Target(None, 5)])
    site = sw.plan_site(BELOW_ZERO, now=SIX, devices=[van])
    assert (site.forgone_kwh, site.forgone_revenue) == pytest.approx((15, 2))
    limited = sw.plan_site(BELOW_ZERO, now=SIX, devices=[van], import_limit_kw=7)
    assert (limited.forgone_kwh, limited.forgone_revenue) == pytest.approx((9, 1.1))
    for told in (plan, site):
        assert "up to 2.00 EUR at negative prices not used" in repr(told)
        assert "up to 2.00 EUR at negative prices not used" in told._repr_html_()
        reasons = [reason for reason in told.explain() if reason.code == "negative_unused"]
        assert len(reasons) == 1
        assert reasons[0].price_max_per_kwh is None


# ------------------------------------------------------------------ missing prices


def test_an_area_tells_missing_prices_from_the_limits_of_a_vehicle() -> None:
    def causes(kwh: float, hours: int) -> list[tuple[str, float]]:
        area = sw.plan_area(cars(1, hours, energy_kwh=[kwh]), BELOW_ZERO, limit_kw=100)
        return [(need.cause, round(need.energy_kwh, 6)) for need in area.shortfalls]

    assert causes(40, 6) == []
    assert causes(45, 6) == [("no_price", 5.0)]
    assert causes(65, 6) == [("own_limits", 5.0), ("no_price", 20.0)]
    assert causes(45, 4) == [("own_limits", 5.0)]
    area = sw.plan_area(cars(1, 6, energy_kwh=[45.0]), BELOW_ZERO, limit_kw=100)
    assert (area.unpriced_hours, column(area, "unpriced_hours")) == (2.0, [2.0])
    assert "stays with up to 2 h without a price" in repr(area)
    assert any("missing because prices are" in line for line in area.explain(0))
    assert any("2 h of its stay have no price" in line for line in area.explain(0))
    limited = sw.plan_area(cars(1, 4, energy_kwh=[30.0]), BELOW_ZERO, limit_kw=5)
    assert [need.cause for need in limited.shortfalls] == ["limit"]


def test_targets_of_an_area_before_departure_are_missed_for_prices() -> None:
    by = [[{"by": SIX + 2 * HOUR, "energy_kwh": 15.0}]]
    late = sw.Prices.from_values(SIX + HOUR, [0.1, 0.2, 0.3], currency="EUR")
    table = cars(1, energy_kwh=[15.0], targets=by)
    area = sw.plan_area(table, late, limit_kw=100)
    assert [need.cause for need in area.shortfalls] == ["no_price"]
    assert area.shortfalls[0].energy_kwh == pytest.approx(5)


def test_batches_of_batteries_tell_the_time_without_a_price() -> None:
    table = batteries().set_column(2, "departure", [[SIX + 6 * HOUR]])
    plans = sw.plan_storage_batch(table, BELOW_ZERO, BELOW_ZERO)
    assert column(plans, "unpriced_hours") == [2.0]
    shorter = BELOW_ZERO.between(SIX, SIX + 3 * HOUR)
    sold = sw.plan_storage_batch(table, BELOW_ZERO, shorter)
    assert column(sold, "unpriced_hours") == [3.0]


def test_devices_that_switch_explain_missing_prices() -> None:
    plan = sw.plan_switching(
        KNOWN, now=SIX, power_max_kw=10, power_min_kw=2, targets=[(SIX + 4 * HOUR, 25)]
    )
    (gap,) = [reason for reason in plan.explain() if reason.code == "no_price"]
    assert (gap.start, gap.end, gap.energy_kwh) == (SIX + 2 * HOUR, SIX + 4 * HOUR, 0.0)
    assert gap.sentence == (
        "Mon 20:00 to Mon 22:00: nothing is planned, because no price is known; the target for "
        "Mon 22:00 is missed."
    )
    reached = sw.plan_switching(
        KNOWN, now=SIX, power_max_kw=10, power_min_kw=2, targets=[(SIX + 2 * HOUR, 5)]
    )
    assert {reason.code for reason in reached.explain()} == {"cheapest"}


# ------------------------------------------------------------------------- stock


def test_stock_that_is_sold_is_told_beside_the_savings() -> None:
    sold = store(GUESS, end_value_per_kwh=0)
    assert sold.stock_used_kwh == pytest.approx(20)
    assert "20 kWh of stock used up" in repr(sold)
    assert "20 kWh of stock used up" in sold._repr_html_()
    (reason,) = [reason for reason in sold.explain() if reason.code == "stock_used"]
    assert "uses up 20 kWh of what was stored at the start, which" in reason.sentence
    kept = store(GUESS, targets=[sw.SocTarget(None, 50)])
    assert kept.stock_used_kwh == 0.0
    assert "stock" not in repr(kept)
    assert not [reason for reason in kept.explain() if reason.code == "stock_used"]
    table = batteries(end_value_per_kwh=[0.0])
    plans = sw.plan_storage_batch(table, GUESS, GUESS)
    assert column(plans, "stock_used_kwh") == pytest.approx([20])


def test_driving_is_no_sale_of_stock() -> None:
    drive = sw.Consumption(SIX + HOUR, SIX + 2 * HOUR, 12)
    plan = sw.plan_storage(
        GUESS,
        now=SIX,
        battery=sw.Battery(capacity_kwh=40, soc_percent=50),
        power_max_kw=10,
        discharge_max_kw=10,
        consumption=[drive],
    )
    assert plan.stock_used_kwh == 0.0


def test_a_battery_of_a_site_that_ends_empty_tells_its_stock() -> None:
    def plan(**more: Any) -> sw.SitePlan:
        home = sw.StationaryBattery("home", capacity_kwh=10, soc_percent=90, power_max_kw=4, **more)
        house = sw.Load("house", power_kw=2)
        return sw.plan_site(BELOW_ZERO, now=SIX, devices=[home, house])

    assert plan().stock_used_kwh == 0.0
    empty = plan(target_percent=10)
    used = 9 - 10 * empty.device("home").soc_percent[-1] / 100
    assert empty.stock_used_kwh == pytest.approx(used)
    assert used >= 1
    assert "of stock used up" in repr(empty)


# ------------------------------------------------------------ implausible prices


PRICE_MEANT = "a price in cents is divided by 100, and one per MWh is divided by 1000"


def doubts(call: Any) -> list[str]:
    """Texts of the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(issubclass(one.category, sw.PlausibilityWarning) for one in caught)
    return [str(one.message) for one in caught]


def test_results_of_arithmetic_are_doubted_once() -> None:
    told = [f"price_per_kwh is 300 per kWh; {PRICE_MEANT}"]
    assert doubts(lambda: KNOWN * 1000) == told
    assert doubts(lambda: KNOWN * 1000 * 2 + 5) == told
    assert doubts(lambda: KNOWN + 50) == [told[0].replace("300", "50.3")]
    assert doubts(lambda: KNOWN * 1.2 + 0.1) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(sw.PlausibilityWarning):
            KNOWN * 1000


def test_units_of_series_that_contradict_their_numbers_are_doubted() -> None:
    import pandas as pd  # noqa: PLC0415  of this test alone

    index = pd.date_range(SIX, periods=3, freq="h")

    def read(numbers: list[float], unit: str) -> list[str]:
        series = pd.Series(numbers, index=index)
        return doubts(lambda: sw.Prices.from_series(series, unit=unit))

    assert read([85.0, 90.0, 70.0], "EUR/MWh") == []
    (large,) = read([85.0, 90.0, 70.0], "EUR/kWh")
    assert large == f"price_per_kwh is 85 per kWh; {PRICE_MEANT}"
    (small,) = read([0.25, 0.30, 0.20], "EUR/MWh")
    assert small.startswith("highest price_per_kwh is 0.0003 per kWh; a price per kWh")
    assert read([0.0, 0.0, 0.0], "EUR/MWh") == []


def test_cents_in_whole_units_are_doubted_by_their_median() -> None:
    cents = [5.2, 8.1, 9.4, 7.7, 6.3, 4.9]
    (told,) = doubts(lambda: sw.Prices.from_values(SIX, cents, currency="EUR"))
    assert told == f"median price_per_kwh is 7.7 per kWh; {PRICE_MEANT}"
    scarce = [0.08, 0.09, 0.09, 9.4, 0.07, 0.08]
    assert doubts(lambda: sw.Prices.from_values(SIX, scarce, currency="EUR")) == []


def test_loads_in_watts_are_doubted() -> None:
    watts = [350.0, 3500.0]
    cases: list[tuple[sw.Load | sw.Solar, str]] = [
        (sw.Load("house", power_kw=watts), "house.power_kw is 3500 kW"),
        (sw.Solar("roof", power_kw=4200.0), "roof.power_kw is 4200 kW"),
        (sw.Load("house", power_kw=[(SIX, SIX + 4 * HOUR, 2100.0)]), "house.power_kw is 2100 kW"),
    ]
    for device, told in cases:
        slots = sw.Prices.from_values(SIX, [0.1, 0.2], currency="EUR")
        found = doubts(lambda: sw.plan_site(slots, now=SIX, devices=[device]))  # noqa: B023
        assert found == [f"{told}; a power in W is divided by 1000"]
    slots = sw.Prices.from_values(SIX, [0.1, 0.2], currency="EUR")
    hall = sw.Load("hall", power_kw=[400.0, 900.0])
    assert doubts(lambda: sw.plan_site(slots, now=SIX, devices=[hall])) == []


def test_headers_that_contradict_their_numbers_are_doubted(tmp_path: Any) -> None:
    def read(header: str, numbers: list[float]) -> list[str]:
        rows = [f"2026-01-05T{18 + at}:00Z,{number}" for at, number in enumerate(numbers)]
        path = tmp_path / "prices.csv"
        path.write_text("\n".join([f"start,{header}", *rows]) + "\n")
        return doubts(lambda: sw.io.read_prices_csv(path, currency="EUR", time_zone="UTC"))

    assert read("EUR/MWh", [85.0, 90.0, 70.0]) == []
    assert len(read("EUR/kWh", [85.0, 90.0, 70.0])) == 1
    assert len(read("EUR/MWh", [0.25, 0.3, 0.2])) == 1


def test_wear_that_looks_like_a_price_of_a_megawatt_hour_is_doubted() -> None:
    told = f"wear_price_per_kwh is 80 per kWh; {PRICE_MEANT}"
    assert doubts(lambda: store(GUESS, wear_price_per_kwh=80)) == [told]
    assert doubts(lambda: store(GUESS, wear_price_per_kwh=0.08)) == []
    value = told.replace("wear_price", "end_value")
    assert doubts(lambda: store(GUESS, end_value_per_kwh=80)) == [value]
    dear = batteries(wear_price_per_kwh=[80.0])
    assert doubts(lambda: sw.plan_storage_batch(dear, GUESS, GUESS)) == [f"row 0: {told}"]
    area = dear.append_column("target_percent", [[50.0]])
    assert doubts(lambda: sw.plan_area(area, GUESS, export_prices=GUESS, limit_kw=20)) == [
        f"row 0: {told}"
    ]
    home = sw.StationaryBattery(
        "home", capacity_kwh=10, soc_percent=50, power_max_kw=4, wear_price_per_kwh=80
    )
    assert doubts(lambda: sw.plan_site(GUESS, now=SIX, devices=[home])) == [told]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("reserve_kwh", 15.0),
        ("power_min_kw", 3.0),
        ("targets", [{"by": SIX + 2 * HOUR, "energy_kwh": 15.0}]),
    ],
)
def test_needs_that_are_not_planned_with_discharge_are_errors(column: str, value: object) -> None:
    """They were passed over without a word. Without discharge they are planned."""
    own: dict[str, list[Any]] = {
        "capacity_kwh": [50.0] * 2,
        "soc_percent": [50.0] * 2,
        "target_percent": [60.0] * 2,
        "discharge_max_kw": [10.0, 0.0],
        column: [value] * 2,
    }
    area = sw.plan_area(cars(2, hours=4, **own), BELOW_ZERO, limit_kw=100)
    assert area.errors == 1
    error = (
        f"{column} is not planned for a vehicle that discharges; its needs are reserve_percent and "
        "target_percent"
    )
    assert pa.table(area.plans)["error"].to_pylist() == [error, None]
