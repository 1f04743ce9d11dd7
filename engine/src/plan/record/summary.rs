//! Summary of a plan: charging periods, energy and cost.
//!
//! Slots, reasons and evidence of a plan follow from its prices and its request
//! to the last bit, so a record with these needs only the summary.
use serde::{Deserialize, Serialize};

use crate::plan::charge::plan::Plan;
use crate::plan::interval::Interval;
use crate::units::{Energy, Money, Price};

/// Summary of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSummary {
    /// Charging periods, in time order.
    pub intervals: Vec<Interval>,
    /// Energy bought.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Cost of the energy.
    pub cost: Money,
    /// Lower bound on the cost of every plan.
    pub bound: Money,
    /// Cost of the same energy at full power from plug-in.
    pub baseline_cost: Money,
    /// Most energy missing at any deadline.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// Price of the next kWh before the last deadline; `None` if no energy is free.
    #[serde(rename = "marginal_price_per_kwh")]
    pub marginal_price: Option<Price>,
    /// Time before the last deadline that has no price, in hours.
    #[serde(rename = "unpriced_hours")]
    pub unpriced_hours: f64,
}

impl From<&Plan> for PlanSummary {
    fn from(plan: &Plan) -> Self {
        Self {
            intervals: plan.intervals.clone(),
            energy: plan.energy,
            cost: plan.cost,
            bound: plan.certificate.bound,
            baseline_cost: plan.baseline_cost,
            shortfall: plan.shortfall,
            marginal_price: plan.marginal_price,
            unpriced_hours: plan.unpriced_hours,
        }
    }
}
