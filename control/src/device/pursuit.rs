//! Next step of a pending action: send, wait or end.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::device::action::{ActionEvent, ActionState, Progress};
use crate::device::command::{Command, DeviceReading};

/// Limits on how long and how often a command is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Persistence {
    /// Seconds from its creation after which an action has failed.
    pub timeout_seconds: u32,
    /// Seconds between two attempts.
    pub retry_seconds: u32,
}

impl Default for Persistence {
    /// A quarter of an hour, an attempt every half minute (AMB-07).
    fn default() -> Self {
        Self { timeout_seconds: 15 * 60, retry_seconds: 30 }
    }
}

/// Attempts to send a command so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempts {
    /// Number of attempts.
    pub count: u32,
    /// Time of the last attempt.
    pub last_at: Option<DateTime<Utc>>,
    /// Creation of an earlier action of the device whose command was sent without an observed
    /// effect. The device may still execute that command.
    #[serde(default)]
    pub rival_created_at: Option<DateTime<Utc>>,
}

/// The next thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// No step: the action has ended.
    #[serde(rename = "done")]
    Done,
    /// Let this happen to the action.
    #[serde(rename = "end")]
    End(ActionEvent),
    /// Send the command now.
    #[serde(rename = "send")]
    Send,
    /// Look again at this instant, or when the device was read.
    #[serde(rename = "wait_until")]
    WaitUntil(DateTime<Utc>),
}

/// Decides on the next step of an action at `now` (ACT-09 to ACT-12, CHG-28).
///
/// A device in the desired state ends the action in any case: confirmed if a command was sent,
/// unnecessary if not (AMB-04). Otherwise a state that prevents execution ends it, then the end
/// of the window. Otherwise the command is sent at once, and again after each pause.
///
/// While the command of an earlier action may still take effect, a reading does
/// not show the state in which the device stays. Then the command is sent at
/// least once, and a reading counts from one pause after that.
///
/// # Example
///
/// ```
/// use slackwater_control::device::action::Progress;
/// use slackwater_control::device::command::{Command, DeviceReading, Switch};
/// use slackwater_control::device::power_state::PowerState;
/// use slackwater_control::device::pursuit::{Attempts, Persistence, Step, next_step};
/// let six = "2026-01-05T18:00:00Z".parse().unwrap();
/// let stopped = DeviceReading::of(PowerState::Stopped);
/// let start = Command::Charge(Switch::Start);
/// let progress = Progress::created(six);
/// let step = next_step(&start, &progress, Attempts::default(), &stopped, Persistence::default(), six);
/// assert_eq!(step, Step::Send);
/// ```
#[must_use]
pub fn next_step(
    command: &Command,
    progress: &Progress,
    attempts: Attempts,
    reading: &DeviceReading,
    persistence: Persistence,
    now: DateTime<Utc>,
) -> Step {
    let window_end = window_end(progress, persistence);
    let retry_at = attempts.last_at.map(|at| later(at, persistence.retry_seconds));
    let is_retry_due = retry_at.is_none_or(|at| at <= now);
    // The command of an earlier action can take effect until the window of that action ends.
    let rival_until = attempts.rival_created_at.map(|at| later(at, persistence.timeout_seconds));
    let has_rival = rival_until.is_some_and(|until| now < until);
    let is_reached = command.is_reached(reading);
    if progress.state != ActionState::Pending {
        Step::Done
    } else if is_reached && has_rival && (attempts.count == 0 || !is_retry_due) {
        // The reading may be an effect of the earlier command, which does not show what this one
        // did.
        retry_at.map_or(Step::Send, |at| Step::WaitUntil(at.min(window_end)))
    } else if is_reached {
        let was_told = attempts.count > 0;
        Step::End(if was_told { ActionEvent::Reached } else { ActionEvent::Unnecessary })
    } else if let Some(reason) = command.unmet_precondition(reading) {
        // This reason says more than the end of the window, so it is tested first.
        Step::End(ActionEvent::PreconditionUnmet(Some(sentence(&reason.to_string()))))
    } else if now >= window_end {
        Step::End(ActionEvent::TimedOut)
    } else {
        match retry_at {
            Some(at) if at > now => Step::WaitUntil(at.min(window_end)),
            _ => Step::Send,
        }
    }
}

