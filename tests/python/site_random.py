"""Random sites with each feature on or off, and depots; many cannot meet their wishes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from site_model import CLOCK_CHANGES, START, Case, Room, Run, Store, StoreLimit


class Draw:
    """Seeded choices."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([20260105, seed])

    def flip(self, chance: float) -> bool:
        return bool(self.rng.random() < chance)

    def whole(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))

    def pick(self, *values: float) -> float:
        return float(self.rng.choice(values))

    def number(self, low: float, high: float, digits: int = 2) -> float:
        return round(float(self.rng.uniform(low, high)), digits)

    def numbers(self, count: int, low: float, high: float) -> list[float]:
        return [self.number(low, high) for _ in range(count)]


def random_case(seed: int) -> Case:
    """A site."""
    draw = Draw(seed)
    slots = draw.whole(4, 10)
    # Rounded to tenths, many prices tie.
    digits = 1 if draw.flip(0.3) else 3
    case = Case([round(float(p), digits) for p in draw.rng.normal(0.2, 0.12, slots)])
    if draw.flip(0.5):
        case.groups["fuse"] = (float(draw.whole(6, 20)), None, None)
        if draw.flip(0.5):
            case.groups["row"] = (None, float(draw.whole(10, 30)), "fuse")
    case.stores = [_vehicle(draw, case, index) for index in range(draw.whole(1, 5))]
    _add_forecasts(draw, case)
    _add_charges(draw, case)
    if draw.flip(0.3):
        case.runs.append(Run("washer", 0, slots, power=2.0, hours=draw.whole(1, 3)))
    if draw.flip(0.3):
        # On both sides of what is there.
        case.stores = [
            store if store.is_battery else replace(store, reserve=round(store.capacity * share, 2))
            for store in case.stores
            for share in [draw.pick(0.0, 0.15, 0.3, 0.5)]
        ]
    return case


def random_depot(seed: int) -> Case:
    """Alike vehicles with a least power and several targets behind a tight connection."""
    draw = Draw(seed)
    slots = draw.whole(2, 5)
    case = Case([round(float(p), 2) for p in draw.rng.normal(0.15, 0.15, slots)])
    power = draw.pick(7.4, 11.0)
    wishes = {draw.whole(1, slots): draw.number(2, 9) for _ in range(draw.whole(1, 3))}
    vehicle = Store(
        name="",
        first=0,
        last=slots,
        power=power,
        level=0.0,
        capacity=40.0,
        wanted=draw.number(4, 20) if draw.flip(0.7) else None,
        earlier=tuple(sorted(wishes.items())),
        power_min=draw.pick(4.14, 4.14, power),
    )
    count = draw.whole(2, 5)
    case.stores = [
        replace(vehicle, name=f"van {index}", priority=draw.pick(1.0, 1.0, 2.0))
        for index in range(count)
    ]
    case.import_limit = draw.number(power, 2.5 * power, 1)
    return case


def random_bounds(seed: int) -> Case:
    """A site whose batteries begin within their bounds or outside of them."""
    draw, case = Draw(1000 + seed), random_case(seed)
    _add_battery(draw, case)
    case.start = [START, *CLOCK_CHANGES][seed % 3]
    case.stores = [_bounded(draw, store) for store in case.stores]
    return case


def random_soft_bounds(seed: int) -> Case:
    """A site whose stores have bounds with a price, and may begin outside of them."""
    draw, case = Draw(2000 + seed), random_bounds(seed)
    case.stores = [_softly_bounded(draw, store) for store in case.stores]
    return case


def _softly_bounded(draw: Draw, store: Store) -> Store:
    bounds = []
    for _ in range(draw.whole(0, 3)):
        first = draw.whole(store.first, store.last)
        least = draw.number(0, store.until * 0.7)
        bounds.append(
            (
                first,
                draw.whole(first + 1, store.last + 1),
                least,
                draw.number(least, store.capacity),
                draw.pick(0.01, 0.05, 0.2, 1.0),
            )
        )
    return replace(store, soft=tuple(bounds))


