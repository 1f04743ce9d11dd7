//! Request of a device that switches: targets, limits on switching and its state.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::plan::charge::request::{
    AfterDeadline, ChargeRequest, ChargeRequestError, PowerLimit, Target,
};
use crate::plan::stability::previous_powers::PreviousPowers;
use crate::time::horizon::HorizonError;
use crate::time::serde_micros;
use crate::units::{Energy, Money, Power};

/// Most slots of one plan: two months of hours, two weeks of quarter hours.
pub const SLOTS_MAX: usize = 1500;

/// State of the device when the plan begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum DeviceState {
    /// Off, for longer than any least time.
    #[default]
    #[serde(rename = "off")]
    Off,
    /// On without pause since an instant. Continuing costs no start and counts as a session.
    #[serde(rename = "running_since")]
    RunningSince(DateTime<Utc>),
    /// Off since an instant.
    #[serde(rename = "stopped_since")]
    StoppedSince(DateTime<Utc>),
}

/// Error of a state that begins after the start of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {at}, after now at {now}")]
pub struct StateInFuture {
    /// Name of the argument.
    pub field: &'static str,
    /// The instant as given.
    pub at: DateTime<Utc>,
    /// The start of the plan.
    pub now: DateTime<Utc>,
}

impl DeviceState {
    /// Checks that the state does not begin after `now`.
    pub(crate) fn check(self, now: DateTime<Utc>) -> Result<(), StateInFuture> {
        let (field, at) = match self {
            Self::Off => return Ok(()),
            Self::RunningSince(at) => ("running_since", at),
            Self::StoppedSince(at) => ("stopped_since", at),
        };
        if at > now { Err(StateInFuture { field, at, now }) } else { Ok(()) }
    }
}

/// Wishes and limits of one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchingRequest {
    /// Present time: the first instant that a plan may use.
    pub now: DateTime<Utc>,
    /// Instant at which the device is disconnected, if that is known.
    pub until: Option<DateTime<Utc>>,
    /// Highest power at any time.
    #[serde(rename = "power_max_kw")]
    pub power_max: Power,
    /// Least power while on. Zero means a device that runs at its highest power or not at all.
    #[serde(rename = "power_min_kw")]
    pub power_min: Power,
    /// Periods with a lower limit, in any order. A limit below the least
    /// power forbids running.
    pub power_limits: Vec<PowerLimit>,
    /// Targets: energy wanted by deadlines, in any order.
    pub targets: Vec<Target>,
    /// Cost of one start, 0 or more.
    pub start_cost: Money,
    /// Most sessions, including one that continues from before the plan.
    pub sessions_max: Option<u32>,
    /// True if the plan may have at most one session.
    pub one_block: bool,
    /// Least time on, 0 or more.
    #[serde(rename = "on_min_microseconds", with = "serde_micros")]
    pub on_min: TimeDelta,
    /// Least time off, 0 or more.
    #[serde(rename = "off_min_microseconds", with = "serde_micros")]
    pub off_min: TimeDelta,
    /// State of the device at `now`.
    pub state: DeviceState,
    /// Time before the last deadline in which the device must run, at its least power or more.
    /// Its energy counts towards the targets. The slot in which that time begins is run as a
    /// whole. The plan exceeds the targets if this time needs more energy than they want.
    #[serde(rename = "run_last_microseconds", with = "serde_micros")]
    pub run_last: TimeDelta,
    /// Handling of a shortfall. With [`AfterDeadline::Continue`] the next deadline includes it, at
    /// the least cost, and after the last deadline it is delivered as soon as the limits on
    /// switching allow. With [`AfterDeadline::Stop`] it is not delivered.
    pub after_deadline: AfterDeadline,
    /// Most nodes of a mixed-integer search, 1 or more.
    pub nodes_max: u32,
    /// Most seconds of one mixed-integer search. A plan that this limit ended may differ from run
    /// to run, and its status is `TimeReached`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_max: Option<f64>,
    /// Plan before, near which the plan stays; `None` for the cheapest plan. It needs the feature
    /// `lp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<PreviousPowers>,
}

impl SwitchingRequest {
    /// Request for one target without limits on switching.
    #[must_use]
    pub fn new(now: DateTime<Utc>, power_max: Power, target: Target) -> Self {
        Self {
            now,
            until: None,
            power_max,
            power_min: Power::ZERO,
            power_limits: Vec::new(),
            targets: vec![target],
            start_cost: Money::ZERO,
            sessions_max: None,
            one_block: false,
            on_min: TimeDelta::zero(),
            off_min: TimeDelta::zero(),
            state: DeviceState::Off,
            run_last: TimeDelta::zero(),
            after_deadline: AfterDeadline::Continue,
            nodes_max: 1000,
            seconds_max: None,
            previous: None,
        }
    }

    /// Least power while on: `power_min`, or `power_max` if that is zero.
    #[must_use]
    pub fn step_power(&self) -> Power {
        if self.power_min > Power::ZERO { self.power_min } else { self.power_max }
    }

    /// Most sessions by `sessions_max` and `one_block`; `None` is no limit.
    #[must_use]
    pub fn sessions_limit(&self) -> Option<u32> {
        if self.one_block { Some(self.sessions_max.unwrap_or(1).min(1)) } else { self.sessions_max }
    }

