//! Order in force out of limits that are known beforehand, each for an interval and with a priority.
//!
//! ```text
//! A(t)      intervals with start <= t < end
//! p(t)      least priority number among A(t); an interval without a priority comes last
//! limit(t)  least limit among the intervals of A(t) with the priority p(t); none if A(t) is empty
//! ```
//!
//! So a limit of a higher priority holds also where it is above one of a lower priority. Source:
//! `OpenADR` 3.1.0, `event.priority`, where lower numbers go first. Two limits of equal priority
//! are not decided there: the lower one holds, because it keeps both.
use std::cmp::Reverse;

use chrono::{DateTime, Utc};
use slackwater_engine::units::Power;

use crate::grid_order::limit::GridOrder;

/// Limit from one instant to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitInterval {
    /// A lower number comes before a higher one; `None` is the last.
    pub priority: Option<u32>,
    /// Start, inclusive.
    pub start: DateTime<Utc>,
    /// End, exclusive; `None` is without end.
    pub end: Option<DateTime<Utc>>,
    /// Highest power drawn from the grid.
    pub limit: Power,
}

/// Order at an instant, and the next change of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScheduledOrder {
    /// Order in force. Its end is the instant from which on there is no limit at all: where another
    /// limit follows, that limit replaces the order, and no moment without one lies between.
    pub order: Option<GridOrder>,
    /// Next instant at which the limit changes; `None` if never.
    pub next_change: Option<DateTime<Utc>>,
}

/// Order in force at an instant.
///
/// # Example
///
/// ```
/// use chrono::{DateTime, Utc};
/// use slackwater_control::grid_order::schedule::{LimitInterval, order_at};
/// use slackwater_engine::units::kw;
/// let at = |hour: u32| -> DateTime<Utc> { format!("2026-01-05T{hour}:00:00Z").parse().unwrap() };
/// let interval = |priority, start, end, limit| LimitInterval {
///     priority: Some(priority),
///     start: at(start),
///     end: Some(at(end)),
///     limit: kw(limit),
/// };
/// let found = order_at(&[interval(5, 16, 20, 10.0), interval(1, 18, 19, 4.2)], at(17));
/// let order = found.order.unwrap();
/// assert_eq!((order.limit, order.until), (kw(10.0), Some(at(20))));
/// assert_eq!(found.next_change, Some(at(18)));
/// ```
#[must_use]
pub fn order_at(intervals: &[LimitInterval], now: DateTime<Utc>) -> ScheduledOrder {
    let limit = limit_at(intervals, now);
    let ends = intervals.iter().filter_map(|interval| interval.end);
    let starts = intervals.iter().map(|interval| interval.start);
    let mut changes: Vec<_> = starts.chain(ends).filter(|change| *change > now).collect();
    changes.sort_unstable();
    changes.dedup();
    let next_change = changes.iter().copied().find(|change| limit_at(intervals, *change) != limit);
    let order = limit.map(|limit| {
        let until = changes.iter().copied().find(|change| limit_at(intervals, *change).is_none());
        GridOrder { limit, until }
    });
    ScheduledOrder { order, next_change }
}

