"""What plans of all kinds have in common: nothing changes them, and they can be saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from slackwater import _engine
from slackwater._engine import InputError
from slackwater._frozen import Frozen
from slackwater._power import power_periods

if TYPE_CHECKING:
    from datetime import timedelta
    from os import PathLike

    from slackwater import _engine
    from slackwater._engine import Evaluation, Table, Verification
    from slackwater.prices import Prices
    from slackwater.site_devices import DemandCharge, PowerOverTime
    from slackwater.typing import ArrowTable


class _Certificate(Protocol):
    """Proof of a plan."""

    @property
    def cost(self) -> float:
        """What was minimised."""

    @property
    def gap(self) -> float:
        """Distance of the cost to its bound."""


class _Verified(Protocol):
    """Proof that holds all that it rests on."""

    def verify(self) -> Verification:
        """Compute each statement anew."""


class SavedPlan(Frozen):
    """A plan that cannot be changed, but written to a file, read again and copied.

    It stands behind a native plan among the bases of a class, which has a slot ``_prices``.
    """

    __slots__ = ()
    _prices: Prices

    def __init__(self, native: object, prices: Prices) -> None:  # noqa: ARG002  `__new__` takes it
        """Add prices to a plan of the engine; plans come from the functions of the package."""
        object.__setattr__(self, "_prices", prices)

    @property
    def certificate(self) -> _Certificate:
        """What proves the plan."""
        raise NotImplementedError

    def _emissions_kg(self, _intensity: _engine.Series) -> tuple[float, float]:
        """Emissions of the plan and of its baseline, in kg."""
        raise NotImplementedError

    @property
    def carbon_kg(self) -> float | None:
        """Emissions of the energy bought, in kg; ``None`` if the prices hold none.

        They are known of plans that were made with ``carbon=``, and saved with them.
        """
        emissions = self._prices._emissions
        return None if emissions is None else self._emissions_kg(emissions.intensity)[0]

    @property
    def baseline_carbon_kg(self) -> float | None:
        """Emissions of the baseline in kg, as :attr:`carbon_kg`."""
        emissions = self._prices._emissions
        return None if emissions is None else self._emissions_kg(emissions.intensity)[1]

    @property
    def carbon_cost(self) -> float | None:
        """The part of the cost that is the price of emissions, as :attr:`carbon_kg`."""
        emissions, kg = self._prices._emissions, self.carbon_kg
        return None if emissions is None or kg is None else emissions.cost_of(kg)

    @property
    def currency(self) -> str:
        """Currency of all amounts."""
        return self._prices.currency

    @property
    def gap(self) -> float:
        """The most that a better plan could save, in units of the currency."""
        return self.certificate.gap

    def verify(self) -> Verification:
        """Compute each statement of the certificate anew, without the planner.

        The certificates of most plans hold all that they rest on: there this is
        ``plan.certificate.verify()``. Those of vehicles, of sites and of devices that switch rest
        on the request as well, so that the plan verifies them.

        Returns:
            Each statement with the computed number and the difference. Nothing is raised for a
            statement that does not hold: look at ``failed``.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
            >>> plan = sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(None, 10)])
            >>> plan.verify().holds
            True
        """
        return cast("_Verified", self.certificate).verify()

    @property
    def prices(self) -> Prices:
        """The prices that the plan was made for; those to buy at where there are two."""
        return self._prices

    @property
    def request(self) -> dict[str, Any]:
        """What the plan was asked for, with names, numbers and texts as :meth:`save` writes them.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
            >>> plan = sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(None, 10)])
            >>> plan.request["power_max_kw"], plan.request["targets"]
            (7.0, [{'by': None, 'energy_kwh': 10.0}])
        """
        import json  # noqa: PLC0415  a part of the standard library that few programs need

        request: dict[str, Any] = json.loads(self.to_json())["recorded"]["run"]["request"]
        return request

    def to_json(self) -> str:
        """Write the plan with its prices and its request as JSON.

        The text has all that is needed to plan again and the versions of what
        planned: see :func:`slackwater.replay`. The same plan is the same text,
        byte by byte.
        """
        return _engine.plan_to_json(self)  # type: ignore[arg-type]  # a kind of plan

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a plan from the text that :meth:`to_json` wrote.

        Raises:
            InputError: As :func:`slackwater.load_plan`; or the plan is of
                another class, which ``load_plan`` would give.
        """
        from slackwater.saved import plan_from_json  # noqa: PLC0415  knows all kinds of plans

        plan = plan_from_json(text)
        if not isinstance(plan, cls):
            raise InputError(f"this is a saved {type(plan).__name__}, not a {cls.__name__}")
        return plan

    def save(self, path: str | PathLike[str]) -> None:
        """Write the text of :meth:`to_json` to a file.

        Args:
            path: The file, which is replaced if it exists.

        Raises:
            OSError: The file cannot be written.
        """
        Path(path).write_text(self.to_json(), encoding="utf-8", newline="\n")

    def load(self, resolution: timedelta) -> Table:
        """Tell the power of the plan over time, step by step.

        Args:
            resolution: Length of a step. Steps begin at multiples of it since 1970 in UTC, so
                with an hour they begin with the hour.

        Returns:
            A table with ``start``, ``end`` (in UTC), ``power_kw`` (mean power of the step at the
            plug, or at the meter of a site; negative feeds) and ``energy_kwh``, from the first
            start of an interval to the last end. Without an interval it has no rows.

        Raises:
            InputError: The resolution is not positive, or gives more than 5.3 million steps.

        Example:
            >>> import pyarrow as pa
            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
            >>> plan = sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(None, 10.5)])
            >>> pa.table(plan.load(timedelta(hours=1)))["power_kw"].to_pylist()
            [7.0, 3.5]
        """
        return _engine.plan_load(self, resolution)  # type: ignore[arg-type]  # a kind of plan

    def evaluate(
        self,
        prices: Prices,
        *,
        export_prices: Prices | None = None,
        solar: PowerOverTime | ArrowTable | None = None,
        load: PowerOverTime | ArrowTable | None = None,
        demand_charge: DemandCharge | None = None,
    ) -> Evaluation:
        """Price the plan, executed as it is, under other facts.

        At its own prices a plan costs what it cost. The baseline is evaluated under the
        same facts: the same energy at full power from plug-in. A plan that was made with
        ``carbon=`` pays its price of emissions here too, in ``other_cost``, unless ``prices``
        hold one (:meth:`slackwater.Prices.plus_emissions`).

        With ``solar`` or ``load``, cost and energy are those of the whole connection, from
        the first slot of the plan to the last. Solar power serves the load first, then the
        plan. A plan of a site has solar systems and loads of its own: there the facts take
        the place of their forecasts, and a curtailed solar system feeds at most what was
        planned. What is not given stays as it was planned. A plan under a capacity tariff is
        priced with its tariff and with the load beside the battery that it was planned with;
        ``solar`` or ``load`` take the place of all of that load.

        Time in which a fact is missing is in no cost: it is in ``missing``. If energy of the plan
        or of the baseline is, ``savings`` is ``None``. Energy at prices that are still estimates
        is in ``energy_on_estimates_kwh``.

        Args:
            prices: Settled prices to buy at.
            export_prices: Settled prices to sell at; without them exports earn nothing, or
                what a site was planned with.
            solar: Measured solar power in kW: a number, one for each slot of ``prices``, a
                series, periods ``(start, end, power_kw)``, or a table with these columns.
            load: Measured inflexible load, in the same form.
            demand_charge: Price of the peak import; its windows count whole. Not for a plan under
                a capacity tariff, which prices the power itself.

        Returns:
            Costs, energies, baseline, and what is missing.

        Raises:
            InputError: Prices are in different currencies, powers are negative or overlap,
                a site has no device for them or needs one where they are unknown, a demand
                charge is given beside a capacity tariff, or a price of emissions for a site that
                has one.
            TypeError: A time has no zone.

        Example:
            Planned for the second hour at 0.10, which turned out at 0.40:

            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> expected = sw.Prices.from_values(six, [0.30, 0.10], currency="EUR")
            >>> plan = sw.plan_charge(expected, now=six, power_max_kw=7, targets=[(None, 7)])
            >>> settled = sw.Prices.from_values(six, [0.30, 0.40], currency="EUR")
            >>> found = plan.evaluate(settled, solar=[0.0, 2.0])
            >>> round(found.cost, 4), round(found.baseline_cost, 4), found.from_solar_kwh
            (2.0, 2.1, 2.0)
        """
        refuse_other_currency("prices", prices.currency, self.currency)
        return _engine.evaluate(
            self,  # type: ignore[arg-type]  # a kind of plan
            prices._native,
            export_prices=None if export_prices is None else export_prices._native,
            solar=power_periods("solar", solar, prices),
            load=power_periods("load", load, prices),
            demand=None if demand_charge is None else _demand(demand_charge),
            # Prices with a price of emissions are complete.
            emissions=self._prices._emissions if prices._emissions is None else None,
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Copy by text, so that other processes can have the plan."""
        return type(self).from_json, (self.to_json(),)


def refuse_other_currency(argument: str, given: str, wanted: str) -> None:
    """Refuse plans or prices whose amounts cannot be compared with those of a plan.

    Raises:
        InputError: They are in another currency.
    """
    if given != wanted:
        verb = "are" if argument == "prices" else "is"
        raise InputError(f"{argument} {verb} in {given}, the plan in {wanted}")


def _demand(charge: DemandCharge) -> tuple[float, float, int]:
    """A demand charge as the native part takes it: price, peak, minutes of a window."""
    if charge.window_energy_kwh or charge.periods is not None:
        message = "demand_charge: an evaluation takes no window_energy_kwh and no periods"
        raise InputError(message)
    return charge.peak_price_per_kw, charge.peak_incurred_kw, charge._window_minutes
