"""Plans of many vehicles at once, Arrow to Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from slackwater import _engine
from slackwater._engine import PlanTable
from slackwater.prices import Prices

if TYPE_CHECKING:
    from slackwater.typing import ArrowTable


def plan_batch(vehicles: ArrowTable, prices: Prices | Mapping[str, Prices]) -> PlanTable:
    """Plan every vehicle of a table, each as if it were alone.

    Each row gets, bit for bit, the plan that :func:`slackwater.plan_charge`
    would give it. Rows are planned in parallel without the interpreter lock.
    An invalid row fills its ``error`` column; the other rows are planned.

    Args:
        vehicles: Anything with ``__arrow_c_stream__``, one row a vehicle:

            ===================== ======================================== ========
            column                meaning                                  required
            ===================== ======================================== ========
            ``id``                any type, handed back as it is           yes
            ``arrival``           timestamp with a zone                    yes
            ``departure``         timestamp with a zone; the deadline      yes
            ``power_max_kw``      highest power                            yes
            ``energy_kwh``        energy wanted at the plug                or the next three
            ``soc_percent``       state of charge on arrival
            ``target_percent``    state of charge at departure
            ``capacity_kwh``      usable capacity
            ``reserve_kwh``       energy charged at once                   no
            ``reserve_percent``   the same, with ``soc_percent``           no
            ``efficiency``        stored per plug energy, with percent     no
            ``targets``           list of ``{by, energy_kwh}`` before      no
                                  departure, counted from arrival
            ``price_id``          name of the price curve                  with a mapping
            ===================== ======================================== ========

            Other columns are ignored, those that a later function of this
            package honours (``power_min_kw``, ``node``, …) are refused.
        prices: One curve for all, or curves by their ``price_id``.

    Returns:
        A table with ``id``, ``cost``, ``energy_kwh``, ``shortfall_kwh``,
        ``marginal_price`` (of the next kWh; null without capacity),
        ``baseline_cost``, ``savings``, ``gap`` (cost minus the proved bound),
        ``unpriced_hours`` (time of the stay without a price, never used),
        ``intervals`` (list of ``{start, end, power_kw}``), ``status``
        (``optimal``, ``shortfall``, ``error``) and ``error``.

    Raises:
        InputError: A column is missing or of a wrong type; curves are in
            different currencies.

    Example:
        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
        >>> vehicles = pa.table({
        ...     "id": ["van", "bus"],
        ...     "arrival": [six, six],
        ...     "departure": [six + timedelta(hours=3), six + timedelta(hours=1)],
        ...     "energy_kwh": [10.0, 50.0],
        ...     "power_max_kw": [7.0, 40.0],
        ... })
        >>> plans = pa.table(plan_batch(vehicles, prices))
        >>> plans.select(["id", "shortfall_kwh", "status"]).to_pylist()
        [{'id': 'van', 'shortfall_kwh': 0.0, 'status': 'optimal'}, \
{'id': 'bus', 'shortfall_kwh': 10.0, 'status': 'shortfall'}]
    """
    if isinstance(prices, Mapping):
        curves = _engine.PriceCurves.from_prices(
            [curve._native for curve in prices.values()], ids=list(prices)
        )
        return _engine.plan_batch_own(vehicles, curves)
    return _engine.plan_batch(vehicles, prices._native)
