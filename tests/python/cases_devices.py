"""Calls for the cases about schedules, devices, actions, overrides and pages.

Each takes a case's input, makes one public call (a walk through pages makes
one for each step), and writes the answer in the words of the cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias, get_args

import slackwater as sw

import cases_rules
from cases_rules import instant, maybe_instant, or_reject

Json: TypeAlias = Any

PLUGGED_IN = "PLUGGED_IN:"

ACTION_EVENTS: dict[str, sw.actions.ActionEventKind] = {
    "create": "created",
    "observed": "reached",
    "unnecessary": "unnecessary",
    "timeout": "timed_out",
    "precondition_unmet": "precondition_unmet",
    "cancel": "cancel_requested",
    "owner_cancel": "owner_cancelled",
    "deleted": "target_deleted",
}
OVERRIDE_EVENTS: dict[str, sw.actions.OverrideEventKind] = {
    "post": "requested",
    "delete": "end_requested",
    "observed": "observed",
    "start_failed": "start_failed",
}
ALL_PERMISSIONS = get_args(sw.devices.Permission)
CANCEL_STATUS = {"cancelled": 200, "already_resolved": 409, "not_found": 404}
OVERRIDE_STATUS = {"created": 200, "already_active": 200, "ended": 200, "not_found": 404}


def wire(at: datetime | None) -> str | None:
    """Write an instant that may be missing."""
    return None if at is None else cases_rules.wire(at)


def snake(name: str) -> str:
    """Turn ``startCharging`` into ``start_charging``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def camel(name: str) -> str:
    """Turn ``start_charging`` into ``startCharging``."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def kind_of(table: Mapping[str, Any], name: str) -> Any:
    """Find the kind of an event by its name; a failed case, if none has it."""
    if name not in table:
        message = f"no event is called {name}"
        raise ValueError(message)
    return table[name]


def rule_of(rule: Json) -> sw.schedule.Rule:
    """Build a rule from its wire shape."""
    window = rule.get("hourMinute")
    return sw.schedule.Rule(
        rule["shouldCharge"],
        hour_minute=None if window is None else (window["from"], window["to"]),
        from_timestamp=maybe_instant(rule.get("fromTimestamp")),
        to_timestamp=maybe_instant(rule.get("toTimestamp")),
        weekdays=rule.get("weekdays"),
    )


def schedule_should_charge(given: Json) -> Json:
    """Call ``schedule.should_charge_each``; no zone is UTC."""
    return sw.schedule.should_charge_each(
        map(rule_of, given["rules"]),
        at=map(instant, given["at"]),
        default_should_charge=given["defaultShouldCharge"],
        time_zone=given.get("tz") or "UTC",
    )


def schedule_transitions(given: Json) -> Json:
    """Call ``schedule.upcoming_transitions``."""
    found = sw.schedule.upcoming_transitions(
        map(rule_of, given["rules"]),
        now=instant(given["now"]),
        default_should_charge=given["defaultShouldCharge"],
        time_zone=given.get("tz") or "UTC",
    )
    return [{"at": wire(t.at), "shouldCharge": t.should_charge} for t in found]


def schedule_status(given: Json) -> Json:
    """Call ``schedule.status``."""
    schedule, device = given["schedule"], given["device"]
    stands = sw.schedule.status(
        sw.schedule.TargetReading(
            is_plugged_in=device.get("isPluggedIn"),
            is_charging=device.get("isCharging"),
            soc_percent=device.get("batteryLevel"),
            charge_limit_percent=device.get("chargeLimit"),
            is_fully_charged=device.get("isFullyCharged"),
            location_id=device.get("locationId"),
            is_capable=device.get("isCapable", True),
        ),
        should_charge=given["shouldCharge"],
        target_type=schedule["targetType"],
        location_id=schedule.get("locationId"),
        is_enabled=schedule["isEnabled"],
        is_overridden=given.get("overrideActive", False),
        is_action_pending=given.get("pendingAction", False),
    )
    return {
        "state": stands.state.upper().replace("INACTIVE_", "INACTIVE:"),
        "isCharging": stands.is_charging,
        "isChargingExpected": stands.is_charging_expected,
        "isChargingExpectedParts": {camel(k): v for k, v in stands.parts._asdict().items()},
    }


def action_event(event: Json) -> sw.actions.ActionEvent:
    """Build an event."""
    return sw.actions.ActionEvent(
        instant(event["at"]),
        kind_of(ACTION_EVENTS, event["event"]),
        event.get("id"),
        event.get("target"),
        event.get("detail"),
    )


def action_run(given: Json) -> Json:
    """Call ``actions.replay_actions``."""
    replay = sw.actions.replay_actions(map(action_event, given["events"]))
    return {
        "actions": {
            action.id: {
                "state": action.state.upper(),
                "failureType": None if action.failure is None else action.failure.kind.upper(),
                "completedAt": wire(action.completed_at),
                "updatedAt": wire(action.updated_at),
            }
            for action in replay.actions.values()
        },
        "notifications": [[name, state.upper()] for name, state in replay.notifications],
        "cancelStatus": [CANCEL_STATUS[answer] for answer in replay.cancel_answers],
    }


def override_run(given: Json) -> Json:
    """Call ``actions.replay_overrides``."""
    events = [
        sw.actions.OverrideEvent(
            instant(event["at"]),
            kind_of(OVERRIDE_EVENTS, event["event"]),
            event.get("isCharging"),
        )
        for event in given["events"]
    ]
    replay = sw.actions.replay_overrides(events)
    return {
        "overrides": [
            {"createdAt": wire(one.created_at), "endedAt": wire(one.ended_at)}
            for one in replay.overrides
        ],
        "http": [OVERRIDE_STATUS[answer] for answer in replay.answers],
    }


def capability_of(given: Json) -> sw.devices.Capability:
    """Build a capability from its wire shape."""
    power = (given.get("allowedRange") or {}).get("kW")
    return sw.devices.Capability(
        given["isCapable"],
        given["interventionIds"],
        None if power is None else sw.devices.PowerRange(power.get("min"), power.get("max")),
    )


def capabilities_of(given: Json) -> dict[Any, sw.devices.Capability]:
    """Build all capabilities of a device."""
    return {snake(name): capability_of(one) for name, one in (given or {}).items()}


def permissions_of(given: Json, whose: str) -> list[Any] | None:
    """Turn the scopes of one device into permissions; ``None`` where a case lists none.

    ``vehicle:read:data`` is ``read_data`` of the vehicle. A case lists the
    scopes that are granted, or, under a name that says so, those that are
    missing; by device, or all in one list.
    """
    granted = None
    for key, value in given.items():
        name = key.lower()
        other = {"vehicle": "charger", "charger": "vehicle"}[whose]
        if "scope" not in name or other in name:
            continue
        listed = value.get(whose, []) if isinstance(value, dict) else value
        listed = [listed] if isinstance(listed, str) else listed
        split = [scope.split(":", 1) for scope in listed]
        words = [rest.replace(":", "_") for device, rest in split if device == whose]
        if name.startswith(("missing", "lost", "without")):
            granted = [word for word in ALL_PERMISSIONS if word not in words]
        elif words or whose == "vehicle" or whose in name:
            granted = words
    return granted


def caps_merge(given: Json) -> Json:
    """Call ``devices.merge_capabilities``; an unpaired vehicle has no charger."""
    merged = sw.devices.merge_capabilities(
        capabilities_of(given["vehicle"]),
        capabilities_of(given.get("charger")) if given["paired"] else None,
        vehicle_permissions=permissions_of(given, "vehicle"),
        charger_permissions=permissions_of(given, "charger"),
    )
    return {camel(name): capability_as_written(one) for name, one in merged.items()}


def capability_as_written(capability: sw.devices.Capability) -> Json:
    """Write a capability; a range only where there is one."""
    written: Json = {
        "isCapable": capability.is_capable,
        "interventionIds": list(capability.intervention_ids),
    }
    if capability.allowed_range is not None:
        power = capability.allowed_range
        written["allowedRange"] = {"kW": {"min": power.min_kw, "max": power.max_kw}}
    return written


def device_charge_state(given: Json) -> Json:
    """Call ``devices.shown_charge_state``; what it does not know passes as it is."""
    raw = given["raw"]
    state: Any = (raw.get("powerDeliveryState") or "UNKNOWN").removeprefix(PLUGGED_IN).lower()
    shown = sw.devices.shown_charge_state(
        sw.devices.ChargeState(
            state,
            is_plugged_in=raw.get("isPluggedIn"),
            is_charging=raw.get("isCharging"),
            is_fully_charged=raw.get("isFullyCharged"),
            charge_rate_kw=raw.get("chargeRate"),
            charge_time_remaining_minutes=raw.get("chargeTimeRemaining"),
            charge_rate_limit_kw=raw.get("chargeRateLimit"),
            last_updated=maybe_instant(raw.get("lastUpdated")),
        ),
        now=instant(given["now"]),
        device=given.get("device", given.get("targetType", "vehicle")),
    )
    bare = shown.power_state in {"unknown", "unplugged"}
    known = {
        "powerDeliveryState": ("" if bare else PLUGGED_IN) + shown.power_state.upper(),
        "isFullyCharged": shown.is_fully_charged,
        "chargeRate": shown.charge_rate_kw,
        "chargeTimeRemaining": shown.charge_time_remaining_minutes,
        "chargeRateLimit": shown.charge_rate_limit_kw,
    }
    return {name: known.get(name, raw.get(name)) for name in given.get("show", known)}


def device_pairing(given: Json) -> Json:
    """Call ``devices.pair``."""
    vehicle, charger = given["vehicle"], given["charger"]
    pairing = sw.devices.pair(
        sw.devices.Owned(vehicle["id"], vehicle["userId"]),
        sw.devices.Owned(charger["id"], charger["userId"]),
        is_detected_together=given["detectedTogether"],
    )
    return {camel(name): value for name, value in pairing._asdict().items()}


def cursor_of(name: str | None, pages: list[sw.paging.Page | None]) -> sw.paging.Cursor | None:
    """Find the cursor that ``p2.after`` stands for; others were never handed out."""
    if name is None:
        return None
    match = re.fullmatch(r"p(\d+)\.(before|after)", name)
    page = pages[int(match[1]) - 1] if match and 0 < int(match[1]) <= len(pages) else None
    if match is None or page is None:
        message = f"no page has the cursor {name}"
        raise ValueError(message)
    return page.after if match[2] == "after" else page.before


def page_walk(given: Json) -> Json:
    """Call ``paging.list_page`` for each list step."""
    items: dict[str, sw.paging.Item] = {}
    pages: list[sw.paging.Page | None] = []
    for step in given["steps"]:
        if step["op"] == "insert":
            added = (sw.paging.Item(instant(i["createdAt"]), i["id"]) for i in step["items"])
            items |= {item.id: item for item in added}
        elif step["op"] == "delete":
            for gone in step.get("ids") or step.get("items") or [step["id"]]:
                items.pop(gone["id"] if isinstance(gone, dict) else gone, None)
        else:
            pages.append(listed(step, items, pages))
    return [written(page) for page in pages]


def listed(
    step: Json, items: dict[str, sw.paging.Item], pages: list[sw.paging.Page | None]
) -> sw.paging.Page | None:
    """Make one list call; ``None`` if it is refused."""
    try:
        return sw.paging.list_page(
            items.values(),
            before=cursor_of(step.get("before"), pages),
            after=cursor_of(step.get("after"), pages),
            page_size=step.get("pageSize"),
        )
    except (ValueError, TypeError):
        return None


def written(page: sw.paging.Page | None) -> Json:
    """Write a page as the cases do."""
    if page is None:
        return "error"
    return {
        "ids": [item.id for item in page.items],
        "hasBefore": page.before is not None,
        "hasAfter": page.after is not None,
    }


CALLS: dict[str, Callable[[Json], Json]] = {
    "action.run": action_run,
    "caps.merge": caps_merge,
    "device.charge_state": device_charge_state,
    "device.pairing": device_pairing,
    "override.run": override_run,
    "page.walk": page_walk,
    "schedule.should_charge": or_reject(schedule_should_charge),
    "schedule.status": or_reject(schedule_status),
    "schedule.transitions": or_reject(schedule_transitions),
}
