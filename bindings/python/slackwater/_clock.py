"""Time axes on the clocks of a zone, in elapsed time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from matplotlib import dates as mdates
from matplotlib.ticker import Formatter, Locator

from slackwater import _view

TICKS_MAX = 11
DAYS_MAX = 8
TICK_MINUTES = (15, 30, 60, 120, 180, 360, 720)
QUARTER = timedelta(minutes=15)


def number_of(at: datetime) -> float:
    """An instant as matplotlib counts it, in days."""
    return float(mdates.date2num(at))  # type: ignore[no-untyped-call]


def midnights(first: datetime, last: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Local midnights of a period, in UTC."""
    date = first.astimezone(zone).date()
    while (at := datetime.combine(date, time(0), zone).astimezone(UTC)) <= last:
        if at >= first:
            yield at
        date += timedelta(days=1)


def clock_changes(
    first: datetime, last: datetime, zone: ZoneInfo
) -> Iterator[tuple[datetime, bool]]:
    """Instants at which clocks are set, and whether they go back."""
    at = full_quarter(first)
    while (later := at + QUARTER) <= last:
        before, after = (moment.astimezone(zone).utcoffset() for moment in (at, later))
        if before is not None and after is not None and before != after:
            yield later, after < before
        at = later


def full_quarter(at: datetime) -> datetime:
    """The last full quarter of an hour, in UTC."""
    return at.astimezone(UTC).replace(minute=at.minute // 15 * 15, second=0, microsecond=0)


class LocalClock(Locator):
    """Ticks at full quarters, hours or days of local clocks.

    A tick stands where clocks show the hour: a doubled hour has two, a
    skipped hour none.
    """

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def __call__(self) -> Sequence[float]:
        if self.axis is None:
            return []
        low, high = self.axis.get_view_interval()
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Choose ticks between two times, so few that their labels fit."""
        first, last = instant_of(min(vmin, vmax)), instant_of(max(vmin, vmax))
        minutes = (last - first) / timedelta(minutes=1)
        step = next((step for step in TICK_MINUTES if minutes / step <= TICKS_MAX), None)
        if step is None:
            days = math.ceil((last - first) / timedelta(days=DAYS_MAX))
            all_days = enumerate(midnights(first, last, self._zone))
            return [number_of(at) for index, at in all_days if index % days == 0]
        ticks = []
        at = full_quarter(first) + QUARTER
        while at <= last:
            local = at.astimezone(self._zone)
            if (local.hour * 60 + local.minute) % step == 0:
                ticks.append(number_of(at))
            at += QUARTER
        return ticks


class LocalClockFormatter(Formatter):
    """Hours as ``18:00``, with the date below wherever it is new."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def __call__(self, x: float, pos: int | None = None) -> str:
        del pos
        return f"{instant_of(x).astimezone(self._zone):%H:%M}"

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Label all ticks of an axis."""
        shown = [instant_of(value).astimezone(self._zone) for value in values]
        if shown and all(at.hour == 0 for at in shown):
            return [_view.day(at) for at in shown]
        labels = []
        for index, at in enumerate(shown):
            is_new = index == 0 or at.date() != shown[index - 1].date()
            # The first date gives way where the next follows at once.
            following = shown[index + 1] if index == 0 and len(shown) > 1 else at
            has_room = following.date() == at.date()
            # All have two lines: one line alone would stand a little higher.
            date = _view.day(at) if is_new and has_room else " "
            labels.append(f"{at:%H:%M}\n{date}")
        return labels


def instant_of(number: float) -> datetime:
    """The instant that a number of days means, to the second."""
    at: datetime = mdates.num2date(number, tz=UTC)  # type: ignore[no-untyped-call]
    return (at + timedelta(milliseconds=500)).replace(microsecond=0)
