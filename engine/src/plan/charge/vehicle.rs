//! Request in percent of a battery, converted to energy at the plug, and back.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::request::{AfterDeadline, ChargeRequest, PowerLimit, Target};
use crate::plausibility::suggest_share;
use crate::units::{Energy, Percent, Power};

/// Battery of a vehicle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Battery {
    /// Usable energy of a full battery.
    #[serde(rename = "capacity_kwh")]
    pub capacity: Energy,
    /// State of charge at the start of the plan; `None` if it is not known.
    #[serde(rename = "soc_percent")]
    pub soc: Option<Percent>,
    /// State of charge to assume if it is not known. Without it an unknown state
    /// is an error: it is never taken for empty.
    #[serde(rename = "soc_fallback_percent")]
    pub soc_fallback: Option<Percent>,
    /// State of charge at which the vehicle stops charging by itself.
    #[serde(rename = "charge_limit_percent")]
    pub charge_limit: Percent,
    /// Stored energy per energy at the plug, above 0 and at most 1.
    pub efficiency: f64,
}

/// A state of charge wanted by a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocTarget {
    /// The deadline; `None` is the end of the known prices.
    pub by: Option<DateTime<Utc>>,
    /// State of charge wanted; `None` is the charge limit.
    #[serde(rename = "soc_percent")]
    pub soc: Option<Percent>,
}

/// Targets and limits of one vehicle in percent of its battery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VehicleRequest {
    /// First instant that a plan may use: the plug-in time, or the present.
    pub now: DateTime<Utc>,
    /// Departure; `None` if it is not known.
    pub until: Option<DateTime<Utc>>,
    /// Highest power at any time.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Periods with a lower limit.
    pub power_limits: Vec<PowerLimit>,
    /// The battery.
    pub battery: Battery,
    /// States of charge wanted by deadlines, in any order.
    pub targets: Vec<SocTarget>,
    /// State of charge reached at once, at any price.
    #[serde(rename = "reserve_percent")]
    pub reserve: Percent,
    /// `true` lets negative prices fill the battery up to its charge limit.
    pub fill_when_negative: bool,
    /// Rule for a deadline that is missed.
    pub after_deadline: AfterDeadline,
}

/// Reason why a vehicle cannot be planned.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum VehicleError {
    /// The state of charge is not known and nothing may be assumed.
    #[error("soc_percent is not known; give soc_fallback_percent to plan without it")]
    UnknownSoc,
    /// A capacity below [`CAPACITY_MIN_KWH`].
    #[error("capacity_kwh is {} kWh; a battery holds at least {CAPACITY_MIN_KWH} kWh", capacity.as_kwh())]
    NoCapacity {
        /// The capacity as given.
        capacity: Energy,
    },
    /// An efficiency outside 0 to 1.
    #[error("efficiency is {efficiency}; it lies above 0 and is at most 1{}", suggest_share(*efficiency))]
    Efficiency {
        /// The efficiency as given.
        efficiency: f64,
    },
}

/// Least capacity of a battery, in kWh. Tolerances that are a part of a smaller capacity would
/// lie below the resolution of the numbers.
pub const CAPACITY_MIN_KWH: f64 = 1e-6;

/// Refuses a capacity below [`CAPACITY_MIN_KWH`].
pub(crate) fn check_capacity(capacity: Energy) -> Result<(), VehicleError> {
    if capacity.as_kwh() >= CAPACITY_MIN_KWH {
        Ok(())
    } else {
        Err(VehicleError::NoCapacity { capacity })
    }
}

/// Energy at the plug that brings a battery from `soc` to `wanted`; zero if it
/// is there already.
///
/// # Errors
/// The capacity is not positive, or the efficiency is outside 0 to 1 or so
/// small that no energy suffices.
pub(crate) fn energy_at_plug(
    capacity: Energy,
    efficiency: f64,
    soc: Percent,
    wanted: Percent,
) -> Result<Energy, VehicleError> {
    check_capacity(capacity)?;
    if !(efficiency > 0.0 && efficiency <= 1.0) {
        return Err(VehicleError::Efficiency { efficiency });
    }
    // A battery above the wanted level needs nothing, and is not discharged.
    let missing = (wanted.of(capacity) - soc.of(capacity)).max(Energy::ZERO);
    Energy::from_kwh(missing.as_kwh() / efficiency)
        .map_err(|_| VehicleError::Efficiency { efficiency })
}

impl VehicleRequest {
    /// State of charge that the plan starts from.
    ///
    /// # Errors
    /// The state of charge is not known, and there is no fallback.
    pub fn soc(&self) -> Result<Percent, VehicleError> {
        self.battery.soc.or(self.battery.soc_fallback).ok_or(VehicleError::UnknownSoc)
    }

