"""Laws of the rules, in every zone and around every clock change from 2020 to 2035.

``zoneinfo`` says what clocks show, one minute after the other; the rules are
written down here a second time, as plainly as they can be.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slackwater as sw
from slackwater import actions, flex, schedule, signals, tariffs

from zone_tables import DAY, FIRST, HOUR, LAST, MINUTE, Clocks, distinct_clocks, edition, zone_of

NEAR = 26 * HOUR
DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

every_zone = pytest.mark.parametrize("clocks", distinct_clocks(), ids=lambda clocks: clocks.name)


def test_both_read_the_same_edition_of_the_tables() -> None:
    """The package ``tzdata`` is pinned to it; raise both together."""
    assert edition() == sw.TIME_ZONE_VERSION


def test_all_kinds_of_clock_changes_are_there() -> None:
    """Gaps and folds of half an hour, an hour and two; and zones without any."""
    jumps = set()
    for clocks in distinct_clocks():
        for at in clocks.changes:
            jumps.add((clocks.offset(at) - clocks.offset(at - MINUTE)) / HOUR)
    assert {-2.0, -1.0, -0.5, 0.5, 1.0, 2.0} <= jumps
    assert len(distinct_clocks()) > 80
    assert sum(len(clocks.changes) for clocks in distinct_clocks()) > 1000


# ------------------------------------------------------------------- schedules


def written(minute: int) -> str:
    """Write a minute of the day."""
    return f"{minute // 60:02d}:{minute % 60:02d}"


def some_rules(random: Random, about: datetime) -> list[schedule.Rule]:
    """Make up to four rules; some with timestamps near ``about``, to the minute."""

    def rule() -> schedule.Rule:
        window = (written(random.randrange(1440)), written(random.randrange(1440)))
        bound = about + random.randrange(-1560, 1560) * MINUTE
        return schedule.Rule(
            random.random() < 0.5,
            hour_minute=window if random.random() < 0.8 else None,
            from_timestamp=bound if random.random() < 0.2 else None,
            to_timestamp=bound + random.randrange(600) * MINUTE if random.random() < 0.2 else None,
            weekdays=random.sample(range(7), random.randrange(5))
            if random.random() < 0.5
            else None,
        )

    return [rule() for _ in range(random.randrange(1, 5))]


def minutes_of(clock: Any) -> int:
    """Read ``HH:MM``."""
    hours, minutes = str(clock).split(":")
    return 60 * int(hours) + int(minutes)


def holds_on_the_wall(rule: schedule.Rule) -> list[bool]:
    """Tell for each minute of a week on the wall whether a rule's filters hold."""
    days = range(7) if rule.weekdays is None else rule.weekdays
    start, end = (0, 0) if rule.hour_minute is None else map(minutes_of, rule.hour_minute)
    return [
        weekday in days
        and (start <= minute < end if start < end else minute >= start or minute < end)
        for weekday in range(7)
        for minute in range(1440)
    ]


