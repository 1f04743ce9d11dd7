"""
Native part of `slackwater`; use the package, not this module.
"""

from _typeshed import Incomplete, SupportsGetItem
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any, Final, SupportsFloat, SupportsIndex, final
from typing_extensions import disjoint_base

@final
class AreaChange:
    """
    Distance of a plan from the previous one.

    Energies are sums over vehicles and slots of what is more or less than before.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, cheapest_kwh: SupportsFloat | SupportsIndex, moved_kwh: SupportsFloat | SupportsIndex, spent: SupportsFloat | SupportsIndex, vehicles: SupportsIndex, unchanged: SupportsIndex) -> AreaChange: ...
    def __repr__(self, /) -> str: ...
    @property
    def cheapest_kwh(self, /) -> float:
        """
        Energy that the cheapest plan would have moved, in kWh.
        """
    @property
    def moved_kwh(self, /) -> float:
        """
        Energy that the plan moves, in kWh.
        """
    @property
    def spent(self, /) -> float:
        """
        Cost of the plan beyond the cheapest one, in units of the currency.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def unchanged(self, /) -> int:
        """
        Number of those of them whose plan is the same.
        """
    @property
    def vehicles(self, /) -> int:
        """
        Number of vehicles that had a plan before.
        """

@final
class AreaHeat:
    """
    Plan of a heat unit of an area.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, name: str, node: str, energy_kwh: SupportsFloat | SupportsIndex, cost: SupportsFloat | SupportsIndex, baseline_cost: SupportsFloat | SupportsIndex, baseline_below_celsius_hours: SupportsFloat | SupportsIndex, baseline_above_celsius_hours: SupportsFloat | SupportsIndex, intervals: SupportsGetItem[int, Interval], room: HeatOutcome, reasons: SupportsGetItem[int, AreaHeatReason]) -> AreaHeat: ...
    def __repr__(self, /) -> str: ...
    @property
    def baseline_above_celsius_hours(self, /) -> float:
        """
        Degree-hours of that thermostat above the band, in °C·h.
        """
    @property
    def baseline_below_celsius_hours(self, /) -> float:
        """
        Degree-hours of that thermostat below the band, in °C·h.
        """
    @property
    def baseline_cost(self, /) -> float:
        """
        Cost of a thermostat that holds the edge of the band, less the value of the heat that it
        leaves, without regard to limits.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the electricity less the value of the heat stored at the end, in units of the
        currency; a part of the cost of the area.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Electrical energy, in kWh.
        """
    @property
    def intervals(self, /) -> list[Interval]:
        """
        Periods of constant power, in time order.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the unit.
        """
    @property
    def node(self, /) -> str:
        """
        Name of its node.
        """
    @property
    def reasons(self, /) -> list[AreaHeatReason]:
        """
        Reason of each period in which the unit runs, in time order.
        """
    @property
    def room(self, /) -> HeatOutcome:
        """
        Temperatures, and the degree-hours outside the band.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class AreaHeatCertificate:
    """
    Own certificate of a heat unit of an area, at its price plus those of the limits.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, name: str, cost: SupportsFloat | SupportsIndex, bound: SupportsFloat | SupportsIndex, gap: SupportsFloat | SupportsIndex, holds: bool, failed: str) -> AreaHeatCertificate: ...
    def __repr__(self, /) -> str: ...
    @property
    def bound(self, /) -> float:
        """
        Lower bound on the cost of every plan with the same degree-hours.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of its plan at these prices, in units of the currency.
        """
    @property
    def failed(self, /) -> str:
        """
        Names of the statements that do not hold, separated by commas; empty if all do.
        """
    @property
    def gap(self, /) -> float:
        """
        Cost less bound: what the unit could save at these prices by a plan of its own.
        """
    @property
    def holds(self, /) -> bool:
        """
        True if the plan keeps power and balance and all its statements hold.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the unit.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class AreaHeatInterval:
    """
    Period in which a heat unit of an area runs at one power.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, unit: str, node: str, start: datetime, end: datetime, power_kw: SupportsFloat | SupportsIndex) -> AreaHeatInterval: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> datetime:
        """
        First instant after the period, in UTC.
        """
    @property
    def node(self, /) -> str:
        """
        Name of its node.
        """
    @property
    def power_kw(self, /) -> float:
        """
        Electrical power throughout, in kW.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def unit(self, /) -> str:
        """
        Name of the unit.
        """

@final
class AreaHeatIntervals:
    """
    Sequence of `AreaHeatInterval` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> AreaHeatInterval: ...
    def __getnewargs__(self, /) -> tuple[list[AreaHeatInterval]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[AreaHeatInterval]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, AreaHeatInterval]) -> AreaHeatIntervals: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class AreaHeatReason:
    """
    Reason for which a heat unit of an area runs in a period.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, used_kwh: SupportsFloat | SupportsIndex, cost: SupportsFloat | SupportsIndex, code: str, node: str | None, deadline: datetime | None) -> AreaHeatReason: ...
    def __repr__(self, /) -> str: ...
    @property
    def code(self, /) -> str:
        """
        The reason: ``recover``, ``negative_price``, ``limit``, ``hold``, ``ahead`` or ``cheap``.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the energy, in units of the currency.
        """
    @property
    def deadline(self, /) -> datetime | None:
        """
        Instant at which the temperature is at the edge of the band, of heat that is stored until
        then, in UTC; ``None`` if it is kept for longer.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the period, in UTC.
        """
    @property
    def node(self, /) -> str | None:
        """
        Node whose limit fills the cheaper time, or leaves too little for the band; ``None`` if none
        does.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def used_kwh(self, /) -> float:
        """
        Electrical energy over the period, in kWh.
        """

@disjoint_base
class AreaNumbers:
    """
    Numbers of the plan of an area; see `slackwater.AreaPlan`.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, cost: SupportsFloat | SupportsIndex, bound: SupportsFloat | SupportsIndex, relative_gap: SupportsFloat | SupportsIndex, rounds: SupportsIndex, status: str, is_reproducible: bool, energy_kwh: SupportsFloat | SupportsIndex, discharged_kwh: SupportsFloat | SupportsIndex, late_reserves: SupportsGetItem[int, SupportsIndex], change: AreaChange | None, shortfall_kwh: SupportsFloat | SupportsIndex, shortfall_bound_kwh: SupportsFloat | SupportsIndex | None, vehicles: SupportsIndex, errors: SupportsIndex, currency: str, periods: SupportsGetItem[int, tuple[datetime, datetime]], heat: SupportsGetItem[int, AreaHeat], degree_hour_price: SupportsFloat | SupportsIndex, load_kw: SupportsGetItem[int, SupportsFloat | SupportsIndex], baseline_load_kw: SupportsGetItem[int, SupportsFloat | SupportsIndex], baseline_cost: SupportsFloat | SupportsIndex, price_only_load_kw: SupportsGetItem[int, SupportsFloat | SupportsIndex], price_only_cost: SupportsFloat | SupportsIndex, nodes: SupportsGetItem[int, NodeLoad], shadow_price_per_kwh: SupportsGetItem[int, tuple[str, SupportsGetItem[int, SupportsFloat | SupportsIndex]]], shortfalls: SupportsGetItem[int, Shortfall], unpriced_hours: SupportsFloat | SupportsIndex, energy_on_estimates_kwh: SupportsFloat | SupportsIndex, sold_on_estimates_kwh: SupportsFloat | SupportsIndex, forgone: SupportsGetItem[int, ForgoneEnergy], warm_start: tuple[SupportsGetItem[int, SupportsFloat | SupportsIndex], SupportsGetItem[int, SupportsGetItem[int, SupportsFloat | SupportsIndex]]]) -> AreaNumbers: ...
    def __repr__(self, /) -> str: ...
    @property
    def baseline_cost(self, /) -> float:
        """
        Cost of the baseline, soft limits included; also of energy withheld here.
        """
    @property
    def baseline_load_kw(self, /) -> list[float]:
        """
        Baseline: the load if all vehicles charge at full power from arrival and heat units are run
        by thermostats, in kW.
        """
    @property
    def bound(self, /) -> float:
        """
        Lower bound: no plan that serves the same needs, with the same degree-hours outside the
        bands of heat units, costs less.
        """
    @property
    def change(self, /) -> AreaChange | None:
        """
        Distance from the previous plan; ``None`` if it was not requested.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the energy and of soft limits, in units of the currency.
        """
    @property
    def currency(self, /) -> str:
        """
        Currency of all costs and prices.
        """
    @property
    def degree_hour_price(self, /) -> float:
        """
        Price of a degree-hour outside the band of a heat unit of priority 1, in units of the
        currency per °C·h; 0 without heat units. By it comfort comes before money. Energy that a
        vehicle misses has a higher one.
        """
    @property
    def discharged_kwh(self, /) -> float:
        """
        Energy that vehicles discharge, in kWh at the plug, as a positive number.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy that vehicles charge, in kWh at the plug.
        """
    @property
    def energy_on_estimates_kwh(self, /) -> float:
        """
        Energy bought at prices that are only estimated, in kWh.
        """
    @property
    def errors(self, /) -> int:
        """
        Invalid rows; their ``error`` column gives the reason.
        """
    @property
    def forgone(self, /) -> list[ForgoneEnergy]:
        """
        Revenue that vehicles leave at negative prices, by row, of those that leave some.

        They want a need in kWh, have targets before departure, are on or off, or are not to be
        filled.
        """
    @property
    def forgone_kwh(self, /) -> float:
        """
        Energy at negative prices that vehicles do not buy, in kWh: the sum of
        :attr:`forgone`.
        """
    @property
    def forgone_revenue(self, /) -> float:
        """
        Money that :attr:`forgone_kwh` would earn, in units of the currency.
        """
    @property
    def heat(self, /) -> list[AreaHeat]:
        """
        Heat units in the order given, each with its temperatures, cost and reasons.
        """
    def heat_intervals(self, /) -> AreaHeatIntervals:
        """
        List the periods in which heat units run, as a table for any Arrow library.
        """
    @property
    def is_reproducible(self, /) -> bool:
        """
        Whether the same call gives the same bytes; not if it was stopped.
        """
    @property
    def late_reserves(self, /) -> list[int]:
        """
        Rows whose reserve is delayed by limits, compared with full power from arrival.
        """
    @property
    def load_kw(self, /) -> list[float]:
        """
        Mean power of all vehicles and heat units in each slot, in kW.
        """
    @property
    def nodes(self, /) -> list[NodeLoad]:
        """
        Load and prices of each node.
        """
    @property
    def periods(self, /) -> list[tuple[datetime, datetime]]:
        """
        Start and end of each slot, in UTC.
        """
    @property
    def price_only_cost(self, /) -> float:
        """
        Cost of :attr:`price_only_load_kw`, soft limits included.
        """
    @property
    def price_only_load_kw(self, /) -> list[float]:
        """
        Load if each vehicle charges in its own cheapest slots, and each heat unit has its own
        cheapest plan, in kW.
        """
    @property
    def relative_gap(self, /) -> float:
        """
        Cost minus bound, divided by the larger of bound and baseline cost.

        Where vehicles are on or off it is at least the part of the needs by
        which :attr:`shortfall_kwh` is above :attr:`shortfall_bound_kwh`.
        """
    @property
    def rounds(self, /) -> int:
        """
        Rounds of the last search; each prices all vehicles once.

        There may be several searches: on samples of a large fleet before the
        whole fleet, and again where limits withhold energy. ``progress`` is
        called in the rounds of each.
        """
    @property
    def savings(self, /) -> float:
        """
        Baseline cost minus cost; negative if limits cost more than planning saves.
        """
    @property
    def shadow_price_per_kwh(self, /) -> list[tuple[str, list[float]]]:
        """
        Node and price of one more kWh in each slot, a row for each limit.

        While limits leave needs unmet these values are no prices; see
        :attr:`NodeLoad.congestion_price_per_kwh`.
        """
    @property
    def shortfall_bound_kwh(self, /) -> float | None:
        """
        Lower bound on the unmet need in kWh, where vehicles are on or off.

        In a small area (up to 400 decisions, two a slot of each such vehicle,
        without batteries that discharge and without reserves) it is the bound
        of a mixed-integer search, exact where that search ends. In a larger
        area it is the unmet need if these vehicles could charge in parts of
        slots; with batteries that discharge only the energy that the stays
        are too short for. ``None`` where no vehicle is on or off, or the
        search was stopped.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Need that is not met in time, in kWh.

        Sum of (a) energy the stay is too short for and (b) energy withheld by
        limits, each at its worst deadline.
        """
    @property
    def shortfalls(self, /) -> list[Shortfall]:
        """
        Unmet energy by row; a vehicle can have several causes.
        """
    @property
    def sold_on_estimates_kwh(self, /) -> float:
        """
        Energy sold at prices that are only estimated, in kWh.
        """
    @property
    def status(self, /) -> str:
        """
        Why the rounds ended.

        ``optimal_within_gap`` (converged: no plan is cheaper by more than the
        requested gap), ``limit_reached`` (the allowed rounds are used),
        ``stopped`` (by the caller or Ctrl-C), ``stalled`` (no further
        improvement: the remaining gap is due to indivisible vehicle plans) or
        ``solver_failed`` (the solver failed in one of the searches: limits hold
        and the bound is proved, but a better plan may exist).
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def unpriced_hours(self, /) -> float:
        """
        Most hours of a stay without a price, which no plan uses.
        """
    @property
    def vehicles(self, /) -> int:
        """
        Vehicles that were planned; rows in error are not.
        """
    @property
    def warm_start(self, /) -> tuple[list[float], list[list[float]]]:
        """
        Prices to begin with when the area is planned again.
        """

@final
class AreaPart:
    """
    Vehicles of a part, ready to be asked. It answers the same whoever asks, and
    however often.
    """
    def __new__(cls, /, vehicles: Incomplete, paid: Incomplete, *, nodes: SupportsGetItem[int, Incomplete], place: str) -> AreaPart: ...
    def answer(self, /, question: str, own: str, change: str | None) -> Table:
        """
        Answer of the part to a question.
        """
    def plans(self, /, question: str, own: str, change: str | None) -> Table:
        """
        The plans of the rows of the part, with their rows among all vehicles.
        """

@final
class AreaScenarioComparison:
    """
    Expected costs of three ways to plan, missing energy at its price included.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, expected_cost: SupportsFloat | SupportsIndex, mean_price_cost: SupportsFloat | SupportsIndex, perfect_information_cost: SupportsFloat | SupportsIndex, value_of_stochastic_solution: SupportsFloat | SupportsIndex, value_of_perfect_information: SupportsFloat | SupportsIndex) -> AreaScenarioComparison: ...
    def __repr__(self, /) -> str: ...
    @property
    def expected_cost(self, /) -> float:
        """
        Cost of the plan with scenarios.
        """
    @property
    def mean_price_cost(self, /) -> float:
        """
        Cost of planning for mean prices and the mean limit until the scenario is known, and then
        for it.
        """
    @property
    def perfect_information_cost(self, /) -> float:
        """
        Cost if the scenario was known from the start.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def value_of_perfect_information(self, /) -> float:
        """
        Cost that knowing the scenario from the start would save.
        """
    @property
    def value_of_stochastic_solution(self, /) -> float:
        """
        Cost that scenarios save over mean prices (value of the stochastic solution).
        """

@final
class AreaScenarioEnergies:
    """
    Sequence of `AreaScenarioEnergy` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> AreaScenarioEnergy: ...
    def __getnewargs__(self, /) -> tuple[list[AreaScenarioEnergy]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[AreaScenarioEnergy]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, AreaScenarioEnergy]) -> AreaScenarioEnergies: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class AreaScenarioEnergy:
    """
    Energy of a vehicle in one scenario.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, id: str, scenario: SupportsIndex, before_kwh: SupportsFloat | SupportsIndex, later_kwh: SupportsFloat | SupportsIndex, shortfall_kwh: SupportsFloat | SupportsIndex) -> AreaScenarioEnergy: ...
    def __repr__(self, /) -> str: ...
    @property
    def before_kwh(self, /) -> float:
        """
        Energy before the scenario is known, in kWh at the plug; the same in all scenarios.
        """
    @property
    def id(self, /) -> str:
        """
        The ``id`` of the vehicle, as a text.
        """
    @property
    def later_kwh(self, /) -> float:
        """
        Energy after it, in kWh at the plug.
        """
    @property
    def scenario(self, /) -> int:
        """
        Number of the scenario, from 0.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Energy that is missing at departure, in kWh at the plug.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class AreaScenarioInterval:
    """
    Power of a vehicle over a slot, or over the part of it within its stay.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, id: str, scenario: SupportsIndex | None, start: datetime, end: datetime, power_kw: SupportsFloat | SupportsIndex) -> AreaScenarioInterval: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> datetime:
        """
        First instant after the interval, in UTC.
        """
    @property
    def id(self, /) -> str:
        """
        The ``id`` of the vehicle, as a text.
        """
    @property
    def power_kw(self, /) -> float:
        """
        Mean power, in kW at the plug.
        """
    @property
    def scenario(self, /) -> int | None:
        """
        Number of the scenario, from 0; `None` before the scenario is known.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class AreaScenarioIntervals:
    """
    Sequence of `AreaScenarioInterval` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> AreaScenarioInterval: ...
    def __getnewargs__(self, /) -> tuple[list[AreaScenarioInterval]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[AreaScenarioInterval]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, AreaScenarioInterval]) -> AreaScenarioIntervals: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class AreaScenarioOutcome:
    """
    Outcome of the plan in one scenario.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, probability: SupportsFloat | SupportsIndex, cost: SupportsFloat | SupportsIndex, shortfall_kwh: SupportsFloat | SupportsIndex, load_kw: SupportsGetItem[int, SupportsFloat | SupportsIndex], congestion_price_per_kwh: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> AreaScenarioOutcome: ...
    def __repr__(self, /) -> str: ...
    @property
    def congestion_price_per_kwh(self, /) -> list[float]:
        """
        Amount that the limit adds to the price of a kWh in each slot, in units of the currency; 0
        where it does not bind.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the energy, and of missing energy at its price, in units of the currency.
        """
    @property
    def load_kw(self, /) -> list[float]:
        """
        Mean power of all vehicles in each slot, in kW.
        """
    @property
    def probability(self, /) -> float:
        """
        Probability of the scenario, from 0 to 1.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Energy that is missing at the departures, in kWh at the plug.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@disjoint_base
class AreaScenarioPlan:
    """
    Plan of an area with scenarios; see `slackwater.AreaScenarioPlan`.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object:
        """
        Hand the intervals to an Arrow library.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, native: AreaScenarioPlan, *_rest: "object") -> AreaScenarioPlan:
        """
        Makes the class of Python, which takes arguments beside the plan.
        """
    @property
    def baseline_cost(self, /) -> float:
        """
        Expected cost of the energy if all vehicles charged at full power from arrival, without the
        limit.
        """
    @property
    def bound(self, /) -> float:
        """
        Lower bound: no plan has a lower expected cost.
        """
    def compare(self, /) -> AreaScenarioComparison: ...
    @property
    def currency(self, /) -> str:
        """
        Currency of all amounts.
        """
    @property
    def energies(self, /) -> AreaScenarioEnergies:
        """
        Energy of each planned vehicle in each scenario.
        """
    @property
    def errors(self, /) -> list[tuple[int, str]]:
        """
        Rows that are not planned, from 0, each with what is wrong with it.
        """
    @property
    def expected_cost(self, /) -> float:
        """
        Expected cost of the energy, and of missing energy at its price.
        """
    @property
    def expected_shortfall_kwh(self, /) -> float:
        """
        Expected energy that is missing at the departures, in kWh at the plug.
        """
    def explain(self, /, *, time_zone: str) -> AreaScenarioReasons: ...
    @property
    def intervals(self, /) -> AreaScenarioIntervals:
        """
        When each vehicle charges: first before the scenario is known, then in each scenario.

        An Arrow library reads the plan itself as this table.
        """
    @property
    def periods(self, /) -> list[tuple[datetime, datetime]]:
        """
        Start and end of each slot, in UTC.
        """
    @property
    def relative_gap(self, /) -> float:
        """
        Expected cost minus bound, divided by the larger of bound and baseline cost.
        """
    @property
    def rounds(self, /) -> int:
        """
        Rounds of the search; each prices all vehicles once.
        """
    @property
    def scenarios(self, /) -> list[AreaScenarioOutcome]:
        """
        Outcome of each scenario, in the order given.
        """
    @property
    def shared_slots(self, /) -> int:
        """
        Number of slots, from the first one, in which all scenarios share one plan.
        """
    @property
    def status(self, /) -> str:
        """
        Why the rounds ended: ``optimal_within_gap`` (no plan is cheaper by more than the requested
        gap), ``limit_reached`` (the allowed rounds are used), ``stalled`` (no further improvement) or
        ``solver_failed`` (the solver failed: limits hold and the bound is proved, but a better plan
        may exist).
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def unpriced_hours(self, /) -> float:
        """
        Most hours of a stay without a price.
        """
    @property
    def vehicles(self, /) -> int:
        """
        Vehicles that were planned; rows in error are not.
        """
    def verify(self, /) -> Verification: ...

