//! Errors of a driving log.
use chrono::{NaiveDateTime, TimeDelta};
use chrono_tz::Tz;

use crate::units::Energy;

/// Invalid events of a driving log.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DrivingError {
    /// There is no event.
    #[error("the log has no events")]
    Empty,
    /// The length of a step is zero or negative.
    #[error("a step of {} s has no length", step.num_seconds())]
    StepWithoutLength {
        /// The length as given.
        step: TimeDelta,
    },
    /// Battery without capacity.
    #[error("the capacity is {} kWh; a battery holds more than 0 kWh", capacity.as_kwh())]
    NoCapacity {
        /// The capacity as given.
        capacity: Energy,
    },
    /// A number that is NaN or infinite.
    #[error("row {row}: {column} is {value}, not a finite number")]
    NotFinite {
        /// The row.
        row: usize,
        /// Name of the number's column.
        column: &'static str,
        /// The number as given.
        value: f64,
    },
    /// A state of charge that is no fraction.
    #[error("row {row}: {column} is {value}, outside 0 to 1")]
    NotAFraction {
        /// The row.
        row: usize,
        /// Name of the number's column.
        column: &'static str,
        /// The number as given.
        value: f64,
    },
    /// A charger that draws power.
    #[error("row {row}: the charger has {power_max_kw} kW; none has less than 0 kW")]
    NegativeCharger {
        /// The row.
        row: usize,
        /// The number as given.
        power_max_kw: f64,
    },
    /// Energy gained while driving.
    #[error("row {row}: {energy_kwh} kWh while driving; driving uses energy, so 0 kWh or less")]
    GainedWhileDriving {
        /// The row.
        row: usize,
        /// The number as given.
        energy_kwh: f64,
    },
    /// Energy lost while parked.
    #[error("row {row}: {energy_kwh} kWh while parked; a stay gains energy, so 0 kWh or more")]
    LostWhileParked {
        /// The row.
        row: usize,
        /// The number as given.
        energy_kwh: f64,
    },
    /// Energy gained where there is no charger.
    #[error("row {row}: {energy_kwh} kWh charged where the charger has 0 kW")]
    NoCharger {
        /// The row.
        row: usize,
        /// The number as given.
        energy_kwh: f64,
    },
    /// An event without length.
    #[error("row {row} lasts {length_steps} steps; an event lasts 1 or more")]
    NoLength {
        /// The row.
        row: usize,
        /// The number as given.
        length_steps: i64,
    },
    /// An event starts before the one ahead of it has ended.
    #[error(
        "row {row} starts at step {start_steps}, before row {previous_row} ends at step {previous_end}"
    )]
    Overlap {
        /// The row.
        row: usize,
        /// Its first step.
        start_steps: i64,
        /// The row ahead of it.
        previous_row: usize,
        /// The step at which the row ahead of it ends.
        previous_end: i64,
    },
    /// Neither a timestamp nor an origin.
    #[error("row {row} has no timestamp, and no origin is given")]
    NoOrigin {
        /// The first row.
        row: usize,
    },
    /// The log starts at a time that no clock shows.
    #[error("row {row} starts at {local}, which clocks in {time_zone} skip")]
    SkippedOrigin {
        /// The first row.
        row: usize,
        /// Its timestamp.
        local: NaiveDateTime,
        /// Time zone in which clocks skip it.
        time_zone: Tz,
    },
    /// Timestamp and step count name different times.
    #[error("row {row} has the timestamp {timestamp}, but its steps lead to {expected}")]
    TimestampOff {
        /// The row.
        row: usize,
        /// Its timestamp.
        timestamp: NaiveDateTime,
        /// The time that its steps lead to.
        expected: NaiveDateTime,
    },
    /// A time outside the years 1 to 9999.
    #[error("row {row} starts or ends outside the years 1 to 9999")]
    OutOfRange {
        /// The row.
        row: usize,
    },
}
