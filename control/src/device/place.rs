//! Location of a device among its user's locations.
use serde::{Deserialize, Serialize};

use crate::device::scope::{Granted, Permission};

/// A device this close to a location is there: a street's width, a garage and
/// the error of a receiver in it.
pub const NEAR_KM: f64 = 0.15;

const EARTH_RADIUS_KM: f64 = 6371.0;

/// A point on the globe.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}

impl Point {
    /// Kilometres to another point, as the crow flies.
    #[must_use]
    pub fn distance_km(&self, other: &Self) -> f64 {
        // Haversine formula: accurate for points that lie close to each other.
        let half = |from: f64, to: f64| ((to - from).to_radians() / 2.0).sin().powi(2);
        let squared = half(self.latitude, other.latitude)
            + self.latitude.to_radians().cos()
                * other.latitude.to_radians().cos()
                * half(self.longitude, other.longitude);
        // Rounding can move the square above 1, where the inverse sine has no value.
        2.0 * EARTH_RADIUS_KM * squared.clamp(0.0, 1.0).sqrt().asin()
    }

    /// The point so many kilometres away in a direction: 0 is north, 90 east.
    #[must_use]
    pub fn towards(&self, degrees: f64, km: f64) -> Self {
        // End of the great-circle arc with this start, bearing and angle.
        let (turn, angle) = (degrees.to_radians(), km / EARTH_RADIUS_KM);
        let (latitude, longitude) = (self.latitude.to_radians(), self.longitude.to_radians());
        let sine = latitude.sin() * angle.cos() + latitude.cos() * angle.sin() * turn.cos();
        let north = sine.clamp(-1.0, 1.0).asin();
        let east = longitude
            + (turn.sin() * angle.sin() * latitude.cos())
                .atan2(angle.cos() - latitude.sin() * sine);
        // Longitudes run from -180 to 180 degrees, also across the date line.
        let east = (east.to_degrees() + 540.0).rem_euclid(360.0) - 180.0;
        if km <= 0.0 { *self } else { Self { latitude: north.to_degrees(), longitude: east } }
    }
}

/// The nearest of some locations, if it is near at all; of two at one distance
/// the earlier. Coordinates that are no numbers are nowhere.
///
/// # Example
///
/// ```
/// use slackwater_control::device::place::{Point, nearest};
/// let home = Point { latitude: 59.91, longitude: 10.75 };
/// let garage = home.towards(90.0, 0.05);
/// assert_eq!(nearest(&garage, [("home", home)]), Some("home"));
/// assert_eq!(nearest(&home.towards(90.0, 5.0), [("home", home)]), None);
/// ```
pub fn nearest<T>(point: &Point, locations: impl IntoIterator<Item = (T, Point)>) -> Option<T> {
    let distances = locations.into_iter().map(|(name, at)| (name, point.distance_km(&at)));
    let near = distances.filter(|(_, km)| *km <= NEAR_KM);
    near.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(name, _)| name)
}

/// Location of a vehicle within the granted permissions: without the scope for it the result is
/// empty, whatever the vehicle reports.
pub fn whereabouts<T>(
    point: Option<&Point>,
    granted: &Granted,
    locations: impl IntoIterator<Item = (T, Point)>,
) -> Option<T> {
    nearest(point.filter(|_| granted.contains(&Permission::ReadLocation))?, locations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_nearest_location_within_reach() {
        let home = Point { latitude: 52.5, longitude: 13.4 };
        let (next_door, work) = (home.towards(0.0, 0.1), home.towards(45.0, 12.0));
        let places = || [("work", work), ("next door", next_door), ("home", home)];
        assert_eq!(nearest(&home, places()), Some("home"));
        assert_eq!(nearest(&home.towards(0.0, 0.08), places()), Some("next door"));
        assert_eq!(nearest(&home.towards(180.0, 0.16), places()), None);
        assert_eq!(nearest(&Point { latitude: f64::NAN, ..home }, places()), None);
        assert_eq!(nearest::<&str>(&home, []), None);
    }

    #[test]
    fn without_the_scope_a_vehicle_is_nowhere() {
        let home = Point { latitude: 52.5, longitude: 13.4 };
        let with = Granted::from([Permission::ReadData, Permission::ReadLocation]);
        let without = Granted::from([Permission::ReadData, Permission::ControlCharging]);
        assert_eq!(whereabouts(Some(&home), &with, [("home", home)]), Some("home"));
        assert_eq!(whereabouts(Some(&home), &without, [("home", home)]), None);
        assert_eq!(whereabouts(None, &with, [("home", home)]), None);
    }

    proptest! {
        /// The distance to a point `km` away in any direction is `km`, everywhere.
        #[test]
        fn there_is_as_far_as_back(
            latitude in -89.0..89.0f64, longitude in -180.0..180.0f64, degrees in 0.0..360.0f64, km in 0.0..500.0f64,
        ) {
            let here = Point { latitude, longitude };
            let there = here.towards(degrees, km);
            prop_assert!((here.distance_km(&there) - km).abs() < 1e-6 * km.max(1.0));
            prop_assert!(there.latitude.abs() <= 90.0 && there.longitude.abs() <= 180.0);
        }
    }
}
