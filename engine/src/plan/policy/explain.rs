//! Explanation of a policy: one reason for each slot and state that may happen.
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::plan::charge::explain::{format_kwh_cost, format_price, rounded, wall_clock};
use crate::plan::policy::charge_policy::{ChargePolicy, energy, price};
use crate::units::{Energy, Power, Price};
use crate::words::words;

words! {
    /// Code of what a policy does in a slot and state.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum PolicyReasonCode {
        /// Charges all that is wanted: no later kWh is expected to cost less.
        ChargeAll = "charge_all",
        /// Charges what is wanted above the energy that is expected to cost less later.
        ChargeAbove = "charge_above",
        /// Charges nothing: all that may be wanted is expected to cost less later.
        Wait = "wait",
    }
}

/// Decision of a policy in a slot and state, with its reason.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PolicyReason {
    /// First instant of the slot.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Position of the state among those of the slot.
    pub state: usize,
    /// Probability of the state, if the vehicle is still there.
    pub probability: f64,
    /// Price of the slot in this state.
    pub price: Price,
    /// Most power.
    pub power_max: Power,
    /// Energy to leave for later: charge what is wanted above it.
    pub deferred: Energy,
    /// Code of the reason.
    pub code: PolicyReasonCode,
    /// Expected cost of the next kWh if it was left for later, too; where all is left, of the last
    /// one. None if no energy is wanted at all.
    pub later_price: Option<Price>,
}

/// Returns one reason for each slot and state whose probability is above zero, in time order.
#[must_use]
pub fn explain(policy: &ChargePolicy) -> Vec<PolicyReason> {
    let mut reasons = Vec::new();
    for (slot, shares) in policy.prices.distributions().into_iter().enumerate() {
        let (start, end) = policy.horizon.period(slot);
        let power_max = policy.power_max(slot);
        let possible = shares.into_iter().enumerate().filter(|&(_, share)| share > 0.0);
        reasons.extend(possible.map(|(state, probability)| {
            let here = policy.prices.price(slot, state);
            let later = &policy.later[slot];
            let deferred = later.cheaper_than(state, here);
            let costs = later.costs(state);
            let next = costs.partition_point(|&cost| cost < here);
            let code = match next {
                0 => PolicyReasonCode::ChargeAll,
                all if all == costs.len() => PolicyReasonCode::Wait,
                _ => PolicyReasonCode::ChargeAbove,
            };
            let later_price = costs.get(next).or(costs.last()).copied().map(price);
            let (price, deferred) = (price(here), energy(deferred));
            PolicyReason {
                start,
                end,
                state,
                probability,
                price,
                power_max,
                deferred,
                code,
                later_price,
            }
        }));
    }
    reasons
}

impl PolicyReason {
    /// Formats the reason as a sentence, with times on the wall clock of `time_zone` and amounts in
    /// `currency`; empty if it is not known.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz, currency: &str) -> String {
        let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
        let (start, end) = (clock(self.start), clock(self.end));
        let here = format_price(self.price, currency);
        let later = format_kwh_cost(self.later_price.unwrap_or(Price::ZERO), currency);
        let decision = match self.code {
            PolicyReasonCode::ChargeAll => {
                format!("charges all that is wanted; later a kWh is expected to cost {later}")
            }
            PolicyReasonCode::ChargeAbove => format!(
                "leaves {} kWh for later and charges what is wanted above; one more kWh later is \
                 expected to cost {later}",
                rounded(self.deferred.as_kwh(), 2)
            ),
            PolicyReasonCode::Wait => {
                format!("waits; the last kWh is expected to cost {later} later")
            }
        };
        format!("{start} to {end} at {here}: {decision}.")
    }
}
