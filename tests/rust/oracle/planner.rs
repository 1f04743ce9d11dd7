//! The engine behind plain numbers: the only file that knows it.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::plan::charge::{
    self, AfterDeadline, ChargeEvidence, ChargeProblem, ChargeRequest, Plan, PlannedSlot,
    PowerLimit, TargetOutcome, certify, plan_charge,
};
use slackwater_engine::plan::stability::{Budget, SteadyPlan, plan_close_to};
use slackwater_engine::prices::curve::{self, PriceCurve};
use slackwater_engine::units::{Energy, Money, Price, kw, kwh, money, per_kwh};

use crate::case::Case;
use crate::checker::{Claim, Requirement, Slot, Verdict};

/// A period of charging, in minutes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) kw: f64,
}

/// What becomes of one target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) delivered: f64,
    pub(crate) shortfall: f64,
    /// In minutes.
    pub(crate) reached_at: Option<f64>,
}

/// What the engine plans, in plain numbers.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) cost: f64,
    pub(crate) baseline_cost: f64,
    pub(crate) energy: f64,
    /// One per target, in the order of the targets.
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) shortfall: f64,
    pub(crate) marginal_price: Option<f64>,
    pub(crate) unpriced_hours: f64,
    pub(crate) intervals: Vec<Interval>,
    /// The engine's own proof.
    pub(crate) certificate: Verdict,
    pub(crate) is_proved: bool,
    /// What that proof rests on.
    pub(crate) claim: Claim,
    plan: Plan,
}

/// Minute 0 of a case, unless it says otherwise.
fn origin() -> DateTime<Utc> {
    DateTime::from_timestamp(1_767_571_200, 0).expect("midnight on 5 January 2026")
}

pub(crate) fn plan(case: &Case) -> Answer {
    plan_from(case, origin())
}

/// Plans a case whose minutes count from `origin`.
///
/// # Panics
/// The case makes no sense: all cases of these tests do.
pub(crate) fn plan_from(case: &Case, origin: DateTime<Utc>) -> Answer {
    let (prices, request) = request(case, origin);
    let problem = ChargeProblem::new(request).expect("a case that makes sense");
    answer(plan_charge(&prices, &problem), origin)
}

/// What the engine plans close to an older plan, in plain numbers.
#[derive(Debug)]
pub(crate) struct Steady {
    pub(crate) cost: f64,
    pub(crate) change: f64,
    pub(crate) is_proved: bool,
    /// One per target, in the order of the targets.
    pub(crate) shortfalls: Vec<f64>,
}

/// Plans a case close to an older plan.
///
/// # Panics
/// The case makes no sense: all cases of these tests do.
pub(crate) fn steady(case: &Case, before: &Answer, budget: f64) -> Steady {
    let (prices, request) = request(case, origin());
    let problem = ChargeProblem::new(request).expect("a case that makes sense");
    let budget = Budget::new(money(budget), Money::ZERO).expect("a budget that makes sense");
    let SteadyPlan { plan, stability } = plan_close_to(&prices, &problem, &before.plan, budget);
    Steady {
        cost: plan.certificate.cost.as_amount(),
        change: stability.change.as_kwh(),
        is_proved: stability.is_proved(),
        shortfalls: plan.targets.iter().map(|target| target.shortfall.as_kwh()).collect(),
    }
}

fn request(case: &Case, origin: DateTime<Utc>) -> (PriceCurve, ChargeRequest) {
    let at = |minute: i32| origin + TimeDelta::minutes(i64::from(minute));
    let slot = |slot: &crate::case::Slot| curve::Slot {
        start: at(slot.start),
        end: at(slot.end),
        price: per_kwh(slot.price),
    };
    let slots: Vec<curve::Slot> = case.slots.iter().map(slot).collect();
    let prices = PriceCurve::new(&slots).expect("slots in time order");
    let limit = |limit: &crate::case::Limit| PowerLimit {
        start: at(limit.start),
        end: at(limit.end),
        power_max: kw(limit.kw),
    };
    let target = |target: &crate::case::Target| charge::Target {
        by: target.by.map(at),
        energy: kwh(target.kwh),
    };
    let request = ChargeRequest {
        now: at(case.now),
        until: case.until.map(at),
        power_max: kw(case.kw),
        power_limits: case.limits.iter().map(limit).collect(),
        targets: case.targets.iter().map(target).collect(),
        reserve: kwh(case.reserve_kwh),
        energy_max: case.energy_max_kwh.map(kwh),
        charge_limit: None,
        after_deadline: if case.stops { AfterDeadline::Stop } else { AfterDeadline::Continue },
    };
    (prices, request)
}

