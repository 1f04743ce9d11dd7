//! Import of driving logs: energy needs of each stay at a charger.
//!
//! The form is that of `SimBEV`: one row an event, in the order of time, driving
//! and parking in turn, times as counts of equal steps, states of charge as
//! fractions.
use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::import::driving_error::DrivingError;
use crate::import::driving_report::{DrivingCounts, DrivingFinding, EventKind};
use crate::time::civil::{Showing, local_of, showing};
use crate::units::{Energy, Percent, Power};

/// The location that a log gives to an event of driving.
const DRIVING: &str = "driving";

/// Event of a log, with its numbers as given.
#[derive(Debug, Clone, PartialEq)]
pub struct DrivingEvent {
    /// Number of the row as its reader counts.
    pub row: usize,
    /// Wall clock time at the start, if the log has it.
    pub timestamp: Option<NaiveDateTime>,
    /// Steps from the origin of the log to the start.
    pub start_steps: i64,
    /// Length in steps.
    pub length_steps: i64,
    /// Location of the vehicle, or `driving`.
    pub location: String,
    /// State of charge at the start, from 0 to 1.
    pub soc_start_fraction: f64,
    /// State of charge at the end, from 0 to 1.
    pub soc_end_fraction: f64,
    /// Energy that the battery gained; negative while driving.
    pub energy_kwh: f64,
    /// Highest power of the charger; 0 where there is none.
    pub station_power_max_kw: f64,
}

/// Options for reading a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogOptions {
    /// Time zone of the timestamps.
    pub time_zone: Tz,
    /// Length of a step.
    pub step: TimeDelta,
    /// Instant of step 0. `None` takes the timestamp of the first event; an
    /// origin of one's own moves the log to other days.
    pub origin: Option<DateTime<Utc>>,
    /// Capacity of the battery. `None` works it out from the log.
    pub capacity: Option<Energy>,
}

impl LogOptions {
    /// Steps of a quarter of an hour from the first timestamp on.
    #[must_use]
    pub fn new(time_zone: Tz) -> Self {
        Self { time_zone, step: TimeDelta::minutes(15), origin: None, capacity: None }
    }
}

/// Stay at a charger, with the energy to charge.
#[derive(Debug, Clone, PartialEq)]
pub struct VehicleStay {
    /// Row of the event.
    pub row: usize,
    /// Plug-in time.
    pub arrival: DateTime<Utc>,
    /// Time of departure.
    pub departure: DateTime<Utc>,
    /// Location of the charger.
    pub location: String,
    /// Energy at the plug that the stay needs.
    pub required: Energy,
    /// State of charge on arrival.
    pub soc: Percent,
    /// State of charge that the need leads to.
    pub target: Percent,
    /// Highest power of the charger.
    pub power_max: Power,
}

/// Stays of one vehicle, with counts and findings of its log.
#[derive(Debug, Clone, PartialEq)]
pub struct DrivingLog {
    /// Stays at a charger, oldest first.
    pub stays: Vec<VehicleStay>,
    /// Capacity of the battery, given or worked out; `None` if the log does not tell.
    pub capacity: Option<Energy>,
    /// Counts of the log's events.
    pub counts: DrivingCounts,
    /// Ambiguities that were resolved, and inconsistencies.
    pub findings: Vec<DrivingFinding>,
}

