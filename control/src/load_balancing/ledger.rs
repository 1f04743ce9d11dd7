//! Ledger of a charge point: the limits that it may hold, from what was sent and what was answered.
//!
//! A message that was not answered may have arrived or may arrive later; a limit of such a message
//! counts until it has expired. An answered limit replaces those that were answered before it was
//! sent, because the charge point had applied them by then. Order is not assumed of the rest.
use chrono::{DateTime, TimeDelta, Utc};

use slackwater_engine::units::Current;

/// Place of a limit on the charge point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The default: holds when no limit above it does, and never expires.
    Default,
    /// The profile above the default, up to an instant on the clock of the charge point.
    Limit {
        /// End of validity, exclusive.
        expires: DateTime<Utc>,
    },
}

impl Place {
    /// Returns true if a limit at one place replaces a limit at the other.
    const fn is_same(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Default, Self::Default) | (Self::Limit { .. }, Self::Limit { .. })
        )
    }
}

/// Limit that was sent and may be in force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    /// Number of the message.
    pub number: u64,
    /// Amperes on each phase.
    pub limit: Current,
    /// Place on the charge point.
    pub place: Place,
    /// Instant of sending.
    pub sent_at: DateTime<Utc>,
    /// Instant of the first acceptance, if any.
    pub accepted_at: Option<DateTime<Utc>>,
}

impl Sent {
    /// Returns true if the limit may be in force at an instant: on a clock that is late by the
    /// largest error it has not expired.
    fn may_hold(&self, clock_error_max: TimeDelta, at: DateTime<Utc>) -> bool {
        match self.place {
            Place::Default => true,
            Place::Limit { expires } => at < expires + clock_error_max,
        }
    }
}

/// Limits that a charge point may hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    /// Current that the charge point may draw without any profile.
    unmanaged: Current,
    /// Largest difference of its clock from ours.
    clock_error_max: TimeDelta,
    /// End of the time in which limits of an earlier controller may be in force.
    unknown_until: Option<DateTime<Utc>>,
    /// True if no limit bounds the charge point.
    is_unbounded: bool,
    sent: Vec<Sent>,
    next_number: u64,
}

impl Ledger {
    /// Ledger of a charge point that was never told anything: it may draw all that it can.
    #[must_use]
    pub const fn new(unmanaged: Current, clock_error_max: TimeDelta) -> Self {
        let (unknown_until, is_unbounded) = (None, false);
        let sent = Vec::new();
        Self { unmanaged, clock_error_max, unknown_until, is_unbounded, sent, next_number: 0 }
    }

    /// Ledger after a start without memory of what was sent before.
    ///
    /// The default is known from configuration. Limits of the time before, none of which outlives
    /// `lifetime_max`, may be in force or on their way: until then all of the current counts.
    #[must_use]
    pub fn recovered(
        unmanaged: Current,
        clock_error_max: TimeDelta,
        default: Current,
        lifetime_max: TimeDelta,
        now: DateTime<Utc>,
    ) -> Self {
        let mut ledger = Self::new(unmanaged, clock_error_max);
        let number = ledger.send(Place::Default, default, now);
        ledger.accept(number, now);
        ledger.unknown_until = Some(now + lifetime_max + clock_error_max);
        ledger
    }

