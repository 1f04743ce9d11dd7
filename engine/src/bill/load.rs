//! Metered energy, period by period.
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::bill::error::{LoadError, MissingReadings};
use crate::bill::month::Month;
use crate::time::civil::local_of;
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Energy, Power, kwh};

/// Microseconds in a minute.
pub(crate) const MINUTE: i64 = 60_000_000;

/// Milliwatt-hours in a kilowatt-hour.
const PER_KWH: f64 = 1e6;

/// Largest energy of a period: more than any grid delivers.
const KWH_MAX: f64 = 1e9;

/// Largest mean power of a window in kW: more than any connection has.
const KW_MAX: f64 = 1e9;

/// Lengths of periods, in minutes. Each divides an hour.
const PERIODS: [u32; 9] = [1, 2, 3, 5, 10, 15, 20, 30, 60];

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

/// Energy over a period, positive from the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnergyPeriod {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Energy over the period.
    pub energy: Energy,
}

/// Mean power of a window that lies before the readings, or in a gap of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierPeak {
    /// An instant of the window.
    pub at: DateTime<Utc>,
    /// Mean power from the grid over the window.
    #[serde(rename = "power_kw")]
    pub power: Power,
}

/// Energies of one period in milliwatt-hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metered {
    pub(crate) import: i64,
    pub(crate) export: i64,
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
    /// Powers in milliwatts of windows without readings, by an instant in them.
    peaks: BTreeMap<i64, i64>,
    /// Energies from the grid of devices by name, by the start of their period.
    devices: BTreeMap<String, BTreeMap<i64, i64>>,
}

