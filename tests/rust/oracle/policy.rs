//! Policies on trees of prices as one linear programme each: the deterministic equivalent.
//!
//! The unknowns are the energy charged in each node and what is missing when the vehicle leaves
//! there. A node stands for all that is known by then, so nothing else has to be said about
//! foresight.
use good_lp::solvers::highs::highs;
use good_lp::{Expression, ProblemVariables, Solution, SolverModel, constraint, variable};
use proptest::prelude::*;

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::plan::policy::{PolicyProblem, PriceNode, PriceStates, plan_policy};
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{kw, kwh, per_kwh};

use crate::runner::{for_all, near};

/// Tree of prices and a vehicle.
#[derive(Debug, Clone)]
struct TreeCase {
    /// Children of each node of a slot, by the weights of their probabilities.
    branches: Vec<Vec<u8>>,
    prices: Vec<f64>,
    power_kw: Vec<f64>,
    energy_kwh: f64,
    shortfall_price: f64,
    departures: Vec<f64>,
}

impl TreeCase {
    /// Nodes with parents, probabilities and prices, slot by slot.
    fn nodes(&self) -> Vec<PriceNode> {
        let mut prices = self.prices.iter().cycle().map(|&price| per_kwh(price));
        let mut next_price = || prices.next().expect("there is a price");
        let mut nodes = vec![PriceNode { parent: None, probability: 1.0, price: next_price() }];
        let mut slot = 0..1;
        for weights in &self.branches {
            let from = nodes.len();
            let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
            for parent in slot {
                nodes.extend(weights.iter().map(|&weight| PriceNode {
                    parent: Some(parent),
                    probability: f64::from(weight) / sum,
                    price: next_price(),
                }));
            }
            slot = from..nodes.len();
        }
        nodes
    }

    /// Least expected cost by HiGHS.
    fn least_cost(&self) -> f64 {
        let nodes = self.nodes();
        let mut model = ProblemVariables::new();
        let mut cost = Expression::default();
        let mut rows = Vec::new();
        // Slot, probability and energy so far of each node.
        let mut known: Vec<(usize, f64, Expression)> = Vec::new();
        for node in &nodes {
            let parent = node.parent.map(|parent| known[parent].clone());
            let (slot, probability, before) = parent
                .map_or((0, 1.0, Expression::default()), |known| (known.0 + 1, known.1, known.2));
            let probability = probability * node.probability;
            let charged = model.add(variable().min(0.0).max(self.power_kw[slot]));
            let missing = model.add(variable().min(0.0));
            let so_far = before + charged;
            rows.push(constraint!(so_far.clone() <= self.energy_kwh));
            rows.push(constraint!(so_far.clone() + missing >= self.energy_kwh));
            let stays: f64 = self.departures[slot..].iter().sum();
            cost += probability * stays * node.price.as_per_kwh() * charged;
            cost += probability * self.departures[slot] * self.shortfall_price * missing;
            known.push((slot, probability, so_far));
        }
        let objective = cost.clone();
        let mut problem = model.minimise(cost).using(highs);
        for row in rows {
            problem.add_constraint(row);
        }
        problem.solve().expect("a plan that charges nothing is feasible").eval(&objective)
    }

    /// Expected cost of the policy, with its certificate.
    fn policy_cost(&self) -> (f64, bool) {
        let start = "2026-03-28T22:00:00Z".parse::<DateTime<Utc>>().expect("an instant");
        let slots = self.power_kw.len();
        let horizon = Horizon::steps(start, TimeDelta::hours(1), slots).expect("a horizon");
        let prices = PriceStates::tree(&self.nodes()).expect("a tree");
        let power: Vec<_> = self.power_kw.iter().map(|&power| kw(power)).collect();
        let policy = plan_policy(&PolicyProblem {
            horizon: &horizon,
            prices: &prices,
            power_max: &power,
            energy: kwh(self.energy_kwh),
            shortfall_price: per_kwh(self.shortfall_price),
            departures: Some(&self.departures),
        });
        let policy = policy.expect("the problem makes sense");
        (policy.expected_cost().as_amount(), policy.certificate().is_proved())
    }
}

fn tree_cases() -> BoxedStrategy<TreeCase> {
    let branches = prop::collection::vec(prop::collection::vec(1u8..5, 1..4), 0..5);
    let weights = prop::collection::vec(0u8..4, 6);
    (
        branches,
        prop::collection::vec(-0.1..0.6f64, 40),
        prop::collection::vec(0.0..11.0f64, 6),
        0.0..40.0f64,
        0.0..3.0f64,
        weights,
    )
        .prop_map(|(branches, prices, powers, energy_kwh, shortfall_price, weights)| {
            let slots = branches.len() + 1;
            let sum: f64 = weights[..slots].iter().map(|&weight| f64::from(weight)).sum();
            let share = |&weight: &u8| if sum > 0.0 { f64::from(weight) / sum } else { 0.0 };
            let mut departures: Vec<f64> = weights[..slots].iter().map(share).collect();
            if sum == 0.0 {
                departures[slots - 1] = 1.0;
            }
            let power_kw = powers[..slots].to_vec();
            TreeCase { branches, prices, power_kw, energy_kwh, shortfall_price, departures }
        })
        .boxed()
}

#[test]
fn policies_cost_what_the_deterministic_equivalent_costs() {
    for_all(500, &tree_cases(), |case| {
        let (cost, is_proved) = case.policy_cost();
        prop_assert!(is_proved);
        let least = case.least_cost();
        prop_assert!(near(cost, least, 1e-6), "policy {cost}, HiGHS {least}");
        Ok(())
    });
}
