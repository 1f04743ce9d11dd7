"""Policies under uncertain prices: against brute force, against plans, and wrong inputs."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

import slackwater as sw

from saved_plans import pickled

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
LEVELS = np.array([[0.30, 0.20, 0.45, 0.15], [0.36, 0.10, 0.60, 0.30], [0.12, 0.40, 0.20, 0.80]])
MATRIX = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
FIRST = np.array([0.5, 0.25, 0.25])
LEAVING = [0.1, 0.2, 0.0, 0.7]
WANTED, POWER, MISSING = 9, 3, 0.5


def curve(values: Sequence[float], start: datetime = SIX) -> sw.Prices:
    return sw.Prices.from_values(start, list(values), currency="EUR")


def chain(**changes: Any) -> sw.MarkovPrices:
    given: dict[str, Any] = {
        "states": [curve(row) for row in LEVELS],
        "transitions": MATRIX,
        "first": FIRST,
    }
    return sw.MarkovPrices(**given | changes)


def tree() -> sw.PriceTree:
    """Certain for an hour; then windy or calm, and if calm it may become worse."""
    windy = curve([0.10, 0.05], SIX + HOUR)
    calm = curve([0.40], SIX + HOUR)
    worse, better = curve([0.90], SIX + 2 * HOUR), curve([0.30], SIX + 2 * HOUR)
    later = sw.PriceTree(calm, then=[(0.5, worse), (0.5, better)])
    return sw.PriceTree(curve([0.20]), then=[(0.6, windy), (0.4, later)])


def policy(prices: Any = None, **changes: Any) -> sw.ChargePolicy:
    given: dict[str, Any] = {
        "now": SIX,
        "power_max_kw": POWER,
        "energy_kwh": WANTED,
        "shortfall_price_per_kwh": MISSING,
    }
    return sw.plan_policy(tree() if prices is None else prices, **given | changes)


def test_the_line_of_a_policy_tells_what_is_expected_to_be_missing() -> None:
    idle = policy(shortfall_price_per_kwh=0)
    assert idle.expected_shortfall_kwh == WANTED
    assert f", {WANTED} kWh short expected, " in repr(idle)
    assert "short" not in repr(policy(shortfall_price_per_kwh=1000))


def departures() -> list[tuple[datetime, float]]:
    return [(SIX + (slot + 1) * HOUR, share) for slot, share in enumerate(LEAVING)]


def brute_force() -> np.ndarray[Any, Any]:
    """Expected cost by slot, state and whole kWh wanted, by trying each whole energy."""
    slots, energies = LEVELS.shape[1], np.arange(WANTED + 1)
    value = np.zeros((slots + 1, len(LEVELS), WANTED + 1))
    stays = 1 - np.cumsum([0.0, *LEAVING])
    for slot in reversed(range(slots)):
        leaves = LEAVING[slot] / stays[slot] if slot + 1 < slots else 1.0
        after = leaves * MISSING * energies + (1 - leaves) * MATRIX @ value[slot + 1]
        for state in range(len(LEVELS)):
            for wanted in range(WANTED + 1):
                charged = np.arange(min(wanted, POWER) + 1)
                costs = LEVELS[state, slot] * charged + after[state, wanted - charged]
                value[slot, state, wanted] = costs.min()
    return value


def test_it_costs_what_trying_everything_finds() -> None:
    made, value = policy(chain(), departures=departures()), brute_force()
    assert made.expected_cost == pytest.approx(FIRST @ value[0, :, WANTED], abs=1e-12)
    for slot in range(LEVELS.shape[1]):
        for state in range(len(LEVELS)):
            for wanted in range(WANTED + 1):
                found = made.decide(at=SIX + slot * HOUR, wanted_kwh=wanted, state=state)
                assert found.expected_cost == pytest.approx(value[slot, state, wanted], abs=1e-12)
                assert found.energy_kwh + found.left_kwh == pytest.approx(wanted)
    assert made.certificate.is_proved
    assert made.certificate.bound == pytest.approx(made.expected_cost)


def test_following_its_decisions_costs_what_it_states() -> None:
    """A hundred thousand evenings by NumPy, within four standard errors of the mean."""
    made, random = policy(chain(), departures=departures()), np.random.default_rng(7)
    count = 100_000
    wanted, cost = np.full(count, float(WANTED)), np.zeros(count)
    left_at = random.choice(len(LEAVING), p=LEAVING, size=count)
    state = random.choice(len(FIRST), p=FIRST, size=count)
    rules = {(slot.start, slot.state): slot for slot in made.slots}
    for slot in range(LEVELS.shape[1]):
        keep = np.array([rules[SIX + slot * HOUR, each].left_kwh for each in range(len(FIRST))])
        charged = np.clip(wanted - keep[state], 0, POWER) * (left_at >= slot)
        cost += charged * LEVELS[state, slot]
        wanted -= charged
        draw = random.random(count)[:, None]
        state = (draw > MATRIX.cumsum(axis=1)[state]).sum(axis=1).clip(max=len(FIRST) - 1)
    cost += MISSING * wanted
    error = cost.std() / np.sqrt(count)
    assert abs(cost.mean() - made.expected_cost) < 4 * error
    assert abs(wanted.mean() - made.expected_shortfall_kwh) < 4 * wanted.std() / np.sqrt(count)


def test_with_certain_prices_it_is_the_cheapest_plan() -> None:
    prices = curve([0.30, 0.10, 0.20, 0.25])
    limits = [(SIX + HOUR, SIX + 1.5 * HOUR, 1.0)]
    leaves = SIX + 3.5 * HOUR
    plan = sw.plan_charge(
        prices, now=SIX, power_max_kw=7, targets=[(leaves, 12)], until=leaves, power_limits=limits
    )
    same: dict[str, Any] = {"power_max_kw": 7, "energy_kwh": 12, "shortfall_price_per_kwh": 5}
    one_state = sw.MarkovPrices(states=[prices], transitions=[[1]], first=[1])
    for each in (prices, sw.PriceTree(prices), one_state):
        made = sw.plan_policy(each, now=SIX, departures=[(leaves, 3)], power_limits=limits, **same)
        assert made.expected_cost == pytest.approx(plan.cost)
        assert made.expected_shortfall_kwh == pytest.approx(plan.shortfall_kwh, abs=1e-12)
        wanted = 12.0
        for slot in made.slots:
            decision = made.decide(at=slot.start, wanted_kwh=wanted)
            bought = plan.energy_kwh_by(slot.end) - plan.energy_kwh_by(slot.start)
            assert decision.energy_kwh == pytest.approx(bought, abs=1e-6)
            wanted = decision.left_kwh
        assert wanted == pytest.approx(0, abs=1e-12)


def outcomes(made: sw.ChargePolicy) -> Iterator[tuple[float, float]]:
    """Probability and cost of each way through the tree, by its decisions."""
    ways = [(0.6, [0, 0, 0]), (0.2, [0, 1, 1]), (0.2, [0, 1, 2])]
    for probability, states in ways:
        wanted, cost = float(WANTED), 0.0
        for slot, state in enumerate(states):
            found = made.decide(at=SIX + slot * HOUR, wanted_kwh=wanted, state=state)
            cost, wanted = cost + found.energy_kwh * found.price_per_kwh, found.left_kwh
        yield probability, cost + MISSING * wanted


def test_branches_are_known_when_they_begin() -> None:
    made = policy()
    found = sorted(outcomes(made), key=lambda outcome: outcome[1])
    assert sum(share * cost for share, cost in found) == pytest.approx(made.expected_cost)
    assert made.conditional_value_at_risk(level=0.0) == pytest.approx(made.expected_cost)
    assert made.conditional_value_at_risk(level=0.8) == pytest.approx(found[-1][1])
    tail = (0.2 * found[-1][1] + 0.1 * found[-2][1]) / 0.3
    assert made.conditional_value_at_risk(level=0.7) == pytest.approx(tail)
    # Not to anticipate: both branches of the second hour share what the first has left.
    assert [(slot.state, slot.probability) for slot in made.slots] == [
        (0, 1.0),
        (0, 0.6),
        (1, 0.4),
        (0, 0.6),
        (1, 0.2),
        (2, 0.2),
    ]


def test_a_bid_curve_buys_what_is_decided() -> None:
    made = policy(chain(), departures=departures())
    for slot in range(LEVELS.shape[1]):
        for state in range(len(LEVELS)):
            place: dict[str, Any] = {"at": SIX + slot * HOUR, "wanted_kwh": 7.5, "state": state}
            bids, found = made.bid_curve(**place), made.decide(**place)
            bought = [each.energy_kwh for each in bids if each.price_per_kwh >= found.price_per_kwh]
            assert found.energy_kwh == pytest.approx(max(bought, default=0))
            prices = [each.price_per_kwh for each in bids]
            assert prices == sorted(prices, reverse=True)
    table = pl.DataFrame(made.bid_curve(at=SIX, wanted_kwh=9, state=0))
    assert table.columns == ["price_per_kwh", "energy_kwh"]


def test_within_a_slot_it_decides_for_the_rest() -> None:
    made = policy(power_max_kw=4, energy_kwh=7)
    whole = made.decide(at=SIX, wanted_kwh=7)
    assert (whole.energy_kwh, whole.power_kw, whole.end) == (3, 3, SIX + HOUR)
    rest = made.decide(at=SIX + 0.5 * HOUR, wanted_kwh=7)
    assert (rest.energy_kwh, rest.power_kw) == (2, 4)


def test_the_night_in_which_clocks_go_back_has_an_hour_more() -> None:
    """Midnight to four has five hours in Oslo, and one of them is told by its zone."""
    oslo = ZoneInfo("Europe/Oslo")
    midnight, four = (datetime(2026, 10, 25, hour, tzinfo=oslo) for hour in (0, 4))
    start = midnight.astimezone(UTC)
    low, high = curve([0.1] * 5, start), curve([0.3, 0.3, 0.2, 0.4, 0.3], start)
    prices = sw.MarkovPrices(states=[low, high], transitions=[[0.9, 0.1], [0.1, 0.9]], first=[0, 1])
    made = policy(prices, now=midnight, departures=[(four, 1)], energy_kwh=15)
    slots = pl.DataFrame(made)
    assert slots["start"].n_unique() == 5
    assert made.expected_shortfall_kwh == pytest.approx(0)
    sentences = [reason.sentence for reason in made.explain(time_zone="Europe/Oslo")]
    assert any(text.startswith("Sun 02:00 CEST to Sun 02:00 CET ") for text in sentences)
    assert sentences[0].startswith("Sun 00:00 to Sun 01:00 at 0.30 EUR/kWh: ")


def test_reasons_name_the_alternative() -> None:
    sentences = [reason.sentence for reason in policy().explain()]
    assert sentences[0] == (
        "Mon 18:00 to Mon 19:00 at 0.20 EUR/kWh: leaves 3 kWh for later and charges what is wanted "
        "above; one more kWh later is expected to cost 0.22 EUR."
    )
    codes = {reason.code for reason in policy(chain()).explain()}
    assert codes <= {"charge_all", "charge_above", "wait"}


def test_a_policy_is_copied_compared_and_cannot_be_changed() -> None:
    made = policy(chain(), departures=departures())
    for twin in (pickled(made), copy.copy(made), copy.deepcopy(made)):
        assert type(twin) is sw.ChargePolicy
        assert twin == made
        assert hash(twin) == hash(made)
        assert repr(twin) == repr(made)
        assert twin.prices == made.prices
    assert made != policy(chain())
    assert repr(made).startswith("ChargePolicy(9 kWh for ")
    with pytest.raises(AttributeError, match="cannot be changed"):
        made.energy = 1


def test_transitions_may_change_from_slot_to_slot() -> None:
    same = policy(chain(transitions=[MATRIX] * 3))
    assert list(same.slots) == list(policy(chain()).slots)
    stuck = np.eye(3)
    other = policy(chain(transitions=[MATRIX, MATRIX, stuck]))
    assert other.expected_cost != same.expected_cost


def test_plans_may_begin_later_than_prices() -> None:
    """The states of a later slot have the probabilities that follow from the first."""
    made = policy(chain(), now=SIX + HOUR)
    shares = [slot.probability for slot in made.slots][:3]
    assert shares == pytest.approx(list(FIRST @ MATRIX))


def test_bids_are_drawn() -> None:
    figure = policy(chain()).plot(at=SIX, wanted_kwh=9, time_zone="Europe/Oslo")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "Price (EUR/kWh)"
    assert axes.get_title(loc="left") == "Bids of Mon 5 Jan 2026 19:00, time in Europe/Oslo"
    drawn = {line.get_gid() for line in axes.lines}
    assert drawn == {f"{kind}-{state}" for kind in ("bids", "decision") for state in range(3)}


ROWS: list[tuple[str, Any, str]] = [
    ("no state", lambda: chain(states=[]), "states is empty"),
    (
        "a state too few",
        lambda: chain(states=[curve(LEVELS[0])] * 2),
        "first has 3 entries for 2 states",
    ),
    (
        "other slots",
        lambda: chain(states=[curve(LEVELS[0]), curve(LEVELS[1]), curve(LEVELS[2][:3])]),
        r"states\[2\] has no slot where states\[0\] has 2026-01-05 21:00:00 UTC to",
    ),
    (
        "another currency",
        lambda: chain(states=[curve(LEVELS[0]), sw.Prices.from_values(SIX, [1], currency="NOK")]),
        "prices are in EUR and in NOK",
    ),
    ("columns for rows", lambda: chain(transitions=MATRIX.T), "row 0 add up to 0.9"),
    ("a first too short", lambda: chain(first=[1.0]), "first has 1 entries for 3 states"),
    ("percent", lambda: chain(first=[50, 25, 25]), "first hold 50; a probability is 0 to 1"),
    (
        "an early branch",
        lambda: sw.PriceTree(curve([0.2, 0.3]), then=[(1, curve([0.1], SIX + HOUR))]),
        r"then\[0\] starts at 2026-01-05 19:00:00 UTC, before the prices ahead of it end",
    ),
    (
        "half a branch",
        lambda: sw.PriceTree(curve([0.2]), then=[(0.5, curve([0.1], SIX + HOUR))]),
        "probabilities of then add up to 0.5, not to 1",
    ),
    ("prices of the past", lambda: policy(now=SIX + 3 * HOUR), "now is .*; prices end at"),
    (
        "a late departure",
        lambda: policy(departures=[(SIX + 4 * HOUR, 1)]),
        r"departures\[0\] is at 2026-01-05 22:00:00 UTC; .* after .* and by 2026-01-05 21",
    ),
    (
        "a weight below zero",
        lambda: policy(departures=[(SIX + HOUR, -1)]),
        r"departures\[0\] has the weight -1",
    ),
    ("a power below zero", lambda: policy(power_max_kw=-1), "power_max_kw is -1 kW"),
    ("an energy below zero", lambda: policy(energy_kwh=-1), "energy_kwh is -1 kWh"),
    (
        "a reward for missing",
        lambda: policy(shortfall_price_per_kwh=-1),
        "shortfall_price_per_kwh is -1; a missing kWh costs 0 or more",
    ),
    (
        "no state named",
        lambda: policy().decide(at=SIX + HOUR, wanted_kwh=1),
        "state is missing; there are 2 of them at .* with the numbers 0 to 1",
    ),
    (
        "a state too many",
        lambda: policy().decide(at=SIX, wanted_kwh=1, state=1),
        "state is 1; slot 0 has 1 states",
    ),
    (
        "a state below zero",
        lambda: policy().decide(at=SIX, wanted_kwh=1, state=-1),
        "state is -1; states are counted from 0",
    ),
    (
        "a time without a price",
        lambda: policy().bid_curve(at=SIX - HOUR, wanted_kwh=1),
        "at is 2026-01-05 17:00:00 UTC, when the policy has no price",
    ),
    (
        "more than planned",
        lambda: policy().decide(at=SIX, wanted_kwh=10),
        "wanted_kwh is 10 kWh; the policy was made for 0 to 9 kWh",
    ),
    (
        "a level in percent",
        lambda: policy().conditional_value_at_risk(level=95),
        "level is 95; it is 0 or more and below 1",
    ),
    (
        "the risk of a chain",
        lambda: policy(chain()).conditional_value_at_risk(level=0.9),
        "several ways to a state",
    ),
]


@pytest.mark.parametrize(("make", "text"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_wrong_inputs_are_told(make: Any, text: str) -> None:
    with pytest.raises(sw.InputError, match=text):
        make()


def test_wrong_types_are_told() -> None:
    with pytest.raises(TypeError, match="no time zone"):
        policy(now=SIX.replace(tzinfo=None))
    with pytest.raises(TypeError, match="prices"):
        policy([0.1, 0.2])


def test_a_policy_tells_estimates() -> None:
    """In its line, and in the sentences of the slots that rest on them."""
    known = curve([0.20, 0.30]).with_estimates(curve([0.20, 0.30, 0.10]), source="last week")
    found = policy(known, departures=[])
    assert "on estimates (last week)" in repr(found)
    told = ["It rests on estimates (last week)." in each.sentence for each in found.explain()]
    assert told == [False, False, True]
    assert "estimates" not in repr(policy())
