//! Plans that stay close to older ones, and what differs between two plans.
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use slackwater_engine::plan::charge::ChargeProblem;
use slackwater_engine::plan::questions as engine;
use slackwater_engine::plan::stability::Budget;
use slackwater_engine::units::{Money, Price};

use crate::error::{Named, Refused};
use crate::plan::Plan;
use crate::prices::Prices;
use crate::time::time_zone;

/// How close a plan was kept to the one before, and what that costs.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stability {
    budget: f64,
    spent: f64,
    extra_cost: f64,
    change_kwh: f64,
    change_bound_kwh: f64,
    cheapest_change_kwh: f64,
    price_of_change_per_kwh: Option<f64>,
    is_proved: bool,
}

/// A period in which two plans differ.
#[pyclass(frozen, get_all, eq, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlanChange {
    start: DateTime<Utc>,
    end: DateTime<Utc>,
    before_kwh: f64,
    after_kwh: f64,
    cost_before: f64,
    cost_after: f64,
    code: &'static str,
    sentence: String,
}

repr! {
    Stability { budget, spent, extra_cost, change_kwh, cheapest_change_kwh, is_proved }
    PlanChange { start, end, before_kwh, after_kwh, code }
}

/// See `slackwater.Plan.stability`.
#[pyfunction]
pub(crate) fn stability_of(plan: &Plan) -> Option<Stability> {
    plan.steadiness().map(|kept| Stability {
        budget: kept.budget.total().as_amount(),
        spent: kept.budget.spent().as_amount(),
        extra_cost: kept.extra_cost.as_amount(),
        change_kwh: kept.change.as_kwh(),
        change_bound_kwh: kept.change_bound.as_kwh(),
        cheapest_change_kwh: kept.cheapest_change.as_kwh(),
        price_of_change_per_kwh: kept.price_of_change.map(Price::as_per_kwh),
        is_proved: kept.is_proved(),
    })
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
        code: change.code.as_str(),
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
