//! Life of the actions of one device, while requests to it run at once in several replicas.
//!
//! The steps are those of `begin_action` and `end_pending` in the service, one statement each. The
//! database is modelled as PostgreSQL at READ COMMITTED: a statement sees what was committed before
//! it and what its own change wrote, a row that another change has written is waited for, and so is
//! a new pending action of another change, by the unique index. All that an event makes of an action
//! is computed by `Progress::after`, and `ActionLog::replay` judges the result.
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use slackwater_control::device::action::{ActionEvent, ActionState, Progress};
use slackwater_control::device::action_log::{ActionLog, Address, LogEvent};
use stateright::{Checker, Model, Property};

/// An action, by the number of the request that began it.
type Id = usize;

/// Request about the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Request {
    /// A new action.
    Begin,
    /// The end of the pending action, if there is one.
    End(Cause),
}

/// Cause of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Cause {
    Superseded,
    Cancelled,
    TimedOut,
}

impl Cause {
    const fn event(self) -> ActionEvent {
        match self {
            Self::Superseded => ActionEvent::Superseded,
            Self::Cancelled => ActionEvent::CancelRequested,
            Self::TimedOut => ActionEvent::TimedOut,
        }
    }
}

/// Defect that is planted into the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defect {
    None,
    /// A new action does not lock its device.
    NoLock,
    /// There is no unique index of pending actions.
    NoIndex,
    /// Neither of them.
    NoLockNoIndex,
    /// The statement that ends an action does not ask whether it is pending.
    EndsTheEnded,
    /// Events are recorded in a change of their own, after the one that they tell of.
    EventsApart,
}

/// Last step of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase {
    Asked,
    Locked,
    /// The pending action was read.
    Read(Option<(Id, Progress)>),
    /// All but the commit is done; a new action is still to be inserted.
    Ended,
    Written,
    /// Committed, without its events.
    Silent,
    /// It succeeded, failed, or its process died.
    Over,
    /// The index refused it.
    Refused,
}

/// A request and what its change has written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Running {
    request: Request,
    phase: Phase,
    ends: Option<(Id, Progress, Cause)>,
    begins: bool,
}

/// State of the database as committed, and of the requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    rows: BTreeMap<Id, Progress>,
    events: Vec<(Id, ActionState)>,
    /// Changes in the order of their commits: a beginning, or an end with its cause.
    history: Vec<(Id, Option<Cause>)>,
    running: Vec<Running>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Next(usize),
    Die(usize),
}

/// Requests to one device.
#[derive(Debug, Clone)]
struct Device {
    requests: Vec<Request>,
    defect: Defect,
}

fn now() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH
}

impl Device {
    fn locks(&self) -> bool {
        !matches!(self.defect, Defect::NoLock | Defect::NoLockNoIndex)
    }

    fn has_index(&self) -> bool {
        !matches!(self.defect, Defect::NoIndex | Defect::NoLockNoIndex)
    }

    /// Lets a request do its next statement. Returns `None` if it waits, or is over.
    fn next(&self, state: &mut State, who: usize) -> Option<()> {
        let running = state.running.get(who)?.clone();
        let next = match (running.request, running.phase) {
            (Request::Begin, Phase::Asked) if self.locks() => {
                Self::lock(state)?;
                Phase::Locked
            }
            (_, Phase::Asked | Phase::Locked) => Phase::Read(pending(state)),
            (request, Phase::Read(read)) => {
                let cause = match request {
                    Request::Begin => Cause::Superseded,
                    Request::End(cause) => cause,
                };
                state.running[who].ends = self.end(state, who, read, cause)?;
                if request == Request::Begin { Phase::Ended } else { Phase::Written }
            }
            (_, Phase::Ended) => self.insert(state, who)?,
            (_, Phase::Written) => self.commit(state, who),
            (_, Phase::Silent) => {
                tell(state, who);
                Phase::Over
            }
            (_, Phase::Over | Phase::Refused) => return None,
        };
        state.running[who].phase = next;
        Some(())
    }

