//! Verification of the certificate of a policy from its own data.
//!
//! The data are prices, probabilities and powers of the slots, and the marginal costs of what each
//! slot leaves for later, `W_t` of the [problem](super). Decisions follow from prices and marginal
//! costs, so cost and bound of the [`certificate`](super::certificate) are computed from them alone.
//! The bound needs marginal costs in rising order over the whole energy, and probabilities that add
//! up to 1; these are the rules.
use chrono::{DateTime, Utc};

use crate::plan::policy::charge_policy::ChargePolicy;
use crate::plan::policy::marginal_costs::MarginalCosts;
use crate::plan::policy::price_states::PriceStates;
use crate::plan::verification::{Check, Stated};
use crate::time::horizon::Horizon;
use crate::tolerance::{GAP_MAX, allowed};
use crate::units::{Energy, Price};

/// Slot of a policy with the data of its proof.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyStep {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Most energy of the slot, at the plug.
    pub energy_max: Energy,
    /// Probability that a vehicle that is still there leaves at the end.
    pub departure_probability: f64,
    /// Price of a kWh in each state.
    pub prices: Vec<Price>,
    /// For each state, the states of the next slot that may follow, with their probabilities; empty
    /// in the last slot.
    pub transitions: Vec<Vec<(usize, f64)>>,
    /// Ends of the segments of the energy left for later, in kWh, rising; the first starts at 0.
    pub segment_ends_kwh: Vec<f64>,
    /// Expected cost per kWh of each segment, by state.
    pub marginal_costs: Vec<Vec<f64>>,
}

/// Data of the certificate of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyEvidence {
    /// Energy wanted, at the plug.
    pub energy: Energy,
    /// Price of a kWh that is missing when the vehicle leaves.
    pub shortfall_price: Price,
    /// Probabilities of the states of the first slot.
    pub first: Vec<f64>,
    /// Slots in time order.
    pub steps: Vec<PolicyStep>,
}

impl ChargePolicy {
    /// Data on which the certificate rests.
    #[must_use]
    pub fn evidence(&self) -> PolicyEvidence {
        let price = |value: f64| Price::from_per_kwh(value).unwrap_or(Price::ZERO);
        let slots = self.horizon.len();
        let step = |(slot, (start, end)): (usize, (DateTime<Utc>, DateTime<Utc>))| {
            let states = 0..self.prices.states(slot);
            let later = &self.later[slot];
            let transitions = if slot + 1 < slots {
                let step = self.prices.transitions(slot);
                states.clone().map(|state| step.after(state).to_vec()).collect()
            } else {
                Vec::new()
            };
            PolicyStep {
                start,
                end,
                energy_max: Energy::from_kwh(self.most_kwh[slot]).unwrap_or(Energy::ZERO),
                departure_probability: self.leaving[slot],
                prices: states.clone().map(|state| price(self.prices.price(slot, state))).collect(),
                transitions,
                segment_ends_kwh: later.ends().to_vec(),
                marginal_costs: states.map(|state| later.costs(state).to_vec()).collect(),
            }
        };
        PolicyEvidence {
            energy: self.energy,
            shortfall_price: price(self.shortfall_price),
            first: self.prices.first().to_vec(),
            steps: self.horizon.periods().enumerate().map(step).collect(),
        }
    }
}

/// Compares each statement of a certificate with what its data give.
///
/// The checks come in this order: the order of the slots; lists, probabilities and marginal costs of
/// each slot; then the expected shortfall in kWh, cost, bound, gap and proof. Where slots are out of
/// order or lists do not fit together, nothing else is computed.
#[must_use]
pub fn verify(evidence: &PolicyEvidence, shortfall_kwh: f64, stated: Stated) -> Vec<Check> {
    let steps = &evidence.steps;
    let horizon = Horizon::new(steps.iter().map(|step| (step.start, step.end)));
    let horizon = horizon.ok().filter(|horizon| !horizon.is_empty());
    let mut checks = vec![Check::rule("order of slots", count(horizon.is_none()), 0.0)];
    for (slot, step) in steps.iter().enumerate() {
        let fits = lists_fit(evidence, slot);
        checks.push(Check::rule(format!("slots[{slot}].lists"), count(!fits), 0.0));
        if fits {
            checks.extend(check_step(evidence, slot, step));
        }
    }
    let fit_all = (0..steps.len()).all(|slot| lists_fit(evidence, slot));
    let Some(horizon) = horizon.filter(|_| fit_all) else { return checks };
    let policy = rebuild_policy(evidence, horizon);
    let found = policy.certificate();
    let scale = amounts_of(evidence);
    let missing = found.expected_shortfall.as_kwh();
    let energy = evidence.energy.as_kwh();
    checks.push(Check::equal("expected_shortfall_kwh", shortfall_kwh, missing, energy));
    let (cost, bound) = (found.expected_cost.as_amount(), found.bound.as_amount());
    checks.extend(stated.checks(cost, bound, scale));
    checks
}

