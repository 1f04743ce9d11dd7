//! Exchange with a charge point and with the upstream system: who answers, and in which order.
//!
//! A value without sockets and clock, like the [`Session`] in it, which is this system's part of the
//! exchange. Without an upstream system it is the session and nothing more.
use std::collections::VecDeque;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::facts::{Connector, Event, Request, Stage};
use crate::fields::Fault;
use crate::frame::{Frame, FrameError};
use crate::relay::backlog::is_kept;
use crate::relay::calls::{Judge, Verdict};
use crate::relay::shared::{GIVEN_ID_MIN, Shared};
use crate::session::{OWN_PREFIX, Session, Step, Ticket};
use crate::station::state::{Rules, Station};
use crate::version::Version;

/// Most requests of one side that wait for the other.
const WAITING_MAX: usize = 64;

/// Pause before a boot notification that the upstream system did not accept is repeated, if it does
/// not say.
const BOOT_RETRY: TimeDelta = TimeDelta::seconds(60);

/// State that a step reads and changes.
#[derive(Debug)]
pub struct Parts<'a> {
    /// State of the charge point.
    pub station: &'a mut Station,
    /// State that both systems share.
    pub shared: &'a mut Shared,
    /// Rules for the charge point.
    pub rules: &'a Rules,
    /// Time of the step.
    pub now: DateTime<Utc>,
}

/// Result of a step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RelayStep {
    /// Texts for the charge point, and replies to orders.
    pub own: Step,
    /// Texts for the upstream system, in order.
    pub upstream: Vec<String>,
    /// True if the connection to the upstream system is to be made anew: it does not answer.
    pub resets: bool,
}

/// Connection to the upstream system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    /// There is no upstream system.
    None,
    /// It is tried for the first time: the charge point waits for its answers.
    Connecting,
    /// It is there.
    Up,
    /// It is away: this system answers.
    Down,
}

/// Request of the charge point.
#[derive(Debug, Clone, PartialEq)]
struct PointCall {
    text: String,
    id: String,
    action: String,
    payload: Value,
    deadline: DateTime<Utc>,
}

/// Request that the upstream system has to answer.
#[derive(Debug, Clone, PartialEq)]
enum Sent {
    /// Of the charge point, which waits for the answer.
    Live(PointCall),
    /// A message about a transaction that was missed.
    Missed,
    /// The boot notification that was missed.
    Boot,
    /// A state that was missed.
    Status(Connector),
}

#[derive(Debug, Clone, PartialEq)]
struct InFlight {
    id: String,
    sent: Sent,
    deadline: DateTime<Utc>,
}

/// Request of the upstream system.
#[derive(Debug, Clone, PartialEq)]
struct UpstreamCall {
    text: String,
    id: String,
    has_profile: bool,
}

/// Request of the upstream system that the charge point has to answer.
#[derive(Debug, Clone, PartialEq)]
struct AtPoint {
    /// Identifier at the charge point.
    id: String,
    call: UpstreamCall,
    /// True if the upstream system has left since.
    is_orphan: bool,
    deadline: DateTime<Utc>,
}

/// Profile whose acceptance is answered once the charge point holds it.
#[derive(Debug, Clone, PartialEq)]
struct Promise {
    id: String,
    connector: Connector,
    profile: i32,
    deadline: DateTime<Utc>,
}

/// Exchange over the connection of a charge point and the one to its upstream system.
#[derive(Debug, Clone, PartialEq)]
pub struct Relay {
    version: Version,
    timeout: TimeDelta,
    session: Session,
    link: Link,
    waiting: VecDeque<PointCall>,
    in_flight: Option<InFlight>,
    calls: VecDeque<UpstreamCall>,
    at_point: Option<AtPoint>,
    promises: Vec<Promise>,
    boot_retry_at: Option<DateTime<Utc>>,
}

impl RelayStep {
    fn add(&mut self, step: Step) {
        self.own.send.extend(step.send);
        self.own.done.extend(step.done);
        self.own.ended.extend(step.ended);
        self.own.is_urgent |= step.is_urgent;
    }
}

