//! Primal recovery: from a solution of the master to plans within every limit.
use crate::area::column_generation::incumbent::{Search, relative_gap};
use crate::area::distributed::executor::Staff;
use crate::area::model::energy_by_slot::Settled;
use crate::area::model::sessions::Stays;
use crate::area::pricing::context::Asked;
use crate::area::problem::micro_wh::{GRAINS_IGNORED, as_share};
use crate::area::recovery::plans::{Plans, Signals};
use crate::area::recovery::repair::Walk;
use crate::area::recovery::totals::{self, Total};
use crate::area::solve::subproblem::Task;

/// Plans from the mix, first of whole answers, then of the mix itself.
pub(crate) fn settle_best(
    task: &Task<'_>,
    rounds: &dyn Search,
    asked: Asked<'_>,
    staff: &mut Staff<'_>,
) -> (Settled, Total, f64) {
    let mut best: Option<(Settled, Total, f64)> = None;
    for whole_only in [true, false] {
        let found = settle_once(task, rounds, (asked, whole_only), staff);
        let is_better = best.as_ref().is_none_or(|best| order(task, &found) < order(task, best));
        let is_mixed = found.0.is_mixed.contains(&true);
        if is_better {
            best = Some(found);
        }
        let is_good = best.as_ref().is_some_and(|best| is_good(task, rounds, asked.stays, best));
        if is_good || (!whole_only && !is_mixed) || staff.is_hurried() {
            break;
        }
    }
    best.unwrap_or_default()
}

/// Needs come before money: less unmet is better, then less cost.
pub(crate) fn order(task: &Task<'_>, (_, total, value): &(Settled, Total, f64)) -> (i64, i64) {
    // Finite numbers as whole ones keep their order. Small money needs a small unit.
    let unit = 1e-6 * task.money.min(1.0);
    (total.shed / GRAINS_IGNORED, (value / unit) as i64)
}

/// Whether plans are within the gap, and nobody is short for want of rounding.
pub(crate) fn is_good(
    task: &Task<'_>,
    rounds: &dyn Search,
    stays: &Stays,
    settled: &(Settled, Total, f64),
) -> bool {
    let is_served = as_share(settled.1.shed, stays.need_kwh()) <= 1e-9;
    let is_forced = settled.1.shed_worth > 0.0 && rounds.sheds();
    rounds.found().gap(settled.2, task.until.scale) <= task.until.gap && (is_served || is_forced)
}

fn settle_once(
    task: &Task<'_>,
    rounds: &dyn Search,
    (asked, whole_only): (Asked<'_>, bool),
    staff: &mut Staff<'_>,
) -> (Settled, Total, f64) {
    let terms = task.terms;
    let mut settled = Settled::new(&asked, rounds.shares(), whole_only);
    let signals = Signals::new(&asked, terms, &settled, &rounds.found().prices);
    let sum = |settled: &Settled, staff: &mut Staff<'_>| {
        let plans = Plans { asked: &asked, settled, signals: &signals };
        totals::settled(terms, &plans, &rounds.found().prices, staff)
    };
    let best = &rounds.found().best;
    let (total, _) = sum(&settled, staff);
    let walk = Walk::new(&asked, terms, (&mut settled, &signals), &total).at(best);
    // A mix of few rounds may go without what there is room for.
    walk.repair(rounds.sheds() && !staff.is_stopped(), staff);
    let (mut total, mut value) = sum(&settled, staff);
    let soft = terms.soft(best);
    for _ in 0..3 {
        let is_near = rounds.found().gap(value, task.until.scale) <= task.until.gap;
        if is_near || staff.is_hurried() {
            break;
        }
        let before = asked.stays.has_whole().then(|| settled.anew.clone());
        let walk = Walk::new(&asked, terms, (&mut settled, &signals), &total).at(&soft);
        walk.improve(staff);
        let (next, better) = sum(&settled, staff);
        let gain = value - better;
        // One by one vehicles do not see what a peak costs them together.
        if let Some(before) = before.filter(|_| gain < 0.0) {
            settled.anew = before;
            break;
        }
        (total, value) = (next, better);
        if gain <= relative_gap(value, 0.0, task.until.scale) * 1e-6 {
            break;
        }
    }
    (settled, total, value)
}
