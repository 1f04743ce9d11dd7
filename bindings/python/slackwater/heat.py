"""Plans of heat pumps, heaters and air conditioners, and thermal models from measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from slackwater import _engine, _view
from slackwater._arguments import check_until
from slackwater._conversion import warn_of_largest
from slackwater._drawn import Drawn
from slackwater._index import refuse_other_times
from slackwater._power import power_periods
from slackwater._record import Record
from slackwater._saved_plan import SavedPlan
from slackwater.prices import emission_price, priced
from slackwater.questions import Replanned

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from slackwater._engine import HeatFit, HeatReasons, PlanTable
    from slackwater._timeline import Picture
    from slackwater.plan import PowerLimit
    from slackwater.prices import Prices
    from slackwater.site_devices import Carbon, PowerOverTime
    from slackwater.typing import ArrowTable


CelsiusOverTime = float | Sequence[float] | Sequence[tuple[datetime, datetime, float]]
"""A temperature in °C: one number, one for each slot of the prices, or periods
``(start, end, celsius)`` in time order. No :class:`slackwater.Series` has this unit."""

_ALL_TIMES = (datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))
"""First and last instant of a number that is the same at all times."""


class _SetBackFields(NamedTuple):
    start: str
    end: str
    min_celsius: float
    max_celsius: float


class SetBack(_SetBackFields, Record):
    """A period of every day, on the wall clock, with a comfort band of its own.

    In the night in which clocks go forward a set-back within the skipped hour does not happen, and
    in the night in which they go back one within the doubled hour happens twice.

    Attributes:
        start: Time of day from which it holds, ``"22:00"``.
        end: Time of day until which it holds; one before ``start`` is that of the next day.
        min_celsius: Lowest temperature, in °C.
        max_celsius: Highest temperature, in °C.
    """

    __slots__ = ()


class HeatPlan(_engine.HeatPlan, Replanned, Drawn, SavedPlan):
    """The cheapest plan to heat or cool a room or tank within its band. Cannot be changed.

    A band that cannot be held is in :attr:`below_celsius_hours` and :attr:`above_celsius_hours`,
    never an exception. There is no ``close_to``: the next plan starts from the measured temperature
    at a new outdoor temperature, and heat at the hours of an earlier plan would not be what the
    room needs then.
    """

    __slots__ = ("_given", "_prices")

    @staticmethod
    def _plan_again(given: Mapping[str, Any]) -> HeatPlan:
        return plan_heat(**given)

    def _emissions_kg(self, intensity: _engine.Series) -> tuple[float, float]:
        return _engine.heat_emissions(self, intensity)

    def temperature_celsius_at(self, at: datetime) -> float:
        """Tell the temperature at an instant, in °C, between the ends of slots as well."""
        return super().temperature_celsius_at(at)

    def explain(self, *, time_zone: str = "UTC") -> HeatReasons:
        """Give a reason for each period in which the unit runs, in time order.

        Args:
            time_zone: IANA name of the zone in whose wall clock the sentences
                speak. The fields themselves are in UTC.

        Raises:
            InputError: The time zone is unknown.
        """
        return super().explain(time_zone=time_zone)

    def _picture(self, zone: ZoneInfo) -> Picture:
        from slackwater._pictures import heat_picture  # noqa: PLC0415  only drawings need it

        return heat_picture(self, zone)

    def _sections(self, zone: ZoneInfo) -> list[str]:
        from slackwater.html import heat_sections  # noqa: PLC0415  only drawings need it

        return heat_sections(self, zone)

    def __repr__(self) -> str:
        """Tell energy, cost, savings and degree-hours outside the band in one line."""
        missing = "".join(f", {part}" for part in _view.heat_missing(self))
        notes = "".join(f", {note}" for note in _view.notes(self))
        return (
            f"HeatPlan(uses {self.used_kwh:.6g} kWh, "
            f"costs {round(self.cost, 4) + 0.0:.4f} {self.currency}, "
            f"saves {round(self.savings, 4) + 0.0:.4f}{missing}{notes}, {_view.heat_proof(self)})"
        )


def plan_heat(
    prices: Prices,
    *,
    now: datetime,
    until: datetime | None = None,
    capacity_kwh_per_k: float,
    loss_kw_per_k: float,
    temperature_celsius: float,
    comfort_celsius: tuple[float, float],
    set_backs: Iterable[SetBack | tuple[str, str, float, float]] = (),
    time_zone: str = "UTC",
    power_max_kw: float,
    power_limits: Iterable[PowerLimit | tuple[datetime, datetime, float]] = (),
    cop: float | Sequence[tuple[float, float]] = 1.0,
    outdoor_celsius: CelsiusOverTime,
    gains_kw: PowerOverTime | ArrowTable | None = None,
    mode: Literal["heat", "cool"] = "heat",
    end_value_per_kwh: float = 0.0,
    on_off: bool = False,
    on_min: timedelta | None = None,
    off_min: timedelta | None = None,
    running_since: datetime | None = None,
    stopped_since: datetime | None = None,
    carbon: Carbon | None = None,
) -> HeatPlan:
    """Plan a heat pump, heater or air conditioner: comfort first, then cost.

    The room or tank is one heat capacity with one loss: ``C·dT/dt = UA·(T_out - T) + cop·P +
    gains``, solved exactly within each slot. The temperature is wanted within the band at every
    instant. The plan has the least degree-hours outside the band, and of all such plans the least
    cost, and carries a proof of both. The unit runs at any power up to ``power_max_kw``.

    A band that cannot be held is no error: the plan is as close to it as possible, and has the
    degree-hours below and above it: degrees at the end of each slot, times the hours of the slot.

    Args:
        prices: What a kWh of electricity costs. Without a price the unit is off.
        now: The present, aware: the first usable instant.
        until: End of the plan; without it the last price or outdoor temperature.
        capacity_kwh_per_k: Heat that warms the room or tank by one degree, in kWh
            per K. A litre of water has 0.00116 kWh per K.
        loss_kw_per_k: Heat lost for each degree above the outside, in kW per K.
            :func:`identify_heat` finds both in measurements.
        temperature_celsius: Temperature at ``now``, in °C.
        comfort_celsius: Lowest and highest wanted temperature, in °C.
        set_backs: Periods of every day with bands of their own; where they
            overlap the first one holds.
        time_zone: IANA name of the zone on whose clock set-backs are.
        power_max_kw: Highest electrical power of the unit, in kW.
        power_limits: Periods ``(start, end, power_max_kw)`` with a lower one.
        cop: Heat moved per electrical energy: a number, or pairs
            ``(outdoor_celsius, cop)`` with rising temperatures, as in a data sheet.
            Between them it is linear, beyond them constant.
        outdoor_celsius: Temperature outside, or around a tank, in °C: a number, one
            for each slot of ``prices``, or periods ``(start, end, celsius)``.
        gains_kw: Heat from sun, people or devices, in kW, in the same form, or a
            table with ``start``, ``end`` and ``power_kw``; negative is drawn, as hot
            water is. Where periods overlap, their sum counts.
        mode: ``"heat"``, or ``"cool"`` for a unit that takes heat out.
        end_value_per_kwh: Value of a kWh of heat (of cold) stored at the end. With 0
            the plan ends at the edge of the band.
        on_off: Whether the unit runs at ``power_max_kw`` or not at all. A power limit
            below that forbids running.
        on_min: Minimum time on, at most a day; needs ``on_off``. Only a run from
            before the plan may be shorter, where a limit or a missing price ends it.
        off_min: Minimum time off, at most a day; needs ``on_off``.
        running_since: The unit is on, since this instant; needs ``on_off``.
        stopped_since: The unit is off, since this instant; needs ``on_off``. Without
            either it may start at once.
        carbon: As in :func:`slackwater.plan_charge`; the baseline is the thermostat.

    Returns:
        The plan.

    Raises:
        InputError: The capacity is not above 0; a loss or power is negative; a
            temperature is no one in °C; a band is empty; a period has no length; the
            outdoor temperature has a gap or does not cover the plan; a number is NaN,
            infinite or beyond all measure; a least time is negative or above a day, a
            state lies in the future, or one of them is given without ``on_off``; ``until``
            is before ``now``; the carbon intensity is missing at a time that has a price.
        TypeError: A time has no zone.

    Example:
        Three hours at 0.10, 0.40 and 0.40, at 5 °C outside. The heat pump stores heat in
        the first hour, where a thermostat would hold 20 °C:

        >>> from datetime import UTC, datetime
        >>> from slackwater import Prices
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.10, 0.40, 0.40], currency="EUR")
        >>> plan = plan_heat(
        ...     prices,
        ...     now=six,
        ...     capacity_kwh_per_k=5,
        ...     loss_kw_per_k=0.2,
        ...     temperature_celsius=20,
        ...     comfort_celsius=(20, 23),
        ...     power_max_kw=3,
        ...     cop=3,
        ...     outdoor_celsius=5,
        ... )
        >>> plan
        HeatPlan(uses 3.11456 kWh, costs 0.3458 EUR, saves 0.5542, proved optimal)
        >>> print(plan.explain()[0].sentence)
        Mon 18:00 to Mon 19:00: heats with 3 kWh for 0.30 EUR (0.10 EUR/kWh) to 21.2 °C, \
