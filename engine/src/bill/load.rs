//! Metered energy, period by period.
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::bill::error::LoadError;
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Energy, kwh};

/// Microseconds in a minute.
pub(crate) const MINUTE: i64 = 60_000_000;

/// Milliwatt-hours in a kilowatt-hour.
const PER_KWH: f64 = 1e6;

/// Largest energy of a period: more than any grid delivers.
const KWH_MAX: f64 = 1e9;

/// Lengths of periods, in minutes. Each divides an hour.
const PERIODS: [u32; 6] = [5, 10, 15, 20, 30, 60];

/// One reading of a meter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Start of the period.
    pub start: DateTime<Utc>,
    /// Energy from the grid.
    pub import: Energy,
    /// Energy into the grid.
    pub export: Energy,
}

/// Energies of one period in milliwatt-hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metered {
    pub(crate) import: i64,
    pub(crate) export: i64,
}

/// A stretch of time without readings, `[start, end)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingReadings {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
}

/// Energies that a meter recorded, in periods of one length.
///
/// Readings are kept to the milliwatt-hour. They may come in any order, and may have gaps.
///
/// # Example
///
/// ```
/// use slackwater_engine::bill::load::{MeteredLoad, Reading};
/// use slackwater_engine::units::kwh;
/// let start = "2026-01-05T17:00:00Z".parse().unwrap();
/// let reading = Reading { start, import: kwh(2.5), export: kwh(0.0) };
/// let load = MeteredLoad::new(60, &[reading])?;
/// assert_eq!(load.import(), kwh(2.5));
/// let twice = MeteredLoad::new(60, &[reading, reading]).unwrap_err();
/// let expected = "readings[1] is another reading of the period from 2026-01-05 17:00:00 UTC";
/// assert_eq!(twice.to_string(), expected);
/// # Ok::<(), slackwater_engine::bill::error::LoadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeteredLoad {
    period_minutes: u32,
    /// Energies by the start of their period, in microseconds since 1970.
    periods: BTreeMap<i64, Metered>,
}

impl MeteredLoad {
    /// Load of readings, each over `period_minutes` from its start.
    ///
    /// # Errors
    /// Periods that do not divide an hour, start between two multiples of their length or are
    /// read twice, and energies below zero or above 1e9 kWh.
    pub fn new(period_minutes: u32, readings: &[Reading]) -> Result<Self, LoadError> {
        if !PERIODS.contains(&period_minutes) {
            return Err(LoadError::PeriodLength { minutes: period_minutes });
        }
        let mut periods = BTreeMap::new();
        for (index, reading) in readings.iter().enumerate() {
            let start = micros_of(reading.start);
            if start.rem_euclid(i64::from(period_minutes) * MINUTE) != 0 {
                let minutes = period_minutes;
                return Err(LoadError::NotAligned { index, start: reading.start, minutes });
            }
            let metered = Metered {
                import: milliwatt_hours(reading.import, index, "import_kwh")?,
                export: milliwatt_hours(reading.export, index, "export_kwh")?,
            };
            if periods.insert(start, metered).is_some() {
                return Err(LoadError::Duplicate { index, start: reading.start });
            }
        }
        Ok(Self { period_minutes, periods })
    }

    /// Length of the periods in minutes.
    #[must_use]
    pub fn period_minutes(&self) -> u32 {
        self.period_minutes
    }

    /// Energy from the grid in all periods.
    #[must_use]
    pub fn import(&self) -> Energy {
        let sum: i128 = self.periods.values().map(|metered| i128::from(metered.import)).sum();
        kwh(sum as f64 / PER_KWH)
    }

    /// Periods that start in `[from, to)`, in order.
    pub(crate) fn within(&self, from: i64, to: i64) -> impl Iterator<Item = (i64, Metered)> {
        self.periods.range(from..to.max(from)).map(|(&start, &metered)| (start, metered))
    }

    /// Stretches of `[from, to)` without readings.
    pub(crate) fn missing(&self, from: i64, to: i64) -> Vec<MissingReadings> {
        let length = i64::from(self.period_minutes) * MINUTE;
        let mut found = Vec::new();
        let mut reach = from;
        let ends = self.within(from, to).map(|(start, _)| start).chain([to]);
        for start in ends {
            if reach < start {
                found.push(MissingReadings { start: instant_at(reach), end: instant_at(start) });
            }
            reach = start.saturating_add(length);
        }
        found
    }
}

fn milliwatt_hours(energy: Energy, index: usize, field: &'static str) -> Result<i64, LoadError> {
    let kwh = energy.as_kwh();
    if (0.0..=KWH_MAX).contains(&kwh) {
        Ok((kwh * PER_KWH).round() as i64)
    } else {
        Err(LoadError::EnergyRange { index, field, kwh })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(start: &str, import: f64) -> Reading {
        Reading { start: start.parse().unwrap(), import: kwh(import), export: kwh(0.0) }
    }

    #[test]
    fn readings_that_are_none_are_named() {
        let text = |minutes, start, import| {
            MeteredLoad::new(minutes, &[reading(start, import)]).unwrap_err().to_string()
        };
        assert_eq!(
            text(45, "2026-01-05T17:00:00Z", 1.0),
            "period_minutes is 45 min; it is one of 5, 10, 15, 20, 30 and 60 min"
        );
        assert_eq!(
            text(60, "2026-01-05T17:15:00Z", 1.0),
            "readings[0] starts at 2026-01-05 17:15:00 UTC, which is no multiple of 60 min"
        );
        assert_eq!(
            text(60, "2026-01-05T17:00:00Z", -0.5),
            "readings[0].import_kwh is -0.5 kWh; it lies in 0 to 1000000000 kWh"
        );
    }

    #[test]
    fn gaps_are_listed_and_not_filled() {
        let readings = [reading("2026-01-05T03:00:00Z", 1.0), reading("2026-01-05T01:00:00Z", 1.0)];
        let load = MeteredLoad::new(60, &readings).unwrap();
        let at = |text: &str| micros_of(text.parse().unwrap());
        let missing = load.missing(at("2026-01-05T00:00:00Z"), at("2026-01-05T05:00:00Z"));
        let hours = |gap: &MissingReadings| format!("{}", gap.start.format("%H"));
        assert_eq!(missing.iter().map(hours).collect::<Vec<_>>(), ["00", "02", "04"]);
        assert_eq!(load.missing(at("2026-01-05T03:00:00Z"), at("2026-01-05T04:00:00Z")), []);
        let empty = MeteredLoad::new(15, &[]).unwrap();
        assert_eq!(empty.missing(0, 3_600_000_000).len(), 1);
        assert_eq!(empty.missing(0, 0), []);
    }
}
