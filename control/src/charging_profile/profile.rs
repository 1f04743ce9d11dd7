//! Charging profile: purpose, stack level, kind, validity and schedule of limits.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use slackwater_engine::words;

use crate::charging_profile::supply::Limit;

words! {
    /// Purpose of a profile, which decides how it combines with others.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Purpose {
        /// Caps the whole charge point, or one connector (`ChargePointMaxProfile` of OCPP 1.6,
        /// `ChargingStationMaxProfile` of 2.0.1).
        StationMax = "station_max",
        /// Caps it from outside, by a grid operator (`ChargingStationExternalConstraints`).
        ExternalConstraints = "external_constraints",
        /// Holds for every transaction without a profile of its own (`TxDefaultProfile`).
        TransactionDefault = "transaction_default",
        /// Holds for the running transaction, in place of the default (`TxProfile`).
        Transaction = "transaction",
    }
}

words! {
    /// Length after which a recurring schedule starts anew, in UTC.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Recurrency {
        /// Every 24 hours.
        Daily = "daily",
        /// Every 7 days.
        Weekly = "weekly",
    }
}

impl Recurrency {
    /// Length of a cycle.
    #[must_use]
    pub const fn length(self) -> TimeDelta {
        match self {
            Self::Daily => TimeDelta::days(1),
            Self::Weekly => TimeDelta::days(7),
        }
    }
}

/// Origin of the offsets of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An instant.
    Absolute {
        /// Start of the schedule.
        start: DateTime<Utc>,
    },
    /// An instant, and each cycle after it.
    Recurring {
        /// Start of the first cycle.
        start: DateTime<Utc>,
        /// Length of a cycle. A longer schedule is cut.
        every: Recurrency,
    },
    /// The start of the transaction.
    Relative,
}

/// Part of a schedule with one limit, up to the next part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SchedulePeriod {
    /// Time since the start of the schedule.
    pub offset: TimeDelta,
    /// Upper limit.
    pub limit: Limit,
    /// Phases that may be used; `None` is those of the supply.
    pub phases: Option<u8>,
}

/// Error of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// There is no period.
    #[error("a schedule needs at least one period")]
    Empty,
    /// The first period does not start at zero.
    #[error("the first period starts at {seconds} s, not at 0 s")]
    LateStart {
        /// Its offset in seconds.
        seconds: i64,
    },
    /// A period is not later than the one before it.
    #[error("period {index} does not start after the period before it")]
    NotChronological {
        /// Position of the period.
        index: usize,
    },
    /// A limit is below zero.
    #[error("the limit of period {index} is below zero")]
    Negative {
        /// Position of the period.
        index: usize,
    },
    /// A number of phases that does not exist.
    #[error("period {index} uses {phases} phases: 1, 2 or 3 are possible")]
    Phases {
        /// Position of the period.
        index: usize,
        /// The number as given.
        phases: u8,
    },
    /// The schedule has no length.
    #[error("a duration of {seconds} s is not above zero")]
    NoDuration {
        /// Its length in seconds.
        seconds: i64,
    },
}

/// Limits over time since the start of a schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    periods: Vec<SchedulePeriod>,
    duration: Option<TimeDelta>,
}

impl Schedule {
    /// Schedule of periods; without a duration its last period does not end.
    ///
    /// # Errors
    /// The periods do not start at zero, are not in order of time, or have a negative limit; the
    /// duration is not above zero.
    pub fn new(
        periods: Vec<SchedulePeriod>,
        duration: Option<TimeDelta>,
    ) -> Result<Self, ScheduleError> {
        let first = periods.first().ok_or(ScheduleError::Empty)?;
        if first.offset != TimeDelta::zero() {
            return Err(ScheduleError::LateStart { seconds: first.offset.num_seconds() });
        }
        for (index, period) in periods.iter().enumerate() {
            if index > 0 && period.offset <= periods[index - 1].offset {
                return Err(ScheduleError::NotChronological { index });
            }
            if period.limit.is_negative() {
                return Err(ScheduleError::Negative { index });
            }
            if let Some(phases) = period.phases.filter(|phases| !(1..=3).contains(phases)) {
                return Err(ScheduleError::Phases { index, phases });
            }
        }
        if let Some(length) = duration.filter(|length| *length <= TimeDelta::zero()) {
            return Err(ScheduleError::NoDuration { seconds: length.num_seconds() });
        }
        Ok(Self { periods, duration })
    }

    /// Schedule of one limit.
    ///
    /// # Errors
    /// The limit is negative, or the duration not above zero.
    pub fn constant(limit: Limit, duration: Option<TimeDelta>) -> Result<Self, ScheduleError> {
        let period = SchedulePeriod { offset: TimeDelta::zero(), limit, phases: None };
        Self::new(vec![period], duration)
    }

    /// Periods in order of time, the first at zero.
    #[must_use]
    pub fn periods(&self) -> &[SchedulePeriod] {
        &self.periods
    }

