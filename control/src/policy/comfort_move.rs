//! Next command to a unit under a comfort policy, and when the service steps back.
//!
//! A plan never stands against a person. The service leaves a unit alone for the time that the policy
//! states (`step_back_minutes`), after either of these:
//!
//! | Event | Begin of the time |
//! |---|---|
//! | a client's command was confirmed | its confirmation |
//! | a reading shows another setting than the last command, which was confirmed before | the first such reading |
//!
//! A command of a client that is pending is never replaced. Afterwards the plan goes on.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::device::action::ActionState;
use crate::device::command::{Command, DeviceReading};
use crate::device::hvac::Hold;

/// Command that a unit was given last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GivenCommand {
    /// The command.
    pub command: Command,
    /// True if the plan gave it, false for a client.
    pub is_of_plan: bool,
    /// State of its action.
    pub state: ActionState,
    /// Last change of that state.
    pub updated_at: DateTime<Utc>,
}

/// Setting that differs from the last command, of the plan or of a client.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// Setting that the unit shows.
    pub shown: Option<Hold>,
    /// True if the unit follows its own schedule.
    pub follows_schedule: Option<bool>,
    /// First reading that showed it.
    pub since: DateTime<Utc>,
}

/// Facts that decide about the next command to a unit.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitFacts {
    /// Setting of the plan.
    pub wanted: Hold,
    /// Last reading.
    pub reading: DeviceReading,
    /// Instant of the last reading; `None` before the first one.
    pub read_at: Option<DateTime<Utc>>,
    /// Last command; `None` before the first one.
    pub given: Option<GivenCommand>,
    /// Deviation that was seen before.
    pub deviation: Option<Deviation>,
    /// Time for which the service steps back.
    pub step_back: TimeDelta,
    /// Pause before a command that failed is repeated.
    pub pause: TimeDelta,
}

/// Next step for a unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum UnitMove {
    /// Hold the unit at this setting.
    #[serde(rename = "order")]
    Order(Hold),
    /// Leave the unit to a person or a client until then.
    #[serde(rename = "step_back_until")]
    StepBack(DateTime<Utc>),
    /// Wait for the end of a command, or until one may be repeated.
    #[serde(rename = "wait_until")]
    Wait(Option<DateTime<Utc>>),
    /// The unit is as the plan wants it.
    #[serde(rename = "rest")]
    Rest,
}

impl UnitFacts {
    /// Present deviation from the last command; `None` without one.
    #[must_use]
    pub fn deviates(&self) -> Option<Deviation> {
        let read_at = self.read_at?;
        let given = self.given?;
        let is_settled = given.state == ActionState::Confirmed && read_at > given.updated_at;
        if !is_settled || given.command.is_reached(&self.reading) {
            return None;
        }
        let DeviceReading { hold: shown, follows_schedule, .. } = self.reading;
        let is_same = |before: &Deviation| {
            before.shown == shown && before.follows_schedule == follows_schedule
        };
        let before = self.deviation.filter(is_same);
        Some(before.unwrap_or(Deviation { shown, follows_schedule, since: read_at }))
    }

    /// Next step for the unit at `now`.
    #[must_use]
    pub fn next_move(&self, now: DateTime<Utc>) -> UnitMove {
        let wanted = Command::Hold(self.wanted);
        if let Some(given) = self.given {
            match (given.state, given.is_of_plan) {
                (ActionState::Pending, false) => return UnitMove::Wait(None),
                (ActionState::Pending, true) if given.command == wanted => {
                    return UnitMove::Wait(None);
                }
                _ => {}
            }
        }
        let of_client = |given: GivenCommand| {
            let is_done = given.state == ActionState::Confirmed && !given.is_of_plan;
            is_done.then_some(given.updated_at)
        };
        // A deviation is seen after the confirmation of the command, and so begins later.
        let begun = self.deviates().map(|deviation| deviation.since);
        let begun = begun.or_else(|| self.given.and_then(of_client));
        if let Some(until) = begun.map(|at| at + self.step_back).filter(|until| *until > now) {
            return UnitMove::StepBack(until);
        }
        if wanted.is_reached(&self.reading) && !self.is_pending() {
            return UnitMove::Rest;
        }
        let failed = self.given.filter(|given| {
            let is_over = matches!(given.state, ActionState::Failed | ActionState::Cancelled);
            is_over && given.is_of_plan && given.command == wanted
        });
        match failed.map(|given| given.updated_at + self.pause).filter(|at| *at > now) {
            Some(at) => UnitMove::Wait(Some(at)),
            None => UnitMove::Order(self.wanted),
        }
    }

