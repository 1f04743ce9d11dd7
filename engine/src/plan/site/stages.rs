//! Shortfall, then money, then preferences; on or off only where it must be.
use crate::lp::{Limits, LpError, MipStatus, MixedProgram};
use crate::plan::site::certificate::weak_bound;
use crate::plan::site::fallback::first_come;
use crate::plan::site::lexicographic::{
    DUST, Objective, Solved, after_penalties, before_money, bound_row, forbid, least_money,
    set_costs, status_of, value_of, with_penalties,
};
use crate::plan::site::model::{Model, Pair};
use crate::plan::site::plan::Status;
use crate::plan::site::preferences;
use crate::plan::site::problem::SiteRequest;
use crate::plan::site::settle::settle;

/// How often binaries are added before all are in.
const ROUNDS_MAX: usize = 4;

/// The values of a model's columns, with what is known of them.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// Value of each column of the model.
    pub(crate) values: Vec<f64>,
    /// Dual of each row of the model in the last money stage.
    pub(crate) duals: Vec<f64>,
    /// Money that no plan can undercut, without the model's constant.
    pub(crate) bound: f64,
    pub(crate) status: Status,
}

/// Binaries that are in the programme.
#[derive(Debug, Clone, Default)]
struct Active {
    pairs: Vec<Pair>,
    /// Positions among the model's semi-continuous columns.
    semis: Vec<usize>,
    /// Whether discharging from too low a level is a choice.
    guards: bool,
    /// Whether starts are whole.
    starts: bool,
}

/// Solves a model within limits. Never fails: what comes first can be served
/// first. `None` where a wish is missed that is to be wanted on, which is
/// another model.
pub(crate) fn solve(request: &SiteRequest, model: &Model, limits: &Limits) -> Option<Answer> {
    let before = before_money(model);
    let solution = match with_penalties(&model.program, &before).minimise_within(limits) {
        Ok(solution) => solution,
        Err(error) => return Some(unsolved(model, status_of(error))),
    };
    let is_missed =
        model.misses.iter().any(|miss| solution.values[miss.column] * miss.energy > DUST);
    if is_missed && !model.is_final {
        return None;
    }
    let solved = after_penalties(&model.program, &before, solution, limits);
    let bound = weak_bound(&solved.program, &solved.solution.duals);
    let mut values = solved.solution.values.clone();
    let mut active = Active::default();
    if is_whole(model, &mut values, &mut active) {
        let duals = solved.solution.duals.clone();
        let start = Solved { solution: with_values(&solved, &values), ..solved };
        let (values, status) = preferences::apply(request, model, start, limits);
        return Some(Answer { values, duals, bound, status });
    }
    if solved.status != Status::Optimal {
        return Some(unsolved(model, solved.status));
    }
    prices_first(model, &mut active);
    Some(with_choices(request, model, &before, active, limits))
}

/// Solves with binaries where they are needed, round by round.
fn with_choices(
    request: &SiteRequest,
    model: &Model,
    before: &[Objective],
    mut active: Active,
    limits: &Limits,
) -> Answer {
    let mut answer = None;
    for round in 0..ROUNDS_MAX {
        if round + 1 == ROUNDS_MAX {
            active.pairs.clone_from(&model.pairs);
        }
        let (next, solved) = solve_mixed(model, before, &active, limits);
        let mut values = next.values.clone();
        let is_done = is_whole(model, &mut values, &mut active);
        answer = Some(match solved {
            Some(solved) if is_done => {
                let start = Solved { solution: with_values(&solved, &values), ..solved };
                let (values, ended) = preferences::apply(request, model, start, limits);
                Answer { values, status: worse(next.status, ended), ..next }
            }
            _ => next,
        });
        if is_done {
            break;
        }
    }
    answer.unwrap_or_else(|| unsolved(model, Status::LimitReached))
}

/// The status of two searches in a row.
fn worse(one: Status, other: Status) -> Status {
    match (one, other) {
        (Status::TimeReached, _) | (_, Status::TimeReached) => Status::TimeReached,
        (Status::LimitReached, _) | (_, Status::LimitReached) => Status::LimitReached,
        (Status::Optimal, Status::Optimal) => Status::Optimal,
    }
}

