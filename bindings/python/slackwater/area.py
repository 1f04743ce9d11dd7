"""Plans of many vehicles at once, Arrow to Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from slackwater import _engine
from slackwater._engine import PlanTable
from slackwater.plan import Plan
from slackwater.prices import Prices, emission_price, priced

if TYPE_CHECKING:
    from slackwater.site_devices import Carbon
    from slackwater.typing import ArrowTable


def plan_batch(
    vehicles: ArrowTable,
    prices: Prices | Mapping[str, Prices],
    *,
    carbon: Carbon | None = None,
) -> PlanTable:
    """Plan every vehicle of a table, each as if it were alone.

    Each row gets, bit for bit, the plan that :func:`slackwater.plan_charge`
    would give it, or :func:`slackwater.plan_vehicle` where the need is in percent.
    With a charge limit or ``energy_max_kwh`` cost and energy agree to rounding: sums
    over slots may be taken in another order.
    Rows are planned in parallel without the interpreter lock.
    An invalid row fills its ``error`` column; the other rows are planned.

    Args:
        vehicles: Anything with ``__arrow_c_stream__``, or a dict of columns,
            one row a vehicle:

            ======================== ======================================== =================
            column                   meaning                                  required
            ======================== ======================================== =================
            ``id``                   any type, handed back as it is           yes
            ``arrival``              timestamp with a zone                    yes
            ``departure``            timestamp with a zone; the deadline      yes
            ``power_max_kw``         highest power                            yes
            ``energy_kwh``           energy wanted at the plug                or the next three
            ``soc_percent``          state of charge on arrival
            ``target_percent``       state of charge at departure
            ``capacity_kwh``         usable capacity
            ``reserve_kwh``          energy charged at once                   no
            ``reserve_percent``      the same, with ``soc_percent``           no
            ``efficiency``           stored per plug energy, with percent     no
            ``targets``              list of ``{by, energy_kwh}`` before      no
                                     departure, counted from arrival
            ``energy_max_kwh``       most energy that fits, with              no
                                     ``energy_kwh``: up to it negative prices
                                     are used
            ``charge_limit_percent`` where charging ends, with percent        no, 100
            ``fill_when_negative``   whether negative prices fill the         no, true
                                     battery up to its limit, with percent
            ``price_id``             name of the price curve                  with a mapping
            ======================== ======================================== =================

            Other columns are ignored, so that a table may carry more than
            this function reads. Refused are columns that another function of
            this package honours (``power_min_kw``, ``node``, …), earlier
            names, and slips of the pen: a name close to that of a column
            which is not there.
        prices: One curve for all, or curves by their ``price_id``.
        carbon: As in :func:`slackwater.plan_charge`. With it the table has the
            columns ``carbon_kg`` and ``baseline_carbon_kg``.

    Returns:
        A table with ``id``, ``cost``, ``energy_kwh``, ``shortfall_kwh``,
        ``marginal_price_per_kwh`` (of the next kWh; null without capacity),
        ``baseline_cost``, ``savings``, ``gap`` (cost minus the proved bound),
        ``unpriced_hours`` (time of the stay without a price, never used),
        ``intervals`` (list of ``{start, end, power_kw}``), ``status``
        (``optimal``, ``shortfall``, ``error``), ``error``,
        ``energy_on_estimates_kwh`` (bought at prices that are only estimated),
        ``forgone_kwh`` and ``forgone_revenue`` (energy at negative prices that
        is not bought, and what it would earn at most).

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
    intensity = None if carbon is None else emission_price(carbon).intensity
    if isinstance(prices, Mapping):
        curves = _engine.PriceCurves.from_prices(
            [priced(curve, carbon)._native for curve in prices.values()], ids=list(prices)
        )
        return _engine.plan_batch_own(vehicles, curves, intensity=intensity)
    summed = priced(prices, carbon)
    return _engine.plan_batch(vehicles, summed._native, intensity=intensity)


def plan_row(
    vehicles: ArrowTable, prices: Prices, *, vehicle: object, carbon: Carbon | None = None
) -> Plan:
    """Plan one vehicle of a table, with all that a single plan can tell.

    A row of :func:`plan_batch` has costs and intervals. This is the same plan with its
    slots and its proof: it explains itself, can be drawn, asked, compared and saved. For a
    vehicle of an area it says what the vehicle would do without the limits of the others.

    Args:
        vehicles: As :func:`plan_batch` takes them.
        prices: The curve of the vehicle.
        vehicle: Its ``id``.
        carbon: As in :func:`slackwater.plan_charge`.

    Returns:
        The plan.

    Raises:
        InputError: No row has this id, or several; the row is invalid; or as :func:`plan_batch`.

    Warns:
        PlausibilityWarning: As :func:`plan_batch`.

    Example:
        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
        >>> vehicles = pa.table(
        ...     {
        ...         "id": [7, 8],
        ...         "arrival": [six, six],
        ...         "departure": [six + timedelta(hours=3), six + timedelta(hours=1)],
        ...         "energy_kwh": [10.0, 50.0],
        ...         "power_max_kw": [7.0, 40.0],
        ...     }
        ... )
        >>> plan_row(vehicles, prices, vehicle=8)
        Plan(40 kWh for 12.0000 EUR in 1 interval, saves 0.0000, 10 kWh short, proved optimal)
    """
    summed = priced(prices, carbon)
    return Plan(_engine.plan_row(vehicles, summed._native, str(vehicle)), summed)
