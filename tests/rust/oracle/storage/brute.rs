//! Tiny storage problems: every plan, one by one.
//!
//! Energies are whole units, so that the best plan is among those in whole
//! units: without losses all bounds are, and then some vertex of every piece
//! of the problem is.
use proptest::prelude::*;
use proptest::sample::select;

use super::case::Case;
use super::planner::plan;
use crate::case::even_slots;
use crate::runner::{for_all, near};

/// Best cost over all ways to buy, idle or sell one or two kWh in each hour.
fn best(case: &Case, hour: usize, level: i32, sofar: f64) -> f64 {
    let target = case.targets[0].percent / 100.0 * case.capacity;
    if hour == case.import.len() {
        let is_met = f64::from(level) >= target - 1e-9;
        let start = case.percent / 100.0 * case.capacity;
        let value = case.end_value * (f64::from(level) - start);
        return if is_met { sofar - value } else { f64::INFINITY };
    }
    let export = case.export.as_ref().expect("sold at a price of its own");
    let mut least = f64::INFINITY;
    for change in -2..=2 {
        let after = level + change;
        let limit = case.limit_percent / 100.0 * case.capacity;
        let is_beyond = change > 0 && f64::from(after) > limit + 1e-9;
        if after < 0 || f64::from(after) > case.capacity || is_beyond {
            continue;
        }
        let price = if change > 0 { case.import[hour].price } else { export[hour].price };
        least = least.min(best(case, hour + 1, after, sofar + price * f64::from(change)));
    }
    least
}

#[test]
fn tiny_problems_have_no_better_plan() {
    // Selling may pay more than buying costs: then a slot must choose one.
    let cents = || prop::collection::vec(-20..30_i32, 5);
    let tiny = (cents(), cents(), 0..=6_i32, 0..=6_i32, select(vec![6, 4, 3]), -5..20_i32);
    let tiny = tiny.prop_map(|(buy, sell, level, target, limit, value)| {
        let prices = |cents: &[i32]| -> Vec<f64> {
            cents.iter().map(|&cent| f64::from(cent) / 100.0).collect()
        };
        let percent = |kwh: i32| f64::from(kwh) / 6.0 * 100.0;
        let mut case = Case::simple(even_slots(60, &prices(&buy)), 6.0, percent(level), 2.0);
        case.export = Some(even_slots(60, &prices(&sell)));
        case.limit_percent = percent(limit);
        case.end_value = f64::from(value) / 100.0;
        case.targets.push(super::case::Wish { by: None, percent: percent(target.min(limit)) });
        case
    });
    for_all(400, &tiny.boxed(), |case| {
        let level = (case.percent / 100.0 * case.capacity).round() as i32;
        let (found, expected) = (plan(&case), best(&case, 0, level, 0.0));
        prop_assert!(near(found.cost.as_amount(), expected, 1e-9), "{:?} {expected}", found.cost);
        prop_assert!(found.certificate.is_proved());
        Ok(())
    });
}
