//! Making of subscriptions.

use crate::config::EventSettings;
use crate::outbox::names::find_unknown;
use slackwater_store::clients;
use slackwater_store::database::{Change, Store};
use slackwater_store::deliveries;
use slackwater_store::error::StoreError;
use slackwater_store::subscription::{NewSubscription, SubscriptionError};

/// Reason why a subscription is not made. But for failures of the database, the text begins with the
/// name of its member.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    /// The subscription itself.
    #[error(transparent)]
    Invalid(#[from] SubscriptionError),
    /// The client.
    #[error("client: there is no client {client}")]
    NoClient {
        /// The client as given.
        client: String,
    },
    /// An event that receivers do not see.
    #[error("events: {reason}")]
    NoEvent {
        /// The event, and those that there are.
        reason: String,
    },
    /// Another subscription has the name.
    #[error("name: subscription `{name}` is there already")]
    Taken {
        /// The name.
        name: String,
    },
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reason why the receivers of the settings are not subscribed.
#[derive(Debug, thiserror::Error)]
pub enum ReceiversError {
    /// One of them.
    #[error("events.subscriptions[{index}].{error}")]
    Setting {
        /// Its place in the list.
        index: usize,
        /// Reason.
        error: SubscribeError,
    },
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Subscribes a receiver from now on.
///
/// # Errors
/// The subscription makes no sense, or its name is taken.
pub async fn subscribe(store: &Store, new: &NewSubscription) -> Result<(), SubscribeError> {
    new.check()?;
    find_client(store, new).await?;
    let mut change = store.begin().await?;
    if !deliveries::insert_subscription(change.connection(), new, store.keys()).await? {
        return Err(SubscribeError::Taken { name: new.name.clone() });
    }
    Ok(change.commit(|| ()).await?)
}

/// Subscribes the receivers of the settings, as they are now, and lets go of
/// those that are no longer there.
///
/// # Errors
/// A subscription makes no sense, or its name is taken by another that an
/// operator made by hand. Then nothing changes.
pub async fn configure(store: &Store, settings: &EventSettings) -> Result<(), ReceiversError> {
    let all = &settings.subscriptions;
    let mut change = store.begin().await?;
    for (index, new) in all.iter().enumerate() {
        configure_one(store, &mut change, settings, new).await.map_err(|error| match error {
            SubscribeError::Store(error) => ReceiversError::Store(error),
            error => ReceiversError::Setting { index, error },
        })?;
    }
    deliveries::delete_unconfigured(change.connection(), all).await?;
    Ok(change.commit(|| ()).await?)
}

async fn configure_one(
    store: &Store,
    change: &mut Change,
    settings: &EventSettings,
    new: &NewSubscription,
) -> Result<(), SubscribeError> {
    new.check()?;
    check_events(settings, new)?;
    find_client(store, new).await?;
    if deliveries::configure_subscription(change.connection(), new, store.keys()).await? {
        Ok(())
    } else {
        Err(SubscribeError::Taken { name: new.name.clone() })
    }
}

/// Checks that receivers see the events that a subscription names.
///
/// # Errors
/// There is no such event, or it has no name for receivers.
pub fn check_events(settings: &EventSettings, new: &NewSubscription) -> Result<(), SubscribeError> {
    let reason = find_unknown(settings, &new.events);
    reason.map_or(Ok(()), |reason| Err(SubscribeError::NoEvent { reason }))
}

async fn find_client(store: &Store, new: &NewSubscription) -> Result<(), SubscribeError> {
    let missing = || SubscribeError::NoClient { client: new.client.clone() };
    clients::get_client(store, &new.client).await?.map(|_| ()).ok_or_else(missing)
}
