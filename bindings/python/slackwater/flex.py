"""Flex vehicle policies: a reserve at once, and a target for each weekday."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from slackwater import _arguments, _engine, _public
from slackwater._record import Record
from slackwater._row import entries, native_prices, row
from slackwater.plan import Plan
from slackwater.prices import Prices

StateName: TypeAlias = Literal[
    "unavailable", "not_plugged_in", "soc_unknown", "battery_reserve", "schedule"
]


class _DayFields(NamedTuple):
    deadline: time | str | None = None
    target_percent: float | None = None


class Day(_DayFields, Record):
    """The target of a weekday. Both members are needed.

    Attributes:
        deadline: Time of day by the clocks of the location.
        target_percent: Least state of charge by then.
    """

    __slots__ = ()


class _FlexPolicyFields(NamedTuple):
    reserve_percent: float
    schedule: Mapping[str, Day]
    observed_limit_percent: float = 100.0


class FlexPolicy(_FlexPolicyFields, Record):
    """A reserve, and targets by the name of the day, ``"monday"`` to ``"sunday"``.

    Attributes:
        reserve_percent: State of charge reached at once on arrival.
        schedule: Targets; days may be missing.
        observed_limit_percent: Charge limit of the vehicle when it was last
            seen at the location.
    """

    __slots__ = ()


class _VehicleFactsFields(NamedTuple):
    policy_location: str
    vehicle_location: str | None
    is_plugged_in: bool | None
    soc_percent: float | None
    charge_limit_percent: float | None = None


class VehicleFacts(_VehicleFactsFields, Record):
    """What is known of the vehicle. ``None`` is not known.

    Attributes:
        policy_location: Location of the policy.
        vehicle_location: Location the vehicle is at.
        is_plugged_in: Whether it is plugged in.
        soc_percent: State of charge.
        charge_limit_percent: Charge limit now; ``None`` counts as 100 %.
    """

    __slots__ = ()


class _StateFields(NamedTuple):
    name: StateName
    public_name: str | None


class State(_StateFields, Record):
    """What a policy is doing.

    Attributes:
        name: Which of five situations holds.
        public_name: What clients of the service may see; ``None`` where the
            specification prints no name.
    """

    __slots__ = ()


class _DeadlineFields(NamedTuple):
    at: datetime
    weekday: int
    wanted_percent: float
    target_percent: float


class Deadline(_DeadlineFields, Record):
    """A deadline of the schedule on its date.

    Attributes:
        at: The instant, in UTC.
        weekday: Weekday of the entry, 0 is Monday.
        wanted_percent: The target as the policy has it.
        target_percent: What can be asked: at most the charge limit.
    """

    __slots__ = ()


class _IntentFields(NamedTuple):
    state: State
    next_deadline: Deadline | None
    is_next_met: bool | None
    reserve_percent: float
    deadlines: list[Deadline]


class Intent(_IntentFields, Record):
    """What a policy asks of a plan.

    Attributes:
        state: What it is doing.
        next_deadline: Also when the vehicle is away, or full enough.
        is_next_met: Whether the vehicle has that target already; ``None`` if
            that is not known.
        reserve_percent: State of charge to reach at once; 0 while the policy
            does not control the vehicle.
        deadlines: What to plan for; none while it does not control it.
    """

    __slots__ = ()


class _FlexPlanFields(NamedTuple):
    plan: Plan
    intent: Intent


class FlexPlan(_FlexPlanFields, Record):
    """A plan with the intent that it follows."""

    __slots__ = ()


def check(policy: FlexPolicy, *, fixed_reserve_percent: float | None = None) -> None:
    """Refuse a policy that may not be written.

    Args:
        policy: The policy.
        fixed_reserve_percent: The only reserve that the manufacturer allows,
            which is the least target, too; ``None`` allows 0 to 20 %.

    Raises:
        InputError: Names all that is wrong: a reserve that is not allowed, a
            name that is no day, a day without deadline or target, a deadline
            that is not ``HH:MM``, a target below the reserve or above the
            charge limit last seen.

    Example:
        >>> check(FlexPolicy(21, {"monday": Day("07:00", 101), "Friday": Day("07:00", 80)}))
        Traceback (most recent call last):
        slackwater.InputError: reserve_percent is 21 %, outside 0 to 20 %; schedule["Friday"] is \
