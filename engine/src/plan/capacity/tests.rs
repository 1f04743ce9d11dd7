//! Plans under prices of power: examples, rules, and all plans of tiny problems one by one.
use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bill::load::EarlierPeak;
use crate::bill::tariff::BillingTariff;
use crate::plan::capacity::certificate::{CapacityCertificateError, CapacityEvidence, certify};
use crate::plan::capacity::plan::{CapacityPlan, plan_capacity};
use crate::plan::capacity::planned_slot::CapacitySlot;
use crate::plan::capacity::request::{CapacityError, CapacityProblem, CapacityRequest, LoadPeriod};
use crate::plan::capacity::verify::verify;
use crate::plan::charge::vehicle::{Battery, SocTarget};
use crate::plan::storage::request::StorageRequest;
use crate::plan::verification::Stated;
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;
use crate::units::{Money, kw, kwh, money, per_kwh, percent};

/// A tariff in UTC with that price of power.
pub(crate) fn tariff(demand: &Value, charge: &Value) -> BillingTariff {
    serde_json::from_value(json!({
        "name": "Test", "operator": "Test", "country": "NO", "currency": "NOK",
        "time_zone": "UTC", "valid_from": "2020-01-01", "vat": "excluded",
        "sources": [{"document": "Test", "url": "https://example.org"}],
        "components": [{
            "id": "power", "kind": "capacity", "category": "network",
            "demand": demand, "charge": charge,
        }],
    }))
    .unwrap()
}

pub(crate) fn monthly(price: &str) -> BillingTariff {
    tariff(&json!({"window": "hour", "highest": 1}), &json!({"per": "month", "price": price}))
}

/// Steps of the mean of the three highest days, at 2, 5 and 8 kW.
fn three_days() -> BillingTariff {
    tariff(
        &json!({"window": "hour", "highest": 3, "one_per": "day"}),
        &json!({"per": "month", "at_threshold": "upper", "steps": [
            {"from": "0", "price": "1"}, {"from": "2", "price": "3"},
            {"from": "5", "price": "7"}, {"from": "8", "price": "16"},
        ]}),
    )
}

pub(crate) fn hour(hours: i64) -> DateTime<Utc> {
    "2026-01-05T00:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hours)
}

pub(crate) fn curve(prices: &[f64]) -> PriceCurve {
    let slots = (0..prices.len() as i64).map(|index| (hour(index), hour(index + 1)));
    PriceCurve::from_parts(Horizon::new(slots).unwrap(), prices.to_vec()).unwrap()
}

/// A battery of 20 kWh with 8 kW, half full, which may end empty.
pub(crate) fn request(tariff: BillingTariff, loads: &[f64]) -> CapacityRequest {
    let battery = Battery {
        capacity: kwh(20.0),
        soc: Some(percent(50.0)),
        soc_fallback: None,
        charge_limit: percent(100.0),
        efficiency: 0.9,
    };
    let mut storage = StorageRequest::new(hour(0), battery, kw(8.0));
    storage.efficiency_discharge = 0.95;
    storage.end_value = Some(per_kwh(0.0));
    let load = loads.iter().enumerate().map(|(index, &load)| LoadPeriod {
        start: hour(index as i64),
        end: hour(index as i64 + 1),
        power: kw(load),
    });
    CapacityRequest { storage, tariff, load: load.collect(), peaks: Vec::new() }
}

fn planned(prices: &[f64], request: CapacityRequest) -> CapacityPlan {
    let problem = CapacityProblem::new(request).unwrap();
    plan_capacity(&curve(prices), None, &problem).unwrap()
}

