"""Price lists as delimited text: what is read, named, refused. And the samples."""

import runpy
from collections.abc import Mapping
from pathlib import Path

import pytest

from io_files import BRUSSELS, HOUR, PLAIN, Write, at, hours_a_day, refusal, starts, values, writer
from slackwater import io, samples
from slackwater.io.prices_csv import unit_in

SOURCES = Path(__file__).parents[2]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return writer(tmp_path)


def read_csv(path: Path, **more: object) -> io.PriceImport:
    options: dict[str, object] = {"time_zone": BRUSSELS, "currency": "EUR", **more}
    return io.read_prices_csv(path, **options)  # type: ignore[arg-type]


def test_samples_are_what_the_script_writes() -> None:
    script = runpy.run_path(str(SOURCES / "scripts" / "make_samples.py"))
    for name, text in script["samples"]().items():
        assert (script["FOLDER"] / name).read_bytes() == text.encode(), name


def test_samples_are_small() -> None:
    folder = samples.AUTUMN_WEEK.parent
    assert sum(path.stat().st_size for path in folder.rglob("*.*")) < 100_000


def test_autumn_week_has_a_day_of_25_hours() -> None:
    week = read_csv(samples.AUTUMN_WEEK, time_zone="Europe/Berlin")
    hours = hours_a_day(week, "Europe/Berlin")
    assert hours["2026-10-25"] == 25
    assert sum(hours.values()) == 169
    assert min(values(week)) < 0
    assert week.gaps == ()


def test_spring_week_has_a_day_of_23_hours_and_a_gap() -> None:
    week = read_csv(samples.SPRING_WEEK, time_zone="Europe/Berlin")
    hours = hours_a_day(week, "Europe/Berlin")
    assert hours["2026-03-29"] == 23
    assert hours["2026-03-31"] == 23
    assert week.gaps == ((at("2026-03-31T09:00Z"), at("2026-03-31T10:00Z")),)
    assert week.gaps == tuple(week.prices.gaps)
    assert week.notes == (
        "times from column 'Beginn', prices from column 'Preis (ct/kWh)' in ct/kWh",
        "row 76 was dropped: it has no price, and clocks in Europe/Berlin skip 2026-03-29 02:00",
        "row 133 has no price: 2026-03-31 11:00 CEST to 2026-03-31 12:00 CEST is a gap",
    )


def test_nordpool_spring_has_a_day_of_23_hours() -> None:
    days = io.read_nordpool(samples.NORDPOOL_SPRING, time_zone="Europe/Stockholm", currency="SEK")
    assert list(hours_a_day(days, "Europe/Stockholm").values()) == [24, 23, 24]
    assert days.prices.currency == "SEK"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "\ufeff" + PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\n\n") + " , \n",
        PLAIN.replace(",", ", "),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", ";").replace("0.", "0,"),
        PLAIN.replace("0.25", '"0,25"').replace("-0.5", '"-0,5"'),
        PLAIN.replace("-", "\u2212").replace("2026\u221201\u221205", "2026-01-05"),
        PLAIN.replace("2026-01-05 ", "05.01.2026 "),
        PLAIN.replace("2026-01-05 ", "2026-01-05T"),
        PLAIN.replace(":00,", ":00:00,"),
        PLAIN.replace("0.25", ".25"),
        PLAIN.replace(",0.25", ",0.25,").replace("-0.5", "-0.5,"),
        PLAIN.replace("(EUR/kWh)", "[€/kWh]"),
        PLAIN.replace("EUR/kWh", "EUR/MWh").replace("0.25", "250").replace("0.5", "500"),
        PLAIN.replace("EUR/kWh", "ct/kWh").replace("0.25", "25").replace("0.5", "50"),
    ],
)
def test_one_list_in_many_spellings(write: Write, text: str) -> None:
    read = read_csv(write(text))
    assert values(read) == [0.25, -0.5]
    assert starts(read) == ["05 17:00", "05 18:00"]
    assert read.gaps == ()


def test_text_in_utf_16_with_its_mark(tmp_path: Path) -> None:
    path = tmp_path / "prices"
    path.write_bytes(PLAIN.encode("utf-16"))
    assert values(read_csv(path)) == [0.25, -0.5]


