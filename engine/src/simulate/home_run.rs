//! A simulation of homes with batteries, and vehicles beside them: the loop, realised cost, hindsight optimum, regret.
//!
//! Decisions fall on every multiple of the step, on every start of a settled price, and whenever a
//! forecast of prices becomes known; of a home also on every arrival of its vehicles. The regret is split as that of [stays](super::regret): of its
//! conditions a battery has `forecast`, `horizon` and `efficiency`, vehicles `power_min` and
//! `power_step` besides, and the parts of the others are zero. `forecast` is also that stays are not known before their arrival. `efficiency` relaxes the
//! losses of both directions, and those of vehicles. With foresight and without an end of
//! the horizon the built-in planner plans once, for the rest of a cheapest plan is the cheapest plan
//! of the rest.
use std::sync::Arc;

use chrono::TimeDelta;
use rayon::prelude::*;

use crate::prices::curve::PriceCurve;
use crate::simulate::command::{Command, HomeCommands};
use crate::simulate::device::{ChargeDevice, ExactDevice};
use crate::simulate::facts::Stay;
use crate::simulate::forecast::{ForecastBook, KnownPrices, Reader};
use crate::simulate::home::{Home, HomeFacts};
use crate::simulate::home_meter::HomeMeter;
use crate::simulate::home_policy::{HomeMemory, HomePolicy, HomeReplanner};
use crate::simulate::home_stay::StayMeter;
use crate::simulate::home_view::{HomeView, KnownTariff};
use crate::simulate::net_load::NetReader;
use crate::simulate::receding_horizon::Stopped;
use crate::simulate::regret::{RUNGS, RegretParts, Relaxation};
use crate::simulate::run::SimulationOptions;
use crate::simulate::view::Moment;
use crate::statistics::fixed::Amount;
use crate::time::instant::micros_of;
use crate::units::Power;

/// Homes that are simulated between two reports of progress.
const HOMES_PER_REPORT: usize = 64;

/// Time from one decision to the next, for one home.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HomeStep {
    /// First microsecond since 1970.
    pub start: i64,
    /// First microsecond after it.
    pub end: i64,
    /// Energy that the battery charged, less what it discharged, at the plug, in kWh.
    pub battery_kwh: f64,
    /// Energy that the vehicles of the home drew at their plugs, in kWh.
    pub vehicle_kwh: f64,
    /// Energy from the grid, in kWh.
    pub import_kwh: f64,
    /// Energy fed into the grid, in kWh.
    pub export_kwh: f64,
    /// Energy in the battery at the end, in kWh.
    pub stored_kwh: f64,
    /// Cost at the meter, and wear. The costs of all steps add up to that of the home, without the
    /// energy that is missing at its end.
    pub cost: Amount,
    /// Emissions of the energy from the grid in kg; 0 where they are not counted.
    pub carbon_kg: f64,
}

/// Outcome of one home.
#[derive(Debug, Clone, PartialEq)]
pub struct HomeOutcome {
    /// Energy from the grid, in kWh.
    pub import_kwh: f64,
    /// Energy fed into the grid, in kWh.
    pub export_kwh: f64,
    /// Energy at the plug that the battery charged, in kWh.
    pub charged_kwh: f64,
    /// Energy at the plug that the battery discharged, in kWh.
    pub discharged_kwh: f64,
    /// Energy at the plug that the battery lacks to its target at the end, in kWh.
    pub shortfall_kwh: f64,
    /// Energy that the vehicles of the home drew at their plugs, in kWh.
    pub vehicle_kwh: f64,
    /// Energy at the plug that its vehicles lack at their departures, in kWh.
    pub vehicle_shortfall_kwh: f64,
    /// Number of decisions.
    pub decisions: u32,
    /// Realised cost: at the meter, of wear, and of the missing energy.
    pub cost: Amount,
    /// Part of it that is for the missing energy.
    pub shortfall_cost: Amount,
    /// Least cost with a battery and vehicles without losses, with all known from the start.
    pub hindsight_cost: Amount,
    /// Cost with a battery that rests, and vehicles that charge at full power from their arrival.
    pub baseline_cost: Amount,
    /// Emissions of the energy from the grid in kg, and those of the baseline; `None` where they are
    /// not counted.
    pub carbon_kg: Option<(f64, f64)>,
    /// Parts of the regret, if it was split.
    pub regret: Option<RegretParts>,
    /// Decisions with what happened until the next one, if they were kept.
    pub steps: Vec<HomeStep>,
}

