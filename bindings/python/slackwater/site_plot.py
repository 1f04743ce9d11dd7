"""Pictures of sites, with matplotlib (``slackwater[plot]``).

Above, what the devices draw is stacked upwards and what they feed downwards,
with the power at the meter and its limit as lines. Below are the prices, and
under them the states of charge, if there are batteries.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from matplotlib.axes import Axes

from slackwater import site_html
from slackwater._clock import LocalClock, LocalClockFormatter, number_of
from slackwater._view import MISSED_COLOUR
from slackwater.plot import FAINT_INK, GRID, INK, PlanFigure, _dress, _plain, mark_estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slackwater._engine import DevicePlan
    from slackwater.site import SitePlan

SIZE_INCHES = (9.0, 6.6)
DPI = 100
NAMED_MAX = 8
"""More devices of one kind than this are one colour with one entry in the legend."""

COLOURS = {
    "load": ("#8a97a3",),
    "vehicle": (
        "#1f63dd", "#6f9bf0", "#123f91", "#4fb3d9", "#2a7fa8", "#9d3ca8", "#c886cf", "#5b2a66",
    ),
    "battery": ("#1fa673", "#7fd0b0"),
    "shiftable_load": ("#cf8202", "#e8b45c"),
    "solar": ("#e3b505", "#f2d765"),
}  # fmt: skip
KINDS = {
    "load": "loads",
    "vehicle": "vehicles",
    "battery": "batteries",
    "shiftable_load": "shiftable loads",
    "solar": "solar",
}


def plot_site(plan: SitePlan, *, time_zone: str = "UTC") -> Figure:
    """Draw a plan of a site."""
    plan.explain(time_zone=time_zone)  # Refuses a zone that does not exist.
    zone = ZoneInfo(time_zone)
    levels = [device for device in plan.devices if device.soc_percent]
    figure = PlanFigure(figsize=SIZE_INCHES, dpi=DPI, layout="constrained", facecolor="white")
    heights = [3.4, 1.2, 1.2] if levels else [3.4, 1.2]
    axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    power, price = axes[0], axes[1]
    for each in axes:
        _dress(each)
    if plan.slots:
        _draw_stack(power, plan)
        _draw_meter(power, plan)
        _draw_prices(price, plan)
        if levels:
            _draw_levels(axes[2], plan, levels)
        edges = _edges(plan)
        power.set_xlim(edges[0], edges[-1])
    else:
        power.text(0.5, 0.5, "no prices", transform=power.transAxes, ha="center", color=FAINT_INK)
    for each in axes:
        each.xaxis_date(tz=zone)
        each.xaxis.set_major_locator(LocalClock(zone))
        each.xaxis.set_major_formatter(LocalClockFormatter(zone))
    _head(power, plan)
    return figure


def _edges(plan: SitePlan) -> list[float]:
    return [number_of(slot.start) for slot in plan.slots] + [number_of(plan.slots[-1].end)]


def _stairs_with_gaps(
    plan: SitePlan, values: Sequence[float | None]
) -> tuple[list[float], list[float]]:
    """Values and edges of steps; time without a price is a step of NaN."""
    steps: list[float] = []
    edges = [number_of(plan.slots[0].start)]
    for slot, value in zip(plan.slots, values, strict=True):
        if number_of(slot.start) > edges[-1]:
            steps.append(float("nan"))
            edges.append(number_of(slot.start))
        steps.append(float("nan") if value is None else value)
        edges.append(number_of(slot.end))
    return steps, edges


def _draw_stack(axes: Axes, plan: SitePlan) -> None:
    up = [0.0] * len(plan.slots)
    down = [0.0] * len(plan.slots)
    for kind, colours in COLOURS.items():
        devices = [device for device in plan.devices if device.kind == kind]
        are_few = len(devices) <= NAMED_MAX
        palette = itertools.cycle(colours if are_few else colours[:2])
        for index, device in enumerate(devices):
            label = device.name if are_few else f"{len(devices)} {KINDS[kind]}"
            style: dict[str, Any] = {
                "color": next(palette),
                "label": _plain(label) if are_few or index == 0 else None,
                "gid": f"device-{device.name}",
            }
            _draw_device(axes, plan, device, (up, down), style)
    axes.axhline(0, color=FAINT_INK, linewidth=0.8, zorder=3)
    axes.set_ylabel("Power (kW)")


def _draw_device(
    axes: Axes,
    plan: SitePlan,
    device: DevicePlan,
    piles: tuple[list[float], list[float]],
    style: dict[str, Any],
) -> None:
    """Stack one device on those before it, and remember the new height."""
    for pile, sign in zip(piles, (1.0, -1.0), strict=True):
        tops = [
            base + (power if power * sign > 0 else 0.0)
            for base, power in zip(pile, device.power_kw, strict=True)
        ]
        if tops == pile and not (sign > 0 and style["label"]):
            continue
        values, edges = _stairs_with_gaps(plan, tops)
        bases, _ = _stairs_with_gaps(plan, pile)
        axes.stairs(values, edges, baseline=bases, fill=True, linewidth=0, zorder=2, **style)
        pile[:] = tops
        style["label"] = None


def _draw_meter(axes: Axes, plan: SitePlan) -> None:
    hours = [(slot.end - slot.start).total_seconds() / 3600 for slot in plan.slots]
    net = [
        (slot.import_kwh - slot.export_kwh) / length
        for slot, length in zip(plan.slots, hours, strict=True)
    ]
    values, edges = _stairs_with_gaps(plan, net)
    axes.stairs(
        values, edges, baseline=None, color=INK, linewidth=1.6, zorder=4, label="meter", gid="meter"
    )
    for limit in plan.limits:
        if limit.name not in {"import", "export"}:
            continue
        sign = 1 if limit.name == "import" else -1
        known = [None if most is None else sign * most for most in limit.limit_kw]
        values, edges = _stairs_with_gaps(plan, known)
        style: dict[str, Any] = {"color": MISSED_COLOUR, "linestyle": (0, (4, 2)), "linewidth": 1.4}
        label = f"{limit.name} limit"
        gid = f"limit-{limit.name}"
        axes.stairs(values, edges, baseline=None, zorder=5, label=label, gid=gid, **style)


def _draw_prices(axes: Axes, plan: SitePlan) -> None:
    values, edges = _stairs_with_gaps(plan, [slot.import_price_per_kwh for slot in plan.slots])
    axes.stairs(values, edges, baseline=None, color=INK, linewidth=1.4, label="import", gid="price")
    if any(slot.export_price_per_kwh for slot in plan.slots):
        values, edges = _stairs_with_gaps(plan, [slot.export_price_per_kwh for slot in plan.slots])
        style: dict[str, Any] = {"color": "#9a7b00", "linewidth": 1.2, "gid": "export-price"}
        axes.stairs(values, edges, baseline=None, label="export", **style)
    for limit in plan.limits:
        if any(limit.shadow_price_per_kwh):
            values, edges = _stairs_with_gaps(plan, limit.shadow_price_per_kwh)
            name = f"{limit.name} {limit.phase or ''}".strip()
            style = {"color": MISSED_COLOUR, "alpha": 0.25, "gid": f"shadow-{name}"}
            axes.stairs(values, edges, fill=True, label=_plain(f"shadow price, {name}"), **style)
    axes.set_ylabel(_plain(f"{plan.currency}/kWh"))
    handles, _ = axes.get_legend_handles_labels()
    axes.set_xlim(edges[0], edges[-1])
    for prices in (plan.prices, plan.export_prices):
        mark_estimates(axes, prices, handles)
    axes.legend(
        handles=handles, loc="upper right", ncols=4, frameon=False, fontsize=8, labelcolor=INK
    )
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.0), high + (high - low) * 0.35)


def _draw_levels(axes: Axes, plan: SitePlan, devices: Sequence[DevicePlan]) -> None:
    edges = _edges(plan)
    if len(devices) > NAMED_MAX:
        columns = list(zip(*(device.soc_percent for device in devices), strict=True))
        lows, highs = [min(column) for column in columns], [max(column) for column in columns]
        axes.fill_between(edges, lows, highs, color=INK, alpha=0.15, linewidth=0, gid="soc-band")
    palettes = {kind: itertools.cycle(colours) for kind, colours in COLOURS.items()}
    for device in devices:
        colour = next(palettes[device.kind])
        style: dict[str, Any] = {"color": colour, "linewidth": 1.4 if len(devices) < 9 else 0.6}
        axes.plot(edges, device.soc_percent, gid=f"soc-{device.name}", **style)
    axes.set_ylim(0, 105)
    axes.set_ylabel("Charge (%)")


def _head(axes: Axes, plan: SitePlan) -> None:
    handles, labels = axes.get_legend_handles_labels()
    rows = -(-len(handles) // 5)
    if handles:
        axes.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=5,
            frameon=False,
            fontsize=8.5,
            labelcolor=INK,
            borderaxespad=0.2,
            handlelength=1.4,
            columnspacing=1.4,
        )
    pad = 6 + rows * 15
    axes.annotate(
        " · ".join(site_html.facts(plan)),
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, pad),
        textcoords="offset points",
        fontsize=9,
        color=FAINT_INK,
        gid="subtitle",
    )
    title: dict[str, Any] = {"pad": pad + 16, "fontweight": "bold", "fontsize": 13, "color": INK}
    axes.set_title(_plain(site_html.headline(plan)), loc="left", **title)
    axes.grid(visible=True, axis="y", color=GRID, linewidth=0.6)
