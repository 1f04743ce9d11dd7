"""Plans of one vehicle: the cheapest energy before every deadline."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from slackwater import _engine, _view
from slackwater._arguments import check_until
from slackwater._drawn import Drawn
from slackwater._record import Record
from slackwater._row import native_battery
from slackwater._saved_plan import SavedPlan
from slackwater.prices import priced
from slackwater.questions import Questions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from zoneinfo import ZoneInfo

    from slackwater._engine import Reasons
    from slackwater._timeline import Picture
    from slackwater.prices import Prices
    from slackwater.site_devices import Carbon

AfterDeadline = Literal["continue", "stop"]


class _TargetFields(NamedTuple):
    by: datetime | None
    energy_kwh: float


class Target(_TargetFields, Record):
    """Energy wanted by a deadline.

    Targets are levels counted from ``now``, not portions: 10 kWh by six and
    30 kWh by nine is 30 kWh in all.

    Attributes:
        by: The deadline, aware; ``None`` is the end of the known prices.
        energy_kwh: Energy at the plug.
    """

    __slots__ = ()


class _SocTargetFields(NamedTuple):
    by: datetime | None
    soc_percent: float | None = None


class SocTarget(_SocTargetFields, Record):
    """A state of charge wanted by a deadline.

    Attributes:
        by: The deadline, aware; ``None`` is the end of the known prices.
        soc_percent: State of charge; ``None`` is the charge limit.
    """

    __slots__ = ()


def list_targets(
    kind: type[Target | SocTarget], given: Iterable[object], *, unit: str
) -> list[tuple[datetime | None, Any]]:
    """The targets of a call, all of one kind. A bare pair is energy, in kWh.

    Raises:
        TypeError: A target is of the other kind, or a bare pair where percent is meant.
    """
    if isinstance(given, Target | SocTarget):
        message = f"targets is one {type(given).__name__}; give a list of them"
        raise TypeError(message)
    targets: list[tuple[datetime | None, Any]] = []
    for index, target in enumerate(given):
        is_other = isinstance(target, Target | SocTarget) and not isinstance(target, kind)
        is_bare = kind is SocTarget and not isinstance(target, SocTarget)
        if is_other or is_bare or not isinstance(target, tuple):
            name = type(target).__name__
            message = f"targets[{index}] is a {name}; give a {kind.__name__}, which is in {unit}"
            raise TypeError(message)
        targets.append(target)
    return targets


class _PowerLimitFields(NamedTuple):
    start: datetime
    end: datetime
    power_max_kw: float


class PowerLimit(_PowerLimitFields, Record):
    """A period with a power limit of its own.

    Attributes:
        start: First instant, aware.
        end: First instant after it.
        power_max_kw: Highest power; 0 forbids charging.
    """

    __slots__ = ()


class _BatteryFields(NamedTuple):
    capacity_kwh: float
    soc_percent: float | None
    charge_limit_percent: float = 100.0
    efficiency: float = 1.0
    soc_fallback_percent: float | None = None


class Battery(_BatteryFields, Record):
    """What is known of a vehicle's battery.

    Attributes:
        capacity_kwh: Usable energy of a full battery.
        soc_percent: State of charge now; ``None`` if it is not known.
        charge_limit_percent: Where the vehicle stops charging by itself.
        efficiency: Stored energy per energy at the plug, above 0, at most 1.
        soc_fallback_percent: What to assume where the state of charge is not
            known. Without it such a vehicle is refused, never read as empty.
    """

    __slots__ = ()


class Plan(Questions, Drawn, SavedPlan):
    """The cheapest plan that meets the targets. Cannot be changed.

    An unmet target is in :attr:`shortfall_kwh` and in :attr:`targets`, never an
    exception.
    """

    __slots__ = ("_prices",)

    def _emissions_kg(self, intensity: _engine.Series) -> tuple[float, float]:
        return _engine.charge_emissions(self, intensity)

    def energy_kwh_by(self, at: datetime) -> float:
        """Sum up the energy bought before an instant, in kWh."""
        return super().energy_kwh_by(at)

    def soc_percent_by(self, at: datetime) -> float | None:
        """Tell the state of charge at an instant; ``None`` if no battery was given."""
        return super().soc_percent_by(at)

    def explain(self, *, time_zone: str = "UTC") -> Reasons:
        """Give a reason for each period of charging, in time order.

        Time without a price is a reason of its own, with the code ``"no_price"``, no energy
        and no price; it names the targets that are missed because of it. Sentences name the
        estimates that they rest on. Energy at negative prices that is not bought is a reason with
        the code ``"negative_unused"``.

        Args:
            time_zone: IANA name of the zone in whose wall clock the sentences
                speak. The fields themselves are in UTC.

        Raises:
            InputError: The time zone is unknown.
        """
        return super().explain(time_zone=time_zone)

    def _picture(self, zone: ZoneInfo) -> Picture:
        from slackwater._pictures import plan_picture  # noqa: PLC0415  only drawings need it

        return plan_picture(self, zone)

    def _sections(self, zone: ZoneInfo) -> list[str]:
        from slackwater.html import plan_sections  # noqa: PLC0415  only drawings need it

        return plan_sections(self, zone)

    def __repr__(self) -> str:
        """Tell energy, cost, savings, shortfall, guesses and gaps in the prices in one line."""
        proof = _view.proof(self)
        short = f", {self.shortfall_kwh:g} kWh short" if self.shortfall_kwh > 0 else ""
        notes = "".join(f", {note}" for note in _view.notes(self))
        return (
            f"Plan({self.energy_kwh:.6g} kWh for {self.cost:.4f} {self.currency} "
            f"in {_view.counted(len(self.intervals), 'interval')}, "
            f"saves {round(self.savings, 4) + 0.0:.4f}"
            f"{short}{notes}, {proof})"
        )


def plan_charge(
    prices: Prices,
    *,
    now: datetime,
    power_max_kw: float,
    targets: Iterable[Target | tuple[datetime | None, float]],
    until: datetime | None = None,
    reserve_kwh: float = 0.0,
    energy_max_kwh: float | None = None,
    power_limits: Iterable[PowerLimit | tuple[datetime, datetime, float]] = (),
    after_deadline: AfterDeadline = "continue",
    carbon: Carbon | None = None,
) -> Plan:
    """Plan the cheapest charging that meets every target.

    Exact: the plan carries a proof that no other is cheaper. Of two slots
    with one price the earlier is used, and a partly used slot from its start.
    Time without a price is not used.

    A target that cannot be met is no error: everything possible is charged
    before its deadline, ``shortfall_kwh`` says what is missing then, and
    charging goes on until the target is reached.

    Args:
        prices: What a kWh costs.
        now: Plug-in time or the present, aware: the first usable instant.
        power_max_kw: Highest power, in kW.
        targets: Energy wanted by deadlines, in any order.
        until: When the vehicle leaves; nothing is charged after it.
        reserve_kwh: Energy charged at once, at any price.
        energy_max_kwh: Most energy the battery can take. Beyond the targets it
            is bought only at negative prices, and only if this is given.
        power_limits: Periods with a lower power limit, without overlap.
        after_deadline: Whether charging for a missed target goes on
            (``"continue"``) or ends at its deadline (``"stop"``).
        carbon: Price of emissions, which is part of the cost that is
            minimised: see :class:`slackwater.Carbon`. The plan tells the
            emissions, its own and those of the baseline.

    Returns:
        The plan.

    Raises:
        InputError: A number is negative, NaN, infinite or beyond all measure;
            power limits overlap; ``energy_max_kwh`` is below a target; ``until``
            is before ``now``; the carbon intensity is missing at a time that has
            a price.
        TypeError: A time has no zone.

    Example:
        Three hours at 0.30, 0.10 and 0.20. A 7 kW charger covers 10 kWh with
        all of the second hour and 3 kWh of the third:

        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Prices
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
        >>> nine = six + timedelta(hours=3)
        >>> plan = plan_charge(prices, now=six, power_max_kw=7, targets=[Target(nine, 10)])
        >>> plan
        Plan(10 kWh for 1.3000 EUR in 1 interval, saves 1.1000, proved optimal)
        >>> print(plan.explain()[0].sentence)
        Mon 19:00 to Mon 20:25: charges 10 kWh for 1.30 EUR (up to 0.20 EUR/kWh) in the \
