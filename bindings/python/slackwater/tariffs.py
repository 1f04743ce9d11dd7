"""Tariffs: those of operators, as they are billed, and which of several prices counts."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

from slackwater import _engine, _public
from slackwater._engine import BillingTariff, InputError
from slackwater._record import Record
from slackwater._row import native_prices, row
from slackwater.prices import Prices

if TYPE_CHECKING:
    from os import PathLike

    from slackwater._engine import TariffEntries

Source: TypeAlias = Literal["price_signal", "tariff", "market"]


class _RateFields(NamedTuple):
    name: str
    cost: str | Decimal


class Rate(_RateFields, Record):
    """A named price.

    Attributes:
        name: Unique in its tariff.
        cost: Price per kWh, exact: a ``Decimal`` or its text, such as
            ``"0.25"``. A float is refused, because it is not exact.
    """

    __slots__ = ()


class _TariffIntervalFields(NamedTuple):
    name: str
    weekdays: Sequence[int] | None = None
    start: time | str | None = None
    end: time | str | None = None


class TariffInterval(_TariffIntervalFields, Record):
    """When a rate holds, by the clocks of the location.

    Each instant is looked at by itself: 22:00 to 06:00 on weekday 4 is from
    00:00 to 06:00 and from 22:00 on, of each Friday.

    Attributes:
        name: Name of the rate.
        weekdays: From 0 (Monday) to 6 (Sunday); ``None`` is the whole week.
        start: First minute of the day; ``None`` is midnight.
        end: First minute after it; ``None`` is the end of the day. Where it
            equals ``start`` the interval is the whole day.
    """

    __slots__ = ()


class _TariffFields(NamedTuple):
    rates: Sequence[Rate]
    intervals: Sequence[TariffInterval]
    currency: str
    time_zone: str = "UTC"


class Tariff(_TariffFields, Record):
    """Rates on a weekly schedule. Where no interval holds there is no price.

    Attributes:
        rates: Named prices.
        intervals: When they hold; they may touch but not overlap.
        currency: Name of the currency, such as ``EUR``.
        time_zone: IANA name of the zone of the location.
    """

    __slots__ = ()


class _ResolvedSlotFields(NamedTuple):
    start: datetime
    end: datetime
    price_per_kwh: float
    source: Source


class ResolvedSlot(_ResolvedSlotFields, Record):
    """A period of constant price, and where the price came from."""

    __slots__ = ()


class _ResolvedPriceFields(NamedTuple):
    price_per_kwh: float
    source: Source


class ResolvedPrice(_ResolvedPriceFields, Record):
    """The price at an instant, and where it came from."""

    __slots__ = ()


class _ResolvedPricesFields(NamedTuple):
    prices: Prices
    sources: list[Source]


class ResolvedPrices(_ResolvedPricesFields, Record):
    """Prices of several sources laid over each other.

    Attributes:
        prices: What counts, for plans. Where no source has a price is a gap.
        sources: Where the price of each slot came from.
    """

    __slots__ = ()

    @property
    def slots(self) -> list[ResolvedSlot]:
        """List the slots with their sources, oldest first, in UTC."""
        slots = zip(self.prices.slots, self.sources, strict=True)
        return [ResolvedSlot(*slot, source) for slot, source in slots]


def list_tariffs(*, country: str | None = None) -> TariffEntries:
    """List the tariffs of operators that come with the package.

    :func:`slackwater.bill` takes their names. Each states its source and the dates for which that
    holds. Numbers are those of the day they were stated: check them against the operator before
    money depends on them.

    Args:
        country: Only those of a country, by its ISO 3166 code such as ``"NO"``.

    Returns:
        A sequence that is an Arrow table as well: ``polars.DataFrame(list_tariffs())``.

    Example:
        >>> entry = list_tariffs(country="BE")[1]
        >>> entry.id, entry.operator, entry.currency, entry.valid_to
        ('be-flanders-2023', 'Fluvius', 'EUR', datetime.date(2024, 1, 1))
    """
    return _engine.list_tariffs(country=country)


def load_tariff(id: str) -> BillingTariff:  # noqa: A002  it is `TariffEntry.id`
    """Load a tariff that comes with the package.

    Args:
        id: Its name in :func:`list_tariffs`.

    Raises:
        InputError: There is none of that name; the message has those near it.

    Example:
        >>> tariff = load_tariff("be-flanders-2023")
        >>> tariff.categories, tariff.sources[0].url.split("/")[2]
        (['network'], 'www.fluvius.be')
        >>> load_tariff("be-flanders")
        Traceback (most recent call last):
        slackwater.InputError: there is no tariff "be-flanders"; near it are "be-flanders-2023"; \
