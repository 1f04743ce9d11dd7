//! Limit in force after orders, heartbeats and silence.
//!
//! ```text
//!              order                       no heartbeat for `silence_max`
//!   Free ◄──────────────► Ordered   Free, Ordered ─────────────────────────► FailSafe
//!        release, end               FailSafe ──a heartbeat, then an order or a release──► Free, Ordered
//!                                   FailSafe ──after `hold_min`, still silent──► Free
//! ```
//!
//! The times are fields, since rules differ: EEBUS LPC (limitation of power consumption) sends a
//! heartbeat every 60 s, takes it as lost after 120 s, and holds the fail-safe for at least two hours.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use slackwater_engine::words;

use slackwater_engine::units::Power;

/// Behaviour while nothing is heard of the sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailSafe {
    /// Limit while the heartbeat is lost.
    pub limit: Power,
    /// Silence after which the heartbeat is lost.
    pub silence_max: TimeDelta,
    /// Least time for which the fail-safe limit holds, if the heartbeat does not return.
    pub hold_min: TimeDelta,
}

/// Fail-safe limits that differ by less are equal, in kW: EEBUS has whole watts.
const FAIL_SAFE_TOLERANCE_KW: f64 = 0.0005;

/// Returns true if a system whose fail-safe limit is `own` keeps the fail-safe limit that a grid
/// operator asks for: its own is as low, or lower.
///
/// # Example
///
/// ```
/// use slackwater_control::grid_order::limit::is_fail_safe_kept;
/// use slackwater_engine::units::kw;
///
/// assert!(is_fail_safe_kept(kw(4.2), kw(5.0)));
/// assert!(!is_fail_safe_kept(kw(4.2), kw(4.199)));
/// ```
#[must_use]
pub fn is_fail_safe_kept(own: Power, asked: Power) -> bool {
    (own - asked).as_kw() <= FAIL_SAFE_TOLERANCE_KW
}

/// Order of a grid operator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridOrder {
    /// Highest power drawn from the grid.
    #[serde(rename = "limit_kw")]
    pub limit: Power,
    /// End, exclusive; `None` holds until it is released or replaced.
    #[serde(default)]
    pub until: Option<DateTime<Utc>>,
}

/// Message of the sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GridMessage {
    /// A new limit, in place of the one before.
    Order(GridOrder),
    /// The end of the limit.
    Release,
    /// A sign of life.
    Heartbeat,
}

words! {
    /// Reason of the limit in force.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum GridReason {
        /// No limit.
        Free = "free",
        /// An order.
        Ordered = "ordered",
        /// The heartbeat is lost.
        FailSafe = "fail_safe",
    }
}

/// Limit in force.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InForce {
    /// Highest power drawn from the grid; `None` is unlimited.
    #[serde(rename = "limit_kw")]
    pub limit: Option<Power>,
    /// Its reason.
    pub reason: GridReason,
    /// Instant since which it is in force.
    pub since: DateTime<Utc>,
    /// End of an order that has one. The end of a fail-safe depends on the sender: it has none here.
    pub until: Option<DateTime<Utc>>,
}

/// Orders and signs of life of one sender.
///
/// Its data are what was heard. The fail-safe and the least power are settings, and are no part of
/// them: [`with_fail_safe`](Self::with_fail_safe) and [`with_least`](Self::with_least) add them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridLimit {
    /// `None` for a sender without heartbeat, whose orders end by themselves.
    #[serde(skip)]
    fail_safe: Option<FailSafe>,
    /// Power that the devices keep under any limit; zero without such a rule.
    #[serde(skip)]
    least: Power,
    order: Option<GridOrder>,
    /// Start of the order, or of being free.
    since: DateTime<Utc>,
    heard_at: DateTime<Utc>,
    /// Start of the fail-safe, if it is in force.
    lost_at: Option<DateTime<Utc>>,
    /// True from the end of the fail-safe up to the next heartbeat.
    has_given_up: bool,
}

