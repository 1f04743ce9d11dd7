"""Calls of the planners: cases of storage, switching, sites and questions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import slackwater as sw

from cases_rules import instant, prices_of, wire

if TYPE_CHECKING:
    from collections.abc import Callable

Json: TypeAlias = Any
Call: TypeAlias = "Callable[[Json], Json]"


def targets_of(given: Json) -> list[sw.Target]:
    """Build targets."""
    return [sw.Target(instant(target["by"]), target["kwh"]) for target in given]


def plan_charge(given: Json, prices: sw.Prices, targets: Json = None) -> sw.Plan:
    """Call ``plan_charge``."""
    return sw.plan_charge(
        prices,
        now=instant(given["now"]),
        power_max_kw=given["kw"],
        targets=targets_of(targets or given["targets"]),
        reserve_kwh=given.get("reserveKwh") or 0,
    )


def plan_close_to(given: Json) -> Json:
    """Call ``Plan.close_to``; without targets of its own the older plan has the same."""
    before = plan_charge(given, prices_of(given["before"]), given.get("beforeTargets"))
    plan = plan_charge(given, prices_of(given["prices"])).close_to(before, budget=given["budget"])
    told = plan.stability
    return told and {
        "changeKwh": told.change_kwh,
        "cheapestChangeKwh": told.cheapest_change_kwh,
        "extraCost": told.extra_cost,
        "cost": plan.cost,
        "spent": told.spent,
    }


def plan_decide_by(given: Json) -> Json:
    """Plan with estimates; tell how long one may wait."""
    known, guess = prices_of(given["prices"]), prices_of(given["estimates"])
    plan = plan_charge(given, known.with_estimates(guess, ceiling_per_kwh=given.get("ceiling")))
    return {
        "decideBy": plan.decide_by and wire(plan.decide_by),
        "awaitingPrices": plan.awaiting_prices,
        "kwhOnEstimates": plan.energy_on_estimates_kwh,
        "costOnEstimates": plan.cost_on_estimates,
    }


def plan_frontier(given: Json) -> Json:
    """Call ``insurance_frontier``."""
    plan = plan_charge(given, prices_of(given["prices"]))
    points = sw.insurance_frontier(plan, at=instant(given["at"])).points
    return {"corners": [{"kwh": p.energy_kwh, "addedCost": p.added_cost} for p in points]}


def plan_risk(given: Json) -> Json:
    """Call ``Plan.energy_at_risk``."""
    departures = [(instant(leave["at"]), leave["weight"]) for leave in given["departures"]]
    risk = plan_charge(given, prices_of(given["prices"])).energy_at_risk(departures)
    return {
        "expectedMissingKwh": risk.expected_shortfall_kwh,
        "probabilityShort": risk.probability_short,
        "missingMaxKwh": risk.shortfall_max_kwh,
    }


def plan_what_if(given: Json) -> Json:
    """Call ``Plan.what_if``."""
    change = given["change"]
    answer = plan_charge(given, prices_of(given["prices"])).what_if(
        no_reserve=change.get("noReserve", False),
        departure=instant(change["departure"]) if "departure" in change else None,
        more_kwh=change.get("moreKwh"),
        without_deadline=instant(change["withoutDeadline"])
        if "withoutDeadline" in change
        else None,
    )
    return {
        "costChange": answer.cost_change,
        "shortfallChangeKwh": answer.shortfall_change_kwh,
    }


def plan_switching(given: Json) -> Json:
    """Call ``plan_switching``; what is not given is left at its default."""

    def minutes(name: str) -> timedelta | None:
        return timedelta(minutes=given[name]) if name in given else None

    def time_of(name: str) -> datetime | None:
        return instant(given[name]) if name in given else None

    plan = sw.plan_switching(
        prices_of(given["prices"]),
        now=instant(given["now"]),
        power_max_kw=given["kw"],
        power_min_kw=given["kwMin"],
        targets=[sw.Target(by=None, energy_kwh=given["kwh"])],
        start_cost=given.get("startCost", 0),
        sessions_max=given.get("sessionsMax"),
        one_block=given.get("oneBlock", False),
        on_min=minutes("onMinMinutes"),
        off_min=minutes("offMinMinutes"),
        run_last=minutes("runLastMinutes"),
        running_since=time_of("runningSince"),
        stopped_since=time_of("stoppedSince"),
    )
    return {
        "intervals": [
            {"from": wire(i.start), "to": wire(i.end), "kw": i.power_kw} for i in plan.intervals
        ],
        "cost": plan.cost,
        "energyKwh": plan.energy_kwh,
        "sessions": len(plan.sessions),
        "shortfallKwh": plan.shortfall_kwh,
        "unmet": [wish.wish for wish in plan.unmet],
    }


def plan_site(given: Json) -> Json:
    """Call ``plan_site``; what is not given is not there."""
    prices = prices_of(given["prices"])
    slots = [(instant(s["from"]), instant(s["to"])) for s in given["prices"]]
    devices: list[sw.site_devices.Device] = [
        sw.Vehicle(
            vehicle["name"],
            power_max_kw=vehicle["kw"],
            targets=[
                sw.Target(instant(vehicle["by"]) if vehicle["by"] else None, vehicle["energyKwh"])
            ],
            priority=vehicle["priority"],
        )
        for vehicle in given["vehicles"]
    ]
    if "loadKw" in given:
        devices.append(sw.Load("load", power_kw=given["loadKw"]))
    if "solarKw" in given:
        devices.append(sw.Solar("solar", power_kw=given["solarKw"]))
    export = None
    if "export" in given:
        pairs = zip(slots, given["export"], strict=True)
        export = sw.Prices.from_slots([(*slot, price) for slot, price in pairs], currency="EUR")
    demand = None
    if "peakPrice" in given:
        demand = sw.DemandCharge(
            peak_price_per_kw=given["peakPrice"],
            peak_incurred_kw=given["peakPaidKw"],
            window=timedelta(hours=1),
        )
    carbon = None
    if "carbon" in given:
        pairs = zip(slots, given["carbon"], strict=True)
        steps = [(*slot, kg) for slot, kg in pairs]
        carbon = sw.Carbon(price_per_kg=given["carbonPrice"], intensity=steps)
    plan = sw.plan_site(
        prices,
        now=instant(given["now"]),
        devices=devices,
        export_prices=export,
        import_limit_kw=given.get("limitKw"),
        demand_charge=demand,
        tiers=sw.Tiers(blocks=given["tiers"]) if "tiers" in given else None,
        carbon=carbon,
    )
    return {
        "cost": plan.cost,
        "shortfallKwh": [device.shortfall_kwh for device in plan.devices],
        "importKwh": [slot.import_kwh for slot in plan.slots],
        "breachKw": [breach.excess_kw for breach in plan.breaches],
        "shadowPrice": [price for limit in plan.limits for price in limit.shadow_price_per_kwh],
    }


def plan_storage(given: Json) -> Json:
    """Call ``plan_storage``; what is not given has no effect."""
    targets = []
    if given.get("target") is not None:
        by = instant(given["deadline"]) if given.get("deadline") else None
        targets = [sw.SocTarget(by=by, soc_percent=given["target"])]
    selling = given.get("exportPrices")
    drives = given.get("drives", ())
    plan = sw.plan_storage(
        prices_of(given["prices"]),
        export_prices=prices_of(selling) if selling else None,
        now=instant(given["now"]),
        battery=sw.Battery(
            capacity_kwh=given["capacityKwh"],
            soc_percent=given["batteryLevel"],
            charge_limit_percent=given.get("chargeLimit", 100),
            efficiency=given.get("efficiency", 1),
        ),
        discharge_efficiency=given.get("efficiencyDischarge", 1),
        power_max_kw=given["kw"],
        discharge_max_kw=given["kw"],
        targets=targets,
        reserve_percent=given.get("reserve", 0),
        consumption=[(instant(d["from"]), instant(d["to"]), d["kwh"]) for d in drives],
        end_value_per_kwh=given.get("endValue", 0),
        wear_price_per_kwh=given.get("wear", 0),
    )
    return {
        "cost": plan.cost,
        "chargedKwh": plan.charged_kwh,
        "dischargedKwh": plan.discharged_kwh,
        "levelAtEnd": plan.soc_percent_by(plan.slots[-1].end),
        "shortfallKwh": plan.shortfall_kwh,
        "unservedKwh": plan.unserved_kwh,
        "savings": plan.savings,
        "proved": plan.certificate.is_proved,
    }


def plan_capacity(given: Json) -> Json:
    """Call ``plan_capacity``; what is not given has no effect."""
    target = given.get("target")
    plan = sw.plan_capacity(
        prices_of(given["prices"]),
        sw.tariffs.read_tariff(given["tariff"]),
        now=instant(given["now"]),
        battery=sw.Battery(
            capacity_kwh=given["capacityKwh"],
            soc_percent=given["batteryLevel"],
            efficiency=given.get("efficiency", 1),
        ),
        power_max_kw=given["kw"],
        discharge_max_kw=given.get("dischargeKw", 0),
        load_kw=given.get("load"),
        peaks=[(instant(peak["at"]), peak["kw"]) for peak in given.get("peaks", ())],
        targets=[] if target is None else [sw.SocTarget(by=None, soc_percent=target)],
        end_value_per_kwh=given.get("endValue", 0),
    )
    return {
        "energy": plan.cost.energy,
        "power": plan.cost.power,
        "months": [
            {"month": month.month, "powerKw": month.power_kw, "charge": month.charge}
            for month in plan.cost.months
        ],
        "shortfallKwh": plan.shortfall_kwh,
        "proved": plan.certificate.is_proved,
    }


CALLS: dict[str, Call] = {
    "plan.capacity": plan_capacity,
    "plan.closeTo": plan_close_to,
    "plan.decideBy": plan_decide_by,
    "plan.frontier": plan_frontier,
    "plan.risk": plan_risk,
    "plan.storage": plan_storage,
    "plan.switching": plan_switching,
    "plan.whatIf": plan_what_if,
    "site.plan": plan_site,
}