tariffs.list_tariffs() has all of them
    """
    return _engine.load_tariff(id)


def read_tariff(source: str | PathLike[str] | Mapping[str, Any]) -> BillingTariff:
    """Read a tariff of your own, which :func:`slackwater.bill` takes.

    The format is that of the tariffs that come with the package: ``load_tariff(id).to_dict()``
    shows it. Prices and powers are texts, such as ``"0.2915"``, because floats are not exact.

    Args:
        source: A file that ends in ``.toml`` or ``.json``, or what it holds as a mapping.

    Raises:
        InputError: The file is neither TOML nor JSON, a field is missing or unknown, or a value
            is out of range; the message names the field.
        OSError: The file cannot be read.

    Example:
        >>> tariff = read_tariff(
        ...     {
        ...         "name": "Peaks alone",
        ...         "operator": "Example",
        ...         "country": "BE",
        ...         "currency": "EUR",
        ...         "time_zone": "Europe/Brussels",
        ...         "valid_from": "2026-01-01",
        ...         "vat": "excluded",
        ...         "sources": [{"document": "Price list", "url": "https://example.org"}],
        ...         "components": [
        ...             {
        ...                 "kind": "capacity",
        ...                 "id": "monthly peak",
        ...                 "category": "network",
        ...                 "demand": {"window": "quarter_hour", "highest": 1},
        ...                 "charge": {"per": "month", "price": "4.25"},
        ...             }
        ...         ],
        ...     }
        ... )
        >>> tariff.components[0].id
        'monthly peak'
    """
    if isinstance(source, Mapping):
        return BillingTariff(json.dumps(dict(source), default=_text_of))
    path = Path(source)
    if path.suffix not in (".toml", ".json"):
        raise InputError(f"source is {str(path)!r}; it ends in .toml or .json")
    text = path.read_text(encoding="utf-8")
    try:
        if path.suffix == ".toml":
            text = json.dumps(tomllib.loads(text), default=_text_of)
        return BillingTariff(text)
    except (InputError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {error}") from None


def _text_of(value: object) -> str:
    """A value that TOML has and JSON has not: a date; and a decimal number of Python."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    message = f"{value!r} is no value of a tariff; give a text, a date, a number or a list"
    raise TypeError(message)


def check_rates(rates: Sequence[Rate]) -> None:
    """Refuse invalid rates.

    Raises:
        InputError: Two rates have one name, or a cost is no decimal number of
            at most 28 digits.
        TypeError: A cost is a float.

    Example:
        >>> check_rates([Rate("low", "0.10"), Rate("high", "0,35")])
        Traceback (most recent call last):
        slackwater.InputError: rates[1].cost: "0,35" is not a decimal number such as 0.25 or -1
    """
    _engine.check_rates(_rates(rates))


def check_intervals(intervals: Sequence[TariffInterval]) -> None:
    """Refuse intervals that overlap or are invalid.

    Each weekday is looked at with its parts before and after midnight, so the
    answer does not depend on the order of the intervals.

    Raises:
        InputError: Two intervals overlap, a weekday is not 0 to 6, or a time
            is not ``HH:MM``.

    Example:
        >>> check_intervals(
        ...     [
        ...         TariffInterval("night", start="22:00", end="06:00"),
        ...         TariffInterval("monday", weekdays=[0], start="05:00", end="07:00"),
        ...     ]
        ... )
        Traceback (most recent call last):
        slackwater.InputError: intervals[1] overlaps intervals[0] on weekday 0 from 05:00 to 06:00
    """
    _engine.check_intervals([row(TariffInterval, interval) for interval in intervals])


def tariff_prices(
    tariff: Tariff | BillingTariff,
    *,
    start: datetime,
    end: datetime,
    direction: Literal["import", "export"] = "import",
    device: str | None = None,
) -> Prices:
    """Write a tariff out as a price curve; gaps between intervals stay gaps.

    An interval in the hour that clocks skip does not occur, one in the hour
    that they show twice occurs twice.

    Of a tariff as it is billed the curve has the sum of all its components per kWh, each with the
    percentages on it, such as value-added tax. Fixed fees and prices of power are not in it. Add
    it to what it leaves out: ``market + tariff_prices(...)``.

    Args:
        tariff: Rates and intervals; or a tariff as it is billed, see :func:`load_tariff`.
        start: First instant, aware.
        end: First instant after it, at most a hundred years later.
        direction: ``"import"``, or ``"export"`` for what a tariff as it is billed pays for energy
            into the grid.
        device: Device of a tariff as it is billed for which a kWh is bought; without it the price
            is that of energy which no device with a price of its own draws.

    Raises:
        InputError: As :func:`check_rates` and :func:`check_intervals`; an
            interval names a rate that is not there; the zone is unknown; a tariff as it is billed
            has no price in that direction, has no such device, does not hold at that time, or has
            an allowance of energy or of hours, whose price depends on what was used before.
        TypeError: A time has no zone.

    Example:
        Sunday, 29 March 2026 has 23 hours in Oslo:

        >>> from datetime import UTC, datetime
        >>> sundays = Tariff(
        ...     [Rate("sunday", "0.05")], [TariffInterval("sunday", [6])], "NOK", "Europe/Oslo"
        ... )
        >>> april = datetime(2026, 4, 1, tzinfo=UTC)
        >>> prices = tariff_prices(sundays, start=datetime(2026, 3, 27, tzinfo=UTC), end=april)
        >>> [(end - start).total_seconds() / 3600 for start, end, _ in prices.slots]
        [23.0]

        A working day of the network of Elvia, with its taxes:

        >>> noon = datetime(2026, 7, 6, 10, tzinfo=UTC)
        >>> elvia = load_tariff("no-elvia-2026-07")
        >>> billed = tariff_prices(elvia, start=noon, end=noon.replace(hour=22))
        >>> [(slot.start.hour, round(slot.price_per_kwh, 4)) for slot in billed.slots]
        [(10, 0.466), (20, 0.314)]
    """
    if isinstance(tariff, BillingTariff):
        native = _engine.energy_prices(
            tariff, start=start, end=end, direction=direction, device=device
        )
        return Prices._wrap(native)
    if device is not None:
        raise InputError("device is for tariffs as they are billed; rates hold for all devices")
    if direction != "import":
        raise InputError("direction is for tariffs as they are billed; rates have one price")
    return Prices._wrap(_engine.tariff_prices(_tariff(tariff), start, end))


