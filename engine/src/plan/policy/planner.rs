//! Backwards through the slots, from the one in which the vehicle leaves at the latest.
use crate::plan::policy::charge_policy::ChargePolicy;
use crate::plan::policy::marginal_costs::MarginalCosts;
use crate::plan::policy::problem::{MARGINAL_COSTS_MAX, PolicyError, PolicyProblem};

/// Policy of least expected cost, with the missing energy at its price.
///
/// # Errors
/// A list has another length than the horizon has slots, a number is no power, energy or
/// probability, or the powers differ so much that the marginal costs would not fit memory.
///
/// # Examples
/// Today costs 0.20, tomorrow 0.10 or 0.40. The policy leaves all for tomorrow where it can still
/// decide, and charges today what would not fit any more.
///
/// ```
/// use slackwater_engine::plan::policy::{PolicyProblem, PriceNode, PriceStates, plan_policy};
/// use slackwater_engine::time::horizon::Horizon;
/// use slackwater_engine::units::{kw, kwh, per_kwh};
///
/// let node = |parent, probability, price| PriceNode { parent, probability, price: per_kwh(price) };
/// let prices = PriceStates::tree(&[
///     node(None, 1.0, 0.20),
///     node(Some(0), 0.8, 0.10),
///     node(Some(0), 0.2, 0.40),
/// ])?;
/// let start = "2026-01-05T18:00:00Z".parse()?;
/// let horizon = Horizon::steps(start, chrono::TimeDelta::hours(1), 2)?;
/// let policy = plan_policy(&PolicyProblem {
///     horizon: &horizon,
///     prices: &prices,
///     power_max: &[kw(10.0)],
///     energy: kwh(15.0),
///     shortfall_price: per_kwh(1.0),
///     departures: None,
/// })?;
/// assert_eq!(policy.decide(0, 0, kwh(15.0))?.as_kwh(), 5.0);
/// // 5·0.20 now, then 10 kWh at 0.10 or 0.40.
/// assert!((policy.expected_cost().as_amount() - 2.6).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan_policy(problem: &PolicyProblem<'_>) -> Result<ChargePolicy, PolicyError> {
    problem.check()?;
    let slots = problem.horizon.len();
    let leaving = problem.leaving();
    let price = problem.shortfall_price.as_per_kwh();
    let mut later = Vec::with_capacity(slots);
    let mut next: Option<MarginalCosts> = None;
    for slot in (0..slots).rev() {
        let states = problem.prices.states(slot);
        let costs = match &next {
            None => MarginalCosts::constant(problem.energy.as_kwh(), price, states),
            Some(next) => next.expected((leaving[slot], price), states, |state| {
                problem.prices.transitions(slot).after(state)
            }),
        };
        // A slot in any place adds an end for each that is there.
        if 2 * (costs.ends().len() + 1) * states > MARGINAL_COSTS_MAX {
            return Err(PolicyError::TooManyCosts { slot });
        }
        let prices: Vec<f64> = (0..states).map(|state| problem.prices.price(slot, state)).collect();
        next = Some(costs.with_slot(problem.most_kwh(slot), &prices));
        later.push(costs);
    }
    later.reverse();
    Ok(ChargePolicy::new(problem, leaving, later))
}
