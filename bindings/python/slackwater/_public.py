"""Guard of all public functions, methods and constructors.

Each call has its arguments converted by their annotations (:mod:`slackwater._conversion`), and
refuses names that are not read: earlier names and slips of the pen by the name that is meant. The
functions themselves are written as if every argument were of its type.
"""

from __future__ import annotations

import builtins
import collections.abc
import dataclasses
import functools
import inspect
import os
import pathlib
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from types import FunctionType, ModuleType
from typing import Any

from slackwater import _arguments, _conversion, _engine

PACKAGE = "slackwater"
# The only library that is not there without an extra.
DRAWING = "matplotlib"
# What reads a table of ours, by the method that tables of other libraries have for it.
READERS = {
    "to_arrow": "pyarrow.table(x)",
    "to_pandas": "pandas.DataFrame.from_arrow(x)",
    "to_polars": "polars.DataFrame(x)",
}
# Nodes of an area name themselves in what is wrong with them, where they are planned.
SELF_CHECKED = {"Node"}
# The command line hands over what it reads as JSON.
FED_BY_COMMANDS = {"area_nodes"}


def guard(folder: str) -> None:
    """Guard the functions that a folder exports, wherever they are imported to, and its classes.

    Functions that modules have for each other get what they are annotated with.

    Args:
        folder: Name of a module; those below it that are loaded are guarded as well.
    """
    modules = [module for name, module in list(sys.modules.items()) if _is_public(name, folder)]
    guarded = {
        value: _guarded(value, value.__name__)
        for value in _exports(sys.modules[folder], modules)
        if isinstance(value, FunctionType)
        and _is_public(value.__module__, folder)
        and not value.__name__.startswith("_")
        and not hasattr(value, "__wrapped__")
    }
    for module in modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and value in guarded:
                setattr(module, name, guarded[value])
            elif inspect.isclass(value) and value.__module__ == module.__name__:
                _guard_class(value)


def _is_public(name: str, folder: str) -> bool:
    """Whether a module has names for users; bases of their classes are in one that has not."""
    is_inside = name == folder or name.startswith(f"{folder}.")
    return is_inside and (
        "._" not in name or name.endswith(("._saved_plan", "._drawn", "._pareto"))
    )


def _exports(folder: ModuleType, modules: Iterable[ModuleType]) -> Iterator[object]:
    """Names that users import: all in an `__all__`, and those that modules in one define."""
    # Modules that are imported on demand are not there yet; they guard themselves.
    namespaces = [(vars(each), getattr(each, "__all__", ())) for each in modules]
    named = [names[name] for names, public in namespaces for name in public if name in names]
    yield from named
    for name in FED_BY_COMMANDS:
        yield from (vars(module)[name] for module in modules if name in vars(module))
    for module in (folder, *named):
        if isinstance(module, ModuleType):
            values = list(vars(module).values())
            yield from (one for one in values if getattr(one, "__module__", "") == module.__name__)


def tell_renamed(owner: str, name: str, known: Iterable[str]) -> str | None:
    """Today's name for an earlier one; ``None`` if it is no earlier name of a known one."""
    meant = _engine.meant_name(name, owner, list(known))
    return None if meant is None or not meant[1] else meant[0]


def guard_attributes(kind: type[Any]) -> None:
    """Let a class tell the names that attributes have today."""

    def __getattr__(self: object, name: str) -> object:  # noqa: N807  set on the class below
        owner = type(self).__name__
        today = None if name.startswith("_") else tell_renamed(owner, name, dir(type(self)))
        message = f"{owner!r} object has no attribute {name!r}"
        if today is not None:
            message = f"`{name}` of {owner} is called `{today}`"
        elif hasattr(type(self), "__arrow_c_stream__") and not name.startswith("_"):
            message += _way_to_read(self, name)
        raise AttributeError(message, name=name, obj=self)

    kind.__getattr__ = __getattr__


def _way_to_read(table: object, name: str) -> str:
    """How a library of tables reads what is asked for; nothing if it is no such name."""
    if hasattr(type(table), "column_names") and name in getattr(table, "column_names", ()):
        return f"; it is a column: polars.DataFrame(x)[{name!r}], or in any other Arrow library"
    return f"; {READERS[name]} reads it" if name in READERS else ""


def _guard_class(kind: type[Any]) -> None:
    is_protocol = getattr(kind, "_is_protocol", False)
    if is_protocol or issubclass(kind, BaseException) or "__getattr__" in vars(kind):
        return
    guard_attributes(kind)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        if not kind.__name__.startswith("_"):
            _guard_row(kind)
        return
    for name, value in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        place = f"{kind.__name__}.{name}"
        if isinstance(value, FunctionType):
            setattr(kind, name, _guarded(value, place, skipped=1))
        elif isinstance(value, classmethod):
            function = typing.cast("FunctionType", value.__func__)
            setattr(kind, name, classmethod(_guarded(function, place, skipped=1)))
    is_dataclass = dataclasses.is_dataclass(kind)
    # Classes with a base are made by functions; they are given what the native part made.
    is_made_by_users = kind.__bases__ == (object,) and "._" not in kind.__module__
    if is_dataclass or (is_made_by_users and "__init__" in vars(kind)):
        init = typing.cast("FunctionType", kind.__init__)
        fields: Any = kind if is_dataclass else init
        checked = fields if kind.__name__ not in SELF_CHECKED else None
        setattr(kind, "__init__", _guarded(init, kind.__name__, skipped=1, fields=checked))  # noqa: B010  mypy


