//! From a policy and what is known of its device to a wish for a plan, and
//! when to ask again.
use chrono::{DateTime, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::plan::brief::Brief;
use crate::plan::kept::Wish;
use crate::plan::vehicle::{Battery, SocTarget};
use crate::policy::charger::{ChargerPolicy, prices_cover};
use crate::policy::cycle::{Cycle, Promise, Sight};
use crate::policy::flex::FlexPolicy;
use crate::policy::flex_status::{FlexFacts, FlexState, flex_state};
use crate::policy::vehicle::VehiclePolicy;
use crate::prices::curve::PriceCurve;
use crate::units::{Energy, Percent, Power};

/// Less than this of a charger's hours is not asked for: switching takes
/// time, and nobody starts a charger for a rest of it.
const REST_IGNORED: TimeDelta = TimeDelta::minutes(5);

/// A plan is not looked at again sooner.
const PAUSE: TimeDelta = TimeDelta::minutes(1);

/// A state of charge that fell by more than so many points was driven down.
const DRIVEN_POINTS: f64 = 2.0;

/// How far ahead plans look: the week of a weekly schedule.
const AHEAD: TimeDelta = TimeDelta::days(7);

/// Standing wishes for a device.
#[derive(Debug, Clone, PartialEq)]
pub enum DevicePolicy {
    /// Smart charging of a charger.
    Charger(ChargerPolicy),
    /// Smart charging of a vehicle.
    Vehicle(VehiclePolicy),
    /// A flex policy of a vehicle.
    Flex {
        /// What it wants.
        policy: FlexPolicy,
        /// Where it holds.
        location: String,
    },
}

/// What is known of a device. `None` is not known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Known {
    /// Whether it answers.
    pub is_reachable: Option<bool>,
    /// Whether a plug is in.
    pub is_plugged_in: Option<bool>,
    /// Whether it charges.
    pub is_charging: Option<bool>,
    /// Whether its vehicle says that it is full.
    pub is_fully_charged: Option<bool>,
    /// State of charge.
    pub soc: Option<Percent>,
    /// Where the vehicle stops by itself; not known counts as full.
    pub charge_limit: Option<Percent>,
    /// Usable capacity.
    pub capacity: Option<Energy>,
    /// Highest power.
    pub power_max: Option<Power>,
    /// The location that it is at.
    pub location: Option<String>,
}

/// What an operator has assumed where nobody says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Assumptions {
    /// Power of a vehicle whose limit is not known.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Capacity of a vehicle that does not tell its own; without it such a
    /// vehicle is not planned for.
    #[serde(rename = "capacity_kwh")]
    pub capacity: Option<Energy>,
    /// Stored energy per energy at the plug, above 0 and at most 1.
    pub efficiency: f64,
    /// State of charge where it is not known; without it such a vehicle is not
    /// planned for.
    #[serde(rename = "soc_percent")]
    pub soc: Option<Percent>,
    /// Whether negative prices may fill vehicles under a flex policy beyond
    /// their targets.
    pub fill_when_negative: bool,
}

impl Default for Assumptions {
    /// One phase of 32 A, no losses, and nothing else.
    fn default() -> Self {
        Self {
            power_max: crate::units::kw(7.4),
            capacity: None,
            efficiency: 1.0,
            soc: None,
            fill_when_negative: false,
        }
    }
}

/// An assumption that makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum AssumptionError {
    /// A power below zero.
    #[error("power_max_kw is {} kW; a power is 0 kW or more", power.as_kw())]
    Power {
        /// The power as given.
        power: Power,
    },
    /// A battery without capacity.
    #[error("capacity_kwh is {} kWh; a battery holds more than 0 kWh", capacity.as_kwh())]
    Capacity {
        /// The capacity as given.
        capacity: Energy,
    },
    /// An efficiency outside 0 to 1.
    #[error("efficiency is {efficiency}; it lies above 0 and is at most 1")]
    Efficiency {
        /// The efficiency as given.
        efficiency: f64,
    },
}

