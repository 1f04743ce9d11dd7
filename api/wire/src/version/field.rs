//! Fields and behaviours of the interface by dated version.
use serde::{Deserialize, Serialize};

use crate::version::dated::ApiVersion;

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident $word:literal $since:ident ..= $until:ident;)*) => {
        /// Member or behaviour that not every version has.
        ///
        /// Members that all versions have are not listed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Field {
            $($(#[$doc])* #[serde(rename = $word)] $name,)*
        }

        impl Field {
            /// All fields.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Name of the field in serialised data.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// First and last version that have the field.
            #[must_use]
            pub const fn versions(self) -> (ApiVersion, ApiVersion) {
                match self { $(Self::$name => (ApiVersion::$since, ApiVersion::$until),)* }
            }
        }
    };
}

fields! {
    /// A charger's old vendor identifier in its information (CHG-10, AMB-51).
    ChargerVendorId "charger_vendor_id" V2023_05_01 ..= V2023_05_01;
    /// A charger's location as a bare identifier (CHG-12).
    ChargerChargingLocationId "charger_charging_location_id" V2023_05_01 ..= V2023_05_01;
    /// A charger's location as an object (CHG-11).
    ChargerLocation "charger_location" V2023_08_01 ..= V2024_10_01;
    /// A heating unit's location under its old name (HVAC-13, AMB-50).
    HvacChargingLocationId "hvac_charging_location_id" V2023_05_01 ..= V2023_05_01;
    /// A heating unit's location under its new name (HVAC-13, AMB-50).
    HvacLocationId "hvac_location_id" V2023_08_01 ..= V2024_10_01;
    /// An inverter's location under its old name; absent where not set (INV-03).
    InverterChargingLocationId "inverter_charging_location_id" V2023_05_01 ..= V2023_05_01;
    /// An inverter's location under its new name (VER-20, AMB-50).
    InverterLocationId "inverter_location_id" V2023_08_01 ..= V2024_10_01;
    /// Cost without smart charging in a charging series (STA-17, STA-18).
    SeriesNonSmartCostSum "series_non_smart_cost_sum" V2023_05_01 ..= V2023_05_01;
    /// Savings in a charging series; null when unaffected (STA-19).
    SeriesEstimatedSavings "series_estimated_savings" V2023_08_01 ..= V2024_10_01;
    /// Flag of a smart session (STA-23).
    SessionSmartSession "session_smart_session" V2023_05_01 ..= V2023_05_01;
    /// A session's comparison with charging at once, in one object (STA-23, STA-24).
    SessionSmartStats "session_smart_stats" V2023_05_01 ..= V2023_05_01;
    /// A session's savings at its top; null for others (STA-25).
    SessionEstimatedSavings "session_estimated_savings" V2023_08_01 ..= V2024_10_01;
    /// A session's price without smart charging at its top; null for others (STA-25).
    SessionNonSmartPrice "session_non_smart_price" V2023_08_01 ..= V2024_10_01;
    /// The opaque state of a link session (LNK-11, AMB-61).
    LinkState "link_state" V2023_05_01 ..= V2024_01_01;
    /// A battery's idle mode (BAT-04).
    BatteryIdle "battery_idle" V2024_10_01 ..= V2024_10_01;
    /// A statistics offset is limited to fourteen hours either way (STA-28).
    UtcOffsetRange "utc_offset_range" V2024_10_01 ..= V2024_10_01;
    /// Lists come in pages (VER-17).
    PaginatedLists "paginated_lists" V2023_08_01 ..= V2024_10_01;
    /// Reads can force a fetch from the vendor (ENV-16, ENV-17).
    SynchronousFields "synchronous_fields" V2023_05_01 ..= V2023_05_01;
    /// Requests about a user name that user in a header (AUTH-08, AUTH-09).
    UserIdHeader "user_id_header" V2023_05_01 ..= V2023_05_01;
    /// The user's own resource (VER-18).
    MeResource "me_resource" V2023_05_01 ..= V2023_05_01;
    /// Statistics and schedules lie under their user (STA-04, VER-22, VER-23).
    PathsUnderUser "paths_under_user" V2023_08_01 ..= V2024_10_01;
    /// Old names of scopes are understood (SCOPE-16, SCOPE-17).
    OldScopes "old_scopes" V2023_05_01 ..= V2023_05_01;
    /// A link without a kind of device is one for vehicles (LNK-06, AMB-62).
    LinkVehicleByDefault "link_vehicle_by_default" V2023_05_01 ..= V2023_05_01;
    /// A device that was never reached is an error of its own (ERR-28).
    VendorNotYetReached "vendor_not_yet_reached" V2023_05_01 ..= V2023_05_01;
}

impl Field {
    /// True if a version has the field.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_wire::version::dated::ApiVersion;
    /// use slackwater_wire::version::field::Field;
    /// assert!(Field::BatteryIdle.is_in(ApiVersion::LATEST));
    /// assert!(!Field::BatteryIdle.is_in(ApiVersion::V2024_01_01));
    /// ```
    #[must_use]
    pub fn is_in(self, version: ApiVersion) -> bool {
        let (since, until) = self.versions();
        since <= version && version <= until
    }

    /// Field of a name; `None` if there is none.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|field| field.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use std::fmt::Write;

    #[test]
    fn fields_by_version() {
        let mut table = String::new();
        for &field in Field::ALL {
            let row: String =
                ApiVersion::ALL.map(|v| if field.is_in(v) { '#' } else { '.' }).iter().collect();
            writeln!(table, "{row} {}", field.as_str()).unwrap();
            assert_eq!(Field::parse(field.as_str()), Some(field));
        }
        expect![[r#"
            #... charger_vendor_id
            #... charger_charging_location_id
            .### charger_location
            #... hvac_charging_location_id
            .### hvac_location_id
            #... inverter_charging_location_id
            .### inverter_location_id
            #... series_non_smart_cost_sum
            .### series_estimated_savings
            #... session_smart_session
            #... session_smart_stats
            .### session_estimated_savings
            .### session_non_smart_price
            ###. link_state
            ...# battery_idle
            ...# utc_offset_range
            .### paginated_lists
            #... synchronous_fields
            #... user_id_header
            #... me_resource
            .### paths_under_user
            #... old_scopes
            #... link_vehicle_by_default
            #... vendor_not_yet_reached
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn one_name_for_a_place_at_a_time() {
        let pairs = [
            (Field::ChargerChargingLocationId, Field::ChargerLocation),
            (Field::HvacChargingLocationId, Field::HvacLocationId),
            (Field::InverterChargingLocationId, Field::InverterLocationId),
            (Field::SeriesNonSmartCostSum, Field::SeriesEstimatedSavings),
            (Field::SessionSmartStats, Field::SessionEstimatedSavings),
        ];
        for version in ApiVersion::ALL {
            assert!(pairs.iter().all(|(old, new)| old.is_in(version) != new.is_in(version)));
        }
    }
}
