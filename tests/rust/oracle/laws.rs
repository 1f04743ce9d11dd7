//! What must hold between the plans of related problems.
//!
//! Each law is a function, so that it can be asked of any problem. Numbers
//! such as EP-13 are those of `docs/requirements.md`; EP-18 is about batches,
//! EP-19 stands in `agreement`.
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseResult;

use crate::case::{Case, Slot, Target};
use crate::cut::{pieces, possible_by};
use crate::executed::unmanaged_cost;
use crate::planner::{self, Answer};
use crate::random::{cases, cases_in_time};
use crate::runner::{for_all, near};

/// Sums of products in another order differ by this part.
const PART: f64 = 1e-11;

/// Less than this is not told from rounding.
const CRUMB: f64 = 1e-6;

fn same_cost(answer: &Answer, expected: f64) -> TestCaseResult {
    prop_assert!(near(answer.cost, expected, PART), "cost {} not {expected}", answer.cost);
    Ok(())
}

/// Two plans that buy the same at one cost and miss the same.
fn same(a: &Answer, b: &Answer) -> TestCaseResult {
    same_cost(a, b.cost)?;
    prop_assert!(near(a.energy, b.energy, PART), "energy {} and {}", a.energy, b.energy);
    prop_assert!(near(a.shortfall, b.shortfall, PART));
    prop_assert!(near(a.baseline_cost, b.baseline_cost, PART));
    prop_assert!(near(a.unpriced_hours, b.unpriced_hours, PART));
    Ok(())
}

/// EP-12, for vehicles that buy no more than they want.
pub(crate) fn energy_is_what_is_needed_or_what_there_is(case: &Case) -> TestCaseResult {
    let case = Case { energy_max_kwh: None, ..case.clone() };
    let pieces = pieces(&case);
    let all = possible_by(&pieces, None);
    let energy = case.targets.iter().fold(case.reserve_kwh.min(all), |most, target| {
        let late = if case.stops { possible_by(&pieces, target.by) } else { all };
        most.max(target.kwh.min(late))
    });
    let answer = planner::plan(&case);
    prop_assert!(near(answer.energy, energy, PART), "energy {} not {energy}", answer.energy);
    let last = case.targets.iter().map(|target| target.by.unwrap_or(i32::MAX)).max();
    let last = last.filter(|_| case.stops && case.reserve_kwh <= 0.0).unwrap_or(i32::MAX);
    for interval in &answer.intervals {
        prop_assert!(interval.start >= f64::from(case.now) && interval.kw <= case.kw);
        prop_assert!(case.until.is_none_or(|until| interval.end <= f64::from(until)));
        prop_assert!(interval.end <= f64::from(last), "{interval:?} after {last}");
    }
    Ok(())
}

/// EP-13, for vehicles that buy no more than they want.
pub(crate) fn adding_a_constant_adds_it_to_each_kwh(case: &Case, constant: f64) -> TestCaseResult {
    let case = Case { energy_max_kwh: None, ..case.clone() };
    let plain = planner::plan(&case);
    let dearer = planner::plan(&case.repriced(|price| price + constant));
    prop_assert!(near(plain.energy, dearer.energy, PART));
    same_cost(&dearer, plain.cost + constant * plain.energy)
}

/// EP-14: the cost is scaled, and the plan of one scale is a best one of the other.
pub(crate) fn scaling_prices_scales_the_cost(case: &Case, factor: f64) -> TestCaseResult {
    let plain = planner::plan(case);
    let scaled_case = case.repriced(|price| price * factor);
    let scaled = planner::plan(&scaled_case);
    prop_assert!(near(plain.energy, scaled.energy, PART));
    prop_assert!(near(scaled.cost / factor, plain.cost, PART));
    let mut claim = scaled.claim.clone();
    for (slot, other) in claim.slots.iter_mut().zip(&plain.claim.slots) {
        slot.kwh = other.kwh;
    }
    let proof = scaled.certify(&claim);
    prop_assert!(proof.is_some_and(|(_, is_proved)| is_proved), "{proof:?}");
    Ok(())
}

/// A lorry is a car with a larger unit of energy.
pub(crate) fn scaling_power_and_energy_scales_everything(
    case: &Case,
    factor: f64,
) -> TestCaseResult {
    let mut large = case.clone();
    large.kw *= factor;
    large.reserve_kwh *= factor;
    large.energy_max_kwh = large.energy_max_kwh.map(|most| most * factor);
    large.limits.iter_mut().for_each(|limit| limit.kw *= factor);
    large.targets.iter_mut().for_each(|target| target.kwh *= factor);
    let (small, large) = (planner::plan(case), planner::plan(&large));
    prop_assert!(large.is_proved, "{:?}", large.certificate);
    prop_assert!(near(large.cost / factor, small.cost, PART), "{} {}", large.cost, small.cost);
    prop_assert!(near(large.energy / factor, small.energy, PART));
    prop_assert!(near(large.shortfall / factor, small.shortfall, PART));
    Ok(())
}