    /// Locks the device, unless another beginning holds the lock.
    fn lock(state: &State) -> Option<()> {
        let holds = |running: &Running| {
            running.request == Request::Begin
                && matches!(
                    running.phase,
                    Phase::Locked | Phase::Read(_) | Phase::Ended | Phase::Written
                )
        };
        (!state.running.iter().any(holds)).then_some(())
    }

    /// Ends the action that was read. The outer `None` waits for another change of its row.
    #[expect(clippy::option_option, reason = "to wait is another answer than to write nothing")]
    fn end(
        &self,
        state: &State,
        who: usize,
        read: Option<(Id, Progress)>,
        cause: Cause,
    ) -> Option<Option<(Id, Progress, Cause)>> {
        let Some((id, before)) = read else { return Some(None) };
        let Some(after) = before.after(&cause.event(), now()) else { return Some(None) };
        let is_written = |(other, running): (usize, &Running)| {
            other != who
                && running.ends.as_ref().is_some_and(|(ended, ..)| *ended == id)
                && running.phase != Phase::Over
                && running.phase != Phase::Silent
        };
        if state.running.iter().enumerate().any(is_written) {
            return None;
        }
        // The condition is asked anew of the row as it is after the wait.
        let is_pending = state.rows[&id].state == ActionState::Pending;
        let is_met = is_pending || self.defect == Defect::EndsTheEnded;
        Some(is_met.then_some((id, after, cause)))
    }

    /// Inserts a new action. `None` waits for a rival that is not committed.
    fn insert(&self, state: &mut State, who: usize) -> Option<Phase> {
        let is_rival = |running: &Running| {
            running.begins && !matches!(running.phase, Phase::Over | Phase::Silent)
        };
        if self.has_index() {
            if state.running.iter().any(is_rival) {
                return None;
            }
            let ended = state.running[who].ends.as_ref().map(|(id, ..)| *id);
            if pending(state).is_some_and(|(id, _)| Some(id) != ended) {
                state.running[who].ends = None;
                return Some(Phase::Refused);
            }
        }
        state.running[who].begins = true;
        Some(Phase::Written)
    }

    fn commit(&self, state: &mut State, who: usize) -> Phase {
        let Running { ends, begins, .. } = state.running[who].clone();
        if let Some((id, progress, cause)) = ends {
            state.rows.insert(id, progress);
            state.history.push((id, Some(cause)));
        }
        if begins {
            state.rows.insert(who, Progress::created(now()));
            state.history.push((who, None));
        }
        if self.defect == Defect::EventsApart {
            return Phase::Silent;
        }
        tell(state, who);
        Phase::Over
    }
}

/// The pending action as committed.
fn pending(state: &State) -> Option<(Id, Progress)> {
    let found = state.rows.iter().find(|(_, progress)| progress.state == ActionState::Pending);
    found.map(|(id, progress)| (*id, progress.clone()))
}

/// Records the events of a request: the end of the old action first.
fn tell(state: &mut State, who: usize) {
    let Running { ends, begins, .. } = &state.running[who];
    let ended = ends.as_ref().map(|(id, progress, _)| (*id, progress.state));
    let began = begins.then_some((who, ActionState::Pending));
    let told: Vec<_> = ended.into_iter().chain(began).collect();
    state.events.extend(told);
}

