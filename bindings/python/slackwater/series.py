"""Values over time, each with its unit: carbon intensities, loads, sunshine, prices."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    SupportsFloat,
    TypeAlias,
    cast,
)

from slackwater import _engine, _view
from slackwater._engine import InputError
from slackwater._index import index_of, refuse_other_times
from slackwater._record import Record
from slackwater._series_input import Meaning, numbers_of, read_rows, read_table

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slackwater._palette import Theme

Align: TypeAlias = Literal["exact", "overlap"]
How: TypeAlias = Literal["mean", "min", "max"]
Resolution: TypeAlias = Literal["quarter_hour", "half_hour", "hour", "day", "week", "month", "year"]

# The code of ISO 4217 for no currency: values of other units are read as if they were prices.
NO_CURRENCY = "XXX"


class _SeriesSlotFields(NamedTuple):
    start: datetime
    end: datetime
    value: float


class SeriesSlot(_SeriesSlotFields, Record):
    """A period of constant value.

    Attributes:
        start: First instant, in UTC.
        end: First instant after it.
        value: The value, in the unit of its series.
    """

    __slots__ = ()


class Series:
    """A step function of time whose values have a unit.

    The unit is ``"kg/kWh"`` (carbon intensity) or ``"kW"`` (load, sunshine);
    prices, in ``"EUR/kWh"`` and the like, are :class:`slackwater.Prices`, a
    series of a class of its own. Where a series is used its unit is checked.

    Slots are half open, ``[start, end)``, may differ in length and may leave
    gaps. A gap is never read as zero and never filled. A series cannot be
    changed; arithmetic makes a new one:

    >>> from datetime import UTC, datetime
    >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
    >>> house = Series.from_values(six, [0.5, 0.7], unit="kW")
    >>> oven = Series.from_values(six, [2.0, 0.0], unit="kW")
    >>> [slot.value for slot in house + oven]
    [2.5, 0.7]

    Any Arrow library reads it: ``pyarrow.table(series)`` has the columns
    ``start``, ``end`` and ``value``.
    """

    __slots__ = ("_native",)
    _native: Any
    # A scalar of numpy leaves `0.5 * series` to the series.
    __array_ufunc__: ClassVar[None] = None

    def __init__(self, *_given: object, **_named: object) -> None:
        """Refuse: a series is built by a method that says from what."""
        name = type(self).__name__
        message = f"use {name}.from_series, {name}.from_values or {name}.from_slots"
        raise TypeError(message)

    @classmethod
    def _wrap(cls, native: _engine.Series | _engine.Prices) -> Self:
        series = cls.__new__(cls)
        series._native = native
        return series

    @classmethod
    def from_slots(cls, slots: Iterable[tuple[datetime, datetime, float]], *, unit: str) -> Self:
        """Build a series from ``(start, end, value)`` triples, oldest first.

        Args:
            slots: Aware times and values.
            unit: Unit of the values: ``"kW"``, ``"W"``, ``"MW"``, ``"kg/kWh"``,
                ``"g/kWh"``, ``"gCO2eq/kWh"``, ``"t/MWh"`` and the like.

        Raises:
            InputError: The unit is no such unit; a slot has no length or
                overlaps the one before it; a value is NaN or infinite.
            TypeError: A time has no zone.
        """
        name, factor = _unit_of(unit)
        rows = [(start, end, value) for start, end, value in slots]
        _refuse_not_finite([value for *_, value in rows], unit)
        return cls._wrap(_engine.Series.from_slots(rows, unit=name, factor=factor))

    @classmethod
    def from_values(
        cls,
        start: datetime,
        values: Iterable[Any],
        *,
        unit: str,
        slot: timedelta = timedelta(hours=1),
    ) -> Self:
        """Build a series from values that follow each other without a gap.

        Args:
            start: First instant, aware.
            values: One number for each slot: a list, an array of numpy, a
                series of pandas without times.
            unit: As in :meth:`from_slots`.
            slot: Length of each slot, of elapsed time.

        Raises:
            InputError: As :meth:`from_slots`, or ``slot`` is not positive.
            TypeError: ``start`` has no zone.
        """
        name, factor = _unit_of(unit)
        numbers = numbers_at(start, values, slot, "values")
        _refuse_not_finite(numbers, unit)
        read = _engine.Prices.from_steps(start, numbers, slot=slot, currency=NO_CURRENCY)
        return cls._wrap(_engine.Series.from_read(read, unit=name, factor=factor))

    @classmethod
    def from_series(
        cls,
        data: object,
        *,
        unit: str,
        time_zone: str | None = None,
        time: str | None = None,
        end: str | None = None,
        value: str | None = None,
        step_minutes: int | None = None,
        holds_until_next: bool = False,
    ) -> Self:
        """Build a series from a series or frame of pandas, polars or pyarrow.

        As :meth:`slackwater.Prices.from_series`, in another unit.

        Args:
            data: A series or frame of pandas, a frame of polars, a table of
                pyarrow, or a mapping of names to columns.
            unit: As in :meth:`from_slots`.
            time_zone: IANA name of the zone whose clocks times without a zone
                show.
            time: Name of the column of starts; by default the index, or the
                only column of times.
            end: Name of the column of ends; by default ``"end"``, if there is
                one.
            value: Name of the column of values; by default the only column of
                numbers.
            step_minutes: Length of a slot without an end, in minutes.
            holds_until_next: Whether a value holds until the next row.

        Raises:
            InputError: As :meth:`slackwater.Prices.from_series`.
            TypeError: ``data`` is no series or frame.
        """
        rows = {"time": time, "end": end, "value": value}
        gaps = (step_minutes, holds_until_next)
        return cls._read(data, unit, unit, time_zone, gaps, **rows)

    @classmethod
    def _read(
        cls,
        data: object,
        unit: str,
        named: str,
        time_zone: str | None = None,
        gaps: tuple[int | None, bool] = (None, False),
        *,
        time: str | None = None,
        end: str | None = None,
        value: str | None = None,
        argument: str | None = "data",
    ) -> Self:
        """Build a series in a unit from values whose name may end in ``named``."""
        name, factor = _unit_of(unit)
        table = read_table(data, unit=named, time=time, end=end, value=value, argument=argument)
        meaning = Meaning(f"{NO_CURRENCY}/kWh", NO_CURRENCY, time_zone, *gaps)
        read = read_rows(table, meaning)
        return cls._wrap(_engine.Series.from_read(read, unit=name, factor=factor))

    # Names under which users of these libraries look for it.
    from_pandas = from_series
    from_polars = from_series

    @classmethod
    def concat(cls, series: Iterable[Self]) -> Self:
        """Join series of one unit, over different times, in any order.

        Args:
            series: At least one; what lies between them is a gap.

        Raises:
            InputError: Two of them overlap, units differ, or there is none.
            TypeError: One is something else.

        Example:
            >>> from datetime import UTC, datetime
            >>> monday = Series.from_values(datetime(2026, 1, 5, tzinfo=UTC), [1] * 24, unit="kW")
            >>> tuesday = Series.from_values(datetime(2026, 1, 6, tzinfo=UTC), [2] * 24, unit="kW")
            >>> len(Series.concat([tuesday, monday]))
            48
        """
        given = list(series)
        for index, one in enumerate(given):
            if not isinstance(one, cls):
                kind = type(one).__name__.replace("NoneType", "None")
                message = f"series[{index}] is of type {kind}; give a {cls.__name__}"
                raise TypeError(message)
            if one.unit != given[0].unit:
                raise InputError(
                    f"series[{index}] is in {one.unit}, the first in {given[0].unit}; "
                    "join those of one unit"
                )
        if not given:
            raise InputError("series holds none; give at least one")
        return cls._wrap(type(given[0]._native).concat([one._native for one in given]))

    @property
    def unit(self) -> str:
        """Unit of the values, such as ``kW``."""
        return self._native.unit  # type: ignore[no-any-return]

    @property
    def slots(self) -> list[Any]:
        """All slots, oldest first, in UTC."""
        return list(map(SeriesSlot._make, self._native.slots))

    @property
    def gaps(self) -> list[tuple[datetime, datetime]]:
        """Periods without a value between the first slot and the last."""
        return self._native.gaps  # type: ignore[no-any-return]

    def value_at(self, at: datetime) -> float | None:
        """Look up the value at an instant; ``None`` in a gap and outside the series."""
        return self._native.value_at(at)  # type: ignore[no-any-return]

    def mean(self) -> float:
        """Mean of the values, weighted with time. Gaps count for nothing.

        Raises:
            InputError: There is no slot.
        """
        return self._summary()[0]

    def min(self) -> float:
        """Least value.

        Raises:
            InputError: There is no slot.
        """
        return self._summary()[1]

    def max(self) -> float:
        """Largest value.

        Raises:
            InputError: There is no slot.
        """
        return self._summary()[2]

    def _summary(self) -> tuple[float, float, float]:
        summary: tuple[float, float, float] | None = self._native.summary()
        if summary is None:
            raise InputError("there is no slot, hence no mean, min or max")
        return summary

    def between(self, start: datetime, end: datetime) -> Self:
        """Cut to ``[start, end)``; slots at the edges are cut. ``series[start:end]`` is the same.

        Raises:
            TypeError: A time has no zone.
        """
        return self._wrap(self._native.between(start, end))

    def plus(self, other: SupportsFloat | Self, *, align: Align = "exact") -> Self:
        """Add a number to each value, or the values of another series of the unit.

        Both have to be over the same time; their slots may differ. ``a + b``
        is ``a.plus(b)``.

        Args:
            other: A number in the unit, or another series.
            align: ``"exact"`` refuses series over different times;
                ``"overlap"`` cuts the sum to the time that both have.

        Raises:
            InputError: Units or times differ, or a sum is beyond all measure.
        """
        if not isinstance(other, Series):
            return self._wrap(self._native.plus(_number("other", other)))
        if align not in ("exact", "overlap"):
            raise InputError(f"align is {align!r}; it is 'exact' or 'overlap'")
        self._refuse_other_unit(other)
        try:
            sums = self._native.plus_other(other._native, cut=align == "overlap")
        except InputError as error:
            way_out = "; cut them, or keep what both have: a.plus(b, align='overlap')"
            raise InputError(f"{error}{way_out if align == 'exact' else ''}") from None
        return self._wrap(sums)

    def _refuse_other_unit(self, other: Series) -> None:
        if self.unit != other.unit:
            raise InputError(f"a series in {self.unit} and one in {other.unit} cannot be added")

    def _operand(self, sign: str, other: object) -> float | Self:
        """The other side of a sum: a number or a series.

        Raises:
            TypeError: It is something else, such as an array, which has no times.
        """
        if isinstance(other, Series):
            return cast("Self", other)
        name = type(self).__name__
        way = f"{name}.from_values or {name}.from_series give values their times"
        return self._factor(sign, other, f", or {name}: {way}")

    def _factor(self, sign: str, other: object, way: str = "") -> float:
        """The other side of an operator that takes a number.

        Raises:
            TypeError: It is none.
        """
        if _is_number(other):
            return float(other)  # type: ignore[arg-type]
        kind = type(other).__name__.replace("NoneType", "None")
        name = type(self).__name__
        raise TypeError(f"{name} {sign} {kind} is not defined; give a number{way}")

    def times(self, factor: SupportsFloat) -> Self:
        """Multiply each value. ``a * factor`` is the same.

        Raises:
            InputError: A product is beyond all measure.
        """
        return self._wrap(self._native.times(_number("factor", factor)))

    def resample(
        self, resolution: Resolution, *, how: How = "mean", time_zone: str = "UTC"
    ) -> Self:
        """Make the slots coarser or finer.

        No time gets or loses a value: a slot ends with its bucket, or where a
        gap begins. Of an hour that is half known there is half an hour.

        Args:
            resolution: ``"quarter_hour"``, ``"half_hour"``, ``"hour"``,
                ``"day"``, ``"week"``, ``"month"`` or ``"year"``.
            how: ``"mean"``, weighted with time, ``"min"`` or ``"max"``.
            time_zone: IANA name of the zone whose clocks the slots follow: a
                day has 23 or 25 hours where they change.

        Raises:
            InputError: An unknown resolution, time zone or ``how``.

        Example:
            >>> from datetime import UTC, datetime
            >>> midnight = datetime(2026, 3, 29, tzinfo=UTC)
            >>> load = Series.from_values(midnight, range(24), unit="kW")
            >>> [(slot.start.hour, slot.value) for slot in load.resample("day")]
            [(0, 11.5)]
            >>> [slot.start.hour for slot in load.resample("day", time_zone="Europe/Berlin")]
            [0, 22]
        """
        return self._wrap(self._native.resampled(resolution, time_zone, how))

    def to_pandas(self, *, time_zone: str = "UTC") -> pd.DataFrame:
        """Copy into a frame of pandas: starts as its index, ends and values as its columns.

        Args:
            time_zone: IANA name of the zone of the times.

        Raises:
            ModuleNotFoundError: pandas is missing.
        """
        import pandas as pd  # noqa: PLC0415  an optional library

        rows = self._native.slots
        starts, ends = ([row[at] for row in rows] for at in (0, 1))
        zone = _view.zone_of(time_zone).key
        index = pd.DatetimeIndex(starts, name="start", tz="UTC").tz_convert(zone)
        until = pd.DatetimeIndex(ends, tz="UTC").tz_convert(zone)
        columns = {"end": until, self._value_name: [row[2] for row in rows]}
        return pd.DataFrame(columns, index=index)

    def to_polars(self, *, time_zone: str = "UTC") -> pl.DataFrame:
        """Copy into a frame of polars with starts, ends and values.

        Args:
            time_zone: IANA name of the zone of the times.

        Raises:
            ModuleNotFoundError: polars is missing.
        """
        import polars as pl  # noqa: PLC0415  an optional library

        frame = pl.DataFrame(self)
        zone = _view.zone_of(time_zone).key
        times = pl.col("start", "end").dt.convert_time_zone(zone)
        return frame.with_columns(times)

    _value_name: ClassVar[str] = "value"

    def plot(
        self,
        *,
        time_zone: str | ZoneInfo = "UTC",
        theme: Theme = "auto",
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Figure:
        """Draw the values over time with matplotlib. Gaps stay empty.

        Args:
            time_zone: Zone of the time axis: an IANA name or a ``ZoneInfo``.
            theme: ``"light"``, ``"dark"``, or ``"auto"`` for that of the axes
                or of matplotlib's style.
            ax: Axes to draw into, as of ``pyplot.subplots``; by default a
                figure of its own.
            figsize: Width and height of that figure, in inches.

        Returns:
            The figure, which notebooks show.

        Raises:
            ImportError: matplotlib is not installed (``slackwater[plot]``).
            InputError: The time zone or the theme is unknown, or both ``ax``
                and ``figsize`` are given.
        """
        from slackwater._series_picture import draw_series  # noqa: PLC0415  matplotlib is optional

        return draw_series(self, time_zone=time_zone, theme=theme, ax=ax, figsize=figsize)

    def __len__(self) -> int:
        """Count the slots."""
        return len(self._native)

    def __iter__(self) -> Iterator[Any]:
        """Go through the slots, oldest first."""
        return iter(self.slots)

    def __getitem__(self, period: object) -> Self:
        """Cut to ``series[start:end]``, by aware datetimes; either may be left out.

        Raises:
            TypeError: It is no slice of aware datetimes.
        """
        if not isinstance(period, slice) or period.step is not None:
            kind, found = type(self).__name__, reprlib.repr(period)
            message = f"{kind}[{found}] is not defined; give [start:end], two aware datetimes"
            raise TypeError(f"{message}, or {self._value_name.partition('_')[0]}_at(at)")
        ends: tuple[datetime, datetime] | None = self._native.ends()
        if ends is None:
            return self
        start = ends[0] if period.start is None else period.start
        return self.between(start, ends[1] if period.stop is None else period.stop)

    def __add__(self, other: SupportsFloat | Self) -> Self:
        """Add a number or a series over the same time."""
        return self.plus(self._operand("+", other))

    __radd__ = __add__

    def __sub__(self, other: SupportsFloat | Self) -> Self:
        """Subtract a number or a series over the same time."""
        return self.plus(-self._operand("-", other))

    def __rsub__(self, other: SupportsFloat) -> Self:
        """Subtract from a number."""
        return (-self).plus(self._operand("-", other))

    def __mul__(self, factor: SupportsFloat) -> Self:
        """Multiply each value with a number."""
        if isinstance(factor, Series):
            message = f"a series is multiplied by a number, not by another one in {factor.unit}"
            raise TypeError(message)
        return self.times(self._factor("*", factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: SupportsFloat) -> Self:
        """Divide each value by a number."""
        if isinstance(divisor, Series):
            message = f"a series is divided by a number, not by another one in {divisor.unit}"
            raise TypeError(message)
        number = self._factor("/", divisor)
        if number == 0:
            raise InputError(f"a series in {self.unit} is divided by 0; give another number")
        return self.times(1 / number)

    def __neg__(self) -> Self:
        """Change the sign of each value."""
        return self.times(-1.0)

    def __eq__(self, other: object) -> bool:
        """Compare slots, values and unit."""
        return isinstance(other, type(self)) and bool(self._native == other._native)

    __hash__ = None  # type: ignore[assignment]  # equal series may be built in different ways

    def __reduce__(self) -> tuple[object, ...]:
        """Copy by slots, for other processes."""
        return _rebuilt, (self._native.slots, self.unit)

    def __repr__(self) -> str:
        """Tell span, number of slots, gaps and range of values."""
        name, ends = type(self).__name__, self._native.ends()
        if ends is None:
            return f"{name}(no slots, {self.unit})"
        span = f"{ends[0]:%Y-%m-%d %H:%M}Z to {ends[1]:%Y-%m-%d %H:%M}Z"
        gaps = len(self.gaps)
        told = f", {gaps} gap{'s' if gaps > 1 else ''}" if gaps else ""
        _, least, largest = self._summary()
        slots = f"{len(self)} slot{'s' if len(self) > 1 else ''}"
        return f"{name}({slots} from {span}, {least:g} to {largest:g} {self.unit}{told})"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the slots to an Arrow library."""
        return self._native.__arrow_c_stream__(requested_schema)


