"""Text files as columns: delimiters, numbers and times as people write them.

Nothing here knows what a number or a time means. A time stays the wall clock
that the file shows, unless the file names an offset.
"""

import csv
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple, TypeAlias

from slackwater._engine import InputError

StrPath: TypeAlias = str | os.PathLike[str]

_DELIMITERS = (";", "\t", ",")

# A table of ours has some tens of columns; messages tell all of their names.
_COLUMNS_MAX = 10_000

_TIME = re.compile(
    r"(?:(?P<year>\d{4})(?P<dash>[-/.])(?P<month>\d{1,2})(?P=dash)(?P<day>\d{1,2})"
    r"|(?P<first>\d{1,2})(?P<mark>[./])(?P<second>\d{1,2})(?P=mark)(?P<last>\d{4}))"
    r"(?:[T ]\s*(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?))?"
    r"\s*(?P<offset>Z|UTC|[+-]\d{2}:?\d{2})?"
    r"\s*(?:\((?P<name>[A-Z]{3,5})\))?"
)

_DECIMAL_POINT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)?(,\d*)?([eE][+-]?\d+)?")
_GROUPED_POINT = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


class Row(NamedTuple):
    """A row of a file and the line on which it starts; the header is on line 1."""

    number: int
    cells: tuple[str, ...]


class ClockTime(NamedTuple):
    """A time as a row shows it."""

    time: datetime
    """Aware if the row names an offset, else what a clock shows."""
    name: str | None
    """What the row calls the time, such as ``CEST``, if it does."""


@dataclass(frozen=True)
class TextTable:
    """A file with a header and rows of cells."""

    path: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]

    def column(self, name: str) -> int:
        """The position of a column.

        Raises:
            InputError: There is no such column, or there are two.
        """
        match self.header.count(name):
            case 1:
                return self.header.index(name)
            case 0:
                raise InputError(f"{self.path}: no column {name!r}; found: {self.found()}")
            case count:
                raise InputError(f"{self.path}: {count} columns are called {name!r}")

    def found(self) -> str:
        """The names of all columns, for messages."""
        return ", ".join(repr(name) for name in self.header)

    def error(self, row: Row, column: int, what: str) -> InputError:
        """An error about one cell."""
        cell, name = row.cells[column], self.header[column]
        return InputError(f"{self.path}, row {row.number}, column {name!r}: {cell!r} {what}")


def read_text(path: StrPath) -> str:
    """The text of a file in UTF-8, or in UTF-16 with a byte order mark.

    Raises:
        InputError: The bytes are not text in either encoding.
    """
    data = Path(path).read_bytes()
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        named = encoding.removesuffix("-sig").upper()
        raise InputError(f"{path}: byte {error.start} is not {named}; save as UTF-8") from error


def read_table(path: StrPath) -> TextTable:
    """The cells of a delimited file, without blank rows.

    Raises:
        InputError: There is no header, or a row does not have its columns.
    """
    return parse_table(str(path), read_text(path))


def parse_table(path: str, text: str) -> TextTable:
    """The cells of delimited text. `path` is for messages."""
    records = _records(path, text)
    if not records:
        raise InputError(f"{path}: the file is empty")
    header = tuple(cell.strip() for cell in records[0].cells)
    if len(header) > _COLUMNS_MAX:
        raise InputError(f"{path}: row 1 has {len(header)} columns, more than {_COLUMNS_MAX}")
    if any(parse_clock_time(cell) or is_number(cell) for cell in header):
        first = ", ".join(header)
        raise InputError(f"{path}: row 1 ({first}) is no header; columns need names")
    return TextTable(path, header, tuple(_fit(path, header, record) for record in records[1:]))


def _records(path: str, text: str) -> list[Row]:
    head = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(_DELIMITERS, key=lambda mark: _count_cells(head, mark))
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    records = []
    number = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                records.append(Row(number, tuple(cell.strip() for cell in cells)))
            number = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, row {number}: {error}") from error
    return records


def _count_cells(line: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([line], delimiter=delimiter)))
    except csv.Error:  # A cell beyond all measure: the line has another delimiter.
        return 0


def _fit(path: str, header: Sequence[str], row: Row) -> Row:
    cells, width = row.cells, len(header)
    if len(cells) > width and not any(cells[width:]):
        return Row(row.number, cells[:width])
    if len(cells) != width:
        raise InputError(
            f"{path}, row {row.number}: {len(cells)} cells where the header has {width}"
        )
    return row


