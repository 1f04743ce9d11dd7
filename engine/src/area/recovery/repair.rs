//! Brings plans within hard limits, and uses the room that is left.
//!
//! Vehicles are taken one after the other, evenly spread over the area. Each
//! gives back what it uses and is planned anew within the room that all others
//! leave, at the shadow prices of the mix. That never makes a limit worse, so
//! in the end no limit is exceeded.
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::area::distributed::executor::Staff;
use crate::area::model::battery::Free;
use crate::area::model::energy_by_slot::{Settled, Taken, merge};
use crate::area::model::linking::Terms;
use crate::area::model::session::{NO_STORE, NO_WISHES, Stay};
use crate::area::pricing::buffers::{Scratch, Sides};
use crate::area::pricing::context::{Asked, added_by_node};
use crate::area::pricing::oracle::within;
use crate::area::problem::micro_wh::as_kwh;
use crate::area::recovery::plans::{Plans, Signals};
use crate::area::recovery::residual::{Crowd, Room};
use crate::area::recovery::totals::Total;

/// Vehicles looked at when room is to be used, at most.
const VISITS_MAX: usize = 200_000;

/// Passes in which batteries only charge, at most.
const CHARGING_PASSES: usize = 6;

/// Short vehicles for which others are moved, at most.
const SHORT_MAX: usize = 512;

/// Vehicles that may be moved for one of them, at most.
const MOVED_MAX: usize = 20_000;

/// Energy beyond limits that is rounding, in grains: less than what counts as missing.
const HAIR: i64 = 500;

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
enum Why {
    /// It uses a slot beyond a limit.
    Beyond,
    /// The same, and batteries let go of what others live on.
    BeyondAtAnyPrice,
    /// The same, and they only charge: then nobody lives on them.
    BeyondCharging,
    /// It uses a slot beyond a limit, but only if it does not go short itself.
    MakeRoom,
    /// There may be something better in the room that is left.
    Better,
}

/// The plan that a vehicle has, and its group.
struct Old {
    group: usize,
    taken: Taken,
}

/// A walk over vehicles that are planned anew, one after the other.
pub(crate) struct Walk<'a> {
    asked: &'a Asked<'a>,
    terms: &'a Terms,
    signals: &'a Signals,
    settled: &'a mut Settled,
    room: Room,
    /// What limits add to the prices, by node.
    added: Vec<Vec<f64>>,
    /// Vehicles whose need is not met.
    short: BTreeSet<usize>,
    /// Changes that may have to be undone: old plans and new. `None` where all
    /// changes are for good.
    undo: Option<Vec<(usize, Taken, Taken)>>,
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

impl<'a> Walk<'a> {
    /// A walk from plans that add up to a total, at prices without limits.
    pub(crate) fn new(
        asked: &'a Asked<'a>,
        terms: &'a Terms,
        (settled, signals): (&'a mut Settled, &'a Signals),
        total: &Total,
    ) -> Self {
        let short = total.short.iter().map(|&position| position as usize).collect();
        let room = Room::new(terms, total);
        Self { asked, terms, signals, settled, room, added: Vec::new(), short, undo: None }
    }

    /// The same where limits have their prices.
    pub(crate) fn at(mut self, duals: &[f64]) -> Self {
        self.added = added_by_node(self.asked, self.terms, duals);
        self
    }

    /// Plans anew until no hard limit is exceeded, and finds room for vehicles
    /// that are short, by moving others if it must; not where the mix itself
    /// `is_forced` to leave need unmet.
    pub(crate) fn repair(mut self, is_forced: bool, staff: &mut Staff<'_>) {
        let count = self.asked.stays.each.len();
        self.visit_beyond(|| spread(count));
        let short: Vec<usize> = self.short.iter().copied().collect();
        self.walk(short.into_iter(), Why::Better);
        let mut looked_at = 0;
        let short: Vec<usize> = self.short.iter().copied().take(SHORT_MAX).collect();
        for position in short.into_iter().filter(|_| !is_forced) {
            if staff.is_hurried() && looked_at >= HURRIED_MAX {
                break;
            }
            looked_at += self.make_room(position);
        }
    }