    /// Length of the schedule; `None` is without end.
    #[must_use]
    pub const fn duration(&self) -> Option<TimeDelta> {
        self.duration
    }

    /// Period at an offset from the start; `None` before the start and after the end.
    #[must_use]
    pub fn period_at(&self, offset: TimeDelta) -> Option<&SchedulePeriod> {
        let has_ended = self.duration.is_some_and(|length| offset >= length);
        let after = self.periods.partition_point(|period| period.offset <= offset);
        self.periods[..after].last().filter(|_| !has_ended)
    }
}

/// Limits over time with a rank among other profiles.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Identifier; a charge point replaces a profile by another of the same identifier.
    pub id: i32,
    /// Rank within the purpose: of the valid profiles the highest leads.
    pub stack_level: u32,
    /// Purpose.
    pub purpose: Purpose,
    /// Origin of the offsets of the schedule.
    pub kind: Kind,
    /// Start of validity; `None` is always.
    pub valid_from: Option<DateTime<Utc>>,
    /// End of validity, exclusive; `None` is never.
    pub valid_to: Option<DateTime<Utc>>,
    /// Limits.
    pub schedule: Schedule,
}

impl Profile {
    /// Returns true at instants from the start of validity up to its end.
    #[must_use]
    pub fn is_valid_at(&self, at: DateTime<Utc>) -> bool {
        self.valid_from.is_none_or(|from| from <= at) && self.valid_to.is_none_or(|to| at < to)
    }

    /// Start of the run of the schedule that an instant belongs to; `None` before the first one.
    ///
    /// Without a transaction a relative schedule is at its start: the limit of a transaction that
    /// would begin now.
    #[must_use]
    pub fn run_start(
        &self,
        at: DateTime<Utc>,
        transaction_start: Option<DateTime<Utc>>,
    ) -> Option<DateTime<Utc>> {
        let (first, cycle) = match self.kind {
            Kind::Absolute { start } => (start, None),
            Kind::Recurring { start, every } => (start, Some(every.length())),
            Kind::Relative => (transaction_start.unwrap_or(at), None),
        };
        let since = (at - first).num_microseconds().filter(|since| *since >= 0)?;
        let Some(cycle) = cycle.and_then(|cycle| cycle.num_microseconds()) else {
            return Some(first);
        };
        Some(at - TimeDelta::microseconds(since % cycle))
    }

    /// Period of the schedule at an instant; `None` if the profile says nothing about it.
    #[must_use]
    pub fn period_at(
        &self,
        at: DateTime<Utc>,
        transaction_start: Option<DateTime<Utc>>,
    ) -> Option<&SchedulePeriod> {
        let start = self.run_start(at, transaction_start).filter(|_| self.is_valid_at(at))?;
        self.schedule.period_at(at - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_engine::units::amps;

    fn period(seconds: i64, limit: f64) -> SchedulePeriod {
        let limit = Limit::Current(amps(limit));
        SchedulePeriod { offset: TimeDelta::seconds(seconds), limit, phases: None }
    }

    #[test]
    fn faults_of_a_schedule_are_named() {
        let ten = Some(TimeDelta::seconds(10));
        let check = |periods, duration, expected: &str| {
            assert_eq!(Schedule::new(periods, duration).unwrap_err().to_string(), expected);
        };
        check(vec![], ten, "a schedule needs at least one period");
        check(vec![period(5, 6.0)], ten, "the first period starts at 5 s, not at 0 s");
        let twice = vec![period(0, 6.0), period(0, 7.0)];
        check(twice, ten, "period 1 does not start after the period before it");
        check(vec![period(0, -1.0)], ten, "the limit of period 0 is below zero");
        check(vec![period(0, 6.0)], Some(TimeDelta::zero()), "a duration of 0 s is not above zero");
        let phases = SchedulePeriod { phases: Some(4), ..period(0, 6.0) };
        check(vec![phases], ten, "period 0 uses 4 phases: 1, 2 or 3 are possible");
    }

    #[test]
    fn a_schedule_ends_before_its_duration() {
        let schedule = Schedule::new(vec![period(0, 6.0), period(60, 10.0)], None).unwrap();
        let at = |seconds| schedule.period_at(TimeDelta::seconds(seconds)).map(|p| p.limit);
        let expected = [None, Some(6.0), Some(6.0), Some(10.0), Some(10.0)]
            .map(|limit| limit.map(|limit| Limit::Current(amps(limit))));
        assert_eq!([-1, 0, 59, 60, 9999].map(at), expected);
        let short = Schedule::constant(Limit::Current(amps(6.0)), Some(TimeDelta::seconds(60)));
        let short = short.unwrap();
        assert!(short.period_at(TimeDelta::seconds(59)).is_some());
        assert!(short.period_at(TimeDelta::seconds(60)).is_none());
    }
}
