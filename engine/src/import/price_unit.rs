//! Units of price lists, and their conversion to a price per kWh.
use crate::prices::currency::Currency;
use crate::units::{Price, UnitError};

/// Scale of a number: whole units of the currency or hundredths of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoneyScale {
    /// Euro, krona, pound.
    Major,
    /// Cent, öre, penny: a hundredth.
    Minor,
}

/// The energy that a number is the price of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnergyScale {
    /// Price per kWh.
    KilowattHour,
    /// Price per `MWh`, a thousand kWh.
    MegawattHour,
}

/// Unit of the numbers in a price list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceUnit {
    /// Units of the currency, or hundredths.
    pub money: MoneyScale,
    /// Per kWh or per `MWh`.
    pub per: EnergyScale,
}

/// Text that is not the unit of a price.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PriceUnitError {
    /// Text that is not three capital letters.
    #[error("\"{currency}\" is no currency code such as EUR")]
    NotACurrency {
        /// The text as given.
        currency: String,
    },
    /// Text that is not of the form money per energy.
    #[error("\"{unit}\" is no unit of price such as {currency}/kWh or {currency}/MWh")]
    NotAUnit {
        /// The text as given.
        unit: String,
        /// The currency wanted.
        currency: String,
    },
    /// The money in the unit is not money of the currency.
    #[error("\"{money}\" in the unit \"{unit}\" is not money in {currency}")]
    OtherCurrency {
        /// The part of the unit before "per".
        money: String,
        /// The text as given.
        unit: String,
        /// The currency wanted.
        currency: String,
    },
    /// Several currencies have money of that name.
    #[error("\"{money}\" in the unit \"{unit}\" is money in {choices}; say which currency")]
    WhichCurrency {
        /// The part of the unit before "per".
        money: String,
        /// The text as given.
        unit: String,
        /// Codes of the currencies.
        choices: String,
    },
    /// No currency is known that has money of that name.
    #[error("\"{money}\" in the unit \"{unit}\" is no money that is known here")]
    UnknownMoney {
        /// The part of the unit before "per".
        money: String,
        /// The text as given.
        unit: String,
    },
}

/// Signs and names of money, and the currencies they may mean.
const MONEY: [(&[&str], MoneyScale, &[&str]); 8] = [
    (&["€", "euro"], MoneyScale::Major, &["EUR"]),
    (&["£"], MoneyScale::Major, &["GBP"]),
    (&["kr"], MoneyScale::Major, &["DKK", "NOK", "SEK"]),
    (&["zł", "zl"], MoneyScale::Major, &["PLN"]),
    (&["ore", "öre", "øre"], MoneyScale::Minor, &["DKK", "NOK", "SEK"]),
    (&["p", "pence", "penny"], MoneyScale::Minor, &["GBP"]),
    (&["c", "cent", "cents", "ct"], MoneyScale::Minor, &["AUD", "EUR", "NZD", "USD"]),
    (&["gr"], MoneyScale::Minor, &["PLN"]),
];

impl PriceUnit {
    /// Units of the currency per kWh, which every price in the engine counts.
    pub const PER_KWH: Self = Self { money: MoneyScale::Major, per: EnergyScale::KilowattHour };
    /// Units of the currency per `MWh`, as on the wholesale market.
    pub const PER_MWH: Self = Self { money: MoneyScale::Major, per: EnergyScale::MegawattHour };

    /// The unit that a text such as `EUR/MWh`, `öre/kWh` or `p_per_kwh` names.
    ///
    /// Case does not matter. The money must be the currency's code, its sign
    /// or the name of its hundredth.
    ///
    /// # Errors
    /// The currency is no code, the text is not money per kWh or per `MWh`, or
    /// its money is another currency's.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_engine::import::price_unit::PriceUnit;
    /// use slackwater_engine::units::per_kwh;
    /// let unit = PriceUnit::parse("öre/kWh", "SEK")?;
    /// assert_eq!(unit.price(104.95), Ok(per_kwh(1.0495)));
    /// assert!(PriceUnit::parse("öre/kWh", "EUR").is_err());
    /// # Ok::<(), slackwater_engine::import::price_unit::PriceUnitError>(())
    /// ```
    pub fn parse(text: &str, currency: &str) -> Result<Self, PriceUnitError> {
        check_currency(currency)?;
        let unit = text.trim().to_lowercase();
        let not_a_unit =
            || PriceUnitError::NotAUnit { unit: text.to_owned(), currency: currency.to_owned() };
        let (money, energy) = split_unit(&unit).ok_or_else(not_a_unit)?;
        let per = match energy.trim() {
            "kwh" => EnergyScale::KilowattHour,
            "mwh" => EnergyScale::MegawattHour,
            _ => return Err(not_a_unit()),
        };
        let money = money.trim();
        // The code of the currency itself needs no entry in the table.
        if money == currency.to_lowercase() {
            return Ok(Self { money: MoneyScale::Major, per });
        }
        MONEY
            .iter()
            .find(|(names, _, currencies)| names.contains(&money) && currencies.contains(&currency))
            .map(|&(_, money, _)| Self { money, per })
            .ok_or_else(|| PriceUnitError::OtherCurrency {
                money: money.to_owned(),
                unit: text.to_owned(),
                currency: currency.to_owned(),
            })
    }