/// Forecasts of the prices to buy and to sell.
#[derive(Debug, Clone, Copy)]
pub struct TariffBooks<'a> {
    /// Of the prices to buy.
    pub import: &'a ForecastBook,
    /// Of the prices to sell.
    pub export: &'a ForecastBook,
}

/// Runs a policy over all homes in a receding horizon and settles it at the facts.
///
/// `report` is called with the share of the work that is done; it returns false to stop. The
/// outcomes are in the order of the homes. Same input, same outcome, on any number of threads.
///
/// # Errors
/// The policy fails, a home cannot be planned in hindsight, or `report` returns false.
pub fn simulate_homes<P: HomePolicy>(
    facts: &HomeFacts,
    books: TariffBooks<'_>,
    policy: &P,
    options: &SimulationOptions,
    report: &mut dyn FnMut(f64) -> bool,
) -> Result<Vec<HomeOutcome>, Stopped<P::Error>> {
    let count = facts.homes().len();
    let rungs = if options.splits_regret { needed_rungs(facts, options) } else { vec![0] };
    let mut costs = vec![[Amount::ZERO; RUNGS + 1]; count];
    let mut realised = Vec::new();
    for (position, &rung) in rungs.iter().enumerate() {
        let relaxed = Relaxation::first(rung);
        let course = HomeCourse::new(facts, policy, options, relaxed, rung == 0);
        let known = course.known_tariffs(books);
        let mut report = |done: f64| report((position as f64 + done) / rungs.len() as f64);
        let sessions = course.walk(&known, &mut report)?;
        // A run that is not needed costs what the run before it costs.
        for (costs, session) in costs.iter_mut().zip(&sessions) {
            costs[rung..].fill(session.meter.total(facts).amount());
        }
        if rung == 0 {
            realised = sessions;
        }
    }
    let best = HomeCourse::new(facts, &HomeReplanner, options, Relaxation::first(RUNGS), false);
    let known = best.known_tariffs(books);
    let outcomes = realised.into_par_iter().zip(costs).map_init(HomeMemory::default, {
        |memory, (session, costs)| {
            let hindsight = best.walk_home(session.row, &known, memory);
            let hindsight = hindsight.map_err(Stopped::Hindsight)?;
            let hindsight_cost = hindsight.meter.total(facts).amount();
            let regret = options.splits_regret.then(|| RegretParts::new(costs, hindsight_cost));
            Ok(outcome(facts, session, hindsight_cost, regret))
        }
    });
    outcomes.collect()
}

/// Runs that may differ from the run before them.
fn needed_rungs(facts: &HomeFacts, options: &SimulationOptions) -> Vec<usize> {
    let has_losses =
        |home: &Home| home.battery.efficiency < 1.0 || home.battery.efficiency_discharge < 1.0;
    let has_stay =
        |is_such: fn(&ChargeDevice) -> bool| facts.stays().iter().any(|stay| is_such(&stay.device));
    let is_needed = |rung: &usize| match rung {
        0 | 1 => true,
        2 => options.horizon.is_some(),
        4 => has_stay(|device| device.power_min > Power::ZERO),
        5 => has_stay(|device| device.power_step > Power::ZERO),
        &RUNGS => {
            facts.homes().iter().any(has_losses) || has_stay(|device| device.efficiency < 1.0)
        }
        _ => false,
    };
    (0..=RUNGS).filter(is_needed).collect()
}

