"""Questions to a plan: what changed, what if, what is at risk, what rests on estimates."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from slackwater import _engine
from slackwater._engine import InputError
from slackwater._frozen import Frozen
from slackwater._record import Record
from slackwater._saved_plan import SavedPlan, refuse_other_currency

if TYPE_CHECKING:
    from collections.abc import Iterable
    from zoneinfo import ZoneInfo

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slackwater._engine import (
        EnergyAtRisk,
        PlanChange,
        PowerChanges,
    )
    from slackwater._palette import Theme
    from slackwater.plan import Plan, Target
    from slackwater.prices import Prices


_Asked = TypeVar("_Asked")


class _DepartureFields(NamedTuple):
    at: datetime
    weight: float = 1.0


class Departure(_DepartureFields, Record):
    """A time at which the vehicle may leave.

    Attributes:
        at: When it leaves, aware.
        weight: How likely that is, in any measure: only the ratios count.
    """

    __slots__ = ()


class _WhatIfFields(NamedTuple, Generic[_Asked]):
    plan: _Asked
    cost_change: float
    energy_change_kwh: float
    shortfall_change_kwh: float
    sentence: str
    degree_hours_change: float = 0.0


class WhatIf(_WhatIfFields[_Asked], Record):
    """The answer to a question about a plan.

    Attributes:
        plan: The cheapest plan with the change.
        cost_change: What it costs more; negative if it costs less.
        energy_change_kwh: What it buys more.
        shortfall_change_kwh: What it misses more of a target.
        sentence: The answer in words.
        degree_hours_change: Degree-hours in °C·h that rooms and tanks are more outside their
            bands, which a heat plan avoids before it saves money.
    """

    __slots__ = ()


class Questions(_engine.Plan):
    """Questions to a plan. A part of :class:`slackwater.Plan`."""

    __slots__ = ()
    _prices: Prices

    def _like(self, native: _engine.Plan) -> Self:
        return type(self)(native, self._prices)

    def close_to(self, previous: Plan, *, budget: float = 0.0, spent: float | None = None) -> Self:
        """Change an older plan as little as a budget allows.

        Planning again every quarter of an hour gives plans that change much,
        often for less than a cent. This is the plan for the same targets and
        prices with the least change, in kWh slot by slot, of all plans that cost
        at most ``budget`` more than the cheapest. Deadlines still come first. With a budget
        of 0 the older plan is kept only where that costs nothing.

        The budget is for the whole stay: what an older plan spent of it while
        it ran is carried along, so planning again never adds up to more.

        Args:
            previous: The plan before, of the same vehicle.
            budget: Money that the whole stay may cost beyond the cheapest plans.
            spent: What earlier plans have spent of it when ``previous`` starts.
                Without it, what ``previous.stability`` says.

        Returns:
            The plan. Its :attr:`stability` says what changed and what it costs.

        Raises:
            InputError: ``budget`` or ``spent`` is negative or no number, or the
                plans are in different currencies.

        Example:
            The first hour becomes half a cent cheaper than the second. For
            3.5 cents in all the plan stays as it is:

            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> def plan(first):
            ...     prices = sw.Prices.from_values(six, [first, 0.10], currency="EUR")
            ...     return sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(None, 7)])
            >>> before = plan(0.30)
            >>> after = plan(0.095).close_to(before, budget=0.05)
            >>> after.intervals == before.intervals, round(after.stability.extra_cost, 4)
            (True, 0.035)
        """
        refuse_other_currency("previous", previous.currency, self._prices.currency)
        native = _engine.close_to(
            self,
            prices=self._prices._native,
            previous=previous,
            budget=budget,
            spent=spent,
        )
        return self._like(native)

    def diff(self, after: Plan, *, time_zone: str = "UTC") -> list[PlanChange]:
        """List the periods in which a later plan charges differently, with a reason for each.

        Args:
            after: The plan to compare with.
            time_zone: IANA name of the zone in whose wall clock the sentences speak.

        Raises:
            InputError: The time zone is unknown, or the plans are in different currencies.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> def plan(first):
            ...     prices = sw.Prices.from_values(six, [first, 0.10], currency="EUR")
            ...     return sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(None, 7)])
            >>> for change in plan(0.30).diff(plan(0.05)):
            ...     print(change.sentence)
            Mon 18:00 to Mon 19:00: 7 kWh instead of 0 kWh, because prices changed.
            Mon 19:00 to Mon 20:00: 0 kWh instead of 7 kWh, because prices changed.
        """
        refuse_other_currency("after", after.currency, self._prices.currency)
        prices, other = self._prices._native, after._prices._native
        return _engine.plan_diff(self, prices, after, other, time_zone=time_zone)

    def energy_at_risk(
        self,
        departures: Iterable[Departure | tuple[datetime, float]],
        *,
        wanted_kwh: float | None = None,
    ) -> EnergyAtRisk:
        """Tell what may be missing when the vehicle leaves at an uncertain time.

        Args:
            departures: Possible times with their weights, in any order.
            wanted_kwh: Energy that nothing should be missing of; by default
                the highest target of the plan.

        Raises:
            InputError: There is no departure, a weight is negative or no
                number, or all are zero.
            TypeError: A time has no zone.

        Example:
            The car charges in the second of two hours, and leaves an hour
            early one time in four:

            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10], currency="EUR")
            >>> plan = sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(None, 7)])
            >>> risk = plan.energy_at_risk([(six + hour, 1), (six + 2 * hour, 3)])
            >>> risk.expected_shortfall_kwh, risk.probability_short
            (1.75, 0.25)
        """
        return _engine.energy_at_risk(self, list(departures), wanted_kwh=wanted_kwh)

    def what_if(
        self,
        *,
        no_reserve: bool = False,
        departure: datetime | None = None,
        more_kwh: float | None = None,
        without_deadline: datetime | None = None,
        floor: Iterable[Target | tuple[datetime | None, float]] = (),
        time_zone: str = "UTC",
    ) -> WhatIf[Plan]:
        """Plan again with changed inputs, and return the difference to the cheapest plan.

        Exact: both plans are the cheapest of their kind.

        Args:
            no_reserve: Leave the reserve out.
            departure: Leave at another time. Targets at or after the earlier
                of both departures are due then.
            more_kwh: Want so much more of the highest target, or less.
            without_deadline: Let targets due at this time be met at any time.
            floor: Levels on the way, as targets: half of the energy by half of
                the time insures against leaving early.
            time_zone: IANA name of the zone in whose wall clock the sentence speaks.

        Returns:
            The changed plan and the difference.

        Raises:
            InputError: A change does not fit: there is no such deadline, or
                the changed request is invalid.
            TypeError: A time has no zone.

        Example:
            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10], currency="EUR")
            >>> by = six + 2 * hour
            >>> plan = sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(by, 7)])
            >>> print(plan.what_if(floor=[(six + hour, 2)]).sentence)
            With 2 kWh by Mon 19:00, the plan would cost 0.40 EUR more.
        """
        answer = _engine.what_if(
            self,
            self._prices._native,
            no_reserve=no_reserve,
            departure=departure,
            more_kwh=more_kwh,
            without_deadline=without_deadline,
            floor=list(floor),
            time_zone=time_zone,
        )
        return self._answer(answer)

    def wish_costs(self, *, time_zone: str = "UTC") -> list[WhatIf[Plan]]:
        """Return the cost of each part of the request, as exact differences.

        Without the reserve, leaving an hour earlier or later, with one more
        percent (one more kWh if the plan knows no battery), and without each
        deadline. Questions that do not arise are left out.

        Args:
            time_zone: IANA name of the zone in whose wall clock the sentences speak.

        Raises:
            InputError: The time zone is unknown.

        Example:
            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.20, 0.10], currency="EUR")
            >>> by = six + 2 * hour
            >>> plan = sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(by, 7)])
            >>> for answer in plan.wish_costs():
            ...     print(answer.sentence)
            With departure Mon 19:00, the plan would cost 0.70 EUR more.
            With departure Mon 21:00, the plan would cost 0.70 EUR less.
            With 1 kWh more, the plan would cost 0.30 EUR more.
            Without the deadline Mon 20:00, the plan would cost 0.70 EUR less.
        """
        answers = _engine.costs(self, self._prices._native, time_zone=time_zone)
        return [self._answer(answer) for answer in answers]

    def _answer(self, answer: tuple[_engine.Plan, float, float, float, str]) -> WhatIf[Plan]:
        plan: Plan = self._like(answer[0])  # type: ignore[assignment]  # a Plan is what asks
        return WhatIf(plan, *answer[1:])


class Compared(SavedPlan):
    """A plan that can be compared in power with a later one of its class."""

    __slots__ = ()

    def diff(self, after: Self, *, time_zone: str = "UTC") -> PowerChanges:
        """List the periods in which a later plan has another power, device by device.

        Periods that have passed when the later plan begins are left out.
        :func:`slackwater.saved.differences` compares prices and requests as well.

        Args:
            after: The plan to compare with, of the same class.
            time_zone: IANA name of the zone in whose wall clock the sentences speak.

        Returns:
            The changes, a sequence and an Arrow table.

        Raises:
            InputError: The time zone is unknown, or the plans are in different currencies.
            TypeError: ``after`` is of another class.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> van = sw.Vehicle("van", power_max_kw=7, targets=[sw.Target(None, 7)])
            >>> def plan(first):
            ...     prices = sw.Prices.from_values(six, [first, 0.10], currency="EUR")
            ...     return sw.plan_site(prices, now=six, devices=[van])
            >>> for change in plan(0.30).diff(plan(0.05)):
            ...     print(change.sentence)
            van: Mon 18:00 to Mon 19:00: 7 kW instead of 0 kW.
            van: Mon 19:00 to Mon 20:00: 0 kW instead of 7 kW.
        """
        _refuse_other_class("after", after, type(self))
        refuse_other_currency("after", after.currency, self.currency)
        return _engine.plan_power_changes(self, after, time_zone=time_zone)  # type: ignore[arg-type]  # a kind of plan


def _refuse_other_class(argument: str, plan: object, wanted: type) -> None:
    """Refuse a plan that is not of a class.

    Raises:
        TypeError: It is not.
    """
    if plan is None:
        raise TypeError(f"{argument} is None; it has to be a {wanted.__name__}")
    if not isinstance(plan, wanted):
        kind = type(plan).__name__
        raise TypeError(f"{argument} has to be a {wanted.__name__}, not a {kind}")


class Asked:
    """A plan that can be made again with other arguments of its planner."""

    __slots__ = ()
    _given: Mapping[str, Any] | None

    @property
    def currency(self) -> str:
        """Currency of all amounts."""
        raise NotImplementedError

    @staticmethod
    def _plan_again(given: Mapping[str, Any]) -> Asked:
        """Call the planner."""
        raise NotImplementedError

    def what_if(self, **changes: Any) -> WhatIf[Self]:  # noqa: ANN401  of the planner
        """Plan again with other arguments of the planner, and return the difference.

        Exact as far as both plans are proved: where a plan has a gap that matters, the sentence
        tells it. The changed plan is the cheapest one, also where this one was kept near an
        earlier plan. Costs are what was minimised, the value of stored energy included.

        Args:
            **changes: Arguments of the planner, such as ``import_limit_kw=20`` for
                :func:`slackwater.plan_site`, or other ``prices``. The others stay as they were.

        Returns:
            The changed plan and the difference.

        Raises:
            InputError: The plan was read from a file, which keeps the request but not the
                arguments; prices are in another currency; or as the planner.
            TypeError: The planner has no such argument.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.10, 0.30], currency="EUR")
            >>> vans = [
            ...     sw.Vehicle(name, power_max_kw=11, targets=[sw.Target(None, 10)])
            ...     for name in ("van 1", "van 2")
            ... ]
            >>> plan = sw.plan_site(prices, now=six, devices=vans, import_limit_kw=11)
            >>> print(plan.what_if(import_limit_kw=15).sentence)
            With import_limit_kw=15, the plan would cost 0.80 EUR less.
        """
        return self._compare(changes, [tell_argument(*change) for change in changes.items()])

    def _arguments(self) -> Mapping[str, Any]:
        """Arguments that the plan was made with.

        Raises:
            InputError: It was read from a file.
        """
        if self._given is None:
            message = (
                "a plan that was read from a file keeps no arguments to change; "
                "call the planner with those of its `request`, its `prices` and the change"
            )
            raise InputError(message)
        return self._given

    def _compare(self, changes: Mapping[str, object], told: list[str]) -> WhatIf[Self]:
        """Plan again with some arguments changed; ``told`` are these changes in words.

        Raises:
            InputError: The plan was read from a file, prices are in another currency, or as the
                planner.
        """
        again: Self = self._plan_again({**self._arguments(), **changes})  # type: ignore[assignment]  # of this class
        refuse_other_currency("prices", again.currency, self.currency)
        difference = _engine.compare_totals(self, again, changes=told, currency=self.currency)  # type: ignore[arg-type]  # kinds of plans
        return WhatIf(again, *difference)


def tell_argument(name: str, value: object) -> str:
    """Tell a changed argument in words. Values that are long are not repeated."""
    return f"{name}={value}" if isinstance(value, int | float | str) else f"changed {name}"


class Replanned(Compared, Asked):
    """A plan that can be compared and asked, and that files and other processes keep whole."""

    __slots__ = ()

    def __init__(
        self, native: object, prices: Prices, given: Mapping[str, Any] | None = None
    ) -> None:
        """Add to a plan of the engine its prices, and the arguments that it was made with."""
        super().__init__(native, prices)
        object.__setattr__(self, "_given", None if given is None else hold_arguments(given))

    def __reduce__(self) -> tuple[object, ...]:
        """Copy by text and arguments, so that other processes can have the plan and ask it."""
        return _copied, (type(self), self.to_json(), self._given)


class Steady(Replanned):
    """A plan that can also be kept near an earlier one."""

    __slots__ = ()

    def close_to(self, previous: Self, *, budget: float = 0.0) -> Self:
        """Plan again so that the plan stays near an earlier one, as far as a budget allows.

        Of all plans with no more shortfall that cost at most ``budget`` more than the cheapest,
        the one with the least change, in kWh at the plug slot by slot; of several the cheapest.
        The request, its limits and its prices stay those of this plan. With a budget of 0 the
        earlier plan is kept only where that costs nothing. The budget is for this plan alone.

        Devices of a site are matched by their names: vehicles, batteries and shiftable loads that
        both plans have. Time that the earlier plan does not cover counts as power 0.

        The change is proved to be the least (``stability.is_proved``) by a linear programme, or,
        where a device has a least power or a battery could charge and discharge at once, by a
        search with binaries; where a limit ended that search, ``change_bound_kwh`` says what may
        be left. Shadow prices and marginal values are those of the cheapest plan, and the gap of
        ``certificate`` is what this plan costs more.

        Args:
            previous: The plan before, of the same class.
            budget: Money that the plan may cost beyond the cheapest one.

        Returns:
            The plan. Its :attr:`stability` says what changed and what that costs.

        Raises:
            InputError: ``budget`` is negative or no number, or the plans are in different
                currencies.
            TypeError: ``previous`` is of another class.

        Example:
            The hours change places; for 0.14 EUR the van stays where it was:

            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> van = sw.Vehicle("van", power_max_kw=7, targets=[sw.Target(None, 7)])
            >>> def plan(*hours):
            ...     prices = sw.Prices.from_values(six, list(hours), currency="EUR")
            ...     return sw.plan_site(prices, now=six, devices=[van])
            >>> before, after = plan(0.20, 0.30), plan(0.22, 0.20)
            >>> steady = after.close_to(before, budget=0.15)
            >>> steady.device("van").power_kw, round(steady.stability.extra_cost, 6)
            ([7.0, 0.0], 0.14)
        """
        _refuse_other_class("previous", previous, type(self))
        refuse_other_currency("previous", previous.currency, self.currency)
        native = _engine.plan_near(self, previous, budget=budget)  # type: ignore[arg-type]  # a kind of plan
        return type(self)(native, self._prices, self._given)


def hold_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Take the arguments of a planner with copies of lists, which the caller may change later."""
    return {name: copy(each) if isinstance(each, list) else each for name, each in given.items()}


