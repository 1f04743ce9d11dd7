"""Wall clocks and instants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater import _engine

if TYPE_CHECKING:
    from datetime import datetime, time

TIME_ZONE_VERSION: str = _engine.time_zone_version()
"""The edition of the IANA time zone tables that all wall clocks are read from.

They are part of the package: no machine's own tables are asked.
"""


def next_deadline(time: time | str, *, time_zone: str = "UTC", now: datetime) -> datetime:
    """Find the next instant at which the clocks of a zone show a time of day.

    The answer lies strictly after ``now``. A time that clocks skip in spring
    takes the offset before the jump; an ambiguous time in autumn is taken as
    its first occurrence.

    Args:
        time: Time of day: a ``datetime.time``, or a text ``"HH:MM"``.
        time_zone: IANA name, such as ``Europe/Oslo``.
        now: Aware time from which to look.

    Returns:
        The instant, in UTC.

    Raises:
        InputError: The time zone is unknown, or the text no time of day.
        TypeError: ``now`` has no time zone, or ``time`` has one.

    Example:
        >>> from datetime import UTC, datetime, time
        >>> evening = datetime(2026, 1, 15, 20, tzinfo=UTC)
        >>> next_deadline(time(7), time_zone="Europe/Oslo", now=evening).isoformat()
        '2026-01-16T06:00:00+00:00'

        On 29 March 2026 clocks in Oslo jump from 02:00 to 03:00:

        >>> before = datetime(2026, 3, 28, 20, tzinfo=UTC)
        >>> next_deadline(time(2, 30), time_zone="Europe/Oslo", now=before).isoformat()
        '2026-03-29T01:30:00+00:00'
    """
    return _engine.next_deadline(time, time_zone=time_zone, now=now)
