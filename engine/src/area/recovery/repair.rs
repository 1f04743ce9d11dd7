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
use crate::area::pricing::oracle::solve_within_capacity;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::residual::{Contributors, ResidualCapacity};
use crate::area::recovery::totals::AreaLoad;

/// Upper bound on the vehicles visited by [`RepairPass::improve`].
const VISITS_MAX: usize = 200_000;

/// Upper bound on the passes with [`Acceptance::AnyWithoutDischarge`].
const CHARGING_PASSES: usize = 6;

/// Upper bound on the vehicles with a shortfall for which others are moved.
const SHORT_MAX: usize = 512;

/// Upper bound on the vehicles visited to make room for one of them.
const MOVED_MAX: usize = 20_000;

/// Energy above limits that is rounding, in µWh: half of `SHORTFALL_TOLERANCE`.
const FEASIBILITY_TOLERANCE: i64 = 500;

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
fn spread(count: usize) -> impl Iterator<Item = usize> {
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
        self.visit_contributors(|| spread(count));
        let short: Vec<usize> = self.short.iter().copied().collect();
        self.run_pass(short.into_iter(), Acceptance::Cheaper);
        let mut looked_at = 0;
        let short: Vec<usize> = self.short.iter().copied().take(SHORT_MAX).collect();
        for position in short.into_iter().filter(|_| !is_forced) {
            if executor.is_hurried() && looked_at >= HURRIED_MAX {
                break;
            }
            looked_at += self.make_room(position);
        }
    }

    /// Replaces plans by cheaper ones within the residual capacity, at the duals set by
    /// [`at`](Self::at), until all are visited or the caller asks to stop.
    pub(crate) fn improve(mut self, executor: &mut Executor<'_>) {
        let mut order = spread(self.context.sessions.each.len()).take(VISITS_MAX);
        while !executor.is_hurried() {
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
            for (position, old) in self.plan_ahead(&next, rule) {
                if self.is_done(rule) {
                    break;
                }
                self.visit(position, rule, &mut buffers, &old);
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
    fn visit(
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
        let others = spread(contributors.len())
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
    value(new) < value(old) - 1e-9
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
    change.into_iter().any(|(slot, change)| {
        let (up, down) = (up[slot as usize], down[slot as usize]);
        (change > 0 && change > up) || (change < 0 && -change > down)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::area::model::linking::{LinkingConstraint, Penalty};
    use crate::area::model::sessions::Sessions;
    use crate::area::pricing::effective_prices::ShortfallPenalty;
    use crate::area::recovery::totals::load_of_plans;
    use crate::columns::fleet::Curves;
    use crate::prices::curve::PriceCurve;
    use crate::time::horizon::Horizon;

    /// Energy of a slot at full power, in µWh.
    const CAP: i64 = 1_000;

    /// Price of each slot; the first is the cheapest.
    const PRICES: [f64; 4] = [0.1, 0.2, 0.3, 0.4];

    /// Session of a vehicle in the slots up to `last`.
    fn session(need: i64, last: u32) -> Session {
        Session {
            first: 0,
            last,
            row: 0,
            node: 0,
            curve: 0,
            demand: Demand::Departure,
            need,
            first_cap: CAP,
            last_cap: CAP,
            cap: CAP,
            rate: CAP as f64 / 900e6,
            priority: 1.0,
            is_indivisible: false,
        }
    }

    /// Plans of the sessions after `repair`, under one import limit of `bound` µWh in each slot.
    fn after(
        each: Vec<Session>,
        plans: Vec<EnergyBySlot>,
        bound: i64,
        repair: impl FnOnce(RepairPass<'_>),
    ) -> Vec<EnergyBySlot> {
        let slots =
            (0..PRICES.len() as i64).map(|slot| (slot * 900_000_000, (slot + 1) * 900_000_000));
        let horizon = Horizon::from_micros(slots).unwrap();
        let curve = PriceCurve::from_parts(horizon, PRICES.to_vec()).unwrap();
        let count = each.len();
        let mut sessions = Sessions { each, groups: 1, by_curve: true, ..Sessions::default() };
        sessions.add_block(0..count, 0);
        let context = PricingContext {
            curves: Curves::Shared(&curve),
            export: None,
            sessions: &sessions,
            penalty: ShortfallPenalty { base: 1.0, step: 0.0, tiers: 1 },
            is_free: false,
        };
        let bounds = vec![as_kwh(bound) + 5e-10; PRICES.len()];
        let constraints = LinkingConstraints {
            each: vec![LinkingConstraint { node: 0, sign: 1.0, penalty: Penalty::Hard, bounds }],
            hours: vec![0.25; PRICES.len()],
            paths: vec![vec![0]],
            by_node: vec![vec![0]],
            shortfall_penalty: 1.0,
        };
        let duals = vec![0.0; PRICES.len()];
        let mut assignment = Assignment::of_plans(1, plans);
        let by_class =
            PricesByClass::new(&context, &constraints, &assignment, std::slice::from_ref(&duals));
        let plans = PlanReader { context: &context, assignment: &assignment, prices: &by_class };
        let total = load_of_plans(&plans, &constraints);
        let parts = (&mut assignment, &by_class);
        repair(RepairPass::new(&context, &constraints, parts, &total).at(&duals));
        assignment.overrides.into_values().collect()
    }

    /// Plans after vehicles were brought within the limit in their order.
    fn brought_within(each: &[Session], plans: &[EnergyBySlot], bound: i64) -> Vec<EnergyBySlot> {
        let order: Vec<usize> = (0..each.len()).collect();
        after(each.to_vec(), plans.to_vec(), bound, |mut pass| {
            assert!(pass.bring_within(&order, &[vec![0.0; PRICES.len()]]));
        })
    }

    #[test]
    fn an_excess_moves_to_the_cheapest_slot_with_capacity() {
        let each = [session(CAP, 4), session(CAP, 4)];
        let both_in_the_first = [vec![(0, CAP)], vec![(0, CAP)]];
        let moved = brought_within(&each, &both_in_the_first, CAP);
        assert_eq!(moved, [vec![(1, CAP)], vec![(0, CAP)]]);
        // Without capacity elsewhere the vehicle has a shortfall.
        let each = [session(CAP, 1), session(CAP, 1)];
        assert_eq!(brought_within(&each, &both_in_the_first, CAP), [vec![], vec![(0, CAP)]]);
    }

    #[test]
    fn a_plan_that_exceeds_a_limit_further_is_refused() {
        let each = vec![session(CAP, 4), session(CAP, 4)];
        let plans = vec![vec![(0, CAP)], vec![(1, CAP)]];
        let plans = after(each, plans, CAP, |mut pass| {
            assert!(!pass.try_replace(1, vec![(0, CAP)]));
            assert!(pass.try_replace(1, vec![(2, CAP)]));
        });
        assert_eq!(plans, [vec![(0, CAP)], vec![(2, CAP)]]);
    }

    #[test]
    fn a_vehicle_that_can_move_makes_room_for_one_with_a_shortfall() {
        // The first vehicle has one slot only, which the second one holds.
        let each = vec![session(CAP, 1), session(CAP, 4)];
        let plans = vec![vec![], vec![(0, CAP)]];
        let plans = after(each, plans, CAP, |mut pass| {
            assert_eq!(pass.make_room(0), 1);
        });
        assert_eq!(plans, [vec![(0, CAP)], vec![(1, CAP)]]);
        // A second vehicle that cannot move keeps its slot.
        let each = vec![session(CAP, 1), session(CAP, 1)];
        let plans = vec![vec![], vec![(0, CAP)]];
        let plans = after(each, plans, CAP, |mut pass| {
            assert_eq!(pass.make_room(0), 1);
        });
        assert_eq!(plans, [vec![], vec![(0, CAP)]]);
    }

    #[test]
    fn a_cheaper_plan_is_taken_only_within_capacity() {
        let each = vec![session(CAP, 4), session(CAP, 4)];
        let plans = vec![vec![(1, CAP)], vec![(3, CAP)]];
        let plans = after(each, plans, CAP, |mut pass| {
            assert_eq!(pass.run_pass(0..2, Acceptance::Cheaper), 2);
        });
        assert_eq!(plans, [vec![(0, CAP)], vec![(1, CAP)]]);
    }

    proptest! {
        /// Limits hold after a repair, and no plan exceeds need or power.
        #[test]
        fn limits_hold_after_a_repair(
            vehicles in prop::collection::vec(
                (prop::array::uniform4(0..=CAP), 0..CAP, 1..=4u32, any::<bool>()), 1..8,
            ),
            bound in 0..4 * CAP,
        ) {
            let (mut each, mut plans) = (Vec::new(), Vec::new());
            for (energies, unmet, last, is_indivisible) in vehicles {
                let used = (0..last).zip(energies).filter(|&(_, energy)| energy > 0);
                let taken: EnergyBySlot = used.collect();
                let need = (energy_of(&taken) + unmet).min(i64::from(last) * CAP);
                each.push(Session { is_indivisible, ..session(need, last) });
                plans.push(taken);
            }
            let load = |plans: &[EnergyBySlot], slot: u32| -> i64 {
                let of_slot = plans.iter().flatten().filter(|(at, _)| *at == slot);
                of_slot.map(|(_, energy)| energy).sum()
            };
            let was_within = (0..4).all(|slot| load(&plans, slot) <= bound);
            let repaired = brought_within(&each, &plans, bound);
            prop_assert!((0..4).all(|slot| load(&repaired, slot) <= bound));
            prop_assert!(!was_within || repaired == plans);
            for (session, taken) in each.iter().zip(&repaired) {
                prop_assert!(energy_of(taken) <= session.need);
                let mut slots = taken.iter();
                prop_assert!(slots.all(|&(at, part)| at < session.last && (1..=CAP).contains(&part)));
            }
        }
    }
}
