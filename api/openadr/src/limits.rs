//! From an event to limits with start, end and priority.
//!
//! A limit is a payload of the type `IMPORT_CAPACITY_LIMIT`, in kW. What cannot be read is an error and
//! never left out: a limit that was left out would be none.
//!
//! `randomizeStart` is not followed: a limit starts at the start of its interval, the earliest instant
//! that a randomised start could have.
use chrono::{DateTime, Datelike, Utc};
use serde_json::Value;
use slackwater_control::grid_order::schedule::LimitInterval;
use slackwater_engine::units::{Power, UnitError};

use crate::duration::CalendarDuration;
use crate::event::{Event, Interval, IntervalPeriod};

/// Type of payloads that limit the power drawn from the grid.
const LIMIT_TYPE: &str = "IMPORT_CAPACITY_LIMIT";

/// Unit of these payloads.
const LIMIT_UNIT: &str = "KW";

/// Most intervals of an event, with all repetitions: a hundred days of quarter-hours are 9,600.
const INTERVALS_MAX: usize = 10_000;

/// Event that has a limit and cannot be followed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("event {id:?}: {fault}")]
pub struct EventError {
    /// The event.
    pub id: String,
    /// The fault.
    pub fault: EventFault,
}

/// Fault of an event.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EventFault {
    /// A priority that is none.
    #[error("priority {priority} is not within 0 and 4294967295")]
    Priority {
        /// As given.
        priority: i64,
    },
    /// Another unit.
    #[error("{LIMIT_TYPE} is in {units:?}; it is followed in {LIMIT_UNIT} only")]
    Units {
        /// As given.
        units: String,
    },
    /// More or fewer values than one.
    #[error("interval {interval} has {count} values of {LIMIT_TYPE}; a limit is one")]
    Count {
        /// Position of the interval, from 0.
        interval: usize,
        /// Number of values.
        count: usize,
    },
    /// A value that is no number.
    #[error("interval {interval}: {LIMIT_TYPE} {value} is not a number of kW")]
    NoNumber {
        /// Position of the interval, from 0.
        interval: usize,
        /// As given.
        value: Value,
    },
    /// A value below zero.
    #[error("interval {interval}: {LIMIT_TYPE} {given_kw} kW is below 0 kW")]
    Negative {
        /// Position of the interval, from 0.
        interval: usize,
        /// As given.
        given_kw: f64,
    },
    /// A value beyond any power.
    #[error("interval {interval}: {LIMIT_TYPE}: {reason}")]
    TooLarge {
        /// Position of the interval, from 0.
        interval: usize,
        /// Reason.
        reason: UnitError,
    },
    /// An interval without a start.
    #[error(
        "interval {interval} has no start: it is the first without one, or follows one without end"
    )]
    NoStart {
        /// Position of the interval, from 0.
        interval: usize,
    },
    /// A time that cannot be read.
    #[error("{field} {text:?} is not a time of ISO 8601")]
    Time {
        /// Name of the field.
        field: &'static str,
        /// As given.
        text: String,
    },
    /// A duration that cannot be read.
    #[error("{field} {text:?} is not a duration of ISO 8601")]
    Duration {
        /// Name of the field.
        field: &'static str,
        /// As given.
        text: String,
    },
    /// Too many intervals.
    #[error("it has more than {INTERVALS_MAX} intervals")]
    TooMany,
}

/// Limits of an event; none if it has no payload of a limit, or is for other targets.
///
/// `targets` are names of ours: an event is for us if it names one of them or nobody. Without names all
/// events are for us, since a VTN shows a client only what it may see.
///
/// # Errors
/// The event has a limit and cannot be followed.
pub fn read_limits(event: &Event, targets: &[String]) -> Result<Vec<LimitInterval>, EventError> {
    let intervals = event.intervals.as_deref().unwrap_or_default();
    if !intervals.iter().any(has_limit) || !is_for(event, targets) {
        return Ok(Vec::new());
    }
    let failed = |fault| EventError { id: event.id.clone(), fault };
    check_units(event).map_err(failed)?;
    place_intervals(event, intervals).map_err(failed)
}

fn has_limit(interval: &Interval) -> bool {
    interval.payloads.iter().any(|payload| payload.payload_type == LIMIT_TYPE)
}

fn is_for(event: &Event, names: &[String]) -> bool {
    let targets = event.targets.as_deref().unwrap_or_default();
    let is_named = |name: &String| targets.iter().any(|target| target.has_name(name));
    targets.is_empty() || names.is_empty() || names.iter().any(is_named)
}

