//! Instants by which a plan has to be done.
use chrono::NaiveTime;
use chrono_tz::Tz;
use serde_json::Value;
use slackwater_engine::time::deadline::next_deadline;

use crate::given::{instant, wire};

pub(crate) fn deadline_next(given: &Value) -> Value {
    let zone: Tz = given["tz"].as_str().unwrap_or("UTC").parse().expect("a time zone");
    let time = format!("{}:00", given["deadline"].as_str().expect("HH:MM"));
    let time: NaiveTime = time.parse().expect("a time of day");
    wire(next_deadline(time, zone, instant(&given["now"])))
}
