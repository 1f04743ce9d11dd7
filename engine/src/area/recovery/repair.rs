//! Repair of plans that exceed hard limits, and use of the capacity that is left over.
//!
//! Vehicles are taken one after the other, evenly spread over the area. Each one's plan is
//! removed, and its pricing problem is solved again within the residual capacity of the limits
//! above it, at the given duals. With `b` the bound of a limit, `L` the load of its node, `x_v`
//! the old plan of a vehicle that only charges and `x_v'` its new one, slot by slot:
//!
//! ```text
//! 0 <= x_v' <= max(0, min over limits on the path to the root (b - L) + x_v)
//! ```
//!
//! so that no new plan exceeds an import limit further.
//!
//! | Symbol | Code |
//! |---|---|
//! | `b - L` | [`ResidualCapacity`], `PathCapacity::import` and `export` |
//! | `b - L + x_v` | `PathCapacity::free_import` and `free_export` |
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::area::distributed::executor::Executor;
use crate::area::model::battery::FreeCapacity;
use crate::area::model::energy_by_slot::{Assignment, EnergyBySlot};
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::session::{Demand, Session};
use crate::area::pricing::buffers::{PathCapacity, PricingBuffers};
use crate::area::pricing::context::{PricingContext, dual_price_by_node};
use crate::area::pricing::pricing_problem::solve_within_capacity;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::residual::{Contributors, ResidualCapacity};
use crate::area::recovery::totals::AreaLoad;

/// Upper bound on the vehicles visited by [`RepairPass::improve`].
///
/// A visit solves one pricing problem in a few microseconds, so all visits take about a second.
/// In a larger fleet each plan is a smaller part of the cost, and the rest closes less of the gap.
const VISITS_MAX: usize = 200_000;

/// Upper bound on the passes with [`Acceptance::AnyWithoutDischarge`].
const CHARGING_PASSES: usize = 6;

/// Upper bound on the vehicles with a shortfall for which others are moved.
///
/// Gaps between whole columns leave few vehicles short. If more are, energy is scarce, and moving
/// others does not help. Not tuned.
const SHORT_MAX: usize = 512;

/// Upper bound on the vehicles visited to make room for one of them: at a few microseconds each,
/// less than a tenth of a second for a vehicle for which there is no room. Not tuned.
const MOVED_MAX: usize = 20_000;

/// Energy above limits that is rounding, in µWh: half of `SHORTFALL_TOLERANCE`.
const FEASIBILITY_TOLERANCE: i64 = 500;

/// Least gain of a new plan of one vehicle, in currency: more than the rounding of its cost, which
/// sums up the slots of one session.
const GAIN_MIN: f64 = 1e-9;

/// Upper bound on all vehicles visited to make room once the caller asked to stop.
const HURRIED_MAX: usize = 50_000;

/// Visits between two checks of whether the caller asked to stop.
const VISITS_AT_ONCE: usize = 8 * AHEAD;

/// Vehicles whose old plans are read in parallel before their turn.
const AHEAD: usize = 1_024;

/// Fewest of them in one parallel task.
const AHEAD_MIN: usize = 32;

/// Acceptance rule of a pass: which new plan replaces the old plan of a vehicle.
///
/// A pass with [`Acceptance::Cheaper`] plans all its vehicles again. A pass with another rule is a
/// repair: it plans vehicles again that use a slot above a limit, until no limit is exceeded.
#[derive(Clone, Copy, PartialEq)]
enum Acceptance {
    /// Any plan of a vehicle that only charges. The plan of a battery must not exceed any limit
    /// further.
    AnyOfCharging,
    /// Any plan, also of a battery whose discharge covers the load of other vehicles.
    Any,
    /// Any plan without discharge, so that no other vehicle depends on it.
    AnyWithoutDischarge,
    /// A plan that exceeds no limit further and has no larger shortfall than the old one.
    NotWorse,
    /// A plan that is not worse, and cheaper.
    Cheaper,
}

