//! A stay at the plug, as smart charging counts it: from one deadline to the next.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::duration::micros;
use crate::units::Percent;

/// What is to hold by an instant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commitment {
    /// The instant.
    pub by: DateTime<Utc>,
    /// State of charge wanted by then; `None` is the charge limit of a vehicle.
    /// Chargers know none.
    #[serde(rename = "target_percent")]
    pub target: Option<Percent>,
}

/// What was seen of a device that plans are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// Whether a plug is in; `None` if nobody knows.
    pub is_plugged_in: Option<bool>,
    /// Whether it charges.
    pub is_charging: bool,
    /// Since when it has been told to charge without a pause, as far as the last
    /// plan goes back; `None` if it is not told to, or does not hear.
    pub told_since: Option<DateTime<Utc>>,
}

/// A stay at the plug until a deadline, and what came of it until it was last
/// looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cycle {
    /// When it began.
    pub since: DateTime<Utc>,
    /// What it ends with; `None` if nothing has to be ready at any time.
    pub promise: Option<Commitment>,
    /// Time that the device was seen charging.
    #[serde(rename = "charged_microseconds", with = "micros")]
    pub charged: TimeDelta,
    /// When it was last looked at.
    pub seen_at: DateTime<Utc>,
    /// Whether it charged then.
    pub was_charging: bool,
    /// Since when it has been told to charge without a pause, and was not seen to.
    pub told_since: Option<DateTime<Utc>>,
    /// When it was last seen not to charge although it was told to.
    pub declined_at: Option<DateTime<Utc>>,
    /// Whether another one in the same stay came before it.
    #[serde(default)]
    pub is_further: bool,
}

/// Who is told to charge has begun after this time, or does not want to: half a
/// minute of getting ready, and the time until somebody looks.
pub const START_TIMEOUT: TimeDelta = TimeDelta::minutes(5);

/// Who did not want to charge is not asked again sooner.
pub const REFUSAL_BACKOFF: TimeDelta = TimeDelta::hours(1);

impl Cycle {
    /// The cycle at a look at a device: `None` while no plug is in.
    ///
    /// A plug that goes in begins a cycle, and so does a deadline that passes
    /// with its promise kept while the plug stays in; `next` gives its promise.
    /// A promise that was missed stays, so that charging goes on for it.
    /// A plug that nobody can see any more leaves all as it was.
    ///
    /// # Example
    ///
    /// Plugged in at six, ready by seven in the morning, and two hours of
    /// charging seen at ten.
    ///
    /// ```
    /// use chrono::{DateTime, TimeDelta, Utc};
    /// use slackwater_engine::policy::cycle::{Cycle, Commitment, Observation};
    /// let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
    /// let morning = Commitment { by: at("2026-01-06T07:00:00Z"), target: None };
    /// let next = |_| Some(morning);
    /// let on = Observation { is_plugged_in: Some(true), is_charging: true, told_since: None };
    /// let (first, second) = (at("2026-01-05T18:00:00Z"), at("2026-01-05T20:00:00Z"));
    /// let begun = Cycle::after_observation(None, on, first, true, next).unwrap();
    /// let later = Cycle::after_observation(Some(begun), on, second, true, next).unwrap();
    /// assert_eq!(later.promise, Some(morning));
    /// assert_eq!(later.charged, TimeDelta::hours(2));
    /// ```
    #[must_use]
    pub fn after_observation(
        before: Option<Self>,
        sight: Observation,
        now: DateTime<Utc>,
        is_kept: bool,
        next: impl Fn(DateTime<Utc>) -> Option<Commitment>,
    ) -> Option<Self> {
        let Some(before) = before.filter(|_| sight.is_plugged_in != Some(false)) else {
            let begins = sight.is_plugged_in == Some(true);
            return begins.then(|| Self {
                since: now,
                promise: next(now),
                charged: TimeDelta::zero(),
                seen_at: now,
                was_charging: sight.is_charging,
                told_since: None,
                declined_at: None,
                is_further: false,
            });
        };
        let seen = before.observed(now, sight);
        match before.promise.filter(|promise| promise.by <= now) {
            Some(promise) if is_kept => Some(Self {
                since: promise.by,
                promise: next(now),
                charged: before.charged_after(promise.by, now),
                is_further: true,
                ..seen
            }),
            _ => Some(seen),
        }
    }

    /// The same cycle with another promise, for wishes that changed.
    #[must_use]
    pub fn promising(self, promise: Option<Commitment>) -> Self {
        Self { promise, ..self }
    }

    /// Whether its deadline has passed, and it goes on all the same.
    #[must_use]
    pub fn is_late(&self, now: DateTime<Utc>) -> bool {
        self.promise.is_some_and(|promise| promise.by <= now)
    }

