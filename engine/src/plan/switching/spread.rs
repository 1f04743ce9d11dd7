//! Energies of a fixed on-off pattern, by a greedy algorithm.
//!
//! ```text
//! minimise  Σ_t p_t·x_t
//! subject to  e_min_t ≤ x_t ≤ e_max_t,   Σ_{t < B_j} x_t ≥ E_j  for levels j
//! ```
//!
//! One level, the [`Ending`], also bounds the sum from above. The shortfall of a level that
//! cannot be met is as small as possible.
//!
//! With the steps fixed, the levels are nested, so the feasible energies above the least ones form
//! a polymatroid (A. Federgruen, H. Groenevelt, The greedy procedure for resource allocation
//! problems: necessary and sufficient conditions for optimality, Operations Research 34, 1986).
//! Filling the cheapest capacity before each boundary `B_j` in turn is exact, and no tolerance of a
//! solver enters.
//!
//! | Symbol | Field |
//! |---|---|
//! | `x_t` | `Spread::kwh` |
//! | `p_t`, `e_min_t`, `e_max_t` | `timeline::Step::price`, `least`, `most` (top-off: `0`, `least`) |
//! | `B_j`, `E_j` | `timeline::Level::boundary`, `kwh` |
use crate::plan::switching::timeline::{Rules, Timeline, misses_less};
use crate::tolerance::{ENERGY_SHARE_MIN, SUM_ROUNDING};

/// On-off pattern: the steps that are on, and the one that is the top-off.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pattern {
    pub(crate) on: Vec<bool>,
    pub(crate) top_off: Option<usize>,
}

/// Energies of all steps, and the shortfall of each level, in kWh.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spread {
    pub(crate) kwh: Vec<f64>,
    pub(crate) missing: Vec<f64>,
    /// Cost of the energy at the prices of the steps.
    pub(crate) cost: f64,
}

/// Level that ends the buying: at most `kwh` is bought before `boundary`, and after it only the
/// least energy of the steps that must run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ending {
    pub(crate) boundary: usize,
    pub(crate) kwh: f64,
}

/// Levels that can end the buying.
///
/// A plan buys no more than the levels want, however negative the price. If every level is
/// met, the highest one ends the buying; after a missed one, a later and lower one can. Steps
/// that must run take their least energy on top.
pub(crate) fn endings(timeline: &Timeline, rules: Rules) -> Vec<Ending> {
    let runs = timeline.first_run(rules) < timeline.len();
    let mut endings: Vec<Ending> = Vec::new();
    for level in timeline.levels.iter().rev() {
        if runs || endings.iter().all(|later| later.kwh < level.kwh) {
            endings.push(Ending { boundary: level.boundary, kwh: level.kwh });
        }
    }
    if runs || endings.is_empty() {
        endings.push(Ending { boundary: 0, kwh: 0.0 });
    }
    endings
}

/// Returns the cheapest energies of a pattern among those with the least shortfall, earliest
/// level first; `None` if the pattern exceeds the need at its least power.
pub(crate) fn spread(timeline: &Timeline, rules: Rules, pattern: &Pattern) -> Option<Spread> {
    let spreads = endings(timeline, rules)
        .into_iter()
        .filter_map(|ending| spread_until(timeline, rules, pattern, ending));
    spreads.reduce(|best, next| {
        if is_better((&next.missing, next.cost), (&best.missing, best.cost), timeline) {
            next
        } else {
            best
        }
    })
}

/// Returns true if plan `a` has less shortfall than `b` (earliest level first), or at equal
/// shortfall less cost. Each tuple is shortfall per level and cost.
pub(crate) fn is_better(a: (&[f64], f64), b: (&[f64], f64), timeline: &Timeline) -> bool {
    match misses_less(a.0, b.0, timeline) {
        Some(is_less) => is_less,
        None => a.1 < b.1,
    }
}

