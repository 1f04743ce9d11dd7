//! Bodies for the sandbox, and the problems with them.
//!
//! The table of refusals knows nothing of the sandbox, so its errors are mapped here.
use axum::http::Uri;
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};
use slackwater_http::issues::escape_name;
use slackwater_http::problem::Problem;
use slackwater_http::request::query_pairs;
use slackwater_sandbox::control::ControlError;
use slackwater_sandbox::document::{Flaw, ScenarioError};

/// Rows in one answer, if the query does not say how many.
const COUNT: u32 = 100;

/// Most rows in one answer.
const COUNT_MAX: u32 = 10_000;

/// Reads a body as JSON.
///
/// # Errors
/// It is malformed: 400, with the path of the member that is.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let place = pointer_of(error.path());
        let reason = name_types(&error.into_inner().to_string());
        if place.is_empty() {
            return Problem::bad_request(reason);
        }
        // The place of the fault in the text says less than its path.
        let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
        Problem::invalid(vec![format!("{place}: {reason}")])
    })?;
    json.end().map_err(|error| Problem::bad_request(error.to_string()))?;
    Ok(read)
}

/// A reason with the types of JSON in place of those of Rust.
fn name_types(reason: &str) -> String {
    let Some((found, expected)) = reason.rsplit_once(", expected ") else {
        return reason.to_owned();
    };
    let (name, place) = expected.split_once(" at line ").unwrap_or((expected, ""));
    let name = match name {
        "f64" => "a number",
        "u8" | "u32" | "u64" | "usize" => "a whole number of 0 or more",
        "i32" | "i64" => "a whole number",
        name if name.starts_with("struct ") => "an object",
        _ => return reason.to_owned(),
    };
    let place = if place.is_empty() { String::new() } else { format!(" at line {place}") };
    format!("{found}, expected {name}{place}")
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
    use serde_json::{Value, json};

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
            "/bands/0/min_celsius: invalid type: string \"20\", expected a number"
        );
        assert_eq!(
            refused(band(json!(20), json!(-1))),
            "/bands/0/minutes: invalid value: integer `-1`, expected a whole number of 0 or more"
        );
        let member = refused(json!({ "bands": [], "a/b": 1 }));
        assert!(member.starts_with("/a~1b: unknown field `a/b`, expected `bands`"), "{member}");
        let null = refused(Value::Null);
        assert_eq!(null, "invalid type: null, expected an object at line 1 column 4");
        assert!(read::<Room>(b"{\"bands\": []} x").is_err());
        assert!(read::<Room>(b"{\"bands\": []} ").is_ok());
    }
}
