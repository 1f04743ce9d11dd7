//! Tree of the names and values of a file, and the differences between two trees.
//!
//! Saved plans of all kinds are compared as trees, without their types: every
//! file can be read as a [`ValueTree`].
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use chrono::{DateTime, Datelike, Timelike, Utc};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Value of a file, or tree of such values.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueTree {
    /// No value.
    Nothing,
    /// A truth value.
    Truth(bool),
    /// A number.
    Number(f64),
    /// A text; times are texts, too.
    Text(String),
    /// Values in an order.
    List(Vec<ValueTree>),
    /// Values by name, in the order of the file.
    Fields(Vec<(String, ValueTree)>),
}

/// Place in which two documents differ.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ValueChange {
    /// Path of the value, such as `plan.slots[2026-01-05T19:00:00Z].energy_kwh`.
    /// Entries of a list that have a `start` are named by it, others by position.
    pub path: String,
    /// Value in the first document; `None` if it has none.
    pub before: Option<ValueTree>,
    /// Value in the second document; `None` if it has none.
    pub after: Option<ValueTree>,
}

/// Error of a time that no plan can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} is {text}; times are whole microseconds in the years 1 to 9999")]
#[non_exhaustive]
pub struct TimeError {
    /// Path of the time.
    pub path: String,
    /// The time as given.
    pub text: String,
}

/// Returns all differences between two documents, in the order of the first.
///
/// Entries of lists are matched by their `start`, if all have one in rising order,
/// so that a list of periods without its first hour differs in one place and not
/// in all. A tree that only one document has is one change; a period that only
/// one has is a change in each of its fields. A field without a value counts as
/// no field.
///
/// # Example
///
/// ```
/// use slackwater_engine::plan::record::{ValueTree, changes};
/// let plan = |text| serde_json::from_str::<ValueTree>(text).unwrap();
/// let before = plan(r#"{"cost": 1.5, "slots": [{"start": "18:00"}, {"start": "19:00", "kwh": 7}]}"#);
/// let after = plan(r#"{"cost": 1.5, "slots": [{"start": "19:00", "kwh": 6}]}"#);
/// let paths: Vec<String> = changes(&before, &after).into_iter().map(|c| c.path).collect();
/// assert_eq!(paths, ["slots[18:00].start", "slots[19:00].kwh"]);
/// ```
#[must_use]
pub fn changes(before: &ValueTree, after: &ValueTree) -> Vec<ValueChange> {
    let mut found = Vec::new();
    compare(String::new(), before, after, &mut found);
    found
}

/// Appends the differences between two values at `path` to `found`.
fn compare(path: String, before: &ValueTree, after: &ValueTree, found: &mut Vec<ValueChange>) {
    match (before, after) {
        (ValueTree::Fields(before), ValueTree::Fields(after)) => {
            let at =
                |name: &str| if path.is_empty() { name.into() } else { format!("{path}.{name}") };
            compare_named(&named(before), &named(after), at, found);
        }
        (ValueTree::List(before), ValueTree::List(after)) => {
            // A new or lost period is taken apart into its fields.
            let (before, after) = keyed(before, after);
            let first = found.len();
            compare_named(&before, &after, |key| format!("{path}[{key}]"), found);
            let rest = found.split_off(first);
            found.extend(rest.into_iter().flat_map(ValueChange::in_each_field));
        }
        _ if before == after => {}
        _ => found.push(ValueChange {
            path,
            before: Some(before.clone()),
            after: Some(after.clone()),
        }),
    }
}

impl ValueChange {
    /// One change for each field of a period that only one document has; any other change as it is.
    fn in_each_field(self) -> Vec<Self> {
        let (tree, is_new) = match (&self.before, &self.after) {
            (None, Some(tree)) => (tree, true),
            (Some(tree), None) => (tree, false),
            _ => return vec![self],
        };
        let ValueTree::Fields(fields) = tree else { return vec![self] };
        if tree.field("start").is_none() {
            return vec![self];
        }
        let change = |(name, value): &(String, ValueTree)| {
            let (before, after) = if is_new { (None, Some(value)) } else { (Some(value), None) };
            let path = format!("{}.{name}", self.path);
            Self { path, before: before.cloned(), after: after.cloned() }
        };
        fields.iter().map(change).collect()
    }
}

/// Values with their names, in order.
type Named<'a> = Vec<(String, &'a ValueTree)>;

/// The fields of a tree with their names.
fn named(fields: &[(String, ValueTree)]) -> Named<'_> {
    fields.iter().map(|(name, value)| (name.clone(), value)).collect()
}

