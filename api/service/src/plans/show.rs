//! Plans for people: with reasons, certificate and the source of each price.
use chrono::{DateTime, Utc};
use serde::Serialize;
use slackwater_control::policy::ask::{Cause, NoRequest};
use slackwater_control::policy::cycle::Cycle;
use slackwater_engine::plan::charge::{Reason, explain};
use slackwater_engine::plan::record::{PlanSummary, SavedPlan};
use tracing::error;
use uuid::Uuid;

use crate::plans::patching::PolicyError;
use crate::state::App;
use slackwater_store::plans::{self, KeptPlan, Outcome};

/// A plan with all that is known about it.
#[derive(Debug, Clone, Serialize)]
pub struct ShownPlan {
    /// The device.
    pub device_id: Uuid,
    /// The flex policy that it follows, if it is one.
    pub flex_policy_id: Option<Uuid>,
    /// When it was made.
    pub made_at: DateTime<Utc>,
    /// Cause of the plan.
    pub cause: Cause,
    /// When it is looked at again.
    pub review_at: Option<DateTime<Utc>>,
    /// The stay at the plug that it belongs to.
    pub cycle: Option<Cycle>,
    /// Reason why there is no plan.
    pub idle: Option<NoRequest>,
    /// When to charge, and at what cost.
    pub plan: Option<PlanSummary>,
    /// Reasons of its periods; none of a plan that was made with others.
    pub reasons: Vec<Reason>,
    /// True if it was made together with others, within a shared limit.
    pub is_shared: bool,
    /// Prices with their sources, request, plan and certificate: a saved plan,
    /// which can be loaded and planned again.
    pub saved: Option<SavedPlan>,
}

/// The last plan of a device.
///
/// # Errors
/// There is none, or the database failed.
pub async fn plan_of(app: &App, device_id: Uuid) -> Result<ShownPlan, PolicyError> {
    let kept = app.cache().read(|tables| tables.plans.plan(device_id).cloned());
    let kept = kept.ok_or(PolicyError::Missing("plan"))?;
    let KeptPlan { flex_policy_id, made_at, ref sheet_id, ref state, .. } = *kept;
    let mut shown = ShownPlan {
        device_id,
        flex_policy_id,
        made_at,
        cause: state.cause,
        review_at: state.review_at,
        cycle: state.cycle,
        idle: None,
        plan: None,
        reasons: Vec::new(),
        is_shared: false,
        saved: None,
    };
    let planned = match &state.outcome {
        Outcome::Planned(planned) => planned,
        Outcome::Idle(idle) => return Ok(ShownPlan { idle: Some(*idle), ..shown }),
    };
    shown.plan = Some(planned.summary.clone());
    shown.is_shared = planned.is_shared;
    let Some(sheet_id) = sheet_id else { return Ok(shown) };
    let mut connection =
        app.store().reader().acquire().await.map_err(slackwater_store::error::StoreError::from)?;
    let Some(sheet) = plans::get_sheet(&mut connection, sheet_id).await? else { return Ok(shown) };
    match planned.bundle(&sheet.currency, &sheet.prices) {
        Ok(saved) => shown.saved = saved,
        Err(error) => error!(%device_id, %error, "a kept plan cannot be made again"),
    }
    let plan = planned.plan(sheet.prices.curve()).ok().flatten();
    shown.reasons = plan.as_ref().map(explain).unwrap_or_default();
    Ok(shown)
}
