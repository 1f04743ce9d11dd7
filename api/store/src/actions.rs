//! Actions: what devices are told, and how far that has come.
use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::device::action::{ActionState, Progress};
use slackwater_control::device::command::Command;
use slackwater_control::device::control::Controller;
use slackwater_control::device::pursuit::Attempts;
use slackwater_control::device::scope::DeviceKind;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow};
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::{Cells, Json, as_text, of_keys};
use crate::trace::current_traceparent;

/// Origin of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// A client by hand.
    #[serde(rename = "client")]
    Client,
    /// A schedule.
    #[serde(rename = "schedule")]
    Schedule(Uuid),
    /// A smart override.
    #[serde(rename = "override")]
    Override(Uuid),
    /// The plan of smart charging or of a flex policy.
    #[serde(rename = "plan")]
    Plan,
}

impl Origin {
    /// Returns `true` if the action comes from the controller of the device.
    #[must_use]
    pub fn is_in_charge(self, controller: &Controller) -> bool {
        match (self, controller) {
            (Self::Schedule(id), Controller::Schedule(other)) => id.to_string() == *other,
            (Self::Plan, Controller::SmartCharging) | (Self::Override(_), Controller::Override) => {
                true
            }
            _ => false,
        }
    }
}

/// One command to one device.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// Its identifier.
    pub id: Uuid,
    /// The client.
    pub client_id: Arc<str>,
    /// The owner of the device.
    pub user_id: Arc<str>,
    /// The device.
    pub target_id: Uuid,
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Command to the device.
    pub command: Command,
    /// Origin of the action.
    pub origin: Origin,
    /// Progress of the action.
    pub progress: Progress,
    /// Attempts to send the command.
    pub attempts: Attempts,
}

/// Keeps a new action. A device that has a pending one is a conflict
/// ([`StoreError::is_conflict`]).
///
/// # Errors
/// The database failed.
pub async fn insert_action(to: &mut AnyConnection, row: &Action) -> Result<(), StoreError> {
    sqlx::query(
        "insert into actions
             (id, client_id, user_id, target_id, kind, command, origin, state,
              created_at, updated_at, sent_count, rival_created_at, traceparent)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11, $12)",
    )
    .bind(row.id.to_string())
    .bind(&*row.client_id)
    .bind(&*row.user_id)
    .bind(row.target_id.to_string())
    .bind(row.kind.as_str())
    .bind(as_text(&row.command))
    .bind(as_text(&row.origin))
    .bind(row.progress.state.as_str())
    .bind(row.progress.created_at.timestamp_micros())
    .bind(row.progress.updated_at.timestamp_micros())
    .bind(row.attempts.rival_created_at.map(|at| at.timestamp_micros()))
    .bind(current_traceparent())
    .execute(to)
    .await?;
    Ok(())
}

/// Trace context of the work that began an action; `None` if it was not part of a trace.
///
/// # Errors
/// The database failed.
pub async fn traceparent_of_action(store: &Store, id: Uuid) -> Result<Option<String>, StoreError> {
    let query = sqlx::query("select traceparent from actions where id = $1");
    let row = query.bind(id.to_string()).fetch_optional(store.reader()).await?;
    let found = row
        .map(|row| Cells::new("actions", &row).get::<Option<String>>("traceparent"))
        .transpose()?;
    Ok(found.flatten())
}

/// Marks a pending action as ended. Returns `false` if it had ended already (compare and set), so
/// that one caller alone tells of the end.
///
/// # Errors
/// The database failed.
pub async fn end_action(
    to: &mut AnyConnection,
    id: Uuid,
    progress: &Progress,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "update actions set state = $2, updated_at = $3, completed_at = $4, failure = $5
         where id = $1 and state = 'pending'",
    )
    .bind(id.to_string())
    .bind(progress.state.as_str())
    .bind(progress.updated_at.timestamp_micros())
    .bind(progress.completed_at.map(|at| at.timestamp_micros()))
    .bind(progress.failure.as_ref().map(as_text))
    .execute(to)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Counts an attempt before its command is sent. Returns `false` if it must not be sent: the action
/// has ended, or another replica is about to send it.
///
/// # Errors
/// The database failed.
pub async fn count_attempt(
    to: &mut AnyConnection,
    id: Uuid,
    before: Attempts,
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "update actions set sent_count = sent_count + 1, sent_at = $2
         where id = $1 and state = 'pending' and sent_count = $3",
    )
    .bind(id.to_string())
    .bind(now.timestamp_micros())
    .bind(i64::from(before.count))
    .execute(to)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// An action by its identifier and client. That of another client costs what one costs that nobody
/// has: its row is not read.
const BY_ID: &str = "select * from actions where id = $1 and client_id = coalesce($2, client_id)";

/// An action, of any client where none is given; `None` if there is none of that identifier.
///
/// # Errors
/// The database failed.
pub async fn get_action(
    store: &Store,
    id: Uuid,
    client_id: Option<&str>,
) -> Result<Option<Action>, StoreError> {
    let query = sqlx::query_as(BY_ID).bind(id.to_string()).bind(client_id);
    Ok(query.fetch_optional(store.reader()).await?)
}

/// Reads an action within a change, as [`get_action`] does.
///
/// # Errors
/// The database failed.
pub async fn get_action_in(
    from: &mut AnyConnection,
    id: Uuid,
    client_id: Option<&str>,
) -> Result<Option<Action>, StoreError> {
    let query = sqlx::query_as(BY_ID).bind(id.to_string()).bind(client_id);
    Ok(query.fetch_optional(from).await?)
}