    /// Lets vehicles use room that is left where it is cheaper, at the prices of
    /// soft limits; hard ones count by their room.
    pub(crate) fn improve(mut self, staff: &mut Staff<'_>) {
        let mut order = spread(self.asked.stays.each.len()).take(VISITS_MAX);
        while !staff.is_hurried() {
            let next: Vec<usize> = order.by_ref().take(VISITS_AT_ONCE).collect();
            if next.is_empty() {
                break;
            }
            self.walk(next.into_iter(), Why::Better);
        }
    }

    /// Plans vehicles anew in an order until no hard limit is exceeded; tells
    /// whether that worked. `added` is what limits add to the prices, by node.
    pub(crate) fn bring_within(&mut self, order: &[usize], added: &[Vec<f64>]) -> bool {
        self.added = added.to_vec();
        self.visit_beyond(|| order.iter().copied());
        !self.room.is_exceeded()
    }

    /// Gives a vehicle another plan, if no limit is exceeded more by it.
    pub(crate) fn try_replace(&mut self, position: usize, new: Taken) -> bool {
        let (mut scratch, mut old) = (Scratch::default(), Taken::new());
        self.plan(position, &mut scratch, &mut old);
        let (mut up, mut down) = (Vec::new(), Vec::new());
        let stay = &self.asked.stays.each[position];
        self.room.on_path(self.terms, stay, (&mut up, &mut down));
        let fits = !is_worse((&up, &down), &old, &new);
        if fits {
            self.replace(position, old, new);
        }
        fits
    }

    /// Plans vehicles anew until no limit is exceeded. Batteries that some live on
    /// may stand in the way of that; then they stop, the first time only
    /// those that must, and others are moved again.
    fn visit_beyond<O: Iterator<Item = usize>>(&mut self, order: impl Fn() -> O) {
        let ways = [Why::Beyond, Why::BeyondAtAnyPrice, Why::Beyond];
        let last = [Why::BeyondCharging; CHARGING_PASSES];
        let has_stores = !self.asked.stays.stores.is_empty();
        for why in ways.into_iter().chain(last).take(if has_stores { usize::MAX } else { 1 }) {
            if !self.room.is_exceeded() {
                return;
            }
            self.walk(order(), why);
        }
    }

    /// Plans vehicles anew in an order that has each once. The plans that they
    /// have are made side by side, ahead of their turn. Returns how many plans
    /// were made so.
    fn walk(&mut self, mut order: impl Iterator<Item = usize>, why: Why) -> usize {
        let mut scratch = Scratch::default();
        let mut looked_at = 0;
        loop {
            let next: Vec<usize> = order.by_ref().take(AHEAD).collect();
            if next.is_empty() || self.is_done(why) {
                return looked_at;
            }
            looked_at += next.len();
            for (position, old) in self.ahead(&next, why) {
                if self.is_done(why) {
                    break;
                }
                self.plan_anew(position, why, &mut scratch, &old);
            }
        }
    }

    fn is_done(&self, why: Why) -> bool {
        why != Why::Better && !self.room.is_exceeded()
    }

    /// The plans of vehicles that may be planned anew. Where only what is better
    /// counts, those stay out for whom there is nothing better before they begin.
    fn ahead(&self, positions: &[usize], why: Why) -> Vec<(usize, Old)> {
        let plan = |scratch: &mut Scratch, &position: &usize| {
            if !self.may_move(position, why) {
                return None;
            }
            let mut taken = Taken::new();
            let group = self.plan(position, scratch, &mut taken);
            let old = Old { group, taken };
            let is_of_use = why != Why::Better || self.anew(position, why, scratch, &old).is_some();
            is_of_use.then_some((position, old))
        };
        let plans = positions.par_iter().with_min_len(AHEAD_MIN);
        plans.map_init(Scratch::default, plan).flatten_iter().collect()
    }

    /// Whether a vehicle may have to move: where a limit is exceeded, who is under it.
    fn may_move(&self, position: usize, why: Why) -> bool {
        let node = self.asked.stays.each[position].node;
        why == Why::Better || self.room.is_exceeded_on_path(self.terms, node)
    }

