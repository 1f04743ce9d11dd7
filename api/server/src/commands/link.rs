//! Link sessions of a running sandbox, without a browser.
use std::path::Path;

use axum::http::Method;
use serde_json::json;

use crate::commands::arguments::{Asked, LinkCommand};
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator};

/// Says yes or no to a link session, as its user would.
pub(crate) async fn run_link_command(
    file: Option<&Path>,
    line: Asked<LinkCommand>,
) -> Result<(), Failure> {
    let (path, order) = match line.command {
        LinkCommand::Accept { link_url, vendor, user, password, code, devices } => {
            let order = json!({
                "link_url": link_url,
                "vendor": vendor,
                "user_name": user,
                "password": password,
                "code": code,
                "devices": devices,
            });
            ("sandbox/link/accept", order)
        }
        LinkCommand::Deny { link_url } => ("sandbox/link/deny", json!({ "link_url": link_url })),
    };
    Operator::connect(&line.server, file)?
        .print_answer(Method::POST, path, Body::json(&order))
        .await
}
