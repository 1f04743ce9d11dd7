//! From what devices report to samples, by stated rules, with nothing lost
//! in silence.
//!
//! | Report | Rule |
//! |---|---|
//! | a counter of energy | the difference of two readings flowed evenly between them |
//! | a counter that falls | it began anew at zero: what it shows now has flowed since the reading before |
//! | a power reading | holds until the next reading, but no longer than `hold_max` |
//! | the energy of a session | flowed evenly from its start to its end |
//! | two readings of one instant | the one that came last is kept |
//! | readings out of order | are sorted |
//!
//! A long pause between two counter readings keeps its energy, spread evenly:
//! energy is certain, its time is not. A long pause after a power reading has
//! no energy: nobody saw any. [`Findings`] counts all of it.
use chrono::{DateTime, TimeDelta, Utc};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::statistics::sample::Sample;
use crate::units::{Energy, MICROS_PER_HOUR, Power};

/// What a counter of energy shows at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeterReading {
    /// When it was read.
    pub at: DateTime<Utc>,
    /// Energy since the counter began.
    #[serde(rename = "total_kwh")]
    pub total: Energy,
}

/// Power at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PowerReading {
    /// When it was read.
    pub at: DateTime<Utc>,
    /// Power then.
    #[serde(rename = "power_kw")]
    pub power: Power,
}

/// A session of which only the sum is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SessionEnergy {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Energy that flowed.
    #[serde(rename = "energy_kwh")]
    pub energy: Energy,
}

/// What was odd about measurements, and what was done about it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Findings {
    /// Rows that came in.
    pub rows: usize,
    /// Rows that came before an earlier one and were sorted in.
    pub out_of_order: usize,
    /// Rows that said the same again and were dropped.
    pub repeated: usize,
    /// Rows that another of the same instant replaced.
    pub replaced: usize,
    /// Times at which a counter began anew.
    pub resets: usize,
    /// Pauses longer than allowed.
    pub gaps: usize,
    /// Their time, in hours.
    pub gap_hours: f64,
    /// Sessions that end when they start, or before, and were dropped.
    pub without_length: usize,
    /// Energies that no machine can move in the time given, and were dropped.
    pub implausible: usize,
}

/// Samples with what was found on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// In time order.
    pub samples: Vec<Sample>,
    /// What was odd.
    pub findings: Findings,
}

/// Why no samples can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MeasurementError {
    /// A length of time below zero.
    #[error("{name} is {minutes} min; it is 0 min or more")]
    NegativeLength {
        /// Name of the argument.
        name: &'static str,
        /// The length as given.
        minutes: i64,
    },
}

/// Samples from readings of a counter of energy.
///
/// Pauses longer than `gap_max` are counted; their energy stays.
///
/// # Errors
/// `gap_max` is negative.
///
/// # Example: a counter that begins anew
///
/// 100 kWh, 103 kWh, then 1 kWh: 3 kWh have flowed, then 1 kWh.
///
/// ```
/// use slackwater_engine::statistics::measurements::{MeterReading, from_meter};
/// use slackwater_engine::units::kwh;
/// let reading = |at: &str, total| MeterReading { at: at.parse().unwrap(), total: kwh(total) };
/// let measured = from_meter(
///     &[
///         reading("2024-01-01T00:00:00Z", 100.0),
///         reading("2024-01-01T01:00:00Z", 103.0),
///         reading("2024-01-01T02:00:00Z", 1.0),
///     ],
///     chrono::TimeDelta::hours(2),
/// )?;
/// let powers: Vec<f64> = measured.samples.iter().map(|s| s.power.unwrap().as_kw()).collect();
/// assert_eq!((powers, measured.findings.resets), (vec![3.0, 1.0], 1));
/// # Ok::<(), slackwater_engine::statistics::measurements::MeasurementError>(())
/// ```
pub fn from_meter(
    readings: &[MeterReading],
    gap_max: TimeDelta,
) -> Result<Measured, MeasurementError> {
    check("gap_max", gap_max)?;
    let mut findings = Findings::default();
    let readings = in_order(readings, |reading| reading.at, &mut findings);
    let mut samples = Vec::with_capacity(readings.len());
    for pair in readings.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        let mut energy = after.total - before.total;
        if energy < Energy::ZERO {
            findings.resets += 1;
            energy = after.total;
        }
        findings.note_gap(after.at - before.at, gap_max);
        samples.extend(findings.even(before.at, after.at, energy));
    }
    Ok(Measured { samples, findings })
}

