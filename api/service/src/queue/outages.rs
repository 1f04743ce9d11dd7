//! Outages of manufacturers, as polls find them: each is told in the log when it begins and ends.
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};
use slackwater_integration::error::VendorError;
use slackwater_integration::profile::VendorCode;

/// Reads without an answer, one after the other, that are an outage. A single device that is not
/// answered for in time is none, where others are.
const SILENT_READS_MIN: u32 = 3;

/// Reads of a manufacturer without an answer since the last one with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Silence {
    since: DateTime<Utc>,
    reads: u32,
}

/// Begin or end of an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutageChange {
    /// The manufacturer has not answered several reads.
    Began,
    /// It has answered again.
    Ended {
        /// First read without an answer.
        since: DateTime<Utc>,
        /// Number of reads without an answer.
        reads: u32,
    },
}

/// Manufacturers of an environment that do not answer.
#[derive(Debug, Default)]
pub struct Outages(Mutex<HashMap<VendorCode, Silence>>);

impl Outages {
    /// Takes note of a read of a device of `vendor` and of its failure. Returns the change if an
    /// outage begins or ends with it.
    pub(crate) fn note_read(
        &self,
        vendor: &VendorCode,
        failure: Option<&VendorError>,
        now: DateTime<Utc>,
    ) -> Option<OutageChange> {
        let mut silences = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(failure, Some(VendorError::Outage | VendorError::TimedOut)) {
            let new = Silence { since: now, reads: 0 };
            let silence = silences.entry(vendor.clone()).or_insert(new);
            silence.reads = silence.reads.saturating_add(1);
            return (silence.reads == SILENT_READS_MIN).then_some(OutageChange::Began);
        }
        let Silence { since, reads } = silences.remove(vendor)?;
        (reads >= SILENT_READS_MIN).then_some(OutageChange::Ended { since, reads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_after_several_silent_reads_and_ends_with_any_answer() {
        let (outages, now) = (Outages::default(), DateTime::<Utc>::UNIX_EPOCH);
        let [fjord, garage] = ["FJORD", "GARAGE"].map(|code| VendorCode::parse(code).unwrap());
        let silent = |vendor| outages.note_read(vendor, Some(&VendorError::Outage), now);
        assert_eq!([silent(&fjord), silent(&fjord)], [None, None]);
        assert_eq!(silent(&garage), None, "each manufacturer counts for itself");
        assert_eq!([silent(&fjord), silent(&fjord)], [Some(OutageChange::Began), None]);
        // Who says that a device sleeps is there.
        let asleep = VendorError::Asleep { may_be_woken: true };
        let ended = Some(OutageChange::Ended { since: now, reads: 4 });
        assert_eq!(outages.note_read(&fjord, Some(&asleep), now), ended);
        assert_eq!([silent(&garage), outages.note_read(&garage, None, now)], [None, None]);
        assert_eq!([silent(&garage), outages.note_read(&fjord, None, now)], [None, None]);
    }
}
