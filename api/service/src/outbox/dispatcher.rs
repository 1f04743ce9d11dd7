//! Dispatch of events to their receivers, with leases and retries.
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use metrics::{counter, gauge};
use sha2::{Digest, Sha256};
use slackwater_engine::time::backoff;
use slackwater_https::client::TlsError;
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tracing::field::Empty;
use tracing::{Instrument, error, info_span, warn};

use super::names::public;
use super::post::{Http, PostError, Transport, WebhookRequest};
use crate::auth::secret::{NoRandomness, generate};
use crate::clock::Clock;
use crate::state::App;
use slackwater_store::deliveries::{self, DeliveryProgress, DueSubscription, Subscription};
use slackwater_store::error::StoreError;
use slackwater_store::events::Event;
use slackwater_store::lease::Lease;
use slackwater_store::signing::SigningSecret;
use slackwater_store::trace::{TRACES, continue_trace, traceparent_of};

/// Interval between two looks at the outbox, in time of the machine.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Subscriptions that are served at one time.
const RECEIVERS_MAX: usize = 64;

/// Places for subscriptions whose last delivery failed. A receiver that hangs keeps its place until
/// the request times out; the other places stay free for receivers that answer.
const FAILING_MAX: usize = 8;

/// Events that are read at one time.
const BATCH: u32 = 64;

/// Time by which a lease is longer than a request.
const MARGIN: TimeDelta = TimeDelta::seconds(30);

/// Looks between two times that it is counted what receivers are behind by.
const LOOKS_PER_MEASURE: u64 = 15;

/// Looks between two times that old events are forgotten.
const LOOKS_PER_SWEEP: u64 = 3600;

/// Reason why nothing can be posted.
#[derive(Debug, thiserror::Error)]
pub enum DispatcherError {
    /// TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// No name can be made up for this process.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}

/// Draws a number for the pause after a failed attempt, from what names the attempt: processes and
/// receivers draw different ones, and a simulation draws the same in each run.
fn draw(attempt: &str) -> u16 {
    let [first, second, ..] = <[u8; 32]>::from(Sha256::digest(attempt.as_bytes()));
    u16::from_le_bytes([first, second])
}

/// Posts the events of one environment.
#[derive(Debug, Clone)]
pub struct Dispatcher {
    app: App,
    transport: Arc<dyn Transport>,
    /// Name of this process in leases.
    holder: Arc<str>,
    /// Receivers, and leases, live in the machine's time: a sandbox's clock may
    /// run a thousand times faster, or stand still.
    machine: Clock,
    places: DeliverySlots,
}

/// Subscriptions that are served, within the number that may be served at a time.
#[derive(Debug, Clone)]
struct DeliverySlots {
    answering: Arc<Semaphore>,
    failing: Arc<Semaphore>,
    /// Subscriptions that a task of this process serves or waits to serve: one each,
    /// so that who waits does not wait again with every look.
    taken: Arc<Mutex<HashSet<String>>>,
}

impl Default for DeliverySlots {
    fn default() -> Self {
        Self {
            answering: Arc::new(Semaphore::new(RECEIVERS_MAX - FAILING_MAX)),
            failing: Arc::new(Semaphore::new(FAILING_MAX)),
            taken: Arc::default(),
        }
    }
}

impl DeliverySlots {
    /// Takes a subscription for a task, unless another task has it.
    fn take(&self, due: DueSubscription) -> Option<ClaimedSubscription> {
        let is_new = self.taken().insert(due.id.clone());
        is_new.then(|| ClaimedSubscription { due, places: self.clone() })
    }

    fn taken(&self) -> MutexGuard<'_, HashSet<String>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A subscription in the hand of one task, until that ends in whatever way.
#[derive(Debug)]
struct ClaimedSubscription {
    due: DueSubscription,
    places: DeliverySlots,
}

impl ClaimedSubscription {
    /// Waits for a place among those of its kind.
    async fn place(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        let places = &self.places;
        let own = if self.due.has_failed { &places.failing } else { &places.answering };
        own.acquire().await
    }
}

impl Drop for ClaimedSubscription {
    fn drop(&mut self) {
        self.places.taken().remove(&self.due.id);
    }
}

/// Outcome of an event.
enum Outcome {
    Posted,
    PassedOver,
    Failed(PostError),
}

impl Dispatcher {
    /// A poster whose leases and attempts go by `machine`.
    ///
    /// # Errors
    /// There is no TLS, or the system has no random numbers.
    pub fn new(app: App, machine: Clock) -> Result<Self, DispatcherError> {
        let seconds = app.config().events.timeout_seconds;
        let http = Http::new(Duration::from_secs(seconds.into()))?;
        Ok(Self::with_transport(app, machine, (Arc::new(http), &generate()?)))
    }