def random_stops(seed: int) -> Case:
    """Vehicles with several targets behind a tight connection, some of which stop at deadlines."""
    draw, case = Draw(4000 + seed), random_depot(seed)
    case.start = [START, *CLOCK_CHANGES][seed % 3]
    for index, store in enumerate(case.stores):
        stops = draw.flip(0.6)
        # What feeds wants a missed level on departure only, which this model does not know.
        feeds = stops and draw.flip(0.3)
        case.stores[index] = replace(
            store,
            stops=stops,
            power_min=store.power_min if not feeds and draw.flip(0.3) else 0.0,
            feed=5.0 if feeds else 0.0,
            level=draw.number(0, 10),
        )
    return case


def random_wanted_power(seed: int) -> Case:
    """A site whose stores are to take power in some hours, until they are full."""
    draw, case = Draw(5000 + seed), random_bounds(seed)
    for index, store in enumerate(case.stores):
        if draw.flip(0.3):
            continue
        powers = [
            draw.pick(store.power, draw.number(0, store.power)) if draw.flip(0.5) else 0.0
            for _ in case.prices
        ]
        case.stores[index] = replace(store, wanted_power=tuple(powers))
    return case


def random_feed_peaks(seed: int) -> Case:
    """A site that sells at a price on the peak of its export, beside others."""
    draw, case = Draw(6000 + seed), random_bounds(seed)
    if case.export is None:
        case.export = [round(price - 0.03, 3) for price in case.prices]
    if case.solar is None:
        case.solar = draw.numbers(len(case.prices), 0, 14)
        case.is_curtailable = draw.flip(0.5)
    case.feed_peak_price, case.feed_peak_paid = draw.pick(0.05, 0.3, 2.0), draw.pick(0.0, 2.5)
    case.feed_peak_hours = draw.whole(1, 4)
    return case


def random_limits(seed: int) -> Case:
    """A site whose stores have limits in some of their hours."""
    draw, case = Draw(3000 + seed), random_bounds(seed)
    case.stores = [_limited(draw, store) for store in case.stores]
    return case


def random_rooms(seed: int) -> Case:
    """A site of vehicles, batteries, sunshine and one or two rooms behind one limit.

    Two of three begin hours before a change of the clocks.
    """
    case = random_case(seed)
    draw = Draw(seed + 40_000)
    case.start = (START, *CLOCK_CHANGES)[seed % 3]
    if draw.flip(0.5):
        case.import_limit = draw.number(1, 8)
    case.rooms = [_room(draw, f"room {index}", case) for index in range(draw.whole(1, 3))]
    return case


def _room(draw: Draw, name: str, case: Case) -> Room:
    count, low = len(case.prices), draw.number(17, 21)
    width = draw.pick(0.0, 1.0, 3.0)
    begin = draw.whole(0, 24)
    dropped = low - draw.pick(-1.0, 2.0, 4.0)
    outdoor = draw.numbers(count, -12, 34 if draw.flip(0.3) else 10)
    capacity = draw.number(0.2, 8)
    return Room(
        name=name,
        capacity=capacity,
        loss=round(capacity * draw.pick(0.0, 0.02, 0.1, 0.4), 4),
        start=low + draw.number(-3, 3),
        band=(low, low + width),
        power=draw.number(0, 4),
        cop=tuple(round(2 + (celsius + 12) / 20, 6) for celsius in outdoor),
        outdoor=tuple(outdoor),
        gain=tuple(draw.numbers(count, -1, 2)),
        cools=draw.flip(0.3),
        end_value=draw.pick(0.0, 0.0, 0.05, 0.2),
        priority=draw.pick(1.0, 1.0, 3.0),
        set_back=None
        if draw.flip(0.4)
        else (begin, (begin + draw.whole(1, 9)) % 24, dropped, dropped + width),
    )


