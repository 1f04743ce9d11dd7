"""Schedules through the public API: refusals, clocks, and whatever hypothesis thinks of."""

from __future__ import annotations

import json
from datetime import UTC, datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slackwater as sw
from slackwater.schedule import Candidate, Place, Rule, Snapshot, TargetReading

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

zones = st.sampled_from(["UTC", "Europe/Oslo", "Pacific/Apia", "Asia/Kathmandu", "Mars/Base", ""])
times = st.one_of(
    st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-11))])),
    st.datetimes(),
)
clocks = st.one_of(
    st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda t: f"{t[0]:02d}:{t[1]:02d}"),
    st.text(max_size=6),
)
rules = st.lists(
    st.builds(
        Rule,
        st.booleans(),
        hour_minute=st.none() | st.tuples(clocks, clocks),
        from_timestamp=st.none() | times,
        to_timestamp=st.none() | times,
        weekdays=st.none() | st.lists(st.integers(-1, 7) | st.integers(), max_size=4),
    ),
    max_size=3,
)


def test_all_that_is_wrong_is_named() -> None:
    bad = Rule(True, hour_minute=("7:00", "24:00"), weekdays=[1, 7])
    with pytest.raises(sw.InputError) as caught:
        sw.schedule.should_charge([Rule(True), bad], at=MONDAY)
    for part in ("rules[1].hour_minute.from: ", '.to: "24:00"', ".weekdays: 7 at position 1"):
        assert part in str(caught.value)


WRONG_RULES: list[tuple[Any, type[Exception], str]] = [
    (Rule(True, hour_minute=("07:00",)), sw.InputError, "has 1 times of day; it has two"),
    (Rule(True, hour_minute=["07:00"] * 3), sw.InputError, "has 3 times of day"),
    (Rule(True, hour_minute=("\ud800", "08:00")), sw.InputError, "lone surrogate"),
    (Rule(True, hour_minute=(time(7, 0, 30), "08:00")), sw.InputError, "07:00:30"),
    (Rule(True, hour_minute="07:00"), TypeError, "hour_minute is one str; give a list"),
    (Rule(True, hour_minute=(7, 8)), TypeError, "has to be a text or a datetime.time"),  # type: ignore[arg-type]
    (Rule(True, hour_minute=(time(7, tzinfo=UTC), "08:00")), TypeError, "no time zone of its own"),
    (Rule(True, weekdays=[2**70]), sw.InputError, "is out of range"),
    (Rule(True, weekdays=[True]), TypeError, "not a bool"),
    (Rule(True, weekdays=["1"]), TypeError, "has to be a whole number, not a str"),  # type: ignore[list-item]
    ({"should_charge": True}, TypeError, "is a dict; give a Rule"),
    ([], TypeError, "should_charge"),
    (None, TypeError, "is None; give a Rule"),
]


@pytest.mark.parametrize(("rule", "error", "text"), WRONG_RULES)
def test_wrong_rules_are_told_what_is_wrong(rule: Any, error: type[Exception], text: str) -> None:
    """A value that makes no sense is an ``InputError``, a wrong type a ``TypeError``."""
    with pytest.raises(error, match=text):
        sw.schedule.should_charge([rule], at=MONDAY)


def test_rows_come_as_json_has_them() -> None:
    """A log of rules, readings and candidates needs no class to be replayed."""
    rule: Any = json.loads(json.dumps(Rule(True, hour_minute=("00:00", "06:00"), weekdays=[0])))
    assert sw.schedule.should_charge([rule], at=MONDAY)
    same = Rule(True, hour_minute=(time(0), time(6)), weekdays=[0])
    assert sw.schedule.should_charge([same], at=MONDAY)
    reading: Any = json.loads(json.dumps(TargetReading(is_plugged_in=True)))
    stands = sw.schedule.status(
        reading, should_charge=True, target_type="charger", location_id=None
    )
    assert stands.command == "start"
    with pytest.raises(TypeError, match="target is None; give a TargetReading"):
        sw.schedule.status(
            None,  # type: ignore[arg-type]
            should_charge=True,
            target_type="charger",
            location_id=None,
        )


def test_whose_clock_and_whether_away() -> None:
    oslo, tokyo, bare = Place("Europe/Oslo"), Place("Asia/Tokyo"), Place()
    of = sw.schedule.time_zone_of
    assert [of(oslo, tokyo), of(None, tokyo), of(bare, tokyo), of(None, None)] == [
        "Europe/Oslo",
        "Asia/Tokyo",
        "UTC",
        "UTC",
    ]
    with pytest.raises(sw.InputError, match="no IANA time zone"):
        of(Place("Oslo"))
    kinds: tuple[sw.schedule.TargetType, ...] = ("vehicle", "charger")
    places = (None, "home", "work")
    away = [
        (kind, own, here)
        for kind in kinds
        for own in (None, "home")
        for here in places
        if sw.schedule.is_away(target_type=kind, location_id=own, target_location_id=here)
    ]
    assert away == [
        ("vehicle", None, None),
        ("vehicle", "home", None),
        ("vehicle", "home", "work"),
        ("charger", "home", None),
        ("charger", "home", "work"),
    ]


