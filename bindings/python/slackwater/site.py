"""Plans of everything behind one meter: vehicles, batteries, heat units, solar power and loads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from slackwater import _engine, _view
from slackwater._arguments import check_time_max, check_until
from slackwater._drawn import Drawn
from slackwater._index import index_of, refuse_other_times
from slackwater._saved_plan import SavedPlan
from slackwater.prices import Prices
from slackwater.questions import Steady
from slackwater.site_devices import (
    Carbon,
    DemandCharge,
    Device,
    Group,
    HeatUnit,
    PowerOverTime,
    Tiers,
    series,
)

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from slackwater._engine import (
        DevicePlan,
        SiteReasons,
        Table,
    )
    from slackwater._timeline import Picture

Preference = Literal["earlier", "smoother", "fairer"]


class SitePlan(_engine.SitePlan, Steady, Drawn, SavedPlan):
    """The cheapest plan of a site for its targets. Cannot be changed.

    An unmet target is in :attr:`shortfall_kwh` and an infeasible limit in
    :attr:`breaches`; neither is an exception.
    """

    __slots__ = ("_given", "_prices")

    @staticmethod
    def _plan_again(given: Mapping[str, Any]) -> SitePlan:
        return plan_site(**given)

    @property
    def export_prices(self) -> Prices | None:
        """Revenue of an exported kWh; ``None`` if nothing."""
        native = self._export_prices
        return None if native is None else Prices._wrap(native)

    @property
    def baseline_cost(self) -> float:
        """Cost of the baseline, as :attr:`cost` without the value of what is stored at the end."""
        return self.baseline.cost

    def intervals_table(self) -> Table:
        """List the intervals of all devices, one a row, as a batch lists those of its vehicles.

        Returns:
            A table with ``id`` (name of the device), ``start``, ``end`` (in UTC) and
            ``power_kw`` (at the plug; negative feeds), in the order of the devices and then of
            time.
        """
        return _engine.site_intervals(self)

    def device(self, name: str) -> DevicePlan:
        """Look up one device by its name.

        Raises:
            KeyError: There is no device of this name.
        """
        for device in self.devices:
            if device.name == name:
                return device
        found = ", ".join(repr(device.name) for device in self.devices) or "none"
        message = f"there is no device {name!r}; found: {found}"
        raise KeyError(message)

    def explain(self, *, time_zone: str = "UTC") -> SiteReasons:
        """Give a reason for each period in which a device does something.

        Time without a price comes last, with the code ``"no_price"`` and without a device, energy
        and price; it names the targets that are missed because of it. Sentences name the
        estimates that they rest on.

        Args:
            time_zone: IANA name of the zone in whose wall clock the sentences
                speak. The fields themselves are in UTC.

        Raises:
            InputError: The time zone is unknown.
        """
        return super().explain(time_zone=time_zone)

    def _picture(self, zone: ZoneInfo) -> Picture:
        from slackwater._fleet_pictures import site_picture  # noqa: PLC0415  only drawings need it

        return site_picture(self, zone)

    def _sections(self, zone: ZoneInfo) -> list[str]:
        from slackwater.html import site_sections  # noqa: PLC0415  only drawings need it

        return site_sections(self, zone)

    def __repr__(self) -> str:
        """Tell devices, cost, savings, shortfall, breaches, guesses and gaps in one line."""
        parts = [
            f"{_view.counted(len(self.devices), 'device')} for {self.cost:.4f} {self.currency}",
            f"saves {round(self.savings, 4) + 0.0:.4f}",
        ]
        if self.shortfall_kwh > 0:
            parts.append(f"{self.shortfall_kwh:g} kWh short")
        parts += _view.site_discomfort(self)
        if self.breaches:
            parts.append(f"{len(self.breaches)} breaches")
        parts += _view.notes(self)
        proof = _view.proved(self) if self.certificate.is_proved else f"gap {self.gap:.3g}"
        return f"SitePlan({', '.join([*parts, proof])})"


def plan_site(
    prices: Prices,
    *,
    now: datetime,
    devices: Iterable[Device],
    export_prices: Prices | None = None,
    until: datetime | None = None,
    import_limit_kw: PowerOverTime | None = None,
    import_breach_price_per_kwh: float | None = None,
    export_limit_kw: PowerOverTime | None = None,
    export_breach_price_per_kwh: float | None = None,
    groups: Iterable[Group] = (),
    demand_charge: DemandCharge | None = None,
    export_demand_charge: DemandCharge | None = None,
    tiers: Tiers | None = None,
    carbon: Carbon | None = None,
    prefer: Sequence[Preference] = ("earlier",),
    preference_budget: float = 0.0,
    nodes_max: int = 2000,
    time_max: timedelta | None = None,
) -> SitePlan:
    """Plan everything behind one meter.

    The plan has the least shortfall; of these plans the least cost; of these
    the plan that is preferred. Limits hold for the mean power of each slot. A
    target that cannot be met is met as far as possible: by priority, and with
    equal priorities the earlier deadline first. An infeasible limit is exceeded
    as little as possible and listed in :attr:`SitePlan.breaches`. No battery
    charges and discharges in the same slot; the site never imports and exports
    in the same slot. The comfort bands of heat units come after deadlines and
    before money: of the plans with the least shortfall those with the least
    degree-hours outside the bands count. Time without a price is not used; with ``export_prices``,
    neither is time without one of the two prices.

    Args:
        prices: What an imported kWh costs.
        now: The present, aware: the first instant that is planned.
        devices: Everything behind the meter.
        export_prices: What an exported kWh earns; ``None`` earns nothing.
        until: First instant that is planned no longer.
        import_limit_kw: Limit on the power from the grid.
        import_breach_price_per_kwh: Price of each kWh above it; ``None``
            forbids it.
        export_limit_kw: Limit on the power into the grid.
        export_breach_price_per_kwh: Price of each kWh above it.
        groups: Limits inside the site; a group may be a part of another.
        demand_charge: Price of the peak of the import.
        export_demand_charge: Price of the peak of the export; its peak and its
            energies are exported ones, as positive numbers.
        tiers: Blocks of imported energy, of rising surcharges.
        carbon: Price of emissions.
        prefer: What decides between plans of one cost, the first one first.
        preference_budget: What the preferences together may cost.
        nodes_max: Most nodes of a search, where something is on or off.
        time_max: Longest search. With it a plan may differ from run to run,
            and then says so.

    Returns:
        The plan.

    Raises:
        InputError: A number is out of range; names repeat or are not there; a
            forecast is not known while there is a price; later blocks of
            energy are cheaper; a drive overlaps another one, lies outside the
            session of its vehicle or holds a deadline; the room of a heat unit
            is refused by :func:`slackwater.plan_heat`; ``until`` is before ``now``;
            currencies differ.
        TypeError: A time has no zone.

    Example:
        Two vans on one connection of 11 kW, two hours at 0.10 and 0.30. Each
        van wants 10 kWh. The cheap hour holds 11 kWh; the other 9 cost 2.70:

        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater import Prices, Target, Vehicle
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.10, 0.30], currency="EUR")
        >>> eight = six + timedelta(hours=2)
        >>> vans = [
        ...     Vehicle(name, power_max_kw=11, targets=[Target(eight, 10)])
        ...     for name in ("van 1", "van 2")
        ... ]
        >>> plan = plan_site(prices, now=six, devices=vans, import_limit_kw=11)
        >>> plan
        SitePlan(2 devices for 3.8000 EUR, saves -1.8000, proved optimal)
        >>> [round(price, 9) for price in plan.limits[0].shadow_price_per_kwh]
        [0.2, 0.0]
        >>> len(plan.baseline.breaches)
        1
    """
    devices, groups = list(devices), list(groups)
    given = dict(locals())
    _refuse_other_times(prices, devices, groups, (import_limit_kw, export_limit_kw))
    placed = [
        device._placed(prices, now, until) if isinstance(device, HeatUnit) else device
        for device in devices
    ]
    native = _engine.plan_site(
        prices._native,
        export_prices=None if export_prices is None else export_prices._native,
        now=now,
        until=check_until(until, now),
        devices=placed,
        groups=groups,
        import_limit=_limit("import", import_limit_kw, import_breach_price_per_kwh),
        export_limit=_limit("export", export_limit_kw, export_breach_price_per_kwh),
        demand_charge=_charged(demand_charge),
        export_demand_charge=_charged(export_demand_charge),
        tiers=tiers,
        carbon=carbon,
        prefer=list(prefer),
        preference_budget=preference_budget,
        nodes_max=nodes_max,
        time_max=check_time_max(time_max),
    )
    return SitePlan(native, prices, given)


def _refuse_other_times(
    prices: Prices,
    devices: list[Device],
    groups: list[Group],
    limits: tuple[PowerOverTime | None, PowerOverTime | None],
) -> None:
    powers = {f"{device.name}: power_kw": getattr(device, "power_kw", None) for device in devices}
    powers |= {
        f"{device.name}: power_wanted_kw": getattr(device, "power_wanted_kw", None)
        for device in devices
    }
    powers |= {f"{group.name}: limit_kw": group.limit_kw for group in groups}
    powers |= dict(zip(("import_limit_kw", "export_limit_kw"), limits, strict=True))
    indexed = {name: values for name, values in powers.items() if index_of(values) is not None}
    # A list of the starts takes longer than the plan of a small site.
    starts = [start for start, _, _ in prices.slots] if indexed else []
    for name, values in indexed.items():
        refuse_other_times(name, values, starts)


def _charged(charge: DemandCharge | None) -> DemandCharge | None:
    return None if charge is None or charge.is_never else charge


def _limit(
    name: str, power: PowerOverTime | None, breach: float | None
) -> tuple[Any, float | None] | None:
    if power is None and breach is not None:
        message = f"{name}_breach_price_per_kwh is {breach} without {name}_limit_kw to pass"
        raise _engine.InputError(message)
    return None if power is None else (series(power, f"{name}_limit_kw"), breach)