    /// Converts the request to kWh at the plug, counted from the state of charge.
    ///
    /// Energy that targets want above the charge limit is a shortfall. A vehicle at
    /// or above a target needs nothing for it, and is never discharged to it.
    ///
    /// # Errors
    /// The state of charge is unknown, or capacity or efficiency are invalid.
    pub fn in_energy(&self) -> Result<ChargeRequest, VehicleError> {
        let Battery { capacity, charge_limit, efficiency, .. } = self.battery;
        let soc = self.soc()?;
        let at_plug = |wanted: Percent| energy_at_plug(capacity, efficiency, soc, wanted);
        // This also checks capacity and efficiency of a request without targets.
        let room = at_plug(charge_limit)?;
        let mut targets = Vec::with_capacity(self.targets.len());
        for target in &self.targets {
            let energy = at_plug(target.soc.unwrap_or(charge_limit))?;
            targets.push(Target { by: target.by, energy });
        }
        Ok(ChargeRequest {
            now: self.now,
            until: self.until,
            power_max: self.power_max,
            power_limits: self.power_limits.clone(),
            targets,
            reserve: at_plug(self.reserve)?,
            energy_max: self.fill_when_negative.then_some(room),
            charge_limit: Some(room),
            after_deadline: self.after_deadline,
        })
    }

    /// State of charge after `energy` at the plug.
    ///
    /// # Errors
    /// As [`VehicleRequest::soc`].
    pub fn soc_after(&self, energy: Energy) -> Result<Percent, VehicleError> {
        let Battery { capacity, efficiency, .. } = self.battery;
        let stored = Energy::from_kwh(energy.as_kwh() * efficiency).unwrap_or(Energy::ZERO);
        Ok(Percent::filled(self.soc()?.of(capacity) + stored, capacity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::charge::request::ChargeProblem;
    use crate::units::{kw, kwh, percent};

    fn vehicle(soc: Option<f64>, limit: f64) -> VehicleRequest {
        VehicleRequest {
            now: "2026-01-05T18:00:00Z".parse().unwrap(),
            until: None,
            power_max: kw(10.0),
            power_limits: Vec::new(),
            battery: Battery {
                capacity: kwh(50.0),
                soc: soc.map(percent),
                soc_fallback: None,
                charge_limit: percent(limit),
                efficiency: 1.0,
            },
            targets: vec![SocTarget { by: None, soc: None }],
            reserve: percent(20.0),
            fill_when_negative: false,
            after_deadline: AfterDeadline::Continue,
        }
    }

    #[test]
    fn wishes_count_from_the_state_of_charge() {
        let request = vehicle(Some(10.0), 80.0).in_energy().unwrap();
        assert_eq!((request.targets[0].energy, request.reserve), (kwh(35.0), kwh(5.0)));
    }

    #[test]
    fn a_vehicle_above_its_limit_needs_nothing() {
        let request = vehicle(Some(90.0), 80.0).in_energy().unwrap();
        assert_eq!((request.targets[0].energy, request.reserve), (kwh(0.0), kwh(0.0)));
        let after = vehicle(Some(90.0), 80.0).soc_after(Energy::ZERO).unwrap();
        assert_eq!(after, percent(90.0));
    }

    #[test]
    fn what_lies_above_the_limit_is_wanted_and_never_charged() {
        let mut above = vehicle(Some(10.0), 80.0);
        above.targets[0].soc = Some(percent(90.0));
        above.reserve = percent(100.0);
        above.fill_when_negative = true;
        let problem = ChargeProblem::new(above.in_energy().unwrap()).unwrap();
        let request = problem.request();
        assert_eq!((request.targets[0].energy, problem.wanted()), (kwh(40.0), kwh(35.0)));
        assert_eq!((request.reserve, request.energy_max), (kwh(35.0), Some(kwh(35.0))));
    }

    #[test]
    fn an_unknown_state_of_charge_is_never_empty() {
        assert_eq!(vehicle(None, 80.0).in_energy(), Err(VehicleError::UnknownSoc));
        let mut assumed = vehicle(None, 80.0);
        assumed.battery.soc_fallback = Some(percent(50.0));
        assert_eq!(assumed.in_energy().unwrap().targets[0].energy, kwh(15.0));
    }

    #[test]
    fn losses_are_bought_too() {
        let mut lossy = vehicle(Some(30.0), 80.0);
        lossy.battery.efficiency = 0.8;
        assert_eq!(lossy.in_energy().unwrap().targets[0].energy, kwh(31.25));
        assert_eq!(lossy.soc_after(kwh(31.25)).unwrap(), percent(80.0));
    }

    #[test]
    fn a_battery_that_makes_no_sense_is_refused() {
        let mut broken = vehicle(Some(30.0), 80.0);
        broken.battery.efficiency = 1.2;
        let text = broken.in_energy().unwrap_err().to_string();
        assert_eq!(text, "efficiency is 1.2; it lies above 0 and is at most 1");
        let text = VehicleError::Efficiency { efficiency: 92.0 }.to_string();
        assert_eq!(text, "efficiency is 92; it lies above 0 and is at most 1; 92 % is 0.92");
        broken.battery.capacity = kwh(0.0);
        let text = broken.in_energy().unwrap_err().to_string();
        assert_eq!(text, "capacity_kwh is 0 kWh; a battery holds at least 0.000001 kWh");
    }
}
