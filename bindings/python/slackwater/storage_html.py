"""Storage plans in notebooks: HTML of one piece, without a script or a file of others."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from slackwater import _view
from slackwater.html import _BOX, _CELL, _LINE, _RULE, ROWS_MAX, ZONE, _moment

if TYPE_CHECKING:
    from slackwater._engine import StorageOutcome, StorageReason
    from slackwater.storage import StoragePlan


def storage_plan(plan: StoragePlan) -> str:
    """Draw a plan: the figures, the targets, and a row for each period."""
    reasons = plan.explain()
    facts = [_view.storage_proof(plan)]
    if plan.slots:
        facts.insert(0, f"{_view.span(plan.slots[0].start, plan.slots[-1].end, ZONE)} UTC")
    missing = _view.storage_missing(plan)
    headline = escape(_view.storage_headline(plan))
    parts = [
        f'<p style="{_LINE};font-size:1.15em"><strong>{headline}</strong></p>',
        f'<p style="{_LINE}">{escape(" · ".join([*facts, *missing]))}</p>',
    ]
    if plan.targets:
        items = "".join(f"<li>{escape(_target(target))}</li>" for target in plan.targets[:ROWS_MAX])
        parts.append(f'<ul style="margin:0.3em 0;padding:0;list-style:none">{items}</ul>')
    if reasons:
        parts.append(_table(plan.currency, reasons))
    return f'<div style="{_BOX}">{"".join(parts)}</div>'


def _target(target: StorageOutcome) -> str:
    by = "the end" if target.by is None else _moment(target.by)
    text = f"{_view.number(target.wanted_percent, 0)} % by {by}"
    if target.shortfall_kwh == 0:
        return f"✓ {text}: met"
    return f"✗ {text}: missed, {_view.missing(target)}"


def _table(currency: str, reasons: list[StorageReason]) -> str:
    names = ("Period (UTC)", "kWh", f"Cost ({currency})", "Why")
    head = "".join(
        f'<th scope="col" style="{_CELL};{_RULE};text-align:left">{escape(name)}</th>'
        for name in names
    )
    rows = "".join(_row(reason) for reason in reasons[:ROWS_MAX])
    rest = len(reasons) - ROWS_MAX
    more = f'<p style="{_LINE}">and {rest} more in <code>plan.explain()</code></p>'
    return (
        '<table style="border-collapse:collapse;margin:0.4em 0;border:none;font-size:inherit;'
        'font-variant-numeric:tabular-nums">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more if rest > 0 else ''}"
    )


def _row(reason: StorageReason) -> str:
    when = escape(_view.span(reason.start, reason.end, ZONE))
    why = escape(reason.sentence.partition(", ")[2])
    right = f"{_CELL};text-align:right"
    return (
        f'<tr><th scope="row" style="{_CELL};text-align:left;font-weight:normal">{when}</th>'
        f'<td style="{right}">{_view.fixed(reason.energy_kwh)}</td>'
        f'<td style="{right}">{_view.fixed(reason.cost)}</td>'
        f'<td style="{_CELL};text-align:left;white-space:normal">{why}</td></tr>'
    )