#[test]
fn a_dear_kilowatt_is_not_exceeded_for_cheap_energy() {
    // Two cheap hours: 10 kWh are charged at 8 kW if power is free, at 1.85 kW over six hours if not.
    let mut wish = request(monthly("5"), &[0.0; 6]);
    wish.storage.targets = vec![SocTarget { by: Some(hour(6)), soc: Some(percent(100.0)) }];
    let prices = [0.30, 0.10, 0.10, 0.30, 0.30, 0.30];
    let plan = planned(&prices, wish.clone());
    let month = plan.cost.months[0];
    assert!((month.power.as_kw() - 10.0 / 0.9 / 6.0).abs() < 1e-9, "{month:?}");
    assert!(plan.certificate.is_proved());
    assert!((plan.energy_alone.months[0].power.as_kw() - 8.0).abs() < 1e-9);
    assert!(plan.savings() > Money::ZERO);
    // Up to a power that was reached before, power is free.
    wish.peaks = vec![EarlierPeak { at: hour(-24), power: kw(5.0) }];
    let plan = planned(&prices, wish);
    assert!((plan.cost.months[0].power.as_kw() - 5.0).abs() < 1e-9);
    assert_eq!(plan.cost.power, Money::ZERO);
}

#[test]
fn a_battery_shaves_the_peak_of_the_house() {
    let loads = [1.0, 1.0, 6.0, 4.0, 1.0, 1.0];
    let plan = planned(&[0.2; 6], request(monthly("10"), &loads));
    // 9.5 kWh at the plug: 6 and 4 kW become the level that all hours can share.
    assert!(plan.cost.months[0].power.as_kw() < 2.0, "{:?}", plan.cost.months);
    assert!(plan.slots[2].discharged > kwh(4.0));
    assert!(plan.certificate.is_proved());
}

#[test]
fn a_step_is_not_entered_for_less_than_it_costs() {
    let mut wish = request(three_days(), &[0.0; 24]);
    wish.storage.targets = vec![SocTarget { by: Some(hour(24)), soc: Some(percent(100.0)) }];
    // Two earlier days of 4 kW: the third may have 6.999997 kW before the mean is 5 kW.
    wish.peaks = [-24, -48].map(|at| EarlierPeak { at: hour(at), power: kw(4.0) }).to_vec();
    let prices: Vec<f64> = (0..24).map(|index| if index == 3 { 0.1 } else { 0.3 }).collect();
    let plan = planned(&prices, wish);
    let month = plan.cost.months[0];
    assert!((month.power.as_kw() - 4.999_999).abs() < 1e-9, "{month:?}");
    assert_eq!(month.charge, money(3.0));
    assert!(plan.certificate.is_proved());
}

#[test]
fn a_power_before_that_rounding_puts_above_a_step_is_within_it() {
    let steps = tariff(
        &json!({"window": "hour", "highest": 3, "one_per": "day"}),
        &json!({"per": "month", "at_threshold": "lower", "steps": [
            {"from": "0", "price": "1"}, {"from": "5", "price": "7"},
        ]}),
    );
    let mut wish = request(steps, &[0.0; 24]);
    wish.storage.targets = vec![SocTarget { by: Some(hour(24)), soc: Some(percent(100.0)) }];
    // The mean is 5 kW, and 5.000000000000001 kW in floats.
    let peaks = [(-24, 6.4), (-48, 4.7), (-72, 3.9)];
    assert!(peaks.iter().map(|(_, power)| power).sum::<f64>() / 3.0 > 5.0);
    wish.peaks = peaks.map(|(at, power)| EarlierPeak { at: hour(at), power: kw(power) }).to_vec();
    let prices: Vec<f64> = (0..24).map(|index| if index == 3 { 0.1 } else { 0.3 }).collect();
    let plan = planned(&prices, wish);
    assert_eq!((plan.cost.power, plan.cost.months[0].charge), (Money::ZERO, money(1.0)));
    assert!(plan.slots[3].charged <= kwh(3.9 + 1e-6), "{:?}", plan.slots[3]);
    assert!(plan.certificate.is_proved());
}

