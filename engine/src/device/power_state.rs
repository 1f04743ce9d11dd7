//! State of power delivery between a vehicle and its charger, in nine values.
use serde::{Deserialize, Serialize};

/// State of power delivery (VEH-20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PowerState {
    /// Unknown, or the last reading is too old.
    #[serde(rename = "unknown")]
    Unknown,
    /// No plug is in.
    #[serde(rename = "unplugged")]
    Unplugged,
    /// Plugged in, about to charge.
    #[serde(rename = "initializing")]
    Initializing,
    /// Charging.
    #[serde(rename = "charging")]
    Charging,
    /// Plugged in and full; vehicles only.
    #[serde(rename = "complete")]
    Complete,
    /// Plugged in, not charging, ready to.
    #[serde(rename = "stopped")]
    Stopped,
    /// Plugged in without power; only a person can help.
    #[serde(rename = "no_power")]
    NoPower,
    /// Plugged in with a fault; only a person can help.
    #[serde(rename = "fault")]
    Fault,
    /// Feeding back.
    #[serde(rename = "discharging")]
    Discharging,
}

/// A word that is no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is no power delivery state; one of {}", PowerState::words())]
pub struct PowerStateError {
    /// The word as given.
    pub given: String,
}

impl PowerState {
    /// All nine.
    pub const ALL: [Self; 9] = [
        Self::Unknown,
        Self::Unplugged,
        Self::Initializing,
        Self::Charging,
        Self::Complete,
        Self::Stopped,
        Self::NoPower,
        Self::Fault,
        Self::Discharging,
    ];

    /// The word that stands for it in data.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Unplugged => "unplugged",
            Self::Initializing => "initializing",
            Self::Charging => "charging",
            Self::Complete => "complete",
            Self::Stopped => "stopped",
            Self::NoPower => "no_power",
            Self::Fault => "fault",
            Self::Discharging => "discharging",
        }
    }

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
    fn veh_20_nine_states_and_their_words() {
        for state in PowerState::ALL {
            assert_eq!(PowerState::parse(state.as_str()), Ok(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        let error = PowerState::parse("CHARGING").unwrap_err().to_string();
        assert!(
            error.starts_with("\"CHARGING\" is no power delivery state; one of unknown, unplugged")
        );
    }

    #[test]
    fn veh_27_no_charger_is_complete() {
        for state in PowerState::ALL {
            assert_ne!(state.at_charger(), PowerState::Complete);
            assert!(state == PowerState::Complete || state.at_charger() == state);
        }
    }
}
