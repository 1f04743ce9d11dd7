"""A page about an area for people who plan grids: one HTML file, nothing to load.

The page brings its styles, its pictures and a few lines of script along, follows
the light or dark theme of its reader, prints well, and needs no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from slackwater._area_picture import area_under, axes, chart, frame_of, in_digits, stairs
from slackwater._engine import InputError, __version__

if TYPE_CHECKING:
    from slackwater.area_types import NodeLoad
    from slackwater.coordinate import AreaPlan, Node, Profile

AT_RISK_MAX = 50
NODES_MAX = 40


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
        nodes: Its nodes, the first of which is drawn large.
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
    first, loads = nodes[0], plan.nodes
    parts = [_summary(plan, first, loads[0])]
    if plan.periods:
        parts += [_loads(plan, first, loads[0], zone), _prices(plan, loads[0], zone)]
    parts += [_savings(plan, first), _at_risk(plan, names)]
    if len(nodes) > 1:
        parts.append(_nodes(plan, nodes, loads))
    parts.append(_proof(plan))
    page = files("slackwater").joinpath("area_report.html").read_text(encoding="utf-8")
    span = _span(plan, zone, time_zone)
    count = f"{plan.vehicles:,} vehicles"
    fills = {
        "title": escape(title),
        "subtitle": escape(" · ".join(text for text in (first.name, count, span) if text)),
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


def _limits(profile: Profile | None, count: int) -> list[float | None]:
    if profile is None:
        return [None] * count
    return [float(profile)] * count if isinstance(profile, int | float) else list(profile)


def _binding(node: Node, load: Sequence[float]) -> int:
    limits = _limits(node.limit_kw, len(load))
    pairs = zip(load, limits, strict=True)
    return sum(limit is not None and at >= limit * (1 - 1e-3) - 1e-9 for at, limit in pairs)


def _base(node: Node, count: int) -> list[float]:
    return [value or 0.0 for value in _limits(node.base_kw, count)]


# --------------------------------------------------------------------- summary


def _tile(label: str, value: str, note: str, look: str = "") -> str:
    return (
        f'<div class="tile {look}"><dt>{escape(label)}</dt>'
        f'<dd class="value">{escape(value)}</dd><dd class="note">{escape(note)}</dd></div>'
    )


def _summary(plan: AreaPlan, node: Node, load: NodeLoad) -> str:
    saved = plan.unmanaged_cost - plan.cost
    share = saved / abs(plan.unmanaged_cost) if plan.unmanaged_cost else 0.0
    base = _base(node, len(plan.load_kw))
    own = load.load_kw or plan.load_kw
    before = [at + more for at, more in zip(plan.unmanaged_load_kw, base, strict=True)]
    limits = [limit for limit in _limits(node.limit_kw, len(own)) if limit is not None]
    limit = f"limit {_power(min(limits))}" if limits else "no limit on import"
    peak = f"{limit} · unmanaged {_power(max(before, default=0.0))}"
    tiles = [
        _tile(
            "Cost",
            f"{in_digits(plan.cost)} {plan.currency}",
            f"{in_digits(saved)} {plan.currency} ({_percent(share)}) below unmanaged charging",
        ),
        _tile("Highest load", _power(max(own, default=0.0)), peak, "bad" if load.breach_kw else ""),
        _tile(
            "Energy delivered",
            _energy(plan.energy_kwh),
            "all needs are met"
            if plan.unmet_kwh == 0
            else f"{_energy(plan.unmet_kwh)} of {len(plan.unmet):,} vehicles unmet",
            "bad" if plan.unmet_kwh else "",
        ),
        _tile(
            "Proof",
            _percent(plan.gap),
            "from the least cost at most: "
            f"no plan is below {in_digits(plan.bound)} {plan.currency}",
        ),
    ]
    return f'<dl class="tiles">{"".join(tiles)}</dl>'


# -------------------------------------------------------------------- pictures


def _times(plan: AreaPlan, zone: ZoneInfo) -> list[str]:
    local = [(start.astimezone(zone), end.astimezone(zone)) for start, end in plan.periods]
    return [f"{start:%a %H:%M} to {end:%H:%M}" for start, end in local]


def _loads(plan: AreaPlan, node: Node, load: NodeLoad, zone: ZoneInfo) -> str:
    count = len(plan.periods)
    base, limits = _base(node, count), _limits(node.limit_kw, count)
    own = load.load_kw or plan.load_kw
    unmanaged = [at + more for at, more in zip(plan.unmanaged_load_kw, base, strict=True)]
    price_only = [at + more for at, more in zip(plan.price_only_load_kw, base, strict=True)]
    known = [limit for limit in limits if limit is not None]
    low, high = min([0.0, *own, *base]), max([*own, *unmanaged, *known, 1e-3])
    frame = frame_of(plan, (34.0, 316.0), low, max(high, min(max(price_only), 1.5 * high)))
    edges = frame.edges
    picture = (
        axes(frame, plan, zone, "kW")
        + f'<path class="load-fill" d="{area_under(frame, own)}"/>'
        + (f'<path class="base" d="{stairs(frame, base)}"/>' if any(base) else "")
        + f'<path class="unmanaged" d="{stairs(frame, unmanaged)}"/>'
        + f'<path class="price-only" d="{stairs(frame, price_only)}"/>'
        + f'<path class="load" d="{stairs(frame, own)}"/>'
        + (f'<path class="limit" d="{stairs(frame, limits)}"/>' if known else "")
    )
    series: list[tuple[str, Sequence[float | None], str]] = [
        ("coordinated", own, "load"),
        ("price only", price_only, "price-only"),
        ("unmanaged", unmanaged, "unmanaged"),
    ]
    if known:
        series.append(("limit", limits, "limit"))
    if any(base):
        series.append(("other load", base, "base"))
    legend = "".join(f'<span class="key {look}">{name}</span>' for name, _, look in series)
    rows = [
        [name, look, [None if v is None else round(v, 2) for v in values], "kW"]
        for name, values, look in series
    ]
    data = {"edges": edges, "times": _times(plan, zone), "series": rows}
    full = _binding(node, own)
    words = (
        f"The load is at its limit in {full} of {count} slots."
        if known
        else "There is no limit on import here; prices and other terms shape the load."
    )
    if load.breach_kw > 0:
        words += f" Other load alone exceeds the limit, by up to {_power(load.breach_kw)}."
    if max(price_only) > frame.high:
        words += f" Each vehicle at its own cheapest would go up to {_power(max(price_only))}."
    figure = chart(picture, frame, 350.0, data, "Load of the area in kW over time")
    return (
        f"<section><h2>Load against the limit</h2><p>{escape(words)}</p>"
        f'<p class="legend">{legend}</p>{figure}</section>'
    )


def _prices(plan: AreaPlan, load: NodeLoad, zone: ZoneInfo) -> str:
    added = load.added_per_kwh
    most, least = max(added, default=0.0), min([0.0, *added])
    if most <= 0 and least >= 0:
        words = "The limit costs nothing: nowhere is a kWh worth more than its price."
        return f"<section><h2>Price of the limit</h2><p>{words}</p></section>"
    frame = frame_of(plan, (34.0, 156.0), least, most)
    unit = f"{plan.currency}/kWh"
    picture = (
        axes(frame, plan, zone, unit)
        + f'<path class="price-fill" d="{area_under(frame, added)}"/>'
        + f'<path class="price" d="{stairs(frame, added)}"/>'
    )
    rows = [["one more kWh is worth", "price", [round(value, 5) for value in added], unit]]
    data = {"edges": frame.edges, "times": _times(plan, zone), "series": rows}
    top = max(range(len(added)), key=lambda slot: added[slot])
    words = (
        f"What one more kWh of room would save, slot by slot. It is worth most "
        f"{_times(plan, zone)[top]}: {in_digits(added[top], 3)} {unit}."
    )
    figure = chart(picture, frame, 190.0, data, "Price of the limit over time")
    return f"<section><h2>Price of the limit</h2><p>{escape(words)}</p>{figure}</section>"


# ---------------------------------------------------------------------- tables


def _savings(plan: AreaPlan, node: Node) -> str:
    count = len(plan.load_kw)
    base, limits = _base(node, count), _limits(node.limit_kw, count)

    def beyond(load: Sequence[float]) -> int:
        rows = zip(load, base, limits, strict=True)
        return sum(limit is not None and at + more > limit + 1e-6 for at, more, limit in rows)

    def note(load: Sequence[float]) -> str:
        slots = beyond(load)
        return f"exceeds the limit in {slots} slots" if slots else "keeps the limit"

    rows = [
        ("Unmanaged", "unmanaged", plan.unmanaged_cost, note(plan.unmanaged_load_kw)),
        ("Price only", "price-only", plan.price_only_cost, note(plan.price_only_load_kw)),
        ("Coordinated", "load", plan.cost, note(plan.load_kw)),
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
    if plan.unmet_kwh > 0:
        short = f" Coordinated vehicles get {_energy(plan.unmet_kwh)} less than they need."
    return (
        "<section><h2>What it costs</h2><p>The same vehicles, charged at full power from "
        f"arrival, each at its own cheapest, and together.{short}</p>"
        f"<table>{bars}</table></section>"
    )


def _at_risk(plan: AreaPlan, names: Sequence[object] | None) -> str:
    unmet = sorted(plan.unmet, key=lambda need: (-need.energy_kwh, need.row))
    if not unmet:
        words = "No vehicle leaves with less than it needs."
        return f"<section><h2>Vehicles at risk</h2><p>{words}</p></section>"
    rows = "".join(
        f'<tr><th scope="row">{escape(str(names[need.row] if names else need.row))}</th>'
        f'<td class="number">{in_digits(need.energy_kwh, 2)} kWh</td>'
        f"<td>{escape(f'limit of {need.node}' if need.node else 'stay too short')}</td></tr>"
        for need in unmet[:AT_RISK_MAX]
    )
    more = len(unmet) - AT_RISK_MAX
    rest = f"<p>and {more:,} more with less missing</p>" if more > 0 else ""
    words = f"{len(unmet):,} vehicles leave with less than they need."
    return (
        f"<section><h2>Vehicles at risk</h2><p>{words}</p>"
        '<table><thead><tr><th scope="col">Vehicle</th>'
        '<th scope="col" class="number">Missing</th><th scope="col">In the way</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{rest}</section>"
    )


def _nodes(plan: AreaPlan, nodes: Sequence[Node], loads: Sequence[NodeLoad]) -> str:
    rows = []
    pairs = list(zip(nodes, loads, strict=True))
    pairs.sort(key=lambda pair: (-_binding(pair[0], pair[1].load_kw), pair[0].name))
    for node, load in pairs[:NODES_MAX]:
        limits = [limit for limit in _limits(node.limit_kw, len(load.load_kw)) if limit is not None]
        peak = max(load.load_kw, default=0.0)
        rows.append(
            f'<tr><th scope="row">{escape(node.name)}</th><td>{escape(node.parent or "")}</td>'
            f'<td class="number">{_power(min(limits)) if limits else "none"}</td>'
            f'<td class="number">{_power(peak) if load.load_kw else ""}</td>'
            f'<td class="number">{_binding(node, load.load_kw)}</td>'
            f'<td class="number">{in_digits(max(load.added_per_kwh, default=0.0), 3)}</td></tr>'
        )
    more = len(pairs) - NODES_MAX
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    return (
        "<section><h2>Nodes</h2><table><thead><tr>"
        '<th scope="col">Node</th><th scope="col">Below</th>'
        '<th scope="col" class="number">Limit</th><th scope="col" class="number">Highest load</th>'
        '<th scope="col" class="number">Slots at limit</th>'
        f'<th scope="col" class="number">Dearest room ({escape(plan.currency)}/kWh)</th>'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table>{rest}</section>"
    )


def _proof(plan: AreaPlan) -> str:
    ends = {
        "gap": "the gap asked for was proved",
        "rounds": "as many rounds were done as allowed",
        "stopped": "it was stopped, and this is the best plan until then",
        "stalled": "what is left of the gap comes from vehicles that cannot share an answer",
    }
    words = (
        f"In {plan.rounds} rounds all vehicles were asked what they would buy if the limits had a "
        f"price. Those prices prove that no plan which serves the same needs costs less than "
        f"{in_digits(plan.bound)} {plan.currency}; this one costs {in_digits(plan.cost)} "
        f"{plan.currency}. The rounds ended because {ends[plan.status]}."
    )
    again = "The same input gives the same plan, to the last bit." if plan.reproducible else ""
    return f"<section><h2>How good is this?</h2><p>{escape(words)} {again}</p></section>"
