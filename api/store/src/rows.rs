//! From columns to values and back.
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::prices::currency::Currency;
use slackwater_integration::profile::VendorCode;
use slackwater_wire::version::dated::ApiVersion;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow, Row, ValueRef};
use uuid::Uuid;

use crate::client::Environment;
use crate::error::{Corrupt, StoreError};
use crate::keyring::StoredSecret;

/// Row of a table, whose columns become fields. Errors name table, row and column.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'r> {
    table: &'static str,
    row: &'r AnyRow,
}

impl<'r> Cells<'r> {
    /// Columns of a row of `table`.
    pub(crate) fn new(table: &'static str, row: &'r AnyRow) -> Self {
        Self { table, row }
    }

    /// Value of a column.
    pub(crate) fn get<T: Cell>(self, column: &'static str) -> Result<T, sqlx::Error> {
        T::read(self, column)
    }

    /// Value that `parse` makes of the text of a column.
    pub(crate) fn parse<T, E: Display>(
        self,
        column: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, sqlx::Error> {
        parse(self.row.try_get(column)?).map_err(|error| self.corrupt(column, error))
    }

    fn corrupt(self, column: &str, reason: impl Display) -> sqlx::Error {
        let id = self.row.try_get("id").unwrap_or_default();
        let reason = format!("{column}: {reason}");
        sqlx::Error::Decode(Box::new(Corrupt { table: self.table, id, reason }))
    }
}

/// Type of a field that has a column of its own.
pub(crate) trait Cell: Sized {
    /// Reads the column.
    fn read(row: Cells<'_>, column: &'static str) -> Result<Self, sqlx::Error>;
}

impl<T: Cell> Cell for Option<T> {
    fn read(row: Cells<'_>, column: &'static str) -> Result<Self, sqlx::Error> {
        let is_null = row.row.try_get_raw(column)?.is_null();
        (!is_null).then(|| T::read(row, column)).transpose()
    }
}

impl Cell for i64 {
    fn read(row: Cells<'_>, column: &'static str) -> Result<Self, sqlx::Error> {
        row.row.try_get(column)
    }
}

/// Count that the database keeps with a sign.
impl Cell for u32 {
    fn read(row: Cells<'_>, column: &'static str) -> Result<Self, sqlx::Error> {
        let count = i64::read(row, column)?;
        Self::try_from(count).map_err(|error| row.corrupt(column, error))
    }
}

/// Zero is `false`.
impl Cell for bool {
    fn read(row: Cells<'_>, column: &'static str) -> Result<Self, sqlx::Error> {
        Ok(i64::read(row, column)? != 0)
    }
}

/// Microseconds since 1970.
impl Cell for DateTime<Utc> {
    fn read(row: Cells<'_>, column: &'static str) -> Result<Self, sqlx::Error> {
        let instant = Self::from_timestamp_micros(i64::read(row, column)?);
        instant.ok_or_else(|| row.corrupt(column, "is beyond the calendar"))
    }
}

/// Column with a secret, and `secret_key` beside it.
impl Cell for StoredSecret {
    fn read(row: Cells<'_>, column: &'static str) -> Result<Self, sqlx::Error> {
        Ok(Self { text: row.get(column)?, key: row.get("secret_key")? })
    }
}

/// Text of JSON.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> Cell for Json<T> {
    fn read(row: Cells<'_>, column: &'static str) -> Result<Self, sqlx::Error> {
        row.parse(column, |text| serde_json::from_str(text)).map(Self)
    }
}

/// Types that are read from a text.
macro_rules! texts {
    ($($type:ty => $parse:expr),* $(,)?) => {$(
        impl Cell for $type {
            fn read(row: Cells<'_>, column: &'static str) -> Result<Self, sqlx::Error> {
                row.parse(column, $parse)
            }
        }
    )*};
}

texts! {
    String => |text| Ok::<_, Infallible>(text.to_owned()),
    Arc<str> => |text| Ok::<_, Infallible>(text.into()),
    Uuid => Uuid::parse_str,
    ApiVersion => ApiVersion::parse,
    Currency => Currency::parse,
    DeviceKind => DeviceKind::parse,
    Environment => Environment::parse,
    VendorCode => VendorCode::parse,
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

/// Keys of rows to read again from a server.
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
pub(crate) async fn of_keys<T>(
    from: &mut AnyConnection,
    statement: &'static str,
    keys: &impl Keys,
) -> Result<Vec<T>, StoreError>
where
    T: for<'r> FromRow<'r, AnyRow> + Send + Unpin,
{
    let Some(keys) = keys.as_parameter() else { return Ok(Vec::new()) };
    Ok(sqlx::query_as(statement).bind(keys).fetch_all(from).await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Store;
    use crate::events::Event;

    /// Reads an event some of whose columns have other values than usual.
    async fn read(store: &Store, columns: &str) -> Result<Event, StoreError> {
        let query = format!(
            "select {columns}, 7 as seq, '67e55044-10b1-426f-9247-bb680e5fe0c8' as id,
                 'c' as client_id, 'u' as user_id, 'n' as name, '2024-10-01' as version,
                 '{{}}' as body, null as traceparent"
        );
        let query = sqlx::query_as(sqlx::AssertSqlSafe(query));
        Ok(query.fetch_one(store.reader()).await?)
    }

    #[tokio::test]
    async fn what_no_version_has_written_is_refused_by_table_row_and_column() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}/one.db", folder.path().display());
        let store = Store::open(&address.parse().unwrap()).await.unwrap();
        let event = read(&store, "null as target_id, 0 as happened_at").await.unwrap();
        assert_eq!((event.target_id, event.at), (None, DateTime::UNIX_EPOCH));
        for (columns, reason) in [
            ("'x' as target_id, 0 as happened_at", "target_id: invalid character"),
            (
                "null as target_id, 9223372036854775807 as happened_at",
                "happened_at: is beyond the calendar",
            ),
        ] {
            let error = read(&store, columns).await.unwrap_err();
            assert!(matches!(error, StoreError::Corrupt { table: "events", .. }), "{error:?}");
            let expected = format!("events 67e55044-10b1-426f-9247-bb680e5fe0c8: {reason}");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }
}
