//! Flex policy as JSON: in answers, and in events.
use std::collections::BTreeMap;

use serde::Serialize;
use slackwater_control::policy::flex::DayRequest;
use utoipa::ToSchema;
use uuid::Uuid;

use slackwater_store::policies::FlexRow;

/// A flex policy of a vehicle.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlexPolicyBody {
    /// Its identifier.
    pub id: Uuid,
    /// The vehicle.
    pub vehicle_id: Uuid,
    /// Location at which it holds.
    pub location_id: Uuid,
    /// Percent that the vehicle charges to at once on arrival, at any price.
    pub battery_reserve: f64,
    /// Charge limit of the vehicle, in percent, when it was last seen there.
    pub last_observed_location_charge_limit: f64,
    /// Wishes by weekday, `monday` to `sunday`.
    #[schema(value_type = BTreeMap<String, FlexDayBody>)]
    pub schedule: BTreeMap<String, FlexDayBody>,
}

/// The wish for a day.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlexDayBody {
    /// `HH:MM` on the clocks of the location.
    pub deadline: String,
    /// Least percent by then; the charge limit of the vehicle if that is lower.
    pub minimum_charge_target: f64,
}

impl FlexPolicyBody {
    /// A policy as it is kept.
    #[must_use]
    pub fn from_row(row: &FlexRow) -> Self {
        let day = |day: &DayRequest| FlexDayBody {
            deadline: day.deadline.clone().unwrap_or_default(),
            minimum_charge_target: day.target_percent.unwrap_or_default(),
        };
        let days = row.policy.schedule.iter();
        Self {
            id: row.id,
            vehicle_id: row.vehicle_id,
            location_id: row.location_id,
            battery_reserve: row.policy.reserve_percent,
            last_observed_location_charge_limit: row.policy.observed_limit_percent,
            schedule: days.map(|(name, wish)| (name.clone(), day(wish))).collect(),
        }
    }
}
