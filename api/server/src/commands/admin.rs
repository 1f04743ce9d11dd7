//! Tokens of operators, and what operators did.
use std::path::Path;

use axum::http::Method;
use serde_json::json;
use slackwater_service::auth::secret::generate;
use slackwater_service::config::admin::{NamedToken, TokenHash};

use crate::commands::arguments::{AdminCommand, Asked, TokenCommand};
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator};
use crate::commands::output::print_secret;

/// Runs a command about operators.
pub(crate) async fn run_admin_command(
    settings: Option<&Path>,
    line: Asked<AdminCommand>,
) -> Result<(), Failure> {
    match line.command {
        AdminCommand::Token(TokenCommand::Create { name, role }) => {
            let token = generate()?;
            let sha256 = TokenHash::of(&token);
            let named = json!(NamedToken { name, role, sha256 });
            let mut made = named.clone();
            made["token"] = token.into();
            print_secret(&format!("{made:#}"))?;
            let table = toml::to_string(&json!({ "admin": { "tokens": [named] } }));
            eprintln!("Add this to the settings, and start the service anew:\n");
            eprintln!("{}", table.unwrap_or_default());
            Ok(())
        }
        AdminCommand::Ping => {
            let operator = Operator::connect(&line.server, settings)?;
            operator.print_answer(Method::GET, "health/live", Body::default()).await
        }
        AdminCommand::Audit { after, limit } => {
            let path = format!("audit?after={after}&limit={limit}");
            let operator = Operator::connect(&line.server, settings)?;
            operator.print_answer(Method::GET, &path, Body::default()).await
        }
    }
}
