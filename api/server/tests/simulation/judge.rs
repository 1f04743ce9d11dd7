//! The judge: what holds at every instant, whatever fails, by the rows and by what was received.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use crate::server::Server;

/// Broken promise, in words.
pub(crate) type Verdict = Result<(), String>;

/// Life of an action, as its events tell it.
#[derive(Debug)]
struct Life {
    target: String,
    has_ended: bool,
}

/// Reads the rows, and remembers what was told.
pub(crate) struct Judge {
    server: Arc<Server>,
    /// Last event that was read.
    seq: i64,
    /// Events in the order of their numbers.
    events: Vec<String>,
    seen: BTreeMap<String, Life>,
    /// The pending action of a device, by its events.
    open: BTreeMap<String, String>,
    /// Number of arrivals that were looked at, and of events that arrived.
    arrivals: (usize, usize),
    /// Actions that a client was told of.
    told: BTreeSet<String>,
    /// Actions that a client was told are not pending.
    ended: BTreeSet<String>,
}

/// A row of the actions, as far as the judge needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) id: String,
    pub(crate) target: String,
    pub(crate) created_at: DateTime<Utc>,
}

impl Judge {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        Self {
            server,
            seq: 0,
            events: Vec::new(),
            seen: BTreeMap::new(),
            open: BTreeMap::new(),
            arrivals: (0, 0),
            told: BTreeSet::new(),
            ended: BTreeSet::new(),
        }
    }

    fn rows<T>(&self, query: &str, read: impl Fn(&SqliteRow) -> T) -> Vec<T> {
        self.server.read(query).iter().map(read).collect()
    }

    /// A client was told that there is an action.
    pub(crate) fn tell(&mut self, action: &str) {
        self.told.insert(action.to_owned());
    }

    /// A client was told that an action is not pending any more.
    pub(crate) fn tell_ended(&mut self, action: &str) {
        self.ended.insert(action.to_owned());
    }

    pub(crate) fn pending(&self) -> Vec<Pending> {
        let query = "select id, target_id, created_at from actions \
                     where state = 'pending' order by id";
        self.rows(query, |row| Pending {
            id: row.get("id"),
            target: row.get("target_id"),
            created_at: DateTime::from_timestamp_micros(row.get("created_at")).unwrap(),
        })
    }

    /// The pending action of a device.
    pub(crate) fn pending_of(&self, target: Uuid) -> Option<String> {
        let is_its = |row: &Pending| row.target == target.to_string();
        self.pending().into_iter().find(is_its).map(|row| row.id)
    }

    /// Pending actions of a device at the instants since one: a process that follows the rows within
    /// that time shows one of them.
    pub(crate) fn pending_since(
        &self,
        target: Uuid,
        since: DateTime<Utc>,
    ) -> BTreeSet<Option<String>> {
        let query = "select id, target_id, created_at, completed_at as ended_at from actions";
        self.open_since(query, target, since)
    }

    /// Active overrides of a device at the instants since one.
    pub(crate) fn overridden_since(
        &self,
        target: Uuid,
        since: DateTime<Utc>,
    ) -> BTreeSet<Option<String>> {
        let query = "select id, target_id, created_at, ended_at from overrides";
        self.open_since(query, target, since)
    }

    fn open_since(
        &self,
        query: &str,
        target: Uuid,
        since: DateTime<Utc>,
    ) -> BTreeSet<Option<String>> {
        let since = since.timestamp_micros();
        let target = target.to_string();
        let lives = self.rows(query, |row| {
            let (began, ended): (i64, Option<i64>) = (row.get("created_at"), row.get("ended_at"));
            (row.get::<String, _>("id"), row.get::<String, _>("target_id"), began, ended)
        });
        let mut open = BTreeSet::new();
        let mut is_always_one = false;
        for (id, _, began, ended) in lives.into_iter().filter(|life| life.1 == target) {
            if ended.is_none_or(|ended| ended >= since) {
                is_always_one |= began < since && ended.is_none();
                open.insert(Some(id));
            }
        }
        if !is_always_one {
            open.insert(None);
        }
        open
    }

    /// Devices with an active override.
    pub(crate) fn overridden(&self) -> Vec<String> {
        let query = "select target_id from overrides where ended_at is null order by target_id";
        self.rows(query, |row| row.get("target_id"))
    }

    /// Number of requests that arrived at the receiver.
    pub(crate) const fn arrivals(&self) -> usize {
        self.arrivals.0
    }

    /// Number of events so far, and of those that arrived.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.events.len(), self.arrivals.1)
    }

    /// Judges what happened since the last look.
    pub(crate) fn look(&mut self, arrived: impl Fn(usize) -> Vec<(String, Value)>) -> Verdict {
        self.look_at_events()?;
        self.look_at_arrivals(&arrived(self.arrivals.0))?;
        self.look_at_rows()
    }

    /// Each transition has one event: the beginning, then one end, in order per device.
    fn look_at_events(&mut self) -> Verdict {
        let query = "select seq, id, name, body from events where seq >";
        let query = format!("{query} {} order by seq", self.seq);
        let new: Vec<(i64, String, String, String)> = self
            .rows(&query, |row| (row.get("seq"), row.get("id"), row.get("name"), row.get("body")));
        for (seq, id, name, body) in new {
            if seq != self.seq + 1 {
                return Err(format!("event {seq} follows event {}", self.seq));
            }
            self.seq = seq;
            if name != "user:vendor-action:updated" {
                continue;
            }
            self.events.push(id);
            let body: Value = serde_json::from_str(&body).unwrap();
            let [action, target, state] =
                ["id", "targetId", "state"].map(|key| body[key].as_str().unwrap().to_owned());
            self.follow(&action, &target, &state)?;
        }
        Ok(())
    }

    fn follow(&mut self, action: &str, target: &str, state: &str) -> Verdict {
        if state == "PENDING" {
            if let Some(open) = self.open.insert(target.to_owned(), action.to_owned()) {
                return Err(format!("{action} began while {open} was pending for {target}"));
            }
            let life = Life { target: target.to_owned(), has_ended: false };
            let before = self.seen.insert(action.to_owned(), life);
            return before.map_or(Ok(()), |_| Err(format!("{action} began twice")));
        }
        let Some(life) = self.seen.get_mut(action) else {
            return Err(format!("{action} ended before it began"));
        };
        if std::mem::replace(&mut life.has_ended, true) {
            return Err(format!("{action} ended twice"));
        }
        self.open.remove(&life.target);
        Ok(())
    }

    /// Events arrive in order, and none is left out; those that arrived may arrive again.
    fn look_at_arrivals(&mut self, new: &[(String, Value)]) -> Verdict {
        for (id, _) in new {
            self.arrivals.0 += 1;
            let next = self.arrivals.1;
            match self.events.iter().position(|event| event == id) {
                Some(at) if at < next => {}
                Some(at) if at == next => self.arrivals.1 += 1,
                Some(at) => return Err(format!("event {at} arrived where {next} is the next")),
                None => return Err("an event arrived that there is not".to_owned()),
            }
        }
        Ok(())
    }

    /// The rows agree with the events, and nothing that a client was told of is lost.
    fn look_at_rows(&mut self) -> Verdict {
        let pending = self.pending();
        let by_target: BTreeMap<String, String> =
            pending.iter().map(|row| (row.target.clone(), row.id.clone())).collect();
        if by_target.len() < pending.len() {
            return Err(format!("two actions of a device are pending: {pending:?}"));
        }
        if by_target != self.open {
            return Err(format!("pending are {by_target:?}, by the events {:?}", self.open));
        }
        let overridden = self.overridden();
        if overridden.iter().collect::<BTreeSet<_>>().len() < overridden.len() {
            return Err(format!("two overrides of a device are active: {overridden:?}"));
        }
        if let Some(lost) = self.told.iter().find(|id| !self.seen.contains_key(*id)) {
            return Err(format!("{lost} was acknowledged, and is not there"));
        }
        let is_open = |id: &&String| self.seen.get(*id).is_none_or(|life| !life.has_ended);
        if let Some(open) = self.ended.iter().find(is_open) {
            return Err(format!("the end of {open} was acknowledged, and it is pending"));
        }
        let query = "select count(*) as count from actions";
        let count = self.rows(query, |row| row.get::<i64, _>("count"))[0];
        if count as usize != self.seen.len() {
            return Err(format!("{count} actions, {} by the events", self.seen.len()));
        }
        Ok(())
    }
}
