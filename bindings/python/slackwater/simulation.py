"""Simulation of a charging policy in a receding horizon, and what it leaves to be regretted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from slackwater import _engine, _view
from slackwater._engine import InputError, Interval, SimulationTable
from slackwater._record import Record
from slackwater.forecasts import Forecast, Persistence, SeasonalNaive, refuse_estimates
from slackwater.plan import Plan
from slackwater.policy import PriceTree
from slackwater.prices import Prices, emission_price, priced
from slackwater.storage import StoragePlan

if TYPE_CHECKING:
    from slackwater.site_devices import Carbon
    from slackwater.typing import ArrowTable

QUARTER = timedelta(minutes=15)
BAR_WIDTH = 40


class View(_engine.View):
    """Everything that is known of one stay at one instant, for a policy to decide on.

    It is put together from copies of what was known: there is no way from it to
    later facts.

    Example:
        A policy that charges whenever the present price is at most that of the
        hours that it knows, and otherwise waits:

        >>> def patient(view):
        ...     lowest = min(price for _, _, price in view.prices.slots)
        ...     return view.power_max_kw if view.price_at(view.now) <= lowest else 0.0
    """

    __slots__ = ("_forecasts",)

    def __init__(self, native: _engine.View, forecasts: Sequence[Forecast]) -> None:
        """Add forecasts to a view of the engine; :func:`simulate` makes them."""
        self._forecasts = tuple(each for each in forecasts if each.known_at <= native.now)

    @property
    def prices(self) -> Prices:
        """Known prices from now to the end of the horizon: settled, published, forecast."""
        return Prices._wrap(self._known)

    @property
    def history(self) -> Prices:
        """Settled prices of the four weeks before now."""
        return Prices._wrap(self._past)

    @property
    def forecasts(self) -> tuple[Forecast, ...]:
        """The forecasts that are known now, in the order in which they became known."""
        return self._forecasts

    def price_at(self, at: datetime) -> float:
        """Tell a price, per kWh.

        Raises:
            LookAheadError: Nobody knows it now: it is not settled, not published,
                not forecast, or beyond the horizon.
            TypeError: ``at`` has no zone.
        """
        return super().price_at(at)

    def read(self, forecast: Forecast, *, level: float = 0.5) -> Prices:
        """Read a forecast, as :meth:`Forecast.read` does now.

        Raises:
            LookAheadError: It is not known yet.
            InputError: It has no such quantile.
        """
        return forecast.read(at=self.now, level=level)

    def price_tree(self) -> PriceTree:
        """Known prices as a tree: quantiles of the latest forecast are its branches.

        Prices are certain up to the end of the latest publication, or of the present slot. Each
        quantile of the latest forecast follows with the probability of the levels that are
        nearest to its own: 0.3, 0.4 and 0.3 for the levels 0.1, 0.5 and 0.9, which is Swanson's
        rule (Hurst, Brown and Swanson, AAPG Bulletin 84, 2000). Without such a forecast all
        known prices are certain. The tree ends with the horizon or the departure, whichever is
        first.

        Example:
            A policy that plans anew against scenarios, for a fleet whose missing energy costs
            1 per kWh:

            >>> from datetime import timedelta
            >>> import slackwater as sw
            >>> def plan_scenarios(view):
            ...     policy = sw.plan_policy(
            ...         view.price_tree(),
            ...         now=view.now,
            ...         power_max_kw=view.power_max_kw,
            ...         energy_kwh=view.missing_kwh,
            ...         shortfall_price_per_kwh=1,
            ...     )
            ...     energy_kwh = policy.decide(at=view.now, wanted_kwh=view.missing_kwh).energy_kwh
            ...     end = view.now + timedelta(hours=energy_kwh / view.power_max_kw)
            ...     return [(view.now, end, view.power_max_kw)] if end > view.now else None
        """
        forecasts = [each._with_quantiles() for each in self._forecasts]
        certain, branches = self._price_tree(forecasts)
        then = [(probability, Prices._wrap(prices)) for probability, prices in branches]
        return PriceTree(Prices._wrap(certain), then=then)

    def __repr__(self) -> str:
        """Tell the stay, the present, what is missing, the departure, and known prices."""
        return (
            f"View(stay {self.stay} at {_instant(self.now)}, {self.missing_kwh:.6g} kWh missing, "
            f"leaves {_instant(self.departure)}, up to {self.power_max_kw:g} kW, "
            f"{_known(self.prices)})"
        )


@dataclass(frozen=True, kw_only=True)
class Replan(Record):
    """The built-in planner: the cheapest plan on what is known, made anew at every decision.

    A need is bought before the departure or the end of the known prices, whichever
    is first: no plan relies on a price that nobody knows. Vehicles are simulated
    in parallel.

    Attributes:
        budget: Money that each stay may cost beyond the cheapest plans, to keep
            its plans close to each other, as :meth:`Plan.close_to` does; ``None``
            takes the cheapest plan every time.
    """

    budget: float | None = None


class _HomeStayFields(NamedTuple):
    row: int
    arrival: datetime
    departure: datetime
    missing_kwh: float
    power_max_kw: float


class HomeStay(_HomeStayFields, Record):
    """A vehicle of a home that needs energy, as a policy sees it.

    Attributes:
        row: Row of its stay in the table.
        arrival: When it was plugged in.
        departure: When it leaves.
        missing_kwh: Energy at the plug that it still needs.
        power_max_kw: Highest power at the plug.
    """

    __slots__ = ()


class HomeView(_engine.HomeView):
    """Everything that is known of one home at one instant, for a policy to decide on.

    It is put together from copies of what was known: there is no way from it to
    later facts.

    Example:
        A policy that stores what the sun leaves over and covers the load from it, as
        batteries do that know no prices:

        >>> def self_consume(view):
        ...     _, _, net_kw = view.net_load[0]
        ...     return -net_kw
    """

    __slots__ = ()

    @property
    def stays(self) -> list[HomeStay]:
        """Vehicles that are plugged in and still need energy, in the order of the table.

        A vehicle is listed from its arrival until it has what it needs or leaves. While the
        regret is split, a policy that is told the future also sees vehicles that arrive before
        ``horizon_end``: their ``arrival`` is after ``now``.
        """
        return [HomeStay(*stay) for stay in self._stays]

    @property
    def prices(self) -> Prices:
        """Known prices to buy from now to ``horizon_end``: settled, published, forecast."""
        return Prices._wrap(self._known)

    @property
    def export_prices(self) -> Prices | None:
        """Known prices to sell from now to ``horizon_end``; ``None`` if nothing is paid for."""
        return None if self._known_export is None else Prices._wrap(self._known_export)

    @property
    def history(self) -> Prices:
        """Settled prices to buy of the four weeks before now."""
        return Prices._wrap(self._past)

    def price_at(self, at: datetime) -> float:
        """Tell a price to buy, per kWh.

        Raises:
            LookAheadError: Nobody knows it now: it is not settled, not published,
                not forecast, or beyond the horizon.
            TypeError: ``at`` has no zone.
        """
        return super().price_at(at)

    def __repr__(self) -> str:
        """Tell the battery, the present, its state of charge, vehicles, and known prices."""
        stays = len(self.stays)
        waiting = f"{_view.counted(stays, 'vehicle')} to charge, " if stays else ""
        return (
            f"HomeView(battery {self.battery} at {_instant(self.now)}, {self.stored_kwh:.6g} kWh "
            f"({self.soc_percent:.3g} %), up to {self.power_max_kw:g} kW and "
            f"-{self.discharge_max_kw:g} kW, {waiting}{_known(self.prices)})"
        )


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}Z"


def _known(prices: Prices) -> str:
    """Words about the end of known prices."""
    slots = prices.slots
    return f"prices known to {_instant(slots[-1].end)}" if slots else "no prices known"


Command: TypeAlias = (
    float | Plan | StoragePlan | Iterable[Interval | tuple[datetime, datetime, float]] | None
)
"""Answer of a policy: a power in kW until the next decision, a plan, or periods
``(start, end, power_kw)``. ``None`` is off, and so is time without a period."""

Policy: TypeAlias = Replan | Callable[[View], Command]
"""A rule that decides: :class:`Replan`, or any function of a :class:`View`."""


NO_VEHICLES: Mapping[int, Command] = {}


class _HomeCommandFields(NamedTuple):
    battery: Command = None
    vehicles: Mapping[int, Command] = NO_VEHICLES


class HomeCommand(_HomeCommandFields, Record):
    """Answer of a policy for a home with vehicles.

    Attributes:
        battery: Command to the battery; a negative power discharges.
        vehicles: Commands to the vehicles of :attr:`HomeView.stays` by their ``row``. A
            vehicle without one is off.
    """

    __slots__ = ()


HomePolicy: TypeAlias = Replan | Callable[[HomeView], Command | HomeCommand]
"""A rule that decides for a battery: :class:`Replan`, or any function of a
:class:`HomeView`. A negative power discharges. While a vehicle needs energy, the function
answers a :class:`HomeCommand`."""


class _Costs(_engine.SimulationResult):
    """Tables and amounts of a simulation, the latter by name."""

    __slots__ = ("_totals", "currency")

    def __init__(self, native: _engine.SimulationResult, currency: str) -> None:
        """Add a currency to a result of the engine; the functions that simulate make it."""
        self._totals = {name: Decimal(amount) for name, amount in native._amounts}
        self.currency = currency

    @property
    def cost(self) -> Decimal:
        """Realised cost: energy at settled prices, starts, missing energy at its price."""
        return self._totals["cost"]

    @property
    def shortfall_cost(self) -> Decimal:
        """Part of the cost that is for energy missing at departures, or in batteries at the end."""
        return self._totals["shortfall_cost"]

    @property
    def hindsight_cost(self) -> Decimal:
        """Least cost of devices without losses that knew everything from the start."""
        return self._totals["hindsight_cost"]

    @property
    def baseline_cost(self) -> Decimal:
        """Cost of the baseline: full power from every arrival, batteries at rest."""
        return self._totals["baseline_cost"]

    @property
    def carbon_kg(self) -> float | None:
        """Realised emissions of the energy from the grid, in kg; ``None`` without ``carbon=``."""
        kg = self._totals.get("carbon_kg")
        return None if kg is None else float(kg)

    @property
    def baseline_carbon_kg(self) -> float | None:
        """Emissions of the baseline in kg, as :attr:`carbon_kg`."""
        kg = self._totals.get("baseline_carbon_kg")
        return None if kg is None else float(kg)

    @property
    def carbon_cost(self) -> Decimal | None:
        """The part of the cost that is the price of emissions, as :attr:`carbon_kg`."""
        return self._totals.get("carbon_cost")

    @property
    def regret(self) -> Decimal:
        """Realised cost less the hindsight optimum."""
        return self._totals["regret"]

    @property
    def regret_parts(self) -> dict[str, Decimal]:
        """Parts of the regret by name, which add up to it exactly; empty if it was not split.

        Each is the cost that one more relaxed condition saves, in this order:

        - ``forecast``: every settled price is known from the start;
        - ``horizon``: and the horizon has no end;
        - ``switching``: and starts are free, and plans need not stay close;
        - ``power_min``: and there is no least power;
        - ``power_step``: and any power up to the highest is possible;
        - ``efficiency``: and charging has no losses;
        - ``policy``: what is left up to the hindsight optimum; 0 for :class:`Replan`.
        """
        names = [name for name in self._totals if name.startswith("regret_")]
        return {name.removeprefix("regret_"): self._totals[name] for name in names}

    def _own(self) -> tuple[object, ...]:
        """Arguments of the class after the result of the engine."""
        return (self.currency,)

    def _parts(self) -> tuple[object, ...]:
        """All that a result is made of."""
        return self.homes, self.steps, self._amounts, *self._own()

    def __eq__(self, other: object) -> bool:
        """Tell whether amounts, currency and tables are equal."""
        if not isinstance(other, _Costs) or type(other) is not type(self):
            return NotImplemented
        return self._parts() == other._parts()

    def __hash__(self) -> int:
        """Hash what is quick to read."""
        return hash((self.cost, self.currency))

    def __reduce__(self) -> tuple[object, ...]:
        """Make it anew when it is unpickled."""
        return _make_costs, (type(self), *self._parts())

    def _headline(self, count: int, thing: str) -> str:
        """Tell cost, baseline and regret in one line."""
        return (
            f"{type(self).__name__}({_view.counted(count, thing)} for {self.cost:.4f} "
            f"{self.currency}, hindsight {self.hindsight_cost:.4f}, baseline "
            f"{self.baseline_cost:.4f}, regret {self.regret:.4f})"
        )


def _make_costs(
    kind: Callable[..., _Costs],
    homes: SimulationTable,
    steps: SimulationTable | None,
    amounts: list[tuple[str, str]],
    *own: object,
) -> _Costs:
    """Make a result of its parts, for pickle."""
    return kind(_engine.SimulationResult._of_tables(homes, steps, amounts), *own)


class Simulation(_Costs):
    """Result of a simulation: realised cost, hindsight optimum, regret, tables.

    It compares by value, and can be copied and pickled.
    Amounts are decimals with twelve places and add up to the last digit:
    ``regret == cost - hindsight_cost == sum(regret_parts.values())``.
    """

    __slots__ = ("_stays",)

    def __init__(
        self, native: _engine.SimulationResult, stays: SimulationTable, currency: str
    ) -> None:
        """Add a table of stays and a currency to a result of the engine."""
        super().__init__(native, currency)
        self._stays = stays

    def _own(self) -> tuple[object, ...]:
        return self._stays, self.currency

    @property
    def stays(self) -> SimulationTable:
        """One row a stay, in the order they were given."""
        return self._stays

    def __repr__(self) -> str:
        """Tell cost, baseline and regret in one line."""
        return self._headline(len(self.stays), "stay")


class HomeSimulation(_Costs):
    """Result of a simulation of homes with batteries: costs, hindsight optimum, regret, tables.

    The hindsight optimum is that of devices without losses that knew all from the start,
    the baseline that of batteries that rest and vehicles that charge at full power from their
    arrival. A result compares by value, and can be copied and pickled. Amounts are decimals with
    twelve places and add up to the last digit:
    ``regret == cost - hindsight_cost == sum(regret_parts.values())``.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """Tell cost, baseline and regret in one line."""
        return self._headline(len(self.homes), "home")


