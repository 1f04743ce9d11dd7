//! Comfort policies of heating and cooling units: from a standing policy and a measured temperature
//! to a heat plan, and from the plan to the setting of a thermostat.
//!
//! A thermostat switches within a *dead band* of `d` degrees on either side of its setpoint. The plan
//! therefore keeps `d` from both edges of the comfort band, and a setpoint at an edge of what is left
//! keeps the temperature within the comfort band:
//!
//! ```text
//! planned band         [ L + d, H − d ]
//! at rest              setpoint L + d: the thermostat keeps the band if the plan is wrong
//! runs at full power   setpoint H − d: the unit runs until the plan rests, or the band is full
//! runs modulating      setpoint at the planned temperature at the end of the slot
//! ```
//!
//! A unit that cools is the mirror image.
use chrono::{DateTime, DurationRound, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::device::hvac::{Hold, Mode};
use slackwater_engine::plan::heat::{
    ComfortBand, CopPoint, HeatError, HeatMode, HeatPlan, HeatProblem, HeatRequest, OnOff,
    OutdoorPeriod, SetBack, ThermalStore, plan_heat,
};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::civil::local_of;
use slackwater_engine::units::{
    Energy, HeatCapacity, HeatLoss, Power, Price, Temperature, celsius, kwh_per_k,
};
use slackwater_engine::words;

/// Horizon of heat plans. Rooms forget within days.
const AHEAD: TimeDelta = TimeDelta::hours(48);

/// Shortest slot of a plan without prices, and grid on which a plan switches.
pub const QUARTER: TimeDelta = TimeDelta::minutes(15);

/// Age at which a measured temperature is no longer planned with.
const TEMPERATURE_AGE_MAX: TimeDelta = TimeDelta::hours(1);

/// Heat pumps and houses differ in size, but not without limit: kW and m².
const SIZE_MAX: f64 = 1e6;

/// Longest time for which a policy steps back: a week.
const STEP_BACK_MINUTES_MAX: u32 = 7 * 24 * 60;

/// Largest dead band and step of setpoints.
const DEGREES_MAX: f64 = 5.0;

words! {
    /// Heat capacity of a building by its construction (ISO 13790:2008, table 12).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Construction {
        /// Timber frame without screed: 80 kJ/K for each m² of floor.
        VeryLight = "very_light",
        /// 110 kJ/K for each m² of floor.
        Light = "light",
        /// 165 kJ/K for each m² of floor.
        Medium = "medium",
        /// Solid walls and floors: 260 kJ/K for each m² of floor.
        Heavy = "heavy",
        /// 370 kJ/K for each m² of floor.
        VeryHeavy = "very_heavy",
    }
}

impl Construction {
    /// Heat capacity of a m² of floor, in kJ/K.
    const fn kj_per_k(self) -> f64 {
        match self {
            Self::VeryLight => 80.0,
            Self::Light => 110.0,
            Self::Medium => 165.0,
            Self::Heavy => 260.0,
            Self::VeryHeavy => 370.0,
        }
    }
}

/// Building whose heat capacity follows from its construction and floor area.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Building {
    /// Construction.
    pub construction: Construction,
    /// Heated floor area, m².
    pub floor_area_m2: f64,
}

