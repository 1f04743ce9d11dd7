"""Areas with scenarios: against one linear programme, the table, the picture, and wrong inputs."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import highspy
import numpy as np
import polars as pl
import pytest

import slackwater as sw

from saved_plans import pickled

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
FIRST = [0.22, 0.25]
LATER = [[0.05, 0.30, 0.10], [0.40, 0.15, 0.60], [0.20, 0.24, 0.28]]
SHARES = [0.5, 0.2, 0.3]
LIMITS = [16.0, 9.0, 30.0]
BASE = 2.0
ENERGY, POWER = [14.0, 22.0, 8.0, 30.0], [7.0, 11.0, 3.0, 11.0]
STAYS = [(0, 5), (0, 4), (1, 5), (0, 5)]
MISSING = 0.7


def fleet(**changes: Any) -> dict[str, Any]:
    return {
        "id": ["van", "bus", "bike", "truck"],
        "arrival": [SIX + first * HOUR for first, _ in STAYS],
        "departure": [SIX + end * HOUR for _, end in STAYS],
        "energy_kwh": ENERGY,
        "power_max_kw": POWER,
    } | changes


def scenario(number: int, **changes: Any) -> sw.AreaScenario:
    # The limit differs once the scenario is known.
    limit = [18.0] * len(FIRST) + [LIMITS[number]] * len(LATER[number])
    given: dict[str, Any] = {
        "probability": SHARES[number],
        "prices": sw.Prices.from_values(SIX, [*FIRST, *LATER[number]], currency="EUR"),
        "limit_kw": limit,
        "base_kw": BASE,
    }
    return sw.AreaScenario(**given | changes)


def scenarios() -> list[sw.AreaScenario]:
    return [scenario(number) for number in range(3)]


def plan(vehicles: Any = None, given: Any = None, **changes: Any) -> sw.AreaScenarioPlan:
    arguments: dict[str, Any] = {
        "known_from": SIX + 2 * HOUR,
        "shortfall_price_per_kwh": MISSING,
    }
    vehicles = fleet() if vehicles is None else vehicles
    given = scenarios() if given is None else given
    return sw.plan_area_scenarios(vehicles, given, **arguments | changes)


def optimum() -> float:
    """Least expected cost: a variable for each vehicle, scenario and slot, in one programme."""
    model: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    model.silent()
    cost: Any = 0
    shared: dict[tuple[int, int], Any] = {}
    for number, share in enumerate(SHARES):
        prices = [*FIRST, *LATER[number]]
        loads: list[Any] = [0] * len(prices)
        for car, (first, end) in enumerate(STAYS):
            taken: Any = 0
            for slot in range(first, end):
                if slot >= len(FIRST):
                    energy = model.addVariable(ub=POWER[car])
                else:
                    found = shared.get((car, slot))
                    energy = model.addVariable(ub=POWER[car]) if found is None else found
                    shared[car, slot] = energy
                loads[slot] += energy
                taken += energy
                cost += share * prices[slot] * energy
            missing = model.addVariable()
            model.addConstr(taken + missing == ENERGY[car])
            cost += share * MISSING * missing
        for slot, load in enumerate(loads):
            limit = 18.0 if slot < len(FIRST) else LIMITS[number]
            model.addConstr(load <= limit - BASE)
    model.minimize(cost)
    return float(model.getInfo().objective_function_value)


def test_it_costs_what_one_programme_finds() -> None:
    best = optimum()
    made = plan(relative_gap=0)
    assert made.expected_cost == pytest.approx(best, abs=1e-6)
    assert made.bound == pytest.approx(best, abs=1e-6)
    assert made.expected_shortfall_kwh > 0
    coarse = plan()
    assert coarse.status == "optimal_within_gap"
    assert coarse.relative_gap <= 5e-3
    assert coarse.bound - 1e-9 <= best <= coarse.expected_cost + 1e-9
    for each in (made, coarse):
        assert each.verify().holds, each.verify().failed


def test_limits_and_needs_hold_in_each_scenario() -> None:
    made = plan()
    assert made.shared_slots == 2
    for number, outcome in enumerate(made.scenarios):
        limits = np.array([18.0, 18.0, *[LIMITS[number]] * 3]) - BASE
        assert (np.array(outcome.load_kw) <= limits + 1e-9).all()
        assert outcome.load_kw[:2] == made.scenarios[0].load_kw[:2]
        assert outcome.probability == SHARES[number]
        prices = np.array([*FIRST, *LATER[number]])
        paid = float(prices @ outcome.load_kw) + MISSING * outcome.shortfall_kwh
        assert outcome.cost == pytest.approx(paid)
    expected = sum(outcome.probability * outcome.cost for outcome in made.scenarios)
    assert made.expected_cost == pytest.approx(expected)
    for energy in made.energies:
        wanted = ENERGY[fleet()["id"].index(energy.id)]
        assert energy.before_kwh + energy.later_kwh + energy.shortfall_kwh == pytest.approx(wanted)


def test_its_table_has_the_power_of_each_vehicle() -> None:
    made = plan()
    table = pl.DataFrame(made)
    assert table.columns == ["id", "scenario", "start", "end", "power_kw"]
    first = table.filter(pl.col("scenario").is_null())
    assert all(start < SIX + 2 * HOUR for start in first["start"])
    hours = (pl.col("end") - pl.col("start")).dt.total_microseconds() / 3.6e9
    sums = table.group_by("id", "scenario").agg((pl.col("power_kw") * hours).sum())
    by_row = {(name, number): kwh for name, number, kwh in sums.iter_rows()}
    for energy in made.energies:
        assert by_row.get((energy.id, None), 0.0) == pytest.approx(energy.before_kwh, abs=1e-5)
        later = by_row.get((energy.id, energy.scenario), 0.0)
        assert later == pytest.approx(energy.later_kwh, abs=1e-5)


def test_scenarios_are_worth_their_value() -> None:
    compared = plan(relative_gap=0).compare()
    assert compared.expected_cost == pytest.approx(optimum(), abs=1e-6)
    assert compared.perfect_information_cost <= compared.expected_cost + 1e-6
    assert compared.mean_price_cost >= compared.expected_cost - 1e-6
    gained = compared.mean_price_cost - compared.expected_cost
    assert compared.value_of_stochastic_solution == pytest.approx(gained)
    known = compared.expected_cost - compared.perfect_information_cost
    assert compared.value_of_perfect_information == pytest.approx(known)
    assert known > 0.01


def test_there_is_a_reason_for_each_vehicle() -> None:
    reasons = plan(relative_gap=0).explain(time_zone="Europe/Oslo")
    assert [reason.id for reason in reasons] == fleet()["id"]
    assert {reason.code for reason in reasons} <= {"before", "split", "wait", "nothing"}
    for reason in reasons:
        assert reason.sentence.endswith(".")
        if reason.code in {"wait", "split"}:
            assert "Mon 21:00" in reason.sentence


def test_needs_in_percent_and_series_of_limits_are_read() -> None:
    percent = {"soc_percent": [20.0] * 4, "target_percent": [80.0] * 4}
    vehicles = fleet() | percent | {"capacity_kwh": [kwh / 0.6 for kwh in ENERGY]}
    del vehicles["energy_kwh"]
    assert plan(vehicles).expected_cost == pytest.approx(plan().expected_cost)
    series = [
        scenario(
            number,
            limit_kw=sw.Series.from_values(SIX, [18.0] * 2 + [LIMITS[number]] * 3, unit="kW"),
            base_kw=sw.Series.from_values(SIX, [BASE] * 5, unit="kW"),
        )
        for number in range(3)
    ]
    assert plan(given=series) == plan()
    base = [scenario(number, base_kw=np.full(5, BASE)) for number in range(3)]
    assert plan(given=base) == plan()


def test_a_row_in_error_is_told_and_the_others_are_planned() -> None:
    made = plan(fleet(power_max_kw=[7.0, None, 3.0, 11.0]))
    assert made.errors == [(1, "power_max_kw is missing")]
    assert made.vehicles == 3
    assert "1 rows in error" in repr(made)
    assert {energy.id for energy in made.energies} == {"van", "bike", "truck"}
    assert made.verify().holds


def test_a_plan_is_copied_compared_and_cannot_be_changed() -> None:
    made = plan()
    for twin in (pickled(made), copy.copy(made), copy.deepcopy(made)):
        assert type(twin) is sw.AreaScenarioPlan
        assert twin == made
        assert hash(twin) == hash(made)
        assert repr(twin) == repr(made)
    assert made != plan(shortfall_price_per_kwh=9)
    assert repr(made).startswith("AreaScenarioPlan(4 vehicles, 3 scenarios, ")
    with pytest.raises(AttributeError, match="an AreaScenarioPlan cannot be changed"):
        made.bound = 1  # type: ignore[misc]
    told = made.to_dict()
    assert told["expected_cost"] == made.expected_cost
    assert told["scenarios"][0]["load_kw"] == made.scenarios[0].load_kw  # type: ignore[index]


def test_powers_and_prices_are_drawn() -> None:
    figure = plan().plot(time_zone="Europe/Oslo")
    labels = [axes.get_ylabel().replace("\n", " ") for axes in figure.axes]
    assert labels == ["Power (kW)", "Price (EUR/kWh)"]
    assert all(len(axes.patches) >= 3 for axes in figure.axes)
    alone = plan(given=[scenario(0, probability=1)], known_from=SIX).plot()
    assert len(alone.axes) == 2


ROWS: list[tuple[str, Any, str]] = [
    ("no scenario", lambda: plan(given=[]), "scenarios is empty; give at least one"),
    (
        "half a chance",
        lambda: plan(given=scenarios()[:2]),
        "probabilities of scenarios add up to 0.7, not to 1",
    ),
    (
        "a chance in percent",
        lambda: plan(given=[scenario(0, probability=50)]),
        "probabilities of scenarios hold 50; a probability is 0 to 1",
    ),
    (
        "an early scenario",
        lambda: plan(known_from=SIX + 3 * HOUR),
        r"scenarios\[1\] has a price of 0.4 at 2026-01-05 20:00:00 UTC, where .* has 0.05;",
    ),
    (
        "other slots",
        lambda: plan(
            given=[
                scenario(0, probability=0.5),
                scenario(1, probability=0.5, prices=scenario(1).prices[: SIX + 4 * HOUR]),
            ]
        ),
        r"scenarios\[1\] has no slot where scenarios\[0\] has 2026-01-05 22:00:00 UTC",
    ),
    (
        "another currency",
        lambda: plan(
            given=[
                scenario(0, probability=0.5),
                scenario(
                    1, probability=0.5, prices=sw.Prices.from_values(SIX, [1], currency="NOK")
                ),
            ]
        ),
        "prices are in EUR and in NOK",
    ),
    (
        "a limit that differs early",
        lambda: plan(
            given=[scenario(0, probability=0.5), scenario(0, probability=0.5, limit_kw=20)]
        ),
        r"limit_kw and base_kw of scenarios\[1\] leave 18 kW at .*, where .* leave 16 kW",
    ),
    (
        "a limit of other slots",
        lambda: plan(given=[scenario(0, probability=1, limit_kw=[1, 2])]),
        r"limit_kw of scenarios\[0\] has 2 slots; the prices have 5",
    ),
    (
        "a limit below zero",
        lambda: plan(given=[scenario(0, probability=1, limit_kw=-1)]),
        r"limit_kw of scenarios\[0\] is -1 kW; a limit is 0 kW or more",
    ),
    ("missing energy that pays", lambda: plan(shortfall_price_per_kwh=-1), "a missing kWh costs 0"),
    ("a gap below zero", lambda: plan(relative_gap=-1), "relative_gap is -1"),
    ("rounds below zero", lambda: plan(rounds_max=-1), "rounds_max is -1 rounds"),
    (
        "a reserve",
        lambda: plan(fleet(reserve_kwh=[1.0, 0, 0, 0])),
        "reserve of row 0 is not planned with scenarios",
    ),
    (
        "targets",
        lambda: plan(
            fleet(targets=[[], [{"by": SIX + HOUR, "energy_kwh": 1.0}], [], []]),
        ),
        "targets of row 1 is not planned with scenarios",
    ),
    (
        "a battery that sells",
        lambda: plan(fleet(discharge_max_kw=[1.0] * 4)),
        "discharge_max_kw",
    ),
]


@pytest.mark.parametrize(("_name", "call", "told"), ROWS, ids=[row[0] for row in ROWS])
def test_a_wrong_input_is_refused_by_name(_name: str, call: Any, told: str) -> None:
    with pytest.raises(sw.InputError, match=told):
        call()


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(TypeError, match="no time zone"):
        plan(known_from=datetime(2026, 1, 5, 20))  # noqa: DTZ001


def test_time_without_a_price_and_estimates_are_told() -> None:
    """In the line, in the dictionary and in the sentences of the vehicles concerned."""
    known = scenarios()
    late = fleet(departure=[SIX + hours * HOUR for hours in (5, 4, 5, 41)])
    found = plan(late, known)
    assert found.unpriced_hours == found.to_dict()["unpriced_hours"] == 36.0
    assert "stays with up to 36 h without a price" in repr(found)
    told = [("36 h of its stay have no price" in each.sentence) for each in found.explain()]
    assert told == [False, False, False, True]
    guessed = [
        scenario(number, prices=each.prices[: SIX + 4 * HOUR].with_estimates(each.prices))
        for number, each in enumerate(known)
    ]
    found = plan(given=guessed)
    assert "on estimates (estimate)" in repr(found)
    told = ["It rests on estimates (estimate)." in each.sentence for each in found.explain()]
    assert told == [True, False, True, True]
    assert "estimates" not in repr(plan())
    assert "without a price" not in repr(plan())
