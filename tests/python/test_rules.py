"""Tariffs, price signals and policies through the public API."""

from __future__ import annotations

import json
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

import slackwater as sw
from slackwater import flex, policies, signals, tariffs

START = datetime(2026, 3, 28, tzinfo=UTC)
HOUR = timedelta(hours=1)
ZONES = sorted(available_timezones() - {"localtime", "Factory"})

numbers = st.floats() | st.integers(-30, 130)
texts = st.sampled_from(["07:00", "00:00", "23:59", "24:00", "7:00", ""]) | st.text(max_size=6)
clocks = st.none() | texts | st.times()
instants = st.datetimes(timezones=st.sampled_from([UTC, ZoneInfo("Pacific/Apia")]))
near = st.integers(-100, 20_000).map(lambda quarter: START + quarter * HOUR / 4)


def or_refused(call: Any) -> Any:
    """Return what a call returns, or ``None`` if it was refused: nothing else may come."""
    try:
        return call()
    except sw.InputError:
        return None


def market(hours: int = 72, start: datetime = START) -> sw.Prices:
    return sw.Prices.from_values(
        start, [0.2 + 0.01 * (n % 7) for n in range(hours)], currency="EUR"
    )


# --------------------------------------------------------------------- tariffs

rates = st.lists(st.tuples(st.sampled_from("ab"), texts | st.decimals().map(str)), max_size=3)
intervals = st.lists(
    st.builds(
        tariffs.TariffInterval,
        st.sampled_from("ab"),
        st.none() | st.lists(st.integers(-1, 7) | st.integers(), max_size=3),
        clocks,
        clocks,
    ),
    max_size=3,
)


@given(rates, intervals, st.sampled_from(ZONES), instants, instants)
def test_tariffs_are_resolved_or_refused(
    given_rates: Any, given_intervals: Any, zone: str, start: datetime, end: datetime
) -> None:
    named = [tariffs.Rate(*rate) for rate in given_rates]
    or_refused(lambda: tariffs.check_rates(named))
    or_refused(lambda: tariffs.check_intervals(given_intervals))
    tariff = tariffs.Tariff(named, given_intervals, "EUR", zone)
    or_refused(lambda: tariffs.tariff_prices(tariff, start=start, end=end))
    or_refused(lambda: tariffs.resolve(start=start, end=end, tariff=tariff, market=market()))
    or_refused(lambda: tariffs.price_at(start, tariff=tariff, market=market()))


@given(
    st.sampled_from(ZONES),
    st.times().map(lambda at: at.replace(second=0, microsecond=0)),
    st.times().map(lambda at: at.replace(second=0, microsecond=0)),
    st.sets(st.integers(0, 6), min_size=1),
    near,
)
def test_the_clock_of_the_location_decides(
    zone: str, start: time, end: time, weekdays: set[int], at: datetime
) -> None:
    """Python's own zoneinfo tells the same wall clock as the engine."""
    interval = tariffs.TariffInterval("a", sorted(weekdays), start, end)
    tariff = tariffs.Tariff([tariffs.Rate("a", Decimal("0.5"))], [interval], "EUR", zone)
    local = at.astimezone(ZoneInfo(zone))
    clock = local.time()
    inside = start <= clock < end if start < end else clock >= start or clock < end
    expected = inside and local.weekday() in weekdays
    found = tariffs.price_at(at, tariff=tariff)
    assert found == (tariffs.ResolvedPrice(0.5, "tariff") if expected else None)
    curve = tariffs.tariff_prices(tariff, start=at - 30 * HOUR, end=at + 30 * HOUR)
    assert curve.price_at(at) == (0.5 if expected else None)


