//! Least power that controllable devices keep when the grid is short, by section 14a of the German
//! energy act (`EnWG`).
//!
//! For `n` devices behind one energy manager, with the simultaneity factor `g(n)`:
//!
//! ```text
//! P_min = 4.2 kW + (n - 1) · g(n) · 4.2 kW
//! ```
//!
//! Source: Bundesnetzagentur, decision BK6-22-300 of 27 November 2023, annex 1, number 4.5.2. The
//! limit is on the power drawn from the grid. The factors are data, because the decision lets them
//! change. [`Simultaneity::verified`] holds those that two public sources state alike
//! (Tinkerforge/esp32-firmware#407, position paper of elexon): 0.8 for two devices, and 0.45 for nine
//! and more. Factors for three to eight devices are not part of it: read them in the annex, and pass
//! them. The rule for heat pumps and air conditioners above 11 kW is not part of it either.
use serde::{Deserialize, Serialize};

use slackwater_engine::units::{Power, kw};

/// Power that each device keeps alone.
pub const LEAST_POWER: Power = kw(4.2);

/// Simultaneity factor from a number of devices on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimultaneityFactor {
    /// Least number of devices.
    pub devices_min: u32,
    /// Largest number of devices; `None` is any.
    pub devices_max: Option<u32>,
    /// Factor, above 0 and at most 1.
    pub factor: f64,
}

/// Error of factors, or of their use.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum DimmingError {
    /// A factor outside its range.
    #[error("a simultaneity factor of {factor} is not above 0 and at most 1")]
    Factor {
        /// The factor as given.
        factor: f64,
    },
    /// Ranges of devices that are empty or overlap, or out of order.
    #[error("factors from {devices_min} devices on do not follow those before")]
    Order {
        /// Start of the range.
        devices_min: u32,
    },
    /// No factor for a number of devices.
    #[error("no simultaneity factor for {devices} devices: pass that of the annex of BK6-22-300")]
    Unknown {
        /// The number of devices.
        devices: u32,
    },
}

/// Simultaneity factors by number of devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<SimultaneityFactor>", into = "Vec<SimultaneityFactor>")]
pub struct Simultaneity {
    factors: Vec<SimultaneityFactor>,
}

impl Simultaneity {
    /// Factors in order of the number of devices.
    ///
    /// # Errors
    /// A factor is not above 0 and at most 1, or ranges are empty, overlap or are not in order.
    pub fn new(factors: Vec<SimultaneityFactor>) -> Result<Self, DimmingError> {
        let mut next = Some(0);
        for range in &factors {
            if !(range.factor > 0.0 && range.factor <= 1.0) {
                return Err(DimmingError::Factor { factor: range.factor });
            }
            let follows = next.is_some_and(|next| range.devices_min >= next);
            if !follows || range.devices_max.is_some_and(|max| max < range.devices_min) {
                return Err(DimmingError::Order { devices_min: range.devices_min });
            }
            next = range.devices_max.map(|max| max.saturating_add(1));
        }
        Ok(Self { factors })
    }

    /// Factors that were verified: two devices, and nine and more.
    #[must_use]
    pub fn verified() -> Self {
        let two = SimultaneityFactor { devices_min: 2, devices_max: Some(2), factor: 0.8 };
        let nine = SimultaneityFactor { devices_min: 9, devices_max: None, factor: 0.45 };
        Self { factors: vec![two, nine] }
    }

    /// Least power of `devices` devices behind one energy manager; zero for none, and 4.2 kW for one.
    ///
    /// # Errors
    /// There is no factor for this number of devices.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_control::grid_order::dimming::Simultaneity;
    /// let table = Simultaneity::verified();
    /// let power = |devices| table.least_power(devices).unwrap().as_kw();
    /// assert_eq!((power(1), power(2)), (4.2, 4.2 + 0.8 * 4.2));
    /// assert!(table.least_power(3).is_err());
    /// ```
    pub fn least_power(&self, devices: u32) -> Result<Power, DimmingError> {
        let Some(others) = devices.checked_sub(1) else { return Ok(Power::ZERO) };
        if others == 0 {
            return Ok(LEAST_POWER);
        }
        let holds = |range: &&SimultaneityFactor| {
            range.devices_min <= devices && range.devices_max.is_none_or(|max| devices <= max)
        };
        let unknown = DimmingError::Unknown { devices };
        let range = self.factors.iter().find(holds).ok_or(unknown)?;
        let power = LEAST_POWER.as_kw() * (1.0 + f64::from(others) * range.factor);
        Power::from_kw(power).map_err(|_| unknown)
    }
}

impl TryFrom<Vec<SimultaneityFactor>> for Simultaneity {
    type Error = DimmingError;
    fn try_from(factors: Vec<SimultaneityFactor>) -> Result<Self, DimmingError> {
        Self::new(factors)
    }
}

impl From<Simultaneity> for Vec<SimultaneityFactor> {
    fn from(table: Simultaneity) -> Self {
        table.factors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_engine::current_share::{Room, Sharer, share_current};
    use slackwater_engine::units::{Current, amps, volts};

    #[test]
    fn the_least_power_grows_with_the_devices() {
        let table = Simultaneity::verified();
        let power = |devices| table.least_power(devices).map(Power::as_kw);
        assert_eq!((power(0), power(1)), (Ok(0.0), Ok(4.2)));
        assert!((power(2).unwrap() - 7.56).abs() < 1e-9);
        assert!((power(9).unwrap() - 19.32).abs() < 1e-9);
        assert!((power(10).unwrap() - 21.21).abs() < 1e-9);
        assert_eq!(power(8), Err(DimmingError::Unknown { devices: 8 }));
    }

    #[test]
    fn tables_are_checked_where_they_are_read() {
        let check = |text: &str, expected: &str| {
            let error = serde_json::from_str::<Simultaneity>(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(
            r#"[{"devices_min": 2, "devices_max": 2, "factor": 80}]"#,
            "a simultaneity factor of 80",
        );
        let twice = r#"{"devices_min": 2, "devices_max": null, "factor": 0.8}"#;
        check(&format!("[{twice}, {twice}]"), "factors from 2 devices on do not follow");
        let table = Simultaneity::verified();
        let text = serde_json::to_string(&table).unwrap();
        assert_eq!(serde_json::from_str::<Simultaneity>(&text).unwrap(), table);
    }

    #[test]
    fn the_least_power_is_divided_like_the_current_of_a_fuse() {
        // Two devices at 230 V: 32.87 A in all. A car on three phases gets 8 A on each of them, and
        // one on a single phase 8 A: 24 A and 8 A. Nothing is cut to 6 A on one phase.
        let total = Simultaneity::verified().least_power(2).unwrap().current(volts(230.0), 1);
        let three = Sharer {
            phases: [true; 3],
            min: amps(6.0),
            max: amps(16.0),
            step: amps(1.0),
            reserved: Current::ZERO,
            priority: 0,
            need: None,
        };
        let one = Sharer { phases: [true, false, false], ..three };
        let room = Room { phases: [amps(35.0); 3], total: Some(total) };
        assert_eq!(share_current(&room, &[three, one], 0), [amps(8.0); 2]);
        // Alone, the car on one phase has all of its 4.2 kW.
        let room = Room { total: Some(LEAST_POWER.current(volts(230.0), 1)), ..room };
        let wide = Sharer { max: amps(32.0), ..one };
        assert_eq!(share_current(&room, &[wide], 0), [amps(18.0)]);
    }
}
