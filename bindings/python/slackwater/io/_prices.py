"""What all price readers share: rows of times and prices, and their answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeAlias

from slackwater import _engine
from slackwater._engine import InputError
from slackwater._record import Record
from slackwater.io._text import ClockTime
from slackwater.prices import Prices

Gap: TypeAlias = tuple[datetime, datetime]
Imported: TypeAlias = tuple[_engine.Prices, list[Gap], list[str]]


@dataclass(frozen=True, repr=False)
class PriceImport(Record):
    """Prices from a file, and what became of the rest of the file.

    Attributes:
        prices: The prices, for all that plans. A gap is time without a price.
        gaps: Periods ``(start, end)`` inside the file that have no price,
            oldest first.
        notes: A sentence for all that was guessed, dropped, resolved or found
            missing. Rows are counted as lines of the file, the header being
            row 1; in JSON, entries are counted from 1.
    """

    prices: Prices
    gaps: tuple[Gap, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        slots = f"{_count(len(self.prices), 'slot')} in {self.prices.currency}"
        gaps, notes = _count(len(self.gaps), "gap"), _count(len(self.notes), "note")
        return f"<PriceImport: {slots}, {gaps}, {notes}>"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class PriceRow(NamedTuple):
    """A row of a price list."""

    number: int
    start: ClockTime
    end: ClockTime | None
    price: float | None


@dataclass(frozen=True)
class Meaning:
    """What the rows of a price list mean."""

    time_zone: str
    currency: str
    unit: str
    step_minutes: int | None = None
    holds_until_next: bool = False


def imported(
    path: str, call: Callable[[], Imported], *, notes: Sequence[str] = (), hint: str = ""
) -> PriceImport:
    """The answer of the engine. An error gets the path ahead of it and a hint after it."""
    try:
        prices, gaps, found = call()
    except InputError as error:
        raise InputError(f"{path}: {error}{hint}") from None
    return PriceImport(Prices._wrap(prices), tuple(gaps), (*notes, *found))


def published(found: Imported) -> PriceImport:
    """The answer of a reader of the engine, whose errors name the file themselves."""
    prices, gaps, notes = found
    return PriceImport(Prices._wrap(prices), tuple(gaps), tuple(notes))


def prices_from_rows(
    path: str,
    rows: Sequence[PriceRow],
    meaning: Meaning,
    *,
    notes: Sequence[str] = (),
    hint: str = "",
) -> PriceImport:
    """Prices from rows that all name an offset, or all none.

    Raises:
        InputError: Some rows name an offset and some do not, or the engine
            refuses the rows.
    """
    aware = bool(rows) and rows[0].start.time.tzinfo is not None
    for row in rows:
        if any(
            (time.time.tzinfo is not None) is not aware for time in (row.start, row.end) if time
        ):
            raise InputError(
                f"{path}, row {row.number}: only some times of the file have an offset"
            )

    def call() -> Imported:
        if aware:
            return _engine.prices_from_instant_rows(
                [(row.number, row.start.time, row.end and row.end.time, row.price) for row in rows],
                time_zone=meaning.time_zone or "UTC",
                currency=meaning.currency,
                unit=meaning.unit,
                step_minutes=meaning.step_minutes,
                holds_until_next=meaning.holds_until_next,
            )
        return _engine.prices_from_civil_rows(
            [
                (row.number, row.start.time, row.start.name, row.end and row.end.time, row.price)
                for row in rows
            ],
            time_zone=meaning.time_zone,
            currency=meaning.currency,
            unit=meaning.unit,
            step_minutes=meaning.step_minutes,
            holds_until_next=meaning.holds_until_next,
        )

    return imported(path, call, notes=notes, hint=hint)
