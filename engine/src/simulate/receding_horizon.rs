//! The loop of a receding horizon: decide, settle until the next decision, decide again.
//!
//! Decisions fall on every multiple of the step, on every instant at which a forecast becomes
//! known, on every start of a settled price, and on every arrival. Time is walked in blocks of
//! decisions: what is known at each of them is put together once for all stays, and then the
//! stays are walked in parallel.
use rayon::prelude::*;

use crate::simulate::command::Command;
use crate::simulate::facts::Facts;
use crate::simulate::forecast::{ForecastBook, KnownPrices, Reader};
use crate::simulate::home::HomeError;
use crate::simulate::policy::Policy;
use crate::simulate::regret::Relaxation;
use crate::simulate::session::{Session, Step};
use crate::simulate::view::View;
use crate::time::instant::micros_of;

/// Decisions in a block of a parallel run.
const BLOCK: usize = 96;

/// Stays of one parallel task.
const STAYS_PER_TASK: usize = 32;

/// Reason for the early end of a run.
#[derive(Debug)]
pub enum Stopped<E> {
    /// The caller wanted no more.
    ByCaller,
    /// The policy failed.
    Policy(E),
    /// A home cannot be planned in hindsight.
    Hindsight(HomeError),
}

/// Settings of a loop.
pub(crate) struct Course<'a, P> {
    pub(crate) facts: &'a Facts,
    pub(crate) book: &'a ForecastBook,
    pub(crate) policy: &'a P,
    /// Length of the horizon in microseconds.
    pub(crate) horizon: i64,
    pub(crate) relaxed: Relaxation,
    pub(crate) keeps_steps: bool,
}

impl<P: Policy> Course<'_, P> {
    /// Walks all stays from their arrivals to their departures, and calls `report` with the share
    /// of the time that is done; it returns false to stop. Sessions are in the order of `facts`.
    pub(crate) fn walk(
        &self,
        instants: &[i64],
        report: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Vec<Session>, Stopped<P::Error>> {
        let stays = self.facts.stays().iter().enumerate();
        let mut sessions: Vec<Session> =
            stays.map(|(row, stay)| Session::new(row, stay, self.relaxed)).collect();
        sessions.sort_by_key(|session| (session.arrival, session.row));
        let mut reader = Reader::new(self.book, self.facts.prices());
        let foresight = KnownPrices::new(self.facts.prices().clone().into());
        let length = if self.policy.is_sequential() { 1 } else { BLOCK };
        let mut done = 0;
        while done + 1 < instants.len() {
            let last = (done + length).min(instants.len() - 1);
            let block = &instants[done..=last];
            let known: Vec<KnownPrices> = if self.relaxed.foresight {
                let known = foresight.advanced(block[0]);
                vec![known; last - done]
            } else {
                block[..last - done].iter().map(|&now| reader.known_at(now)).collect()
            };
            self.walk_block(block, &known, &mut sessions).map_err(Stopped::Policy)?;
            done = last;
            if !report(done as f64 / (instants.len() - 1) as f64) {
                return Err(Stopped::ByCaller);
            }
        }
        sessions.sort_by_key(|session| session.row);
        Ok(sessions)
    }

    /// Walks one block of decisions for all stays that are plugged in.
    fn walk_block(
        &self,
        block: &[i64],
        known: &[KnownPrices],
        sessions: &mut [Session],
    ) -> Result<(), P::Error> {
        let (start, end) = (block[0], block[block.len() - 1]);
        let arrived = sessions.partition_point(|session| session.arrival < end);
        let is_here = |session: &&mut Session| session.departure > start;
        let mut here: Vec<&mut Session> = sessions[..arrived].iter_mut().filter(is_here).collect();
        if self.policy.is_sequential() {
            here.sort_by_key(|session| session.row);
            return self.walk_sessions(block, known, &mut here);
        }
        here.par_chunks_mut(STAYS_PER_TASK)
            .try_for_each(|sessions| self.walk_sessions(block, known, sessions))
    }

    fn walk_sessions(
        &self,
        block: &[i64],
        known: &[KnownPrices],
        sessions: &mut [&mut Session],
    ) -> Result<(), P::Error> {
        let mut commands = Vec::new();
        for session in sessions {
            let first = block.partition_point(|&at| at <= session.arrival).max(1) - 1;
            for (pair, known) in block.windows(2).zip(known).skip(first) {
                let (now, until) = (pair[0].max(session.arrival), pair[1].min(session.departure));
                if now >= until {
                    break;
                }
                self.step(session, known, (now, until), &mut commands)?;
            }
        }
        Ok(())
    }

    /// One decision, and its settlement until the next one.
    fn step(
        &self,
        session: &mut Session,
        known: &KnownPrices,
        (now, until): (i64, i64),
        commands: &mut Vec<Command>,
    ) -> Result<(), P::Error> {
        commands.clear();
        let meter = &session.meter;
        let before = (meter.drawn, meter.cost, meter.carbon_kg);
        if session.meter.missing.micros_at(session.meter.device.power_max) > 0 {
            let settled = self.facts.prices();
            let view = View::new(session, known, settled, (now, until), self.horizon);
            self.policy.decide(&view, &mut session.memory, commands)?;
            session.decisions += 1;
            session.meter.settle(self.facts, commands, (now, until));
        }
        if self.keeps_steps {
            session.steps.push(Step {
                start: now,
                end: until,
                energy_kwh: (session.meter.drawn - before.0).as_kwh(),
                missing_kwh: session.meter.missing.as_kwh(),
                cost: session.meter.cost.amount() - before.1.amount(),
                carbon_kg: session.meter.carbon_kg - before.2,
            });
        }
        Ok(())
    }
}

/// Instants of decision for all stays, in microseconds: from before the first arrival to the last
/// departure.
pub(crate) fn decision_instants(facts: &Facts, book: &ForecastBook, step: i64) -> Vec<i64> {
    let stays = facts.stays();
    let (Some(first), Some(last)) = (
        stays.iter().map(|stay| micros_of(stay.arrival)).min(),
        stays.iter().map(|stay| micros_of(stay.departure)).max(),
    ) else {
        return Vec::new();
    };
    let start = first.div_euclid(step) * step;
    let count = (last - start + step - 1).div_euclid(step).max(0);
    let mut instants: Vec<i64> = (0..count).map(|index| start + index * step).collect();
    let is_inside = |at: &i64| (start..last).contains(at);
    instants.extend(book.instants().filter(is_inside));
    instants.extend(facts.prices().horizon().starts().iter().copied().filter(is_inside));
    instants.push(last);
    instants.sort_unstable();
    instants.dedup();
    instants
}