    /// A poster by another way than the network, with the name of this process in leases.
    #[must_use]
    pub fn with_transport(
        app: App,
        machine: Clock,
        (transport, holder): (Arc<dyn Transport>, &str),
    ) -> Self {
        Self { app, transport, holder: holder.into(), machine, places: DeliverySlots::default() }
    }

    /// Posts until the task is dropped.
    pub async fn run(self) {
        let mut ticks = interval(LOOK_AGAIN);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for look in 0_u64.. {
            ticks.tick().await;
            match self.due().await {
                // Each in a task of its own: nobody waits for a receiver that hangs.
                Ok(due) => due.into_iter().for_each(|taken| {
                    tokio::spawn(self.clone().serve(taken));
                }),
                Err(failure) => error!(%failure, "the outbox cannot be read"),
            }
            if look % LOOKS_PER_MEASURE == 0
                && let Err(failure) = self.measure().await
            {
                error!(%failure, "the outbox cannot be measured");
            }
            if look % LOOKS_PER_SWEEP == 0
                && let Err(failure) = self.sweep().await
            {
                error!(%failure, "old events were not forgotten");
            }
        }
    }

    /// Posts all that is due now, and waits until that is done.
    ///
    /// # Errors
    /// The database failed.
    pub async fn post_due(&self) -> Result<(), StoreError> {
        let mut serving = JoinSet::new();
        for taken in self.due().await? {
            serving.spawn(self.clone().serve(taken));
        }
        serving.join_all().await;
        Ok(())
    }

    /// Forgets events that are older than the operator wants to keep.
    ///
    /// # Errors
    /// The database failed.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        let days = TimeDelta::days(self.app.config().events.keep_days.into());
        let Some(before) = self.app.now().checked_sub_signed(days) else { return Ok(()) };
        let mut change = self.app.store().begin().await?;
        deliveries::delete_events_before(change.connection(), self.app.environment(), before)
            .await?;
        change.commit(|| ()).await
    }

    async fn due(&self) -> Result<Vec<ClaimedSubscription>, StoreError> {
        let app = &self.app;
        let due = deliveries::due_subscriptions(app.store(), app.environment(), self.machine.now())
            .await?;
        Ok(due.into_iter().filter_map(|due| self.places.take(due)).collect())
    }

    /// Tells operators how far the slowest receiver is behind.
    async fn measure(&self) -> Result<(), StoreError> {
        let environment = self.app.environment();
        let behind = deliveries::count_waiting_events(self.app.store(), environment).await?;
        gauge!("slackwater_events_behind", "environment" => environment.as_str())
            .set(behind as f64);
        let oldest = deliveries::oldest_waiting_event(self.app.store(), environment).await?;
        let age = oldest.map_or(TimeDelta::zero(), |at| self.app.now() - at);
        gauge!("slackwater_event_oldest_seconds", "environment" => environment.as_str())
            .set(age.as_seconds_f64());
        Ok(())
    }

    /// Serves one receiver until there is nothing left for it, or it fails.
    async fn serve(self, taken: ClaimedSubscription) {
        let Ok(_place) = taken.place().await else { return };
        let id = &taken.due.id;
        if let Err(failure) = self.post_all(id).await {
            error!(%failure, subscription = id, "events could not be posted");
        }
    }

    async fn post_all(&self, id: &str) -> Result<(), StoreError> {
        let mut change = self.app.store().begin().await?;
        let leased =
            deliveries::acquire_subscription(change.connection(), id, &self.lease()).await?;
        change.commit(|| ()).await?;
        let Some(subscription) = leased else { return Ok(()) };
        let secret = subscription.signing_secret(self.app.store().keys())?;
        let mut seq = subscription.posted_seq;
        let mut failures = subscription.failures;
        loop {
            let client_id = &subscription.client_id;
            let batch =
                deliveries::client_events_after(self.app.store(), client_id, seq, BATCH).await?;
            for event in &batch {
                let served = match self.post(&subscription, secret.as_ref(), event).await {
                    Outcome::PassedOver => {
                        seq = event.seq;
                        continue;
                    }
                    Outcome::Posted => self.served(event.seq),
                    Outcome::Failed(failure) => {
                        failures = failures.saturating_add(1);
                        let served = self.after(&subscription, event, failures, &failure, seq);
                        return self.settle(id, &served, false).await.map(|_| ());
                    }
                };
                (seq, failures) = (event.seq, 0);
                if !self.settle(id, &served, true).await? {
                    return Ok(());
                }
            }
            if batch.len() < BATCH as usize {
                let served = DeliveryProgress { failures, ..self.served(seq) };
                return self.settle(id, &served, false).await.map(|_| ());
            }
        }
    }

