//! The database server: rows in a file of SQLite, notes of changes, and failures.
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::future::pending;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use futures_util::TryStreamExt;
use serde_json::Value;
use slackwater_store::notes::{Arrival, NoteSource};
use sqlx::any::{AnyArguments, AnyQueryResult, AnyRow};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteRow, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Either, Executor, Row, SqlSafeStr, SqliteConnection};
use sqlx_core::any::AnyConnectionBackend;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex as Turn, Notify, OwnedMutexGuard};
use tokio::time::{Instant, sleep_until};

use crate::defects::Defect;
use crate::dice::Dice;

/// Tables whose rows processes keep in memory, as in the migrations of PostgreSQL: the kind of the
/// note, and the columns of its key.
const NOTED: [(&str, &str, &[&str]); 16] = [
    ("users", "users", &["client_id", "id"]),
    ("connections", "users", &["client_id", "user_id"]),
    ("locations", "users", &["client_id", "user_id"]),
    ("devices", "devices", &["id"]),
    ("smart_charging_policies", "policies", &["device_id"]),
    ("flex_policies", "policies", &["vehicle_id"]),
    ("plans", "plans", &["device_id"]),
    ("actions", "control", &["target_id"]),
    ("overrides", "control", &["target_id"]),
    ("schedules", "control", &["target_id"]),
    ("recordings", "recordings", &["device_id"]),
    ("charge_sessions", "recordings", &["device_id"]),
    ("tariffs", "tariffs", &["client_id", "id"]),
    ("tariff_schedules", "places", &["location_id"]),
    ("zones", "zones", &["client_id", "id"]),
    ("area_limits", "limits", &["zone_id", "area_id"]),
];

/// Longest time of one way between a process and anything outside of it, in milliseconds.
const WAY_MS: u64 = 4;

/// Rows and counts that a statement returns.
pub(crate) type Answer = Vec<Either<AnyQueryResult, AnyRow>>;

/// Runs a future to its end on this thread. Those of SQLite wait for its thread, and nothing else.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Failure of a connection.
pub(crate) fn reset() -> sqlx::Error {
    sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into())
}

/// The server that all processes share.
#[derive(Debug)]
pub(crate) struct Server {
    /// Sees what was committed.
    reader: Mutex<SqliteConnection>,
    /// Makes changes, one at a time.
    writer: Mutex<SqliteConnection>,
    turn: Arc<Turn<()>>,
    links: Mutex<Vec<Arc<Link>>>,
    /// Number of the last note that was passed on.
    noted: Mutex<i64>,
    trace: Mutex<String>,
    /// Defect of a statement.
    defect: Option<Defect>,
}

