//! Charge state of a device, from a vendor's report to the values shown.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::device::power_state::PowerState;
use slackwater_engine::units::Power;

/// Age above which a reading gives no information on power delivery.
pub const STALE_AFTER: TimeDelta = TimeDelta::days(7);

/// The part of a charge state that is not passed on as it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargeState {
    /// State of power delivery.
    pub power_state: PowerState,
    /// True if a plug is in.
    pub is_plugged_in: Option<bool>,
    /// True if it charges.
    pub is_charging: Option<bool>,
    /// True if the vehicle is full.
    pub is_fully_charged: Option<bool>,
    /// Power now.
    #[serde(rename = "charge_rate_kw")]
    pub charge_rate: Option<Power>,
    /// Minutes until the charge limit is reached.
    pub charge_time_remaining_minutes: Option<f64>,
    /// Highest power allowed.
    #[serde(rename = "charge_rate_limit_kw")]
    pub charge_rate_limit: Option<Power>,
    /// Time of the vendor's last reading.
    pub last_updated: Option<DateTime<Utc>>,
}

/// Kind of the device that reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reporter {
    /// A vehicle.
    #[serde(rename = "vehicle")]
    Vehicle,
    /// A charger.
    #[serde(rename = "charger")]
    Charger,
}

impl ChargeState {
    /// Returns true if the device charges. If the vendor does not report it, the power state
    /// decides.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.is_charging.unwrap_or(self.power_state == PowerState::Charging)
    }

    /// Returns true if a plug is in, as reported or as the power state implies; `None` if
    /// unknown.
    #[must_use]
    pub fn is_plugged(&self) -> Option<bool> {
        self.is_plugged_in.or(self.power_state.is_plugged_in())
    }

    /// Values shown at `now` for a report.
    ///
    /// * The state is unknown once the reading is over seven days old; at
    ///   seven days to the microsecond it still counts, and a reading without
    ///   a time keeps its state (VEH-23, AMB-47).
    /// * Whether the vehicle is full is not shown while the state is unknown
    ///   (VEH-13). Nothing else is hidden for age (AMB-47).
    /// * Power and remaining time are shown only while it charges (VEH-16,
    ///   VEH-17, CHG-05). A vendor that does not say whether it charges is
    ///   taken at its state.
    /// * The limit of the power is shown only with a plug in (VEH-22). A limit below 0 is a
    ///   fault of the vendor: it is not shown, and nothing is planned with it.
    /// * A charger is never complete (VEH-27).
    #[must_use]
    pub fn shown(&self, reporter: Reporter, now: DateTime<Utc>) -> Self {
        // Plug and charging are those of the report: age hides only the state and the fullness.
        let (is_charging, is_plugged_in) = (self.is_on(), self.is_plugged());
        let is_stale = self.last_updated.is_some_and(|at| now - at > STALE_AFTER);
        let power_state = match reporter {
            _ if is_stale => PowerState::Unknown,
            Reporter::Vehicle => self.power_state,
            Reporter::Charger => self.power_state.at_charger(),
        };
        let is_known = power_state != PowerState::Unknown;
        Self {
            power_state,
            is_fully_charged: self.is_fully_charged.filter(|_| is_known),
            charge_rate: self.charge_rate.filter(|_| is_charging),
            charge_time_remaining_minutes: self
                .charge_time_remaining_minutes
                .filter(|_| is_charging),
            charge_rate_limit: self
                .charge_rate_limit
                .filter(|&limit| is_plugged_in != Some(false) && limit >= Power::ZERO),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_engine::units::kw;

    fn now() -> DateTime<Utc> {
        "2026-01-12T18:00:00Z".parse().unwrap()
    }

    fn reported(power_state: PowerState) -> ChargeState {
        ChargeState {
            power_state,
            is_plugged_in: Some(true),
            is_charging: Some(power_state == PowerState::Charging),
            is_fully_charged: Some(false),
            charge_rate: Some(kw(7.4)),
            charge_time_remaining_minutes: Some(90.0),
            charge_rate_limit: Some(kw(11.0)),
            last_updated: Some(now() - TimeDelta::minutes(5)),
        }
    }

    #[test]
    fn power_and_time_only_while_charging() {
        for state in PowerState::ALL {
            let shown = reported(state).shown(Reporter::Vehicle, now());
            let charging = state == PowerState::Charging;
            assert_eq!(shown.charge_rate.is_some(), charging);
            assert_eq!(shown.charge_time_remaining_minutes.is_some(), charging);
            let unsaid = ChargeState { is_charging: None, ..reported(state) };
            assert_eq!(unsaid.shown(Reporter::Vehicle, now()).charge_rate.is_some(), charging);
            let says_no = ChargeState { is_charging: Some(false), ..reported(state) };
            assert_eq!(says_no.shown(Reporter::Vehicle, now()).charge_rate, None);
        }
    }

    #[test]
    fn unknown_after_seven_days_and_not_before() {
        let aged = |age: TimeDelta| {
            let reading =
                ChargeState { last_updated: Some(now() - age), ..reported(PowerState::Charging) };
            reading.shown(Reporter::Vehicle, now())
        };
        assert_eq!(aged(STALE_AFTER).power_state, PowerState::Charging);
        let stale = aged(STALE_AFTER + TimeDelta::microseconds(1));
        assert_eq!((stale.power_state, stale.is_fully_charged), (PowerState::Unknown, None));
        assert_eq!((stale.is_charging, stale.charge_rate), (Some(true), Some(kw(7.4))));
        let undated = ChargeState { last_updated: None, ..reported(PowerState::Stopped) };
        assert_eq!(undated.shown(Reporter::Vehicle, now()).power_state, PowerState::Stopped);
    }

    #[test]
    fn full_is_not_known_in_an_unknown_state() {
        let full = ChargeState { is_fully_charged: Some(true), ..reported(PowerState::Unknown) };
        assert_eq!(full.shown(Reporter::Vehicle, now()).is_fully_charged, None);
    }

    #[test]
    fn no_limit_without_a_plug() {
        let check = |is_plugged_in, state, expected: Option<f64>| {
            let reading = ChargeState { is_plugged_in, ..reported(state) };
            let limit = reading.shown(Reporter::Vehicle, now()).charge_rate_limit;
            assert_eq!(limit.map(Power::as_kw), expected);
        };
        check(Some(true), PowerState::Stopped, Some(11.0));
        check(Some(false), PowerState::Stopped, None);
        check(None, PowerState::Unplugged, None);
        check(None, PowerState::Unknown, Some(11.0));
    }

    #[test]
    fn showing_twice_shows_the_same() {
        for state in PowerState::ALL {
            for reporter in [Reporter::Vehicle, Reporter::Charger] {
                let once = reported(state).shown(reporter, now());
                assert_eq!(once.shown(reporter, now()), once);
            }
        }
    }
}
