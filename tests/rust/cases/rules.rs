//! Calls for the cases about tariffs, price signals and policies.
use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use serde_json::{Value, json};
use slackwater_control::policy::charger::{
    ChargerFacts, ChargerPolicy, charger_state, prices_cover,
};
use slackwater_control::policy::flex::{
    DayRequest, FlexPatch, FlexPolicy, FlexRequest, ReserveRule,
};
use slackwater_control::policy::flex_facts::FlexFacts;
use slackwater_control::policy::flex_status::flex_state;
use slackwater_control::policy::vehicle::{VehiclePolicy, VehiclePolicyRequest};
use slackwater_engine::plan::charge::{
    AfterDeadline, Battery, ChargeProblem, Plan, SocTarget, VehicleRequest, plan_charge,
};
use slackwater_engine::prices::currency::Currency;
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::prices::resolve::{Sources, resolve_at};
use slackwater_engine::prices::signal::{PriceSignal, SignalRequest, SignalValue, Zone};
use slackwater_engine::prices::tariff::{
    IntervalRequest, RateRequest, Rates, Tariff, WeeklyIntervals,
};
use slackwater_engine::time::hour_minute::{HourMinute, HourMinuteError};
use slackwater_engine::units::{Energy, Percent, Power, Price};
use slackwater_wire::words::{charger_state_name, flex_state_name};

/// The answer, or `None` where the engine or the form of the case refuses it.
type Answer = Option<Value>;

/// Answers a case, if its `fn` is one of these.
pub(crate) fn answer(name: &str, given: &Value) -> Option<Value> {
    let answer = match name {
        "tariff.intervals.validate" => {
            intervals(&given["tariffIntervals"]).map(|_| json!("accept"))
        }
        "price.resolve" => price_resolve(given),
        "signal.apply" => applied(&given["puts"]).map(|curve| steps(&curve)),
        "signal.price_at" => signal_price_at(given),
        "signal.validate" => signal_validate(given),
        "flex.validate" => flex_policy(given, given).map(|_| json!("accept")),
        "flex.patch" => flex_patch(given),
        "flex.next" => flex_next(given),
        "flex.state" => state(given),
        "plan.vehicle" => vehicle(given),
        "plan.charger" => charger(given),
        "plan.charger_state" => state_of_charger(given),
        _ => return None,
    };
    Some(answer.unwrap_or_else(|| json!("reject")))
}

fn instant(value: &Value) -> Option<DateTime<Utc>> {
    Some(DateTime::parse_from_rfc3339(value.as_str()?).ok()?.to_utc())
}

fn wire(at: DateTime<Utc>) -> Value {
    json!(at.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true))
}

fn zone(given: &Value) -> Option<Tz> {
    given["tz"].as_str().unwrap_or("UTC").parse().ok()
}

fn clock(value: &Value) -> Result<Option<HourMinute>, HourMinuteError> {
    value.as_str().map(HourMinute::parse).transpose()
}

fn percent(value: &Value) -> Option<Percent> {
    Percent::from_percent(value.as_f64()?).ok()
}

fn curve(steps: &Value) -> Option<PriceCurve> {
    let slot = |step: &Value| {
        let price = Price::from_per_kwh(step["price"].as_f64()?).ok()?;
        Some(Slot { start: instant(&step["from"])?, end: instant(&step["to"])?, price })
    };
    let slots: Option<Vec<Slot>> = steps.as_array()?.iter().map(slot).collect();
    PriceCurve::new(&slots?).ok()
}

fn steps(curve: &PriceCurve) -> Value {
    let step = |slot: Slot| {
        let (from, to) = (wire(slot.start), wire(slot.end));
        json!({ "from": from, "to": to, "price": slot.price.as_per_kwh() })
    };
    curve.slots().map(step).collect()
}

fn intervals(given: &Value) -> Option<WeeklyIntervals> {
    let interval = |given: &Value| {
        let weekdays = given["weekdays"].as_array();
        Some(IntervalRequest {
            name: given["name"].as_str()?.into(),
            weekdays: weekdays.map(|days| days.iter().filter_map(Value::as_i64).collect()),
            start: clock(&given["from"]).ok()?,
            end: clock(&given["to"]).ok()?,
        })
    };
    let requests: Option<Vec<_>> = given.as_array()?.iter().map(interval).collect();
    WeeklyIntervals::new(requests?).ok()
}

