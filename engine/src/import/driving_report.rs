//! Counts and findings of a driving log, as facts and as sentences.
use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::import::finding::{Clock, Length};
use crate::units::{Energy, Percent};

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    Driving,
    ParkedWithoutCharger,
    Stay,
}

/// Counts of the events of a log by kind, and their energy.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DrivingCounts {
    /// All events.
    pub events: usize,
    /// Parking events with a charger.
    pub stays: usize,
    /// Number of stays without charged energy.
    pub stays_without_need: usize,
    /// Parking events without a charger.
    pub parked_without_charger: usize,
    /// Events of driving.
    pub driving: usize,
    /// Energy charged in all stays.
    pub charged: Energy,
    /// Energy used by driving; positive.
    pub driven: Energy,
}

impl DrivingCounts {
    pub(super) fn add(&mut self, kind: EventKind, energy: Energy) {
        match kind {
            EventKind::Driving => {
                self.driving += 1;
                self.driven = self.driven - energy;
            }
            EventKind::ParkedWithoutCharger => self.parked_without_charger += 1,
            EventKind::Stay => {
                self.stays += 1;
                self.stays_without_need += usize::from(energy == Energy::ZERO);
                self.charged = self.charged + energy;
            }
        }
    }

    /// The counts as a sentence.
    ///
    /// ```
    /// use slackwater_engine::import::driving_report::DrivingCounts;
    /// use slackwater_engine::units::kwh;
    /// let counts = DrivingCounts {
    ///     events: 5, stays: 1, parked_without_charger: 2, driving: 2,
    ///     charged: kwh(30.0), driven: kwh(31.5), ..DrivingCounts::default()
    /// };
    /// assert_eq!(
    ///     counts.sentence(),
    ///     "5 events: 1 stay at a charger (30.0 kWh charged, 0 without a need), \
    ///      2 parked without one, 2 of driving (31.5 kWh used)"
    /// );
    /// ```
    #[must_use]
    pub fn sentence(&self) -> String {
        format!(
            "{} {}: {} {} at a charger ({:.1} kWh charged, {} without a need), \
             {} parked without one, {} of driving ({:.1} kWh used)",
            self.events,
            if self.events == 1 { "event" } else { "events" },
            self.stays,
            if self.stays == 1 { "stay" } else { "stays" },
            self.charged.as_kwh(),
            self.stays_without_need,
            self.parked_without_charger,
            self.driving,
            self.driven.as_kwh(),
        )
    }
}

/// Something about a driving log that its reader should know.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum DrivingFinding {
    /// The log starts at a time that clocks show twice: its first occurrence is taken.
    FirstShowing {
        /// The first row.
        row: usize,
        /// Its timestamp.
        local: NaiveDateTime,
        /// Time zone in which clocks show it twice.
        time_zone: Tz,
    },
    /// Clocks have been moved since the start of the log, but its timestamps
    /// run on. Steps are elapsed time, so they decide.
    ClocksMoved {
        /// First row from which on this holds.
        row: usize,
        /// Shift of the clocks ahead of the timestamps; negative is behind.
        moved: TimeDelta,
        /// Time zone of the timestamps.
        time_zone: Tz,
    },
    /// A timestamp that is not where its steps lead. The steps are used.
    TimestampOff {
        /// The row.
        row: usize,
        /// Its timestamp.
        timestamp: NaiveDateTime,
        /// The time that its steps lead to.
        expected: NaiveDateTime,
    },
    /// Time ahead of a row that no event covers.
    UntrackedTime {
        /// The row.
        row: usize,
        /// End of the event ahead of it.
        from: DateTime<Utc>,
        /// Start of the row.
        to: DateTime<Utc>,
        /// The time zone of the log.
        time_zone: Tz,
    },
    /// A state of charge that is not the one at which the event ahead ended.
    SocJump {
        /// The row.
        row: usize,
        /// State of charge at the end of the previous event.
        before: Percent,
        /// State of charge at the start of the row.
        after: Percent,
    },
    /// Energy and state of charge tell of different amounts. The energy is used.
    EnergyOff {
        /// The row.
        row: usize,
        /// Gain by the energy column.
        energy: Energy,
        /// Gain by the states of charge.
        by_soc: Energy,
    },
}

impl DrivingFinding {
    /// The row at which the finding matters first.
    #[must_use]
    pub fn row(&self) -> usize {
        match *self {
            Self::FirstShowing { row, .. }
            | Self::ClocksMoved { row, .. }
            | Self::TimestampOff { row, .. }
            | Self::UntrackedTime { row, .. }
            | Self::SocJump { row, .. }
            | Self::EnergyOff { row, .. } => row,
        }
    }

    /// The finding as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match *self {
            Self::FirstShowing { row, local, time_zone } => format!(
                "row {row} starts at {local}, which clocks in {time_zone} show twice: \
                 the first occurrence is taken"
            ),
            Self::ClocksMoved { row, moved, time_zone } => format!(
                "from row {row} on, clocks in {time_zone} are {} the timestamps by {}: the log \
                 counts its steps through the change of clocks, and steps are elapsed time",
                if moved < TimeDelta::zero() { "behind" } else { "ahead of" },
                Length(moved.abs())
            ),
            Self::TimestampOff { row, timestamp, expected } => format!(
                "row {row} has the timestamp {timestamp}, but its steps lead to {expected}: \
                 the steps are used"
            ),
            Self::UntrackedTime { row, from, to, time_zone } => {
                let clock = |at| Clock { at, time_zone };
                format!("{} to {} has no event ahead of row {row}", clock(from), clock(to))
            }
            Self::SocJump { row, before, after } => format!(
                "row {row} starts at {} % where the event ahead of it ended at {} %",
                after.as_percent(),
                before.as_percent()
            ),
            Self::EnergyOff { row, energy, by_soc } => format!(
                "row {row} gains {} kWh, but its states of charge differ by {:.2} kWh: \
                 the former is used",
                energy.as_kwh(),
                by_soc.as_kwh()
            ),
        }
    }
}
