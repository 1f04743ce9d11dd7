//! Plans for people: with reasons, certificate and the source of each price.
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::Serialize;
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::ask::{Cause, NoRequest};
use slackwater_control::policy::cycle::Cycle;
use slackwater_engine::plan::charge::{Plan, Reason, explain};
use slackwater_engine::plan::record::{PlanSummary, SavedPlan};
use tracing::error;
use uuid::Uuid;

use crate::state::App;
use crate::words::{NOTHING_LEFT, SHARED_REASON, explain_idle, explain_shared};
use slackwater_store::devices::Device;
use slackwater_store::error::StoreError;
use slackwater_store::plans::{self, KeptPlan, Outcome, PriceSheet};

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
    /// Sentence about the place of the device, if that is why prices are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_gap: Option<&'static str>,
    /// When to charge, and at what cost.
    pub plan: Option<PlanSummary>,
    /// Reasons of its periods; none of a plan that was made with others.
    pub reasons: Vec<Reason>,
    /// Sentence about the limit that decided, for a plan that was made with others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_reason: Option<String>,
    /// True if it was made together with others, within a shared limit.
    pub is_shared: bool,
    /// Prices with their sources, request, plan and certificate: a saved plan,
    /// which can be loaded and planned again.
    pub saved: Option<SavedPlan>,
}

/// A plan for people, with the prices it was made with and the plan in full.
#[derive(Debug, Clone)]
pub struct OpenedPlan {
    /// The plan for people.
    pub shown: ShownPlan,
    /// The prices; `None` if there is no plan.
    pub sheet: Option<PriceSheet>,
    /// Slots, targets and certificate; `None` of a plan that was made with others.
    pub plan: Option<Plan>,
}

/// Sentence about a period of charging, or about a plan without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanSentence {
    /// End of the period; `None` if the sentence is about none.
    pub until: Option<DateTime<Utc>>,
    /// The sentence.
    pub text: String,
}

impl ShownPlan {
    /// Currency of the amounts; empty if the prices of the plan are not kept.
    #[must_use]
    pub fn currency(&self) -> &str {
        self.saved.as_ref().map_or("", |saved| &saved.currency)
    }

    /// Sentences about the periods of charging in time order, with times on the wall clock of a
    /// zone; without a period one sentence that says why there is none.
    #[must_use]
    pub fn sentences(&self, time_zone: Tz) -> Vec<PlanSentence> {
        let only = |text: String| vec![PlanSentence { until: None, text }];
        let Some(plan) = &self.plan else {
            return self.idle.map_or_else(Vec::new, |idle| {
                let gap = self.price_gap.map(|gap| format!(" {gap}")).unwrap_or_default();
                only(format!("There is no plan: {}.{gap}", explain_idle(idle)))
            });
        };
        if plan.intervals.is_empty() {
            return only(NOTHING_LEFT.to_owned());
        }
        if !self.reasons.is_empty() {
            let currency = self.currency();
            let sentence = |reason: &Reason| PlanSentence {
                until: Some(reason.end),
                text: reason.sentence(time_zone, currency),
            };
            return self.reasons.iter().map(sentence).collect();
        }
        let clock = |at: DateTime<Utc>| at.with_timezone(&time_zone).format("%a %H:%M");
        let intervals = plan.intervals.iter();
        let sentences = intervals.map(|interval| PlanSentence {
            until: Some(interval.end),
            text: format!("{} to {}: {SHARED_REASON}.", clock(interval.start), clock(interval.end)),
        });
        sentences.collect()
    }
}

/// Reason why no plan of a device was ever made.
#[must_use]
pub fn explain_lack_of_plan(app: &App, device: &Device) -> String {
    let (kind, id) = (device.kind.as_str(), device.id);
    if !matches!(device.kind, DeviceKind::Vehicle | DeviceKind::Charger | DeviceKind::Hvac) {
        return format!(
            "the {kind} {id} has no plan: plans are made for vehicles, chargers, and heating and \
             cooling units"
        );
    }
    if app.cache().read(|tables| tables.plans.has_policy(id)) {
        format!("the {kind} {id} has a policy and no plan yet")
    } else {
        format!("the {kind} {id} has no plan, because it has no policy; set one first")
    }
}

