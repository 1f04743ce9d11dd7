"""Plans of devices that switch, as their users see them."""

from __future__ import annotations

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
        )

    early, whole = stopped(1), stopped(100_000)
    assert not early.certificate.is_complete
    assert not early.certificate.is_proved
    assert early.certificate.gap > 0
    assert early.shortfall_kwh == 0
    assert whole.certificate.is_proved
    assert early.certificate.bound <= whole.cost + 1e-6
    assert whole.cost <= early.cost + 1e-6
    with pytest.raises(sw.InputError, match="nodes_max is 0; a search looks at 1 node at least"):
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
