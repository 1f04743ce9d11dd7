//! From vehicles and scenarios to a plan.
use rayon::prelude::*;

use crate::area::column_generation::search_state::{SearchState, Termination, relative_gap};
use crate::area::model::energy_by_slot::ColumnWeights;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::report::outcome::Status;
use crate::area::scenarios::node_prices::NodePrices;
use crate::area::scenarios::plan::ScenarioPlan;
use crate::area::scenarios::problem::{ScenarioProblem, ScenarioVehicle};
use crate::area::scenarios::search::{
    ScenarioOptions, ScenarioSearch, group_count, limit_of_nodes,
};
use crate::tolerance::PENALTY_MIN;

/// Plans the charging of many vehicles behind one limit while prices and limit are uncertain: the
/// energy of every vehicle in the slots before the scenario is known, and after it for each scenario.
///
/// Every limit holds. The expected cost, with missing energy at its price, is within `gap` of a bound
/// that no plan can undercut, unless the rounds run out before or the solver fails;
/// [`ScenarioPlan::status`] states it. The same input gives the same bytes on any number of threads.
///
/// # Examples
/// Two vehicles want 15 kWh together behind a limit of 10 kW. A kWh costs 0.20 in this hour, and 0.10
/// or 0.40 in the next one, 0.16 on average. So 10 kWh wait, and 5 kWh that would not fit are charged
/// now.
///
/// ```
/// use slackwater_engine::area::scenarios::*;
/// use slackwater_engine::area::Profile;
/// use slackwater_engine::columns::{Fleet, Needs};
/// use slackwater_engine::prices::curve::PriceCurve;
/// use slackwater_engine::time::horizon::Horizon;
/// use slackwater_engine::units::{kw, per_kwh};
///
/// let start = "2026-01-05T18:00:00Z".parse()?;
/// let hour = chrono::TimeDelta::hours(1);
/// let prices = |later: f64| {
///     let horizon = Horizon::steps(start, hour, 2).expect("two hours");
///     PriceCurve::from_parts(horizon, vec![0.20, later])
/// };
/// let (windy, calm) = (prices(0.10)?, prices(0.40)?);
/// let scenario = |probability, prices| AreaScenario {
///     probability,
///     prices,
///     limit: Some(Profile::Constant(kw(10.0))),
///     base: None,
/// };
/// let micros = start.timestamp_micros();
/// let fleet = Fleet {
///     arrival: &[micros; 2],
///     departure: &[micros + 7_200_000_000; 2],
///     needs: Needs::Energy { energy_kwh: &[5.0, 10.0] },
///     power_max_kw: &[10.0; 2],
///     reserve_kwh: None,
///     targets: None,
///     curve: None,
/// };
/// let scenarios = [scenario(0.8, &windy), scenario(0.2, &calm)];
/// let problem = ScenarioProblem::new(&fleet, &scenarios, start + hour, per_kwh(1.0))?;
/// let plan = plan_area_scenarios(problem, &ScenarioOptions::default());
/// assert!((plan.expected_cost() - (5.0 * 0.20 + 10.0 * 0.16)).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn plan_area_scenarios(problem: ScenarioProblem, options: &ScenarioOptions) -> ScenarioPlan {
    let mut plan = solve_scenarios(problem, options);
    // A scenario without probability has no part in the cost, so that its recourse is found alone.
    for scenario in 0..plan.problem.probabilities.len() {
        if plan.problem.probabilities[scenario] <= 0.0 {
            let recourse =
                solve_scenarios(plan.problem.recourse(scenario, &plan.energies), options);
            plan.copy_later(scenario, &recourse.energies);
        }
    }
    plan
}