@final
class AreaScenarioReason:
    """
    Decision for a vehicle before the scenario is known, and its reason.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, id: str, code: str, before_kwh: SupportsFloat | SupportsIndex, later_min_kwh: SupportsFloat | SupportsIndex, later_max_kwh: SupportsFloat | SupportsIndex, expected_shortfall_kwh: SupportsFloat | SupportsIndex, before_price_per_kwh: SupportsFloat | SupportsIndex | None, later_price_per_kwh: SupportsFloat | SupportsIndex, sentence: str) -> AreaScenarioReason: ...
    def __repr__(self, /) -> str: ...
    @property
    def before_kwh(self, /) -> float:
        """
        Energy before the scenario is known, in kWh at the plug.
        """
    @property
    def before_price_per_kwh(self, /) -> float | None:
        """
        Highest price of a kWh before the scenario is known, that of the limit included; `None` if
        nothing is charged then.
        """
    @property
    def code(self, /) -> str:
        """
        The reason: `before` (charges then, and not later), `split` (then and later), `wait`
        (later) or `nothing`.
        """
    @property
    def expected_shortfall_kwh(self, /) -> float:
        """
        Expected energy that is missing at departure, in kWh at the plug.
        """
    @property
    def id(self, /) -> str:
        """
        The ``id`` of the vehicle, as a text.
        """
    @property
    def later_max_kwh(self, /) -> float:
        """
        Most energy after it, over the scenarios, in kWh at the plug.
        """
    @property
    def later_min_kwh(self, /) -> float:
        """
        Least energy after it, over the scenarios, in kWh at the plug.
        """
    @property
    def later_price_per_kwh(self, /) -> float:
        """
        Expected price of one more kWh after it, that of the limit included; missing energy counts
        at its own price.
        """
    @property
    def sentence(self, /) -> str:
        """
        The reason as a sentence, with times on the wall clock that `explain` was asked for.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class AreaScenarioReasons:
    """
    Sequence of `AreaScenarioReason` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> AreaScenarioReason: ...
    def __getnewargs__(self, /) -> tuple[list[AreaScenarioReason]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[AreaScenarioReason]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, AreaScenarioReason]) -> AreaScenarioReasons: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class AreaVerification:
    """
    All statements of the plan of an area, computed anew.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, holds: bool, failed: SupportsGetItem[int, str], checks: SupportsGetItem[int, CertificateCheck], bound: SupportsFloat | SupportsIndex, limits_gap: SupportsFloat | SupportsIndex, vehicles: SupportsGetItem[int, VehicleCertificate], heat: SupportsGetItem[int, AreaHeatCertificate]) -> AreaVerification: ...
    def __repr__(self, /) -> str: ...
    @property
    def bound(self, /) -> float:
        """
        Lower bound on the cost that the vehicles and the shadow prices give.
        """
    @property
    def checks(self, /) -> list[CertificateCheck]:
        """
        One check per statement: nodes, shadow prices, vehicles, heat units, energies, cost, bound,
        gap.
        """
    @property
    def failed(self, /) -> list[str]:
        """
        Names of the statements that do not hold; empty if all do.
        """
    @property
    def heat(self, /) -> list[AreaHeatCertificate]:
        """
        Certificates of the heat units, in their order.
        """
    @property
    def holds(self, /) -> bool:
        """
        True if every statement holds.
        """
    @property
    def limits_gap(self, /) -> float:
        """
        Part of cost less bound that the limits cause. The gaps of the vehicles and heat units are
        the rest.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def vehicles(self, /) -> list[VehicleCertificate]:
        """
        Certificates of the vehicles, in the order of their rows, without rows in error.
        """
    def vehicles_table(self, /) -> VehicleCertificates:
        """
        List the certificates of the vehicles, as a table for any Arrow library.
        """

@final
class BidCurve:
    """
    Sequence of `BidStep` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> BidStep: ...
    def __getnewargs__(self, /) -> tuple[list[BidStep]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[BidStep]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, BidStep]) -> BidCurve: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class BidStep:
    """
    Step of a bid curve: energy that is bought at this price, or at a lower one.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, price_per_kwh: SupportsFloat | SupportsIndex, energy_kwh: SupportsFloat | SupportsIndex) -> BidStep: ...
    def __repr__(self, /) -> str: ...
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy until the end of the slot, that of the steps before included, in kWh at the plug.
        """
    @property
    def price_per_kwh(self, /) -> float:
        """
        Highest price at which the energy is bought, in units of the currency.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@disjoint_base
class Bill:
    """
    Bill of a load, month by month; see `slackwater.Bill`.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object:
        """
        Hand the lines to an Arrow library as a table.
        """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, tariff: BillingTariff, months: MonthBills, lines: BillLines, total: SupportsFloat | SupportsIndex, missing: SupportsGetItem[int, tuple[datetime, datetime]]) -> Bill: ...
    @property
    def currency(self, /) -> str:
        """
        Currency of all amounts.
        """
    @property
    def lines(self, /) -> BillLines:
        """
        All lines, month by month, each with its explanation.
        """
    @property
    def missing(self, /) -> list[tuple[datetime, datetime]]:
        """
        Periods ``(start, end)`` without readings, in UTC, in the months and in earlier ones whose
        powers count. No energy is billed for them, and no power is put in their place.
        """
    @property
    def months(self, /) -> MonthBills:
        """
        Total of each month, in time order.
        """
    @property
    def tariff(self, /) -> BillingTariff:
        """
        The tariff, with its sources.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def total(self, /) -> float:
        """
        Sum of the months to the cent, in units of the currency: the float nearest to the decimal.
        """

@final
class BillLine:
    """
    One line of a bill: quantity times rate times share, rounded.

    Numbers are computed as decimals; each field is the float nearest to its decimal.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, month: str, component: str, category: str, quantity: SupportsFloat | SupportsIndex, unit: str, rate: SupportsFloat | SupportsIndex, share: SupportsFloat | SupportsIndex, amount: SupportsFloat | SupportsIndex, explanation: str) -> BillLine: ...
    def __repr__(self, /) -> str: ...
    @property
    def amount(self, /) -> float:
        """
        Amount, in units of the currency; negative if it is paid to the customer.
        """
    @property
    def category(self, /) -> str:
        """
        Recipient of the amount: `energy` (the supplier), `network`, `tax` or `fee`.
        """
    @property
    def component(self, /) -> str:
        """
        Component of the tariff.
        """
    @property
    def explanation(self, /) -> str:
        """
        Origin of the quantity and of the rate, in a sentence.
        """
    @property
    def month(self, /) -> str:
        """
        Month as `2026-07`.
        """
    @property
    def quantity(self, /) -> float:
        """
        Quantity, in `unit`.
        """
    @property
    def rate(self, /) -> float:
        """
        Price of a unit; percent of a base.
        """
    @property
    def share(self, /) -> float:
        """
        Part of the price that falls in the month, such as 1/12; 1/100 for percent.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def unit(self, /) -> str:
        """
        Unit of the quantity: `kWh`, `kW`, `kVA`, `A`, `step`, `fee`, or the currency of a base.
        """

@final
class BillLines:
    """
    Sequence of `BillLine` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> BillLine: ...
    def __getnewargs__(self, /) -> tuple[list[BillLine]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[BillLine]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, BillLine]) -> BillLines: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class BillingTariff:
    """
    Tariff as it is billed: components, calendars, and the documents that state them. Cannot be
    changed; `tariffs.load_tariff` and `tariffs.read_tariff` make one.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs__(self, /) -> tuple[str]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, text: str) -> BillingTariff:
        """
        Reads the text of a JSON file.
        """
    def __repr__(self, /) -> str:
        """
        Tell name, dates, what is billed and the first source with its date, in one line.
        """
    @property
    def categories(self, /) -> list[str]:
        """
        Categories of the components: of ``energy``, ``network``, ``tax`` and ``fee``. What is not
        among them is not in a bill.
        """
    @property
    def components(self, /) -> list[TariffComponent]:
        """
        Components in the order of the lines of a bill.
        """
    @property
    def country(self, /) -> str:
        """
        Country by its ISO 3166 code.
        """
    @property
    def currency(self, /) -> str:
        """
        Currency of all amounts, by its ISO 4217 code.
        """
    @property
    def devices(self, /) -> list[str]:
        """
        Devices whose energy has a price of its own, in the order of the components.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the tariff.
        """
    @property
    def notes(self, /) -> str | None:
        """
        Remarks, such as what the sources leave out; ``None`` without any.
        """
    @property
    def operator(self, /) -> str:
        """
        Company that has the tariff.
        """
    @property
    def sources(self, /) -> list[TariffSource]:
        """
        Documents that state the numbers, with their addresses and dates.
        """
    @property
    def time_zone(self, /) -> str:
        """
        IANA name of the zone on whose clocks months, days and hours are.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return all fields of the file as a dictionary; numbers that enter amounts are texts.
        """
    def to_json(self, /) -> str:
        """
        Write the tariff as the text of a JSON file, which `tariffs.read_tariff` reads.
        """
    @property
    def valid_from(self, /) -> date:
        """
        First day.
        """
    @property
    def valid_to(self, /) -> date | None:
        """
        Day after the last for which the sources hold; ``None`` if they name none.
        """
    @property
    def vat(self, /) -> str:
        """
        Value-added tax: ``added`` by a component, ``included`` in the prices, ``excluded``, or
        ``not_stated`` by the sources.
        """

@final
class CapacityCertificate:
    """
    Cost of a plan, and bounds that no plan can undercut.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, cost: SupportsFloat | SupportsIndex, bound: SupportsFloat | SupportsIndex, gap: SupportsFloat | SupportsIndex, is_proved: bool, bound_by_values: SupportsFloat | SupportsIndex | None, bound_by_search: SupportsFloat | SupportsIndex, evaluations: SupportsIndex, stored_start_kwh: SupportsFloat | SupportsIndex, efficiency: SupportsFloat | SupportsIndex, discharge_efficiency: SupportsFloat | SupportsIndex, wear_price_per_kwh: SupportsFloat | SupportsIndex, end_value_per_kwh: SupportsFloat | SupportsIndex, months: SupportsGetItem[int, PowerCharge], groups: SupportsGetItem[int, PowerGroup], slots: SupportsGetItem[int, CapacitySlot]) -> CapacityCertificate: ...
    def __repr__(self, /) -> str: ...
    @property
    def bound(self, /) -> float:
        """
        Lower bound on the cost of every plan.
        """
    @property
    def bound_by_search(self, /) -> float:
        """
        Bound of the search over powers and steps.
        """
    @property
    def bound_by_values(self, /) -> float | None:
        """
        Bound by the values of the slots alone; `None` if a month has steps.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of energy and of the power above that of before, in units of the currency.
        """
    @property
    def discharge_efficiency(self, /) -> float:
        """
        Energy at the plug per stored energy when discharging.
        """
    @property
    def efficiency(self, /) -> float:
        """
        Stored energy per energy at the plug when charging.
        """
    @property
    def end_value_per_kwh(self, /) -> float:
        """
        Value of a kWh stored at the end, in units of the currency.
        """
    @property
    def evaluations(self, /) -> int:
        """
        Number of times that the battery was solved.
        """
    @property
    def gap(self, /) -> float:
        """
        Cost minus bound: the most that another plan can save; 0 up to rounding if proved.
        """
    @property
    def groups(self, /) -> list[PowerGroup]:
        """
        Groups of windows, by the position that slots state.
        """
    @property
    def is_proved(self, /) -> bool:
        """
        True if the gap is rounding: at most 1e-9 of the cost, or of 1 if that is less.
        """
    @property
    def months(self, /) -> list[PowerCharge]:
        """
        How the months of the plan price their power.
        """
    @property
    def slots(self, /) -> list[CapacitySlot]:
        """
        All slots, in time order.
        """
    @property
    def stored_start_kwh(self, /) -> float:
        """
        Stored energy at the start, in kWh.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    def verify(self, /) -> Verification:
        """
        Compute each statement anew from the numbers of the certificate alone.

        Energies are followed from slot to slot, powers are measured and charged, and the bound is
        a Lagrangian at the stated values. The bound of the search is taken as it is, which is all
        that a month with steps has.

        Returns:
            Each statement with the computed number and the difference. Nothing is raised for a
            statement that does not hold: look at ``failed``.

        Raises:
            InputError: A number of the certificate is NaN, infinite or beyond all measure.
        """
    @property
    def wear_price_per_kwh(self, /) -> float:
        """
        Wear per stored kWh that is discharged, in units of the currency.
        """

@final
class CapacityCost:
    """
    Cost of energy and power.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, total: SupportsFloat | SupportsIndex, energy: SupportsFloat | SupportsIndex, power: SupportsFloat | SupportsIndex, months: SupportsGetItem[int, MonthPower]) -> CapacityCost: ...
    def __repr__(self, /) -> str: ...
    @property
    def energy(self, /) -> float:
        """
        Energy through the meter, plus wear, less the value of energy stored at the end.
        """
    @property
    def months(self, /) -> list[MonthPower]:
        """
        Months with their powers.
        """
    @property
    def power(self, /) -> float:
        """
        Charge of the power above that of before.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def total(self, /) -> float:
        """
        Sum of both, in units of the currency.
        """

@disjoint_base
class CapacityPlan:
    """
    Plan of a battery with its request, tariff, prices and currency; see `slackwater.CapacityPlan`.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, native: CapacityPlan, *_rest: "object") -> CapacityPlan:
        """
        Makes the class of Python, which takes prices beside the plan.
        """
    @property
    def _export_prices(self, /) -> Prices | None: ...
    @property
    def _import_prices(self, /) -> Prices: ...
    @property
    def certificate(self, /) -> CapacityCertificate:
        """
        The proof: cost with its bound, and all slots.
        """
    @property
    def cost(self, /) -> CapacityCost:
        """
        Cost of energy and of the power above that of before.
        """
    @property
    def energy_alone(self, /) -> CapacityCost:
        """
        Cost of the plan that is cheapest in energy, without regard to power.
        """
    def explain(self, /, *, time_zone: str | None) -> CapacityReasons: ...
    @property
    def export_sources(self, /) -> list[SourceShare]:
        """
        Energy that the battery is discharged at the prices to sell of each source; empty without
        such prices.
        """
    @property
    def floor_shortfall_kwh(self, /) -> float:
        """
        Largest shortfall of the reserve or of the lowest state of charge of a period, in kWh of
        stored energy, at the end of a slot: the part that full power does not reach in time.
        """
    @property
    def intervals(self, /) -> Intervals:
        """
        Periods of charging (positive kW) and discharging (negative) at the plug, in UTC.
        """
    @property
    def now(self, /) -> datetime:
        """
        First instant that the plan could use, in UTC.
        """
    @property
    def reasons(self, /) -> CapacityReasons:
        """
        Reasons of the periods in which the battery runs, in time order, on the tariff's clocks.
        """
    @property
    def savings(self, /) -> float:
        """
        Cost of the plan that is cheapest in energy alone, minus that of this plan.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Largest shortfall of a target, in kWh of stored energy.
        """
    @property
    def slots(self, /) -> CapacitySlots:
        """
        All slots, in time order.
        """
    @property
    def sources(self, /) -> list[SourceShare]:
        """
        Energy that the battery is charged with at the prices of each source, in the order of the
        layers.

        Prices without layers are one known source, ``"prices"``.
        """
    @property
    def tariff(self, /) -> BillingTariff:
        """
        The tariff whose price of power counts.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class CapacityReason:
    """
    Why the battery runs in a period, or may not run.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, code: str, energy_kwh: SupportsFloat | SupportsIndex, level_kw: SupportsFloat | SupportsIndex | None, sentence: str) -> CapacityReason: ...
    def __repr__(self, /) -> str: ...
    @property
    def code(self, /) -> str:
        """
        The reason: `charge`, `charge_at_level`, `discharge`, `discharge_at_level` or
        `no_price`.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the period, in UTC.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy into the battery, in kWh at the plug; negative out of it.
        """
    @property
    def level_kw(self, /) -> float | None:
        """
        Level of the power, in kW; `None` if the windows do not count.
        """
    @property
    def sentence(self, /) -> str:
        """
        The reason as a sentence, on the clocks of the tariff.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class CapacityReasons:
    """
    Sequence of `CapacityReason` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> CapacityReason: ...
    def __getnewargs__(self, /) -> tuple[list[CapacityReason]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[CapacityReason]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, CapacityReason]) -> CapacityReasons: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class CapacitySlot:
    """
    A period of one price, in one window of the tariff.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, import_price_per_kwh: SupportsFloat | SupportsIndex | None, export_price_per_kwh: SupportsFloat | SupportsIndex, load_kwh: SupportsFloat | SupportsIndex, charged_kwh: SupportsFloat | SupportsIndex, discharged_kwh: SupportsFloat | SupportsIndex, metered_kwh: SupportsFloat | SupportsIndex, driven_kwh: SupportsFloat | SupportsIndex, stored_kwh: SupportsFloat | SupportsIndex, stored_min_kwh: SupportsFloat | SupportsIndex, stored_max_kwh: SupportsFloat | SupportsIndex, power_max_kw: SupportsFloat | SupportsIndex, discharge_max_kw: SupportsFloat | SupportsIndex, weight: SupportsFloat | SupportsIndex, power_kw: SupportsFloat | SupportsIndex, level_kw: SupportsFloat | SupportsIndex | None, group: SupportsIndex | None, marginal_value_per_kwh: SupportsFloat | SupportsIndex, power_price_per_kw: SupportsFloat | SupportsIndex) -> CapacitySlot: ...
    def __repr__(self, /) -> str: ...
    @property
    def charged_kwh(self, /) -> float:
        """
        Energy into the battery, in kWh at the plug.
        """
    @property
    def discharge_max_kw(self, /) -> float:
        """
        Highest discharging power at the plug, in kW.
        """
    @property
    def discharged_kwh(self, /) -> float:
        """
        Energy out of the battery, in kWh at the plug, as a positive number.
        """
    @property
    def driven_kwh(self, /) -> float:
        """
        Consumption of driving over the slot, in kWh of stored energy.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the slot, in UTC.
        """
    @property
    def export_price_per_kwh(self, /) -> float:
        """
        Revenue of a kWh sold; 0 if no price was given.
        """
    @property
    def group(self, /) -> int | None:
        """
        Position of that power in the certificate's `groups`; `None` if the window does not count.
        """
    @property
    def import_price_per_kwh(self, /) -> float | None:
        """
        Price of a kWh bought; `None` if it is not known, then the battery is idle.
        """
    @property
    def level_kw(self, /) -> float | None:
        """
        Highest such power of the windows that count with this one, in kW, before the plan or in
        it; `None` if the window does not count.
        """
    @property
    def load_kwh(self, /) -> float:
        """
        Energy of the rest of the connection, in kWh; negative into the grid.
        """
    @property
    def marginal_value_per_kwh(self, /) -> float:
        """
        Value of one more kWh stored in the slot, in units of the currency.
        """
    @property
    def metered_kwh(self, /) -> float:
        """
        Energy through the meter, in kWh; negative into the grid.
        """
    @property
    def power_kw(self, /) -> float:
        """
        Mean power from the grid times the weight of the window, in kW.
        """
    @property
    def power_max_kw(self, /) -> float:
        """
        Highest charging power at the plug, in kW.
        """
    @property
    def power_price_per_kw(self, /) -> float:
        """
        Savings by one more kW of `level_kw` in this slot, in units of the currency per kW.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    @property
    def stored_kwh(self, /) -> float:
        """
        Stored energy at the end of the slot, in kWh.
        """
    @property
    def stored_max_kwh(self, /) -> float:
        """
        Highest stored energy at the end, in kWh.
        """
    @property
    def stored_min_kwh(self, /) -> float:
        """
        Least stored energy at the end that wishes allow, in kWh.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def weight(self, /) -> float:
        """
        Weight of the window by the tariff; 0 if it does not count.
        """

@final
class CapacitySlots:
    """
    Sequence of `CapacitySlot` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> CapacitySlot: ...
    def __getnewargs__(self, /) -> tuple[list[CapacitySlot]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[CapacitySlot]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, CapacitySlot]) -> CapacitySlots: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class Certificate:
    """
    Cost of a plan, the bound that no plan can undercut, and all that the bound rests on.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, cost: SupportsFloat | SupportsIndex, bound: SupportsFloat | SupportsIndex, gap: SupportsFloat | SupportsIndex, is_proved: bool, at_once_kwh: SupportsFloat | SupportsIndex, requirements: SupportsGetItem[int, Requirement], energy_max_kwh: SupportsFloat | SupportsIndex | None, surplus_price_per_kwh: SupportsFloat | SupportsIndex, slots: SupportsGetItem[int, PlannedSlot]) -> Certificate: ...
    def __repr__(self, /) -> str: ...
    @property
    def at_once_kwh(self, /) -> float:
        """
        Energy bought at once, at any price, in kWh: the reserve, or all that a missed deadline
        wants.
        """
    @property
    def bound(self, /) -> float:
        """
        Lower bound on the cost of every plan for the same requirements.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the plan, in units of the currency: the sum over the slots.
        """
    @property
    def energy_max_kwh(self, /) -> float | None:
        """
        Most energy of any plan, in kWh; `None` if no more than the last requirement is bought.
        """
    @property
    def gap(self, /) -> float:
        """
        Cost minus bound: the most that another plan can save; 0 up to rounding if proved.
        """
    @property
    def is_proved(self, /) -> bool:
        """
        True if the gap is rounding: at most 1e-9 of the cost, or of 1 if the cost is less.
        """
    @property
    def requirements(self, /) -> list[Requirement]:
        """
        Energy wanted by each deadline with its marginal price, in time order.
        """
    @property
    def slots(self, /) -> list[PlannedSlot]:
        """
        All slots that the plan could use, with their prices and energies, in time order.
        """
    @property
    def surplus_price_per_kwh(self, /) -> float:
        """
        Price of the last kWh bought only because its price is negative; 0 or less.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    def verify(self, /) -> Verification:
        """
        Compute each statement anew from the numbers of the certificate alone.

        The cost is summed up from the slots, and the bound is the Lagrangian at the marginal
        prices of the requirements. Neither uses the planner. A number that the bound does not
        rest on, such as the price of an unused slot that is dearer than all others, is free to
        change.

        Returns:
            Each statement with the computed number and the difference. Nothing is raised for a
            statement that does not hold: look at ``failed``.

        Raises:
            InputError: A number of the certificate is NaN, infinite or beyond all measure.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.5, 0.25], currency="EUR")
            >>> plan = sw.plan_charge(prices, now=six, power_max_kw=8, targets=[(None, 8)])
            >>> plan.certificate.verify().holds
            True
            >>> tampered = plan.certificate.to_dict() | {
            ...     "bound": 1.5,
            ...     "requirements": plan.certificate.requirements,
            ...     "slots": plan.certificate.slots,
            ... }
            >>> sw.Certificate(**tampered).verify().failed
            ['bound', 'gap', 'is_proved']
        """

@final
class CertificateCheck:
    """
    One statement of a certificate beside the number that its own data give.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, line: str, stated: SupportsFloat | SupportsIndex, computed: SupportsFloat | SupportsIndex, difference: SupportsFloat | SupportsIndex, tolerance: SupportsFloat | SupportsIndex, holds: bool) -> CertificateCheck: ...
    def __repr__(self, /) -> str: ...
    @property
    def computed(self, /) -> float:
        """
        Number computed from the data; for a rule, how far the data break it.
        """
    @property
    def difference(self, /) -> float:
        """
        Computed less stated number.
        """
    @property
    def holds(self, /) -> bool:
        """
        True if the difference is rounding.
        """
    @property
    def line(self, /) -> str:
        """
        Name of the statement, such as `bound` or `requirements[0].energy_kwh`.
        """
    @property
    def stated(self, /) -> float:
        """
        Number that the certificate states; 0 for a rule, which nothing may break.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def tolerance(self, /) -> float:
        """
        Difference that counts as rounding; 0 or more.
        """

@disjoint_base
class ChargePolicy:
    """
    Policy of one vehicle with the currency of its prices; see `slackwater.ChargePolicy`.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object:
        """
        Hand the decisions to an Arrow library.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, native: ChargePolicy, *_rest: "object") -> ChargePolicy:
        """
        Makes the class of Python, which takes prices beside the policy.
        """
    def bid_curve(self, /, *, at: Incomplete, wanted_kwh: "float", state: "int | None") -> BidCurve: ...
    @property
    def certificate(self, /) -> PolicyCertificate:
        """
        The proof: expected cost by following the decisions, and a bound on that of every policy.

        It walks all slots, states and energies anew when it is first asked for.
        """
    def conditional_value_at_risk(self, /, *, level: "float") -> float: ...
    @property
    def currency(self, /) -> str:
        """
        Currency of all amounts.
        """
    def decide(self, /, *, at: Incomplete, wanted_kwh: "float", state: "int | None") -> PolicyDecision: ...
    @property
    def expected_cost(self, /) -> float:
        """
        Expected cost of the electricity and of what is missing, before the first price is known.
        """
    @property
    def expected_shortfall_kwh(self, /) -> float:
        """
        Expected energy that is missing when the vehicle leaves, in kWh at the plug.
        """
    def explain(self, /, *, time_zone: str) -> PolicyReasons: ...
    @property
    def slots(self, /) -> PolicySlots:
        """
        All decisions, by slot and state: the energy to leave for later.

        States that cannot happen are left out. An Arrow library reads the policy itself as this
        table.
        """

@final
class DepartureOutcome:
    """
    Outcome of a plan if the vehicle leaves at an instant.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, at: datetime, probability: SupportsFloat | SupportsIndex, energy_kwh: SupportsFloat | SupportsIndex, shortfall_kwh: SupportsFloat | SupportsIndex) -> DepartureOutcome: ...
    def __repr__(self, /) -> str: ...
    @property
    def at(self, /) -> datetime:
        """
        The departure, in UTC.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy bought until then, in kWh at the plug.
        """
    @property
    def probability(self, /) -> float:
        """
        Probability of this departure, from 0 to 1.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Energy missing then, in kWh at the plug; 0 if nothing is missing.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class DevicePlan:
    """
    Plan of one device.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, name: str, kind: str, power_kw: SupportsGetItem[int, SupportsFloat | SupportsIndex], power_max_kw: SupportsGetItem[int, SupportsFloat | SupportsIndex], soc_percent: SupportsGetItem[int, SupportsFloat | SupportsIndex], intervals: SupportsGetItem[int, Interval], energy_kwh: SupportsFloat | SupportsIndex, fed_kwh: SupportsFloat | SupportsIndex, wishes: SupportsGetItem[int, SiteWish], shortfall_kwh: SupportsFloat | SupportsIndex, heat: HeatOutcome | None) -> DevicePlan: ...
    def __repr__(self, /) -> str: ...
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy drawn over the plan, in kWh; 0 or more.
        """
    @property
    def fed_kwh(self, /) -> float:
        """
        Energy fed over the plan, in kWh, as a positive number.
        """
    @property
    def heat(self, /) -> HeatOutcome | None:
        """
        Temperatures and degree-hours of a heat unit; `None` for other devices.
        """
    @property
    def intervals(self, /) -> list[Interval]:
        """
        Periods of constant power other than zero, in time order.
        """
    @property
    def kind(self, /) -> str:
        """
        Kind of the device, such as `vehicle` or `solar`.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the device.
        """
    @property
    def power_kw(self, /) -> list[float]:
        """
        Mean power over each slot, in kW: positive draws, negative feeds.
        """
    @property
    def power_max_kw(self, /) -> list[float]:
        """
        Highest power that it could draw over each slot, in kW; for solar power, that it could
        feed.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Sum of what is missing at the deadlines, in kWh at the plug.
        """
    @property
    def soc_percent(self, /) -> list[float]:
        """
        State of charge at the start of each slot and at the end of the last one, in percent:
        one value more than slots. Empty if no battery is known.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def wishes(self, /) -> list[SiteWish]:
        """
        One outcome per wish: energy targets, then targets of state of charge, then drives, then
        periods of wanted power.
        """

@final
class Difference:
    """
    One place in which two saved plans differ.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, path: str, before: bool | SupportsFloat | SupportsIndex | str | None, after: bool | SupportsFloat | SupportsIndex | str | None) -> Difference: ...
    def __repr__(self, /) -> str: ...
    @property
    def after(self, /) -> bool | float | str | None:
        """
        Value in the second plan; `None` if it has none there.
        """
    @property
    def before(self, /) -> bool | float | str | None:
        """
        Value in the first plan; `None` if it has none there.
        """
    @property
    def path(self, /) -> str:
        """
        Place in the saved plan, such as `plan.cost`; entries of a list are named by their
        start.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class EmissionPrice:
    """
    Price of a kg of emissions, and carbon intensity in kg per kWh.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs__(self, /) -> tuple[float, list[tuple[datetime, datetime, float]]]: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, price_per_kg: SupportsFloat | SupportsIndex, intensity: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]]) -> EmissionPrice: ...
    def cost_of(self, /, kg: SupportsFloat | SupportsIndex) -> float: ...
    def cost_without(self, /, cost: SupportsFloat | SupportsIndex, kg: SupportsFloat | SupportsIndex) -> float: ...
    @property
    def intensity(self, /) -> Series: ...

@final
class EnergyAtRisk:
    """
    Energy that a plan may fail to deliver because nobody knows the departure.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, wanted_kwh: SupportsFloat | SupportsIndex, expected_shortfall_kwh: SupportsFloat | SupportsIndex, shortfall_max_kwh: SupportsFloat | SupportsIndex, probability_short: SupportsFloat | SupportsIndex, outcomes: SupportsGetItem[int, DepartureOutcome]) -> EnergyAtRisk: ...
    def __repr__(self, /) -> str: ...
    @property
    def expected_shortfall_kwh(self, /) -> float:
        """
        Mean of the missing energy over all departures by their probabilities, in kWh.
        """
    @property
    def outcomes(self, /) -> list[DepartureOutcome]:
        """
        One outcome per instant of departure, in time order.
        """
    @property
    def probability_short(self, /) -> float:
        """
        Probability that energy is missing, from 0 to 1.
        """
    @property
    def shortfall_max_kwh(self, /) -> float:
        """
        Most missing energy of any departure that can happen, in kWh.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def wanted_kwh(self, /) -> float:
        """
        Energy that nothing should be missing of, in kWh at the plug.
        """

@final
class Episode:
    """
    One stay, from decision to decision. See `slackwater.gym`.
    """
    def __new__(cls, /, stays: Incomplete, row: SupportsIndex, prices: Prices, forecasts: SupportsGetItem[int, Forecast], *, settings: Incomplete) -> Episode: ...
    def advance(self, /, share: SupportsFloat | SupportsIndex) -> tuple[float, float, float, float, bool] | None:
        """
        Holds a share of the highest power until the next decision; `None` after the departure.
        """
    def view(self, /) -> View | None:
        """
        Facts that are known now; `None` after the departure.
        """

@final
class Estimate:
    """
    A fitted parameter with the interval that holds the true value in 95 of 100 cases.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, value: SupportsFloat | SupportsIndex, low: SupportsFloat | SupportsIndex, high: SupportsFloat | SupportsIndex) -> Estimate: ...
    def __repr__(self, /) -> str: ...
    @property
    def high(self, /) -> float:
        """
        Upper end of the interval.
        """
    @property
    def low(self, /) -> float:
        """
        Lower end of the interval.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def value(self, /) -> float:
        """
        Value with the least squares.
        """