impl GridLimit {
    /// No order at the start. With a fail-safe, silence is counted from here.
    #[must_use]
    pub const fn new(fail_safe: Option<FailSafe>, start: DateTime<Utc>) -> Self {
        Self {
            fail_safe,
            least: Power::ZERO,
            order: None,
            since: start,
            heard_at: start,
            lost_at: None,
            has_given_up: false,
        }
    }

    /// Orders and signs of life as they are, with a fail-safe. A state that was kept while nothing was
    /// heard goes on from its last sign of life: the time between counts as silence.
    #[must_use]
    pub const fn with_fail_safe(self, fail_safe: Option<FailSafe>) -> Self {
        Self { fail_safe, ..self }
    }

    /// Orders and signs of life as they are, with a power that the devices keep under any limit, such
    /// as the one of [`least_power`](super::dimming::least_power). A lower limit counts as this power.
    ///
    /// # Example
    ///
    /// ```
    /// use chrono::{DateTime, Utc};
    /// use slackwater_control::grid_order::limit::{GridLimit, GridMessage, GridOrder};
    /// use slackwater_engine::units::kw;
    ///
    /// let noon: DateTime<Utc> = "2026-01-05T12:00:00Z".parse().unwrap();
    /// let order = GridMessage::Order(GridOrder { limit: kw(4.2), until: None });
    /// let state = GridLimit::new(None, noon).with_least(kw(7.56)).after(order, noon);
    ///
    /// assert_eq!(state.in_force(noon).limit, Some(kw(7.56)));
    /// ```
    #[must_use]
    pub const fn with_least(self, least: Power) -> Self {
        Self { least, ..self }
    }

    /// Power that the devices keep under any limit.
    #[must_use]
    pub const fn least(self) -> Power {
        self.least
    }

    /// State on a clock that may have been set back: nothing was heard or lost after `now`. Otherwise a
    /// heartbeat of a clock that was ahead would keep the fail-safe away until then, and a loss by that
    /// clock could not end.
    #[must_use]
    pub fn set_back_to(self, now: DateTime<Utc>) -> Self {
        Self {
            heard_at: self.heard_at.min(now),
            since: self.since.min(now),
            lost_at: self.lost_at.map(|lost_at| lost_at.min(now)),
            ..self
        }
    }

    /// Order that is kept, and has not ended at an instant. It holds unless a fail-safe does.
    #[must_use]
    pub fn order(self, at: DateTime<Utc>) -> Option<GridOrder> {
        self.passed(at).order
    }

    /// Last sign of life; without one, the start.
    #[must_use]
    pub const fn heard_at(self) -> DateTime<Utc> {
        self.heard_at
    }

    /// State after a sign of life that the sender dated: silence is counted from its date. A date
    /// before the last sign of life changes nothing, and one after `now` counts as `now`.
    #[must_use]
    pub fn heard(self, heartbeat: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        let mut state = self.passed(now);
        if heartbeat <= state.heard_at {
            return state;
        }
        state.heard_at = heartbeat.min(now);
        let silence = now - state.heard_at;
        if state.fail_safe.is_none_or(|fail_safe| silence < fail_safe.silence_max) {
            state.has_given_up = false;
        }
        state
    }

