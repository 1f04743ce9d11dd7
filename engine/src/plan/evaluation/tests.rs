//! Laws of an evaluation.
use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;

use super::*;
use crate::plan::charge::greedy::plan_charge;
use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
use crate::plan::charge::vehicle::{Battery, SocTarget};
use crate::plan::storage::planner::plan_storage;
use crate::plan::storage::request::{StorageProblem, StorageRequest};
use crate::plan::switching::planner::plan_switching;
use crate::plan::switching::problem::SwitchingProblem;
use crate::plan::switching::timeline::tests::request_of;
use crate::prices::curve::PriceCurve;
use crate::prices::curve::tests::curve_of;
use crate::time::horizon::Horizon;
use crate::units::{Money, kw, kwh, money, per_kwh, percent};

/// Instant `minutes` after 5 January 2026, 18:00Z, at which the curves of tests start.
fn minute(minutes: i64) -> DateTime<Utc> {
    "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
}

fn prices(import: &PriceCurve) -> ConnectionFacts<'_> {
    ConnectionFacts::new(import)
}

fn near(one: Money, other: Money, scale: f64) -> bool {
    (one - other).as_amount().abs() <= 1e-12 * scale.max(1.0)
}

/// Plan of a need of kWh at 10 kW in hours of these cents.
fn charged(cents: &[i32], need: f64) -> (PriceCurve, crate::plan::charge::plan::Plan) {
    let curve = curve_of(60, cents);
    let request = ChargeRequest::new(minute(0), kw(10.0), Target { by: None, energy: kwh(need) });
    let plan = plan_charge(&curve, &ChargeProblem::new(request).unwrap());
    (curve, plan)
}

fn measured(kws: &[f64]) -> MeasuredPower {
    let periods = kws
        .iter()
        .enumerate()
        .map(|(hour, &power)| (minute(60 * hour as i64), minute(60 * hour as i64 + 60), kw(power)));
    MeasuredPower::new(periods).unwrap()
}

proptest! {
    /// At its own prices a plan of a vehicle costs what it cost, and so does its baseline.
    #[test]
    fn a_charge_plan_costs_at_its_own_prices_what_it_cost(
        cents in prop::collection::vec(-20..60i32, 1..60), step in prop::sample::select(vec![15, 60]),
        power in 1.0..22.0f64, targets in prop::collection::vec((1..3000i64, 0.0..80.0f64), 1..4),
        now in 0..600i64, reserve in 0.0..5.0f64,
    ) {
        let curve = curve_of(step, &cents);
        let mut request = ChargeRequest::new(
            minute(now), kw(power), Target { by: None, energy: kwh(0.0) },
        );
        request.reserve = kwh(reserve);
        request.targets = targets.iter().map(|&(by, energy)| Target {
            by: Some(minute(by)), energy: kwh(energy),
        }).collect();
        let plan = plan_charge(&curve, &ChargeProblem::new(request).unwrap());
        let found = evaluate_charge(&plan, &prices(&curve));
        let scale = plan.energy.as_kwh();
        prop_assert!(near(found.cost(), plan.cost, scale), "{:?} {:?}", found.cost(), plan.cost);
        prop_assert!(near(found.baseline.total(), plan.baseline_cost, scale));
        prop_assert!((found.import.as_kwh() - plan.energy.as_kwh()).abs() < 1e-9);
        prop_assert!(found.missing.is_empty());
    }

    /// At its own prices a plan of a battery costs what it cost, and so does its baseline.
    #[test]
    fn a_storage_plan_costs_at_its_own_prices_what_it_cost(
        cents in prop::collection::vec(-20..60i32, 1..40), spread in 0..20i32,
        soc in 0.0..100.0f64, target in 0.0..100.0f64, wear in 0.0..0.1f64, value in 0.0..0.3f64,
    ) {
        let battery = Battery {
            capacity: kwh(40.0), soc: Some(percent(soc)), soc_fallback: None,
            charge_limit: percent(100.0), efficiency: 0.9,
        };
        let mut request = StorageRequest::new(minute(0), battery, kw(7.0));
        request.discharge_max = kw(5.0);
        request.efficiency_discharge = 0.95;
        request.wear_price = per_kwh(wear);
        request.end_value = Some(per_kwh(value));
        let by = Some(minute(60 * cents.len() as i64));
        request.targets.push(SocTarget { by, soc: Some(percent(target)) });
        let import = curve_of(60, &cents);
        let sold: Vec<i32> = cents.iter().map(|cent| cent - spread).collect();
        let export = curve_of(60, &sold);
        let problem = StorageProblem::new(request.clone()).unwrap();
        let plan = plan_storage(&import, Some(&export), &problem);
        let facts = ConnectionFacts { export: Some(&export), ..prices(&import) };
        let found = evaluate_storage(&request, &plan, &facts);
        prop_assert!(near(found.cost(), plan.cost, 100.0), "{:?} {:?}", found.costs, plan.costs);
        let off = (found.baseline.total() - plan.baseline_cost).as_amount().abs();
        prop_assert!(off < 1e-8, "{:?} {:?}", found.baseline, plan.baseline_cost);
    }

    /// At its own prices a plan of a device that switches costs what it cost.
    #[test]
    fn a_switching_plan_costs_at_its_own_prices_what_it_cost(
        cents in prop::collection::vec(-20..60i32, 1..12), need in 0.0..60.0f64, start in 0.0..2.0f64,
    ) {
        let curve = curve_of(60, &cents);
        let mut request = request_of(need);
        request.start_cost = money(start);
        let plan = plan_switching(&SwitchingProblem::new(request, &curve).unwrap());
        let found = evaluate_switching(&plan, &prices(&curve));
        prop_assert!(near(found.cost(), plan.cost, 100.0), "{:?} {:?}", found.cost(), plan.cost);
        prop_assert_eq!(found.costs.other, plan.start_costs);
    }
}

