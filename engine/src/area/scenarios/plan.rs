//! Plan of an area with scenarios.
use chrono::{DateTime, Utc};

use crate::area::problem::micro_wh::as_kwh;
use crate::area::report::outcome::Status;
use crate::area::scenarios::problem::{ScenarioProblem, ScenarioVehicle};
use crate::area::scenarios::verify::StatedScenarios;
use crate::time::instant::instant_at;
use crate::tolerance::{POWER_ROUNDING_KW, SHORTFALL_TOLERANCE_KWH};
use crate::units::MICROS_PER_HOUR;

/// Power of a vehicle over a slot, or over the part of it within the stay.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ScenarioInterval {
    /// Row of the vehicle.
    pub row: usize,
    /// Scenario in which the interval is charged; `None` before the scenario is known.
    pub scenario: Option<usize>,
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Mean power in kW.
    pub power_kw: f64,
}

/// Energies of all vehicles before the scenario is known, and after it for each scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioPlan {
    pub(crate) problem: ScenarioProblem,
    /// Energy of each vehicle by node, in kWh; empty for rows with an error.
    pub(crate) energies: Vec<Vec<f64>>,
    /// Duals `λ_n` of the limit by node, per kWh, which prove the bound.
    pub(crate) duals: Vec<f64>,
    /// Lower bound on the expected cost of every plan.
    pub bound: f64,
    /// Expected cost minus bound, divided by the larger of |bound| and |baseline cost|.
    pub gap: f64,
    /// Expected cost of the energy if all vehicles charge at full power from arrival, without the
    /// limit.
    pub baseline_cost: f64,
    /// Rounds of pricing.
    pub rounds: usize,
    /// Reason that the rounds ended.
    pub status: Status,
}

impl ScenarioPlan {
    /// Vehicles and scenarios of the plan.
    #[must_use]
    pub fn problem(&self) -> &ScenarioProblem {
        &self.problem
    }

    /// Expected cost: of energy, and of missing energy at its price.
    #[must_use]
    pub fn expected_cost(&self) -> f64 {
        self.expect(|scenario| self.cost_in(scenario))
    }

    /// Expected energy that is missing at departure, in kWh.
    #[must_use]
    pub fn expected_shortfall_kwh(&self) -> f64 {
        self.expect(|scenario| {
            (0..self.energies.len()).map(|row| self.shortfall_kwh(row, scenario)).sum()
        })
    }

    /// Expectation of a number over the scenarios.
    fn expect(&self, number: impl Fn(usize) -> f64) -> f64 {
        let shares = self.problem.probabilities.iter().enumerate();
        shares.map(|(scenario, share)| share * number(scenario)).sum()
    }

    /// Cost in one scenario, missing energy at its price included.
    #[must_use]
    pub fn cost_in(&self, scenario: usize) -> f64 {
        let slots = 0..self.problem.horizon.len();
        let paid: f64 = slots
            .map(|slot| self.problem.numbers(scenario, slot).0 * self.load_kwh(scenario, slot))
            .sum();
        let missing: f64 =
            (0..self.energies.len()).map(|row| self.missing_kwh(row, scenario)).sum();
        paid + self.problem.shortfall_price * missing
    }

    /// Energy of all vehicles in a slot of a scenario, in kWh.
    fn load_kwh(&self, scenario: usize, slot: usize) -> f64 {
        let node = self.problem.node(scenario, slot);
        self.energies.iter().filter_map(|energies| energies.get(node)).sum()
    }

    /// Mean power of all vehicles in each slot of a scenario, in kW.
    #[must_use]
    pub fn load_kw(&self, scenario: usize) -> Vec<f64> {
        let slots = 0..self.problem.horizon.len();
        slots.map(|slot| self.load_kwh(scenario, slot) / self.problem.horizon.hours(slot)).collect()
    }

