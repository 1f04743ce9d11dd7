"""Policies of one vehicle while prices and its departure are uncertain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from slackwater import _engine, _view
from slackwater._frozen import Frozen
from slackwater._record import Record
from slackwater.prices import Prices, priced

if TYPE_CHECKING:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slackwater._engine import BidCurve, PolicyDecision, PolicyReasons, Verification
    from slackwater._palette import Theme
    from slackwater.plan import PowerLimit
    from slackwater.questions import Departure
    from slackwater.site_devices import Carbon

Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class MarkovPrices(Record):
    """Prices that are in one of several states and change it from slot to slot.

    Each state is a price curve; all have the same slots and currency. When a slot ends, the state
    of the next one is drawn by the row of the present state. The state of a slot is known when the
    slot starts.

    Attributes:
        states: A price curve for each state, such as that of day ahead less, at and above its
            forecast.
        transitions: Probabilities from state to state, a row for each state and 1 in all: one
            matrix for all slots, or a list of one between each two slots. Arrays of NumPy fit.
        first: Probabilities of the states in the first slot of the curves.

    Raises:
        InputError: Curves have different slots or currencies, a list has another length than
            there are states, or probabilities do not add up to 1.

    Example:
        >>> from datetime import UTC, datetime
        >>> import slackwater as sw
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> forecast = sw.Prices.from_values(six, [0.30, 0.20, 0.10], currency="EUR")
        >>> prices = sw.MarkovPrices(
        ...     states=[forecast.plus(-0.05), forecast.plus(0.05)],
        ...     transitions=[[0.8, 0.2], [0.2, 0.8]],
        ...     first=[0.5, 0.5],
        ... )
        >>> len(prices.states)
        2
    """

    states: Sequence[Prices]
    transitions: Matrix | Sequence[Matrix]
    first: Sequence[float]

    def __post_init__(self) -> None:
        """Check the fields, and keep them as tuples."""
        is_one = not _is_deep(self.transitions)
        matrices: Any = [self.transitions] if is_one else self.transitions
        matrices = tuple(tuple(tuple(map(float, row)) for row in matrix) for matrix in matrices)
        object.__setattr__(self, "states", tuple(self.states))
        object.__setattr__(self, "transitions", matrices[0] if is_one else matrices)
        object.__setattr__(self, "first", tuple(map(float, self.first)))
        self._engine_prices()

    def _engine_prices(self) -> _engine.ScenarioPrices:
        matrices: Any = self.transitions if _is_deep(self.transitions) else [self.transitions]
        curves = [prices._native for prices in self.states]
        return _engine.ScenarioPrices.markov(curves, transitions=matrices, first=list(self.first))

    def _priced(self, carbon: Carbon) -> MarkovPrices:
        """These prices with a price of emissions in each state."""
        return replace(self, states=[prices.plus_emissions(carbon) for prices in self.states])

    def _curves(self) -> Iterable[Prices]:
        return self.states


def _is_deep(transitions: Matrix | Sequence[Matrix]) -> bool:
    """Tell a list of matrices from one matrix."""
    return not all(isinstance(entry, float | int) for row in transitions for entry in row)


@dataclass(frozen=True)
class PriceTree(Record):
    """Prices that are certain for a while and then branch.

    A branch is known when its first slot starts. All branches end with the same slot.

    Attributes:
        prices: The certain prices.
        then: Branches that may follow, as ``(probability, branch)`` with probabilities that add
            up to 1. A branch is another tree, or prices.

    Raises:
        InputError: A branch begins before ``prices`` end, branches have different slots or
            currencies, or probabilities do not add up to 1.

    Example:
        Tomorrow depends on the wind:

        >>> from datetime import UTC, datetime, timedelta
        >>> import slackwater as sw
        >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
        >>> today = sw.Prices.from_values(six, [0.20], currency="EUR")
        >>> windy = sw.Prices.from_values(six + hour, [0.10], currency="EUR")
        >>> calm = sw.Prices.from_values(six + hour, [0.40], currency="EUR")
        >>> prices = sw.PriceTree(today, then=[(0.8, windy), (0.2, calm)])
        >>> [probability for probability, _ in prices.then]
        [0.8, 0.2]
    """

    prices: Prices
    then: Iterable[tuple[float, PriceTree | Prices]] = ()

    def __post_init__(self) -> None:
        """Check the fields, and keep branches as trees in a tuple."""
        branches = tuple((probability, _as_tree(branch)) for probability, branch in self.then)
        object.__setattr__(self, "then", branches)
        self._engine_prices()

    def _engine_prices(self) -> _engine.ScenarioPrices:
        # Each branch is followed by its own branches, so states are numbered from top to bottom.
        rows: list[tuple[int | None, float, _engine.Prices]] = []
        ahead: list[tuple[int | None, float, Any]] = [(None, 1.0, self)]
        while ahead:
            parent, probability, tree = ahead.pop()
            here = len(rows)
            rows.append((parent, probability, tree.prices._native))
            ahead.extend((here, share, branch) for share, branch in reversed(tree.then))
        return _engine.ScenarioPrices.tree(rows)

    def _priced(self, carbon: Carbon) -> PriceTree:
        """These prices with a price of emissions in each branch."""
        branches = [(share, _as_tree(branch)._priced(carbon)) for share, branch in self.then]
        return PriceTree(self.prices.plus_emissions(carbon), then=branches)

    def _curves(self) -> Iterable[Prices]:
        yield self.prices
        for _, branch in self.then:
            yield from _as_tree(branch)._curves()


def _as_tree(branch: PriceTree | Prices) -> PriceTree:
    return PriceTree(branch) if isinstance(branch, Prices) else branch


class ChargePolicy(_engine.ChargePolicy, Frozen):
    """The policy of least expected cost for one vehicle. Cannot be changed.

    It answers for every instant, state of the prices and energy that is still wanted, so nothing
    is planned again while it is followed. An Arrow library reads it as the table :attr:`slots`.
    """

    __slots__ = ("_given",)
    _given: dict[str, Any]

    def __init__(self, native: _engine.ChargePolicy, given: dict[str, Any]) -> None:  # noqa: ARG002  `__new__` takes it
        """Add its arguments to a policy of the engine; see :func:`plan_policy`."""
        object.__setattr__(self, "_given", given)

    @property
    def prices(self) -> MarkovPrices | PriceTree | Prices:
        """The prices that the policy was made for, with the price of emissions."""
        prices: MarkovPrices | PriceTree | Prices = self._given["prices"]
        carbon: Carbon | None = self._given["carbon"]
        if carbon is None:
            return prices
        return priced(prices, carbon) if isinstance(prices, Prices) else prices._priced(carbon)

    def decide(
        self, *, at: datetime, wanted_kwh: float, state: int | None = None
    ) -> PolicyDecision:
        """Tell what to do from an instant to the end of its slot.

        Args:
            at: The instant, aware.
            wanted_kwh: Energy that is still wanted then, in kWh at the plug.
            state: Number of the state that the prices are in: the position in
                ``MarkovPrices.states``, or in a ``PriceTree`` that of the branch among all of the
                slot, from the first to the last. It may be left out where there is one.

        Returns:
            Power and energy, the price, what is left, and the expected cost from then on.

        Raises:
            InputError: The policy has no such instant, state or energy.
            TypeError: A time has no zone.
        """
        return super().decide(at=at, wanted_kwh=wanted_kwh, state=state)

    def bid_curve(self, *, at: datetime, wanted_kwh: float, state: int | None = None) -> BidCurve:
        """Return the demand curve from an instant to the end of its slot.

        What ``state`` says of the prices after the slot is part of the curve, the price of the
        slot itself is not: at that price the curve buys what :meth:`decide` charges.

        Args:
            at: The instant, aware.
            wanted_kwh: Energy that is still wanted then, in kWh at the plug.
            state: As in :meth:`decide`.

        Returns:
            Steps with falling prices and rising energies, a sequence and an Arrow table.

        Raises:
            InputError: The policy has no such instant, state or energy.
            TypeError: A time has no zone.
        """
        return super().bid_curve(at=at, wanted_kwh=wanted_kwh, state=state)

    def conditional_value_at_risk(self, *, level: float) -> float:
        """Return the mean cost of the worst outcomes (CVaR), such as the worst 5 % for 0.95.

        The policy has the least expected cost, not the least value at risk.

        Args:
            level: Probability of all other outcomes, from 0 (then it is the expected cost) to
                below 1.

        Raises:
            InputError: ``level`` is out of range, or prices are a chain with several ways to a
                state, which has too many outcomes.
        """
        return super().conditional_value_at_risk(level=level)

    def explain(self, *, time_zone: str = "UTC") -> PolicyReasons:
        """Give a reason for each slot and each of its states that can happen, in time order.

        A sentence tells whose estimates stand among the prices of the slot.

        Args:
            time_zone: IANA name of the zone in whose wall clock the sentences
                speak. The fields themselves are in UTC.

        Raises:
            InputError: The time zone is unknown.
        """
        return super().explain(time_zone=time_zone)

    def verify(self) -> Verification:
        """Compute each statement of the certificate anew: ``policy.certificate.verify()``."""
        return self.certificate.verify()

    def plot(
        self,
        *,
        at: datetime,
        wanted_kwh: float,
        time_zone: str | ZoneInfo = "UTC",
        theme: Theme = "auto",
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Figure:
        """Draw the bid curves of a slot with matplotlib, one for each state.

        A dot is the price of the slot in that state, and what is charged at it.

        Args:
            at: The instant, aware.
            wanted_kwh: Energy that is still wanted then, in kWh at the plug.
            time_zone: Zone in whose wall clock the title speaks: an IANA name or a ``ZoneInfo``.
            theme: ``"light"``, ``"dark"``, or ``"auto"`` for that of the axes or of matplotlib's
                style.
            ax: Axes to draw into.
            figsize: Width and height of a new figure in inches.

        Returns:
            The figure, which notebooks show.

        Raises:
            ImportError: matplotlib is not installed (``slackwater[plot]``).
            InputError: The policy has no such instant or energy, or the time zone or the theme is
                unknown.
        """
        from slackwater.plot import plot_bids  # noqa: PLC0415  an optional extra

        return plot_bids(
            self, at, wanted_kwh, time_zone=time_zone, theme=theme, ax=ax, figsize=figsize
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Copy by planning again, so that other processes can have the policy."""
        return _planned, (self._given,)

    def __repr__(self) -> str:
        """Tell energy, expected cost and shortfall, size and guesses in one line."""
        slots = self.slots
        starts = len({slot.start for slot in slots})
        states = max(slot.state for slot in slots) + 1
        missing = self.expected_shortfall_kwh
        short = f", {missing:.6g} kWh short" if missing > 0 else ""
        prices = self._given["prices"]
        curves = [prices] if isinstance(prices, Prices) else prices._curves()
        notes = "".join(f", {note}" for note in _view.estimated(curves))
        return (
            f"ChargePolicy({self._given['energy_kwh']:.6g} kWh for "
            f"{round(self.expected_cost, 4) + 0.0:.4f} {self.currency}{short} expected, "
            f"{_view.counted(starts, 'slot')}, up to {_view.counted(states, 'state')}{notes})"
        )


