"""Pictures over time as data: panels, curves, bands, marks and ticks.

A plan becomes a :class:`Picture` in ``_pictures.py``; ``plot.py`` draws it with matplotlib and
``_svg.py`` as SVG. Bounds, ticks, labels and the resolution are computed here for both.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from typing import Literal
from zoneinfo import ZoneInfo

from slackwater import _view
from slackwater._palette import FAINT, Ink

Period = tuple[datetime, datetime]
Dash = Literal["solid", "dashed", "dotted"]

SLOTS_MAX = 1000
"""Periods of one curve beyond which a picture shows means of hours or of days."""
TICK_MINUTES = (15, 30, 60, 120, 180, 360, 720)
TICK_DAYS = (1, 2, 7, 14)
TICK_MONTHS = (1, 2, 3, 6, 12)
ROUND_STEPS = (1, 2, 2.5, 5, 10)
QUARTER, HOUR, DAY = timedelta(minutes=15), timedelta(hours=1), timedelta(days=1)
CHANGES_MAX = timedelta(days=60)
ROUNDING = 1e-9
LABEL_SHARE, LABEL_ROWS = 0.36, 4
"""Width of words beside a mark, as a share of the panel, and rows of them where marks crowd."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Values of periods, constant in each; ``None`` and time between periods are gaps.

    Attributes:
        name: Name of the curve, unlike all others of the picture.
        ink: Its colour.
        periods: Start and end of each value, oldest first.
        values: The values.
        base: Lower edge of a filled curve; zero without it.
        is_filled: Whether the space down to ``base`` is filled, without a line.
        label: Words in the legend; none if empty.
        tip: Words beside the value under a pointer; ``label`` if empty.
        told: Values under a pointer, where curves are stacked; ``values`` if ``None``.
        dash: Form of the line.
        is_hatched: Whether the filled space is hatched, too.
        opacity: Opacity of the filled space.
        width: Width of the line in points.
    """

    name: str
    ink: Ink
    periods: Sequence[Period]
    values: Sequence[float | None]
    base: Sequence[float] | None = None
    is_filled: bool = False
    label: str = ""
    tip: str = ""
    told: Sequence[float | None] | None = None
    dash: Dash = "solid"
    is_hatched: bool = False
    opacity: float = 1.0
    width: float = 1.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Straight lines from point to point.

    Attributes:
        name: Name of the curve, unlike all others of the picture.
        ink: Its colour.
        points: Instants with their values, oldest first.
        lows: Lower edge of a filled range, point by point; ``None`` draws a line.
        label: Words in the legend; none if empty.
        tip: Words beside the value under a pointer.
        opacity: Opacity of the line or the range.
        width: Width of the line in points.
    """

    name: str
    ink: Ink
    points: Sequence[tuple[datetime, float]]
    lows: Sequence[float] | None = None
    label: str = ""
    tip: str = ""
    opacity: float = 1.0
    width: float = 1.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Periods shaded over the height of all panels."""

    name: str
    ink: Ink
    periods: Sequence[Period]
    label: str = ""
    is_hatched: bool = False
    opacity: float = 0.13


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A target: a dot with a tick if it is met, with a cross if it is missed.

    Attributes:
        name: Name of the mark.
        at: Its deadline.
        value: Level that is wanted.
        is_met: Whether the level is reached by the deadline.
        words: Words beside the dot.
        reached: Level that is reached by the deadline.
    """

    name: str
    at: datetime
    value: float
    is_met: bool
    words: str
    reached: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """Values of many rows as shades: a row for each vehicle, ``None`` where it is away.

    Attributes:
        names: Names of the rows, the first on top.
        periods: Start and end of each column.
        values: Values by row; below zero they take a second hue.
        signs: Targets as row, deadline and whether it is met.
        label: Words for a shade, with the unit.
    """

    names: Sequence[str]
    periods: Sequence[Period]
    values: Sequence[Sequence[float | None]]
    label: str
    signs: Sequence[tuple[int, datetime, bool]] = ()

    @property
    def most(self) -> float:
        """The largest value without its sign."""
        found = (abs(value) for row in self.values for value in row if value is not None)
        return max(found, default=0.0) or 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart of a picture.

    Attributes:
        name: Name of the panel, for callers who give axes.
        title: Quantity of the vertical axis.
        unit: Its unit.
        weight: Height in proportion to other panels.
        curves: Curves, the first at the back.
        marks: Targets.
        heat: Rows of shades in place of curves.
        bounds: Lowest and highest value, where curves do not decide.
        ticks: Values with a label, where bounds do not decide.
        has_numbers: Whether values are quantities; otherwise they only rank.
        note: Words in place of curves that are missing.
    """

    name: str
    title: str
    unit: str
    weight: float = 1.0
    curves: Sequence[Steps | Line] = ()
    marks: Sequence[Mark] = ()
    heat: Heat | None = None
    bounds: tuple[float, float] | None = None
    ticks: Sequence[float] | None = None
    has_numbers: bool = True
    note: str = ""

    @property
    def label(self) -> str:
        """Label of the vertical axis."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A plan as it is drawn.

    Attributes:
        title: The headline.
        facts: The subtitle in parts; the date range comes first.
        warning: Words about what is missed.
        zone: Time zone of all clocks.
        period: First and last instant in view; ``None`` if there is nothing to draw.
        panels: Charts on one time axis, the first on top.
        bands: Periods shaded in all panels.
        slots: Periods about which a pointer tells.
        reasons: Periods with words about them.
        readings: Curves that are not drawn, but told under a pointer, with their units.
    """

    title: str
    facts: Sequence[str]
    zone: ZoneInfo
    period: Period | None
    panels: Sequence[Panel]
    bands: Sequence[Band] = ()
    warning: str = ""
    slots: Sequence[Period] = ()
    reasons: Sequence[tuple[datetime, datetime, str]] = ()
    readings: Sequence[tuple[Steps, str]] = ()

    @property
    def axis(self) -> str:
        """Label of the time axis."""
        return f"Time in {self.zone.key}"

    @property
    def legend(self) -> list[Steps | Line | Band]:
        """Curves and bands with words in the legend, in the order of drawing, each label once."""
        curves = (curve for panel in self.panels for curve in panel.curves)
        by_label: dict[str, Steps | Line | Band] = {}
        for item in (*curves, *self.bands):
            by_label.setdefault(item.label, item)
        by_label.pop("", None)
        return list(by_label.values())


# ------------------------------------------------------------------ vertical axis


def bounds_of(panel: Panel) -> tuple[float, float]:
    """Lowest and highest value of a panel: zero, all curves, and some room."""
    if panel.bounds is not None:
        return panel.bounds
    found = [0.0, *(mark.value for mark in panel.marks)]
    for curve in panel.curves:
        if isinstance(curve, Line):
            found += [value for _, value in curve.points]
        else:
            found += [value for value in curve.values if value is not None]
    low, high = min(found), max(found)
    low = 0.0 if low > -high * ROUNDING else low
    room = (high - low) * 0.08 or 0.1
    return (low - room if low < 0 else 0.0), (high + room if high > 0 or low == 0 else room)


def round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two values, so few that their labels fit."""
    wide = max(high - low, 1e-9) / most
    size = 10.0 ** math.floor(math.log10(wide))
    step = next(size * nice for nice in ROUND_STEPS if size * nice >= wide * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * number for number in range(first, last + 1)]


