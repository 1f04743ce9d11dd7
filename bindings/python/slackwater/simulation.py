"""Simulation of a charging policy in a receding horizon, and what it leaves to be regretted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from slackwater import _engine
from slackwater._engine import InputError, Interval
from slackwater.forecasts import Forecast
from slackwater.plan import Plan
from slackwater.prices import Prices

if TYPE_CHECKING:
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


@dataclass(frozen=True, kw_only=True)
class Replan:
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


Command: TypeAlias = float | Plan | Iterable[Interval | tuple[datetime, datetime, float]] | None
"""What a policy answers: a power in kW until the next decision, a plan, or periods
``(start, end, power_kw)``. ``None`` is off, and so is time without a period."""

Policy: TypeAlias = Replan | Callable[[View], Command]
"""A rule that decides: :class:`Replan`, or any function of a :class:`View`."""


class Simulation(_engine.Simulation):
    """Result of a simulation: realised cost, hindsight optimum, regret, tables.

    Amounts are decimals with twelve places and add up to the last digit:
    ``regret == cost - hindsight_cost == sum(regret_parts.values())``.
    """

    __slots__ = ("_totals", "currency")

    def __init__(self, native: _engine.Simulation, currency: str) -> None:
        """Add a currency to a result of the engine; :func:`simulate` makes it."""
        self._totals = {name: Decimal(amount) for name, amount in native._amounts}
        self.currency = currency

    @property
    def cost(self) -> Decimal:
        """Realised cost: energy at settled prices, starts, missing energy at its price."""
        return self._totals["cost"]

    @property
    def missing_cost(self) -> Decimal:
        """Part of the cost that is for energy missing at departures."""
        return self._totals["missing_cost"]

    @property
    def hindsight_cost(self) -> Decimal:
        """Least cost of ideal devices that knew every price from the start."""
        return self._totals["hindsight_cost"]

    @property
    def baseline_cost(self) -> Decimal:
        """Cost without planning: full power from every arrival."""
        return self._totals["baseline_cost"]

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

    def __repr__(self) -> str:
        """Tell cost, baseline and regret in one line."""
        return (
            f"Simulation({len(self.stays)} stays for {self.cost:.4f} {self.currency}, "
            f"hindsight {self.hindsight_cost:.4f}, without planning {self.baseline_cost:.4f}, "
            f"regret {self.regret:.4f})"
        )


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

    Returns:
        Costs, regret and tables.

    Raises:
        InputError: A row makes no sense, the prices do not cover a stay, ``step``,
            ``horizon`` or ``budget`` is out of range, or currencies differ.
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
        Simulation(1 stays for 1.5000 EUR, hindsight 1.0000, without planning 1.0000, \
regret 0.5000)
        >>> {name: float(part) for name, part in result.regret_parts.items() if part}
        {'forecast': 0.5}
    """
    if isinstance(policy, type):
        raise TypeError(f"policy is the class {policy.__name__}; give {policy.__name__}()")
    known = sorted(forecasts, key=lambda each: each.known_at)
    for forecast in known:
        if forecast.currency != prices.currency:
            message = f"forecasts are in {forecast.currency}, prices in {prices.currency}"
            raise InputError(message)
    native = _engine.simulate(
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
    return Simulation(native, prices.currency)


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
        return _periods(policy(View(native, forecasts)), native)

    return decide


def _periods(command: Command, view: _engine.View) -> list[tuple[datetime, datetime, float]]:
    """A command as periods with their power in kW."""
    if command is None:
        return []
    if isinstance(command, Plan):
        command = command.intervals
    if isinstance(command, Iterable):
        return [_period(period) for period in command]
    try:
        power_kw = float(command)
    except (TypeError, ValueError):
        raise _no_command(command) from None
    if power_kw < 0:
        message = f"the policy answers {power_kw:g} kW; a power is 0 kW or more"
        raise InputError(message)
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


def _no_command(answer: object) -> TypeError:
    """What a policy answers is no command."""
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