/// Standing comfort policy of a heating or cooling unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComfortPolicy {
    /// Band outside of all set-backs.
    pub comfort: ComfortBand,
    /// Periods of every day with bands of their own, on the wall clock of the location.
    #[serde(default)]
    pub set_backs: Vec<SetBack>,
    /// Direction of the unit.
    #[serde(default)]
    pub mode: HeatMode,
    /// Heat that warms the room by one degree; `building` in place of it.
    #[serde(default, rename = "capacity_kwh_per_k", skip_serializing_if = "Option::is_none")]
    pub capacity: Option<HeatCapacity>,
    /// Building whose heat capacity is taken, in place of `capacity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub building: Option<Building>,
    /// Heat that the room loses for each degree above the outdoor temperature.
    #[serde(rename = "loss_kw_per_k")]
    pub loss: HeatLoss,
    /// Highest electrical power of the unit.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Coefficient of performance by outdoor temperature.
    pub cop: Vec<CopPoint>,
    /// Outdoor temperature: one, or one for each hour of the day on the wall clock.
    #[serde(rename = "outdoor_celsius")]
    pub outdoor: Vec<Temperature>,
    /// True if the unit runs at any power up to its highest, false if at that one or not at all.
    #[serde(default)]
    pub is_modulating: bool,
    /// Degrees on either side of a setpoint within which the thermostat switches.
    #[serde(default = "half_degree", rename = "deadband_celsius")]
    pub deadband: Temperature,
    /// Setpoints are whole multiples of it, as the thermostat takes them.
    #[serde(default = "half_degree", rename = "setpoint_step_celsius")]
    pub setpoint_step: Temperature,
    /// Time for which the unit is left alone after a person or a client has set it.
    #[serde(default = "four_hours")]
    pub step_back_minutes: u32,
}

const fn four_hours() -> u32 {
    240
}

fn half_degree() -> Temperature {
    celsius(0.5)
}

/// Error of a policy that makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ComfortError {
    /// Neither or both of the two ways to state the heat capacity.
    #[error("capacity_kwh_per_k: give it, or building in place of it")]
    Capacity,
    /// Floor area that is no size.
    #[error("building.floor_area_m2 is {given} m²; it is above 0 m² and at most {SIZE_MAX} m²")]
    FloorArea {
        /// The area as given.
        given: f64,
    },
    /// Power of zero or less.
    #[error(
        "power_max_kw is {} kW; it is above 0 kW and at most {SIZE_MAX} kW", power.as_kw()
    )]
    Power {
        /// The power as given.
        power: Power,
    },
    /// Number of outdoor temperatures.
    #[error("outdoor_celsius has {given} values; it has 1, or 24 for the hours of the day")]
    OutdoorCount {
        /// Number as given.
        given: usize,
    },
    /// Dead band or step outside its range.
    #[error("{field} is {} °C; it is {least} and at most {DEGREES_MAX} °C", given.as_celsius())]
    Degrees {
        /// Name of the field.
        field: &'static str,
        /// The value as given.
        given: Temperature,
        /// Its lower bound, in words.
        least: &'static str,
    },
    /// Band without room for the dead band on both sides.
    #[error(
        "{field} is {} to {} °C; with deadband_celsius of {} °C on both sides it is {} °C wide or more",
        band.min.as_celsius(), band.max.as_celsius(), deadband.as_celsius(),
        2.0 * deadband.as_celsius()
    )]
    Narrow {
        /// Name of the field.
        field: String,
        /// The band as given.
        band: ComfortBand,
        /// Dead band on each side.
        deadband: Temperature,
    },
    /// Time that is too long.
    #[error("step_back_minutes is {given} min; it is at most {STEP_BACK_MINUTES_MAX} min")]
    StepBack {
        /// The time as given.
        given: u32,
    },
    /// Value that the planner refuses.
    #[error(transparent)]
    Heat(#[from] HeatError),
}

/// Measured temperature of a room, and the clock of its location.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoomFacts {
    /// Temperature and the instant at which it was measured; `None` is unknown.
    pub temperature: Option<(Temperature, DateTime<Utc>)>,
    /// Time zone of the location.
    pub time_zone: Tz,
}

impl RoomFacts {
    /// Temperature to plan with; `None` if it is unknown or too old.
    #[must_use]
    pub fn find_temperature(&self, now: DateTime<Utc>) -> Option<Temperature> {
        let (temperature, at) = self.temperature?;
        (now - at <= TEMPERATURE_AGE_MAX).then_some(temperature)
    }
}

/// Setting of a thermostat that follows a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Setting to hold.
    pub hold: Hold,
    /// End of the slot of the plan.
    pub until: DateTime<Utc>,
    /// True if the plan runs the unit.
    pub is_running: bool,
}

