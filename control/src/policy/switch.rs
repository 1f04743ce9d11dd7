//! A plan as a switch: on during its intervals, off between them.
use chrono::{DateTime, TimeDelta, Utc};

use crate::device::command::Switch;
use slackwater_engine::Interval;

/// Position of the switch that a plan orders at an instant, and the time of its next change;
/// `None` if there is none.
///
/// Intervals are half-open: an interval contains its start and not its end.
///
/// # Example
///
/// ```
/// use slackwater_control::device::command::Switch;
/// use slackwater_engine::plan::Interval;
/// use slackwater_control::policy::switch::switch_at;
/// use slackwater_engine::units::kw;
/// let at = |hour: u32| format!("2026-01-05T{hour:02}:00:00Z").parse().unwrap();
/// let night = [Interval { start: at(2), end: at(4), power: kw(11.0) }];
/// assert_eq!(switch_at(&night, at(1)), (Switch::Stop, Some(at(2))));
/// assert_eq!(switch_at(&night, at(2)), (Switch::Start, Some(at(4))));
/// assert_eq!(switch_at(&night, at(4)), (Switch::Stop, None));
/// ```
#[must_use]
pub fn switch_at(intervals: &[Interval], at: DateTime<Utc>) -> (Switch, Option<DateTime<Utc>>) {
    let first = intervals.partition_point(|interval| interval.end <= at);
    let Some(interval) = intervals.get(first) else { return (Switch::Stop, None) };
    if at < interval.start {
        return (Switch::Stop, Some(interval.start));
    }
    // Neighbours of different power are one time of being on.
    let ahead = intervals[first..].windows(2).take_while(|pair| pair[0].end == pair[1].start);
    let last = ahead.last().map_or(interval, |pair| &pair[1]);
    (Switch::Start, Some(last.end))
}

/// Next times at which a plan switches on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NextSwitches {
    /// Start of the next interval that has not begun; `None` if there is none.
    pub on: Option<DateTime<Utc>>,
    /// End of the time of being on that lasts, or else of the next one; `None` if there is neither.
    pub off: Option<DateTime<Utc>>,
}

/// Times after an instant at which a plan switches on and off next.
#[must_use]
pub fn find_next_switches(intervals: &[Interval], at: DateTime<Utc>) -> NextSwitches {
    let following = |change: Option<DateTime<Utc>>| switch_at(intervals, change?).1;
    match switch_at(intervals, at) {
        (Switch::Start, off) => NextSwitches { on: following(off), off },
        (Switch::Stop, on) => NextSwitches { on, off: following(on) },
    }
}

/// Time for which intervals are on between two instants.
#[must_use]
pub fn sum_time_on(intervals: &[Interval], from: DateTime<Utc>, to: DateTime<Utc>) -> TimeDelta {
    let within = intervals.iter().map(|one| one.end.min(to) - one.start.max(from));
    within.map(|length| length.max(TimeDelta::zero())).sum()
}

/// Instant since which intervals have been on without a pause; `None` if they are off.
#[must_use]
pub fn on_since(intervals: &[Interval], at: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let first = intervals.partition_point(|interval| interval.end <= at);
    let holding = intervals.get(first).filter(|interval| interval.start <= at)?;
    let behind = intervals[..=first].windows(2).rev().take_while(|p| p[0].end == p[1].start);
    Some(behind.last().map_or(holding, |pair| &pair[0]).start)
}

#[cfg(test)]
mod tests {
    use crate::policy::flex::tests::curve_of;
    use proptest::prelude::*;

    use super::*;
    use slackwater_engine::plan::charge::plan_charge;
    use slackwater_engine::plan::charge::{ChargeProblem, ChargeRequest, Target};
    use slackwater_engine::plan::record::PlanSummary;
    use slackwater_engine::units::{kw, kwh};

    fn at(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    #[test]
    fn neighbours_of_different_power_are_not_switched_between() {
        let interval =
            |from, to, power| Interval { start: at(from), end: at(to), power: kw(power) };
        let two = [interval(0, 60, 7.0), interval(60, 90, 11.0), interval(120, 130, 7.0)];
        assert_eq!(switch_at(&two, at(10)), (Switch::Start, Some(at(90))));
        assert_eq!(switch_at(&two, at(60)), (Switch::Start, Some(at(90))));
        assert_eq!(switch_at(&two, at(90)), (Switch::Stop, Some(at(120))));
        assert_eq!(switch_at(&[], at(0)), (Switch::Stop, None));
        let next = |minute| {
            let NextSwitches { on, off } = find_next_switches(&two, at(minute));
            [on, off].map(|change| change.map(|change| (change - at(0)).num_minutes()))
        };
        assert_eq!(next(-1), [Some(0), Some(90)]);
        assert_eq!(next(60), [Some(120), Some(90)]);
        assert_eq!(next(90), [Some(120), Some(130)]);
        assert_eq!(next(120), [None, Some(130)]);
        assert_eq!(next(130), [None, None]);
        let since = [-1, 0, 60, 90, 120, 130].map(|minute| on_since(&two, at(minute)));
        assert_eq!(since, [None, Some(at(0)), Some(at(0)), None, Some(at(120)), None]);
    }

    proptest! {
        /// Following the switch charges exactly where the plan does.
        #[test]
        fn following_the_switch_is_following_the_plan(
            cents in prop::collection::vec(-20..60i32, 1..30), energy in 0.0..60.0f64, minute in 0..2000i64,
        ) {
            let wish = ChargeRequest::new(at(7), kw(9.0), Target { by: None, energy: kwh(energy) });
            let plan = plan_charge(&curve_of(60, &cents), &ChargeProblem::new(wish).unwrap());
            let summary = PlanSummary::from(&plan);
            let now = at(minute);
            let is_in = |t: DateTime<Utc>| summary.intervals.iter().any(|i| i.start <= t && t < i.end);
            let (switch, until) = switch_at(&summary.intervals, now);
            prop_assert_eq!(switch == Switch::Start, is_in(now));
            prop_assert_eq!(on_since(&summary.intervals, now).is_some(), is_in(now));
            if let Some(until) = until {
                prop_assert!(until > now);
                prop_assert_eq!(is_in(until - TimeDelta::microseconds(1)), is_in(now));
                prop_assert_ne!(is_in(until), is_in(now));
            }
            let text = serde_json::to_string(&summary).unwrap();
            prop_assert_eq!(serde_json::from_str::<PlanSummary>(&text).unwrap(), summary);
        }
    }
}
