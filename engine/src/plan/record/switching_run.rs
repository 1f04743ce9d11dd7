//! Saved runs of switching devices.
use std::sync::Arc;

use crate::plan::charge::request::ChargeProblem;
use crate::plan::record::price_sources::PriceCurves;
use crate::plan::record::refused_request::RefusedRequest;
use crate::plan::record::saved_plan_error::{
    SavedPlanError, check_charging, check_entry, check_plan,
};
use crate::plan::record::saved_run::Replay;
use crate::plan::switching::plan::{SwitchingPlan, UnmetWish};
use crate::plan::switching::planner::plan_switching;
use crate::plan::switching::problem::SwitchingProblem;
use crate::plan::switching::request::SwitchingRequest;
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;

impl Replay for SwitchingRequest {
    type Prices = Arc<PriceCurve>;
    type Problem<'a> = SwitchingProblem<'a>;
    type Plan = SwitchingPlan;

    fn problem<'a>(
        &self,
        prices: &'a Arc<PriceCurve>,
    ) -> Result<SwitchingProblem<'a>, RefusedRequest> {
        Ok(SwitchingProblem::new(self.clone(), prices)?)
    }

    fn plan(
        _: &Arc<PriceCurve>,
        problem: &SwitchingProblem<'_>,
    ) -> Result<SwitchingPlan, RefusedRequest> {
        Ok(plan_switching(problem))
    }

    fn check(&self, plan: &SwitchingPlan) -> Result<(), SavedPlanError> {
        check_charging(&plan.slots, plan.intervals.iter().map(|i| (i.start, i.end)))?;
        Horizon::new(plan.sessions.iter().map(|session| (session.start, session.end)))
            .map_err(SavedPlanError::Sessions)?;
        let slots = plan.slots.len();
        if let Some(slot) = plan.top_off.filter(|&slot| slot >= slots) {
            return Err(SavedPlanError::NoTopOff { slot, slots });
        }
        for (index, wish) in plan.unmet.iter().enumerate() {
            if let UnmetWish::Target { target, .. } = *wish {
                check_entry(("unmet", index), "target", target, plan.targets.len())?;
            }
        }
        // The plan without limits on switching is a charging plan of its own.
        ChargeProblem::new(plan.free_request.clone()).map_err(SavedPlanError::FreeRequest)?;
        check_plan(&plan.free_plan)
    }

    fn curves<'a>(&'a self, prices: &'a Arc<PriceCurve>) -> PriceCurves<'a> {
        PriceCurves { import: prices, export: None }
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::request::Target;
    use crate::plan::record::saved_run::tests::{assert_replays, text_of};
    use crate::plan::record::saved_run::{SavedPlan, SavedRun};
    use crate::plan::switching::request::DeviceState;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, money};

    fn six() -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse().unwrap()
    }

    fn request(energy: f64) -> SwitchingRequest {
        let target = Target { by: None, energy: kwh(energy) };
        let mut request = SwitchingRequest::new(six(), kw(10.0), target);
        request.power_min = kw(4.0);
        request
    }

    fn refusal(from: &str, to: &str) -> String {
        let curve = Arc::new(curve_of(60, &[30, 10, 20]));
        let text = text_of(&SavedPlan::new("EUR", SavedRun::new(curve, request(12.0)).unwrap()));
        assert!(text.contains(from), "{text}");
        let error = serde_json::from_str::<SavedPlan>(&text.replacen(from, to, 1)).unwrap_err();
        error.to_string().split(" at line").next().unwrap().to_owned()
    }

    #[test]
    fn a_plan_whose_parts_do_not_fit_is_refused() {
        assert_eq!(
            refusal(r#""top_off":2"#, r#""top_off":3"#),
            "plan: top_off is 3; the plan has 3 slots"
        );
        assert_eq!(
            refusal(
                r#""free_request":{"now":"2026-01-05T18:00:00Z","until":null,"power_max_kw":10.0"#,
                r#""free_request":{"now":"2026-01-05T18:00:00Z","until":null,"power_max_kw":-1.0"#
            ),
            "plan: free_request: power_max_kw is -1 kW; a vehicle that only charges needs 0 kW or more"
        );
    }

    #[test]
    fn a_request_that_does_not_fit_its_prices_is_refused() {
        let run = SavedRun::new(Arc::new(curve_of(60, &[30, 10, 20])), request(12.0)).unwrap();
        let long = Arc::new(curve_of(60, &[10; 1501]));
        let text = text_of(&SavedPlan::new("EUR", run));
        let prices = serde_json::to_string(&curve_of(60, &[30, 10, 20])).unwrap();
        let text = text.replacen(&prices, &serde_json::to_string(&long).unwrap(), 1);
        let error = serde_json::from_str::<SavedPlan>(&text).unwrap_err().to_string();
        assert!(
            error.starts_with("request: the time up to the last deadline has 1501 slots"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn any_plan_replays_to_the_byte(
            cents in prop::collection::vec(-50..90i32, 0..24),
            energy in 0.0..60.0f64,
            start_cost in 0.0..2.0f64,
            sessions in prop::option::of(0..4u32),
            micros in prop_oneof![8 => 0..9_000_000_000i64, 1 => Just(i64::MAX)],
            runs in any::<bool>(),
        ) {
            let mut request = request(energy);
            (request.start_cost, request.sessions_max) = (money(start_cost), sessions);
            (request.on_min, request.run_last) =
                (TimeDelta::microseconds(micros), TimeDelta::microseconds(micros / 3));
            if runs {
                request.state = DeviceState::RunningSince(six() - TimeDelta::minutes(7));
            }
            let run = SavedRun::new(Arc::new(curve_of(60, &cents)), request).unwrap();
            assert_replays(&SavedPlan::new("EUR", run))?;
        }
    }
}
