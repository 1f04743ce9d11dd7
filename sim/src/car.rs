//! Car with battery, plug and trips, stepped from event to event.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::chance::Chance;
use crate::flow::{Course, Flow, hours_after, hours_between};
use crate::supply::Supply;
use crate::taper::{LEVEL_TOLERANCE_KWH, Taper};
use crate::trips::{Habits, Outing};
use slackwater_control::device::power_state::PowerState;
use slackwater_engine::time::instant::{instant_at, micros_of};
use slackwater_engine::units::{Current, Energy, Percent, Power, kwh};

/// Share of the capacity that driving leaves in the battery. Longer trips charge on the way,
/// outside the meters of the home.
const LEFT_AFTER_DRIVING: f64 = 0.05;

/// Specification and use of a car.
#[derive(Debug, Clone, PartialEq)]
pub struct CarSpec {
    /// Its battery.
    pub battery: Taper,
    /// State of charge at the start.
    pub soc: Percent,
    /// State of charge at which the car stops charging.
    pub charge_limit: Percent,
    /// Stored energy used per 100 km.
    pub driving_per_100_km: Energy,
    /// Odometer reading at the start.
    pub odometer_km: f64,
    /// Its trips.
    pub habits: Habits,
    /// Probability of being plugged in after coming home.
    pub plugs_in: Percent,
    /// Minutes from coming home to plug-in.
    pub plug_in_after_minutes: u16,
    /// True if the car is plugged in at the start, provided that it is at home then.
    pub is_plugged_in: bool,
    /// True if the car starts to charge at plug-in without a command.
    pub charges_on_plug_in: bool,
    /// Seconds from plug-in, or from a start command, to the first power.
    pub initializing_seconds: u16,
    /// Minutes without charging or driving until the car sleeps; `None` is never.
    pub sleeps_after_minutes: Option<u32>,
}

/// Outlet at the other end of the cable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlet {
    /// Supply of the outlet, its own limit included.
    pub supply: Supply,
    /// True if the outlet delivers power.
    pub is_live: bool,
    /// True if nothing else is plugged in there.
    pub is_free: bool,
}

/// Observable state of a car.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CarView {
    /// State of power delivery.
    pub power_state: PowerState,
    /// Power at the plug.
    pub power: Power,
    /// State of charge.
    pub soc: Percent,
    /// State of charge at which the car stops charging.
    pub charge_limit: Percent,
    /// Minutes until the car stops charging; `None` while it does not charge.
    pub minutes_left: Option<f64>,
    /// Current limit of the car.
    pub limit: Option<Current>,
    /// Odometer reading.
    pub odometer_km: f64,
    /// Distance from home; 0 is at home.
    pub away_km: f64,
    /// True if it drives.
    pub is_driving: bool,
    /// True if it sleeps.
    pub is_asleep: bool,
}

/// A car that is stepped from event to event.
#[derive(Debug, Clone, PartialEq)]
pub struct Car {
    spec: CarSpec,
    chance: Chance,
    /// Time of the last event, in microseconds; the state below is as of then.
    since: i64,
    stored: f64,
    odometer_km: f64,
    /// Stored energy that driving uses per hour, from `since` on.
    drain_kw: f64,
    flow: Flow,
    course: Course,
    outing: Option<Outing>,
    /// Time of the next plug-in.
    plug_at: Option<i64>,
    is_plugged_in: bool,
    may_charge: bool,
    ready_at: i64,
    limit: Option<Current>,
    forced: Option<PowerState>,
    /// Time of the last charging, driving or command.
    active_at: i64,
    outlet: Outlet,
    next: i64,
}

impl Car {
    /// Creates a car at `at` that is not yet settled with its outlet; call `settle` next.
    #[must_use]
    pub fn new(spec: CarSpec, chance: Chance, at: DateTime<Utc>, outlet: Outlet) -> Self {
        let outing = spec.habits.outing(chance, at);
        let is_home = !outing.is_some_and(|outing| outing.is_away(at));
        let since = micros_of(at);
        let mut car = Self {
            chance,
            since,
            stored: spec.soc.of(spec.battery.capacity).as_kwh(),
            odometer_km: spec.odometer_km,
            drain_kw: 0.0,
            flow: Flow::NONE,
            course: Course::starting(at),
            outing,
            plug_at: None,
            is_plugged_in: spec.is_plugged_in && is_home && outlet.is_free,
            may_charge: spec.charges_on_plug_in,
            ready_at: since,
            limit: None,
            forced: None,
            active_at: since,
            outlet,
            next: i64::MAX,
            spec,
        };
        car.settle(since, outlet);
        car
    }

    /// Returns the specification.
    #[must_use]
    pub const fn spec(&self) -> &CarSpec {
        &self.spec
    }

