//! Location of a schedule, and the time zone of its wall clock.
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

/// Kind of target that a schedule switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TargetType {
    /// A vehicle.
    #[serde(rename = "vehicle")]
    Vehicle,
    /// A charger.
    #[serde(rename = "charger")]
    Charger,
}

/// Returns true if a schedule does not apply to its target because of the target's location.
///
/// A schedule of a location applies there only (SCH-24). Without a location
/// it applies to a charger anywhere (SCH-22), and to a vehicle at any location
/// that is known: a car at a foreign charger is never stopped (SCH-23, AMB-14).
#[must_use]
pub fn is_away(
    target_type: TargetType,
    schedule_location: Option<&str>,
    target_location: Option<&str>,
) -> bool {
    match (schedule_location, target_type) {
        (Some(wanted), _) => target_location != Some(wanted),
        (None, TargetType::Vehicle) => target_location.is_none(),
        (None, TargetType::Charger) => false,
    }
}

/// Time zone of a location, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its time zone, if one is set.
    pub time_zone: Option<Tz>,
}

/// The time zone of wall clocks in a schedule or policy (SCH-20, AMB-13).
///
/// That of its own location; where it has none, that of the location its
/// target is at; where neither is known or the one that counts has no zone, UTC.
#[must_use]
pub fn time_zone_of(own: Option<Place>, target: Option<Place>) -> Tz {
    own.or(target).and_then(|place| place.time_zone).unwrap_or(Tz::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono_tz::Asia::Tokyo;
    use chrono_tz::Europe::Oslo;

    #[test]
    fn a_schedule_is_away_from_every_other_place() {
        let (home, work) = (Some("home"), Some("work"));
        for target_type in [TargetType::Vehicle, TargetType::Charger] {
            assert!(!is_away(target_type, home, home));
            assert!(is_away(target_type, home, work));
            assert!(is_away(target_type, home, None));
            assert!(!is_away(target_type, None, work));
        }
        assert!(is_away(TargetType::Vehicle, None, None));
        assert!(!is_away(TargetType::Charger, None, None));
    }

    #[test]
    fn clocks_are_those_of_the_place_else_utc() {
        let place = |time_zone| Some(Place { time_zone });
        assert_eq!(time_zone_of(place(Some(Oslo)), place(Some(Tokyo))), Oslo);
        assert_eq!(time_zone_of(None, place(Some(Tokyo))), Tokyo);
        assert_eq!(time_zone_of(place(None), place(Some(Tokyo))), Tz::UTC);
        assert_eq!(time_zone_of(None, place(None)), Tz::UTC);
        assert_eq!(time_zone_of(None, None), Tz::UTC);
    }
}
