"""Many devices at once, Arrow to Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from slackwater import _engine
from slackwater._engine import Table

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slackwater._palette import Theme
    from slackwater.typing import ArrowTable


def aggregate(
    samples: ArrowTable,
    *,
    by: str | Sequence[str] = (),
    resolution: str,
    utc_offset_hours: float | None = None,
    time_zone: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    now: datetime | None = None,
    sample_length: timedelta | None = None,
) -> Table:
    """Sum up the samples of many devices by bucket, Arrow to Arrow.

    One pass over the data on all cores. A stream of record batches, as
    ``pyarrow.dataset`` or DuckDB give one, is read batch by batch, so it may
    be larger than memory. The last bit does not depend on the number of cores.

    Args:
        samples: Anything with ``__arrow_c_stream__``, rows in any order:

            ================= ============================================= ========
            column            meaning                                       required
            ================= ============================================= ========
            ``start``         timestamp with a zone                         yes
            ``end``           timestamp with a zone                         or ``sample_length``
            ``power_kw``      mean power; null where nothing was measured   or ``energy_kwh``
            ``price_per_kwh`` price that held; null where none is known     no
            ``non_smart_kw``  power without smart charging; null where      no
                              that had no part in it; or ``non_smart_kwh``
            ================= ============================================= ========

            Prices have no currency here, so any size may be meant, and none
            raises a ``PlausibilityWarning``.
        by: Columns of words or whole numbers to group by, such as a device, a
            location or a user. None sums up everything.
        resolution: One of :data:`RESOLUTIONS`.
        utc_offset_hours: As in :func:`series`.
        time_zone: As in :func:`series`. Timestamps of ``date`` have this zone.
        start: First instant that counts.
        end: First instant that does not; ``now`` if that is given.
        now: The present. If given, what is older than four years is left out.
        sample_length: Length of every sample, for a table without ``end``.

    Returns:
        A row for each group and bucket: the columns of ``by``, ``date``,
        ``kw_min``, ``kw_max``, ``kw_mean``, ``hours``, ``energy_kwh``,
        ``priced_kwh``, ``price_min_per_kwh``, ``price_max_per_kwh``,
        ``price_mean_per_kwh``, ``cost``; ``baseline_cost``, what everything
        would have cost without smart charging; energy, prices and cost of what
        that moved (``non_smart_…``); and ``savings``. The last seven are null
        where smart charging had no part. Money is in exact decimals. Groups
        come in the order of their first row.

    Raises:
        InputError: A column is missing or of a wrong type, a row has no length
            or holds a number that is no quantity; as :func:`series`.
        TypeError: A time has no zone.

    Example:
        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> midnight = datetime(2024, 1, 1, tzinfo=UTC)
        >>> quarters = pa.table(
        ...     {
        ...         "device": ["van"] * 8,
        ...         "start": [midnight + i * timedelta(minutes=15) for i in range(8)],
        ...         "power_kw": [4.0] * 4 + [8.0] * 4,
        ...         "price_per_kwh": [0.25] * 8,
        ...     }
        ... )
        >>> hours = pa.table(
        ...     aggregate(
        ...         quarters, by="device", resolution="hour", sample_length=timedelta(minutes=15)
        ...     )
        ... )
        >>> hours.select(["device", "energy_kwh"]).to_pylist()
        [{'device': 'van', 'energy_kwh': 4.0}, {'device': 'van', 'energy_kwh': 8.0}]
    """
    return _engine.statistics_aggregate(
        samples,
        by=_names(by),
        resolution=resolution,
        utc_offset_hours=utc_offset_hours,
        time_zone=time_zone,
        start=start,
        end=end,
        now=now,
        sample_length=sample_length,
    )


def hours_of_week(
    samples: ArrowTable, *, time_zone: str, sample_length: timedelta | None = None
) -> list[list[float]]:
    """Sum up energy by weekday and hour, on the clock of a place.

    The hour that comes twice when clocks go back is summed up into one; the
    hour that is skipped has what other weeks have in it.

    Args:
        samples: As for :func:`aggregate`.
        time_zone: IANA name of the zone.
        sample_length: As for :func:`aggregate`.

    Returns:
        Seven days from Monday on, each with 24 energies in kWh.

    Raises:
        InputError: As :func:`aggregate`, or the time zone is unknown.

    Example:
        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> late = datetime(2024, 1, 1, 23, 30, tzinfo=UTC)
        >>> monday = pa.table({"start": [late], "power_kw": [8.0]})
        >>> week = hours_of_week(
        ...     monday, time_zone="Europe/Berlin", sample_length=timedelta(minutes=15)
        ... )
        >>> week[1][0]
        2.0
    """
    return _engine.statistics_week(samples, time_zone=time_zone, sample_length=sample_length)


def plot_year(
    samples: ArrowTable,
    *,
    currency: str,
    time_zone: str | ZoneInfo = "UTC",
    utc_offset_hours: float | None = None,
    sample_length: timedelta | None = None,
    theme: Theme = "auto",
    axes: Sequence[Axes] | None = None,
    figsize: tuple[float, float] | None = None,
) -> Figure:
    """Draw cost and savings by month, and energy by hour and weekday.

    Above, a bar a month: what was paid, and behind it the baseline without
    smart charging, with the savings in figures. Below, the energy of each hour
    of the week as a shade.

    Args:
        samples: As for :func:`aggregate`, such as the ``rows`` of a ledger. Any
            length of time is drawn, a year reads best.
        currency: Name of the currency, for the axis.
        time_zone: Zone of hours, weekdays and months: an IANA name or a ``ZoneInfo``.
        utc_offset_hours: Fixed offset of the months, in place of the zone.
        sample_length: As for :func:`aggregate`.
        theme: ``"light"``, ``"dark"``, or ``"auto"`` for that of the axes or of
            matplotlib's style.
        axes: Axes to draw into, for months and for the week.
        figsize: Width and height of a new figure in inches.

    Returns:
        The figure. ``figure.savefig("year.png")`` writes it to a file.

    Raises:
        InputError: As :func:`aggregate`, or the time zone or the theme is
            unknown, or axes do not fit.
        ModuleNotFoundError: matplotlib is missing: ``pip install slackwater[plot]``.
    """
    from slackwater.statistics import plot  # noqa: PLC0415  matplotlib is optional and slow

    return plot.plot_year(
        samples,
        currency=currency,
        time_zone=time_zone,
        utc_offset_hours=utc_offset_hours,
        sample_length=sample_length,
        theme=theme,
        axes=axes,
        figsize=figsize,
    )


def _names(by: str | Sequence[str]) -> list[str]:
    return [by] if isinstance(by, str) else list(by)
