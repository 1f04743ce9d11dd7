//! Defects of a flex vehicle policy.
use std::fmt;

use slackwater_engine::time::hour_minute::HourMinuteError;

/// Names of the days, Monday first, as a policy spells them.
pub const DAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// A member of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlexField {
    /// The battery reserve.
    Reserve,
    /// The charge limit that was last seen at the location.
    ObservedLimit,
    /// A day as a whole, by the name it was given.
    Day(String),
    /// The deadline of a day, 0 is Monday.
    Deadline(usize),
    /// The target of a day, 0 is Monday.
    Target(usize),
}

impl fmt::Display for FlexField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reserve => f.write_str("reserve_percent"),
            Self::ObservedLimit => f.write_str("observed_limit_percent"),
            Self::Day(name) => write!(f, "schedule[{name:?}]"),
            Self::Deadline(day) => write!(f, "schedule[{:?}].deadline", DAYS[*day]),
            Self::Target(day) => write!(f, "schedule[{:?}].target_percent", DAYS[*day]),
        }
    }
}

/// Kind of defect of a member.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FlexFault {
    /// Number that is no percentage or outside its allowed range.
    #[error("is {percent} %, outside {least} to {most} %")]
    Outside {
        /// The number as given.
        percent: f64,
        /// Least allowed.
        least: f64,
        /// Most allowed.
        most: f64,
    },
    /// The manufacturer allows one reserve only.
    #[error("is {percent} %; for this manufacturer it is {fixed} %")]
    NotFixed {
        /// The number as given.
        percent: f64,
        /// The only one allowed.
        fixed: f64,
    },
    /// A target below the reserve.
    #[error("is {percent} %, below the reserve of {reserve} %")]
    BelowReserve {
        /// The target as given.
        percent: f64,
        /// The reserve.
        reserve: f64,
    },
    /// A target above the charge limit that was last seen.
    #[error("is {percent} %, above the charge limit of {limit} % last seen at the location")]
    AboveLimit {
        /// The target as given.
        percent: f64,
        /// The charge limit.
        limit: f64,
    },
    /// A name that is no day.
    #[error("is not a day; days are monday to sunday")]
    NoDay,
    /// A day without one of its two members.
    #[error("is missing; a day has a deadline and a target")]
    Missing,
    /// A deadline that is no time of day.
    #[error("{0}")]
    NotATime(HourMinuteError),
}

/// Defect of a policy and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct FlexIssue {
    /// The member.
    pub field: FlexField,
    /// Kind of defect.
    pub fault: FlexFault,
}

impl fmt::Display for FlexIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if matches!(self.fault, FlexFault::NotATime(_)) { ": " } else { " " };
        write!(f, "{}{verb}{}", self.field, self.fault)
    }
}

/// All that is wrong with a policy, at least one thing.
#[derive(Debug, Clone, PartialEq)]
pub struct FlexIssues(pub Vec<FlexIssue>);

impl fmt::Display for FlexIssues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, issue) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            issue.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for FlexIssues {}
