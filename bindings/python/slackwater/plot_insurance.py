"""The picture of an insurance frontier, with matplotlib (``slackwater[plot]``)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from slackwater import _view
from slackwater.plot import DPI, FAINT_INK, INK, PlanFigure, _dress, _plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slackwater.questions import InsuranceFrontier

SIZE_INCHES = (6.4, 4.0)
LABELS_MAX = 12


def plot_insurance(frontier: InsuranceFrontier, *, time_zone: str = "UTC") -> Figure:
    """Draw the added cost against energy, or state of charge if the plan knows a battery.

    Each corner is a point. Beside each piece stands the price of a kWh on it,
    unless there are many.

    Args:
        frontier: The frontier.
        time_zone: IANA name of the zone in whose wall clock the title speaks.

    Returns:
        The figure.

    Example:
        >>> from datetime import UTC, datetime, timedelta
        >>> import slackwater as sw
        >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
        >>> prices = sw.Prices.from_values(six, [0.30, 0.20, 0.10], currency="EUR")
        >>> plan = sw.plan_charge(prices, now=six, power_max_kw=10, targets=[(None, 15)])
        >>> figure = plot_insurance(sw.insurance_frontier(plan, at=six + 2 * hour))
        >>> figure.axes[0].get_ylabel()
        'Added cost (EUR)'
    """
    figure = PlanFigure(figsize=SIZE_INCHES, dpi=DPI, layout="constrained", facecolor="white")
    axes = figure.subplots()
    _dress(axes)
    points = frontier.points
    knows_soc = all(point.soc_percent is not None for point in points)
    levels = [point.soc_percent or 0.0 if knows_soc else point.energy_kwh for point in points]
    costs = [point.added_cost for point in points]
    axes.plot(levels, costs, color=INK, linewidth=1.8, marker="o", markersize=5, gid="frontier")
    is_sparse = len(points) <= LABELS_MAX
    for index, point in enumerate(points[:-1] if is_sparse else ()):
        middle = ((levels[index] + levels[index + 1]) / 2, (costs[index] + costs[index + 1]) / 2)
        axes.annotate(
            f"{_view.number(point.marginal_price_per_kwh or 0.0, 3)}/kWh",
            middle,
            xytext=(-6, 6),
            ha="right",
            textcoords="offset points",
            fontsize=8,
            color=FAINT_INK,
        )
    zone = ZoneInfo(time_zone)
    axes.set_title(
        _plain(f"To be ready by {_view.clock(frontier.at, zone)}"), loc="left", color=INK
    )
    axes.set_xlabel("State of charge (%)" if knows_soc else "Energy (kWh)")
    axes.set_ylabel(_plain(f"Added cost ({frontier.currency})"))
    axes.set_ylim(bottom=0)
    return figure
