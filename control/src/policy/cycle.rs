//! A stay at the plug, as smart charging counts it: from one deadline to the next.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use slackwater_engine::time::serde_micros;
use slackwater_engine::units::Percent;

/// Commitment that must hold by an instant.
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

/// Observation of a device that plans are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// True if a plug is in; `None` if unknown.
    pub is_plugged_in: Option<bool>,
    /// True if it charges.
    pub is_charging: bool,
    /// Start of the present uninterrupted order to charge, as far as the last plan goes back;
    /// `None` if there is no such order, or the device does not receive it.
    pub told_since: Option<DateTime<Utc>>,
}

/// Cycle: a stay at the plug until a deadline, with its progress at the last observation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cycle {
    /// Start of the cycle.
    pub since: DateTime<Utc>,
    /// Commitment at its end; `None` if there is no deadline.
    pub promise: Option<Commitment>,
    /// Time that the device was seen charging.
    #[serde(rename = "charged_microseconds", with = "serde_micros")]
    pub charged: TimeDelta,
    /// Time of the last observation.
    pub seen_at: DateTime<Utc>,
    /// True if the device charged then.
    pub was_charging: bool,
    /// Start of the present uninterrupted order to charge, while charging was not observed.
    pub told_since: Option<DateTime<Utc>>,
    /// Time of the last observation at which the device did not charge despite an order.
    pub declined_at: Option<DateTime<Utc>>,
    /// True if an earlier cycle belongs to the same stay.
    #[serde(default)]
    pub is_further: bool,
}

/// Time after an order to charge within which a device starts, unless it declines: half a minute
/// of preparation, and the time until the next observation.
pub const START_TIMEOUT: TimeDelta = TimeDelta::minutes(5);

/// Longest time for which a device that charged counts as charging on, if it does not charge at the
/// next observation. In between it may have been out of reach, and have stopped by itself.
pub const UNSEEN_MAX: TimeDelta = TimeDelta::minutes(5);

/// Shortest time before a device that declined is ordered to charge again.
pub const REFUSAL_BACKOFF: TimeDelta = TimeDelta::hours(1);

impl Cycle {
    /// Returns the cycle after an observation; `None` while no plug is in.
    ///
    /// A cycle begins at plug-in, and when a deadline passes with its commitment met while the
    /// plug stays in; `next` returns the commitment of the new cycle. A missed commitment is
    /// kept, so that charging continues for it. An unknown state of the plug leaves the cycle
    /// unchanged.
    ///
    /// # Example
    ///
    /// Plugged in at six, ready by seven in the morning, and two hours of
    /// charging seen at ten.
    ///
    /// ```
    /// use chrono::{DateTime, TimeDelta, Utc};
    /// use slackwater_control::policy::cycle::{Cycle, Commitment, Observation};
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
                // Time charged after the deadline counts for the new cycle.
                charged: before.charged_since(promise.by.max(before.seen_at), now, sight),
                is_further: true,
                ..seen
            }),
            _ => Some(seen),
        }
    }

    /// Returns the cycle with another commitment, after a change of policy.
    #[must_use]
    pub fn promising(self, promise: Option<Commitment>) -> Self {
        Self { promise, ..self }
    }

    /// Returns true if the deadline has passed and the cycle continues.
    #[must_use]
    pub fn is_late(&self, now: DateTime<Utc>) -> bool {
        self.promise.is_some_and(|promise| promise.by <= now)
    }

    /// Returns true if the device declined an order to charge, and that not long ago.
    ///
    /// A full vehicle declines, and so does one with a timer of its own. A charger cannot
    /// distinguish the two.
    #[must_use]
    pub fn has_declined(&self, now: DateTime<Utc>) -> bool {
        self.asked_again_at().is_some_and(|again| now < again)
    }

    /// Earliest time of the next order to charge after a refusal.
    #[must_use]
    pub fn asked_again_at(&self) -> Option<DateTime<Utc>> {
        self.declined_at?.checked_add_signed(REFUSAL_BACKOFF)
    }

    fn observed(self, now: DateTime<Utc>, sight: Observation) -> Self {
        // A look that comes late does not unmake one that was earlier.
        let seen_at = self.seen_at.max(now);
        let more = self.charged_since(self.seen_at, seen_at, sight);
        // A plan reaches back to the look that it was made at.
        let told_since = sight.told_since.map(|since| match self.told_since {
            // It did charge and may have been stopped by a person, so this is no refusal.
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

    /// Time of charging from an instant after the last observation up to this one.
    fn charged_since(
        self,
        since: DateTime<Utc>,
        now: DateTime<Utc>,
        sight: Observation,
    ) -> TimeDelta {
        let until = if sight.is_charging { now } else { now.min(self.seen_at + UNSEEN_MAX) };
        // An observation may come late, with an instant before the one seen last.
        if self.was_charging && since < until { until - since } else { TimeDelta::zero() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use slackwater_engine::units::percent;

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
    fn a_cycle_lasts_from_plug_in_to_the_deadline() {
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

    #[test]
    fn a_device_that_stopped_while_it_was_out_of_reach_has_charged_for_minutes_only() {
        let look = |before, is_charging, hour| {
            let sight = Observation { is_plugged_in: Some(true), is_charging, told_since: None };
            Cycle::after_observation(before, sight, at(hour), true, |now| Some(sevens(now)))
        };
        let begun = look(None, true, 18);
        let stopped = look(begun, false, 21).unwrap();
        assert_eq!(stopped.charged, UNSEEN_MAX);
        let went_on = look(begun, true, 21).unwrap();
        assert_eq!(went_on.charged, TimeDelta::hours(3));
        // Nothing of it counts for the next cycle.
        let next = look(begun, false, 32).unwrap();
        assert_eq!((next.since, next.charged), (at(31), TimeDelta::zero()));
    }

    #[test]
    fn an_observation_that_comes_late_counts_no_charging() {
        let on = Observation { is_plugged_in: Some(true), is_charging: true, told_since: None };
        let look = |before, hour, is_kept| {
            Cycle::after_observation(before, on, at(hour), is_kept, |now| Some(sevens(now)))
        };
        let late = look(look(None, 5, false), 8, false);
        assert_eq!(ends(late), Some(at(7)));
        // Seen at eight already, with the deadline at seven.
        let next = look(late, 7, true).unwrap();
        assert_eq!((next.since, next.charged), (at(7), TimeDelta::zero()));
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
        /// However often one looks, time on is what was on between looks, but for a long silence
        /// after which it is off.
        #[test]
        fn looks_add_up(looks in prop::collection::vec((0..90i64, any::<bool>()), 1..30)) {
            let mut now = at(0);
            let (mut cycle, mut expected, mut was) = (None, TimeDelta::zero(), false);
            for (index, (minutes, is_charging)) in looks.into_iter().enumerate() {
                let step = TimeDelta::minutes(minutes);
                now += step;
                if index > 0 && was {
                    expected += if is_charging { step } else { step.min(UNSEEN_MAX) };
                }
                was = is_charging;
                let sight = Observation { is_plugged_in: Some(true), is_charging, told_since: None };
                cycle = Cycle::after_observation(cycle, sight, now, true, |_| None);
            }
            prop_assert_eq!(cycle.map(|cycle| cycle.charged), Some(expected));
        }
    }
}
