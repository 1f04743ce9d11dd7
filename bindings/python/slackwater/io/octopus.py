"""Unit rates of Octopus Agile and its relatives, as JSON."""

import os
from collections.abc import Mapping, Sequence

from slackwater._engine import InputError
from slackwater.io._json import Json, aware_time, load_json, number_of
from slackwater.io._prices import Meaning, PriceImport, PriceRow, prices_from_rows
from slackwater.io._text import StrPath, read_text


def read_octopus(
    source: StrPath | Mapping[str, Json] | Sequence[Mapping[str, Json]],
    *,
    vat_included: bool = True,
    payment_method: str | None = None,
) -> PriceImport:
    """Read unit rates in pence per kWh, newest or oldest first.

    A rate whose ``valid_to`` is null lasts as long as the others, but not
    beyond the next rate, and a note names it: nothing says when it ends.

    Args:
        source: A JSON file, or what was read from one: an answer with
            ``results``, or the list of results itself.
        vat_included: Read ``value_inc_vat``; else ``value_exc_vat``.
        payment_method: The rates of one way to pay, where the list has
            several, such as ``"DIRECT_DEBIT"``.

    Returns:
        Prices in GBP per kWh, gaps and notes.

    Raises:
        InputError: A result lacks its rate or its start, rates overlap, or
            several ways to pay are mixed.

    Example:
        >>> from slackwater import io, samples
        >>> day = io.read_octopus(samples.OCTOPUS_DAY)
        >>> day
        <PriceImport: 48 slots in GBP, 0 gaps, 1 note>
        >>> print(day.notes[0])
        row 1 names no end: it is taken for 2026-07-18 22:30 UTC to 2026-07-18 23:00 UTC
    """
    path, answer = _load(source)
    notes = []
    if isinstance(answer, Mapping):
        if answer.get("next"):
            notes.append("'next' names a further page: only this one was read")
        results = answer.get("results")
    else:
        results = answer
    if not isinstance(results, Sequence) or isinstance(results, str):
        raise InputError(f"{path}: there is no list of 'results'")
    key = "value_inc_vat" if vat_included else "value_exc_vat"
    numbered = _by_payment(path, list(enumerate(results, start=1)), payment_method)
    rows = [_row(path, number, result, key) for number, result in numbered]
    return prices_from_rows(path, rows, Meaning("UTC", "GBP", "p/kWh"), notes=notes)


def _load(source: StrPath | Mapping[str, Json] | Sequence[Mapping[str, Json]]) -> tuple[str, Json]:
    if isinstance(source, str | os.PathLike):
        return str(source), load_json(str(source), read_text(source))
    return "octopus", source


def _by_payment(
    path: str, results: list[tuple[int, Json]], payment_method: str | None
) -> list[tuple[int, Json]]:
    """The results of one way to pay; those that name none are everyone's."""
    for number, result in results:
        if not isinstance(result, Mapping):
            raise InputError(f"{path}, row {number}: {result!r} is no rate")
    ways = [result.get("payment_method") for _, result in results]
    named = {way for way in ways if isinstance(way, str)}
    found = ", ".join(repr(name) for name in sorted(named))
    if payment_method is None:
        if len(named) > 1:
            raise InputError(f"{path}: rates differ by payment_method; say one of {found}")
        return results
    if payment_method not in named:
        raise InputError(
            f"{path}: no rate is for payment_method {payment_method!r}; found: {found}"
        )
    others = named - {payment_method}
    return [entry for entry, way in zip(results, ways, strict=True) if str(way) not in others]


def _row(path: str, number: int, result: Mapping[str, Json], key: str) -> PriceRow:
    rate = number_of(result.get(key))
    if rate is None:
        raise InputError(f"{path}, row {number}: {key} is {result.get(key)!r}, no number")
    start = aware_time(path, number, "valid_from", result.get("valid_from"))
    end = result.get("valid_to")
    until = None if end is None else aware_time(path, number, "valid_to", end)
    return PriceRow(number, start, until, rate)