def test_thousands(write: Write) -> None:
    german = "time;EUR/MWh\n2026-01-05 18:00;1.234,5\n2026-01-05 19:00;-0,5\n"
    english = 'time,EUR/MWh\n2026-01-05 18:00,"1,234.5"\n2026-01-05 19:00,-0.5\n'
    assert values(read_csv(write(german))) == [1.2345, -0.0005]
    assert values(read_csv(write(english))) == [1.2345, -0.0005]


def test_the_doubled_hour_is_resolved_by_position(write: Write) -> None:
    text = "time,EUR/kWh\n" + "".join(
        f"2023-10-29T0{hour}:{minute},0.{price}\n"
        for price, (hour, minute) in enumerate(
            [(1, 30), (2, "00"), (2, 30), (2, "00"), (2, 30), (3, "00")]
        )
    )
    read = read_csv(write(text))
    assert starts(read) == [
        "28 23:30", "29 00:00", "29 00:30", "29 01:00", "29 01:30", "29 02:00",
    ]  # fmt: skip
    assert read.notes[1:] == (
        (
            "rows 5 to 6 are the second occurrence of times that clocks in Europe/Brussels repeat, "
            "from 2023-10-29 02:00 CET"
        ),
    )


def test_a_doubled_hour_that_is_there_once_leaves_a_gap(write: Write) -> None:
    text = "time,EUR/kWh\n2023-10-29T01:00,1\n2023-10-29T02:00,2\n2023-10-29T03:00,3\n"
    read = read_csv(write(text))
    assert read.gaps == ((at("2023-10-29T01:00Z"), at("2023-10-29T02:00Z")),)
    assert "second occurrence of times that clocks repeat, has no row after row 3" in read.notes[-1]


def test_gaps_are_named_and_never_filled(write: Write) -> None:
    text = (
        "time,EUR/kWh\n2026-06-01 00:00,1\n2026-06-01 01:00,2\n2026-06-01 02:00,\n"
        "2026-06-01 03:00,\n2026-06-01 04:00,0\n2026-06-01 06:00,5\n"
    )
    read = read_csv(write(text))
    assert values(read) == [1, 2, 0, 5]
    assert read.gaps == (
        (at("2026-06-01T00:00Z"), at("2026-06-01T02:00Z")),
        (at("2026-06-01T03:00Z"), at("2026-06-01T04:00Z")),
    )
    assert read.prices.price_at(at("2026-06-01T00:30Z")) is None
    assert read.notes[1:] == (
        "rows 4 to 5 have no price: 2026-06-01 02:00 CEST to 2026-06-01 04:00 CEST is a gap",
        "2026-06-01 05:00 CEST to 2026-06-01 06:00 CEST has no row after row 6: a gap",
    )
    held = read_csv(write(text), holds_until_next=True)
    assert values(held) == [1, 2, 0, 5]
    assert held.prices.price_at(at("2026-06-01T03:30Z")) == 0
    assert len(held.gaps) == 1


def test_a_step_of_ones_own(write: Write) -> None:
    read = read_csv(write(PLAIN), step_minutes=15)
    assert [(end - start) / HOUR for start, end, _ in read.prices.slots] == [0.25, 0.25]
    assert "0 s has no length" in refusal(lambda: read_csv(write(PLAIN), step_minutes=0))


def test_ends_of_24_o_clock(write: Write) -> None:
    text = (
        "start,end,EUR/kWh\n2026-06-01 00:00,2026-06-01 06:00,0.1\n"
        "2026-06-01 06:00,2026-06-01 24:00,0.2\n2026-06-02 00:00,2026-06-02 06:00,0.1\n"
    )
    read = read_csv(write(text))
    assert hours_a_day(read, BRUSSELS) == {"2026-06-01": 24, "2026-06-02": 6}
    assert read.gaps == ()


@pytest.mark.parametrize("end", ["59", "59:59"])
def test_ends_may_be_last_moments(write: Write, end: str) -> None:
    text = (
        f"start,end,EUR/kWh\n2026-06-01 00:00,2026-06-01 00:{end},0.1\n"
        f"2026-06-01 01:00,2026-06-01 01:{end},0.2\n"
    )
    read = read_csv(write(text))
    assert hours_a_day(read, BRUSSELS) == {"2026-06-01": 2}
    assert read.gaps == ()
    assert "they name the last moment of their slot" in read.notes[-1]