    /// Posts an event, if the subscription asks for it.
    async fn post(
        &self,
        subscription: &Subscription,
        secret: Option<&SigningSecret>,
        event: &Event,
    ) -> Outcome {
        let name = public(&self.app.config().events, &event.name);
        let wanted = |name: &str| {
            subscription.events.is_empty() || subscription.events.iter().any(|one| one == name)
        };
        let (Some(name), Some(template)) =
            (name.filter(|name| wanted(name)), &subscription.template)
        else {
            return Outcome::PassedOver;
        };
        let version = subscription.version.unwrap_or(event.version);
        let shown = Event { name: name.to_owned(), version, ..event.clone() };
        let (id, body) = (event.id.to_string(), template.body(&shown));
        let timestamp = self.machine.now().timestamp();
        let url = subscription.url.as_str();
        let span = info_span!(
            target: TRACES, parent: None, "deliver event", otel.kind = "client", event.id = id,
            event.name = name, attempt = i64::from(subscription.failures) + 1, outcome = Empty,
            otel.status_code = Empty
        );
        continue_trace(&span, event.traceparent.as_deref());
        let traceparent = traceparent_of(&span);
        let traceparent = traceparent.as_deref();
        let letter = WebhookRequest { url, id: &id, timestamp, body: &body, secret, traceparent };
        let posted = self.transport.post(&letter).instrument(span.clone()).await;
        let outcome = if posted.is_ok() { "posted" } else { "failed" };
        span.record("outcome", outcome);
        if posted.is_err() {
            span.record("otel.status_code", "ERROR");
        }
        counter!("slackwater_deliveries_total", "outcome" => outcome).increment(1);
        posted.map_or_else(Outcome::Failed, |()| Outcome::Posted)
    }

    fn served(&self, posted_seq: i64) -> DeliveryProgress {
        DeliveryProgress { posted_seq, failures: 0, due_at: self.machine.now(), last_failure: None }
    }

    /// Progress after a failure: another attempt later, or the end of this event.
    fn after(
        &self,
        subscription: &Subscription,
        event: &Event,
        failures: u32,
        failure: &PostError,
        seq: i64,
    ) -> DeliveryProgress {
        let most = self.app.config().events.attempts_max;
        let is_over = most.is_some_and(|most| failures >= most);
        let name = &subscription.name;
        if is_over {
            error!(subscription = name, event = %event.id, %failure, "an event was given up");
            counter!("slackwater_deliveries_total", "outcome" => "given_up").increment(1);
        } else {
            warn!(subscription = name, event = %event.id, failures, %failure, "not posted");
        }
        let attempt = format!("{} {name} {seq} {failures}", self.holder);
        let wait = backoff::wait(failures, draw(&attempt));
        DeliveryProgress {
            posted_seq: if is_over { event.seq } else { seq },
            failures: if is_over { 0 } else { failures },
            due_at: self.machine.now().checked_add_signed(wait).unwrap_or(DateTime::<Utc>::MAX_UTC),
            last_failure: Some(failure.to_string()),
        }
    }

    /// Records the progress of a subscription, and renews its lease (`goes_on`) or gives it back.
    async fn settle(
        &self,
        id: &str,
        served: &DeliveryProgress,
        goes_on: bool,
    ) -> Result<bool, StoreError> {
        let mut change = self.app.store().begin().await?;
        let to = change.connection();
        let was_held = if goes_on {
            deliveries::record_and_renew(to, id, served, &self.lease()).await?
        } else {
            deliveries::record_and_release(to, id, served, &self.holder).await?
        };
        change.commit(move || was_held).await
    }

    fn lease(&self) -> Lease<'_> {
        let seconds = TimeDelta::seconds(self.app.config().events.timeout_seconds.into());
        Lease::new(&self.holder, self.machine.now(), seconds + MARGIN)
    }
}
