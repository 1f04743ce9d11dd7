"""Plans of sites and areas as pictures: loads against limits, and fleets as heat maps."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from slackwater import _view
from slackwater._palette import (
    BASELINE,
    COORDINATED,
    DEVICES,
    FAINT,
    GREY,
    INK,
    ORANGE,
    PRICE_ONLY,
    RED,
    Ink,
    Look,
)
from slackwater._pictures import (
    HOUR,
    SOC_BOUNDS,
    SOC_TICKS,
    estimates,
    priced,
    sentences,
    spans,
    unpriced_between,
)
from slackwater._timeline import Heat, Line, Mark, Panel, Period, Picture, Steps, coarse, prices_in
from slackwater.area_node import holds_all, per_slot

if TYPE_CHECKING:
    from datetime import datetime

    from slackwater._engine import DevicePlan, SiteLimit
    from slackwater.area_node import Node
    from slackwater.coordinate import AreaPlan
    from slackwater.site import SitePlan

NAMED_MAX = 8
"""Devices of one kind beyond which they are one curve, and rows of a heat map."""
ROWS_MAX = 60
BEYOND = 1.5
"""Height at which the load of prices alone is cut off, in proportion to all others."""
SHADES = (1.0, 0.6, 0.8, 0.4)


# ------------------------------------------------------------------------- sites


def site_picture(plan: SitePlan, zone: ZoneInfo) -> Picture:
    """Devices on top of each other, prices, and levels or a heat map of the vehicles."""
    power = Panel(name="power", title="Power", unit="kW", weight=3.4, note="no prices")
    price = Panel(name="price", title="Price", unit=f"{plan.currency}/kWh", weight=1.5)
    picture = Picture(
        title=_view.site_headline(plan),
        facts=_view.site_facts(plan),
        zone=zone,
        period=None,
        panels=[power, price],
        reasons=sentences(plan.explain(time_zone=zone.key)),
    )
    if not plan.slots:
        return picture
    first, last = plan.slots[0].start, plan.slots[-1].end
    bought, sold = priced(plan.prices, first, last), priced(plan.export_prices, first, last)
    lines: list[Steps | Line] = [
        *_shadow_prices(plan),
        *prices_in("price", bought, INK, label="buy price"),
        *prices_in("export-price", sold, ORANGE, label="sell price", dash="dashed"),
    ]
    vehicles = [device for device in plan.devices if device.kind == "vehicle"]
    is_fleet = len(vehicles) > NAMED_MAX
    named = [d for d in plan.devices if d.soc_percent and not (is_fleet and d.kind == "vehicle")]
    below = [_heat_panel(plan, vehicles)] if is_fleet else []
    below += [_soc_panel(plan, named)] if named else []
    rooms = [device for device in plan.devices if device.heat is not None]
    below += [_temperature_panel(plan, rooms)] if 0 < len(rooms) <= NAMED_MAX else []
    curves = [*_stack(plan), *_curtailed(plan), *_meter(plan)]
    return coarse(
        replace(
            picture,
            facts=[_view.dates(first, last, zone), *picture.facts],
            period=(first, last),
            panels=[replace(power, curves=curves, note=""), replace(price, curves=lines), *below],
            bands=[*unpriced_between(spans(plan.slots)), *estimates(bought, sold)],
            slots=spans(plan.slots),
        )
    )


def _groups(plan: SitePlan) -> list[tuple[str, str, Look, float, list[float]]]:
    """Name, label, look, opacity and power of each curve: a device, or all of a kind."""
    groups = []
    kinds = {
        device.kind: DEVICES.get(device.kind, Look(device.kind, GREY)) for device in plan.devices
    }
    order = [*DEVICES, *(kind for kind in kinds if kind not in DEVICES)]
    for kind in (kind for kind in order if kind in kinds):
        devices = [device for device in plan.devices if device.kind == kind]
        look = kinds[kind]
        if len(devices) > NAMED_MAX:
            total = [sum(powers) for powers in zip(*(d.power_kw for d in devices), strict=True)]
            groups.append((kind, f"{len(devices)} {look.label}", look, 1.0, total))
            continue
        for index, device in enumerate(devices):
            shade = SHADES[index % len(SHADES)]
            groups.append((device.name, device.name, look, shade, list(device.power_kw)))
    return groups


def _stack(plan: SitePlan) -> list[Steps]:
    """Power of the devices, drawn upwards and fed downwards, each on those before it."""
    curves = []
    piles = {1.0: [0.0] * len(plan.slots), -1.0: [0.0] * len(plan.slots)}
    for name, label, look, shade, powers in _groups(plan):
        is_told = False
        for sign, pile in piles.items():
            if not any(power * sign > 0 for power in powers) and (sign < 0 or min(powers) < 0):
                continue
            tops = [
                base + max(power * sign, 0) * sign for base, power in zip(pile, powers, strict=True)
            ]
            curves.append(
                Steps(
                    name=f"device-{name}",
                    ink=look.ink,
                    periods=spans(plan.slots),
                    values=tops,
                    base=pile,
                    is_filled=True,
                    opacity=shade,
                    label="" if is_told else label,
                    told=powers,
                )
            )
            piles[sign] = tops
            is_told = True
    return curves


def _curtailed(plan: SitePlan) -> list[Steps]:
    """Solar power that is not used, hatched below what is fed."""
    solar = [device for device in plan.devices if device.kind == "solar"]
    lost = [
        sum(device.power_max_kw[slot] + device.power_kw[slot] for device in solar)
        for slot in range(len(plan.slots))
    ]
    if max(lost, default=0.0) < 1e-6:
        return []
    fed = [
        sum(min(device.power_kw[slot], 0.0) for device in plan.devices)
        for slot in range(len(plan.slots))
    ]
    return [
        Steps(
            name="curtailed",
            ink=ORANGE,
            periods=spans(plan.slots),
            values=[base - more for base, more in zip(fed, lost, strict=True)],
            base=fed,
            is_filled=True,
            is_hatched=True,
            opacity=0.25,
            label="curtailed",
            told=lost,
        )
    ]


def _meter(plan: SitePlan) -> list[Steps]:
    net = [(s.import_kwh - s.export_kwh) / ((s.end - s.start) / HOUR) for s in plan.slots]
    curves = [
        Steps(
            name="meter", ink=INK, periods=spans(plan.slots), values=net, label="power at the meter"
        )
    ]
    for limit in plan.limits:
        if limit.name in {"import", "export"} and limit.phase is None:
            sign = 1 if limit.name == "import" else -1
            values = [None if most is None else sign * most for most in limit.limit_kw]
            curves.append(_limit_line(f"{limit.name} limit", spans(plan.slots), values))
    return curves


def _limit_line(label: str, periods: Sequence[Period], values: Sequence[float | None]) -> Steps:
    name = f"limit-{label.partition(' ')[0]}"
    return Steps(name=name, ink=RED, periods=periods, values=values, dash="dashed", label=label)


def _shadow_prices(plan: SitePlan) -> list[Steps]:
    def name(limit: SiteLimit) -> str:
        return f"{limit.name} {limit.phase or ''}".strip()

    return [
        Steps(
            name=f"shadow-{name(limit)}",
            ink=RED,
            periods=spans(plan.slots),
            values=limit.shadow_price_per_kwh,
            is_filled=True,
            opacity=0.3,
            label=f"shadow price, {name(limit)} limit",
        )
        for limit in plan.limits
        if any(limit.shadow_price_per_kwh)
    ]


def _presence(device: DevicePlan) -> tuple[int, int]:
    """First slot with the device, and the first one after it."""
    there = [slot for slot, most in enumerate(device.power_max_kw) if most > 0]
    return (there[0], there[-1] + 1) if there else (0, 0)


def _natural(name: str) -> list[str | int]:
    """A name as a key by which "van 2" comes before "van 10": texts and numbers take turns."""
    return [int(part) if at % 2 else part for at, part in enumerate(re.split(r"(\d+)", name))]


def _stays(device: DevicePlan) -> list[tuple[int, int]]:
    """First slot of each stay of a vehicle, and the first one after it."""
    most = [0.0, *device.power_max_kw, 0.0]
    pairs = list(pairwise(most))
    begins = [slot for slot, (before, here) in enumerate(pairs) if before <= 0 < here]
    ends = [slot for slot, (before, here) in enumerate(pairs) if here <= 0 < before]
    return list(zip(begins, ends, strict=True))


def _soc_panel(plan: SitePlan, devices: Sequence[DevicePlan]) -> Panel:
    """State of charge of each device, of a vehicle only while it is there."""
    edges = [slot.start for slot in plan.slots] + [plan.slots[-1].end]
    curves, marks = [], []
    looks = {name: (look.ink, shade) for name, _, look, shade, _ in _groups(plan)}
    for device in devices:
        stays = _stays(device) if device.kind == "vehicle" else [(0, len(plan.slots))]
        ink, shade = looks.get(device.name, (DEVICES[device.kind].ink, 1.0))
        levels = list(zip(edges, device.soc_percent, strict=True))
        for count, (begin, end) in enumerate(stays):
            name = f"soc-{device.name}-{count}" if count else f"soc-{device.name}"
            points, tip = levels[begin : end + 1], f"{device.name}, charge"
            curves.append(Line(name=name, ink=ink, points=points, tip=tip, opacity=shade))
        if stays:
            marks += _soc_marks(device, levels[stays[0][0] : stays[-1][1] + 1])
    return Panel(
        name="level",
        title="State of charge",
        unit="%",
        weight=1.6,
        curves=curves,
        marks=marks,
        bounds=SOC_BOUNDS,
        ticks=SOC_TICKS,
    )


def _temperature_panel(plan: SitePlan, devices: Sequence[DevicePlan]) -> Panel:
    """Temperature of each room or tank; the comfort band where there is one room."""
    curves = []
    looks = {name: (look.ink, shade) for name, _, look, shade, _ in _groups(plan)}
    for device in devices:
        heat = device.heat
        if heat is None or not heat.slots:
            continue
        if len(devices) == 1:
            curves.append(
                Line(
                    name="band",
                    ink=INK,
                    points=[(slot.end, slot.temperature_max_celsius) for slot in heat.slots],
                    lows=[slot.temperature_min_celsius for slot in heat.slots],
                    opacity=0.1,
                    label="comfort band",
                )
            )
        ink, shade = looks.get(device.name, (DEVICES[device.kind].ink, 1.0))
        start = (heat.slots[0].start, heat.temperature_start_celsius)
        points = [start, *((slot.end, slot.temperature_celsius) for slot in heat.slots)]
        name, tip = f"temperature-{device.name}", f"{device.name}, temperature"
        curves.append(Line(name=name, ink=ink, points=points, tip=tip, opacity=shade))
    return Panel(name="temperature", title="Temperature", unit="°C", weight=1.6, curves=curves)


def _soc_marks(device: DevicePlan, points: Sequence[tuple[datetime, float]]) -> list[Mark]:
    marks = []
    for index, wish in enumerate(device.wishes):
        at = min(wish.by or points[-1][0], points[-1][0])
        before = [soc for when, soc in points if when <= at]
        if before:
            is_met = wish.shortfall_kwh == 0
            marks.append(
                Mark(
                    name=f"deadline-{'met' if is_met else 'missed'}-{device.name}-{index}",
                    at=at,
                    value=before[-1],
                    is_met=is_met,
                    words="" if is_met else f"{_view.energy(wish.shortfall_kwh)} missing",
                    reached=before[-1],
                )
            )
    return marks


def _heat_panel(plan: SitePlan, vehicles: Sequence[DevicePlan]) -> Panel:
    """Vehicles by their arrival: power while they are there, and their targets."""
    ordered = sorted(vehicles, key=lambda device: (*_presence(device), _natural(device.name)))
    rows, signs = [], []
    for row, device in enumerate(ordered):
        _, end = _presence(device)
        powers = zip(device.power_kw, device.power_max_kw, strict=True)
        rows.append([power if most > 0 else None for power, most in powers])
        leaves = plan.slots[end - 1].end if end else plan.slots[0].start
        signs += [
            (row, min(wish.by or leaves, leaves), wish.shortfall_kwh == 0) for wish in device.wishes
        ]
    heat = Heat(
        names=[device.name for device in ordered],
        periods=spans(plan.slots),
        values=rows,
        signs=signs,
        label="Power (kW)",
    )
    title = f"{len(ordered)} vehicles by arrival"
    return Panel(name="vehicles", title=title, unit="", weight=_weight(heat), heat=heat)


def _weight(heat: Heat) -> float:
    """Height of a heat map in which names of rows can be read."""
    return min(4.5, 0.6 + 0.13 * len(heat.names))


# ------------------------------------------------------------------------- areas


def area_picture(
    plan: AreaPlan, nodes: Sequence[Node], at: int, zone: ZoneInfo, *, shows_vehicles: bool = False
) -> Picture:
    """Loads of a node against its limit, shadow prices, and vehicles or nodes as a heat map."""
    node, load = nodes[at], plan.nodes[at]
    is_all = holds_all(nodes, node)
    is_ranking = plan.withheld_kwh > 0
    power = Panel(name="load", title="Load", unit="kW", weight=3, note="no prices")
    shadow = Panel(
        name="shadow",
        title="Scarcity\n(a rank, no price)" if is_ranking else "Shadow price",
        unit="" if is_ranking else f"{plan.currency}/kWh",
        weight=1.5,
        has_numbers=not is_ranking,
    )
    picture = Picture(
        title=_area_title(plan, node, is_all=is_all),
        facts=_area_facts(plan),
        warning=_area_warning(plan),
        zone=zone,
        period=None,
        panels=[power, shadow],
    )
    periods = plan.periods
    if not periods:
        return picture
    first, last = periods[0][0], periods[-1][1]
    slots = priced(plan.prices, first, last)
    market = Panel(
        name="price",
        title="Price",
        unit=f"{plan.currency}/kWh",
        weight=1.5,
        curves=prices_in("price", slots, INK, tip="buy price"),
    )
    shadows = Steps(
        name="shadow-price",
        ink=RED,
        periods=periods,
        values=load.congestion_price_per_kwh,
        is_filled=True,
        opacity=0.35,
        tip="" if is_ranking else "one more kWh is worth",
        told=[None] * len(periods) if is_ranking else None,
    )
    heats = [_node_heat(plan, nodes)] if len(nodes) > 1 and is_all else []
    heats += [_vehicle_heat(plan)] if shows_vehicles else []
    loads = _area_loads(plan, node, at, is_all=is_all)
    bounds, beyond = load_bounds(loads)
    return coarse(
        replace(
            picture,
            facts=[_view.dates(first, last, zone), *picture.facts, *beyond],
            period=(first, last),
            panels=[
                replace(power, curves=loads, bounds=bounds, note=""),
                replace(shadow, curves=[shadows]),
                *([market] if slots else []),
                *heats,
            ],
            bands=[*unpriced_between(periods), *estimates(slots)],
            slots=periods,
        )
    )


def _area_title(plan: AreaPlan, node: Node, *, is_all: bool) -> str:
    part = "" if is_all else "part of an area with "
    vehicles = _view.counted(plan.vehicles, "vehicle")
    sums = f"{node.name}: {part}{vehicles} for {plan.cost:,.2f} {plan.currency}"
    return ", ".join([sums, *_view.area_notes(plan)])


def _area_facts(plan: AreaPlan) -> list[str]:
    gap = f"within {_view.percent(plan.relative_gap)} of the optimum"
    # Costs compare only where the same energy is delivered.
    if plan.withheld_kwh > 0:
        return [gap]
    saved = plan.baseline_cost - plan.cost
    word = "below" if saved >= 0 else "above"
    return [gap, f"{_view.amount(abs(saved), 2)} {plan.currency} {word} the baseline"]


def _area_warning(plan: AreaPlan) -> str:
    if plan.shortfall_kwh == 0:
        return ""
    text = f"{_view.amount(plan.shortfall_kwh)} kWh short"
    if plan.withheld_kwh > 0:
        text += f", {_view.amount(plan.withheld_kwh)} kWh of it withheld by limits"
    return text


def _area_loads(plan: AreaPlan, node: Node, at: int, *, is_all: bool) -> list[Steps]:
    """Loads of a node: its other load, the baseline, each vehicle alone, and the plan."""
    periods, load = plan.periods, plan.nodes[at]

    def line(name: str, ink: Ink, values: Sequence[float | None], label: str) -> Steps:
        return Steps(name=name, ink=ink, periods=periods, values=values, label=label, width=1.4)

    def with_base(vehicles: Sequence[float]) -> list[float]:
        return [base + more for base, more in zip(load.base_kw, vehicles, strict=True)]

    curves = []
    if any(load.base_kw):
        base = line("base", FAINT, load.base_kw, "other load")
        curves.append(replace(base, dash="dotted"))
    if is_all:
        baseline = with_base(plan.baseline_load_kw)
        alone = with_base(plan.price_only_load_kw)
        curves.append(line("unmanaged", BASELINE.ink, baseline, BASELINE.label))
        curves.append(line("price-only", PRICE_ONLY.ink, alone, PRICE_ONLY.label))
    own = line("coordinated", COORDINATED.ink, load.load_kw, COORDINATED.label)
    silent = [None] * len(periods)
    fill = replace(
        own, name="coordinated-fill", is_filled=True, opacity=0.25, told=silent, label=""
    )
    curves += [fill, replace(own, width=2.0)]
    if node.limit_kw is not None:
        curves.append(_limit_line("limit", periods, list(per_slot(node.limit_kw, len(periods)))))
    return curves


def load_bounds(loads: Sequence[Steps | Line]) -> tuple[tuple[float, float] | None, list[str]]:
    """Heights of the chart, and words about the load of prices alone where it is far beyond."""
    tops = {
        curve.name: max((value for value in curve.values if value is not None), default=0.0)
        for curve in loads
        if isinstance(curve, Steps)
    }
    others = max(top for name, top in tops.items() if name != "price-only")
    alone = tops.get("price-only", 0.0)
    if alone <= BEYOND * others:
        return None, []
    steps = (curve for curve in loads if isinstance(curve, Steps))
    lows = (value for curve in steps for value in curve.values if value is not None)
    words = f"price-only load reaches {_view.amount(alone)} kW, beyond the chart"
    return (min(0.0, *lows), BEYOND * others), [words]


def _node_heat(plan: AreaPlan, nodes: Sequence[Node]) -> Panel:
    """Nodes with a limit: load in percent of it, the fullest on top."""
    rows = []
    for node, load in zip(nodes, plan.nodes, strict=True):
        limits = per_slot(node.limit_kw, len(plan.periods))
        pairs = zip(load.load_kw, limits, strict=True)
        shares = [100 * power / limit if limit else None for power, limit in pairs]
        if any(share is not None for share in shares):
            rows.append((max(share for share in shares if share is not None), node.name, shares))
    rows.sort(key=lambda row: (-row[0], _natural(row[1])))
    shown = rows[:ROWS_MAX]
    heat = Heat(
        names=[name for _, name, _ in shown],
        periods=plan.periods,
        values=[shares for _, _, shares in shown],
        label="Load (% of limit)",
    )
    title = f"{len(shown)} of {len(rows)} nodes" if len(rows) > len(shown) else "Nodes by load"
    return Panel(name="nodes", title=title, unit="", weight=_weight(heat), heat=heat)


def _vehicle_heat(plan: AreaPlan) -> Panel:
    """Vehicles in the order of their first charging; of many, means of equal groups."""
    import pyarrow as pa  # noqa: PLC0415  an optional extra

    table = pa.table(plan.plans)
    rows = []
    for name, intervals, short in zip(
        *(table.column(column).to_pylist() for column in ("id", "intervals", "shortfall_kwh")),
        strict=True,
    ):
        if intervals:
            rows.append(
                (intervals[0]["start"], str(name), _mean_powers(intervals, plan.periods), short)
            )
    rows.sort(key=lambda row: (row[0], _natural(row[1])))
    size = -(-len(rows) // ROWS_MAX) or 1
    groups = [rows[begin : begin + size] for begin in range(0, len(rows), size)]
    values = [
        [sum(powers) / len(group) for powers in zip(*(row[2] for row in group), strict=True)]
        for group in groups
    ]
    each = f", means of {size}" if size > 1 else ""
    heat = Heat(
        names=[row[1] for row in rows] if size == 1 else [""] * len(groups),
        periods=plan.periods,
        values=values,
        label=f"Power (kW a vehicle{each})",
    )
    title = f"{len(rows):,} vehicles by start"
    return Panel(name="vehicles", title=title, unit="", weight=_weight(heat), heat=heat)


def _mean_powers(intervals: Sequence[Any], periods: Sequence[Period]) -> list[float]:
    """Mean power of each period."""
    means = [0.0] * len(periods)
    for interval in intervals:
        start, end = interval["start"], interval["end"]
        slot = bisect_right(periods, start, key=lambda period: period[1])
        while slot < len(periods) and periods[slot][0] < end:
            first, last = periods[slot]
            shared = min(end, last) - max(start, first)
            means[slot] += interval["power_kw"] * (shared / (last - first))
            slot += 1
    return means
