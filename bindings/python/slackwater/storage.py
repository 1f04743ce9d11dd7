"""Plans of batteries that also discharge: vehicle-to-grid, and storage."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from slackwater import _engine, _view
from slackwater._arguments import check_until
from slackwater._drawn import Drawn
from slackwater._engine import PlanTable
from slackwater._record import Record
from slackwater._row import native_battery
from slackwater._saved_plan import SavedPlan
from slackwater.plan import Battery, SocTarget, list_targets
from slackwater.prices import Prices, emission_price, priced
from slackwater.questions import Steady

if TYPE_CHECKING:
    from collections.abc import Iterable
    from zoneinfo import ZoneInfo

    from slackwater._engine import (
        StorageReasons,
    )
    from slackwater._timeline import Picture
    from slackwater.plan import AfterDeadline
    from slackwater.site_devices import Carbon
    from slackwater.typing import ArrowTable


class _StorageLimitFields(NamedTuple):
    start: datetime
    end: datetime
    power_max_kw: float | None = None
    discharge_max_kw: float | None = None
    soc_min_percent: float | None = None
    soc_max_percent: float | None = None


class StorageLimit(_StorageLimitFields, Record):
    """A period with limits of its own; where periods overlap the tightest holds.

    Attributes:
        start: First instant, aware.
        end: First instant after it.
        power_max_kw: Highest charging power; 0 forbids charging, ``None``
            leaves it as it is elsewhere.
        discharge_max_kw: Highest discharging power, in the same way.
        soc_min_percent: State of charge wanted from ``start`` to ``end``.
        soc_max_percent: State of charge beyond which nothing is charged. A
            battery above it is not forced down.
    """

    __slots__ = ()


class _ConsumptionFields(NamedTuple):
    start: datetime
    end: datetime
    energy_kwh: float
    is_plugged_in: bool = False


class Consumption(_ConsumptionFields, Record):
    """A period in which stored energy is used up, evenly, for something else.

    Attributes:
        start: First instant, aware.
        end: First instant after it.
        energy_kwh: Stored energy that is used up, in kWh.
        is_plugged_in: Whether the battery can charge and discharge meanwhile.
            A vehicle that drives cannot.
    """

    __slots__ = ()


class StoragePlan(_engine.StoragePlan, Steady, Drawn, SavedPlan):
    """The cheapest plan to charge and discharge a battery. Cannot be changed.

    Unmet targets are in :attr:`shortfall_kwh`, :attr:`unserved_kwh` and
    :attr:`floor_shortfall_kwh`, never an exception.
    """

    __slots__ = ("_given", "_prices")

    @staticmethod
    def _plan_again(given: Mapping[str, Any]) -> StoragePlan:
        return plan_storage(**given)

    @property
    def export_prices(self) -> Prices | None:
        """The prices to sell at; ``None`` if nothing may be sold."""
        native = self._export_prices
        return None if native is None else Prices._wrap(native)

    def soc_percent_by(self, at: datetime) -> float:
        """Tell the state of charge at an instant."""
        return super().soc_percent_by(at)

    def _emissions_kg(self, intensity: _engine.Series) -> tuple[float, float]:
        return _engine.storage_emissions(self, intensity)

    def explain(self, *, time_zone: str = "UTC") -> StorageReasons:
        """Give a reason for each period of charging or discharging, in time order.

        Time without a price is a reason of its own, with the code ``"no_price"``, no energy
        and no price; it names the targets that are missed because of it. So is stored energy of
        the start that is sold (``"stock_used"``), which counts as savings. Sentences name the
        estimates that they rest on.

        Args:
            time_zone: IANA name of the zone in whose wall clock the sentences
                speak. The fields themselves are in UTC.

        Raises:
            InputError: The time zone is unknown.
        """
        return super().explain(time_zone=time_zone)

    def _picture(self, zone: ZoneInfo) -> Picture:
        from slackwater._pictures import storage_picture  # noqa: PLC0415  only drawings need it

        return storage_picture(self, zone)

    def _sections(self, zone: ZoneInfo) -> list[str]:
        from slackwater.html import storage_sections  # noqa: PLC0415  only drawings need it

        return storage_sections(self, zone)

    def __repr__(self) -> str:
        """Tell energies, cost, savings, what is missing, guesses and gaps in one line."""
        proof = _view.proved(self) if self.certificate.is_proved else "not proved"
        short = f", {self.shortfall_kwh:g} kWh short" if self.shortfall_kwh > 0 else ""
        unserved = f", {self.unserved_kwh:g} kWh unserved" if self.unserved_kwh > 0 else ""
        notes = "".join(f", {note}" for note in _view.notes(self))
        return (
            f"StoragePlan(buys {self.charged_kwh:.6g} kWh, sells {self.discharged_kwh:.6g} kWh, "
            f"costs {round(self.cost, 4) + 0.0:.4f} {self.currency}, "
            f"saves {round(self.savings, 4) + 0.0:.4f}{short}{unserved}{notes}, {proof})"
        )


def plan_storage(
    prices: Prices,
    *,
    export_prices: Prices | None = None,
    now: datetime,
    until: datetime | None = None,
    battery: Battery,
    power_max_kw: float,
    discharge_max_kw: float,
    discharge_efficiency: float = 1.0,
    targets: Iterable[SocTarget] = (),
    reserve_percent: float = 0.0,
    consumption: Iterable[Consumption | tuple[datetime, datetime, float]] = (),
    limits: Iterable[StorageLimit | tuple[datetime, datetime, float | None]] = (),
    end_value_per_kwh: float | None = None,
    wear_price_per_kwh: float = 0.0,
    after_deadline: AfterDeadline = "continue",
    carbon: Carbon | None = None,
) -> StoragePlan:
    """Plan a battery that charges at low prices, discharges at high ones, and meets targets.

    Exact: the plan carries a proof that no other is cheaper, also where prices
    are negative. No slot both charges and discharges. Targets come before the
    cost; of two slots with one price the earlier is used, and a cycle without
    a gain is left out.

    An unmet target is no error: as much as possible is charged for it, and the
    plan has its shortfall. The part of a target above the charge limit is
    missed by its deadline, reported as ``above_limit_kwh`` of its outcome, and
    not charged after it.

    Args:
        prices: What a bought kWh costs. Time without a price is not used.
        export_prices: Price earned per sold kWh; without it nothing is sold. A
            household's own load is not part of the problem.
        now: Plug-in time or the present, aware: the first usable instant.
        until: End of the plan; without it the last price, deadline or drive.
        battery: Capacity, state of charge, charge limit, and the efficiency of
            charging. A vehicle above its charge limit stays there.
        power_max_kw: Highest charging power at the plug, in kW.
        discharge_max_kw: Highest discharging power at the plug, in kW.
        discharge_efficiency: Energy at the plug per stored energy, 0.01 to 1.
        targets: States of charge wanted by deadlines, in any order. Without
            any and without ``end_value_per_kwh`` the battery ends with at
            least what it holds now, up to its charge limit, less what it
            drives with: energy that it holds already is no saving.
        reserve_percent: State of charge reached at once, at any price, and
            kept: nothing below it is sold.
        consumption: Periods of driving; the vehicle is away then.
        limits: Periods with power limits and state-of-charge bounds.
        end_value_per_kwh: Value of a kWh stored at the end. It decides how
            much is left, beside the targets. With 0 and no target the battery
            may be sold empty: that stock counts as savings, and is
            :attr:`StoragePlan.stock_used_kwh`.
        wear_price_per_kwh: Wear per stored kWh that is discharged to the plug.
        after_deadline: Whether a missed target is still pursued
            (``"continue"``) or given up at its deadline (``"stop"``).
        carbon: As in :func:`slackwater.plan_charge`; energy that is sold has no
            emissions of its own.

    Returns:
        The plan.

    Raises:
        InputError: A number is negative, NaN, infinite or beyond all measure;
            an efficiency is outside 0.01 to 1; a period ends before it starts;
            consumption overlaps; the state of charge is unknown; ``until`` is
            before ``now``; the prices are in two currencies.
        TypeError: A time has no zone.

    Example:
        Three hours at 0.10, 0.40 and 0.20, and a battery that is half full and
        stays so. It buys 4 kWh for 0.40 and sells them for 1.60:

        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Battery, Prices
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.10, 0.40, 0.20], currency="EUR")
        >>> plan = plan_storage(
        ...     prices,
        ...     export_prices=prices,
        ...     now=six,
        ...     battery=Battery(capacity_kwh=10, soc_percent=50),
        ...     power_max_kw=4,
        ...     discharge_max_kw=4,
        ... )
        >>> plan
        StoragePlan(buys 4 kWh, sells 4 kWh, costs -1.2000 EUR, saves 1.2000, proved optimal)
        >>> print(plan.explain()[0].sentence)
        Mon 18:00 to Mon 19:00: buys 4 kWh for 0.40 EUR (0.10 EUR/kWh), to sell at Mon 19:00 \
