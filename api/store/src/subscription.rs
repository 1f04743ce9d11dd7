//! Subscription to events, as an operator asks for it.
use serde::{Deserialize, Serialize};
use slackwater_wire::version::dated::ApiVersion;

use crate::signing::SigningSecret;

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
