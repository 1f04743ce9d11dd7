//! Request of a battery that charges and discharges, with its checks.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::request::AfterDeadline;
use crate::plan::charge::vehicle::{Battery, SocTarget, VehicleError, check_capacity};
use crate::plan::stability::previous_powers::{PreviousPowers, check_intervals};
use crate::plausibility::suggest_share;
use crate::time::horizon::{Horizon, HorizonError};
use crate::units::{Energy, Percent, Power, Price};

/// Least efficiency that a battery may have in one direction.
pub const EFFICIENCY_MIN: f64 = 0.01;

/// Period with limits of its own. `None` keeps the limit of the request; where periods overlap,
/// the tightest limit applies.
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
    /// Lowest state of charge, wanted from the start of the period to its end.
    #[serde(rename = "soc_min_percent")]
    pub soc_min: Option<Percent>,
    /// Charge limit in the period. A battery above it is not discharged for it.
    #[serde(rename = "soc_max_percent")]
    pub soc_max: Option<Percent>,
}

/// Period in which stored energy is consumed (by driving), evenly over the period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consumption {
    /// First instant of the period.
    pub start: DateTime<Utc>,
    /// First instant after the period.
    pub end: DateTime<Utc>,
    /// Stored energy consumed, 0 or more.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
    /// True if the battery can charge and discharge in the period. A vehicle that drives cannot.
    pub is_plugged_in: bool,
}

/// Wishes and limits of one battery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageRequest {
    /// Plug-in time, or the present: the first instant that a plan may use.
    pub now: DateTime<Utc>,
    /// End of the plan; `None` is the last instant of prices, targets and consumption.
    pub until: Option<DateTime<Utc>>,
    /// Battery; its efficiency is that of charging.
    pub battery: Battery,
    /// Energy at the plug per stored energy when discharging.
    pub efficiency_discharge: f64,
    /// Highest charging power, at the plug.
    #[serde(rename = "charge_max_kw")]
    pub charge_max: Power,
    /// Highest discharging power, at the plug, as a positive number.
    #[serde(rename = "discharge_max_kw")]
    pub discharge_max: Power,
    /// Periods with limits of their own, in any order.
    pub limits: Vec<StorageLimit>,
    /// Targets: states of charge wanted by deadlines, in any order.
    pub targets: Vec<SocTarget>,
    /// State of charge that is reached at once, at any price, and kept: no energy below it is
    /// sold, and enough is charged before driving that the reserve remains after it.
    #[serde(rename = "reserve_percent")]
    pub reserve: Percent,
    /// Periods of consumption, in any order.
    pub consumption: Vec<Consumption>,
    /// Value of a kWh stored at the end of the plan. With it, or with targets, they decide how much is
    /// left. With neither, the battery ends with at least what it holds at the start, up to its
    /// charge limit, less what it drives with: see [`StorageProblem::new`].
    #[serde(rename = "end_value_per_kwh", default, skip_serializing_if = "Option::is_none")]
    pub end_value: Option<Price>,
    /// Wear per stored kWh that is discharged to the plug, 0 or more. Charging and driving cause
    /// wear too, but no plan can avoid it.
    #[serde(rename = "wear_price_per_kwh")]
    pub wear_price: Price,
    /// Handling of a missed deadline.
    pub after_deadline: AfterDeadline,
    /// Plan before, near which the plan stays; `None` for the cheapest plan. It needs the feature
    /// `lp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<PreviousPowers>,
}

impl StorageRequest {
    /// Request of a battery with equal power both ways and without wishes.
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
            end_value: None,
            wear_price: Price::ZERO,
            after_deadline: AfterDeadline::Continue,
            previous: None,
        }
    }
}

