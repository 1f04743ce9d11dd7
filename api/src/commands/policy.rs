//! Policies and plans of a running service, at the operators' address.
use axum::http::Method;

use crate::arguments::{PlanCommand, PolicyCommand};
use crate::commands::failure::Failure;
use crate::commands::operator::ask;
use crate::commands::sandbox::read;

/// Shows or sets a policy.
pub(crate) async fn policy(admin: &str, command: PolicyCommand) -> Result<(), Failure> {
    match command {
        PolicyCommand::Show { device } => {
            ask(admin, Method::GET, &format!("policies/devices/{device}"), String::new()).await
        }
        PolicyCommand::Set { device, file } => {
            ask(admin, Method::PUT, &format!("policies/devices/{device}"), read(&file)?).await
        }
        PolicyCommand::Flex { policy, file } => {
            ask(admin, Method::PUT, &format!("policies/flex/{policy}"), read(&file)?).await
        }
    }
}

/// Shows a plan.
pub(crate) async fn plan(admin: &str, command: PlanCommand) -> Result<(), Failure> {
    let PlanCommand::Show { device } = command;
    ask(admin, Method::GET, &format!("plans/{device}"), String::new()).await
}
