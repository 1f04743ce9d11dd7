//! Conversion of device reports to samples by stated rules; each irregularity is counted.
//!
//! | Report | Rule |
//! |---|---|
//! | a counter of energy | the difference of two readings flowed evenly between them |
//! | a counter that falls | it began anew at zero: what it shows now has flowed since the reading before |
//! | a power reading | holds until the next reading, but no longer than `hold_max` |
//! | the energy of a session | flowed evenly from its start to its end |
//! | two readings of one instant | the one that came last is kept |
//! | a session that says the same again | is dropped |
//! | rows out of order | are sorted |
//! | more than `power_max`, or over more than ten years | is dropped |
//!
//! A long pause between two counter readings keeps its energy, spread evenly:
//! energy is certain, its time is not. A long pause after a power reading has
//! no energy: nobody saw any. [`Findings`] counts all of it.
//!
//! A counter that shows 0 for once, or a little less than before, looks as if
//! it began anew, and all of its total seems to flow within minutes. Only
//! `power_max`, what the device can do at most, tells that from energy.
use chrono::{DateTime, TimeDelta, Utc};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::statistics::sample::{LENGTH_MAX, Sample};
use crate::units::{Energy, MICROS_PER_HOUR, Power, UnitError};

const MICROS_PER_MINUTE: f64 = MICROS_PER_HOUR / 60.0;

/// Reading of an energy counter: cumulative energy since the counter began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeterReading {
    at: DateTime<Utc>,
    total: Energy,
}

/// Power at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PowerReading {
    /// Time of the reading.
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

/// Irregularities in measurements, counted by kind.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Findings {
    /// Rows that came in.
    pub rows: usize,
    /// Rows that came before an earlier one and were sorted in.
    pub out_of_order: usize,
    /// Rows that repeated another row and were dropped.
    pub repeated: usize,
    /// Rows that another of the same instant replaced.
    pub replaced: usize,
    /// Times at which a counter restarted.
    pub resets: usize,
    /// Pauses longer than allowed.
    pub gaps: usize,
    /// Their time, in hours.
    pub gap_hours: f64,
    /// Sessions that end when they start, or before, and were dropped.
    pub without_length: usize,
    /// Flows beyond `power_max`, or beyond any machine, and energies over more
    /// than ten years, which were dropped.
    pub implausible: usize,
}

/// Samples, with the irregularities found in their source.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Measured {
    /// In time order.
    pub samples: Vec<Sample>,
    /// Irregularities of the measurements.
    pub findings: Findings,
}

/// Invalid measurement.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasurementError {
    /// A length of time below zero.
    #[error("{name} is {minutes} min; it is 0 min or more")]
    NegativeLength {
        /// Name of the argument.
        name: &'static str,
        /// The length as given.
        minutes: f64,
    },
    /// A number in a row is no quantity.
    #[error(transparent)]
    NotAQuantity(#[from] UnitError),
    /// A counter of energy below zero.
    #[error("{} kWh is below 0 kWh, where a counter begins", total.as_kwh())]
    NegativeTotal {
        /// The total as given.
        total: Energy,
    },
    /// Device whose highest power is not positive.
    #[error("power_max_kw is {} kW; it is more than 0 kW", power.as_kw())]
    NoPower {
        /// The power as given.
        power: Power,
    },
}

/// Plausibility limits of measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Longest pause between two readings that is no gap.
    pause_max: TimeDelta,
    /// Most that the device can do, in either direction.
    power_max: Option<Power>,
}

impl Rules {
    /// Pauses up to `pause_max` are no gaps, flows up to `power_max` no faults.
    ///
    /// `name` is what an error calls the pause.
    ///
    /// # Errors
    /// The pause is negative, or the power is not positive.
    pub fn new(
        name: &'static str,
        pause_max: TimeDelta,
        power_max: Option<Power>,
    ) -> Result<Self, MeasurementError> {
        if pause_max < TimeDelta::zero() {
            return Err(MeasurementError::NegativeLength {
                name,
                minutes: micros(pause_max) / MICROS_PER_MINUTE,
            });
        }
        match power_max {
            Some(power) if power <= Power::ZERO => Err(MeasurementError::NoPower { power }),
            _ => Ok(Self { pause_max, power_max }),
        }
    }

