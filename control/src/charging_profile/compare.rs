//! Comparison of the limits that a charge point reports with those that are expected of it.
//!
//! A charge point may accept a profile and ignore it (goecharger/go-eCharger-API-v2#105,
//! evcc-io/evcc#31597), or keep an older one of higher level (lbbrhzn/ocpp#2148). Its own composite
//! schedule, asked for after each write, shows the second kind; its meter shows the first.
use chrono::{DateTime, TimeDelta, Utc};

use crate::charging_profile::composite::CompositeStep;
use crate::charging_profile::supply::Supply;
use slackwater_engine::units::{Current, Power};

/// Deviations that count as none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Difference of two limits, for chargers that round.
    pub current: Current,
    /// Length of a difference, for chargers that round instants to seconds.
    pub time: TimeDelta,
    /// Highest current of the charge point: a higher limit, or none, is this one.
    pub current_max: Current,
}

/// First difference of two composite schedules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Start of the difference.
    pub at: DateTime<Utc>,
    /// Limit that was expected.
    pub expected: Current,
    /// Limit that the charge point reports.
    pub reported: Current,
}

/// Share and power by which a meter shows more than a limit allows: a voltage that is 10 % above the nominal
/// one and the error of a meter are less.
const EXCESS_SHARE: f64 = 0.2;
const EXCESS_KW: f64 = 0.5;

/// Multiple of the highest power of a charge point beyond which a measured one is no power of it, but has
/// a wrong unit.
const PLAUSIBLE_MAX: f64 = 3.0;

/// Returns true if a measured power is clearly more than a current allows on all phases of the supply: the
/// charge point does not keep to its limit.
///
/// A vehicle on fewer phases may exceed the current and not this power: it is not told from one that keeps
/// to its limit on all of them. More than three times what `current_max` allows is no power of the charge
/// point.
#[must_use]
pub fn shows_excess(
    measured: Power,
    allowed: Current,
    current_max: Current,
    supply: Supply,
) -> bool {
    let allowed_kw = supply.power_of(allowed).as_kw() * (1.0 + EXCESS_SHARE) + EXCESS_KW;
    let plausible_kw = supply.power_of(current_max).as_kw() * PLAUSIBLE_MAX;
    allowed_kw < measured.as_kw() && measured.as_kw() < plausible_kw
}

impl Agreement {
    /// First difference between expected and reported limits up to `until`; `None` if they agree.
    ///
    /// The comparison starts where both have begun. A difference that is shorter than the allowed
    /// time is none, so a change that comes a second late is accepted.
    #[must_use]
    pub fn first_difference(
        &self,
        expected: &[CompositeStep],
        reported: &[CompositeStep],
        until: DateTime<Utc>,
    ) -> Option<Difference> {
        let begin = expected.first()?.start.max(reported.first()?.start);
        let mut starts: Vec<DateTime<Utc>> =
            expected.iter().chain(reported).map(|step| step.start.max(begin)).collect();
        starts.retain(|start| *start < until);
        starts.sort_unstable();
        starts.dedup();
        let mut open: Option<Difference> = None;
        for at in starts {
            if let Some(found) = open.filter(|found| at - found.at > self.time) {
                return Some(found);
            }
            let now = self.difference_at(expected, reported, at);
            // A difference goes on although its limits change.
            open = now.map(|now| Difference { at: open.map_or(now.at, |open| open.at), ..now });
        }
        open.filter(|found| until - found.at > self.time)
    }

    fn difference_at(
        &self,
        expected: &[CompositeStep],
        reported: &[CompositeStep],
        at: DateTime<Utc>,
    ) -> Option<Difference> {
        let expected = self.limit_at(expected, at);
        let reported = self.limit_at(reported, at);
        let distance = (expected - reported).max(reported - expected);
        (distance > self.current).then_some(Difference { at, expected, reported })
    }

    fn limit_at(&self, steps: &[CompositeStep], at: DateTime<Utc>) -> Current {
        let after = steps.partition_point(|step| step.start <= at);
        let limit = steps[..after].last().and_then(|step| step.limit);
        limit.map_or(self.current_max, |limit| limit.min(self.current_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_engine::units::{amps, kw, volts};

    fn second(seconds: i64) -> DateTime<Utc> {
        "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(seconds)
    }

    /// The one place where these cases touch the API: steps as seconds and amperes. A tenth of an
    /// ampere and a second count as rounding, and the charger has 32 A.
    #[track_caller]
    fn check(
        expected: &[(i64, Option<f64>)],
        reported: &[(i64, Option<f64>)],
        difference: Option<(i64, f64, f64)>,
    ) {
        let steps = |steps: &[(i64, Option<f64>)]| -> Vec<CompositeStep> {
            let step = |&(at, limit): &(i64, Option<f64>)| CompositeStep {
                start: second(at),
                limit: limit.map(amps),
            };
            steps.iter().map(step).collect()
        };
        let agreement =
            Agreement { current: amps(0.1), time: TimeDelta::seconds(1), current_max: amps(32.0) };
        let found = agreement.first_difference(&steps(expected), &steps(reported), second(600));
        let wanted = difference.map(|(at, expected, reported)| Difference {
            at: second(at),
            expected: amps(expected),
            reported: amps(reported),
        });
        assert_eq!(found, wanted);
    }

    #[test]
    fn an_excess_is_clear_and_plausible() {
        // 8 A on three phases are 5.52 kW, and 32 A are 22.08 kW.
        let supply = Supply::new(volts(230.0), 3).unwrap();
        for (measured, expected) in [
            (0.0, false),
            (5.52, false),
            (7.1, false),
            (7.2, true),
            (22.0, true),
            (66.0, true),
            (67.0, false),
            (7200.0, false),
            (-11.0, false),
        ] {
            let found = shows_excess(kw(measured), amps(8.0), amps(32.0), supply);
            assert_eq!(found, expected, "{measured} kW");
        }
    }

    #[test]
    fn rounding_and_a_late_second_are_no_difference() {
        check(&[(0, Some(16.0)), (300, Some(6.0))], &[(0, Some(15.95)), (301, Some(6.0))], None);
        check(&[(0, None)], &[(0, Some(32.0))], None);
        check(&[(0, Some(80.0))], &[(0, Some(32.0))], None);
    }

    #[test]
    fn the_first_difference_is_named() {
        let plan = [(0, Some(16.0)), (300, Some(6.0))];
        check(&plan, &[(0, Some(16.0))], Some((300, 6.0, 16.0)));
        check(&plan, &[(0, Some(16.0)), (302, Some(6.0))], Some((300, 6.0, 16.0)));
        check(&plan, &[(0, None)], Some((0, 16.0, 32.0)));
        // The limits of one difference change within the allowed second.
        check(&[(0, Some(6.0))], &[(0, Some(8.0)), (1, Some(9.0))], Some((0, 6.0, 9.0)));
    }

    #[test]
    fn a_level_that_was_not_replaced_shows() {
        // lbbrhzn/ocpp#2148: 10 A are accepted at level 1, and 8 A of level 10 stay in force.
        check(&[(0, Some(10.0))], &[(0, Some(8.0))], Some((0, 10.0, 8.0)));
    }
}
