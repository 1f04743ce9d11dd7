//! Policies for homes: rules that decide on the powers of a battery and of vehicles until the next
//! decision.
use crate::plan::storage::behind_meter::{BehindMeterSlot, MeteredPlanner};
use crate::simulate::command::{Command, HomeCommands};
use crate::simulate::exact::Milliwatts;
use crate::simulate::home::HomeError;
#[cfg(feature = "lp")]
use crate::simulate::home_site::plan_together;
use crate::simulate::home_stay::PlannedStay;
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

    /// Writes the commands from now on into `commands`, of each device in time order and without
    /// overlap. What lies after [`Moment::until`](super::Moment::until) is forgotten; time without a command is rest.
    ///
    /// # Errors
    /// The policy fails.
    fn decide(
        &self,
        view: &HomeView<'_>,
        memory: &mut HomeMemory,
        commands: &mut HomeCommands,
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
    /// Plans of the vehicles.
    vehicles: Vec<PlannedStay>,
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
/// expected as before and battery and vehicles are where the plan has them, the plan is followed: its
/// rest is the cheapest plan of the rest. While a vehicle needs energy, battery and vehicles are planned
/// together by [`plan_site`](crate::plan::site::plan_site), and the vehicle has its energy by its
/// departure or by the end of the known prices, if that is earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HomeReplanner;

impl HomePolicy for HomeReplanner {
    type Error = HomeError;

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
        commands: &mut HomeCommands,
    ) -> Result<(), HomeError> {
        view.write_slots(&mut memory.known);
        if !memory.is_on_plan(view) {
            memory.make_plan(view)?;
        }
        let own = memory.planned[memory.next..].iter().map(|planned| planned.command);
        commands.battery.extend(own.take_while(|command| command.start < view.until));
        for vehicle in &memory.vehicles {
            let is_now = |c: &&Command| c.end > view.now && c.start < view.until;
            commands.stays[vehicle.position].extend(vehicle.commands.iter().filter(is_now));
        }
        Ok(())
    }
}

impl HomeMemory {
    /// Forgets the plan.
    pub(crate) fn forget(&mut self) {
        self.slots.clear();
        self.planned.clear();
        self.vehicles.clear();
        self.next = 0;
    }

    /// True if the rest of the last plan is made of the slots that are known now, and battery and
    /// vehicles are where the plan has them.
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
        let is_at = (stored - view.battery.stored_kwh).abs() <= ON_PLAN_KWH;
        is_same && is_at && self.has_vehicles_on_plan(view)
    }

    /// True if each vehicle that can be planned has a plan, and is where it has it.
    fn has_vehicles_on_plan(&self, view: &HomeView<'_>) -> bool {
        let end = self.known.last().map_or(i64::MIN, |slot| slot.end);
        view.waiting_stays().filter(|(_, stay)| stay.start < end).all(|(position, stay)| {
            let planned = self.vehicles.iter().find(|vehicle| vehicle.position == position);
            planned.is_some_and(|planned| {
                let away = planned.missing_at(view.now) - stay.missing;
                away.as_kwh().abs() <= ON_PLAN_KWH
            })
        })
    }

    /// Plans from now on, for the slots that are known.
    fn make_plan(&mut self, view: &HomeView<'_>) -> Result<(), HomeError> {
        std::mem::swap(&mut self.slots, &mut self.known);
        self.planned.clear();
        self.vehicles.clear();
        self.plan_powers(view)?;
        self.next = 0;
        let mut stored_kwh = view.battery.stored_kwh;
        for (slot, &power_kw) in self.slots.iter().zip(&self.powers_kw) {
            let power = Milliwatts::from_power(Power::from_kw(power_kw).unwrap_or(Power::ZERO));
            let command = Command { start: slot.start, end: slot.end, power };
            self.planned.push(PlannedPower { command, stored_kwh });
            let hours = (slot.end - slot.start) as f64 / MICROS_PER_HOUR;
            stored_kwh += stored_by(view, power.as_kw() * hours);
        }
        Ok(())
    }

    /// Plans the power of the battery in each slot, and the vehicles.
    #[cfg_attr(not(feature = "lp"), expect(clippy::unnecessary_wraps, reason = "see below"))]
    fn plan_powers(&mut self, view: &HomeView<'_>) -> Result<(), HomeError> {
        // Without the feature `lp` no home has vehicles.
        #[cfg(feature = "lp")]
        if view.waiting_stays().next().is_some() && !self.slots.is_empty() {
            self.vehicles = plan_together(view, &self.slots, &mut self.powers_kw)?;
            return Ok(());
        }
        self.planner.plan(&view.battery, &self.slots, &mut self.powers_kw);
        Ok(())
    }
}

/// Change of the stored energy by an energy at the plug, in kWh.
fn stored_by(view: &HomeView<'_>, kwh: f64) -> f64 {
    let battery = &view.battery;
    if kwh > 0.0 { kwh * battery.efficiency_charge } else { kwh / battery.efficiency_discharge }
}
