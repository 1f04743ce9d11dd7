"""The picture of the night: prices, and the load of the area under its limit."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from matplotlib import dates as mdates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from night_drive import Record
from night_regret import load_kw, unmanaged_kw
from night_town import (
    AREA,
    ENDS,
    OUTAGE,
    OUTAGE_OF,
    QUARTER,
    REVISED_AT,
    SIGNAL_AT,
    STARTS,
    Home,
    Prices,
    Town,
    nights_quarters,
    quarter_at,
)

INK = "#1f2933"
FAINT_INK = "#5d6b79"
GRID = "#e3e8ec"
PLANNED = "#1a6fdb"
OTHERS = "#8fb8ec"
IMPATIENT = "#e07b39"
LIMIT = "#b3261e"
SHADE = "#efe6d5"
UNMANAGED = "#9aa5b1"
MARKET = "#7a8793"
SIGNAL = "#6b4fbb"


def draw(
    town: Town, prices: Prices, record: Record, limit_kw: float | None, path: Path, title: str
) -> None:
    """Draw the night, and write a PNG or SVG."""
    zone = ZoneInfo("Europe/Oslo")
    figure = Figure(figsize=(12, 7.4), facecolor="white")
    above, below = figure.subplots(
        2, 1, sharex=True, height_ratios=[1, 2.2], gridspec_kw={"hspace": 0.09}
    )
    figure.subplots_adjust(left=0.07, right=0.975, top=0.86, bottom=0.09)
    figure.text(0.07, 0.945, title, fontsize=17, weight="bold", color=INK)
    figure.text(0.07, 0.905, subtitle(town, record), fontsize=10.5, color=FAINT_INK)
    for axes in (above, below):
        dress(axes, zone)
    draw_prices(above, town, prices)
    draw_load(below, town, record, limit_kw)
    below.xaxis.set_major_locator(mdates.HourLocator(byhour=range(0, 24, 3), tz=zone))  # type: ignore[no-untyped-call]
    below.xaxis.set_major_formatter(mdates.DateFormatter("%H:%M", tz=zone))  # type: ignore[no-untyped-call]
    below.set_xlabel("Oslo, 13 and 14 January 2026", color=FAINT_INK, fontsize=9.5)
    below.set_xlim(at(STARTS), at(ENDS))
    figure.savefig(path, dpi=160)


def at(instant: datetime) -> float:
    """A time as the axes count it."""
    return float(mdates.date2num(instant))  # type: ignore[no-untyped-call]


def subtitle(town: Town, record: Record) -> str:
    """What can be seen, in one line."""
    count = len(record.overrides)
    owners = "one owner" if count == 1 else f"{count} owners"
    return (
        f"{len(town.homes):,} homes, {town.limited:,} of them in the area of this picture; "
        f"{owners} could not wait, and one manufacturer was down for "
        f"{(OUTAGE[1] - OUTAGE[0]) // timedelta(minutes=1)} minutes"
    )


def dress(axes: Axes, zone: ZoneInfo) -> None:
    """Plain axes, with the outage shaded."""
    axes.set_facecolor("white")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(GRID)
    axes.tick_params(colors=FAINT_INK, length=0, labelsize=9.5)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.axvspan(at(OUTAGE[0]), at(OUTAGE[1]), color=SHADE, linewidth=0, zorder=0)
    midnight = STARTS.astimezone(zone).replace(hour=0) + timedelta(days=1)
    axes.axvline(at(midnight), color=GRID, linewidth=1.2, zorder=0)


def draw_prices(axes: Axes, town: Town, prices: Prices) -> None:
    """The market, and what the area's price signals said."""
    home = next((h for h in town.homes.values() if h.is_limited and h.tariff is None), None)
    home = home or next(iter(town.homes.values()))
    times = [quarter_at(number) for number in nights_quarters()]
    market = [prices.layered(home.market, n, ENDS) or np.nan for n in nights_quarters()]
    edges = [at(t) for t in (*times, ENDS)]
    axes.step(edges, [*market, market[-1]], where="post", color=MARKET, linewidth=1.4)
    axes.annotate(
        "market", (at(times[2]), market[2]), (0, 6), textcoords="offset points",
        color=MARKET, fontsize=9.5,
    )  # fmt: skip
    for known_at, until, style in (
        (REVISED_AT - QUARTER, ENDS, (0, (4, 2))),
        (ENDS, ENDS, "solid"),
    ):
        found = signal(home, prices, known_at, until)
        axes.step(
            [at(t) for t, _ in found], [price for _, price in found], where="post",
            color=SIGNAL, linewidth=1.9 if style == "solid" else 1.2, linestyle=style,
            alpha=1.0 if style == "solid" else 0.65,
        )  # fmt: skip
        # Where the two are far apart.
        apart = dict(found).get(REVISED_AT + timedelta(hours=5, minutes=30))
        if style != "solid" and apart is not None:
            axes.annotate(
                "as first sent", (at(REVISED_AT + timedelta(hours=5, minutes=30)), apart), (0, -6),
                textcoords="offset points", color=SIGNAL, fontsize=9.5, ha="left", va="top",
                alpha=0.75,
            )  # fmt: skip
    for time, words in ((SIGNAL_AT, "price signal"), (REVISED_AT, "revised")):
        axes.axvline(at(time), color=SIGNAL, linewidth=1, linestyle=(0, (1, 2)))
        axes.annotate(
            words, (at(time), 0.0), (4, 4), xycoords=("data", "axes fraction"),
            textcoords="offset points", color=SIGNAL, fontsize=9.5, va="bottom",
        )  # fmt: skip
    axes.set_ylabel("NOK/kWh", color=FAINT_INK, fontsize=9.5)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(4))


