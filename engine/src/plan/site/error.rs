//! Why a site makes no sense.
use chrono::{DateTime, Utc};

use crate::plan::charge::vehicle::VehicleError;
use crate::plan::site::series::SeriesError;
use crate::time::horizon::HorizonError;

/// Why a request of a site makes no sense. An unmet wish is not among the
/// reasons, and neither is a limit that cannot be kept.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SiteError {
    /// A number outside its range.
    #[error("{field} is {value} {unit}; {rule}")]
    Number {
        /// What the number is, such as `devices[2].power_max_kw`.
        field: String,
        /// The number as given.
        value: f64,
        /// Its unit.
        unit: &'static str,
        /// Its range in words.
        rule: &'static str,
    },
    /// A name that is empty.
    #[error("{field} has no name")]
    NoName {
        /// What has no name, such as `devices[2]`.
        field: String,
    },
    /// Two devices or groups of one name.
    #[error("the name {name:?} is given twice; names of devices and groups are unique")]
    NameTwice {
        /// The name.
        name: String,
    },
    /// A group that does not exist.
    #[error("{field} is in group {name:?}, which does not exist")]
    NoGroup {
        /// What names the group.
        field: String,
        /// The name of the group.
        name: String,
    },
    /// Groups that contain each other.
    #[error("group {name:?} is a part of itself")]
    GroupCycle {
        /// One of the groups.
        name: String,
    },
    /// A device without a phase, or with one twice.
    #[error("{field}.phases names no phase, or one twice")]
    Phases {
        /// The device.
        field: String,
    },
    /// A forecast or limit over time that makes no sense.
    #[error("{field}: {source}")]
    Series {
        /// What the series is.
        field: String,
        /// What is wrong with it.
        source: SeriesError,
    },
    /// Periods that overlap or have no length.
    #[error("{field}: {source}")]
    Periods {
        /// What the periods are.
        field: String,
        /// What is wrong with them.
        source: HorizonError,
    },
    /// Nothing is known of a time that has a price.
    #[error("{field} is not known at {at}, where there is a price; give until= or the value")]
    Unknown {
        /// What is not known.
        field: String,
        /// First such instant.
        at: DateTime<Utc>,
    },
    /// A battery that makes no sense.
    #[error("{field}: {source}")]
    Battery {
        /// The device.
        field: String,
        /// What is wrong with it.
        source: VehicleError,
    },
    /// Percentages of a vehicle whose battery is not known.
    #[error("{field} needs the vehicle's battery")]
    NeedsBattery {
        /// What needs it.
        field: String,
    },
    /// A taper that rises, is not concave, or is not in order.
    #[error("{field}.taper[{index}]: soc must rise, and the power be non-increasing and concave")]
    Taper {
        /// The device.
        field: String,
        /// Position of the point.
        index: usize,
    },
    /// A vehicle that leaves before it comes.
    #[error("{field} ends at {end}, not after its start at {start}")]
    Stay {
        /// The device.
        field: String,
        /// Arrival.
        start: DateTime<Utc>,
        /// Departure.
        end: DateTime<Utc>,
    },
    /// A later block that is cheaper: not convex, and not supported.
    #[error(
        "tiers[{index}] is cheaper or ends earlier than the block before it; \
         only blocks of rising prices can be planned exactly"
    )]
    Tiers {
        /// Position of the block.
        index: usize,
    },
    /// More slots than can be planned.
    #[error("the site has {slots} slots; at most {most} can be planned: give until=")]
    TooLong {
        /// Number of slots, after cutting at all forecasts and deadlines.
        slots: usize,
        /// Most slots.
        most: usize,
    },
    /// Blocks that end before all energy is priced.
    #[error("tiers: the last block needs until_kwh of none, and only the last one")]
    OpenTier,
}
