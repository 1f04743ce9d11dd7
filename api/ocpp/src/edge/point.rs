//! A charge point in memory: its state, the way to its connection, and who is told of changes.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use chrono::{DateTime, Utc};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::edge::files::Kept;
use crate::facts::{Reply, Request};
use crate::messages::{Messages, Sender};
use crate::station::state::Rules;

/// Orders that wait for the task of a connection.
const ORDERS_MAX: usize = 32;

/// Links that are kept per charge point. An owner who links again has a new one.
const LINKS_MAX: usize = 8;

/// Request for the charge point at the other end of a connection.
#[derive(Debug)]
pub struct Order {
    /// The request.
    pub request: Request,
    /// Receiver of the reply.
    pub reply: oneshot::Sender<Reply>,
}

/// Way to the task of a connection.
#[derive(Debug, Clone)]
struct Way {
    number: u64,
    /// Boxed, since a channel keeps room for 32 of them.
    orders: mpsc::Sender<Box<Order>>,
    progress: Option<Progress>,
}

/// Progress of a connection.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// Time at which it looked at the time last.
    ticked_at: DateTime<Utc>,
    /// True if the charge point has to answer a request.
    is_waiting: bool,
}

/// A charge point.
#[derive(Debug)]
pub struct Point {
    /// Its identity.
    pub identity: String,
    /// Rules that it is held to.
    pub rules: Rules,
    kept: Mutex<Kept>,
    way: Mutex<Option<Way>>,
    messages: Mutex<Messages>,
    /// Told that a limit was decided which its connection is to send.
    decision: Notify,
    /// Task of its site, which is told that the state has changed.
    site: OnceLock<Arc<Notify>>,
    is_forgotten: AtomicBool,
    /// One writer at a time, so that the last state is the last one written.
    pub(crate) saving: tokio::sync::Mutex<()>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Point {
    pub(crate) fn new(identity: String, rules: Rules, kept: Kept) -> Self {
        Self {
            identity,
            rules,
            kept: Mutex::new(kept),
            way: Mutex::default(),
            messages: Mutex::default(),
            decision: Notify::new(),
            site: OnceLock::new(),
            is_forgotten: AtomicBool::new(false),
            saving: tokio::sync::Mutex::default(),
        }
    }

    /// State of the charge point, locked. Hold it for a step, not for a call.
    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }

    /// Puts a connection in place of an earlier one, which ends with its channel. That of a charge
    /// point which is forgotten ends at once.
    pub fn connect(&self, number: u64) -> mpsc::Receiver<Box<Order>> {
        let (orders, receiver) = mpsc::channel(ORDERS_MAX);
        let mut way = lock(&self.way);
        if !self.is_forgotten() {
            *way = Some(Way { number, orders, progress: None });
        }
        receiver
    }

    /// Removes a connection. Returns false if another one has taken its place.
    pub fn disconnect(&self, number: u64) -> bool {
        lock(&self.way).take_if(|way| way.number == number).is_some()
    }

    /// Takes over the progress of a connection.
    pub(crate) fn note_progress(&self, number: u64, ticked_at: DateTime<Utc>, is_waiting: bool) {
        if let Some(way) = lock(&self.way).as_mut().filter(|way| way.number == number) {
            way.progress = Some(Progress { ticked_at, is_waiting });
        }
    }

    /// Returns true unless its connection has yet to look at a time, to send an order, or to hear a
    /// reply.
    pub(crate) fn is_idle(&self, at: DateTime<Utc>) -> bool {
        lock(&self.way).as_ref().is_none_or(|way| {
            let has_no_order = way.orders.capacity() == ORDERS_MAX;
            let is_done = |progress: Progress| progress.ticked_at >= at && !progress.is_waiting;
            has_no_order && way.progress.is_some_and(is_done)
        })
    }

    /// Ends its connection and its links for good. Its state is not written any more.
    pub(crate) fn forget(&self) {
        let mut way = lock(&self.way);
        self.is_forgotten.store(true, Ordering::Relaxed);
        *way = None;
        drop(way);
        self.kept().links.clear();
    }

    /// Returns true if the operator has removed it.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.is_forgotten.load(Ordering::Relaxed)
    }

    /// Sends a request to the charge point and returns the receiver of its reply; `None` if it is
    /// not connected, or too many requests wait.
    #[must_use]
    pub fn order(&self, request: Request) -> Option<oneshot::Receiver<Reply>> {
        let way = lock(&self.way).clone()?;
        let (reply, receiver) = oneshot::channel();
        way.orders.try_send(Box::new(Order { request, reply })).ok()?;
        Some(receiver)
    }

    /// Adds the digest of a link's token, in place of the oldest if there are many.
    pub fn add_link(&self, digest: String) {
        let mut kept = self.kept();
        kept.links.push(digest);
        let surplus = kept.links.len().saturating_sub(LINKS_MAX);
        kept.links.drain(..surplus);
    }

    /// Keeps a text for operators.
    pub fn add_message(&self, from: Sender, text: &str, at: DateTime<Utc>) {
        lock(&self.messages).add_text(from, text, at);
    }

    /// Last messages, the oldest first.
    pub fn messages(&self) -> Messages {
        lock(&self.messages).clone()
    }

    /// Names the task of the site that the charge point belongs to.
    pub(crate) fn join_site(&self, site: Arc<Notify>) {
        // A charge point is in one site. The meter of several tells the first of them at once.
        let _ = self.site.set(site);
    }

    /// Tells the site that the state has changed.
    pub(crate) fn tell_site(&self) {
        if let Some(site) = self.site.get() {
            site.notify_one();
        }
    }

    /// Tells the connection that a limit was decided.
    pub(crate) fn tell_connection(&self) {
        self.decision.notify_one();
    }

    /// Waits until a limit was decided.
    pub(crate) async fn wait_for_decision(&self) {
        self.decision.notified().await;
    }
}
