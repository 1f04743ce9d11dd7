//! Limits of areas of a running server.
use std::path::{Path, PathBuf};

use axum::http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use slackwater_engine::plan::charge::PowerLimit;
use slackwater_engine::units::Power;
use slackwater_service::plans::limit_change::LimitChange;

use crate::commands::arguments::{AreaName, Asked, LimitCommand, parse_instant};
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator, path_segment};
use crate::commands::output::print;
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
            let answer =
                operator.read_answer(Method::PATCH, &path, Body::json(&json!(change))).await?;
            let shown: Value = serde_json::from_str(&answer).unwrap_or_default();
            if let Some(warning) = warn_of_no_homes(&shown) {
                eprintln!("warning: {warning}");
            }
            print(&format!("{shown:#}"))
        }
    }
}

/// A limit of an area without homes bounds nothing: its name may be mistyped.
fn warn_of_no_homes(shown: &Value) -> Option<String> {
    let is_set = !shown["power_max_kw"].is_null() || shown["periods"] != json!([]);
    let (zone, area) = (shown["zone"].as_str()?, shown["area"].as_str()?);
    (is_set && shown["homes"] == 0).then(|| {
        format!(
            "no home is in the area {area:?} of the zone {zone:?}: the limit bounds nothing yet"
        )
    })
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

/// Line of a file of limits. Instants are texts, so that a fault names the text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    start: String,
    end: String,
    #[serde(rename = "power_max_kw")]
    power_max: Power,
}

/// Periods of a file, one a line below a line with the names of the columns.
fn read_periods(file: &PathBuf) -> Result<Vec<PowerLimit>, Failure> {
    let text = read_file(file)?;
    let mut rows = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let periods = rows.deserialize().enumerate().map(|(number, row)| {
        let row: Row = row.map_err(|error| describe_fault(file, &text, &error))?;
        // The first line has the names of the columns.
        let fault = |name: &str, reason: String| {
            format!("{}, line {}: {name}: {reason}", file.display(), number + 2)
        };
        Ok(PowerLimit {
            start: parse_instant(&row.start).map_err(|reason| fault("start", reason))?,
            end: parse_instant(&row.end).map_err(|reason| fault("end", reason))?,
            power_max: row.power_max,
        })
    });
    let periods: Result<Vec<PowerLimit>, String> = periods.collect();
    periods.map_err(|reason| Failure::Limits { reason })
}
