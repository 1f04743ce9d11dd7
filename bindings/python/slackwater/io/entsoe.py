"""Day-ahead prices of the ENTSO-E transparency platform, as XML or as a table."""

from typing import NamedTuple

from slackwater import _engine
from slackwater._engine import InputError
from slackwater.io._prices import Meaning, PriceImport, PriceRow, prices_from_rows, published
from slackwater.io._text import (
    ClockTime,
    StrPath,
    TextTable,
    numbers_of,
    parse_clock_time,
    parse_table,
    read_text,
)
from slackwater.io.prices_csv import unit_in

_EMPTY = ("", "-", "n/e", "N/A")


class _Choice(NamedTuple):
    """Which of several series in one file is meant."""

    sequence: str | None
    resolution: str | None
    area: str | None


def read_entsoe(
    path: StrPath,
    *,
    time_zone: str | None = None,
    currency: str | None = None,
    repeats_missing: bool | None = None,
    sequence: str | None = None,
    resolution: str | None = None,
    area: str | None = None,
) -> PriceImport:
    """Read day-ahead prices from the platform's XML, or from its tables.

    XML counts positions in periods of UTC. A position without a point is a
    gap, unless the series is of curve type A03, which leaves out a position
    whose price is that of the one before; a note says how many there were.

    A table has one column ``MTU`` with start and end. If it shows UTC that
    is all; if it shows a wall clock, say whose with ``time_zone``. Rows of
    the autumn night marked ``(CEST)`` and ``(CET)`` are taken at their word,
    unmarked ones by their order.

    Args:
        path: The file. XML starts with ``<``.
        time_zone: For a table on a wall clock: IANA name of its zone, such
            as ``"Europe/Brussels"`` where the header says CET/CEST.
        currency: Code of the currency. Without it, the file must say.
        repeats_missing: For XML: whether a position without a point repeats
            the price before. Without it, each series' curve type decides.
        sequence: The auction to read where a file has several, as ``"1"`` or
            as the table writes it.
        resolution: For XML that has the same time twice: ``"PT15M"`` or
            ``"PT60M"``.
        area: The area to read where a file has several.

    Returns:
        Prices per kWh, gaps and notes.

    Raises:
        InputError: The document holds no prices, a position or time makes no
            sense, or several series cover the same time.

    Example:
        A day of quarter hours, of which the document leaves out repetitions:

        >>> from slackwater import io, samples
        >>> day = io.read_entsoe(samples.ENTSOE_DAY)
        >>> day
        <PriceImport: 96 slots in EUR, 0 gaps, 1 note>
        >>> len(io.read_entsoe(samples.ENTSOE_DAY, repeats_missing=False).gaps)
        5
    """
    text = read_text(path)
    if text.lstrip().startswith("<"):
        return published(
            _engine.prices_from_entsoe(
                str(path),
                text,
                currency=currency,
                repeats_missing=repeats_missing,
                sequence=sequence,
                resolution=resolution,
                area=area,
            )
        )
    choice = _Choice(sequence, resolution, area)
    return _read_table(parse_table(str(path), text), time_zone, currency, choice)


def _read_table(
    table: TextTable, time_zone: str | None, currency: str | None, choice: _Choice
) -> PriceImport:
    time = _column_starting(table, "MTU")
    price = _column_starting(table, "Day-ahead Price")
    if choice.resolution is not None:
        raise InputError(f"{table.path}: resolution= is for XML; a table has one")
    in_utc = "UTC" in table.header[time]
    if time_zone is None and not in_utc:
        name = table.header[time]
        raise InputError(
            f"{table.path}: column {name!r} shows a wall clock; say its time_zone=, "
            "such as Europe/Brussels for CET/CEST"
        )
    kept, hint = _filtered(table, choice)
    unit = unit_in(table.header[price])
    code = currency or (unit or "").partition("/")[0].upper() or _column_currency(kept)
    meaning = Meaning("UTC" if in_utc else time_zone or "UTC", code, unit or f"{code}/MWh")
    rows = []
    for row, value in zip(kept.rows, numbers_of(kept, price, empty=_EMPTY), strict=True):
        start, end = _start_and_end(kept, row.cells[time], row.number)
        rows.append(PriceRow(row.number, start, end, value))
    return prices_from_rows(table.path, rows, meaning, hint=hint)


def _column_starting(table: TextTable, start: str) -> int:
    found = [name for name in table.header if name.lower().startswith(start.lower())]
    if len(found) == 1:
        return table.column(found[0])
    raise InputError(
        f"{table.path}: {len(found)} columns are called {start}..., not one; found: {table.found()}"
    )


def _column_currency(table: TextTable) -> str:
    if "Currency" not in table.header:
        raise InputError(f"{table.path}: the file names no currency; say currency=")
    column = table.column("Currency")
    found = sorted({row.cells[column] for row in table.rows})
    if len(found) != 1 or not found[0]:
        names = ", ".join(found)
        raise InputError(f"{table.path}: the document does not have one currency, but {names}")
    return found[0]


def _filtered(table: TextTable, choice: _Choice) -> tuple[TextTable, str]:
    """The rows of the series that is wanted, and a hint if others may be."""
    rows, hint = table.rows, ""
    for name, wanted in (("Sequence", choice.sequence), ("Area", choice.area)):
        if name not in table.header:
            if wanted is not None:
                raise InputError(f"{table.path}: no column {name!r}; found: {table.found()}")
            continue
        column = table.column(name)
        found = ", ".join(sorted({repr(row.cells[column]) for row in rows}))
        if wanted is None:
            if "," in found:
                hint = f"{hint} (choose by {name.lower()}= among: {found})"
            continue
        rows = tuple(row for row in rows if row.cells[column] in {wanted, f"{name} {wanted}"})
        if not rows:
            raise InputError(f"{table.path}: no row has {name} {wanted!r}; found: {found}")
    return TextTable(table.path, table.header, rows), hint


def _start_and_end(table: TextTable, cell: str, number: int) -> tuple[ClockTime, ClockTime]:
    start, _, end = cell.partition(" - ")
    # The platform writes the day first, with slashes or dots.
    times = [parse_clock_time(text.strip(), day_first=True) for text in (start, end)]
    match times:
        case [ClockTime() as first, ClockTime() as last]:
            return first, last
        case _:
            raise InputError(
                f"{table.path}, row {number}: {cell!r} is not start and end such as "
                "31/01/2026 18:00 - 31/01/2026 19:00"
            )
