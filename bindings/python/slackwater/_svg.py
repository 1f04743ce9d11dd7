"""Pictures drawn as SVG, for notebooks and for pages.

Each element has the class of its ink and, as an attribute, the colour of that ink. Cells of
notebooks have no style sheet: there text takes the colour of the page, and hues stand out from
white and from black. In pages a style sheet overrides the attributes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from html import escape
from zoneinfo import ZoneInfo

from slackwater import _timeline, _view
from slackwater._palette import BLUE, FAINT, INK, MET, MISSED, ORANGE, PAPER, RULE, Ink
from slackwater._timeline import Band, Heat, Line, Mark, Panel, Picture, Steps

LEFT, RIGHT, HEAD, FOOT = 52.0, 20.0, 30.0, 36.0
SAMPLE = (0.0, 0.0, 18.0, 10.0)
ROW_SHARE, ROW_MIN = 0.058, 40.0
"""Height of a panel of weight 1, as a share of the width and at least."""
TICK_WIDTH = 74.0
LABEL_HEIGHT = 12.0
DASHES = {"solid": "", "dashed": ' stroke-dasharray="6 4"', "dotted": ' stroke-dasharray="2 3"'}
TICK, CROSS = "M-3.2 0L-1 2.4L3.2-2.6", "M-2.5-2.5L2.5 2.5M-2.5 2.5L2.5-2.5"
PAGE_INKS = {INK: "", FAINT: ' opacity="0.7"', RULE: ' opacity="0.2"'}
"""Inks that are the colour of the text around the drawing."""


def ink(colour: Ink) -> str:
    """Attributes of an element of one ink."""
    own = PAGE_INKS.get(colour, f' color="{colour.light}"')
    return f'class="ink-{colour.name}"{own}'


class Frame:
    """Place of one panel in the drawing."""

    def __init__(self, picture: Picture, panel: Panel, width: float, top: float) -> None:
        assert picture.period is not None  # noqa: S101  nothing is drawn without it
        self.first, last = picture.period
        self.length = last - self.first
        self.width = width
        self.top, self.bottom = top, top + max(ROW_MIN, ROW_SHARE * width) * panel.weight
        self.low, self.high = _timeline.bounds_of(panel)

    def x(self, at: datetime) -> float:
        """From an instant to the drawing."""
        share = (at - self.first) / self.length
        return LEFT + (self.width - LEFT - RIGHT) * min(max(share, 0.0), 1.0)

    def y(self, value: float) -> float:
        """From a value to the drawing."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.bottom - (self.bottom - self.top) * min(max(share, -0.02), 1.02)


def svg(picture: Picture, *, width: float = 720.0) -> str:
    """Draw a picture; empty if there is nothing to draw."""
    if picture.period is None:
        return ""
    parts: list[str] = []
    top = HEAD
    frames = []
    for panel in picture.panels:
        frame = Frame(picture, panel, width, top)
        frames.append(frame)
        parts += _panel(picture, panel, frame)
        top = frame.bottom + HEAD
    last = frames[-1]
    parts += _clock(picture, frames)
    for panel, frame in zip(picture.panels, frames, strict=True):
        parts += _marks(picture, panel, frame, (frames[0].top, last.bottom))
    height = last.bottom + FOOT
    cursor = (
        f'<path class="cursor" d="M0 {frames[0].top:.0f}V{last.bottom:.0f}" '
        'stroke="currentColor" visibility="hidden"/>'
    )
    return (
        f'<svg role="img" aria-label="{escape(_words(picture))}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" style="display:block;width:100%;height:auto" '
        'fill="none" font-size="11" font-family="system-ui, sans-serif">'
        f"{''.join(parts)}{cursor}</svg>"
    )


def _words(picture: Picture) -> str:
    """The drawing in words, for those who cannot see it."""
    panels = "; ".join(" ".join(panel.label.split()) for panel in picture.panels)
    marks = [mark for panel in picture.panels for mark in panel.marks]
    met = f"; {sum(mark.is_met for mark in marks)} of {len(marks)} targets met" if marks else ""
    return f"{picture.title}. {picture.facts[0]}, {picture.axis}. {panels}{met}."


# ------------------------------------------------------------------------- panels


