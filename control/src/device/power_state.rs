//! State of power delivery between a vehicle and its charger, in nine values.
use serde::{Deserialize, Serialize};

use slackwater_engine::words;

words! {
    /// State of power delivery (VEH-20).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum PowerState {
        /// Unknown, or the last reading is too old.
        Unknown = "unknown",
        /// No plug is in.
        Unplugged = "unplugged",
        /// Plugged in, about to charge.
        Initializing = "initializing",
        /// Charging.
        Charging = "charging",
        /// Plugged in and full; vehicles only.
        Complete = "complete",
        /// Plugged in, not charging, ready to.
        Stopped = "stopped",
        /// Plugged in without power; only a person can help.
        NoPower = "no_power",
        /// Plugged in with a fault; only a person can help.
        Fault = "fault",
        /// Feeding back.
        Discharging = "discharging",
    }
}

/// A word that is no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a power delivery state; one of {}", PowerState::words())]
pub struct PowerStateError {
    /// The word as given.
    pub given: String,
}

impl PowerState {
    /// The state that a word stands for.
    ///
    /// # Errors
    /// None does.
    pub fn parse(word: &str) -> Result<Self, PowerStateError> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| PowerStateError { given: word.to_string() })
    }

    fn words() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }

    /// Returns true if a plug is in; `None` if unknown.
    #[must_use]
    pub const fn is_plugged_in(self) -> Option<bool> {
        match self {
            Self::Unknown => None,
            Self::Unplugged => Some(false),
            _ => Some(true),
        }
    }

    /// Returns true if only a person on site can change the state (VEH-26).
    #[must_use]
    pub const fn needs_a_person(self) -> bool {
        matches!(self, Self::NoPower | Self::Fault)
    }

    /// State shown at a charger: it cannot know that a vehicle is full, so a complete session is
    /// shown as stopped (VEH-27).
    #[must_use]
    pub const fn at_charger(self) -> Self {
        if matches!(self, Self::Complete) { Self::Stopped } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_states_and_their_words() {
        for state in PowerState::ALL {
            assert_eq!(PowerState::parse(state.as_str()), Ok(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        let error = PowerState::parse("CHARGING").unwrap_err().to_string();
        assert!(
            error.starts_with(
                "\"CHARGING\" is not a power delivery state; one of unknown, unplugged"
            )
        );
    }

    #[test]
    fn no_charger_is_complete() {
        for state in PowerState::ALL {
            assert_ne!(state.at_charger(), PowerState::Complete);
            assert!(state == PowerState::Complete || state.at_charger() == state);
        }
    }
}
