"""Forecasts of prices with the instant at which they were known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Self, TypeAlias

from slackwater import _engine
from slackwater._engine import InputError
from slackwater._record import Record
from slackwater._series_input import numbers_of
from slackwater.prices import Prices

MEDIAN = 0.5
LEVELS = (0.1, MEDIAN, 0.9)

Forecaster: TypeAlias = Callable[[Prices, list[datetime]], Mapping[float, Sequence[float]]]
"""A model: from the prices known at an instant, and the starts of the slots to forecast, to
prices per kWh by quantile level, one for each start. The level 0.5 is what plans use; NaN
is no forecast."""


class Forecast:
    """Prices that were known from an instant on.

    Using them earlier raises :class:`LookAheadError`. Forecasts compare by value, and can be
    copied and pickled.

    Example:
        >>> import slackwater as sw
        >>> from datetime import UTC, datetime, timedelta
        >>> noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
        >>> prices = sw.Prices.from_values(noon + timedelta(hours=6), [0.30], currency="EUR")
        >>> forecast = sw.Forecast(prices, known_at=noon)
        >>> len(forecast.read(at=noon))
        1
        >>> forecast.read(at=noon - timedelta(hours=1))
        Traceback (most recent call last):
        slackwater.LookAheadError: the forecast is known at 2026-01-05 12:00:00 UTC; at \
