"""Actions and smart overrides: what a log of events makes of them.

>>> import slackwater as sw
>>> from datetime import UTC, datetime
>>> log = [
...     sw.actions.ActionEvent(
...         datetime(2026, 1, 5, 18, tzinfo=UTC), "created", action_id="a", target_id="car"
...     ),
...     sw.actions.ActionEvent(
...         datetime(2026, 1, 5, 18, 15, tzinfo=UTC), "timed_out", action_id="a"
...     ),
... ]
>>> sw.actions.replay_actions(log).actions["a"].state
'failed'
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias, cast

from slackwater import _engine, _public
from slackwater._record import Record
from slackwater.devices import Command, PowerState

ActionState = Literal["pending", "confirmed", "failed", "cancelled"]
FailureKind = Literal[
    "no_response",
    "failed_precondition",
    "unnecessary",
    "conflict",
    "requested_cancellation",
    "not_found",
]
ActionEventKind = Literal[
    "created",
    "reached",
    "unnecessary",
    "timed_out",
    "precondition_unmet",
    "superseded",
    "cancel_requested",
    "owner_cancelled",
    "target_deleted",
]
OverrideEventKind = Literal[
    "requested", "end_requested", "observed", "start_failed", "start_unnecessary"
]


class _ActionEventFields(NamedTuple):
    at: datetime
    kind: ActionEventKind
    action_id: str | None = None
    target_id: str | None = None
    detail: str | None = None


class ActionEvent(_ActionEventFields, Record):
    """Something that happened to an action.

    Attributes:
        at: When, aware.
        kind: What: ``created``; ``reached`` (the device is seen in the desired
            state after it was told), ``unnecessary`` (before it was told),
            ``timed_out``, ``precondition_unmet``, ``superseded`` (by an action
            that is not in the log), ``cancel_requested`` (by hand),
            ``owner_cancelled`` (by the schedule or override that asked for
            it), ``target_deleted``.
        action_id: To which action.
        target_id: Or to the pending action of which device. A created action
            needs both.
        detail: Words for people, for an unmet precondition.
    """

    __slots__ = ()


class _FailureFields(NamedTuple):
    kind: FailureKind
    detail: str


class Failure(_FailureFields, Record):
    """Why an action did not end as wished.

    Attributes:
        kind: The reason.
        detail: The reason in a sentence.
    """

    __slots__ = ()


class _ActionFields(NamedTuple):
    id: str
    target_id: str
    state: ActionState
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None
    failure: Failure | None


class Action(_ActionFields, Record):
    """How far an action has come.

    Attributes:
        id: The action.
        target_id: The device.
        state: Where it stands.
        created_at: When it was created, in UTC.
        updated_at: When its state last changed.
        completed_at: When it ended; ``None`` while pending.
        failure: Why it did not end as wished; ``None`` while pending and if confirmed.
    """

    __slots__ = ()


class _ActionReplayFields(NamedTuple):
    actions: dict[str, Action]
    notifications: list[tuple[str, ActionState]]
    cancel_answers: list[Literal["cancelled", "already_resolved", "not_found"]]


class ActionReplay(_ActionReplayFields, Record):
    """Outcomes of many actions by a log of events.

    Attributes:
        actions: By identifier.
        notifications: Each state that an action entered, with the action, in order.
        cancel_answers: ``cancelled``, ``already_resolved`` or ``not_found``
            for each time somebody called an action off by hand, in order.
    """

    __slots__ = ()


class _StepFields(NamedTuple):
    kind: Literal["send", "wait", "confirmed", "failed", "cancelled"]
    until: datetime | None
    failure: FailureKind | None


class Step(_StepFields, Record):
    """Next step for a pending action.

    Attributes:
        kind: ``send`` the command, ``wait``, or the state in which it ends.
        until: When to look again, if it is to wait; ``None`` beyond the year 9999.
        failure: Why it ends otherwise than confirmed.
    """

    __slots__ = ()


class _OverrideEventFields(NamedTuple):
    at: datetime
    kind: OverrideEventKind
    is_charging: bool | None = None
    stop_until: datetime | None = None


class OverrideEvent(_OverrideEventFields, Record):
    """Something that happened to a target that may have a smart override.

    Attributes:
        at: When, aware.
        kind: ``requested``, ``end_requested``, ``observed`` (the target was
            read), ``start_failed`` (the action that was to start charging
            failed or was cancelled), or ``start_unnecessary`` (the target
            charged before that action was sent).
        is_charging: Whether the target charges then, if that is known.
        stop_until: Of a request: a stop had been sent that the target may obey
            until then, aware. It is started then, and the override stays.
    """

    __slots__ = ()


class _OverrideFields(NamedTuple):
    created_at: datetime
    ended_at: datetime | None
    has_start_action: bool
    has_charged: bool


class Override(_OverrideFields, Record):
    """A smart override, active or ended.

    Attributes:
        created_at: When it began, in UTC.
        ended_at: When it ended; ``None`` while active.
        has_start_action: Whether an action was needed to start charging.
        has_charged: Whether charging was observed while it was active.
    """

    __slots__ = ()


class _OverrideReplayFields(NamedTuple):
    overrides: list[Override]
    answers: list[Literal["created", "already_active", "ended", "not_found"]]


class OverrideReplay(_OverrideReplayFields, Record):
    """Overrides of a target by a log of events.

    Attributes:
        overrides: Oldest first; at most the last one is active.
        answers: ``created``, ``already_active``, ``ended`` or ``not_found``
            for each request, in order.
    """

    __slots__ = ()


# Members of an action and of its failure, as the native part gives them.
_ActionRow: TypeAlias = tuple[
    str, str, str, datetime, datetime, datetime | None, tuple[str, str] | None
]


def _action(given: _ActionRow) -> Action:
    action_id, target_id, state, created_at, updated_at, completed_at, failure = given
    return Action(
        action_id,
        target_id,
        cast("ActionState", state),
        created_at,
        updated_at,
        completed_at,
        None if failure is None else Failure(cast("FailureKind", failure[0]), failure[1]),
    )


def replay_actions(events: Iterable[ActionEvent]) -> ActionReplay:
    """Play a log of actions from its first event.

    A device has at most one pending action: a new one ends the old one with a
    conflict first. An action that has ended never changes again. An action
    fails only when its time is up; any other reason cancels it.

    Args:
        events: In time order; several may happen at once.

    Raises:
        InputError: Events are out of order, an identifier is used twice, or
            an event is about an action that does not exist.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> six, seven = (datetime(2026, 1, 5, hour, tzinfo=UTC) for hour in (18, 19))
        >>> replay = replay_actions(
        ...     [
        ...         ActionEvent(six, "created", action_id="a", target_id="car"),
        ...         ActionEvent(seven, "created", action_id="b", target_id="car"),
        ...     ]
        ... )
        >>> replay.notifications
        [('a', 'pending'), ('a', 'cancelled'), ('b', 'pending')]
        >>> replay.actions["a"].failure.kind
        'conflict'
    """
    actions, notifications, answers = _engine.replay_actions(list(events))
    return ActionReplay(
        {action[0]: _action(action) for action in actions},
        [(action_id, cast("ActionState", state)) for action_id, state in notifications],
        cast("list[Literal['cancelled', 'already_resolved', 'not_found']]", answers),
    )


def next_step(
    command: Command,
    *,
    created_at: datetime,
    now: datetime,
    power_state: PowerState,
    sent_count: int = 0,
    last_sent_at: datetime | None = None,
    value: float | None = None,
    is_fully_charged: bool | None = None,
    max_current_amps: float | None = None,
    charge_rate_limit_kw: float | None = None,
    timeout_seconds: int = 900,
    retry_seconds: int = 30,
) -> Step:
    """Decide what to do about a pending action.

    A device that does what it was told ends the action: confirmed if anything
    was sent, unnecessary if not. Else a state in which it cannot obey ends
    it, then the end of the window. Else the command is sent, and again after
    each pause.

    Args:
        command: What the device is told.
        created_at: When the action was created, aware.
        now: When this is decided, aware.
        power_state: What was last read from the device.
        sent_count: How often the command has been sent.
        last_sent_at: When last.
        value: The current in A or the power in kW, for commands that set one.
        is_fully_charged: Whether the vehicle says that it is full.
        max_current_amps: The limit of the current that the device shows.
        charge_rate_limit_kw: The limit of the charge rate that it shows.
        timeout_seconds: Length of the window.
        retry_seconds: Pause between two attempts.

    Raises:
        InputError: A word is unknown, or a number is missing, negative or not finite.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime, timedelta
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> next_step("start", created_at=six, now=six, power_state="stopped").kind
        'send'
        >>> late = six + timedelta(minutes=15)
        >>> next_step("start", created_at=six, now=late, power_state="stopped", sent_count=9)
        Step(kind='failed', until=None, failure='no_response')
    """
    kind, until, failure = _engine.action_next_step(
        command,
        value=value,
        created_at=created_at,
        now=now,
        sent_count=sent_count,
        last_sent_at=last_sent_at,
        power_state=power_state,
        is_fully_charged=is_fully_charged,
        max_current_amps=max_current_amps,
        charge_rate_limit_kw=charge_rate_limit_kw,
        timeout_seconds=timeout_seconds,
        retry_seconds=retry_seconds,
    )
    return Step(
        cast("Literal['send', 'wait', 'confirmed', 'failed', 'cancelled']", kind),
        until,
        cast("FailureKind | None", failure),
    )


def replay_overrides(events: Iterable[OverrideEvent]) -> OverrideReplay:
    """Play a log of one target's smart overrides from its first event.

    An override ends when somebody ends it, when the target stops charging
    after it has charged, or when the action that was to start it comes to
    nothing. A target that never charged has not stopped.

    Args:
        events: In time order.

    Raises:
        InputError: Events are out of order, or a kind is unknown.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> six, seven = (datetime(2026, 1, 5, hour, tzinfo=UTC) for hour in (18, 19))
        >>> replay = replay_overrides(
        ...     [
        ...         OverrideEvent(six, "requested", is_charging=True),
        ...         OverrideEvent(seven, "observed", is_charging=False),
        ...         OverrideEvent(seven, "end_requested"),
        ...     ]
        ... )
        >>> replay.overrides[0].ended_at == seven, replay.answers
        (True, ['created', 'not_found'])
    """
    overrides, answers = _engine.replay_overrides(list(events))
    return OverrideReplay(
        [Override(*override) for override in overrides],
        cast("list[Literal['created', 'already_active', 'ended', 'not_found']]", answers),
    )


_public.guard(__name__)
