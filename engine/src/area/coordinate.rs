//! Plans for all vehicles of an area, within what they share.
//!
//! The rounds find a mix of answers and a bound (`rounds`), the mix becomes a
//! plan for each vehicle (`settle`, `repair`), and the gap that is reported is
//! that of the finished plans. Where limits leave less than all needs, the
//! shortage is shared first (`share`), and then the least cost is found for what
//! is left.
use serde::{Deserialize, Serialize};

use crate::area::asked::Asked;
use crate::area::grains::{GRAINS_IGNORED, as_kwh};
use crate::area::hear::Ear;
use crate::area::nested::Nested;
use crate::area::outcome::AreaPlan;
use crate::area::problem::AreaProblem;
use crate::area::repair::Walk;
use crate::area::rounds::{Ended, Found, Rounds, Search, Until, relative_gap};
use crate::area::settle::{Plans, Settled, Signals, Total};
use crate::area::signal::Worth;
use crate::area::staff::Staff;
use crate::area::stays::{Stays, shares_curves};
use crate::area::terms::{Kind, Terms};
use crate::area::tree::Tree;
use crate::area::watch::{Progress, Stop, Watch};
use crate::area::{exact, outcome, settle, share, sums, wishes};

/// Groups up to which each vehicle is one of its own.
const ALONE_MAX: usize = 192;

/// Groups of a larger fleet.
const GROUPS: usize = 8;

/// Vehicles of the sample on which prices of a large fleet are found first.
const SAMPLE: usize = 8_192;

/// How much larger the next sample is: fewer rounds of the whole fleet are left after it.
const SAMPLE_STEP: usize = 8;

/// Part of its limits that a loose node uses at most.
const LOOSE: f64 = 0.8;

/// Gaps at which plans are made where vehicles are on or off, whatever gap is asked for.
const STOPS: [f64; 6] = [1e-2, 1e-3, 5e-4, 1e-4, 1e-5, 0.0];

/// Parts of the gap asked for, for all others.
const PARTS: [f64; 4] = [0.5, 0.1, 0.01, 0.0];

/// Gap that all else in such a search goes by.
const PACE: f64 = 1e-3;

/// Times that all is planned anew because levels come later than wanted.
const LATE_MAX: usize = 8;

/// How hard to try.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AreaOptions {
    /// Gap at which to end, in proportion to the cost; 1e-3 is 0.1 %.
    pub gap: f64,
    /// Rounds after which to end in any case.
    pub max_rounds: usize,
    /// Prices to begin with, those of an earlier plan of the same area.
    pub start: Option<AreaState>,
}

impl Default for AreaOptions {
    fn default() -> Self {
        Self { gap: 1e-3, max_rounds: 500, start: None }
    }
}

/// What one plan of an area hands on to the next: the price that each limit
/// puts on each slot. It serialises, so that it can be kept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AreaState {
    /// Prices per kWh, limit by limit and slot by slot.
    pub duals_per_kwh: Vec<f64>,
    /// Further prices whose answers are worth asking for at once.
    pub rounds_per_kwh: Vec<Vec<f64>>,
}

impl AreaState {
    /// The prices that a problem of so many limits and slots can begin with, the
    /// last ones first, each brought into the range of what its limit allows.
    pub(crate) fn prices_for(&self, cells: usize, terms: &Terms) -> impl Iterator<Item = Vec<f64>> {
        let fits = move |duals: &&Vec<f64>| {
            cells > 0 && duals.len() == cells && duals.iter().all(|dual| dual.is_finite())
        };
        let others = self.rounds_per_kwh.iter().filter(|duals| **duals != self.duals_per_kwh);
        std::iter::once(&self.duals_per_kwh).chain(others).filter(fits).map(move |duals| {
            let mut duals = duals.clone();
            terms.clamp(&mut duals);
            duals
        })
    }
}

/// What coordination came to.
pub(crate) struct Coordinated {
    pub(crate) settled: Settled,
    pub(crate) prices: Vec<Vec<f64>>,
    pub(crate) total: Total,
    pub(crate) bound: f64,
    pub(crate) duals: Vec<f64>,
    pub(crate) ended: Ended,
    pub(crate) rounds: usize,
    pub(crate) state: AreaState,
}

impl Coordinated {
    /// What there is where the work was stopped, and there are plans already.
    fn stopped() -> Self {
        Self {
            settled: Settled::default(),
            prices: Vec::new(),
            total: Total::default(),
            bound: f64::NEG_INFINITY,
            duals: Vec::new(),
            ended: Ended::Caller,
            rounds: 0,
            state: AreaState::default(),
        }
    }

    /// Whether there are no plans.
    pub(crate) fn is_nothing(&self) -> bool {
        self.prices.is_empty()
    }
}

/// What to coordinate, and how.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) problem: &'a AreaProblem<'a>,
    pub(crate) terms: &'a Terms,
    pub(crate) worth: Worth,
    pub(crate) is_free: bool,
    pub(crate) until: Until,
    /// Money of the right size, to scale by.
    pub(crate) money: f64,
    /// Whether there are plans already, for whoever stops the work.
    pub(crate) has_plans: bool,
}

