//! Profiles of a second central system on the same charge point: the lower limit wins.
//!
//! With `L(t)` the composite limit of the second system's profiles, and `plan` and `safe` ours:
//!
//! ```text
//! limit(now) = min(plan, L(now))        default = min(safe, min over [now, now + ahead) of L(t))
//! ```
//!
//! The default holds when this system has failed and can no longer follow `L`. It is thus below
//! everything that the second system will ask for within `ahead`.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::units::{Current, Power};

use crate::charging_profile::composite::Installed;
use crate::charging_profile::profile::{Profile, Purpose, Schedule, SchedulePeriod};
use crate::charging_profile::supply::{Limit, Supply};

/// Profile at a connector; connector 0 is the whole charge point.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// Connector that it was written to.
    pub connector: u32,
    /// The profile.
    pub profile: Profile,
}

/// Profiles that a second central system has written.
#[derive(Debug, Clone, Copy)]
pub struct SecondSystem<'a> {
    /// Profiles, the oldest first.
    pub profiles: &'a [Placed],
    /// Number of connectors, among which a limit of the whole charge point is divided evenly.
    pub connectors: u32,
    /// Supply, for limits in watts.
    pub supply: Supply,
}

/// Limits of the second system on one connector, in amperes on each phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cap {
    /// Limit now; `None` if it does not limit now.
    pub now: Option<Current>,
    /// Lowest limit from now to the end of the time that was looked at.
    pub lowest: Current,
}

impl SecondSystem<'_> {
    /// Limits on a connector, now and within `ahead`; `None` if there are none.
    ///
    /// A profile at connector 0 holds for each connector, but for one of the purpose `StationMax`
    /// or `ExternalConstraints`: that one limits the sum, so that each connector gets an even part.
    ///
    /// # Example
    ///
    /// 32 A for a whole charge point with two connectors are 16 A for each.
    ///
    /// ```
    /// use chrono::{DateTime, TimeDelta, Utc};
    /// use slackwater_control::charging_profile::profile::{Kind, Profile, Purpose, Schedule};
    /// use slackwater_control::charging_profile::second_system::{Placed, SecondSystem};
    /// use slackwater_control::charging_profile::supply::{Limit, Supply};
    /// use slackwater_engine::units::{amps, volts};
    ///
    /// let noon: DateTime<Utc> = "2026-01-05T12:00:00Z".parse().unwrap();
    /// let profile = Profile {
    ///     id: 1,
    ///     stack_level: 0,
    ///     purpose: Purpose::StationMax,
    ///     kind: Kind::Absolute { start: noon },
    ///     valid_from: None,
    ///     valid_to: None,
    ///     schedule: Schedule::constant(Limit::Current(amps(32.0)), None).unwrap(),
    /// };
    /// let profiles = [Placed { connector: 0, profile }];
    /// let supply = Supply::new(volts(230.0), 3).unwrap();
    /// let second = SecondSystem { profiles: &profiles, connectors: 2, supply };
    ///
    /// let cap = second.cap(1, None, noon, TimeDelta::hours(24)).expect("there is a limit");
    ///
    /// assert_eq!((cap.now, cap.lowest), (Some(amps(16.0)), amps(16.0)));
    /// ```
    #[must_use]
    pub fn cap(
        &self,
        connector: u32,
        transaction_start: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
        ahead: TimeDelta,
    ) -> Option<Cap> {
        let parts = [self.of_all(), self.of_connector(connector)];
        let installed = parts.each_ref().map(|profiles| Installed {
            profiles,
            transaction_start,
            supply: self.supply,
        });
        let until = now.checked_add_signed(ahead).unwrap_or(DateTime::<Utc>::MAX_UTC);
        let steps = installed.iter().flat_map(|one| one.composite(now, until));
        let lowest = steps.filter_map(|step| step.limit).reduce(Current::min)?;
        let now = installed.iter().filter_map(|one| one.limit_at(now)).reduce(Current::min);
        Some(Cap { now, lowest })
    }

    /// Limits of the whole charge point, as the even part of one connector.
    fn of_all(&self) -> Vec<Profile> {
        let parts = f64::from(self.connectors.max(1));
        let all = self.profiles.iter().filter(|placed| placed.connector == 0);
        let caps = all.filter(|placed| is_of_sum(placed.profile.purpose));
        caps.filter_map(|placed| divided(&placed.profile, parts)).collect()
    }

    /// Limits of one connector: those of each first, so that its own lead at the same level.
    fn of_connector(&self, connector: u32) -> Vec<Profile> {
        let of = |number| self.profiles.iter().filter(move |placed| placed.connector == number);
        let general = of(0).filter(|placed| !is_of_sum(placed.profile.purpose));
        let own = general.chain(of(connector));
        own.filter_map(|placed| divided(&placed.profile, 1.0)).collect()
    }
}