def test_times_with_an_offset_need_no_clock(write: Write) -> None:
    text = "time,EUR/kWh\n2023-10-29 02:00+02:00,1\n2023-10-29 02:00+01:00,2\n"
    assert starts(read_csv(write(text))) == ["29 00:00", "29 01:00"]
    newest_first = "time,EUR/kWh\n2026-01-05T19:00Z,2\n2026-01-05T18:00 UTC,1\n"
    assert values(read_csv(write(newest_first))) == [1, 2]
    mixed = "time,EUR/kWh\n2026-01-05T19:00Z,2\n2026-01-05T20:00,1\n"
    expected = "prices, row 3: only some times of the file have an offset"
    assert refusal(lambda: read_csv(write(mixed))) == expected


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (("01/02/2026", "13/02/2026"), ["31 23:00", "12 23:00"]),
        (("02/01/2026", "02/13/2026"), ["31 23:00", "12 23:00"]),
        (("01/01/2026", "02/02/2026"), ["31 23:00", "01 23:00"]),
    ],
)
def test_dates_with_slashes(write: Write, days: tuple[str, str], expected: list[str]) -> None:
    text = f"time,EUR/kWh\n{days[0]} 00:00,1\n{days[1]} 00:00,2\n"
    assert starts(read_csv(write(text))) == expected


def test_dates_that_may_be_either(write: Write) -> None:
    path = write("time,EUR/kWh\n01/02/2026 00:00,1\n01/02/2026 01:00,2\n")
    expected = (
        "prices, row 2, column 'time': '01/02/2026 00:00' may start with the day or the month: "
        "say day_first=True or day_first=False"
    )
    assert refusal(lambda: read_csv(path)) == expected
    february, january = read_csv(path, day_first=True), read_csv(path, day_first=False)
    assert february.prices.slots[0][0] == at("2026-01-31T23:00Z")
    assert january.prices.slots[0][0] == at("2026-01-01T23:00Z")


