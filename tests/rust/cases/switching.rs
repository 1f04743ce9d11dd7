//! Devices that switch.
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_engine::plan::charge::Target;
use slackwater_engine::plan::switching::{
    DeviceState, SwitchingInterval, SwitchingProblem, SwitchingRequest, plan_switching,
};
use slackwater_engine::units::{Energy, Money, Power};

use crate::given::{curve, instant, number, wire};

pub(crate) fn switching(given: &Value) -> Value {
    let minutes = |name: &str| TimeDelta::minutes(given[name].as_i64().unwrap_or(0));
    let power = |name: &str| Power::from_kw(number(&given[name])).expect("a power");
    let energy = Energy::from_kwh(number(&given["kwh"])).expect("an energy");
    let target = Target { by: None, energy };
    let mut request = SwitchingRequest::new(instant(&given["now"]), power("kw"), target);
    request.power_min = power("kwMin");
    request.start_cost =
        Money::from_amount(given["startCost"].as_f64().unwrap_or(0.0)).expect("an amount");
    request.sessions_max = given["sessionsMax"].as_u64().map(|most| most as u32);
    request.one_block = given["oneBlock"].as_bool().unwrap_or(false);
    (request.on_min, request.off_min) = (minutes("onMinMinutes"), minutes("offMinMinutes"));
    request.run_last = minutes("runLastMinutes");
    if !given["runningSince"].is_null() {
        request.state = DeviceState::RunningSince(instant(&given["runningSince"]));
    } else if !given["stoppedSince"].is_null() {
        request.state = DeviceState::StoppedSince(instant(&given["stoppedSince"]));
    }
    let curve = curve(given);
    let plan = plan_switching(&SwitchingProblem::new(request, &curve).expect("it makes sense"));
    let interval = |i: &SwitchingInterval| json!({ "from": wire(i.start), "to": wire(i.end), "kw": i.power.as_kw() });
    json!({
        "intervals": plan.intervals.iter().map(interval).collect::<Value>(),
        "cost": plan.cost.as_amount(),
        "energyKwh": plan.energy.as_kwh(),
        "sessions": plan.sessions.len(),
        "shortfallKwh": plan.shortfall.as_kwh(),
        "unmet": plan.unmet.iter().map(|wish| json!(wish.as_str())).collect::<Value>(),
    })
}
