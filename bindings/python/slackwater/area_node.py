"""Nodes of an area: points of the grid whose load is limited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NoReturn

from slackwater._engine import InputError
from slackwater._record import Record
from slackwater.series import Series, means_in

Profile = float | Series | Sequence[float | None]
"""A power for all slots, a series in kW, or one per slot with ``None`` where there is none."""

PROFILES = ("base_kw", "limit_kw", "export_limit_kw", "target_kw")
NUMBERS = {
    "breach_price_per_kwh": "a price of a kWh",
    "export_breach_price_per_kwh": "a price of a kWh",
    "peak_price_per_kw": "a price of a kW",
    "target_price_per_kwh": "a price of a kWh",
    "target_square_price": "a price of a kW² for an hour",
}
# What a field says nothing without.
NEEDED = {
    "breach_price_per_kwh": ("limit_kw",),
    "export_breach_price_per_kwh": ("export_limit_kw",),
    "target_price_per_kwh": ("target_kw",),
    "target_square_price": ("target_kw",),
    "target_kw": ("target_price_per_kwh", "target_square_price"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Record):
    """A point of the grid whose load is limited: an area, a feeder, a site.

    A load is the mean power of a slot; positive is import. Profiles are one
    number, one per slot of the prices, or a series in kW, whose mean over each
    slot counts.

    Attributes:
        name: Its name; the ``node`` column of the vehicles has these.
        parent: Name of the node that it hangs from; ``None`` at the top.
        base_kw: Load that is there anyway, negative where it feeds in. As the
            load of vehicles does, it counts at the nodes above too.
        limit_kw: Highest import, base load of the node and of those below it
            included.
        breach_price_per_kwh: Price of each kWh above ``limit_kw``; without one
            the limit is hard.
        export_limit_kw: Highest export, as a positive number.
        export_breach_price_per_kwh: Price of each kWh of export above it.
        peak_price_per_kw: Price of each kW by which the highest import of all
            slots exceeds ``peak_incurred_kw``.
        peak_incurred_kw: The peak that is paid for already.
        blocks: ``(above_kw, price_per_kwh)`` pairs, lowest first: what a kWh
            above that power costs on top of the vehicles' prices.
        target_kw: A load wanted.
        target_price_per_kwh: Price of each kWh above or below ``target_kw``.
        target_square_price: Price of the square of the distance to
            ``target_kw``, in kW² for an hour: fills valleys.

    Example:
        >>> Node(name="street", parent="town", limit_kw=400.0).parent
        'town'
    """

    name: str
    parent: str | None = None
    base_kw: Profile | None = None
    limit_kw: Profile | None = None
    breach_price_per_kwh: float | None = None
    export_limit_kw: Profile | None = None
    export_breach_price_per_kwh: float | None = None
    peak_price_per_kw: float | None = None
    peak_incurred_kw: float = 0.0
    blocks: Sequence[Sequence[float]] = ()
    target_kw: Profile | None = None
    target_price_per_kwh: float | None = None
    target_square_price: float | None = None


def plain_node(node: Node) -> Node:
    """Take a node whose numbers are of any type: of NumPy, of a list out of JSON.

    Raises:
        InputError: A field holds something else, or says nothing without another.

    Example:
        >>> from slackwater import Node
        >>> plain_node(Node(name="a", limit_kw=[4, None], blocks=[[1, 0.5]])).blocks
        ((1.0, 0.5),)
        >>> plain_node(Node(name="a", limit_kw="five"))
        Traceback (most recent call last):
            ...
        slackwater.InputError: limit_kw of node 'a' is 'five'; it is a number of kW, or one per slot
    """
    name: object = node.name
    if not isinstance(name, str):
        message = f"name of a node is {name!r}; it is a text"
        raise InputError(message)
    parent: object = node.parent
    if not isinstance(parent, str | None):
        _refuse(node, "parent", parent, "the name of a node")
    for field, others in NEEDED.items():
        if getattr(node, field) is not None and all(getattr(node, at) is None for at in others):
            _refuse(node, field, getattr(node, field), f"of use only with {' or '.join(others)}")
    fields: dict[str, Any] = {field: _profile(node, field) for field in PROFILES}
    fields |= {field: _price(node, field, wanted) for field, wanted in NUMBERS.items()}
    incurred = _number(node, "peak_incurred_kw", node.peak_incurred_kw, "a number of kW")
    return replace(node, **fields, peak_incurred_kw=incurred, blocks=_blocks(node))


def without_series(node: Node, periods: Sequence[tuple[datetime, datetime]]) -> Node:
    """A node with a number for each slot in place of each series.

    Raises:
        InputError: A series is in another unit than kW, or not known throughout a slot.
    """
    profiles = {field: getattr(node, field) for field in PROFILES}
    means: dict[str, Any] = {
        field: means_in(given, "kW", periods, f"{field} of node {node.name!r}")
        for field, given in profiles.items()
        if isinstance(given, Series)
    }
    return replace(node, **means) if means else node


def area_nodes(limit_kw: Profile | None, nodes: Sequence[Node] | None) -> list[Node]:
    """The nodes of an area, or the one that ``limit_kw`` is short for, in plain numbers.

    Raises:
        InputError: None or both are given, or a number is none.
        TypeError: ``nodes`` is no list of nodes.
    """
    if (limit_kw is None) == (nodes is None):
        message = "give either limit_kw or nodes"
        raise InputError(message)
    if nodes is None:
        return [plain_node(Node(name="area", limit_kw=limit_kw))]
    if isinstance(nodes, Node):
        message = "nodes has to be a list of Node, not a Node"
        raise TypeError(message)
    given: list[Any] = list(nodes)
    for node in given:
        if not isinstance(node, Node):
            message = f"expected a Node, not a {type(node).__name__}"
            raise TypeError(message)
    return [plain_node(node) for node in given]


def per_slot(profile: Profile | None, count: int) -> Sequence[float | None]:
    """A profile of a plain node, slot by slot."""
    if profile is None or isinstance(profile, float | Series):
        # A series has become numbers when its area was planned.
        return [profile if isinstance(profile, float) else None] * count
    return profile


def holds_all(nodes: Sequence[Node], node: Node) -> bool:
    """Whether all vehicles of an area are below a node."""
    return node.parent is None and sum(other.parent is None for other in nodes) == 1


def _refuse(node: Node, field: str, value: object, wanted: str) -> NoReturn:
    message = f"{field} of node {node.name!r} is {value!r}; it is {wanted}"
    raise InputError(message) from None


def _number(node: Node, field: str, value: object, wanted: str) -> float:
    # A truth value counts as 0 or 1 in Python, and as a slip of the pen here.
    is_number = hasattr(value, "__float__") or hasattr(value, "__index__")
    if is_number and not type(value).__name__.startswith("bool"):
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            pass
    _refuse(node, field, value, wanted)


def _price(node: Node, field: str, wanted: str) -> float | None:
    value = getattr(node, field)
    return None if value is None else _number(node, field, value, wanted)


def _profile(node: Node, field: str) -> float | list[float | None] | None:
    value = getattr(node, field)
    wanted = "a number of kW, or one per slot"
    if value is None:
        return None
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return _number(node, field, value, wanted)
    in_slot = f"{field} in slot {{}}"
    slots = enumerate(_members(node, field, value, wanted))
    return [
        None if at is None else _number(node, in_slot.format(slot), at, "a number of kW")
        for slot, at in slots
    ]


def _blocks(node: Node) -> tuple[tuple[float, float], ...]:
    wanted = "pairs (above_kw, price_per_kwh)"
    pairs = []
    for block in _members(node, "blocks", node.blocks, wanted):
        members = _members(node, "blocks", block, wanted)
        if len(members) != 2:
            _refuse(node, "blocks", node.blocks, wanted)
        above, price = members
        pairs.append(
            (
                _number(node, "above_kw of blocks", above, "a number of kW"),
                _number(node, "price_per_kwh of blocks", price, "a price of a kWh"),
            )
        )
    return tuple(pairs)


def _members(node: Node, field: str, value: object, wanted: str) -> list[object]:
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        try:
            return list(value)
        except TypeError:
            pass
    _refuse(node, field, value, wanted)
