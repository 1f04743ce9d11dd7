"""Questions to a plan through the public API: stability, estimates, departures, what-ifs."""

from __future__ import annotations

import io
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import slackwater as sw

from fleets import NOON

HOUR = timedelta(hours=1)


def prices(values: list[float], start: datetime = NOON, currency: str = "EUR") -> sw.Prices:
    return sw.Prices.from_values(start, values, currency=currency)


def charge(values: list[float], kwh: float = 10.0, now: datetime = NOON, **wish: Any) -> sw.Plan:
    """A plan at 10 kW by the end of the prices."""
    by = NOON + len(values) * HOUR
    return sw.plan_charge(
        prices(values), now=now, power_max_kw=10, targets=[sw.Target(by, kwh)], **wish
    )


# ------------------------------------------------------------------- stability


def test_a_budget_keeps_a_plan_and_is_carried() -> None:
    before = charge([0.30, 0.10, 0.20])
    cheapest = charge([0.09, 0.10, 0.20])
    assert cheapest.stability is None
    kept = cheapest.close_to(before, budget=0.15)
    assert kept.intervals == before.intervals
    told = kept.stability
    assert told is not None
    assert (told.change_kwh, told.cheapest_change_kwh, told.spent) == (0.0, 20.0, 0.0)
    assert told.extra_cost == pytest.approx(0.10)
    assert told.is_proved
    assert kept.explain()[0].code == "kept"
    assert kept.certificate.gap == pytest.approx(0.10)
    assert repr(kept).endswith("kept for 0.10 EUR more than the cheapest)")
    assert "as planned before" in kept._repr_html_()
    # An hour later the cheap hour has passed: what it would have saved is spent.
    later = charge([0.09, 0.10, 0.20], now=NOON + HOUR).close_to(kept, budget=0.15)
    assert later.stability is not None
    assert later.stability.spent == pytest.approx(0.10)
    assert later.stability.extra_cost == 0
    told_anew = charge([0.09, 0.10, 0.20]).close_to(before, budget=0.15, spent=0.15)
    assert told_anew.intervals != before.intervals