impl Server {
    /// A server on a file, which is made if it is missing.
    pub(crate) fn open(file: &Path, defect: Option<Defect>) -> Arc<Self> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Off)
            .busy_timeout(Duration::ZERO)
            .foreign_keys(true);
        let connect = || Mutex::new(block_on(options.connect()).unwrap());
        let server = Self {
            writer: connect(),
            reader: connect(),
            turn: Arc::default(),
            links: Mutex::default(),
            noted: Mutex::default(),
            trace: Mutex::default(),
            defect,
        };
        let notes = "create table if not exists notes (seq integer primary key, note text)";
        server.write(notes).unwrap();
        Arc::new(server)
    }

    /// Has each change of a row that processes keep in memory noted, as the triggers of the
    /// migrations of PostgreSQL do. Rows that are written to lock them are not noted.
    pub(crate) fn note_changes(&self) {
        for (table, kind, key) in NOTED {
            let columns = self.read(&format!("select name from pragma_table_info('{table}')"));
            let differs =
                |row: &SqliteRow| format!("old.{0} is not new.{0}", row.get::<&str, _>(0));
            let differ = columns.iter().map(differs).collect::<Vec<_>>().join(" or ");
            let note = |row: &str| {
                let key: Vec<String> = key.iter().map(|column| format!("{row}.{column}")).collect();
                let key = key.join(", ");
                format!("insert into notes (note) values (json_array('{kind}', {key}));")
            };
            let (old, new) = (note("old"), note("new"));
            for (what, when, notes) in [
                ("insert", "true", new.clone()),
                ("update", differ.as_str(), format!("{old} {new}")),
                ("delete", "true", old),
            ] {
                self.write(&format!(
                    "create trigger noted_{table}_{what} after {what} on {table} \
                     when {when} begin {notes} end"
                ))
                .unwrap();
            }
        }
    }

    /// Waits for the turn to change something.
    pub(crate) fn turn(&self) -> impl Future<Output = OwnedMutexGuard<()>> + use<> {
        Arc::clone(&self.turn).lock_owned()
    }

    pub(crate) fn writer(&self) -> MutexGuard<'_, SqliteConnection> {
        self.writer.lock().unwrap()
    }

    /// Runs a statement that begins or ends a change.
    pub(crate) fn write(&self, sql: &str) -> sqlx::Result<Answer> {
        self.change(sql, None)
    }

    /// Runs a statement of the change that is being made.
    pub(crate) fn change(
        &self,
        sql: &str,
        arguments: Option<AnyArguments>,
    ) -> sqlx::Result<Answer> {
        execute(&mut self.writer(), &self.planted(sql), arguments)
    }

    /// Runs a statement that reads.
    pub(crate) fn ask(&self, sql: &str, arguments: Option<AnyArguments>) -> sqlx::Result<Answer> {
        execute(&mut self.reader.lock().unwrap(), &self.planted(sql), arguments)
    }

    /// The statement that runs in place of one of the service.
    fn planted<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        let planted = self.defect.and_then(|defect| defect.plant(sql));
        planted.map_or(Cow::Borrowed(sql), Cow::Owned)
    }

    /// Rows, for the judge.
    pub(crate) fn read(&self, sql: &str) -> Vec<SqliteRow> {
        let query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        block_on(query.fetch_all(&mut *self.reader.lock().unwrap())).unwrap()
    }

    /// Brings all to the file, and closes it.
    pub(crate) fn flush(&self) {
        block_on(self.writer().execute("pragma wal_checkpoint(truncate)")).unwrap();
    }

    /// Passes the notes of a commit on to all processes, one for each key.
    pub(crate) fn pass_notes(&self, replica: &str) {
        let mut noted = self.noted.lock().unwrap();
        let query = format!("select seq, note from notes where seq > {noted} order by seq");
        let rows = self.read(&self.planted(&query));
        let mut passed: Vec<String> = Vec::new();
        for row in &rows {
            *noted = row.get("seq");
            let note: String = row.get("note");
            if !passed.contains(&note) {
                let mut words: Vec<Value> = serde_json::from_str(&note).unwrap();
                words.insert(0, replica.into());
                self.notify(&Value::from(words).to_string());
                passed.push(note);
            }
        }
    }

    /// Passes a note on to all processes.
    pub(crate) fn notify(&self, note: &str) {
        self.links.lock().unwrap().iter().for_each(|link| link.tell(note));
    }

    /// Adds a line to the trace.
    pub(crate) fn trace(&self, line: &str) {
        writeln!(self.trace.lock().unwrap(), "{line}").unwrap();
    }

    /// Takes the trace out.
    pub(crate) fn take_trace(&self) -> String {
        std::mem::take(&mut *self.trace.lock().unwrap())
    }
}

/// Runs a statement of either database on SQLite.
fn execute(
    on: &mut SqliteConnection,
    sql: &str,
    arguments: Option<AnyArguments>,
) -> sqlx::Result<Answer> {
    let each = "in (select value from json_each('[\"' || replace($1, ',', '\",\"') || '\"]'))";
    let sql = sql
        .replace("json_array_elements(cast($1 as json))", "json_each($1)")
        .replace("json_array_elements(cast($2 as json))", "json_each($2)")
        .replace("= any(string_to_array($1, ','))", each);
    let sql = AssertSqlSafe(sql).into_sql_str();
    block_on(AnyConnectionBackend::fetch_many(on, sql, true, arguments).try_collect())
}

/// Step of a statement at which the connection fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failing {
    /// Outside of changes.
    Read,
    /// Before a change begins.
    Begin,
    /// In the middle of a change.
    Statement,
    /// Before a commit: nothing of the change is kept.
    Commit,
    /// After a commit, before its answer: the change is kept.
    Answer,
}

/// State of the connection on which notes reach a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hearing {
    /// They arrive at once.
    Well,
    /// The connection is lost, and none can be made.
    Cut,
    /// They are lost, and nobody says so.
    Silent,
}

thread_local! {
    /// Links of the simulation of this thread, by their names.
    static LINKS: RefCell<BTreeMap<String, Arc<Link>>> = const { RefCell::new(BTreeMap::new()) };
}

/// All that connects a process with the world: a process that is killed reaches nothing any more,
/// and what it would do between two calls nobody would see.
#[derive(Debug)]
pub(crate) struct Link {
    name: String,
    server: Arc<Server>,
    /// Told when the process is killed.
    killed: Notify,
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    dice: Dice,
    /// Number of calls after which the process is killed.
    calls_left: Option<u64>,
    is_killed: bool,
    /// Step of a coming statement that fails, after it was passed a number of times; the process
    /// may be killed there instead.
    fails: Option<(Failing, Failure, u64)>,
    failures: u64,
    hearing: Hearing,
    notes: Option<UnboundedSender<String>>,
}

/// Failure at a step of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The connection breaks.
    Error,
    /// The process is killed.
    Kill,
}

