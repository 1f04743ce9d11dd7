//! The one way in which a command becomes an action.
use slackwater_control::device::action::{ActionEvent, ActionState};
use slackwater_control::device::command::{Command, Refusal};
use slackwater_control::device::hvac::HoldError;
use slackwater_control::device::pursuit::window_end;
use uuid::Uuid;

use crate::control::actions::{self, PendingUpdates};
use crate::control::facts::ControlContext;
use crate::state::App;
use slackwater_store::actions::{self as rows, Action, Origin};
use slackwater_store::error::StoreError;

/// Number of attempts of an order when other replicas are faster.
const ATTEMPTS_MAX: usize = 10;

/// Reason why a command does not become an action.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// There is no such device.
    #[error("there is no such device")]
    NoSuchDevice,
    /// The device, its owner or whoever is in charge of it stands against it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The unit does not take this setting.
    #[error(transparent)]
    Hold(#[from] HoldError),
    /// The database failed, and there is no action.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes an action of a command. It is kept when this returns, and pursued from
/// then on; the manufacturer has not been called yet (ACT-07, ACT-08).
///
/// Decided within the writer's turn: of many who order at once, each ends the
/// action of the one before (ACT-13, ACT-14).
///
/// # Errors
/// There is no such device, or it is refused, and nothing is kept.
pub async fn order(
    app: &App,
    device_id: Uuid,
    command: Command,
    origin: Origin,
) -> Result<Action, OrderError> {
    let mut attempt = 1;
    loop {
        match try_order(app, device_id, command, origin).await {
            Err(OrderError::Store(error)) if error.is_conflict() && attempt < ATTEMPTS_MAX => {
                attempt += 1;
            }
            done => return done,
        }
    }
}

/// Returns `true` if a device would take a command of its client now, by its last reading.
#[must_use]
pub fn takes_order(app: &App, device_id: Uuid, command: &Command) -> bool {
    let now = app.now();
    app.cache().read(|tables| {
        let Some(device) = tables.any_device(device_id) else { return false };
        let facts = ControlContext { device, tables, now }.of_command(command, Origin::Client);
        command.check(&facts).is_ok()
    })
}

async fn try_order(
    app: &App,
    device_id: Uuid,
    command: Command,
    origin: Origin,
) -> Result<Action, OrderError> {
    let mut change = app.store().begin().await?;
    let now = app.now();
    let device = app.cache().read(|tables| tables.any_device(device_id).cloned());
    let device = device.ok_or(OrderError::NoSuchDevice)?;
    let told = rows::last_sent_action(change.connection(), device.id).await?;
    let window = app.config().action.persistence();
    let is_awaited = told.is_some_and(|told| now < window_end(&told.progress, window));
    app.cache().read(|tables| {
        let scene = ControlContext { device: &device, tables, now };
        let mut facts = scene.of_command(&command, origin);
        facts.is_unsettled |= is_awaited;
        command.check(&facts)?;
        match &command {
            Command::Hold(hold) => hold.check(&scene.hvac_limits()).map_err(OrderError::from),
            _ => Ok(()),
        }
    })?;
    let mut effects = PendingUpdates::default();
    let action =
        actions::begin_action(&mut change, &mut effects, &device, (command, origin), now).await?;
    change.commit(effects.shown_in(app)).await?;
    Ok(action)
}

/// Answer to a request to cancel an action.
#[derive(Debug, Clone, PartialEq)]
pub enum Cancelled {
    /// It is cancelled (ACT-16).
    Now(Action),
    /// It had ended before, and stays as it is (ACT-18).
    Before(Action),
}

/// An action of a client, or of any where none is given, among those that are meant.
///
/// # Errors
/// The database failed.
pub async fn find_action(
    app: &App,
    id: Uuid,
    client_id: Option<&str>,
    is_meant: impl Fn(&Action) -> bool,
) -> Result<Option<Action>, StoreError> {
    Ok(rows::get_action(app.store(), id, client_id).await?.filter(is_meant))
}

/// Calls an action off by hand. Only what is kept changes: a command that the
/// manufacturer has may still be carried out (ACT-17). `None` if there is no
/// such action of the client, or of any where none is given, among those that are meant.
///
/// # Errors
/// The database failed, and nothing changed.
pub async fn cancel_action(
    app: &App,
    id: Uuid,
    client_id: Option<&str>,
    is_meant: impl Fn(&Action) -> bool,
) -> Result<Option<Cancelled>, StoreError> {
    let mut change = app.store().begin().await?;
    let found = rows::get_action_in(change.connection(), id, client_id).await?;
    let Some(action) = found.filter(&is_meant) else { return Ok(None) };
    if action.progress.state != ActionState::Pending {
        return Ok(Some(Cancelled::Before(action)));
    }
    change.claim([action.target_id]).await?;
    let mut effects = PendingUpdates::default();
    let event = ActionEvent::CancelRequested;
    let ended = actions::end_action(&mut change, &mut effects, action, &event, app.now()).await?;
    change.commit(effects.shown_in(app)).await?;
    match ended {
        Some(action) => Ok(Some(Cancelled::Now(action))),
        // Another replica ended it in between.
        None => Ok(find_action(app, id, client_id, is_meant).await?.map(Cancelled::Before)),
    }
}
