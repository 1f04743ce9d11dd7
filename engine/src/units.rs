//! Physical quantities with a unit. Only this module converts between them and bare numbers.
//!
//! Each quantity is a finite `f64` of bounded size in a private field. `from_<unit>` builds it and
//! `as_<unit>` reads it. In tests and examples a short function writes a literal: [`kw`], [`kwh`],
//! [`per_kwh`], [`percent`]. Products with a physical meaning are methods:
//!
//! ```text
//! energy = power · time     Power::over            money = price · energy     Price::of
//! power = current · voltage · phases     Current::power, Power::current
//! ```
use std::cmp::Ordering;
use std::ops::{Add, Neg, Sub};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

/// Microseconds in an hour. Instants are kept to the microsecond.
pub const MICROS_PER_HOUR: f64 = 3.6e9;

/// Watts in a kilowatt.
const WATTS_PER_KW: f64 = 1e3;

/// Largest power in kW (10 GW), and largest current and temperature in their units. At a higher
/// power a nanosecond of charging would no longer be negligible.
pub(crate) const POWER_MAX: f64 = 1e7;

/// Largest energy in kWh, and largest price per kWh. Products of such numbers are finite.
pub(crate) const MAGNITUDE_MAX: f64 = 1e12;

/// Error of a number that is no valid quantity.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// NaN or infinite.
    #[error("{value} {unit} is not a finite number")]
    NotFinite {
        /// The number as given.
        value: f64,
        /// Its unit, such as `kWh`.
        unit: &'static str,
    },
    /// Above the largest number of the quantity, which keeps products finite.
    #[error("{value:e} {unit} is beyond {most:e}")]
    TooLarge {
        /// The number as given.
        value: f64,
        /// Its unit, such as `kWh`.
        unit: &'static str,
        /// Largest number of this quantity.
        most: f64,
    },
    /// A percentage below 0 or above 100.
    #[error("{value} % is outside 0 to 100 %")]
    OutsidePercent {
        /// The number as given.
        value: f64,
    },
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $from:ident, $read:ident, $literal:ident, $unit:literal, $most:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            /// Zero.
            pub const ZERO: Self = Self(0.0);

            #[doc = concat!("A quantity of `value` ", $unit, ".")]
            ///
            /// # Errors
            /// `value` is NaN or infinite, or its absolute value exceeds the largest one.
            pub fn $from(value: f64) -> Result<Self, UnitError> {
                if !value.is_finite() {
                    Err(UnitError::NotFinite { value, unit: $unit })
                } else if value.abs() > $most {
                    Err(UnitError::TooLarge { value, unit: $unit, most: $most })
                } else {
                    // Adding zero turns -0.0 into 0.0, so that zero has one bit pattern.
                    Ok(Self(value + 0.0))
                }
            }

            #[doc = concat!("The quantity as a number of ", $unit, ".")]
            #[must_use]
            pub const fn $read(self) -> f64 {
                self.0
            }

            /// The smaller of the two.
            #[must_use]
            pub const fn min(self, other: Self) -> Self {
                Self(self.0.min(other.0))
            }

            /// The larger of the two.
            #[must_use]
            pub const fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }

            /// Total order of the numbers; none is NaN.
            #[must_use]
            pub fn total_cmp(&self, other: &Self) -> Ordering {
                self.0.total_cmp(&other.0)
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl Neg for $name {
            type Output = Self;
            fn neg(self) -> Self {
                Self(0.0 - self.0)
            }
        }

        impl TryFrom<f64> for $name {
            type Error = UnitError;
            fn try_from(value: f64) -> Result<Self, UnitError> {
                Self::$from(value)
            }
        }

        impl From<$name> for f64 {
            fn from(quantity: $name) -> f64 {
                // Differences and products can be -0.0; it is written as 0.0.
                quantity.0 + 0.0
            }
        }

        #[doc = concat!("A literal of `value` ", $unit, ", for tests and examples.")]
        ///
        /// # Panics
        /// `value` is NaN or infinite.
        #[must_use]
        pub const fn $literal(value: f64) -> $name {
            assert!(value.is_finite(), "a literal is finite");
            $name(value + 0.0)
        }
    };
}