/// Entries of two lists with their names: the starts if both lists have them, else the positions.
fn keyed<'a>(before: &'a [ValueTree], after: &'a [ValueTree]) -> (Named<'a>, Named<'a>) {
    let by_start = |list: &'a [ValueTree]| -> Option<Named<'a>> {
        let named: Option<Named<'a>> = list
            .iter()
            .map(|entry| match entry.field("start") {
                Some(ValueTree::Text(start)) => Some((start.clone(), entry)),
                _ => None,
            })
            .collect();
        // Entries with equal starts could not be told apart.
        named.filter(|named| named.windows(2).all(|pair| pair[0].0 < pair[1].0))
    };
    let by_position = |list: &'a [ValueTree]| -> Named<'a> {
        list.iter().enumerate().map(|(index, entry)| (index.to_string(), entry)).collect()
    };
    match (by_start(before), by_start(after)) {
        (Some(before), Some(after)) => (before, after),
        _ => (by_position(before), by_position(after)),
    }
}

/// Compares values by name, in the order of the first list. Values that only the second list has
/// come at their place between the others. `at` makes a path of a name.
fn compare_named(
    before: &Named<'_>,
    after: &Named<'_>,
    at: impl Fn(&str) -> String,
    found: &mut Vec<ValueChange>,
) {
    let mut rest = after.iter().peekable();
    let new = |(name, value): &(String, &ValueTree), found: &mut Vec<ValueChange>| {
        if **value == ValueTree::Nothing {
            return;
        }
        found.push(ValueChange { path: at(name), before: None, after: Some((*value).clone()) });
    };
    // Names of the first list, and values of the second by name.
    let old: BTreeSet<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
    let other: BTreeMap<&str, &ValueTree> =
        after.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    for (name, value) in before {
        if let Some(other) = other.get(name.as_str()) {
            // Values that only the second list has and that come before this one.
            while let Some(only) = rest.next_if(|(name, _)| !old.contains(name.as_str())) {
                new(only, found);
            }
            // The value of this name is compared, and is not a new one.
            rest.next_if(|(next, _)| next == name);
            compare(at(name), value, other, found);
        } else if **value != ValueTree::Nothing {
            let before = Some((*value).clone());
            found.push(ValueChange { path: at(name), before, after: None });
        }
    }
    rest.filter(|(name, _)| !old.contains(name.as_str())).for_each(|only| new(only, found));
}

impl ValueTree {
    /// The value of a field; `None` if there is no such field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&ValueTree> {
        let Self::Fields(fields) = self else { return None };
        fields.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    /// Checks that a plan can hold all times of the tree.
    ///
    /// # Errors
    /// A text is a time before the year 1 or after the year 9999, in a leap
    /// second, or finer than a microsecond.
    pub fn check_times(&self) -> Result<(), TimeError> {
        let mut path = String::new();
        self.walk(&mut path)
    }

    /// Checks the times of a subtree at `path`, which is restored at the end.
    fn walk(&self, path: &mut String) -> Result<(), TimeError> {
        let length = path.len();
        match self {
            // Other text is no time and is not checked.
            Self::Text(text) if text.parse().is_ok_and(|at| !fits(at)) => {
                return Err(TimeError { path: path.clone(), text: text.clone() });
            }
            Self::List(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    let _ = write!(path, "[{index}]");
                    entry.walk(path)?;
                    path.truncate(length);
                }
            }
            Self::Fields(fields) => {
                for (name, value) in fields {
                    let dot = if length == 0 { "" } else { "." };
                    let _ = write!(path, "{dot}{name}");
                    value.walk(path)?;
                    path.truncate(length);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns `true` for whole microseconds in the years 1 to 9999, outside leap seconds.
fn fits(at: DateTime<Utc>) -> bool {
    (1..=9999).contains(&at.year())
        && at.nanosecond() < 1_000_000_000
        && at.nanosecond().is_multiple_of(1000)
}

/// Short text; the fields of a tree in braces, a list by its length.
impl fmt::Display for ValueTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("none"),
            Self::Truth(value) => write!(f, "{value}"),
            Self::Number(value) if (1e-4..1e15).contains(&value.abs()) || *value == 0.0 => {
                write!(f, "{value}")
            }
            Self::Number(value) => write!(f, "{value:e}"),
            Self::Text(text) => f.write_str(text),
            Self::List(entries) => write!(f, "list of {}", entries.len()),
            Self::Fields(fields) => {
                let parts: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name} {value}")).collect();
                write!(f, "{{{}}}", parts.join(", "))
            }
        }
    }
}

impl<'de> Deserialize<'de> for ValueTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

