//! The engine's storage planner behind plain numbers.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::plan::charge::{AfterDeadline, Battery, SocTarget};
use slackwater_engine::plan::storage::{
    Consumption, StorageCertificate, StorageLimit, StoragePlan, StorageProblem, StorageRequest,
    StorageSlot, certify, plan_storage,
};
use slackwater_engine::prices::curve::{self, PriceCurve};
use slackwater_engine::units::{Price, kw, kwh, per_kwh, percent};

use super::case::Case;
use super::checker::{Claim, Step};

/// Minute 0 of a case.
pub(crate) fn origin() -> DateTime<Utc> {
    DateTime::from_timestamp(1_767_571_200, 0).expect("midnight on 5 January 2026")
}

pub(crate) fn curve_of(slots: &[crate::case::Slot], origin: DateTime<Utc>) -> PriceCurve {
    let at = |minute: i32| origin + TimeDelta::minutes(i64::from(minute));
    let slot = |slot: &crate::case::Slot| curve::Slot {
        start: at(slot.start),
        end: at(slot.end),
        price: per_kwh(slot.price),
    };
    PriceCurve::new(&slots.iter().map(slot).collect::<Vec<_>>()).expect("slots in time order")
}

pub(crate) fn problem_of(case: &Case, origin: DateTime<Utc>) -> StorageProblem {
    let at = |minute: i32| origin + TimeDelta::minutes(i64::from(minute));
    let limit = |limit: &super::case::Limit| StorageLimit {
        start: at(limit.start),
        end: at(limit.end),
        charge_max: limit.charge_kw.map(kw),
        discharge_max: limit.discharge_kw.map(kw),
        soc_min: limit.least_percent.map(percent),
        soc_max: limit.most_percent.map(percent),
    };
    let drive = |drive: &super::case::Drive| Consumption {
        start: at(drive.start),
        end: at(drive.end),
        energy: kwh(drive.kwh),
        is_plugged_in: drive.plugged,
    };
    let target = |wish: &super::case::Wish| SocTarget {
        by: wish.by.map(at),
        soc: Some(percent(wish.percent)),
    };
    let request = StorageRequest {
        now: at(case.now),
        until: case.until.map(at),
        battery: Battery {
            capacity: kwh(case.capacity),
            soc: Some(percent(case.percent)),
            soc_fallback: None,
            charge_limit: percent(case.limit_percent),
            efficiency: case.efficiency,
        },
        efficiency_discharge: case.efficiency_out,
        charge_max: kw(case.charge_kw),
        discharge_max: kw(case.discharge_kw),
        limits: case.limits.iter().map(limit).collect(),
        targets: case.targets.iter().map(target).collect(),
        reserve: percent(case.reserve_percent),
        consumption: case.drives.iter().map(drive).collect(),
        end_value: Some(per_kwh(case.end_value)),
        wear_price: per_kwh(case.wear),
        after_deadline: if case.stops { AfterDeadline::Stop } else { AfterDeadline::Continue },
        previous: None,
    };
    StorageProblem::new(request).expect("a case that makes sense")
}

pub(crate) fn plan(case: &Case) -> StoragePlan {
    plan_from(case, origin())
}

pub(crate) fn plan_from(case: &Case, origin: DateTime<Utc>) -> StoragePlan {
    let import = curve_of(&case.import, origin);
    let export = case.export.as_ref().map(|slots| curve_of(slots, origin));
    plan_storage(&import, export.as_ref(), &problem_of(case, origin))
}

/// What a plan says of itself, in plain numbers.
pub(crate) fn claim(plan: &StoragePlan) -> Claim {
    let evidence = &plan.certificate.evidence;
    let step = |slot: &StorageSlot| Step {
        hours: (slot.end - slot.start).as_seconds_f64() / 3600.0,
        import: slot.import_price.map(Price::as_per_kwh),
        export: slot.export_price.map(Price::as_per_kwh),
        charge_kw: slot.charge_max.as_kw(),
        discharge_kw: slot.discharge_max.as_kw(),
        bought: slot.charged.as_kwh(),
        sold: slot.discharged.as_kwh(),
        drives: slot.driven.as_kwh(),
        level: slot.stored.as_kwh(),
        least: slot.stored_min.as_kwh(),
        most: slot.stored_max.as_kwh(),
        limit: slot.charge_limit.as_kwh(),
        value: slot.marginal_value.as_per_kwh(),
    };
    Claim {
        stored: evidence.stored_start.as_kwh(),
        efficiency: evidence.efficiency,
        efficiency_out: evidence.efficiency_discharge,
        wear: evidence.wear_price.as_per_kwh(),
        end_value: evidence.end_value.as_per_kwh(),
        steps: plan.slots.iter().map(step).collect(),
    }
}

/// What the engine says of a claim with other energies, levels and values
/// than those of its own plan; `None` if it refuses.
pub(crate) fn judge(plan: &StoragePlan, claim: &Claim) -> Option<StorageCertificate> {
    let mut slots = plan.slots.clone();
    for (slot, step) in slots.iter_mut().zip(&claim.steps) {
        slot.charged = kwh(step.bought);
        slot.discharged = kwh(step.sold);
        slot.stored = kwh(step.level);
        slot.marginal_value = per_kwh(step.value);
    }
    let mut evidence = plan.certificate.evidence;
    evidence.searched = None;
    certify(&slots, evidence).ok()
}
