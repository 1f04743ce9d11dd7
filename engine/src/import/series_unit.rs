//! Units of a series, and their conversion to those that plans count in.
use crate::import::price_unit::{PriceUnit, PriceUnitError};

/// Unit of the values of a series over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeriesUnit {
    /// Price per kWh in a currency, by its code.
    Price {
        /// Code of the currency, such as `EUR`.
        currency: String,
    },
    /// Carbon intensity in kg per kWh.
    KgPerKwh,
    /// Power in kW.
    Kilowatt,
}

impl SeriesUnit {
    /// The unit as text, such as `EUR/kWh`, `kg/kWh` or `kW`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Price { currency } => format!("{currency}/kWh"),
            Self::KgPerKwh => "kg/kWh".into(),
            Self::Kilowatt => "kW".into(),
        }
    }
}

/// Text that is not the unit of a series.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SeriesUnitError {
    /// Energy is an amount, and a series holds rates.
    #[error("\"{unit}\" is an amount of energy; give mean power, such as kW")]
    Energy {
        /// The text as given.
        unit: String,
    },
    /// Neither a price, nor emissions per energy, nor power.
    #[error("\"{unit}\" is no unit such as EUR/kWh, EUR/MWh, kg/kWh, g/kWh, kW or W")]
    Unknown {
        /// The text as given.
        unit: String,
    },
    /// A unit of price that is not one.
    #[error(transparent)]
    Price(#[from] PriceUnitError),
}

/// Masses of emissions and the number of kilograms in them.
const MASSES: [(&str, f64); 3] = [("kg", 1.0), ("g", 1e-3), ("t", 1e3)];

/// Powers and the number of kilowatts in them.
const POWERS: [(&str, f64); 4] = [("kw", 1.0), ("w", 1e-3), ("mw", 1e3), ("gw", 1e6)];

/// The unit that a text such as `EUR/MWh`, `ct/kWh`, `gCO2eq/kWh` or `kW` names, and the factor
/// that makes values in it values in that unit.
///
/// Case does not matter: `MW` and `mw` are megawatts. The name of a hundredth, such as `ct`, needs
/// a `currency` where several have it.
///
/// # Errors
/// The text is no such unit, or its money is not money of the currency.
///
/// # Example
///
/// ```
/// use slackwater_engine::import::series_unit::{SeriesUnit, parse_series_unit};
/// assert_eq!(parse_series_unit("gCO2/kWh", None)?, (SeriesUnit::KgPerKwh, 1e-3));
/// let (unit, _) = parse_series_unit("öre/kWh", Some("SEK"))?;
/// assert_eq!(unit.name(), "SEK/kWh");
/// # Ok::<(), slackwater_engine::import::series_unit::SeriesUnitError>(())
/// ```
pub fn parse_series_unit(
    text: &str,
    currency: Option<&str>,
) -> Result<(SeriesUnit, f64), SeriesUnitError> {
    let unit = text.trim().to_lowercase();
    let find = |names: &[(&str, f64)], name: &str| {
        names.iter().find(|(known, _)| *known == name).map(|&(_, factor)| factor)
    };
    if let Some(factor) = find(&POWERS, &unit) {
        return Ok((SeriesUnit::Kilowatt, factor));
    }
    if matches!(unit.as_str(), "kwh" | "mwh" | "wh" | "gwh") {
        return Err(SeriesUnitError::Energy { unit: text.to_owned() });
    }
    let parts = ["/", "_per_", " per "].iter().find_map(|between| unit.split_once(between));
    let Some((above, below)) = parts else {
        return Err(SeriesUnitError::Unknown { unit: text.to_owned() });
    };
    // Of "kg CO2eq" the mass.
    let gas = ["co2eq", "co2e", "co2", "co₂eq", "co₂e", "co₂"];
    let mass = gas.iter().find_map(|gas| above.trim().strip_suffix(gas)).unwrap_or(above);
    let mass = mass.trim().trim_end_matches(['_', '-']).trim();
    let energy = match below.trim() {
        "kwh" => 1.0,
        "mwh" => 1e-3,
        _ => return Err(SeriesUnitError::Unknown { unit: text.to_owned() }),
    };
    if let Some(factor) = find(&MASSES, mass) {
        return Ok((SeriesUnit::KgPerKwh, factor * energy));
    }
    let (price, currency) = PriceUnit::parse_with_currency(text, currency)?;
    Ok((SeriesUnit::Price { currency }, price.factor()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, currency: Option<&str>, name: &str, factor: f64) {
        let (unit, found) = parse_series_unit(text, currency).unwrap();
        assert_eq!(unit.name(), name);
        assert!((found / factor - 1.0).abs() < 1e-12, "{text}: {found}");
    }

    #[test]
    fn units_end_in_those_that_plans_count_in() {
        check("EUR/MWh", None, "EUR/kWh", 1e-3);
        check("€/kWh", None, "EUR/kWh", 1.0);
        check("p/kWh", None, "GBP/kWh", 1e-2);
        check("ct/kWh", Some("EUR"), "EUR/kWh", 1e-2);
        check("nok_per_kwh", None, "NOK/kWh", 1.0);
        check("gCO2eq/kWh", None, "kg/kWh", 1e-3);
        check("kg CO₂ / MWh", None, "kg/kWh", 1e-3);
        check("t/MWh", None, "kg/kWh", 1.0);
        check("W", None, "kW", 1e-3);
        check("MW", None, "kW", 1e3);
    }

    #[test]
    fn other_texts_are_refused_with_a_way_out() {
        let refuse = |text: &str, currency: Option<&str>, expected: &str| {
            assert_eq!(parse_series_unit(text, currency).unwrap_err().to_string(), expected);
        };
        refuse("kWh", None, "\"kWh\" is an amount of energy; give mean power, such as kW");
        let known = "is no unit such as EUR/kWh, EUR/MWh, kg/kWh, g/kWh, kW or W";
        refuse("EUR", None, &format!("\"EUR\" {known}"));
        refuse("kg/h", None, &format!("\"kg/h\" {known}"));
        refuse(
            "öre/kWh",
            None,
            "\"öre\" in the unit \"öre/kWh\" is money in DKK, NOK or SEK; say which currency",
        );
        refuse("EUR/kWh", Some("SEK"), "\"eur\" in the unit \"EUR/kWh\" is not money in SEK");
        refuse(
            "euros/kWh",
            None,
            "\"euros\" in the unit \"euros/kWh\" is no money that is known here",
        );
    }
}
