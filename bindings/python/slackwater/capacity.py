"""Plans of a battery or vehicle under a tariff that prices the measured power."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from slackwater import _engine, _view
from slackwater._arguments import check_until
from slackwater._conversion import warn_of_largest
from slackwater._drawn import Drawn
from slackwater._power import power_periods
from slackwater._row import native_battery
from slackwater._saved_plan import SavedPlan
from slackwater.bills import billing_tariff
from slackwater.plan import SocTarget, list_targets
from slackwater.prices import Prices, priced
from slackwater.questions import Replanned
from slackwater.storage import Consumption, StorageLimit

if TYPE_CHECKING:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from slackwater._engine import BillingTariff, CapacityReasons
    from slackwater._timeline import Picture
    from slackwater.plan import AfterDeadline, Battery
    from slackwater.site_devices import Carbon, PowerOverTime
    from slackwater.typing import ArrowTable


class CapacityPlan(_engine.CapacityPlan, Replanned, Drawn, SavedPlan):
    """The cheapest plan of a battery for energy and power together. Cannot be changed.

    Questions, files and evaluations are those of all plans: :meth:`what_if`, :meth:`diff`,
    :meth:`save`, :meth:`evaluate`. The baseline is the plan that is cheapest in energy, whose cost
    is :attr:`energy_alone`. There is no ``close_to``: a plan kept near an earlier one would have
    no bound on its cost, for the least change under a price of power is not planned.
    """

    __slots__ = ("_given", "_prices")

    @staticmethod
    def _plan_again(given: Mapping[str, Any]) -> CapacityPlan:
        return plan_capacity(**given)

    @property
    def export_prices(self) -> Prices | None:
        """The prices to sell at; ``None`` if what is sold earns nothing."""
        native = self._export_prices
        return None if native is None else Prices._wrap(native)

    def _emissions_kg(self, intensity: _engine.Series) -> tuple[float, float]:
        return _engine.capacity_emissions(self, intensity)

    @property
    def unpriced_hours(self) -> float:
        """Time without a price to buy at, in hours, in which the battery is idle."""
        unknown = [slot for slot in self.slots if slot.import_price_per_kwh is None]
        return sum((slot.end - slot.start) / timedelta(hours=1) for slot in unknown)

    def explain(self, *, time_zone: str | None = None) -> CapacityReasons:
        """Give a reason for each period in which the battery runs, in time order.

        Time without a price to buy at is a reason of its own, with the code ``"no_price"``.

        Args:
            time_zone: IANA name of the zone in whose wall clock the sentences speak; ``None`` is
                that of the tariff.

        Raises:
            InputError: The time zone is unknown.
        """
        return super().explain(time_zone=time_zone)

    def _own_zone(self) -> str:
        """Zone of the tariff, on whose clocks its months are."""
        return self.tariff.time_zone

    def _picture(self, zone: ZoneInfo) -> Picture:
        from slackwater._bill_picture import capacity_picture  # noqa: PLC0415  only drawings

        return capacity_picture(self, zone)

    def _sections(self, zone: ZoneInfo) -> list[str]:
        from slackwater.html import capacity_sections  # noqa: PLC0415  only drawings need it

        return capacity_sections(self, zone)

    def __repr__(self) -> str:
        """Tell cost, powers, savings and proof in one line."""
        powers = "".join(
            f", {month.power_kw:.6g} kW in {month.month}" for month in self.cost.months
        )
        short = f", {self.shortfall_kwh:g} kWh short" if self.shortfall_kwh > 0 else ""
        if self.floor_shortfall_kwh > 0:
            short += f", {self.floor_shortfall_kwh:g} kWh below the reserve"
        notes = [*_view.on_estimates(self), *_view.unpriced(self)]
        short += "".join(f", {note}" for note in notes)
        certificate = self.certificate
        gap = f"within {certificate.gap:.4f} of the optimum"
        proof = _view.proved(self) if certificate.is_proved else gap
        return (
            f"CapacityPlan(costs {round(self.cost.total, 4) + 0.0:.4f} {self.currency}{powers}, "
            f"saves {round(self.savings, 4) + 0.0:.4f}{short}, {proof})"
        )


def plan_capacity(
    prices: Prices,
    tariff: BillingTariff | str,
    *,
    export_prices: Prices | None = None,
    now: datetime,
    until: datetime | None = None,
    battery: Battery,
    power_max_kw: float,
    discharge_max_kw: float = 0.0,
    discharge_efficiency: float = 1.0,
    load_kw: PowerOverTime | ArrowTable | None = None,
    peaks: Iterable[tuple[datetime, float]] = (),
    targets: Iterable[SocTarget] = (),
    reserve_percent: float = 0.0,
    consumption: Iterable[Consumption | tuple[datetime, datetime, float]] = (),
    limits: Iterable[StorageLimit | tuple[datetime, datetime, float | None]] = (),
    end_value_per_kwh: float | None = None,
    wear_price_per_kwh: float = 0.0,
    after_deadline: AfterDeadline = "continue",
    carbon: Carbon | None = None,
) -> CapacityPlan:
    """Plan a battery or vehicle where the tariff prices the measured power as well as energy.

    The price of power may be per kW of the highest power of a month, or of the mean of the highest
    powers of several days or weeks, or in steps. Powers that were reached before are free, and come
    as ``peaks``. The plan has the least sum of energy, wear and charge of power, with a bound on
    every other plan.

    Slots are the windows of the tariff, with the mean price of each; power is constant in a slot.
    A mean over twelve months counts a kW in twelve bills, and the plan counts all of them. Of a
    mean over several days, days without a known power count as 0: give expected powers as
    ``peaks``, too.

    Args:
        prices: What a bought kWh costs, all components that are per kWh included.
        tariff: A tariff of :mod:`slackwater.tariffs` with a price of the measured power, or its
            name there. Its prices per kWh are not read.
        export_prices: Price earned per sold kWh; without it, what is sold earns nothing.
        now: Plug-in time or the present, aware: the first usable instant.
        until: End of the plan; without it the last price, deadline or drive.
        battery: As in :func:`slackwater.plan_storage`.
        power_max_kw: Highest charging power at the plug, in kW.
        discharge_max_kw: Highest discharging power at the plug, in kW.
        discharge_efficiency: Energy at the plug per stored energy, 0.01 to 1.
        load_kw: Power of the rest of the connection in kW, negative into the grid: a number,
            one for each slot of ``prices``, a series, periods ``(start, end, power_kw)``, or a
            table. Time that it leaves out has no other load.
        peaks: Powers ``(at, power_kw)`` of windows before the plan, as measured.
        targets: States of charge wanted by deadlines, in any order. They come before the cost.
            Without any and without ``end_value_per_kwh`` the battery ends with at least what it
            holds now, as in :func:`slackwater.plan_storage`.
        reserve_percent: State of charge reached at once, at any price, and kept.
        consumption: Periods of driving; the vehicle is away then.
        limits: Periods with power limits and state-of-charge bounds.
        end_value_per_kwh: Value of a kWh stored at the end. With 0 and no target the battery may
            end empty.
        wear_price_per_kwh: Wear per stored kWh that is discharged.
        after_deadline: Whether a missed target is still pursued.
        carbon: As in :func:`slackwater.plan_charge`. Emissions are those of all energy from the
            grid, that of the other load included; the baseline is the plan that is cheapest in
            energy.

    Returns:
        The plan.

    Raises:
        InputError: The tariff has no price of power, or a rule that cannot be planned (windows
            left out, several windows of one day, the highest of several months); a month is not
            within its dates; currencies differ; steps over more than two months; or as
            :func:`slackwater.plan_storage`.
        TypeError: A time has no zone.

    Example:
        Two cheap hours of six. Charging in them alone would reach 8 kW, at 5 EUR per kW and month:

        >>> from datetime import UTC, datetime, timedelta
        >>> import slackwater as sw
        >>> tariff = sw.tariffs.read_tariff(
        ...     {
        ...         "name": "Peaks alone",
        ...         "operator": "Example",
        ...         "country": "BE",
        ...         "currency": "EUR",
        ...         "time_zone": "Europe/Brussels",
        ...         "valid_from": "2026-01-01",
        ...         "vat": "excluded",
        ...         "sources": [{"document": "Price list", "url": "https://example.org"}],
        ...         "components": [
        ...             {
        ...                 "kind": "capacity",
        ...                 "id": "monthly peak",
        ...                 "category": "network",
        ...                 "demand": {"window": "quarter_hour", "highest": 1},
        ...                 "charge": {"per": "month", "price": "5"},
        ...             }
        ...         ],
        ...     }
        ... )
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = sw.Prices.from_values(six, [0.3, 0.1, 0.1, 0.3, 0.3, 0.3], currency="EUR")
        >>> plan = sw.plan_capacity(
        ...     prices,
        ...     tariff,
        ...     now=six,
        ...     battery=sw.Battery(capacity_kwh=60, soc_percent=50),
        ...     power_max_kw=8,
        ...     peaks=[(six - timedelta(days=1), 2.0)],
        ...     targets=[sw.SocTarget(six + timedelta(hours=6), 70)],
        ... )
        >>> plan
        CapacityPlan(costs 2.8000 EUR, 2 kW in 2026-01, saves 28.4000, proved optimal)
    """
    given = dict(locals())
    prices = priced(prices, carbon)
    peaks = list(peaks)
    warn_of_largest("peaks.power_kw", [power for _, power in peaks])
    native = _engine.plan_capacity(
        prices._native,
        billing_tariff(tariff),
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
        load=power_periods("load_kw", load_kw, prices) or [],
        peaks=peaks,
    )
    return CapacityPlan(native, prices, given)