def simulate(
    policy: Policy,
    stays: ArrowTable,
    prices: Prices,
    forecasts: Iterable[Forecast] = (),
    *,
    step: timedelta = QUARTER,
    horizon: timedelta | None = None,
    shortfall_price_per_kwh: float | None = None,
    regret: bool = True,
    steps: bool = True,
    progress: bool | Callable[[float], object] = False,
    carbon: Carbon | None = None,
) -> Simulation:
    """Run a policy in a receding horizon and settle it at the facts.

    At every multiple of ``step``, at every arrival, at every start of a settled price
    and whenever a forecast becomes known the policy sees what is known by then, and
    nothing else. Until the next decision the device does what it can, minute by minute:
    it draws the next power that it can hold, until nothing is missing. That costs what
    the settled prices say. Decisions of one instant are independent: stays share no limit.

    Args:
        policy: :class:`Replan`, or a function of a :class:`View`. A function is called
            in the order of time and then of the stays.
        stays: Anything with ``__arrow_c_stream__``, one row a stay: the columns of
            :func:`plan_batch` without ``reserve_*``, ``targets`` and ``price_id``, and

            ================= =====================================================
            column            meaning
            ================= =====================================================
            ``home``          name or number of the home; by default ``id``
            ``power_min_kw``  least power while charging
            ``power_step_kw`` the device draws whole multiples of it
            ``start_cost``    cost of each start
            ================= =====================================================

            The departure is known from the arrival on.
        prices: Settled prices, which are paid. They cover every stay.
        forecasts: What was known when, from :func:`publish_day_ahead`,
            :func:`issue_forecasts` or elsewhere. Without any, only the price of the
            present slot is known.
        step: Time from one decision to the next.
        horizon: How far ahead the policy sees; ``None`` for all that is known.
        shortfall_price_per_kwh: Price of a kWh that is missing at a departure; by
            default the highest settled price.
        regret: Whether to split the regret. That runs the policy up to six times more,
            under conditions that are relaxed one after the other.
        steps: Whether to keep a row for each decision.
        progress: Whether to draw a bar on the standard error output, or a function that
            is called with the share that is done.
        carbon: As in :func:`slackwater.plan_charge`. The price of emissions is part of all
            prices, those of forecasts and of views too: its intensity counts as known. With
            it the result and its tables have ``carbon_kg`` and ``baseline_carbon_kg``, its
            steps ``carbon_kg``.

    Returns:
        Costs, regret and tables.

    Raises:
        InputError: A row makes no sense, the prices do not cover a stay or are only
            estimates, ``step``, ``horizon`` or ``budget`` is out of range, currencies differ, or
            the carbon intensity is missing at a time that has a price, also in a forecast.
        LookAheadError: The policy used something before it was known.
        TypeError: The policy answers something that is no command.

    Example:
        Two hours are published as 0.20 and 0.30; for the third hour 0.10 is forecast,
        but it turns out at 0.50:

        >>> import pyarrow as pa
        >>> import slackwater as sw
        >>> from datetime import UTC, datetime, timedelta
        >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
        >>> settled = sw.Prices.from_values(six, [0.20, 0.30, 0.50, 0.30], currency="EUR")
        >>> expected = sw.Prices.from_values(six, [0.20, 0.30, 0.10, 0.30], currency="EUR")
        >>> stays = pa.table({
        ...     "id": ["van"],
        ...     "arrival": [six],
        ...     "departure": [six + 4 * hour],
        ...     "energy_kwh": [5.0],
        ...     "power_max_kw": [10.0],
        ... })
        >>> forecast = sw.Forecast(expected, known_at=six)
        >>> result = sw.simulate(sw.Replan(), stays, settled, [forecast])
        >>> result
        Simulation(1 stay for 1.5000 EUR, hindsight 1.0000, baseline 1.0000, \
regret 0.5000)
        >>> {name: float(part) for name, part in result.regret_parts.items() if part}
        {'forecast': 0.5}
    """
    if isinstance(policy, type):
        raise TypeError(f"policy is the class {policy.__name__}; give {policy.__name__}()")
    refuse_estimates(prices, "prices")
    emissions = None if carbon is None else emission_price(carbon)
    prices = priced(prices, carbon)
    known = _in_order(forecasts, "forecasts", prices, emissions)
    native, of_stays = _engine.simulate(
        None if isinstance(policy, Replan) else _decider(policy, known),
        stays,
        prices._native,
        [forecast._native for forecast in known],
        settings=Settings(
            budget=policy.budget if isinstance(policy, Replan) else None,
            step=step,
            horizon=horizon,
            shortfall_price_per_kwh=shortfall_price_per_kwh,
            splits_regret=regret,
            keeps_steps=steps,
        ),
        progress=_draw_bar if progress is True else progress or None,
    )
    return Simulation(native, of_stays, prices.currency)