    /// Price that the limit adds to a kWh in each slot of a scenario: the dual of the limit over the
    /// probability of the slot, 0 where the limit does not bind.
    #[must_use]
    pub fn congestion_prices(&self, scenario: usize) -> Vec<f64> {
        let price = |slot: usize| {
            let node = self.problem.node(scenario, slot);
            let (dual, share) = (self.duals[node], self.problem.nodes[node].probability);
            if share > 0.0 { dual / share } else { 0.0 }
        };
        (0..self.problem.horizon.len()).map(price).collect()
    }

    /// Energy of a vehicle in a scenario, in kWh: in the shared slots, and later.
    #[must_use]
    pub fn energy_kwh(&self, row: usize, scenario: usize) -> (f64, f64) {
        let (shared, slots) = (self.problem.shared, self.problem.horizon.len());
        let energy = |slot: usize| {
            let node = self.problem.node(scenario, slot);
            self.energies[row].get(node).copied().unwrap_or(0.0)
        };
        ((0..shared).map(energy).sum(), (shared..slots).map(energy).sum())
    }

    /// Energy of a vehicle that is missing at departure in a scenario, in kWh; 0 up to rounding.
    #[must_use]
    pub fn shortfall_kwh(&self, row: usize, scenario: usize) -> f64 {
        let missing = self.missing_kwh(row, scenario);
        if missing <= SHORTFALL_TOLERANCE_KWH { 0.0 } else { missing }
    }

    /// Missing energy, rounding included.
    fn missing_kwh(&self, row: usize, scenario: usize) -> f64 {
        let Ok(vehicle) = &self.problem.vehicles[row] else { return 0.0 };
        let (before, later) = self.energy_kwh(row, scenario);
        as_kwh(vehicle.energy) - before - later
    }

    /// Intervals in which vehicles charge, by row: first those before the scenario is known, then
    /// those of each scenario, in time order.
    pub fn intervals(&self) -> impl Iterator<Item = ScenarioInterval> + '_ {
        (0..self.energies.len()).flat_map(|row| self.intervals_of(row))
    }

    fn intervals_of(&self, row: usize) -> Vec<ScenarioInterval> {
        let Ok(vehicle) = &self.problem.vehicles[row] else { return Vec::new() };
        let nodes = self.problem.nodes.iter().zip(&self.energies[row]);
        let interval = nodes.filter_map(|(node, &kwh)| {
            let (start, end) = part_of_slot(&self.problem, vehicle, node.slot);
            let power_kw = kwh / ((end - start) as f64 / MICROS_PER_HOUR);
            let (start, end) = (instant_at(start), instant_at(end));
            let scenario = node.scenario;
            // Slots outside of the stay have no length, and no energy.
            (power_kw > POWER_ROUNDING_KW).then_some(ScenarioInterval {
                row,
                scenario,
                start,
                end,
                power_kw,
            })
        });
        interval.collect()
    }

    /// Plan and statements that can be verified.
    #[must_use]
    pub fn statement(&self) -> StatedScenarios {
        StatedScenarios {
            expected_cost: self.expected_cost(),
            expected_shortfall_kwh: self.expected_shortfall_kwh(),
            bound: self.bound,
            duals_per_kwh: self.duals.clone(),
            energies_kwh: self.energies.clone(),
        }
    }

    /// Takes the later energies of one scenario from a plan of it alone.
    pub(crate) fn copy_later(&mut self, scenario: usize, recourse: &[Vec<f64>]) {
        for slot in self.problem.shared..self.problem.horizon.len() {
            let node = self.problem.node(scenario, slot);
            for (energies, recourse) in self.energies.iter_mut().zip(recourse) {
                if let (Some(energy), Some(&other)) = (energies.get_mut(node), recourse.get(slot)) {
                    *energy = other;
                }
            }
        }
    }
}

/// Part of a slot within the stay of a vehicle, in microseconds.
fn part_of_slot(problem: &ScenarioProblem, vehicle: &ScenarioVehicle, slot: usize) -> (i64, i64) {
    let start = problem.horizon.starts()[slot].max(vehicle.arrival);
    (start, problem.horizon.ends()[slot].min(vehicle.departure).max(start))
}