/// Number of a truth, for a rule.
fn count(is_broken: bool) -> f64 {
    f64::from(u8::from(is_broken))
}

/// Returns true if all lists of a slot have an entry for each of its states and segments, and its
/// states are followed by states that exist.
fn lists_fit(evidence: &PolicyEvidence, slot: usize) -> bool {
    let step = &evidence.steps[slot];
    let states = step.prices.len();
    let segments = step.segment_ends_kwh.len();
    let is_first_known = slot > 0 || evidence.first.len() == states;
    let is_followed = match evidence.steps.get(slot + 1) {
        None => true,
        Some(next) => {
            let exists =
                |row: &Vec<(usize, f64)>| row.iter().all(|&(to, _)| to < next.prices.len());
            step.transitions.len() == states && step.transitions.iter().all(exists)
        }
    };
    let costs = &step.marginal_costs;
    states > 0
        && is_first_known
        && is_followed
        && costs.len() == states
        && costs.iter().all(|row| row.len() == segments)
}

/// Checks of one slot whose lists fit together: probabilities and marginal costs.
fn check_step(evidence: &PolicyEvidence, slot: usize, step: &PolicyStep) -> [Check; 2] {
    let leaving = step.departure_probability;
    let is_last = slot + 1 == evidence.steps.len();
    let beyond = |share: f64| (-share).max(share - 1.0);
    // Whoever is there at the end of the prices leaves.
    let mut wrong = if is_last { (1.0 - leaving).abs() } else { beyond(leaving) };
    let first = (slot == 0).then(|| evidence.first.clone());
    let rows = step.transitions.iter().map(|row| row.iter().map(|&(_, share)| share).collect());
    let rows = rows.filter(|_| !is_last);
    for row in first.into_iter().chain(rows) {
        let row: Vec<f64> = row;
        wrong = row.iter().map(|&share| beyond(share)).fold(wrong, worse);
        wrong = worse(wrong, (row.iter().sum::<f64>() - 1.0).abs());
    }
    let energy = evidence.energy.as_kwh();
    let ends = &step.segment_ends_kwh;
    let falls = |row: &[f64]| row.windows(2).map(|pair| pair[0] - pair[1]).fold(0.0, worse);
    let reached = ends.last().copied().unwrap_or(0.0);
    let disordered = falls(ends).max((reached - energy).abs()).max(-ends.first().unwrap_or(&0.0));
    let least = step.marginal_costs.iter().map(|row| falls(row)).fold(0.0, worse);
    let highest =
        step.marginal_costs.iter().flatten().fold(energy, |most, cost| most.max(cost.abs()));
    let line = |name: &str| format!("slots[{slot}].{name}");
    [
        Check::rule(line("probabilities"), wrong, GAP_MAX),
        Check::rule(line("marginal_costs"), worse(least, disordered), allowed(GAP_MAX, highest)),
    ]
}

/// Larger one of two breaches; a breach that is no number is beyond all measure.
fn worse(breach: f64, other: f64) -> f64 {
    if breach.is_nan() || other.is_nan() { f64::INFINITY } else { breach.max(other) }
}

/// Size of the amounts that cost and bound are sums of.
fn amounts_of(evidence: &PolicyEvidence) -> f64 {
    let prices = evidence.steps.iter().flat_map(|step| &step.prices);
    let dearest = prices.fold(evidence.shortfall_price.as_per_kwh().abs(), |most, price| {
        most.max(price.as_per_kwh().abs())
    });
    dearest * evidence.energy.as_kwh()
}

/// Policy that has the data of a certificate, whose lists fit together.
fn rebuild_policy(evidence: &PolicyEvidence, horizon: Horizon) -> ChargePolicy {
    let steps = &evidence.steps;
    let prices = |step: &PolicyStep| step.prices.iter().map(|price| price.as_per_kwh()).collect();
    let transitions = steps.iter().take(steps.len().saturating_sub(1));
    ChargePolicy {
        horizon,
        prices: PriceStates::from_parts(
            steps.iter().map(prices).collect(),
            evidence.first.clone(),
            transitions.map(|step| step.transitions.clone()).collect(),
        ),
        energy: evidence.energy,
        shortfall_price: evidence.shortfall_price.as_per_kwh(),
        most_kwh: steps.iter().map(|step| step.energy_max.as_kwh()).collect(),
        leaving: steps.iter().map(|step| step.departure_probability).collect(),
        later: steps
            .iter()
            .map(|step| {
                MarginalCosts::from_parts(
                    step.segment_ends_kwh.clone(),
                    step.marginal_costs.concat(),
                )
            })
            .collect(),
    }
}
