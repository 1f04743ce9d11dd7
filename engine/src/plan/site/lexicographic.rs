//! One objective after the other: what decides later never undoes what
//! decided before.
use crate::lp::{Limits, LinearProgram, LpError, Row, Solution};
use crate::plan::search_status::SearchStatus;
use crate::plan::site::model::SiteModel;
use crate::tolerance::{DIVISOR_MIN, SITE_MIN_KWH, SOLVER_ROUNDING, SOLVER_SLACK, allowed};

/// Weights of columns: something to be made small.
pub(crate) type Objective = Vec<(usize, f64)>;

/// Distance from a bound, as a share of it or of 1, at which a value is at that bound: a hundred
/// times [`SOLVER_ROUNDING`], because the solver scales rows and columns.
const AT_BOUND: f64 = 1e-7;

/// Least scale of reduced costs, in units of the programme: an objective of nothing has no noise.
const PRICE_SCALE_MIN: f64 = 1e-12;

/// The value of an objective.
pub(crate) fn value_of(objective: &Objective, values: &[f64]) -> f64 {
    objective.iter().map(|&(column, weight)| weight * values[column]).sum()
}

/// What comes before money, the most important first: limits that nobody can
/// hold, reserves, wishes by their priority, among those the earlier
/// deadlines, and what is late.
pub(crate) fn before_money(model: &SiteModel) -> Vec<Objective> {
    let misses = |is_late: bool| model.misses.iter().filter(move |miss| miss.is_late == is_late);
    let breaches = model.breaches.iter().map(|&column| (column, 1.0)).collect();
    let wishes = misses(false).map(|miss| (miss.column, miss.priority * miss.energy)).collect();
    let mut deadlines: Vec<usize> = misses(false).map(|miss| miss.slots).collect();
    deadlines.sort_unstable();
    deadlines.dedup();
    let rank = |slots: usize| deadlines.partition_point(|&deadline| deadline < slots);
    let earliness = |slots: usize| (deadlines.len() - rank(slots)) as f64 / deadlines.len() as f64;
    let earliest = misses(false)
        .map(|miss| (miss.column, miss.priority * miss.energy * earliness(miss.slots)))
        .collect();
    let late = misses(true).map(|miss| (miss.column, miss.priority * miss.energy)).collect();
    [breaches, model.reserves.clone(), wishes, earliest, late]
        .into_iter()
        .filter(|objective: &Objective| !objective.is_empty())
        .collect()
}

/// A programme with its last solution.
#[derive(Debug, Clone)]
pub(crate) struct Solved {
    /// The programme: earlier objectives are in its bounds, the last one is
    /// its costs.
    pub(crate) program: LinearProgram,
    pub(crate) solution: Solution,
    /// How it ended. Where a limit struck, the values are those of the last
    /// objective that was solved, and there are no duals.
    pub(crate) status: SearchStatus,
}

impl Solved {
    /// The money in front of an objective that a limit ended.
    fn stopped(
        mut program: LinearProgram,
        money: &[f64],
        values: Vec<f64>,
        error: LpError,
    ) -> Self {
        set_money(&mut program, money);
        let duals = vec![0.0; program.rows.len()];
        let reduced_costs = vec![0.0; program.columns.len()];
        let cost = money.iter().zip(&values).map(|(cost, value)| cost * value).sum();
        let solution = Solution { cost, values, duals, reduced_costs };
        Self { program, solution, status: error.into() }
    }
}

/// Least money among the least of everything before it.
///
/// One solution with a price on everything before money is enough where
/// nothing is missing: then the price, whatever it is, was not paid. Only
/// else each objective is solved on its own.
pub(crate) fn least_money(
    program: &LinearProgram,
    before: &[Objective],
    limits: &Limits,
) -> Result<Solved, LpError> {
    let solution = with_penalties(program, before).minimise_within(limits)?;
    Ok(after_penalties(program, before, solution, limits))
}