impl ComfortPolicy {
    /// Checks the policy.
    ///
    /// # Errors
    /// The first value that makes no sense, with its name, value and unit.
    pub fn check(&self) -> Result<(), ComfortError> {
        match (self.capacity, self.building) {
            (Some(_), None) => {}
            (None, Some(building)) => {
                let given = building.floor_area_m2;
                if !(given > 0.0 && given <= SIZE_MAX) {
                    return Err(ComfortError::FloorArea { given });
                }
            }
            _ => return Err(ComfortError::Capacity),
        }
        let power = self.power_max;
        if !(power > Power::ZERO && power.as_kw() <= SIZE_MAX) {
            return Err(ComfortError::Power { power });
        }
        if !matches!(self.outdoor.len(), 1 | 24) {
            return Err(ComfortError::OutdoorCount { given: self.outdoor.len() });
        }
        let range = [
            ("deadband_celsius", self.deadband, "0 °C or more", false),
            ("setpoint_step_celsius", self.setpoint_step, "above 0 °C", true),
        ];
        for (field, given, least, is_above) in range {
            let degrees = given.as_celsius();
            if degrees < 0.0 || (is_above && degrees == 0.0) || degrees > DEGREES_MAX {
                return Err(ComfortError::Degrees { field, given, least });
            }
        }
        if self.step_back_minutes > STEP_BACK_MINUTES_MAX {
            return Err(ComfortError::StepBack { given: self.step_back_minutes });
        }
        // Bands as they were given, before the dead band narrows them.
        let facts = RoomFacts { temperature: None, time_zone: Tz::UTC };
        let start = DateTime::<Utc>::UNIX_EPOCH;
        let whole = HeatRequest {
            comfort: self.comfort,
            set_backs: self.set_backs.clone(),
            // No policy states it: a band outside the range of temperatures is named by itself.
            temperature: celsius(0.0),
            ..self.request(&facts, start, start + QUARTER)
        };
        HeatProblem::new(whole)?;
        self.check_width()
    }

    fn check_width(&self) -> Result<(), ComfortError> {
        let own = self.set_backs.iter().enumerate();
        let own = own.map(|(index, own)| (format!("set_backs[{index}].band"), own.band));
        for (field, band) in [("comfort".to_owned(), self.comfort)].into_iter().chain(own) {
            let narrowed = self.narrow_band(band);
            if narrowed.min > narrowed.max {
                return Err(ComfortError::Narrow { field, band, deadband: self.deadband });
            }
        }
        Ok(())
    }

    /// Time for which the unit is left alone after a person or a client has set it.
    #[must_use]
    pub fn step_back(&self) -> TimeDelta {
        TimeDelta::minutes(self.step_back_minutes.into())
    }

    /// Heat capacity, from the building if it is not stated.
    #[must_use]
    pub fn heat_capacity(&self) -> HeatCapacity {
        let of_building = || {
            let building = self.building?;
            let kj_per_k = building.construction.kj_per_k() * building.floor_area_m2;
            HeatCapacity::from_kwh_per_k(kj_per_k / 3600.0).ok()
        };
        self.capacity.or_else(of_building).unwrap_or(kwh_per_k(0.0))
    }

    /// Band that the plan keeps: the dead band lies between it and the comfort band.
    fn narrow_band(&self, band: ComfortBand) -> ComfortBand {
        ComfortBand { min: band.min + self.deadband, max: band.max - self.deadband }
    }

    /// Request for a plan from `now` to `until`.
    fn request(&self, facts: &RoomFacts, now: DateTime<Utc>, until: DateTime<Utc>) -> HeatRequest {
        let narrowed = |own: &SetBack| SetBack { band: self.narrow_band(own.band), ..*own };
        let comfort = self.narrow_band(self.comfort);
        HeatRequest {
            now,
            until: Some(until),
            store: ThermalStore { capacity: self.heat_capacity(), loss: self.loss },
            temperature: facts.find_temperature(now).unwrap_or(comfort.min),
            mode: self.mode,
            power_max: self.power_max,
            power_limits: Vec::new(),
            cop: self.cop.clone(),
            outdoor: self.outdoor_periods(facts.time_zone, now, until),
            gains: Vec::new(),
            comfort,
            set_backs: self.set_backs.iter().map(narrowed).collect(),
            time_zone: facts.time_zone,
            end_value: Price::ZERO,
            on_off: (!self.is_modulating).then(OnOff::default),
        }
    }

