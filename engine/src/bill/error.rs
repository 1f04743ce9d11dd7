//! Reasons why a tariff is refused or a month cannot be billed.
use chrono::{DateTime, Utc};
use rust_decimal::Decimal;

use crate::bill::month::Month;
use crate::prices::cost::CostError;
use crate::prices::currency::CurrencyError;

/// A stretch of time without readings, `[start, end)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingReadings {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
}

/// A value of a tariff file that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TariffFileError {
    /// A number in another form than that of decimals.
    #[error("{field}: {reason}")]
    Decimal {
        /// Path of the field, such as `components[1].rates[0].price_per_kwh`.
        field: String,
        /// Fault of the text.
        reason: CostError,
    },
    /// A value outside of those that the field takes.
    #[error("{field} is {value}; it is {expected}")]
    Value {
        /// Path of the field.
        field: String,
        /// The value as given.
        value: String,
        /// Values that are possible.
        expected: &'static str,
    },
    /// A field or a list without which the tariff has no meaning.
    #[error("{field} is missing: {reason}")]
    Missing {
        /// Path of the field.
        field: String,
        /// Use of the field.
        reason: &'static str,
    },
    /// A currency that ISO 4217 does not know.
    #[error("currency: {0}")]
    Currency(#[from] CurrencyError),
}

/// A load that cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No readings at all.
    #[error("the load has no readings")]
    Empty,
    /// Periods that do not divide an hour.
    #[error(
        "the periods have {} min; they have 1, 2, 3, 5, 10, 15, 20, 30 or 60 min",
        *seconds as f64 / 60.0
    )]
    PeriodLength {
        /// The length as given.
        seconds: i64,
    },
    /// A period that is shorter or longer than the first one.
    #[error(
        "readings[{index}] is from {start} to {end}, and the first one has {} min; resample the \
         load to periods of one length",
        *expected as f64 / 60.0
    )]
    OtherLength {
        /// Position of the reading.
        index: usize,
        /// Its start.
        start: DateTime<Utc>,
        /// Its end.
        end: DateTime<Utc>,
        /// Length of the first reading in seconds.
        expected: i64,
    },
    /// A period in which only one direction was read.
    #[error(
        "the period from {start} has {}; both directions have the same periods",
        if *is_import { "an import and no export" } else { "an export and no import" }
    )]
    Unpaired {
        /// Start of the period.
        start: DateTime<Utc>,
        /// True if it has an import.
        is_import: bool,
    },
    /// A power below zero or beyond any connection.
    #[error("peaks[{index}] is {kw} kW; it lies in 0 to 1000000000 kW")]
    PeakRange {
        /// Position of the peak.
        index: usize,
        /// The power as given.
        kw: f64,
    },
    /// A peak where the load itself was measured.
    #[error("peaks[{index}] at {at} lies in a period of the load, which tells the power itself")]
    PeakMeasured {
        /// Position of the peak.
        index: usize,
        /// Its instant.
        at: DateTime<Utc>,
    },
    /// A period that does not start at a multiple of its length.
    #[error("readings[{index}] starts at {start}, which is no multiple of {minutes} min")]
    NotAligned {
        /// Position of the reading.
        index: usize,
        /// Its start.
        start: DateTime<Utc>,
        /// Length of the periods.
        minutes: u32,
    },
    /// Two readings of one period.
    #[error("readings[{index}] is another reading of the period from {start}")]
    Duplicate {
        /// Position of the second reading.
        index: usize,
        /// Start of the period.
        start: DateTime<Utc>,
    },
    /// A device that is given twice.
    #[error("devices[{device:?}] is given twice")]
    DeviceTwice {
        /// Name of the device.
        device: String,
    },
    /// A period of a device of another length than those of the load.
    #[error(
        "devices[{device:?}] has a period from {start} to {end}; those of the load have {minutes} min"
    )]
    DeviceLength {
        /// Name of the device.
        device: String,
        /// Start of the period.
        start: DateTime<Utc>,
        /// End of the period.
        end: DateTime<Utc>,
        /// Length of the periods of the load.
        minutes: u32,
    },
    /// A period in which only the load or only the device was read.
    #[error(
        "devices[{device:?}] {} the period from {start}; device and load have the same periods",
        if *is_device { "has, and the load has not," } else { "has not, and the load has," }
    )]
    DeviceUnpaired {
        /// Name of the device.
        device: String,
        /// Start of the period.
        start: DateTime<Utc>,
        /// True if the device has it.
        is_device: bool,
    },
    /// An energy of a device below zero or beyond any meter.
    #[error(
        "devices[{device:?}] has {kwh} kWh from {start}; an energy lies in 0 to 1000000000 kWh"
    )]
    DeviceRange {
        /// Name of the device.
        device: String,
        /// Start of the period.
        start: DateTime<Utc>,
        /// The energy as given.
        kwh: f64,
    },
    /// An energy below zero or beyond any meter.
    #[error("readings[{index}].{field} is {kwh} kWh; it lies in 0 to 1000000000 kWh")]
    EnergyRange {
        /// Position of the reading.
        index: usize,
        /// `import_kwh` or `export_kwh`.
        field: &'static str,
        /// The energy as given.
        kwh: f64,
    },
}

