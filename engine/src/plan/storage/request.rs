//! What a battery that charges and discharges is asked to do.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::request::AfterDeadline;
use crate::plan::charge::vehicle::{Battery, SocTarget, VehicleError, check_capacity};
use crate::time::horizon::{Horizon, HorizonError};
use crate::units::{Energy, Percent, Power, Price};

/// Least efficiency that a battery may have in one direction.
pub const EFFICIENCY_MIN: f64 = 0.01;

/// A period with limits of its own. What is `None` stays as it is elsewhere;
/// where periods overlap the tightest limit holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageLimit {
    /// First instant of the period.
    pub start: DateTime<Utc>,
    /// First instant after the period.
    pub end: DateTime<Utc>,
    /// Highest charging power. Zero forbids charging.
    #[serde(rename = "charge_max_kw")]
    pub charge_max: Option<Power>,
    /// Highest discharging power. Zero forbids discharging.
    #[serde(rename = "discharge_max_kw")]
    pub discharge_max: Option<Power>,
    /// State of charge wanted from the start of the period to its end.
    #[serde(rename = "soc_min_percent")]
    pub soc_min: Option<Percent>,
    /// State of charge beyond which nothing is charged in the period. A
    /// battery that is above it is not forced down.
    #[serde(rename = "soc_max_percent")]
    pub soc_max: Option<Percent>,
}

/// A period in which stored energy leaves the battery for something else than
/// the grid, evenly over the period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consumption {
    /// First instant of the period.
    pub start: DateTime<Utc>,
    /// First instant after the period.
    pub end: DateTime<Utc>,
    /// Stored energy that is used up.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// Whether the battery can charge and discharge meanwhile. A vehicle that
    /// drives cannot.
    pub is_plugged_in: bool,
}

/// The wishes and limits of one battery, as a caller states them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageRequest {
    /// Plug-in time, or the present; the first instant a plan may use.
    pub now: DateTime<Utc>,
    /// End of the plan, if it is to end before the prices do.
    pub until: Option<DateTime<Utc>>,
    /// The battery; its efficiency is that of charging.
    pub battery: Battery,
    /// Energy at the plug per stored energy when discharging.
    pub efficiency_discharge: f64,
    /// Highest charging power, at the plug.
    #[serde(rename = "charge_max_kw")]
    pub charge_max: Power,
    /// Highest discharging power, at the plug, as a number above zero.
    #[serde(rename = "discharge_max_kw")]
    pub discharge_max: Power,
    /// Periods with limits of their own, in any order.
    pub limits: Vec<StorageLimit>,
    /// States of charge wanted by deadlines, in any order.
    pub targets: Vec<SocTarget>,
    /// State of charge reached at once, at any price, and kept: nothing below
    /// it is sold, and driving is prepared for so that it is still there after.
    #[serde(rename = "reserve_percent")]
    pub reserve: Percent,
    /// Periods of driving, in any order.
    pub consumption: Vec<Consumption>,
    /// Value of a kWh stored at the end of the plan.
    #[serde(rename = "end_value_per_kwh")]
    pub end_value: Price,
    /// Wear per stored kWh that is discharged to the plug. Charging and
    /// driving wear too, but no plan can avoid what they need.
    #[serde(rename = "wear_price_per_kwh")]
    pub wear_price: Price,
    /// What a missed deadline means.
    pub after_deadline: AfterDeadline,
}

impl StorageRequest {
    /// A battery with equal power both ways and nothing else to wish for.
    #[must_use]
    pub fn new(now: DateTime<Utc>, battery: Battery, power_max: Power) -> Self {
        Self {
            now,
            until: None,
            battery,
            efficiency_discharge: 1.0,
            charge_max: power_max,
            discharge_max: power_max,
            limits: Vec::new(),
            targets: Vec::new(),
            reserve: Percent::ZERO,
            consumption: Vec::new(),
            end_value: Price::ZERO,
            wear_price: Price::ZERO,
            after_deadline: AfterDeadline::Continue,
        }
    }
}

