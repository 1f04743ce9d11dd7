//! Money that adds up: whole multiples of a millionth of a millionth.
//!
//! Numbers with a binary fraction add up to different last digits in different
//! orders, so a month would differ from its days. An [`Amount`] is an integer:
//! any grouping of the same amounts has the same sum. What is rounded is the
//! cost of one sample, once; a part of a sample is the difference of two
//! rounded cumulative amounts, so that the parts add up to the sample again.
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

use crate::units::Money;

/// Decimals of an amount.
pub const DECIMALS: u32 = 12;

/// Parts of a unit of currency.
pub(crate) const UNIT: f64 = 1e12;
const UNIT_WHOLE: u128 = 1_000_000_000_000;

/// An amount of money in whole multiples of 1e-12 units of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Amount(i128);

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The amount nearest to a number of units of currency.
    ///
    /// What is no number is nothing; what no bank could hold is the largest
    /// amount there is. Prices and energies of this crate cannot get there.
    #[inline]
    #[must_use]
    pub fn from_units(units: f64) -> Self {
        let parts = (units * UNIT).round_ties_even();
        // Most amounts fit into 64 bits, and that conversion is one instruction.
        Self(if parts.abs() < 9e18 { i128::from(parts as i64) } else { parts as i128 })
    }

    /// The amount as a count of its smallest part.
    #[must_use]
    pub fn as_parts(self) -> i128 {
        self.0
    }

    /// An amount from a count of its smallest part.
    #[must_use]
    pub fn from_parts(parts: i128) -> Self {
        Self(parts)
    }

    /// The nearest number of units of currency.
    #[must_use]
    pub fn as_units(self) -> f64 {
        self.0 as f64 / UNIT
    }

    /// The nearest quantity of money.
    #[must_use]
    pub fn as_money(self) -> Money {
        Money::from_amount(self.as_units()).unwrap_or(Money::ZERO)
    }

    /// The part of an even flow of money that falls between two points of its
    /// length; all of it between 0 and `length`.
    ///
    /// Neighbouring parts add up exactly, however the length is cut.
    #[inline]
    #[must_use]
    pub(crate) fn between(self, from: i64, to: i64, length: i64) -> Self {
        if from <= 0 && to >= length {
            return self;
        }
        self.until(to, length) - self.until(from, length)
    }

    /// Money that has flowed when `elapsed` of `length` has gone by.
    fn until(self, elapsed: i64, length: i64) -> Self {
        let elapsed = i128::from(elapsed.clamp(0, length));
        let length = i128::from(length);
        // In two steps, so that no product leaves the range: a whole number
        // per unit of length, and a rest smaller than the length.
        let (whole, rest) = (self.0.div_euclid(length), self.0.rem_euclid(length));
        Self(whole * elapsed + rest * elapsed / length)
    }
}

impl Add for Amount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Amount {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Amount {
    type Output = Self;
    fn neg(self) -> Self {
        Self::ZERO - self
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// As a decimal with all its digits.
impl fmt::Display for Amount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let parts = self.0.unsigned_abs();
        let (whole, rest) = (parts / UNIT_WHOLE, parts % UNIT_WHOLE);
        write!(out, "{sign}{whole}.{rest:012}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_are_written_with_all_their_digits() {
        assert_eq!(Amount::from_units(-0.05).to_string(), "-0.050000000000");
        assert_eq!(Amount::from_units(1234.5).to_string(), "1234.500000000000");
        assert_eq!(Amount::from_units(f64::NAN), Amount::ZERO);
    }

    #[test]
    fn a_third_and_two_thirds_are_a_whole() {
        let cent = Amount::from_units(0.01);
        let third = cent.between(0, 1, 3);
        assert_eq!(third.to_string(), "0.003333333333");
        assert_eq!(third + cent.between(1, 3, 3), cent);
    }

    proptest! {
        /// However a flow is cut, its parts are the whole, and no part is off
        /// by more than one smallest unit.
        #[test]
        fn parts_add_up(
            units in -1e7..1e7_f64,
            length in 1..10_000_000_000_i64,
            mut cuts in prop::collection::vec(0.0..1.0_f64, 0..6),
        ) {
            let whole = Amount::from_units(units);
            cuts.sort_by(f64::total_cmp);
            let mut points: Vec<i64> = cuts.iter().map(|cut| (cut * length as f64) as i64).collect();
            points.insert(0, 0);
            points.push(length);
            let parts = points.windows(2).map(|pair| whole.between(pair[0], pair[1], length));
            prop_assert_eq!(parts.sum::<Amount>(), whole);
            for pair in points.windows(2) {
                let part = whole.between(pair[0], pair[1], length).as_parts() as f64;
                let even = whole.as_parts() as f64 * (pair[1] - pair[0]) as f64 / length as f64;
                prop_assert!((part - even).abs() <= 1.0 + even.abs() * 1e-14);
            }
        }
    }
}
