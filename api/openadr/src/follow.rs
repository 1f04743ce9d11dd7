//! One turn: ask the VTN, decide, tell the service.
//!
//! A heartbeat follows each successful reading of the events, and nothing else. The order is sent where
//! the service keeps another one, so that nothing of earlier turns is kept here: a service that was
//! down, that lost its database, or that another program told something has the right order again after
//! one turn.
use std::time::Duration;

use chrono::{DateTime, Utc};
use slackwater_control::grid_order::limit::{GridMessage, GridOrder, GridReason};
use slackwater_control::grid_order::schedule::{LimitInterval, order_at};
use tracing::{error, info};

use crate::limits::{EventError, read_limits};
use crate::service::{SenderState, Service, ServiceError};
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
    let state = if is_alive {
        service.send_message(GridMessage::Heartbeat).await?
    } else {
        service.read_sender().await?
    };
    let Some(message) = next_message(state, wanted, is_alive) else { return Ok(()) };
    service.send_message(message).await?;
    if let Some(GridOrder { limit, until }) = wanted {
        let until = until.map(|until| until.to_rfc3339());
        info!(limit_kw = limit.as_kw(), until, "ordered");
    } else {
        info!("released");
    }
    Ok(())
}

/// Message that makes the service keep an order, or none; `None` if it does already. A fail-safe ends
/// only by an order or a release after the heartbeat, so it is sent again then.
fn next_message(
    state: SenderState,
    wanted: Option<GridOrder>,
    is_alive: bool,
) -> Option<GridMessage> {
    let ends_fail_safe = is_alive && state.reason == GridReason::FailSafe;
    let is_new = state.order != wanted;
    (is_new || ends_fail_safe).then(|| wanted.map_or(GridMessage::Release, GridMessage::Order))
}

#[cfg(test)]
mod tests {
    use slackwater_engine::units::kw;

    use super::*;

    #[test]
    fn an_order_is_sent_where_the_service_keeps_another() {
        let order = GridOrder { limit: kw(4.2), until: None };
        let send = |order, reason, wanted, is_alive| {
            next_message(SenderState { order, reason }, wanted, is_alive)
        };
        let (free, ordered) = (GridReason::Free, GridReason::Ordered);
        assert_eq!(send(None, free, None, true), None);
        assert_eq!(send(None, free, Some(order), true), Some(GridMessage::Order(order)));
        assert_eq!(send(Some(order), ordered, Some(order), true), None);
        assert_eq!(send(Some(order), ordered, None, true), Some(GridMessage::Release));
        // The end of a fail-safe needs a message after the heartbeat, and none without one.
        let lost = GridReason::FailSafe;
        assert_eq!(send(Some(order), lost, Some(order), true), Some(GridMessage::Order(order)));
        assert_eq!(send(None, lost, None, true), Some(GridMessage::Release));
        assert_eq!(send(None, lost, None, false), None);
        assert_eq!(send(None, lost, Some(order), false), Some(GridMessage::Order(order)));
    }
}