quantity!(
    /// Electric power in kW. Positive charges, negative discharges.
    Power, from_kw, as_kw, kw, "kW", POWER_MAX
);
quantity!(
    /// Energy in kWh, at the plug unless a name says `stored`.
    Energy, from_kwh, as_kwh, kwh, "kWh", MAGNITUDE_MAX
);
quantity!(
    /// Price in units of the currency per kWh. May be negative.
    Price, from_per_kwh, as_per_kwh, per_kwh, "per kWh", MAGNITUDE_MAX
);
quantity!(
    /// Electric current in amperes.
    Current, from_amps, as_amps, amps, "A", POWER_MAX
);
quantity!(
    /// Electric voltage in volts, between a phase and neutral unless a name says otherwise.
    Voltage, from_volts, as_volts, volts, "V", POWER_MAX
);
quantity!(
    /// Temperature, or a difference of two, in degrees Celsius.
    Temperature, from_celsius, as_celsius, celsius, "°C", POWER_MAX
);
quantity!(
    /// Heat capacity in kWh per kelvin: heat that warms a room or tank by one degree.
    HeatCapacity, from_kwh_per_k, as_kwh_per_k, kwh_per_k, "kWh/K", MAGNITUDE_MAX
);
quantity!(
    /// Heat loss in kW per kelvin: heat lost for each degree above the surroundings.
    HeatLoss, from_kw_per_k, as_kw_per_k, kw_per_k, "kW/K", POWER_MAX
);
quantity!(
    /// An amount of money in units of the currency. Positive is paid.
    Money, from_amount, as_amount, money, "units of currency", f64::MAX
);

impl Energy {
    /// True if the energy is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }
}

impl Power {
    /// Energy of this power over `length`.
    #[must_use]
    pub fn over(self, length: TimeDelta) -> Energy {
        // Exact for whole microseconds up to 285 years.
        self.over_micros(length.num_microseconds().unwrap_or(i64::MAX))
    }

    /// Energy of this power over `micros` microseconds.
    pub(crate) fn over_micros(self, micros: i64) -> Energy {
        Energy(self.0 * (micros as f64) / MICROS_PER_HOUR)
    }

    /// Microseconds that this power takes for `energy`; infinite at zero power, 0 for no energy.
    pub(crate) fn micros_for(self, energy: Energy) -> f64 {
        self.micros_for_kwh(energy.0)
    }

    /// Microseconds that this power takes for `energy_kwh`; infinite at zero power, 0 for no
    /// energy.
    #[inline(always)]
    pub(crate) fn micros_for_kwh(self, energy_kwh: f64) -> f64 {
        if energy_kwh <= 0.0 { 0.0 } else { energy_kwh / self.0 * MICROS_PER_HOUR }
    }
}

impl Power {
    /// Current on each of `phases` phases at `voltage` that carry this power together; zero if
    /// there is no phase or no voltage.
    #[must_use]
    pub fn current(self, voltage: Voltage, phases: u8) -> Current {
        let volts = voltage.0 * f64::from(phases);
        if volts > 0.0 { Current(self.0 * WATTS_PER_KW / volts) } else { Current::ZERO }
    }
}

impl Current {
    /// Power of this current on each of `phases` phases at `voltage`.
    ///
    /// ```
    /// use slackwater_engine::units::{amps, kw, volts};
    /// assert_eq!(amps(16.0).power(volts(230.0), 3), kw(11.04));
    /// assert_eq!(kw(11.04).current(volts(230.0), 3), amps(16.0));
    /// ```
    #[must_use]
    pub fn power(self, voltage: Voltage, phases: u8) -> Power {
        Power(self.0 * voltage.0 * f64::from(phases) / WATTS_PER_KW)
    }

    /// Largest multiple of `step` up to this current, at least zero. A millionth of a step below
    /// a multiple is the multiple, so that rounding of a product does not cost a step. A step of
    /// zero or less leaves the current as it is.
    #[must_use]
    pub fn round_down(self, step: Self) -> Self {
        if step.0 <= 0.0 {
            return self.max(Self::ZERO);
        }
        // Counted in steps per ampere where that number is whole, since 0.1 has no exact f64.
        let per_amp = 1.0 / step.0;
        let steps = (self.0.max(0.0) / step.0 + 1e-6).floor();
        let whole = (per_amp - per_amp.round()).abs() < 1e-9;
        Self(if whole { steps / per_amp.round() } else { steps * step.0 })
    }
}

impl Price {
    /// Cost of `energy` at this price.
    #[must_use]
    pub fn of(self, energy: Energy) -> Money {
        Money(self.0 * energy.0)
    }
}

/// Share of the usable battery capacity in percent, from 0 to 100 (not a fraction of 1).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Percent(f64);