/// The stays at a charger in the log of one vehicle.
///
/// Every parking event with a charger is a stay; driving and parking without
/// one are counted. Steps are elapsed time from the start of the log. Its
/// timestamps are a wall clock without an offset; where they run on through a
/// change of clocks, as simulated ones do, the steps decide and the finding
/// says from which row on the two differ. A single timestamp that is off by
/// less than an hour is named, and its steps decide, too.
///
/// **What a stay needs** is the energy that the log put into the battery
/// during it: afterwards the vehicle is as full as it was in the log, so all
/// later trips and states of charge in the log stay true, whichever way the
/// stay is planned, and a need that fitted the charger in the log still
/// does. (The alternative, what the trips to the next charger use, would
/// leave the vehicle emptier than the log on every later arrival, and says
/// nothing about the last stay.) The log knows no losses: what the battery
/// gained counts as energy at the plug. A stay at which the log charged
/// nothing needs nothing, and is still a stay.
///
/// The capacity is worked out as energy per state of charge over all driving,
/// to 0.01 kWh; a log that moves less than one percent in all does not tell.
///
/// # Errors
/// No events, events that overlap or have no length, energy of the wrong
/// sign, a state of charge outside 0 to 1, timestamps that contradict the
/// steps, a start that no clock shows.
///
/// # Example
///
/// A car comes home at 40 % after an hour on the road and leaves at 90 %.
///
/// ```
/// use slackwater_engine::import::driving::{DrivingEvent, LogOptions, stays_from_log};
/// use slackwater_engine::units::{kwh, percent};
/// let event = |row, start_steps, length_steps, location: &str, socs: [f64; 2], energy_kwh, kw| {
///     DrivingEvent {
///         row,
///         timestamp: Some("2026-01-05T17:00:00".parse().unwrap()).filter(|_| start_steps == 0),
///         start_steps,
///         length_steps,
///         location: location.to_owned(),
///         soc_start_fraction: socs[0],
///         soc_end_fraction: socs[1],
///         energy_kwh,
///         station_power_max_kw: kw,
///     }
/// };
/// let log = stays_from_log(
///     &[
///         event(2, 0, 4, "driving", [0.65, 0.40], -15.0, 0.0),
///         event(3, 4, 52, "home", [0.40, 0.90], 30.0, 11.0),
///     ],
///     &LogOptions::new("Europe/Oslo".parse().unwrap()),
/// )?;
/// let [stay] = &log.stays[..] else { panic!("one stay") };
/// assert_eq!(stay.arrival.to_rfc3339(), "2026-01-05T17:00:00+00:00");
/// assert_eq!(stay.departure.to_rfc3339(), "2026-01-06T06:00:00+00:00");
/// assert_eq!((stay.required, stay.soc), (kwh(30.0), percent(40.0)));
/// assert_eq!(log.capacity, Some(kwh(60.0)));
/// # Ok::<(), slackwater_engine::import::driving_error::DrivingError>(())
/// ```
pub fn stays_from_log(
    events: &[DrivingEvent],
    options: &LogOptions,
) -> Result<DrivingLog, DrivingError> {
    if options.step <= TimeDelta::zero() {
        return Err(DrivingError::StepWithoutLength { step: options.step });
    }
    if let Some(capacity) = options.capacity.filter(|&capacity| capacity <= Energy::ZERO) {
        return Err(DrivingError::NoCapacity { capacity });
    }
    let mut findings = Vec::new();
    let timeline = Timeline::new(events, options, &mut findings)?;
    // Rows are checked one by one before they are compared with each other.
    let checked: Vec<CheckedEvent> =
        events.iter().map(CheckedEvent::new).collect::<Result<_, _>>()?;
    check_order(events, &timeline, &mut findings)?;
    timeline.check_timestamps(events, &mut findings)?;
    let capacity = options.capacity.or_else(|| capacity_of(&checked));
    note_contradictions(&checked, capacity, &mut findings);

    let mut counts = DrivingCounts { events: events.len(), ..DrivingCounts::default() };
    let mut stays = Vec::new();
    for event in &checked {
        counts.add(event.kind, event.energy);
        if event.kind == EventKind::Stay {
            stays.push(timeline.stay(event)?);
        }
    }
    // The checks ran one after the other, so their findings are sorted by row.
    findings.sort_by_key(DrivingFinding::row);
    Ok(DrivingLog { stays, capacity, counts, findings })
}

/// Event with valid numbers.
struct CheckedEvent<'a> {
    event: &'a DrivingEvent,
    kind: EventKind,
    /// Gain of the battery.
    energy: Energy,
    soc_start: Percent,
    soc_end: Percent,
    power_max: Power,
}

