//! Plans as they are kept: the wish, the outcome, and the plan that it stays close to.
use std::sync::Arc;

use chrono::TimeDelta;
use expect_test::expect_file;
use slackwater_engine::plan::Interval;
use slackwater_engine::plan::charge::{
    AfterDeadline, Battery, ChargeRequest, DurationRequest, PowerLimit, SocTarget, Target,
    VehicleRequest,
};
use slackwater_engine::plan::record::{
    PlanRecord, PlanRequest, PlanSummary, PreviousPlan, SteadyRequest,
};
use slackwater_engine::plan::stability::Budget;
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::units::{kw, kwh, money, per_kwh, percent};

use crate::at;
use crate::examples::Examples;

fn curve(cents: &[i32]) -> PriceCurve {
    let slot = |(hour, &cents): (i64, &i32)| {
        let price = per_kwh(f64::from(cents) / 100.0);
        Slot { start: at(60 * hour), end: at(60 * hour + 60), price }
    };
    let slots: Vec<Slot> = (0..).zip(cents).map(slot).collect();
    PriceCurve::new(&slots).expect("hours make a curve")
}

fn limits() -> Vec<PowerLimit> {
    vec![PowerLimit { start: at(60), end: at(90), power_max: kw(3.7) }]
}

fn charge() -> ChargeRequest {
    ChargeRequest {
        now: at(0),
        until: Some(at(600)),
        power_max: kw(11.0),
        power_limits: limits(),
        targets: vec![
            Target { by: Some(at(120)), energy: kwh(4.1) },
            Target { by: None, energy: kwh(12.5) },
        ],
        reserve: kwh(1.5),
        energy_max: Some(kwh(30.0)),
        charge_limit: Some(kwh(25.0)),
        after_deadline: AfterDeadline::Stop,
    }
}

fn vehicle() -> VehicleRequest {
    let battery = Battery {
        capacity: kwh(58.0),
        soc: Some(percent(41.3)),
        soc_fallback: Some(percent(20.0)),
        charge_limit: percent(90.0),
        efficiency: 0.93,
    };
    VehicleRequest {
        now: at(0),
        until: Some(at(600)),
        power_max: kw(7.4),
        power_limits: limits(),
        battery,
        targets: vec![
            SocTarget { by: Some(at(180)), soc: Some(percent(55.5)) },
            SocTarget { by: None, soc: None },
        ],
        reserve: percent(45.0),
        fill_when_negative: true,
        after_deadline: AfterDeadline::Continue,
    }
}

#[test]
fn plans_are_written_as_they_were() {
    let mut examples = Examples::default();
    let duration = DurationRequest {
        now: at(0),
        duration: TimeDelta::microseconds(5_400_000_001),
        by: Some(at(240)),
        power: kw(2.3),
    };
    let wishes = [
        PlanRequest::Charge(charge()),
        PlanRequest::Vehicle(vehicle()),
        PlanRequest::Duration(duration),
    ];
    for wish in &wishes {
        examples.add("Wish", wish);
    }
    let brief = PlanSummary {
        intervals: vec![
            Interval { start: at(0), end: at(21), power: kw(11.0) },
            Interval { start: at(60), end: at(83), power: kw(3.7) },
        ],
        energy: kwh(5.25),
        cost: money(1.3125),
        bound: money(1.3),
        baseline_cost: money(2.1),
        shortfall: kwh(0.1),
        marginal_price: Some(per_kwh(0.27)),
        unpriced_hours: 0.75,
    };
    examples.add("Brief", &brief);
    examples.add("Brief", &PlanSummary { marginal_price: None, ..brief });
    let (before, after) = (curve(&[30, 10, 20, -5]), curve(&[9, 10, 20, 40]));
    let wish = PlanRequest::Charge(ChargeRequest::new(
        at(0),
        kw(10.0),
        Target { by: None, energy: kwh(10.0) },
    ));
    let first = PlanRecord::new(&before, wish.clone()).expect("the wish makes sense");
    examples.add("Planned", &first);
    let known = PreviousPlan { planned: &first, curve: &before };
    let near = PlanRecord::close_to(&after, wish.clone(), known, money(4.0));
    let near = near.expect("the wish makes sense");
    let kept = near.kept_from.clone().expect("the plan stays where it was");
    examples.add("Planned", &near);
    examples.add("Planned", &PlanRecord { is_shared: true, ..first });
    examples.add("KeptFrom", &kept);
    let budget = Budget::new(money(2.5), money(0.25)).expect("a budget above what is spent");
    let previous = Arc::clone(&kept.previous);
    examples.add("KeptRequest", &SteadyRequest { wish, previous, budget });
    expect_file!["../../golden/json/plan.txt"].assert_eq(&examples.0);
}