fn price_resolve(given: &Value) -> Answer {
    let rate = |given: &Value| {
        let (name, cost) = (given["name"].as_str()?, given["cost"].as_str()?);
        Some(RateRequest { name: name.into(), cost: cost.into() })
    };
    let rates: Option<Vec<_>> = given["rates"].as_array()?.iter().map(rate).collect();
    let tariff =
        Tariff::new(Rates::new(&rates?).ok()?, intervals(&given["tariffIntervals"])?).ok()?;
    let (zone, market) = (zone(given)?, curve(&given["market"])?);
    let price = |at: &Value| {
        let at = instant(at)?;
        let tariff = tariff.moment(zone, at).ok()?;
        let sources = Sources { price_signal: None, tariff: Some(&tariff), market: Some(&market) };
        let found = resolve_at(sources, at);
        let (price, source) = found.map(|(p, s)| (p.as_per_kwh(), s.as_str())).unzip();
        Some(json!({ "price": price, "source": source }))
    };
    given["at"].as_array()?.iter().map(price).collect()
}

fn signal(body: &Value) -> Option<PriceSignal> {
    let value = |given: &Value| {
        let price = Price::from_per_kwh(given["price"].as_f64()?).ok()?;
        Some(SignalValue { at: instant(&given["at"])?, price })
    };
    let values: Option<Vec<_>> = body["values"].as_array()?.iter().map(value).collect();
    let currency = body["currency"].as_str()?.into();
    PriceSignal::new(&SignalRequest { currency, to: instant(&body["to"])?, values: values? }).ok()
}

/// Prices after all signals; an area is in the currency of its first one.
fn applied(puts: &Value) -> Option<PriceCurve> {
    let mut prices = PriceCurve::new(&[]).ok()?;
    let mut currency = None;
    for body in puts.as_array()? {
        let signal = signal(body)?;
        let zone =
            Zone { is_activated: true, currency: *currency.get_or_insert(signal.currency()) };
        signal.check_zone(zone).ok()?;
        prices = signal.replacing(&prices);
    }
    Some(prices)
}

fn signal_price_at(given: &Value) -> Answer {
    let prices = applied(&given["puts"])?;
    let price = |at| Some(json!(prices.price_at(instant(at)?).map(Price::as_per_kwh)));
    given["at"].as_array()?.iter().map(price).collect()
}

fn signal_validate(given: &Value) -> Answer {
    let signal = signal(&given["body"])?;
    let zone = &given["zone"];
    if !zone.is_null() {
        let currency = Currency::parse(zone["currency"].as_str()?).ok()?;
        signal.check_zone(Zone { is_activated: zone["activated"].as_bool()?, currency }).ok()?;
    }
    Some(json!("accept"))
}

fn days(given: &Value) -> BTreeMap<String, DayRequest> {
    let day = |given: &Value| DayRequest {
        deadline: given["deadline"].as_str().map(Into::into),
        target_percent: given["minimumChargeTarget"].as_f64(),
    };
    let days = given.as_object().into_iter().flatten();
    days.map(|(name, wish)| (name.clone(), day(wish))).collect()
}

fn flex_request(given: &Value) -> Option<FlexRequest> {
    Some(FlexRequest {
        reserve_percent: given["batteryReserve"].as_f64()?,
        schedule: days(&given["schedule"]),
        observed_limit_percent: given["lastObservedLocationChargeLimit"].as_f64().unwrap_or(100.0),
    })
}

fn rule(given: &Value) -> Option<ReserveRule> {
    let fixed = &given["fixedReserve"];
    if fixed.is_null() { Some(ReserveRule::Range) } else { percent(fixed).map(ReserveRule::Fixed) }
}

fn flex_policy(policy: &Value, given: &Value) -> Option<FlexPolicy> {
    FlexPolicy::new(&flex_request(policy)?, rule(given)?).ok()
}

fn flex_patch(given: &Value) -> Answer {
    let patch = given["patch"].as_object()?;
    if patch.values().any(Value::is_null) {
        return None;
    }
    let patch = FlexPatch {
        reserve_percent: given["patch"]["batteryReserve"].as_f64(),
        schedule: days(&given["patch"]["schedule"]),
    };
    let merged = flex_request(&given["policy"])?.patched(&patch, rule(given)?).ok()?.request();
    let mut policy = given["policy"].clone();
    policy["batteryReserve"] = json!(merged.reserve_percent);
    let day = |day: &DayRequest| json!({ "deadline": day.deadline, "minimumChargeTarget": day.target_percent });
    policy["schedule"] =
        merged.schedule.iter().map(|(name, wish)| (name.clone(), day(wish))).collect();
    Some(policy)
}