def test_when_a_status_last_changed() -> None:
    """Every value counts, and nothing else."""
    stands = sw.schedule.status(
        TargetReading(is_plugged_in=True),
        should_charge=True,
        target_type="charger",
        location_id=None,
    )
    soon = sw.schedule.Transition(MONDAY + MINUTE, should_charge=False)
    seen = Snapshot(stands, [soon])
    assert sw.schedule.changed_at(seen, now=MONDAY) == MONDAY
    later = MONDAY + MINUTE
    assert sw.schedule.changed_at(seen, now=later, before=(seen, MONDAY)) == MONDAY
    others = [
        seen._replace(upcoming=[]),
        seen._replace(upcoming=[soon._replace(should_charge=True)]),
        seen._replace(override_created_at=MONDAY),
        seen._replace(status=stands._replace(is_charging=True)),
        seen._replace(status=stands._replace(state="pending")),
        seen._replace(status=stands._replace(parts=stands.parts._replace(needs_charge=False))),
    ]
    for other in others:
        assert sw.schedule.changed_at(other, now=later, before=(seen, MONDAY)) == later
    with pytest.raises(sw.InputError, match=r"seen.status.state is 'ready'; it is one of"):
        sw.schedule.changed_at(Snapshot(stands._replace(state="ready")), now=later)  # type: ignore[arg-type]


def test_unknown_words_and_naive_times_are_refused() -> None:
    with pytest.raises(sw.InputError, match="time_zone"):
        sw.schedule.upcoming_transitions([], now=MONDAY, time_zone="Mars/Base")
    with pytest.raises(TypeError, match="no time zone"):
        sw.schedule.upcoming_transitions([], now=datetime(2026, 1, 5))  # noqa: DTZ001
    with pytest.raises(sw.InputError, match="target_type"):
        sw.schedule.status(
            TargetReading(),
            should_charge=True,
            target_type="hvac",  # type: ignore[arg-type]
            location_id=None,
        )
    with pytest.raises(sw.InputError, match=r"target\.soc_percent: 101 %"):
        sw.schedule.status(
            TargetReading(soc_percent=101),
            should_charge=True,
            target_type="vehicle",
            location_id=None,
        )


def test_python_agrees_about_the_wall_clock() -> None:
    """A year of Oslo in steps of 37 minutes, against ``zoneinfo``."""
    oslo = ZoneInfo("Europe/Oslo")
    nights = [Rule(True, hour_minute=("22:15", "06:30"), weekdays=[0, 2, 6])]
    instants = [MONDAY + 37 * MINUTE * step for step in range(14_000)]
    verdicts = sw.schedule.should_charge_each(nights, at=instants, time_zone="Europe/Oslo")
    for at, verdict in zip(instants, verdicts, strict=True):
        local = at.astimezone(oslo)
        minute = local.hour * 60 + local.minute
        night = minute >= 22 * 60 + 15 or minute < 6 * 60 + 30
        assert verdict == (night and local.weekday() in {0, 2, 6}), local


def test_the_ends_of_the_calendar() -> None:
    """Rules hold in the years that are taken; times beyond them are refused."""
    hourly = [Rule(True, hour_minute=("01:00", "02:00"))]
    for taken in (datetime(10, 1, 1, tzinfo=UTC), datetime(9990, 12, 31, tzinfo=UTC)):
        daily = sw.schedule.upcoming_transitions(hourly, now=taken, time_zone="America/New_York")
        assert len(daily) == 2
    for refused in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        with pytest.raises(sw.InputError, match="lies outside the years 10 to 9990"):
            sw.schedule.upcoming_transitions(hourly, now=refused)


def test_who_controls() -> None:
    schedules = [Candidate("a", MONDAY), Candidate("b", MONDAY, is_enabled=False)]
    who = sw.schedule.controller(schedules, target_type="charger", location_id=None)
    assert (who.kind, who.schedule_id, who.refuses_commands) == ("schedule", "a", True)
    away = sw.schedule.controller(
        schedules, target_type="vehicle", location_id=None, is_smart_charging_enabled=True
    )
    assert away.kind == "smart_charging"
    override = sw.schedule.controller(
        schedules, target_type="vehicle", location_id="home", is_overridden=True
    )
    assert (override.kind, override.refuses_commands) == ("override", False)


@settings(max_examples=300, deadline=None)
@given(rules=rules, now=times, zone=zones, default=st.booleans())
def test_any_rules_have_transitions_or_one_error(
    *, rules: list[Rule], now: datetime, zone: str, default: bool
) -> None:
    try:
        found = sw.schedule.upcoming_transitions(
            rules, now=now, default_should_charge=default, time_zone=zone
        )
    except (sw.InputError, TypeError):
        return
    assert len(found) <= 2
    value = sw.schedule.should_charge(rules, at=now, default_should_charge=default, time_zone=zone)
    for transition in found:
        assert transition.at > now
        assert transition.should_charge != value
        value = transition.should_charge
        assert value == sw.schedule.should_charge(
            rules, at=transition.at, default_should_charge=default, time_zone=zone
        )


maybe = st.none() | st.booleans()
numbers = st.none() | st.floats() | st.floats(0, 100)


@settings(max_examples=300, deadline=None)
@given(
    target=st.builds(
        TargetReading,
        maybe,
        maybe,
        numbers,
        numbers,
        maybe,
        st.none() | st.sampled_from(["home", "work"]),
        st.booleans(),
    ),
    flags=st.lists(st.booleans(), min_size=4, max_size=4),
    kind=st.sampled_from(["vehicle", "charger"]),
    place=st.none() | st.just("home"),
)
def test_any_reading_has_one_state_or_one_error(
    target: TargetReading, flags: list[bool], kind: sw.schedule.TargetType, place: str | None
) -> None:
    try:
        status = sw.schedule.status(
            target,
            should_charge=flags[0],
            target_type=kind,
            location_id=place,
            is_enabled=flags[1],
            is_overridden=flags[2],
            is_action_pending=flags[3],
        )
    except sw.InputError:
        return
    assert status.is_charging_expected == all(status.parts)
    assert (status.state == "inactive_disabled") == (not flags[1])
    assert status.command is None or status.state == "misaligned"