def tick_numbers(ticks: Sequence[float]) -> list[str]:
    """Labels of a vertical axis, with as many decimals as their distance needs."""
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    digits = max(0, -math.floor(math.log10(step or 1.0) + 1e-9))
    digits += round(step * 10**digits, 6) % 1 > 0
    return [_view.amount(value, digits) for value in ticks]


# -------------------------------------------------------------------- time axis


def midnights(first: datetime, last: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Local midnights of a period, in UTC."""
    date = first.astimezone(zone).date()
    while (at := datetime.combine(date, time(0), zone).astimezone(UTC)) <= last:
        if at >= first:
            yield at
        date += DAY


def clock_ticks(first: datetime, last: datetime, zone: ZoneInfo, most: int = 11) -> list[datetime]:
    """Full quarters, hours, days or months of local clocks, so few that their labels fit.

    A tick stands where clocks show the hour: a doubled hour has two, a skipped hour none.
    """
    length = last - first
    step = next((step for step in TICK_MINUTES if length / timedelta(minutes=step) <= most), None)
    if step is not None:
        quarter = full_quarter(first)
        quarters = (quarter + QUARTER * number for number in range(int(length / QUARTER) + 2))
        inside = (at for at in quarters if first <= at <= last)
        return [at for at in inside if _minutes_of_day(at.astimezone(zone)) % step == 0]
    days = list(midnights(first, last, zone))
    labels = max(2, most - 3)
    every = next((every for every in TICK_DAYS if len(days) / every <= labels), None)
    if every is not None:
        chosen = (at for at in days if every < 7 or at.astimezone(zone).weekday() == 0)
        return [at for index, at in enumerate(chosen) if index % (every // 7 or every) == 0]
    months = [at for at in days if at.astimezone(zone).day == 1]
    every = next((n for n in TICK_MONTHS if len(months) / n <= labels), 12 * len(months))
    return [at for at in months if (at.astimezone(zone).month - 1) % min(every, 12) == 0]


def full_quarter(at: datetime) -> datetime:
    """The last full quarter of an hour, in UTC."""
    return at.astimezone(UTC).replace(minute=at.minute // 15 * 15, second=0, microsecond=0)


def _minutes_of_day(at: datetime) -> int:
    return at.hour * 60 + at.minute


def tick_labels(ticks: Sequence[datetime], zone: ZoneInfo) -> list[str]:
    """Labels of a time axis in two lines, the date wherever it is new."""
    shown = [at.astimezone(zone) for at in ticks]
    if shown and all(at.hour == at.minute == 0 for at in shown):
        if len(shown) > 1 and shown[1] - shown[0] > timedelta(days=27):
            years = [None, *(at.year for at in shown)]
            pairs = zip(shown, years, strict=False)
            return [f"{at:%b}\n{at.year if at.year != year else ' '}" for at, year in pairs]
        return [_view.day(at) for at in shown]
    labels = []
    for index, at in enumerate(shown):
        is_new = index == 0 or at.date() != shown[index - 1].date()
        # The first date gives way where the next follows at once.
        following = shown[index + 1] if index == 0 and len(shown) > 1 else at
        # All have two lines: one line alone would stand a little higher.
        date = _view.day(at) if is_new and following.date() == at.date() else " "
        labels.append(f"{at:%H:%M}\n{date}")
    return labels


def clock_changes(
    first: datetime, last: datetime, zone: ZoneInfo
) -> Iterator[tuple[datetime, bool]]:
    """Instants at which clocks are set, and whether they go back; none of long periods."""
    if last - first > CHANGES_MAX:
        return
    at = full_quarter(first)
    offset = at.astimezone(zone).utcoffset() or timedelta()
    while (at := at + QUARTER) <= last:
        later = at.astimezone(zone).utcoffset() or timedelta()
        if later != offset:
            yield at, later < offset
        offset = later


# ------------------------------------------------------------------------ values


def runs_of(steps: Steps) -> Iterator[list[tuple[datetime, datetime, float, float]]]:
    """Stretches without a gap, as start, end, value and base of each step."""
    run: list[tuple[datetime, datetime, float, float]] = []
    bases = steps.base if steps.base is not None else [0.0] * len(steps.periods)
    for (start, end), value, base in zip(steps.periods, steps.values, bases, strict=True):
        if run and (value is None or start != run[-1][1]):
            yield run
            run = []
        if value is not None:
            run.append((start, end, value, base))
    if run:
        yield run


def value_at(curve: Steps | Line, at: datetime) -> float | None:
    """Value of a curve at an instant; ``None`` in a gap and outside of it."""
    if isinstance(curve, Line):
        return _between(curve.points, at)
    index = bisect_right(curve.periods, at, key=lambda period: period[0]) - 1
    if index < 0 or at >= curve.periods[index][1]:
        return None
    return (curve.values if curve.told is None else curve.told)[index]


def _between(points: Sequence[tuple[datetime, float]], at: datetime) -> float | None:
    index = bisect_right(points, at, key=lambda point: point[0]) - 1
    if index < 0 or (index == len(points) - 1 and at > points[index][0]):
        return None
    (start, before), (end, after) = points[index], points[min(index + 1, len(points) - 1)]
    return before if end == start else before + (after - before) * ((at - start) / (end - start))


def mark_labels(panel: Panel, period: Period | None) -> Iterator[tuple[Mark, bool, int | None]]:
    """Marks with words, whether these stand on the left, and their row at the top, if any.

    Words stand beside the mark; where marks are crowded only those that are missed have words, in
    rows at the top, as far as there is room.
    """
    if period is None:
        return
    first, last = period
    near, wide = (last - first) / 5, (last - first) * LABEL_SHARE
    rows: list[list[Period]] = [[] for _ in range(LABEL_ROWS)]
    for mark in panel.marks:
        is_left = mark.at - first > (last - first) / 3
        is_crowded = any(abs(o.at - mark.at) < near for o in panel.marks if o is not mark)
        if not mark.words or (is_crowded and mark.is_met):
            continue
        if not is_crowded:
            yield mark, is_left, None
            continue
        start = mark.at - wide if is_left else mark.at
        taken = (any(start < end and begin < start + wide for begin, end in row) for row in rows)
        free = next((row for row, is_taken in enumerate(taken) if not is_taken), None)
        if free is not None:
            rows[free].append((start, start + wide))
            yield mark, is_left, free


# -------------------------------------------------------------------- resolution


def coarse(picture: Picture) -> Picture:
    """Replace curves of very many periods by means of hours or days, and say so."""
    curves = [curve for panel in picture.panels for curve in panel.curves]
    most = max((len(c.periods) for c in curves if isinstance(c, Steps)), default=0)
    if picture.period is None or most <= SLOTS_MAX:
        return picture
    first, last = picture.period
    is_daily = (last - first) / HOUR > SLOTS_MAX
    buckets = list(pairwise(_edges(picture, is_daily=is_daily)))
    panels = [
        replace(
            panel,
            curves=[part for curve in panel.curves for part in _coarse_curve(curve, buckets)],
            marks=[mark for mark in panel.marks if not mark.is_met],
            heat=None if panel.heat is None else _coarse_heat(panel.heat, buckets),
        )
        for panel in picture.panels
    ]
    marks = [mark for panel in picture.panels for mark in panel.marks]
    met = f"{sum(mark.is_met for mark in marks)} of {len(marks)} targets met"
    return replace(
        picture,
        panels=panels,
        bands=_coarse_bands(picture.bands, DAY if is_daily else HOUR),
        facts=[
            *picture.facts,
            f"{'daily' if is_daily else 'hourly'} means",
            *([met][: len(marks)]),
        ],
        slots=buckets,
        reasons=(),
    )


def _edges(picture: Picture, *, is_daily: bool) -> list[datetime]:
    """Local midnights or full hours, and both ends of the view."""
    assert picture.period is not None  # noqa: S101  the caller has looked
    first, last = picture.period
    if is_daily:
        inner = list(midnights(first, last, picture.zone))
    else:
        hour = first.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + HOUR
        inner = [hour + HOUR * number for number in range(int((last - hour) / HOUR) + 1)]
    return [first, *(at for at in inner if first < at < last), last]


def _coarse_curve(curve: Steps | Line, buckets: Sequence[Period]) -> list[Steps | Line]:
    if isinstance(curve, Steps):
        told = None if curve.told is None else _means(curve.periods, curve.told, buckets)
        base = None
        if curve.base is not None:
            base = [value or 0.0 for value in _means(curve.periods, curve.base, buckets)]
        values = _means(curve.periods, curve.values, buckets)
        return [replace(curve, periods=buckets, values=values, base=base, told=told)]
    if curve.lows is not None:
        return []
    lows, highs = [], []
    index = 0
    for start, end in buckets:
        found = [v for at in (start, end) if (v := _between(curve.points, at)) is not None]
        while index < len(curve.points) and curve.points[index][0] < end:
            found += [curve.points[index][1]] if curve.points[index][0] >= start else []
            index += 1
        lows.append(min(found, default=None))
        highs.append(max(found, default=None))
    span = Steps(
        name=f"{curve.name}-range",
        ink=curve.ink,
        periods=buckets,
        values=highs,
        base=[low or 0.0 for low in lows],
        is_filled=True,
        opacity=0.25,
        label="lowest to highest",
        told=[None] * len(buckets),
    )
    mean = Steps(
        name=curve.name,
        ink=curve.ink,
        periods=buckets,
        values=_line_means(curve.points, buckets),
        tip=curve.tip,
        width=0.8,
    )
    return [span, mean]


def _line_means(
    points: Sequence[tuple[datetime, float]], buckets: Sequence[Period]
) -> list[float | None]:
    """Mean of a line in each bucket: that of its middle over each part of it."""
    edges = {edge for bucket in buckets for edge in bucket}
    cut = [(at, level) for at in edges if (level := _between(points, at)) is not None]
    parts = list(pairwise(sorted({*points, *cut})))
    middles = [(before + after) / 2 for (_, before), (_, after) in parts]
    return _means([(start, end) for (start, _), (end, _) in parts], middles, buckets)


def _coarse_bands(bands: Sequence[Band], shortest: timedelta) -> list[Band]:
    """Bands over whole buckets; shorter ones would be as wide as a line."""
    longer = [
        replace(
            band, periods=[(start, end) for start, end in band.periods if end - start > shortest]
        )
        for band in bands
    ]
    return [band for band in longer if band.periods]


def _coarse_heat(heat: Heat, buckets: Sequence[Period]) -> Heat:
    rows = [_means(heat.periods, row, buckets) for row in heat.values]
    return replace(heat, periods=buckets, values=rows, signs=[s for s in heat.signs if not s[2]])


def _means(
    periods: Sequence[Period], values: Sequence[float | None], buckets: Sequence[Period]
) -> list[float | None]:
    """Mean of each bucket over the time with a value."""
    sums, lengths = [0.0] * len(buckets), [0.0] * len(buckets)
    bucket = 0
    for (start, end), value in zip(periods, values, strict=True):
        while bucket < len(buckets) and buckets[bucket][1] <= start:
            bucket += 1
        at = bucket
        while value is not None and at < len(buckets) and buckets[at][0] < end:
            shared = min(end, buckets[at][1]) - max(start, buckets[at][0])
            sums[at] += value * shared.total_seconds()
            lengths[at] += shared.total_seconds()
            at += 1
    pairs = zip(sums, lengths, strict=True)
    return [total / length if length else None for total, length in pairs]


# ------------------------------------------------------------ parts of most pictures


def prices_in(
    name: str,
    slots: Sequence[tuple[datetime, datetime, float, bool]],
    ink: Ink,
    *,
    label: str = "",
    tip: str = "",
    dash: Dash = "solid",
) -> list[Steps]:
    """Lines of prices with their slots as start, end, price and whether it is an estimate."""
    lines = []
    for is_estimate in (False, True):
        own = [slot for slot in slots if slot[3] == is_estimate]
        if own:
            lines.append(
                Steps(
                    name=f"estimated-{name}" if is_estimate else name,
                    ink=ink,
                    periods=[(start, end) for start, end, _, _ in own],
                    values=[price for _, _, price, _ in own],
                    label=label,
                    tip=f"{tip or label}, estimated" if is_estimate else tip,
                    dash="dotted" if is_estimate else dash,
                    # A line wider than its steps would be a black band.
                    width=min(1.6, max(0.4, 300 / len(own))),
                )
            )
    return lines


def no_price(periods: Sequence[Period]) -> list[Band]:
    """Time without a price, hatched."""
    band = Band(name="no-price", ink=FAINT, periods=periods, label="no price", is_hatched=True)
    return [band] if periods else []


def estimated(periods: Sequence[Period]) -> list[Band]:
    """Time whose price is an estimate."""
    label = "estimated price"
    band = Band(name="estimate", ink=FAINT, periods=_joined(periods), label=label, opacity=0.08)
    return [band] if periods else []


def _joined(periods: Sequence[Period]) -> list[Period]:
    joined: list[Period] = []
    for start, end in periods:
        if joined and joined[-1][1] >= start:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
