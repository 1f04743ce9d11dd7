"""Calls for cases about tariffs, price signals and policies.

Each is one public call, or one per item of a list; ``cases.py`` merges them.
A member that must be there and is not, or is null, is refused like the rest.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import slackwater as sw

if TYPE_CHECKING:
    from collections.abc import Callable

Json: TypeAlias = Any

REFUSALS = (ValueError, TypeError, KeyError)


def instant(text: str) -> datetime:
    """Parse an instant as the cases write it."""
    return datetime.fromisoformat(text)


def maybe_instant(text: str | None) -> datetime | None:
    """Parse an instant that may be absent."""
    return None if text is None else instant(text)


def wire(at: datetime) -> str:
    """Write an instant as the cases write it."""
    return at.isoformat().replace("+00:00", "Z")


def prices_of(steps: Json) -> sw.Prices:
    """Build a curve from half-open steps."""
    slots = [(instant(s["from"]), instant(s["to"]), s["price"]) for s in steps]
    return sw.Prices.from_slots(slots, currency="EUR")


class Reject(str):
    """The answer ``"reject"``, which tells its reason where it is printed."""

    __slots__ = ("reason",)
    reason: str

    def __new__(cls, error: Exception) -> Self:
        """Keep the message of the error."""
        reject = super().__new__(cls, "reject")
        reject.reason = f"{type(error).__name__}: {error}"
        return reject

    def __repr__(self) -> str:
        """Tell the reason, too."""
        return f"{super().__repr__()} ({self.reason})"


def or_reject(call: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """Write a refusal as the cases do."""

    def answer(given: Json) -> Json:
        try:
            return call(given)
        except REFUSALS as error:
            return Reject(error)

    return answer


def not_null(given: Json, key: str) -> Json:
    """Look up a member that may be left out, but not be null."""
    if key in given and given[key] is None:
        raise TypeError(key)
    return given.get(key)


# --------------------------------------------------------------------- tariffs


def interval_of(given: Json) -> sw.tariffs.TariffInterval:
    """Read a tariff interval."""
    return sw.tariffs.TariffInterval(
        given["name"], given.get("weekdays"), given.get("from"), given.get("to")
    )


def tariff_intervals_validate(given: Json) -> Json:
    """Call ``check_intervals``."""
    sw.tariffs.check_intervals([interval_of(i) for i in given["tariffIntervals"]])
    return "accept"


def tariff_rates_validate(given: Json) -> Json:
    """Call ``check_rates``."""
    sw.tariffs.check_rates([sw.tariffs.Rate(r["name"], r["cost"]) for r in given["rates"]])
    return "accept"


def price_resolve(given: Json) -> Json:
    """Call ``price_at`` for each instant."""
    tariff = sw.tariffs.Tariff(
        [sw.tariffs.Rate(r["name"], r["cost"]) for r in given.get("rates") or []],
        [interval_of(i) for i in given.get("tariffIntervals") or []],
        "EUR",
        given.get("tz") or "UTC",
    )
    market = prices_of(given.get("market") or [])
    signal = prices_of(given["priceSignal"]) if given.get("priceSignal") else None
    answers = []
    for at in given["at"]:
        found = sw.tariffs.price_at(instant(at), tariff=tariff, market=market, price_signal=signal)
        price, source = found or (None, None)
        answers.append({"price": price, "source": source})
    return answers


# --------------------------------------------------------------------- signals


def signal_of(body: Json) -> sw.signals.PriceSignal:
    """Read the body of a price signal."""
    values = [sw.signals.SignalValue(instant(v["at"]), v["price"]) for v in body["values"]]
    return sw.signals.PriceSignal(body["currency"], instant(body["to"]), values)


def signal_validate(given: Json) -> Json:
    """Call ``check`` with the zone, if there is one."""
    zone = given.get("zone")
    sw.signals.check(
        signal_of(given["body"]),
        zone=zone and sw.signals.Zone(zone["currency"], zone.get("activated", True)),
    )
    return "accept"


def applied(puts: Json) -> sw.Prices | None:
    """Call ``replace`` for each signal in turn."""
    prices = None
    for body in puts:
        prices = sw.signals.replace(prices, signal_of(body))
    return prices


def signal_apply(given: Json) -> Json:
    """Write the steps after all signals."""
    prices = applied(given["puts"])
    slots = prices.slots if prices is not None else []
    return [{"from": wire(start), "to": wire(end), "price": price} for start, end, price in slots]


def signal_price_at(given: Json) -> Json:
    """Look up the price at each instant after all signals."""
    prices = applied(given["puts"])
    return [prices and prices.price_at(instant(at)) for at in given["at"]]


# ------------------------------------------------------------------------ flex


def day_of(given: Json) -> sw.flex.Day:
    """Read the wish for a day."""
    return sw.flex.Day(given.get("deadline"), given.get("minimumChargeTarget"))


def schedule_of(given: Json) -> dict[str, sw.flex.Day]:
    """Read the wishes for the days."""
    return {name: day_of(day) for name, day in given.items()}


def policy_of(given: Json) -> sw.flex.FlexPolicy:
    """Read a policy; the charge limit last seen is 100 until there is one."""
    limit = given.get("lastObservedLocationChargeLimit")
    schedule = schedule_of(given.get("schedule") or {})
    return sw.flex.FlexPolicy(given["batteryReserve"], schedule, 100 if limit is None else limit)


def flex_validate(given: Json) -> Json:
    """Call ``check``."""
    fixed = given.get("fixedReserve")
    sw.flex.check(policy_of(given.get("policy", given)), fixed_reserve_percent=fixed)
    return "accept"


def flex_patch(given: Json) -> Json:
    """Call ``patch`` and write the policy with the members it had."""
    policy, patch = given["policy"], given["patch"]
    merged = sw.flex.patch(
        policy_of(policy),
        reserve_percent=not_null(patch, "batteryReserve"),
        schedule=schedule_of(not_null(patch, "schedule") or {}),
        fixed_reserve_percent=given.get("fixedReserve", policy.get("fixedReserve")),
    )
    days = merged.schedule.items()
    schedule = {
        name: {"deadline": day.deadline, "minimumChargeTarget": day.target_percent}
        for name, day in days
    }
    return {**policy, "batteryReserve": merged.reserve_percent, "schedule": schedule}


def flex_next(given: Json) -> Json:
    """Call ``next_deadline``; no zone is UTC."""
    policy = sw.flex.FlexPolicy(0, schedule_of(given.get("schedule") or {}))
    found = sw.flex.next_deadline(
        policy,
        time_zone=given.get("tz") or "UTC",
        now=instant(given["now"]),
        charge_limit_percent=given.get("chargeLimit"),
    )
    return found and {"deadline": wire(found.at), "target": found.target_percent}


def flex_state(given: Json) -> Json:
    """Call ``state``; a state without a public name is written as other."""
    facts = sw.flex.VehicleFacts(
        given["policyLocationId"],
        given.get("vehicleLocationId"),
        given.get("isPluggedIn"),
        given.get("batteryLevel"),
        given.get("chargeLimit"),
    )
    return sw.flex.state(given["batteryReserve"], facts).public_name or "other"


# ------------------------------------------------------------------- policies


def vehicle_plan(given: Json, battery: sw.Battery) -> sw.Plan:
    """Plan for a target, or, without one, for a smart charging policy.

    A case is about the plan up to its deadline, so charging ends there.
    """
    prices, now = prices_of(given["prices"]), instant(given["now"])
    by, at_once = maybe_instant(given.get("deadline")), given.get("immediateTo") or 0
    if given.get("target") is not None:
        return sw.plan_vehicle(
            prices,
            now=now,
            power_max_kw=given["kw"],
            battery=battery,
            targets=[sw.SocTarget(by, given["target"])],
            reserve_percent=at_once,
            after_deadline="stop",
        )
    policy = sw.policies.VehiclePolicy(is_enabled=True, minimum_charge_limit_percent=at_once)
    return sw.policies.plan_vehicle(
        prices,
        policy,
        now=now,
        by=by,
        power_max_kw=given["kw"],
        battery=battery,
        after_deadline="stop",
    )


def plan_vehicle(given: Json) -> Json:
    """Write the plan of a vehicle; no limit is 100 %."""
    limit = given.get("chargeLimit")
    battery = sw.Battery(
        capacity_kwh=given["capacityKwh"],
        soc_percent=given["batteryLevel"],
        charge_limit_percent=100 if limit is None else limit,
    )
    plan = vehicle_plan(given, battery)
    now, by = instant(given["now"]), maybe_instant(given.get("deadline"))
    at_deadline = by or max((slot.end for slot in plan.slots), default=now)
    return {
        "intervals": intervals_of(plan),
        "energyKwh": plan.energy_kwh,
        "cost": plan.cost,
        "levelAtDeadline": plan.soc_percent_by(at_deadline),
        "feasible": plan.shortfall_kwh <= 0,
    }


def intervals_of(plan: sw.Plan) -> Json:
    """Write the charging periods of a plan."""
    return [{"from": wire(i.start), "to": wire(i.end)} for i in plan.intervals]


def plan_charger(given: Json) -> Json:
    """Call ``plan_charger``; no duration plans nothing."""
    policy = sw.policies.ChargerPolicy(
        is_enabled=True, charging_duration=given.get("chargingDuration")
    )
    plan = sw.policies.plan_charger(
        prices_of(given["prices"]),
        policy,
        now=instant(given["now"]),
        by=maybe_instant(given.get("deadline")),
    )
    return {
        "intervals": intervals_of(plan),
        "priceHours": plan.cost,
        "feasible": plan.shortfall_kwh <= 0,
    }


def charger_state(given: Json) -> Json:
    """Call ``charger_state``."""
    facts = sw.policies.ChargerFacts(
        given.get("isReachable"), given.get("isPluggedIn"), given.get("isCharging")
    )
    return sw.policies.charger_state(
        prices_of(given.get("prices") or []),
        facts,
        is_enabled=given["isEnabled"],
        now=instant(given["now"]),
        by=maybe_instant(given.get("deadline")),
    )


CALLS = {
    "flex.next": or_reject(flex_next),
    "flex.patch": or_reject(flex_patch),
    "flex.state": or_reject(flex_state),
    "flex.validate": or_reject(flex_validate),
    "plan.charger": or_reject(plan_charger),
    "plan.charger_state": or_reject(charger_state),
    "plan.vehicle": or_reject(plan_vehicle),
    "price.resolve": or_reject(price_resolve),
    "signal.apply": or_reject(signal_apply),
    "signal.price_at": or_reject(signal_price_at),
    "signal.validate": or_reject(signal_validate),
    "tariff.intervals.validate": or_reject(tariff_intervals_validate),
    "tariff.rates.validate": or_reject(tariff_rates_validate),
}
