//! Brings plans within hard limits, and uses the room that is left.
//!
//! Vehicles are taken one after the other, evenly spread over the area. Each
//! gives back what it uses and is planned anew within the room that all others
//! leave, at the shadow prices of the mix. That never makes a limit worse, so
//! in the end no limit is exceeded.
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::area::answer::{Scratch, within};
use crate::area::asked::Asked;
use crate::area::grains::{GRAINS_PER_KWH, as_kwh};
use crate::area::hear::added_by_node;
use crate::area::settle::{Plans, Settled, Signals, Taken, Total, merge};
use crate::area::stays::{NO_WISHES, Stay};
use crate::area::store::{Free, NO_STORE};
use crate::area::terms::{Kind, Terms};

/// Vehicles looked at when room is to be used, at most.
const VISITS_MAX: usize = 200_000;

/// Passes in which batteries only charge, at most.
const CHARGING_PASSES: usize = 6;

/// Short vehicles for which others are moved, at most.
const SHORT_MAX: usize = 512;

/// Vehicles that may be moved for one of them, at most.
const MOVED_MAX: usize = 20_000;

/// Vehicles whose plans are made side by side before they come in turn, and the
/// fewest that a core takes of them.
const AHEAD: usize = 1_024;
const AHEAD_MIN: usize = 32;

/// Room under hard limits, slot by slot: for energy that is bought, and for
/// energy that is sold. For each node the least of its limits; empty without one.
pub(crate) struct Room {
    slots: usize,
    up: Vec<Vec<i64>>,
    down: Vec<Vec<i64>>,
    /// Slots of nodes in which a limit is exceeded.
    exceeded: usize,
}

impl Room {
    fn new(terms: &Terms, total: &Total) -> Self {
        let slots = terms.slots();
        let empty = vec![Vec::new(); terms.by_node.len()];
        let mut room = Self { slots, up: empty.clone(), down: empty, exceeded: 0 };
        for term in terms.each.iter().filter(|term| term.kind == Kind::Hard) {
            let is_import = term.sign > 0.0;
            let side = if is_import { &mut room.up } else { &mut room.down };
            let left: &mut Vec<i64> = &mut side[term.node];
            left.resize(slots, i64::MAX);
            for (slot, left) in left.iter_mut().enumerate() {
                let most = (term.bounds[slot] * GRAINS_PER_KWH).floor().clamp(-4e18, 4e18) as i64;
                let load = total.loads[term.node][slot];
                *left = (*left).min(most - if is_import { load } else { -load });
            }
        }
        let sides = room.up.iter().chain(&room.down);
        room.exceeded = sides.flatten().filter(|&&left| left < 0).count();
        room
    }

    fn is_exceeded(&self) -> bool {
        self.exceeded > 0
    }

    /// The least room on the way to the top, for each slot: up and down.
    fn on_path(&self, terms: &Terms, stay: &Stay) -> (Vec<i64>, Vec<i64>) {
        let least = |side: &[Vec<i64>]| {
            let mut room = vec![i64::MAX; self.slots];
            for &node in &terms.paths[stay.node as usize] {
                let left = &side[node as usize];
                room.iter_mut().zip(left).for_each(|(room, &left)| *room = (*room).min(left));
            }
            room
        };
        (least(&self.up), least(&self.down))
    }

    /// Whether a plan that counts already uses no slot beyond a limit.
    fn holds(&self, terms: &Terms, stay: &Stay, taken: &Taken) -> bool {
        let is_kept = |left: Option<&i64>| left.is_none_or(|&left| left >= 0);
        terms.paths[stay.node as usize].iter().all(|&node| {
            let (up, down) = (&self.up[node as usize], &self.down[node as usize]);
            taken.iter().all(|&(slot, energy)| {
                let slot = slot as usize;
                (energy < 0 || is_kept(up.get(slot))) && (energy > 0 || is_kept(down.get(slot)))
            })
        })
    }

    fn take(&mut self, terms: &Terms, stay: &Stay, taken: &Taken, sign: i64) {
        for &node in &terms.paths[stay.node as usize] {
            let (up, down) = (&mut self.up[node as usize], &mut self.down[node as usize]);
            for &(slot, energy) in taken {
                for (left, change) in
                    [(up.get_mut(slot as usize), -energy), (down.get_mut(slot as usize), energy)]
                {
                    let Some(left) = left else { continue };
                    let before = usize::from(*left < 0);
                    *left += sign * change;
                    self.exceeded = self.exceeded + usize::from(*left < 0) - before;
                }
            }
        }
    }
}

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
    /// Changes since the walk was last sure of them: old plans and new.
    undo: Vec<(usize, Taken, Taken)>,
}