fn with_values(solved: &Solved, values: &[f64]) -> crate::lp::Solution {
    let mut solution = solved.solution.clone();
    solution.values[..values.len()].copy_from_slice(values);
    solution
}

/// Whether everything is on or off that must be; if not, what is to become a
/// binary is added. Ties that can be undone at no cost are undone.
fn is_whole(model: &Model, values: &mut [f64], active: &mut Active) -> bool {
    let burning = settle(model, values);
    let semis: Vec<usize> = (0..model.semis.len())
        .filter(|&index| {
            let semi = &model.semis[index];
            values[semi.column] > DUST && values[semi.column] < semi.least - DUST
        })
        .collect();
    let is_part = |value: f64| value > 1e-6 && value < 1.0 - 1e-6;
    let parts = model.starts.iter().any(|start| is_part(values[start.column]));
    let is_low = model
        .guards
        .iter()
        .any(|guard| values[guard.discharge] > DUST && values[guard.level] < guard.least - DUST);
    let is_whole = burning.is_empty() && semis.is_empty() && !parts && !is_low;
    active.guards |= is_low;
    for pair in burning {
        if active.pairs.iter().all(|known| known.first != pair.first) {
            active.pairs.push(pair);
        }
    }
    if !semis.is_empty() {
        // All slots of a device together: else the part moves from slot to slot.
        let devices: Vec<usize> = semis.iter().map(|&index| model.semis[index].device).collect();
        active.semis = (0..model.semis.len())
            .filter(|&index| {
                devices.contains(&model.semis[index].device) || active.semis.contains(&index)
            })
            .collect();
    }
    active.starts |= parts || !is_whole && !model.starts.is_empty();
    is_whole
}

/// Where a price is below zero, or selling pays more than buying costs, both
/// directions at once would pay: such pairs are binary from the start.
fn prices_first(model: &Model, active: &mut Active) {
    if active.pairs.is_empty() {
        return;
    }
    let pays = |pair: &Pair| {
        let (import, export) = (model.import_least[pair.slot], model.grid.export[pair.slot]);
        if pair.device.is_none() { import < export } else { import < 0.0 || export < 0.0 }
    };
    for pair in model.pairs.iter().filter(|pair| pays(pair)) {
        if active.pairs.iter().all(|known| known.first != pair.first) {
            active.pairs.push(*pair);
        }
    }
}

/// The programme with binaries, and the position of the first of them.
fn with_binaries(model: &Model, active: &Active) -> MixedProgram {
    let mut mixed = MixedProgram { linear: model.program.clone(), ..MixedProgram::default() };
    let upper = |column: usize| model.program.columns[column].upper;
    for pair in &active.pairs {
        let choice = binary(&mut mixed);
        let (first, second) = (upper(pair.first), upper(pair.second));
        at_most(&mut mixed, vec![(pair.first, 1.0), (choice, -first)], 0.0);
        at_most(&mut mixed, vec![(pair.second, 1.0), (choice, second)], second);
    }
    for semi in active.semis.iter().map(|&index| &model.semis[index]) {
        let is_on = binary(&mut mixed);
        at_most(&mut mixed, vec![(semi.column, 1.0), (is_on, -upper(semi.column))], 0.0);
        at_most(&mut mixed, vec![(semi.column, -1.0), (is_on, semi.least)], 0.0);
    }
    for guard in model.guards.iter().filter(|_| active.guards) {
        let is_on = binary(&mut mixed);
        let lower = model.program.columns[guard.level].lower;
        at_most(&mut mixed, vec![(guard.discharge, 1.0), (is_on, -upper(guard.discharge))], 0.0);
        at_most(&mut mixed, vec![(guard.level, -1.0), (is_on, guard.least - lower)], -lower);
    }
    if active.starts {
        mixed.integers.extend(model.starts.iter().map(|start| start.column));
    }
    mixed
}

