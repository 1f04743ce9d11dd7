//! Clock of a charge point, as the times of its messages show it.
//!
//! A limit that expires by a late clock expires late, and one that was written for now may begin hours
//! later, when its connection has been lost and others have its room. So a charge point that is balanced
//! in a site gets no limit above its default before a message has shown that its clock is right.
//!
//! A message that was written at `t` by the clock of the charge point, and arrives at `now`, shows that
//! the clock is late by at most
//!
//! ```text
//! lag = now - t
//! ```
//!
//! since it takes time to arrive, and may have waited. The least lag since the last start counts: a
//! message that waited proves nothing. Only meter values, which are sent all the time, show by a greater
//! one that the clock was set back meanwhile. A clock that is ahead ends limits early, which is safe.
use chrono::{DateTime, TimeDelta, Utc};

use crate::station::state::{Rules, Station};

/// Longest time that a message takes which does not wait for a connection.
const WAY_MAX: TimeDelta = TimeDelta::seconds(60);

/// Time for which a message may have waited at the charge point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promptness {
    /// Meter values: they wait while there is no connection only.
    Periodic,
    /// Any other message.
    MayWait,
}

impl Station {
    /// Takes over the time of a message.
    pub(crate) fn note_clock(
        &mut self,
        shown: Option<DateTime<Utc>>,
        promptness: Promptness,
        now: DateTime<Utc>,
    ) {
        let Some((link, shown)) = self.link.as_mut().zip(shown) else { return };
        let lag = now - shown;
        let is_set_back =
            |least: TimeDelta| promptness == Promptness::Periodic && lag - least > WAY_MAX;
        if link.clock_lag.is_none_or(|least| lag < least || is_set_back(least)) {
            link.clock_lag = Some(lag);
        }
    }

    /// Time by which its clock is late at most; negative for one that is ahead. `None` if no message
    /// since its last start has had a time.
    #[must_use]
    pub fn clock_lag(&self) -> Option<TimeDelta> {
        self.link.as_ref()?.clock_lag
    }

    /// Returns true if limits expire by its clock when they are thought to, so that they may be above
    /// its default. `None` if nothing was heard of its clock.
    pub(crate) fn is_clock_right(&self, rules: &Rules) -> Option<bool> {
        let error_max = rules.balancing?.clock_error_max;
        self.clock_lag().map(|lag| lag <= error_max)
    }

    /// Returns true if its clock is late by more than the way of a message explains.
    pub(crate) fn is_clock_late(&self, rules: &Rules) -> bool {
        let error_max = rules.balancing.map(|balancing| balancing.clock_error_max);
        let least = self.clock_lag().zip(error_max);
        least.is_some_and(|(lag, error_max)| lag - error_max > WAY_MAX)
    }
}