(0.40 EUR/kWh).
    """
    given = dict(locals())
    prices = priced(prices, carbon)
    native = _engine.plan_storage(
        prices._native,
        export_prices=None if export_prices is None else export_prices._native,
        now=now,
        until=check_until(until, now),
        battery=native_battery(battery),
        discharge_efficiency=discharge_efficiency,
        power_max_kw=power_max_kw,
        discharge_max_kw=discharge_max_kw,
        targets=list_targets(SocTarget, targets, unit="percent"),
        reserve_percent=reserve_percent,
        consumption=[Consumption(*period) for period in consumption],
        limits=[StorageLimit(*limit) for limit in limits],
        end_value_per_kwh=end_value_per_kwh,
        wear_price_per_kwh=wear_price_per_kwh,
        after_deadline=after_deadline,
    )
    return StoragePlan(native, prices, given)


def plan_storage_row(
    vehicles: ArrowTable,
    prices: Prices,
    export_prices: Prices | None = None,
    *,
    vehicle: object,
    carbon: Carbon | None = None,
) -> StoragePlan:
    """Plan one battery of a table, with all that a single plan can tell.

    As :func:`slackwater.plan_row`, for a row of :func:`plan_storage_batch`: the same plan with its
    slots, its reasons and its proof.

    Args:
        vehicles: As :func:`plan_storage_batch` takes them.
        prices: Prices to buy at.
        export_prices: Price earned per sold kWh; without it nothing is sold.
        vehicle: Its ``id``.
        carbon: As in :func:`slackwater.plan_charge`.

    Returns:
        The plan.

    Raises:
        InputError: No row has this id, or several; a value of the row is missing or invalid; or
            as :func:`plan_storage_batch`.

    Warns:
        PlausibilityWarning: As :func:`plan_storage_batch`.

    Example:
        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.10, 0.40, 0.20], currency="EUR")
        >>> vehicles = pa.table(
        ...     {
        ...         "id": [7],
        ...         "arrival": [six],
        ...         "departure": [six + timedelta(hours=3)],
        ...         "capacity_kwh": [10.0],
        ...         "soc_percent": [50.0],
        ...         "target_percent": [50.0],
        ...         "power_max_kw": [4.0],
        ...         "discharge_max_kw": [4.0],
        ...     }
        ... )
        >>> plan_storage_row(vehicles, prices, prices, vehicle=7)
        StoragePlan(buys 4 kWh, sells 4 kWh, costs -1.2000 EUR, saves 1.2000, proved optimal)
    """
    arrival, departure, row = _engine.storage_row(vehicles, str(vehicle))
    limit, efficiency = row.get("charge_limit_percent", 100.0), row.get("efficiency", 1.0)
    target = row.get("target_percent")
    return plan_storage(
        prices,
        export_prices=export_prices,
        now=arrival,
        until=departure,
        battery=Battery(row["capacity_kwh"], row["soc_percent"], limit, efficiency),
        power_max_kw=row["power_max_kw"],
        discharge_max_kw=row["discharge_max_kw"],
        discharge_efficiency=row.get("discharge_efficiency", 1.0),
        targets=[] if target is None else [SocTarget(departure, target)],
        reserve_percent=row.get("reserve_percent", 0.0),
        end_value_per_kwh=row.get("end_value_per_kwh"),
        wear_price_per_kwh=row.get("wear_price_per_kwh", 0.0),
        carbon=carbon,
    )


def plan_storage_batch(
    vehicles: ArrowTable,
    prices: Prices | Mapping[str, Prices],
    export_prices: Prices | Mapping[str, Prices] | None = None,
    *,
    carbon: Carbon | None = None,
) -> PlanTable:
    """Plan every battery of a table, each as if it were alone.

    As :func:`plan_storage` from ``arrival`` to ``departure``, in parallel and
    without the interpreter lock. An invalid row fills its ``error`` column;
    the other rows are planned.

    Args:
        vehicles: Anything with ``__arrow_c_stream__``, one row a battery:

            ======================== ================================== ========
            column                   meaning                            required
            ======================== ================================== ========
            ``id``                   any type, handed back as it is     yes
            ``arrival``              timestamp with a zone              yes
            ``departure``            timestamp with a zone              yes
            ``capacity_kwh``         usable capacity                    yes
            ``soc_percent``          state of charge on arrival         yes
            ``power_max_kw``         highest charging power             yes
            ``discharge_max_kw``     highest discharging power          yes
            ``target_percent``       state of charge at departure       no, see below
            ``reserve_percent``      reached at once, and kept          no
            ``charge_limit_percent`` where charging ends                no, 100
            ``efficiency``           stored per plug energy             no, 1
            ``discharge_efficiency`` plug energy per stored             no, 1
            ``end_value_per_kwh``    of a kWh stored at departure       no, see below
            ``wear_price_per_kwh``   per stored kWh discharged          no, 0
            ``price_id``             name of the prices                 with a mapping
            ======================== ================================== ========

            A row with neither ``target_percent`` nor ``end_value_per_kwh``
            departs with at least what it holds on arrival, up to its charge
            limit; with an ``end_value_per_kwh`` of 0 that may be sold.

            Other columns are ignored. Refused are those that other functions
            honour (``targets``, ``node``, …), earlier names, and names close
            to that of a column which is not there.
        prices: One curve for all, or curves by their ``price_id``.
        export_prices: Price earned per sold kWh: one curve for all, or curves by
            their ``price_id`` where ``prices`` are as well. A vehicle without one
            sells nothing.
        carbon: As in :func:`slackwater.plan_charge`. With it the table has the
            columns ``carbon_kg`` and ``baseline_carbon_kg``; energy that is
            sold has no emissions of its own.

    Returns:
        A table with ``id``, ``cost``, ``charged_kwh``, ``discharged_kwh``,
        ``shortfall_kwh``, ``soc_percent`` (at departure), ``baseline_cost``,
        ``savings``, ``gap``, ``intervals`` (list of ``{start, end, power_kw}``,
        negative discharges), ``status``, ``error``, ``unpriced_hours`` (time of
        the stay without a price), ``energy_on_estimates_kwh`` and
        ``sold_on_estimates_kwh`` (bought and sold at prices that are only
        estimated) and ``stock_used_kwh`` (stored on arrival and sold, which
        counts as savings).

    Raises:
        InputError: A column is missing or of a wrong type; prices are in
            different currencies; ``export_prices`` is a mapping where ``prices``
            is not, holds no curve, or one of a name that ``prices`` lacks; the
            carbon intensity is missing at a time that has a price.

    Example:
        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.10, 0.40, 0.20], currency="EUR")
        >>> vehicles = pa.table(
        ...     {
        ...         "id": ["van"],
        ...         "arrival": [six],
        ...         "departure": [six + timedelta(hours=3)],
        ...         "capacity_kwh": [10.0],
        ...         "soc_percent": [50.0],
        ...         "target_percent": [50.0],
        ...         "power_max_kw": [4.0],
        ...         "discharge_max_kw": [4.0],
        ...     }
        ... )
        >>> plans = pa.table(plan_storage_batch(vehicles, prices, prices))
        >>> round(plans["cost"][0].as_py(), 9), plans["discharged_kwh"].to_pylist()
        (-1.2, [4.0])
    """
    intensity = None if carbon is None else emission_price(carbon).intensity
    if isinstance(prices, Mapping):
        names = list(prices)
        buying = [priced(prices[name], carbon)._native for name in names]
        if export_prices is None:
            selling: list[_engine.Prices | None] = [None] * len(names)
        elif isinstance(export_prices, Mapping):
            _check_export_names(export_prices, names)
            found = [export_prices.get(name) for name in names]
            selling = [None if each is None else each._native for each in found]
        else:
            selling = [export_prices._native] * len(names)
        return _engine.plan_storage_batch(vehicles, buying, selling, names, intensity=intensity)
    if isinstance(export_prices, Mapping):
        message = "export_prices is a mapping where prices is not; give both by price_id"
        raise _engine.InputError(message)
    sold = None if export_prices is None else export_prices._native
    buying = [priced(prices, carbon)._native]
    return _engine.plan_storage_batch(vehicles, buying, [sold], None, intensity=intensity)


def _check_export_names(export_prices: Mapping[str, Prices], names: list[str]) -> None:
    """Refuse prices to sell at that no vehicle can have.

    Raises:
        InputError: There are none, or some have a name that is none of the prices to buy at.
    """
    if not export_prices and names:
        message = "export_prices holds no price curve; leave it out to sell nothing"
        raise _engine.InputError(message)
    for name in export_prices:
        if name not in names:
            known = ", ".join(map(repr, names))
            raise _engine.InputError(f"export_prices has {name!r}, which prices lacks: {known}")
