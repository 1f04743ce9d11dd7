//! Checked request of a device that switches, with its timeline.
use chrono::TimeDelta;

use crate::plan::charge::request::{ChargeProblem, Target};
use crate::plan::stability::previous_powers::check_intervals;
use crate::plan::switching::request::{SLOTS_MAX, SwitchingError, SwitchingRequest, Uneven};
use crate::plan::switching::timeline::Timeline;
use crate::prices::curve::PriceCurve;
use crate::units::{Money, Power};

/// Valid request with the price curve and the timeline of its plan.
#[derive(Debug, Clone)]
pub struct SwitchingProblem<'c> {
    pub(crate) request: SwitchingRequest,
    pub(crate) curve: &'c PriceCurve,
    pub(crate) timeline: Timeline,
    pub(crate) uneven: Option<Uneven>,
}

impl<'c> SwitchingProblem<'c> {
    /// Checks a request, and the number of slots that it may use.
    ///
    /// # Errors
    /// A number is negative, a state lies in the future, limits overlap, the deadline is too far
    /// away; or the problem needs a mixed-integer programme and the feature `lp` is off.
    pub fn new(request: SwitchingRequest, curve: &'c PriceCurve) -> Result<Self, SwitchingError> {
        // Targets and power limits are checked along with the request without limits on switching.
        let free = ChargeProblem::new(request.free())?;
        check_power(&request)?;
        check_times(&request)?;
        if request.nodes_max == 0 {
            return Err(SwitchingError::NoNodes);
        }
        if let Some(seconds) = request.seconds_max.filter(|s| !(0.0..=1e9).contains(s)) {
            return Err(SwitchingError::Seconds { seconds });
        }
        if let Some(previous) = &request.previous {
            check_intervals(&previous.intervals)
                .map_err(|source| SwitchingError::PreviousPeriods { source })?;
            if !cfg!(feature = "lp") {
                return Err(SwitchingError::NeedsSolver { why: Uneven::Previous });
            }
        }
        // Checked before the timeline is built, whose time and memory grow with the slots.
        let slots =
            curve.horizon().overlapping(free.from(), free.to().min(last_deadline(&request)));
        if slots.len() > SLOTS_MAX {
            return Err(SwitchingError::TooLong { slots: slots.len() });
        }
        let timeline = Timeline::new(curve, &request, &free);
        let uneven = timeline.uneven();
        match uneven {
            Some(why) if !cfg!(feature = "lp") => Err(SwitchingError::NeedsSolver { why }),
            _ => Ok(Self { request, curve, timeline, uneven }),
        }
    }

    /// Checked request.
    #[must_use]
    pub fn request(&self) -> &SwitchingRequest {
        &self.request
    }

    /// Reason why the exact search does not apply to this problem; `None` if it does.
    #[must_use]
    pub fn uneven(&self) -> Option<Uneven> {
        self.uneven
    }
}

/// Last deadline in microseconds.
fn last_deadline(request: &SwitchingRequest) -> i64 {
    request.targets.iter().map(Target::by_micros).max().unwrap_or(i64::MAX)
}

/// Checks the least power and the start cost.
fn check_power(request: &SwitchingRequest) -> Result<(), SwitchingError> {
    let SwitchingRequest { power_min, power_max, start_cost, .. } = *request;
    if power_min < Power::ZERO || power_min > power_max {
        return Err(SwitchingError::PowerMin { power_min, power_max });
    }
    if start_cost < Money::ZERO {
        return Err(SwitchingError::NegativeStartCost { start_cost });
    }
    Ok(())
}

/// Checks lengths of time, and that the state does not begin after `now`.
fn check_times(request: &SwitchingRequest) -> Result<(), SwitchingError> {
    let lengths =
        [("on_min", request.on_min), ("off_min", request.off_min), ("run_last", request.run_last)];
    for (field, length) in lengths {
        if length < TimeDelta::zero() {
            return Err(SwitchingError::NegativeLength { field, length });
        }
    }
    Ok(request.state.check(request.now)?)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::plan::switching::request::DeviceState;
    use crate::plan::switching::timeline::tests::{minute, request_of};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, money};

    /// Checks the error of a request for two hours after a change.
    #[track_caller]
    fn check(change: impl FnOnce(&mut SwitchingRequest), expected: &Expect) {
        let mut request = request_of(6.0);
        change(&mut request);
        let curve = curve_of(60, &[10, 20]);
        expected.assert_eq(&SwitchingProblem::new(request, &curve).unwrap_err().to_string());
    }

    #[test]
    fn numbers_that_make_no_sense_are_named() {
        check(
            |request| request.power_min = kw(-1.0),
            &expect!["power_min_kw is -1 kW; it is at least 0 kW and at most power_max_kw, 10 kW"],
        );
        check(
            |request| request.power_min = kw(11.0),
            &expect!["power_min_kw is 11 kW; it is at least 0 kW and at most power_max_kw, 10 kW"],
        );
        check(
            |request| request.start_cost = money(-0.5),
            &expect!["start_cost is -0.5; a start costs 0 or more"],
        );
        check(
            |request| request.nodes_max = 0,
            &expect!["nodes_max is 0; a search has at least 1 node"],
        );
        check(
            |request| request.seconds_max = Some(f64::NAN),
            &expect!["seconds_max is NaN s; it is from 0 to 1e9 s"],
        );
        check(
            |request| request.seconds_max = Some(-1.0),
            &expect!["seconds_max is -1 s; it is from 0 to 1e9 s"],
        );
    }

    #[test]
    fn times_that_make_no_sense_are_named() {
        check(
            |request| request.on_min = TimeDelta::seconds(-1),
            &expect!["on_min is -1 s; it is 0 s or more"],
        );
        check(
            |request| request.off_min = TimeDelta::seconds(-2),
            &expect!["off_min is -2 s; it is 0 s or more"],
        );
        check(
            |request| request.run_last = TimeDelta::seconds(-3),
            &expect!["run_last is -3 s; it is 0 s or more"],
        );
        check(
            |request| request.state = DeviceState::RunningSince(minute(1)),
            &expect![
                "running_since is 2026-01-05 18:01:00 UTC, after now at 2026-01-05 18:00:00 UTC"
            ],
        );
        check(
            |request| request.state = DeviceState::StoppedSince(minute(1)),
            &expect![
                "stopped_since is 2026-01-05 18:01:00 UTC, after now at 2026-01-05 18:00:00 UTC"
            ],
        );
    }

    #[test]
    fn only_slots_up_to_the_last_deadline_count() {
        let curve = curve_of(60, &[10; SLOTS_MAX + 1]);
        let mut request = request_of(6.0);
        let error = SwitchingProblem::new(request.clone(), &curve).unwrap_err();
        assert_eq!(error, SwitchingError::TooLong { slots: SLOTS_MAX + 1 });
        request.targets[0].by = Some(minute(60 * SLOTS_MAX as i64));
        let problem = SwitchingProblem::new(request.clone(), &curve).unwrap();
        assert_eq!((problem.request(), problem.uneven()), (&request, None));
    }
}
