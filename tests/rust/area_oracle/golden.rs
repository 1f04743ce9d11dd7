//! The same areas give the same bits as they did before.
//!
//! Each line is one scenario: its money in clear, so that a difference says something,
//! and fingerprints of every number of the plan and of its prices. What changes on
//! purpose, or with another version of the solver, is written anew with `UPDATE_EXPECT=1`.
use std::ops::ControlFlow;

use expect_test::expect_file;
use slackwater_engine::area::AreaPlan;
use slackwater_engine::area::{AreaOptions, Hooks, Progress, plan_area, plan_area_with};
use slackwater_engine::area::{Node, Profile};
use slackwater_engine::units::kw;

use crate::area::{Area, HOUR, Planned, Random};
use crate::golden_watched;

/// The hash of Fowler, Noll and Vo (FNV-1a) over 64 bits, number by number.
pub(crate) fn fingerprint(numbers: impl IntoIterator<Item = u64>) -> u64 {
    let bytes = numbers.into_iter().flat_map(u64::to_le_bytes);
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// One line about a plan.
pub(crate) fn line(name: &str, planned: &Planned) -> String {
    let plan = &planned.plan;
    let prices = plan.nodes.iter().flat_map(|node| node.added_per_kwh.iter().chain(&node.load_kw));
    let shadows = plan.shadow_prices.iter().flat_map(|price| &price.per_kwh);
    let prices =
        prices.chain(shadows).chain(&plan.unmanaged.load_kw).chain(&plan.price_only.load_kw);
    let unmet = plan.unmet.iter().flat_map(|unmet| [unmet.row as u64, unmet.energy_kwh.to_bits()]);
    let numbers = prices.map(|number| number.to_bits()).chain(unmet);
    format!(
        "{name:<22} {:<14} {:>3} rounds cost {:>12.6} bound {:>12.6} gap {:.3e} unmet {:>9.4} \
         rows {:016x} prices {:016x}\n",
        format!("{:?}", plan.status),
        plan.rounds,
        plan.cost,
        plan.bound,
        plan.gap,
        plan.unmet_kwh,
        fingerprint(planned.bytes()),
        fingerprint(numbers),
    )
}

/// An area of one node with many vehicles; from 32,768 on, prices are first found on a sample.
pub(crate) fn large(count: u64) -> Area {
    let mut random = Random::new(31);
    let slots = 24;
    let prices = (0..slots).map(|_| random.between(0.02, 0.4)).collect();
    let mut area = Area::empty(vec![HOUR; slots], prices);
    area.nodes.push(Node::limited("town", Profile::Constant(kw(count as f64 * 1.2))));
    for _ in 0..count {
        let from = random.below(12 * HOUR as u64) as i64;
        area.arrival.push(from);
        area.departure.push(from + HOUR + random.below(11 * HOUR as u64) as i64);
        area.power.push([3.7, 7.4, 11.0][random.below(3) as usize]);
        area.energy.push(random.between(1.0, 20.0));
        area.priority.push(1.0);
        area.node.push(0);
        area.curve.push(0);
    }
    area
}

/// An area of so many feeders below one node; every third has less power than the others.
pub(crate) fn feeders(feeders: usize, vehicles: u64) -> Area {
    let mut area = large(vehicles);
    let each = vehicles as f64 / feeders as f64;
    for feeder in 0..feeders {
        let power = each * if feeder % 3 == 0 { 0.9 } else { 2.5 };
        let mut node = Node::limited(&format!("feeder {feeder}"), Profile::Constant(kw(power)));
        node.parent = Some(0);
        area.nodes.push(node);
    }
    area.node = (0..area.node.len()).map(|row| 1 + (row % feeders) as u32).collect();
    area
}

/// Text of all scenarios, which is the same on one thread and on four.
#[track_caller]
pub(crate) fn on_any_threads(scenarios: impl Fn() -> String + Send + Sync) -> String {
    let by = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads can be started").install(&scenarios)
    };
    let (one, four) = (by(1), by(4));
    assert!(one == four, "the number of threads changes a plan:\n{one}\n{four}");
    one
}

/// Every scenario.
fn scenarios() -> String {
    let mut text = String::new();
    let mut add = |name: &str, planned: &Planned| text += &line(name, planned);
    let options = AreaOptions::default();
    for seed in 0..5 {
        add(&format!("random {seed}"), &Area::random(seed).plan(&options));
        add(&format!("mixed {seed}"), &Area::mixed(seed, false).plan(&options));
        add(&format!("on or off {seed}"), &Area::on_off(seed).plan(&options));
    }
    for seed in 0..4 {
        add(&format!("branched {seed}"), &Area::branched(seed).plan(&options));
    }
    let coarse = AreaOptions { gap: 1e-2, max_rounds: 60, start: None };
    for seed in 0..3 {
        add(&format!("wild prices {seed}"), &Area::mixed(seed, true).plan(&coarse));
    }
    add("12 feeders", &feeders(12, 400).plan(&options));
    add("40 feeders", &feeders(40, 1_000).plan(&options));
    add("33,000 vehicles", &large(33_000).plan(&options));
    add("33,000 in 40 feeders", &feeders(40, 33_000).plan(&options));
    add("shortage shared", &Area::two_alike([1.0, 2.0]).plan(&options));
    for round in [1, 3] {
        let area = Area::random(3);
        let problem = area.problem();
        let tight = AreaOptions { gap: 0.0, ..AreaOptions::default() };
        let mut stop = |progress: &Progress| {
            if progress.round >= round { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let plan = plan_area_with(&problem, &tight, Hooks::new(&mut stop));
        add(&format!("stopped at round {round}"), &Planned::new(&problem, plan));
    }
    let (first, later) = again(5, &options);
    add("from an earlier state", &later);
    add("close to the earlier", &close_to(&first, 5));
    text + &golden_watched::scenarios()
}

/// A plan, and one at other prices that starts from where it ended.
fn again(seed: u64, options: &AreaOptions) -> (Planned, Planned) {
    let first = Area::mixed(seed, false).plan(options);
    let mut dearer = Area::mixed(seed, false);
    dearer.change_prices(seed);
    let start = Some(first.plan.state.clone());
    let later = dearer.plan(&AreaOptions { start, ..options.clone() });
    (first, later)
}

/// A plan at other prices that stays close to an earlier one for 2 % of its cost.
fn close_to(first: &Planned, seed: u64) -> Planned {
    let mut dearer = Area::mixed(seed, false);
    dearer.change_prices(seed);
    let problem = dearer.problem();
    let cheapest: AreaPlan = plan_area(&problem, &AreaOptions::default());
    let previous = &first.rows.intervals;
    let budget = 0.02 * cheapest.cost.abs().max(1.0);
    let (near, _) = cheapest.replan_close_to(&problem, previous, budget).expect("same problem");
    Planned::new(&problem, near)
}

#[test]
fn areas_have_the_bits_that_they_had() {
    expect_file!["../../golden/areas.txt"].assert_eq(&on_any_threads(scenarios));
}