#[test]
fn other_prices_are_paid_for_what_was_planned() {
    // Planned for the second hour, which turns out dear in its first quarter.
    let (_, plan) = charged(&[30, 10, 20], 5.0);
    let paid = curve_of(15, &[30, 30, 30, 30, 50, 10, 10, 10, 20, 20, 20, 20]);
    let found = evaluate_charge(&plan, &prices(&paid));
    // 5 kWh at 10 kW from 19:00: a quarter of an hour at 0.50 and one at 0.10.
    assert!(near(found.cost(), money(2.5 * 0.5 + 2.5 * 0.1), 1.0));
    assert!(near(found.baseline.total(), money(1.5), 1.0));
    assert!(near(found.savings().unwrap(), money(0.0), 1.0));
}

#[test]
fn solar_power_serves_the_load_first_and_the_peak_is_what_is_left() {
    let (curve, plan) = charged(&[30, 10, 20], 10.0);
    let (solar, load) = (measured(&[0.0, 6.0, 3.0]), measured(&[2.0, 1.0, 1.0]));
    let export = curve_of(60, &[5, 5, 5]);
    let facts = ConnectionFacts {
        export: Some(&export),
        solar: Some(&solar),
        load: Some(&load),
        demand: Some(DemandPrice::new(2.0, 1.0, 60).unwrap()),
        ..prices(&curve)
    };
    let found = evaluate_charge(&plan, &facts);
    // 2 kWh at 0.30, 10 + 1 − 6 at 0.10, and 2 kWh sold at 0.05.
    assert!(near(found.costs.import, money(0.6 + 0.5), 1.0));
    assert!(near(found.costs.export, money(0.1), 1.0));
    assert_eq!((found.from_solar, found.from_grid), (kwh(5.0), kwh(5.0)));
    assert_eq!((found.import, found.export), (kwh(7.0), kwh(2.0)));
    assert_eq!((found.peak, found.costs.demand), (Some(kw(5.0)), money(8.0)));
    // The baseline charges in the first hour beside the load.
    assert!(near(found.baseline.import, money(12.0 * 0.3), 1.0));
    assert!(near(found.baseline.demand, money(22.0), 1.0));
}

#[test]
fn missing_facts_are_listed_and_in_no_cost() {
    let (_, plan) = charged(&[30, 10, 5], 20.0);
    let found = evaluate_charge(&plan, &prices(&curve_of(60, &[30, 10])));
    assert!(near(found.cost(), money(1.0), 1.0));
    let lacks = |found: &Evaluation| -> Vec<(&str, i64, f64)> {
        let fact = |fact: &MissingFact| {
            let minutes = (fact.start - minute(0)).num_minutes();
            (fact.kind.as_str(), minutes, fact.energy.as_kwh())
        };
        found.missing.iter().map(fact).collect()
    };
    assert_eq!(lacks(&found), [("price", 120, 10.0)]);
    let (curve, solar) = (curve_of(60, &[30, 10, 5]), measured(&[0.0, 20.0]));
    let load = measured(&[1.0, 1.0]);
    let facts = ConnectionFacts { solar: Some(&solar), ..prices(&curve) };
    assert_eq!(lacks(&evaluate_charge(&plan, &facts)), [("solar", 120, 10.0)]);
    let facts = ConnectionFacts { load: Some(&load), ..prices(&curve) };
    assert_eq!(lacks(&evaluate_charge(&plan, &facts)), [("load", 120, 10.0)]);
    let export = curve_of(60, &[5]);
    let all_day = measured(&[0.0, 20.0, 0.0]);
    let facts = ConnectionFacts { export: Some(&export), solar: Some(&all_day), ..prices(&curve) };
    assert_eq!(lacks(&evaluate_charge(&plan, &facts)), [("export_price", 60, 10.0)]);
}

