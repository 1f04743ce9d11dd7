"""Price curves: built once, used by as many plans as there are."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

from slackwater import _engine
from slackwater._record import Record
from slackwater._series_input import Meaning, read_rows, read_table
from slackwater.series import Series, numbers_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slackwater.site_devices import Carbon
    from slackwater.typing import ArrowTable


class _PriceSlotFields(NamedTuple):
    start: datetime
    end: datetime
    price_per_kwh: float


class PriceSlot(_PriceSlotFields, Record):
    """A period of constant price.

    Attributes:
        start: First instant, in UTC.
        end: First instant after it.
        price_per_kwh: Price in the currency of its prices.
    """

    __slots__ = ()


class Prices(Series):
    """The price of a kWh as a step function of time, in one currency.

    Slots are half open, ``[start, end)``, may differ in length and may leave
    gaps. Where there is no slot there is no price: a gap is never read as
    zero, never filled, and no plan uses it.

    Build it once and pass it to any number of plans. It cannot be changed;
    fees and taxes make a new one:

    >>> from datetime import UTC, datetime
    >>> market = Prices.from_values(datetime(2026, 1, 5, tzinfo=UTC), [0.10, -0.02], currency="EUR")
    >>> [round(slot.price_per_kwh, 4) for slot in (market + 0.08) * 1.25]
    [0.225, 0.075]

    Any Arrow library reads it: ``pyarrow.table(prices)`` has the columns
    ``start``, ``end`` and ``price_per_kwh``.
    """

    __slots__ = ()
    _native: _engine.Prices
    _value_name: ClassVar[str] = "price_per_kwh"

    @classmethod
    def from_slots(  # type: ignore[override]  # a currency says more than a unit
        cls, slots: Iterable[tuple[datetime, datetime, float]], *, currency: str
    ) -> Self:
        """Build a curve from ``(start, end, price)`` triples, oldest first.

        Args:
            slots: Aware times and a price per kWh, which may be negative.
            currency: Name of the currency, such as ``EUR``.

        Raises:
            InputError: A slot has no length or overlaps the one before it, or
                a price is NaN or infinite.
            TypeError: A time has no zone.
        """
        return cls._wrap(_engine.Prices.from_slots(list(slots), currency=_named(currency)))

    @classmethod
    def from_values(  # type: ignore[override]
        cls,
        start: datetime,
        prices_per_kwh: Iterable[Any],
        *,
        currency: str,
        slot: timedelta = timedelta(hours=1),
    ) -> Self:
        """Build a curve from prices that follow each other without a gap.

        Args:
            start: First instant, aware. Slots are elapsed time, so a clock
                change shifts the wall clock and not the slots.
            prices_per_kwh: One price for each slot: a list, an array of numpy,
                a series of pandas. A series whose index has times has to have
                those of the slots; :meth:`from_series` takes times from it.
            currency: Name of the currency.
            slot: Length of each slot.

        Raises:
            InputError: ``slot`` is not positive, a price is no number, or the
                index of a series has other times.
            TypeError: ``start`` has no zone.
        """
        numbers = numbers_at(start, prices_per_kwh, slot, "prices_per_kwh")
        native = _engine.Prices.from_steps(start, numbers, slot=slot, currency=_named(currency))
        return cls._wrap(native)

    @classmethod
    def from_series(
        cls,
        data: object,
        *,
        unit: str,
        currency: str | None = None,
        time_zone: str | None = None,
        time: str | None = None,
        end: str | None = None,
        value: str | None = None,
        step_minutes: int | None = None,
        holds_until_next: bool = False,
    ) -> Self:
        """Build a curve from a series or frame of pandas, polars or pyarrow.

        Times without a zone are the clock of ``time_zone``. A local time that
        clocks show twice is resolved by its place: 02:00 after 02:45 is the
        second one. A local time that clocks skip is dropped if it has no
        price, and refused if it has one.

        A slot lasts to its end if there is a column of ends, else for the
        usual distance between rows, but not beyond the next row. Rows that are
        days, weeks or months apart, on the clocks of ``time_zone`` or of the
        zone of the times, have slots of days, weeks or months, whatever hours
        these have. A missing row and an empty price (null, NaN) are gaps, which
        :attr:`gaps` and ``repr`` tell; nothing is filled.

        Args:
            data: A series or frame of pandas, a frame of polars, a table of
                pyarrow, or a mapping of names to columns. Rows are in time
                order.
            unit: Unit of the prices, such as ``"EUR/MWh"``, ``"€/kWh"``,
                ``"ct/kWh"`` or ``"öre/kWh"``. There is no default: a price per
                MWh that is read as one per kWh is wrong by a thousand.
            currency: Code of the currency, where the unit does not tell it
                (``ct`` and ``öre`` are of several).
            time_zone: IANA name of the zone whose clocks times without a zone
                show; ``"UTC"`` if they are UTC. Days and months are its own.
            time: Name of the column of starts; by default the index, or the
                only column of times.
            end: Name of the column of ends; by default ``"end"``, if there is
                one.
            value: Name of the column of prices; by default the only column of
                numbers.
            step_minutes: Length of a slot without an end, in minutes.
            holds_until_next: Whether a price holds until the next row, however
                far that is. Otherwise the time to it is a gap.

        Raises:
            InputError: The unit is no unit of price; the column is named in
                another one; a column is missing or cannot be guessed; a cell
                is no time or number; times have no zone and ``time_zone`` is
                not given; rows are out of order, or at no regular distance
                without ``end``, ``step_minutes`` and ``holds_until_next``;
                rows are at last days of months; a price stands at a time that
                clocks skip. The message names column and row, counted from 0.
            TypeError: ``data`` is no series or frame.

        Example:
            The night of 25 hours, by the clocks of Berlin:

            >>> import pandas as pd
            >>> clock = pd.to_datetime(
            ...     [f"2026-10-25 {hour}" for hour in ("01:00", "02:00", "02:00", "03:00")]
            ... )
            >>> auction = pd.Series([80.0, 60.0, 50.0, 70.0], index=clock, name="DE-LU")
            >>> prices = Prices.from_series(auction, unit="EUR/MWh", time_zone="Europe/Berlin")
            >>> prices
            Prices(4 slots from 2026-10-24 23:00Z to 2026-10-25 03:00Z, 0.05 to 0.08 EUR/kWh)
        """
        _, _, named = _engine.series_unit(unit, currency=currency)
        if named is None:
            raise _engine.InputError(
                f"unit is {unit!r}, which is no price; use slackwater.Series for it"
            )
        table = read_table(data, unit=unit, time=time, end=end, value=value)
        meaning = Meaning(unit, named, time_zone, step_minutes, holds_until_next)
        return cls._wrap(read_rows(table, meaning))

    from_pandas = from_series
    from_polars = from_series

    @classmethod
    def from_arrow(
        cls,
        data: ArrowTable,
        *,
        currency: str,
        start: str = "start",
        end: str = "end",
        price: str = "price_per_kwh",
    ) -> Self:
        """Build a curve from the columns of any Arrow table or data frame.

        A null price is a gap.

        Args:
            data: Anything with ``__arrow_c_stream__``: a table of pyarrow, a
                frame of polars or pandas, a relation of DuckDB.
            currency: Name of the currency.
            start: Column of the first instants, timestamps with a zone.
            end: Column of the first instants after the slots.
            price: Column of the prices per kWh.

        Raises:
            InputError: A column is missing or of a wrong type, or as
                :meth:`from_slots`.
        """
        native = _engine.Prices.from_arrow(
            data, currency=_named(currency), start=start, end=end, price=price
        )
        return cls._wrap(native)

    @classmethod
    def from_layers(
        cls,
        known: Mapping[str, Prices],
        estimates: Mapping[str, Prices] | None = None,
        *,
        ceilings_per_kwh: Mapping[str, float] | None = None,
    ) -> Self:
        """Put prices of several sources on top of each other.

        Known prices come first, in the order given: a tariff before a price
        signal, that before the market. Estimates fill what is still empty.

        Args:
            known: Prices that will be paid, by the name of their source.
            estimates: Prices that are guessed, by the name of their source.
            ceilings_per_kwh: Most that a kWh can cost where an estimate stands,
                by its source. It lets a plan wait longer: see ``decide_by``.

        Raises:
            InputError: Currencies differ, there are no prices, a ceiling is
                below its estimate or belongs to no estimate.

        Example:
            >>> from datetime import UTC, datetime
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> market = Prices.from_values(six, [0.30], currency="EUR")
            >>> guess = Prices.from_values(six, [0.25, 0.20], currency="EUR")
            >>> prices = Prices.from_layers({"market": market}, {"yesterday": guess})
            >>> [(price, source) for _, _, price, source, _ in prices.provenance]
            [(0.3, 'market'), (0.2, 'yesterday')]
        """
        ceilings = dict(ceilings_per_kwh or {})
        layers: list[tuple[str, bool, float | None, _engine.Prices]] = [
            (name, False, None, prices._native) for name, prices in known.items()
        ]
        layers += [
            (name, True, ceilings.pop(name, None), prices._native)
            for name, prices in (estimates or {}).items()
        ]
        if ceilings:
            raise _engine.InputError(f"ceilings_per_kwh names no estimate: {', '.join(ceilings)}")
        if not layers:
            raise _engine.InputError("known holds no prices")
        currency = layers[0][3].currency
        return cls._wrap(_engine.Prices.from_layers(layers, currency=currency))

    def with_estimates(
        self,
        estimates: Prices,
        *,
        source: str = "estimate",
        ceiling_per_kwh: float | None = None,
    ) -> Prices:
        """Fill the time without a known price with estimates.

        Known prices always win, and so do estimates that are there already.
        What a plan buys on estimates is in its ``energy_on_estimates_kwh``.

        Args:
            estimates: The guesses, in the same currency.
            source: Name of their source.
            ceiling_per_kwh: Most that a kWh can cost there, if that is known.

        Raises:
            InputError: Currencies differ, or the ceiling is below an estimate.

        Example:
            Prices end at eight, the car leaves at nine:

            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
            >>> known = sw.Prices.from_values(six, [0.30, 0.20], currency="EUR")
            >>> guess = sw.Prices.from_values(six, [0.25, 0.25, 0.10], currency="EUR")
            >>> prices = known.with_estimates(guess, source="last week")
            >>> nine = six + 3 * hour
            >>> plan = sw.plan_charge(prices, now=six, power_max_kw=10, targets=[(nine, 15)])
            >>> plan.energy_on_estimates_kwh, plan.decide_by == six, plan.awaiting_prices
            (10.0, False, True)
        """
        layer = (source, True, ceiling_per_kwh, estimates._native)
        layers = self._native.layers() or [("prices", False, None, self._native)]
        native = _engine.Prices.from_layers([*layers, layer], currency=self.currency)
        return Prices._wrap(native)

    @property
    def provenance(self) -> list[tuple[datetime, datetime, float, str, bool]]:
        """List all slots as ``(start, end, price_per_kwh, source, is_estimate)`` in UTC.

        Prices without layers are known, of the source ``"prices"``.
        """
        return self._native.sourced_slots()

    @property
    def currency(self) -> str:
        """Name of the currency."""
        return self._native.currency

    @property
    def slots(self) -> list[PriceSlot]:
        """All slots, oldest first, in UTC."""
        return list(map(PriceSlot._make, self._native.slots))

    def price_at(self, at: datetime) -> float | None:
        """Look up the price at an instant; ``None`` in a gap and outside the curve."""
        return self._native.value_at(at)

    def plus_emissions(self, carbon: Carbon) -> Prices:
        """Add the price of the emissions of each kWh.

        Planners do so with their argument ``carbon=``. A plan for such prices
        tells its emissions in kg; sums and cuts of them are plain prices.

        Args:
            carbon: Price of a kg, and intensity over time.

        Raises:
            InputError: The intensity is not known at a time that has a price;
                it or its price is negative; a price of emissions is in these
                prices already.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.10, 0.12], currency="EUR")
            >>> grid = sw.Series.from_values(six, [400, 100], unit="gCO2eq/kWh")
            >>> carbon = sw.Carbon(price_per_kg=0.1, intensity=grid)
            >>> [round(slot.price_per_kwh, 3) for slot in prices.plus_emissions(carbon)]
            [0.14, 0.13]
        """
        return Prices._wrap(self._native.plus_emissions(emission_price(carbon)))

    @property
    def _emissions(self) -> _engine.EmissionPrice | None:
        """The price of emissions that was added to them."""
        return self._native.emissions

    def __reduce__(self) -> tuple[object, ...]:
        """Copy by slots, so that other processes can plan with the same prices."""
        layers, emissions = self._native.layers(), self._emissions
        if layers is None:
            return _rebuilt, (self._native.slots, self.currency, emissions)
        plain = [(name, guess, top, native.slots) for name, guess, top, native in layers]
        return _layered, (plain, self.currency, emissions)


def emission_price(carbon: Carbon) -> _engine.EmissionPrice:
    """Price and intensity of emissions as the engine has them."""
    return _engine.EmissionPrice(carbon.price_per_kg, carbon._intensity)


def priced(prices: Prices, carbon: Carbon | None) -> Prices:
    """The prices that a planner plans for: those given, with the price of emissions.

    Raises:
        InputError: The intensity is not known at a time that has a price.
        TypeError: ``prices`` are none.
    """
    refuse_other_kinds(prices, "prices")
    return prices if carbon is None else prices.plus_emissions(carbon)


def refuse_other_kinds(given: object, name: str) -> None:
    """Refuse what is no :class:`Prices`, by the name of its argument.

    Raises:
        TypeError: It is something else, such as a carbon intensity.
    """
    if not isinstance(given, Prices):
        kind = type(given).__name__
        what = f"{kind} in {given.unit}" if isinstance(given, Series) else kind
        message = f"{name} is a {what}; give Prices, such as Prices.from_series(..., unit=...)"
        raise TypeError(message)


def _named(currency: str) -> str:
    """The name of a currency, which prices per kWh have beside them.

    Raises:
        InputError: It is a unit, or no name.
    """
    if currency.lower().rstrip().endswith("wh") or not currency.strip():
        raise _engine.InputError(
            f"currency is {currency!r}; give its name alone, such as EUR, with prices per kWh, or "
            "Prices.from_series(..., unit='EUR/MWh'), which converts"
        )
    return currency


_Slots: TypeAlias = list[tuple[datetime, datetime, float]]


def _rebuilt(slots: _Slots, currency: str, emissions: _engine.EmissionPrice | None) -> Prices:
    native = _engine.Prices.from_slots(slots, currency=currency)
    return Prices._wrap(native.holding(emissions))


def _layered(
    layers: list[tuple[str, bool, float | None, _Slots]],
    currency: str,
    emissions: _engine.EmissionPrice | None,
) -> Prices:
    build = _engine.Prices.from_slots
    natives = [
        (name, guess, top, build(slots, currency=currency)) for name, guess, top, slots in layers
    ]
    native = _engine.Prices.from_layers(natives, currency=currency)
    return Prices._wrap(native.holding(emissions))
