//! The last plan of each device, and the sheets of prices that plans share.
use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::policy::ask::{Cause, NoRequest};
use slackwater_control::policy::cycle::Cycle;
use slackwater_engine::plan::record::PlanRecord;
use slackwater_engine::prices::resolve::ResolvedPrices;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Json, as_text, of_keys};

/// Rows of one statement. A statement of fewer is prepared anew, so that the
/// number is a compromise between many statements and long ones.
const ROWS: usize = 100;

/// Result of planning for a device.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptPlan {
    /// The device.
    pub device_id: Uuid,
    /// The flex policy that it follows, if it is one.
    pub flex_policy_id: Option<Uuid>,
    /// When it was made.
    pub made_at: DateTime<Utc>,
    /// The prices that it was made with.
    pub sheet_id: Option<Arc<str>>,
    /// Everything else.
    pub state: PlanState,
}

/// The part of a plan that the database does not look into.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanState {
    /// Cause of the plan.
    pub cause: Cause,
    /// The stay at the plug that it belongs to.
    pub cycle: Option<Cycle>,
    /// When it is looked at again.
    pub review_at: Option<DateTime<Utc>>,
    /// The plan, or why there is none.
    pub outcome: Outcome,
}

/// A plan, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// There is none.
    #[serde(rename = "idle")]
    Idle(NoRequest),
    /// There is one.
    #[serde(rename = "planned")]
    Planned(Box<PlanRecord>),
}

impl KeptPlan {
    /// The plan, if there is one.
    #[must_use]
    pub fn planned(&self) -> Option<&PlanRecord> {
        match &self.state.outcome {
            Outcome::Planned(planned) => Some(planned),
            Outcome::Idle(_) => None,
        }
    }
}

/// Prices that plans were made with.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceSheet {
    /// The hash of its text.
    pub id: Arc<str>,
    /// The currency of the prices, an ISO 4217 code.
    pub currency: String,
    /// The prices, each with its source.
    pub prices: ResolvedPrices,
    /// The prices as JSON, of which `id` is the hash.
    pub text: String,
}

/// Keeps plans, each in place of the one before.
///
/// # Errors
/// The database failed.
pub async fn upsert_plans(to: &mut AnyConnection, plans: &[&KeptPlan]) -> Result<(), StoreError> {
    let (whole, rest) = plans.split_at(plans.len() / ROWS * ROWS);
    for rows in whole.chunks(ROWS).chain(rest.chunks(1)) {
        let mut query = sqlx::query(sqlx::AssertSqlSafe(upsert_statement(rows.len())));
        for plan in rows {
            query = query
                .bind(plan.device_id.to_string())
                .bind(plan.flex_policy_id.map(|id| id.to_string()))
                .bind(plan.made_at.timestamp_micros())
                .bind(plan.sheet_id.as_deref().map(str::to_owned))
                .bind(as_text(&plan.state));
        }
        query.execute(&mut *to).await?;
    }
    Ok(())
}

/// The statement that keeps so many plans.
fn upsert_statement(rows: usize) -> String {
    let row = |index: usize| {
        let places: Vec<String> = (1..=5).map(|place| format!("${}", 5 * index + place)).collect();
        format!("({})", places.join(", "))
    };
    let values: Vec<String> = (0..rows).map(row).collect();
    format!(
        "insert into plans (device_id, flex_policy_id, made_at, sheet_id, state) values {}
         on conflict (device_id) do update set flex_policy_id = excluded.flex_policy_id,
             made_at = excluded.made_at, sheet_id = excluded.sheet_id, state = excluded.state",
        values.join(", ")
    )
}

/// Forgets the plan of a device.
///
/// # Errors
/// The database failed.
pub async fn delete_plan(to: &mut AnyConnection, device_id: Uuid) -> Result<(), StoreError> {
    let query = sqlx::query("delete from plans where device_id = $1");
    query.bind(device_id.to_string()).execute(to).await?;
    Ok(())
}

/// Keeps a sheet; one that is there stays.
///
/// # Errors
/// The database failed.
pub async fn insert_sheet(to: &mut AnyConnection, sheet: &PriceSheet) -> Result<(), StoreError> {
    sqlx::query(
        "insert into price_sheets (id, currency, prices) values ($1, $2, $3)
         on conflict (id) do nothing",
    )
    .bind(&*sheet.id)
    .bind(&sheet.currency)
    .bind(&sheet.text)
    .execute(to)
    .await?;
    Ok(())
}

/// A sheet.
///
/// # Errors
/// The database failed.
pub async fn get_sheet(
    from: &mut AnyConnection,
    id: &str,
) -> Result<Option<PriceSheet>, StoreError> {
    let query = sqlx::query_as("select * from price_sheets where id = $1").bind(id);
    Ok(query.fetch_optional(from).await?)
}

/// Deletes the sheets that no plan rests on any more.
///
/// # Errors
/// The database failed.
pub async fn delete_unused_sheets(to: &mut AnyConnection) -> Result<(), StoreError> {
    let query = "delete from price_sheets
         where not exists (select 1 from plans where plans.sheet_id = price_sheets.id)";
    sqlx::query(query).execute(to).await?;
    Ok(())
}

/// All plans.
///
/// # Errors
/// The database failed.
pub async fn all_plans(store: &Store) -> Result<Vec<KeptPlan>, StoreError> {
    Ok(sqlx::query_as("select * from plans").fetch_all(store.reader()).await?)
}

/// The plans of these devices.
///
/// # Errors
/// The database cannot be read.
pub async fn plans_of_devices(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<KeptPlan>, StoreError> {
    let query = "select * from plans where device_id = any(string_to_array($1, ','))";
    of_keys(from, query, ids).await
}

impl FromRow<'_, AnyRow> for KeptPlan {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("plans", row);
        Ok(Self {
            device_id: row.get("device_id")?,
            flex_policy_id: row.get("flex_policy_id")?,
            made_at: row.get("made_at")?,
            sheet_id: row.get("sheet_id")?,
            state: row.get::<Json<PlanState>>("state")?.0,
        })
    }
}

impl FromRow<'_, AnyRow> for PriceSheet {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("price_sheets", row);
        Ok(Self {
            id: row.get("id")?,
            currency: row.get("currency")?,
            prices: row.get::<Json<ResolvedPrices>>("prices")?.0,
            text: row.get("prices")?,
        })
    }
}
