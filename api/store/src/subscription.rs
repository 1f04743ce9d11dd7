//! Subscription to events, as an operator asks for it.
use std::path::PathBuf;

use http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slackwater_wire::version::dated::ApiVersion;

use crate::signing::SigningSecret;
use crate::template::{Template, TemplateError};

/// A subscription that is malformed. The text begins with the name of its member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubscriptionError {
    /// No name, by which it could be removed.
    #[error("name: the name of a subscription is empty")]
    NoName,
    /// An account in the address. The address is not repeated: it holds a password.
    #[error(
        "url: the address has a user name, which is not sent to receivers; leave it out, and give a \
         secret that signs requests"
    )]
    Account,
    /// The address of the receiver.
    #[error("url: {url:?} is not an address such as https://example.org/events")]
    Url {
        /// The address as given.
        url: String,
    },
    /// The template.
    #[error("template: {0}")]
    Template(#[from] TemplateError),
}

/// Subscription as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSubscription {
    /// Name that its operator gave it.
    #[schemars(example = &"billing")]
    pub name: String,
    /// The client whose events they are.
    #[schemars(example = &"0b3c8f52-5b43-4b6e-9b0e-3f3c6f0e6a51")]
    pub client: String,
    /// Address of the receiver.
    #[schemars(example = &"https://billing.example.org/events")]
    pub url: String,
    /// The version that events carry, if not that of the client.
    #[serde(default)]
    #[schemars(with = "Option<String>", example = &"2024-10-01")]
    pub version: Option<ApiVersion>,
    /// Names of the events; all, if none are named.
    #[serde(default)]
    pub events: Vec<String>,
    /// The body, as JSON with placeholders. Without it nothing is posted.
    #[serde(default)]
    #[schemars(example = &r#"{"type": "{name}", "data": "{data}"}"#)]
    pub template: Option<String>,
    /// Secret that signs requests, if they are signed.
    #[serde(default)]
    #[schemars(with = "Option<String>", example = &"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    pub secret: Option<SigningSecret>,
    /// File with the secret, in place of it. It is read with the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"/run/secrets/billing")]
    pub secret_file: Option<PathBuf>,
}

impl NewSubscription {
    /// Checks the subscription as far as that needs no database.
    ///
    /// # Errors
    /// The name is empty, or the address or the template is malformed.
    pub fn check(&self) -> Result<(), SubscriptionError> {
        if self.name.trim().is_empty() {
            return Err(SubscriptionError::NoName);
        }
        let uri = self.url.parse::<Uri>().ok();
        let authority = uri.as_ref().and_then(|uri| uri.authority());
        if authority.is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(SubscriptionError::Account);
        }
        let is_web = uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some_and(|h| !h.is_empty())
        });
        if !is_web {
            return Err(SubscriptionError::Url { url: self.url.clone() });
        }
        self.template.as_deref().map(Template::parse).transpose()?;
        Ok(())
    }
}

/// Address of a receiver for who reads it: stars stand for its query, which often has a token.
#[must_use]
pub fn shown_url(url: &str) -> String {
    url.split_once('?').map_or_else(|| url.to_owned(), |(page, _)| format!("{page}?***"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(name: &str, url: &str) -> NewSubscription {
        NewSubscription {
            name: name.to_owned(),
            client: "c".to_owned(),
            url: url.to_owned(),
            version: None,
            events: Vec::new(),
            template: None,
            secret: None,
            secret_file: None,
        }
    }

    #[test]
    fn names_and_addresses_are_checked_and_passwords_not_repeated() {
        let flaw = |name, url| subscription(name, url).check().err().map(|error| error.to_string());
        assert_eq!(flaw("a", "https://h/events?token=t"), None);
        assert_eq!(
            flaw(" ", "https://h/").as_deref(),
            Some("name: the name of a subscription is empty")
        );
        assert!(flaw("a", "ftp://h/").unwrap().starts_with("url: \"ftp://h/\" is not an address"));
        let account = flaw("a", "https://me:sesame@h/").unwrap();
        assert!(account.contains("has a user name") && !account.contains("sesame"), "{account}");
    }

    #[test]
    fn the_query_of_an_address_is_not_shown() {
        assert_eq!(shown_url("https://h/events?token=t"), "https://h/events?***");
        assert_eq!(shown_url("https://h/events"), "https://h/events");
    }
}
