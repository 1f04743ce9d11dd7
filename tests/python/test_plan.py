"""Plans of one vehicle through the public API."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slackwater as sw

from fleets import NOON, day_ahead

HOUR = timedelta(hours=1)


def test_a_plan_tells_all_about_itself() -> None:
    """Figures, targets, slots, proof and text."""
    prices = sw.Prices.from_values(NOON, [0.30, 0.10, 0.20], currency="EUR")
    by = NOON + 3 * HOUR
    plan = sw.plan_charge(prices, now=NOON, power_max_kw=7, targets=[sw.Target(by, 10)])
    assert plan.cost == pytest.approx(1.3)
    assert plan.baseline_cost == pytest.approx(7 * 0.3 + 3 * 0.1)
    assert plan.savings == pytest.approx(plan.baseline_cost - plan.cost)
    assert [slot.energy_kwh for slot in plan.slots] == pytest.approx([0, 7, 3])
    assert plan.marginal_price_per_kwh == 0.2
    [target] = plan.targets
    assert (target.by, target.wanted_kwh, target.shortfall_kwh) == (by, 10.0, 0.0)
    assert target.reached_at == plan.intervals[-1].end
    assert plan.certificate.is_proved
    assert plan.certificate.requirements[0].marginal_price_per_kwh == 0.2
    assert plan.now == NOON
    assert plan.energy_kwh_by(NOON + 2 * HOUR) == pytest.approx(7)
    assert plan.soc_percent_by(by) is None
    assert plan.currency == "EUR"
    assert plan.prices is prices
    assert "proved optimal" in repr(plan)
    assert "proved optimal" in plan._repr_html_()
    assert pa.table(plan).column_names[-1] == "energy_kwh"
    assert plan == sw.plan_charge(prices, now=NOON, power_max_kw=7, targets=[(by, 10)])
    assert repr(plan.intervals[0]).startswith("Interval(start=datetime.datetime(2026, 1, 5, 13")


def test_results_cannot_be_changed() -> None:
    """A plan and its parts are frozen."""
    plan = sw.plan_charge(day_ahead(), now=NOON, power_max_kw=11, targets=[(None, 10)])
    with pytest.raises(AttributeError):
        plan.cost = 0.0  # type: ignore[misc]
    with pytest.raises(AttributeError):
        plan.intervals[0].power_kw = 3.0  # type: ignore[misc]
    with pytest.raises(TypeError, match="from_slots"):
        sw.Prices()


def test_an_unmet_wish_is_a_value() -> None:
    """What is missing is said, per target, and charging goes on."""
    prices = sw.Prices.from_values(NOON, [0.3, 0.1, 0.2], currency="EUR")
    wish = [sw.Target(NOON + HOUR, 15), sw.Target(NOON + 3 * HOUR, 20)]
    plan = sw.plan_charge(prices, now=NOON, power_max_kw=10, targets=wish)
    assert plan.shortfall_kwh == pytest.approx(5)
    assert [target.shortfall_kwh for target in plan.targets] == pytest.approx([5, 0])
    assert plan.targets[0].reached_at == NOON + HOUR * 1.5
    assert plan.explain()[0].code == "missed_deadline"
    stop = sw.plan_charge(
        prices, now=NOON, power_max_kw=10, targets=wish[:1], after_deadline="stop"
    )
    assert stop.energy_kwh == pytest.approx(10)


def test_a_gap_in_the_prices_is_counted_and_never_used() -> None:
    """Two hours without a price before the deadline."""
    slots = [(NOON, NOON + HOUR, 0.5), (NOON + 3 * HOUR, NOON + 4 * HOUR, 0.1)]
    prices = sw.Prices.from_slots(slots, currency="EUR")
    plan = sw.plan_charge(prices, now=NOON, power_max_kw=10, targets=[(NOON + 4 * HOUR, 25)])
    assert (plan.unpriced_hours, plan.energy_kwh, plan.shortfall_kwh) == (2.0, 20.0, 5.0)
    assert ", 2 h without a price, " in repr(plan)
    assert ", 2 h without a price" in plan._repr_html_().partition("</strong>")[0]


def test_prices_that_end_before_the_deadline_are_told() -> None:
    prices = sw.Prices.from_values(NOON, [0.3, 0.1], currency="EUR")
    plan = sw.plan_charge(prices, now=NOON, power_max_kw=10, targets=[(NOON + 38 * HOUR, 5)])
    assert repr(plan).endswith(", 36 h without a price, proved optimal)")


def test_an_unknown_state_of_charge_is_never_zero() -> None:
    """It is refused, or the fallback is taken and said."""
    battery = sw.Battery(capacity_kwh=60, soc_percent=None)
    wish = {"now": NOON, "power_max_kw": 11.0, "targets": [sw.SocTarget(None, 80)]}
    with pytest.raises(sw.InputError, match="soc_fallback_percent"):
        sw.plan_vehicle(day_ahead(), battery=battery, **wish)  # type: ignore[arg-type]
    assumed = battery._replace(soc_fallback_percent=50)
    plan = sw.plan_vehicle(day_ahead(), battery=assumed, **wish)  # type: ignore[arg-type]
    assert plan.soc_is_assumed
    assert plan.targets[0].wanted_kwh == pytest.approx(18)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"power_max_kw": float("nan")}, "power_max_kw: NaN kW is not a finite number"),
        ({"power_max_kw": -1}, "power_max_kw is -1 kW"),
        ({"power_max_kw": 1e8}, "power_max_kw: 1e8 kW is beyond 1e7"),
        ({"targets": [(None, float("inf"))]}, r"targets\[0\].energy_kwh: inf kWh"),
        ({"targets": [(None, 1), (None, -2)]}, r"targets\[1\].energy_kwh is -2 kWh"),
        ({"reserve_kwh": -1}, "reserve_kwh is -1 kWh"),
        ({"energy_max_kwh": 3}, "energy_max_kwh is 3 kWh, less than the 10 kWh"),
        ({"after_deadline": "panic"}, "after_deadline is 'panic'"),
        ({"power_limits": [(NOON, NOON, 3)]}, "power_limits: slot 0 ends at"),
    ],
)
def test_bad_input_names_argument_value_and_unit(
    arguments: dict[str, object], message: str
) -> None:
    """One clear error, no Rust debug text."""
    given = {"now": NOON, "power_max_kw": 11.0, "targets": [(None, 10.0)]} | arguments
    with pytest.raises(sw.InputError, match=message):
        sw.plan_charge(day_ahead(), **given)  # type: ignore[arg-type]


def test_a_naive_time_is_a_type_error() -> None:
    """It says what is missing."""
    with pytest.raises(TypeError, match="2026-01-05 12:00:00 has no time zone"):
        sw.plan_charge(day_ahead(), now=datetime(2026, 1, 5, 12), power_max_kw=11, targets=[])  # noqa: DTZ001
    early = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=10)))
    with pytest.raises(sw.InputError, match="outside the years 10 to 9990"):
        sw.plan_charge(day_ahead(), now=early, power_max_kw=11, targets=[])
    with pytest.raises(TypeError, match="not str"):
        sw.plan_charge(day_ahead(), now="noon", power_max_kw=11, targets=[])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "zone",
    [UTC, timezone(timedelta(hours=5, minutes=45)), ZoneInfo("Europe/Oslo"), ZoneInfo("UTC")],
)
def test_times_of_any_zone(zone: ZoneInfo | timezone) -> None:
    """The same instant is the same plan."""
    by = NOON + 9 * HOUR
    expected = sw.plan_charge(day_ahead(), now=NOON, power_max_kw=11, targets=[(by, 30)])
    here = sw.plan_charge(
        day_ahead(),
        now=NOON.astimezone(zone),
        power_max_kw=11,
        targets=[(by.astimezone(zone), 30)],
    )
    assert here == expected


def test_prices_from_and_to_arrow() -> None:
    """There and back is the same curve; a null is a gap."""
    prices = day_ahead()
    assert sw.Prices.from_arrow(pa.table(prices), currency="EUR") == prices
    assert pa.table(prices).schema.metadata == {b"currency": b"EUR"}
    table = pa.table(prices).slice(0, 3).to_pylist()
    table[1]["price_per_kwh"] = None
    holes = sw.Prices.from_arrow(pa.Table.from_pylist(table), currency="EUR")
    assert len(holes) == 2
    assert holes.gaps == [(table[1]["start"], table[1]["end"])]
    assert "1 gap" in repr(holes)
    with pytest.raises(sw.InputError, match='no column "price"; found: start, end'):
        sw.Prices.from_arrow(pa.table(prices), currency="EUR", price="price")


def test_prices_travel_to_other_processes() -> None:
    """A copy by pickle is the same curve."""
    assert pickle.loads(pickle.dumps(day_ahead())) == day_ahead()  # noqa: S301  our own bytes


def test_fees_and_taxes_make_new_prices() -> None:
    """Fees per kWh, a factor, and another curve."""
    market = sw.Prices.from_values(NOON, [0.10, 0.20], currency="EUR")
    grid = sw.Prices.from_values(NOON + HOUR, [0.05, 0.05], currency="EUR")
    assert [slot[2] for slot in market.plus(0.1).times(2).slots] == pytest.approx([0.4, 0.6])
    both = market.plus(grid, align="overlap")
    assert both.slots == [(NOON + HOUR, NOON + 2 * HOUR, 0.25)]
    with pytest.raises(sw.InputError, match="not over the same time"):
        market.plus(grid)
    with pytest.raises(sw.InputError, match="in EUR/kWh and one in SEK/kWh"):
        market.plus(sw.Prices.from_values(NOON, [1.0], currency="SEK"))
    with pytest.raises(sw.InputError, match="price of slot 0"):
        market.times(float("nan"))
    assert market.price_at(NOON + HOUR) == 0.20
    assert market.price_at(NOON + 2 * HOUR) is None
    assert len(market.between(NOON, NOON + HOUR / 2)) == 1
    with pytest.raises(sw.InputError, match="slot: slot 0 ends at"):
        sw.Prices.from_values(NOON, [1.0], currency="EUR", slot=timedelta(0))


ANY = st.floats(allow_nan=True, allow_infinity=True)
SOME = st.one_of(ANY, st.floats(-1, 200), st.sampled_from([0.0, -0.0, 1e-300, 1e12, 1e13, 5e-324]))
TIMES = st.datetimes(datetime(2026, 1, 4), datetime(2026, 1, 8), timezones=st.just(UTC))  # noqa: DTZ001
WISHES = st.fixed_dictionaries(
    {
        "now": TIMES,
        "power_max_kw": SOME,
        "targets": st.lists(st.tuples(st.none() | TIMES, SOME), max_size=3),
        "reserve_kwh": SOME,
        "energy_max_kwh": st.none() | SOME,
        "until": st.none() | TIMES,
    }
)


@given(prices=st.lists(SOME, max_size=8), wish=WISHES)
def test_anything_gives_a_proved_plan_or_a_clear_error(
    prices: list[float], wish: dict[str, Any]
) -> None:
    """NaN, infinities, empty, huge and tiny: no panic, no nonsense."""
    try:
        plan = sw.plan_charge(sw.Prices.from_values(NOON, prices, currency="EUR"), **wish)
    except sw.InputError as error:
        text = str(error)
    else:
        text = "a plan"
        levels = [energy for _, energy in wish["targets"]]
        wanted = max([wish["reserve_kwh"], wish["energy_max_kwh"] or 0.0, *levels])
        assert plan.energy_kwh <= wanted * (1 + 1e-9) + 1e-6
        assert plan.certificate.gap == pytest.approx(0, abs=1e-9 * max(1, abs(plan.cost)))
        assert len(plan.explain()) >= 0
    assert text
    assert "Error {" not in text


def test_frozen_classes_have_documentation() -> None:
    """Every public name says what it is."""
    for name in sw.__all__:
        if not name.startswith("__"):
            assert getattr(sw, name).__doc__, name
