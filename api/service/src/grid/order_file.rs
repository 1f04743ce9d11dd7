//! File with the order of a grid operator, which another program writes.
//!
//! ```json
//! {"limit_kw": 4.2, "until": "2026-01-05T20:00:00Z", "heartbeat": "2026-01-05T18:00:00Z"}
//! ```
//!
//! `limit_kw` is null or absent without an order, and `until` for an order without an end. The program
//! writes another file beside it and renames that, so that no reader sees half of it. A file that is
//! missing, malformed or stale is silence: it changes nothing, and the fail-safe follows.
use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use slackwater_control::grid_order::limit::{GridLimit, GridMessage, GridOrder, GridReason};
use slackwater_engine::units::Power;

/// Largest size of the file.
const BYTES_MAX: u64 = 4096;

/// Largest difference by which the clock of the sender may be ahead.
const AHEAD_MAX: TimeDelta = TimeDelta::seconds(60);

/// Content of the file.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderFile {
    /// Highest power drawn from the grid; `None` without an order.
    #[serde(rename = "limit_kw")]
    limit: Option<Power>,
    /// End of the order.
    until: Option<DateTime<Utc>>,
    /// Time at which the sender was alive.
    heartbeat: DateTime<Utc>,
}

/// Reads the file of a sender.
///
/// # Errors
/// The fault in words: the file cannot be read, is no file or too large, or holds no order.
pub fn read_order_file(file: &Path, now: DateTime<Utc>) -> Result<OrderFile, String> {
    let facts = std::fs::metadata(file).map_err(|error| error.to_string())?;
    // A pipe without a writer would be read for ever.
    if !facts.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let size = facts.len();
    if size > BYTES_MAX {
        return Err(format!("it has {size} bytes; an order has at most {BYTES_MAX}"));
    }
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    parse_order(&text, now)
}

fn parse_order(text: &str, now: DateTime<Utc>) -> Result<OrderFile, String> {
    let order: OrderFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if let Some(limit) = order.limit.filter(|limit| *limit < Power::ZERO) {
        return Err(format!("limit_kw: {} kW is below 0 kW", limit.as_kw()));
    }
    if order.limit.is_none() && order.until.is_some() {
        return Err("until: there is no limit_kw that could end".to_owned());
    }
    if order.heartbeat > now + AHEAD_MAX {
        return Err(format!("heartbeat: {} is in the future; it is {now}", order.heartbeat));
    }
    Ok(order)
}

/// State after a file was read, and the messages in it that are new. A file without a new sign of
/// life says nothing: whoever wrote it may be gone.
#[must_use]
pub fn take_order(
    limit: GridLimit,
    file: &OrderFile,
    now: DateTime<Utc>,
) -> (GridLimit, Option<GridMessage>) {
    if file.heartbeat <= limit.heard_at() {
        return (limit, None);
    }
    let limit = limit.heard(file.heartbeat, now);
    let wanted = file.limit.map(|limit| GridOrder { limit, until: file.until });
    let wanted = wanted.filter(|order| order.until.is_none_or(|until| now < until));
    let is_same = limit.order(now) == wanted;
    if is_same && limit.in_force(now).reason != GridReason::FailSafe {
        return (limit, None);
    }
    let message = wanted.map_or(GridMessage::Release, GridMessage::Order);
    (limit.after(message, now), (!is_same).then_some(message))
}

#[cfg(test)]
mod tests {
    use slackwater_control::grid_order::limit::FailSafe;
    use slackwater_engine::units::kw;

    use super::*;

    fn second(seconds: i64) -> DateTime<Utc> {
        "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(seconds)
    }

    fn file(limit: Option<f64>, until: Option<i64>, heartbeat: i64) -> OrderFile {
        let (limit, until) = (limit.map(kw), until.map(second));
        OrderFile { limit, until, heartbeat: second(heartbeat) }
    }

    #[test]
    fn a_file_is_checked_before_it_counts() {
        let parse = |text: &str| parse_order(text, second(0));
        let read = parse(r#"{"limit_kw": 4.2, "heartbeat": "2026-01-05T12:00:00Z"}"#);
        assert_eq!(read, Ok(file(Some(4.2), None, 0)));
        let free =
            parse(r#"{"limit_kw": null, "until": null, "heartbeat": "2026-01-05T12:00:30Z"}"#);
        assert_eq!(free, Ok(file(None, None, 30)));
        for (text, expected) in [
            ("", "EOF while parsing"),
            (r#"{"limit_kw": 4.2, "hear"#, "EOF while parsing"),
            (r#"{"limit_kw": 4.2}"#, "missing field `heartbeat`"),
            (r#"{"limit": 4.2, "heartbeat": "2026-01-05T12:00:00Z"}"#, "unknown field `limit`"),
            (
                r#"{"limit_kw": -1, "heartbeat": "2026-01-05T12:00:00Z"}"#,
                "limit_kw: -1 kW is below 0 kW",
            ),
            (r#"{"limit_kw": "4", "heartbeat": "2026-01-05T12:00:00Z"}"#, "invalid type: string"),
            (r#"{"limit_kw": 4, "heartbeat": "2026-01-05T12:01:01Z"}"#, "heartbeat: 2026-01-05"),
            (
                r#"{"until": "2026-01-05T13:00:00Z", "heartbeat": "2026-01-05T12:00:00Z"}"#,
                "until: there is no limit_kw",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let fault = |path: &Path| read_order_file(path, second(0)).unwrap_err();
        assert_eq!(fault(folder.path()), "it is not a regular file");
        let path = folder.path().join("order.json");
        assert!(fault(&path).contains("No such file"), "{}", fault(&path));
        std::fs::write(&path, " ".repeat(5000)).unwrap();
        assert_eq!(fault(&path), "it has 5000 bytes; an order has at most 4096");
    }

    #[test]
    fn a_file_that_nobody_writes_anew_is_silence() {
        let fail_safe = FailSafe {
            limit: kw(3.0),
            silence_max: TimeDelta::seconds(120),
            hold_min: TimeDelta::seconds(7200),
        };
        let mut limit = GridLimit::new(Some(fail_safe), second(0));
        let mut read = |read: OrderFile, at: i64| {
            let (next, message) = take_order(limit, &read, second(at));
            limit = next;
            (limit.in_force(second(at)).limit.map(Power::as_kw), message.is_some())
        };
        assert_eq!(read(file(Some(10.0), None, 5), 5), (Some(10.0), true));
        // Nothing new, then a heartbeat alone.
        assert_eq!(read(file(Some(10.0), None, 5), 60), (Some(10.0), false));
        assert_eq!(read(file(Some(10.0), None, 65), 66), (Some(10.0), false));
        // Another limit with an old heartbeat says nothing.
        assert_eq!(read(file(Some(20.0), None, 65), 70), (Some(10.0), false));
        assert_eq!(read(file(Some(10.0), None, 65), 184), (Some(10.0), false));
        assert_eq!(read(file(Some(10.0), None, 65), 185), (Some(3.0), false));
        // The heartbeat returns together with what is ordered.
        assert_eq!(read(file(Some(10.0), None, 200), 201), (Some(10.0), false));
        assert_eq!(read(file(Some(8.0), Some(260), 210), 211), (Some(8.0), true));
        // An order that has ended is none.
        assert_eq!(read(file(Some(8.0), Some(260), 270), 271), (None, false));
        assert_eq!(read(file(None, None, 280), 281), (None, false));
        assert_eq!(read(file(Some(6.0), None, 290), 291), (Some(6.0), true));
        assert_eq!(read(file(None, None, 300), 301), (None, true));
    }
}
