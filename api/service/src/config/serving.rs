//! Settings of sockets, and of whom they believe.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::proxies::Proxies;

/// Settings of clients and tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuthSettings {
    /// Networks of proxies whose `X-Forwarded-For` is believed. Of others it is ignored.
    #[schemars(with = "Vec<String>", example = ["10.0.0.0/8"])]
    pub trusted_proxies: Proxies,
}

/// Answers that are told in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessLog {
    /// None.
    Off,
    /// Those with a status from 400 on.
    #[default]
    Refused,
    /// All.
    All,
}

impl AccessLog {
    /// Returns `true` if an answer of this status is told.
    #[must_use]
    pub const fn takes(self, status: u16) -> bool {
        match self {
            Self::Off => false,
            Self::Refused => status >= 400,
            Self::All => true,
        }
    }
}

/// Settings of connections, and of their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServeSettings {
    /// After SIGTERM requests are answered for so long while `/health/ready` says 503,
    /// so that balancers notice before new connections are refused.
    pub drain_seconds: u32,
    /// Most connections of each address, the operators' apart; as many as there
    /// are file descriptors for, if it is not given.
    #[schemars(range(min = 1), example = 4096)]
    pub connections_max: Option<u32>,
    /// Of these, most from one peer; three quarters, if it is not given.
    #[schemars(range(min = 1), example = 3072)]
    pub connections_of_peer_max: Option<u32>,
    /// Most requests to the base address of an environment that are worked on at once. Beyond them
    /// the answer is 503; to a client with three quarters of them it is 429.
    #[schemars(range(min = 1))]
    pub requests_max: u32,
    /// Answers that get a line in the log each, with an identifier that all lines about the
    /// request carry.
    pub access_log: AccessLog,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            drain_seconds: 5,
            connections_max: None,
            access_log: AccessLog::default(),
            connections_of_peer_max: None,
            requests_max: 1_024,
        }
    }
}
