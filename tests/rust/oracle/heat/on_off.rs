//! Plans of units that are on or off against mixed-integer programmes on HiGHS: rules, bounds, gap.
use std::cell::RefCell;

use chrono::TimeDelta;
use proptest::prelude::*;
use proptest::sample::select;
use slackwater_engine::plan::heat::{HeatPlan, OnOff};
use slackwater_engine::plan::switching::DeviceState;
use slackwater_engine::units::Energy;

use super::case::cases;
use super::on_off_milp::{Goal, Outcome, Switched, outcome, search, slots};
use super::planner::{at, plan_unit};
use crate::census::Census;
use crate::runner::for_all;

/// HiGHS leaves open this part of a value, or of 1.
const PART: f64 = 1e-6;

fn switched(slots_max: usize) -> BoxedStrategy<Switched> {
    let least = || select(vec![0, 0, 15, 30, 45, 90]);
    let state = prop::option::of((any::<bool>(), 0..120_i32));
    (cases(slots_max), least(), least(), state)
        .prop_map(|(case, on_min, off_min, state)| {
            let state = state.map(|(is_on, ago)| (is_on, case.now - ago));
            Switched { case, on_min, off_min, state }
        })
        .boxed()
}

fn plan_switched(switched: &Switched) -> HeatPlan {
    let minutes = |minutes: i32| TimeDelta::minutes(i64::from(minutes));
    let state = match switched.state {
        None => DeviceState::Off,
        Some((true, since)) => DeviceState::RunningSince(at(since)),
        Some((false, since)) => DeviceState::StoppedSince(at(since)),
    };
    let on_off =
        OnOff { on_min: minutes(switched.on_min), off_min: minutes(switched.off_min), state };
    plan_unit(&switched.case, Some(on_off))
}

fn schedule(plan: &HeatPlan) -> Vec<bool> {
    plan.slots.iter().map(|slot| slot.used > Energy::ZERO).collect()
}

/// Runs and pauses that are shorter than their least time and not ended by the plan.
fn breaches(switched: &Switched, schedule: &[bool]) -> usize {
    let (mut was_on, mut since) = switched.state.unwrap_or((false, -1_000_000));
    let (mut breaches, mut is_first) = (0, true);
    for (slot, &is_on) in slots(switched).iter().zip(schedule) {
        if is_on == was_on {
            continue;
        }
        let least = if was_on { switched.on_min } else { switched.off_min };
        let is_ended = is_first && was_on && slot.kw <= 0.0;
        breaches += usize::from(slot.start - since < least && !is_ended);
        (was_on, since, is_first) = (is_on, slot.start, false);
    }
    breaches
}

/// Middle value.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Checks a plan against a schedule of the solver: no schedule has less than the bounds.
fn check_bounds(plan: &HeatPlan, found: Outcome) -> Result<(), TestCaseError> {
    let certificate = &plan.certificate;
    let price = certificate.evidence.degree_hour_price;
    let outside = certificate.degree_hours_bound;
    prop_assert!(found.degree_hours >= outside - 1e-9 * outside.max(1.0), "{outside} {found:?}");
    let least = certificate.bound.as_amount() + price * certificate.degree_hours;
    let weighted = found.cost + price * found.degree_hours;
    prop_assert!(least <= weighted + 1e-9 * weighted.abs().max(1.0), "{least} {found:?} {price}");
    Ok(())
}

#[test]
fn on_off_plans_lie_between_their_bounds_and_the_optimum() {
    let census = RefCell::new(Census::default());
    let gaps = RefCell::new([(); 4].map(|()| Vec::new()));
    for_all(250, &switched(12), |switched| {
        let plan = plan_switched(&switched);
        let schedule = schedule(&plan);
        prop_assert_eq!(breaches(&switched, &schedule), 0, "{:?}", schedule);
        let certificate = &plan.certificate;
        let own = Outcome { degree_hours: certificate.degree_hours, cost: plan.cost.as_amount() };
        let exact = outcome(&switched, &schedule);
        prop_assert!((own.cost - exact.cost).abs() <= PART * exact.cost.abs().max(1.0), "{own:?}");
        prop_assert!((own.degree_hours - exact.degree_hours).abs() <= PART, "{exact:?}");
        if schedule.is_empty() {
            return Ok(());
        }
        let (least, closest) = search(&switched, Goal::DegreeHours).expect("there is a schedule");
        prop_assert_eq!(breaches(&switched, &closest), 0, "the model, {:?}", closest);
        check_bounds(&plan, outcome(&switched, &closest))?;
        prop_assert!(own.degree_hours >= least - PART * least.max(1.0), "{own:?} {least}");
        let (cost, cheapest) =
            search(&switched, Goal::CostAt(own.degree_hours)).expect("the plan is one");
        check_bounds(&plan, outcome(&switched, &cheapest))?;
        let scale = cost.abs().max(1.0);
        prop_assert!(own.cost >= cost - PART * scale, "{own:?} {cost}");
        let bound = certificate.bound.as_amount();
        prop_assert!(bound <= own.cost, "{bound} {own:?}");
        let turnover = own.cost.abs().max(cost.abs()).max(0.01);
        let [gap, distance, outside_gap, outside] = &mut *gaps.borrow_mut();
        gap.push((own.cost - bound) / turnover);
        distance.push((own.cost - cost).max(0.0) / turnover);
        outside_gap.push(certificate.degree_hours_gap());
        outside.push((own.degree_hours - least).max(0.0));
        census.borrow_mut().count(&[
            ("the band is held", own.degree_hours <= 1e-9),
            ("least degree-hours", own.degree_hours <= least + PART),
            ("least cost at its degree-hours", own.cost <= cost + PART * scale),
            ("a gap below a percent", own.cost - bound <= 0.01 * turnover),
            ("proved", certificate.is_proved()),
            ("a least time on", switched.on_min > 0),
            ("a least time off", switched.off_min > 0),
            ("a state from before", switched.state.is_some()),
            ("switches", schedule.windows(2).any(|pair| pair[0] != pair[1])),
            ("a limit that forbids", slots(&switched).iter().any(|slot| slot.kw <= 0.0)),
            ("cools", switched.case.cools),
        ]);
        Ok(())
    });
    let [gap, distance, outside_gap, outside] = gaps.into_inner();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    println!(
        "mean distance from the optimum: {:.2e}, {:.2e} °C·h",
        mean(&distance),
        mean(&outside)
    );
    println!("mean gap: {:.2e}, {:.2e} °C·h", mean(&gap), mean(&outside_gap));
    let medians = [gap, distance, outside_gap, outside].map(median);
    println!(
        "median gap {:.2e}, distance {:.2e}; °C·h {:.2e}, {:.2e}",
        medians[0], medians[1], medians[2], medians[3]
    );
    let census = census.into_inner();
    census.assert_each(0.02);
    assert!(medians[0] < 0.05, "median gap {}", medians[0]);
    assert!(census.share("least degree-hours") > 0.9);
    assert!(census.share("least cost at its degree-hours") > 0.9);
}
