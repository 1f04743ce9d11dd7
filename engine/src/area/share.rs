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

/// Parts of a need, each worth more than the one before.
const TIERS: u32 = 10;

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
        ..*task
    };
    let least = coordinate(&free, stays, &AreaState::default(), staff);
    let shed = shed_of(&free, stays, &least);
    if least.ended == Ended::Caller {
        return (stays.clone(), first);
    }
    let start = AreaState { rounds_per_kwh: Vec::new(), ..first.state.clone() };
    let equal = equal_shares(stays, &shed);
    let planned = plan_with(task, (stays, 1), &equal, &start, staff);
    let unmet = |shed: &[i64], done: &Coordinated| shed.iter().sum::<i64>() + done.total.shed;
    let least = shed.iter().sum::<i64>();
    let is_more = |unmet: i64| as_kwh(unmet - least) > 1e-3 * as_kwh(least);
    if !is_more(unmet(&equal, &planned.1)) || planned.1.ended == Ended::Caller {
        return planned;
    }
    let as_found = plan_with(task, (stays, 2), &shed, &start, staff);
    if unmet(&shed, &as_found.1) < unmet(&equal, &planned.1) { as_found } else { planned }
}

fn plan_with(
    task: &Task<'_>,
    (stays, state): (&Stays, u32),
    shed: &[i64],
    start: &AreaState,
    staff: &mut Staff<'_>,
) -> (Stays, Coordinated) {
    let left: Vec<i64> = stays.each.iter().zip(shed).map(|(stay, shed)| stay.need - shed).collect();
    let stays = Stays { state: stays.state + state, ..stays.with_needs(&left) };
    let done = coordinate(task, &stays, start, staff);
    (stays, done)
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
        let mut left: i64 = members.iter().map(|&at| shed[at]).sum();
        let mut open: Vec<usize> = members.to_vec();
        while left > 0 && !open.is_empty() {
            let weight =
                |at: usize| stays.each[at].need as f64 / f64::from(stays.each[at].priority);
            let weights: f64 = open.iter().map(|&at| weight(at)).sum();
            let before = left;
            let total = left as f64;
            for &at in &open {
                let part = (total * weight(at) / weights.max(1.0)).ceil() as i64;
                let part = part.min(stays.each[at].need - shares[at]).min(left);
                shares[at] += part;
                left -= part;
            }
            open.retain(|&at| shares[at] < stays.each[at].need);
            if left == before {
                break;
            }
        }
    }
    shares
}
