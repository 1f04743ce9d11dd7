//! Names of the engine's states in the interface.
use slackwater_control::policy::charger::{ChargerState, IntervalStatus};
use slackwater_control::policy::flex_status::FlexState;

/// Name of a flex state in the interface; `None` for the three states for which the specification
/// prints no name.
#[must_use]
pub const fn flex_state_name(state: FlexState) -> Option<&'static str> {
    match state {
        FlexState::Unavailable => Some("UNAVAILABLE"),
        FlexState::BatteryReserve => Some("SCHEDULE:BATTERY_RESERVE"),
        FlexState::NotPluggedIn | FlexState::SocUnknown | FlexState::Schedule => None,
    }
}

/// Name of a charger's state.
#[must_use]
pub const fn charger_state_name(state: ChargerState) -> &'static str {
    match state {
        ChargerState::Disabled => "DISABLED",
        ChargerState::ChargerNotReachable => "CHARGER_NOT_REACHABLE",
        ChargerState::VehicleNotPluggedIn => "VEHICLE_NOT_PLUGGED_IN",
        ChargerState::AwaitingPrices => "AWAITING_PRICES",
        ChargerState::Charging => "CHARGING",
        ChargerState::ChargingPaused => "CHARGING_PAUSED",
    }
}

/// Name of the status of an interval of a plan relative to the present.
#[must_use]
pub const fn interval_status_name(status: IntervalStatus) -> &'static str {
    match status {
        IntervalStatus::InProgress => "IN_PROGRESS",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_printed_names_are_shown() {
        let names: Vec<&str> = FlexState::ALL.into_iter().filter_map(flex_state_name).collect();
        assert_eq!(names, ["UNAVAILABLE", "SCHEDULE:BATTERY_RESERVE"]);
    }

    #[test]
    fn the_names_are_those_of_the_specification() {
        for state in ChargerState::ALL {
            assert_eq!(state.as_str().to_uppercase(), charger_state_name(state));
        }
        assert_eq!(interval_status_name(IntervalStatus::InProgress), "IN_PROGRESS");
    }
}