@final
class Evaluation:
    """
    Cost and energy of a plan under facts.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, cost: SupportsFloat | SupportsIndex, import_cost: SupportsFloat | SupportsIndex, export_revenue: SupportsFloat | SupportsIndex, demand_cost: SupportsFloat | SupportsIndex, other_cost: SupportsFloat | SupportsIndex, stored_value: SupportsFloat | SupportsIndex, baseline_cost: SupportsFloat | SupportsIndex, savings: SupportsFloat | SupportsIndex | None, import_kwh: SupportsFloat | SupportsIndex, export_kwh: SupportsFloat | SupportsIndex, from_grid_kwh: SupportsFloat | SupportsIndex, from_solar_kwh: SupportsFloat | SupportsIndex, energy_on_estimates_kwh: SupportsFloat | SupportsIndex, peak_kw: SupportsFloat | SupportsIndex | None, missing: SupportsGetItem[int, MissingFact]) -> Evaluation: ...
    def __repr__(self, /) -> str: ...
    @property
    def baseline_cost(self, /) -> float:
        """
        Cost of the same energy at full power from the start, under the same facts.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the plan under the facts, in units of the currency: the sum of its parts.
        """
    @property
    def demand_cost(self, /) -> float:
        """
        Cost of the peak, under a demand charge.
        """
    @property
    def energy_on_estimates_kwh(self, /) -> float:
        """
        Energy from the grid at prices that are only estimated, in kWh.
        """
    @property
    def export_kwh(self, /) -> float:
        """
        Energy into the grid, in kWh, as a positive number.
        """
    @property
    def export_revenue(self, /) -> float:
        """
        Revenue of the energy into the grid, as a positive number.
        """
    @property
    def from_grid_kwh(self, /) -> float:
        """
        Part of the plan's own energy that comes from the grid, in kWh.
        """
    @property
    def from_solar_kwh(self, /) -> float:
        """
        Part of the plan's own energy covered by solar power that the load leaves, in kWh.
        """
    @property
    def import_cost(self, /) -> float:
        """
        Cost of the energy from the grid.
        """
    @property
    def import_kwh(self, /) -> float:
        """
        Energy from the grid, in kWh.
        """
    @property
    def missing(self, /) -> list[MissingFact]:
        """
        Periods that are in no cost, in time order.
        """
    @property
    def other_cost(self, /) -> float:
        """
        Costs at prices that the plan was made with: wear, starts, tiers, breaches of limits, and
        emissions, unless `prices` hold a price of their own for them.
        """
    @property
    def peak_kw(self, /) -> float | None:
        """
        Highest mean import in a window of the demand charge, or the peak paid for already, in
        kW; `None` without a demand charge.
        """
    @property
    def savings(self, /) -> float | None:
        """
        Baseline cost less cost; negative if the plan costs more. `None` if energy of the plan or
        of the baseline is in no cost, so that these are not the costs of the same energy.
        """
    @property
    def stored_value(self, /) -> float:
        """
        Value of the energy stored at the end above that at the start, which is subtracted.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class Forecast:
    """
    Prices that were known from an instant on. See `slackwater.Forecast`.
    """
    def __new__(cls, /, prices: Prices, *, known_at: Incomplete, is_final: bool) -> Forecast: ...
    @property
    def currency(self, /) -> str: ...
    @property
    def is_final(self, /) -> bool: ...
    @property
    def known_at(self, /) -> datetime: ...
    def read(self, /, *, at: Incomplete) -> Prices: ...

@final
class ForgoneEnergy:
    """
    Energy at negative prices that a vehicle does not buy.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, row: SupportsIndex, energy_kwh: SupportsFloat | SupportsIndex, revenue: SupportsFloat | SupportsIndex) -> ForgoneEnergy: ...
    def __repr__(self, /) -> str: ...
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy that it could take beside the plans of all, within hard limits, in kWh at the
        plug.
        """
    @property
    def revenue(self, /) -> float:
        """
        Money that this energy would earn, in units of the currency, at the price and what
        limits add to it.
        """
    @property
    def row(self, /) -> int:
        """
        Row of the vehicle, from 0.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class HeatBaseline:
    """
    A thermostat in place of the plan: it holds the edge of the band, knows no price and looks at
    one slot.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, cost: SupportsFloat | SupportsIndex, used_kwh: SupportsFloat | SupportsIndex, below_celsius_hours: SupportsFloat | SupportsIndex, above_celsius_hours: SupportsFloat | SupportsIndex) -> HeatBaseline: ...
    def __repr__(self, /) -> str: ...
    @property
    def above_celsius_hours(self, /) -> float:
        """
        Degree-hours above the band, in °C·h.
        """
    @property
    def below_celsius_hours(self, /) -> float:
        """
        Degree-hours below the band, in °C·h.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of its electricity less the value of the heat stored at the end, in units of the
        currency.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def used_kwh(self, /) -> float:
        """
        Electrical energy used, in kWh.
        """

@final
class HeatCertificate:
    """
    Degree-hours and cost of a plan, and bounds that no plan can undercut.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, degree_hours: SupportsFloat | SupportsIndex, degree_hours_bound: SupportsFloat | SupportsIndex, cost: SupportsFloat | SupportsIndex, bound: SupportsFloat | SupportsIndex, gap: SupportsFloat | SupportsIndex, is_proved: bool, degree_hour_price: SupportsFloat | SupportsIndex, capacity_kwh_per_k: SupportsFloat | SupportsIndex, loss_kw_per_k: SupportsFloat | SupportsIndex, mode: str, temperature_start_celsius: SupportsFloat | SupportsIndex, end_value_per_kwh: SupportsFloat | SupportsIndex, on_off: HeatOnOff | None, slots: SupportsGetItem[int, HeatSlot]) -> HeatCertificate: ...
    def __repr__(self, /) -> str: ...
    @property
    def bound(self, /) -> float:
        """
        Lower bound on the cost of every plan with at most these degree-hours.
        """
    @property
    def capacity_kwh_per_k(self, /) -> float:
        """
        Heat capacity of the room or tank, in kWh per K.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the plan, in units of the currency.
        """
    @property
    def degree_hour_price(self, /) -> float:
        """
        Price of a degree-hour, in units of the currency per °C·h, from which on the plan has the
        least sum of cost and degree-hours; for a unit that is on or off, the one with the
        largest bound.
        """
    @property
    def degree_hours(self, /) -> float:
        """
        Degree-hours outside the band, in °C·h.
        """
    @property
    def degree_hours_bound(self, /) -> float:
        """
        Lower bound on the degree-hours of every plan.
        """
    @property
    def end_value_per_kwh(self, /) -> float:
        """
        Value of a kWh of heat (or cold) stored at the end, in units of the currency.
        """
    @property
    def gap(self, /) -> float:
        """
        Cost minus bound: the most that another plan can save; 0 up to rounding if proved.
        """
    @property
    def is_proved(self, /) -> bool:
        """
        True if both gaps are rounding: at most 1e-9 of the cost with all degree-hours at their
        price, or of 1 if that is less.
        """
    @property
    def loss_kw_per_k(self, /) -> float:
        """
        Heat loss of the room or tank, in kW per K.
        """
    @property
    def mode(self, /) -> str:
        """
        Direction of the unit: `heat` or `cool`.
        """
    @property
    def on_off(self, /) -> HeatOnOff | None:
        """
        Rules of a unit that is on or off; `None` if it modulates.
        """
    @property
    def slots(self, /) -> list[HeatSlot]:
        """
        All slots with energies, temperatures, bands and marginal values, in time order.
        """
    @property
    def temperature_start_celsius(self, /) -> float:
        """
        Temperature at the start of the plan, in °C.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    def verify(self, /) -> Verification:
        """
        Compute each statement anew from the numbers of the certificate alone.

        Temperatures are followed from slot to slot, degree-hours and cost are summed up, and the
        bounds are Lagrangians at the marginal values, without the planner. The runs and pauses
        of a unit that is on or off are compared with its least times. The bound on its schedules
        alone is that of the planner: its search is made once more.

        Returns:
            Each statement with the computed number and the difference. Nothing is raised for a
            statement that does not hold: look at ``failed``.

        Raises:
            InputError: A number of the certificate is NaN, infinite or beyond all measure.
        """

@final
class HeatFit:
    """
    Thermal model of a room or tank, fitted to measurements.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, loss_kw_per_k: Estimate, capacity_kwh_per_k: Estimate, gain_kw: Estimate, aperture_m2: Estimate | None, time_constant_hours: Estimate, rmse_celsius: SupportsFloat | SupportsIndex, readings: SupportsIndex) -> HeatFit: ...
    def __repr__(self, /) -> str: ...
    @property
    def aperture_m2(self, /) -> Estimate | None:
        """
        Solar aperture in m², the area of an ideal window; `None` without irradiance.
        """
    @property
    def capacity_kwh_per_k(self, /) -> Estimate:
        """
        Heat that warms the room or tank by one degree, in kWh per K.
        """
    @property
    def gain_kw(self, /) -> Estimate:
        """
        Constant heat from elsewhere, in kW.
        """
    @property
    def loss_kw_per_k(self, /) -> Estimate:
        """
        Heat loss for each degree above the outside, in kW per K.
        """
    @property
    def readings(self, /) -> int:
        """
        Number of readings that the model was fitted to.
        """
    @property
    def rmse_celsius(self, /) -> float:
        """
        Root of the mean squared difference of simulated and measured temperature, in °C.
        """
    @property
    def time_constant_hours(self, /) -> Estimate:
        """
        Time in which the difference to the outside falls by 63 %, in hours.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class HeatOnOff:
    """
    Rules of a unit that is on or off, with the precision of the bound on its schedules.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, on_min_minutes: SupportsFloat | SupportsIndex, off_min_minutes: SupportsFloat | SupportsIndex, running_since: datetime | None, stopped_since: datetime | None, cells: SupportsIndex) -> HeatOnOff: ...
    def __repr__(self, /) -> str: ...
    @property
    def cells(self, /) -> int:
        """
        Cells of stored heat at each boundary of slots, at most 1,000; more make the bound
        larger.
        """
    @property
    def off_min_minutes(self, /) -> float:
        """
        Least time off, in minutes.
        """
    @property
    def on_min_minutes(self, /) -> float:
        """
        Least time on, in minutes.
        """
    @property
    def running_since(self, /) -> datetime | None:
        """
        Instant since which the unit is on at the start of the plan, in UTC, if it is.
        """
    @property
    def stopped_since(self, /) -> datetime | None:
        """
        Instant since which it is off, in UTC; `None` as well for longer than any least time.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class HeatOutcome:
    """
    Temperatures of the room or tank of a heat unit.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, mode: str, temperature_start_celsius: SupportsFloat | SupportsIndex, heat_kwh: SupportsFloat | SupportsIndex, stored_value: SupportsFloat | SupportsIndex, below_celsius_hours: SupportsFloat | SupportsIndex, above_celsius_hours: SupportsFloat | SupportsIndex, slots: SupportsGetItem[int, RoomSlot]) -> HeatOutcome: ...
    def __repr__(self, /) -> str: ...
    @property
    def above_celsius_hours(self, /) -> float:
        """
        Degree-hours above the band, in °C·h; 0 if it is held.
        """
    @property
    def below_celsius_hours(self, /) -> float:
        """
        Degree-hours below the band, in °C·h; 0 if it is held.
        """
    @property
    def heat_kwh(self, /) -> float:
        """
        Heat moved, in kWh.
        """
    @property
    def mode(self, /) -> str:
        """
        Direction of the unit: `heat` or `cool`.
        """
    @property
    def slots(self, /) -> list[RoomSlot]:
        """
        Slots that follow each other: those of the site, and time without a price, in which the
        unit is off.
        """
    @property
    def stored_value(self, /) -> float:
        """
        Value of the heat stored at the end above that at the start, in units of the currency.
        """
    @property
    def temperature_start_celsius(self, /) -> float:
        """
        Temperature at the start, in °C.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@disjoint_base
class HeatPlan:
    """
    Plan of a room or tank with its request, prices and currency; see `slackwater.HeatPlan`.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object:
        """
        Hand the slots of the plan to an Arrow library.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, native: HeatPlan, *_rest: "object") -> HeatPlan:
        """
        Makes the class of Python, which takes prices beside the plan.
        """
    @property
    def _import_prices(self, /) -> Prices: ...
    @property
    def above_celsius_hours(self, /) -> float:
        """
        Degree-hours above the band, in °C·h, as :attr:`below_celsius_hours`.
        """
    @property
    def baseline(self, /) -> HeatBaseline:
        """
        A thermostat that holds the edge of the band, whatever the price.
        """
    @property
    def baseline_cost(self, /) -> float:
        """
        Cost of :attr:`baseline`.
        """
    @property
    def below_celsius_hours(self, /) -> float:
        """
        Degree-hours below the band, in °C·h; 0 if it is held.

        Degrees at the end of each slot, times the hours of the slot.
        """
    @property
    def certificate(self, /) -> HeatCertificate:
        """
        The proof: degree-hours and cost with their bounds. Rests on the marginal values.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the electricity less :attr:`stored_value`, in units of the currency.
        """
    def explain(self, /, *, time_zone: str) -> HeatReasons: ...
    @property
    def heat_kwh(self, /) -> float:
        """
        Heat moved, in kWh.
        """
    @property
    def intervals(self, /) -> Intervals:
        """
        Periods in which the unit runs, with their electrical power, in UTC.
        """
    @property
    def mode(self, /) -> str:
        """
        Direction of the unit: ``heat`` or ``cool``.
        """
    @property
    def now(self, /) -> datetime:
        """
        First instant that the plan could use, in UTC.
        """
    @property
    def savings(self, /) -> float:
        """
        Baseline cost minus cost, signed.

        Negative where the plan pays for being outside the band for less time than a thermostat.
        """
    @property
    def slots(self, /) -> list[HeatSlot]:
        """
        All slots, with energies, temperatures, bands and marginal values.
        """
    @property
    def sources(self, /) -> list[SourceShare]:
        """
        Energy bought at the prices of each source, in the order of the layers.

        Prices without layers are one known source, ``"prices"``.
        """
    @property
    def stored_value(self, /) -> float:
        """
        Value of the heat stored at the end beyond the start, at ``end_value_per_kwh``.
        """
    def temperature_celsius_at(self, /, at: Incomplete) -> float: ...
    @property
    def unpriced_hours(self, /) -> float:
        """
        Time from ``now`` to the end of the plan without a price, in hours; the unit is off then.
        """
    @property
    def used_kwh(self, /) -> float:
        """
        Electrical energy used, in kWh.
        """

@final
class HeatReason:
    """
    Why a unit runs in a period.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, used_kwh: SupportsFloat | SupportsIndex, heat_kwh: SupportsFloat | SupportsIndex, cost: SupportsFloat | SupportsIndex, price_max_per_kwh: SupportsFloat | SupportsIndex, code: str, marginal_value_per_kwh: SupportsFloat | SupportsIndex, temperature_celsius: SupportsFloat | SupportsIndex, deadline: datetime | None, sentence: str) -> HeatReason: ...
    def __repr__(self, /) -> str: ...
    @property
    def code(self, /) -> str:
        """
        The reason: `hold`, `ahead`, `recover`, `negative_price`, `end_value` or `on_min`.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the electrical energy, in units of the currency.
        """
    @property
    def deadline(self, /) -> datetime | None:
        """
        Instant at which the temperature is at the edge of the band for which the unit runs, or at
        which its least time on has passed, in UTC; `None` if there is none.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the period, in UTC.
        """
    @property
    def heat_kwh(self, /) -> float:
        """
        Heat moved over the period, in kWh.
        """
    @property
    def marginal_value_per_kwh(self, /) -> float:
        """
        Value of one more kWh of heat (or cold) at the end of the period.
        """
    @property
    def price_max_per_kwh(self, /) -> float:
        """
        Highest price in the period, per kWh.
        """
    @property
    def sentence(self, /) -> str:
        """
        The reason as a sentence, with times on the wall clock that `explain` was asked for.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant of the period, in UTC.
        """
    @property
    def temperature_celsius(self, /) -> float:
        """
        Temperature at the end of the period, in °C.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def used_kwh(self, /) -> float:
        """
        Electrical energy used over the period, in kWh.
        """

@final
class HeatReasons:
    """
    Sequence of `HeatReason` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> HeatReason: ...
    def __getnewargs__(self, /) -> tuple[list[HeatReason]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[HeatReason]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, HeatReason]) -> HeatReasons: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class HeatSlot:
    """
    A period of constant price, outdoor temperature and limits, used or not.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, price_per_kwh: SupportsFloat | SupportsIndex | None, outdoor_celsius: SupportsFloat | SupportsIndex, gain_kw: SupportsFloat | SupportsIndex, cop: SupportsFloat | SupportsIndex, power_max_kw: SupportsFloat | SupportsIndex, used_kwh: SupportsFloat | SupportsIndex, temperature_celsius: SupportsFloat | SupportsIndex, temperature_min_celsius: SupportsFloat | SupportsIndex, temperature_max_celsius: SupportsFloat | SupportsIndex, marginal_value_per_kwh: SupportsFloat | SupportsIndex, marginal_degree_hours_per_kwh: SupportsFloat | SupportsIndex) -> HeatSlot: ...
    def __repr__(self, /) -> str: ...
    @property
    def cop(self, /) -> float:
        """
        Heat moved per electrical energy (coefficient of performance).
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the slot, in UTC.
        """
    @property
    def gain_kw(self, /) -> float:
        """
        Heat from elsewhere over the slot, in kW; negative is drawn.
        """
    @property
    def marginal_degree_hours_per_kwh(self, /) -> float:
        """
        Degree-hours outside the band, in °C·h, that one more kWh of heat (or cold) at the end of
        the slot saves; negative causes more.
        """
    @property
    def marginal_value_per_kwh(self, /) -> float:
        """
        Value of one more kWh of heat at the end of the slot, in units of the currency; of cold,
        for a unit that cools.
        """
    @property
    def outdoor_celsius(self, /) -> float:
        """
        Outdoor temperature, or that around a tank, in °C.
        """
    @property
    def power_max_kw(self, /) -> float:
        """
        Highest electrical power over the slot, in kW; 0 without a price.
        """
    @property
    def price_per_kwh(self, /) -> float | None:
        """
        Price of a kWh of electricity; `None` if it is not known, then the unit is off.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    @property
    def temperature_celsius(self, /) -> float:
        """
        Temperature at the end of the slot, in °C.
        """
    @property
    def temperature_max_celsius(self, /) -> float:
        """
        Highest temperature of the band at the end of the slot, in °C: the lower one of those
        before and after that instant, but not below `temperature_min_celsius`.
        """
    @property
    def temperature_min_celsius(self, /) -> float:
        """
        Lowest temperature of the band at the end of the slot, in °C: the higher one of those
        before and after that instant.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def used_kwh(self, /) -> float:
        """
        Electrical energy used over the slot, in kWh, at constant power.
        """

@disjoint_base
class HomeView:
    """
    Copies of all that is known of one home at one instant. See `slackwater.HomeView`.
    """
    def __new__(cls, /, native: HomeView, *_rest: "object") -> HomeView:
        """
        Makes the class of Python, which takes forecasts beside the view.
        """
    @property
    def _known(self, /) -> Prices: ...
    @property
    def _known_export(self, /) -> Prices | None: ...
    @property
    def _past(self, /) -> Prices: ...
    @property
    def _stays(self, /) -> list[tuple[int, datetime, datetime, float, float]]: ...
    @property
    def battery(self, /) -> int:
        """
        Position of the battery in the table.
        """
    @property
    def discharge_max_kw(self, /) -> float:
        """
        Highest discharging power, as a positive number.
        """
    @property
    def horizon_end(self, /) -> datetime:
        """
        End of planning: that of the horizon or of the simulation.
        """
    @property
    def net_load(self, /) -> list[tuple[datetime, datetime, float]]:
        """
        Load less solar power that is expected from now on: ``(start, end, power_kw)``.
        """
    @property
    def now(self, /) -> datetime:
        """
        The present, in UTC.
        """
    @property
    def power_max_kw(self, /) -> float:
        """
        Highest charging power.
        """
    def price_at(self, /, at: Incomplete) -> float: ...
    @property
    def soc_percent(self, /) -> float:
        """
        State of charge.
        """
    @property
    def stored_kwh(self, /) -> float:
        """
        Energy in the battery.
        """
    @property
    def until(self, /) -> datetime:
        """
        Next instant of decision.
        """

@disjoint_base
class InsuranceFrontier:
    """
    Cost of having energy earlier. See `slackwater.InsuranceFrontier`.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, native: InsuranceFrontier, *_rest: "object") -> InsuranceFrontier:
        """
        Makes the class of Python, which takes a plan beside the frontier.
        """
    def added_cost(self, /, *, energy_kwh: "float") -> float | None: ...
    @property
    def at(self, /) -> datetime:
        """
        The instant by which the energy is there, in UTC.
        """
    @property
    def points(self, /) -> list[InsurancePoint]:
        """
        Corners of the added cost, by energy: exact, straight in between, convex.
        """

@final
class InsurancePoint:
    """
    A corner of an insurance frontier.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, energy_kwh: SupportsFloat | SupportsIndex, soc_percent: SupportsFloat | SupportsIndex | None, added_cost: SupportsFloat | SupportsIndex, marginal_price_per_kwh: SupportsFloat | SupportsIndex | None) -> InsurancePoint: ...
    def __repr__(self, /) -> str: ...
    @property
    def added_cost(self, /) -> float:
        """
        Least cost of that beyond the cost of the plan, in units of the currency; 0 or more.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy bought by the instant of the frontier, in kWh at the plug.
        """
    @property
    def marginal_price_per_kwh(self, /) -> float | None:
        """
        Added cost of the next kWh; `None` at the last corner.
        """
    @property
    def soc_percent(self, /) -> float | None:
        """
        State of charge with that energy, in percent; `None` if the plan knows no battery.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class Interval:
    """
    Charging or discharging at one power from `start` until `end`.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, power_kw: SupportsFloat | SupportsIndex) -> Interval: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> datetime:
        """
        First instant after the interval, in UTC.
        """
    @property
    def power_kw(self, /) -> float:
        """
        Power throughout, in kW at the plug: positive charges, negative discharges.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class Intervals:
    """
    Sequence of `Interval` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> Interval: ...
    def __getnewargs__(self, /) -> tuple[list[Interval]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[Interval]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, Interval]) -> Intervals: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class IntradayPosition:
    """
    Position of the battery in a delivery product.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, delivery_start: datetime, delivery_end: datetime, position_kwh: SupportsFloat | SupportsIndex, stored_kwh: SupportsFloat | SupportsIndex, marginal_value_per_kwh: SupportsFloat | SupportsIndex | None) -> IntradayPosition: ...
    def __repr__(self, /) -> str: ...
    @property
    def delivery_end(self, /) -> datetime:
        """
        End of the delivery, in UTC.
        """
    @property
    def delivery_start(self, /) -> datetime:
        """
        Start of the delivery, in UTC.
        """
    @property
    def marginal_value_per_kwh(self, /) -> float | None:
        """
        Value of one more stored kWh after the delivery, by the last search; `None` if its gate
        was closed then.
        """
    @property
    def position_kwh(self, /) -> float:
        """
        Energy in kWh at the grid, positive bought and negative sold.
        """
    @property
    def stored_kwh(self, /) -> float:
        """
        Stored energy at the end of the delivery, in kWh.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class IntradayPositions:
    """
    Sequence of `IntradayPosition` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> IntradayPosition: ...
    def __getnewargs__(self, /) -> tuple[list[IntradayPosition]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[IntradayPosition]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, IntradayPosition]) -> IntradayPositions: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class IntradayTrade:
    """
    A trade with one order of the book.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, at: datetime, delivery_start: datetime, delivery_end: datetime, order: SupportsIndex, energy_kwh: SupportsFloat | SupportsIndex, price_per_kwh: SupportsFloat | SupportsIndex) -> IntradayTrade: ...
    def __repr__(self, /) -> str: ...
    @property
    def at(self, /) -> datetime:
        """
        Instant of the trade, in UTC.
        """
    @property
    def delivery_end(self, /) -> datetime:
        """
        End of the delivery, in UTC.
        """
    @property
    def delivery_start(self, /) -> datetime:
        """
        Start of the delivery, in UTC.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy in kWh at the grid, positive bought and negative sold.
        """
    @property
    def order(self, /) -> int:
        """
        Row of the order in the table of orders, from 0.
        """
    @property
    def price_per_kwh(self, /) -> float:
        """
        Price of the order, in units of the currency.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class IntradayTrades:
    """
    Sequence of `IntradayTrade` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> IntradayTrade: ...
    def __getnewargs__(self, /) -> tuple[list[IntradayTrade]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[IntradayTrade]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, IntradayTrade]) -> IntradayTrades: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class IntradayUpdate:
    """
    Trades of one update of the book, together.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, at: datetime, trades: SupportsIndex, gain: SupportsFloat | SupportsIndex, bound: SupportsFloat | SupportsIndex, is_proved: bool) -> IntradayUpdate: ...
    def __repr__(self, /) -> str: ...
    @property
    def at(self, /) -> datetime:
        """
        Instant of the update, in UTC.
        """
    @property
    def bound(self, /) -> float:
        """
        Upper bound on the gain of all trades that the book allowed.
        """
    @property
    def gain(self, /) -> float:
        """
        Money received less money paid, fees and wear, in units of the currency.
        """
    @property
    def is_proved(self, /) -> bool:
        """
        True if bound and gain differ by rounding only: at most 1e-9 of the gain, or of 1 if the
        gain is less.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def trades(self, /) -> int:
        """
        Number of trades.
        """

@final
class IntradayUpdates:
    """
    Sequence of `IntradayUpdate` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> IntradayUpdate: ...
    def __getnewargs__(self, /) -> tuple[list[IntradayUpdate]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[IntradayUpdate]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, IntradayUpdate]) -> IntradayUpdates: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class MissingFact:
    """
    A period of a plan that is in no cost, because a fact is missing.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, fact: str, energy_kwh: SupportsFloat | SupportsIndex) -> MissingFact: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> datetime:
        """
        First instant after the period, in UTC.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy of the plan in the period, drawn or fed, in kWh at the plug.
        """
    @property
    def fact(self, /) -> str:
        """
        Name of the fact: `price`, `export_price`, `emissions`, `solar` or `load`.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class MonthBill:
    """
    Total of one month of a bill.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, month: str, start: datetime, end: datetime, total: SupportsFloat | SupportsIndex) -> MonthBill: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> datetime:
        """
        First instant after the month, in UTC.
        """
    @property
    def month(self, /) -> str:
        """
        Month as `2026-07`.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant of the month on the clocks of the tariff, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def total(self, /) -> float:
        """
        Sum of the lines to the cent, in units of the currency.
        """

