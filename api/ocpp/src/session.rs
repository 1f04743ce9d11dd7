//! Exchange of messages over one connection: identifiers, one request at a time, time-outs.
//!
//! A value without socket and clock: text and time come in, texts go out.
use std::collections::VecDeque;

use chrono::{DateTime, TimeDelta, Utc};

use crate::facts::{Event, Reply, Request};
use crate::fields::Fault;
use crate::frame::{Frame, FrameError};
use crate::station::limit_state::Check;
use crate::station::state::{Rules, Station};
use crate::version::Version;

/// Most requests of others that wait for one charge point.
const QUEUE_MAX: usize = 32;

/// Start of the identifiers of our requests beside those of another system.
pub const OWN_PREFIX: &str = "slackwater-";

/// Number by which whoever ordered a request knows its reply.
pub type Ticket = u64;

/// Result of a step: texts to send, and replies to orders.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// Frames for the charge point, in order.
    pub send: Vec<String>,
    /// Replies to orders.
    pub done: Vec<(Ticket, Reply)>,
    /// Requests that ended, orders and our own: the kind of each, and its outcome, for metrics.
    pub ended: Vec<(&'static str, &'static str)>,
    /// True if the state must be kept before anything is sent: a transaction was given its
    /// identifier, a request its reply, or the file does not tell how long a limit of a site among the
    /// frames may hold.
    pub is_urgent: bool,
}

/// Request that waits for its reply, or for its turn.
#[derive(Debug, Clone, PartialEq)]
struct Waiting {
    request: Request,
    ticket: Option<Ticket>,
}

/// Request that was sent.
#[derive(Debug, Clone, PartialEq)]
struct Outstanding {
    id: String,
    deadline: DateTime<Utc>,
    waiting: Waiting,
}

/// Exchange over one connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    version: Version,
    timeout: TimeDelta,
    prefix: &'static str,
    last_id: u64,
    /// Boxed, since it is there for moments only.
    outstanding: Option<Box<Outstanding>>,
    queue: VecDeque<Waiting>,
    /// True while the charge point has to answer somebody else: no request goes out.
    pub is_held: bool,
}

impl Session {
    /// Exchange in a version. A request without a reply fails after `timeout`.
    #[must_use]
    pub fn new(version: Version, timeout: TimeDelta) -> Self {
        Self {
            version,
            timeout,
            prefix: "",
            last_id: 0,
            outstanding: None,
            queue: VecDeque::new(),
            is_held: false,
        }
    }

    /// An exchange whose requests cannot be taken for those of another system: their identifiers
    /// start with [`OWN_PREFIX`].
    #[must_use]
    pub const fn sharing(mut self) -> Self {
        self.prefix = OWN_PREFIX;
        self
    }

    /// Identifier that no request has had.
    pub fn next_id(&mut self) -> String {
        self.last_id += 1;
        format!("{}{}", self.prefix, self.last_id)
    }