const fn is_of_sum(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::StationMax | Purpose::ExternalConstraints)
}

/// The part of a profile that each of `parts` connectors may take, on all phases: limits are written
/// without a number of phases, and a power that is meant for one phase is less current on three.
fn divided(profile: &Profile, parts: f64) -> Option<Profile> {
    let part = |limit| match limit {
        Limit::Current(current) => {
            Current::from_amps(current.as_amps() / parts).map(Limit::Current)
        }
        Limit::Power(power) => Power::from_kw(power.as_kw() / parts).map(Limit::Power),
    };
    let periods = profile.schedule.periods().iter();
    let periods = periods.map(|period| {
        Some(SchedulePeriod { limit: part(period.limit).ok()?, phases: None, ..*period })
    });
    let periods: Option<Vec<SchedulePeriod>> = periods.collect();
    let schedule = Schedule::new(periods?, profile.schedule.duration()).ok()?;
    Some(Profile { schedule, ..profile.clone() })
}

/// The lower of a limit and one of the second system. The limit keeps its unit if it is the lower.
#[must_use]
pub fn lower_of(limit: Limit, second: Option<Current>, supply: Supply) -> Limit {
    match second {
        Some(second) if second < supply.current_of(limit, None) => Limit::Current(second),
        _ => limit,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use slackwater_engine::units::{amps, kw, volts};

    use super::*;
    use crate::charging_profile::profile::Kind;

    const AHEAD: TimeDelta = TimeDelta::hours(24);

    fn minute(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    fn supply() -> Supply {
        Supply::new(volts(230.0), 3).unwrap()
    }

    /// Limits in amperes by minutes from noon on.
    fn placed(connector: u32, purpose: Purpose, limits: &[(i64, f64)]) -> Placed {
        let periods = limits.iter().map(|(minutes, limit)| SchedulePeriod {
            offset: TimeDelta::minutes(*minutes),
            limit: Limit::Current(amps(*limit)),
            phases: None,
        });
        Placed {
            connector,
            profile: Profile {
                id: 1,
                stack_level: 0,
                purpose,
                kind: Kind::Absolute { start: minute(0) },
                valid_from: None,
                valid_to: None,
                schedule: Schedule::new(periods.collect(), None).unwrap(),
            },
        }
    }

    fn cap(profiles: &[Placed], connector: u32, at: i64) -> Option<(Option<f64>, f64)> {
        let second = SecondSystem { profiles, connectors: 2, supply: supply() };
        let cap = second.cap(connector, None, minute(at), AHEAD)?;
        Some((cap.now.map(Current::as_amps), cap.lowest.as_amps()))
    }

    #[test]
    fn limits_now_and_the_lowest_to_come() {
        use Purpose::{StationMax, Transaction, TransactionDefault};
        let night = [(0, 16.0), (60, 8.0), (120, 20.0)];
        for (profiles, connector, at, expected) in [
            (vec![], 1, 0, None),
            (vec![placed(1, TransactionDefault, &night)], 1, 0, Some((Some(16.0), 8.0))),
            (vec![placed(1, TransactionDefault, &night)], 1, 130, Some((Some(20.0), 20.0))),
            (vec![placed(1, TransactionDefault, &night)], 2, 0, None),
            (vec![placed(0, TransactionDefault, &night)], 2, 0, Some((Some(16.0), 8.0))),
            // Before its start it does not limit, and will.
            (vec![placed(1, TransactionDefault, &night)], 1, -60, Some((None, 8.0))),
            (vec![placed(0, StationMax, &[(0, 20.0)])], 1, 0, Some((Some(10.0), 10.0))),
            (vec![placed(1, StationMax, &[(0, 20.0)])], 1, 0, Some((Some(20.0), 20.0))),
            (
                vec![placed(0, StationMax, &[(0, 20.0)]), placed(1, StationMax, &[(0, 6.0)])],
                1,
                0,
                Some((Some(6.0), 6.0)),
            ),
            // Its own leads over that of all connectors.
            (
                vec![
                    placed(1, TransactionDefault, &[(0, 12.0)]),
                    placed(0, TransactionDefault, &[(0, 6.0)]),
                ],
                1,
                0,
                Some((Some(12.0), 12.0)),
            ),
            // Without a transaction, one of a transaction says nothing.
            (vec![placed(1, Transaction, &night)], 1, 0, None),
        ] {
            assert_eq!(cap(&profiles, connector, at), expected, "{profiles:?}");
        }
    }

    #[test]
    fn a_power_for_one_phase_is_that_of_all_phases() {
        let mut one = placed(1, Purpose::TransactionDefault, &[(0, 0.0)]);
        let (offset, limit, phases) = (TimeDelta::zero(), Limit::Power(kw(6.9)), Some(1));
        let period = SchedulePeriod { offset, limit, phases };
        one.profile.schedule = Schedule::new(vec![period], None).unwrap();
        let (now, lowest) = cap(&[one], 1, 0).unwrap();
        assert!((now.unwrap() - 10.0).abs() < 1e-9 && (lowest - 10.0).abs() < 1e-9, "{now:?}");
    }

    #[test]
    fn the_lower_limit_wins_in_its_own_unit() {
        let ten = Limit::Current(amps(10.0));
        assert_eq!(lower_of(ten, None, supply()), ten);
        assert_eq!(lower_of(ten, Some(amps(12.0)), supply()), ten);
        assert_eq!(lower_of(ten, Some(amps(6.0)), supply()), Limit::Current(amps(6.0)));
        let power = Limit::Power(kw(6.9));
        assert_eq!(lower_of(power, Some(amps(12.0)), supply()), power);
        assert_eq!(lower_of(power, Some(amps(9.0)), supply()), Limit::Current(amps(9.0)));
    }

    proptest! {
        /// No limit to come is below the lowest, and the limit of now is not either.
        #[test]
        fn the_lowest_is_below_all(
            limits in prop::collection::vec((1..300i64, 0..40u32), 1..6),
            connector in 0..2u32, is_of_sum in any::<bool>(), at in 0..1000i64, later in 0..1440i64,
        ) {
            let mut start = 0;
            let limits: Vec<(i64, f64)> = limits.iter().map(|(length, limit)| {
                let period = (start, f64::from(*limit));
                start += length;
                period
            }).collect();
            let purpose =
                if is_of_sum { Purpose::StationMax } else { Purpose::TransactionDefault };
            let profiles = [placed(connector, purpose, &limits)];
            let (now, lowest) = cap(&profiles, 1, at).unwrap();
            prop_assert!(now.unwrap() >= lowest);
            let (then, _) = cap(&profiles, 1, at + later.min(1439)).unwrap();
            prop_assert!(then.unwrap() >= lowest);
        }
    }
}
