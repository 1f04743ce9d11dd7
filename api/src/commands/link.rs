//! Link sessions of a running sandbox, without a browser.
use axum::http::Method;
use serde_json::json;

use crate::arguments::{LinkCommand, LinkStrings};
use crate::commands::failure::Failure;
use crate::commands::operator::ask;

/// Says yes or no to a link session, as its user would.
pub(crate) async fn answer(strings: LinkStrings) -> Result<(), Failure> {
    let (path, order) = match strings.command {
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
    ask(&strings.admin, Method::POST, path, order.to_string()).await
}
