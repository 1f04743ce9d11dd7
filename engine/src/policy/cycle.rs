//! A stay at the plug, as smart charging counts it: from one deadline to the next.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::duration::micros;
use crate::units::Percent;

/// What is to hold by an instant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// The instant.
    pub by: DateTime<Utc>,
    /// State of charge wanted by then; `None` is the charge limit of a vehicle.
    /// Chargers know none.
    #[serde(rename = "target_percent")]
    pub target: Option<Percent>,
}

/// What was seen of a device that plans are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// Whether a plug is in; `None` if nobody knows.
    pub is_plugged_in: Option<bool>,
    /// Whether it charges.
    pub is_charging: bool,
}

/// A stay at the plug until a deadline, and what came of it until it was last
/// looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cycle {
    /// When it began.
    pub since: DateTime<Utc>,
    /// What it ends with; `None` if nothing has to be ready at any time.
    pub promise: Option<Promise>,
    /// Time that the device was seen charging.
    #[serde(rename = "charged_microseconds", with = "micros")]
    pub charged: TimeDelta,
    /// When it was last looked at.
    pub seen_at: DateTime<Utc>,
    /// Whether it charged then.
    pub was_charging: bool,
}

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
    /// use slackwater_engine::policy::cycle::{Cycle, Promise, Sight};
    /// let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
    /// let morning = Promise { by: at("2026-01-06T07:00:00Z"), target: None };
    /// let next = |_| Some(morning);
    /// let on = Sight { is_plugged_in: Some(true), is_charging: true };
    /// let begun = Cycle::at_look(None, on, at("2026-01-05T18:00:00Z"), true, next).unwrap();
    /// let later = Cycle::at_look(Some(begun), on, at("2026-01-05T20:00:00Z"), true, next).unwrap();
    /// assert_eq!(later.promise, Some(morning));
    /// assert_eq!(later.charged, TimeDelta::hours(2));
    /// ```
    #[must_use]
    pub fn at_look(
        before: Option<Self>,
        sight: Sight,
        now: DateTime<Utc>,
        is_kept: bool,
        next: impl Fn(DateTime<Utc>) -> Option<Promise>,
    ) -> Option<Self> {
        let Some(before) = before.filter(|_| sight.is_plugged_in != Some(false)) else {
            let begins = sight.is_plugged_in == Some(true);
            return begins.then(|| Self {
                since: now,
                promise: next(now),
                charged: TimeDelta::zero(),
                seen_at: now,
                was_charging: sight.is_charging,
            });
        };
        let seen = before.observed(now, sight.is_charging);
        match before.promise.filter(|promise| promise.by <= now) {
            Some(promise) if is_kept => Some(Self {
                since: promise.by,
                promise: next(now),
                charged: before.charged_after(promise.by, now),
                ..seen
            }),
            _ => Some(seen),
        }
    }

    /// The same cycle with another promise, for wishes that changed.
    #[must_use]
    pub fn promising(self, promise: Option<Promise>) -> Self {
        Self { promise, ..self }
    }

    /// Whether its deadline has passed, and it goes on all the same.
    #[must_use]
    pub fn is_late(&self, now: DateTime<Utc>) -> bool {
        self.promise.is_some_and(|promise| promise.by <= now)
    }

    fn observed(self, now: DateTime<Utc>, is_charging: bool) -> Self {
        // A look that comes late does not unmake one that was earlier.
        let seen_at = self.seen_at.max(now);
        let more = if self.was_charging { seen_at - self.seen_at } else { TimeDelta::zero() };
        Self { charged: self.charged + more, seen_at, was_charging: is_charging, ..self }
    }

    /// What of the charging up to now came after a deadline.
    fn charged_after(self, by: DateTime<Utc>, now: DateTime<Utc>) -> TimeDelta {
        if self.was_charging { now - by.max(self.seen_at) } else { TimeDelta::zero() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::percent;
    use proptest::prelude::*;

    fn at(hour: i64) -> DateTime<Utc> {
        "2026-01-05T00:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hour)
    }

    /// Every day at seven, to 80 %.
    fn sevens(now: DateTime<Utc>) -> Promise {
        let days = (now - at(7)).num_hours().div_euclid(24) + 1;
        Promise { by: at(7 + 24 * days), target: Some(percent(80.0)) }
    }

    fn look(before: Option<Cycle>, plug: Option<bool>, hour: i64, is_kept: bool) -> Option<Cycle> {
        let sight = Sight { is_plugged_in: plug, is_charging: false };
        Cycle::at_look(before, sight, at(hour), is_kept, |now| Some(sevens(now)))
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
        let on = Sight { is_plugged_in: Some(true), is_charging: true };
        let begun = Cycle::at_look(None, on, at(1), true, |_| None).unwrap();
        let later = Cycle::at_look(Some(begun), on, at(90), true, |_| None).unwrap();
        assert_eq!((later.since, later.charged), (at(1), TimeDelta::hours(89)));
        let text = serde_json::to_string(&later).unwrap();
        assert_eq!(serde_json::from_str::<Cycle>(&text).unwrap(), later);
    }

    #[test]
    fn charging_across_a_deadline_counts_for_both_cycles() {
        let on = Sight { is_plugged_in: Some(true), is_charging: true };
        let begun = Cycle::at_look(None, on, at(5), true, |now| Some(sevens(now))).unwrap();
        let next = Cycle::at_look(Some(begun), on, at(8), true, |now| Some(sevens(now))).unwrap();
        assert_eq!((next.since, next.charged), (at(7), TimeDelta::hours(1)));
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
                let sight = Sight { is_plugged_in: Some(true), is_charging };
                cycle = Cycle::at_look(cycle, sight, now, true, |_| None);
            }
            prop_assert_eq!(cycle.map(|cycle| cycle.charged), Some(expected));
        }
    }
}
