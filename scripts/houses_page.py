"""Writes `docs/explanation/houses.md` from the figures of `scripts/houses.py`."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[1] / "docs" / "explanation" / "houses.md"
GOAL: Final = 0.15
# Degree-hours that a table shows as zero.
NEGLIGIBLE: Final = 0.05
BILL_HEAD: Final = [
    "house",
    "thermostat, EUR",
    "plan, EUR",
    "saved",
    "saved by timing",
    "outside the band, °C·h: thermostat",
    "plan",
    "mean °C: thermostat",
    "plan",
]
MODEL_HEAD: Final = [
    "house",
    "loss, kW/K (95 %)",
    "capacity, kWh/K (95 %)",
    "time constant, h",
    "error of the fit, °C",
    "error six hours ahead, °C",
]


@dataclass(frozen=True)
class WinterRun:
    """A winter of one house.

    Attributes:
        bill: Electricity of the heating at the market's prices, in EUR.
        used_kwh: That electricity.
        below_celsius_hours: Degree-hours below the band.
        above_celsius_hours: Degree-hours above it.
        mean_celsius: Mean temperature of the rooms.
    """

    bill: float
    used_kwh: float
    below_celsius_hours: float
    above_celsius_hours: float
    mean_celsius: float

    @property
    def outside_celsius_hours(self) -> float:
        """Degree-hours on both sides of the band."""
        return self.below_celsius_hours + self.above_celsius_hours


@dataclass(frozen=True)
class HouseResult:
    """All figures of a house.

    Attributes:
        building: Name of the building.
        climate: Where the weather is from.
        heating: Kind of unit.
        has_set_back: Whether its thermostat is lower at night.
        loss_kw_per_k: Heat loss with the ends of its interval.
        capacity_kwh_per_k: Heat capacity with the ends of its interval.
        fit_rmse_celsius: Error of the fitted model in the weeks of the fit.
        mismatch_6h_celsius: Error of the model six hours ahead, in the winter.
        own: Winter with its own thermostat.
        lowest: Winter with the thermostat at the lower edge of the band.
        planned: Winter with plans.
    """

    building: str
    climate: str
    heating: str
    has_set_back: bool
    loss_kw_per_k: tuple[float, float, float]
    capacity_kwh_per_k: tuple[float, float, float]
    fit_rmse_celsius: float
    mismatch_6h_celsius: float
    own: WinterRun
    lowest: WinterRun
    planned: WinterRun

    @property
    def saving(self) -> float:
        """Share of its own thermostat's bill that the plans save."""
        return 1 - self.planned.bill / self.own.bill

    @property
    def saving_by_timing(self) -> float:
        """Share of the bill at the lower edge that the plans save: no part of it is colder rooms."""
        return 1 - self.planned.bill / self.lowest.bill

    @property
    def is_as_comfortable(self) -> bool:
        """Whether the plans have no more degree-hours outside the band than its own thermostat."""
        outside = self.planned.outside_celsius_hours
        return outside <= self.own.outside_celsius_hours + NEGLIGIBLE


