//! Dated versions of the interface.
use std::fmt;

use serde::{Deserialize, Serialize};

/// A dated version, in order of time (VER-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ApiVersion {
    /// 1 May 2023.
    #[serde(rename = "2023-05-01")]
    V2023_05_01,
    /// 1 August 2023.
    #[serde(rename = "2023-08-01")]
    V2023_08_01,
    /// 1 January 2024.
    #[serde(rename = "2024-01-01")]
    V2024_01_01,
    /// 1 October 2024.
    #[serde(rename = "2024-10-01")]
    V2024_10_01,
}

/// Error of a text that is no version (VER-06).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a version; one of {}", ApiVersion::ALL.map(ApiVersion::as_str).join(", "))]
pub struct ApiVersionError {
    /// The text as given.
    pub given: String,
}

impl ApiVersion {
    /// All four, oldest first.
    pub const ALL: [Self; 4] =
        [Self::V2023_05_01, Self::V2023_08_01, Self::V2024_01_01, Self::V2024_10_01];

    /// The latest, to which new clients are pinned (VER-02).
    pub const LATEST: Self = Self::V2024_10_01;

    /// Date of the version, as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2023_05_01 => "2023-05-01",
            Self::V2023_08_01 => "2023-08-01",
            Self::V2024_01_01 => "2024-01-01",
            Self::V2024_10_01 => "2024-10-01",
        }
    }

    /// Parses a version from its date.
    ///
    /// # Errors
    /// There is no version of that date.
    pub fn parse(date: &str) -> Result<Self, ApiVersionError> {
        let found = Self::ALL.into_iter().find(|version| version.as_str() == date);
        found.ok_or_else(|| ApiVersionError { given: date.to_string() })
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_versions_in_order() {
        assert!(ApiVersion::ALL.is_sorted());
        assert_eq!(ApiVersion::ALL.last(), Some(&ApiVersion::LATEST));
        for version in ApiVersion::ALL {
            assert_eq!(ApiVersion::parse(version.as_str()), Ok(version));
        }
    }

    #[test]
    fn other_versions_are_refused() {
        for text in ["2022-01-01", "", "2024-10-1", "latest"] {
            assert!(ApiVersion::parse(text).is_err());
        }
    }
}
