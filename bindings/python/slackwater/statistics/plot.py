"""Pictures of statistics, with matplotlib (``slackwater[plot]``)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine

from slackwater import _engine
from slackwater._engine import Table
from slackwater.plot import DPI, FAINT_INK, INK, PlanFigure, _dress, _plain, _say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slackwater.typing import ArrowTable

SIZE_INCHES = (8.0, 7.0)
PAID, INSTEAD, MORE = "#2b7a78", "#cfd8dd", "#b4533c"
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOUR_TICKS = range(0, 24, 3)
FIGURES_MAX = 14


class Month(NamedTuple):
    """What a month cost, and would have cost."""

    date: datetime
    cost: Decimal
    baseline_cost: Decimal | None
    savings: Decimal | None


def plot_year(
    samples: ArrowTable,
    *,
    currency: str,
    time_zone: str = "UTC",
    utc_offset_hours: float = 0.0,
    sample_length: timedelta | None = None,
) -> Figure:
    """Draw what :func:`slackwater.statistics.plot_year` promises."""
    by_month, savings, week = _engine.statistics_year(
        samples,
        time_zone=time_zone,
        utc_offset_hours=utc_offset_hours,
        sample_length=sample_length,
    )
    engine = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1, hspace=0.04)
    figure = PlanFigure(figsize=SIZE_INCHES, dpi=DPI, layout=engine, facecolor="white")
    above, below = figure.subplots(2, 1, height_ratios=[3, 2])
    total = None if savings is None else Decimal(savings)
    _draw_months(above, _months(by_month), total, currency)
    _draw_week(below, week, time_zone)
    return figure


def _months(table: Table) -> list[Month]:
    import pyarrow as pa  # noqa: PLC0415  an optional extra

    columns = pa.table(table)
    names = ("date", "cost", "baseline_cost", "savings")
    rows = (columns.column(name).to_pylist() for name in names)
    return [Month(*row) for row in zip(*rows, strict=True)]


def _draw_months(axes: Axes, months: Sequence[Month], total: Decimal | None, currency: str) -> None:
    _dress(axes)
    axes.set_ylabel(_plain(f"Cost ({currency})"))
    if not months:
        axes.set_xticks([])
        axes.set_yticks([])
        _say(axes, "nothing was measured")
        return
    places = range(len(months))
    paid = [float(month.cost) for month in months]
    # A month without smart charging would have cost what it did.
    instead = [
        float(month.cost if month.baseline_cost is None else month.baseline_cost)
        for month in months
    ]
    if total is not None:
        axes.bar(places, instead, width=0.8, color=INSTEAD, label="without smart charging")
    axes.bar(places, paid, width=0.5, color=PAID, label="paid")
    axes.axhline(0, color=FAINT_INK, linewidth=0.8)
    axes.set_xticks(places, _names(months))
    if total is not None and len(months) <= FIGURES_MAX:
        for place, month in enumerate(months):
            _write_savings(axes, place, max(paid[place], instead[place], 0), month.savings)
    title = "Cost by month"
    if total is not None:
        word = "less" if total >= 0 else "more"
        title += f": {abs(total):,.2f} {currency} {word} than without smart charging"
    axes.set_title(_plain(title), loc="left", fontsize=10, color=INK)
    axes.margins(y=0.12)
    axes.legend(
        frameon=False,
        fontsize=8,
        ncols=2,
        loc="upper right",
        bbox_to_anchor=(1, -0.12),
        borderpad=0,
    )


def _write_savings(axes: Axes, place: int, height: float, savings: Decimal | None) -> None:
    if savings is None:
        return
    axes.annotate(
        f"{-savings:+,.2f}",
        (place, height),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        fontsize=7.5,
        color=PAID if savings >= 0 else MORE,
    )


def _names(months: Sequence[Month]) -> list[str]:
    """Months by name; the year under the first one of it."""
    names = []
    for before, month in zip([None, *months], months, strict=False):
        is_new = before is None or before.date.year != month.date.year
        names.append(f"{month.date:%b}\n{month.date:%Y}" if is_new else f"{month.date:%b}")
    if len(names) > 2 * FIGURES_MAX:
        names = [name if "\n" in name else "" for name in names]
    return names


def _draw_week(axes: Axes, week: Sequence[Sequence[float]], time_zone: str) -> None:
    image = axes.imshow(week, aspect="auto", cmap="YlGnBu", interpolation="nearest")
    axes.set_yticks(range(len(WEEKDAYS)), WEEKDAYS)
    axes.set_xticks([hour - 0.5 for hour in HOUR_TICKS], [f"{hour:02}:00" for hour in HOUR_TICKS])
    axes.tick_params(colors=FAINT_INK, labelcolor=INK, labelsize=9, length=2)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel(f"Hour in {time_zone}", color=FAINT_INK, fontsize=9)
    axes.set_title("Energy by hour and weekday", loc="left", fontsize=10, color=INK)
    bar = axes.figure.colorbar(image, ax=axes, pad=0.02, fraction=0.05)
    bar.set_label("kWh", color=INK, fontsize=9)
    bar.ax.tick_params(colors=FAINT_INK, labelcolor=INK, labelsize=8, length=2)
    bar.outline.set_visible(False)
