//! Schedules of users, and when their status last changed.
use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use slackwater_control::schedule::place::TargetType;
use slackwater_control::schedule::rule::{DraftRule, Rules};
use slackwater_control::schedule::status::Snapshot;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{instant, of_keys, optional_instant, parsed};

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
    /// What the user wants.
    pub wish: Wish,
    /// The status as it was last seen to change, and when.
    pub seen: Option<Arc<(Snapshot, DateTime<Utc>)>>,
}

/// What a user wants of a schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// Whether it is switched on.
    pub is_enabled: bool,
    /// The device.
    pub target_id: Uuid,
    /// What the device is.
    pub target_type: TargetType,
    /// Where it applies.
    pub location_id: Option<Uuid>,
    /// The rules as they were written.
    pub drafts: Vec<DraftRule>,
    /// What they mean.
    pub rules: Rules,
}

/// Keeps a schedule, in place of what was kept of it.
///
/// # Panics
/// Never: words and numbers have a JSON form.
///
/// # Errors
/// The database failed.
pub async fn keep(to: &mut AnyConnection, row: &Schedule) -> Result<(), StoreError> {
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
    .bind(serde_json::to_string(&wish.drafts).expect("words and numbers have a JSON form"))
    .bind(row.created_at.timestamp_micros())
    .execute(to)
    .await?;
    Ok(())
}

/// Keeps that a status changed.
///
/// # Panics
/// Never: words and instants have a JSON form.
///
/// # Errors
/// The database failed.
pub async fn keep_seen(
    to: &mut AnyConnection,
    id: Uuid,
    (snapshot, changed_at): &(Snapshot, DateTime<Utc>),
) -> Result<(), StoreError> {
    sqlx::query("update schedules set status = $2, changed_at = $3 where id = $1")
        .bind(id.to_string())
        .bind(serde_json::to_string(snapshot).expect("words and instants have a JSON form"))
        .bind(changed_at.timestamp_micros())
        .execute(to)
        .await?;
    Ok(())
}

/// Deletes a schedule.
///
/// # Errors
/// The database failed.
pub async fn delete(to: &mut AnyConnection, id: Uuid) -> Result<(), StoreError> {
    sqlx::query("delete from schedules where id = $1").bind(id.to_string()).execute(to).await?;
    Ok(())
}

/// All schedules.
///
/// # Errors
/// The database failed.
pub async fn all(store: &Store) -> Result<Vec<Schedule>, StoreError> {
    let rows = sqlx::query("select * from schedules").fetch_all(store.reader()).await?;
    rows.iter().map(schedule).collect()
}

/// The schedules of these devices.
///
/// # Errors
/// As [`of_keys`].
pub async fn of_targets(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<Schedule>, StoreError> {
    let query = "select * from schedules where target_id = any(string_to_array($1, ','))";
    of_keys(from, query, ids, schedule).await
}

fn schedule(row: &AnyRow) -> Result<Schedule, StoreError> {
    let text = |column| row.try_get::<&str, &str>(column);
    let is = |column| row.try_get::<i64, &str>(column).map(|is| is != 0);
    let location_id: Option<&str> = row.try_get("location_id")?;
    let (drafts, rules) = rules(row, is("default_should_charge")?)?;
    let changed_at = optional_instant(row, "changed_at")?;
    let seen = match changed_at {
        None => None,
        Some(at) => Some(Arc::new((
            parsed(row, "schedules", "status", |text| serde_json::from_str(text))?,
            at,
        ))),
    };
    Ok(Schedule {
        id: parsed(row, "schedules", "id", Uuid::parse_str)?,
        client_id: text("client_id")?.into(),
        user_id: text("user_id")?.into(),
        created_at: instant(row, "created_at")?,
        wish: Wish {
            is_enabled: is("is_enabled")?,
            target_id: parsed(row, "schedules", "target_id", Uuid::parse_str)?,
            target_type: parsed(row, "schedules", "target_type", target_type)?,
            location_id: location_id.and_then(|id| Uuid::parse_str(id).ok()),
            drafts,
            rules,
        },
        seen,
    })
}

fn rules(row: &AnyRow, default: bool) -> Result<(Vec<DraftRule>, Rules), StoreError> {
    parsed(row, "schedules", "rules", |text| {
        let drafts: Vec<DraftRule> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let rules = Rules::parse(default, &drafts).map_err(|error| error.to_string())?;
        Ok::<_, String>((drafts, rules))
    })
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
    found.ok_or_else(|| format!("{word:?} is no kind of target"))
}
