//! Composite schedule: the limit over time that follows from all profiles of a charge point.
//!
//! At each instant `t`, with `lead(purpose, t)` the profile of highest stack level among those of a
//! purpose that are valid at `t` and whose schedule has a period at `t`:
//!
//! ```text
//! own(t)   = lead(Transaction, t) during a transaction, if there is one, else lead(TransactionDefault, t)
//! limit(t) = min(own(t), lead(StationMax, t), lead(ExternalConstraints, t))
//! ```
//!
//! Sources: OCPP 1.6 edition 2, sections 3.13.2 (stacking) and 3.13.3 (combining purposes); OCPP
//! 2.0.1 part 2, functional block K, sections 3.2 and 3.3. A schedule that has ended makes room for
//! the next lower level.
use chrono::{DateTime, TimeDelta, Utc};

use crate::charging_profile::profile::{Kind, Profile, Purpose};
use crate::charging_profile::supply::Supply;
use slackwater_engine::units::Current;

/// Limit from an instant up to the next step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompositeStep {
    /// Start.
    pub start: DateTime<Utc>,
    /// Amperes on each phase; `None` if no profile limits.
    pub limit: Option<Current>,
}

/// Profiles of one connector, in the order of their installation.
#[derive(Debug, Clone, Copy)]
pub struct Installed<'a> {
    /// Profiles. Of two with the same purpose and level the later leads.
    pub profiles: &'a [Profile],
    /// Start of the running transaction, if any. Without one, transaction profiles say nothing.
    pub transaction_start: Option<DateTime<Utc>>,
    /// Supply, for limits in watts.
    pub supply: Supply,
}