ahead of Mon 21:00, until when this is the cheapest time.
    """
    given = dict(locals())
    switching = {
        "on_min": on_min,
        "off_min": off_min,
        "running_since": running_since,
        "stopped_since": stopped_since,
    }
    for name, value in switching.items():
        if value is not None and not on_off:
            message = f"{name} is given for a unit that modulates; it needs on_off=True"
            raise _engine.InputError(message)
    prices = priced(prices, carbon)
    native = _engine.plan_heat(
        prices._native,
        now=now,
        until=check_until(until, now),
        capacity_kwh_per_k=capacity_kwh_per_k,
        loss_kw_per_k=loss_kw_per_k,
        temperature_celsius=temperature_celsius,
        mode=mode,
        power_max_kw=power_max_kw,
        power_limits=list(power_limits),
        cop=cop_points(cop),
        outdoor=outdoor_periods(outdoor_celsius, prices, (now, until)),
        gains=power_periods("gains_kw", gains_kw, prices) or [],
        comfort=comfort_celsius,
        set_backs=[SetBack(*period) for period in set_backs],
        time_zone=time_zone,
        end_value_per_kwh=end_value_per_kwh,
        on_off=on_off,
        on_min=on_min,
        off_min=off_min,
        running_since=running_since,
        stopped_since=stopped_since,
    )
    return HeatPlan(native, prices, given)


def outdoor_periods(
    outdoor_celsius: CelsiusOverTime, prices: Prices, time: tuple[datetime, datetime | None]
) -> list[tuple[datetime, datetime, float]]:
    """Turn an outdoor temperature into periods; ``time`` is the present and the end of a plan.

    Raises:
        InputError: There are not as many numbers as slots.
        TypeError: It is a series, which has no unit of temperature.
    """
    if not isinstance(outdoor_celsius, int | float):
        return power_periods("outdoor_celsius", outdoor_celsius, prices) or []
    # One number holds at all times, in gaps of the prices as well.
    now, until = time
    ends = [end for _, end, _ in prices.slots[-1:]] + ([] if until is None else [until])
    last = max([now + timedelta(microseconds=1), *ends])
    return [(now, last, float(outdoor_celsius))]


def plan_heat_row(
    rooms: ArrowTable,
    prices: Prices,
    *,
    room: object,
    outdoor_celsius: CelsiusOverTime,
    gains_kw: PowerOverTime | ArrowTable | None = None,
    cop: float | Sequence[tuple[float, float]] = 1.0,
    mode: Literal["heat", "cool"] = "heat",
    set_backs: Iterable[SetBack | tuple[str, str, float, float]] = (),
    time_zone: str = "UTC",
    end_value_per_kwh: float = 0.0,
    carbon: Carbon | None = None,
) -> HeatPlan:
    """Plan one room or tank of a table, with all that a single plan can tell.

    The same plan as in its row of :func:`plan_heat_batch`, with its slots, its reasons and its
    proof.

    Args:
        rooms: As :func:`plan_heat_batch` takes them.
        prices: What a kWh of electricity costs.
        room: Its ``id``.
        outdoor_celsius: As in :func:`plan_heat_batch`, and so are the following.
        gains_kw: Heat from elsewhere, in kW.
        cop: Heat moved per electrical energy, where the column has none.
        mode: ``"heat"`` or ``"cool"``.
        set_backs: Periods of every day with bands of their own.
        time_zone: IANA name of the zone on whose clock set-backs are.
        end_value_per_kwh: Value of a kWh of heat stored at the end, where the column has none.
        carbon: As in :func:`slackwater.plan_charge`.

    Returns:
        The plan.

    Raises:
        InputError: No row has this id, or several; a value of the row is missing or invalid; or
            as :func:`plan_heat`.

    Warns:
        PlausibilityWarning: A power looks like one in W.

    Example:
        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Prices
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.10, 0.40, 0.40], currency="EUR")
        >>> rooms = pa.table(
        ...     {
        ...         "id": ["hall"],
        ...         "now": [six],
        ...         "until": [six + timedelta(hours=3)],
        ...         "capacity_kwh_per_k": [5.0],
        ...         "loss_kw_per_k": [0.2],
        ...         "temperature_celsius": [20.0],
        ...         "min_celsius": [20.0],
        ...         "max_celsius": [23.0],
        ...         "power_max_kw": [3.0],
        ...     }
        ... )
        >>> plan_heat_row(rooms, prices, room="hall", outdoor_celsius=5, cop=3)
        HeatPlan(uses 3.11456 kWh, costs 0.3458 EUR, saves 0.5542, proved optimal)
    """
    now, until, row = _engine.heat_row(rooms, str(room))
    gains = list(_periods("gains_kw", gains_kw, [prices]))
    if "gain_kw" in row and now < until:
        gains.append((now, until, row["gain_kw"]))
    return plan_heat(
        prices,
        now=now,
        until=until,
        capacity_kwh_per_k=row["capacity_kwh_per_k"],
        loss_kw_per_k=row["loss_kw_per_k"],
        temperature_celsius=row["temperature_celsius"],
        comfort_celsius=(row["min_celsius"], row["max_celsius"]),
        set_backs=set_backs,
        time_zone=time_zone,
        power_max_kw=row["power_max_kw"],
        cop=row.get("cop", cop),
        outdoor_celsius=_periods("outdoor_celsius", outdoor_celsius, [prices]),
        gains_kw=gains or None,
        mode=mode,
        end_value_per_kwh=row.get("end_value_per_kwh", end_value_per_kwh),
        carbon=carbon,
    )


def plan_heat_batch(
    rooms: ArrowTable,
    prices: Prices | Mapping[str, Prices],
    *,
    outdoor_celsius: CelsiusOverTime,
    gains_kw: PowerOverTime | ArrowTable | None = None,
    cop: float | Sequence[tuple[float, float]] = 1.0,
    mode: Literal["heat", "cool"] = "heat",
    set_backs: Iterable[SetBack | tuple[str, str, float, float]] = (),
    time_zone: str = "UTC",
    end_value_per_kwh: float = 0.0,
    carbon: Carbon | None = None,
) -> PlanTable:
    """Plan every room or tank of a table, each as if it were alone.

    As :func:`plan_heat` from ``now`` to ``until``, for units that modulate, in parallel and
    without the interpreter lock. The rooms of a call share their weather. An invalid row fills
    its ``error`` column; the other rows are planned.

    Args:
        rooms: Anything with ``__arrow_c_stream__``, one row a room or tank:

            ======================= =================================== ========
            column                  meaning                             required
            ======================= =================================== ========
            ``id``                  any type, handed back as it is      yes
            ``now``                 first usable instant, with a zone   yes
            ``until``               end of the plan, with a zone        yes
            ``capacity_kwh_per_k``  heat that warms it by one degree    yes
            ``loss_kw_per_k``       heat lost per degree                yes
            ``temperature_celsius`` temperature at ``now``              yes
            ``min_celsius``         lowest wanted temperature           yes
            ``max_celsius``         highest wanted temperature          yes
            ``power_max_kw``        highest electrical power            yes
            ``cop``                 heat per electrical energy          no, ``cop``
            ``gain_kw``             heat beside ``gains_kw``, constant  no, 0
            ``end_value_per_kwh``   of a kWh of heat stored at the end  no, as given
            ``price_id``            name of the prices                  with a mapping
            ======================= =================================== ========

            Other columns are ignored. Refused are those that are arguments here, those that
            other functions honour (``arrival``, ...), earlier names, and names close to that of
            a column which is not there.
        prices: One curve for all, or curves by their ``price_id``.
        outdoor_celsius: Temperature outside, or around the tanks, in °C: a number, one for each
            slot of the prices, or periods ``(start, end, celsius)``.
        gains_kw: Heat from sun, people or devices of every room, in kW, in the same form, or a
            table with ``start``, ``end`` and ``power_kw``; negative is drawn.
        cop: As in :func:`plan_heat`, for rows without a number in the column.
        mode: ``"heat"``, or ``"cool"`` for units that take heat out.
        set_backs: As in :func:`plan_heat`, for all rows.
        time_zone: IANA name of the zone on whose clock set-backs are.
        end_value_per_kwh: As in :func:`plan_heat`, for rows without a number in the column.
        carbon: As in :func:`slackwater.plan_charge`. With it the table has the columns
            ``carbon_kg`` and ``baseline_carbon_kg``.

    Returns:
        A table with ``id``, ``cost``, ``used_kwh``, ``heat_kwh``, ``below_celsius_hours``,
        ``above_celsius_hours``, ``temperature_celsius`` (at the end), ``baseline_cost``,
        ``savings``, ``gap``, ``unpriced_hours``, ``intervals`` (list of
        ``{start, end, power_kw}``), ``status`` (``shortfall`` for a band that is not held),
        ``error`` and ``energy_on_estimates_kwh`` (used at prices that are only estimated).

    Raises:
        InputError: A column is missing or of a wrong type; prices are in different currencies;
            an argument that all rows share is invalid, as in :func:`plan_heat`; numbers for each
            slot meet prices with different slots; the carbon intensity is missing at a time that
            has a price.

    Warns:
        PlausibilityWarning: A power looks like one in W.

    Example:
        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Prices
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.10, 0.40, 0.40], currency="EUR")
        >>> rooms = pa.table(
        ...     {
        ...         "id": ["hall", "tank"],
        ...         "now": [six, six],
        ...         "until": [six + timedelta(hours=3)] * 2,
        ...         "capacity_kwh_per_k": [5.0, 0.35],
        ...         "loss_kw_per_k": [0.2, 0.002],
        ...         "temperature_celsius": [20.0, 50.0],
        ...         "min_celsius": [20.0, 50.0],
        ...         "max_celsius": [23.0, 60.0],
        ...         "power_max_kw": [3.0, 2.0],
        ...         "cop": [3.0, None],
        ...     }
        ... )
        >>> plans = pa.table(plan_heat_batch(rooms, prices, outdoor_celsius=5))
        >>> [round(kwh, 3) for kwh in plans["used_kwh"].to_pylist()]
        [3.115, 0.272]
        >>> plans["status"].to_pylist()
        ['optimal', 'optimal']
    """
    names = list(prices) if isinstance(prices, Mapping) else None
    curves = list(prices.values()) if isinstance(prices, Mapping) else [prices]
    return _engine.plan_heat_batch(
        rooms,
        [priced(curve, carbon)._native for curve in curves],
        names,
        mode=mode,
        cop=cop_points(cop),
        outdoor=_periods("outdoor_celsius", outdoor_celsius, curves),
        gains=_periods("gains_kw", gains_kw, curves),
        set_backs=[SetBack(*period) for period in set_backs],
        time_zone=time_zone,
        end_value_per_kwh=end_value_per_kwh,
        intensity=None if carbon is None else emission_price(carbon).intensity,
    )


def cop_points(cop: float | Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Turn a coefficient of performance into points ``(outdoor_celsius, cop)``."""
    return [(0.0, float(cop))] if isinstance(cop, int | float) else list(cop)


