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
//! Rooms of heat units follow the convex combination of their columns, and are cut and improved after
//! the vehicles ([`room_plans`](crate::area::recovery::room_plans)).
//!
//! Of several plans the one with the least key `(shortfall, cost)` is kept, in lexicographic order.
use crate::area::column_generation::search_state::{ColumnMix, relative_gap};
use crate::area::distributed::executor::Executor;
use crate::area::model::energy_by_slot::Assignment;
use crate::area::model::sessions::Sessions;
use crate::area::pricing::context::PricingContext;
use crate::area::problem::micro_wh::share_of_need;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::repair::RepairPass;
use crate::area::recovery::room_plans::{clip_rooms, improve_rooms, mix_rooms};
use crate::area::recovery::totals::{self, AreaLoad};
use crate::area::solve::area_instance::AreaInstance;
use crate::tolerance::{ENERGY_SHARE_MIN, SHORTFALL_TOLERANCE};

/// Best plans of a master solution: load, objective value and the assignment they come from.
///
/// First every vehicle of a larger group follows one column; if those plans are not good enough,
/// groups follow convex combinations.
pub(crate) fn recover_best(
    instance: &AreaInstance<'_>,
    mix: &ColumnMix<'_>,
    context: PricingContext<'_>,
    executor: &mut Executor<'_>,
) -> (Assignment, AreaLoad, f64) {
    let mut best: Option<(Assignment, AreaLoad, f64)> = None;
    for single_column_only in [true, false] {
        let candidate = recover(instance, mix, (context, single_column_only), executor);
        let is_better = best.as_ref().is_none_or(|best| {
            lexicographic_key(instance, &candidate) < lexicographic_key(instance, best)
        });
        let is_mixed = candidate.0.is_convex_combination.contains(&true);
        if is_better {
            best = Some(candidate);
        }
        let is_enough =
            best.as_ref().is_some_and(|best| reaches_gap(instance, mix, context.sessions, best));
        if is_enough || (!single_column_only && !is_mixed) || executor.stops_recovery() {
            break;
        }
    }
    best.unwrap_or_default()
}

/// Plans with their load, before repair.
pub(crate) struct SummedPlans {
    pub(crate) assignment: Assignment,
    /// Effective prices by which the plans are read.
    pub(crate) by_class: PricesByClass,
    pub(crate) total: AreaLoad,
}

/// Best plans that repair and improvement make of given ones, with their load and objective value.
pub(crate) fn recover_from(
    instance: &AreaInstance<'_>,
    mix: &ColumnMix<'_>,
    context: PricingContext<'_>,
    plans: SummedPlans,
    executor: &mut Executor<'_>,
) -> (Assignment, AreaLoad, f64) {
    let SummedPlans { assignment, by_class, total } = plans;
    let recovery = Recovery { instance, mix, context, by_class };
    recovery.repair_and_improve(assignment, &total, executor)
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
    key_of(instance, total, *value)
}

/// Key of plans with this load and objective value; see [`lexicographic_key`].
fn key_of(instance: &AreaInstance<'_>, total: &AreaLoad, value: f64) -> (i64, i64) {
    // A cast to whole numbers keeps the order of finite values. A small scale needs a small unit.
    let unit = KEY_MONEY * instance.money.min(1.0);
    (total.shortfall / SHORTFALL_TOLERANCE, (value / unit) as i64)
}

/// Returns true if plans reach the requested gap without a shortfall, or with one that the master
/// solution has as well.
pub(crate) fn reaches_gap(
    instance: &AreaInstance<'_>,
    mix: &ColumnMix<'_>,
    sessions: &Sessions,
    assignment: &(Assignment, AreaLoad, f64),
) -> bool {
    let is_served = share_of_need(assignment.1.shortfall, sessions.need_kwh()) <= ENERGY_SHARE_MIN;
    let master_has_shortfall = assignment.1.shortfall_penalty > 0.0 && mix.has_shortfall;
    mix.state.gap(assignment.2, instance.stopping.scale) <= instance.stopping.gap
        && (is_served || master_has_shortfall)
}

/// Plans of a master solution with their load and objective value: assignment, repair, improvement.
/// `single_column_only` excludes convex combinations in groups of several vehicles.
fn recover(
    instance: &AreaInstance<'_>,
    mix: &ColumnMix<'_>,
    (context, single_column_only): (PricingContext<'_>, bool),
    executor: &mut Executor<'_>,
) -> (Assignment, AreaLoad, f64) {
    let mut weights = mix.weights.clone();
    let of_rooms = weights.split_off(context.sessions.groups);
    let duals_by_round = &mix.state.duals_by_round;
    let mut assignment = Assignment::new(&context, weights, single_column_only);
    assignment.rooms = mix_rooms(&context, instance.constraints, &of_rooms, duals_by_round);
    let by_class = PricesByClass::new(&context, instance.constraints, &assignment, duals_by_round);
    let recovery = Recovery { instance, mix, context, by_class };
    let (total, _) = recovery.sum(&assignment, executor);
    recovery.repair_and_improve(assignment, &total, executor)
}

/// Master solution from which plans are recovered.
struct Recovery<'a> {
    instance: &'a AreaInstance<'a>,
    mix: &'a ColumnMix<'a>,
    context: PricingContext<'a>,
    by_class: PricesByClass,
}