impl Installed<'_> {
    /// Amperes on each phase that the profiles allow at an instant; `None` if they do not limit.
    #[must_use]
    pub fn limit_at(&self, at: DateTime<Utc>) -> Option<Current> {
        let transaction = self.transaction_start.and_then(|_| self.lead(Purpose::Transaction, at));
        let own = transaction.or_else(|| self.lead(Purpose::TransactionDefault, at));
        let caps = [Purpose::StationMax, Purpose::ExternalConstraints].map(|p| self.lead(p, at));
        [own, caps[0], caps[1]].into_iter().flatten().reduce(Current::min)
    }

    /// Limits from one instant to another, in steps of different limits.
    ///
    /// The first step starts at `from`. An empty span has no steps.
    ///
    /// # Example
    ///
    /// A profile of 16 A for ten minutes above a default of 6 A.
    ///
    /// ```
    /// use chrono::{DateTime, TimeDelta, Utc};
    /// use slackwater_control::charging_profile::composite::Installed;
    /// use slackwater_control::charging_profile::profile::{Kind, Profile, Purpose, Schedule};
    /// use slackwater_control::charging_profile::supply::{Limit, Supply};
    /// use slackwater_engine::units::{amps, volts};
    ///
    /// let noon: DateTime<Utc> = "2026-01-05T12:00:00Z".parse().unwrap();
    /// let ten = TimeDelta::minutes(10);
    /// let profile = |level, current, duration| Profile {
    ///     id: level as i32,
    ///     stack_level: level,
    ///     purpose: Purpose::TransactionDefault,
    ///     kind: Kind::Absolute { start: noon },
    ///     valid_from: None,
    ///     valid_to: None,
    ///     schedule: Schedule::constant(Limit::Current(amps(current)), duration).unwrap(),
    /// };
    /// let profiles = [profile(0, 6.0, None), profile(1, 16.0, Some(ten))];
    /// let supply = Supply::new(volts(230.0), 3).unwrap();
    /// let installed = Installed { profiles: &profiles, transaction_start: None, supply };
    ///
    /// let steps = installed.composite(noon, noon + ten * 6);
    ///
    /// assert_eq!(steps.len(), 2);
    /// assert_eq!((steps[0].start, steps[0].limit), (noon, Some(amps(16.0))));
    /// assert_eq!((steps[1].start, steps[1].limit), (noon + ten, Some(amps(6.0))));
    /// ```
    #[must_use]
    pub fn composite(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<CompositeStep> {
        let mut starts = vec![from];
        for profile in self.profiles {
            starts.extend(profile.valid_from);
            starts.extend(profile.valid_to);
            self.push_changes(profile, from, to, &mut starts);
        }
        starts.retain(|start| from <= *start && *start < to);
        starts.sort_unstable();
        let mut steps: Vec<CompositeStep> = Vec::new();
        for start in starts {
            let limit = self.limit_at(start);
            if steps.last().is_none_or(|step| step.limit != limit) {
                steps.push(CompositeStep { start, limit });
            }
        }
        steps
    }

    /// Limit of the leading profile of a purpose.
    fn lead(&self, purpose: Purpose, at: DateTime<Utc>) -> Option<Current> {
        let of_purpose = self.profiles.iter().filter(|profile| profile.purpose == purpose);
        let speaking = of_purpose.filter_map(|profile| {
            profile.period_at(at, self.transaction_start).map(|period| (profile, period))
        });
        let (_, period) = speaking.max_by_key(|(profile, _)| profile.stack_level)?;
        Some(self.supply.current_of(period.limit, period.phases))
    }

    /// Instants at which the schedule of a profile changes, in its runs between two instants.
    fn push_changes(
        &self,
        profile: &Profile,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        starts: &mut Vec<DateTime<Utc>>,
    ) {
        let (first, cycle) = match profile.kind {
            Kind::Absolute { start } => (start, None),
            Kind::Recurring { start, every } => {
                (profile.run_start(from, None).unwrap_or(start), Some(every.length()))
            }
            Kind::Relative => (self.transaction_start.unwrap_or(from), None),
        };
        let offsets = profile.schedule.periods().iter().map(|period| period.offset);
        let offsets: Vec<TimeDelta> = offsets.chain(profile.schedule.duration()).collect();
        let mut run = first;
        while run < to {
            let changes = offsets.iter().filter_map(|offset| run.checked_add_signed(*offset));
            starts.extend(changes);
            let Some(cycle) = cycle else { break };
            run += cycle;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::charging_profile::profile::{Recurrency, Schedule, SchedulePeriod};
    use crate::charging_profile::supply::Limit;
    use slackwater_engine::units::{amps, kw, volts};

    /// Length of the window that the property looks at: more than a week.
    const MINUTES: i64 = 8 * 24 * 60;

    fn minute(minutes: i64) -> DateTime<Utc> {
        "2026-03-28T00:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    /// Limits painted minute by minute, from the lowest level of each purpose to the highest.
    ///
    /// A second implementation of the rules that shares no code with the first: it walks over runs
    /// and periods, not over instants.
    struct Painted {
        by_purpose: [Vec<Option<f64>>; 4],
    }

    impl Painted {
        fn new(profiles: &[Profile], transaction_start: Option<i64>) -> Self {
            let blank = || vec![None; MINUTES as usize];
            let mut painted = Self { by_purpose: [blank(), blank(), blank(), blank()] };
            let mut order: Vec<&Profile> = profiles.iter().collect();
            order.sort_by_key(|profile| profile.stack_level);
            for profile in order {
                painted.paint(profile, transaction_start);
            }
            painted
        }

        fn paint(&mut self, profile: &Profile, transaction_start: Option<i64>) {
            let since = |at: DateTime<Utc>| (at - minute(0)).num_minutes();
            let runs: Vec<i64> = match profile.kind {
                Kind::Absolute { start } => vec![since(start)],
                Kind::Recurring { start, every } => {
                    let cycle = if every == Recurrency::Daily { 1440 } else { 10080 };
                    (0..100).map(|k| since(start) + k * cycle).collect()
                }
                // Without a transaction every minute is the first one of a transaction.
                Kind::Relative => transaction_start.map_or((0..MINUTES).collect(), |t| vec![t]),
            };
            let cycle = match profile.kind {
                Kind::Recurring { every: Recurrency::Daily, .. } => 1440,
                Kind::Recurring { every: Recurrency::Weekly, .. } => 10080,
                Kind::Relative if transaction_start.is_none() => 1,
                _ => i64::MAX,
            };
            let length = profile.schedule.duration().map_or(i64::MAX, |d| d.num_minutes());
            for run in runs {
                for (index, period) in profile.schedule.periods().iter().enumerate() {
                    let next = profile.schedule.periods().get(index + 1);
                    let until = next.map_or(i64::MAX, |next| next.offset.num_minutes());
                    let until = until.min(length).min(cycle);
                    let limit = match period.limit {
                        Limit::Current(current) => current.as_amps(),
                        Limit::Power(power) => {
                            power.as_kw() * 1000.0 / 230.0 / f64::from(period.phases.unwrap_or(3))
                        }
                    };
                    let first = run + period.offset.num_minutes();
                    for at in first.max(0)..run.saturating_add(until).min(MINUTES) {
                        let late = profile.valid_from.is_some_and(|from| at < since(from));
                        if !late && profile.valid_to.is_none_or(|to| at < since(to)) {
                            self.by_purpose[profile.purpose as usize][at as usize] = Some(limit);
                        }
                    }
                }
            }
        }

        fn limit(&self, at: i64, is_charging: bool) -> Option<f64> {
            let [station, external, default, own] = &self.by_purpose;
            let at = at as usize;
            let own = own[at].filter(|_| is_charging).or(default[at]);
            let known = [own, station[at], external[at]];
            known.into_iter().flatten().reduce(f64::min)
        }
    }

    fn profiles() -> impl Strategy<Value = Vec<Profile>> {
        let period = (1..900i64, 0..33u32, any::<bool>(), prop::option::of(1..=3u8));
        let periods = prop::collection::vec(period, 1..5);
        let validity = (prop::option::of(0..MINUTES), prop::option::of(0..MINUTES));
        let profile =
            (0..4usize, 0..5i64, -9000..MINUTES, validity, periods, prop::option::of(1..20_000i64));
        let profile = profile.prop_map(|(purpose, kind, start, (from, to), periods, duration)| {
            let start = minute(start);
            let kind = match kind {
                0 | 1 => Kind::Absolute { start },
                2 => Kind::Recurring { start, every: Recurrency::Daily },
                3 => Kind::Recurring { start, every: Recurrency::Weekly },
                _ => Kind::Relative,
            };
            let mut offset = 0;
            let mut schedule = Vec::new();
            for (length, amount, is_power, phases) in periods {
                let amount = f64::from(amount);
                let limit =
                    if is_power { Limit::Power(kw(amount)) } else { Limit::Current(amps(amount)) };
                schedule.push(SchedulePeriod { offset: TimeDelta::minutes(offset), limit, phases });
                offset += length;
            }
            Profile {
                id: 0,
                stack_level: 0,
                purpose: Purpose::ALL[purpose],
                kind,
                valid_from: from.map(minute),
                valid_to: to.map(minute),
                schedule: Schedule::new(schedule, duration.map(TimeDelta::minutes)).unwrap(),
            }
        });
        // Levels are distinct, as within a purpose they must be.
        prop::collection::vec(profile, 0..8).prop_map(|mut profiles| {
            for (level, profile) in profiles.iter_mut().enumerate() {
                profile.stack_level = (level * 7 % 8) as u32;
            }
            profiles
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// Every minute has the limit that a second implementation paints.
        #[test]
        fn composite_is_painted_minute_by_minute(
            profiles in profiles(), transaction in prop::option::of(0..MINUTES / 2),
        ) {
            let supply = Supply::new(volts(230.0), 3).unwrap();
            let transaction_start = transaction.map(minute);
            let installed = Installed { profiles: &profiles, transaction_start, supply };
            // A relative schedule is undefined before its transaction.
            let first = transaction.unwrap_or(0);
            let steps = installed.composite(minute(first), minute(MINUTES));
            let painted = Painted::new(&profiles, transaction);
            for at in first..MINUTES {
                let step = steps.partition_point(|step| step.start <= minute(at)) - 1;
                let found = steps[step].limit.map(Current::as_amps);
                let expected = painted.limit(at, transaction.is_some());
                let agree = match (found, expected) {
                    (Some(found), Some(expected)) => (found - expected).abs() < 1e-9,
                    (found, expected) => found == expected,
                };
                prop_assert!(agree, "minute {at}: {found:?}, painted {expected:?}");
            }
            prop_assert!(steps.windows(2).all(|pair| pair[0].limit != pair[1].limit));
        }
    }

    #[test]
    fn an_empty_span_has_no_steps() {
        let supply = Supply::new(volts(230.0), 1).unwrap();
        let installed = Installed { profiles: &[], transaction_start: None, supply };
        assert_eq!(installed.composite(minute(5), minute(5)), []);
        let unlimited = CompositeStep { start: minute(5), limit: None };
        assert_eq!(installed.composite(minute(5), minute(6)), [unlimited]);
    }
}