impl Acceptance {
    /// Returns true if the pass repairs, false if it only looks for cheaper plans.
    fn is_repair(self) -> bool {
        self != Self::Cheaper
    }
}

/// Current plan of a vehicle, and its group.
struct OldPlan {
    group: usize,
    taken: EnergyBySlot,
}

/// Repair pass: vehicles are planned again one after the other in residual capacity.
pub(crate) struct RepairPass<'a> {
    context: &'a PricingContext<'a>,
    constraints: &'a LinkingConstraints,
    prices: &'a PricesByClass,
    assignment: &'a mut Assignment,
    capacity: ResidualCapacity,
    /// Duals that limits add to the prices, per kWh by node and slot.
    dual_prices: Vec<Vec<f64>>,
    /// Positions of vehicles with a shortfall.
    short: BTreeSet<usize>,
    /// Log of changes that may be undone: position, old plan, new plan. `None` while changes are
    /// final.
    undo: Option<Vec<(usize, EnergyBySlot, EnergyBySlot)>>,
}

/// Permutation of `0..count` with neighbours far apart: multiples of a step near `0.618·count`
/// that is coprime to `count`.
fn permute_far_apart(count: usize) -> impl Iterator<Item = usize> {
    let near = (count as f64 * 0.618) as usize;
    let step = (near..=count).find(|&step| gcd(step, count) == 1).unwrap_or(1).max(1);
    (0..count).map(move |at| (at as u128 * step as u128 % count.max(1) as u128) as usize)
}

