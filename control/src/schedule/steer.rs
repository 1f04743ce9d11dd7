//! Next order to a target so that it reaches the desired switch position, and pauses between
//! orders.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::device::command::{Command, DeviceReading, Switch};
use crate::device::power_state::PowerState;

/// Pauses before the same order is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patience {
    /// Seconds after the first time; each further time doubles them.
    pub pause_seconds: u32,
    /// Longest pause. After it the count of repetitions starts from zero.
    pub pause_seconds_max: u32,
}

impl Default for Patience {
    /// Five minutes, growing to an hour.
    fn default() -> Self {
        Self { pause_seconds: 5 * 60, pause_seconds_max: 60 * 60 }
    }
}

/// Consecutive orders of one switch position to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tries {
    /// Switch position ordered.
    pub switch: Switch,
    /// Number of orders.
    pub count: u32,
    /// Time at which the last action ended; `None` while it is pending.
    pub ended_at: Option<DateTime<Utc>>,
}

/// Requester of a pending action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asker {
    /// The one in charge now.
    #[serde(rename = "in_charge")]
    InCharge,
    /// A schedule, plan or override that is not in charge any more.
    #[serde(rename = "former")]
    Former,
    /// A client by hand.
    #[serde(rename = "client")]
    Client,
}

/// The pending action of a target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InFlight {
    /// Requester of the action.
    pub asker: Asker,
    /// Command of the action.
    pub command: Command,
}

/// Everything that decides on the next move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteerFacts {
    /// Switch position that the controller wants; `None` leaves the target as it is.
    pub desired: Option<Switch>,
    /// True if a plug is in.
    pub is_plugged_in: Option<bool>,
    /// Last reading of the target.
    pub reading: DeviceReading,
    /// Its pending action.
    pub in_flight: Option<InFlight>,
    /// Earlier orders to the target.
    pub tries: Option<Tries>,
}

/// The next thing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Move {
    /// No order until the facts change.
    #[serde(rename = "rest")]
    Rest,
    /// No order before this instant.
    #[serde(rename = "wait_until")]
    WaitUntil(DateTime<Utc>),
    /// Order this switch position; it ends a pending action.
    #[serde(rename = "order")]
    Order(Switch),
    /// Call the pending action off.
    #[serde(rename = "call_off")]
    CallOff,
}

impl SteerFacts {
    /// Decides on the next move for a target at `now`, and on the orders to remember.
    ///
    /// * A position that the target already has is not ordered, nor one that it cannot reach in
    ///   its state: without a plug, with a fault, or full. Only a target that charges is stopped.
    /// * An order that is pending is not repeated. A limit that a client sets is completed first:
    ///   a target has one pending action, and a person's request is not dropped for a rule. A
    ///   client's start or stop from before the controller took over is replaced.
    /// * An action of a schedule or plan that is no longer wanted is cancelled.
    /// * The same order is repeated only after a pause that doubles, counted from the end of the
    ///   previous action, for any outcome. A target that does not execute an order, or reverts
    ///   it, is thus not ordered in a tight loop. The opposite order, or an unplugged cable,
    ///   resets the count.
    ///
    /// # Example
    ///
    /// A car was ordered to start and did not. The order is repeated after five minutes.
    ///
    /// ```
    /// use slackwater_control::device::command::{DeviceReading, Switch};
    /// use slackwater_control::device::power_state::PowerState;
    /// use slackwater_control::schedule::steer::*;
    /// let six = "2026-01-05T18:00:00Z".parse().unwrap();
    /// let told = Tries { switch: Switch::Start, count: 1, ended_at: Some(six) };
    /// let facts = SteerFacts {
    ///     desired: Some(Switch::Start),
    ///     is_plugged_in: Some(true),
    ///     reading: DeviceReading::of(PowerState::Stopped),
    ///     in_flight: None,
    ///     tries: Some(told),
    /// };
    /// let (next, _) = facts.next_move(Patience::default(), six);
    /// assert_eq!(next, Move::WaitUntil("2026-01-05T18:05:00Z".parse().unwrap()));
    /// ```
    #[must_use]
    pub fn next_move(&self, patience: Patience, now: DateTime<Utc>) -> (Move, Option<Tries>) {
        let tries = self.remembered(patience, now);
        let needed = self.desired.filter(|switch| self.is_needed(*switch));
        let next = match (self.in_flight, needed) {
            (Some(flight), needed) => self.beside(flight, needed),
            (None, Some(switch)) => match not_before(tries, switch, patience) {
                Some(at) if at > now => Move::WaitUntil(at),
                _ => Move::Order(switch),
            },
            (None, None) => Move::Rest,
        };
        match next {
            Move::Order(switch) => {
                // The count goes on for the same order; its pause begins when this action ends.
                let before = tries.filter(|tries| tries.switch == switch);
                let count = before.map_or(0, |tries| tries.count).saturating_add(1);
                (next, Some(Tries { switch, count, ended_at: None }))
            }
            _ => (next, tries),
        }
    }