/// End of the time in which a device may execute an action (ACT-11).
#[must_use]
pub fn window_end(progress: &Progress, persistence: Persistence) -> DateTime<Utc> {
    later(progress.created_at, persistence.timeout_seconds)
}

fn later(at: DateTime<Utc>, seconds: u32) -> DateTime<Utc> {
    at.checked_add_signed(TimeDelta::seconds(seconds.into())).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::command::Switch;
    use crate::device::power_state::PowerState;
    use proptest::prelude::*;

    fn at(second: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(second)
    }

    fn step(switch: Switch, state: PowerState, sent: &[i64], now: i64) -> Step {
        let reading = DeviceReading::of(state);
        let progress = Progress::created(at(0));
        next_step(
            &Command::Charge(switch),
            &progress,
            attempts(sent, None),
            &reading,
            Persistence::default(),
            at(now),
        )
    }

    fn attempts(sent: &[i64], rival_created_at: Option<DateTime<Utc>>) -> Attempts {
        let last_at = sent.last().map(|&second| at(second));
        Attempts { count: sent.len() as u32, last_at, rival_created_at }
    }

    /// State of a device that obeys each of these commands, given as when it was
    /// sent and what it says, after so many seconds.
    fn obeyed(before: PowerState, sent: &[(i64, Switch)], delay: i64, now: i64) -> PowerState {
        let last = sent.iter().rev().find(|(second, _)| second + delay <= now);
        last.map_or(before, |(_, switch)| match switch {
            Switch::Start => PowerState::Charging,
            Switch::Stop => PowerState::Stopped,
        })
    }

    proptest! {
        /// A command that takes the place of one that was sent, at any time and
        /// to a slow device, ends confirmed, and the device stays as it says.
        #[test]
        fn the_command_that_takes_over_has_the_last_word(
            is_start_first in any::<bool>(),
            delay in 0..30_i64,
            takes_over in 1..120_i64,
        ) {
            let (start, stop) = (Switch::Start, Switch::Stop);
            let (first, second) = if is_start_first { (start, stop) } else { (stop, start) };
            let before = match first {
                Switch::Start => PowerState::Stopped,
                Switch::Stop => PowerState::Charging,
            };
            let mut sent = vec![(0, first)];
            let (mut own, mut ended) = (Vec::new(), None);
            for now in takes_over..takes_over + 200 {
                let step = next_step(
                    &Command::Charge(second),
                    &Progress::created(at(takes_over)),
                    attempts(&own, Some(at(0))),
                    &DeviceReading::of(obeyed(before, &sent, delay, now)),
                    Persistence::default(),
                    at(now),
                );
                match step {
                    Step::Send => {
                        own.push(now);
                        sent.push((now, second));
                    }
                    Step::End(event) => {
                        ended = Some((now, event));
                        break;
                    }
                    Step::WaitUntil(_) | Step::Done => {}
                }
            }
            let (now, event) = ended.unwrap();
            prop_assert_eq!(event, ActionEvent::Reached);
            for later in now..now + 60 {
                let state = DeviceReading::of(obeyed(before, &sent, delay, later));
                prop_assert!(Command::Charge(second).is_reached(&state), "{} s", later);
            }
        }
    }

    #[test]
    fn after_the_window_of_the_earlier_action_a_reading_counts_at_once() {
        let created_at = 1_000;
        let step = |now| {
            next_step(
                &Command::Charge(Switch::Stop),
                &Progress::created(at(created_at)),
                attempts(&[], Some(at(150))),
                &DeviceReading::of(PowerState::Stopped),
                Persistence::default(),
                at(now),
            )
        };
        assert_eq!(step(1_049), Step::Send);
        assert_eq!(step(1_050), Step::End(ActionEvent::Unnecessary));
    }

    /// Plays an action against a device that obeys the n-th command, read every ten seconds.
    fn play(obeys: usize) -> (Vec<i64>, Progress) {
        let (mut sent, mut progress) = (Vec::new(), Progress::created(at(0)));
        for now in (0..=1000).step_by(10) {
            let obeyed = sent.len() >= obeys;
            let state = if obeyed { PowerState::Charging } else { PowerState::Stopped };
            match step(Switch::Start, state, &sent, now) {
                Step::Send => sent.push(now),
                Step::End(event) => {
                    progress = progress.after(&event, at(now)).unwrap();
                    break;
                }
                Step::WaitUntil(_) | Step::Done => {}
            }
        }
        (sent, progress)
    }

    #[test]
    fn a_command_is_sent_until_the_device_obeys() {
        let (sent, progress) = play(3);
        assert_eq!(sent, [0, 30, 60]);
        assert_eq!((progress.state, progress.completed_at), (ActionState::Confirmed, Some(at(70))));
    }

    #[test]
    fn after_the_window_nothing_is_sent() {
        let (sent, progress) = play(usize::MAX);
        assert_eq!((sent.len(), sent.last()), (30, Some(&870)));
        assert_eq!((progress.state, progress.completed_at), (ActionState::Failed, Some(at(900))));
        assert_eq!(step(Switch::Start, PowerState::Stopped, &[890], 895), Step::WaitUntil(at(900)));
    }

    #[test]
    fn a_state_reached_without_a_command_is_unnecessary() {
        let there = PowerState::Charging;
        let end = |event| Step::End(event);
        assert_eq!(step(Switch::Start, there, &[], 5), end(ActionEvent::Unnecessary));
        assert_eq!(step(Switch::Start, there, &[0], 5), end(ActionEvent::Reached));
        assert_eq!(step(Switch::Start, there, &[0], 900), end(ActionEvent::Reached));
    }

    #[test]
    fn a_fault_ends_the_action() {
        let words = "The device cannot charge: its state is fault.".to_string();
        let unmet = Step::End(ActionEvent::PreconditionUnmet(Some(words)));
        assert_eq!(step(Switch::Start, PowerState::Fault, &[0], 20), unmet);
        assert_eq!(step(Switch::Start, PowerState::Unknown, &[0], 20), Step::WaitUntil(at(30)));
    }

    #[test]
    fn an_ended_action_is_left_alone_in_every_state() {
        let ended = Progress::created(at(0)).after(&ActionEvent::CancelRequested, at(1)).unwrap();
        for state in PowerState::ALL {
            let (command, reading) = (Command::Charge(Switch::Stop), DeviceReading::of(state));
            let step = next_step(
                &command,
                &ended,
                Attempts::default(),
                &reading,
                Persistence::default(),
                at(2),
            );
            assert_eq!(step, Step::Done);
        }
    }

    #[test]
    fn a_stop_of_a_fault_is_there_already() {
        let end = Step::End(ActionEvent::Unnecessary);
        assert_eq!(step(Switch::Stop, PowerState::Fault, &[], 0), end);
        assert_eq!(step(Switch::Stop, PowerState::Discharging, &[], 0), Step::Send);
    }

    #[test]
    fn the_end_of_the_calendar_is_no_surprise() {
        let last = DateTime::<Utc>::MAX_UTC;
        let start = Command::Charge(Switch::Start);
        let reading = DeviceReading::of(PowerState::Stopped);
        let attempts = Attempts { count: 1, last_at: Some(last), rival_created_at: Some(last) };
        let persistence = Persistence { timeout_seconds: u32::MAX, retry_seconds: u32::MAX };
        let progress = Progress::created(last);
        let step = next_step(&start, &progress, attempts, &reading, persistence, last);
        assert_eq!(step, Step::End(ActionEvent::TimedOut));
    }
}