/// Greatest common divisor.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl<'a> RepairPass<'a> {
    /// Repair pass that starts from plans with the load `total`. Duals are set by
    /// [`at`](Self::at) or [`bring_within`](Self::bring_within).
    pub(crate) fn new(
        context: &'a PricingContext<'a>,
        constraints: &'a LinkingConstraints,
        (assignment, by_class): (&'a mut Assignment, &'a PricesByClass),
        total: &AreaLoad,
    ) -> Self {
        let short = total.with_shortfall.iter().map(|&position| position as usize).collect();
        let capacity = ResidualCapacity::new(constraints, total);
        Self {
            context,
            constraints,
            prices: by_class,
            assignment,
            capacity,
            dual_prices: Vec::new(),
            short,
            undo: None,
        }
    }

    /// Sets the duals, one per limit and slot.
    pub(crate) fn at(mut self, duals: &[f64]) -> Self {
        self.dual_prices = dual_price_by_node(self.context, self.constraints, duals);
        self
    }

    /// Repairs plans until no hard limit is exceeded, then serves vehicles with a shortfall.
    ///
    /// These first use residual capacity. Then others are moved for them, unless the master
    /// solution itself `is_forced` to have a shortfall.
    pub(crate) fn repair(mut self, is_forced: bool, executor: &mut Executor<'_>) {
        let count = self.context.sessions.each.len();
        self.visit_contributors(|| permute_far_apart(count));
        let short: Vec<usize> = self.short.iter().copied().collect();
        self.run_pass(short.into_iter(), Acceptance::Cheaper);
        let mut looked_at = 0;
        let short: Vec<usize> = self.short.iter().copied().take(SHORT_MAX).collect();
        for position in short.into_iter().filter(|_| !is_forced) {
            if executor.stops_recovery() && looked_at >= HURRIED_MAX {
                break;
            }
            looked_at += self.make_room(position);
        }
    }

    /// Replaces plans by cheaper ones within the residual capacity, at the duals set by
    /// [`at`](Self::at), until all are visited or the caller asks to stop.
    pub(crate) fn improve(mut self, executor: &mut Executor<'_>) {
        let mut order = permute_far_apart(self.context.sessions.each.len()).take(VISITS_MAX);
        while !executor.stops_recovery() {
            // In portions, so that a stop is noticed in between.
            let next: Vec<usize> = order.by_ref().take(VISITS_AT_ONCE).collect();
            if next.is_empty() {
                break;
            }
            self.run_pass(next.into_iter(), Acceptance::Cheaper);
        }
    }

    /// Repairs vehicles in the given order until no hard limit is exceeded. Returns whether none
    /// is. `dual_price` are the duals that limits add to the prices, per kWh by node and slot.
    pub(crate) fn bring_within(&mut self, order: &[usize], dual_price: &[Vec<f64>]) -> bool {
        self.dual_prices = dual_price.to_vec();
        self.visit_contributors(|| order.iter().copied());
        !self.capacity.is_exceeded()
    }

    /// Replaces the plan of a vehicle if that exceeds no limit further. Returns whether it did.
    pub(crate) fn try_replace(&mut self, position: usize, new: EnergyBySlot) -> bool {
        let (mut buffers, mut old) = (PricingBuffers::default(), EnergyBySlot::new());
        self.plan(position, &mut buffers, &mut old);
        let (mut up, mut down) = (Vec::new(), Vec::new());
        let session = &self.context.sessions.each[position];
        self.capacity.on_path(self.constraints, session, (&mut up, &mut down));
        let fits = !is_worse((&up, &down), &old, &new);
        if fits {
            self.replace(position, old, new);
        }
        fits
    }

    /// Runs passes over `order` until no limit is exceeded.
    ///
    /// Batteries whose discharge covers the load of others may prevent that. So passes may give
    /// that discharge up, the first of them only where a limit is exceeded, and others are moved
    /// again.
    fn visit_contributors<O: Iterator<Item = usize>>(&mut self, order: impl Fn() -> O) {
        let ways = [Acceptance::AnyOfCharging, Acceptance::Any, Acceptance::AnyOfCharging];
        let last = [Acceptance::AnyWithoutDischarge; CHARGING_PASSES];
        // Without batteries one pass is enough: no limit depends on a discharge that is moved.
        let has_stores = !self.context.sessions.batteries.is_empty();
        for rule in ways.into_iter().chain(last).take(if has_stores { usize::MAX } else { 1 }) {
            if !self.capacity.is_exceeded() {
                return;
            }
            self.run_pass(order(), rule);
        }
    }

    /// Runs one pass over `order`, which names each vehicle once. Old plans are read in parallel
    /// ahead of their turn. Returns the number of vehicles read.
    fn run_pass(&mut self, mut order: impl Iterator<Item = usize>, rule: Acceptance) -> usize {
        let mut buffers = PricingBuffers::default();
        let mut looked_at = 0;
        loop {
            let next: Vec<usize> = order.by_ref().take(AHEAD).collect();
            if next.is_empty() || self.is_done(rule) {
                return looked_at;
            }
            looked_at += next.len();
            // The plans read ahead are current at their turn, since each vehicle has one turn.
            for (position, old) in self.plan_ahead(&next, rule) {
                if self.is_done(rule) {
                    break;
                }
                self.replan_and_replace(position, rule, &mut buffers, &old);
            }
        }
    }

    /// Returns true if the pass has nothing left to repair.
    fn is_done(&self, rule: Acceptance) -> bool {
        rule.is_repair() && !self.capacity.is_exceeded()
    }

    /// Current plans of the vehicles that may be planned again. With [`Acceptance::Cheaper`] only
    /// vehicles that have a better plan in the residual capacity of this moment are returned.
    fn plan_ahead(&self, positions: &[usize], rule: Acceptance) -> Vec<(usize, OldPlan)> {
        let plan = |buffers: &mut PricingBuffers, &position: &usize| {
            if !self.may_move(position, rule) {
                return None;
            }
            let mut taken = EnergyBySlot::new();
            let group = self.plan(position, buffers, &mut taken);
            let old = OldPlan { group, taken };
            let is_of_use =
                rule.is_repair() || self.replan_vehicle(position, rule, buffers, &old).is_some();
            is_of_use.then_some((position, old))
        };
        let plans = positions.par_iter().with_min_len(AHEAD_MIN);
        plans.map_init(PricingBuffers::default, plan).flatten_iter().collect()
    }

    /// Returns true if a limit above the vehicle is exceeded, or the pass is no repair.
    fn may_move(&self, position: usize, rule: Acceptance) -> bool {
        let node = self.context.sessions.each[position].node;
        !rule.is_repair() || self.capacity.is_exceeded_on_path(self.constraints, node)
    }

    /// Replaces the plan of one vehicle if [`replan_vehicle`](Self::replan_vehicle) accepts one.
    fn replan_and_replace(
        &mut self,
        position: usize,
        rule: Acceptance,
        buffers: &mut PricingBuffers,
        old: &OldPlan,
    ) {
        if let Some(new) = self.replan_vehicle(position, rule, buffers, old) {
            self.replace(position, old.taken.clone(), new);
        }
    }

    /// New plan of a vehicle in the residual capacity; `None` if the old plan is kept.
    fn replan_vehicle(
        &self,
        position: usize,
        rule: Acceptance,
        buffers: &mut PricingBuffers,
        old: &OldPlan,
    ) -> Option<EnergyBySlot> {
        let session = &self.context.sessions.each[position];
        if rule.is_repair() && self.capacity.holds(self.constraints, session, &old.taken) {
            return None;
        }
        let mut sides = std::mem::take(&mut buffers.capacity);
        self.capacity.on_path(self.constraints, session, (&mut sides.import, &mut sides.export));
        let new = self.replan_in(&mut sides, (position, rule), buffers, old);
        buffers.capacity = sides;
        new
    }

    /// New plan of a vehicle in the capacity `sides` of its path, or `None` if it is refused.
    fn replan_in(
        &self,
        sides: &mut PathCapacity,
        (position, rule): (usize, Acceptance),
        buffers: &mut PricingBuffers,
        old: &OldPlan,
    ) -> Option<EnergyBySlot> {
        let context = self.context;
        let session = &context.sessions.each[position];
        let taken = &old.taken;
        // Capacity that is free without the old plan.
        sides.set_free(session, taken);
        let PathCapacity {
            import: others_up,
            export: others_down,
            free_import: up,
            free_export: down,
        } = sides;
        if rule == Acceptance::AnyWithoutDischarge {
            down.fill(0);
        }
        // Pick what is kept of the old plan; `rest` is the session with the need that remains.
        let mut new = EnergyBySlot::new();
        let mut rest = *session;
        match session.demand {
            // Cheaper plans, and those of indivisible vehicles, keep nothing of the old one.
            _ if !rule.is_repair() || session.is_indivisible => {}
            Demand::Departure if self.keeps_rest(old.group) => {
                trim(context, session, taken, up, &mut new);
            }
            Demand::Departure => {}
            _ if excess(taken, (up, down)) > FEASIBILITY_TOLERANCE => {}
            // The excess is rounding: clip it. A new plan could shed, because at these duals
            // shortfall costs the same as buying.
            Demand::Deadlines(_) => {
                trim(context, session, taken, up, &mut new);
                // Buy back only what was clipped: the old shortfall may be due to a deadline.
                (rest.demand, rest.need) = (Demand::Departure, energy_of(taken));
            }
            Demand::Battery(_) => {
                let clamped = |energy: i64, slot: usize| energy.clamp(-down[slot], up[slot]);
                new.extend(taken.iter().map(|&(slot, e)| (slot, clamped(e, slot as usize))));
                new.retain(|(_, energy)| *energy != 0);
                return Some(new);
            }
        }
        // Energy that `new` does not hold yet is bought in the free capacity, at the duals.
        rest.need -= energy_of(&new);
        let dual_price = &self.dual_prices[session.node as usize];
        let free = FreeCapacity { import: up, export: down };
        solve_within_capacity(context, &rest, dual_price, free, buffers, &mut new);
        let capacity = (&**others_up, &**others_down);
        self.accepts((session, rule), capacity, taken, &new).then_some(new)
    }

    /// Returns true if only the excess of a plan of `group` is moved.
    ///
    /// If every vehicle is a group of its own, its plan is the master's optimum. A convex
    /// combination is no column of one round, so that planning again would not give it.
    fn keeps_rest(&self, group: usize) -> bool {
        let sessions = self.context.sessions;
        sessions.groups == sessions.each.len() || self.assignment.is_convex_combination[group]
    }

    /// Returns true if a new plan of a session may replace the old one. `capacity` is the residual
    /// capacity for import and export with the old plan.
    fn accepts(
        &self,
        (session, rule): (&Session, Acceptance),
        capacity: (&[i64], &[i64]),
        old: &EnergyBySlot,
        new: &EnergyBySlot,
    ) -> bool {
        let context = self.context;
        let is_served = || {
            context.shortfall_of(session, new).missing <= context.shortfall_of(session, old).missing
        };
        let keeps_limits = || !is_worse(capacity, old, new);
        match rule {
            // A vehicle that only charges may exceed an export limit further to keep import limits.
            Acceptance::AnyOfCharging => !session.has_battery() || keeps_limits(),
            Acceptance::Any | Acceptance::AnyWithoutDischarge => true,
            Acceptance::NotWorse => is_served() && keeps_limits(),
            // `is_better` counts duals; capacity that no other vehicle uses is worth nothing, so
            // a lower dual cost must not be paid for with a shortfall.
            Acceptance::Cheaper => {
                let dual_price = &self.dual_prices[session.node as usize];
                is_better(context, session, dual_price, old, new) && is_served() && keeps_limits()
            }
        }
    }

    /// Writes the current plan of a vehicle into `taken`. Returns its group.
    pub(crate) fn plan(
        &self,
        position: usize,
        buffers: &mut PricingBuffers,
        taken: &mut EnergyBySlot,
    ) -> usize {
        let group = self.context.sessions.group_of(position);
        let plans =
            PlanReader { context: self.context, assignment: self.assignment, prices: self.prices };
        plans.plan(group, position, buffers, taken);
        group
    }

    /// Replaces a plan, and updates residual capacity, shortfalls and the log of changes.
    fn replace(&mut self, position: usize, old: EnergyBySlot, new: EnergyBySlot) {
        let session = &self.context.sessions.each[position];
        self.capacity.take(self.constraints, session, &old, -1);
        self.capacity.take(self.constraints, session, &new, 1);
        if self.context.shortfall_of(session, &new).missing > 0 {
            self.short.insert(position);
        } else {
            self.short.remove(&position);
        }
        if let Some(undo) = &mut self.undo {
            undo.push((position, old, new.clone()));
        }
        self.assignment.overrides.insert(position as u32, new);
    }

    /// Serves the need of a vehicle without regard to limits, then moves others to restore them.
    ///
    /// If a limit stays exceeded, all changes are undone. Returns the number of vehicles visited.
    /// Vehicles with deadlines or batteries and indivisible ones are left as they are.
    fn make_room(&mut self, position: usize) -> usize {
        let session = self.context.sessions.each[position];
        if session.demand != Demand::Departure || session.is_indivisible {
            return 0;
        }
        let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
        self.plan(position, &mut buffers, &mut taken);
        // Keep the plan, and buy the shortfall at the duals with no limit but the vehicle's power.
        let mut free = vec![i64::MAX; self.constraints.slots()];
        let mut new = EnergyBySlot::new();
        trim(self.context, &session, &taken, &mut free, &mut new);
        let dual_price = &self.dual_prices[session.node as usize];
        let rest = Session { need: session.need - energy_of(&new), ..session };
        let free = FreeCapacity { import: &free, export: &free };
        solve_within_capacity(self.context, &rest, dual_price, free, &mut buffers, &mut new);
        // From here on changes are logged, so that they can be undone.
        self.undo = Some(Vec::new());
        self.replace(position, taken, new);
        // Move vehicles below the limits that this exceeds.
        let contributors = self.contributors();
        let others = permute_far_apart(contributors.len())
            .map(|at| contributors.at(at))
            .filter(|&other| other != position);
        let looked_at = self.run_pass(others.take(MOVED_MAX), Acceptance::NotWorse);
        let changes = self.undo.take().unwrap_or_default();
        if self.capacity.is_exceeded() {
            for (position, old, new) in changes.into_iter().rev() {
                self.replace(position, new, old);
            }
        }
        looked_at
    }

    /// Vehicles below a node whose limit is exceeded.
    fn contributors(&self) -> Contributors {
        let mut contributors = Contributors::default();
        for block in &self.context.sessions.blocks {
            if self.capacity.is_exceeded_on_path(self.constraints, block.node) {
                contributors.add(block.sessions.clone());
            }
        }
        contributors
    }
}

