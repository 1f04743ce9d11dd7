"""Progress of the planning of an area, and the memory of its rounds."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from slackwater._record import Record


class _AreaProgressFields(NamedTuple):
    rounds: int
    cost: float
    bound: float
    relative_gap: float


class AreaProgress(_AreaProgressFields, Record):
    """Progress of the rounds.

    Attributes:
        rounds: Rounds of this search; the next search starts at 1 again.
        cost: Cost of the best mix of columns; infinite before there is one.
        bound: No plan costs less.
        relative_gap: Their distance in proportion to the cost.
    """

    __slots__ = ()


class RoundMemory(Protocol):
    """Memory of rounds, so that an interrupted call can be resumed.

    Rounds are the same for the same call. If the kept texts are returned in the
    same order, their rounds are not computed again, and the plan is the same to
    the last bit.
    """

    def recall(self) -> str | None:
        """Return the next kept text; ``None`` after the last one."""

    def keep(self, text: str) -> None:
        """Keep a text of one line."""
