"""Plans of many vehicles at once, Arrow to Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from slackwater import _engine
from slackwater.prices import Prices

if TYPE_CHECKING:
    from slackwater.typing import ArrowTable


class PlanTable:
    """One plan a row, in the order of the vehicles, for any Arrow library.

    ``pyarrow.table(plans)``, ``polars.DataFrame(plans)`` or, in DuckDB, a
    query over a pyarrow table of it read the same memory.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _engine.Table) -> None:
        """Wrap a table of the engine."""
        self._native = native

    @property
    def num_rows(self) -> int:
        """Number of vehicles."""
        return self._native.num_rows

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._native.column_names

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return self._native.nbytes

    def __len__(self) -> int:
        """Count the vehicles."""
        return self.num_rows

    def __repr__(self) -> str:
        """Tell rows and columns."""
        return f"PlanTable({self.num_rows} plans: {', '.join(self.column_names)})"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the table to an Arrow library."""
        return self._native.__arrow_c_stream__(requested_schema)


def plan_batch(vehicles: ArrowTable, prices: Prices | Mapping[str, Prices]) -> PlanTable:
    """Plan every vehicle of a table, each as if it were alone.

    Each row gets, bit for bit, the plan that :func:`slackwater.plan_charge`
    would give it, or :func:`slackwater.plan_vehicle` where the need is in percent.
    Rows are planned in parallel without the interpreter lock.
    An invalid row fills its ``error`` column; the other rows are planned.

    Args:
        vehicles: Anything with ``__arrow_c_stream__``, or a dict of columns,
            one row a vehicle:

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
            ``energy_max_kwh``    most energy that fits, with              no
                                  ``energy_kwh``: up to it negative prices
                                  are used
            ``charge_limit_       where charging ends, with percent        no, 100
            percent``
            ``fill_when_          whether negative prices fill the         no, true
            negative``            battery up to its limit, with percent
            ``price_id``          name of the price curve                  with a mapping
            ===================== ======================================== ========

            Other columns are ignored, so that a table may carry more than
            this function reads. Refused are columns that another function of
            this package honours (``power_min_kw``, ``node``, …), earlier
            names, and slips of the pen: a name close to that of a column
            which is not there.
        prices: One curve for all, or curves by their ``price_id``.

    Returns:
        A table with ``id``, ``cost``, ``energy_kwh``, ``shortfall_kwh``,
        ``marginal_price_per_kwh`` (of the next kWh; null without capacity),
        ``baseline_cost``, ``savings``, ``gap`` (cost minus the proved bound),
        ``unpriced_hours`` (time of the stay without a price, never used),
        ``intervals`` (list of ``{start, end, power_kw}``), ``status``
        (``optimal``, ``shortfall``, ``error``) and ``error``.

    Raises:
        InputError: A column is missing, of a wrong type or has a name that
            looks like another; curves are in different currencies.

    Warns:
        PlausibilityWarning: A column holds a number that looks like another
            unit, such as 11000 kW.

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
        return PlanTable(_engine.plan_batch_own(vehicles, curves))
    return PlanTable(_engine.plan_batch(vehicles, prices._native))
