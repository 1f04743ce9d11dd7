//! Plans that stay close to older ones, and what differs between two plans.
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use slackwater_engine::plan::charge::ChargeProblem;
use slackwater_engine::plan::questions as engine;
use slackwater_engine::plan::stability::{self, Budget};
use slackwater_engine::units::{Money, Price};

use crate::error::{Named, Refused};
use crate::plan::Plan;
use crate::prices::Prices;
use crate::site::SitePlan;
use crate::storage::StoragePlan;
use crate::switching::SwitchingPlan;
use crate::time::time_zone;

record! {
    /// How close a plan was kept to the one before, and what that costs.
    pub(crate) struct Stability {
        /// Money that the whole stay may cost beyond the cheapest plans, in units of the currency.
        budget: f64,
        /// Part of the budget that earlier plans have spent when this plan starts.
        spent: f64,
        /// Cost of this plan beyond the cheapest; 0 or more. It is spent while the plan runs.
        extra_cost: f64,
        /// Sum over all slots of the energy that is more or less than in the plan before, in kWh.
        change_kwh: f64,
        /// Lower bound on that sum of every plan within the budget, in kWh.
        change_bound_kwh: f64,
        /// That sum of the cheapest plan, in kWh.
        cheapest_change_kwh: f64,
        /// Cost of one kWh less of change; `None` if the budget does not bind.
        price_of_change_per_kwh: Option<f64>,
        /// True if no plan within the budget changes less.
        is_proved: bool,
    }

    /// A period in which two plans differ.
    pub(crate) struct PlanChange {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the period, in UTC.
        end: DateTime<Utc>,
        /// Energy that the first plan buys in the period, in kWh at the plug.
        before_kwh: f64,
        /// Energy that the second plan buys in the period, in kWh at the plug.
        after_kwh: f64,
        /// Cost of `before_kwh` at the prices of the first plan, in units of the currency.
        cost_before: f64,
        /// Cost of `after_kwh` at the prices of the second plan, in units of the currency.
        cost_after: f64,
        /// The reason: `time_passed`, `price_changed`, `power_limit_changed`, `deadline_changed`,
        /// `target_changed`, `delivered_otherwise`, `wish_changed`, `stability` or `tie`.
        code: String,
        /// The reason as a sentence, with times on the wall clock that `diff` was asked for.
        sentence: String,
    }
}

impl Stability {
    /// Plan of the engine.
    pub(crate) fn new(kept: &stability::Stability) -> Self {
        Self {
            budget: kept.budget.total().as_amount(),
            spent: kept.budget.spent().as_amount(),
            extra_cost: kept.extra_cost.as_amount(),
            change_kwh: kept.change.as_kwh(),
            change_bound_kwh: kept.change_bound.as_kwh(),
            cheapest_change_kwh: kept.cheapest_change.as_kwh(),
            price_of_change_per_kwh: kept.price_of_change.map(Price::as_per_kwh),
            is_proved: kept.is_proved(),
        }
    }
}

/// See `slackwater.Plan.close_to`.
#[pyfunction]
#[pyo3(signature = (plan, *, prices, previous, budget, spent))]
pub(crate) fn close_to(
    py: Python<'_>,
    plan: &Plan,
    prices: &Prices,
    previous: &Plan,
    budget: f64,
    spent: Option<f64>,
) -> Result<Plan, Refused> {
    let total = Money::from_amount(budget).named("budget")?;
    let spent = spent.map(Money::from_amount).transpose().named("spent")?;
    let carried = previous.steadiness().map(|kept| kept.budget.spent());
    let budget = Budget::new(total, spent.or(carried).unwrap_or(Money::ZERO))?;
    Ok(py.detach(|| plan.close_to(prices, previous, budget))?)
}

/// Plan that can be made again near another one of its kind.
#[derive(FromPyObject)]
pub(crate) enum NearPlan<'py> {
    Storage(PyRef<'py, StoragePlan>),
    Switching(PyRef<'py, SwitchingPlan>),
    Site(PyRef<'py, SitePlan>),
}

/// The plan made again.
#[derive(IntoPyObject)]
pub(crate) enum NearestPlan {
    Storage(StoragePlan),
    Switching(SwitchingPlan),
    Site(SitePlan),
}

/// See `slackwater.SitePlan.close_to`.
#[pyfunction]
#[pyo3(signature = (plan, previous, *, budget))]
pub(crate) fn plan_near(
    py: Python<'_>,
    plan: NearPlan<'_>,
    previous: NearPlan<'_>,
    budget: f64,
) -> Result<NearestPlan, Refused> {
    let budget = Budget::new(Money::from_amount(budget).named("budget")?, Money::ZERO)?;
    match (plan, previous) {
        (NearPlan::Storage(plan), NearPlan::Storage(before)) => {
            plan.plan_near(py, &before, budget).map(NearestPlan::Storage)
        }
        (NearPlan::Switching(plan), NearPlan::Switching(before)) => {
            plan.plan_near(py, &before, budget).map(NearestPlan::Switching)
        }
        (NearPlan::Site(plan), NearPlan::Site(before)) => {
            plan.plan_near(py, &before, budget).map(NearestPlan::Site)
        }
        _ => Err(Refused::Input("previous is a plan of another kind".to_owned())),
    }
}

/// See `slackwater.Plan.diff`.
#[pyfunction]
#[pyo3(signature = (before, before_prices, after, after_prices, *, time_zone))]
pub(crate) fn plan_diff(
    py: Python<'_>,
    before: &Plan,
    before_prices: &Prices,
    after: &Plan,
    after_prices: &Prices,
    time_zone: &str,
) -> Result<Vec<PlanChange>, Refused> {
    let zone = self::time_zone(time_zone)?;
    let (problem_before, problem_after) = (before.problem()?, after.problem()?);
    let changes = py.detach(|| {
        engine::diff(
            &recorded(before, &problem_before, before_prices),
            &recorded(after, &problem_after, after_prices),
        )
    });
    let change = |change: &engine::PeriodChange| PlanChange {
        start: change.start,
        end: change.end,
        before_kwh: change.before.as_kwh(),
        after_kwh: change.after.as_kwh(),
        cost_before: change.cost_before.as_amount(),
        cost_after: change.cost_after.as_amount(),
        code: change.code.as_str().to_owned(),
        sentence: change.sentence(zone),
    };
    Ok(changes.iter().map(change).collect())
}

fn recorded<'a>(
    plan: &'a Plan,
    problem: &'a ChargeProblem,
    prices: &'a Prices,
) -> engine::Recorded<'a> {
    engine::Recorded {
        problem,
        curve: &prices.curve,
        plan: plan.intended(),
        stability: plan.steadiness(),
    }
}
