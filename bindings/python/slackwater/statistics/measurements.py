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
    readings: ArrowTable,
    *,
    by: str | Sequence[str] = (),
    gap_max: timedelta = timedelta(hours=1),
    power_max_kw: float | None = None,
) -> Measured:
    """Make samples from readings of a counter of energy.

    The difference of two readings flowed evenly between them. A counter that
    falls began anew at zero. Of two readings of one instant the one that came
    last is kept, and rows out of order are sorted. A long pause keeps its
    energy, which is certain; its time is not, so it is counted.

    A counter that shows 0 for once looks as if it began anew, and its whole
    total seems to flow within minutes. Say what the device can do at most, and
    such energy is dropped and counted.

    Args:
        readings: Columns ``at`` (timestamp with a zone) and ``total_kwh``, and
            those of ``by``.
        by: Columns that tell devices apart.
        gap_max: Longest pause that is not counted as a gap.
        power_max_kw: Most that the device can do; ``None`` if that is not known.

    Raises:
        InputError: A column is missing, of a wrong type, or holds a null; a
            total is negative or no number; ``gap_max`` is negative;
            ``power_max_kw`` is not positive.

    Example:
        A counter that was read once as 0:

        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> six, quarter = datetime(2024, 1, 1, 18, tzinfo=UTC), timedelta(minutes=15)
        >>> readings = pa.table(
        ...     {"at": [six + n * quarter for n in range(4)], "total_kwh": [500, 0, 502, 504]}
        ... )
        >>> measured = samples_from_meter(readings, power_max_kw=11)
        >>> pa.table(measured.samples).column("power_kw").to_pylist()
        [0.0, 8.0]
        >>> measured.findings.resets, measured.findings.implausible
        (1, 1)
    """
    table, findings = _engine.samples_from_meter(
        readings, by=_names(by), gap_max=gap_max, power_max_kw=power_max_kw
    )
    return Measured(table, Findings(*findings))


def samples_from_power(
    readings: ArrowTable,
    *,
    by: str | Sequence[str] = (),
    hold_max: timedelta = timedelta(minutes=15),
    power_max_kw: float | None = None,
) -> Measured:
    """Make samples from readings of power.

    A reading holds until the next, but no longer than ``hold_max``; the last
    one holds for nothing, because nobody saw what came after it. A reading
    beyond ``power_max_kw`` is dropped and counted; the one before it holds on.

    Args:
        readings: Columns ``at`` (timestamp with a zone) and ``power_kw``, and
            those of ``by``.
        by: Columns that tell devices apart.
        hold_max: Longest time that a reading stands for.
        power_max_kw: As in :func:`samples_from_meter`.

    Raises:
        InputError: As :func:`samples_from_meter`.
    """
    table, findings = _engine.samples_from_power(
        readings, by=_names(by), hold_max=hold_max, power_max_kw=power_max_kw
    )
    return Measured(table, Findings(*findings))


def samples_from_sessions(
    sessions: ArrowTable, *, by: str | Sequence[str] = (), power_max_kw: float | None = None
) -> Measured:
    """Make samples from sessions of which only the energy is known.

    Energy flowed evenly from start to end. A session without length has no
    power, and one that says the same as another of its device is that one
    again: both are dropped and counted.

    Args:
        sessions: Columns ``start``, ``end`` (timestamps with a zone) and
            ``energy_kwh``, and those of ``by``.
        by: Columns that tell devices apart. Without them two vehicles that do
            the same at the same time are taken for one.
        power_max_kw: As in :func:`samples_from_meter`.

    Raises:
        InputError: As :func:`samples_from_meter`.
    """
    table, findings = _engine.samples_from_sessions(
        sessions, by=_names(by), power_max_kw=power_max_kw
    )
    return Measured(table, Findings(*findings))