fn outcome(
    facts: &HomeFacts,
    session: HomeSession<'_>,
    hindsight_cost: Amount,
    regret: Option<RegretParts>,
) -> HomeOutcome {
    let meter = &session.meter;
    let cost = meter.total(facts).amount();
    let baseline = resting(facts, session.row);
    let carbon_kg = (meter.carbon_kg, baseline.carbon_kg);
    HomeOutcome {
        import_kwh: meter.imported.as_kwh(),
        export_kwh: meter.exported.as_kwh(),
        charged_kwh: meter.charged.as_kwh(),
        discharged_kwh: meter.discharged.as_kwh(),
        shortfall_kwh: meter.missing().as_kwh(),
        vehicle_kwh: meter.driven.as_kwh(),
        vehicle_shortfall_kwh: meter.missing_of_stays().as_kwh(),
        decisions: session.decisions,
        cost,
        shortfall_cost: cost - meter.cost.amount(),
        hindsight_cost,
        baseline_cost: baseline.total(facts).amount(),
        carbon_kg: facts.intensity().map(|_| carbon_kg),
        regret,
        steps: session.steps,
    }
}

/// Meter of a home whose battery rests, and whose vehicles charge at full power from their arrival.
fn resting(facts: &HomeFacts, row: usize) -> HomeMeter {
    let home = &facts.homes()[row];
    let stays = stay_meters(facts, row, Relaxation::default());
    let full = |stay: &StayMeter| Command {
        start: stay.start,
        end: stay.end,
        power: stay.device.power_max,
    };
    let commands = HomeCommands {
        battery: Vec::new(),
        stays: stays.iter().map(|stay| vec![full(stay)]).collect(),
    };
    let mut meter = HomeMeter::new(row, home.battery.metered(), stays);
    meter.settle(facts, &commands, (micros_of(home.span.0), micros_of(home.span.1)));
    meter
}

/// Meters of the stays of a home, under relaxed conditions.
fn stay_meters(facts: &HomeFacts, home: usize, relaxed: Relaxation) -> Vec<StayMeter> {
    facts.stays_of(home).map(|(row, stay)| StayMeter::new(row, stay, relaxed)).collect()
}

/// A home while it is simulated.
struct HomeSession<'a> {
    row: usize,
    start: i64,
    end: i64,
    meter: HomeMeter,
    net: NetReader<'a>,
    decisions: u32,
    steps: Vec<HomeStep>,
}

/// Settings of a loop.
struct HomeCourse<'a, P> {
    facts: &'a HomeFacts,
    policy: &'a P,
    relaxed: Relaxation,
    /// Length of the horizon in microseconds.
    horizon: i64,
    keeps_steps: bool,
    /// Time from one decision to the next, in microseconds.
    step: i64,
}

impl<'a, P: HomePolicy> HomeCourse<'a, P> {
    fn new(
        facts: &'a HomeFacts,
        policy: &'a P,
        options: &SimulationOptions,
        relaxed: Relaxation,
        is_realised: bool,
    ) -> Self {
        let horizon = if relaxed.horizon { None } else { options.horizon };
        let horizon = horizon.as_ref().and_then(TimeDelta::num_microseconds).unwrap_or(i64::MAX);
        Self {
            facts,
            policy,
            relaxed,
            horizon,
            keeps_steps: is_realised && options.keeps_steps,
            step: options.step_micros(),
        }
    }