/// Error of an invalid request. An unmet wish is no error.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// Invalid battery, or unknown state of charge.
    #[error(transparent)]
    Battery(#[from] VehicleError),
    /// Efficiency outside its range.
    #[error("{field} is {efficiency}; it lies between {EFFICIENCY_MIN} and 1{}", suggest_share(*efficiency))]
    Efficiency {
        /// Name of the field.
        field: &'static str,
        /// The efficiency as given.
        efficiency: f64,
    },
    /// Negative power.
    #[error("{field} is {} kW; it is 0 kW or more", power.as_kw())]
    NegativePower {
        /// Name of the field.
        field: &'static str,
        /// The power as given.
        power: Power,
    },
    /// Negative power limit.
    #[error("limits[{index}].{field} is {} kW; a limit is 0 kW or more", power.as_kw())]
    NegativeLimit {
        /// Position in the input.
        index: usize,
        /// Name of the field.
        field: &'static str,
        /// The power as given.
        power: Power,
    },
    /// Limit whose period has no length.
    #[error("limits[{index}] ends at {end}, not after its start at {start}")]
    LimitPeriod {
        /// Position in the input.
        index: usize,
        /// Start of the period.
        start: DateTime<Utc>,
        /// End of the period.
        end: DateTime<Utc>,
    },
    /// Limit whose least state of charge is above its highest one.
    #[error(
        "limits[{index}].soc_min_percent is {} %; it is at most soc_max_percent, {} %",
        least.as_percent(), most.as_percent()
    )]
    LimitRange {
        /// Position in the input.
        index: usize,
        /// The least state of charge as given.
        least: Percent,
        /// The highest state of charge as given.
        most: Percent,
    },
    /// Periods of consumption that overlap or have no length.
    #[error("consumption: {0}")]
    ConsumptionPeriods(#[from] HorizonError),
    /// Negative consumption.
    #[error("consumption[{index}].energy_kwh is {} kWh; it is 0 kWh or more", energy.as_kwh())]
    NegativeConsumption {
        /// Position in the input.
        index: usize,
        /// The energy as given.
        energy: Energy,
    },
    /// Intervals of the plan before that overlap or have no length.
    #[error("previous: {source}")]
    PreviousPeriods {
        /// Error of the intervals.
        source: HorizonError,
    },
    /// A plan before, in an engine without a solver.
    #[error("previous needs a linear programme; this engine is built without the feature `lp`")]
    NeedsSolver,
    /// Negative wear price.
    #[error("wear_price_per_kwh is {} per kWh; it is 0 or more", price.as_per_kwh())]
    NegativeWear {
        /// The price as given.
        price: Price,
    },
}

/// Checks that an efficiency is from [`EFFICIENCY_MIN`] to 1.
pub(crate) fn check_efficiency(field: &'static str, efficiency: f64) -> Result<(), StorageError> {
    if (EFFICIENCY_MIN..=1.0).contains(&efficiency) {
        Ok(())
    } else {
        Err(StorageError::Efficiency { field, efficiency })
    }
}

/// Checks that a power is 0 or more.
pub(crate) fn check_power(field: &'static str, power: Power) -> Result<(), StorageError> {
    if power < Power::ZERO { Err(StorageError::NegativePower { field, power }) } else { Ok(()) }
}

/// Valid request. Its planning cannot fail.
#[derive(Debug, Clone, PartialEq)]
pub struct StorageProblem {
    request: StorageRequest,
    stored: Energy,
}

impl StorageProblem {
    /// Checks a request.
    ///
    /// Without targets and without an end value the problem has a target for the end: the state of
    /// charge at the start, at most the charge limit, less the consumption until then. The stock of
    /// the start is then not sold. An end value of 0 allows to sell it.
    ///
    /// # Errors
    /// The state of charge is not known; the battery has no capacity; an efficiency is outside
    /// 0.01 to 1; a power, consumption or wear is negative; the period of a limit has no length;
    /// periods of consumption, or of the plan before, overlap; a plan before needs the feature
    /// `lp`, and it is off.
    pub fn new(request: StorageRequest) -> Result<Self, StorageError> {
        let battery = request.battery;
        check_capacity(battery.capacity)?;
        check_efficiency("efficiency", battery.efficiency)?;
        check_efficiency("discharge_efficiency", request.efficiency_discharge)?;
        check_power("power_max_kw", request.charge_max)?;
        check_power("discharge_max_kw", request.discharge_max)?;
        if request.wear_price < Price::ZERO {
            return Err(StorageError::NegativeWear { price: request.wear_price });
        }
        check_limits(&request.limits)?;
        if let Some(previous) = &request.previous {
            check_intervals(&previous.intervals)
                .map_err(|source| StorageError::PreviousPeriods { source })?;
            if !cfg!(feature = "lp") {
                return Err(StorageError::NeedsSolver);
            }
        }
        for (index, period) in request.consumption.iter().enumerate() {
            if period.energy < Energy::ZERO {
                return Err(StorageError::NegativeConsumption { index, energy: period.energy });
            }
        }
        // Periods may come in any order; a horizon has them in time order.
        let mut request = request;
        request.consumption.sort_by_key(|period| period.start);
        Horizon::new(request.consumption.iter().map(|period| (period.start, period.end)))?;
        let soc = battery.soc.or(battery.soc_fallback).ok_or(VehicleError::UnknownSoc)?;
        if request.end_value.is_none() && request.targets.is_empty() {
            request.targets.push(SocTarget { by: None, soc: Some(kept_soc(&request, soc)) });
        }
        request.end_value = Some(request.end_value.unwrap_or(Price::ZERO));
        Ok(Self { stored: soc.of(battery.capacity), request })
    }

    /// Checked request, with consumption in time order, a target where it had none, and an end value.
    #[must_use]
    pub fn request(&self) -> &StorageRequest {
        &self.request
    }

    /// Stored energy at the start.
    #[must_use]
    pub fn stored(&self) -> Energy {
        self.stored
    }

    /// Value of a kWh stored at the end.
    #[must_use]
    pub fn end_value(&self) -> Price {
        self.request.end_value.unwrap_or(Price::ZERO)
    }
}

