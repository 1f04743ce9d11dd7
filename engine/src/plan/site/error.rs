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
    #[error("the name {name:?} is given twice; devices and groups need names of their own")]
    NameTwice {
        /// The name.
        name: String,
    },
    /// A group that is not there.
    #[error("{field} is in group {name:?}, which is not there")]
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
    #[error("{field}.taper[{index}]: with the state of charge the power falls, and ever faster")]
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
         only blocks that grow dearer can be planned exactly"
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::request::tests::at;
    use crate::units::kw;

    #[test]
    fn a_message_names_the_field_and_what_was_given() {
        let field = || "devices[0] (van)".to_owned();
        let (value, unit, rule) = (-2.5, "kW", "it is 0 kW or more");
        let number = SiteError::Number { field: field(), value, unit, rule };
        assert_eq!(number.to_string(), "devices[0] (van) is -2.5 kW; it is 0 kW or more");
        let stay = SiteError::Stay { field: field(), start: at(60), end: at(0) };
        assert_eq!(
            stay.to_string(),
            "devices[0] (van) ends at 2026-01-05 18:00:00 UTC, not after its start at \
             2026-01-05 19:00:00 UTC"
        );
        let source = SeriesError::Negative { index: 3, power: kw(-1.0) };
        let series = SiteError::Series { field: field(), source };
        assert_eq!(series.to_string(), "devices[0] (van): value 3 is -1 kW; it is 0 kW or more");
        let group = SiteError::NoGroup { field: field(), name: "a \"b\"".to_owned() };
        assert_eq!(
            group.to_string(),
            r#"devices[0] (van) is in group "a \"b\"", which is not there"#
        );
    }

    #[test]
    fn the_cause_below_is_not_lost() {
        use std::error::Error as _;
        let source = VehicleError::UnknownSoc;
        let error = SiteError::Battery { field: "van".to_owned(), source };
        assert_eq!(error.source().unwrap().to_string(), source.to_string());
    }
}
