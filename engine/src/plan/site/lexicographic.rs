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
//! The duals of the stages together prove the cost without these restrictions. Let `y_k` and `r_k`
//! be duals and reduced costs of stage `k`, and `y` and `r` those of money. With a price `m_k` on
//! `f_k(x) <= z_k`, the sums `y + Σ_k m_k·y_k` and `r + Σ_k m_k·r_k` are duals and reduced costs of the
//! programme without restrictions. From the last stage to the first, `m_k` is the least price that
//! gives the sum the right sign in all columns and rows that stage `k` fixed (`compose_duals`).
//!
//! In the usual case nothing is missing. Then one programme with penalties on all stages before
//! money shows it, and its solution is optimal in every stage (`least_money`).
use crate::lp::{Limits, LinearProgram, LpError, Row, Solution};
use crate::plan::search_status::SearchStatus;
use crate::plan::site::certificate::Duals;
use crate::plan::site::model::{MissKind, SiteModel};
use crate::tolerance::{DIVISOR_MIN, SITE_MIN_KWH, SOLVER_ROUNDING, SOLVER_SLACK, allowed};

/// Objective to be minimised, as terms `(column, weight)`.
pub(crate) type Objective = Vec<(usize, f64)>;

/// Distance from a bound, as a share of it or of 1, at which a value is at that bound: a hundred
/// times [`SOLVER_ROUNDING`], because the solver scales rows and columns.
const AT_BOUND: f64 = 1e-7;

/// Least scale of reduced costs, in units of the programme: an objective of nothing has no noise.
const PRICE_SCALE_MIN: f64 = 1e-12;

/// Highest price of an objective in the composed duals, in units of the programme. It multiplies the
/// rounding of the solver: a higher price would prove less than it costs.
const OBJECTIVE_PRICE_MAX: f64 = 1e4;

/// Value of an objective.
pub(crate) fn value_of(objective: &Objective, values: &[f64]) -> f64 {
    objective.iter().map(|&(column, weight)| weight * values[column]).sum()
}

/// Objectives before money, the most important first: breaches of hard limits, energy that drives
/// lack, energy below reserves, energy that misses to wanted power, shortfall, degree-hours outside
/// comfort bands, and late shortfall.
/// Shortfalls count by priority, and then with more weight on earlier deadlines. Empty objectives
/// are left out.
///
/// Drives come before reserves and targets, so that a drive does not lack more, and charge more on
/// the way, in favour of these. Degree-hours come after deadlines: a room is warm again later, and a
/// departure is not made good. They come before late shortfall, which missed its time anyway.
pub(crate) fn before_money(model: &SiteModel) -> Vec<Objective> {
    let breaches = model.breaches.iter().map(|&column| (column, 1.0)).collect();
    let [lacks, earliest_lacks] = by_priority_then_deadline(model, MissKind::Drive);
    let [wishes, earliest] = by_priority_then_deadline(model, MissKind::Target);
    let [late, _] = by_priority_then_deadline(model, MissKind::Late);
    let [powers, _] = by_priority_then_deadline(model, MissKind::Power);
    let reserves = model.reserves.clone();
    // Degree-hours in units of the heaviest column, which is then one of kWh as elsewhere.
    let heaviest = model.discomfort.iter().map(|&(_, weight)| weight).fold(0.0, f64::max);
    let in_units = |&(column, weight): &(usize, f64)| (column, weight / heaviest);
    let discomfort = model.discomfort.iter().map(in_units).collect();
    [breaches, lacks, earliest_lacks, reserves, powers, wishes, earliest, discomfort, late]
        .into_iter()
        .filter(|objective: &Objective| !objective.is_empty())
        .collect()
}

/// Shortfalls of a kind: weighted by priority alone, and with more weight on earlier deadlines.
fn by_priority_then_deadline(model: &SiteModel, kind: MissKind) -> [Objective; 2] {
    let misses = || model.misses.iter().filter(|miss| miss.kind == kind);
    let mut deadlines: Vec<usize> = misses().map(|miss| miss.slots).collect();
    deadlines.sort_unstable();
    deadlines.dedup();
    let rank = |slots: usize| deadlines.partition_point(|&deadline| deadline < slots);
    // Weights fall from 1 for the earliest of n deadlines to 1/n for the last.
    let earliness = |slots: usize| (deadlines.len() - rank(slots)) as f64 / deadlines.len() as f64;
    let all = misses().map(|miss| (miss.column, miss.priority * miss.energy)).collect();
    let earliest = misses()
        .map(|miss| (miss.column, miss.priority * miss.energy * earliness(miss.slots)))
        .collect();
    [all, earliest]
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
    /// Duals of all stages together, which bound the cost without the restrictions of the stages.
    pub(crate) duals: Duals,
}