/// State of charge at the end that leaves the stock of the start: `soc`, at most the charge limit, less
/// the consumption within the plan.
fn kept_soc(request: &StorageRequest, soc: Percent) -> Percent {
    let battery = &request.battery;
    let kept = soc.min(battery.charge_limit);
    let until = request.until.unwrap_or(DateTime::<Utc>::MAX_UTC);
    let used: f64 = request
        .consumption
        .iter()
        .map(|period| {
            let length = (period.end - period.start).as_seconds_f64();
            let inside = period.end.min(until) - period.start.max(request.now);
            let share = (inside.as_seconds_f64() / length).clamp(0.0, 1.0);
            period.energy.as_kwh() * share
        })
        .sum();
    if used > 0.0 {
        let left = kept.of(battery.capacity).as_kwh() - used;
        let left = Energy::from_kwh(left.max(0.0)).unwrap_or(Energy::ZERO);
        return Percent::filled(left, battery.capacity);
    }
    kept
}

/// Checks the periods, powers and states of charge of the limits.
fn check_limits(limits: &[StorageLimit]) -> Result<(), StorageError> {
    for (index, limit) in limits.iter().enumerate() {
        if limit.end <= limit.start {
            return Err(StorageError::LimitPeriod { index, start: limit.start, end: limit.end });
        }
        let powers =
            [("power_max_kw", limit.charge_max), ("discharge_max_kw", limit.discharge_max)];
        for (field, power) in powers {
            if let Some(power) = power
                && power < Power::ZERO
            {
                return Err(StorageError::NegativeLimit { index, field, power });
            }
        }
        if let (Some(least), Some(most)) = (limit.soc_min, limit.soc_max)
            && least > most
        {
            return Err(StorageError::LimitRange { index, least, most });
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
        check(|r| r.charge_max = kw(-1.0), "power_max_kw is -1 kW; it is 0 kW or more");
        check(|r| r.discharge_max = kw(-2.0), "discharge_max_kw is -2 kW; it is 0 kW or more");
        check(
            |r| r.efficiency_discharge = 1.5,
            "discharge_efficiency is 1.5; it lies between 0.01 and 1",
        );
        check(|r| r.battery.efficiency = f64::NAN, "efficiency is NaN; it lies between 0.01 and 1");
        check(
            |r| r.battery.efficiency = 92.0,
            "efficiency is 92; it lies between 0.01 and 1; 92 % is 0.92",
        );
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
            "limits[0].power_max_kw is -3 kW; a limit is 0 kW or more",
        );
        check(
            |r| {
                let soc = (Some(percent(80.0)), Some(percent(20.0)));
                r.limits.push(StorageLimit { soc_min: soc.0, soc_max: soc.1, ..limit(r) });
            },
            "limits[0].soc_min_percent is 80 %; it is at most soc_max_percent, 20 %",
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
    fn the_stock_of_the_start_is_kept_unless_something_else_is_wanted() {
        let target = |change: &dyn Fn(&mut StorageRequest)| {
            let mut request = request();
            change(&mut request);
            let problem = StorageProblem::new(request).unwrap();
            assert_eq!(problem.end_value(), Price::ZERO);
            problem.request().targets.clone()
        };
        let at_end = |soc: f64| vec![SocTarget { by: None, soc: Some(percent(soc)) }];
        assert_eq!(target(&|_| ()), at_end(50.0));
        assert_eq!(target(&|r| r.battery.soc = Some(percent(95.0))), at_end(90.0));
        assert_eq!(target(&|r| r.end_value = Some(Price::ZERO)), []);
        assert_eq!(target(&|r| r.targets = at_end(20.0)), at_end(20.0));
        let drive = |r: &mut StorageRequest, kwh_used: f64| {
            r.consumption.push(Consumption {
                start: r.now,
                end: r.now + chrono::TimeDelta::hours(2),
                energy: kwh(kwh_used),
                is_plugged_in: false,
            });
        };
        assert_eq!(target(&|r| drive(r, 10.0)), at_end(30.0));
        assert_eq!(target(&|r| drive(r, 99.0)), at_end(0.0));
        let half = |r: &mut StorageRequest| {
            drive(r, 10.0);
            r.until = Some(r.now + chrono::TimeDelta::hours(1));
        };
        assert_eq!(target(&half), at_end(40.0));
    }

    #[test]
    fn an_end_value_of_older_data_is_read_as_it_was() {
        let mut given = request();
        given.end_value = Some(Price::ZERO);
        let text = serde_json::to_string(&given).unwrap();
        assert!(text.contains(r#""end_value_per_kwh":0.0"#), "{text}");
        assert_eq!(serde_json::from_str::<StorageRequest>(&text).unwrap(), given);
        assert!(!serde_json::to_string(&request()).unwrap().contains("end_value"));
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
