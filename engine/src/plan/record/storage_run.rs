//! Saved runs of batteries.
use crate::plan::record::price_sources::{GridPrices, PriceCurves};
use crate::plan::record::refused_request::RefusedRequest;
use crate::plan::record::saved_plan_error::{
    SavedPlanError, check_entry, check_intervals, check_slot,
};
use crate::plan::record::saved_run::Replay;
use crate::plan::storage::plan::{StoragePlan, Wish};
use crate::plan::storage::planner::plan_storage;
use crate::plan::storage::request::{StorageProblem, StorageRequest};
use crate::time::horizon::Horizon;

impl Replay for StorageRequest {
    type Prices = GridPrices;
    type Problem<'a> = StorageProblem;
    type Plan = StoragePlan;

    fn problem(&self, _: &GridPrices) -> Result<StorageProblem, RefusedRequest> {
        Ok(StorageProblem::new(self.clone())?)
    }

    fn plan(prices: &GridPrices, problem: &StorageProblem) -> Result<StoragePlan, RefusedRequest> {
        Ok(plan_storage(&prices.import, prices.export.as_deref(), problem))
    }

    fn check(&self, plan: &StoragePlan) -> Result<(), SavedPlanError> {
        let slots = Horizon::new(plan.slots.iter().map(|slot| (slot.start, slot.end)))?;
        check_intervals(&slots, plan.intervals.iter().map(|i| (i.start, i.end)))?;
        for (index, slot) in plan.slots.iter().enumerate() {
            check_slot(index, slot.charged, slot.charge_max)?;
            check_slot(index, slot.discharged, slot.discharge_max)?;
            if let Wish::Target { target } = slot.wish {
                check_entry(("slots", index), "target", target, plan.targets.len())?;
            }
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

    use chrono::{DateTime, TimeDelta, Utc};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::vehicle::{Battery, SocTarget};
    use crate::plan::record::saved_run::tests::{assert_replays, text_of};
    use crate::plan::record::saved_run::{SavedPlan, SavedRun};
    use crate::plan::storage::request::{Consumption, StorageLimit};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, per_kwh, percent};

    fn at(minute: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minute)
    }

    fn request(soc: f64) -> StorageRequest {
        let battery = Battery {
            capacity: kwh(50.0),
            soc: Some(percent(soc)),
            soc_fallback: None,
            charge_limit: percent(90.0),
            efficiency: 0.93,
        };
        StorageRequest {
            efficiency_discharge: 0.95,
            ..StorageRequest::new(at(0), battery, kw(11.0))
        }
    }

    fn bundle(import: &[i32], export: Option<&[i32]>, request: StorageRequest) -> SavedPlan {
        let curve = |cents: &[i32]| Arc::new(curve_of(30, cents));
        let prices = GridPrices { import: curve(import), export: export.map(curve) };
        SavedPlan::new("EUR", SavedRun::new(prices, request).unwrap())
    }

    #[test]
    fn a_plan_whose_parts_do_not_fit_is_refused() {
        let mut wishes = request(50.0);
        wishes.targets.push(SocTarget { by: None, soc: Some(percent(70.0)) });
        let text = text_of(&bundle(&[30, 10], Some(&[20, 5]), wishes));
        let refusal = |from: &str, to: &str| {
            assert!(text.contains(from), "{text}");
            let error = serde_json::from_str::<SavedPlan>(&text.replacen(from, to, 1)).unwrap_err();
            error.to_string().split(" at line").next().unwrap().to_owned()
        };
        assert_eq!(
            refusal(r#""wish":"target","target":0"#, r#""wish":"target","target":1"#),
            "plan: slots[1].target is 1; the plan has 1 targets"
        );
        assert_eq!(
            refusal(r#""discharged_kwh":0.0,"driven"#, r#""discharged_kwh":-1.0,"driven"#),
            "plan: slots[0] has -1 kWh at 11 kW; both are 0 or more"
        );
        assert_eq!(
            refusal(r#""efficiency_discharge":0.95"#, r#""efficiency_discharge":0.0"#),
            "request: discharge_efficiency is 0; it lies between 0.01 and 1"
        );
    }

    #[test]
    fn a_loss_of_nothing_is_written_as_it_is_read() {
        let mut request = request(0.0);
        request.end_value = Some(per_kwh(-0.3));
        request.targets.push(SocTarget { by: Some(at(1)), soc: Some(percent(0.0)) });
        let bundle = bundle(&[], None, request);
        assert!(!text_of(&bundle).contains("-0.0"));
        assert_replays(&bundle).unwrap();
    }

    proptest! {
        #[test]
        fn any_plan_replays_to_the_byte(
            import in prop::collection::vec(-50..90i32, 0..30),
            export in prop::option::of(prop::collection::vec(-50..90i32, 0..30)),
            soc in 0.0..=100.0f64,
            reserve in 0.0..=100.0f64,
            targets in prop::collection::vec((-60..900i64, 0.0..=100.0f64), 0..3),
            drive in prop::option::of((0..500i64, 0.0..70.0f64)),
            limit in prop::option::of((0..500i64, 0.0..9.0f64)),
            (end_value, wear) in (-0.5..0.5f64, 0.0..0.2f64),
        ) {
            let mut request = request(soc);
            request.reserve = percent(reserve);
            request.targets = targets
                .iter()
                .map(|&(by, soc)| SocTarget { by: Some(at(by)), soc: Some(percent(soc)) })
                .collect();
            request.consumption.extend(drive.map(|(minute, energy)| Consumption {
                start: at(minute),
                end: at(minute + 70),
                energy: kwh(energy),
                is_plugged_in: false,
            }));
            request.limits.extend(limit.map(|(minute, power)| StorageLimit {
                start: at(minute),
                end: at(minute + 40),
                charge_max: Some(kw(power)),
                discharge_max: None,
                soc_min: Some(percent(30.0)),
                soc_max: None,
            }));
            (request.end_value, request.wear_price) = (Some(per_kwh(end_value)), per_kwh(wear));
            assert_replays(&bundle(&import, export.as_deref(), request))?;
        }
    }
}