    /// Returns true if the charge point has to answer a request of ours.
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        self.outstanding.is_some()
    }

    /// Takes over a text of the charge point. Its requests are answered at once; the next request
    /// of ours goes out when the last one was answered.
    pub fn receive(
        &mut self,
        text: &str,
        station: &mut Station,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Step {
        let mut step = Step::default();
        station.heard_at = Some(now);
        match Frame::read(text) {
            Ok(Frame::Call { id, action, payload }) => {
                let answer = self.version.read_event(&action, &payload).map(|event| {
                    step.is_urgent = matches!(event, Event::Transaction(_) | Event::Booted(_));
                    let answer = station.receive(event, rules, now);
                    self.version.write_answer(&action, &answer)
                });
                step.send.push(self.answer(id, answer).write());
            }
            Ok(Frame::CallResult { id, payload }) => {
                let version = self.version;
                self.take_reply(&id, station, (rules, now), &mut step, |request| {
                    version.read_reply(request, &payload)
                });
            }
            Ok(Frame::CallError { id, code, description }) => {
                self.take_reply(&id, station, (rules, now), &mut step, |_| {
                    read_failure(&code, &description)
                });
            }
            Err(FrameError::Malformed { id, reason }) => {
                let answer = Err(Fault::Formation { reason });
                step.send.push(self.answer(id, answer).write());
            }
            Err(FrameError::Unanswerable { reason }) => {
                tracing::debug!(reason, "a text was no message");
            }
        }
        self.send_next(station, rules, now, &mut step);
        step
    }

    fn answer(
        &self,
        id: String,
        answer: Result<Result<serde_json::Value, crate::typed::PayloadError>, Fault>,
    ) -> Frame {
        match answer {
            Ok(Ok(payload)) => Frame::CallResult { id, payload },
            Ok(Err(error)) => {
                let (code, description) = ("InternalError".to_owned(), error.to_string());
                Frame::CallError { id, code, description }
            }
            Err(fault) => {
                let code = self.version.code_of(&fault).to_owned();
                Frame::CallError { id, code, description: fault.to_string() }
            }
        }
    }

    /// Lets time pass: a request without a reply fails, and the next one goes out.
    pub fn tick(&mut self, station: &mut Station, rules: &Rules, now: DateTime<Utc>) -> Step {
        let mut step = Step::default();
        if let Some(late) = self.outstanding.take_if(|sent| sent.deadline <= now) {
            finish_request(&late.waiting, Reply::TimedOut, station, (rules, now), &mut step);
        }
        self.send_next(station, rules, now, &mut step);
        step
    }

    /// Orders a request, which goes out before those of our own accord. If too many wait, its
    /// reply is that it was lost.
    pub fn order(
        &mut self,
        request: Request,
        ticket: Option<Ticket>,
        station: &mut Station,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Step {
        let mut step = Step::default();
        if self.queue.len() >= QUEUE_MAX {
            step.done.extend(ticket.map(|ticket| (ticket, Reply::Lost)));
            return step;
        }
        self.queue.push_back(Waiting { request, ticket });
        self.send_next(station, rules, now, &mut step);
        step
    }

    /// Ends the exchange: everything that waits is lost.
    pub fn close(&mut self, station: &mut Station, rules: &Rules, now: DateTime<Utc>) -> Step {
        let mut step = Step::default();
        let outstanding = self.outstanding.take().map(|sent| sent.waiting);
        for waiting in outstanding.into_iter().chain(self.queue.drain(..)) {
            finish_request(&waiting, Reply::Lost, station, (rules, now), &mut step);
        }
        step
    }

    /// Takes over a reply, if it is one to the request that was sent last. Others are late or
    /// strange, and change nothing.
    fn take_reply(
        &mut self,
        id: &str,
        station: &mut Station,
        (rules, now): (&Rules, DateTime<Utc>),
        step: &mut Step,
        read: impl Fn(&Request) -> Reply,
    ) {
        if let Some(sent) = self.outstanding.take_if(|sent| sent.id == id) {
            let reply = read(&sent.waiting.request);
            step.is_urgent = station.keeps_reply(&sent.waiting.request, &reply);
            finish_request(&sent.waiting, reply, station, (rules, now), step);
        }
    }

    /// Sends the next request, if none is outstanding.
    fn send_next(
        &mut self,
        station: &mut Station,
        rules: &Rules,
        now: DateTime<Utc>,
        step: &mut Step,
    ) {
        if self.last_id == 0 {
            // No identifier of an earlier connection, to which an answer may still come.
            self.last_id = now.timestamp_millis().unsigned_abs();
        }
        while self.outstanding.is_none() && !self.is_held {
            let ordered = self.queue.pop_front();
            let own =
                || station.wanted(rules, now).map(|request| Waiting { request, ticket: None });
            let Some(waiting) = ordered.or_else(own) else { return };
            match self.version.write_request(&waiting.request) {
                Ok((action, payload)) => {
                    step.is_urgent |= station.sends(&waiting.request, rules, now);
                    let id = self.next_id();
                    let frame = Frame::Call { id: id.clone(), action: action.to_owned(), payload };
                    step.send.push(frame.write());
                    let deadline = now + self.timeout;
                    self.outstanding = Some(Box::new(Outstanding { id, deadline, waiting }));
                }
                Err(error) => {
                    let reply = Reply::Failed { reason: error.to_string() };
                    finish_request(&waiting, reply, station, (rules, now), step);
                }
            }
        }
    }
}

fn read_failure(code: &str, description: &str) -> Reply {
    match code {
        "NotImplemented" | "NotSupported" => Reply::NotSupported,
        _ => Reply::Failed { reason: format!("{code} {description}").trim().to_owned() },
    }
}

/// Outcome of a request in one word. That of a schedule is how it compares with the profiles.
fn name_outcome(request: &Request, reply: &Reply, station: &Station) -> &'static str {
    match (reply, request) {
        (Reply::Schedule { .. }, Request::ReadSchedule { connector, .. }) => {
            match station.connectors.get(connector).map(|own| own.limits.check) {
                Some(Check::Differs { .. }) => "differs",
                Some(Check::Agrees) => "agrees",
                Some(Check::Unknown) | None => "accepted",
            }
        }
        (Reply::Accepted | Reply::Variables(_) | Reply::Schedule { .. }, _) => "accepted",
        (Reply::Refused { .. }, _) => "refused",
        (Reply::NotSupported, _) => "not_supported",
        (Reply::Failed { .. }, _) => "failed",
        (Reply::TimedOut, _) => "timed_out",
        (Reply::Lost, _) => "lost",
    }
}

fn finish_request(
    waiting: &Waiting,
    reply: Reply,
    station: &mut Station,
    (rules, now): (&Rules, DateTime<Utc>),
    step: &mut Step,
) {
    station.replied(&waiting.request, &reply, rules, now);
    step.ended.push((waiting.request.kind(), name_outcome(&waiting.request, &reply, station)));
    step.done.extend(waiting.ticket.map(|ticket| (ticket, reply)));
}
