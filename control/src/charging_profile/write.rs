//! From limits over time to the profiles of a charge point: a safe default, and above it a
//! short-lived profile that expires into the default by the charge point's own clock.
//!
//! With `plan(t)` the limits wanted, `safe` the limit of the default and `until` the expiry:
//!
//! ```text
//! limit(t) <= plan(t)   for now <= t < until        limit(t) = safe   for t >= until
//! ```
//!
//! The profile is written again before `until`. It has `valid_to` and a duration, because some charge
//! points follow only one of the two. It keeps its identifier, so that each one replaces the one
//! before, whatever its purpose and level.
use chrono::{DateTime, TimeDelta, Utc};

use crate::charging_profile::charge_point::{ChargePoint, Pause};
use crate::charging_profile::profile::{
    Kind, Profile, Purpose, Schedule, ScheduleError, SchedulePeriod,
};
use crate::charging_profile::supply::Limit;
use slackwater_engine::units::Current;

/// Limit from an instant up to the next step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitStep {
    /// Start.
    pub start: DateTime<Utc>,
    /// Upper limit.
    pub limit: Limit,
}

/// Terms under which limits are written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Limit that is safe without a controller: the default of the charge point.
    pub safe: Current,
    /// Time from now to the expiry of the profile, such as five minutes.
    pub lifetime: TimeDelta,
    /// Time before the expiry at which the profile is written again.
    pub refresh_before: TimeDelta,
    /// Start of the running transaction, if any.
    pub transaction_start: Option<DateTime<Utc>>,
    /// Identifier of the default; the short-lived profile has the next one.
    pub first_id: i32,
}

/// Profiles to write, default first.
#[derive(Debug, Clone, PartialEq)]
pub struct Writing {
    /// Default profile, without end.
    pub default: Profile,
    /// Profile above it; `None` if the default is all that can be said now.
    pub limit: Option<Profile>,
    /// Instant from which the default holds.
    pub expires: DateTime<Utc>,
    /// Instant at which limits are to be written again.
    pub refresh_at: DateTime<Utc>,
    /// Instant at which charging is to be stopped by other means than a limit: the charge point
    /// pauses by the end of the transaction, or by its availability.
    pub stop_at: Option<DateTime<Utc>>,
}

/// Error of limits that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A lifetime that is not above zero.
    #[error("a lifetime of {seconds} s is not above zero")]
    NoLifetime {
        /// Lifetime in seconds.
        seconds: i64,
    },
    /// The charge point has one stack level and no transaction profiles, so that a limit would
    /// replace the default and could not expire.
    #[error(
        "stack level {level} is the highest, and transaction profiles are not followed: \
         no limit can expire into a default"
    )]
    NothingAboveDefault {
        /// The one stack level.
        level: u32,
    },
    /// The limits do not make a schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}

/// Profiles that follow `plan` from now up to the end of their lifetime.
///
/// A step holds up to the next one, and the last without end; before the first step the safe limit
/// holds. Limits are rounded down; currents below the lowest are zero. If the charge point takes
/// fewer periods, neighbours are joined at the smaller limit, where that costs the least energy: no
/// instant gets more than its plan.
///
/// # Errors
/// The lifetime is not above zero, limits are negative, or the charge point has no place for a
/// profile above a default.
///
/// # Example
///
/// 16 A for a minute, then 10 A. The profile ends after five minutes, and 6 A remain.
///
/// ```
/// use chrono::{DateTime, TimeDelta, Utc};
/// use slackwater_control::charging_profile::charge_point::ChargePoint;
/// use slackwater_control::charging_profile::supply::{Limit, Supply};
/// use slackwater_control::charging_profile::write::{LimitStep, Terms, write_profiles};
/// use slackwater_engine::units::{amps, volts};
///
/// let noon: DateTime<Utc> = "2026-01-05T12:00:00Z".parse().unwrap();
/// let minute = TimeDelta::minutes(1);
/// let supply = Supply::new(volts(230.0), 3).unwrap();
/// let point = ChargePoint { periods_max: 24, ..ChargePoint::new(supply, amps(32.0)) };
/// let step = |start, current| LimitStep { start, limit: Limit::Current(amps(current)) };
/// let terms = Terms {
///     safe: amps(6.0),
///     lifetime: minute * 5,
///     refresh_before: minute * 2,
///     transaction_start: None,
///     first_id: 1,
/// };
///
/// let plan = [step(noon, 16.0), step(noon + minute, 10.0)];
/// let writing = write_profiles(&plan, &point, &terms, noon)?;
///
/// let limit = writing.limit.expect("both limits are above zero");
/// assert_eq!(limit.schedule.periods().len(), 2);
/// assert_eq!(limit.valid_to, Some(noon + minute * 5));
/// assert_eq!(writing.refresh_at, noon + minute * 3);
/// assert_eq!(writing.default.valid_to, None);
/// # Ok::<(), slackwater_control::charging_profile::write::WriteError>(())
/// ```
pub fn write_profiles(
    plan: &[LimitStep],
    point: &ChargePoint,
    terms: &Terms,
    now: DateTime<Utc>,
) -> Result<Writing, WriteError> {
    if terms.lifetime <= TimeDelta::zero() {
        return Err(WriteError::NoLifetime { seconds: terms.lifetime.num_seconds() });
    }
    let seat = Seat::above_default(point, terms)?;
    let mut steps = limits_between(plan, point, terms, now);
    let mut expires = now + terms.lifetime;
    let pause = steps.iter().position(|step| step.1 == Current::ZERO);
    let stop_at = pause.filter(|_| point.pause != Pause::ZeroLimit).map(|index| {
        // A limit of zero cannot be written: the profile ends where charging is to stop.
        let at = steps[index].0;
        steps.truncate(index);
        expires = at;
        at
    });
    join_to(&mut steps, point.periods_max.max(1), expires);
    let limit = seat.filter(|_| !steps.is_empty());
    let limit = limit.map(|seat| seat.profile(&steps, point, terms, expires)).transpose()?;
    Ok(Writing {
        default: default_profile(point, terms, now)?,
        limit,
        expires,
        refresh_at: (expires - terms.refresh_before).max(now),
        stop_at,
    })
}

