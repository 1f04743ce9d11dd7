"""Wall clocks and instants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater import _engine

if TYPE_CHECKING:
    from datetime import datetime, time


def next_deadline(time: time, *, time_zone: str = "UTC", now: datetime) -> datetime:
    """Find the next instant at which the clocks of a zone show a time of day.

    The answer lies strictly after ``now``. A time that clocks skip in spring
    takes the offset before the jump; one that they show twice in autumn is its
    first showing.

    Args:
        time: Time of day, to the second.
        time_zone: IANA name, such as ``Europe/Oslo``.
        now: Aware time from which to look.

    Returns:
        The instant, in UTC.

    Raises:
        InputError: The time zone is unknown.
        TypeError: ``now`` has no time zone.

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