impl Assumptions {
    /// Checks them.
    ///
    /// # Errors
    /// The first that makes no sense.
    pub fn check(&self) -> Result<(), AssumptionError> {
        let Self { power_max: power, efficiency, .. } = *self;
        if power < Power::ZERO {
            return Err(AssumptionError::Power { power });
        }
        if !(efficiency > 0.0 && efficiency <= 1.0) {
            return Err(AssumptionError::Efficiency { efficiency });
        }
        match self.capacity.filter(|capacity| *capacity <= Energy::ZERO) {
            Some(capacity) => Err(AssumptionError::Capacity { capacity }),
            None => Ok(()),
        }
    }
}

/// Why a device has no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Idle {
    /// Its policy is off.
    #[serde(rename = "off")]
    Off,
    /// The charger does not answer.
    #[serde(rename = "not_reachable")]
    NotReachable,
    /// No plug is known to be in.
    #[serde(rename = "not_plugged_in")]
    NotPluggedIn,
    /// It is not where its policy holds.
    #[serde(rename = "away")]
    Away,
    /// The policy says nothing of how much.
    #[serde(rename = "nothing_asked")]
    NothingAsked,
    /// Nobody knows how full it is.
    #[serde(rename = "soc_unknown")]
    SocUnknown,
    /// Nobody knows how much fits in.
    #[serde(rename = "capacity_unknown")]
    CapacityUnknown,
    /// Prices are not known, or not far enough.
    #[serde(rename = "awaiting_prices")]
    AwaitingPrices,
    /// The same, and it is charged all the same: it is below what is to be
    /// reached at any price.
    #[serde(rename = "reserve_at_any_price")]
    ReserveAtAnyPrice,
}

impl Idle {
    /// The word that stands for it in data.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::NotReachable => "not_reachable",
            Self::NotPluggedIn => "not_plugged_in",
            Self::Away => "away",
            Self::NothingAsked => "nothing_asked",
            Self::SocUnknown => "soc_unknown",
            Self::CapacityUnknown => "capacity_unknown",
            Self::AwaitingPrices => "awaiting_prices",
            Self::ReserveAtAnyPrice => "reserve_at_any_price",
        }
    }
}

/// What made a plan necessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The policy is new or changed.
    #[serde(rename = "policy")]
    Policy,
    /// A plug went in.
    #[serde(rename = "plugged_in")]
    PluggedIn,
    /// A plug was pulled.
    #[serde(rename = "unplugged")]
    Unplugged,
    /// Something else that plans rest on was read anew.
    #[serde(rename = "reading")]
    Reading,
    /// Prices changed.
    #[serde(rename = "prices")]
    Prices,
    /// A deadline passed, or a period of charging ended: what came of it is
    /// looked at.
    #[serde(rename = "review")]
    Review,
}

/// The time in which prices count for a plan made `now`: from the hour that
/// holds it, whose slots stay whole, to a week ahead.
#[must_use]
pub fn price_window(now: DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>) {
    let hour = now.with_minute(0).and_then(|at| at.with_second(0));
    let hour = hour.and_then(|at| at.with_nanosecond(0)).unwrap_or(now);
    (hour, hour.checked_add_signed(AHEAD).unwrap_or(hour))
}

/// Whether something that plans rest on is no longer as it was.
#[must_use]
pub fn cause_of(before: &Known, after: &Known) -> Option<Cause> {
    let plug = (before.is_plugged_in == Some(true), after.is_plugged_in == Some(true));
    let fell = before
        .soc
        .zip(after.soc)
        .is_some_and(|(before, after)| before.as_percent() - after.as_percent() > DRIVEN_POINTS);
    let is_other = before.is_reachable != after.is_reachable
        || before.is_charging != after.is_charging
        || before.is_fully_charged != after.is_fully_charged
        || before.soc.is_some() != after.soc.is_some()
        || before.charge_limit != after.charge_limit
        || before.capacity != after.capacity
        || before.power_max != after.power_max
        || before.location != after.location;
    match plug {
        (false, true) => Some(Cause::PluggedIn),
        (true, false) => Some(Cause::Unplugged),
        _ => (fell || is_other).then_some(Cause::Reading),
    }
}

