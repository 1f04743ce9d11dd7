"""Homes with a battery in a receding horizon, against a second settlement and HiGHS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, lil_array

import slackwater as sw

Array = npt.NDArray[np.float64]

ZONE = "Europe/Berlin"
HOUR = timedelta(hours=1)
QUARTER = timedelta(minutes=15)


@dataclass(frozen=True)
class World:
    """Homes over quarters of an hour that begin a day before the simulation."""

    start: datetime
    first: int
    """Position of the first simulated quarter; those before it are history."""
    buy: Array
    sell: Array
    load: Array
    """Load in kW, a row a home."""
    solar: Array
    capacity: float = 8.0
    soc_percent: float = 40.0
    soc_min_percent: float = 10.0
    power_max: float = 3.0
    discharge_max: float = 2.2
    efficiency: float = 0.94
    discharge_efficiency: float = 0.92
    wear: float = 0.012

    @property
    def homes(self) -> list[str]:
        return [f"home-{row}" for row in range(len(self.load))]

    @property
    def prices(self) -> sw.Prices:
        return sw.Prices.from_values(self.start, self.buy, currency="EUR", slot=QUARTER)

    @property
    def export(self) -> sw.Prices:
        return sw.Prices.from_values(self.start, self.sell, currency="EUR", slot=QUARTER)

    @property
    def batteries(self) -> pa.Table:
        count = len(self.load)
        return pa.table(
            {
                "home": self.homes,
                "capacity_kwh": [self.capacity] * count,
                "soc_percent": [self.soc_percent] * count,
                "soc_min_percent": [self.soc_min_percent] * count,
                "power_max_kw": [self.power_max] * count,
                "discharge_max_kw": [self.discharge_max] * count,
                "efficiency": [self.efficiency] * count,
                "discharge_efficiency": [self.discharge_efficiency] * count,
                "wear_price_per_kwh": [self.wear] * count,
            }
        )

    @property
    def power(self) -> pa.Table:
        count = self.load.shape[1]
        starts = [self.start + slot * QUARTER for slot in range(count)]
        return pa.table(
            {
                "home": np.repeat(self.homes, count),
                "start": starts * len(self.homes),
                "load_kw": self.load.ravel(),
                "solar_kw": self.solar.ravel(),
            }
        )

    def simulate(self, policy: sw.simulation.HomePolicy, **options: object) -> sw.HomeSimulation:
        published = sw.publish_day_ahead(self.prices, time_zone=ZONE)
        sold = sw.publish_day_ahead(self.export, time_zone=ZONE)
        defaults: dict[str, object] = {
            "power": self.power,
            "power_forecast": sw.SeasonalNaive(time_zone=ZONE, days=1),
            "export_prices": self.export,
            "export_forecasts": sold,
            "start": self.start + self.first * QUARTER,
        }
        given: dict[str, object] = defaults | options
        return sw.simulate_homes(policy, self.batteries, self.prices, published, **given)  # type: ignore[arg-type]


def make_world(seed: int, *, day: datetime, homes: int = 2, negative: bool = False) -> World:
    """Three local days around a clock change, the first of which is history."""
    print(f"seed {seed}, from {day}")
    random = np.random.default_rng(seed)
    count = 96 * 3
    local = np.array([(day + slot * QUARTER).astimezone(UTC).hour for slot in range(count)])
    shape = 0.25 + 0.08 * np.cos((local - 18) / 24 * 2 * np.pi)
    buy = shape + random.uniform(-0.1, 0.1, count) - (0.25 if negative else 0.0)
    sell = buy - random.uniform(0.0, 0.2, count)
    sun = np.clip(np.sin((local - 5) / 14 * np.pi), 0, None)
    solar = 5 * sun * random.uniform(0.2, 1.0, (homes, count))
    load = random.uniform(0.1, 2.0, (homes, count))
    return World(day, 96, buy.round(4), sell.round(4), load, solar)


AUTUMN = datetime(2026, 10, 23, 22, tzinfo=UTC)
SPRING = datetime(2026, 3, 27, 23, tzinfo=UTC)


@dataclass
class Bill:
    """Second settlement of one home, minute by minute in plain floating point."""

    cost: float = 0.0
    bought: float = 0.0
    sold: float = 0.0
    stored: float = 0.0


def settle(world: World, row: int, power_kw: Callable[[int], float]) -> Bill:
    """Settle the power of each quarter, a minute after the other."""
    bill = Bill(stored=world.capacity * world.soc_percent / 100)
    least = world.capacity * world.soc_min_percent / 100
    for slot in range(world.first, len(world.buy)):
        net = world.load[row, slot] - world.solar[row, slot]
        wanted = min(max(power_kw(slot), -world.discharge_max), world.power_max)
        for _ in range(15):
            taken = wanted / 60
            if taken > 0:
                taken = min(taken, (world.capacity - bill.stored) / world.efficiency)
                bill.stored += taken * world.efficiency
            else:
                taken = -min(-taken, (bill.stored - least) * world.discharge_efficiency)
                bill.stored += taken / world.discharge_efficiency
                bill.cost -= taken / world.discharge_efficiency * world.wear
            kwh = net / 60 + taken
            bill.bought += max(kwh, 0.0)
            bill.sold += max(-kwh, 0.0)
            bill.cost += world.buy[slot] * max(kwh, 0.0) - world.sell[slot] * max(-kwh, 0.0)
    lack = max(world.capacity * world.soc_percent / 100 - bill.stored, 0.0)
    # The price of missing energy is the highest settled one, at the plug.
    bill.cost += lack / world.efficiency * max(world.buy.max(), 0.0)
    return bill


def least_cost(world: World, row: int, *, has_losses: bool) -> float:
    """Least cost with all known, as a mixed-integer programme for HiGHS."""
    net = (world.load[row] - world.solar[row])[world.first :] / 4
    buy, sell = world.buy[world.first :], world.sell[world.first :]
    count = len(net)
    charging = world.efficiency if has_losses else 1.0
    discharging = world.discharge_efficiency if has_losses else 1.0
    at_start = world.capacity * world.soc_percent / 100
    # Columns: bought, sold, charged, discharged (at the plug), stored, may charge.
    bought, sold, charged, discharged, stored, way = (
        np.arange(count) + part * count for part in range(6)
    )
    cost = np.zeros(6 * count)
    cost[bought], cost[sold] = buy, -sell
    cost[discharged] = world.wear / discharging
    lower, upper = np.zeros(6 * count), np.full(6 * count, np.inf)
    upper[charged], upper[discharged] = world.power_max / 4, world.discharge_max / 4
    lower[stored] = world.capacity * world.soc_min_percent / 100
    upper[stored], upper[way] = world.capacity, 1.0
    lower[stored[-1]] = at_start
    rows = lil_array((4 * count, 6 * count))
    left, right = np.zeros(4 * count), np.zeros(4 * count)
    for slot in range(count):
        # What is bought and discharged is what is sold, charged and drawn.
        rows[slot, bought[slot]], rows[slot, sold[slot]] = 1, -1
        rows[slot, charged[slot]], rows[slot, discharged[slot]] = -1, 1
        left[slot] = right[slot] = net[slot]
        level = count + slot
        rows[level, stored[slot]] = 1
        rows[level, charged[slot]] = -charging
        rows[level, discharged[slot]] = 1 / discharging
        if slot:
            rows[level, stored[slot - 1]] = -1
        left[level] = right[level] = 0.0 if slot else at_start
        # One direction in a slot.
        rows[2 * count + slot, charged[slot]] = 1
        rows[2 * count + slot, way[slot]] = -world.power_max / 4
        rows[3 * count + slot, discharged[slot]] = 1
        rows[3 * count + slot, way[slot]] = world.discharge_max / 4
        left[2 * count + slot] = left[3 * count + slot] = -np.inf
        right[3 * count + slot] = world.discharge_max / 4
    is_whole = np.zeros(6 * count)
    # Without losses both directions at once change nothing, so that no choice is needed.
    is_whole[way] = has_losses and sell.min() < 0
    found = milp(
        cost,
        constraints=LinearConstraint(csr_array(rows), left, right),
        bounds=Bounds(lower, upper),
        integrality=is_whole,
        options={"mip_rel_gap": 1e-9},
    )
    assert found.success, found.message
    return float(found.fun)


@pytest.mark.parametrize("day", [AUTUMN, SPRING])
@pytest.mark.parametrize("seed", range(3))
def test_a_settlement_is_that_of_a_second_model(day: datetime, seed: int) -> None:
    """Powers at random, so that the battery is full and empty many times."""
    world = make_world(seed, day=day, negative=seed == 1)
    powers = np.random.default_rng(100 + seed).uniform(-4, 4, len(world.buy)).round(3)

    def policy(view: sw.HomeView) -> float:
        return float(powers[round((view.now - world.start) / QUARTER)])

    result = world.simulate(policy, regret=False)
    for row, home in enumerate(pl.DataFrame(result.homes).iter_rows(named=True)):
        bill = settle(world, row, lambda slot: float(powers[slot]))
        assert home["import_kwh"] == pytest.approx(bill.bought, abs=1e-5)
        assert home["export_kwh"] == pytest.approx(bill.sold, abs=1e-5)
        assert float(home["cost"]) == pytest.approx(bill.cost, abs=1e-5)


@pytest.mark.parametrize("day", [AUTUMN, SPRING])
@pytest.mark.parametrize("negative", [False, True])
def test_the_hindsight_optimum_is_that_of_highs(day: datetime, *, negative: bool) -> None:
    world = make_world(11, day=day, negative=negative)
    result = world.simulate(sw.Replan(), horizon=timedelta(hours=20))
    for row, home in enumerate(pl.DataFrame(result.homes).iter_rows(named=True)):
        best = least_cost(world, row, has_losses=False)
        assert float(home["hindsight_cost"]) == pytest.approx(best, abs=1e-5)
        # With foresight and without an end of the horizon only losses are left.
        real = least_cost(world, row, has_losses=True)
        with_losses = float(home["hindsight_cost"] + home["regret_efficiency"])
        assert with_losses == pytest.approx(real, abs=1e-5)
        assert float(home["cost"]) >= real - 1e-5


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("hours", [None, 12])
def test_everything_adds_up_to_the_last_digit(seed: int, hours: int | None) -> None:
    world = make_world(20 + seed, day=AUTUMN, homes=3, negative=seed == 2)
    horizon = None if hours is None else timedelta(hours=hours)
    result = world.simulate(sw.Replan(), horizon=horizon)
    assert sum(result.regret_parts.values()) == result.regret
    assert result.regret == result.cost - result.hindsight_cost
    assert result.regret_parts["policy"] == 0
    assert result.cost < result.baseline_cost
    homes = pl.DataFrame(result.homes)
    parts = [name for name in homes.columns if name.startswith("regret_")]
    for home in homes.iter_rows(named=True):
        assert sum(home[part] for part in parts) == home["cost"] - home["hindsight_cost"]
        assert home["regret"] == home["cost"] - home["hindsight_cost"]
        assert home["shortfall_kwh"] == 0
    assert sum(homes["cost"]) == result.cost
    assert result.steps is not None
    steps = pl.DataFrame(result.steps)
    of_steps = dict(steps.group_by("home").agg(pl.col("cost").sum()).iter_rows())
    for home in homes.iter_rows(named=True):
        assert of_steps[home["home"]] + home["shortfall_cost"] == home["cost"]
    # A day of 25 hours and one of 23 with the rest of the history: quarters, one after the other.
    one = steps.filter(pl.col("home") == "home-0")
    assert one["start"].to_list()[1:] == one["end"].to_list()[:-1]
    assert len(one) == 96 * 2


def test_a_battery_without_load_trades_and_nothing_is_left_to_regret() -> None:
    world = make_world(5, day=SPRING)
    known = [sw.Forecast(world.prices, known_at=world.start, is_final=True)]
    sold = [sw.Forecast(world.export, known_at=world.start, is_final=True)]
    batteries = world.batteries.drop_columns(["efficiency", "discharge_efficiency"])
    result = sw.simulate_homes(
        sw.Replan(),
        batteries,
        world.prices,
        known,
        export_prices=world.export,
        export_forecasts=sold,
    )
    assert set(result.regret_parts.values()) == {Decimal(0)}
    assert result.cost < 0 == result.baseline_cost


def test_a_view_holds_only_what_was_known() -> None:
    world = make_world(3, day=AUTUMN, homes=1)
    yesterday = world.load[0] - world.solar[0]
    seen = 0

    def policy(view: sw.HomeView) -> None:
        nonlocal seen
        seen += 1
        assert all(end <= view.now for _, end, _ in view.history.slots)
        assert view.export_prices is not None
        assert view.until - view.now <= QUARTER
        start, _, net_kw = view.net_load[0]
        assert start == view.now
        # The same wall-clock time of the day before: 24 or 25 hours ago.
        slot = round((view.now - world.start) / QUARTER)
        before = [yesterday[slot - back] for back in (96, 100)]
        assert any(net_kw == pytest.approx(expected, abs=2e-6) for expected in before)
        published = view.prices.slots[-1][1]
        with pytest.raises(sw.LookAheadError):
            view.price_at(published + HOUR)

    world.simulate(policy, regret=False)
    assert seen == 96 * 2


def test_issued_forecasts_of_power_are_used_when_they_are_known() -> None:
    world = make_world(8, day=AUTUMN)
    perfect = world.power.append_column("known_at", [[world.start] * world.power.num_rows])
    naive, told = world.simulate(sw.Replan()), world.simulate(sw.Replan(), power_forecast=perfect)
    late = world.start + 500 * QUARTER
    too_late = world.power.append_column("known_at", [[late] * world.power.num_rows])
    never = world.simulate(sw.Replan(), power_forecast=too_late)
    persistent = world.simulate(sw.Replan(), power_forecast=sw.Persistence())
    assert told.regret_parts["forecast"] < naive.regret_parts["forecast"]
    assert never.cost == persistent.cost
    assert told.hindsight_cost == naive.hindsight_cost


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power_forecast": None}, "power_forecast is missing"),
        ({"end": AUTUMN + 90 * HOUR}, "battery 0: prices are missing at 2026-10-26 22:00:00 UTC"),
        ({"step": timedelta(0)}, "step is 0 minutes"),
        ({"start": AUTUMN, "end": AUTUMN}, "battery 0: its simulation starts at"),
        ({"power": pa.table({"home": ["home-0"], "start": [AUTUMN]})}, "neither a column load_kw"),
        (
            {"power": pa.table({"home": ["other"], "start": [AUTUMN], "load_kw": [1.0]})},
            "battery 0: power of its home: there is no row",
        ),
    ],
)
def test_wrong_input_is_named(options: dict[str, object], message: str) -> None:
    world = make_world(1, day=AUTUMN)
    with pytest.raises(sw.InputError, match=message):
        world.simulate(sw.Replan(), **options)


def test_batteries_and_currencies_are_checked() -> None:
    world = make_world(1, day=AUTUMN)
    with pytest.raises(sw.InputError, match="budget is 1"):
        world.simulate(sw.Replan(budget=1.0))
    foreign = sw.Prices.from_values(world.start, world.sell, currency="SEK", slot=QUARTER)
    with pytest.raises(sw.InputError, match="export_prices are in SEK, prices in EUR"):
        world.simulate(sw.Replan(), export_prices=foreign)
    with pytest.raises(sw.InputError, match="above prices, which are"):
        world.simulate(sw.Replan(), export_prices=world.prices.plus(0.01))
    batteries = world.batteries.set_column(6, "efficiency", [[94.0, 0.9]])
    with pytest.raises(sw.InputError, match=r"battery 0: efficiency is 94.*94 % is 0\.94"):
        sw.simulate_homes(sw.Replan(), batteries, world.prices)
    twice = world.batteries.set_column(0, "home", [["a", "a"]])
    with pytest.raises(sw.InputError, match="battery 1: its home has another battery"):
        sw.simulate_homes(sw.Replan(), twice, world.prices)