def simulate_homes(
    policy: HomePolicy,
    batteries: ArrowTable,
    prices: Prices,
    forecasts: Iterable[Forecast] = (),
    *,
    power: ArrowTable | None = None,
    power_forecast: SeasonalNaive | Persistence | ArrowTable | None = None,
    stays: ArrowTable | None = None,
    export_prices: Prices | None = None,
    export_forecasts: Iterable[Forecast] = (),
    start: datetime | None = None,
    end: datetime | None = None,
    step: timedelta = QUARTER,
    horizon: timedelta | None = None,
    shortfall_price_per_kwh: float | None = None,
    regret: bool = True,
    steps: bool = True,
    progress: bool | Callable[[float], object] = False,
    carbon: Carbon | None = None,
) -> HomeSimulation:
    """Run a policy for homes with a stationary battery in a receding horizon, as :func:`simulate`.

    At every multiple of ``step``, at every start of a settled price and whenever a forecast of
    prices becomes known the policy sees what is known by then, and nothing else, and commands
    the battery. Load, solar power, battery and vehicles meet at the meter of the home: what it
    draws costs the settled price, what it feeds in earns the export price. A battery that becomes
    full or empty within a minute takes or gives in that minute what it can. Homes are
    independent, and are simulated in parallel.

    A plan of :class:`Replan` reaches to the end of the known prices, and the battery holds its
    ``target_percent`` there, as far as it can. While a vehicle needs energy, both are planned
    together, as :func:`plan_site` does. A home with a vehicle takes much longer than one without.

    Args:
        policy: :class:`Replan` without a budget, or a function of a :class:`HomeView`. A function
            is called in the order of time and then of the batteries.
        batteries: Anything with ``__arrow_c_stream__``, one row a home:

            ======================== ============================================ ==========
            column                   meaning                                      default
            ======================== ============================================ ==========
            ``home``                 name or number of the home                   required
            ``capacity_kwh``         usable capacity                              required
            ``soc_percent``          state of charge at the start                 required
            ``power_max_kw``         highest charging power                       required
            ``discharge_max_kw``     highest discharging power                    required
            ``soc_min_percent``      below it nothing is discharged               0
            ``charge_limit_percent`` where charging ends                          100
            ``target_percent``       wanted at the end of plans and of the        that at the
                                     simulation                                   start
            ``efficiency``           stored per plug energy                       1
            ``discharge_efficiency`` plug energy per stored                       1
            ``wear_price_per_kwh``   per stored kWh that is discharged            0
            ======================== ============================================ ==========
        prices: Settled prices to buy. They cover the simulation.
        forecasts: What was known of them when. Without any, only the price of the present
            slot is known.
        power: Facts of the homes, one row a slot of whole minutes: ``home``, ``start``, ``end``,
            ``load_kw``, ``solar_kw``. Without ``end`` all slots of a home have one length;
            one of the two powers may be left out. Rows before ``start`` are history.
        power_forecast: What was known of them: a rule on what was measured, or a table as
            ``power`` with a column ``known_at``, of which a later forecast wins over an
            earlier one. Required with ``power``.
        stays: Vehicles of the homes, one row a stay: the table of :func:`simulate` with the column
            ``home``. A vehicle is known from its arrival on, and by :class:`Replan` has what
            it needs by its departure or by the end of the known prices, if that is earlier.
            A function answers a :class:`HomeCommand` while a vehicle needs energy. Plans keep
            ``power_min_kw``; of ``power_step_kw`` a vehicle draws the next step above its plan,
            which is then made anew. Each stay lies within the simulation, at a home with a
            battery. ``start_cost`` is refused: the planner of homes counts no starts.
        export_prices: Settled prices to sell, at most those to buy. Without them a kWh that
            is fed in earns nothing, and costs where the price to buy is negative as much as
            one from the grid is paid for.
        export_forecasts: What was known of them when; an unknown one is taken for 0.
        start: Start of the simulation; by default that of ``power``, or of ``prices``.
        end: Its end, likewise.
        step: Time from one decision to the next.
        horizon: How far ahead the policy sees; ``None`` for all that is known.
        shortfall_price_per_kwh: Price of a kWh that a battery lacks to its target at the
            end, or a vehicle at its departure; by default the highest settled price.
        regret: Whether to split the regret, into the parts ``forecast`` (of prices, load, solar
            power and arrivals), ``horizon``, ``power_min``, ``power_step``, ``efficiency`` and
            ``policy``; ``switching`` is 0. That runs the policy up to five times more.
        steps: Whether to keep a row for each decision.
        progress: Whether to draw a bar on the standard error output, or a function that
            is called with the share that is done.
        carbon: As in :func:`simulate`, of the prices to buy: emissions are those of energy from
            the grid at the meter, and what is fed in has none.

    Returns:
        Costs, regret and tables.

    Raises:
        InputError: A row makes no sense, facts do not cover the simulation, prices are only
            estimates, an export price is above the price to buy, ``step`` or ``horizon`` is out
            of range, currencies differ, or the carbon intensity is missing at a time that has a
            price to buy, also in a forecast.
        LookAheadError: The policy used something before it was known.
        TypeError: The policy answers something that is no command.

    Example:
        At noon the sun leaves 2 kWh over, which would earn 0.05 each. In the evening the home
        draws 2 kWh at 0.40. The battery keeps the one for the other, for 0.10 in all:

        >>> import pyarrow as pa
        >>> import slackwater as sw
        >>> from datetime import UTC, datetime, timedelta
        >>> noon, hour = datetime(2026, 6, 5, 12, tzinfo=UTC), timedelta(hours=1)
        >>> prices = sw.Prices.from_values(noon, [0.30, 0.40], currency="EUR")
        >>> export = sw.Prices.from_values(noon, [0.05, 0.05], currency="EUR")
        >>> batteries = pa.table({
        ...     "home": ["a"],
        ...     "capacity_kwh": [5.0],
        ...     "soc_percent": [0.0],
        ...     "power_max_kw": [3.0],
        ...     "discharge_max_kw": [3.0],
        ... })
        >>> power = pa.table({
        ...     "home": ["a", "a"],
        ...     "start": [noon, noon + hour],
        ...     "load_kw": [0.0, 2.0],
        ...     "solar_kw": [2.0, 0.0],
        ... })
        >>> expected = power.append_column("known_at", [[noon, noon]])
        >>> result = sw.simulate_homes(
        ...     sw.Replan(),
        ...     batteries,
        ...     prices,
        ...     [sw.Forecast(prices, known_at=noon)],
        ...     power=power,
        ...     power_forecast=expected,
        ...     export_prices=export,
        ...     export_forecasts=[sw.Forecast(export, known_at=noon)],
        ... )
        >>> result
        HomeSimulation(1 home for 0.0000 EUR, hindsight 0.0000, baseline 0.7000, \
regret 0.0000)
    """
    if isinstance(policy, type):
        raise TypeError(f"policy is the class {policy.__name__}; give {policy.__name__}()")
    if isinstance(policy, Replan) and policy.budget is not None:
        message = f"budget is {policy.budget}; plans of batteries have none, give Replan()"
        raise InputError(message)
    if export_prices is not None and export_prices.currency != prices.currency:
        message = f"export_prices are in {export_prices.currency}, prices in {prices.currency}"
        raise InputError(message)
    refuse_estimates(prices, "prices")
    if export_prices is not None:
        refuse_estimates(export_prices, "export_prices")
    emissions = None if carbon is None else emission_price(carbon)
    prices = priced(prices, carbon)
    bought = _in_order(forecasts, "forecasts", prices, emissions)
    native = _engine.simulate_homes(
        None if isinstance(policy, Replan) else _home_decider(policy),
        batteries,
        _Tariff(
            prices=prices._native,
            forecasts=[each._native for each in bought],
            export_prices=None if export_prices is None else export_prices._native,
            export_forecasts=[
                each._native for each in _in_order(export_forecasts, "export_forecasts", prices)
            ],
        ),
        _HomeFacts(
            stays=stays,
            power=power,
            power_forecast=_power_forecast(power_forecast),
            start=start,
            end=end,
        ),
        settings=Settings(
            step=step,
            horizon=horizon,
            shortfall_price_per_kwh=shortfall_price_per_kwh,
            splits_regret=regret,
            keeps_steps=steps,
        ),
        progress=_draw_bar if progress is True else progress or None,
    )
    return HomeSimulation(native, prices.currency)