fn check_units(event: &Event) -> Result<(), EventFault> {
    for descriptor in event.payload_descriptors.as_deref().unwrap_or_default() {
        let is_limit = descriptor.payload_type.as_deref() == Some(LIMIT_TYPE);
        if let (true, Some(units)) = (is_limit, &descriptor.units)
            && units != LIMIT_UNIT
        {
            return Err(EventFault::Units { units: units.clone() });
        }
    }
    Ok(())
}

/// Intervals on the axis of time, repeated over the duration of the event where it has one.
fn place_intervals(
    event: &Event,
    intervals: &[Interval],
) -> Result<Vec<LimitInterval>, EventFault> {
    let priority = match event.priority {
        Some(given) => {
            let fault = EventFault::Priority { priority: given };
            Some(u32::try_from(given).map_err(|_| fault)?)
        }
        None => None,
    };
    let modified = read_instant("modificationDateTime", &event.modification_date_time)?;
    let common = event.interval_period.clone().unwrap_or_default();
    let event_start = read_start(&common, modified)?;
    let duration = event.duration.as_deref().map(|text| read_duration("duration", text));
    let duration = duration.transpose()?.filter(|duration| !duration.is_zero());
    let event_end =
        duration.zip(event_start).and_then(|(duration, start)| duration.end_from(start));
    let has_start = |interval: &Interval| {
        interval.interval_period.as_ref().is_some_and(|period| period.start.is_some())
    };
    let repeats = duration.is_some() && !intervals.iter().any(has_start);
    let mut placed = Vec::new();
    let mut next = event_start;
    loop {
        for (position, interval) in intervals.iter().enumerate() {
            let own = interval.interval_period.clone().unwrap_or_default();
            let start = read_start(&own, modified)?.or(next);
            let start = start.ok_or(EventFault::NoStart { interval: position })?;
            next = match own.duration.as_ref().or(common.duration.as_ref()) {
                Some(text) => read_duration("intervalPeriod.duration", text)?.end_from(start),
                None => None,
            };
            // What lies beyond the end of the event is cut off.
            let end = [next, event_end].into_iter().flatten().min();
            if let Some(limit) = read_limit(interval, position)?
                && end.is_none_or(|end| start < end)
            {
                placed.push(LimitInterval { priority, start, end, limit });
            }
            if placed.len() > INTERVALS_MAX {
                return Err(EventFault::TooMany);
            }
        }
        // Intervals with starts of their own have fixed places, and one without end fills the rest.
        match (next, event_end) {
            (Some(next), Some(end)) if next < end && repeats => {}
            // A duration without end would repeat them for ever.
            (Some(_), None) if repeats => return Err(EventFault::TooMany),
            _ => return Ok(placed),
        }
    }
}

