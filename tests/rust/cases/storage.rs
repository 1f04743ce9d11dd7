//! Batteries that also discharge.
use serde_json::{Value, json};
use slackwater_engine::plan::charge::{Battery, SocTarget};
use slackwater_engine::plan::storage::{Consumption, StorageProblem, StorageRequest, plan_storage};
use slackwater_engine::units::{Energy, Power, Price};

use crate::given::{by, curve, instant, number, percent};

pub(crate) fn storage(given: &Value) -> Value {
    let or = |name: &str, absent: f64| given[name].as_f64().unwrap_or(absent);
    let power = Power::from_kw(number(&given["kw"])).expect("a power");
    let battery = Battery {
        capacity: Energy::from_kwh(number(&given["capacityKwh"])).expect("an energy"),
        soc: Some(percent(&given["batteryLevel"], 0.0)),
        soc_fallback: None,
        charge_limit: percent(&given["chargeLimit"], 100.0),
        efficiency: or("efficiency", 1.0),
    };
    let mut request = StorageRequest::new(instant(&given["now"]), battery, power);
    request.efficiency_discharge = or("efficiencyDischarge", 1.0);
    request.reserve = percent(&given["reserve"], 0.0);
    request.end_value = Some(Price::from_per_kwh(or("endValue", 0.0)).expect("a price"));
    request.wear_price = Price::from_per_kwh(or("wear", 0.0)).expect("a price");
    if !given["target"].is_null() {
        request
            .targets
            .push(SocTarget { by: by(given), soc: Some(percent(&given["target"], 0.0)) });
    }
    for drive in given["drives"].as_array().into_iter().flatten() {
        request.consumption.push(Consumption {
            start: instant(&drive["from"]),
            end: instant(&drive["to"]),
            energy: Energy::from_kwh(number(&drive["kwh"])).expect("an energy"),
            is_plugged_in: false,
        });
    }
    let export = (!given["exportPrices"].is_null())
        .then(|| curve(&json!({ "prices": given["exportPrices"] })));
    let problem = StorageProblem::new(request).expect("it makes sense");
    let plan = plan_storage(&curve(given), export.as_ref(), &problem);
    let end = plan.slots.last().expect("there are slots").end;
    json!({
        "cost": plan.cost.as_amount(),
        "chargedKwh": plan.charged.as_kwh(),
        "dischargedKwh": plan.discharged.as_kwh(),
        "levelAtEnd": plan.soc_at(end).as_percent(),
        "shortfallKwh": plan.shortfall.as_kwh(),
        "unservedKwh": plan.unserved.as_kwh(),
        "savings": plan.savings().as_amount(),
        "proved": plan.certificate.is_proved(),
    })
}