    fn allow(self, power: Power) -> bool {
        self.power_max.is_none_or(|most| power <= most && -power <= most)
    }
}

impl MeterReading {
    /// Reading of a counter at an instant.
    ///
    /// # Errors
    /// The total is negative.
    pub fn new(at: DateTime<Utc>, total: Energy) -> Result<Self, MeasurementError> {
        if total < Energy::ZERO {
            return Err(MeasurementError::NegativeTotal { total });
        }
        Ok(Self { at, total })
    }
}

/// Converts readings of an energy counter to samples.
///
/// Pauses longer than the rules allow are counted; their energy is kept.
///
/// # Example: a counter that begins anew
///
/// 100 kWh, 103 kWh, then 1 kWh: 3 kWh have flowed, then 1 kWh.
///
/// ```
/// use chrono::TimeDelta;
/// use slackwater_engine::statistics::measurements::{MeterReading, Rules, from_meter};
/// use slackwater_engine::units::{kw, kwh};
/// let reading = |at: &str, total| MeterReading::new(at.parse().unwrap(), kwh(total));
/// let measured = from_meter(
///     &[
///         reading("2024-01-01T00:00:00Z", 100.0)?,
///         reading("2024-01-01T01:00:00Z", 103.0)?,
///         reading("2024-01-01T02:00:00Z", 1.0)?,
///     ],
///     Rules::new("gap_max", TimeDelta::hours(2), Some(kw(22.0)))?,
/// );
/// let powers: Vec<f64> = measured.samples.iter().map(|s| s.power.unwrap().as_kw()).collect();
/// assert_eq!((powers, measured.findings.resets), (vec![3.0, 1.0], 1));
/// # Ok::<(), slackwater_engine::statistics::measurements::MeasurementError>(())
/// ```
#[must_use]
pub fn from_meter(readings: &[MeterReading], rules: Rules) -> Measured {
    let mut findings = Findings::default();
    let readings = in_order(readings, |reading| reading.at, &mut findings);
    let mut samples = Vec::with_capacity(readings.len());
    for pair in readings.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        let mut energy = after.total - before.total;
        // A counter that falls has begun anew from zero, so all that it shows has flowed since.
        if energy < Energy::ZERO {
            findings.resets += 1;
            energy = after.total;
        }
        findings.note_gap(after.at - before.at, rules);
        samples.extend(findings.even(before.at, after.at, energy, rules));
    }
    Measured { samples, findings }
}

/// Converts power readings to samples.
///
/// Each reading holds until the next, but no longer than the rules allow. The last reading gives
/// no sample, because its end is unknown. A reading beyond the rules is dropped, and the one
/// before it continues to hold.
#[must_use]
pub fn from_power(readings: &[PowerReading], rules: Rules) -> Measured {
    let mut findings = Findings::default();
    let mut readings = in_order(readings, |reading| reading.at, &mut findings);
    let before = readings.len();
    // Dropped before the pairs are made, so that the reading before an implausible one holds on.
    readings.retain(|reading| rules.allow(reading.power));
    findings.implausible = before - readings.len();
    let mut samples = Vec::with_capacity(readings.len());
    for pair in readings.windows(2) {
        let pause = pair[1].at - pair[0].at;
        findings.note_gap(pause, rules);
        let end = pair[0].at + pause.min(rules.pause_max);
        samples.extend(findings.constant(pair[0].at, end, Ok(pair[0].power), rules));
    }
    Measured { samples, findings }
}