    /// Course of power and energy at the plug.
    #[must_use]
    pub const fn course(&self) -> &Course {
        &self.course
    }

    /// Returns true if a plug is in.
    #[must_use]
    pub const fn is_plugged_in(&self) -> bool {
        self.is_plugged_in
    }

    /// Flow at the plug since the last event.
    pub(crate) const fn flow(&self) -> Flow {
        self.flow
    }

    /// Time of the last event, in microseconds.
    pub(crate) const fn since(&self) -> i64 {
        self.since
    }

    /// Time of the car's next event, in microseconds.
    pub(crate) const fn next(&self) -> i64 {
        self.next
    }

    /// Energy in the battery at an instant that is not before the last event.
    #[must_use]
    pub fn stored_at(&self, at: DateTime<Utc>) -> Energy {
        kwh(self.stored_after(hours_between(self.since, micros_of(at))))
    }

    fn stored_after(&self, hours: f64) -> f64 {
        let gained = self.flow.energy_after(hours).as_kwh() * self.spec.battery.share_stored();
        self.stored + gained - self.drain_kw * hours
    }

    fn limit_kwh(&self) -> f64 {
        self.spec.charge_limit.of(self.spec.battery.capacity).as_kwh()
    }

    /// Executes the events due at `at` and computes the flow from then on.
    pub(crate) fn settle(&mut self, at: i64, outlet: Outlet) {
        self.stored = self.stored_after(hours_between(self.since, at)).max(0.0);
        if self.flow != Flow::NONE || self.drain_kw > 0.0 {
            self.active_at = at;
        }
        self.since = at;
        self.outlet = outlet;
        self.travel(at);
        if self.plug_at.is_some_and(|plug_at| plug_at <= at) {
            self.plug_at = None;
            if outlet.is_free {
                self.plug_in(at);
            }
        }
        self.flow_on(at);
    }

    /// Departs, arrives and comes home at the instants of the outing.
    fn travel(&mut self, at: i64) {
        let now = instant_at(at);
        while let Some(outing) = self.outing.filter(|outing| outing.back <= now) {
            self.odometer_km += outing.distance_km;
            let chance = self.chance.of("plug").at(micros_of(outing.back));
            if chance.happens(self.spec.plugs_in) && !self.is_plugged_in {
                let minutes = TimeDelta::minutes(self.spec.plug_in_after_minutes.into());
                self.plug_at = Some(micros_of(outing.back + minutes));
            }
            self.active_at = at;
            self.outing = self.spec.habits.outing(self.chance, outing.back);
        }
        let outing = self.outing.filter(|outing| outing.is_away(now));
        if outing.is_some() {
            self.unplug();
            self.plug_at = None;
        }
        let driving = outing.filter(|outing| outing.is_driving(now));
        self.drain_kw = driving.map_or(0.0, |outing| self.drain_of(&outing, at));
    }

    /// Stored energy that driving uses per hour until the next stop.
    fn drain_of(&self, outing: &Outing, at: i64) -> f64 {
        let now = instant_at(at);
        let Some(stop) = outing.next(now) else { return 0.0 };
        let hours = hours_between(at, micros_of(stop));
        let km = outing.driven_km(stop) - outing.driven_km(now);
        let spare = self.stored - LEFT_AFTER_DRIVING * self.spec.battery.capacity.as_kwh();
        (km * self.spec.driving_per_100_km.as_kwh() / 100.0).min(spare.max(0.0)) / hours
    }

    fn plug_in(&mut self, at: i64) {
        self.is_plugged_in = true;
        self.may_charge = self.spec.charges_on_plug_in;
        self.active_at = at;
        self.ready_at = at + self.initializing();
    }

    fn unplug(&mut self) {
        self.is_plugged_in = false;
        self.forced = None;
    }

    fn initializing(&self) -> i64 {
        i64::from(self.spec.initializing_seconds) * 1_000_000
    }

    fn flow_on(&mut self, at: i64) {
        let offered = if self.outlet.is_live && self.wants() && at >= self.ready_at {
            self.outlet.supply.limited(self.limit)
        } else {
            Power::ZERO
        };
        let stage = self.spec.battery.stage(kwh(self.stored), kwh(self.limit_kwh()), offered);
        self.flow = stage.flow;
        self.course.change_at(at, stage.flow);
        let stage_ends = stage.hours.map(|hours| hours_after(at, hours).max(at + 1));
        let outing = self.outing.and_then(|outing| outing.next(instant_at(at))).map(micros_of);
        let ready = Some(self.ready_at).filter(|&ready| ready > at && self.is_plugged_in);
        let due = [stage_ends, outing, self.plug_at, ready];
        self.next = due.into_iter().flatten().min().unwrap_or(i64::MAX);
    }

