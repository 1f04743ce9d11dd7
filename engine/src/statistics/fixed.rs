//! Fixed-point money: whole multiples of 1e-12 units of the currency.
//!
//! Sums of binary fractions differ in their last digits with the order of addition, so a month
//! would differ from its days. An [`Amount`] is an integer: any grouping of the same amounts has
//! the same sum. The cost of one sample is rounded once. The cost of a part of a sample is the
//! difference of two cumulative amounts, each rounded down, so that the parts add up to the
//! sample.
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

/// Number of decimals of an [`Amount`].
pub const DECIMALS: u32 = 12;

/// Number of parts in one unit of the currency.
pub(crate) const UNIT: f64 = 1e12;
const UNIT_WHOLE: u128 = 1_000_000_000_000;

/// An amount of money in whole multiples of 1e-12 units of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Amount(i128);

impl Amount {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Amount nearest to a number of units of the currency; half-way cases round to even.
    ///
    /// NaN gives zero. Values beyond the range of `i128` give its largest or smallest amount;
    /// prices and energies of this crate do not reach it.
    #[inline]
    #[must_use]
    pub fn from_units(units: f64) -> Self {
        let parts = (units * UNIT).round_ties_even();
        // Most amounts fit into 64 bits, where the conversion is one instruction.
        Self(if parts.abs() < 9e18 { i128::from(parts as i64) } else { parts as i128 })
    }

    /// Returns the number of 1e-12 parts.
    #[must_use]
    pub fn as_parts(self) -> i128 {
        self.0
    }

    /// Amount of a number of 1e-12 parts.
    #[must_use]
    pub fn from_parts(parts: i128) -> Self {
        Self(parts)
    }

    /// Nearest number of units of the currency.
    #[must_use]
    pub fn as_units(self) -> f64 {
        self.0 as f64 / UNIT
    }

    /// Share of an evenly flowing amount that falls in `[from, to)` of its length; the whole
    /// amount if that covers `[0, length)`.
    ///
    /// Shares of adjoining intervals add up exactly, for any cuts.
    #[inline]
    #[must_use]
    pub(crate) fn between(self, from: i64, to: i64, length: i64) -> Self {
        if from <= 0 && to >= length {
            return self;
        }
        self.until(to, length) - self.until(from, length)
    }

    /// Cumulative amount after `elapsed` of `length`, rounded down to a whole part.
    fn until(self, elapsed: i64, length: i64) -> Self {
        let elapsed = i128::from(elapsed.clamp(0, length));
        let length = i128::from(length);
        // Division with remainder keeps the products in range: a whole number of parts per unit
        // of length, and a remainder smaller than the length.
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

/// Writes a decimal number with all 12 decimals.
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

    #[test]
    fn parts_of_small_amounts_add_up_for_all_cuts() {
        for parts in -40..=40_i128 {
            for length in 1..=12 {
                let whole = Amount::from_parts(parts);
                for from in 0..=length {
                    for to in from..=length {
                        let part = whole.between(from, to, length);
                        let (before, after) =
                            (whole.between(0, from, length), whole.between(to, length, length));
                        assert_eq!(before + part + after, whole);
                        // Off the even share by less than one part.
                        let off =
                            part.as_parts() * i128::from(length) - parts * i128::from(to - from);
                        assert!(off.abs() < i128::from(length), "{parts} {from}..{to} of {length}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_hundredth_of_a_cent_up_to_a_hundred_is_exact() {
        for count in -1_000_000..=1_000_000_i32 {
            let units = f64::from(count) / 1e4;
            let amount = Amount::from_units(units);
            assert_eq!(amount.as_parts(), i128::from(count) * 100_000_000);
            assert_eq!(amount.as_units().to_bits(), (units + 0.0).to_bits());
        }
    }

    proptest! {
        /// Amounts in any order and grouping have one sum, and what is added can be taken off.
        #[test]
        fn sums_do_not_depend_on_order_or_grouping(
            amounts in prop::collection::vec(any::<i64>().prop_map(|parts| Amount::from_parts(parts.into())), 0..20),
            cut in any::<prop::sample::Index>(),
        ) {
            let sum: Amount = amounts.iter().copied().sum();
            let (first, second) = amounts.split_at(cut.index(amounts.len() + 1));
            let grouped = second.iter().rev().copied().sum::<Amount>() + first.iter().copied().sum();
            prop_assert_eq!(grouped, sum);
            let exact: i128 = amounts.iter().map(|amount| amount.as_parts()).sum();
            prop_assert_eq!(sum.as_parts(), exact);
            prop_assert_eq!(amounts.iter().fold(sum, |rest, amount| rest - *amount), Amount::ZERO);
            prop_assert_eq!(-sum + sum, Amount::ZERO);
        }

        /// All digits are written.
        #[test]
        fn an_amount_is_read_back_from_its_text(parts in any::<i128>()) {
            let text = Amount::from_parts(parts).to_string();
            prop_assert_eq!(text.replace('.', "").parse::<i128>(), Ok(parts));
            prop_assert_eq!(text.split('.').nth(1).map(str::len), Some(DECIMALS as usize));
        }

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
