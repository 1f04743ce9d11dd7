"""Times on the command line: as they are typed, and as they are shown."""

from __future__ import annotations

import re
from datetime import datetime, time
from zoneinfo import ZoneInfo

from slackwater._engine import InputError
from slackwater.time import next_deadline

# Beyond these, conversions between zones leave the calendar of `datetime`.
YEAR_MIN, YEAR_MAX = 1900, 2200
TIME_OF_DAY = re.compile(r"\d{2}:\d{2}(:\d{2})?")


class Clock:
    """The wall clock of a time zone, for display."""

    def __init__(self, time_zone: str | None) -> None:
        """Look the zone up; UTC without one."""
        self.name = time_zone or "UTC"
        try:
            self._zone = ZoneInfo(self.name)
        except (KeyError, ValueError, OSError) as error:
            raise InputError(f"--time-zone {self.name!r} is no IANA time zone") from error

    def iso(self, at: datetime) -> str:
        """Write an instant for programs."""
        return at.astimezone(self._zone).isoformat()

    def date(self, at: datetime) -> str:
        """Write date and time for people, to the minute."""
        local = at.astimezone(self._zone)
        return f"{local:%a} {local.day} {local:%b} {self._time(local)}"

    def short_date(self, at: datetime) -> str:
        """Write date and time for people, without the day of the week."""
        local = at.astimezone(self._zone)
        return f"{local.day} {local:%b} {self._time(local)}"

    def span(self, start: datetime, end: datetime) -> str:
        """Write a period; the second date only if it is another."""
        first, last = start.astimezone(self._zone), end.astimezone(self._zone)
        until = self._time(last) if first.date() == last.date() else self.date(end)
        return f"{self.date(start)} to {until}"

    def _time(self, local: datetime) -> str:
        """The time of day; with its name where clocks show it twice."""
        twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
        return local.strftime("%H:%M %Z" if twice else "%H:%M")


def parse_instant(text: str, *, option: str) -> datetime:
    """Read a time with an offset.

    Raises:
        InputError: It is something else.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        wanted = "such as 2026-01-05T18:00+01:00"
        raise InputError(f"{option} {text!r} is no time {wanted}") from None
    if at.tzinfo is None:
        wanted = "write it like 2026-01-05T18:00+01:00"
        raise InputError(f"{option} {text!r} has no UTC offset; {wanted}")
    if not YEAR_MIN <= at.year <= YEAR_MAX:
        raise InputError(f"{option} {text!r} is not between {YEAR_MIN} and {YEAR_MAX}")
    return at


def parse_deadline(text: str, *, option: str, time_zone: str | None, now: datetime) -> datetime:
    """Read a time with an offset, or a time of day in the time zone.

    Raises:
        InputError: It is something else, or a time of day without a zone.
    """
    if not TIME_OF_DAY.fullmatch(text):
        return parse_instant(text, option=option)
    if time_zone is None:
        raise InputError(f"{option} {text} needs --time-zone, such as Europe/Oslo")
    try:
        of_day = time.fromisoformat(text)
    except ValueError:
        raise InputError(f"{option} {text!r} is no time of day") from None
    return next_deadline(of_day, time_zone=time_zone, now=now)