/// What is left to do when the programme with penalties is solved.
pub(crate) fn after_penalties(
    program: &LinearProgram,
    before: &[Objective],
    solution: Solution,
    limits: &Limits,
) -> Solved {
    let mut program = program.clone();
    let status = SearchStatus::Optimal;
    if before.iter().all(|objective| value_of(objective, &solution.values) <= SITE_MIN_KWH) {
        for objective in before {
            forbid(&mut program, objective, &solution.values);
        }
        return Solved { program, solution, status };
    }
    let money: Vec<f64> = program.columns.iter().map(|column| column.cost).collect();
    let mut values = solution.values;
    for objective in before {
        if value_of(objective, &values) <= SITE_MIN_KWH {
            forbid(&mut program, objective, &values);
            continue;
        }
        set_costs(&mut program, objective);
        match program.minimise_within(limits) {
            Ok(solution) => {
                keep_optimal(&mut program, &solution);
                values = solution.values;
            }
            Err(error) => return Solved::stopped(program, &money, values, error),
        }
    }
    set_money(&mut program, &money);
    match program.minimise_within(limits) {
        Ok(solution) => Solved { program, solution, status },
        Err(error) => Solved::stopped(program, &money, values, error),
    }
}

fn set_money(program: &mut LinearProgram, money: &[f64]) {
    for (column, &cost) in program.columns.iter_mut().zip(money) {
        column.cost = cost;
    }
}

/// The programme with a price on everything that comes before money, above
/// what a kWh can save.
pub(crate) fn with_penalties(program: &LinearProgram, before: &[Objective]) -> LinearProgram {
    let mut priced = program.clone();
    let highest = priced.columns.iter().map(|column| column.cost.abs()).fold(0.0, f64::max);
    let highest = if highest > 0.0 { highest } else { 1.0 };
    for objective in before {
        let lightest = objective.iter().map(|&(_, weight)| weight).fold(f64::INFINITY, f64::min);
        for &(column, weight) in objective {
            priced.columns[column].cost +=
                10.0 * highest * (weight / lightest.max(DIVISOR_MIN)).min(1e4);
        }
    }
    priced
}

/// No column of the objective may be more than nothing, or than the dust that
/// it is: a load a milliwatt above its limit stays possible.
pub(crate) fn forbid(program: &mut LinearProgram, objective: &Objective, values: &[f64]) {
    for &(column, _) in objective {
        let bounds = &mut program.columns[column];
        let dust = if values[column] > SOLVER_ROUNDING { values[column] } else { bounds.lower };
        bounds.upper = dust.clamp(bounds.lower, bounds.upper);
    }
}

/// The objective as the costs, and nothing else.
pub(crate) fn set_costs(program: &mut LinearProgram, objective: &Objective) {
    for column in &mut program.columns {
        column.cost = 0.0;
    }
    for &(column, weight) in objective {
        program.columns[column].cost += weight;
    }
}

/// Leaves only the optimal values: by complementary slackness, columns and
/// rows with a price stay at their bounds. No tolerance adds up over the
/// objectives, as it would with a row for the least value.
pub(crate) fn keep_optimal(program: &mut LinearProgram, solution: &Solution) {
    let scale = program.columns.iter().map(|column| column.cost.abs()).fold(0.0, f64::max);
    let noise = SOLVER_ROUNDING * scale.max(PRICE_SCALE_MIN);
    for (index, column) in program.columns.iter_mut().enumerate() {
        let price = solution.reduced_costs[index];
        let value = solution.values[index];
        if price > noise && value - column.lower <= allowed(AT_BOUND, column.lower) {
            column.upper = column.lower;
        } else if price < -noise && column.upper - value <= allowed(AT_BOUND, column.upper) {
            column.lower = column.upper;
        }
    }
    for (row, &price) in program.rows.iter_mut().zip(&solution.duals) {
        if price > noise && row.lower.is_finite() {
            row.upper = row.lower;
        } else if price < -noise && row.upper.is_finite() {
            row.lower = row.upper;
        }
    }
}

/// Room that a row for a least value leaves, in its own unit: nothing of its
/// lightest column, and more than the tolerance of the solver.
pub(crate) fn slack_of(objective: &Objective) -> f64 {
    let weights = || objective.iter().map(|&(_, weight)| weight.abs());
    let (lightest, heaviest) =
        (weights().fold(f64::INFINITY, f64::min), weights().fold(0.0, f64::max));
    (SITE_MIN_KWH / 100.0 * lightest).max(SOLVER_SLACK * heaviest)
}

/// An objective at most so much, with a tolerance.
pub(crate) fn bound_row(objective: &Objective, most: f64) -> Row {
    let most = most + allowed(SOLVER_ROUNDING, most);
    Row { lower: f64::NEG_INFINITY, upper: most, terms: objective.clone() }
}
