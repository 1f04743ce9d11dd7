//! Lexicographic minimisation: one objective after the other, none at the expense of an earlier.
//!
//! ```text
//! z_1 = min f_1(x),   z_k = min { f_k(x) : f_j(x) = z_j for j < k },   x in X
//! ```
//!
//! After a stage the programme is restricted to the optimal face of its objective. By
//! complementary slackness this face holds the solutions in which each column with a reduced cost
//! and each row with a dual stays at its bound, so those bounds are fixed (`keep_optimal`). No row
//! `f_k(x) <= z_k` is needed, whose tolerance would add up over the stages.
//!
//! In the usual case nothing is missing. Then one programme with penalties on all stages before
//! money shows it, and its solution is optimal in every stage (`least_money`).
use crate::lp::{Limits, LinearProgram, LpError, Row, Solution};
use crate::plan::search_status::SearchStatus;
use crate::plan::site::model::SiteModel;

/// Objective to be minimised, as terms `(column, weight)`.
pub(crate) type Objective = Vec<(usize, f64)>;

/// Energy in kWh below which a flow or a sum counts as zero: a hundredth of a watt-hour.
pub(crate) const DUST: f64 = 1e-5;

/// Tolerance of a reduced cost or dual, as a part of the largest cost of the programme, and of a
/// value in its own unit: smaller numbers count as zero. It is the tolerance of the solver.
const NOISE: f64 = 1e-9;

/// Value of an objective.
pub(crate) fn value_of(objective: &Objective, values: &[f64]) -> f64 {
    objective.iter().map(|&(column, weight)| weight * values[column]).sum()
}