def by_the_minute(
    rules: list[schedule.Rule], instants: list[datetime], clocks: Clocks, *, default: bool
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Answer for each instant, the first rule that holds winning."""
    shown = [clocks.local(at) for at in instants]
    wall = np.array([at.weekday() * 1440 + at.hour * 60 + at.minute for at in shown])
    seconds = np.array([at.timestamp() for at in (instants[0], instants[-1])])
    time_line = np.linspace(seconds[0], seconds[1], len(instants)).round()
    answer = np.full(len(instants), default)
    for rule in reversed(rules):
        holds = np.array(holds_on_the_wall(rule))[wall]
        if rule.from_timestamp is not None:
            holds &= time_line >= rule.from_timestamp.timestamp()
        if rule.to_timestamp is not None:
            holds &= time_line < rule.to_timestamp.timestamp()
        answer[holds] = rule.should_charge
    return answer


def check_schedule(
    random: Random, clocks: Clocks, start: datetime, minutes: int, about: datetime
) -> None:
    """Compare each minute, and the transitions with the changes between minutes."""
    rules, default = some_rules(random, about), random.random() < 0.5
    instants = [start + minute * MINUTE for minute in range(minutes)]
    expected = by_the_minute(rules, instants, clocks, default=default)
    told = {"default_should_charge": default, "time_zone": clocks.name}
    got = schedule.should_charge_each(rules, at=instants, **told)  # type: ignore[arg-type]
    assert np.array_equal(got, expected), (clocks.name, start, rules)

    changes = [instants[i] for i in np.flatnonzero(expected[1:] != expected[:-1]) + 1]
    found, now = [], start
    while True:
        upcoming = schedule.upcoming_transitions(rules, now=now, **told)  # type: ignore[arg-type]
        assert all(before.at < after.at for before, after in pairwise(upcoming))
        found += [transition.at for transition in upcoming if transition.at <= instants[-1]]
        if len(upcoming) < 2 or upcoming[-1].at > instants[-1]:
            break
        now = upcoming[-1].at
    assert found == changes, (clocks.name, start, rules)


@every_zone
def test_schedules_follow_the_clocks_around_each_change(clocks: Clocks) -> None:
    """SCH-21, SCH-36, EP-01: 52 hours of minutes around each change of 16 years."""
    random = Random(clocks.name)
    for change in clocks.changes:
        check_schedule(random, clocks, change - NEAR, 52 * 60, change)


@every_zone
def test_schedules_follow_the_clocks_on_any_day(clocks: Clocks) -> None:
    """SCH-20, SCH-36: three days drawn from 16 years."""
    random = Random(clocks.name + "days")
    for _ in range(3):
        day = FIRST + random.randrange((LAST - FIRST) // MINUTE) * MINUTE
        check_schedule(random, clocks, day, 1440, day + DAY / 2)


# ------------------------------------------------------------------- deadlines


def days_around(clocks: Clocks, now: datetime, count: int) -> list[date]:
    """List local dates from two days ago on."""
    today = clocks.local(now).date()
    return [today + number * DAY for number in range(-2, count)]


@every_zone
def test_deadlines_lie_strictly_ahead(clocks: Clocks) -> None:
    """VEH-31, SCP-03, AMB-23: the next showing of a time of day, around each change."""
    random = Random(clocks.name + "deadlines")
    for change in clocks.changes or (datetime(2026, 3, 29, 1, tzinfo=UTC),):
        for _ in range(6):
            now = change + random.randrange(-1560, 1560) * MINUTE
            near = clocks.local(change + random.randrange(-150, 150) * MINUTE).time()
            clock = random.choice([near.replace(fold=0), time(random.randrange(24))])
            days = days_around(clocks, now, 4)
            expected = min(at for day in days if (at := clocks.instant(day, clock)) > now)
            got = sw.next_deadline(clock, time_zone=clocks.name, now=now)
            assert got == expected, (clocks.name, clock, now)
            assert got > now


@every_zone
def test_flex_deadlines_are_each_day_once(clocks: Clocks) -> None:
    """FLX-36: two weeks around each change; at one instant there is one deadline."""
    random = Random(clocks.name + "flex")
    for change in clocks.changes or (datetime(2026, 3, 29, 1, tzinfo=UTC),):
        near = clocks.local(change - random.randrange(120) * MINUTE).time().replace(fold=0)
        times = [random.choice([near, time(random.randrange(24), 30)]) for _ in range(7)]
        targets = [random.randrange(20, 100) for _ in range(7)]
        days = {
            name: flex.Day(clock, target)
            for name, clock, target in zip(DAY_NAMES, times, targets, strict=True)
            if random.random() < 0.8
        }
        now = change - random.randrange(10 * 24 * 60) * MINUTE
        until = now + 14 * DAY
        expected: dict[datetime, float] = {}
        for day in days_around(clocks, now, 18):
            wish = days.get(DAY_NAMES[day.weekday()])
            at = wish and clocks.instant(day, times[day.weekday()])
            if wish and at and now < at <= until:
                expected[at] = max(expected.get(at, 0), targets[day.weekday()])
        found = flex.deadlines(
            flex.FlexPolicy(10, days), time_zone=clocks.name, now=now, until=until
        )
        assert [(one.at, one.target_percent) for one in found] == sorted(expected.items())


# --------------------------------------------------------------------- tariffs


@every_zone
def test_a_tariff_week_is_as_long_as_the_week_on_the_wall(clocks: Clocks) -> None:
    """TAR-09, TAR-11: intervals that tile the week are in force 167, 168 or 169 hours.

    Half an hour at Lord Howe and two hours in Antarctica are as long as they are.
    """
    night = tariffs.TariffInterval("night", None, "22:30", "06:00")
    day = tariffs.TariffInterval("day", None, "06:00", "22:30")
    rates = [tariffs.Rate("night", "0.1"), tariffs.Rate("day", "0.3")]
    tariff = tariffs.Tariff(rates, [night, day], "EUR", clocks.name)
    for change in clocks.changes or (datetime(2026, 3, 29, 1, tzinfo=UTC),):
        local = clocks.local(change - MINUTE).date()
        monday = local - local.weekday() * DAY
        start, end = (clocks.instant(day, time()) for day in (monday, monday + 7 * DAY))
        slots = tariffs.tariff_prices(tariff, start=start, end=end).slots
        assert all(before[1] == after[0] for before, after in pairwise(slots))
        total = sum((end - start for start, end, _ in slots), timedelta())
        assert total == end - start
        # All clocks stand at whole quarter hours from UTC, and so do the intervals.
        quarters = [clocks.local(start + n * HOUR / 4).time() for n in range(total // (HOUR / 4))]
        dark = sum(not time(6) <= at < time(22, 30) for at in quarters)
        nights = [end - start for start, end, price in slots if price == 0.1]
        assert sum(nights, timedelta()) == dark * HOUR / 4
        jump = clocks.offset(change) - clocks.offset(change - MINUTE)
        if abs(jump) == HOUR:
            assert total / HOUR in {167, 168, 169}


def test_a_year_of_weeks_in_oslo() -> None:
    """One week of 167 hours, one of 169, fifty of 168."""
    whole = tariffs.TariffInterval("a")
    tariff = tariffs.Tariff([tariffs.Rate("a", "1")], [whole], "EUR", "Europe/Oslo")
    oslo = Clocks("Europe/Oslo", zone_of("Europe/Oslo"), ())
    monday = date(2026, 1, 5)
    hours = []
    for week in range(52):
        days = (monday + week * 7 * DAY, monday + (week + 1) * 7 * DAY)
        start, end = (oslo.instant(day, time()) for day in days)
        slots = tariffs.tariff_prices(tariff, start=start, end=end).slots
        hours.append(sum((end - start for start, end, _ in slots), timedelta()) / HOUR)
    assert sorted(hours) == [167, *[168] * 50, 169]


steps = st.lists(st.tuples(st.integers(1, 300), st.integers(-20, 90)), min_size=1, max_size=12)


@given(steps, st.integers(0, 11), st.floats(0.01, 0.99), st.integers(-50, 50))
def test_splitting_a_slot_changes_no_price(
    lengths: list[tuple[int, int]], which: int, part: float, shift: int
) -> None:
    """EP-17, TAR-12: in the market or in what is resolved from it."""
    start = datetime(2026, 3, 28, 20, tzinfo=UTC)
    whole = []
    for minutes, cents in lengths:
        end = start + minutes * MINUTE
        whole.append((start, end, cents / 100))
        start = end
    cut = list(whole)
    first, last, price = cut.pop(which % len(cut))
    middle = first + (last - first) * part
    cut += [(first, middle, price), (middle, last, price)]
    markets = [sw.Prices.from_slots(sorted(slots), currency="EUR") for slots in (whole, cut)]
    night = tariffs.TariffInterval("a", None, "01:30", "04:00")
    tariff = tariffs.Tariff([tariffs.Rate("a", "0.05")], [night], "EUR", "Europe/Oslo")
    begin, end = whole[0][0] + shift * MINUTE, whole[-1][1] + shift * MINUTE
    resolved = [tariffs.resolve(start=begin, end=end, tariff=tariff, market=m) for m in markets]
    for minute in range(-60, 60 + (end - begin) // MINUTE, 7):
        at = begin + minute * MINUTE
        assert resolved[0].prices.price_at(at) == resolved[1].prices.price_at(at)
        assert markets[0].price_at(at) == markets[1].price_at(at)
        one, other = (tariffs.price_at(at, tariff=tariff, market=m) for m in markets)
        assert one == other


# --------------------------------------------------------------------- signals

quarters = st.integers(0, 60)


@st.composite
def price_signals(draw: Any) -> signals.PriceSignal:
    starts = sorted(draw(st.sets(quarters, min_size=1, max_size=6)))
    to = draw(st.integers(starts[-1] + 1, 70))
    values = [signals.SignalValue(FIRST + at * HOUR / 4, draw(st.integers(-3, 3))) for at in starts]
    return signals.PriceSignal("EUR", FIRST + to * HOUR / 4, values)


@given(st.lists(price_signals(), max_size=3), price_signals(), price_signals(), quarters)
def test_signals_replace_their_window_and_nothing_else(
    earlier: list[signals.PriceSignal],
    one: signals.PriceSignal,
    other: signals.PriceSignal,
    split: int,
) -> None:
    """EP-07 to EP-09: outside as before; twice is once; halves; disjoint ones commute."""
    before = None
    for signal in earlier:
        before = signals.replace(before, signal)
    after = signals.replace(before, one)
    for quarter in range(-2, 75):
        at = FIRST + quarter * HOUR / 4
        inside = one.values[0].at <= at < one.to
        held = [value.price_per_kwh for value in one.values if value.at <= at]
        expected = held[-1] if inside else before and before.price_at(at)
        assert after.price_at(at) == expected
    assert signals.replace(after, one) == after
    early = [value for value in one.values if value.at < FIRST + split * HOUR / 4]
    late = one.values[len(early) :]
    if early and late:
        half = signals.replace(before, signals.PriceSignal("EUR", late[0].at, early))
        assert signals.replace(half, signals.PriceSignal("EUR", one.to, late)) == after
    if one.to <= other.values[0].at or other.to <= one.values[0].at:
        there = signals.replace(signals.replace(before, other), one)
        assert signals.replace(after, other) == there


# --------------------------------------------------------------------- actions

kinds = st.sampled_from(
    [
        "reached",
        "unnecessary",
        "timed_out",
        "precondition_unmet",
        "cancel_requested",
        "owner_cancelled",
        "target_deleted",
    ]
)
happenings = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.none() | kinds, st.booleans()), max_size=30
)


@given(happenings)
def test_actions_have_one_active_per_target_and_stay_ended(drawn: list[Any]) -> None:
    """EP-25, EP-26, ACT-13, ACT-14, ACT-21: seen through the notifications, one after the other."""
    events, created = [], 0
    target_of: dict[str, str] = {}
    for second, (target, kind, by_id) in enumerate(drawn):
        at = FIRST + timedelta(seconds=second)
        if kind is None:
            name, created = f"n{created}", created + 1
            target_of[name] = target
            events.append(actions.ActionEvent(at, "created", name, target))
        elif by_id and target_of:
            name = list(target_of)[second % len(target_of)]
            events.append(actions.ActionEvent(at, kind, name))
        else:
            events.append(actions.ActionEvent(at, kind, None, target))
    replay = actions.replay_actions(events)
    pending: dict[str, str] = {}
    ended: dict[str, str] = {}
    for name, state in replay.notifications:
        target = target_of[name]
        if state == "pending":
            assert target not in pending, "the conflict is told before what caused it"
            assert name not in ended
            pending[target] = name
        else:
            assert pending.pop(target) == name, "told once, and only while pending"
            ended[name] = state
    shown = {name: action.state for name, action in replay.actions.items()}
    assert shown == ended | dict.fromkeys(pending.values(), "pending")
    assert set(shown) == set(target_of)
    for action in replay.actions.values():
        assert (action.completed_at is None) == (action.state == "pending")
