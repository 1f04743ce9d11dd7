//! Column generation and primal recovery, at ever smaller gaps.
use crate::area::column_generation::incumbent::{Ended, Found, Search, Until};
use crate::area::column_generation::single_level::Rounds;
use crate::area::column_generation::subtree::Tree;
use crate::area::column_generation::two_level::Nested;
use crate::area::distributed::executor::Staff;
use crate::area::model::energy_by_slot::Settled;
use crate::area::model::sessions::Stays;
use crate::area::problem::options::AreaState;
use crate::area::recovery::totals::Total;
use crate::area::solve::recover::{is_good, order, settle_best};
use crate::area::solve::sampling::{ALONE_MAX, expected, is_loose, margin, sampled};
use crate::area::solve::subproblem::{Coordinated, Task};

/// Gaps at which plans are made where vehicles are on or off, whatever gap is asked for.
const STOPS: [f64; 6] = [1e-2, 1e-3, 5e-4, 1e-4, 1e-5, 0.0];

/// Parts of the gap asked for, for all others.
const PARTS: [f64; 4] = [0.5, 0.1, 0.01, 0.0];

/// Gap that all else in such a search goes by.
pub(crate) const PACE: f64 = 1e-3;

/// Rounds, and plans from them, until the gap of the plans is small enough.
pub(crate) fn coordinate(
    task: &Task<'_>,
    stays: &Stays,
    start: &AreaState,
    staff: &mut Staff<'_>,
) -> Coordinated {
    let has_whole = stays.has_whole();
    let until = Until { gap: if has_whole { PACE } else { task.until.gap }, ..task.until };
    let paced = &Task { until, ..*task };
    let whole = Tree::new(task.terms, stays, |_| false).filter(|_| stays.each.len() > ALONE_MAX);
    let sampled = sampled(paced, (stays, whole.as_ref()), start, staff);
    let start = sampled.as_ref().unwrap_or(start);
    let tree = whole.and_then(|_| {
        let loads = expected(task, stays, start);
        Tree::new(task.terms, stays, |top| is_loose(task.terms, &loads, top))
    });
    let asked = task.asked(stays);
    let scales = (task.money, margin(paced, stays));
    let mut rounds: Box<dyn Search + '_> = match &tree {
        Some(tree) => Box::new(Nested::new(asked, task.terms, tree, scales)),
        None => Box::new(Rounds::new(asked, task.terms, scales)),
    };
    let mut ended = rounds.begin(start, until, staff);
    let mut best: Option<(Settled, Total, f64)> = None;
    let stops: &[f64] = if has_whole { &STOPS } else { &PARTS.map(|part| task.until.gap * part) };
    for &gap in stops {
        if ended == Ended::Gap {
            let until = Until { gap, ..task.until };
            ended = rounds.run(until, staff);
        }
        if staff.is_stopped() {
            ended = Ended::Caller;
            if task.has_plans {
                return Coordinated::stopped();
            }
        }
        let settled = settle_best(task, &*rounds, asked, staff);
        if staff.is_stopped() {
            ended = Ended::Caller;
        }
        if best.as_ref().is_none_or(|best| order(task, &settled) < order(task, best)) {
            best = Some(settled);
        }
        let is_good = best.as_ref().is_some_and(|best| is_good(task, &*rounds, stays, best));
        if is_good || ended != Ended::Gap {
            break;
        }
    }
    let (settled, total, _) = best.unwrap_or_default();
    let state = rounds.found().state(&rounds.shares());
    let Found { prices, best: duals, bound, .. } = rounds.into_found();
    let rounds = prices.len();
    Coordinated { settled, prices, total, bound, duals, ended, rounds, state }
}