/// Energy of a plan above its capacity `(up, down)`, import and export, in µWh.
fn excess(taken: &EnergyBySlot, (up, down): (&[i64], &[i64])) -> i64 {
    let of_slot = |&(slot, energy): &(u32, i64)| {
        let slot = slot as usize;
        (energy - up[slot]).max(0) + (-energy - down[slot]).max(0)
    };
    taken.iter().map(of_slot).sum()
}

/// Net energy of a plan, in µWh.
fn energy_of(taken: &EnergyBySlot) -> i64 {
    taken.iter().map(|(_, energy)| energy).sum()
}

/// Copies the part of a plan that fits `free` into `kept`, and reduces `free` to the capacity
/// that the vehicle can still use.
fn trim(
    context: &PricingContext<'_>,
    session: &Session,
    taken: &EnergyBySlot,
    free: &mut [i64],
    kept: &mut EnergyBySlot,
) {
    for &(slot, energy) in taken {
        let capacity = &mut free[slot as usize];
        let part = energy.min(*capacity);
        *capacity = (*capacity - part).min(session.cap(context.horizon(), slot as usize) - part);
        if part > 0 {
            kept.push((slot, part));
        }
    }
}

/// Returns true if the new plan costs less: energy, duals and shortfall penalty.
fn is_better(
    context: &PricingContext<'_>,
    session: &Session,
    dual_price: &[f64],
    old: &EnergyBySlot,
    new: &EnergyBySlot,
) -> bool {
    let value = |taken: &EnergyBySlot| {
        let cost = taken.iter().map(|&(slot, energy)| {
            let slot = slot as usize;
            context.cost_of(session, slot, energy) + dual_price[slot] * as_kwh(energy)
        });
        cost.sum::<f64>() + context.penalty_of(session, context.shortfall_of(session, taken))
    };
    value(new) < value(old) - GAIN_MIN
}

