"""Rolling intrinsic trading of a battery against an order book."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from slackwater import _engine
from slackwater.series import numbers_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slackwater._engine import RollingIntrinsicTrading
    from slackwater.typing import ArrowTable


def trade_rolling_intrinsic(
    orders: ArrowTable,
    *,
    start: datetime,
    until: datetime,
    product_length: timedelta = timedelta(hours=1),
    capacity_kwh: float,
    power_max_kw: float,
    discharge_max_kw: float,
    stored_kwh: float = 0.0,
    stored_end_min_kwh: float = 0.0,
    efficiency: float = 1.0,
    discharge_efficiency: float = 1.0,
    wear_price_per_kwh: float = 0.0,
    trading_fee_per_kwh: float = 0.0,
    gate_closure: timedelta = timedelta(minutes=5),
    positions_kwh: Iterable[float] = (),
    trade_from: datetime | None = None,
) -> RollingIntrinsicTrading:
    """Trade a battery against an order book, again after each order.

    After each order the battery trades the difference between the positions that it holds and
    those of most value at the prices and volumes in the book. Nothing is forecast, and each trade
    adds to the profit. Exact: no other trades at that instant gain more, and ``gap_max`` proves it;
    energies are not rounded to lots of an exchange. The sum over a day depends on the path.

    Columns of ``orders``, a row for each order of other traders, in time order:

    - ``time``: from when on the order is in the book.
    - ``valid_until``: when it leaves, if it is not traded by then; it may be null, or missing.
    - ``delivery_start``, and ``delivery_end`` if it is to be checked.
    - ``side``: ``"buy"`` or ``"sell"``.
    - ``price_per_kwh``, ``energy_kwh``: limit price and volume.

    An order that crosses the book is matched with the other side first, as an exchange does. The
    battery takes the best orders, which are then gone; other traders do not react.

    Args:
        orders: The orders, as any Arrow table.
        start: Start of the first delivery, aware.
        until: End of the last delivery.
        product_length: Length of all products, such as 15 or 60 minutes.
        capacity_kwh: Usable capacity.
        power_max_kw: Highest charging power at the grid.
        discharge_max_kw: Highest discharging power at the grid.
        stored_kwh: Stored energy at ``start``.
        stored_end_min_kwh: Least stored energy at ``until``, at most ``stored_kwh``.
        efficiency: Stored energy per energy bought, 0.01 to 1.
        discharge_efficiency: Energy sold per stored energy, 0.01 to 1.
        wear_price_per_kwh: Wear per stored kWh that is discharged.
        trading_fee_per_kwh: Fee per kWh that is bought or sold.
        gate_closure: Time before a delivery from which on its product is not traded.
        positions_kwh: Energy that each product has already, such as from an auction: bought is
            positive, sold negative. A series whose index has times has to have those of the
            products.
        trade_from: First instant of a trade; orders before it fill the book. Trades are made when
            an order comes, so the first is made with the first order from then on. Without it
            trading starts with the first order.

    Returns:
        Profit, trades, updates with their proofs, and positions.

    Raises:
        InputError: A number is out of its range; the battery cannot deliver the positions; an
            order has no volume, ends before it begins, is not in time order, comes after the gate
            of its product, or is for a product that does not exist or has another length.
        TypeError: A time has no zone.

    Example:
        Bought for 0.10 and sold for 0.30, then a better price comes for the same energy:

        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
        >>> orders = pa.table(
        ...     {
        ...         "time": [six - 3 * hour, six - 2 * hour, six - hour, six - hour],
        ...         "delivery_start": [six, six + hour, six + hour, six + 2 * hour],
        ...         "side": ["sell", "buy", "sell", "buy"],
        ...         "price_per_kwh": [0.10, 0.30, 0.25, 0.40],
        ...         "energy_kwh": [5.0, 5.0, 5.0, 5.0],
        ...     }
        ... )
        >>> day = trade_rolling_intrinsic(
        ...     orders,
        ...     start=six,
        ...     until=six + 3 * hour,
        ...     capacity_kwh=5,
        ...     power_max_kw=5,
        ...     discharge_max_kw=5,
        ... )
        >>> [round(update.gain, 6) for update in day.updates]
        [1.0, 0.75]
        >>> [position.position_kwh for position in day.positions]
        [5.0, 0.0, -5.0]
    """
    battery = (
        capacity_kwh,
        stored_kwh,
        stored_end_min_kwh,
        power_max_kw,
        discharge_max_kw,
        efficiency,
        discharge_efficiency,
        wear_price_per_kwh,
        trading_fee_per_kwh,
    )
    return _engine.trade_rolling_intrinsic(
        orders,
        start=start,
        until=until,
        product_length=product_length,
        battery=battery,
        gate_closure=gate_closure,
        positions_kwh=numbers_at(start, positions_kwh, product_length, "positions_kwh"),
        trade_from=trade_from,
    )
