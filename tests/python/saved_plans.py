"""One plan of each kind, to be saved."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import slackwater as sw

from fleets import NOON, day_ahead

HOUR = timedelta(hours=1)
GOLDEN = Path(__file__).parents[1] / "golden"


def charge(kwh: float = 30.0, prices: sw.Prices | None = None) -> sw.Plan:
    targets = [sw.Target(NOON + 6 * HOUR, kwh / 2), sw.Target(NOON + 15 * HOUR, kwh)]
    return sw.plan_charge(
        prices or day_ahead(),
        now=NOON,
        power_max_kw=11,
        targets=targets,
        reserve_kwh=2.2,
        power_limits=[(NOON + HOUR, NOON + 3 * HOUR, 3.7)],
    )


def vehicle() -> sw.Plan:
    battery = sw.Battery(capacity_kwh=61.7, soc_percent=None, efficiency=0.93)
    return sw.plan_vehicle(
        day_ahead(),
        now=NOON,
        power_max_kw=7.4,
        battery=battery._replace(soc_fallback_percent=31),
        targets=[sw.SocTarget(NOON + 12 * HOUR, 80)],
    )


def duration() -> sw.Plan:
    return sw.plan_duration(day_ahead(), now=NOON, duration=2.5 * HOUR, by=None)


def kept() -> sw.Plan:
    fewer = sw.Prices.from_slots(day_ahead().slots[2:], currency="EUR")
    return vehicle().close_to(charge(prices=fewer), budget=0.5)


def storage() -> sw.StoragePlan:
    return sw.plan_storage(
        day_ahead(),
        export_prices=day_ahead().times(0.8),
        now=NOON,
        battery=sw.Battery(capacity_kwh=52, soc_percent=40, efficiency=0.93),
        discharge_efficiency=0.95,
        power_max_kw=11,
        discharge_max_kw=7.4,
        targets=[sw.SocTarget(NOON + 12 * HOUR, 80), sw.SocTarget(None, 50)],
        reserve_percent=20,
        consumption=[(NOON + 13 * HOUR, NOON + 14 * HOUR, 6.5)],
        limits=[sw.StorageLimit(NOON, NOON + 2 * HOUR, power_max_kw=3.7)],
        wear_price_per_kwh=0.01,
    )


def switching() -> sw.SwitchingPlan:
    return sw.plan_switching(
        day_ahead(),
        now=NOON,
        power_max_kw=11,
        power_min_kw=4.1,
        targets=[(NOON + 15 * HOUR, 41)],
        start_cost=0.2,
        sessions_max=3,
        on_min=timedelta(minutes=75),
        running_since=NOON - HOUR,
    )


def site() -> sw.SitePlan:
    van = sw.Vehicle("van", power_max_kw=11, targets=[sw.Target(NOON + 9 * HOUR, 30)])
    car = sw.Vehicle("car", power_max_kw=7.4, targets=[sw.Target(NOON + 9 * HOUR, 90)])
    house = sw.Load("house", power_kw=1.3)
    return sw.plan_site(
        day_ahead(),
        export_prices=day_ahead().times(0.5),
        now=NOON,
        until=NOON + 10 * HOUR,
        devices=[van, car, house],
        import_limit_kw=11,
    )


CHARGING = [charge, vehicle, duration, kept]
KINDS = [*CHARGING, storage, switching, site]