/// Samples from readings of power.
///
/// Each holds until the next, but no longer than `hold_max`. The last one
/// holds for nothing: nobody saw what came after it.
///
/// # Errors
/// `hold_max` is negative.
pub fn from_power(
    readings: &[PowerReading],
    hold_max: TimeDelta,
) -> Result<Measured, MeasurementError> {
    check("hold_max", hold_max)?;
    let mut findings = Findings::default();
    let readings = in_order(readings, |reading| reading.at, &mut findings);
    let mut samples = Vec::with_capacity(readings.len());
    for pair in readings.windows(2) {
        let pause = pair[1].at - pair[0].at;
        findings.note_gap(pause, hold_max);
        let end = pair[0].at + pause.min(hold_max);
        if end > pair[0].at {
            samples.push(measured(pair[0].at, end, pair[0].power));
        }
    }
    Ok(Measured { samples, findings })
}

/// Samples from the energy of whole sessions.
///
/// Sessions may overlap: two vehicles charge at once. One without a length
/// has no power and is dropped and counted.
#[must_use]
pub fn from_sessions(sessions: &[SessionEnergy]) -> Measured {
    let mut findings = Findings { rows: sessions.len(), ..Findings::default() };
    let pairs = || sessions.windows(2);
    findings.out_of_order = pairs().filter(|pair| pair[1].start < pair[0].start).count();
    let mut sorted = sessions.to_vec();
    sorted.sort_by_key(|session| session.start);
    let before = sorted.len();
    sorted.retain(|session| session.end > session.start);
    findings.without_length = before - sorted.len();
    let mut samples = Vec::with_capacity(sorted.len());
    for session in sorted {
        samples.extend(findings.even(session.start, session.end, session.energy));
    }
    Measured { samples, findings }
}

/// Rows of many devices, each made into samples on its own.
///
/// `group` has the device of each row, below `groups`; the answer has one
/// entry for each device, in their order.
///
/// # Errors
/// As `make`.
///
/// # Panics
/// There are not as many groups as rows, or one is not below `groups`.
pub fn of_each<T: Copy + Send + Sync, E: Send>(
    group: &[u32],
    groups: usize,
    rows: &[T],
    make: impl Fn(&[T]) -> Result<Measured, E> + Sync,
) -> Result<Vec<Measured>, E> {
    assert_eq!(group.len(), rows.len(), "one group per row");
    let mut own = vec![Vec::new(); groups];
    for (&group, &row) in group.iter().zip(rows) {
        own[group as usize].push(row);
    }
    own.par_iter().map(|rows| make(rows)).collect()
}

impl Findings {
    /// The same over several devices.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            out_of_order: self.out_of_order + other.out_of_order,
            repeated: self.repeated + other.repeated,
            replaced: self.replaced + other.replaced,
            resets: self.resets + other.resets,
            gaps: self.gaps + other.gaps,
            gap_hours: self.gap_hours + other.gap_hours,
            without_length: self.without_length + other.without_length,
            implausible: self.implausible + other.implausible,
        }
    }

    /// An even flow; counted instead where it is beyond any machine.
    fn even(&mut self, start: DateTime<Utc>, end: DateTime<Utc>, energy: Energy) -> Option<Sample> {
        let power = Power::from_kw(energy.as_kwh() * MICROS_PER_HOUR / micros(end - start));
        self.implausible += usize::from(power.is_err());
        power.ok().map(|power| measured(start, end, power))
    }

    fn note_gap(&mut self, pause: TimeDelta, most: TimeDelta) {
        if pause > most {
            self.gaps += 1;
            self.gap_hours += micros(pause - most) / MICROS_PER_HOUR;
        }
    }
}

fn check(name: &'static str, length: TimeDelta) -> Result<(), MeasurementError> {
    if length < TimeDelta::zero() {
        return Err(MeasurementError::NegativeLength { name, minutes: length.num_minutes() });
    }
    Ok(())
}

fn micros(length: TimeDelta) -> f64 {
    length.num_microseconds().unwrap_or(i64::MAX) as f64
}

/// Rows by time, of each instant the one that came last.
fn in_order<T: Copy + PartialEq>(
    rows: &[T],
    at: impl Fn(&T) -> DateTime<Utc>,
    findings: &mut Findings,
) -> Vec<T> {
    findings.rows = rows.len();
    findings.out_of_order = rows.windows(2).filter(|pair| at(&pair[1]) < at(&pair[0])).count();
    let mut sorted = rows.to_vec();
    sorted.sort_by_key(&at); // Stable: of one instant the last row stays last.
    sorted.dedup_by(|next, kept| {
        let is_same = at(next) == at(kept);
        if is_same {
            let said_again =
                if *next == *kept { &mut findings.repeated } else { &mut findings.replaced };
            *said_again += 1;
            *kept = *next;
        }
        is_same
    });
    sorted
}