def test_a_plan_that_obeys_the_budget_stays_to_the_last_bit() -> None:
    before = charge([0.30, 0.10, 0.20])
    kept = charge([0.09, 0.10, 0.20]).close_to(before, budget=0.10)
    again = charge([0.09, 0.10, 0.20]).close_to(kept, budget=0.10)
    assert again == kept
    assert charge([0.30, 0.10, 0.20]).close_to(before).slots == before.slots


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": -1}, "budget is -1 units of currency; a budget is 0 or more"),
        ({"budget": float("nan")}, "budget: NaN units of currency is not a finite number"),
        ({"budget": 1, "spent": -2}, "spent is -2 units of currency"),
        ({"budget": 1, "spent": float("inf")}, "spent: inf units of currency"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(arguments: dict[str, Any], message: str) -> None:
    plan = charge([0.3, 0.1])
    with pytest.raises(sw.InputError, match=message):
        plan.close_to(plan, **arguments)


def test_plans_of_two_currencies_are_not_compared() -> None:
    pounds = prices([0.3], currency="GBP")
    plan = sw.plan_charge(pounds, now=NOON, power_max_kw=10, targets=[(None, 3)])
    with pytest.raises(sw.InputError, match="previous is in GBP, the plan in EUR"):
        charge([0.3]).close_to(plan)
    with pytest.raises(sw.InputError, match="after is in GBP, the plan in EUR"):
        charge([0.3]).diff(plan)


def test_plans_of_other_kinds_in_two_currencies_are_not_compared() -> None:
    def storage(currency: str) -> sw.StoragePlan:
        return sw.plan_storage(
            prices([0.3, 0.1], currency=currency),
            now=NOON,
            battery=sw.Battery(capacity_kwh=10, soc_percent=50),
            power_max_kw=4,
            discharge_max_kw=4,
        )

    def area(currency: str) -> sw.AreaPlan:
        car: Any = {"id": [1], "arrival": [NOON], "departure": [NOON + 2 * HOUR]}
        car |= {"energy_kwh": [5.0], "power_max_kw": [5.0]}
        return sw.plan_area(car, prices([0.3, 0.1], currency=currency), limit_kw=10)

    plans: list[tuple[Any, Any]] = [
        (storage("EUR"), storage("GBP")),
        (area("EUR"), area("GBP")),
    ]
    for before, after in plans:
        with pytest.raises(sw.InputError, match="after is in GBP, the plan in EUR"):
            before.diff(after)


def test_a_frontier_before_the_plan_begins_is_refused() -> None:
    plan = charge([0.3, 0.1])
    with pytest.raises(sw.InputError, match=r"^at is .*, before the plan begins at "):
        sw.insurance_frontier(plan, at=NOON - timedelta(seconds=1))
    assert [point.energy_kwh for point in sw.insurance_frontier(plan, at=NOON).points] == [0]


def test_a_difference_has_a_reason() -> None:
    before, after = charge([0.30, 0.10, 0.20]), charge([0.30, 0.10, 0.20], 15.0)
    [change] = before.diff(after, time_zone="Europe/Oslo")
    assert (change.start, change.end) == (NOON + 2 * HOUR, NOON + 2.5 * HOUR)
    assert (change.before_kwh, change.after_kwh, change.code) == (0.0, 5.0, "target_changed")
    assert (change.cost_before, change.cost_after) == (0.0, 1.0)
    assert change.sentence.startswith("Mon 15:00 to Mon 15:30: 5 kWh instead of 0 kWh")
    assert before.diff(before) == []
    with pytest.raises(sw.InputError, match="no IANA time zone"):
        before.diff(after, time_zone="Mars/Base")


# ------------------------------------------------------------------- estimates


def test_known_prices_win_and_estimates_are_counted() -> None:
    known = prices([0.30, 0.20])
    layered = known.with_estimates(prices([0.01, 0.01, 0.10]), source="last week")
    assert [slot[2:] for slot in layered.provenance] == [
        (0.30, "prices", False),
        (0.20, "prices", False),
        (0.10, "last week", True),
    ]
    plan = sw.plan_charge(
        layered, now=NOON, power_max_kw=10, targets=[sw.Target(NOON + 3 * HOUR, 15)]
    )
    assert [share.energy_kwh for share in plan.sources] == [5.0, 10.0]
    assert [share.is_estimate for share in plan.sources] == [False, True]
    assert (plan.energy_on_estimates_kwh, plan.cost_on_estimates) == (10.0, 1.0)
    # All of the cheap known hour is wanted if the guess is wrong, and half of the first.
    assert plan.decide_by == NOON + HOUR / 2
    assert plan.awaiting_prices
    capped = known.with_estimates(prices([1.0, 1.0, 0.10], NOON), ceiling_per_kwh=1.0)
    assert capped.price_at(NOON + 2.5 * HOUR) == 0.10


def test_estimates_are_told_in_line_headline_and_picture() -> None:
    guess = prices([0.01, 0.01, 0.10])
    layered = prices([0.30, 0.20]).with_estimates(guess, source="last week")
    wish = [sw.Target(NOON + 3 * HOUR, 15)]
    plan = sw.plan_charge(layered, now=NOON, power_max_kw=10, targets=wish)
    assert repr(plan).endswith(", 10 kWh on estimates (last week), optimal for these estimates)")
    drawing = plan._repr_html_()
    assert ", 10 kWh on estimates (last week)" in drawing.partition("</strong>")[0]
    assert "proved optimal" not in drawing
    axes = plan.plot().axes[0]
    assert ", 10 kWh on estimates (last week)" in axes.get_title(loc="left")
    legend = axes.get_legend()
    assert legend is not None
    assert "estimated price" in [text.get_text() for text in legend.get_texts()]


def test_a_plan_on_known_prices_speaks_of_no_estimates() -> None:
    layered = prices([0.10, 0.20]).with_estimates(prices([0.9, 0.9, 0.9]), source="last week")
    plan = sw.plan_charge(layered, now=NOON, power_max_kw=10, targets=[(NOON + 3 * HOUR, 5)])
    assert "estimates" not in repr(plan)
    assert repr(plan).endswith("proved optimal)")


def test_fees_and_copies_keep_the_sources() -> None:
    layered = sw.Prices.from_layers(
        {"tariff": prices([0.5]), "market": prices([0.3, 0.2])},
        {"yesterday": prices([0.1, 0.1, 0.1])},
        ceilings_per_kwh={"yesterday": 0.4},
    )
    names = ["tariff", "market", "yesterday"]
    fee = prices([0.01, 0.01, 0.01])
    for changed in (layered.plus(0.1), layered.times(1.25), layered.plus(fee)):
        assert [slot[3] for slot in changed.provenance] == names
    assert [slot[3] for slot in layered.between(NOON + HOUR, NOON + 9 * HOUR).provenance] == [
        "market",
        "yesterday",
    ]
    assert pickle.loads(pickle.dumps(layered)) == layered  # noqa: S301  our own
    assert layered != prices([0.5, 0.2, 0.1])


def test_layers_that_make_no_sense_are_refused() -> None:
    known, pounds = prices([0.3]), prices([0.3], currency="GBP")
    with pytest.raises(sw.InputError, match="prices of estimate are in GBP, the others in EUR"):
        known.with_estimates(pounds)
    with pytest.raises(sw.InputError, match=r"above its ceiling_per_kwh of 0\.1"):
        known.with_estimates(known, ceiling_per_kwh=0.1)
    with pytest.raises(sw.InputError, match="NaN per kWh"):
        known.with_estimates(known, ceiling_per_kwh=float("nan"))
    with pytest.raises(sw.InputError, match="names no estimate: market"):
        sw.Prices.from_layers({"market": known}, ceilings_per_kwh={"market": 1.0})
    with pytest.raises(sw.InputError, match="known holds no prices"):
        sw.Prices.from_layers({})


def test_without_any_price_the_need_must_still_fit() -> None:
    """The 25-hour day: ten hours at 10 kW before seven in Oslo, by elapsed time."""
    oslo = ZoneInfo("Europe/Oslo")
    evening = datetime(2026, 10, 24, 20, tzinfo=oslo)
    seven = datetime(2026, 10, 25, 7, tzinfo=oslo)
    none = sw.Prices.from_slots([], currency="EUR")
    plan = sw.plan_charge(none, now=evening, power_max_kw=10, targets=[(seven, 100)])
    assert plan.awaiting_prices
    assert plan.decide_by == seven.astimezone(UTC) - 10 * HOUR
    assert plan.decide_by.astimezone(oslo).hour == 22


# ------------------------------------------------------------------ departures


def test_the_state_of_charge_grows_between_corners() -> None:
    battery = sw.Battery(capacity_kwh=50, soc_percent=30)
    plan = sw.plan_vehicle(
        prices([0.3, 0.1]),
        now=NOON,
        power_max_kw=10,
        battery=battery,
        targets=[sw.SocTarget(NOON + 2 * HOUR, 60)],
    )
    points = [(point.at, point.energy_kwh, point.soc_percent) for point in plan.soc_by_time()]
    assert points == [
        (NOON, 0.0, 30.0),
        (NOON + HOUR / 2, 5.0, 40.0),
        (NOON + HOUR, 5.0, 40.0),
        (NOON + 2 * HOUR, 15.0, 60.0),
    ]
    assert [point.soc_percent for point in charge([0.1]).soc_by_time()] == [None, None]


def test_departures_weigh_what_is_missing() -> None:
    plan = charge([0.30, 0.10])
    risk = plan.energy_at_risk([sw.Departure(NOON + HOUR, 1), (NOON + 2 * HOUR, 3)])
    assert (risk.expected_shortfall_kwh, risk.shortfall_max_kwh) == (2.5, 10.0)
    assert (risk.probability_short, risk.wanted_kwh) == (0.25, 10.0)
    assert [outcome.shortfall_kwh for outcome in risk.outcomes] == [10.0, 0.0]
    with pytest.raises(sw.InputError, match="departures is empty"):
        plan.energy_at_risk([])
    with pytest.raises(sw.InputError, match=r"departures\[0\] has the weight NaN"):
        plan.energy_at_risk([(NOON, float("nan"))])
    with pytest.raises(TypeError, match="no time zone"):
        plan.energy_at_risk([(NOON.replace(tzinfo=None), 1)])


def test_a_frontier_is_exact_and_can_be_drawn() -> None:
    frontier = sw.insurance_frontier(charge([0.3, 0.2, 0.1], 15.0), at=NOON + 2 * HOUR)
    corners = [(point.energy_kwh, point.added_cost) for point in frontier.points]
    assert corners == [(5.0, 0.0), (10.0, pytest.approx(0.5)), (15.0, pytest.approx(1.5))]
    assert frontier.added_cost(energy_kwh=0) == 0
    assert frontier.added_cost(energy_kwh=16) is None
    floor = charge([0.3, 0.2, 0.1], 15.0).what_if(floor=[(NOON + 2 * HOUR, 12)])
    assert frontier.added_cost(energy_kwh=12) == pytest.approx(floor.cost_change)
    with pytest.raises(sw.InputError, match="energy_kwh: NaN"):
        frontier.added_cost(energy_kwh=float("nan"))
    with pytest.raises(AttributeError, match="cannot be changed"):
        frontier.at = NOON  # type: ignore[misc]
    assert repr(frontier) == (
        "InsuranceFrontier(5 to 15 kWh by 2026-01-05 14:00Z for 0 to 1.5000 EUR)"
    )
    picture = io.BytesIO()
    figure = frontier.plot(time_zone="Europe/Oslo")
    figure.savefig(picture, format="png")
    assert figure.axes[0].get_title(loc="left") == (
        "To be ready by Mon 5 Jan 2026 15:00, time in Europe/Oslo"
    )
    assert picture.getvalue().startswith(b"\x89PNG")


# -------------------------------------------------------------------- what ifs


def test_what_a_wish_costs_is_an_exact_difference() -> None:
    plan = charge([0.3, 0.2, 0.1], 15.0, reserve_kwh=5)
    costs = plan.wish_costs(time_zone="Europe/Oslo")
    assert [answer.sentence for answer in costs] == [
        "Without the reserve, the plan would cost 0.50 EUR less.",
        "With departure Mon 15:00, the plan would cost 1.00 EUR more.",
        "With departure Mon 17:00, the plan would cost the same.",
        "With 1 kWh more, the plan would cost 0.20 EUR more.",
        "Without the deadline Mon 16:00, the plan would cost the same.",
    ]
    without = plan.what_if(no_reserve=True)
    assert without.plan == charge([0.3, 0.2, 0.1], 15.0)
    assert without.cost_change == pytest.approx(without.plan.cost - plan.cost)
    assert plan.what_if(departure=NOON + HOUR).shortfall_change_kwh == pytest.approx(5)
    assert plan.what_if(more_kwh=2).energy_change_kwh == pytest.approx(2)
    assert plan.what_if(without_deadline=NOON + 3 * HOUR).cost_change == 0
    with pytest.raises(sw.InputError, match="no target is due at"):
        plan.what_if(without_deadline=NOON)
    with pytest.raises(sw.InputError, match=r"floor\[0\].energy_kwh: inf"):
        plan.what_if(floor=[(None, float("inf"))])
    with pytest.raises(sw.InputError, match="more_kwh: NaN"):
        plan.what_if(more_kwh=float("nan"))


def test_one_more_percent_is_asked_of_a_battery() -> None:
    battery = sw.Battery(capacity_kwh=50, soc_percent=30, efficiency=0.5)
    plan = sw.plan_vehicle(
        prices([0.3, 0.1, 0.2]),
        now=NOON,
        power_max_kw=10,
        battery=battery,
        targets=[sw.SocTarget(None, 40)],
    )
    [more] = plan.wish_costs()
    assert more.sentence == "With 1 kWh more, the plan would cost 0.20 EUR more."


# ------------------------------------------------------------ anything at all

ANY = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(0, 60),
    st.sampled_from([0.0, -0.0, 1e-300, 1e12, 1e13, 5e-324, 1e7]),
)
TIMES = st.datetimes(datetime(2026, 1, 4), datetime(2026, 1, 8), timezones=st.just(UTC))  # noqa: DTZ001
FAR = (
    TIMES | st.just(datetime(9999, 12, 31, 23, tzinfo=UTC)) | st.just(datetime(1, 1, 1, tzinfo=UTC))
)
CURVES = st.lists(ANY, max_size=6)
WISHES = st.fixed_dictionaries(
    {
        "now": TIMES,
        "power_max_kw": ANY,
        "targets": st.lists(st.tuples(st.none() | FAR, ANY), max_size=3),
        "reserve_kwh": st.just(0.0) | ANY,
        "energy_max_kwh": st.none() | ANY,
        "until": st.none() | FAR,
    }
)


