//! Storage plans against programmes on HiGHS: cost, shortfalls, proof.
use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use slackwater_engine::plan::storage::StoragePlan;

use super::case::{Case, cases};
use super::checker;
use super::model::{BINARIES_MAX, Model, needs_binaries};
use super::planner::{claim, plan};
use crate::census::Census;
use crate::runner::{for_all, near};

/// What HiGHS leaves open, relative to the cost.
const PART: f64 = 1e-6;

/// Whether a plan is what the programmes say, and proves it.
pub(crate) fn agrees(case: &Case, model: &Model, plan: &StoragePlan) -> TestCaseResult {
    prop_assert!(plan.certificate.is_proved(), "{:?}", plan.certificate);
    let cost = model.least_cost(case);
    prop_assert!(near(plan.cost.as_amount(), cost, PART), "cost {:?} not {cost}", plan.cost);
    prop_assert!(near(plan.unserved.as_kwh(), model.unserved, PART));
    let missing = model.shortfalls.iter().zip(&model.above_limit);
    for (outcome, (missing, above)) in plan.targets.iter().zip(missing) {
        prop_assert!(near(outcome.shortfall.as_kwh(), *missing, PART), "{outcome:?} {missing}");
        prop_assert!(near(outcome.above_limit.as_kwh(), *above, PART), "{outcome:?} {above}");
    }
    let most = model.shortfalls.iter().fold(0.0, |most: f64, &missing| most.max(missing));
    prop_assert!(near(plan.shortfall.as_kwh(), most, PART));
    prop_assert!(plan.savings().as_amount() >= -PART * cost.abs().max(1.0), "{}", cost);
    proves_itself(plan)
}

/// Whether the checker agrees with the engine's own proof.
pub(crate) fn proves_itself(plan: &StoragePlan) -> TestCaseResult {
    let verdict = checker::check(&claim(plan));
    let Ok(verdict) = verdict else {
        return Err(TestCaseError::fail(format!("checker: {verdict:?}")));
    };
    let certificate = &plan.certificate;
    prop_assert!(near(verdict.cost, plan.cost.as_amount(), 1e-9), "{verdict:?}");
    prop_assert!(near(certificate.cost.as_amount(), plan.cost.as_amount(), 1e-9));
    prop_assert!(near(verdict.bound, certificate.bound_by_values.as_amount(), 1e-9));
    prop_assert!(verdict.bound <= verdict.cost + 1e-9 * verdict.cost.abs().max(1.0));
    prop_assert!(certificate.bound >= certificate.bound_by_values);
    if certificate.evidence.searched.is_none() {
        prop_assert!(near(verdict.bound, verdict.cost, 1e-9), "{verdict:?}");
    }
    Ok(())
}

#[test]
fn storage_plans_cost_what_programmes_cost() {
    let census = RefCell::new(Census::default());
    for_all(1000, &cases(100), |mut case| {
        if needs_binaries(&case) {
            case.import.truncate(BINARIES_MAX / 2);
            case.export = case.export.map(|mut slots| {
                slots.truncate(BINARIES_MAX / 2);
                slots
            });
        }
        let model = Model::new(&case);
        let plan = plan(&case);
        agrees(&case, &model, &plan)?;
        let searched = plan.certificate.evidence.searched;
        let in_a_gap = plan.slots.iter().any(|slot| slot.import_price.is_none());
        census.borrow_mut().count(&[
            ("a target missed", model.shortfalls.iter().any(|&missing| missing > 0.0)),
            ("a target above the charge limit", model.above_limit.iter().any(|&above| above > 0.0)),
            ("driving unserved", model.unserved > 0.0),
            ("driving", !case.drives.is_empty()),
            ("burning would pay", model.burns),
            ("above the charge limit", model.above),
            ("searched", searched.is_some()),
            ("sells", plan.discharged.as_kwh() > 0.0),
            ("buys", plan.charged.as_kwh() > 0.0),
            ("a reserve", case.reserve_percent > 0.0),
            ("wear", case.wear > 0.0),
            ("a gap", in_a_gap),
        ]);
        census.borrow_mut().measure("nodes", searched.map_or(1.0, |s| s.nodes as f64));
        Ok(())
    });
    let census = census.into_inner();
    census.assert_each(0.02);
    let missed = census.share("a target missed");
    assert!((0.25..=0.5).contains(&missed), "{missed} of the cases miss a target");
}

#[test]
fn no_slot_charges_and_discharges() {
    for_all(1000, &cases(100), |case| {
        for slot in &plan(&case).slots {
            let (charged, discharged) = (slot.charged.as_kwh(), slot.discharged.as_kwh());
            prop_assert!(charged == 0.0 || discharged == 0.0, "{slot:?}");
        }
        Ok(())
    });
}
