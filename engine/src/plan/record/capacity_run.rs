//! Saved runs of batteries under a price of power. The request contains the tariff.
use crate::plan::capacity::plan::{CapacityPlan, plan_capacity};
use crate::plan::capacity::request::{CapacityProblem, CapacityRequest};
use crate::plan::record::price_sources::{GridPrices, PriceCurves};
use crate::plan::record::refused_request::RefusedRequest;
use crate::plan::record::saved_plan_error::{SavedPlanError, check_entry, check_slot};
use crate::plan::record::saved_run::Replay;
use crate::time::horizon::Horizon;

impl Replay for CapacityRequest {
    type Prices = GridPrices;
    type Problem<'a> = CapacityProblem;
    type Plan = CapacityPlan;

    fn problem(&self, _: &GridPrices) -> Result<CapacityProblem, RefusedRequest> {
        Ok(CapacityProblem::new(self.clone())?)
    }

    fn plan(
        prices: &GridPrices,
        problem: &CapacityProblem,
    ) -> Result<CapacityPlan, RefusedRequest> {
        Ok(plan_capacity(&prices.import, prices.export.as_deref(), problem)?)
    }

    fn check(&self, plan: &CapacityPlan) -> Result<(), SavedPlanError> {
        Horizon::new(plan.slots.iter().map(|slot| (slot.start, slot.end)))?;
        let evidence = &plan.certificate.evidence;
        for (index, slot) in plan.slots.iter().enumerate() {
            check_slot(index, slot.charged, slot.charge_max)?;
            check_slot(index, slot.discharged, slot.discharge_max)?;
            if let Some(group) = slot.group {
                check_entry(("slots", index), "group", group, evidence.groups.len())?;
            }
        }
        for (index, group) in evidence.groups.iter().enumerate() {
            check_entry(("groups", index), "month", group.month, evidence.months.len())?;
        }
        Ok(())
    }

    fn curves<'a>(&'a self, prices: &'a GridPrices) -> PriceCurves<'a> {
        PriceCurves { import: &prices.import, export: prices.export.as_deref() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::plan::capacity::tests::{curve, monthly, request};
    use crate::plan::record::saved_run::tests::{assert_replays, text_of};
    use crate::plan::record::saved_run::{SavedPlan, SavedRun};

    fn bundle(prices: &[f64], loads: &[f64]) -> SavedPlan {
        let prices = GridPrices { import: Arc::new(curve(prices)), export: None };
        SavedPlan::new("NOK", SavedRun::new(prices, request(monthly("30"), loads)).unwrap())
    }

    #[test]
    fn a_plan_whose_parts_do_not_fit_is_refused() {
        let text = text_of(&bundle(&[0.3, 0.1, 0.2], &[1.0, 2.0, 0.0]));
        let refusal = |from: &str, to: &str| {
            assert!(text.contains(from), "{text}");
            let error = serde_json::from_str::<SavedPlan>(&text.replacen(from, to, 1)).unwrap_err();
            error.to_string().split(" at line").next().unwrap().to_owned()
        };
        assert_eq!(
            refusal(r#""group":0"#, r#""group":7"#),
            "plan: slots[0].group is 7; the plan has 1 groups"
        );
        assert_eq!(
            refusal(r#""groups":[{"month":0"#, r#""groups":[{"month":3"#),
            "plan: groups[0].month is 3; the plan has 1 months"
        );
        assert_eq!(
            refusal(r#""efficiency":"#, r#""efficiency":-"#).split(" is").next(),
            Some("request: efficiency")
        );
    }

    #[test]
    fn a_request_that_only_planning_refuses_is_an_error_of_the_replay() {
        let text = text_of(&bundle(&[0.3, 0.1, 0.2], &[1.0, 2.0, 0.0]));
        // The tariff ends before the plan begins.
        let ended = text.replacen(r#""valid_to":null"#, r#""valid_to":"2021-01-01""#, 1);
        let read: SavedPlan = serde_json::from_str(&ended).unwrap();
        let error = read.replan().unwrap_err().to_string();
        assert!(error.starts_with("the plan reaches into 2026-01"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_plan_replays_to_the_byte(
            prices in prop::collection::vec(-0.2..0.9f64, 1..8),
            loads in prop::collection::vec(-3.0..5.0f64, 8),
        ) {
            let loads = &loads[..prices.len()];
            assert_replays(&bundle(&prices, loads))?;
        }
    }
}
