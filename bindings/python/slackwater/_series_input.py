"""Series and frames of pandas, polars and pyarrow as rows of times and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from math import isnan
from typing import Any, NamedTuple

from slackwater import _engine
from slackwater._engine import InputError

Times = list[datetime]

# Units that the name of a column may end in.
UNITS = {"w", "kw", "mw", "wh", "kwh", "mwh"}


class Table(NamedTuple):
    """Columns of a series over time. Rows are counted from 0."""

    time_name: str
    times: Times
    ends: Times | None
    value_name: str
    values: list[float | None]


class Meaning(NamedTuple):
    """Meaning of the numbers and times of a series."""

    unit: str
    currency: str
    time_zone: str | None
    step_minutes: int | None
    holds_until_next: bool


def numbers_of(values: Iterable[Any], name: str) -> list[float]:
    """Take numbers of a list, an array or a series.

    Raises:
        InputError: A value is no number.
    """
    numbers = []
    for index, value in enumerate(values):
        number = _number(value)
        if number is None:
            raise InputError(f"{name}[{index}] is {value!r}, which is no number")
        numbers.append(number)
    return numbers


def read_table(
    data: object,
    *,
    unit: str,
    time: str | None,
    end: str | None,
    value: str | None,
    argument: str | None = "data",
) -> Table:
    """Take the columns of a series or a frame whose numbers are in a unit.

    A caller that names the argument itself gives ``argument=None``.

    Raises:
        InputError: A column is missing or cannot be guessed, a cell is no time or number, or the
            values have the name of another unit.
        TypeError: ``data`` is no series or frame.
    """
    columns, index = _columns_of(data, "" if argument is None else f"{argument}: ")
    if time is None and index is not None:
        time_name, times = index
    else:
        time_name = time if time is not None else _guess(columns, "time", _is_time, ("start",))
        times = _column(columns, time_name)
    if end is None and "end" in columns and time_name != "end":
        end = "end"
    rest = {name: cells for name, cells in columns.items() if name not in (time_name, end)}
    value_name = value if value is not None else _guess(rest, "value", _is_number, ())
    refuse_other_unit(value_name, unit)
    return Table(
        time_name,
        _times(times, time_name),
        None if end is None else _times(_column(columns, end), end),
        value_name,
        _values(_column(columns, value_name), value_name),
    )


def refuse_other_unit(name: str, unit: str) -> None:
    """Refuse values by a name that ends in another unit: of power or of energy, whatever is per it.

    Raises:
        InputError: It does.

    Example:
        >>> refuse_other_unit("price_per_mwh", "EUR/MWh")
        >>> refuse_other_unit("energy_kwh", "kW")
        Traceback (most recent call last):
            ...
        slackwater.InputError: column 'energy_kwh' has 'kwh' in its name, and unit is 'kW'; give
        the unit of its numbers, or rename it
    """
    named = re.split(r"[^a-z]+", name.lower().rstrip(" )]"))[-1]
    given = unit.lower().rpartition("/")[2].strip()
    if named in UNITS and given in UNITS and named != given:
        raise InputError(
            f"column {name!r} has {named!r} in its name, and unit is {unit!r}; give the unit of "
            "its numbers, or rename it"
        )


def read_rows(table: Table, meaning: Meaning) -> _engine.Prices:
    """Make a curve of the rows, whose times all have a time zone or all have none.

    Raises:
        InputError: Only some times have a zone, none has one and no ``time_zone`` is given, rows
            are out of order, or a value stands at a time that clocks skip.
    """
    ends: list[datetime] | list[None] = table.ends or [None] * len(table.times)
    aware = [at.tzinfo is not None for at in (*table.times, *(table.ends or ()))]
    where = f"times from {table.time_name!r}, values from {table.value_name!r}"
    if any(aware) and not all(aware):
        raise InputError(f"{where}: only some of the times have a time zone")
    if not any(aware) and aware and meaning.time_zone is None:
        raise InputError(
            f"{where}: the times have no time zone; say whose clocks they show, such as "
            "time_zone='Europe/Berlin' or 'UTC'"
        )
    rows = list(zip(range(len(table.times)), table.times, ends, table.values, strict=True))
    options = {
        "currency": meaning.currency,
        "unit": meaning.unit,
        "step_minutes": meaning.step_minutes,
        "holds_until_next": meaning.holds_until_next,
    }
    try:
        if all(aware):
            zone = meaning.time_zone
            zone = _zone_of(table.times) if zone is None else zone
            return _engine.prices_from_instant_rows(rows, time_zone=zone, **options)[0]  # type: ignore[arg-type]
        civil = [(row, start, None, until, value) for row, start, until, value in rows]
        zone = "UTC" if meaning.time_zone is None else meaning.time_zone
        return _engine.prices_from_civil_rows(civil, time_zone=zone, **options)[0]  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _zone_of(times: Times) -> str:
    """IANA name of the zone that all times have; UTC without one, or with several."""
    names = {getattr(at.tzinfo, "key", None) or getattr(at.tzinfo, "zone", None) for at in times}
    name = names.pop() if len(names) == 1 else None
    return name if isinstance(name, str) else "UTC"


def _columns_of(data: object, place: str) -> tuple[dict[str, Any], tuple[str, Any] | None]:
    """The columns of a series or frame, and its index if that has times."""
    made: Any = data
    if hasattr(made, "collect_schema") and callable(getattr(made, "collect", None)):
        made = made.collect()  # A lazy frame of polars.
    if isinstance(data, Mapping):
        return dict(data), None
    if hasattr(made, "column_names") and hasattr(made, "column"):  # A table of pyarrow.
        return {name: made.column(name).to_pylist() for name in made.column_names}, None
    index = getattr(made, "index", None)
    if index is not None and not callable(index):  # The `index` of a list is a method.
        named = made.to_frame(made.name or "value") if hasattr(made, "to_frame") else made
        columns = {str(name): named[name].tolist() for name in named.columns}
        starts = index.to_timestamp() if hasattr(index, "to_timestamp") else index
        has_times = hasattr(starts, "to_pydatetime")
        name = str(index.name or "index")
        return columns, (name, list(starts.to_pydatetime())) if has_times else None
    if hasattr(made, "get_column"):  # A frame of polars.
        return {name: made.get_column(name).to_list() for name in made.columns}, None
    kind = type(data)
    given = "None" if data is None else f"a {kind.__name__}"
    is_bare = kind.__module__.partition(".")[0] in ("polars", "numpy")
    way = (
        "numbers without times go with from_values"
        if is_bare
        else ("lists go with from_slots or from_values")
    )
    raise TypeError(
        f"{place}expected a series or frame of pandas, a frame of polars or a table of pyarrow, "
        f"not {given}{' of polars' * (kind.__module__.startswith('polars'))}; {way}"
    )


def _column(columns: Mapping[str, Any], name: str) -> list[Any]:
    if name not in columns:
        raise InputError(f"there is no column {name!r}; found: {_found(columns)}")
    return list(columns[name])


def _found(columns: Mapping[str, Any]) -> str:
    return ", ".join(repr(name) for name in columns) or "none"


def _guess(
    columns: Mapping[str, Any], what: str, is_one: Callable[[object], bool], likely: tuple[str, ...]
) -> str:
    """The only column of a kind, or the one of several with a likely name."""
    fitting = [name for name, cells in columns.items() if is_one(_sample(cells))]
    named = [name for name in fitting if name in likely]
    for candidates in (fitting, named):
        if len(candidates) == 1:
            return candidates[0]
    kind = "times" if what == "time" else "numbers"
    if not fitting:
        way = "; an index needs times, and numbers alone go with from_values" * (what == "time")
        texts = [name for name, cells in columns.items() if isinstance(_sample(cells), str)]
        if texts and what == "time":
            way = f"; {texts[0]!r} holds texts: make them times first, such as by to_datetime"
        elif texts:
            way = f"; {texts[0]!r} holds texts: make them numbers first"
        raise InputError(f"no column holds {kind}; found: {_found(columns)}{way}")
    names = ", ".join(repr(name) for name in fitting)
    raise InputError(f"{kind} may be in {names}; say {what}=")


def _sample(cells: Iterable[Any]) -> object:
    """The first cell that is not empty."""
    return next((cell for cell in cells if not _is_empty(cell)), None)


def _is_empty(cell: object) -> bool:
    """Whether a cell is null: ``None``, NaN, NaT or ``pandas.NA``."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float) and isnan(cell)


def _is_time(cell: object) -> bool:
    return isinstance(cell, datetime)


def _is_number(cell: object) -> bool:
    return not isinstance(cell, str) and _number(cell) is not None


def _number(value: object) -> float | None:
    """A cell as a number; ``None`` if it is none."""
    if isinstance(value, str | bytes | bool) or not hasattr(value, "__float__"):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _times(cells: Iterable[Any], name: str) -> Times:
    times = []
    for row, cell in enumerate(cells):
        if _is_empty(cell) or not isinstance(cell, datetime):
            raise InputError(f"column {name!r}, row {row}: {cell!r} is no datetime")
        times.append(cell)
    return times


def _values(cells: Iterable[Any], name: str) -> list[float | None]:
    values: list[float | None] = []
    for row, cell in enumerate(cells):
        number = None if _is_empty(cell) else _number(cell)
        if number is None and not _is_empty(cell):
            raise InputError(f"column {name!r}, row {row}: {cell!r} is no number")
        values.append(number)
    return values