/// Visitor that reads any value.
struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = ValueTree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<ValueTree, E> {
        Ok(ValueTree::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<ValueTree, E> {
        Ok(ValueTree::Truth(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<ValueTree, E> {
        Ok(ValueTree::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<ValueTree, E> {
        Ok(ValueTree::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<ValueTree, E> {
        Ok(ValueTree::Number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<ValueTree, E> {
        Ok(ValueTree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ValueTree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element()? {
            entries.push(entry);
        }
        Ok(ValueTree::List(entries))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ValueTree, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(ValueTree::Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> ValueTree {
        serde_json::from_str(text).unwrap()
    }

    #[track_caller]
    fn check(before: &str, after: &str, expected: &Expect) {
        let shown = |value: Option<ValueTree>| value.map_or("-".into(), |value| value.to_string());
        let mut text = String::new();
        for change in changes(&read(before), &read(after)) {
            let (before, after) = (shown(change.before), shown(change.after));
            let _ = writeln!(text, "{}: {before} | {after}", change.path);
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn equal_documents_differ_in_nothing() {
        check(
            r#"{"a": [1, null], "b": {}}"#,
            r#"{"a": [1.0, null], "b": {}, "c": null}"#,
            &expect![""],
        );
    }

    #[test]
    fn values_fields_and_lists() {
        check(
            r#"{"kw": 7.5, "by": null, "old": true, "list": [1, 2, 3], "deep": {"x": "a"}}"#,
            r#"{"kw": 7, "new": {"y": 1, "z": []}, "by": "noon", "list": [1, 5], "deep": {"x": 4}}"#,
            &expect![[r#"
                kw: 7.5 | 7
                new: - | {y 1, z list of 0}
                by: none | noon
                old: true | -
                list[1]: 2 | 5
                list[2]: 3 | -
                deep.x: a | 4
            "#]],
        );
    }

    #[test]
    fn periods_are_matched_by_their_start() {
        check(
            r#"{"slots": [{"start": "1", "kwh": 1}, {"start": "3", "kwh": 3}]}"#,
            r#"{"slots": [{"start": "2", "kwh": 2}, {"start": "3", "kwh": 4}]}"#,
            &expect![[r#"
                slots[1].start: 1 | -
                slots[1].kwh: 1 | -
                slots[2].start: - | 2
                slots[2].kwh: - | 2
                slots[3].kwh: 3 | 4
            "#]],
        );
        let same_start = r#"[{"start": "1"}, {"start": "1", "kwh": 2}]"#;
        check(
            same_start,
            r#"[{"start": "1"}]"#,
            &expect![[r#"
            [1].start: 1 | -
            [1].kwh: 2 | -
        "#]],
        );
    }

    #[test]
    fn times_outside_the_calendar_are_found() {
        let error = |text: &str| read(text).check_times().map_err(|error| error.to_string());
        assert_eq!(error(r#"{"a": "noon", "b": ["2026-01-05T18:00:00.000001Z"]}"#), Ok(()));
        for time in [
            "+10000-01-01T00:00:00Z",
            "0000-12-31T23:00:00Z",
            "2016-12-31T23:59:60Z",
            "2026-01-05T18:00:00.0000001Z",
        ] {
            let expected =
                format!("a.b[1].by is {time}; times are whole microseconds in the years 1 to 9999");
            assert_eq!(
                error(&format!(r#"{{"a": {{"b": [1, {{"by": "{time}"}}]}}}}"#)),
                Err(expected)
            );
        }
    }

    fn documents() -> impl Strategy<Value = ValueTree> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(ValueTree::Truth),
            (-9..9i32).prop_map(|n| ValueTree::Number(f64::from(n))),
            "[a-c]{0,2}".prop_map(ValueTree::Text),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            let fields = prop::collection::btree_map("[a-d]|start", inner.clone(), 0..5);
            prop_oneof![
                prop::collection::vec(inner, 0..5).prop_map(ValueTree::List),
                fields.prop_map(|fields| ValueTree::Fields(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Documents without changes are equal, and both directions give the same paths.
        #[test]
        fn changes_are_found_and_symmetric(before in documents(), after in documents()) {
            let there = changes(&before, &after);
            prop_assert_eq!(there.is_empty(), before == after);
            prop_assert!(changes(&before, &before).is_empty());
            let mut forth: Vec<_> = there.iter().map(|c| &c.path).collect();
            let back = changes(&after, &before);
            let mut back: Vec<_> = back.iter().map(|c| &c.path).collect();
            forth.sort();
            back.sort();
            prop_assert_eq!(forth, back);
        }
    }
}