impl<'a> Task<'a> {
    /// Who is asked, and in what money.
    pub(crate) fn asked<'s>(&self, stays: &'s Stays) -> Asked<'s>
    where
        'a: 's,
    {
        let (curves, export) = (self.problem.curves, self.problem.export());
        Asked { curves, export, stays, worth: self.worth, is_free: self.is_free }
    }
}

/// Plans an area.
///
/// Every need is met unless limits forbid it, every hard limit holds, and the
/// cost is within `gap` of a bound that no plan can undercut, unless the rounds
/// end before. `stop` is called once in every round and ends the work when it
/// says so; the plan is then the best so far. Same input, same bytes out, on
/// any number of threads, unless `stop` cut it short.
///
/// Where limits leave less than the needs together, as little as possible goes
/// unmet, and vehicles of one node that miss the same deadline, mostly their
/// departure, bear it in equal shares of their needs, divided by their priorities.
///
/// A round is linear in vehicles and slots.
#[must_use]
pub fn plan_area(
    problem: &AreaProblem<'_>,
    options: &AreaOptions,
    stop: &mut dyn FnMut(&Progress) -> bool,
) -> AreaPlan {
    plan_area_watched(problem, options, &mut Stop(stop))
}

/// The same with somebody who watches, and may remember what was answered.
#[must_use]
pub fn plan_area_watched(
    problem: &AreaProblem<'_>,
    options: &AreaOptions,
    watch: &mut dyn Watch,
) -> AreaPlan {
    let count = problem.vehicles.fleet.len();
    let groups = if count <= ALONE_MAX { count.max(1) } else { GROUPS };
    let stays = Stays::new(problem, groups);
    let staff = &mut Staff::new(watch, &stays);
    let terms = Terms::new(problem);
    let worth = Worth { base: terms.worth, step: 0.0, tiers: 1 };
    let unmanaged = outcome::unmanaged(problem, (&stays, worth), &terms, staff);
    let until = Until { gap: options.gap, rounds: options.max_rounds, scale: unmanaged.cost };
    let money = unmanaged.cost.abs().max(stays.need_kwh() * terms.worth * 1e-2).max(1e-9);
    let mut task =
        Task { problem, terms: &terms, worth, is_free: false, until, money, has_plans: false };
    let start = options.start.clone().unwrap_or_default();
    let has_many = stays.has_whole() && !exact::is_small(&task, &stays);
    let is_other = options.gap.total_cmp(&PACE).is_ne();
    let whole = (has_many && is_other).then(|| stays.clone());
    let first = coordinate(&task, &stays, &start, staff);
    let (mut stays, mut first) = later(&task, stays, first, staff);
    let is_short = |first: &Coordinated, stays: &Stays| {
        first.ended != Ended::Caller && as_share(first.total.shed, stays.need_kwh()) > 1e-6
    };
    if let Some(whole) = whole.filter(|_| is_short(&first, &stays)) {
        // Shares depend on the plans before them: those of one gap.
        task.until.gap = PACE;
        let again = Task { has_plans: true, ..task };
        let found = coordinate(&again, &whole, &start, staff);
        if found.is_nothing() {
            first.ended = Ended::Caller;
        } else {
            (stays, first) = later(&task, whole, found, staff);
        }
    }
    let is_short = is_short(&first, &stays);
    let is_stopped = first.ended == Ended::Caller;
    let (shared, least_kwh) = if stays.has_whole() && !is_stopped {
        share::share_whole(&task, &stays, (first, is_short), staff)
    } else if !is_short || is_stopped {
        return outcome::finish(&task, (stays, None, None), first, unmanaged, staff);
    } else {
        (share::share(&task, &stays, first, staff), None)
    };
    let task = Task { worth: shared.worth, until, ..task };
    outcome::finish(&task, (shared.stays, Some(&stays), least_kwh), shared.done, unmanaged, staff)
}

/// Plans where reserves that limits leave no room for come later.
fn later(
    task: &Task<'_>,
    mut stays: Stays,
    mut first: Coordinated,
    staff: &mut Staff<'_>,
) -> (Stays, Coordinated) {
    let may_be_late = !stays.wishes.is_empty() || !stays.stores.is_empty();
    let mut times_late = 0;
    while may_be_late && first.ended != Ended::Caller {
        let mut next = stays.clone();
        let is_late =
            times_late < LATE_MAX && wishes::postpone(task, &mut next, &first, times_late == 0);
        times_late += usize::from(is_late);
        if !settle::postpone_reserves(task, &mut next, &first) && !is_late {
            break;
        }
        let start = AreaState { rounds_per_kwh: Vec::new(), ..first.state.clone() };
        let done = coordinate(&Task { has_plans: true, ..*task }, &next, &start, staff);
        if done.is_nothing() {
            first.ended = Ended::Caller;
        } else {
            (stays, first) = (next, done);
        }
    }
    (stays, first)
}

fn as_share(grains: i64, need_kwh: f64) -> f64 {
    crate::area::grains::as_kwh(grains) / need_kwh.max(1e-9)
}

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

