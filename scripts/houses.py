"""Heats houses of OCHRE through a winter by our plans, and writes `docs/explanation/houses.md`.

OCHRE (package `ochre-nrel`) simulates a house with walls, air, ducts, sun and people. Each house
has four runs, all in steps of an hour:

1. three weeks of November, in which the set point jumps within the comfort band. From its readings
   `identify_heat` finds loss, capacity and gains, and two straight lines describe the unit;
2. a winter with the thermostat of the house, at its own set points;
3. the winter with that thermostat at the lower edge of the band;
4. the winter with `plan_heat`, anew each hour, with prices as far as they are published.

Run by `make houses`, in an environment of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.util
import io
import itertools
import json
import multiprocessing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import ochre
from ochre.utils import load_hpxml

import slackwater as sw

from houses_page import PAGE, HouseResult, WinterRun, write_page


class WinterPart(NamedTuple):
    """Days of a winter: of the house, and how much later those of the prices are."""

    start: datetime
    days: int
    prices_later: timedelta


STEP: Final = timedelta(hours=1)
HOUR: Final = timedelta(hours=1)
HOUR_STEPS: Final = HOUR // STEP
DAY_STEPS: Final = 24 * HOUR_STEPS
# The clock of the house is called UTC throughout; a winter has no change of clocks.
TRAINING: Final = (datetime(2023, 11, 3), 21)
# OCHRE has no leap years, so the prices of January 2024 meet the January of another year: days of
# the week and the weather of a typical year are the same.
WINTER: Final = (
    WinterPart(datetime(2023, 12, 1), 31, prices_later=timedelta(0)),
    WinterPart(datetime(2023, 1, 2), 59, prices_later=timedelta(days=364)),
)

# A set point holds for six hours in November: long enough for the walls to take part.
BLOCK: Final = 6 * HOUR_STEPS

# ISO 7730, category B in winter, and its lower edge of 18 °C while a set-back holds.
BAND: Final = (20.0, 24.0)
SET_BACK: Final = ("23:00", "06:00", 18.0, 24.0)
# The plan stays this far above the lower edge, and below a temperature well within the band: the
# model of a house is not the house.
MARGIN_K: Final = 0.1
PLANNED_MAX: Final = 21.5
# Share of the difference between the air and the modelled temperature that an hour corrects. The
# model stands for walls and furniture; the air is hours ahead of them.
CORRECTION: Final = 0.1
# Set points of the files of the houses, 72 °F, and 71 °F with 65 °F at night.
SET_POINT_FLAT: Final = 22.2
SET_POINTS: Final = (21.7, 18.3)

BUILDINGS: Final = {
    "house of 112 m²": ("BEopt_example.xml", "BEopt_example_schedule.csv"),
    "house of 158 m²": ("bldg0112631-up00.xml", "bldg0112631_schedule.csv"),
    "house of 158 m², renovated": ("bldg0112631-up11.xml", "bldg0112631_schedule.csv"),
}
CLIMATES: Final = {
    "Denver": "USA_CO_Denver.Intl.AP.725650_TMY3.epw",
    "Fort Collins": "FortCollins_NSRDB.csv",
}
HEATINGS: Final = ("heat pump", "resistance")
SET_BACKS: Final = (False, True)
DEFAULTS: Final = Path(ochre.__file__).parent / "defaults"
PRICES: Final = "Netherlands_day-ahead-2015-2024.csv"


class House(NamedTuple):
    """One of the houses: a building, its weather, its unit and its thermostat."""

    building: str
    climate: str
    heating: str
    has_set_back: bool

    def is_set_back_at(self, at: datetime) -> bool:
        """Tell whether the set-back of the night holds."""
        return self.has_set_back and (at.hour >= 23 or at.hour < 6)

    def set_point_at(self, at: datetime) -> float:
        """Set point of its own thermostat, in °C."""
        if not self.has_set_back:
            return SET_POINT_FLAT
        return SET_POINTS[1] if self.is_set_back_at(at) else SET_POINTS[0]

    def low_at(self, at: datetime) -> float:
        """Lower edge of the band, in °C."""
        return SET_BACK[2] if self.is_set_back_at(at) else BAND[0]


ALL_HOUSES: Final = [
    House(*parts) for parts in itertools.product(BUILDINGS, CLIMATES, HEATINGS, SET_BACKS)
]


class Course(NamedTuple):
    """Measurements of a run, a value for each step."""

    before_celsius: np.ndarray
    after_celsius: np.ndarray
    electric_kw: np.ndarray
    heat_kw: np.ndarray
    capacity_kw: np.ndarray
    backup_kw: np.ndarray


class Weather(NamedTuple):
    """Weather of a run, a value for each step."""

    outdoor_celsius: np.ndarray
    sun_kw: np.ndarray


@dataclass(frozen=True)
class Model:
    """What the plans know of a house: all of it from its readings in November."""

    fit: sw.HeatFit
    cop: list[tuple[float, float]]
    capacity_line: tuple[float, float]
    absorbed_max_kw: float

    def cop_at(self, outdoor: np.ndarray) -> np.ndarray:
        """Heat in the rooms per electricity."""
        low, high = self.cop
        return np.asarray(np.interp(outdoor, [low[0], high[0]], [low[1], high[1]]))

    def heat_max_kw(self, outdoor: np.ndarray) -> np.ndarray:
        """Highest heat of the unit without its backup, in kW."""
        slope, offset = self.capacity_line
        return np.asarray(np.maximum(0.1, offset + slope * outdoor))

    def after(self, celsius: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """Temperature after a step, towards the one at which heat and loss are equal."""
        hours = STEP / HOUR
        kept = np.exp(-self.fit.loss_kw_per_k.value / self.fit.capacity_kwh_per_k.value * hours)
        return np.asarray(limit + (celsius - limit) * kept)

    def limit_celsius(self, outdoor: np.ndarray, heat_kw: np.ndarray) -> np.ndarray:
        """Temperature at which heat and loss are equal."""
        return outdoor + heat_kw / self.fit.loss_kw_per_k.value

    def gains_kw(self, sun_kw: np.ndarray) -> np.ndarray:
        """Heat of sun and people, in kW."""
        aperture = self.fit.aperture_m2
        return self.fit.gain_kw.value + (aperture.value if aperture else 0.0) * sun_kw


def read_market(path: Path) -> dict[datetime, float]:
    """Prices of hours by the wall clock of the market, in EUR per kWh."""
    prices: dict[datetime, float] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            text = row["Datetime (Local)"]
            if not text:
                continue  # empty lines at the end of the file
            form = "%d/%m/%Y %H:%M" if "/" in text else "%Y-%m-%d %H:%M:%S"
            # The hour that is there twice in autumn is not in the winter.
            prices[datetime.strptime(text, form)] = float(row["Price (EUR/MWhe)"]) / 1000
    return prices


def prices_of(part: WinterPart, market: dict[datetime, float]) -> np.ndarray:
    """Prices of a part of the winter, for each step."""
    values: list[float] = []
    for hour in range(part.days * 24):
        # The file lacks the first hour of 31 December 2023.
        price = market.get(
            part.start + part.prices_later + hour * HOUR, values[-1] if values else None
        )
        if price is None:
            message = f"no price at the start of {part.start:%Y-%m-%d}"
            raise SystemExit(message)
        values.append(price)
    return np.repeat(values, HOUR_STEPS)


def price_file() -> Path:
    """Find the day-ahead prices that the package `ev2gym` carries."""
    found = importlib.util.find_spec("ev2gym")
    if found is None or not found.submodule_search_locations:
        message = "ev2gym is not installed; run make houses"
        raise SystemExit(message)
    return Path(found.submodule_search_locations[0]) / "data" / PRICES


def heating_properties(house: House) -> dict[str, Any]:
    """Properties of the unit: the heat pump of a file, or its backup alone."""
    own = BUILDINGS[house.building][0]
    # The file before the renovation has a gas furnace: the heat pump is that of the renovation.
    name = "bldg0112631-up11.xml" if own.startswith("bldg") else own
    file = DEFAULTS / "Input Files" / name
    properties, _ = load_hpxml(hpxml_file=str(file), time_res=STEP)
    unit: dict[str, Any] = dict(properties["equipment"]["HVAC Heating"])
    if house.heating == "resistance":
        unit |= {"Equipment Name": "Furnace", "EIR (-)": 1.0}
        unit["Capacity (W)"] = unit["Backup Capacity (W)"]
    return unit


class Building:
    """A house of OCHRE, from an instant on."""

    def __init__(self, house: House, start: datetime, days: int) -> None:
        file, schedule = BUILDINGS[house.building]
        with contextlib.redirect_stdout(io.StringIO()):
            self._dwelling = ochre.Dwelling(
                name="house",
                start_time=start,
                time_res=STEP,
                duration=timedelta(days=days),
                initialization_time=timedelta(days=2),
                hpxml_file=str(DEFAULTS / "Input Files" / file),
                hpxml_schedule_file=str(DEFAULTS / "Input Files" / schedule),
                weather_file=str(DEFAULTS / "Weather" / CLIMATES[house.climate]),
                Equipment={"HVAC Heating": heating_properties(house)},
                save_results=False,
                verbosity=5,
                metrics_verbosity=0,
            )
        self._unit = self._dwelling.get_equipment_by_end_use("HVAC Heating")
        self.house, self.start, self.steps = house, start, days * DAY_STEPS
        schedules = self._dwelling.envelope.schedule
        self.weather = Weather(
            schedules["Ambient Dry Bulb (C)"].to_numpy(dtype=float),
            schedules["Window Irradiance (W)"].to_numpy(dtype=float) / 1000,
        )

    def at(self, step: int) -> datetime:
        """Start of a step, on the clock of the house."""
        return self.start + step * STEP

    @property
    def duct_share(self) -> float:
        """Share of the heat that arrives in the rooms."""
        return float(self._unit.duct_dse)

    @property
    def celsius(self) -> float:
        """Temperature of the rooms."""
        return float(self._dwelling.envelope.indoor_zone.temperature)

    def step(self, control: dict[str, float]) -> tuple[float, ...]:
        """Run one step. Nothing is cooled in winter."""
        before = self.celsius
        signals = {"HVAC Heating": control, "HVAC Cooling": {"Load Fraction": 0}}
        result = self._dwelling.update(control_signal=signals)
        return (
            before,
            float(result["Temperature - Indoor (C)"]),
            float(result["HVAC Heating Electric Power (kW)"]),
            float(result["HVAC Heating Delivered (W)"]) / 1000,
            float(self._unit.capacity_max) / 1000 * self.duct_share,
            float(getattr(self._unit, "er_capacity", 0.0)) / 1000,
        )


def course_of(rows: list[tuple[float, ...]]) -> Course:
    """Columns of the rows of a run."""
    return Course(*np.array(rows).T)


def run_thermostat(building: Building, set_points: list[float]) -> Course:
    """Run a house with its own thermostat."""
    return course_of([building.step({"Setpoint": celsius}) for celsius in set_points])


def identify_house(house: House, seed: int) -> Model:
    """Find the model of a house from three weeks in which its set point jumps."""
    building = Building(house, *TRAINING)
    draws = np.random.default_rng(seed).integers(0, 2, building.steps // BLOCK + 1)
    edges = np.where(np.repeat(draws, BLOCK)[: building.steps] == 1, PLANNED_MAX, BAND[0])
    course = run_thermostat(building, edges.tolist())
    outdoor, sun = building.weather
    hours = building.steps // HOUR_STEPS

    def hourly(values: np.ndarray) -> list[float]:
        means = values[: building.steps].reshape(hours, HOUR_STEPS).mean(axis=1)
        return [float(mean) for mean in means]

    fit = sw.identify_heat(
        [(building.start + hour * HOUR).replace(tzinfo=UTC) for hour in range(hours)],
        temperature_celsius=course.before_celsius[::HOUR_STEPS].tolist(),
        outdoor_celsius=hourly(outdoor),
        heat_kw=hourly(course.heat_kw),
        irradiance_kw_per_m2=hourly(sun),
    )
    # What the unit does by itself, without its backup, as straight lines over the weather.
    own = (course.electric_kw > 0.2) & (course.backup_kw <= 0)
    outside = outdoor[: building.steps][own]
    slope, offset = np.polyfit(outside, course.heat_kw[own] / course.electric_kw[own], 1)
    ends = (float(outside.min()), float(outside.max()))
    cop = [(celsius, max(0.3, float(offset + slope * celsius))) for celsius in ends]
    line = np.polyfit(outside, course.capacity_kw[own], 1)
    # What the rooms take up within the band: more heat only makes the air too warm.
    absorbed_max_kw = float(np.quantile(course.heat_kw[edges == PLANNED_MAX], 0.9))
    return Model(fit, cop, (float(line[0]), float(line[1])), absorbed_max_kw)


class Controller:
    """Plans of a house, made anew each hour, and the orders that follow from them."""

    def __init__(self, building: Building, model: Model, prices: np.ndarray) -> None:
        self._building, self._model, self._prices = building, model, prices
        self._cop = model.cop_at(building.weather.outdoor_celsius)
        self._heat_max_kw = model.heat_max_kw(building.weather.outdoor_celsius)
        self._gains_kw = model.gains_kw(building.weather.sun_kw)
        # Temperature of the model, which follows the measured one slowly.
        self._celsius = building.celsius

    def plan(self, step: int) -> sw.HeatPlan:
        """Plan from a step to the end of the day until which prices are known."""
        at = self._building.at(step)
        # The prices of tomorrow are published at one o'clock.
        days = 2 if at.hour >= 13 else 1
        end = at.replace(hour=0, minute=0) + timedelta(days=days)
        steps = range(step, min(step + (end - at) // STEP, self._building.steps))
        now = at.replace(tzinfo=UTC)
        limits = [
            (now + count * STEP, now + (count + 1) * STEP, self._electric_max_kw(index))
            for count, index in enumerate(steps)
        ]
        fit, edges = self._model.fit, (BAND[0] + MARGIN_K, PLANNED_MAX)
        night = sw.SetBack(SET_BACK[0], SET_BACK[1], SET_BACK[2] + MARGIN_K, edges[1])
        return sw.plan_heat(
            sw.Prices.from_values(
                now, self._prices[steps.start : steps.stop].tolist(), slot=STEP, currency="EUR"
            ),
            now=now,
            capacity_kwh_per_k=fit.capacity_kwh_per_k.value,
            loss_kw_per_k=fit.loss_kw_per_k.value,
            temperature_celsius=self._planned_celsius(at),
            comfort_celsius=edges,
            set_backs=[night] if self._building.house.has_set_back else [],
            power_max_kw=max(power for _, _, power in limits),
            power_limits=limits,
            cop=self._model.cop,
            outdoor_celsius=[float(self._building.weather.outdoor_celsius[i]) for i in steps],
            gains_kw=[float(self._gains_kw[index]) for index in steps],
        )

    def _electric_max_kw(self, step: int) -> float:
        heat_kw = min(float(self._heat_max_kw[step]), self._model.absorbed_max_kw)
        return heat_kw / float(self._cop[step])

    def _planned_celsius(self, at: datetime) -> float:
        """Temperature of the model, which is in the band wherever the air is."""
        low = self._building.house.low_at(at) + MARGIN_K
        is_warm = self._building.celsius >= low - MARGIN_K
        return max(self._celsius, low) if is_warm else self._building.celsius

    def _follow(self, step: int, heat_kw: float) -> None:
        """Move the temperature of the model by a step, and correct it by the measured one."""
        weather = self._building.weather
        limit = self._model.limit_celsius(
            weather.outdoor_celsius[step], heat_kw + self._gains_kw[step]
        )
        celsius = float(self._model.after(np.array(self._celsius), limit))
        share = CORRECTION * (STEP / HOUR)
        self._celsius = celsius + share * (self._building.celsius - celsius)

    def order(self, step: int, slot: sw.HeatSlot) -> dict[str, float]:
        """Set point of a step: the upper one where the plan heats ahead of a need."""
        low = self._building.house.low_at(self._building.at(step)) + MARGIN_K
        heat_kw = slot.used_kwh / (STEP / HOUR) * slot.cop
        is_ahead = (
            slot.temperature_celsius > low + 0.02 and self._building.celsius >= low - MARGIN_K
        )
        # Less than half of what the rooms take up is what the lower edge needs, or a rest.
        if is_ahead and heat_kw > self._model.absorbed_max_kw / 2:
            return {"Setpoint": PLANNED_MAX, "Max ER Capacity Fraction": 0.0}
        # The thermostat decides how much the edge needs, and whether with the backup.
        return {"Setpoint": low, "Max ER Capacity Fraction": 1.0}

    def run(self) -> Course:
        """Run a house by plans."""
        rows, slots = [], []
        for step in range(self._building.steps):
            if step % HOUR_STEPS == 0:
                slots = self.plan(step).slots
            row = self._building.step(self.order(step, slots[step % HOUR_STEPS]))
            self._follow(step, row[3])
            rows.append(row)
        return course_of(rows)


def judge_run(building: Building, course: Course, prices: np.ndarray) -> WinterRun:
    """Bill, energy and degree-hours of a run."""
    hours = STEP / HOUR
    instants = [building.at(step) for step in range(building.steps)]
    # A temperature is that at the end of a step, and is held against the band before it.
    low = np.array([building.house.low_at(at) for at in instants])
    below = np.maximum(0.0, low - course.after_celsius)
    above = np.maximum(0.0, course.after_celsius - BAND[1])
    return WinterRun(
        bill=float(course.electric_kw @ prices * hours),
        used_kwh=float(course.electric_kw.sum() * hours),
        below_celsius_hours=float(below.sum() * hours),
        above_celsius_hours=float(above.sum() * hours),
        mean_celsius=float(course.after_celsius.mean()),
    )


def mismatch_celsius(building: Building, course: Course, model: Model, hours: int) -> float:
    """Root mean square error of the model some hours ahead, with the heat that was measured."""
    outdoor = building.weather.outdoor_celsius[: building.steps]
    gains = model.gains_kw(building.weather.sun_kw[: building.steps])
    limit = model.limit_celsius(outdoor, course.heat_kw + gains)
    steps = hours * HOUR_STEPS
    starts = np.arange(0, building.steps - steps, HOUR_STEPS)
    celsius = course.before_celsius[starts]
    for step in range(steps):
        celsius = model.after(celsius, limit[starts + step])
    errors = celsius - course.after_celsius[starts + steps - 1]
    return float(np.sqrt(np.mean(errors**2)))


def sum_runs(runs: list[WinterRun]) -> WinterRun:
    """Runs of the parts of a winter as one."""
    days = [part.days for part in WINTER]
    return WinterRun(
        bill=sum(run.bill for run in runs),
        used_kwh=sum(run.used_kwh for run in runs),
        below_celsius_hours=sum(run.below_celsius_hours for run in runs),
        above_celsius_hours=sum(run.above_celsius_hours for run in runs),
        mean_celsius=float(np.average([run.mean_celsius for run in runs], weights=days)),
    )


def run_house(index: int) -> HouseResult:
    """Identify a house, and run its winter three times."""
    house = ALL_HOUSES[index]
    market = read_market(price_file())
    model = identify_house(house, seed=index)
    own, lowest, planned, mismatches = [], [], [], []
    for part in WINTER:
        prices = prices_of(part, market)
        building = Building(house, part.start, part.days)
        instants = [building.at(step) for step in range(building.steps)]
        course = run_thermostat(building, [house.set_point_at(at) for at in instants])
        own.append(judge_run(building, course, prices))
        building = Building(house, part.start, part.days)
        course = run_thermostat(building, [house.low_at(at) for at in instants])
        lowest.append(judge_run(building, course, prices))
        building = Building(house, part.start, part.days)
        course = Controller(building, model, prices).run()
        planned.append(judge_run(building, course, prices))
        mismatches.append(mismatch_celsius(building, course, model, 6))
    fit = model.fit
    return HouseResult(
        **house._asdict(),
        loss_kw_per_k=(fit.loss_kw_per_k.value, fit.loss_kw_per_k.low, fit.loss_kw_per_k.high),
        capacity_kwh_per_k=(
            fit.capacity_kwh_per_k.value,
            fit.capacity_kwh_per_k.low,
            fit.capacity_kwh_per_k.high,
        ),
        fit_rmse_celsius=fit.rmse_celsius,
        mismatch_6h_celsius=max(mismatches),
        own=sum_runs(own),
        lowest=sum_runs(lowest),
        planned=sum_runs(planned),
    )


def main() -> None:
    """Run all houses on all cores, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="file of all figures")
    parser.add_argument("--houses", type=int, default=len(ALL_HOUSES), help="run the first ones")
    parser.add_argument("--processes", type=int, help="without it, one for each core")
    chosen = parser.parse_args()
    results = []
    with multiprocessing.Pool(chosen.processes) as pool:
        for result in pool.imap(run_house, range(chosen.houses)):
            saved = 1 - result.planned.bill / result.own.bill
            print(f"{result.building}, {result.climate}, {result.heating}: {saved:.1%}", flush=True)
            results.append(result)
            figures = json.dumps([asdict(house) for house in results], indent=1)
            chosen.json.write_text(figures + "\n")
    # A part of the houses is a trial: the page is of all.
    if chosen.houses == len(ALL_HOUSES):
        PAGE.write_text(write_page(results, version("ochre-nrel"), version("ev2gym")))


if __name__ == "__main__":
    main()
