//! Brings plans within hard limits, and uses the room that is left.
//!
//! Vehicles are taken one after the other, evenly spread over the area. Each
//! gives back what it uses and is planned anew within the room that all others
//! leave, at the shadow prices of the mix. That never makes a limit worse, so
//! in the end no limit is exceeded.
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::area::distributed::executor::Executor;
use crate::area::model::battery::FreeCapacity;
use crate::area::model::energy_by_slot::{Assignment, EnergyBySlot, merge_slots};
use crate::area::model::linking::LinkingConstraints;
use crate::area::model::session::{NO_BATTERY, NO_DEADLINES, Session};
use crate::area::pricing::buffers::{PathCapacity, PricingBuffers};
use crate::area::pricing::context::{PricingContext, dual_price_by_node};
use crate::area::pricing::oracle::solve_within_capacity;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::recovery::plans::{PlanReader, PricesByClass};
use crate::area::recovery::residual::{Contributors, ResidualCapacity};
use crate::area::recovery::totals::AreaLoad;

/// Vehicles looked at when room is to be used, at most.
const VISITS_MAX: usize = 200_000;

/// Passes in which batteries only charge, at most.
const CHARGING_PASSES: usize = 6;

/// Short vehicles for which others are moved, at most.
const SHORT_MAX: usize = 512;

/// Vehicles that may be moved for one of them, at most.
const MOVED_MAX: usize = 20_000;

/// Energy beyond limits that is rounding, in grains: less than what counts as missing.
const FEASIBILITY_TOLERANCE: i64 = 500;

/// Vehicles looked at in all to make room, where somebody waits.
const HURRIED_MAX: usize = 50_000;

/// Visits between two looks at whether somebody waits.
const VISITS_AT_ONCE: usize = 8 * AHEAD;

/// Vehicles whose plans are made side by side before they come in turn, and the
/// fewest that a core takes of them.
const AHEAD: usize = 1_024;

const AHEAD_MIN: usize = 32;

/// What a vehicle is planned anew for.
#[derive(Clone, Copy, PartialEq)]
enum Reason {
    /// It uses a slot beyond a limit.
    Excess,
    /// The same, and batteries let go of what others live on.
    ExcessAtAnyPrice,
    /// The same, and they only charge: then nobody lives on them.
    ExcessChargingOnly,
    /// It uses a slot beyond a limit, but only if it does not go short itself.
    MakeRoom,
    /// There may be something better in the room that is left.
    Better,
}

/// The plan that a vehicle has, and its group.
struct OldPlan {
    group: usize,
    taken: EnergyBySlot,
}

/// A walk over vehicles that are planned anew, one after the other.
pub(crate) struct RepairPass<'a> {
    context: &'a PricingContext<'a>,
    constraints: &'a LinkingConstraints,
    prices: &'a PricesByClass,
    assignment: &'a mut Assignment,
    capacity: ResidualCapacity,
    /// What limits add to the prices, by node.
    dual_prices: Vec<Vec<f64>>,
    /// Vehicles whose need is not met.
    short: BTreeSet<usize>,
    /// Changes that may have to be undone: old plans and new. `None` where all
    /// changes are for good.
    undo: Option<Vec<(usize, EnergyBySlot, EnergyBySlot)>>,
}

