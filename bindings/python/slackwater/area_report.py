"""A page about an area for people who plan grids: one HTML file, nothing to load.

The page brings its styles, its pictures and a few lines of script along, follows
the light or dark theme of its reader, prints well, and needs no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from slackwater import _view, html
from slackwater._fleet_pictures import area_picture, load_bounds
from slackwater._palette import BASELINE, COORDINATED, PRICE_ONLY, Theme, check_theme
from slackwater._timeline import Picture
from slackwater._view import zone_of
from slackwater.area_node import holds_all, per_slot

if TYPE_CHECKING:
    from slackwater._engine import NodeLoad
    from slackwater.area_node import Node
    from slackwater.coordinate import AreaPlan

AT_RISK_MAX = 50
NODES_MAX = 40


class _Top(NamedTuple):
    """The node that is drawn."""

    node: Node
    load: NodeLoad
    is_all: bool
    """Whether all vehicles are below it, so that loads of all compare with it."""

    def with_base(self, vehicles: Sequence[float]) -> list[float]:
        """A load of all vehicles, on the footing of that of the node."""
        return [base + more for base, more in zip(self.load.base_kw, vehicles, strict=True)]


def area_report(
    plan: AreaPlan,
    nodes: Sequence[Node],
    *,
    names: Sequence[object] | None = None,
    title: str = "Area plan",
    time_zone: str | ZoneInfo = "UTC",
    theme: Theme = "auto",
    interactive: bool = True,
) -> str:
    """Write a page about an area plan.

    Args:
        plan: The plan.
        nodes: Its nodes; the one at the top is drawn large, the first of several.
        names: Names of the vehicles by row, for the list of those at risk.
        title: Headline of the page.
        time_zone: Zone of all times: an IANA name or a ``ZoneInfo``.
        theme: ``"light"``, ``"dark"``, or ``"auto"`` for that of the reader.
        interactive: Whether a script of the page tells the values of the slot under the pointer.

    Returns:
        One HTML document.

    Raises:
        InputError: The time zone or the theme is unknown.
    """
    check_theme(theme)
    zone = zone_of(time_zone)
    at = next(at for at, node in enumerate(nodes) if node.parent is None)
    top = _Top(nodes[at], plan.nodes[at], is_all=holds_all(nodes, nodes[at]))
    picture = area_picture(plan, nodes, at, zone)
    parts = [_summary(plan, top)]
    if plan.periods:
        parts += _charts(plan, top, picture, interactive=interactive)
    parts += [_savings(plan, top), _at_risk(plan, names)]
    if len(nodes) > 1:
        parts.append(_nodes(plan, nodes))
    parts.append(_proof(plan))
    dates = [picture.facts[0], picture.axis] if plan.periods else []
    subtitle = " · ".join([top.node.name, _view.counted(plan.vehicles, "vehicle"), *dates])
    body = "\n".join(parts)
    return html.document(title, subtitle, body, theme=theme, interactive=interactive)


# -------------------------------------------------------------------- in words


def _power(value: float) -> str:
    return _with_unit(value, "kW", "MW")


def _energy(value: float) -> str:
    return _with_unit(value, "kWh", "MWh")


def _with_unit(value: float, unit: str, thousands: str) -> str:
    if abs(value) >= 10_000:
        return f"{_view.amount(value / 1000)}\u00a0{thousands}"
    return f"{_view.amount(value)}\u00a0{unit}"


def _binding(node: Node, load: Sequence[float]) -> int:
    limits = per_slot(node.limit_kw, len(load))
    pairs = zip(load, limits, strict=True)
    return sum(limit is not None and at >= limit * (1 - 1e-3) - 1e-9 for at, limit in pairs)


# --------------------------------------------------------------------- summary


def _tile(label: str, value: str, note: str, look: str = "") -> str:
    return (
        f'<div class="tile {look}"><dt>{escape(label)}</dt>'
        f'<dd class="value">{escape(value)}</dd><dd class="note">{escape(note)}</dd></div>'
    )


def _summary(plan: AreaPlan, top: _Top) -> str:
    saved = plan.baseline_cost - plan.cost
    share = saved / abs(plan.baseline_cost) if plan.baseline_cost else 0.0
    withheld = plan.withheld_kwh
    own = top.load.load_kw
    limits = [limit for limit in per_slot(top.node.limit_kw, len(own)) if limit is not None]
    peak = f"limit {_power(min(limits))}" if limits else "no limit on import"
    if top.is_all:
        baseline = max(top.with_base(plan.baseline_load_kw), default=0.0)
        peak = f"{peak} · baseline {_power(baseline)}"
    tiles = [
        _tile(
            "Cost",
            f"{_view.amount(plan.cost)} {plan.currency}",
            f"without {_energy(withheld)} withheld by limits: not comparable with other costs"
            if withheld > 0
            else f"{_view.amount(saved)} {plan.currency} ({_view.percent(share)}) "
            "below the baseline",
            "bad" if withheld > 0 else "",
        ),
        _tile(
            "Highest load" if top.is_all else f"Highest load of {top.node.name}",
            _power(max(own, default=0.0)),
            peak,
            "bad" if top.load.breach_kw else "",
        ),
        _tile(
            "Energy delivered",
            _energy(plan.energy_kwh),
            f"{_energy(plan.shortfall_kwh)} short, vehicles affected: {plan.short_vehicles:,}"
            if plan.shortfall_kwh > 0
            else "all needs are met",
            "bad" if plan.shortfall_kwh else "",
        ),
        *(_tile("Note", note, "", "bad") for note in _view.area_notes(plan)),
        _tile(
            "Proof",
            _view.percent(plan.relative_gap),
            f"within this of the optimum (lower bound {_view.amount(plan.bound)} {plan.currency})",
        ),
    ]
    return f'<dl class="tiles">{"".join(tiles)}</dl>'


# -------------------------------------------------------------------- pictures


def _charts(plan: AreaPlan, top: _Top, picture: Picture, *, interactive: bool) -> list[str]:
    """A section for each panel, with words about it."""
    words = {
        "load": ("Load against the limit", _load_words(top, picture)),
        "shadow": _shadow_words(plan, top.load, picture),
        "price": ("Market price", "Price of a kWh before the limit adds to it."),
        "nodes": ("Nodes over time", "Load of each node with a limit, in percent of that limit."),
    }
    sections = []
    for panel in picture.panels:
        headline, about = words[panel.name]
        is_flat = panel.name == "shadow" and not any(top.load.congestion_price_per_kwh)
        drawn = replace(picture, panels=[replace(panel, weight=max(panel.weight * 1.5, 3.0))])
        chart = "" if is_flat else html.chart(drawn, interactive=interactive)
        sections.append(f"<section><h2>{headline}</h2><p>{escape(about)}</p>{chart}</section>")
    return sections


def _load_words(top: _Top, picture: Picture) -> str:
    own = top.load.load_kw
    words = (
        f"The load is at its limit in {_binding(top.node, own)} of {len(own)} slots."
        if top.node.limit_kw is not None
        else "There is no import limit here; the load follows prices and the other terms."
    )
    if not top.is_all:
        words = f"Shows {top.node.name} alone, one of several top nodes. {words}"
    if top.load.breach_kw > 0:
        words += f" Other load alone exceeds the limit, by up to {_power(top.load.breach_kw)}."
    beyond = load_bounds(picture.panels[0].curves)[1]
    return " ".join([words, *(f"The {text}." for text in beyond)])


def _shadow_words(plan: AreaPlan, load: NodeLoad, picture: Picture) -> tuple[str, str]:
    added = load.congestion_price_per_kwh
    if plan.withheld_kwh > 0:
        words = (
            "Limits leave energy short, and meeting needs comes before cost. The curve is high in "
            "slots where one more kWh of capacity would reduce the shortfall, and low where it "
            "would only lower the cost. The height is a ranking, not a price."
            if any(added)
            else "Limits leave energy short, and no slot has capacity to share: there is no price."
        )
        return "Where capacity is short", words
    if not any(added):
        words = "The limit adds no cost: in no slot would one more kWh lower the cost."
        return "Price of the limit", words
    top = max(range(len(added)), key=lambda slot: added[slot])
    when = _view.span(*plan.periods[top], picture.zone)
    words = (
        f"Saving by one more kWh of capacity in each slot. It is highest {when}: "
        f"{_view.amount(added[top], 3)} {plan.currency}/kWh."
    )
    return "Price of the limit", words


# ---------------------------------------------------------------------- tables


def _savings(plan: AreaPlan, top: _Top) -> str:
    limits = per_slot(top.node.limit_kw, len(plan.load_kw))
    withheld = plan.withheld_kwh

    def note(load: Sequence[float]) -> str:
        if not top.is_all:
            return ""
        pairs = zip(top.with_base(load), limits, strict=True)
        slots = sum(limit is not None and at > limit + 1e-6 for at, limit in pairs)
        return (
            f"exceeds the limit in {_view.counted(slots, 'slot')}" if slots else "keeps the limit"
        )

    kept = note(plan.load_kw)
    if withheld > 0:
        kept = f"{kept}{', ' if kept else ''}without {_energy(withheld)}"
    rows = [
        ("Baseline", BASELINE.ink, plan.baseline_cost, note(plan.baseline_load_kw)),
        ("Price only", PRICE_ONLY.ink, plan.price_only_cost, note(plan.price_only_load_kw)),
        ("Coordinated", COORDINATED.ink, plan.cost, kept),
    ]
    most = max((abs(cost) for _, _, cost, _ in rows), default=1.0) or 1.0
    bars = "".join(
        f'<tr><th scope="row">{name}</th><td class="bar"><span class="ink-{ink.name}" '
        f'style="width:{max(abs(cost) / most * 100, 0.5):.1f}%"></span></td>'
        f'<td class="number">{_view.amount(cost)} {escape(plan.currency)}</td>'
        f"<td>{escape(text)}</td></tr>"
        for name, ink, cost, text in rows
    )
    short = ""
    if withheld > 0:
        short = (
            f" The coordinated plan delivers {_energy(withheld)} less. Its cost does not include "
            "this energy, so the difference is not a saving."
        )
    return (
        "<section><h2>Cost</h2><p>The same vehicles charged at full power from arrival (the "
        f"baseline), each at its own least cost (price only), and coordinated.{short}</p>"
        f"<table>{bars}</table></section>"
    )


def _at_risk(plan: AreaPlan, names: Sequence[object] | None) -> str:
    unmet = sorted(plan.shortfalls, key=lambda need: (-need.energy_kwh, need.row))
    if not unmet:
        words = "All needs are met by their deadlines."
        return f"<section><h2>Vehicles at risk</h2><p>{words}</p></section>"
    rows = "".join(
        f'<tr><th scope="row">{escape(str(names[need.row] if names else need.row))}</th>'
        f'<td class="number">{_view.amount(need.energy_kwh, 2)} kWh</td>'
        f"<td>{escape(_view.shortfall_cause(need))}</td></tr>"
        for need in unmet[:AT_RISK_MAX]
    )
    more = len(unmet) - AT_RISK_MAX
    rest = f"<p>and {more:,} more, each with less missing</p>" if more > 0 else ""
    words = f"Vehicles short at departure or at a deadline: {plan.short_vehicles:,}."
    return (
        f"<section><h2>Vehicles at risk</h2><p>{words}</p>"
        '<table><thead><tr><th scope="col">Vehicle</th>'
        '<th scope="col" class="number">Missing</th><th scope="col">Cause</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{rest}</section>"
    )


def _nodes(plan: AreaPlan, nodes: Sequence[Node]) -> str:
    rows, is_money = [], plan.withheld_kwh == 0
    pairs = list(zip(nodes, plan.nodes, strict=True))
    pairs.sort(key=lambda pair: (-_binding(pair[0], pair[1].load_kw), pair[0].name))
    for node, load in pairs[:NODES_MAX]:
        limits = [at for at in per_slot(node.limit_kw, len(load.load_kw)) if at is not None]
        peak = max(load.load_kw, default=0.0)
        dearest = max(load.congestion_price_per_kwh, default=0.0)
        rows.append(
            f'<tr><th scope="row">{escape(node.name)}</th><td>{escape(node.parent or "")}</td>'
            f'<td class="number">{_power(min(limits)) if limits else "none"}</td>'
            f'<td class="number">{_power(peak)}</td>'
            f'<td class="number">{_binding(node, load.load_kw)}</td>'
            + (f'<td class="number">{_view.amount(dearest, 3)}</td></tr>' if is_money else "</tr>")
        )
    more = len(pairs) - NODES_MAX
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    dearest_room = (
        f'<th scope="col" class="number">Highest shadow price ({escape(plan.currency)}/kWh)</th>'
        if is_money
        else ""
    )
    return (
        "<section><h2>Nodes</h2><table><thead><tr>"
        '<th scope="col">Node</th><th scope="col">Below</th>'
        '<th scope="col" class="number">Limit</th><th scope="col" class="number">Highest load</th>'
        '<th scope="col" class="number">Slots at limit</th>'
        f"{dearest_room}</tr></thead><tbody>{''.join(rows)}</tbody></table>{rest}</section>"
    )


def _proof(plan: AreaPlan) -> str:
    ends = {
        "optimal_within_gap": "they converged: the requested gap is proved",
        "limit_reached": "the allowed number of rounds was reached",
        "stopped": "they were stopped; this is the best plan found",
        "stalled": "nothing improved further: the remaining gap is due to indivisible plans",
        "solver_failed": "the solver failed: limits hold, but a better plan may exist",
    }
    words = (
        f"In each of the last {plan.rounds} rounds the plan of every vehicle was solved for trial "
        "prices of the limits. These prices prove a lower bound: no plan that serves the same "
        f"needs costs less than {_view.amount(plan.bound)} {plan.currency}. This plan costs "
        f"{_view.amount(plan.cost)} {plan.currency}. The rounds ended because {ends[plan.status]}."
    )
    again = "The same input gives the same plan, to the last bit." if plan.is_reproducible else ""
    return f"<section><h2>Quality of the plan</h2><p>{escape(words)} {again}</p></section>"