#[test]
fn a_reserve_beyond_full_power_is_told() {
    // From 10 kWh; 8 kW for an hour store 7.2 kWh.
    let floor_shortfall = |reserve| {
        let mut wish = request(monthly("0"), &[0.0; 4]);
        wish.storage.reserve = percent(reserve);
        planned(&[0.1; 4], wish).floor_shortfall.as_kwh()
    };
    assert!((floor_shortfall(90.0) - 0.8).abs() < 1e-9, "{}", floor_shortfall(90.0));
    assert_eq!((floor_shortfall(80.0), floor_shortfall(0.0)), (0.0, 0.0));
}

#[test]
fn the_plan_that_is_cheapest_in_energy_keeps_the_charge_limit() {
    // From 90 % it may discharge and not charge again above its limit of 50 %.
    let mut wish = request(monthly("0"), &[5.0; 4]);
    wish.storage.battery.soc = Some(percent(90.0));
    wish.storage.battery.charge_limit = percent(50.0);
    (wish.storage.discharge_max, wish.storage.end_value) = (kw(4.0), Some(per_kwh(0.5)));
    let plan = planned(&[0.9, 0.1, 0.9, 0.1], wish);
    assert!(plan.savings().as_amount().abs() < 1e-9, "{:?} {:?}", plan.cost, plan.energy_alone);
}

#[test]
fn a_large_load_leaves_the_energies_of_the_battery_as_they_are() {
    // Sums with the load are rounded to 2e-9 kWh, a hundred times that as stored energy.
    let load = 9_999_999.3;
    let mut wish = request(monthly("0"), &[load; 3]);
    wish.storage.efficiency_discharge = 0.01;
    wish.storage.discharge_max = kw(0.037);
    let plan = planned(&[0.1, 900.0, 0.1], wish);
    assert!((plan.slots[1].discharged - kwh(0.037)).as_kwh().abs() < 1e-12);
}

#[test]
fn rules_that_cannot_be_planned_are_named() {
    let check = |demand: Value, charge: Value, expected: &str| {
        let problem = CapacityProblem::new(request(tariff(&demand, &charge), &[])).unwrap();
        let found = plan_capacity(&curve(&[0.1]), None, &problem).unwrap_err();
        assert_eq!(found.to_string(), expected);
    };
    let price = json!({"per": "month", "price": "1"});
    check(
        json!({"window": "hour", "highest": 1, "skip": 10}),
        price.clone(),
        "component \"power\" leaves the highest powers out, which cannot be planned",
    );
    check(
        json!({"window": "hour", "highest": 3}),
        price.clone(),
        "component \"power\" takes several windows of one day, which cannot be planned",
    );
    check(
        json!({"window": "hour", "highest": 1, "months": 12, "of_months": "highest"}),
        price,
        "component \"power\" takes the highest of several months, which cannot be planned",
    );
    let problem = CapacityProblem::new(CapacityRequest {
        peaks: vec![EarlierPeak { at: hour(-1), power: kw(-1.0) }],
        ..request(monthly("1"), &[])
    });
    assert_eq!(problem.unwrap_err(), CapacityError::Peak { index: 0, kw: -1.0 });
}

#[test]
fn prices_within_a_window_are_averaged() {
    let quarters = (0..8).map(|index| {
        let start = hour(0) + TimeDelta::minutes(15 * index);
        (start, start + TimeDelta::minutes(15))
    });
    let prices = vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.5, 0.9];
    let curve = PriceCurve::from_parts(Horizon::new(quarters).unwrap(), prices).unwrap();
    let problem = CapacityProblem::new(request(monthly("1"), &[])).unwrap();
    let plan = plan_capacity(&curve, None, &problem).unwrap();
    let shown: Vec<f64> =
        plan.slots.iter().map(|slot| slot.import_price.unwrap().as_per_kwh()).collect();
    assert_eq!(shown.len(), 2);
    assert!((shown[0] - 0.25).abs() < 1e-12 && (shown[1] - 0.6).abs() < 1e-12);
}