/// Converts the energy of whole sessions to samples.
///
/// Sessions may overlap, because two vehicles may charge at once. A session equal to another is a
/// repetition and is dropped. A session without a length has no power.
#[must_use]
pub fn from_sessions(sessions: &[SessionEnergy], rules: Rules) -> Measured {
    let mut findings = Findings { rows: sessions.len(), ..Findings::default() };
    let pairs = || sessions.windows(2);
    findings.out_of_order = pairs().filter(|pair| pair[1].start < pair[0].start).count();
    let mut sorted = sessions.to_vec();
    // Equal sessions become neighbours; the energy orders those of equal times.
    sorted.sort_by(|one, two| {
        let times = (one.start, one.end).cmp(&(two.start, two.end));
        times.then(one.energy.total_cmp(&two.energy))
    });
    sorted.dedup();
    findings.repeated = sessions.len() - sorted.len();
    let before = sorted.len();
    sorted.retain(|session| session.end > session.start);
    findings.without_length = before - sorted.len();
    let mut samples = Vec::with_capacity(sorted.len());
    for session in sorted {
        samples.extend(findings.even(session.start, session.end, session.energy, rules));
    }
    Measured { samples, findings }
}

/// Rows of many devices, each made into samples on its own.
///
/// `group` has the device of each row, below `groups`; the answer has one
/// entry for each device, in their order.
///
/// # Panics
/// There are not as many groups as rows, or one is not below `groups`.
pub fn of_each<T: Copy + Send + Sync>(
    group: &[u32],
    groups: usize,
    rows: &[T],
    make: impl Fn(&[T]) -> Measured + Sync,
) -> Vec<Measured> {
    assert_eq!(group.len(), rows.len(), "one group per row");
    // Rows of each device, in the order in which they came.
    let mut own = vec![Vec::new(); groups];
    for (&group, &row) in group.iter().zip(rows) {
        own[group as usize].push(row);
    }
    own.par_iter().map(|rows| make(rows)).collect()
}

impl Findings {
    /// Adds the findings of another device.
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

    /// An even flow; counted instead where it breaks the rules.
    fn even(
        &mut self,
        start: DateTime<Utc>,
        end: DateTime<Utc>,
        energy: Energy,
        rules: Rules,
    ) -> Option<Sample> {
        let power = Power::from_kw(energy.as_kwh() * MICROS_PER_HOUR / micros(end - start));
        self.constant(start, end, power, rules)
    }

    /// A sample, if it has a length; counted instead where it breaks the rules.
    fn constant(
        &mut self,
        start: DateTime<Utc>,
        end: DateTime<Utc>,
        power: Result<Power, UnitError>,
        rules: Rules,
    ) -> Option<Sample> {
        if end <= start {
            return None;
        }
        // A power that is no number counts as implausible, like one beyond the rules.
        let is_short = end - start <= TimeDelta::microseconds(LENGTH_MAX);
        let power = power.ok().filter(|power| is_short && rules.allow(*power));
        self.implausible += usize::from(power.is_none());
        power.map(|power| Sample { start, end, power: Some(power), price: None, non_smart: None })
    }