impl Link {
    /// Links a process, within its runtime. Its name is the host of its address.
    pub(crate) fn new(name: &str, server: &Arc<Server>, dice: Dice) -> Arc<Self> {
        let state = State {
            dice,
            calls_left: None,
            is_killed: false,
            fails: None,
            failures: 0,
            hearing: Hearing::Well,
            notes: None,
        };
        let link = Arc::new(Self {
            name: name.to_owned(),
            server: Arc::clone(server),
            killed: Notify::new(),
            begun: Instant::now(),
            state: Mutex::new(state),
        });
        server.links.lock().unwrap().push(Arc::clone(&link));
        LINKS.with_borrow_mut(|links| links.insert(name.to_owned(), Arc::clone(&link)));
        link
    }

    /// The link of a name.
    pub(crate) fn named(name: &str) -> Arc<Self> {
        LINKS.with_borrow(|links| Arc::clone(&links[name]))
    }

    /// Ends the link of a process that is gone.
    pub(crate) fn end(&self) {
        self.state().is_killed = true;
        self.server.links.lock().unwrap().retain(|link| link.name != self.name);
        LINKS.with_borrow_mut(|links| links.remove(&self.name));
    }

    /// Address of the server, for this process.
    pub(crate) fn address(&self) -> String {
        format!("postgres://{}/slackwater", self.name)
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Passes one way between the process and something outside of it. A process that is killed
    /// stays on it.
    pub(crate) async fn call(&self, what: &str) {
        let way = {
            let mut state = self.state();
            if let Some(left) = &mut state.calls_left {
                *left = left.saturating_sub(1);
            }
            state.is_killed |= state.calls_left == Some(0);
            Duration::from_millis(state.dice.below(WAY_MS))
        };
        sleep_until(Instant::now() + way).await;
        if self.state().is_killed {
            self.killed.notify_one();
            return pending().await;
        }
        let at = self.begun.elapsed().as_millis();
        let what: String = what.split_whitespace().take(8).collect::<Vec<_>>().join(" ");
        self.server.trace(&format!("{} at {at} ms: {what}", self.name));
    }

    /// Waits until the process is killed.
    pub(crate) async fn wait_for_kill(&self) {
        self.killed.notified().await;
    }

    /// Has the process killed after a number of calls.
    pub(crate) fn kill_after(&self, calls: u64) {
        self.state().calls_left = Some(calls);
    }

    /// Has a step of a coming statement fail, after it was passed a number of times.
    pub(crate) fn fail_at(&self, step: Failing, failure: Failure, passes: u64) {
        self.state().fails = Some((step, failure, passes));
    }

    /// Ends all failures that are still to come.
    pub(crate) fn calm(&self) {
        self.set_hearing(Hearing::Well);
        let mut state = self.state();
        state.fails = None;
        state.calls_left = None;
    }

    pub(crate) fn failures(&self) -> u64 {
        self.state().failures
    }

    /// Returns `true` if a statement fails at this step.
    pub(crate) fn fails_at(&self, step: Failing) -> bool {
        let mut state = self.state();
        let Some((_, failure, passes)) = state.fails.filter(|(at, ..)| *at == step) else {
            return false;
        };
        if passes > 0 {
            state.fails = Some((step, failure, passes - 1));
            return false;
        }
        state.fails = None;
        state.failures += 1;
        state.is_killed |= failure == Failure::Kill;
        true
    }

    pub(crate) fn set_hearing(&self, hearing: Hearing) {
        let mut state = self.state();
        let was_silent = std::mem::replace(&mut state.hearing, hearing) == Hearing::Silent;
        // A connection that lost something is broken, once its other side answers again.
        if hearing == Hearing::Cut || was_silent {
            state.notes = None;
        }
    }

    /// Passes a note on to the process.
    fn tell(&self, note: &str) {
        let state = self.state();
        if let (Some(notes), Hearing::Well) = (&state.notes, state.hearing) {
            // A process that listens anew has dropped the other end.
            let _: Result<(), _> = notes.send(note.to_owned());
        }
    }
}

/// Connection of a process on which notes arrive.
#[derive(Debug)]
struct Notes(UnboundedReceiver<String>);

impl NoteSource for Notes {
    fn receive(&mut self) -> Arrival<'_, Option<String>> {
        Box::pin(async { Ok(self.0.recv().await) })
    }
}

/// Listens to the notes of the server at an address.
pub(crate) fn listen(address: &str) -> Arrival<'_, Box<dyn NoteSource>> {
    let host = address.split(['/', '?']).nth(2).unwrap_or_default();
    let link = Link::named(host);
    Box::pin(async move {
        link.call("listen").await;
        let mut state = link.state();
        if state.hearing == Hearing::Cut {
            return Err(reset());
        }
        let (to, notes) = unbounded_channel();
        state.notes = Some(to);
        Ok(Box::new(Notes(notes)) as Box<dyn NoteSource>)
    })
}