def signal(
    home: Home, prices: Prices, known_at: datetime, until: datetime
) -> list[tuple[datetime, float]]:
    """The price signal of an area as it was known at a time."""
    found = []
    for number in nights_quarters():
        price = prices.layered(f"{home.market}/{home.area}", number, known_at)
        if price is not None and quarter_at(number) < until:
            found.append((quarter_at(number), price))
    if found:
        found.append((found[-1][0] + QUARTER, found[-1][1]))
    return found


def draw_load(axes: Axes, town: Town, record: Record, limit_kw: float | None) -> None:
    """What the cars of the area took, by what ruled them."""
    scale = 1000 if town.limited > 200 else 1
    edges = [at(quarter_at(n)) for n in nights_quarters()] + [at(ENDS)]
    loads = load_kw(town, record, is_limited=True)
    unmanaged = np.array(unmanaged_kw(town, record, is_limited=True)) / scale
    base = np.zeros(len(edges) - 1)
    for name, colour, words in (
        ("planned", PLANNED, "planned"),
        ("others", OTHERS, "schedules, and nobody's"),
        ("impatient", IMPATIENT, "after an override"),
    ):
        own = np.array(loads.get(name, np.zeros(len(base)))) / scale
        if not own.any():
            continue
        axes.stairs(base + own, edges, baseline=base, fill=True, color=colour, label=words)
        base += own
    axes.stairs(
        unmanaged,
        edges,
        color=UNMANAGED,
        linewidth=1.3,
        label="the same at full power from the plug",
    )
    if limit_kw is not None:
        axes.axhline(limit_kw / scale, color=LIMIT, linewidth=1.6)
        axes.annotate(
            "limit of the plans", (at(ENDS), limit_kw / scale), (-2, 4),
            textcoords="offset points", color=LIMIT, fontsize=9.5, ha="right",
        )  # fmt: skip
    top = max(float(base.max()), float(unmanaged.max()), (limit_kw or 0) / scale) * 1.13
    pressed = [at(time) for time, _ in record.overrides]
    axes.plot(
        pressed, [top * 0.985] * len(pressed), marker="v", color=IMPATIENT, markersize=5,
        linestyle="none", label="an owner presses override",
    )  # fmt: skip
    middle = OUTAGE[0] + (OUTAGE[1] - OUTAGE[0]) / 2
    axes.annotate(
        f"{OUTAGE_OF.replace('_', ' ').title()} down", (at(middle), top),
        (0, -4), textcoords="offset points", color="#8a6d3b", fontsize=9.5, ha="center", va="top",
    )  # fmt: skip
    axes.set_ylim(0, top)
    unit = "MW" if scale == 1000 else "kW"
    axes.set_ylabel(f"cars of {'/'.join(AREA)}, {unit}", color=FAINT_INK, fontsize=9.5)
    axes.legend(
        loc="upper right", bbox_to_anchor=(1.0, 0.9), frameon=False, fontsize=9.5, labelcolor=INK
    )
