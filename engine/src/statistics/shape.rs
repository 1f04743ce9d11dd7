//! Which members a record of statistics has in which dated version.
//!
//! Until 1 August 2023 savings were told by the cost that would have been, and
//! a session held what belongs to smart charging in an object of its own.
use serde::{Deserialize, Serialize};

/// Versions by their date, from the oldest.
const VERSIONS: [&str; 4] = ["2023-05-01", "2023-08-01", "2024-01-01", "2024-10-01"];

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
    /// What a session holds in its member `smartStats`; all null where smart
    /// charging had no part in it.
    #[serde(rename = "smart_stats")]
    SmartStats,
}

/// How records look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Version 2023-05-01: the cost that would have been, and sessions with
    /// what belongs to smart charging one level down.
    Nested,
    /// Since 2023-08-01: savings, and flat sessions.
    Flat,
}

/// Why there are no members to name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// There is no version of that date.
    #[error("version is {name:?}; it is one of {}", VERSIONS.join(", "))]
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

    /// The record as a word, the same as in serialised data.
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
    /// use slackwater_engine::statistics::shape::{Record, Shape};
    /// let shape = Shape::of_version(Some("2023-05-01"))?;
    /// assert!(shape.members(Record::Charging).contains(&"nonSmartCostSum"));
    /// let latest = Shape::of_version(None)?;
    /// assert!(!latest.members(Record::Charging).contains(&"nonSmartCostSum"));
    /// # Ok::<(), slackwater_engine::statistics::shape::ShapeError>(())
    /// ```
    pub fn of_version(date: Option<&str>) -> Result<Self, ShapeError> {
        let Some(date) = date else { return Ok(Self::Flat) };
        match VERSIONS.iter().position(|known| *known == date) {
            Some(0) => Ok(Self::Nested),
            Some(_) => Ok(Self::Flat),
            None => Err(ShapeError::UnknownVersion { name: date.to_owned() }),
        }
    }

    /// Names of the members of a record, in the order in which they are written.
    ///
    /// A flat session holds no `smartStats`, so that record has no members then.
    #[must_use]
    pub fn members(self, record: Record) -> &'static [&'static str] {
        match (self, record) {
            (Self::Nested, Record::Charging) => {
                &["kw", "kwhSum", "price", "nonSmartPrice", "costSum", "nonSmartCostSum", "date"]
            }
            (Self::Flat, Record::Charging) => {
                &["kw", "kwhSum", "price", "nonSmartPrice", "costSum", "estimatedSavings", "date"]
            }
            (_, Record::Production) => &["kw", "kwhSum", "price", "earningsSum", "date"],
            (Self::Nested, Record::Session) => {
                &["from", "to", "kw", "kwhSum", "price", "costSum", "smartSession", "smartStats"]
            }
            (Self::Flat, Record::Session) => &[
                "from",
                "to",
                "kw",
                "kwhSum",
                "price",
                "costSum",
                "nonSmartPrice",
                "estimatedSavings",
            ],
            (Self::Nested, Record::SmartStats) => {
                &["nonSmartPrice", "nonSmartCostSum", "estimatedSavings"]
            }
            (Self::Flat, Record::SmartStats) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use std::fmt::Write as _;

    #[test]
    fn sta_17_to_25_members_by_version() {
        let mut drawn = String::new();
        for version in VERSIONS {
            let shape = Shape::of_version(Some(version)).unwrap();
            for record in Record::ALL {
                let smart = shape.members(record).iter().filter(|name| {
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
        assert_eq!(Shape::of_version(None), Shape::of_version(VERSIONS.last().copied()));
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