def _limited(draw: Draw, store: Store) -> Store:
    limits = []
    for _ in range(draw.whole(0, 3)):
        first = draw.whole(store.first, store.last)
        least = draw.number(0, store.until * 0.6) if draw.flip(0.5) else 0.0
        limits.append(
            StoreLimit(
                first,
                draw.whole(first + 1, store.last + 1),
                power=draw.number(0, store.power),
                feed=draw.number(0, store.feed),
                least=least,
                most=draw.number(least, store.capacity) if draw.flip(0.6) else store.capacity,
            )
        )
    return replace(store, limits=tuple(limits))


def _bounded(draw: Draw, store: Store) -> Store:
    if not store.feed:
        return store
    capacity = store.capacity
    kept, limit = draw.number(0, capacity * 0.5), draw.number(capacity * 0.5, capacity)
    level = draw.number(0, capacity)
    wanted = None if store.wanted is None else min(store.wanted, max(limit, level))
    # A reserve is a wish up to the charge limit.
    reserve = min(store.reserve, limit)
    return replace(store, kept=kept, limit=limit, level=level, wanted=wanted, reserve=reserve)


def _vehicle(draw: Draw, case: Case, index: int) -> Store:
    first = draw.whole(0, len(case.prices) - 1)
    capacity = float(draw.whole(20, 60))
    lines: Any = ("L1", "L2", "L3")
    feeds = draw.flip(0.3)
    inside = bool(case.groups) and draw.flip(0.7)
    store = Store(
        name=f"van {index}",
        first=first,
        last=draw.whole(first + 1, len(case.prices) + 1),
        power=draw.pick(3.7, 7.4, 11.0),
        level=draw.number(0, capacity * 0.6),
        capacity=capacity,
        wanted=draw.number(0, capacity),
        efficiency=draw.pick(1.0, 0.9),
        feed=draw.pick(3.7, 7.4) if feeds else 0.0,
        feed_efficiency=0.92 if feeds else 1.0,
        wear=0.02 if feeds else 0.0,
        priority=draw.pick(1.0, 2.0),
        group=str(draw.rng.choice(sorted(case.groups))) if inside else None,
        phases=lines if draw.flip(0.5) else (lines[index % 3],),
    )
    if not feeds and draw.flip(0.2):
        return replace(store, taper=((0.0, 11.0), (50.0, 11.0), (100.0, 2.0)))
    return replace(store, power_min=1.4) if not feeds and draw.flip(0.15) else store


def _add_forecasts(draw: Draw, case: Case) -> None:
    slots = len(case.prices)
    if draw.flip(0.4):
        case.export = [round(price - 0.05, 3) for price in case.prices]
        if draw.flip(0.2):
            case.export[0] = case.prices[0] + 0.1
    if draw.flip(0.5):
        case.load = draw.numbers(slots, 0, 8)
    if draw.flip(0.5):
        case.solar = draw.numbers(slots, 0, 14)
        case.is_curtailable = draw.flip(0.6)
    if draw.flip(0.4):
        _add_battery(draw, case)


def _add_battery(draw: Draw, case: Case) -> None:
    """A battery, if there is none yet."""
    if any(store.is_battery for store in case.stores):
        return
    battery = Store(
        "battery", 0, len(case.prices), power=5.0, level=3.0, capacity=10.0, is_battery=True
    )
    case.stores.append(
        replace(
            battery,
            efficiency=0.95,
            feed=5.0,
            feed_efficiency=0.95,
            wear=0.01,
            end_value=draw.pick(0.0, 0.15),
        )
    )


def _add_charges(draw: Draw, case: Case) -> None:
    if draw.flip(0.6):
        case.import_limit = float(draw.whole(4, 22))
        case.import_breach = 0.5 if draw.flip(0.2) else None
    if draw.flip(0.3):
        case.export_limit = float(draw.whole(0, 8))
    if draw.flip(0.25):
        case.peak_price, case.peak_paid = 1.5, 3.0
        case.peak_hours = draw.whole(1, 3)
    if draw.flip(0.25):
        case.tiers = [(20.0, 0.0), (40.0, 0.05), (None, 0.2)]
    if draw.flip(0.25):
        case.carbon_price = 0.1
        case.carbon = draw.numbers(len(case.prices), 0.1, 0.6)
