//! Plans that change little, against linear programmes that minimise the change.
use good_lp::solvers::highs::{HighsSolverType, highs};
use good_lp::{
    Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, variable,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::case::{Case, Slot, Target, even_slots};
use crate::cut::Piece;
use crate::lp::{Model, Optimum, Side};
use crate::planner::{self, Answer, Interval};
use crate::random::cases;
use crate::runner::for_all;

/// Least Σ|ΔkWh| against charging periods, at a cost within a limit.
///
/// # Panics
/// The solver finds no optimum: the cheapest plan is always feasible.
fn least_change(model: &Model, optimum: &Optimum, before: &[Interval], limit: f64) -> f64 {
    if model.pieces.is_empty() {
        return 0.0;
    }
    let old: Vec<f64> = model.pieces.iter().map(|piece| planned_in(before, piece)).collect();
    let mut variables = ProblemVariables::new();
    let kwh: Vec<Variable> = model
        .pieces
        .iter()
        .map(|piece| variables.add(variable().min(0.0).max(piece.kwh())))
        .collect();
    let change: Vec<Variable> = old.iter().map(|_| variables.add(variable().min(0.0))).collect();
    let mut problem = variables
        .minimise(change.iter().sum::<Expression>())
        .using(highs)
        .set_solver(HighsSolverType::Simplex)
        .set_threads(1)
        .set_option("primal_feasibility_tolerance", 1e-10)
        .set_option("dual_feasibility_tolerance", 1e-10);
    for ((&kwh, &change), &old) in kwh.iter().zip(&change).zip(&old) {
        problem.add_constraint(constraint::geq(change - kwh, -old));
        problem.add_constraint(constraint::geq(change + kwh, old));
    }
    for row in &model.rows {
        let sum: Expression = kwh[..row.count].iter().sum();
        problem.add_constraint(match row.side {
            Side::Least => constraint::geq(sum, row.kwh),
            Side::Most => constraint::leq(sum, row.kwh),
            Side::Exactly => constraint::eq(sum, row.kwh),
        });
    }
    let total: Expression = kwh.iter().sum();
    problem.add_constraint(constraint::eq(total, optimum.energy));
    let cost: Expression =
        model.pieces.iter().zip(&kwh).map(|(piece, &kwh)| piece.price * kwh).sum();
    problem.add_constraint(constraint::leq(cost, limit));
    let solution = problem.solve().expect("the cheapest plan is feasible");
    change.iter().map(|&change| solution.value(change)).sum()
}

/// Energy of charging periods inside of a piece.
fn planned_in(before: &[Interval], piece: &Piece) -> f64 {
    let (start, end) = (f64::from(piece.start), f64::from(piece.end));
    let inside = |period: &Interval| {
        (period.end.min(end) - period.start.max(start)).max(0.0) / 60.0 * period.kw
    };
    before.iter().map(inside).sum()
}

/// Energy of charging periods that no piece can hold.
fn lost(case: &Case, model: &Model, before: &[Interval]) -> f64 {
    let from = f64::from(case.now);
    let due: f64 = before
        .iter()
        .map(|period| (period.end - period.start.max(from)).max(0.0) / 60.0 * period.kw)
        .sum();
    due - model.pieces.iter().map(|piece| planned_in(before, piece)).sum::<f64>()
}

fn agrees(case: &Case, before: &Answer, budget: f64) -> TestCaseResult {
    let model = Model::new(case);
    let optimum = model.solve();
    let steady = planner::steady(case, before, budget);
    let allowed = budget + 1e-9 * optimum.cost.abs().max(1.0);
    prop_assert!(steady.cost <= optimum.cost + allowed, "{} of {}", steady.cost, optimum.cost);
    // A solver is free to miss the limit by its tolerance; so it is given none to gain by.
    let least = least_change(&model, &optimum, &before.intervals, optimum.cost + budget + 1e-11)
        + lost(case, &model, &before.intervals);
    prop_assert!(
        (steady.change - least).abs() <= 1e-5 * least.max(1.0),
        "change {} not {least}",
        steady.change
    );
    prop_assert!(steady.is_proved, "change {} not proved", steady.change);
    for (shortfall, least) in steady.shortfalls.iter().zip(&model.shortfalls) {
        prop_assert!((shortfall - least).abs() < 1e-7, "misses {shortfall}, not {least}");
    }
    Ok(())
}

/// The same slots at other prices.
fn other_prices(slots: &[Slot], prices: &[i32]) -> Vec<Slot> {
    let other = prices.iter().cycle();
    slots
        .iter()
        .zip(other)
        .map(|(slot, &price)| Slot { price: f64::from(price) / 100.0, ..*slot })
        .collect()
}

#[test]
fn no_plan_within_the_budget_changes_less() {
    let before = (prop::collection::vec(-20..60_i32, 1..40), 0.2..1.5_f64, 0..90_i32);
    let budget = prop_oneof![1 => Just(0.0), 3 => 0.0..2.0_f64];
    let values = (cases(), before, budget).boxed();
    for_all(600, &values, |(case, (prices, share, minutes), budget)| {
        let mut old = case.clone();
        old.slots = other_prices(&case.slots, &prices);
        old.now -= minutes;
        old.energy_max_kwh = None;
        old.targets.iter_mut().for_each(|target| target.kwh *= share);
        agrees(&case, &planner::plan(&old), budget)
    });
}

#[test]
fn the_dearest_kwh_is_moved_first() {
    // 20 kWh planned at 12 and 10 cents; 9 and 8 are free now. Of 170 cents
    // 35 may be added: 15 of the 50 must be saved, 4 for each kWh from 12 to 8.
    let day = |prices: &[f64]| {
        Case::simple(even_slots(60, prices), 10.0, Target { by: Some(240), kwh: 20.0 })
    };
    let before = planner::plan(&day(&[0.9, 0.1, 0.9, 0.1]));
    let case = day(&[0.09, 0.12, 0.08, 0.10]);
    let steady = planner::steady(&case, &before, 0.35);
    assert!((steady.change - 2.0 * 3.75).abs() < 1e-9, "{}", steady.change);
    agrees(&case, &before, 0.35).expect("both agree");
}
