//! Limits of areas of a running server.
use std::path::Path;

use axum::http::Method;
use serde_json::{Value, json};
use slackwater_engine::plan::charge::PowerLimit;
use slackwater_service::plans::limit_change::LimitChange;

use crate::commands::arguments::{AreaName, Asked, LimitCommand};
use crate::commands::failure::Failure;
use crate::commands::limit_file::LimitFile;
use crate::commands::operator::{Body, Operator, path_segment};
use crate::commands::output::{describe_lack_of_homes, print};
use crate::commands::sandbox::read_file;

/// Lists, shows or changes limits, and prints the answer.
pub(crate) async fn run_limit_command(
    settings: Option<&Path>,
    line: Asked<LimitCommand>,
) -> Result<(), Failure> {
    let mut imported = None;
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
            let read = LimitFile::read_text(&file, &read_file(&file)?)?;
            imported = Some(format!("{}: {}", file.display(), read.describe_lines()));
            let change = if replace {
                LimitChange::AllPeriods(read.periods)
            } else {
                LimitChange::Periods(read.periods)
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
            if let Some(imported) = imported {
                eprintln!("{imported}");
            }
            let shown: Value = serde_json::from_str(&answer).unwrap_or_default();
            let is_set = !shown["power_max_kw"].is_null() || shown["periods"] != json!([]);
            if is_set && let Some(warning) = describe_lack_of_homes(&shown) {
                eprintln!("warning: {warning}");
            }
            print(&format!("{shown:#}"))
        }
    }
}

fn path_of(AreaName { zone, area }: &AreaName) -> String {
    format!("limits/{}/{}", path_segment(zone), path_segment(area))
}