def test_prices_tell_their_source() -> None:
    night = tariffs.Tariff(
        [tariffs.Rate("night", Decimal("0.1"))],
        [tariffs.TariffInterval("night", end=time(1))],
        "EUR",
    )
    signal = signals.PriceSignal("EUR", START + HOUR / 2, [signals.SignalValue(START, -0.3)])
    resolved = tariffs.resolve(
        start=START,
        end=START + 3 * HOUR,
        tariff=night,
        market=market(2),
        price_signal=signals.replace(None, signal),
    )
    assert [(s.price_per_kwh, s.source) for s in resolved.slots] == [
        (-0.3, "price_signal"),
        (0.1, "tariff"),
        (pytest.approx(0.21), "market"),
    ]
    assert resolved.prices.currency == "EUR"
    plan = sw.plan_charge(resolved.prices, now=START, power_max_kw=2, targets=[(None, 2)])
    assert plan.cost == pytest.approx(1 * -0.3 + 1 * 0.1)


def test_other_money_is_refused() -> None:
    tariff = tariffs.Tariff([], [], "NOK")
    with pytest.raises(sw.InputError, match="NOK and in EUR"):
        tariffs.price_at(START, tariff=tariff, market=market())
    with pytest.raises(sw.InputError, match="give a tariff"):
        tariffs.resolve(start=START, end=START + HOUR)
    with pytest.raises(sw.InputError, match="no IANA time zone"):
        tariffs.price_at(START, tariff=tariff._replace(time_zone="Oslo"))


def test_wrong_types_are_type_errors() -> None:
    with pytest.raises(TypeError):
        tariffs.check_rates([tariffs.Rate("a", 0.1)])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"datetime\.time"):
        tariffs.check_intervals([tariffs.TariffInterval("a", start=7)])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no time zone"):
        tariffs.price_at(datetime(2026, 1, 1), market=market())  # noqa: DTZ001
    with pytest.raises(TypeError, match="timedelta"):
        policies.plan_charger(
            market(),
            policies.ChargerPolicy(charging_duration=2),  # type: ignore[arg-type]
            now=START,
            by=None,
        )


# --------------------------------------------------------------------- signals

values = st.lists(st.builds(signals.SignalValue, near, numbers), max_size=4)
any_signal = st.builds(
    signals.PriceSignal, st.sampled_from(["EUR", "NOK", "EURO", ""]), near | instants, values
)


@given(st.lists(any_signal, max_size=3), st.none() | st.tuples(texts, st.booleans()))
def test_signals_replace_or_are_refused(given_signals: Any, zone: Any) -> None:
    prices = None
    for signal in given_signals:
        or_refused(lambda s=signal: signals.check(s, zone=zone and signals.Zone(*zone)))
        after = or_refused(lambda s=signal, p=prices: signals.replace(p, s))
        if after is not None:
            assert after == signals.replace(after, signal)
            for value, following in pairwise([*signal.values, None]):
                assert after.price_at(value.at) == value.price_per_kwh
                assert following is None or value.at < following.at
            prices = after


# ------------------------------------------------------------------------ flex

names = st.sampled_from(["monday", "tuesday", "saturday", "sunday", "Monday"])
schedules = st.dictionaries(names, st.builds(flex.Day, clocks, st.none() | numbers), max_size=3)
any_policy = st.builds(flex.FlexPolicy, numbers, schedules, st.just(100) | numbers)
maybe_percent = st.none() | st.integers(0, 100) | numbers
any_facts = st.builds(
    flex.VehicleFacts,
    st.sampled_from(["home", ""]),
    st.none() | st.sampled_from(["home", "work"]),
    st.none() | st.booleans(),
    maybe_percent,
    maybe_percent,
)