@final
class MonthBills:
    """
    Sequence of `MonthBill` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> MonthBill: ...
    def __getnewargs__(self, /) -> tuple[list[MonthBill]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[MonthBill]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, MonthBill]) -> MonthBills: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class MonthPower:
    """
    Power of a month as the tariff measures it, and its charge.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, month: str, power_before_kw: SupportsFloat | SupportsIndex, power_kw: SupportsFloat | SupportsIndex, charge_before: SupportsFloat | SupportsIndex, charge: SupportsFloat | SupportsIndex) -> MonthPower: ...
    def __repr__(self, /) -> str: ...
    @property
    def charge(self, /) -> float:
        """
        Charge with the plan, in units of the currency.
        """
    @property
    def charge_before(self, /) -> float:
        """
        Charge of the power before the plan, in units of the currency.
        """
    @property
    def month(self, /) -> str:
        """
        Month as `2026-07`.
        """
    @property
    def power_before_kw(self, /) -> float:
        """
        Power before the plan, in kW.
        """
    @property
    def power_kw(self, /) -> float:
        """
        Power with the plan, in kW.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class NodeLoad:
    """
    Load and prices of a node, slot by slot.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, name: str, load_kw: SupportsGetItem[int, SupportsFloat | SupportsIndex], breach_kw: SupportsFloat | SupportsIndex, congestion_price_per_kwh: SupportsGetItem[int, SupportsFloat | SupportsIndex], base_kw: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> NodeLoad: ...
    def __repr__(self, /) -> str: ...
    @property
    def base_kw(self, /) -> list[float]:
        """
        Base load over each slot, in kW, that of the nodes below it included.
        """
    @property
    def breach_kw(self, /) -> float:
        """
        Most by which a hard limit is exceeded, in kW; only base load and limits on export can
        lead there.
        """
    @property
    def congestion_price_per_kwh(self, /) -> list[float]:
        """
        Amount that limits of the node and of the nodes above it add to the price of a kWh in
        each slot. While limits leave needs unmet it ranks slots and is not a price: it is highest
        in slots where one more kWh would reduce unmet energy.
        """
    @property
    def load_kw(self, /) -> list[float]:
        """
        Mean power over each slot, in kW, base load included; of every node, limited or not.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the node.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@disjoint_base
class Plan:
    """
    Plan of one vehicle with its request, prices and currency; see `slackwater.Plan`.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object:
        """
        Hand the slots of the plan to an Arrow library.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, native: Plan, *_rest: "object") -> Plan:
        """
        Makes the class of Python, which takes prices beside the plan.
        """
    @property
    def _import_prices(self, /) -> Prices: ...
    @property
    def awaiting_prices(self, /) -> bool:
        """
        Whether to wait for now: lower prices may come, and waiting is without risk.
        """
    @property
    def baseline_cost(self, /) -> float:
        """
        Cost of the same energy at full power from plug-in.
        """
    @property
    def certificate(self, /) -> Certificate:
        """
        The proof: cost, bound and gap, with the marginal prices behind them.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the energy, in units of the currency.
        """
    @property
    def cost_on_estimates(self, /) -> float:
        """
        Cost of the energy on estimates, if the estimates are right.
        """
    @property
    def decide_by(self, /) -> datetime | None:
        """
        Latest time to wait for prices without risk; ``None`` if nothing is to be charged.

        Whatever the prices that are still unknown turn out to be, a plan made
        then misses no more of a target and costs no more than known prices
        would have. Prices that arrive earlier are a reason to plan again.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy bought, in kWh at the plug.
        """
    def energy_kwh_by(self, /, at: Incomplete) -> float: ...
    @property
    def energy_on_estimates_kwh(self, /) -> float:
        """
        Energy bought at prices that are only estimated, in kWh.
        """
    def explain(self, /, *, time_zone: str) -> Reasons: ...
    @property
    def forgone_kwh(self, /) -> float:
        """
        Energy at negative prices before the last deadline that is not bought, in kWh.

        At most the room up to the charge limit, where the plan was made for a battery. Where
        the need is in kWh nobody knows the room, and it is all that the power allows:
        ``energy_max_kwh`` says how much fits, and then it is bought.
        """
    @property
    def forgone_revenue(self, /) -> float:
        """
        Money that :attr:`forgone_kwh` would earn, in units of the currency.
        """
    @property
    def intervals(self, /) -> Intervals:
        """
        Charging periods at full power, in time order, in UTC.
        """
    @property
    def marginal_price_per_kwh(self, /) -> float | None:
        """
        Price of the next kWh before the last deadline; ``None`` without capacity.
        """
    @property
    def now(self, /) -> datetime:
        """
        First instant that the plan could use, in UTC.
        """
    @property
    def savings(self, /) -> float:
        """
        Baseline cost minus cost; negative if smart charging cost more.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Most energy missing at any deadline, in kWh; 0 if all targets are met.
        """
    @property
    def slots(self, /) -> list[PlannedSlot]:
        """
        All slots that the plan could use, with the energy bought in each.
        """
    def soc_by_time(self, /) -> list[SocPoint]:
        """
        Tell energy and state of charge as a function of time, by its corners.

        Between two corners both grow evenly. The state of charge is ``None`` if
        the plan knows no battery.
        """
    @property
    def soc_is_assumed(self, /) -> bool:
        """
        Whether the state of charge was not known and the fallback was taken.
        """
    def soc_percent_by(self, /, at: Incomplete) -> float | None: ...
    @property
    def sources(self, /) -> list[SourceShare]:
        """
        Energy bought at the prices of each source, in the order of the layers.

        Prices without layers are one known source, ``"prices"``.
        """
    @property
    def stability(self, /) -> Stability | None:
        """
        How close the plan was kept to an older one; ``None`` if it was not.
        """
    @property
    def targets(self, /) -> list[TargetOutcome]:
        """
        Outcome of each target, in the order they were given.

        ``above_limit_kwh`` is the part of ``shortfall_kwh`` that lies above
        the charge limit of the battery.
        """
    @property
    def unpriced_hours(self, /) -> float:
        """
        Time before the last deadline without a price, never used, in hours.

        Without a deadline it ends with ``until``, or with the last price.
        """
    def verify(self, /) -> Verification:
        """
        Compute each statement of the plan and of its certificate anew from request and prices.

        ``certificate.verify()`` checks a certificate in itself. This checks besides that the plan
        is one of :attr:`request` at :attr:`prices`: slots have the prices and the power limits of
        the stay and leave none of its priced time out, intervals are the energies of the slots,
        energy, cost, baseline and outcomes of targets follow from them, and the certificate rests
        on the energies that the request asks for. The planner is not used. The bound is the
        Lagrangian at the marginal prices of the certificate, which is a bound at any prices.

        Request and prices are taken as they are: of a file from elsewhere compare them with your
        own. :attr:`carbon_kg` is no statement, but follows from the intervals whenever it is asked.

        Returns:
            Each statement with the computed number and the difference. Nothing is raised for a
            statement that does not hold: look at ``failed``, whose first is the cause of those
            after it as a rule.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
            >>> plan = sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(None, 10)])
            >>> plan.verify().holds
            True
            >>> text = plan.to_json().replace('"energy_kwh": 10.0', '"energy_kwh": 12.0', 1)
            >>> forged = sw.Plan.from_json(text)
            >>> forged.certificate.verify().holds, forged.verify().failed[0]
            (True, 'targets[0].wanted_kwh')
        """

@final
class PlanChange:
    """
    A period in which two plans differ.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, before_kwh: SupportsFloat | SupportsIndex, after_kwh: SupportsFloat | SupportsIndex, cost_before: SupportsFloat | SupportsIndex, cost_after: SupportsFloat | SupportsIndex, code: str, sentence: str) -> PlanChange: ...
    def __repr__(self, /) -> str: ...
    @property
    def after_kwh(self, /) -> float:
        """
        Energy that the second plan buys in the period, in kWh at the plug.
        """
    @property
    def before_kwh(self, /) -> float:
        """
        Energy that the first plan buys in the period, in kWh at the plug.
        """
    @property
    def code(self, /) -> str:
        """
        The reason: `time_passed`, `price_changed`, `power_limit_changed`, `deadline_changed`,
        `target_changed`, `delivered_otherwise`, `wish_changed`, `stability` or `tie`.
        """
    @property
    def cost_after(self, /) -> float:
        """
        Cost of `after_kwh` at the prices of the second plan, in units of the currency.
        """
    @property
    def cost_before(self, /) -> float:
        """
        Cost of `before_kwh` at the prices of the first plan, in units of the currency.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the period, in UTC.
        """
    @property
    def sentence(self, /) -> str:
        """
        The reason as a sentence, with times on the wall clock that `diff` was asked for.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class PlanTable(Table):
    """
    One plan a row, in the order of the vehicles, for any Arrow library.

    ``pyarrow.table(plans)``, ``polars.DataFrame(plans)`` or, in DuckDB, a
    query over a pyarrow table of it read the same memory. A table can be pickled,
    so it can be handed to other processes.
    """
    def __new__(cls, /, ipc: bytes) -> PlanTable:
        """
        Reads the bytes of an Arrow stream, as a pickled table has them.
        """
    def __repr__(self, /) -> str:
        """
        One line with the number of rows, those in error, what stands on estimates and other notes,
        and the columns.
        """
    def intervals_table(self, /) -> Table:
        """
        List the intervals of all plans, one a row.

        Returns:
            A table with ``id`` (of the vehicle, as it was given), ``start``, ``end`` (in UTC) and
            ``power_kw`` (at the plug; negative discharges), in the order of the vehicles and then
            of time. A vehicle without a plan has no row.

        Example:
            >>> import pyarrow as pa
            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
            >>> vehicles = pa.table({
            ...     "id": ["van"], "arrival": [six], "departure": [six + 3 * hour],
            ...     "energy_kwh": [7.0], "power_max_kw": [7.0],
            ... })
            >>> pa.table(sw.plan_batch(vehicles, prices).intervals_table()).to_pylist()[0]["power_kw"]
            7.0
        """
    def load(self, /, resolution: timedelta) -> Table:
        """
        Add the plans up to one load curve.

        Each interval adds its energy to the steps that it covers, in proportion to the time in
        each, so the energies of all steps add up to those of all plans.

        Args:
            resolution: Length of a step. Steps begin at multiples of it since 1970 in UTC, so with
                an hour they begin with the hour.

        Returns:
            A table with ``start``, ``end`` (in UTC), ``power_kw`` (mean power of the step, charging
            less discharging) and ``energy_kwh``, from the first start of an interval to the last
            end. Without an interval it has no rows.

        Raises:
            InputError: The resolution is not positive, or gives more than 5.3 million steps.

        Example:
            >>> import pyarrow as pa
            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
            >>> vehicles = pa.table({
            ...     "id": ["van", "bus"], "arrival": [six, six], "departure": [six + 3 * hour] * 2,
            ...     "energy_kwh": [10.5, 40.0], "power_max_kw": [7.0, 40.0],
            ... })
            >>> load = pa.table(sw.plan_batch(vehicles, prices).load(hour))
            >>> load["power_kw"].to_pylist()
            [47.0, 3.5]
        """

@final
class PlannedSlot:
    """
    A period of constant price that the plan could use, used or not.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, price_per_kwh: SupportsFloat | SupportsIndex, power_max_kw: SupportsFloat | SupportsIndex, energy_kwh: SupportsFloat | SupportsIndex) -> PlannedSlot: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> datetime:
        """
        First instant after the slot, in UTC.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy bought over the slot, in kWh at the plug; 0 if the slot is not used.
        """
    @property
    def power_max_kw(self, /) -> float:
        """
        Highest power over the slot, in kW at the plug.
        """
    @property
    def price_per_kwh(self, /) -> float:
        """
        Price of a kWh over the slot, in units of the currency; may be negative.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class PolicyCertificate:
    """
    Expected cost of a policy, and a bound that no policy can undercut.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, expected_cost: SupportsFloat | SupportsIndex, expected_shortfall_kwh: SupportsFloat | SupportsIndex, bound: SupportsFloat | SupportsIndex, gap: SupportsFloat | SupportsIndex, is_proved: bool, energy_kwh: SupportsFloat | SupportsIndex, shortfall_price_per_kwh: SupportsFloat | SupportsIndex, first_probabilities: SupportsGetItem[int, SupportsFloat | SupportsIndex], slots: SupportsGetItem[int, PolicyStep]) -> PolicyCertificate: ...
    def __repr__(self, /) -> str: ...
    @property
    def bound(self, /) -> float:
        """
        Lower bound on the expected cost of every policy.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy wanted, in kWh at the plug.
        """
    @property
    def expected_cost(self, /) -> float:
        """
        Expected cost by following the decisions, of the electricity and of what is missing.
        """
    @property
    def expected_shortfall_kwh(self, /) -> float:
        """
        Expected energy that is missing when the vehicle leaves, in kWh at the plug.
        """
    @property
    def first_probabilities(self, /) -> list[float]:
        """
        Probabilities of the states of the first slot.
        """
    @property
    def gap(self, /) -> float:
        """
        Expected cost minus bound: the most that another policy can save; 0 up to rounding if
        proved.
        """
    @property
    def is_proved(self, /) -> bool:
        """
        True if the gap is rounding: at most 1e-9 of the cost, or of 1 if the cost is less.
        """
    @property
    def shortfall_price_per_kwh(self, /) -> float:
        """
        Price of a kWh that is missing when the vehicle leaves, in units of the currency.
        """
    @property
    def slots(self, /) -> list[PolicyStep]:
        """
        All slots with prices, probabilities and marginal costs, in time order.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    def verify(self, /) -> Verification:
        """
        Compute each statement anew from the numbers of the certificate alone.

        The decisions follow from the prices and marginal costs of the slots. The distribution
        over states and energies is carried from slot to slot for the expected cost, and the
        marginal costs give the bound by weak duality. None of it uses the planner.

        Returns:
            Each statement with the computed number and the difference. Nothing is raised for a
            statement that does not hold: look at ``failed``.

        Raises:
            InputError: A number of the certificate is NaN, infinite or beyond all measure.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> policy = sw.plan_policy(
            ...     sw.Prices.from_values(six, [0.20, 0.10], currency="EUR"),
            ...     now=six, power_max_kw=10, energy_kwh=15, shortfall_price_per_kwh=1,
            ... )
            >>> policy.certificate.verify().holds
            True
        """

@final
class PolicyDecision:
    """
    Decision from an instant to the end of its slot.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, price_per_kwh: SupportsFloat | SupportsIndex, power_kw: SupportsFloat | SupportsIndex, energy_kwh: SupportsFloat | SupportsIndex, left_kwh: SupportsFloat | SupportsIndex, expected_cost: SupportsFloat | SupportsIndex, marginal_cost_per_kwh: SupportsFloat | SupportsIndex) -> PolicyDecision: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> datetime:
        """
        End of its slot, in UTC: decide again then.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy to charge until then, in kWh at the plug.
        """
    @property
    def expected_cost(self, /) -> float:
        """
        Expected cost from the instant on, of the electricity and of what will be missing.
        """
    @property
    def left_kwh(self, /) -> float:
        """
        Energy that is still wanted afterwards, in kWh at the plug.
        """
    @property
    def marginal_cost_per_kwh(self, /) -> float:
        """
        Expected cost of one kWh more that is wanted now.
        """
    @property
    def power_kw(self, /) -> float:
        """
        Power until then, in kW at the plug: the energy, evenly.
        """
    @property
    def price_per_kwh(self, /) -> float:
        """
        Price of a kWh until then, in units of the currency.
        """
    @property
    def start(self, /) -> datetime:
        """
        The instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class PolicyReason:
    """
    Why a policy charges or waits in a slot, in one of its states.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, state: SupportsIndex, probability: SupportsFloat | SupportsIndex, price_per_kwh: SupportsFloat | SupportsIndex, code: str, left_kwh: SupportsFloat | SupportsIndex, later_price_per_kwh: SupportsFloat | SupportsIndex | None, sentence: str) -> PolicyReason: ...
    def __repr__(self, /) -> str: ...
    @property
    def code(self, /) -> str:
        """
        The reason: `charge_all`, `charge_above` or `wait`.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the slot, in UTC.
        """
    @property
    def later_price_per_kwh(self, /) -> float | None:
        """
        Expected cost of the next kWh if it was left for later, too; where all is left, of the
        last one. `None` if no energy is wanted at all.
        """
    @property
    def left_kwh(self, /) -> float:
        """
        Energy to leave for later, in kWh at the plug.
        """
    @property
    def price_per_kwh(self, /) -> float:
        """
        Price of a kWh in this state, in units of the currency.
        """
    @property
    def probability(self, /) -> float:
        """
        Probability of the state, from 0 to 1, if the vehicle is still there.
        """
    @property
    def sentence(self, /) -> str:
        """
        The reason as a sentence, with times on the wall clock that `explain` was asked for.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant of the slot, in UTC.
        """
    @property
    def state(self, /) -> int:
        """
        Number of the state among those of the slot, from 0.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class PolicyReasons:
    """
    Sequence of `PolicyReason` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> PolicyReason: ...
    def __getnewargs__(self, /) -> tuple[list[PolicyReason]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[PolicyReason]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, PolicyReason]) -> PolicyReasons: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class PolicySlot:
    """
    Decision of a policy in a slot, in one of its states.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, state: SupportsIndex, probability: SupportsFloat | SupportsIndex, price_per_kwh: SupportsFloat | SupportsIndex, power_max_kw: SupportsFloat | SupportsIndex, left_kwh: SupportsFloat | SupportsIndex) -> PolicySlot: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> datetime:
        """
        First instant after the slot, in UTC.
        """
    @property
    def left_kwh(self, /) -> float:
        """
        Energy to leave for later, in kWh at the plug: what is wanted above it is charged, as
        far as the power allows.
        """
    @property
    def power_max_kw(self, /) -> float:
        """
        Highest power over the slot, in kW at the plug.
        """
    @property
    def price_per_kwh(self, /) -> float:
        """
        Price of a kWh in this state, in units of the currency; may be negative.
        """
    @property
    def probability(self, /) -> float:
        """
        Probability of the state, from 0 to 1, if the vehicle is still there.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    @property
    def state(self, /) -> int:
        """
        Number of the state among those of the slot, from 0.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class PolicySlots:
    """
    Sequence of `PolicySlot` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> PolicySlot: ...
    def __getnewargs__(self, /) -> tuple[list[PolicySlot]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[PolicySlot]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, PolicySlot]) -> PolicySlots: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class PolicyStep:
    """
    Slot of a policy with all that its certificate rests on.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, energy_max_kwh: SupportsFloat | SupportsIndex, departure_probability: SupportsFloat | SupportsIndex, prices_per_kwh: SupportsGetItem[int, SupportsFloat | SupportsIndex], transitions: SupportsGetItem[int, SupportsGetItem[int, tuple[SupportsIndex, SupportsFloat | SupportsIndex]]], segment_ends_kwh: SupportsGetItem[int, SupportsFloat | SupportsIndex], marginal_costs_per_kwh: SupportsGetItem[int, SupportsGetItem[int, SupportsFloat | SupportsIndex]]) -> PolicyStep: ...
    def __repr__(self, /) -> str: ...
    @property
    def departure_probability(self, /) -> float:
        """
        Probability that a vehicle that is still there leaves at the end, from 0 to 1.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the slot, in UTC.
        """
    @property
    def energy_max_kwh(self, /) -> float:
        """
        Most energy of the slot, in kWh at the plug.
        """
    @property
    def marginal_costs_per_kwh(self, /) -> list[list[float]]:
        """
        For each state, the expected cost of a kWh in each segment, in units of the currency, in
        rising order.
        """
    @property
    def prices_per_kwh(self, /) -> list[float]:
        """
        Price of a kWh in each state, in units of the currency.
        """
    @property
    def segment_ends_kwh(self, /) -> list[float]:
        """
        Ends of the segments of the energy left for later, in kWh at the plug, in rising order.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def transitions(self, /) -> list[list[tuple[int, float]]]:
        """
        For each state, pairs `(state, probability)` of the states of the next slot that may
        follow it; empty in the last slot.
        """

@final
class PowerChange:
    """
    A period in which two plans differ in the power of a device.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, device: str | None, start: datetime, end: datetime, before_kw: SupportsFloat | SupportsIndex, after_kw: SupportsFloat | SupportsIndex, sentence: str) -> PowerChange: ...
    def __repr__(self, /) -> str: ...
    @property
    def after_kw(self, /) -> float:
        """
        Power of the second plan throughout, in kW at the plug; negative feeds.
        """
    @property
    def before_kw(self, /) -> float:
        """
        Power of the first plan throughout, in kW at the plug; negative feeds.
        """
    @property
    def device(self, /) -> str | None:
        """
        Name of the device of a site; `None` for a plan of one device.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the period, in UTC.
        """
    @property
    def sentence(self, /) -> str:
        """
        The change as a sentence, with times on the wall clock that `diff` was asked for.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class PowerChanges:
    """
    Sequence of `PowerChange` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> PowerChange: ...
    def __getnewargs__(self, /) -> tuple[list[PowerChange]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[PowerChange]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, PowerChange]) -> PowerChanges: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class PowerCharge:
    """
    How a month prices its power, taxes included.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, month: str, price_per_kw: SupportsFloat | SupportsIndex | None, steps: SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex]], highest: SupportsIndex, others_kw: SupportsGetItem[int, SupportsFloat | SupportsIndex], floor_kw: SupportsFloat | SupportsIndex) -> PowerCharge: ...
    def __repr__(self, /) -> str: ...
    @property
    def floor_kw(self, /) -> float:
        """
        Least power of the month, in kW.
        """
    @property
    def highest(self, /) -> int:
        """
        Number of powers of which the mean is taken.
        """
    @property
    def month(self, /) -> str:
        """
        Month as `2026-07`.
        """
    @property
    def others_kw(self, /) -> list[float]:
        """
        Weighted powers that count in the month and that the plan does not reach, in kW.
        """
    @property
    def price_per_kw(self, /) -> float | None:
        """
        Price of a kW, in units of the currency; `None` for steps.
        """
    @property
    def steps(self, /) -> list[tuple[float | None, float]]:
        """
        Steps `(power_max_kw, charge)` of rising power; the last one has no highest power.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class PowerGroup:
    """
    Windows of which one power counts.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, month: SupportsIndex, power_before_kw: SupportsFloat | SupportsIndex) -> PowerGroup: ...
    def __repr__(self, /) -> str: ...
    @property
    def month(self, /) -> int:
        """
        Position of the month in the certificate's `months`.
        """
    @property
    def power_before_kw(self, /) -> float:
        """
        Highest weighted power before the plan, in kW.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class PriceCurves:
    """
    Many price curves by their `price_id`.
    """
    def __len__(self, /) -> int: ...
    @property
    def currency(self, /) -> str: ...
    @staticmethod
    def from_prices(curves: SupportsGetItem[int, Prices], *, ids: SupportsGetItem[int, str]) -> PriceCurves: ...

@final
class Prices:
    """
    A price curve with its currency. See `slackwater.Prices`.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __len__(self, /) -> int: ...
    def between(self, /, start: Incomplete, end: Incomplete) -> Prices: ...
    @staticmethod
    def concat(series: SupportsGetItem[int, Prices]) -> Prices: ...
    @property
    def currency(self, /) -> str: ...
    @property
    def emissions(self, /) -> EmissionPrice | None:
        """
        The price of emissions that they hold; `None` if none was added.
        """
    def ends(self, /) -> tuple[datetime, datetime] | None: ...
    @staticmethod
    def from_arrow(data: Incomplete, *, currency: str, start: str, end: str, price: str) -> Prices: ...
    @staticmethod
    def from_layers(layers: SupportsGetItem[int, tuple[str, bool, SupportsFloat | SupportsIndex | None, Prices]], currency: str) -> Prices: ...
    @staticmethod
    def from_slots(slots: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], *, currency: str) -> Prices: ...
    @staticmethod
    def from_steps(start: Incomplete, prices: SupportsGetItem[int, SupportsFloat | SupportsIndex], *, slot: timedelta, currency: str) -> Prices: ...
    @property
    def gaps(self, /) -> list[tuple[datetime, datetime]]: ...
    def holding(self, /, emissions: EmissionPrice | None) -> Prices:
        """
        The same prices, of which a part is the price of emissions.
        """
    def layers(self, /) -> list[tuple[str, bool, float | None, Prices]] | None: ...
    def plus(self, /, per_kwh: SupportsFloat | SupportsIndex) -> Prices: ...
    def plus_emissions(self, /, emissions: EmissionPrice) -> Prices: ...
    def plus_other(self, /, other: Prices, cut: bool) -> Prices: ...
    def resampled(self, /, resolution: str, time_zone: str, how: str) -> Prices: ...
    @property
    def slots(self, /) -> list[tuple[datetime, datetime, float]]: ...
    def sourced_slots(self, /) -> list[tuple[datetime, datetime, float, str, bool]]: ...
    def summary(self, /) -> tuple[float, float, float] | None: ...
    def times(self, /, factor: SupportsFloat | SupportsIndex) -> Prices: ...
    @property
    def unit(self, /) -> str: ...
    def value_at(self, /, at: Incomplete) -> float | None: ...

