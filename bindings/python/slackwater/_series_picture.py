"""The picture of a series, with matplotlib (``slackwater[plot]``)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from slackwater._engine import InputError
from slackwater.plot import DPI, PlanFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slackwater.series import Series

SIZE_INCHES = (9.0, 3.0)
LINE = "#2b5f8f"


def draw_series(
    series: Series, *, ax: Axes | None, figsize: tuple[float, float] | None, time_zone: str
) -> Figure:
    """Draw what :meth:`slackwater.Series.plot` promises."""
    if ax is not None and figsize is not None:
        raise InputError("figsize is of a figure of its own; ax has one already: give one of them")
    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        message = f"time_zone: {time_zone!r} is no IANA time zone such as Europe/Oslo"
        raise InputError(message) from None
    if ax is None:
        size = SIZE_INCHES if figsize is None else figsize
        figure = PlanFigure(figsize=size, dpi=DPI, layout="constrained", facecolor="white")
        ax = figure.subplots()
    for times, values in _runs(series._native.slots):
        # A step holds from its start; the last value is said once more, at its end.
        ax.step(cast("Any", times), values, where="post", color=LINE, linewidth=1.4)
    locator = AutoDateLocator(tz=zone)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator, tz=zone)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(formatter)
    ax.set_ylabel(series.unit.replace("$", r"\$"))
    ax.set_xlabel(f"Time in {time_zone}")
    return cast("Figure", ax.get_figure(root=True))


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
