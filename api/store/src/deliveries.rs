//! Subscriptions, and how far each of them was served.
use chrono::{DateTime, Utc};
use slackwater_wire::version::dated::ApiVersion;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, FromRow, Row};
use uuid::Uuid;

use crate::client::Environment;
use crate::database::Store;
use crate::error::StoreError;
use crate::events::Event;
use crate::keyring::{Keyring, StoredSecret};
use crate::lease::{Lease, LeasedTable};
use crate::rekey::SUBSCRIPTIONS;
use crate::rows::{Cell, Cells, Json, as_text};
use crate::signing::{SecretError, SigningSecret};
use crate::subscription::NewSubscription;
use crate::template::Template;

/// Leases of subscriptions.
const LEASED: LeasedTable = LeasedTable {
    name: "subscriptions",
    key: &["id"],
    holder: "leased_by",
    until: "leased_until",
    has_work: "template is not null",
};

/// A subscription as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    /// Its identifier.
    pub id: String,
    /// Name that its operator gave it.
    pub name: String,
    /// True if it comes from the settings.
    pub is_configured: bool,
    /// The client whose events they are.
    pub client_id: String,
    /// Address of the receiver.
    pub url: String,
    /// The version that events carry, if not that of the client.
    pub version: Option<ApiVersion>,
    /// Names of the events; all, if none are named.
    pub events: Vec<String>,
    /// The body. Without it nothing is posted.
    pub template: Option<Template>,
    /// Secret that signs requests, if they are signed; see [`signing_secret`](Self::signing_secret).
    pub secret: Option<StoredSecret>,
    /// The event up to which all were posted, or passed over.
    pub posted_seq: i64,
    /// Failures on end.
    pub failures: u32,
    /// When to try next by the machine's clock, if there is something to post.
    pub due_at: DateTime<Utc>,
    /// Last failure.
    pub last_failure: Option<String>,
}

/// Progress of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryProgress {
    /// The event up to which all were posted, or passed over.
    pub posted_seq: i64,
    /// Failures on end.
    pub failures: u32,
    /// When to try next, by the machine's clock.
    pub due_at: DateTime<Utc>,
    /// Failure of the attempt.
    pub last_failure: Option<String>,
}

/// Inserts a subscription to events from now on. Returns `false` if its name is taken.
///
/// # Errors
/// The database failed.
pub async fn insert_subscription(
    to: &mut AnyConnection,
    new: &NewSubscription,
    keys: &Keyring,
) -> Result<bool, StoreError> {
    upsert_subscription(to, (new, false), keys).await
}

/// Inserts or updates a subscription of the settings. Its position stays; if it had no template so
/// far, it begins at the newest event. Returns `false`, and changes nothing, if the name belongs to
/// a subscription that was made by hand.
///
/// # Errors
/// The database failed.
pub async fn configure_subscription(
    to: &mut AnyConnection,
    new: &NewSubscription,
    keys: &Keyring,
) -> Result<bool, StoreError> {
    upsert_subscription(to, (new, true), keys).await
}

async fn upsert_subscription(
    to: &mut AnyConnection,
    (new, is_configured): (&NewSubscription, bool),
    keys: &Keyring,
) -> Result<bool, StoreError> {
    let row = SUBSCRIPTIONS.row(&[&new.name]);
    let encrypt = |secret: &SigningSecret| keys.encrypt(&row, secret.text());
    let secret = new.secret.as_ref().map(encrypt).transpose()?;
    let (secret, key) = secret.map(|stored| (stored.text, stored.key)).unzip();
    // In place of what is there only if both are of the settings.
    let done = sqlx::query(
        "insert into subscriptions
             (id, name, is_configured, client_id, url, version, events, template, secret,
              secret_key, posted_seq, failures, due_at, leased_until)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
              (select value from counters where name = 'events'), 0, 0, 0)
         on conflict (name) do update set
             client_id = excluded.client_id, url = excluded.url, version = excluded.version,
             events = excluded.events, template = excluded.template, secret = excluded.secret,
             secret_key = excluded.secret_key,
             posted_seq = case when subscriptions.template is null
                               then excluded.posted_seq else subscriptions.posted_seq end
         where subscriptions.is_configured = 1 and excluded.is_configured = 1",
    )
    .bind(Uuid::new_v4().to_string())
    .bind(&new.name)
    .bind(i64::from(is_configured))
    .bind(&new.client)
    .bind(&new.url)
    .bind(new.version.map(ApiVersion::as_str))
    .bind(as_text(&new.events))
    .bind(&new.template)
    .bind(secret)
    .bind(key.flatten())
    .execute(to)
    .await?;
    Ok(done.rows_affected() == 1)
}

