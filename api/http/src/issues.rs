//! Faults of a body: all of them, each with its place.
//!
//! [`deserr`] reads a body and says of each fault which kind it is; the words are ours.
use std::ops::ControlFlow;

use deserr::{
    DeserializeError, Deserr, ErrorKind, IntoValue, MergeWithError, ValueKind, ValuePointerRef,
};
use serde_json::Value;
use uuid::Uuid;

use crate::problem::{ISSUES_MAX, Problem};

/// A value that a body is read as.
pub trait RequestBody: Deserr<Issues> + Send + 'static {
    /// Names of members in the order in which their faults are listed. Names that
    /// are left out come last, in the order of the alphabet.
    const ORDER: &'static [&'static str] = &[];
}

impl RequestBody for Value {}

/// Faults of a body, as far as a problem lists them: JSON pointers, and reasons.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Issues(Vec<(String, String)>);

impl Issues {
    /// The fault at a place.
    pub fn new(at: ValuePointerRef<'_>, reason: impl Into<String>) -> Self {
        Self::new_below(at, "", reason)
    }

    /// The fault at a place below another one, as a JSON pointer from there.
    pub fn new_below(at: ValuePointerRef<'_>, place: &str, reason: impl Into<String>) -> Self {
        Self(vec![(pointer_of(at) + place, reason.into())])
    }

    /// Adds faults to those before. After a hundred nothing more is read:
    /// one more than are listed shows that there are more.
    pub fn add_after(before: Option<Self>, Self(more): Self) -> ControlFlow<Self, Self> {
        let mut all = before.unwrap_or_default();
        all.0.extend(more);
        if all.0.len() > ISSUES_MAX { ControlFlow::Break(all) } else { ControlFlow::Continue(all) }
    }

    /// The problem of a body with these faults.
    #[must_use]
    pub fn in_order(mut self, order: &[&str]) -> Problem {
        let rank = |part: &str| {
            let known = || order.iter().position(|name| *name == part);
            part.parse().ok().or_else(known).unwrap_or(order.len())
        };
        self.0.sort_by_cached_key(|(place, _)| place.split('/').map(rank).collect::<Vec<_>>());
        Problem::invalid(
            self.0.iter().map(|(place, reason)| format!("{place}: {reason}")).collect(),
        )
    }
}

impl FromIterator<Self> for Issues {
    fn from_iter<I: IntoIterator<Item = Self>>(all: I) -> Self {
        Self(all.into_iter().flat_map(|Self(issues)| issues).collect())
    }
}

impl MergeWithError<Self> for Issues {
    fn merge(before: Option<Self>, more: Self, _: ValuePointerRef<'_>) -> ControlFlow<Self, Self> {
        Self::add_after(before, more)
    }
}

/// A reason of a function that reads the value at a place.
impl MergeWithError<String> for Issues {
    fn merge(
        before: Option<Self>,
        reason: String,
        at: ValuePointerRef<'_>,
    ) -> ControlFlow<Self, Self> {
        Self::add_after(before, Self::new(at, reason))
    }
}

impl DeserializeError for Issues {
    fn error<V: IntoValue>(
        before: Option<Self>,
        error: ErrorKind<'_, V>,
        at: ValuePointerRef<'_>,
    ) -> ControlFlow<Self, Self> {
        let issue = match error {
            ErrorKind::IncorrectValueKind { accepted, .. } => {
                Self::new(at, expected_kind(accepted))
            }
            ErrorKind::MissingField { field } => Self::new(at.push_key(field), "is required"),
            ErrorKind::UnknownKey { key, .. } => Self::new(at.push_key(key), "is not a member"),
            ErrorKind::UnknownValue { accepted, .. } => {
                Self::new(at, format!("expected {}", accepted.join(", ")))
            }
            ErrorKind::BadSequenceLen { expected, .. } => {
                Self::new(at, format!("expected {expected} items"))
            }
            ErrorKind::Unexpected { msg } => Self::new(at, msg),
        };
        Self::add_after(before, issue)
    }
}

/// Whatever is a UUID in a body may be null instead.
impl Deserr<Issues> for Uuid {
    fn deserialize_from_value<V: IntoValue>(
        value: deserr::Value<V>,
        at: ValuePointerRef<'_>,
    ) -> Result<Self, Issues> {
        let read = match value {
            deserr::Value::String(text) => Self::parse_str(&text).ok(),
            _ => None,
        };
        read.ok_or_else(|| Issues::new(at, "expected a UUID or null"))
    }
}

fn expected_kind(accepted: &[ValueKind]) -> &'static str {
    match accepted.first() {
        Some(ValueKind::Boolean) => "expected true or false",
        Some(ValueKind::Float) => "expected a number",
        Some(ValueKind::Integer | ValueKind::NegativeInteger) => "expected an integer",
        Some(ValueKind::String) => "expected a string",
        Some(ValueKind::Sequence) => "expected an array",
        Some(ValueKind::Map) => "expected an object",
        Some(ValueKind::Null) | None => "expected null",
    }
}

/// A place as a JSON pointer.
fn pointer_of(at: ValuePointerRef<'_>) -> String {
    match at {
        ValuePointerRef::Origin => String::new(),
        ValuePointerRef::Key { key, prev } => format!("{}/{}", pointer_of(*prev), escape_name(key)),
        ValuePointerRef::Index { index, prev } => format!("{}/{index}", pointer_of(*prev)),
    }
}

/// A name as a part of a JSON pointer.
#[must_use]
pub fn escape_name(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