/// Returns the cheapest energies of a pattern with one ending; `None` if they exceed its energy.
fn spread_until(
    timeline: &Timeline,
    rules: Rules,
    pattern: &Pattern,
    ending: Ending,
) -> Option<Spread> {
    let first_run = timeline.first_run(rules);
    // Bounds per step; after the ending every step is at its least.
    let bounds: Vec<(f64, f64)> = (0..timeline.len())
        .map(|index| {
            let step = &timeline.steps[index];
            let (least, most) = match pattern.top_off {
                _ if !pattern.on[index] => (0.0, 0.0),
                Some(top_off) if top_off == index => (0.0, step.least),
                _ => (step.least, step.most),
            };
            if index < ending.boundary { (least, most) } else { (least, least) }
        })
        .collect();
    // After the ending, only steps that must run may be on.
    let is_run = |index: usize| index >= first_run;
    if (ending.boundary..timeline.len()).any(|index| bounds[index].0 > 0.0 && !is_run(index)) {
        return None;
    }
    let mut kwh: Vec<f64> = bounds.iter().map(|bound| bound.0).collect();
    let least: f64 = kwh[..ending.boundary].iter().sum();
    if least > ending.kwh * (1.0 + ENERGY_SHARE_MIN) {
        return None;
    }
    for level in timeline.levels.iter().filter(|level| level.boundary <= ending.boundary) {
        // The least energy between the level and the ending is reserved.
        let later: f64 = bounds[level.boundary..ending.boundary].iter().map(|bound| bound.0).sum();
        let wanted = level.kwh.min(ending.kwh - later);
        buy(timeline, &bounds, level.boundary, wanted, &mut kwh);
    }
    let missing = timeline.levels.iter().map(|level| {
        let missing = level.kwh - kwh[..level.boundary].iter().sum::<f64>();
        // A shortfall within rounding is none, so that such plans are compared by cost.
        if missing <= ENERGY_SHARE_MIN * level.kwh { 0.0 } else { missing }
    });
    let cost = timeline.steps.iter().zip(&kwh).map(|(step, kwh)| step.price * kwh).sum();
    Some(Spread { missing: missing.collect(), cost, kwh })
}