impl Subscription {
    /// Secret that signs requests, decrypted.
    ///
    /// # Errors
    /// It cannot be decrypted, or is none.
    pub fn signing_secret(&self, keys: &Keyring) -> Result<Option<SigningSecret>, StoreError> {
        let Some(stored) = self.secret.clone() else { return Ok(None) };
        let key: &[&str] = &[&self.name];
        let text = keys.decrypt(&SUBSCRIPTIONS.row(key), stored);
        let text = text.map_err(|reason| SUBSCRIPTIONS.refusal(key, &reason))?;
        let secret = text.parse().map_err(|error: SecretError| StoreError::Corrupt {
            table: SUBSCRIPTIONS.name,
            id: self.name.clone(),
            reason: format!("secret: {error}"),
        })?;
        Ok(Some(secret))
    }
}

/// Deletes subscriptions that were in the settings and no longer are.
///
/// # Errors
/// The database failed.
pub async fn delete_unconfigured(
    to: &mut AnyConnection,
    all: &[NewSubscription],
) -> Result<(), StoreError> {
    let query = sqlx::query("select name from subscriptions where is_configured = 1");
    for row in query.fetch_all(&mut *to).await? {
        let name: &str = row.try_get("name")?;
        if !all.iter().any(|new| new.name == name) {
            let query = sqlx::query("delete from subscriptions where name = $1");
            query.bind(name).execute(&mut *to).await?;
        }
    }
    Ok(())
}

/// Deletes a subscription that was made by hand. Returns `false` if there was none.
///
/// # Errors
/// The database failed.
pub async fn delete_subscription(to: &mut AnyConnection, name: &str) -> Result<bool, StoreError> {
    let query = sqlx::query("delete from subscriptions where name = $1 and is_configured = 0");
    Ok(query.bind(name).execute(to).await?.rows_affected() == 1)
}

/// All subscriptions, by name.
///
/// # Errors
/// The database failed.
pub async fn all_subscriptions(store: &Store) -> Result<Vec<Subscription>, StoreError> {
    let query = sqlx::query_as("select * from subscriptions order by name");
    Ok(query.fetch_all(store.reader()).await?)
}

/// A subscription to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueSubscription {
    /// Its identifier.
    pub id: String,
    /// True if the last attempt failed.
    pub has_failed: bool,
}

/// Subscriptions of an environment with events to post now, and without a lease.
///
/// # Errors
/// The database failed.
pub async fn due_subscriptions(
    store: &Store,
    environment: Environment,
    now: DateTime<Utc>,
) -> Result<Vec<DueSubscription>, StoreError> {
    let statement = format!(
        "select subscriptions.id,
                cast(case when last_failure is null then 0 else 1 end as bigint)
                    as has_failed
         from subscriptions
         join clients on clients.id = subscriptions.client_id
         where clients.environment = $1 and due_at <= $2 and {}
           and exists (select 1 from events
                       where events.client_id = subscriptions.client_id and seq > posted_seq)
         order by due_at, subscriptions.id",
        LEASED.is_available("$2"),
    );
    let query = sqlx::query_as(AssertSqlSafe(statement))
        .bind(environment.as_str())
        .bind(now.timestamp_micros());
    Ok(query.fetch_all(store.reader()).await?)
}

impl FromRow<'_, AnyRow> for DueSubscription {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("subscriptions", row);
        Ok(Self { id: row.get("id")?, has_failed: row.get("has_failed")? })
    }
}

/// Acquires the lease of a subscription; `None` if another process was faster, or the
/// subscription is gone.
///
/// # Errors
/// The database failed.
pub async fn acquire_subscription(
    to: &mut AnyConnection,
    id: &str,
    lease: &Lease<'_>,
) -> Result<Option<Subscription>, StoreError> {
    LEASED.acquire(to, &[id], lease).await
}

/// Records the progress of a subscription and renews its lease. Returns `false`, and changes
/// nothing, if another process holds the lease now.
///
/// # Errors
/// The database failed.
pub async fn record_and_renew(
    to: &mut AnyConnection,
    id: &str,
    progress: &DeliveryProgress,
    lease: &Lease<'_>,
) -> Result<bool, StoreError> {
    let is_held = LEASED.renew(to, &[id], lease).await?;
    if is_held {
        record_progress(to, id, progress).await?;
    }
    Ok(is_held)
}

/// Records the progress of a subscription and gives its lease back. Returns `false`, and changes
/// nothing, if another process holds the lease now.
///
/// # Errors
/// The database failed.
pub async fn record_and_release(
    to: &mut AnyConnection,
    id: &str,
    progress: &DeliveryProgress,
    holder: &str,
) -> Result<bool, StoreError> {
    let was_held = LEASED.release(to, &[id], holder).await?;
    if was_held {
        record_progress(to, id, progress).await?;
    }
    Ok(was_held)
}

