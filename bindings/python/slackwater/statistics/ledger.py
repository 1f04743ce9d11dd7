"""The ledger: prices and baselines of sessions, fixed for good."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from slackwater import _engine
from slackwater.statistics.charging import _sample
from slackwater.statistics.types import FrozenSession, Ledger, Sample

if TYPE_CHECKING:
    from slackwater.prices import Prices
    from slackwater.typing import ArrowTable


def freeze_session(
    samples: Iterable[Sample | tuple[object, ...]],
    prices: Prices,
    *,
    plugged_in: datetime,
    power_max_kw: float,
    is_smart: bool = True,
) -> FrozenSession:
    """Write a session into the ledger: fix its prices and its baseline.

    The baseline is the same energy at ``power_max_kw`` from plug-in on, so the
    battery ends in the same state. Where a price of either course is not
    known there are no savings: the difference is unknown, not zero.

    Args:
        samples: What was measured. A sample with a price keeps it.
        prices: The prices that held.
        plugged_in: When the vehicle was plugged in, aware.
        power_max_kw: Power at which it would have charged.
        is_smart: Whether smart charging controlled the session.

    Raises:
        InputError: Energy flowed and ``power_max_kw`` is not positive; a sample
            without length; a number that is no quantity.
        TypeError: A time has no zone.

    Example:
        8 kWh at 0.10 in the night instead of at 0.35 on plug-in:

        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Prices
        >>> six, hour = datetime(2024, 1, 1, 18, tzinfo=UTC), timedelta(hours=1)
        >>> prices = Prices.from_slots(
        ...     [(six, six + 4 * hour, 0.35), (six + 4 * hour, six + 12 * hour, 0.10)],
        ...     currency="EUR",
        ... )
        >>> night = Sample(six + 8 * hour, six + 9 * hour, power_kw=8.0)
        >>> frozen = freeze_session([night], prices, plugged_in=six, power_max_kw=8)
        >>> str(frozen.savings.normalize())
        '2'
    """
    rows, savings = _engine.freeze_session(
        [_sample(given) for given in samples],
        prices._native,
        plugged_in=plugged_in,
        power_max_kw=power_max_kw,
        is_smart=is_smart,
    )
    kept = [Sample(*row) for row in rows]
    return FrozenSession(kept, None if savings is None else Decimal(savings))


def freeze_sessions(
    sessions: ArrowTable,
    samples: ArrowTable,
    prices: Prices | Mapping[str, Prices],
    *,
    by: str = "session",
) -> Ledger:
    """Write many sessions into the ledger, Arrow to Arrow, on all cores.

    Each session is frozen as :func:`freeze_session` freezes it. Savings of
    sessions, and of any buckets that their rows are summed up in, are equal to
    the last digit. If one session is refused, none is frozen.

    Args:
        sessions: A row a session:

            ================ ======================================== ========
            column           meaning                                  required
            ================ ======================================== ========
            ``session``      words or whole numbers, each once        yes
            ``plugged_in``   timestamp with a zone                    yes
            ``power_max_kw`` power at which it would have charged     yes
            ``is_smart``     whether smart charging controlled it;    no
                             all without such a column
            ``price_id``     name of its prices                       with a mapping
            ================ ======================================== ========
        samples: Columns ``session``, ``start``, ``end``, ``power_kw`` and, for
            samples that bring their price, ``price_per_kwh``; in any order.
        prices: The prices that held: one list for all, or several by name.
        by: Name of the column that tells sessions apart, in both tables.

    Returns:
        Rows for good, and what each session saved.

    Raises:
        InputError: A column is missing, of a wrong type or holds a null; two
            sessions have one name; a sample belongs to no session; a session
            that :func:`freeze_session` would refuse.

    Example:
        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Prices
        >>> six, hour = datetime(2024, 1, 1, 18, tzinfo=UTC), timedelta(hours=1)
        >>> prices = Prices.from_values(six, [0.35, 0.10], currency="EUR")
        >>> sessions = pa.table({"session": [7], "plugged_in": [six], "power_max_kw": [8.0]})
        >>> late = {"session": [7], "start": [six + hour], "end": [six + 2 * hour]}
        >>> ledger = freeze_sessions(sessions, pa.table(late | {"power_kw": [8.0]}), prices)
        >>> pa.table(ledger.sessions).column("savings").to_pylist()
        [Decimal('2.000000000000')]
    """
    if isinstance(prices, Mapping):
        curves, price_ids = list(prices.values()), list(prices)
    else:
        curves, price_ids = [prices], None
    rows, frozen = _engine.freeze_sessions(
        sessions, samples, [curve._native for curve in curves], by=by, price_ids=price_ids
    )
    return Ledger(rows, frozen)
