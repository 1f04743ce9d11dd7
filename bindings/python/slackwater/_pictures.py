"""Plans of vehicles, batteries and heat as pictures: their curves, bands and marks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from slackwater import _view
from slackwater._palette import (
    BLUE,
    FAINT,
    GREEN,
    HEAT_REASONS,
    INK,
    ORANGE,
    PURPLE,
    REASONS,
)
from slackwater._timeline import (
    Band,
    Line,
    Mark,
    Panel,
    Period,
    Picture,
    Steps,
    coarse,
    estimated,
    no_price,
    prices_in,
)

if TYPE_CHECKING:
    from slackwater._engine import Reason
    from slackwater._view import View
    from slackwater.heat import HeatPlan
    from slackwater.plan import Plan
    from slackwater.prices import Prices
    from slackwater.storage import StoragePlan
    from slackwater.switching import SwitchingPlan

PricedSlot = tuple[datetime, datetime, float, bool]
"""Start, end, price per kWh, and whether the price is an estimate."""
HOUR = timedelta(hours=1)
SOC_TICKS = (0, 25, 50, 75, 100)
SOC_BOUNDS = (0.0, 112.0)


def sentences(reasons: Iterable[Any]) -> list[tuple[datetime, datetime, str]]:
    """Periods of the reasons of any plan, with their sentences.

    What is left or used up over a long time would hide the reasons of the periods in it.
    """
    told = [reason for reason in reasons if reason.code not in {"negative_unused", "stock_used"}]
    return [(reason.start, reason.end, reason.sentence) for reason in told]


def priced(prices: Prices | None, first: datetime, last: datetime) -> list[PricedSlot]:
    """Slots of a period."""
    slots = [] if prices is None else prices.between(first, last).provenance
    return [(start, end, price, is_estimate) for start, end, price, _, is_estimate in slots]


def estimates(*curves: Sequence[PricedSlot]) -> list[Band]:
    """Band over all periods in which one of several prices is an estimate."""
    slots = (slot for curve in curves for slot in curve)
    return estimated(sorted((start, end) for start, end, _, is_estimate in slots if is_estimate))


def spans(parts: Sequence[Any]) -> list[Period]:
    """Periods of slots or intervals."""
    return [(part.start, part.end) for part in parts]


def unpriced_between(periods: Sequence[Period]) -> list[Band]:
    """Band over the holes between slots."""
    pairs = pairwise(periods)
    return no_price([(before[1], after[0]) for before, after in pairs if before[1] < after[0]])


# --------------------------------------------------------------- plans of a vehicle


def plan_picture(plan: Plan, zone: ZoneInfo) -> Picture:
    """Prices with the charging filled below them, and below energy or state of charge."""
    reasons = plan.explain(time_zone=zone.key)
    view = _view.view_of(plan)
    assumed = ["state of charge assumed"] if plan.soc_is_assumed else []
    unit = f"{plan.currency}/kWh"
    price = Panel(name="price", title="Price", unit=unit, weight=3, note="no prices and no targets")
    level = Panel(name="level", title="Energy", unit="kWh", weight=2)
    picture = Picture(
        title=_view.headline(plan),
        facts=[_view.proof(plan), *assumed],
        warning=_view.shortfall(plan),
        zone=zone,
        period=None,
        panels=[price, level],
        reasons=sentences(reasons),
    )
    return picture if view is None else coarse(_plan_in_view(picture, plan, view, reasons))


def _plan_in_view(picture: Picture, plan: Plan, view: View, reasons: Iterable[Reason]) -> Picture:
    first, last = view.start - view.margin, view.end + view.margin
    slots = priced(plan.prices, first, last)
    charging = _view.charging(list(reasons))
    dates = [_view.dates(view.start, view.end, picture.zone)] if plan.slots else []
    lengths = [(slot.end - slot.start) / HOUR for slot in plan.slots]
    power = Steps(
        name="power",
        ink=INK,
        periods=spans(plan.slots),
        values=[slot.energy_kwh / hours for slot, hours in zip(plan.slots, lengths, strict=True)],
        tip="mean power",
    )
    price, level = picture.panels
    curves = [
        *_blocks(plan, charging),
        *_marginal_price(plan, view),
        *prices_in("price", slots, INK, tip="price"),
    ]
    return replace(
        picture,
        facts=[*dates, *picture.facts],
        period=(first, last),
        panels=[
            replace(price, curves=curves, note="" if slots else "no prices in this period"),
            _level_panel(level, plan, view, picture.zone),
        ],
        bands=[
            *(_tint(code, charging) for code in REASONS),
            *(no_price(view.unpriced) if slots else ()),
            *estimates(slots),
        ],
        slots=[(start, end) for start, end, *_ in slots],
        readings=[(power, "kW")],
    )


def _blocks(plan: Plan, charging: Sequence[Reason]) -> list[Steps]:
    """Cost of each reason: the space between the price and zero."""
    blocks = []
    for code, look in REASONS.items():
        steps = [
            step
            for reason in charging
            if reason.code == code
            for step in plan.prices.between(reason.start, reason.end).slots
        ]
        if steps:  # none for periods of less than a microsecond
            blocks.append(
                Steps(
                    name=f"charging-{code}",
                    ink=look.ink,
                    periods=[(start, end) for start, end, _ in steps],
                    values=[price for _, _, price in steps],
                    is_filled=True,
                    # A hatch tells a missed deadline apart on grey paper, too.
                    is_hatched=code == "missed_deadline",
                    label=look.label,
                    told=[None] * len(steps),
                )
            )
    return blocks


def _tint(code: str, charging: Sequence[Reason]) -> Band:
    periods = [(reason.start, reason.end) for reason in charging if reason.code == code]
    return Band(name=f"tint-{code}", ink=REASONS[code].ink, periods=periods)


def _marginal_price(plan: Plan, view: View) -> list[Steps]:
    price = plan.marginal_price_per_kwh
    if price is None:
        return []
    return [
        Steps(
            name="marginal-price",
            ink=FAINT,
            periods=[(view.start, view.end)],
            values=[price],
            dash="dashed",
            width=1.0,
            label=f"next kWh at {_view.number(price, 3)} {plan.currency}",
        )
    ]


def _level_panel(panel: Panel, plan: Plan, view: View, zone: ZoneInfo) -> Panel:
    corners = [corner for i in plan.intervals for corner in (i.start, i.end)]
    times = sorted({view.start, *corners, view.end})
    socs = [soc for at in times if (soc := plan.soc_percent_by(at)) is not None]
    marks = [_mark(plan, marker, index, zone) for index, marker in enumerate(view.markers)]
    if len(socs) < len(times):
        points = [(at, plan.energy_kwh_by(at)) for at in times]
        energy = Line(name="energy", ink=INK, points=points, tip="energy")
        most = max([level for _, level in points] + [mark.value for mark in marks]) or 1.0
        return replace(panel, curves=[energy], marks=marks, bounds=(0.0, most * 1.25))
    points = list(zip(times, socs, strict=True))
    return replace(
        panel,
        title="State of charge",
        unit="%",
        curves=[Line(name="soc", ink=INK, points=points, tip="charge")],
        marks=marks,
        bounds=SOC_BOUNDS,
        ticks=SOC_TICKS,
    )


def _mark(plan: Plan, marker: _view.Marker, index: int, zone: ZoneInfo) -> Mark:
    missing = f"{_view.energy(marker.missing_kwh)} missing"
    if marker.due is not None:
        missing += f", due {_view.clock(marker.due, zone)}"
    here = plan.soc_percent_by(marker.at)
    if here is None:
        here, wanted = plan.energy_kwh_by(marker.at), marker.wanted_kwh
        words = _view.energy(wanted)
    else:
        # Where a target is reached, early or late, the state of charge is the one wanted.
        reached = plan.soc_percent_by(marker.reached_at) if marker.reached_at else here
        wanted = here if reached is None else reached
        words = f"{_view.number(wanted, 0)} %"
    return Mark(
        name=f"deadline-{'met' if marker.is_met else 'missed'}-{index}",
        at=marker.at,
        value=wanted,
        is_met=marker.is_met,
        words=words if marker.is_met else missing,
        reached=here,
    )


# ------------------------------------------------------------- plans of a battery


def storage_picture(plan: StoragePlan, zone: ZoneInfo) -> Picture:
    """Prices, power up and down, and the state of charge within its feasible range."""
    slots = plan.slots
    price = Panel(
        name="price",
        title="Price",
        unit=f"{plan.currency}/kWh",
        weight=3,
        note="no prices in this period",
    )
    power = Panel(name="power", title="Power", unit="kW", weight=2)
    level = Panel(
        name="level",
        title="State of charge",
        unit="%",
        weight=3,
        bounds=SOC_BOUNDS,
        ticks=SOC_TICKS,
    )
    picture = Picture(
        title=_view.storage_headline(plan),
        facts=[_view.storage_proof(plan)],
        warning=", ".join(_view.storage_missing(plan)),
        zone=zone,
        period=None,
        panels=[price, power, level],
        reasons=sentences(plan.explain(time_zone=zone.key)),
    )
    if not slots:
        return picture
    first, last = slots[0].start, slots[-1].end
    buying, selling = priced(plan.prices, first, last), priced(plan.export_prices, first, last)
    lines = [
        *prices_in("price", buying, INK, label="buy price"),
        *prices_in("export-price", selling, ORANGE, label="sell price", dash="dashed"),
    ]
    driving = [(slot.start, slot.end) for slot in slots if slot.driven_kwh > 0]
    return coarse(
        replace(
            picture,
            facts=[_view.dates(first, last, zone), *picture.facts],
            period=(first, last),
            panels=[
                replace(price, curves=lines, note="" if buying else price.note),
                replace(power, curves=_powers(plan)),
                replace(level, curves=_socs(plan), marks=_storage_marks(plan, first, last)),
            ],
            bands=[
                *(
                    [Band(name="driving", ink=PURPLE, periods=driving, label="driving")][
                        : len(driving)
                    ]
                ),
                *unpriced_between(spans(plan.slots)),
                *estimates(buying, selling),
            ],
            slots=spans(plan.slots),
        )
    )


def heat_picture(plan: HeatPlan, zone: ZoneInfo) -> Picture:
    """Prices of electricity and heat, power by its reason, and the temperature within its band."""
    slots = plan.slots
    price = Panel(
        name="price",
        title="Price",
        unit=f"{plan.currency}/kWh",
        weight=3,
        note="no prices in this period",
    )
    power = Panel(name="power", title="Power", unit="kW", weight=2)
    level = Panel(name="level", title="Temperature", unit="°C", weight=3)
    picture = Picture(
        title=_view.heat_headline(plan),
        facts=[_view.heat_proof(plan)],
        warning=", ".join(_view.heat_missing(plan)),
        zone=zone,
        period=None,
        panels=[price, power, level],
        reasons=sentences(plan.explain(time_zone=zone.key)),
    )
    if not slots:
        return picture
    first, last = slots[0].start, slots[-1].end
    buying = priced(plan.prices, first, last)
    return coarse(
        replace(
            picture,
            facts=[_view.dates(first, last, zone), *picture.facts],
            period=(first, last),
            panels=[
                replace(
                    price,
                    curves=[*prices_in("price", buying, INK, label="price"), *_heat_price(plan)],
                    note="" if buying else price.note,
                ),
                replace(power, curves=_heat_powers(plan)),
                _temperature_panel(level, plan),
            ],
            bands=[*unpriced_between(spans(slots)), *estimates(buying)],
            slots=spans(slots),
        )
    )


def _heat_price(plan: HeatPlan) -> list[Steps]:
    """Price of a kWh of heat, which the plan compares; none where it is that of electricity."""
    if all(slot.cop == 1 for slot in plan.slots):
        return []
    prices = [(slot.price_per_kwh, slot.cop) for slot in plan.slots]
    return [
        Steps(
            name="heat-price",
            ink=ORANGE,
            periods=spans(plan.slots),
            values=[None if price is None or cop == 0 else price / cop for price, cop in prices],
            label="price of heat" if plan.mode == "heat" else "price of cold",
            dash="dashed",
        )
    ]


def _heat_powers(plan: HeatPlan) -> list[Steps]:
    """Power of each slot in the colour of its reason."""
    reasons = plan.explain(time_zone="UTC")
    starts = [reason.start for reason in reasons]
    powers: dict[str, list[float]] = {code: [0.0] * len(plan.slots) for code in HEAT_REASONS}
    for index, slot in enumerate(plan.slots):
        if slot.used_kwh > 0:
            code = reasons[bisect_right(starts, slot.start) - 1].code
            powers[code][index] = slot.used_kwh * (HOUR / (slot.end - slot.start))
    return [
        Steps(
            name=f"running-{code}",
            ink=look.ink,
            periods=spans(plan.slots),
            values=powers[code],
            is_filled=True,
            label=look.label,
        )
        for code, look in HEAT_REASONS.items()
        if any(powers[code])
    ]


def _temperature_panel(panel: Panel, plan: HeatPlan) -> Panel:
    """Temperature and its band, on an axis that need not begin at zero."""
    slots = plan.slots
    # A slot has the narrower one of the bands before and after its end. What holds within the slot
    # is the wider one of those at its two ends.
    befores = [slots[0], *slots[:-1]]
    pairs = list(zip(befores, slots, strict=True))
    lows = [min(old.temperature_min_celsius, new.temperature_min_celsius) for old, new in pairs]
    highs = [max(old.temperature_max_celsius, new.temperature_max_celsius) for old, new in pairs]
    band = Steps(
        name="band",
        ink=INK,
        periods=spans(slots),
        values=highs,
        base=lows,
        is_filled=True,
        opacity=0.1,
        label="comfort band",
        told=[None] * len(slots),
    )
    times = [slots[0].start, *(slot.end for slot in slots)]
    points = [(at, plan.temperature_celsius_at(at)) for at in times]
    found = [*lows, *highs, *(celsius for _, celsius in points)]
    room = max(0.08 * (max(found) - min(found)), 0.1)
    return replace(
        panel,
        curves=[band, Line(name="temperature", ink=INK, points=points, tip="temperature")],
        bounds=(min(found) - room, max(found) + room),
    )


def _powers(plan: StoragePlan) -> list[Steps]:
    """Charging up and discharging down; the time between is zero, so that means are right."""
    parts = spans([*plan.intervals, *plan.slots])
    edges = sorted({edge for part in parts for edge in part})
    periods = list(pairwise(edges))
    starts = {interval.start: interval for interval in plan.intervals}
    powers: list[float] = []
    now = 0.0
    ends = {interval.end for interval in plan.intervals}
    for start, _ in periods:
        now = starts[start].power_kw if start in starts else 0.0 if start in ends else now
        powers.append(now)
    curves = (
        ("charging", BLUE, [max(power, 0.0) for power in powers]),
        ("discharging", ORANGE, [min(power, 0.0) for power in powers]),
    )
    return [
        Steps(name=name, ink=ink, periods=periods, values=values, is_filled=True, label=name)
        for name, ink, values in curves
        if any(values)
    ]


def _socs(plan: StoragePlan) -> list[Steps | Line]:
    slots = plan.slots
    corners = {corner for i in plan.intervals for corner in (i.start, i.end)}
    times = sorted({slots[0].start, *(slot.end for slot in slots), *corners})
    # Bounds hold at the ends of slots, and a state of charge moves along straight lines.
    band = Line(
        name="band",
        ink=INK,
        points=[
            (slots[0].start, slots[0].soc_max_percent),
            *((slot.end, slot.soc_max_percent) for slot in slots),
        ],
        lows=[slots[0].soc_min_percent, *(slot.soc_min_percent for slot in slots)],
        opacity=0.1,
        label="feasible state of charge",
    )
    points = [(at, plan.soc_percent_by(at)) for at in times]
    return [band, Line(name="soc", ink=INK, points=points, tip="charge")]


def _storage_marks(plan: StoragePlan, first: datetime, last: datetime) -> list[Mark]:
    marks = []
    for index, target in enumerate(plan.targets):
        at = target.by or last
        if not first <= at <= last:
            continue
        is_met = target.shortfall_kwh == 0
        marks.append(
            Mark(
                name=f"deadline-{'met' if is_met else 'missed'}-{index}",
                at=at,
                value=target.wanted_percent,
                is_met=is_met,
                words=f"{_view.number(target.wanted_percent, 0)} %"
                if is_met
                else f"{_view.energy(target.shortfall_kwh)} missing",
                reached=target.soc_percent,
            )
        )
    return marks


# -------------------------------------------------------------- plans of switching


def switching_picture(plan: SwitchingPlan, zone: ZoneInfo) -> Picture:
    """Prices, and below the power of each period."""
    unit = f"{plan.currency}/kWh"
    price = Panel(name="price", title="Price", unit=unit, weight=3, note="no prices in this period")
    power = Panel(name="power", title="Power", unit="kW", weight=2)
    picture = Picture(
        title=_view.switching_headline(plan),
        facts=_view.switching_facts(plan),
        zone=zone,
        period=None,
        panels=[price, power],
        reasons=sentences(plan.explain(time_zone=zone.key)),
    )
    if not plan.slots:
        return picture
    first, last = plan.slots[0].start, plan.slots[-1].end
    slots = priced(plan.prices, first, last)
    kinds = (("running", BLUE, False), ("top-off", GREEN, True))
    powers = [
        Steps(
            name=name,
            ink=ink,
            periods=[(i.start, i.end) for i in plan.intervals if i.is_top_off == is_top_off],
            values=[i.power_kw for i in plan.intervals if i.is_top_off == is_top_off],
            is_filled=True,
            label=name,
        )
        for name, ink, is_top_off in kinds
        if any(i.is_top_off == is_top_off for i in plan.intervals)
    ]
    return coarse(
        replace(
            picture,
            facts=[_view.dates(first, last, zone), *picture.facts],
            period=(first, last),
            panels=[
                replace(price, curves=prices_in("price", slots, INK, label="price"), note=""),
                replace(power, curves=powers, marks=_switching_marks(plan, first, last)),
            ],
            bands=[*unpriced_between(spans(plan.slots)), *estimates(slots)],
            slots=spans(plan.slots),
        )
    )


def _switching_marks(plan: SwitchingPlan, first: datetime, last: datetime) -> list[Mark]:
    """Targets of energy on the axis of time, because the panel shows power."""
    marks = []
    for index, target in enumerate(plan.targets):
        at, is_met = target.by or last, target.shortfall_kwh == 0
        if first <= at <= last:
            marks.append(
                Mark(
                    name=f"deadline-{'met' if is_met else 'missed'}-{index}",
                    at=at,
                    value=0.0,
                    is_met=is_met,
                    words=_view.energy(target.wanted_kwh) if is_met else _view.missing(target),
                    reached=0.0,
                )
            )
    return marks