async fn record_progress(
    to: &mut AnyConnection,
    id: &str,
    progress: &DeliveryProgress,
) -> Result<(), StoreError> {
    sqlx::query(
        "update subscriptions
         set posted_seq = $1, failures = $2, due_at = $3, last_failure = $4 where id = $5",
    )
    .bind(progress.posted_seq)
    .bind(i64::from(progress.failures))
    .bind(progress.due_at.timestamp_micros())
    .bind(&progress.last_failure)
    .bind(id)
    .execute(to)
    .await?;
    Ok(())
}

/// The events of a client after a place, oldest first.
///
/// # Errors
/// The database failed.
pub async fn client_events_after(
    store: &Store,
    client_id: &str,
    seq: i64,
    count_max: u32,
) -> Result<Vec<Event>, StoreError> {
    let query = "select * from events where client_id = $1 and seq > $2 order by seq limit $3";
    let query = sqlx::query_as(query).bind(client_id).bind(seq).bind(i64::from(count_max));
    Ok(query.fetch_all(store.reader()).await?)
}

/// Number of events that wait for the receiver that is furthest behind.
///
/// # Errors
/// The database failed.
pub async fn count_waiting_events(
    store: &Store,
    environment: Environment,
) -> Result<i64, StoreError> {
    let row = sqlx::query(
        "select coalesce(max(waiting), 0) as behind from (
             select (select count(*) from events
                     where events.client_id = subscriptions.client_id and seq > posted_seq)
                    as waiting
             from subscriptions join clients on clients.id = subscriptions.client_id
             where clients.environment = $1 and template is not null) as each_one",
    )
    .bind(environment.as_str())
    .fetch_one(store.reader())
    .await?;
    Ok(row.try_get("behind")?)
}

/// Events that wait for a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Number of events, counted up to a maximum.
    pub count: i64,
    /// When the oldest of them happened.
    pub since: Option<DateTime<Utc>>,
}

/// Events that wait for the receiver of a subscription, of which at most `count_max` are counted.
///
/// # Errors
/// The database failed.
pub async fn waiting_events(
    store: &Store,
    subscription: &Subscription,
    count_max: u32,
) -> Result<Waiting, StoreError> {
    let query = "select count(*) as count, min(happened_at) as since from (
             select happened_at from events where client_id = $1 and seq > $2
             order by seq limit $3) as waiting";
    let row = sqlx::query(query)
        .bind(&subscription.client_id)
        .bind(subscription.posted_seq)
        .bind(i64::from(count_max))
        .fetch_one(store.reader())
        .await?;
    let row = Cells::new("events", &row);
    Ok(Waiting { count: row.get("count")?, since: row.get("since")? })
}

/// When the oldest event happened that a receiver of an environment was not told of; `None` if
/// there is none.
///
/// # Errors
/// The database failed.
pub async fn oldest_waiting_event(
    store: &Store,
    environment: Environment,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    let row = sqlx::query(
        "select min(happened_at) as oldest
         from events
         join subscriptions on subscriptions.client_id = events.client_id
         join clients on clients.id = subscriptions.client_id
         where clients.environment = $1 and template is not null and seq > posted_seq",
    )
    .bind(environment.as_str())
    .fetch_one(store.reader())
    .await?;
    let oldest: Option<i64> = row.try_get("oldest")?;
    Ok(oldest.and_then(DateTime::from_timestamp_micros))
}

/// Deletes events of an environment that are older than `before`, posted or not.
///
/// # Errors
/// The database failed.
pub async fn delete_events_before(
    to: &mut AnyConnection,
    environment: Environment,
    before: DateTime<Utc>,
) -> Result<u64, StoreError> {
    let done = sqlx::query(
        "delete from events where happened_at < $1
           and client_id in (select id from clients where environment = $2)",
    )
    .bind(before.timestamp_micros())
    .bind(environment.as_str())
    .execute(to)
    .await?;
    Ok(done.rows_affected())
}

impl FromRow<'_, AnyRow> for Subscription {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("subscriptions", row);
        Ok(Self {
            id: row.get("id")?,
            name: row.get("name")?,
            is_configured: row.get("is_configured")?,
            client_id: row.get("client_id")?,
            url: row.get("url")?,
            version: row.get("version")?,
            events: row.get::<Json<Vec<String>>>("events")?.0,
            template: row.get("template")?,
            secret: row.get("secret")?,
            posted_seq: row.get("posted_seq")?,
            failures: row.get("failures")?,
            due_at: row.get("due_at")?,
            last_failure: row.get("last_failure")?,
        })
    }
}

impl Cell for Template {
    fn read(row: Cells<'_>, column: &'static str) -> Result<Self, sqlx::Error> {
        row.parse(column, Self::parse)
    }
}
