"""What plans of all kinds have in common: they can be saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from slackwater._engine import InputError

if TYPE_CHECKING:
    from os import PathLike


class _Native(Protocol):
    """A plan of the engine, of any kind."""

    def to_json(self) -> str:
        """Write the plan as JSON."""


class SavedPlan:
    """A plan that can be written to a file, read again and copied."""

    __slots__ = ()
    _native: _Native

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