fn binary(mixed: &mut MixedProgram) -> usize {
    let column = crate::lp::Column { cost: 0.0, lower: 0.0, upper: 1.0 };
    let position = mixed.linear.add_column(column);
    mixed.integers.push(position);
    position
}

fn at_most(mixed: &mut MixedProgram, terms: Vec<(usize, f64)>, upper: f64) {
    mixed.linear.rows.push(crate::lp::Row { lower: f64::NEG_INFINITY, upper, terms });
}

/// Solves with binaries, then once more with them fixed, which gives the
/// shadow prices and exact values.
fn solve_mixed(
    model: &Model,
    before: &[Objective],
    active: &Active,
    limits: &Limits,
) -> (Answer, Option<Solved>) {
    let mut mixed = with_binaries(model, active);
    let (whole, bound, status) = match search(&mut mixed, before, limits) {
        Ok(found) => found,
        // Nothing found in time: everything that can be off is off.
        Err(error) => (all_off(model, active, &mixed), f64::NEG_INFINITY, status_of(error)),
    };
    let mut fixed = with_binaries(model, active);
    for &column in &fixed.integers {
        let value = whole[column].round();
        (fixed.linear.columns[column].lower, fixed.linear.columns[column].upper) = (value, value);
    }
    let count = model.program.columns.len();
    let rows = model.program.rows.len();
    match least_money(&fixed.linear, before, limits) {
        Ok(solved) => {
            let status = worse(status, solved.status);
            let values = solved.solution.values[..count].to_vec();
            let duals = solved.solution.duals[..rows].to_vec();
            (Answer { values, duals, bound, status }, Some(solved))
        }
        Err(error) => (unsolved(model, status_of(error)), None),
    }
}

/// Whole values of least money among the least of everything before it, the
/// bound on the money, and how the search ended.
fn search(
    mixed: &mut MixedProgram,
    before: &[Objective],
    limits: &Limits,
) -> Result<(Vec<f64>, f64, Status), LpError> {
    let mut status = Status::Optimal;
    let mut note = |ended: MipStatus| {
        let ended = match ended {
            MipStatus::Optimal => Status::Optimal,
            MipStatus::NodeLimit | MipStatus::IterationLimit => Status::LimitReached,
            MipStatus::TimeLimit => Status::TimeReached,
        };
        status = worse(status, ended);
    };
    let money = mixed.linear.clone();
    mixed.linear = with_penalties(&money, before);
    let found = mixed.minimise(limits)?;
    note(found.status);
    if before.iter().all(|objective| value_of(objective, &found.values) <= DUST) {
        return Ok((found.values, found.bound, status));
    }
    mixed.linear = money.clone();
    let mut values = found.values;
    for objective in before {
        if value_of(objective, &values) <= DUST {
            forbid(&mut mixed.linear, objective, &values);
            continue;
        }
        set_costs(&mut mixed.linear, objective);
        let found = mixed.minimise(limits)?;
        note(found.status);
        mixed.linear.rows.push(bound_row(objective, found.cost.max(0.0) + DUST / 10.0));
        mixed.start = Some(found.values.clone());
        values = found.values;
    }
    for (column, money) in mixed.linear.columns.iter_mut().zip(&money.columns) {
        column.cost = money.cost;
    }
    let found = mixed.minimise(limits)?;
    note(found.status);
    Ok((found.values, found.bound, status))
}

/// Binaries of devices that stay idle, while the meter follows what is fixed.
fn all_off(model: &Model, active: &Active, mixed: &MixedProgram) -> Vec<f64> {
    let mut values = vec![0.0; mixed.linear.columns.len()];
    let first = model.program.columns.len();
    for (index, pair) in active.pairs.iter().enumerate() {
        let imports = pair.device.is_some() || model.fixed_in(pair.slot, None) >= 0.0;
        values[first + index] = f64::from(u8::from(imports));
    }
    values
}

/// The answer where the solver has none: the wishes as they come.
pub(crate) fn unsolved(model: &Model, status: Status) -> Answer {
    let duals = vec![0.0; model.program.rows.len()];
    let bound = weak_bound(&model.program, &duals);
    Answer { values: first_come(model), duals, bound, status }
}
