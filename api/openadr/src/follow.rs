//! One turn: ask the VTN, decide, tell the service.
//!
//! A heartbeat follows each successful reading of the events whose order the service took, and nothing
//! else. The order is sent where the service keeps another one, so that nothing of earlier turns is
//! kept here: a service that was down, that lost its database, or that another program told something
//! has the right order again after one turn.
use std::time::Duration;

use chrono::{DateTime, Utc};
use slackwater_control::grid_order::limit::{GridMessage, GridOrder, GridReason};
use slackwater_control::grid_order::schedule::{LimitInterval, order_at};
use slackwater_grid_client::service::{SenderState, Service, ServiceError};
use tracing::{error, info};

use crate::limits::{EventError, read_limits};
use crate::vtn::{Vtn, VtnError};

/// Time after which a turn that failed is repeated, if the next one is not earlier.
const RETRY: Duration = Duration::from_secs(5);

/// Shortest time between two turns.
const PAUSE_MIN: Duration = Duration::from_millis(50);

/// Failure to learn the limits.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The VTN failed.
    #[error(transparent)]
    Vtn(#[from] VtnError),
    /// An event cannot be followed.
    #[error(transparent)]
    Event(#[from] EventError),
}

/// Follows a program of a VTN for a sender of the service.
pub struct Follower {
    vtn: Vtn,
    service: Service,
    targets: Vec<String>,
    /// Time between two turns without a change of the limit.
    pause: Duration,
    /// Limits as they were last read; `None` before the first time.
    known: Option<Vec<LimitInterval>>,
}

impl Follower {
    /// Knows no limits yet.
    #[must_use]
    pub const fn new(vtn: Vtn, service: Service, targets: Vec<String>, pause: Duration) -> Self {
        Self { vtn, service, targets, pause, known: None }
    }

    /// Takes a turn, and returns the time up to the next one. Failures are logged.
    ///
    /// While the VTN fails, limits that were known before go on by their own times, without a heartbeat.
    pub async fn follow_once(&mut self, clock: impl Fn() -> DateTime<Utc>) -> Duration {
        let read = self.read_intervals().await;
        let is_alive = read.is_ok();
        match read {
            Ok(intervals) => self.known = Some(intervals),
            Err(failure) => error!(%failure, "no heartbeat is sent"),
        }
        let mut pause = if is_alive { self.pause } else { self.pause.min(RETRY) };
        let Some(known) = &self.known else { return pause };
        let now = clock();
        let wanted = order_at(known, now);
        if let Err(failure) = tell_service(&self.service, wanted.order, is_alive).await {
            error!(%failure, "the service was not told");
            pause = pause.min(RETRY);
        }
        let rest = |change: DateTime<Utc>| (change - clock()).to_std().unwrap_or_default();
        wanted.next_change.map_or(pause, rest).clamp(PAUSE_MIN, pause)
    }

    async fn read_intervals(&mut self) -> Result<Vec<LimitInterval>, ReadError> {
        let events = self.vtn.read_events().await?;
        let mut intervals = Vec::new();
        for event in &events {
            intervals.extend(read_limits(event, &self.targets)?);
        }
        Ok(intervals)
    }
}

async fn tell_service(
    service: &Service,
    wanted: Option<GridOrder>,
    is_alive: bool,
) -> Result<(), ServiceError> {
    // The order goes first: a heartbeat would keep the fail-safe away from an order that is refused.
    let state = service.read_sender().await?;
    if let Some(message) = next_message(state, wanted, is_alive) {
        send_order(service, message).await?;
    }
    if !is_alive {
        return Ok(());
    }
    let state = service.send_message(GridMessage::Heartbeat).await?;
    // A fail-safe ends by an order or a release after the heartbeat.
    if state.reason == GridReason::FailSafe {
        send_order(service, message_of(wanted)).await?;
    }
    Ok(())
}

async fn send_order(service: &Service, message: GridMessage) -> Result<(), ServiceError> {
    service.send_message(message).await?;
    if let GridMessage::Order(GridOrder { limit, until }) = message {
        let until = until.map(|until| until.to_rfc3339());
        info!(limit_kw = limit.as_kw(), until, "ordered");
    } else {
        info!("released");
    }
    Ok(())
}

fn message_of(wanted: Option<GridOrder>) -> GridMessage {
    wanted.map_or(GridMessage::Release, GridMessage::Order)
}

/// Message that makes the service keep an order, or none; `None` if it does already.
///
/// While the VTN is silent, nothing is ordered once the fail-safe has ended by its own time: an order
/// without a heartbeat could not be taken back, and would hold until the VTN returns.
fn next_message(
    state: SenderState,
    wanted: Option<GridOrder>,
    is_alive: bool,
) -> Option<GridMessage> {
    let is_new = state.order != wanted;
    (is_new && (is_alive || !state.has_given_up())).then(|| message_of(wanted))
}

#[cfg(test)]
mod tests {
    use slackwater_engine::units::kw;

    use super::*;

    #[test]
    fn an_order_is_sent_where_the_service_keeps_another() {
        let order = GridOrder { limit: kw(4.2), until: None };
        let later = "2026-01-05T18:00:00Z".parse().ok();
        let send = |order, reason, wanted, is_alive| {
            let state = SenderState { order, reason, fail_safe: Some(kw(3.0)), next_change: later };
            next_message(state, wanted, is_alive)
        };
        let (free, ordered) = (GridReason::Free, GridReason::Ordered);
        assert_eq!(send(None, free, None, true), None);
        assert_eq!(send(None, free, Some(order), true), Some(GridMessage::Order(order)));
        assert_eq!(send(None, free, Some(order), false), Some(GridMessage::Order(order)));
        assert_eq!(send(Some(order), ordered, Some(order), true), None);
        assert_eq!(send(Some(order), ordered, None, true), Some(GridMessage::Release));
        let lost = GridReason::FailSafe;
        assert_eq!(send(None, lost, None, false), None);
        assert_eq!(send(None, lost, Some(order), false), Some(GridMessage::Order(order)));
    }

    #[test]
    fn nothing_is_ordered_without_a_heartbeat_once_the_fail_safe_is_over() {
        let order = Some(GridOrder { limit: kw(0.0), until: None });
        let state = SenderState {
            order: None,
            reason: GridReason::Free,
            fail_safe: Some(kw(3.0)),
            next_change: None,
        };
        assert_eq!(next_message(state, order, false), None);
        assert_eq!(next_message(state, order, true), Some(message_of(order)));
        let without = SenderState { fail_safe: None, ..state };
        assert_eq!(next_message(without, order, false), Some(message_of(order)));
    }
}
