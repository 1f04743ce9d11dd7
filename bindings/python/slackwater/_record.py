"""Records: named tuples and data classes with a method for their fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast


class Record:
    """Base of the records of the package, beside named tuples and data classes.

    Records compare by value, and can be copied and pickled. A named tuple is the base of a class of
    two bases, ``class Target(_TargetFields, Record)``: a named tuple itself takes no other base.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Show the fields of a named tuple as those of the class, and errors by its name."""
        super().__init_subclass__()
        if issubclass(cls, tuple):
            fields: Any = cls.__mro__[1]
            cls.__annotations__ = dict(fields.__annotations__)
            fields.__new__.__qualname__ = f"{cls.__qualname__}.__new__"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary; records inside of it become dictionaries, too."""
        names = getattr(self, "_fields", None)
        if names is None:
            names = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]  # no named tuple
        return {name: plain(getattr(self, name)) for name in names if not name.startswith("_")}


def plain(value: object) -> object:
    """A value with dictionaries in place of records, also within lists, tuples and mappings."""
    if isinstance(value, Record) or hasattr(type(value), "__match_args__"):
        to_dict = getattr(value, "to_dict", None)
        return value if to_dict is None else to_dict()
    is_table = hasattr(type(value), "column_names") and hasattr(type(value), "__getitem__")
    if isinstance(value, list) or is_table:
        return [plain(entry) for entry in cast("Sequence[object]", value)]
    if type(value) is tuple:
        return tuple(plain(entry) for entry in value)
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    return value
