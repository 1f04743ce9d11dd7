//! Are area plans within their gap, their limits and their needs?
//!
//! Small random areas are stated once more as one linear programme over all
//! vehicles and slots, and solved by HiGHS. The engine's rounds share nothing
//! with it but the request. `ORACLE_SCALE=10` tries ten times as many.
mod area;
#[path = "../examples.rs"]
mod examples;
mod golden;
mod golden_batch;
mod golden_json;
mod golden_shared;
mod golden_watched;
mod heat;
mod judge;
mod on_off;
mod scenarios;
mod workers;

use area::{Area, Planned};
use std::collections::VecDeque;
use std::ops::ControlFlow;

use slackwater_engine::area::Status;
use slackwater_engine::area::{AreaOptions, AreaPlan, Hooks, plan_area, plan_area_with};
use slackwater_engine::area::{Progress, RoundStore, SavedRound, WarmStart};

const AREAS: u64 = 200;

fn scale() -> u64 {
    std::env::var("ORACLE_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// What the judge counted.
#[derive(Default)]
struct Census {
    short: u32,
    proved: u32,
    sold: f64,
    /// Vehicles that want more than their charge limit allows.
    above_limit: usize,
    /// Energy that goes unmet in all areas, and the least of it.
    unmet: f64,
    least: f64,
}

impl Census {
    /// In all areas together hardly more goes unmet than must.
    fn is_least(&self) {
        assert!(self.least > 100.0, "{} kWh must go unmet: too little to judge", self.least);
        assert!(self.unmet <= self.least * 1.001, "{} of {} kWh", self.unmet, self.least);
    }
}

/// Every limit holds, every need is met or unmet by name, the bound is below
/// the optimum, and the cost within the gap of it.
fn judge_area(area: &Area, seed: u64, census: &mut Census) {
    let plan = area.plan(&AreaOptions::default());
    let served = judge::keeps_its_word(area, &plan, seed);
    let plan = plan.plan;
    // A reserve comes before what is needed later, but being late for it is not unmet.
    let least = judge::least_unmet(area, true);
    let least_without = judge::least_unmet(area, false);
    let unmet: f64 = served.iter().map(|served| served.unmet).sum();
    let need: f64 = area.needs().iter().sum();
    assert!(unmet >= least_without - 1e-4, "area {seed}: {unmet} unmet, least {least_without}");
    // The programme chops vehicles that are on or off, so it needs less room.
    if !area.has_whole() {
        assert!(unmet <= least + 2e-3 * need + 1e-4, "area {seed}: {unmet} unmet, least {least}");
        census.unmet += unmet;
        census.least += least;
    }
    census.short += u32::from(least > 1e-3);
    census.sold += plan.discharged_kwh;
    let limits = area.more.iter().flat_map(|more| &more.limit);
    census.above_limit += limits.filter(|limit| !limit.is_nan()).count();
    let optimum = judge::least_cost(area, &served);
    let money = plan.unmanaged.cost.abs().max(plan.bound.abs());
    let slack = 1e-6 * money.max(1.0);
    assert!(plan.cost >= optimum - slack, "area {seed}: cost {} below {optimum}", plan.cost);
    let (bound, gap) = (plan.bound, plan.gap * money);
    let agrees = |optimum: f64| bound <= optimum + slack && plan.cost <= optimum + gap + slack;
    assert!(
        agrees(optimum) || agrees(judge::least_cost_at_least(area, &served)),
        "area {seed}: optimum {optimum}, bound {bound}, cost {} within {gap}",
        plan.cost
    );
    census.proved += u32::from(plan.status == Status::Gap);
}

#[test]
fn small_areas_agree_with_one_programme() {
    let mut census = Census::default();
    for seed in 0..AREAS * scale() {
        judge_area(&Area::random(seed), seed, &mut census);
    }
    census.is_least();
    // The areas are worth judging: some short, nearly all proved.
    assert!(census.short >= 10, "{} areas are short of energy", census.short);
    assert!(u64::from(census.proved) >= AREAS * scale() * 9 / 10, "{} gaps proved", census.proved);
}

/// Branches with programmes of their own come to what one programme says.
#[test]
fn areas_of_many_branches_agree_with_one_programme() {
    let mut census = Census::default();
    for seed in 0..AREAS / 8 * scale() {
        judge_area(&Area::branched(seed), seed, &mut census);
    }
    census.is_least();
    assert!(census.short >= 3, "{} areas are short of energy", census.short);
    // Where energy is short, the gap that is left comes from whole answers.
    assert!(u64::from(census.proved) >= AREAS / 8 * scale() * 3 / 4, "{} proved", census.proved);
}

/// Where each vehicle has prices of its own, an ascent on the dual comes before the columns.
#[test]
fn areas_with_prices_of_each_vehicle_agree_with_one_programme() {
    let mut census = Census::default();
    for seed in 0..AREAS / 8 * scale() {
        judge_area(&Area::own_curves(seed), seed, &mut census);
    }
    census.is_least();
    assert!(census.short >= 3, "{} areas are short of energy", census.short);
    assert!(u64::from(census.proved) >= AREAS / 8 * scale() * 9 / 10, "{} proved", census.proved);
}

#[test]
fn areas_with_export_reserves_and_deadlines_agree_with_one_programme() {
    let mut census = Census::default();
    for seed in 0..AREAS * scale() {
        judge_area(&Area::mixed(seed, false), seed, &mut census);
    }
    census.is_least();
    assert!(census.sold > 1_000.0, "{} kWh are sold", census.sold);
    assert!(census.above_limit > 100, "{} want more than their limit", census.above_limit);
    assert!(u64::from(census.proved) >= AREAS * scale() / 2, "{} gaps proved", census.proved);
}

/// Where selling pays more than buying costs, nobody does both at once, and
/// what was promised is kept.
#[test]
fn wild_prices_break_no_promise() {
    for seed in 0..AREAS * scale() / 4 {
        let area = Area::mixed(seed, true);
        let planned = area.plan(&AreaOptions { gap: 1e-2, max_rounds: 60, start: None });
        judge::keeps_its_word(&area, &planned, seed);
        assert!(planned.plan.bound <= planned.plan.cost, "area {seed}");
    }
}

#[test]
fn one_two_or_eight_threads_give_the_same_bytes() {
    // In areas of many branches the programmes of these are solved side by side, too.
    let areas = [3, 5, 11].map(Area::random).into_iter().chain([4, 9].map(Area::branched));
    let areas = areas.chain([2, 6].map(Area::own_curves));
    for (number, area) in areas.enumerate() {
        let planned = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| area.plan(&AreaOptions::default()).bytes())
        };
        let one = planned(1);
        assert!(one == planned(2) && one == planned(8), "area {number}");
    }
}