@final
class Reason:
    """
    Why a period of charging is in a plan, or why a period is not used.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, energy_kwh: SupportsFloat | SupportsIndex, cost: SupportsFloat | SupportsIndex, price_max_per_kwh: SupportsFloat | SupportsIndex | None, code: str, deadline: datetime | None, marginal_price_per_kwh: SupportsFloat | SupportsIndex | None, runner_up_start: datetime | None, runner_up_price_per_kwh: SupportsFloat | SupportsIndex | None, sentence: str) -> Reason: ...
    def __repr__(self, /) -> str: ...
    @property
    def code(self, /) -> str:
        """
        The reason: `reserve`, `missed_deadline`, `deadline`, `below_marginal_price`,
        `negative_price`, `kept` or `no_price`.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of that energy, in units of the currency; negative if charging is paid for.
        """
    @property
    def deadline(self, /) -> datetime | None:
        """
        Deadline that the period serves, in UTC; `None` for a reserve or a negative price. For
        time without a price the first deadline that is missed because of it.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the period, in UTC.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy bought in the period, in kWh at the plug; 0 for time without a price.
        """
    @property
    def marginal_price_per_kwh(self, /) -> float | None:
        """
        Price of the next kWh before that deadline, or before the last one; `None` if no
        capacity is left.
        """
    @property
    def price_max_per_kwh(self, /) -> float | None:
        """
        Highest price paid in the period, per kWh; `None` for time without a price.
        """
    @property
    def runner_up_price_per_kwh(self, /) -> float | None:
        """
        Price of the next kWh in that slot; `None` if there is none.
        """
    @property
    def runner_up_start(self, /) -> datetime | None:
        """
        Start of the slot that the next kWh would come from, in UTC; `None` if there is none.
        """
    @property
    def sentence(self, /) -> str:
        """
        The reason as a sentence, with times on the wall clock that `explain` was asked for.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant of the period, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class Reasons:
    """
    Sequence of `Reason` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> Reason: ...
    def __getnewargs__(self, /) -> tuple[list[Reason]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[Reason]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, Reason]) -> Reasons: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class Replay:
    """
    Result of planning a saved plan again.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, same: bool, differences: SupportsGetItem[int, Difference], kind: str, engine_version: str, engine_version_now: str, time_zone_version: str, time_zone_version_now: str) -> Replay: ...
    def __repr__(self, /) -> str: ...
    @property
    def differences(self, /) -> list[Difference]:
        """
        Each place in which the two differ; empty if they are the same.
        """
    @property
    def engine_version(self, /) -> str:
        """
        Version of the engine that made the saved plan.
        """
    @property
    def engine_version_now(self, /) -> str:
        """
        Version of the engine that planned it again.
        """
    @property
    def kind(self, /) -> str:
        """
        Kind of the plan, such as `charge`, `vehicle` or `site`.
        """
    @property
    def same(self, /) -> bool:
        """
        True if the new plan is the saved one, byte by byte.
        """
    @property
    def time_zone_version(self, /) -> str:
        """
        Edition of the time zone tables of the saved plan.
        """
    @property
    def time_zone_version_now(self, /) -> str:
        """
        Edition of the time zone tables of this engine.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class Requirement:
    """
    Energy that must be bought by a deadline, and the price of one more kWh.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, by: datetime | None, energy_kwh: SupportsFloat | SupportsIndex, marginal_price_per_kwh: SupportsFloat | SupportsIndex) -> Requirement: ...
    def __repr__(self, /) -> str: ...
    @property
    def by(self, /) -> datetime | None:
        """
        The deadline, in UTC; `None` is the end of the slots.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy that any plan has to buy by the deadline, in kWh: the target, or what is possible
        if that is less.
        """
    @property
    def marginal_price_per_kwh(self, /) -> float:
        """
        Price of the last kWh bought for this or a later deadline, in units of the currency.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class RollingIntrinsicTrading:
    """
    Outcome of rolling intrinsic trading; see `slackwater.trade_rolling_intrinsic`.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, profit: SupportsFloat | SupportsIndex, fees: SupportsFloat | SupportsIndex, wear_cost: SupportsFloat | SupportsIndex, gap_max: SupportsFloat | SupportsIndex, orders: SupportsIndex, searches: SupportsIndex, trades: IntradayTrades, updates: IntradayUpdates, positions: IntradayPositions) -> RollingIntrinsicTrading: ...
    def __repr__(self, /) -> str: ...
    @property
    def fees(self, /) -> float:
        """
        Fees of all trades, in units of the currency.
        """
    @property
    def gap_max(self, /) -> float:
        """
        Largest difference between the bound of an update and its gain; 0 up to rounding if
        each update is proved optimal.
        """
    @property
    def orders(self, /) -> int:
        """
        Number of orders.
        """
    @property
    def positions(self, /) -> IntradayPositions:
        """
        Positions at the end, by delivery.
        """
    @property
    def profit(self, /) -> float:
        """
        Money received less money paid, fees and wear, in units of the currency.
        """
    @property
    def searches(self, /) -> int:
        """
        Number of orders after which trades were searched; all others were known to add
        nothing.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def trades(self, /) -> IntradayTrades:
        """
        All trades, in time order.
        """
    @property
    def updates(self, /) -> IntradayUpdates:
        """
        Updates with trades, in time order.
        """
    @property
    def wear_cost(self, /) -> float:
        """
        Wear of the positions, less that of the positions at the start.
        """

@final
class RoomSlot:
    """
    A period of constant prices, outdoor temperature and limits of a room or tank of a site.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, outdoor_celsius: SupportsFloat | SupportsIndex, gain_kw: SupportsFloat | SupportsIndex, cop: SupportsFloat | SupportsIndex, used_kwh: SupportsFloat | SupportsIndex, temperature_celsius: SupportsFloat | SupportsIndex, temperature_min_celsius: SupportsFloat | SupportsIndex, temperature_max_celsius: SupportsFloat | SupportsIndex) -> RoomSlot: ...
    def __repr__(self, /) -> str: ...
    @property
    def cop(self, /) -> float:
        """
        Heat moved per electrical energy (coefficient of performance).
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the slot, in UTC.
        """
    @property
    def gain_kw(self, /) -> float:
        """
        Heat from elsewhere over the slot, in kW; negative is drawn.
        """
    @property
    def outdoor_celsius(self, /) -> float:
        """
        Outdoor temperature, or that around a tank, in °C.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    @property
    def temperature_celsius(self, /) -> float:
        """
        Temperature at the end of the slot, in °C.
        """
    @property
    def temperature_max_celsius(self, /) -> float:
        """
        Highest temperature of the band at the end of the slot, in °C: the lower one of those
        before and after that instant, but not below `temperature_min_celsius`.
        """
    @property
    def temperature_min_celsius(self, /) -> float:
        """
        Lowest temperature of the band at the end of the slot, in °C: the higher one of those
        before and after that instant.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def used_kwh(self, /) -> float:
        """
        Electrical energy used over the slot, in kWh, at constant power.
        """

@final
class ScenarioPrices:
    """
    Prices that may come true, in a currency; see `slackwater.MarkovPrices` and
    `slackwater.PriceTree`.
    """
    @property
    def currency(self, /) -> str: ...
    @staticmethod
    def markov(states: SupportsGetItem[int, Prices], *, transitions: SupportsGetItem[int, SupportsGetItem[int, SupportsGetItem[int, SupportsFloat | SupportsIndex]]], first: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> ScenarioPrices: ...
    @staticmethod
    def tree(branches: SupportsGetItem[int, tuple[SupportsIndex | None, SupportsFloat | SupportsIndex, Prices]]) -> ScenarioPrices: ...

@final
class Series:
    """
    A step function of time and the unit of its values. See `slackwater.Series`.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __len__(self, /) -> int: ...
    def between(self, /, start: Incomplete, end: Incomplete) -> Series: ...
    @staticmethod
    def concat(series: SupportsGetItem[int, Series]) -> Series: ...
    def ends(self, /) -> tuple[datetime, datetime] | None: ...
    @staticmethod
    def from_read(read: Prices, *, unit: str, factor: SupportsFloat | SupportsIndex) -> Series:
        """
        Values that were read as if they were prices.
        """
    @staticmethod
    def from_slots(slots: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], *, unit: str, factor: SupportsFloat | SupportsIndex) -> Series: ...
    @property
    def gaps(self, /) -> list[tuple[datetime, datetime]]: ...
    def plus(self, /, value: SupportsFloat | SupportsIndex) -> Series: ...
    def plus_other(self, /, other: Series, cut: bool) -> Series: ...
    def resampled(self, /, resolution: str, time_zone: str, how: str) -> Series: ...
    @property
    def slots(self, /) -> list[tuple[datetime, datetime, float]]: ...
    def summary(self, /) -> tuple[float, float, float] | None: ...
    def times(self, /, factor: SupportsFloat | SupportsIndex) -> Series: ...
    @property
    def unit(self, /) -> str: ...
    def value_at(self, /, at: Incomplete) -> float | None: ...
    def weigh(self, /, periods: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]]) -> float:
        """
        Sum of value times power over periods of constant power.
        """

@final
class Session:
    """
    Time without pause in which the device is on.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, energy_kwh: SupportsFloat | SupportsIndex, is_carried: bool) -> Session: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> datetime:
        """
        First instant after the session, in UTC.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy bought over the session, in kWh at the plug.
        """
    @property
    def is_carried(self, /) -> bool:
        """
        True if it continues a session from before the plan, so that it costs no start.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant within the plan, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class Shortfall:
    """
    Unmet energy of a vehicle.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, row: SupportsIndex, energy_kwh: SupportsFloat | SupportsIndex, node: str | None, cause: str) -> Shortfall: ...
    def __repr__(self, /) -> str: ...
    @property
    def cause(self, /) -> str:
        """
        The cause: `limit` (that of :attr:`node`), `own_limits` (the stay is too short, the
        charger too weak, or the charge limit below the target) or `no_price` (prices are
        missing in the stay; with them the vehicle alone could have this energy).
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy missing, in kWh at the plug; stored energy if the vehicle discharges.
        """
    @property
    def node(self, /) -> str | None:
        """
        Node whose limit is the cause; `None` for another cause.
        """
    @property
    def row(self, /) -> int:
        """
        Row of the vehicle, from 0.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@disjoint_base
class SimulationResult:
    """
    Tables and amounts of a simulation; see `slackwater.Simulation` and `slackwater.HomeSimulation`.
    """
    def __new__(cls, /, native: SimulationResult, *_rest: "object") -> SimulationResult:
        """
        Makes the class of Python, which takes a currency beside the result.
        """
    @property
    def _amounts(self, /) -> list[tuple[str, str]]:
        """
        Amounts by name, as decimal texts.
        """
    @staticmethod
    def _of_tables(homes: SimulationTable, steps: SimulationTable | None, amounts: SupportsGetItem[int, tuple[str, str]]) -> SimulationResult:
        """
        A result of its tables and amounts, as a pickled one has them.
        """
    @property
    def homes(self, /) -> SimulationTable:
        """
        One row a home: energies, amounts, parts of the regret. Those of its stays are added up.
        """
    @property
    def steps(self, /) -> SimulationTable | None:
        """
        One row for each decision of each stay or home; ``None`` if they were not kept.

        ``missing_kwh`` of a stay and ``stored_kwh`` of a home are those at ``end``. The costs
        of the steps and ``shortfall_cost`` add up to ``cost``.
        """

@final
class SimulationTable(Table):
    """
    Rows of a simulation, for any Arrow library. Amounts are exact decimals.
    """
    def __new__(cls, /, ipc: bytes) -> SimulationTable:
        """
        Reads the bytes of an Arrow stream, as a pickled table has them.
        """
    def __repr__(self, /) -> str: ...

@final
class SiteBaseline:
    """
    The same devices without a plan.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, costs: SiteCosts, cost: SupportsFloat | SupportsIndex, stored_value: SupportsFloat | SupportsIndex, import_max_kw: SupportsFloat | SupportsIndex, breaches: SupportsGetItem[int, SiteBreach]) -> SiteBaseline: ...
    def __repr__(self, /) -> str: ...
    @property
    def breaches(self, /) -> list[SiteBreach]:
        """
        Slots in which a limit is passed, in time order.
        """
    @property
    def cost(self, /) -> float:
        """
        Sum of the parts, in units of the currency.
        """
    @property
    def costs(self, /) -> SiteCosts:
        """
        Parts of the cost.
        """
    @property
    def import_max_kw(self, /) -> float:
        """
        Highest mean power of the import over a slot, in kW.
        """
    @property
    def stored_value(self, /) -> float:
        """
        Worth of what is stored at the end; not part of the cost.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class SiteBreach:
    """
    A slot in which a limit is passed.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, name: str, phase: str | None, start: datetime, end: datetime, limit_kw: SupportsFloat | SupportsIndex, excess_kw: SupportsFloat | SupportsIndex, excess_kwh: SupportsFloat | SupportsIndex, is_hard: bool) -> SiteBreach: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> datetime:
        """
        First instant after the slot, in UTC.
        """
    @property
    def excess_kw(self, /) -> float:
        """
        Mean power above the limit over the slot, in kW; above 0.
        """
    @property
    def excess_kwh(self, /) -> float:
        """
        Energy above the limit over the slot, in kWh; above 0.
        """
    @property
    def is_hard(self, /) -> bool:
        """
        True for a limit without a price, which fixed loads pass.
        """
    @property
    def limit_kw(self, /) -> float:
        """
        The limit over the slot, in kW.
        """
    @property
    def name(self, /) -> str:
        """
        `import`, `export`, or the name of the group.
        """
    @property
    def phase(self, /) -> str | None:
        """
        Phase, such as `L1`; `None` if it is not a limit of one phase.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant of the slot, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class SiteCause:
    """
    Why a wish is not met.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, code: str, limit: str | None, phase: str | None) -> SiteCause: ...
    def __repr__(self, /) -> str: ...
    @property
    def code(self, /) -> str:
        """
        The cause: `own_limits`, `no_price`, `charge_limit`, `limit`, `no_surplus` or
        `priority`.
        """
    @property
    def limit(self, /) -> str | None:
        """
        Name of the limit that was reached; `None` for other causes.
        """
    @property
    def phase(self, /) -> str | None:
        """
        Phase of that limit, such as `L1`; `None` if it is not one of a phase.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class SiteCertificate:
    """
    Cost of a plan, the bound that no plan can undercut, and the gap.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, cost: SupportsFloat | SupportsIndex, bound: SupportsFloat | SupportsIndex, gap: SupportsFloat | SupportsIndex, allowance: SupportsFloat | SupportsIndex, tolerance: SupportsFloat | SupportsIndex, is_proved: bool, bound_by_duals: SupportsFloat | SupportsIndex, bound_by_search: SupportsFloat | SupportsIndex | None) -> SiteCertificate: ...
    def __repr__(self, /) -> str: ...
    @property
    def allowance(self, /) -> float:
        """
        Most that the preferences may have added to the cost.
        """
    @property
    def bound(self, /) -> float:
        """
        Lower bound on that cost of any plan with no more shortfall.
        """
    @property
    def bound_by_duals(self, /) -> float:
        """
        Lower bound by the duals of the plan alone, which `SitePlan.verify` computes anew.
        """
    @property
    def bound_by_search(self, /) -> float | None:
        """
        Bound of the solver's search with binaries, where it is higher than `bound_by_duals`;
        `None` if it is not. Nothing but that search proves it.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the plan less the value stored at the end, in units of the currency.
        """
    @property
    def gap(self, /) -> float:
        """
        Cost minus bound: the most that another plan can save.
        """
    @property
    def is_proved(self, /) -> bool:
        """
        True if cost and bound are equal up to `tolerance` and `allowance`.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def tolerance(self, /) -> float:
        """
        Difference between cost and bound that counts as rounding: 1e-7 of all payments, and a
        milliwatt-hour at the highest price.
        """

@final
class SiteCosts:
    """
    The parts of a cost; they add up to it.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, energy: SupportsFloat | SupportsIndex, export: SupportsFloat | SupportsIndex, demand: SupportsFloat | SupportsIndex, tiers: SupportsFloat | SupportsIndex, carbon: SupportsFloat | SupportsIndex, wear: SupportsFloat | SupportsIndex, breach: SupportsFloat | SupportsIndex) -> SiteCosts: ...
    def __repr__(self, /) -> str: ...
    @property
    def breach(self, /) -> float:
        """
        Energy above limits that have a price, and stored energy outside of soft bounds.
        """
    @property
    def carbon(self, /) -> float:
        """
        Emissions of the imported energy at their price.
        """
    @property
    def demand(self, /) -> float:
        """
        Demand charges for the peaks above those that are paid for already, of import and export.
        """
    @property
    def energy(self, /) -> float:
        """
        Imported energy at the prices to buy at, in units of the currency.
        """
    @property
    def export(self, /) -> float:
        """
        Exported energy, in units of the currency; negative where it earns.
        """
    @property
    def tiers(self, /) -> float:
        """
        Surcharges of the blocks of imported energy.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def wear(self, /) -> float:
        """
        Wear of batteries that discharge.
        """

@final
class SiteLimit:
    """
    A limit over time: what it allows, what passes, what more would save.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, name: str, phase: str | None, limit_kw: SupportsGetItem[int, SupportsFloat | SupportsIndex | None], power_kw: SupportsGetItem[int, SupportsFloat | SupportsIndex], shadow_price_per_kwh: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> SiteLimit: ...
    def __repr__(self, /) -> str: ...
    @property
    def limit_kw(self, /) -> list[float | None]:
        """
        The limit over each slot, in kW; `None` where there is none.
        """
    @property
    def name(self, /) -> str:
        """
        `import`, `export`, or the name of the group.
        """
    @property
    def phase(self, /) -> str | None:
        """
        Phase, such as `L1`; `None` if it is not a limit of one phase.
        """
    @property
    def power_kw(self, /) -> list[float]:
        """
        Mean power over each slot, in kW; negative where a group feeds.
        """
    @property
    def shadow_price_per_kwh(self, /) -> list[float]:
        """
        Cost saved by one more kWh of the limit in each slot, in units of the currency; 0 or
        more.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@disjoint_base
class SitePlan:
    """
    Plan of a site with its request, prices and currency; see `slackwater.SitePlan`.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object:
        """
        One row per device and slot.
        Hand one row per device and slot to an Arrow library.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, native: SitePlan, *_rest: "object") -> SitePlan:
        """
        Makes the class of Python, which takes prices beside the plan.
        """
    @property
    def _export_prices(self, /) -> Prices | None: ...
    @property
    def _import_prices(self, /) -> Prices: ...
    @property
    def baseline(self, /) -> SiteBaseline:
        """
        Baseline: the same devices without a plan, at full power at once, limits ignored.
        """
    @property
    def baseline_carbon_kg(self, /) -> float | None:
        """
        Emissions of the baseline in kg; ``None`` where they have no price.
        """
    @property
    def breaches(self, /) -> list[SiteBreach]:
        """
        Slots in which a limit is passed, with the kW above it.
        """
    @property
    def carbon_cost(self, /) -> float:
        """
        The part of the cost that is the price of emissions.
        """
    @property
    def carbon_kg(self, /) -> float:
        """
        Emissions of the imported energy in kg; 0 if no intensity was given.
        """
    @property
    def certificate(self, /) -> SiteCertificate:
        """
        The proof: cost less stored value, bound and gap.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the site: the sum of :attr:`costs`.
        """
    @property
    def costs(self, /) -> SiteCosts:
        """
        Energy, export (negative where it earns), demand, tiers, carbon, wear, breach.
        """
    @property
    def devices(self, /) -> list[DevicePlan]:
        """
        Plans of the devices, in the order they were given.
        """
    def explain(self, /, *, time_zone: str) -> SiteReasons: ...
    @property
    def export_peak_kw(self, /) -> float | None:
        """
        Peak of the export that a demand charge on it counts; ``None`` without one.
        """
    @property
    def export_sources(self, /) -> list[SourceShare]:
        """
        Energy exported at the prices of each source, with its revenue.
        """
    @property
    def forgone_kwh(self, /) -> float:
        """
        Energy at negative prices that vehicles do not buy, in kWh.

        They may not charge beyond their targets (``fill_when_negative=False``, or no battery). It is
        what limits of the site leave them, and of the battery the room up to its charge limit.
        """
    @property
    def forgone_revenue(self, /) -> float:
        """
        Money that :attr:`forgone_kwh` would earn at most, in units of the currency.
        """
    @property
    def is_reproducible(self, /) -> bool:
        """
        Whether every run gives this plan: no clock ended the search.
        """
    @property
    def limits(self, /) -> list[SiteLimit]:
        """
        All limits with the power through them and their shadow prices.
        """
    def limits_table(self, /) -> Table:
        """
        List all limits over time, one row per limit and slot.

        Returns:
            A table with ``name``, ``phase`` (null if it is not a limit of one phase), ``start``,
            ``end`` (in UTC), ``limit_kw`` (null where there is none), ``power_kw`` (mean power of
            the slot; negative where a group feeds) and ``shadow_price_per_kwh``.
        """
    @property
    def now(self, /) -> datetime:
        """
        First instant that the plan could use, in UTC.
        """
    @property
    def peak_kw(self, /) -> float | None:
        """
        Peak of the import that a demand charge counts; ``None`` without one.
        """
    @property
    def savings(self, /) -> float:
        """
        Cost of the baseline minus the cost; negative if limits made the plan more expensive.

        Stored energy of the start that is sold or used counts as savings, less its value at
        ``end_value_per_kwh``: :attr:`stock_used_kwh` tells how much that is.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Sum of what is missing at all deadlines, in kWh at the plug.
        """
    @property
    def slots(self, /) -> list[SiteSlot]:
        """
        Import, export and prices, slot by slot.
        """
    @property
    def sources(self, /) -> list[SourceShare]:
        """
        Energy imported at the prices of each source, in the order of the layers.

        Prices without layers are one known source, ``"prices"``.
        """
    @property
    def stability(self, /) -> Stability | None:
        """
        How close the plan was kept to the one before; ``None`` if it was not.
        """
    @property
    def status(self, /) -> str:
        """
        How the search ended.

        ``"optimal"`` comes with a proof; where the search was one of whole
        numbers, that proof is the solver's. After
        ``"limit_reached"`` or ``"time_reached"`` the gap says what may be
        left. After ``"solver_failed"``, or ``"bound_above_cost"`` where the
        solver contradicts itself, the plan keeps all limits, and cheaper
        plans may exist.
        """
    @property
    def stock_used_kwh(self, /) -> float:
        """
        Stored energy of the start that is not there at the end, in kWh: it was sold or used.

        Of batteries and of vehicles that discharge, without what is driven with. What it saves is a
        part of :attr:`savings`, less its value at ``end_value_per_kwh``. A target for the end keeps
        it.
        """
    @property
    def stored_value(self, /) -> float:
        """
        Worth of what is stored at the end; not part of the cost.
        """
    @property
    def unpriced_hours(self, /) -> float:
        """
        Time before the last deadline without a price, never used, in hours.

        Without a deadline it ends with ``until``, or with the last price. With
        ``export_prices``, time without one of the two prices counts.
        """
    def verify(self, /) -> Verification:
        """
        Compute each statement of the plan and of its certificate anew from its request.

        The powers of the devices have to keep all limits, levels and rules; prices, energies,
        outcomes and costs have to be those of the request at these powers. The bound is computed by
        weak duality from the duals that the plan holds, without the solver. Where a search with
        whole numbers proved more than the duals do, its bound is taken as it is: see
        ``certificate.bound_by_search``. That no plan misses less is not checked.

        Returns:
            Each statement with the computed number and the difference. Nothing is raised for a
            statement that does not hold: look at ``failed``. The plan of an older file has no
            duals, and fails with ``duals``.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10], currency="EUR")
            >>> van = sw.Vehicle("van", power_max_kw=11, targets=[sw.Target(None, 15)])
            >>> plan = sw.plan_site(prices, now=six, devices=[van])
            >>> plan.verify().holds
            True
            >>> text = plan.to_json().replace('"import_kwh": 11.0', '"import_kwh": 10.0')
            >>> sw.SitePlan.from_json(text).verify().failed
            ['slots[1].import_kwh']
        """

@final
class SiteReason:
    """
    A period in which a device does one thing for one reason, or that is not used.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, device: str | None, start: datetime, end: datetime, energy_kwh: SupportsFloat | SupportsIndex, price_max_per_kwh: SupportsFloat | SupportsIndex | None, code: str, deadline: datetime | None, limit: str | None, limit_phase: str | None, limit_at: datetime | None, shadow_price_per_kwh: SupportsFloat | SupportsIndex | None, sentence: str) -> SiteReason: ...
    def __repr__(self, /) -> str: ...
    @property
    def code(self, /) -> str:
        """
        The reason, such as `deadline`, `limit`, `peak`, `export_peak`, `solar_surplus`,
        `priority`, `soft_bound`, `power_wanted` or `no_price`; of heat units also `hold`,
        `ahead` or `recover`.
        """
    @property
    def deadline(self, /) -> datetime | None:
        """
        Next deadline of the device, in UTC; `None` if it has none.
        """
    @property
    def device(self, /) -> str | None:
        """
        Name of the device; `None` for time without a price.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the period, in UTC.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy over the period, in kWh: positive is drawn, negative is fed. For solar power that
        is turned down, the energy lost.
        """
    @property
    def limit(self, /) -> str | None:
        """
        Name of the limit that causes the reason; `None` if none does.
        """
    @property
    def limit_at(self, /) -> datetime | None:
        """
        Start of the cheaper slot in which that limit binds, in UTC; `None` if none does.
        """
    @property
    def limit_phase(self, /) -> str | None:
        """
        Phase of that limit; `None` if it is not one of a phase.
        """
    @property
    def price_max_per_kwh(self, /) -> float | None:
        """
        Highest price of the period, per kWh: of import with its emissions, or of export in
        slots that only export; `None` for time without a price.
        """
    @property
    def sentence(self, /) -> str:
        """
        The reason as a sentence, with times on the wall clock that `explain` was asked for.
        """
    @property
    def shadow_price_per_kwh(self, /) -> float | None:
        """
        Cost saved there by one more kWh of the limit; `None` if no limit causes the reason.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant of the period, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class SiteReasons:
    """
    Sequence of `SiteReason` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> SiteReason: ...
    def __getnewargs__(self, /) -> tuple[list[SiteReason]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[SiteReason]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, SiteReason]) -> SiteReasons: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class SiteSlot:
    """
    A period in which nothing changes, with what passes the meter.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, import_price_per_kwh: SupportsFloat | SupportsIndex, export_price_per_kwh: SupportsFloat | SupportsIndex, carbon_kg_per_kwh: SupportsFloat | SupportsIndex, import_kwh: SupportsFloat | SupportsIndex, export_kwh: SupportsFloat | SupportsIndex) -> SiteSlot: ...
    def __repr__(self, /) -> str: ...
    @property
    def carbon_kg_per_kwh(self, /) -> float:
        """
        Emissions of an imported kWh over the slot, in kg; 0 if no intensity was given.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the slot, in UTC.
        """
    @property
    def export_kwh(self, /) -> float:
        """
        Energy into the grid over the slot, in kWh, as a positive number.
        """
    @property
    def export_price_per_kwh(self, /) -> float:
        """
        Revenue of an exported kWh over the slot, in units of the currency; 0 if nothing is
        paid.
        """
    @property
    def import_kwh(self, /) -> float:
        """
        Energy from the grid over the slot, in kWh; 0 or more.
        """
    @property
    def import_price_per_kwh(self, /) -> float:
        """
        Price of an imported kWh over the slot, in units of the currency.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class SiteWish:
    """
    Outcome of one wish of a device.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, by: datetime | None, wanted_kwh: SupportsFloat | SupportsIndex, delivered_kwh: SupportsFloat | SupportsIndex, shortfall_kwh: SupportsFloat | SupportsIndex, reached_at: datetime | None, causes: SupportsGetItem[int, SiteCause]) -> SiteWish: ...
    def __repr__(self, /) -> str: ...
    @property
    def by(self, /) -> datetime | None:
        """
        The deadline, in UTC; `None` is the end of the plan or of the session.
        """
    @property
    def causes(self, /) -> list[SiteCause]:
        """
        Causes of the shortfall; empty if there is none.
        """
    @property
    def delivered_kwh(self, /) -> float:
        """
        Energy delivered by the deadline, in kWh at the plug.
        """
    @property
    def reached_at(self, /) -> datetime | None:
        """
        Instant at which the wanted energy is there, in time or late, in UTC; `None` if never.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Energy missing at the deadline, in kWh at the plug; 0 if the wish is met.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def wanted_kwh(self, /) -> float:
        """
        Energy wanted by the deadline, in kWh at the plug.
        """

