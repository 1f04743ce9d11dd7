//! Certificate of a policy: expected cost by its decisions, and a bound on that of every policy.
//!
//! *The cost* comes from the decisions alone: the distribution over states and wanted energies is
//! carried forward from slot to slot.
//!
//! *The bound* comes from the marginal costs alone. Functions `W_t` with
//!
//! ```text
//! W_t(r, s) ≤ q_t·v·r + (1 − q_t)·Σ_s' π_t(s, s')·min over x of  p_{t+1}(s')·x + W_{t+1}(r − x, s')
//! ```
//!
//! for all `r` are below the expected cost of what any policy does after slot `t`: this is weak
//! duality of a Markov decision process (Puterman, *Markov Decision Processes*, section 6.9). Both
//! sides are convex and piecewise linear, so their difference is largest at an end of a segment of the right
//! side. The least `x` is at an end of a segment, or of the power. Whatever the left side is too
//! high, by rounding, is taken off the bound.
use crate::plan::policy::charge_policy::{ChargePolicy, energy, money};
use crate::plan::policy::marginal_costs::MarginalCosts;
use crate::tolerance::{GAP_MAX, SUM_ROUNDING, allowed};
use crate::units::{Energy, Money};

/// Expected cost of a policy, and a lower bound on that of every policy.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PolicyCertificate {
    /// Expected cost by following the decisions.
    pub expected_cost: Money,
    /// Expected energy that is missing when the vehicle leaves, by following the decisions.
    pub expected_shortfall: Energy,
    /// Lower bound on the expected cost of every policy.
    pub bound: Money,
}

impl PolicyCertificate {
    /// Expected cost minus bound: the most that another policy can save.
    #[must_use]
    pub fn gap(&self) -> Money {
        self.expected_cost - self.bound
    }

    /// Returns true if the gap is rounding: at most [`GAP_MAX`] of the cost, or of 1 if that is
    /// larger.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.gap().as_amount().abs() <= allowed(GAP_MAX, self.expected_cost.as_amount())
    }
}

impl ChargePolicy {
    /// Expected cost by following the decisions, and a bound on that of every policy. It walks all
    /// slots, states and energies anew, and takes longer than the plan.
    #[must_use]
    pub fn certificate(&self) -> PolicyCertificate {
        let (cost, shortfall_kwh) = follow_policy(self);
        PolicyCertificate {
            expected_cost: money(cost),
            expected_shortfall: energy(shortfall_kwh),
            bound: money(lower_bound(self)),
        }
    }
}

/// Expected cost by following the decisions, and expected missing energy in kWh.
fn follow_policy(policy: &ChargePolicy) -> (f64, f64) {
    let mut wanted = vec![policy.energy.as_kwh()];
    let mut shares = policy.prices.first().to_vec();
    let (mut cost, mut shortfall) = (0.0, 0.0);
    for slot in 0..policy.horizon.len() {
        let states = policy.prices.states(slot);
        let mut left = Vec::new();
        for (&kwh, shares) in wanted.iter().zip(shares.chunks_exact(states)) {
            for (state, &share) in shares.iter().enumerate().filter(|&(_, &share)| share > 0.0) {
                let charged = policy.charged(slot, state, kwh);
                cost += share * charged * policy.prices.price(slot, state);
                left.push((kwh - charged, state, share));
            }
        }
        let leaving = policy.leaving[slot];
        let missing: f64 = left.iter().map(|&(kwh, _, share)| share * kwh).sum();
        cost += leaving * missing * policy.shortfall_price;
        shortfall += leaving * missing;
        if slot + 1 < policy.horizon.len() {
            (wanted, shares) = carry_on(policy, slot, left);
        }
    }
    (cost, shortfall)
}

/// Distribution at the start of the next slot: the energies, and for each the share of each state.
fn carry_on(
    policy: &ChargePolicy,
    slot: usize,
    mut left: Vec<(f64, usize, f64)>,
) -> (Vec<f64>, Vec<f64>) {
    let rounding = SUM_ROUNDING * policy.energy.as_kwh();
    let stays = 1.0 - policy.leaving[slot];
    left.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut wanted = Vec::new();
    let mut shares = Vec::new();
    for same in left.chunk_by(|a, b| b.0 - a.0 <= rounding) {
        let mut by_state = vec![0.0; policy.prices.states(slot)];
        for &(_, state, share) in same {
            by_state[state] += stays * share;
        }
        wanted.push(same[0].0);
        shares.extend(policy.prices.step(slot, &by_state));
    }
    (wanted, shares)
}

/// Lower bound by the marginal costs.
fn lower_bound(policy: &ChargePolicy) -> f64 {
    let energy = policy.energy.as_kwh();
    let first = policy.prices.first().iter().enumerate();
    let stated: f64 =
        first.map(|(state, share)| share * least_cost(policy, 0, state, energy)).sum();
    let excess: f64 = (0..policy.horizon.len()).map(|slot| worst_excess(policy, slot)).sum();
    stated - excess
}

/// Most by which the marginal costs of a slot state more than what follows from the next slot.
fn worst_excess(policy: &ChargePolicy, slot: usize) -> f64 {
    let states = policy.prices.states(slot);
    let leaving = policy.leaving[slot];
    let mut worst: f64 = 0.0;
    for wanted in find_kinks(policy, slot) {
        let missing = leaving * policy.shortfall_price * wanted;
        let next: Vec<f64> = (0..policy.prices.states(slot + 1))
            .map(|state| least_cost(policy, slot + 1, state, wanted))
            .collect();
        for state in 0..states {
            let stays = 1.0 - leaving;
            let follows: f64 = if next.is_empty() {
                0.0
            } else {
                let after = policy.prices.transitions(slot).after(state);
                after.iter().map(|&(to, probability)| probability * next[to]).sum()
            };
            let claimed = policy.later[slot].total(state, wanted);
            worst = worst.max(claimed - missing - stays * follows);
        }
    }
    worst
}

/// Energies at which the expected cost after a slot may bend.
fn find_kinks(policy: &ChargePolicy, slot: usize) -> Vec<f64> {
    let energy = policy.energy.as_kwh();
    let Some(next) = policy.later.get(slot + 1) else { return vec![energy] };
    let most = policy.most_kwh[slot + 1];
    let moved = next.ends().iter().map(|end| end + most).filter(|&end| end < energy);
    next.ends().iter().copied().chain(moved).chain([most.min(energy), energy]).collect()
}

/// Least cost from a slot on, by trying each energy at which the cost may bend.
fn least_cost(policy: &ChargePolicy, slot: usize, state: usize, wanted: f64) -> f64 {
    let later: &MarginalCosts = &policy.later[slot];
    let price = policy.prices.price(slot, state);
    let least_left = (wanted - policy.most_kwh[slot]).max(0.0);
    let from = later.ends().partition_point(|&end| end <= least_left);
    let bends = later.ends()[from..].iter().copied().take_while(|&end| end < wanted);
    let costs = bends
        .chain([least_left, wanted])
        .map(|left| price * (wanted - left) + later.total(state, left));
    costs.fold(f64::INFINITY, f64::min)
}
