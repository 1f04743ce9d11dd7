//! Bodies for the sandbox, and the problems with them.
//!
//! The table of refusals knows nothing of the sandbox, so its errors are mapped here.
use axum::http::Uri;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};
use slackwater_http::issues::escape_name;
use slackwater_http::problem::Problem;
use slackwater_http::request::query_pairs;
use slackwater_sandbox::control::ControlError;
use slackwater_sandbox::document::{Flaw, ScenarioError};

use crate::admin::reason::describe_reason;

/// Rows in one answer, if the query does not say how many.
const COUNT: u32 = 100;

/// Most rows in one answer.
const COUNT_MAX: u32 = 10_000;

/// Reads a body as JSON.
///
/// # Errors
/// It is malformed: 400, with the path of the member that is.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    if body.is_empty() {
        return Err(Problem::bad_request("the body is empty; it is JSON"));
    }
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Problem::bad_request(format!("the body is not JSON at line {line}, column {column}"))
    })?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let place = pointer_of(error.path());
        let mut reason = describe_reason(&error.into_inner().to_string());
        if !place.is_empty() {
            return Problem::invalid(vec![format!("{place}: {reason}")]);
        }
        if let Some(words) = known_members::<T>()
            && !reason.contains(&words)
        {
            reason = format!("{reason}; its name is {words}");
        }
        Problem::bad_request(reason)
    })
}

/// Names of the members of which a body has one, if it is such a body: those that are named by the
/// refusal of a member that none is.
fn known_members<T: DeserializeOwned>() -> Option<String> {
    let refused = serde_json::from_value::<T>(json!({ "?": null })).err()?.to_string();
    refused.strip_prefix("unknown variant `?`, expected ").map(ToOwned::to_owned)
}

/// A path as a JSON pointer.
fn pointer_of(path: &Path) -> String {
    let part = |segment: &Segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } => format!("/{}", escape_name(key)),
        Segment::Enum { variant } => format!("/{variant}"),
        Segment::Unknown => String::new(),
    };
    path.iter().map(part).collect()
}

/// Rows of a list that a query asks for: those after `?after=`, and `?limit=` of them.
///
/// # Errors
/// A number is none, or below zero: 400.
pub(crate) fn read_window(uri: &Uri) -> Result<(i64, u32), Problem> {
    let number = |name: &str, usual: i64| {
        let given = query_pairs(uri).find(|(given, _)| given == name);
        let Some((_, text)) = given else { return Ok(usual) };
        text.parse::<i64>().ok().filter(|number| *number >= 0).ok_or_else(|| {
            Problem::invalid(vec![format!("/{name}: expected a number that is not negative")])
        })
    };
    let count = u32::try_from(number("limit", COUNT.into())?).unwrap_or(COUNT_MAX);
    Ok((number("after", 0)?, count.min(COUNT_MAX)))
}

/// Problem of an order that the sandbox cannot obey.
#[expect(clippy::needless_pass_by_value, reason = "it stands where an error is mapped")]
pub(crate) fn order_problem(error: ControlError) -> Problem {
    match error {
        ControlError::Missing { what, ref name } => Problem::no_entity(&format!("{what} {name:?}")),
        ControlError::Clock(_) | ControlError::State(_) | ControlError::Percent(_) => {
            Problem::bad_request(error.to_string())
        }
    }
}

/// Problem of a scenario with faults: each is an issue with its JSON pointer and its line.
pub(crate) fn scenario_problem(ScenarioError(flaws): ScenarioError) -> Problem {
    let issue = |flaw: &Flaw| {
        let pointer = flaw.field.replace(['.', '['], "/").replace(']', "");
        let line = flaw.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("/{pointer}: {line}{}", flaw.reason)
    };
    Problem::invalid(flaws.iter().map(issue).collect())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use slackwater_control::device::command::Command;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the refusals are looked at")]
    struct Room {
        bands: Vec<Band>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only the refusals are looked at")]
    struct Band {
        min_celsius: f64,
        minutes: u32,
    }

    #[test]
    fn bodies_are_refused_with_the_path_and_the_types_of_json() {
        let refused = |body: Value| {
            let problem = read::<Room>(body.to_string().as_bytes()).unwrap_err();
            serde_json::to_value(&problem).unwrap()["detail"].as_str().unwrap().to_owned()
        };
        let band = |celsius: Value, minutes: Value| json!({ "bands": [{ "min_celsius": celsius, "minutes": minutes }] });
        assert_eq!(
            refused(band(json!("20"), json!(1))),
            "/bands/0/min_celsius: expected a number, found \"20\""
        );
        assert_eq!(
            refused(band(json!(20), json!(-1))),
            "/bands/0/minutes: expected a whole number of 0 or more, found -1"
        );
        let member = refused(json!({ "bands": [], "a/b": 1 }));
        assert!(member.starts_with("/a~1b: `a/b` is not a member; expected `bands`"), "{member}");
        let null = refused(Value::Null);
        assert_eq!(null, "expected an object, found null");
        let trailing = read::<Room>(b"{\"bands\": []} x").unwrap_err();
        let trailing = serde_json::to_value(&trailing).unwrap()["detail"].clone();
        assert_eq!(trailing, "the body is not JSON at line 1, column 15");
        assert!(read::<Room>(b"{\"bands\": []} ").is_ok());
    }

    #[test]
    fn a_body_that_is_no_command_is_told_which_there_are() {
        let refused = |body: &str| {
            let problem = read::<Command>(body.as_bytes()).unwrap_err();
            serde_json::to_value(&problem).unwrap()["detail"].as_str().unwrap().to_owned()
        };
        let known = "one of `charge`, `max_current_amps`, `charge_rate_limit_kw`, `operation_mode`, \
                     `follow_schedule`, `hold`";
        for (body, reason) in [
            (
                "{}",
                "expected an object with one member, and this one has none or several; its name is ",
            ),
            ("5", "expected a string, or an object with one member, found 5; its name is "),
            ("\"start\"", "`start` is not known; expected "),
        ] {
            assert_eq!(refused(body), format!("{reason}{known}"), "{body}");
        }
        assert_eq!(
            refused(r#""charge""#),
            "/charge: expected an object with one member, which gives it a value"
        );
        assert_eq!(
            refused(r#"{"charge": "go"}"#),
            "/charge: `go` is not known; expected `start` or `stop`"
        );
        assert_eq!(
            refused(r#"{"max_current_amps": "16"}"#),
            "/max_current_amps: expected a number, found \"16\""
        );
    }
}
