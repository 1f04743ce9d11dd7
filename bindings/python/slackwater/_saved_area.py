"""Plans of areas as JSON text: numbers, nodes, prices, and the plans of the vehicles."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from slackwater import _engine
from slackwater._engine import InputError, PlanTable
from slackwater.area_node import Node, plain_node
from slackwater.coordinate import AreaPlan
from slackwater.prices import Prices

FORMAT, VERSION = "slackwater_area", 1
NO_AREA = "this is no saved area, which is JSON"


def area_to_json(plan: AreaPlan) -> str:
    """Write a plan of an area, with what it was made for.

    Vehicles are not written: their plans are, as a table of Arrow in base64.
    """
    numbers: dict[str, Any] = plan.__getnewargs_ex__()[1]
    prices, emissions = plan._prices, plan._emissions
    named = prices if isinstance(prices, Mapping) else {"": prices}
    document = {
        "format": FORMAT,
        "format_version": VERSION,
        "engine_version": _engine.__version__,
        "numbers": numbers,
        "nodes": [asdict(node) for node in plan._nodes],
        "is_shared": prices is not named,
        "prices": [
            [name, curve._native.layers(), curve.slots, _parts(curve._emissions)]
            for name, curve in named.items()
        ],
        "emissions": _parts(emissions),
        "seconds": plan.seconds,
        "plans": b64encode(plan.plans.__getnewargs__()[0]).decode(),
    }
    return json.dumps(document, default=_plain) + "\n"


def area_from_json(text: str) -> AreaPlan:
    """Read what :func:`area_to_json` wrote.

    Raises:
        InputError: It is no such text, or of a later version.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        is_cut = text.lstrip().startswith("{")
        way = "this saved area is damaged: it is no JSON" if is_cut else NO_AREA
        raise InputError(way) from None
    _refuse_other_file(document)
    try:
        version = document["format_version"]
        if version != VERSION:
            raise InputError(f"format_version is {version}; this engine reads version {VERSION}")
        return _area(document)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        lost = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"this saved area is damaged: {lost}") from None


def _refuse_other_file(document: object) -> None:
    """Refuse a file of something else.

    Raises:
        InputError: It is a saved plan, or no file that this package wrote.
    """
    kind = document.get("format") if isinstance(document, Mapping) else None
    if kind != FORMAT:
        is_plan = isinstance(kind, str) and kind.startswith("slackwater")
        way = "this is a saved plan; load_plan reads it" if is_plan else "this is no saved area"
        raise InputError(way)


def _area(document: Mapping[str, Any]) -> AreaPlan:
    currency = document["numbers"]["currency"]
    named = document["prices"]
    curves = {
        name: _prices(layers, slots, currency, _emission_price(emissions))
        for name, layers, slots, emissions in named
    }
    return AreaPlan._of(
        _numbers(document["numbers"]),
        PlanTable(b64decode(document["plans"])),
        [plain_node(Node(**node)) for node in document["nodes"]],
        curves[""] if document["is_shared"] else curves,
        document["seconds"],
        _emission_price(document["emissions"]),
    )


def _numbers(fields: dict[str, Any]) -> _engine.AreaNumbers:
    """Numbers of an area with their records and times."""
    change = fields["change"]
    made = {
        "heat": [_heat(unit) for unit in fields.get("heat", [])],
        "degree_hour_price": fields.get("degree_hour_price", 0.0),
        "change": None if change is None else _engine.AreaChange(**change),
        "nodes": [_engine.NodeLoad(**node) for node in fields["nodes"]],
        "periods": [(_time(start), _time(end)) for start, end in fields["periods"]],
        "shadow_price_per_kwh": [tuple(node) for node in fields["shadow_price_per_kwh"]],
        "shortfalls": [_engine.Shortfall(**need) for need in fields["shortfalls"]],
        "forgone": [_engine.ForgoneEnergy(**left) for left in fields["forgone"]],
        "warm_start": tuple(fields["warm_start"]),
    }
    return _engine.AreaNumbers(**{**fields, **made})


def _heat(fields: dict[str, Any]) -> _engine.AreaHeat:
    """A heat unit with its records and times."""
    room = {
        **fields["room"],
        "slots": [_engine.RoomSlot(**_timed(s)) for s in fields["room"]["slots"]],
    }
    made = {
        "intervals": [_engine.Interval(**_timed(own)) for own in fields["intervals"]],
        "reasons": [_engine.AreaHeatReason(**_timed(own)) for own in fields["reasons"]],
        "room": _engine.HeatOutcome(**room),
    }
    return _engine.AreaHeat(**{**fields, **made})


def _timed(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of a record, with its instants."""
    times = {name: _time(fields[name]) for name in ("start", "end")}
    if fields.get("deadline") is not None:
        times["deadline"] = _time(fields["deadline"])
    return fields | times


def _parts(emissions: _engine.EmissionPrice | None) -> tuple[object, ...] | None:
    """Price and intensity of emissions."""
    return None if emissions is None else emissions.__getnewargs__()


def _emission_price(parts: list[Any] | None) -> _engine.EmissionPrice | None:
    return None if parts is None else _engine.EmissionPrice(parts[0], _slots(parts[1]))


def _prices(
    layers: list[Any] | None,
    slots: list[Any],
    currency: str,
    emissions: _engine.EmissionPrice | None,
) -> Prices:
    build = _engine.Prices.from_slots
    if layers is None:
        return Prices._wrap(build(_slots(slots), currency=currency).holding(emissions))
    natives = [
        (name, guess, top, build(_slots(own), currency=currency))
        for name, guess, top, own in layers
    ]
    native = _engine.Prices.from_layers(natives, currency=currency)
    return Prices._wrap(native.holding(emissions))


def _slots(rows: list[Any]) -> list[tuple[datetime, datetime, float]]:
    return [(_time(start), _time(end), value) for start, end, value in rows]


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _plain(value: object) -> object:
    """Values that JSON has no word for: times, prices of a layer, records.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, _engine.Prices):
        return value.slots
    records = _engine.NodeLoad | _engine.Shortfall | _engine.ForgoneEnergy | _engine.AreaChange
    rooms = (
        _engine.AreaHeat
        | _engine.HeatOutcome
        | _engine.RoomSlot
        | _engine.AreaHeatReason
        | _engine.Interval
    )
    if isinstance(value, records | rooms):
        return value.to_dict()
    raise TypeError(f"a saved area has no {type(value).__name__}")
