//! What vehicles that only charge want before they leave: levels by deadlines,
//! and a reserve at once.
//!
//! A reserve for which limits leave no room in time comes later, as it does for a
//! vehicle that is planned alone. That is shared first like any shortage, and
//! then left to whom it befalls. What is missing at a deadline is need that goes
//! unmet; but it, too, comes later where there is room before departure.

use crate::area::model::battery::reaches;
use crate::area::model::energy_by_slot::Taken;
use crate::area::model::sessions::Stays;
use crate::area::pricing::buffers::Scratch;
use crate::area::recovery::plans::{Plans, Signals};
use crate::area::shortage::measure::evenly;
use crate::area::solve::subproblem::{Coordinated, Task};

/// Vehicles whose reserves could take each other's place: node, and the slot
/// before which it is wanted.
type Class = (u32, u32);

/// A reserve: whose, when it is wanted, and what is missing by then.
struct Lack {
    class: Class,
    position: usize,
    stage: usize,
    missing: i64,
}

/// Lets reserves come later for which limits left no room at once; tells whether
/// there were some. `is_shared` says whether those who could take each other's
/// place bear that in equal shares of what they want, or as it was found.
pub(crate) fn postpone(
    task: &Task<'_>,
    stays: &mut Stays,
    done: &Coordinated,
    is_shared: bool,
) -> bool {
    let mut lacks = lacks(task, stays, done);
    if lacks.iter().all(|lack| lack.missing <= 0) {
        return false;
    }
    if is_shared {
        share(stays, &mut lacks);
    }
    let mut is_new = false;
    for Lack { position, stage, missing, .. } in lacks.into_iter().filter(|lack| lack.missing > 0) {
        let wishes = &mut stays.wishes[stays.each[position].wishes as usize];
        let before = wishes.needs[stage];
        wishes.lower(stage, before - missing);
        is_new |= wishes.needs[stage] < before;
    }
    stays.state += u32::from(is_new);
    is_new
}

/// What is missing of reserves, with those that miss nothing.
fn lacks(task: &Task<'_>, stays: &Stays, done: &Coordinated) -> Vec<Lack> {
    let wishes_of = |position: usize| stays.wishes.get(stays.each[position].wishes as usize);
    let reserved = |position: usize| wishes_of(position).filter(|wishes| wishes.reserve.is_some());
    let short = &done.total.short;
    if !short.iter().any(|&position| reserved(position as usize).is_some()) {
        return Vec::new();
    }
    let asked = task.asked(stays);
    let signals = Signals::new(&asked, task.terms, &done.settled, &done.prices);
    let plans = Plans { asked: &asked, settled: &done.settled, signals: &signals };
    let (mut scratch, mut taken) = (Scratch::default(), Taken::new());
    let mut lacks = Vec::new();
    for position in 0..stays.each.len() {
        let Some(wishes) = reserved(position) else { continue };
        let is_short = short.binary_search(&(position as u32)).is_ok();
        if is_short {
            plans.plan(stays.group_of(position), position, &mut scratch, &mut taken);
        }
        for (stage, missing) in wishes.of_reserve(is_short.then_some(&taken)) {
            let class = (stays.each[position].node, wishes.end_of(stage));
            lacks.push(Lack { class, position, stage, missing });
        }
    }
    lacks
}

/// The same sums by class, in equal shares of what is wanted.
fn share(stays: &Stays, lacks: &mut [Lack]) {
    lacks.sort_by_key(|lack| (lack.class, lack.position, lack.stage));
    for members in lacks.chunk_by_mut(|a, b| a.class == b.class) {
        let missing = members.iter().map(|lack| lack.missing).sum();
        let wants = |lack: &Lack| {
            let stay = &stays.each[lack.position];
            (stays.wishes[stay.wishes as usize].needs[lack.stage], stay.priority)
        };
        let wants: Vec<(i64, f32)> = members.iter().map(wants).collect();
        let shares = evenly(missing, &wants);
        members.iter_mut().zip(shares).for_each(|(lack, share)| lack.missing = share);
    }
    // Each vehicle's deadlines in their order, as lowering one bounds the next.
    lacks.sort_by_key(|lack| (lack.position, lack.stage));
}

/// Lets reserves of batteries come later where limits left no room for them
/// at once; tells whether there was one. Each comes later at most once a slot,
/// so that this ends.
pub(crate) fn postpone_reserves(task: &Task<'_>, stays: &mut Stays, done: &Coordinated) -> bool {
    let mut is_new = false;
    let curves = task.problem.curves;
    for (&position, taken) in &done.settled.anew {
        let stay = &stays.each[position as usize];
        let Some(store) = stays.stores.get_mut(stay.store as usize) else { continue };
        let prices = curves.prices(stay.curve as usize);
        let mut wanted =
            reaches(|slot| prices[slot], curves.horizon(), (stay.first, stay.last), store);
        for level in &mut wanted {
            *level = level.min(store.battery.reserve_kwh);
        }
        let from = store.reserve_kept_from(stay, taken, &wanted);
        is_new |= from > store.reserve_from;
        store.reserve_from = from;
    }
    stays.state += u32::from(is_new);
    is_new
}
