//! A storage proof that was tampered with proves nothing.
use std::cell::RefCell;

use proptest::prelude::*;
use slackwater_engine::plan::storage::StoragePlan;

use super::case::{Case, cases};
use super::checker::{Claim, Refusal, check};
use super::planner::{claim, judge, plan};
use crate::case::even_slots;
use crate::census::Census;
use crate::runner::{for_all, near};

/// What both judges say of a claim, after making sure that they agree.
fn gap(plan: &StoragePlan, claim: &Claim) -> Result<Option<f64>, TestCaseError> {
    let (engine, own) = (judge(plan, claim), check(claim));
    prop_assert_eq!(engine.is_some(), own.is_ok(), "engine {:?}, checker {:?}", engine, own);
    let (Some(theirs), Ok(ours)) = (engine, own) else { return Ok(None) };
    prop_assert!(near(theirs.cost.as_amount(), ours.cost, 1e-9));
    prop_assert!(near(theirs.bound.as_amount(), ours.bound, 1e-9));
    prop_assert!(ours.bound <= ours.cost + 1e-9 * ours.cost.abs().max(1.0), "{ours:?}");
    Ok(Some(ours.cost - ours.bound))
}

/// Two slots of which one buys a little less, and the levels between them.
#[test]
fn energy_moved_costs_what_the_gap_says() {
    let census = RefCell::new(Census::default());
    for_all(500, &cases(40), |case| {
        let plan = plan(&case);
        if plan.certificate.evidence.searched.is_some() {
            return Ok(());
        }
        let whole = claim(&plan);
        let before = check(&whole).map_or(0.0, |verdict| verdict.cost);
        let buying = (0..whole.steps.len()).filter(|&index| whole.steps[index].bought > 0.1);
        for from in buying.take(10) {
            let others = (0..whole.steps.len()).filter(|&to| to != from);
            for to in others.take(12) {
                let mut moved = whole.clone();
                moved.steps[from].bought -= 0.1;
                moved.steps[to].bought += 0.1;
                for index in from.min(to)..from.max(to) {
                    let sign = if from < to { -0.1 } else { 0.1 };
                    moved.steps[index].level += sign * whole.efficiency;
                }
                let gap = gap(&plan, &moved)?;
                if let (Some(gap), Ok(after)) = (gap, check(&moved)) {
                    let dearer = after.cost - before;
                    prop_assert!(near(gap, dearer, 1e-8), "gap {gap}, dearer by {dearer}");
                }
                let is_dearer = gap.is_some_and(|gap| gap > 1e-7);
                census.borrow_mut().count(&[("refused", gap.is_none()), ("dearer", is_dearer)]);
            }
        }
        Ok(())
    });
    census.into_inner().assert_each(0.05);
}

#[test]
fn energy_dropped_is_noticed() {
    for_all(500, &cases(40), |case| {
        let plan = plan(&case);
        let whole = claim(&plan);
        for index in 0..whole.steps.len() {
            let mut dropped = whole.clone();
            if dropped.steps[index].bought > 0.01 {
                dropped.steps[index].bought -= 0.01;
            } else if dropped.steps[index].sold > 0.01 {
                dropped.steps[index].sold -= 0.01;
            } else {
                dropped.steps[index].level += 0.01;
            }
            prop_assert!(gap(&plan, &dropped)?.is_none());
        }
        Ok(())
    });
}

#[test]
fn a_marginal_value_changed_opens_a_gap_or_is_as_good() {
    let census = RefCell::new(Census::default());
    for_all(500, &cases(40), |case| {
        let plan = plan(&case);
        let whole = claim(&plan);
        for index in 0..whole.steps.len() {
            for change in [-0.03, 0.03] {
                let mut changed = whole.clone();
                changed.steps[index].value += change;
                let gap = gap(&plan, &changed)?;
                prop_assert!(gap.is_some());
                let is_open = gap.is_some_and(|gap| gap > 1e-7);
                census.borrow_mut().count(&[("open", is_open), ("as good", !is_open)]);
            }
        }
        Ok(())
    });
    census.into_inner().assert_each(0.005);
}

/// Two hours at 1 and 5, 1 kW, a battery of 2 kWh with 1 kWh in it: it buys
/// one and sells it. Any value from 1 to 5 proves the gain of 4.
fn proof_by_hand() -> Claim {
    let mut case = Case::simple(even_slots(60, &[1.0, 5.0]), 2.0, 50.0, 1.0);
    case.targets.push(super::case::Wish { by: None, percent: 50.0 });
    let found = claim(&plan(&case));
    assert_eq!((found.steps[0].bought, found.steps[1].sold), (1.0, 1.0));
    found
}

#[track_caller]
fn by_hand(change: impl FnOnce(&mut Claim), expected: Result<(f64, f64), Refusal>) {
    let mut claim = proof_by_hand();
    change(&mut claim);
    let verdict = check(&claim).map(|verdict| (verdict.cost, verdict.bound));
    assert_eq!(verdict, expected);
}

#[test]
fn proofs_by_hand() {
    let values = |first: f64, last: f64| {
        move |claim: &mut Claim| (claim.steps[0].value, claim.steps[1].value) = (first, last)
    };
    by_hand(values(3.0, 3.0), Ok((-4.0, -4.0)));
    by_hand(values(5.0, 5.0), Ok((-4.0, -4.0)));
    // At 6 both hours would rather buy, for 5 and 1 less; at 0 both would sell.
    by_hand(values(6.0, 6.0), Ok((-4.0, -6.0)));
    by_hand(values(0.0, 0.0), Ok((-4.0, -6.0)));
    by_hand(|claim| claim.steps[0].bought = 0.5, Err(Refusal::NotConserved(0)));
    by_hand(|claim| claim.steps[0].bought = 1.5, Err(Refusal::OutsideLimits(0)));
    by_hand(|claim| claim.steps[1].bought = 0.1, Err(Refusal::OutsideLimits(1)));
    by_hand(|claim| claim.steps[1].least = 1.5, Err(Refusal::OutsideLevels(1)));
    by_hand(|claim| claim.steps[0].limit = 1.5, Err(Refusal::OutsideLevels(0)));
    by_hand(|claim| claim.steps[0].import = None, Err(Refusal::OutsideLimits(0)));
}
