//! Interval of constant power, the unit in which every plan is written.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::prices::curve::PriceCurve;
use crate::units::Power;

/// Period of charging or discharging at one power.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it, to the microsecond.
    pub end: DateTime<Utc>,
    /// Power throughout; negative is discharging.
    #[serde(rename = "power_kw")]
    pub power: Power,
}

/// Emissions in kg of the charging in some intervals, at a carbon intensity in kg per kWh.
///
/// Discharging has none: the energy was counted when it was charged.
#[must_use]
pub fn emissions_of(intervals: &[Interval], intensity: &PriceCurve) -> f64 {
    let charging = intervals.iter().filter(|interval| interval.power > Power::ZERO);
    intensity.weigh(charging.map(|interval| (interval.start, interval.end, interval.power)))
}

impl Interval {
    /// Adds the interval to a plan: it extends the last one if both touch and `is_same` holds of
    /// their powers. An empty interval is left out.
    pub(crate) fn join(
        self,
        intervals: &mut Vec<Self>,
        is_same: impl FnOnce(Power, Power) -> bool,
    ) {
        match intervals.last_mut() {
            Some(last) if last.end == self.start && is_same(last.power, self.power) => {
                last.end = self.end;
            }
            _ if self.end > self.start => intervals.push(self),
            _ => {}
        }
    }
}
