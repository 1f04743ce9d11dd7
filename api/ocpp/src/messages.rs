//! Last messages of a charge point, as operators see them.
//!
//! Requests are kept with their fields where these hold no secret: not those with keys, addresses
//! with passwords, or data of manufacturers. Of answers the status is kept.
use std::collections::VecDeque;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use crate::frame::Frame;

/// Messages that are kept.
const MESSAGES_MAX: usize = 16;

/// Longest fields that are kept, in bytes of JSON. Of longer ones only the action is.
const FIELDS_LENGTH_MAX: usize = 400;

/// Longest identifier, action or status that is kept, in characters. The rest is cut off.
const NAME_LENGTH_MAX: usize = 64;

/// Requests whose fields hold no secret.
const OPEN_ACTIONS: [&str; 23] = [
    "Authorize",
    "BootNotification",
    "ClearCache",
    "ClearChargingProfile",
    "DiagnosticsStatusNotification",
    "FirmwareStatusNotification",
    "GetCompositeSchedule",
    "GetConfiguration",
    "GetVariables",
    "Heartbeat",
    "MeterValues",
    "RemoteStartTransaction",
    "RemoteStopTransaction",
    "RequestStartTransaction",
    "RequestStopTransaction",
    "Reset",
    "SetChargingProfile",
    "StartTransaction",
    "StatusNotification",
    "StopTransaction",
    "TransactionEvent",
    "TriggerMessage",
    "UnlockConnector",
];

/// Sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// The charge point.
    Charger,
    /// This system, or the upstream one through it.
    Service,
}

/// Message as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Message<'a> {
    /// Time at which it came or went.
    pub at: DateTime<Utc>,
    /// Sender.
    pub from: Sender,
    /// Its identifier, which a request shares with its answer.
    pub id: &'a str,
    /// Action of a request; of an answer its status, or the code of an error.
    pub what: &'a str,
    /// Fields of a request, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<&'a str>,
}

/// Message as it is kept: one text, since each of its own takes memory besides its letters, and there
/// are sixteen messages for each charge point.
#[derive(Debug, Clone, PartialEq)]
struct KeptMessage {
    at: DateTime<Utc>,
    from: Sender,
    has_fields: bool,
    /// End of the identifier, in bytes of the text.
    id_end: u16,
    /// End of the action, from which on the fields follow.
    what_end: u16,
    text: Box<str>,
}

/// Last messages, the oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Messages(VecDeque<KeptMessage>);

impl Messages {
    /// Adds a text, in place of the oldest message if there are many. A text that is no message is
    /// left out.
    pub fn add_text(&mut self, from: Sender, text: &str, at: DateTime<Utc>) {
        let Ok(frame) = Frame::read(text) else { return };
        let (id, what, fields) = match frame {
            Frame::Call { id, action, payload } => {
                let is_open = OPEN_ACTIONS.contains(&action.as_str());
                let fields = is_open.then(|| payload.to_string());
                (id, action, fields.filter(|text| text.len() <= FIELDS_LENGTH_MAX))
            }
            Frame::CallResult { id, payload } => {
                let status = payload.get("status").and_then(Value::as_str);
                (id, status.unwrap_or("answered").to_owned(), None)
            }
            Frame::CallError { id, code, .. } => (id, code, None),
        };
        if self.0.len() >= MESSAGES_MAX {
            self.0.pop_front();
        }
        let message = Message {
            at,
            from,
            id: cut_name(&id),
            what: cut_name(&what),
            fields: fields.as_deref(),
        };
        self.0.extend(KeptMessage::pack_message(message));
    }

    /// The messages, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Message<'_>> {
        self.0.iter().map(KeptMessage::unpack_message)
    }
}

impl KeptMessage {
    /// The message in one text; `None` if its names are longer than a `u16` tells.
    fn pack_message(message: Message<'_>) -> Option<Self> {
        let Message { at, from, id, what, fields } = message;
        let id_end = u16::try_from(id.len()).ok()?;
        let what_end = u16::try_from(id.len() + what.len()).ok()?;
        let text = [id, what, fields.unwrap_or_default()].concat().into_boxed_str();
        Some(Self { at, from, has_fields: fields.is_some(), id_end, what_end, text })
    }

    fn unpack_message(&self) -> Message<'_> {
        let (id_end, what_end) = (usize::from(self.id_end), usize::from(self.what_end));
        Message {
            at: self.at,
            from: self.from,
            id: &self.text[..id_end],
            what: &self.text[id_end..what_end],
            fields: self.has_fields.then(|| &self.text[what_end..]),
        }
    }
}

/// Start of a name, which a charge point chose.
fn cut_name(name: &str) -> &str {
    let end = name.char_indices().nth(NAME_LENGTH_MAX).map_or(name.len(), |(at, _)| at);
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn added(texts: &[&str]) -> Messages {
        let mut messages = Messages::default();
        for text in texts {
            messages.add_text(Sender::Charger, text, DateTime::UNIX_EPOCH);
        }
        messages
    }

    #[test]
    fn requests_are_kept_with_fields_and_answers_with_their_status() {
        let all = added(&[
            r#"[2, "1", "StatusNotification", {"connectorId": 1}]"#,
            r#"[3, "2", {"status": "Rejected"}]"#,
            r#"[3, "3", {"configurationKey": [{"key": "AuthorizationKey", "value": "sesame"}]}]"#,
            r#"[4, "4", "GenericError", "sesame", {}]"#,
            "no message",
        ]);
        let shown: Vec<Value> = all.iter().map(|one| json!(one)).collect();
        let expected = [
            json!({"what": "StatusNotification", "fields": r#"{"connectorId":1}"#, "id": "1"}),
            json!({"what": "Rejected", "id": "2"}),
            json!({"what": "answered", "id": "3"}),
            json!({"what": "GenericError", "id": "4"}),
        ];
        for (shown, mut expected) in shown.into_iter().zip(expected) {
            expected["at"] = json!("1970-01-01T00:00:00Z");
            expected["from"] = json!("charger");
            assert_eq!(shown, expected);
        }
        assert_eq!(all.iter().count(), 4);
    }

    #[test]
    fn secrets_are_not_kept() {
        let all = added(&[
            r#"[2, "1", "ChangeConfiguration", {"key": "AuthorizationKey", "value": "sesame"}]"#,
            r#"[2, "2", "GetDiagnostics", {"location": "ftp://me:sesame@example.org"}]"#,
            r#"[2, "3", "DataTransfer", {"data": "sesame"}]"#,
        ]);
        assert_eq!(all.iter().count(), 3);
        assert!(!format!("{all:?}").contains("sesame"), "{all:?}");
    }

    #[test]
    fn memory_is_bounded() {
        let long = format!(r#"[2, "1", "MeterValues", {{"value": "{}"}}]"#, "7".repeat(9000));
        let all = added(&[long.as_str(); 100]);
        let fields = all.iter().next().unwrap().fields;
        assert_eq!((all.iter().count(), fields), (MESSAGES_MAX, None));
        let name = "é".repeat(9000);
        for text in [
            format!(r#"[2, "{name}", "{name}", {{}}]"#),
            format!(r#"[3, "{name}", {{"status": "{name}"}}]"#),
            format!(r#"[4, "{name}", "{name}", "", {{}}]"#),
        ] {
            let all = added(&[&text]);
            let one = all.iter().next().unwrap();
            assert_eq!([one.id, one.what].map(|name| name.chars().count()), [64, 64]);
        }
    }
}
