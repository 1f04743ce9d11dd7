"""Plans of sites in notebooks: a headline, a row per device, and what went wrong."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from slackwater import _view

if TYPE_CHECKING:
    from slackwater._engine import SiteWish
    from slackwater.site import SitePlan

ROWS_MAX = 20
CAUSES = {
    "own_limits": "too slow alone",
    "charge_limit": "above its charge limit",
    "no_price": "no price is known",
    "priority": "others weigh more",
}

_BOX = "max-width:45em;line-height:1.45;color:inherit"
_LINE = "margin:0 0 0.3em 0"
_CELL = "padding:0.15em 0.9em 0.15em 0;white-space:nowrap;border:none;background:none"


def headline(plan: SitePlan) -> str:
    """Tell cost and savings, what is a guess, and the time without a price."""
    return ", ".join([_sums(plan), *_view.notes(plan)])


def _sums(plan: SitePlan) -> str:
    text = f"{_view.number(plan.cost)} {plan.currency} for {len(plan.devices)} devices"
    savings = _view.number(plan.savings)
    if savings == "0":
        return text
    if plan.savings < 0:
        return f"{text}, {_view.number(-plan.savings)} {plan.currency} more than without limits"
    return f"{text}, saves {savings} {plan.currency}"


def facts(plan: SitePlan) -> list[str]:
    """Tell proof, shortfall, breaches and the baseline's breaches."""
    above = f"at most {_view.number(plan.gap, 3)} above the best"
    words = [_view.proved(plan) if plan.certificate.is_proved else above]
    if plan.shortfall_kwh > 0:
        words.append(f"{_view.energy(plan.shortfall_kwh)} short of targets")
    if plan.breaches:
        words.append(f"{len(plan.breaches)} slots above a limit")
    if plan.baseline.breaches:
        words.append(f"unmanaged: {len(plan.baseline.breaches)} slots above a limit")
    return words


def cause(wish: SiteWish) -> str:
    """Name the causes of an unmet target."""
    words = []
    for why in wish.causes:
        if why.code == "limit":
            words.append(f"{why.limit} {why.phase or ''}".strip())
        else:
            words.append(CAUSES[why.code])
    return ", ".join(words)


def site(plan: SitePlan) -> str:
    """Draw a plan: the figures, a row per device, and each breach."""
    rows = "".join(
        f'<tr><th scope="row" style="{_CELL};text-align:left;font-weight:normal">'
        f"{escape(device.name)}</th>"
        f'<td style="{_CELL};text-align:right">{_view.fixed(device.energy_kwh)}</td>'
        f'<td style="{_CELL};text-align:right">{_view.fixed(device.fed_kwh)}</td>'
        f'<td style="{_CELL};text-align:right">{_view.fixed(device.shortfall_kwh)}</td>'
        f'<td style="{_CELL};text-align:left">'
        f"{escape('; '.join(filter(None, map(cause, device.wishes))))}</td></tr>"
        for device in plan.devices[:ROWS_MAX]
    )
    rest = len(plan.devices) - ROWS_MAX
    more = f'<p style="{_LINE}">and {rest} more in <code>plan.devices</code></p>'
    names = ("Device", "Takes (kWh)", "Feeds (kWh)", "Missing (kWh)", "Because of")
    head = "".join(f'<th scope="col" style="{_CELL};text-align:left">{n}</th>' for n in names)
    breaches = "".join(
        f"<li>{escape(_breach(plan, index))}</li>" for index in range(len(plan.breaches[:ROWS_MAX]))
    )
    return (
        f'<div style="{_BOX}">'
        f'<p style="{_LINE};font-size:1.15em"><strong>{escape(headline(plan))}</strong></p>'
        f'<p style="{_LINE}">{escape(" · ".join(facts(plan)))}</p>'
        '<table style="border-collapse:collapse;border:none;font-variant-numeric:tabular-nums">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"{more if rest > 0 else ''}"
        f"{f'<ul>{breaches}</ul>' if breaches else ''}</div>"
    )


def _breach(plan: SitePlan, index: int) -> str:
    breach = plan.breaches[index]
    name = f"{breach.name} {breach.phase or ''}".strip()
    at = f"{_view.day(breach.start)} {breach.start:%H:%M}"
    return f"{name}: {_view.number(breach.excess_kw)} kW above {breach.limit_kw:g} kW at {at} UTC"