impl<'a> CheckedEvent<'a> {
    fn new(event: &'a DrivingEvent) -> Result<Self, DrivingError> {
        let DrivingEvent { row, energy_kwh, station_power_max_kw, length_steps, .. } = *event;
        let energy = Energy::from_kwh(energy_kwh).map_err(|_| DrivingError::NotFinite {
            row,
            column: "energy",
            value: energy_kwh,
        })?;
        let power_max = Power::from_kw(station_power_max_kw).map_err(|_| {
            DrivingError::NotFinite { row, column: "charger power", value: station_power_max_kw }
        })?;
        if power_max < Power::ZERO {
            return Err(DrivingError::NegativeCharger { row, power_max_kw: station_power_max_kw });
        }
        if length_steps < 1 {
            return Err(DrivingError::NoLength { row, length_steps });
        }
        // Energy must fit the place: it is lost on the road and gained at a charger only.
        let kind = match (event.location == DRIVING, power_max > Power::ZERO) {
            (true, _) if energy > Energy::ZERO => {
                return Err(DrivingError::GainedWhileDriving { row, energy_kwh });
            }
            (true, _) => EventKind::Driving,
            (false, _) if energy < Energy::ZERO => {
                return Err(DrivingError::LostWhileParked { row, energy_kwh });
            }
            (false, false) if energy > Energy::ZERO => {
                return Err(DrivingError::NoCharger { row, energy_kwh });
            }
            (false, false) => EventKind::ParkedWithoutCharger,
            (false, true) => EventKind::Stay,
        };
        let soc_start = soc(row, "soc_start", event.soc_start_fraction)?;
        let soc_end = soc(row, "soc_end", event.soc_end_fraction)?;
        Ok(Self { event, kind, energy, soc_start, soc_end, power_max })
    }

    /// Gain in state of charge, in percent.
    fn soc_gain_percent(&self) -> f64 {
        self.soc_end.as_percent() - self.soc_start.as_percent()
    }
}

fn soc(row: usize, column: &'static str, fraction: f64) -> Result<Percent, DrivingError> {
    // Digits beyond the twelfth are noise of the multiplication: 0.29 is 29 %.
    let in_percent = (fraction * 1e14).round() / 1e12;
    Percent::from_percent(in_percent).map_err(|_| DrivingError::NotAFraction {
        row,
        column,
        value: fraction,
    })
}

/// Conversion of a log's steps to instants.
struct Timeline {
    time_zone: Tz,
    /// Step and instant of the first event.
    first_step: i64,
    first: DateTime<Utc>,
    step: TimeDelta,
    /// True if the log keeps the dates of its timestamps.
    in_place: bool,
}

impl Timeline {
    fn new(
        events: &[DrivingEvent],
        options: &LogOptions,
        findings: &mut Vec<DrivingFinding>,
    ) -> Result<Self, DrivingError> {
        let event = events.first().ok_or(DrivingError::Empty)?;
        let (row, time_zone) = (event.row, options.time_zone);
        let mut timeline = Self {
            time_zone,
            first_step: event.start_steps,
            first: DateTime::UNIX_EPOCH,
            step: options.step,
            in_place: options.origin.is_none(),
        };
        timeline.first = match (options.origin, event.timestamp) {
            // Steps are counted from the origin, which is step zero.
            (Some(origin), _) => {
                let from_origin = Self { first_step: 0, first: origin, ..timeline };
                from_origin.instant(row, event.start_steps)?
            }
            (None, None) => return Err(DrivingError::NoOrigin { row }),
            (None, Some(local)) => match showing(local, time_zone) {
                Showing::Once(at) => at,
                Showing::Twice { first, .. } => {
                    findings.push(DrivingFinding::FirstShowing { row, local, time_zone });
                    first
                }
                Showing::Never { .. } => {
                    return Err(DrivingError::SkippedOrigin { row, local, time_zone });
                }
            },
        };
        Ok(timeline)
    }

    /// The instant at which a step starts.
    fn instant(&self, row: usize, step: i64) -> Result<DateTime<Utc>, DrivingError> {
        self.since_first(step)
            .and_then(|since| self.first.checked_add_signed(since))
            .filter(|at| (1..=9999).contains(&at.year()))
            .ok_or(DrivingError::OutOfRange { row })
    }

    /// Elapsed time from the first event to a step.
    fn since_first(&self, step: i64) -> Option<TimeDelta> {
        let micros =
            self.step.num_microseconds()?.checked_mul(step.checked_sub(self.first_step)?)?;
        Some(TimeDelta::microseconds(micros))
    }