not a day; days are monday to sunday; schedule["monday"].target_percent is 101 %, outside 0 to 100 %
    """
    _engine.flex_check(_policy(policy), fixed_reserve_percent=fixed_reserve_percent)


def patch(
    policy: FlexPolicy,
    *,
    reserve_percent: float | None = None,
    schedule: Mapping[str, Day] | None = None,
    fixed_reserve_percent: float | None = None,
) -> FlexPolicy:
    """Change a policy in full or not at all.

    The policy that would result is checked as a whole: a higher reserve is
    refused if a day that stays has a lower target. The charge limit last seen
    is held against the days of ``schedule`` only. Deadlines come back as
    ``HH:MM``.

    Args:
        policy: The policy as it is.
        reserve_percent: The new reserve; ``None`` keeps the old one.
        schedule: The new days; others stay as they are.
        fixed_reserve_percent: As in :func:`check`.

    Raises:
        InputError: As :func:`check` for the policy that would result.

    Example:
        >>> policy = FlexPolicy(10, {"monday": Day("07:00", 80)})
        >>> patch(policy, reserve_percent=15, schedule={"sunday": Day("09:30", 50)}).schedule
        {'monday': Day(deadline='07:00', target_percent=80.0), \
'sunday': Day(deadline='09:30', target_percent=50.0)}
    """
    native = _engine.flex_patch(
        _policy(policy),
        (reserve_percent, cast("Any", {} if schedule is None else _days(schedule))),
        fixed_reserve_percent=fixed_reserve_percent,
    )
    return _back(native)


def observe(policy: FlexPolicy, facts: VehicleFacts) -> FlexPolicy:
    """Note the charge limit of the vehicle, if it is at the location of the policy.

    Raises:
        InputError: A number is no percentage, or the policy is invalid.

    Example:
        >>> facts = VehicleFacts("home", "home", True, 40, charge_limit_percent=80)
        >>> observe(FlexPolicy(10, {}), facts).observed_limit_percent
        80.0
    """
    return _back(_engine.flex_observe(_policy(policy), row(VehicleFacts, facts)))


def state(reserve_percent: float, facts: VehicleFacts) -> State:
    """Tell what a policy with a reserve is doing.

    Raises:
        InputError: A number is no percentage.

    Example:
        >>> state(20, VehicleFacts("home", "home", True, soc_percent=5))
        State(name='battery_reserve', public_name='SCHEDULE:BATTERY_RESERVE')
        >>> state(20, VehicleFacts("home", "home", True, soc_percent=None))
        State(name='soc_unknown', public_name=None)
    """
    name, public_name = _engine.flex_state(reserve_percent, row(VehicleFacts, facts))
    return State(cast("StateName", name), public_name)


def deadlines(
    policy: FlexPolicy,
    *,
    time_zone: str = "UTC",
    now: datetime,
    until: datetime,
    charge_limit_percent: float | None = None,
) -> list[Deadline]:
    """List all deadlines after ``now``, ``until`` included, in time order.

    A time that clocks skip takes the offset before the jump; an ambiguous time
    in autumn is taken as its first occurrence.

    Args:
        policy: The policy.
        time_zone: IANA name of the zone of the location.
        now: Aware time from which to look.
        until: Last instant that counts.
        charge_limit_percent: Where targets are cut; ``None`` is 100 %.

    Raises:
        InputError: The policy is invalid, the zone is unknown, or ``until`` is before ``now``.
        TypeError: A time has no zone.

    Example:
        Two Sundays in Berlin, before and after the clocks change:

        >>> from datetime import UTC, datetime
        >>> policy = FlexPolicy(10, {"sunday": Day("11:30", 60)})
        >>> found = deadlines(
        ...     policy,
        ...     time_zone="Europe/Berlin",
        ...     now=datetime(2026, 3, 20, tzinfo=UTC),
        ...     until=datetime(2026, 3, 31, tzinfo=UTC),
        ... )
        >>> [f"{deadline.at:%d %H:%M}" for deadline in found]
        ['22 10:30', '29 09:30']
    """
    found = _engine.flex_deadlines(
        _policy(policy),
        time_zone=time_zone,
        now=now,
        until=_arguments.check_until(until, now),
        charge_limit_percent=charge_limit_percent,
    )
    return [Deadline(*deadline) for deadline in found]


def next_deadline(
    policy: FlexPolicy,
    *,
    time_zone: str = "UTC",
    now: datetime,
    charge_limit_percent: float | None = None,
) -> Deadline | None:
    """Find the next deadline after ``now``; ``None`` if the policy has no day.

    Args:
        policy: The policy.
        time_zone: IANA name of the zone of the location.
        now: Aware time from which to look.
        charge_limit_percent: Where the target is cut; ``None`` is 100 %.

    Raises:
        InputError: The policy is invalid, or the zone is unknown.
        TypeError: ``now`` has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> friday = datetime(2026, 1, 9, 7, tzinfo=UTC)
        >>> policy = FlexPolicy(10, {"friday": Day("07:00", 90)})
        >>> found = next_deadline(policy, now=friday, charge_limit_percent=80)
        >>> f"{found.at:%d %H:%M}", found.wanted_percent, found.target_percent
        ('16 07:00', 90.0, 80.0)
    """
    found = _engine.flex_deadlines(
        _policy(policy),
        time_zone=time_zone,
        now=now,
        until=None,
        charge_limit_percent=charge_limit_percent,
    )
    return Deadline(*found[0]) if found else None


def intent(
    policy: FlexPolicy,
    facts: VehicleFacts,
    *,
    time_zone: str = "UTC",
    now: datetime,
    until: datetime,
) -> Intent:
    """Tell what a policy asks of a plan with prices until ``until``.

    All deadlines in that time are asked for, and the next one even if it lies
    beyond. A deadline that is met already stays: it is a constraint.

    Args:
        policy: The policy.
        facts: What is known of the vehicle.
        time_zone: IANA name of the zone of the location.
        now: The present, aware.
        until: End of the known prices.

    Raises:
        InputError: The policy is invalid, the zone is unknown, or ``until`` is before ``now``.
        TypeError: A time has no zone.
    """
    known = row(VehicleFacts, facts)
    native = _engine.flex_intent(
        _policy(policy),
        known,
        time_zone=time_zone,
        now=now,
        until=_arguments.check_until(until, now),
    )
    return _intent(native)


def plan(
    prices: Prices,
    policy: FlexPolicy,
    facts: VehicleFacts,
    *,
    time_zone: str = "UTC",
    now: datetime,
    power_max_kw: float,
    capacity_kwh: float,
    efficiency: float = 1.0,
    soc_fallback_percent: float | None = None,
    fill_when_negative: bool = True,
) -> FlexPlan:
    """Plan what a policy asks for: the reserve at once, each target by its deadline.

    Deadlines are all those until the prices end, and the next one. While the
    policy does not control the vehicle, the plan is empty.

    Args:
        prices: What a kWh costs; see ``slackwater.tariffs.resolve``.
        policy: The policy.
        facts: What is known of the vehicle.
        time_zone: IANA name of the zone of the location.
        now: The present, aware.
        power_max_kw: Highest power at the plug, in kW.
        capacity_kwh: Usable energy of a full battery.
        efficiency: Stored energy per energy at the plug, above 0, at most 1.
        soc_fallback_percent: What to assume where the state of charge is not
            known; without it such a vehicle is refused.
        fill_when_negative: Whether negative prices may fill the battery up to
            its charge limit, beyond the targets.

    Raises:
        InputError: As :func:`intent` and :func:`slackwater.plan_vehicle`.
        TypeError: A time has no zone.

    Example:
        10 % of 50 kWh at once at 0.30, then 5 kWh at 0.10 for Monday at nine:

        >>> from datetime import UTC, datetime
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.30, 0.20, 0.10], currency="EUR")
        >>> policy = FlexPolicy(20, {"monday": Day("21:00", 30)})
        >>> facts = VehicleFacts("home", "home", True, soc_percent=10)
        >>> flex_plan = plan(prices, policy, facts, now=six, power_max_kw=5, capacity_kwh=50)
        >>> flex_plan.intent.state.public_name, round(flex_plan.plan.cost, 9)
        ('SCHEDULE:BATTERY_RESERVE', 2.0)
    """
    native, asked = _engine.flex_plan(
        native_prices(prices, "prices"),
        _policy(policy),
        row(VehicleFacts, facts),
        time_zone=time_zone,
        now=now,
        power_max_kw=power_max_kw,
        battery=(capacity_kwh, efficiency, soc_fallback_percent),
        fill_when_negative=fill_when_negative,
    )
    return FlexPlan(Plan(native, prices), _intent(asked))


# Dictionaries are invariant: the native part takes days that hold more kinds of numbers.
_Days: TypeAlias = dict[str, tuple[Any, Any]]


def _policy(policy: FlexPolicy) -> tuple[float, _Days, float]:
    policy = row(FlexPolicy, policy)
    return (policy.reserve_percent, _days(policy.schedule), policy.observed_limit_percent)


def _days(schedule: Mapping[str, Day]) -> _Days:
    return {name: row(Day, day) for name, day in entries(schedule, "schedule").items()}


# Members of the tuples below, as the native part gives them, are those of the public rows.
_DayRow: TypeAlias = tuple[str, float | None]
_DeadlineRow: TypeAlias = tuple[datetime, int, float, float]
_IntentRow: TypeAlias = tuple[
    str, str | None, _DeadlineRow | None, bool | None, float, list[_DeadlineRow]
]


def _back(native: tuple[float, dict[str, _DayRow], float]) -> FlexPolicy:
    reserve, schedule, limit = native
    return FlexPolicy(reserve, {name: Day(*day) for name, day in schedule.items()}, limit)


def _intent(native: _IntentRow) -> Intent:
    name, public_name, following, is_met, reserve, found = native
    return Intent(
        State(cast("StateName", name), public_name),
        None if following is None else Deadline(*following),
        is_met,
        reserve,
        [Deadline(*deadline) for deadline in found],
    )


_public.guard(__name__)
