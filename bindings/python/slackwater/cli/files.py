"""Tables from and to files: CSV, JSON and Parquet, by the ending of the name."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from slackwater._engine import InputError
from slackwater.cli.clock import Clock

Json: TypeAlias = Any

ENDINGS = (".csv", ".json", ".parquet")
TIMES = ("arrival", "departure", "start", "end", "at")
INSTANT = pa.timestamp("us", "UTC")


class OutputFormat(StrEnum):
    """Forms of an answer on stdout."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def write_table(table: pa.Table, path: Path, clock: Clock) -> None:
    """Write rows. Times are UTC in Parquet, and wall clocks with their offset elsewhere."""
    match path.suffix.lower():
        case ".parquet":
            pq.write_table(table, path)
        case ".json":
            path.write_text(to_json(rows_of(table, clock)), encoding="utf-8")
        case _:
            path.write_text(to_csv(table, clock), encoding="utf-8")


def give(
    table: pa.Table, form: OutputFormat, out: Path | None, clock: Clock, *, show: Callable[[], None]
) -> None:
    """Write rows to a file, if one is wanted, and to stdout, where ``show`` draws the table."""
    if out:
        write_table(table, out, clock)
    match form:
        case OutputFormat.JSON:
            sys.stdout.write(to_json(rows_of(table, clock)))
        case OutputFormat.CSV:
            sys.stdout.write(to_csv(table, clock))
        case OutputFormat.TABLE:
            show()


def rows_of(table: pa.Table, clock: Clock) -> list[dict[str, Json]]:
    """Rows as values of JSON."""
    rows: list[dict[str, Json]] = _plain(table.to_pylist(), clock)
    return rows


def to_json(value: Json) -> str:
    """JSON for people and programs."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=_number) + "\n"


def _number(value: object) -> float:
    """The nearest number that JSON has, of an exact amount of money."""
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{value!r} is nothing that JSON has")


def to_csv(table: pa.Table, clock: Clock) -> str:
    """Rows as text; a cell with a list is JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in rows_of(table, clock):
        writer.writerow([_cell(cell) for cell in row.values()])
    return text.getvalue()


def _cell(value: Json) -> Json:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _plain(value: Json, clock: Clock) -> Json:
    if isinstance(value, datetime):
        return clock.iso(value)
    if isinstance(value, Mapping):
        return {key: _plain(item, clock) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, clock) for item in value]
    return value


def read_vehicles(path: Path) -> pa.Table:
    """Read the rows for :func:`slackwater.plan_batch`.

    CSV has a header; JSON is a list of objects, or one object a line.

    Raises:
        InputError: The file is not what its ending says, or a time is none.
        OSError: The file cannot be read.
    """
    return _read_table(path, of="vehicle")


def read_periods(path: Path) -> pa.Table:
    """Read rows of values over time, such as a carbon intensity.

    Raises:
        InputError: As :func:`read_vehicles`.
        OSError: The file cannot be read.
    """
    return _read_table(path, of="period")


def _read_table(path: Path, *, of: str) -> pa.Table:
    if path.suffix.lower() == ".parquet":
        return _parquet(path).read()
    return _read_text(path, of=of)


def read_samples(path: Path) -> pa.Table | pa.RecordBatchReader:
    """Read the rows for :func:`slackwater.statistics.aggregate`, Parquet piece by piece.

    Raises:
        InputError: As :func:`read_vehicles`.
        OSError: The file cannot be read.
    """
    if path.suffix.lower() == ".parquet":
        file = _parquet(path)
        return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
    return _read_text(path, of="row")


def _parquet(path: Path) -> pq.ParquetFile:
    path.open("rb").close()  # says which file, where Arrow would not
    try:
        return pq.ParquetFile(path)
    except pa.ArrowException as error:
        raise InputError(f"{path}: {error}") from error


def _read_text(path: Path, *, of: str) -> pa.Table:
    try:
        match path.suffix.lower():
            case ".csv":
                # Ctrl-C ends a read of ours, but not one in a thread of Arrow.
                text = pa.BufferReader(path.read_bytes())
                return _times_parsed(path, pacsv.read_csv(text))
            case ".json" | ".jsonl" | ".ndjson":
                return _table_of(path, _json_rows(path), of=of)
    except (pa.ArrowException, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    raise InputError(f"{path}: the name of a table of {of}s ends in {', '.join(ENDINGS)}")


def _json_rows(path: Path) -> Sequence[Json]:
    text = path.read_text(encoding="utf-8-sig")
    if not text.lstrip().startswith("["):
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    rows: list[Json] = json.loads(text)
    return rows


def _table_of(path: Path, rows: Sequence[Json], *, of: str) -> pa.Table:
    parsed = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise InputError(f"{path}, entry {number}: {row!r} is no object")
        times: dict[str, Json] = {
            name: _time(path, number, name, row[name]) for name in TIMES if name in row
        }
        if isinstance(row.get("targets"), list):
            times["targets"] = [_target(path, number, target) for target in row["targets"]]
        parsed.append(row | times)
    if not parsed:
        raise InputError(f"{path}: there is no {of}")
    names = list(dict.fromkeys(name for row in parsed for name in row))
    return pa.table({name: [row.get(name) for row in parsed] for name in names})


def _target(path: Path, number: int, target: Json) -> Json:
    if not isinstance(target, dict):
        raise InputError(f"{path}, entry {number}: {target!r} is no target {{by, energy_kwh}}")
    return target | {"by": _time(path, number, "by", target.get("by"))}


def _times_parsed(path: Path, table: pa.Table) -> pa.Table:
    """The table with instants where arrow left text, because one of the cells is no time."""
    for name in TIMES:
        if name in table.column_names and pa.types.is_string(table.schema.field(name).type):
            cells = enumerate(table.column(name).to_pylist(), start=2)
            times = [_time(path, number, name, cell or None) for number, cell in cells]
            position = table.column_names.index(name)
            table = table.set_column(position, name, pa.array(times, INSTANT))
    return table


def _time(path: Path, number: int, name: str, value: Json) -> datetime | None:
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InputError(f"{path}, row {number}: {name} is {value!r}, no time") from None
    if at.tzinfo is None:
        raise InputError(f"{path}, row {number}: {name} is {value!r}, without a UTC offset")
    return at
