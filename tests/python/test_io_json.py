"""Unit rates of Octopus and answers of the Nord Pool portal."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from io_files import PLAIN, Write, at, refusal, values, writer
from slackwater import io, samples


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return writer(tmp_path)


def rate(hour: int, price: object = 20.0, **more: object) -> dict[str, object]:
    return {
        "value_exc_vat": price,
        "value_inc_vat": price,
        "valid_from": f"2026-07-18T{hour:02}:00:00Z",
        "valid_to": f"2026-07-18T{hour + 1:02}:00:00Z",
        **more,
    }


def test_half_hours_newest_first() -> None:
    day = io.read_octopus(samples.OCTOPUS_DAY)
    slots = day.prices.slots
    assert (len(slots), day.gaps, day.prices.currency) == (48, (), "GBP")
    assert slots[0][0] == at("2026-07-17T23:00Z")
    assert slots[-1][1] == at("2026-07-18T23:00Z")
    without = io.read_octopus(samples.OCTOPUS_DAY, vat_included=False).prices.slots
    assert slots[0][2] / without[0][2] == pytest.approx(1.05, abs=1e-3)


def test_answers_may_be_read_already() -> None:
    answer = json.loads(samples.OCTOPUS_DAY.read_text())
    assert io.read_octopus(answer) == io.read_octopus(answer["results"])
    oldest_first = list(reversed(answer["results"]))
    assert io.read_octopus(oldest_first).prices == io.read_octopus(answer).prices


def test_a_further_page_is_named() -> None:
    read = io.read_octopus({"next": "https://example.org/2", "results": [rate(1)]})
    assert read.notes == ("'next' names a further page: only this one was read",)


def test_a_missing_half_hour_is_a_gap() -> None:
    read = io.read_octopus([rate(3), rate(1)])
    assert read.gaps == ((at("2026-07-18T02:00Z"), at("2026-07-18T03:00Z")),)


def test_ways_to_pay() -> None:
    rates = [
        rate(2, 10.0),
        rate(1, 21.0, payment_method="DIRECT_DEBIT"),
        rate(1, 22.0, payment_method="NON_DIRECT_DEBIT"),
    ]
    expected = (
        "octopus: rates differ by payment_method; say one of 'DIRECT_DEBIT', 'NON_DIRECT_DEBIT'"
    )
    assert refusal(lambda: io.read_octopus(rates)) == expected
    assert values(io.read_octopus(rates, payment_method="DIRECT_DEBIT")) == [0.21, 0.1]
    text = refusal(lambda: io.read_octopus(rates, payment_method="CASH"))
    assert text.startswith("octopus: no rate is for payment_method 'CASH'; found: 'DIRECT_DEBIT'")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({}, "octopus: there is no list of 'results'"),
        ({"results": "none"}, "octopus: there is no list of 'results'"),
        ([], "octopus: the list has no rows"),
        ([{}], "octopus, row 1: "),
        ([rate(1), rate(2, None)], "octopus, row 2: value_inc_vat is None, no number"),
        ([rate(1, 10**400)], "octopus, row 1: value_inc_vat is 1000000"),
        ([rate(1, "20")], "octopus, row 1: value_inc_vat is '20', no number"),
        ([rate(1, valid_from=None)], "octopus, row 1: valid_from is None, no time"),
        (
            [rate(1, valid_to="2026-07-18T02:00:00")],
            "octopus, row 1: valid_to is '2026-07-18T02:00:00', a time without an offset",
        ),
        (
            [rate(1, valid_to="2026-07-18T02:30:00Z"), rate(2)],
            (
                "octopus: row 1 ends at 2026-07-18 02:30:00 UTC, after the start of row 2 at "
                "2026-07-18 02:00:00 UTC"
            ),
        ),
        ([rate(1), rate(1)], "octopus: row 2 at 2026-07-18 01:00:00 UTC does not come after row 1"),
        (
            [rate(1, valid_to=None)],
            "octopus: row 1 is the only one and names no end: the length of its slot is not known",
        ),
    ],
)
def test_answers_that_are_refused(answer: object, expected: str) -> None:
    assert refusal(lambda: io.read_octopus(answer)).startswith(expected)  # type: ignore[arg-type]


def test_json_that_is_none(write: Write) -> None:
    path = write('{"results": [}')
    told = "prices, line 1: this is no JSON: Expecting value"
    assert refusal(lambda: io.read_octopus(path)) == told


def portal(*entries: object, **more: object) -> str:
    return json.dumps({"currency": "SEK", "multiAreaEntries": entries, **more})


def delivery(hour: int, **areas: object) -> dict[str, object]:
    return {
        "deliveryStart": f"2026-01-05T{hour:02}:00:00Z",
        "deliveryEnd": f"2026-01-05T{hour + 1:02}:00:00Z",
        "entryPerArea": areas,
    }


def test_the_portal_names_its_areas(write: Write) -> None:
    path = write(portal(delivery(1, SE3=500, SE4=700.5), delivery(2, SE3=None, SE4=800)))
    south = io.read_nordpool(path, area="SE4")
    assert (values(south), south.prices.currency) == ([0.7005, 0.8], "SEK")
    middle = io.read_nordpool(path, area="SE3")
    assert middle.gaps == ((at("2026-01-05T02:00Z"), at("2026-01-05T03:00Z")),)
    assert (
        refusal(lambda: io.read_nordpool(path)) == "prices: prices are for 'SE3', 'SE4'; say area="
    )
    expected = "prices: no price is for area 'NO1'; found: 'SE3', 'SE4'"
    assert refusal(lambda: io.read_nordpool(path, area="NO1")) == expected


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        ("{}", {}, "prices: there are no 'multiAreaEntries'"),
        (
            portal(delivery(1, SE3=1)),
            {"currency": "EUR"},
            "prices: prices are in SEK, not in EUR",
        ),
        (
            portal(delivery(1, SE3=1), currency=None),
            {},
            "prices: the answer names no currency; say currency=",
        ),
        (portal({}), {}, "prices, row 1: there is no 'entryPerArea'"),
        (
            portal(delivery(1, SE3="1")),
            {},
            "prices, row 1: the price for SE3 is '1', no number",
        ),
        (
            portal({"entryPerArea": {"SE3": 1}}),
            {},
            "prices, row 1: deliveryStart is None, no time",
        ),
        (PLAIN, {"currency": "EUR"}, "prices: a table needs time_zone= and currency="),
        (
            PLAIN,
            {"currency": "EUR", "time_zone": "UTC", "area": "SE3"},
            "prices: a table has no areas, so area='SE3' cannot be chosen",
        ),
    ],
)
def test_nordpool_that_is_refused(
    write: Write, text: str, more: Mapping[str, str], expected: str
) -> None:
    path = write(text)
    assert refusal(lambda: io.read_nordpool(path, **more)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested too deep"),
        ('{"results": [' + "9" * 5_000 + "]}", "a number cannot be read"),
    ],
)
def test_texts_beyond_all_measure_are_refused(write: Write, text: str, message: str) -> None:
    path = write(text)
    assert message in refusal(lambda: io.read_octopus(path))
