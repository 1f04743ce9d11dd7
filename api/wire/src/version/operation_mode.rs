//! Operation modes of home batteries by dated version.
use slackwater_control::device::battery::OperationMode;

use crate::version::dated::ApiVersion;

/// Error of a word that is no operation mode of a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperationModeError {
    /// No mode has this name.
    #[error("{given:?} is not an operation mode; one of {}", OperationMode::ALL.map(OperationMode::as_str).join(", "))]
    Unknown {
        /// The word as given.
        given: String,
    },
    /// The mode came with a later version.
    #[error("{} is an operation mode from version {} on, not in {version}", mode.as_str(), ApiVersion::LATEST)]
    NotInVersion {
        /// The mode.
        mode: OperationMode,
        /// The version of the request.
        version: ApiVersion,
    },
}

/// Parses an operation mode of a dated version. Every version has four modes, and the latest also
/// has `idle` (BAT-03, BAT-04).
///
/// # Errors
/// No mode has that name, or the version lacks it.
pub fn parse_operation_mode(
    word: &str,
    version: ApiVersion,
) -> Result<OperationMode, OperationModeError> {
    let mode = OperationMode::ALL.into_iter().find(|mode| mode.as_str() == word);
    let mode = mode.ok_or_else(|| OperationModeError::Unknown { given: word.to_string() })?;
    if mode == OperationMode::Idle && version != ApiVersion::LATEST {
        return Err(OperationModeError::NotInVersion { mode, version });
    }
    Ok(mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_in_the_latest_version_only() {
        for version in ApiVersion::ALL {
            for mode in OperationMode::ALL {
                let known = mode != OperationMode::Idle || version == ApiVersion::LATEST;
                assert_eq!(parse_operation_mode(mode.as_str(), version).is_ok(), known);
            }
        }
        let error = parse_operation_mode("idle", ApiVersion::V2024_01_01).unwrap_err();
        assert_eq!(
            error.to_string(),
            "idle is an operation mode from version 2024-10-01 on, not in 2024-01-01"
        );
        assert!(parse_operation_mode("IDLE", ApiVersion::LATEST).is_err());
    }
}
