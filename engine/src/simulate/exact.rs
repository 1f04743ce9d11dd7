//! Whole numbers of power, energy and money, so that sums do not depend on their order.
//!
//! ```text
//! Milliwatts · µs = ExactEnergy              1 kWh            = 3.6e15 mW·µs
//! ExactPrice · ExactEnergy = ExactMoney      1 unit of money  = 3.6e24 parts
//! ```
//!
//! A price is rounded to 1e-9 per kWh, a power to a milliwatt, a need up to the microsecond at full
//! power. From there on nothing is rounded until an amount is reported ([`ExactMoney::amount`]).
use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::statistics::fixed::Amount;
use crate::units::{Energy, Money, Power, Price};

/// Milliwatt-microseconds in a kWh.
const PER_KWH: i128 = 3_600_000_000_000_000;

/// Parts of [`ExactMoney`] in one part (1e-12) of an [`Amount`]: 1e9 · 3.6e15 / 1e12.
const PARTS_PER_AMOUNT: i128 = 3_600_000_000_000;

/// Highest price, cost of a start and need of a simulation: their products fit into 128 bits.
pub(crate) const MONEY_MAX: f64 = 1e6;

/// A power in whole milliwatts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Milliwatts(pub(crate) i64);

/// An energy in whole milliwatt-microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct ExactEnergy(i128);

/// A price in whole multiples of 1e-9 per kWh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ExactPrice(i64);

/// An amount of money: price times energy, without rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct ExactMoney(i128);

impl Milliwatts {
    /// The nearest whole number of milliwatts.
    pub(crate) fn from_power(power: Power) -> Self {
        Self((power.as_kw() * 1e6).round() as i64)
    }

    /// The power in kW.
    pub(crate) fn as_kw(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Energy of this power over `micros` microseconds.
    pub(crate) fn over(self, micros: i64) -> ExactEnergy {
        ExactEnergy(i128::from(self.0) * i128::from(micros))
    }
}

impl ExactEnergy {
    pub(crate) const ZERO: Self = Self(0);

    /// The energy, rounded to a whole number of parts.
    pub(crate) fn from_energy(energy: Energy) -> Self {
        Self((energy.as_kwh() * PER_KWH as f64).round() as i128)
    }

    /// The energy in kWh.
    pub(crate) fn as_kwh(self) -> f64 {
        self.0 as f64 / PER_KWH as f64
    }

    /// Microseconds that a power takes for the energy, rounded up; the largest number at no power.
    pub(crate) fn micros_at(self, power: Milliwatts) -> i64 {
        if self.0 <= 0 {
            return 0;
        }
        if power.0 <= 0 {
            return i64::MAX;
        }
        let power = i128::from(power.0);
        i64::try_from((self.0 + power - 1) / power).unwrap_or(i64::MAX)
    }
}

impl ExactPrice {
    /// The nearest whole multiple of 1e-9.
    pub(crate) fn from_price(price: Price) -> Self {
        Self((price.as_per_kwh() * 1e9).round() as i64)
    }

    /// Cost of an energy.
    pub(crate) fn of(self, energy: ExactEnergy) -> ExactMoney {
        ExactMoney(i128::from(self.0) * energy.0)
    }
}

impl ExactMoney {
    pub(crate) const ZERO: Self = Self(0);

    /// The amount, rounded to a whole multiple of 1e-9.
    pub(crate) fn from_money(money: Money) -> Self {
        Self((money.as_amount() * 1e9).round() as i128 * PER_KWH)
    }

    /// The nearest multiple of 1e-12 units of the currency; half-way cases round to even.
    pub(crate) fn amount(self) -> Amount {
        let (whole, rest) =
            (self.0.div_euclid(PARTS_PER_AMOUNT), self.0.rem_euclid(PARTS_PER_AMOUNT));
        let is_up = 2 * rest > PARTS_PER_AMOUNT || (2 * rest == PARTS_PER_AMOUNT && whole % 2 != 0);
        Amount::from_parts(whole + i128::from(is_up))
    }
}

macro_rules! sums {
    ($($name:ident),*) => {$(
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
    )*};
}

sums!(ExactEnergy, ExactMoney);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::{kw, kwh, money, per_kwh};

    #[test]
    fn a_kwh_at_a_price_is_that_price() {
        let energy = Milliwatts::from_power(kw(11.0)).over(3_600_000_000);
        assert_eq!(energy, ExactEnergy::from_energy(kwh(11.0)));
        let cost = ExactPrice::from_price(per_kwh(0.123_456_789)).of(energy);
        assert_eq!(cost.amount().to_string(), "1.358024679000");
        assert_eq!(ExactMoney::from_money(money(-2.5)).amount().to_string(), "-2.500000000000");
    }

    #[test]
    fn time_for_an_energy_is_rounded_up() {
        let power = Milliwatts::from_power(kw(7.4));
        let micros = ExactEnergy::from_energy(kwh(10.0)).micros_at(power);
        assert_eq!(micros, 4_864_864_865);
        assert_eq!(power.over(micros).micros_at(power), micros);
        assert_eq!(ExactEnergy::ZERO.micros_at(power), 0);
        assert_eq!(ExactEnergy::from_energy(kwh(1.0)).micros_at(Milliwatts(0)), i64::MAX);
    }

    proptest! {
        /// The money of an energy is the money of its parts, in any order.
        #[test]
        fn parts_have_the_sum_of_the_whole(
            price in -1e6..1e6_f64, kws in 0.0..1e3_f64, cut in 0..3_600_000_000_i64,
        ) {
            let (price, power) =
                (ExactPrice::from_price(per_kwh(price)), Milliwatts::from_power(kw(kws)));
            let whole = price.of(power.over(3_600_000_000));
            let parts = price.of(power.over(3_600_000_000 - cut)) + price.of(power.over(cut));
            prop_assert_eq!(whole, parts);
        }
    }
}
