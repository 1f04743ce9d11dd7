//! Areas with one limit, and their plans.
use std::hint::black_box;

use slackwater_engine::area::AreaPlan;
use slackwater_engine::area::{AreaOptions, plan_area};
use slackwater_engine::area::{AreaProblem, AreaVehicles};
use slackwater_engine::area::{Node, Profile};
use slackwater_engine::columns::Curves;
use slackwater_engine::units::Power;

use crate::Columns;

/// Slots of a day.
pub const SLOTS: usize = 96;

/// Limits, in proportion to the peak of a fleet that nobody manages.
pub const SHARE: f64 = 0.35;

/// Enough to leave every vehicle to itself.
const UNLIMITED_KW: f64 = 9e6;

/// Rows that are written at a time.
const RUN_ROWS: usize = 65_536;

/// A fleet within one hard limit.
///
/// # Panics
/// The limit is no number from 0 to 1e12.
#[must_use]
pub fn area<'a>(columns: &'a Columns, curves: Curves<'a>, limit_kw: f64) -> AreaProblem<'a> {
    let fleet = columns.fleet();
    let vehicles =
        AreaVehicles { fleet, node: None, priority: None, power_min_kw: None, storage: None };
    let limit = Profile::Constant(Power::from_kw(limit_kw).expect("a finite limit"));
    AreaProblem::new(vehicles, curves, vec![Node::limited("area", limit)]).expect("a fair area")
}

/// A limit at [`SHARE`] of what the fleet draws at most when nobody manages it.
#[must_use]
pub fn binding_limit_kw(columns: &Columns, curves: Curves<'_>) -> f64 {
    let free = plan_area(&area(columns, curves, UNLIMITED_KW), &AreaOptions::default());
    SHARE * free.unmanaged.load_kw.iter().copied().fold(0.0, f64::max)
}

/// Plans an area, and goes through the plan of every vehicle.
///
/// # Panics
/// A vehicle has no plan.
#[must_use]
pub fn planned(problem: &AreaProblem<'_>) -> AreaPlan {
    let plan = plan_area(problem, &AreaOptions::default());
    let mut rows = 0;
    plan.rows(problem, RUN_ROWS, &mut |run| rows += black_box(run).len())
        .expect("the plan is of this problem");
    assert_eq!(rows, plan.vehicles());
    plan
}
