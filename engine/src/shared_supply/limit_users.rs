//! Loads that use a shared limit while another one gets none of it.
use chrono::{DateTime, TimeDelta, Utc};

use crate::plan::interval::Interval;
use crate::shared_supply::incremental::OtherLoad;
use crate::shared_supply::limit::SharedLimit;
use crate::shared_supply::load_profile::LoadProfile;
use crate::units::{Energy, Power};

/// Seconds of an hour.
const SECONDS_PER_HOUR: f64 = 3600.0;

/// Part of a load in the use of a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LimitUser {
    /// Position of the load.
    pub position: usize,
    /// Mean power over all periods together.
    pub power: Power,
}

/// Loads that draw energy in some periods, those of most energy first and of equal ones the first;
/// no more than `count_max`. Intervals of negative power, which give energy, do not count.
///
/// The periods do not overlap. Without a period there is no user.
///
/// # Example
///
/// Two loads in the hour from seven to eight, of which one draws in half of it.
///
/// ```
/// use slackwater_engine::plan::Interval;
/// use slackwater_engine::shared_supply::find_limit_users;
/// use slackwater_engine::units::kw;
///
/// let [six, seven, half, eight] = ["18:00", "19:00", "19:30", "20:00"]
///     .map(|time| format!("2026-01-05T{time}:00Z").parse().unwrap());
/// let short = Interval { start: six, end: half, power: kw(11.0) };
/// let long = Interval { start: seven, end: eight, power: kw(7.0) };
/// let users = find_limit_users([vec![short], vec![long]], &[(seven, eight)], 3);
/// let users: Vec<_> = users.iter().map(|user| (user.position, user.power)).collect();
/// assert_eq!(users, [(1, kw(7.0)), (0, kw(5.5))]);
/// ```
pub fn find_limit_users(
    loads: impl IntoIterator<Item = impl IntoIterator<Item = Interval>>,
    periods: &[(DateTime<Utc>, DateTime<Utc>)],
    count_max: usize,
) -> Vec<LimitUser> {
    let length: TimeDelta = periods.iter().map(|(start, end)| *end - *start).sum();
    let user = |(position, intervals)| {
        let hours = length.as_seconds_f64() / SECONDS_PER_HOUR;
        let power = Power::from_kw(energy_in(intervals, periods).as_kwh() / hours).ok()?;
        (power > Power::ZERO).then_some(LimitUser { position, power })
    };
    let mut users: Vec<LimitUser> = loads.into_iter().enumerate().filter_map(user).collect();
    // Stable: of equal powers the first stays first.
    users.sort_by(|one, other| other.power.as_kw().total_cmp(&one.power.as_kw()));
    users.truncate(count_max);
    users
}

/// Loads that leave a request less than `power` of a limit in parts of the time from `from` to `to`,
/// with their mean powers in these parts. Empty if the limit alone is below `power`, or leaves it
/// throughout.
#[must_use]
pub fn find_crowding_loads(
    loads: &[OtherLoad],
    (limit, power): (&SharedLimit, Power),
    (from, to): (DateTime<Utc>, DateTime<Utc>),
    count_max: usize,
) -> Vec<LimitUser> {
    if limit.excludes(power) || to <= from {
        return Vec::new();
    }
    let mut profile = LoadProfile::default();
    for load in loads {
        profile.add(&load.intervals, load.power);
    }
    let crowded = profile.crowded((limit, power), (from, to));
    let periods: Vec<_> = crowded.iter().map(|period| (period.start, period.end)).collect();
    let at_power = |load: &OtherLoad| {
        let power = load.power;
        load.intervals.clone().into_iter().map(move |one| Interval { power, ..one })
    };
    find_limit_users(loads.iter().map(at_power), &periods, count_max)
}

