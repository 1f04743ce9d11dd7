//! Numbers that are possible and yet look like another unit: watts for kilowatts, a share for a
//! percentage, a price per megawatt-hour for one per kilowatt-hour.
//!
//! Nothing is refused for it. An edge may warn of it, and a refusal may suggest what was meant.
use std::fmt;

use crate::units::Power;

/// Highest power of a vehicle or a battery behind one plug, in kW. Charging of trucks (MCS) ends at
/// 3.75 MW; what is beyond 1 MW today is nearly always a number of watts.
const POWER_LIKELY_KW: f64 = 1_000.0;

/// Factor between a limit on a power, and all that it limits, beyond which the two are hardly in one
/// unit. Grids are built for one to ten times what they serve; a number of watts is a thousand times
/// too high.
const POWER_FACTOR: f64 = 100.0;

/// Largest battery on wheels, in kWh; beyond it a number is nearly always in watt hours.
const ENERGY_LIKELY_KWH: f64 = 2_000.0;

/// Highest heat loss of a building, in kW per K: 1 MW of heat at 33 degrees. What is beyond is nearly
/// always a number of W per K, of which a house has 100 to 400.
const LOSS_LIKELY_KW_PER_K: f64 = 30.0;

/// Highest heat capacity of a building, in kWh per K: [`LOSS_LIKELY_KW_PER_K`] for 100 hours. A house
/// has 3 to 30 kWh per K, which are thousands of Wh and of kJ.
const CAPACITY_LIKELY_KWH_PER_K: f64 = 3_000.0;

/// Highest price of a kWh. The ceiling of European markets, 5 per kWh, lies below it.
const PRICE_LIKELY_PER_KWH: f64 = 10.0;

/// Share of the highest likely price below which all prices of a list are next to nothing: 0.1
/// cents.
const PRICE_SMALL_SHARE: f64 = 1e-4;

/// Share of the highest likely price above which most prices of a list do not lie: 2 EUR, more than
/// twice the dearest day of European markets.
const PRICE_HIGH_SHARE: f64 = 0.2;

/// Least number of prices of which the median is told: a quarter of a day of hours.
const PRICES_MIN: usize = 6;

/// Unit that a high power may have been meant in.
const POWER_MEANT: &str = "a power in W is divided by 1000";

/// Units that a high price may have been meant in.
const PRICE_MEANT: &str = "a price in cents is divided by 100, and one per MWh is divided by 1000";

/// Highest carbon intensity of a kWh, in kg; lignite and diesel lie below 1.5.
const INTENSITY_LIKELY_KG_PER_KWH: f64 = 5.0;

/// Unlikely number, and the unit that may have been meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    name: String,
    value: f64,
    unit: &'static str,
    beside: Option<String>,
    meant: &'static str,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, unit, beside, meant } = self;
        write!(f, "{name} is {value} {unit}")?;
        if let Some(beside) = beside {
            write!(f, ", beside {beside}")?;
        }
        write!(f, "; {meant}")
    }
}

/// Finds what is unlikely about a number of a vehicle, by the unit at the end of its name.
///
/// Zero, negative powers and energies, and numbers that are not finite raise no doubt: they mean
/// something, or are refused elsewhere.
///
/// # Example
///
/// ```
/// use slackwater_engine::plausibility::find_doubt;
///
/// let doubt = find_doubt("soc_percent", 0.3).unwrap();
/// assert_eq!(doubt.to_string(), "soc_percent is 0.3 %; a share is multiplied by 100");
/// assert!(find_doubt("power_max_kw", 22.0).is_none());
/// ```
#[must_use]
pub fn find_doubt(name: &str, value: f64) -> Option<Doubt> {
    let ends = |unit: &str| name.ends_with(unit);
    let (is_doubtful, unit, meant) = if ends("_percent") {
        // A battery may hold 1 %, and nobody asks for no more.
        let is_asked = ends("target_percent") || ends("limit_percent");
        let is_share = value < 1.0 || (is_asked && value <= 1.0);
        (value > 0.0 && is_share, "%", "a share is multiplied by 100")
    } else if ends("kg_per_kwh") {
        let is_doubtful = value > INTENSITY_LIKELY_KG_PER_KWH;
        (is_doubtful, "kg per kWh", "an intensity in g is divided by 1000")
    } else if ends("_kw_per_k") {
        (value > LOSS_LIKELY_KW_PER_K, "kW/K", "a loss in W/K is divided by 1000")
    } else if ends("_kwh_per_k") {
        let is_doubtful = value > CAPACITY_LIKELY_KWH_PER_K;
        (is_doubtful, "kWh/K", "a capacity in Wh/K is divided by 1000")
    } else if ends("_kwh") {
        (value > ENERGY_LIKELY_KWH, "kWh", "an energy in Wh is divided by 1000")
    } else if ends("_kw") {
        (value > POWER_LIKELY_KW, "kW", POWER_MEANT)
    } else {
        return None;
    };
    (is_doubtful && value.is_finite()).then(|| Doubt {
        name: name.to_owned(),
        value,
        unit,
        beside: None,
        meant,
    })
}

