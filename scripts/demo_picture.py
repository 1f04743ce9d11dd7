"""The picture of the demo: what a fleet draws, unmanaged and planned, under the price."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
from matplotlib import dates as mdates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter

from demo_fleet import Fleet, Floats, edges, mean_power_kw

INK = "#1f2933"
FAINT_INK = "#5d6b79"
GRID = "#e3e8ec"
PLANNED = "#1a6fdb"
UNMANAGED = "#e07b39"

STEP_MIN, STEP_MAX = timedelta(minutes=15), timedelta(hours=1)
MEGAWATT_KW = 1000
DAY_US = 86_400_000_000
DAYS_OF_WEEK = 7
DAYS_MAX = 16
DAYS_WITH_HOURS = 3
SHADED_FROM = 0.05


@dataclass(frozen=True)
class Load:
    """What a fleet draws in each step of a period, in kW.

    Attributes:
        boundaries: Ends of the steps, in microseconds since 1970.
        planned: Mean power of the plans.
        unmanaged: Mean power at full power from plug-in.
    """

    boundaries: npt.NDArray[np.int64]
    planned: Floats
    unmanaged: Floats

    @classmethod
    def of(cls, fleet: Fleet, first: datetime, last: datetime) -> Load:
        """Add up the plans of a fleet in steps of the shortest slot of the prices."""
        lengths = (end - start for start, end, _ in fleet.prices.between(first, last).slots)
        step = min(lengths, default=STEP_MAX)
        boundaries = edges(first, last, max(STEP_MIN, min(step, STEP_MAX)))
        planned = mean_power_kw(fleet.plans, boundaries)
        return cls(boundaries, planned, mean_power_kw(fleet.unmanaged(), boundaries))

    @property
    def most(self) -> float:
        """The highest power."""
        return float(max(self.planned.max(initial=0), self.unmanaged.max(initial=0)))


def draw(fleet: Fleet, path: Path, *, title: str, start: date | None = None) -> None:
    """Draw what a fleet draws with and without planning, and write a PNG.

    Args:
        fleet: The fleet and its plans.
        path: The file.
        title: What the picture says.
        start: First day of a week to show; without it, all days of the stays,
            as far as they fit.
    """
    zone = ZoneInfo(fleet.time_zone)
    midnights = _days(fleet, zone, start)
    first, last = midnights[0], midnights[-1]
    load = Load.of(fleet, first, last)
    figure = Figure(figsize=(11, 6.2), facecolor="white")
    prices, power = figure.subplots(
        2, 1, sharex=True, height_ratios=[1, 2.1], gridspec_kw={"hspace": 0.1}
    )
    figure.subplots_adjust(left=0.075, right=0.975, top=0.79, bottom=0.075)
    figure.text(0.075, 0.945, title, size=18, weight="bold", color=INK, va="center")
    figure.text(0.075, 0.892, _subtitle(fleet), size=11.5, color=FAINT_INK, va="center")
    _draw_price(prices, fleet, load)
    _draw_load(power, load)
    for axes in (prices, power):
        _style(axes, midnights)
    power.set_xlim(_number(first), _number(last))
    _label_days(power, midnights, zone)
    lines, labels = power.get_legend_handles_labels()
    figure.legend(
        lines,
        labels,
        loc="center left",
        bbox_to_anchor=(0.068, 0.835),
        ncols=3,
        frameon=False,
        fontsize=11,
        labelcolor=INK,
        handlelength=1.5,
    )
    figure.savefig(path, dpi=160)


def _subtitle(fleet: Fleet) -> str:
    money = fleet.prices.currency
    proof = ", every plan proved optimal" if fleet.is_proved else ""
    return (
        f"{fleet.total('cost'):,.0f} instead of {fleet.total('baseline_cost'):,.0f} {money} for "
        f"{fleet.total('energy_kwh'):,.0f} kWh: {fleet.savings_percent:.0f} % saved{proof}"
    )


def _days(fleet: Fleet, zone: ZoneInfo, start: date | None) -> list[datetime]:
    """The midnights of the days to show."""
    date_of = fleet.first.astimezone(zone).date() if start is None else start
    days = DAYS_MAX if start is None else DAYS_OF_WEEK
    dates = (date_of + timedelta(days=day) for day in range(days + 1))
    midnights = [datetime.combine(date, time(0), zone).astimezone(UTC) for date in dates]
    shown = next((day for day, at in enumerate(midnights) if at >= fleet.last), days)
    return midnights[: shown + 1]


def _number(at: datetime) -> float:
    return float(mdates.date2num(at))  # type: ignore[no-untyped-call]


def _draw_price(axes: Axes, fleet: Fleet, load: Load) -> None:
    first, last = (datetime.fromtimestamp(at / 1e6, UTC) for at in load.boundaries[[0, -1]])
    slots = fleet.prices.between(first, last).slots
    times: list[float] = []
    values: list[float] = []
    for start, end, price in slots:
        if times and times[-1] != _number(start):
            times.append(_number(start))
            values.append(float("nan"))
        times += [_number(start), _number(end)]
        values += [price, price]
    axes.plot(times, values, color=INK, linewidth=1.7, solid_joinstyle="miter")
    if min(values, default=0) < 0:
        axes.axhline(0, color=FAINT_INK, linewidth=0.8)
    axes.margins(y=0.12)
    axes.set_ylabel(f"Price ({fleet.prices.currency}/kWh)", color=INK)
    moved_to = (load.planned > load.unmanaged) & (load.planned > SHADED_FROM * load.most)
    times_of_load = load.boundaries / DAY_US
    for start, end, is_shaded in zip(times_of_load, times_of_load[1:], moved_to, strict=False):
        if is_shaded:
            axes.axvspan(start, end, color=PLANNED, alpha=0.16, linewidth=0)


def _draw_load(axes: Axes, load: Load) -> None:
    unit, scale = ("MW", MEGAWATT_KW) if load.most >= MEGAWATT_KW else ("kW", 1)
    times = load.boundaries / DAY_US
    planned, unmanaged = load.planned / scale, load.unmanaged / scale
    axes.stairs(planned, times, fill=True, color=PLANNED, alpha=0.25, linewidth=0)
    axes.stairs(planned, times, color=PLANNED, linewidth=1.8, label="planned")
    axes.stairs(unmanaged, times, fill=True, color=UNMANAGED, alpha=0.30, linewidth=0)
    label = "unmanaged: full power at plug-in"
    axes.stairs(unmanaged, times, color=UNMANAGED, linewidth=1.8, label=label)
    axes.fill_between(
        [], [], color=PLANNED, alpha=0.16, linewidth=0, label="hours into which charging moves"
    )
    axes.set_ylabel(f"Charging ({unit})", color=INK)
    axes.set_ylim(0, 1.08 * load.most / scale or 1)


def _style(axes: Axes, midnights: list[datetime]) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT_INK)
    axes.grid(axis="y", color=GRID, linewidth=0.9)
    axes.set_axisbelow(True)
    for at in midnights:
        axes.axvline(_number(at), color="#c9d1d8", linewidth=0.9, zorder=0.5)
    axes.tick_params(colors=INK, which="both", length=0, labelsize=10)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_locator(FixedLocator([]))
    axes.xaxis.set_major_formatter(NullFormatter())


def _label_days(axes: Axes, midnights: list[datetime], zone: ZoneInfo) -> None:
    """Write each day below its middle, so that no label stands for two days."""
    count = len(midnights) - 1
    for start, end in itertools.pairwise(midnights):
        local = start.astimezone(zone)
        day = f"{local:%a} {local.day} {local:%b}"
        if count > DAYS_OF_WEEK:
            day = day.replace(" ", "\n", 1)
        if count <= DAYS_WITH_HOURS:
            day = f"\n{day}"
            for hour in (6, 12, 18):
                at = datetime.combine(local.date(), time(hour), zone)
                _write_below(axes, at, f"{hour:02}:00")
        middle = start + (end - start) / 2
        _write_below(axes, middle, day)
        if end - start != timedelta(days=1):
            change = "25 hours" if end - start > timedelta(days=1) else "23 hours"
            axes.annotate(
                f"clocks change, {change}",
                (_number(middle), 1),
                (0, -3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="center",
                va="top",
                size=8,
                color=FAINT_INK,
            )


def _write_below(axes: Axes, at: datetime, text: str) -> None:
    axes.annotate(
        text,
        (_number(at), 0),
        (0, -6),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="center",
        va="top",
        size=10,
        color=INK,
    )