/// EP-15, first half, for deadlines that can be met.
pub(crate) fn a_later_deadline_is_never_dearer(
    case: &Case,
    which: Index,
    minutes: i32,
) -> TestCaseResult {
    let mut later = case.clone();
    if !later.targets.is_empty() {
        let target = &mut later.targets[which.index(case.targets.len())];
        target.by = target.by.map(|by| by + minutes);
    }
    let (early, late) = (planner::plan(case), planner::plan(&later));
    prop_assert!(early.shortfall <= 0.0 && late.shortfall <= 0.0);
    prop_assert!(
        late.cost <= early.cost + PART * early.cost.abs().max(1.0),
        "{} then {}",
        early.cost,
        late.cost
    );
    Ok(())
}

/// EP-15, second half, for deadlines that can be met and nothing wanted at once.
pub(crate) fn more_power_is_never_dearer(case: &Case, factor: f64) -> TestCaseResult {
    let slow = Case { reserve_kwh: 0.0, ..case.clone() };
    let fast = Case { kw: slow.kw * factor, ..slow.clone() };
    let (slow, fast) = (planner::plan(&slow), planner::plan(&fast));
    prop_assert!(slow.shortfall <= 0.0 && fast.shortfall <= 0.0);
    prop_assert!(
        fast.cost <= slow.cost + PART * slow.cost.abs().max(1.0),
        "{} then {}",
        slow.cost,
        fast.cost
    );
    Ok(())
}

/// EP-16.
pub(crate) fn the_cost_has_limits(case: &Case) -> TestCaseResult {
    let answer = planner::plan(case);
    let pieces = pieces(case);
    let rounding = PART * answer.cost.abs().max(1.0);
    let at_once = unmanaged_cost(&pieces, answer.energy);
    prop_assert!(answer.cost <= at_once + rounding, "{} but {at_once} at once", answer.cost);
    let lowest = pieces.iter().fold(f64::INFINITY, |lowest, piece| lowest.min(piece.price));
    prop_assert!(answer.energy <= 0.0 || answer.cost >= lowest * answer.energy - rounding);
    Ok(())
}

/// EP-17.
pub(crate) fn splitting_a_slot_changes_nothing(
    case: &Case,
    which: Index,
    thousandths: i32,
) -> TestCaseResult {
    let mut split = case.clone();
    if !split.slots.is_empty() {
        let index = which.index(split.slots.len());
        let Slot { start, end, price } = split.slots[index];
        let middle = start + ((end - start) * thousandths / 1000).max(1);
        split.slots[index].end = middle;
        split.slots.insert(index + 1, Slot { start: middle, end, price });
    }
    same(&planner::plan(&split), &planner::plan(case))
}

/// Of two slots with one price the earlier is used, and at most one slot in
/// part for each wish: the targets, the reserve, and filling up.
pub(crate) fn ties_go_to_the_earlier_slot(case: &Case) -> TestCaseResult {
    let answer = planner::plan(case);
    let slots = &answer.claim.slots;
    let used_in_part =
        |slot: &&crate::checker::Slot| slot.kwh > CRUMB && slot.capacity() - slot.kwh > CRUMB;
    prop_assert!(slots.iter().filter(used_in_part).count() <= case.targets.len() + 2);
    for (index, early) in slots.iter().enumerate() {
        if early.capacity() - early.kwh > CRUMB {
            let late = slots[index + 1..]
                .iter()
                .find(|late| (late.price - early.price).abs() < 1e-12 && late.kwh > CRUMB);
            prop_assert!(late.is_none(), "{late:?} is used instead of {early:?}");
        }
    }
    Ok(())
}

/// The order in which targets are given means nothing, nor when minutes are counted from.
pub(crate) fn order_and_origin_mean_nothing(case: &Case, minutes: i32) -> TestCaseResult {
    let mut moved = case.clone();
    moved.targets.reverse();
    moved.now += minutes;
    moved.until = moved.until.map(|until| until + minutes);
    for target in &mut moved.targets {
        target.by = target.by.map(|by| by + minutes);
    }
    for slot in &mut moved.slots {
        (slot.start, slot.end) = (slot.start + minutes, slot.end + minutes);
    }
    for limit in &mut moved.limits {
        (limit.start, limit.end) = (limit.start + minutes, limit.end + minutes);
    }
    let (answer, moved) = (planner::plan(case), planner::plan(&moved));
    same(&answer, &moved)?;
    for (a, b) in answer.outcomes.iter().zip(moved.outcomes.iter().rev()) {
        prop_assert!(near(a.shortfall, b.shortfall, PART));
    }
    Ok(())
}

