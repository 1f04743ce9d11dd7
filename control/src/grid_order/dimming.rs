//! Least power that controllable devices keep when the grid is short, by section 14a of the German
//! energy act (`EnWG`).
//!
//! For `n` devices behind one energy manager at one grid connection, with the simultaneity factor
//! `g(n)`:
//!
//! ```text
//! P_min = 4.2 kW + (n - 1) · g(n) · 4.2 kW
//!
//!     n    2     3     4     5     6     7     8     from 9 on
//!     g    0.8   0.75  0.7   0.65  0.6   0.55  0.5   0.45
//! ```
//!
//! Source: two public descriptions, which agree, of Bundesnetzagentur, decision BK6-22-300 of 27
//! November 2023, annex 1, number 4.5.2; the decision itself was not at hand. A grid
//! operator may not order less. The limit is on the part of the power drawn from the grid that these
//! devices cause (number 2.3): other load does not count. The factors hold until another
//! recommendation comes into force, and are an argument for that reason. Heat pumps and air
//! conditioners above 11 kW keep 0.4 of their power in place of the first 4.2 kW: that rule is not
//! part of this module, so that the least power of a connection with one is set too low.
use slackwater_engine::units::{Power, kw};

/// Power that one device keeps alone.
pub const LEAST_POWER: Power = kw(4.2);

/// Simultaneity factors as both descriptions state them, for two devices, three, and so on; the last also for more.
pub const SIMULTANEITY_FACTORS: [f64; 8] = [0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45];

/// Error of the simultaneity factors.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum DimmingError {
    /// A factor outside its range.
    #[error("{factor} is not above 0 and at most 1")]
    Factor {
        /// The factor as given.
        factor: f64,
    },
    /// A list without factors.
    #[error("there is no factor for two devices")]
    Empty,
    /// More devices than a power can be told of.
    #[error("the least power of {devices} devices is too large")]
    TooMany {
        /// The number of devices.
        devices: u32,
    },
}

/// Least power of `devices` devices behind one energy manager; zero for none, and [`LEAST_POWER`] for
/// one. `factors` are those for two devices, three, and so on, and the last holds for more.
///
/// # Errors
/// A factor is not above 0 and at most 1, there is none, or the power is out of range.
///
/// # Example
///
/// ```
/// use slackwater_control::grid_order::dimming::{SIMULTANEITY_FACTORS, least_power};
/// let power = |devices| least_power(devices, &SIMULTANEITY_FACTORS).unwrap().as_kw();
/// assert_eq!((power(1), power(2)), (4.2, 4.2 + 0.8 * 4.2));
/// ```
pub fn least_power(devices: u32, factors: &[f64]) -> Result<Power, DimmingError> {
    let is_possible = |factor: f64| factor > 0.0 && factor <= 1.0;
    if let Some(factor) = factors.iter().copied().find(|factor| !is_possible(*factor)) {
        return Err(DimmingError::Factor { factor });
    }
    let last = factors.last().ok_or(DimmingError::Empty)?;
    let Some(others) = devices.checked_sub(1) else { return Ok(Power::ZERO) };
    let place = usize::try_from(devices).ok().and_then(|devices| devices.checked_sub(2));
    let factor = place.and_then(|place| factors.get(place)).unwrap_or(last);
    let power = LEAST_POWER.as_kw() * (1.0 + f64::from(others) * factor);
    Power::from_kw(power).map_err(|_| DimmingError::TooMany { devices })
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_engine::current_share::{Room, Sharer, share_current};
    use slackwater_engine::units::{Current, amps, volts};

    /// Expected values by hand from the formula and the table of the decision.
    #[test]
    fn the_least_power_grows_with_the_devices() {
        for (devices, expected_kw) in [
            (0, 0.0),
            (1, 4.2),
            (2, 7.56),
            (3, 10.5),
            (4, 13.02),
            (5, 15.12),
            (6, 16.8),
            (7, 18.06),
            (8, 18.9),
            (9, 19.32),
            (10, 21.21),
            (100, 191.31),
        ] {
            let power = least_power(devices, &SIMULTANEITY_FACTORS).unwrap().as_kw();
            assert!((power - expected_kw).abs() < 1e-9, "{devices} devices: {power} kW");
        }
    }

    #[test]
    fn factors_are_checked_also_for_one_device() {
        for factor in [0.0, -0.5, 80.0, f64::NAN] {
            let error = least_power(1, &[0.8, factor]).unwrap_err().to_string();
            assert_eq!(error, format!("{factor} is not above 0 and at most 1"));
        }
        assert_eq!(least_power(1, &[]), Err(DimmingError::Empty));
        let (devices, factors) = (u32::MAX, &SIMULTANEITY_FACTORS);
        assert_eq!(least_power(devices, factors), Err(DimmingError::TooMany { devices }));
        let last = least_power(4, &[0.8, 0.5]).unwrap().as_kw();
        assert!((last - (4.2 + 3.0 * 0.5 * 4.2)).abs() < 1e-9, "{last} kW");
    }

    #[test]
    fn the_least_power_is_divided_like_the_current_of_a_fuse() {
        // Two devices at 230 V: 32.87 A in all. A car on three phases gets 8 A on each of them, and
        // one on a single phase 8 A: 24 A and 8 A. Nothing is cut to 6 A on one phase.
        let total = least_power(2, &SIMULTANEITY_FACTORS).unwrap().current(volts(230.0), 1);
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
