"""Frames of polars with columns that are not in Arrow's format."""

from __future__ import annotations

import sys
from typing import Any

from slackwater import _engine


def readable_table(table: object) -> object:
    """Return a table that the native part can read; most are returned as they are.

    Polars hands out some columns in a form of its own: those without any value (with a buffer that
    the format does not have), whole numbers of 128 bits, and Python objects (as their addresses).
    They become columns of nothing, whole numbers of 64 bits, or texts.

    Args:
        table: A table of any Arrow library.
    """
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(table, polars.DataFrame | polars.Series):
        return table
    is_structs = isinstance(table, polars.Series) and isinstance(table.dtype, polars.Struct)
    if isinstance(table, polars.Series) and not is_structs:
        return table
    frame: Any = table.struct.unnest() if is_structs else table
    columns = {name: _readable_column(polars, frame[name]) for name in frame.columns}
    changed = [column for name, column in columns.items() if column.dtype != frame.schema[name]]
    if changed:
        frame = frame.with_columns(changed)
    if not any(_holds(kind, {polars.Null}) for kind in frame.dtypes):
        return frame
    return _engine.Table(frame.write_ipc_stream(None).getvalue())


def _readable_column(polars: Any, column: Any) -> Any:  # noqa: ANN401  an optional library
    """Replace objects by texts, and numbers of 128 bits by shorter ones."""
    if column.dtype == polars.Object:
        texts = [None if value is None else str(value) for value in column.to_list()]
        return polars.Series(column.name, texts, dtype=polars.String)
    wide = {polars.Int128, polars.UInt128}
    if not _holds(column.dtype, wide):
        return column
    try:
        return column.cast(_replaced(polars, column.dtype, wide, polars.Int64))
    except polars.exceptions.InvalidOperationError:
        # Ids of such a size stay different, and where a number is needed, texts are refused.
        return column.cast(_replaced(polars, column.dtype, wide, polars.String))


def _parts(kind: Any) -> list[Any]:  # noqa: ANN401  a type of polars
    """List the types inside of a type."""
    inner = getattr(kind, "inner", None)
    return [inner] if inner is not None else [each.dtype for each in getattr(kind, "fields", ())]


def _holds(kind: Any, wanted: set[Any]) -> bool:  # noqa: ANN401  a type of polars
    """Whether a type is one of some, or holds one."""
    return kind in wanted or any(_holds(part, wanted) for part in _parts(kind))


def _replaced(polars: Any, kind: Any, old: set[Any], new: Any) -> Any:  # noqa: ANN401  types of polars
    """Return a type with a new one in place of some."""
    if kind in old:
        return new
    parts = [_replaced(polars, part, old, new) for part in _parts(kind)]
    if isinstance(kind, polars.Struct):
        names = [each.name for each in kind.fields]
        return polars.Struct(dict(zip(names, parts, strict=True)))
    if isinstance(kind, polars.Array):
        return polars.Array(parts[0], kind.size)
    return polars.List(parts[0]) if parts else kind
