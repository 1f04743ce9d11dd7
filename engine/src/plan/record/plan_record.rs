//! Record of a plan: its request, its summary, and the inputs with which it can be planned again.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::plan::charge::greedy::plan_charge;
use crate::plan::charge::plan::Plan;
use crate::plan::record::price_sources::PriceSources;
use crate::plan::record::refused_request::RefusedRequest;
use crate::plan::record::saved_run::{Recorded, SavedPlan, SavedRun};
use crate::plan::record::steady_request::{PlanRequest, SteadyRequest};
use crate::plan::record::summary::PlanSummary;
use crate::plan::stability::budget::Budget;
use crate::plan::stability::stay_close::{plan_close_to, stay_close};
use crate::prices::curve::PriceCurve;
use crate::prices::resolve::ResolvedPrices;
use crate::units::Money;

/// Previous plan to which a plan was kept close, and the budget for that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteadyFrom {
    /// The previous plan.
    pub previous: Arc<Plan>,
    /// Budget of the session when the plan was made.
    pub budget: Budget,
}

/// Plan with its inputs, but without its prices, which many plans share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanRecord {
    /// Request of the plan.
    pub wish: PlanRequest,
    /// Summary of the plan.
    #[serde(rename = "brief")]
    pub summary: PlanSummary,
    /// Previous plan and budget; `None` if the plan is a cheapest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<SteadyFrom>,
    /// Budget of the session with the amount spent before this plan; `None` if
    /// the plan was made without a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// `true` if the plan was made together with others under a shared limit.
    /// Such a plan cannot be planned again alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shared: bool,
}

/// Record of a previous plan with its prices.
#[derive(Debug, Clone, Copy)]
pub struct PreviousPlan<'a> {
    /// The record.
    pub planned: &'a PlanRecord,
    /// The prices of the plan.
    pub curve: &'a PriceCurve,
}

impl PlanRecord {
    /// A record of a cheapest plan, made of its summary.
    #[must_use]
    pub fn cheapest(wish: PlanRequest, summary: PlanSummary) -> Self {
        Self { wish, summary, kept_from: None, budget: None, is_shared: false }
    }

    /// Plans a request at least cost and records it.
    ///
    /// # Errors
    /// The request is invalid.
    pub fn new(curve: &PriceCurve, wish: PlanRequest) -> Result<Self, RefusedRequest> {
        let summary = PlanSummary::from(&plan_charge(curve, &wish.problem()?));
        Ok(Self::cheapest(wish, summary))
    }

    /// Records the plan that changes least against the previous one, within a
    /// budget of `total` for the whole session, of which earlier plans may have
    /// spent a part. The plan is the cheapest one if `total` is negative or if the
    /// previous plan was made together with others.
    ///
    /// # Errors
    /// This request or the previous one is invalid.
    pub fn close_to(
        curve: &PriceCurve,
        wish: PlanRequest,
        before: PreviousPlan<'_>,
        total: Money,
    ) -> Result<Self, RefusedRequest> {
        let problem = wish.problem()?;
        let cheapest = plan_charge(curve, &problem);
        // Earlier plans of the session have spent a part of the budget.
        let spent = before.planned.budget.map_or(Money::ZERO, Budget::spent);
        let Ok(budget) = Budget::new(total, spent) else {
            return Ok(Self::cheapest(wish, PlanSummary::from(&cheapest)));
        };
        let Some(previous) = before.planned.plan(before.curve)? else {
            return Ok(Self::cheapest(wish, PlanSummary::from(&cheapest)));
        };
        let steady = stay_close(&cheapest, &problem, &previous, budget);
        // A plan with the intervals of the cheapest one needs no previous plan to be made again.
        let is_other = steady.plan.intervals != cheapest.intervals;
        let kept_from = is_other.then(|| SteadyFrom { previous: Arc::new(previous), budget });
        let summary = PlanSummary::from(if is_other { &steady.plan } else { &cheapest });
        let budget = Some(steady.stability.budget);
        Ok(Self { wish, summary, kept_from, budget, is_shared: false })
    }

    /// Plans the request again; `None` if the plan was made together with others.
    ///
    /// # Errors
    /// The request is invalid, which is not possible for one that was planned.
    pub fn plan(&self, curve: &PriceCurve) -> Result<Option<Plan>, RefusedRequest> {
        if self.is_shared {
            return Ok(None);
        }
        let problem = self.wish.problem()?;
        Ok(Some(match &self.kept_from {
            None => plan_charge(curve, &problem),
            Some(kept) => plan_close_to(curve, &problem, &kept.previous, kept.budget).plan,
        }))
    }

