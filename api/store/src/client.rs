//! Clients: applications with an identifier and a secret, each of one environment.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use slackwater_wire::version::dated::ApiVersion;

/// One of the two worlds. Nothing of one is visible in the other (ENV-06, ENV-08).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    /// Simulated devices.
    Sandbox,
    /// Devices of people.
    Production,
}

/// A word that is no environment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not an environment; one of sandbox, production")]
pub struct EnvironmentError {
    /// The word as given.
    pub given: String,
}

impl Environment {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sandbox, Self::Production];

    /// The word that stands for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Production => "production",
        }
    }

    /// The environment that a word stands for.
    ///
    /// # Errors
    /// None does.
    pub fn parse(word: &str) -> Result<Self, EnvironmentError> {
        let found = Self::ALL.into_iter().find(|environment| environment.as_str() == word);
        found.ok_or_else(|| EnvironmentError { given: word.to_owned() })
    }
}

/// An application that may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Its identifier.
    pub id: String,
    /// The environment that it belongs to, for ever.
    pub environment: Environment,
    /// Name that its operator gave it.
    pub name: String,
    /// The version that it is pinned to.
    pub version: ApiVersion,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}