    /// State after a message. Messages are in order of time.
    ///
    /// An order during the fail-safe is kept, but holds only if a heartbeat has returned: without
    /// one, nobody could withdraw it.
    ///
    /// # Example
    ///
    /// ```
    /// use chrono::{DateTime, TimeDelta, Utc};
    /// use slackwater_control::grid_order::limit::{
    ///     FailSafe, GridLimit, GridMessage, GridOrder, GridReason,
    /// };
    /// use slackwater_engine::units::kw;
    ///
    /// let noon: DateTime<Utc> = "2026-01-05T12:00:00Z".parse().unwrap();
    /// let seconds = TimeDelta::seconds;
    /// let fail_safe = FailSafe {
    ///     limit: kw(4.2),
    ///     silence_max: seconds(120),
    ///     hold_min: TimeDelta::hours(2),
    /// };
    /// let order = GridOrder { limit: kw(10.0), until: None };
    /// let state = GridLimit::new(Some(fail_safe), noon).after(GridMessage::Order(order), noon);
    ///
    /// assert_eq!(state.in_force(noon + seconds(119)).limit, Some(kw(10.0)));
    /// let lost = state.in_force(noon + seconds(120));
    /// assert_eq!((lost.limit, lost.reason), (Some(kw(4.2)), GridReason::FailSafe));
    /// ```
    #[must_use]
    pub fn after(self, message: GridMessage, at: DateTime<Utc>) -> Self {
        let mut state = self.passed(at);
        let returned = state.has_heartbeat_at(at);
        match message {
            GridMessage::Heartbeat => state = state.heard(at, at),
            GridMessage::Order(order) => {
                state.order = Some(order);
                state.since = at;
            }
            GridMessage::Release => {
                // A release that changes nothing does not restart the time of being free.
                if state.order.take().is_some() || (returned && state.lost_at.is_some()) {
                    state.since = at;
                }
            }
        }
        if returned && message != GridMessage::Heartbeat {
            state.lost_at = None;
        }
        state
    }

    /// Limit in force at an instant, if no message comes until then.
    #[must_use]
    pub fn in_force(self, at: DateTime<Utc>) -> InForce {
        let state = self.passed(at);
        if let (Some(fail_safe), Some(since)) = (state.fail_safe, state.lost_at) {
            let limit = Some(fail_safe.limit.max(self.least));
            return InForce { limit, reason: GridReason::FailSafe, since, until: None };
        }
        let since = state.since;
        match state.order {
            Some(GridOrder { limit, until }) => {
                let limit = Some(limit.max(self.least));
                InForce { limit, reason: GridReason::Ordered, since, until }
            }
            None => InForce { limit: None, reason: GridReason::Free, since, until: None },
        }
    }

    /// Next instant at which the limit in force changes by the passing of time; `None` if never.
    #[must_use]
    pub fn next_change(self, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let state = self.passed(at);
        let end = state.order.and_then(|order| order.until);
        let Some(fail_safe) = state.fail_safe else { return end };
        if let Some(lost_at) = state.lost_at {
            return Some(state.held_until(lost_at, fail_safe));
        }
        let lost_at = Some(state.heard_at + fail_safe.silence_max);
        [lost_at.filter(|_| !state.has_given_up), end].into_iter().flatten().min()
    }

    /// State when time has passed: ended orders, a lost heartbeat, the end of the fail-safe.
    fn passed(mut self, at: DateTime<Utc>) -> Self {
        if let Some(fail_safe) = self.fail_safe {
            let lost_at = self.heard_at + fail_safe.silence_max;
            // An order that ended before the heartbeat was lost is over at its own end.
            self.end_order(at.min(lost_at));
            if self.lost_at.is_none() && at >= lost_at && !self.has_given_up {
                self.lost_at = Some(lost_at);
            }
            if let Some(lost_at) = self.lost_at {
                let end = self.held_until(lost_at, fail_safe);
                if at >= end {
                    (self.lost_at, self.order, self.since) = (None, None, end);
                    self.has_given_up = true;
                }
            }
        }
        self.end_order(at);
        self
    }

    /// End of the fail-safe: after its least time, and while a returned heartbeat goes on not before
    /// an order or a release.
    fn held_until(&self, lost_at: DateTime<Utc>, fail_safe: FailSafe) -> DateTime<Utc> {
        (lost_at + fail_safe.hold_min).max(self.heard_at + fail_safe.silence_max)
    }

    /// Returns true if a heartbeat is alive; in the fail-safe, one that came since its start.
    fn has_heartbeat_at(&self, at: DateTime<Utc>) -> bool {
        let is_alive = |fail_safe: FailSafe| at < self.heard_at + fail_safe.silence_max;
        self.fail_safe.is_none_or(is_alive) && self.lost_at.is_none_or(|lost| self.heard_at >= lost)
    }