def _panel(picture: Picture, panel: Panel, frame: Frame) -> Iterator[str]:
    title = " ".join(panel.label.split())
    yield _text(2, frame.top - 8, title, INK, anchor="start")
    if panel.heat is not None:
        yield from _heat(panel.heat, frame)
        return
    for band in picture.bands:
        yield from _band(band, frame)
    yield from _scale(panel, frame)
    for curve in panel.curves:
        yield _line(curve, frame) if isinstance(curve, Line) else _steps(curve, frame)
    if panel.note:
        yield _text((LEFT + frame.width) / 2, (frame.top + frame.bottom) / 2, panel.note, FAINT)


def _text(
    x: float, y: float, words: str, colour: Ink, *, anchor: str = "middle", bold: bool = False
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {ink(colour)} {place}{weight} fill="currentColor">{escape(words)}</text>'


def _scale(panel: Panel, frame: Frame) -> Iterator[str]:
    """Lines of the grid with their numbers."""
    most = max(3, int((frame.bottom - frame.top) / 24))
    ticks = panel.ticks or _timeline.round_ticks(frame.low, frame.high, most)
    numbers = _timeline.tick_numbers(ticks)
    is_dense = len(ticks) * LABEL_HEIGHT > frame.bottom - frame.top
    for index, (value, number) in enumerate(zip(ticks, numbers, strict=True)):
        y, colour = frame.y(value), FAINT if value == 0 else RULE
        yield _path(f"M{LEFT} {y:.1f}H{frame.width - RIGHT:.1f}", colour)
        if panel.has_numbers and not panel.note and not (is_dense and index % 2):
            yield _text(LEFT - 6, y + 4, number, INK, anchor="end")


def _path(d: str, colour: Ink, *, width: float = 1.0, dash: str = "") -> str:
    return f'<path {ink(colour)} d="{d}" stroke="currentColor" stroke-width="{width:.1f}"{dash}/>'


def _band(band: Band, frame: Frame) -> Iterator[str]:
    for start, end in band.periods:
        left, right = frame.x(start), frame.x(end)
        if right > left:
            box = (left, frame.top, right, frame.bottom)
            yield _hatch(box, band.ink) if band.is_hatched else _box(box, band.ink, band.opacity)


def _box(box: tuple[float, float, float, float], colour: Ink, opacity: float) -> str:
    left, top, right, bottom = box
    return (
        f'<rect {ink(colour)} x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        f'height="{bottom - top:.1f}" fill="currentColor" fill-opacity="{opacity:.2f}" '
        'shape-rendering="crispEdges"/>'
    )


def _hatch(box: tuple[float, float, float, float], colour: Ink) -> str:
    """Slanted lines in a box. A pattern would need an id, which cells of a notebook share."""
    left, top, right, bottom = box
    height, lines = bottom - top, []
    at = left - height + 8 - (left - height) % 8
    while at < right:
        begin, end = max(at, left), min(at + height, right)
        if end > begin:
            lines.append(
                f"M{begin:.1f} {bottom - (begin - at):.1f}L{end:.1f} {bottom - (end - at):.1f}"
            )
        at += 8
    return f'<g stroke-opacity="0.35">{_path("".join(lines), colour)}</g>'


def _steps(steps: Steps, frame: Frame) -> str:
    path, boxes = [], []
    for run in _timeline.runs_of(steps):
        begin, first = frame.x(run[0][0]), frame.y(run[0][2])
        if not steps.is_filled:
            path.append(f"M{begin:.1f} {first:.1f}")
            path += [_corner(frame, end, value) for _, end, value, _ in run]
            continue
        path.append(f"M{begin:.1f} {frame.y(run[0][3]):.1f}")
        path += [f"V{frame.y(value):.1f}H{frame.x(end):.1f}" for _, end, value, _ in run]
        back = reversed(run)
        path += [f"V{frame.y(base):.1f}H{frame.x(start):.1f}" for start, _, _, base in back]
        path.append("Z")
        boxes += [
            (frame.x(start), *sorted((frame.y(value), frame.y(base))), frame.x(end))
            for start, end, value, base in run
        ]
    d = "".join(path)
    if not steps.is_filled:
        return _path(d, steps.ink, width=steps.width, dash=DASHES[steps.dash])
    fill = f'fill="currentColor" fill-opacity="{steps.opacity:.2f}"'
    filled = f'<path {ink(steps.ink)} d="{d}" {fill}/>'
    if steps.is_hatched:
        over = PAPER if steps.opacity == 1 else steps.ink
        filled += "".join(_hatch((box[0], box[1], box[3], box[2]), over) for box in boxes)
    return filled


def _corner(frame: Frame, end: datetime, value: float) -> str:
    """A step of a line; above the chart only its sides are drawn."""
    x, y = frame.x(end), frame.y(value)
    return f"V{y:.1f}{f'M{x:.1f} {y:.1f}' if value > frame.high else f'H{x:.1f}'}"


def _line(line: Line, frame: Frame) -> str:
    points = [f"{frame.x(at):.1f} {frame.y(value):.1f}" for at, value in line.points]
    if line.lows is None:
        drawn = _path(f"M{'L'.join(points)}", line.ink, width=line.width)
        return f'<g stroke-opacity="{line.opacity:.2f}">{drawn}</g>' if line.opacity < 1 else drawn
    pairs = zip(line.points, line.lows, strict=True)
    back = [f"{frame.x(at):.1f} {frame.y(low):.1f}" for (at, _), low in pairs]
    d = f"M{'L'.join([*points, *reversed(back)])}Z"
    return f'<path {ink(line.ink)} d="{d}" fill="currentColor" fill-opacity="{line.opacity:.2f}"/>'


def _marks(
    picture: Picture, panel: Panel, frame: Frame, heights: tuple[float, float]
) -> Iterator[str]:
    for mark in panel.marks:
        colour, x = MET if mark.is_met else MISSED, frame.x(mark.at)
        yield _path(f"M{x:.1f} {heights[0]:.1f}V{heights[1]:.1f}", colour, dash=DASHES["dotted"])
        if not mark.is_met:
            gap = f"M{x:.1f} {frame.y(mark.reached):.1f}V{frame.y(mark.value):.1f}"
            yield _path(gap, colour, width=2.4)
        yield _sign(mark, x, frame.y(mark.value))
    for mark, is_left, strip in _timeline.mark_labels(panel, picture.period):
        x = frame.x(mark.at) + (-10 if is_left else 10)
        is_under = mark.reached - mark.value > frame.high / 20
        beside = frame.y(mark.value) + (14 if is_under else -3)
        y = beside if strip is None else frame.top + 9 + 11 * strip
        colour, anchor = MET if mark.is_met else MISSED, "end" if is_left else "start"
        yield _text(x, y, mark.words, colour, anchor=anchor, bold=True)


def _sign(mark: Mark, x: float, y: float) -> str:
    """A dot with a tick or a cross."""
    colour, sign = (MET, TICK) if mark.is_met else (MISSED, CROSS)
    words = "met" if mark.is_met else "missed"
    return (
        f'<g transform="translate({x:.1f} {y:.1f})" data-name="{escape(mark.name)}">'
        f"<title>{words}</title>"
        f'<circle {ink(colour)} r="6" fill="currentColor"/>{_path(sign, PAPER, width=1.6)}</g>'
    )


def _heat(heat: Heat, frame: Frame) -> Iterator[str]:
    height = (frame.bottom - frame.top) / len(heat.names)
    every = -(-LABEL_HEIGHT // height)
    for row, (name, values) in enumerate(zip(heat.names, heat.values, strict=True)):
        top = frame.top + row * height
        if row % every == 0:
            # Names of a fleet differ at their ends.
            short = name if len(name) <= 8 else f"…{name[-6:]}"
            yield _text(LEFT - 6, top + height / 2 + 4, short, INK, anchor="end")
        for start, end, value, _ in _joined(heat, values):
            colour = BLUE if value >= 0 else ORANGE
            box = (frame.x(start), top, frame.x(end), top + height)
            yield (
                _box(box, RULE, 1.0)
                if value == 0
                else _box(box, colour, 0.15 + 0.85 * abs(value) / heat.most)
            )
    for row, at, is_met in heat.signs:
        colour, sign = (MET, TICK) if is_met else (MISSED, CROSS)
        place = f"translate({frame.x(at):.1f} {frame.top + (row + 0.5) * height:.1f})"
        yield f'<g transform="{place}">{_path(sign, colour, width=1.8)}</g>'
    yield from _shades(heat, frame)


def _joined(
    heat: Heat, values: Sequence[float | None]
) -> Iterator[tuple[datetime, datetime, float, float]]:
    """Periods of one shade."""
    steps = Steps(name="", ink=BLUE, periods=heat.periods, values=values)
    for run in _timeline.runs_of(steps):
        begin, level = run[0][0], run[0][2]
        for start, _, value, _ in run:
            if value != level:
                yield begin, start, level, 0.0
                begin, level = start, value
        yield begin, run[-1][1], level, 0.0


def _shades(heat: Heat, frame: Frame) -> Iterator[str]:
    """Key of the shades, above the panel on the right."""
    right, top = frame.width - RIGHT, frame.top - 19
    most = _view.amount(heat.most)
    yield _text(right, frame.top - 9, most, INK, anchor="end")
    left = right - 8 * len(most) - 60
    for step in range(5):
        box = (left + 11 * step, top + 1, left + 11 * step + 11, top + 12)
        yield _box(box, RULE, 1.0) if step == 0 else _box(box, BLUE, 0.15 + 0.85 * step / 4)
    yield _text(left - 6, frame.top - 9, f"{heat.label}  0", INK, anchor="end")


# ---------------------------------------------------------------------- time axis


def _clock(picture: Picture, frames: Sequence[Frame]) -> Iterator[str]:
    assert picture.period is not None  # noqa: S101  nothing is drawn without it
    last = frames[-1]
    most = max(3, int((last.width - LEFT - RIGHT) / TICK_WIDTH))
    ticks = _timeline.clock_ticks(*picture.period, picture.zone, most)
    for at, label in zip(ticks, _timeline.tick_labels(ticks, picture.zone), strict=True):
        x = last.x(at)
        hour, _, date = label.partition("\n")
        yield _path(f"M{x:.1f} {last.bottom:.1f}v4", FAINT)
        yield _text(x, last.bottom + 16, hour, INK)
        if date.strip():
            yield _text(x, last.bottom + 29, date, FAINT)
    for at, is_back in _timeline.clock_changes(*picture.period, picture.zone):
        x = last.x(at)
        yield _path(f"M{x:.1f} {frames[0].top:.1f}V{last.bottom:.1f}", FAINT, dash=DASHES["dotted"])
        words = "clocks go back" if is_back else "clocks go forward"
        yield _text(x + 4, last.bottom - 5, words, FAINT, anchor="start")


# -------------------------------------------------------------- legend and values


def legend(picture: Picture) -> str:
    """Samples of curves and bands with their words."""
    keys = []
    for item in picture.legend:
        if isinstance(item, Band):
            sample = _hatch(SAMPLE, item.ink) if item.is_hatched else _box(SAMPLE, item.ink, 0.35)
        elif item.lows is not None if isinstance(item, Line) else item.is_filled:
            sample = _box(SAMPLE, item.ink, item.opacity)
        else:
            dash = DASHES[item.dash] if isinstance(item, Steps) else ""
            sample = _path("M0 5H18", item.ink, width=max(item.width, 1.4), dash=dash)
        words = f"{_sample(sample)} {escape(item.label)}"
        keys.append(f'<span style="white-space:nowrap;margin-right:1.2em">{words}</span> ')
    return "".join(keys)


def swatch(colour: Ink) -> str:
    """A sample of a colour in the line of a text."""
    return _sample(_box((0.0, 0.0, 10.0, 10.0), colour, 1.0), width=10)


def _sample(drawn: str, *, width: int = 18) -> str:
    return (
        f'<svg aria-hidden="true" viewBox="0 0 {width} 10" width="{width}" height="10" fill="none" '
        f'style="display:inline-block;vertical-align:baseline">{drawn}</svg>'
    )


def values(picture: Picture) -> str:
    """Values by slot, as JSON for the script of a page."""
    assert picture.period is not None  # noqa: S101  nothing is drawn without it
    first, last = picture.period
    rows = []
    drawn = [(curve, panel.unit) for panel in picture.panels for curve in panel.curves]
    for curve, unit in [*drawn, *picture.readings]:
        words = curve.tip or curve.label
        if not words:
            continue
        found = [_timeline.value_at(curve, start) for start, _ in picture.slots]
        if any(value is not None for value in found):
            rounded = [None if value is None else round(value, 5) for value in found]
            rows.append([words, curve.ink.name, unit, rounded])
    length = last - first
    data = {
        "edges": [
            [round((start - first) / length, 6), round((end - first) / length, 6)]
            for start, end in picture.slots
        ],
        "times": [_slot(start, end, picture.zone) for start, end in picture.slots],
        "rows": rows,
        "reasons": [
            [round((start - first) / length, 6), round((end - first) / length, 6), words]
            for start, end, words in picture.reasons
        ],
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _slot(start: datetime, end: datetime, zone: ZoneInfo) -> str:
    return _view.span(start, end, zone)
