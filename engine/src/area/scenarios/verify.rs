//! Verification of a plan with scenarios from its energies and duals alone.
//!
//! Cost and shortfall are added up anew, and rules of vehicles and limits are checked. The bound is
//! `D(λ)` of the [module](super), with `P_v(λ)` by dynamic programming over marginal costs, which
//! shares no code with the planner's pricing.
use crate::area::problem::micro_wh::as_kwh;
use crate::area::scenarios::problem::{ScenarioProblem, ScenarioVehicle};
use crate::plan::policy::marginal_costs::MarginalCosts;
use crate::plan::verification::Check;
use crate::tolerance::{GAP_MAX, SHORTFALL_TOLERANCE_KWH, allowed};

/// Statements of a plan with scenarios, and the data that they rest on.
#[derive(Debug, Clone, PartialEq)]
pub struct StatedScenarios {
    /// Expected cost, missing energy at its price included.
    pub expected_cost: f64,
    /// Expected energy that is missing at departure, in kWh.
    pub expected_shortfall_kwh: f64,
    /// Lower bound on the expected cost of every plan.
    pub bound: f64,
    /// Duals `λ_n` of the limit by node, per kWh: the shared slots, then the later slots of each
    /// scenario.
    pub duals_per_kwh: Vec<f64>,
    /// Energy of each vehicle by node, in kWh; empty for rows with an error.
    pub energies_kwh: Vec<Vec<f64>>,
}

/// Compares each statement with what the data give.
///
/// The checks come in this order: lists of the right length; powers of the vehicles, needs and limits;
/// duals; then shortfall, cost and bound. Where a list has another length, nothing else is computed.
#[must_use]
pub fn verify(problem: &ScenarioProblem, stated: &StatedScenarios) -> Vec<Check> {
    let nodes = problem.nodes.len();
    let fits = |(vehicle, energies): (&Result<ScenarioVehicle, _>, &Vec<f64>)| match vehicle {
        Ok(_) => energies.len() == nodes && energies.iter().all(|kwh| kwh.is_finite()),
        Err(_) => energies.is_empty(),
    };
    let rows = problem.vehicles.iter().zip(&stated.energies_kwh);
    let fit = stated.energies_kwh.len() == problem.vehicles.len()
        && stated.duals_per_kwh.len() == nodes
        && stated.duals_per_kwh.iter().all(|dual| dual.is_finite())
        && rows.clone().all(fits);
    let mut checks = vec![Check::rule("lists", f64::from(u8::from(!fit)), 0.0)];
    if !fit {
        return checks;
    }
    let planned: Vec<(&ScenarioVehicle, &[f64])> =
        rows.filter_map(|(vehicle, kwh)| Some((vehicle.as_ref().ok()?, kwh.as_slice()))).collect();
    checks.extend(check_rules(problem, &planned));
    checks.push(check_duals(problem, &stated.duals_per_kwh));
    let (mut cost, mut shortfall) = (0.0, 0.0);
    for &(vehicle, energies) in &planned {
        for (scenario, share) in problem.probabilities.iter().enumerate() {
            let missing = missing_kwh(problem, (vehicle, energies), scenario);
            cost += share * problem.shortfall_price * missing;
            shortfall += share * if missing > SHORTFALL_TOLERANCE_KWH { missing } else { 0.0 };
        }
        let nodes = problem.nodes.iter().zip(energies);
        cost += nodes.map(|(node, kwh)| node.probability * node.price * kwh).sum::<f64>();
    }
    let bound = bound_of(problem, &planned, &stated.duals_per_kwh);
    let need = problem.need_kwh();
    let dearest = problem.nodes.iter().map(|node| node.price.abs());
    let scale = need * dearest.fold(problem.shortfall_price, f64::max);
    let missing = stated.expected_shortfall_kwh;
    checks.push(Check::equal("expected_shortfall_kwh", missing, shortfall, need));
    checks.push(Check::equal("expected_cost", stated.expected_cost, cost, scale));
    checks.push(Check::equal("bound", stated.bound, bound, scale));
    checks
}

