//! Charging that a plan still wants of a device before its vehicle leaves.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::Interval;
use slackwater_engine::current_share::needed_current;
use slackwater_engine::units::Current;

use crate::policy::switch::sum_time_on;

/// Steps of currents that are needed.
const STEP_AMPS: f64 = 1.0;

/// Charging that a plan still wants of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChargingNeed {
    /// Time of charging at the highest power.
    pub charging: TimeDelta,
    /// Deadline, at which the vehicle may leave.
    pub leaves: DateTime<Utc>,
}

impl ChargingNeed {
    /// Need that is left of the intervals of a plan; `None` if nothing is left before the deadline, as
    /// where somebody charges without regard to the plan.
    ///
    /// ```
    /// use chrono::{DateTime, TimeDelta, Utc};
    /// use slackwater_control::policy::need::ChargingNeed;
    /// use slackwater_engine::Interval;
    /// use slackwater_engine::units::{amps, kw};
    ///
    /// let at = |hour: u32| format!("2026-01-05T{hour:02}:00:00Z").parse::<DateTime<Utc>>().unwrap();
    /// let on = |start, end| Interval { start: at(start), end: at(end), power: kw(11.0) };
    /// let plan = [on(1, 3), on(5, 9)];
    /// let need = ChargingNeed::of_plan(&plan, at(7), at(2)).unwrap();
    /// assert_eq!(need.charging, TimeDelta::hours(3));
    /// // Three hours of 16 A within five hours.
    /// assert_eq!(need.current(amps(16.0), None, at(2)), Some(amps(10.0)));
    /// assert_eq!(need.current(amps(16.0), Some(amps(9.0)), at(2)), Some(amps(9.0)));
    /// assert_eq!(ChargingNeed::of_plan(&plan, at(5), at(4)), None);
    /// ```
    #[must_use]
    pub fn of_plan(
        intervals: &[Interval],
        leaves: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let charging = sum_time_on(intervals, now, leaves);
        (charging > TimeDelta::zero()).then_some(Self { charging, leaves })
    }

    /// Average current until the vehicle leaves, of a charger with a highest current; `None` if it should
    /// have left.
    ///
    /// It is in whole amperes, and that of before, `held`, as long as it is within an ampere of it: limits
    /// that follow from it do not flicker.
    #[must_use]
    pub fn current(
        self,
        highest: Current,
        held: Option<Current>,
        now: DateTime<Utc>,
    ) -> Option<Current> {
        let current = needed_current(highest, self.charging, self.leaves, now)?.as_amps();
        let is_close = |held: &Current| (held.as_amps() - current).abs() < STEP_AMPS;
        held.filter(is_close).or_else(|| Current::from_amps(current.ceil()).ok())
    }
}
