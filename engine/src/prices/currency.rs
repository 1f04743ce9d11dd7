//! Currencies by their ISO 4217 code.
use std::fmt;

use serde::{Deserialize, Serialize};

/// Codes of ISO 4217, fund and metal codes included, and those that were
/// withdrawn since 2018, because old prices name them.
const CODES: &str = "\
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN \
    BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP \
    ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR \
    ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD \
    MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR \
    PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL \
    THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF \
    XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG ZWL";

/// A text that is no code of ISO 4217.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no ISO 4217 currency such as EUR")]
#[non_exhaustive]
pub struct CurrencyError {
    /// The text as given.
    pub text: String,
}

/// A currency by its ISO 4217 code: three capital letters.
///
/// # Example
///
/// ```
/// use slackwater_engine::prices::currency::Currency;
/// assert_eq!(Currency::parse("NOK")?.code(), "NOK");
/// let error = Currency::parse("EURO").unwrap_err();
/// assert_eq!(error.to_string(), "\"EURO\" is no ISO 4217 currency such as EUR");
/// assert!(Currency::parse("eur").is_err());
/// # Ok::<(), slackwater_engine::prices::currency::CurrencyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Currency(
    /// Position of its code in the list.
    u16,
);

impl Currency {
    /// A currency by its code.
    ///
    /// # Errors
    /// ISO 4217 has no such code.
    pub fn parse(text: &str) -> Result<Self, CurrencyError> {
        let position = CODES.split(' ').position(|code| code == text);
        let start = position.map(|position| Self(position as u16 * 4));
        start.ok_or_else(|| CurrencyError { text: text.into() })
    }

    /// The code.
    #[must_use]
    pub fn code(self) -> &'static str {
        let start = usize::from(self.0);
        &CODES[start..start + 3]
    }
}

impl TryFrom<String> for Currency {
    type Error = CurrencyError;
    fn try_from(text: String) -> Result<Self, CurrencyError> {
        Self::parse(&text)
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> Self {
        currency.code().into()
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_three_capitals_once_and_in_order() {
        let codes: Vec<&str> = CODES.split(' ').collect();
        assert!(codes.iter().all(|code| code.len() == 3));
        assert!(codes.iter().all(|code| code.bytes().all(|b| b.is_ascii_uppercase())));
        assert!(codes.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn what_is_no_code_is_refused() {
        for wrong in ["", " ", "EU", "eur", "Eur", "EURO", "EUR ", "EUR USD", "QQQ", "E\u{dc}R"] {
            assert_eq!(Currency::parse(wrong), Err(CurrencyError { text: wrong.into() }));
        }
        assert!(serde_json::from_str::<Currency>("\"EURO\"").is_err());
        assert_eq!(serde_json::to_string(&Currency::parse("SEK").unwrap()).unwrap(), "\"SEK\"");
    }
}