/// Energy that a vehicle misses in a scenario.
fn missing_kwh(
    problem: &ScenarioProblem,
    (vehicle, energies): (&ScenarioVehicle, &[f64]),
    scenario: usize,
) -> f64 {
    let slots = 0..problem.horizon.len();
    let charged: f64 = slots.map(|slot| energies[problem.node(scenario, slot)]).sum();
    as_kwh(vehicle.energy) - charged
}

/// Rules of the vehicles and of the limit: the largest breach of each in kWh.
fn check_rules(problem: &ScenarioProblem, planned: &[(&ScenarioVehicle, &[f64])]) -> [Check; 3] {
    let (mut power, mut need, mut limit) = (0.0_f64, 0.0_f64, 0.0_f64);
    for &(vehicle, energies) in planned {
        for (node, &kwh) in problem.nodes.iter().zip(energies) {
            power = power.max(kwh - as_kwh(vehicle.most[node.slot])).max(-kwh);
        }
        for scenario in 0..problem.probabilities.len() {
            need = need.max(-missing_kwh(problem, (vehicle, energies), scenario));
        }
    }
    for (at, node) in problem.nodes.iter().enumerate() {
        let load: f64 = planned.iter().map(|(_, energies)| energies[at]).sum();
        limit = limit.max(load - node.capacity_kwh);
    }
    let tolerance = allowed(GAP_MAX, problem.need_kwh());
    [("energy of slots", power), ("energy wanted", need), ("limit", limit)]
        .map(|(rule, breach)| Check::rule(rule, breach, tolerance))
}

/// Rule of the duals: none is negative, and where there is no limit they are 0.
fn check_duals(problem: &ScenarioProblem, duals: &[f64]) -> Check {
    let breach = problem
        .nodes
        .iter()
        .zip(duals)
        .map(|(node, &dual)| if node.capacity_kwh.is_finite() { -dual } else { dual.abs() });
    Check::rule("duals", breach.fold(0.0, f64::max), 0.0)
}

/// Lagrangian bound `D(λ)`.
fn bound_of(
    problem: &ScenarioProblem,
    planned: &[(&ScenarioVehicle, &[f64])],
    duals: &[f64],
) -> f64 {
    let prices: Vec<f64> = problem
        .nodes
        .iter()
        .zip(duals)
        .map(|(node, dual)| node.probability * node.price + dual)
        .collect();
    let paid = problem.nodes.iter().zip(duals).filter(|(node, _)| node.capacity_kwh.is_finite());
    let paid: f64 = paid.map(|(node, dual)| dual * node.capacity_kwh).sum();
    let costs = planned.iter().map(|(vehicle, _)| least_cost(problem, vehicle, &prices));
    costs.sum::<f64>() - paid
}

/// Least cost `P_v(λ)` of one vehicle, backwards through the slots.
fn least_cost(problem: &ScenarioProblem, vehicle: &ScenarioVehicle, prices: &[f64]) -> f64 {
    let wanted = as_kwh(vehicle.energy);
    if vehicle.energy == 0 {
        return 0.0;
    }
    let scenarios = problem.probabilities.len();
    let missing = problem.probabilities.iter().map(|share| share * problem.shortfall_price);
    let mut later = MarginalCosts::from_parts(vec![wanted], missing.collect());
    for slot in (problem.shared..problem.horizon.len()).rev() {
        let here: Vec<f64> =
            (0..scenarios).map(|scenario| prices[problem.node(scenario, slot)]).collect();
        later = later.with_slot(as_kwh(vehicle.most[slot]), &here);
    }
    // Prices hold the probabilities already, so that the scenarios are added up.
    let each: Vec<(usize, f64)> = (0..scenarios).map(|scenario| (scenario, 1.0)).collect();
    let mut costs = later.expected((0.0, 0.0), 1, |_| &each);
    for slot in (0..problem.shared).rev() {
        costs = costs.with_slot(as_kwh(vehicle.most[slot]), &prices[slot..=slot]);
    }
    costs.total(0, wanted)
}
