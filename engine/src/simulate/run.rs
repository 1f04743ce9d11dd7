//! A simulation: realised cost, hindsight optimum, cost without planning, regret.
use chrono::TimeDelta;
use rayon::prelude::*;

use crate::simulate::cheapest::cheapest_periods;
use crate::simulate::command::Command;
use crate::simulate::device::ExactDevice;
use crate::simulate::exact::{ExactMoney, Milliwatts};
use crate::simulate::facts::{Facts, Stay};
use crate::simulate::forecast::ForecastBook;
use crate::simulate::policy::{Policy, Replanner};
use crate::simulate::receding_horizon::{Course, Stopped, decision_instants};
use crate::simulate::regret::{RUNGS, RegretParts, Relaxation};
use crate::simulate::session::{Session, Step};
use crate::simulate::settlement::Meter;
use crate::statistics::fixed::Amount;
use crate::time::instant::micros_of;
use crate::units::Money;

/// Settings of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulationOptions {
    /// Time from one decision to the next; decisions fall on its multiples since 1970.
    pub step: TimeDelta,
    /// Length of the horizon of planning; `None` plans to the departure.
    pub horizon: Option<TimeDelta>,
    /// True to split the regret, which runs the policy again under relaxed conditions.
    pub splits_regret: bool,
    /// True to keep a row for each decision of each stay.
    pub keeps_steps: bool,
}

impl Default for SimulationOptions {
    fn default() -> Self {
        Self {
            step: TimeDelta::minutes(15),
            horizon: None,
            splits_regret: true,
            keeps_steps: false,
        }
    }
}

/// A length of time that is not positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{name} is {minutes} minutes; it is longer than 0")]
pub struct LengthError {
    /// Name of the option.
    pub name: &'static str,
    /// Its length in minutes.
    pub minutes: i64,
}

impl SimulationOptions {
    /// Checks the lengths.
    ///
    /// # Errors
    /// The step or the horizon is not positive.
    pub fn check(&self) -> Result<(), LengthError> {
        let lengths = [("step", Some(self.step)), ("horizon", self.horizon)];
        for (name, length) in lengths {
            if let Some(length) = length.filter(|length| *length <= TimeDelta::zero()) {
                return Err(LengthError { name, minutes: length.num_minutes() });
            }
        }
        Ok(())
    }

    /// The step in microseconds.
    pub(crate) fn step_micros(&self) -> i64 {
        self.step.num_microseconds().unwrap_or(i64::MAX).max(1)
    }
}

/// Outcome of one stay.
#[derive(Debug, Clone, PartialEq)]
pub struct StayOutcome {
    /// Energy drawn at the plug, in kWh.
    pub energy_kwh: f64,
    /// Energy at the plug that is missing at the departure, in kWh.
    pub shortfall_kwh: f64,
    /// Number of times that the device was switched on.
    pub starts: u32,
    /// Number of decisions.
    pub decisions: u32,
    /// Realised cost: energy at settled prices, starts, and missing energy at its price.
    pub cost: Amount,
    /// Part of the cost that is for missing energy.
    pub shortfall_cost: Amount,
    /// Least cost of an ideal device that knew every price from the start.
    pub hindsight_cost: Amount,
    /// Cost without planning: the device charges at full power from its arrival.
    pub baseline_cost: Amount,
    /// Emissions of the energy from the grid in kg, and those of the baseline; `None` where they are
    /// not counted.
    pub carbon_kg: Option<(f64, f64)>,
    /// Parts of the regret, if it was split.
    pub regret: Option<RegretParts>,
    /// Decisions with what was drawn until the next one, if they were kept.
    pub steps: Vec<Step>,
}

/// Runs a policy over all stays in a receding horizon and settles it at the facts.
///
/// `report` is called with the share of the work that is done; it returns false to stop.
/// The outcomes are in the order of the stays. Same input, same outcome, on any number of threads.
///
/// Linear in decisions. With [`Replanner`] a decision takes about as long as a plan.
///
/// # Errors
/// The policy fails, or `report` returns false.
pub fn simulate<P: Policy>(
    facts: &Facts,
    book: &ForecastBook,
    policy: &P,
    options: &SimulationOptions,
    report: &mut dyn FnMut(f64) -> bool,
) -> Result<Vec<StayOutcome>, Stopped<P::Error>> {
    simulate_relaxed(facts, book, (policy, policy), options, report)
}

/// [`simulate`] with the built-in planner. Plans that need not stay close are part of the relaxed
/// conditions.
///
/// # Errors
/// `report` returns false.
pub fn simulate_replanner(
    facts: &Facts,
    book: &ForecastBook,
    budget: Option<Money>,
    options: &SimulationOptions,
    report: &mut dyn FnMut(f64) -> bool,
) -> Result<Vec<StayOutcome>, Stopped<<Replanner as Policy>::Error>> {
    let policies = (&Replanner { budget }, &Replanner { budget: None });
    simulate_relaxed(facts, book, policies, options, report)
}

