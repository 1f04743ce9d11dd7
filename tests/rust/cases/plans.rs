//! Instants by which a plan has to be done.
use chrono_tz::Tz;
use serde_json::Value;
use slackwater_engine::time::deadline::next_deadline;
use slackwater_engine::time::hour_minute::HourMinute;

use crate::given::{instant, wire};

pub(crate) fn deadline_next(given: &Value) -> Value {
    let zone: Tz = given["tz"].as_str().unwrap_or("UTC").parse().expect("a time zone");
    let deadline = HourMinute::parse(given["deadline"].as_str().expect("a text"));
    let next = |time: HourMinute| wire(next_deadline(time.time(), zone, instant(&given["now"])));
    deadline.map_or_else(|_| "reject".into(), next)
}
