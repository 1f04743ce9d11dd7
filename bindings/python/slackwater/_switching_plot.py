"""The picture of a plan of switching: prices above, power below."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from slackwater import _view
from slackwater._clock import LocalClock, LocalClockFormatter, number_of
from slackwater.plot import FAINT_INK, GRID, INK, PlanFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slackwater.switching import SwitchingPlan

SIZE_INCHES = (8.0, 4.2)
POWER_COLOUR = "#1f63dd"
TOP_OFF_COLOUR = "#1fa673"


def plot_switching(plan: SwitchingPlan, *, time_zone: str = "UTC") -> Figure:
    """Draw prices, and below them the power of each period.

    Args:
        plan: The plan.
        time_zone: IANA name of the zone of the time axis.

    Raises:
        InputError: The time zone is unknown.
    """
    plan.explain(time_zone=time_zone)  # Refuses a zone that nobody knows.
    zone = ZoneInfo(time_zone)
    figure = PlanFigure(figsize=SIZE_INCHES, layout="constrained")
    above: Axes
    below: Axes
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    figure.suptitle(
        f"{_view.energy(plan.energy_kwh)} for {_view.number(plan.cost)} {plan.currency} "
        f"in {_view.sessions(len(plan.sessions))}",
        color=INK,
    )
    edges: list[float] = []
    prices: list[float] = []
    for slot in plan.slots:
        start, end = number_of(slot.start), number_of(slot.end)
        if edges and start > edges[-1]:
            edges.append(start)  # Time without a price stays empty.
            prices.append(math.nan)
        edges += [start, end]
        prices += [slot.price_per_kwh] * 2
    above.plot(edges, prices, color=INK, linewidth=1.2)
    for interval in plan.intervals:
        below.fill_between(
            [number_of(interval.start), number_of(interval.end)],
            [interval.power_kw] * 2,
            color=TOP_OFF_COLOUR if interval.is_top_off else POWER_COLOUR,
            linewidth=0,
        )
    above.set_ylabel(f"{plan.currency} per kWh", color=FAINT_INK)
    below.set_ylabel("kW", color=FAINT_INK)
    below.set_ylim(bottom=0)
    for axes in (above, below):
        axes.grid(visible=True, axis="y", color=GRID)
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis_date(tz=zone)
        axes.xaxis.set_major_locator(LocalClock(zone))
        axes.xaxis.set_major_formatter(LocalClockFormatter(zone))
    above.tick_params(labelbottom=False)
    return figure
