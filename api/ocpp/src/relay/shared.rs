//! State of a charge point that two central systems share, as it is kept in its file.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::Connector;
use crate::frame::Frame;
use crate::relay::backlog::Backlog;
use crate::relay::theirs::Theirs;
use crate::station::state::Station;

/// First identifier of a transaction that begins while the upstream system is away (1.6). Above all
/// that a central system would give from one on, and within 32 bits.
pub const GIVEN_ID_MIN: i64 = 1_000_000_000;

/// State besides that of the [`Station`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Profiles of the upstream system.
    pub theirs: Theirs,
    /// Messages that it missed.
    pub backlog: Backlog,
    /// Identifiers of transactions by those that were given here (1.6).
    pub upstream_ids: BTreeMap<i64, i64>,
    /// Transactions that the upstream system has stopped, by connector.
    pub stopped: BTreeMap<Connector, String>,
}

impl Shared {
    /// Returns true if charging was stopped by the upstream system, so that it is not started from
    /// here.
    #[must_use]
    pub fn is_stopped(&self, number: Connector) -> bool {
        self.stopped.contains_key(&number)
    }

    /// Takes over that the upstream system stops a transaction.
    pub fn stop(&mut self, transaction: &str, station: &Station) {
        for (number, state) in &station.connectors {
            if state.transactions.is_open(transaction) {
                self.stopped.insert(*number, transaction.to_owned());
            }
        }
    }

    /// Forgets stops once the vehicle has left or another transaction has begun.
    pub fn forget_stops(&mut self, station: &Station) {
        self.stopped.retain(|number, transaction| {
            station.connectors.get(number).is_some_and(|state| {
                let is_free = state.status.is_some_and(|it| it.is_plugged_in() == Some(false));
                let is_another =
                    state.transactions.open.as_ref().is_some_and(|open| open.id != *transaction);
                !is_free && !is_another
            })
        });
    }

    /// Identifier of a transaction at the charge point for one of the upstream system.
    #[must_use]
    pub fn given_id(&self, upstream_id: i64) -> i64 {
        let found = self.upstream_ids.iter().find(|(_, theirs)| **theirs == upstream_id);
        found.map_or(upstream_id, |(given, _)| *given)
    }

    /// Text of the charge point for the upstream system: as it is, or with the identifier that the
    /// upstream system has given to the transaction.
    #[must_use]
    pub fn for_upstream(&self, text: &str) -> String {
        let replaced = || {
            let Frame::Call { id, action, mut payload } = Frame::read(text).ok()? else {
                return None;
            };
            let given = payload.get("transactionId")?.as_i64()?;
            payload["transactionId"] = Value::from(*self.upstream_ids.get(&given)?);
            Some(Frame::Call { id, action, payload }.write())
        };
        if self.upstream_ids.is_empty() {
            return text.to_owned();
        }
        replaced().unwrap_or_else(|| text.to_owned())
    }
}