/// Runs one policy, and another where switching is free.
fn simulate_relaxed<P: Policy>(
    facts: &Facts,
    book: &ForecastBook,
    (policy, unsteady): (&P, &P),
    options: &SimulationOptions,
    report: &mut dyn FnMut(f64) -> bool,
) -> Result<Vec<StayOutcome>, Stopped<P::Error>> {
    let instants = decision_instants(facts, book, options.step_micros());
    let is_steady = std::ptr::eq(policy, unsteady);
    let rungs =
        if options.splits_regret { needed_rungs(facts, options, is_steady) } else { vec![0] };
    let mut costs: Vec<[Amount; RUNGS + 1]> = vec![[Amount::ZERO; RUNGS + 1]; facts.stays().len()];
    let mut realised = Vec::new();
    for (position, &rung) in rungs.iter().enumerate() {
        let relaxed = Relaxation::first(rung);
        let horizon = if relaxed.horizon { None } else { options.horizon };
        let course = Course {
            facts,
            book,
            policy: if relaxed.switching { unsteady } else { policy },
            horizon: horizon.and_then(|length| length.num_microseconds()).unwrap_or(i64::MAX),
            relaxed,
            keeps_steps: rung == 0 && options.keeps_steps,
        };
        let share = |done: f64| (position as f64 + done) / rungs.len() as f64;
        let sessions = course.walk(&instants, &mut |done| report(share(done)))?;
        // A run that is not needed costs what the run before it costs.
        for (costs, session) in costs.iter_mut().zip(&sessions) {
            costs[rung..].fill(session.meter.total(facts).amount());
        }
        if rung == 0 {
            realised = sessions;
        }
    }
    let outcomes = realised.into_par_iter().zip(costs);
    Ok(outcomes
        .map(|(session, costs)| outcome(facts, session, costs, options.splits_regret))
        .collect())
}

/// Runs that may differ from the run before them.
fn needed_rungs(facts: &Facts, options: &SimulationOptions, is_steady: bool) -> Vec<usize> {
    let any = |is: fn(&Stay) -> bool| facts.stays().iter().any(is);
    let is_needed = |rung: &usize| match rung {
        0 | 1 => true,
        2 => options.horizon.is_some(),
        3 => !is_steady || any(|stay| stay.device.start_cost > Money::ZERO),
        4 => any(|stay| stay.device.power_min.as_kw() > 0.0),
        5 => any(|stay| stay.device.power_step.as_kw() > 0.0),
        _ => any(|stay| stay.device.efficiency < 1.0),
    };
    (0..=RUNGS).filter(is_needed).collect()
}

/// Outcome of a stay from its realised session and the costs of all runs.
fn outcome(
    facts: &Facts,
    session: Session,
    costs: [Amount; RUNGS + 1],
    splits_regret: bool,
) -> StayOutcome {
    let stay = &facts.stays()[session.row];
    let hindsight_cost = hindsight(facts, stay).amount();
    let cost = session.meter.total(facts).amount();
    let baseline = unplanned(facts, stay);
    let carbon_kg = (session.meter.carbon_kg, baseline.carbon_kg);
    StayOutcome {
        energy_kwh: session.meter.drawn.as_kwh(),
        shortfall_kwh: session.meter.missing.as_kwh(),
        starts: session.meter.starts,
        decisions: session.decisions,
        cost,
        // The energies of the steps add up to the rest of the cost.
        shortfall_cost: cost - session.meter.cost.amount(),
        hindsight_cost,
        baseline_cost: baseline.total(facts).amount(),
        carbon_kg: facts.intensity().map(|_| carbon_kg),
        regret: splits_regret.then(|| RegretParts::new(costs, hindsight_cost)),
        steps: session.steps,
    }
}

/// Least cost of a stay with an ideal device and all prices known: one plan, settled.
fn hindsight(facts: &Facts, stay: &Stay) -> ExactMoney {
    let (device, need) = Relaxation::first(RUNGS).device(stay);
    let mut meter = Meter::new(ExactDevice::new(&device), need);
    let span = (micros_of(stay.arrival), micros_of(stay.departure));
    let power = meter.device.power_max;
    let mut commands = Vec::new();
    cheapest_periods(facts.prices(), span, need.micros_at(power), power, |start, end| {
        commands.push(Command { start, end, power });
    });
    meter.settle(facts, &commands, span);
    meter.total(facts)
}

/// Meter of a stay that charges at full power from its arrival.
fn unplanned(facts: &Facts, stay: &Stay) -> Meter {
    let (device, need) = Relaxation::default().device(stay);
    let mut meter = Meter::new(ExactDevice::new(&device), need);
    let (start, end) = (micros_of(stay.arrival), micros_of(stay.departure));
    let command = Command { start, end, power: Milliwatts(i64::MAX).min(meter.device.power_max) };
    meter.settle(facts, &[command], (start, end));
    meter
}