    /// Instants of decision, and the prices that are known at each.
    fn known_tariffs(&self, books: TariffBooks<'_>) -> Known {
        let instants = self.decision_instants(books);
        let facts = self.facts;
        let count = instants.len().saturating_sub(1);
        if self.relaxed.foresight {
            let foresight = |curve: &PriceCurve| KnownPrices::new(Arc::new(curve.clone()));
            let tariff = KnownTariff {
                import: foresight(facts.import()),
                export: facts.export().map(foresight),
            };
            return Known { instants, tariffs: vec![tariff; count] };
        }
        let mut import = Reader::new(books.import, facts.import());
        let mut export = facts.export().map(|settled| Reader::new(books.export, settled));
        let known = |&now: &i64| KnownTariff {
            import: import.known_at(now),
            export: export.as_mut().map(|reader| reader.known_at(now)),
        };
        let tariffs = instants[..count].iter().map(known).collect();
        Known { instants, tariffs }
    }

    /// Instants of decision for all homes, in microseconds, and the end of the last one.
    fn decision_instants(&self, books: TariffBooks<'_>) -> Vec<i64> {
        let spans = self.facts.homes().iter().map(|home| home.span);
        let (Some(first), Some(last)) =
            (spans.clone().map(|span| span.0).min(), spans.map(|span| span.1).max())
        else {
            return Vec::new();
        };
        let (first, last) = (micros_of(first), micros_of(last));
        // A device with a least power or steps leaves its plan, which is made anew then.
        let is_ideal = |stay: &Stay| ExactDevice::new(&self.relaxed.device(stay).0).is_ideal();
        let plans_once = self.policy.plans_once() && self.facts.stays().iter().all(is_ideal);
        if self.relaxed.foresight && self.horizon == i64::MAX && plans_once {
            return vec![first, last];
        }
        let start = first.div_euclid(self.step) * self.step;
        let count = (last - start + self.step - 1).div_euclid(self.step).max(0);
        let mut instants: Vec<i64> = (0..count).map(|index| start + index * self.step).collect();
        let is_inside = |at: &i64| (start..last).contains(at);
        instants.extend(books.import.instants().chain(books.export.instants()).filter(is_inside));
        instants.extend(self.facts.import().horizon().starts().iter().copied().filter(is_inside));
        if let Some(export) = self.facts.export() {
            instants.extend(export.horizon().starts().iter().copied().filter(is_inside));
        }
        instants.push(last);
        instants.sort_unstable();
        instants.dedup();
        instants
    }

    /// Walks all homes through their simulations, and calls `report` with the share that is done;
    /// it returns false to stop. Sessions are in the order of the homes.
    fn walk(
        &self,
        known: &Known,
        report: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Vec<HomeSession<'a>>, Stopped<P::Error>> {
        let rows: Vec<usize> = (0..self.facts.homes().len()).collect();
        if self.policy.is_sequential() {
            return self.walk_by_time(known, report);
        }
        let mut sessions = Vec::with_capacity(rows.len());
        for chunk in rows.chunks(HOMES_PER_REPORT) {
            let walked: Result<Vec<_>, _> = chunk
                .par_iter()
                .map_init(HomeMemory::default, |memory, &row| self.walk_home(row, known, memory))
                .collect();
            sessions.extend(walked.map_err(Stopped::Policy)?);
            if !report(sessions.len() as f64 / rows.len() as f64) {
                return Err(Stopped::ByCaller);
            }
        }
        Ok(sessions)
    }

    /// Walks all homes from one instant to the next.
    fn walk_by_time(
        &self,
        known: &Known,
        report: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Vec<HomeSession<'a>>, Stopped<P::Error>> {
        let mut sessions: Vec<_> =
            (0..self.facts.homes().len()).map(|row| self.begin(row)).collect();
        let mut memory = HomeMemory::default();
        let mut commands = HomeCommands::default();
        for index in 0..known.tariffs.len() {
            for session in &mut sessions {
                self.step(session, known, index, &mut memory, &mut commands)
                    .map_err(Stopped::Policy)?;
            }
            if !report((index + 1) as f64 / known.tariffs.len() as f64) {
                return Err(Stopped::ByCaller);
            }
        }
        Ok(sessions)
    }