cheapest hours before Mon 21:00; the next kWh would be charged at Mon 20:25 (0.20 EUR/kWh).
    """
    prices = priced(prices, carbon)
    native = _engine.plan_charge(
        prices._native,
        now=now,
        power_max_kw=power_max_kw,
        targets=list_targets(Target, targets, unit="kWh"),
        until=check_until(until, now),
        reserve_kwh=reserve_kwh,
        energy_max_kwh=energy_max_kwh,
        power_limits=list(power_limits),
        after_deadline=after_deadline,
    )
    return Plan(native, prices)


def plan_vehicle(
    prices: Prices,
    *,
    now: datetime,
    power_max_kw: float,
    battery: Battery,
    targets: Iterable[SocTarget],
    until: datetime | None = None,
    reserve_percent: float = 0.0,
    fill_when_negative: bool = True,
    power_limits: Iterable[PowerLimit | tuple[datetime, datetime, float]] = (),
    after_deadline: AfterDeadline = "continue",
    carbon: Carbon | None = None,
) -> Plan:
    """Plan the cheapest charging that meets targets in percent of a battery.

    As :func:`plan_charge`, in percent. Nothing is charged above the charge
    limit: that part of a target is missed, and is reported as
    ``above_limit_kwh`` of its outcome. A vehicle above its target is left
    there: it is never discharged.

    Args:
        prices: What a kWh costs.
        now: Plug-in time or the present, aware.
        power_max_kw: Highest power at the plug, in kW.
        battery: Capacity, state of charge, charge limit, efficiency.
        targets: States of charge wanted by deadlines, in any order.
        until: When the vehicle leaves; nothing is charged after it.
        reserve_percent: State of charge reached at once, at any price.
        fill_when_negative: Whether negative prices may fill the battery up to
            its charge limit, beyond the targets.
        power_limits: Periods with a lower power limit, without overlap.
        after_deadline: As in :func:`plan_charge`.
        carbon: As in :func:`plan_charge`.

    Returns:
        The plan; ``soc_percent_by`` tells the state of charge at any time.

    Raises:
        InputError: A percentage is outside 0 to 100, the capacity is not
            positive, the state of charge is unknown and no fallback is given,
            or as :func:`plan_charge`.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Prices
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
        >>> nine = six + timedelta(hours=3)
        >>> plan = plan_vehicle(
        ...     prices,
        ...     now=six,
        ...     power_max_kw=10,
        ...     battery=Battery(capacity_kwh=50, soc_percent=30, charge_limit_percent=80),
        ...     targets=[SocTarget(by=nine, soc_percent=60)],
        ... )
        >>> round(plan.energy_kwh, 9), round(plan.soc_percent_by(nine), 9)
        (15.0, 60.0)
    """
    prices = priced(prices, carbon)
    native = _engine.plan_vehicle(
        prices._native,
        now=now,
        power_max_kw=power_max_kw,
        battery=native_battery(battery),
        targets=list_targets(SocTarget, targets, unit="percent"),
        until=check_until(until, now),
        reserve_percent=reserve_percent,
        fill_when_negative=fill_when_negative,
        power_limits=list(power_limits),
        after_deadline=after_deadline,
    )
    return Plan(native, prices)


def plan_duration(
    prices: Prices,
    *,
    now: datetime,
    duration: timedelta,
    by: datetime | None,
    power_kw: float = 1.0,
    carbon: Carbon | None = None,
) -> Plan:
    """Plan the cheapest time to be switched on for so long before a deadline.

    For chargers that know hours and not energy. The time may be split.

    Args:
        prices: What a kWh costs.
        now: First usable instant, aware.
        duration: Time to be switched on in all.
        by: The deadline, aware; ``None`` is the end of the known prices.
        power_kw: Power while on. With the default of 1 kW the cost reads as
            price times hours and the energy as hours.
        carbon: As in :func:`plan_charge`.

    Returns:
        The plan.

    Raises:
        InputError: ``duration`` or ``power_kw`` is negative, or the carbon
            intensity is missing at a time that has a price.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Prices
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.10, 0.30, 0.10], currency="EUR")
        >>> plan = plan_duration(prices, now=six, duration=timedelta(hours=2), by=None)
        >>> [interval.start.hour for interval in plan.intervals], round(plan.cost, 9)
        ([18, 20], 0.2)
    """
    if duration < timedelta(0):
        hours = duration / timedelta(hours=1)
        raise _engine.InputError(f"duration is {hours:g} h; it is 0 h or more")
    prices = priced(prices, carbon)
    native = _engine.plan_duration(
        prices._native, now=now, duration=duration, by=by, power_kw=power_kw
    )
    return Plan(native, prices)
