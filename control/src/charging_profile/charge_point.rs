//! Restrictions of a charge point on the charging profiles that it accepts and follows.
use serde::{Deserialize, Serialize};
use slackwater_engine::words;

use crate::charging_profile::supply::{Limit, Supply};
use slackwater_engine::units::{Current, Power, amps};

/// Lowest current of charging by IEC 61851-1; below it a vehicle does not charge at all.
pub const CURRENT_MIN: Current = amps(6.0);

words! {
    /// Units of limits that a charge point accepts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum RateUnits {
        /// Amperes on each phase.
        Amps = "amps",
        /// Watts of all phases. Chargers answer an illegal value to the other unit
        /// (lbbrhzn/ocpp#1635, evcc-io/evcc#9838).
        Watts = "watts",
        /// Both.
        Both = "both",
    }
}

words! {
    /// Way in which a charge point pauses without losing the vehicle.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Pause {
        /// A limit of zero.
        ZeroLimit = "zero_limit",
        /// The end of the transaction: a limit of zero is ignored, or cannot be left again.
        RemoteStop = "remote_stop",
    }
}

/// Restrictions of a charge point on profiles.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one restriction, and all combine")]
pub struct ChargePoint {
    /// Units of limits.
    pub units: RateUnits,
    /// Phases and voltage.
    pub supply: Supply,
    /// Lowest current of charging; [`CURRENT_MIN`] if nothing else is known.
    pub current_min: Current,
    /// Highest current of the charge point and its cable.
    pub current_max: Current,
    /// Step of limits: 1 A, or 0.1 A.
    pub current_step: Current,
    /// Largest number of periods of a schedule (`ChargingScheduleMaxPeriods`).
    pub periods_max: usize,
    /// Stack level of the default: 0, or 1 where level 0 is refused.
    pub stack_level_default: u32,
    /// Highest stack level (`ChargeProfileMaxStackLevel`).
    pub stack_level_max: u32,
    /// True if it follows transaction profiles.
    pub takes_transaction_profile: bool,
    /// True if a new default profile holds in the running transaction already. With some it holds
    /// from the next one on (lbbrhzn/ocpp#221).
    pub applies_default_at_once: bool,
    /// True if only profiles relative to the transaction are followed.
    pub is_relative_only: bool,
    /// True if only absolute profiles are followed. Its default is absolute too, and begins by the
    /// clock of the charge point.
    pub is_absolute_only: bool,
    /// Way of pausing.
    pub pause: Pause,
}

impl ChargePoint {
    /// Charge point that keeps to the standard and says nothing of its restrictions: amperes in
    /// whole numbers, one period, two stack levels.
    #[must_use]
    pub const fn new(supply: Supply, current_max: Current) -> Self {
        Self {
            units: RateUnits::Amps,
            supply,
            current_min: CURRENT_MIN,
            current_max,
            current_step: amps(1.0),
            periods_max: 1,
            stack_level_default: 0,
            stack_level_max: 1,
            takes_transaction_profile: true,
            applies_default_at_once: true,
            is_relative_only: false,
            is_absolute_only: false,
            pause: Pause::ZeroLimit,
        }
    }

    /// Highest current within a limit that the charge point can follow: in whole steps, up to its
    /// own highest current, and zero below its lowest.
    #[must_use]
    pub fn current_within(&self, limit: Limit) -> Current {
        let current = self.supply.current_of(limit, None).min(self.current_max);
        let current = current.round_down(self.current_step);
        if current < self.current_min { Current::ZERO } else { current }
    }

    /// Limit of a current in a unit that the charge point accepts; never above the current.
    #[must_use]
    pub fn limit_of(&self, current: Current) -> Limit {
        match self.units {
            RateUnits::Amps | RateUnits::Both => Limit::Current(current),
            RateUnits::Watts => Limit::Power(whole_watts(self.supply.power_of(current))),
        }
    }
}

/// Power rounded down to whole watts; a ten-thousandth of a watt below one counts as the whole.
fn whole_watts(power: Power) -> Power {
    let watts = (power.as_kw() * 1000.0 + 1e-4).floor();
    Power::from_kw(watts / 1000.0).unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_engine::units::{kw, volts};

    #[test]
    fn limits_are_rounded_down_and_never_up() {
        let supply = Supply::new(volts(230.0), 3).unwrap();
        let whole = ChargePoint::new(supply, amps(16.0));
        let tenth = ChargePoint { current_step: amps(0.1), ..whole };
        let cases = [(5.9, 0.0, 0.0), (6.0, 6.0, 6.0), (9.99, 9.0, 9.9), (32.0, 16.0, 16.0)];
        for (limit, whole_amps, tenths) in cases {
            let limit = Limit::Current(amps(limit));
            assert_eq!(whole.current_within(limit), amps(whole_amps));
            assert_eq!(tenth.current_within(limit), amps(tenths));
        }
        // 4.2 kW on three phases are 6.087 A.
        assert_eq!(whole.current_within(Limit::Power(kw(4.2))), amps(6.0));
        let watts = ChargePoint { units: RateUnits::Watts, current_step: amps(0.1), ..whole };
        assert_eq!(watts.limit_of(amps(6.1)), Limit::Power(kw(4.209)));
    }
}
