//! Price feeds: market prices that the service fetches by itself, again and again.
//!
//! One process fetches a feed at a time, by a lease of its row. What it finds is kept as an import of
//! an operator is, so that the same prices again change nothing, and what a reply leaves out stays.
//! After a failure the pauses grow, and the prices that are known stay. Instants are those of the
//! machine: a sandbox that runs faster does not ask a publisher more often.
use std::fmt::Display;

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use metrics::{counter, gauge};
use serde::Serialize;
use slackwater_engine::time::backoff;
use slackwater_https::client::TlsError;
use tokio::task::JoinSet;
use tracing::{debug, error, info, warn};

use crate::auth::secret::random;
use crate::clock::Clock;
use crate::config::feeds::FeedSettings;
use crate::config::prices::ZoneSettings;
use crate::prices::fetch::{FetchError, Reply, fetch_reply};
use crate::prices::keep::keep_market;
use crate::prices::requests::{ReadError, plan_requests, read_reply};
use crate::state::App;
use crate::supervise::log_panic;
use slackwater_store::error::StoreError;
use slackwater_store::lease::Lease;
use slackwater_store::price_feeds::{FeedState, acquire_feed, all_feeds, record_feed_and_release};
use slackwater_store::prices::SeriesName;

/// Time between two looks for feeds that are due.
const LOOK_AGAIN: TimeDelta = TimeDelta::seconds(10);

/// Time by which a lease is longer than the two requests of a feed.
const MARGIN: TimeDelta = TimeDelta::seconds(30);

/// Longest time that a publisher may ask to wait.
const RETRY_AFTER_MAX: TimeDelta = TimeDelta::days(1);

/// Most notes of a reply that are logged: a publisher could leave out every other price.
const NOTES_MAX: usize = 20;

/// Most characters of a failure that are kept: a reply may be quoted in it.
const FAILURE_CHARS_MAX: usize = 500;

/// A feed as operators see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FeedReport {
    /// The zone.
    pub zone: String,
    /// Format of its replies.
    pub format: &'static str,
    /// Instant of the last try.
    pub tried_at: Option<DateTime<Utc>>,
    /// Instant of the last try that succeeded.
    pub succeeded_at: Option<DateTime<Utc>>,
    /// Instant of the next try; `None` before the first.
    pub next_at: Option<DateTime<Utc>>,
    /// Failures since it last succeeded.
    pub failures: u32,
    /// Reason of the last failure; `None` after a success.
    pub failure: Option<String>,
    /// Number of prices in the replies of the last try that found any.
    pub rows: Option<u32>,
    /// Instant at which the market prices of the zone end, wherever they come from.
    pub prices_until: Option<DateTime<Utc>>,
}

