//! Tokens of accounts are renewed before they expire, and when the manufacturer refuses them.
//!
//! A refresh token may be good for one use (RFC 9700, section 4.14.2): whoever uses it a second time
//! loses the link. So one task of one process renews an account at a time, by a lock here and a lease
//! of its row; it sends what is kept in the database at that moment; and the new tokens replace the
//! old ones in one change.
//!
//! Tokens that the database does not take stay in memory, where calls find them
//! ([`Renewals`](crate::queue::renewals::Renewals)), and are stored again after pauses until they are
//! there. Only a process that ends before that leaves the old refresh token, which the next process
//! sends again once the lease has expired. A manufacturer that accepts it again within a while loses
//! nothing by that; one that does not ends the link, and the account is refused as after any other
//! refusal: its owner must log in again.
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::time::backoff;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tracing::{error, info, warn};

use crate::auth::secret::random;
use crate::linking::authorization::refresh_tokens;
use crate::linking::connect::refuse_account;
use crate::queue::renewals::{AccountKey, key_of};
use crate::state::App;
use slackwater_integration::authorization::{AccountTokens, Authorization};
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::vendor::Connection;
use slackwater_store::accounts::{self, Account};
use slackwater_store::devices::Device;
use slackwater_store::error::StoreError;
use slackwater_store::lease::Lease;

/// Tokens are renewed so long before they expire: a call must not outlive its token.
const AHEAD: TimeDelta = TimeDelta::seconds(60);

/// Time by which a lease is longer than a request to the token endpoint.
const MARGIN: TimeDelta = TimeDelta::seconds(20);

/// Pause between two looks at an account that another process renews.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Looks at an account that another process renews, before the call is given up for now.
const LOOKS_MAX: usize = 25;

/// Longest pause before tokens are stored again: a process that ends meanwhile loses them.
const STORE_AGAIN_MAX: TimeDelta = TimeDelta::seconds(30);

/// Connection of a device's account, with tokens that have not expired.
///
/// # Errors
/// There is no connection, or tokens that expired could not be renewed.
pub(crate) async fn current_connection(
    app: &App,
    device: &Device,
) -> Result<Connection, VendorError> {
    let account = account_of(app, device).ok_or(VendorError::Unauthorised)?;
    let connection = account.connection.clone().ok_or(VendorError::Unauthorised)?;
    let Some((tokens, authorization)) = renewable(app, &account) else { return Ok(connection) };
    let expires = tokens.expires_at.and_then(|at| at.checked_sub_signed(AHEAD));
    if expires.is_none_or(|at| app.now() < at) {
        return Ok(connection);
    }
    renew(app, account, authorization, connection).await
}

/// Another connection of a device's account, after the manufacturer refused this one; `None` if it
/// has no tokens that could be renewed.
///
/// # Errors
/// The tokens could not be renewed.
pub(crate) async fn connection_after_refusal(
    app: &App,
    device: &Device,
    refused: Connection,
) -> Result<Option<Connection>, VendorError> {
    let Some(account) = account_of(app, device) else { return Ok(None) };
    let Some((_, authorization)) = renewable(app, &account) else { return Ok(None) };
    renew(app, account, authorization, refused).await.map(Some)
}

fn account_of(app: &App, device: &Device) -> Option<Account> {
    known_account(app, (&device.client_id, &device.user_id), &device.vendor)
}

/// An account as calls use it: as it is kept, or with newer tokens that are not stored yet.
fn known_account(app: &App, whose: (&str, &str), vendor: &VendorCode) -> Option<Account> {
    let kept = cached_account(app, whose, vendor)?;
    let connection = app.renewals().unstored_after(&kept).or(kept.connection);
    Some(Account { connection, ..kept })
}

fn cached_account(app: &App, whose: (&str, &str), vendor: &VendorCode) -> Option<Account> {
    app.cache().read(|tables| tables.user(whose.0, whose.1)?.accounts.get(vendor).cloned())
}

/// Tokens of an account that can be renewed, and the log-in that they come from. Those of an account
/// that was refused are not tried again.
fn renewable(app: &App, account: &Account) -> Option<(AccountTokens, Authorization)> {
    let tokens = account.connection.as_ref().filter(|_| account.is_valid)?.tokens()?;
    tokens.refresh_token.as_ref()?;
    let authorization = app.vendor(&account.vendor)?.authorization()?;
    Some((tokens, authorization))
}

