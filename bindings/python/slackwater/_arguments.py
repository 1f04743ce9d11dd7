"""Arguments that the native part cannot convert: numbers and texts beyond what it holds.

Python's integers have no end, and its texts may hold surrogates that stand alone. Where such a
value meets a number or a text of the native part, the conversion fails with ``OverflowError`` or
``UnicodeEncodeError``, which names no argument. :func:`guard` makes an ``InputError`` of it that
does, for all functions and methods of the module at once.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from types import MethodDescriptorType, ModuleType
from typing import ParamSpec, TypeVar

from slackwater import _engine

DEPTH_MAX = 6
NAMED_MAX = 3
Given = ParamSpec("Given")
Made = TypeVar("Made")
CONVERSIONS = (OverflowError, UnicodeEncodeError)
# What PyO3 says of an argument of another type.
NO_INSTANCE = re.compile(r"object is not an instance of '(\w+)'")
PROCESSED = re.compile(r"while processing '(\w+)'")
# What the native part says of a time near the ends of the calendar, without its place.
OUTSIDE_OF_YEARS = re.compile(r"\S+ \S+( UTC)? lies outside the years (\d+) to (\d+)")


def guard(module: ModuleType) -> None:
    """Let every function and method of a native module refuse such arguments by name."""
    refusal: type[Exception] = module.InputError
    for name, value in list(vars(module).items()):
        if inspect.isbuiltin(value):
            setattr(module, name, _guarded(value, refusal))
        elif inspect.isclass(value) and not issubclass(value, BaseException):
            _guard_class(value, refusal)


def _guard_class(kind: type, refusal: type[Exception]) -> None:
    for name, value in list(vars(kind).items()):
        if isinstance(value, staticmethod):
            setattr(kind, name, staticmethod(_guarded(value.__func__, refusal)))
        elif isinstance(value, MethodDescriptorType) and not name.startswith("__"):
            setattr(kind, name, _guarded(value, refusal))


def _guarded(function: Callable[Given, Made], refusal: type[Exception]) -> Callable[Given, Made]:
    @functools.wraps(function)
    def call(*given: Given.args, **named: Given.kwargs) -> Made:
        try:
            return function(*given, **named)
        except (*CONVERSIONS, TypeError) as error:
            conversion = _conversion(error)
            if conversion is not None:
                raise refusal(describe(function, given, named, conversion)) from error
            wrong = _wrong_type(error, function, given, named)
            if wrong is not None:
                raise TypeError(wrong) from error
            raise
        except refusal as error:
            placed = tell_time(error, function, given, named)
            if placed is not None:
                raise refusal(placed) from None
            raise

    return call


def check_until(until: datetime | None, now: datetime) -> datetime | None:
    """Return the end of a plan, which is not before its start.

    Raises:
        InputError: It is.
    """
    # Times of one zone are compared by what its clocks show, which is not the order in autumn.
    if until is not None and _utc(until) < _utc(now):
        raise _engine.InputError(f"until is {until}, which is before now, {now}")
    return until


def check_time_max(time_max: timedelta | None) -> timedelta | None:
    """Return the longest time of a search, which is 0 or more; ``None`` is no limit.

    Raises:
        InputError: It is below 0.
    """
    if time_max is not None and time_max < timedelta(0):
        seconds = time_max.total_seconds()
        raise _engine.InputError(f"time_max is {seconds:g} s; a search takes 0 s or more")
    return time_max


def _conversion(error: BaseException) -> type[Exception] | None:
    """The failed conversion behind an error; ``None`` if it is another."""
    cause: BaseException | None = error
    while cause is not None:
        for kind in CONVERSIONS:
            # Where a value may be of several kinds, the text tells why it is none of them.
            if isinstance(cause, kind) or f"{kind.__name__}: " in str(cause):
                return kind
        cause = cause.__cause__
    return None


def _wrong_type(
    error: BaseException,
    function: Callable[..., object],
    given: tuple[object, ...],
    named: Mapping[str, object],
) -> str | None:
    """The argument that is of another type, with its value; ``None`` if it is another error."""
    text = "\n".join([str(error), *getattr(error, "__notes__", [])])
    wanted, argument = NO_INSTANCE.search(text), PROCESSED.search(text)
    if wanted is None or argument is None:
        return None
    values = inspect.signature(function).bind(*given, **named).arguments
    return f"{argument[1]} is {values[argument[1]]!r}; give a {wanted[1]}"


def describe(
    function: Callable[..., object],
    given: tuple[object, ...],
    named: Mapping[str, object],
    conversion: type[Exception],
) -> str:
    """Name the arguments that no number or text of the native part can hold."""
    leaves = _leaves_of(function, given, named)
    if conversion is UnicodeEncodeError:
        odd = [
            (name, text) for name, text in leaves if isinstance(text, str) and _has_surrogate(text)
        ]
        words = [f"{name} is {text[:40]!a}" for name, text in odd[:NAMED_MAX]]
        return f"{' and '.join(words) or 'a text'}, which holds a lone surrogate"
    whole = [(n, v) for n, v in leaves if isinstance(v, int) and not isinstance(v, bool)]
    numbers = [f"{name} is {_number(value)}" for name, value in _farthest(whole)[:NAMED_MAX]]
    return f"{' or '.join(numbers) or 'a whole number'}, which is out of range"


def tell_time(
    error: BaseException,
    function: Callable[..., object],
    given: tuple[object, ...],
    named: Mapping[str, object],
) -> str | None:
    """Name the argument with a time that has no place in the calendar of the native part.

    Returns:
        The words with the place; ``None`` of another error, and of one that tells the place.
    """
    cause: BaseException | None = error
    told = OUTSIDE_OF_YEARS.search(str(error))
    while told is None and cause is not None:
        told, cause = OUTSIDE_OF_YEARS.search(str(cause)), cause.__cause__
    if told is None or (told.start() > 0 and not isinstance(error, TypeError)):
        return None
    first, last = int(told[2]), int(told[3])
    times = [
        (place, at)
        for place, at in _leaves_of(function, given, named)
        if isinstance(at, datetime) and at.tzinfo is not None
    ]
    far = (place for place, at in times if not first <= _utc(at).year <= last)
    return next((f"{place}: {told[0]}" for place in far), None)


def _utc(at: datetime) -> datetime:
    """A time in UTC, as far as the calendar goes."""
    try:
        return at.astimezone(UTC)
    except OverflowError:
        return at.replace(tzinfo=UTC)


def _farthest(numbers: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The numbers beyond the range of ``float``; or else 64 bits, 32 bits, or below zero."""
    for most in (sys.float_info.max, 2**63 - 1, 2**31 - 1, 0):
        beyond = [(name, value) for name, value in numbers if value < -most or value > most > 0]
        if beyond:
            return beyond
    return []


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _number(value: int) -> str:
    bits = value.bit_length()
    return str(value) if bits <= 128 else f"a whole number of {bits} bits"


def _leaves_of(
    function: Callable[..., object], given: tuple[object, ...], named: Mapping[str, object]
) -> list[tuple[str, object]]:
    """The whole numbers, texts and times inside of all arguments, each with its place."""
    names = list(inspect.signature(function).parameters)
    values = [*zip(names, given, strict=False), *named.items()]
    return [leaf for name, value in values for leaf in _leaves(name, value, DEPTH_MAX)]


def _leaves(name: str, value: object, depth: int) -> Iterator[tuple[str, object]]:
    if isinstance(value, str | int | datetime):
        yield name, value
        return
    for place, inner in _parts(value) if depth > 0 else ():
        yield from _leaves(f"{name}{place}", inner, depth - 1)


def _parts(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield f" (key {key!a})", key
            yield f"[{key!a}]", inner
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from ((f".{name}", inner) for name, inner in zip(value._fields, value, strict=True))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{index}]", inner) for index, inner in enumerate(value))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((f".{field.name}", getattr(value, field.name)) for field in fields(value))