/// Reason why a device has no prices that its place tells; `None` if prices may be there.
fn explain_lack_of_prices(app: &App, device: &Device, plan: &KeptPlan) -> Option<&'static str> {
    let location = app.cache().read(|tables| match plan.flex_policy_id {
        None => tables.whereabouts(device).cloned(),
        Some(id) => {
            let row = tables.plans.flex_of(device.id).find(|row| row.id == id)?;
            tables.location(&device.client_id, row.location_id).cloned()
        }
    });
    let Some(location) = location else {
        return Some(if device.kind == DeviceKind::Vehicle {
            "The vehicle is at no known location, and prices are those of a location."
        } else {
            "The device has no location, and prices are those of a location."
        });
    };
    let has_tariff = app.prices().read(|book| book.schedule(location.id).is_some());
    let is_unpriced = location.facts.zone_id.is_none() && !has_tariff;
    is_unpriced.then_some("Its location has neither a market zone nor a tariff.")
}

/// The last plan of a device, with all that can be made of it; `None` if there is none.
///
/// # Errors
/// The database failed.
pub async fn open_plan(app: &App, device_id: Uuid) -> Result<Option<OpenedPlan>, StoreError> {
    let kept = app.cache().read(|tables| tables.plans.plan(device_id).cloned());
    let Some(kept) = kept else { return Ok(None) };
    let KeptPlan { flex_policy_id, made_at, ref sheet_id, ref state, .. } = *kept;
    let shown = ShownPlan {
        device_id,
        flex_policy_id,
        made_at,
        cause: state.cause,
        review_at: state.review_at,
        cycle: state.cycle,
        idle: None,
        price_gap: None,
        plan: None,
        reasons: Vec::new(),
        shared_reason: None,
        is_shared: false,
        saved: None,
    };
    let mut opened = OpenedPlan { shown, sheet: None, plan: None };
    let planned = match &state.outcome {
        Outcome::Planned(planned) => planned,
        Outcome::Idle(idle) => {
            opened.shown.idle = Some(*idle);
            if matches!(idle, NoRequest::AwaitingPrices | NoRequest::ReserveAtAnyPrice) {
                let device = app.cache().read(|tables| tables.any_device(device_id).cloned());
                let lack = device.and_then(|device| explain_lack_of_prices(app, &device, &kept));
                opened.shown.price_gap = lack;
            }
            return Ok(Some(opened));
        }
    };
    opened.shown.plan = Some(planned.summary.clone());
    opened.shown.is_shared = planned.is_shared;
    let explain_limit = |currency: Option<&str>| {
        planned.is_shared.then(|| explain_shared(&planned.summary, currency))
    };
    opened.shown.shared_reason = explain_limit(None);
    let Some(sheet_id) = sheet_id else { return Ok(Some(opened)) };
    let mut connection = app.store().reader().acquire().await?;
    let sheet = plans::get_sheet(&mut connection, sheet_id).await?;
    let Some(sheet) = sheet else { return Ok(Some(opened)) };
    match planned.bundle(&sheet.currency, &sheet.prices) {
        Ok(saved) => opened.shown.saved = saved,
        Err(error) => error!(%device_id, %error, "a kept plan cannot be made again"),
    }
    opened.shown.shared_reason = explain_limit(Some(sheet.currency.as_str()));
    opened.plan = planned.plan(sheet.prices.curve()).ok().flatten();
    opened.shown.reasons = opened.plan.as_ref().map(explain).unwrap_or_default();
    opened.sheet = Some(sheet);
    Ok(Some(opened))
}
