//! The engine's heat planner behind plain numbers.
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use slackwater_engine::plan::charge::PowerLimit;
use slackwater_engine::plan::heat::{
    ComfortBand, CopPoint, HeatGain, HeatMode, HeatPlan, HeatProblem, HeatRequest, OnOff,
    OutdoorPeriod, SetBack, ThermalStore, plan_heat,
};
use slackwater_engine::prices::curve::{self, PriceCurve};
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{celsius, kw, kw_per_k, kwh_per_k, per_kwh};

use super::case::{Case, Period};

/// Minute 0 of a case: midnight on 5 January 2026.
pub(super) fn at(minute: i32) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::minutes(1_767_571_200 / 60 + i64::from(minute))
}

fn band((min, max): (f64, f64)) -> ComfortBand {
    ComfortBand { min: celsius(min), max: celsius(max) }
}

fn clock(minute: i32) -> HourMinute {
    HourMinute::parse(&format!("{:02}:{:02}", minute / 60, minute % 60)).expect("a time of day")
}

pub(crate) fn plan(case: &Case) -> HeatPlan {
    plan_unit(case, None)
}

/// Plans a case for a unit that modulates, or for one that is on or off.
pub(crate) fn plan_unit(case: &Case, on_off: Option<OnOff>) -> HeatPlan {
    let point = |outdoor, cop| CopPoint { outdoor: celsius(outdoor), cop };
    let outdoor = |period: &Period| OutdoorPeriod {
        start: at(period.start),
        end: at(period.end),
        temperature: celsius(period.value),
    };
    let gain = |period: &Period| HeatGain {
        start: at(period.start),
        end: at(period.end),
        power: kw(period.value),
    };
    let limit = |period: &Period| PowerLimit {
        start: at(period.start),
        end: at(period.end),
        power_max: kw(period.value),
    };
    let request = HeatRequest {
        now: at(case.now),
        until: Some(at(case.until)),
        store: ThermalStore { capacity: kwh_per_k(case.kwh_per_k), loss: kw_per_k(case.kw_per_k) },
        temperature: celsius(case.celsius),
        mode: if case.cools { HeatMode::Cool } else { HeatMode::Heat },
        power_max: kw(case.kw),
        power_limits: case.limits.iter().map(limit).collect(),
        cop: vec![point(-7.0, case.cops.0), point(12.0, case.cops.1)],
        outdoor: case.outdoor.iter().map(outdoor).collect(),
        gains: case.gains.iter().map(gain).collect(),
        comfort: band(case.band),
        set_backs: case
            .night
            .iter()
            .map(|night| SetBack {
                from: clock(night.from),
                to: clock(night.to),
                band: band(night.band),
            })
            .collect(),
        time_zone: Tz::UTC,
        end_value: per_kwh(case.end_value),
        on_off,
    };
    let slot = |slot: &crate::case::Slot| curve::Slot {
        start: at(slot.start),
        end: at(slot.end),
        price: per_kwh(slot.price),
    };
    let prices = PriceCurve::new(&case.slots.iter().map(slot).collect::<Vec<_>>());
    let problem = HeatProblem::new(request).expect("a case that makes sense");
    plan_heat(&prices.expect("slots in time order"), &problem)
}
