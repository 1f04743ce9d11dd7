//! The outbox: what happened, in the order in which it was kept.
use chrono::{DateTime, Utc};
use serde_json::Value;
use slackwater_wire::version::dated::ApiVersion;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow, Row};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Json};
use crate::trace::current_traceparent;

/// Something that happened to a user of a client.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// The client.
    pub client_id: String,
    /// The user.
    pub user_id: String,
    /// The device, policy or schedule that it is about, if it is about one.
    pub target_id: Option<Uuid>,
    /// The name of the event.
    pub name: &'static str,
    /// When.
    pub at: DateTime<Utc>,
    /// Data of the event.
    pub body: Value,
}

/// A row of the outbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its place among all.
    pub seq: i64,
    /// Its identifier, the same at every delivery.
    pub id: Uuid,
    /// The client.
    pub client_id: String,
    /// The user.
    pub user_id: String,
    /// Device, policy or schedule that it is about.
    pub target_id: Option<Uuid>,
    /// Its name.
    pub name: String,
    /// The version that the client was pinned to (EVT-02).
    pub version: ApiVersion,
    /// When it happened.
    pub at: DateTime<Utc>,
    /// Data of the event.
    pub body: Value,
    /// Trace context of the work that caused it, if that was part of a trace.
    pub traceparent: Option<String>,
}

/// Keeps what happened, in the change in which it happened. Nothing is kept of
/// a user who is deauthorised (EVT-07).
///
/// # Errors
/// The database failed.
pub async fn record_event(to: &mut AnyConnection, happening: &NewEvent) -> Result<(), StoreError> {
    let counted = "update counters set value = value + 1 where name = 'events' returning value";
    let seq: i64 = sqlx::query(counted).fetch_one(&mut *to).await?.try_get("value")?;
    sqlx::query(
        "insert into events
             (seq, id, client_id, user_id, target_id, name, version, happened_at, body, traceparent)
         select $1, $2, clients.id, $3, $4, $5, clients.version, $6, $7, $8
         from clients
         where clients.id = $9 and not exists (
             select 1 from users
             where users.client_id = $10 and users.id = $11 and users.deauthorised_at is not null)",
    )
    .bind(seq)
    .bind(Uuid::new_v4().to_string())
    .bind(&happening.user_id)
    .bind(happening.target_id.map(|id| id.to_string()))
    .bind(happening.name)
    .bind(happening.at.timestamp_micros())
    .bind(happening.body.to_string())
    .bind(current_traceparent())
    .bind(&happening.client_id)
    .bind(&happening.client_id)
    .bind(&happening.user_id)
    .execute(to)
    .await?;
    Ok(())
}

/// The events after a place, oldest first.
///
/// # Errors
/// The database failed.
pub async fn events_after(
    store: &Store,
    seq: i64,
    count_max: u32,
) -> Result<Vec<Event>, StoreError> {
    let query = "select * from events where seq > $1 order by seq limit $2";
    let query = sqlx::query_as(query).bind(seq).bind(i64::from(count_max));
    Ok(query.fetch_all(store.reader()).await?)
}

/// The newest events, newest first.
///
/// # Errors
/// The database failed.
pub async fn latest_events(store: &Store, count_max: u32) -> Result<Vec<Event>, StoreError> {
    let query = sqlx::query_as("select * from events order by seq desc limit $1");
    Ok(query.bind(i64::from(count_max)).fetch_all(store.reader()).await?)
}

impl FromRow<'_, AnyRow> for Event {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("events", row);
        Ok(Self {
            seq: row.get("seq")?,
            id: row.get("id")?,
            client_id: row.get("client_id")?,
            user_id: row.get("user_id")?,
            target_id: row.get("target_id")?,
            name: row.get("name")?,
            version: row.get("version")?,
            at: row.get("happened_at")?,
            body: row.get::<Json<Value>>("body")?.0,
            traceparent: row.get("traceparent")?,
        })
    }
}
