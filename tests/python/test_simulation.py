"""Simulation in a receding horizon: costs, regret, look-ahead, forecasts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pytest

import slackwater as sw

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def hours(*values: float) -> sw.Prices:
    """Hours from six on."""
    return sw.Prices.from_values(SIX, list(values), currency="EUR")


def table(*, count: int = 1, **changes: object) -> pa.Table:
    """Vans from six to ten that need 10 kWh at 10 kW."""
    columns: dict[str, object] = {
        "id": [f"van-{index}" for index in range(count)],
        "arrival": [SIX] * count,
        "departure": [SIX + 4 * HOUR] * count,
        "energy_kwh": [10.0] * count,
        "power_max_kw": [10.0] * count,
    }
    return pa.table(columns | changes)


def random_world(seed: int) -> tuple[pa.Table, sw.Prices, list[sw.Forecast]]:
    """A week of quarter-hours, forecasts of it, and stays of four homes."""
    random = Random(seed)
    start, quarter = datetime(2026, 3, 27, tzinfo=UTC), timedelta(minutes=15)
    count = 96 * 7
    values = [random.uniform(-0.05, 0.4) for _ in range(count)]
    prices = sw.Prices.from_values(start, values, currency="EUR", slot=quarter)
    forecasts = sw.publish_day_ahead(prices, time_zone="Europe/Berlin")
    for _ in range(5):
        known_at = start + quarter * random.randrange(count)
        guess = [random.uniform(-0.05, 0.4) for _ in range(count)]
        curve = sw.Prices.from_values(start, guess, currency="EUR", slot=quarter)
        forecasts.append(sw.Forecast(curve, known_at=known_at))
    arrivals = [start + random.random() * 5 * DAY for _ in range(20)]
    stays = pa.table(
        {
            "id": list(range(20)),
            "home": [f"home-{index % 4}" for index in range(20)],
            "arrival": arrivals,
            "departure": [arrival + random.random() * 2 * DAY for arrival in arrivals],
            "soc_percent": [random.uniform(0, 50) for _ in range(20)],
            "target_percent": [random.uniform(50, 100) for _ in range(20)],
            "capacity_kwh": [60.0] * 20,
            "efficiency": [random.choice([1.0, 0.9]) for _ in range(20)],
            "power_max_kw": [random.choice([3.7, 11.0]) for _ in range(20)],
            "power_min_kw": [random.choice([None, 1.4]) for _ in range(20)],
            "power_step_kw": [random.choice([None, 0.23]) for _ in range(20)],
            "start_cost": [random.choice([0.0, 0.02]) for _ in range(20)],
        }
    )
    return stays, prices, forecasts


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("budget", [None, 0.5])
def test_everything_adds_up_to_the_last_digit(seed: int, budget: float | None) -> None:
    stays, prices, forecasts = random_world(seed)
    result = sw.simulate(
        sw.Replan(budget=budget), stays, prices, forecasts, horizon=timedelta(hours=30)
    )
    assert sum(result.regret_parts.values()) == result.regret
    assert result.regret == result.cost - result.hindsight_cost
    assert result.regret_parts["policy"] == 0
    per_stay = pl.DataFrame(result.stays)
    parts = [name for name in per_stay.columns if name.startswith("regret_")]
    for row in per_stay.iter_rows(named=True):
        assert sum(row[part] for part in parts) == row["cost"] - row["hindsight_cost"]
        assert row["regret"] == row["cost"] - row["hindsight_cost"]
    per_home = pl.DataFrame(result.homes)
    assert sorted(per_home["home"]) == [f"home-{index}" for index in range(4)]
    assert sum(per_home["cost"]) == sum(per_stay["cost"]) == result.cost
    assert result.steps is not None
    steps = pl.DataFrame(result.steps).group_by("stay").agg(pl.col("cost").sum())
    of_steps = dict(steps.iter_rows())
    for row in per_stay.iter_rows(named=True):
        assert of_steps[row["stay"]] + row["shortfall_cost"] == row["cost"]


def test_perfect_forecasts_leave_no_regret() -> None:
    stays, prices, _ = random_world(7)
    ideal = stays.drop_columns(["efficiency", "power_min_kw", "power_step_kw", "start_cost"])
    forecast = sw.Forecast(prices, known_at=datetime(2026, 1, 1, tzinfo=UTC), is_final=True)
    result = sw.simulate(sw.Replan(), ideal, prices, [forecast])
    assert result.cost == result.hindsight_cost
    assert set(result.regret_parts.values()) == {Decimal(0)}
    assert result.cost < result.baseline_cost


def test_a_policy_that_is_the_planner_costs_what_the_planner_costs() -> None:
    stays, prices, forecasts = random_world(4)

    def plan(view: sw.View) -> sw.Plan:
        return sw.plan_charge(
            view.prices,
            now=view.now,
            until=view.departure,
            power_max_kw=view.power_max_kw,
            targets=[(view.departure, view.missing_kwh)],
        )

    ours = sw.simulate(sw.Replan(), stays, prices, forecasts, regret=False)
    theirs = sw.simulate(plan, stays, prices, forecasts, regret=False)
    assert float(theirs.cost) == pytest.approx(float(ours.cost), abs=1e-6)
    assert theirs.regret_parts == {}


def later_price(view: sw.View) -> object:
    """Ask for a price that is not known."""
    return view.price_at(view.now + 3 * HOUR)


def later_forecast(view: sw.View) -> object:
    """Read a forecast that was smuggled in."""
    prices = sw.Prices.from_values(view.now, [0.1], currency="EUR")
    return view.read(sw.Forecast(prices, known_at=view.now + HOUR))


def beyond_the_past(view: sw.View) -> object:
    """Ask for a price longer ago than the view holds."""
    return view.price_at(view.now - 100 * DAY)


@pytest.mark.parametrize("look", [later_price, later_forecast, beyond_the_past])
def test_looking_ahead_raises(look: Callable[[sw.View], object]) -> None:
    def policy(view: sw.View) -> float:
        look(view)
        return 0.0

    with pytest.raises(sw.LookAheadError):
        sw.simulate(policy, table(), hours(0.2, 0.3, 0.1, 0.2), regret=False)


def test_a_view_holds_only_what_was_known() -> None:
    settled = hours(0.20, 0.30, 0.50, 0.40)
    first = sw.Forecast(hours(0.21, 0.31), known_at=SIX)
    second = sw.Forecast(hours(0.22, 0.32, 0.52, 0.42), known_at=SIX + HOUR)
    seen: list[tuple[datetime, int, int, float]] = []

    def policy(view: sw.View) -> None:
        public = [name for name in dir(view) if not name.startswith("_")]
        for name in public:
            value = getattr(view, name)
            if isinstance(value, sw.Prices) and name == "history":
                assert all(end <= view.now for _, end, _ in value.slots)
        assert all(forecast.known_at <= view.now for forecast in view.forecasts)
        known = view.prices.slots
        seen.append((view.now, len(view.forecasts), len(known), view.price_at(view.now)))

    sw.simulate(policy, table(), settled, [second, first], step=HOUR, regret=False)
    expected = [
        (SIX, 1, 2, 0.20),
        (SIX + HOUR, 2, 3, 0.30),
        (SIX + 2 * HOUR, 2, 2, 0.50),
        (SIX + 3 * HOUR, 2, 1, 0.40),
    ]
    assert seen == expected


def test_a_view_tells_what_it_holds() -> None:
    told = []

    def wait(view: sw.View) -> float:
        told.append(repr(view))
        return 0.0

    sw.simulate(wait, table(), hours(0.1, 0.2, 0.3, 0.1))
    assert told[1] == (
        "View(stay 0 at 2026-01-05 18:15Z, 10 kWh missing, leaves 2026-01-05 22:00Z, up to 10 kW, "
        "prices known to 2026-01-05 19:00Z)"
    )


def test_commands_of_every_form() -> None:
    settled = hours(0.20, 0.30, 0.10, 0.40)

    def cost(command: Callable[[sw.View], sw.simulation.Command]) -> float:
        return float(sw.simulate(command, table(), settled, step=HOUR, regret=False).cost)

    at_once = pytest.approx(2.0)
    assert cost(lambda _: 10.0) == at_once
    assert cost(lambda view: [(view.now, view.until, 99.0)]) == at_once
    assert cost(lambda _: [(SIX, SIX + HOUR, 10.0)]) == at_once
    # Nothing at all is 10 kWh at the highest settled price.
    assert cost(lambda _: None) == pytest.approx(4.0)
    with pytest.raises(TypeError, match="the policy answers 'off'; a power"):
        cost(lambda _: "off")  # type: ignore[arg-type,return-value]  # on purpose
    with pytest.raises(TypeError, match="the policy answers 'off'"):
        cost(lambda _: ["off"])  # type: ignore[list-item]  # on purpose
    with pytest.raises(TypeError, match="the policy answers <object"):
        cost(lambda _: object())  # type: ignore[arg-type,return-value]  # on purpose
    overlap = [(SIX, SIX + 2 * HOUR, 1.0), (SIX + HOUR, SIX + 3 * HOUR, 1.0)]
    with pytest.raises(sw.InputError, match="in time order, without overlap"):
        cost(lambda _: overlap)
    with pytest.raises(sw.InputError, match="power_kw of the policy: NaN kW"):
        cost(lambda _: float("nan"))
    feeding = "the policy answers -3 kW; a power is 0 kW or more"
    with pytest.raises(sw.InputError, match=feeding):
        cost(lambda _: -3.0)
    with pytest.raises(sw.InputError, match=feeding):
        cost(lambda _: [(SIX, SIX + HOUR, 7.0), (SIX + HOUR, SIX + 2 * HOUR, -3.0)])


def test_an_error_of_the_policy_is_raised_as_it_is() -> None:
    def policy(view: sw.View) -> float:
        raise KeyError(view.stay)

    with pytest.raises(KeyError, match="0"):
        sw.simulate(policy, table(), hours(0.2, 0.3, 0.1, 0.2))


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"departure": [SIX + 9 * HOUR]}, {}, "stay 0 is plugged in at 2026-01-05 22:00:00 UTC"),
        ({"departure": [SIX]}, {}, "stay 0: departure"),
        ({"energy_kwh": [-1.0]}, {}, "stay 0: energy_kwh is -1 kWh"),
        ({"power_min_kw": [11.0]}, {}, "stay 0: power_max_kw is 10 kW"),
        ({"reserve_kwh": [1.0]}, {}, '"reserve_kwh" is not something simulate can honour'),
        ({"power_stp_kw": [1.0]}, {}, 'is it "power_step_kw"'),
        ({}, {"step": timedelta(0)}, "step is 0 minutes"),
        ({}, {"horizon": -HOUR}, "horizon is -60 minutes"),
        ({}, {"shortfall_price_per_kwh": float("nan")}, "shortfall_price_per_kwh: NaN"),
    ],
)
def test_wrong_input_is_named(
    changes: dict[str, object], options: dict[str, object], message: str
) -> None:
    with pytest.raises(sw.InputError, match=message):
        sw.simulate(sw.Replan(), table(**changes), hours(0.2, 0.3, 0.1, 0.2), **options)  # type: ignore[arg-type]


def test_budgets_and_currencies_are_checked() -> None:
    settled = hours(0.2, 0.3, 0.1, 0.2)
    with pytest.raises(sw.InputError, match="budget is -1"):
        sw.simulate(sw.Replan(budget=-1.0), table(), settled)
    foreign = sw.Prices.from_values(SIX, [1.0], currency="SEK")
    with pytest.raises(sw.InputError, match="forecasts are in SEK, prices in EUR"):
        sw.simulate(sw.Replan(), table(), settled, [sw.Forecast(foreign, known_at=SIX)])
    with pytest.raises(sw.InputError, match=r"^quantiles\[0\.9\] is in SEK, prices in EUR$"):
        sw.Forecast(settled, known_at=SIX, quantiles={0.5: settled, 0.9: foreign})


def test_progress_is_told_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    done: list[float] = []
    settled = hours(0.2, 0.3, 0.1, 0.2)
    sw.simulate(sw.Replan(), table(), settled, progress=done.append)
    assert done == sorted(done)
    assert done[-1] == 1.0
    sw.simulate(sw.Replan(), table(), settled, progress=True)
    assert capsys.readouterr().err.endswith("100%\n")

    def refuse(_: float) -> None:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        sw.simulate(sw.Replan(), table(), settled, progress=refuse)


def test_tables_are_read_by_arrow_libraries() -> None:
    result = sw.simulate(sw.Replan(), table(count=3), hours(0.2, 0.3, 0.1, 0.2), steps=False)
    assert result.steps is None
    stays = pa.table(result.stays)
    assert stays.num_rows == len(result.stays) == result.stays.num_rows == 3
    assert stays["cost"].type == pa.decimal128(38, 12)
    assert stays["id"].to_pylist() == ["van-0", "van-1", "van-2"]
    assert result.stays.column_names == stays.column_names
    assert "3 rows" in repr(result.stays)
    none = table(count=0)
    empty = none.set_column(1, "arrival", pa.array([], pa.timestamp("us", "UTC")))
    empty = empty.set_column(2, "departure", pa.array([], pa.timestamp("us", "UTC")))
    empty = empty.set_column(0, "id", pa.array([], pa.string()))
    for name in ("energy_kwh", "power_max_kw"):
        empty = empty.set_column(empty.column_names.index(name), name, pa.array([], pa.float64()))
    assert sw.simulate(sw.Replan(), empty, hours(0.2)).cost == 0


def test_a_day_ahead_is_published_on_clock_change_days() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start = datetime(2026, 10, 24, tzinfo=berlin)
    prices = sw.Prices.from_values(start, [0.1] * 73, currency="EUR")
    published = sw.publish_day_ahead(prices, at="12:45", time_zone="Europe/Berlin")
    lengths = [len(each.read(at=each.known_at)) for each in published]
    assert lengths == [24, 25, 24]
    local = [each.known_at.astimezone(berlin) for each in published]
    assert [(at.day, at.hour, at.minute) for at in local] == [
        (23, 12, 45),
        (24, 12, 45),
        (25, 12, 45),
    ]
    assert all(each.is_final for each in published)
    with pytest.raises(sw.InputError, match="time_zone"):
        sw.publish_day_ahead(prices, time_zone="Berlin")


def test_forecasters_get_nothing_of_the_future() -> None:
    _, prices, _ = random_world(1)
    published = sw.publish_day_ahead(prices, time_zone="Europe/Berlin")
    asked: list[tuple[datetime, datetime]] = []

    def model(known: sw.Prices, at: list[datetime]) -> Mapping[float, Sequence[float]]:
        last = known.slots[-1][1]
        asked.append((last, at[0]))
        assert at == sorted(at)
        return {0.5: [0.1] * len(at), 0.9: [0.2] * len(at)}

    issued = sw.issue_forecasts(
        model, prices, every=timedelta(hours=6), ahead=2 * DAY, published=published
    )
    assert asked
    assert all(last <= first for last, first in asked)
    first = issued[0]
    assert first.levels == [0.5, 0.9]
    high = first.read(at=first.known_at, level=0.9)
    assert {price for _, _, price in high.slots} == {0.2}
    with pytest.raises(sw.InputError, match=r"level is 0\.1; the forecast has \[0\.5, 0\.9\]"):
        first.read(at=first.known_at, level=0.1)
    with pytest.raises(sw.LookAheadError):
        first.read(at=first.known_at - timedelta(seconds=1))
    assert "estimate" in repr(first)


@pytest.mark.parametrize(
    ("answer", "message"),
    [({0.9: [0.1] * 96}, r"levels \[0\.9\]; plans need 0\.5"), ({0.5: [0.1]}, "1 prices for 95")],
)
def test_a_forecaster_that_gives_no_median_is_refused(
    answer: dict[float, list[float]], message: str
) -> None:
    _, prices, _ = random_world(1)
    with pytest.raises(sw.InputError, match=message):
        sw.issue_forecasts(lambda *_: answer, prices, every=DAY, ahead=DAY)


def test_naive_forecasts_follow_the_wall_clock() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start = datetime(2026, 3, 27, tzinfo=berlin).astimezone(UTC)
    count = 24 * 5 - 1
    local = [(start + index * HOUR).astimezone(berlin).hour / 100 for index in range(count)]
    prices = sw.Prices.from_values(start, local, currency="EUR")
    naive = sw.SeasonalNaive(time_zone="Europe/Berlin", days=1)
    monday = datetime(2026, 3, 30, tzinfo=berlin).astimezone(UTC)
    known = prices.between(start, monday)
    evening = [monday + 18 * HOUR]
    assert naive(known, evening)[0.5] == pytest.approx([0.18])
    last = sw.Persistence(levels=[0.5])(known, evening)
    assert list(last) == [0.5]
    with pytest.raises(sw.InputError, match="days is 0"):
        sw.SeasonalNaive(time_zone="UTC", days=0)
    with pytest.raises(sw.InputError, match="level"):
        sw.Persistence(levels=[2.0])
    with pytest.raises(sw.InputError, match="every is 0:00:00"):
        sw.issue_forecasts(naive, prices, every=timedelta(0), ahead=DAY)
    with pytest.raises(sw.InputError, match="ahead is 0:00:00"):
        sw.issue_forecasts(naive, prices, every=DAY, ahead=timedelta(0))


def test_estimates_are_no_facts() -> None:
    """Neither a settlement nor an auction takes what is only guessed."""
    guessed = hours(0.3, 0.2).with_estimates(hours(0.3, 0.2, 0.1, 0.1), source="last week")
    message = r"prices: that at 2026-01-05 20:00Z is an estimate \('last week'\)"
    with pytest.raises(sw.InputError, match=message):
        sw.simulate(sw.Replan(), table(), guessed)
    with pytest.raises(sw.InputError, match=message):
        sw.publish_day_ahead(guessed, time_zone="Europe/Berlin")
    with pytest.raises(sw.InputError, match="export_prices: that at"):
        sw.simulate_homes(sw.Replan(), table(), hours(0.3), export_prices=guessed)
    settled = sw.Prices.from_slots(guessed.slots, currency="EUR")
    assert sw.simulate(sw.Replan(), table(), settled).cost > 0