/// The pending action of a device; `None` if it has none.
///
/// # Errors
/// The database failed.
pub async fn pending_action(
    from: &mut AnyConnection,
    target_id: Uuid,
) -> Result<Option<Action>, StoreError> {
    let query = sqlx::query_as("select * from actions where target_id = $1 and state = 'pending'");
    Ok(query.bind(target_id.to_string()).fetch_optional(from).await?)
}

/// The action of which a device was told last; `None` if it is seen to be done,
/// or if the device was never told anything.
///
/// # Errors
/// The database failed.
pub async fn last_sent_action(
    from: &mut AnyConnection,
    target_id: Uuid,
) -> Result<Option<Action>, StoreError> {
    let last = last_told_action(from, target_id).await?;
    Ok(last.filter(|action| action.progress.state != ActionState::Confirmed))
}

/// The pending action of a device; without one the action of which it was told last, however that
/// ended.
///
/// # Errors
/// The database failed.
pub async fn latest_action(
    from: &mut AnyConnection,
    target_id: Uuid,
) -> Result<Option<Action>, StoreError> {
    match pending_action(from, target_id).await? {
        Some(pending) => Ok(Some(pending)),
        None => last_told_action(from, target_id).await,
    }
}

async fn last_told_action(
    from: &mut AnyConnection,
    target_id: Uuid,
) -> Result<Option<Action>, StoreError> {
    let query = sqlx::query_as(
        "select * from actions where target_id = $1 and sent_at is not null
         order by sent_at desc, id desc limit 1",
    );
    Ok(query.bind(target_id.to_string()).fetch_optional(from).await?)
}

/// All pending actions.
///
/// # Errors
/// The database failed.
pub async fn all_pending_actions(store: &Store) -> Result<Vec<Action>, StoreError> {
    let query = sqlx::query_as("select * from actions where state = 'pending'");
    Ok(query.fetch_all(store.reader()).await?)
}

/// The pending actions of these devices.
///
/// # Errors
/// The database cannot be read.
pub async fn pending_actions_of(
    from: &mut AnyConnection,
    ids: &BTreeSet<Uuid>,
) -> Result<Vec<Action>, StoreError> {
    let query = "select * from actions
         where state = 'pending' and target_id = any(string_to_array($1, ','))";
    of_keys(from, query, ids).await
}

impl FromRow<'_, AnyRow> for Action {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("actions", row);
        Ok(Self {
            id: row.get("id")?,
            client_id: row.get("client_id")?,
            user_id: row.get("user_id")?,
            target_id: row.get("target_id")?,
            kind: row.get("kind")?,
            command: row.get::<Json<Command>>("command")?.0,
            origin: row.get::<Json<Origin>>("origin")?.0,
            progress: Progress {
                state: row.parse("state", state)?,
                created_at: row.get("created_at")?,
                updated_at: row.get("updated_at")?,
                completed_at: row.get("completed_at")?,
                failure: row.get::<Option<Json<_>>>("failure")?.map(|Json(failure)| failure),
            },
            attempts: Attempts {
                count: row.get("sent_count")?,
                last_at: row.get("sent_at")?,
                rival_created_at: row.get("rival_created_at")?,
            },
        })
    }
}

fn state(word: &str) -> Result<ActionState, String> {
    let found = ActionState::ALL.into_iter().find(|state| state.as_str() == word);
    found.ok_or_else(|| format!("{word:?} is not a state of an action"))
}

#[cfg(test)]
mod tests {
    use slackwater_control::device::command::Switch;
    use slackwater_wire::version::dated::ApiVersion;

    use super::*;
    use crate::client::{Client, Environment};
    use crate::clients::{ClientRow, insert_client};

    #[tokio::test]
    async fn an_action_of_another_client_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}/one.db", folder.path().display());
        let store = Store::open(&address.parse().unwrap()).await.unwrap();
        let client = Client {
            id: "a".to_owned(),
            environment: Environment::Sandbox,
            name: String::new(),
            version: ApiVersion::LATEST,
            created_at: DateTime::UNIX_EPOCH,
        };
        let row = ClientRow { client, secret_hash: String::new() };
        insert_client(&store, &row).await.unwrap();
        let action = Action {
            id: Uuid::from_u128(1),
            client_id: "a".into(),
            user_id: "u".into(),
            target_id: Uuid::from_u128(2),
            kind: DeviceKind::Charger,
            command: Command::Charge(Switch::Start),
            origin: Origin::Client,
            progress: Progress::created(DateTime::UNIX_EPOCH),
            attempts: Attempts::default(),
        };
        let mut change = store.begin().await.unwrap();
        insert_action(change.connection(), &action).await.unwrap();
        for (client_id, is_found) in [(Some("a"), true), (Some("b"), false), (None, true)] {
            let found = get_action_in(change.connection(), action.id, client_id).await.unwrap();
            assert_eq!(found.is_some(), is_found, "{client_id:?}");
        }
        change.commit(|| ()).await.unwrap();
        for (client_id, is_found) in [(Some("a"), true), (Some("b"), false), (None, true)] {
            let found = get_action(&store, action.id, client_id).await.unwrap();
            assert_eq!(found, is_found.then(|| action.clone()), "{client_id:?}");
        }
    }
}