    /// Whether it would not charge when it was told to, and that not long ago.
    ///
    /// A vehicle that is full does not, and one with a clock of its own. A charger
    /// cannot tell the two from each other.
    #[must_use]
    pub fn has_declined(&self, now: DateTime<Utc>) -> bool {
        self.asked_again_at().is_some_and(|again| now < again)
    }

    /// When it may be told to charge again, if it would not.
    #[must_use]
    pub fn asked_again_at(&self) -> Option<DateTime<Utc>> {
        self.declined_at?.checked_add_signed(REFUSAL_BACKOFF)
    }

    fn observed(self, now: DateTime<Utc>, sight: Observation) -> Self {
        // A look that comes late does not unmake one that was earlier.
        let seen_at = self.seen_at.max(now);
        let more = if self.was_charging { seen_at - self.seen_at } else { TimeDelta::zero() };
        // A plan reaches back to the look that it was made at.
        let told_since = sight.told_since.map(|since| match self.told_since {
            // It did charge: somebody may have stopped it, and not it itself.
            _ if self.was_charging => seen_at,
            Some(before) if since <= self.seen_at => before,
            _ => since,
        });
        let told_since = told_since.filter(|_| !sight.is_charging);
        let declines = told_since.is_some_and(|since| now - since >= START_TIMEOUT);
        let declined_at = if declines { Some(seen_at) } else { self.declined_at };
        let declined_at = declined_at.filter(|_| !sight.is_charging);
        Self {
            charged: self.charged + more,
            seen_at,
            was_charging: sight.is_charging,
            told_since,
            declined_at,
            ..self
        }
    }

