//! Making of subscriptions.

use crate::config::EventSettings;
use crate::outbox::names::find_unknown;
use slackwater_store::clients;
use slackwater_store::database::Store;
use slackwater_store::deliveries;
use slackwater_store::error::StoreError;
use slackwater_store::subscription::{NewSubscription, SubscriptionError};

/// Reason why a subscription is not made.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    /// The subscription itself.
    #[error(transparent)]
    Invalid(#[from] SubscriptionError),
    /// The client.
    #[error("subscription `{name}`: there is no client {client}")]
    NoClient {
        /// The subscription.
        name: String,
        /// The client as given.
        client: String,
    },
    /// An event that receivers do not see.
    #[error("subscription `{name}`: {reason}")]
    NoEvent {
        /// The subscription.
        name: String,
        /// The event, and those that there are.
        reason: String,
    },
    /// Another subscription has the name.
    #[error("subscription `{name}` is there already")]
    Taken {
        /// The name.
        name: String,
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
pub async fn configure(store: &Store, settings: &EventSettings) -> Result<(), SubscribeError> {
    let all = &settings.subscriptions;
    let mut change = store.begin().await?;
    for new in all {
        new.check()?;
        check_events(settings, new)?;
        find_client(store, new).await?;
        if !deliveries::configure_subscription(change.connection(), new, store.keys()).await? {
            return Err(SubscribeError::Taken { name: new.name.clone() });
        }
    }
    deliveries::delete_unconfigured(change.connection(), all).await?;
    Ok(change.commit(|| ()).await?)
}

/// Checks that receivers see the events that a subscription names.
///
/// # Errors
/// There is no such event, or it has no name for receivers.
pub fn check_events(settings: &EventSettings, new: &NewSubscription) -> Result<(), SubscribeError> {
    let reason = find_unknown(settings, &new.events);
    reason.map_or(Ok(()), |reason| Err(SubscribeError::NoEvent { name: new.name.clone(), reason }))
}

async fn find_client(store: &Store, new: &NewSubscription) -> Result<(), SubscribeError> {
    let missing =
        || SubscribeError::NoClient { name: new.name.clone(), client: new.client.clone() };
    clients::get_client(store, &new.client).await?.map(|_| ()).ok_or_else(missing)
}