def resolve(
    *,
    start: datetime,
    end: datetime,
    tariff: Tariff | None = None,
    market: Prices | None = None,
    price_signal: Prices | None = None,
) -> ResolvedPrices:
    """Tell which price counts in each slot, and where it came from.

    The price signal of the area counts first, then the tariff of the location,
    then the market; a gap falls through to the next. Smart charging has no
    price signal: leave it out. Where none has a price there is a gap.

    Args:
        start: First instant, aware.
        end: First instant after it.
        tariff: Tariff of the location.
        market: Market prices of the zone.
        price_signal: What was pushed for the area, see ``slackwater.signals``.

    Raises:
        InputError: Nothing is given, currencies differ, or as
            :func:`tariff_prices`.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime, timedelta
        >>> five = datetime(2026, 1, 5, 5, tzinfo=UTC)
        >>> market = Prices.from_values(five, [0.20, 0.22], currency="EUR")
        >>> night = TariffInterval("night", end="06:00")
        >>> tariff = Tariff([Rate("night", "0.10")], [night], "EUR")
        >>> resolved = resolve(
        ...     start=five, end=five + timedelta(hours=2), tariff=tariff, market=market
        ... )
        >>> [(slot.start.hour, slot.price_per_kwh, slot.source) for slot in resolved.slots]
        [(5, 0.1, 'tariff'), (6, 0.22, 'market')]
    """
    prices, sources = _engine.resolve_prices(
        start,
        end,
        price_signal=_native(price_signal, "price_signal"),
        tariff=None if tariff is None else _tariff(tariff),
        market=_native(market, "market"),
    )
    return ResolvedPrices(Prices._wrap(prices), cast("list[Source]", sources))


def price_at(
    at: datetime,
    *,
    tariff: Tariff | None = None,
    market: Prices | None = None,
    price_signal: Prices | None = None,
) -> ResolvedPrice | None:
    """Tell which price counts at an instant; ``None`` if there is none.

    Args:
        at: The instant, aware.
        tariff: Tariff of the location.
        market: Market prices of the zone.
        price_signal: What was pushed for the area.

    Raises:
        InputError: As :func:`resolve`.
        TypeError: The time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> tariff = Tariff([Rate("night", "0.10")], [TariffInterval("night", end="06:00")], "EUR")
        >>> price_at(datetime(2026, 1, 5, 5, 59, tzinfo=UTC), tariff=tariff)
        ResolvedPrice(price_per_kwh=0.1, source='tariff')
        >>> price_at(datetime(2026, 1, 5, 6, tzinfo=UTC), tariff=tariff) is None
        True
    """
    found = _engine.resolve_price(
        at,
        price_signal=_native(price_signal, "price_signal"),
        tariff=None if tariff is None else _tariff(tariff),
        market=_native(market, "market"),
    )
    return None if found is None else ResolvedPrice(found[0], cast("Source", found[1]))


def _native(prices: Prices | None, name: str) -> _engine.Prices | None:
    return None if prices is None else native_prices(prices, name)


# A name with its cost as text.
_RateText: TypeAlias = tuple[str, str]


def _rates(rates: Sequence[Rate]) -> list[_RateText]:
    pairs = (row(Rate, rate) for rate in rates)
    return [(name, format(c, "f") if isinstance(c, Decimal) else c) for name, c in pairs]


def _tariff(tariff: Tariff) -> tuple[list[_RateText], list[TariffInterval], str, str]:
    rates, intervals, currency, time_zone = row(Tariff, tariff)
    intervals = [row(TariffInterval, interval) for interval in intervals]
    return (_rates(rates), intervals, currency, time_zone)


_public.guard(__name__)
