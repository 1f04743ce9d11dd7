//! Facts that a charge point left out or got wrong, and what was taken in their place.
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Deviation of a charge point from the protocol, named by what was assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assumption {
    /// A time before 2015 or ahead of ours: the time of arrival counts.
    ClockWrong,
    /// No readable time: the time of arrival counts.
    TimeMissing,
    /// An energy without a unit that fits the register only in kWh: it is one in kWh.
    KilowattHours,
    /// A measured value that is no number, or has another unit: it is left out.
    SampleUnreadable,
    /// A message about meter values without any: it counts as a sign of life.
    SamplesMissing,
    /// The register fell: the meter counts anew from there.
    MeterFell,
    /// A register that came late and does not lie between its neighbours: it is left out.
    SampleContradicts,
    /// A transaction that began without a register: its energy is unknown.
    MeterStartMissing,
    /// A transaction that ended without a register: the last one read is its end.
    MeterStopMissing,
    /// A transaction of an unknown or negative identifier: it is the one that is open.
    TransactionUnknown,
    /// A transaction whose end was never reported: it ended where the next one began.
    TransactionReplaced,
    /// A transaction without a connector: it is at the only one, or the first.
    ConnectorMissing,
    /// A message before the first boot notification: it is answered all the same.
    BootMissing,
}

/// Number of times that something was assumed, and the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noted {
    /// Number of times.
    pub count: u64,
    /// Last time.
    pub last: DateTime<Utc>,
}

/// Record of everything that was assumed about a charge point.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Assumptions(BTreeMap<Assumption, Noted>);

impl Assumptions {
    /// Records that something was assumed at `now`.
    pub fn note(&mut self, assumption: Assumption, now: DateTime<Utc>) {
        let noted = self.0.entry(assumption).or_insert(Noted { count: 0, last: now });
        noted.count += 1;
        noted.last = now;
    }

    /// Number of times that something was assumed.
    #[must_use]
    pub fn count(&self, assumption: Assumption) -> u64 {
        self.0.get(&assumption).map_or(0, |noted| noted.count)
    }

    /// Everything that was assumed, with counts.
    pub fn iter(&self) -> impl Iterator<Item = (Assumption, Noted)> + '_ {
        self.0.iter().map(|(assumption, noted)| (*assumption, *noted))
    }
}
