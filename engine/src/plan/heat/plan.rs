//! Plan of a room or tank: slots, intervals, cost, degree-hours and certificate.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::heat::certificate::HeatCertificate;
use crate::plan::heat::request::HeatMode;
use crate::plan::interval::Interval;
use crate::time::instant::micros_between;
use crate::units::{Energy, MICROS_PER_HOUR, Money, Power, Price, Temperature};

/// Period of constant prices, temperatures outdoors and limits. Slots follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeatSlot {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Price of a kWh of electricity, if it is known.
    #[serde(rename = "price_per_kwh")]
    pub price: Option<Price>,
    /// Outdoor temperature.
    #[serde(rename = "outdoor_celsius")]
    pub outdoor: Temperature,
    /// Heat from elsewhere; negative is drawn.
    #[serde(rename = "gain_kw")]
    pub gain: Power,
    /// Heat moved per electrical energy.
    pub cop: f64,
    /// Highest electrical power; zero without a price.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Electrical energy used, at constant power.
    #[serde(rename = "used_kwh")]
    pub used: Energy,
    /// Temperature at the end.
    #[serde(rename = "temperature_celsius")]
    pub temperature: Temperature,
    /// Lowest temperature of the band at the end: the higher one of those before and after it.
    #[serde(rename = "temperature_min_celsius")]
    pub temperature_min: Temperature,
    /// Highest temperature of the band at the end: the lower one of those before and after it, but
    /// not below `temperature_min`.
    #[serde(rename = "temperature_max_celsius")]
    pub temperature_max: Temperature,
    /// Marginal value of a kWh of heat stored at the end; of cold, for a unit that cools.
    #[serde(rename = "marginal_value_per_kwh")]
    pub marginal_value: Price,
    /// Degree-hours outside the band that one more kWh of heat, or of cold, saves; negative causes
    /// more.
    #[serde(rename = "marginal_degree_hours_per_kwh")]
    pub marginal_degree_hours: f64,
}

impl HeatSlot {
    /// Length in hours.
    #[must_use]
    pub fn hours(&self) -> f64 {
        micros_between(self.start, self.end) as f64 / MICROS_PER_HOUR
    }

    /// Electrical power throughout.
    #[must_use]
    pub fn power(&self) -> Power {
        let most = self.power_max.over_micros(micros_between(self.start, self.end));
        if self.used >= most {
            return self.power_max;
        }
        Power::from_kw(self.used.as_kwh() / self.hours()).unwrap_or(Power::ZERO).min(self.power_max)
    }

    /// Heat moved.
    #[must_use]
    pub fn heat(&self) -> Energy {
        Energy::from_kwh(self.used.as_kwh() * self.cop).unwrap_or(Energy::ZERO)
    }

    /// Degrees below the band at the end.
    #[must_use]
    pub fn below_celsius(&self) -> f64 {
        (self.temperature_min - self.temperature).as_celsius().max(0.0)
    }

    /// Degrees above the band at the end.
    #[must_use]
    pub fn above_celsius(&self) -> f64 {
        (self.temperature - self.temperature_max).as_celsius().max(0.0)
    }
}

/// Degree-hours outside the band: degrees at the end of each slot times its hours.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DegreeHours {
    /// Below the band, in °C·h.
    #[serde(rename = "below_celsius_hours")]
    pub below: f64,
    /// Above the band, in °C·h.
    #[serde(rename = "above_celsius_hours")]
    pub above: f64,
}

impl DegreeHours {
    /// Degree-hours below and above the band.
    #[must_use]
    pub fn total(self) -> f64 {
        self.below + self.above
    }

    /// Sum over slots.
    pub(crate) fn of(slots: &[HeatSlot]) -> Self {
        slots.iter().fold(Self::default(), |sum, slot| Self {
            below: sum.below + slot.below_celsius() * slot.hours(),
            above: sum.above + slot.above_celsius() * slot.hours(),
        })
    }
}

/// The same room or tank under a thermostat that holds the edge of the band: the lower one if it
/// heats, the upper one if it cools.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeatBaseline {
    /// Cost of its electricity, less the value of the heat stored at the end.
    pub cost: Money,
    /// Electrical energy used.
    #[serde(rename = "used_kwh")]
    pub used: Energy,
    /// Degree-hours outside the band.
    pub discomfort: DegreeHours,
}

/// Plan of a room or tank with the least degree-hours outside its band, and of those the least cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HeatPlan {
    /// Periods in which the unit runs, in time order; neighbours of one power are merged.
    pub intervals: Vec<Interval>,
    /// All slots from the start of the plan to its end.
    pub slots: Vec<HeatSlot>,
    /// Direction of the unit.
    pub mode: HeatMode,
    /// Temperature at the start.
    #[serde(rename = "temperature_start_celsius")]
    pub temperature_start: Temperature,
    /// Electrical energy used.
    #[serde(rename = "used_kwh")]
    pub used: Energy,
    /// Heat moved.
    #[serde(rename = "heat_kwh")]
    pub heat: Energy,
    /// Cost of the electricity, less the value of the heat stored at the end above that at the
    /// start.
    pub cost: Money,
    /// Value of the heat stored at the end above that at the start, part of the cost.
    pub stored_value: Money,
    /// Degree-hours outside the band. Zero if the band is held throughout.
    pub discomfort: DegreeHours,
    /// Cost, energy and degree-hours of a thermostat.
    pub baseline: HeatBaseline,
    /// Hours without a price, in which the unit is off.
    pub unpriced_hours: f64,
    /// Degree-hours and cost, with lower bounds on both.
    pub certificate: HeatCertificate,
}

impl HeatPlan {
    /// Cost of the baseline minus cost. Negative if the plan costs more, as it may where it is
    /// outside the band for less time.
    #[must_use]
    pub fn savings(&self) -> Money {
        self.baseline.cost - self.cost
    }

    /// Temperature at the start of a slot.
    pub(crate) fn temperature_before(&self, index: usize) -> Temperature {
        let before = index.checked_sub(1).map(|last| self.slots[last].temperature);
        before.unwrap_or(self.temperature_start)
    }

    /// Temperature at an instant. Before the plan it is that at the start, after it that at the end.
    #[must_use]
    pub fn temperature_at(&self, at: DateTime<Utc>) -> Temperature {
        let index = self.slots.partition_point(|slot| slot.end <= at);
        let before = self.temperature_before(index);
        let Some(slot) = self.slots.get(index).filter(|slot| slot.start < at) else {
            return before;
        };
        // Within a slot the temperature approaches its limit exponentially.
        let store = self.certificate.evidence.store;
        let per_hour = store.loss.as_kw_per_k() / store.capacity.as_kwh_per_k();
        let share = |hours: f64| -(-per_hour * hours).exp_m1();
        let hours = micros_between(slot.start, at) as f64 / MICROS_PER_HOUR;
        let whole = share(slot.hours());
        let part = if whole > 0.0 { share(hours) / whole } else { hours / slot.hours() };
        let celsius = before.as_celsius() + (slot.temperature - before).as_celsius() * part;
        Temperature::from_celsius(celsius).unwrap_or(before)
    }
}