/// The part of hard limits that the mix leaves alone: whole answers of many
/// vehicles do not add up to it exactly, and need room to be put right.
fn margin(task: &Task<'_>, stays: &Stays) -> f64 {
    if stays.each.len() <= ALONE_MAX { 0.0 } else { (0.1 * task.until.gap).min(1e-4) }
}

/// Prices found on a sample of a large fleet, to begin with; on a larger one after
/// that, where the fleet is larger still.
fn sampled(
    task: &Task<'_>,
    (stays, tree): (&Stays, Option<&Tree>),
    start: &AreaState,
    staff: &mut Staff<'_>,
) -> Option<AreaState> {
    let count = stays.each.len();
    if count < 4 * SAMPLE || !start.duals_per_kwh.is_empty() {
        return None;
    }
    // Without prices to begin with, plans take longer than this does.
    let mut state =
        staff.patiently(|staff| sampled_once(task, (stays, tree), (SAMPLE, start), staff));
    let mut size = SAMPLE * SAMPLE_STEP;
    while count >= 4 * size && !staff.is_stopped() {
        state = sampled_once(task, (stays, tree), (size, &state), staff);
        size *= SAMPLE_STEP;
    }
    if let Some(tree) = tree {
        let slots = task.terms.slots();
        let cells = task.terms.each.len() * slots;
        for duals in std::iter::once(&mut state.duals_per_kwh).chain(&mut state.rounds_per_kwh) {
            *duals = tree.spread_out(duals, cells, slots);
        }
    }
    Some(state)
}

/// Prices found on a sample, of wide limits only where there are branches.
fn sampled_once(
    task: &Task<'_>,
    (stays, tree): (&Stays, Option<&Tree>),
    (size, start): (usize, &AreaState),
    staff: &mut Staff<'_>,
) -> AreaState {
    let by_curve = shares_curves(task.problem, stays.each.len());
    let sample =
        stays.sample(size, tree.map_or((stays.groups, true), |_| (GROUPS, false)), by_curve);
    let part = sample.need_kwh() / stays.need_kwh().max(1e-9);
    // Of each branch the sample has too few to tell its prices.
    let terms = tree.map_or(task.terms, |tree| &tree.wide).scaled(part);
    let asked = task.asked(&sample);
    let mut rounds = Rounds::new(asked, &terms, (task.money * part, margin(task, stays)));
    let until = Until { gap: task.until.gap * 0.1, scale: task.until.scale * part, ..task.until };
    rounds.begin(start, until, staff);
    rounds.run(until, staff);
    rounds.found().state(&rounds.shares())
}

/// Loads to be expected in the nodes, from what some vehicles do at the prices of
/// a plan; none where all can be asked as well.
fn expected(task: &Task<'_>, stays: &Stays, state: &AreaState) -> Vec<Vec<f64>> {
    let count = stays.each.len();
    let rounds = &state.rounds_per_kwh;
    if count < 4 * SAMPLE || rounds.is_empty() {
        return Vec::new();
    }
    let sample = stays.sample(SAMPLE, (GROUPS, true), shares_curves(task.problem, count));
    let asked = task.asked(&sample);
    let ear = Ear::new(asked, task.terms);
    let needs = |stays: &Stays| {
        let mut needs = vec![0.0; task.terms.by_node.len()];
        for stay in &stays.each {
            for &node in &task.terms.paths[stay.node as usize] {
                needs[node as usize] += as_kwh(stay.need);
            }
        }
        needs
    };
    let (all, some) = (needs(stays), needs(&sample));
    let mut loads: Vec<Vec<f64>> = vec![Vec::new(); all.len()];
    for duals in rounds {
        for (node, load) in ear.answers(duals).loads.into_iter().enumerate() {
            let scale = all[node] / some[node].max(1e-9) / rounds.len() as f64;
            loads[node].resize(load.len(), 0.0);
            loads[node].iter_mut().zip(load).for_each(|(sum, load)| *sum += load * scale);
        }
    }
    loads
}

/// Whether a node is expected to stay well below its limits.
fn is_loose(terms: &Terms, loads: &[Vec<f64>], node: u32) -> bool {
    let Some(load) = loads.get(node as usize) else { return false };
    terms.by_node[node as usize].iter().all(|&term| {
        let term = &terms.each[term];
        let mut slots = load.iter().zip(&term.bounds);
        !matches!(term.kind, Kind::Square(_))
            && slots.all(|(load, bound)| term.sign * load <= LOOSE * bound)
    })
}

/// Plans from the mix, first of whole answers, then of the mix itself.
fn settle_best(
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
fn order(task: &Task<'_>, (_, total, value): &(Settled, Total, f64)) -> (i64, i64) {
    // Finite numbers as whole ones keep their order. Small money needs a small unit.
    let unit = 1e-6 * task.money.min(1.0);
    (total.shed / GRAINS_IGNORED, (value / unit) as i64)
}

/// Whether plans are within the gap, and nobody is short for want of rounding.
fn is_good(
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
        sums::settled(terms, &plans, &rounds.found().prices, staff)
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