def _planned(given: dict[str, Any]) -> ChargePolicy:
    return plan_policy(**given)


def plan_policy(
    prices: MarkovPrices | PriceTree | Prices,
    *,
    now: datetime,
    power_max_kw: float,
    energy_kwh: float,
    shortfall_price_per_kwh: float,
    departures: Iterable[Departure | tuple[datetime, float]] = (),
    power_limits: Iterable[PowerLimit | tuple[datetime, datetime, float]] = (),
    carbon: Carbon | None = None,
) -> ChargePolicy:
    """Find the policy of least expected cost while prices or the departure are uncertain.

    A plan says what to charge when; a policy says it once each price is known, and uses nothing
    that is not known by then. Exact: no other policy has a lower expected cost, and
    ``certificate`` proves it.

    Args:
        prices: What a kWh may cost: a Markov chain, a tree, or one certain curve. Time without a
            price is not used.
        now: The present, aware: the first usable instant.
        power_max_kw: Highest power, in kW.
        energy_kwh: Energy wanted, in kWh at the plug.
        shortfall_price_per_kwh: Price of a kWh that is missing when the vehicle leaves. Dearer
            electricity is never bought.
        departures: When the vehicle may leave, with weights, of which only the ratios count;
            independent of the prices. Without any it stays to the last price.
        power_limits: Periods with a lower power limit, without overlap.
        carbon: As in :func:`slackwater.plan_charge`: a price of emissions in all states.

    Returns:
        The policy.

    Raises:
        InputError: A number is negative, NaN, infinite or beyond all measure; prices have ended
            by ``now``; a departure is not within the prices; power limits overlap; states and
            different powers are so many that the policy would not fit memory; or the carbon
            intensity is missing at a time that has a price.
        TypeError: A time has no zone.

    Example:
        Tomorrow may be windy. The policy charges today what would not fit tomorrow, and leaves
        10 kWh:

        >>> from datetime import UTC, datetime, timedelta
        >>> import slackwater as sw
        >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
        >>> today = sw.Prices.from_values(six, [0.20], currency="EUR")
        >>> windy = sw.Prices.from_values(six + hour, [0.10], currency="EUR")
        >>> calm = sw.Prices.from_values(six + hour, [0.40], currency="EUR")
        >>> policy = sw.plan_policy(
        ...     sw.PriceTree(today, then=[(0.8, windy), (0.2, calm)]),
        ...     now=six,
        ...     power_max_kw=10,
        ...     energy_kwh=15,
        ...     shortfall_price_per_kwh=1,
        ... )
        >>> policy
        ChargePolicy(15 kWh for 2.6000 EUR expected, 2 slots, up to 2 states)
        >>> policy.decide(at=six, wanted_kwh=15).energy_kwh
        5.0
        >>> policy.certificate.is_proved
        True
    """
    given: dict[str, Any] = {
        "now": now,
        "power_max_kw": power_max_kw,
        "energy_kwh": energy_kwh,
        "shortfall_price_per_kwh": shortfall_price_per_kwh,
        "departures": list(departures),
        "power_limits": list(power_limits),
    }
    scenarios = PriceTree(prices) if isinstance(prices, Prices) else prices
    paid = scenarios if carbon is None else scenarios._priced(carbon)
    native = _engine.plan_policy(paid._engine_prices(), **given)
    return ChargePolicy(native, given | {"prices": prices, "carbon": carbon})
