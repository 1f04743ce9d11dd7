//! Transactions of a connector: the open one, and the last that ended.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use slackwater_engine::units::Energy;

/// Number of ended transactions that are kept. A charge point that was offline repeats the
/// messages that it got no answer to.
const ENDED_KEPT: usize = 20;

/// Open transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    /// Identifier.
    pub id: String,
    /// Time of the start.
    pub started_at: DateTime<Utc>,
    /// The start as the charge point gave it, by which a repeated message is known.
    pub given: Given,
    /// Register at the start; `None` if it was not given.
    #[serde(rename = "meter_start_kwh")]
    pub meter_start: Option<Energy>,
}

/// Start of a transaction, word for word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Time, however wrong.
    pub at: Option<DateTime<Utc>>,
    /// Register, in the unit that it came in.
    pub register: Option<f64>,
    /// Token.
    pub token: Option<String>,
}

/// Transaction that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// The transaction.
    pub transaction: Transaction,
    /// Time of the end.
    pub ended_at: DateTime<Utc>,
    /// Energy; `None` if the registers do not tell, and never negative.
    #[serde(rename = "energy_kwh")]
    pub energy: Option<Energy>,
}

/// Transactions of a connector.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transactions {
    /// The open one.
    pub open: Option<Transaction>,
    /// The last that ended, the oldest first.
    pub ended: Vec<Ended>,
}

impl Transactions {
    /// The transaction that a repeated message began. Without a clock (`is_dated` is false) one start is
    /// like the next: then it is the open one at most.
    #[must_use]
    pub fn started_as(&self, given: &Given, is_dated: bool) -> Option<&Transaction> {
        self.all().find(|one| one.given == *given && (is_dated || self.is_open(&one.id)))
    }

    /// Returns true if the identifier is that of the open transaction or of one of the ended.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.all().any(|one| one.id == id)
    }

    /// Returns true if the identifier is that of the open transaction.
    #[must_use]
    pub fn is_open(&self, id: &str) -> bool {
        self.open.as_ref().is_some_and(|open| open.id == id)
    }

    fn all(&self) -> impl Iterator<Item = &Transaction> {
        self.open.iter().chain(self.ended.iter().rev().map(|ended| &ended.transaction))
    }

    /// Ends the open transaction at a register. An end before the start has no energy.
    pub fn end(&mut self, ended_at: DateTime<Utc>, register: Option<Energy>) {
        let Some(transaction) = self.open.take() else { return };
        let advance = transaction.meter_start.zip(register).map(|(start, end)| end - start);
        let energy = advance.filter(|&energy| energy >= Energy::ZERO);
        let ended_at = ended_at.max(transaction.started_at);
        self.push_ended(Ended { transaction, ended_at, energy });
    }

    /// Adds a transaction that is over: another has begun since. Its end is not known here.
    pub fn add_ended(&mut self, transaction: Transaction) {
        let ended_at = transaction.started_at;
        self.push_ended(Ended { transaction, ended_at, energy: None });
    }

    fn push_ended(&mut self, ended: Ended) {
        self.ended.push(ended);
        let surplus = self.ended.len().saturating_sub(ENDED_KEPT);
        self.ended.drain(..surplus);
    }
}
