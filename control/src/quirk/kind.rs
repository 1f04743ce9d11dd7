//! Kinds of deviations of charge points, and their effect on the limits that are written to them.
use serde::{Deserialize, Serialize};
use slackwater_engine::words;

use crate::charging_profile::charge_point::{ChargePoint, Pause, RateUnits};

words! {
    /// Deviation of a charge point from the protocol, or from its usual reading.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Quirk {
        /// Limits in watts are refused or ignored.
        AmpsOnly = "amps_only",
        /// Limits in amperes are refused or ignored.
        WattsOnly = "watts_only",
        /// Profiles above stack level zero are refused.
        LevelZeroOnly = "level_zero_only",
        /// Profiles of stack level zero are refused.
        LevelZeroRefused = "level_zero_refused",
        /// Relative profiles are refused or ignored.
        AbsoluteOnly = "absolute_only",
        /// Absolute profiles are refused or not answered.
        RelativeOnly = "relative_only",
        /// Transaction profiles are refused.
        NoTransactionProfile = "no_transaction_profile",
        /// Profiles of the whole station are refused.
        NoStationMax = "no_station_max",
        /// A new default holds from the next transaction on.
        DefaultWaits = "default_waits",
        /// Profiles are accepted and have no effect, or are refused in every form.
        ProfileIgnored = "profile_ignored",
        /// Profiles hold beyond their end.
        ExpiryIgnored = "expiry_ignored",
        /// The number of phases of a profile is ignored.
        PhasesIgnored = "phases_ignored",
        /// Profiles to connector zero have no effect.
        ConnectorZeroIgnored = "connector_zero_ignored",
        /// A limit of zero does not pause, or cannot be left again.
        ZeroLimitLocks = "zero_limit_locks",
        /// The first limit after a pause is ignored.
        FirstLimitIgnored = "first_limit_ignored",
        /// Charging resumes minutes after a pause.
        SlowResume = "slow_resume",
        /// After the end of a transaction the cable must be plugged in anew.
        StopNeedsReplug = "stop_needs_replug",
        /// Profiles are dropped when the connection or the power is lost.
        ProfilesForgotten = "profiles_forgotten",
        /// Messages before the end of the boot sequence are not answered.
        DeafBeforeBoot = "deaf_before_boot",
        /// It reboots or reconnects without end after ordinary messages.
        RebootLoop = "reboot_loop",
        /// Configuration keys of smart charging are unknown, although profiles work.
        ConfigurationUnknown = "configuration_unknown",
        /// A local setting has to allow external limits.
        LocalSettingNeeded = "local_setting_needed",
        /// Transactions start with one fixed tag only.
        FixedTag = "fixed_tag",
        /// Transaction identifiers are absent, negative, or not those that were given.
        TransactionIdForeign = "transaction_id_foreign",
        /// Energy in kWh is labelled Wh.
        EnergyInKwh = "energy_in_kwh",
        /// Meter values lack their unit.
        UnitMissing = "unit_missing",
        /// Messages break the schema, or JSON itself.
        MessagesBroken = "messages_broken",
    }
}

impl Quirk {
    /// Restrictions of a charge point with this deviation.
    #[must_use]
    pub fn restrict(self, point: ChargePoint) -> ChargePoint {
        match self {
            Self::AmpsOnly => ChargePoint { units: RateUnits::Amps, ..point },
            Self::WattsOnly => ChargePoint { units: RateUnits::Watts, ..point },
            Self::LevelZeroOnly => {
                ChargePoint { stack_level_default: 0, stack_level_max: 0, ..point }
            }
            Self::LevelZeroRefused => ChargePoint {
                stack_level_default: point.stack_level_default.max(1),
                stack_level_max: point.stack_level_max.max(1),
                ..point
            },
            Self::AbsoluteOnly => {
                ChargePoint { is_absolute_only: true, is_relative_only: false, ..point }
            }
            Self::RelativeOnly => {
                ChargePoint { is_absolute_only: false, is_relative_only: true, ..point }
            }
            Self::NoTransactionProfile => ChargePoint { takes_transaction_profile: false, ..point },
            Self::DefaultWaits => ChargePoint { applies_default_at_once: false, ..point },
            Self::ProfileIgnored | Self::ZeroLimitLocks => {
                ChargePoint { pause: Pause::RemoteStop, ..point }
            }
            Self::StopNeedsReplug => ChargePoint { pause: Pause::ZeroLimit, ..point },
            Self::NoStationMax
            | Self::ExpiryIgnored
            | Self::PhasesIgnored
            | Self::ConnectorZeroIgnored
            | Self::FirstLimitIgnored
            | Self::SlowResume
            | Self::ProfilesForgotten
            | Self::DeafBeforeBoot
            | Self::RebootLoop
            | Self::ConfigurationUnknown
            | Self::LocalSettingNeeded
            | Self::FixedTag
            | Self::TransactionIdForeign
            | Self::EnergyInKwh
            | Self::UnitMissing
            | Self::MessagesBroken => point,
        }
    }

    /// Returns true if a limit does not bound the charge point: its highest current has to be
    /// counted at any time.
    #[must_use]
    pub const fn makes_limits_unsafe(self) -> bool {
        matches!(self, Self::ProfileIgnored | Self::ExpiryIgnored | Self::ProfilesForgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging_profile::supply::Supply;
    use slackwater_engine::units::{amps, volts};

    #[test]
    fn deviations_restrict_what_is_written() {
        let point = ChargePoint::new(Supply::new(volts(230.0), 3).unwrap(), amps(32.0));
        let level = |quirk: Quirk| {
            let point = quirk.restrict(point);
            (point.stack_level_default, point.stack_level_max)
        };
        assert_eq!(level(Quirk::LevelZeroOnly), (0, 0));
        assert_eq!(level(Quirk::LevelZeroRefused), (1, 1));
        let kinds = |quirk: Quirk| {
            let point = quirk.restrict(point);
            (point.is_absolute_only, point.is_relative_only)
        };
        assert_eq!(kinds(Quirk::AbsoluteOnly), (true, false));
        assert_eq!(kinds(Quirk::RelativeOnly), (false, true));
        assert_eq!(Quirk::WattsOnly.restrict(point).units, RateUnits::Watts);
        assert_eq!(Quirk::ZeroLimitLocks.restrict(point).pause, Pause::RemoteStop);
        assert_eq!(Quirk::EnergyInKwh.restrict(point), point);
    }
}
