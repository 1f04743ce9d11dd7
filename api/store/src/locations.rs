//! Places of users.
use std::collections::BTreeSet;

use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Json, Pair, as_text, of_keys};
use slackwater_integration::reading::Position;

/// A place of a user.
#[derive(Debug, Clone, PartialEq)]
pub struct Location {
    /// Its identifier.
    pub id: Uuid,
    /// The client.
    pub client_id: String,
    /// The user whose place it is.
    pub user_id: String,
    /// Facts about the place.
    pub facts: LocationFacts,
}

/// Facts about a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocationFacts {
    /// Time zone of the place; UTC if it is not known.
    pub time_zone: Option<Tz>,
    /// Coordinates of the place.
    pub position: Option<Position>,
    /// The market zone that it lies in.
    pub zone_id: Option<String>,
    /// The client's own part of that zone.
    pub area_id: Option<String>,
}

/// Keeps a place, in place of what was kept of it.
///
/// # Errors
/// The database failed.
pub async fn upsert_location(to: &mut AnyConnection, row: &Location) -> Result<(), StoreError> {
    sqlx::query(
        "insert into locations (id, client_id, user_id, facts) values ($1, $2, $3, $4)
         on conflict (id) do update set facts = excluded.facts",
    )
    .bind(row.id.to_string())
    .bind(&row.client_id)
    .bind(&row.user_id)
    .bind(as_text(&row.facts))
    .execute(to)
    .await?;
    Ok(())
}

/// All places.
///
/// # Errors
/// The database failed.
pub async fn all_locations(store: &Store) -> Result<Vec<Location>, StoreError> {
    let query = sqlx::query_as("select * from locations");
    Ok(query.fetch_all(store.reader()).await?)
}

/// The places of these users.
///
/// # Errors
/// The database cannot be read.
pub async fn locations_of_users(
    from: &mut AnyConnection,
    names: &BTreeSet<Pair>,
) -> Result<Vec<Location>, StoreError> {
    let query = "select * from locations where (client_id, user_id) in
         (select value ->> 0, value ->> 1 from json_array_elements(cast($1 as json)))";
    of_keys(from, query, names).await
}

impl FromRow<'_, AnyRow> for Location {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("locations", row);
        Ok(Self {
            id: row.get("id")?,
            client_id: row.get("client_id")?,
            user_id: row.get("user_id")?,
            facts: row.get::<Json<LocationFacts>>("facts")?.0,
        })
    }
}
