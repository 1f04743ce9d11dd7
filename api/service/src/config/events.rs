//! Settings of events, and of those who are told of them.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use slackwater_store::subscription::NewSubscription;

/// Events, and who is told of them. Nothing of this is part of the interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EventSettings {
    /// Receivers. Those that are no longer named are let go of at the next start.
    pub subscriptions: Vec<NewSubscription>,
    /// Longest time that a receiver may take.
    #[schemars(range(min = 1))]
    pub timeout_seconds: u32,
    /// Attempts after which an event is given up; without it there is no end to them.
    #[schemars(range(min = 1), example = 20)]
    pub attempts_max: Option<u32>,
    /// Days for which events are kept, posted or not.
    #[schemars(range(min = 1))]
    pub keep_days: u32,
    /// The name under which receivers see that a device changed; they do not, without one.
    #[schemars(example = &"device.changed")]
    pub device_changed: Option<String>,
    /// Public name of a change of a user's account.
    #[schemars(example = &"user.changed")]
    pub user_changed: Option<String>,
}

impl Default for EventSettings {
    fn default() -> Self {
        Self {
            subscriptions: Vec::new(),
            timeout_seconds: 10,
            attempts_max: None,
            keep_days: 30,
            device_changed: None,
            user_changed: None,
        }
    }
}
