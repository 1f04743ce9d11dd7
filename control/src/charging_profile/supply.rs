//! Phases and voltage of a charge point, which relate limits in amperes to limits in watts.
use serde::{Deserialize, Serialize};

use slackwater_engine::units::{Current, Power, Voltage};

/// Upper limit of a charge point, in the unit in which it is stated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Limit {
    /// Amperes on each phase.
    #[serde(rename = "current_amps")]
    Current(Current),
    /// Power of all phases together.
    #[serde(rename = "power_kw")]
    Power(Power),
}

impl Limit {
    /// Returns true if the limit is below zero, which no profile may hold.
    #[must_use]
    pub fn is_negative(self) -> bool {
        match self {
            Self::Current(current) => current < Current::ZERO,
            Self::Power(power) => power < Power::ZERO,
        }
    }
}

/// Error of a supply.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SupplyError {
    /// A charge point has one, two or three phases.
    #[error("{phases} phases: a charge point has 1, 2 or 3")]
    Phases {
        /// The number as given.
        phases: u8,
    },
    /// The voltage is not above zero.
    #[error("a voltage of {} V is not above zero", .voltage.as_volts())]
    Voltage {
        /// The voltage as given.
        voltage: Voltage,
    },
}

/// Supply of a charge point: `P = I · U · n` for `n` phases at the voltage `U`.
///
/// A charge point that is limited in watts draws more current when the voltage is low. Where a
/// current must hold, `U` is the lowest voltage that the grid may have (207 V of nominal 230 V by
/// EN 50160), and a limit in amperes then becomes fewer watts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Supply {
    voltage: Voltage,
    phases: u8,
}

impl Supply {
    /// Supply with a voltage from phase to neutral and a number of phases.
    ///
    /// # Errors
    /// The number of phases is not 1 to 3, or the voltage is not above zero.
    pub fn new(voltage: Voltage, phases: u8) -> Result<Self, SupplyError> {
        if !(1..=3).contains(&phases) {
            return Err(SupplyError::Phases { phases });
        }
        if voltage <= Voltage::ZERO {
            return Err(SupplyError::Voltage { voltage });
        }
        Ok(Self { voltage, phases })
    }

    /// Number of phases.
    #[must_use]
    pub const fn phases(self) -> u8 {
        self.phases
    }

    /// Amperes on each phase under a limit, on `phases` phases or on those of the supply.
    #[must_use]
    pub fn current_of(self, limit: Limit, phases: Option<u8>) -> Current {
        match limit {
            Limit::Current(current) => current,
            Limit::Power(power) => power.current(self.voltage, phases.unwrap_or(self.phases)),
        }
    }

    /// Power of a current on all phases of the supply.
    #[must_use]
    pub fn power_of(self, current: Current) -> Power {
        current.power(self.voltage, self.phases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_engine::units::{amps, kw, volts};

    #[test]
    fn watts_become_amperes_on_the_phases_in_use() {
        let supply = Supply::new(volts(230.0), 3).unwrap();
        assert_eq!(supply.current_of(Limit::Power(kw(11.04)), None), amps(16.0));
        assert_eq!(supply.current_of(Limit::Power(kw(3.68)), Some(1)), amps(16.0));
        assert_eq!(supply.current_of(Limit::Current(amps(16.0)), Some(1)), amps(16.0));
        assert_eq!(supply.power_of(amps(16.0)), kw(11.04));
    }

    #[test]
    fn a_supply_has_phases_and_a_voltage() {
        let text = Supply::new(volts(230.0), 4).unwrap_err().to_string();
        assert_eq!(text, "4 phases: a charge point has 1, 2 or 3");
        let text = Supply::new(volts(0.0), 1).unwrap_err().to_string();
        assert_eq!(text, "a voltage of 0 V is not above zero");
    }

    #[test]
    fn limits_carry_their_unit_in_data() {
        let text = serde_json::to_string(&Limit::Current(amps(16.0))).unwrap();
        assert_eq!(text, r#"{"current_amps":16.0}"#);
    }
}
