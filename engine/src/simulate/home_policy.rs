//! Policies for homes: rules that decide on the power of a battery until the next decision.
use std::convert::Infallible;

use crate::plan::storage::behind_meter::{BehindMeterSlot, MeteredPlanner};
use crate::simulate::command::Command;
use crate::simulate::exact::Milliwatts;
use crate::simulate::home_view::HomeView;
use crate::units::{MICROS_PER_HOUR, Power};

/// Stored energy in kWh by which a battery may be away from its plan without a new one: more than
/// rounding to whole milliwatts makes of a day, and worth nothing.
const ON_PLAN_KWH: f64 = 1e-6;

/// A rule that decides for each home, again and again.
pub trait HomePolicy: Sync {
    /// Failure of a decision.
    type Error: Send;

    /// True if decisions must be asked for one after the other, in time order and then in the
    /// order of the homes.
    fn is_sequential(&self) -> bool;

    /// True if it need not be asked again while everything is known from the start: the rest of
    /// its plan is then its plan of the rest.
    fn plans_once(&self) -> bool {
        false
    }

    /// Writes the commands to the battery from now on into `commands`, in time order and without
    /// overlap. What lies after [`Moment::until`](super::Moment::until) is forgotten; time without a command is rest.
    ///
    /// # Errors
    /// The policy fails.
    fn decide(
        &self,
        view: &HomeView<'_>,
        memory: &mut HomeMemory,
        commands: &mut Vec<Command>,
    ) -> Result<(), Self::Error>;
}

/// Plan that a policy remembers from its last decision for one home, and memory that it reuses.
#[derive(Debug, Default)]
pub struct HomeMemory {
    planner: MeteredPlanner,
    /// Slots of the plan, and its power in each; empty before the first plan.
    slots: Vec<BehindMeterSlot>,
    planned: Vec<PlannedPower>,
    /// Position of the present slot.
    next: usize,
    /// Slots that are known now.
    known: Vec<BehindMeterSlot>,
    powers_kw: Vec<f64>,
}

/// Power of a slot of a plan, with the stored energy at its start.
#[derive(Debug, Clone, Copy)]
struct PlannedPower {
    command: Command,
    stored_kwh: f64,
}

/// The built-in planner: the cheapest plan on what is known, made anew at every decision.
///
/// A plan ends with the known prices, or with the horizon or the simulation if they end earlier;
/// there the battery holds its target, as far as it can. As long as prices and net load are
/// expected as before and the battery is where the plan has it, the plan is followed: its rest is
/// the cheapest plan of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HomeReplanner;

impl HomePolicy for HomeReplanner {
    type Error = Infallible;

    fn is_sequential(&self) -> bool {
        false
    }

    fn plans_once(&self) -> bool {
        true
    }

    fn decide(
        &self,
        view: &HomeView<'_>,
        memory: &mut HomeMemory,
        commands: &mut Vec<Command>,
    ) -> Result<(), Infallible> {
        view.write_slots(&mut memory.known);
        if !memory.is_on_plan(view) {
            memory.make_plan(view);
        }
        let own = memory.planned[memory.next..].iter().map(|planned| planned.command);
        commands.extend(own.take_while(|command| command.start < view.until));
        Ok(())
    }
}

impl HomeMemory {
    /// Forgets the plan.
    pub(crate) fn forget(&mut self) {
        self.slots.clear();
        self.planned.clear();
        self.next = 0;
    }

    /// True if the rest of the last plan is made of the slots that are known now, and the battery
    /// is where the plan has it.
    fn is_on_plan(&mut self, view: &HomeView<'_>) -> bool {
        while self.slots.get(self.next).is_some_and(|slot| slot.end <= view.now) {
            self.next += 1;
        }
        let (Some(&first), Some(&known)) = (self.slots.get(self.next), self.known.first()) else {
            return false;
        };
        // The present slot may have begun before now.
        let is_same = BehindMeterSlot { start: known.start, ..first } == known
            && self.slots[self.next + 1..] == self.known[1..];
        let PlannedPower { command, stored_kwh } = self.planned[self.next];
        let hours = (view.now - command.start) as f64 / MICROS_PER_HOUR;
        let stored = stored_kwh + stored_by(view, command.power.as_kw() * hours);
        is_same && (stored - view.battery.stored_kwh).abs() <= ON_PLAN_KWH
    }

    /// Plans from now on, for the slots that are known.
    fn make_plan(&mut self, view: &HomeView<'_>) {
        std::mem::swap(&mut self.slots, &mut self.known);
        self.planner.plan(&view.battery, &self.slots, &mut self.powers_kw);
        self.planned.clear();
        self.next = 0;
        let mut stored_kwh = view.battery.stored_kwh;
        for (slot, &power_kw) in self.slots.iter().zip(&self.powers_kw) {
            let power = Milliwatts::from_power(Power::from_kw(power_kw).unwrap_or(Power::ZERO));
            let command = Command { start: slot.start, end: slot.end, power };
            self.planned.push(PlannedPower { command, stored_kwh });
            let hours = (slot.end - slot.start) as f64 / MICROS_PER_HOUR;
            stored_kwh += stored_by(view, power.as_kw() * hours);
        }
    }
}

/// Change of the stored energy by an energy at the plug, in kWh.
fn stored_by(view: &HomeView<'_>, kwh: f64) -> f64 {
    let battery = &view.battery;
    if kwh > 0.0 { kwh * battery.efficiency_charge } else { kwh / battery.efficiency_discharge }
}
