//! A request for a device that switches, checked and laid out in time.
use chrono::TimeDelta;

use crate::plan::charge::request::{ChargeProblem, Target};
use crate::plan::switching::request::{
    DeviceState, SLOTS_MAX, SwitchingError, SwitchingRequest, Uneven,
};
use crate::plan::switching::timeline::Timeline;
use crate::prices::curve::PriceCurve;
use crate::units::{Money, Power};

/// A request that makes sense, for the prices it is to be planned on.
#[derive(Debug, Clone)]
pub struct SwitchingProblem<'c> {
    pub(crate) request: SwitchingRequest,
    pub(crate) curve: &'c PriceCurve,
    pub(crate) timeline: Timeline,
    pub(crate) uneven: Option<Uneven>,
}

impl<'c> SwitchingProblem<'c> {
    /// Checks a request against itself and against the slots it may use.
    ///
    /// # Errors
    /// A number is negative, a state lies in the future, limits overlap, the
    /// deadline is too far away; or the problem needs a mixed-integer
    /// programme and the feature `lp` is off.
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

    /// The request as it was checked.
    #[must_use]
    pub fn request(&self) -> &SwitchingRequest {
        &self.request
    }

    /// Why the exact search does not answer this problem; `None` if it does.
    #[must_use]
    pub fn uneven(&self) -> Option<Uneven> {
        self.uneven
    }
}

fn last_deadline(request: &SwitchingRequest) -> i64 {
    request.targets.iter().map(Target::by_micros).max().unwrap_or(i64::MAX)
}

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
