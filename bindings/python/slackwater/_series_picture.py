"""The picture of a series, with matplotlib (``slackwater[plot]``)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from slackwater import _view
from slackwater._palette import BLUE
from slackwater.plot import LocalClock, LocalClockFormatter, Pen, canvas, plain, root

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slackwater._palette import Theme
    from slackwater.series import Series

SIZE_INCHES = (9.0, 3.0)


def draw_series(
    series: Series,
    *,
    time_zone: str | ZoneInfo,
    theme: Theme,
    ax: Axes | None,
    figsize: tuple[float, float] | None,
) -> Figure:
    """Draw what :meth:`slackwater.Series.plot` promises."""
    zone = _view.zone_of(time_zone)
    size = figsize if figsize is not None or ax is not None else SIZE_INCHES
    (axes,) = canvas(["values"], [1.0], theme=theme, ax=ax, figsize=size)
    pen = Pen(axes, theme)
    pen.dress(axes)
    # A line wider than its steps would be a band.
    width = min(1.4, max(0.4, 600 / max(len(series), 1)))
    for times, values in _runs(series._native.slots):
        # A step holds from its start; the last value is said once more, at its end.
        axes.step(cast("Any", times), values, where="post", color=pen(BLUE), linewidth=width)
    axes.xaxis.set_major_locator(LocalClock(zone))
    axes.xaxis.set_major_formatter(LocalClockFormatter(zone))
    axes.set_ylabel(plain(series.unit))
    axes.set_xlabel(f"Time in {zone.key}")
    return root(axes.figure)


def _runs(
    slots: list[tuple[datetime, datetime, float]],
) -> list[tuple[list[datetime], list[float]]]:
    """Slots that follow each other without a gap, as points of a line."""
    runs: list[tuple[list[datetime], list[float]]] = []
    for start, end, value in slots:
        if not runs or runs[-1][0][-1] != start:
            runs.append(([start], [value]))
        times, values = runs[-1]
        values[-1] = value
        times.append(end)
        values.append(value)
    return runs
