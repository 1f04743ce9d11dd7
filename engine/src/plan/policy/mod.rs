//! Charging while prices are uncertain: a policy that decides once each price is known.
//!
//! # The problem
//!
//! Each slot has a set of price states. The state of the next slot is drawn when the slot ends, by
//! probabilities that depend on the state of this one: a Markov chain, or a tree of scenarios
//! ([`PriceStates`]). The vehicle may leave at the end of each slot, by known probabilities.
//! Energy that is missing when it leaves has a price. What is charged in a slot may depend on all
//! that is known by then, and on nothing that comes later.
//!
//! With `r` the energy still wanted, `V_t` the expected cost from slot `t` on once its state is
//! known, and `W_t` the same after the slot was used:
//!
//! ```text
//! V_t(r, s) = min over x in [0, min(P_t, r)] of  p_t(s)·x + W_t(r − x, s)
//! W_t(r, s) = q_t·v·r + (1 − q_t)·Σ_s' π_t(s, s')·V_{t+1}(r, s')           q_T = 1
//! ```
//!
//! | Symbol | Meaning | Field |
//! |---|---|---|
//! | `p_t(s)` | price of electricity | [`PriceStates`] |
//! | `π_t(s, s')` | probability of state `s'` after state `s` | [`PriceStates`] |
//! | `P_t` | most energy of the slot | [`PolicyProblem::power_max`] |
//! | `q_t` | probability that a vehicle that is still there leaves at the end of the slot | from [`PolicyProblem::departures`] |
//! | `v` | price of missing energy | [`PolicyProblem::shortfall_price`] |
//! | `r` | energy still wanted, at first all of it | [`PolicyProblem::energy`] |
//!
//! # The method
//!
//! `V_t` and `W_t` are convex and piecewise linear in `r`, with value 0 at 0, so their marginal
//! costs in rising order are all there is to know about them. The expectation is a weighted mean of
//! marginal costs. The minimum puts a segment of length `P_t` and cost `p_t(s)` where it belongs in
//! that order, and cuts what lies beyond the energy wanted. So the best decision is one number for
//! each slot and state, the energy to leave for later `L_t(s)`: charge what is wanted above it, as
//! far as the power allows. This is exact dynamic programming without a grid of energies; see
//! Powell, *Approximate Dynamic Programming*, 2nd edition, section 13.2 for the class of problem.
//!
//! It takes `O(T·k·S²)` for `T` slots of `S` states and `k` distinct marginal costs. With one power
//! in all slots `k` is at most the number of slots that the energy fills, plus one.
//!
//! | Step | Code |
//! |---|---|
//! | curves that may come true, as states of common slots | `uncertain_prices` |
//! | states and probabilities, checked | `price_states` |
//! | instants of departures and power limits as slots | `request` |
//! | marginal costs of a slot, for all states | `marginal_costs` |
//! | backwards through the slots | `planner` |
//! | the decisions, their bids and marginal values | `charge_policy` |
//! | the decisions in sentences | `explain` |
//! | expected cost by the decisions alone, and a bound on that of every policy | `certificate` |
//! | the same from the data of a certificate, and the rules that the bound needs | `verify` |
pub(crate) mod certificate;
pub(crate) mod charge_policy;
pub(crate) mod explain;
pub(crate) mod marginal_costs;
pub(crate) mod planner;
pub(crate) mod price_states;
pub(crate) mod problem;
pub(crate) mod request;
#[cfg(test)]
mod tests;
pub(crate) mod uncertain_prices;
pub(crate) mod verify;

pub use certificate::PolicyCertificate;
pub use charge_policy::{
    BidStep, ChargePolicy, Outcome, PolicyDecision, PolicyStateError, RiskError,
};
pub use explain::{PolicyReason, PolicyReasonCode, explain};
pub use planner::plan_policy;
pub use price_states::{PriceNode, PriceStates, PriceStatesError};
pub use problem::{PolicyError, PolicyProblem};
pub use request::{PolicyRequest, PolicyRequestError, plan_policy_request};
pub use uncertain_prices::{PriceBranch, UncertainPrices, UncertainPricesError};
pub use verify::{PolicyEvidence, PolicyStep, verify};