/// Fills the cheapest capacity before a boundary until `wanted` kWh are bought there. `bounds`
/// are least and most energy per step.
fn buy(timeline: &Timeline, bounds: &[(f64, f64)], boundary: usize, wanted: f64, kwh: &mut [f64]) {
    let mut missing = wanted - kwh[..boundary].iter().sum::<f64>();
    let mut order: Vec<usize> =
        (0..boundary).filter(|&index| bounds[index].1 > kwh[index]).collect();
    // Stable: of equal prices the earlier step is filled first.
    order.sort_by(|&a, &b| timeline.steps[a].price.total_cmp(&timeline.steps[b].price));
    for index in order {
        if missing <= wanted * SUM_ROUNDING {
            return;
        }
        let most = bounds[index].1;
        let room = most - kwh[index];
        // A step that is full within rounding holds its most itself, not a sum.
        if room <= missing * (1.0 + SUM_ROUNDING) {
            kwh[index] = most;
        } else {
            kwh[index] += missing;
        }
        missing -= room.min(missing);
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::request::{AfterDeadline, Target};
    use crate::plan::switching::timeline::tests::{STRICT, minute, timeline_of};
    use crate::units::kwh;

    /// An early and a last level, in kWh.
    fn timeline_with(cents: &[i32], (hour, early): (i64, f64), last: f64) -> Timeline {
        timeline_of(cents, last, |request| {
            request.targets.push(Target { by: Some(minute(60 * hour)), energy: kwh(early) });
        })
    }

    /// All energies of hours that are off, at 4 to 10 kWh, or up to 4 kWh as the top-off, in
    /// steps of 2 kWh.
    fn all_energies(pattern: &Pattern) -> Vec<Vec<f64>> {
        let mut all = vec![Vec::new()];
        for (hour, &is_on) in pattern.on.iter().enumerate() {
            let energies: &[f64] = if !is_on {
                &[0.0]
            } else if pattern.top_off == Some(hour) {
                &[0.0, 2.0, 4.0]
            } else {
                &[4.0, 6.0, 8.0, 10.0]
            };
            let with = |kwh: &Vec<f64>| {
                let kwh = kwh.clone();
                energies.iter().map(move |&next| [&kwh[..], &[next]].concat())
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    }

    proptest! {
        /// Levels of even numbers have a best plan of even numbers, so the grid contains one.
        #[test]
        fn no_energies_on_a_grid_are_better(
            cents in prop::collection::vec(-20..60i32, 5), mask in 1..32u32, has_top_off: bool,
            hour in 1..5i64, early in 0..25u32, last in 1..30u32,
        ) {
            let timeline = timeline_with(&cents, (hour, f64::from(2 * early)), f64::from(2 * last));
            let on: Vec<bool> = (0..5).map(|hour| mask >> hour & 1 == 1).collect();
            let top_off = has_top_off.then_some(mask.ilog2() as usize);
            let pattern = Pattern { on, top_off };
            let found = spread(&timeline, STRICT, &pattern);
            let most = timeline.levels.last().unwrap().kwh;
            let mut best: Option<(Vec<f64>, f64)> = None;
            for kwh in all_energies(&pattern) {
                if kwh.iter().sum::<f64>() > most {
                    continue;
                }
                let missing = timeline.levels.iter().map(|level| {
                    (level.kwh - kwh[..level.boundary].iter().sum::<f64>()).max(0.0)
                });
                let cost = kwh.iter().zip(&timeline.steps).map(|(kwh, step)| kwh * step.price);
                let next = (missing.collect::<Vec<f64>>(), cost.sum::<f64>());
                if best.as_ref().is_none_or(|best| next.partial_cmp(best).unwrap().is_lt()) {
                    best = Some(next);
                }
            }
            let found = found.map(|found| (found.missing, found.cost));
            prop_assert_eq!(found.as_ref().map(|one| &one.0), best.as_ref().map(|one| &one.0));
            if let (Some((_, cost)), Some((_, least))) = (&found, &best) {
                prop_assert!((cost - least).abs() < 1e-9, "{found:?}, not {best:?}");
            }
        }
    }

    #[test]
    fn an_early_level_is_bought_in_its_own_time() {
        // 6 kWh before 19:00 at 30 cents, and of the other 8 kWh all at 10 cents.
        let timeline = timeline_with(&[30, 10, 20], (1, 6.0), 14.0);
        let pattern = Pattern { on: vec![true, true, false], top_off: None };
        let found = spread(&timeline, STRICT, &pattern).unwrap();
        assert_eq!((found.kwh, found.missing), (vec![6.0, 8.0, 0.0], vec![0.0, 0.0]));
        assert!((found.cost - 2.6).abs() < 1e-9);
    }

    #[test]
    fn a_missed_level_that_is_over_lets_a_later_one_end_the_buying() {
        let timeline = |after_deadline| {
            timeline_of(&[30, 10, 20], 14.0, |request| {
                request.targets.push(Target { by: Some(minute(60)), energy: kwh(16.0) });
                request.after_deadline = after_deadline;
            })
        };
        let ends = |timeline: &Timeline| {
            let all = endings(timeline, STRICT);
            all.iter().map(|ending| (ending.boundary, ending.kwh)).collect::<Vec<_>>()
        };
        assert_eq!(ends(&timeline(AfterDeadline::Continue)), [(3, 16.0)]);
        assert_eq!(ends(&timeline(AfterDeadline::Stop)), [(3, 14.0), (1, 16.0)]);
        // 10 of 16 kWh before 19:00. Then 4 more make the 14 kWh of the end.
        let pattern = Pattern { on: vec![true, true, false], top_off: None };
        let found = spread(&timeline(AfterDeadline::Stop), STRICT, &pattern).unwrap();
        assert_eq!((found.kwh, found.missing), (vec![10.0, 4.0, 0.0], vec![6.0, 0.0]));
    }

    #[test]
    fn the_least_of_a_pattern_is_at_most_what_is_wanted() {
        let timeline = timeline_of(&[10, 20, 30], 3.0, |_| {});
        let pattern = |top_off| Pattern { on: vec![true, false, false], top_off };
        assert_eq!(spread(&timeline, STRICT, &pattern(None)), None);
        let found = spread(&timeline, STRICT, &pattern(Some(0))).unwrap();
        assert_eq!((found.kwh, found.missing), (vec![3.0, 0.0, 0.0], vec![0.0]));
        // Time that must be run takes its least energy all the same.
        let timeline = timeline_of(&[10, 20, 30], 3.0, |request| {
            request.run_last = TimeDelta::hours(1);
        });
        let last = Pattern { on: vec![false, false, true], top_off: None };
        let found = spread(&timeline, STRICT, &last).unwrap();
        assert_eq!((found.kwh, found.missing), (vec![0.0, 0.0, 4.0], vec![0.0]));
    }

    #[test]
    fn less_missing_is_better_and_then_less_cost() {
        let timeline = timeline_with(&[30, 10, 20], (1, 6.0), 14.0);
        assert!(is_better((&[0.0, 3.0], 9.0), (&[1.0, 0.0], 1.0), &timeline));
        assert!(is_better((&[1.0, 0.0], 1.0), (&[1.0, 0.0], 2.0), &timeline));
        assert!(!is_better((&[1.0, 0.0], 2.0), (&[1.0, 0.0], 2.0), &timeline));
    }
}
