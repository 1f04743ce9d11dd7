//! Batteries under a price of the measured power.
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_engine::bill::load::EarlierPeak;
use slackwater_engine::bill::tariff::BillingTariff;
use slackwater_engine::plan::capacity::plan::plan_capacity;
use slackwater_engine::plan::capacity::request::{CapacityProblem, CapacityRequest, LoadPeriod};
use slackwater_engine::plan::charge::{Battery, SocTarget};
use slackwater_engine::plan::storage::StorageRequest;
use slackwater_engine::units::{Energy, Power, Price};

use crate::given::{curve, instant, number, percent};

pub(crate) fn capacity(given: &Value) -> Value {
    let or = |name: &str, absent: f64| given[name].as_f64().unwrap_or(absent);
    let power = |value: f64| Power::from_kw(value).expect("a power");
    let battery = Battery {
        capacity: Energy::from_kwh(number(&given["capacityKwh"])).expect("an energy"),
        soc: Some(percent(&given["batteryLevel"], 0.0)),
        soc_fallback: None,
        charge_limit: percent(&given["chargeLimit"], 100.0),
        efficiency: or("efficiency", 1.0),
    };
    let now = instant(&given["now"]);
    let mut storage = StorageRequest::new(now, battery, power(number(&given["kw"])));
    storage.discharge_max = power(or("dischargeKw", 0.0));
    storage.end_value = Some(Price::from_per_kwh(or("endValue", 0.0)).expect("a price"));
    if !given["target"].is_null() {
        storage.targets.push(SocTarget { by: None, soc: Some(percent(&given["target"], 0.0)) });
    }
    let load = given["load"].as_array().into_iter().flatten().enumerate().map(|(hour, kw)| {
        let start = now + TimeDelta::hours(hour as i64);
        LoadPeriod { start, end: start + TimeDelta::hours(1), power: power(number(kw)) }
    });
    let peaks = given["peaks"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|peak| EarlierPeak { at: instant(&peak["at"]), power: power(number(&peak["kw"])) });
    let tariff: BillingTariff = serde_json::from_value(given["tariff"].clone()).expect("a tariff");
    let (load, peaks) = (load.collect(), peaks.collect());
    let problem = CapacityProblem::new(CapacityRequest { storage, tariff, load, peaks });
    let plan = plan_capacity(&curve(given), None, &problem.expect("it makes sense"));
    let plan = plan.expect("the tariff can be planned");
    let month = |month: &slackwater_engine::plan::capacity::plan::MonthPower| {
        json!({
            "month": month.month.to_string(),
            "powerKw": month.power.as_kw(),
            "charge": month.charge.as_amount(),
        })
    };
    json!({
        "energy": plan.cost.energy.as_amount(),
        "power": plan.cost.power.as_amount(),
        "months": plan.cost.months.iter().map(month).collect::<Vec<_>>(),
        "shortfallKwh": plan.shortfall.as_kwh(),
        "proved": plan.certificate.is_proved(),
    })
}