impl Recovery<'_> {
    /// Load and objective value of plans.
    fn sum(&self, assignment: &Assignment, executor: &mut Executor<'_>) -> (AreaLoad, f64) {
        let plans = PlanReader { context: &self.context, assignment, prices: &self.by_class };
        let duals_by_round = &self.mix.state.duals_by_round;
        totals::load_of_assignment(self.instance.constraints, &plans, duals_by_round, executor)
    }

    /// Plans after repair and improvement, from plans with the load `total`.
    fn repair_and_improve(
        &self,
        mut assignment: Assignment,
        total: &AreaLoad,
        executor: &mut Executor<'_>,
    ) -> (Assignment, AreaLoad, f64) {
        let (total, value) = self.repair((&mut assignment, total), executor);
        let (total, value) = self.yield_rooms((&mut assignment, total, value), executor);
        let (total, value) = self.improve((&mut assignment, total, value), executor);
        (assignment, total, value)
    }

    /// Brings vehicles, and then rooms, within every hard limit on import.
    fn repair(
        &self,
        (assignment, total): (&mut Assignment, &AreaLoad),
        executor: &mut Executor<'_>,
    ) -> (AreaLoad, f64) {
        let (context, constraints) = (&self.context, self.instance.constraints);
        let best_duals = &self.mix.state.best_duals;
        let pass = RepairPass::new(context, constraints, (assignment, &self.by_class), total)
            .at(best_duals);
        // After a stop the shortfall is not taken for forced: a master with few columns may have one
        // although there is capacity.
        pass.repair(self.mix.has_shortfall && !executor.is_stopped(), executor);
        let (total, value) = self.sum(assignment, executor);
        if clip_rooms(context, constraints, &mut assignment.rooms, &total) {
            return self.sum(assignment, executor);
        }
        (total, value)
    }

    /// Repairs vehicles that miss energy with all units off, and plans the units in what they leave.
    /// Whole columns beside the rooms may be the cause. Keeps the better plans.
    fn yield_rooms(
        &self,
        (assignment, total, value): (&mut Assignment, AreaLoad, f64),
        executor: &mut Executor<'_>,
    ) -> (AreaLoad, f64) {
        let (context, constraints) = (&self.context, self.instance.constraints);
        if context.rooms.is_empty() || total.shortfall <= SHORTFALL_TOLERANCE {
            return (total, value);
        }
        let before = assignment.clone();
        for plan in &mut assignment.rooms {
            plan.fill(0);
        }
        let (total_off, _) = self.sum(assignment, executor);
        let (without, _) = self.repair((&mut *assignment, &total_off), executor);
        let best_duals = &self.mix.state.best_duals;
        improve_rooms(context, constraints, (&mut assignment.rooms, &without), best_duals);
        let (other, other_value) = self.sum(assignment, executor);
        let key = |total: &AreaLoad, value: f64| key_of(self.instance, total, value);
        if key(&other, other_value) < key(&total, value) {
            return (other, other_value);
        }
        *assignment = before;
        (total, value)
    }

    /// Up to three passes that plan vehicles, and then rooms, again where that costs less.
    fn improve(
        &self,
        (assignment, mut total, mut value): (&mut Assignment, AreaLoad, f64),
        executor: &mut Executor<'_>,
    ) -> (AreaLoad, f64) {
        let (context, constraints) = (&self.context, self.instance.constraints);
        let (state, scale) = (self.mix.state, self.instance.stopping.scale);
        let soft = constraints.soft_duals(&state.best_duals);
        for _ in 0..3 {
            let is_near = state.gap(value, scale) <= self.instance.stopping.gap;
            if is_near || executor.stops_recovery() {
                break;
            }
            let is_undone = context.sessions.has_indivisible() || !context.rooms.is_empty();
            let before =
                is_undone.then(|| (assignment.overrides.clone(), assignment.rooms.clone()));
            let drawn = (&mut *assignment, &self.by_class);
            RepairPass::new(context, constraints, drawn, &total).at(&soft).improve(executor);
            let (mut next, mut better) = self.sum(assignment, executor);
            if improve_rooms(context, constraints, (&mut assignment.rooms, &next), &soft) {
                (next, better) = self.sum(assignment, executor);
            }
            let gain = value - better;
            // Vehicles planned one by one do not see what a peak costs them together: undo a pass that
            // costs more.
            if let Some(before) = before.filter(|_| gain < 0.0) {
                (assignment.overrides, assignment.rooms) = before;
                break;
            }
            (total, value) = (next, better);
            if gain <= relative_gap(value, 0.0, scale) * GAIN_SHARE_MIN {
                break;
            }
        }
        (total, value)
    }
}