/// Purpose and level of a profile above the default.
#[derive(Debug, Clone, Copy)]
struct Seat {
    purpose: Purpose,
    stack_level: u32,
}

impl Seat {
    /// Place above the default; `None` if there is one in a transaction only, and none runs.
    fn above_default(point: &ChargePoint, terms: &Terms) -> Result<Option<Self>, WriteError> {
        let level = point.stack_level_default;
        let has_level = level < point.stack_level_max;
        let of_default = Self { purpose: Purpose::TransactionDefault, stack_level: level + 1 };
        let of_transaction = Self {
            purpose: Purpose::Transaction,
            stack_level: if has_level { level + 1 } else { level },
        };
        let runs = terms.transaction_start.is_some();
        match (point.takes_transaction_profile, has_level) {
            (true, _) if runs => Ok(Some(of_transaction)),
            // A default that holds from the next transaction on would outlive its purpose.
            (_, true) if !runs || point.applies_default_at_once => Ok(Some(of_default)),
            (true, false) => Ok(None),
            _ => Err(WriteError::NothingAboveDefault { level }),
        }
    }

    fn profile(
        self,
        steps: &[(DateTime<Utc>, Current)],
        point: &ChargePoint,
        terms: &Terms,
        expires: DateTime<Utc>,
    ) -> Result<Profile, ScheduleError> {
        let now = steps[0].0;
        let relative = terms.transaction_start.filter(|_| point.is_relative_only);
        let origin = relative.unwrap_or(now);
        let mut periods: Vec<SchedulePeriod> = Vec::with_capacity(steps.len());
        for (index, (start, current)) in steps.iter().enumerate() {
            // The first limit also holds before now, in offsets from the start of a transaction.
            let offset = if index == 0 { TimeDelta::zero() } else { *start - origin };
            periods.push(SchedulePeriod { offset, limit: point.limit_of(*current), phases: None });
        }
        let kind =
            if point.is_relative_only { Kind::Relative } else { Kind::Absolute { start: now } };
        Ok(Profile {
            id: terms.first_id.saturating_add(1),
            stack_level: self.stack_level,
            purpose: self.purpose,
            kind,
            valid_from: None,
            valid_to: Some(expires),
            schedule: Schedule::new(periods, Some(expires - origin))?,
        })
    }
}

fn default_profile(
    point: &ChargePoint,
    terms: &Terms,
    now: DateTime<Utc>,
) -> Result<Profile, ScheduleError> {
    let safe = point.limit_of(point.current_within(Limit::Current(terms.safe)));
    // It has begun by a clock that is late, too.
    let start = now - TimeDelta::days(1);
    Ok(Profile {
        id: terms.first_id,
        stack_level: point.stack_level_default,
        purpose: Purpose::TransactionDefault,
        // Relative where that is taken, so that a charge point with a wrong clock has a default too.
        kind: if point.is_absolute_only { Kind::Absolute { start } } else { Kind::Relative },
        valid_from: None,
        valid_to: None,
        schedule: Schedule::constant(safe, None)?,
    })
}