    fn is_pending(&self) -> bool {
        self.given.is_some_and(|given| given.state == ActionState::Pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::hvac::Mode;
    use crate::device::power_state::PowerState;
    use slackwater_engine::units::celsius;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::<Utc>::UNIX_EPOCH + TimeDelta::minutes(minute)
    }

    fn hold(heat: f64) -> Hold {
        Hold { mode: Mode::Heat, heat_setpoint: Some(celsius(heat)), cool_setpoint: None }
    }

    fn shows(heat: f64) -> DeviceReading {
        let unknown = DeviceReading::of(PowerState::Unknown);
        DeviceReading { follows_schedule: Some(false), hold: Some(hold(heat)), ..unknown }
    }

    fn given(heat: f64, is_of_plan: bool, state: ActionState, minute: i64) -> GivenCommand {
        let command = Command::Hold(hold(heat));
        GivenCommand { command, is_of_plan, state, updated_at: at(minute) }
    }

    /// Unit that shows 20 °C at minute 60, wanted at 21 °C.
    fn facts(given: impl Into<Option<GivenCommand>>) -> UnitFacts {
        UnitFacts {
            wanted: hold(21.0),
            reading: shows(20.0),
            read_at: Some(at(60)),
            given: given.into(),
            deviation: None,
            step_back: TimeDelta::minutes(240),
            pause: TimeDelta::minutes(5),
        }
    }

    #[test]
    fn a_setting_is_ordered_until_it_is_shown() {
        let order = UnitMove::Order(hold(21.0));
        assert_eq!(facts(None).next_move(at(61)), order);
        let reached = UnitFacts { reading: shows(21.0), ..facts(None) };
        assert_eq!(reached.next_move(at(61)), UnitMove::Rest);
        // Another command of the plan may still change it.
        let other = given(22.0, true, ActionState::Pending, 59);
        let unsettled = UnitFacts { reading: shows(21.0), ..facts(other) };
        assert_eq!(unsettled.next_move(at(61)), order);
        let same = facts(given(21.0, true, ActionState::Pending, 59));
        assert_eq!(same.next_move(at(61)), UnitMove::Wait(None));
        let failed = facts(given(21.0, true, ActionState::Failed, 59));
        assert_eq!(failed.next_move(at(61)), UnitMove::Wait(Some(at(64))));
        assert_eq!(failed.next_move(at(64)), order);
        // One that the unit does not take does not hold up another.
        let other = facts(given(22.0, true, ActionState::Failed, 59));
        assert_eq!(other.next_move(at(61)), order);
    }

    #[test]
    fn a_client_is_left_alone_for_the_time_of_the_policy() {
        let pending = facts(given(18.0, false, ActionState::Pending, 59));
        assert_eq!(pending.next_move(at(61)), UnitMove::Wait(None));
        let done = facts(given(18.0, false, ActionState::Confirmed, 59));
        let done = UnitFacts { reading: shows(18.0), ..done };
        assert_eq!(done.next_move(at(61)), UnitMove::StepBack(at(299)));
        assert_eq!(done.next_move(at(298)), UnitMove::StepBack(at(299)));
        assert_eq!(done.next_move(at(299)), UnitMove::Order(hold(21.0)));
        // A command that the unit did not take has not set it.
        let failed = facts(given(18.0, false, ActionState::Failed, 59));
        assert_eq!(failed.next_move(at(61)), UnitMove::Order(hold(21.0)));
    }

    #[test]
    fn a_person_who_sets_the_unit_in_the_time_of_a_client_is_left_alone_for_a_time_of_their_own() {
        // A client's command of minute 59; a person sets the unit at minute 290.
        let mut facts = facts(given(18.0, false, ActionState::Confirmed, 59));
        (facts.reading, facts.read_at) = (shows(23.0), Some(at(290)));
        assert_eq!(facts.next_move(at(291)), UnitMove::StepBack(at(530)));
        (facts.deviation, facts.read_at) = (facts.deviates(), Some(at(400)));
        assert_eq!(facts.next_move(at(401)), UnitMove::StepBack(at(530)));
        assert_eq!(facts.next_move(at(530)), UnitMove::Order(hold(21.0)));
    }

    #[test]
    fn a_setting_by_hand_at_the_unit_is_left_alone_from_its_first_reading() {
        let mut facts = facts(given(22.0, true, ActionState::Confirmed, 30));
        let seen = facts.deviates().unwrap();
        assert_eq!(seen.since, at(60));
        assert_eq!(facts.next_move(at(61)), UnitMove::StepBack(at(300)));
        // Later readings of the same setting do not lengthen it, another setting begins anew.
        (facts.deviation, facts.read_at) = (Some(seen), Some(at(120)));
        assert_eq!(facts.deviates(), Some(seen));
        assert_eq!(facts.next_move(at(300)), UnitMove::Order(hold(21.0)));
        facts.reading = shows(25.0);
        assert_eq!(facts.next_move(at(121)), UnitMove::StepBack(at(360)));
        // A reading from before the confirmation says nothing.
        facts.read_at = Some(at(30));
        assert_eq!(
            (facts.deviates(), facts.next_move(at(31))),
            (None, UnitMove::Order(hold(21.0)))
        );
        // The schedule of the unit in place of the hold is a setting by hand, too.
        facts.read_at = Some(at(60));
        facts.reading = DeviceReading { follows_schedule: Some(true), ..shows(22.0) };
        assert_eq!(facts.next_move(at(61)), UnitMove::StepBack(at(300)));
    }
}