/// Objectives before money, the most important first: breaches of hard limits, energy below
/// reserves, shortfall by priority, shortfall with more weight on earlier deadlines, and late
/// shortfall. Empty objectives are left out.
pub(crate) fn before_money(model: &SiteModel) -> Vec<Objective> {
    let misses = |is_late: bool| model.misses.iter().filter(move |miss| miss.is_late == is_late);
    let breaches = model.breaches.iter().map(|&column| (column, 1.0)).collect();
    let wishes = misses(false).map(|miss| (miss.column, miss.priority * miss.energy)).collect();
    let mut deadlines: Vec<usize> = misses(false).map(|miss| miss.slots).collect();
    deadlines.sort_unstable();
    deadlines.dedup();
    let rank = |slots: usize| deadlines.partition_point(|&deadline| deadline < slots);
    // Weights fall from 1 for the earliest of n deadlines to 1/n for the last.
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

/// Programme with its last solution.
#[derive(Debug, Clone)]
pub(crate) struct Solved {
    /// The programme. Earlier objectives are in its bounds, the last one is its costs.
    pub(crate) program: LinearProgram,
    pub(crate) solution: Solution,
    /// Termination. If a limit ended the last objective, the values are those of the objective
    /// before it, and all duals are zero.
    pub(crate) status: SearchStatus,
}

impl Solved {
    /// Result of a search that a limit ended: `values` of the last solved objective, at their cost
    /// in money.
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

/// Minimises the costs of a programme among the solutions that minimise `before`, one objective
/// after the other.
///
/// A first solution has penalties on all objectives in `before`. If they are all zero in it, no
/// penalty is paid, and the solution is optimal at any size of the penalties. Otherwise each
/// objective is solved on its own.
pub(crate) fn least_money(
    program: &LinearProgram,
    before: &[Objective],
    limits: &Limits,
) -> Result<Solved, LpError> {
    let solution = with_penalties(program, before).minimise_within(limits)?;
    Ok(after_penalties(program, before, solution, limits))
}

/// Completes [`least_money`] from the solution of the programme with penalties.
pub(crate) fn after_penalties(
    program: &LinearProgram,
    before: &[Objective],
    solution: Solution,
    limits: &Limits,
) -> Solved {
    let mut program = program.clone();
    let status = SearchStatus::Optimal;
    if before.iter().all(|objective| value_of(objective, &solution.values) <= DUST) {
        // No penalty is paid: stages before money and money are solved together.
        for objective in before {
            forbid(&mut program, objective, &solution.values);
        }
        return Solved { program, solution, status };
    }
    let money: Vec<f64> = program.columns.iter().map(|column| column.cost).collect();
    let mut values = solution.values;
    // One stage per objective. One that is zero in the present values needs no solution.
    for objective in before {
        if value_of(objective, &values) <= DUST {
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

/// Sets the costs of the first columns to `money`.
fn set_money(program: &mut LinearProgram, money: &[f64]) {
    for (column, &cost) in program.columns.iter_mut().zip(money) {
        column.cost = cost;
    }
}

/// Copy of the programme with a penalty on every column of the objectives in `before`. The penalty
/// is ten times the highest cost, times the weight relative to the lightest one, at most 1e4.
pub(crate) fn with_penalties(program: &LinearProgram, before: &[Objective]) -> LinearProgram {
    let mut priced = program.clone();
    let highest = priced.columns.iter().map(|column| column.cost.abs()).fold(0.0, f64::max);
    let highest = if highest > 0.0 { highest } else { 1.0 };
    for objective in before {
        let lightest = objective.iter().map(|&(_, weight)| weight).fold(f64::INFINITY, f64::min);
        for &(column, weight) in objective {
            priced.columns[column].cost += 10.0 * highest * (weight / lightest.max(1e-9)).min(1e4);
        }
    }
    priced
}

/// Fixes the columns of an objective at zero (their lower bound), or at their present value if
/// that is small but positive: a load that exceeds its limit by a milliwatt stays feasible.
pub(crate) fn forbid(program: &mut LinearProgram, objective: &Objective, values: &[f64]) {
    for &(column, _) in objective {
        let bounds = &mut program.columns[column];
        let dust = if values[column] > NOISE { values[column] } else { bounds.lower };
        bounds.upper = dust.clamp(bounds.lower, bounds.upper);
    }
}

/// Replaces the costs of the programme by an objective.
pub(crate) fn set_costs(program: &mut LinearProgram, objective: &Objective) {
    for column in &mut program.columns {
        column.cost = 0.0;
    }
    for &(column, weight) in objective {
        program.columns[column].cost += weight;
    }
}

/// Restricts a programme to its optimal face: columns with a reduced cost and rows with a dual are
/// fixed at their bounds (complementary slackness).
pub(crate) fn keep_optimal(program: &mut LinearProgram, solution: &Solution) {
    let scale = program.columns.iter().map(|column| column.cost.abs()).fold(0.0, f64::max);
    let noise = NOISE * scale.max(1e-12);
    for (index, column) in program.columns.iter_mut().enumerate() {
        let price = solution.reduced_costs[index];
        let value = solution.values[index];
        // A column is fixed only if its value is at that bound, to 1e-7 of it.
        if price > noise && value - column.lower <= 1e-7 * column.lower.abs().max(1.0) {
            column.upper = column.lower;
        } else if price < -noise && column.upper - value <= 1e-7 * column.upper.abs().max(1.0) {
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

/// Slack of the row that bounds an objective, in the unit of the objective: 1e-7 of its lightest
/// weight (a hundred times the tolerance of the solver), or 1e-8 of its heaviest if that is more.
pub(crate) fn slack_of(objective: &Objective) -> f64 {
    let weights = || objective.iter().map(|&(_, weight)| weight.abs());
    let (lightest, heaviest) =
        (weights().fold(f64::INFINITY, f64::min), weights().fold(0.0, f64::max));
    (DUST / 100.0 * lightest).max(1e-8 * heaviest)
}

/// Row `objective <= most`, with a relative tolerance of 1e-9.
pub(crate) fn bound_row(objective: &Objective, most: f64) -> Row {
    let most = most + 1e-9 * most.abs().max(1.0);
    Row { lower: f64::NEG_INFINITY, upper: most, terms: objective.clone() }
}