def periods_in(given: Series, unit: str, name: str) -> list[tuple[datetime, datetime, float]]:
    """The slots of a series that has to be in a unit.

    Raises:
        InputError: It is in another one.
    """
    if given.unit != unit:
        raise InputError(f"{name} is a series in {given.unit}; give one in {unit}")
    slots: list[tuple[datetime, datetime, float]] = given._native.slots
    return slots


def means_in(
    given: Series, unit: str, periods: Iterable[tuple[datetime, datetime]], name: str
) -> list[float]:
    """The mean over each of some periods of a series that has to be in a unit.

    Raises:
        InputError: It is in another one, or is not known throughout a period.
    """
    periods_in(given, unit, name)
    means = []
    for start, end in periods:
        part = given._native.between(start, end)
        if part.ends() != (start, end) or part.gaps:
            message = f"{name}: the series is not known throughout {start} to {end}"
            raise InputError(f"{message}, which has a price")
        means.append(part.summary()[0])
    return means


def numbers_at(start: datetime, values: Iterable[Any], slot: timedelta, name: str) -> list[float]:
    """Numbers of slots that follow each other from a start.

    Raises:
        InputError: One is no number, or the index of a series of pandas has other times.
    """
    numbers = numbers_of(values, name)
    if index_of(values) is not None:
        # Steps in UTC: those of another zone follow its wall clock.
        first = start.astimezone(UTC)
        starts = [first + position * slot for position in range(len(numbers))]
        refuse_other_times(name, values, starts)
    return numbers


def _refuse_not_finite(values: Sequence[float], unit: str) -> None:
    """Refuse NaN and infinite values, with their position and the unit.

    Raises:
        InputError: One is not finite.
    """
    if not all(map(math.isfinite, values)):
        place = next(at for at, value in enumerate(values) if not math.isfinite(value))
        message = f"values[{place}] is {values[place]}; it is a finite number of {unit}"
        raise InputError(message)


def _unit_of(unit: str) -> tuple[str, float]:
    name, factor, currency = _engine.series_unit(unit)
    if currency is not None:
        raise InputError(f"unit is {unit!r}, a price; use slackwater.Prices for prices")
    return name, factor


def _number(name: str, value: object) -> float:
    """A number of any kind.

    Raises:
        TypeError: It is none.
    """
    if value is None:
        raise TypeError(f"{name} is None; it has to be a number")
    if not _is_number(value):
        raise TypeError(f"{name} has to be a number, not a {type(value).__name__}")
    return float(value)  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def _rebuilt(slots: list[tuple[datetime, datetime, float]], unit: str) -> Series:
    return Series.from_slots(slots, unit=unit)
