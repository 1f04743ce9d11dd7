//! Heat plans against programmes on HiGHS: degree-hours, cost, proof.
use std::cell::RefCell;

use proptest::prelude::*;

use super::case::cases;
use super::model::{SLACK, optimum};
use super::planner::plan;
use crate::census::Census;
use crate::runner::{for_all, near};

/// HiGHS leaves open this part of a value.
const PART: f64 = 1e-6;

#[test]
fn heat_plans_have_the_least_degree_hours_and_cost() {
    let census = RefCell::new(Census::default());
    for_all(500, &cases(100), |case| {
        let (plan, least) = (plan(&case), optimum(&case));
        let certificate = &plan.certificate;
        prop_assert!(certificate.is_proved(), "{certificate:?}");
        let own = plan.discomfort.total();
        prop_assert!(near(own, least.degree_hours, PART), "{own} °C·h, not {least:?}");
        // What HiGHS may have in degree-hours more than the plan, it may save at their price.
        let bought =
            if least.is_held { 0.0 } else { certificate.evidence.degree_hour_price * 10.0 * SLACK };
        let cost = plan.cost.as_amount();
        let scale = cost.abs().max(1.0);
        prop_assert!((cost - least.cost).abs() <= PART * scale + bought, "{cost}, not {least:?}");
        let held = plan.baseline.discomfort.total();
        prop_assert!(own <= held + PART * held.max(1.0), "a thermostat is closer: {held}");
        census.borrow_mut().count(&[
            ("the band is held", least.is_held),
            ("below the band", plan.discomfort.below > 1e-6),
            ("above the band", plan.discomfort.above > 1e-6),
            ("below and above", plan.discomfort.below.min(plan.discomfort.above) > 1e-6),
            ("judged to a millionth", bought <= PART * scale),
            ("cools", case.cools),
            ("no loss", case.kw_per_k <= 0.0),
            ("a night", case.night.is_some()),
            ("a value at the end", case.end_value.abs() > 0.0),
            ("saves money", least.is_held && plan.savings().as_amount() > 1e-3),
            ("a gap in the prices", plan.unpriced_hours > 0.0),
        ]);
        census.borrow_mut().measure("cost", (cost - least.cost).abs() / scale);
        census.borrow_mut().measure("degree-hours", (own - least.degree_hours).abs());
        Ok(())
    });
    let census = census.into_inner();
    census.assert_each(0.02);
    assert!(census.share("judged to a millionth") > 0.9);
}