/// Finds out whether a power is far above another one that it goes with, as a number of watts is: a
/// limit above all that it limits, or a load above its limit. `beside` names the other power. Powers
/// of up to 1 MW raise no doubt, nor do those beside 0 kW.
///
/// # Example
///
/// ```
/// use slackwater_engine::plausibility::find_power_doubt;
/// use slackwater_engine::units::kw;
///
/// let doubt = find_power_doubt("limit_kw", kw(4e5), ("all that it limits", kw(1100.0))).unwrap();
/// let told = "limit_kw is 400000 kW, beside 1100 kW of all that it limits; a power in W is divided \
///             by 1000";
/// assert_eq!(doubt.to_string(), told);
/// assert!(find_power_doubt("limit_kw", kw(400.0), ("all that it limits", kw(1100.0))).is_none());
/// ```
#[must_use]
pub fn find_power_doubt(name: &str, power: Power, beside: (&str, Power)) -> Option<Doubt> {
    let (other, other_kw) = (beside.0, beside.1.as_kw());
    let value = power.as_kw();
    let is_doubtful = other_kw > 0.0 && value > POWER_LIKELY_KW && value > POWER_FACTOR * other_kw;
    is_doubtful.then(|| Doubt {
        name: name.to_owned(),
        value,
        unit: "kW",
        beside: Some(format!("{} kW of {other}", round_6(other_kw))),
        meant: POWER_MEANT,
    })
}

