"""Day-ahead prices in the forms that Nord Pool publishes."""

from collections.abc import Mapping

from slackwater._engine import InputError
from slackwater.io._json import Json, aware_time, load_json, number_of
from slackwater.io._prices import Meaning, PriceImport, PriceRow, prices_from_rows
from slackwater.io._text import StrPath, read_text
from slackwater.io.prices_csv import read_prices_csv


def read_nordpool(
    path: StrPath,
    *,
    time_zone: str | None = None,
    currency: str | None = None,
    unit: str | None = None,
    area: str | None = None,
) -> PriceImport:
    """Read day-ahead prices from a table or from the JSON of the data portal.

    A table has the local start, mostly the local end, and a price per row. A
    day of the spring change has 23 hours, the repeated hour of autumn is two
    rows that look alike: both are resolved, see ``notes``. JSON has instants,
    a price per area, and its currency.

    Args:
        path: The file. JSON starts with a brace.
        time_zone: For a table: IANA name of the zone whose clocks it shows.
        currency: For a table: code of the currency, such as ``"SEK"``.
        unit: What the numbers count. Without it, a table's header must say,
            and JSON is per MWh.
        area: For JSON with several areas: the one to read, such as ``"SE3"``.

    Returns:
        Prices per kWh, gaps and notes.

    Raises:
        InputError: As in `read_prices_csv`; the area is missing or unclear;
            an entry lacks its times.

    Example:
        Three days in öre per kWh; the second has 23 hours:

        >>> from slackwater import io, samples
        >>> day = io.read_nordpool(
        ...     samples.NORDPOOL_SPRING, time_zone="Europe/Stockholm", currency="SEK"
        ... )
        >>> len(day.prices), day.gaps
        (71, ())
    """
    text = read_text(path)
    if text.lstrip().startswith("{"):
        return _read_json(str(path), text, currency, unit, area)
    if time_zone is None or currency is None:
        raise InputError(f"{path}: a table needs time_zone= and currency=")
    if area is not None:
        raise InputError(f"{path}: a table has no areas, so area={area!r} cannot be chosen")
    return read_prices_csv(path, time_zone=time_zone, currency=currency, unit=unit)


def _read_json(
    path: str, text: str, currency: str | None, unit: str | None, area: str | None
) -> PriceImport:
    answer = load_json(path, text)
    entries = answer.get("multiAreaEntries") if isinstance(answer, Mapping) else None
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path}: there are no 'multiAreaEntries'")
    stated = answer.get("currency")
    if currency is not None and stated not in {None, currency}:
        raise InputError(f"{path}: prices are in {stated}, not in {currency}")
    code = currency or stated
    if not isinstance(code, str):
        raise InputError(f"{path}: the answer names no currency; say currency=")
    numbered = list(enumerate(entries, start=1))
    chosen = _area_of(path, numbered, area)
    rows = [_row(path, number, entry, chosen) for number, entry in numbered]
    return prices_from_rows(path, rows, Meaning("UTC", code, unit or f"{code}/MWh"))


def _area_of(path: str, entries: list[tuple[int, Json]], area: str | None) -> str:
    """The area to read: the one wanted, or the only one."""
    found: set[str] = set()
    for number, entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("entryPerArea"), Mapping):
            raise InputError(f"{path}, row {number}: there is no 'entryPerArea'")
        found |= entry["entryPerArea"].keys()
    names = ", ".join(repr(name) for name in sorted(found))
    if area is None and len(found) == 1:
        return found.pop()
    if area is None:
        raise InputError(f"{path}: prices are for {names}; say area=")
    if area not in found:
        raise InputError(f"{path}: no price is for area {area!r}; found: {names}")
    return area


def _row(path: str, number: int, entry: Mapping[str, Json], area: str) -> PriceRow:
    start = aware_time(path, number, "deliveryStart", entry.get("deliveryStart"))
    end = aware_time(path, number, "deliveryEnd", entry.get("deliveryEnd"))
    stated = entry["entryPerArea"].get(area)
    price = number_of(stated)
    if price is None and stated is not None:
        raise InputError(f"{path}, row {number}: the price for {area} is {stated!r}, no number")
    return PriceRow(number, start, end, price)
