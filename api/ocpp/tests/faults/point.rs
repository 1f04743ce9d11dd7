//! Simulated charge point: it reads and writes messages of its version, keeps profiles by its own clock, and
//! has a meter. Nothing of the service is used here.
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::protocol::{Call, Profile, Protocol};
use crate::world::{CLOCK_ERROR, Chance, Defect, second};

/// Deviation of a simulated charge point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deviation {
    /// It follows its profiles.
    None,
    /// Profiles are accepted and have no effect.
    Ignores,
    /// Profiles hold beyond their end.
    Keeps,
    /// All profiles are lost with the connection, as is known of its model.
    Forgets,
    /// Its clock is late by minutes, and it is of a model that is known.
    Late,
}

/// Charge point with one connector.
#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) protocol: Protocol,
    pub(crate) phases: [bool; 3],
    pub(crate) current_max: i64,
    pub(crate) default: i64,
    pub(crate) deviation: Deviation,
    clock_error: i64,
    profiles: Vec<Profile>,
    pub(crate) is_plugged: bool,
    /// Identifier of the transaction; in 1.6 once the service has given it.
    transaction: Option<Value>,
    /// Identifier of the message that began the transaction, while it waits for its answer.
    start_sent: Option<(String, i64)>,
    last_id: u64,
    pub(crate) rebooting_until: i64,
    /// Texts to send.
    pub(crate) out: Vec<String>,
}

impl Point {
    pub(crate) fn new(protocol: Protocol, chance: &mut Chance) -> Self {
        let single = chance.below(3) as usize;
        let is_single = chance.below(10) < 3;
        let deviation = match chance.below(14) {
            0 => Deviation::Ignores,
            1 => Deviation::Keeps,
            2 => Deviation::Forgets,
            3 => Deviation::Late,
            _ => Deviation::None,
        };
        let clock_error = chance.below(2 * CLOCK_ERROR + 1) - CLOCK_ERROR;
        let late = if deviation == Deviation::Late { 40 + chance.below(300) } else { 0 };
        Self {
            protocol,
            phases: [0, 1, 2].map(|phase| !is_single || phase == single),
            current_max: 16_000 + 16_000 * chance.below(2),
            default: 6_000 * chance.below(2),
            deviation,
            clock_error: clock_error - late,
            profiles: Vec::new(),
            is_plugged: false,
            transaction: None,
            start_sent: None,
            last_id: 0,
            rebooting_until: 0,
            out: Vec::new(),
        }
    }

    fn call(&mut self, (action, payload): Call) -> String {
        self.last_id += 1;
        let id = format!("cp-{}", self.last_id);
        self.out.push(json!([2, id, action, payload]).to_string());
        id
    }

    fn clock(&self, at: i64) -> DateTime<Utc> {
        second(at + self.clock_error)
    }

    /// Time as it stands in its messages.
    fn time(&self, at: i64) -> String {
        self.clock(at).to_rfc3339()
    }

    /// Introduces itself on a new connection.
    pub(crate) fn connects(&mut self, at: i64) {
        let (vendor, firmware) = match self.deviation {
            Deviation::Forgets => ("go-e", "56.2"),
            Deviation::Late => ("Easee", "1.0"),
            _ => ("Fjord", "1.0"),
        };
        self.call(self.protocol.write_boot(vendor, firmware));
        self.reports(at);
        if self.start_sent.is_some() {
            self.starts(at);
        }
    }

    fn reports(&mut self, at: i64) {
        let timestamp = self.time(at);
        self.call(self.protocol.write_status(self.is_plugged, &timestamp));
    }

    /// Meter values, while a vehicle is there.
    pub(crate) fn measures(&mut self, at: i64) {
        if self.is_plugged {
            let (timestamp, amps) = (self.time(at), self.draws(at) as f64 / 1000.0);
            self.call(self.protocol.write_meter_values(amps, &timestamp));
        }
    }

    /// Begins a transaction, or says again that it has begun.
    fn starts(&mut self, at: i64) {
        let began = self.start_sent.as_ref().map_or(at, |sent| sent.1);
        if self.protocol == Protocol::V201 && self.start_sent.is_none() {
            self.transaction = Some(json!(format!("tx-{at}")));
        }
        let start = self.protocol.write_start(self.transaction.as_ref(), &self.time(began));
        self.start_sent = Some((self.call(start), began));
    }

    pub(crate) fn plugs_in(&mut self, at: i64) {
        self.is_plugged = true;
        self.starts(at);
        self.reports(at);
    }

