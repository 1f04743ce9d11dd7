//! Orders of grid operators, at a running server.
use std::path::Path;

use axum::http::Method;
use chrono::{DateTime, Utc};
use clap::Subcommand;
use serde_json::{Value, json};
use slackwater_control::grid_order::limit::GridOrder;
use slackwater_engine::units::Power;

use crate::commands::arguments::{Asked, parse_instant};
use crate::commands::command::parse_kw;
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator, indent_json, path_segment};
use crate::commands::output::{describe_lack_of_homes, print};

/// A sender is named as in `[grid.NAME]` of the settings.
#[derive(Debug, Subcommand)]
pub(crate) enum GridCommand {
    /// Limit the power that is drawn from the grid, in place of an earlier order.
    Order {
        /// The sender.
        name: String,
        /// Highest power, in kW.
        #[arg(long, value_parser = parse_kw, allow_negative_numbers = true)]
        limit_kw: Power,
        /// End of the order, such as 2026-01-05T20:00:00Z. Without one it holds until it is released.
        #[arg(long, value_parser = parse_instant)]
        until: Option<DateTime<Utc>>,
    },
    /// Take an order back.
    Release {
        /// The sender.
        name: String,
    },
    /// Give a sign of life. A sender with a fail-safe needs one every minute.
    Heartbeat {
        /// The sender.
        name: String,
    },
    /// Show senders with their orders, the limits in force, and why.
    Show {
        /// One sender only.
        name: Option<String>,
    },
}

/// Sends a message or shows senders, and prints the answer.
pub(crate) async fn run_grid_command(
    settings: Option<&Path>,
    line: Asked<GridCommand>,
) -> Result<(), Failure> {
    let path_of = |name: &str| format!("grid/{}", path_segment(name));
    let (method, path, body) = match line.command {
        GridCommand::Order { name, limit_kw, until } => {
            let order = GridOrder { limit: limit_kw, until };
            (Method::POST, path_of(&name), Body::json(&json!(order)))
        }
        GridCommand::Release { name } => (Method::DELETE, path_of(&name), Body::default()),
        GridCommand::Heartbeat { name } => {
            (Method::POST, format!("{}/heartbeat", path_of(&name)), Body::default())
        }
        GridCommand::Show { name: Some(name) } => (Method::GET, path_of(&name), Body::default()),
        GridCommand::Show { name: None } => (Method::GET, "grid".to_owned(), Body::default()),
    };
    let operator = Operator::connect(&line.server, settings)?;
    let answer = operator.read_answer(method, &path, body).await?;
    let shown: Value = serde_json::from_str(&answer).unwrap_or_default();
    let senders = shown.as_array().map_or(std::slice::from_ref(&shown), Vec::as_slice);
    for sender in senders {
        if let (Some(warning), Some(name)) =
            (describe_lack_of_homes(sender), sender["name"].as_str())
        {
            eprintln!("warning: grid.{name}: {warning}");
        }
    }
    print(&indent_json(&answer))
}
