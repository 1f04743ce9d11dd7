"""Reasons for what one vehicle or heat unit of an area gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from slackwater import _engine
from slackwater._engine import InputError, Shortfall
from slackwater.area_node import per_slot

if TYPE_CHECKING:
    from slackwater._engine import AreaHeat, AreaHeatReason
    from slackwater.coordinate import AreaPlan

# Vehicles that are named as users of a limit, those that take most first.
USERS_MAX = 3

# Share of a limit at which the report of an area counts it as reached, too.
AT_LIMIT = 1 - 1e-3


def explain_vehicle(area: AreaPlan, vehicle: object, zone: ZoneInfo) -> tuple[str, ...]:
    """Sentences on the energy, the shortfalls and the cost of a vehicle, given by its id."""
    row, plan = _row_of(area, vehicle)
    if plan["error"] is not None:
        return (f"It is not planned: {plan['error']}.",)
    missing = [need for need in area.shortfalls if need.row == row]
    cost = (
        f"It costs {plan['cost']:z.2f} {area.currency}; at full power from arrival the cost would "
        f"be {plan['baseline_cost']:z.2f} {area.currency}."
    )
    withheld = [_shortfall_sentence(area, need, zone) for need in missing]
    notes = [*_estimate_sentences(area, plan), *_idle_sentences(area, row, plan)]
    return (_energy_sentence(plan), *withheld, cost, *notes)


def _estimate_sentences(area: AreaPlan, plan: dict[str, Any]) -> list[str]:
    """Tell the energy that the vehicle buys and sells at estimated prices."""
    shares = [("bought", plan["energy_on_estimates_kwh"]), ("sold", plan["sold_on_estimates_kwh"])]
    return [
        f"{kwh:.3g} kWh are {what} on estimates ({', '.join(names)})."
        for (what, kwh), names in zip(shares, area._guesses(), strict=True)
        if kwh > 0
    ]


def _idle_sentences(area: AreaPlan, row: int, plan: dict[str, Any]) -> list[str]:
    """Time without a price, and what negative prices would pay."""
    hours = plan["unpriced_hours"]
    unpriced = [f"{hours:.3g} h of its stay have no price, and are not used."] if hours > 0 else []
    left = [
        f"{one.energy_kwh:.3g} kWh more would fit beside the plans of all at negative prices, and "
        f"earn {one.revenue:.2f} {area.currency}; vehicles with their need in percent are filled."
        for one in area.forgone
        if one.row == row
    ]
    return unpriced + left


# Why a unit runs, as the end of a sentence.
RUNS = {
    "recover": "because its room is outside the band",
    "negative_price": "because the price is negative",
    "limit": "because the limit of {node} leaves no power in a cheaper time",
    "hold": "to hold the edge of its band",
    "ahead": "ahead of {deadline}, until when this is the cheapest time",
    "cheap": "because heat costs little",
}


def explain_unit(area: AreaPlan, name: str, zone: ZoneInfo) -> tuple[str, ...]:
    """Sentences on the energy, the comfort and the reasons of a heat unit.

    Raises:
        InputError: The area has no such unit.
    """
    unit = next((unit for unit in area.heat if unit.name == name), None)
    if unit is None:
        names = ", ".join(other.name for other in area.heat) or "none"
        message = f"unit is {name!r}; the heat units of this area are {names}"
        raise InputError(message)
    periods = len(unit.intervals)
    used = (
        f"It uses {unit.energy_kwh:.3g} kWh in {periods} period{'s' * (periods != 1)} for "
        f"{unit.cost:z.2f} {area.currency}; a thermostat would cost {unit.baseline_cost:z.2f} "
        f"{area.currency}."
    )
    return (used, _comfort_sentence(unit), *(_run_sentence(own, zone) for own in unit.reasons))


def _comfort_sentence(unit: AreaHeat) -> str:
    sides = {"below": unit.room.below_celsius_hours, "above": unit.room.above_celsius_hours}
    outside = [f"{value:.3g} °C·h {side} its band" for side, value in sides.items() if value > 0]
    if not outside:
        return "The room is within its band throughout."
    nodes = [own.node for own in unit.reasons if own.code == "recover" and own.node is not None]
    full = f"; the limit of {nodes[0]} is full then" if nodes else ""
    return f"The room is {' and '.join(outside)}{full}."


def _run_sentence(reason: AreaHeatReason, zone: ZoneInfo) -> str:
    deadline = "" if reason.deadline is None else _clock(reason.deadline, zone)
    why = RUNS[reason.code].format(node=reason.node, deadline=deadline)
    times = f"{_clock(reason.start, zone)} to {_clock(reason.end, zone)}"
    return f"{times}: {reason.used_kwh:.3g} kWh, {why}."


def _row_of(area: AreaPlan, vehicle: object) -> tuple[int, dict[str, Any]]:
    """Row of the vehicle among the plans, and its values.

    Raises:
        InputError: The plans went to a sink, or not exactly one row has the id.
    """
    import pyarrow as pa  # noqa: PLC0415  an optional extra

    plans = pa.table(area.plans)
    if plans.num_rows < area.vehicles:
        message = "the plans of this area went to a sink; explain them where they were kept"
        raise InputError(message)
    rows = [row for row, name in enumerate(plans["id"].to_pylist()) if str(name) == str(vehicle)]
    if len(rows) != 1:
        message = f"vehicle is {vehicle!r}, the id of {len(rows) or 'no'} plans of this area"
        raise InputError(message)
    return rows[0], plans.slice(rows[0], 1).to_pylist()[0]


def _energy_sentence(plan: dict[str, Any]) -> str:
    periods = len(plan["intervals"])
    taken = f"It takes {plan['energy_kwh']:.3g} kWh in {periods} period{'s' * (periods != 1)}"
    if plan["discharged_kwh"] > 0:
        taken = f"{taken} and gives {plan['discharged_kwh']:.3g} kWh"
    short = plan["shortfall_kwh"]
    return f"{taken}; {f'{short:.3g} kWh are missing' if short > 0 else 'nothing is missing'}."


def _shortfall_sentence(area: AreaPlan, need: Shortfall, zone: ZoneInfo) -> str:
    if need.cause == "no_price":
        return (
            f"{need.energy_kwh:.3g} kWh are missing because prices are: with prices for all of its "
            "stay the vehicle alone could have them."
        )
    if need.node is None:
        return (
            f"{need.energy_kwh:.3g} kWh are beyond its own stay, its charger or its charge limit, "
            "whatever the other vehicles do."
        )
    names = [node.name for node in area.nodes]
    at = names.index(need.node)
    limits = per_slot(area._nodes[at].limit_kw, len(area.periods))
    loads = zip(area.periods, area.nodes[at].load_kw, limits, strict=True)
    full = [
        period for period, load, limit in loads if limit is not None and load >= limit * AT_LIMIT
    ]
    users = _users_sentence(area, need.row, need.node, full)
    times = f", first from {_clock(full[0][0], zone)} and last until {_clock(full[-1][1], zone)}"
    return (
        f"{need.energy_kwh:.3g} kWh are withheld by the limit of {need.node}, which its load "
        f"reaches in {len(full)} of {len(area.periods)} slots{times if full else ''}; vehicles "
        f"that miss the same deadline share what is missing by their needs and priorities.{users}"
    )


def _users_sentence(
    area: AreaPlan, row: int, node: str, full: Sequence[tuple[datetime, datetime]]
) -> str:
    """Name the vehicles that use most of a limit in the slots of a stay that are full.

    Empty for an area out of a file, which has no vehicles, and where no other vehicle charges.
    """
    if area._given is None:
        return ""
    import pyarrow as pa  # noqa: PLC0415  an optional extra

    vehicles = pa.table(area._given["vehicles"])
    instants = pa.timestamp("us", "UTC")
    arrival, departure = (
        vehicles[column].cast(instants)[row].as_py() for column in ("arrival", "departure")
    )
    stay = [period for period in full if period[0] < departure and period[1] > arrival]
    parents = {each.name: each.parent for each in area._nodes}
    if "node" in vehicles.column_names:
        places = vehicles["node"].to_pylist()
    else:
        places = [area._nodes[0].name] * vehicles.num_rows
    others = [
        other
        for other, place in enumerate(places)
        if other != row and node in _path_up(place, parents)
    ]
    users = _engine.limit_users(area.plans, others, stay, USERS_MAX)
    ids = pa.table(area.plans)["id"]
    names = ", ".join(f"{ids[other].as_py()} ({kw:.3g} kW)" for other, kw in users)
    return f" While it stays, most of the limit is used by {names}." if users else ""


def _path_up(place: str | None, parents: Mapping[str, str | None]) -> list[str]:
    """Node and all nodes above it."""
    path = []
    while place is not None:
        path.append(place)
        place = parents.get(place)
    return path


def _clock(at: datetime, zone: ZoneInfo) -> str:
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M %Z}"