impl Percent {
    /// An empty battery.
    pub const ZERO: Self = Self(0.0);
    /// A full battery.
    pub const FULL: Self = Self(100.0);

    /// A percentage of `value` %.
    ///
    /// # Errors
    /// `value` is NaN, below 0 or above 100.
    pub fn from_percent(value: f64) -> Result<Self, UnitError> {
        if (0.0..=100.0).contains(&value) {
            Ok(Self(value + 0.0))
        } else if value.is_finite() {
            Err(UnitError::OutsidePercent { value })
        } else {
            Err(UnitError::NotFinite { value, unit: "%" })
        }
    }

    /// The percentage as a number from 0 to 100.
    #[must_use]
    pub const fn as_percent(self) -> f64 {
        self.0
    }

    /// The smaller of the two.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// The larger of the two.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// Stored energy at this state of charge in a battery of `capacity`.
    #[must_use]
    pub fn of(self, capacity: Energy) -> Energy {
        Energy(capacity.0 * self.0 / 100.0)
    }

    /// State of charge of a battery of `capacity` that stores `stored`.
    ///
    /// At zero capacity it is zero for any `stored`. The result is clamped to 0 to 100.
    #[must_use]
    pub fn filled(stored: Energy, capacity: Energy) -> Self {
        if capacity.0 <= 0.0 {
            return Self::ZERO;
        }
        Self((stored.0 / capacity.0 * 100.0).clamp(0.0, 100.0))
    }
}

impl TryFrom<f64> for Percent {
    type Error = UnitError;
    fn try_from(value: f64) -> Result<Self, UnitError> {
        Self::from_percent(value)
    }
}

impl From<Percent> for f64 {
    fn from(percent: Percent) -> f64 {
        percent.0 + 0.0
    }
}

/// A literal percentage, for tests and examples.
///
/// # Panics
/// `value` is outside 0 to 100.
#[must_use]
pub const fn percent(value: f64) -> Percent {
    assert!(value >= 0.0 && value <= 100.0, "a percentage lies in 0 to 100");
    Percent(value + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_over_time_is_energy() {
        assert_eq!(kw(11.0).over(TimeDelta::minutes(15)), kwh(2.75));
        assert_eq!(kw(-4.0).over(TimeDelta::hours(2)), kwh(-8.0));
        assert_eq!(per_kwh(-0.2).of(kwh(10.0)), money(-2.0));
    }

    #[test]
    fn only_finite_numbers_are_quantities() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Energy::from_kwh(bad).is_err());
            assert!(Percent::from_percent(bad).is_err());
            assert!(serde_json::from_str::<Power>("1e999").is_err());
        }
        let text = Price::from_per_kwh(f64::NAN).unwrap_err().to_string();
        assert_eq!(text, "NaN per kWh is not a finite number");
    }

    #[test]
    fn currents_are_rounded_down_to_steps() {
        let cases = [(15.99, 1.0, 15.0), (16.0, 1.0, 16.0), (6.3, 0.1, 6.3), (6.39, 0.1, 6.3)];
        for (value, step, expected) in cases {
            assert_eq!(amps(value).round_down(amps(step)), amps(expected), "{value} by {step}");
        }
        assert_eq!(amps(-1.0).round_down(amps(1.0)), Current::ZERO);
        assert_eq!(amps(7.77).round_down(Current::ZERO), amps(7.77));
        assert_eq!(kw(4.2).current(volts(230.0), 0), Current::ZERO);
    }

    #[test]
    fn percent_has_a_range() {
        assert_eq!(Percent::from_percent(100.0).unwrap(), Percent::FULL);
        let text = Percent::from_percent(100.5).unwrap_err().to_string();
        assert_eq!(text, "100.5 % is outside 0 to 100 %");
        assert_eq!(percent(30.0).of(kwh(50.0)), kwh(15.0));
        assert_eq!(Percent::filled(kwh(15.0), kwh(50.0)), percent(30.0));
        assert_eq!(Percent::filled(kwh(15.0), kwh(0.0)), Percent::ZERO);
    }

    #[test]
    fn negative_zero_is_zero() {
        assert_eq!(Price::from_per_kwh(-0.0).unwrap().as_per_kwh().to_bits(), 0);
        assert_eq!(f64::from(per_kwh(-0.2).of(kwh(0.0))).to_bits(), 0);
        assert_eq!((-kwh(0.0)).as_kwh().to_bits(), 0);
    }
}