fn flex_next(given: &Value) -> Answer {
    let request = FlexRequest {
        reserve_percent: 0.0,
        schedule: days(&given["schedule"]),
        observed_limit_percent: 100.0,
    };
    let policy = FlexPolicy::stored(&request).ok()?;
    let limit = percent(&given["chargeLimit"]);
    let next = policy.next_deadline(zone(given)?, instant(&given["now"])?, limit);
    let shown =
        next.map(|next| json!({ "deadline": wire(next.at), "target": next.target.as_percent() }));
    Some(json!(shown))
}

fn state(given: &Value) -> Answer {
    let facts = FlexFacts {
        policy_location: given["policyLocationId"].as_str()?.into(),
        vehicle_location: given["vehicleLocationId"].as_str().map(Into::into),
        is_plugged_in: given["isPluggedIn"].as_bool(),
        soc: percent(&given["batteryLevel"]),
        charge_limit: percent(&given["chargeLimit"]),
    };
    let state = flex_state(percent(&given["batteryReserve"])?, &facts);
    Some(json!(flex_state_name(state).unwrap_or("other")))
}

fn intervals_of(plan: &Plan) -> Value {
    plan.intervals.iter().map(|i| json!({ "from": wire(i.start), "to": wire(i.end) })).collect()
}

/// A target is planned for as such; without one the smart charging policy counts.
fn vehicle_request(given: &Value) -> Option<VehicleRequest> {
    let battery = Battery {
        capacity: Energy::from_kwh(given["capacityKwh"].as_f64()?).ok()?,
        soc: percent(&given["batteryLevel"]),
        soc_fallback: None,
        charge_limit: percent(&given["chargeLimit"]).unwrap_or(Percent::FULL),
        efficiency: 1.0,
    };
    let (now, by) = (instant(&given["now"])?, instant(&given["deadline"]));
    let power_max = Power::from_kw(given["kw"].as_f64()?).ok()?;
    let at_once = given["immediateTo"].as_f64().unwrap_or(0.0);
    let is_target = !given["target"].is_null();
    let minimum_charge_limit_percent = if is_target { 0.0 } else { at_once };
    let policy =
        VehiclePolicyRequest { is_enabled: true, deadline: None, minimum_charge_limit_percent };
    let policy = VehiclePolicy::new(policy, Some(battery.charge_limit)).ok()?;
    let mut request = policy.request(now, by, power_max, battery);
    if is_target {
        request.targets = vec![SocTarget { by, soc: Some(percent(&given["target"])?) }];
        request.reserve = Percent::from_percent(at_once).ok()?;
    }
    request.after_deadline = AfterDeadline::Stop;
    Some(request)
}

fn vehicle(given: &Value) -> Answer {
    let request = vehicle_request(given)?;
    let problem = ChargeProblem::new(request.in_energy().ok()?).ok()?;
    let plan = plan_charge(&curve(&given["prices"])?, &problem);
    let by = instant(&given["deadline"]);
    let delivered = by.map_or(plan.energy, |by| plan.energy_by(by));
    Some(json!({
        "intervals": intervals_of(&plan),
        "energyKwh": plan.energy.as_kwh(),
        "cost": plan.cost.as_amount(),
        "levelAtDeadline": request.soc_after(delivered).ok()?.as_percent(),
        "feasible": plan.shortfall <= Energy::ZERO,
    }))
}

fn charger(given: &Value) -> Answer {
    let charging_duration = clock(&given["chargingDuration"]).ok()?;
    let policy = ChargerPolicy { is_enabled: true, deadline: None, charging_duration };
    let (now, by) = (instant(&given["now"])?, instant(&given["deadline"]));
    let problem = ChargeProblem::new(policy.request(now, by, TimeDelta::zero())).ok()?;
    let plan = plan_charge(&curve(&given["prices"])?, &problem);
    Some(json!({
        "intervals": intervals_of(&plan),
        "priceHours": plan.cost.as_amount(),
        "feasible": plan.shortfall <= Energy::ZERO,
    }))
}

fn state_of_charger(given: &Value) -> Answer {
    let (now, by) = (instant(&given["now"])?, instant(&given["deadline"]));
    let facts = ChargerFacts {
        is_enabled: given["isEnabled"].as_bool()?,
        is_reachable: given["isReachable"].as_bool(),
        is_plugged_in: given["isPluggedIn"].as_bool(),
        is_charging: given["isCharging"].as_bool(),
        are_prices_known: prices_cover(&curve(&given["prices"])?, now, by),
    };
    Some(json!(charger_state_name(charger_state(facts))))
}