    fn end_order(&mut self, at: DateTime<Utc>) {
        if let Some(end) = self.order.and_then(|order| order.until).filter(|end| *end <= at) {
            self.order = None;
            self.since = end.max(self.since);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use slackwater_engine::units::kw;

    fn second(seconds: i64) -> DateTime<Utc> {
        "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(seconds)
    }

    const FAIL_SAFE: FailSafe = FailSafe {
        limit: kw(4.2),
        silence_max: TimeDelta::seconds(120),
        hold_min: TimeDelta::seconds(7200),
    };

    fn order(limit: f64, until: Option<i64>) -> GridMessage {
        GridMessage::Order(GridOrder { limit: kw(limit), until: until.map(second) })
    }

    /// The one place where these cases touch the API: messages, then limit, reason and start at
    /// instants.
    #[track_caller]
    fn check(messages: &[(i64, GridMessage)], expected: &[(i64, Option<f64>, GridReason, i64)]) {
        for &(at, limit, reason, since) in expected {
            let mut state = GridLimit::new(Some(FAIL_SAFE), second(0));
            for (time, message) in messages.iter().filter(|(time, _)| *time <= at) {
                state = state.after(*message, second(*time));
            }
            let found = state.in_force(second(at));
            let wanted = (limit.map(kw), reason, second(since));
            assert_eq!((found.limit, found.reason, found.since), wanted, "at {at} s");
        }
    }

    #[test]
    fn a_clock_that_is_set_back_neither_delays_nor_holds_the_fail_safe() {
        // A day ahead: a heartbeat and an order, and then their loss.
        let day = 86_400;
        let ahead = GridLimit::new(Some(FAIL_SAFE), second(0))
            .after(GridMessage::Heartbeat, second(day))
            .after(order(10.0, None), second(day));
        let back = ahead.set_back_to(second(10));
        let reason = |state: GridLimit, at| state.in_force(second(at)).reason;
        assert_eq!(
            (reason(back, 129), reason(back, 130)),
            (GridReason::Ordered, GridReason::FailSafe)
        );
        assert_eq!(reason(ahead, 130), GridReason::Ordered, "the clock that was ahead");
        let lost = ahead.after(order(10.0, None), second(day + 200)).set_back_to(second(20));
        assert_eq!(reason(lost, 20), GridReason::FailSafe);
        let heard =
            lost.after(GridMessage::Heartbeat, second(21)).after(order(5.0, None), second(22));
        assert_eq!(reason(heard, 22), GridReason::Ordered);
        // On a clock that goes on, nothing changes.
        assert_eq!(heard.set_back_to(second(22)), heard);
    }

    #[test]
    fn a_lost_heartbeat_is_the_fail_safe_for_two_hours() {
        use GridReason::{FailSafe, Free, Ordered};
        check(
            &[(10, order(10.0, None)), (60, GridMessage::Heartbeat)],
            &[
                (9, None, Free, 0),
                (10, Some(10.0), Ordered, 10),
                (179, Some(10.0), Ordered, 10),
                (180, Some(4.2), FailSafe, 180),
                (7379, Some(4.2), FailSafe, 180),
                (7380, None, Free, 7380),
                (99_999, None, Free, 7380),
            ],
        );
    }

    #[test]
    fn a_returned_heartbeat_needs_an_order_or_a_release() {
        use GridReason::{FailSafe, Free, Ordered};
        let heart = GridMessage::Heartbeat;
        let back = [(200, heart), (210, order(8.0, Some(300))), (250, heart)];
        check(
            &back,
            &[
                (205, Some(4.2), FailSafe, 120),
                (210, Some(8.0), Ordered, 210),
                (300, None, Free, 300),
            ],
        );
        check(&[(200, heart), (210, GridMessage::Release)], &[(210, None, Free, 210)]);
        // Without a heartbeat before it, an order does not end the fail-safe.
        check(&[(210, order(8.0, None))], &[(220, Some(4.2), FailSafe, 120)]);
        // Heartbeats alone keep it beyond two hours.
        let beats: Vec<_> = (2..80).map(|minute| (minute * 100, heart)).collect();
        check(&beats, &[(7800, Some(4.2), FailSafe, 120), (8019, Some(4.2), FailSafe, 120)]);
    }

    #[test]
    fn orders_end_by_themselves() {
        use GridReason::{Free, Ordered};
        let heart = GridMessage::Heartbeat;
        let messages = [(5, order(9.0, Some(50))), (40, heart), (60, order(7.0, Some(100)))];
        check(
            &messages,
            &[
                (49, Some(9.0), Ordered, 5),
                (50, None, Free, 50),
                (99, Some(7.0), Ordered, 60),
                (100, None, Free, 100),
            ],
        );
        let state = GridLimit::new(None, second(0)).after(messages[0].1, second(5));
        assert_eq!(state.next_change(second(5)), Some(second(50)));
        assert_eq!(state.next_change(second(50)), None);
        assert_eq!(state.in_force(second(99_999)).limit, None);
    }

    #[test]
    fn a_state_that_was_kept_counts_the_time_without_a_service_as_silence() {
        let state = GridLimit::new(Some(FAIL_SAFE), second(0)).after(order(10.0, None), second(10));
        let text = serde_json::to_string(&state).unwrap();
        let kept: GridLimit = serde_json::from_str(&text).unwrap();
        assert_eq!(kept.in_force(second(9000)).limit, Some(kw(10.0)), "no fail-safe is set");
        let again = kept.with_fail_safe(Some(FAIL_SAFE));
        assert_eq!(again, state);
        assert_eq!(again.in_force(second(119)).limit, Some(kw(10.0)));
        let lost = again.in_force(second(600));
        assert_eq!((lost.limit, lost.since), (Some(kw(4.2)), second(120)));
    }

    #[test]
    fn silence_is_counted_from_the_date_of_a_heartbeat() {
        let ordered =
            GridLimit::new(Some(FAIL_SAFE), second(0)).after(order(10.0, None), second(1));
        let limit = |state: GridLimit, at| state.in_force(second(at)).limit.map(Power::as_kw);
        let state = ordered.heard(second(50), second(100));
        assert_eq!((limit(state, 169), limit(state, 170)), (Some(10.0), Some(4.2)));
        // Neither an older date nor one from the future prolongs it.
        assert_eq!(state.heard(second(40), second(110)).heard_at(), second(50));
        assert_eq!(state.heard(second(900), second(110)).heard_at(), second(110));
        // A date from before the fail-safe does not end it, even with an order.
        let late = ordered.heard(second(115), second(130));
        assert_eq!(limit(late.after(order(9.0, None), second(131)), 131), Some(4.2));
        let back = late.heard(second(131), second(132)).after(order(9.0, None), second(132));
        assert_eq!(limit(back, 132), Some(9.0));
    }

    /// State machine that is stepped every second, and shares no code with the first.
    struct Stepped {
        now: i64,
        order: Option<(f64, Option<i64>)>,
        heard: i64,
        /// Start of the fail-safe, and whether a heartbeat came since.
        lost: Option<(i64, bool)>,
        has_given_up: bool,
    }

    impl Stepped {
        fn step_to(&mut self, at: i64) {
            while self.now < at {
                self.now += 1;
                if self.order.is_some_and(|(_, until)| until.is_some_and(|until| until <= self.now))
                {
                    self.order = None;
                }
                let silence = self.now - self.heard;
                match self.lost {
                    None if silence >= 120 && !self.has_given_up => {
                        self.lost = Some((self.now, false));
                    }
                    Some((since, _)) if self.now >= since + 7200 && silence >= 120 => {
                        self.lost = None;
                        self.order = None;
                        self.has_given_up = true;
                    }
                    _ => {}
                }
            }
        }

        fn take(&mut self, message: GridMessage) {
            match message {
                GridMessage::Heartbeat => {
                    self.heard = self.now;
                    self.has_given_up = false;
                    if let Some((_, has_returned)) = &mut self.lost {
                        *has_returned = true;
                    }
                }
                GridMessage::Order(order) => {
                    let until = order.until.map(|until| (until - second(0)).num_seconds());
                    self.order = Some((order.limit.as_kw(), until));
                    if until.is_some_and(|until| until <= self.now) {
                        self.order = None;
                    }
                }
                GridMessage::Release => self.order = None,
            }
            let is_alive = self.now - self.heard < 120;
            let returned = self.lost.is_some_and(|(_, returned)| returned && is_alive);
            if message != GridMessage::Heartbeat && returned {
                self.lost = None;
            }
        }

        fn limit(&self) -> Option<f64> {
            if self.lost.is_some() { Some(4.2) } else { self.order.map(|(limit, _)| limit) }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// The limit is that of a machine stepped by the second, its start is never in the future,
        /// and it changes by itself only at the announced instants.
        #[test]
        fn limits_are_those_of_a_stepped_machine(
            events in prop::collection::vec((1..2500i64, 0..5u8, prop::option::of(1..6000i64)), 1..14),
        ) {
            let mut state = GridLimit::new(Some(FAIL_SAFE), second(0));
            let mut stepped = Stepped { now: 0, order: None, heard: 0, lost: None, has_given_up: false };
            let mut at = 0;
            for (pause, kind, length) in events {
                let next = at + pause;
                while stepped.now < next {
                    let probe = (stepped.now + 37).min(next);
                    stepped.step_to(probe);
                    let found = state.in_force(second(probe));
                    prop_assert_eq!(found.limit.map(Power::as_kw), stepped.limit(), "at {} s", probe);
                    prop_assert!(found.since <= second(probe));
                    if state.next_change(second(at)).is_none_or(|change| second(probe) < change) {
                        prop_assert_eq!(found.limit, state.in_force(second(at)).limit);
                    }
                }
                at = next;
                let message = match kind {
                    0 | 1 => order(f64::from(kind) + 5.0, length.map(|length| at + length)),
                    2 => GridMessage::Release,
                    _ => GridMessage::Heartbeat,
                };
                state = state.after(message, second(at));
                stepped.take(message);
                prop_assert_eq!(state.in_force(second(at)).limit.map(Power::as_kw), stepped.limit());
            }
        }
    }

    #[test]
    fn no_limit_is_below_the_least_power() {
        let least = kw(7.56);
        for (limit_kw, expected_kw) in [(0.0, 7.56), (4.2, 7.56), (7.56, 7.56), (9.0, 9.0)] {
            let state = GridLimit::new(Some(FAIL_SAFE), second(0)).with_least(least);
            let state = state.after(order(limit_kw, None), second(0));
            assert_eq!(state.in_force(second(1)).limit, Some(kw(expected_kw)), "{limit_kw} kW");
            assert_eq!(state.order(second(1)).map(|order| order.limit), Some(kw(limit_kw)));
            assert_eq!(state.in_force(second(120)).limit, Some(least), "the fail-safe is 4.2 kW");
            assert_eq!(
                state.after(GridMessage::Release, second(2)).in_force(second(2)).limit,
                None
            );
        }
    }

    #[test]
    fn a_fail_safe_as_low_as_asked_keeps_it() {
        for (own_kw, asked_kw, is_kept) in [
            (4.2, 4.2, true),
            (4.2, 5.0, true),
            (4.2, 4.1996, true),
            (4.2, 4.199, false),
            (0.0, 0.0, true),
        ] {
            assert_eq!(is_fail_safe_kept(kw(own_kw), kw(asked_kw)), is_kept, "{own_kw} {asked_kw}");
        }
    }
}
