"""Pictures drawn with matplotlib (``slackwater[plot]``).

Figures are made directly and never registered with ``pyplot``, so there is
nothing to close, and no display is needed.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from matplotlib import dates as mdates
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator, Formatter, Locator
from matplotlib.typing import ColorType

from slackwater import _timeline, _view
from slackwater._conversion import article
from slackwater._engine import InputError
from slackwater._palette import (
    BLUE,
    FAINT,
    HUES,
    INK,
    MET,
    MISSED,
    ORANGE,
    PAPER,
    RULE,
    Ink,
    Theme,
    check_theme,
)
from slackwater._timeline import Band, Dash, Heat, Line, Mark, Panel, Picture, Steps

if TYPE_CHECKING:
    from slackwater.policy import ChargePolicy
    from slackwater.questions import InsuranceFrontier

WIDTH_INCHES = 9.0
CHART_INCHES = (6.4, 4.0)
HEIGHT_INCHES = 0.95
"""Height of a panel of weight 1."""
DPI = 100
DENSE = 2
MARKS_FEW = 8
MIDNIGHTS_MAX = timedelta(days=15)
NAMES_MAX = 30
ROWS_LARGE = 12
LABEL_SHARE = 0.07
CHARS_PER_INCH = 14.5
LABEL_WEIGHT = 2.0
TICKS_MAX, TICK_INCHES = 12, 0.66

DASHES: dict[Dash, Any] = {"solid": "solid", "dashed": (0, (5, 3)), "dotted": (0, (1.2, 1.6))}
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


def draw(
    picture: Picture,
    *,
    theme: Theme = "auto",
    ax: Axes | None = None,
    axes: Sequence[Axes] | None = None,
    figsize: tuple[float, float] | None = None,
) -> Figure:
    """Draw a picture.

    Args:
        picture: The picture.
        theme: Paper of the figure; ``auto`` is that of the axes, or of matplotlib's style.
        ax: Axes for the first panel alone.
        axes: Axes for all panels, one each.
        figsize: Width and height in inches, of a figure that is made here.

    Raises:
        InputError: There is no such theme, or the axes do not fit the panels.
    """
    panels = picture.panels if ax is None else picture.panels[:1]
    weights = [panel.weight for panel in panels]
    names = [panel.name for panel in panels]
    drawn = canvas(names, weights, theme=theme, ax=ax, axes=axes, figsize=figsize)
    pen = Pen(drawn[0], theme)
    for panel, each in zip(panels, drawn, strict=True):
        pen.dress(each)
        _draw_panel(pen, each, picture, panel)
    for each in drawn[:-1]:
        each.tick_params(labelbottom=False)
    drawn[-1].set_xlabel(plain(picture.axis))
    if picture.period is None:
        for each in drawn:
            each.set_xticks([])
            each.set_yticks([])
    _write_head(pen, drawn[0], picture)
    return root(drawn[0].figure)


def canvas(
    names: Sequence[str],
    weights: Sequence[float],
    *,
    theme: Theme = "auto",
    ax: Axes | None = None,
    axes: Sequence[Axes] | None = None,
    figsize: tuple[float, float] | None = None,
    shares_time: bool = True,
) -> list[Axes]:
    """Axes of the caller, if they fit, or those of a new figure.

    Raises:
        InputError: There is no such theme, or the axes do not fit the panels.
    """
    check_theme(theme)
    if ax is not None and axes is not None:
        raise InputError("both ax and axes are given: give one of them")
    given = [ax] if ax is not None else None if axes is None else list(axes)
    if given is not None:
        _refuse_no_axes("axes" if ax is None else "ax", given)
        if figsize is not None:
            raise InputError("figsize is given with axes: it is that of their figure")
        if len(given) != len(names):
            message = f"axes has {len(given)} axes; the panels are {', '.join(names)}"
            raise InputError(message)
        return given
    if figsize is not None and not all(0 < side < 1000 for side in figsize):
        message = f"figsize is {figsize!r}; it has a width and a height in inches above 0"
        raise InputError(message)
    size = figsize or (WIDTH_INCHES, 1.1 + HEIGHT_INCHES * sum(weights))
    engine = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    figure = PlanFigure(figsize=size, dpi=DPI, layout=engine)
    made = figure.subplots(
        len(names), 1, sharex=shares_time, height_ratios=list(weights), squeeze=False
    )
    figure.set_facecolor(PAPER.on(_paper(figure.get_facecolor(), theme)))
    return list(made[:, 0])


def _refuse_no_axes(name: str, given: Sequence[object]) -> None:
    """Refuse what nothing can be drawn into.

    Raises:
        TypeError: It is something else than axes of matplotlib.
    """
    for one in given:
        if not isinstance(one, Axes):
            given = f"{article(type(one))} {type(one).__name__}"
            message = f"{name} has to be Axes of matplotlib, not {given}"
            raise TypeError(message)


def _paper(face: ColorType, theme: Theme) -> str:
    """Light or dark, by the theme or by the colour of the paper."""
    if theme != "auto":
        return theme
    return "dark" if sum(to_rgb(face)) < 1.5 else "light"


def root(figure: Figure | SubFigure) -> Figure:
    """The figure at the top, of whatever part of it axes belong to."""
    # `get_figure(root=True)` says the same from matplotlib 3.10 on.
    return figure if isinstance(figure, Figure) else root(figure._parent)  # type: ignore[attr-defined]


def plain(text: str) -> str:
    """Text as it is: two dollar signs would be read as a formula."""
    return text.replace("$", r"\$")


class Pen:
    """Colours on one kind of paper."""

    def __init__(self, axes: Axes, theme: Theme) -> None:
        self.paper = _paper(root(axes.figure).get_facecolor(), theme)

    def __call__(self, ink: Ink) -> str:
        """Look up the colour of an ink."""
        return ink.on(self.paper)

    def dress(self, axes: Axes) -> None:
        """Give axes the look of all pictures."""
        axes.set_facecolor(self(PAPER))
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(self(FAINT))
        axes.tick_params(colors=self(FAINT), labelcolor=self(INK), labelsize=9)
        axes.xaxis.label.set(color=self(FAINT), fontsize=9)
        axes.yaxis.label.set(color=self(INK), fontsize=9)
        axes.grid(visible=True, axis="y", color=self(RULE), linewidth=0.6)
        axes.set_axisbelow(True)

    def say(self, axes: Axes, text: str) -> None:
        """Write in the middle of axes that are empty."""
        style: dict[str, Any] = {"ha": "center", "va": "center", "color": self(FAINT)}
        axes.text(0.5, 0.5, text, transform=axes.transAxes, **style)


# -------------------------------------------------------------------- time axis


def number_of(at: datetime) -> float:
    """An instant as matplotlib counts it, in days."""
    return float(mdates.date2num(at))  # type: ignore[no-untyped-call]


def instant_of(number: float) -> datetime:
    """The instant that a number of days means, to the second."""
    at: datetime = mdates.num2date(number, tz=UTC)  # type: ignore[no-untyped-call]
    return (at + timedelta(milliseconds=500)).replace(microsecond=0)


class LocalClock(Locator):
    """Ticks at full quarters, hours, days or months of local clocks, in elapsed time."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def __call__(self) -> Sequence[float]:
        """Choose ticks for the view."""
        if self.axis is None:
            return []
        return self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Choose ticks between two times, so few that their labels fit."""
        first, last = instant_of(min(vmin, vmax)), instant_of(max(vmin, vmax))
        axes = getattr(self.axis, "axes", None)
        most = TICKS_MAX
        if axes is not None:
            inches = axes.get_window_extent().width / root(axes.figure).dpi
            most = max(3, min(most, int(inches / TICK_INCHES)))
        return [number_of(at) for at in _timeline.clock_ticks(first, last, self._zone, most)]


class LocalClockFormatter(Formatter):
    """Hours as ``18:00``, with the date below wherever it is new."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Label one place."""
        del pos
        return f"{instant_of(x).astimezone(self._zone):%H:%M}"

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Label all ticks of an axis."""
        return _timeline.tick_labels([instant_of(value) for value in values], self._zone)


class RoundNumbers(Locator):
    """Ticks at round numbers."""

    def __call__(self) -> Sequence[float]:
        """Choose ticks for the view."""
        return [] if self.axis is None else self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Choose ticks between two values, so few that their labels fit."""
        return _timeline.round_ticks(min(vmin, vmax), max(vmin, vmax))


