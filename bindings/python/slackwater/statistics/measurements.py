"""From what devices report to samples."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from slackwater import _engine
from slackwater.statistics.columns import _names
from slackwater.statistics.types import Findings, Measured

if TYPE_CHECKING:
    from slackwater.typing import ArrowTable


def samples_from_meter(
    readings: ArrowTable, *, by: str | Sequence[str] = (), gap_max: timedelta = timedelta(hours=1)
) -> Measured:
    """Make samples from readings of a counter of energy.

    The difference of two readings flowed evenly between them. A counter that
    falls began anew at zero. Of two readings of one instant the one that came
    last is kept, and rows out of order are sorted. A long pause keeps its
    energy, which is certain; its time is not, so it is counted.

    Args:
        readings: Columns ``at`` (timestamp with a zone) and ``total_kwh``, and
            those of ``by``.
        by: Columns that tell devices apart.
        gap_max: Longest pause that is not counted as a gap.

    Raises:
        InputError: A column is missing, of a wrong type, or holds a null;
            ``gap_max`` is negative.
    """
    table, findings = _engine.samples_from_meter(readings, by=_names(by), gap_max=gap_max)
    return Measured(table, Findings(*findings))


def samples_from_power(
    readings: ArrowTable,
    *,
    by: str | Sequence[str] = (),
    hold_max: timedelta = timedelta(minutes=15),
) -> Measured:
    """Make samples from readings of power.

    A reading holds until the next, but no longer than ``hold_max``; the last
    one holds for nothing, because nobody saw what came after it.

    Args:
        readings: Columns ``at`` (timestamp with a zone) and ``power_kw``, and
            those of ``by``.
        by: Columns that tell devices apart.
        hold_max: Longest time that a reading stands for.

    Raises:
        InputError: As :func:`samples_from_meter`.
    """
    table, findings = _engine.samples_from_power(readings, by=_names(by), hold_max=hold_max)
    return Measured(table, Findings(*findings))


def samples_from_sessions(sessions: ArrowTable, *, by: str | Sequence[str] = ()) -> Measured:
    """Make samples from sessions of which only the energy is known.

    Energy flowed evenly from start to end. A session without length has no
    power: it is dropped and counted.

    Args:
        sessions: Columns ``start``, ``end`` (timestamps with a zone) and
            ``energy_kwh``, and those of ``by``.
        by: Columns that tell devices apart.

    Raises:
        InputError: As :func:`samples_from_meter`.
    """
    table, findings = _engine.samples_from_sessions(sessions, by=_names(by))
    return Measured(table, Findings(*findings))
