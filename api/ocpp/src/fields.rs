//! Fields of a payload, read as generously as their meaning allows.
//!
//! Charge points in the field write numbers as texts, leave out what is required, and add what no
//! version knows. Refusing such a message makes them send it for ever; only a message without its
//! meaning is refused.
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value;

/// Reason to answer a request with an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No version of the protocol has such an action.
    #[error("the action {action} is not known")]
    NotImplemented {
        /// Action as given.
        action: String,
    },
    /// The action is known, and not for this direction or not done here.
    #[error("the action {action} is not done here")]
    NotSupported {
        /// Action as given.
        action: String,
    },
    /// The frame has another form.
    #[error("{reason}")]
    Formation {
        /// Reason in words.
        reason: &'static str,
    },
    /// A field without which the message means nothing.
    #[error("{field} is missing")]
    Missing {
        /// Name of the field.
        field: &'static str,
    },
    /// A field of another type.
    #[error("{field} is {given}; expected {expected}")]
    WrongType {
        /// Name of the field.
        field: &'static str,
        /// Value as given.
        given: String,
        /// Expectation, with its unit.
        expected: &'static str,
    },
    /// A field with a value that is none of its list.
    #[error("{field} is {given}; expected {expected}")]
    WrongValue {
        /// Name of the field.
        field: &'static str,
        /// Value as given.
        given: String,
        /// Expectation.
        expected: &'static str,
    },
}

/// Longest text that is read: that of a variable of 2.0.1. The rest of a longer one is left out, since
/// texts are kept.
const TEXT_MAX: usize = 2500;

/// Highest number of a connector. Each has a state of its own, which is kept.
const CONNECTOR_MAX: i64 = 100;

/// Most of a value that an error repeats, in characters.
const SHOWN_MAX: usize = 60;

/// Fields of an object.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a>(pub &'a Value);

impl<'a> Fields<'a> {
    /// A field that is an object; without fields if there is none.
    #[must_use]
    pub fn inner(self, field: &str) -> Self {
        Self(self.0.get(field).unwrap_or(&Value::Null))
    }

    /// Elements of a list; none if there is no list.
    pub fn list(self, field: &str) -> impl Iterator<Item = Fields<'a>> {
        let list = self.0.get(field).and_then(Value::as_array);
        list.into_iter().flatten().map(Fields)
    }

    /// Text of a field, if it has one that is not blank.
    #[must_use]
    pub fn text(self, field: &str) -> Option<&'a str> {
        let text = self.0.get(field)?.as_str()?.trim();
        (!text.is_empty()).then_some(clip_text(text))
    }

    /// Owned text of a field.
    #[must_use]
    pub fn string(self, field: &str) -> Option<String> {
        self.text(field).map(str::to_owned)
    }

    /// Number of a field, also one written as text.
    #[must_use]
    pub fn number(self, field: &str) -> Option<f64> {
        number_of(self.0.get(field)?)
    }

    /// Whole number of a field, also one written as text.
    #[must_use]
    pub fn integer(self, field: &str) -> Option<i64> {
        self.number(field).filter(|number| number.fract() == 0.0).map(|number| number as i64)
    }

    /// Instant of a field, if it is readable. One without an offset is in UTC, as the protocol
    /// asks for.
    #[must_use]
    pub fn instant(self, field: &str) -> Option<DateTime<Utc>> {
        read_instant(self.text(field)?)
    }

    /// Number of a connector.
    ///
    /// # Errors
    /// There is none, or it is no whole number from 0 to 100.
    pub fn connector(self, field: &'static str) -> Result<u32, Fault> {
        let Some(value) = self.0.get(field) else { return Err(Fault::Missing { field }) };
        let expected = "a whole number from 0 to 100";
        let wrong = || Fault::WrongType { field, given: shown(value), expected };
        let number = self.integer(field).filter(|number| (0..=CONNECTOR_MAX).contains(number));
        number.and_then(|number| u32::try_from(number).ok()).ok_or_else(wrong)
    }

    /// A text that must be there.
    ///
    /// # Errors
    /// There is none.
    pub fn required(self, field: &'static str) -> Result<&'a str, Fault> {
        match self.0.get(field) {
            None | Some(Value::Null) => Err(Fault::Missing { field }),
            Some(Value::String(text)) => Ok(clip_text(text)),
            Some(value) => Err(Fault::WrongType { field, given: shown(value), expected: "a text" }),
        }
    }
}

fn clip_text(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_MAX)]
}

/// Number in a JSON value, also one written as text.
#[must_use]
pub fn number_of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// Instant of a text in RFC 3339, with or without an offset.
#[must_use]
pub fn read_instant(text: &str) -> Option<DateTime<Utc>> {
    let with_offset = DateTime::parse_from_rfc3339(text)
        .or_else(|_| DateTime::parse_from_rfc3339(&format!("{text}Z")));
    with_offset.ok().map(|instant| instant.with_timezone(&Utc))
}

/// Instant as the protocol writes it.
#[must_use]
pub fn write_instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Value for an error: short, however long it came.
#[must_use]
pub fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN_MAX {
        return text;
    }
    let start: String = text.chars().take(SHOWN_MAX).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_read_from_texts_too() {
        let value =
            json!({"a": 5, "b": "5", "c": " 5.0 ", "d": "five", "e": 5.5, "f": "NaN", "g": null});
        let fields = Fields(&value);
        let read = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|field| fields.integer(field));
        assert_eq!(read, [Some(5), Some(5), Some(5), None, None, None, None, None]);
    }

    #[test]
    fn times_with_and_without_an_offset() {
        let six = "2026-01-05T18:00:00Z".parse().ok();
        for text in ["2026-01-05T18:00:00Z", "2026-01-05T18:00:00", "2026-01-05T19:00:00.000+01:00"]
        {
            assert_eq!(read_instant(text), six, "{text}");
        }
        for text in ["", "yesterday", "2026-01-05", "0000-00-00T00:00:00Z"] {
            assert_eq!(read_instant(text), None, "{text}");
        }
    }

    #[test]
    fn faults_name_field_and_value() {
        let value = json!({"connectorId": -1, "idTag": 7});
        let fields = Fields(&value);
        let error = fields.connector("connectorId").unwrap_err().to_string();
        assert_eq!(error, "connectorId is -1; expected a whole number from 0 to 100");
        assert!(Fields(&json!({"evseId": 101})).connector("evseId").is_err());
        assert_eq!(fields.connector("evseId").unwrap_err().to_string(), "evseId is missing");
        let error = fields.required("idTag").unwrap_err().to_string();
        assert_eq!(error, "idTag is 7; expected a text");
        assert_eq!(shown(&json!("x".repeat(500))).chars().count(), SHOWN_MAX + 1);
    }
}
