"""Pages of a list, newest first, that others add to and delete from meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple, cast

from slackwater import _engine, _public
from slackwater._record import Record


class _ItemFields(NamedTuple):
    created_at: datetime
    id: str


class Item(_ItemFields, Record):
    """What orders an item of a list.

    Attributes:
        created_at: When it was created, aware.
        id: Its identifier. Of two items created together the one whose
            identifier sorts last comes first.
    """

    __slots__ = ()


class _CursorFields(NamedTuple):
    created_at: datetime
    id: str
    side: Literal["above", "below"]


class Cursor(_CursorFields, Record):
    """A place between two items of a list, named by one of them.

    Attributes:
        created_at: When that item was created.
        id: Its identifier. It need not exist any more.
        side: Which side of it.
    """

    __slots__ = ()


class _PageFields(NamedTuple):
    items: list[Item]
    before: Cursor | None
    after: Cursor | None


class Page(_PageFields, Record):
    """One page, newest item first.

    Attributes:
        items: Its items.
        before: Leads to the previous page; ``None`` if nothing newer exists.
        after: Leads to the next page; ``None`` if nothing older exists.
    """

    __slots__ = ()


def _cursor(given: tuple[datetime, str, str] | None) -> Cursor | None:
    if given is None:
        return None
    return Cursor(given[0], given[1], cast("Literal['above', 'below']", given[2]))


def list_page(
    items: Iterable[Item | tuple[datetime, str]],
    *,
    before: Cursor | None = None,
    after: Cursor | None = None,
    page_size: int | None = None,
) -> Page:
    """Cut one page out of a list.

    A cursor is a position, not a count: items that come and go between two
    calls are neither repeated, nor do they hide others. A page without items
    keeps the cursor that led to it, so that the way back stays open.

    Args:
        items: In any order, no two alike.
        before: The previous page, from here.
        after: The next page, from here. Not together with ``before``.
        page_size: Most items on the page; ``None`` is 50.

    Raises:
        InputError: Both cursors are given, the size is below 1, or two items
            are alike.
        TypeError: A time has no zone, or the size is no whole number.

    Example:
        >>> from datetime import UTC, datetime
        >>> items = [Item(datetime(2026, 1, day, tzinfo=UTC), f"d{day}") for day in (1, 2, 3)]
        >>> first = list_page(items, page_size=2)
        >>> [item.id for item in first.items], first.before is None
        (['d3', 'd2'], True)
        >>> last = list_page(items, page_size=2, after=first.after)
        >>> [item.id for item in last.items], last.after is None
        (['d1'], True)
    """
    found, previous, following = _engine.list_page(
        list(items),
        before=before,
        after=after,
        page_size=page_size,
    )
    return Page([Item(*item) for item in found], _cursor(previous), _cursor(following))


_public.guard(__name__)
