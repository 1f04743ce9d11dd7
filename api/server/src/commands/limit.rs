//! Limits of areas of a running server.
use std::path::{Path, PathBuf};

use axum::http::Method;
use serde_json::json;
use slackwater_engine::plan::charge::PowerLimit;
use slackwater_service::plans::limit_change::LimitChange;

use crate::commands::arguments::{AreaName, Asked, LimitCommand};
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator, path_segment};
use crate::commands::sandbox::read_file;

/// Lists, shows or changes limits, and prints the answer.
pub(crate) async fn run_limit_command(
    settings: Option<&Path>,
    line: Asked<LimitCommand>,
) -> Result<(), Failure> {
    let (area, change) = match line.command {
        LimitCommand::List => (None, None),
        LimitCommand::Show { area } => (Some(area), None),
        LimitCommand::Set { area, power_max_kw, from, to } => {
            let power_max = power_max_kw;
            let change = match from.zip(to) {
                None => LimitChange::Usual(power_max),
                Some((start, end)) => {
                    LimitChange::Periods(vec![PowerLimit { start, end, power_max }])
                }
            };
            (Some(area), Some(change))
        }
        LimitCommand::Import { area, file, replace } => {
            let periods = read_periods(&file)?;
            let change = if replace {
                LimitChange::AllPeriods(periods)
            } else {
                LimitChange::Periods(periods)
            };
            (Some(area), Some(change))
        }
        LimitCommand::Clear { area, from, to } => {
            let change = match from.zip(to) {
                None => LimitChange::Reset,
                Some((from, to)) => LimitChange::Clear { from, to },
            };
            (Some(area), Some(change))
        }
    };
    let path = area.as_ref().map_or_else(|| "limits".to_owned(), path_of);
    let operator = Operator::connect(&line.server, settings)?;
    match change {
        None => operator.print_answer(Method::GET, &path, Body::default()).await,
        Some(change) => {
            operator.print_answer(Method::PATCH, &path, Body::json(&json!(change))).await
        }
    }
}

fn path_of(AreaName { zone, area }: &AreaName) -> String {
    format!("limits/{}/{}", path_segment(zone), path_segment(area))
}

/// Fault of a file with its line, its column and its value, as far as they are known.
fn describe_fault(file: &Path, text: &str, error: &csv::Error) -> String {
    let line = error.position().map(csv::Position::line);
    let place = line.map(|line| format!(", line {line}")).unwrap_or_default();
    let reason = match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => {
            let column = err.field().and_then(|index| usize::try_from(index).ok());
            let cell = |row: Option<&str>| -> Option<String> {
                Some(row?.split(',').nth(column?)?.trim().to_owned())
            };
            let row = line.and_then(|line| usize::try_from(line).ok()).unwrap_or(1);
            let (name, value) =
                (cell(text.lines().next()), cell(text.lines().nth(row.saturating_sub(1))));
            match name.zip(value) {
                Some((name, value)) => format!("{name} is {value:?}: {}", err.kind()),
                None => err.kind().to_string(),
            }
        }
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} columns, and {expected_len} in the lines before; commas separate them")
        }
        _ => error.to_string(),
    };
    format!("{}{place}: {reason}", file.display())
}

/// Periods of a file, one a line below a line with the names of the columns.
fn read_periods(file: &PathBuf) -> Result<Vec<PowerLimit>, Failure> {
    let text = read_file(file)?;
    let mut rows = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let rows = rows.deserialize().collect::<Result<Vec<PowerLimit>, csv::Error>>();
    rows.map_err(|error| Failure::Limits { reason: describe_fault(file, &text, &error) })
}