    /// Walks one home through its simulation.
    fn walk_home(
        &self,
        row: usize,
        known: &Known,
        memory: &mut HomeMemory,
    ) -> Result<HomeSession<'a>, P::Error> {
        memory.forget();
        let mut session = self.begin(row);
        let mut commands = HomeCommands::default();
        for index in 0..known.tariffs.len() {
            self.step(&mut session, known, index, memory, &mut commands)?;
        }
        Ok(session)
    }

    /// A home before its simulation.
    fn begin(&self, row: usize) -> HomeSession<'a> {
        let home = &self.facts.homes()[row];
        let mut battery = home.battery.metered();
        if self.relaxed.efficiency {
            battery.efficiency_charge = 1.0;
            battery.efficiency_discharge = 1.0;
        }
        HomeSession {
            row,
            start: micros_of(home.span.0),
            end: micros_of(home.span.1),
            meter: HomeMeter::new(row, battery, stay_meters(self.facts, row, self.relaxed)),
            net: NetReader::new(home.net.as_ref(), &home.forecast, self.relaxed.foresight),
            decisions: 0,
            steps: Vec::new(),
        }
    }

    /// Decisions of one instant and, if they are not known before, of arrivals until the next one,
    /// with their settlement.
    fn step(
        &self,
        session: &mut HomeSession<'a>,
        known: &Known,
        index: usize,
        memory: &mut HomeMemory,
        commands: &mut HomeCommands,
    ) -> Result<(), P::Error> {
        let mut now = known.instants[index].max(session.start);
        let end = known.instants[index + 1].min(session.end);
        while now < end {
            let arrival =
                if self.relaxed.foresight { end } else { session.meter.next_arrival(now) };
            let until = arrival.min(end);
            self.decide(session, known, (index, now, until), memory, commands)?;
            now = until;
        }
        Ok(())
    }

    /// One decision at `now` with the prices known at instant `index`, and its settlement until the
    /// next one.
    fn decide(
        &self,
        session: &mut HomeSession<'a>,
        known: &Known,
        (index, now, until): (usize, i64, i64),
        memory: &mut HomeMemory,
        commands: &mut HomeCommands,
    ) -> Result<(), P::Error> {
        session.net.read_until(now);
        commands.clear(session.meter.stays.len());
        let (tariff, settled) = (&known.tariffs[index], self.facts.import());
        let horizon_end = now.saturating_add(self.horizon).min(session.end);
        let view = HomeView {
            row: session.row,
            moment: Moment { now, until, horizon_end, known: &tariff.import, settled },
            battery: session.meter.battery,
            stays: &session.meter.stays,
            has_foresight: self.relaxed.foresight,
            known: tariff,
            net: &session.net,
            facts: self.facts,
        };
        self.policy.decide(&view, memory, commands)?;
        session.decisions += 1;
        let before = self.keeps_steps.then(|| session.meter.clone());
        session.meter.settle(self.facts, commands, (now, until));
        if let Some(before) = before {
            session.steps.push(step_between(&before, &session.meter, (now, until)));
        }
        Ok(())
    }
}

/// Instants of decision, the end, and the prices that are known at each but the end.
struct Known {
    instants: Vec<i64>,
    tariffs: Vec<KnownTariff>,
}

fn step_between(before: &HomeMeter, after: &HomeMeter, (start, end): (i64, i64)) -> HomeStep {
    let charged = after.charged - before.charged;
    let discharged = after.discharged - before.discharged;
    HomeStep {
        start,
        end,
        battery_kwh: charged.as_kwh() - discharged.as_kwh(),
        vehicle_kwh: (after.driven - before.driven).as_kwh(),
        import_kwh: (after.imported - before.imported).as_kwh(),
        export_kwh: (after.exported - before.exported).as_kwh(),
        stored_kwh: after.battery.stored_kwh,
        cost: after.cost.amount() - before.cost.amount(),
        carbon_kg: after.carbon_kg - before.carbon_kg,
    }
}