    /// Returns true if an order is needed to reach the desired switch position and could succeed.
    fn is_needed(&self, switch: Switch) -> bool {
        let command = Command::Charge(switch);
        let can_obey = command.unmet_precondition(&self.reading).is_none();
        can_obey
            && match switch {
                Switch::Start => !command.is_reached(&self.reading),
                // An unknown state is no reason for a stop.
                Switch::Stop => self.reading.power_state == PowerState::Charging,
            }
    }

    /// Move while an action is pending.
    fn beside(&self, flight: InFlight, needed: Option<Switch>) -> Move {
        let told = match flight.command {
            Command::Charge(switch) => Some(switch),
            _ => None,
        };
        match (flight.asker, told, needed) {
            // Limits are completed, and so is a client's order that nothing replaces.
            (Asker::Client, None, _) | (Asker::Client, _, None) | (_, None, None) => Move::Rest,
            (_, told, Some(switch)) if told != Some(switch) => Move::Order(switch),
            (_, told, None) if told != self.desired => Move::CallOff,
            _ => Move::Rest,
        }
    }

    /// Earlier orders that still affect the pauses.
    fn remembered(&self, patience: Patience, now: DateTime<Utc>) -> Option<Tries> {
        // An unplugged cable ends the stay, and with it the memory of its orders.
        let tries = self.tries.filter(|_| self.is_plugged_in != Some(false))?;
        let is_opposite = self.desired.is_some_and(|desired| desired != tries.switch);
        let longest = TimeDelta::seconds(patience.pause_seconds_max.into());
        // After the longest pause the same order is free again, whatever its count.
        let is_old = tries.ended_at.is_some_and(|at| now - at >= longest);
        if is_opposite || is_old {
            return None;
        }
        // The action was pending at the last look and is not now, so its pause begins here.
        let ended_at = tries.ended_at.or((self.in_flight.is_none()).then_some(now));
        Some(Tries { ended_at, ..tries })
    }
}

