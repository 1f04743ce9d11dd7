"""What plans of all kinds have in common: nothing changes them, and they can be saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from slackwater._engine import InputError

if TYPE_CHECKING:
    from datetime import datetime
    from os import PathLike

    from slackwater.prices import Prices


class _Certificate(Protocol):
    """Proof of a plan."""

    @property
    def gap(self) -> float:
        """Distance of the cost to its bound."""


class _Native(Protocol):
    """A plan of the engine, of any kind."""

    @property
    def now(self) -> datetime:
        """First instant that the plan could use."""

    @property
    def cost(self) -> float:
        """What is minimised."""

    @property
    def shortfall_kwh(self) -> float:
        """What is missing."""

    @property
    def certificate(self) -> _Certificate:
        """What proves the plan."""

    def to_json(self) -> str:
        """Write the plan as JSON."""


NativePlan = TypeVar("NativePlan", bound=_Native)


class SavedPlan(Generic[NativePlan]):
    """A plan that cannot be changed, but written to a file, read again and copied."""

    __slots__ = ("_native", "_prices")
    _native: NativePlan
    _prices: Prices

    def __init__(self, native: NativePlan, prices: Prices) -> None:
        """Wrap a plan of the engine; plans come from the functions of the package."""
        object.__setattr__(self, "_native", native)
        object.__setattr__(self, "_prices", prices)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a plan cannot be changed."""
        message = f"a {type(self).__name__} cannot be changed: {name}"
        raise AttributeError(message)

    @property
    def now(self) -> datetime:
        """First instant that the plan could use, in UTC."""
        return self._native.now

    @property
    def currency(self) -> str:
        """Currency of all amounts."""
        return self._prices.currency

    @property
    def gap(self) -> float:
        """The most that a better plan could save, in units of the currency."""
        return self._native.certificate.gap

    @property
    def prices(self) -> Prices:
        """The prices that the plan was made for; those to buy at where there are two."""
        return self._prices

    def __eq__(self, other: object) -> bool:
        """Compare everything, proof included."""
        return isinstance(other, type(self)) and self._native == other._native

    def __hash__(self) -> int:
        """Hash by cost and shortfall."""
        return hash((self._native.cost, self._native.shortfall_kwh))

    def to_json(self) -> str:
        """Write the plan with its prices and its request as JSON.

        The text has all that is needed to plan again and the versions of what
        planned: see :func:`slackwater.replay`. The same plan is the same text,
        byte by byte.
        """
        return self._native.to_json()

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

    def __reduce__(self) -> tuple[object, ...]:
        """Copy by text, so that other processes can have the plan."""
        return type(self).from_json, (self.to_json(),)
