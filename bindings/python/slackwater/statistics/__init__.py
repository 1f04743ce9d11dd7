"""Time series of energy and money that add up.

A *sample* is a period of constant power with the price that held then. Samples
are summed up by *bucket*: quarters of an hour up to years, at any fixed offset
from UTC. Energy is conserved whatever the bucket; money is kept in whole parts
of 1e-12, so slots, sessions, days and months agree to the last digit.

:func:`series` and :func:`session` take lists and suit a handful of samples.
:func:`aggregate` takes Arrow tables and suits hundreds of millions.
:func:`freeze_session` writes a session into the ledger: its prices, and what
would have happened without smart charging, fixed for good;
:func:`freeze_sessions` does so for a table of sessions.
"""

from slackwater import _public
from slackwater.statistics.charging import (
    available_range,
    bucket_label,
    members,
    series,
    session,
    utc_offset_minutes,
)
from slackwater.statistics.columns import aggregate, hours_of_week, plot_year
from slackwater.statistics.home import home_battery_level, home_flow
from slackwater.statistics.ledger import freeze_session, freeze_sessions
from slackwater.statistics.measurements import (
    samples_from_meter,
    samples_from_power,
    samples_from_sessions,
)
from slackwater.statistics.types import (
    RESOLUTIONS,
    Findings,
    FrozenSession,
    HomeSeries,
    Item,
    Ledger,
    Measured,
    NonSmart,
    Point,
    Sample,
    SessionItem,
    Spread,
    Totals,
)

__all__ = [
    "RESOLUTIONS",
    "Findings",
    "FrozenSession",
    "HomeSeries",
    "Item",
    "Ledger",
    "Measured",
    "NonSmart",
    "Point",
    "Sample",
    "SessionItem",
    "Spread",
    "Totals",
    "aggregate",
    "available_range",
    "bucket_label",
    "freeze_session",
    "freeze_sessions",
    "home_battery_level",
    "home_flow",
    "hours_of_week",
    "members",
    "plot_year",
    "samples_from_meter",
    "samples_from_power",
    "samples_from_sessions",
    "series",
    "session",
    "utc_offset_minutes",
]

_public.guard(__name__)