def answers(plan: sw.Plan, other: sw.Plan, at: datetime, number: float) -> list[Any]:
    """Ask everything, of any plan."""
    asked: list[Any] = [
        lambda: plan.close_to(other, budget=number),
        lambda: plan.close_to(other, budget=1.0, spent=number),
        lambda: plan.diff(other),
        lambda: plan.energy_at_risk([(at, number), (at, 1.0)]),
        lambda: plan.energy_at_risk([(at, 1.0)], wanted_kwh=number),
        lambda: sw.insurance_frontier(plan, at=at).added_cost(energy_kwh=number),
        lambda: plan.what_if(departure=at, more_kwh=number, no_reserve=True),
        lambda: plan.what_if(floor=[(at, number), (None, 1.0)]),
        lambda: plan.what_if(without_deadline=at),
        plan.wish_costs,
        plan.soc_by_time,
        lambda: (plan.sources, plan.decide_by, plan.awaiting_prices),
    ]
    results = []
    for ask in asked:
        try:
            results.append(ask())
        except sw.InputError as error:
            results.append(str(error))
    return results


@given(
    old=CURVES,
    new=CURVES,
    wishes=st.tuples(WISHES, WISHES),
    at=FAR,
    number=ANY,
    ceiling=st.none() | ANY,
)
def test_anything_is_answered_or_refused(
    old: list[float],
    new: list[float],
    wishes: tuple[dict[str, Any], dict[str, Any]],
    at: datetime,
    number: float,
    ceiling: float | None,
) -> None:
    """NaN, infinities, empty, huge and tiny: no panic, no nonsense."""
    try:
        known = prices(old)
        curve = known.with_estimates(prices(new), ceiling_per_kwh=ceiling)
        plan = sw.plan_charge(curve, **wishes[0])
        other = sw.plan_charge(known, **wishes[1])
    except sw.InputError:
        return
    for answer in answers(plan, other, at, number):
        if isinstance(answer, str):
            assert answer
            assert "Error {" not in answer
        if isinstance(answer, sw.Plan) and answer.stability is not None:
            assert answer.stability.change_kwh <= answer.stability.cheapest_change_kwh
            assert answer.energy_kwh == pytest.approx(plan.energy_kwh, rel=1e-6, abs=1e-6)
    assert plan.energy_on_estimates_kwh <= plan.energy_kwh * (1 + 1e-9) + 1e-9
