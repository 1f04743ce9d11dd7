//! Logging in, accepting, declining: what the pages and the command line share.
use std::sync::Arc;
use std::time::Duration;

use tracing::info;
use uuid::Uuid;

use super::authorization::{CodeGrant, exchange_code};
use super::ending::Failure;
use super::session::Session;
use crate::linking::connect::{NewAccount, NewDevice, NewUser, connect_within};
use crate::outbox::changes;
use crate::state::App;
use crate::vendor_calls::call_vendor;
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::vendor::{Connection, LogIn, Login, Offer, Vendor};
use slackwater_store::accounts::Account;
use slackwater_store::error::StoreError;
use slackwater_store::{events, links, users};

/// Log-ins that may be refused in one session, wrong codes among them. The browser
/// has no say in the count: who comes without its cookie is the same guesser.
pub const REFUSED_MAX: u64 = 20;

/// Reason why nothing was linked.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The session was used, or expired, before.
    #[error("the link session was used or has expired")]
    Closed,
    /// The client may have no more connections.
    #[error("the client's limit of {0} connections is reached")]
    Limit(u32),
    /// The account has no device that may be linked in this session.
    #[error("the account has none of these devices")]
    NoDevice,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Proof of a user that an account is theirs.
#[derive(Clone, Copy)]
pub enum Credentials<'a> {
    /// Entered on the page of the link session.
    Entered(&'a Login),
    /// From the manufacturer's own page.
    Code(CodeGrant<'a>),
}

/// Logs a user in at a manufacturer, with patience, but not for ever.
///
/// # Errors
/// The manufacturer did not let the user in, or did not answer.
pub async fn log_in(
    app: &App,
    session: &Session,
    code: &VendorCode,
    credentials: Credentials<'_>,
) -> Result<LogIn, VendorError> {
    let time_limit = Duration::from_secs(app.config().link.login_timeout_seconds.into());
    let now = app.now();
    let call = |vendor: Arc<dyn Vendor>| async move {
        match credentials {
            Credentials::Entered(login) => vendor.log_in(login, now).await,
            Credentials::Code(grant) => {
                let declared = vendor.authorization().ok_or(VendorError::Unauthorised)?;
                let tokens = exchange_code(app, code, &declared, grant).await?;
                let (connection, offers) = vendor.connect_account(&tokens, now).await?;
                Ok(LogIn::Connected { connection, offers })
            }
        }
    };
    let answer = call_vendor(app, code, time_limit, call).await.inspect_err(|failure| {
        let (client, user, failure) = (&session.client.id, session.user_id(), failure.as_str());
        info!(vendor = %code, client, user, failure, "a log-in at a manufacturer failed");
    });
    match answer? {
        LogIn::Connected { connection, offers } => {
            Ok(LogIn::Connected { connection, offers: session.fitting(offers) })
        }
        needed @ LogIn::CodeNeeded { .. } => Ok(needed),
    }
}

/// Links devices of an account with what the session asks for, and uses the
/// session up, in one change. Returns the devices' identifiers.
///
/// # Errors
/// Nothing is linked, and unless it is closed the session can be used again.
pub async fn accept(
    app: &App,
    session: &Session,
    (vendor, connection): (&VendorCode, Connection),
    chosen: &[Offer],
) -> Result<Vec<Uuid>, Refusal> {
    let mut devices = Vec::with_capacity(chosen.len());
    for offer in chosen {
        let scopes = session.granted(offer.kind).ok_or(Refusal::NoDevice)?.clone();
        let vendor_device = offer.device.clone();
        devices.push(NewDevice {
            id: None,
            vendor_device,
            kind: offer.kind,
            scopes,
            location: None,
        });
    }
    if devices.is_empty() {
        return Err(Refusal::NoDevice);
    }
    let mut change = app.store().begin().await?;
    if !links::use_session(change.connection(), session.hash(), app.clock().machine().now()).await?
    {
        return Err(Refusal::Closed);
    }
    let client_id = &session.client.id;
    if let Some(most) = app.config().limits.connections_max {
        let own = (session.user_id(), vendor.as_str());
        if links::count_other_connections(change.connection(), client_id, own).await?
            >= u64::from(most)
        {
            return Err(Refusal::Limit(most));
        }
    }
    let kept = Account {
        client_id: client_id.clone(),
        user_id: session.user_id().to_owned(),
        vendor: vendor.clone(),
        connection: None,
        is_valid: true,
        created_at: app.now(),
    };
    // Before the event, which would not be told of a user who was let go of.
    users::authorise_user(change.connection(), (client_id, session.user_id())).await?;
    events::record_event(change.connection(), &changes::of_account(&kept, app.now())).await?;
    let account = NewAccount { vendor: vendor.clone(), connection, devices };
    let user = NewUser {
        id: session.user_id().to_owned(),
        accounts: vec![account],
        locations: Vec::new(),
    };
    let ids = connect_within(app, change, client_id, vec![user]).await?;
    let (client, user) = (client_id, session.user_id());
    info!(%vendor, client, user, devices = ids.len(), "an account was linked");
    Ok(ids)
}

/// Uses a session up without linking anything. Returns `true` if that was still possible.
///
/// # Errors
/// The database failed.
pub async fn leave(app: &App, session: &Session) -> Result<bool, StoreError> {
    let mut change = app.store().begin().await?;
    let was_open =
        links::use_session(change.connection(), session.hash(), app.clock().machine().now())
            .await?;
    change.commit(move || was_open).await
}

/// Result of a log-in on the pages.
#[derive(Debug)]
pub enum Attempt {
    /// Answer of the manufacturer.
    Answered(Result<LogIn, VendorError>),
    /// The session is over: too many log-ins were refused, this one or those before.
    Spent,
}

/// Logs a user in as [`log_in`] does, if the session has a log-in left: whoever has
/// its address may guess at an account, but not for long.
///
/// It is counted before the manufacturer is asked, so that many at once are no way
/// around the limit, and given back unless it was refused. One that nobody waits
/// for stays counted.
///
/// # Errors
/// The database failed.
pub async fn try_log_in(
    app: &App,
    session: &Session,
    code: &VendorCode,
    credentials: Credentials<'_>,
) -> Result<Attempt, StoreError> {
    let mut change = app.store().begin().await?;
    let hash = session.hash();
    if !links::take_attempt(change.connection(), hash, REFUSED_MAX).await? {
        // No log-in is left: all are refused or under way. No honest user needs so many.
        links::use_session(change.connection(), hash, app.clock().machine().now()).await?;
        return change.commit(|| Attempt::Spent).await;
    }
    change.commit(|| ()).await?;
    let answer = log_in(app, session, code, credentials).await;
    let mut change = app.store().begin().await?;
    if !matches!(answer, Err(VendorError::Unauthorised | VendorError::ChallengeFailed)) {
        links::return_attempt(change.connection(), hash).await?;
        return change.commit(|| Attempt::Answered(answer)).await;
    }
    let is_spent = links::is_spent(change.connection(), hash, REFUSED_MAX).await?;
    if is_spent {
        links::use_session(change.connection(), hash, app.clock().machine().now()).await?;
    }
    let attempt = if is_spent { Attempt::Spent } else { Attempt::Answered(answer) };
    change.commit(move || attempt).await
}

/// Reason to tell a client if the user gives up because of an error.
#[must_use]
pub const fn failure_of(error: &VendorError) -> Failure {
    match error {
        VendorError::Unauthorised
        | VendorError::ChallengeFailed
        | VendorError::Refused { .. }
        | VendorError::PreconditionLost { .. } => Failure::AccessDenied,
        VendorError::Unreachable
        | VendorError::Asleep { .. }
        | VendorError::RateLimited { .. }
        | VendorError::Outage
        | VendorError::TimedOut
        | VendorError::NoSuchDevice => Failure::TemporarilyUnavailable,
    }
}