    /// The unit that a text names, and its currency: `currency` if it is given, else the one that
    /// the text tells.
    ///
    /// # Errors
    /// As [`PriceUnit::parse`]; or no currency is given, and several or none have money of that
    /// name.
    pub fn parse_with_currency(
        text: &str,
        currency: Option<&str>,
    ) -> Result<(Self, String), PriceUnitError> {
        if let Some(currency) = currency {
            return Ok((Self::parse(text, currency)?, currency.to_owned()));
        }
        let unit = text.trim().to_lowercase();
        let (money, _) = split_unit(&unit).ok_or_else(|| PriceUnitError::NotAUnit {
            unit: text.to_owned(),
            currency: "EUR".to_owned(),
        })?;
        let known = MONEY.iter().find(|(names, ..)| names.contains(&money.trim()));
        let (money, unit) = (money.trim().to_owned(), text.to_owned());
        let currency = match known {
            Some((_, _, [only])) => (*only).to_owned(),
            Some((_, _, choices)) => {
                let (last, others) = choices.split_last().unwrap_or((&"", &[]));
                let choices = format!("{} or {last}", others.join(", "));
                return Err(PriceUnitError::WhichCurrency { money, unit, choices });
            }
            None if Currency::parse(&money.to_uppercase()).is_ok() => money.to_uppercase(),
            None => return Err(PriceUnitError::UnknownMoney { money, unit }),
        };
        Ok((Self::parse(text, &currency)?, currency))
    }

    /// The number of units of the currency per kWh in this unit.
    pub(crate) fn factor(self) -> f64 {
        1.0 / self.divisor()
    }

    /// The price that `value` of this unit is.
    ///
    /// # Errors
    /// `value` is NaN or infinite.
    pub fn price(self, value: f64) -> Result<Price, UnitError> {
        Price::from_per_kwh(value / self.divisor())
    }

    fn divisor(self) -> f64 {
        match (self.money, self.per) {
            (MoneyScale::Major, EnergyScale::KilowattHour) => 1.0,
            (MoneyScale::Minor, EnergyScale::KilowattHour) => 1e2,
            (MoneyScale::Major, EnergyScale::MegawattHour) => 1e3,
            (MoneyScale::Minor, EnergyScale::MegawattHour) => 1e5,
        }
    }
}

/// Money and energy, on the two sides of a separator.
fn split_unit(unit: &str) -> Option<(&str, &str)> {
    ["/", "_per_", " per "].iter().find_map(|between| unit.split_once(between))
}

/// Three capital letters, as in ISO 4217.
fn check_currency(currency: &str) -> Result<(), PriceUnitError> {
    if currency.len() == 3 && currency.bytes().all(|letter| letter.is_ascii_uppercase()) {
        Ok(())
    } else {
        Err(PriceUnitError::NotACurrency { currency: currency.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::per_kwh;

    #[track_caller]
    fn check(unit: &str, currency: &str, value: f64, expected: f64) {
        let unit = PriceUnit::parse(unit, currency).unwrap();
        let difference = (unit.price(value).unwrap() - per_kwh(expected)).as_per_kwh();
        assert!(difference.abs() <= 1e-15, "{value} is off by {difference}");
    }

    #[test]
    fn every_list_ends_in_currency_per_kwh() {
        check("EUR/kWh", "EUR", 0.25, 0.25);
        check("EUR/MWh", "EUR", -12.5, -0.0125);
        check("eur_per_mwh", "EUR", 84.07, 0.08407);
        check("€ / MWh", "EUR", 100.0, 0.1);
        check("öre/kWh", "SEK", 104.95, 1.0495);
        check("ØRE/kWh", "NOK", 80.0, 0.8);
        check("ore_per_kwh", "DKK", 80.0, 0.8);
        check("p/kWh", "GBP", 16.38, 0.1638);
        check("ct per kWh", "EUR", 31.5, 0.315);
        check("gr/kWh", "PLN", 50.0, 0.5);
        check("ct/MWh", "EUR", 8_000.0, 0.08);
    }

    #[track_caller]
    fn refuse(unit: &str, currency: &str, expected: &str) {
        assert_eq!(PriceUnit::parse(unit, currency).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_unit_of_something_else_is_refused() {
        refuse("öre/kWh", "EUR", r#""öre" in the unit "öre/kWh" is not money in EUR"#);
        refuse("USD/MWh", "EUR", r#""usd" in the unit "USD/MWh" is not money in EUR"#);
        refuse("EUR/Wh", "EUR", r#""EUR/Wh" is no unit of price such as EUR/kWh or EUR/MWh"#);
        refuse("EUR", "EUR", r#""EUR" is no unit of price such as EUR/kWh or EUR/MWh"#);
        refuse("EUR/kWh", "euro", r#""euro" is no currency code such as EUR"#);
    }

    #[test]
    fn a_price_is_a_finite_number() {
        assert!(PriceUnit::PER_MWH.price(f64::NAN).is_err());
        assert!(PriceUnit::PER_KWH.price(f64::INFINITY).is_err());
    }
}
