//! Bodies for the sandbox, and the problems with them.
//!
//! The table of refusals knows nothing of the sandbox, so its errors are mapped here.
use serde::de::DeserializeOwned;
use slackwater_http::problem::Problem;
use slackwater_sandbox::control::ControlError;
use slackwater_sandbox::document::{Flaw, ScenarioError};

/// Reads a body as JSON.
///
/// # Errors
/// It is malformed: 400.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| Problem::bad_request(error.to_string()))
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