/// When a plan is looked at again, if nothing else happens: at its deadline,
/// and whenever it stops charging.
#[must_use]
pub fn review_at(
    cycle: Option<&Cycle>,
    brief: Option<&Brief>,
    now: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    let deadline = cycle.and_then(|cycle| cycle.promise).map(|promise| promise.by);
    let deadline = deadline.filter(|by| now < *by);
    let ends = brief.map(|brief| brief.intervals.iter().map(|interval| interval.end));
    let end = ends.and_then(|mut ends| ends.find(|end| now < *end));
    let first = deadline.into_iter().chain(end).min()?;
    Some(first.max(now.checked_add_signed(PAUSE).unwrap_or(now)))
}

/// Of several policies of one device the one that counts: the first in force,
/// else the first. Give flex policies before smart charging.
pub fn first_in_force<'a>(
    policies: impl IntoIterator<Item = &'a DevicePolicy>,
    known: &Known,
) -> Option<usize> {
    let mut is_any = false;
    for (index, policy) in policies.into_iter().enumerate() {
        if policy.is_in_force(known) {
            return Some(index);
        }
        is_any = true;
    }
    is_any.then_some(0)
}

impl Known {
    /// State of charge; that of the charge limit if the vehicle says it is full.
    fn soc(&self) -> Option<Percent> {
        if self.is_fully_charged == Some(true) { Some(self.limit()) } else { self.soc }
    }

    fn limit(&self) -> Percent {
        self.charge_limit.unwrap_or(Percent::FULL)
    }

    fn sight(&self) -> Sight {
        let is_charging = self.is_charging.unwrap_or(false);
        Sight { is_plugged_in: self.is_plugged_in, is_charging }
    }

    /// The same as a flex policy at a location takes it.
    #[must_use]
    pub fn flex_facts(&self, location: &str) -> FlexFacts {
        FlexFacts {
            policy_location: location.to_owned(),
            vehicle_location: self.location.clone(),
            is_plugged_in: self.is_plugged_in,
            soc: self.soc(),
            charge_limit: self.charge_limit,
        }
    }

    /// The battery, or why it cannot be planned for.
    fn battery(&self, assumed: &Assumptions) -> Result<Battery, Idle> {
        let soc = self.soc();
        let _: Percent = soc.or(assumed.soc).ok_or(Idle::SocUnknown)?;
        Ok(Battery {
            capacity: self.capacity.or(assumed.capacity).ok_or(Idle::CapacityUnknown)?,
            soc,
            soc_fallback: assumed.soc,
            charge_limit: self.limit(),
            efficiency: assumed.efficiency,
        })
    }
}