    /// Makes a saved plan: prices with their sources, request, plan and certificate;
    /// `None` if the plan was made together with others.
    ///
    /// # Errors
    /// The request is invalid, which is not possible for one that was planned.
    pub fn bundle(
        &self,
        currency: &str,
        prices: &ResolvedPrices,
    ) -> Result<Option<SavedPlan>, RefusedRequest> {
        if self.is_shared {
            return Ok(None);
        }
        let curve = Arc::new(prices.curve().clone());
        let recorded: Recorded = match (&self.kept_from, &self.wish) {
            (Some(kept), wish) => {
                let (previous, budget) = (Arc::clone(&kept.previous), kept.budget);
                SavedRun::new(curve, SteadyRequest { wish: wish.clone(), previous, budget })?.into()
            }
            (None, PlanRequest::Charge(request)) => SavedRun::new(curve, request.clone())?.into(),
            (None, PlanRequest::Vehicle(request)) => SavedRun::new(curve, request.clone())?.into(),
            (None, PlanRequest::Duration(request)) => SavedRun::new(curve, *request)?.into(),
        };
        let bundle = SavedPlan::new(currency, recorded);
        // Layers are optional: without them, or if they do not fit, the saved plan has none.
        let import = prices.layers().ok().map(Arc::new);
        let layers = PriceSources { import, export: None };
        Ok(Some(bundle.clone().with_layers(layers).unwrap_or(bundle)))
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::request::{ChargeRequest, Target};
    use crate::prices::curve::tests::curve_of;
    use crate::prices::resolve::{Sources as PriceSources, resolve};
    use crate::units::{kw, kwh, money};

    fn at(hour: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hour)
    }

    fn wish(hour: i64, energy: f64) -> PlanRequest {
        PlanRequest::Charge(ChargeRequest::new(
            at(hour),
            kw(10.0),
            Target { by: None, energy: kwh(energy) },
        ))
    }

    #[test]
    fn a_plan_stays_for_a_budget_and_remembers_what_was_spent() {
        let (first, then) = (curve_of(60, &[30, 10, 20]), curve_of(60, &[9, 10, 20]));
        let before = PlanRecord::new(&first, wish(0, 10.0)).unwrap();
        let near = |total: f64| {
            let before = PreviousPlan { planned: &before, curve: &first };
            PlanRecord::close_to(&then, wish(0, 10.0), before, money(total)).unwrap()
        };
        let kept = near(0.2);
        assert_eq!(kept.summary.intervals, before.summary.intervals);
        assert!(kept.kept_from.is_some());
        let moved = near(0.0);
        assert_ne!(moved.summary.intervals, before.summary.intervals);
        assert!(moved.kept_from.is_none());
        // The plan can be made again, and its budget is passed on.
        let again = kept.plan(&then).unwrap().unwrap();
        assert_eq!(PlanSummary::from(&again), kept.summary);
        assert_eq!(kept.budget.map(Budget::total), Some(money(0.2)));
    }

    #[test]
    fn a_plan_of_many_is_not_made_again_alone() {
        let curve = curve_of(60, &[30, 10]);
        let shared =
            PlanRecord { is_shared: true, ..PlanRecord::new(&curve, wish(0, 5.0)).unwrap() };
        assert_eq!(shared.plan(&curve), Ok(None));
        let prices =
            resolve(PriceSources { market: Some(&curve), ..Default::default() }, at(0), at(9));
        assert_eq!(shared.bundle("EUR", &prices), Ok(None));
        let next = PreviousPlan { planned: &shared, curve: &curve };
        let next = PlanRecord::close_to(&curve, wish(0, 5.0), next, money(1.0)).unwrap();
        assert_eq!(next, PlanRecord::new(&curve, wish(0, 5.0)).unwrap());
    }

    proptest! {
        /// A record is complete: with its prices it gives the plan again, with
        /// certificate and sources.
        #[test]
        fn what_is_kept_makes_the_plan_again(
            one in prop::collection::vec(-20..60i32, 1..20), two in prop::collection::vec(-20..60i32, 20),
            energy in 0.0..90.0f64, total in 0.0..2.0f64,
        ) {
            let (one, two) = (curve_of(60, &one), curve_of(60, &two));
            let first = PlanRecord::new(&one, wish(0, energy)).unwrap();
            let before = PreviousPlan { planned: &first, curve: &one };
            let second = PlanRecord::close_to(&two, wish(1, energy), before, money(total)).unwrap();
            for (planned, curve) in [(&first, &one), (&second, &two)] {
                let text = serde_json::to_string(planned).unwrap();
                let read: PlanRecord = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(&read, planned);
                let plan = read.plan(curve).unwrap().unwrap();
                prop_assert_eq!(PlanSummary::from(&plan), planned.summary.clone());
                let sources = PriceSources { market: Some(curve), ..Default::default() };
                let prices = resolve(sources, at(-1), at(100));
                let bundle = read.bundle("EUR", &prices).unwrap().unwrap();
                let text = serde_json::to_string(&bundle).unwrap();
                prop_assert_eq!(serde_json::to_string(&bundle.replan().unwrap()).unwrap(), text);
                prop_assert!(bundle.layers.import.is_some());
            }
        }
    }
}
