//! From an account that a user logged in to, to devices that a client reads.
use std::sync::Arc;

use chrono::{DateTime, Utc};
use slackwater_control::device::action::ActionEvent;
use slackwater_control::device::scope::{DeviceKind, Granted};
use tracing::{error, info};
use uuid::Uuid;

use crate::cache::device_change::DeviceChange;
use crate::cache::tables::OfUser;
use crate::control::actions::{self, PendingUpdates};
use crate::outbox::changes;
use crate::plans::planner;
use crate::state::App;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::vendor::Connection;
use slackwater_store::accounts::{self, Account};
use slackwater_store::database::Change;
use slackwater_store::devices::{self, Device, DeviceState, SetLocation};
use slackwater_store::error::StoreError;
use slackwater_store::events;
use slackwater_store::locations::{self, Location};
use slackwater_store::users;

/// A user of a client, with accounts and places.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// The identifier that the client chose.
    pub id: String,
    /// Accounts that were logged in to.
    pub accounts: Vec<NewAccount>,
    /// Places.
    pub locations: Vec<Location>,
}

/// An account that a user logged in to, and the devices that were chosen.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// The manufacturer.
    pub vendor: VendorCode,
    /// Connection that the log-in yielded.
    pub connection: Connection,
    /// The devices.
    pub devices: Vec<NewDevice>,
}

/// A device that was chosen.
#[derive(Debug, Clone)]
pub struct NewDevice {
    /// Its identifier, if it is not for the service to choose.
    pub id: Option<Uuid>,
    /// The manufacturer's identifier.
    pub vendor_device: String,
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Permissions that its owner grants.
    pub scopes: Granted,
    /// Location that was set for it, if there is one.
    pub location: Option<Uuid>,
}

/// Keeps users with their accounts, places and devices, and polls the devices
/// from now on. Returns the devices' identifiers, in order.
///
/// What is there already stays: a device that is linked again keeps its
/// identifier and its data, and is granted the new scopes only (LNK-23).
///
/// # Errors
/// The database failed, and nothing is kept.
pub async fn connect(
    app: &App,
    client_id: &str,
    new: Vec<NewUser>,
) -> Result<Vec<Uuid>, StoreError> {
    connect_within(app, app.store().begin().await?, client_id, new).await
}

/// Links accounts and devices of users as the end of a change that has begun, and commits it.
///
/// # Errors
/// The database failed, and nothing of the change is kept.
pub async fn connect_within(
    app: &App,
    mut change: Change,
    client_id: &str,
    new: Vec<NewUser>,
) -> Result<Vec<Uuid>, StoreError> {
    let now = app.now();
    let created = app.cache().read(|tables| tables.created_now(client_id, now));
    let mut kept = Vec::with_capacity(new.len());
    for user in new {
        users::insert_user(change.connection(), (client_id, &user.id), created).await?;
        kept.push(keep(app, &mut change, client_id, user, now).await?);
    }
    let ids = kept.iter().flat_map(|user| user.devices.iter().map(|device| device.id)).collect();
    let (app, client_id) = (app.clone(), client_id.to_owned());
    change
        .commit(move || {
            app.cache().write(|tables| {
                for user in kept {
                    let entry = tables.keep_user(&client_id, &user.id, created);
                    entry.is_deauthorised &= user.accounts.is_empty();
                    user.accounts.into_iter().for_each(|account| tables.keep_account(account));
                    user.locations.into_iter().for_each(|location| tables.keep_location(location));
                    for device in user.devices {
                        app.poller().expedite(device.id);
                        let device = Arc::new(device);
                        // New scopes may say where it is, or no longer.
                        if let Some(before) = tables.any_device(device.id).cloned() {
                            let after = Arc::clone(&device);
                            let change = DeviceChange { before, after };
                            planner::look_at_change(&app, tables, &change);
                        }
                        tables.keep_device(Arc::unwrap_or_clone(device));
                    }
                }
            });
        })
        .await?;
    Ok(ids)
}

/// Rows of one user.
struct Kept {
    id: String,
    accounts: Vec<Account>,
    locations: Vec<Location>,
    devices: Vec<Device>,
}

async fn keep(
    app: &App,
    change: &mut Change,
    client_id: &str,
    new: NewUser,
    now: DateTime<Utc>,
) -> Result<Kept, StoreError> {
    let whose = (client_id, new.id.as_str());
    if !new.accounts.is_empty() {
        users::authorise_user(change.connection(), whose).await?;
    }
    for location in &new.locations {
        locations::upsert_location(change.connection(), location).await?;
    }
    let mut kept =
        Kept { id: new.id, accounts: Vec::new(), locations: new.locations, devices: Vec::new() };
    for account in new.accounts {
        for new_device in account.devices {
            let device = device(app, client_id, &kept.id, &account.vendor, new_device, now);
            devices::upsert_device(change.connection(), &device).await?;
            kept.devices.push(device);
        }
        let account = Account {
            client_id: client_id.to_owned(),
            user_id: kept.id.clone(),
            vendor: account.vendor,
            connection: Some(account.connection),
            is_valid: true,
            created_at: now,
        };
        accounts::upsert_account(change.connection(), &account, app.store().keys()).await?;
        kept.accounts.push(account);
    }
    Ok(kept)
}