    /// Plans one vehicle within the room that all others leave.
    fn plan_anew(&mut self, position: usize, why: Why, scratch: &mut Scratch, old: &Old) {
        if let Some(anew) = self.anew(position, why, scratch, old) {
            self.replace(position, old.taken.clone(), anew);
        }
    }

    /// What a vehicle would have instead, if it is to have something else.
    fn anew(&self, position: usize, why: Why, scratch: &mut Scratch, old: &Old) -> Option<Taken> {
        let stay = &self.asked.stays.each[position];
        if why != Why::Better && self.room.holds(self.terms, stay, &old.taken) {
            return None;
        }
        let mut sides = std::mem::take(&mut scratch.room);
        self.room.on_path(self.terms, stay, (&mut sides.up, &mut sides.down));
        let anew = self.anew_in(&mut sides, (position, why), scratch, old);
        scratch.room = sides;
        anew
    }

    fn anew_in(
        &self,
        sides: &mut Sides,
        (position, why): (usize, Why),
        scratch: &mut Scratch,
        old: &Old,
    ) -> Option<Taken> {
        let asked = self.asked;
        let stay = &asked.stays.each[position];
        let taken = &old.taken;
        sides.set_free(stay, taken);
        let Sides { up: others_up, down: others_down, free_up: up, free_down: down } = sides;
        if why == Why::BeyondCharging {
            down.fill(0);
        }
        let added = &self.added[stay.node as usize];
        let mut anew = Taken::new();
        // A group of its own has what the master programme found best, and a mix
        // cannot be planned anew: only what is beyond moves elsewhere.
        let is_alone = asked.stays.groups == asked.stays.each.len();
        let is_kept = why != Why::Better && (is_alone || self.settled.is_mixed[old.group]);
        let is_plain = stay.wishes == NO_WISHES && stay.store == NO_STORE && !stay.whole;
        let mut rest = *stay;
        if why != Why::Better && !is_plain && !stay.whole && beyond(taken, (up, down)) <= HAIR {
            // A hair less is no reason to plan anew, at prices at which going
            // without costs as much as buying.
            if stay.store != NO_STORE {
                let clamped = |energy: i64, slot: usize| energy.clamp(-down[slot], up[slot]);
                anew.extend(taken.iter().map(|&(slot, e)| (slot, clamped(e, slot as usize))));
                anew.retain(|(_, energy)| *energy != 0);
                return Some(anew);
            }
            trim(asked, stay, taken, up, &mut anew);
            // What it goes without, it goes without: that may be due to a deadline.
            (rest.wishes, rest.need) = (NO_WISHES, energy_of(taken));
        } else if is_kept && is_plain {
            trim(asked, stay, taken, up, &mut anew);
        }
        rest.need -= energy_of(&anew);
        within(asked, &rest, added, Free { up, down }, scratch, |slot, energy| {
            anew.push((slot as u32, energy));
        });
        merge(&mut anew);
        let is_shorter = || asked.missing(stay, &anew).need > asked.missing(stay, taken).need;
        let is_refused = match why {
            Why::Beyond | Why::BeyondAtAnyPrice | Why::BeyondCharging => false,
            Why::MakeRoom => is_shorter(),
            // Room that a limit puts a price on is worth nothing where nobody takes it.
            Why::Better => !is_better(asked, stay, added, taken, &anew) || is_shorter(),
        };
        // Hard limits on import come first for those that only charge.
        let may_be_worse = match why {
            Why::Beyond => stay.store == NO_STORE,
            Why::BeyondAtAnyPrice | Why::BeyondCharging => true,
            Why::MakeRoom | Why::Better => false,
        };
        let is_taken =
            !is_refused && (may_be_worse || !is_worse((others_up, others_down), taken, &anew));
        is_taken.then_some(anew)
    }

    /// The plan that a vehicle has, and its group.
    pub(crate) fn plan(&self, position: usize, scratch: &mut Scratch, taken: &mut Taken) -> usize {
        let group = self.asked.stays.group_of(position);
        let plans = Plans { asked: self.asked, settled: self.settled, signals: self.signals };
        plans.plan(group, position, scratch, taken);
        group
    }

