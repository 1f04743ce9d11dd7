//! Primal recovery: plans within every hard limit from a solution of the master.
//!
//! 1. Each vehicle is assigned a column by the weights `θ` of the master
//!    ([`plans`](crate::area::recovery::plans)).
//! 2. Vehicles that exceed a hard limit are planned again in residual capacity, at the duals of the
//!    best bound ([`RepairPass::repair`]).
//! 3. Up to three passes plan vehicles again wherever residual capacity allows a cheaper plan. The
//!    duals are those of soft limits only: the residual capacity keeps the hard ones
//!    ([`RepairPass::improve`]).
//!
//! Of several plans the one with the least key `(shortfall, cost)` is kept, in lexicographic order.
use crate::area::column_generation::search_state::{ColumnGeneration, relative_gap};
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::Assignment;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::micro_wh::share_of_need;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::repair::RepairPass;
use crate::area::recovery::totals::{self, AreaLoad};
use crate::area::solve::area_instance::AreaInstance;
use crate::tolerance::{ENERGY_SHARE_MIN, SHORTFALL_TOLERANCE};

/// Best plans of a master solution: load, objective value and the assignment they come from.
///
/// First every vehicle of a larger group follows one column; if those plans are not good enough,
/// groups follow convex combinations.
pub(crate) fn recover_best(
    instance: &AreaInstance<'_>,
    column_generation: &dyn ColumnGeneration,
    context: PricingContext<'_>,
    executor: &mut Executor<'_>,
) -> (Assignment, AreaLoad, f64) {
    let mut best: Option<(Assignment, AreaLoad, f64)> = None;
    for single_column_only in [true, false] {
        let candidate =
            recover(instance, column_generation, (context, single_column_only), executor);
        let is_better = best.as_ref().is_none_or(|best| {
            lexicographic_key(instance, &candidate) < lexicographic_key(instance, best)
        });
        let is_mixed = candidate.0.is_convex_combination.contains(&true);
        if is_better {
            best = Some(candidate);
        }
        let is_enough = best
            .as_ref()
            .is_some_and(|best| reaches_gap(instance, column_generation, context.sessions, best));
        if is_enough || (!single_column_only && !is_mixed) || executor.stops_recovery() {
            break;
        }
    }
    best.unwrap_or_default()
}

/// Unit of the cost in [`lexicographic_key`], in currency, or as a share of a money scale below 1:
/// a thousandth of the default gap, so that no gap between plans is lost.
const KEY_MONEY: f64 = 1e-6;

/// Least gain of a repair pass that justifies another one: an amount of currency, multiplied by the
/// ratio of the cost to the scale of the gap, which has no unit (0 for a cost of 0 or less).
const GAIN_SHARE_MIN: f64 = 1e-6;

/// Lexicographic key of plans: shortfall in units of 1e-6 kWh, then cost in units of 1e-6, or of
/// 1e-6 times the money scale if that is below 1.
pub(crate) fn lexicographic_key(
    instance: &AreaInstance<'_>,
    (_, total, value): &(Assignment, AreaLoad, f64),
) -> (i64, i64) {
    // A cast to whole numbers keeps the order of finite values. A small scale needs a small unit.
    let unit = KEY_MONEY * instance.money.min(1.0);
    (total.shortfall / SHORTFALL_TOLERANCE, (value / unit) as i64)
}

/// Returns true if plans reach the requested gap without a shortfall, or with one that the master
/// solution has as well.
pub(crate) fn reaches_gap(
    instance: &AreaInstance<'_>,
    column_generation: &dyn ColumnGeneration,
    sessions: &Sessions,
    assignment: &(Assignment, AreaLoad, f64),
) -> bool {
    let is_served = share_of_need(assignment.1.shortfall, sessions.need_kwh()) <= ENERGY_SHARE_MIN;
    let master_has_shortfall =
        assignment.1.shortfall_penalty > 0.0 && column_generation.has_shortfall();
    column_generation.state().gap(assignment.2, instance.stopping.scale) <= instance.stopping.gap
        && (is_served || master_has_shortfall)
}

/// Plans of a master solution with their load and objective value: assignment, repair, improvement.
/// `single_column_only` excludes convex combinations in groups of several vehicles.
fn recover(
    instance: &AreaInstance<'_>,
    column_generation: &dyn ColumnGeneration,
    (context, single_column_only): (PricingContext<'_>, bool),
    executor: &mut Executor<'_>,
) -> (Assignment, AreaLoad, f64) {
    let constraints = instance.constraints;
    let mut assignment = Assignment::new(&context, column_generation.weights(), single_column_only);
    let by_class = PricesByClass::new(
        &context,
        constraints,
        &assignment,
        &column_generation.state().duals_by_round,
    );
    let sum = |assignment: &Assignment, executor: &mut Executor<'_>| {
        let plans = PlanReader { context: &context, assignment, prices: &by_class };
        totals::load_of_assignment(
            constraints,
            &plans,
            &column_generation.state().duals_by_round,
            executor,
        )
    };
    let best_duals = &column_generation.state().best_duals;
    let (total, _) = sum(&assignment, executor);
    let pass =
        RepairPass::new(&context, constraints, (&mut assignment, &by_class), &total).at(best_duals);
    // After a stop the shortfall is not taken for forced: a master with few columns may have one
    // although there is capacity.
    pass.repair(column_generation.has_shortfall() && !executor.is_stopped(), executor);
    let (mut total, mut value) = sum(&assignment, executor);
    let soft = constraints.soft_duals(best_duals);
    for _ in 0..3 {
        let is_near =
            column_generation.state().gap(value, instance.stopping.scale) <= instance.stopping.gap;
        if is_near || executor.stops_recovery() {
            break;
        }
        let before = context.sessions.has_indivisible().then(|| assignment.overrides.clone());
        let pass =
            RepairPass::new(&context, constraints, (&mut assignment, &by_class), &total).at(&soft);
        pass.improve(executor);
        let (next, better) = sum(&assignment, executor);
        let gain = value - better;
        // Vehicles planned one by one do not see what a peak costs them together: undo a pass that
        // costs more.
        if let Some(before) = before.filter(|_| gain < 0.0) {
            assignment.overrides = before;
            break;
        }
        (total, value) = (next, better);
        if gain <= relative_gap(value, 0.0, instance.stopping.scale) * GAIN_SHARE_MIN {
            break;
        }
    }
    (assignment, total, value)
}