/// Energy that a load draws in the periods.
fn energy_in(
    intervals: impl IntoIterator<Item = Interval>,
    periods: &[(DateTime<Utc>, DateTime<Utc>)],
) -> Energy {
    let mut energy = Energy::ZERO;
    for interval in intervals.into_iter().filter(|interval| interval.power > Power::ZERO) {
        for (start, end) in periods {
            let length = interval.end.min(*end) - interval.start.max(*start);
            energy = energy + interval.power.over(length.max(TimeDelta::zero()));
        }
    }
    energy
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::kw;

    fn at(minutes: i64) -> DateTime<Utc> {
        let six: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        six + TimeDelta::minutes(minutes)
    }

    fn load(from: i64, to: i64, power_kw: f64) -> OtherLoad {
        let power = kw(power_kw);
        OtherLoad { intervals: vec![Interval { start: at(from), end: at(to), power }], power }
    }

    /// Positions and powers in kW of loads that crowd out 11 kW from six to eight.
    fn crowding(loads: &[OtherLoad], limit: &SharedLimit) -> Vec<(usize, f64)> {
        let users = find_crowding_loads(loads, (limit, kw(11.0)), (at(0), at(120)), 3);
        users.iter().map(|user| (user.position, user.power.as_kw())).collect()
    }

    #[test]
    fn who_takes_the_room_is_named_by_what_it_takes_there() {
        let limit = SharedLimit::from(kw(20.0));
        // Only the first hour is crowded; what a load takes later does not count.
        let loads = [load(0, 60, 6.0), load(0, 60, 7.0), load(60, 120, 9.0)];
        assert_eq!(crowding(&loads, &limit), [(1, 7.0), (0, 6.0)]);
        assert_eq!(crowding(&loads[2..], &limit), [], "there is room");
        assert_eq!(crowding(&loads, &SharedLimit::from(kw(10.0))), [], "the limit alone");
        assert_eq!(crowding(&loads, &SharedLimit::default()), [], "no limit");
    }

    #[test]
    fn three_are_named_and_of_equal_ones_the_first() {
        let loads: Vec<OtherLoad> = [4.0, 3.0, 5.0, 4.0].map(|power| load(0, 60, power)).into();
        let named = crowding(&loads, &SharedLimit::from(kw(20.0)));
        assert_eq!(named, [(2, 5.0), (0, 4.0), (3, 4.0)]);
    }

    #[test]
    fn no_period_and_no_time_have_no_user() {
        let loads = || [load(0, 60, 6.0).intervals];
        assert_eq!(find_limit_users(loads(), &[], 3), []);
        assert_eq!(find_limit_users(loads(), &[(at(0), at(0))], 3), []);
        assert_eq!(find_limit_users([load(0, 60, -6.0).intervals], &[(at(0), at(60))], 3), []);
        let limit = SharedLimit::from(kw(12.0));
        let none = find_crowding_loads(&[load(0, 60, 6.0)], (&limit, kw(11.0)), (at(9), at(9)), 3);
        assert_eq!(none, []);
    }

    proptest! {
        /// The powers of all users make the mean power of all loads.
        #[test]
        fn powers_add_up_to_the_load(
            loads in prop::collection::vec((0_i64..100, 1_i64..60, 0.1_f64..20.0), 1..8),
            from in 0_i64..60, length in 1_i64..60,
        ) {
            let loads: Vec<OtherLoad> =
                loads.iter().map(|(from, length, power)| load(*from, from + length, *power)).collect();
            let period = (at(from), at(from + length));
            let users =
                find_limit_users(loads.iter().map(|load| load.intervals.clone()), &[period], 9);
            let total: f64 = users.iter().map(|user| user.power.as_kw()).sum();
            let all = loads.iter().map(|load| (&load.intervals[..], load.power));
            let planned = crate::shared_supply::planned_load(all, period, None);
            let mean = planned.energy.as_kwh() / (length as f64 / 60.0);
            prop_assert!((total - mean).abs() < 1e-9, "{total} and {mean} kW");
            prop_assert!(users.is_sorted_by(|one, next| one.power >= next.power));
        }
    }
}
