"""Conversion of arguments by their annotations: one door for all public functions.

An annotation says what a function takes. Its converter takes what people have for it besides:
``Decimal``, numbers of NumPy, ``ZoneInfo``, lazy frames of polars, dicts of columns. Everything
else is refused with the place of the argument, what it holds and what it may hold.
"""

from __future__ import annotations

import os
import re
import sys
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, time, timedelta, tzinfo
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from slackwater import _engine
from slackwater._index import Indexed, index_of
from slackwater.prices import Prices
from slackwater.series import Series
from slackwater.typing import ArrowTable

REPR_MAX = 60
LITERALS_MAX = 12
MANY = 10**300
# Units by the last word of the name of a field.
OF_FIELD = {"kw": "kW", "kwh": "kWh", "percent": "percent"}
# Items of these classes are told from a list of them by nothing.
CONTAINERS = {Any, object, list, tuple, dict, type(None)}
# What pyarrow says of a column of Python objects.
OF_COLUMN = re.compile(r"Conversion failed for column (.+?) with type")


class WrongError(Exception):
    """What is wrong with an argument, and how deep inside of it.

    Attributes:
        error: The exception that the caller gets.
        depth: Levels between the argument and the place that is wrong.
    """

    def __init__(self, error: Exception, depth: int = 0) -> None:
        super().__init__(str(error))
        self.error = error
        self.depth = depth


class Converter(NamedTuple):
    """Takes a value of an annotated place.

    Attributes:
        words: What the place may hold, after "has to be".
        convert: Gives the value to hand on, from the place and what is there, or raises
            ``WrongError``.
    """

    words: str
    convert: Callable[[str, Any], Any]

    def __call__(self, place: str, value: object) -> object:
        """Convert the value of a place."""
        return self.convert(place, value)


