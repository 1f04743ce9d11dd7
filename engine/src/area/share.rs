//! Sharing a shortage: first as little of it as possible, then equal shares.
//!
//! Energy is free here, and each tenth of a need is worth more the more of the
//! need has been shed already. The least worth is shed when as little as
//! possible goes unmet and no vehicle bears much more than another that could
//! take its place. Vehicles of one node that miss one deadline then share what
//! they bear. What is missed at a deadline before departure may come later.
use crate::area::coordinate::{AreaState, Coordinated, Task, coordinate};
use crate::area::grains::as_kwh;
use crate::area::lack::{Lack, cut, equal_shares, lacks};
use crate::area::rounds::{Ended, Until};
use crate::area::signal::Worth;
use crate::area::staff::Staff;
use crate::area::stays::Stays;

/// Parts of a need, each worth more than the one before.
const TIERS: u32 = 10;

/// By how much, where one vehicle's energy is not another's: batteries lose some of
/// what they give, and what is in time for one deadline is late for another. An
/// equal share must not cost others more than it gives.
const STEP: f64 = 0.002;

/// Part of a need that one may go without beyond its share.
const UNEVEN: f64 = 0.01;

/// Part of the least shortage by which another one is not worse.
const ALIKE: f64 = 1e-3;

/// Vehicles with needs that limits can meet, and their plans.
pub(crate) struct Shared {
    pub(crate) stays: Stays,
    pub(crate) done: Coordinated,
    /// What going without was worth.
    pub(crate) worth: Worth,
}

/// Finds who goes without what, and plans the rest.
pub(crate) fn share(
    task: &Task<'_>,
    stays: &Stays,
    first: Coordinated,
    staff: &mut Staff<'_>,
) -> Shared {
    let hard = task.terms.hard();
    let until = Until { gap: 1e-4, scale: as_kwh(first.total.shed), ..task.until };
    let is_even = stays.wishes.is_empty() && stays.stores.is_empty();
    let step = if is_even { 1.0 } else { STEP };
    let free = Task {
        terms: &hard,
        worth: Worth { base: 1.0, step, tiers: TIERS },
        is_free: true,
        until,
        money: stays.need_kwh(),
        has_plans: true,
        ..*task
    };
    let least = coordinate(&free, stays, &AreaState::default(), staff);
    if least.ended == Ended::Caller {
        return Shared::stopped(task, stays, first);
    }
    // Energy that is free leaves much open, and rounding may then cost more.
    let found = if is_more(least.total.shed, first.total.shed, first.total.shed) {
        lacks(task, (stays, stays), &first)
    } else {
        lacks(&free, (stays, stays), &least)
    };
    let start = AreaState { rounds_per_kwh: Vec::new(), ..first.state.clone() };
    let Some(best) = best_cut(task, (stays, &found), &start, staff) else {
        return Shared::stopped(task, stays, first);
    };
    let is_stopped = staff.is_stopped();
    if is_stopped && best.unmet > first.total.shed {
        return Shared::stopped(task, stays, first);
    }
    if is_more(best.unmet, first.total.shed, first.total.shed) {
        return Shared { stays: stays.clone(), done: first, worth: task.worth };
    }
    let ended = if is_stopped { Ended::Caller } else { best.done.ended };
    Shared { stays: best.stays, done: Coordinated { ended, ..best.done }, worth: best.worth }
}

/// Whether more goes unmet than somewhere else, where `least` is what must.
fn is_more(unmet: i64, than: i64, least: i64) -> bool {
    as_kwh(unmet - than) > ALIKE * as_kwh(least)
}

impl Shared {
    /// The plans that there were before anything was shared.
    fn stopped(task: &Task<'_>, stays: &Stays, first: Coordinated) -> Self {
        let done = Coordinated { ended: Ended::Caller, ..first };
        Self { stays: stays.clone(), done, worth: task.worth }
    }
}

/// Equal shares, if they cost nobody more than they give, and what was found
/// otherwise; `None` if the work was stopped before there were plans.
fn best_cut(
    task: &Task<'_>,
    (stays, found): (&Stays, &[Lack]),
    start: &AreaState,
    staff: &mut Staff<'_>,
) -> Option<Cut> {
    let least: i64 = found.iter().map(|lack| lack.missing).sum();
    let mut best = plan_with(task, (stays, 1), &equal_shares(stays, found), start, staff)?;
    if !staff.is_stopped() && best.worst > UNEVEN {
        // What rounding left to a few is shared as well.
        let all = equal_shares(stays, &best.lacks);
        let again = plan_with(task, (stays, 2), &all, start, staff);
        let is_better =
            |cut: &Cut| cut.worst < best.worst && !is_more(cut.unmet, best.unmet, least);
        if let Some(again) = again.filter(is_better) {
            best = again;
        }
    }
    if !staff.is_stopped() && is_more(best.unmet, least, least) {
        let as_found = plan_with(task, (stays, 3), found, start, staff);
        if let Some(as_found) = as_found.filter(|cut| cut.unmet < best.unmet) {
            best = as_found;
        }
    }
    Some(best)
}

/// Needs that were cut, and plans for them.
struct Cut {
    stays: Stays,
    done: Coordinated,
    worth: Worth,
    /// What each vehicle goes without of what it asked for, and all together.
    lacks: Vec<Lack>,
    unmet: i64,
    /// Most that any goes without beyond its share, in proportion to its need.
    worst: f64,
}

/// Plans for vehicles that go without something; none if the work was stopped.
fn plan_with(
    task: &Task<'_>,
    (stays, state): (&Stays, u32),
    shares: &[Lack],
    start: &AreaState,
    staff: &mut Staff<'_>,
) -> Option<Cut> {
    let has_later = shares.iter().any(|share| share.by.is_some());
    let worth = if has_later { task.worth.above_later() } else { task.worth };
    let task = Task { worth, has_plans: true, ..*task };
    let cut = Stays { state: stays.state + state, ..cut(stays, shares) };
    let done = coordinate(&task, &cut, start, staff);
    if done.is_nothing() {
        return None;
    }
    let lacks = lacks(&task, (stays, &cut), &done);
    let besides = lacks.iter().zip(shares).zip(&stays.each).map(|((lack, share), stay)| {
        (lack.missing - share.missing).max(0) as f64 / (stay.need as f64).max(1.0)
    });
    let worst = besides.fold(0.0, f64::max);
    let unmet = lacks.iter().map(|lack| lack.missing).sum();
    Some(Cut { stays: cut, done, worth, lacks, unmet, worst })
}
