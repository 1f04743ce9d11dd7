"""Smart charging policies of vehicles and of chargers."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Literal, NamedTuple, TypeAlias, cast

from slackwater import _engine, _public
from slackwater._record import Record
from slackwater._row import native_battery, native_prices, row
from slackwater.plan import AfterDeadline, Battery, Plan
from slackwater.prices import Prices

ChargerStateName: TypeAlias = Literal[
    "DISABLED",
    "CHARGER_NOT_REACHABLE",
    "VEHICLE_NOT_PLUGGED_IN",
    "AWAITING_PRICES",
    "CHARGING",
    "CHARGING_PAUSED",
]


class _VehiclePolicyFields(NamedTuple):
    is_enabled: bool = False
    deadline: time | str | None = None
    minimum_charge_limit_percent: float = 0.0


class VehiclePolicy(_VehiclePolicyFields, Record):
    """Smart charging of a vehicle: a floor at once, the charge limit by a deadline.

    Attributes:
        is_enabled: Whether smart charging controls the vehicle.
        deadline: Time of day by the clocks of the location; ``None`` lets a
            plan use all known prices.
        minimum_charge_limit_percent: State of charge reached at once, at any
            price; at most the charge limit.
    """

    __slots__ = ()


class _ChargerPolicyFields(NamedTuple):
    is_enabled: bool = False
    deadline: time | str | None = None
    charging_duration: timedelta | str | None = None


class ChargerPolicy(_ChargerPolicyFields, Record):
    """Smart charging of a charger: so long switched on before a deadline.

    Attributes:
        is_enabled: Whether smart charging controls the charger.
        deadline: Time of day by the clocks of the location; ``None`` lets a
            plan use all known prices.
        charging_duration: Time on in each cycle, from plug-in to deadline: a
            ``timedelta`` of whole minutes below 24 hours, or ``"HH:MM"``.
            ``None`` plans nothing.
    """

    __slots__ = ()


class _ChargerFactsFields(NamedTuple):
    is_reachable: bool | None
    is_plugged_in: bool | None
    is_charging: bool | None


class ChargerFacts(_ChargerFactsFields, Record):
    """Facts about a charger. ``None`` is not known, which counts as no.

    Attributes:
        is_reachable: Whether it answers.
        is_plugged_in: Whether a vehicle is plugged in.
        is_charging: Whether it is charging.
    """

    __slots__ = ()


class _ChargingIntervalFields(NamedTuple):
    start: datetime
    end: datetime
    status: str | None


class ChargingInterval(_ChargingIntervalFields, Record):
    """A period in which a charger is to be on.

    Attributes:
        start: First instant, in UTC.
        end: First instant after it.
        status: ``"IN_PROGRESS"`` if it holds the present; ``None`` where the
            specification prints no name.
    """

    __slots__ = ()


class _ChargerStatusFields(NamedTuple):
    state: ChargerStateName
    intervals: list[ChargingInterval]


class ChargerStatus(_ChargerStatusFields, Record):
    """State and intention of the smart charging of a charger."""

    __slots__ = ()


def check_vehicle(policy: VehiclePolicy, *, charge_limit_percent: float | None = None) -> None:
    """Refuse a policy that is invalid for its vehicle.

    Args:
        policy: The policy.
        charge_limit_percent: Charge limit of the vehicle; ``None`` is 100 %.

    Raises:
        InputError: The floor is no percentage or above the charge limit, or
            the deadline is not ``HH:MM``.

    Example:
        >>> check_vehicle(VehiclePolicy(minimum_charge_limit_percent=81), charge_limit_percent=80)
        Traceback (most recent call last):
        slackwater.InputError: minimum_charge_limit_percent is 81 %, above the charge limit of 80 %
    """
    _engine.vehicle_policy_check(
        row(VehiclePolicy, policy), charge_limit_percent=charge_limit_percent
    )


def vehicle_deadline(
    policy: VehiclePolicy, *, time_zone: str = "UTC", now: datetime
) -> datetime | None:
    """Find the next time at which the vehicle must be ready, if there is one.

    Ask once, when the vehicle is plugged in: after a missed deadline the
    answer is tomorrow, and the plan would start to wait again.

    Args:
        policy: The policy.
        time_zone: IANA name of the zone of the location.
        now: Aware time from which to look.

    Raises:
        InputError: The policy is invalid, or the zone is unknown.
        TypeError: ``now`` has no zone.
    """
    return _engine.vehicle_policy_deadline(row(VehiclePolicy, policy), time_zone=time_zone, now=now)


def plan_vehicle(
    prices: Prices,
    policy: VehiclePolicy,
    *,
    now: datetime,
    by: datetime | None,
    power_max_kw: float,
    battery: Battery,
    after_deadline: AfterDeadline = "continue",
) -> Plan:
    """Plan what a policy asks for: the floor at once, the charge limit by the deadline.

    A policy that is off plans nothing.

    Args:
        prices: What a kWh costs; see ``slackwater.tariffs.resolve``.
        policy: The policy.
        now: Plug-in time or the present, aware.
        by: The deadline of this cycle, see :func:`vehicle_deadline`.
        power_max_kw: Highest power at the plug, in kW.
        battery: Capacity, state of charge, charge limit, efficiency.
        after_deadline: Whether charging for a missed deadline goes on.

    Raises:
        InputError: As :func:`check_vehicle` and :func:`slackwater.plan_vehicle`.
        TypeError: A time has no zone.

    Example:
        10 kWh at once at 0.30, and 10 more where it is cheapest:

        >>> from datetime import UTC, datetime
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.30, 0.20, 0.10], currency="EUR")
        >>> policy = VehiclePolicy(is_enabled=True, minimum_charge_limit_percent=40)
        >>> battery = Battery(capacity_kwh=50, soc_percent=20, charge_limit_percent=60)
        >>> plan = plan_vehicle(prices, policy, now=six, by=None, power_max_kw=10, battery=battery)
        >>> round(plan.cost, 9)
        4.0
    """
    native = _engine.policy_plan_vehicle(
        native_prices(prices, "prices"),
        row(VehiclePolicy, policy),
        now=now,
        by=by,
        power_max_kw=power_max_kw,
        battery=native_battery(battery),
        after_deadline=after_deadline,
    )
    return Plan(native, prices)


def charger_deadline(
    policy: ChargerPolicy, *, time_zone: str = "UTC", now: datetime
) -> datetime | None:
    """Find the next deadline of a charger, if there is one. Ask once a cycle.

    Arguments and errors are those of :func:`vehicle_deadline`.
    """
    return _engine.charger_deadline(row(ChargerPolicy, policy), time_zone=time_zone, now=now)


def charger_state(
    prices: Prices,
    facts: ChargerFacts,
    *,
    is_enabled: bool,
    now: datetime,
    by: datetime | None,
) -> ChargerStateName:
    """Tell the one state of a charger.

    Off comes first, then reachability, the plug and the prices, which must
    cover the time until the deadline; what is left is whether it charges.

    Args:
        prices: What a kWh costs.
        facts: What is known of the charger.
        is_enabled: Whether its policy is on.
        now: The present, aware.
        by: The deadline of this cycle. Without one any price from now on will
            do.

    Raises:
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.30, 0.20], currency="EUR")
        >>> facts = ChargerFacts(is_reachable=True, is_plugged_in=True, is_charging=False)
        >>> eight, nine = six.replace(hour=20), six.replace(hour=21)
        >>> charger_state(prices, facts, is_enabled=True, now=six, by=eight)
        'CHARGING_PAUSED'
        >>> charger_state(prices, facts, is_enabled=True, now=six, by=nine)
        'AWAITING_PRICES'
    """
    state = _engine.policy_charger_state(
        native_prices(prices, "prices"), is_enabled, row(ChargerFacts, facts), now=now, by=by
    )
    return cast("ChargerStateName", state)


def plan_charger(
    prices: Prices,
    policy: ChargerPolicy,
    *,
    now: datetime,
    by: datetime | None,
    charged: timedelta = timedelta(0),
) -> Plan:
    """Plan the cheapest time to be switched on, which may be split.

    The cycle ends at the deadline: a duration that does not fit is a shortfall
    and is not made up for later. The plan is at 1 kW, so that its energy reads
    as hours and its cost as price times hours. A policy that is off plans
    nothing.

    Args:
        prices: What a kWh costs.
        policy: The policy.
        now: Plug-in time or the present, aware.
        by: The deadline of this cycle, see :func:`charger_deadline`.
        charged: Time on in this cycle so far; it is not asked for again.

    Raises:
        InputError: The deadline or the duration is not ``HH:MM``.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.10, 0.30, 0.10], currency="EUR")
        >>> policy = ChargerPolicy(is_enabled=True, charging_duration="02:00")
        >>> plan = plan_charger(prices, policy, now=six, by=None)
        >>> [interval.start.hour for interval in plan.intervals]
        [18, 20]
    """
    native = _engine.policy_plan_charger(
        native_prices(prices, "prices"), row(ChargerPolicy, policy), now=now, by=by, charged=charged
    )
    return Plan(native, prices)


def charger_status(
    prices: Prices,
    policy: ChargerPolicy,
    facts: ChargerFacts,
    *,
    now: datetime,
    by: datetime | None,
    charged: timedelta = timedelta(0),
) -> ChargerStatus:
    """Tell the state of a charger and the intervals of its plan that are not over.

    There are intervals only in the states ``CHARGING`` and ``CHARGING_PAUSED``.

    Args:
        prices: What a kWh costs.
        policy: The policy.
        facts: What is known of the charger.
        now: The present, aware.
        by: The deadline of this cycle.
        charged: Time on in this cycle so far.

    Raises:
        InputError: As :func:`plan_charger`.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.10, 0.30, 0.10], currency="EUR")
        >>> policy = ChargerPolicy(is_enabled=True, charging_duration="02:00")
        >>> facts = ChargerFacts(is_reachable=True, is_plugged_in=True, is_charging=True)
        >>> status = charger_status(prices, policy, facts, now=six, by=None)
        >>> status.state, [interval.status for interval in status.intervals]
        ('CHARGING', ['IN_PROGRESS', None])
    """
    state, intervals = _engine.charger_status(
        native_prices(prices, "prices"),
        row(ChargerPolicy, policy),
        row(ChargerFacts, facts),
        now=now,
        by=by,
        charged=charged,
    )
    return ChargerStatus(
        cast("ChargerStateName", state), [ChargingInterval(*interval) for interval in intervals]
    )


_public.guard(__name__)
