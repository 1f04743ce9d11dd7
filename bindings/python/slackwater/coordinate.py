"""Plans of many vehicles that share limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from slackwater import _engine, _view
from slackwater._drawn import Drawn
from slackwater._engine import InputError, PlanTable
from slackwater._index import refuse_other_times
from slackwater._saved_plan import refuse_other_currency
from slackwater.area_node import (
    PROFILES,
    Node,
    Profile,
    area_nodes,
    without_series,
)
from slackwater.area_types import AreaProgress, RoundMemory
from slackwater.prices import Prices, emission_price, priced
from slackwater.questions import Asked, hold_arguments, tell_argument
from slackwater.series import Series, means_in

if TYPE_CHECKING:
    from datetime import timedelta
    from os import PathLike
    from zoneinfo import ZoneInfo

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slackwater._engine import AreaVerification, PowerChanges, Table
    from slackwater._palette import Theme
    from slackwater._timeline import Picture
    from slackwater.questions import WhatIf
    from slackwater.site_devices import Carbon, HeatUnit
    from slackwater.typing import ArrowTable


class AreaPlan(_engine.AreaNumbers, Drawn, Asked):
    """Plans for the vehicles and heat units of an area, and the proof of how good they are."""

    __slots__ = ("_emissions", "_given", "_nodes", "_plans", "_prices", "_seconds")
    _emissions: _engine.EmissionPrice | None
    _nodes: tuple[Node, ...]
    _plans: PlanTable
    _prices: Prices | Mapping[str, Prices]
    _seconds: float

    def __eq__(self, other: object) -> bool:
        """Compare numbers, plans of vehicles, nodes and prices; not the time that planning took."""
        if not isinstance(other, AreaPlan):
            return NotImplemented
        return super().__eq__(other) and self._made_of() == other._made_of()

    def __hash__(self) -> int:
        """Hash by cost and energy."""
        return hash((self.cost, self.energy_kwh))

    def _made_of(self) -> tuple[object, ...]:
        """What two plans with the same numbers may differ in."""
        return self._plans, self._nodes, self._prices, self._emissions

    @classmethod
    def _of(
        cls,
        numbers: _engine.AreaNumbers,
        plans: PlanTable,
        nodes: Sequence[Node],
        prices: Prices | Mapping[str, Prices],
        seconds: float,
        emissions: _engine.EmissionPrice | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> Self:
        """Add to the numbers of the engine what they belong to.

        ``given`` are the arguments of :func:`plan_area`; ``None`` of a plan out of a file.
        """
        fields: dict[str, Any] = numbers.__getnewargs_ex__()[1]
        plan = cls(**fields)
        plan._plans = plans
        plan._nodes = tuple(nodes)
        plan._prices = prices
        plan._seconds = seconds
        plan._emissions = emissions
        plan._given = given
        return plan

    @staticmethod
    def _plan_again(given: Mapping[str, Any]) -> AreaPlan:
        return plan_area(**given)

    @property
    def carbon_kg(self) -> float | None:
        """Emissions of the energy bought, in kg, of an area planned with ``carbon=``.

        ``None`` without it, and where the plans went to a ``sink``.
        """
        if self._emissions is None or len(self.plans) < self.vehicles:
            return None
        return _engine.table_emissions(self.plans, self._emissions.intensity)

    @property
    def baseline_carbon_kg(self) -> float | None:
        """Emissions if all vehicles charge at full power from arrival, as :attr:`carbon_kg`."""
        if self._emissions is None:
            return None
        loads = zip(self.periods, self.baseline_load_kw, strict=True)
        return self._emissions.intensity.weigh([(start, end, kw) for (start, end), kw in loads])

    @property
    def carbon_cost(self) -> float | None:
        """The part of the cost that is the price of emissions, as :attr:`carbon_kg`."""
        emissions, kg = self._emissions, self.carbon_kg
        return None if emissions is None or kg is None else emissions.cost_of(kg)

    @property
    def prices(self) -> Prices | None:
        """Prices to buy at that all vehicles share; ``None`` where they have several curves."""
        return None if isinstance(self._prices, Mapping) else self._prices

    @property
    def seconds(self) -> float:
        """How long planning took, plans of vehicles included."""
        return self._seconds

    @property
    def withheld_kwh(self) -> float:
        """The part of :attr:`shortfall_kwh` that limits withhold.

        Without limits it would be met, and paid for: costs of this plan and of
        others compare where it is 0.
        """
        return sum(need.energy_kwh for need in self.shortfalls if need.node is not None)

    @property
    def short_vehicles(self) -> int:
        """Number of vehicles with unmet energy.

        A vehicle that misses a deadline may get the missing energy later.
        """
        return len({need.row for need in self.shortfalls})

    @property
    def plans(self) -> PlanTable:
        """One plan a row, in the order of the vehicles.

        Columns are ``id``, ``cost``, ``energy_kwh``, ``discharged_kwh``,
        ``shortfall_kwh``, ``baseline_cost``, ``savings``, ``intervals`` (list
        of ``{start, end, power_kw}``; a negative power discharges),
        ``error``, ``unpriced_hours`` (time of the stay without a price, never
        used), ``energy_on_estimates_kwh`` and ``sold_on_estimates_kwh`` (bought
        and sold at prices that are only estimated). Without rows if they went
        to a ``sink``.
        """
        return self._plans

    def explain(self, vehicle: object, *, time_zone: str | ZoneInfo = "UTC") -> tuple[str, ...]:
        """Tell what one vehicle gets, what it misses and by which limit, and what it pays.

        Where a limit withholds energy, up to three vehicles are named that use most of it while
        this one stays, with their mean power in the slots that are full. An area out of a
        file has no vehicles, and names none.
        :func:`slackwater.plan_row` has the plan of the vehicle without the limits of the others.

        Args:
            vehicle: Its ``id``.
            time_zone: Zone of the times in the sentences: an IANA name or a ``ZoneInfo``.

        Returns:
            Sentences. It reads :attr:`plans` with pyarrow.

        Raises:
            ImportError: pyarrow is not installed.
            InputError: No plan has this id, or several; the plans went to a ``sink``; the time
                zone is unknown.

        Example:
            Two cars want 10 kWh each in an hour whose limit is 15 kW:

            >>> import pyarrow as pa
            >>> from datetime import UTC, datetime, timedelta
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = Prices.from_values(six, [0.30], currency="EUR")
            >>> cars = pa.table(
            ...     {
            ...         "id": [621, 622],
            ...         "arrival": [six] * 2,
            ...         "departure": [six + timedelta(hours=1)] * 2,
            ...         "energy_kwh": [10.0] * 2,
            ...         "power_max_kw": [11.0] * 2,
            ...     }
            ... )
            >>> area = plan_area(cars, prices, limit_kw=15)
            >>> area.explain(622)[0]
            'It takes 7.5 kWh in 1 period; 2.5 kWh are missing.'
            >>> area.explain(622)[1].partition(", ")[0]
            '2.5 kWh are withheld by the limit of area'
        """
        from slackwater._area_reasons import explain_vehicle  # noqa: PLC0415  rarely wanted

        return explain_vehicle(self, vehicle, _view.zone_of(time_zone))

    def explain_heat(self, unit: str, *, time_zone: str | ZoneInfo = "UTC") -> tuple[str, ...]:
        """Tell what a heat unit uses and costs, how its room is, and why it runs when it does.

        Args:
            unit: Its name.
            time_zone: Zone of the times in the sentences: an IANA name or a ``ZoneInfo``.

        Returns:
            A sentence on the energy and the cost, one on the comfort band, and one for each period
            in which the unit runs for one reason.

        Raises:
            InputError: The area has no such unit; the time zone is unknown.

        Example:
            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.10, 0.40], currency="EUR")
            >>> cars = {"id": [1], "arrival": [six], "departure": [six + timedelta(hours=1)]}
            >>> cars |= {"energy_kwh": [4.0], "power_max_kw": [4.0]}
            >>> pump = sw.HeatUnit(
            ...     "pump",
            ...     capacity_kwh_per_k=5,
            ...     loss_kw_per_k=0.2,
            ...     temperature_celsius=20,
            ...     comfort_celsius=(20, 23),
            ...     power_max_kw=3,
            ...     cop=3,
            ...     outdoor_celsius=5,
            ... )
            >>> area = sw.plan_area(cars, prices, limit_kw=5, heat=[pump])
            >>> for sentence in area.explain_heat("pump"):
            ...     print(sentence)
            It uses 2 kWh in 1 period for 0.50 EUR; a thermostat would cost 0.50 EUR.
            The room is within its band throughout.
            2026-01-05 18:00 UTC to 2026-01-05 19:00 UTC: 1 kWh, to hold the edge of its band.
            2026-01-05 19:00 UTC to 2026-01-05 20:00 UTC: 1 kWh, because the limit of area leaves \
