"""Bills as pictures: categories of amounts on top of each other, month by month."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater import _view
from slackwater._palette import BLUE, GREEN, ORANGE, PURPLE, Ink
from slackwater._timeline import Panel, Picture, Steps

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from slackwater.bills import Bill

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
    gaps = len(bill.missing)
    return Picture(
        title=f"{_view.number(bill.total)} {bill.currency} by {bill.tariff.name}",
        facts=[
            *([_view.dates(periods[0][0], periods[-1][1], zone)] if periods else []),
            f"source {bill.tariff.sources[0].url}",
        ],
        warning=f"{gaps} periods without readings" if gaps else "",
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
