//! Warnings about numbers that are possible and yet look like another unit.
use std::ffi::CString;

use arrow_array::RecordBatch;
use pyo3::create_exception;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use slackwater_engine::plausibility::{find_doubt, find_price_doubt};

use crate::arrow::{Columns, to_numbers};
use crate::error::Refused;

create_exception!(
    slackwater,
    PlausibilityWarning,
    PyUserWarning,
    "A number is possible and yet unlikely, such as a power of 11000 kW or a state of charge of \
     0.3 %. It is used as given. `warnings.filterwarnings` turns the warning off."
);

/// What is unlikely about an argument, by the unit in its name; `None` for nothing.
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
    match prices.iter().find_map(|&price| find_price_doubt(currency, price)) {
        Some(doubt) => warn(py, &doubt.to_string()),
        None => Ok(()),
    }
}

fn warn(py: Python<'_>, text: &str) -> Result<(), Refused> {
    let text = CString::new(text).unwrap_or_default();
    let conversion = py.import("slackwater._conversion")?;
    let level = conversion.call_method0("levels_to_caller")?.extract()?;
    Ok(PyErr::warn(py, &py.get_type::<PlausibilityWarning>(), &text, level)?)
}