    /// Returns true if the car would charge from a live outlet.
    fn wants(&self) -> bool {
        let is_below = self.limit_kwh() - self.stored > LEVEL_TOLERANCE_KWH;
        self.is_plugged_in && self.may_charge && self.forced.is_none() && is_below
    }

    /// Starts or stops charging. Without a plug it changes nothing.
    pub(crate) fn switch(&mut self, at: i64, may_charge: bool) {
        self.active_at = at;
        if !self.is_plugged_in {
            return;
        }
        if may_charge && !self.may_charge {
            self.ready_at = at + self.initializing();
        }
        self.may_charge = may_charge;
    }

    /// Sets the current limit of the car.
    pub(crate) fn limit_current(&mut self, at: i64, limit: Current) {
        self.active_at = at;
        self.limit = Some(limit);
    }

    /// Executes an action of a person on site, such as plugging in.
    pub(crate) fn handle(&mut self, at: i64, hand: Hand, outlet: Outlet) {
        self.active_at = at;
        match hand {
            Hand::PlugIn => {
                let is_home = !self.outing.is_some_and(|outing| outing.is_away(instant_at(at)));
                if is_home && outlet.is_free && !self.is_plugged_in {
                    self.plug_at = None;
                    self.plug_in(at);
                }
            }
            Hand::Unplug => self.unplug(),
            Hand::Break(state) => self.forced = Some(state),
            Hand::Repair => self.forced = None,
            Hand::Fill(soc) => {
                self.stored = soc.of(self.spec.battery.capacity).as_kwh();
            }
            Hand::ChargeLimit(limit) => self.spec.charge_limit = limit,
            Hand::Ready => self.ready_at = self.ready_at.min(at),
        }
    }

    /// Observable state at an instant not before the last event.
    #[must_use]
    pub fn view(&self, at: DateTime<Utc>) -> CarView {
        let micros = micros_of(at);
        let stored = self.stored_at(at);
        let outing = self.outing.filter(|outing| outing.is_away(at));
        let power_state = self.power_state(micros);
        let is_charging = power_state == PowerState::Charging;
        let limit = kwh(self.limit_kwh());
        let offered = self.outlet.supply.limited(self.limit);
        let hours_left = || self.spec.battery.hours_until(stored, limit, offered);
        CarView {
            power_state,
            power: self.flow.power_after(hours_between(self.since, micros)),
            soc: Percent::filled(stored, self.spec.battery.capacity),
            charge_limit: self.spec.charge_limit,
            minutes_left: is_charging.then(hours_left).flatten().map(|hours| hours * 60.0),
            limit: self.limit,
            odometer_km: self.odometer_km + outing.map_or(0.0, |outing| outing.driven_km(at)),
            away_km: outing.map_or(0.0, |outing| outing.away_km(at)),
            is_driving: outing.is_some_and(|outing| outing.is_driving(at)),
            is_asleep: self.is_asleep(micros),
        }
    }

    fn power_state(&self, micros: i64) -> PowerState {
        if !self.is_plugged_in {
            PowerState::Unplugged
        } else if let Some(forced) = self.forced {
            forced
        } else if self.limit_kwh() - self.stored_after(hours_between(self.since, micros))
            <= LEVEL_TOLERANCE_KWH
        {
            PowerState::Complete
        } else if !self.outlet.is_live {
            PowerState::NoPower
        } else if !self.may_charge {
            PowerState::Stopped
        } else if micros < self.ready_at {
            PowerState::Initializing
        } else if self.flow == Flow::NONE {
            PowerState::Stopped
        } else {
            PowerState::Charging
        }
    }

    pub(crate) fn is_asleep(&self, micros: i64) -> bool {
        let Some(minutes) = self.spec.sleeps_after_minutes else { return false };
        let is_idle = self.flow == Flow::NONE && self.drain_kw <= 0.0;
        is_idle && micros - self.active_at >= i64::from(minutes) * 60_000_000
    }
}

/// Action of a person on site at a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Hand {
    /// Plugs in; no effect if the car is away or the outlet is taken.
    #[serde(rename = "plug_in")]
    PlugIn,
    /// Unplugs.
    #[serde(rename = "unplug")]
    Unplug,
    /// Causes a fault that only a person on site can clear.
    #[serde(rename = "break")]
    Break(PowerState),
    /// Clears the fault.
    #[serde(rename = "repair")]
    Repair,
    /// Sets the energy in the battery, past every meter.
    #[serde(rename = "soc_percent")]
    Fill(Percent),
    /// Sets the state of charge at which the car stops charging.
    #[serde(rename = "charge_limit_percent")]
    ChargeLimit(Percent),
    /// Executes the pending next step at once.
    #[serde(rename = "ready")]
    Ready,
}

#[cfg(test)]
pub(crate) mod tests;
