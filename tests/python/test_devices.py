"""Devices, actions, pages and versions through the public API, and with hypothesis."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slackwater as sw
from slackwater.actions import ActionEvent, ActionEventKind, OverrideEvent, OverrideEventKind
from slackwater.devices import Ability, Capability, ChargeState, Command, Permission, PowerState
from slackwater.paging import Cursor, Item

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

word: Callable[[str], Any] = str
"""A word that no type has."""

words = st.text(max_size=5)
maybe = st.none() | st.booleans()
numbers = st.none() | st.floats()
times = st.datetimes(timezones=st.just(UTC))


def test_every_word_of_the_types_is_known() -> None:
    """The literal types and the engine have the same words."""
    for state in get_args(PowerState):
        assert sw.devices.shown_charge_state(ChargeState(state), now=NOON).power_state == state
    abilities = dict.fromkeys(get_args(Ability), Capability(True))
    granted = get_args(Permission)
    assert sw.devices.merge_capabilities(abilities, vehicle_permissions=granted).keys() == set(
        abilities
    )
    for command in get_args(Command):
        assert sw.devices.check_command(command, power_state="initializing", value=6) is None
    for mode in get_args(sw.devices.HvacMode):
        assert sw.devices.check_hold(mode) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sw.devices.check_command(word("fly"), power_state="fault"), "command is 'fly'"),
        (lambda: sw.devices.check_command("start", power_state=word("on")), "power_state is 'on'"),
        (
            lambda: sw.devices.check_command("max_current_amps", power_state="fault"),
            "value: the command max_current_amps needs a number",
        ),
        (
            lambda: sw.devices.check_command("start", power_state="fault", controller=word("me")),
            "controller is 'me'",
        ),
        (
            lambda: sw.devices.merge_capabilities({word("fly"): Capability(True)}),
            "is 'fly'; it is one of",
        ),
        (
            lambda: sw.devices.merge_capabilities({}, vehicle_permissions=[word("all")]),
            "vehicle_permissions[0] is 'all'",
        ),
        (
            lambda: sw.devices.shown_charge_state(
                ChargeState(charge_rate_kw=float("nan")), now=NOON
            ),
            "charge_rate_kw: NaN kW",
        ),
        (lambda: sw.devices.check_hold(word("boil")), "mode is 'boil'"),
        (
            lambda: sw.actions.replay_actions([ActionEvent(NOON, "created", "a")]),
            "events[0]: a created action needs action_id and target_id",
        ),
        (
            lambda: sw.actions.replay_actions([ActionEvent(NOON, "reached")]),
            "events[0]: an event needs action_id or target_id",
        ),
        (
            lambda: sw.actions.replay_actions([ActionEvent(NOON, "reached", "a")]),
            'action "a", which was not created',
        ),
        (
            lambda: sw.actions.replay_overrides([OverrideEvent(NOON, word("gone"))]),
            "events[0].kind is 'gone'",
        ),
        (
            lambda: sw.actions.next_step(
                "start", created_at=NOON, now=NOON, power_state="stopped", sent_count=-1
            ),
            "sent_count is -1",
        ),
        (
            lambda: sw.actions.next_step(
                "start", created_at=NOON, now=NOON, power_state="stopped", retry_seconds=10**30
            ),
            "is out of range",
        ),
        (lambda: sw.paging.list_page([], page_size=0), "page_size is 0"),
        (
            lambda: sw.paging.list_page(
                [], before=Cursor(NOON, "a", "above"), after=Cursor(NOON, "a", "below")
            ),
            "exclude each other",
        ),
        (
            lambda: sw.paging.list_page([], after=Cursor(NOON, "a", word("left"))),
            "after.side is 'left'",
        ),
        (lambda: sw.paging.list_page([(NOON, "a"), (NOON, "a")]), "items[1]"),
        (lambda: sw.versions.fields("2022-01-01"), 'version: "2022-01-01"'),
        (lambda: sw.versions.stage("2024-01-01", releases=[], now=NOON), "at least one"),
    ],
)
def test_refusals_name_what_is_wrong(call: Callable[[], object], message: str) -> None:
    with pytest.raises(sw.InputError) as caught:
        call()
    assert message in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(
    reported=st.builds(
        ChargeState,
        st.sampled_from(get_args(PowerState)) | words,
        maybe,
        maybe,
        maybe,
        numbers,
        numbers,
        numbers,
        st.none() | times,
    ),
    now=times,
    device=st.sampled_from(["vehicle", "charger", "toaster"]),
)
def test_any_report_is_shown_or_refused(reported: ChargeState, now: datetime, device: str) -> None:
    try:
        shown = sw.devices.shown_charge_state(reported, now=now, device=device)  # type: ignore[arg-type]
    except sw.InputError:
        return
    assert shown.is_fully_charged is None or shown.power_state != "unknown"
    assert shown.charge_rate_kw in {None, reported.charge_rate_kw}
    assert not (device == "charger" and shown.power_state == "complete")


capability = st.builds(
    Capability,
    st.booleans(),
    st.lists(words, max_size=3),
    st.none() | st.tuples(numbers, numbers),
)
capabilities = st.dictionaries(st.sampled_from(get_args(Ability)) | words, capability, max_size=4)
permissions = st.none() | st.lists(st.sampled_from(get_args(Permission)) | words, max_size=3)


@settings(max_examples=200, deadline=None)
@given(vehicle=capabilities, charger=st.none() | capabilities, granted=permissions)
def test_any_capabilities_merge_or_are_refused(
    vehicle: dict[Ability, Capability],
    charger: dict[Ability, Capability] | None,
    granted: list[Permission] | None,
) -> None:
    try:
        merged = sw.devices.merge_capabilities(vehicle, charger, vehicle_permissions=granted)
    except sw.InputError:
        return
    assert merged.keys() == vehicle.keys()


@settings(max_examples=200, deadline=None)
@given(
    command=st.sampled_from(get_args(Command)) | words,
    state=st.sampled_from(get_args(PowerState)) | words,
    value=numbers,
    full=maybe,
    limits=st.none() | st.tuples(numbers, numbers),
    sent=st.integers(),
    now=times,
)
def test_any_command_is_judged_or_refused(
    *,
    command: Command,
    state: PowerState,
    value: float | None,
    full: bool | None,
    limits: tuple[float | None, float | None] | None,
    sent: int,
    now: datetime,
) -> None:
    for call in (
        lambda: sw.devices.check_command(
            command,
            power_state=state,
            value=value,
            is_fully_charged=full,
            allowed_range_kw=limits,
        ),
        lambda: sw.actions.next_step(
            command,
            created_at=now,
            now=now,
            power_state=state,
            value=value,
            sent_count=sent,
            last_sent_at=now,
            max_current_amps=value,
        ),
        lambda: sw.devices.check_hold(
            "auto",
            heat_setpoint_celsius=value,
            cool_setpoint_celsius=20,
            difference_range_celsius=(2, value or 0),
        ),
    ):
        with contextlib.suppress(sw.InputError):
            call()


def test_a_wait_near_the_end_of_the_calendar_has_an_end() -> None:
    last = datetime(9990, 12, 31, 23, 59, 59, tzinfo=UTC)
    wish: dict[str, Any] = {"power_state": "stopped", "sent_count": 1, "last_sent_at": last}
    step = sw.actions.next_step("start", created_at=last, now=last, **wish)
    assert step.kind == "wait"
    assert step.until is not None
    assert step.until > last
    beyond = datetime.max.replace(tzinfo=UTC)
    with pytest.raises(sw.InputError, match="lies outside the years 10 to 9990"):
        sw.actions.next_step("start", created_at=beyond, now=last, **wish)


@settings(max_examples=200, deadline=None)
@given(
    events=st.lists(
        st.builds(
            ActionEvent,
            times,
            st.sampled_from(get_args(ActionEventKind)) | words,
            st.none() | st.sampled_from("ab"),
            st.none() | st.sampled_from("xy"),
            st.none() | words,
        ),
        max_size=8,
    ),
    in_order=st.booleans(),
)
def test_any_log_is_played_or_refused(*, events: list[ActionEvent], in_order: bool) -> None:
    if in_order:
        events = sorted(events, key=lambda event: event.at)
    try:
        replay = sw.actions.replay_actions(events)
    except sw.InputError:
        return
    pending = [a.target_id for a in replay.actions.values() if a.state == "pending"]
    assert len(pending) == len(set(pending))
    ended = sum(action.completed_at is not None for action in replay.actions.values())
    assert len(replay.notifications) == len(replay.actions) + ended


@settings(max_examples=200, deadline=None)
@given(
    events=st.lists(
        st.tuples(st.sampled_from(get_args(OverrideEventKind)) | words, maybe), max_size=10
    )
)
def test_any_overrides_are_played_or_refused(
    events: list[tuple[OverrideEventKind, bool | None]],
) -> None:
    log = [OverrideEvent(NOON + step * MINUTE, *event) for step, event in enumerate(events)]
    try:
        replay = sw.actions.replay_overrides(log)
    except sw.InputError:
        return
    assert all(one.ended_at is not None for one in replay.overrides[:-1])


@settings(max_examples=200, deadline=None)
@given(
    items=st.lists(st.tuples(times, words), max_size=6),
    cursor=st.none() | st.builds(Cursor, times, words, st.sampled_from(["above", "below"])),
    size=st.none() | st.integers(),
    back=st.booleans(),
)
def test_any_page_is_cut_or_refused(
    *, items: list[tuple[datetime, str]], cursor: Cursor | None, size: int | None, back: bool
) -> None:
    try:
        page = sw.paging.list_page(
            items,
            before=cursor if back else None,
            after=None if back else cursor,
            page_size=size,
        )
    except sw.InputError:
        return
    assert page.items == sorted(page.items, reverse=True)
    assert set(page.items) <= {Item(*item) for item in items}


def test_a_walk_over_many_pages() -> None:
    """Forwards and back again, seven at a time."""
    items = [Item(NOON + (number // 3) * MINUTE, f"{number:03d}") for number in range(50)]
    page = sw.paging.list_page(items, page_size=7)
    seen = [page.items]
    while page.after is not None:
        page = sw.paging.list_page(items, page_size=7, after=page.after)
        seen.append(page.items)
        assert len(seen) <= 8
    assert list(itertools.chain(*seen)) == sorted(items, reverse=True)
    back = [page.items]
    while page.before is not None:
        page = sw.paging.list_page(items, page_size=7, before=page.before)
        back.append(page.items)
        assert len(back) <= 8
    assert back[::-1] == seen


@settings(max_examples=100, deadline=None)
@given(
    version=st.sampled_from(sw.versions.VERSIONS) | words,
    releases=st.lists(st.tuples(st.sampled_from(sw.versions.VERSIONS), times), max_size=4),
    now=times,
)
def test_any_history_has_a_stage_or_is_refused(
    version: str, releases: list[tuple[str, datetime]], now: datetime
) -> None:
    for history in (releases, sorted(releases)):
        try:
            stage = sw.versions.stage(version, releases=history, now=now)
        except sw.InputError:
            continue
        assert stage.served is None or stage.served in sw.versions.VERSIONS


def test_the_table_of_fields_has_one_row_per_version() -> None:
    tables = [sw.versions.fields(version) for version in sw.versions.VERSIONS]
    assert len({tuple(table) for table in tables}) == 1
    assert sw.versions.LATEST == "2024-10-01"
    assert not tables[0]["series_estimated_savings"]
    assert tables[1]["series_estimated_savings"]


def test_what_stands_in_for_what_is_not_said() -> None:
    linked = datetime(2026, 1, 5, tzinfo=UTC)
    later = linked + timedelta(minutes=5)
    assert sw.devices.last_seen(later, linked_at=linked) == later
    assert sw.devices.last_seen(None, linked_at=linked) == linked
    assert sw.devices.serial_number(None, vendor_id="V1") == "V1"
    with pytest.raises(TypeError, match="linked_at"):
        sw.devices.last_seen(None, linked_at=linked.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("command", "value", "reading", "expected"),
    [
        ("start", None, {"power_state": "charging"}, True),
        ("start", None, {"power_state": "unknown"}, False),
        ("stop", None, {"power_state": "unplugged"}, True),
        ("stop", None, {"power_state": "unknown"}, False),
        ("max_current_amps", 10.0, {"power_state": "stopped", "max_current_amps": 10.04}, True),
        ("max_current_amps", 10.0, {"power_state": "stopped", "max_current_amps": 10.06}, False),
        ("charge_rate_limit_kw", 7.0, {"power_state": "stopped"}, False),
        ("charge_rate_limit_kw", 7.0, {"power_state": "fault", "charge_rate_limit_kw": 7}, True),
        ("idle", None, {"power_state": "unknown", "operation_mode": "idle"}, True),
        ("follow_schedule", None, {"power_state": "unknown", "follows_schedule": False}, False),
    ],
)
def test_when_a_command_is_reached(
    command: Any, value: float | None, reading: dict[str, Any], *, expected: bool
) -> None:
    assert sw.devices.is_reached(command, value=value, **reading) is expected


def test_a_reading_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(sw.InputError, match="max_current_amps"):
        sw.devices.is_reached("start", power_state="fault", max_current_amps=float("nan"))
    with pytest.raises(sw.InputError, match="operation_mode"):
        sw.devices.is_reached("start", power_state="fault", operation_mode="party")
