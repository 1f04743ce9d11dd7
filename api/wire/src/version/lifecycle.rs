//! Life cycle of a version: the stage that follows from the dates of releases.
use chrono::{DateTime, Months, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::version::dated::ApiVersion;

/// Calendar months for which a version is supported after its successor's release (VER-15).
const DEPRECATED_MONTHS: Months = Months::new(6);

/// Time as legacy after which requests may be rejected at random (VER-13).
const BROWNOUTS_AFTER: TimeDelta = TimeDelta::weeks(4);

/// Time as legacy after which clients are moved to the current version (VER-14).
const UPGRADED_AFTER: TimeDelta = TimeDelta::weeks(8);

/// Stage in the life cycle of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stage {
    /// Not released yet.
    #[serde(rename = "unreleased")]
    Unreleased,
    /// The latest version, for new clients.
    #[serde(rename = "current")]
    Current,
    /// Superseded; may still be chosen (VER-11).
    #[serde(rename = "deprecated")]
    Deprecated,
    /// Cannot be chosen any more (VER-12).
    #[serde(rename = "legacy")]
    Legacy,
    /// Cannot be chosen any more, and requests may be rejected at random (VER-13).
    #[serde(rename = "legacy_brownouts")]
    LegacyBrownouts,
    /// Retired: its clients are served the current version (VER-14).
    #[serde(rename = "upgraded")]
    Upgraded,
}

impl Stage {
    /// Name of the stage in serialised data.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreleased => "unreleased",
            Self::Current => "current",
            Self::Deprecated => "deprecated",
            Self::Legacy => "legacy",
            Self::LegacyBrownouts => "legacy_brownouts",
            Self::Upgraded => "upgraded",
        }
    }

    /// True if new clients and subscriptions may choose the version.
    #[must_use]
    pub const fn may_be_chosen(self) -> bool {
        matches!(self, Self::Current | Self::Deprecated)
    }
}

/// Dates of releases, oldest first; a setting of the operator of the service (AMB-60).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(ApiVersion, DateTime<Utc>)>", into = "Vec<(ApiVersion, DateTime<Utc>)>")]
pub struct Releases(Vec<(ApiVersion, DateTime<Utc>)>);

/// Error of a list that is no valid history of releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReleasesError {
    /// The list is empty.
    #[error("releases: at least one version is needed")]
    Empty,
    /// A version does not follow the one before it, in date or in time of release.
    #[error("releases[{index}]: {version} at {at} does not follow the release ahead of it")]
    OutOfOrder {
        /// Position in the list.
        index: usize,
        /// The version.
        version: ApiVersion,
        /// Time of its release.
        at: DateTime<Utc>,
    },
}

impl Releases {
    /// History of releases. Versions that are not in it are not served.
    ///
    /// # Errors
    /// The list is empty, or a version or time does not follow the one before it.
    pub fn new(releases: Vec<(ApiVersion, DateTime<Utc>)>) -> Result<Self, ReleasesError> {
        if releases.is_empty() {
            return Err(ReleasesError::Empty);
        }
        for (index, pair) in releases.windows(2).enumerate() {
            if pair[1].0 <= pair[0].0 || pair[1].1 <= pair[0].1 {
                let (version, at) = pair[1];
                return Err(ReleasesError::OutOfOrder { index: index + 1, version, at });
            }
        }
        Ok(Self(releases))
    }

    /// Stage of a version at an instant. The first instant of a stage belongs to it.
    ///
    /// Six months are calendar months: a version that is superseded on 31 August is legacy from the
    /// last day of February on.
    #[must_use]
    pub fn stage(&self, version: ApiVersion, now: DateTime<Utc>) -> Stage {
        let released = self.0.iter().position(|(one, at)| *one == version && *at <= now);
        let Some(position) = released else { return Stage::Unreleased };
        let superseded = self.0.get(position + 1).map(|(_, at)| *at).filter(|at| *at <= now);
        let Some(superseded) = superseded else { return Stage::Current };
        let legacy = superseded.checked_add_months(DEPRECATED_MONTHS);
        let has_been_legacy_for = |length| legacy.is_some_and(|from| now - from >= length);
        if has_been_legacy_for(UPGRADED_AFTER) {
            Stage::Upgraded
        } else if has_been_legacy_for(BROWNOUTS_AFTER) {
            Stage::LegacyBrownouts
        } else if has_been_legacy_for(TimeDelta::zero()) {
            Stage::Legacy
        } else {
            Stage::Deprecated
        }
    }

