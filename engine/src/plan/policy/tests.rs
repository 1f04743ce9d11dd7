use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;

use super::*;
use crate::plan::verification::{Check, Stated};
use crate::time::horizon::Horizon;
use crate::units::{Energy, Money, Power, Price, kw, kwh, per_kwh};

/// Problem in whole numbers, so that trying each whole decision finds the optimum.
#[derive(Debug, Clone)]
struct Whole {
    prices: Vec<Vec<i32>>,
    matrix: Vec<Vec<f64>>,
    first: Vec<f64>,
    most: Vec<u8>,
    energy: u8,
    shortfall: i32,
    departures: Option<Vec<f64>>,
}

impl Whole {
    /// Expected cost by trying each whole energy in each slot and state.
    fn brute_force(&self) -> f64 {
        let slots = self.prices.len();
        let energies = usize::from(self.energy) + 1;
        let states = self.first.len();
        let mut stays = 1.0;
        let leaving: Vec<f64> = (0..slots)
            .map(|slot| {
                let leaves = self.departures.as_ref().map_or(0.0, |shares| shares[slot]);
                let share = if slot + 1 == slots || leaves >= stays { 1.0 } else { leaves / stays };
                stays -= leaves;
                share
            })
            .collect();
        let mut value = vec![vec![0.0; energies]; states];
        for slot in (0..slots).rev() {
            let after = |state: usize, left: usize| {
                let missing = f64::from(self.shortfall) * left as f64;
                let stays: f64 =
                    (0..states).map(|to| self.matrix[state][to] * value[to][left]).sum();
                let share = leaving[slot];
                if share >= 1.0 { missing } else { share * missing + (1.0 - share) * stays }
            };
            let best = |state: usize, wanted: usize| {
                let price = f64::from(self.prices[slot][state]);
                let most = wanted.min(usize::from(self.most[slot]));
                (0..=most)
                    .map(|charged| price * charged as f64 + after(state, wanted - charged))
                    .fold(f64::INFINITY, f64::min)
            };
            let row = |state| (0..energies).map(|wanted| best(state, wanted)).collect();
            value = (0..states).map(row).collect();
        }
        self.first.iter().zip(&value).map(|(share, row)| share * row[energies - 1]).sum()
    }

    /// Policy of the engine.
    fn plan(&self) -> ChargePolicy {
        let to_prices =
            |row: &Vec<i32>| row.iter().map(|&price| per_kwh(f64::from(price))).collect();
        let prices: Vec<Vec<Price>> = self.prices.iter().map(to_prices).collect();
        let prices = PriceStates::markov(&prices, std::slice::from_ref(&self.matrix), &self.first);
        let power: Vec<Power> = self.most.iter().map(|&most| kw(f64::from(most))).collect();
        plan_policy(&PolicyProblem {
            horizon: &hours(self.prices.len()),
            prices: &prices.unwrap(),
            power_max: &power,
            energy: kwh(f64::from(self.energy)),
            shortfall_price: per_kwh(f64::from(self.shortfall)),
            departures: self.departures.as_deref(),
        })
        .unwrap()
    }
}

/// Hours from a fixed start.
fn hours(count: usize) -> Horizon {
    let start = "2026-10-24T18:00:00Z".parse::<DateTime<Utc>>().unwrap();
    Horizon::steps(start, TimeDelta::hours(1), count).unwrap()
}

/// Distribution of `count` probabilities, some of them zero.
fn distribution(count: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0u8..4, count).prop_map(|weights| {
        let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        if sum == 0.0 {
            return vec![1.0 / weights.len() as f64; weights.len()];
        }
        weights.iter().map(|&weight| f64::from(weight) / sum).collect()
    })
}

