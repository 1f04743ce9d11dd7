"""Plans of devices that switch, as their users see them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import slackwater as sw

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)


def hours(*prices: float) -> sw.Prices:
    return sw.Prices.from_values(SIX, list(prices), currency="EUR")


def plan(prices: sw.Prices, energy_kwh: float, **options: Any) -> sw.SwitchingPlan:
    wishes: dict[str, Any] = {"now": SIX, "power_max_kw": 10, "power_min_kw": 4} | options
    return sw.plan_switching(prices, targets=[(None, energy_kwh)], **wishes)


def test_a_start_can_cost_more_than_a_dear_hour() -> None:
    prices = hours(0.10, 0.30, 0.10, 0.20)
    chopped, smooth = plan(prices, 20), plan(prices, 20, start_cost=1.5)
    assert len(chopped.sessions) == 2
    assert chopped.smoothness_cost == pytest.approx(0)
    assert [i.power_kw for i in smooth.intervals] == [10, 4, 6]
    assert smooth.cost == pytest.approx(4.3)
    assert smooth.start_costs == pytest.approx(1.5)
    assert smooth.smoothness_cost == pytest.approx(0.8)
    assert smooth.free_sessions == 2
    assert smooth.certificate.is_proved
    assert smooth.certificate.method == "exact_search"
    codes = [reason.code for reason in smooth.explain()]
    assert codes == ["cheapest", "avoids_start", "cheapest"]


def test_no_session_is_allowed() -> None:
    none = plan(hours(0.1, 0.2), 5, sessions_max=0)
    assert none.shortfall_kwh == 5
    assert [wish.wish for wish in none.unmet] == ["target", "switching_limits"]
    assert none.intervals == []


def test_a_session_that_goes_on_costs_no_start() -> None:
    goes_on = plan(hours(0.1, 0.2), 5, start_cost=1, running_since=SIX - HOUR)
    assert goes_on.start_costs == 0
    assert goes_on.sessions[0].is_carried


def test_time_off_is_waited_for() -> None:
    waits = plan(hours(0.1, 0.2, 0.3), 5, off_min=2 * HOUR, stopped_since=SIX - HOUR)
    assert waits.sessions[0].start == SIX + HOUR


def test_the_last_minutes_are_run() -> None:
    warm = plan(hours(0.1, 0.2, 0.9), 10, run_last=timedelta(minutes=30))
    assert [(i.start, i.power_kw) for i in warm.intervals] == [(SIX, 6), (SIX + 2 * HOUR, 4)]
    assert warm.explain()[-1].code == "run_last"
    never = plan(hours(0.1, 0.2, 0.9), 10, run_last=HOUR, until=SIX)
    assert {wish.wish for wish in never.unmet} >= {"target"}


def test_the_rest_is_a_marked_top_off() -> None:
    rest = plan(hours(0.1, 0.2), 1)
    only = rest.intervals[0]
    assert only.is_top_off
    assert only.power_kw == 4
    assert only.end - only.start == timedelta(minutes=15)


def test_least_time_on_yields_where_energy_would_be_missing() -> None:
    short = plan(hours(0.1, 0.2), 2, on_min=2 * HOUR)
    assert short.shortfall_kwh == 0
    assert [wish.wish for wish in short.unmet] == ["on_min"]


def test_several_deadlines_state_their_gap() -> None:
    prices = hours(0.3, 0.1, 0.4, 0.1)
    both = sw.plan_switching(
        prices,
        now=SIX,
        power_max_kw=10,
        power_min_kw=4,
        targets=[(SIX + HOUR, 5), (None, 15)],
    )
    assert both.certificate.method == "mixed_integer"
    assert both.cost == pytest.approx(5 * 0.3 + 10 * 0.1)
    assert both.certificate.is_proved


@pytest.mark.parametrize(
    ("start_cost", "sessions", "cost"),
    [
        # 4 kWh at 0.3 and 16 at 0.1 are 2.8, and two starts: the pause is at 0.2.
        (0.2, 2, 2.8 + 2 * 0.2),
        # Through the pause at 4 kW: 4 at 0.3, 4 at 0.2 and 12 at 0.1 are 3.2, and one start.
        (0.5, 1, 3.2 + 0.5),
    ],
)
def test_several_deadlines_and_a_start_cost(start_cost: float, sessions: int, cost: float) -> None:
    """12 kWh in two hours take both of them, the first at no less than 4 kW."""
    both = sw.plan_switching(
        hours(0.3, 0.1, 0.2, 0.1),
        now=SIX,
        power_max_kw=10,
        power_min_kw=4,
        targets=[(SIX + 2 * HOUR, 12), (None, 20)],
        start_cost=start_cost,
    )
    assert both.shortfall_kwh == 0
    assert len(both.sessions) == sessions
    assert both.cost == pytest.approx(cost)
    assert both.certificate.is_proved


def test_of_several_deadlines_the_earliest_misses_least() -> None:
    """One start: at once for the 5 kWh that are wanted first, so through all four hours."""
    both = sw.plan_switching(
        hours(0.3, 0.9, 0.9, 0.1),
        now=SIX,
        power_max_kw=10,
        power_min_kw=4,
        targets=[(SIX + HOUR, 12), (None, 30)],
        sessions_max=1,
    )
    assert [target.shortfall_kwh for target in both.targets] == [2, 0]
    # 10 at 0.3 and 10 at 0.1, and 10 in the two hours at 0.9 between.
    assert both.cost == pytest.approx(3 + 9 + 1)


@pytest.mark.parametrize(
    ("month", "day", "count", "end_hour"),
    [(3, 29, 23, 5), (10, 25, 25, 3)],
    ids=["23 hours", "25 hours"],
)
def test_least_times_are_elapsed_time(month: int, day: int, count: int, end_hour: int) -> None:
    """Three hours from one o'clock on end at five where an hour is left out, at three where one
    comes twice."""
    oslo = ZoneInfo("Europe/Oslo")
    midnight = datetime(2026, month, day, tzinfo=oslo)
    next_day = datetime(2026, month, day + 1, tzinfo=oslo)
    values = [0.5, 0.1, 0.2, 0.2] + [0.5] * (count - 4)
    prices = sw.Prices.from_values(midnight, values, currency="EUR")
    options: dict[str, Any] = {"now": midnight, "power_max_kw": 2, "power_min_kw": 1}
    night = sw.plan_switching(prices, targets=[(next_day, 4)], on_min=timedelta(hours=3), **options)
    only = night.sessions[0]
    assert only.start == datetime(2026, month, day, 1, tzinfo=oslo).astimezone(UTC)
    assert only.end == datetime(2026, month, day, end_hour, tzinfo=oslo).astimezone(UTC)
    assert night.cost == pytest.approx(2 * 0.1 + 1 * 0.2 + 1 * 0.2)
    full = sw.plan_switching(prices, targets=[(next_day, 60)], **options)
    assert full.energy_kwh == pytest.approx(2 * count)
    assert full.shortfall_kwh == pytest.approx(60 - 2 * count)


@pytest.mark.parametrize(
    ("energy_kwh", "after_deadline", "powers_kw", "minutes", "cost"),
    [
        (15, "continue", [10, 5], 120, 10 * 0.1 + 5 * 0.2),
        (13, "continue", [10, 4], 105, 10 * 0.1 + 3 * 0.2),
        (15, "stop", [10], 60, 10 * 0.1),
    ],
    ids=["whole hours", "a top-off", "stop"],
)
def test_after_a_missed_deadline(
    energy_kwh: float,
    after_deadline: Any,
    powers_kw: list[float],
    minutes: int,
    cost: float,
) -> None:
    """An hour holds 10 kWh. The rest comes at once, though a later hour is cheaper."""
    late = sw.plan_switching(
        hours(0.1, 0.2, 0.05),
        now=SIX,
        power_max_kw=10,
        power_min_kw=4,
        targets=[(SIX + HOUR, energy_kwh)],
        after_deadline=after_deadline,
    )
    assert late.shortfall_kwh == pytest.approx(energy_kwh - 10)
    assert [i.power_kw for i in late.intervals] == powers_kw
    assert late.intervals[-1].end == SIX + timedelta(minutes=minutes)
    assert late.intervals[-1].is_top_off == (energy_kwh == 13)
    assert late.cost == pytest.approx(cost)


@pytest.mark.parametrize(
    ("later_kwh", "powers_kw"),
    [(10, [0, 0]), (4, [0, 0]), (14, [0, 4])],
    ids=["as much", "less", "more"],
)
def test_an_early_deadline_is_met_whatever_a_later_one_wants(
    later_kwh: float, powers_kw: list[float]
) -> None:
    """10 kWh by 20:00 at 5 kW take both dear hours; the cheap ones come too late for them."""
    both = sw.plan_switching(
        hours(0.5, 0.5, 0.1, 0.1),
        now=SIX,
        power_max_kw=5,
        power_min_kw=2,
        targets=[(SIX + 2 * HOUR, 10), (SIX + 4 * HOUR, later_kwh)],
    )
    assert both.shortfall_kwh == 0
    energies = [slot.energy_kwh for slot in both.slots]
    assert energies[:2] == pytest.approx([5, 5])
    assert sum(energies[2:]) == pytest.approx(sum(powers_kw))
    assert both.certificate.is_proved


def test_the_rest_of_a_missed_deadline_is_wanted_by_the_next_one() -> None:
    """5 of 10 kWh are there at 19:00; the other five come in the cheapest hour before 22:00."""
    options: dict[str, Any] = {"now": SIX, "power_max_kw": 5, "power_min_kw": 2}
    targets = [(SIX + HOUR, 10), (SIX + 4 * HOUR, 1)]
    late = sw.plan_switching(hours(0.1, 0.4, 0.2, 0.3), targets=targets, **options)
    assert [slot.energy_kwh for slot in late.slots] == pytest.approx([5, 0, 5, 0])
    assert [target.shortfall_kwh for target in late.targets] == pytest.approx([5, 0])
    assert late.certificate.is_proved
    over = sw.plan_switching(
        hours(0.1, 0.4, 0.2, 0.3), targets=targets, after_deadline="stop", **options
    )
    assert over.energy_kwh == pytest.approx(5)
    assert over.certificate.is_proved
    more = sw.plan_switching(
        hours(0.1, 0.4, 0.2, 0.3),
        targets=[(SIX + HOUR, 10), (SIX + 4 * HOUR, 7)],
        after_deadline="stop",
        **options,
    )
    assert [slot.energy_kwh for slot in more.slots] == pytest.approx([5, 0, 2, 0])
    assert more.certificate.is_proved


@pytest.mark.parametrize("limited", [False, True], ids=["free", "limited"])
def test_a_past_deadline_is_made_up_at_once(*, limited: bool) -> None:
    limits = [(SIX + HOUR, SIX + 2 * HOUR, 4)] if limited else []
    options: dict[str, Any] = {
        "now": SIX,
        "power_max_kw": 5,
        "power_min_kw": 2,
        "targets": [(SIX - HOUR, 8)],
        "power_limits": limits,
    }
    late = sw.plan_switching(hours(0.5, 0.4, 0.1), **options)
    assert late.energy_kwh == pytest.approx(8)
    assert [i.power_kw for i in late.intervals] == pytest.approx([5, 3])
    assert late.targets[0].shortfall_kwh == 8
    assert late.certificate.is_proved
    over = sw.plan_switching(hours(0.5, 0.4, 0.1), after_deadline="stop", **options)
    assert over.energy_kwh == 0


def test_a_device_that_is_off_at_a_missed_deadline_starts_again_when_it_may() -> None:
    """No power in the second hour: the device is off at the deadline and waits two hours."""
    late = sw.plan_switching(
        hours(0.1, 0.1, 0.1, 0.9, 0.1),
        now=SIX,
        power_max_kw=5,
        power_min_kw=2,
        targets=[(SIX + 2 * HOUR, 12)],
        power_limits=[(SIX + HOUR, SIX + 2 * HOUR, 0)],
        off_min=2 * HOUR,
        start_cost=0.25,
    )
    assert [slot.energy_kwh for slot in late.slots] == pytest.approx([5, 0, 0, 5, 2])
    assert len(late.sessions) == 2
    assert late.cost == pytest.approx(5 * 0.1 + 5 * 0.9 + 2 * 0.1 + 2 * 0.25)
    assert late.certificate.bound == pytest.approx(late.cost)


@pytest.mark.parametrize("scale", [1e-6, 1, 1e6])
def test_a_proof_is_relative_to_the_money_at_stake(scale: float) -> None:
    """The plan pays 1e6 times as much, or as little, and stays the same."""
    prices = [price * scale for price in (0.3, 0.1, 0.2, 0.1)]
    both = sw.plan_switching(
        hours(*prices),
        now=SIX,
        power_max_kw=10,
        power_min_kw=4,
        targets=[(SIX + 2 * HOUR, 12), (None, 20)],
        start_cost=0.2 * scale,
    )
    assert both.cost == pytest.approx(3.2 * scale)
    assert both.certificate.is_proved


def test_a_search_that_is_stopped_says_so() -> None:
    """Many hours of nearly one price: one node is too few, and the gap says what may be lost."""
    values = [round(0.2 + 0.15 * (6 * hour % 11) / 11, 4) for hour in range(30)]

    def stopped(nodes_max: int) -> sw.SwitchingPlan:
        return sw.plan_switching(
            hours(*values),
            now=SIX,
            power_max_kw=11,
            power_min_kw=6.1,
            targets=[(SIX + 15 * HOUR, 33.9), (None, 71.1)],
            start_cost=0.3,
            sessions_max=6,
            off_min=2 * HOUR,
            nodes_max=nodes_max,
            # Nodes end this search, however busy the machine is.
            time_max=timedelta(hours=1),
        )

    early, whole = stopped(1), stopped(100_000)
    assert not early.certificate.is_complete
    assert early.certificate.status == "limit_reached"
    assert not early.certificate.is_proved
    assert early.certificate.gap > 0
    assert early.shortfall_kwh == 0
    assert whole.certificate.is_proved
    assert early.certificate.bound <= whole.cost + 1e-6
    assert whole.cost <= early.cost + 1e-6
    with pytest.raises(sw.InputError, match="nodes_max is 0; a search has at least 1 node"):
        stopped(0)


def test_limits_that_overlap_are_refused() -> None:
    limits = [(SIX, SIX + 2 * HOUR, 5), (SIX + HOUR, SIX + 3 * HOUR, 6)]
    with pytest.raises(sw.InputError, match="before the slot ahead of it ends"):
        plan(hours(0.1, 0.2, 0.3), 5, power_limits=limits)
    apart = [(SIX, SIX + HOUR, 5), (SIX + HOUR, SIX + 3 * HOUR, 6)]
    assert plan(hours(0.1, 0.2, 0.3), 5, power_limits=apart).cost == pytest.approx(0.5)


def test_it_shows_itself() -> None:
    shown = plan(hours(0.10, 0.30, 0.10, 0.20), 20, start_cost=1.5)
    assert "in 1 session," in repr(shown)
    assert "smoothness" in shown._repr_html_()
    assert shown.plot(time_zone="Europe/Oslo").axes
    with pytest.raises(AttributeError, match="cannot be changed"):
        shown.cost = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power_min_kw": 11}, "power_min_kw is 11 kW; it is at least 0 kW and at most"),
        ({"start_cost": -1}, "start_cost is -1; a start costs 0 or more"),
        ({"start_cost": float("nan")}, "start_cost: NaN"),
        ({"on_min": -HOUR}, "on_min is -3600 s"),
        ({"running_since": SIX + HOUR}, "running_since is .* after now"),
        ({"running_since": SIX, "stopped_since": SIX}, "both given"),
        ({"sessions_max": -1}, "sessions_max is -1"),
        ({"power_max_kw": float("inf")}, "power_max_kw"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sw.InputError, match=message):
        plan(hours(0.1, 0.2), 5, **options)


def test_too_many_slots_are_refused() -> None:
    with pytest.raises(sw.InputError, match="1501 slots"):
        plan(hours(*[0.1] * 1501), 5)


NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.floats(0, 50)
LENGTHS = st.none() | st.timedeltas() | st.timedeltas(timedelta(0), timedelta(hours=4))


@given(
    prices=st.lists(st.floats(-1, 1), max_size=12),
    energy=NUMBERS,
    most=NUMBERS,
    least=NUMBERS,
    start_cost=NUMBERS,
    sessions=st.none() | st.integers(-1, 4),
    on_min=LENGTHS,
    off_min=LENGTHS,
    run_last=LENGTHS,
    since=st.none() | st.timedeltas(timedelta(days=-30000), timedelta(days=2)),
)
@settings(max_examples=300, deadline=None)
def test_any_input_gives_a_plan_or_an_input_error(
    prices: list[float],
    energy: float,
    most: float,
    least: float,
    start_cost: float,
    sessions: int | None,
    on_min: timedelta | None,
    off_min: timedelta | None,
    run_last: timedelta | None,
    since: timedelta | None,
) -> None:
    try:
        made = sw.plan_switching(
            hours(*prices),
            now=SIX,
            power_max_kw=most,
            power_min_kw=least,
            targets=[(None, energy)],
            start_cost=start_cost,
            sessions_max=sessions,
            on_min=on_min,
            off_min=off_min,
            run_last=run_last,
            running_since=None if since is None else SIX + since,
        )
    except sw.InputError:
        return
    assert made.energy_kwh >= 0
    for interval in made.intervals:
        assert interval.power_kw >= least * (1 - 1e-9) or least == 0
    made.explain(time_zone="Europe/Oslo")


def days(count: int, slots_per_hour: int) -> sw.Prices:
    """Prices of whole days that rise and fall without a pattern that repeats."""
    total = count * 24 * slots_per_hour
    values = [0.2 + 0.15 * (37 * slot % 101) / 101 for slot in range(total)]
    length = timedelta(minutes=60 // slots_per_hour)
    return sw.Prices.from_values(SIX, values, currency="EUR", slot=length)


LONG: dict[str, tuple[sw.Prices, dict[str, Any]]] = {
    "a week of quarter hours": (
        days(7, 4),
        {
            "targets": [(SIX + day * 24 * HOUR, 25 * day) for day in (2, 4, 7)],
            "sessions_max": 6,
            "off_min": 4 * HOUR,
            "start_cost": 0.1,
        },
    ),
    "a day of minutes": (
        days(1, 60),
        {
            "targets": [(SIX + 24 * HOUR, 33.3)],
            "on_min": timedelta(minutes=15),
            "off_min": timedelta(minutes=15),
            "start_cost": 0.05,
        },
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_search_ends_with_the_time_it_is_given(name: str) -> None:
    prices, wishes = LONG[name]
    started = time.monotonic()
    made = sw.plan_switching(
        prices,
        now=SIX,
        power_max_kw=11,
        power_min_kw=4.1,
        time_max=timedelta(seconds=3),
        **wishes,
    )
    # Another program may have the machine for a while.
    assert time.monotonic() - started < 60
    assert made.certificate.bound <= made.cost
    assert made.certificate.gap >= 0
    assert made.is_reproducible == (made.certificate.status != "time_reached")


def test_a_sentence_tells_estimates() -> None:
    prices = hours(0.30, 0.20).with_estimates(hours(0.30, 0.20, 0.10), source="last week")
    told = [reason.sentence for reason in plan(prices, 15).explain()]
    assert ["It rests on estimates (last week)." in sentence for sentence in told] == [True]
    assert not any("estimates" in reason.sentence for reason in plan(hours(0.3), 5).explain())