def _guard_row(kind: type[Any]) -> None:
    """Let a named tuple refuse names of fields; its values are checked where it is used."""
    make = kind.__new__

    @functools.wraps(make)
    def __new__(cls: type[Any], *given: object, **named: object) -> object:  # noqa: N807
        try:
            return make(cls, *given, **named)
        except TypeError:
            _refuse_unknown(kind.__name__, named, kind._fields)
            raise

    kind.__new__ = __new__  # type: ignore[assignment]


def _guarded(
    function: FunctionType, name: str, *, skipped: int = 0, fields: type[Any] | None = None
) -> Any:
    """Wrap a function.

    Args:
        function: What converts nothing by itself.
        name: Its name in messages.
        skipped: Arguments in front that the caller does not give: ``self`` or ``cls``.
        fields: Class whose annotations are those of the parameters; ``None`` for the function.
    """
    is_init = function.__name__ == "__init__"
    annotated: Any = fields if is_init else function

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        names, in_place, rest_kinds = _parameters(function)
        if inspect.Parameter.VAR_KEYWORD not in rest_kinds and not named.keys() <= set(names):
            _refuse_unknown(_place_of(name, given[:skipped]), named, names[skipped:])
        if inspect.Parameter.VAR_POSITIONAL not in rest_kinds and len(given) > len(in_place):
            count, by_name = len(in_place) - skipped, names[len(in_place) :]
            raise _misplaced(_place_of(name, given[:skipped]), count, by_name)
        if annotated is None:
            return function(*given, **named)
        hints = _conversion.hints_of(annotated, _names_of(annotated.__module__))
        own, rest = given[:skipped], given[skipped:]
        try:
            rest = tuple(
                hints[place](place, value) if place in hints else value
                for place, value in _pairs(in_place[skipped:], rest)
            )
            named = {
                place: hints[place](place, value) if place in hints else value
                for place, value in named.items()
            }
        except _conversion.WrongError as wrong:
            raise wrong.error from None
        try:
            return function(*own, *rest, **named)
        except Exception as error:
            told = _told(error, function, (*own, *rest), named)
            if told is None:
                raise
            raise told from (error if isinstance(error, _arguments.CONVERSIONS) else None)

    return call


def _told(
    error: Exception, function: FunctionType, given: tuple[Any, ...], named: Mapping[str, Any]
) -> Exception | None:
    """An error of the machinery in words that help; ``None`` of any other."""
    if isinstance(error, _arguments.CONVERSIONS):
        return _engine.InputError(_arguments.describe(function, given, named, type(error)))
    if isinstance(error, TypeError | _engine.InputError):
        placed = _arguments.tell_time(error, function, given, named)
        if placed is not None:
            return _engine.InputError(placed)
    if isinstance(error, ModuleNotFoundError):
        if str(error.name).partition(".")[0] != DRAWING:
            return None
        message = f'drawing needs {DRAWING}: pip install "slackwater[plot]"'
        return ModuleNotFoundError(message, name=DRAWING)
    is_of_table = isinstance(error, TypeError | ValueError)
    return _conversion.refused_column(error) if is_of_table else None


@functools.cache
def _parameters(function: FunctionType) -> tuple[list[str], list[str], set[object]]:
    """Names of the parameters, those that may stand by position, and kinds that take any number.

    Read at the first call: signatures of all functions would be a good part of the import.
    """
    parameters = inspect.signature(function).parameters.values()
    positional = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    in_place = [one.name for one in parameters if one.kind in positional]
    by_name = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    open_ended: set[object] = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    return in_place + by_name, in_place, open_ended & {one.kind for one in parameters}


def _place_of(name: str, owners: tuple[Any, ...]) -> str:
    """A function in messages: methods are those of the class at hand, not of one of its bases."""
    if not owners or "." not in name:
        return name
    kind = owners[0] if inspect.isclass(owners[0]) else type(owners[0])
    return f"{kind.__name__}.{name.partition('.')[2]}"


def _misplaced(name: str, count: int, by_name: list[str]) -> TypeError:
    """Too many arguments are given by position."""
    named = ", ".join(f"{one}=" for one in by_name)
    way = f"; the others have names: {named}" if named else ""
    return TypeError(f"{name}() takes {count or 'none'} by position{way}")


def _pairs(names: list[str], values: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """Positional arguments with their names; those too many go on without one."""
    for index, value in enumerate(values):
        yield names[index] if index < len(names) else "", value


def _refuse_unknown(owner: str, named: Mapping[str, object], known: Iterable[str]) -> None:
    """Refuse a keyword that is not taken, by the name that is meant.

    Raises:
        TypeError: There is such a keyword.
    """
    known = list(known)
    for name in named:
        if name in known:
            continue
        without_unit = [each for each in known if each.startswith(f"{name}_")]
        meant = _engine.meant_name(name, owner, known)
        if meant is None and len(without_unit) == 1:
            meant = without_unit[0], False
        message = f"{owner}() takes no {name!r}"
        if meant is not None and meant[1]:
            message = f"{owner}(): `{name}` is called `{meant[0]}`"
        elif meant is not None:
            message = f"{message}; is it {meant[0]!r}?"
        raise TypeError(message)


@functools.cache
def _names_of(module: str) -> dict[str, Any]:
    """Names in annotations of a module, those included that only type checkers import."""
    names: dict[str, Any] = dict(vars(builtins))
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").partition(".")[0] == PACKAGE:
            public = vars(other).items()
            names |= {name: value for name, value in public if not name.startswith("_")}
    for known in (typing, collections.abc):
        names |= {name: getattr(known, name) for name in known.__all__}
    names |= {kind.__name__: kind for kind in (datetime, timedelta, time, date)}
    names |= {"PathLike": os.PathLike, "Path": pathlib.Path, "_engine": _engine}
    return names | vars(sys.modules[module])