impl Model for Device {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let running = |request: &Request| Running {
            request: *request,
            phase: Phase::Asked,
            ends: None,
            begins: false,
        };
        vec![State {
            rows: BTreeMap::new(),
            events: Vec::new(),
            history: Vec::new(),
            running: self.requests.iter().map(running).collect(),
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        for who in 0..state.running.len() {
            if !matches!(state.running[who].phase, Phase::Over | Phase::Refused) {
                steps.extend([Step::Next(who), Step::Die(who)]);
            }
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Next(who) => self.next(&mut next, who)?,
            // What is not committed is rolled back.
            Step::Die(who) => {
                let Running { phase, ends, begins, .. } = next.running.get_mut(who)?;
                (*phase, *ends, *begins) = (Phase::Over, None, false);
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one pending action", |_, state: &State| {
                let is_pending = |p: &&Progress| p.state == ActionState::Pending;
                state.rows.values().filter(is_pending).count() <= 1
            }),
            Property::always("each transition is told once", |_, state: &State| {
                state.rows.iter().all(|(id, progress)| is_told_once(state, *id, progress))
            }),
            Property::always("the log of actions agrees", |_, state: &State| agrees(state)),
            Property::always("no beginning is refused", |_, state: &State| {
                state.running.iter().all(|running| running.phase != Phase::Refused)
            }),
            Property::sometimes("a newer action takes over", |_, state: &State| {
                state.history.iter().any(|(_, cause)| *cause == Some(Cause::Superseded))
            }),
            Property::sometimes("of two ends one comes too late", |_, state: &State| {
                let is_late = |r: &Running| {
                    r.request != Request::Begin && r.phase == Phase::Written && r.ends.is_none()
                };
                !state.rows.is_empty() && state.running.iter().any(is_late)
            }),
        ]
    }
}

/// Events of an action: its beginning, and its end if it has ended.
fn is_told_once(state: &State, id: Id, progress: &Progress) -> bool {
    let told = state.events.iter().filter(|(of, _)| *of == id).map(|(_, told)| *told);
    let ended = (progress.state != ActionState::Pending).then_some(progress.state);
    told.eq([ActionState::Pending].into_iter().chain(ended))
}

/// The committed changes, replayed by `ActionLog`, have the states and events of the database.
fn agrees(state: &State) -> bool {
    let event = |(id, cause): &(Id, Option<Cause>)| {
        let to = Address::Action(id.to_string());
        let what = match cause {
            None => LogEvent::Created { action_id: id.to_string(), target_id: "d".to_owned() },
            Some(cause) => LogEvent::Happened { to, event: cause.event() },
        };
        (now(), what)
    };
    let events: Vec<_> = state.history.iter().map(event).collect();
    let Ok(log) = ActionLog::replay(&events) else { return false };
    let told = |(id, told): &(Id, ActionState)| (id.to_string(), *told);
    log.notifications == state.events.iter().map(told).collect::<Vec<_>>()
        && log.actions.len() == state.rows.len()
        && state.rows.iter().all(|(id, row)| log.actions[&id.to_string()].progress == *row)
}

fn device(beginnings: usize, defect: Defect) -> Device {
    let ends = [Cause::Cancelled, Cause::TimedOut].map(Request::End);
    Device { requests: [vec![Request::Begin; beginnings], ends.to_vec()].concat(), defect }
}

/// Properties that the checker refutes.
fn refuted(defect: Defect) -> Vec<&'static str> {
    let checker = device(2, defect).checker().spawn_bfs().join();
    let mut names: Vec<_> = checker.discoveries().into_keys().collect();
    names.retain(|name| {
        !["a newer action takes over", "of two ends one comes too late"].contains(name)
    });
    names.sort_unstable();
    names
}

#[test]
fn actions_of_a_device_end_once_in_whatever_order_requests_run() {
    let checker = device(3, Defect::None).checker().spawn_bfs().join();
    checker.assert_properties();
    println!("{} states of an action's life", checker.unique_state_count());
}

#[test]
fn planted_defects_in_the_life_of_actions_are_found() {
    let one = "one pending action";
    let (told, agrees, refused) =
        ("each transition is told once", "the log of actions agrees", "no beginning is refused");
    for (defect, expected) in [
        // The index alone keeps the rule, and refuses the second of two beginnings.
        (Defect::NoLock, vec![refused]),
        // So does the lock alone.
        (Defect::NoIndex, vec![]),
        (Defect::NoLockNoIndex, vec![one, agrees]),
        (Defect::EndsTheEnded, vec![told, agrees]),
        (Defect::EventsApart, vec![told, agrees]),
    ] {
        assert_eq!(refuted(defect), expected, "{defect:?}");
    }
}