@dataclass(frozen=True, kw_only=True)
class _Tariff:
    """Prices each way and their forecasts, as the native part reads them."""

    prices: _engine.Prices
    forecasts: list[_engine.Forecast]
    export_prices: _engine.Prices | None
    export_forecasts: list[_engine.Forecast]


@dataclass(frozen=True, kw_only=True)
class _HomeFacts:
    """Load, solar power and vehicles of homes, as the native part reads them."""

    stays: ArrowTable | None
    power: ArrowTable | None
    power_forecast: tuple[int | None, str] | ArrowTable | None
    start: datetime | None
    end: datetime | None


def _power_forecast(
    given: SeasonalNaive | Persistence | ArrowTable | None,
) -> tuple[int | None, str] | ArrowTable | None:
    """A rule as days and zone; a table as it is."""
    if isinstance(given, SeasonalNaive):
        return given.days, given.time_zone
    if isinstance(given, Persistence):
        return None, "UTC"
    return given


def _in_order(
    forecasts: Iterable[Forecast],
    name: str,
    prices: Prices,
    emissions: _engine.EmissionPrice | None = None,
) -> list[Forecast]:
    """Forecasts in the order in which they became known, in the currency of the prices.

    With ``emissions`` their price is added to each forecast.
    """
    known = sorted(forecasts, key=lambda each: each.known_at)
    for forecast in known:
        if forecast.currency != prices.currency:
            message = f"{name} are in {forecast.currency}, prices in {prices.currency}"
            raise InputError(message)
    return known if emissions is None else [each._plus_emissions(emissions) for each in known]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a simulation, as the native part reads them."""

    budget: float | None = None
    step: timedelta = QUARTER
    horizon: timedelta | None = None
    shortfall_price_per_kwh: float | None = None
    splits_regret: bool = True
    keeps_steps: bool = True


def _decider(
    policy: Callable[[View], Command], forecasts: Sequence[Forecast]
) -> Callable[[_engine.View], list[tuple[datetime, datetime, float]]]:
    """A policy as the native part calls it."""

    def decide(native: _engine.View) -> list[tuple[datetime, datetime, float]]:
        return _periods(policy(View(native, forecasts)), native, may_discharge=False)

    return decide


_Periods: TypeAlias = list[tuple[datetime, datetime, float]]


def _home_decider(
    policy: Callable[[HomeView], Command | HomeCommand],
) -> Callable[[_engine.HomeView], tuple[_Periods, list[tuple[int, _Periods]]]]:
    """A policy for batteries and vehicles as the native part calls it."""

    def decide(native: _engine.HomeView) -> tuple[_Periods, list[tuple[int, _Periods]]]:
        view = HomeView(native)
        answer = policy(view)
        if not isinstance(answer, HomeCommand):
            if view.stays:
                raise TypeError(
                    f"the policy answers {answer!r} for a home with vehicles; answer "
                    "HomeCommand(battery=..., vehicles={stay.row: ...})"
                )
            answer = HomeCommand(answer)
        vehicles = [
            (row, _periods(command, native, may_discharge=False))
            for row, command in answer.vehicles.items()
        ]
        return _periods(answer.battery, native, may_discharge=True), vehicles

    return decide


def _periods(
    command: Command | str | bytes, view: _engine.View | _engine.HomeView, *, may_discharge: bool
) -> list[tuple[datetime, datetime, float]]:
    """A command as periods with their power in kW."""
    if command is None:
        return []
    if isinstance(command, Plan | StoragePlan):
        command = command.intervals
    if isinstance(command, str | bytes):
        raise _no_command(command)
    if isinstance(command, Iterable):
        periods = [_period(period) for period in command]
        for period in () if may_discharge else periods:
            _refuse_discharging(*period[2:3])
        return periods
    if isinstance(command, bool):
        raise _no_command(command)
    try:
        power_kw = float(command)
    except (TypeError, ValueError):
        raise _no_command(command) from None
    if not may_discharge:
        _refuse_discharging(power_kw)
    return [(view.now, view.until, power_kw)]


def _period(
    period: Interval | tuple[datetime, datetime, float],
) -> tuple[datetime, datetime, float]:
    """A period as a tuple; the native part checks what it holds."""
    if isinstance(period, Interval):
        return period.start, period.end, period.power_kw
    if not isinstance(period, tuple):
        raise _no_command(period)
    return period


def _refuse_discharging(power_kw: object = None) -> None:
    """Refuse a negative power for a vehicle; the native part refuses what is no number."""
    if isinstance(power_kw, Real) and power_kw < 0:
        message = f"the policy answers {float(power_kw):g} kW; a power is 0 kW or more"
        raise InputError(message)


def _no_command(answer: object) -> TypeError:
    """The answer of a policy is no command."""
    return TypeError(
        f"the policy answers {answer!r}; a power in kW, a plan or periods are commands"
    )


def _draw_bar(done: float) -> None:
    """Draw the share that is done on the standard error output."""
    filled = round(done * BAR_WIDTH)
    end = "\n" if done >= 1 else ""
    bar = "#" * filled + "." * (BAR_WIDTH - filled)
    sys.stderr.write(f"\r[{bar}] {done:4.0%}{end}")
    sys.stderr.flush()
