//! State that the service must have, and the loop that makes it so.
//!
//! The box decides the state. Of several states only the newest is sent, and a state that the service did
//! not take is sent again. A heartbeat of the box is passed on once, when it is heard: a late one would
//! put off the fail-safe of the service.
use std::time::Duration;

use slackwater_control::grid_order::limit::{GridMessage, GridReason};
use slackwater_grid_client::service::{SenderState, Service, ServiceError};
use tokio::sync::watch::{Receiver, Sender};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{error, info, warn};

/// Longest time for all requests of one state: two fit into the time that a box waits for its answer.
const TURN_MAX: Duration = Duration::from_secs(4);

/// Time after which a state is sent again that the service did not take.
const RETRY: Duration = Duration::from_secs(1);

/// State that the service must have.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WantedState {
    /// The order or release that holds; `None` while the box has decided nothing.
    pub message: Option<GridMessage>,
    /// Number of the message, from 1. A message that is written again has another one.
    pub number: u64,
    /// Heartbeats of the box so far.
    pub heartbeats: u64,
}

/// Failure to bring the service to a state.
#[derive(Debug, thiserror::Error)]
enum TurnError {
    /// A request failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// No answer in time.
    #[error("the service did not answer within {} s", TURN_MAX.as_secs())]
    Late,
}

/// Brings the service to each state, until the sender of states is gone. `taken` gets the number of the
/// last message that is in force there.
pub async fn follow_states(
    service: Service,
    mut wanted: Receiver<WantedState>,
    taken: Sender<u64>,
) {
    let (mut heartbeats, mut retry) = (0, None::<Instant>);
    loop {
        let retried_at = retry.unwrap_or_else(Instant::now);
        tokio::select! {
            changed = wanted.changed() => if changed.is_err() { return },
            () = sleep_until(retried_at), if retry.is_some() => {}
        }
        let state = *wanted.borrow_and_update();
        let is_alive = state.heartbeats != heartbeats;
        heartbeats = state.heartbeats;
        let turn = timeout(TURN_MAX, tell_service(&service, state.message, is_alive)).await;
        match turn.unwrap_or(Err(TurnError::Late)) {
            Ok(is_in_force) => {
                retry = None;
                if is_in_force {
                    taken.send_replace(state.number);
                } else {
                    warn!("the service is in its fail-safe until the next heartbeat of the box");
                }
            }
            Err(failure) => {
                error!(%failure, "the service was not told");
                retry = Some(Instant::now() + RETRY);
            }
        }
    }
}

/// Returns true if the message is in force: a fail-safe that has no heartbeat after it stays before it.
async fn tell_service(
    service: &Service,
    message: Option<GridMessage>,
    is_alive: bool,
) -> Result<bool, TurnError> {
    // The order goes first: a heartbeat would keep the fail-safe away from an order that is refused.
    let mut state = service.read_sender().await?;
    if let Some(message) = message.filter(|message| !is_kept(state, *message)) {
        state = send_message(service, message).await?;
    }
    if is_alive {
        state = service.send_message(GridMessage::Heartbeat).await?;
    }
    // A fail-safe ends by an order or a release after the heartbeat.
    let Some(message) = message else { return Ok(true) };
    if state.reason == GridReason::FailSafe {
        state = send_message(service, message).await?;
    }
    Ok(state.reason != GridReason::FailSafe)
}

async fn send_message(
    service: &Service,
    message: GridMessage,
) -> Result<SenderState, ServiceError> {
    let state = service.send_message(message).await?;
    if let GridMessage::Order(order) = message {
        let until = order.until.map(|until| until.to_rfc3339());
        info!(limit_kw = order.limit.as_kw(), until, "ordered");
    } else {
        info!("released");
    }
    Ok(state)
}

/// Returns true if the service keeps the order of a message, or none after a release.
fn is_kept(state: SenderState, message: GridMessage) -> bool {
    match message {
        GridMessage::Order(order) => state.order == Some(order),
        GridMessage::Release => state.order.is_none(),
        GridMessage::Heartbeat => true,
    }
}
