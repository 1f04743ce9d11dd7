"""Plans of vehicles behind one limit while prices and limit are uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from slackwater import _engine, _view
from slackwater._frozen import Frozen
from slackwater._index import index_of, refuse_other_times
from slackwater._palette import HUES
from slackwater._record import Record
from slackwater.area_node import Profile
from slackwater.prices import Prices, emission_price, priced
from slackwater.series import Series, means_in

if TYPE_CHECKING:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slackwater._engine import AreaScenarioComparison, AreaScenarioReasons, Verification
    from slackwater._palette import Theme
    from slackwater._timeline import Picture
    from slackwater.site_devices import Carbon
    from slackwater.typing import ArrowTable


@dataclass(frozen=True, kw_only=True)
class AreaScenario(Record):
    """A course of prices and of the limit that may come true.

    Attributes:
        probability: Its probability, from 0 to 1.
        prices: Prices that all vehicles pay, with the same slots in all scenarios.
        limit_kw: Highest power of the vehicles and the base load together, as that of a
            :class:`slackwater.Node`; ``None`` for no limit.
        base_kw: Power of everything but the vehicles, negative where it feeds in. A base load
            above the limit leaves no capacity.

    Example:
        >>> from datetime import UTC, datetime
        >>> import slackwater as sw
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = sw.Prices.from_values(six, [0.20, 0.10], currency="EUR")
        >>> sw.AreaScenario(probability=0.8, prices=prices, limit_kw=20).limit_kw
        20
    """

    probability: float
    prices: Prices
    limit_kw: Profile | None = None
    base_kw: Profile | None = None


class AreaScenarioPlan(_engine.AreaScenarioPlan, Frozen):
    """Plan of vehicles behind one limit for several scenarios. Cannot be changed.

    Until the scenario is known all scenarios share one plan; after it each has its own. An Arrow
    library reads the plan as the table :attr:`intervals`.
    """

    __slots__ = ("_given",)
    _given: dict[str, Any]

    def __init__(self, native: _engine.AreaScenarioPlan, given: dict[str, Any]) -> None:  # noqa: ARG002  `__new__` takes it
        """Add its arguments to a plan of the engine; see :func:`plan_area_scenarios`."""
        object.__setattr__(self, "_given", given)

    @property
    def expected_carbon_kg(self) -> float | None:
        """Expected emissions of the energy bought, in kg; ``None`` without ``carbon=``."""
        carbon: Carbon | None = self._given["carbon"]
        if carbon is None:
            return None
        shares = [outcome.probability for outcome in self.scenarios]
        bought = [
            (each.start, each.end, each.power_kw * (1.0 if at is None else shares[at]))
            for each in self.intervals
            for at in [each.scenario]
        ]
        return sum(emission_price(carbon).intensity.weigh([period]) for period in bought)

    def explain(self, *, time_zone: str = "UTC") -> AreaScenarioReasons:
        """Give a reason for each planned vehicle: what it charges before the scenario is known.

        A sentence tells the time of the stay without a price, and estimates among its prices.

        Args:
            time_zone: IANA name of the zone in whose wall clock the sentences speak.

        Raises:
            InputError: The time zone is unknown.
        """
        return super().explain(time_zone=time_zone)

    def compare(self) -> AreaScenarioComparison:
        """Compare with planning for mean prices, and with perfect information.

        It plans twice for each scenario, to the gap of this plan; so a difference below that gap
        says nothing.

        Returns:
            Expected costs of the three, the value of the stochastic solution and that of perfect
            information.
        """
        return super().compare()

    def verify(self) -> Verification:
        """Compute each statement anew from the energies and the prices of the limit alone.

        Cost and shortfall are added up, the rules of vehicles and limits are checked, and the bound
        is computed by dynamic programming, which shares no code with the planner.

        Returns:
            Each statement with the computed number and the difference. Nothing is raised for a
            statement that does not hold: look at ``failed``.
        """
        return super().verify()

    def plot(
        self,
        *,
        time_zone: str | ZoneInfo = "UTC",
        theme: Theme = "auto",
        ax: Axes | None = None,
        axes: Sequence[Axes] | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Figure:
        """Draw the power of all vehicles and the price with matplotlib, a line for each scenario.

        The panels are ``power`` and ``price``. Slots that all scenarios share are shaded.

        Args:
            time_zone: Zone of the time axis: an IANA name or a ``ZoneInfo``.
            theme: ``"light"``, ``"dark"``, or ``"auto"`` for that of the axes or of matplotlib's
                style.
            ax: Axes to draw the power into, alone.
            axes: Axes to draw both panels into.
            figsize: Width and height of a new figure in inches.

        Returns:
            The figure, which notebooks show.

        Raises:
            ImportError: matplotlib is not installed (``slackwater[plot]``).
            InputError: The time zone or the theme is unknown, or axes do not fit.
        """
        from slackwater.plot import draw  # noqa: PLC0415  an optional extra

        picture = self._picture(_view.zone_of(time_zone))
        return draw(picture, theme=theme, ax=ax, axes=axes, figsize=figsize)

    def _picture(self, zone: ZoneInfo) -> Picture:
        """Power and price of each scenario."""
        from slackwater._timeline import (  # noqa: PLC0415  only drawings need it
            Band,
            Panel,
            Picture,
            Steps,
        )

        periods, shared = self.periods, self.periods[: self.shared_slots]
        powers, prices = [], []
        given: Sequence[AreaScenario] = self._given["scenarios"]
        for number, (outcome, scenario) in enumerate(zip(self.scenarios, given, strict=True)):
            ink = HUES[number % len(HUES)]
            label = f"scenario {number}, {_view.percent(outcome.probability)}"
            values = [price for _, _, price in scenario.prices.slots]
            powers.append(
                Steps(
                    name=f"power-{number}",
                    ink=ink,
                    periods=periods,
                    values=outcome.load_kw,
                    label=label,
                )
            )
            prices.append(Steps(name=f"price-{number}", ink=ink, periods=periods, values=values))
        missing = self.expected_shortfall_kwh
        bands = [Band(name="shared", ink=HUES[0], periods=shared, label="before it is known")]
        return Picture(
            title=f"{self.expected_cost:.2f} {self.currency} expected in {len(given)} scenarios",
            facts=[
                _view.dates(periods[0][0], periods[-1][1], zone),
                f"gap {_view.percent(self.relative_gap)}",
            ],
            warning=f"{_view.energy(missing)} expected to be missing" if missing else "",
            zone=zone,
            period=(periods[0][0], periods[-1][1]),
            panels=[
                Panel(name="power", title="Power", unit="kW", weight=2, curves=powers),
                Panel(name="price", title="Price", unit=f"{self.currency}/kWh", curves=prices),
            ],
            bands=bands if shared else [],
            slots=periods,
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Copy by planning again, so that other processes can have the plan."""
        return _planned, (self._given,)

    def __repr__(self) -> str:
        """Tell vehicles, scenarios, expected cost, shortfall, gap and guesses in one line."""
        missing = self.expected_shortfall_kwh
        short = f", {missing:.6g} kWh short" if missing > 0 else ""
        bad = len(self.errors)
        notes = [f"{bad} rows in error"] if bad else []
        notes += _view.estimated([scenario.prices for scenario in self._given["scenarios"]])
        if self.unpriced_hours > 0:
            notes.append(_view.unpriced_stays(self.unpriced_hours))
        told = "".join(f", {note}" for note in notes)
        return (
            f"AreaScenarioPlan({_view.counted(self.vehicles, 'vehicle')}, "
            f"{_view.counted(len(self.scenarios), 'scenario')}, "
            f"{round(self.expected_cost, 4) + 0.0:.4f} {self.currency}{short} expected, "
            f"gap {self.relative_gap:.2%}{told})"
        )