@final
class SocPoint:
    """
    Energy bought, and state of charge, by an instant.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, at: datetime, energy_kwh: SupportsFloat | SupportsIndex, soc_percent: SupportsFloat | SupportsIndex | None) -> SocPoint: ...
    def __repr__(self, /) -> str: ...
    @property
    def at(self, /) -> datetime:
        """
        The instant, in UTC.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy bought until then, counted from the start of the plan, in kWh at the plug.
        """
    @property
    def soc_percent(self, /) -> float | None:
        """
        State of charge at the instant, in percent; `None` if the plan knows no battery.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class SourceShare:
    """
    Energy that a plan buys, or sells, at the prices of one source.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, source: str, is_estimate: bool, energy_kwh: SupportsFloat | SupportsIndex, cost: SupportsFloat | SupportsIndex) -> SourceShare: ...
    def __repr__(self, /) -> str: ...
    @property
    def cost(self, /) -> float:
        """
        Cost of the energy bought, or revenue of the energy sold, in units of the currency.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy bought, or sold, at these prices, in kWh at the plug; positive for both.
        """
    @property
    def is_estimate(self, /) -> bool:
        """
        True if the prices are estimated, not known.
        """
    @property
    def source(self, /) -> str:
        """
        Name of the source; `"prices"` for prices without layers.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class Stability:
    """
    How close a plan was kept to the one before, and what that costs.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, budget: SupportsFloat | SupportsIndex, spent: SupportsFloat | SupportsIndex, extra_cost: SupportsFloat | SupportsIndex, change_kwh: SupportsFloat | SupportsIndex, change_bound_kwh: SupportsFloat | SupportsIndex, cheapest_change_kwh: SupportsFloat | SupportsIndex, price_of_change_per_kwh: SupportsFloat | SupportsIndex | None, is_proved: bool) -> Stability: ...
    def __repr__(self, /) -> str: ...
    @property
    def budget(self, /) -> float:
        """
        Money that the whole stay may cost beyond the cheapest plans, in units of the currency.
        """
    @property
    def change_bound_kwh(self, /) -> float:
        """
        Lower bound on that sum of every plan within the budget, in kWh.
        """
    @property
    def change_kwh(self, /) -> float:
        """
        Sum over all slots of the energy that is more or less than in the plan before, in kWh.
        """
    @property
    def cheapest_change_kwh(self, /) -> float:
        """
        That sum of the cheapest plan, in kWh.
        """
    @property
    def extra_cost(self, /) -> float:
        """
        Cost of this plan beyond the cheapest; 0 or more. It is spent while the plan runs.
        """
    @property
    def is_proved(self, /) -> bool:
        """
        True if no plan within the budget changes less.
        """
    @property
    def price_of_change_per_kwh(self, /) -> float | None:
        """
        Cost of one kWh less of change; `None` if the budget does not bind.
        """
    @property
    def spent(self, /) -> float:
        """
        Part of the budget that earlier plans have spent when this plan starts.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class StorageCertificate:
    """
    Cost of a plan, the bound that no plan can undercut, and how it was found.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, cost: SupportsFloat | SupportsIndex, bound: SupportsFloat | SupportsIndex, gap: SupportsFloat | SupportsIndex, is_proved: bool, bound_by_values: SupportsFloat | SupportsIndex, nodes: SupportsIndex, bound_by_search: SupportsFloat | SupportsIndex | None, stored_start_kwh: SupportsFloat | SupportsIndex, efficiency: SupportsFloat | SupportsIndex, discharge_efficiency: SupportsFloat | SupportsIndex, wear_price_per_kwh: SupportsFloat | SupportsIndex, end_value_per_kwh: SupportsFloat | SupportsIndex, slots: SupportsGetItem[int, StorageSlot]) -> StorageCertificate: ...
    def __repr__(self, /) -> str: ...
    @property
    def bound(self, /) -> float:
        """
        Lower bound on the cost of every plan.
        """
    @property
    def bound_by_search(self, /) -> float | None:
        """
        Bound of that branch and bound; `None` if none was needed.
        """
    @property
    def bound_by_values(self, /) -> float:
        """
        Lower bound by the marginal values of the slots alone; at most `bound`.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of the plan, in units of the currency: import less export plus wear less stored
        value.
        """
    @property
    def discharge_efficiency(self, /) -> float:
        """
        Energy at the plug per stored energy when discharging.
        """
    @property
    def efficiency(self, /) -> float:
        """
        Stored energy per energy at the plug when charging.
        """
    @property
    def end_value_per_kwh(self, /) -> float:
        """
        Value of a kWh stored at the end, in units of the currency.
        """
    @property
    def gap(self, /) -> float:
        """
        Cost minus bound: the most that another plan can save; 0 up to rounding if proved.
        """
    @property
    def is_proved(self, /) -> bool:
        """
        True if the gap is rounding: at most 1e-9 of the cost, or of 1 if the cost is less.
        """
    @property
    def nodes(self, /) -> int:
        """
        Number of relaxations that a branch and bound solved; 1 if none was needed.
        """
    @property
    def slots(self, /) -> list[StorageSlot]:
        """
        All slots with energies, levels, limits and marginal values, in time order.
        """
    @property
    def stored_start_kwh(self, /) -> float:
        """
        Stored energy at the start of the plan, in kWh.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    def verify(self, /) -> Verification:
        """
        Compute each statement anew from the numbers of the certificate alone.

        The cost is summed up from the slots, the balance of stored energy is followed, and the
        bound is the Lagrangian at the marginal values of the slots. None of it uses the planner.
        Where a branch and bound was needed, the bound of its search is taken as it is.

        Returns:
            Each statement with the computed number and the difference. Nothing is raised for a
            statement that does not hold: look at ``failed``.

        Raises:
            InputError: A number of the certificate is NaN, infinite or beyond all measure.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.10, 0.40, 0.20], currency="EUR")
            >>> battery = sw.Battery(capacity_kwh=10, soc_percent=50)
            >>> plan = sw.plan_storage(
            ...     prices, export_prices=prices, now=six, battery=battery,
            ...     power_max_kw=4, discharge_max_kw=4, targets=[sw.SocTarget(None, 50)],
            ... )
            >>> plan.certificate.verify().holds
            True
        """
    @property
    def wear_price_per_kwh(self, /) -> float:
        """
        Wear of a stored kWh that is discharged to the plug, in units of the currency.
        """

@final
class StorageOutcome:
    """
    Outcome of one target.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, by: datetime | None, wanted_percent: SupportsFloat | SupportsIndex, soc_percent: SupportsFloat | SupportsIndex, shortfall_kwh: SupportsFloat | SupportsIndex, above_limit_kwh: SupportsFloat | SupportsIndex, reached_at: datetime | None) -> StorageOutcome: ...
    def __repr__(self, /) -> str: ...
    @property
    def above_limit_kwh(self, /) -> float:
        """
        Part of the shortfall above the charge limit at the deadline, which no plan can deliver,
        in stored kWh.
        """
    @property
    def by(self, /) -> datetime | None:
        """
        The deadline, in UTC; `None` is the end of the plan.
        """
    @property
    def reached_at(self, /) -> datetime | None:
        """
        Instant at which the wanted energy is stored, in time or late, in UTC; `None` if never.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Stored energy missing at the deadline, in kWh; 0 if the target is met.
        """
    @property
    def soc_percent(self, /) -> float:
        """
        State of charge at the deadline, in percent.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def wanted_percent(self, /) -> float:
        """
        State of charge wanted by the deadline, in percent.
        """

@disjoint_base
class StoragePlan:
    """
    Plan of a battery with its request, prices and currency; see `slackwater.StoragePlan`.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object:
        """
        Hand the slots of the plan to an Arrow library.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, native: StoragePlan, *_rest: "object") -> StoragePlan:
        """
        Makes the class of Python, which takes prices beside the plan.
        """
    @property
    def _export_prices(self, /) -> Prices | None: ...
    @property
    def _import_prices(self, /) -> Prices: ...
    @property
    def baseline_cost(self, /) -> float:
        """
        Cost without discharging, charged at full power from plug-in.

        It charges the energy of the targets, or the net energy of the plan if
        that is more; energy left at the end counts at ``end_value_per_kwh`` in both.
        """
    @property
    def capacity_kwh(self, /) -> float:
        """
        Usable capacity of the battery, in kWh.
        """
    @property
    def certificate(self, /) -> StorageCertificate:
        """
        The proof: cost, bound and gap. Rests on the marginal values of the slots.
        """
    @property
    def charged_kwh(self, /) -> float:
        """
        Energy bought, in kWh at the plug.
        """
    @property
    def cost(self, /) -> float:
        """
        Import minus export plus wear minus the value stored, in units of the currency.

        The sum of :attr:`import_cost`, :attr:`wear_cost`, less
        :attr:`export_revenue` and :attr:`stored_value`.
        """
    @property
    def discharged_kwh(self, /) -> float:
        """
        Energy sold, in kWh at the plug.
        """
    def explain(self, /, *, time_zone: str) -> StorageReasons: ...
    @property
    def export_revenue(self, /) -> float:
        """
        Revenue of the sold energy.
        """
    @property
    def export_sources(self, /) -> list[SourceShare]:
        """
        Energy sold at the prices of each source, with its revenue.
        """
    @property
    def floor_shortfall_kwh(self, /) -> float:
        """
        Most stored energy missing below reserve or ``soc_min_percent``, in kWh.
        """
    @property
    def import_cost(self, /) -> float:
        """
        Cost of the bought energy.
        """
    @property
    def intervals(self, /) -> Intervals:
        """
        Periods of charging (positive kW) and discharging (negative), in UTC.
        """
    @property
    def now(self, /) -> datetime:
        """
        First instant that the plan could use, in UTC.
        """
    @property
    def savings(self, /) -> float:
        """
        Baseline cost minus cost, signed.

        Stored energy of the start that is sold counts as savings, less its value at
        ``end_value_per_kwh``: :attr:`stock_used_kwh` tells how much that is.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Most stored energy missing at a target, in kWh; 0 if all are met.
        """
    @property
    def slots(self, /) -> list[StorageSlot]:
        """
        All slots, with energies, levels, their bounds and marginal values.
        """
    def soc_percent_by(self, /, at: Incomplete) -> float: ...
    @property
    def sources(self, /) -> list[SourceShare]:
        """
        Energy bought at the prices of each source, in the order of the layers.

        Prices without layers are one known source, ``"prices"``.
        """
    @property
    def stability(self, /) -> Stability | None:
        """
        How close the plan was kept to the one before; ``None`` if it was not.
        """
    @property
    def stock_used_kwh(self, /) -> float:
        """
        Stored energy of the start that is not there at the end, in kWh: it was sold.

        Its revenue is a part of :attr:`savings`, less its value at ``end_value_per_kwh``. A
        target at the end keeps it.
        """
    @property
    def stored_value(self, /) -> float:
        """
        Value of what is stored at the end beyond the start, at ``end_value_per_kwh``.
        """
    @property
    def targets(self, /) -> list[StorageOutcome]:
        """
        Outcome of each target, in the order they were given.

        ``above_limit_kwh`` is the part of ``shortfall_kwh`` that lies above
        the charge limit that holds at the deadline.
        """
    @property
    def unpriced_hours(self, /) -> float:
        """
        Time from ``now`` to the end of the plan without a price, in hours.

        Nothing is bought without a price to buy at. With prices to sell at, time
        without one of them counts too: nothing is sold then.
        """
    @property
    def unserved_kwh(self, /) -> float:
        """
        Consumption that the battery cannot serve, in stored kWh.
        """
    @property
    def wear_cost(self, /) -> float:
        """
        Wear of the stored energy that is discharged to the plug.
        """

@final
class StorageReason:
    """
    Why a period of charging or discharging is in a plan, or why a period is not used.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, energy_kwh: SupportsFloat | SupportsIndex, cost: SupportsFloat | SupportsIndex, price_min_per_kwh: SupportsFloat | SupportsIndex | None, price_max_per_kwh: SupportsFloat | SupportsIndex | None, code: str, marginal_value_per_kwh: SupportsFloat | SupportsIndex, deadline: datetime | None, counterpart_start: datetime | None, counterpart_price_per_kwh: SupportsFloat | SupportsIndex | None, sentence: str) -> StorageReason: ...
    def __repr__(self, /) -> str: ...
    @property
    def code(self, /) -> str:
        """
        The reason: `reserve`, `target`, `driving`, `negative_price`, `sell_later`, `end_value`,
        `buy_back`, `above_value`, `make_room`, `no_price` or `stock_used`.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of that energy without wear, in units of the currency; negative is revenue.
        """
    @property
    def counterpart_price_per_kwh(self, /) -> float | None:
        """
        Price of a kWh in that slot; `None` if there is none.
        """
    @property
    def counterpart_start(self, /) -> datetime | None:
        """
        Start of the slot in which the energy is sold or bought back, in UTC; `None` if there is
        none.
        """
    @property
    def deadline(self, /) -> datetime | None:
        """
        Instant by which the energy is wanted, in UTC; `None` if it is not for a wish. For time
        without a price the first deadline that is missed because of it.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the period, in UTC.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy over the period, in kWh at the plug: positive is bought, negative is sold.
        """
    @property
    def marginal_value_per_kwh(self, /) -> float:
        """
        Value of one more stored kWh in the period, in units of the currency.
        """
    @property
    def price_max_per_kwh(self, /) -> float | None:
        """
        Highest price in the period, per kWh; `None` for time without a price.
        """
    @property
    def price_min_per_kwh(self, /) -> float | None:
        """
        Least price in the period, per kWh; `None` for time without a price.
        """
    @property
    def sentence(self, /) -> str:
        """
        The reason as a sentence, with times on the wall clock that `explain` was asked for.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant of the period, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class StorageReasons:
    """
    Sequence of `StorageReason` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> StorageReason: ...
    def __getnewargs__(self, /) -> tuple[list[StorageReason]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[StorageReason]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, StorageReason]) -> StorageReasons: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class StorageSlot:
    """
    A period of constant prices and limits, used or not.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, import_price_per_kwh: SupportsFloat | SupportsIndex | None, export_price_per_kwh: SupportsFloat | SupportsIndex | None, power_max_kw: SupportsFloat | SupportsIndex, discharge_max_kw: SupportsFloat | SupportsIndex, charged_kwh: SupportsFloat | SupportsIndex, discharged_kwh: SupportsFloat | SupportsIndex, driven_kwh: SupportsFloat | SupportsIndex, stored_kwh: SupportsFloat | SupportsIndex, stored_min_kwh: SupportsFloat | SupportsIndex, stored_max_kwh: SupportsFloat | SupportsIndex, charge_limit_kwh: SupportsFloat | SupportsIndex, soc_percent: SupportsFloat | SupportsIndex, soc_min_percent: SupportsFloat | SupportsIndex, soc_max_percent: SupportsFloat | SupportsIndex, marginal_value_per_kwh: SupportsFloat | SupportsIndex) -> StorageSlot: ...
    def __repr__(self, /) -> str: ...
    @property
    def charge_limit_kwh(self, /) -> float:
        """
        Charge limit over the slot as stored energy, in kWh.
        """
    @property
    def charged_kwh(self, /) -> float:
        """
        Energy bought over the slot, in kWh at the plug.
        """
    @property
    def discharge_max_kw(self, /) -> float:
        """
        Highest discharging power over the slot, in kW at the plug, as a positive number; 0
        while unplugged.
        """
    @property
    def discharged_kwh(self, /) -> float:
        """
        Energy sold over the slot, in kWh at the plug, as a positive number.
        """
    @property
    def driven_kwh(self, /) -> float:
        """
        Stored energy used by driving over the slot, as far as the battery can serve it, in kWh.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the slot, in UTC.
        """
    @property
    def export_price_per_kwh(self, /) -> float | None:
        """
        Revenue of a kWh sold over the slot; `None` if nothing may be sold.
        """
    @property
    def import_price_per_kwh(self, /) -> float | None:
        """
        Price of a kWh bought over the slot; `None` if it is not known, then nothing is bought.
        """
    @property
    def marginal_value_per_kwh(self, /) -> float:
        """
        Value of one more stored kWh in the slot, in units of the currency.
        """
    @property
    def power_max_kw(self, /) -> float:
        """
        Highest charging power over the slot, in kW at the plug; 0 while unplugged.
        """
    @property
    def soc_max_percent(self, /) -> float:
        """
        `stored_max_kwh` in percent of the capacity.
        """
    @property
    def soc_min_percent(self, /) -> float:
        """
        `stored_min_kwh` in percent of the capacity.
        """
    @property
    def soc_percent(self, /) -> float:
        """
        State of charge at the end of the slot, in percent.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    @property
    def stored_kwh(self, /) -> float:
        """
        Stored energy at the end of the slot, in kWh.
        """
    @property
    def stored_max_kwh(self, /) -> float:
        """
        Most stored energy at the end of the slot, in kWh: the charge limit, or the highest
        possible level if that is higher.
        """
    @property
    def stored_min_kwh(self, /) -> float:
        """
        Least stored energy at the end of the slot, in kWh: the wished level, or the highest
        possible one if that is lower.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class SwitchingCertificate:
    """
    Cost of a plan, the bound that no plan can undercut, and the search that it rests on.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, method: str, status: str, is_complete: bool, cost: SupportsFloat | SupportsIndex, bound: SupportsFloat | SupportsIndex, gap: SupportsFloat | SupportsIndex, is_proved: bool, relaxed_bound: SupportsFloat | SupportsIndex | None, relaxed_price_per_kwh: SupportsFloat | SupportsIndex | None) -> SwitchingCertificate: ...
    def __repr__(self, /) -> str: ...
    @property
    def bound(self, /) -> float:
        """
        Lower bound on the cost of all plans with as little shortfall.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of energy and starts, in units of the currency.
        """
    @property
    def gap(self, /) -> float:
        """
        Cost minus bound: the most that another plan can save.
        """
    @property
    def is_complete(self, /) -> bool:
        """
        True if the search was complete: its status is `optimal`.
        """
    @property
    def is_proved(self, /) -> bool:
        """
        True if the search was complete and the gap is rounding.
        """
    @property
    def method(self, /) -> str:
        """
        Method of the search: `exact_search` or `mixed_integer`.
        """
    @property
    def relaxed_bound(self, /) -> float | None:
        """
        Lower bound by a price on energy alone; `None` after a mixed-integer programme, or if no
        search found a plan.
        """
    @property
    def relaxed_price_per_kwh(self, /) -> float | None:
        """
        The price of that bound, per kWh; `None` where there is no such bound.
        """
    @property
    def status(self, /) -> str:
        """
        How the search ended: `optimal`, `limit_reached`, `time_reached`, `solver_failed` or
        `bound_above_cost`.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class SwitchingInterval:
    """
    A period at one power.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, power_kw: SupportsFloat | SupportsIndex, is_top_off: bool) -> SwitchingInterval: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> datetime:
        """
        First instant after the interval, in UTC.
        """
    @property
    def is_top_off(self, /) -> bool:
        """
        True for the last slot of a need, which ends early at the least power.
        """
    @property
    def power_kw(self, /) -> float:
        """
        Power throughout, in kW at the plug, at least the least power.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class SwitchingIntervals:
    """
    Sequence of `SwitchingInterval` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> SwitchingInterval: ...
    def __getnewargs__(self, /) -> tuple[list[SwitchingInterval]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[SwitchingInterval]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, SwitchingInterval]) -> SwitchingIntervals: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@disjoint_base
class SwitchingPlan:
    """
    Plan of a device that switches, with its request, prices and currency; see
    `slackwater.SwitchingPlan`.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, native: SwitchingPlan, *_rest: "object") -> SwitchingPlan:
        """
        Makes the class of Python, which takes prices beside the plan.
        """
    @property
    def _import_prices(self, /) -> Prices: ...
    @property
    def baseline_cost(self, /) -> float:
        """
        Cost of the same energy at full power from the start, in one session, in units of the
        currency.
        """
    @property
    def certificate(self, /) -> SwitchingCertificate:
        """
        Cost, bound and gap, with the method that they rest on.

        ``certificate.status`` says how the search ended: ``"optimal"``,
        ``"limit_reached"`` (nodes or work), ``"time_reached"``,
        ``"solver_failed"`` (a better plan may exist) or ``"bound_above_cost"``
        (an internal error). Only an optimal plan can be proved, if its gap is
        rounding beside the sum of all that the plan pays and is paid.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of energy and starts, in units of the currency.
        """
    @property
    def energy_cost(self, /) -> float:
        """
        Cost of the energy alone.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy bought, in kWh at the plug.
        """
    def explain(self, /, *, time_zone: str) -> SwitchingReasons: ...
    @property
    def forgone_kwh(self, /) -> float:
        """
        Energy at negative prices before the last deadline that is not bought, in kWh.

        It is all that the power allows: rules of switching may leave less of it.
        """
    @property
    def forgone_revenue(self, /) -> float:
        """
        Money that :attr:`forgone_kwh` would earn, without starts, in units of the currency.
        """
    @property
    def free_plan(self, /) -> Plan: ...
    @property
    def free_sessions(self, /) -> int:
        """
        Sessions of :attr:`free_plan`.
        """
    @property
    def intervals(self, /) -> SwitchingIntervals:
        """
        Periods at one power, in time order, in UTC.
        """
    @property
    def is_reproducible(self, /) -> bool:
        """
        Whether every run gives this plan: no clock ended the search.
        """
    @property
    def now(self, /) -> datetime:
        """
        First instant that the plan could use, in UTC.
        """
    @property
    def savings(self, /) -> float:
        """
        Baseline cost less cost; negative if the plan costs more.
        """
    @property
    def sessions(self, /) -> list[Session]:
        """
        Time without pause in which the device is on.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Most energy missing at any deadline, in kWh; 0 if all targets are met.
        """
    @property
    def slots(self, /) -> list[PlannedSlot]:
        """
        All slots that the plan could use, with the energy bought in each.
        """
    @property
    def smoothness_cost(self, /) -> float:
        """
        Extra cost of the energy over a free choice of hours; starts are not in it.
        """
    @property
    def sources(self, /) -> list[SourceShare]:
        """
        Energy bought at the prices of each source, in the order of the layers.

        Prices without layers are one known source, ``"prices"``.
        """
    @property
    def stability(self, /) -> Stability | None:
        """
        How close the plan was kept to the one before; ``None`` if it was not.
        """
    @property
    def start_costs(self, /) -> float:
        """
        Cost of all starts.
        """
    @property
    def targets(self, /) -> list[TargetOutcome]:
        """
        Outcome of each target, in the order they were given.
        """
    @property
    def unmet(self, /) -> list[UnmetSwitchingWish]:
        """
        Wishes that could not be kept, by name and by how much.
        """
    def verify(self, /) -> Verification:
        """
        Compute each statement of the plan and of its certificate anew from its slots.

        Energies, sessions, costs and outcomes have to be those of the slots, and the sessions have
        to keep the rules of switching. After an exact search both bounds are computed by another
        method than the search: ``relaxed_bound`` by potentials of the states of the device, and
        ``bound`` path by path for each price that can separate full slots from the least power. A
        report without a line ``bound`` says that the bound rests on the search alone: on a
        mixed-integer programme, on a search that a limit ended, or on one with too many paths to
        follow. That no plan misses less is not checked.

        Returns:
            Each statement with the computed number and the difference. Nothing is raised for a
            statement that does not hold: look at ``failed``.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.10, 0.30, 0.10, 0.20], currency="EUR")
            >>> plan = sw.plan_switching(
            ...     prices, now=six, power_max_kw=10, power_min_kw=4, targets=[(None, 20)],
            ...     start_cost=1.5,
            ... )
            >>> verified = plan.verify()
            >>> verified.holds, verified.checks[-1].line
            (True, 'bound')
        """