def table(head: list[str], rows: list[list[str]]) -> str:
    """Table in Markdown; the first column is text, the others are figures."""
    lines = [head, [":--", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def name_of(house: HouseResult) -> str:
    """Name of a house in the tables."""
    night = ", set-back at night" if house.has_set_back else ""
    return f"{house.building}, {house.climate}, {house.heating}{night}"


def bill_rows(houses: list[HouseResult]) -> list[list[str]]:
    """Rows of bills and comfort."""
    return [
        [
            name_of(house),
            f"{house.own.bill:.0f}",
            f"{house.planned.bill:.0f}",
            f"{house.saving:.1%}",
            f"{house.saving_by_timing:.1%}",
            f"{house.own.outside_celsius_hours:.1f}",
            f"{house.planned.outside_celsius_hours:.1f}",
            f"{house.own.mean_celsius:.1f}",
            f"{house.planned.mean_celsius:.1f}",
        ]
        for house in houses
    ]


def model_rows(houses: list[HouseResult]) -> list[list[str]]:
    """Rows of the models and their errors."""
    return [
        [
            name_of(house),
            "{:.3f} ({:.3f} to {:.3f})".format(*house.loss_kw_per_k),
            "{:.1f} ({:.1f} to {:.1f})".format(*house.capacity_kwh_per_k),
            f"{house.capacity_kwh_per_k[0] / house.loss_kw_per_k[0]:.0f}",
            f"{house.fit_rmse_celsius:.2f}",
            f"{house.mismatch_6h_celsius:.2f}",
        ]
        for house in houses
    ]


def summary(houses: list[HouseResult]) -> str:
    """Figures of all houses in sentences."""
    total_own = sum(house.own.bill for house in houses)
    total = 1 - sum(house.planned.bill for house in houses) / total_own
    lowest = sum(house.lowest.bill for house in houses)
    by_timing = 1 - sum(house.planned.bill for house in houses) / lowest
    median = statistics.median(house.saving for house in houses)
    reached = sum(house.saving >= GOAL for house in houses)
    comfortable = sum(house.is_as_comfortable for house in houses)
    return (
        f"The plans of the {len(houses)} houses cost {total:.1%} less than their thermostats, and in "
        f"the median house {median:.1%} less. In {reached} houses they save {GOAL:.0%} or more, and "
        f"{comfortable} have no more degree-hours outside the band than with the thermostat. Against "
        f"a thermostat at the lower edge of the band, which is the part of the timing alone, the "
        f"plans save {by_timing:.1%}."
    )


def write_page(houses: list[HouseResult], ochre: str, ev2gym: str) -> str:
    """Text of the page."""
    bills = table(BILL_HEAD, bill_rows(houses))
    models = table(MODEL_HEAD, model_rows(houses))
    return TEXT.format(
        summary=summary(houses), bills=bills, models=models, ochre=ochre, ev2gym=ev2gym
    )


TEXT: Final = """\
# Heat plans in houses of another model

`make houses` writes this page: to change a figure, run it again. It heats houses of
[OCHRE](https://pypi.org/project/ochre-nrel/) {ochre} through a winter. A house there has walls, air, ducts, crawl space, sun
through each window and people with their devices; a plan knows one heat capacity and one loss. So the page shows what plans
save where their model is wrong.

{summary}

## What is compared

| | |
|:--|:--|
| houses | three buildings of OCHRE's files, in the weather of two places, with a heat pump or resistance heating, with and without a set-back at night |
| winter | December to February, in steps of an hour |
| prices | the day-ahead market of the Netherlands in the winter of 2023/24, from [ev2gym](https://pypi.org/project/ev2gym/) {ev2gym}, without taxes and fees; an hour that the file lacks costs what the one before it costs; the hours of its clock are those of the house's clock |
| band | 20 to 24 °C (ISO 7730, category B); from 18 °C while a set-back holds |
| thermostat | OCHRE's own, at the set points of its files: 22.2 °C, or 21.7 °C with 18.3 °C at night |
| plan | `plan_heat`, anew each hour with the measured temperature, until the end of the day whose prices are known; tomorrow's come at 13:00 |
| model | `identify_heat` on three weeks of November with a set point that jumps every six hours; efficiency and power of the unit as straight lines over the outdoor temperature, from the same weeks |
| start of a plan | the temperature of the model, moved on with the measured heat and corrected by a tenth of its difference from the air each hour |
| order | a set point of 21.5 °C where the plan heats ahead of a need, else the lower edge and 0.1 °C |

Weather is known without error to the plans; people and their devices are not known to them, beyond a constant gain. Nothing is
cooled.

A thermostat at 22 °C keeps the rooms warmer than the band asks for. So a part of the saving is colder rooms, within the band. The
column *saved by timing* leaves that part out: it compares with the thermostat at the lower edge of the band, which is as
cold as the band permits at every instant. Where it is negative, the heat that is stored ahead costs more than the cheap hours
save: the air of such a house follows its unit within an hour, and one heat capacity does not say so.

## Bills and comfort

{bills}

## The models, and how wrong they are

*Error six hours ahead* is the root mean square difference between house and model in the winter, if the model starts
at the measured temperature and gets the measured heat; of the two parts of the winter, the larger one.

{models}
"""
