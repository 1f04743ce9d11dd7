"""Storage plans as users see them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import slackwater as sw

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
PRICES = sw.Prices.from_values(SIX, [0.30, 0.10, 0.40, 0.20], currency="EUR")
LOSSY = sw.Battery(capacity_kwh=20, soc_percent=50, efficiency=0.9)


def plan(**changes: Any) -> sw.StoragePlan:
    """Plan an evening, changed as asked."""
    wishes: dict[str, Any] = {
        "export_prices": PRICES,
        "now": SIX,
        "battery": LOSSY,
        "power_max_kw": 5,
        "discharge_max_kw": 4,
        "discharge_efficiency": 0.9,
        "targets": [sw.SocTarget(None, 50)],
    }
    return sw.plan_storage(PRICES, **(wishes | changes))


def test_the_parts_of_the_cost_add_up() -> None:
    """Import less export, plus wear, less what the stored energy gained."""
    made = plan(wear_price_per_kwh=0.02, end_value_per_kwh=0.15)
    total = made.import_cost - made.export_revenue + made.wear_cost - made.stored_value
    assert made.cost == pytest.approx(total, abs=1e-12)
    assert made.savings == made.baseline_cost - made.cost
    assert made.certificate.is_proved
    assert made.wear_cost == pytest.approx(0.02 * made.discharged_kwh / 0.9)


def test_prices_that_end_before_the_target_are_told() -> None:
    made = plan(targets=[sw.SocTarget(SIX + 6 * HOUR, 50)])
    assert made.unpriced_hours == 2
    assert ", 2 h without a price, " in repr(made)
    assert ", 2 h without a price" in made._repr_html_().partition("</strong>")[0]


def test_levels_are_what_is_bought_sold_and_driven() -> None:
    """State of charge at each boundary, and between them."""
    away = sw.Consumption(SIX + 2 * HOUR, SIX + 3 * HOUR, 6.0)
    made = plan(consumption=[away])
    stored = 10.0
    for slot in made.slots:
        stored += slot.charged_kwh * 0.9 - slot.discharged_kwh / 0.9 - slot.driven_kwh
        assert slot.stored_kwh == pytest.approx(stored)
        assert made.soc_percent_by(slot.end) == pytest.approx(stored / 20 * 100)
        assert slot.charged_kwh == 0 or slot.discharged_kwh == 0
    assert made.slots[2].discharge_max_kw == 0
    assert sum(slot.driven_kwh for slot in made.slots) == pytest.approx(6)


def test_unmet_wishes_are_values() -> None:
    """A target too far, a drive too long, a reserve too high."""
    made = plan(targets=[sw.SocTarget(SIX + HOUR, 100)])
    assert made.shortfall_kwh == pytest.approx(10 - 4.5)
    assert made.targets[0].reached_at is not None
    long = sw.Consumption(SIX, SIX + HOUR, 15.0)
    assert plan(consumption=[long]).unserved_kwh == pytest.approx(5)
    assert plan(reserve_percent=90).floor_shortfall_kwh == pytest.approx(8 - 4.5)


def test_without_export_prices_nothing_is_sold() -> None:
    """Nor where there is no price to sell at."""
    assert plan(export_prices=None).discharged_kwh == 0
    later = PRICES.between(SIX + 3 * HOUR, SIX + 4 * HOUR)
    made = plan(export_prices=later, targets=[])
    assert [slot.discharged_kwh > 0 for slot in made.slots] == [False, False, False, True]


def test_a_vehicle_above_its_limit_stays_there() -> None:
    """It is not forced down and not charged further."""
    full = sw.Battery(capacity_kwh=20, soc_percent=90, charge_limit_percent=80)
    made = plan(battery=full, export_prices=None, targets=[])
    assert made.intervals == []
    assert made.soc_percent_by(SIX + 4 * HOUR) == pytest.approx(90)


def test_negative_prices_burn_nothing() -> None:
    """A slot that would pay to do both does one."""
    paid = sw.Prices.from_values(SIX, [-0.30, -0.20, -0.40], currency="EUR")
    made = sw.plan_storage(
        paid,
        export_prices=paid,
        now=SIX,
        battery=LOSSY,
        power_max_kw=5,
        discharge_max_kw=5,
        discharge_efficiency=0.9,
    )
    assert made.certificate.nodes > 1
    assert made.certificate.is_proved
    assert all(slot.charged_kwh == 0 or slot.discharged_kwh == 0 for slot in made.slots)


def test_what_is_shown() -> None:
    """Words, tables, Arrow, pictures."""
    made = plan()
    assert "proved optimal" in repr(made)
    html = made._repr_html_()
    assert "proved optimal" in html
    assert "to sell" in html
    table = pa.table(made)
    assert table.num_rows == 4
    assert "stored_kwh" in table.column_names
    labels = [axes.get_ylabel() for axes in made.plot(time_zone="Europe/Oslo").axes]
    assert labels == ["Price (EUR/kWh)", "Power (kW)", "State of charge (%)"]
    assert made == plan()
    assert made != plan(targets=[], end_value_per_kwh=0)
    assert {made: 1}[plan()] == 1
    with pytest.raises(AttributeError, match="cannot be changed"):
        made.cost = 1  # type: ignore[misc]


def test_an_empty_plan_is_shown_too() -> None:
    """Nothing to plan with is no error."""
    made = plan(until=SIX)
    assert made.slots == []
    assert "Nothing" in made._repr_html_()
    assert made.plot() is not None


def table(**columns: list[Any]) -> pa.Table:
    """Two vans, changed as asked."""
    rows: dict[str, list[Any]] = {
        "id": ["a", "b"],
        "arrival": [SIX, SIX + HOUR / 3],
        "departure": [SIX + 4 * HOUR, SIX + 3 * HOUR],
        "capacity_kwh": [20.0, 40.0],
        "soc_percent": [50.0, 20.0],
        "target_percent": [50.0, 90.0],
        "power_max_kw": [5.0, 11.0],
        "discharge_max_kw": [4.0, 11.0],
        "efficiency": [0.9, 0.95],
        "discharge_efficiency": [0.9, 0.95],
    }
    return pa.table(rows | columns)


def test_a_row_gets_the_plan_it_would_get_alone() -> None:
    """Costs, energies, shortfalls, intervals."""
    rows = table()
    plans = pa.table(sw.plan_storage_batch(rows, PRICES, PRICES)).to_pylist()
    for row, answer in zip(rows.to_pylist(), plans, strict=True):
        alone = sw.plan_storage(
            PRICES,
            export_prices=PRICES,
            now=row["arrival"],
            until=row["departure"],
            battery=sw.Battery(row["capacity_kwh"], row["soc_percent"], 100, row["efficiency"]),
            power_max_kw=row["power_max_kw"],
            discharge_max_kw=row["discharge_max_kw"],
            discharge_efficiency=row["discharge_efficiency"],
            targets=[sw.SocTarget(row["departure"], row["target_percent"])],
        )
        assert answer["cost"] == pytest.approx(alone.cost, abs=1e-12)
        assert answer["shortfall_kwh"] == pytest.approx(alone.shortfall_kwh, abs=1e-9)
        assert answer["baseline_cost"] == pytest.approx(alone.baseline_cost, abs=1e-12)
        assert answer["charged_kwh"] == pytest.approx(alone.charged_kwh)
        found = [(i["start"], i["end"], i["power_kw"]) for i in answer["intervals"]]
        assert found == [(i.start, i.end, i.power_kw) for i in alone.intervals]
    assert [answer["status"] for answer in plans] == ["optimal", "shortfall"]


def test_a_bad_row_stops_nobody() -> None:
    """Each reason is in its row."""
    rows = table(capacity_kwh=[0.0, 40.0], efficiency=[1.0, 3.0])
    plans = pa.table(sw.plan_storage_batch(rows, PRICES)).to_pylist()
    assert "battery holds at least 0.000001 kWh" in plans[0]["error"]
    assert plans[1]["error"] == "efficiency is 3; it lies between 0.01 and 1"
    assert plans[0]["cost"] is None
    with pytest.raises(sw.InputError, match="targets"):
        sw.plan_storage_batch(table(targets=[1, 2]), PRICES)


def test_prices_by_name() -> None:
    """Each row pays its own; a name without prices is an error in its row."""
    rows = table(price_id=["x", "y"])
    curves = {"x": PRICES, "z": PRICES.plus(0.1)}
    plans = pa.table(sw.plan_storage_batch(rows, curves, curves)).to_pylist()
    assert plans[0]["error"] is None
    assert plans[1]["error"] == "price_id names no price curve"
    with pytest.raises(sw.InputError, match="mapping"):
        sw.plan_storage_batch(rows, PRICES, curves)
    with pytest.raises(sw.InputError, match="one currency"):
        sw.plan_storage_batch(rows, PRICES, sw.Prices.from_values(SIX, [1.0], currency="NOK"))
