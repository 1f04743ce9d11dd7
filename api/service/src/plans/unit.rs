//! Plans of heating and cooling units: inputs, planning, and the plan for people.
use std::sync::Arc;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use metrics::counter;
use serde::Serialize;
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::ask::price_window;
use slackwater_control::policy::comfort::{ComfortPolicy, RoomFacts, next_quarter};
use slackwater_control::policy::comfort_move::UnitMove;
use slackwater_engine::plan::heat::{HeatPlan, HeatReason, explain};
use tracing::error;
use uuid::Uuid;

use crate::cache::price_lookup::{Priced, Purpose};
use crate::cache::tables::Tables;
use crate::cache::unit_plans::{UnitPlan, UnitState};
use crate::state::App;
use slackwater_integration::reading::Facts;
use slackwater_store::devices::Device;
use slackwater_store::locations::Location;

/// A unit with the inputs of its plan, prices apart.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    pub(crate) device: Arc<Device>,
    pub(crate) policy: ComfortPolicy,
    location: Location,
    facts: RoomFacts,
}

/// Plan of a unit, for people.
#[derive(Debug, Clone, Serialize)]
pub struct ShownUnit {
    /// The device.
    pub device_id: Uuid,
    /// When the plan was made.
    pub made_at: DateTime<Utc>,
    /// Currency of the prices, an ISO 4217 code.
    pub currency: String,
    /// Last step of the service; `None` for a unit that does not answer.
    pub step: Option<UnitMove>,
    /// Reason why the last command was not accepted.
    pub refused: Option<String>,
    /// True if there was a present temperature to plan with.
    pub has_temperature: bool,
    /// The plan, with its certificate.
    pub plan: HeatPlan,
    /// Sentences about its periods, with times on the clock of the location.
    pub sentences: Vec<String>,
}

/// Returns `true` for a heating or cooling unit that has a comfort policy.
#[must_use]
pub fn is_unit(tables: &Tables, id: Uuid) -> bool {
    tables.plans.comfort(id).is_some()
        && tables.any_device(id).is_some_and(|device| device.kind == DeviceKind::Hvac)
}

/// A unit as it is known; `None` for a device without a comfort policy, without a reading, or at no
/// known location.
pub(crate) fn read_unit(app: &App, id: Uuid) -> Option<Unit> {
    app.cache().read(|tables| {
        let policy = tables.plans.comfort(id)?.clone();
        let device = tables.any_device(id)?;
        let Facts::Hvac(facts) = &device.state.reading.as_deref()?.facts else { return None };
        let location = tables.whereabouts(device)?.clone();
        let time_zone = location.facts.time_zone.unwrap_or(Tz::UTC);
        let temperature = facts.temperature.zip(facts.temperature_at.or(device.state.heard_at));
        let facts = RoomFacts { temperature, time_zone };
        Some(Unit { device: Arc::clone(device), policy, location, facts })
    })
}

/// Plan of a unit: the one before until the next whole quarter of an hour, unless the policy or the
/// prices changed or the measured temperature left the planned one.
///
/// `None` for a policy that makes no sense, which no way of setting one accepts.
pub(crate) fn plan_unit(app: &App, unit: &Unit, now: DateTime<Utc>) -> Option<Arc<UnitPlan>> {
    let window = price_window(now);
    // The prices that bills are made of, as for smart charging.
    let priced = app.price_book().resolved(&unit.location, Purpose::SmartCharging, window);
    let before = app.units().state(unit.device.id).map(|state| Arc::clone(&state.planned));
    if let Some(before) = before.filter(|before| is_current(before, unit, &priced, now)) {
        return Some(before);
    }
    match unit.policy.plan(&unit.facts, priced.prices.curve(), now) {
        Ok(plan) => {
            let environment = app.environment().as_str();
            counter!("slackwater_heat_plans_total", "environment" => environment).increment(1);
            let (policy, facts) = (unit.policy.clone(), unit.facts);
            Some(Arc::new(UnitPlan { made_at: now, policy, facts, priced, plan }))
        }
        Err(error) => {
            error!(device = %unit.device.id, %error, "a comfort policy makes no sense");
            None
        }
    }
}

fn is_current(before: &UnitPlan, unit: &Unit, priced: &Priced, now: DateTime<Utc>) -> bool {
    let (policy, facts) = (&unit.policy, &unit.facts);
    let is_as_planned = match (before.facts.find_temperature(now), facts.find_temperature(now)) {
        (None, None) => true,
        (Some(_), Some(measured)) => {
            let planned = before.plan.temperature_at(now);
            (measured - planned).as_celsius().abs() <= policy.deadband.as_celsius()
        }
        _ => false,
    };
    is_as_planned
        && now >= before.made_at
        && next_quarter(now) == next_quarter(before.made_at)
        && before.policy == *policy
        && before.facts.time_zone == facts.time_zone
        && before.priced == *priced
}

/// Plan of a unit for people; `None` without one.
#[must_use]
pub fn show_unit(app: &App, device_id: Uuid) -> Option<ShownUnit> {
    let state = app.units().state(device_id)?;
    let UnitState { planned, step, refused, .. } = &*state;
    let reasons: Vec<HeatReason> = explain(&planned.plan);
    let (time_zone, currency) = (planned.facts.time_zone, &planned.priced.currency);
    Some(ShownUnit {
        device_id,
        made_at: planned.made_at,
        currency: currency.clone(),
        step: *step,
        refused: refused.clone(),
        has_temperature: planned.facts.find_temperature(planned.made_at).is_some(),
        plan: planned.plan.clone(),
        sentences: reasons.iter().map(|reason| reason.sentence(time_zone, currency)).collect(),
    })
}
