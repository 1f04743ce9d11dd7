//! The cases of `tests/cases` through the engine's public functions. The same
//! files run through the Python package, so the two agree.
use chrono::{DateTime, NaiveTime, SecondsFormat, TimeDelta, Utc};
use chrono_tz::Tz;
use serde_json::{Value, json};
use slackwater_engine::plan::charge::plan_charge;
use slackwater_engine::plan::plan::Plan;
use slackwater_engine::plan::problem::{AfterDeadline, ChargeProblem, Request, Target};
use slackwater_engine::plan::vehicle::{Battery, SocTarget, VehicleRequest};
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::time::deadline::next_deadline;
use slackwater_engine::units::{Energy, Percent, Power, Price};

fn instant(value: &Value) -> DateTime<Utc> {
    value.as_str().expect("an instant is a string").parse().expect("an instant is RFC 3339")
}

fn wire(at: DateTime<Utc>) -> Value {
    json!(at.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

fn percent(value: &Value, absent: f64) -> Percent {
    Percent::from_percent(value.as_f64().unwrap_or(absent)).expect("a percentage")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn curve(given: &Value) -> PriceCurve {
    let slot = |step: &Value| Slot {
        start: instant(&step["from"]),
        end: instant(&step["to"]),
        price: Price::from_per_kwh(number(&step["price"])).expect("a price"),
    };
    let steps = given["prices"].as_array().expect("prices are a list");
    PriceCurve::new(&steps.iter().map(slot).collect::<Vec<_>>()).expect("prices are in order")
}

fn by(given: &Value) -> Option<DateTime<Utc>> {
    (!given["deadline"].is_null()).then(|| instant(&given["deadline"]))
}

fn intervals(plan: &Plan) -> Value {
    plan.intervals.iter().map(|i| json!({ "from": wire(i.start), "to": wire(i.end) })).collect()
}

fn deadline_next(given: &Value) -> Value {
    let zone: Tz = given["tz"].as_str().unwrap_or("UTC").parse().expect("a time zone");
    let time = format!("{}:00", given["deadline"].as_str().expect("HH:MM"));
    let time: NaiveTime = time.parse().expect("a time of day");
    wire(next_deadline(time, zone, instant(&given["now"])))
}

fn vehicle(given: &Value) -> Value {
    let request = VehicleRequest {
        now: instant(&given["now"]),
        until: None,
        power_max: Power::from_kw(number(&given["kw"])).expect("a power"),
        power_limits: Vec::new(),
        battery: Battery {
            capacity: Energy::from_kwh(number(&given["capacityKwh"])).expect("an energy"),
            soc: Some(percent(&given["batteryLevel"], 0.0)),
            soc_fallback: None,
            charge_limit: percent(&given["chargeLimit"], 100.0),
            efficiency: 1.0,
        },
        targets: vec![SocTarget {
            by: by(given),
            soc: (!given["target"].is_null()).then(|| percent(&given["target"], 0.0)),
        }],
        reserve: percent(&given["immediateTo"], 0.0),
        fill_when_negative: false,
        after_deadline: AfterDeadline::Continue,
    };
    let energies = request.in_energy().expect("the vehicle makes sense");
    let plan = plan_charge(&curve(given), &ChargeProblem::new(energies).expect("it makes sense"));
    let delivered = by(given).map_or(plan.energy, |by| plan.energy_by(by));
    let level = request.soc_after(delivered).expect("the state of charge is known");
    json!({
        "intervals": intervals(&plan),
        "energyKwh": plan.energy.as_kwh(),
        "cost": plan.cost.as_amount(),
        "levelAtDeadline": level.as_percent(),
        "feasible": plan.shortfall <= Energy::ZERO,
    })
}

fn charger(given: &Value) -> Value {
    let duration = given["chargingDuration"].as_str().unwrap_or("00:00");
    let (hours, minutes) = duration.split_once(':').expect("HH:MM");
    let minutes = TimeDelta::minutes(minutes.parse().expect("minutes"));
    let duration = TimeDelta::hours(hours.parse().expect("hours")) + minutes;
    let power = Power::from_kw(1.0).expect("a power");
    let target = Target { by: by(given), energy: power.over(duration) };
    let request = Request::new(instant(&given["now"]), power, target);
    let plan = plan_charge(&curve(given), &ChargeProblem::new(request).expect("it makes sense"));
    json!({
        "intervals": intervals(&plan),
        "priceHours": plan.cost.as_amount(),
        "feasible": plan.shortfall <= Energy::ZERO,
    })
}

fn same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Number(a), Value::Number(b)) => a
            .as_f64()
            .zip(b.as_f64())
            .is_some_and(|(a, b)| (a - b).abs() <= 1e-9 * a.abs().max(1.0)),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

fn run(text: &str) -> usize {
    let cases: Vec<Value> = serde_json::from_str(text).expect("cases are JSON");
    let mut failures = String::new();
    for case in &cases {
        let got = match case["fn"].as_str().unwrap_or_default() {
            "deadline.next" => deadline_next(&case["input"]),
            "plan.vehicle" => vehicle(&case["input"]),
            "plan.charger" => charger(&case["input"]),
            other => panic!("no call for {other}"),
        };
        if !same(&case["expected"], &got) {
            failures += &[&case["id"].to_string(), ": ", &got.to_string(), "\n"].concat();
        }
    }
    assert!(failures.is_empty(), "{failures}");
    cases.len()
}

#[test]
fn plans() {
    assert!(run(include_str!("../cases/plan.json")) > 10);
}

#[test]
fn times() {
    assert!(run(include_str!("../cases/time.json")) > 5);
}
