//! Sharing a shortage: first as little of it as possible, then equal shares.
//!
//! Energy is free here, and each tenth of a need is worth more the more of the
//! need has been shed already. The least worth is shed when as little as
//! possible goes unmet and no vehicle bears much more than another that could
//! take its place. Vehicles of one node that miss one deadline then share what
//! they bear. What is missed at a deadline before departure may come later.
use crate::area::column_generation::incumbent::{Ended, Until, relative_gap};
use crate::area::distributed::executor::Staff;
use crate::area::model::deadlines::Wishes;
use crate::area::model::energy_by_slot::Settled;
use crate::area::model::sessions::Stays;
use crate::area::pricing::effective_prices::Worth;
use crate::area::problem::micro_wh::{GRAINS_IGNORED, as_kwh};
use crate::area::problem::options::AreaState;
use crate::area::recovery::plans::{Plans, Signals};
use crate::area::recovery::totals::{self, value_of};
use crate::area::shortage::measure::{Lack, cut, equal_shares, lacks};
use crate::area::shortage::mixed_integer::{self, Exact};
use crate::area::solve::solve_subproblem::coordinate;
use crate::area::solve::subproblem::{Coordinated, Task};

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

/// Plans of an area where vehicles are on or off, and the energy in kWh that limits
/// withhold in any plan: exact where the area is small.
pub(crate) fn share_whole(
    task: &Task<'_>,
    stays: &Stays,
    (first, is_short): (Coordinated, bool),
    staff: &mut Staff<'_>,
) -> (Shared, Option<f64>) {
    let gap = relative_gap(value_of(task.terms, &first.total), first.bound, task.until.scale);
    if first.total.shed == 0 && gap <= task.until.gap {
        return (Shared { stays: stays.clone(), done: first, worth: task.worth }, Some(0.0));
    }
    if let Some(exact) = mixed_integer::search(task, stays, staff) {
        let least_kwh = exact.least_kwh;
        return (follow(task, stays, (first, exact), staff), Some(least_kwh));
    }
    if !is_short {
        return (Shared { stays: stays.clone(), done: first, worth: task.worth }, Some(0.0));
    }
    let least_kwh = least_in_parts(task, stays, staff);
    (share(task, stays, first, staff), Some(least_kwh))
}

/// The plans of an exact search, with prices of limits, or better ones found on the way.
fn follow(
    task: &Task<'_>,
    stays: &Stays,
    (first, exact): (Coordinated, Exact),
    staff: &mut Staff<'_>,
) -> Shared {
    let start = AreaState { rounds_per_kwh: Vec::new(), ..first.state.clone() };
    let is_cut = exact.lacks.iter().any(|lack| lack.missing > GRAINS_IGNORED);
    let (now, mut done, worth) = if is_cut {
        match plan_with(task, (stays, 1), &exact.lacks, &start, staff) {
            Some(cut) => (cut.stays, cut.done, cut.worth),
            None => return Shared::stopped(task, stays, first),
        }
    } else {
        (stays.clone(), first, task.worth)
    };
    let task = Task { worth, ..*task };
    let asked = task.asked(&now);
    let settled = Settled::of_plans(now.groups, exact.plans);
    let signals = Signals::new(&asked, task.terms, &settled, &done.prices);
    let plans = Plans { asked: &asked, settled: &settled, signals: &signals };
    let (total, value) = totals::settled(task.terms, &plans, &done.prices, staff);
    let (shed, found) = (done.total.shed / GRAINS_IGNORED, value_of(task.terms, &done.total));
    if (total.shed / GRAINS_IGNORED, value) <= (shed, found) {
        (done.settled, done.total) = (settled, total);
    }
    if staff.is_stopped() {
        done.ended = Ended::Caller;
    }
    Shared { stays: now, done, worth }
}

/// Energy in kWh that limits would withhold if vehicles could take parts of slots.
fn least_in_parts(task: &Task<'_>, stays: &Stays, staff: &mut Staff<'_>) -> f64 {
    if !stays.stores.is_empty() {
        // Their levels are rounded, and their reserves may come later: nothing is proved.
        return 0.0;
    }
    let mut stays = Stays { state: stays.state + 4, ..stays.clone() };
    let needs: Vec<Wishes> = stays.wishes.iter().map(Wishes::without_reserve).collect();
    stays.wishes = needs;
    let until = Until { gap: 1e-4, scale: stays.need_kwh(), ..task.until };
    let free = Task {
        terms: &task.terms.hard(),
        worth: Worth { base: 1.0, step: 0.0, tiers: 1 },
        is_free: true,
        until,
        money: stays.need_kwh(),
        has_plans: true,
        ..*task
    };
    let least = coordinate(&free, &stays, &AreaState::default(), staff).bound;
    (least - 1e-6 * stays.need_kwh()).max(0.0)
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
