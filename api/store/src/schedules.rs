//! Schedules of users, and when their status last changed.
use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use slackwater_control::schedule::place::TargetType;
use slackwater_control::schedule::rule::{DraftRule, Rules};
use slackwater_control::schedule::status::Snapshot;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Json, as_text, of_keys};

/// A user's rules for charging a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// Its identifier.
    pub id: Uuid,
    /// The client.
    pub client_id: Arc<str>,
    /// The user.
    pub user_id: Arc<str>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Request of the user.
    pub wish: ScheduleRequest,
    /// The status as it was last seen to change, and when.
    pub seen: Option<Arc<(Snapshot, DateTime<Utc>)>>,
}

/// Request of a user for a schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleRequest {
    /// True if it is switched on.
    pub is_enabled: bool,
    /// The device.
    pub target_id: Uuid,
    /// Kind of the device.
    pub target_type: TargetType,
    /// Location at which it applies.
    pub location_id: Option<Uuid>,
    /// The rules as they were written.
    pub drafts: Vec<DraftRule>,
    /// Rules after parsing.
    pub rules: Rules,
}

/// Keeps a schedule, in place of what was kept of it.
///
/// # Errors
/// The database failed.
pub async fn upsert_schedule(to: &mut AnyConnection, row: &Schedule) -> Result<(), StoreError> {
    let wish = &row.wish;
    sqlx::query(
        "insert into schedules
             (id, client_id, user_id, target_id, target_type, location_id, is_enabled,
              default_should_charge, rules, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         on conflict (id) do update set
             target_id = excluded.target_id, target_type = excluded.target_type,
             location_id = excluded.location_id, is_enabled = excluded.is_enabled,
             default_should_charge = excluded.default_should_charge, rules = excluded.rules",
    )
    .bind(row.id.to_string())
    .bind(&*row.client_id)
    .bind(&*row.user_id)
    .bind(wish.target_id.to_string())
    .bind(type_word(wish.target_type))
    .bind(wish.location_id.map(|id| id.to_string()))
    .bind(i64::from(wish.is_enabled))
    .bind(i64::from(wish.rules.default_should_charge))
    .bind(as_text(&wish.drafts))
    .bind(row.created_at.timestamp_micros())
    .execute(to)
    .await?;
    Ok(())
}

/// Keeps that a status changed.
///
/// # Errors
/// The database failed.
pub async fn set_status(
    to: &mut AnyConnection,
    id: Uuid,
    (snapshot, changed_at): &(Snapshot, DateTime<Utc>),
) -> Result<(), StoreError> {
    sqlx::query("update schedules set status = $2, changed_at = $3 where id = $1")
        .bind(id.to_string())
        .bind(as_text(snapshot))
        .bind(changed_at.timestamp_micros())
        .execute(to)
        .await?;
    Ok(())
}

/// Deletes a schedule.
///
/// # Errors
/// The database failed.
pub async fn delete_schedule(to: &mut AnyConnection, id: Uuid) -> Result<(), StoreError> {
    sqlx::query("delete from schedules where id = $1").bind(id.to_string()).execute(to).await?;
    Ok(())
}

/// All schedules.
///
/// # Errors
/// The database failed.
pub async fn all_schedules(store: &Store) -> Result<Vec<Schedule>, StoreError> {
    let query = sqlx::query_as("select * from schedules");
    Ok(query.fetch_all(store.reader()).await?)
}

/// The schedules of these devices.
///
/// # Errors
/// The database cannot be read.
pub async fn schedules_of_targets(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<Schedule>, StoreError> {
    let query = "select * from schedules where target_id = any(string_to_array($1, ','))";
    of_keys(from, query, ids).await
}

impl FromRow<'_, AnyRow> for Schedule {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("schedules", row);
        let default = row.get("default_should_charge")?;
        let (drafts, rules) = row.parse("rules", |text| rules(text, default))?;
        let seen = match row.get("changed_at")? {
            None => None,
            Some(at) => Some(Arc::new((row.get::<Json<Snapshot>>("status")?.0, at))),
        };
        Ok(Self {
            id: row.get("id")?,
            client_id: row.get("client_id")?,
            user_id: row.get("user_id")?,
            created_at: row.get("created_at")?,
            wish: ScheduleRequest {
                is_enabled: row.get("is_enabled")?,
                target_id: row.get("target_id")?,
                target_type: row.parse("target_type", target_type)?,
                location_id: row.get("location_id")?,
                drafts,
                rules,
            },
            seen,
        })
    }
}

fn rules(text: &str, default: bool) -> Result<(Vec<DraftRule>, Rules), String> {
    let drafts: Vec<DraftRule> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let rules = Rules::parse(default, &drafts).map_err(|error| error.to_string())?;
    Ok((drafts, rules))
}

/// The word that stands for a kind of target in rows.
const fn type_word(target_type: TargetType) -> &'static str {
    match target_type {
        TargetType::Vehicle => "vehicle",
        TargetType::Charger => "charger",
    }
}

fn target_type(word: &str) -> Result<TargetType, String> {
    let all = [TargetType::Vehicle, TargetType::Charger];
    let found = all.into_iter().find(|target_type| type_word(*target_type) == word);
    found.ok_or_else(|| format!("{word:?} is not a kind of target"))
}
