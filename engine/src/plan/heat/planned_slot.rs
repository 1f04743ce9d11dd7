//! Slot of a heat plan, and the degree-hours of slots.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::time::instant::micros_between;
use crate::tolerance::{SUM_ROUNDING, allowed};
use crate::units::{Energy, MICROS_PER_HOUR, Power, Price, Temperature};

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
    /// Highest electrical power; zero without a price, and for a unit that is on or off where a limit
    /// forbids it to run.
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
        let micros = micros_between(self.start, self.end);
        if self.used >= self.power_max.over_micros(micros) {
            return self.power_max;
        }
        let hours = micros as f64 / MICROS_PER_HOUR;
        Power::from_kw(self.used.as_kwh() / hours).unwrap_or(Power::ZERO).min(self.power_max)
    }

    /// Heat moved.
    #[must_use]
    pub fn heat(&self) -> Energy {
        Energy::from_kwh(self.used.as_kwh() * self.cop).unwrap_or(Energy::ZERO)
    }

    /// Degrees below the band at the end; zero where that is rounding.
    #[must_use]
    pub fn below_celsius(&self) -> f64 {
        outside(self.temperature_min - self.temperature, self.temperature_min)
    }

    /// Degrees above the band at the end; zero where that is rounding.
    #[must_use]
    pub fn above_celsius(&self) -> f64 {
        outside(self.temperature - self.temperature_max, self.temperature_max)
    }
}

/// Degrees beyond an edge of the band. A temperature comes from a sum of energies, so a unit that just
/// holds the edge may be beyond it by the rounding of that sum.
fn outside(beyond: Temperature, edge: Temperature) -> f64 {
    let celsius = beyond.as_celsius();
    if celsius > allowed(SUM_ROUNDING, edge.as_celsius()) { celsius } else { 0.0 }
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
        let outside = |slot: &&HeatSlot| {
            slot.temperature < slot.temperature_min || slot.temperature > slot.temperature_max
        };
        slots.iter().filter(outside).fold(Self::default(), |sum, slot| {
            let hours = slot.hours();
            Self {
                below: sum.below + slot.below_celsius() * hours,
                above: sum.above + slot.above_celsius() * hours,
            }
        })
    }
}