    /// Compares timestamps with steps. A log may carry its wall clock on
    /// through a change of clocks, or change it, or be off by less than an
    /// hour, as simulated stops at fast chargers are.
    fn check_timestamps(
        &self,
        events: &[DrivingEvent],
        findings: &mut Vec<DrivingFinding>,
    ) -> Result<(), DrivingError> {
        let Some(first_timestamp) = events.first().and_then(|event| event.timestamp) else {
            return Ok(());
        };
        // The shift of the clocks that was named last; each shift is named once.
        let mut noted = TimeDelta::zero();
        for event in events {
            let DrivingEvent { row, timestamp: Some(timestamp), .. } = *event else { continue };
            let at = self.instant(row, event.start_steps)?;
            let carried_on = first_timestamp
                .checked_add_signed(at - self.first)
                .ok_or(DrivingError::OutOfRange { row })?;
            let changed = local_of(at, self.time_zone);
            // With a given origin, timestamps are of another time and cannot follow the clocks of
            // the zone.
            let follows_clocks = self.in_place && timestamp == changed;
            let off = timestamp - carried_on;
            if !follows_clocks && off.abs() >= TIMESTAMP_OFF_MIN {
                return Err(DrivingError::TimestampOff { row, timestamp, expected: carried_on });
            }
            if !follows_clocks && !off.is_zero() {
                let expected = carried_on;
                findings.push(DrivingFinding::TimestampOff { row, timestamp, expected });
            }
            // Shift of the clocks since the start of the log.
            let moved = (changed - local_of(self.first, self.time_zone)) - (at - self.first);
            if moved != noted && !follows_clocks {
                findings.push(DrivingFinding::ClocksMoved {
                    row,
                    moved,
                    time_zone: self.time_zone,
                });
                noted = moved;
            }
        }
        Ok(())
    }

    fn stay(&self, event: &CheckedEvent<'_>) -> Result<VehicleStay, DrivingError> {
        let DrivingEvent { row, start_steps, length_steps, .. } = *event.event;
        let end_steps = start_steps.saturating_add(length_steps);
        Ok(VehicleStay {
            row,
            arrival: self.instant(row, start_steps)?,
            departure: self.instant(row, end_steps)?,
            location: event.event.location.clone(),
            required: event.energy,
            soc: event.soc_start,
            target: event.soc_end,
            power_max: event.power_max,
        })
    }
}

/// Events follow each other; time between them is named.
fn check_order(
    events: &[DrivingEvent],
    timeline: &Timeline,
    findings: &mut Vec<DrivingFinding>,
) -> Result<(), DrivingError> {
    for pair in events.windows(2) {
        let previous_end = pair[0].start_steps.saturating_add(pair[0].length_steps);
        let DrivingEvent { row, start_steps, .. } = pair[1];
        if start_steps < previous_end {
            let previous_row = pair[0].row;
            return Err(DrivingError::Overlap { row, start_steps, previous_row, previous_end });
        }
        // Missing time is no error: the vehicle may have been anywhere.
        if start_steps > previous_end {
            let from = timeline.instant(row, previous_end)?;
            let to = timeline.instant(row, start_steps)?;
            let time_zone = timeline.time_zone;
            findings.push(DrivingFinding::UntrackedTime { row, from, to, time_zone });
        }
    }
    Ok(())
}

