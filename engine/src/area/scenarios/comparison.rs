//! Worth of planning with scenarios, and of knowing the future.
//!
//! ```text
//! perfect information  ≤  plan with scenarios  ≤  plan for mean prices
//! ```
//!
//! The difference on the left is the expected value of perfect information, that on the right the
//! value of the stochastic solution (Birge and Louveaux, chapter 4). All three are plans of the same
//! method, so the order holds up to their gaps.
use crate::area::problem::micro_wh::{as_kwh, to_micro_wh};
use crate::area::scenarios::plan::ScenarioPlan;
use crate::area::scenarios::planner::solve_scenarios;
use crate::area::scenarios::problem::{ScenarioProblem, ScenarioVehicle};
use crate::area::scenarios::search::ScenarioOptions;

/// Expected costs of three ways to plan, missing energy at its price included.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ScenarioComparison {
    /// Plan with scenarios.
    pub expected_cost: f64,
    /// Plan for mean prices and mean capacity until the scenario is known, and then the best for each
    /// scenario.
    pub mean_price_cost: f64,
    /// Best plan for each scenario, known from the start.
    pub perfect_information_cost: f64,
}

impl ScenarioComparison {
    /// Cost that planning with scenarios saves over planning for mean prices.
    #[must_use]
    pub fn value_of_stochastic_solution(&self) -> f64 {
        self.mean_price_cost - self.expected_cost
    }

    /// Cost that knowing the scenario from the start would save.
    #[must_use]
    pub fn value_of_perfect_information(&self) -> f64 {
        self.expected_cost - self.perfect_information_cost
    }
}

impl ScenarioPlan {
    /// Compares with a plan for mean prices, and with perfect information. It solves two problems for
    /// each scenario, and one more.
    #[must_use]
    pub fn compare(&self, options: &ScenarioOptions) -> ScenarioComparison {
        let problem = &self.problem;
        let mean = solve_scenarios(problem.mean(), options);
        let shared_cost: f64 = (0..problem.shared)
            .map(|slot| {
                let load: f64 = mean.energies.iter().filter_map(|one| one.get(slot)).sum();
                problem.numbers(0, slot).0 * load
            })
            .sum();
        let cost = |problem| solve_scenarios(problem, options).expected_cost();
        let (mut with_mean, mut with_hindsight) = (shared_cost, 0.0);
        for (scenario, &share) in problem.probabilities.iter().enumerate() {
            if share > 0.0 {
                with_mean += share * cost(problem.recourse(scenario, &mean.energies));
                let known = |slot| problem.numbers(scenario, slot);
                let hindsight = problem.with_certain(known, problem.vehicles.clone());
                with_hindsight += share * cost(hindsight);
            }
        }
        ScenarioComparison {
            expected_cost: self.expected_cost(),
            mean_price_cost: with_mean,
            perfect_information_cost: with_hindsight,
        }
    }
}

impl ScenarioProblem {
    /// Problem with mean price and mean capacity in each slot.
    fn mean(&self) -> Self {
        let mean = |slot: usize| {
            let shares = self.probabilities.iter().enumerate().filter(|(_, share)| **share > 0.0);
            shares.fold((0.0, 0.0), |(price, capacity), (scenario, share)| {
                let (of_price, of_capacity) = self.numbers(scenario, slot);
                (price + share * of_price, capacity + share * of_capacity)
            })
        };
        self.with_certain(mean, self.vehicles.clone())
    }

    /// Problem of one scenario from when it is known, after energies in kWh by node of which the
    /// first are those of the shared slots.
    pub(crate) fn recourse(&self, scenario: usize, energies: &[Vec<f64>]) -> Self {
        let left = |vehicle: &ScenarioVehicle, energies: &[f64]| {
            let charged: f64 = energies.iter().take(self.shared).sum();
            let mut left = vehicle.clone();
            left.energy = to_micro_wh((as_kwh(vehicle.energy) - charged).max(0.0));
            left.most[..self.shared].fill(0);
            left
        };
        let rows = self.vehicles.iter().zip(energies);
        let vehicles =
            rows.map(|(vehicle, energies)| Ok(left(vehicle.as_ref().map_err(|e| *e)?, energies)));
        self.with_certain(|slot| self.numbers(scenario, slot), vehicles.collect())
    }
}
