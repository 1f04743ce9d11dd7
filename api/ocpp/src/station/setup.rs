//! Requests that this system makes of its own accord: the model, the states, the variables, and
//! the quantities that the meter reports. Each is made once, and not before the charge point has
//! settled after a start.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::facts::{Reply, Request, Trigger, Variable};
use crate::station::state::{Rules, Station};

/// Failures after which a charge point is left in peace until it connects again.
const FAILURES_MAX: u32 = 3;

/// Quantities without which nothing can be steered.
const NEEDED: [&str; 2] = ["Energy.Active.Import.Register", "Power.Active.Import"];

/// Quantities that are asked for.
const WANTED: [&str; 4] =
    ["Energy.Active.Import.Register", "Power.Active.Import", "Current.Import", "Current.Offered"];

/// Search for the quantities that a meter reports. A charge point that refuses the whole list is
/// asked for one after the other, and then for those that it took.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// The whole list comes next.
    #[default]
    Whole,
    /// Single quantities, from one of the list.
    Single {
        /// Position in the list.
        next: usize,
        /// Quantities that were taken.
        taken: Vec<String>,
    },
    /// Nothing is left to ask.
    Done,
}

impl Station {
    /// The next request of our own accord; `None` if there is none now.
    #[must_use]
    pub fn wanted(&self, rules: &Rules, now: DateTime<Utc>) -> Option<Request> {
        let link = self.link.as_ref()?;
        if !self.is_settled(now) {
            return None;
        }
        // Limits come first: they keep a fuse from tripping.
        let limits = self
            .connectors
            .keys()
            .find_map(|&number| self.limit_request(number, rules, now).ok().flatten());
        if limits.is_some() || link.failures >= FAILURES_MAX {
            return limits;
        }
        if self.model.is_none() && !link.has_asked_boot {
            return Some(Request::Trigger { message: Trigger::Boot, connector: None });
        }
        if self.connectors.values().all(|state| state.status.is_none()) && !link.has_asked_status {
            return Some(Request::Trigger { message: Trigger::Status, connector: None });
        }
        if self.model.is_some() && self.variables_of != self.model {
            return Some(Request::ReadVariables);
        }
        self.wanted_interval(rules)
            .or_else(|| self.wanted_measurands())
            .or_else(|| self.trial_request(rules, now))
    }

    /// A meter that reports often enough, or at all.
    fn wanted_interval(&self, rules: &Rules) -> Option<Request> {
        let known = self.variables.get(&Variable::MeterInterval)?;
        let wanted = rules.meter_interval_seconds;
        let is_fine = known.trim().parse().is_ok_and(|known: u32| (1..=wanted).contains(&known));
        let variable = Variable::MeterInterval;
        (!is_fine).then(|| Request::SetVariable { variable, value: wanted.to_string() })
    }

    fn wanted_measurands(&self) -> Option<Request> {
        let known = self.variables.get(&Variable::Measurands)?;
        let reports = |wanted: &&str| known.split(',').any(|known| known.trim() == *wanted);
        if NEEDED.iter().all(reports) {
            return None;
        }
        let value = match &self.probe {
            Probe::Whole => WANTED.join(","),
            Probe::Single { next, taken } => {
                WANTED.get(*next).map_or_else(|| taken.join(","), |&single| single.to_owned())
            }
            Probe::Done => return None,
        };
        let variable = Variable::Measurands;
        (!value.is_empty()).then_some(Request::SetVariable { variable, value })
    }

    /// Takes over the reply to a request.
    pub fn replied(&mut self, request: &Request, reply: &Reply, rules: &Rules, now: DateTime<Utc>) {
        if self.takes_trial_reply(request, reply, rules, now) {
            return;
        }
        if let Request::SetProfile { connector, profile, .. } = request {
            return self.was_written(*connector, profile, reply, rules, now);
        }
        if let Request::Stop { transaction } = request {
            return self.was_stopped(transaction, now);
        }
        self.count_failure(reply);
        match (request, reply) {
            (Request::ReadSchedule { connector, .. }, reply) => {
                self.was_checked(*connector, reply, rules, now);
            }
            (_, Reply::Lost | Reply::TimedOut) => {}
            (Request::Trigger { message, .. }, _) => self.note_trigger(*message),
            (Request::ReadVariables, reply) => {
                self.variables_of.clone_from(&self.model);
                if let Reply::Variables(read) = reply {
                    self.variables.extend(read.iter().cloned());
                }
            }
            (Request::SetVariable { variable, value }, reply) => {
                self.was_set(*variable, value, *reply == Reply::Accepted);
            }
            _ => {}
        }
    }

    fn count_failure(&mut self, reply: &Reply) {
        let is_failure = matches!(reply, Reply::TimedOut | Reply::Failed { .. });
        if let Some(link) = self.link.as_mut().filter(|_| is_failure) {
            link.failures += 1;
        }
    }

    fn note_trigger(&mut self, message: Trigger) {
        let Some(link) = &mut self.link else { return };
        match message {
            Trigger::Boot => link.has_asked_boot = true,
            Trigger::Status => link.has_asked_status = true,
            _ => {}
        }
    }

    /// Takes over whether a variable was set. One that cannot be set is not asked for again.
    fn was_set(&mut self, variable: Variable, value: &str, is_set: bool) {
        if variable == Variable::Measurands {
            return self.was_probed(value, is_set);
        }
        if is_set {
            self.variables.insert(variable, value.to_owned());
        } else {
            self.variables.remove(&variable);
        }
    }

    fn was_probed(&mut self, value: &str, is_set: bool) {
        let is_single = WANTED.contains(&value);
        self.probe = match std::mem::take(&mut self.probe) {
            Probe::Whole if !is_set => Probe::Single { next: 0, taken: Vec::new() },
            Probe::Single { next, mut taken } if is_single && next < WANTED.len() => {
                if is_set {
                    taken.push(value.to_owned());
                }
                Probe::Single { next: next + 1, taken }
            }
            _ => Probe::Done,
        };
        if is_set && self.probe == Probe::Done {
            self.variables.insert(Variable::Measurands, value.to_owned());
        }
    }
}
