"""Bills of metered loads, and the tariffs that they follow."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.text import Text

import slackwater as sw

JULY = datetime(2026, 6, 30, 22, tzinfo=UTC)
"""July 2026 begins at midnight in Oslo."""
HOUR = timedelta(hours=1)
HOURS = 744
ELVIA = "no-elvia-2026-07"
FLANDERS = "be-flanders-2023"


def flat(kw: float = 1.0, hours: int = HOURS) -> sw.Series:
    return sw.Series.from_values(JULY, [kw] * hours, unit="kW")


def lines(bill: sw.Bill) -> dict[str, float]:
    return {line.component: line.amount for line in bill.lines}


def test_a_month_is_billed_line_by_line() -> None:
    bill = sw.bill(flat(), ELVIA)
    # 368 hours of 23 working days at 0.2915, 376 others at 0.1699, taxes and their tax.
    assert [round(line.quantity, 6) for line in bill.lines] == [368, 376, 1, 744, 744, 351.64]
    amounts = [line.amount for line in bill.lines]
    assert amounts == [107.27, 63.88, 120.0, 53.05, 7.44, 87.91]
    assert bill.total == 439.55
    assert [(m.month, m.start, m.total) for m in bill.months] == [("2026-07", JULY, 439.55)]
    assert bill.explain()[0] == ('2026-07, energy: 107.27 NOK. 368 kWh at the rate "working day".')
    assert bill.missing == []


@pytest.mark.parametrize("minutes", [1, 15, 60])
def test_all_forms_of_a_load_have_one_bill(minutes: int) -> None:
    count = HOURS * 60 // minutes
    slot = timedelta(minutes=minutes)
    values = [float(index % 7) * 60 / 64 for index in range(HOURS) for _ in range(60 // minutes)]
    series = sw.Series.from_values(JULY, values, unit="kW", slot=slot)
    first = sw.bill(series, ELVIA)
    times = pd.date_range(JULY, periods=count, freq=slot)
    for load in (
        pd.Series(values, index=times),
        pd.DataFrame({"at": times, "kw": values}),
        pl.DataFrame({"at": times.to_list(), "kw": values}),
        pa.table({"at": times.to_list(), "kw": values}),
    ):
        assert sw.bill(load, ELVIA) == first
    assert sw.bill(values, ELVIA, start=JULY, slot=slot) == first
    energies = [value * minutes / 60 for value in values]
    assert sw.bill(energies, ELVIA, start=JULY, slot=slot, unit="kWh") == first
    assert first.lines[2].explanation.startswith("5.625 kW: the mean of the 3 highest")


def test_exports_are_negative_or_apart() -> None:
    tariff = "dk-n1-2025"
    start = datetime(2025, 2, 28, 23, tzinfo=UTC)
    net = [-2.0 if index % 2 else 3.0 for index in range(743)]
    both = sw.bill(net, tariff, start=start, slot=HOUR)
    imports, exports = [max(kw, 0.0) for kw in net], [max(-kw, 0.0) for kw in net]
    apart = sw.bill(imports, tariff, export=exports, start=start, slot=HOUR)
    assert apart == both
    assert next(line for line in both.lines if "feed-in" in line.component).quantity == 742
    with pytest.raises(sw.InputError, match=r"import_kwh is -2 kWh"):
        sw.bill(net, tariff, export=exports, start=start, slot=HOUR)
    with pytest.raises(sw.InputError, match="2025-03-31 21:00:00 UTC has an import and no export"):
        sw.bill(imports, tariff, export=exports[:-1], start=start, slot=HOUR)


def test_a_month_that_is_not_measured_is_refused_with_what_is_missing() -> None:
    short = flat(hours=HOURS - 3)
    expected = "the load lacks 2026-07-31 19:00:00 UTC to 2026-07-31 22:00:00 UTC of 2026-07"
    with pytest.raises(sw.InputError, match=expected):
        sw.bill(short, ELVIA)
    bill = sw.bill(short, ELVIA, allow_missing=True)
    assert bill.missing == [(JULY + (HOURS - 3) * HOUR, JULY + HOURS * HOUR)]
    assert repr(bill).endswith("July 2026', 1 period without readings)")
    with pytest.raises(sw.InputError, match="2026-06 is not within the validity"):
        sw.bill(flat(), ELVIA, months="2026-06")
    with pytest.raises(sw.InputError, match=r"months\[1\]: \"July\" is no month"):
        sw.bill(flat(), ELVIA, months=["2026-07", "July"])


def test_peaks_reached_before_the_load_count() -> None:
    second = JULY + 24 * HOUR
    load = sw.Series.from_values(second, [1.0] * (HOURS - 24), unit="kW")
    peaks = [(JULY + 12 * HOUR, 13.0)]
    bill = sw.bill(load, ELVIA, peaks=peaks, allow_missing=True)
    # (13 + 1 + 1) / 3 kW are in the step from 5 kW.
    assert lines(bill)["capacity"] == 336.0
    assert bill.lines[2].explanation.startswith("5 kW: ")
    # Eleven months of 6 kW and one of 3 kW in the mean of twelve.
    december = sw.Series.from_values(
        datetime(2023, 11, 30, 23, tzinfo=UTC), [3.0] * 2976, unit="kW", slot=HOUR / 4
    )
    before = [(datetime(2023, month, 10, tzinfo=UTC), 6.0) for month in range(1, 12)]
    mean = sw.bill(december, FLANDERS, peaks=before)
    assert mean.lines[0].quantity == 5.75
    assert mean.total == 19.36
    with pytest.raises(sw.InputError, match=r"peaks\[0\] at .* lies in a period of the load"):
        sw.bill(december, FLANDERS, peaks=[(datetime(2023, 12, 10, tzinfo=UTC), 6.0)])


def test_a_published_example_of_flanders_has_its_power() -> None:
    # nl.wikibooks.org/wiki/Energietransitie/Capaciteitstarief: the highest quarter-hours from May
    # to April, and a charge that is 1.782 times that of the least power, 2.5 kW.
    powers = [0.632, 4.6, 0, 1.028, 3.444, 4.164, 4.564, 6, 9.2, 5, 4.12, 4.88]
    months = [(2022 + (month > 12), (month - 1) % 12 + 1) for month in range(5, 17)]
    peaks = [
        (datetime(year, month, 10, tzinfo=UTC), power)
        for (year, month), power in zip(months[:-1], powers[:-1], strict=True)
    ]
    april = datetime(2023, 3, 31, 22, tzinfo=UTC)
    load = [powers[-1] if quarter == 70 else 0.5 for quarter in range(2880)]
    line = sw.bill(load, FLANDERS, start=april, peaks=peaks).lines[0]
    assert line.quantity == 4.456
    least = sw.bill([0.5] * 2880, FLANDERS, start=april).lines[0]
    assert line.quantity / least.quantity == pytest.approx(1.782, abs=0.0005)


def test_several_months_add_up() -> None:
    load = sw.Series.from_values(JULY, [2.0] * (2 * HOURS), unit="kW")
    bill = sw.bill(load, ELVIA)
    assert [month.month for month in bill.months] == ["2026-07", "2026-08"]
    assert bill.total == round(sum(month.total for month in bill.months), 2)
    assert sw.bill(load, ELVIA, months="2026-08").total == bill.months[1].total
    assert repr(bill).startswith(f"Bill({bill.total:.2f} NOK for 2026-07 to 2026-08, 2 months, ")


def test_wrong_loads_are_named() -> None:
    with pytest.raises(sw.InputError, match="give its first instant as start="):
        sw.bill([1.0, 2.0], ELVIA)
    with pytest.raises(sw.InputError, match="load is a series in kg/kWh"):
        sw.bill(sw.Series.from_values(JULY, [0.1], unit="kg/kWh"), ELVIA)
    with pytest.raises(sw.InputError, match="unit is 'MW'"):
        sw.bill(flat(), ELVIA, unit="MW")  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match="the periods have 120 min"):
        sw.bill([1.0] * 372, ELVIA, start=JULY, slot=2 * HOUR)
    with pytest.raises(sw.InputError, match="the load has periods of 60 min"):
        sw.bill([1.0] * HOURS, FLANDERS, start=datetime(2023, 6, 30, 22, tzinfo=UTC), slot=HOUR)
    with pytest.raises(TypeError, match="time zone"):
        sw.bill([1.0], ELVIA, start=datetime(2026, 7, 1))  # noqa: DTZ001  it is refused
    with pytest.raises(sw.InputError, match="contracted_kw is NaN kW; it lies in 0 to"):
        sw.bill(flat(), ELVIA, contracted_kw=float("nan"))
    with pytest.raises(sw.InputError, match=r"load: values\[1\] is nan; .* number of kWh"):
        sw.bill([1.0, float("nan")], ELVIA, start=JULY, unit="kWh")
    with pytest.raises(sw.InputError, match=r"export: values\[0\] is inf; .* number of kW$"):
        sw.bill([1.0], ELVIA, start=JULY, export=[float("inf")])
    with pytest.raises(sw.InputError, match="load: a list of numbers; give its first instant"):
        sw.bill(np.ones(HOURS), ELVIA)
    with pytest.raises(TypeError, match="load: expected a series or frame"):
        sw.bill(None, ELVIA)


def test_an_unknown_tariff_has_near_names() -> None:
    with pytest.raises(sw.InputError, match='near it are "no-elvia-2025-04", "no-elvia-2026-07"'):
        sw.bill(flat(), "elvia")
    with pytest.raises(sw.InputError, match='"no-elvia-2026-07"'):
        sw.tariffs.load_tariff("no-elvia-2026-7")
    with pytest.raises(sw.InputError, match=r'there is no tariff "x"; tariffs.list_tariffs'):
        sw.tariffs.load_tariff("x")


def test_all_tariffs_are_listed_with_source_and_date() -> None:
    entries = sw.tariffs.list_tariffs()
    assert len(entries) >= 69
    table = pl.DataFrame(entries)
    assert table.columns == entries.column_names
    assert table["url"].str.starts_with("http").all()
    assert table["valid_from"].dtype == pl.Date
    assert {entry.country for entry in sw.tariffs.list_tariffs(country="no")} == {"NO"}
    elvia = next(entry for entry in entries if entry.id == ELVIA)
    assert elvia.stated_on == dt.date(2026, 9, 21)
    assert (elvia.categories, elvia.valid_to) == ("network, tax", dt.date(2027, 1, 1))
    # German files hold charges of the network alone or the price of one device, and say so.
    for entry in sw.tariffs.list_tariffs(country="DE"):
        tariff = sw.tariffs.load_tariff(entry.id)
        assert entry.categories == "network" or tariff.devices
        assert tariff.notes


def test_a_tariff_is_a_record() -> None:
    tariff = sw.tariffs.load_tariff(ELVIA)
    assert (tariff.operator, tariff.country, tariff.currency) == ("Elvia AS", "NO", "NOK")
    assert (tariff.time_zone, tariff.vat) == ("Europe/Oslo", "added")
    assert tariff.sources[0].stated_on == dt.date(2026, 6, 5)
    assert [part.kind for part in tariff.components] == [
        "energy",
        "capacity",
        "energy",
        "energy",
        "percentage",
    ]
    assert pickle.loads(pickle.dumps(tariff)) == tariff  # noqa: S301  our own
    assert hash(pickle.loads(pickle.dumps(tariff))) == hash(tariff)  # noqa: S301  our own
    assert sw.tariffs.read_tariff(tariff.to_dict()) == tariff
    assert tariff != sw.tariffs.load_tariff(FLANDERS)
    assert "source https://www.elvia.no" in repr(tariff)
    assert "stated on 2026-06-05" in repr(tariff)


TOML = """
name = "Peaks alone"
operator = "Example"
country = "BE"
currency = "EUR"
time_zone = "Europe/Brussels"
valid_from = 2026-01-01
vat = "excluded"