#[test]
fn savings_compare_the_same_energy_or_are_none() {
    // All of the plan is in the last two hours, and the baseline in the first two.
    let (curve, plan) = charged(&[30, 10, 5], 20.0);
    let found = evaluate_charge(&plan, &prices(&curve_of(60, &[30])));
    assert_eq!((found.cost(), found.savings()), (money(0.0), None));
    // The last two hours alone hold all of the plan, and half of the baseline.
    let found = evaluate_charge(&plan, &prices(&curve.between(minute(60), minute(180))));
    assert_eq!((found.missing.len(), found.savings()), (0, None));
    assert_eq!(found.baseline_missing, kwh(10.0));
    // A load without a price, in time without energy of the plan, is the same in both.
    let (_, plan) = charged(&[30, 10, 5, 40], 20.0);
    let load = measured(&[1.0; 4]);
    let facts = ConnectionFacts { load: Some(&load), ..prices(&curve) };
    let found = evaluate_charge(&plan, &facts);
    assert_eq!((found.missing.len(), found.missing[0].energy), (1, kwh(0.0)));
    assert!(near(found.savings().unwrap(), money(10.0 * 0.3 - 10.0 * 0.05), 1.0));
}

#[test]
fn emissions_cost_what_the_plan_was_made_with() {
    let energy = curve_of(60, &[30, 10, 20]);
    let emissions = curve_of(30, &[0, 0, 50, 70, 0, 0]);
    let summed = energy.plus(&emissions).unwrap();
    let request = ChargeRequest::new(minute(0), kw(10.0), Target { by: None, energy: kwh(15.0) });
    let plan = plan_charge(&summed, &ChargeProblem::new(request).unwrap());
    let facts = ConnectionFacts { emissions: Some(&emissions), ..prices(&energy) };
    let found = evaluate_charge(&plan, &facts);
    assert!(near(found.cost(), plan.cost, 1.0));
    assert!(near(found.baseline.total(), plan.baseline_cost, 1.0));
    // The baseline charges 5 kWh in the dirty hour, the first half at 0.50.
    assert!(near(found.baseline.other, money(5.0 * 0.5), 1.0));
    let short = curve_of(60, &[0]);
    let facts = ConnectionFacts { emissions: Some(&short), ..facts };
    let found = evaluate_charge(&plan, &facts);
    assert_eq!(found.missing[0].kind.as_str(), "emissions");
}

#[test]
fn energy_at_estimated_prices_is_told() {
    let (curve, plan) = charged(&[30, 10, 5], 15.0);
    let estimated = Horizon::new([(minute(90), minute(150))]).unwrap();
    let facts = ConnectionFacts { estimated: Some(&estimated), ..prices(&curve) };
    // 5 kWh until half past seven, 10 kWh in the last hour of which half is estimated.
    assert_eq!(evaluate_charge(&plan, &facts).on_estimates, kwh(5.0));
}

#[test]
fn facts_that_make_no_sense_are_refused() {
    let negative = MeasuredPower::new([(minute(0), minute(60), kw(-1.0))]).unwrap_err();
    assert_eq!(negative.to_string(), "value 0 is -1 kW; it is 0 kW or more");
    assert!(MeasuredPower::new([(minute(0), minute(0), kw(1.0))]).is_err());
    assert!(DemandPrice::new(1.0, 0.0, 7).is_err());
    assert!(DemandPrice::new(f64::NAN, 0.0, 15).is_err());
    assert_eq!(
        DemandPrice::new(-1.0, 0.0, 15).unwrap_err().to_string(),
        "a demand charge of -1 per kW above 0 kW in windows of 15 minutes; prices and peaks are 0 \
         or more, and windows divide a day"
    );
}