/// Columns and rows that the restriction to an optimal face fixed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Face {
    columns: Vec<usize>,
    rows: Vec<usize>,
}

/// Stage that was solved: the position of its objective, its solution and its face.
struct Stage {
    rank: usize,
    solution: Solution,
    face: Face,
}

/// Duals of the programme without the restrictions of `stages`, from the solution of money under
/// them. There are `count` objectives before money.
fn compose_duals(stages: &[Stage], solution: &Solution, count: usize) -> Duals {
    let (mut rows, mut reduced) = (solution.duals.clone(), solution.reduced_costs.clone());
    let mut objectives = vec![0.0; count];
    for Stage { rank, solution, face } in stages.iter().rev() {
        let columns = face.columns.iter().map(|&at| -reduced[at] / solution.reduced_costs[at]);
        let prices = columns.chain(face.rows.iter().map(|&at| -rows[at] / solution.duals[at]));
        let price = prices.filter(|price| *price <= OBJECTIVE_PRICE_MAX).fold(0.0, f64::max);
        objectives[*rank] = price;
        for (sum, dual) in rows.iter_mut().zip(&solution.duals) {
            *sum += price * dual;
        }
        for (sum, cost) in reduced.iter_mut().zip(&solution.reduced_costs) {
            *sum += price * cost;
        }
    }
    Duals { rows, objectives }
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
        // No duals are known, and zeros give a valid bound as well.
        let duals = vec![0.0; program.rows.len()];
        let reduced_costs = vec![0.0; program.columns.len()];
        let cost = money.iter().zip(&values).map(|(cost, value)| cost * value).sum();
        let solution = Solution { cost, values, duals, reduced_costs };
        Self { program, solution, status: error.into(), duals: Duals::default() }
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
    // If all objectives are zero, no penalty is paid and the money is least.
    if before.iter().all(|objective| value_of(objective, &solution.values) <= SITE_MIN_KWH) {
        for objective in before {
            forbid(&mut program, objective, &solution.values);
        }
        let duals = compose_duals(&[], &solution, before.len());
        return Solved { program, solution, status, duals };
    }
    // Otherwise each objective is minimised in turn, and money last.
    let money: Vec<f64> = program.columns.iter().map(|column| column.cost).collect();
    let mut values = solution.values;
    let mut stages = Vec::new();
    // One stage per objective. One that is zero in the present values needs no solution.
    for (rank, objective) in before.iter().enumerate() {
        if value_of(objective, &values) <= SITE_MIN_KWH {
            forbid(&mut program, objective, &values);
            continue;
        }
        program.set_costs(objective);
        match program.minimise_within(limits) {
            Ok(solution) => {
                let face = keep_optimal(&mut program, &solution);
                values.clone_from(&solution.values);
                stages.push(Stage { rank, solution, face });
            }
            Err(error) => return Solved::stopped(program, &money, values, error),
        }
    }
    set_money(&mut program, &money);
    match program.minimise_within(limits) {
        Ok(solution) => {
            let duals = compose_duals(&stages, &solution, before.len());
            Solved { program, solution, status, duals }
        }
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
    // A programme without costs still needs a penalty.
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

/// Fixes the columns of an objective at zero (their lower bound), or at their present value if
/// that is small but positive: a load that exceeds its limit by a milliwatt stays feasible.
pub(crate) fn forbid(program: &mut LinearProgram, objective: &Objective, values: &[f64]) {
    for &(column, _) in objective {
        let bounds = &mut program.columns[column];
        let value = if values[column] > SOLVER_ROUNDING { values[column] } else { bounds.lower };
        bounds.upper = value.clamp(bounds.lower, bounds.upper);
    }
}

/// Restricts a programme to its optimal face: columns with a reduced cost and rows with a dual are
/// fixed at their bounds (complementary slackness). Returns those that had room before.
pub(crate) fn keep_optimal(program: &mut LinearProgram, solution: &Solution) -> Face {
    let mut face = Face::default();
    let scale = program.columns.iter().map(|column| column.cost.abs()).fold(0.0, f64::max);
    // Reduced costs and duals below this are rounding of the solver.
    let noise = SOLVER_ROUNDING * scale.max(PRICE_SCALE_MIN);
    for (index, column) in program.columns.iter_mut().enumerate() {
        let price = solution.reduced_costs[index];
        let value = solution.values[index];
        let has_room = column.lower < column.upper;
        if price > noise && value - column.lower <= allowed(AT_BOUND, column.lower) {
            column.upper = column.lower;
        } else if price < -noise && column.upper - value <= allowed(AT_BOUND, column.upper) {
            column.lower = column.upper;
        }
        if has_room && column.lower >= column.upper {
            face.columns.push(index);
        }
    }
    // A row with a dual binds, so it stays at the side that it is priced for.
    for (index, (row, &price)) in program.rows.iter_mut().zip(&solution.duals).enumerate() {
        let has_room = row.lower < row.upper;
        if price > noise && row.lower.is_finite() {
            row.upper = row.lower;
        } else if price < -noise && row.upper.is_finite() {
            row.lower = row.upper;
        }
        if has_room && row.lower >= row.upper {
            face.rows.push(index);
        }
    }
    face
}

/// Slack of the row that bounds an objective, in the unit of the objective: 1e-7 of its lightest
/// weight (a hundred times the tolerance of the solver), or 1e-8 of its heaviest if that is more.
pub(crate) fn slack_of(objective: &Objective) -> f64 {
    let weights = || objective.iter().map(|&(_, weight)| weight.abs());
    let (lightest, heaviest) =
        (weights().fold(f64::INFINITY, f64::min), weights().fold(0.0, f64::max));
    (SITE_MIN_KWH / 100.0 * lightest).max(SOLVER_SLACK * heaviest)
}

/// Row `objective <= most`, with a relative tolerance of 1e-9.
pub(crate) fn bound_row(objective: &Objective, most: f64) -> Row {
    let most = most + allowed(SOLVER_ROUNDING, most);
    Row { lower: f64::NEG_INFINITY, upper: most, terms: objective.clone() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lp::Column;
    use crate::plan::site::certificate::bound_by_duals;
    use crate::plan::site::device::Device;
    use crate::plan::site::request::tests::{at, hard, house, site, van};

    /// Two loads that share `room`: columns of what they draw, then of what they miss.
    fn programme(costs: [i32; 2], wanted: [i32; 2], room: i32) -> LinearProgram {
        let mut programme = LinearProgram::default();
        for cost in costs {
            programme.add_column(Column { cost: cost.into(), lower: 0.0, upper: room.into() });
        }
        for most in wanted {
            programme.add_column(Column { cost: 0.0, lower: 0.0, upper: most.into() });
        }
        for (load, most) in wanted.into_iter().enumerate() {
            let terms = vec![(load, 1.0), (load + 2, 1.0)];
            programme.rows.push(Row { lower: most.into(), upper: f64::INFINITY, terms });
        }
        let (lower, terms) = (f64::NEG_INFINITY, vec![(0, 1.0), (1, 1.0)]);
        programme.rows.push(Row { lower, upper: room.into(), terms });
        programme
    }

    #[test]
    fn breaches_come_before_wishes_and_those_before_what_is_late() {
        let (mut a, mut b) = (van("a", 4.0, 3.0), van("b", 4.0, 3.0));
        (a.targets[0].by, b.targets[0].by) = (Some(at(60)), Some(at(120)));
        b.priority = 3.0;
        let devices = [Device::Vehicle(a), Device::Vehicle(b), house(&[9.0, 0.0, 0.0])];
        let mut request = site(&[10, 10, 10], &devices);
        request.import_limit = Some(hard(8.0));
        let model = SiteModel::new(&request, true);
        let found = before_money(&model);
        let miss = |index: usize| model.misses[index].column;
        let on_time = [&model.misses[0], &model.misses[2]].map(|m| m.kind);
        assert_eq!(on_time, [MissKind::Target; 2]);
        assert_eq!(found[0], [(model.breaches[0], 1.0)]);
        assert_eq!(found[1], [(miss(0), 1.0), (miss(2), 3.0)]);
        // Of two deadlines the earlier one counts in full, and the later one half.
        assert_eq!(found[2], [(miss(0), 1.0), (miss(2), 1.5)]);
        assert_eq!(found[3], [(miss(1), 1.0), (miss(3), 3.0)]);
    }

    #[test]
    fn what_is_optimal_stays_so_under_other_costs() {
        let mut programme = programme([1, 3], [6, 0], 9);
        programme.columns[0].upper = 4.0;
        programme.set_costs(&[(2, 1.0)]);
        let solution = programme.minimise().unwrap();
        keep_optimal(&mut programme, &solution);
        // 2 of 6 are missed. Whatever comes next, the first load draws its 4.
        programme.set_costs(&[(0, 1.0), (2, -1.0)]);
        let next = programme.minimise().unwrap();
        assert!((next.values[0] - 4.0).abs() < 1e-9 && (next.values[2] - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_forbidden_keeps_its_dust() {
        let mut programme = programme([1, 1], [5, 5], 9);
        forbid(&mut programme, &vec![(2, 1.0), (3, 1.0)], &[0.0, 0.0, 1e-6, 1e-12]);
        assert_eq!((programme.columns[2].upper, programme.columns[3].upper), (1e-6, 0.0));
    }

    #[test]
    fn a_row_for_a_least_value_leaves_the_room_of_the_solver() {
        // A hundredth of the rounding in the lightest column, or 1e-8 of the heaviest.
        assert!((slack_of(&vec![(0, 2.0), (1, 4.0)]) - 2e-7).abs() < 1e-20);
        assert!((slack_of(&vec![(0, 1.0), (1, -100.0)]) - 1e-6).abs() < 1e-20);
        let row = bound_row(&vec![(0, 2.0)], -5.0);
        assert!((row.upper - (-5.0 + 5e-9)).abs() < 1e-12 && row.lower == f64::NEG_INFINITY);
        assert!((bound_row(&vec![(0, 2.0)], 0.0).upper - 1e-9).abs() < 1e-20);
    }

    #[test]
    fn a_limit_leaves_the_values_before_it_and_the_money_as_costs() {
        let before = [vec![(2, 1.0), (3, 1.0)]];
        let programme = programme([1, 2], [4, 4], 5);
        let first = with_penalties(&programme, &before).minimise().unwrap();
        let none = Limits { iterations: 0, ..Limits::default() };
        let stopped = after_penalties(&programme, &before, first.clone(), &none);
        assert_eq!(stopped.status, SearchStatus::LimitReached);
        assert_eq!(stopped.solution.values, first.values);
        // 5 are drawn, 4 of them at 1.
        assert!((stopped.solution.cost - 6.0).abs() < 1e-9);
        assert!((stopped.program.columns[1].cost - 2.0).abs() < 1e-12);
        assert!(stopped.solution.duals.iter().all(|&dual| dual == 0.0));
    }

    proptest! {
        /// All whole plans of two loads, of which one is the best: the matrix is that of a network.
        #[test]
        fn money_decides_among_plans_that_miss_the_least(
            costs in prop::array::uniform2(-5..6i32), wanted in prop::array::uniform2(0..5i32),
            weights in prop::array::uniform2(1..4i32), room in 0..7i32,
        ) {
            let programme = programme(costs, wanted, room);
            let miss = |index: usize| (index + 2, f64::from(weights[index]));
            let before = [vec![miss(0), miss(1)], vec![(2, 1.0)]];
            let solved = least_money(&programme, &before, &Limits::default()).unwrap();
            let plans = (0..=room).flat_map(|a| (0..=room - a).map(move |b| [a, b]));
            let value = |drawn: [i32; 2]| {
                let missed = [0, 1].map(|load| (wanted[load] - drawn[load]).max(0));
                let weighed = missed[0] * weights[0] + missed[1] * weights[1];
                (weighed, missed[0], costs[0] * drawn[0] + costs[1] * drawn[1])
            };
            let (weighed, first, money) = plans.map(value).min().unwrap();
            let values = &solved.solution.values;
            prop_assert_eq!(solved.status, SearchStatus::Optimal);
            prop_assert!((value_of(&before[0], values) - f64::from(weighed)).abs() < 1e-6);
            prop_assert!((value_of(&before[1], values) - f64::from(first)).abs() < 1e-6);
            prop_assert!((solved.solution.cost - f64::from(money)).abs() < 1e-6);
            // The duals of all stages prove this cost, in the programme without restrictions.
            let most: Vec<f64> = before.iter().map(|o| value_of(o, values)).collect();
            let bound = bound_by_duals(&programme, &before, &most, &solved.duals);
            prop_assert!((bound - f64::from(money)).abs() < 1e-6, "{bound}");
        }
    }
}