    pub(crate) fn unplugs(&mut self, at: i64) {
        self.is_plugged = false;
        let id = self.transaction.take();
        self.start_sent = None;
        self.profiles.retain(|profile| profile.is_default);
        // In 2.0.1 it knows whether there is a transaction; after a restart there is none.
        if self.protocol == Protocol::V16 || id.is_some() {
            self.call(self.protocol.write_stop(id.as_ref(), &self.time(at)));
        }
        self.reports(at);
    }

    /// The connection is gone.
    pub(crate) fn disconnects(&mut self) {
        self.out.clear();
        if self.deviation == Deviation::Forgets {
            self.profiles.clear();
        }
    }

    /// Restarts: defaults are kept, limits may be lost, and the transaction ends.
    pub(crate) fn reboots(&mut self, at: i64, chance: &mut Chance, defect: Option<Defect>) {
        self.rebooting_until = at + 5 + chance.below(40);
        let keeps_limits = chance.below(2) == 0;
        let keeps_all = defect != Some(Defect::RebootForgets);
        self.profiles.retain(|profile| {
            profile.is_default && keeps_all && (keeps_limits || profile.valid_to.is_none())
        });
        self.disconnects();
        self.transaction = None;
        self.start_sent = None;
    }

    /// Takes over a text of the service.
    pub(crate) fn hears(&mut self, text: &str, at: i64, chance: &mut Chance) {
        let frame: Value = serde_json::from_str(text).unwrap();
        let id = frame[1].as_str().unwrap().to_owned();
        if frame[0] == 3 {
            if self.start_sent.as_ref().is_some_and(|sent| sent.0 == id) {
                if self.protocol == Protocol::V16 {
                    self.transaction = frame[2].get("transactionId").cloned();
                }
                self.start_sent = None;
            }
            return;
        }
        if frame[0] != 2 {
            return;
        }
        if chance.happens(10) {
            self.out.push(json!([4, id, "InternalError", "busy", {}]).to_string());
            return;
        }
        let answer = self.answers(frame[2].as_str().unwrap(), &frame[3], at, chance);
        self.out.push(json!([3, id, answer]).to_string());
    }

    fn answers(&mut self, action: &str, payload: &Value, at: i64, chance: &mut Chance) -> Value {
        let is_taken = match action {
            "SetChargingProfile" => !chance.happens(20) && self.installs(payload),
            "ClearChargingProfile" => {
                self.profiles.retain(|profile| !profile.is_default);
                true
            }
            "GetCompositeSchedule" if !chance.happens(300) => {
                let limit = self.limit(at).unwrap_or(self.current_max) as f64 / 1000.0;
                return self.protocol.write_composite(&self.time(at), limit);
            }
            "GetConfiguration" | "GetVariables" => return self.protocol.write_variables(),
            _ => false,
        };
        json!({"status": if is_taken { "Accepted" } else { "Rejected" }})
    }

    /// Keeps a profile in place of the one with its identifier, or with its purpose and level.
    fn installs(&mut self, payload: &Value) -> bool {
        let profile = self.protocol.read_profile(payload);
        let is_of_other = !profile.is_default
            && (self.transaction.is_none() || profile.transaction != self.transaction);
        if is_of_other || !profile.is_in_amps {
            return false;
        }
        self.profiles.retain(|one| {
            one.id != profile.id
                && (one.is_default, one.level) != (profile.is_default, profile.level)
        });
        self.profiles.push(profile);
        true
    }

    /// Limit of the profiles by its own clock: one of the transaction first, then the highest level.
    fn limit(&self, at: i64) -> Option<i64> {
        if self.deviation == Deviation::Ignores {
            return None;
        }
        let clock = self.clock(at);
        let keeps = self.deviation == Deviation::Keeps;
        let holds = |profile: &&Profile| {
            let starts = profile.start.unwrap_or(clock);
            let ends = profile.duration.map(|duration| starts + duration);
            let is_over = [profile.valid_to, ends.filter(|_| profile.start.is_some())]
                .into_iter()
                .flatten()
                .any(|end| end <= clock);
            starts <= clock && (keeps || !is_over)
        };
        let valid = self.profiles.iter().filter(holds);
        valid.max_by_key(|one| (!one.is_default, one.level)).map(|one| one.milliamps)
    }

    /// Current that its meter shows, in milliamperes: all that it may draw.
    pub(crate) fn draws(&self, at: i64) -> i64 {
        if !self.is_plugged || at < self.rebooting_until {
            return 0;
        }
        let current = self.limit(at).unwrap_or(self.current_max).min(self.current_max);
        if current < 6_000 { 0 } else { current }
    }

    /// Current that no message can take from it.
    pub(crate) fn unbounded(&self) -> i64 {
        match self.deviation {
            Deviation::None | Deviation::Late => self.default,
            _ => self.current_max,
        }
    }
}