/// Limit at an instant; `None` is unlimited.
fn limit_at(intervals: &[LimitInterval], at: DateTime<Utc>) -> Option<Power> {
    let holds =
        |interval: &&LimitInterval| interval.start <= at && interval.end.is_none_or(|end| at < end);
    let first = |one: &&LimitInterval, other: &&LimitInterval| {
        let rank = |interval: &LimitInterval| Reverse(interval.priority.map(Reverse));
        rank(one).cmp(&rank(other)).then(one.limit.total_cmp(&other.limit))
    };
    intervals.iter().filter(holds).min_by(first).map(|interval| interval.limit)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;
    use slackwater_engine::units::kw;

    use super::*;

    fn minute(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    fn interval(priority: Option<u32>, start: i64, end: Option<i64>, limit: f64) -> LimitInterval {
        LimitInterval { priority, start: minute(start), end: end.map(minute), limit: kw(limit) }
    }

    /// The one place where these cases touch the API: limit, end and next change at a minute.
    #[track_caller]
    fn check(
        intervals: &[LimitInterval],
        at: i64,
        wanted: Option<(f64, Option<i64>)>,
        next: Option<i64>,
    ) {
        let order =
            wanted.map(|(limit, until)| GridOrder { limit: kw(limit), until: until.map(minute) });
        let next_change = next.map(minute);
        assert_eq!(
            order_at(intervals, minute(at)),
            ScheduledOrder { order, next_change },
            "{at} min"
        );
    }

    #[test]
    fn an_order_holds_from_its_start_to_its_end() {
        let one = [interval(Some(1), 10, Some(20), 4.2)];
        check(&one, 9, None, Some(10));
        check(&one, 10, Some((4.2, Some(20))), Some(20));
        check(&one, 19, Some((4.2, Some(20))), Some(20));
        check(&one, 20, None, None);
        check(&[], 0, None, None);
        check(&[interval(None, 10, None, 0.0)], 99, Some((0.0, None)), None);
        check(&[interval(None, 10, Some(10), 1.0)], 10, None, None);
    }

    #[test]
    fn the_lowest_number_wins_and_no_number_is_last() {
        let overlapping = [
            interval(None, 0, Some(60), 2.0),
            interval(Some(7), 10, Some(50), 10.0),
            interval(Some(0), 20, Some(30), 50.0),
        ];
        check(&overlapping, 0, Some((2.0, Some(60))), Some(10));
        check(&overlapping, 10, Some((10.0, Some(60))), Some(20));
        check(&overlapping, 20, Some((50.0, Some(60))), Some(30));
        check(&overlapping, 30, Some((10.0, Some(60))), Some(50));
        check(&overlapping, 50, Some((2.0, Some(60))), Some(60));
        // Of equal priorities the lower limit holds, in any order.
        let equal = [interval(Some(3), 0, Some(40), 9.0), interval(Some(3), 10, Some(20), 8.0)];
        check(&equal, 15, Some((8.0, Some(40))), Some(20));
        check(&[equal[1], equal[0]], 15, Some((8.0, Some(40))), Some(20));
    }

    #[test]
    fn neighbours_with_one_limit_are_one_order() {
        let steps = [
            interval(Some(1), 0, Some(15), 5.0),
            interval(Some(1), 15, Some(30), 5.0),
            interval(Some(1), 30, Some(45), 3.0),
            interval(Some(1), 50, Some(60), 3.0),
        ];
        check(&steps, 0, Some((5.0, Some(45))), Some(30));
        check(&steps, 30, Some((3.0, Some(45))), Some(45));
        check(&steps, 45, None, Some(50));
    }

    #[test]
    fn a_clock_that_is_set_decides_by_the_new_time() {
        let one = [interval(Some(1), 10, Some(20), 4.2), interval(Some(1), 20, Some(30), 9.0)];
        for (at, limit) in [(12, Some(4.2)), (25, Some(9.0)), (11, Some(4.2)), (5, None)] {
            let found = order_at(&one, minute(at)).order.map(|order| order.limit.as_kw());
            assert_eq!(found, limit, "{at} min");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// Stepped minute by minute with a decision written in another way: the limit is that one, it
        /// changes first at the announced instant, and the first minute without one is the end.
        #[test]
        fn orders_are_those_of_a_stepped_decision(
            drawn in prop::collection::vec((prop::option::of(0..3u32), 0..40i64, prop::option::of(0..30i64), 0..4u8), 0..7),
            now in 0..60i64,
        ) {
            let intervals: Vec<_> = drawn
                .iter()
                .map(|&(priority, start, length, limit)| {
                    interval(priority, start, length.map(|length| start + length), f64::from(limit))
                })
                .collect();
            let stepped = |at: i64| {
                let mut best: Option<(u64, u8)> = None;
                for &(priority, start, length, limit) in &drawn {
                    if at >= start && length.is_none_or(|length| at < start + length) {
                        let one = (priority.map_or(u64::MAX, u64::from), limit);
                        if best.is_none_or(|best| one < best) {
                            best = Some(one);
                        }
                    }
                }
                best.map(|(_, limit)| f64::from(limit))
            };
            let found = order_at(&intervals, minute(now));
            let changed = (now..100).find(|at| stepped(*at) != stepped(now));
            let ended = (now..100).find(|at| stepped(*at).is_none());
            prop_assert_eq!(found.order.map(|order| order.limit.as_kw()), stepped(now));
            prop_assert_eq!(found.next_change, changed.map(minute));
            prop_assert_eq!(found.order.and_then(|order| order.until), ended.filter(|_| stepped(now).is_some()).map(minute));
        }
    }
}