/// Asking for what the plan does anyway changes nothing.
pub(crate) fn a_wish_that_comes_true_anyway_costs_nothing(
    case: &Case,
    which: Index,
) -> TestCaseResult {
    let answer = planner::plan(case);
    let mut asked = case.clone();
    if !answer.claim.slots.is_empty() && !case.targets.is_empty() {
        let index = which.index(case.targets.len());
        let by = case.targets[index].by;
        let end = by.map_or(f64::INFINITY, f64::from);
        let slots = answer.claim.slots.iter().filter(|slot| slot.end <= end);
        let kwh: f64 = slots.map(|slot| slot.kwh).sum();
        // A sum in another order may pass the bound on it by a bit.
        let kwh = kwh.min(case.energy_max_kwh.unwrap_or(kwh));
        asked.targets.push(Target { by, kwh });
    }
    let same_again = planner::plan(&asked);
    same_cost(&same_again, answer.cost)?;
    prop_assert!(near(same_again.energy, answer.energy, PART));
    Ok(())
}

/// The marginal price is what a little more by the last deadline costs, and
/// there is none where no more can be had.
pub(crate) fn the_next_kwh_costs_the_marginal_price(case: &Case) -> TestCaseResult {
    const MORE_KWH: f64 = 1e-3;
    let case = Case { reserve_kwh: 0.0, energy_max_kwh: None, ..case.clone() };
    let Some(last) = case.targets.iter().map(|target| target.by.unwrap_or(i32::MAX)).max() else {
        return Ok(());
    };
    let by = (last < i32::MAX).then_some(last);
    let answer = planner::plan(&case);
    let mut more = case.clone();
    more.targets.push(Target { by, kwh: answer.energy + MORE_KWH });
    let more = planner::plan(&more);
    let Some(price) = answer.marginal_price else {
        prop_assert!(near(more.shortfall, MORE_KWH, CRUMB), "{} is missing", more.shortfall);
        return Ok(());
    };
    let room = answer.claim.slots.iter().filter(|slot| (slot.price - price).abs() < 1e-12);
    let room: f64 = room.map(|slot| slot.capacity() - slot.kwh).sum();
    if room > MORE_KWH {
        same_cost(&more, answer.cost + price * MORE_KWH)?;
    } else if more.shortfall <= 0.0 {
        prop_assert!(
            more.cost >= answer.cost + price * MORE_KWH - PART * answer.cost.abs().max(1.0)
        );
    }
    Ok(())
}

#[test]
fn energy_is_what_is_needed_or_what_there_is_for_random_cases() {
    for_all(1500, &cases(), |case| energy_is_what_is_needed_or_what_there_is(&case));
}

#[test]
fn adding_a_constant_adds_it_to_each_kwh_for_random_cases() {
    let values = (cases(), -1.0..1.0_f64).boxed();
    for_all(1500, &values, |(case, constant)| {
        adding_a_constant_adds_it_to_each_kwh(&case, constant)
    });
}

#[test]
fn scaling_prices_scales_the_cost_for_random_cases() {
    let values = (cases(), prop_oneof![0.01..1.0_f64, 1.0..100.0_f64]).boxed();
    for_all(1500, &values, |(case, factor)| scaling_prices_scales_the_cost(&case, factor));
}

#[test]
fn lorries_and_cars_obey_one_law() {
    let values = (cases(), prop_oneof![0.01..1.0_f64, 1.0..10_000.0_f64]).boxed();
    for_all(1500, &values, |(case, factor)| {
        scaling_power_and_energy_scales_everything(&case, factor)
    });
}

#[test]
fn a_later_deadline_is_never_dearer_for_random_cases() {
    let values = (cases_in_time(), any::<Index>(), 0..900_i32).boxed();
    for_all(1500, &values, |(case, which, minutes)| {
        a_later_deadline_is_never_dearer(&case, which, minutes)
    });
}

#[test]
fn more_power_is_never_dearer_for_random_cases() {
    let values = (cases_in_time(), 1.0..4.0_f64).boxed();
    for_all(1500, &values, |(case, factor)| more_power_is_never_dearer(&case, factor));
}

#[test]
fn the_cost_has_limits_for_random_cases() {
    for_all(1500, &cases(), |case| the_cost_has_limits(&case));
}

#[test]
fn splitting_a_slot_changes_nothing_for_random_cases() {
    let values = (cases(), any::<Index>(), 0..1000_i32).boxed();
    for_all(1500, &values, |(case, which, thousandths)| {
        splitting_a_slot_changes_nothing(&case, which, thousandths)
    });
}

#[test]
fn ties_are_broken_by_time() {
    for_all(1500, &cases(), |case| ties_go_to_the_earlier_slot(&case));
}

#[test]
fn the_order_of_targets_and_the_origin_mean_nothing() {
    let values = (cases(), -500_000..500_000_i32).boxed();
    for_all(1500, &values, |(case, minutes)| order_and_origin_mean_nothing(&case, minutes));
}

#[test]
fn wishes_that_come_true_anyway_cost_nothing() {
    let values = (cases_in_time(), any::<Index>()).boxed();
    for_all(1500, &values, |(case, which)| {
        a_wish_that_comes_true_anyway_costs_nothing(&case, which)
    });
}

#[test]
fn one_kwh_more_costs_the_marginal_price() {
    for_all(1500, &cases_in_time(), |case| the_next_kwh_costs_the_marginal_price(&case));
}
