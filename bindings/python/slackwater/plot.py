"""Pictures of plans, with matplotlib (``slackwater[plot]``).

Figures are made directly and never registered with ``pyplot``, so there is
nothing to close, and no display is needed.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch
from matplotlib.path import Path

from slackwater import _clock, _view
from slackwater._clock import LocalClock, LocalClockFormatter, number_of
from slackwater._view import LOOKS, MET_COLOUR, MISSED_COLOUR, View

if TYPE_CHECKING:
    from slackwater._engine import Reason
    from slackwater.plan import Plan
    from slackwater.prices import Prices

INK = "#1f2933"
FAINT_INK = "#5d6b79"
GRID = "#dde3e8"
NO_PRICE = "#eef1f4"
HATCH = "#ffffff90"

SIZE_INCHES = (8.0, 5.0)
DPI = 100
DENSE = 2
LEGEND_COLUMNS = 4
MARKERS_FEW = 8
MIDNIGHTS_MAX = timedelta(days=15)

TICK_MARK = Path([(-0.5, 0.0), (-0.15, -0.4), (0.5, 0.45)])
CROSS_MARK = Path(
    [(-0.4, -0.4), (0.4, 0.4), (-0.4, 0.4), (0.4, -0.4)],
    [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO],
)


class PlanFigure(Figure):
    """A figure that notebooks show even where ``pyplot`` was never imported."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=DPI * DENSE)
        width, height = self.get_size_inches()
        return picture.getvalue(), {"width": int(width * DPI), "height": int(height * DPI)}


def plot_plan(
    plan: Plan, *, time_zone: str = "UTC", axes: tuple[Axes, Axes] | None = None
) -> Figure:
    """Draw prices and charging, and below them energy or state of charge.

    Above, the price is a step line, with a gap wherever no price is known.
    Where the plan charges, the area between the price and zero is filled in
    the colour of the reason. The dashed line is the price of the next kWh.
    Below, a line shows the state of charge, or the energy bought if the plan
    knows no battery. A tick marks a deadline that is met, a cross one that is
    not, with the energy missing.

    The time axis runs from the start of the plan to its last deadline, on the
    clocks of ``time_zone`` but in elapsed time: the day on which clocks go
    back is an hour longer than others.

    Args:
        plan: The plan.
        time_zone: IANA name of the zone of the time axis.
        axes: Two axes to draw on, for prices and for energy; they should
            share their x axis. Without them a new figure is made.

    Returns:
        The figure. ``figure.savefig("plan.png")`` writes it to a file.

    Raises:
        InputError: The time zone is unknown.

    Example:
        >>> from datetime import UTC, datetime, timedelta
        >>> import slackwater as sw
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
        >>> nine = six + timedelta(hours=3)
        >>> plan = sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(nine, 10)])
        >>> figure = plot_plan(plan, time_zone="Europe/Oslo")
        >>> [axes.get_ylabel() for axes in figure.axes]
        ['Price (EUR/kWh)', 'Energy (kWh)']
    """
    reasons = plan.explain(time_zone=time_zone)
    zone = ZoneInfo(time_zone)
    above, below = _new_axes() if axes is None else axes
    view = _view.view_of(plan)
    for panel in (above, below):
        _dress(panel)
    handles: list[Any] = []
    if view is None:
        below.set_xticks([])
        above.set_yticks([])
        below.set_yticks([])
        _say(above, "no prices and no targets")
    else:
        _set_clock(above, below, view, zone)
        _draw_blocks(above, below, plan, reasons, handles)
        _draw_price(above, plan, view, handles)
        _draw_unpriced(above, below, view, handles)
        mark_estimates(above, plan.prices, handles)
        _draw_level(below, plan, view)
        _draw_deadlines(above, below, plan, view, zone)
    above.set_ylabel(_plain(f"Price ({plan.currency}/kWh)"))
    below.set_xlabel(f"Time in {time_zone}")
    _head(above, plan, view, zone, handles)
    return _root(above.figure)


def _new_axes() -> tuple[Axes, Axes]:
    engine = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    figure = PlanFigure(figsize=SIZE_INCHES, dpi=DPI, layout=engine, facecolor="white")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    return above, below


