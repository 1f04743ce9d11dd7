//! Vehicles and chargers.
use chrono::{NaiveTime, TimeDelta};
use chrono_tz::Tz;
use serde_json::{Value, json};
use slackwater_engine::plan::charge::plan_charge;
use slackwater_engine::plan::plan::Plan;
use slackwater_engine::plan::problem::{AfterDeadline, ChargeProblem, Request, Target};
use slackwater_engine::plan::vehicle::{Battery, SocTarget, VehicleRequest};
use slackwater_engine::time::deadline::next_deadline;
use slackwater_engine::units::{Energy, Power};

use crate::given::{by, curve, instant, number, percent, wire};

fn intervals(plan: &Plan) -> Value {
    plan.intervals.iter().map(|i| json!({ "from": wire(i.start), "to": wire(i.end) })).collect()
}

pub(crate) fn deadline_next(given: &Value) -> Value {
    let zone: Tz = given["tz"].as_str().unwrap_or("UTC").parse().expect("a time zone");
    let time = format!("{}:00", given["deadline"].as_str().expect("HH:MM"));
    let time: NaiveTime = time.parse().expect("a time of day");
    wire(next_deadline(time, zone, instant(&given["now"])))
}

pub(crate) fn vehicle(given: &Value) -> Value {
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

pub(crate) fn charger(given: &Value) -> Value {
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
