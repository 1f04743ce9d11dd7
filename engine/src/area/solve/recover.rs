//! Primal recovery: from a solution of the master to plans within every limit.
use crate::area::column_generation::incumbent::{Solver, relative_gap};
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::Assignment;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::micro_wh::{SHORTFALL_TOLERANCE, share_of_need};
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::repair::RepairPass;
use crate::area::recovery::totals::{self, AreaLoad};
use crate::area::solve::subproblem::Subproblem;

/// Plans from the mix, first of whole answers, then of the mix itself.
pub(crate) fn recover_best(
    subproblem: &Subproblem<'_>,
    rounds: &dyn Solver,
    context: PricingContext<'_>,
    executor: &mut Executor<'_>,
) -> (Assignment, AreaLoad, f64) {
    let mut best: Option<(Assignment, AreaLoad, f64)> = None;
    for whole_only in [true, false] {
        let incumbent = recover(subproblem, rounds, (context, whole_only), executor);
        let is_better = best.as_ref().is_none_or(|best| {
            lexicographic_key(subproblem, &incumbent) < lexicographic_key(subproblem, best)
        });
        let is_mixed = incumbent.0.is_convex_combination.contains(&true);
        if is_better {
            best = Some(incumbent);
        }
        let is_good =
            best.as_ref().is_some_and(|best| is_good(subproblem, rounds, context.sessions, best));
        if is_good || (!whole_only && !is_mixed) || executor.is_hurried() {
            break;
        }
    }
    best.unwrap_or_default()
}

/// Needs come before money: less unmet is better, then less cost.
pub(crate) fn lexicographic_key(
    subproblem: &Subproblem<'_>,
    (_, total, value): &(Assignment, AreaLoad, f64),
) -> (i64, i64) {
    // Finite numbers as whole ones keep their order. Small money needs a small unit.
    let unit = 1e-6 * subproblem.money.min(1.0);
    (total.shortfall / SHORTFALL_TOLERANCE, (value / unit) as i64)
}

/// Whether plans are within the gap, and nobody is short for want of rounding.
pub(crate) fn is_good(
    subproblem: &Subproblem<'_>,
    rounds: &dyn Solver,
    sessions: &Sessions,
    assignment: &(Assignment, AreaLoad, f64),
) -> bool {
    let is_served = share_of_need(assignment.1.shortfall, sessions.need_kwh()) <= 1e-9;
    let is_forced = assignment.1.shortfall_penalty > 0.0 && rounds.has_shortfall();
    rounds.incumbent().gap(assignment.2, subproblem.stopping.scale) <= subproblem.stopping.gap
        && (is_served || is_forced)
}

fn recover(
    subproblem: &Subproblem<'_>,
    rounds: &dyn Solver,
    (context, whole_only): (PricingContext<'_>, bool),
    executor: &mut Executor<'_>,
) -> (Assignment, AreaLoad, f64) {
    let constraints = subproblem.constraints;
    let mut assignment = Assignment::new(&context, rounds.weights(), whole_only);
    let by_class =
        PricesByClass::new(&context, constraints, &assignment, &rounds.incumbent().prices);
    let sum = |assignment: &Assignment, executor: &mut Executor<'_>| {
        let plans = PlanReader { context: &context, assignment, prices: &by_class };
        totals::load_of_assignment(constraints, &plans, &rounds.incumbent().prices, executor)
    };
    let best = &rounds.incumbent().best;
    let (total, _) = sum(&assignment, executor);
    let walk =
        RepairPass::new(&context, constraints, (&mut assignment, &by_class), &total).at(best);
    // A mix of few rounds may go without what there is room for.
    walk.repair(rounds.has_shortfall() && !executor.is_stopped(), executor);
    let (mut total, mut value) = sum(&assignment, executor);
    let soft = constraints.soft_duals(best);
    for _ in 0..3 {
        let is_near =
            rounds.incumbent().gap(value, subproblem.stopping.scale) <= subproblem.stopping.gap;
        if is_near || executor.is_hurried() {
            break;
        }
        let before = context.sessions.has_indivisible().then(|| assignment.overrides.clone());
        let walk =
            RepairPass::new(&context, constraints, (&mut assignment, &by_class), &total).at(&soft);
        walk.improve(executor);
        let (next, better) = sum(&assignment, executor);
        let gain = value - better;
        // One by one vehicles do not see what a peak costs them together.
        if let Some(before) = before.filter(|_| gain < 0.0) {
            assignment.overrides = before;
            break;
        }
        (total, value) = (next, better);
        if gain <= relative_gap(value, 0.0, subproblem.stopping.scale) * 1e-6 {
            break;
        }
    }
    (assignment, total, value)
}