    fn note_gap(&mut self, pause: TimeDelta, rules: Rules) {
        if pause > rules.pause_max {
            self.gaps += 1;
            self.gap_hours += micros(pause - rules.pause_max) / MICROS_PER_HOUR;
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{kw, kwh};
    use proptest::prelude::*;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::<Utc>::UNIX_EPOCH + TimeDelta::minutes(minute)
    }

    fn rules(hours: i64) -> Rules {
        Rules::new("gap_max", TimeDelta::hours(hours), None).unwrap()
    }

    fn reading(minute: i64, total: f64) -> MeterReading {
        MeterReading::new(at(minute), kwh(total)).unwrap()
    }

    fn meter_within(rows: &[(i64, f64)], rules: Rules) -> Measured {
        let readings: Vec<MeterReading> =
            rows.iter().map(|&(minute, total)| reading(minute, total)).collect();
        from_meter(&readings, rules)
    }

    fn meter(rows: &[(i64, f64)]) -> Measured {
        meter_within(rows, rules(1))
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
        let hold = |minutes, most: Option<Power>| {
            Rules::new("hold_max", TimeDelta::minutes(minutes), most).unwrap()
        };
        let measured = from_power(&readings, hold(30, None));
        assert_eq!(energies(&measured), [1.0, 4.0]);
        assert_eq!((measured.findings.gaps, measured.findings.gap_hours), (1, 1.25));
        // Without the reading of 8 kW the one of 4 kW holds on.
        let measured = from_power(&readings, hold(30, Some(kw(7.0))));
        assert_eq!((energies(&measured), measured.findings.implausible), (vec![2.0], 1));
        assert_eq!(from_power(&readings, hold(0, None)).samples, []);
    }

    #[test]
    fn rules_that_make_no_sense_are_refused() {
        let refused = |seconds, most| {
            let rules = Rules::new("hold_max", TimeDelta::seconds(seconds), most);
            rules.unwrap_err().to_string()
        };
        assert_eq!(refused(-30, None), "hold_max is -0.5 min; it is 0 min or more");
        assert_eq!(refused(0, Some(kw(0.0))), "power_max_kw is 0 kW; it is more than 0 kW");
        let text = MeterReading::new(at(0), kwh(-5.0)).unwrap_err().to_string();
        assert_eq!(text, "-5 kWh is below 0 kWh, where a counter begins");
    }

    #[test]
    fn devices_are_made_into_samples_on_their_own() {
        let rows = [reading(0, 1.0), reading(0, 50.0), reading(60, 4.0), reading(30, 51.0)];
        let measured = of_each(&[0, 1, 0, 1], 3, &rows, |rows| from_meter(rows, rules(1)));
        let found: Vec<Vec<f64>> = measured.iter().map(energies).collect();
        assert_eq!(found, [vec![3.0], vec![1.0], vec![]]);
        let sum = measured.iter().fold(Findings::default(), |sum, own| sum.plus(own.findings));
        assert_eq!((sum.rows, sum.out_of_order), (4, 0));
    }

    #[test]
    fn energy_beyond_any_machine_is_dropped_and_counted() {
        let jump = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::microseconds(1);
        let readings = [reading(0, 0.0), MeterReading::new(jump, kwh(500.0)).unwrap()];
        let measured = from_meter(&readings, rules(1));
        assert_eq!((measured.samples.len(), measured.findings.implausible), (0, 1));
    }

    #[test]
    fn a_counter_that_shows_zero_for_once_is_told_by_the_power() {
        let rows = [(0, 1000.0), (15, 1002.0), (30, 0.0), (45, 1006.0), (60, 1005.9), (75, 1007.9)];
        // Without a limit two totals have flowed within minutes.
        assert!(energies(&meter(&rows)).iter().sum::<f64>() > 2015.0);
        let device = Rules::new("gap_max", TimeDelta::hours(1), Some(kw(22.0))).unwrap();
        let measured = meter_within(&rows, device);
        assert_eq!(energies(&measured), [2.0, 0.0, 2.0]);
        assert_eq!((measured.findings.resets, measured.findings.implausible), (2, 2));
    }

    #[test]
    fn a_clock_that_began_in_1970_makes_no_sample_of_decades() {
        let year_2024 = 54 * 365 * 24 * 60;
        let measured = meter(&[(0, 1.0), (year_2024, 500.0), (year_2024 + 60, 503.0)]);
        assert_eq!(energies(&measured), [3.0]);
        assert_eq!((measured.findings.gaps, measured.findings.implausible), (1, 1));
    }

    #[test]
    fn sessions_without_length_or_told_twice_are_dropped_and_counted() {
        let session = |from, to| SessionEnergy { start: at(from), end: at(to), energy: kwh(3.0) };
        let told = [session(60, 120), session(0, 30), session(5, 5), session(60, 120)];
        let measured = from_sessions(&told, rules(1));
        assert_eq!(energies(&measured), [3.0, 3.0]);
        let Findings { rows, out_of_order, repeated, without_length, .. } = measured.findings;
        assert_eq!((rows, out_of_order, repeated, without_length), (4, 1, 1, 1));
        // Two that overlap are two vehicles.
        assert_eq!(energies(&from_sessions(&[session(0, 60), session(0, 61)], rules(1))).len(), 2);
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
