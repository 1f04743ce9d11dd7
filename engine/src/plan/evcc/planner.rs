//! Planner of the contract: relaxation, binaries in rounds, schedule.
use crate::lp::{Limits, LpError, MipSolution, MipStatus};
use crate::plan::evcc::check::EvccError;
use crate::plan::evcc::columns::EvccModel;
use crate::plan::evcc::request::EvccRequest;
use crate::plan::evcc::rounding;
use crate::plan::evcc::rules::ActiveRules;
use crate::plan::evcc::schedule::{EvccSchedule, EvccStatus, Flows};
use crate::tolerance::{GAP_MAX, allowed};

/// Rounds of binaries; the last one has all of them.
const ROUNDS_MAX: usize = 20;

/// Plans a request of evcc's optimiser contract.
///
/// The schedule has the highest value under the objective of the contract. A goal, a demand or a
/// limit that cannot be kept is kept as far as possible. `seconds_left`, if given, tells before each
/// search how long it may take. If one ends by that, the schedule is `Feasible`, and may differ from
/// run to run.
///
/// # Errors
/// The request is not valid: see [`EvccRequest::check`].
///
/// # Example
///
/// A battery of 5 kWh beside a house that takes 1 kWh in each hour. It charges at 0.10 per kWh, for
/// the house at 0.30:
///
/// ```
/// use slackwater_engine::plan::evcc::{EvccRequest, plan_evcc};
/// let request: EvccRequest = serde_json::from_str(r#"{
///     "batteries": [{
///         "charge_from_grid": true, "s_min": 0, "s_max": 5000, "s_initial": 0,
///         "c_min": 0, "c_max": 2000, "d_max": 2000, "p_a": 0
///     }],
///     "time_series": {
///         "dt": [3600, 3600], "gt": [1000, 1000], "ft": [0, 0],
///         "p_N": [0.0001, 0.0003], "p_E": [0, 0]
///     },
///     "eta_c": 1, "eta_d": 1
/// }"#)?;
/// let schedule = plan_evcc(&request, None)?;
/// assert_eq!(schedule.grid_import, [2000.0, 0.0]);
/// assert_eq!(schedule.batteries[0].state_of_charge, [1000.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan_evcc(
    request: &EvccRequest,
    seconds_left: Option<&dyn Fn() -> f64>,
) -> Result<EvccSchedule, EvccError> {
    request.check()?;
    let model = EvccModel::new(request);
    let (values, status) = find_values(&model, seconds_left);
    Ok(EvccSchedule::new(request, status, &read_flows(&model, values.as_deref())))
}

/// Values of the columns that keep all rules, with their status; `None` if none were found.
///
/// The rounded values of the relaxation are optimal if they cost no more than the relaxation, as they
/// often do. Otherwise a search follows in rounds, each with the binaries that the round before
/// lacked. One that ends at a limit leaves the best values of all roundings.
fn find_values(
    model: &EvccModel,
    seconds_left: Option<&dyn Fn() -> f64>,
) -> (Option<Vec<f64>>, EvccStatus) {
    let mut active = ActiveRules::default();
    let mut best: Option<(f64, Vec<f64>)> = None;
    let mut bound = f64::NEG_INFINITY;
    for round in 1..=ROUNDS_MAX {
        if round == ROUNDS_MAX {
            active = ActiveRules::all(model);
        }
        let seconds = seconds_left.map(|left| left().max(0.0));
        let limits = Limits { seconds, ..Limits::default() };
        let Ok(found) = minimise_with_rules(model, &active, &limits) else { break };
        bound = bound.max(found.bound);
        let kept = if active.add_broken(model, &found.values) {
            rounding::round_values(model, &found.values, &without_clock(&limits))
        } else if found.status == EvccStatus::Optimal {
            return (Some(found.values), EvccStatus::Optimal);
        } else {
            Some((found.cost, found.values))
        };
        best = best.into_iter().chain(kept).min_by(|one, other| one.0.total_cmp(&other.0));
        if let Some((cost, values)) = &best
            && cost - bound <= allowed(GAP_MAX, bound)
        {
            return (Some(values.clone()), EvccStatus::Optimal);
        }
        if found.status == EvccStatus::Feasible {
            break;
        }
    }
    (best.map(|(_, values)| values), EvccStatus::Feasible)
}

/// Values of a search with their cost, a lower bound on the cost of any, and whether the search ended
/// by itself.
struct BoundedValues {
    cost: f64,
    values: Vec<f64>,
    bound: f64,
    status: EvccStatus,
}

/// Values of the columns of the model with the binaries of the active rules.
fn minimise_with_rules(
    model: &EvccModel,
    active: &ActiveRules,
    limits: &Limits,
) -> Result<BoundedValues, LpError> {
    let mixed = active.add_binaries(model);
    if mixed.integers.is_empty() {
        let idle = model.idle_values();
        let solution = mixed.linear.minimise_from(&idle, &without_clock(limits))?;
        let (cost, values) = (solution.cost, solution.values);
        return Ok(BoundedValues { cost, values, bound: cost, status: EvccStatus::Optimal });
    }
    let solution = mixed.minimise(limits)?;
    let is_optimal = solution.status == MipStatus::Optimal;
    let status = if is_optimal { EvccStatus::Optimal } else { EvccStatus::Feasible };
    let MipSolution { cost, values, bound, .. } = solution;
    Ok(BoundedValues { cost, values, bound, status })
}

/// Limits without that on seconds: a linear programme is short, and without its values there is
/// nothing to round.
fn without_clock(limits: &Limits) -> Limits {
    Limits { seconds: None, ..*limits }
}

/// Charges and discharges in Wh. Without values all batteries are idle, which keeps all rules.
fn read_flows(model: &EvccModel, values: Option<&[f64]>) -> Vec<Flows> {
    let energy = |column: &usize| values.map_or(0.0, |values| values[*column] * 1000.0);
    let batteries = model.batteries.iter();
    batteries
        .map(|battery| Flows {
            charge: battery.charge.iter().map(energy).collect(),
            discharge: battery.discharge.iter().map(energy).collect(),
        })
        .collect()
}
