"""Price curves: built once, used by as many plans as there are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

from slackwater import _engine
from slackwater._index import refuse_other_times

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slackwater.typing import ArrowTable


class Prices:
    """The price of a kWh as a step function of time, in one currency.

    Slots are half open, ``[start, end)``, may differ in length and may leave
    gaps. Where there is no slot there is no price: a gap is never read as
    zero, never filled, and no plan uses it.

    Build it once and pass it to any number of plans. It cannot be changed;
    fees and taxes make a new one:

    >>> from datetime import UTC, datetime
    >>> market = Prices.from_values(datetime(2026, 1, 5, tzinfo=UTC), [0.10, -0.02], currency="EUR")
    >>> [round(price, 4) for _, _, price in market.plus(0.08).times(1.25).slots]
    [0.225, 0.075]

    Any Arrow library reads it: ``pyarrow.table(prices)`` has the columns
    ``start``, ``end`` and ``price_per_kwh``.
    """

    __slots__ = ("_native",)
    _native: _engine.Prices

    def __init__(self) -> None:
        """Refuse: there is nothing to build a curve from."""
        message = "use Prices.from_slots, Prices.from_values, Prices.from_arrow or slackwater.io"
        raise TypeError(message)

    @classmethod
    def _wrap(cls, native: _engine.Prices) -> Self:
        prices = cls.__new__(cls)
        prices._native = native
        return prices

    @classmethod
    def from_slots(
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
        return cls._wrap(_engine.Prices.from_slots(list(slots), currency=currency))

    @classmethod
    def from_values(
        cls,
        start: datetime,
        prices_per_kwh: Sequence[float],
        *,
        currency: str,
        slot: timedelta = timedelta(hours=1),
    ) -> Self:
        """Build a curve from prices that follow each other without a gap.

        Args:
            start: First instant, aware. Slots are elapsed time, so a clock
                change shifts the wall clock and not the slots.
            prices_per_kwh: One price for each slot.
            currency: Name of the currency.
            slot: Length of each slot.

        Raises:
            InputError: ``slot`` is not positive, or a price is no number.
            TypeError: ``start`` has no zone.
        """
        index = getattr(prices_per_kwh, "index", None)
        if index is not None and not callable(index):  # The `index` of a list is a method.
            # Steps in UTC: those of another zone follow its wall clock.
            first = start.astimezone(UTC)
            starts = [first + position * slot for position in range(len(prices_per_kwh))]
            refuse_other_times("prices_per_kwh", prices_per_kwh, starts)
        native = _engine.Prices.from_steps(
            start, list(prices_per_kwh), slot=slot, currency=currency
        )
        return cls._wrap(native)

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
            data, currency=currency, start=start, end=end, price=price
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

    def __len__(self) -> int:
        """Count the slots."""
        return len(self._native)

    @property
    def slots(self) -> list[tuple[datetime, datetime, float]]:
        """List all slots as ``(start, end, price_per_kwh)`` in UTC."""
        return self._native.slots

    def price_at(self, at: datetime) -> float | None:
        """Look up the price at an instant; ``None`` in a gap and outside the curve."""
        return self._native.price_at(at)

    @property
    def gaps(self) -> list[tuple[datetime, datetime]]:
        """List the periods without a price between the first slot and the last."""
        return self._native.gaps

    def between(self, start: datetime, end: datetime) -> Prices:
        """Cut the curve to ``[start, end)``."""
        return Prices._wrap(self._native.between(start, end))

    def plus(self, other: float | Prices) -> Prices:
        """Add a fee per kWh, or another curve where both have a price."""
        if isinstance(other, Prices):
            return Prices._wrap(self._native.plus_prices(other._native))
        return Prices._wrap(self._native.plus(other))

    def times(self, factor: float) -> Prices:
        """Multiply each price: ``times(1.25)`` adds a tax of a quarter."""
        return Prices._wrap(self._native.times(factor))

    def __eq__(self, other: object) -> bool:
        """Compare slots, prices and currency."""
        return isinstance(other, Prices) and self._native == other._native

    __hash__ = None  # type: ignore[assignment]  # equal curves may be built in different ways

    def __reduce__(self) -> tuple[object, ...]:
        """Copy by slots, so that other processes can plan with the same prices."""
        layers = self._native.layers()
        if layers is None:
            return _rebuilt, (self.slots, self.currency)
        plain = [(name, guess, top, native.slots) for name, guess, top, native in layers]
        return _layered, (plain, self.currency)

    def __repr__(self) -> str:
        """Tell span, number of slots and range of prices."""
        slots = self.slots
        if not slots:
            return f"Prices(no slots, {self.currency})"
        values = [price for _, _, price in slots]
        span = f"{slots[0][0]:%Y-%m-%d %H:%M}Z to {slots[-1][1]:%Y-%m-%d %H:%M}Z"
        gaps = f", {len(self.gaps)} gaps" if self.gaps else ""
        return (
            f"Prices({len(slots)} slots from {span}, "
            f"{min(values):g} to {max(values):g} {self.currency}/kWh{gaps})"
        )

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the curve to an Arrow library."""
        return self._native.__arrow_c_stream__(requested_schema)


def _rebuilt(slots: list[tuple[datetime, datetime, float]], currency: str) -> Prices:
    return Prices.from_slots(slots, currency=currency)


def _layered(
    layers: list[tuple[str, bool, float | None, list[tuple[datetime, datetime, float]]]],
    currency: str,
) -> Prices:
    build = _engine.Prices.from_slots
    natives = [
        (name, guess, top, build(slots, currency=currency)) for name, guess, top, slots in layers
    ]
    return Prices._wrap(_engine.Prices.from_layers(natives, currency=currency))
