"""Plans of a battery under a tariff that prices the measured power."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from matplotlib.text import Text

import slackwater as sw
from slackwater._bill_picture import capacity_picture
from slackwater._timeline import Line, Steps

from saved_plans import pickled

SIX = datetime(2026, 7, 6, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
PRICES = [0.5 if 4 <= index % 24 < 8 else 1.5 for index in range(36)]
ELVIA = "no-elvia-2026-07"


def plan(**changes: Any) -> sw.CapacityPlan:
    request: dict[str, Any] = {
        "now": SIX,
        "battery": sw.Battery(capacity_kwh=60, soc_percent=30, efficiency=0.9),
        "power_max_kw": 11,
        "load_kw": [0.6] * 36,
        "targets": [sw.SocTarget(SIX + 14 * HOUR, 80)],
        "peaks": [(SIX - 48 * HOUR, 4.0), (SIX - 72 * HOUR, 4.4)],
    }
    prices = sw.Prices.from_values(SIX, PRICES, currency="NOK")
    return sw.plan_capacity(prices, ELVIA, **{**request, **changes})


def test_estimates_are_told() -> None:
    def prices(values: list[float]) -> sw.Prices:
        return sw.Prices.from_values(SIX, values, currency="NOK")

    known, guess = prices(PRICES[:12]), prices(PRICES)
    guessed = sw.plan_capacity(
        known.with_estimates(guess, source="last week"),
        ELVIA,
        export_prices=(known * 0).with_estimates(guess * 0.9, source="a guess"),
        now=SIX,
        battery=sw.Battery(capacity_kwh=60, soc_percent=30),
        power_max_kw=11,
        discharge_max_kw=11,
    )
    assert [share.source for share in guessed.sources] == ["prices", "last week"]
    bought, sold = guessed.sources[1].energy_kwh, guessed.export_sources[1].energy_kwh
    assert bought > 0 or sold > 0
    assert ", optimal for these estimates)" in repr(guessed)
    assert f"{sold:.6g} kWh sold on estimates (a guess)" in repr(guessed)
    assert guessed == pickle.loads(pickle.dumps(guessed))  # noqa: S301  written here
    assert sum(share.energy_kwh for share in guessed.sources) == pytest.approx(
        sum(slot.charged_kwh for slot in guessed.slots)
    )
    assert "estimate" not in repr(plan())


def test_a_step_is_kept_where_it_is_worth_it() -> None:
    found = plan()
    month = found.cost.months[0]
    # (4 + 4.4 + level) / 3 stays below 5 kW: the third day may have 6.6 kW.
    assert month.power_kw <= 4.999999
    assert found.certificate.is_proved
    assert found.certificate.gap == pytest.approx(0, abs=1e-9)
    assert found.certificate.bound_by_values is None
    assert found.certificate.verify().holds
    assert found.verify() == found.certificate.verify()
    assert found.shortfall_kwh == 0
    assert found.energy_alone.months[0].power_kw > 5
    assert found.savings > 0
    assert found.cost.total == pytest.approx(found.cost.energy + found.cost.power)
    assert max(slot.power_kw for slot in found.slots) <= 6.6 + 1e-6


def test_a_reserve_that_is_not_reached_in_time_has_a_value() -> None:
    # 18 kWh are stored; in the first hour 9.9 kWh more can be.
    found = plan(reserve_percent=50)
    assert found.floor_shortfall_kwh == pytest.approx(30 - 18 - 11 * 0.9)
    assert "2.1 kWh below the reserve" in repr(found)
    assert (plan(reserve_percent=40).floor_shortfall_kwh, plan().floor_shortfall_kwh) == (0, 0)


def test_time_without_a_price_is_told() -> None:
    found = plan(targets=[sw.SocTarget(SIX + 40 * HOUR, 80)])
    assert found.unpriced_hours == 4
    assert ", 4 h without a price, proved optimal)" in repr(found)
    assert ", 4 h without a price" in found.to_html()
    gaps = [reason for reason in found.explain() if reason.code == "no_price"]
    assert sum((gap.end - gap.start) / HOUR for gap in gaps) == 4
    assert all(gap.energy_kwh == 0 and "no price is known" in gap.sentence for gap in gaps)
    assert "no_price" not in {reason.code for reason in plan().explain()}
    assert plan().unpriced_hours == 0
    assert "without a price" not in repr(plan())


def test_a_plan_has_the_charge_of_its_bill() -> None:
    found = plan()
    start = datetime(2026, 6, 30, 22, tzinfo=UTC)
    load = [0.0] * 744
    first = int((SIX - start) / HOUR)
    for index, slot in enumerate(found.slots):
        load[first + index] = slot.metered_kwh
    load[first - 48], load[first - 72] = 4.0, 4.4
    bill = sw.bill(load, ELVIA, start=start, slot=HOUR)
    capacity = next(line for line in bill.lines if line.component == "capacity")
    # Value-added tax of 25 % is in the plan, as it is on another line of the bill.
    assert found.cost.months[0].charge == pytest.approx(capacity.amount * 1.25)


def test_reasons_speak_of_the_level() -> None:
    found = plan()
    assert "charge_at_level" in {reason.code for reason in found.explain()}
    assert "as much as fits below the power of" in " ".join(
        reason.sentence for reason in found.explain()
    )
    assert repr(found).startswith("CapacityPlan(costs ")
    nothing = repr(plan(until=SIX, targets=[]))
    assert nothing == "CapacityPlan(costs 0.0000 NOK, saves 0.0000, proved optimal)"
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301  our own
    assert pl.DataFrame(found.slots)["level_kw"].max() == pytest.approx(6.6, abs=1e-4)


def test_a_plan_is_drawn_with_its_level() -> None:
    figure = plan().plot(time_zone="Europe/Oslo")
    labels = [axes.get_ylabel().replace("\n", " ") for axes in figure.axes]
    assert labels == ["Power (kW)", "Price (NOK/kWh)", "Stored energy (kWh)"]
    assert "power of the tariff" in plan().to_html()
    assert "nothing is planned" not in {text.get_text() for text in figure.findobj(Text)}


def test_cells_and_pages_have_the_clocks_of_the_sentences() -> None:
    found = plan()
    zone = found.tariff.time_zone
    told = found.explain()[0].sentence.partition(": ")[2]
    for markup in (found._repr_html_(), found.to_html()):
        assert f"Period ({zone})" in markup
        assert escape(told) in markup
    assert "Period (UTC)" in found.to_html(time_zone="UTC")
    assert found.plot().axes[-1].get_xlabel() == f"Time in {zone}"


def test_a_picture_fills_what_the_battery_takes_and_gives() -> None:
    prices = sw.Prices.from_values(SIX, [1.5, 0.5, 1.5, 1.5], currency="NOK")
    found = sw.plan_capacity(
        prices,
        ELVIA,
        now=SIX,
        battery=sw.Battery(capacity_kwh=10, soc_percent=50),
        power_max_kw=3,
        discharge_max_kw=3,
        load_kw=[4.0, 1.0, 5.0, 2.0],
    )
    power, _, level = capacity_picture(found, ZoneInfo("UTC")).panels
    curves = {curve.name: curve for curve in power.curves if isinstance(curve, Steps)}
    charging, discharging = curves["charging"], curves["discharging"]
    assert charging.base == discharging.base == pytest.approx([4, 1, 5, 2])
    assert charging.told == pytest.approx([slot.charged_kwh for slot in found.slots])
    assert discharging.told == pytest.approx([slot.discharged_kwh for slot in found.slots])
    net = [
        (top or 0) + (bottom or 0) - load
        for top, bottom, load in zip(
            charging.values, discharging.values, charging.base or [], strict=True
        )
    ]
    assert net == pytest.approx(curves["meter"].values)
    (stored,) = level.curves
    assert isinstance(stored, Line)
    assert stored.points[0] == (SIX, 5)


def peaks_alone() -> sw.BillingTariff:
    """The highest quarter-hour of a month at 5 EUR per kW."""
    return sw.tariffs.read_tariff(
        {
            "name": "Peaks alone",
            "operator": "Example",
            "country": "BE",
            "currency": "EUR",
            "time_zone": "Europe/Brussels",
            "valid_from": "2026-01-01",
            "vat": "excluded",
            "sources": [{"document": "Price list", "url": "https://example.org"}],
            "components": [
                {
                    "kind": "capacity",
                    "id": "monthly peak",
                    "category": "network",
                    "demand": {"window": "quarter_hour", "highest": 1},
                    "charge": {"per": "month", "price": "5"},
                }
            ],
        }
    )


def shaved() -> sw.CapacityCertificate:
    """The certificate of a battery that trades, wears out, and shaves a peak."""
    prices = sw.Prices.from_values(SIX, [0.1, 0.4, 0.5, 0.4, 0.1, 0.2], currency="EUR")
    plan = sw.plan_capacity(
        prices,
        peaks_alone(),
        export_prices=prices * 0.5,
        now=SIX,
        battery=sw.Battery(capacity_kwh=10, soc_percent=50, efficiency=0.9),
        power_max_kw=4,
        discharge_max_kw=4,
        discharge_efficiency=0.95,
        load_kw=[1, 1, 6, 4, 1, 1],
        end_value_per_kwh=0.15,
        wear_price_per_kwh=0.01,
    )
    return plan.certificate


NUMBERS = [
    "bound",
    "bound_by_values",
    "cost",
    "discharge_efficiency",
    "efficiency",
    "end_value_per_kwh",
    "gap",
    "stored_start_kwh",
    "wear_price_per_kwh",
]


def changed(record: Any, **changes: Any) -> Any:
    """The record with other numbers."""
    fields = {name: getattr(record, name) for name in type(record).__match_args__}
    return type(record)(**fields | changes)


def test_each_number_of_the_certificate_counts() -> None:
    certificate = shaved()
    assert certificate.is_proved
    assert certificate.verify().failed == []
    values = {name: getattr(certificate, name) for name in type(certificate).__match_args__}
    numbers = [name for name, value in values.items() if isinstance(value, float)]
    # The bound of the search is taken as it is, and that by values is as good.
    assert sorted(numbers) == sorted([*NUMBERS, "bound_by_search"])
    for name in NUMBERS:
        for step in (-0.01, 0.01):
            tampered = changed(certificate, **{name: values[name] + step})
            assert tampered.verify().failed, (name, step)


@pytest.mark.parametrize(
    "name", ["charged_kwh", "discharged_kwh", "load_kwh", "stored_kwh", "weight", "group"]
)
def test_each_slot_counts(name: str) -> None:
    certificate = shaved()
    slots = list(certificate.slots)
    peak = next(i for i, slot in enumerate(slots) if slot.power_kw == slot.level_kw)
    slots[peak] = changed(slots[peak], **{name: getattr(slots[peak], name) + 1})
    assert changed(certificate, slots=slots).verify().failed


def test_windows_at_the_level_pay_for_the_power() -> None:
    slots = shaved().slots
    assert sum(slot.power_price_per_kw for slot in slots) == pytest.approx(5)
    paying = [slot for slot in slots if slot.power_price_per_kw > 1e-9]
    assert all(slot.power_kw == pytest.approx(slot.level_kw) for slot in paying)


def test_a_tariff_is_written_out_with_its_taxes() -> None:
    # 0.2915 and 0.0713 and 0.01 with a quarter of value-added tax; 22:00 in Oslo is 20:00 in UTC.
    prices = sw.tariffs.tariff_prices(sw.tariffs.load_tariff(ELVIA), start=SIX, end=SIX + 6 * HOUR)
    assert [slot.end for slot in prices.slots] == [SIX + 2 * HOUR, SIX + 6 * HOUR]
    assert [slot.price_per_kwh for slot in prices.slots] == pytest.approx([0.466, 0.314])
    assert prices.currency == "NOK"
    with pytest.raises(sw.InputError, match="direction is for tariffs as they are billed"):
        sw.tariffs.tariff_prices(
            sw.tariffs.Tariff([], [], "NOK"), start=SIX, end=SIX + HOUR, direction="export"
        )
    with pytest.raises(sw.InputError, match="has no price of a kWh of export"):
        sw.tariffs.tariff_prices(
            sw.tariffs.load_tariff(ELVIA), start=SIX, end=SIX + HOUR, direction="export"
        )


def refused(tariff: str, currency: str, *, start: datetime = SIX) -> str:
    with pytest.raises(sw.InputError) as caught:
        sw.plan_capacity(
            sw.Prices.from_values(start, PRICES, currency=currency),
            tariff,
            now=start,
            battery=sw.Battery(capacity_kwh=60, soc_percent=30),
            power_max_kw=11,
        )
    return str(caught.value)


def test_what_cannot_be_planned_is_named() -> None:
    assert "is a second price of power" in refused("be-elia-30-70kv-2026", "EUR")
    assert "has no price of the measured power" in refused("de-netze-bw-2025", "EUR")
    assert refused(ELVIA, "EUR") == "prices are in EUR, the tariff is in NOK"
    last_year = SIX - timedelta(days=365)
    assert "reaches into 2025-07" in refused(ELVIA, "NOK", start=last_year)
    with pytest.raises(sw.InputError, match=r"peaks\[0\] is -1 kW"):
        plan(peaks=[(SIX - HOUR, -1.0)])


def test_a_plan_is_saved_read_and_made_again(tmp_path: Path) -> None:
    found, path = plan(), tmp_path / "plan.json"
    found.save(path)
    loaded = sw.load_plan(path)
    assert type(loaded) is sw.CapacityPlan
    assert loaded == found
    assert loaded.to_json() == found.to_json() == path.read_text()
    assert loaded.tariff == found.tariff
    assert loaded.prices == found.prices
    assert loaded.explain() == found.explain()
    assert loaded.verify().holds
    assert loaded.to_dict() == found.to_dict()
    assert sw.replay(path).same
    assert sw.replay(path).kind == "capacity"
    assert found.request["peaks"][0]["power_kw"] == 4.0
    with pytest.raises(sw.InputError, match="a saved CapacityPlan, not a StoragePlan"):
        sw.StoragePlan.from_json(found.to_json())
    tampered = found.to_json().replace('"group": 0', '"group": 70', 1)
    with pytest.raises(sw.InputError, match=r"group is 70; the plan has \d+ groups"):
        sw.CapacityPlan.from_json(tampered)


def test_a_saved_plan_is_explained_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan().save(path)
    command = [sys.executable, "-m", "slackwater", "explain", str(path), "--time-zone", "UTC"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "NOK for energy and power" in shown
    assert "charge at level" in shown
    assert "no plan costs less than" in shown


def test_sentences_speak_in_the_zone_that_is_asked_for() -> None:
    found = plan()
    assert found.explain() == found.reasons == found.explain(time_zone="Europe/Oslo")
    first, other = found.explain()[0].sentence, found.explain(time_zone="UTC")[0].sentence
    assert first != other
    with pytest.raises(sw.InputError, match="Europe/Atlantis"):
        found.explain(time_zone="Europe/Atlantis")


def test_what_if_is_the_plan_with_other_arguments() -> None:
    found = plan()
    answer = found.what_if(power_max_kw=5)
    assert answer.plan == plan(power_max_kw=5)
    assert answer.cost_change == pytest.approx(answer.plan.cost.total - found.cost.total)
    assert answer.sentence.startswith("With power_max_kw=5, the plan would cost ")
    free = found.what_if(peaks=[(SIX - 48 * HOUR, 11.0), (SIX - 72 * HOUR, 11.0)])
    assert free.plan.cost.power <= found.cost.power
    assert pickled(found).what_if(power_max_kw=5) == answer
    with pytest.raises(sw.InputError, match="read from a file keeps no arguments to change"):
        sw.CapacityPlan.from_json(found.to_json()).what_if(power_max_kw=5)


def test_plans_are_compared_in_power() -> None:
    found = plan()
    assert len(found.diff(found)) == 0
    changes = found.diff(plan(peaks=[(SIX - 48 * HOUR, 11.0), (SIX - 72 * HOUR, 11.0)]))
    assert changes[0].after_kw != changes[0].before_kw
    pounds = sw.Prices.from_values(SIX, PRICES, currency="NOK")
    battery = sw.Battery(capacity_kwh=60, soc_percent=30)
    storage = sw.plan_storage(pounds, now=SIX, battery=battery, power_max_kw=11, discharge_max_kw=0)
    with pytest.raises(TypeError, match="after has to be a CapacityPlan, not a StoragePlan"):
        found.diff(storage)  # type: ignore[arg-type]


def test_the_load_has_the_energy_of_the_slots() -> None:
    found = plan(discharge_max_kw=11, end_value_per_kwh=0.9)
    steps = pl.DataFrame(found.load(HOUR))
    net = sum(slot.charged_kwh - slot.discharged_kwh for slot in found.slots)
    assert steps["energy_kwh"].sum() == pytest.approx(net)
    assert {interval.power_kw > 0 for interval in found.intervals} == {True, False}
    assert all(one.end > one.start for one in found.intervals)


def test_at_its_own_prices_a_plan_costs_what_it_said() -> None:
    feeding = [0.6] * 18 + [-2.0] * 18
    found = plan(load_kw=feeding, discharge_max_kw=5, wear_price_per_kwh=0.1, end_value_per_kwh=1)
    same = found.evaluate(found.prices)
    assert same.cost == pytest.approx(found.cost.total)
    assert same.demand_cost == pytest.approx(found.cost.power)
    assert same.baseline_cost == pytest.approx(found.energy_alone.total)
    assert same.savings == pytest.approx(found.savings)
    assert same.peak_kw == pytest.approx(max(slot.power_kw for slot in found.slots))
    dearer = found.evaluate(found.prices.plus(0.5))
    imported = sum(max(slot.metered_kwh, 0) for slot in found.slots)
    assert dearer.cost - same.cost == pytest.approx(0.5 * imported)


def test_a_measured_load_takes_the_place_of_the_planned_one() -> None:
    found = plan()
    quiet, busy = found.evaluate(found.prices, load=0.0), found.evaluate(found.prices, load=9.0)
    charged = sum(slot.charged_kwh for slot in found.slots)
    assert quiet.import_kwh == pytest.approx(charged)
    assert quiet.demand_cost <= found.cost.power < busy.demand_cost
    assert busy.peak_kw == pytest.approx(
        9.0 + max(slot.charged_kwh for slot in found.slots if slot.group is not None)
    )
    with pytest.raises(sw.InputError, match="demand_charge: the tariff of this plan prices"):
        found.evaluate(found.prices, demand_charge=sw.DemandCharge(peak_price_per_kw=5))


def test_emissions_have_a_price() -> None:
    grid = sw.Series.from_values(
        SIX, [400 if 4 <= at % 24 < 8 else 100 for at in range(36)], unit="g/kWh"
    )
    found = plan(carbon=sw.Carbon(price_per_kg=0.1, intensity=grid))
    intensity = {start: value for start, _, value in grid.slots}
    kg = sum(max(slot.metered_kwh, 0) * intensity[slot.start] for slot in found.slots)
    assert found.carbon_kg == pytest.approx(kg)
    assert found.baseline_carbon_kg is not None
    assert found.carbon_cost == pytest.approx(0.1 * kg)
    assert sw.CapacityPlan.from_json(found.to_json()).carbon_kg == found.carbon_kg
    assert plan().carbon_kg is None
    # A dear kg moves energy out of the hours that are cheap and dirty.
    dear = plan(carbon=sw.Carbon(price_per_kg=20, intensity=grid))
    assert dear.carbon_kg is not None
    assert found.carbon_kg is not None
    assert dear.carbon_kg < found.carbon_kg
    points = sw.pareto(lambda carbon: plan(carbon=carbon), intensity=grid, prices_per_kg=[0, 20])
    assert points[0].cost <= points[1].cost
    assert points[0].cost == pytest.approx(plan().cost.total)


def test_a_plan_is_not_kept_near_another() -> None:
    assert not hasattr(plan(), "close_to")
