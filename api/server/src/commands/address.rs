//! Arguments of commands for a running server.
use std::path::PathBuf;

use axum::http::Uri;
use clap::Args;
use slackwater_service::config::admin::AdminToken;

/// Heading of the options that all commands have, below a command's own.
pub(crate) const CONNECTION: &str = "Settings and server";

/// The operators' address of a running server.
#[derive(Debug, Args)]
pub(crate) struct Server {
    /// The operators' address of the server; that of the settings, if it is not named here.
    #[arg(
        long,
        global = true,
        help_heading = CONNECTION,
        env = "SLACKWATER_ADMIN_URL",
        value_name = "URL",
        value_parser = checked_url
    )]
    pub(crate) admin: Option<String>,

    /// The token of the operators' address; that of the settings, if it is not named here.
    /// Other users of this machine see arguments: better put it into the environment.
    #[arg(
        long,
        global = true,
        help_heading = CONNECTION,
        env = "SLACKWATER_ADMIN_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    pub(crate) admin_token: Option<AdminToken>,

    /// Authority of the server's certificate, in PEM, for an address with `https`; those of this
    /// machine, if it is not named.
    #[arg(long, global = true, help_heading = CONNECTION, env = "SLACKWATER_ADMIN_CA", value_name = "FILE")]
    pub(crate) admin_ca: Option<PathBuf>,

    /// Certificate to show to the server, and its key, in PEM, in one file.
    #[arg(long, global = true, help_heading = CONNECTION, env = "SLACKWATER_ADMIN_CERTIFICATE", value_name = "FILE")]
    pub(crate) admin_certificate: Option<PathBuf>,
}

fn checked_url(given: &str) -> Result<String, String> {
    let uri = given.parse::<Uri>().ok();
    let is_web = uri.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
    });
    let refused = || format!("`{given}` is not an address such as http://127.0.0.1:8083");
    if is_web { Ok(given.to_owned()) } else { Err(refused()) }
}