impl MeteredLoad {
    /// Load of readings, each over `period_minutes` from its start.
    ///
    /// # Errors
    /// Periods that do not divide an hour, start between two multiples of their length or are
    /// read twice, and energies below zero or above 1e9 kWh.
    pub fn new(period_minutes: u32, readings: &[Reading]) -> Result<Self, LoadError> {
        if !PERIODS.contains(&period_minutes) {
            return Err(LoadError::PeriodLength { seconds: i64::from(period_minutes) * 60 });
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
        Ok(Self { period_minutes, periods, peaks: BTreeMap::new(), devices: BTreeMap::new() })
    }

    /// Load of periods of one length. Without `export` a negative energy is one into the grid;
    /// with it neither is negative, and both have the same periods.
    ///
    /// # Errors
    /// As [`new`](Self::new); no periods; periods that differ in length; an export without an
    /// import in its period, and the other way round.
    pub fn from_periods(
        net: &[EnergyPeriod],
        export: Option<&[EnergyPeriod]>,
    ) -> Result<Self, LoadError> {
        let first = net.first().ok_or(LoadError::Empty)?;
        let seconds = (first.end - first.start).num_seconds();
        let minutes = u32::try_from(seconds / 60).unwrap_or(0);
        if i64::from(minutes) * 60 != seconds {
            return Err(LoadError::PeriodLength { seconds });
        }
        check_lengths(net, seconds)?;
        let mut readings = Vec::with_capacity(net.len());
        if let Some(export) = export {
            check_lengths(export, seconds)?;
            let mut exports: BTreeMap<DateTime<Utc>, Energy> =
                export.iter().map(|period| (period.start, period.energy)).collect();
            for &EnergyPeriod { start, energy: import, .. } in net {
                let export = exports.remove(&start);
                let export = export.ok_or(LoadError::Unpaired { start, is_import: true })?;
                readings.push(Reading { start, import, export });
            }
            if let Some((&start, _)) = exports.first_key_value() {
                return Err(LoadError::Unpaired { start, is_import: false });
            }
        } else {
            for period in net {
                let (net, none) = (period.energy, kwh(0.0));
                let (import, export) =
                    if net < none { (none, kwh(-net.as_kwh())) } else { (net, none) };
                readings.push(Reading { start: period.start, import, export });
            }
        }
        Self::new(minutes, &readings)
    }

    /// The load with powers that are known of windows without readings: those that were highest
    /// before the readings begin. Of several in one window the highest counts.
    ///
    /// # Errors
    /// A peak where there is a reading, and a power below zero or above 1e9 kW.
    pub fn with_peaks(mut self, peaks: &[EarlierPeak]) -> Result<Self, LoadError> {
        let length = i64::from(self.period_minutes) * MINUTE;
        for (index, peak) in peaks.iter().enumerate() {
            let (at, kw) = (micros_of(peak.at), peak.power.as_kw());
            if !(0.0..=KW_MAX).contains(&kw) {
                return Err(LoadError::PeakRange { index, kw });
            }
            if self.periods.contains_key(&(at - at.rem_euclid(length))) {
                return Err(LoadError::PeakMeasured { index, at: peak.at });
            }
            let milliwatts = (kw * PER_KWH).round() as i64;
            let known = self.peaks.entry(at).or_insert(milliwatts);
            *known = milliwatts.max(*known);
        }
        Ok(self)
    }

    /// The load with the energy that one of its devices drew, in the same periods.
    ///
    /// Energy from the grid is that of devices first, in the order in which they are given: of a
    /// device that draws more than the meter of the site imports, the import counts.
    ///
    /// # Errors
    /// A device that is given twice, a period of the load without one of the device or the other
    /// way round, periods of another length, and energies below zero or above 1e9 kWh.
    pub fn with_device(mut self, name: &str, drawn: &[EnergyPeriod]) -> Result<Self, LoadError> {
        let device = || name.to_owned();
        if self.devices.contains_key(name) {
            return Err(LoadError::DeviceTwice { device: device() });
        }
        let mut energies = BTreeMap::new();
        for period in drawn {
            let EnergyPeriod { start, end, energy } = *period;
            let minutes = self.period_minutes;
            if end - start != chrono::TimeDelta::minutes(i64::from(minutes)) {
                return Err(LoadError::DeviceLength { device: device(), start, end, minutes });
            }
            let micros = micros_of(start);
            if !self.periods.contains_key(&micros) {
                return Err(LoadError::DeviceUnpaired { device: device(), start, is_device: true });
            }
            let drawn = milliwatt_hours_within(energy);
            let kwh = energy.as_kwh();
            let drawn =
                drawn.ok_or_else(|| LoadError::DeviceRange { device: device(), start, kwh })?;
            energies.insert(micros, drawn);
        }
        for (&start, metered) in &self.periods {
            let Some(drawn) = energies.get_mut(&start) else {
                let start = instant_at(start);
                return Err(LoadError::DeviceUnpaired {
                    device: device(),
                    start,
                    is_device: false,
                });
            };
            let others: i64 = self.devices.values().filter_map(|other| other.get(&start)).sum();
            *drawn = (*drawn).min(metered.import - others);
        }
        self.devices.insert(device(), energies);
        Ok(self)
    }

    /// Names of the devices.
    pub(crate) fn devices(&self) -> impl Iterator<Item = &str> {
        self.devices.keys().map(String::as_str)
    }

    /// Energy in milliwatt-hours that a device drew from the grid in the period from `start`.
    pub(crate) fn device_energy(&self, name: &str, start: i64) -> i64 {
        self.devices.get(name).and_then(|energies| energies.get(&start)).copied().unwrap_or(0)
    }

    /// Months on the clocks of a zone from the first reading to the last.
    #[must_use]
    pub fn months(&self, time_zone: Tz) -> Vec<Month> {
        let month_at = |at: &i64| Month::of(local_of(instant_at(*at), time_zone).date());
        let ends = (self.periods.keys().next(), self.periods.keys().next_back());
        let (Some(first), Some(last)) = ends else { return Vec::new() };
        let last = month_at(last);
        let months = std::iter::successors(Some(month_at(first)), |month| Some(month.next()));
        months.take_while(|month| *month <= last).collect()
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

    /// Instants in `[from, to)` of windows without readings, with their powers in milliwatts.
    pub(crate) fn peaks_within(&self, from: i64, to: i64) -> impl Iterator<Item = (i64, i64)> {
        self.peaks.range(from..to.max(from)).map(|(&at, &milliwatts)| (at, milliwatts))
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

/// Refuses periods of another length than the first one.
fn check_lengths(periods: &[EnergyPeriod], expected: i64) -> Result<(), LoadError> {
    for (index, period) in periods.iter().enumerate() {
        let length = period.end - period.start;
        if length != chrono::TimeDelta::seconds(expected) {
            let (start, end) = (period.start, period.end);
            return Err(LoadError::OtherLength { index, start, end, expected });
        }
    }
    Ok(())
}

fn milliwatt_hours(energy: Energy, index: usize, field: &'static str) -> Result<i64, LoadError> {
    let kwh = energy.as_kwh();
    milliwatt_hours_within(energy).ok_or(LoadError::EnergyRange { index, field, kwh })
}

/// Milliwatt-hours of an energy that a meter can have in a period.
fn milliwatt_hours_within(energy: Energy) -> Option<i64> {
    let kwh = energy.as_kwh();
    (0.0..=KWH_MAX).contains(&kwh).then(|| (kwh * PER_KWH).round() as i64)
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
            "the periods have 45 min; they have 1, 2, 3, 5, 10, 15, 20, 30 or 60 min"
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

    /// Quarter-hours from midnight on with those energies.
    fn quarters(energies: &[f64]) -> Vec<EnergyPeriod> {
        let midnight: DateTime<Utc> = "2026-01-05T00:00:00Z".parse().unwrap();
        let at = |index: usize| midnight + chrono::TimeDelta::minutes(15 * index as i64);
        let periods = energies.iter().enumerate();
        periods
            .map(|(index, &energy)| EnergyPeriod {
                start: at(index),
                end: at(index + 1),
                energy: kwh(energy),
            })
            .collect()
    }

    #[test]
    fn a_negative_energy_is_an_export() {
        let net = MeteredLoad::from_periods(&quarters(&[1.0, -2.0]), None).unwrap();
        let (import, export) = (quarters(&[1.0, 0.0]), quarters(&[0.0, 2.0]));
        assert_eq!(MeteredLoad::from_periods(&import, Some(&export)).unwrap(), net);
        let text = |import: &[EnergyPeriod], export: Option<&[EnergyPeriod]>| {
            MeteredLoad::from_periods(import, export).unwrap_err().to_string()
        };
        assert_eq!(
            text(&import, Some(&export[..1])),
            "the period from 2026-01-05 00:15:00 UTC has an import and no export; both directions \
             have the same periods"
        );
        assert_eq!(
            text(&import[1..], Some(&export)),
            "the period from 2026-01-05 00:00:00 UTC has an export and no import; both directions \
             have the same periods"
        );
        let mut uneven = import.clone();
        uneven[1].end += chrono::TimeDelta::minutes(15);
        assert_eq!(
            text(&uneven, None),
            "readings[1] is from 2026-01-05 00:15:00 UTC to 2026-01-05 00:45:00 UTC, and the first \
             one has 15 min; resample the load to periods of one length"
        );
        assert_eq!(text(&[], None), "the load has no readings");
        uneven[0].end = uneven[0].start + chrono::TimeDelta::seconds(90);
        assert_eq!(
            text(&uneven[..1], None),
            "the periods have 1.5 min; they have 1, 2, 3, 5, 10, 15, 20, 30 or 60 min"
        );
    }

    #[test]
    fn a_peak_lies_where_there_is_no_reading() {
        let load = MeteredLoad::from_periods(&quarters(&[1.0]), None).unwrap();
        let peak = |minutes: i64, kw: f64| {
            let at = quarters(&[0.0])[0].start + chrono::TimeDelta::minutes(minutes);
            load.clone().with_peaks(&[EarlierPeak { at, power: crate::units::kw(kw) }])
        };
        assert!(peak(15, 3.0).is_ok());
        assert_eq!(
            peak(14, 3.0).unwrap_err().to_string(),
            "peaks[0] at 2026-01-05 00:14:00 UTC lies in a period of the load, which tells the \
             power itself"
        );
        assert_eq!(
            peak(15, -1.0).unwrap_err().to_string(),
            "peaks[0] is -1 kW; it lies in 0 to 1000000000 kW"
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
