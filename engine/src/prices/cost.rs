//! Exact decimal prices, as tariffs state them.
use std::fmt;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::units::{Price, UnitError};

/// Text that is not a decimal price.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CostError {
    /// Another form than digits, with one point between them and a minus in front.
    #[error("{text:?} is not a decimal number such as 0.25 or -1")]
    NotDecimal {
        /// The text as given.
        text: String,
    },
    /// More digits than can be kept exactly.
    #[error("{text:?} has more digits than the 28 that are kept exactly")]
    TooPrecise {
        /// The text as given.
        text: String,
    },
    /// Beyond any price.
    #[error(transparent)]
    TooLarge(#[from] UnitError),
}

/// A price per kWh, exact to the last decimal of its text.
///
/// # Example
///
/// ```
/// use slackwater_engine::prices::cost::Cost;
/// let cost = Cost::parse("0.1000000000000000055511151231")?;
/// assert_eq!(cost.to_string(), "0.1000000000000000055511151231");
/// assert_eq!(cost.price().as_per_kwh(), 0.1);
/// for wrong in ["0,10", "abc", "1e3", "+1", ".5", "1.", " 1", ""] {
///     assert!(Cost::parse(wrong).is_err());
/// }
/// # Ok::<(), slackwater_engine::prices::cost::CostError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cost(Decimal);

impl Cost {
    /// Reads a decimal number: an optional minus, digits, and optionally a
    /// point and more digits. No exponent, no plus, no comma, no space.
    ///
    /// # Errors
    /// The text has another form, too many digits, or is beyond any price.
    pub fn parse(text: &str) -> Result<Self, CostError> {
        if !is_decimal(text) {
            return Err(CostError::NotDecimal { text: text.into() });
        }
        // Noughts behind the last digit that counts would use up digits.
        let kept = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            text
        };
        // Plans use the nearest binary number, so that must be a price.
        Price::from_per_kwh(nearest(text))?;
        let exact = Decimal::from_str_exact(kept);
        exact.map(Self).map_err(|_| CostError::TooPrecise { text: text.into() })
    }

    /// The exact number.
    #[must_use]
    pub fn exact(self) -> Decimal {
        self.0
    }

    /// The price for plans: the nearest binary number.
    #[must_use]
    pub fn price(self) -> Price {
        // Checked when it was read.
        Price::from_per_kwh(nearest(&self.0.to_string())).unwrap_or(Price::ZERO)
    }
}

fn is_decimal(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.strip_prefix('-').unwrap_or(text);
    match number.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(number),
    }
}

/// The binary number nearest to a decimal.
fn nearest(decimal: &str) -> f64 {
    decimal.parse().unwrap_or(f64::INFINITY)
}

impl TryFrom<String> for Cost {
    type Error = CostError;
    fn try_from(text: String) -> Result<Self, CostError> {
        Self::parse(&text)
    }
}

impl From<Cost> for String {
    fn from(cost: Cost) -> Self {
        cost.to_string()
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_decimal_strings_are_costs() {
        for wrong in [
            "0,10", "abc", "1e3", "1E3", "+1", ".5", "1.", "-", "--1", "1.2.3", "1 ", "NaN", "inf",
            "٣", "0x1", "1_000", "-.5",
        ] {
            assert_eq!(Cost::parse(wrong), Err(CostError::NotDecimal { text: wrong.into() }));
        }
        for right in ["0", "-0", "00.10", "-0.5", "0.0000000000000000000000000001"] {
            assert!(Cost::parse(right).is_ok(), "{right}");
        }
        assert_eq!(Cost::parse("0.10").unwrap(), Cost::parse("0.1").unwrap());
        assert_eq!(Cost::parse("-0.0").unwrap().price().as_per_kwh().to_bits(), 0);
    }

    #[test]
    fn digits_are_kept_or_refused_and_never_dropped() {
        let noughts = format!("0.25{}", "0".repeat(40));
        assert_eq!(Cost::parse(&noughts).unwrap().to_string(), "0.25");
        let long = format!("0.{}", "1".repeat(29));
        assert!(matches!(Cost::parse(&long), Err(CostError::TooPrecise { .. })));
        assert!(Cost::parse("1234567890.123456789012345678").is_ok());
        assert!(matches!(Cost::parse("1234567890123456"), Err(CostError::TooLarge(_))));
        assert!(matches!(Cost::parse(&"9".repeat(400)), Err(CostError::TooLarge(_))));
    }

    proptest! {
        /// Up to 28 digits come back as they went in.
        #[test]
        fn digits_of_a_cost_survive(whole in 0..1_000_000_000_000u64, fraction in "[0-9]{0,15}[1-9]") {
            let text = format!("{whole}.{fraction}");
            prop_assert_eq!(Cost::parse(&text).unwrap().to_string(), text);
        }
    }
}
