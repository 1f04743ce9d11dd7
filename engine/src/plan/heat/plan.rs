//! Plan of a room or tank: slots, intervals, cost, degree-hours and certificate.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::heat::certificate::HeatCertificate;
use crate::plan::heat::planned_slot::{DegreeHours, HeatSlot};
use crate::plan::heat::request::HeatMode;
use crate::plan::interval::Interval;
use crate::time::instant::micros_between;
use crate::units::{Energy, MICROS_PER_HOUR, Money, Temperature};

/// Thermostat in place of the plan. It holds the edge of the band: the lower one if it heats, the upper
/// one if it cools.
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
