"""Bills: a metered load and a tariff make the lines of each month, to the cent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from slackwater import _engine, _view
from slackwater._conversion import warn_of_largest
from slackwater._drawn import Drawn
from slackwater._engine import BillingTariff, InputError
from slackwater.series import Series

if TYPE_CHECKING:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from slackwater._timeline import Picture

QUARTER = timedelta(minutes=15)


class Bill(_engine.Bill, Drawn):
    """The bill of a load by a tariff, month by month. Cannot be changed.

    Any Arrow library reads it as the table of its lines: ``pyarrow.table(bill)``.
    """

    __slots__ = ()

    def explain(self) -> list[str]:
        """Tell each line in a sentence: month, component, amount, and how it came about."""
        return [
            f"{line.month}, {line.component}: {line.amount:.2f} {self.currency}. {line.explanation}"
            for line in self.lines
        ]

    def _own_zone(self) -> str:
        """Zone of the tariff, on whose clocks its months are."""
        return self.tariff.time_zone

    def _picture(self, zone: ZoneInfo) -> Picture:
        from slackwater._bill_picture import bill_picture  # noqa: PLC0415  only drawings need it

        return bill_picture(self, zone)

    def _sections(self, zone: ZoneInfo) -> list[str]:
        del zone  # Months are those of the tariff's clocks.
        from slackwater.html import bill_sections  # noqa: PLC0415  only drawings need it

        return bill_sections(self)

    def __repr__(self) -> str:
        """Tell total, months, tariff, and what was not measured."""
        names = [month.month for month in self.months]
        span = "no month" if not names else names[0]
        if len(names) > 1:
            span = f"{names[0]} to {names[-1]}, {len(names)} months"
        gaps = _view.readings_missing(len(self.missing))
        parts = [f"{self.total:.2f} {self.currency} for {span}", repr(self.tariff.name), gaps]
        return f"Bill({', '.join(part for part in parts if part)})"


def billing_tariff(tariff: BillingTariff | str) -> BillingTariff:
    """Return a tariff as it is, or the one of a name in the library.

    Raises:
        InputError: The library has no tariff of that name.
    """
    if isinstance(tariff, BillingTariff):
        return tariff
    from slackwater.tariffs import load_tariff  # noqa: PLC0415  it reads files, too

    return load_tariff(tariff)


def bill(
    load: object,
    tariff: BillingTariff | str,
    *,
    export: object = None,
    devices: Mapping[str, object] | None = None,
    start: datetime | None = None,
    slot: timedelta | None = None,
    unit: Literal["kW", "kWh"] = "kW",
    months: str | Iterable[str] | None = None,
    peaks: Iterable[tuple[datetime, float]] = (),
    contracted_kw: float | None = None,
    contracted_kva: float | None = None,
    fuse_amps: float | None = None,
    allow_missing: bool = False,
) -> Bill:
    """Bill a metered load by a tariff, to the cent, with every line explained.

    Months, days and hours are those on the clocks of the tariff's zone, so a load that is to be
    billed for January begins at midnight there. Every month has to be measured from its first
    instant to its last; a tariff that counts powers of earlier months takes them from the load as
    far as it reaches back, and from ``peaks``.

    Energies are kept to the milliwatt-hour, prices are decimals, and each line is rounded once, as
    the tariff says (to the cent, a half away from zero, if it does not say).

    Args:
        load: Mean power from the grid, in periods of one length between a minute and
            an hour: a :class:`Series` in kW; a series or frame of pandas, a frame of
            polars or a table of pyarrow with times; or numbers, with ``start``. Where
            there is no ``export`` a negative power is one into the grid.
        tariff: A tariff of :mod:`slackwater.tariffs`, or the name of one in
            :func:`tariffs.list_tariffs`.
        export: Mean power into the grid, 0 or more, in any of these forms and over the
            periods of ``load``.
        devices: Mean power that each device with a price of its own draws, by its name in
            :attr:`BillingTariff.devices`, in any of these forms and over the periods of ``load``,
            which includes it. Energy from the grid is that of devices first, in this order.
        start: First instant of numbers, aware.
        slot: Length of the period of each number; without it a quarter of an hour.
        unit: ``"kW"``, or ``"kWh"`` for readings of energy in each period. A
            :class:`Series` has a unit of its own.
        months: Month ``"2026-01"`` or several; without it all that the load touches.
        peaks: Mean powers ``(at, power_kw)`` of windows before the load begins, or in
            a gap of it: the highest that were reached. They count for capacity rules
            of the month that they lie in, and have no energy.
        contracted_kw: Contracted power in kW, for a tariff that is priced by it.
        contracted_kva: Contracted apparent power in kVA.
        fuse_amps: Rated current of the main fuse in A.
        allow_missing: Whether a month is billed although readings are missing. They
            are in :attr:`Bill.missing`, and nothing is put in their place.

    Returns:
        The bill.

    Raises:
        InputError: There is no such tariff; a month lies outside of the tariff's dates or lacks
            readings; periods differ in length, or are too long for a rate or a capacity rule;
            export, devices and import differ in their periods; a device is missing that the tariff
            has a price for, or has none; a number is missing that the tariff is
            priced by; a power is NaN, infinite or, beside ``export``, negative.
        TypeError: A time has no zone, or the load is no load.

    Warns:
        PlausibilityWarning: A power looks like one in W, and no contracted power tells that the
            customer is as large.

    Example:
        A flat kilowatt in July 2026 on the network tariff of Elvia:

        >>> from datetime import UTC, datetime, timedelta
        >>> import slackwater as sw
        >>> july = datetime(2026, 6, 30, 22, tzinfo=UTC)
        >>> flat = sw.Series.from_values(july, [1.0] * 744, unit="kW")
        >>> result = sw.bill(flat, "no-elvia-2026-07")
        >>> result
        Bill(439.55 NOK for 2026-07, 'Elvia household with taxes, July 2026')
        >>> result.explain()[2].partition(" (")[0]
        '2026-07, capacity: 120.00 NOK. 1 kW: the mean of the 3 highest powers over 60 min on \
different days'
    """
    series = _series("load", load, unit=unit, start=start, slot=slot)
    out = None
    if export is not None:
        out = _series("export", export, unit=unit, start=start, slot=slot)._native
    drawn = [
        (name, _series(f"devices[{name!r}]", power, unit=unit, start=start, slot=slot)._native)
        for name, power in (devices or {}).items()
    ]
    peaks = list(peaks)
    if contracted_kw is None and contracted_kva is None:
        name = "load.energy_kwh" if unit == "kWh" else "load.power_kw"
        warn_of_largest(name, (value for _, _, value in series.slots))
        warn_of_largest("peaks.power_kw", [power for _, power in peaks])
    native = _engine.bill_load(
        series._native,
        billing_tariff(tariff),
        export=out,
        devices=drawn,
        is_energy=unit == "kWh",
        months=[months] if isinstance(months, str) else None if months is None else list(months),
        peaks=peaks,
        contracted_kw=contracted_kw,
        contracted_kva=contracted_kva,
        fuse_amps=fuse_amps,
        allow_missing=allow_missing,
    )
    return Bill(
        tariff=native.tariff,
        months=native.months,
        lines=native.lines,
        total=native.total,
        missing=native.missing,
    )


def _series(
    name: str, given: object, *, unit: str, start: datetime | None, slot: timedelta | None
) -> Series:
    """A load in any of its forms; of energies the numbers are kWh, as if they were kW."""
    if unit not in ("kW", "kWh"):
        raise InputError(f"unit is {unit!r}; it is 'kW' or 'kWh'")
    if isinstance(given, Series):
        if start is not None or slot is not None:
            raise InputError(f"{name} is a series, which has its times; leave start and slot out")
        if given.unit != "kW" or unit != "kW":
            raise InputError(
                f"{name} is a series in {given.unit}, for unit={unit!r}; give one in kW"
            )
        return given
    try:
        return _read_load(given, unit, start=start, slot=slot)
    except (InputError, TypeError) as error:
        # Of energies the numbers are kWh.
        message = str(error).replace("finite number of kW", f"finite number of {unit}")
        raise type(error)(f"{name}: {message}") from None


def _read_load(
    given: object, unit: str, *, start: datetime | None, slot: timedelta | None
) -> Series:
    """Numbers from their first instant on, or anything that has times."""
    if start is None:
        # An array of NumPy has no times; a series of pandas has them in its index.
        if isinstance(given, Sequence) or hasattr(given, "__array_interface__"):
            raise InputError("a list of numbers; give its first instant as start=")
        return Series._read(given, "kW", unit, argument=None)
    if not isinstance(given, Iterable):
        what = "None" if given is None else f"a {type(given).__name__}"
        raise TypeError(f"{what}; give numbers, or a series with times")
    return Series.from_values(start, given, unit="kW", slot=QUARTER if slot is None else slot)