@final
class SwitchingReason:
    """
    Why a period of running is in a plan.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, start: datetime, end: datetime, energy_kwh: SupportsFloat | SupportsIndex, cost: SupportsFloat | SupportsIndex, price_max_per_kwh: SupportsFloat | SupportsIndex | None, code: str, deadline: datetime | None, runner_up_start: datetime | None, runner_up_price_per_kwh: SupportsFloat | SupportsIndex | None, sentence: str) -> SwitchingReason: ...
    def __repr__(self, /) -> str: ...
    @property
    def code(self, /) -> str:
        """
        The reason: `cheapest`, `deadline`, `missed_deadline`, `avoids_start`, `on_min`,
        `run_last`, `top_off`, `previous_plan`, `no_price` or `negative_unused`.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of that energy without starts, in units of the currency.
        """
    @property
    def deadline(self, /) -> datetime | None:
        """
        Deadline that the period serves, in UTC; `None` is the end of the known prices.
        """
    @property
    def end(self, /) -> datetime:
        """
        First instant after the period, in UTC.
        """
    @property
    def energy_kwh(self, /) -> float:
        """
        Energy bought in the period, in kWh at the plug.
        """
    @property
    def price_max_per_kwh(self, /) -> float | None:
        """
        Highest price paid in the period, per kWh; `None` for time without a price, and for
        negative prices that are not used.
        """
    @property
    def runner_up_price_per_kwh(self, /) -> float | None:
        """
        Price of a kWh in that slot; `None` if there is none.
        """
    @property
    def runner_up_start(self, /) -> datetime | None:
        """
        Start of the cheapest slot in which the device could run and is off, in UTC; `None` if
        there is none.
        """
    @property
    def sentence(self, /) -> str:
        """
        The reason as a sentence, with times on the wall clock that `explain` was asked for.
        """
    @property
    def start(self, /) -> datetime:
        """
        First instant of the period, in UTC.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class SwitchingReasons:
    """
    Sequence of `SwitchingReason` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> SwitchingReason: ...
    def __getnewargs__(self, /) -> tuple[list[SwitchingReason]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[SwitchingReason]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, SwitchingReason]) -> SwitchingReasons: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@disjoint_base
class Table:
    """
    Columns with names, which any Arrow library reads: ``pyarrow.table(table)``,
    ``polars.DataFrame(table)`` and so on.

    A table can be pickled, so it can be handed to other processes. Two tables are equal if they have
    the same columns and rows.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object:
        """
        Hand the table to an Arrow library.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __getnewargs__(self, /) -> tuple[bytes]: ...
    def __hash__(self, /) -> int: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, ipc: bytes) -> Table:
        """
        Reads the bytes of an Arrow stream, as a pickled table has them.
        """
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def nbytes(self, /) -> int:
        """
        Bytes of all columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of rows.
        """

@final
class TargetOutcome:
    """
    Outcome of one target.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, by: datetime | None, wanted_kwh: SupportsFloat | SupportsIndex, delivered_kwh: SupportsFloat | SupportsIndex, shortfall_kwh: SupportsFloat | SupportsIndex, above_limit_kwh: SupportsFloat | SupportsIndex, reached_at: datetime | None) -> TargetOutcome: ...
    def __repr__(self, /) -> str: ...
    @property
    def above_limit_kwh(self, /) -> float:
        """
        Part of the shortfall above the charge limit of the battery, which no plan can deliver,
        in kWh.
        """
    @property
    def by(self, /) -> datetime | None:
        """
        The deadline, in UTC; `None` is the end of the known prices.
        """
    @property
    def delivered_kwh(self, /) -> float:
        """
        Energy bought by the deadline, counted from the start of the plan, in kWh at the plug.
        """
    @property
    def reached_at(self, /) -> datetime | None:
        """
        Instant at which the wanted energy is there, in time or late, in UTC; `None` if never.
        """
    @property
    def shortfall_kwh(self, /) -> float:
        """
        Energy missing at the deadline, in kWh at the plug; 0 if the target is met.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def wanted_kwh(self, /) -> float:
        """
        Energy wanted by the deadline, counted from the start of the plan, in kWh at the plug.
        """

@final
class TariffComponent:
    """
    One component of a tariff: a source of lines of a bill.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, id: str, kind: str, category: str) -> TariffComponent: ...
    def __repr__(self, /) -> str: ...
    @property
    def category(self, /) -> str:
        """
        Recipient of the amount: `energy` (the supplier), `network`, `tax` or `fee`.
        """
    @property
    def id(self, /) -> str:
        """
        Name of the component.
        """
    @property
    def kind(self, /) -> str:
        """
        The kind: `energy`, `capacity`, `contracted`, `fixed` or `percentage`.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class TariffEntries:
    """
    Sequence of `TariffEntry` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> TariffEntry: ...
    def __getnewargs__(self, /) -> tuple[list[TariffEntry]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[TariffEntry]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, TariffEntry]) -> TariffEntries: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class TariffEntry:
    """
    A tariff that comes with the package.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, id: str, name: str, operator: str, country: str, currency: str, valid_from: date, valid_to: date | None, categories: str, url: str, stated_on: date | None) -> TariffEntry: ...
    def __repr__(self, /) -> str: ...
    @property
    def categories(self, /) -> str:
        """
        Categories of the components, such as `network, tax`: what is not among them is not in
        the bill.
        """
    @property
    def country(self, /) -> str:
        """
        Country by its ISO 3166 code.
        """
    @property
    def currency(self, /) -> str:
        """
        Currency by its ISO 4217 code.
        """
    @property
    def id(self, /) -> str:
        """
        Name for `load_tariff`.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the tariff.
        """
    @property
    def operator(self, /) -> str:
        """
        Company that has the tariff.
        """
    @property
    def stated_on(self, /) -> date | None:
        """
        Last day on which a source states the numbers; `None` if none says so.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def url(self, /) -> str:
        """
        Address of the first source.
        """
    @property
    def valid_from(self, /) -> date:
        """
        First day.
        """
    @property
    def valid_to(self, /) -> date | None:
        """
        Day after the last for which the sources hold; `None` if they name none.
        """

@final
class TariffSource:
    """
    A document that states numbers of a tariff.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, document: str, url: str, read_in: str | None, stated_on: date | None) -> TariffSource: ...
    def __repr__(self, /) -> str: ...
    @property
    def document(self, /) -> str:
        """
        Title of the document, or of the page.
        """
    @property
    def read_in(self, /) -> str | None:
        """
        Collection in which the document was read; `None` if it was the document itself.
        """
    @property
    def stated_on(self, /) -> date | None:
        """
        Day on which the collection or the page states the numbers; `None` if it does not say.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def url(self, /) -> str:
        """
        Address of the document.
        """

@final
class UnmetSwitchingWish:
    """
    A wish that could not be kept, and by how much.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, wish: str, target: SupportsIndex | None, at: datetime | None, shortfall_kwh: SupportsFloat | SupportsIndex | None, shortfall_minutes: SupportsFloat | SupportsIndex | None) -> UnmetSwitchingWish: ...
    def __repr__(self, /) -> str: ...
    @property
    def at(self, /) -> datetime | None:
        """
        End of the session that is shorter than `on_min`, in UTC; `None` for other wishes.
        """
    @property
    def shortfall_kwh(self, /) -> float | None:
        """
        Energy missing, in kWh at the plug; `None` for wishes about time.
        """
    @property
    def shortfall_minutes(self, /) -> float | None:
        """
        Time missing, in minutes; `None` for wishes about energy.
        """
    @property
    def target(self, /) -> int | None:
        """
        Position of the target in the request, from 0; `None` for other wishes.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """
    @property
    def wish(self, /) -> str:
        """
        Name of the wish: `target`, `switching_limits`, `on_min` or `run_last`.
        """

@final
class VehicleCertificate:
    """
    Own certificate of a vehicle of an area, at its prices plus those of the limits.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, row: SupportsIndex, id: str, cost: SupportsFloat | SupportsIndex, bound: SupportsFloat | SupportsIndex, gap: SupportsFloat | SupportsIndex, holds: bool, failed: str) -> VehicleCertificate: ...
    def __repr__(self, /) -> str: ...
    @property
    def bound(self, /) -> float:
        """
        Lower bound on the cost of every plan that delivers as much by each of its deadlines.
        """
    @property
    def cost(self, /) -> float:
        """
        Cost of its plan at these prices, in units of the currency.
        """
    @property
    def failed(self, /) -> str:
        """
        Names of the statements that do not hold, separated by commas; empty if all do.
        """
    @property
    def gap(self, /) -> float:
        """
        Cost less bound: what the vehicle could save at these prices by a plan of its own.
        """
    @property
    def holds(self, /) -> bool:
        """
        True if the plan keeps all rules and the certificate holds.
        """
    @property
    def id(self, /) -> str:
        """
        ``id`` of the vehicle, as a text.
        """
    @property
    def row(self, /) -> int:
        """
        Row of the vehicle, from 0.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@final
class VehicleCertificates:
    """
    Sequence of `VehicleCertificate` records, which any Arrow library reads as a table.

    The columns are the fields of the record. Instants are timestamps in UTC, to the
    microsecond; a field that may be `None` is a column with nulls.
    """
    def __arrow_c_stream__(self, /, requested_schema: object | None = None) -> object: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> VehicleCertificate: ...
    def __getnewargs__(self, /) -> tuple[list[VehicleCertificate]]: ...
    def __hash__(self, /) -> int: ...
    def __iter__(self, /) -> Iterator[VehicleCertificate]: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, records: SupportsGetItem[int, VehicleCertificate]) -> VehicleCertificates: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of records.
        """

