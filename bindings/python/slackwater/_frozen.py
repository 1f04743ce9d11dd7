"""Results that nothing can change."""

from __future__ import annotations

from typing import Any

from slackwater._record import plain

# Prices are a table of their own, and a request is a dictionary already.
APART = {"prices", "export_prices", "request"}


class Frozen:
    """A result whose attributes are set once, when it is made."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by name; records and plans inside become dictionaries, too.

        Sequences of records become lists. ``prices``, ``export_prices`` and ``request`` are left
        out.
        """
        kind = type(self)
        names = [name for name in dir(kind) if not name.startswith("_") and name not in APART]
        values = {name: getattr(self, name) for name in names if not callable(getattr(kind, name))}
        return {
            name: value.to_dict() if isinstance(value, Frozen) else plain(value)
            for name, value in values.items()
        }

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a result cannot be changed."""
        kind = type(self).__name__
        article = "an" if kind[0] in "AEIOU" else "a"
        message = f"{article} {kind} cannot be changed: {name}"
        raise AttributeError(message)