no power in a cheaper time.
        """
        from slackwater._area_reasons import explain_unit  # noqa: PLC0415  rarely wanted

        return explain_unit(self, unit, _view.zone_of(time_zone))

    def what_if(
        self, *, vehicle: Mapping[str, object] | None = None, **changes: object
    ) -> WhatIf[Self]:
        """Plan again with another vehicle or other limits, and return the difference.

        Both plans cost at most their gap more than the cheapest; the sentence tells a gap that
        matters. Where limits withhold energy, a cost that is lower may be that of less energy:
        look at ``shortfall_change_kwh``.

        Args:
            vehicle: ``id`` of a vehicle and columns with other values, such as
                ``{"id": 622, "energy_kwh": 5}``.
            **changes: Arguments of :func:`slackwater.plan_area`, such as ``limit_kw=20``. The
                others stay as they were.

        Returns:
            The changed plan and the difference.

        Raises:
            InputError: No vehicle has this id, or several; there is no such column; the plan was
                read from a file, which keeps no vehicles; or as :func:`slackwater.plan_area`.
            TypeError: There is no such argument, or a value does not fit its column.

        Example:
            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10], currency="EUR")
            >>> cars = {"id": [1, 2], "arrival": [six] * 2}
            >>> cars |= {"departure": [six + timedelta(hours=2)] * 2}
            >>> cars |= {"energy_kwh": [10.0] * 2, "power_max_kw": [11.0] * 2}
            >>> area = sw.plan_area(cars, prices, limit_kw=11)
            >>> print(area.what_if(limit_kw=16).sentence)
            With limit_kw=16, the plan would cost 1.00 EUR less.
            >>> print(area.what_if(vehicle={"id": 2, "energy_kwh": 1}).sentence)
            With energy_kwh=1 for vehicle 2, the plan would cost 2.70 EUR less and take 9 kWh less.
        """
        told = [tell_argument(*change) for change in changes.items()]
        if vehicle is not None:
            if "vehicles" in changes:
                raise InputError("vehicle changes one of the vehicles; give it or other vehicles")
            name, columns = _changed_columns(vehicle)
            vehicles = self._arguments()["vehicles"]
            changes |= {"vehicles": _engine.change_vehicle(vehicles, name, columns)}
            values = ", ".join(tell_argument(*change) for change in columns.items())
            told.append(f"{values} for vehicle {name}")
        return self._compare(changes, told)

    def close_to(self, previous: AreaPlan | ArrowTable, *, budget: float = 0.0) -> AreaPlan:
        """Plan again so that vehicles keep their older plan as far as a budget allows.

        As :func:`slackwater.plan_area` with ``previous`` and ``stability_budget``, beginning with
        the shadow prices of this plan. Limits hold and shortfalls stay; the change is small, but
        not proved to be the least.

        Args:
            previous: The plan before, or a table with ``id`` and ``intervals``. Vehicles are
                matched by their ``id``.
            budget: Money that the plan may cost beyond this one. With 0 the older plan is kept
                only where that costs nothing.

        Returns:
            The plan. Its :attr:`change` says how much it moves and what that costs.

        Raises:
            InputError: ``budget`` is negative or no number, an ``id`` stands for two vehicles, or
                a plan was read from a file or went to a ``sink``.

        Example:
            The hours change places; for 0.20 EUR the car stays where it was:

            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> car = {"id": [1], "arrival": [six], "departure": [six + timedelta(hours=2)]}
            >>> car |= {"energy_kwh": [10.0], "power_max_kw": [10.0]}
            >>> def plan(*hours):
            ...     prices = sw.Prices.from_values(six, list(hours), currency="EUR")
            ...     return sw.plan_area(car, prices, limit_kw=10)
            >>> before, after = plan(0.20, 0.30), plan(0.22, 0.20)
            >>> steady = after.close_to(before, budget=0.25)
            >>> steady.load_kw, round(steady.change.spent, 6)
            ([10.0, 0.0], 0.2)
        """
        if not 0 <= budget < math.inf:
            message = f"budget is {budget} {self.currency}; it is a number from 0 on"
            raise InputError(message)
        return _plan(self._arguments(), _Before(_told(previous), budget, self.warm_start))

    def diff(self, after: Self, *, time_zone: str = "UTC") -> PowerChanges:
        """List the periods in which a later plan has another power, vehicle by vehicle.

        Vehicles are matched by their ``id``, which is the ``device`` of a change; one that only
        one of the plans has counts as power 0 in the other. Periods that have passed when the
        later plan begins are left out.

        Args:
            after: The plan to compare with.
            time_zone: IANA name of the zone in whose wall clock the sentences speak.

        Returns:
            The changes, a sequence and an Arrow table.

        Raises:
            InputError: The time zone is unknown, an ``id`` stands for two vehicles, plans went to
                a ``sink``, or they are in different currencies.

        Example:
            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> car = {"id": [1], "arrival": [six], "departure": [six + timedelta(hours=2)]}
            >>> car |= {"energy_kwh": [10.0], "power_max_kw": [10.0]}
            >>> def plan(*hours):
            ...     prices = sw.Prices.from_values(six, list(hours), currency="EUR")
            ...     return sw.plan_area(car, prices, limit_kw=10)
            >>> for change in plan(0.20, 0.30).diff(plan(0.22, 0.20)):
            ...     print(change.sentence)
            1: Mon 18:00 to Mon 19:00: 0 kW instead of 10 kW.
            1: Mon 19:00 to Mon 20:00: 10 kW instead of 0 kW.
        """
        if after is None:
            raise TypeError("after is None; it has to be an AreaPlan")
        if not isinstance(after, type(self)):
            raise TypeError(f"after has to be an AreaPlan, not a {type(after).__name__}")
        refuse_other_currency("after", after.currency, self.currency)
        if not after.periods:
            return _engine.PowerChanges([])
        return _engine.area_power_changes(
            self._kept_plans(), after._kept_plans(), now=after.periods[0][0], time_zone=time_zone
        )

    def verify(
        self,
        *,
        vehicles: ArrowTable | None = None,
        export_prices: Prices | Mapping[str, Prices] | None = None,
        heat: Sequence[HeatUnit] | None = None,
    ) -> AreaVerification:
        """Compute the statements of the plan anew, and the bound vehicle by vehicle.

        The intervals of the vehicles give the loads of all nodes, which are compared with the
        limits, and the cost. At its prices plus the shadow prices of the limits, each vehicle is
        planned alone, and has a certificate of its own; with the shadow prices of the limits these
        bounds add up to one for the area. What each vehicle could save at these prices and what
        the limits cause add up to cost less bound. ``docs/explanation/proof.md`` has the proof.

        Args:
            vehicles: The table of vehicles, for a plan that was read from a file.
            export_prices: Prices to sell at, for such a plan.
            heat: Heat units, for such a plan.

        Returns:
            Each statement with the computed number and the difference, and the certificates of the
            vehicles. Nothing is raised for a statement that does not hold: look at ``failed``, and
            at ``vehicles`` for those whose ``failed`` is not empty.

        Raises:
            InputError: The plan was read from a file and the vehicles are not given, these are
                others, or the plans went to a ``sink``.

        Example:
            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10], currency="EUR")
            >>> cars = {"id": [1, 2], "arrival": [six] * 2}
            >>> cars |= {"departure": [six + timedelta(hours=2)] * 2}
            >>> cars |= {"energy_kwh": [10.0] * 2, "power_max_kw": [11.0] * 2}
            >>> area = sw.plan_area(cars, prices, limit_kw=11)
            >>> verified = area.verify()
            >>> verified.holds, [round(car.bound, 6) for car in verified.vehicles]
            (True, [3.0, 3.0])
        """
        given = self._given
        if given is None:
            if vehicles is None:
                message = (
                    "a plan that was read from a file keeps no vehicles; "
                    "give their table: verify(vehicles=...)"
                )
                raise InputError(message)
            carbon = None if self._emissions is None else _carbon_of(self._emissions)
            given = {"prices": self._prices, "export_prices": export_prices, "carbon": carbon}
        rows = given["vehicles"] if vehicles is None else vehicles
        paid = area_prices(_all_priced(given["prices"], given["carbon"]), given["export_prices"])
        return _engine.verify_area(
            self,
            self._kept_plans(),
            vehicles=rows,
            paid=paid,
            nodes=list(self._nodes),
            heat=_placed_units(given.get("heat", ()) if heat is None else heat, given["prices"]),
        )

    def _kept_plans(self) -> PlanTable:
        """Plans of the vehicles.

        Raises:
            InputError: They went to a ``sink``.
        """
        if len(self.plans) < self.vehicles:
            raise InputError("the plans of this area went to a sink; it has none to compare")
        return self.plans

    def intervals_table(self) -> Table:
        """List the intervals of all plans, one a row, as :meth:`PlanTable.intervals_table`."""
        return self.plans.intervals_table()

    def load(self, resolution: timedelta) -> Table:
        """Add the plans up to one load curve, without base load, as :meth:`PlanTable.load`.

        Args:
            resolution: Length of a step.

        Raises:
            InputError: As :meth:`PlanTable.load`.
        """
        return self.plans.load(resolution)

    def to_json(self) -> str:
        """Write the plan, its nodes, its prices and the plans of its vehicles as JSON.

        The vehicles themselves are not in it, so an area cannot be replayed: keep their table.
        """
        from slackwater._saved_area import area_to_json  # noqa: PLC0415  rarely wanted

        return area_to_json(self)

    @classmethod
    def from_json(cls, text: str) -> AreaPlan:
        """Read a plan from the text that :meth:`to_json` wrote.

        Raises:
            InputError: It is no such text, is damaged, or of a later version.
        """
        from slackwater._saved_area import area_from_json  # noqa: PLC0415  rarely wanted

        return area_from_json(text)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the text of :meth:`to_json` to a file, for :func:`slackwater.load_area`.

        Args:
            path: The file, which is replaced if it exists.

        Raises:
            OSError: The file cannot be written.

        Example:
            >>> import tempfile
            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10], currency="EUR")
            >>> cars = {"id": [1], "arrival": [six], "departure": [six + timedelta(hours=2)]}
            >>> cars |= {"energy_kwh": [10.0], "power_max_kw": [11.0]}
            >>> area = sw.plan_area(cars, prices, limit_kw=7)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     area.save(f"{folder}/area.json")
            ...     loaded = sw.load_area(f"{folder}/area.json")
            >>> loaded.cost == area.cost, loaded.explain(1)[0]
            (True, 'It takes 10 kWh in 2 periods; nothing is missing.')
        """
        Path(path).write_text(self.to_json(), encoding="utf-8", newline="\n")

    def to_arrow(self) -> PlanTable:
        """Give the plans of the vehicles to any Arrow library."""
        return self.plans

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the plans of the vehicles to an Arrow library."""
        return self.plans.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Tell cost, gap, what is not met, rows not planned, guesses, and what is not earned."""
        text = (
            f"AreaPlan({_view.counted(self.vehicles, 'vehicle')}, "
            f"cost={self.cost:.2f} {self.currency}, relative_gap={self.relative_gap:.1e}, "
            f"rounds={self.rounds}, status={self.status!r}"
        )
        short = f", shortfall_kwh={self.shortfall_kwh:.3f}" if self.shortfalls else ""
        errors = f", errors={self.errors}" if self.errors else ""
        notes = "".join(f", {note}" for note in _view.area_notes(self))
        return f"{text}{short}{errors}{notes})"

    def _guesses(self) -> tuple[list[str], list[str]]:
        """Names of the estimates among the prices to buy and to sell at."""
        return _estimates_of(self._prices), _estimates_of((self._given or {}).get("export_prices"))

    def _picture(
        self, zone: ZoneInfo, *, node: str | None = None, vehicles: bool = False
    ) -> Picture:
        from slackwater._fleet_pictures import area_picture  # noqa: PLC0415  only drawings need it

        at = self._position(node)
        return area_picture(self, self._nodes, at, zone, shows_vehicles=vehicles)

    def _position(self, node: str | None) -> int:
        """Position of the node to draw."""
        names = [other.name for other in self._nodes]
        if node is not None and node not in names:
            message = f"node is {node!r}; the area has {', '.join(names)}"
            raise InputError(message)
        tops = [other.name for other in self._nodes if other.parent is None]
        if node is None and len(tops) > 1:
            message = f"node is not said; at the top are {', '.join(tops)}: name one to draw"
            raise InputError(message)
        return names.index(tops[0] if node is None else node)

    def plot(
        self,
        *,
        time_zone: str | ZoneInfo | None = None,
        theme: Theme = "auto",
        ax: Axes | None = None,
        axes: Sequence[Axes] | None = None,
        figsize: tuple[float, float] | None = None,
        node: str | None = None,
        vehicles: bool = False,
    ) -> Figure:
        """Draw loads of a node against its limit, and below them the shadow prices.

        Three loads are drawn, base load included: the baseline, each vehicle
        at its own cheapest (price only), and coordinated. The first two are
        known of all vehicles together, and drawn where all of them are below
        the node. The panels are ``load``, ``shadow``, ``price`` if all
        vehicles share one curve, ``nodes``, a heat map of the nodes by time,
        if there are several below the one that is drawn, and ``vehicles``.

        Args:
            time_zone: Zone of the time axis: an IANA name or a ``ZoneInfo``;
                ``None`` is UTC.
            theme: ``"light"``, ``"dark"``, or ``"auto"`` for that of the axes
                or of matplotlib's style.
            ax: Axes to draw the first panel into, alone.
            axes: Axes to draw all panels into, one each, in the order above.
            figsize: Width and height of a new figure in inches.
            node: Name of the node; the one at the top without it.
            vehicles: Whether to draw a heat map of the vehicles by time, too,
                of many the means of groups. It reads :attr:`plans` with
                pyarrow.

        Returns:
            The figure, which notebooks show. ``figure.savefig("area.png")``
            writes it to a file.

        Raises:
            ImportError: matplotlib is not installed (``slackwater[plot]``), or
                pyarrow for ``vehicles``.
            InputError: There is no such node, or none is named and several are
                at the top; the time zone or the theme is unknown; axes do not
                fit.
        """
        from slackwater.plot import draw  # noqa: PLC0415  matplotlib is an optional extra

        picture = self._picture(self._zone(time_zone), node=node, vehicles=vehicles)
        return draw(picture, theme=theme, ax=ax, axes=axes, figsize=figsize)

    def to_html(
        self,
        *,
        time_zone: str | ZoneInfo | None = None,
        theme: Theme = "auto",
        interactive: bool = True,
        names: Sequence[object] | None = None,
        title: str = "Area plan",
    ) -> str:
        """Write a report for grid planners: an HTML page that needs no network.

        It has a summary, the load against the limit, the price of the limit,
        the savings, and the vehicles at risk. It shows the top node; of several
        only the first.

        Args:
            time_zone: Zone of all times: an IANA name or a ``ZoneInfo``;
                ``None`` is UTC.
            theme: ``"light"``, ``"dark"``, or ``"auto"`` for that of the
                reader.
            interactive: Whether a script of the page tells the values of the
                slot under the pointer or the arrow keys.
            names: Names of the vehicles by row; rows are numbered without them.
            title: Headline of the page.

        Returns:
            One HTML document.

        Raises:
            InputError: The time zone or the theme is unknown.
        """
        from slackwater.area_report import area_report  # noqa: PLC0415 - a page is rarely wanted

        return area_report(
            self,
            self._nodes,
            names=names,
            title=title,
            time_zone=self._zone(time_zone),
            theme=theme,
            interactive=interactive,
        )

    def _repr_html_(self) -> str:
        """Draw the plan for a cell of a notebook, the first of several top nodes."""
        from slackwater.html import card  # noqa: PLC0415  only notebooks need it

        top = next(node.name for node in self._nodes if node.parent is None)
        return card(self._picture(self._zone(None), node=top), [])

    def report(
        self,
        path: str | Path,
        *,
        names: Sequence[object] | None = None,
        title: str = "Area plan",
        time_zone: str | ZoneInfo = "UTC",
    ) -> None:
        """Write the page of :meth:`to_html` to a file.

        Args:
            path: The file.
            names: Names of the vehicles by row; rows are numbered without them.
            title: Headline of the page.
            time_zone: Zone of all times: an IANA name or a ``ZoneInfo``.

        Raises:
            InputError: The time zone is unknown.
            OSError: The file cannot be written.
        """
        page = self.to_html(names=names, title=title, time_zone=time_zone)
        Path(path).write_text(page, encoding="utf-8")