fn measured(start: DateTime<Utc>, end: DateTime<Utc>, power: Power) -> Sample {
    Sample { start, end, power: Some(power), price: None, non_smart: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{kw, kwh};
    use proptest::prelude::*;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::<Utc>::UNIX_EPOCH + TimeDelta::minutes(minute)
    }

    fn meter(rows: &[(i64, f64)]) -> Measured {
        let reading =
            |&(minute, total): &(i64, f64)| MeterReading { at: at(minute), total: kwh(total) };
        let readings: Vec<MeterReading> = rows.iter().map(reading).collect();
        from_meter(&readings, TimeDelta::hours(1)).unwrap()
    }

    fn energies(measured: &Measured) -> Vec<f64> {
        let energy = |s: &Sample| s.power.unwrap().over(s.end - s.start).as_kwh();
        measured.samples.iter().map(energy).collect()
    }

    #[test]
    fn a_pause_keeps_the_energy_of_a_counter() {
        let measured = meter(&[(0, 10.0), (30, 12.0), (210, 18.0)]);
        assert_eq!(energies(&measured), [2.0, 6.0]);
        assert_eq!((measured.findings.gaps, measured.findings.gap_hours), (1, 2.0));
    }

    #[test]
    fn rows_out_of_order_and_repeated_are_counted() {
        let measured = meter(&[(60, 3.0), (0, 1.0), (60, 3.0), (30, 9.0), (30, 2.0)]);
        assert_eq!(energies(&measured), [1.0, 1.0]);
        let Findings { rows, out_of_order, repeated, replaced, resets, .. } = measured.findings;
        assert_eq!((rows, out_of_order, repeated, replaced, resets), (5, 2, 1, 1, 0));
    }

    #[test]
    fn a_power_reading_holds_no_longer_than_allowed() {
        let reading = |minute, power| PowerReading { at: at(minute), power: kw(power) };
        let readings = [reading(0, 4.0), reading(15, 8.0), reading(120, 0.0)];
        let measured = from_power(&readings, TimeDelta::minutes(30)).unwrap();
        assert_eq!(energies(&measured), [1.0, 4.0]);
        assert_eq!((measured.findings.gaps, measured.findings.gap_hours), (1, 1.25));
        let text = from_power(&readings, TimeDelta::minutes(-5)).unwrap_err().to_string();
        assert_eq!(text, "hold_max is -5 min; it is 0 min or more");
    }

    #[test]
    fn devices_are_made_into_samples_on_their_own() {
        let reading = |minute, total| MeterReading { at: at(minute), total: kwh(total) };
        let rows = [reading(0, 1.0), reading(0, 50.0), reading(60, 4.0), reading(30, 51.0)];
        let measured =
            of_each(&[0, 1, 0, 1], 3, &rows, |rows| from_meter(rows, TimeDelta::hours(1))).unwrap();
        let found: Vec<Vec<f64>> = measured.iter().map(energies).collect();
        assert_eq!(found, [vec![3.0], vec![1.0], vec![]]);
        let sum = measured.iter().fold(Findings::default(), |sum, own| sum.plus(own.findings));
        assert_eq!((sum.rows, sum.out_of_order), (4, 0));
    }

    #[test]
    fn energy_beyond_any_machine_is_dropped_and_counted() {
        let jump = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::microseconds(1);
        let readings = [(at(0), 0.0), (jump, 500.0)];
        let readings = readings.map(|(at, total)| MeterReading { at, total: kwh(total) });
        let measured = from_meter(&readings, TimeDelta::hours(1)).unwrap();
        assert_eq!((measured.samples.len(), measured.findings.implausible), (0, 1));
    }

    #[test]
    fn sessions_without_length_are_dropped_and_counted() {
        let session = |from, to| SessionEnergy { start: at(from), end: at(to), energy: kwh(3.0) };
        let measured = from_sessions(&[session(60, 120), session(0, 30), session(5, 5)]);
        assert_eq!(energies(&measured), [3.0, 3.0]);
        assert_eq!((measured.findings.out_of_order, measured.findings.without_length), (1, 1));
    }

    proptest! {
        /// A counter that only rises: the samples hold what it rose by.
        #[test]
        fn a_counter_loses_nothing(steps in prop::collection::vec((1..500_i64, 0..9000_i32), 1..40)) {
            let (mut minute, mut total, mut rows) = (0, 5.0, vec![(0, 5.0)]);
            for (minutes, watt_hours) in &steps {
                minute += minutes;
                total += f64::from(*watt_hours) / 1000.0;
                rows.push((minute, total));
            }
            let sorted = meter(&rows);
            rows.reverse();
            let reversed = meter(&rows);
            prop_assert_eq!(&sorted.samples, &reversed.samples);
            let sum: f64 = energies(&sorted).iter().sum();
            prop_assert!((sum - (total - 5.0)).abs() < 1e-9);
        }
    }
}
