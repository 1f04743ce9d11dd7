"""Types that stand for objects of other libraries."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class ArrowTable(Protocol):
    """Anything that hands out columns by the Arrow PyCapsule interface.

    Tables of pyarrow, frames of polars and pandas, and relations of DuckDB do.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand out a capsule with an Arrow C stream."""
        ...
