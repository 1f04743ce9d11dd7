//! Frames of OCPP-J: JSON arrays around the payload of a message.
use serde_json::{Value, json};

/// Frame of either direction.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// Request: `[2, id, action, payload]`.
    Call {
        /// Identifier of the message.
        id: String,
        /// Name of the message.
        action: String,
        /// Its fields.
        payload: Value,
    },
    /// Answer: `[3, id, payload]`.
    CallResult {
        /// Identifier of the request.
        id: String,
        /// Fields of the answer.
        payload: Value,
    },
    /// Failure: `[4, id, code, description, details]`.
    CallError {
        /// Identifier of the request.
        id: String,
        /// Code, of a list of the protocol.
        code: String,
        /// Reason in words.
        description: String,
    },
}

/// Text that is no frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Not to be answered: no request, or none that has an identifier.
    #[error("{reason}")]
    Unanswerable {
        /// Reason in words.
        reason: &'static str,
    },
    /// Request with an identifier and a fault.
    #[error("{reason}")]
    Malformed {
        /// Identifier of the message.
        id: String,
        /// Reason in words.
        reason: &'static str,
    },
}

/// Longest text that is taken, in bytes. Reports of all variables are long.
pub const TEXT_LENGTH_MAX: usize = 256 * 1024;

/// Longest identifier that the protocol allows, in characters. Longer ones are answered.
pub const ID_LENGTH_MAX: usize = 36;

impl Frame {
    /// Reads a frame.
    ///
    /// # Errors
    /// The text is no JSON, no array, or an array of other elements.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_ocpp::frame::Frame;
    /// let frame = Frame::read(r#"[2, "19", "Heartbeat", {}]"#);
    /// assert!(matches!(frame, Ok(Frame::Call { action, .. }) if action == "Heartbeat"));
    /// assert!(Frame::read("{}").is_err());
    /// ```
    pub fn read(text: &str) -> Result<Self, FrameError> {
        let unanswerable = |reason| FrameError::Unanswerable { reason };
        let value: Value = serde_json::from_str(text).map_err(|_| unanswerable("no JSON"))?;
        let Value::Array(parts) = value else { return Err(unanswerable("no array")) };
        let mut parts = parts.into_iter();
        let kind = parts.next().and_then(|kind| kind.as_i64());
        let id = match parts.next() {
            Some(Value::String(id)) => id,
            // Some charge points number their messages.
            Some(Value::Number(number)) => number.to_string(),
            _ => return Err(unanswerable("no identifier of the message")),
        };
        match kind {
            Some(2) => Self::call(id, &mut parts),
            Some(3) => Ok(Self::CallResult { id, payload: take_payload(parts.next()) }),
            Some(4) => Ok(Self::CallError {
                id,
                code: text_of(parts.next()),
                description: text_of(parts.next()),
            }),
            _ => Err(unanswerable("no type of message that is known")),
        }
    }

    fn call(id: String, parts: &mut impl Iterator<Item = Value>) -> Result<Self, FrameError> {
        let Some(Value::String(action)) = parts.next() else {
            return Err(FrameError::Malformed { id, reason: "the third element is not an action" });
        };
        match parts.next() {
            Some(payload @ Value::Object(_)) => Ok(Self::Call { id, action, payload }),
            _ => Err(FrameError::Malformed { id, reason: "the fourth element is not an object" }),
        }
    }

    /// The frame as text.
    #[must_use]
    pub fn write(&self) -> String {
        match self {
            Self::Call { id, action, payload } => json!([2, id, action, payload]),
            Self::CallResult { id, payload } => json!([3, id, payload]),
            Self::CallError { id, code, description } => json!([4, id, code, description, {}]),
        }
        .to_string()
    }
}

fn take_payload(value: Option<Value>) -> Value {
    value.filter(Value::is_object).unwrap_or_else(|| json!({}))
}

fn text_of(value: Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frames_are_read_as_they_are_written() {
        let id = "7".to_owned();
        for frame in [
            Frame::Call {
                id: id.clone(),
                action: "Reset".to_owned(),
                payload: json!({"type": "Hard"}),
            },
            Frame::CallResult { id: id.clone(), payload: json!({}) },
            Frame::CallError { id, code: "NotImplemented".to_owned(), description: "x".to_owned() },
        ] {
            assert_eq!(Frame::read(&frame.write()), Ok(frame));
        }
    }

    #[test]
    fn faults_of_frames_by_whether_they_can_be_answered() {
        for (text, reason) in [
            ("", "no JSON"),
            ("[2,", "no JSON"),
            ("{}", "no array"),
            ("[]", "no identifier of the message"),
            ("[2]", "no identifier of the message"),
            ("[2, null, \"Heartbeat\", {}]", "no identifier of the message"),
            ("[9, \"1\", \"Heartbeat\", {}]", "no type of message that is known"),
            ("[\"2\", \"1\", \"Heartbeat\", {}]", "no type of message that is known"),
        ] {
            assert_eq!(Frame::read(text), Err(FrameError::Unanswerable { reason }), "{text}");
        }
        for (text, reason) in [
            ("[2, \"1\"]", "the third element is not an action"),
            ("[2, \"1\", 5, {}]", "the third element is not an action"),
            ("[2, \"1\", \"Heartbeat\"]", "the fourth element is not an object"),
            ("[2, 1, \"Heartbeat\", []]", "the fourth element is not an object"),
        ] {
            let id = "1".to_owned();
            assert_eq!(Frame::read(text), Err(FrameError::Malformed { id, reason }), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(text in ".{0,80}") {
            let _ = Frame::read(&text);
        }

        #[test]
        fn no_array_is_a_panic(text in "\\[[234],(\"a\"|1|null|\\{\\}),(\"b\"|2|null|\\[\\]),(\\{\\}|\\[\\]|null)\\]") {
            let _ = Frame::read(&text);
        }
    }
}