    /// Records a message before it is sent, and returns its number.
    pub fn send(&mut self, place: Place, limit: Current, now: DateTime<Utc>) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        let clock_error_max = self.clock_error_max;
        self.sent.retain(|sent| sent.may_hold(clock_error_max, now));
        self.sent.push(Sent { number, limit, place, sent_at: now, accepted_at: None });
        number
    }

    /// Records the acceptance of a message. A repeated or an unknown one changes nothing.
    pub fn accept(&mut self, number: u64, now: DateTime<Utc>) {
        let Some(accepted) = self.sent.iter_mut().find(|sent| sent.number == number) else {
            return;
        };
        accepted.accepted_at.get_or_insert(now);
        let accepted = *accepted;
        self.sent.retain(|sent| {
            let was_before = sent.accepted_at.is_some_and(|at| at <= accepted.sent_at);
            sent.number == number || !was_before || !sent.place.is_same(accepted.place)
        });
    }

    /// Records the refusal of a message: its limit is not in force, and will not be.
    pub fn refuse(&mut self, number: u64) {
        self.sent.retain(|sent| sent.number != number || sent.accepted_at.is_some());
    }

    /// Highest current that the charge point may draw at an instant from now on, if nothing more is
    /// sent. It never rises with time.
    #[must_use]
    pub fn may_draw(&self, at: DateTime<Utc>) -> Current {
        let is_unknown = self.unknown_until.is_some_and(|until| at < until);
        if is_unknown { self.known(at).max(self.unmanaged) } else { self.known(at) }
    }

    /// Highest of the default and of the limits that were sent by this controller and may be in force
    /// at an instant. It is less than [`Ledger::may_draw`] after a start without memory.
    #[must_use]
    pub fn known(&self, at: DateTime<Utc>) -> Current {
        let held = self.sent.iter().filter(|sent| sent.may_hold(self.clock_error_max, at));
        let limits = held.filter(|sent| sent.place != Place::Default);
        limits.map(|sent| sent.limit).fold(self.floor(), Current::max)
    }

    /// Sets whether no limit bounds the charge point, as of one with a deviation that
    /// [makes limits unsafe](crate::quirk::kind::Quirk::makes_limits_unsafe). All of its current
    /// then counts at any time. What was sent is kept.
    pub const fn set_unbounded(&mut self, is_unbounded: bool) {
        self.is_unbounded = is_unbounded;
    }

    /// Current that the charge point may draw at any time: the highest default that may be in force,
    /// and all that it can as long as none was accepted, or if no limit bounds it.
    #[must_use]
    pub fn floor(&self) -> Current {
        self.default_max().filter(|_| !self.is_unbounded).unwrap_or(self.unmanaged)
    }

    /// Highest default that may be in force; `None` as long as none was accepted.
    #[must_use]
    pub fn default_max(&self) -> Option<Current> {
        let defaults = self.sent.iter().filter(|sent| sent.place == Place::Default);
        let is_any_accepted = defaults.clone().any(|sent| sent.accepted_at.is_some());
        let highest = defaults.map(|sent| sent.limit).fold(Current::ZERO, Current::max);
        is_any_accepted.then_some(highest)
    }

    /// Largest difference of the clock of the charge point from ours.
    #[must_use]
    pub const fn clock_error_max(&self) -> TimeDelta {
        self.clock_error_max
    }

    /// Instants after now at which limits stop to count, in any order.
    pub fn ends(&self, now: DateTime<Utc>) -> impl Iterator<Item = DateTime<Utc>> {
        let ends = self.sent.iter().filter_map(|sent| match sent.place {
            Place::Limit { expires } => Some(expires + self.clock_error_max),
            Place::Default => None,
        });
        ends.chain(self.unknown_until).filter(move |end| *end > now)
    }

    /// Latest limit that was sent above the default, if it has not been refused and may hold.
    #[must_use]
    pub fn latest(&self) -> Option<&Sent> {
        self.sent.iter().rfind(|sent| sent.place != Place::Default)
    }

    /// Returns true if a default was accepted.
    #[must_use]
    pub fn has_default(&self) -> bool {
        self.default_max().is_some()
    }

    /// Returns true if a message since `timeout` before now has not been answered.
    #[must_use]
    pub fn is_waiting(&self, now: DateTime<Utc>, timeout: TimeDelta) -> bool {
        self.sent.iter().any(|sent| sent.accepted_at.is_none() && now - sent.sent_at < timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_engine::units::amps;

    fn second(seconds: i64) -> DateTime<Utc> {
        "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(seconds)
    }

    /// Ledger with a default of 6 A, a charge point of 32 A, and clocks within 10 s.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(amps(32.0), TimeDelta::seconds(10));
        let default = ledger.send(Place::Default, amps(6.0), second(0));
        ledger.accept(default, second(1));
        ledger
    }

    fn limit(seconds: i64) -> Place {
        Place::Limit { expires: second(seconds) }
    }

    /// Amperes that may be drawn at three instants.
    #[track_caller]
    fn check(ledger: &Ledger, seconds: [i64; 3], expected: [f64; 3]) {
        assert_eq!(seconds.map(|at| ledger.may_draw(second(at))), expected.map(amps));
    }

    #[test]
    fn all_current_counts_until_a_default_is_accepted() {
        let mut ledger = Ledger::new(amps(32.0), TimeDelta::seconds(10));
        let number = ledger.send(Place::Default, amps(6.0), second(0));
        assert_eq!((ledger.floor(), ledger.has_default()), (amps(32.0), false));
        ledger.accept(number, second(1));
        assert_eq!((ledger.floor(), ledger.has_default()), (amps(6.0), true));
        // A higher default counts from its sending, a lower one from its acceptance.
        ledger.send(Place::Default, amps(10.0), second(2));
        assert_eq!(ledger.floor(), amps(10.0));
        let low = ledger.send(Place::Default, amps(6.0), second(3));
        ledger.accept(low, second(4));
        assert_eq!(ledger.floor(), amps(10.0), "the second default may still arrive");
        ledger.refuse(1);
        assert_eq!(ledger.floor(), amps(6.0));
    }

    #[test]
    fn a_limit_counts_from_sending_until_its_end_on_a_late_clock() {
        let mut ledger = ledger();
        ledger.send(limit(300), amps(16.0), second(10));
        check(&ledger, [10, 309, 310], [16.0, 16.0, 6.0]);
    }

    #[test]
    fn a_reduction_counts_from_its_acceptance() {
        let mut ledger = ledger();
        let high = ledger.send(limit(300), amps(16.0), second(10));
        ledger.accept(high, second(11));
        let low = ledger.send(limit(310), amps(8.0), second(20));
        check(&ledger, [20, 309, 310], [16.0, 16.0, 8.0]);
        ledger.accept(low, second(21));
        check(&ledger, [21, 319, 320], [8.0, 8.0, 6.0]);
        // The late repetition of an older answer changes nothing.
        ledger.accept(high, second(22));
        check(&ledger, [22, 319, 320], [8.0, 8.0, 6.0]);
    }

    #[test]
    fn an_unanswered_limit_counts_beside_an_answered_one() {
        let mut ledger = ledger();
        let high = ledger.send(limit(300), amps(16.0), second(10));
        let low = ledger.send(limit(310), amps(8.0), second(20));
        ledger.accept(low, second(21));
        // The first message may arrive after the second one.
        check(&ledger, [21, 309, 310], [16.0, 16.0, 8.0]);
        // Its late answer does not say which of the two was applied last.
        ledger.accept(high, second(22));
        check(&ledger, [22, 309, 310], [16.0, 16.0, 8.0]);
        let last = ledger.send(limit(320), amps(8.0), second(30));
        ledger.accept(last, second(31));
        check(&ledger, [31, 309, 310], [8.0, 8.0, 8.0]);
    }

    #[test]
    fn all_current_counts_where_no_limit_bounds_it() {
        let mut ledger = ledger();
        ledger.set_unbounded(true);
        assert_eq!((ledger.floor(), ledger.default_max()), (amps(32.0), Some(amps(6.0))));
        check(&ledger, [10, 309, 310], [32.0; 3]);
        ledger.set_unbounded(false);
        check(&ledger, [10, 309, 310], [6.0; 3]);
    }

    #[test]
    fn a_start_without_memory_counts_all_for_a_lifetime() {
        let (error, life) = (TimeDelta::seconds(10), TimeDelta::seconds(300));
        let mut ledger = Ledger::recovered(amps(32.0), error, amps(6.0), life, second(0));
        let low = ledger.send(limit(300), amps(8.0), second(1));
        ledger.accept(low, second(2));
        check(&ledger, [2, 309, 310], [32.0, 32.0, 6.0]);
    }
}
