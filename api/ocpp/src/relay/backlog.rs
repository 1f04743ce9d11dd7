//! Messages of a charge point that the upstream system missed.
use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::Connector;
use crate::frame::Frame;
use crate::version::Version;

/// Most messages that are kept. The state of a charge point is written as one file.
pub const KEPT_MAX: usize = 500;

/// Most bytes of them. A message about a transaction has a few hundred.
const BYTES_MAX: usize = 1024 * 1024;

/// Message about a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missed {
    /// The text as it came.
    pub text: String,
    /// Identifier that this system has given to the transaction that begins with it (1.6).
    pub given_id: Option<i64>,
    /// True if it makes room when there are too many: meter values between start and end.
    is_expendable: bool,
}

/// Messages for the upstream system.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backlog {
    /// Last boot notification, if it was missed.
    pub boot: Option<String>,
    /// Last state of each connector that was missed.
    pub statuses: BTreeMap<Connector, String>,
    transactions: VecDeque<Missed>,
}

/// Returns true for messages about transactions, which are delivered afterwards.
#[must_use]
pub fn is_kept(action: &str) -> bool {
    matches!(action, "StartTransaction" | "StopTransaction" | "MeterValues" | "TransactionEvent")
}

fn is_expendable(action: &str, payload: &Value) -> bool {
    action == "MeterValues" || payload["eventType"] == "Updated"
}

impl Backlog {
    /// Returns true if no message about a transaction waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    /// Number of messages about transactions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.transactions.len()
    }

    /// The message about a transaction that comes next.
    #[must_use]
    pub fn first(&self) -> Option<&Missed> {
        self.transactions.front()
    }

    /// Removes the message that comes next, once it was delivered.
    pub fn pop(&mut self) -> Option<Missed> {
        self.transactions.pop_front()
    }

    /// Makes room for a message of `length` bytes about a transaction: the oldest meter values go.
    /// Returns false if there are none.
    pub fn make_room(&mut self, length: usize) -> bool {
        let mut bytes: usize = self.transactions.iter().map(|one| one.text.len()).sum();
        while self.transactions.len() >= KEPT_MAX || bytes + length > BYTES_MAX {
            // The first may be on its way.
            let mut after = self.transactions.iter().enumerate().skip(1);
            let found = after.find(|(_, one)| one.is_expendable).map(|(index, _)| index);
            let removed = found.and_then(|index| self.transactions.remove(index));
            let Some(removed) = removed else { return false };
            bytes -= removed.text.len();
        }
        true
    }

    /// Keeps a message about a transaction, unless it is there: a charge point repeats itself.
    pub fn keep(&mut self, text: &str, action: &str, payload: &Value, given_id: Option<i64>) {
        let is_expendable = is_expendable(action, payload);
        let is_repeated = !is_expendable
            && self.transactions.iter().any(|one| {
                let known = Frame::read(&one.text);
                matches!(known, Ok(Frame::Call { action: a, payload: p, .. }) if a == action && p == *payload)
            });
        if !is_repeated {
            let text = text.to_owned();
            self.transactions.push_back(Missed { text, given_id, is_expendable });
        }
    }

    /// Returns true if a transaction of this identifier waits for its start to be delivered.
    #[must_use]
    pub fn has_given(&self, id: i64) -> bool {
        self.transactions.iter().any(|one| one.given_id == Some(id))
    }

    /// Takes over a boot notification or a state that the upstream system missed.
    pub fn miss(&mut self, text: &str, version: Version, action: &str, payload: &Value) {
        match action {
            "BootNotification" => self.boot = Some(text.to_owned()),
            "StatusNotification" => {
                if let Some(number) = place_of(version, payload) {
                    self.statuses.insert(number, text.to_owned());
                }
            }
            _ => {}
        }
    }

    /// Takes over that the upstream system has had a boot notification or state.
    pub fn had(&mut self, version: Version, action: &str, payload: &Value) {
        match action {
            "BootNotification" => self.boot = None,
            "StatusNotification" => {
                if let Some(number) = place_of(version, payload) {
                    self.statuses.remove(&number);
                }
            }
            _ => {}
        }
    }
}

/// Connector of a state; one number for EVSE and connector in 2.0.1.
fn place_of(version: Version, payload: &Value) -> Option<Connector> {
    let number = |field: &str| payload[field].as_u64().and_then(|it| u32::try_from(it).ok());
    match version {
        Version::V16 => number("connectorId"),
        Version::V201 => {
            number("evseId")?.checked_mul(100)?.checked_add(number("connectorId")?.min(99))
        }
    }
}
