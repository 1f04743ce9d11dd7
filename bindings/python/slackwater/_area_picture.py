"""Pictures of a page about an area: paths, axes and a pointer that tells values."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import datetime
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from slackwater.coordinate import AreaPlan

WIDTH, LEFT, RIGHT = 960.0, 58.0, 948.0
TICKS_MAX = 10
TICK_HOURS = (1, 2, 3, 6, 12, 24, 48, 96, 168)


class Frame(NamedTuple):
    """Where a picture has its numbers."""

    edges: list[float]
    top: float
    bottom: float
    ticks: list[float]

    @property
    def low(self) -> float:
        """The lowest value."""
        return self.ticks[0]

    @property
    def high(self) -> float:
        """The highest value; what is above is cut off."""
        return self.ticks[-1]

    def x(self, at: float) -> float:
        """From hours to the page."""
        span = (self.edges[-1] - self.edges[0]) or 1.0
        return LEFT + (RIGHT - LEFT) * (at - self.edges[0]) / span

    def y(self, value: float) -> float:
        """From a value to the page."""
        span = (self.high - self.low) or 1.0
        return self.bottom - (self.bottom - self.top) * (value - self.low) / span


def in_digits(value: float, digits: int | None = None) -> str:
    """A number with so many digits behind the point; without a word, few for a large one."""
    if digits is None:
        size = abs(value)
        digits = 0 if size >= 100 else 1 if size >= 10 else 2
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text.replace("-", "\u2212")


def frame_of(plan: AreaPlan, span: tuple[float, float], low: float, high: float) -> Frame:
    """A picture between two heights whose scale has round numbers."""
    wide = max(high - low, 1e-9) / 4
    size = 10.0 ** math.floor(math.log10(wide))
    step = next(size * nice for nice in (1, 2, 2.5, 5, 10) if size * nice >= wide * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [step * number for number in range(first, max(last, first + 1) + 1)]
    return Frame(edges_of(plan), *span, ticks)


def edges_of(plan: AreaPlan) -> list[float]:
    """Boundaries of the slots in hours from the first."""
    start = plan.periods[0][0]
    hours = [(at - start).total_seconds() / 3600 for at, _ in plan.periods]
    return [*hours, (plan.periods[-1][1] - start).total_seconds() / 3600]


def stairs(frame: Frame, values: Sequence[float | None]) -> str:
    """A path along the tops of slots; it stops where there is no value."""
    path, is_drawn = [], False
    for (start, end), value in zip(pairwise(frame.edges), values, strict=True):
        if value is None:
            is_drawn = False
            continue
        y = frame.y(value)
        y = max(y, frame.top - 6)
        move = f"L{frame.x(start):.1f} {y:.1f}" if is_drawn else f"M{frame.x(start):.1f} {y:.1f}"
        path.append(f"{move}H{frame.x(end):.1f}")
        is_drawn = True
    return "".join(path)


def area_under(frame: Frame, values: Sequence[float]) -> str:
    """A path around what is between values and zero."""
    floor = frame.y(min(max(0.0, frame.low), frame.high))
    first, last = frame.x(frame.edges[0]), frame.x(frame.edges[-1])
    steps = stairs(frame, values).replace("M", "L", 1)
    return f"M{first:.1f} {floor:.1f}{steps}L{last:.1f} {floor:.1f}Z"


def axes(
    frame: Frame, plan: AreaPlan, zone: ZoneInfo, unit: str, *, has_numbers: bool = True
) -> str:
    """Lines and numbers of a scale, and the hours below."""
    parts = []
    step = frame.ticks[1] - frame.ticks[0]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    digits += round(step * 10**digits, 6) % 1 > 0
    for value in frame.ticks:
        y = frame.y(value)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{in_digits(value, digits) if has_numbers else ''}</text>"
        )
    parts.append(f'<text class="unit" x="4" y="{frame.top - 12:.1f}">{escape(unit)}</text>')
    span = frame.edges[-1] - frame.edges[0]
    every = next((hours for hours in TICK_HOURS if span / hours <= TICKS_MAX), TICK_HOURS[-1])
    start = plan.periods[0][0]
    for number in range(int(span) + 1):
        at = plan.periods[0][0].timestamp() + number * 3600
        local = datetime.fromtimestamp(at - at % 3600 + (3600 if at % 3600 else 0), tz=zone)
        offset = (local - start).total_seconds() / 3600
        if local.hour % min(every, 24) or not 0 <= offset <= span:
            continue
        text = f"{local:%a %d}" if local.hour == 0 else f"{local:%H:%M}"
        look = "tick day" if local.hour == 0 else "tick"
        parts.append(
            f'<text class="{look}" x="{frame.x(offset):.1f}" y="{frame.bottom + 20:.1f}" '
            f'text-anchor="middle">{text}</text>'
        )
    return "".join(parts)


def chart(picture: str, frame: Frame, height: float, data: object, label: str) -> str:
    """A picture that tells the values of a slot under the pointer."""
    values = escape(json.dumps(data, ensure_ascii=False), quote=True)
    line = (
        f'<line class="cursor" y1="{frame.top:.1f}" y2="{frame.bottom:.1f}" visibility="hidden"/>'
    )
    return (
        f'<div class="chart" data-left="{LEFT}" data-right="{RIGHT}" data-width="{WIDTH}" '
        f'data-values="{values}"><svg viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(label, quote=True)}">{picture}{line}</svg>'
        '<div class="tip" hidden></div></div>'
    )
