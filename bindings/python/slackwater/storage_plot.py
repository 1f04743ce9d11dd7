"""Pictures of storage plans, with matplotlib (``slackwater[plot]``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch

from slackwater import _view
from slackwater._clock import LocalClock, LocalClockFormatter, number_of
from slackwater._view import MET_COLOUR, MISSED_COLOUR
from slackwater.plot import (
    DPI,
    FAINT_INK,
    INK,
    PlanFigure,
    _dress,
    _plain,
    _say,
    _stairs,
    mark_estimates,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slackwater._engine import StorageSlot
    from slackwater.storage import StoragePlan

BUY_COLOUR = "#1f63dd"
SELL_COLOUR = "#cf8202"
DRIVE_COLOUR = "#9d3ca8"
SIZE_INCHES = (8.0, 6.4)


def plot_storage(plan: StoragePlan, *, time_zone: str = "UTC") -> Figure:
    """Draw prices, power, and state of charge, one below the other.

    Above are the prices to buy at and, dashed, to sell at, with a gap wherever
    there is none. In the middle is the power, up where the plan buys and down
    where it sells. Below is the state of charge in its feasible
    range; a dot marks a target, green if it is met. Periods of
    driving are shaded.

    Args:
        plan: The plan.
        time_zone: IANA name of the zone of the time axis.

    Returns:
        The figure. ``figure.savefig("plan.png")`` writes it to a file.

    Raises:
        InputError: The time zone is unknown.

    Example:
        >>> from datetime import UTC, datetime
        >>> import slackwater as sw
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = sw.Prices.from_values(six, [0.10, 0.40, 0.20], currency="EUR")
        >>> battery = sw.Battery(capacity_kwh=10, soc_percent=50)
        >>> plan = sw.plan_storage(
        ...     prices, now=six, battery=battery, power_max_kw=4, discharge_max_kw=4
        ... )
        >>> [axes.get_ylabel() for axes in plot_storage(plan).axes]
        ['Price (EUR/kWh)', 'Power (kW)', 'State of charge (%)']
    """
    plan.explain(time_zone=time_zone)  # Refuses a zone that does not exist.
    zone = ZoneInfo(time_zone)
    engine = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    figure = PlanFigure(figsize=SIZE_INCHES, dpi=DPI, layout=engine, facecolor="white")
    above, middle, below = figure.subplots(3, 1, sharex=True, height_ratios=[3, 2, 3])
    slots = plan.slots
    handles: list[Any] = []
    for axes in (above, middle, below):
        _dress(axes)
    if slots:
        _set_clock((above, middle, below), slots, zone)
        _draw_driving((above, middle, below), slots)
        _draw_prices(above, slots)
        _draw_power(middle, plan)
        _draw_level(below, plan, slots)
        mark_estimates(above, plan.prices, handles)
        mark_estimates(above, plan.export_prices, handles)
    else:
        _say(above, "no prices in this period")
    above.set_ylabel(_plain(f"Price ({plan.currency}/kWh)"))
    middle.set_ylabel("Power (kW)")
    below.set_ylabel("State of charge (%)")
    below.set_xlabel(f"Time in {time_zone}")
    _head(above, plan, slots, zone, handles)
    return figure


def _set_clock(panels: Sequence[Axes], slots: Sequence[StorageSlot], zone: ZoneInfo) -> None:
    for axes in panels:
        axes.xaxis_date(tz=zone)
        axes.set_xlim(number_of(slots[0].start), number_of(slots[-1].end))
        axes.xaxis.set_major_locator(LocalClock(zone))
        axes.xaxis.set_major_formatter(LocalClockFormatter(zone))
    for axes in panels[:-1]:
        axes.tick_params(labelbottom=False)


def _draw_driving(panels: Sequence[Axes], slots: Sequence[StorageSlot]) -> None:
    for slot in slots:
        if slot.driven_kwh > 0:
            for axes in panels:
                axes.axvspan(
                    number_of(slot.start),
                    number_of(slot.end),
                    color=DRIVE_COLOUR,
                    alpha=0.13,
                    linewidth=0,
                    zorder=0.5,
                    gid="driving",
                )


def _draw_prices(above: Axes, slots: Sequence[StorageSlot]) -> None:
    buying = [
        (slot.start, slot.end, slot.import_price_per_kwh)
        for slot in slots
        if slot.import_price_per_kwh is not None
    ]
    selling = [
        (slot.start, slot.end, slot.export_price_per_kwh)
        for slot in slots
        if slot.export_price_per_kwh is not None
    ]
    lines: list[tuple[Any, str, str, Any]] = [
        (buying, "to buy", INK, "solid"),
        (selling, "to sell", SELL_COLOUR, (0, (4, 2))),
    ]
    for steps, label, colour, style in lines:
        if steps:
            values, edges = _stairs(steps)
            above.stairs(
                values,
                edges,
                baseline=None,
                color=colour,
                linewidth=1.5,
                linestyle=style,
                label=label,
                gid=f"price-{label}",
            )
    above.axhline(0, color=FAINT_INK, linewidth=0.8)
    if not buying:
        _say(above, "no prices in this period")


def _draw_power(middle: Axes, plan: StoragePlan) -> None:
    for interval in plan.intervals:
        colour = BUY_COLOUR if interval.power_kw > 0 else SELL_COLOUR
        middle.stairs(
            [interval.power_kw],
            [number_of(interval.start), number_of(interval.end)],
            fill=True,
            color=colour,
            linewidth=0,
            gid="buys" if interval.power_kw > 0 else "sells",
        )
    middle.axhline(0, color=FAINT_INK, linewidth=0.8)


def _draw_level(below: Axes, plan: StoragePlan, slots: Sequence[StorageSlot]) -> None:
    edges = [number_of(slot.start) for slot in slots] + [number_of(slots[-1].end)]
    low = [slot.soc_min_percent for slot in slots]
    high = [slot.soc_max_percent for slot in slots]
    below.fill_between(
        edges,
        [*low, low[-1]],
        [*high, high[-1]],
        step="post",
        color=INK,
        alpha=0.08,
        linewidth=0,
        label="within targets and limits",
        gid="band",
    )
    corners = {corner for i in plan.intervals for corner in (i.start, i.end)}
    times = sorted({slots[0].start, *(slot.end for slot in slots), *corners})
    levels = [plan.soc_percent_by(at) for at in times]
    below.plot([number_of(at) for at in times], levels, color=INK, linewidth=1.8, gid="soc")
    below.set_ylim(0, 105)
    below.set_yticks([0, 25, 50, 75, 100])
    for target in plan.targets:
        at = target.by or slots[-1].end
        if slots[0].start <= at <= slots[-1].end:
            is_met = target.shortfall_kwh == 0
            below.plot(
                number_of(at),
                target.wanted_percent,
                marker="o" if is_met else "X",
                markersize=10,
                color=MET_COLOUR if is_met else MISSED_COLOUR,
                clip_on=False,
                zorder=6,
                gid="target-met" if is_met else "target-missed",
            )


def _head(
    above: Axes,
    plan: StoragePlan,
    slots: Sequence[StorageSlot],
    zone: ZoneInfo,
    estimates: list[Any],
) -> None:
    handles, _ = above.get_legend_handles_labels()
    handles += [
        *estimates,
        Patch(facecolor=BUY_COLOUR, label="buys"),
        Patch(facecolor=SELL_COLOUR, label="sells"),
        Patch(facecolor=INK, alpha=0.08, label="feasible state of charge"),
    ]
    if any(slot.driven_kwh > 0 for slot in slots):
        handles.append(Patch(facecolor=DRIVE_COLOUR, alpha=0.13, label="drives"))
    above.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=6,
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        columnspacing=1.2,
        handlelength=1.4,
    )
    facts = [_view.storage_proof(plan)]
    if slots:
        facts.insert(0, _view.span(slots[0].start, slots[-1].end, zone))
    above.annotate(
        " · ".join(facts),
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, 22),
        textcoords="offset points",
        fontsize=9,
        color=FAINT_INK,
    )
    title: dict[str, Any] = {"pad": 38, "fontweight": "bold", "color": INK}
    above.set_title(_plain(_view.storage_headline(plan)), loc="left", fontsize=12, **title)