def short(value: object) -> str:
    """A value in the words of a message."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  whatever the repr of a foreign object does
        text = f"a {type(value).__name__}"
    return text if len(text) <= REPR_MAX and "\n" not in text else f"a {type(value).__name__}"


# Numbers of one vehicle or battery, whose unit may be taken for another.
DOUBTED = {
    "capacity_kwh",
    "capacity_kwh_per_k",
    "charge_limit_percent",
    "discharge_max_kw",
    "energy_kwh",
    "energy_max_kwh",
    "heat_kw",
    "kg_per_kwh",
    "loss_kw_per_k",
    "power_kw",
    "power_max_kw",
    "reserve_kwh",
    "reserve_percent",
    "soc_fallback_percent",
    "soc_min_percent",
    "soc_percent",
    "target_percent",
}
TARGET = re.compile(r"targets\[\d+\]\.soc_percent")
# A battery of a site may be as large as a container, or many of them.
LARGE = {"Discharge", "StationaryBattery"}
# Rows of a log or of a made-up fleet, among which any number may be; and a battery that trades,
# which is as large as a power plant.
ANY_SIZE = {"VehicleStay", "trade_rolling_intrinsic"}


def _doubt(place: str, value: float) -> None:
    """Warn of a number that looks like another unit."""
    name = place.rpartition(".")[2]
    # A battery may hold 1 %, and nobody wants no more: the engine tells the two apart by name.
    kind = "target_percent" if TARGET.fullmatch(place) else name
    text = _engine.doubt(kind, value) if abs(value) < MANY else None
    if text is not None:
        text = f"{place}{text.removeprefix(kind)}"
        warnings.warn(text, _engine.PlausibilityWarning, stacklevel=levels_to_caller())


def warn_of_largest(place: str, values: Iterable[object]) -> None:
    """Warn of the largest of many numbers, if it looks like another unit."""
    numbers = [value for value in values if isinstance(value, int | float)]
    _doubt(place, max(numbers, default=0.0))


def levels_to_caller() -> int:
    """Levels from a warning to the code that called the package."""
    frame, level = sys._getframe(1), 1
    folder = os.path.dirname(__file__)  # noqa: PTH120  compared with names of code objects
    while frame.f_back is not None and frame.f_code.co_filename.startswith(folder):
        frame, level = frame.f_back, level + 1
    return level


def article(kind: type) -> str:
    """Return the article before the name of a class."""
    return "an" if kind.__name__[0] in "AEIOUaeiou" else "a"


def _mistyped(place: str, words: str, value: object) -> WrongError:
    if value is None:
        return WrongError(TypeError(f"{place} is None; it has to be {words}"))
    found = f"{article(type(value))} {type(value).__name__}"
    if type(value) is tuple:
        found += f" of {len(value)}"
    return WrongError(TypeError(f"{place} has to be {words}, not {found}"))


def _is_bool(value: object) -> bool:
    return isinstance(value, bool) or type(value).__name__ in {"bool_", "bool"}


def _is_scalar(value: object) -> bool:
    """Whether a value is one number: those of NumPy, of ``decimal`` and ``fractions`` are."""
    if isinstance(value, Real | Decimal):
        return True
    return hasattr(value, "__float__") and getattr(value, "shape", None) == ()


def _number(place: str, value: Any) -> float:
    number = _plain_number(place, value)
    # Ordinary numbers, which raise no doubt of any unit, are told apart first.
    if not 1 < number <= 30 and number > 0 and place.rpartition(".")[2] in DOUBTED:
        _doubt(place, number)
    return number


def _plain_number(place: str, value: Any) -> float:
    if type(value) is float or type(value) is int:
        return value
    if _is_bool(value) or not _is_scalar(value):
        raise _mistyped(place, "a number", value)
    if isinstance(value, int):
        return value
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        message = f"{place} is {short(value)}, which is no number"
        raise WrongError(_engine.InputError(message)) from None


def _whole(place: str, value: Any) -> int:
    if _is_bool(value) or not hasattr(value, "__index__") or getattr(value, "shape", ()) != ():
        raise _mistyped(place, "a whole number", value)
    return int(value.__index__())


def _flag(place: str, value: Any) -> bool:
    if not _is_bool(value):
        raise _mistyped(place, "True or False", value)
    return bool(value)


def _text(place: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if place.rpartition(".")[2] == "time_zone":
        name = getattr(value, "key", None) or getattr(value, "zone", None)
        if isinstance(name, str):
            return name
        if isinstance(value, tzinfo) and value.utcoffset(None) == timedelta(0):
            return "UTC"
        raise _mistyped(place, "the IANA name of a time zone, such as 'Europe/Oslo'", value)
    raise _mistyped(place, "a text", value)


def _instant(place: str, value: Any) -> datetime:
    if not isinstance(value, datetime):
        if value is None:
            message = f"{place} is None; expected a datetime with a time zone"
        else:
            name = type(value).__name__
            message = f"{place}: expected a datetime with a time zone, not {name}"
        raise WrongError(TypeError(message))
    has_zone = value.tzinfo is not None and value.utcoffset() is not None
    if not has_zone and not _is_missing(value):
        message = f"{place}: {value} has no time zone; give an aware datetime"
        raise WrongError(TypeError(message))
    if _is_missing(value):
        message = f"{place} is a missing time (NaT); give an aware datetime"
        raise WrongError(_engine.InputError(message))
    return value


def _is_missing(value: object) -> bool:
    """Whether a time of pandas or NumPy is none."""
    return type(value).__name__ == "NaTType"


def _prices(place: str, value: Any) -> object:
    if isinstance(value, Series) and not isinstance(value, Prices):
        raise WrongError(TypeError(f"{place} is a Series in {value.unit}; give Prices"))
    if not isinstance(value, Prices):
        has_columns = hasattr(value, "__arrow_c_stream__")
        way = "from_series" if has_columns else "from_values"
        wrong = _mistyped(place, f"Prices, as Prices.{way} makes them", value)
        # A series or a frame is meant as prices, also where something else may stand.
        raise WrongError(wrong.error, depth=1) if has_columns else wrong
    return value


def _table(place: str, value: Any) -> object:
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        if _is_one_column(value):
            kind = type(value).__name__
            message = f"{place} is one column, a {kind}; give a table, such as from its to_frame()"
            raise WrongError(TypeError(message))
        return value
    if callable(getattr(value, "collect", None)) and hasattr(value, "collect_schema"):
        return value.collect()
    if isinstance(value, Mapping):
        return _table_of_columns(place, value)
    words = "a table: of pyarrow, polars, pandas or DuckDB, or a dict of columns"
    raise _mistyped(place, words, value)


def _is_one_column(value: Any) -> bool:
    """Whether an Arrow object is a single column, such as a series, rather than a table."""
    kind = getattr(value, "dtype", None) or getattr(value, "type", None)
    is_table = any(hasattr(value, name) for name in ("columns", "column_names", "schema"))
    return kind is not None and not is_table and "struct" not in str(kind).lower()


def refused_column(error: Exception) -> Exception | None:
    """Error for a frame that pandas or pyarrow cannot convert; ``None`` for other errors."""
    text = str(error)
    if type(error) is ValueError and text.startswith("Duplicate column names found"):
        return _engine.InputError(
            text.replace("Duplicate column names found", "columns share a name")
        )
    column = OF_COLUMN.search(text) if type(error).__module__ == "pyarrow.lib" else None
    if column is None:
        return None
    way = "make them of one kind, such as by astype(str), or leave the column out"
    return _engine.InputError(f'column "{column[1]}" holds values of several kinds; {way}')


def _table_of_columns(place: str, columns: Mapping[str, object]) -> object:
    for name, column in columns.items():
        if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
            raise _mistyped(f"{place}[{name!a}]", "a column, such as a list", column)
    try:
        import pyarrow as pa  # noqa: PLC0415  an optional extra
    except ImportError:
        message = f"{place} is a dict of columns, which needs pyarrow: pip install pyarrow"
        raise WrongError(_engine.InputError(message)) from None
    try:
        return pa.table(dict(columns))
    except (pa.ArrowException, TypeError, ValueError) as error:
        message = f"{place} is a dict that is no table: {error}"
        raise WrongError(_engine.InputError(message)) from None


def _literal(values: tuple[object, ...]) -> Converter:
    named = ", ".join(repr(value) for value in values[:LITERALS_MAX])
    words = f"one of {named}" if len(values) <= LITERALS_MAX else f"one of {named}, …"

    def convert(place: str, value: Any) -> object:
        if any(
            value is known or (type(value) is type(known) and value == known) for known in values
        ):
            return value
        if any(type(value) is type(known) for known in values):
            message = f"{place} is {short(value)}; it is {words}"
            raise WrongError(_engine.InputError(message))
        raise _mistyped(place, words, value)

    return Converter(words, convert)


def _several(item: Converter, kind: Any) -> Converter:
    """Items in any order: an iterator is read once, and what needs no conversion is kept."""
    words = "a list" if item is ANYTHING else f"a list: {item.words} each"
    if item.words.startswith("a list"):
        words = f"a list of lists{item.words.removeprefix('a list')}"
    members = get_args(kind) if get_origin(kind) in {Union, types.UnionType} else (kind,)
    classes = tuple(each for each in members if isinstance(each, type) and each not in CONTAINERS)

    def convert(place: str, value: Any) -> object:
        is_one = isinstance(value, tuple) and hasattr(value, "_fields")
        if is_one or (classes and isinstance(value, classes)):
            message = f"{place} is one {type(value).__name__}; give a list of them"
            raise WrongError(TypeError(message))
        is_frame = hasattr(type(value), "columns") or isinstance(value, str | bytes | Mapping)
        # Its slots alone would lose its unit.
        is_frame = is_frame or isinstance(value, Series)
        if is_frame or not hasattr(value, "__iter__") or getattr(value, "shape", None) == ():
            raise _mistyped(place, words, value)
        given = list(value)
        if item is PLAIN[float] and all(type(each) is float for each in given):
            return value if isinstance(value, Sequence) or hasattr(value, "index") else given
        items = [_inside(item, f"{place}[{index}]", each) for index, each in enumerate(given)]
        is_kept = isinstance(value, Sequence) or hasattr(value, "index")
        is_same = all(new is old for new, old in zip(items, given, strict=True))
        if is_kept and is_same:
            return value
        # Decimals and numbers of nullable columns are copied; the times of a series stay theirs.
        times = index_of(value)
        return items if times is None else Indexed(items, times)

    return Converter(words, convert)


def _inside(item: Converter, place: str, value: object) -> object:
    """Convert a part of an argument."""
    try:
        return item(place, value)
    except WrongError as wrong:
        raise WrongError(wrong.error, wrong.depth + 1) from None


def _fixed(items: Sequence[Converter]) -> Converter:
    """A tuple with a meaning for each place; a list, as JSON has it, counts as one."""
    words = f"a tuple of {len(items)} ({', '.join(item.words for item in items)})"

    def convert(place: str, value: Any) -> object:
        if not isinstance(value, tuple | list):
            raise _mistyped(place, words, value)
        if len(value) != len(items):
            message = f"{place} has {len(value)} members; it has to be {words}"
            raise WrongError(TypeError(message))
        found = [
            _inside(item, f"{place}[{index}]", each)
            for index, (item, each) in enumerate(zip(items, value, strict=True))
        ]
        is_same = all(new is old for new, old in zip(found, value, strict=True))
        return value if is_same and isinstance(value, tuple) else tuple(found)

    return Converter(words, convert)


def _row(kind: type[Any], hints: Callable[[], Mapping[str, Converter]]) -> Converter:
    """A named tuple. The function itself takes plain tuples for it where it can."""

    def convert(place: str, value: Any) -> object:
        if not isinstance(value, tuple | list) or _is_other_row(value, kind):
            name = "None" if value is None else f"a {type(value).__name__}"
            message = f"{place} is {name}; give a {kind.__name__} ({', '.join(kind._fields)})"
            raise WrongError(TypeError(message))
        least = len(kind._fields) - len(kind._field_defaults)
        if not least <= len(value) <= len(kind._fields):
            message = f"{place} has {len(value)} members; a {kind.__name__} has {kind._fields}"
            raise WrongError(TypeError(message))
        fields = hints()
        found = [
            _inside(fields[name], f"{place}.{name}", old)
            for name, old in zip(kind._fields, value, strict=False)
        ]
        is_same = all(new is old for new, old in zip(found, value, strict=True))
        if is_same and isinstance(value, kind):
            return value
        # A plain tuple stays one: some functions tell it from a row by that.
        return kind(*found) if isinstance(value, kind) else tuple(kind(*found))

    return Converter(f"a {kind.__name__}", convert)


def _is_other_row(value: object, kind: type[Any]) -> bool:
    """Whether a value is a named tuple of another meaning."""
    return hasattr(value, "_fields") and not isinstance(value, kind)


def _mapping(key: Converter, item: Converter) -> Converter:
    def convert(place: str, value: Any) -> object:
        if not isinstance(value, Mapping):
            raise _mistyped(place, "a mapping", value)
        given = dict(value)
        items = {
            _inside(key, f"{place} (key {each!a})", each): _inside(item, f"{place}[{each!a}]", old)
            for each, old in given.items()
        }
        is_same = all(items.get(each) is old for each, old in given.items())
        return value if is_same else items

    return Converter("a mapping", convert)


def _either(options: Sequence[Converter]) -> Converter:
    each = dict.fromkeys(option.words for option in options)
    words = " or ".join(each)
    numbers = ("a number", "a list: a number")
    needs_times = "a Series" in each and not any(kind.startswith(numbers) for kind in each)

    def convert(place: str, value: Any) -> object:
        if needs_times and not isinstance(value, Series) and index_of(value) is not None:
            kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
            way = "Series.from_series(x, unit=...) makes a Series of it"
            raise WrongError(TypeError(f"{place} is a {kind}; {way}"), depth=1)
        deepest: WrongError | None = None
        for option in options:
            try:
                return option(place, value)
            except WrongError as wrong:
                if deepest is None or wrong.depth > deepest.depth:
                    deepest = wrong
        # The place deepest inside tells most; an option that is something else tells nothing.
        if deepest is not None and (deepest.depth > 0 or len(options) == 1):
            raise deepest
        refusals = (_engine.InputError,)
        if deepest is not None and isinstance(deepest.error, refusals):
            raise deepest
        raise _mistyped(place, words, value)

    return Converter(words, convert)


def _nothing(place: str, value: Any) -> None:
    if value is not None:
        raise _mistyped(place, "None", value)


def _protocol(kind: type[Any]) -> Converter:
    """An object with the methods of a protocol."""
    methods = [
        name
        for name, value in vars(kind).items()
        if not name.startswith("_") and isinstance(value, types.FunctionType)
    ]
    words = f"an object with the methods {' and '.join(methods)}"

    def convert(place: str, value: Any) -> object:
        if not all(callable(getattr(value, name, None)) for name in methods):
            raise _mistyped(place, words, value)
        return value

    return Converter(words, convert)


def _instance(kind: type[Any]) -> Converter:
    words = f"{article(kind)} {kind.__name__}"

    def convert(place: str, value: Any) -> object:
        if not isinstance(value, kind) or _is_missing(value):
            raise _mistyped(place, words, value)
        return value

    return Converter(words, convert)


ANYTHING = Converter("anything", lambda _, value: value)

NOTHING = Converter("None", _nothing)
UNDOUBTED = Converter("a number", _plain_number)

PLAIN: dict[object, Converter] = {
    float: Converter("a number", _number),
    int: Converter("a whole number", _whole),
    bool: Converter("True or False", _flag),
    str: Converter("a text", _text),
    datetime: Converter("a datetime with a time zone", _instant),
    timedelta: Converter("a timedelta", _instance(timedelta).convert),
    time: Converter("a datetime.time", _instance(time).convert),
    Prices: Converter("Prices", _prices),
    ArrowTable: Converter("a table", _table),
    type(None): NOTHING,
}


def converter_of(hint: Any, names: Mapping[str, Any]) -> Converter:
    """Build the converter of an annotation.

    Args:
        hint: A resolved annotation.
        names: Names in which annotations of classes inside of it are resolved.
    """
    try:
        if hint in PLAIN:
            return PLAIN[hint]
    except TypeError:
        return ANYTHING
    if get_origin(hint) is not None:
        return _generic(get_origin(hint), get_args(hint), names)
    if hint in {Any, object} or not isinstance(hint, type):
        return ANYTHING
    if _is_row(hint):
        return _row(hint, lambda: hints_of(hint, names))
    return _protocol(hint) if getattr(hint, "_is_protocol", False) else _instance(hint)


def _generic(origin: Any, inner: tuple[Any, ...], names: Mapping[str, Any]) -> Converter:
    if origin is Literal:
        return _literal(inner)
    is_class = isinstance(origin, type)
    parts = [converter_of(each, names) for each in inner if each is not Ellipsis]
    if origin in {Union, types.UnionType}:
        found = _union(_told_apart(parts, inner))
    elif origin is tuple and inner[-1] is not Ellipsis:
        found = _fixed(parts)
    elif is_class and issubclass(origin, Mapping):
        found = _mapping(*parts)
    elif is_class and issubclass(origin, Iterable):
        found = _several(parts[0], inner[0])
    elif origin is Callable:
        found = Converter("a function", _function)
    else:
        found = _instance(origin) if is_class else ANYTHING
    return found


def _function(place: str, value: Any) -> object:
    if not callable(value):
        raise _mistyped(place, "a function", value)
    return value


def _told_apart(options: Sequence[Converter], hints: Sequence[Any]) -> list[Converter]:
    """Tell the tuples of a union apart: plain ones are read as the first named tuple.

    A named tuple that is no member has another meaning, such as percent in place of kWh.
    """
    rows = [hint for hint in hints if _is_row(hint)]
    if not rows:
        return list(options)
    return [
        _only(option, rows[0], named=_is_row(hint))
        if (_is_row(hint) and hint is not rows[0]) or get_origin(hint) is tuple
        else option
        for option, hint in zip(options, hints, strict=True)
    ]


def _is_row(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def _only(option: Converter, row: type[Any], *, named: bool) -> Converter:
    """Take either named tuples alone, or plain ones alone, which are read as a ``row``."""
    unit = OF_FIELD.get(row._fields[-1].rpartition("_")[2])
    wanted = f"{row.__name__}, which is in {unit}" if unit else row.__name__

    def convert(place: str, value: Any) -> object:
        is_named = isinstance(value, tuple) and hasattr(value, "_fields")
        if is_named and not named and not isinstance(value, row):
            message = f"{place} is a {type(value).__name__}; give a {wanted}"
            raise WrongError(TypeError(message), depth=1)
        if is_named is not named:
            raise _mistyped(place, option.words, value)
        return option(place, value)

    return Converter(option.words, convert)


def _union(options: Sequence[Converter]) -> Converter:
    if any(option is ANYTHING for option in options):
        return ANYTHING
    known = [option for option in options if option is not NOTHING]
    either = _either(known) if len(known) > 1 else known[0]
    if len(known) == len(options):
        return either
    words = f"{either.words} or None"

    def convert(place: str, value: Any) -> object:
        return None if value is None else either(place, value)

    return Converter(words, convert)


_HINTS: dict[object, dict[str, Converter]] = {}


def hints_of(annotated: Any, names: Mapping[str, Any]) -> dict[str, Converter]:
    """The converters of the parameters of a function, or of the fields of a class."""
    known = _HINTS.get(annotated)
    if known is None:
        known = _HINTS[annotated] = {
            name: _converter_of_text(name, hint, names)
            for name, hint in annotated.__annotations__.items()
            if name != "return" and not name.startswith("_")
        }
        hints = annotated.__annotations__
        undoubted: set[str] = set()
        if annotated.__name__ in LARGE:
            # A power over time stays what it is.
            undoubted = {
                name
                for name, hint in hints.items()
                if name.endswith(("_kw", "_kwh")) and "OverTime" not in str(hint)
            }
        if annotated.__name__ in ANY_SIZE:
            undoubted = known.keys() & DOUBTED
        known |= {
            name: _union([UNDOUBTED, NOTHING]) if "None" in str(hints[name]) else UNDOUBTED
            for name in undoubted
        }
    return known


def _converter_of_text(name: str, hint: object, names: Mapping[str, Any]) -> Converter:
    """Resolve one annotation. A name of an optional library leaves its place unchecked."""

    def holder() -> None: ...

    holder.__annotations__ = {name: hint}
    try:
        resolved = typing.get_type_hints(holder, globalns=dict(names))[name]
    except NameError:
        return ANYTHING
    return converter_of(resolved, names)
