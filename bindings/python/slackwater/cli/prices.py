"""Price lists in any form that an importer reads, from a file on the command line."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from slackwater import io
from slackwater._engine import InputError
from slackwater.io.prices_csv import unit_in
from slackwater.prices import Prices

COLUMNS = ("start", "end", "price_per_kwh")
MINOR_UNITS = frozenset({"ORE", "ÖRE", "ØRE"})
CODE_LENGTH = 3
MONEY_IN_UNIT = re.compile(r"\s*/|_per_|\s+per\s")


class PriceFormat(StrEnum):
    """Forms of price lists."""

    AUTO = "auto"
    CSV = "csv"
    ENTSOE = "entsoe"
    NORDPOOL = "nordpool"
    OCTOPUS = "octopus"
    JSON = "json"
    PARQUET = "parquet"


@dataclass(frozen=True)
class PriceOptions:
    """What the command line says about a price list.

    Attributes:
        form: Its form; ``AUTO`` looks into the file.
        time_zone: IANA name of the zone whose clocks it shows.
        currency: Code of its currency; the file may say.
        unit: What its numbers count; the file may say.
        area: The area to read where it has several.
    """

    form: PriceFormat = PriceFormat.AUTO
    time_zone: str | None = None
    currency: str | None = None
    unit: str | None = None
    area: str | None = None


def read_prices(path: Path, options: PriceOptions) -> io.PriceImport:
    """Read a price list.

    Raises:
        InputError: The file does not say what it means and no option does, or
            as the importer.
        OSError: The file cannot be read.
    """
    found = _read(path, options)
    if options.currency not in {None, found.prices.currency}:
        raise InputError(f"{path}: prices are in {found.prices.currency}, not {options.currency}")
    if not len(found.prices):
        raise InputError(f"{path}: there is no price")
    return found


def _read(path: Path, options: PriceOptions) -> io.PriceImport:
    match form_of(path) if options.form is PriceFormat.AUTO else options.form:
        case PriceFormat.PARQUET:
            return _read_parquet(path, options)
        case PriceFormat.JSON:
            return _read_json(path, options)
        case PriceFormat.OCTOPUS:
            return io.read_octopus(path)
        case PriceFormat.ENTSOE:
            return io.read_entsoe(
                path, time_zone=options.time_zone, currency=options.currency, area=options.area
            )
        case PriceFormat.NORDPOOL:
            is_json = _head(path).startswith("{")
            return io.read_nordpool(
                path,
                time_zone=options.time_zone if is_json else _time_zone(path, options),
                currency=options.currency if is_json else _currency(path, options),
                unit=options.unit,
                area=options.area,
            )
        case _:
            return io.read_prices_csv(
                path,
                time_zone=_time_zone(path, options),
                currency=_currency(path, options),
                unit=options.unit,
            )


def form_of(path: Path) -> PriceFormat:
    """Tell the form of a price list from its content."""
    head = _head(path)
    if head.startswith("PAR1"):
        return PriceFormat.PARQUET
    if head.startswith("<"):
        return PriceFormat.ENTSOE
    if head.startswith(("{", "[")):
        if '"multiAreaEntries"' in head:
            return PriceFormat.NORDPOOL
        return PriceFormat.OCTOPUS if '"valid_from"' in head else PriceFormat.JSON
    return PriceFormat.ENTSOE if "MTU" in head.partition("\n")[0] else PriceFormat.CSV


def _head(path: Path) -> str:
    """The first characters of a file; enough for a header or the keys of the first entry."""
    with path.open("rb") as file:
        data = file.read(8192)
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    return data.decode(encoding, errors="replace").lstrip()


def _time_zone(path: Path, options: PriceOptions) -> str:
    if options.time_zone is None:
        wanted = "--time-zone, such as Europe/Oslo (UTC if its times name their offset)"
        raise InputError(f"{path}: a table of prices needs {wanted}")
    return options.time_zone


def _currency(path: Path, options: PriceOptions) -> str:
    """The currency that the options or the header name."""
    if options.currency is not None:
        return options.currency
    unit = options.unit or unit_in(_head(path).partition("\n")[0]) or ""
    money = MONEY_IN_UNIT.split(unit)[0].upper()
    money = {"€": "EUR", "EURO": "EUR", "£": "GBP"}.get(money, money)
    if not money.isalpha() or len(money) != CODE_LENGTH or money in MINOR_UNITS:
        raise InputError(f"{path}: the header names no currency; say --currency, such as EUR")
    return money


def _read_parquet(path: Path, options: PriceOptions) -> io.PriceImport:
    try:
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise InputError(f"{path}: {error}") from error
    stated = (table.schema.metadata or {}).get(b"currency", b"").decode()
    return _imported(path, options, stated or None, table)


def _read_json(path: Path, options: PriceOptions) -> io.PriceImport:
    """A list of slots, or an object that has it as ``slots`` next to ``currency``."""
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    stated = content.get("currency") if isinstance(content, dict) else None
    slots = content.get("slots") if isinstance(content, dict) else content
    if not isinstance(slots, list):
        raise InputError(f"{path}: there is no list of {{start, end, price_per_kwh}}")
    return _imported(
        path, options, stated, [_slot(path, *numbered) for numbered in enumerate(slots, 1)]
    )


def _slot(path: Path, number: int, entry: Any) -> tuple[datetime, datetime, float | None]:  # noqa: ANN401  JSON
    if not isinstance(entry, dict) or any(name not in entry for name in COLUMNS):
        raise InputError(f"{path}, entry {number}: there is no {', '.join(COLUMNS)}")
    times = []
    for name in COLUMNS[:2]:
        try:
            times.append(datetime.fromisoformat(entry[name]))
        except (TypeError, ValueError):
            raise InputError(
                f"{path}, entry {number}: {name} is {entry[name]!r}, no time"
            ) from None
        if times[-1].tzinfo is None:
            raise InputError(
                f"{path}, entry {number}: {name} is {entry[name]!r}, without an offset"
            )
    price = entry["price_per_kwh"]
    if isinstance(price, bool) or not isinstance(price, int | float | None):
        raise InputError(f"{path}, entry {number}: price_per_kwh is {price!r}, no number")
    return times[0], times[1], price


def _imported(
    path: Path,
    options: PriceOptions,
    stated: str | None,
    slots: pa.Table | list[tuple[datetime, datetime, float | None]],
) -> io.PriceImport:
    currency = stated or options.currency
    if currency is None:
        raise InputError(f"{path}: the file names no currency; say --currency, such as EUR")
    try:
        if isinstance(slots, list):
            known = [(start, end, price) for start, end, price in slots if price is not None]
            prices = Prices.from_slots(known, currency=currency)
        else:
            prices = Prices.from_arrow(slots, currency=currency)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return io.PriceImport(prices, tuple(prices.gaps), ())
