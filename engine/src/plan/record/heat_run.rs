//! Saved runs of rooms and tanks.
use std::sync::Arc;

use crate::plan::heat::plan::HeatPlan;
use crate::plan::heat::planner::plan_heat;
use crate::plan::heat::request::{HeatProblem, HeatRequest};
use crate::plan::record::price_sources::PriceCurves;
use crate::plan::record::refused_request::RefusedRequest;
use crate::plan::record::saved_plan_error::{SavedPlanError, check_intervals, check_slot};
use crate::plan::record::saved_run::Replay;
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;

impl Replay for HeatRequest {
    type Prices = Arc<PriceCurve>;
    type Problem<'a> = HeatProblem;
    type Plan = HeatPlan;

    fn problem(&self, _: &Arc<PriceCurve>) -> Result<HeatProblem, RefusedRequest> {
        Ok(HeatProblem::new(self.clone())?)
    }

    fn plan(prices: &Arc<PriceCurve>, problem: &HeatProblem) -> Result<HeatPlan, RefusedRequest> {
        Ok(plan_heat(prices, problem))
    }

    fn check(&self, plan: &HeatPlan) -> Result<(), SavedPlanError> {
        let slots = Horizon::new(plan.slots.iter().map(|slot| (slot.start, slot.end)))?;
        check_intervals(&slots, plan.intervals.iter().map(|i| (i.start, i.end)))?;
        let mut slots = plan.slots.iter().enumerate();
        slots.try_for_each(|(index, slot)| check_slot(index, slot.used, slot.power_max))
    }

    fn curves<'a>(&'a self, prices: &'a Arc<PriceCurve>) -> PriceCurves<'a> {
        PriceCurves { import: prices, export: None }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::heat::request::tests::room;
    use crate::plan::record::saved_run::tests::{assert_replays, text_of};
    use crate::plan::record::saved_run::{SavedPlan, SavedRun};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{celsius, per_kwh};

    fn bundle(cents: &[i32], request: HeatRequest) -> SavedPlan {
        SavedPlan::new("EUR", SavedRun::new(Arc::new(curve_of(60, cents)), request).unwrap())
    }

    #[test]
    fn a_plan_whose_parts_do_not_fit_is_refused() {
        let text = text_of(&bundle(&[10, 30], room(2)));
        let refusal = |from: &str, to: &str| {
            assert!(text.contains(from), "{text}");
            let error = serde_json::from_str::<SavedPlan>(&text.replacen(from, to, 1)).unwrap_err();
            error.to_string().split(" at line").next().unwrap().to_owned()
        };
        assert_eq!(
            refusal(r#""power_max_kw":3.0,"used_kwh":"#, r#""power_max_kw":-3.0,"used_kwh":"#)
                .split(" has")
                .next(),
            Some("plan: slots[0]")
        );
        assert_eq!(
            refusal(r#""capacity_kwh_per_k":5.0"#, r#""capacity_kwh_per_k":0.0"#),
            "request: capacity_kwh_per_k is 0 kWh/K; it is above 0 kWh/K"
        );
    }

    proptest! {
        #[test]
        fn any_plan_replays_to_the_byte(
            cents in prop::collection::vec(-50..90i32, 1..30),
            temperature in 10.0..26.0f64,
            end_value in -0.5..0.5f64,
        ) {
            let mut request = room(cents.len() as i64);
            request.temperature = celsius(temperature);
            request.end_value = per_kwh(end_value);
            assert_replays(&bundle(&cents, request))?;
        }
    }
}