impl DevicePolicy {
    /// Whether it is switched on. A flex policy always is.
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        match self {
            Self::Charger(policy) => policy.is_enabled,
            Self::Vehicle(policy) => policy.is_enabled(),
            Self::Flex { .. } => true,
        }
    }

    /// Whether it would control the device: it is on, and the device is where it holds.
    #[must_use]
    pub fn is_in_force(&self, known: &Known) -> bool {
        match self {
            Self::Flex { location, .. } => known.location.as_ref() == Some(location),
            other => other.is_enabled(),
        }
    }

    /// What is to hold by its next deadline after an instant.
    #[must_use]
    pub fn promise(&self, zone: Tz, at: DateTime<Utc>, known: &Known) -> Option<Promise> {
        let at_limit = |by| Promise { by, target: None };
        match self {
            Self::Charger(policy) => policy.next_deadline(zone, at).map(at_limit),
            Self::Vehicle(policy) => policy.next_deadline(zone, at).map(at_limit),
            Self::Flex { policy, .. } => {
                let next = policy.next_deadline(zone, at, known.charge_limit)?;
                Some(Promise { by: next.at, target: Some(next.target) })
            }
        }
    }

    /// The cycle of the device at a look at it.
    ///
    /// With `is_new` the policy is another than that of the cycle before, and
    /// the deadline is the next one of the new policy.
    #[must_use]
    pub fn cycle(
        &self,
        before: Option<Cycle>,
        known: &Known,
        zone: Tz,
        now: DateTime<Utc>,
        is_new: bool,
    ) -> Option<Cycle> {
        let before = before.filter(|_| self.is_in_force(known));
        let promise = before.and_then(|cycle| cycle.promise);
        let is_kept = promise.is_none_or(|promise| self.is_kept(promise, known));
        let next = |at| self.promise(zone, at, known);
        let cycle = Cycle::at_look(before, known.sight(), now, is_kept, next)?;
        Some(if is_new { cycle.promising(next(now)) } else { cycle })
    }

    /// Whether a promise that fell due was kept. A charger's always counts as
    /// kept: its cycle ends with the deadline. What nobody knows counts, too.
    fn is_kept(&self, promise: Promise, known: &Known) -> bool {
        let reached =
            |target: Percent| known.soc().is_none_or(|soc| soc >= target.min(known.limit()));
        match self {
            Self::Charger(_) => true,
            Self::Vehicle(_) | Self::Flex { .. } => {
                reached(promise.target.unwrap_or(Percent::FULL))
            }
        }
    }

    /// What the policy asks of a plan made `now`, or why it asks for nothing.
    ///
    /// # Errors
    /// There is nothing to plan.
    pub fn ask(
        &self,
        known: &Known,
        cycle: Option<&Cycle>,
        zone: Tz,
        now: DateTime<Utc>,
        curve: &PriceCurve,
        assumed: &Assumptions,
    ) -> Result<Wish, Idle> {
        if !self.is_enabled() {
            return Err(Idle::Off);
        }
        let promise = cycle.and_then(|cycle| cycle.promise);
        let by = promise.map(|promise| promise.by);
        let power_max = known.power_max.unwrap_or(assumed.power_max);
        match self {
            Self::Charger(policy) => ask_charger(*policy, known, cycle, by, now, curve),
            Self::Vehicle(policy) => {
                plugged_in(known)?;
                let battery = known.battery(assumed)?;
                priced(curve, now, known, policy.minimum())?;
                Ok(Wish::Vehicle(policy.request(now, by, power_max, battery)))
            }
            Self::Flex { policy, location } => {
                let facts = known.flex_facts(location);
                let state = flex_state(policy.reserve(), &facts);
                if state == FlexState::Unavailable {
                    return Err(Idle::Away);
                }
                plugged_in(known)?;
                let battery = known.battery(assumed)?;
                priced(curve, now, known, policy.reserve())?;
                let until = curve.horizon().end().unwrap_or(now);
                let intent = policy.intent(&facts, zone, now, until);
                let mut wish = intent.request(now, power_max, battery, assumed.fill_when_negative);
                // Charging goes on for a deadline that was missed.
                let late = promise.filter(|promise| promise.by <= now);
                wish.targets
                    .extend(late.map(|late| SocTarget { by: Some(late.by), soc: late.target }));
                Ok(Wish::Vehicle(wish))
            }
        }
    }
}

fn plugged_in(known: &Known) -> Result<(), Idle> {
    if known.is_plugged_in == Some(true) { Ok(()) } else { Err(Idle::NotPluggedIn) }
}

/// Whether there is any price to plan with.
fn priced(
    curve: &PriceCurve,
    now: DateTime<Utc>,
    known: &Known,
    at_once: Percent,
) -> Result<(), Idle> {
    let is_low = known.soc().is_some_and(|soc| soc < at_once.min(known.limit()));
    if is_low && curve.price_at(now).is_none() {
        Err(Idle::ReserveAtAnyPrice)
    } else if prices_cover(curve, now, None) {
        Ok(())
    } else {
        Err(Idle::AwaitingPrices)
    }
}

fn ask_charger(
    policy: ChargerPolicy,
    known: &Known,
    cycle: Option<&Cycle>,
    by: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
    curve: &PriceCurve,
) -> Result<Wish, Idle> {
    if known.is_reachable != Some(true) {
        return Err(Idle::NotReachable);
    }
    plugged_in(known)?;
    if !prices_cover(curve, now, by) {
        return Err(Idle::AwaitingPrices);
    }
    let length = policy.charging_duration.ok_or(Idle::NothingAsked)?.length();
    let charged = cycle.map_or(TimeDelta::zero(), |cycle| cycle.charged);
    let charged = if length - charged < REST_IGNORED { length } else { charged };
    Ok(Wish::Charge(policy.request(now, by, charged)))
}