def test_columns_are_guessed_without_doubt_or_not_at_all(write: Write) -> None:
    pair = "HourUTC,HourLocal,EUR/kWh\n2026-01-05T18:00,2026-01-05T19:00,1\n"
    expected = "prices: times may be in 'HourUTC', 'HourLocal'; say time_column="
    assert refusal(lambda: read_csv(write(pair), step_minutes=60)) == expected
    chosen = read_csv(write(pair), step_minutes=60, time_zone="UTC", time_column="HourUTC")
    assert starts(chosen) == ["05 18:00"]

    two = "time,buy,sell\n2026-01-05T18:00,1,2\n2026-01-05T19:00,3,4\n"
    expected = "prices: prices may be in 'buy', 'sell'; say price_column="
    assert refusal(lambda: read_csv(write(two), unit="EUR/kWh")) == expected
    chosen = read_csv(write(two), unit="EUR/MWh", price_column="sell")
    assert values(chosen) == [0.002, 0.004]
    assert chosen.notes[0].startswith("times from column 'time', prices from column 'sell'")

    by_name = "time,load,price\n2026-01-05T18:00,1,2\n2026-01-05T19:00,3,4\n"
    assert values(read_csv(write(by_name), unit="EUR/kWh")) == [2, 4]

    ends = "id,from,until,price_eur_per_kwh\n7,2026-01-05T18:00,2026-01-05T18:30,1\n"
    assert len(read_csv(write(ends)).prices) == 1
    chosen = read_csv(write(ends), time_column="from", end_column="until")
    assert chosen.prices.slots[0][1] == at("2026-01-05T17:30Z")
    nothing_to_guess = read_csv(
        write(ends), unit="EUR/kWh", time_column="from", price_column="id", step_minutes=60
    )
    assert nothing_to_guess.notes == ()


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        ("", {}, "prices: the file is empty"),
        (
            "2026-01-05 18:00,0.25\n",
            {},
            "prices: row 1 (2026-01-05 18:00, 0.25) is no header; columns need names",
        ),
        ("time,EUR/kWh\n", {}, "prices: no column holds times; found: 'time', 'EUR/kWh'"),
        (
            "time,note\n2026-01-05 18:00,cheap\n",
            {},
            "prices: no column holds numbers; found: 'time', 'note'",
        ),
        (
            PLAIN,
            {"price_column": "cost"},
            "prices: no column 'cost'; found: 'time', 'price (EUR/kWh)'",
        ),
        (
            "time,p,p\n2026-01-05 18:00,1,2\n",
            {"price_column": "p"},
            "prices: 2 columns are called 'p'",
        ),
        (
            "time,price\n2026-01-05 18:00,1\n",
            {},
            "prices: column 'price' names no unit; say unit='EUR/kWh' or unit='EUR/MWh'",
        ),
        (
            PLAIN,
            {"currency": "SEK"},
            'prices: "eur" in the unit "EUR/kWh" is not money in SEK',
        ),
        (PLAIN, {"currency": "Euro"}, 'prices: "Euro" is no currency code such as EUR'),
        (
            PLAIN,
            {"unit": "EUR/GWh"},
            'prices: "EUR/GWh" is no unit of price such as EUR/kWh or EUR/MWh',
        ),
        (
            PLAIN + "2026-01-05 20:00,abc\n",
            {},
            "prices, row 4, column 'price (EUR/kWh)': 'abc' is no number",
        ),
        (
            PLAIN + "2026-01-05 20:00,NaN\n",
            {},
            "prices, row 4, column 'price (EUR/kWh)': 'NaN' is no number",
        ),
        (
            PLAIN + "\nsoon,1\n",
            {},
            "prices, row 5, column 'time': 'soon' is no time such as 2026-01-31 18:00",
        ),
        (
            PLAIN + ",1\n",
            {},
            "prices, row 4, column 'time': '' is no time such as 2026-01-31 18:00",
        ),
        (
            PLAIN + "2026-02-30 00:00,1\n",
            {},
            "prices, row 4, column 'time': '2026-02-30 00:00' is no time such as 2026-01-31 18:00",
        ),
        (PLAIN + "2026-01-05 20:00\n", {}, "prices, row 4: 1 cells where the header has 2"),
        (PLAIN + '2026-01-05 20:00,"1\n', {}, "prices, row 4: unexpected end of data"),
        (
            PLAIN + "2026-01-05 19:00,1\n",
            {},
            (
                "prices: row 4 at 2026-01-05 19:00:00 does not come after row 3 at "
                "2026-01-05 19:00:00 on clocks in Europe/Brussels"
            ),
        ),
        (
            "time,EUR/kWh\n2026-03-29 01:00,1\n2026-03-29 02:00,0\n",
            {},
            (
                "prices: row 3 has the price 0 at 2026-03-29 02:00:00, which clocks in "
                "Europe/Brussels skip"
            ),
        ),
        (
            "time,EUR/kWh\n2026-03-29 01:00,1\n",
            {},
            "prices: row 2 is the only one and names no end: the length of its slot is not known",
        ),
        (
            "start,end,EUR/kWh\n2026-01-05 18:00,2026-01-05 17:00,1\n",
            {},
            (
                "prices: row 2 ends at 2026-01-05 17:00:00 CET, not after its start at "
                "2026-01-05 18:00:00 CET"
            ),
        ),
    ],
)
def test_errors_name_file_row_column_and_value(
    write: Write, text: str, more: Mapping[str, object], expected: str
) -> None:
    assert refusal(lambda: read_csv(write(text), **more)) == expected


def test_a_time_zone_must_exist(write: Write) -> None:
    text = refusal(lambda: read_csv(write(PLAIN), time_zone="Europe/Atlantis"))
    assert "Europe/Atlantis" in text


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "prices"
    path.write_bytes("time,öre/kWh\n".encode("latin-1"))
    assert refusal(lambda: read_csv(path)) == "prices: byte 5 is not UTF-8; save as UTF-8"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_csv(tmp_path / "none")


def test_headers_beyond_all_measure_are_refused(write: Write) -> None:
    """A million columns are no list of prices, and one wide table is still read."""
    wide = "time," + "x," * 1_000_000 + "price\n"
    assert "row 1 has 1000002 columns, more than 10000" in refusal(
        lambda: io.read_prices_csv(write(wide), time_zone="UTC", currency="EUR")
    )


def test_a_unit_is_looked_for_in_linear_time() -> None:
    """A header of a million letters takes less than the quadratic search of 10,000."""
    assert unit_in("a" * 1_000_000) is None
    assert unit_in("a" * 1_000_000 + "/kWh") == "a" * 1_000_000 + "/kWh"
    assert unit_in("price_eur_per_mwh", "EUR") == "EUR/MWh"