def _planned(given: dict[str, Any]) -> AreaScenarioPlan:
    return plan_area_scenarios(**given)


def plan_area_scenarios(
    vehicles: ArrowTable,
    scenarios: Sequence[AreaScenario],
    *,
    known_from: datetime,
    shortfall_price_per_kwh: float,
    relative_gap: float = 5e-3,
    rounds_max: int = 500,
    carbon: Carbon | None = None,
) -> AreaScenarioPlan:
    """Plan vehicles behind one limit while prices and the limit are uncertain.

    The plan has one part that holds whatever happens, until ``known_from``, and then one part for
    each scenario. Its expected cost is proved to be near the least of all such plans: a two-stage
    stochastic programme with recourse. Every limit holds in the mean of every slot.

    Args:
        vehicles: One row a vehicle that only charges, with ``id``, ``arrival``, ``departure``,
            ``power_max_kw`` and its need in kWh or in percent, as in :func:`slackwater.plan_batch`.
            Vehicles with ``targets`` before departure or with a reserve are refused.
        scenarios: What may happen, with probabilities that add up to 1.
        known_from: Instant from which the scenario is known, aware. All scenarios have the same
            prices and leave the same power until then. A slot that has begun counts as before.
        shortfall_price_per_kwh: Price of a kWh that is missing at departure. Dearer electricity is
            never bought. Where the limit leaves too little, the expected sum of missing energy at
            this price is least; how vehicles share it is not decided.
        relative_gap: Gap at which to end, in proportion to the larger of bound and baseline cost.
        rounds_max: Rounds after which to end the search.
        carbon: As in :func:`slackwater.plan_charge`: a price of emissions in all scenarios.

    Returns:
        The plan, with bound and gap.

    Raises:
        InputError: Probabilities do not add up to 1, scenarios differ in their slots or before
            ``known_from``, a number is negative, NaN, infinite or beyond all measure, a column is
            missing, of a wrong type or not planned with scenarios, or the carbon intensity is
            missing at a time that has a price.
        TypeError: A time has no zone.

    Warns:
        PlausibilityWarning: A column holds a number that looks like another unit.

    Example:
        Tomorrow may be windy. 10 kWh fit into the cheap hour then; 5 kWh are charged now:

        >>> from datetime import UTC, datetime, timedelta
        >>> import slackwater as sw
        >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
        >>> windy = sw.Prices.from_values(six, [0.20, 0.10], currency="EUR")
        >>> calm = sw.Prices.from_values(six, [0.20, 0.40], currency="EUR")
        >>> plan = sw.plan_area_scenarios(
        ...     {
        ...         "id": ["van", "bus"],
        ...         "arrival": [six, six],
        ...         "departure": [six + 2 * hour] * 2,
        ...         "energy_kwh": [5.0, 10.0],
        ...         "power_max_kw": [10.0, 10.0],
        ...     },
        ...     [
        ...         sw.AreaScenario(probability=0.8, prices=windy, limit_kw=10),
        ...         sw.AreaScenario(probability=0.2, prices=calm, limit_kw=10),
        ...     ],
        ...     known_from=six + hour,
        ...     shortfall_price_per_kwh=1,
        ... )
        >>> plan
        AreaScenarioPlan(2 vehicles, 2 scenarios, 2.6000 EUR expected, gap 0.00%)
        >>> [round(power, 6) for power in plan.scenarios[0].load_kw]
        [5.0, 10.0]
        >>> plan.verify().holds
        True
    """
    given: dict[str, Any] = {
        "vehicles": _engine.hold_table(vehicles),
        "scenarios": tuple(scenarios),
        "known_from": known_from,
        "shortfall_price_per_kwh": shortfall_price_per_kwh,
        "relative_gap": relative_gap,
        "rounds_max": rounds_max,
    }
    paid = [
        replace(scenario, prices=priced(scenario.prices, carbon)) for scenario in given["scenarios"]
    ]
    tuples = [_native(number, scenario) for number, scenario in enumerate(paid)]
    native = _engine.plan_area_scenarios(**given | {"scenarios": tuples})
    return AreaScenarioPlan(native, given | {"carbon": carbon})


def _native(number: int, scenario: AreaScenario) -> tuple[Any, ...]:
    """Numbers of a scenario, with means of its slots in place of each series."""
    profiles = []
    for field in ("limit_kw", "base_kw"):
        profile = getattr(scenario, field)
        name = f"{field} of scenarios[{number}]"
        if isinstance(profile, Series):
            periods = [(start, end) for start, end, _ in scenario.prices.slots]
            profile = means_in(profile, "kW", periods, name)
        elif index_of(profile) is not None:
            refuse_other_times(name, profile, [start for start, _, _ in scenario.prices.slots])
        profiles.append(profile)
    return (scenario.probability, scenario.prices._native, *profiles)
