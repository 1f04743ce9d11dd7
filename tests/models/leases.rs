//! Lease of one subscription, among processes that die and whose clocks show anything.
//!
//! Every call is the SQL of `slackwater_store::deliveries`, run on SQLite once for each row and call,
//! and remembered. A process is modelled as the dispatcher works: it acquires, posts one event after
//! the other, and records each with the renewal of its lease, in one change; it has one task for a
//! subscription. Clocks are not modelled at all: each call comes with any time. So what holds here
//! needs no clocks that agree.
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_store::database::{Change, Store};
use slackwater_store::deliveries::{self, DeliveryProgress};
use slackwater_store::keyring::Keyring;
use slackwater_store::lease::Lease;
use slackwater_store::subscription::NewSubscription;
use sqlx::AnyConnection;
use sqlx::Row as _;
use stateright::{Checker, Model, Property};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Names of the processes.
const NAMES: [&str; 2] = ["one", "two"];
/// Length of a lease, in seconds.
const LENGTH: i64 = 2;
/// Last time that a clock shows.
const TIME_MAX: i64 = 4;
/// Events that there are.
const EVENTS: i64 = 3;

/// Row of the subscription. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Row {
    holder: Option<usize>,
    until: i64,
    posted: i64,
}

/// Call of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Call {
    Acquire { now: i64 },
    Record { posted: i64, now: i64 },
    Release { posted: i64 },
}

/// Database with one subscription, and the results of calls so far.
struct Table {
    runtime: Runtime,
    /// Is never committed.
    change: Change,
    id: String,
    known: HashMap<(Row, usize, Call), (Row, bool)>,
    _folder: TempDir,
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
}

fn progress(posted_seq: i64) -> DeliveryProgress {
    DeliveryProgress { posted_seq, failures: 0, due_at: at(0), last_failure: None }
}

impl Table {
    fn open() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("models.db").display());
        let new = NewSubscription {
            name: "s".to_owned(),
            client: "c".to_owned(),
            url: "http://127.0.0.1:9/".to_owned(),
            version: None,
            events: Vec::new(),
            template: Some("{}".to_owned()),
            secret: None,
            secret_file: None,
        };
        let (change, id) = runtime.block_on(async {
            let store =
                Store::open(&url.parse().expect("an address")).await.expect("the database answers");
            let mut change = store.begin().await.expect("the database answers");
            let to = change.connection();
            let client =
                "insert into clients (id, environment, name, secret_hash, version, created_at)
                          values ('c', 'sandbox', 'c', '', '2024-10-01', 0)";
            sqlx::query(client).execute(&mut *to).await.expect("the database answers");
            assert!(
                deliveries::insert_subscription(to, &new, &Keyring::default())
                    .await
                    .expect("the database answers")
            );
            let row = sqlx::query("select id from subscriptions")
                .fetch_one(to)
                .await
                .expect("the database answers");
            (change, row.get("id"))
        });
        Self { runtime, change, id, known: HashMap::new(), _folder: folder }
    }

    /// The row after a call of a process, and whether the call succeeded.
    fn call(&mut self, row: Row, who: usize, call: Call) -> (Row, bool) {
        if let Some(known) = self.known.get(&(row, who, call)) {
            return *known;
        }
        let (to, id, holder) = (self.change.connection(), &self.id, NAMES[who]);
        let lease = |now| Lease::new(holder, at(now), TimeDelta::seconds(LENGTH));
        let result = self.runtime.block_on(async {
            write(to, row).await;
            let is_done = match call {
                Call::Acquire { now } => deliveries::acquire_subscription(to, id, &lease(now))
                    .await
                    .expect("the database answers")
                    .is_some(),
                Call::Record { posted, now } => {
                    deliveries::record_and_renew(to, id, &progress(posted), &lease(now))
                        .await
                        .expect("the database answers")
                }
                Call::Release { posted } => {
                    deliveries::record_and_release(to, id, &progress(posted), holder)
                        .await
                        .expect("the database answers")
                }
            };
            (read(to).await, is_done)
        });
        self.known.insert((row, who, call), result);
        result
    }
}

async fn write(to: &mut AnyConnection, row: Row) {
    let statement = "update subscriptions set leased_by = $1, leased_until = $2, posted_seq = $3";
    let query = sqlx::query(statement)
        .bind(row.holder.map(|who| NAMES[who]))
        .bind(row.until * 1_000_000)
        .bind(row.posted);
    query.execute(to).await.expect("the database answers");
}

async fn read(from: &mut AnyConnection) -> Row {
    let statement = "select leased_by, leased_until, posted_seq from subscriptions";
    let row = sqlx::query(statement).fetch_one(from).await.expect("the database answers");
    let holder: Option<String> = row.get("leased_by");
    Row {
        holder: holder.and_then(|name| NAMES.iter().position(|known| *known == name)),
        until: row.get::<i64, _>("leased_until") / 1_000_000,
        posted: row.get("posted_seq"),
    }
}

/// Defect that is planted into the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defect {
    None,
    /// A lease is acquired before it has expired.
    AcquiresHeld,
    /// A renewal does not ask who holds the lease.
    RenewsForeign,
    /// What depends on the lease is written although its renewal failed.
    WritesAnyway,
}

/// A process: idle, or at work since it acquired the lease, with the last event that it posted.
type Process = Option<i64>;

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    row: Row,
    processes: [Process; 2],
    /// Who acquired the lease last, and has not given it back.
    owner: Option<usize>,
    /// Somebody wrote who was not the owner.
    is_written_by_other: bool,
    /// An owner could not write, although nobody had acquired the lease since.
    is_owner_refused: bool,
    /// A lease was acquired by a clock at which it had not expired.
    is_acquired_early: bool,
    /// Events were recorded as posted and then as not posted.
    is_undone: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Acquire { who: usize, now: i64 },
    Record { who: usize, now: i64 },
    Release { who: usize },
    Die { who: usize },
}