/// Least cost of five hours of a battery of 4 kWh and 2 kW without losses, over all plans in whole
/// kWh, above the charge of the power before.
fn cheapest_in_whole_kwh(
    prices: &[f64],
    loads: &[f64],
    share: f64,
    (stored, before): (f64, f64),
    charge: impl Fn(f64) -> f64,
) -> f64 {
    let mut best = f64::INFINITY;
    for number in 0..5_usize.pow(5) {
        let (mut level, mut energy, mut power) = (stored, 0.0, before);
        let mut is_possible = true;
        for (slot, (price, load)) in prices.iter().zip(loads).enumerate() {
            let added = (number / 5_usize.pow(slot as u32) % 5) as f64 - 2.0;
            level += added;
            is_possible &= (0.0..=4.0).contains(&level);
            let metered = load + added;
            energy += metered * if metered < 0.0 { price * share } else { *price };
            power = f64::max(power, metered);
        }
        if is_possible {
            best = best.min(energy + charge(power) - charge(before));
        }
    }
    best
}

#[test]
fn a_certificate_does_not_take_any_numbers() {
    let plan = planned(&[0.2, 0.1, 0.4], request(monthly("0.1"), &[1.0, 1.0, 1.0]));
    let evidence = plan.certificate.evidence.clone();
    let check = |change: &dyn Fn(&mut CapacityPlan), expected: CapacityCertificateError| {
        let mut plan = plan.clone();
        change(&mut plan);
        assert_eq!(certify(&plan.slots, evidence.clone()).unwrap_err(), expected);
    };
    check(&|plan| plan.slots[1].end = hour(3), CapacityCertificateError::NotInOrder { slot: 2 });
    check(
        &|plan| plan.slots[0].charged = kwh(9.0),
        CapacityCertificateError::OutsideLimits {
            slot: 0,
            charged: kwh(9.0),
            discharged: plan.slots[0].discharged,
        },
    );
    check(
        &|plan| plan.slots[2].stored = kwh(9.0),
        CapacityCertificateError::Stored { slot: 2, stored: kwh(9.0), left: plan.slots[2].stored },
    );
    check(&|plan| plan.slots[1].group = Some(7), CapacityCertificateError::NoGroup { slot: 1 });
    // A price of power beyond that of the tariff bounds nothing: the search alone does.
    let mut slots = plan.slots.clone();
    slots[1].power_price_per_kw = crate::units::money(0.2);
    let certificate = certify(&slots, evidence).unwrap();
    assert_eq!(certificate.bound_by_values, None);
    assert_eq!(certificate.bound, certificate.evidence.searched.bound);
}

#[test]
fn a_verification_names_slots_whose_power_would_be_hidden() {
    let plan = planned(&[0.2, 0.1, 0.4], request(monthly("0.1"), &[1.0, 1.0, 1.0]));
    let certificate = &plan.certificate;
    let stated = Stated {
        cost: certificate.cost.as_amount(),
        bound: certificate.bound.as_amount(),
        gap: certificate.gap().as_amount(),
        is_proved: certificate.is_proved(),
    };
    let by_values = certificate.bound_by_values.map(Money::as_amount);
    let group_holds = |slots: &[CapacitySlot], evidence: &CapacityEvidence| {
        let checks = verify(slots, evidence, by_values, stated);
        checks.iter().find(|check| check.line == "slots[1].group").unwrap().holds()
    };
    assert!(group_holds(&plan.slots, &certificate.evidence));
    for weight in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        let mut slots = plan.slots.clone();
        slots[1].weight = weight;
        assert!(!group_holds(&slots, &certificate.evidence), "{weight}");
    }
    let mut evidence = certificate.evidence.clone();
    evidence.months[0].highest = 0;
    assert!(!group_holds(&plan.slots, &evidence));
}