fn device(
    app: &App,
    client_id: &str,
    user_id: &str,
    vendor: &VendorCode,
    new: NewDevice,
    now: DateTime<Utc>,
) -> Device {
    let known = app.cache().read(|tables| {
        let id = tables.user(client_id, user_id)?.by_vendor(vendor, &new.vendor_device)?;
        tables.device(client_id, id).cloned()
    });
    let location = new.location.map(|id| SetLocation { id: Some(id), at: now });
    match known {
        Some(known) => Device {
            scopes: new.scopes,
            location: location.or(known.location),
            ..Arc::unwrap_or_clone(known)
        },
        None => Device {
            id: new.id.unwrap_or_else(Uuid::new_v4),
            client_id: client_id.into(),
            user_id: user_id.into(),
            kind: new.kind,
            vendor: vendor.clone(),
            vendor_device: new.vendor_device,
            scopes: new.scopes,
            linked_at: now,
            location,
            state: DeviceState::default(),
        },
    }
}

/// Deletes a user of this creation with all that is theirs. Returns `true` if there was one: not if
/// somebody else deleted it first, or if it was created anew.
///
/// # Errors
/// The database failed, and the user stays.
pub async fn delete_user(
    app: &App,
    (client_id, user_id): (&str, &str),
    created_at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let mut change = app.store().begin().await?;
    let mut effects = PendingUpdates::default();
    let all = |user: &OfUser| user.device_ids();
    let gone = gone(app, &mut change, &mut effects, (client_id, user_id), all).await?;
    if !users::delete_user(change.connection(), (client_id, user_id), created_at).await? {
        return Ok(false);
    }
    let (app, whose) = (app.clone(), (client_id.to_owned(), user_id.to_owned()));
    change
        .commit(move || {
            effects.apply(&app);
            app.cache().write(|tables| tables.remove_user(&whose.0, &whose.1));
            app.recorders().forget(&gone);
        })
        .await?;
    Ok(true)
}

/// Lets go of a user's accounts. Data stay (LNK-30).
///
/// # Errors
/// The database failed, and nothing changed.
pub async fn deauthorise(app: &App, client_id: &str, user_id: &str) -> Result<(), StoreError> {
    let mut change = app.store().begin().await?;
    users::deauthorise_user(change.connection(), client_id, user_id, app.now()).await?;
    let (app, whose) = (app.clone(), (client_id.to_owned(), user_id.to_owned()));
    change
        .commit(move || {
            app.cache().write(|tables| {
                let Some(user) = tables.user_mut(&whose.0, &whose.1) else { return };
                user.is_deauthorised = true;
                for account in user.accounts.values_mut() {
                    account.connection = None;
                    account.is_valid = false;
                }
            });
        })
        .await
}

/// Takes away an account of a user, and the devices on it. Returns `true` if there was one of this
/// creation, as [`delete_user`] does.
///
/// # Errors
/// The database failed, and nothing changed.
pub async fn disconnect(app: &App, account: &Account) -> Result<bool, StoreError> {
    let Account { client_id, user_id, vendor, .. } = account;
    let mut change = app.store().begin().await?;
    let mut effects = PendingUpdates::default();
    let on_it = |user: &OfUser| user.devices_of(vendor);
    let gone = gone(app, &mut change, &mut effects, (client_id, user_id), on_it).await?;
    if !accounts::delete_account(change.connection(), account).await? {
        return Ok(false);
    }
    let (app, vendor) = (app.clone(), vendor.clone());
    let whose = (client_id.to_owned(), user_id.to_owned());
    change
        .commit(move || {
            effects.apply(&app);
            app.cache().write(|tables| tables.remove_account(&whose.0, &whose.1, &vendor));
            app.recorders().forget(&gone);
        })
        .await?;
    Ok(true)
}

/// Ends the pending actions of devices that are about to be deleted (ACT-27).
/// Returns which devices these are.
async fn gone(
    app: &App,
    change: &mut Change,
    effects: &mut PendingUpdates,
    (client_id, user_id): (&str, &str),
    which: impl FnOnce(&OfUser) -> Vec<Uuid>,
) -> Result<Vec<Uuid>, StoreError> {
    let ids = app.cache().read(|tables| tables.user(client_id, user_id).map(which));
    let ids = ids.unwrap_or_default();
    change.claim(ids.iter().copied()).await?;
    let event = (&ActionEvent::TargetDeleted, app.now());
    for id in &ids {
        actions::end_pending(change, effects, *id, |_| true, event).await?;
    }
    Ok(ids)
}

/// Remembers that the manufacturer does not accept the account of a device. A failure of the
/// database is logged: the next call finds the same again.
pub async fn refuse_account_of(app: &App, device: &Device) {
    let account = app.cache().read(|tables| {
        let user = tables.user(&device.client_id, &device.user_id)?;
        user.accounts.get(&device.vendor).filter(|account| account.is_valid).cloned()
    });
    if let Some(account) = account {
        refuse_account(app, &account).await;
    }
}

/// Remembers that the manufacturer does not accept an account, and tells whoever wants to know.
pub async fn refuse_account(app: &App, account: &Account) {
    if let Err(failure) = try_refuse_account(app, account).await {
        let Account { client_id, user_id, vendor, .. } = account;
        let (client, user) = (client_id, user_id);
        error!(%failure, %vendor, client, user, "a refused account was not kept");
    }
}

async fn try_refuse_account(app: &App, account: &Account) -> Result<(), StoreError> {
    let mut change = app.store().begin().await?;
    if !accounts::refuse_account(change.connection(), account).await? {
        return Ok(());
    }
    let refused = Account { is_valid: false, ..account.clone() };
    events::record_event(change.connection(), &changes::of_account(&refused, app.now())).await?;
    let app = app.clone();
    let show = move || app.cache().write(|tables| tables.refuse_account(&refused));
    change.commit(show).await?;
    let Account { client_id, user_id, vendor, .. } = account;
    let (client, user) = (client_id, user_id);
    info!(%vendor, client, user, "a manufacturer refuses an account: its owner must log in again");
    Ok(())
}
