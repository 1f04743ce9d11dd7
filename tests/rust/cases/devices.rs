//! Calls for the cases about schedules, devices, actions, overrides and pages.
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde_json::{Value, json};
use slackwater_control::device::action::ActionEvent;
use slackwater_control::device::action_log::{ActionLog, Address, CancelAnswer, LogEvent};
use slackwater_control::device::capability::{
    Ability, Capabilities, Capability, PowerRange, merged, within_scopes,
};
use slackwater_control::device::charge_state::{ChargeState, Reporter};
use slackwater_control::device::override_::{OverrideAnswer, OverrideEvent};
use slackwater_control::device::override_log::OverrideLog;
use slackwater_control::device::pairing::{Owned, are_paired};
use slackwater_control::device::power_state::PowerState;
use slackwater_control::device::scope::Permission;
use slackwater_control::device::target::TargetReading;
use slackwater_control::schedule::place::TargetType;
use slackwater_control::schedule::rule::{DraftRule, Rules};
use slackwater_control::schedule::status::{Status, StatusFacts};
use slackwater_engine::units::{Percent, Power};
use slackwater_wire::page::cursor::{Cursor, Key};
use slackwater_wire::page::list::{Page, PageRequest, list_page};

use crate::given::{instant, wire};

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_string()
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn maybe<T>(value: &Value, read: impl Fn(&Value) -> T) -> Option<T> {
    (!value.is_null()).then(|| read(value))
}

fn kilowatts(value: &Value) -> Option<Power> {
    value.as_f64().map(|kw| Power::from_kw(kw).expect("a power"))
}

/// `startCharging` as `start_charging`.
fn snake(name: &str) -> String {
    let split = |c: char| {
        if c.is_uppercase() { vec!['_', c.to_ascii_lowercase()] } else { vec![c] }
    };
    name.chars().flat_map(split).collect()
}

fn zone(given: &Value) -> Tz {
    given["tz"].as_str().unwrap_or("UTC").parse().expect("a time zone")
}

fn rules(given: &Value) -> Rules {
    let draft = |rule: &Value| DraftRule {
        should_charge: rule["shouldCharge"].as_bool().expect("a verdict"),
        hour_minute: maybe(&rule["hourMinute"], |w| (text(&w["from"]), text(&w["to"]))),
        from_timestamp: maybe(&rule["fromTimestamp"], instant),
        to_timestamp: maybe(&rule["toTimestamp"], instant),
        weekdays: maybe(&rule["weekdays"], |days| {
            list(days).iter().map(|day| day.as_i64().expect("a number")).collect()
        }),
    };
    let drafts: Vec<DraftRule> = list(&given["rules"]).iter().map(draft).collect();
    let default = given["defaultShouldCharge"].as_bool().expect("a default");
    Rules::parse(default, &drafts).expect("the rules make sense")
}

fn should_charge(given: &Value) -> Value {
    let (rules, zone) = (rules(given), zone(given));
    list(&given["at"]).iter().map(|at| rules.should_charge(instant(at), zone)).collect()
}

fn transitions(given: &Value) -> Value {
    let found = rules(given).upcoming(instant(&given["now"]), zone(given));
    found
        .iter()
        .map(|next| json!({ "at": wire(next.at), "shouldCharge": next.should_charge }))
        .collect()
}

fn status(given: &Value) -> Value {
    let (schedule, device) = (&given["schedule"], &given["device"]);
    let percent =
        |value: &Value| value.as_f64().map(|p| Percent::from_percent(p).expect("percent"));
    let facts = StatusFacts {
        is_enabled: schedule["isEnabled"] == true,
        target_type: match schedule["targetType"].as_str() {
            Some("vehicle") => TargetType::Vehicle,
            _ => TargetType::Charger,
        },
        location_id: maybe(&schedule["locationId"], text),
        target: TargetReading {
            is_plugged_in: device["isPluggedIn"].as_bool(),
            is_charging: device["isCharging"].as_bool(),
            soc: percent(&device["batteryLevel"]),
            charge_limit: percent(&device["chargeLimit"]),
            is_fully_charged: device["isFullyCharged"].as_bool(),
            location_id: maybe(&device["locationId"], text),
            is_capable: device["isCapable"] == true,
        },
        should_charge: given["shouldCharge"] == true,
        is_overridden: given["overrideActive"] == true,
        is_action_pending: given["pendingAction"] == true,
    };
    let status = Status::of(&facts);
    let parts = status.parts;
    json!({
        "state": status.state.as_str().to_uppercase().replace("INACTIVE_", "INACTIVE:"),
        "isCharging": status.is_charging,
        "isChargingExpected": status.is_charging_expected,
        "isChargingExpectedParts": {
            "needsCharge": parts.needs_charge,
            "isPluggedIn": parts.is_plugged_in,
            "shouldCharge": parts.should_charge,
        },
    })
}