/// Renews the tokens of an account, unless somebody else has renewed `old` meanwhile. Goes on if
/// nobody waits for it any more: what the manufacturer issued must be kept.
async fn renew(
    app: &App,
    account: Account,
    authorization: Authorization,
    old: Connection,
) -> Result<Connection, VendorError> {
    let (answer, answered) = oneshot::channel();
    let app = app.clone();
    tokio::spawn(async move {
        let key = key_of(&account);
        let lock = app.renewals().lock_of(&key);
        // A turn ends with the lease, unless its tokens cannot be stored.
        let turn = timeout(lease_length(&app).to_std().unwrap_or_default(), lock.lock()).await;
        if let Ok(held) = turn {
            let renewed = renew_alone(&app, &account, &authorization, &old).await;
            // Whoever asked may have gone, and waits no longer than for this.
            let _: Result<(), _> = answer.send(renewed);
            store_unstored(&app, &key).await;
            drop(held);
        } else {
            let _: Result<(), _> = answer.send(Err(VendorError::TimedOut));
        }
        app.renewals().forget(&key, &lock);
    });
    answered.await.unwrap_or(Err(VendorError::Outage))
}

async fn renew_alone(
    app: &App,
    account: &Account,
    authorization: &Authorization,
    old: &Connection,
) -> Result<Connection, VendorError> {
    let unkept = |failure: StoreError| {
        error!(%failure, vendor = %account.vendor, "tokens of an account were not renewed");
        VendorError::Outage
    };
    for _ in 0..LOOKS_MAX {
        let whose = (account.client_id.as_str(), account.user_id.as_str());
        let known = known_account(app, whose, &account.vendor).filter(|known| known.is_valid);
        let known = known.and_then(|known| known.connection).ok_or(VendorError::Unauthorised)?;
        if known != *old {
            return Ok(known);
        }
        if let Some(kept) = acquire(app, account).await.map_err(unkept)? {
            return renew_leased(app, &kept, authorization, old).await;
        }
        sleep(LOOK_AGAIN).await;
    }
    Err(VendorError::TimedOut)
}

/// Renews the tokens of an account whose lease this process holds. They are stored, or
/// [kept in memory](crate::queue::renewals::Renewals::keep_unstored) until they are.
async fn renew_leased(
    app: &App,
    account: &Account,
    authorization: &Authorization,
    old: &Connection,
) -> Result<Connection, VendorError> {
    let kept = account.connection.clone().ok_or(VendorError::Unauthorised)?;
    if kept != *old {
        // Another process renewed them, and its note is still on the way.
        release(app, account).await;
        return Ok(kept);
    }
    let refresh_token = old.tokens().and_then(|tokens| tokens.refresh_token);
    let refresh_token = refresh_token.ok_or(VendorError::Unauthorised)?;
    let time_limit = Duration::from_secs(app.config().link.login_timeout_seconds.into());
    let asked = refresh_tokens(app, &account.vendor, authorization, &refresh_token);
    match timeout(time_limit, asked).await.unwrap_or(Err(VendorError::TimedOut)) {
        Ok(tokens) => {
            let connection = Connection::of_tokens(&tokens);
            if !store_tokens(app, account, &connection, 0).await {
                app.renewals().keep_unstored(account, &connection);
            }
            Ok(connection)
        }
        Err(failure) => {
            release(app, account).await;
            if failure == VendorError::Unauthorised {
                let (vendor, user) = (&account.vendor, account.user_id.as_str());
                info!(%vendor, user, "a refresh token was refused: its owner must log in again");
                refuse_account(app, account).await;
            }
            Err(failure)
        }
    }
}

/// Stores tokens that the database did not take, if there are such, until it takes them.
async fn store_unstored(app: &App, key: &AccountKey) {
    let Some((account, renewed)) = app.renewals().unstored(key) else { return };
    for failures in 1_u32.. {
        // Without random numbers all come at once, which is no reason to stop.
        let dice = random::<2>().map_or(0, u16::from_le_bytes);
        let pause = backoff::wait(failures, dice).min(STORE_AGAIN_MAX);
        let then = app.now().checked_add_signed(pause).unwrap_or(DateTime::<Utc>::MAX_UTC);
        app.clock().until(then).await;
        if store_tokens(app, &account, &renewed, failures).await {
            break;
        }
    }
    app.renewals().forget_unstored(key);
}

