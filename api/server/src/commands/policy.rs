//! Policies and plans of a running service, at the operators' address.
use std::path::Path;

use axum::http::Method;

use crate::commands::arguments::{Asked, PlanCommand, PolicyCommand};
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator, segment};
use crate::commands::sandbox::read;

/// Shows or sets a policy.
pub(crate) async fn policy(file: Option<&Path>, line: Asked<PolicyCommand>) -> Result<(), Failure> {
    let operator = Operator::of(&line.server, file)?;
    let of_device = |device: &str| format!("policies/devices/{}", segment(device));
    let json = |file| read(file).map(|text| Body::text(text, "application/json"));
    match line.command {
        PolicyCommand::Show { device } => {
            operator.ask(Method::GET, &of_device(&device), Body::default()).await
        }
        PolicyCommand::Set { device, file } => {
            operator.ask(Method::PUT, &of_device(&device), json(&file)?).await
        }
        PolicyCommand::Flex { policy, file } => {
            operator.ask(Method::PUT, &format!("policies/flex/{policy}"), json(&file)?).await
        }
    }
}

/// Shows a plan.
pub(crate) async fn plan(file: Option<&Path>, line: Asked<PlanCommand>) -> Result<(), Failure> {
    let PlanCommand::Show { device } = line.command;
    let path = format!("plans/{}", segment(&device));
    Operator::of(&line.server, file)?.ask(Method::GET, &path, Body::default()).await
}