2026-01-05 11:00:00 UTC nobody has it
    """

    __slots__ = ("_levels", "_native")

    def __init__(
        self,
        prices: Prices,
        *,
        known_at: datetime,
        is_final: bool = False,
        quantiles: Mapping[float, Prices] | None = None,
    ) -> None:
        """Keep prices until they are known.

        Args:
            prices: The prices; of a model, its median.
            known_at: Instant from which they may be used, aware.
            is_final: Whether they were published and will be paid. They win over
                estimates; of two forecasts of one standing the later one wins.
            quantiles: Other quantiles of the same forecast, by their level from 0 to 1.

        Raises:
            InputError: A level is not from 0 to 1, or a quantile is in another currency than
                the prices.
            TypeError: ``known_at`` has no zone.
        """
        for level, curve in (quantiles or {}).items():
            if not 0 <= level <= 1:
                raise InputError(f"quantiles holds {level}; a level lies between 0 and 1")
            if curve.currency != prices.currency:
                message = f"quantiles[{level}] is in {curve.currency}, prices in {prices.currency}"
                raise InputError(message)
        native = _engine.Forecast(prices._native, known_at=known_at, is_final=is_final)
        self._native = native
        self._levels = {
            level: _engine.Forecast(curve._native, known_at=known_at, is_final=is_final)
            for level, curve in (quantiles or {}).items()
        }

    @classmethod
    def _wrap(cls, native: _engine.Forecast) -> Self:
        forecast = cls.__new__(cls)
        forecast._native = native
        forecast._levels = {}
        return forecast

    @property
    def known_at(self) -> datetime:
        """Instant from which the forecast may be used, in UTC."""
        return self._native.known_at

    @property
    def is_final(self) -> bool:
        """Whether the prices were published and will be paid."""
        return self._native.is_final

    @property
    def currency(self) -> str:
        """Currency of the prices."""
        return self._native.currency

    @property
    def levels(self) -> list[float]:
        """Levels of the quantiles; empty without any."""
        return sorted(self._levels)

    def read(self, *, at: datetime, level: float = MEDIAN) -> Prices:
        """Read the prices, or another quantile of them, for use at an instant.

        Raises:
            LookAheadError: The forecast is not known at that instant.
            InputError: It has no such quantile.
            TypeError: ``at`` has no zone.
        """
        native = self._levels.get(level)
        if native is None:
            if level != MEDIAN:
                raise InputError(f"level is {level}; the forecast has {self.levels}")
            native = self._native
        return Prices._wrap(native.read(at=at))

    def _plus_emissions(self, emissions: _engine.EmissionPrice) -> Forecast:
        """The forecast of prices with the price of emissions on top."""
        prices, known_at, is_final, quantiles = self._parts()

        def summed(curve: Prices) -> Prices:
            return Prices._wrap(curve._native.plus_emissions(emissions))

        return Forecast(
            summed(prices),
            known_at=known_at,
            is_final=is_final,
            quantiles={level: summed(curve) for level, curve in quantiles.items()},
        )

    def _with_quantiles(self) -> tuple[_engine.Forecast, list[tuple[float, _engine.Forecast]]]:
        """The forecast and its quantiles, as the engine takes them."""
        return self._native, list(self._levels.items())

    def _parts(self) -> tuple[Prices, datetime, bool, dict[float, Prices]]:
        """Prices, instant, standing and quantiles: all that a forecast is made of."""
        at = self.known_at
        quantiles = {level: self.read(at=at, level=level) for level in self._levels}
        return Prices._wrap(self._native.read(at=at)), at, self.is_final, quantiles

    def __eq__(self, other: object) -> bool:
        """Tell whether prices, quantiles and the instant at which they were known are equal."""
        return self._parts() == other._parts() if isinstance(other, Forecast) else NotImplemented

    def __hash__(self) -> int:
        """Hash what is quick to read."""
        return hash((self.known_at, self.is_final, self.currency))

    def __reduce__(self) -> tuple[object, ...]:
        """Make it anew when it is unpickled."""
        return _make_forecast, self._parts()

    def __repr__(self) -> str:
        """Tell when it was known."""
        kind = "final" if self.is_final else "estimate"
        return f"Forecast({kind}, known at {self.known_at:%Y-%m-%d %H:%M} UTC)"


def _make_forecast(
    prices: Prices,
    known_at: datetime,
    is_final: bool,  # noqa: FBT001  pickle gives arguments by position
    quantiles: dict[float, Prices],
) -> Forecast:
    """Make a forecast of its parts, for pickle."""
    return Forecast(prices, known_at=known_at, is_final=is_final, quantiles=quantiles)


def refuse_estimates(prices: Prices, name: str) -> None:
    """Refuse prices of which some are estimates where settled ones are needed.

    Raises:
        InputError: Some are estimates.
    """
    for start, _, _, source, is_estimate in prices.provenance:
        if is_estimate:
            message = f"{name}: that at {start:%Y-%m-%d %H:%M}Z is an estimate ({source!r})"
            way = "Prices.from_slots(prices.slots, currency=...) takes it as settled"
            raise InputError(f"{message}, and settled prices are needed; {way}")


def publish_day_ahead(
    prices: Prices, *, at: time | str = "13:00", time_zone: str
) -> list[Forecast]:
    """Publish each day's prices on the day before, as a day-ahead auction does.

    Days are those of the wall clock: one of a year has 23 hours and one 25.

    Args:
        prices: Settled prices.
        at: Time of day of the publication, ``HH:MM``.
        time_zone: IANA name of the zone of the auction.

    Returns:
        One final forecast a day.

    Raises:
        InputError: The time of day or the time zone is unknown, or prices are only estimates.
    """
    refuse_estimates(prices, "prices")
    native = _engine.published_day_ahead(prices._native, at=at, time_zone=time_zone)
    return [Forecast._wrap(each) for each in native]


@dataclass(frozen=True, kw_only=True)
class SeasonalNaive(Record):
    """A forecaster: the price at the same wall-clock time some days before.

    If that is not known, the one as many days before it. A quantile is this price plus
    the quantile of the rule's own errors in the last 672 known slots.

    Attributes:
        time_zone: IANA name of the zone in whose wall clock days repeat themselves: after
            a clock change 18:00 is still forecast from 18:00.
        days: Length of the season, such as 1 or 7.
        levels: Levels of the quantiles.
    """

    time_zone: str
    days: int = 7
    levels: Sequence[float] = LEVELS

    def __post_init__(self) -> None:
        """Refuse a season or a time zone that no prices can have."""
        self(Prices.from_slots([], currency="EUR"), [])

    def __call__(self, known: Prices, at: list[datetime]) -> Mapping[float, Sequence[float]]:
        """Forecast prices; NaN where no season is known.

        Raises:
            InputError: A level, the season or the time zone is out of range.
        """
        return _naive(self.levels, known, at, self.days, self.time_zone)


@dataclass(frozen=True, kw_only=True)
class Persistence(Record):
    """A forecaster: the last known price goes on.

    A quantile is this price plus the quantile of the rule's own errors as far ahead, in
    the last 672 known slots.

    Attributes:
        levels: Levels of the quantiles.
    """

    levels: Sequence[float] = LEVELS

    def __post_init__(self) -> None:
        """Refuse levels that no quantile has."""
        self(Prices.from_slots([], currency="EUR"), [])

    def __call__(self, known: Prices, at: list[datetime]) -> Mapping[float, Sequence[float]]:
        """Forecast prices; NaN if nothing is known.

        Raises:
            InputError: A level is out of range.
        """
        return _naive(self.levels, known, at, None, "UTC")


def _naive(
    levels: Sequence[float], known: Prices, at: list[datetime], days: int | None, time_zone: str
) -> Mapping[float, Sequence[float]]:
    rows = _engine.naive_quantiles(known._native, at, list(levels), days=days, time_zone=time_zone)
    return dict(zip(levels, rows, strict=True))


def issue_forecasts(
    forecaster: Forecaster,
    prices: Prices,
    *,
    every: timedelta,
    ahead: timedelta,
    published: Iterable[Forecast] = (),
) -> list[Forecast]:
    """Issue a model's forecasts again and again, each from what was known by then.

    At each instant the model gets the prices settled before it and those published by
    then, never a later one.

    Args:
        forecaster: Any function ``(known, at)``; see :data:`Forecaster`.
        prices: Settled prices; only their slots are used for the time to come.
        every: Time from one forecast to the next; the first is issued that long after the
            first price.
        ahead: How far each reaches.
        published: Forecasts such as those of :func:`publish_day_ahead`. Their slots are not
            forecast again.

    Returns:
        The forecasts of the model, without ``published``.

    Raises:
        InputError: ``every`` or ``ahead`` is not positive, or the model gives no median or
            another number of prices than was asked for.

    Example:
        Prices repeat themselves day by day, so the day before is a perfect forecast:

        >>> import slackwater as sw
        >>> from datetime import UTC, datetime, timedelta
        >>> start, day = datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=1)
        >>> days = [hour / 100 for hour in range(24)] * 3
        >>> prices = sw.Prices.from_values(start, days, currency="EUR")
        >>> model = sw.SeasonalNaive(time_zone="UTC", days=1)
        >>> issued = sw.issue_forecasts(model, prices, every=day, ahead=day)
        >>> [
        ...     forecast.read(at=forecast.known_at)
        ...     == prices.between(forecast.known_at + timedelta(hours=1), forecast.known_at + day)
        ...     for forecast in issued
        ... ]
        [True, True]
    """
    slots = prices.slots
    for name, length in (("every", every), ("ahead", ahead)):
        if length <= timedelta(0):
            raise InputError(f"{name} is {length}; it is longer than 0")
    final = list(published)
    issued: list[Forecast] = []
    now = slots[0][0] + every if slots else None
    while now is not None and now < slots[-1][1]:
        known, unknown = _engine.known_prices(
            prices._native, [each._native for each in final], at=now, until=now + ahead
        )
        if unknown:
            quantiles = forecaster(Prices._wrap(known), [start for start, _ in unknown])
            issued.extend(_forecast(quantiles, unknown, prices.currency, now))
        now += every
    return issued


def _forecast(
    quantiles: object,
    slots: Sequence[tuple[datetime, datetime]],
    currency: str,
    now: datetime,
) -> list[Forecast]:
    """A model's answer as a forecast; none if it knows nothing."""
    if not isinstance(quantiles, Mapping):
        given = "None" if quantiles is None else f"a {type(quantiles).__name__}"
        message = f"the forecaster gives {given}; it has to give a mapping of levels to prices"
        raise TypeError(message)
    if MEDIAN not in quantiles:
        message = f"the forecaster gives the levels {sorted(quantiles)}; plans need {MEDIAN}"
        raise InputError(message)
    curves: dict[float, Prices] = {}
    for level, given in quantiles.items():
        if not isinstance(given, Iterable):
            message = f"the forecaster gives a {type(given).__name__} at {level}; give prices"
            raise TypeError(message.replace("a NoneType", "None"))
        values = numbers_of(given, f"the forecaster's price at {level}")
        if len(values) != len(slots):
            message = f"the forecaster gives {len(values)} prices for {len(slots)} slots"
            raise InputError(message)
        known = [
            (start, end, value)
            for (start, end), value in zip(slots, values, strict=True)
            if value == value  # noqa: PLR0124  NaN is no forecast
        ]
        curves[level] = Prices.from_slots(known, currency=currency)
    if not len(curves[MEDIAN]):
        return []
    return [Forecast(curves[MEDIAN], known_at=now, quantiles=curves)]