impl Relay {
    /// Exchange in a version, with an upstream system or without. A request without an answer fails
    /// after `timeout`.
    #[must_use]
    pub fn new(version: Version, timeout: TimeDelta, has_upstream: bool) -> Self {
        let session = Session::new(version, timeout);
        Self {
            version,
            timeout,
            session: if has_upstream { session.sharing() } else { session },
            link: if has_upstream { Link::Connecting } else { Link::None },
            waiting: VecDeque::new(),
            in_flight: None,
            calls: VecDeque::new(),
            at_point: None,
            promises: Vec::new(),
            boot_retry_at: None,
        }
    }

    /// Returns true if the charge point has to answer a request of ours.
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        self.session.is_waiting()
    }

    /// Takes over a text of the charge point.
    pub fn point_said(&mut self, text: &str, parts: &mut Parts<'_>) -> RelayStep {
        let mut step = RelayStep::default();
        if self.link == Link::None {
            step.own = self.session.receive(text, parts.station, parts.rules, parts.now);
            return step;
        }
        self.hold();
        match Frame::read(text) {
            Ok(Frame::Call { id, action, payload }) => {
                parts.station.heard_at = Some(parts.now);
                let deadline = parts.now + self.timeout;
                let call = PointCall { text: text.to_owned(), id, action, payload, deadline };
                self.take_call(call, parts, &mut step);
            }
            Ok(Frame::CallResult { id, payload }) if self.is_at_point(&id) => {
                self.take_point_answer(text, &payload, parts, &mut step);
            }
            Ok(Frame::CallError { id, .. }) if self.is_at_point(&id) => {
                self.take_point_answer(text, &Value::Null, parts, &mut step);
            }
            _ => step.add(self.session.receive(text, parts.station, parts.rules, parts.now)),
        }
        self.go_on(parts, &mut step);
        step
    }

    /// Takes over a text of the upstream system.
    pub fn upstream_said(&mut self, text: &str, parts: &mut Parts<'_>) -> RelayStep {
        let mut step = RelayStep::default();
        if self.link != Link::Up {
            return step;
        }
        self.hold();
        match Frame::read(text) {
            Ok(Frame::Call { id, action, payload }) => {
                let mut judge = Judge {
                    version: self.version,
                    station: parts.station,
                    shared: parts.shared,
                    now: parts.now,
                };
                let verdict = judge.judge(text, &id, &action, &payload);
                step.own.is_urgent = true;
                self.obey(verdict, id, parts.now, &mut step);
            }
            Ok(answer @ (Frame::CallResult { .. } | Frame::CallError { .. })) => {
                self.take_upstream_answer(text, &answer, parts, &mut step);
            }
            Err(FrameError::Malformed { id, reason }) => {
                step.upstream.push(self.write_failure(id, &Fault::Formation { reason }));
            }
            Err(FrameError::Unanswerable { .. }) => {}
        }
        self.go_on(parts, &mut step);
        step
    }

    /// Takes over that the upstream system is there.
    pub fn upstream_connected(&mut self, parts: &mut Parts<'_>) -> RelayStep {
        let mut step = RelayStep::default();
        self.hold();
        self.link = Link::Up;
        self.in_flight = None;
        self.boot_retry_at = None;
        self.go_on(parts, &mut step);
        step
    }

    /// Takes over that the upstream system is away: this one answers in its place.
    pub fn upstream_lost(&mut self, parts: &mut Parts<'_>) -> RelayStep {
        let mut step = RelayStep::default();
        self.hold();
        self.lose(parts, &mut step);
        self.go_on(parts, &mut step);
        step
    }

    /// Lets time pass.
    pub fn tick(&mut self, parts: &mut Parts<'_>) -> RelayStep {
        let mut step = RelayStep::default();
        if self.link == Link::None {
            step.own = self.session.tick(parts.station, parts.rules, parts.now);
            return step;
        }
        self.hold();
        let now = parts.now;
        let is_late = self.in_flight.as_ref().is_some_and(|sent| sent.deadline <= now)
            || self.waiting.front().is_some_and(|call| call.deadline <= now);
        if is_late {
            step.resets = self.link == Link::Up;
            self.lose(parts, &mut step);
        }
        if let Some(late) = self.at_point.take_if(|at| at.deadline <= now) {
            if late.call.has_profile {
                parts.shared.theirs.forget_start();
            }
            tracing::debug!(id = late.id, "a request of the upstream system was not answered");
        }
        self.go_on(parts, &mut step);
        step
    }

    /// Orders a request of this system.
    pub fn order(
        &mut self,
        request: Request,
        ticket: Option<Ticket>,
        parts: &mut Parts<'_>,
    ) -> RelayStep {
        self.hold();
        let own = self.session.order(request, ticket, parts.station, parts.rules, parts.now);
        RelayStep { own, ..RelayStep::default() }
    }

    /// Ends the exchange with the charge point.
    pub fn close(&mut self, parts: &mut Parts<'_>) -> Step {
        self.session.close(parts.station, parts.rules, parts.now)
    }

    /// One request at a time for the charge point: those of the upstream system first.
    fn hold(&mut self) {
        self.session.is_held = self.at_point.is_some() || !self.calls.is_empty();
    }

    fn is_at_point(&self, id: &str) -> bool {
        self.at_point.as_ref().is_some_and(|at| at.id == id)
    }

    fn write_failure(&self, id: String, fault: &Fault) -> String {
        let code = self.version.code_of(fault).to_owned();
        Frame::CallError { id, code, description: fault.to_string() }.write()
    }

    // Requests of the charge point.

    /// Passes a request on, or answers it: while the upstream system is away, and messages about
    /// transactions as long as earlier ones wait, so that they arrive in order.
    fn take_call(&mut self, call: PointCall, parts: &mut Parts<'_>, step: &mut RelayStep) {
        let follows = is_kept(&call.action) && !parts.shared.backlog.is_empty();
        if self.link == Link::Down || follows || self.waiting.len() >= WAITING_MAX {
            self.answer(&call, parts, step);
        } else {
            self.waiting.push_back(call);
        }
    }

    /// Answers in place of the upstream system, and keeps the message for it.
    fn answer(&mut self, call: &PointCall, parts: &mut Parts<'_>, step: &mut RelayStep) {
        let PointCall { text, action, payload, .. } = call;
        if is_kept(action) && !parts.shared.backlog.make_room(text.len()) {
            let code = "InternalError".to_owned();
            let description = "the upstream system is away, and no more is kept for it".to_owned();
            step.own.send.push(Frame::CallError { id: call.id.clone(), code, description }.write());
            return;
        }
        // Its own numbers would be those of other transactions upstream.
        parts.station.last_transaction = parts.station.last_transaction.max(GIVEN_ID_MIN);
        let own = self.session.receive(text, parts.station, parts.rules, parts.now);
        let answer = own.send.first().map(|answer| Frame::read(answer));
        if let Some(Ok(Frame::CallResult { payload: answer, .. })) = answer {
            if is_kept(action) {
                let given_id = answer.get("transactionId").and_then(Value::as_i64);
                parts.shared.backlog.keep(text, action, payload, given_id);
                step.own.is_urgent = true;
            }
            parts.shared.backlog.miss(text, self.version, action, payload);
        }
        step.add(own);
    }

    /// Takes over what a request says that the upstream system has answered, and returns the answer
    /// for the charge point: as it is, or with another identifier of the transaction.
    fn observe(
        &self,
        call: &PointCall,
        answer: (&str, &Frame),
        parts: &mut Parts<'_>,
        step: &mut RelayStep,
    ) -> String {
        let (text, frame) = answer;
        let PointCall { action, payload, .. } = call;
        parts.shared.backlog.had(self.version, action, payload);
        let Ok(mut event) = self.version.read_event(action, payload) else {
            return text.to_owned();
        };
        let mut changed = None;
        if let Event::Transaction(facts) = &mut event {
            step.own.is_urgent = true;
            if facts.stage == Stage::Started && facts.id.is_none() {
                let Some(theirs) = started_id(frame) else { return text.to_owned() };
                let given = Self::place_id(theirs, parts);
                facts.id = Some(given.to_string());
                changed = (given != theirs).then_some(given);
            }
        }
        step.own.is_urgent |= matches!(event, Event::Booted(_));
        parts.station.receive(event, parts.rules, parts.now);
        forget_id(action, payload, parts.shared);
        match (changed, frame) {
            (Some(given), Frame::CallResult { id, payload }) => {
                let mut payload = payload.clone();
                payload["transactionId"] = json!(given);
                Frame::CallResult { id: id.clone(), payload }.write()
            }
            _ => text.to_owned(),
        }
    }

    /// Identifier at the charge point for a transaction of the upstream system: its own, unless one
    /// of ours has it.
    fn place_id(theirs: i64, parts: &mut Parts<'_>) -> i64 {
        let Parts { station, shared, .. } = parts;
        if !shared.upstream_ids.contains_key(&theirs) && !shared.backlog.has_given(theirs) {
            return theirs;
        }
        station.last_transaction = station.last_transaction.max(GIVEN_ID_MIN) + 1;
        shared.upstream_ids.insert(station.last_transaction, theirs);
        station.last_transaction
    }

    // Answers of the upstream system.

    fn take_upstream_answer(
        &mut self,
        text: &str,
        frame: &Frame,
        parts: &mut Parts<'_>,
        step: &mut RelayStep,
    ) {
        let (Frame::CallResult { id, .. } | Frame::CallError { id, .. }) = frame else { return };
        let Some(sent) = self.in_flight.take_if(|sent| sent.id == *id) else { return };
        match sent.sent {
            Sent::Live(call) => {
                let answer = self.observe(&call, (text, frame), parts, step);
                step.own.send.push(answer);
            }
            Sent::Missed => self.delivered(frame, parts, step),
            Sent::Boot => self.booted(frame, parts),
            Sent::Status(number) => {
                parts.shared.backlog.statuses.remove(&number);
            }
        }
    }

    /// Takes over that a missed message about a transaction was delivered. If the upstream system
    /// refuses its token, the transaction is stopped.
    fn delivered(&mut self, frame: &Frame, parts: &mut Parts<'_>, step: &mut RelayStep) {
        step.own.is_urgent = true;
        let Some(missed) = parts.shared.backlog.pop() else { return };
        let Ok(Frame::Call { action, payload, .. }) = Frame::read(&missed.text) else { return };
        if let Frame::CallError { code, description, .. } = frame {
            tracing::warn!(action, ?code, ?description, "the upstream system refused a message");
        }
        if let (Some(given), Some(theirs)) = (missed.given_id, started_id(frame)) {
            parts.shared.upstream_ids.insert(given, theirs);
        }
        let is_end = action == "StopTransaction" || payload["eventType"] == "Ended";
        if !is_end && is_refused(frame) {
            let named = payload["transactionInfo"]["transactionId"].as_str().map(str::to_owned);
            if let Some(transaction) = missed.given_id.map(|id| id.to_string()).or(named) {
                self.stop(transaction, parts, step);
            }
        }
        forget_id(&action, &payload, parts.shared);
    }

    fn stop(&mut self, transaction: String, parts: &mut Parts<'_>, step: &mut RelayStep) {
        let is_open =
            parts.station.connectors.values().any(|state| state.transactions.is_open(&transaction));
        if is_open {
            parts.shared.stop(&transaction, parts.station);
            let request = Request::Stop { transaction };
            step.add(self.session.order(request, None, parts.station, parts.rules, parts.now));
        }
    }

    /// Takes over the answer to a missed boot notification. Until it is accepted nothing else that
    /// was missed is delivered.
    fn booted(&mut self, frame: &Frame, parts: &mut Parts<'_>) {
        let Frame::CallResult { payload, .. } = frame else {
            self.boot_retry_at = Some(parts.now + BOOT_RETRY);
            return;
        };
        if payload["status"] == "Accepted" {
            parts.shared.backlog.boot = None;
            return;
        }
        let pause = payload["interval"].as_i64().filter(|&pause| pause > 0);
        let pause = pause.and_then(TimeDelta::try_seconds).unwrap_or(BOOT_RETRY);
        self.boot_retry_at = parts.now.checked_add_signed(pause);
    }

    /// Takes over that the upstream system is away. Requests of the charge point are answered here;
    /// nobody waits for the answers to those of the upstream system.
    fn lose(&mut self, parts: &mut Parts<'_>, step: &mut RelayStep) {
        self.link = Link::Down;
        self.calls.clear();
        self.promises.clear();
        if let Some(at) = &mut self.at_point {
            at.is_orphan = true;
        }
        let in_flight = self.in_flight.take().and_then(|sent| match sent.sent {
            Sent::Live(call) => Some(call),
            _ => None,
        });
        for call in in_flight.into_iter().chain(std::mem::take(&mut self.waiting)) {
            self.answer(&call, parts, step);
        }
    }

    // Requests of the upstream system.

    fn obey(&mut self, verdict: Verdict, id: String, now: DateTime<Utc>, step: &mut RelayStep) {
        match verdict {
            Verdict::Pass { text, has_profile } if self.calls.len() < WAITING_MAX => {
                self.calls.push_back(UpstreamCall { text, id, has_profile });
            }
            Verdict::Pass { .. } => {
                let (code, description) =
                    ("InternalError".to_owned(), "too many requests".to_owned());
                step.upstream.push(Frame::CallError { id, code, description }.write());
            }
            Verdict::Answer(payload) => {
                step.upstream.push(Frame::CallResult { id, payload }.write());
            }
            Verdict::Fail(fault) => step.upstream.push(self.write_failure(id, &fault)),
            Verdict::Promise { connector, profile } => {
                let deadline = now + self.timeout;
                self.promises.push(Promise { id, connector, profile, deadline });
            }
        }
    }

    /// Passes the answer of the charge point on.
    fn take_point_answer(
        &mut self,
        text: &str,
        payload: &Value,
        parts: &mut Parts<'_>,
        step: &mut RelayStep,
    ) {
        let Some(at) = self.at_point.take() else { return };
        if at.call.has_profile && payload["status"] != "Accepted" {
            parts.shared.theirs.forget_start();
        }
        if at.is_orphan {
            return;
        }
        let text =
            if at.id == at.call.id { text.to_owned() } else { rename_message(text, at.call.id) };
        step.upstream.push(text);
    }

    /// Answers about profiles that the charge point holds by now, or refuses.
    fn keep_promises(&mut self, parts: &mut Parts<'_>, step: &mut RelayStep) {
        let mut open = Vec::new();
        for promise in std::mem::take(&mut self.promises) {
            let is_held = match is_held(promise.connector, parts) {
                None if promise.deadline <= parts.now => Some(false),
                held => held,
            };
            let Some(is_held) = is_held else {
                open.push(promise);
                continue;
            };
            if !is_held {
                parts.shared.theirs.remove(promise.profile);
            }
            let payload = json!({"status": if is_held { "Accepted" } else { "Rejected" }});
            step.upstream.push(Frame::CallResult { id: promise.id, payload }.write());
        }
        self.promises = open;
    }

    // What comes next.

    fn go_on(&mut self, parts: &mut Parts<'_>, step: &mut RelayStep) {
        if self.link == Link::None {
            return;
        }
        parts.shared.theirs.follow(parts.station);
        parts.shared.forget_stops(parts.station);
        parts.shared.theirs.cap(parts.station, parts.rules, parts.now);
        self.keep_promises(parts, step);
        self.send_upstream(parts, step);
        self.send_point(parts, step);
    }

    /// Sends the next request to the upstream system, if it has answered the last.
    fn send_upstream(&mut self, parts: &mut Parts<'_>, step: &mut RelayStep) {
        if self.link != Link::Up || self.in_flight.is_some() {
            return;
        }
        let Some((text, sent)) = self.next_for_upstream(parts) else { return };
        let text = match self.version {
            Version::V16 => parts.shared.for_upstream(&text),
            Version::V201 => text,
        };
        let Ok(Frame::Call { id, .. }) = Frame::read(&text) else { return };
        let deadline = parts.now + self.timeout;
        self.in_flight = Some(InFlight { id, sent, deadline });
        step.upstream.push(text);
    }

    /// The next request for the upstream system: the charge point waits for its own, then come those
    /// that were missed, the introduction first.
    fn next_for_upstream(&mut self, parts: &Parts<'_>) -> Option<(String, Sent)> {
        let backlog = &parts.shared.backlog;
        let may_boot = self.boot_retry_at.is_none_or(|at| at <= parts.now);
        let is_booting = self.waiting.front().is_some_and(|call| call.action == "BootNotification");
        if let Some(boot) = backlog.boot.clone().filter(|_| may_boot && !is_booting) {
            return Some((boot, Sent::Boot));
        }
        if let Some(mut call) = self.waiting.pop_front() {
            call.deadline = parts.now + self.timeout;
            return Some((call.text.clone(), Sent::Live(call)));
        }
        if backlog.boot.is_some() {
            return None;
        }
        if let Some(missed) = backlog.first() {
            return Some((missed.text.clone(), Sent::Missed));
        }
        let (number, text) = backlog.statuses.first_key_value()?;
        Some((text.clone(), Sent::Status(*number)))
    }

    /// Sends the next request to the charge point, if it has answered the last.
    fn send_point(&mut self, parts: &mut Parts<'_>, step: &mut RelayStep) {
        if self.at_point.is_none()
            && !self.session.is_waiting()
            && let Some(call) = self.calls.pop_front()
        {
            // Its identifier is its own, unless it might be taken for one of ours.
            let id = if call.id.starts_with(OWN_PREFIX) {
                self.session.next_id()
            } else {
                call.id.clone()
            };
            let text = if id == call.id {
                call.text.clone()
            } else {
                rename_message(&call.text, id.clone())
            };
            step.own.send.push(text);
            let deadline = parts.now + self.timeout;
            self.at_point = Some(AtPoint { id, call, is_orphan: false, deadline });
        }
        self.hold();
        step.add(self.session.tick(parts.station, parts.rules, parts.now));
    }
}

