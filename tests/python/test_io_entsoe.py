"""Prices of the transparency platform, as XML and as a table."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from io_files import BRUSSELS, HOUR, Write, at, refusal, starts, values, writer
from slackwater import io


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return writer(tmp_path)


def document(*series: str, tail: str = "") -> str:
    head = '<?xml version="1.0"?><Publication_MarketDocument xmlns="urn:example">'
    return f"{head}{''.join(series)}{tail}</Publication_MarketDocument>"


def series(
    points: Mapping[object, object],
    *,
    hours: tuple[str, str] = ("18:00", "19:00"),
    resolution: str = "PT15M",
    unit: str = "EUR/MWH",
    extra: str = "<curveType>A01</curveType>",
) -> str:
    currency, energy = unit.split("/")
    interval = "".join(
        f"<{name}>2026-01-05T{hour}Z</{name}>"
        for name, hour in zip(("start", "end"), hours, strict=True)
    )
    body = "".join(
        f"\n<Point><position>{position}</position><price.amount>{price}</price.amount></Point>"
        for position, price in points.items()
    )
    return (
        f"<TimeSeries><currency_Unit.name>{currency}</currency_Unit.name>"
        f"<price_Measure_Unit.name>{energy}</price_Measure_Unit.name>{extra}"
        f"<Period><timeInterval>{interval}</timeInterval>"
        f"<resolution>{resolution}</resolution>{body}</Period></TimeSeries>"
    )


def sequence(number: int) -> str:
    name = "classificationSequence_AttributeInstanceComponent.position"
    return f"<{name}>{number}</{name}>"


A03 = "<curveType>A03</curveType>"


def test_positions_become_quarter_hours(write: Write) -> None:
    read = io.read_entsoe(write(document(series({1: 10, 2: 20, 3: 30, 4: -40}))))
    assert values(read) == [0.01, 0.02, 0.03, -0.04]
    assert starts(read) == ["05 18:00", "05 18:15", "05 18:30", "05 18:45"]
    assert read.notes == ()


def test_a_missing_position_repeats_only_where_that_is_said(write: Write) -> None:
    a01 = write(document(series({1: 10, 4: 40})))
    assert len(io.read_entsoe(a01).gaps) == 1
    assert io.read_entsoe(a01, repeats_missing=True).gaps == ()
    a03 = write(document(series({1: 10, 4: 40}, extra=A03)))
    assert values(io.read_entsoe(a03)) == [0.01, 0.01, 0.01, 0.04]
    assert io.read_entsoe(a03).notes == (
        (
            "2 periods without a row of their own repeat the price before, "
            "the first at 2026-01-05 18:15 UTC"
        ),
    )
    assert len(io.read_entsoe(a03, repeats_missing=False).gaps) == 1


def test_a_first_position_has_nothing_to_repeat(write: Write) -> None:
    read = io.read_entsoe(write(document(series({3: 30}, extra=A03))))
    assert values(read) == [0.03, 0.03]
    assert read.gaps == ((at("2026-01-05T18:00Z"), at("2026-01-05T18:30Z")),)


def test_series_of_several_resolutions_follow_each_other(write: Write) -> None:
    later = series({1: 1, 2: 2, 3: 3, 4: 4})
    earlier = series({1: 9}, hours=("17:00", "18:00"), resolution="PT60M")
    read = io.read_entsoe(write(document(later, earlier)))
    assert [(end - start) / HOUR for start, end, _ in read.prices.slots] == [1, *[0.25] * 4]


def test_series_of_one_time_must_be_chosen(write: Write) -> None:
    path = write(
        document(
            series({1: 1, 2: 2, 3: 3, 4: 4}, extra=sequence(1)),
            series({1: 5}, resolution="PT60M", extra=sequence(2)),
        )
    )
    text = refusal(lambda: io.read_entsoe(path))
    assert "does not come after" in text
    assert "choose by sequence=, resolution= or area= among: PT15M, sequence 1" in text
    assert values(io.read_entsoe(path, sequence="1")) == [0.001, 0.002, 0.003, 0.004]
    assert values(io.read_entsoe(path, resolution="PT60M")) == [0.005]
    text = refusal(lambda: io.read_entsoe(path, sequence="3"))
    assert text.startswith("prices: the document holds no such prices: PT15M, sequence 1")


def test_prices_per_kwh(write: Write) -> None:
    path = write(document(series({1: 0.25}, resolution="PT1H", unit="PLN/KWH")))
    read = io.read_entsoe(path)
    assert (values(read), read.prices.currency) == ([0.25], "PLN")


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        (
            (
                '<Acknowledgement_MarketDocument xmlns="urn:example"><Reason><code>999</code>'
                "<text>No matching data found</text></Reason></Acknowledgement_MarketDocument>"
            ),
            {},
            "prices: the document holds no such prices: No matching data found",
        ),
        (document(), {}, "prices: the document holds no such prices: no TimeSeries"),
        (
            '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
            {},
            "prices: the document declares a document type; remove it",
        ),
        ("<a>\n<b></a>", {}, "prices, line 2: expected 'b' tag, not 'a'"),
        (
            document(series({1: 1}, resolution="P1D")),
            {},
            "prices, row 1: the resolution P1D is none of PT15M, PT30M, PT60M, PT1H",
        ),
        (
            document(series({1: 1}, unit="EUR/MWH")),
            {"currency": "SEK"},
            "prices: prices are not in SEK; found: PT15M, sequence None, area None, EUR",
        ),
        (
            document(series({1: 1}), series({1: 1}, unit="PLN/MWH")),
            {},
            "prices: the document does not have one currency, but EUR, PLN",
        ),
        (
            document(series({1: 1}, unit="EUR/GWH")),
            {},
            "prices: prices are per GWH, neither MWH nor KWH",
        ),
        (document(series({"x": 1})), {}, "prices, row 2: the position is x, no number"),
        (document(series({1: "x"})), {}, "prices, row 2: the price is 'x', no number"),
        (document(series({1: "4,2"})), {}, "prices, row 2: the price is '4,2', no number"),
        (
            document(series({10**9: 1})),
            {},
            "prices, row 2: the position is 1000000000, no number",
        ),
        (
            document(series({1: 1, 5: 1})),
            {},
            "prices: row 3: position 5 lies outside the positions 1 to 4 of its period",
        ),
        (
            document(series({2: 1, 1: 1})),
            {},
            "prices: row 3: position 1 does not come after position 2",
        ),
        (
            document(series({1: 1}, hours=("18:00", "18:20"))),
            {},
            (
                "prices: the period at row 1 from 2026-01-05 18:00:00 UTC to "
                "2026-01-05 18:20:00 UTC is no whole number of positions of 900 s"
            ),
        ),
        (
            document(series({1: 1}).replace("18:00Z", "18:00")),
            {},
            "prices, row 1: the period's start is 2026-01-05T18:00, no time in UTC",
        ),
        (document(series({})), {}, "prices: the list has no rows"),
    ],
)
def test_xml_that_is_refused(
    write: Write, text: str, more: Mapping[str, str], expected: str
) -> None:
    path = write(text)
    assert refusal(lambda: io.read_entsoe(path, **more)) == expected  # type: ignore[arg-type]


MTU = 'MTU (CET/CEST),Area,Sequence,"Day-ahead Price (EUR/MWh)"\n'
NIGHT = (
    '"27/10/2024 01:00:00 (CEST) - 27/10/2024 02:00:00 (CEST)",BZN|BE,Without Sequence,10\n'
    '"27/10/2024 02:00:00 (CEST) - 27/10/2024 02:00:00 (CET)",BZN|BE,Without Sequence,20\n'
    '"27/10/2024 02:00:00 (CET) - 27/10/2024 03:00:00 (CET)",BZN|BE,Without Sequence,30\n'
    "27/10/2024 03:00:00 - 27/10/2024 04:00:00,BZN|BE,Without Sequence,n/e\n"
)


def test_a_table_marks_its_autumn_night(write: Write) -> None:
    read = io.read_entsoe(write(MTU + NIGHT), time_zone=BRUSSELS)
    assert starts(read) == ["26 23:00", "27 00:00", "27 01:00"]
    assert values(read) == [0.01, 0.02, 0.03]
    assert read.notes == (
        "row 5 has no price: 2024-10-27 03:00 CET to 2024-10-27 04:00 CET is a gap",
    )
    without_first = MTU + "".join(NIGHT.splitlines(keepends=True)[::2])
    read = io.read_entsoe(write(without_first), time_zone=BRUSSELS)
    assert starts(read) == ["26 23:00", "27 01:00"]


def test_a_table_in_utc(write: Write) -> None:
    text = (
        "MTU (UTC),Day-ahead Price [EUR/MWh],Currency,BZN|BE\n"
        "01.01.2024 00:00 - 01.01.2024 01:00,55.5,EUR,\n"
        "01.01.2024 01:00 - 01.01.2024 02:00,-,EUR,\n"
    )
    read = io.read_entsoe(write(text))
    assert (starts(read), values(read)) == (["01 00:00"], [0.0555])
    assert len(read.gaps) == 1


def test_a_table_with_its_currency_in_a_column(write: Write) -> None:
    text = "MTU (UTC),Day-ahead Price,Currency\n01.01.2024 00:00 - 01.01.2024 01:00,400,PLN\n"
    read = io.read_entsoe(write(text))
    assert (values(read), read.prices.currency) == ([0.4], "PLN")


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        (
            MTU + NIGHT,
            {},
            (
                "prices: column 'MTU (CET/CEST)' shows a wall clock; say its time_zone=, "
                "such as Europe/Brussels for CET/CEST"
            ),
        ),
        (
            MTU + NIGHT,
            {"time_zone": "Europe/Helsinki"},
            "prices: row 2 calls 2024-10-27 01:00:00 CEST, which clocks in Europe/Helsinki do not",
        ),
        (
            MTU + NIGHT,
            {"time_zone": BRUSSELS, "area": "BZN|FR"},
            "prices: no row has Area 'BZN|FR'; found: 'BZN|BE'",
        ),
        (
            MTU + "soon,BZN|BE,1,1\n",
            {"time_zone": BRUSSELS},
            (
                "prices, row 2: 'soon' is not start and end such as "
                "31/01/2026 18:00 - 31/01/2026 19:00"
            ),
        ),
        (
            "Time,Day-ahead Price\n",
            {},
            "prices: 0 columns are called MTU..., not one; found: 'Time', 'Day-ahead Price'",
        ),
        (
            "MTU (UTC),Day-ahead Price\n",
            {},
            "prices: the file names no currency; say currency=",
        ),
        (MTU, {"time_zone": BRUSSELS}, "prices: the list has no rows"),
        (
            MTU,
            {"time_zone": BRUSSELS, "resolution": "PT15M"},
            "prices: resolution= is for XML; a table has one",
        ),
        (
            "MTU (UTC),Day-ahead Price (EUR/MWh)\n",
            {"sequence": "1"},
            "prices: no column 'Sequence'; found: 'MTU (UTC)', 'Day-ahead Price (EUR/MWh)'",
        ),
    ],
)
def test_tables_that_are_refused(
    write: Write, text: str, more: Mapping[str, str], expected: str
) -> None:
    path = write(text)
    assert refusal(lambda: io.read_entsoe(path, **more)) == expected  # type: ignore[arg-type]


def test_a_table_with_two_auctions(write: Write) -> None:
    row = "27/05/2024 03:00:00 - 27/05/2024 04:00:00,BZN|DE,Sequence {0},{0}0\n"
    path = write(MTU + row.format(1) + row.format(2))
    text = refusal(lambda: io.read_entsoe(path, time_zone=BRUSSELS))
    assert text.endswith("(choose by sequence= among: 'Sequence 1', 'Sequence 2')")
    assert values(io.read_entsoe(path, time_zone=BRUSSELS, sequence="2")) == [0.02]


def test_periods_are_bounded(write: Write) -> None:
    """A period of two thousand years is refused before it fills the memory."""
    long = document(series({1: 40.0}, extra="<curveType>A03</curveType>"))
    path = write(long.replace("<start>2026", "<start>0011"))
    assert "a price list covers 3660 days at most" in refusal(lambda: io.read_entsoe(path))
