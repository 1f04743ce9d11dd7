//! Warnings about numbers that are possible and yet look like another unit.
use std::ffi::CString;

use arrow_array::RecordBatch;
use pyo3::create_exception;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use slackwater_engine::plausibility::{
    Doubt, find_doubt, find_high_price_doubt, find_price_doubt, find_small_price_doubt,
};

use crate::arrow::{Columns, to_numbers};
use crate::error::Refused;

create_exception!(
    slackwater,
    PlausibilityWarning,
    PyUserWarning,
    "A number is possible and yet unlikely, such as a power of 11000 kW or a state of charge of \
     0.3 %. It is used as given. `warnings.filterwarnings` turns the warning off."
);

/// Doubt about an argument, by the unit in its name; `None` if its value is likely.
#[pyfunction]
pub(crate) fn doubt(name: &str, value: f64) -> Option<String> {
    find_doubt(name, value).map(|doubt| doubt.to_string())
}

/// Warns of columns of vehicles that hold an unlikely number, once a column.
pub(crate) fn warn_of_columns(
    py: Python<'_>,
    batches: &[RecordBatch],
    names: &[&str],
) -> Result<(), Refused> {
    for name in names {
        let columns = batches.iter().filter_map(|batch| Columns::new(batch).find(name));
        let mut first = 0;
        for column in columns {
            // A column of another type is refused where it is read.
            let Ok(numbers) = to_numbers(name, column) else { break };
            // A small need is 0.7 %. A column of shares has no number above 1.
            if name.ends_with("_percent") && numbers.iter().flatten().any(|value| value > 1.0) {
                break;
            }
            let found = numbers.iter().enumerate().find_map(|(row, value)| {
                find_doubt(name, value?).map(|doubt| (first + row, doubt))
            });
            if let Some((row, doubt)) = found {
                warn(py, &format!("row {row}: {doubt}"))?;
                break;
            }
            first += numbers.len();
        }
    }
    Ok(())
}

/// Warns of prices that hold an unlikely one, once.
pub(crate) fn warn_of_prices(
    py: Python<'_>,
    currency: &str,
    prices: &[f64],
) -> Result<(), Refused> {
    match find_in_prices(currency, prices) {
        Some(doubt) => warn(py, &doubt.to_string()),
        None => Ok(()),
    }
}

/// Warns of prices that were read in a unit: of an unlikely one, or of all if they are next to
/// nothing.
pub(crate) fn warn_of_read_prices(
    py: Python<'_>,
    currency: &str,
    prices: &[f64],
) -> Result<(), Refused> {
    let small = || find_small_price_doubt(currency, prices);
    match find_in_prices(currency, prices).or_else(small) {
        Some(doubt) => warn(py, &doubt.to_string()),
        None => Ok(()),
    }
}

/// Warns of prices that were computed, if none of those that they were computed from was unlikely.
pub(crate) fn warn_of_result(
    py: Python<'_>,
    currency: &str,
    prices: &[f64],
    from: &[&[f64]],
) -> Result<(), Refused> {
    if from.iter().any(|prices| find_in_prices(currency, prices).is_some()) {
        return Ok(());
    }
    warn_of_prices(py, currency, prices)
}

/// Warns of each of some doubts.
pub(crate) fn warn_of_each(py: Python<'_>, doubts: &[Doubt]) -> Result<(), Refused> {
    doubts.iter().try_for_each(|doubt| warn(py, &doubt.to_string()))
}

/// Warns of a price by its name, such as that of wear.
pub(crate) fn warn_of_price(
    py: Python<'_>,
    currency: &str,
    (name, value): (&str, f64),
) -> Result<(), Refused> {
    match find_price_doubt(name, currency, value) {
        Some(doubt) => warn(py, &doubt.to_string()),
        None => Ok(()),
    }
}

/// Warns of the price of wear and the end value of a battery.
pub(crate) fn warn_of_values(
    py: Python<'_>,
    currency: &str,
    (wear, end_value): (f64, f64),
) -> Result<(), Refused> {
    warn_of_price(py, currency, ("wear_price_per_kwh", wear))?;
    warn_of_price(py, currency, ("end_value_per_kwh", end_value))
}

/// Warns of columns of prices that hold an unlikely one, once a column.
pub(crate) fn warn_of_price_columns(
    py: Python<'_>,
    batches: &[RecordBatch],
    currency: &str,
    names: &[&str],
) -> Result<(), Refused> {
    for name in names {
        let columns = batches.iter().filter_map(|batch| Columns::new(batch).find(name));
        // A column of another type is refused where it is read.
        let numbers = columns.filter_map(|column| to_numbers(name, column).ok());
        let values = numbers.flat_map(|numbers| numbers.iter().collect::<Vec<_>>());
        let doubt = |value: f64| find_price_doubt(name, currency, value);
        let mut rows = values.enumerate();
        let found = rows.find_map(|(row, value)| Some((row, doubt(value?)?)));
        if let Some((row, doubt)) = found {
            warn(py, &format!("row {row}: {doubt}"))?;
        }
    }
    Ok(())
}

fn find_in_prices(currency: &str, prices: &[f64]) -> Option<Doubt> {
    let mut each = prices.iter();
    let unlikely = each.find_map(|&price| find_price_doubt("price_per_kwh", currency, price));
    unlikely.or_else(|| find_high_price_doubt(currency, prices))
}

fn warn(py: Python<'_>, text: &str) -> Result<(), Refused> {
    let text = CString::new(text).unwrap_or_default();
    let conversion = py.import("slackwater._conversion")?;
    let level = conversion.call_method0("levels_to_caller")?.extract()?;
    Ok(PyErr::warn(py, &py.get_type::<PlausibilityWarning>(), &text, level)?)
}
