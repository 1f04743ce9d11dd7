"""Pictures of areas, with matplotlib (``slackwater[plot]``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from matplotlib.layout_engine import ConstrainedLayoutEngine

from slackwater._clock import LocalClock, LocalClockFormatter, number_of
from slackwater._engine import InputError
from slackwater.area_node import holds_all, per_slot
from slackwater.plot import DPI, FAINT_INK, GRID, INK, SIZE_INCHES, PlanFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slackwater.area_node import Node
    from slackwater.area_types import NodeLoad
    from slackwater.coordinate import AreaPlan

UNMANAGED = "#b8860b"
PRICE_ONLY = "#8c6bb1"
COORDINATED = "#1b7f79"
LIMIT = "#b3261e"


def plot_area(plan: AreaPlan, at: int, nodes: Sequence[Node], time_zone: str) -> Figure:
    """Draw loads of a node against its limit, and shadow prices below.

    Args:
        plan: The plan.
        at: Position of the node to draw.
        nodes: All nodes.
        time_zone: IANA name of the zone of the time axis.

    Returns:
        The figure.

    Raises:
        InputError: The time zone is unknown.
    """
    try:
        zone = ZoneInfo(time_zone)
    except (ValueError, ZoneInfoNotFoundError):
        message = f"time_zone: {time_zone!r} is no IANA time zone"
        raise InputError(message) from None
    engine = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    figure = PlanFigure(figsize=SIZE_INCHES, dpi=DPI, layout=engine, facecolor="white")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1.4])
    for axes in (above, below):
        _dress(axes)
    edges = _edges(plan)
    node, load = nodes[at], plan.nodes[at]
    is_all = holds_all(nodes, node)
    if edges:
        _loads(above, plan, (node, load), edges, is_all=is_all)
        _prices(below, load, edges, is_money=plan.withheld_kwh == 0)
        for axes in (above, below):
            axes.xaxis_date(tz=zone)
            axes.set_xlim(edges[0], edges[-1])
            axes.xaxis.set_major_locator(LocalClock(zone))
            axes.xaxis.set_major_formatter(LocalClockFormatter(zone))
        above.tick_params(labelbottom=False)
    above.set_ylabel("Load (kW)")
    below.set_ylabel(_meaning(plan).replace("$", r"\$"))
    below.set_xlabel(f"Time in {time_zone}")
    above.set_title(_title(plan, node, is_all=is_all), loc="left", fontsize=10, color=INK)
    return figure


def _title(plan: AreaPlan, node: Node, *, is_all: bool) -> str:
    whole = "" if is_all else "of an area with "
    text = f"{node.name}: {whole}{plan.cost:,.2f} {plan.currency}, gap {plan.relative_gap:.1e}"
    if plan.shortfall_kwh > 0:
        text += f", {plan.shortfall_kwh:,.1f} kWh unmet"
    return text.replace("$", r"\$")


def _meaning(plan: AreaPlan) -> str:
    """Label of the lower chart; in a shortage its values rank slots and are no prices."""
    if plan.withheld_kwh > 0:
        return "Capacity is short\n(ranking, not a price)"
    return f"Shadow price\n({plan.currency}/kWh)"


def _dress(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT_INK)
    axes.tick_params(colors=FAINT_INK, labelcolor=INK, labelsize=9)
    axes.grid(visible=True, axis="y", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _edges(plan: AreaPlan) -> list[float]:
    """Boundaries of the slots; a gap in the prices joins the slot before it."""
    periods = plan.periods
    starts = [number_of(start) for start, _ in periods]
    return [*starts, number_of(periods[-1][1])] if periods else []


def _loads(
    axes: Axes,
    plan: AreaPlan,
    drawn: tuple[Node, NodeLoad],
    edges: list[float],
    *,
    is_all: bool,
) -> None:
    node, at = drawn
    load = at.load_kw
    others = (
        ("unmanaged", UNMANAGED, plan.baseline_load_kw),
        ("price only", PRICE_ONLY, plan.price_only_load_kw),
    )
    for label, color, vehicles in others if is_all else ():
        values = [base + more for base, more in zip(at.base_kw, vehicles, strict=True)]
        axes.stairs(values, edges, color=color, linewidth=1.2, label=label)
    axes.stairs(
        load, edges, fill=True, color=COORDINATED, alpha=0.3, linewidth=0, label="coordinated"
    )
    axes.stairs(load, edges, color=COORDINATED, linewidth=1.4)
    if node.limit_kw is not None:
        limits = per_slot(node.limit_kw, len(load))
        axes.stairs(
            [float("nan") if limit is None else limit for limit in limits],
            edges,
            baseline=None,
            color=LIMIT,
            linewidth=1.4,
            linestyle=(0, (5, 3)),
            label="limit",
        )
    # Room for the legend above the lines.
    axes.set_ylim(bottom=min(0.0, *load), top=axes.get_ylim()[1] * 1.12)
    axes.legend(frameon=False, fontsize=8.5, ncols=4, loc="upper right")


def _prices(axes: Axes, at: NodeLoad, edges: list[float], *, is_money: bool) -> None:
    axes.stairs(at.congestion_price_per_kwh, edges, fill=True, color=LIMIT, alpha=0.35, linewidth=0)
    axes.stairs(
        at.congestion_price_per_kwh, edges, color=LIMIT, linewidth=1.2, label="shadow price"
    )
    axes.set_ylim(bottom=min(0.0, *at.congestion_price_per_kwh))
    if not is_money:
        axes.tick_params(labelleft=False)
