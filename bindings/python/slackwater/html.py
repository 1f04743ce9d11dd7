"""Plans in notebooks: HTML of one piece, without a script or a file of others.

Text takes the colour of the page, and all other colours stand out from white
and from black, so that light and dark themes need no rule of their own.
Styles are attributes because notebooks of unknown origin lose style sheets.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import escape
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from slackwater import _view
from slackwater._view import LOOKS, MET_COLOUR, MISSED_COLOUR, View

if TYPE_CHECKING:
    from slackwater._engine import Reason, TargetOutcome
    from slackwater.plan import Plan
    from slackwater.switching import SwitchingPlan

ROWS_MAX = 12
STEPS_MAX = 1500
ZONE = ZoneInfo("UTC")

WIDTH, HEIGHT = 720.0, 162.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 712.0, 28.0, 128.0
TICKS_MAX = 9
TICK_HOURS = (1, 2, 3, 6, 12, 24, 48, 96, 168)

_BOX = "max-width:45em;line-height:1.45;color:inherit"
_LINE = "margin:0 0 0.3em 0"
_CELL = "padding:0.15em 0.9em 0.15em 0;white-space:nowrap;border:none;background:none"
_RULE = "border-bottom:1px solid rgba(128,128,128,0.45)"


def plan(plan: Plan) -> str:
    """Draw a plan: the figures, a timeline, the targets, and a row for each period of charging."""
    reasons = plan.explain()
    view = _view.view_of(plan)
    parts = [_figures(plan, view)]
    if view is not None and view.steps and len(view.steps) <= STEPS_MAX:
        parts.append(_timeline(plan, view, _view.charging(reasons)))
    if plan.targets:
        parts.append(_targets(plan.targets))
    if charging := _view.charging(reasons):
        parts.append(_table(plan.currency, charging))
    if reasons:
        sentences = "".join(f"<li>{escape(reason.sentence)}</li>" for reason in reasons[:ROWS_MAX])
        in_full = f"<summary>The reasons in full</summary><ul>{sentences}</ul>"
        parts.append(f"<details>{in_full}</details>")
    return f'<div style="{_BOX}">{"".join(parts)}</div>'


def switching(plan: SwitchingPlan) -> str:
    """Draw a plan of switching: the figures, the targets, and a sentence for each period."""
    head = (
        f"{_view.energy(plan.energy_kwh)} for {_view.number(plan.cost)} {plan.currency} "
        f"in {_view.sessions(len(plan.sessions))}"
    )
    proof = "proved optimal" if plan.certificate.is_proved else "not proved"
    facts = [
        f"starts cost {_view.number(plan.start_costs)} {plan.currency}",
        (
            f"smoothness costs {_view.number(plan.smoothness_cost)} {plan.currency} "
            f"beside {_view.sessions(plan.free_sessions)}"
        ),
        proof,
        *(f"not kept: {wish.wish}" for wish in plan.unmet),
    ]
    reasons = plan.explain()
    items = "".join(f"<li>{escape(reason.sentence)}</li>" for reason in reasons[:ROWS_MAX])
    if len(reasons) > ROWS_MAX:
        items += f"<li>and {len(reasons) - ROWS_MAX} more in <code>plan.explain()</code></li>"
    return (
        f'<div style="{_BOX}">'
        f'<p style="{_LINE};font-size:1.15em"><strong>{escape(head)}</strong></p>'
        f'<p style="{_LINE}">{escape(" · ".join(facts))}</p>'
        f"{_targets(plan.targets) if plan.targets else ''}"
        f'<ul style="margin:0.3em 0;padding:0 0 0 1.2em">{items}</ul></div>'
    )


# -------------------------------------------------------------------- in words


def _figures(plan: Plan, view: View | None) -> str:
    facts = [_view.proof(plan)]
    if plan.marginal_price_per_kwh is not None:
        price = _view.number(plan.marginal_price_per_kwh, 3)
        facts.insert(0, f"next kWh at {price} {plan.currency}")
    if view is not None and plan.slots:
        facts.insert(0, f"{_view.span(view.start, view.end, ZONE)} UTC")
    if plan.soc_is_assumed:
        facts.append("state of charge assumed")
    head = escape(_view.headline(plan))
    if plan.shortfall_kwh > 0:
        head += f" {_badge('✗', MISSED_COLOUR)} {escape(_view.shortfall(plan))}"
    return (
        f'<p style="{_LINE};font-size:1.15em"><strong>{head}</strong></p>'
        f'<p style="{_LINE}">{escape(" · ".join(facts))}</p>'
    )


def _badge(sign: str, colour: str) -> str:
    """A sign that the words after it say again, so it is hidden from screen readers."""
    return f'<span aria-hidden="true" style="color:{colour};font-weight:bold">{sign}</span>'


def _targets(targets: list[TargetOutcome]) -> str:
    items = "".join(_target(target) for target in targets[:ROWS_MAX])
    if len(targets) > ROWS_MAX:
        items += f"<li>and {len(targets) - ROWS_MAX} more in <code>plan.targets</code></li>"
    return f'<ul style="margin:0.3em 0;padding:0;list-style:none">{items}</ul>'


def _target(target: TargetOutcome) -> str:
    by = "the end of the prices" if target.by is None else _moment(target.by)
    text = f"{_view.energy(target.wanted_kwh)} by {by}"
    if target.shortfall_kwh == 0:
        return f"<li>{_badge('✓', MET_COLOUR)} {escape(text)}: met</li>"
    late = "never reached" if target.reached_at is None else f"reached {_moment(target.reached_at)}"
    text += f": missed, {_view.missing(target)}, {late}"
    return f"<li>{_badge('✗', MISSED_COLOUR)} {escape(text)}</li>"


def _moment(at: datetime) -> str:
    return f"{_view.day(at)} {at:%H:%M}"


def _table(currency: str, reasons: list[Reason]) -> str:
    names = ("Charging (UTC)", "kWh", f"Cost ({currency})", "Why")
    cells = zip(names, ("left", "right", "right", "left"), strict=True)
    head = "".join(
        f'<th scope="col" style="{_CELL};{_RULE};text-align:{side}">{escape(name)}</th>'
        for name, side in cells
    )
    rows = "".join(_row(reason) for reason in reasons[:ROWS_MAX])
    rest = len(reasons) - ROWS_MAX
    more = f'<p style="{_LINE}">and {rest} more in <code>plan.explain()</code></p>'
    return (
        '<table style="border-collapse:collapse;margin:0.4em 0;border:none;font-size:inherit;'
        'font-variant-numeric:tabular-nums">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"{more if rest > 0 else ''}"
    )


def _row(reason: Reason) -> str:
    look = LOOKS[reason.code]
    swatch = (
        '<span aria-hidden="true" style="display:inline-block;width:0.7em;height:0.7em;'
        f'margin-right:0.45em;background:{look.colour}"></span>'
    )
    when = escape(_view.span(reason.start, reason.end, ZONE))
    left, right = f"{_CELL};text-align:left", f"{_CELL};text-align:right"
    return (
        f'<tr><th scope="row" style="{left};font-weight:normal">{when}</th>'
        f'<td style="{right}">{_view.fixed(reason.energy_kwh)}</td>'
        f'<td style="{right}">{_view.fixed(reason.cost)}</td>'
        f'<td style="{left}">{swatch}{escape(look.label)}</td></tr>'
    )


# ---------------------------------------------------------------- the timeline


class _Scale:
    """Where times and prices lie in the drawing."""

    def __init__(self, view: View) -> None:
        self.first = view.start - view.margin
        self.length = view.end + view.margin - self.first
        prices = [price for _, _, price in view.steps]
        self.low, self.high = min(0.0, *prices), max(0.0, *prices)

    def x(self, at: datetime) -> float:
        return LEFT + (RIGHT - LEFT) * ((at - self.first) / self.length)

    def y(self, price: float) -> float:
        height = self.high - self.low
        return BOTTOM if height == 0 else BOTTOM - (BOTTOM - TOP) * ((price - self.low) / height)


def _timeline(plan: Plan, view: View, reasons: list[Reason]) -> str:
    scale = _Scale(view)
    parts = [
        _rectangle(scale.x(start), scale.x(end), TOP, BOTTOM, "currentColor", 0.08)
        for start, end in view.unpriced
    ]
    for reason in reasons:
        colour = LOOKS[reason.code].colour
        start, end = scale.x(reason.start), scale.x(reason.end)
        parts.append(_rectangle(start, end, TOP, BOTTOM, colour, 0.22))
        for first, last, price in plan.prices.between(reason.start, reason.end).slots:
            low, high = sorted((scale.y(0), scale.y(price)))
            parts.append(_rectangle(scale.x(first), scale.x(last), low, high, colour))
    unit = escape(f"{plan.currency}/kWh")
    parts += [
        f'<text x="2" y="{TOP - 14}" fill="currentColor">{unit}</text>',
        *_frame(scale),
        _price_line(scale, view),
    ]
    for marker in view.markers:
        sign, colour = ("✓", MET_COLOUR) if marker.is_met else ("✗", MISSED_COLOUR)
        x = scale.x(marker.at)
        parts.append(
            f'<path d="M{x:.1f} {TOP}V{BOTTOM}" stroke="{colour}" stroke-dasharray="3 2"/>'
            f'<text x="{x:.1f}" y="{TOP - 3}" text-anchor="middle" font-weight="bold" '
            f'font-size="13" fill="{colour}">{sign}</text>'
        )
    periods = "1 period" if len(reasons) == 1 else f"{len(reasons)} periods"
    label = (
        f"Prices from {_view.span(view.start, view.end, ZONE)} UTC, between "
        f"{_view.number(scale.low, 3)} and {_view.number(scale.high, 3)} {plan.currency} per kWh, "
        f"with {periods} of charging, listed below."
    )
    return (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" '
        'style="display:block;width:100%;height:auto" fill="none" font-size="11" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _rectangle(
    left: float, right: float, top: float, bottom: float, colour: str, opacity: float = 1.0
) -> str:
    faint = "" if opacity == 1.0 else f' fill-opacity="{opacity}"'
    size = f'width="{right - left:.1f}" height="{bottom - top:.1f}"'
    place = f'x="{left:.1f}" y="{top:.1f}" shape-rendering="crispEdges"'
    return f'<rect {place} {size} fill="{colour}"{faint}/>'


def _price_line(scale: _Scale, view: View) -> str:
    path: list[str] = []
    last_end: datetime | None = None
    for start, end, price in view.steps:
        y = f"{scale.y(price):.1f}"
        path.append(f"V{y}" if start == last_end else f"M{scale.x(start):.1f} {y}")
        path.append(f"H{scale.x(end):.1f}")
        last_end = end
    return f'<path d="{"".join(path)}" stroke="currentColor" stroke-width="1.4"/>'


def _frame(scale: _Scale) -> list[str]:
    """Zero line, highest and lowest price, and the time below."""
    zero = scale.y(0)
    parts = [f'<path d="M{LEFT} {zero:.1f}H{RIGHT}" stroke="currentColor" stroke-opacity="0.5"/>']
    for price in sorted({scale.low, 0.0, scale.high}):
        is_near_zero = price != 0 and abs(scale.y(price) - zero) < 11
        if not is_near_zero:
            parts.append(
                f'<text x="{LEFT - 5}" y="{scale.y(price) + 4:.1f}" text-anchor="end" '
                f'fill="currentColor">{_view.number(price)}</text>'
            )
    hours = scale.length / timedelta(hours=1)
    step = next((step for step in TICK_HOURS if hours / step <= TICKS_MAX), TICK_HOURS[-1])
    midnight = scale.first.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    ticks = [midnight + timedelta(hours=step * index) for index in range(int(hours / step) + 25)]
    dated = None
    for at in ticks:
        if not scale.first <= at <= scale.first + scale.length:
            continue
        anchor = f'x="{scale.x(at):.1f}" text-anchor="middle" fill="currentColor"'
        parts.append(
            f'<path d="M{scale.x(at):.1f} {BOTTOM}v4" stroke="currentColor" stroke-opacity="0.5"/>'
            f'<text {anchor} y="{BOTTOM + 16}">{at:%H:%M}</text>'
        )
        if at.date() != dated:
            parts.append(f'<text {anchor} y="{BOTTOM + 29}">{_view.day(at)}</text>')
            dated = at.date()
    return parts