def plan_area(
    vehicles: ArrowTable,
    prices: Prices | Mapping[str, Prices],
    *,
    export_prices: Prices | Mapping[str, Prices] | None = None,
    limit_kw: Profile | None = None,
    nodes: Sequence[Node] | None = None,
    relative_gap: float = 1e-3,
    rounds_max: int = 500,
    progress: Callable[[AreaProgress], object] | None = None,
    previous: AreaPlan | ArrowTable | None = None,
    stability_budget: float | None = None,
    sink: Callable[[PlanTable], object] | None = None,
    memory: RoundMemory | None = None,
    carbon: Carbon | None = None,
    heat: Sequence[HeatUnit] = (),
) -> AreaPlan:
    """Plan vehicles and heat units that share limits, at a cost proved to be near the least.

    Every hard limit holds in the mean of every slot. Every need is met unless
    limits forbid it; then as little as possible goes unmet, and vehicles of
    one node that miss the same deadline, mostly their departure, bear it in
    equal shares of their needs, divided by their priorities. The gap is that
    of the finished plans.

    Energy that limits withhold at arrival or at a deadline before departure
    is delivered later, and the need at departure is still met if possible.
    Reserves and needs have equal weight in a shortage; only missing need is
    reported as unmet.

    Negative prices fill vehicles whose need is in percent, as in
    :func:`slackwater.plan_batch`, unless ``fill_when_negative`` says otherwise. Others
    buy their need and no more; :attr:`AreaPlan.forgone` tells what that leaves.

    Needs of vehicles come before the comfort of rooms, and comfort before money, as in
    :func:`slackwater.plan_site`. Where a limit leaves too little for both, the vehicles
    get their energy by their deadlines, and rooms are outside their bands for few
    degree-hours. This order is one of prices and no proof of it:
    :attr:`AreaPlan.degree_hour_price` is that of a degree-hour, far above what money can
    save by one, and energy that a vehicle misses costs more than the degree-hours that it
    saves. Heat that a room or tank loses before it is of use may be given up. The bound
    is one on the cost of plans with the same shortfalls and degree-hours.

    Ctrl-C ends the work, and the plan so far is returned with the status
    ``stopped``: within a second up to about 100,000 vehicles.

    Args:
        vehicles: One row a vehicle, with the columns of
            :func:`slackwater.plan_batch` and besides, all optional:

            ======================== ==========================================
            column                   meaning
            ======================== ==========================================
            ``node``                 name of a node; needed where there are several
            ``priority``             weight where energy is short, above 0; 2
                                     bears half of 1
            ``power_min_kw``         least power while charging, at most
                                     ``power_max_kw``; such a vehicle is on at
                                     full power or off, for whole slots but for
                                     one in which a need ends
            ``discharge_max_kw``     highest discharging power; a vehicle with
                                     one gives its needs in percent, may sell
                                     what it stores, and has no ``targets``,
                                     ``reserve_kwh`` or ``power_min_kw``
            ``discharge_efficiency`` energy at the plug per stored energy
            ``charge_limit_percent`` where charging ends, with percent; 100
            ``fill_when_negative``   whether negative prices fill the battery up to
                                     its limit, with percent; true. Rows with
                                     ``targets``, ``reserve_kwh`` or ``power_min_kw``
                                     are not filled: see :attr:`AreaPlan.forgone`.
                                     False is refused with ``discharge_max_kw``
            ``end_value_per_kwh``    value of a kWh stored at departure
            ``wear_price_per_kwh``   wear per stored kWh that is discharged
            ======================== ==========================================

        prices: One curve for all, or curves by their ``price_id``.
        export_prices: Price earned per discharged kWh, in the same slots and
            with the same ids; without them nothing is sold.
        limit_kw: Highest load of all vehicles together: one number, one per
            slot of the prices, or a series in kW. A short form of ``nodes`` with one node.
        nodes: Nodes with their limits; give these or ``limit_kw``.
        relative_gap: Gap at which to end, in proportion to the cost.
        rounds_max: Rounds after which to end a search; see
            :attr:`AreaPlan.rounds`.
        progress: Called once a round with an :class:`AreaProgress`; a true
            answer ends the rounds.
        previous: An earlier plan of the same limits and slots, to begin with
            its shadow prices. Where next to nothing has changed, that saves
            about a third of the rounds; after new prices, an hour later or
            with other vehicles it saves none, and may need more.
            With ``stability_budget`` also a table with ``id`` and
            ``intervals`` of an earlier plan.
        stability_budget: Amount that the plan may cost above the cheapest one
            so that vehicles keep their plan of ``previous``; see
            :attr:`AreaPlan.change`. Vehicles are matched by their ``id``, which
            must be unique.
        sink: Called with the plans of the vehicles, some ten thousand at a
            time, in place of keeping them: for files larger than memory.
        memory: Keeps the plans of finished rounds, so that an interrupted
            call can go on.
        carbon: As in :func:`slackwater.plan_charge`.
        heat: Heat pumps, heaters and air conditioners that run at any power up to their
            highest (kW), each a :class:`slackwater.HeatUnit` as on a site. Their ``group`` is
            the name of their node; without it that is the first node. They are planned from
            the first slot of the prices, which is the instant of ``temperature_celsius`` (°C),
            to the last one. All pay one curve of prices. Units that are on or off are
            refused, and so are ``phases``. With heat units the area is planned in this process:
            the functions for workers do not take them. They stay as they are in
            :meth:`AreaPlan.close_to`.

    Returns:
        The plan. It is an Arrow table of the vehicles' plans as well. :attr:`AreaPlan.heat`
        has the units with their temperatures, and :meth:`AreaPlan.heat_intervals` the periods
        in which they run.

    Raises:
        InputError: Nodes, limits or columns are invalid.

    Example:
        Two vehicles share the cheap hour, whose limit is 15 kW:

        >>> import pyarrow as pa
        >>> from datetime import UTC, datetime, timedelta
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
        >>> vehicles = pa.table(
        ...     {
        ...         "id": ["van", "bus"],
        ...         "arrival": [six, six],
        ...         "departure": [six + timedelta(hours=3)] * 2,
        ...         "energy_kwh": [10.0, 10.0],
        ...         "power_max_kw": [10.0, 10.0],
        ...     }
        ... )
        >>> area = plan_area(vehicles, prices, limit_kw=15)
        >>> area.load_kw, round(area.cost, 6), area.relative_gap < 1e-3
        ([0.0, 15.0, 5.0], 2.5, True)
        >>> [round(price, 6) for price in area.nodes[0].congestion_price_per_kwh]
        [0.0, 0.1, 0.0]

        A heat pump shares the limit; it leaves the cheap hour to the vehicles:

        >>> from slackwater import HeatUnit
        >>> pump = HeatUnit(
        ...     "pump",
        ...     capacity_kwh_per_k=5,
        ...     loss_kw_per_k=0.2,
        ...     temperature_celsius=20,
        ...     comfort_celsius=(20, 23),
        ...     power_max_kw=3,
        ...     cop=3,
        ...     outdoor_celsius=5,
        ... )
        >>> both = plan_area(vehicles, prices, limit_kw=15, heat=[pump])
        >>> both.heat[0].room.below_celsius_hours, both.shortfall_kwh
        (0.0, 0.0)
        >>> max(both.load_kw) <= 15.000001
        True
    """
    if previous is None and stability_budget is not None:
        message = "stability_budget needs a previous plan"
        raise InputError(message)
    if previous is not None and not isinstance(previous, AreaPlan):
        stability_budget = stability_budget or 0.0
    given = {
        "vehicles": _engine.hold_table(vehicles),
        "prices": prices,
        "export_prices": export_prices,
        "limit_kw": limit_kw,
        "nodes": nodes,
        "relative_gap": relative_gap,
        "rounds_max": rounds_max,
        "carbon": carbon,
        "heat": tuple(heat),
    }
    before = _Before(
        None if stability_budget is None else _told(previous),
        0.0 if stability_budget is None else stability_budget,
        previous.warm_start if isinstance(previous, AreaPlan) else None,
    )
    listeners = {
        "progress": None if progress is None else watched(progress),
        "recall": None if memory is None else memory.recall,
        "keep": None if memory is None else memory.keep,
        "sink": sink,
    }
    return _plan(given, before, **listeners)


