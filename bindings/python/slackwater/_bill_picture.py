"""Bills as pictures, month by month, and plans under a price of power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from slackwater import _view
from slackwater._palette import BLUE, FAINT, GREEN, INK, ORANGE, PURPLE, RED, Ink
from slackwater._timeline import Line, Panel, Period, Picture, Steps, coarse

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from slackwater.bills import Bill
    from slackwater.capacity import CapacityPlan

CATEGORIES: dict[str, tuple[str, Ink]] = {
    "energy": ("supplier", BLUE),
    "network": ("network", GREEN),
    "tax": ("taxes and levies", ORANGE),
    "fee": ("fees", PURPLE),
}


def bill_picture(bill: Bill, zone: ZoneInfo) -> Picture:
    """Amounts of each month by their recipient; what is paid to the customer is below zero."""
    periods = [(month.start, month.end) for month in bill.months]
    panel = Panel(
        name="cost",
        title="Bill",
        unit=f"{bill.currency}/month",
        weight=3,
        curves=_stacks(bill),
        note="" if periods else "no month is billed",
    )
    return Picture(
        title=f"{_view.number(bill.total)} {bill.currency} by {bill.tariff.name}",
        facts=[
            *([_view.dates(periods[0][0], periods[-1][1], zone)] if periods else []),
            f"source {bill.tariff.sources[0].url}",
        ],
        warning=_view.readings_missing(len(bill.missing)),
        zone=zone,
        period=(periods[0][0], periods[-1][1]) if periods else None,
        panels=[panel],
        slots=periods,
        reasons=[(start, end, _lines(bill, start, end)) for start, end in periods],
    )


def _lines(bill: Bill, start: object, end: object) -> str:
    name = next(month.month for month in bill.months if (month.start, month.end) == (start, end))
    lines = [line for line in bill.lines if line.month == name]
    return "; ".join(f"{line.component} {line.amount:.2f}" for line in lines)


def _stacks(bill: Bill) -> list[Steps]:
    """One stack of amounts above zero and one of those below it."""
    periods = [(month.start, month.end) for month in bill.months]
    curves: list[Steps] = []
    for sign, ending in ((1, ""), (-1, "-credit")):
        base = [0.0] * len(periods)
        for category, (label, ink) in CATEGORIES.items():
            sums = [
                sum(
                    line.amount
                    for line in bill.lines
                    if line.month == month.month
                    and line.category == category
                    and line.amount * sign > 0
                )
                for month in bill.months
            ]
            if not any(sums):
                continue
            tops = [low + amount for low, amount in zip(base, sums, strict=True)]
            curves.append(
                Steps(
                    name=f"{category}{ending}",
                    ink=ink,
                    periods=periods,
                    values=tops,
                    base=base,
                    is_filled=True,
                    label=label,
                    told=sums,
                    opacity=0.75,
                )
            )
            base = tops
    return curves


def capacity_picture(plan: CapacityPlan, zone: ZoneInfo) -> Picture:
    """Power through the meter with its level, the price, and the stored energy."""
    slots = plan.slots
    periods: list[Period] = [(slot.start, slot.end) for slot in slots]
    power = Panel(name="power", title="Power", unit="kW", weight=3, note="nothing is planned")
    price = Panel(name="price", title="Price", unit=f"{plan.currency}/kWh", weight=1.5)
    level = Panel(name="level", title="Stored energy", unit="kWh", weight=2)
    picture = Picture(
        title=_view.capacity_headline(plan),
        facts=[_view.capacity_proof(plan)],
        warning=", ".join(_view.capacity_missing(plan)),
        zone=zone,
        period=None,
        panels=[power, price, level],
        reasons=[
            (reason.start, reason.end, reason.sentence)
            for reason in plan.explain(time_zone=zone.key)
        ],
    )
    if not periods:
        return picture
    first, last = periods[0][0], periods[-1][1]
    stored = [
        (first, plan.certificate.stored_start_kwh),
        *((slot.end, slot.stored_kwh) for slot in slots),
    ]
    prices = [slot.import_price_per_kwh for slot in slots]
    return coarse(
        replace(
            picture,
            facts=[_view.dates(first, last, zone), *picture.facts],
            period=(first, last),
            panels=[
                replace(power, curves=_powers(plan, periods), note=""),
                replace(
                    price,
                    curves=[Steps(name="price", ink=INK, periods=periods, values=prices)],
                ),
                replace(level, curves=[Line(name="stored", ink=GREEN, points=stored)]),
            ],
            slots=periods,
        )
    )


def _powers(plan: CapacityPlan, periods: list[Period]) -> list[Steps]:
    """Other load, charging above it, discharging below it, and the level of the tariff."""
    hours = [(end - start) / timedelta(hours=1) for start, end in periods]
    load = [slot.load_kwh / length for slot, length in zip(plan.slots, hours, strict=True)]
    meter = [slot.metered_kwh / length for slot, length in zip(plan.slots, hours, strict=True)]

    def steps(name: str, ink: Ink, values: Sequence[float | None], label: str) -> Steps:
        return Steps(name=name, ink=ink, periods=periods, values=values, label=label, tip=label)

    curves = []
    for name, ink, energies, sign in (
        ("charging", BLUE, [slot.charged_kwh for slot in plan.slots], 1),
        ("discharging", ORANGE, [slot.discharged_kwh for slot in plan.slots], -1),
    ):
        powers = [energy / length for energy, length in zip(energies, hours, strict=True)]
        if any(powers):
            edges = [base + sign * power for base, power in zip(load, powers, strict=True)]
            area = replace(steps(name, ink, edges, name), base=load, told=powers)
            curves.append(replace(area, is_filled=True))
    if any(load):
        curves.append(replace(steps("load", FAINT, load, "other load"), dash="dotted"))
    curves.append(steps("meter", INK, meter, "meter"))
    levels = [slot.level_kw for slot in plan.slots]
    curves.append(replace(steps("level", RED, levels, "power of the tariff"), dash="dashed"))
    return curves