/// Currents that the charge point can follow, from now up to the end of the lifetime.
fn limits_between(
    plan: &[LimitStep],
    point: &ChargePoint,
    terms: &Terms,
    now: DateTime<Utc>,
) -> Vec<(DateTime<Utc>, Current)> {
    let until = now + terms.lifetime;
    let before = plan.iter().rfind(|step| step.start <= now).map(|step| step.limit);
    let first = before.unwrap_or(Limit::Current(terms.safe));
    let ahead = plan.iter().filter(|step| now < step.start && step.start < until);
    let limits = ahead.map(|step| (step.start, step.limit));
    let mut steps: Vec<(DateTime<Utc>, Current)> = Vec::new();
    for (start, limit) in std::iter::once((now, first)).chain(limits) {
        let current = point.current_within(limit);
        if steps.last().is_none_or(|last| last.1 != current) {
            steps.push((start, current));
        }
    }
    steps
}

/// Joins neighbours at the smaller limit until at most `most` steps are left.
///
/// Each time the pair is joined that loses the least charge, `(higher - lower) · length of the higher`;
/// of equal pairs the later one.
fn join_to(steps: &mut Vec<(DateTime<Utc>, Current)>, most: usize, end: DateTime<Utc>) {
    while steps.len() > most {
        let loss = |index: usize| {
            let boundary = steps[index + 1].0;
            let (left, right) = (steps[index].1, steps[index + 1].1);
            let length = if left > right {
                boundary - steps[index].0
            } else {
                steps.get(index + 2).map_or(end, |next| next.0) - boundary
            };
            (left.max(right) - left.min(right)).as_amps() * length.as_seconds_f64()
        };
        let pairs = (0..steps.len() - 1).rev();
        let Some(cheapest) = pairs.min_by(|a, b| loss(*a).total_cmp(&loss(*b))) else { return };
        let (_, removed) = steps.remove(cheapest + 1);
        steps[cheapest].1 = steps[cheapest].1.min(removed);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::charging_profile::charge_point::RateUnits;
    use crate::charging_profile::composite::Installed;
    use crate::charging_profile::supply::Supply;
    use slackwater_engine::units::{amps, volts};

    fn second(seconds: i64) -> DateTime<Utc> {
        "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(seconds)
    }

    fn point() -> ChargePoint {
        ChargePoint::new(Supply::new(volts(230.0), 3).unwrap(), amps(32.0))
    }

    fn terms(transaction_start: Option<i64>) -> Terms {
        Terms {
            safe: amps(6.0),
            lifetime: TimeDelta::seconds(300),
            refresh_before: TimeDelta::seconds(120),
            transaction_start: transaction_start.map(second),
            first_id: 1,
        }
    }

    fn step(at: i64, current: f64) -> LimitStep {
        LimitStep { start: second(at), limit: Limit::Current(amps(current)) }
    }

    #[test]
    fn limits_sit_above_the_default() {
        let seat = |point: ChargePoint, transaction| {
            let writing = write_profiles(&[step(0, 16.0)], &point, &terms(transaction), second(0));
            writing.map(|w| w.limit.map(|limit| (limit.purpose, limit.stack_level)))
        };
        assert_eq!(seat(point(), None), Ok(Some((Purpose::TransactionDefault, 1))));
        assert_eq!(seat(point(), Some(-60)), Ok(Some((Purpose::Transaction, 1))));
        // evcc-io/evcc#15493: profiles of a level above zero are refused.
        let zero = ChargePoint { stack_level_max: 0, ..point() };
        assert_eq!(seat(zero, None), Ok(None));
        assert_eq!(seat(zero, Some(-60)), Ok(Some((Purpose::Transaction, 0))));
        let nothing = ChargePoint { takes_transaction_profile: false, ..zero };
        assert_eq!(seat(nothing, None), Err(WriteError::NothingAboveDefault { level: 0 }));
        // lbbrhzn/ocpp#221: a new default waits for the next transaction.
        let waits = ChargePoint { applies_default_at_once: false, ..point() };
        assert_eq!(seat(waits, Some(-60)), Ok(Some((Purpose::Transaction, 1))));
        let waits = ChargePoint { takes_transaction_profile: false, ..waits };
        assert_eq!(seat(waits, Some(-60)), Err(WriteError::NothingAboveDefault { level: 0 }));
    }

    #[test]
    fn the_default_is_relative_where_that_is_taken() {
        let kind = |point: ChargePoint| {
            write_profiles(&[], &point, &terms(None), second(0)).unwrap().default.kind
        };
        assert_eq!(kind(point()), Kind::Relative);
        // evcc-io/evcc#15028: absolute profiles only. It holds by a clock that is a day late.
        let absolute = ChargePoint { is_absolute_only: true, ..point() };
        assert_eq!(kind(absolute), Kind::Absolute { start: second(-86_400) });
    }

    #[test]
    fn a_pause_without_zero_limits_is_a_stop() {
        // evcc-io/evcc#12861, lbbrhzn/ocpp#1062: zero amperes are not a pause everywhere.
        let stops = ChargePoint { pause: Pause::RemoteStop, periods_max: 9, ..point() };
        let plan = [step(0, 16.0), step(60, 0.0), step(120, 16.0)];
        let writing = write_profiles(&plan, &stops, &terms(None), second(0)).unwrap();
        assert_eq!((writing.stop_at, writing.expires), (Some(second(60)), second(60)));
        assert_eq!(writing.limit.unwrap().schedule.periods().len(), 1);
        let writing = write_profiles(&plan, &stops, &terms(None), second(60)).unwrap();
        assert_eq!((writing.stop_at, writing.limit), (Some(second(60)), None));
        let zero = ChargePoint { periods_max: 9, ..point() };
        let writing = write_profiles(&plan, &zero, &terms(None), second(0)).unwrap();
        assert_eq!((writing.stop_at, writing.limit.unwrap().schedule.periods().len()), (None, 3));
    }

    #[test]
    fn the_cheapest_pair_is_joined_at_its_smaller_limit() {
        let plan = [step(0, 16.0), step(60, 15.0), step(120, 32.0), step(180, 10.0)];
        let two = ChargePoint { periods_max: 2, ..point() };
        let writing = write_profiles(&plan, &two, &terms(None), second(0)).unwrap();
        let limit = writing.limit.unwrap();
        let periods = limit.schedule.periods();
        let found: Vec<_> = periods.iter().map(|p| (p.offset.num_seconds(), p.limit)).collect();
        let expected = [(0, 15.0), (180, 10.0)].map(|(at, c)| (at, Limit::Current(amps(c))));
        assert_eq!(found, expected);
    }

    #[test]
    fn nothing_is_written_without_a_lifetime() {
        let never = Terms { lifetime: TimeDelta::zero(), ..terms(None) };
        let error = write_profiles(&[step(0, 16.0)], &point(), &never, second(0)).unwrap_err();
        assert_eq!(error.to_string(), "a lifetime of 0 s is not above zero");
    }

    fn points() -> impl Strategy<Value = ChargePoint> {
        let units = prop_oneof![Just(RateUnits::Amps), Just(RateUnits::Watts)];
        let flags = (any::<bool>(), any::<bool>(), any::<bool>());
        (units, 1..4usize, 1..=3u8, flags, 0..3u32).prop_map(
            |(units, periods_max, phases, (tenths, relative, own), levels)| ChargePoint {
                units,
                periods_max,
                supply: Supply::new(volts(230.0), phases).unwrap(),
                current_step: amps(if tenths { 0.1 } else { 1.0 }),
                is_relative_only: relative,
                takes_transaction_profile: own || levels == 0,
                stack_level_max: levels,
                ..point()
            },
        )
    }

    proptest! {
        /// Limits that follow from the profiles are never above the plan, equal it rounded down when
        /// nothing had to be joined, and are the safe limit from the expiry on.
        #[test]
        fn profiles_follow_the_plan_and_expire(
            limits in prop::collection::vec((1..200i64, 0.0..40.0f64), 1..9), point in points(),
            transaction in -500..0i64,
        ) {
            let mut at = -200;
            let mut plan = Vec::new();
            for (length, current) in limits {
                plan.push(step(at, current));
                at += length;
            }
            let terms = terms(Some(transaction));
            let writing = write_profiles(&plan, &point, &terms, second(0)).unwrap();
            let limit = writing.limit.unwrap();
            prop_assert!(limit.schedule.periods().len() <= point.periods_max);
            prop_assert!(limit.stack_level <= point.stack_level_max);
            let is_joined = limit.schedule.periods().len() == point.periods_max;
            let profiles = [writing.default, limit];
            let supply = point.supply;
            let transaction_start = terms.transaction_start;
            let installed = Installed { profiles: &profiles, transaction_start, supply };
            for at in 0..400 {
                let at = second(at);
                let found = installed.limit_at(at).unwrap().as_amps();
                let planned = plan.iter().rfind(|step| step.start <= at).unwrap().limit;
                let planned = point.current_within(planned).as_amps();
                if at >= writing.expires {
                    prop_assert!((found - 6.0).abs() < 0.01, "{at}: {found} A instead of the default");
                } else {
                    prop_assert!(found <= planned + 1e-6, "{at}: {found} A above {planned} A");
                    // A limit in whole watts lacks up to one watt.
                    let equal = (found - planned).abs() < 0.01;
                    prop_assert!(equal || is_joined, "{at}: {found} A instead of {planned} A");
                }
            }
        }
    }
}