/// Reason why a feed is not fetched at once.
#[derive(Debug, thiserror::Error)]
pub enum FetchNowError {
    /// The settings have no such feed.
    #[error("the settings have no feed for the zone {zone:?}")]
    NoFeed {
        /// The zone.
        zone: String,
    },
    /// Another process or task fetches it.
    #[error("the feed of the zone {zone:?} is being fetched")]
    Busy {
        /// The zone.
        zone: String,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reason why a try failed.
#[derive(Debug, thiserror::Error)]
enum TryError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the prices were not kept: {0}")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Outcome of a try that succeeded.
#[derive(Debug, Default)]
struct Found {
    rows: usize,
    changed: bool,
}

/// Fetches what is due until the task is dropped.
pub async fn run(app: App) {
    let machine = Clock::system();
    while feeds_by_zone(&app).next().is_some() {
        if let Err(failure) = fetch_due(&app).await {
            error!(%failure, "price feeds were not looked at");
        }
        machine.until(machine.now() + LOOK_AGAIN).await;
    }
}

/// Feeds of the settings, by zone.
fn feeds_by_zone(app: &App) -> impl Iterator<Item = (&String, &ZoneSettings, &FeedSettings)> {
    let zones = app.config().zones.iter();
    zones.filter_map(|(id, zone)| Some((id, zone, zone.feed.as_ref()?)))
}

/// Fetches all feeds that are due, side by side. Returns how many were fetched here.
///
/// # Errors
/// The database failed.
pub async fn fetch_due(app: &App) -> Result<usize, StoreError> {
    let kept = all_feeds(app.store()).await?;
    let now = app.clock().machine().now();
    let mut turns = JoinSet::new();
    for (zone_id, _, _) in feeds_by_zone(app) {
        let state = kept.iter().find(|state| state.zone_id == *zone_id);
        record_metrics(zone_id, state, now);
        if state.is_none_or(|state| state.next_at <= now) {
            let (app, zone_id) = (app.clone(), zone_id.clone());
            turns.spawn(async move { fetch_leased(&app, &zone_id, Turn::IfDue).await });
        }
    }
    let mut fetched = 0;
    while let Some(turn) = turns.join_next().await {
        match turn {
            Ok(Ok(state)) => fetched += usize::from(state.is_some()),
            Ok(Err(failure)) => error!(%failure, "the state of a price feed was not kept"),
            // Its lease expires, and the feed is fetched again.
            Err(panic) => log_panic("price feeds", &panic.to_string()),
        }
    }
    Ok(fetched)
}

/// Fetches a feed at once, whenever it is due, and reports what came of it.
///
/// # Errors
/// There is no such feed, it is being fetched, or the database failed. That the publisher failed is
/// part of the report.
pub async fn fetch_now(app: &App, zone_id: &str) -> Result<FeedReport, FetchNowError> {
    let zone = || zone_id.to_owned();
    let configured = feeds_by_zone(app).find(|(id, _, _)| *id == zone_id);
    let (_, _, feed) = configured.ok_or_else(|| FetchNowError::NoFeed { zone: zone() })?;
    let state = fetch_leased(app, zone_id, Turn::AtOnce).await?;
    let state = state.ok_or_else(|| FetchNowError::Busy { zone: zone() })?;
    Ok(report_feed(app, feed, zone_id, Some(&state)))
}

/// All feeds of the settings, and what came of their last tries.
///
/// # Errors
/// The database failed.
pub async fn list_feeds(app: &App) -> Result<Vec<FeedReport>, StoreError> {
    let kept = all_feeds(app.store()).await?;
    let shown = feeds_by_zone(app).map(|(zone_id, _, feed)| {
        let state = kept.iter().find(|state| state.zone_id == *zone_id);
        report_feed(app, feed, zone_id, state)
    });
    Ok(shown.collect())
}

fn report_feed(
    app: &App,
    feed: &FeedSettings,
    zone_id: &str,
    state: Option<&FeedState>,
) -> FeedReport {
    FeedReport {
        zone: zone_id.to_owned(),
        format: feed.format.as_str(),
        tried_at: state.and_then(|state| state.tried_at),
        succeeded_at: state.and_then(|state| state.succeeded_at),
        next_at: state.filter(|state| state.tried_at.is_some()).map(|state| state.next_at),
        failures: state.map_or(0, |state| state.failures),
        failure: state.and_then(|state| state.last_failure.clone()),
        rows: state.and_then(|state| state.last_rows),
        prices_until: find_end(app, zone_id),
    }
}

/// End of the last known market price of a zone.
fn find_end(app: &App, zone_id: &str) -> Option<DateTime<Utc>> {
    let name = SeriesName::Market { zone_id: zone_id.to_owned() };
    app.prices().read(|book| Some(book.series(&name)?.curve.slots().last()?.end))
}

/// Age of the last success, and failures since then, as numbers for operators.
fn record_metrics(zone_id: &str, state: Option<&FeedState>, now: DateTime<Utc>) {
    let succeeded_at = state.and_then(|state| state.succeeded_at);
    let age = succeeded_at.map_or(f64::INFINITY, |at| (now - at).as_seconds_f64());
    let failures = state.map_or(0, |state| state.failures);
    gauge!("slackwater_price_feed_age_seconds", "zone" => zone_id.to_owned()).set(age);
    gauge!("slackwater_price_feed_failures", "zone" => zone_id.to_owned()).set(f64::from(failures));
}

/// Condition of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Unless another process has fetched it meanwhile.
    IfDue,
    /// In any case.
    AtOnce,
}

/// Fetches a feed with its lease. Returns what is kept of it; `None` if it is not this turn's.
async fn fetch_leased(
    app: &App,
    zone_id: &str,
    turn: Turn,
) -> Result<Option<FeedState>, StoreError> {
    let Some(zone) = app.config().zones.get(zone_id) else { return Ok(None) };
    let Some(feed) = &zone.feed else { return Ok(None) };
    let machine = app.clock().machine();
    let (holder, now) = (app.planner().owner(), machine.now());
    let length = TimeDelta::seconds(i64::from(feed.timeout_seconds) * 2) + MARGIN;
    let mut change = app.store().begin().await?;
    let lease = Lease::new(holder, now, length);
    let acquired = acquire_feed(change.connection(), zone_id, &lease).await?;
    let Some(mut state) = acquired else { return Ok(None) };
    if turn == Turn::IfDue && state.next_at > now {
        // The change is rolled back, and the lease with it.
        return Ok(None);
    }
    change.commit(|| ()).await?;
    let tried = fetch_all(app, (zone_id, zone, feed), &mut state, now).await;
    record_try(feed, &mut state, tried, machine.now());
    record_metrics(zone_id, Some(&state), machine.now());
    let mut change = app.store().begin().await?;
    let is_ours = record_feed_and_release(change.connection(), &state, holder).await?;
    change.commit(|| ()).await?;
    Ok(is_ours.then_some(state))
}

/// Asks for today and tomorrow, and keeps what is new. Validators of what was kept go into `state`,
/// also if a later request fails.
async fn fetch_all(
    app: &App,
    (zone_id, zone, feed): (&str, &ZoneSettings, &FeedSettings),
    state: &mut FeedState,
    now: DateTime<Utc>,
) -> Result<Found, TryError> {
    let client = app.https()?;
    let requests = plan_requests(feed, zone.currency, now);
    state.validators.retain(|key, _| requests.iter().any(|request| request.key == *key));
    let mut found = Found::default();
    for request in &requests {
        let last = state.validators.get(&request.key);
        let (text, validators) = match fetch_reply(&client, feed, request, last, now).await? {
            Reply::Unchanged | Reply::NotPublished => continue,
            Reply::Text { text, validators } => (text, validators),
        };
        let prices = read_reply(&text, feed, zone.currency)?;
        for note in prices.notes(feed.time_zone.unwrap_or(Tz::UTC)).iter().take(NOTES_MAX) {
            info!(zone = zone_id, note, "market prices");
        }
        found.rows += prices.curve.len();
        found.changed |= keep_market(app, zone_id, zone.currency, &prices.curve).await?;
        state.validators.insert(request.key.clone(), validators);
    }
    Ok(found)
}

/// Writes the outcome of a try into the state of the feed, the log and the metrics.
fn record_try(
    feed: &FeedSettings,
    state: &mut FeedState,
    result: Result<Found, TryError>,
    now: DateTime<Utc>,
) {
    let zone = state.zone_id.clone();
    state.tried_at = Some(now);
    let outcome = match result {
        Ok(Found { rows, changed }) => {
            let tries = u64::from(state.failures) + 1;
            (state.failures, state.last_failure, state.succeeded_at) = (0, None, Some(now));
            state.next_at = add_time(now, TimeDelta::seconds(feed.every_seconds.into()));
            if rows > 0 {
                state.last_rows = u32::try_from(rows).ok();
            }
            let format = feed.format.as_str();
            if changed {
                info!(zone, feed = format, rows, tries, "market prices were fetched");
                "changed"
            } else {
                debug!(zone, feed = format, rows, tries, "market prices have not changed");
                "unchanged"
            }
        }
        Err(failure) => {
            state.failures = state.failures.saturating_add(1);
            // Without random numbers all come at once, which is no reason to stop.
            let dice = random::<2>().map_or(0, u16::from_le_bytes);
            let asked = match &failure {
                TryError::Fetch(failure) => failure.retry_after().unwrap_or_default(),
                _ => TimeDelta::zero(),
            };
            let wait = backoff::wait(state.failures, dice).max(asked.min(RETRY_AFTER_MAX));
            state.next_at = add_time(now, wait);
            let failure = describe_failure(feed, &failure);
            let (format, failures, next) = (feed.format.as_str(), state.failures, state.next_at);
            warn!(zone, feed = format, failures, %next, failure, "market prices were not fetched");
            state.last_failure = Some(failure);
            "failed"
        }
    };
    counter!("slackwater_price_fetches_total", "zone" => zone, "outcome" => outcome).increment(1);
}

/// Text of a failure in one line. A publisher may have repeated the token in what it said.
fn describe_failure(feed: &FeedSettings, failure: &impl Display) -> String {
    let text = failure.to_string();
    let text = match &feed.token {
        Some(token) => text.replace(token.text(), "***"),
        None => text,
    };
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(FAILURE_CHARS_MAX).collect()
}

fn add_time(now: DateTime<Utc>, time: TimeDelta) -> DateTime<Utc> {
    now.checked_add_signed(time).unwrap_or(DateTime::<Utc>::MAX_UTC)
}
