"""The picture of the demo: a fleet unmanaged, at its own cheapest, and coordinated."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from demo_fleet import Coordination, Fleet, Floats, edges, mean_power_kw
from slackwater import _view
from slackwater._palette import BASELINE, COORDINATED, INK, PRICE_ONLY, RED, Look
from slackwater._timeline import Line, Panel, Period, Picture, Steps, coarse, prices_in
from slackwater.plot import draw as draw_picture

STEP_MIN, STEP_MAX = timedelta(minutes=15), timedelta(hours=1)
SIZE_INCHES = (11.0, 6.6)
MEGAWATT_KW = 1000
DAYS_OF_WEEK = 7
DAYS_MAX = 16


def draw(fleet: Fleet, path: Path, *, title: str, start: date | None = None) -> None:
    """Draw what a fleet draws in three ways, and write a PNG.

    Args:
        fleet: The fleet and its plans.
        path: The file.
        title: Headline of the picture.
        start: First day of a week to show; without it, all days of the stays,
            as far as they fit.
    """
    figure = draw_picture(picture(fleet, title=title, start=start), figsize=SIZE_INCHES)
    figure.savefig(path, dpi=160)


def picture(fleet: Fleet, *, title: str, start: date | None = None) -> Picture:
    """What is drawn: prices, and three loads of the stays in view under a limit."""
    zone = ZoneInfo(fleet.time_zone)
    first, last = _days(fleet, zone, start)
    shown = fleet.between(first, last)
    together = shown.coordinate(first, last)
    slots = fleet.prices.between(first, last).provenance
    priced = [(begin, end, price, is_estimate) for begin, end, price, _, is_estimate in slots]
    power = _powers(shown, together, (first, last))
    price = Panel(
        name="price",
        title="Price",
        unit=f"{fleet.prices.currency}/kWh",
        weight=2,
        curves=prices_in("price", priced, INK, tip="price"),
    )
    return coarse(
        Picture(
            title=title,
            facts=[_view.dates(first, last, zone), *_facts(shown, together)],
            zone=zone,
            period=(first, last),
            panels=[price, power],
        )
    )


def _days(fleet: Fleet, zone: ZoneInfo, start: date | None) -> Period:
    """First and last midnight of the days to show."""
    date_of = fleet.first.astimezone(zone).date() if start is None else start
    days = DAYS_MAX if start is None else DAYS_OF_WEEK
    dates = (date_of + timedelta(days=day) for day in range(days + 1))
    midnights = [datetime.combine(date, time(0), zone).astimezone(UTC) for date in dates]
    shown = next((day for day, at in enumerate(midnights) if at >= fleet.last), days)
    return midnights[0], midnights[max(shown, 1)]


def _facts(fleet: Fleet, together: Coordination) -> list[str]:
    """Cost and peak of each way to charge."""
    money = fleet.prices.currency
    ways = (
        ("baseline", fleet.total("baseline_cost"), together.limit_kw),
        ("price only", fleet.total("cost"), together.price_only_peak_kw),
        ("coordinated", together.area.cost, together.peak_kw),
    )
    facts = [f"{name} {cost:,.0f} {money}, peak {_power(peak)}" for name, cost, peak in ways]
    withheld = together.area.withheld_kwh
    # Costs compare only where the same energy is delivered.
    return facts + [f"without {_view.energy(withheld)} that the limit withholds"] * (withheld > 0)


def _power(kw: float) -> str:
    is_large = kw >= MEGAWATT_KW
    return f"{_view.amount(kw / MEGAWATT_KW if is_large else kw)} {'MW' if is_large else 'kW'}"


def _powers(fleet: Fleet, together: Coordination, period: Period) -> Panel:
    first, last = period
    lengths = (end - start for start, end, _ in fleet.prices.between(first, last).slots)
    step = max(STEP_MIN, min(*lengths, STEP_MAX, STEP_MAX))
    boundaries = edges(first, last, step)
    times = [datetime.fromtimestamp(at / 1e6, UTC) for at in boundaries]
    steps = list(pairwise(times))
    baseline = mean_power_kw(fleet.unmanaged(), boundaries)
    alone = mean_power_kw(fleet.plans, boundaries)
    unit, scale = ("MW", MEGAWATT_KW) if alone.max(initial=0) >= MEGAWATT_KW else ("kW", 1)

    def curve(look: Look, values: Floats, periods: Sequence[Period]) -> Steps:
        scaled = [float(value) for value in values / scale]
        return Steps(
            name=look.label.partition(":")[0].partition(" ")[0],
            ink=look.ink,
            periods=periods,
            values=scaled,
            label=look.label,
        )

    def filled(line: Steps) -> Steps:
        silent = [None] * len(line.periods)
        return Steps(
            name=f"{line.name}-fill",
            ink=line.ink,
            periods=line.periods,
            values=line.values,
            is_filled=True,
            opacity=0.25,
            told=silent,
        )

    own = curve(COORDINATED, np.array(together.area.load_kw), together.area.periods)
    limit = Steps(
        name="limit",
        ink=RED,
        periods=[period],
        values=[together.limit_kw / scale],
        dash="dashed",
        label="limit: the baseline's peak",
    )
    unmanaged = curve(BASELINE, baseline, steps)
    curves: list[Steps | Line] = [
        filled(own),
        unmanaged,
        curve(PRICE_ONLY, alone, steps),
        own,
        limit,
    ]
    return Panel(name="load", title="Charging", unit=unit, weight=4, curves=curves)