@given(
    any_policy,
    any_facts,
    schedules,
    st.none() | numbers,
    st.none() | st.just(50),
    near,
    st.sampled_from(ZONES),
)
def test_flex_policies_are_followed_or_refused(
    policy: flex.FlexPolicy,
    facts: flex.VehicleFacts,
    days: Any,
    reserve: Any,
    fixed: Any,
    now: datetime,
    zone: str,
) -> None:
    or_refused(lambda: flex.check(policy, fixed_reserve_percent=fixed))
    merged = or_refused(
        lambda: flex.patch(
            policy, reserve_percent=reserve, schedule=days, fixed_reserve_percent=fixed
        )
    )
    if merged is not None:
        flex.check(merged, fixed_reserve_percent=fixed)
        policy = merged
    or_refused(lambda: flex.state(policy.reserve_percent, facts))
    or_refused(lambda: flex.observe(policy, facts))
    following = or_refused(lambda: flex.next_deadline(policy, time_zone=zone, now=now))
    until = now + 200 * HOUR
    found = or_refused(lambda: flex.deadlines(policy, time_zone=zone, now=now, until=until))
    if found:
        assert following == found[0]
        assert all(now < deadline.at <= until for deadline in found)
    intent = or_refused(lambda: flex.intent(policy, facts, time_zone=zone, now=now, until=until))
    planned = or_refused(
        lambda: flex.plan(
            market(300, now),
            policy,
            facts,
            time_zone=zone,
            now=now,
            power_max_kw=7,
            capacity_kwh=50,
        )
    )
    if planned is not None and intent is not None:
        assert planned.intent.state == intent.state
        assert planned.plan.shortfall_kwh >= 0


def test_every_deadline_of_the_week_is_a_constraint() -> None:
    """A target that is met already does not hide the ones behind it."""
    policy = flex.FlexPolicy(10, {"sunday": flex.Day("06:00", 50), "monday": flex.Day("06:00", 80)})
    facts = flex.VehicleFacts("home", "home", is_plugged_in=True, soc_percent=55)
    plan, intent = flex.plan(market(), policy, facts, now=START, power_max_kw=10, capacity_kwh=40)
    assert intent.next_deadline is not None
    assert (intent.next_deadline.weekday, intent.is_next_met) == (6, True)
    assert [target.wanted_kwh for target in plan.targets] == pytest.approx([0, 10])
    assert plan.shortfall_kwh == 0


def test_states_without_a_printed_name_show_none() -> None:
    shown = {
        flex.state(20, flex.VehicleFacts("home", at, plugged, soc)).public_name
        for at in ("home", "work", None)
        for plugged in (True, False, None)
        for soc in (None, 5, 20, 95)
    }
    assert shown == {None, "UNAVAILABLE", "SCHEDULE:BATTERY_RESERVE"}


# -------------------------------------------------------------------- policies

lengths = st.none() | texts | st.timedeltas() | st.integers(0, 1439).map(lambda m: m * HOUR / 60)


@given(
    st.builds(policies.VehiclePolicy, st.booleans(), clocks, numbers),
    st.builds(policies.ChargerPolicy, st.booleans(), clocks, lengths),
    st.builds(policies.ChargerFacts, *[st.none() | st.booleans()] * 3),
    near,
    st.none() | near,
    maybe_percent,
    st.timedeltas(),
)
def test_policies_are_followed_or_refused(
    vehicle: Any, charger: Any, facts: Any, now: datetime, by: Any, limit: Any, charged: timedelta
) -> None:
    or_refused(lambda: policies.check_vehicle(vehicle, charge_limit_percent=limit))
    or_refused(lambda: policies.vehicle_deadline(vehicle, now=now))
    or_refused(lambda: policies.charger_deadline(charger, now=now))
    battery = sw.Battery(60, 30, charge_limit_percent=80)
    or_refused(
        lambda: policies.plan_vehicle(
            market(), vehicle, now=now, by=by, power_max_kw=7, battery=battery
        )
    )
    plan = or_refused(
        lambda: policies.plan_charger(market(), charger, now=now, by=by, charged=charged)
    )
    status = or_refused(
        lambda: policies.charger_status(market(), charger, facts, now=now, by=by, charged=charged)
    )
    assert (plan is None) == (status is None)
    if status is not None:
        state = policies.charger_state(
            market(), facts, is_enabled=charger.is_enabled, now=now, by=by
        )
        assert status.state == state
        is_in_force = state in ("CHARGING", "CHARGING_PAUSED")
        assert is_in_force or not status.intervals


def test_decisions_are_plain_values() -> None:
    """What goes in and comes out is JSON without any help, times aside."""
    policy = flex.FlexPolicy(10, {"monday": flex.Day("07:00", 80)})
    merged = flex.patch(policy, reserve_percent=12)
    again = json.loads(json.dumps(merged))
    assert again == [12.0, {"monday": ["07:00", 80.0]}, 100.0]
