"""Results that nothing can change."""

from __future__ import annotations


class Frozen:
    """A result whose attributes are set once, when it is made."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a result cannot be changed."""
        kind = type(self).__name__
        article = "an" if kind[0] in "AEIOU" else "a"
        message = f"{article} {kind} cannot be changed: {name}"
        raise AttributeError(message)