def _copied(kind: type[Replanned], text: str, given: Mapping[str, Any] | None) -> Replanned:
    plan = kind.from_json(text)
    object.__setattr__(plan, "_given", given)
    return plan


class InsuranceFrontier(_engine.InsuranceFrontier, Frozen):
    """Cost of having energy earlier than a plan has it. Cannot be changed."""

    __slots__ = ("_plan",)
    _plan: Plan

    def __init__(self, native: _engine.InsuranceFrontier, plan: Plan) -> None:  # noqa: ARG002  `__new__` takes it
        """Add a plan to a frontier of the engine; see :func:`insurance_frontier`."""
        object.__setattr__(self, "_plan", plan)

    @property
    def currency(self) -> str:
        """Currency of all amounts."""
        return self._plan.currency

    def added_cost(self, *, energy_kwh: float) -> float | None:
        """Tell the least cost of having so much by then; ``None`` beyond what is possible.

        Raises:
            InputError: ``energy_kwh`` is no number.
        """
        return super().added_cost(energy_kwh=energy_kwh)

    def plot(
        self,
        *,
        time_zone: str | ZoneInfo = "UTC",
        theme: Theme = "auto",
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Figure:
        """Draw the added cost against energy or state of charge with matplotlib.

        Args:
            time_zone: Zone in whose wall clock the title speaks: an IANA name or a ``ZoneInfo``.
            theme: ``"light"``, ``"dark"``, or ``"auto"`` for that of the axes or of matplotlib's
                style.
            ax: Axes to draw into.
            figsize: Width and height of a new figure in inches.

        Returns:
            The figure, which notebooks show.

        Raises:
            ImportError: matplotlib is not installed (``slackwater[plot]``).
            InputError: The time zone or the theme is unknown.
        """
        from slackwater.plot import plot_insurance  # noqa: PLC0415  an optional extra

        return plot_insurance(self, time_zone=time_zone, theme=theme, ax=ax, figsize=figsize)

    def __hash__(self) -> int:
        """Hash by the instant."""
        return hash(self.at)

    def __reduce__(self) -> tuple[object, ...]:
        """Compute it anew from its plan when it is unpickled."""
        return _compute_frontier, (self._plan, self.at)

    def __repr__(self) -> str:
        """Tell the ends of the frontier in one line."""
        first, last = self.points[0], self.points[-1]
        return (
            f"InsuranceFrontier({first.energy_kwh:g} to {last.energy_kwh:g} kWh by "
            f"{self.at:%Y-%m-%d %H:%M}Z for 0 to {last.added_cost:.4f} {self.currency})"
        )


def _compute_frontier(plan: Plan, at: datetime) -> InsuranceFrontier:
    """Compute a frontier of its plan, for pickle."""
    return insurance_frontier(plan, at=at)


def insurance_frontier(plan: Plan, *, at: datetime) -> InsuranceFrontier:
    """Return the least cost of having energy by an earlier instant.

    Each point is the cost added by planning again with a target at ``at``. The
    frontier is exact and convex: the first kWh is the cheapest.

    Args:
        plan: The cheapest plan.
        at: The instant of an early departure, aware.

    Returns:
        The frontier, from what the plan has by then up to all it can have.

    Raises:
        InputError: ``at`` lies before the plan begins.
        TypeError: ``at`` has no zone.

    Example:
        Three hours at 0.30, 0.20 and 0.10; the last one is used. To have
        energy an hour earlier costs 0.10 per kWh, and 0.20 above 10 kWh:

        >>> from datetime import UTC, datetime, timedelta
        >>> import slackwater as sw
        >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
        >>> prices = sw.Prices.from_values(six, [0.30, 0.20, 0.10], currency="EUR")
        >>> by = six + 3 * hour
        >>> plan = sw.plan_charge(prices, now=six, power_max_kw=10, targets=[(by, 15)])
        >>> frontier = sw.insurance_frontier(plan, at=six + 2 * hour)
        >>> [(point.energy_kwh, round(point.added_cost, 9)) for point in frontier.points]
        [(5.0, 0.0), (10.0, 0.5), (15.0, 1.5)]
        >>> round(frontier.added_cost(energy_kwh=12), 9)
        0.9
    """
    return InsuranceFrontier(_engine.insurance_frontier(plan, at=at), plan)
