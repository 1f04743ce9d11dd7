//! Saved runs of sites. The request of a site contains its prices.
use crate::plan::record::price_sources::PriceCurves;
use crate::plan::record::refused_request::RefusedRequest;
use crate::plan::record::saved_plan_error::{SavedPlanError, check_intervals};
use crate::plan::record::saved_run::Replay;
use crate::plan::site::plan::SitePlan;
use crate::plan::site::planner::plan_site;
use crate::plan::site::problem::SiteProblem;
use crate::plan::site::request::SiteRequest;
use crate::time::horizon::Horizon;

impl Replay for SiteRequest {
    type Prices = ();
    type Problem<'a> = SiteProblem;
    type Plan = SitePlan;

    fn problem(&self, (): &()) -> Result<SiteProblem, RefusedRequest> {
        Ok(SiteProblem::new(self.clone())?)
    }

    fn plan((): &(), problem: &SiteProblem) -> Result<SitePlan, RefusedRequest> {
        Ok(plan_site(problem))
    }

    fn check(&self, plan: &SitePlan) -> Result<(), SavedPlanError> {
        let periods = Horizon::new(plan.slots.iter().map(|slot| (slot.start, slot.end)))?;
        let (devices, wanted) = (plan.devices.len(), self.devices.len());
        if devices != wanted {
            return Err(SavedPlanError::Devices { devices, wanted });
        }
        // Every series has one entry for each slot.
        let slots = plan.slots.len();
        let check = |field, index, name, entries| {
            if entries == slots {
                return Ok(());
            }
            Err(SavedPlanError::Entries { field, index, name, entries, slots })
        };
        for (index, device) in plan.devices.iter().enumerate() {
            check("devices", index, "power_kw", device.power.len())?;
            check("devices", index, "power_max_kw", device.power_max.len())?;
            if !device.soc.is_empty() {
                // The states of charge have one more entry, for the end of the last slot.
                check("devices", index, "soc_percent", device.soc.len() - 1)?;
            }
            check_intervals(&periods, device.intervals.iter().map(|i| (i.start, i.end)))?;
        }
        for (index, limit) in plan.limits.iter().enumerate() {
            check("limits", index, "limit_kw", limit.limit.len())?;
            check("limits", index, "power_kw", limit.power.len())?;
            check("limits", index, "shadow_price_per_kwh", limit.shadow_price.len())?;
        }
        Ok(())
    }

    fn curves<'a>(&'a self, (): &'a ()) -> PriceCurves<'a> {
        PriceCurves { import: &self.import_prices, export: self.export_prices.as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::request::Target;
    use crate::plan::record::saved_run::tests::{assert_replays, text_of};
    use crate::plan::record::saved_run::{SavedPlan, SavedRun};
    use crate::plan::site::device::{Device, Vehicle};
    use crate::plan::site::request::Limit;
    use crate::plan::site::series::Series;
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh};

    fn bundle(cents: &[i32], energies: &[f64], limit: f64) -> SavedPlan {
        let now = "2026-01-05T18:00:00Z".parse().unwrap();
        let mut request = SiteRequest::new(curve_of(60, cents), now);
        request.export_prices = Some(curve_of(60, cents));
        for (index, &energy) in energies.iter().enumerate() {
            let mut van = Vehicle::new(format!("van {index}"), kw(11.0));
            van.targets.push(Target { by: None, energy: kwh(energy) });
            request.devices.push(Device::Vehicle(van));
        }
        let power = Series::Constant(kw(limit));
        request.import_limit = Some(Limit { power, breach_price: None });
        SavedPlan::new("EUR", SavedRun::new((), request).unwrap())
    }

    #[test]
    fn a_plan_whose_parts_do_not_fit_is_refused() {
        let text = text_of(&bundle(&[30, 10], &[5.0], 11.0));
        let refusal = |from: &str, to: &str| {
            assert!(text.contains(from), "{text}");
            let error = serde_json::from_str::<SavedPlan>(&text.replacen(from, to, 1)).unwrap_err();
            error.to_string().split(" at line").next().unwrap().to_owned()
        };
        assert_eq!(
            refusal(r#""power_max_kw":[11.0,11.0]"#, r#""power_max_kw":[11.0]"#),
            "plan: devices[0].power_max_kw has 1 entries; the plan has 2 slots"
        );
        assert_eq!(
            refusal(r#""limit_kw":[11.0,11.0]"#, r#""limit_kw":[]"#),
            "plan: limits[0].limit_kw has 0 entries; the plan has 2 slots"
        );
    }

    #[test]
    fn a_plan_for_other_devices_is_refused() {
        let run = |energies: &[f64]| match bundle(&[30, 10], energies, 11.0).recorded {
            crate::plan::record::saved_run::Recorded::Site(run) => run,
            other => panic!("{} is no site", other.kind()),
        };
        let flaw = run(&[5.0]).request().check(run(&[5.0, 6.0]).plan()).unwrap_err();
        assert_eq!(flaw.to_string(), "devices has 2 entries; the site has 1 devices");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_plan_replays_to_the_byte(
            cents in prop::collection::vec(-50..90i32, 0..8),
            energies in prop::collection::vec(0.0..40.0f64, 0..3),
            limit in 0.0..20.0f64,
        ) {
            assert_replays(&bundle(&cents, &energies, limit))?;
        }
    }
}