/// A number of at most six decimals.
fn round_6(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Ending for the refusal of an efficiency that looks like a percentage: from 10 to 100. It is empty
/// for others.
///
/// # Example
///
/// ```
/// use slackwater_engine::plausibility::suggest_share;
///
/// assert_eq!(suggest_share(92.0), "; 92 % is 0.92");
/// assert_eq!(suggest_share(1.2), "");
/// ```
#[must_use]
pub fn suggest_share(efficiency: f64) -> String {
    if !(10.0..=100.0).contains(&efficiency) {
        return String::new();
    }
    // Rounded, so that 90.3 % is 0.903 and not a float beside it.
    let share = (efficiency * 1e6).round() / 1e8;
    format!("; {efficiency} % is {share}")
}

/// Currencies whose unit buys some kWh, and those whose unit is about a tenth of that. Others, such
/// as HUF and JPY, have ordinary prices of any size.
const CURRENCIES: [(&[&str], f64); 2] = [
    (&["AUD", "CAD", "CHF", "EUR", "GBP", "NZD", "USD"], PRICE_LIKELY_PER_KWH),
    (&["BGN", "CZK", "DKK", "NOK", "PLN", "RON", "SEK"], 10.0 * PRICE_LIKELY_PER_KWH),
];

/// Finds what is unlikely about a price per kWh in a currency.
///
/// # Example
///
/// ```
/// use slackwater_engine::plausibility::find_price_doubt;
///
/// assert!(find_price_doubt("price_per_kwh", "EUR", 130.0).is_some());
/// assert!(find_price_doubt("price_per_kwh", "HUF", 130.0).is_none());
/// ```
#[must_use]
pub fn find_price_doubt(name: &str, currency: &str, value: f64) -> Option<Doubt> {
    let (_, most) = CURRENCIES.iter().find(|(names, _)| names.contains(&currency))?;
    (value.abs() > *most && value.is_finite()).then(|| Doubt {
        name: name.to_owned(),
        value,
        unit: "per kWh",
        beside: None,
        meant: PRICE_MEANT,
    })
}

/// Finds out whether a price of a kg of emissions makes a kWh of the highest intensity dearer than any
/// kWh, as a price per tonne does.
///
/// # Example
///
/// ```
/// use slackwater_engine::plausibility::find_carbon_doubt;
///
/// assert!(find_carbon_doubt("EUR", 80.0, 0.4).is_some());
/// assert!(find_carbon_doubt("EUR", 0.08, 0.4).is_none());
/// ```
#[must_use]
pub fn find_carbon_doubt(currency: &str, price_per_kg: f64, kg_per_kwh: f64) -> Option<Doubt> {
    let doubt = find_price_doubt("price_per_kg", currency, price_per_kg * kg_per_kwh)?;
    let meant = "a price per tonne is divided by 1000";
    Some(Doubt { value: price_per_kg, unit: "per kg", meant, ..doubt })
}

/// Finds out whether most prices of a list in a currency are higher than those of any market for
/// half of the time, as prices in cents are that were taken for whole units. Lists of a few prices
/// raise no doubt.
///
/// # Example
///
/// ```
/// use slackwater_engine::plausibility::find_high_price_doubt;
///
/// let cents = [5.2, 8.1, 9.4, 7.7, 6.3, 4.9];
/// assert!(find_high_price_doubt("EUR", &cents).is_some());
/// assert!(find_high_price_doubt("EUR", &[0.05, 0.08, 9.4, 0.08, 0.06, 0.05]).is_none());
/// ```
#[must_use]
pub fn find_high_price_doubt(currency: &str, prices: &[f64]) -> Option<Doubt> {
    let (_, most) = CURRENCIES.iter().find(|(names, _)| names.contains(&currency))?;
    if prices.len() < PRICES_MIN {
        return None;
    }
    let mut sorted = prices.to_vec();
    let (_, median, _) = sorted.select_nth_unstable_by(prices.len() / 2, f64::total_cmp);
    (*median > PRICE_HIGH_SHARE * most && median.is_finite()).then(|| Doubt {
        name: "median price_per_kwh".to_owned(),
        value: *median,
        unit: "per kWh",
        beside: None,
        meant: PRICE_MEANT,
    })
}

/// Finds out whether all prices of a list in a currency are next to nothing, as prices per kWh are
/// that were taken for prices per megawatt-hour. Lists of one price, and of zeros, raise no doubt.
///
/// # Example
///
/// ```
/// use slackwater_engine::plausibility::find_small_price_doubt;
///
/// assert!(find_small_price_doubt("EUR", &[0.000_21, 0.000_35]).is_some());
/// assert!(find_small_price_doubt("EUR", &[0.000_21, 0.35]).is_none());
/// ```
#[must_use]
pub fn find_small_price_doubt(currency: &str, prices: &[f64]) -> Option<Doubt> {
    let (_, most) = CURRENCIES.iter().find(|(names, _)| names.contains(&currency))?;
    let highest = prices.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
    let least = PRICE_SMALL_SHARE * most;
    let is_small = highest.is_finite() && highest.abs() > 0.0 && highest.abs() < least;
    (is_small && prices.len() > 1).then(|| Doubt {
        name: "highest price_per_kwh".to_owned(),
        value: highest,
        unit: "per kWh",
        beside: None,
        meant: "a price per kWh is not divided by 1000",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::kw;

    #[track_caller]
    fn check(name: &str, value: f64, expected: Option<&str>) {
        assert_eq!(find_doubt(name, value).map(|doubt| doubt.to_string()).as_deref(), expected);
    }

    #[test]
    fn another_unit_is_doubted_by_name() {
        check(
            "power_max_kw",
            11e3,
            Some("power_max_kw is 11000 kW; a power in W is divided by 1000"),
        );
        check(
            "energy_kwh",
            1e4,
            Some("energy_kwh is 10000 kWh; an energy in Wh is divided by 1000"),
        );
        check("soc_percent", 0.3, Some("soc_percent is 0.3 %; a share is multiplied by 100"));
        check("target_percent", 1.0, Some("target_percent is 1 %; a share is multiplied by 100"));
        check(
            "loss_kw_per_k",
            180.0,
            Some("loss_kw_per_k is 180 kW/K; a loss in W/K is divided by 1000"),
        );
        check(
            "capacity_kwh_per_k",
            6e3,
            Some("capacity_kwh_per_k is 6000 kWh/K; a capacity in Wh/K is divided by 1000"),
        );
        check(
            "kg_per_kwh",
            400.0,
            Some("kg_per_kwh is 400 kg per kWh; an intensity in g is divided by 1000"),
        );
        let price = find_price_doubt("price_per_kwh", "EUR", -130.0).unwrap().to_string();
        assert_eq!(price, format!("price_per_kwh is -130 per kWh; {PRICE_MEANT}"));
        let carbon = find_carbon_doubt("EUR", 80.0, 0.5).unwrap().to_string();
        assert_eq!(carbon, "price_per_kg is 80 per kg; a price per tonne is divided by 1000");
    }

    #[test]
    fn a_power_is_doubted_beside_another() {
        let is_doubted = |power: f64, other: f64| {
            find_power_doubt("limit_kw", kw(power), ("its vehicles", kw(other))).is_some()
        };
        assert!(is_doubted(11_000.0, 22.0));
        assert!(is_doubted(1e6, 9_999.0));
        // What is behind a limit may be little, and much.
        for (power, other) in [(1_000.0, 1.0), (2_000.0, 20.0), (1e6, 1e6), (1e6, 0.0)] {
            assert!(!is_doubted(power, other), "{power} {other}");
        }
    }

    #[test]
    fn a_percentage_is_suggested_as_a_share() {
        for (percent, share) in [(100.0, "1"), (90.3, "0.903"), (57.3, "0.573"), (10.0, "0.1")] {
            assert_eq!(suggest_share(percent), format!("; {percent} % is {share}"));
        }
        for other in [9.9, 100.1, 0.0, -92.0, f64::NAN, f64::INFINITY] {
            assert_eq!(suggest_share(other), "", "{other}");
        }
    }

    #[test]
    fn a_list_of_prices_next_to_nothing_is_doubted_as_a_whole() {
        let text =
            |prices: &[f64]| find_small_price_doubt("EUR", prices).map(|doubt| doubt.to_string());
        let told =
            "highest price_per_kwh is 0.0003 per kWh; a price per kWh is not divided by 1000";
        assert_eq!(text(&[0.000_2, 0.000_3, -0.000_1]).as_deref(), Some(told));
        for ordinary in [&[0.000_3][..], &[0.0, 0.0], &[0.000_3, 0.002], &[]] {
            assert_eq!(text(ordinary), None, "{ordinary:?}");
        }
        assert_eq!(find_small_price_doubt("JPY", &[0.000_2, 0.000_3]), None);
    }

    #[test]
    fn a_list_of_cents_is_doubted_by_its_median() {
        let text = |currency: &str, prices: &[f64]| {
            find_high_price_doubt(currency, prices).map(|doubt| doubt.to_string())
        };
        let cents = [3.0, 9.0, 8.0, 4.0, 5.0, 7.0];
        let told = format!("median price_per_kwh is 7 per kWh; {PRICE_MEANT}");
        assert_eq!(text("EUR", &cents), Some(told));
        let oere = cents.map(|price| price * 10.0);
        assert!(text("NOK", &oere).unwrap().starts_with("median price_per_kwh is 70 per kWh"));
        for (currency, ordinary) in [
            ("EUR", &cents[..5]),
            ("EUR", &[0.9; 24][..]),
            ("EUR", &[0.1, 0.1, 0.1, 0.1, 9.0, 9.0][..]),
            ("NOK", &cents[..]),
            ("JPY", &cents[..]),
        ] {
            assert_eq!(text(currency, ordinary), None, "{currency} {ordinary:?}");
        }
    }

    #[test]
    fn ordinary_numbers_raise_no_doubt() {
        for (name, value) in [
            ("power_max_kw", 1000.0),
            ("power_max_kw", -22.0),
            ("energy_kwh", 0.0),
            ("soc_percent", 0.0),
            ("soc_percent", 1.0),
            ("soc_percent", 100.0),
            ("power_max_kw", f64::NAN),
            ("efficiency", 92.0),
            ("kg_per_kwh", 1.4),
            ("loss_kw_per_k", 12.0),
            ("capacity_kwh_per_k", 500.0),
        ] {
            check(name, value, None);
        }
        for (currency, value) in [("EUR", 5.0), ("NOK", 40.0), ("JPY", 30.0), ("EUR", f64::NAN)] {
            assert_eq!(find_price_doubt("price_per_kwh", currency, value), None);
        }
    }
}