    /// Current version at an instant; `None` before the first release.
    #[must_use]
    pub fn current(&self, now: DateTime<Utc>) -> Option<ApiVersion> {
        self.0.iter().rev().find(|(_, at)| *at <= now).map(|(version, _)| *version)
    }

    /// Version that is served to a client pinned to `pin` (VER-14).
    #[must_use]
    pub fn served(&self, pin: ApiVersion, now: DateTime<Utc>) -> Option<ApiVersion> {
        match self.stage(pin, now) {
            Stage::Unreleased | Stage::Upgraded => self.current(now),
            _ => Some(pin),
        }
    }
}

impl TryFrom<Vec<(ApiVersion, DateTime<Utc>)>> for Releases {
    type Error = ReleasesError;
    fn try_from(releases: Vec<(ApiVersion, DateTime<Utc>)>) -> Result<Self, ReleasesError> {
        Self::new(releases)
    }
}

impl From<Releases> for Vec<(ApiVersion, DateTime<Utc>)> {
    fn from(releases: Releases) -> Self {
        releases.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(date: &str) -> DateTime<Utc> {
        format!("{date}T00:00:00Z").parse().unwrap()
    }

    fn releases() -> Releases {
        let version = |version: ApiVersion| (version, at(version.as_str()));
        Releases::new(ApiVersion::ALL.map(version).to_vec()).unwrap()
    }

    #[track_caller]
    fn check(version: ApiVersion, date: &str, expected: Stage) {
        assert_eq!(releases().stage(version, at(date)), expected);
    }

    #[test]
    fn the_life_of_a_version() {
        let first = ApiVersion::V2023_05_01;
        check(first, "2023-04-30", Stage::Unreleased);
        check(first, "2023-05-01", Stage::Current);
        check(first, "2023-07-31", Stage::Current);
        check(first, "2023-08-01", Stage::Deprecated);
        check(first, "2024-01-31", Stage::Deprecated);
        check(first, "2024-02-01", Stage::Legacy);
        check(first, "2024-02-29", Stage::LegacyBrownouts);
        check(first, "2024-03-28", Stage::Upgraded);
        check(ApiVersion::LATEST, "2099-01-01", Stage::Current);
    }

    #[test]
    fn a_stage_has_one_word() {
        let stages = [
            (Stage::Unreleased, "unreleased"),
            (Stage::Current, "current"),
            (Stage::Deprecated, "deprecated"),
            (Stage::Legacy, "legacy"),
            (Stage::LegacyBrownouts, "legacy_brownouts"),
            (Stage::Upgraded, "upgraded"),
        ];
        for (stage, word) in stages {
            assert_eq!((stage.as_str(), serde_json::to_value(stage).unwrap()), (word, word.into()));
        }
    }

    #[test]
    fn exactly_one_version_is_current_at_any_time() {
        for day in 0..1000 {
            let now = at("2023-05-01") + TimeDelta::days(day);
            let stages = ApiVersion::ALL.map(|version| releases().stage(version, now));
            assert_eq!(stages.iter().filter(|stage| **stage == Stage::Current).count(), 1);
            let current = releases().current(now).unwrap();
            assert_eq!(releases().stage(current, now), Stage::Current);
            for pin in ApiVersion::ALL {
                let stage = releases().stage(pin, now);
                let keeps = !matches!(stage, Stage::Unreleased | Stage::Upgraded);
                assert_eq!(releases().served(pin, now), Some(if keeps { pin } else { current }));
                assert_eq!(
                    stage.may_be_chosen(),
                    matches!(stage, Stage::Current | Stage::Deprecated)
                );
            }
        }
        assert_eq!(releases().current(at("2023-01-01")), None);
    }

    #[test]
    fn histories_that_are_none() {
        assert_eq!(Releases::new(vec![]), Err(ReleasesError::Empty));
        let swapped = vec![
            (ApiVersion::LATEST, at("2023-01-01")),
            (ApiVersion::V2023_05_01, at("2024-01-01")),
        ];
        let error = Releases::new(swapped).unwrap_err().to_string();
        assert!(error.starts_with("releases[1]: 2023-05-01 at 2024-01-01"), "{error}");
        let text = serde_json::to_string(&releases()).unwrap();
        assert_eq!(serde_json::from_str::<Releases>(&text).unwrap(), releases());
    }
}