/// Earliest time at which the same switch position may be ordered again.
fn not_before(tries: Option<Tries>, switch: Switch, patience: Patience) -> Option<DateTime<Utc>> {
    let tries = tries.filter(|tries| tries.switch == switch)?;
    // With at most 31 doublings the pause fits into 64 bits.
    let doublings = tries.count.saturating_sub(1).min(31);
    let pause = u64::from(patience.pause_seconds) << doublings;
    let pause = pause.min(patience.pause_seconds_max.into());
    tries.ended_at?.checked_add_signed(TimeDelta::seconds(pause as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use slackwater_engine::units::amps;
    use std::fmt::Write;

    fn at(minute: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minute)
    }

    fn facts(desired: Option<Switch>, state: PowerState) -> SteerFacts {
        SteerFacts {
            desired,
            is_plugged_in: state.is_plugged_in(),
            reading: DeviceReading::of(state),
            in_flight: None,
            tries: None,
        }
    }

    fn next(facts: &SteerFacts) -> Move {
        facts.next_move(Patience::default(), at(0)).0
    }

    #[test]
    fn only_what_is_not_so_and_can_be_is_ordered() {
        let mut table = String::new();
        for state in PowerState::ALL {
            let moves = [Some(Switch::Start), Some(Switch::Stop), None]
                .map(|desired| next(&facts(desired, state)));
            writeln!(table, "{}: {moves:?}", state.as_str()).unwrap();
        }
        expect![[r#"
            unknown: [Order(Start), Rest, Rest]
            unplugged: [Rest, Rest, Rest]
            initializing: [Order(Start), Rest, Rest]
            charging: [Rest, Order(Stop), Rest]
            complete: [Rest, Rest, Rest]
            stopped: [Order(Start), Rest, Rest]
            no_power: [Rest, Rest, Rest]
            fault: [Rest, Rest, Rest]
            discharging: [Order(Start), Rest, Rest]
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn what_becomes_of_a_pending_action() {
        let mut table = String::new();
        let commands = [
            Command::Charge(Switch::Start),
            Command::Charge(Switch::Stop),
            Command::MaxCurrent(amps(10.0)),
        ];
        for asker in [Asker::InCharge, Asker::Former, Asker::Client] {
            for command in commands {
                let moves = [Some(Switch::Start), Some(Switch::Stop), None].map(|desired| {
                    let in_flight = Some(InFlight { asker, command });
                    next(&SteerFacts { in_flight, ..facts(desired, PowerState::Stopped) })
                });
                writeln!(table, "{asker:?} {command:?}: {moves:?}").unwrap();
            }
        }
        expect![[r#"
            InCharge Charge(Start): [Rest, CallOff, CallOff]
            InCharge Charge(Stop): [Order(Start), Rest, CallOff]
            InCharge MaxCurrent(Current(10.0)): [Order(Start), Rest, Rest]
            Former Charge(Start): [Rest, CallOff, CallOff]
            Former Charge(Stop): [Order(Start), Rest, CallOff]
            Former MaxCurrent(Current(10.0)): [Order(Start), Rest, Rest]
            Client Charge(Start): [Rest, Rest, Rest]
            Client Charge(Stop): [Order(Start), Rest, Rest]
            Client MaxCurrent(Current(10.0)): [Rest, Rest, Rest]
        "#]]
        .assert_eq(&table);
    }

    /// Plays a day against a target that never obeys; actions end after a quarter of an hour.
    fn play(minutes: i64, mut change: impl FnMut(i64, &mut SteerFacts)) -> Vec<i64> {
        let mut facts = facts(Some(Switch::Start), PowerState::Stopped);
        let (mut orders, mut until) = (Vec::new(), None);
        for minute in 0..minutes {
            if until == Some(minute) {
                facts.in_flight = None;
            }
            change(minute, &mut facts);
            let (next, tries) = facts.next_move(Patience::default(), at(minute));
            facts.tries = tries;
            if let Move::Order(switch) = next {
                orders.push(minute);
                until = Some(minute + 15);
                let command = Command::Charge(switch);
                facts.in_flight = Some(InFlight { asker: Asker::InCharge, command });
            }
        }
        orders
    }

    #[test]
    fn a_target_that_never_obeys_is_told_less_and_less_often() {
        let orders = play(24 * 60, |_, _| ());
        // 15 min pending, then pauses of 5, 10, 20 and 40 min and of an hour; then anew.
        assert_eq!(orders[..7], [0, 20, 45, 80, 135, 210, 230]);
        assert!(orders.len() < 40, "{orders:?}");
    }

    #[test]
    fn a_cable_that_was_out_starts_anew() {
        let orders = play(60, |minute, facts| {
            let is_out = minute == 46;
            facts.is_plugged_in = Some(!is_out);
            let state = if is_out { PowerState::Unplugged } else { PowerState::Stopped };
            facts.reading = DeviceReading::of(state);
            if is_out {
                facts.in_flight = None;
            }
        });
        assert_eq!(orders, [0, 20, 45, 47]);
    }

    #[test]
    fn a_target_that_undoes_it_is_not_told_in_a_tight_loop() {
        // It charges for a minute after each order, and the action is confirmed then.
        let mut facts = facts(Some(Switch::Start), PowerState::Stopped);
        let mut orders = Vec::new();
        for minute in 0..120 {
            let charges = orders.last() == Some(&(minute - 1));
            let state = if charges { PowerState::Charging } else { PowerState::Stopped };
            facts.reading = DeviceReading::of(state);
            facts.in_flight = None;
            let (next, tries) = facts.next_move(Patience::default(), at(minute));
            facts.tries = tries;
            if next == Move::Order(Switch::Start) {
                orders.push(minute);
                let command = Command::Charge(Switch::Start);
                facts.in_flight = Some(InFlight { asker: Asker::InCharge, command });
            }
        }
        assert_eq!(orders, [0, 6, 17, 38, 79]);
    }

    #[test]
    fn the_opposite_is_ordered_at_once() {
        let tries = Some(Tries { switch: Switch::Start, count: 9, ended_at: Some(at(0)) });
        let stop = SteerFacts { tries, ..facts(Some(Switch::Stop), PowerState::Charging) };
        let (next, tries) = stop.next_move(Patience::default(), at(0));
        assert_eq!(next, Move::Order(Switch::Stop));
        assert_eq!(tries, Some(Tries { switch: Switch::Stop, count: 1, ended_at: None }));
    }

    #[test]
    fn large_numbers_are_no_surprise() {
        let far = DateTime::<Utc>::MAX_UTC;
        let tries = Some(Tries { switch: Switch::Start, count: u32::MAX, ended_at: Some(far) });
        let facts = SteerFacts { tries, ..facts(Some(Switch::Start), PowerState::Stopped) };
        let patience = Patience { pause_seconds: u32::MAX, pause_seconds_max: u32::MAX };
        assert_eq!(facts.next_move(patience, at(0)).0, Move::Order(Switch::Start));
    }
}
