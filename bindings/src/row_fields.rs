//! One row of a table of vehicles, rooms or batteries, for a plan of it alone.
use std::collections::HashMap;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use chrono::{DateTime, Utc};
use slackwater_engine::columns::NO_TIME;

use crate::arrow::refused;
use crate::batch::{Numbers, Times};
use crate::error::Refused;

/// First instant, last instant, and numbers by their columns.
pub(crate) type RowFields = (DateTime<Utc>, DateTime<Utc>, HashMap<&'static str, f64>);

/// Values of a row; optional columns are left out where they are null.
///
/// # Errors
///
/// A required value is null; `what` is the kind of thing that the row is about.
pub(crate) fn read_row<'a>(
    (row, what): (usize, &str),
    [start, end]: [(&str, &Times); 2],
    required: impl IntoIterator<Item = (&'static str, &'a Numbers)>,
    optional: impl IntoIterator<Item = (&'static str, &'a Option<Vec<f64>>)>,
) -> Result<RowFields, Refused> {
    let missing = |name: &str| Refused::Input(format!("column {name:?} is null for the {what}"));
    let time = |(name, times): (&str, &Times)| match times.values()[row] {
        NO_TIME => Err(missing(name)),
        micros => DateTime::from_timestamp_micros(micros).ok_or_else(|| missing(name)),
    };
    let mut numbers = HashMap::new();
    for (name, column) in required {
        let number = column.values()[row];
        if number.is_nan() {
            return Err(missing(name));
        }
        numbers.insert(name, number);
    }
    for (name, column) in optional {
        let number = column.as_ref().map(|numbers| numbers[row]);
        numbers.extend(number.filter(|number| !number.is_nan()).map(|number| (name, number)));
    }
    Ok((time(start)?, time(end)?, numbers))
}

/// Rows of a vehicle, by its `id`.
pub(crate) fn find_rows(ids: &ArrayRef, vehicle: &str) -> Result<Vec<usize>, Refused> {
    let names = arrow_cast::cast(ids, &DataType::Utf8).map_err(refused)?;
    let rows = names.as_string::<i32>().iter().enumerate();
    Ok(rows.filter(|(_, name)| *name == Some(vehicle)).map(|(row, _)| row).collect())
}

/// Takes the only entry that was found for an `id`, of a vehicle or room; `argument` names the `id`.
///
/// # Errors
///
/// No row has the `id`, or several have it.
pub(crate) fn take_only<T>(mut found: Vec<T>, (argument, id): (&str, &str)) -> Result<T, Refused> {
    match (found.pop(), found.len()) {
        (None, _) => Err(Refused::Input(format!("{argument} is {id:?}; no row has this id"))),
        (Some(one), 0) => Ok(one),
        (Some(_), others) => {
            let rows = others + 1;
            Err(Refused::Input(format!("{argument} is {id:?}; {rows} rows have this id")))
        }
    }
}
