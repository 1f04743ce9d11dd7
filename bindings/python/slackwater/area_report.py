"""A page about an area for people who plan grids: one HTML file, nothing to load.

The page brings its styles, its pictures and a few lines of script along, follows
the light or dark theme of its reader, prints well, and needs no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from slackwater._area_picture import Frame, area_under, axes, chart, frame_of, in_digits, stairs
from slackwater._engine import InputError, __version__
from slackwater.area_node import holds_all, per_slot

if TYPE_CHECKING:
    from slackwater.area_node import Node
    from slackwater.area_types import NodeLoad
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
    time_zone: str = "UTC",
) -> str:
    """Write a page about an area plan.

    Args:
        plan: The plan.
        nodes: Its nodes; the one at the top is drawn large, the first of several.
        names: Names of the vehicles by row, for the list of those at risk.
        title: Headline of the page.
        time_zone: IANA name of the zone of all times.

    Returns:
        One HTML document.

    Raises:
        InputError: The time zone is unknown.
    """
    try:
        zone = ZoneInfo(time_zone)
    except (ValueError, ZoneInfoNotFoundError):
        message = f"time_zone: {time_zone!r} is no IANA time zone"
        raise InputError(message) from None
    at = next(at for at, node in enumerate(nodes) if node.parent is None)
    top = _Top(nodes[at], plan.nodes[at], is_all=holds_all(nodes, nodes[at]))
    parts = [_summary(plan, top)]
    if plan.periods:
        parts += [_loads(plan, top, zone), _prices(plan, top.load, zone)]
    parts += [_savings(plan, top), _at_risk(plan, names)]
    if len(nodes) > 1:
        parts.append(_nodes(plan, nodes))
    parts.append(_proof(plan))
    page = files("slackwater").joinpath("area_report.html").read_text(encoding="utf-8")
    span = _span(plan, zone, time_zone)
    count = f"{plan.vehicles:,} vehicles"
    fills = {
        "title": escape(title),
        "subtitle": escape(" · ".join(text for text in (top.node.name, count, span) if text)),
        "body": "\n".join(parts),
        "version": escape(__version__),
    }
    for name, text in fills.items():
        page = page.replace("{{" + name + "}}", text)
    return page


# -------------------------------------------------------------------- in words


def _power(value: float) -> str:
    return _with_unit(value, "kW", "MW")


def _energy(value: float) -> str:
    return _with_unit(value, "kWh", "MWh")


def _with_unit(value: float, unit: str, thousands: str) -> str:
    if abs(value) >= 10_000:
        return f"{in_digits(value / 1000)}\u00a0{thousands}"
    return f"{in_digits(value)}\u00a0{unit}"


def _percent(share: float) -> str:
    text = f"{share * 100:.2g}" if abs(share) < 0.1 else f"{share * 100:.0f}"
    return f"{text}\u00a0%"


def _span(plan: AreaPlan, zone: ZoneInfo, time_zone: str) -> str:
    if not plan.periods:
        return ""
    start, end = plan.periods[0][0].astimezone(zone), plan.periods[-1][1].astimezone(zone)
    return f"{start:%a %d %b %Y %H:%M} to {end:%a %d %b %Y %H:%M}, {time_zone}"


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
        unmanaged = max(top.with_base(plan.baseline_load_kw), default=0.0)
        peak = f"{peak} · unmanaged {_power(unmanaged)}"
    tiles = [
        _tile(
            "Cost",
            f"{in_digits(plan.cost)} {plan.currency}",
            f"without {_energy(withheld)} withheld by limits: not comparable with other costs"
            if withheld > 0
            else f"{in_digits(saved)} {plan.currency} ({_percent(share)}) below unmanaged charging",
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
            f"{_energy(plan.shortfall_kwh)} unmet, vehicles affected: {plan.short_vehicles:,}"
            if plan.shortfall_kwh > 0
            else "all needs are met",
            "bad" if plan.shortfall_kwh else "",
        ),
        _tile(
            "Proof",
            _percent(plan.relative_gap),
            f"within this of the optimum (lower bound {in_digits(plan.bound)} {plan.currency})",
        ),
    ]
    return f'<dl class="tiles">{"".join(tiles)}</dl>'


# -------------------------------------------------------------------- pictures


def _times(plan: AreaPlan, zone: ZoneInfo) -> list[str]:
    local = [(start.astimezone(zone), end.astimezone(zone)) for start, end in plan.periods]
    return [f"{start:%a %H:%M} to {end:%H:%M}" for start, end in local]


def _loads(plan: AreaPlan, top: _Top, zone: ZoneInfo) -> str:
    count = len(plan.periods)
    own, base = top.load.load_kw, top.load.base_kw
    limits = per_slot(top.node.limit_kw, count)
    known = [limit for limit in limits if limit is not None]
    series: list[tuple[str, Sequence[float | None], str]] = [("coordinated", own, "load")]
    low, high = min([0.0, *own, *base]), max([*own, *known, 1e-3])
    most = high
    if top.is_all:
        price_only = top.with_base(plan.price_only_load_kw)
        unmanaged = top.with_base(plan.baseline_load_kw)
        series += [
            ("price only", price_only, "price-only"),
            ("unmanaged", unmanaged, "unmanaged"),
        ]
        high = max(high, *unmanaged)
        most = max(price_only)
    if known:
        series.append(("limit", limits, "limit"))
    if any(base):
        series.append(("other load", base, "base"))
    frame = frame_of(plan, (34.0, 316.0), low, max(high, min(most, 1.5 * high)))
    edges = frame.edges
    picture = axes(frame, plan, zone, "kW") + _curves(frame, series)
    legend = "".join(f'<span class="key {look}">{name}</span>' for name, _, look in series)
    rows = [
        [name, look, [None if v is None else round(v, 2) for v in values], "kW"]
        for name, values, look in series
    ]
    data = {"edges": edges, "times": _times(plan, zone), "series": rows}
    words = (
        f"The load is at its limit in {_binding(top.node, own)} of {count} slots."
        if known
        else "There is no import limit here; the load follows prices and the other terms."
    )
    if not top.is_all:
        words = f"Shows {top.node.name} alone, one of several top nodes. {words}"
    if top.load.breach_kw > 0:
        words += f" Other load alone exceeds the limit, by up to {_power(top.load.breach_kw)}."
    if most > frame.high:
        words += f" The price-only load reaches {_power(most)}, beyond this chart."
    figure = chart(picture, frame, 350.0, data, "Load of the area in kW over time")
    return (
        f"<section><h2>Load against the limit</h2><p>{escape(words)}</p>"
        f'<p class="legend">{legend}</p>{figure}</section>'
    )


def _curves(frame: Frame, series: Sequence[tuple[str, Sequence[float | None], str]]) -> str:
    """The load as an area, and over it all lines, that of the load and its limit last."""
    order = ("base", "unmanaged", "price-only", "load", "limit")
    ranked = sorted(series, key=lambda each: order.index(each[2]))
    load = next(values for _, values, look in series if look == "load")
    filled = area_under(frame, [value or 0.0 for value in load])
    paths = [f'<path class="load-fill" d="{filled}"/>']
    paths += [f'<path class="{look}" d="{stairs(frame, values)}"/>' for _, values, look in ranked]
    return "".join(paths)


def _prices(plan: AreaPlan, load: NodeLoad, zone: ZoneInfo) -> str:
    added = load.congestion_price_per_kwh
    most, least = max(added, default=0.0), min([0.0, *added])
    is_short = plan.withheld_kwh > 0
    headline = "Where capacity is short" if is_short else "Price of the limit"
    if most <= 0 and least >= 0:
        words = (
            "Limits leave needs unmet, and no slot has capacity to share: there is no price."
            if is_short
            else "The limit adds no cost: in no slot would one more kWh lower the cost."
        )
        return f"<section><h2>{headline}</h2><p>{words}</p></section>"
    frame = frame_of(plan, (34.0, 156.0), least, most)
    unit = "" if is_short else f"{plan.currency}/kWh"
    picture = (
        axes(frame, plan, zone, unit, has_numbers=not is_short)
        + f'<path class="price-fill" d="{area_under(frame, added)}"/>'
        + f'<path class="price" d="{stairs(frame, added)}"/>'
    )
    values = [round(value, 5) for value in added]
    rows = [] if is_short else [["one more kWh is worth", "price", values, unit]]
    data = {"edges": frame.edges, "times": _times(plan, zone), "series": rows}
    top = max(range(len(added)), key=lambda slot: added[slot])
    words = (
        "Limits leave needs unmet, and meeting needs comes before cost. The curve is high in "
        "slots where one more kWh of capacity would reduce unmet energy, and low where it would "
        "only lower the cost. The height is a ranking, not a price."
        if is_short
        else f"Saving by one more kWh of capacity in each slot. It is highest "
        f"{_times(plan, zone)[top]}: {in_digits(added[top], 3)} {unit}."
    )
    figure = chart(picture, frame, 190.0, data, f"{headline} over time")
    return f"<section><h2>{headline}</h2><p>{escape(words)}</p>{figure}</section>"


# ---------------------------------------------------------------------- tables


def _savings(plan: AreaPlan, top: _Top) -> str:
    limits = per_slot(top.node.limit_kw, len(plan.load_kw))
    withheld = plan.withheld_kwh

    def note(load: Sequence[float]) -> str:
        if not top.is_all:
            return ""
        pairs = zip(top.with_base(load), limits, strict=True)
        slots = sum(limit is not None and at > limit + 1e-6 for at, limit in pairs)
        return f"exceeds the limit in {slots} slots" if slots else "keeps the limit"

    kept = note(plan.load_kw)
    if withheld > 0:
        kept = f"{kept}{', ' if kept else ''}without {_energy(withheld)}"
    rows = [
        ("Unmanaged", "unmanaged", plan.baseline_cost, note(plan.baseline_load_kw)),
        ("Price only", "price-only", plan.price_only_cost, note(plan.price_only_load_kw)),
        ("Coordinated", "load", plan.cost, kept),
    ]
    most = max((abs(cost) for _, _, cost, _ in rows), default=1.0) or 1.0
    bars = "".join(
        f'<tr><th scope="row">{name}</th><td class="bar"><span class="{look}" '
        f'style="width:{max(abs(cost) / most * 100, 0.5):.1f}%"></span></td>'
        f'<td class="number">{in_digits(cost)} {escape(plan.currency)}</td>'
        f"<td>{escape(text)}</td></tr>"
        for name, look, cost, text in rows
    )
    short = ""
    if withheld > 0:
        short = (
            f" The coordinated plan delivers {_energy(withheld)} less. Its cost does not include "
            "this energy, so the difference is not a saving."
        )
    return (
        "<section><h2>Cost</h2><p>The same vehicles charged at full power from arrival, each "
        f"at its own least cost, and coordinated.{short}</p>"
        f"<table>{bars}</table></section>"
    )


def _at_risk(plan: AreaPlan, names: Sequence[object] | None) -> str:
    unmet = sorted(plan.shortfalls, key=lambda need: (-need.energy_kwh, need.row))
    if not unmet:
        words = "All needs are met by their deadlines."
        return f"<section><h2>Vehicles at risk</h2><p>{words}</p></section>"
    rows = "".join(
        f'<tr><th scope="row">{escape(str(names[need.row] if names else need.row))}</th>'
        f'<td class="number">{in_digits(need.energy_kwh, 2)} kWh</td>'
        f"<td>{escape(f'limit of {need.node}' if need.node else 'own limits')}</td></tr>"
        for need in unmet[:AT_RISK_MAX]
    )
    more = len(unmet) - AT_RISK_MAX
    rest = f"<p>and {more:,} more, each with less missing</p>" if more > 0 else ""
    words = f"Vehicles with unmet energy at departure or at a deadline: {plan.short_vehicles:,}."
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
            + (f'<td class="number">{in_digits(dearest, 3)}</td></tr>' if is_money else "</tr>")
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
        "gap": "they converged: the requested gap is proved",
        "rounds": "the allowed number of rounds was reached",
        "stopped": "they were stopped; this is the best plan found",
        "stalled": "nothing improved further: the remaining gap is due to indivisible plans",
        "failed": "the solver failed: limits hold, but a better plan may exist",
    }
    words = (
        f"In each of the last {plan.rounds} rounds the plan of every vehicle was solved for trial "
        "prices of the limits. These prices prove a lower bound: no plan that serves the same "
        f"needs costs less than {in_digits(plan.bound)} {plan.currency}. This plan costs "
        f"{in_digits(plan.cost)} {plan.currency}. The rounds ended because {ends[plan.status]}."
    )
    again = "The same input gives the same plan, to the last bit." if plan.is_reproducible else ""
    return f"<section><h2>Quality of the plan</h2><p>{escape(words)} {again}</p></section>"