fn action_event(event: &Value) -> (DateTime<Utc>, LogEvent) {
    let what = match event["event"].as_str().expect("a name") {
        "create" => {
            let (action_id, target_id) = (text(&event["id"]), text(&event["target"]));
            return (instant(&event["at"]), LogEvent::Created { action_id, target_id });
        }
        "observed" => ActionEvent::Reached,
        "timeout" => ActionEvent::TimedOut,
        "cancel" => ActionEvent::CancelRequested,
        "precondition_unmet" => ActionEvent::PreconditionUnmet(None),
        "unnecessary" => ActionEvent::Unnecessary,
        "owner_cancel" => ActionEvent::OwnerCancelled,
        "deleted" => ActionEvent::TargetDeleted,
        other => panic!("no event is called {other}"),
    };
    let to = maybe(&event["id"], text)
        .map_or_else(|| Address::Target(text(&event["target"])), Address::Action);
    (instant(&event["at"]), LogEvent::Happened { to, event: what })
}

fn actions(given: &Value) -> Value {
    let events: Vec<_> = list(&given["events"]).iter().map(action_event).collect();
    let log = ActionLog::replay(&events).expect("the log makes sense");
    let action = |progress: &slackwater_control::device::action::Progress| {
        json!({
            "state": progress.state.as_str().to_uppercase(),
            "failureType": progress.failure.as_ref().map(|f| f.kind.as_str().to_uppercase()),
            "completedAt": progress.completed_at.map(wire),
            "updatedAt": wire(progress.updated_at),
        })
    };
    let entries = log.actions.iter().map(|(id, entry)| (id.clone(), action(&entry.progress)));
    let told =
        log.notifications.iter().map(|(id, state)| json!([id, state.as_str().to_uppercase()]));
    let status = |answer: &CancelAnswer| match answer {
        CancelAnswer::Cancelled => 200,
        CancelAnswer::AlreadyResolved => 409,
        CancelAnswer::NotFound => 404,
    };
    json!({
        "actions": entries.collect::<serde_json::Map<_, _>>(),
        "notifications": told.collect::<Vec<_>>(),
        "cancelStatus": log.cancel_answers.iter().map(status).collect::<Vec<_>>(),
    })
}

fn overrides(given: &Value) -> Value {
    let event = |event: &Value| {
        let is_charging = event["isCharging"].as_bool();
        let what = match event["event"].as_str().expect("a name") {
            "post" => OverrideEvent::Requested(is_charging),
            "delete" => OverrideEvent::EndRequested,
            "observed" => OverrideEvent::Observed(is_charging),
            "start_failed" => OverrideEvent::StartFailed,
            other => panic!("no event is called {other}"),
        };
        (instant(&event["at"]), what)
    };
    let events: Vec<_> = list(&given["events"]).iter().map(event).collect();
    let log = OverrideLog::replay(&events).expect("the log makes sense");
    let written = log
        .overrides
        .iter()
        .map(|one| json!({ "createdAt": wire(one.created_at), "endedAt": one.ended_at.map(wire) }));
    let status = |answer: &OverrideAnswer| match answer {
        OverrideAnswer::NotFound => 404,
        _ => 200,
    };
    json!({
        "overrides": written.collect::<Vec<_>>(),
        "http": log.answers.iter().map(status).collect::<Vec<_>>(),
    })
}

fn capabilities(given: &Value) -> Capabilities {
    let one = |(name, given): (&String, &Value)| {
        let power = &given["allowedRange"]["kW"];
        let range = PowerRange { min: kilowatts(&power["min"]), max: kilowatts(&power["max"]) };
        let capability = Capability {
            is_capable: given["isCapable"] == true,
            intervention_ids: list(&given["interventionIds"]).iter().map(text).collect(),
            allowed_range: power.is_object().then_some(range),
        };
        (Ability::parse(&snake(name)).expect("an ability"), capability)
    };
    members(given).map(one).collect()
}

fn merge(given: &Value) -> Value {
    let paired = given["paired"] == true;
    let charger = if paired { capabilities(&given["charger"]) } else { Capabilities::new() };
    let mut both = merged(&capabilities(&given["vehicle"]), &charger);
    if let Some(scopes) = given["scopes"].as_array() {
        let permission = |scope: &Value| {
            let scope = text(scope);
            let (_, words) = scope.split_once(':').expect("a kind, then a permission");
            Permission::parse(&words.replace(':', "_")).expect("a permission")
        };
        both = within_scopes(&both, &scopes.iter().map(permission).collect());
    }
    let names = members(&given["vehicle"]).map(|(name, _)| name.clone());
    let write = |name: String| {
        let one = &both[&Ability::parse(&snake(&name)).expect("an ability")];
        let mut written =
            json!({ "isCapable": one.is_capable, "interventionIds": one.intervention_ids });
        if let Some(range) = one.allowed_range {
            let (min, max) = (range.min.map(Power::as_kw), range.max.map(Power::as_kw));
            written["allowedRange"] = json!({ "kW": { "min": min, "max": max } });
        }
        (name, written)
    };
    Value::Object(names.map(write).collect())
}

