//! Plans against linear programmes: cost, energy, shortfalls and duals.
use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::case::{Case, Target, even_slots};
use crate::census::{Census, features};
use crate::checker;
use crate::executed;
use crate::lp::{Model, Optimum};
use crate::planner::{self, Answer};
use crate::random::cases;
use crate::runner::{for_all, near};

/// The simplex method ends in a vertex, so its answers are good to some 1e-13.
const PART: f64 = 1e-10;

/// A plan against all judges that say the same in another way.
pub(crate) fn agrees(
    case: &Case,
    model: &Model,
    optimum: &Optimum,
    answer: &Answer,
) -> TestCaseResult {
    prop_assert!(
        near(answer.cost, optimum.cost, PART),
        "cost {} not {}",
        answer.cost,
        optimum.cost
    );
    prop_assert!(
        near(answer.energy, optimum.energy, PART),
        "energy {} not {}",
        answer.energy,
        optimum.energy
    );
    prop_assert_eq!(answer.outcomes.len(), model.shortfalls.len());
    for (outcome, least) in answer.outcomes.iter().zip(&model.shortfalls) {
        prop_assert!(near(outcome.shortfall, *least, PART), "{outcome:?} misses more than {least}");
    }
    let most = model.shortfalls.iter().fold(0.0, |most: f64, &shortfall| most.max(shortfall));
    prop_assert!(near(answer.shortfall, most, PART), "shortfall {} not {most}", answer.shortfall);
    prop_assert!(answer.is_proved, "not proved: {:?}", answer.certificate);
    let bound = answer.certificate.bound;
    prop_assert!(near(bound, optimum.bound, PART), "bound {bound}, duals {}", optimum.bound);
    let checked = checker::check(&answer.claim);
    prop_assert!(
        checked.is_ok_and(|verdict| verdict.is_proved()
            && near(verdict.bound, bound, PART)
            && near(verdict.cost, answer.cost, PART)),
        "checker: {checked:?}"
    );
    for (slot, sum) in answer.claim.slots.iter().zip(answer.purchased()) {
        prop_assert!(near(slot.kwh, sum, 1e-12), "purchases of {sum} in {slot:?}");
    }
    executed::check(case, model, answer).map_err(TestCaseError::fail)
}

/// EP-19, and with deadlines, limits, reserves and fills as well.
#[test]
fn plans_cost_what_linear_programmes_cost() {
    let census = RefCell::new(Census::default());
    for_all(3000, &cases(), |case| {
        let model = Model::new(&case);
        let optimum = model.solve();
        let answer = planner::plan(&case);
        agrees(&case, &model, &optimum, &answer)?;
        let mut census = census.borrow_mut();
        census.count(&features(&case, &model, &optimum));
        let scale = optimum.cost.abs().max(1.0);
        census.measure("cost", (answer.cost - optimum.cost).abs() / scale);
        census.measure("bound", (answer.certificate.bound - optimum.bound).abs() / scale);
        census.measure("energy", (answer.energy - optimum.energy).abs());
        Ok(())
    });
    let census = census.into_inner();
    census.assert_each(0.005);
    let missed = census.share("a deadline missed");
    assert!((0.20..=0.50).contains(&missed), "{missed} of the cases miss a deadline");
}

/// Slots of an hour at these prices, and a vehicle that draws 10 kW.
fn hours(prices: &[f64], by: i32, kwh: f64) -> Case {
    Case::simple(even_slots(60, prices), 10.0, Target { by: Some(by), kwh })
}

#[track_caller]
fn assert_agrees(case: &Case) {
    let model = Model::new(case);
    if let Err(flaw) = agrees(case, &model, &model.solve(), &planner::plan(case)) {
        panic!("{flaw}");
    }
}

#[test]
fn what_one_deadline_missed_is_not_bought_for_the_next() {
    let mut case = hours(&[0.3, 0.1, 0.2], 60, 18.0);
    case.targets.push(Target { by: Some(180), kwh: 12.0 });
    case.stops = true;
    assert_agrees(&case);
    case.targets[1].kwh = 5.0;
    assert_agrees(&case);
}

#[test]
fn negative_prices_do_not_matter_to_a_full_battery() {
    let mut case = hours(&[-0.03, -0.03, 0.2], 180, 5.0);
    case.energy_max_kwh = Some(5.0);
    assert_agrees(&case);
    case.targets[0].kwh = 0.0;
    case.energy_max_kwh = Some(0.0);
    assert_agrees(&case);
}