#[cfg(feature = "lp")]
mod site {
    use super::*;
    use crate::plan::site::device::Device;
    use crate::plan::site::planner::plan_site;
    use crate::plan::site::problem::SiteProblem;
    use crate::plan::site::request::tests::{
        at, demand, discharge, home, house, site, sun, tiers, van,
    };

    proptest! {
        /// At its own facts a plan of a site costs what it cost, and so does its baseline.
        #[test]
        fn a_site_plan_costs_at_its_own_prices_what_it_cost(
            cents in prop::collection::vec(1..60i32, 2..8), need in 0.0..20.0f64,
            sunshine in 0.0..9.0f64, load in 0.0..3.0f64, peak_price in 0.0..2.0f64,
        ) {
            let count = cents.len();
            let mut battery = home(4.0, 10.0, 50.0);
            battery.discharge = discharge(4.0);
            let devices = [
                Device::Vehicle(van("van", 6.0, need)),
                Device::Battery(battery),
                sun(&vec![sunshine; count], true),
                house(&vec![load; count]),
            ];
            let mut request = site(&cents, &devices);
            request.demand_charge = Some(demand(peak_price, 1.0));
            request.tiers = Some(tiers(&[(5.0, 0.0), (f64::INFINITY, 0.1)], 0.0));
            let plan = plan_site(&SiteProblem::new(request.clone()).unwrap());
            let found = evaluate_site(&request, &plan, &SiteFacts::default()).unwrap();
            prop_assert!(near(found.cost(), plan.cost, 100.0), "{:?} {:?}", found.costs, plan.costs);
            prop_assert!(near(found.savings().unwrap(), plan.savings(), 100.0));
            prop_assert_eq!(found.missing.len(), 0);
        }
    }

    #[test]
    fn loads_draw_what_was_measured_and_planned_devices_do_what_was_planned() {
        let devices =
            [Device::Vehicle(van("van", 5.0, 5.0)), house(&[1.0, 1.0]), sun(&[0.0, 4.0], true)];
        let request = site(&[30, 10], &devices);
        let plan = plan_site(&SiteProblem::new(request.clone()).unwrap());
        let (load, solar) = (measured(&[2.0, 3.0]), measured(&[1.0, 0.0]));
        let paid = curve_of(60, &[40, 20]);
        let facts = SiteFacts {
            import: Some(&paid),
            solar: Some(&solar),
            load: Some(&load),
            ..SiteFacts::default()
        };
        let found = evaluate_site(&request, &plan, &facts).unwrap();
        // 2 − 1 kWh at 0.40, and 5 + 3 at 0.20.
        assert!(near(found.cost(), money(0.4 + 1.6), 10.0), "{:?}", found.costs);
        assert_eq!((found.from_solar, found.from_grid), (kwh(0.0), kwh(5.0)));
        // Prices that end early leave the rest out, and say so.
        let facts = SiteFacts { import: Some(&curve_of(60, &[40])), ..SiteFacts::default() };
        let found = evaluate_site(&request, &plan, &facts).unwrap();
        assert!(near(found.cost(), money(0.4), 10.0));
        assert_eq!(found.missing.len(), 1);
        assert_eq!((found.missing[0].start, found.missing[0].end), (at(60), at(120)));
        // A load that is unknown for an hour is refused, and so is one without a device.
        let short = measured(&[2.0]);
        let facts = SiteFacts { load: Some(&short), ..SiteFacts::default() };
        assert!(evaluate_site(&request, &plan, &facts).is_err());
        let bare = site(&[30, 10], &[Device::Vehicle(van("van", 5.0, 5.0))]);
        let plan = plan_site(&SiteProblem::new(bare.clone()).unwrap());
        let facts = SiteFacts { load: Some(&load), ..SiteFacts::default() };
        assert_eq!(
            evaluate_site(&bare, &plan, &facts).unwrap_err().to_string(),
            "the plan has no load device to give load facts for"
        );
    }

    #[test]
    fn a_curtailed_solar_system_feeds_no_more_than_was_planned() {
        // Exporting costs money, so that only the load's 1 kW is fed.
        let mut request = site(&[10], &[sun(&[4.0], true), house(&[1.0])]);
        request.export_prices = Some(curve_of(60, &[-20]));
        let plan = plan_site(&SiteProblem::new(request.clone()).unwrap());
        let solar = measured(&[3.0]);
        let facts = SiteFacts { solar: Some(&solar), ..SiteFacts::default() };
        let found = evaluate_site(&request, &plan, &facts).unwrap();
        assert!(near(found.cost(), money(0.0), 10.0), "{:?}", found.costs);
    }
}