fn charge_state(given: &Value) -> Value {
    let raw = &given["raw"];
    let state = text(&raw["powerDeliveryState"]).replace("PLUGGED_IN:", "").to_lowercase();
    let reported = ChargeState {
        power_state: PowerState::parse(&state).expect("a state"),
        is_plugged_in: raw["isPluggedIn"].as_bool(),
        is_charging: raw["isCharging"].as_bool(),
        is_fully_charged: raw["isFullyCharged"].as_bool(),
        charge_rate: kilowatts(&raw["chargeRate"]),
        charge_time_remaining_minutes: raw["chargeTimeRemaining"].as_f64(),
        charge_rate_limit: kilowatts(&raw["chargeRateLimit"]),
        last_updated: maybe(&raw["lastUpdated"], instant),
    };
    let shown = reported.shown(Reporter::Vehicle, instant(&given["now"]));
    let bare = matches!(shown.power_state, PowerState::Unknown | PowerState::Unplugged);
    let prefix = if bare { "" } else { "PLUGGED_IN:" };
    let state = [prefix, &shown.power_state.as_str().to_uppercase()].concat();
    let known = json!({
        "powerDeliveryState": state,
        "isFullyCharged": shown.is_fully_charged,
        "chargeRate": shown.charge_rate.map(Power::as_kw),
        "chargeTimeRemaining": shown.charge_time_remaining_minutes,
        "chargeRateLimit": shown.charge_rate_limit.map(Power::as_kw),
    });
    let show = list(&given["show"]).iter().map(|name| (text(name), known[text(name)].clone()));
    Value::Object(show.collect())
}

fn pairing(given: &Value) -> Value {
    let owned = |one: &Value| Owned { id: text(&one["id"]), user_id: text(&one["userId"]) };
    let (vehicle, charger) = (owned(&given["vehicle"]), owned(&given["charger"]));
    let paired = are_paired(&vehicle, &charger, given["detectedTogether"] == true);
    json!({
        "pluggedInChargerId": paired.then_some(charger.id),
        "pluggedInVehicleId": paired.then_some(vehicle.id),
    })
}

fn cursor(name: &Value, pages: &[Option<Page>]) -> Result<Option<Cursor>, ()> {
    let Some(name) = name.as_str() else { return Ok(None) };
    let (number, side) = name.strip_prefix('p').and_then(|name| name.split_once('.')).ok_or(())?;
    let index: usize = number.parse().map_err(|_| ())?;
    let page = pages.get(index - 1).and_then(Option::as_ref).ok_or(())?;
    Ok(if side == "after" { page.after.clone() } else { page.before.clone() })
}

fn listed(step: &Value, items: &BTreeMap<String, Key>, pages: &[Option<Page>]) -> Option<Page> {
    let size = maybe(&step["pageSize"], Value::as_i64);
    let before = cursor(&step["before"], pages).ok()?;
    let after = cursor(&step["after"], pages).ok()?;
    let request =
        PageRequest::new(before, after, size.map_or(Some(None), |s| s.map(Some))?).ok()?;
    list_page(&items.values().cloned().collect::<Vec<_>>(), &request).ok()
}

fn walk(given: &Value) -> Value {
    let mut items = BTreeMap::new();
    let mut pages = Vec::new();
    for step in list(&given["steps"]) {
        match step["op"].as_str().expect("a step") {
            "insert" => {
                for item in list(&step["items"]) {
                    let created_at = instant(&item["createdAt"]);
                    items.insert(text(&item["id"]), Key { created_at, id: text(&item["id"]) });
                }
            }
            "delete" => items.retain(|id, _| !list(&step["ids"]).contains(&json!(id))),
            _ => pages.push(listed(step, &items, &pages)),
        }
    }
    let written = pages.iter().map(|page| match page {
        None => json!("error"),
        Some(page) => json!({
            "ids": page.keys.iter().map(|key| &key.id).collect::<Vec<_>>(),
            "hasBefore": page.before.is_some(),
            "hasAfter": page.after.is_some(),
        }),
    });
    written.collect()
}

/// The call for a name; `None` if it is none of these.
pub(crate) fn call(name: &str) -> Option<fn(&Value) -> Value> {
    Some(match name {
        "schedule.should_charge" => should_charge,
        "schedule.transitions" => transitions,
        "schedule.status" => status,
        "action.run" => actions,
        "override.run" => overrides,
        "caps.merge" => merge,
        "device.charge_state" => charge_state,
        "device.pairing" => pairing,
        "page.walk" => walk,
        _ => return None,
    })
}
