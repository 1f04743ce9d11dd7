//! Sharing a shortage: first as little of it as possible, then equal shares.
//!
//! Energy is free here, and each tenth of a need is worth more the more of the
//! need has been shed already. The least worth is shed when as little as
//! possible goes unmet and no vehicle bears much more than another that could
//! take its place. Vehicles of one node and departure then share what they bear.
use crate::area::coordinate::{AreaState, Coordinated, Task, coordinate};
use crate::area::grains::as_kwh;
use crate::area::rounds::{Ended, Until};
use crate::area::settle::{Plans, Signals, Taken};
use crate::area::signal::Worth;
use crate::area::staff::Staff;
use crate::area::stays::Stays;
use crate::area::wishes::Wishes;

/// Parts of a need, each worth more than the one before.
const TIERS: u32 = 10;

/// Part of a need that one may go without beyond its share.
const UNEVEN: f64 = 0.01;

/// Vehicles with needs that limits can meet, and their plans.
pub(crate) fn share(
    task: &Task<'_>,
    stays: &Stays,
    first: Coordinated,
    staff: &mut Staff<'_>,
) -> (Stays, Coordinated) {
    let hard = task.terms.hard();
    let until = Until { gap: 1e-4, scale: as_kwh(first.total.shed), ..task.until };
    let free = Task {
        terms: &hard,
        worth: Worth { base: 1.0, step: 1.0, tiers: TIERS },
        is_free: true,
        until,
        money: stays.need_kwh(),
        has_plans: true,
        ..*task
    };
    let least = coordinate(&free, stays, &AreaState::default(), staff);
    if least.ended == Ended::Caller {
        return stopped(stays, first);
    }
    let shed = shed_of(&free, stays, &least);
    let start = AreaState { rounds_per_kwh: Vec::new(), ..first.state.clone() };
    let least = shed.iter().sum::<i64>();
    let is_more = |unmet: i64, than: i64| as_kwh(unmet - than) > 1e-3 * as_kwh(least);
    let equal = equal_shares(stays, &shed);
    let mut best = plan_with(task, (stays, 1), (equal.clone(), true), &start, staff);
    if best.done.is_nothing() {
        return stopped(stays, first);
    }
    let has_late = stays.wishes.iter().any(Wishes::is_late);
    if !staff.is_stopped() && has_late && is_more(best.unmet(), least) {
        let later = plan_with(task, (stays, 2), (equal, false), &start, staff);
        if !later.done.is_nothing() && later.unmet() < best.unmet() {
            best = later;
        }
    }
    if !staff.is_stopped() && best.worst > UNEVEN {
        // What rounding left to a few is shared as well.
        let all = equal_shares(stays, &best.missing());
        let again = plan_with(task, (stays, 3), (all, best.is_raised), &start, staff);
        let is_better = !again.done.is_nothing() && again.worst < best.worst;
        if is_better && !is_more(again.unmet(), best.unmet()) {
            best = again;
        }
    }
    if !staff.is_stopped() && is_more(best.unmet(), least) {
        let as_found = plan_with(task, (stays, 4), (shed, false), &start, staff);
        if !as_found.done.is_nothing() && as_found.unmet() < best.unmet() {
            best = as_found;
        }
    }
    if staff.is_stopped() && best.unmet() > first.total.shed {
        return stopped(stays, first);
    }
    let ended = if staff.is_stopped() { Ended::Caller } else { best.done.ended };
    (best.stays, Coordinated { ended, ..best.done })
}

/// The plans that there were before anything was shared.
fn stopped(stays: &Stays, first: Coordinated) -> (Stays, Coordinated) {
    (stays.clone(), Coordinated { ended: Ended::Caller, ..first })
}

/// Plans with needs that were cut.
struct Cut {
    stays: Stays,
    done: Coordinated,
    /// What each vehicle's need was cut by, and what it goes without besides.
    shed: Vec<i64>,
    besides: Vec<i64>,
    /// Whether deadlines before departure want more than was found for them.
    is_raised: bool,
    /// Most that any goes without besides, in proportion to its need.
    worst: f64,
}