    /// Request with these targets and power limits, without limits on switching.
    pub(crate) fn free(&self) -> ChargeRequest {
        ChargeRequest {
            until: self.until,
            power_limits: self.power_limits.clone(),
            targets: self.targets.clone(),
            after_deadline: self.after_deadline,
            // The target of this base is replaced by those above.
            ..ChargeRequest::new(
                self.now,
                self.power_max,
                Target { by: None, energy: Energy::ZERO },
            )
        }
    }
}

/// Error of a request that is invalid or cannot be planned. An unmet wish is no error.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SwitchingError {
    /// Error that any charge request can have.
    #[error(transparent)]
    Request(#[from] ChargeRequestError),
    /// Least power below zero, or above the highest.
    #[error(
        "power_min_kw is {} kW; it is at least 0 kW and at most power_max_kw, {} kW",
        power_min.as_kw(), power_max.as_kw()
    )]
    PowerMin {
        /// The least power as given.
        power_min: Power,
        /// The highest power as given.
        power_max: Power,
    },
    /// Negative start cost.
    #[error("start_cost is {}; a start costs 0 or more", start_cost.as_amount())]
    NegativeStartCost {
        /// The cost as given.
        start_cost: Money,
    },
    /// Negative length of time.
    #[error("{field} is {} s; it is 0 s or more", length.num_seconds())]
    NegativeLength {
        /// Name of the argument.
        field: &'static str,
        /// The length as given.
        length: TimeDelta,
    },
    /// State that begins after `now`.
    #[error(transparent)]
    State(#[from] StateInFuture),
    /// More slots than a plan can have.
    #[error(
        "the time up to the last deadline has {slots} slots; a plan of switching has at most \
         {SLOTS_MAX}: give a nearer deadline or until"
    )]
    TooLong {
        /// Slots up to the last deadline.
        slots: usize,
    },
    /// A search that may look at nothing.
    #[error("nodes_max is 0; a search has at least 1 node")]
    NoNodes,
    /// Seconds that are no number, negative or above 1e9.
    #[error("seconds_max is {seconds} s; it is from 0 to 1e9 s")]
    Seconds {
        /// The seconds as given.
        seconds: f64,
    },
    /// Intervals of the plan before that overlap or have no length.
    #[error("previous: {source}")]
    PreviousPeriods {
        /// Error of the intervals.
        source: HorizonError,
    },
    /// Problem that needs a mixed-integer programme, while the feature `lp` is off.
    #[error(
        "{why}: this needs a mixed-integer programme, and slackwater is built without its \
         feature lp"
    )]
    NeedsSolver {
        /// Reason why the exact search does not apply.
        why: Uneven,
    },
}

/// Reason why the exact search does not apply to a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Uneven {
    /// More than one deadline wants energy.
    #[error("targets have several deadlines")]
    Deadlines,
    /// The highest power is not the same in all slots.
    #[error("power_limits vary the highest power")]
    Powers,
    /// Slots other than the first and the last differ in length.
    #[error("the slots are not of one length")]
    Lengths,
    /// Slots, steps of energy and sessions make too many states.
    #[error("slots, steps of energy and sessions make too many states")]
    States,
    /// The plan stays near a plan before.
    #[error("a plan stays near a previous one")]
    Previous,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::switching::timeline::tests::{minute, request_of};
    use crate::units::kw;

    #[test]
    fn a_device_without_steps_runs_at_its_highest_power() {
        let mut request = request_of(6.0);
        assert_eq!(request.step_power(), kw(4.0));
        request.power_min = Power::ZERO;
        assert_eq!(request.step_power(), kw(10.0));
    }

    #[test]
    fn one_block_is_one_session_at_most() {
        let limit = |sessions_max, one_block| {
            SwitchingRequest { sessions_max, one_block, ..request_of(6.0) }.sessions_limit()
        };
        assert_eq!((limit(None, false), limit(None, true)), (None, Some(1)));
        assert_eq!((limit(Some(3), false), limit(Some(3), true)), (Some(3), Some(1)));
        assert_eq!(limit(Some(0), true), Some(0));
    }

    #[test]
    fn a_request_comes_back_from_its_data() {
        let mut request = request_of(6.0);
        request.on_min = TimeDelta::minutes(15);
        request.state = DeviceState::StoppedSince(minute(-5));
        request.seconds_max = Some(2.5);
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<SwitchingRequest>(&text).unwrap(), request);
        // A request without a limit on the seconds names none.
        let text = serde_json::to_string(&request_of(6.0)).unwrap();
        assert!(!text.contains("seconds_max"), "{text}");
        assert!(
            serde_json::from_str::<SwitchingRequest>(&text.replacen('{', "{\"x\":1,", 1)).is_err()
        );
    }

    #[test]
    fn the_free_request_has_the_same_wishes_and_no_limits_on_switching() {
        let mut request = request_of(6.0);
        request.until = Some(minute(90));
        request.after_deadline = AfterDeadline::Stop;
        let free = request.free();
        assert_eq!((free.until, &free.targets), (Some(minute(90)), &request.targets));
        assert_eq!((free.power_max, free.after_deadline), (kw(10.0), AfterDeadline::Stop));
    }
}