/// Plans without recourse in scenarios of probability 0.
pub(crate) fn solve_scenarios(problem: ScenarioProblem, options: &ScenarioOptions) -> ScenarioPlan {
    let baseline_cost = unmanaged_cost(&problem);
    // Prices near zero leave no scale, so that each kWh counts as the least penalty.
    let scale = baseline_cost.abs().max(PENALTY_MIN * problem.need_kwh()).max(PENALTY_MIN);
    let constraints = limit_of_nodes(&problem);
    let mut search = ScenarioSearch::new(&problem, &constraints, scale);
    let termination = search.run(options).unwrap_or(Termination::Failed);
    let weights = search.weights();
    let SearchState { duals_by_round, best_duals: duals, bound, .. } = search.state;
    let mut energies = combine_columns(&problem, &weights, &duals_by_round);
    curtail_excess(&problem, &mut energies);
    let mut plan = ScenarioPlan {
        problem,
        energies,
        duals,
        bound,
        gap: 0.0,
        baseline_cost,
        rounds: duals_by_round.len(),
        status: Status::from(termination),
    };
    plan.gap = relative_gap(plan.expected_cost(), bound, scale);
    plan
}

/// Energies of each vehicle by node in kWh: the columns of its group times their weights. Rows
/// with an error have none.
fn combine_columns(
    problem: &ScenarioProblem,
    weights: &[ColumnWeights],
    duals_by_round: &[Vec<f64>],
) -> Vec<Vec<f64>> {
    let mut is_used = vec![false; duals_by_round.len()];
    for &(round, _) in weights.iter().flatten() {
        is_used[round] = true;
    }
    let rounds = duals_by_round.iter().zip(is_used);
    let prices: Vec<Option<NodePrices<'_>>> =
        rounds.map(|(duals, used)| used.then(|| NodePrices::new(problem, duals))).collect();
    let planned: Vec<usize> =
        (0..problem.vehicles.len()).filter(|&row| problem.vehicles[row].is_ok()).collect();
    let groups = group_count(planned.len());
    let mut group = vec![0; problem.vehicles.len()];
    for (at, &row) in planned.iter().enumerate() {
        group[row] = at % groups;
    }
    let combine = |(row, vehicle): (usize, &Result<ScenarioVehicle, _>)| {
        let Ok(vehicle) = vehicle else { return Vec::new() };
        let mut energies = vec![0.0; problem.nodes.len()];
        for &(round, weight) in &weights[group[row]] {
            let Some(prices) = &prices[round] else { continue };
            let taken = prices.take_cheapest(vehicle);
            energies.iter_mut().zip(taken).for_each(|(sum, one)| *sum += weight * as_kwh(one));
        }
        energies
    };
    problem.vehicles.par_iter().enumerate().map(combine).collect()
}

/// Lowers all vehicles in proportion at nodes where they exceed the limit.
fn curtail_excess(problem: &ScenarioProblem, energies: &mut [Vec<f64>]) {
    for (at, node) in problem.nodes.iter().enumerate() {
        let load: f64 = energies.iter().filter_map(|one| one.get(at)).sum();
        if load > node.capacity_kwh {
            let share = node.capacity_kwh / load;
            energies.iter_mut().filter_map(|one| one.get_mut(at)).for_each(|kwh| *kwh *= share);
        }
    }
}

/// Expected cost of the energy if all vehicles charge at full power from arrival, without the limit.
fn unmanaged_cost(problem: &ScenarioProblem) -> f64 {
    let shares = problem.probabilities.iter().enumerate();
    let prices: Vec<f64> = (0..problem.horizon.len())
        .map(|slot| shares.clone().map(|(s, share)| share * problem.numbers(s, slot).0).sum())
        .collect();
    let of_vehicle = |vehicle: &ScenarioVehicle| {
        let mut wanted = vehicle.energy;
        let slots = vehicle.most.iter().zip(&prices).map(|(&most, price)| {
            let energy = most.min(wanted);
            wanted -= energy;
            price * as_kwh(energy)
        });
        slots.sum::<f64>()
    };
    problem.vehicles.iter().flatten().map(of_vehicle).sum()
}
