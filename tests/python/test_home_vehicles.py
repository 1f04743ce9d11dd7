"""Homes with a battery and a vehicle in a receding horizon, against one plan of the site."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import slackwater as sw

HOUR = timedelta(hours=1)
PLANNER = sw.Replan()
ZONE = "Europe/Berlin"

AUTUMN = datetime(2026, 10, 24, 22, tzinfo=UTC)
"""Start of the local day of 25 hours."""

SPRING = datetime(2026, 3, 28, 23, tzinfo=UTC)
"""Start of the local day of 23 hours."""

HOURS = {AUTUMN: 25, SPRING: 23}


class Home:
    """A local day of one home around a clock change, in hours."""

    def __init__(self, seed: int, day: datetime) -> None:
        print(f"seed {seed}, from {day}")
        random = np.random.default_rng(seed)
        self.day, self.count = day, HOURS[day]
        self.end = day + self.count * HOUR
        self.buy = random.uniform(-0.05, 0.5, self.count).round(4)
        self.sell = (self.buy - random.uniform(0.01, 0.2, self.count)).round(4)
        self.load = random.uniform(0.1, 2.0, self.count).round(3)
        sun = np.clip(np.sin((np.arange(self.count) - 6) / 13 * np.pi), 0, None)
        self.solar = (5 * sun * random.uniform(0.2, 1.0, self.count)).round(3)
        self.leaves = day + timedelta(minutes=int(random.integers(500, 1300)))
        self.need = round(float(random.uniform(3, 40)), 3)
        self.prices = sw.Prices.from_values(day, self.buy, currency="EUR")
        self.export = sw.Prices.from_values(day, self.sell, currency="EUR")
        self.battery = {
            "capacity_kwh": 8.0,
            "soc_percent": 40.0,
            "soc_min_percent": 10.0,
            "power_max_kw": 3.0,
            "discharge_max_kw": 2.2,
            "efficiency": 0.94,
            "discharge_efficiency": 0.92,
        }

    def stays(self, *, arrival: datetime | None = None, **columns: object) -> pa.Table:
        row = {
            "id": "van",
            "home": "a",
            "arrival": arrival or self.day,
            "departure": self.leaves,
            "energy_kwh": self.need,
            "power_max_kw": 7.4,
        }
        return pa.table({name: [value] for name, value in (row | columns).items()})

    def simulate(
        self,
        stays: pa.Table,
        *,
        is_known: bool,
        policy: sw.simulation.HomePolicy = PLANNER,
        **options: object,
    ) -> sw.HomeSimulation:
        starts = [self.day + hour * HOUR for hour in range(self.count)]
        power = pa.table(
            {
                "home": ["a"] * self.count,
                "start": starts,
                "load_kw": self.load,
                "solar_kw": self.solar,
            }
        )
        told = power.append_column("known_at", [[self.day] * self.count])
        known = [sw.Forecast(self.prices, known_at=self.day, is_final=True)]
        sold = [sw.Forecast(self.export, known_at=self.day, is_final=True)]
        given: dict[str, object] = {
            "stays": stays,
            "power": power,
            "power_forecast": told if is_known else sw.Persistence(),
            "export_prices": self.export,
            "export_forecasts": sold,
            "end": self.end,
        } | options
        batteries = pa.table({"home": ["a"]} | {k: [v] for k, v in self.battery.items()})
        return sw.simulate_homes(policy, batteries, self.prices, known, **given)  # type: ignore[arg-type]

    def plan(self) -> sw.SitePlan:
        """The same home as one site, with all known at its start."""
        van = sw.Vehicle(
            "van",
            power_max_kw=7.4,
            targets=[sw.Target(self.leaves, self.need)],
            departure=self.leaves,
        )
        given = self.battery | {"target_percent": self.battery["soc_percent"]}
        devices: list[sw.StationaryBattery | sw.Load | sw.Solar | sw.Vehicle] = [
            sw.StationaryBattery("battery", **given),  # type: ignore[arg-type]
            sw.Load("load", power_kw=list(self.load)),
            sw.Solar("sun", power_kw=list(self.solar), is_curtailable=False),
            van,
        ]
        return sw.plan_site(self.prices, export_prices=self.export, now=self.day, devices=devices)


@pytest.mark.parametrize("day", [AUTUMN, SPRING])
@pytest.mark.parametrize("seed", range(3))
def test_a_known_day_costs_what_the_plan_of_its_site_costs(day: datetime, seed: int) -> None:
    home = Home(seed, day)
    result = home.simulate(home.stays(), is_known=True)
    row = pl.DataFrame(result.homes).row(0, named=True)
    plan = home.plan()
    assert float(result.cost) == pytest.approx(plan.cost, abs=1e-5)
    assert row["vehicle_kwh"] == pytest.approx(home.need, abs=1e-5)
    assert row["vehicle_shortfall_kwh"] == row["shortfall_kwh"] == 0
    assert result.cost < result.baseline_cost
    # All is known at the start, so only losses are left to regret.
    lost = {name for name, part in result.regret_parts.items() if abs(part) > Decimal("1e-5")}
    assert lost <= {"efficiency"}


@pytest.mark.parametrize("day", [AUTUMN, SPRING])
def test_everything_adds_up_to_the_last_digit(day: datetime) -> None:
    """The vehicle comes between two decisions, and load and sun are not known before."""
    home = Home(7, day)
    arrival = day + timedelta(hours=2, minutes=20)
    result = home.simulate(
        home.stays(arrival=arrival), is_known=False, step=HOUR, horizon=timedelta(hours=9)
    )
    assert sum(result.regret_parts.values()) == result.regret
    assert result.regret == result.cost - result.hindsight_cost
    assert result.regret_parts["policy"] == 0
    assert result.steps is not None
    steps = pl.DataFrame(result.steps)
    missing = pl.DataFrame(result.homes)["shortfall_cost"].item()
    assert steps["cost"].sum() + missing == result.cost
    own = (home.load - home.solar).sum()
    of_devices = (steps["battery_kwh"] + steps["vehicle_kwh"]).to_numpy().sum()
    meter = (steps["import_kwh"] - steps["export_kwh"]).to_numpy().sum()
    assert meter == pytest.approx(own + of_devices, abs=1e-5)
    assert steps["vehicle_kwh"].sum() == pytest.approx(home.need, abs=1e-5)
    # The arrival is a decision of its own, and nothing is drawn before it.
    assert arrival in steps["start"].to_list()
    assert steps.filter(pl.col("start") < arrival)["vehicle_kwh"].sum() == 0
    # The hindsight optimum knows of the arrival, and costs no more than the plan of the site.
    assert float(result.hindsight_cost) <= float(result.cost) + 1e-6


def test_a_vehicle_waits_for_the_sun_that_a_battery_leaves() -> None:
    """Free sun at noon, and a vehicle that has all day: it takes the surplus, the grid nothing."""
    noon = datetime(2026, 6, 5, 10, tzinfo=UTC)
    prices = sw.Prices.from_values(noon, [0.30, 0.40, 0.30], currency="EUR")
    power = pa.table(
        {
            "home": ["a"] * 3,
            "start": [noon + i * HOUR for i in range(3)],
            "solar_kw": [0.0, 6.0, 0.0],
        }
    )
    batteries = pa.table(
        {
            "home": ["a"],
            "capacity_kwh": [5.0],
            "soc_percent": [0.0],
            "power_max_kw": [3.0],
            "discharge_max_kw": [3.0],
        }
    )
    stays = pa.table(
        {
            "id": [1],
            "home": ["a"],
            "arrival": [noon],
            "departure": [noon + 3 * HOUR],
            "energy_kwh": [6.0],
            "power_max_kw": [7.0],
        }
    )
    result = sw.simulate_homes(
        sw.Replan(),
        batteries,
        prices,
        [sw.Forecast(prices, known_at=noon)],
        stays=stays,
        power=power,
        power_forecast=power.append_column("known_at", [[noon] * 3]),
    )
    assert float(result.cost) == pytest.approx(0.0, abs=1e-9)
    assert float(result.baseline_cost) == pytest.approx(0.30 * 6, abs=1e-9)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"home": "b"}, "stay 0: its home has no battery"),
        ({"start_cost": 0.1}, r"stay 0: start_cost is 0\.1; the planner .* leave the column out"),
        ({"departure": AUTUMN + 26 * HOUR}, "stay 0"),
        ({"energy_kwh": -1.0}, "energy_kwh"),
        ({"targets": [1.0]}, "targets"),
        ({"power_minkw": 1.0}, "power_minkw"),
    ],
)
def test_wrong_stays_are_named(columns: dict[str, object], message: str) -> None:
    home = Home(1, AUTUMN)
    with pytest.raises(sw.InputError, match=message):
        home.simulate(home.stays(**columns), is_known=True)  # type: ignore[arg-type]


def test_stays_need_homes() -> None:
    home = Home(1, AUTUMN)
    with pytest.raises(sw.InputError, match="home"):
        home.simulate(home.stays().drop_columns(["home"]), is_known=True)


def test_a_policy_of_ones_own_commands_battery_and_vehicle() -> None:
    home = Home(1, AUTUMN)
    seen: list[sw.HomeStay] = []

    def at_once(view: sw.HomeView) -> sw.HomeCommand:
        seen.extend(view.stays)
        return sw.HomeCommand(
            battery=0.0, vehicles={stay.row: stay.power_max_kw for stay in view.stays}
        )

    result = home.simulate(home.stays(), is_known=True, policy=at_once)
    # A battery that rests and a vehicle at full power from its arrival are the baseline.
    assert result.cost == result.baseline_cost
    assert (seen[0].row, seen[0].arrival, seen[0].departure) == (0, home.day, home.leaves)
    assert seen[0].missing_kwh == pytest.approx(home.need)
    assert seen[0].power_max_kw == 7.4
    planned = home.simulate(home.stays(), is_known=True)
    assert planned.cost < result.cost
    assert planned.hindsight_cost == result.hindsight_cost


def test_an_answer_without_the_vehicles_of_a_home_is_refused() -> None:
    home = Home(1, AUTUMN)
    with pytest.raises(TypeError, match=r"HomeCommand\(battery=\.\.\., vehicles="):
        home.simulate(home.stays(), is_known=True, policy=lambda _: 0.0)
    wrong = sw.HomeCommand(vehicles={3: 1.0})
    with pytest.raises(sw.InputError, match="vehicles of the policy name stay 3"):
        home.simulate(home.stays(), is_known=True, policy=lambda _: wrong)
    fed = sw.HomeCommand(vehicles={0: -1.0})
    with pytest.raises(sw.InputError, match="-1 kW; a power is 0 kW or more"):
        home.simulate(home.stays(), is_known=True, policy=lambda _: fed)


@pytest.mark.parametrize("device", [{"power_min_kw": 2.0}, {"power_step_kw": 3.7}])
def test_a_vehicle_with_a_least_power_or_steps_gets_what_it_needs(device: dict[str, float]) -> None:
    home = Home(2, AUTUMN)
    result = home.simulate(home.stays(**device), is_known=True, step=HOUR)  # type: ignore[arg-type]
    row = pl.DataFrame(result.homes).row(0, named=True)
    assert row["vehicle_kwh"] == pytest.approx(home.need, abs=1e-4)
    assert sum(result.regret_parts.values()) == result.regret
    ideal = home.simulate(home.stays(), is_known=True, step=HOUR)
    assert result.hindsight_cost == ideal.hindsight_cost
    assert result.cost >= ideal.cost - Decimal("1e-4")


def test_a_view_of_a_home_tells_what_it_holds() -> None:
    home = Home(3, AUTUMN)
    told = []

    def wait(view: sw.HomeView) -> sw.HomeCommand:
        told.append(repr(view))
        return sw.HomeCommand()

    home.simulate(home.stays(), is_known=True, policy=wait)
    assert told[0] == (
        "HomeView(battery 0 at 2026-10-24 22:00Z, 3.2 kWh (40 %), up to 3 kW and -2.2 kW, "
        "1 vehicle to charge, prices known to 2026-10-25 23:00Z)"
    )
