//! Policies and plans of a running service, at the operators' address.
use std::path::Path;

use axum::http::Method;

use crate::commands::arguments::{Asked, PlanCommand, PolicyCommand};
use crate::commands::failure::Failure;
use crate::commands::operator::{Body, Operator, path_segment};
use crate::commands::sandbox::read_file;

/// Shows or sets a policy.
pub(crate) async fn run_policy_command(
    file: Option<&Path>,
    line: Asked<PolicyCommand>,
) -> Result<(), Failure> {
    let operator = Operator::connect(&line.server, file)?;
    let of_device = |device: &str| format!("policies/devices/{}", path_segment(device));
    let json = |file| read_file(file).map(|text| Body::text(text, "application/json"));
    match line.command {
        PolicyCommand::Show { device } => {
            operator.print_answer(Method::GET, &of_device(&device), Body::default()).await
        }
        PolicyCommand::Set { device, file } => {
            operator.print_answer(Method::PUT, &of_device(&device), json(&file)?).await
        }
        PolicyCommand::Flex { policy, file } => {
            operator
                .print_answer(Method::PUT, &format!("policies/flex/{policy}"), json(&file)?)
                .await
        }
    }
}

/// Shows a plan.
pub(crate) async fn run_plan_command(
    file: Option<&Path>,
    line: Asked<PlanCommand>,
) -> Result<(), Failure> {
    let PlanCommand::Show { device } = line.command;
    let path = format!("plans/{}", path_segment(&device));
    Operator::connect(&line.server, file)?.print_answer(Method::GET, &path, Body::default()).await
}