fn whole_problem() -> impl Strategy<Value = Whole> {
    (1usize..6, 1usize..4).prop_flat_map(|(slots, states)| {
        (
            prop::collection::vec(prop::collection::vec(-3i32..12, states), slots),
            prop::collection::vec(distribution(states), states),
            distribution(states),
            prop::collection::vec(0u8..5, slots),
            0u8..12,
            0i32..15,
            prop::option::of(distribution(slots)),
        )
            .prop_map(|(prices, matrix, first, most, energy, shortfall, departures)| {
                Whole { prices, matrix, first, most, energy, shortfall, departures }
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn expected_cost_is_that_of_trying_everything(whole in whole_problem()) {
        let policy = whole.plan();
        let cost = policy.expected_cost().as_amount();
        let brute = whole.brute_force();
        prop_assert!((cost - brute).abs() <= 1e-9, "{cost} for {brute}");
    }

    #[test]
    fn certificate_proves_each_policy(whole in whole_problem()) {
        let policy = whole.plan();
        let certificate = policy.certificate();
        prop_assert!(certificate.is_proved(), "{certificate:?}");
        let stated = policy.expected_cost().as_amount();
        prop_assert!((certificate.expected_cost.as_amount() - stated).abs() <= 1e-9);
    }

    /// The data of a certificate are enough for all of its statements, and a changed number of
    /// them is noticed.
    #[test]
    fn certificate_is_verified_from_its_own_data(
        whole in whole_problem(), slot in any::<prop::sample::Index>(), cents in 1..50i32,
    ) {
        let policy = whole.plan();
        let (evidence, certificate) = (policy.evidence(), policy.certificate());
        let stated = Stated {
            cost: certificate.expected_cost.as_amount(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            is_proved: certificate.is_proved(),
        };
        let shortfall = certificate.expected_shortfall.as_kwh();
        let check = |evidence: &PolicyEvidence, stated: Stated| {
            verify(evidence, shortfall, stated).iter().all(Check::holds)
        };
        prop_assert!(check(&evidence, stated));
        let less = Stated { cost: stated.cost - 0.01, gap: stated.gap - 0.01, ..stated };
        prop_assert!(!check(&evidence, less));
        // A higher bound than the marginal costs give.
        let higher = Stated { bound: stated.bound + 0.01, gap: stated.gap - 0.01, ..stated };
        prop_assert!(!check(&evidence, higher));
        let at = slot.index(evidence.steps.len());
        let mut improbable = evidence.clone();
        improbable.steps[at].departure_probability += 0.01 * f64::from(cents) + 1.0;
        prop_assert!(!check(&improbable, stated));
        // Marginal costs that fall are no proof, whatever bound they give.
        let mut falling = evidence.clone();
        if falling.steps[at].segment_ends_kwh.len() > 1 {
            falling.steps[at].marginal_costs[0][0] += 1e3;
            prop_assert!(!check(&falling, stated));
        }
        let mut cut = evidence;
        cut.steps[at].marginal_costs.pop();
        prop_assert!(!check(&cut, stated));
    }

    /// The energy that a curve buys at the price of the slot is the decision.
    #[test]
    fn bid_curve_and_decision_agree(whole in whole_problem(), wanted in 0u8..12) {
        let policy = whole.plan();
        let wanted = kwh(f64::from(wanted.min(whole.energy)));
        for (slot, prices) in whole.prices.iter().enumerate() {
            for (state, &price) in prices.iter().enumerate() {
                let curve = policy.bid_curve(slot, state, wanted).unwrap();
                let falls = curve.windows(2).all(|pair| {
                    pair[0].price > pair[1].price && pair[0].energy < pair[1].energy
                });
                prop_assert!(falls, "{curve:?}");
                let bought = curve.iter().rfind(|step| step.price.as_per_kwh() >= f64::from(price));
                let bought = bought.map_or(Energy::ZERO, |step| step.energy);
                prop_assert_eq!(bought, policy.decide(slot, state, wanted).unwrap());
            }
        }
    }

    /// Nothing that a plan without feedback does is better, and hindsight is never worse.
    #[test]
    fn information_is_worth_something(whole in whole_problem()) {
        let policy = whole.plan();
        let open_loop = Whole::plan_of(&policy, &policy.prices().expected());
        let cost = policy.expected_cost().as_amount();
        prop_assert!(cost <= open_loop.expected_cost().as_amount() + 1e-9);
    }
}

impl Whole {
    /// Policy for other prices and the rest of a problem.
    fn plan_of(policy: &ChargePolicy, prices: &PriceStates) -> ChargePolicy {
        let power: Vec<Power> = policy.most_kwh.iter().map(|&most| kw(most)).collect();
        let mut stays = 1.0;
        let departures: Vec<f64> = policy
            .leaving
            .iter()
            .map(|share| {
                let leaves = stays * share;
                stays -= leaves;
                leaves
            })
            .collect();
        plan_policy(&PolicyProblem {
            horizon: policy.horizon(),
            prices,
            power_max: &power,
            energy: policy.energy,
            shortfall_price: per_kwh(policy.shortfall_price),
            departures: Some(&departures),
        })
        .unwrap()
    }
}

/// Tree of three slots with two branches each.
fn tree() -> PriceStates {
    let node =
        |parent, probability, price| PriceNode { parent, probability, price: per_kwh(price) };
    PriceStates::tree(&[
        node(None, 1.0, 0.30),
        node(Some(0), 0.5, 0.20),
        node(Some(0), 0.5, 0.50),
        node(Some(1), 0.25, 0.10),
        node(Some(1), 0.75, 0.40),
        node(Some(2), 1.0, 0.60),
    ])
    .unwrap()
}

#[test]
fn outcomes_of_a_tree_have_the_expected_cost() {
    let prices = tree();
    let policy = plan_policy(&PolicyProblem {
        horizon: &hours(3),
        prices: &prices,
        power_max: &[kw(4.0)],
        energy: kwh(7.0),
        shortfall_price: per_kwh(2.0),
        departures: Some(&[0.1, 0.0, 0.9]),
    })
    .unwrap();
    let outcomes = policy.outcomes().unwrap();
    let sum = |of: &dyn Fn(&Outcome) -> f64| -> f64 {
        outcomes.iter().map(|outcome| outcome.probability * of(outcome)).sum()
    };
    assert!((sum(&|_| 1.0) - 1.0).abs() < 1e-12);
    let expected = policy.expected_cost().as_amount();
    assert!((sum(&|outcome| outcome.cost.as_amount()) - expected).abs() < 1e-12);
    let at_risk = |level| policy.conditional_value_at_risk(level).unwrap().as_amount();
    assert!((at_risk(0.0) - expected).abs() < 1e-12);
    let worst = outcomes.iter().map(|outcome| outcome.cost.as_amount()).fold(0.0, f64::max);
    assert!((at_risk(0.999) - worst).abs() < 1e-12);
    assert!(at_risk(0.5) > expected && at_risk(0.5) < worst);
    assert_eq!(policy.conditional_value_at_risk(1.0), Err(RiskError::Level { level: 1.0 }));
}

#[test]
fn a_chain_with_several_ways_to_a_state_has_no_outcomes() {
    let half = vec![0.5, 0.5];
    let prices = vec![vec![per_kwh(0.1), per_kwh(0.2)]; 3];
    let matrix = vec![half.clone(), half.clone()];
    let states = PriceStates::markov(&prices, &[matrix], &half).unwrap();
    let policy = plan_policy(&PolicyProblem {
        horizon: &hours(3),
        prices: &states,
        power_max: &[kw(4.0)],
        energy: kwh(7.0),
        shortfall_price: per_kwh(2.0),
        departures: None,
    })
    .unwrap();
    assert_eq!(policy.outcomes(), None);
    assert_eq!(policy.conditional_value_at_risk(0.5), Err(RiskError::ManyWays));
}

#[test]
fn wrong_prices_are_told() {
    let price = |value| per_kwh(value);
    let told = |prices: &[Vec<Price>], matrix: Vec<Vec<f64>>, first: &[f64]| {
        PriceStates::markov(prices, &[matrix], first).unwrap_err().to_string()
    };
    let two = vec![vec![price(0.1), price(0.2)]; 2];
    let half = vec![vec![0.5, 0.5]; 2];
    assert_eq!(
        told(&[], half.clone(), &[1.0]),
        "slot 0 has no price; each slot needs at least one"
    );
    assert_eq!(told(&two, half.clone(), &[1.0]), "first has 1 entries for 2 states");
    assert_eq!(
        told(&two, half.clone(), &[0.4, 0.4]),
        "probabilities of first add up to 0.8, not to 1"
    );
    assert_eq!(
        told(&two, vec![vec![0.5, 0.5], vec![1.5, -0.5]], &[1.0, 0.0]),
        "probabilities of transitions, row 1 hold 1.5; a probability is 0 to 1"
    );
    assert_eq!(
        PriceStates::markov(&two, &[half.clone(), half], &[1.0, 0.0]).unwrap_err().to_string(),
        "2 transition matrices for 2 slots; give one, or one between each two slots"
    );
}

#[test]
fn wrong_trees_are_told() {
    let node = |parent, probability| PriceNode { parent, probability, price: per_kwh(0.1) };
    let told = |nodes: &[PriceNode]| PriceStates::tree(nodes).unwrap_err().to_string();
    assert_eq!(told(&[]), "slot 0 has no price; each slot needs at least one");
    assert_eq!(
        told(&[node(Some(0), 1.0)]),
        "node 0 has parent 0; a parent comes before its children"
    );
    let early = [node(None, 0.5), node(None, 0.5), node(Some(0), 1.0)];
    assert_eq!(
        told(&early),
        "node 1 has no children, but other branches go on; all end in the same slot"
    );
    assert_eq!(
        told(&[node(None, 1.0), node(Some(0), 0.5)]),
        "probabilities of the children of node 0 add up to 0.5, not to 1"
    );
}

#[test]
fn wrong_problems_and_questions_are_told() {
    let prices = tree();
    let problem = PolicyProblem {
        horizon: &hours(3),
        prices: &prices,
        power_max: &[kw(4.0)],
        energy: kwh(7.0),
        shortfall_price: per_kwh(2.0),
        departures: None,
    };
    let told = |problem: &PolicyProblem<'_>| plan_policy(problem).unwrap_err().to_string();
    let four = hours(4);
    assert_eq!(
        told(&PolicyProblem { horizon: &four, ..problem }),
        "prices has 3 entries for 4 slots"
    );
    assert_eq!(
        told(&PolicyProblem { power_max: &[kw(1.0), kw(-1.0), kw(1.0)], ..problem }),
        "power_max[1] is -1 kW; a power is 0 or more"
    );
    assert_eq!(
        told(&PolicyProblem { energy: kwh(-1.0), ..problem }),
        "energy_kwh is -1 kWh; an energy is 0 kWh or more"
    );
    assert_eq!(
        told(&PolicyProblem { departures: Some(&[0.5, 0.2, 0.2]), ..problem }),
        "probabilities of departures add up to 0.8999999999999999, not to 1"
    );
    let policy = plan_policy(&problem).unwrap();
    let asked =
        |slot, state, wanted| policy.decide(slot, state, kwh(wanted)).unwrap_err().to_string();
    assert_eq!(asked(3, 0, 1.0), "slot is 3; the policy has 3 slots");
    assert_eq!(asked(1, 2, 1.0), "state is 2; slot 1 has 2 states");
    assert_eq!(asked(1, 1, 8.0), "wanted_kwh is 8 kWh; the policy was made for 0 to 7 kWh");
}

#[test]
fn nothing_wanted_costs_nothing() {
    let prices = tree();
    let policy = plan_policy(&PolicyProblem {
        horizon: &hours(3),
        prices: &prices,
        power_max: &[kw(4.0)],
        energy: Energy::ZERO,
        shortfall_price: per_kwh(2.0),
        departures: None,
    })
    .unwrap();
    assert_eq!(policy.expected_cost(), Money::ZERO);
    assert_eq!(policy.bid_curve(0, 0, Energy::ZERO).unwrap(), []);
    assert!(policy.certificate().is_proved());
}
