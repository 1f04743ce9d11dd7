//! Electrical supply of an outlet: phases, volts and amperes.

use slackwater_engine::units::{Current, Power, amps, kw};

/// The least current that a charger offers a car, in amperes (IEC 61851).
pub const CURRENT_MIN_A: f64 = 6.0;

/// Supply of an outlet or a charger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Supply {
    /// Phases, one to three.
    pub phases: u8,
    /// Voltage between a phase and neutral.
    pub volts: f64,
    /// Highest current per phase.
    pub current_max: Current,
}

impl Supply {
    /// Power at a current.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_sim::supply::Supply;
    /// use slackwater_engine::units::amps;
    /// let supply = Supply { phases: 3, volts: 230.0, current_max: amps(16.0) };
    /// assert_eq!(supply.power_of(amps(16.0)).as_kw(), 11.04);
    /// ```
    #[must_use]
    pub fn power_of(&self, current: Current) -> Power {
        kw(f64::from(self.phases) * self.volts * current.as_amps() / 1000.0)
    }

    /// Current at a power.
    #[must_use]
    pub fn current_of(&self, power: Power) -> Current {
        let per_amp = f64::from(self.phases) * self.volts / 1000.0;
        if per_amp > 0.0 { amps(power.as_kw() / per_amp) } else { Current::ZERO }
    }

    /// The most that it gives.
    #[must_use]
    pub fn power_max(&self) -> Power {
        self.power_of(self.current_max)
    }

    /// The least that a car can be offered.
    #[must_use]
    pub fn power_min(&self) -> Power {
        self.power_of(amps(CURRENT_MIN_A))
    }

    /// Power under a limit of the current: none below the least that a car can
    /// be offered.
    #[must_use]
    pub fn limited(&self, limit: Option<Current>) -> Power {
        let current = limit.map_or(self.current_max, |limit| limit.min(self.current_max));
        if current.as_amps() < CURRENT_MIN_A { Power::ZERO } else { self.power_of(current) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_and_power_say_the_same() {
        let supply = Supply { phases: 1, volts: 230.0, current_max: amps(32.0) };
        assert_eq!(supply.power_max(), kw(7.36));
        assert_eq!(supply.power_min(), kw(1.38));
        let current = supply.current_of(kw(7.36)).as_amps();
        assert!((current - 32.0).abs() < 1e-12, "{current}");
        assert_eq!(supply.limited(None), kw(7.36));
        assert_eq!(supply.limited(Some(amps(16.0))), kw(3.68));
        assert_eq!(supply.limited(Some(amps(63.0))), kw(7.36));
        assert_eq!(supply.limited(Some(amps(5.9))), Power::ZERO);
        let none = Supply { phases: 0, ..supply };
        assert_eq!((none.current_of(kw(1.0)), none.power_max()), (Current::ZERO, Power::ZERO));
    }
}