    /// What of the charging up to now came after a deadline.
    fn charged_after(self, by: DateTime<Utc>, now: DateTime<Utc>) -> TimeDelta {
        if self.was_charging { now - by.max(self.seen_at) } else { TimeDelta::zero() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::percent;

    fn at(hour: i64) -> DateTime<Utc> {
        "2026-01-05T00:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hour)
    }

    /// Every day at seven, to 80 %.
    fn sevens(now: DateTime<Utc>) -> Commitment {
        let days = (now - at(7)).num_hours().div_euclid(24) + 1;
        Commitment { by: at(7 + 24 * days), target: Some(percent(80.0)) }
    }

    fn look(before: Option<Cycle>, plug: Option<bool>, hour: i64, is_kept: bool) -> Option<Cycle> {
        let sight = Observation { is_plugged_in: plug, is_charging: false, told_since: None };
        Cycle::after_observation(before, sight, at(hour), is_kept, |now| Some(sevens(now)))
    }

    fn ends(cycle: Option<Cycle>) -> Option<DateTime<Utc>> {
        cycle.and_then(|cycle| cycle.promise).map(|promise| promise.by)
    }

    #[test]
    fn scp_04_a_cycle_lasts_from_plug_in_to_the_deadline() {
        let evening = look(None, Some(true), 18, false);
        assert_eq!(ends(evening), Some(at(31)));
        assert_eq!(ends(look(evening, Some(true), 30, false)), Some(at(31)));
        assert_eq!(look(evening, Some(false), 30, false), None);
        assert_eq!(look(None, None, 18, false), None);
        assert_eq!(ends(look(evening, None, 20, false)), Some(at(31)));
    }

    #[test]
    fn a_promise_that_was_missed_stays_and_one_that_was_kept_gives_way() {
        let evening = look(None, Some(true), 18, false);
        let missed = look(evening, Some(true), 31, false);
        assert_eq!(ends(missed), Some(at(31)));
        assert!(missed.is_some_and(|cycle| cycle.is_late(at(31))));
        let kept = look(missed, Some(true), 33, true);
        assert_eq!((kept.map(|cycle| cycle.since), ends(kept)), (Some(at(31)), Some(at(55))));
    }

    #[test]
    fn a_cycle_without_a_deadline_goes_on() {
        let on = Observation { is_plugged_in: Some(true), is_charging: true, told_since: None };
        let begun = Cycle::after_observation(None, on, at(1), true, |_| None).unwrap();
        let later = Cycle::after_observation(Some(begun), on, at(90), true, |_| None).unwrap();
        assert_eq!((later.since, later.charged), (at(1), TimeDelta::hours(89)));
        let text = serde_json::to_string(&later).unwrap();
        assert_eq!(serde_json::from_str::<Cycle>(&text).unwrap(), later);
    }

    #[test]
    fn charging_across_a_deadline_counts_for_both_cycles() {
        let on = Observation { is_plugged_in: Some(true), is_charging: true, told_since: None };
        let begun =
            Cycle::after_observation(None, on, at(5), true, |now| Some(sevens(now))).unwrap();
        let next = Cycle::after_observation(Some(begun), on, at(8), true, |now| Some(sevens(now)))
            .unwrap();
        assert_eq!((next.since, next.charged), (at(7), TimeDelta::hours(1)));
    }

    /// A stay in which a device is told to charge from noon on, and is looked at so
    /// many minutes later, charging or not.
    fn told(looks: &[(i64, bool)]) -> Cycle {
        let at = |minutes| at(12) + TimeDelta::minutes(minutes);
        let mut cycle = look(None, Some(true), 12, false);
        let mut seen_at = at(0);
        for &(minutes, is_charging) in looks {
            let told_since = Some(at(0).max(seen_at));
            let sight = Observation { is_plugged_in: Some(true), is_charging, told_since };
            cycle =
                Cycle::after_observation(cycle, sight, at(minutes), false, |now| Some(sevens(now)));
            seen_at = at(minutes);
        }
        cycle.unwrap()
    }

    #[test]
    fn who_does_not_charge_when_told_to_is_left_alone_for_an_hour() {
        let minutes = |minutes| at(12) + TimeDelta::minutes(minutes);
        assert_eq!(told(&[(4, false)]).declined_at, None);
        // Looks in between do not begin the wait anew.
        assert_eq!(told(&[(2, false), (4, false), (5, false)]).declined_at, Some(minutes(5)));
        // Full after a while; and taken back by one that begins after all.
        let full = told(&[(2, true), (40, true), (42, false), (47, false)]);
        assert_eq!(full.declined_at, Some(minutes(47)));
        assert_eq!([106, 107].map(|m| full.has_declined(minutes(m))), [true, false]);
        let late = told(&[(7, false), (9, true)]);
        assert_eq!((late.declined_at, late.has_declined(minutes(9))), (None, false));
    }

    #[test]
    fn who_was_stopped_by_somebody_else_is_told_once_more() {
        let minutes = |minutes| at(12) + TimeDelta::minutes(minutes);
        let stopped = told(&[(1, true), (7, false)]);
        assert_eq!((stopped.told_since, stopped.declined_at), (Some(minutes(7)), None));
        let told_again = told(&[(1, true), (7, false), (11, false), (12, false)]);
        assert_eq!(told_again.declined_at, Some(minutes(12)));
        let heeded = told(&[(1, true), (7, false), (8, true), (13, false)]);
        assert_eq!((heeded.told_since, heeded.declined_at), (Some(minutes(13)), None));
    }

    #[test]
    fn who_is_told_to_pause_has_not_declined() {
        let begun = told(&[(2, true), (40, true)]);
        let off = Observation { is_plugged_in: Some(true), is_charging: false, told_since: None };
        let at = |minutes| at(12) + TimeDelta::minutes(minutes);
        let paused = Cycle::after_observation(Some(begun), off, at(50), false, |_| None).unwrap();
        assert_eq!((paused.told_since, paused.declined_at), (None, None));
        // Told again two minutes ago: it has time yet.
        let again = Observation { told_since: Some(at(58)), ..off };
        let cycle =
            |at| Cycle::after_observation(Some(paused), again, at, false, |_| None).unwrap();
        assert_eq!([60, 63].map(|m| cycle(at(m)).declined_at), [None, Some(at(63))]);
    }

    #[test]
    fn a_cycle_knows_whether_another_came_before_it() {
        let evening = look(None, Some(true), 18, false);
        let kept = look(evening, Some(true), 31, true).unwrap();
        assert_eq!([evening.unwrap().is_further, kept.is_further], [false, true]);
        assert!(look(Some(kept), Some(true), 40, true).unwrap().is_further);
        // One that an earlier version kept.
        let text = r#"{"since":"2026-01-05T18:00:00Z","promise":null,"charged_microseconds":0,
            "seen_at":"2026-01-05T18:00:00Z","was_charging":false}"#;
        let old: Cycle = serde_json::from_str(text).unwrap();
        assert_eq!((old.is_further, old.told_since, old.declined_at), (false, None, None));
    }

    proptest! {
        /// However often one looks, time on is what was on between looks.
        #[test]
        fn looks_add_up(looks in prop::collection::vec((0..90i64, any::<bool>()), 1..30)) {
            let mut now = at(0);
            let (mut cycle, mut expected, mut was) = (None, TimeDelta::zero(), false);
            for (index, (minutes, is_charging)) in looks.into_iter().enumerate() {
                let step = TimeDelta::minutes(minutes);
                now += step;
                if index > 0 && was {
                    expected += step;
                }
                was = is_charging;
                let sight = Observation { is_plugged_in: Some(true), is_charging, told_since: None };
                cycle = Cycle::after_observation(cycle, sight, now, true, |_| None);
            }
            prop_assert_eq!(cycle.map(|cycle| cycle.charged), Some(expected));
        }
    }
}
