//! From columns to values and back.
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, ColumnIndex, Row};
use uuid::Uuid;

use crate::error::StoreError;

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

/// A key of two texts: a client, and what it calls something.
pub type Pair = (String, String);

/// Which rows of a server to read again.
pub trait Keys {
    /// The keys as one text, as the statement takes it; `None` if there are none.
    fn as_parameter(&self) -> Option<String>;
}

/// For `any(string_to_array($1, ','))`.
impl Keys for BTreeSet<Uuid> {
    fn as_parameter(&self) -> Option<String> {
        let ids: Vec<String> = self.iter().map(Uuid::to_string).collect();
        (!ids.is_empty()).then(|| ids.join(","))
    }
}

/// For `json_array_elements(cast($1 as json))`.
impl Keys for BTreeSet<Pair> {
    fn as_parameter(&self) -> Option<String> {
        (!self.is_empty()).then(|| as_text(self))
    }
}

/// The rows of these keys on a server, whatever their number with one statement.
///
/// # Errors
/// The database failed, or holds what no version of this service has written.
pub async fn of_keys<T>(
    from: &mut AnyConnection,
    statement: &'static str,
    keys: &impl Keys,
    read: impl Fn(&AnyRow) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let Some(keys) = keys.as_parameter() else { return Ok(Vec::new()) };
    let rows = sqlx::query(statement).bind(keys).fetch_all(from).await?;
    rows.iter().map(read).collect()
}
