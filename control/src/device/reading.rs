//! Values shown for a device when its vendor does not report them.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::device::scope::{Granted, Permission};

/// Time at which a device was last seen: its last live data, or the time of linking (VEH-07,
/// CHG-03).
#[must_use]
pub fn last_seen(last_data: Option<DateTime<Utc>>, linked_at: DateTime<Utc>) -> DateTime<Utc> {
    last_data.unwrap_or(linked_at)
}

/// A charger's serial number; without one, or with an empty one, the vendor's
/// identifier (CHG-09).
#[must_use]
pub fn serial_number<'a>(reported: Option<&'a str>, vendor_id: &'a str) -> &'a str {
    reported.filter(|serial| !serial.is_empty()).unwrap_or(vendor_id)
}

/// Returns true if a charger is reachable; unknown counts as unreachable (CHG-35, AMB-77).
#[must_use]
pub fn charger_is_reachable(reported: Option<bool>) -> bool {
    reported.unwrap_or(false)
}

/// Position of a device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Whereabouts {
    /// Degrees east.
    pub longitude: Option<f64>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Time of the reading.
    pub last_updated: Option<DateTime<Utc>>,
    /// The location of its user that it is at.
    pub location_id: Option<String>,
}

impl Whereabouts {
    /// Values shown under the granted permissions: without the permission for locations none, the
    /// name of the place included (SCOPE-13, AMB-67).
    #[must_use]
    pub fn shown(&self, granted: &Granted) -> Self {
        if granted.contains(&Permission::ReadLocation) { self.clone() } else { Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_for_unknown_values() {
        let (linked, read) = ("2026-01-05T18:00:00Z", "2026-01-05T18:05:00Z");
        let (linked, read) = (linked.parse().unwrap(), read.parse().unwrap());
        assert_eq!(last_seen(None, linked), linked);
        assert_eq!(last_seen(Some(read), linked), read);
        assert_eq!(serial_number(Some("S1"), "V1"), "S1");
        assert_eq!(serial_number(Some(""), "V1"), "V1");
        assert_eq!(serial_number(None, "V1"), "V1");
        assert_eq!([None, Some(false), Some(true)].map(charger_is_reachable), [false, false, true]);
    }

    #[test]
    fn no_whereabouts_without_the_scope() {
        let here = Whereabouts {
            longitude: Some(10.7),
            latitude: Some(59.9),
            last_updated: Some("2026-01-05T18:00:00Z".parse().unwrap()),
            location_id: Some("home".into()),
        };
        assert_eq!(here.shown(&Granted::from([Permission::ReadLocation])), here);
        assert_eq!(here.shown(&Granted::from([Permission::ReadData])), Whereabouts::default());
    }
}