class _Before(NamedTuple):
    """An earlier plan: its rows, the budget for staying close, shadow prices to begin with."""

    plans: object
    budget: float
    start: tuple[list[float], list[list[float]]] | None


def _plan(given: Mapping[str, Any], before: _Before, **listeners: object) -> AreaPlan:
    """Plan an area by the arguments of :func:`plan_area`."""
    began = perf_counter()
    given = hold_arguments(given)
    prices, limit_kw, nodes = given["prices"], given["limit_kw"], given["nodes"]
    _refuse_other_times(prices, limit_kw, nodes or ())
    if isinstance(limit_kw, Series):
        limit_kw = means_in(limit_kw, "kW", _periods_of(prices), "limit_kw")
    if nodes is not None and any(map(_has_series, nodes)):
        periods = _periods_of(prices)
        nodes = [without_series(node, periods) if _has_series(node) else node for node in nodes]
    nodes = area_nodes(limit_kw, nodes)
    carbon = given["carbon"]
    silent = dict.fromkeys(("progress", "recall", "keep", "sink", "crew"))
    numbers, plans, _ = _engine.plan_area(
        given["vehicles"],
        area_prices(_all_priced(prices, carbon), given["export_prices"]),
        nodes=nodes,
        heat=_placed_units(given["heat"], prices),
        relative_gap=given["relative_gap"],
        rounds_max=given["rounds_max"],
        before=before._asdict(),
        listeners=silent | listeners,
    )
    emissions = None if carbon is None else emission_price(carbon)
    seconds = perf_counter() - began
    return AreaPlan._of(numbers, plans, nodes, prices, seconds, emissions, given)


