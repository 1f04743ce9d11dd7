//! Errors of an invalid site request.
use chrono::{DateTime, Utc};

use crate::plan::charge::vehicle::VehicleError;
use crate::plan::heat::request::HeatError;
use crate::plan::site::series::SeriesError;
use crate::plausibility::suggest_share;
use crate::time::horizon::HorizonError;
use crate::units::Percent;

/// Error of an invalid site request. A target that cannot be met is no error, and neither is a
/// limit that cannot be kept.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SiteError {
    /// A number outside its range.
    #[error("{field} is {value}{space}{unit}; {rule}", space = if unit.is_empty() { "" } else { " " })]
    Number {
        /// Field that holds the number, such as `devices[2].power_max_kw`.
        field: String,
        /// The number as given.
        value: f64,
        /// Its unit; empty for a ratio.
        unit: &'static str,
        /// Its range in words.
        rule: &'static str,
    },
    /// An efficiency outside 0.001 to 1.
    #[error("{field} is {value} kWh per kWh; it is from 0.001 to 1{}", suggest_share(*value))]
    Efficiency {
        /// Field that holds the number, such as `devices[2] (car).battery.efficiency`.
        field: String,
        /// The efficiency as given.
        value: f64,
    },
    /// A least state of charge above the highest one.
    #[error("{field} is {} %; it is at most {most_name}, {} %", least.as_percent(), most.as_percent())]
    SocRange {
        /// Field of the least state of charge, such as `devices[0] (home).soc_min_percent`.
        field: String,
        /// The least state of charge as given.
        least: Percent,
        /// Name of the highest state of charge.
        most_name: &'static str,
        /// The highest state of charge as given.
        most: Percent,
    },
    /// A name that is empty.
    #[error("{field} has no name")]
    NoName {
        /// Device or group without a name, such as `devices[2]`.
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
        /// Device or group that refers to it.
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
    /// An invalid forecast or limit over time.
    #[error("{field}: {source}")]
    Series {
        /// Field that holds the series.
        field: String,
        /// Error of the series.
        source: SeriesError,
    },
    /// Periods that overlap or have no length.
    #[error("{field}: {source}")]
    Periods {
        /// Field that holds the periods.
        field: String,
        /// Error of the periods.
        source: HorizonError,
    },
    /// A forecast or carbon intensity is missing at a time that has a price.
    #[error("{field} is not known at {at}, where there is a price; give until= or the value")]
    Unknown {
        /// The missing quantity.
        field: String,
        /// First such instant.
        at: DateTime<Utc>,
    },
    /// An invalid battery.
    #[error("{field}: {source}")]
    Battery {
        /// The device.
        field: String,
        /// Error of the battery.
        source: VehicleError,
    },
    /// An invalid heat unit.
    #[error("{field}.{source}")]
    Heat {
        /// The device.
        field: String,
        /// Error of its request.
        source: HeatError,
    },
    /// A heat unit that begins at another instant than the site.
    #[error("{field}.now is {at}; it is the now of the site, {now}")]
    HeatNow {
        /// The device.
        field: String,
        /// Its present time.
        at: DateTime<Utc>,
        /// Present time of the site.
        now: DateTime<Utc>,
    },
    /// A heat unit that is on or off.
    #[error(
        "{field}.on_off: a unit that is on or off cannot be planned on a site; leave it out, so that \
         the unit modulates, or plan the unit alone"
    )]
    HeatOnOff {
        /// The device.
        field: String,
    },
    /// A field in percent for a vehicle without a battery.
    #[error("{field} needs the vehicle's battery")]
    NeedsBattery {
        /// Field that needs the battery.
        field: String,
    },
    /// A soft bound without a state of charge.
    #[error("{field} has neither soc_min_percent nor soc_max_percent; give one of them")]
    NoBound {
        /// The soft bound.
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
    /// A session or time window that does not end after its start.
    #[error("{field} ends at {end}, not after its start at {start}")]
    Stay {
        /// The device.
        field: String,
        /// Arrival, or earliest start.
        start: DateTime<Utc>,
        /// Departure, or latest end.
        end: DateTime<Utc>,
    },
    /// A drive before arrival or after departure.
    #[error(
        "{field} from {start} to {end} lies outside the session{from}{to}; \
         a drive lies between arrival and departure",
        from = arrival.map_or_else(String::new, |at| format!(" from {at}")),
        to = departure.map_or_else(String::new, |at| format!(" to {at}"))
    )]
    DriveOutside {
        /// The drive, such as `devices[0] (car).consumption[1]`.
        field: String,
        /// Start of the drive.
        start: DateTime<Utc>,
        /// End of the drive.
        end: DateTime<Utc>,
        /// Arrival, if there is one.
        arrival: Option<DateTime<Utc>>,
        /// Departure, if there is one.
        departure: Option<DateTime<Utc>>,
    },
    /// Drives that overlap.
    #[error("{field}.consumption: a drive starts at {start}, before another one ends at {end}")]
    DrivesOverlap {
        /// The device.
        field: String,
        /// Start of the later drive.
        start: DateTime<Utc>,
        /// End of the earlier drive.
        end: DateTime<Utc>,
    },
    /// A drive of a vehicle that is plugged in.
    #[error(
        "{field}.is_plugged_in is true; a vehicle on a site is away while it drives: \
         give what it uses at the plug as a load"
    )]
    PluggedIn {
        /// The drive.
        field: String,
    },
    /// A target that is due while the vehicle drives.
    #[error(
        "{field} is from {start} to {end}, and a target is due in between, at {by}; \
         a target is due at the plug: give it by the start or the end of the drive"
    )]
    DueAway {
        /// The drive.
        field: String,
        /// Deadline of the target.
        by: DateTime<Utc>,
        /// Start of the drive.
        start: DateTime<Utc>,
        /// End of the drive.
        end: DateTime<Utc>,
    },
    /// Energy targets of a vehicle that drives in between.
    #[error(
        "{field}.targets: energy in kWh counts from arrival, which is not clear beside \
         consumption; give states of charge"
    )]
    EnergyTargets {
        /// The device.
        field: String,
    },
    /// A later block that is cheaper: the cost is then not convex, which is not supported.
    #[error(
        "tiers[{index}] is cheaper or ends earlier than the block before it; \
         only blocks of rising prices can be planned exactly"
    )]
    Tiers {
        /// Position of the block.
        index: usize,
    },
    /// Number of slots above the limit.
    #[error("the site has {slots} slots; at most {most} can be planned: give until=")]
    TooLong {
        /// Number of slots, after cutting at all forecasts and deadlines.
        slots: usize,
        /// Largest allowed number of slots.
        most: usize,
    },
    /// The last block has an upper end, or an earlier block has none.
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
        let rule = "it is from 0.001 to 1000";
        let ratio = SiteError::Number { field: field(), value: 0.0, unit: "", rule };
        assert_eq!(ratio.to_string(), "devices[0] (van) is 0; it is from 0.001 to 1000");
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
            r#"devices[0] (van) is in group "a \"b\"", which does not exist"#
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
