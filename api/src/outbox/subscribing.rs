//! What makes a subscription.
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use slackwater_wire::version::dated::ApiVersion;

use super::signing::SigningSecret;
use super::template::{Template, TemplateError};
use crate::store::clients;
use crate::store::database::{Store, StoreError};
use crate::store::deliveries;

/// Why nobody can be subscribed so.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    /// The address of the receiver.
    #[error("subscription `{name}`: {url:?} is not an address such as https://example.org/events")]
    Url {
        /// The subscription.
        name: String,
        /// The address as given.
        url: String,
    },
    /// The template.
    #[error("subscription `{name}`: {error}")]
    Template {
        /// The subscription.
        name: String,
        /// What is wrong with it.
        error: TemplateError,
    },
    /// The client.
    #[error("subscription `{name}`: there is no client {client}")]
    NoClient {
        /// The subscription.
        name: String,
        /// The client as given.
        client: String,
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

/// Who wants to know what, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewSubscription {
    /// What operators call it.
    pub name: String,
    /// The client whose events they are.
    pub client: String,
    /// Where to post.
    pub url: String,
    /// The version that events carry, if not that of the client.
    #[serde(default)]
    pub version: Option<ApiVersion>,
    /// Names of the events; all, if none are named.
    #[serde(default)]
    pub events: Vec<String>,
    /// The body, as JSON with placeholders. Without it nothing is posted.
    #[serde(default)]
    pub template: Option<String>,
    /// What requests are signed with, if they are.
    #[serde(default)]
    pub secret: Option<SigningSecret>,
}

impl NewSubscription {
    /// Whether it makes sense, as far as it can be told without the database.
    ///
    /// # Errors
    /// The address or the template is none.
    pub fn check(&self) -> Result<(), SubscribeError> {
        let uri = self.url.parse::<Uri>().ok();
        let is_web = uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some_and(|h| !h.is_empty())
        });
        if !is_web {
            return Err(SubscribeError::Url { name: self.name.clone(), url: self.url.clone() });
        }
        let template = self.template.as_deref().map(Template::parse).transpose();
        let refused = |error| SubscribeError::Template { name: self.name.clone(), error };
        template.map(|_| ()).map_err(refused)
    }
}

/// Subscribes a receiver from now on.
///
/// # Errors
/// The subscription makes no sense, or its name is taken.
pub async fn subscribe(store: &Store, new: &NewSubscription) -> Result<(), SubscribeError> {
    new.check()?;
    find_client(store, new).await?;
    let mut change = store.begin().await?;
    if !deliveries::insert(change.connection(), new).await? {
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
pub async fn configure(store: &Store, all: &[NewSubscription]) -> Result<(), SubscribeError> {
    let mut change = store.begin().await?;
    for new in all {
        new.check()?;
        find_client(store, new).await?;
        if !deliveries::configure(change.connection(), new).await? {
            return Err(SubscribeError::Taken { name: new.name.clone() });
        }
    }
    deliveries::keep_configured(change.connection(), all).await?;
    Ok(change.commit(|| ()).await?)
}

async fn find_client(store: &Store, new: &NewSubscription) -> Result<(), SubscribeError> {
    let missing =
        || SubscribeError::NoClient { name: new.name.clone(), client: new.client.clone() };
    clients::get(store, &new.client).await?.map(|_| ()).ok_or_else(missing)
}
