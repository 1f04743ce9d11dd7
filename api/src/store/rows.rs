//! From columns to values and back.
use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::any::AnyRow;
use sqlx::{ColumnIndex, Row};

use crate::store::database::StoreError;

/// The instant of a column.
///
/// # Errors
/// The column holds no number, or one beyond the calendar.
pub fn instant(row: &AnyRow, column: &'static str) -> Result<DateTime<Utc>, StoreError> {
    from_micros(row.try_get(column)?, column)
}

/// The instant of a column that may be empty.
///
/// # Errors
/// As [`instant`].
pub fn optional_instant(
    row: &AnyRow,
    column: &'static str,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    let micros: Option<i64> = row.try_get(column)?;
    micros.map(|micros| from_micros(micros, column)).transpose()
}

fn from_micros(micros: i64, column: &'static str) -> Result<DateTime<Utc>, StoreError> {
    DateTime::from_timestamp_micros(micros).ok_or_else(|| StoreError::Corrupt {
        table: column,
        id: micros.to_string(),
        reason: "is beyond the calendar".to_owned(),
    })
}

/// The value that a column's text stands for.
///
/// # Errors
/// The text stands for none.
pub fn parsed<T, E: std::fmt::Display>(
    row: &AnyRow,
    table: &'static str,
    column: &'static str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, StoreError>
where
    &'static str: ColumnIndex<AnyRow>,
{
    let text: &str = row.try_get(column)?;
    parse(text).map_err(|error| StoreError::Corrupt {
        table,
        id: row.try_get::<String, _>("id").unwrap_or_default(),
        reason: format!("{column}: {error}"),
    })
}

/// A value as JSON, for a column of text.
///
/// # Panics
/// Never: words and finite numbers have a JSON form.
pub fn as_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("words and finite numbers have a JSON form")
}
