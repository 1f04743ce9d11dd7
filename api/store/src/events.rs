//! The outbox: what happened, in the order in which it was kept.
use chrono::{DateTime, Utc};
use serde_json::Value;
use slackwater_wire::version::dated::ApiVersion;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{instant, parsed};

/// Something that happened to a user of a client.
#[derive(Debug, Clone, PartialEq)]
pub struct Happening {
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
    /// What there is to say about it.
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
    /// What it is about.
    pub target_id: Option<Uuid>,
    /// Its name.
    pub name: String,
    /// The version that the client was pinned to (EVT-02).
    pub version: ApiVersion,
    /// When it happened.
    pub at: DateTime<Utc>,
    /// What there is to say about it.
    pub body: Value,
}

/// Keeps what happened, in the change in which it happened. Nothing is kept of
/// a user who is deauthorised (EVT-07).
///
/// # Errors
/// The database failed.
pub async fn record(to: &mut AnyConnection, happening: &Happening) -> Result<(), StoreError> {
    let counted = "update counters set value = value + 1 where name = 'events' returning value";
    let seq: i64 = sqlx::query(counted).fetch_one(&mut *to).await?.try_get("value")?;
    sqlx::query(
        "insert into events
             (seq, id, client_id, user_id, target_id, name, version, happened_at, body)
         select $1, $2, clients.id, $3, $4, $5, clients.version, $6, $7
         from clients
         where clients.id = $8 and not exists (
             select 1 from users
             where users.client_id = $9 and users.id = $10 and users.deauthorised_at is not null)",
    )
    .bind(seq)
    .bind(Uuid::new_v4().to_string())
    .bind(&happening.user_id)
    .bind(happening.target_id.map(|id| id.to_string()))
    .bind(happening.name)
    .bind(happening.at.timestamp_micros())
    .bind(happening.body.to_string())
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
pub async fn after(store: &Store, seq: i64, count_max: u32) -> Result<Vec<Event>, StoreError> {
    let query = "select * from events where seq > $1 order by seq limit $2";
    let rows = sqlx::query(query).bind(seq).bind(i64::from(count_max));
    rows.fetch_all(store.reader()).await?.iter().map(event).collect()
}

pub(super) fn event(row: &AnyRow) -> Result<Event, StoreError> {
    let target_id: Option<&str> = row.try_get("target_id")?;
    Ok(Event {
        seq: row.try_get("seq")?,
        id: parsed(row, "events", "id", Uuid::parse_str)?,
        client_id: row.try_get("client_id")?,
        user_id: row.try_get("user_id")?,
        target_id: target_id.and_then(|id| Uuid::parse_str(id).ok()),
        name: row.try_get("name")?,
        version: parsed(row, "events", "version", ApiVersion::parse)?,
        at: instant(row, "happened_at")?,
        body: parsed(row, "events", "body", |text| serde_json::from_str(text))?,
    })
}