impl Cut {
    fn unmet(&self) -> i64 {
        self.shed.iter().sum::<i64>() + self.done.total.shed
    }

    /// What each vehicle goes without.
    fn missing(&self) -> Vec<i64> {
        self.shed.iter().zip(&self.besides).map(|(shed, besides)| shed + besides).collect()
    }
}

fn plan_with(
    task: &Task<'_>,
    (stays, state): (&Stays, u32),
    (shed, is_raised): (Vec<i64>, bool),
    start: &AreaState,
    staff: &mut Staff<'_>,
) -> Cut {
    let left: Vec<i64> =
        stays.each.iter().zip(&shed).map(|(stay, shed)| stay.need - shed).collect();
    let needs: Vec<i64> = stays.each.iter().map(|stay| stay.need).collect();
    let stays = Stays { state: stays.state + state, ..stays.with_needs(&left, is_raised) };
    let done = coordinate(&Task { has_plans: true, ..*task }, &stays, start, staff);
    let besides = if done.is_nothing() || done.total.short.is_empty() {
        vec![0; shed.len()]
    } else {
        shed_of(task, &stays, &done)
    };
    let parts = besides.iter().zip(needs).map(|(&part, need)| part as f64 / (need as f64).max(1.0));
    let worst = parts.fold(0.0, f64::max);
    Cut { stays, done, shed, besides, is_raised, worst }
}

/// What each vehicle goes without, in the order of the stays.
fn shed_of(task: &Task<'_>, stays: &Stays, done: &Coordinated) -> Vec<i64> {
    let asked = task.asked(stays);
    let signals = Signals::new(&asked, task.terms, &done.settled, &done.prices);
    let plans = Plans { asked: &asked, settled: &done.settled, signals: &signals };
    let (mut scratch, mut taken) = (crate::area::answer::Scratch::default(), Taken::new());
    let mut shed = vec![0; stays.each.len()];
    for block in &stays.blocks {
        for position in block.stays.clone() {
            plans.plan(block.group, position, &mut scratch, &mut taken);
            let stay = &stays.each[position];
            // Levels of batteries are rounded: a grain may be missing beyond the need.
            shed[position] = asked.missing(stay, &taken).min(stay.need);
        }
    }
    shed
}

/// The same sums by node and departure, spread in proportion to need over
/// priority, no vehicle going without more than it needs.
fn equal_shares(stays: &Stays, shed: &[i64]) -> Vec<i64> {
    let mut order: Vec<usize> = (0..shed.len()).collect();
    let class = |at: usize| (stays.each[at].node, stays.each[at].last);
    order.sort_by_key(|&at| (class(at), at));
    let mut shares = vec![0; shed.len()];
    for members in order.chunk_by(|&a, &b| class(a) == class(b)) {
        let left = members.iter().map(|&at| shed[at]).sum();
        let wants = members.iter().map(|&at| (stays.each[at].need, stays.each[at].priority));
        let wants: Vec<(i64, f32)> = wants.collect();
        members.iter().zip(evenly(left, &wants)).for_each(|(&at, share)| shares[at] = share);
    }
    shares
}

/// Parts of what is missing, in proportion to what each wants over its priority,
/// and none larger than what it wants.
pub(crate) fn evenly(missing: i64, wants: &[(i64, f32)]) -> Vec<i64> {
    let mut shares = vec![0; wants.len()];
    let mut left = missing;
    let mut open: Vec<usize> = (0..wants.len()).collect();
    while left > 0 && !open.is_empty() {
        let weight = |at: usize| wants[at].0 as f64 / f64::from(wants[at].1);
        let weights: f64 = open.iter().map(|&at| weight(at)).sum();
        let before = left;
        let total = left as f64;
        for &at in &open {
            let part = (total * weight(at) / weights.max(1.0)).ceil() as i64;
            let part = part.min(wants[at].0 - shares[at]).min(left);
            shares[at] += part;
            left -= part;
        }
        open.retain(|&at| shares[at] < wants[at].0);
        if left == before {
            break;
        }
    }
    shares
}
