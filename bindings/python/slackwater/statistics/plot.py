"""Pictures of statistics, with matplotlib (``slackwater[plot]``)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from slackwater import _engine, _view
from slackwater._engine import Table
from slackwater._palette import BLUE, FAINT, GREEN, GREY, INK, RED, RULE, Theme
from slackwater.plot import Pen, canvas, plain, root

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slackwater.typing import ArrowTable

SIZE_INCHES = (8.0, 7.0)
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOUR_TICKS = range(0, 24, 3)
FIGURES_MAX = 14


class Month(NamedTuple):
    """Cost of a month, with control and without."""

    date: datetime
    cost: Decimal
    baseline_cost: Decimal | None
    savings: Decimal | None


def plot_year(
    samples: ArrowTable,
    *,
    currency: str,
    time_zone: str | ZoneInfo = "UTC",
    utc_offset_hours: float | None = None,
    sample_length: timedelta | None = None,
    theme: Theme = "auto",
    axes: Sequence[Axes] | None = None,
    figsize: tuple[float, float] | None = None,
) -> Figure:
    """Draw what :func:`slackwater.statistics.plot_year` promises."""
    zone = _view.zone_of(time_zone)
    by_month, savings, week = _engine.statistics_year(
        samples,
        time_zone=zone.key,
        utc_offset_hours=utc_offset_hours,
        sample_length=sample_length,
    )
    size = figsize if figsize is not None or axes is not None else SIZE_INCHES
    above, below = canvas(
        ["months", "week"], [3, 2], theme=theme, axes=axes, figsize=size, shares_time=False
    )
    pen = Pen(above, theme)
    total = None if savings is None else Decimal(savings)
    _draw_months(pen, above, _months(by_month), total, currency)
    _draw_week(pen, below, week, zone.key)
    return root(above.figure)


def _months(table: Table) -> list[Month]:
    import pyarrow as pa  # noqa: PLC0415  an optional extra

    columns = pa.table(table)
    names = ("date", "cost", "baseline_cost", "savings")
    rows = (columns.column(name).to_pylist() for name in names)
    return [Month(*row) for row in zip(*rows, strict=True)]


def _draw_months(
    pen: Pen, axes: Axes, months: Sequence[Month], total: Decimal | None, currency: str
) -> None:
    pen.dress(axes)
    axes.set_ylabel(plain(f"Cost ({currency})"))
    if not months:
        axes.set_xticks([])
        axes.set_yticks([])
        pen.say(axes, "nothing was measured")
        return
    places = range(len(months))
    paid = [float(month.cost) for month in months]
    # A month without smart charging would have cost what it did.
    instead = [
        float(month.cost if month.baseline_cost is None else month.baseline_cost)
        for month in months
    ]
    if total is not None:
        axes.bar(
            places,
            instead,
            width=0.8,
            color=pen(GREY),
            alpha=0.4,
            label="baseline: without smart charging",
        )
    axes.bar(places, paid, width=0.5, color=pen(BLUE), label="paid")
    axes.axhline(0, color=pen(FAINT), linewidth=0.8)
    axes.set_xticks(places, _names(months))
    if total is not None and len(months) <= FIGURES_MAX:
        for place, month in enumerate(months):
            _write_savings(pen, axes, place, max(paid[place], instead[place], 0), month.savings)
    first, last = months[0].date, months[-1].date
    dates = f"{first:%b %Y}" + (f" to {last:%b %Y}" if last != first else "")
    title = f"Cost by month, {dates}"
    if total is not None:
        word = "less" if total >= 0 else "more"
        title += f": {_view.amount(abs(float(total)), 2)} {currency} {word} than the baseline"
    axes.set_title(plain(title), loc="left", fontsize=11, fontweight="bold", color=pen(INK))
    axes.margins(y=0.12)
    axes.legend(
        frameon=False,
        fontsize=8,
        labelcolor=pen(INK),
        ncols=2,
        loc="upper right",
        bbox_to_anchor=(1, -0.12),
        borderpad=0,
    )


def _write_savings(
    pen: Pen, axes: Axes, place: int, height: float, savings: Decimal | None
) -> None:
    if savings is None:
        return
    axes.annotate(
        f"{-savings:+,.2f}",
        (place, height),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        fontsize=7.5,
        color=pen(GREEN if savings >= 0 else RED),
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


def _draw_week(pen: Pen, axes: Axes, week: Sequence[Sequence[float]], time_zone: str) -> None:
    shades = LinearSegmentedColormap.from_list("energy", [pen(RULE), pen(BLUE)])
    image = axes.imshow(week, aspect="auto", cmap=shades, interpolation="nearest")
    axes.set_yticks(range(len(WEEKDAYS)), WEEKDAYS)
    axes.set_xticks([hour - 0.5 for hour in HOUR_TICKS], [f"{hour:02}:00" for hour in HOUR_TICKS])
    axes.tick_params(colors=pen(FAINT), labelcolor=pen(INK), labelsize=9, length=2)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel(f"Hour in {time_zone}", color=pen(FAINT), fontsize=9)
    title = "Energy by hour and weekday"
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=pen(INK))
    bar = root(axes.figure).colorbar(image, ax=axes, pad=0.02, fraction=0.05)
    bar.set_label("Energy (kWh)", color=pen(INK), fontsize=9)
    bar.ax.tick_params(colors=pen(FAINT), labelcolor=pen(INK), labelsize=8, length=2)
    bar.outline.set_visible(False)
