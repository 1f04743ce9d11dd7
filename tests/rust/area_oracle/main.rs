//! Are area plans within their gap, their limits and their needs?
//!
//! Small random areas are stated once more as one linear programme over all
//! vehicles and slots, and solved by HiGHS. The engine's rounds share nothing
//! with it but the request. `ORACLE_SCALE=10` tries ten times as many.
mod area;
mod judge;

use area::Area;
use slackwater_engine::area::coordinate::{AreaOptions, plan_area};
use slackwater_engine::area::outcome::Status;

const AREAS: u64 = 200;

fn scale() -> u64 {
    std::env::var("ORACLE_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Every limit holds, every need is met or unmet by name, the bound is below
/// the optimum, and the cost within the gap of it.
#[test]
fn small_areas_agree_with_one_programme() {
    let mut short = 0;
    let mut bound = 0;
    for seed in 0..AREAS * scale() {
        let area = Area::random(seed);
        let plan = area.plan(&AreaOptions::default());
        let served = judge::keeps_its_word(&area, &plan, seed);
        let least = judge::least_unmet(&area);
        let unmet: f64 =
            plan.plan.unmet.iter().filter(|u| u.node.is_some()).map(|u| u.energy_kwh).sum();
        let need: f64 = area.needs().iter().sum();
        assert!(unmet >= least - 1e-4, "area {seed}: {unmet} kWh unmet, least {least}");
        assert!(
            unmet <= least + 2e-3 * need + 1e-4,
            "area {seed}: {unmet} unmet, least {least} of {need}"
        );
        short += u32::from(least > 1e-3);
        let optimum = judge::least_cost(&area, &served);
        let money = plan.plan.unmanaged.cost.abs().max(plan.plan.bound.abs());
        let slack = 1e-6 * money.max(1.0);
        assert!(
            plan.plan.bound <= optimum + slack,
            "area {seed}: bound {} above {optimum}",
            plan.plan.bound
        );
        assert!(
            plan.plan.cost >= optimum - slack,
            "area {seed}: cost {} below {optimum}",
            plan.plan.cost
        );
        let gap = plan.plan.gap * money;
        assert!(
            plan.plan.cost <= optimum + gap + slack,
            "area {seed}: cost {} over {optimum} by more than {gap}",
            plan.plan.cost
        );
        bound += u32::from(plan.plan.status == Status::Gap);
    }
    // The areas are worth judging: some short, nearly all proved.
    assert!(short >= 10, "{short} areas are short of energy");
    assert!(u64::from(bound) >= AREAS * scale() * 9 / 10, "{bound} gaps proved");
}

#[test]
fn one_two_or_eight_threads_give_the_same_bytes() {
    for seed in [3, 5, 11] {
        let area = Area::random(seed);
        let planned = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| area.plan(&AreaOptions::default()).bytes())
        };
        let one = planned(1);
        assert!(one == planned(2) && one == planned(8), "area {seed}");
    }
}

#[test]
fn stop_ends_the_rounds_and_says_so() {
    let area =
        (0..100).map(Area::random).find(|area| area.plan(&AreaOptions::default()).plan.rounds > 5);
    let area = area.unwrap();
    let (problem, mut calls) = (area.problem(), 0);
    let plan =
        plan_area(&problem, &AreaOptions { gap: 0.0, ..AreaOptions::default() }, &mut |progress| {
            calls += 1;
            progress.round >= 3
        });
    assert_eq!((plan.status, plan.reproducible), (Status::Stopped, false));
    assert!(calls <= 3 && plan.gap > 0.0);
}

/// Prices of an earlier plan save rounds and change nothing that is proved.
#[test]
fn earlier_prices_save_rounds() {
    let (mut cold, mut warm) = (0, 0);
    for seed in 0..40 {
        let area = Area::random(seed);
        let first = area.plan(&AreaOptions::default()).plan;
        let start = Some(first.state.clone());
        let again = area.plan(&AreaOptions { start, ..AreaOptions::default() }).plan;
        let asked = first.state.rounds_per_kwh.len() + 1;
        cold += first.rounds;
        warm += again.rounds.saturating_sub(asked);
        assert!(
            again.gap <= first.gap.max(1e-3) + 1e-9,
            "area {seed}: {} then {}",
            first.gap,
            again.gap
        );
    }
    assert!(warm < cold / 2, "{warm} rounds after {cold}");
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