    /// Outdoor temperature from `now` to `until`, by quarters of an hour: a unit that is on or off
    /// switches between them only.
    fn outdoor_periods(
        &self,
        time_zone: Tz,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Vec<OutdoorPeriod> {
        let mut periods = Vec::new();
        let mut start = now;
        while start < until {
            let end = next_quarter(start).min(until);
            let hour = local_of(start, time_zone).hour() as usize;
            let temperature = self.outdoor.get(hour).or(self.outdoor.first()).copied();
            let temperature = temperature.unwrap_or(celsius(0.0));
            periods.push(OutdoorPeriod { start, end, temperature });
            start = end;
        }
        periods
    }

    /// Plan of the unit over prices, at most two days ahead.
    ///
    /// Without a present temperature, or without prices, the unit rests throughout the plan, so that
    /// its thermostat keeps the band.
    ///
    /// # Errors
    /// The policy makes no sense ([`check`](Self::check)).
    pub fn plan(
        &self,
        facts: &RoomFacts,
        prices: &PriceCurve,
        now: DateTime<Utc>,
    ) -> Result<HeatPlan, HeatError> {
        let known = prices.between(now, now + AHEAD);
        let is_blind = facts.find_temperature(now).is_none();
        let curve = if is_blind { PriceCurve::default() } else { known };
        let end = curve.slots().last().map_or(now, |slot| slot.end);
        let until = end.max(next_quarter(now));
        let problem = HeatProblem::new(self.request(facts, now, until))?;
        Ok(plan_heat(&curve, &problem))
    }

    /// Setting of the thermostat at an instant of a plan; `None` outside of the plan.
    #[must_use]
    pub fn find_setting(&self, plan: &HeatPlan, at: DateTime<Utc>) -> Option<Setting> {
        let index = plan.slots.partition_point(|slot| slot.end <= at);
        let slot = plan.slots.get(index).filter(|slot| slot.start <= at)?;
        let is_running = slot.used > Energy::ZERO;
        let (low, high) = (slot.temperature_min, slot.temperature_max);
        let heats = self.mode == HeatMode::Heat;
        // The edge at rest, and the one towards which the unit runs.
        let (rest, full) = if heats { (low, high) } else { (high, low) };
        let wanted = match (is_running, self.is_modulating) {
            (false, _) => rest,
            (true, false) => full,
            (true, true) => slot.temperature.max(low).min(high),
        };
        // Away from the edge at rest, so that rounding does not leave the band on that side.
        let is_up = heats == (!is_running || self.is_modulating);
        let setpoint = Some(self.rounded(wanted, is_up).max(low).min(high));
        let (mode, heat_setpoint, cool_setpoint) =
            if heats { (Mode::Heat, setpoint, None) } else { (Mode::Cool, None, setpoint) };
        let until = slot.end.min(next_quarter(at));
        Some(Setting { hold: Hold { mode, heat_setpoint, cool_setpoint }, until, is_running })
    }

    /// Whole multiple of the step of setpoints.
    fn rounded(&self, temperature: Temperature, is_up: bool) -> Temperature {
        let step = self.setpoint_step.as_celsius();
        let steps = temperature.as_celsius() / step;
        // A temperature at a step is at it but for rounding.
        let whole = if is_up { (steps - 1e-6).ceil() } else { (steps + 1e-6).floor() };
        Temperature::from_celsius(whole * step).unwrap_or(temperature)
    }
}

/// First whole quarter of an hour after an instant.
#[must_use]
pub fn next_quarter(at: DateTime<Utc>) -> DateTime<Utc> {
    at.duration_trunc(QUARTER).map_or(at + QUARTER, |start| start + QUARTER)
}

#[cfg(test)]
mod tests;