#[test]
fn a_deadline_within_a_window_leaves_each_part_its_prices() {
    // Quarter-hours of 0.1, 0.3, 0.5 and 0.7 in one hour; the target cuts the hour in the middle.
    let quarters = (0..4).map(|index| {
        let start = hour(0) + TimeDelta::minutes(15 * index);
        (start, start + TimeDelta::minutes(15))
    });
    let horizon = Horizon::new(quarters).unwrap();
    let curve = PriceCurve::from_parts(horizon, vec![0.1, 0.3, 0.5, 0.7]).unwrap();
    let mut wish = request(monthly("0"), &[]);
    let by = hour(0) + TimeDelta::minutes(30);
    wish.storage.targets = vec![SocTarget { by: Some(by), soc: Some(percent(52.0)) }];
    let plan = plan_capacity(&curve, None, &CapacityProblem::new(wish).unwrap()).unwrap();
    let prices: Vec<f64> =
        plan.slots.iter().map(|slot| slot.import_price.unwrap().as_per_kwh()).collect();
    assert!((prices[0] - 0.2).abs() < 1e-12 && (prices[1] - 0.6).abs() < 1e-12, "{prices:?}");
}

prop_compose! {
    fn any_problem()(
        rule in 0..5,
        price in 0.0..6.0_f64,
        loads in prop::collection::vec(-3.0..6.0_f64, 60),
        (soc, target) in (0.0..=100.0_f64, prop::option::of((1..60_i64, 0.0..=100.0_f64))),
        (wear, end_value) in (0.0..0.1_f64, 0.0..0.4_f64),
        peaks in prop::collection::vec((1..100_i64, 0.0..9.0_f64), 0..4),
        day in 0..2_i64,
    ) -> CapacityProblem {
        let per_kw = json!({"per": "month", "price": format!("{price:.3}")});
        let tariff = match rule {
            0 => monthly(&format!("{price:.3}")),
            1 => tariff(
                &json!({"window": "hour", "highest": 1, "months": 12, "of_months": "mean",
                    "month_floor_kw": "2.5"}),
                &per_kw,
            ),
            2 => tariff(
                &json!({"window": "hour", "highest": 3, "one_per": "day", "weights": [
                    {"factor": "0.5", "when": {"times": ["22:00-06:00"]}}]}),
                &per_kw,
            ),
            3 => three_days(),
            _ => tariff(
                &json!({"window": "hour", "highest": 1}),
                &json!({"per": "month", "at_threshold": "lower", "steps": [
                    {"from": "0", "price": "1"}, {"from": "3", "price": "3"},
                    {"from": "6", "price": "8"}]}),
            ),
        };
        let mut request = request(tariff, &loads);
        // From the end of January on the plan has two months.
        let shift = TimeDelta::days(25 * day);
        for load in &mut request.load {
            (load.start, load.end) = (load.start + shift, load.end + shift);
        }
        request.storage.now = hour(0) + shift;
        request.storage.battery.soc = Some(percent(soc));
        (request.storage.wear_price, request.storage.end_value) = (per_kwh(wear), Some(per_kwh(end_value)));
        request.storage.targets = target
            .map(|(by, soc)| SocTarget { by: Some(hour(by) + shift), soc: Some(percent(soc)) })
            .into_iter()
            .collect();
        request.peaks = peaks
            .iter()
            .map(|&(back, power)| EarlierPeak { at: hour(-back) + shift, power: kw(power) })
            .collect();
        CapacityProblem::new(request).unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// All plans in whole kWh are tried. With steps one of them is optimal, because the limits of a
    /// step are whole kWh then; with a price per kW none is better than the plan.
    #[test]
    fn no_plan_in_whole_kwh_is_cheaper(
        prices in prop::collection::vec(-0.3..0.6_f64, 5),
        loads in prop::collection::vec(-1..4_i32, 5),
        (price, has_steps) in (0.0..0.6_f64, any::<bool>()),
        (before, stored, share) in (0..3_i32, 0..5_i32, 0.0..1.0_f64),
    ) {
        let loads: Vec<f64> = loads.into_iter().map(f64::from).collect();
        let demand = json!({"window": "hour", "highest": 1});
        let rule = if has_steps {
            tariff(&demand, &json!({"per": "month", "at_threshold": "lower", "steps": [
                {"from": "0", "price": "0"}, {"from": "1", "price": "0.4"},
                {"from": "3", "price": "0.9"}]}))
        } else {
            monthly(&format!("{price:.6}"))
        };
        let charge = |power: f64| match (has_steps, power) {
            (false, _) => format!("{price:.6}").parse::<f64>().unwrap() * power,
            (true, power) if power > 3.0 => 0.9,
            (true, power) => if power > 1.0 { 0.4 } else { 0.0 },
        };
        let mut wish = request(rule, &loads);
        wish.storage.battery = Battery {
            capacity: kwh(4.0),
            soc: Some(percent(f64::from(stored) * 25.0)),
            efficiency: 1.0,
            ..wish.storage.battery
        };
        wish.storage.efficiency_discharge = 1.0;
        (wish.storage.charge_max, wish.storage.discharge_max) = (kw(2.0), kw(2.0));
        wish.peaks = vec![EarlierPeak { at: hour(-1), power: kw(f64::from(before)) }];
        let (import, export) = (curve(&prices), curve(&prices.iter().map(|p| p * share).collect::<Vec<_>>()));
        let plan = plan_capacity(&import, Some(&export), &CapacityProblem::new(wish).unwrap()).unwrap();
        let best = cheapest_in_whole_kwh(&prices, &loads, share, (f64::from(stored), f64::from(before)), charge);
        let (cost, bound) = (plan.cost.total().as_amount(), plan.certificate.bound.as_amount());
        prop_assert!(bound <= best + 1e-9, "bound {bound}, best {best}");
        if plan.certificate.is_proved() {
            prop_assert!(cost <= best + 1e-9, "cost {cost}, best {best}");
            prop_assert!(!has_steps || cost >= best - 1e-9, "cost {cost}, best {best}");
        }
        // Selling for less than buying costs is convex, and so is every slot of such prices.
        let is_convex = prices.iter().all(|&price| price >= 0.0);
        prop_assert!(!is_convex || plan.certificate.is_proved());
    }

    /// With any prices the plan keeps its levels, and its bound is no more than its cost.
    #[test]
    fn plans_keep_limits_at_any_prices(
        problem in any_problem(),
        prices in prop::collection::vec(-0.3..0.6_f64, 60),
        selling in prop::collection::vec(-0.3..0.6_f64, 60),
    ) {
        let slots = (0..60).map(|index| {
            let start = problem.storage.request().now + TimeDelta::hours(index);
            (start, start + TimeDelta::hours(1))
        });
        let horizon = Horizon::new(slots).unwrap();
        let import = PriceCurve::from_parts(horizon.clone(), prices).unwrap();
        let export = PriceCurve::from_parts(horizon, selling).unwrap();
        let plan = plan_capacity(&import, Some(&export), &problem).unwrap();
        prop_assert!(plan.certificate.gap().as_amount() >= 0.0);
        let worse = plan.savings() + plan.certificate.gap();
        prop_assert!(worse.as_amount() >= -1e-6, "{:?} {:?}", plan.savings(), plan.certificate);
        for slot in &plan.slots {
            prop_assert!(kwh(-1e-9) <= slot.stored && slot.stored <= kwh(20.0 + 1e-9));
            prop_assert!(slot.charged <= kwh(8.0 + 1e-9) && slot.discharged <= kwh(8.0 + 1e-9));
            let level = slot.level.unwrap();
            prop_assert!(slot.power() <= level + kw(1e-9));
        }
    }
}
