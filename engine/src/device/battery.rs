//! What a home battery aims at.
use serde::{Deserialize, Serialize};

use crate::version::dated::ApiVersion;

/// What a battery is asked to aim at. How it gets there is its own affair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OperationMode {
    /// As little from the grid as possible.
    #[serde(rename = "self_reliance")]
    SelfReliance,
    /// As cheap as possible under a rate schedule.
    #[serde(rename = "time_of_use")]
    TimeOfUse,
    /// Charging first.
    #[serde(rename = "import_focus")]
    ImportFocus,
    /// Discharging first, to the home and the grid.
    #[serde(rename = "export_focus")]
    ExportFocus,
    /// Neither.
    #[serde(rename = "idle")]
    Idle,
}

/// Why a battery is not asked for a mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperationModeError {
    /// No mode has this name.
    #[error("{given:?} is no operation mode; one of {}", OperationMode::ALL.map(OperationMode::as_str).join(", "))]
    Unknown {
        /// The word as given.
        given: String,
    },
    /// The mode came with a later version.
    #[error("{} is an operation mode from version {} on, not in {version}", mode.as_str(), ApiVersion::LATEST)]
    NotInVersion {
        /// The mode.
        mode: OperationMode,
        /// The version asked in.
        version: ApiVersion,
    },
}

impl OperationMode {
    /// All five.
    pub const ALL: [Self; 5] =
        [Self::SelfReliance, Self::TimeOfUse, Self::ImportFocus, Self::ExportFocus, Self::Idle];

    /// The word that stands for it in data.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SelfReliance => "self_reliance",
            Self::TimeOfUse => "time_of_use",
            Self::ImportFocus => "import_focus",
            Self::ExportFocus => "export_focus",
            Self::Idle => "idle",
        }
    }

    /// The mode of a name in a dated version: four, and `idle` in the latest
    /// (BAT-03, BAT-04).
    ///
    /// # Errors
    /// No mode has that name, or not in that version.
    pub fn parse(word: &str, version: ApiVersion) -> Result<Self, OperationModeError> {
        let mode = Self::ALL.into_iter().find(|mode| mode.as_str() == word);
        let mode = mode.ok_or_else(|| OperationModeError::Unknown { given: word.to_string() })?;
        if mode == Self::Idle && version != ApiVersion::LATEST {
            return Err(OperationModeError::NotInVersion { mode, version });
        }
        Ok(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bat_03_bat_04_idle_in_the_latest_version_only() {
        for version in ApiVersion::ALL {
            for mode in OperationMode::ALL {
                let known = mode != OperationMode::Idle || version == ApiVersion::LATEST;
                assert_eq!(OperationMode::parse(mode.as_str(), version).is_ok(), known);
            }
        }
        let error = OperationMode::parse("idle", ApiVersion::V2024_01_01).unwrap_err();
        assert_eq!(
            error.to_string(),
            "idle is an operation mode from version 2024-10-01 on, not in 2024-01-01"
        );
        assert!(OperationMode::parse("IDLE", ApiVersion::LATEST).is_err());
    }
}