#[test]
fn stop_ends_the_rounds_and_says_so() {
    let area =
        (0..100).map(Area::random).find(|area| area.plan(&AreaOptions::default()).plan.rounds > 5);
    let area = area.unwrap();
    let (problem, mut calls) = (area.problem(), 0);
    let mut observer = |progress: &Progress| {
        calls += 1;
        if progress.round >= 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = AreaOptions { gap: 0.0, ..AreaOptions::default() };
    let plan = plan_area_with(&problem, &options, Hooks::new(&mut observer));
    assert_eq!((plan.status, plan.reproducible), (Status::Stopped, false));
    assert!(calls <= 3 && plan.gap > 0.0);
}

/// Prices of an earlier plan change nothing that is proved, and cost no more
/// rounds than a start from nothing, but for two or three where there are few.
#[test]
fn earlier_prices_save_rounds() {
    let (mut cold, mut warm) = (0, 0);
    for seed in 0..40 {
        let area = Area::random(seed);
        let first = area.plan(&AreaOptions::default()).plan;
        let start = Some(first.state.clone());
        let again = area.plan(&AreaOptions { start, ..AreaOptions::default() }).plan;
        cold += first.rounds;
        warm += again.rounds;
        assert!(
            again.gap <= first.gap.max(1e-3) + 1e-9,
            "area {seed}: {} then {}",
            first.gap,
            again.gap
        );
        assert!(
            again.rounds <= first.rounds + 3,
            "area {seed}: {} then {}",
            first.rounds,
            again.rounds
        );
    }
    assert!(warm < cold, "{warm} rounds after {cold}");
}

/// No duals to start from make a bound that a plan undercuts, also in slots without a limit.
#[test]
fn the_bound_holds_from_any_start() {
    let mut judged = 0;
    for seed in 0..60 {
        let area = Area::random(seed);
        let cold = area.plan(&AreaOptions::default()).plan;
        if cold.unmet_kwh > 0.0 {
            continue;
        }
        // One dual alone in each round: where it has no limit, it must count as zero.
        let cells = cold.duals_per_kwh().len();
        let one = |at: usize| (0..cells).map(|cell| if cell == at { 0.5 } else { 0.0 }).collect();
        let rounds_per_kwh = (0..cells).map(one).collect();
        let start = Some(WarmStart { duals_per_kwh: vec![0.5; cells], rounds_per_kwh });
        let warm = area.plan(&AreaOptions { start, ..AreaOptions::default() }).plan;
        let slack = 1e-6 * cold.unmanaged.cost.abs().max(1.0);
        let cost = cold.cost.min(warm.cost);
        assert!(warm.bound <= cost + slack, "area {seed}: bound {} of {cost}", warm.bound);
        judged += 1;
    }
    assert!(judged >= 30, "{judged} areas without a shortage");
}

/// Store of rounds that keeps those it is given apart from those it knows.
struct Notes {
    kept: Vec<SavedRound>,
    known: VecDeque<SavedRound>,
}

impl Notes {
    fn new(known: &[SavedRound]) -> Self {
        Self { kept: vec![], known: known.iter().cloned().collect() }
    }
}

/// Plan of an area whose rounds go to a store.
fn plan_storing(area: &Area, store: &mut dyn RoundStore) -> AreaPlan {
    let mut to_the_end = |_: &Progress| ControlFlow::Continue(());
    let hooks = Hooks { store: Some(store), ..Hooks::new(&mut to_the_end) };
    plan_area_with(&area.problem(), &AreaOptions::default(), hooks)
}

impl RoundStore for Notes {
    fn recall(&mut self) -> Option<SavedRound> {
        self.known.pop_front()
    }

    fn save(&mut self, answered: &SavedRound) {
        self.kept.push(answered.clone());
    }
}

/// Work that was cut off asks only what was not answered, and comes to the same bytes.
#[test]
fn what_was_answered_is_not_asked_again() {
    for seed in [3, 5, 11, 12, 19] {
        let is_branched = seed % 2 == 0;
        let area = if is_branched { Area::branched(seed) } else { Area::mixed(seed, false) };
        let problem = area.problem();
        let options = AreaOptions::default();
        let run = |known: &[SavedRound]| {
            let mut notes = Notes::new(known);
            let plan = plan_storing(&area, &mut notes);
            (Planned::new(&problem, plan).bytes(), notes.kept)
        };
        let (whole, asked) = run(&[]);
        let (again, more) = run(&asked[..asked.len() - 1]);
        assert!(whole == again && more.len() == 1, "area {seed}: asked {} more", more.len());
        let (again, more) = run(&asked);
        assert!(whole == again && more.is_empty(), "area {seed}");
        // What is remembered of another area is asked again.
        let other = Area::mixed(seed + 1, false);
        let plan = plan_storing(&other, &mut Notes::new(&asked[1..]));
        assert!(Planned::new(&other.problem(), plan).bytes() == other.plan(&options).bytes());
    }
}

/// Somebody who recalls answers that no programme takes, from a question on.
struct Spoilt {
    answers: Vec<SavedRound>,
    asked: usize,
    good: usize,
}

impl RoundStore for Spoilt {
    fn save(&mut self, _: &SavedRound) {}

    fn recall(&mut self) -> Option<SavedRound> {
        let mut answer = self.answers.get(self.asked)?.clone();
        if self.asked >= self.good {
            answer.groups.iter_mut().for_each(|group| group.cost = f64::MIN);
        }
        self.asked += 1;
        Some(answer)
    }
}

/// A solver that fails at once, or on the way, leaves a plan within all limits,
/// whose status says so.
#[test]
fn a_failure_of_the_solver_is_a_status_of_its_own() {
    for (seed, good) in [(3, 0), (3, 1), (5, 0), (4, 0), (4, 2)] {
        let area = if seed == 4 { Area::branched(seed) } else { Area::random(seed) };
        let problem = area.problem();
        let mut notes = Notes::new(&[]);
        drop(plan_storing(&area, &mut notes));
        let mut spoilt = Spoilt { answers: notes.kept, asked: 0, good };
        let plan = plan_storing(&area, &mut spoilt);
        assert_eq!(plan.status, Status::Failed, "area {seed} after {good} answers");
        assert!(plan.bound <= plan.cost && plan.gap >= 0.0, "area {seed}: gap {}", plan.gap);
        judge::keeps_its_word(&area, &Planned::new(&problem, plan), seed);
    }
}

/// With a budget a new plan moves less than the cheapest, within the budget
/// and all limits; with none it moves no more than that.
#[test]
fn a_budget_keeps_vehicles_where_they_were() {
    let (mut free, mut kept) = (0.0, 0.0);
    for seed in 0..40 {
        let area = Area::mixed(seed, false);
        let told = area.plan(&AreaOptions::default());
        let mut dearer = Area::mixed(seed, false);
        dearer.change_prices(seed);
        let problem = dearer.problem();
        let options = AreaOptions::default();
        let cheapest = plan_area(&problem, &options);
        let previous = &told.rows.intervals;
        let before = cheapest.cost;
        let scale = before.abs().max(1.0);
        for part in [0.0, 0.02, 1e6] {
            let budget = part * scale;
            let (near, change) =
                cheapest.clone().replan_close_to(&problem, previous, budget).unwrap();
            assert!(near.cost <= before + budget + 1e-6 * scale, "area {seed}: {}", near.cost);
            assert!(change.moved_kwh <= change.cheapest_kwh + 1e-6, "area {seed}");
            assert!((near.unmet_kwh - cheapest.unmet_kwh).abs() < 1e-9, "area {seed}");
            judge::keeps_its_word(&dearer, &Planned::new(&problem, near), seed);
            if part > 1.0 {
                (free, kept) = (free + change.cheapest_kwh, kept + change.moved_kwh);
            }
        }
    }
    assert!(kept < free / 4.0, "{kept} kWh moved, {free} without a budget");
}

/// Two alike, half the room: each goes without half. With twice the priority
/// one goes without a third, the other without two thirds.
#[test]
fn a_shortage_is_shared_equally_or_by_priority() {
    let equal = Area::two_alike([1.0, 1.0]).plan(&AreaOptions::default());
    assert!(
        (equal.row_energy(0) - 10.0).abs() < 1e-3 && (equal.row_energy(1) - 10.0).abs() < 1e-3,
        "{:?}",
        equal.plan.unmet
    );
    let weighed = Area::two_alike([2.0, 1.0]).plan(&AreaOptions::default());
    assert!((weighed.row_energy(0) - 40.0 / 3.0).abs() < 1e-3, "{:?}", weighed.plan.unmet);
    assert!(weighed.plan.unmet.iter().all(|unmet| unmet.node == Some(0)));
}