@final
class Verification:
    """
    All statements of a certificate, computed anew from its own data.
    """
    __match_args__: Final[tuple[str, ...]]
    """
    Names of the fields, for `match` statements.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, object]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, holds: bool, failed: SupportsGetItem[int, str], checks: SupportsGetItem[int, CertificateCheck]) -> Verification: ...
    def __repr__(self, /) -> str: ...
    @property
    def checks(self, /) -> list[CertificateCheck]:
        """
        One check per statement: rules of the data, then cost, bound, gap and proof.
        """
    @property
    def failed(self, /) -> list[str]:
        """
        Names of the statements that do not hold; empty if all do.
        """
    @property
    def holds(self, /) -> bool:
        """
        True if every statement holds.
        """
    def to_dict(self, /) -> dict[str, object]:
        """
        Return the fields as a dictionary; records inside of it become dictionaries, too.
        """

@disjoint_base
class View:
    """
    Copies of all that is known of one stay at one instant. See `slackwater.View`.
    """
    def __new__(cls, /, native: View, *_rest: "object") -> View:
        """
        Makes the class of Python, which takes forecasts beside the view.
        """
    @property
    def _known(self, /) -> Prices: ...
    @property
    def _past(self, /) -> Prices: ...
    def _price_tree(self, /, forecasts: SupportsGetItem[int, tuple[Forecast, SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, Forecast]]]]) -> tuple[Prices, list[tuple[float, Prices]]]:
        """
        Certain prices, and the probabilities and prices of the branches that may follow. Forecasts
        come with their quantiles, as pairs of a level and a forecast of the prices at it.
        """
    def _sample(self, /, step: timedelta, count: SupportsIndex) -> list[float]:
        """
        Known price at `count` instants from now on, a step apart; NaN where nothing is known.
        """
    @property
    def arrival(self, /) -> datetime:
        """
        When the vehicle was plugged in.
        """
    @property
    def departure(self, /) -> datetime:
        """
        When it leaves.
        """
    @property
    def missing_kwh(self, /) -> float:
        """
        Energy at the plug that is still needed.
        """
    @property
    def now(self, /) -> datetime:
        """
        The present, in UTC.
        """
    @property
    def power_max_kw(self, /) -> float:
        """
        Highest power that the device can draw.
        """
    def price_at(self, /, at: Incomplete) -> float: ...
    @property
    def stay(self, /) -> int:
        """
        Position of the stay in the table.
        """
    @property
    def until(self, /) -> datetime:
        """
        Next instant of decision.
        """

def action_next_step(command: str, *, value: SupportsFloat | SupportsIndex | None, created_at: Incomplete, now: Incomplete, sent_count: Incomplete, last_sent_at: Incomplete | None, power_state: str, is_fully_charged: bool | None, max_current_amps: SupportsFloat | SupportsIndex | None, charge_rate_limit_kw: SupportsFloat | SupportsIndex | None, timeout_seconds: Incomplete, retry_seconds: Incomplete) -> tuple[str, datetime | None, str | None]:
    """
    See `slackwater.actions.next_step`.
    """

def area_power_changes(before: PlanTable, after: PlanTable, *, now: Incomplete, time_zone: str) -> PowerChanges:
    """
    See `slackwater.AreaPlan.diff`.
    """

def available_range(*, start: Incomplete | None, end: Incomplete | None, now: Incomplete) -> tuple[datetime, datetime]: ...

def bill_load(load: Series, tariff: BillingTariff, *, export: Series | None, devices: SupportsGetItem[int, tuple[str, Series]], is_energy: bool, months: SupportsGetItem[int, str] | None, peaks: SupportsGetItem[int, tuple[Incomplete, SupportsFloat | SupportsIndex]], contracted_kw: SupportsFloat | SupportsIndex | None, contracted_kva: SupportsFloat | SupportsIndex | None, fuse_amps: SupportsFloat | SupportsIndex | None, allow_missing: bool) -> Bill:
    """
    See `slackwater.bill`.
    """

def bucket_label(at: Incomplete, *, resolution: str, utc_offset_hours: SupportsFloat | SupportsIndex | None, time_zone: str | None) -> datetime: ...

def capacity_emissions(plan: CapacityPlan, intensity: Series) -> tuple[float, float]:
    """
    Emissions in kg of the energy from the grid under a price of power, and of the plan that is
    cheapest in energy.
    """

def change_vehicle(vehicles: Incomplete, id: str, values: dict[str, Incomplete | SupportsFloat | SupportsIndex | str | None]) -> Table:
    """
    The table of vehicles with other values for one of them; see `slackwater.AreaPlan.what_if`.
    """

def charge_emissions(plan: Plan, intensity: Series) -> tuple[float, float]:
    """
    Emissions in kg of a plan, and of the same energy at full power from plug-in.
    """

def charger_deadline(policy: tuple[bool, Incomplete | None, Incomplete | None], *, time_zone: str, now: Incomplete) -> datetime | None: ...
def charger_status(prices: Prices, policy: tuple[bool, Incomplete | None, Incomplete | None], facts: tuple[bool | None, bool | None, bool | None], *, now: Incomplete, by: Incomplete | None, charged: timedelta) -> tuple[str, list[tuple[datetime, datetime, str | None]]]: ...
def check_intervals(intervals: SupportsGetItem[int, tuple[str, SupportsGetItem[int, Incomplete] | None, Incomplete | None, Incomplete | None]]) -> None: ...
def check_rates(rates: SupportsGetItem[int, tuple[str, str]]) -> None: ...
def check_signal(signal: tuple[str, Incomplete, SupportsGetItem[int, tuple[Incomplete, SupportsFloat | SupportsIndex]]], zone: tuple[str, bool] | None) -> None: ...

def close_to(plan: Plan, *, prices: Prices, previous: Plan, budget: SupportsFloat | SupportsIndex, spent: SupportsFloat | SupportsIndex | None) -> Plan:
    """
    See `slackwater.Plan.close_to`.
    """

def compare_totals(before: Plan | StoragePlan | HeatPlan | SwitchingPlan | SitePlan | CapacityPlan | AreaNumbers, after: Plan | StoragePlan | HeatPlan | SwitchingPlan | SitePlan | CapacityPlan | AreaNumbers, *, changes: SupportsGetItem[int, str], currency: str) -> tuple[float, float, float, str, float]:
    """
    Cost, energy and shortfall of a second plan less those of a first one, the sentence, and the
    difference in degree-hours; see `slackwater.SitePlan.what_if`.
    """

def costs(plan: Plan, prices: Prices, *, time_zone: str) -> list[tuple[Plan, float, float, float, str]]:
    """
    See `slackwater.Plan.costs`.
    """

def count_stays(stays: Incomplete, prices: Prices, *, settings: Incomplete) -> int:
    """
    Checks stays, and counts them.
    """

def device_are_paired(vehicle: tuple[str, str], charger: tuple[str, str], *, is_detected_together: bool) -> bool:
    """
    See `slackwater.devices.pair`.
    """

def device_capabilities(vehicle: SupportsGetItem[int, tuple[str, bool, SupportsGetItem[int, str], tuple[SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None] | None]], charger: SupportsGetItem[int, tuple[str, bool, SupportsGetItem[int, str], tuple[SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None] | None]] | None, *, vehicle_permissions: SupportsGetItem[int, str] | None, charger_permissions: SupportsGetItem[int, str] | None) -> list[tuple[str, bool, list[str], tuple[float | None, float | None] | None]]:
    """
    See `slackwater.devices.merge_capabilities`.
    """

def device_charge_state(reported: tuple[str, bool | None, bool | None, bool | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, Incomplete | None], *, device: str, now: Incomplete) -> tuple[str, bool | None, bool | None, bool | None, float | None, float | None, float | None, datetime | None]:
    """
    See `slackwater.devices.shown_charge_state`.
    """

def device_check_command(command: str, *, value: SupportsFloat | SupportsIndex | None, power_state: str, is_fully_charged: bool | None, is_permitted: bool, controller: str, is_capable: bool, allowed_range_kw: tuple[SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None] | None) -> tuple[str, str] | None:
    """
    See `slackwater.devices.check_command`.
    """

def device_check_hold(mode: str, *, heat_setpoint_celsius: SupportsFloat | SupportsIndex | None, cool_setpoint_celsius: SupportsFloat | SupportsIndex | None, capable_modes: SupportsGetItem[int, str] | None, heat_range_celsius: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex] | None, cool_range_celsius: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex] | None, difference_range_celsius: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex] | None) -> str | None:
    """
    See `slackwater.devices.check_hold`.
    """

def device_is_reached(command: str, *, value: SupportsFloat | SupportsIndex | None, power_state: str, max_current_amps: SupportsFloat | SupportsIndex | None, charge_rate_limit_kw: SupportsFloat | SupportsIndex | None, operation_mode: str | None, follows_schedule: bool | None) -> bool:
    """
    See `slackwater.devices.is_reached`.
    """

def device_last_seen(last_data: Incomplete | None, *, linked_at: Incomplete) -> datetime:
    """
    See `slackwater.devices.last_seen`.
    """

def device_serial_number(reported: str | None, *, vendor_id: str) -> str:
    """
    See `slackwater.devices.serial_number`.
    """

def device_shown_consumption(reported_kw: SupportsFloat | SupportsIndex | None, *, is_active: bool) -> float | None:
    """
    See `slackwater.devices.shown_consumption_kw`.
    """

def device_whereabouts(reported: tuple[SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, Incomplete | None, str | None], *, permissions: SupportsGetItem[int, str]) -> tuple[float | None, float | None, datetime | None, str | None]:
    """
    See `slackwater.devices.shown_whereabouts`.
    """

def doubt(name: str, value: SupportsFloat | SupportsIndex) -> str | None:
    """
    Doubt about an argument, by the unit in its name; `None` if its value is likely.
    """

def energy_at_risk(plan: Plan, departures: SupportsGetItem[int, tuple[Incomplete, SupportsFloat | SupportsIndex]], *, wanted_kwh: SupportsFloat | SupportsIndex | None) -> EnergyAtRisk:
    """
    See `slackwater.Plan.energy_at_risk`.
    """

def energy_prices(tariff: BillingTariff, *, start: Incomplete, end: Incomplete, direction: str, device: str | None) -> Prices:
    """
    Prices per kWh of a tariff as it is billed; see `slackwater.tariffs.tariff_prices`.
    """

def evaluate(plan: Plan | StoragePlan | HeatPlan | SwitchingPlan | SitePlan | CapacityPlan, prices: Prices, *, export_prices: Prices | None, solar: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]] | None, load: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]] | None, demand: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsIndex] | None, emissions: EmissionPrice | None) -> Evaluation:
    """
    See `slackwater.Plan.evaluate`.
    """

def find_breach_price(slots: SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]], *, efficiency: SupportsFloat | SupportsIndex, peak: SupportsFloat | SupportsIndex) -> float:
    """
    Least price per unit of stored energy at which no limit of its levels is passed for money.
    """

def flex_check(policy: tuple[SupportsFloat | SupportsIndex, dict[str, tuple[Incomplete | None, SupportsFloat | SupportsIndex | None]], SupportsFloat | SupportsIndex], *, fixed_reserve_percent: SupportsFloat | SupportsIndex | None) -> None: ...
def flex_deadlines(policy: tuple[SupportsFloat | SupportsIndex, dict[str, tuple[Incomplete | None, SupportsFloat | SupportsIndex | None]], SupportsFloat | SupportsIndex], *, time_zone: str, now: Incomplete, until: Incomplete | None, charge_limit_percent: SupportsFloat | SupportsIndex | None) -> list[tuple[datetime, int, float, float]]: ...
def flex_intent(policy: tuple[SupportsFloat | SupportsIndex, dict[str, tuple[Incomplete | None, SupportsFloat | SupportsIndex | None]], SupportsFloat | SupportsIndex], facts: tuple[str, str | None, bool | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None], *, time_zone: str, now: Incomplete, until: Incomplete) -> tuple[str, str | None, tuple[datetime, int, float, float] | None, bool | None, float, list[tuple[datetime, int, float, float]]]: ...
def flex_observe(policy: tuple[SupportsFloat | SupportsIndex, dict[str, tuple[Incomplete | None, SupportsFloat | SupportsIndex | None]], SupportsFloat | SupportsIndex], facts: tuple[str, str | None, bool | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None]) -> tuple[float, dict[str, tuple[str, float | None]], float]: ...
def flex_patch(policy: tuple[SupportsFloat | SupportsIndex, dict[str, tuple[Incomplete | None, SupportsFloat | SupportsIndex | None]], SupportsFloat | SupportsIndex], patch: tuple[SupportsFloat | SupportsIndex | None, dict[str, tuple[Incomplete | None, SupportsFloat | SupportsIndex | None]]], *, fixed_reserve_percent: SupportsFloat | SupportsIndex | None) -> tuple[float, dict[str, tuple[str, float | None]], float]: ...
def flex_plan(prices: Prices, policy: tuple[SupportsFloat | SupportsIndex, dict[str, tuple[Incomplete | None, SupportsFloat | SupportsIndex | None]], SupportsFloat | SupportsIndex], facts: tuple[str, str | None, bool | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None], *, time_zone: str, now: Incomplete, power_max_kw: SupportsFloat | SupportsIndex, battery: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex | None], fill_when_negative: bool) -> tuple[Plan, tuple[str, str | None, tuple[datetime, int, float, float] | None, bool | None, float, list[tuple[datetime, int, float, float]]]]: ...
def flex_state(reserve_percent: SupportsFloat | SupportsIndex, facts: tuple[str, str | None, bool | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None]) -> tuple[str, str | None]: ...

def freeze_session(samples: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None]], prices: Prices, *, plugged_in: Incomplete, power_max_kw: SupportsFloat | SupportsIndex, is_smart: bool) -> tuple[list[tuple[datetime, datetime, float | None, float | None, float | None]], str | None]:
    """
    See `slackwater.statistics.freeze_session`.
    """

def freeze_sessions(sessions: Incomplete, samples: Incomplete, prices: SupportsGetItem[int, Prices], *, by: str, price_ids: SupportsGetItem[int, str] | None) -> tuple[Table, Table]:
    """
    See `slackwater.statistics.freeze_sessions`.
    """

def heat_emissions(plan: HeatPlan, intensity: Series) -> tuple[float, float]:
    """
    Emissions in kg of a plan of a room or tank, and of its baseline.
    """

def heat_row(rooms: Incomplete, room: str) -> tuple[datetime, datetime, dict[str, float]]:
    """
    Arguments of the row of a room, for a plan of it alone; see `slackwater.plan_heat_row`.
    """

def hem_battery_level(readings: SupportsGetItem[int, tuple[Incomplete, SupportsFloat | SupportsIndex]] | None, *, period: str, value: str, time_zone: str, bucket_minutes: SupportsIndex) -> tuple[str | None, list[tuple[datetime, float | None]], str | None]: ...
def hem_flow(samples: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None]], *, period: str, value: str, time_zone: str, bucket_minutes: SupportsIndex) -> tuple[str | None, list[tuple[datetime, float | None]], str | None]: ...

def hold_table(vehicles: Incomplete) -> Table:
    """
    Rows of a table of vehicles, held so that it can be read more than once.
    """

def identify_heat(at: SupportsGetItem[int, Incomplete], *, temperature_celsius: SupportsGetItem[int, SupportsFloat | SupportsIndex], outdoor_celsius: SupportsGetItem[int, SupportsFloat | SupportsIndex], heat_kw: SupportsGetItem[int, SupportsFloat | SupportsIndex], irradiance_kw_per_m2: SupportsGetItem[int, SupportsFloat | SupportsIndex] | None) -> HeatFit:
    """
    See `slackwater.identify_heat`.
    """

def insurance_frontier(plan: Plan, *, at: Incomplete) -> InsuranceFrontier:
    """
    See `slackwater.insurance_frontier`.
    """

def known_prices(settled: Prices, forecasts: SupportsGetItem[int, Forecast], *, at: Incomplete, until: Incomplete) -> tuple[Prices, list[tuple[datetime, datetime]]]: ...

def limit_users(plans: PlanTable, rows: SupportsGetItem[int, SupportsIndex], periods: SupportsGetItem[int, tuple[Incomplete, Incomplete]], count_max: SupportsIndex) -> list[tuple[int, float]]:
    """
    Rows that draw most in some periods, no more than `count_max`, each with its mean power in kW
    there.
    """

def list_page(items: SupportsGetItem[int, tuple[Incomplete, str]], *, before: tuple[Incomplete, str, str] | None, after: tuple[Incomplete, str, str] | None, page_size: Incomplete | None) -> tuple[list[tuple[datetime, str]], tuple[datetime, str, str] | None, tuple[datetime, str, str] | None]:
    """
    See `slackwater.paging.list_page`.
    """

def list_tariffs(*, country: str | None = None) -> TariffEntries:
    """
    See `slackwater.tariffs.list_tariffs`.
    """

def load_tariff(id: str) -> BillingTariff:
    """
    See `slackwater.tariffs.load_tariff`.
    """

def meant_name(given: str, owner: str, known: SupportsGetItem[int, str]) -> tuple[str, bool] | None:
    """
    Name that is meant by one that nothing reads, and whether it is its successor.
    """

def naive_quantiles(known: Prices, at: SupportsGetItem[int, Incomplete], levels: SupportsGetItem[int, SupportsFloat | SupportsIndex], *, days: SupportsIndex | None, time_zone: str) -> list[list[float]]:
    """
    See `slackwater.SeasonalNaive` and `slackwater.Persistence`.
    """

def next_deadline(time: Incomplete, *, time_zone: str, now: Incomplete) -> datetime:
    """
    See `slackwater.next_deadline`.
    """

def plan_area(vehicles: Incomplete, paid: Incomplete, *, nodes: SupportsGetItem[int, Incomplete], heat: SupportsGetItem[int, Incomplete], relative_gap: SupportsFloat | SupportsIndex, rounds_max: SupportsIndex, before: Incomplete, listeners: Incomplete) -> tuple[AreaNumbers, PlanTable, tuple[str, list[tuple[str, str]]]]:
    """
    Plans an area; see `slackwater.plan_area`.
    """

def plan_area_scenarios(vehicles: Incomplete, scenarios: SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, Prices, SupportsFloat | SupportsIndex | SupportsGetItem[int, SupportsFloat | SupportsIndex | None] | None, SupportsFloat | SupportsIndex | SupportsGetItem[int, SupportsFloat | SupportsIndex | None] | None]], *, known_from: Incomplete, shortfall_price_per_kwh: SupportsFloat | SupportsIndex, relative_gap: SupportsFloat | SupportsIndex, rounds_max: SupportsIndex) -> AreaScenarioPlan:
    """
    See `slackwater.plan_area_scenarios`.
    """

def plan_batch(vehicles: Incomplete, prices: Prices, *, intensity: Series | None = None) -> PlanTable: ...
def plan_batch_own(vehicles: Incomplete, prices: PriceCurves, *, intensity: Series | None = None) -> PlanTable: ...

def plan_capacity(prices: Prices, tariff: BillingTariff, *, export_prices: Prices | None, now: Incomplete, until: Incomplete | None, battery: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex], discharge_efficiency: SupportsFloat | SupportsIndex, power_max_kw: SupportsFloat | SupportsIndex, discharge_max_kw: SupportsFloat | SupportsIndex, targets: SupportsGetItem[int, tuple[Incomplete | None, SupportsFloat | SupportsIndex | None]], reserve_percent: SupportsFloat | SupportsIndex, consumption: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex, bool]], limits: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None]], end_value_per_kwh: SupportsFloat | SupportsIndex | None, wear_price_per_kwh: SupportsFloat | SupportsIndex, after_deadline: str, load: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], peaks: SupportsGetItem[int, tuple[Incomplete, SupportsFloat | SupportsIndex]]) -> CapacityPlan:
    """
    See `slackwater.plan_capacity`.
    """

def plan_charge(prices: Prices, *, now: Incomplete, power_max_kw: SupportsFloat | SupportsIndex, targets: SupportsGetItem[int, tuple[Incomplete | None, SupportsFloat | SupportsIndex]], until: Incomplete | None, reserve_kwh: SupportsFloat | SupportsIndex, energy_max_kwh: SupportsFloat | SupportsIndex | None, power_limits: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], after_deadline: str) -> Plan: ...

def plan_diff(before: Plan, before_prices: Prices, after: Plan, after_prices: Prices, *, time_zone: str) -> list[PlanChange]:
    """
    See `slackwater.Plan.diff`.
    """

def plan_duration(prices: Prices, *, now: Incomplete, duration: timedelta, by: Incomplete | None, power_kw: SupportsFloat | SupportsIndex) -> Plan: ...

def plan_from_json(text: str) -> Any:
    """
    Reads the text of a saved plan of any kind.

    Each kind of plan has one arm here, which makes its Python class.
    """

def plan_heat(prices: Prices, *, now: Incomplete, until: Incomplete | None, capacity_kwh_per_k: SupportsFloat | SupportsIndex, loss_kw_per_k: SupportsFloat | SupportsIndex, temperature_celsius: SupportsFloat | SupportsIndex, mode: str, power_max_kw: SupportsFloat | SupportsIndex, power_limits: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], cop: SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]], outdoor: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], gains: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], comfort: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex], set_backs: SupportsGetItem[int, tuple[str, str, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]], time_zone: str, end_value_per_kwh: SupportsFloat | SupportsIndex, on_off: bool, on_min: timedelta | None, off_min: timedelta | None, running_since: Incomplete | None, stopped_since: Incomplete | None) -> HeatPlan: ...

def plan_heat_batch(rooms: Incomplete, prices: SupportsGetItem[int, Prices], names: SupportsGetItem[int, str] | None, *, mode: str, cop: SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]], outdoor: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], gains: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], set_backs: SupportsGetItem[int, tuple[str, str, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]], time_zone: str, end_value_per_kwh: SupportsFloat | SupportsIndex, intensity: Series | None = None) -> PlanTable:
    """
    See `slackwater.plan_heat_batch`. Without names all rows pay the first prices.
    """

def plan_load(plan: Plan | StoragePlan | HeatPlan | SwitchingPlan | SitePlan | CapacityPlan, resolution: timedelta) -> Table:
    """
    See `slackwater.Plan.load`.
    """

def plan_near(plan: StoragePlan | SwitchingPlan | SitePlan, previous: StoragePlan | SwitchingPlan | SitePlan, *, budget: SupportsFloat | SupportsIndex) -> StoragePlan | SwitchingPlan | SitePlan:
    """
    See `slackwater.SitePlan.close_to`.
    """

def plan_policy(prices: ScenarioPrices, *, now: Incomplete, power_max_kw: SupportsFloat | SupportsIndex, energy_kwh: SupportsFloat | SupportsIndex, shortfall_price_per_kwh: SupportsFloat | SupportsIndex, departures: SupportsGetItem[int, tuple[Incomplete, SupportsFloat | SupportsIndex]], power_limits: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]]) -> ChargePolicy:
    """
    See `slackwater.plan_policy`.
    """

def plan_power_changes(before: Plan | StoragePlan | HeatPlan | SwitchingPlan | SitePlan | CapacityPlan, after: Plan | StoragePlan | HeatPlan | SwitchingPlan | SitePlan | CapacityPlan, *, time_zone: str) -> PowerChanges:
    """
    See `slackwater.SitePlan.diff`.
    """

def plan_row(vehicles: Incomplete, prices: Prices, vehicle: str) -> Plan:
    """
    Plans the row of a vehicle; see `slackwater.plan_row`.
    """

def plan_site(prices: Prices, *, export_prices: Prices | None, now: Incomplete, until: Incomplete | None, devices: SupportsGetItem[int, Incomplete], groups: SupportsGetItem[int, Incomplete], import_limit: tuple[SupportsFloat | SupportsIndex | SupportsGetItem[int, SupportsFloat | SupportsIndex] | SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], SupportsFloat | SupportsIndex | None] | None, export_limit: tuple[SupportsFloat | SupportsIndex | SupportsGetItem[int, SupportsFloat | SupportsIndex] | SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], SupportsFloat | SupportsIndex | None] | None, demand_charge: Incomplete | None, export_demand_charge: Incomplete | None, tiers: Incomplete | None, carbon: Incomplete | None, prefer: SupportsGetItem[int, str], preference_budget: SupportsFloat | SupportsIndex, nodes_max: SupportsIndex, time_max: timedelta | None) -> SitePlan:
    """
    See `slackwater.plan_site`.
    """

def plan_storage(prices: Prices, *, export_prices: Prices | None, now: Incomplete, until: Incomplete | None, battery: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex], discharge_efficiency: SupportsFloat | SupportsIndex, power_max_kw: SupportsFloat | SupportsIndex, discharge_max_kw: SupportsFloat | SupportsIndex, targets: SupportsGetItem[int, tuple[Incomplete | None, SupportsFloat | SupportsIndex | None]], reserve_percent: SupportsFloat | SupportsIndex, consumption: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex, bool]], limits: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None]], end_value_per_kwh: SupportsFloat | SupportsIndex | None, wear_price_per_kwh: SupportsFloat | SupportsIndex, after_deadline: str) -> StoragePlan: ...

def plan_storage_batch(vehicles: Incomplete, prices: SupportsGetItem[int, Prices], export_prices: SupportsGetItem[int, Prices | None], names: SupportsGetItem[int, str] | None, *, intensity: Series | None = None) -> PlanTable:
    """
    See `slackwater.plan_storage_batch`. Without names all rows pay the first prices.
    """

def plan_switching(prices: Prices, *, now: Incomplete, power_max_kw: SupportsFloat | SupportsIndex, power_min_kw: SupportsFloat | SupportsIndex, targets: SupportsGetItem[int, tuple[Incomplete | None, SupportsFloat | SupportsIndex]], until: Incomplete | None, power_limits: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], start_cost: SupportsFloat | SupportsIndex, sessions_max: SupportsIndex | None, one_block: bool, on_min: timedelta | None, off_min: timedelta | None, running_since: Incomplete | None, stopped_since: Incomplete | None, run_last: timedelta | None, after_deadline: str, nodes_max: SupportsIndex, time_max: timedelta | None) -> SwitchingPlan: ...

def plan_to_json(plan: Plan | StoragePlan | HeatPlan | SwitchingPlan | SitePlan | CapacityPlan) -> str:
    """
    Writes a plan of any kind as text.
    """

def plan_vehicle(prices: Prices, *, now: Incomplete, power_max_kw: SupportsFloat | SupportsIndex, battery: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex], targets: SupportsGetItem[int, tuple[Incomplete | None, SupportsFloat | SupportsIndex | None]], until: Incomplete | None, reserve_percent: SupportsFloat | SupportsIndex, fill_when_negative: bool, power_limits: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex]], after_deadline: str) -> Plan: ...
def policy_charger_state(prices: Prices, is_enabled: bool, facts: tuple[bool | None, bool | None, bool | None], *, now: Incomplete, by: Incomplete | None) -> str: ...
def policy_plan_charger(prices: Prices, policy: tuple[bool, Incomplete | None, Incomplete | None], *, now: Incomplete, by: Incomplete | None, charged: timedelta) -> Plan: ...
def policy_plan_vehicle(prices: Prices, policy: tuple[bool, Incomplete | None, SupportsFloat | SupportsIndex], *, now: Incomplete, by: Incomplete | None, power_max_kw: SupportsFloat | SupportsIndex, battery: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex], after_deadline: str) -> Plan: ...

def prices_from_civil_rows(rows: SupportsGetItem[int, tuple[SupportsIndex, datetime, str | None, datetime | None, SupportsFloat | SupportsIndex | None]], *, time_zone: str, currency: str, unit: str, step_minutes: SupportsIndex | None, holds_until_next: bool) -> tuple[Prices, list[tuple[datetime, datetime]], list[str]]:
    """
    See `slackwater.io.read_prices_csv`.
    """

def prices_from_entsoe(path: str, text: str, *, currency: str | None, repeats_missing: bool | None, sequence: str | None, resolution: str | None, area: str | None) -> tuple[Prices, list[tuple[datetime, datetime]], list[str]]:
    """
    See `slackwater.io.read_entsoe`. `path` is for messages.
    """

def prices_from_instant_rows(rows: SupportsGetItem[int, tuple[SupportsIndex, Incomplete, Incomplete | None, SupportsFloat | SupportsIndex | None]], *, time_zone: str, currency: str, unit: str, step_minutes: SupportsIndex | None, holds_until_next: bool) -> tuple[Prices, list[tuple[datetime, datetime]], list[str]]:
    """
    See `slackwater.io.read_prices_csv` and `slackwater.io.read_octopus`.
    """

def prices_from_nordpool(path: str, text: str, *, currency: str | None, unit: str | None, area: str | None) -> tuple[Prices, list[tuple[datetime, datetime]], list[str]]:
    """
    See `slackwater.io.read_nordpool`. `path` is for messages.
    """

def published_day_ahead(prices: Prices, *, at: Incomplete, time_zone: str) -> list[Forecast]:
    """
    See `slackwater.publish_day_ahead`.
    """

def renamed_names() -> list[tuple[str, str]]:
    """
    Earlier names and today's, for the documentation.
    """

def replace_signal(before: Prices | None, signal: tuple[str, Incomplete, SupportsGetItem[int, tuple[Incomplete, SupportsFloat | SupportsIndex]]]) -> Prices: ...

def replay(text: str) -> Replay:
    """
    Plans the text of a saved plan again.
    """

def replay_actions(events: SupportsGetItem[int, tuple[Incomplete, str, str | None, str | None, str | None]]) -> tuple[list[tuple[str, str, str, datetime, datetime, datetime | None, tuple[str, str] | None]], list[tuple[str, str]], list[str]]:
    """
    See `slackwater.actions.replay_actions`.
    """

def replay_overrides(events: SupportsGetItem[int, tuple[Incomplete, str, bool | None, Incomplete | None]]) -> tuple[list[tuple[datetime, datetime | None, bool, bool]], list[str]]:
    """
    See `slackwater.actions.replay_overrides`.
    """

def resolve_price(at: Incomplete, *, price_signal: Prices | None, tariff: tuple[SupportsGetItem[int, tuple[str, str]], SupportsGetItem[int, tuple[str, SupportsGetItem[int, Incomplete] | None, Incomplete | None, Incomplete | None]], str, str] | None, market: Prices | None) -> tuple[float, str] | None: ...
def resolve_prices(start: Incomplete, end: Incomplete, *, price_signal: Prices | None, tariff: tuple[SupportsGetItem[int, tuple[str, str]], SupportsGetItem[int, tuple[str, SupportsGetItem[int, Incomplete] | None, Incomplete | None, Incomplete | None]], str, str] | None, market: Prices | None) -> tuple[Prices, list[str]]: ...

def samples_from_meter(readings: Incomplete, *, by: SupportsGetItem[int, str], gap_max: timedelta, power_max_kw: SupportsFloat | SupportsIndex | None) -> tuple[Table, tuple[int, int, int, int, int, int, float, int, int]]:
    """
    See `slackwater.statistics.samples_from_meter`.
    """

def samples_from_power(readings: Incomplete, *, by: SupportsGetItem[int, str], hold_max: timedelta, power_max_kw: SupportsFloat | SupportsIndex | None) -> tuple[Table, tuple[int, int, int, int, int, int, float, int, int]]:
    """
    See `slackwater.statistics.samples_from_power`.
    """

def samples_from_sessions(sessions: Incomplete, *, by: SupportsGetItem[int, str], power_max_kw: SupportsFloat | SupportsIndex | None) -> tuple[Table, tuple[int, int, int, int, int, int, float, int, int]]:
    """
    See `slackwater.statistics.samples_from_sessions`.
    """

def saved_differences(before: str, after: str) -> list[Difference]:
    """
    Lists what differs between the texts of two saved plans.
    """

def schedule_changed_at(seen: tuple[tuple[str, bool, bool, tuple[bool, bool, bool], str | None], SupportsGetItem[int, tuple[Incomplete, bool]], Incomplete | None], *, now: Incomplete, before: tuple[tuple[tuple[str, bool, bool, tuple[bool, bool, bool], str | None], SupportsGetItem[int, tuple[Incomplete, bool]], Incomplete | None], Incomplete] | None) -> datetime:
    """
    See `slackwater.schedule.changed_at`.
    """

def schedule_controller(schedules: SupportsGetItem[int, tuple[str, Incomplete, bool, str | None]], *, target_type: str, location_id: str | None, is_overridden: bool, is_smart_charging_enabled: bool) -> tuple[str, str | None, bool]:
    """
    See `slackwater.schedule.controller`.
    """

def schedule_is_away(*, target_type: str, location_id: str | None, target_location_id: str | None) -> bool:
    """
    See `slackwater.schedule.is_away`.
    """

def schedule_should_charge(rules: SupportsGetItem[int, tuple[bool, Incomplete | None, Incomplete | None, Incomplete | None, SupportsGetItem[int, Incomplete] | None]], *, default_should_charge: bool, time_zone: str, at: SupportsGetItem[int, Incomplete]) -> list[bool]:
    """
    See `slackwater.schedule.should_charge_each`.
    """

def schedule_status(*, is_enabled: bool, target_type: str, location_id: str | None, target: tuple[bool | None, bool | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, bool | None, str | None, bool], should_charge: bool, is_overridden: bool, is_action_pending: bool) -> tuple[str, bool, bool, tuple[bool, bool, bool], str | None]:
    """
    See `slackwater.schedule.status`.
    """

def schedule_time_zone(own: tuple[str | None] | None, target: tuple[str | None] | None) -> str:
    """
    See `slackwater.schedule.time_zone_of`.
    """

def schedule_transitions(rules: SupportsGetItem[int, tuple[bool, Incomplete | None, Incomplete | None, Incomplete | None, SupportsGetItem[int, Incomplete] | None]], *, default_should_charge: bool, time_zone: str, now: Incomplete) -> list[tuple[datetime, bool]]:
    """
    See `slackwater.schedule.upcoming_transitions`.
    """

def series_unit(unit: str, *, currency: str | None = None) -> tuple[str, float, str | None]:
    """
    See `slackwater.Series.from_slots`.
    """

def simulate(policy: Any | None, stays: Incomplete, prices: Prices, forecasts: SupportsGetItem[int, Forecast], *, settings: Incomplete, progress: Any | None) -> tuple[SimulationResult, SimulationTable]:
    """
    See `slackwater.simulate`.
    """

def simulate_homes(policy: Any | None, batteries: Incomplete, tariff: Incomplete, facts: Incomplete, *, settings: Incomplete, progress: Any | None) -> SimulationResult:
    """
    See `slackwater.simulate_homes`.
    """

def site_intervals(plan: SitePlan) -> Table:
    """
    See `slackwater.SitePlan.intervals_table`.
    """

def statistics_aggregate(samples: Incomplete, *, by: SupportsGetItem[int, str], resolution: str, utc_offset_hours: SupportsFloat | SupportsIndex | None, time_zone: str | None, start: Incomplete | None, end: Incomplete | None, now: Incomplete | None, sample_length: timedelta | None) -> Table:
    """
    See `slackwater.statistics.aggregate`.
    """

def statistics_members(record: str, *, version: str | None) -> list[str]: ...
def statistics_series(samples: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None]], *, resolution: str, utc_offset_hours: SupportsFloat | SupportsIndex | None, time_zone: str | None, start: Incomplete | None, end: Incomplete | None, now: Incomplete | None) -> list[tuple[datetime, tuple[tuple[float, float, float], float, float, float, tuple[float, float, float] | None, str], tuple[float, tuple[float, float, float] | None, str, str] | None]]: ...
def statistics_session(samples: SupportsGetItem[int, tuple[Incomplete, Incomplete, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None, SupportsFloat | SupportsIndex | None]]) -> tuple[datetime, datetime, tuple[tuple[float, float, float], float, float, float, tuple[float, float, float] | None, str], tuple[float, tuple[float, float, float] | None, str, str] | None] | None: ...

def statistics_week(samples: Incomplete, *, time_zone: str, sample_length: timedelta | None) -> list[list[float]]:
    """
    See `slackwater.statistics.hours_of_week`.
    """

def statistics_year(samples: Incomplete, *, time_zone: str, utc_offset_hours: SupportsFloat | SupportsIndex | None, sample_length: timedelta | None) -> tuple[Table, str | None, list[list[float]]]:
    """
    Months, what they saved, and the hours of the week, in one pass: what
    `slackwater.statistics.plot_year` draws.
    """

def stays_from_events(events: SupportsGetItem[int, tuple[SupportsIndex, datetime | None, SupportsIndex, SupportsIndex, str, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]], *, time_zone: str, step_minutes: SupportsIndex, origin: Incomplete | None, capacity_kwh: SupportsFloat | SupportsIndex | None) -> tuple[list[tuple[int, datetime, datetime, str, float, float, float]], float | None, list[str]]:
    """
    See `slackwater.io.read_simbev`.
    """

def stays_to_table(stays: SupportsGetItem[int, tuple[str, str, str, Incomplete, Incomplete, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex | None]]) -> Table:
    """
    Stays as a table that `plan_batch` takes.
    """

def storage_emissions(plan: StoragePlan, intensity: Series) -> tuple[float, float]:
    """
    Emissions in kg of a plan of a battery, and of its baseline.
    """

def storage_row(vehicles: Incomplete, vehicle: str) -> tuple[datetime, datetime, dict[str, float]]:
    """
    Arguments of the row of a battery, for a plan of it alone; see `slackwater.plan_storage_row`.
    """

def table_emissions(plans: Table, intensity: Series) -> float:
    """
    Emissions in kg of all plans of a table.
    """

def tariff_prices(tariff: tuple[SupportsGetItem[int, tuple[str, str]], SupportsGetItem[int, tuple[str, SupportsGetItem[int, Incomplete] | None, Incomplete | None, Incomplete | None]], str, str], start: Incomplete, end: Incomplete) -> Prices: ...

def time_zone_version() -> str:
    """
    See `slackwater.TIME_ZONE_VERSION`.
    """

def trade_rolling_intrinsic(orders: Incomplete, *, start: Incomplete, until: Incomplete, product_length: timedelta, battery: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex], gate_closure: timedelta, positions_kwh: SupportsGetItem[int, SupportsFloat | SupportsIndex], trade_from: Incomplete | None) -> RollingIntrinsicTrading:
    """
    See `slackwater.trade_rolling_intrinsic`.
    """

def utc_offset_minutes(hours: SupportsFloat | SupportsIndex) -> int: ...
def vehicle_policy_check(policy: tuple[bool, Incomplete | None, SupportsFloat | SupportsIndex], *, charge_limit_percent: SupportsFloat | SupportsIndex | None) -> None: ...
def vehicle_policy_deadline(policy: tuple[bool, Incomplete | None, SupportsFloat | SupportsIndex], *, time_zone: str, now: Incomplete) -> datetime | None: ...

def verify_area(numbers: AreaNumbers, plans: PlanTable, *, vehicles: Incomplete, paid: Incomplete, nodes: SupportsGetItem[int, Incomplete], heat: SupportsGetItem[int, Incomplete]) -> AreaVerification:
    """
    See `slackwater.AreaPlan.verify`.
    """

def version_dates() -> list[str]:
    """
    See `slackwater.versions.VERSIONS`.
    """

def version_fields(version: str) -> list[tuple[str, bool]]:
    """
    See `slackwater.versions.fields`.
    """

def version_stage(version: str, *, releases: SupportsGetItem[int, tuple[str, Incomplete]], now: Incomplete) -> tuple[str, bool, str | None]:
    """
    See `slackwater.versions.stage`.
    """

def what_if(plan: Plan, prices: Prices, *, no_reserve: bool, departure: Incomplete | None, more_kwh: SupportsFloat | SupportsIndex | None, without_deadline: Incomplete | None, floor: SupportsGetItem[int, tuple[Incomplete | None, SupportsFloat | SupportsIndex]], time_zone: str) -> tuple[Plan, float, float, float, str]:
    """
    See `slackwater.Plan.what_if`.
    """

class InputError(ValueError): ...
class LookAheadError(InputError): ...
class PanicException(RuntimeError): ...
class PlausibilityWarning(UserWarning): ...

__version__: str

__all__ = [
    "AreaChange",
    "AreaHeat",
    "AreaHeatCertificate",
    "AreaHeatInterval",
    "AreaHeatIntervals",
    "AreaHeatReason",
    "AreaNumbers",
    "AreaPart",
    "AreaScenarioComparison",
    "AreaScenarioEnergies",
    "AreaScenarioEnergy",
    "AreaScenarioInterval",
    "AreaScenarioIntervals",
    "AreaScenarioOutcome",
    "AreaScenarioPlan",
    "AreaScenarioReason",
    "AreaScenarioReasons",
    "AreaVerification",
    "BidCurve",
    "BidStep",
    "Bill",
    "BillLine",
    "BillLines",
    "BillingTariff",
    "CapacityCertificate",
    "CapacityCost",
    "CapacityPlan",
    "CapacityReason",
    "CapacityReasons",
    "CapacitySlot",
    "CapacitySlots",
    "Certificate",
    "CertificateCheck",
    "ChargePolicy",
    "DepartureOutcome",
    "DevicePlan",
    "Difference",
    "EmissionPrice",
    "EnergyAtRisk",
    "Episode",
    "Estimate",
    "Evaluation",
    "Forecast",
    "ForgoneEnergy",
    "HeatBaseline",
    "HeatCertificate",
    "HeatFit",
    "HeatOnOff",
    "HeatOutcome",
    "HeatPlan",
    "HeatReason",
    "HeatReasons",
    "HeatSlot",
    "HomeView",
    "InputError",
    "InsuranceFrontier",
    "InsurancePoint",
    "Interval",
    "Intervals",
    "IntradayPosition",
    "IntradayPositions",
    "IntradayTrade",
    "IntradayTrades",
    "IntradayUpdate",
    "IntradayUpdates",
    "LookAheadError",
    "MissingFact",
    "MonthBill",
    "MonthBills",
    "MonthPower",
    "NodeLoad",
    "PanicException",
    "Plan",
    "PlanChange",
    "PlanTable",
    "PlannedSlot",
    "PlausibilityWarning",
    "PolicyCertificate",
    "PolicyDecision",
    "PolicyReason",
    "PolicyReasons",
    "PolicySlot",
    "PolicySlots",
    "PolicyStep",
    "PowerChange",
    "PowerChanges",
    "PowerCharge",
    "PowerGroup",
    "PriceCurves",
    "Prices",
    "Reason",
    "Reasons",
    "Replay",
    "Requirement",
    "RollingIntrinsicTrading",
    "RoomSlot",
    "ScenarioPrices",
    "Series",
    "Session",
    "Shortfall",
    "SimulationResult",
    "SimulationTable",
    "SiteBaseline",
    "SiteBreach",
    "SiteCause",
    "SiteCertificate",
    "SiteCosts",
    "SiteLimit",
    "SitePlan",
    "SiteReason",
    "SiteReasons",
    "SiteSlot",
    "SiteWish",
    "SocPoint",
    "SourceShare",
    "Stability",
    "StorageCertificate",
    "StorageOutcome",
    "StoragePlan",
    "StorageReason",
    "StorageReasons",
    "StorageSlot",
    "SwitchingCertificate",
    "SwitchingInterval",
    "SwitchingIntervals",
    "SwitchingPlan",
    "SwitchingReason",
    "SwitchingReasons",
    "Table",
    "TargetOutcome",
    "TariffComponent",
    "TariffEntries",
    "TariffEntry",
    "TariffSource",
    "UnmetSwitchingWish",
    "VehicleCertificate",
    "VehicleCertificates",
    "Verification",
    "View",
    "__version__",
    "action_next_step",
    "area_power_changes",
    "available_range",
    "bill_load",
    "bucket_label",
    "capacity_emissions",
    "change_vehicle",
    "charge_emissions",
    "charger_deadline",
    "charger_status",
    "check_intervals",
    "check_rates",
    "check_signal",
    "close_to",
    "compare_totals",
    "costs",
    "count_stays",
    "device_are_paired",
    "device_capabilities",
    "device_charge_state",
    "device_check_command",
    "device_check_hold",
    "device_is_reached",
    "device_last_seen",
    "device_serial_number",
    "device_shown_consumption",
    "device_whereabouts",
    "doubt",
    "energy_at_risk",
    "energy_prices",
    "evaluate",
    "find_breach_price",
    "flex_check",
    "flex_deadlines",
    "flex_intent",
    "flex_observe",
    "flex_patch",
    "flex_plan",
    "flex_state",
    "freeze_session",
    "freeze_sessions",
    "heat_emissions",
    "heat_row",
    "hem_battery_level",
    "hem_flow",
    "hold_table",
    "identify_heat",
    "insurance_frontier",
    "known_prices",
    "limit_users",
    "list_page",
    "list_tariffs",
    "load_tariff",
    "meant_name",
    "naive_quantiles",
    "next_deadline",
    "plan_area",
    "plan_area_scenarios",
    "plan_batch",
    "plan_batch_own",
    "plan_capacity",
    "plan_charge",
    "plan_diff",
    "plan_duration",
    "plan_from_json",
    "plan_heat",
    "plan_heat_batch",
    "plan_load",
    "plan_near",
    "plan_policy",
    "plan_power_changes",
    "plan_row",
    "plan_site",
    "plan_storage",
    "plan_storage_batch",
    "plan_switching",
    "plan_to_json",
    "plan_vehicle",
    "policy_charger_state",
    "policy_plan_charger",
    "policy_plan_vehicle",
    "prices_from_civil_rows",
    "prices_from_entsoe",
    "prices_from_instant_rows",
    "prices_from_nordpool",
    "published_day_ahead",
    "renamed_names",
    "replace_signal",
    "replay",
    "replay_actions",
    "replay_overrides",
    "resolve_price",
    "resolve_prices",
    "samples_from_meter",
    "samples_from_power",
    "samples_from_sessions",
    "saved_differences",
    "schedule_changed_at",
    "schedule_controller",
    "schedule_is_away",
    "schedule_should_charge",
    "schedule_status",
    "schedule_time_zone",
    "schedule_transitions",
    "series_unit",
    "simulate",
    "simulate_homes",
    "site_intervals",
    "statistics_aggregate",
    "statistics_members",
    "statistics_series",
    "statistics_session",
    "statistics_week",
    "statistics_year",
    "stays_from_events",
    "stays_to_table",
    "storage_emissions",
    "storage_row",
    "table_emissions",
    "tariff_prices",
    "time_zone_version",
    "trade_rolling_intrinsic",
    "utc_offset_minutes",
    "vehicle_policy_check",
    "vehicle_policy_deadline",
    "verify_area",
    "version_dates",
    "version_fields",
    "version_stage",
    "what_if",
]