def _root(figure: Figure | SubFigure) -> Figure:
    """The figure at the top, of whatever part of it axes belong to."""
    # `get_figure(root=True)` says the same from matplotlib 3.10 on.
    return figure if isinstance(figure, Figure) else _root(figure._parent)  # type: ignore[attr-defined]


def _plain(text: str) -> str:
    """Text as it is: two dollar signs would be read as a formula."""
    return text.replace("$", r"\$")


def _dress(axes: Axes) -> None:
    axes.set_facecolor("white")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT_INK)
    axes.tick_params(colors=FAINT_INK, labelcolor=INK, labelsize=9)
    axes.xaxis.label.set(color=FAINT_INK, fontsize=9)
    axes.yaxis.label.set(color=INK, fontsize=9)
    axes.grid(visible=True, axis="y", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _say(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=FAINT_INK)


# ------------------------------------------------------------- the time axis


def _set_clock(above: Axes, below: Axes, view: View, zone: ZoneInfo) -> None:
    for axes in (above, below):
        # Tells matplotlib that these are times, so that callers can add to the picture.
        axes.xaxis_date(tz=zone)
        axes.set_xlim(number_of(view.start - view.margin), number_of(view.end + view.margin))
        axes.xaxis.set_major_locator(LocalClock(zone))
        axes.xaxis.set_major_formatter(LocalClockFormatter(zone))
    above.tick_params(labelbottom=False)
    first, last = view.start - view.margin, view.end + view.margin
    is_short = last - first <= MIDNIGHTS_MAX
    for midnight in _clock.midnights(first, last, zone) if is_short else ():
        for axes in (above, below):
            axes.axvline(number_of(midnight), color=GRID, linewidth=1.2, zorder=0.5)
    for at, is_back in _clock.clock_changes(first, last, zone):
        words = "clocks go back" if is_back else "clocks go forward"
        below.axvline(
            number_of(at), color=FAINT_INK, linewidth=0.8, linestyle=(0, (1, 3)), zorder=1
        )
        below.annotate(
            words,
            (number_of(at), 0),
            xycoords=("data", "axes fraction"),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=7.5,
            color=FAINT_INK,
            gid="clock-change",
        )


# -------------------------------------------------------- prices and charging


def _stairs(steps: Sequence[tuple[datetime, datetime, float]]) -> tuple[list[float], list[float]]:
    """Values and edges of steps; between steps that do not touch the value is NaN."""
    values: list[float] = []
    edges: list[float] = []
    for start, end, value in steps:
        if edges and number_of(start) > edges[-1]:
            values.append(math.nan)
            edges.append(number_of(start))
        if not edges:
            edges.append(number_of(start))
        values.append(value)
        edges.append(number_of(end))
    return values, edges


def _draw_unpriced(above: Axes, below: Axes, view: View, handles: list[Any]) -> None:
    for start, end in view.unpriced:
        for axes in (above, below):
            axes.axvspan(number_of(start), number_of(end), color=NO_PRICE, linewidth=0, zorder=0.4)
    if view.unpriced and view.steps:
        handles.append(Patch(facecolor=NO_PRICE, edgecolor=GRID, label="no price"))


def mark_estimates(axes: Axes, prices: Prices | None, handles: list[Any]) -> None:
    """Dot the time in view whose prices are estimates."""
    style: dict[str, Any] = {"facecolor": "none", "edgecolor": GRID, "hatch": "..", "linewidth": 0}
    first, last = axes.get_xlim()
    periods = [] if prices is None else prices.provenance
    guesses = [
        (max(number_of(start), first), min(number_of(end), last))
        for start, end, _, _, is_estimate in periods
        if is_estimate and number_of(start) < last and number_of(end) > first
    ]
    for start, end in guesses:
        axes.axvspan(start, end, zorder=0.4, **style)
    if guesses and not any(handle.get_label() == "estimated price" for handle in handles):
        handles.append(Patch(label="estimated price", **style))


def _draw_blocks(
    above: Axes,
    below: Axes,
    plan: Plan,
    reasons: Sequence[Reason],
    handles: list[Any],
) -> None:
    """Fill, for each reason, the area under the price, and faintly the time above and below."""
    for code, look in LOOKS.items():
        periods = [reason for reason in reasons if reason.code == code]
        if not periods:
            continue
        steps = [
            step
            for reason in periods
            for step in plan.prices.between(reason.start, reason.end).slots
        ]
        if not steps:  # periods of less than a microsecond
            continue
        values, edges = _stairs(steps)
        # A hatch tells a missed deadline apart on grey paper, too.
        hatch = "////" if code == "missed_deadline" else None
        style: dict[str, Any] = {
            "facecolor": look.colour,
            "edgecolor": HATCH,
            "hatch": hatch,
            "label": look.label,
            "linewidth": 0,
        }
        gid = f"charging-{code}"
        above.stairs(values, edges, fill=True, zorder=2, gid=gid, **style)
        handles.append(Patch(**style))
        whole = [(reason.start, reason.end) for reason in periods]
        for axes in (above, below):
            for start, end in whole:
                axes.axvspan(
                    number_of(start),
                    number_of(end),
                    color=look.colour,
                    alpha=0.13,
                    linewidth=0,
                    zorder=0.6,
                )


def _draw_price(above: Axes, plan: Plan, view: View, handles: list[Any]) -> None:
    if not view.steps:
        above.set_yticks([])
        _say(above, "no prices in this period")
        return
    values, edges = _stairs(view.steps)
    # A line wider than its steps would be a black band.
    width = min(1.6, max(0.3, 300 / len(values)))
    above.stairs(values, edges, baseline=None, color=INK, linewidth=width, zorder=4, gid="price")
    above.axhline(0, color=FAINT_INK, linewidth=0.8, zorder=3, gid="zero")
    known = [price for _, _, price in view.steps]
    low, high = min(0.0, *known), max(0.0, *known)
    room = (high - low) * 0.08 or 0.1
    above.set_ylim(low - room if low < 0 else 0, high + room if high > 0 else room)
    if plan.marginal_price_per_kwh is not None:
        (line,) = above.plot(
            [number_of(view.start), number_of(view.end)],
            [plan.marginal_price_per_kwh] * 2,
            color=FAINT_INK,
            linewidth=1,
            linestyle=(0, (5, 3)),
            zorder=3.5,
            gid="marginal-price",
            label=_plain(
                f"next kWh at {_view.number(plan.marginal_price_per_kwh, 3)} {plan.currency}"
            ),
        )
        handles.append(line)


# ------------------------------------------------------- energy and deadlines


def _levels(plan: Plan, times: Sequence[datetime]) -> list[float] | None:
    """States of charge at some times; ``None`` if the plan knows no battery."""
    levels = [plan.soc_percent_by(at) for at in times]
    known = [level for level in levels if level is not None]
    return known if len(known) == len(levels) else None


def _draw_level(below: Axes, plan: Plan, view: View) -> None:
    corners = [corner for i in plan.intervals for corner in (i.start, i.end)]
    times = sorted({view.start, *corners, view.end})
    levels = _levels(plan, times)
    if levels is None:
        levels = [plan.energy_kwh_by(at) for at in times]
        most = max([*levels, *(marker.wanted_kwh for marker in view.markers)]) or 1.0
        below.set_ylim(0, most * 1.25)
        below.set_ylabel("Energy (kWh)")
        name = "energy"
    else:
        below.set_ylim(0, 115)
        below.set_yticks([0, 25, 50, 75, 100])
        below.set_ylabel("State of charge (%)")
        name = "soc"
    numbers = [number_of(at) for at in times]
    below.plot(numbers, levels, color=INK, linewidth=1.8, zorder=4, gid=name)
    below.fill_between(numbers, levels, color=INK, alpha=0.07, linewidth=0, zorder=1)


def _draw_deadlines(above: Axes, below: Axes, plan: Plan, view: View, zone: ZoneInfo) -> None:
    size = 13 if len(view.markers) <= MARKERS_FEW else 8
    strip = 0
    for index, marker in enumerate(view.markers):
        at = number_of(marker.at)
        colour = MET_COLOUR if marker.is_met else MISSED_COLOUR
        for axes in (above, below):
            axes.axvline(at, color=colour, linewidth=1, linestyle=(0, (2, 2)), zorder=2.5)
        here, wanted, words = _wish(plan, marker, zone)
        if not marker.is_met:
            below.plot([at, at], [here, wanted], color=colour, linewidth=2.4, zorder=5)
        name = f"deadline-{'met' if marker.is_met else 'missed'}-{index}"
        style: dict[str, Any] = {"zorder": 6, "clip_on": False}
        below.plot(at, wanted, marker="o", markersize=size, color=colour, gid=name, **style)
        style |= {"markerfacecolor": "none", "markeredgecolor": "white"}
        mark = TICK_MARK if marker.is_met else CROSS_MARK
        below.plot(
            at, wanted, marker=mark, markersize=size * 0.55, markeredgewidth=size / 7, **style
        )
        if not _is_crowded(marker, view):
            is_under = here - wanted > below.get_ylim()[1] / 20
            _label(below, view, marker, words, (wanted, -13 if is_under else 3))
        elif not marker.is_met:
            _label(below, view, marker, words, (below.get_ylim()[1], -9 - 11 * (strip % 2)))
            strip += 1


def _is_crowded(marker: _view.Marker, view: View) -> bool:
    """Whether a label beside a marker would meet another."""
    near = (view.end - view.start) / 5
    return any(other is not marker and abs(other.at - marker.at) < near for other in view.markers)


def _wish(plan: Plan, marker: _view.Marker, zone: ZoneInfo) -> tuple[float, float, str]:
    """Level at a deadline, level wanted, and the words for it."""
    missing = f"{_view.energy(marker.missing_kwh)} missing"
    if marker.due is not None:
        missing += f", due {_view.clock(marker.due, zone)}"
    here = plan.soc_percent_by(marker.at)
    if here is None:
        wish = _view.energy(marker.wanted_kwh)
        here, wanted = plan.energy_kwh_by(marker.at), marker.wanted_kwh
        return here, wanted, wish if marker.is_met else missing
    # Where a target is reached, early or late, the state of charge is the one wanted.
    reached = plan.soc_percent_by(marker.reached_at) if marker.reached_at else here
    wanted = here if reached is None else reached
    return here, wanted, f"{_view.number(wanted, 0)} %" if marker.is_met else missing


def _label(
    below: Axes, view: View, marker: _view.Marker, words: str, place: tuple[float, float]
) -> None:
    """Write beside a marker, at a level and so many points above it."""
    level, points = place
    is_left = marker.at - view.start > (view.end - view.start) / 3
    below.annotate(
        words,
        (number_of(marker.at), level),
        xytext=(-11 if is_left else 11, points),
        textcoords="offset points",
        ha="right" if is_left else "left",
        fontsize=9,
        fontweight="bold",
        color=MET_COLOUR if marker.is_met else MISSED_COLOUR,
        zorder=8,
    )


# ------------------------------------------------------------ title and legend


def _head(above: Axes, plan: Plan, view: View | None, zone: ZoneInfo, handles: list[Any]) -> None:
    rows = math.ceil(len(handles) / LEGEND_COLUMNS)
    columns = math.ceil(len(handles) / max(rows, 1))
    if handles:
        above.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=columns,
            frameon=False,
            fontsize=9,
            labelcolor=INK,
            borderaxespad=0.2,
            borderpad=0.2,
            handlelength=1.4,
            handletextpad=0.5,
            columnspacing=1.4,
        )
    pad = 6 + rows * 15
    facts = [_view.proof(plan)]
    if view is not None and plan.slots:
        facts.insert(0, _view.span(view.start, view.end, zone))
    if plan.soc_is_assumed:
        facts.append("state of charge assumed")
    above.annotate(
        " · ".join(facts),
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, pad),
        textcoords="offset points",
        fontsize=9,
        color=FAINT_INK,
        gid="subtitle",
    )
    title: dict[str, Any] = {"pad": pad + 16, "fontweight": "bold"}
    above.set_title(_plain(_view.headline(plan)), loc="left", fontsize=13, color=INK, **title)
    if plan.shortfall_kwh > 0:
        text = _view.shortfall(plan)
        above.set_title(text, loc="right", fontsize=10, color=MISSED_COLOUR, **title)
