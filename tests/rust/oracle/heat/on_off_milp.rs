//! Units that are on or off, as mixed-integer programmes on HiGHS, written in temperatures.
//!
//! The solver only chooses the slots that are on. Degree-hours and cost of its schedule are then
//! computed in plain arithmetic, so that its tolerances, times the price of a degree-hour, do not
//! blur the comparison.
use good_lp::solvers::highs::highs;
use good_lp::{
    Constraint, Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, variable,
};

use super::case::Case;
use super::model::{Piece, pieces};

/// Tolerance of the solver.
const TOLERANCE: f64 = 1e-8;

/// Case of a unit with least times in minutes, and its state with the minute since which it lasts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Switched {
    pub(super) case: Case,
    pub(super) on_min: i32,
    pub(super) off_min: i32,
    pub(super) state: Option<(bool, i32)>,
}

/// Degree-hours and cost of a schedule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    pub(super) degree_hours: f64,
    pub(super) cost: f64,
}

/// Number that a search minimises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Goal {
    DegreeHours,
    /// Cost, with at most so many degree-hours.
    CostAt(f64),
}

/// Slots of a case; the unit may not run where less than its power is allowed.
pub(super) fn slots(switched: &Switched) -> Vec<Piece> {
    let kw = switched.case.kw;
    let usable = |piece: Piece| Piece { kw: if piece.kw < kw { 0.0 } else { kw }, ..piece };
    pieces(&switched.case).into_iter().map(usable).collect()
}

/// Temperature after a slot, from values or expressions.
fn after<T>(case: &Case, piece: &Piece, before: T, power: T) -> T
where
    T: std::ops::Add<Output = T> + std::ops::Mul<f64, Output = T> + std::ops::Add<f64, Output = T>,
{
    let sign = if case.cools { -1.0 } else { 1.0 };
    let heat = power * (sign * piece.cop) + piece.gain;
    if case.kw_per_k > 0.0 {
        let kept = (-piece.hours * case.kw_per_k / case.kwh_per_k).exp();
        let limit = heat * (1.0 / case.kw_per_k) + piece.outdoor;
        limit * (1.0 - kept) + before * kept
    } else {
        before + heat * (piece.hours / case.kwh_per_k)
    }
}

/// Degree-hours and cost of a schedule in plain arithmetic.
pub(super) fn outcome(switched: &Switched, schedule: &[bool]) -> Outcome {
    let case = &switched.case;
    let (mut celsius, mut degree_hours, mut cost) = (case.celsius, 0.0, 0.0);
    for (piece, &is_on) in slots(switched).iter().zip(schedule) {
        let kw = if is_on { piece.kw } else { 0.0 };
        celsius = after(case, piece, celsius, kw);
        let outside = (piece.band.0 - celsius).max(celsius - piece.band.1).max(0.0);
        degree_hours += piece.hours * if outside < 1e-12 { 0.0 } else { outside };
        cost += piece.price * piece.hours * kw;
    }
    let sign = if case.cools { -1.0 } else { 1.0 };
    cost -= case.end_value * case.kwh_per_k * sign * (celsius - case.celsius);
    Outcome { degree_hours, cost }
}

/// Best value of a goal, and the schedule that the solver found; `None` if it found none.
pub(super) fn search(switched: &Switched, goal: Goal) -> Option<(f64, Vec<bool>)> {
    let case = &switched.case;
    let slots = slots(switched);
    let mut variables = ProblemVariables::new();
    let on: Vec<Variable> = slots
        .iter()
        .map(|slot| variables.add(variable().binary().max(if slot.kw > 0.0 { 1.0 } else { 0.0 })))
        .collect();
    let mut rows = least_times(switched, &slots, &on);
    let mut outside = Expression::from(0.0);
    let mut cost = Expression::from(0.0);
    let mut before = Expression::from(case.celsius);
    for (slot, &on) in slots.iter().zip(&on) {
        let end = variables.add(variable().min(-1e6).max(1e6));
        rows.push(constraint::eq(after(case, slot, before, slot.kw * on), end));
        let [below, above] = [(); 2].map(|()| variables.add(variable().min(0.0)));
        rows.push(constraint::geq(end + below, slot.band.0));
        rows.push(constraint::leq(end - above, slot.band.1));
        outside += slot.hours * (below + above);
        cost += slot.price * slot.hours * slot.kw * on;
        before = end.into();
    }
    let sign = if case.cools { -1.0 } else { 1.0 };
    cost -= case.end_value * case.kwh_per_k * sign * (before - case.celsius);
    let objective = match goal {
        Goal::DegreeHours => outside,
        Goal::CostAt(most) => {
            rows.push(constraint::leq(outside, most + 10.0 * TOLERANCE));
            cost
        }
    };
    let mut model = variables.minimise(objective.clone()).using(highs).set_threads(1);
    for option in ["mip_feasibility_tolerance", "primal_feasibility_tolerance"] {
        model = model.set_option(option, TOLERANCE);
    }
    model = model.set_option("mip_rel_gap", 0.0).set_option("mip_abs_gap", 0.0);
    for row in rows {
        model.add_constraint(row);
    }
    let solution = model.solve().ok()?;
    let schedule = on.iter().map(|&on| solution.value(on) > 0.5).collect();
    Some((solution.eval(objective), schedule))
}

/// A start lasts, and so does a stop: every slot that begins within a least time is as its first.
fn least_times(switched: &Switched, slots: &[Piece], on: &[Variable]) -> Vec<Constraint> {
    let mut rows = Vec::new();
    let was_on = switched.state.is_some_and(|(is_on, _)| is_on);
    for (index, slot) in slots.iter().enumerate() {
        let before = match index.checked_sub(1) {
            Some(last) => Expression::from(on[last]),
            None => Expression::from(f64::from(u8::from(was_on))),
        };
        for (later, next) in slots.iter().enumerate().skip(index + 1) {
            if next.start < slot.start + switched.on_min {
                rows.push(constraint::geq(on[later] - on[index] + before.clone(), 0.0));
            }
            if next.start < slot.start + switched.off_min {
                rows.push(constraint::leq(on[later] + before.clone() - on[index], 1.0));
            }
        }
    }
    let Some((is_on, since)) = switched.state else { return rows };
    let least = if is_on { switched.on_min } else { switched.off_min };
    for (slot, &on) in slots.iter().zip(on) {
        // A run from before ends where the unit may not run.
        if slot.start >= since + least || is_on && slot.kw <= 0.0 {
            break;
        }
        rows.push(constraint::eq(on, f64::from(u8::from(is_on))));
    }
    rows
}
