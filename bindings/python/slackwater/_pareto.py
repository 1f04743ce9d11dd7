"""Cost against emissions: plans for a rising price of carbon."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import fsum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from slackwater._conversion import article
from slackwater._engine import CapacityCost, InputError, PlanTable
from slackwater._record import Record
from slackwater.area_scenarios import AreaScenarioPlan
from slackwater.prices import emission_price
from slackwater.site_devices import Carbon

if TYPE_CHECKING:
    from datetime import datetime

    from slackwater.series import Series


class _ParetoPointFields(NamedTuple):
    price_per_kg: float
    cost: float
    carbon_kg: float


class ParetoPoint(_ParetoPointFields, Record):
    """A plan for one price of emissions.

    Attributes:
        price_per_kg: Price of a kg of CO2 that the plan was made for.
        cost: What the plan costs without that price.
        carbon_kg: Emissions of the plan, in kg.
    """

    __slots__ = ()


class _Planned(Protocol):
    """A plan of any kind that knows its emissions."""

    @property
    def cost(self) -> float | CapacityCost:
        """What was minimised, the price of emissions included."""

    @property
    def carbon_kg(self) -> float | None:
        """Emissions in kg."""


def pareto(
    plan: Callable[[Carbon], _Planned | PlanTable | AreaScenarioPlan],
    *,
    intensity: Series | list[tuple[datetime, datetime, float]],
    prices_per_kg: Iterable[float],
) -> list[ParetoPoint]:
    """Trade cost for emissions: plan once for each price of a kg of CO2.

    A higher price never means more emissions, nor a lower cost without it,
    where plans are proved optimal: points lie on the Pareto front of cost and
    emissions. A front has kinks, and prices between two kinks give one point.

    Args:
        plan: Makes a plan for a :class:`slackwater.Carbon`, with any planner
            that takes ``carbon=``. Of a batch the sums of its rows count, without
            those in error; of a plan with scenarios the expected values. A :class:`ChargePolicy`
            does not know its emissions.
        intensity: Carbon intensity, as of :class:`slackwater.Carbon`.
        prices_per_kg: Prices of a kg, in the currency of the plans.

    Returns:
        A point for each price, the lowest price first. ``polars.DataFrame``
        and ``pandas.DataFrame`` make a table of it.

    Raises:
        InputError: There is no price, or a plan does not know its emissions.
        TypeError: ``plan`` returns no plan, or a policy.
        ImportError: ``plan`` returns a batch, and pyarrow is not installed.

    Example:
        >>> from datetime import UTC, datetime
        >>> import slackwater as sw
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = sw.Prices.from_values(six, [0.10, 0.20, 0.30], currency="EUR")
        >>> grid = sw.Series.from_values(six, [900, 500, 100], unit="g/kWh")
        >>> points = sw.pareto(
        ...     lambda carbon: sw.plan_charge(
        ...         prices, now=six, power_max_kw=10, targets=[(None, 10)], carbon=carbon
        ...     ),
        ...     intensity=grid,
        ...     prices_per_kg=[0, 0.2, 0.3],
        ... )
        >>> for point in points:
        ...     print(f"{point.price_per_kg:.1f} {point.cost:.2f} EUR, {point.carbon_kg:.1f} kg")
        0.0 1.00 EUR, 9.0 kg
        0.2 1.00 EUR, 9.0 kg
        0.3 3.00 EUR, 1.0 kg
    """
    points = []
    for price in sorted(prices_per_kg):
        carbon = Carbon(price_per_kg=price, intensity=intensity)
        planned = plan(carbon)
        cost, kg = _totals(planned)
        if kg is None:
            kind = type(planned)
            message = f"plan returns {article(kind)} {kind.__name__} that does not know its"
            way = "it was made without carbon=; give the planner the Carbon that plan is given"
            raise InputError(f"{message} emissions: {way}")
        cost = emission_price(carbon).cost_without(cost, kg)
        points.append(ParetoPoint(price, cost, kg))
    if not points:
        raise InputError("prices_per_kg holds no price; give at least one")
    return points


def _totals(planned: _Planned | PlanTable | AreaScenarioPlan) -> tuple[float, float | None]:
    """Cost and emissions of a plan or a batch; the latter are ``None`` if they are not known."""
    if isinstance(planned, PlanTable):
        return _sum(planned, "cost") or 0.0, _sum(planned, "carbon_kg")
    if isinstance(planned, AreaScenarioPlan):
        return planned.expected_cost, planned.expected_carbon_kg
    if not hasattr(planned, "carbon_kg"):
        kind = type(planned).__name__.replace("NoneType", "None")
        way = ", which knows no emissions" if hasattr(planned, "expected_cost") else ""
        raise TypeError(f"plan has to return a plan, not {kind}{way}")
    cost = planned.cost.total if isinstance(planned.cost, CapacityCost) else planned.cost
    return cost, planned.carbon_kg


def _sum(plans: PlanTable, name: str) -> float | None:
    """Sum of a column without its rows in error; ``None`` if there is no such column."""
    if name not in plans.column_names:
        return None
    import pyarrow as pa  # noqa: PLC0415  an optional extra

    numbers = pa.table(plans)[name].to_pylist()
    return fsum(number for number in numbers if number is not None)