/// Stores renewed tokens after so many failures, and tells in the log of failures and of their end.
/// Returns `false` if they must be stored again.
async fn store_tokens(app: &App, account: &Account, renewed: &Connection, failures: u32) -> bool {
    let (vendor, user) = (&account.vendor, account.user_id.as_str());
    match try_store_tokens(app, account, renewed).await {
        Ok(Stored::Kept) => {
            if failures > 0 {
                info!(%vendor, user, failures, "renewed tokens are stored at last");
            }
            true
        }
        Ok(Stored::Replaced) => {
            info!(%vendor, user, failures, "renewed tokens are given up: the account has others");
            true
        }
        Ok(Stored::Leased) => {
            warn!(%vendor, user, failures, "renewed tokens wait for another process");
            false
        }
        Err(failure) => {
            error!(%failure, %vendor, user, failures, "renewed tokens are not stored yet");
            false
        }
    }
}

/// Outcome of storing renewed tokens.
enum Stored {
    /// They are in the database, and calls use them.
    Kept,
    /// Another process has renewed them, or the account was linked anew or deleted.
    Replaced,
    /// Another process holds the lease, and its turn decides.
    Leased,
}

/// Stores renewed tokens in place of those of `account`, with the end of its lease, and shows them to
/// calls with the same commit.
async fn try_store_tokens(
    app: &App,
    account: &Account,
    renewed: &Connection,
) -> Result<Stored, StoreError> {
    let (holder, keys) = (app.planner().owner(), app.store().keys());
    let mut change = app.store().begin().await?;
    let replaced = (account, Some(renewed));
    if !accounts::release_account(change.connection(), replaced, holder, keys).await? {
        // The lease has expired and passed on, or the account is another one.
        let lease = lease(app);
        let kept = accounts::acquire_account(change.connection(), account, &lease, keys).await?;
        let Some(kept) = kept else {
            let whose = (account.client_id.as_str(), account.user_id.as_str());
            let is_same = cached_account(app, whose, &account.vendor).as_ref() == Some(account);
            return Ok(if is_same { Stored::Leased } else { Stored::Replaced });
        };
        if kept != *account {
            return Ok(Stored::Replaced);
        }
        accounts::release_account(change.connection(), replaced, holder, keys).await?;
    }
    let shown = Account { connection: Some(renewed.clone()), ..account.clone() };
    let app = app.clone();
    change.commit(move || app.cache().write(|tables| tables.keep_account(shown))).await?;
    Ok(Stored::Kept)
}

async fn acquire(app: &App, account: &Account) -> Result<Option<Account>, StoreError> {
    let mut change = app.store().begin().await?;
    let keys = app.store().keys();
    let kept = accounts::acquire_account(change.connection(), account, &lease(app), keys).await?;
    change.commit(move || kept).await
}

/// Gives the lease back, and shows with the same commit what is kept of the account. A lease that
/// cannot be given back expires.
async fn release(app: &App, account: &Account) {
    if let Err(failure) = try_release(app, account).await {
        error!(%failure, vendor = %account.vendor, "the lease of an account was not given back");
    }
}

async fn try_release(app: &App, account: &Account) -> Result<(), StoreError> {
    let (holder, keys) = (app.planner().owner(), app.store().keys());
    let mut change = app.store().begin().await?;
    if !accounts::release_account(change.connection(), (account, None), holder, keys).await? {
        // Linked anew or deleted meanwhile.
        return Ok(());
    }
    let (app, shown) = (app.clone(), account.clone());
    change.commit(move || app.cache().write(|tables| tables.keep_account(shown))).await
}

fn lease(app: &App) -> Lease<'_> {
    Lease::new(app.planner().owner(), app.clock().machine().now(), lease_length(app))
}

fn lease_length(app: &App) -> TimeDelta {
    TimeDelta::seconds(app.config().link.login_timeout_seconds.into()) + MARGIN
}