/// Returns true if the new plan exceeds a limit further than the old one. `(up, down)` is the
/// residual capacity for import and export; the load of others may depend on what a battery
/// discharges or takes in.
fn is_worse((up, down): (&[i64], &[i64]), old: &EnergyBySlot, new: &EnergyBySlot) -> bool {
    let mut change: BTreeMap<u32, i64> = BTreeMap::new();
    let gone = old.iter().map(|&(slot, energy)| (slot, -energy));
    for (slot, energy) in gone.chain(new.iter().copied()) {
        *change.entry(slot).or_default() += energy;
    }
    // A limit that is exceeded already is exceeded further by any change in its direction.
    change.into_iter().any(|(slot, change)| {
        let (up, down) = (up[slot as usize], down[slot as usize]);
        (change > 0 && change > up) || (change < 0 && -change > down)
    })
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use proptest::prelude::*;

    use super::*;
    use crate::area::distributed::observer::{Hooks, Progress};
    use crate::area::problem::micro_wh::to_micro_wh;
    use crate::area::recovery::totals::tests::{Car, Town, car, context_of, kwh_of, plan};
    use crate::area::recovery::totals::{AreaLoad, load_of_plans};

    /// The plans of all sessions after a repair, and their load.
    fn repaired(town: &Town, plans: Vec<EnergyBySlot>) -> (Vec<EnergyBySlot>, AreaLoad) {
        town.with(|problem, sessions, constraints| {
            let context = context_of(problem, sessions);
            let mut assignment = Assignment::of_plans(sessions.groups, plans);
            let none = vec![0.0; constraints.each.len() * constraints.slots()];
            let prices =
                PricesByClass::new(&context, constraints, &assignment, std::slice::from_ref(&none));
            let load = |assignment: &Assignment| {
                let plans = PlanReader { context: &context, assignment, prices: &prices };
                load_of_plans(&plans, constraints)
            };
            let total = load(&assignment);
            let mut to_the_end = |_: &Progress| ControlFlow::Continue(());
            let mut executor = Executor::new(Hooks::new(&mut to_the_end), sessions);
            RepairPass::new(&context, constraints, (&mut assignment, &prices), &total)
                .at(&none)
                .repair(false, &mut executor);
            let total = load(&assignment);
            (assignment.overrides.into_values().collect(), total)
        })
    }

    /// A vehicle of one of two feeders, from an hour on for some hours.
    fn any_car() -> impl Strategy<Value = Car> {
        (1..3u32, 0..3i64, 1..4i64, 0.5..20.0f64, any::<bool>()).prop_map(
            |(node, from, hours, kwh, is_indivisible)| Car {
                node,
                stay: (from, (from + hours).min(4)),
                is_indivisible,
                ..car(4, kwh)
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn repair_leaves_no_limit_exceeded(
            cars in prop::collection::vec(any_car(), 1..8),
            cents in prop::collection::vec(1..60i32, 4),
            limits in prop::array::uniform3(0.0..25.0f64), is_grouped: bool,
        ) {
            let groups = if is_grouped { 1 } else { cars.len() };
            let town = Town::new(&cents, &cars, &limits.map(Some)).in_groups(groups);
            // Every vehicle charges at full power from its arrival on.
            let at_once = town.with(|problem, sessions, _| {
                let context = context_of(problem, sessions);
                let plan = |session: &Session| {
                    let mut taken = EnergyBySlot::new();
                    crate::area::pricing::block_loads::charge_at_once(
                        &context, session, session.need, |slot, e| taken.push((slot as u32, e)),
                    );
                    taken
                };
                sessions.each.iter().map(plan).collect::<Vec<_>>()
            });
            let (plans, total) = repaired(&town, at_once);
            for (loads, limit) in total.loads.iter().zip(limits) {
                prop_assert!(loads.iter().all(|&load| load <= to_micro_wh(limit)), "{loads:?}");
            }
            town.with(|_, sessions, _| {
                for (session, taken) in sessions.each.iter().zip(&plans) {
                    let stay = session.first..session.end;
                    let fits = |&(slot, energy): &(u32, i64)| {
                        stay.contains(&slot) && (1..=to_micro_wh(10.0)).contains(&energy)
                    };
                    assert!(taken.iter().all(fits) && energy_of(taken) <= session.need);
                }
            });
        }

        #[test]
        fn every_vehicle_has_its_turn_once(count in 0..2_000usize) {
            let mut order: Vec<usize> = permute_far_apart(count).collect();
            order.sort_unstable();
            prop_assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_of_two_vehicles_moves_to_the_other_hour() {
        // Both in the cheap hour, in which 10 kWh fit.
        let town = Town::new(&[10, 20], &[car(2, 10.0), car(2, 10.0)], &[Some(10.0)]);
        let (_, total) = repaired(&town, vec![plan(&[(0, 10.0)]), plan(&[(0, 10.0)])]);
        assert_eq!((kwh_of(&total.load), total.shortfall), (vec![10.0, 10.0], 0));
        assert!((total.cost - 3.0).abs() < 1e-9);
    }

    #[test]
    fn only_the_excess_moves_where_every_vehicle_is_a_group() {
        let town = Town::new(&[10, 20], &[car(2, 6.0), car(2, 7.0)], &[Some(10.0)]);
        let (plans, total) = repaired(&town, vec![plan(&[(0, 6.0)]), plan(&[(0, 7.0)])]);
        // 13 kWh where 10 fit: the vehicle that comes first gives 3 to the dear hour.
        assert_eq!(kwh_of(&total.load), [10.0, 3.0]);
        let slots: usize = plans.iter().map(Vec::len).sum();
        assert_eq!(slots, 3, "{plans:?}");
    }

    #[test]
    fn a_vehicle_moves_to_make_room_for_one_that_cannot() {
        // The first vehicle leaves after the first hour, which the second one fills.
        let town = Town::new(&[10, 20], &[car(1, 8.0), car(2, 10.0)], &[Some(10.0)]);
        let (plans, total) = repaired(&town, vec![plan(&[]), plan(&[(0, 10.0)])]);
        assert_eq!(plans[0], plan(&[(0, 8.0)]));
        assert_eq!((kwh_of(&total.load), total.shortfall), (vec![10.0, 8.0], 0));
    }

    #[test]
    fn room_is_not_made_where_others_would_go_short() {
        let town = Town::new(&[10, 20], &[car(1, 8.0), car(1, 10.0)], &[Some(10.0)]);
        let before = vec![plan(&[]), plan(&[(0, 10.0)])];
        let (plans, total) = repaired(&town, before.clone());
        assert_eq!((plans, kwh_of(&[total.shortfall])), (before, vec![8.0]));
    }

    /// Two vehicles in the cheap hour and a pass over them.
    fn with_pass<R>(limit: f64, work: impl FnOnce(&mut RepairPass<'_>) -> R) -> R {
        let town = Town::new(&[10, 20], &[car(2, 5.0), car(2, 6.0)], &[Some(limit)]);
        town.with(|problem, sessions, constraints| {
            let context = context_of(problem, sessions);
            let plans = vec![plan(&[(0, 5.0)]), plan(&[(0, 6.0)])];
            let mut assignment = Assignment::of_plans(sessions.groups, plans);
            let prices = PricesByClass::new(&context, constraints, &assignment, &[vec![0.0, 0.0]]);
            let total = {
                let assignment = &assignment;
                let plans = PlanReader { context: &context, assignment, prices: &prices };
                load_of_plans(&plans, constraints)
            };
            let current = (&mut assignment, &prices);
            work(&mut RepairPass::new(&context, constraints, current, &total))
        })
    }

    #[test]
    fn a_plan_that_exceeds_a_limit_further_does_not_replace_another() {
        with_pass(12.0, |pass| {
            // 11 of 12 kWh are taken in the first hour and none in the second.
            assert!(!pass.try_replace(0, plan(&[(0, 7.0)])));
            assert!(pass.try_replace(0, plan(&[(0, 6.0), (1, 1.0)])));
            assert!(!pass.try_replace(1, plan(&[(0, 6.5)])));
        });
        // 11 kWh where 8 fit: less is no further excess.
        with_pass(8.0, |pass| {
            assert!(!pass.try_replace(0, plan(&[(0, 5.5)])));
            assert!(pass.try_replace(0, plan(&[(0, 4.0)])));
        });
    }

    #[test]
    fn vehicles_are_brought_within_in_the_order_given() {
        let duals = [vec![0.0, 0.0]];
        let first = with_pass(8.0, |pass| {
            assert!(pass.bring_within(&[1, 0], &duals));
            pass.assignment.overrides.clone()
        });
        // The second vehicle is asked first and gives all of the excess of 3 kWh.
        assert_eq!(first[&0], plan(&[(0, 5.0)]));
        assert_eq!(first[&1], plan(&[(0, 3.0), (1, 3.0)]));
        assert!(!with_pass(8.0, |pass| pass.bring_within(&[], &duals)));
    }

    #[test]
    fn the_excess_of_a_plan_is_counted_on_both_sides() {
        let (up, down) = ([3, 5, 0], [4, 0, 2]);
        assert_eq!(excess(&vec![(0, 5), (1, 5), (2, -6)], (&up, &down)), 2 + 4);
        assert!(is_worse((&up, &down), &vec![(0, 1)], &vec![(0, 5)]));
        assert!(!is_worse((&up, &down), &vec![(0, 2)], &vec![(0, 5)]));
        // What stays is no change, however full the slot.
        assert!(!is_worse((&[-9], &[-9]), &vec![(0, 5)], &vec![(0, 5)]));
        assert!(is_worse((&up, &down), &vec![(1, 1)], &vec![]));
    }
}
