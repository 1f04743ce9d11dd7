"""Plans for a device that cannot run at any power, nor start for nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from slackwater import _engine, _view
from slackwater._arguments import check_time_max, check_until
from slackwater._drawn import Drawn
from slackwater._saved_plan import SavedPlan
from slackwater.plan import Plan, Target, list_targets
from slackwater.prices import priced
from slackwater.questions import Steady

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from slackwater._engine import (
        SwitchingReasons,
    )
    from slackwater._timeline import Picture
    from slackwater.plan import AfterDeadline, PowerLimit
    from slackwater.prices import Prices
    from slackwater.site_devices import Carbon


class SwitchingPlan(_engine.SwitchingPlan, Steady, Drawn, SavedPlan):
    """The cheapest switching plan. Cannot be changed.

    An unmet rule or target is in :attr:`unmet`, in :attr:`shortfall_kwh` and in
    :attr:`targets`, never an exception.
    """

    __slots__ = ("_given", "_prices")

    @staticmethod
    def _plan_again(given: Mapping[str, Any]) -> SwitchingPlan:
        return plan_switching(**given)

    @property
    def free_plan(self) -> Plan:
        """The cheapest plan for the same energy without limits on switching."""
        return Plan(super().free_plan, self._prices)

    @property
    def unpriced_hours(self) -> float:
        """Time without a price before the last deadline, in hours, as of :attr:`free_plan`."""
        return self.free_plan.unpriced_hours

    def _emissions_kg(self, intensity: _engine.Series) -> tuple[float, float]:
        periods = [(own.start, own.end, own.power_kw) for own in self.intervals]
        baseline = _engine.charge_emissions(self.free_plan, intensity)[1]
        return intensity.weigh(periods), baseline

    def explain(self, *, time_zone: str = "UTC") -> SwitchingReasons:
        """Give a reason for each period of running, in time order.

        Time without a price before the last deadline (``"no_price"``) and negative prices that
        are not used (``"negative_unused"``) are reasons of their own, without energy and price.

        Args:
            time_zone: IANA name of the zone in whose wall clock the sentences
                speak. The fields themselves are in UTC.

        Raises:
            InputError: The time zone is unknown.
        """
        return super().explain(time_zone=time_zone)

    def _picture(self, zone: ZoneInfo) -> Picture:
        from slackwater._pictures import switching_picture  # noqa: PLC0415  only drawings need it

        return switching_picture(self, zone)

    def _sections(self, zone: ZoneInfo) -> list[str]:
        from slackwater.html import switching_sections  # noqa: PLC0415  only drawings need it

        return switching_sections(self, zone)

    def __repr__(self) -> str:
        """Tell energy, cost, sessions and shortfall in one line."""
        proof = _view.proved(self) if self.certificate.is_proved else "not proved"
        short = f", {self.shortfall_kwh:g} kWh short" if self.shortfall_kwh > 0 else ""
        words = [*_view.on_estimates(self), *_view.unpriced(self), *_view.forgone(self)]
        notes = "".join(f", {note}" for note in words)
        return (
            f"SwitchingPlan({self.energy_kwh:.6g} kWh for {self.cost:.4f} {self.currency} "
            f"in {_view.counted(len(self.sessions), 'session')}, smoothness costs "
            f"{round(self.smoothness_cost, 4) + 0.0:.4f}{short}{notes}, {proof})"
        )


def plan_switching(
    prices: Prices,
    *,
    now: datetime,
    power_max_kw: float,
    power_min_kw: float = 0.0,
    targets: Iterable[Target | tuple[datetime | None, float]],
    start_cost: float = 0.0,
    sessions_max: int | None = None,
    one_block: bool = False,
    on_min: timedelta | None = None,
    off_min: timedelta | None = None,
    running_since: datetime | None = None,
    stopped_since: datetime | None = None,
    run_last: timedelta | None = None,
    until: datetime | None = None,
    power_limits: Iterable[PowerLimit | tuple[datetime, datetime, float]] = (),
    after_deadline: AfterDeadline = "continue",
    nodes_max: int = 1000,
    time_max: timedelta | None = timedelta(seconds=10),
    carbon: Carbon | None = None,
) -> SwitchingPlan:
    """Plan one device with a minimum power, start costs and limits on switching.

    The device is on or off for whole slots. While it is on, its power is at
    least ``power_min_kw``. If less is left than a slot takes at that power, the
    last slot ends early (``is_top_off``).

    Exact for one deadline, a constant highest power and slots of one length;
    the first and the last slot may be shorter. Anything else is a
    mixed-integer programme, and ``certificate.gap`` is its largest distance
    from the optimum.

    Power, ``sessions_max``, ``one_block`` and ``off_min`` always hold.
    ``on_min`` may be broken in the last session, and ``run_last`` anywhere,
    where energy would be missing otherwise. Broken rules are in ``unmet``.

    Args:
        prices: What a kWh costs.
        now: The present, aware: the first usable instant.
        power_max_kw: Highest power, in kW.
        power_min_kw: Minimum power while on. 0 is a device without steps: it
            runs at ``power_max_kw`` or not at all.
        targets: Energy wanted by deadlines, in any order.
        start_cost: Cost of one start, beside the energy.
        sessions_max: Most sessions, one that goes on from before included.
        one_block: Whether there may be one session only.
        on_min: Minimum time on.
        off_min: Minimum time off.
        running_since: The device is on, since this instant.
        stopped_since: The device is off, since this instant. Without either
            it may start at once.
        run_last: Time before the last deadline in which the device must run,
            at its least power or more. That energy counts, and more than the
            targets want is taken where it must be.
        until: When the device is taken away; nothing runs after it.
        power_limits: Periods with a lower power limit, without overlap. A
            limit below the least power forbids running.
        after_deadline: Whether running for a missed target goes on
            (``"continue"``) or ends at its deadline (``"stop"``). Where it goes
            on, the rest is wanted by the next deadline at the least cost, and
            after the last one as soon as the limits allow.
        nodes_max: Most nodes of a mixed-integer search, 1 or more.
        time_max: Longest search; ``None`` is no limit. A plan that it cut short
            is the best one found by then, with the gap that is proved, and is
            not :attr:`~SwitchingPlan.is_reproducible`.
        carbon: As in :func:`slackwater.plan_charge`.

    Returns:
        The plan.

    Raises:
        InputError: A number is negative, NaN, infinite or beyond all measure;
            ``power_min_kw`` is above ``power_max_kw``; a state lies in the
            future; ``until`` is before ``now``; there are more than 1,500 slots
            before the last deadline.
        TypeError: A time has no zone, or a target is in percent.

    Example:
        Four hours at 0.10, 0.30, 0.10 and 0.20. A second start for 1.50 costs
        more than running through the dear hour at 4 kW:

        >>> from datetime import UTC, datetime
        >>> from slackwater import Prices
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.10, 0.30, 0.10, 0.20], currency="EUR")
        >>> plan = plan_switching(
        ...     prices,
        ...     now=six,
        ...     power_max_kw=10,
        ...     power_min_kw=4,
        ...     targets=[(None, 20)],
        ...     start_cost=1.5,
        ... )
        >>> plan
        SwitchingPlan(20 kWh for 4.3000 EUR in 1 session, smoothness costs 0.8000, proved optimal)
        >>> [(interval.start.hour, interval.power_kw) for interval in plan.intervals]
        [(18, 10.0), (19, 4.0), (20, 6.0)]
    """
    given = dict(locals())
    prices = priced(prices, carbon)
    native = _engine.plan_switching(
        prices._native,
        now=now,
        power_max_kw=power_max_kw,
        power_min_kw=power_min_kw,
        targets=list_targets(Target, targets, unit="kWh"),
        until=check_until(until, now),
        power_limits=list(power_limits),
        start_cost=start_cost,
        sessions_max=sessions_max,
        one_block=one_block,
        on_min=on_min,
        off_min=off_min,
        running_since=running_since,
        stopped_since=stopped_since,
        run_last=run_last,
        after_deadline=after_deadline,
        nodes_max=nodes_max,
        time_max=check_time_max(time_max),
    )
    return SwitchingPlan(native, prices, given)