    fn replace(&mut self, position: usize, old: Taken, new: Taken) {
        let stay = &self.asked.stays.each[position];
        self.room.take(self.terms, stay, &old, -1);
        self.room.take(self.terms, stay, &new, 1);
        if self.asked.missing(stay, &new).need > 0 {
            self.short.insert(position);
        } else {
            self.short.remove(&position);
        }
        if let Some(undo) = &mut self.undo {
            undo.push((position, old, new.clone()));
        }
        self.settled.anew.insert(position as u32, new);
    }

    /// Gives a vehicle its need whether there is room or not, and moves others
    /// that can be moved; if they cannot, all is left as it was. Returns how many
    /// were looked at.
    fn make_room(&mut self, position: usize) -> usize {
        let stay = self.asked.stays.each[position];
        if stay.wishes != NO_WISHES || stay.whole || stay.store != NO_STORE {
            return 0;
        }
        let (mut scratch, mut taken) = (Scratch::default(), Taken::new());
        self.plan(position, &mut scratch, &mut taken);
        let mut free = vec![i64::MAX; self.terms.slots()];
        let mut anew = Taken::new();
        trim(self.asked, &stay, &taken, &mut free, &mut anew);
        let added = &self.added[stay.node as usize];
        let rest = Stay { need: stay.need - energy_of(&anew), ..stay };
        let free = Free { up: &free, down: &free };
        within(self.asked, &rest, added, free, &mut scratch, |slot, energy| {
            anew.push((slot as u32, energy));
        });
        merge(&mut anew);
        self.undo = Some(Vec::new());
        self.replace(position, taken, anew);
        let crowd = self.crowd();
        let others = spread(crowd.len()).map(|at| crowd.at(at)).filter(|&other| other != position);
        let looked_at = self.walk(others.take(MOVED_MAX), Why::MakeRoom);
        let changes = self.undo.take().unwrap_or_default();
        if self.room.is_exceeded() {
            for (position, old, new) in changes.into_iter().rev() {
                self.replace(position, new, old);
            }
        }
        looked_at
    }

    /// Those who may use what is beyond a limit.
    fn crowd(&self) -> Crowd {
        let mut crowd = Crowd::default();
        for block in &self.asked.stays.blocks {
            if self.room.is_exceeded_on_path(self.terms, block.node) {
                crowd.add(block.stays.clone());
            }
        }
        crowd
    }
}

/// Energy of a plan for which there is no room.
fn beyond(taken: &Taken, (up, down): (&[i64], &[i64])) -> i64 {
    let of_slot = |&(slot, energy): &(u32, i64)| {
        let slot = slot as usize;
        (energy - up[slot]).max(0) + (-energy - down[slot]).max(0)
    };
    taken.iter().map(of_slot).sum()
}

fn energy_of(taken: &Taken) -> i64 {
    taken.iter().map(|(_, energy)| energy).sum()
}

/// Keeps of a plan what there is room for, and leaves in `free` what is left
/// of the room that the vehicle can use.
fn trim(asked: &Asked<'_>, stay: &Stay, taken: &Taken, free: &mut [i64], kept: &mut Taken) {
    for &(slot, energy) in taken {
        let room = &mut free[slot as usize];
        let part = energy.min(*room);
        *room = (*room - part).min(stay.cap(asked.horizon(), slot as usize) - part);
        if part > 0 {
            kept.push((slot, part));
        }
    }
}

/// Whether a new plan is worth more than the old one, limits included.
fn is_better(asked: &Asked<'_>, stay: &Stay, added: &[f64], old: &Taken, new: &Taken) -> bool {
    let value = |taken: &Taken| {
        let cost = taken.iter().map(|&(slot, energy)| {
            let slot = slot as usize;
            asked.cost_of(stay, slot, energy) + added[slot] * as_kwh(energy)
        });
        cost.sum::<f64>() + asked.worth_of(stay, asked.missing(stay, taken))
    };
    value(new) < value(old) - 1e-9
}

/// Whether a new plan exceeds a limit by more than the old one: others may
/// live on what a vehicle discharges, or on what it takes in.
fn is_worse((up, down): (&[i64], &[i64]), old: &Taken, new: &Taken) -> bool {
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