/// Capacity estimated from driving: energy used per state of charge used.
fn capacity_of(events: &[CheckedEvent<'_>]) -> Option<Energy> {
    let driving = events.iter().filter(|event| event.kind == EventKind::Driving);
    // Driving uses energy and state of charge, so both sums are usually negative.
    let (energy_kwh, percent) = driving.fold((0.0, 0.0), |(energy, percent), event| {
        (energy + event.energy.as_kwh(), percent + event.soc_gain_percent())
    });
    let capacity_kwh = energy_kwh / percent * 100.0;
    let rounded = Energy::from_kwh((capacity_kwh * 100.0).round() / 100.0).ok()?;
    // Less than one percent in all says nothing about the capacity.
    (percent <= -1.0 && rounded > Energy::ZERO).then_some(rounded)
}

/// States of charge that jump between events, or do not fit the energy.
fn note_contradictions(
    events: &[CheckedEvent<'_>],
    capacity: Option<Energy>,
    findings: &mut Vec<DrivingFinding>,
) {
    for pair in events.windows(2) {
        let (before, after) = (pair[0].soc_end, pair[1].soc_start);
        if (before.as_percent() - after.as_percent()).abs() > SOC_TOLERANCE_PERCENT {
            findings.push(DrivingFinding::SocJump { row: pair[1].event.row, before, after });
        }
    }
    let Some(capacity) = capacity else { return };
    // Both are rounded: states of charge to 0.01 percent, and the capacity to 0.01 kWh.
    let tolerance = capacity.as_kwh() * SOC_TOLERANCE_PERCENT / 100.0 + CAPACITY_TOLERANCE_KWH;
    for event in events {
        let by_soc = event.soc_end.of(capacity) - event.soc_start.of(capacity);
        if (by_soc - event.energy).as_kwh().abs() > tolerance {
            let (row, energy) = (event.event.row, event.energy);
            findings.push(DrivingFinding::EnergyOff { row, energy, by_soc });
        }
    }
}

/// Difference from which timestamp and steps belong to different logs, or the step is wrong.
const TIMESTAMP_OFF_MIN: TimeDelta = TimeDelta::hours(1);

/// States of charge are written with four digits of a fraction, twice an event.
const SOC_TOLERANCE_PERCENT: f64 = 0.02;

/// The capacity is known to 0.01 kWh.
const CAPACITY_TOLERANCE_KWH: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{kwh, percent};
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    const BERLIN: Tz = chrono_tz::Europe::Berlin;

    /// Events as a log has them, one a line:
    /// `timestamp | start | length | location | soc | soc | kWh | kW`.
    fn events_of(text: &str) -> Vec<DrivingEvent> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate();
        lines
            .map(|(index, line)| {
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                let [timestamp, start, length, location, from, to, energy, power] = cells[..]
                else {
                    panic!("eight cells in {line}")
                };
                DrivingEvent {
                    row: index + 2,
                    timestamp: (!timestamp.is_empty()).then(|| timestamp.parse().unwrap()),
                    start_steps: start.parse().unwrap(),
                    length_steps: length.parse().unwrap(),
                    location: location.to_owned(),
                    soc_start_fraction: from.parse().unwrap(),
                    soc_end_fraction: to.parse().unwrap(),
                    energy_kwh: energy.parse().unwrap(),
                    station_power_max_kw: power.parse().unwrap(),
                }
            })
            .collect()
    }

    /// Reads a log and draws its stays, counts and findings, or the error.
    #[track_caller]
    fn check_with(options: &LogOptions, log: &str, expected: &Expect) {
        let text = match stays_from_log(&events_of(log), options) {
            Err(error) => format!("{error}\n"),
            Ok(log) => {
                let stays = log.stays.iter().map(|stay| {
                    let form = "%d %H:%MZ";
                    format!(
                        "{} - {} {} {} kWh at {} kW from {} % to {} %\n",
                        stay.arrival.format(form),
                        stay.departure.format(form),
                        stay.location,
                        stay.required.as_kwh(),
                        stay.power_max.as_kw(),
                        stay.soc.as_percent(),
                        stay.target.as_percent(),
                    )
                });
                let capacity = log.capacity.map(Energy::as_kwh);
                let counts = format!("{}; capacity {capacity:?}\n", log.counts.sentence());
                let notes =
                    log.findings.iter().map(|finding| format!("* {}\n", finding.sentence()));
                stays.chain([counts]).chain(notes).collect()
            }
        };
        expected.assert_eq(&text);
    }

    #[track_caller]
    fn check(log: &str, expected: &Expect) {
        check_with(&LogOptions::new(BERLIN), log, expected);
    }

    #[test]
    fn nothing_is_lost() {
        check(
            "2026-02-02T07:00:00 |  0 |  2 | driving  | 0.8  | 0.75 | -2.5 |  0
             2026-02-02T07:30:00 |  2 | 34 | work     | 0.75 | 0.75 |  0   |  0
             2026-02-02T16:00:00 | 36 |  2 | driving  | 0.75 | 0.7  | -2.5 |  0
             2026-02-02T16:30:00 | 38 | 60 | home     | 0.7  | 1    | 15   | 11
             2026-02-03T07:30:00 | 98 |  2 | driving  | 1    | 0.95 | -2.5 |  0
             2026-02-03T08:00:00 |100 | 20 | work     | 0.95 | 0.95 |  0   | 22",
            &expect![[r"
                02 15:30Z - 03 06:30Z home 15 kWh at 11 kW from 70 % to 100 %
                03 07:00Z - 03 12:00Z work 0 kWh at 22 kW from 95 % to 95 %
                6 events: 2 stays at a charger (15.0 kWh charged, 1 without a need), 1 parked without one, 3 of driving (7.5 kWh used); capacity Some(50.0)
            "]],
        );
    }

    #[test]
    fn simulated_clocks_run_on_through_the_change() {
        check(
            "2026-03-28T18:00:00 |  0 | 56 | home    | 0.5  | 0.9  | 20 | 11
             2026-03-29T08:00:00 | 56 |  4 | driving | 0.9  | 0.8  | -5 |  0
             2026-03-29T09:00:00 | 60 |  8 | work    | 0.8  | 0.9  |  5 | 11",
            &expect![[r"
                28 17:00Z - 29 07:00Z home 20 kWh at 11 kW from 50 % to 90 %
                29 08:00Z - 29 10:00Z work 5 kWh at 11 kW from 80 % to 90 %
                3 events: 2 stays at a charger (25.0 kWh charged, 0 without a need), 0 parked without one, 1 of driving (5.0 kWh used); capacity Some(50.0)
                * from row 3 on, clocks in Europe/Berlin are ahead of the timestamps by 1 h: the log counts its steps through the change of clocks, and steps are elapsed time
            "]],
        );
    }

    #[test]
    fn a_log_may_change_its_clock() {
        check(
            "2026-03-28T18:00:00 |  0 | 56 | home    | 0.5  | 0.9  | 20 | 11
             2026-03-29T09:00:00 | 56 |  4 | driving | 0.9  | 0.8  | -5 |  0",
            &expect![[r"
                28 17:00Z - 29 07:00Z home 20 kWh at 11 kW from 50 % to 90 %
                2 events: 1 stay at a charger (20.0 kWh charged, 0 without a need), 0 parked without one, 1 of driving (5.0 kWh used); capacity Some(50.0)
            "]],
        );
    }

    #[test]
    fn an_origin_of_ones_own_moves_the_log() {
        let origin = Some("2023-06-01T22:00:00Z".parse().unwrap());
        check_with(
            &LogOptions { origin, ..LogOptions::new(BERLIN) },
            "2026-02-02T07:00:00 | 28 | 2 | driving | 0.8  | 0.75 | -2.5 | 0
             2026-02-02T07:30:00 | 30 | 8 | home    | 0.75 | 0.8  |  2.5 | 11",
            &expect![[r"
                02 05:30Z - 02 07:30Z home 2.5 kWh at 11 kW from 75 % to 80 %
                2 events: 1 stay at a charger (2.5 kWh charged, 0 without a need), 0 parked without one, 1 of driving (2.5 kWh used); capacity Some(50.0)
            "]],
        );
    }

    #[test]
    fn what_does_not_fit_together_is_named() {
        check(
            "2026-10-25T02:30:00 |  0 |  4 | driving | 0.8  | 0.6  | -10 |  0
             2026-10-25T04:30:00 |  8 |  4 | home    | 0.55 | 0.75 |  12 | 11",
            &expect![[r"
                25 02:30Z - 25 03:30Z home 12 kWh at 11 kW from 55 % to 75 %
                2 events: 1 stay at a charger (12.0 kWh charged, 0 without a need), 0 parked without one, 1 of driving (10.0 kWh used); capacity Some(50.0)
                * row 2 starts at 2026-10-25 02:30:00, which clocks in Europe/Berlin show twice: the first occurrence is taken
                * 2026-10-25 02:30 CET to 2026-10-25 03:30 CET has no event ahead of row 3
                * from row 3 on, clocks in Europe/Berlin are behind the timestamps by 1 h: the log counts its steps through the change of clocks, and steps are elapsed time
                * row 3 starts at 55 % where the event ahead of it ended at 60 %
                * row 3 gains 12 kWh, but its states of charge differ by 10.00 kWh: the former is used
            "]],
        );
    }

    #[test]
    fn a_timestamp_that_is_a_step_off_is_named() {
        check(
            "2026-02-02T07:00:00 | 0 | 2 | hpc     | 0.5 | 0.9 |  20 | 150
             2026-02-02T07:45:00 | 2 | 2 | driving | 0.9 | 0.8 |  -5 |   0
             2026-02-02T08:00:00 | 4 | 9 | home    | 0.8 | 0.9 |   5 |  11",
            &expect![[r"
                02 06:00Z - 02 06:30Z hpc 20 kWh at 150 kW from 50 % to 90 %
                02 07:00Z - 02 09:15Z home 5 kWh at 11 kW from 80 % to 90 %
                3 events: 2 stays at a charger (25.0 kWh charged, 0 without a need), 0 parked without one, 1 of driving (5.0 kWh used); capacity Some(50.0)
                * row 3 has the timestamp 2026-02-02 07:45:00, but its steps lead to 2026-02-02 07:30:00: the steps are used
            "]],
        );
    }

    #[test]
    fn a_log_that_hardly_moves_does_not_tell_its_capacity() {
        let log = "2026-02-02T07:00:00 | 0 | 2 | driving | 0.8 | 0.795 | -0.3 | 0
                   2026-02-02T07:30:00 | 2 | 2 | home    | 0.795 | 0.8 | 0.3 | 11";
        check(
            log,
            &expect![[r"
            02 06:30Z - 02 07:00Z home 0.3 kWh at 11 kW from 79.5 % to 80 %
            2 events: 1 stay at a charger (0.3 kWh charged, 0 without a need), 0 parked without one, 1 of driving (0.3 kWh used); capacity None
        "]],
        );
        let given = LogOptions { capacity: Some(kwh(60.0)), ..LogOptions::new(BERLIN) };
        check_with(
            &given,
            log,
            &expect![[r"
            02 06:30Z - 02 07:00Z home 0.3 kWh at 11 kW from 79.5 % to 80 %
            2 events: 1 stay at a charger (0.3 kWh charged, 0 without a need), 0 parked without one, 1 of driving (0.3 kWh used); capacity Some(60.0)
        "]],
        );
        let none = LogOptions { capacity: Some(kwh(0.0)), ..given };
        check_with(
            &none,
            log,
            &expect![[r"
            the capacity is 0 kWh; a battery holds more than 0 kWh
        "]],
        );
    }

    #[test]
    fn errors_name_row_and_value() {
        let event = |cells: &str| format!("2026-02-02T07:00:00 | {cells}");
        let bad = [
            "0 | 2 | driving | 0.8 | 0.7 | 5 | 0",
            "0 | 2 | home | 0.8 | 0.7 | -5 | 11",
            "0 | 2 | home | 0.8 | 0.9 | 5 | 0",
            "0 | 2 | home | 0.8 | 0.9 | 5 | -11",
            "0 | 0 | home | 0.8 | 0.9 | 5 | 11",
            "0 | 2 | home | 80 | 0.9 | 5 | 11",
            "0 | 2 | home | 0.8 | NaN | 5 | 11",
            "0 | 2 | home | 0.8 | 0.9 | inf | 11",
            "0 | 2 | home | 0.8 | 0.9 | 5 | NaN",
            "0 | 9223372036854775807 | home | 0.8 | 0.9 | 5 | 11",
        ];
        let options = LogOptions::new(BERLIN);
        let messages = bad.map(|cells| {
            format!("{}\n", stays_from_log(&events_of(&event(cells)), &options).unwrap_err())
        });
        expect![[r"
            row 2: 5 kWh while driving; driving uses energy, so 0 kWh or less
            row 2: -5 kWh while parked; a stay gains energy, so 0 kWh or more
            row 2: 5 kWh charged where the charger has 0 kW
            row 2: the charger has -11 kW; none has less than 0 kW
            row 2 lasts 0 steps; an event lasts 1 or more
            row 2: soc_start is 80, outside 0 to 1
            row 2: soc_end is NaN, outside 0 to 1
            row 2: energy is inf, not a finite number
            row 2: charger power is NaN, not a finite number
            row 2 starts or ends outside the years 1 to 9999
        "]]
        .assert_eq(&messages.concat());
    }

    #[test]
    fn times_that_contradict_each_other_are_refused() {
        check(
            "",
            &expect![[r"
            the log has no events
        "]],
        );
        check(
            " | 0 | 2 | home | 0.8 | 0.9 | 5 | 11",
            &expect![[r"
            row 2 has no timestamp, and no origin is given
        "]],
        );
        check(
            "2026-03-29T02:30:00 | 0 | 2 | home | 0.8 | 0.9 | 5 | 11",
            &expect![[r"
            row 2 starts at 2026-03-29 02:30:00, which clocks in Europe/Berlin skip
        "]],
        );
        check(
            "2026-02-02T07:00:00 | 0 | 4 | home | 0.8 | 0.9 | 5 | 11
             2026-02-02T07:45:00 | 3 | 4 | work | 0.9 | 1.0 | 5 | 11",
            &expect![[r"
                row 3 starts at step 3, before row 2 ends at step 4
            "]],
        );
        check(
            "2026-02-02T07:00:00 | 0 | 4 | home | 0.8 | 0.9 | 5 | 11
             2026-02-02T09:00:00 | 4 | 4 | work | 0.9 | 1.0 | 5 | 11
             2026-02-02T09:00:00 | 8 | 4 | work | 0.9 | 1.0 | 5 | 11",
            &expect![[r"
                row 3 has the timestamp 2026-02-02 09:00:00, but its steps lead to 2026-02-02 08:00:00
            "]],
        );
        let options = LogOptions { step: TimeDelta::zero(), ..LogOptions::new(BERLIN) };
        check_with(
            &options,
            "2026-02-02T07:00:00 | 0 | 4 | home | 0.8 | 0.9 | 5 | 11",
            &expect![[r"
            a step of 0 s has no length
        "]],
        );
    }

    #[test]
    fn percentages_have_no_noise() {
        assert_eq!(soc(1, "soc_start", 0.29), Ok(percent(29.0)));
        assert_eq!(soc(1, "soc_start", 0.8374), Ok(percent(83.74)));
        assert_eq!(soc(1, "soc_start", 1.0), Ok(Percent::FULL));
    }

    proptest! {
        /// Every event is counted once, all energy is accounted for, and
        /// stays lie in the order of time with their lengths in steps.
        #[test]
        fn every_event_is_somewhere(
            lengths in prop::collection::vec((1..200i64, 0..4u8), 1..60), offset in 0..24 * 366i64,
        ) {
            let mut start_steps = 0;
            let events: Vec<DrivingEvent> = lengths.iter().enumerate().map(|(index, &(length_steps, kind))| {
                let (location, energy_kwh, station_power_max_kw) = match kind {
                    0 => (DRIVING, -1.5, 0.0),
                    1 => ("work", 0.0, 0.0),
                    2 => ("home", 0.0, 11.0),
                    _ => ("home", 2.25, 11.0),
                };
                let event = DrivingEvent {
                    row: index + 2, timestamp: None, start_steps, length_steps,
                    location: location.to_owned(), soc_start_fraction: 0.5, soc_end_fraction: 0.5,
                    energy_kwh, station_power_max_kw,
                };
                start_steps += length_steps;
                event
            }).collect();
            let origin: DateTime<Utc> = "2024-01-01T00:00:00Z".parse().unwrap();
            let origin = Some(origin + TimeDelta::hours(offset));
            let log = stays_from_log(&events, &LogOptions { origin, ..LogOptions::new(BERLIN) }).unwrap();
            let counts = log.counts;
            prop_assert_eq!(counts.events, events.len());
            prop_assert_eq!(counts.stays + counts.parked_without_charger + counts.driving, events.len());
            prop_assert_eq!(counts.stays, log.stays.len());
            let required: f64 = log.stays.iter().map(|stay| stay.required.as_kwh()).sum();
            prop_assert!((required - counts.charged.as_kwh()).abs() < 1e-9);
            for stay in &log.stays {
                let event = &events[stay.row - 2];
                prop_assert_eq!(stay.departure - stay.arrival, TimeDelta::minutes(15 * event.length_steps));
            }
            for pair in log.stays.windows(2) {
                prop_assert!(pair[0].departure <= pair[1].arrival);
            }
        }
    }
}