/// Returns true if the charge point holds the limits of a connector, false if it never will, and
/// `None` if they are still to be written.
fn is_held(connector: Connector, parts: &Parts<'_>) -> Option<bool> {
    let (station, rules, now) = (&parts.station, parts.rules, parts.now);
    if !station.takes_limits() {
        return Some(false);
    }
    let of = |number: &Connector| connector == 0 || *number == connector;
    for (number, state) in station.connectors.iter().filter(|(number, _)| of(number)) {
        if state.limits.retry_at.is_some_and(|retry| now < retry) {
            return None;
        }
        match station.limit_request(*number, rules, now) {
            Err(_) => return Some(false),
            Ok(Some(Request::SetProfile { .. } | Request::Stop { .. })) => return None,
            Ok(_) => {}
        }
    }
    Some(true)
}

/// Identifier of a transaction in the answer to its start (1.6).
fn started_id(frame: &Frame) -> Option<i64> {
    let Frame::CallResult { payload, .. } = frame else { return None };
    payload.get("transactionId")?.as_i64()
}

/// Returns true if an answer refuses the token.
fn is_refused(frame: &Frame) -> bool {
    let Frame::CallResult { payload, .. } = frame else { return false };
    ["idTagInfo", "idTokenInfo"]
        .iter()
        .any(|field| payload[field]["status"].as_str().is_some_and(|status| status != "Accepted"))
}

/// Forgets the identifier of a transaction whose end the upstream system has (1.6).
fn forget_id(action: &str, payload: &Value, shared: &mut Shared) {
    if action == "StopTransaction"
        && let Some(given) = payload["transactionId"].as_i64()
    {
        shared.upstream_ids.remove(&given);
    }
}

/// A text with another identifier of the message.
fn rename_message(text: &str, new: String) -> String {
    let Ok(mut frame) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    frame[1] = Value::from(new);
    frame.to_string()
}