[[sources]]
document = "Price list"
url = "https://example.org"

[[components]]
kind = "capacity"
id = "monthly peak"
category = "network"
demand = { window = "quarter_hour", highest = 1 }
charge = { per = "month", price = "4.25" }
"""


def test_own_tariffs_are_read_from_toml_and_json(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(TOML)
    tariff = sw.tariffs.read_tariff(tmp_path / "own.toml")
    (tmp_path / "own.json").write_text(tariff.to_json())
    assert sw.tariffs.read_tariff(str(tmp_path / "own.json")) == tariff
    march = datetime(2026, 2, 28, 23, tzinfo=UTC)
    assert sw.bill([3.0] * 2972, tariff, start=march).total == 12.75
    fields: dict[str, Any] = tomllib.loads(TOML)
    fields["components"][0]["charge"]["price"] = 4.25
    exact = r'components\[0\].charge.price is the number 4.25; write it as a text, "4.25"'
    with pytest.raises(sw.InputError, match=exact):
        sw.tariffs.read_tariff(fields)
    (tmp_path / "number.json").write_text(json.dumps(fields, default=str))
    with pytest.raises(sw.InputError, match=f"number.json: {exact}"):
        sw.tariffs.read_tariff(tmp_path / "number.json")
    (tmp_path / "cut.json").write_text("{")
    with pytest.raises(sw.InputError, match=r"of the text: a tariff is an object in JSON; load_t"):
        sw.BillingTariff("no-elvia-2026-07")
    with pytest.raises(sw.InputError, match=r"cut.json: EOF"):
        sw.tariffs.read_tariff(tmp_path / "cut.json")
    at = {"valid_from": datetime(2026, 1, 1, tzinfo=UTC)}
    with pytest.raises(TypeError, match="is no value of a tariff; give a text, a date"):
        sw.tariffs.read_tariff(fields | at)
    fields["components"][0]["charge"]["price"] = "4,25"
    with pytest.raises(sw.InputError, match=r"components\[0\].charge.price: \"4,25\""):
        sw.tariffs.read_tariff(fields)
    (tmp_path / "own.toml").write_text("name = ")
    with pytest.raises(sw.InputError, match=r"own.toml: Invalid value"):
        sw.tariffs.read_tariff(tmp_path / "own.toml")
    with pytest.raises(sw.InputError, match=r"ends in .toml or .json"):
        sw.tariffs.read_tariff(tmp_path / "own.yml")


def test_a_bill_is_a_record_and_a_table() -> None:
    bill = sw.bill(flat(), ELVIA)
    assert pickle.loads(pickle.dumps(bill)) == bill  # noqa: S301  our own
    assert json.loads(json.dumps(bill.to_dict(), default=str))["lines"][2]["amount"] == 120.0
    table = pa.table(bill)
    assert table.column("amount").to_pylist() == [line.amount for line in bill.lines]
    assert table.schema.metadata[b"currency"] == b"NOK"
    assert bill != sw.bill(flat(2.0), ELVIA)


def test_a_bill_is_drawn() -> None:
    load = sw.Series.from_values(JULY, [2.0] * (2 * HOURS), unit="kW")
    bill = sw.bill(load, ELVIA)
    figure = bill.plot(time_zone="Europe/Oslo")
    assert [axes.get_ylabel() for axes in figure.axes] == ["Bill (NOK/month)"]
    texts = {text.get_text() for text in figure.findobj(Text)}
    assert {"network", "taxes and levies"} <= texts
    page = bill.to_html()
    assert "the step from 2 kW" in page
    assert "value-added tax" in bill._repr_html_()
    # Months are those of the tariff's clocks, and so are pictures of them.
    july = "Wed 1 Jul 2026 00:00 to "
    assert july in page
    assert july in bill._repr_html_()
    assert "Tue 30 Jun 2026 22:00" in bill.to_html(time_zone="UTC")


def of_devices(**car: Any) -> sw.BillingTariff:
    """A tariff with a price for cars and one for the rest."""
    component = {"kind": "energy", "category": "energy", "direction": "import"}
    rate = {"name": "day and night"}
    components = [
        {**component, "id": "car", "device": "car", **car},
        {
            **component,
            "id": "rest",
            "without_devices": ["car"],
            "rates": [rate | {"price_per_kwh": "0.30"}],
        },
        {"kind": "percentage", "id": "tax", "category": "tax", "percent": "25"},
    ]
    heading = {"name": "Cars", "operator": "Test", "country": "NO", "currency": "NOK"}
    source = {"document": "Test", "url": "https://example.org"}
    dates = {"time_zone": "Europe/Oslo", "valid_from": "2026-01-01", "vat": "added"}
    return sw.tariffs.read_tariff(
        {**heading, **dates, "sources": [source], "components": components}
    )


def test_devices_have_prices_of_their_own() -> None:
    tariff = of_devices(rates=[{"name": "all", "price_per_kwh": "0.10"}])
    assert tariff.devices == ["car"]
    car = sw.Series.from_values(JULY, [0.25] * HOURS, unit="kW")
    bill = sw.bill(flat(), tariff, devices={"car": car})
    assert lines(bill) == {"car": 18.6, "rest": 167.4, "tax": 46.5}
    energies = sw.bill(
        [1.0] * HOURS,
        tariff,
        devices={"car": [0.25] * HOURS},
        unit="kWh",
        start=JULY,
        slot=HOUR,
    )
    assert energies.total == bill.total
    end = JULY + HOUR
    prices = [
        sw.tariffs.tariff_prices(tariff, start=JULY, end=end, device=device).slots[0].price_per_kwh
        for device in ("car", None)
    ]
    assert prices == pytest.approx([0.125, 0.375])
    assert pickle.loads(pickle.dumps(tariff)) == tariff  # noqa: S301  just made
    assert sw.tariffs.read_tariff(tariff.to_dict()) == tariff


def test_devices_are_refused_by_name() -> None:
    tariff = of_devices(rates=[{"name": "all", "price_per_kwh": "0.10"}])
    for devices, message in (
        ({}, r'devices\["car"\] is missing'),
        ({"car": flat(hours=HOURS - 1)}, r'devices\["car"\] has not, and the load has, the period'),
        ({"car": flat(), "van": flat()}, r'devices\["van"\] is no device of the tariff'),
        ({"car": flat(-1.0)}, r'devices\["car"\] has -1 kWh'),
    ):
        with pytest.raises(sw.InputError, match=message):
            sw.bill(flat(), tariff, devices=devices)
    with pytest.raises(TypeError, match=r"devices\['car'\]: expected a series"):
        sw.bill(flat(), tariff, devices={"car": None})
    end = JULY + HOUR
    with pytest.raises(sw.InputError, match='device is "van"; the tariff has "car"'):
        sw.tariffs.tariff_prices(tariff, start=JULY, end=end, device="van")
    limited = of_devices(
        rates=[
            {
                "name": "six hours",
                "price_per_kwh": "0.10",
                "daily_hours": {"hours": 6, "from": "12:00"},
            },
            {"name": "beyond", "price_per_kwh": "0.30"},
        ]
    )
    with pytest.raises(sw.InputError, match='has the rate "six hours", which depends on'):
        sw.tariffs.tariff_prices(limited, start=JULY, end=end, device="car")
