//! Bodies for the sandbox, and the problems with them.
//!
//! The table of refusals knows nothing of the sandbox, so its errors are mapped here.
use axum::http::Uri;
use serde::de::DeserializeOwned;
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
/// It is malformed: 400.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| Problem::bad_request(error.to_string()))
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
        ControlError::Missing { .. } => Problem::no_entity("what the order is about"),
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