class RoundNumbersFormatter(Formatter):
    """Numbers with as many decimals as the distance of the ticks needs."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Label one place."""
        del pos
        return _view.number(x)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Label all ticks of an axis."""
        return _timeline.tick_numbers(values)


def _set_clock(pen: Pen, axes: Axes, picture: Picture, *, is_last: bool) -> None:
    assert picture.period is not None  # noqa: S101  the caller has looked
    first, last = picture.period
    # Tells matplotlib that these are times, so that callers can add to the picture.
    axes.xaxis_date(tz=picture.zone)
    axes.set_xlim(number_of(first), number_of(last))
    axes.xaxis.set_major_locator(LocalClock(picture.zone))
    axes.xaxis.set_major_formatter(LocalClockFormatter(picture.zone))
    is_short = last - first <= MIDNIGHTS_MAX
    for midnight in _timeline.midnights(first, last, picture.zone) if is_short else ():
        axes.axvline(number_of(midnight), color=pen(RULE), linewidth=1.2, zorder=0.5)
    if not is_last:
        return
    for at, is_back in _timeline.clock_changes(first, last, picture.zone):
        style: dict[str, Any] = {"color": pen(FAINT), "linewidth": 0.8, "linestyle": (0, (1, 3))}
        axes.axvline(number_of(at), zorder=1, **style)
        axes.annotate(
            "clocks go back" if is_back else "clocks go forward",
            (number_of(at), 0),
            xycoords=("data", "axes fraction"),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=7.5,
            color=pen(FAINT),
            bbox={"facecolor": pen(PAPER), "alpha": 0.7, "linewidth": 0, "pad": 1},
            zorder=7,
            gid="clock-change",
        )


# ------------------------------------------------------------------------ panels


def _draw_panel(pen: Pen, axes: Axes, picture: Picture, panel: Panel) -> None:
    # A short panel has room for two short lines.
    label = panel.label.replace(" (", "\n(") if panel.weight < LABEL_WEIGHT else panel.label
    axes.set_ylabel(plain(label))
    if picture.period is None:
        if panel.note:
            pen.say(axes, panel.note)
        return
    _set_clock(pen, axes, picture, is_last=panel is picture.panels[-1])
    if panel.heat is not None:
        _draw_heat(pen, axes, panel.heat)
        return
    for band in picture.bands:
        _draw_band(pen, axes, band)
    bottom, top = _timeline.bounds_of(panel)
    axes.set_ylim(bottom, top)
    axes.yaxis.set_major_locator(
        RoundNumbers() if panel.ticks is None else FixedLocator(list(panel.ticks))
    )
    axes.yaxis.set_major_formatter(RoundNumbersFormatter())
    axes.tick_params(labelleft=panel.has_numbers, left=panel.has_numbers)
    if bottom < 0:
        axes.axhline(0, color=pen(FAINT), linewidth=0.8, zorder=3, gid="zero")
    for curve in panel.curves:
        if isinstance(curve, Line):
            _draw_line(pen, axes, curve)
        else:
            _draw_steps(pen, axes, curve)
    for mark in panel.marks:
        _draw_mark(pen, axes, panel, mark)
    _label_marks(pen, axes, picture, panel)
    if panel.note:
        axes.set_yticks([])
        pen.say(axes, panel.note)


def _label(item: Steps | Line | Band) -> str:
    """Label of an artist; one that begins so is in no legend of a caller either."""
    return plain(item.label) or f"_{item.name}"


def _draw_band(pen: Pen, axes: Axes, band: Band) -> None:
    style = _band_style(pen, band)
    for start, end in band.periods:
        axes.axvspan(number_of(start), number_of(end), zorder=0.4, gid=band.name, **style)


def _band_style(pen: Pen, band: Band) -> dict[str, Any]:
    if band.is_hatched:
        return {
            "facecolor": "none",
            "edgecolor": pen(band.ink),
            "hatch": "////",
            "alpha": 0.35,
            "linewidth": 0,
        }
    return {"facecolor": pen(band.ink), "alpha": band.opacity, "linewidth": 0}


def _draw_steps(pen: Pen, axes: Axes, steps: Steps) -> None:
    values, bases, edges = _stairs(steps)
    if not values:
        return
    style = _steps_style(pen, steps)
    if steps.is_filled:
        style |= {"fill": True, "baseline": bases, "zorder": 2}
    else:
        style |= {"baseline": None, "zorder": 4}
    axes.stairs(values, edges, gid=steps.name, label=_label(steps), **style)


def _steps_style(pen: Pen, steps: Steps) -> dict[str, Any]:
    if not steps.is_filled:
        return {
            "edgecolor": pen(steps.ink),
            "linewidth": steps.width,
            "linestyle": DASHES[steps.dash],
        }
    return {
        "facecolor": pen(steps.ink),
        "edgecolor": pen(PAPER) if steps.opacity == 1 else pen(steps.ink),
        "hatch": "////" if steps.is_hatched else None,
        "alpha": steps.opacity,
        "linewidth": 0,
    }


def _stairs(steps: Steps) -> tuple[list[float], list[float], list[float]]:
    """Values, bases and edges; a gap is a step of NaN."""
    values: list[float] = []
    bases: list[float] = []
    edges: list[float] = []
    for run in _timeline.runs_of(steps):
        if edges:
            values.append(math.nan)
            bases.append(0.0)
        edges.append(number_of(run[0][0]))
        for _, end, value, base in run:
            values.append(value)
            bases.append(base)
            edges.append(number_of(end))
    return values, bases, edges


def _draw_line(pen: Pen, axes: Axes, line: Line) -> None:
    times = [number_of(at) for at, _ in line.points]
    levels = [level for _, level in line.points]
    style: dict[str, Any] = {"color": pen(line.ink), "alpha": line.opacity}
    if line.lows is not None:
        style |= {"linewidth": 0, "zorder": 1, "gid": line.name}
        axes.fill_between(times, line.lows, levels, label=_label(line), **style)
        return
    style["linewidth"] = line.width
    axes.plot(times, levels, zorder=4, gid=line.name, label=_label(line), **style)


def _draw_mark(pen: Pen, axes: Axes, panel: Panel, mark: Mark) -> None:
    size = 13 if len(panel.marks) <= MARKS_FEW else 8
    at, colour = number_of(mark.at), pen(MET if mark.is_met else MISSED)
    for each in _siblings(axes):
        each.axvline(at, color=colour, linewidth=1, linestyle=(0, (2, 2)), zorder=2.5)
    if not mark.is_met:
        axes.plot([at, at], [mark.reached, mark.value], color=colour, linewidth=2.4, zorder=5)
    style: dict[str, Any] = {"zorder": 6, "clip_on": False}
    axes.plot(at, mark.value, marker="o", markersize=size, color=colour, gid=mark.name, **style)
    style |= {"markerfacecolor": "none", "markeredgecolor": pen(PAPER)}
    sign = TICK_MARK if mark.is_met else CROSS_MARK
    axes.plot(
        at, mark.value, marker=sign, markersize=size * 0.55, markeredgewidth=size / 7, **style
    )


def _siblings(axes: Axes) -> list[Axes]:
    """Axes with the same time axis."""
    return list(axes.get_shared_x_axes().get_siblings(axes))


def _label_marks(pen: Pen, axes: Axes, picture: Picture, panel: Panel) -> None:
    top = axes.get_ylim()[1]
    for mark, is_left, strip in _timeline.mark_labels(panel, picture.period):
        is_under = mark.reached - mark.value > top / 20
        place = (mark.value, -13 if is_under else 3) if strip is None else (top, -9 - 11 * strip)
        axes.annotate(
            mark.words,
            (number_of(mark.at), place[0]),
            xytext=(-11 if is_left else 11, place[1]),
            textcoords="offset points",
            ha="right" if is_left else "left",
            fontsize=9,
            fontweight="bold",
            color=pen(MET if mark.is_met else MISSED),
            zorder=8,
        )


def _draw_heat(pen: Pen, axes: Axes, heat: Heat) -> None:
    edges = [number_of(start) for start, _ in heat.periods] + [number_of(heat.periods[-1][1])]
    values = [[math.nan if value is None else value for value in row] for row in heat.values]
    is_signed = any(value < 0 for row in values for value in row)
    low = [pen(ORANGE)] if is_signed else []
    colours = LinearSegmentedColormap.from_list("heat", [*low, pen(RULE), pen(BLUE)])
    shades = colours.with_extremes(bad=pen(PAPER))
    scale = Normalize(-heat.most if is_signed else 0.0, heat.most)
    rows = range(len(values) + 1)
    image = axes.pcolormesh(edges, rows, values, cmap=shades, norm=scale, gid="heat")
    axes.set_ylim(len(values), 0)
    every = -(-len(values) // NAMES_MAX) or 1
    axes.set_yticks([row + 0.5 for row in range(0, len(values), every)])
    size = 7.5 if len(values) > ROWS_LARGE else 9
    axes.set_yticklabels([plain(name) for name in heat.names[::every]], fontsize=size)
    axes.grid(visible=False)
    for row, at, is_met in heat.signs:
        axes.plot(
            number_of(at),
            row + 0.5,
            marker=TICK_MARK if is_met else CROSS_MARK,
            markersize=5,
            markerfacecolor="none",
            markeredgecolor=pen(MET if is_met else MISSED),
            markeredgewidth=1.4,
            clip_on=False,
            gid=f"deadline-{'met' if is_met else 'missed'}-{heat.names[row]}",
        )
    bar = root(axes.figure).colorbar(image, cax=axes.inset_axes((1.012, 0.0, 0.014, 1.0)))
    bar.set_label(plain(heat.label), color=pen(INK), fontsize=9)
    bar.ax.tick_params(colors=pen(FAINT), labelcolor=pen(INK), labelsize=8, length=2)
    bar.outline.set_visible(False)


# -------------------------------------------------------------- title and legend


def _write_head(pen: Pen, axes: Axes, picture: Picture) -> None:
    # Axes get their final width when the figure is drawn; labels beside them take part of it now.
    inches = axes.get_position().width * root(axes.figure).get_size_inches()[0] * 1.06
    chars = max(20, int(inches * CHARS_PER_INCH))
    handles = [_handle(pen, item) for item in picture.legend]
    columns = _columns([str(handle.get_label()) for handle in handles], chars)
    rows = math.ceil(len(handles) / columns)
    if handles:
        legend = axes.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=columns,
            frameon=False,
            fontsize=9,
            labelcolor=pen(INK),
            borderaxespad=0.2,
            borderpad=0.2,
            handlelength=1.4,
            handletextpad=0.5,
            columnspacing=1.4,
        )
        # The title above it keeps its room; a long one must not narrow the panels.
        legend.set_in_layout(False)
    pad = 6 + rows * 15
    facts = textwrap.wrap(" · ".join(picture.facts), chars)
    warning = textwrap.wrap(picture.warning, chars)
    lines = [(line, pen(FAINT), "normal") for line in facts]
    lines += [(line, pen(MISSED), "bold") for line in warning]
    for index, (line, colour, weight) in enumerate(reversed(lines)):
        axes.annotate(
            plain(line),
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, pad + 13 * index),
            textcoords="offset points",
            fontsize=9,
            color=colour,
            fontweight=weight,
            gid="subtitle",
        ).set_in_layout(False)
    title = "\n".join(textwrap.wrap(picture.title, int(chars * 0.68)))
    style: dict[str, Any] = {"fontweight": "bold", "fontsize": 13, "color": pen(INK)}
    axes.set_title(plain(title), loc="left", pad=pad + 3 + 13 * len(lines), **style)


def _columns(labels: Sequence[str], chars: int) -> int:
    """Columns of a legend that fits beside the left edge."""
    for columns in range(len(labels), 1, -1):
        # Matplotlib fills columns from the left, the first ones with one label more.
        size, more = divmod(len(labels), columns)
        ends = [size * (column + 1) + min(column + 1, more) for column in range(columns)]
        widths = [max(map(len, labels[start:end])) for start, end in pairwise([0, *ends])]
        if sum(width + 6 for width in widths) <= chars:
            return columns
    return 1


def _handle(pen: Pen, item: Steps | Line | Band) -> Patch | Line2D:
    label = _label(item)
    if isinstance(item, Band):
        return Patch(label=label, **_band_style(pen, item))
    if isinstance(item, Steps) and item.is_filled:
        return Patch(label=label, **_steps_style(pen, item))
    if isinstance(item, Line) and item.lows is not None:
        return Patch(label=label, facecolor=pen(item.ink), alpha=item.opacity, linewidth=0)
    dash = item.dash if isinstance(item, Steps) else "solid"
    width = max(item.width, 1.2)
    return Line2D([], [], color=pen(item.ink), linewidth=width, linestyle=DASHES[dash], label=label)


# ------------------------------------------------------ charts that have no time axis


def _chart(
    name: str, theme: Theme, ax: Axes | None, figsize: tuple[float, float] | None
) -> tuple[Axes, Pen]:
    """Axes of a chart with one panel, dressed, and the pen to draw it with."""
    size = figsize if figsize is not None or ax is not None else CHART_INCHES
    (axes,) = canvas([name], [3.0], theme=theme, ax=ax, figsize=size)
    pen = Pen(axes, theme)
    pen.dress(axes)
    return axes, pen


def _caption(axes: Axes, pen: Pen, title: str, across: str, upward: str) -> Figure:
    """Write the title and the names of both axes. What goes up begins at 0."""
    axes.set_title(plain(title), loc="left", color=pen(INK), fontsize=11, fontweight="bold")
    axes.set_xlabel(plain(across))
    axes.set_ylabel(plain(upward))
    axes.set_ylim(bottom=0)
    return root(axes.figure)


# --------------------------------------------------------- the frontier of insurance


def plot_insurance(
    frontier: InsuranceFrontier,
    *,
    time_zone: str | ZoneInfo = "UTC",
    theme: Theme = "auto",
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
) -> Figure:
    """Draw the added cost against energy, or state of charge if the plan knows a battery.

    Each corner is a point. Beside each piece stands the price of a kWh on it,
    unless it is short.
    """
    zone = _view.zone_of(time_zone)
    axes, pen = _chart("cost", theme, ax, figsize)
    points = frontier.points
    knows_soc = all(point.soc_percent is not None for point in points)
    levels = [point.soc_percent or 0.0 if knows_soc else point.energy_kwh for point in points]
    costs = [point.added_cost for point in points]
    style: dict[str, Any] = {"color": pen(INK), "linewidth": 1.8, "marker": "o", "markersize": 5}
    axes.plot(levels, costs, gid="frontier", **style)
    room = (levels[-1] - levels[0]) * LABEL_SHARE
    for index, point in enumerate(points[:-1]):
        # The curve is convex: there is room below it, if the piece is not too short, and above
        # it near the axis.
        if levels[index + 1] - levels[index] < room:
            continue
        price = _view.number(point.marginal_price_per_kwh or 0.0, 3)
        middle = (costs[index] + costs[index + 1]) / 2
        is_low = middle < LABEL_SHARE * costs[-1]
        axes.annotate(
            plain(f"{price} {frontier.currency}/kWh"),
            ((levels[index] + levels[index + 1]) / 2, middle),
            xytext=(0, 6) if is_low else (6, -4),
            textcoords="offset points",
            va="bottom" if is_low else "top",
            ha="center" if is_low else "left",
            fontsize=8,
            color=pen(FAINT),
        )
    axes.margins(x=0.08)
    at = frontier.at.astimezone(zone)
    ready = f"To be ready by {_view.day(at)} {at.year} {at:%H:%M}, time in {zone.key}"
    across = "State of charge (%)" if knows_soc else "Energy (kWh)"
    return _caption(axes, pen, ready, across, f"Added cost ({frontier.currency})")


# -------------------------------------------------------------- the bids of a policy


def plot_bids(
    policy: ChargePolicy,
    at: datetime,
    wanted_kwh: float,
    *,
    time_zone: str | ZoneInfo = "UTC",
    theme: Theme = "auto",
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
) -> Figure:
    """Draw the bid curve of each state of a slot, with a dot at the price of that state."""
    zone = _view.zone_of(time_zone)
    axes, pen = _chart("bids", theme, ax, figsize)
    states = [slot.state for slot in policy.slots if slot.start <= at < slot.end]
    # Without a state the policy tells what is wrong with the instant.
    asked: list[dict[str, Any]] = [
        {"at": at, "wanted_kwh": wanted_kwh, "state": state} for state in states or [0]
    ]
    drawn = [(policy.bid_curve(**each), policy.decide(**each)) for each in asked]
    ends = [step.price_per_kwh for curve, _ in drawn for step in curve]
    ends += [decision.price_per_kwh for _, decision in drawn]
    room = LABEL_SHARE * (max(ends) - min(ends) or 1.0)
    for index, (state, (curve, decision)) in enumerate(zip(states, drawn, strict=True)):
        # From a price at which nothing is bought down to one below all bids.
        corners = [max(ends) + room, *(step.price_per_kwh for step in curve), min(ends) - room]
        energies = [0.0, *(step.energy_kwh for step in curve)]
        ink = pen(HUES[index % len(HUES)])
        style: dict[str, Any] = {"color": ink, "linewidth": 1.8, "label": f"state {state}"}
        axes.step(corners, [*energies, energies[-1]], where="post", gid=f"bids-{state}", **style)
        dot: dict[str, Any] = {"color": ink, "marker": "o", "markersize": 6}
        axes.plot([decision.price_per_kwh], [decision.energy_kwh], gid=f"decision-{state}", **dot)
    if len(states) > 1:
        axes.legend(frameon=False, labelcolor=pen(INK), fontsize=8)
    told = at.astimezone(zone)
    title = f"Bids of {_view.day(told)} {told.year} {told:%H:%M}, time in {zone.key}"
    return _caption(axes, pen, title, f"Price ({policy.currency}/kWh)", "Energy (kWh)")
