"""Price lists as delimited text with a header."""

import re
from typing import NamedTuple

from slackwater._engine import InputError
from slackwater.io._prices import Meaning, PriceImport, PriceRow, prices_from_rows
from slackwater.io._text import (
    ClockTime,
    StrPath,
    TextTable,
    is_number,
    numbers_of,
    parse_clock_time,
    read_table,
    times_of,
)

# A currency begins where letters begin: a search from each letter on would be quadratic.
_UNIT = re.compile(
    r"((?<![^\W\d_])[^\W\d_]+|[€£])(?:\s*/\s*|_per_|\s+per\s+)([km]wh)", re.IGNORECASE
)
_STARTS = frozenset({"start", "from", "begin"})
_ENDS = frozenset({"end", "to", "until"})


class _Columns(NamedTuple):
    """Where a table has its times and prices."""

    time: int
    end: int | None
    price: int


def read_prices_csv(
    path: StrPath,
    *,
    time_zone: str,
    currency: str,
    unit: str | None = None,
    time_column: str | None = None,
    end_column: str | None = None,
    price_column: str | None = None,
    step_minutes: int | None = None,
    holds_until_next: bool = False,
    day_first: bool | None = None,
) -> PriceImport:
    """Read prices from delimited text with a header.

    Times without an offset are the clock of ``time_zone``. A local time that
    clocks show twice is resolved by its place in the file; one that they skip
    is dropped if it has no price, and refused if it has one. An empty price
    and a missing row are gaps: nothing is filled. ``notes`` has a sentence for
    each.

    Delimiter (comma, semicolon, tab), decimal comma and byte order mark are
    recognised. Columns are guessed only if there is no doubt.

    Args:
        path: The file.
        time_zone: IANA name of the time zone whose clocks the file shows.
            Times with an offset need none; ``"UTC"`` does for them.
        currency: Code of the currency, such as ``"EUR"``.
        unit: What the numbers count, such as ``"EUR/MWh"``, ``"öre/kWh"`` or
            ``"p/kWh"``. Without it, the header of the price column must say.
        time_column: Name of the column with the start of each slot.
        end_column: Name of the column with the end of each slot. Without one,
            a slot lasts for the usual distance between rows, but not beyond
            the next row.
        price_column: Name of the column with the prices.
        step_minutes: Length of a slot without an end, in minutes.
        holds_until_next: A price holds until the next row, however far that
            is. Otherwise the time to it is a gap.
        day_first: Whether ``01/02/2026`` is 1 February. Without it, a number
            above 12 must show which is the day.

    Returns:
        Prices per kWh, gaps and notes.

    Raises:
        InputError: A cell is no time or number, a row is out of order, a
            column cannot be guessed, or a price stands at a time that clocks
            skip. The message names file, row, column and value.

    Example:
        A week with the 25-hour day of autumn 2026, in EUR per MWh:

        >>> from slackwater import io, samples
        >>> week = io.read_prices_csv(
        ...     samples.AUTUMN_WEEK, time_zone="Europe/Berlin", currency="EUR"
        ... )
        >>> len(week.prices)
        169
        >>> for note in week.notes:
        ...     print(note)
        times from column 'local_time', prices from column 'price_eur_per_mwh' in EUR/MWh
        row 77 is the second occurrence of times that clocks in Europe/Berlin repeat,
        from 2026-10-25 02:00 CET
    """
    table = read_table(path)
    columns = _columns_of(table, time_column, end_column, price_column)
    name = table.header[columns.price]
    found_unit = unit or unit_in(name, currency)
    if found_unit is None:
        raise InputError(
            f"{table.path}: column {name!r} names no unit; "
            f"say unit='{currency}/kWh' or unit='{currency}/MWh'"
        )
    meaning = Meaning(time_zone, currency, found_unit, step_minutes, holds_until_next)
    notes = []
    if None in (unit, time_column, price_column):
        time = table.header[columns.time]
        notes.append(f"times from column {time!r}, prices from column {name!r} in {found_unit}")
    return prices_from_rows(
        table.path, _rows_of(table, columns, day_first=day_first), meaning, notes=notes
    )


def unit_in(header: str, currency: str | None = None) -> str | None:
    """The unit of price that a header names, such as ``EUR/MWh``."""
    found = _UNIT.search(header)
    if found is None:
        return None
    money, energy = found[1], "MWh" if found[2].lower() == "mwh" else "kWh"
    if currency is not None and money.lower() == currency.lower():
        money = currency
    return f"{money}/{energy}"


def _rows_of(table: TextTable, columns: _Columns, *, day_first: bool | None) -> list[PriceRow]:
    starts = times_of(table, columns.time, day_first=day_first)
    ends: list[ClockTime | None] = [None] * len(starts)
    if columns.end is not None:
        ends = times_of(table, columns.end, day_first=day_first)
    rows = []
    prices = numbers_of(table, columns.price)
    for row, start, end, price in zip(table.rows, starts, ends, prices, strict=True):
        if start is None:
            raise table.error(row, columns.time, "is no time such as 2026-01-31 18:00")
        rows.append(PriceRow(row.number, start, end, price))
    return rows


def _columns_of(
    table: TextTable, time_column: str | None, end_column: str | None, price_column: str | None
) -> _Columns:
    end = None if end_column is None else table.column(end_column)
    if time_column is None:
        time, end = _guess_times(table, end)
    else:
        time = table.column(time_column)
    price = _guess_price(table) if price_column is None else table.column(price_column)
    return _Columns(time, end, price)


def _guess_times(table: TextTable, end: int | None) -> tuple[int, int | None]:
    """The columns of starts and ends, if there is no doubt."""
    with_times = [
        column
        for column in range(len(table.header))
        if column != end and parse_clock_time(_sample(table, column))
    ]
    if len(with_times) == 1:
        return with_times[0], end
    starts = [column for column in with_times if _STARTS & _words(table.header[column])]
    ends = [column for column in with_times if _ENDS & _words(table.header[column])]
    if len(starts) == 1 and ends in ([], [column for column in with_times if column != starts[0]]):
        return starts[0], ends[0] if ends else end
    if not with_times:
        raise InputError(f"{table.path}: no column holds times; found: {table.found()}")
    names = ", ".join(repr(table.header[column]) for column in with_times)
    raise InputError(f"{table.path}: times may be in {names}; say time_column=")


def _guess_price(table: TextTable) -> int:
    """The column of prices, if there is no doubt."""
    numeric = [column for column in range(len(table.header)) if is_number(_sample(table, column))]
    for candidates in (
        numeric,
        [column for column in numeric if unit_in(table.header[column])],
        [column for column in numeric if "price" in _words(table.header[column])],
    ):
        if len(candidates) == 1:
            return candidates[0]
    if not numeric:
        raise InputError(f"{table.path}: no column holds numbers; found: {table.found()}")
    names = ", ".join(repr(table.header[column]) for column in numeric)
    raise InputError(f"{table.path}: prices may be in {names}; say price_column=")


def _sample(table: TextTable, column: int) -> str:
    """The first cell of a column that is not empty."""
    return next((row.cells[column] for row in table.rows if row.cells[column]), "")


def _words(header: str) -> frozenset[str]:
    return frozenset(re.split(r"[\W_]+", header.lower()))