/// A month that cannot be billed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BillError {
    /// The tariff does not hold through the whole month.
    #[error("the month {month} is not within the validity of the tariff, {validity}")]
    NotValid {
        /// The month.
        month: Month,
        /// First day, and the day after the last one.
        validity: String,
    },
    /// A month of which readings are missing.
    #[error("the load lacks {} of {month}", describe_missing(missing))]
    Incomplete {
        /// The month.
        month: Month,
        /// Stretches without readings.
        missing: Vec<MissingReadings>,
    },
    /// Measured periods longer than the windows of a capacity rule.
    #[error(
        "component {component:?} measures power over {window_minutes} min; the load has periods \
         of {period_minutes} min, from which that power is not known"
    )]
    TooCoarse {
        /// The component.
        component: String,
        /// Length of its windows.
        window_minutes: u32,
        /// Length of the measured periods.
        period_minutes: u32,
    },
    /// A month that begins or ends within a measured period.
    #[error(
        "the month {month} begins or ends within a period of {period_minutes} min of the load; a \
         load with shorter periods is needed"
    )]
    MonthWithin {
        /// The month.
        month: Month,
        /// Length of the measured periods.
        period_minutes: u32,
    },
    /// A rate that changes within a measured period.
    #[error(
        "component {component:?} changes its rate within the {period_minutes} min from {start}; \
         a load with shorter periods is needed"
    )]
    RateChangesWithin {
        /// The component.
        component: String,
        /// Start of the period.
        start: DateTime<Utc>,
        /// Length of the measured periods.
        period_minutes: u32,
    },
    /// A device with a price of its own that was not measured.
    #[error("devices[{device:?}] is missing; the tariff has a price for that device")]
    NoDevice {
        /// Name of the device.
        device: String,
    },
    /// A measured device that the tariff does not know.
    #[error("devices[{device:?}] is no device of the tariff, which has {}", list_devices(known))]
    UnknownDevice {
        /// Name of the device.
        device: String,
        /// Devices of the tariff.
        known: Vec<String>,
    },
    /// A contract without the power or current that a component is priced by.
    #[error("{field} is missing; component {component:?} is priced by it, in {unit}")]
    NoContract {
        /// The component.
        component: String,
        /// Name of the number, such as `fuse_amps`.
        field: &'static str,
        /// Unit of the number: `kW`, `kVA` or `A`.
        unit: &'static str,
    },
    /// A contracted number below zero.
    #[error("{field} is {value} {unit}; it is zero or more")]
    Contract {
        /// Name of the number, such as `fuse_amps`.
        field: &'static str,
        /// Unit of the number: `kW`, `kVA` or `A`.
        unit: &'static str,
        /// The number as given.
        value: Decimal,
    },
    /// A contracted number that is no decimal.
    #[error("{field} is {value} {unit}; it lies in 0 to 1000000000 {unit}")]
    ContractNumber {
        /// Name of the number, such as `fuse_amps`.
        field: &'static str,
        /// Unit of the number: `kW`, `kVA` or `A`.
        unit: &'static str,
        /// The number as given.
        value: f64,
    },
    /// An amount of more digits than can be kept.
    #[error("component {component:?} has an amount beyond 28 digits")]
    TooLarge {
        /// The component.
        component: String,
    },
}

/// Names in quotation marks, or `none`.
pub(crate) fn list_devices(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// The first three stretches, and the number of the others.
fn describe_missing(missing: &[MissingReadings]) -> String {
    let stretch = |gap: &MissingReadings| format!("{} to {}", gap.start, gap.end);
    let shown: Vec<String> = missing.iter().take(3).map(stretch).collect();
    let more = match missing.len() {
        0..=3 => String::new(),
        count => format!(" and {} more stretches", count - 3),
    };
    format!("{}{more}", shown.join(", "))
}
