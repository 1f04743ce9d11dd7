//! What must hold between storage plans of related problems.
use chrono::TimeDelta;
use proptest::prelude::*;
use slackwater_engine::plan::storage::StoragePlan;

use super::case::{Case, cases};
use super::planner::{origin, plan, plan_from};
use crate::case::{Slot, Target};
use crate::runner::{for_all, near};

/// Sums of products in another order differ by this part.
const PART: f64 = 1e-9;

fn cost(plan: &StoragePlan) -> f64 {
    plan.cost.as_amount()
}

/// Wishes aside, which a change of the battery would change too.
fn wishless(case: &Case) -> Case {
    Case {
        targets: Vec::new(),
        reserve_percent: 0.0,
        drives: Vec::new(),
        limits: Vec::new(),
        ..case.clone()
    }
}

/// Cuts each slot in two. Where burning would pay the halves could take
/// turns, and so could they about the charge limit; then there is no law. A
/// missed target that is still pursued is reached at the end of some slot.
#[test]
fn cutting_slots_changes_no_cost() {
    for_all(600, &cases(60), |case| {
        let mut case = Case { stops: true, percent: case.percent.min(case.limit_percent), ..case };
        case.limits.iter_mut().for_each(|limit| limit.most_percent = None);
        let halves = |slots: &[Slot]| -> Vec<Slot> {
            let cut = |slot: &Slot| {
                let middle = i32::midpoint(slot.start, slot.end);
                [Slot { end: middle, ..*slot }, Slot { start: middle, ..*slot }]
            };
            slots.iter().flat_map(cut).collect()
        };
        let (whole, mut cut) = (plan(&case), case.clone());
        cut.import = halves(&case.import);
        let cut = plan(&cut);
        let searched = |plan: &StoragePlan| plan.certificate.evidence.searched.is_some();
        if !searched(&whole) && !searched(&cut) {
            prop_assert!(near(cost(&whole), cost(&cut), PART), "{:?} {:?}", whole.cost, cut.cost);
            prop_assert!(near(whole.shortfall.as_kwh(), cut.shortfall.as_kwh(), PART));
            // Of ends that cost the same either may be taken, and the baseline follows.
            let end =
                |plan: &StoragePlan| plan.slots.last().map_or(0.0, |slot| slot.stored.as_kwh());
            if near(end(&whole), end(&cut), PART) {
                let baselines = (whole.baseline_cost.as_amount(), cut.baseline_cost.as_amount());
                prop_assert!(near(baselines.0, baselines.1, PART), "{baselines:?}");
            }
        }
        Ok(())
    });
}

#[test]
fn a_lossless_battery_that_sells_nothing_pays_what_charging_costs() {
    for_all(600, &cases(60), |case| {
        let stored = case.percent / 100.0 * case.capacity;
        let case = Case {
            export: None,
            efficiency: 1.0,
            end_value: -1.0,
            limit_percent: 100.0,
            drives: Vec::new(),
            limits: Vec::new(),
            // What is paid for is bought at once here, and never there.
            import: case
                .import
                .iter()
                .map(|slot| Slot { price: slot.price.max(0.0), ..*slot })
                .collect(),
            ..case
        };
        let above = |percent: f64| (percent / 100.0 * case.capacity - stored).max(0.0);
        let wanted = |wish: &super::case::Wish| Target { by: wish.by, kwh: above(wish.percent) };
        let charge = crate::case::Case {
            slots: case.import.clone(),
            now: case.now,
            until: case.until,
            kw: case.charge_kw,
            limits: Vec::new(),
            targets: case.targets.iter().map(wanted).collect(),
            reserve_kwh: above(case.reserve_percent),
            energy_max_kwh: None,
            stops: case.stops,
        };
        let (storage, charged) = (plan(&case), crate::planner::plan(&charge));
        let paid = storage.costs.import.as_amount();
        prop_assert!(near(paid, charged.cost, PART), "{paid} {}", charged.cost);
        prop_assert!(near(storage.charged.as_kwh(), charged.energy, PART));
        prop_assert!(near(storage.shortfall.as_kwh(), charged.shortfall, PART));
        Ok(())
    });
}

#[test]
fn more_battery_never_costs_more() {
    for_all(600, &(cases(60), 1.0..2.0_f64).boxed(), |(case, factor)| {
        let case = wishless(&case);
        let stored = case.percent / 100.0 * case.capacity;
        let capacity = case.capacity * factor;
        let percent = stored / capacity * 100.0;
        // A battery above its limit that gets a limit to be below of may charge more.
        let larger = Case { capacity, percent, ..case.clone() };
        let (small, large) = (plan(&case), plan(&larger));
        prop_assert!(cost(&large) <= cost(&small) + PART * cost(&small).abs().max(1.0));
        Ok(())
    });
}

#[test]
fn less_loss_never_costs_more_where_nothing_is_paid_to_burn() {
    for_all(600, &(cases(60), 0.0..1.0_f64, 0.0..1.0_f64).boxed(), |(case, a, b)| {
        let positive = |slots: &[Slot]| -> Vec<Slot> {
            slots.iter().map(|slot| Slot { price: slot.price.max(0.0), ..*slot }).collect()
        };
        let lossy = Case {
            import: positive(&case.import),
            export: case.export.as_deref().map(positive),
            end_value: case.end_value.max(0.0),
            wear: 0.0,
            percent: case.percent.min(case.limit_percent),
            ..wishless(&case)
        };
        let better = Case {
            efficiency: lossy.efficiency + (1.0 - lossy.efficiency) * a,
            efficiency_out: lossy.efficiency_out + (1.0 - lossy.efficiency_out) * b,
            ..lossy.clone()
        };
        let (lossy, better) = (plan(&lossy), plan(&better));
        prop_assert!(cost(&better) <= cost(&lossy) + PART * cost(&lossy).abs().max(1.0));
        Ok(())
    });
}

#[test]
fn time_and_threads_change_nothing() {
    for_all(300, &(cases(60), -5000..5000_i64).boxed(), |(case, hours)| {
        let shift = TimeDelta::hours(hours);
        let (here, there) = (plan(&case), plan_from(&case, origin() + shift));
        prop_assert_eq!(cost(&here).to_bits(), cost(&there).to_bits());
        prop_assert_eq!(here.intervals.len(), there.intervals.len());
        for (a, b) in here.intervals.iter().zip(&there.intervals) {
            prop_assert_eq!((a.start + shift, a.end + shift, a.power), (b.start, b.end, b.power));
        }
        prop_assert_eq!(&here, &plan(&case));
        Ok(())
    });
}