def _periods(
    name: str, values: PowerOverTime | ArrowTable | None, curves: Sequence[Prices]
) -> list[tuple[datetime, datetime, float]]:
    if isinstance(values, int | float):
        return [(*_ALL_TIMES, float(values))]
    found, *others = [power_periods(name, values, curve) or [] for curve in curves] or [[]]
    if any(other != found for other in others):
        message = f"{name} has a number for each slot, and the slots of the prices differ"
        raise _engine.InputError(f"{message}; give periods")
    return found


def identify_heat(
    at: Sequence[datetime],
    *,
    temperature_celsius: Sequence[float],
    outdoor_celsius: Sequence[float],
    heat_kw: Sequence[float],
    irradiance_kw_per_m2: Sequence[float] | None = None,
) -> HeatFit:
    """Fit heat loss, heat capacity and gains of a room or tank to measurements.

    The whole course of the temperature is simulated with the model of :func:`plan_heat`, and the
    squared differences from the readings are minimised. Intervals allow for residuals that are
    correlated in time, because no house is a first-order model.

    Args:
        at: Instants of the readings, aware, oldest first; steps may differ. A series of readings
            whose index has times has to have these.
        temperature_celsius: Temperature at each reading, in °C.
        outdoor_celsius: Mean temperature outside until the next reading, in °C.
        heat_kw: Mean heat of the unit until the next reading, in kW: its electrical
            power times its coefficient of performance; negative cools.
        irradiance_kw_per_m2: Mean irradiance until the next reading, in kW per m²;
            with it the solar aperture is fitted as well.

    Returns:
        Each parameter with the interval that holds its true value in 95 of 100 cases.

    Raises:
        InputError: There are fewer than 24 readings, or columns differ in length; times
            do not rise, or the index of a series has others; a value is NaN, infinite or none in
            its unit; temperature, heat or irradiance never change; or the readings leave heat loss
            or capacity open, which the message names.
        TypeError: A time has no zone.

    Example:
        A house with 0.2 kW/K and 6 kWh/K, whose unit of 6 kW is on every third hour:

        >>> import math
        >>> from datetime import UTC, datetime, timedelta
        >>> start = datetime(2026, 1, 5, tzinfo=UTC)
        >>> heat, inside = [6.0 * (hour % 3 == 0) for hour in range(72)], [20.0]
        >>> for kw in heat[:-1]:
        ...     limit = 5 + kw / 0.2
        ...     inside.append(limit + (inside[-1] - limit) * math.exp(-0.2 / 6))
        >>> fit = identify_heat(
        ...     [start + timedelta(hours=hour) for hour in range(72)],
        ...     temperature_celsius=inside,
        ...     outdoor_celsius=[5.0] * 72,
        ...     heat_kw=heat,
        ... )
        >>> round(fit.loss_kw_per_k.value, 4), round(fit.capacity_kwh_per_k.value, 4)
        (0.2, 6.0)
    """
    times = list(at)
    readings = {
        "temperature_celsius": temperature_celsius,
        "outdoor_celsius": outdoor_celsius,
        "heat_kw": heat_kw,
        "irradiance_kw_per_m2": irradiance_kw_per_m2,
    }
    for name, values in readings.items():
        refuse_other_times(name, values, times, each="reading")
    heat = list(heat_kw)
    warn_of_largest("heat_kw", heat)
    irradiance = None if irradiance_kw_per_m2 is None else list(irradiance_kw_per_m2)
    return _engine.identify_heat(
        times,
        temperature_celsius=list(temperature_celsius),
        outdoor_celsius=list(outdoor_celsius),
        heat_kw=heat,
        irradiance_kw_per_m2=irradiance,
    )