/// Why a request makes no sense. An unmet wish is not among the reasons.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum StorageError {
    /// The battery makes no sense, or its state of charge is not known.
    #[error(transparent)]
    Battery(#[from] VehicleError),
    /// An efficiency outside its range.
    #[error("{field} is {efficiency}; it lies between {EFFICIENCY_MIN} and 1")]
    Efficiency {
        /// Name of the field.
        field: &'static str,
        /// The efficiency as given.
        efficiency: f64,
    },
    /// A power below zero.
    #[error("{field} is {} kW; it is 0 kW or more", power.as_kw())]
    NegativePower {
        /// Name of the field.
        field: &'static str,
        /// The power as given.
        power: Power,
    },
    /// A power limit below zero.
    #[error("limits[{index}].{field} is {} kW; a limit is 0 kW or more", power.as_kw())]
    NegativeLimit {
        /// Position in the input.
        index: usize,
        /// Name of the field.
        field: &'static str,
        /// The power as given.
        power: Power,
    },
    /// The period of a limit has no length.
    #[error("limits[{index}] ends at {end}, not after its start at {start}")]
    LimitPeriod {
        /// Position in the input.
        index: usize,
        /// Start of the period.
        start: DateTime<Utc>,
        /// End of the period.
        end: DateTime<Utc>,
    },
    /// Periods of driving overlap or have no length.
    #[error("consumption: {0}")]
    ConsumptionPeriods(#[from] HorizonError),
    /// Driving that charges.
    #[error("consumption[{index}].energy_kwh is {} kWh; it is 0 kWh or more", energy.as_kwh())]
    NegativeConsumption {
        /// Position in the input.
        index: usize,
        /// The energy as given.
        energy: Energy,
    },
    /// Wear that pays.
    #[error("wear_price_per_kwh is {} per kWh; it is 0 or more", price.as_per_kwh())]
    NegativeWear {
        /// The price as given.
        price: Price,
    },
}

/// Refuses an efficiency outside [`EFFICIENCY_MIN`] to 1.
pub(crate) fn check_efficiency(field: &'static str, efficiency: f64) -> Result<(), StorageError> {
    if (EFFICIENCY_MIN..=1.0).contains(&efficiency) {
        Ok(())
    } else {
        Err(StorageError::Efficiency { field, efficiency })
    }
}

/// Refuses a power below zero.
pub(crate) fn check_power(field: &'static str, power: Power) -> Result<(), StorageError> {
    if power < Power::ZERO { Err(StorageError::NegativePower { field, power }) } else { Ok(()) }
}

/// A request that makes sense. Planning it cannot fail.
#[derive(Debug, Clone, PartialEq)]
pub struct StorageProblem {
    request: StorageRequest,
    stored: Energy,
}

impl StorageProblem {
    /// Checks a request.
    ///
    /// # Errors
    /// The state of charge is not known; a battery without capacity; an
    /// efficiency outside 0.01 to 1; a power, consumption or wear below zero;
    /// a limit without length; consumption that overlaps.
    pub fn new(request: StorageRequest) -> Result<Self, StorageError> {
        let battery = request.battery;
        check_capacity(battery.capacity)?;
        check_efficiency("efficiency", battery.efficiency)?;
        check_efficiency("efficiency_discharge", request.efficiency_discharge)?;
        check_power("charge_max_kw", request.charge_max)?;
        check_power("discharge_max_kw", request.discharge_max)?;
        if request.wear_price < Price::ZERO {
            return Err(StorageError::NegativeWear { price: request.wear_price });
        }
        check_limits(&request.limits)?;
        for (index, period) in request.consumption.iter().enumerate() {
            if period.energy < Energy::ZERO {
                return Err(StorageError::NegativeConsumption { index, energy: period.energy });
            }
        }
        let mut request = request;
        request.consumption.sort_by_key(|period| period.start);
        Horizon::new(request.consumption.iter().map(|period| (period.start, period.end)))?;
        let soc = battery.soc.or(battery.soc_fallback).ok_or(VehicleError::UnknownSoc)?;
        Ok(Self { stored: soc.of(battery.capacity), request })
    }

    /// The request as it was checked.
    #[must_use]
    pub fn request(&self) -> &StorageRequest {
        &self.request
    }

    /// Stored energy at the start.
    #[must_use]
    pub fn stored(&self) -> Energy {
        self.stored
    }
}

fn check_limits(limits: &[StorageLimit]) -> Result<(), StorageError> {
    for (index, limit) in limits.iter().enumerate() {
        if limit.end <= limit.start {
            return Err(StorageError::LimitPeriod { index, start: limit.start, end: limit.end });
        }
        let powers =
            [("charge_max_kw", limit.charge_max), ("discharge_max_kw", limit.discharge_max)];
        for (field, power) in powers {
            if let Some(power) = power
                && power < Power::ZERO
            {
                return Err(StorageError::NegativeLimit { index, field, power });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{kw, kwh, per_kwh, percent};

    fn request() -> StorageRequest {
        let battery = Battery {
            capacity: kwh(50.0),
            soc: Some(percent(50.0)),
            soc_fallback: None,
            charge_limit: percent(90.0),
            efficiency: 0.9,
        };
        StorageRequest::new("2026-01-05T18:00:00Z".parse().unwrap(), battery, kw(10.0))
    }

    fn limit(request: &StorageRequest) -> StorageLimit {
        StorageLimit {
            start: request.now,
            end: request.now + chrono::TimeDelta::hours(1),
            charge_max: None,
            discharge_max: None,
            soc_min: None,
            soc_max: None,
        }
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut StorageRequest), expected: &str) {
        let mut request = request();
        change(&mut request);
        assert_eq!(StorageProblem::new(request).unwrap_err().to_string(), expected);
    }

    #[test]
    fn errors_name_field_value_and_unit() {
        check(|r| r.charge_max = kw(-1.0), "charge_max_kw is -1 kW; it is 0 kW or more");
        check(|r| r.discharge_max = kw(-2.0), "discharge_max_kw is -2 kW; it is 0 kW or more");
        check(
            |r| r.efficiency_discharge = 1.5,
            "efficiency_discharge is 1.5; it lies between 0.01 and 1",
        );
        check(|r| r.battery.efficiency = f64::NAN, "efficiency is NaN; it lies between 0.01 and 1");
        check(
            |r| r.battery.soc = None,
            "soc_percent is not known; give soc_fallback_percent to plan without it",
        );
        check(
            |r| r.wear_price = per_kwh(-0.1),
            "wear_price_per_kwh is -0.1 per kWh; it is 0 or more",
        );
        check(
            |r| r.limits.push(StorageLimit { charge_max: Some(kw(-3.0)), ..limit(r) }),
            "limits[0].charge_max_kw is -3 kW; a limit is 0 kW or more",
        );
        check(
            |r| r.limits.push(StorageLimit { end: r.now, ..limit(r) }),
            "limits[0] ends at 2026-01-05 18:00:00 UTC, \
             not after its start at 2026-01-05 18:00:00 UTC",
        );
    }

    #[test]
    fn driving_does_not_overlap() {
        let drive = |r: &StorageRequest, energy| Consumption {
            start: r.now,
            end: r.now + chrono::TimeDelta::hours(1),
            energy: kwh(energy),
            is_plugged_in: false,
        };
        check(
            |r| r.consumption.push(drive(r, -1.0)),
            "consumption[0].energy_kwh is -1 kWh; it is 0 kWh or more",
        );
        check(
            |r| r.consumption = vec![drive(r, 1.0), drive(r, 2.0)],
            "consumption: slot 1 starts at 2026-01-05 18:00:00 UTC, \
             before the slot ahead of it ends at 2026-01-05 19:00:00 UTC",
        );
    }

    #[test]
    fn a_request_survives_its_json() {
        let mut request = request();
        request.limits.push(limit(&request));
        let text = serde_json::to_string(&request).unwrap();
        assert!(text.contains(r#""discharge_max_kw":10.0"#), "{text}");
        assert_eq!(serde_json::from_str::<StorageRequest>(&text).unwrap(), request);
    }
}
