//! The audit log: what operators did, in the order in which it was kept.
use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::any::AnyRow;
use sqlx::{FromRow, Row};

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::Cells;

/// Something that an operator did or tried. Bodies are not kept: they have secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Act {
    /// When.
    pub at: DateTime<Utc>,
    /// Name of the operator's token, or how the operator was known without one.
    pub operator: String,
    /// Role of the token.
    pub role: String,
    /// Address that the request came from.
    pub peer: String,
    /// Method of the request.
    pub method: String,
    /// Path of the request, with its query.
    pub path: String,
    /// Status of the answer.
    pub status: u32,
}

/// A row of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NumberedAct {
    /// Its place among all.
    pub seq: i64,
    /// The act.
    #[serde(flatten)]
    pub act: Act,
}

/// Keeps an act, and deletes those before an instant.
///
/// # Errors
/// The database failed.
pub async fn record_act(
    store: &Store,
    act: &Act,
    keep_after: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut change = store.begin().await?;
    let counted = "update counters set value = value + 1 where name = 'audit' returning value";
    let seq: i64 = sqlx::query(counted).fetch_one(change.connection()).await?.try_get("value")?;
    sqlx::query(
        "insert into audit (seq, happened_at, operator, role, peer, method, path, status)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(seq)
    .bind(act.at.timestamp_micros())
    .bind(&act.operator)
    .bind(&act.role)
    .bind(&act.peer)
    .bind(&act.method)
    .bind(&act.path)
    .bind(i64::from(act.status))
    .execute(change.connection())
    .await?;
    sqlx::query("delete from audit where happened_at < $1")
        .bind(keep_after.timestamp_micros())
        .execute(change.connection())
        .await?;
    change.commit(|| ()).await
}

/// The acts after a place, oldest first.
///
/// # Errors
/// The database failed.
pub async fn acts_after(
    store: &Store,
    seq: i64,
    count_max: u32,
) -> Result<Vec<NumberedAct>, StoreError> {
    let query = "select * from audit where seq > $1 order by seq limit $2";
    let query = sqlx::query_as(query).bind(seq).bind(i64::from(count_max));
    Ok(query.fetch_all(store.reader()).await?)
}

impl FromRow<'_, AnyRow> for NumberedAct {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("audit", row);
        let act = Act {
            at: row.get("happened_at")?,
            operator: row.get("operator")?,
            role: row.get("role")?,
            peer: row.get("peer")?,
            method: row.get("method")?,
            path: row.get("path")?,
            status: row.get("status")?,
        };
        Ok(Self { seq: row.get("seq")?, act })
    }
}
