//! Members of the records of statistics by dated version.
//!
//! Before the version of 1 August 2023, savings were given as the cost without smart charging, and
//! a session held its smart-charging members in an object of its own. The versions of each member
//! are listed in one place, [`Field::versions`].
use serde::{Deserialize, Serialize};

use crate::version::dated::ApiVersion;
use crate::version::field::Field;

/// A record of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// A bucket of energy drawn.
    #[serde(rename = "charging")]
    Charging,
    /// A bucket of energy produced.
    #[serde(rename = "production")]
    Production,
    /// A charging session.
    #[serde(rename = "session")]
    Session,
    /// Content of a session's member `smartStats`; all members are null if the session was not
    /// smart.
    #[serde(rename = "smart_stats")]
    SmartStats,
}

/// Members of all records in one dated version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape(ApiVersion);

/// Name of a member, and the field that a version must have for it; `None` if all versions have it.
type Member = (&'static str, Option<Field>);

const CHARGING: &[Member] = &[
    ("kw", None),
    ("kwhSum", None),
    ("price", None),
    ("nonSmartPrice", None),
    ("costSum", None),
    ("nonSmartCostSum", Some(Field::SeriesNonSmartCostSum)),
    ("estimatedSavings", Some(Field::SeriesEstimatedSavings)),
    ("date", None),
];

const PRODUCTION: &[Member] =
    &[("kw", None), ("kwhSum", None), ("price", None), ("earningsSum", None), ("date", None)];

const SESSION: &[Member] = &[
    ("from", None),
    ("to", None),
    ("kw", None),
    ("kwhSum", None),
    ("price", None),
    ("costSum", None),
    ("nonSmartPrice", Some(Field::SessionNonSmartPrice)),
    ("estimatedSavings", Some(Field::SessionEstimatedSavings)),
    ("smartSession", Some(Field::SessionSmartSession)),
    ("smartStats", Some(Field::SessionSmartStats)),
];

const SMART_STATS: &[Member] = &[
    ("nonSmartPrice", Some(Field::SessionSmartStats)),
    ("nonSmartCostSum", Some(Field::SessionSmartStats)),
    ("estimatedSavings", Some(Field::SessionSmartStats)),
];

/// Error of an unknown version or record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// There is no version of that date.
    #[error(
        "version is {name:?}; it is one of {}",
        ApiVersion::ALL.map(ApiVersion::as_str).join(", ")
    )]
    UnknownVersion {
        /// The date as given.
        name: String,
    },
    /// There is no such record.
    #[error("record is {name:?}; it is one of charging, production, session, smart_stats")]
    UnknownRecord {
        /// The name as given.
        name: String,
    },
}

impl Record {
    /// All records.
    pub const ALL: [Self; 4] = [Self::Charging, Self::Production, Self::Session, Self::SmartStats];

    /// Name of the record, as in serialised data.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Charging => "charging",
            Self::Production => "production",
            Self::Session => "session",
            Self::SmartStats => "smart_stats",
        }
    }

    /// The record of that name.
    ///
    /// # Errors
    /// There is no such record.
    pub fn from_name(name: &str) -> Result<Self, ShapeError> {
        let known = Self::ALL.into_iter().find(|known| known.as_str() == name);
        known.ok_or_else(|| ShapeError::UnknownRecord { name: name.to_owned() })
    }
}

impl Shape {
    /// The shape of a version; `None` is the latest.
    ///
    /// # Errors
    /// There is no version of that date.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_wire::version::shape::{Record, Shape};
    /// let shape = Shape::of_version(Some("2023-05-01"))?;
    /// assert!(shape.members(Record::Charging).contains(&"nonSmartCostSum"));
    /// let latest = Shape::of_version(None)?;
    /// assert!(!latest.members(Record::Charging).contains(&"nonSmartCostSum"));
    /// # Ok::<(), slackwater_wire::version::shape::ShapeError>(())
    /// ```
    pub fn of_version(date: Option<&str>) -> Result<Self, ShapeError> {
        let Some(date) = date else { return Ok(Self(ApiVersion::LATEST)) };
        let unknown = |_| ShapeError::UnknownVersion { name: date.to_owned() };
        ApiVersion::parse(date).map(Self).map_err(unknown)
    }

    /// Names of the members of a record, in the order in which they are written.
    ///
    /// [`Record::SmartStats`] has no members in versions in which a session has no `smartStats`.
    #[must_use]
    pub fn members(self, record: Record) -> Vec<&'static str> {
        let members = match record {
            Record::Charging => CHARGING,
            Record::Production => PRODUCTION,
            Record::Session => SESSION,
            Record::SmartStats => SMART_STATS,
        };
        let in_version = members.iter().filter(|(_, field)| field.is_none_or(|f| f.is_in(self.0)));
        in_version.map(|(name, _)| *name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use std::fmt::Write as _;

    #[test]
    fn members_by_version() {
        let mut drawn = String::new();
        for version in ApiVersion::ALL {
            let shape = Shape::of_version(Some(version.as_str())).unwrap();
            for record in Record::ALL {
                let members = shape.members(record);
                let smart = members.iter().filter(|name| {
                    name.starts_with("nonSmart")
                        || name.starts_with("smart")
                        || **name == "estimatedSavings"
                });
                let smart: Vec<&str> = smart.copied().collect();
                let _ = writeln!(drawn, "{version} {}: {}", record.as_str(), smart.join(" "));
            }
        }
        expect![[r#"
            2023-05-01 charging: nonSmartPrice nonSmartCostSum
            2023-05-01 production: 
            2023-05-01 session: smartSession smartStats
            2023-05-01 smart_stats: nonSmartPrice nonSmartCostSum estimatedSavings
            2023-08-01 charging: nonSmartPrice estimatedSavings
            2023-08-01 production: 
            2023-08-01 session: nonSmartPrice estimatedSavings
            2023-08-01 smart_stats: 
            2024-01-01 charging: nonSmartPrice estimatedSavings
            2024-01-01 production: 
            2024-01-01 session: nonSmartPrice estimatedSavings
            2024-01-01 smart_stats: 
            2024-10-01 charging: nonSmartPrice estimatedSavings
            2024-10-01 production: 
            2024-10-01 session: nonSmartPrice estimatedSavings
            2024-10-01 smart_stats: 
        "#]]
        .assert_eq(&drawn);
        assert_eq!(Shape::of_version(None), Shape::of_version(Some(ApiVersion::LATEST.as_str())));
    }

    #[test]
    fn other_names_are_refused() {
        let text = Shape::of_version(Some("2024-1-1")).unwrap_err().to_string();
        assert_eq!(
            text,
            "version is \"2024-1-1\"; it is one of 2023-05-01, 2023-08-01, 2024-01-01, 2024-10-01"
        );
        for record in Record::ALL {
            assert_eq!(Record::from_name(record.as_str()), Ok(record));
        }
        let text = Record::from_name("Session").unwrap_err().to_string();
        assert!(text.starts_with("record is \"Session\"; it is one of charging"), "{text}");
    }
}