def parse_clock_time(cell: str, *, day_first: bool | None = None) -> ClockTime | None:
    """The time in a cell; ``None`` if there is none.

    Years come first (``2026-01-31 18:00``), or days with dots
    (``31.01.2026 18:00``). With slashes, ``day_first`` tells 1 February from
    2 January. An hour 24 is midnight of the next day.
    """
    found = _TIME.fullmatch(cell)
    if found is None:
        return None
    part = found.groupdict()
    if part["year"]:
        day, month, year = part["day"], part["month"], part["year"]
    elif part["mark"] == "." or day_first is not False:
        day, month, year = part["first"], part["second"], part["last"]
    else:
        month, day, year = part["first"], part["second"], part["last"]
    clock = part["clock"] or "00:00"
    clock = clock if clock[1] != ":" else f"0{clock}"
    at_end = clock.startswith("24:00")
    clock = f"00{clock[2:]}" if at_end else clock
    offset = "+00:00" if part["offset"] in {"UTC", "Z"} else part["offset"] or ""
    try:
        time = datetime.fromisoformat(f"{year}-{month:0>2}-{day:0>2}T{clock}{offset}")
        return ClockTime(time + timedelta(days=1) if at_end else time, part["name"])
    except (ValueError, OverflowError):
        return None


def times_of(
    table: TextTable, column: int, *, day_first: bool | None = None
) -> list[ClockTime | None]:
    """The times of a column; ``None`` where a cell is empty.

    Raises:
        InputError: A cell holds something else, or days and months cannot be
            told apart.
    """
    if day_first is None:
        day_first = _guess_day_first(table, column)
    times: list[ClockTime | None] = []
    for row in table.rows:
        cell = row.cells[column]
        time = parse_clock_time(cell, day_first=day_first) if cell else None
        if cell and time is None:
            raise table.error(row, column, "is no time such as 2026-01-31 18:00")
        times.append(time)
    return times


def _guess_day_first(table: TextTable, column: int) -> bool | None:
    """Whether dates with slashes have the day first: the number above 12 is the day."""
    ambiguous = None
    for row in table.rows:
        found = _TIME.fullmatch(row.cells[column])
        if found is None or found["mark"] != "/":
            continue
        months = 12
        if int(found["first"]) > months:
            return True
        if int(found["second"]) > months:
            return False
        if found["first"] != found["second"]:
            ambiguous = ambiguous or row
    if ambiguous is not None:
        what = "may start with the day or the month: say day_first=True or day_first=False"
        raise table.error(ambiguous, column, what)
    return None


def is_number(cell: str) -> bool:
    """Whether a cell holds a number in either decimal notation."""
    text = _plain(cell)
    patterns = (_DECIMAL_POINT, _DECIMAL_COMMA, _GROUPED_POINT)
    return any(character.isdigit() for character in text) and any(
        pattern.fullmatch(text) for pattern in patterns
    )


def numbers_of(
    table: TextTable, column: int, *, empty: Sequence[str] = ("",)
) -> list[float | None]:
    """The numbers of a column; ``None`` where a cell is one of ``empty``.

    A column that writes ``0,25`` has decimal commas, and dots may then group
    thousands. If a comma comes ahead of a dot anywhere, as in ``1,234.50``,
    commas group.

    Raises:
        InputError: A cell holds something else.
    """
    cells = [_plain(row.cells[column]) for row in table.rows]
    groups_by_comma = any(_GROUPED_POINT.fullmatch(cell) and "." in cell for cell in cells)
    with_comma = any("," in cell for cell in cells) and not groups_by_comma
    numbers: list[float | None] = []
    for row, cell in zip(table.rows, cells, strict=True):
        if row.cells[column] in empty:
            numbers.append(None)
            continue
        pattern = _DECIMAL_COMMA if with_comma else _DECIMAL_POINT
        if with_comma:
            text = cell.replace(".", "").replace(",", ".")
        elif groups_by_comma and _GROUPED_POINT.fullmatch(cell):
            text = cell.replace(",", "")
        else:
            text = cell
        well_formed = pattern.fullmatch(cell if with_comma else text)
        if not well_formed or not any(letter.isdigit() for letter in cell):
            raise table.error(row, column, "is no number")
        numbers.append(float(text))
    return numbers


def _plain(cell: str) -> str:
    """A number without typographic minus and spaces between its digits."""
    return cell.replace("\u2212", "-").replace("\u00a0", "").replace("\u202f", "")
