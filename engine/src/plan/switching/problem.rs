//! Checked request of a device that switches, with its timeline.
use chrono::TimeDelta;

use crate::plan::charge::request::{ChargeProblem, Target};
use crate::plan::switching::request::{
    DeviceState, SLOTS_MAX, SwitchingError, SwitchingRequest, Uneven,
};
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
        let free = ChargeProblem::new(request.free())?;
        check_power(&request)?;
        check_times(&request)?;
        if request.nodes_max == 0 {
            return Err(SwitchingError::NoNodes);
        }
        if let Some(seconds) = request.seconds_max.filter(|s| !(0.0..=1e9).contains(s)) {
            return Err(SwitchingError::Seconds { seconds });
        }
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
    let (field, at) = match request.state {
        DeviceState::Off => return Ok(()),
        DeviceState::RunningSince(at) => ("running_since", at),
        DeviceState::StoppedSince(at) => ("stopped_since", at),
    };
    if at > request.now {
        return Err(SwitchingError::StateInFuture { field, at, now: request.now });
    }
    Ok(())
}