def _placed_units(heat: Sequence[HeatUnit], prices: Prices | Mapping[str, Prices]) -> list[object]:
    """Heat units with their series as periods, from the first price on.

    Raises:
        InputError: Vehicles have several curves of prices, or a series does not fit.
        TypeError: Something else than a heat unit is given.
    """
    from slackwater.site_devices import HeatUnit  # noqa: PLC0415  only of areas with heat

    for unit in heat:
        if not isinstance(unit, HeatUnit):
            raise TypeError(f"heat has a {type(unit).__name__}; it takes HeatUnit alone")
    if not heat:
        return []
    if isinstance(prices, Mapping):
        raise InputError("heat units are planned at one curve of prices; prices has several")
    slots = prices.slots
    return [unit._placed(prices, slots[0][0], None) for unit in heat] if slots else []


def _changed_columns(vehicle: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
    """Id of a vehicle as a text, and the columns that change.

    Raises:
        InputError: There is no id, or nothing else.
        TypeError: A value is no number, text or aware datetime.
    """
    columns: dict[str, Any] = dict(vehicle)
    if "id" not in columns or len(columns) == 1:
        message = (
            f"vehicle names {', '.join(map(str, columns)) or 'nothing'}; "
            'it needs the "id" and columns to change, such as {"id": 622, "energy_kwh": 5}'
        )
        raise InputError(message)
    name = str(columns.pop("id"))
    for column, value in columns.items():
        if isinstance(value, datetime) and value.tzinfo is None:
            raise TypeError(f"vehicle: {column} is {value}, which has no time zone")
        if not isinstance(value, datetime | str | None) and not hasattr(value, "__float__"):
            kind = type(value).__name__
            message = f"vehicle: {column} is a {kind}; give a number, a text or a datetime, or "
            raise TypeError(f"{message}change the whole table: what_if(vehicles=...)")
    return name, columns


def _carbon_of(emissions: _engine.EmissionPrice) -> Carbon:
    """Price and intensity of emissions as arguments."""
    from slackwater.site_devices import Carbon  # noqa: PLC0415  only of plans out of files

    price, intensity = emissions.__getnewargs__()
    return Carbon(price_per_kg=price, intensity=intensity)


def _estimates_of(prices: Prices | Mapping[str, Prices] | None) -> list[str]:
    """Names of the estimates of one curve or several, each once."""
    curves = [prices] if isinstance(prices, Prices) else list((prices or {}).values())
    layers = [layer for curve in curves for layer in curve._native.layers() or []]
    return list(dict.fromkeys(name for name, is_estimate, _, _ in layers if is_estimate))


def _all_priced(
    prices: Prices | Mapping[str, Prices], carbon: Carbon | None
) -> Prices | Mapping[str, Prices]:
    if isinstance(prices, Mapping):
        return {name: priced(curve, carbon) for name, curve in prices.items()}
    return priced(prices, carbon)


def _refuse_other_times(
    prices: Prices | Mapping[str, Prices], limit_kw: Profile | None, nodes: Sequence[Node]
) -> None:
    """Refuse series whose index has other times than the slots of the prices.

    The slots of several curves are those of all of them.
    """
    profiles: dict[str, object] = {"limit_kw": limit_kw}
    for node in nodes:
        profiles |= {f"{field} of node {node.name!r}": getattr(node, field) for field in PROFILES}
    indexed = {name: profile for name, profile in profiles.items() if hasattr(profile, "index")}
    curves = [prices] if isinstance(prices, Prices) else list(prices.values())
    starts = sorted({start for curve in curves if indexed for start, _, _ in curve.slots})
    for name, profile in indexed.items():
        refuse_other_times(name, profile, starts)


def _has_series(node: Node) -> bool:
    return any(isinstance(getattr(node, field, None), Series) for field in PROFILES)


def _periods_of(prices: Prices | Mapping[str, Prices]) -> list[tuple[datetime, datetime]]:
    """The slots of an area, whose curves all have them.

    Raises:
        InputError: Curves have different slots.
    """
    curves = [prices] if isinstance(prices, Prices) else list(prices.values())
    slots = [[(start, end) for start, end, _ in curve.slots] for curve in curves]
    if any(own != slots[0] for own in slots):
        raise InputError("curves have different slots; give a number for each in place of a series")
    return slots[0] if slots else []


def _told(previous: AreaPlan | ArrowTable | None) -> object:
    """What vehicles were told before; a plan whose rows went elsewhere does not know."""
    if not isinstance(previous, AreaPlan):
        return previous
    if previous.vehicles and not len(previous.plans):
        message = "previous has no plans of its vehicles, which went elsewhere: give their table"
        raise InputError(message)
    return previous.plans


def area_prices(
    prices: Prices | Mapping[str, Prices], export: Prices | Mapping[str, Prices] | None
) -> dict[str, object]:
    """Prices to buy and to sell at, as the engine takes them."""
    shared, curves = _curves(prices)
    if isinstance(export, Mapping) and not export:
        message = "export_prices holds no price curve; leave it out where nothing is sold"
        raise InputError(message)
    export_shared, export_curves = (None, None) if export is None else _curves(export)
    return {
        "prices": shared,
        "curves": curves,
        "export_prices": export_shared,
        "export_curves": export_curves,
    }


def _curves(
    prices: Prices | Mapping[str, Prices],
) -> tuple[_engine.Prices | None, _engine.PriceCurves | None]:
    """One curve for all, or a table of them."""
    if not isinstance(prices, Mapping):
        return prices._native, None
    natives = [curve._native for curve in prices.values()]
    return None, _engine.PriceCurves.from_prices(natives, ids=list(prices))


def watched(
    progress: Callable[[AreaProgress], object],
) -> Callable[[int, float, float, float], object]:
    """What is called with the numbers of a round."""
    return lambda *numbers: progress(AreaProgress(*numbers))