fn answer(plan: Plan, origin: DateTime<Utc>) -> Answer {
    let minute = |at: DateTime<Utc>| (at - origin).as_seconds_f64() / 60.0;
    let interval = |interval: &slackwater_engine::plan::Interval| Interval {
        start: minute(interval.start),
        end: minute(interval.end),
        kw: interval.power.as_kw(),
    };
    let outcome = |target: &TargetOutcome| Outcome {
        delivered: target.delivered.as_kwh(),
        shortfall: target.shortfall.as_kwh(),
        reached_at: target.reached_at.map(minute),
    };
    let certificate = &plan.certificate;
    Answer {
        cost: plan.cost.as_amount(),
        baseline_cost: plan.baseline_cost.as_amount(),
        energy: plan.energy.as_kwh(),
        outcomes: plan.targets.iter().map(outcome).collect(),
        shortfall: plan.shortfall.as_kwh(),
        marginal_price: plan.marginal_price.map(Price::as_per_kwh),
        unpriced_hours: plan.unpriced_hours,
        intervals: plan.intervals.iter().map(interval).collect(),
        certificate: Verdict {
            cost: certificate.cost.as_amount(),
            bound: certificate.bound.as_amount(),
        },
        is_proved: certificate.is_proved(),
        claim: claim(&plan, minute),
        plan,
    }
}

fn claim(plan: &Plan, minute: impl Fn(DateTime<Utc>) -> f64) -> Claim {
    let slot = |slot: &PlannedSlot| Slot {
        start: minute(slot.start),
        end: minute(slot.end),
        price: slot.price.as_per_kwh(),
        kw: slot.power_max.as_kw(),
        kwh: slot.energy.as_kwh(),
    };
    let evidence = &plan.certificate.evidence;
    let requirement = |requirement: &charge::Requirement| Requirement {
        by: requirement.by.map_or(f64::INFINITY, &minute),
        kwh: requirement.energy.as_kwh(),
        price: requirement.marginal_price.as_per_kwh(),
    };
    Claim {
        slots: plan.slots.iter().map(slot).collect(),
        at_once_kwh: evidence.at_once.as_kwh(),
        requirements: evidence.requirements.iter().map(requirement).collect(),
        energy_max_kwh: evidence.energy_max.map(Energy::as_kwh),
        surplus_price: evidence.surplus_price.as_per_kwh(),
    }
}

impl Answer {
    /// What the engine says of a claim with other energies and marginal
    /// prices than those of its own plan; `None` if it refuses.
    pub(crate) fn certify(&self, claim: &Claim) -> Option<(Verdict, bool)> {
        let mut slots = self.plan.slots.clone();
        for (slot, claimed) in slots.iter_mut().zip(&claim.slots) {
            slot.energy = kwh(claimed.kwh);
        }
        let mut evidence: ChargeEvidence = self.plan.certificate.evidence.clone();
        for (requirement, claimed) in evidence.requirements.iter_mut().zip(&claim.requirements) {
            requirement.marginal_price = per_kwh(claimed.price);
        }
        evidence.surplus_price = per_kwh(claim.surplus_price);
        let certificate = certify(&slots, evidence).ok()?;
        let (cost, bound) = (certificate.cost.as_amount(), certificate.bound.as_amount());
        Some((Verdict { cost, bound }, certificate.is_proved()))
    }

    /// Energy in each slot, summed over what was bought in it.
    pub(crate) fn purchased(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.plan.slots.len()];
        for purchase in &self.plan.purchases {
            sums[purchase.slot] += purchase.energy.as_kwh();
        }
        sums
    }
}