/// Two processes, and a subscription that they share.
#[derive(Clone)]
struct Dispatchers {
    table: Arc<Mutex<Table>>,
    defect: Defect,
}

impl Dispatchers {
    fn new(defect: Defect) -> Self {
        Self { table: Arc::new(Mutex::new(Table::open())), defect }
    }

    fn call(&self, row: Row, who: usize, call: Call) -> (Row, bool) {
        self.table.lock().expect("the database answers").call(row, who, call)
    }

    fn acquire(&self, state: &mut State, who: usize, now: i64) {
        let shown = if self.defect == Defect::AcquiresHeld { TIME_MAX + LENGTH } else { now };
        let before = state.row;
        let (row, is_acquired) = self.call(before, who, Call::Acquire { now: shown });
        if is_acquired {
            state.is_acquired_early |= before.holder.is_some() && now < before.until;
            state.processes[who] = Some(row.posted);
            state.owner = Some(who);
        }
        state.row = row;
    }

    /// Records the next event of a process, and renews the lease or gives it back.
    fn record(&self, state: &mut State, who: usize, call: Call) {
        let before = state.row;
        let (mut row, mut is_done) = match (self.defect, before.holder, call) {
            (Defect::RenewsForeign, Some(holder), Call::Record { .. }) => {
                self.call(before, holder, call)
            }
            _ => self.call(before, who, call),
        };
        if let (Defect::WritesAnyway, false, Call::Record { posted, .. }) =
            (self.defect, is_done, call)
        {
            (row.posted, is_done) = (posted, true);
        }
        let is_owner = state.owner == Some(who);
        state.is_written_by_other |= is_done && !is_owner;
        state.is_owner_refused |= is_owner && !is_done;
        state.is_undone |= row.posted < before.posted;
        let Call::Record { posted, .. } = call else {
            state.processes[who] = None;
            state.owner = state.owner.filter(|_| !is_done);
            state.row = row;
            return;
        };
        state.processes[who] = is_done.then_some(posted);
        state.row = row;
    }

    /// Processes that could write now.
    fn writers(&self, state: &State) -> usize {
        let could = |who: &usize| {
            let Some(posted) = state.processes[*who] else { return false };
            self.call(state.row, *who, Call::Release { posted }).1
        };
        (0..NAMES.len()).filter(could).count()
    }
}

impl Model for Dispatchers {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            row: Row { holder: None, until: 0, posted: 0 },
            processes: [None; 2],
            owner: None,
            is_written_by_other: false,
            is_owner_refused: false,
            is_acquired_early: false,
            is_undone: false,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        for who in 0..NAMES.len() {
            let times = 0..=TIME_MAX;
            match state.processes[who] {
                None => steps.extend(times.map(|now| Step::Acquire { who, now })),
                Some(posted) => {
                    if posted < EVENTS {
                        steps.extend(times.map(|now| Step::Record { who, now }));
                    }
                    steps.extend([Step::Release { who }, Step::Die { who }]);
                }
            }
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Acquire { who, now } => self.acquire(&mut next, who, now),
            Step::Record { who, now } => {
                let posted = next.processes[who]? + 1;
                self.record(&mut next, who, Call::Record { posted, now });
            }
            Step::Release { who } => {
                let posted = next.processes[who]?;
                self.record(&mut next, who, Call::Release { posted });
            }
            // The row stays as it is.
            Step::Die { who } => next.processes[who] = None,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("at most one can write", |model: &Self, state: &State| {
                model.writers(state) <= 1
            }),
            Property::always("the last to acquire alone writes", |_, state: &State| {
                !state.is_written_by_other
            }),
            Property::always("who holds it can write", |_, state: &State| !state.is_owner_refused),
            Property::always("none is acquired before it expires", |_, state: &State| {
                !state.is_acquired_early
            }),
            Property::always("no posted event is taken back", |_, state: &State| !state.is_undone),
            Property::sometimes("one takes over from another", |_, state: &State| {
                state.processes.iter().all(Option::is_some)
            }),
            Property::sometimes("all is posted", |_, state: &State| state.row.posted == EVENTS),
        ]
    }
}

/// Properties that the checker refutes.
fn refuted(defect: Defect) -> Vec<&'static str> {
    let checker = Dispatchers::new(defect).checker().spawn_bfs().join();
    let mut names: Vec<_> = checker.discoveries().into_keys().collect();
    names.retain(|name| !["one takes over from another", "all is posted"].contains(name));
    names.sort_unstable();
    names
}

#[test]
fn a_lease_has_one_holder_whatever_the_clocks_show() {
    let checker = Dispatchers::new(Defect::None).checker().spawn_bfs().join();
    checker.assert_properties();
    println!("{} states of a lease", checker.unique_state_count());
}

#[test]
fn planted_defects_of_leases_are_found() {
    let (early, last, undone) = (
        "none is acquired before it expires",
        "the last to acquire alone writes",
        "no posted event is taken back",
    );
    for (defect, expected) in [
        (Defect::AcquiresHeld, vec![early]),
        (Defect::RenewsForeign, vec![undone, last]),
        (Defect::WritesAnyway, vec![undone, last]),
    ] {
        assert_eq!(refuted(defect), expected, "{defect:?}");
    }
}
