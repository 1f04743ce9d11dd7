"""Schedules: what a user's rules say, when that changes, and how they stand.

The same decisions as the service's, for replaying them on logged data.

>>> import slackwater as sw
>>> from datetime import UTC, datetime
>>> nights = [sw.schedule.Rule(True, hour_minute=("22:00", "06:00"))]
>>> noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
>>> for transition in sw.schedule.upcoming_transitions(nights, now=noon, time_zone="Europe/Oslo"):
...     print(transition.at.isoformat(), transition.should_charge)
2026-01-05T21:00:00+00:00 True
2026-01-06T05:00:00+00:00 False
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, time
from typing import Any, Literal, NamedTuple, cast

from slackwater import _engine, _public
from slackwater._record import Record
from slackwater._row import row

TargetType = Literal["vehicle", "charger"]
State = Literal[
    "aligned",
    "misaligned",
    "pending",
    "inactive_overridden",
    "inactive_disabled",
    "inactive_away",
    "inactive_incapable",
]


class _RuleFields(NamedTuple):
    should_charge: bool
    hour_minute: Sequence[str | time] | None = None
    from_timestamp: datetime | None = None
    to_timestamp: datetime | None = None
    weekdays: Sequence[int] | None = None


class Rule(_RuleFields, Record):
    """A verdict, and filters that all have to hold.

    A rule without filters always holds. Times of day and weekdays are those
    of the wall clock at the instant asked about: a window over midnight is
    judged by the weekday of the instant, not of its start.

    Attributes:
        should_charge: What the rule says while it holds.
        hour_minute: Two times of day, ``"HH:MM"`` or a whole minute as
            ``datetime.time``, from the first up to the second; a second that
            is not later lies on the next day, so that two equal times are the
            whole day.
        from_timestamp: Holds from this aware time on.
        to_timestamp: Holds before this aware time.
        weekdays: 0 for Monday to 6 for Sunday. The empty list never holds.
    """

    __slots__ = ()


class _TransitionFields(NamedTuple):
    at: datetime
    should_charge: bool


class Transition(_TransitionFields, Record):
    """An instant from which on the rules say something else.

    Attributes:
        at: The instant, in UTC.
        should_charge: What they say from then on.
    """

    __slots__ = ()


class _TargetReadingFields(NamedTuple):
    is_plugged_in: bool | None = None
    is_charging: bool | None = None
    soc_percent: float | None = None
    charge_limit_percent: float | None = None
    is_fully_charged: bool | None = None
    location_id: str | None = None
    is_capable: bool = True


class TargetReading(_TargetReadingFields, Record):
    """Last reading of a vehicle or charger; ``None`` is not known.

    Attributes:
        is_plugged_in: Whether a plug is in.
        is_charging: Whether it charges.
        soc_percent: State of charge; a charger's is that of the vehicle paired with it.
        charge_limit_percent: Where the vehicle stops by itself; ``None`` is 100.
        is_fully_charged: Whether the vehicle says that it is full.
        location_id: The location it is at.
        is_capable: Whether it can be both started and stopped.
    """

    __slots__ = ()


class _ExpectedPartsFields(NamedTuple):
    needs_charge: bool
    is_plugged_in: bool
    should_charge: bool


class ExpectedParts(_ExpectedPartsFields, Record):
    """Conditions that together make charging expected.

    Attributes:
        needs_charge: There is something to charge; yes where nobody knows.
        is_plugged_in: A plug is in.
        should_charge: The rules want it.
    """

    __slots__ = ()


class _StatusFields(NamedTuple):
    state: State
    is_charging: bool
    is_charging_expected: bool
    parts: ExpectedParts
    command: Literal["start", "stop"] | None


class Status(_StatusFields, Record):
    """How a schedule stands.

    Attributes:
        state: One of seven words.
        is_charging: What the target does.
        is_charging_expected: What it is expected to do: all of ``parts``.
        parts: Why.
        command: ``"start"`` or ``"stop"`` where the schedule sends one now.
    """

    __slots__ = ()


class _SnapshotFields(NamedTuple):
    status: Status
    upcoming: Sequence[Transition] = ()
    override_created_at: datetime | None = None


class Snapshot(_SnapshotFields, Record):
    """All of a schedule's status that a reader can see change.

    Attributes:
        status: How the schedule stands.
        upcoming: Its next transitions.
        override_created_at: When the active smart override was created, if there is one.
    """

    __slots__ = ()


class _PlaceFields(NamedTuple):
    time_zone: str | None = None


class Place(_PlaceFields, Record):
    """Facts about a location's clocks.

    Attributes:
        time_zone: IANA name of its zone, if one is set.
    """

    __slots__ = ()


class _CandidateFields(NamedTuple):
    id: str
    created_at: datetime
    is_enabled: bool = True
    location_id: str | None = None


class Candidate(_CandidateFields, Record):
    """A schedule among others of one target.

    Attributes:
        id: The schedule.
        created_at: When it was created, aware.
        is_enabled: Whether it is switched on.
        location_id: Where it applies; ``None`` is anywhere for a charger, and
            any known location for a vehicle.
    """

    __slots__ = ()


class _ControllerFields(NamedTuple):
    kind: Literal["override", "schedule", "smart_charging", "nobody"]
    schedule_id: str | None
    refuses_commands: bool


class Controller(_ControllerFields, Record):
    """Who decides whether a target charges.

    Attributes:
        kind: Who it is.
        schedule_id: Which schedule, if it is one.
        refuses_commands: Whether a start or stop by hand is refused.
    """

    __slots__ = ()


def _rules(rules: Iterable[Rule]) -> list[Any]:
    return [
        (
            rule.should_charge,
            rule.hour_minute,
            rule.from_timestamp,
            rule.to_timestamp,
            None if rule.weekdays is None else list(rule.weekdays),
        )
        for rule in (row(Rule, given) for given in rules)
    ]


def should_charge(
    rules: Iterable[Rule],
    *,
    at: datetime,
    default_should_charge: bool = False,
    time_zone: str = "UTC",
) -> bool:
    """Tell what rules say at an instant.

    The first rule that holds decides; where none does, the default.

    Args:
        rules: Earlier ones win.
        at: Aware time of any zone.
        default_should_charge: What holds where no rule does.
        time_zone: IANA name of the zone whose wall clock the rules read.

    Raises:
        InputError: A time of day or weekday is none, or the zone is unknown;
            all that is wrong with the rules, with their positions.
        TypeError: A time has no zone, or a rule is no :class:`Rule`.

    Example:
        Clocks in Berlin skip 02:00 to 03:00 on 29 March 2026, so a window
        inside that hour does not occur:

        >>> from datetime import UTC, datetime, timedelta
        >>> rules = [Rule(True, hour_minute=("02:00", "03:00"))]
        >>> night = datetime(2026, 3, 28, 23, tzinfo=UTC)
        >>> any(
        ...     should_charge(rules, at=night + timedelta(minutes=m), time_zone="Europe/Berlin")
        ...     for m in range(600)
        ... )
        False
    """
    [verdict] = should_charge_each(
        rules, at=[at], default_should_charge=default_should_charge, time_zone=time_zone
    )
    return verdict


def should_charge_each(
    rules: Iterable[Rule],
    *,
    at: Iterable[datetime],
    default_should_charge: bool = False,
    time_zone: str = "UTC",
) -> list[bool]:
    """Tell what rules say at many instants, in the order given.

    As :func:`should_charge`; the rules are read once.

    Raises:
        InputError: As :func:`should_charge`.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> monday = [Rule(True, weekdays=[0])]
        >>> days = [datetime(2026, 1, day, tzinfo=UTC) for day in (4, 5, 6)]
        >>> should_charge_each(monday, at=days)
        [False, True, False]
    """
    return _engine.schedule_should_charge(
        _rules(rules),
        default_should_charge=default_should_charge,
        time_zone=time_zone,
        at=list(at),
    )


def upcoming_transitions(
    rules: Iterable[Rule],
    *,
    now: datetime,
    default_should_charge: bool = False,
    time_zone: str = "UTC",
) -> list[Transition]:
    """Find the next two instants at which what the rules say changes.

    Strictly after ``now``, in time order, however far away. A shorter list
    means that nothing changes any more.

    Args:
        rules: Earlier ones win.
        now: Aware time of any zone.
        default_should_charge: What holds where no rule does.
        time_zone: IANA name of the zone whose wall clock the rules read.

    Raises:
        InputError: As :func:`should_charge`.
        TypeError: A time has no zone.

    Example:
        Clocks in Berlin show 02:15 twice on 25 October 2026:

        >>> from datetime import UTC, datetime
        >>> rules = [Rule(True, hour_minute=("02:15", "02:45"))]
        >>> night = datetime(2026, 10, 25, tzinfo=UTC)
        >>> first = upcoming_transitions(rules, now=night, time_zone="Europe/Berlin")
        >>> [t.at.strftime("%H:%MZ") for t in first]
        ['00:15Z', '00:45Z']
        >>> again = upcoming_transitions(rules, now=first[1].at, time_zone="Europe/Berlin")
        >>> [t.at.strftime("%H:%MZ") for t in again]
        ['01:15Z', '01:45Z']
    """
    found = _engine.schedule_transitions(
        _rules(rules),
        default_should_charge=default_should_charge,
        time_zone=time_zone,
        now=now,
    )
    return [Transition(*transition) for transition in found]


def status(
    target: TargetReading,
    *,
    should_charge: bool,
    target_type: TargetType,
    location_id: str | None,
    is_enabled: bool = True,
    is_overridden: bool = False,
    is_action_pending: bool = False,
) -> Status:
    """Tell how a schedule stands, from what was read from its target.

    Exactly one state: disabled before overridden before away before
    incapable; then aligned, pending, misaligned. ``is_charging_expected``
    tells what the rules expect even while the schedule is inactive.

    Args:
        target: What was read.
        should_charge: What the rules say now.
        target_type: ``"vehicle"`` or ``"charger"``.
        location_id: Where the schedule applies. ``None`` is anywhere for a
            charger, and any known location for a vehicle.
        is_enabled: Whether the schedule is switched on.
        is_overridden: Whether a smart override is active.
        is_action_pending: Whether an action that the schedule sent is pending.

    Raises:
        InputError: A percentage is outside 0 to 100, or the kind of target is unknown.

    Example:
        >>> reading = TargetReading(is_plugged_in=True, is_charging=False, location_id="home")
        >>> stands = status(reading, should_charge=True, target_type="vehicle", location_id="home")
        >>> stands.state, stands.command
        ('misaligned', 'start')
    """
    state, is_charging, is_expected, parts, command = _engine.schedule_status(
        is_enabled=is_enabled,
        target_type=target_type,
        location_id=location_id,
        target=row(TargetReading, target),
        should_charge=should_charge,
        is_overridden=is_overridden,
        is_action_pending=is_action_pending,
    )
    return Status(
        cast("State", state),
        is_charging,
        is_expected,
        ExpectedParts(*parts),
        cast("Literal['start', 'stop'] | None", command),
    )


def controller(
    schedules: Iterable[Candidate],
    *,
    target_type: TargetType,
    location_id: str | None,
    is_overridden: bool = False,
    is_smart_charging_enabled: bool = False,
) -> Controller:
    """Tell who controls a target when several want to.

    A smart override before everything; then, of the schedules that are
    enabled and apply where the target is, the one created last; then smart
    charging.

    Args:
        schedules: All schedules of the target, in any order.
        target_type: ``"vehicle"`` or ``"charger"``.
        location_id: Where the target is; ``None`` if at no known location.
        is_overridden: Whether a smart override is active.
        is_smart_charging_enabled: Whether smart charging is switched on.

    Raises:
        InputError: The kind of target is unknown.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> one, two = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
        >>> schedules = [Candidate("weekdays", one), Candidate("holiday", two)]
        >>> controller(schedules, target_type="charger", location_id=None)
        Controller(kind='schedule', schedule_id='holiday', refuses_commands=True)
    """
    kind, schedule_id, refuses_commands = _engine.schedule_controller(
        [row(Candidate, schedule) for schedule in schedules],
        target_type=target_type,
        location_id=location_id,
        is_overridden=is_overridden,
        is_smart_charging_enabled=is_smart_charging_enabled,
    )
    return Controller(
        cast("Literal['override', 'schedule', 'smart_charging', 'nobody']", kind),
        schedule_id,
        refuses_commands,
    )


def changed_at(
    seen: Snapshot, *, now: datetime, before: tuple[Snapshot, datetime] | None = None
) -> datetime:
    """Tell when any value of a status last changed: now, if one differs from before.

    Args:
        seen: What is seen now.
        now: The present, aware.
        before: What was seen before, and when that had last changed;
            ``None`` for the first time.

    Raises:
        InputError: A state is none of the seven.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> six, seven = datetime(2026, 1, 5, 18, tzinfo=UTC), datetime(2026, 1, 5, 19, tzinfo=UTC)
        >>> reading = TargetReading(is_plugged_in=True, is_charging=False)
        >>> stands = status(reading, should_charge=False, target_type="charger", location_id=None)
        >>> seen = Snapshot(stands, [Transition(seven, True)])
        >>> changed_at(seen, now=seven, before=(seen, six)).hour
        18
        >>> changed_at(seen._replace(upcoming=[]), now=seven, before=(seen, six)).hour
        19
    """
    return _engine.schedule_changed_at(
        _snapshot(seen),
        now=now,
        before=None if before is None else (_snapshot(before[0]), before[1]),
    )


def _snapshot(given: Snapshot) -> Snapshot:
    seen = row(Snapshot, given)
    upcoming = [row(Transition, transition) for transition in seen.upcoming]
    return seen._replace(status=row(Status, seen.status), upcoming=upcoming)


def is_away(
    *, target_type: TargetType, location_id: str | None, target_location_id: str | None
) -> bool:
    """Tell whether a schedule leaves its target alone because of where it is.

    Args:
        target_type: ``"vehicle"`` or ``"charger"``.
        location_id: Where the schedule applies, as in :func:`status`.
        target_location_id: Where the target is; ``None`` if at no known location.

    Raises:
        InputError: The kind of target is unknown.

    Example:
        >>> is_away(target_type="vehicle", location_id=None, target_location_id=None)
        True
        >>> is_away(target_type="charger", location_id=None, target_location_id=None)
        False
    """
    return _engine.schedule_is_away(
        target_type=target_type, location_id=location_id, target_location_id=target_location_id
    )


def time_zone_of(own: Place | None = None, target: Place | None = None) -> str:
    """Tell whose wall clock a schedule or a policy reads.

    Args:
        own: The location that it names; ``None`` if it names none.
        target: The location that its target is at; counts where it names none.

    Returns:
        The IANA name of the zone; UTC where the location that counts has none.

    Raises:
        InputError: A name is no time zone.

    Example:
        >>> time_zone_of(Place("Europe/Oslo"), Place("Asia/Tokyo"))
        'Europe/Oslo'
        >>> time_zone_of(None, Place("Asia/Tokyo"))
        'Asia/Tokyo'
        >>> time_zone_of(Place(None), Place("Asia/Tokyo"))
        'UTC'
    """
    return _engine.schedule_time_zone(
        None if own is None else row(Place, own), None if target is None else row(Place, target)
    )


_public.guard(__name__)
