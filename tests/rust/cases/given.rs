//! What cases are written in, as values of the engine.
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::units::{Percent, Price};

pub(crate) fn instant(value: &Value) -> DateTime<Utc> {
    value.as_str().expect("an instant is a string").parse().expect("an instant is RFC 3339")
}

pub(crate) fn wire(at: DateTime<Utc>) -> Value {
    json!(at.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

pub(crate) fn percent(value: &Value, absent: f64) -> Percent {
    Percent::from_percent(value.as_f64().unwrap_or(absent)).expect("a percentage")
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

pub(crate) fn curve(given: &Value) -> PriceCurve {
    let slot = |step: &Value| Slot {
        start: instant(&step["from"]),
        end: instant(&step["to"]),
        price: Price::from_per_kwh(number(&step["price"])).expect("a price"),
    };
    let steps = given["prices"].as_array().expect("prices are a list");
    PriceCurve::new(&steps.iter().map(slot).collect::<Vec<_>>()).expect("prices are in order")
}

pub(crate) fn by(given: &Value) -> Option<DateTime<Utc>> {
    (!given["deadline"].is_null()).then(|| instant(&given["deadline"]))
}