/// Start of a period, if it has one. The year 0 or 1 stands for "now": the last change of the event.
fn read_start(
    period: &IntervalPeriod,
    modified: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>, EventFault> {
    let Some(text) = &period.start else { return Ok(None) };
    if text.starts_with("0000-") || text.starts_with("0001-") {
        return Ok(Some(modified));
    }
    let start = read_instant("intervalPeriod.start", text)?;
    Ok(Some(if start.year() <= 1 { modified } else { start }))
}

fn read_instant(field: &'static str, text: &str) -> Result<DateTime<Utc>, EventFault> {
    text.parse().map_err(|_| EventFault::Time { field, text: text.to_owned() })
}

fn read_duration(field: &'static str, text: &str) -> Result<CalendarDuration, EventFault> {
    let fault = || EventFault::Duration { field, text: text.to_owned() };
    CalendarDuration::parse(text).ok_or_else(fault)
}

/// Limit of an interval; `None` if it has none.
fn read_limit(interval: &Interval, position: usize) -> Result<Option<Power>, EventFault> {
    if !has_limit(interval) {
        return Ok(None);
    }
    let of_limits = interval.payloads.iter().filter(|payload| payload.payload_type == LIMIT_TYPE);
    let values: Vec<&Value> = of_limits.flat_map(|payload| &payload.values).collect();
    let [value] = values[..] else {
        return Err(EventFault::Count { interval: position, count: values.len() });
    };
    let no_number = || EventFault::NoNumber { interval: position, value: value.clone() };
    let given_kw = value.as_f64().ok_or_else(no_number)?;
    if given_kw < 0.0 {
        return Err(EventFault::Negative { interval: position, given_kw });
    }
    let too_large = |reason| EventFault::TooLarge { interval: position, reason };
    Power::from_kw(given_kw).map(Some).map_err(too_large)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slackwater_control::grid_order::schedule::order_at;

    use super::*;

    /// Event as in the `OpenAPI` file of 3.1.0, with some fields in place of its own.
    fn event(changes: Value) -> Event {
        let mut event = json!({
            "id": "e1",
            "createdDateTime": "2026-01-05T11:00:00Z",
            "modificationDateTime": "2026-01-05T11:30:00Z",
            "objectType": "EVENT",
            "programID": "p1",
            "eventName": "evening",
            "priority": 2,
            "targets": [],
            "payloadDescriptors": [{
                "objectType": "EVENT_PAYLOAD_DESCRIPTOR",
                "payloadType": "IMPORT_CAPACITY_LIMIT",
                "units": "KW",
                "currency": null,
            }],
            "intervalPeriod": {"start": "2026-01-05T17:00:00Z", "duration": "PT1H", "randomizeStart": "PT5M"},
            "intervals": [
                {"id": 0, "payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": [4.2]}]},
                {"id": 1, "payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": [10]}]},
            ],
        });
        let Value::Object(changes) = changes else { panic!("no object") };
        for (name, value) in changes {
            event[name] = value;
        }
        serde_json::from_value(event).unwrap()
    }

    /// Limits of an event in kW with start and end as hours and minutes of 5 January 2026.
    fn limits(changes: Value) -> Vec<(f64, String, Option<String>)> {
        let show = |at: DateTime<Utc>| at.format("%d %H:%M").to_string();
        let placed = read_limits(&event(changes), &[]).unwrap();
        placed.iter().map(|one| (one.limit.as_kw(), show(one.start), one.end.map(show))).collect()
    }

    fn fault(changes: Value) -> String {
        read_limits(&event(changes), &[]).unwrap_err().to_string()
    }

    fn payload(value: &Value) -> Value {
        json!([{"id": 0, "payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": value}]}])
    }

    fn row(limit: f64, start: &str, end: Option<&str>) -> (f64, String, Option<String>) {
        (limit, start.to_owned(), end.map(str::to_owned))
    }

    #[test]
    fn intervals_follow_each_other_from_the_start_of_the_event() {
        let first = row(4.2, "05 17:00", Some("05 18:00"));
        assert_eq!(limits(json!({})), [first, row(10.0, "05 18:00", Some("05 19:00"))]);
        let own = json!({"intervals": [
            {"payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": [1]}]},
            {
                "intervalPeriod": {"start": "2026-01-05T20:00:00+01:00", "duration": "PT15M"},
                "payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": [2]}],
            },
            {"payloads": [{"type": "SIMPLE", "values": [1]}]},
            {"payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": [3]}]},
        ]});
        let expected = [
            row(1.0, "05 17:00", Some("05 18:00")),
            row(2.0, "05 19:00", Some("05 19:15")),
            row(3.0, "05 20:15", Some("05 21:15")),
        ];
        assert_eq!(limits(own), expected);
    }

    #[test]
    fn an_event_may_begin_now_and_have_no_end() {
        for period in [
            json!({"start": "0001-01-01T00:00:00Z"}),
            json!({"start": "0000-00-00", "duration": "PT0S"}),
            json!({"start": "0001-01-01", "duration": "P9999Y"}),
        ] {
            let found =
                limits(json!({"intervalPeriod": period, "intervals": payload(&json!([5]))}));
            assert_eq!(found, [row(5.0, "05 11:30", None)]);
        }
    }

    #[test]
    fn intervals_repeat_over_the_duration_of_the_event() {
        let expected = [
            row(4.2, "05 17:00", Some("05 18:00")),
            row(10.0, "05 18:00", Some("05 19:00")),
            row(4.2, "05 19:00", Some("05 20:00")),
            row(10.0, "05 20:00", Some("05 20:30")),
        ];
        assert_eq!(limits(json!({"duration": "PT3H30M"})), expected);
        let short = limits(json!({"duration": "PT30M"}));
        assert_eq!(short, [row(4.2, "05 17:00", Some("05 17:30"))]);
        assert_eq!(limits(json!({"duration": "PT0S"})).len(), 2);
        for duration in ["P90Y", "P9999Y"] {
            assert_eq!(
                fault(json!({ "duration": duration })),
                r#"event "e1": it has more than 10000 intervals"#
            );
        }
        // Intervals with durations of their own, and without starts, repeat as well.
        let own = |kw: f64| {
            json!({
                "intervalPeriod": {"duration": "PT1H"},
                "payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": [kw]}],
            })
        };
        let changes = json!({"duration": "PT3H30M", "intervals": [own(4.2), own(10.0)]});
        assert_eq!(limits(changes), expected);
    }

    #[test]
    fn a_day_in_which_clocks_change_has_no_gap() {
        // Two intervals of a day from midnight of 29 March 2026 in Europe/Berlin, which has 23 hours.
        let placed = read_limits(
            &event(json!({"intervalPeriod": {"start": "2026-03-29T00:00:00+01:00", "duration": "P1D"}})),
            &[],
        )
        .unwrap();
        let limit = |at: &str| {
            order_at(&placed, at.parse().unwrap()).order.map(|order| order.limit.as_kw())
        };
        assert_eq!(limit("2026-03-28T22:59:59Z"), None);
        assert_eq!(limit("2026-03-29T03:00:00+02:00"), Some(4.2));
        assert_eq!(limit("2026-03-30T00:59:59+02:00"), Some(4.2));
        assert_eq!(limit("2026-03-30T01:00:00+02:00"), Some(10.0));
        assert_eq!(limit("2026-03-31T01:00:00+02:00"), None);
    }

    #[test]
    fn an_event_for_others_has_no_limits() {
        let count = |targets: Value, ours: &[&str]| {
            let ours: Vec<String> = ours.iter().map(|&name| name.to_owned()).collect();
            read_limits(&event(json!({"targets": targets})), &ours).unwrap().len()
        };
        assert_eq!(count(json!(["north"]), &["south", "north"]), 2);
        assert_eq!(count(json!(["north"]), &["south"]), 0);
        assert_eq!(count(json!(["north"]), &[]), 2);
        assert_eq!(count(json!([]), &["south"]), 2);
        assert_eq!(count(Value::Null, &["south"]), 2);
        // As 3.0 has them.
        let old = json!([{"type": "GROUP", "values": ["north", "east"]}]);
        assert_eq!((count(old.clone(), &["east"]), count(old, &["west"])), (2, 0));
    }

    #[test]
    fn other_payloads_are_no_limits_and_are_not_read() {
        let other = json!([{"payloads": [{"type": "PRICE", "values": ["?"]}]}]);
        assert_eq!(limits(json!({"intervals": other, "priority": -1})), []);
        assert_eq!(limits(json!({"intervals": null})), []);
    }

    #[test]
    fn limits_that_make_no_sense_are_refused_with_the_event_and_the_value() {
        for (values, expected) in [
            (json!([-3.5]), "interval 0: IMPORT_CAPACITY_LIMIT -3.5 kW is below 0 kW"),
            (json!([1e9]), "interval 0: IMPORT_CAPACITY_LIMIT: 1e9 kW is beyond 1e7"),
            (json!(["4"]), r#"interval 0: IMPORT_CAPACITY_LIMIT "4" is not a number of kW"#),
            (json!([]), "interval 0 has 0 values of IMPORT_CAPACITY_LIMIT; a limit is one"),
            (json!([1, 2]), "interval 0 has 2 values of IMPORT_CAPACITY_LIMIT; a limit is one"),
        ] {
            let found = fault(json!({"intervals": payload(&values)}));
            let expected = format!(r#"event "e1": {expected}"#);
            assert!(found.starts_with(&expected), "{found}");
        }
        for (changes, expected) in [
            (json!({"priority": -1}), "priority -1 is not within 0 and 4294967295"),
            (json!({"duration": "1h"}), r#"duration "1h" is not a duration of ISO 8601"#),
            (json!({"intervalPeriod": null}), "interval 0 has no start"),
            (
                json!({"intervalPeriod": {"start": "2026-01-05T17:00:00Z"}}),
                "interval 1 has no start: it is the first without one, or follows one without end",
            ),
            (
                json!({"intervalPeriod": {"start": "tomorrow"}}),
                r#"intervalPeriod.start "tomorrow" is not a time of ISO 8601"#,
            ),
            (
                json!({"payloadDescriptors": [{"payloadType": "IMPORT_CAPACITY_LIMIT", "units": "W"}]}),
                r#"IMPORT_CAPACITY_LIMIT is in "W"; it is followed in KW only"#,
            ),
        ] {
            let found = fault(changes);
            assert!(found.contains(expected), "{found}");
        }
    }
}
