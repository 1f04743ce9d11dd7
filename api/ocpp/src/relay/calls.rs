//! Requests of the upstream system: passed on as they are, passed on with other identifiers, or
//! answered here, because limits are combined.
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::facts::Connector;
use crate::fields::{Fault, Fields};
use crate::frame::Frame;
use crate::relay::shared::Shared;
use crate::relay::theirs::Keeping;
use crate::station::state::Station;
use crate::version::Version;

/// Treatment of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Goes to the charge point.
    Pass {
        /// Text for it.
        text: String,
        /// True for a start that brought a profile, which is forgotten if the start is refused.
        has_profile: bool,
    },
    /// Answered here with these fields.
    Answer(Value),
    /// Answered here with an error.
    Fail(Fault),
    /// Answered here once the charge point holds the limit.
    Promise {
        /// Connector, or 0 for all.
        connector: Connector,
        /// Identifier of the profile.
        profile: i32,
    },
}

/// State that a request of the upstream system is judged by, and may change.
#[derive(Debug)]
pub struct Judge<'a> {
    /// Version of the protocol.
    pub version: Version,
    /// State of the charge point.
    pub station: &'a Station,
    /// State that both systems share.
    pub shared: &'a mut Shared,
    /// Time of the request.
    pub now: DateTime<Utc>,
}

impl Judge<'_> {
    /// Judges a request that came as `text`.
    pub fn judge(&mut self, text: &str, id: &str, action: &str, payload: &Value) -> Verdict {
        let unchanged = Verdict::Pass { text: text.to_owned(), has_profile: false };
        let is_limited_here = self.station.takes_limits();
        match action {
            "SetChargingProfile" if is_limited_here => self.set_profile(payload),
            "ClearChargingProfile" if is_limited_here => {
                let status = if self.shared.theirs.clear(payload) { "Accepted" } else { "Unknown" };
                Verdict::Answer(json!({ "status": status }))
            }
            // The charge point would report ours.
            "GetChargingProfiles" if is_limited_here => {
                Verdict::Fail(Fault::NotSupported { action: action.to_owned() })
            }
            "RemoteStartTransaction" | "RequestStartTransaction" => {
                self.start(id, action, payload, is_limited_here).unwrap_or(unchanged)
            }
            "RemoteStopTransaction" | "RequestStopTransaction" => {
                self.stop(id, action, payload).unwrap_or(unchanged)
            }
            _ => unchanged,
        }
    }

    fn set_profile(&mut self, payload: &Value) -> Verdict {
        let (place, fields) = match self.version {
            Version::V16 => ("connectorId", "csChargingProfiles"),
            Version::V201 => ("evseId", "chargingProfile"),
        };
        let connector = match Fields(payload).connector(place) {
            Ok(connector) => connector,
            Err(fault) => return Verdict::Fail(fault),
        };
        let Some(profile) = payload.get(fields) else {
            return Verdict::Fail(Fault::Missing { field: fields });
        };
        let transaction = self.transaction_of(connector, profile);
        let kept = self.shared.theirs.keep(profile, connector, transaction, false, self.now);
        match kept {
            Ok(Keeping::As(profile)) => Verdict::Promise { connector, profile },
            Ok(Keeping::No) => Verdict::Answer(json!({"status": "Rejected"})),
            Err(fault) => Verdict::Fail(fault),
        }
    }

    /// The open transaction at a connector, if it is the one that a profile names, or it names none.
    fn transaction_of(&self, connector: Connector, profile: &Value) -> Option<String> {
        let open = self.station.connectors.get(&connector)?.transactions.open.as_ref()?;
        let named = match profile.get("transactionId") {
            Some(Value::Number(number)) => Some(self.shared.given_id(number.as_i64()?).to_string()),
            Some(Value::String(text)) => Some(text.clone()),
            _ => None,
        };
        named.is_none_or(|named| named == open.id).then(|| open.id.clone())
    }

    /// A start without its profile, which is kept here; `None` if it passes as it is.
    fn start(
        &mut self,
        id: &str,
        action: &str,
        payload: &Value,
        is_limited_here: bool,
    ) -> Option<Verdict> {
        let place = if self.version == Version::V16 { "connectorId" } else { "evseId" };
        if let Ok(number) = Fields(payload).connector(place) {
            self.shared.stopped.remove(&number);
        } else {
            self.shared.stopped.clear();
        }
        let profile = payload.get("chargingProfile").filter(|_| is_limited_here)?;
        let connector = Fields(payload).connector(place).unwrap_or(0);
        if let Err(fault) = self.shared.theirs.keep(profile, connector, None, true, self.now) {
            return Some(Verdict::Fail(fault));
        }
        let mut payload = payload.clone();
        payload.as_object_mut()?.remove("chargingProfile");
        let call = Frame::Call { id: id.to_owned(), action: action.to_owned(), payload };
        Some(Verdict::Pass { text: call.write(), has_profile: true })
    }

    /// A stop, by the identifier that the charge point knows; `None` if it passes as it is.
    fn stop(&mut self, id: &str, action: &str, payload: &Value) -> Option<Verdict> {
        let theirs = payload.get("transactionId")?;
        if let Some(text) = theirs.as_str() {
            self.shared.stop(text, self.station);
            return None;
        }
        let theirs = theirs.as_i64()?;
        let given = self.shared.given_id(theirs);
        self.shared.stop(&given.to_string(), self.station);
        if given == theirs {
            return None;
        }
        let payload = json!({ "transactionId": given });
        let call = Frame::Call { id: id.to_owned(), action: action.to_owned(), payload };
        Some(Verdict::Pass { text: call.write(), has_profile: false })
    }
}