/// Every position once, neighbours far apart.
fn spread(count: usize) -> impl Iterator<Item = usize> {
    let near = (count as f64 * 0.618) as usize;
    let step = (near..=count).find(|&step| gcd(step, count) == 1).unwrap_or(1).max(1);
    (0..count).map(move |at| (at as u128 * step as u128 % count.max(1) as u128) as usize)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl<'a> RepairPass<'a> {
    /// A walk from plans that add up to a total, at prices without limits.
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

    /// The same where limits have their prices.
    pub(crate) fn at(mut self, duals: &[f64]) -> Self {
        self.dual_prices = dual_price_by_node(self.context, self.constraints, duals);
        self
    }

    /// Plans anew until no hard limit is exceeded, and finds room for vehicles
    /// that are short, by moving others if it must; not where the mix itself
    /// `is_forced` to leave need unmet.
    pub(crate) fn repair(mut self, is_forced: bool, executor: &mut Executor<'_>) {
        let count = self.context.sessions.each.len();
        self.visit_contributors(|| spread(count));
        let short: Vec<usize> = self.short.iter().copied().collect();
        self.walk(short.into_iter(), Reason::Better);
        let mut looked_at = 0;
        let short: Vec<usize> = self.short.iter().copied().take(SHORT_MAX).collect();
        for position in short.into_iter().filter(|_| !is_forced) {
            if executor.is_hurried() && looked_at >= HURRIED_MAX {
                break;
            }
            looked_at += self.make_room(position);
        }
    }

    /// Lets vehicles use room that is left where it is cheaper, at the prices of
    /// soft limits; hard ones count by their room.
    pub(crate) fn improve(mut self, executor: &mut Executor<'_>) {
        let mut order = spread(self.context.sessions.each.len()).take(VISITS_MAX);
        while !executor.is_hurried() {
            let next: Vec<usize> = order.by_ref().take(VISITS_AT_ONCE).collect();
            if next.is_empty() {
                break;
            }
            self.walk(next.into_iter(), Reason::Better);
        }
    }

    /// Plans vehicles anew in an order until no hard limit is exceeded; tells
    /// whether that worked. `added` is what limits add to the prices, by node.
    pub(crate) fn bring_within(&mut self, order: &[usize], dual_price: &[Vec<f64>]) -> bool {
        self.dual_prices = dual_price.to_vec();
        self.visit_contributors(|| order.iter().copied());
        !self.capacity.is_exceeded()
    }

    /// Gives a vehicle another plan, if no limit is exceeded more by it.
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

    /// Plans vehicles anew until no limit is exceeded. Batteries that some live on
    /// may stand in the way of that; then they stop, the first time only
    /// those that must, and others are moved again.
    fn visit_contributors<O: Iterator<Item = usize>>(&mut self, order: impl Fn() -> O) {
        let ways = [Reason::Excess, Reason::ExcessAtAnyPrice, Reason::Excess];
        let last = [Reason::ExcessChargingOnly; CHARGING_PASSES];
        let has_stores = !self.context.sessions.batteries.is_empty();
        for why in ways.into_iter().chain(last).take(if has_stores { usize::MAX } else { 1 }) {
            if !self.capacity.is_exceeded() {
                return;
            }
            self.walk(order(), why);
        }
    }

    /// Plans vehicles anew in an order that has each once. The plans that they
    /// have are made side by side, ahead of their turn. Returns how many plans
    /// were made so.
    fn walk(&mut self, mut order: impl Iterator<Item = usize>, why: Reason) -> usize {
        let mut buffers = PricingBuffers::default();
        let mut looked_at = 0;
        loop {
            let next: Vec<usize> = order.by_ref().take(AHEAD).collect();
            if next.is_empty() || self.is_done(why) {
                return looked_at;
            }
            looked_at += next.len();
            for (position, old) in self.plan_ahead(&next, why) {
                if self.is_done(why) {
                    break;
                }
                self.visit(position, why, &mut buffers, &old);
            }
        }
    }

    fn is_done(&self, why: Reason) -> bool {
        why != Reason::Better && !self.capacity.is_exceeded()
    }

    /// The plans of vehicles that may be planned anew. Where only what is better
    /// counts, those stay out for whom there is nothing better before they begin.
    fn plan_ahead(&self, positions: &[usize], why: Reason) -> Vec<(usize, OldPlan)> {
        let plan = |buffers: &mut PricingBuffers, &position: &usize| {
            if !self.may_move(position, why) {
                return None;
            }
            let mut taken = EnergyBySlot::new();
            let group = self.plan(position, buffers, &mut taken);
            let old = OldPlan { group, taken };
            let is_of_use = why != Reason::Better
                || self.replan_vehicle(position, why, buffers, &old).is_some();
            is_of_use.then_some((position, old))
        };
        let plans = positions.par_iter().with_min_len(AHEAD_MIN);
        plans.map_init(PricingBuffers::default, plan).flatten_iter().collect()
    }

    /// Whether a vehicle may have to move: where a limit is exceeded, who is under it.
    fn may_move(&self, position: usize, why: Reason) -> bool {
        let node = self.context.sessions.each[position].node;
        why == Reason::Better || self.capacity.is_exceeded_on_path(self.constraints, node)
    }

    /// Plans one vehicle within the room that all others leave.
    fn visit(&mut self, position: usize, why: Reason, buffers: &mut PricingBuffers, old: &OldPlan) {
        if let Some(anew) = self.replan_vehicle(position, why, buffers, old) {
            self.replace(position, old.taken.clone(), anew);
        }
    }

    /// What a vehicle would have instead, if it is to have something else.
    fn replan_vehicle(
        &self,
        position: usize,
        why: Reason,
        buffers: &mut PricingBuffers,
        old: &OldPlan,
    ) -> Option<EnergyBySlot> {
        let session = &self.context.sessions.each[position];
        if why != Reason::Better && self.capacity.holds(self.constraints, session, &old.taken) {
            return None;
        }
        let mut sides = std::mem::take(&mut buffers.capacity);
        self.capacity.on_path(self.constraints, session, (&mut sides.import, &mut sides.export));
        let anew = self.replan_in(&mut sides, (position, why), buffers, old);
        buffers.capacity = sides;
        anew
    }

    fn replan_in(
        &self,
        sides: &mut PathCapacity,
        (position, why): (usize, Reason),
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
        if why == Reason::ExcessChargingOnly {
            down.fill(0);
        }
        let dual_price = &self.dual_prices[session.node as usize];
        let mut anew = EnergyBySlot::new();
        // A group of its own has what the master programme found best, and a mix
        // cannot be planned anew: only what is beyond moves elsewhere.
        let is_alone = context.sessions.groups == context.sessions.each.len();
        let is_kept =
            why != Reason::Better && (is_alone || self.assignment.is_convex_combination[old.group]);
        let is_plain = session.deadlines == NO_DEADLINES
            && session.battery == NO_BATTERY
            && !session.is_indivisible;
        let mut rest = *session;
        if why != Reason::Better
            && !is_plain
            && !session.is_indivisible
            && excess(taken, (up, down)) <= FEASIBILITY_TOLERANCE
        {
            // A hair less is no reason to plan anew, at prices at which going
            // without costs as much as buying.
            if session.battery != NO_BATTERY {
                let clamped = |energy: i64, slot: usize| energy.clamp(-down[slot], up[slot]);
                anew.extend(taken.iter().map(|&(slot, e)| (slot, clamped(e, slot as usize))));
                anew.retain(|(_, energy)| *energy != 0);
                return Some(anew);
            }
            trim(context, session, taken, up, &mut anew);
            // What it goes without, it goes without: that may be due to a deadline.
            (rest.deadlines, rest.need) = (NO_DEADLINES, energy_of(taken));
        } else if is_kept && is_plain {
            trim(context, session, taken, up, &mut anew);
        }
        rest.need -= energy_of(&anew);
        solve_within_capacity(
            context,
            &rest,
            dual_price,
            FreeCapacity { import: up, export: down },
            buffers,
            |slot, energy| {
                anew.push((slot as u32, energy));
            },
        );
        merge_slots(&mut anew);
        let is_accepted = self.accepts((session, why), (others_up, others_down), taken, &anew);
        is_accepted.then_some(anew)
    }

    /// Acceptance of a new plan of one session in place of its old one.
    fn accepts(
        &self,
        (session, why): (&Session, Reason),
        capacity: (&[i64], &[i64]),
        old: &EnergyBySlot,
        new: &EnergyBySlot,
    ) -> bool {
        let context = self.context;
        let dual_price = &self.dual_prices[session.node as usize];
        let is_shorter = || {
            context.shortfall_of(session, new).missing > context.shortfall_of(session, old).missing
        };
        let is_refused = match why {
            Reason::Excess | Reason::ExcessAtAnyPrice | Reason::ExcessChargingOnly => false,
            Reason::MakeRoom => is_shorter(),
            // Room that a limit puts a price on is worth nothing where nobody takes it.
            Reason::Better => !is_better(context, session, dual_price, old, new) || is_shorter(),
        };
        // Hard limits on import come first for those that only charge.
        let may_be_worse = match why {
            Reason::Excess => session.battery == NO_BATTERY,
            Reason::ExcessAtAnyPrice | Reason::ExcessChargingOnly => true,
            Reason::MakeRoom | Reason::Better => false,
        };
        !is_refused && (may_be_worse || !is_worse(capacity, old, new))
    }

    /// The plan that a vehicle has, and its group.
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

    /// Gives a vehicle its need whether there is room or not, and moves others
    /// that can be moved; if they cannot, all is left as it was. Returns how many
    /// were looked at.
    fn make_room(&mut self, position: usize) -> usize {
        let session = self.context.sessions.each[position];
        if session.deadlines != NO_DEADLINES
            || session.is_indivisible
            || session.battery != NO_BATTERY
        {
            return 0;
        }
        let (mut buffers, mut taken) = (PricingBuffers::default(), EnergyBySlot::new());
        self.plan(position, &mut buffers, &mut taken);
        let mut free = vec![i64::MAX; self.constraints.slots()];
        let mut anew = EnergyBySlot::new();
        trim(self.context, &session, &taken, &mut free, &mut anew);
        let dual_price = &self.dual_prices[session.node as usize];
        let rest = Session { need: session.need - energy_of(&anew), ..session };
        let free = FreeCapacity { import: &free, export: &free };
        solve_within_capacity(
            self.context,
            &rest,
            dual_price,
            free,
            &mut buffers,
            |slot, energy| {
                anew.push((slot as u32, energy));
            },
        );
        merge_slots(&mut anew);
        self.undo = Some(Vec::new());
        self.replace(position, taken, anew);
        let crowd = self.contributors();
        let others = spread(crowd.len()).map(|at| crowd.at(at)).filter(|&other| other != position);
        let looked_at = self.walk(others.take(MOVED_MAX), Reason::MakeRoom);
        let changes = self.undo.take().unwrap_or_default();
        if self.capacity.is_exceeded() {
            for (position, old, new) in changes.into_iter().rev() {
                self.replace(position, new, old);
            }
        }
        looked_at
    }

    /// Those who may use what is beyond a limit.
    fn contributors(&self) -> Contributors {
        let mut crowd = Contributors::default();
        for block in &self.context.sessions.blocks {
            if self.capacity.is_exceeded_on_path(self.constraints, block.node) {
                crowd.add(block.sessions.clone());
            }
        }
        crowd
    }
}

/// Energy of a plan for which there is no room.
fn excess(taken: &EnergyBySlot, (up, down): (&[i64], &[i64])) -> i64 {
    let of_slot = |&(slot, energy): &(u32, i64)| {
        let slot = slot as usize;
        (energy - up[slot]).max(0) + (-energy - down[slot]).max(0)
    };
    taken.iter().map(of_slot).sum()
}

fn energy_of(taken: &EnergyBySlot) -> i64 {
    taken.iter().map(|(_, energy)| energy).sum()
}

/// Keeps of a plan what there is room for, and leaves in `free` what is left
/// of the room that the vehicle can use.
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

/// Whether a new plan is worth more than the old one, limits included.
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

/// Whether a new plan exceeds a limit by more than the old one: others may
/// live on what a vehicle discharges, or on what it takes in.
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
