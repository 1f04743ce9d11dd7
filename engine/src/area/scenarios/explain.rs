//! Explanation of a plan with scenarios: one reason for each vehicle.
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::area::problem::micro_wh::as_kwh;
use crate::area::scenarios::node_prices::NodePrices;
use crate::area::scenarios::plan::ScenarioPlan;
use crate::area::scenarios::problem::ScenarioVehicle;
use crate::columns::row_error::RowError;
use crate::plan::charge::explain::{format_kwh_cost, format_price, rounded, wall_clock};
use crate::plan::policy::charge_policy::price;
use crate::time::instant::instant_at;
use crate::tolerance::SHORTFALL_TOLERANCE_KWH;
use crate::words::words;

words! {
    /// Code of a decision before the scenario is known.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum ScenarioReasonCode {
        /// Charges before the scenario is known, and nothing after it.
        Before = "before",
        /// Charges a part before the scenario is known, and the rest after it.
        Split = "split",
        /// Leaves all for when the scenario is known.
        Wait = "wait",
        /// Charges nothing in any scenario.
        Nothing = "nothing",
    }
}

/// Decision for one vehicle, with its reason.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ScenarioReason {
    /// Row of the vehicle.
    pub row: usize,
    /// Code of the reason.
    pub code: ScenarioReasonCode,
    /// Energy before the scenario is known, in kWh.
    pub before_kwh: f64,
    /// Least and most energy after it, over the scenarios, in kWh.
    pub later_kwh: (f64, f64),
    /// Expected energy that is missing at departure, in kWh.
    pub expected_shortfall_kwh: f64,
    /// Highest price of a kWh before the scenario is known, that of the limit included; `None` if
    /// nothing is charged then.
    pub before_price_per_kwh: Option<f64>,
    /// Expected price of one more kWh after it, that of the limit included; missing energy counts at
    /// its own price.
    pub later_price_per_kwh: f64,
    /// Instant from which slots are planned for each scenario; `None` if there is no such slot.
    pub known_from: Option<DateTime<Utc>>,
    /// Arrival and departure.
    pub stay: (DateTime<Utc>, DateTime<Utc>),
    /// Hours of the stay without a price.
    pub unpriced_hours: f64,
}

/// Returns one reason for each planned vehicle, in the order of the rows.
#[must_use]
pub fn explain(plan: &ScenarioPlan) -> Vec<ScenarioReason> {
    let problem = &plan.problem;
    let prices = NodePrices::new(problem, &plan.duals);
    let known_from = problem.horizon.starts().get(problem.shared).copied().map(instant_at);
    let reason = |(row, vehicle): (usize, &Result<ScenarioVehicle, RowError>)| {
        let vehicle = vehicle.as_ref().ok()?;
        let possible: Vec<(usize, f64)> = problem
            .probabilities
            .iter()
            .copied()
            .enumerate()
            .filter(|&(_, share)| share > 0.0)
            .collect();
        let later = || possible.iter().map(|&(scenario, _)| plan.energy_kwh(row, scenario).1);
        let least = later().fold(f64::INFINITY, f64::min);
        let most = later().fold(0.0, f64::max);
        let (before_kwh, _) = plan.energy_kwh(row, 0);
        let is_some = |kwh: f64| kwh > SHORTFALL_TOLERANCE_KWH;
        let code = match (is_some(before_kwh), is_some(most)) {
            (true, false) => ScenarioReasonCode::Before,
            (true, true) => ScenarioReasonCode::Split,
            (false, true) => ScenarioReasonCode::Wait,
            (false, false) => ScenarioReasonCode::Nothing,
        };
        let wanted = as_kwh(vehicle.energy);
        let missing =
            possible.iter().map(|&(scenario, share)| share * plan.shortfall_kwh(row, scenario));
        Some(ScenarioReason {
            row,
            code,
            before_kwh,
            later_kwh: (least, most),
            expected_shortfall_kwh: missing.sum(),
            before_price_per_kwh: prices
                .highest_shared(&plan.energies[row], SHORTFALL_TOLERANCE_KWH),
            later_price_per_kwh: prices.next_later(vehicle, wanted - before_kwh),
            known_from,
            stay: (instant_at(vehicle.arrival), instant_at(vehicle.departure)),
            unpriced_hours: problem.unpriced_stay_hours(vehicle),
        })
    };
    problem.vehicles.iter().enumerate().filter_map(reason).collect()
}

impl ScenarioReason {
    /// Formats the reason as a sentence, with times on the wall clock of `time_zone` and amounts in
    /// `currency`; empty if it is not known.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz, currency: &str) -> String {
        let kwh = |energy: f64| rounded(energy, 2);
        let (least, most) = self.later_kwh;
        let is_one = (most - least).abs() < 0.005;
        let range = if is_one { kwh(most) } else { format!("{} to {}", kwh(least), kwh(most)) };
        let later = format_kwh_cost(price(self.later_price_per_kwh), currency);
        let known = match self.known_from {
            Some(at) => wall_clock(at, time_zone),
            None => "the end".to_owned(),
        };
        let paid = format_price(price(self.before_price_per_kwh.unwrap_or(0.0)), currency);
        let decision = match self.code {
            ScenarioReasonCode::Before => format!(
                "charges {} kWh before {known}, at up to {paid}; later a kWh is expected to \
                 cost {later}",
                kwh(self.before_kwh)
            ),
            ScenarioReasonCode::Split => format!(
                "charges {} kWh before {known}, at up to {paid}, and {range} kWh after it; \
                 one more kWh later is expected to cost {later}",
                kwh(self.before_kwh)
            ),
            ScenarioReasonCode::Wait => format!(
                "waits until {known}, and charges {range} kWh after it; one more kWh is expected to \
                 cost {later} then"
            ),
            ScenarioReasonCode::Nothing => "charges nothing".to_owned(),
        };
        let missing = if self.expected_shortfall_kwh > 0.0 {
            format!("; {} kWh are expected to be missing", kwh(self.expected_shortfall_kwh))
        } else {
            String::new()
        };
        let unpriced = if self.unpriced_hours > 0.0 {
            format!("; {} h of its stay have no price", rounded(self.unpriced_hours, 2))
        } else {
            String::new()
        };
        format!("{decision}{missing}{unpriced}.")
    }
}