/// Plans anew until no hard limit is exceeded, and finds room for vehicles
/// that are short, by moving others if it must; not where the mix itself
/// `is_forced` to leave need unmet. `duals` are its shadow prices.
pub(crate) fn repair(
    asked: &Asked<'_>,
    terms: &Terms,
    settled: &mut Settled,
    signals: &Signals,
    total: &Total,
    (duals, is_forced): (&[f64], bool),
) {
    let added = added_by_node(asked, terms, duals);
    let short = total.short.iter().map(|&position| position as usize).collect();
    let room = Room::new(terms, total);
    let mut walk = Walk { asked, terms, signals, settled, room, added, short, undo: Vec::new() };
    let count = asked.stays.each.len();
    walk.visit_beyond(|| spread(count));
    let short: Vec<usize> = walk.short.iter().copied().collect();
    walk.visit(short.into_iter(), Why::Better);
    if !is_forced {
        let short: Vec<usize> = walk.short.iter().copied().take(SHORT_MAX).collect();
        for position in short {
            walk.make_room(position);
        }
    }
}

/// Lets vehicles use room that is left where it is cheaper. Soft limits count
/// by their shadow prices, hard ones by their room.
pub(crate) fn improve(
    asked: &Asked<'_>,
    terms: &Terms,
    settled: &mut Settled,
    signals: &Signals,
    total: &Total,
    duals: &[f64],
) {
    let mut soft = duals.to_vec();
    for (term, duals) in terms.each.iter().zip(soft.chunks_mut(terms.slots().max(1))) {
        if term.kind == Kind::Hard {
            duals.fill(0.0);
        }
    }
    let added = added_by_node(asked, terms, &soft);
    let room = Room::new(terms, total);
    let short = BTreeSet::new();
    let mut walk = Walk { asked, terms, signals, settled, room, added, short, undo: Vec::new() };
    let order = spread(asked.stays.each.len()).take(VISITS_MAX);
    walk.visit(order, Why::Better);
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
    /// A walk on which vehicles are given plans from elsewhere.
    pub(crate) fn new(
        asked: &'a Asked<'a>,
        terms: &'a Terms,
        (settled, signals): (&'a mut Settled, &'a Signals),
        total: &Total,
    ) -> Self {
        let (room, short) = (Room::new(terms, total), BTreeSet::new());
        Self { asked, terms, signals, settled, room, added: Vec::new(), short, undo: Vec::new() }
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
        let room = self.room.on_path(self.terms, &self.asked.stays.each[position]);
        let fits = !is_worse(&room, &old, &new);
        if fits {
            self.replace(position, old, new);
            self.undo.clear();
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
            self.visit(order(), why);
        }
    }

    /// Plans vehicles anew for good.
    fn visit(&mut self, order: impl Iterator<Item = usize>, why: Why) {
        self.walk(order, why);
        self.undo.clear();
    }

    /// Plans vehicles anew in an order that has each once. The plans that they
    /// have are made side by side, ahead of their turn.
    fn walk(&mut self, mut order: impl Iterator<Item = usize>, why: Why) {
        let mut scratch = Scratch::default();
        loop {
            let next: Vec<usize> = order.by_ref().take(AHEAD).collect();
            if next.is_empty() || self.is_done(why) {
                break;
            }
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
            let mut taken = Taken::new();
            let group = self.plan(position, scratch, &mut taken);
            let old = Old { group, taken };
            let is_of_use = why != Why::Better || self.anew(position, why, scratch, &old).is_some();
            is_of_use.then_some((position, old))
        };
        let plans = positions.par_iter().with_min_len(AHEAD_MIN);
        plans.map_init(Scratch::default, plan).flatten_iter().collect()
    }

    /// Plans one vehicle within the room that all others leave.
    fn plan_anew(&mut self, position: usize, why: Why, scratch: &mut Scratch, old: &Old) {
        if let Some(anew) = self.anew(position, why, scratch, old) {
            self.replace(position, old.taken.clone(), anew);
        }
    }

    /// What a vehicle would have instead, if it is to have something else.
    fn anew(&self, position: usize, why: Why, scratch: &mut Scratch, old: &Old) -> Option<Taken> {
        let (asked, terms) = (self.asked, self.terms);
        let stay = &asked.stays.each[position];
        let taken = &old.taken;
        if why != Why::Better && self.room.holds(terms, stay, taken) {
            return None;
        }
        let others = self.room.on_path(terms, stay);
        let (mut up, mut down) = others.clone();
        for &(slot, energy) in taken {
            let (up, down) = (&mut up[slot as usize], &mut down[slot as usize]);
            (*up, *down) = (up.saturating_add(energy), down.saturating_sub(energy));
        }
        up.iter_mut().chain(&mut down).for_each(|room| *room = (*room).max(0));
        if why == Why::BeyondCharging {
            down.fill(0);
        }
        let added = &self.added[stay.node as usize];
        let mut anew = Taken::new();
        let has_mix = why != Why::Better && self.settled.is_mixed[old.group];
        if has_mix && stay.wishes == NO_WISHES && stay.store == NO_STORE && !stay.whole {
            // A mix is worth keeping: only what is beyond moves elsewhere.
            trim(asked, stay, taken, &mut up, &mut anew);
        }
        let rest = Stay { need: stay.need - energy_of(&anew), ..*stay };
        let free = Free { up: &up, down: &down };
        within(asked, &rest, added, free, scratch, |slot, energy| {
            anew.push((slot as u32, energy));
        });
        merge(&mut anew);
        let is_refused = match why {
            Why::Beyond | Why::BeyondAtAnyPrice | Why::BeyondCharging => false,
            Why::MakeRoom => asked.missing(stay, &anew) > asked.missing(stay, taken),
            Why::Better => !is_better(asked, stay, added, taken, &anew),
        };
        // Hard limits on import come first for those that only charge.
        let may_be_worse = match why {
            Why::Beyond => stay.store == NO_STORE,
            Why::BeyondAtAnyPrice | Why::BeyondCharging => true,
            Why::MakeRoom | Why::Better => false,
        };
        let is_taken = !is_refused && (may_be_worse || !is_worse(&others, taken, &anew));
        is_taken.then_some(anew)
    }

    /// The plan that a vehicle has, and its group.
    pub(crate) fn plan(&self, position: usize, scratch: &mut Scratch, taken: &mut Taken) -> usize {
        let blocks = &self.asked.stays.blocks;
        let group = blocks[blocks.partition_point(|block| block.stays.end <= position)].group;
        let plans = Plans { asked: self.asked, settled: self.settled, signals: self.signals };
        plans.plan(group, position, scratch, taken);
        group
    }

    fn replace(&mut self, position: usize, old: Taken, new: Taken) {
        let stay = &self.asked.stays.each[position];
        self.room.take(self.terms, stay, &old, -1);
        self.room.take(self.terms, stay, &new, 1);
        if self.asked.missing(stay, &new) > 0 {
            self.short.insert(position);
        } else {
            self.short.remove(&position);
        }
        self.settled.anew.insert(position as u32, new.clone());
        self.undo.push((position, old, new));
    }

    /// Gives a vehicle its need whether there is room or not, and moves others
    /// that can be moved; if they cannot, all is left as it was.
    fn make_room(&mut self, position: usize) {
        let stay = self.asked.stays.each[position];
        if stay.wishes != NO_WISHES || stay.whole || stay.store != NO_STORE {
            return;
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
        self.replace(position, taken.clone(), anew);
        let others = spread(self.asked.stays.each.len()).filter(|&other| other != position);
        self.walk(others.take(MOVED_MAX), Why::MakeRoom);
        let changes = std::mem::take(&mut self.undo);
        if self.room.is_exceeded() {
            for (position, old, new) in changes.into_iter().rev() {
                self.replace(position, new, old);
            }
            self.undo.clear();
        }
    }
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
        let shed = asked.worth.total_kwh(asked.missing(stay, taken), stay.need, stay.priority);
        cost.sum::<f64>() + shed
    };
    value(new) < value(old) - 1e-9
}

/// Whether a new plan exceeds a limit by more than the old one: others may
/// live on what a vehicle discharges, or on what it takes in.
fn is_worse((up, down): &(Vec<i64>, Vec<i64>), old: &Taken, new: &Taken) -> bool {
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
