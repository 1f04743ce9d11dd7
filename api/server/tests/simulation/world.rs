//! One run: a seed, what it lets happen, and the trace of it.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::Method;
use chrono::TimeDelta;
use serde_json::{Value, json};
use slackwater_sandbox::handle::Sandbox;
use slackwater_sandbox::words::uuid_of;
use slackwater_service::clock::Clock;
use tempfile::TempDir;
use uuid::Uuid;

use crate::defects::Defect;
use crate::dice::Dice;
use crate::driver;
use crate::judge::{Judge, Verdict};
use crate::network::{Network, Weather};
use crate::process::{Ended, HOMES, Process, Reply, Surroundings, furnish, scenario, six};
use crate::server::{Failing, Failure, Hearing, Server};

/// Length of a step.
const STEP: Duration = Duration::from_secs(1);

/// Rounds of a run: steps with faults, and then steps without.
const ROUNDS: u32 = 2;
const STORM: u32 = 100;
const CALM: u32 = 90;

/// Steps within which all events arrive once nothing fails any more.
const ARRIVED_WITHIN: u32 = 900;

/// Steps without an arrival, after which none comes again.
const QUIET: u32 = 20;

/// A process shows what another one changed so long after it at the latest, if nothing fails: the
/// second that is promised, and a step, in which the processes run one after the other.
const FOLLOWED_WITHIN: TimeDelta = TimeDelta::seconds(2);

/// An action ends so long after its time-out at the latest, if nothing fails.
const ENDED_WITHIN: TimeDelta = TimeDelta::seconds(80);

/// Steps at which statements fail.
const FAILINGS: [Failing; 6] = [
    Failing::Read,
    Failing::Begin,
    Failing::Statement,
    Failing::Commit,
    Failing::Answer,
    Failing::Answer,
];

/// Deadline of a policy that has none.
const NONE: &str = "none";

/// A request that was sent and has not been answered.
#[derive(Debug)]
struct Asked {
    process: usize,
    what: What,
}

/// Content of a request.
#[derive(Debug, Clone, PartialEq)]
enum What {
    Limit(Uuid),
    Cancel(String),
    Override(Uuid),
    EndOverride(Uuid),
    Policy(Uuid, String),
    Look(String),
}

/// Counts of a run, for the figures.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) steps: u64,
    pub(crate) requests: u64,
    pub(crate) kills: u64,
    pub(crate) failures: u64,
    pub(crate) events: u64,
}

impl Tally {
    /// Adds the counts of another run.
    pub(crate) fn add(&mut self, other: Self) {
        self.steps += other.steps;
        self.requests += other.requests;
        self.kills += other.kills;
        self.failures += other.failures;
        self.events += other.events;
    }
}

/// A run of the simulation.
pub(crate) struct World {
    dice: Dice,
    around: Surroundings,
    /// Processes, and the step at which one that was killed starts again.
    processes: Vec<Result<Process, u64>>,
    judge: Judge,
    tally: Tally,
    names: BTreeMap<String, usize>,
    asked: BTreeMap<u64, Asked>,
    actions: Vec<String>,
    /// Deadlines that the policy of a charger may have.
    deadlines: BTreeMap<Uuid, BTreeSet<String>>,
    starts: u64,
    _folder: TempDir,
}

/// The database at the beginning of every run.
fn furnished() -> &'static [u8] {
    static FURNISHED: OnceLock<Vec<u8>> = OnceLock::new();
    FURNISHED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("furnished.db");
        furnish(&file);
        fs::read(file).unwrap()
    })
}

impl World {
    pub(crate) fn new(seed: u64, defect: Option<Defect>) -> Self {
        driver::install();
        let mut dice = Dice::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept.db");
        fs::write(&file, furnished()).unwrap();
        let server = Server::open(&file, defect);
        let clock = Clock::fixed(six());
        let sandbox = Sandbox::new(&scenario(), clock.clone());
        let around = Surroundings {
            server: Arc::clone(&server),
            vendor: sandbox.vendors().remove(0),
            network: Arc::new(Network::new(dice.split())),
            receiver: Arc::default(),
            clock,
        };
        let count = 1 + dice.below(2);
        Self {
            processes: (0..count).map(|_| Err(0)).collect(),
            dice,
            around,
            judge: Judge::new(server),
            tally: Tally::default(),
            names: BTreeMap::new(),
            asked: BTreeMap::new(),
            actions: Vec::new(),
            deadlines: HOMES.iter().map(|home| (charger(home), [NONE.to_owned()].into())).collect(),
            starts: 0,
            _folder: folder,
        }
    }

    /// Runs to the end, or to the first broken promise. Returns the trace with it.
    pub(crate) fn run(mut self) -> (String, Tally, Verdict) {
        let verdict = self.play();
        self.tally.events = self.judge.counts().0 as u64;
        let left = self.processes.iter().flatten();
        self.tally.failures += left.map(|process| process.link.failures()).sum::<u64>();
        (self.around.server.take_trace(), self.tally, verdict)
    }

    fn play(&mut self) -> Verdict {
        for _ in 0..ROUNDS {
            for _ in 0..STORM {
                self.storm();
                self.step()?;
            }
            self.clear_up();
            for step in 0..CALM {
                if step < CALM / 3 {
                    self.send_something();
                }
                self.step()?;
            }
            self.look_all_over()?;
        }
        self.wait_for_events()
    }

    /// Orders while nothing fails but the answers to commits: a client is told that the database
    /// failed, the action is kept, and ten seconds later memory shows it. Returns how often memory
    /// and rows differed meanwhile.
    pub(crate) fn lose_answers(mut self) -> Result<u32, String> {
        let charger = charger(HOMES[0]);
        let path = format!("/chargers/{charger}/max-current");
        let mut lost = 0;
        for number in 0..20 {
            self.step()?;
            let Ok(process) = &mut self.processes[0] else { return Err("it ended".to_owned()) };
            process.link.fail_at(Failing::Answer, Failure::Error, 0);
            let body = json!({ "maxCurrent": 6 + number % 10 });
            process.ask((number, None), (Method::POST, &path), Some(&body));
            let mut replies = Vec::new();
            while replies.is_empty() {
                assert_eq!(process.pass(Duration::from_millis(1)), Ended::Passed);
                replies = process.replies();
            }
            process.link.calm();
            let is_shown = shown(process, charger) == self.judge.pending_of(charger);
            lost += u32::from(replies[0].status == 503 && !is_shown);
            for _ in 0..10 {
                self.step()?;
            }
            let Ok(process) = &self.processes[0] else { return Err("it ended".to_owned()) };
            let (shown, kept) = (shown(process, charger), self.judge.pending_of(charger));
            if shown != kept {
                return Err(format!("{shown:?} is shown, kept is {kept:?}"));
            }
        }
        Ok(lost)
    }

    /// All events arrive, and none arrives again once nothing fails any more.
    fn wait_for_events(&mut self) -> Verdict {
        let (mut quiet, mut arrivals) = (0, 0);
        for _ in 0..ARRIVED_WITHIN {
            self.step()?;
            let now = self.judge.arrivals();
            quiet = if now == arrivals { quiet + 1 } else { 0 };
            arrivals = now;
            let (events, arrived) = self.judge.counts();
            if events == arrived && quiet > QUIET {
                return Ok(());
            }
        }
        Err(format!("of {:?} events not all arrived, or again and again", self.judge.counts()))
    }

    /// Name of an identifier in the trace: identifiers differ from run to run.
    fn name(&mut self, id: &str) -> String {
        let next = self.names.len();
        format!("#{}", *self.names.entry(id.to_owned()).or_insert(next))
    }

    fn note(&self, line: &str) {
        self.around.server.trace(&format!("step {}: {line}", self.tally.steps));
    }

    /// Lets something fail from this step on.
    fn storm(&mut self) {
        if self.dice.happens(50) {
            let weather = Weather {
                lost: self.dice.below(300),
                unanswered: self.dice.below(200),
                doubled: self.dice.below(200),
                slow: self.dice.below(200),
            };
            self.around.network.set_weather(weather);
            self.note(&format!("weather {weather:?}"));
        }
        if self.dice.happens(4) {
            let jump = Duration::from_secs(self.dice.below(900));
            self.note(&format!("all clocks jump {jump:?}"));
            self.around.clock.step(TimeDelta::from_std(jump).unwrap()).unwrap();
            self.processes.iter().flatten().for_each(|process| process.step(jump));
        }
        for index in 0..self.processes.len() {
            let Ok(process) = &self.processes[index] else { continue };
            let link = Arc::clone(&process.link);
            if self.dice.happens(20) {
                let hearing = *self.dice.pick(&[Hearing::Well, Hearing::Cut, Hearing::Silent]);
                link.set_hearing(hearing);
                self.note(&format!("{index} hears {hearing:?}"));
            }
            if self.dice.happens(150) {
                let failing = *self.dice.pick(&FAILINGS);
                let failure = if self.dice.happens(200) { Failure::Kill } else { Failure::Error };
                let passes = self.dice.below(6);
                link.fail_at(failing, failure, passes);
                self.note(&format!("{index} {failure:?} at {failing:?} after {passes}"));
            }
            if self.dice.happens(10) {
                let calls = 1 + self.dice.below(60);
                link.kill_after(calls);
                self.note(&format!("{index} is to be killed after {calls} calls"));
            }
        }
        self.send_something();
    }

    /// Ends all faults.
    fn clear_up(&mut self) {
        self.note("calm");
        self.around.network.set_weather(Weather::default());
        for process in &mut self.processes {
            match process {
                Ok(process) => {
                    process.link.calm();
                }
                Err(at) => *at = 0,
            }
        }
    }

    /// Sends a request, at times.
    fn send_something(&mut self) {
        if !self.dice.happens(400) {
            return;
        }
        let home: &str = self.dice.pick::<&str>(&HOMES);
        let charger = charger(home);
        let (method, path, body, what) = match self.dice.below(8) {
            0..=2 => {
                let amps = 6 + self.dice.below(11);
                let path = format!("/chargers/{charger}/max-current");
                (Method::POST, path, Some(json!({ "maxCurrent": amps })), What::Limit(charger))
            }
            3 => {
                let path = format!("/chargers/{charger}/smart-override");
                (Method::POST, path, None, What::Override(charger))
            }
            4 => {
                let path = format!("/chargers/{charger}/smart-override");
                (Method::DELETE, path, None, What::EndOverride(charger))
            }
            5 | 6 => {
                let is_asked =
                    |asked: &Asked| matches!(asked.what, What::Policy(of, _) if of == charger);
                if self.asked.values().any(is_asked) {
                    return;
                }
                let deadline = format!("{:02}:{:02}", self.dice.below(24), self.dice.below(60));
                let path = format!("/chargers/{charger}/smart-charging-policy");
                let body =
                    json!({ "isEnabled": true, "deadline": deadline, "chargingDuration": "01:00" });
                self.deadlines.entry(charger).or_default().insert(deadline.clone());
                (Method::PUT, path, Some(body), What::Policy(charger, deadline))
            }
            _ => {
                let Some(last) = self.actions.len().checked_sub(1) else { return };
                let back = self.dice.below(3) as usize;
                let action = self.actions[last.saturating_sub(back)].clone();
                let path = format!("/chargers/actions/{action}/cancel");
                (Method::POST, path, None, What::Cancel(action))
            }
        };
        let index = self.dice.below(self.processes.len() as u64) as usize;
        self.send(index, (method, &path), body.as_ref(), what);
    }

    fn send(&mut self, index: usize, line: (Method, &str), body: Option<&Value>, what: What) {
        let Ok(process) = &mut self.processes[index] else { return };
        self.tally.requests += 1;
        let number = self.tally.requests;
        // Some clients hang up in the middle of it, and are told nothing.
        let polls = self.dice.happens(200).then(|| 1 + self.dice.below(60));
        process.ask((number, polls), line, body);
        self.asked.insert(number, Asked { process: index, what });
        self.note(&format!("{number} to {index}, polled {polls:?} times"));
    }

    /// One step of all processes, one after the other.
    fn step(&mut self) -> Verdict {
        self.tally.steps += 1;
        self.around.clock.step(TimeDelta::from_std(STEP).unwrap()).unwrap();
        for index in 0..self.processes.len() {
            match &mut self.processes[index] {
                Err(at) if *at <= self.tally.steps => self.start(index),
                Err(_) => {}
                Ok(process) => {
                    process.step(STEP);
                    let ended = process.pass(STEP);
                    if ended == Ended::Killed {
                        self.kill(index);
                    } else if process.has_lost_a_job() {
                        return Err(format!("a loop of process {index} has ended"));
                    } else {
                        self.take_replies(index)?;
                    }
                }
            }
            let receiver = Arc::clone(&self.around.receiver);
            self.judge.look(|from| receiver.got(from))?;
        }
        Ok(())
    }

    fn start(&mut self, index: usize) {
        self.starts += 1;
        // Its clock is a little off.
        let off = TimeDelta::milliseconds(self.dice.below(4_000) as i64 - 2_000);
        let at = self.around.clock.now() + off;
        let name = format!("p{index}s{}", self.starts);
        self.note(&format!("{name} starts with its clock off by {off}"));
        let dice = self.dice.split();
        let started = Process::start(&self.around, (&name, dice), at);
        self.processes[index] = started.ok_or(self.tally.steps + 1);
    }

    fn kill(&mut self, index: usize) {
        self.tally.kills += 1;
        let again = self.tally.steps + 1 + self.dice.below(15);
        self.note(&format!("{index} is killed"));
        if let Ok(process) = &self.processes[index] {
            self.tally.failures += process.link.failures();
            process.link.end();
        }
        self.processes[index] = Err(again);
        // Nobody knows what became of its requests.
        self.asked.retain(|_, asked| asked.process != index);
    }

    fn take_replies(&mut self, index: usize) -> Verdict {
        let Ok(process) = &mut self.processes[index] else { return Ok(()) };
        for reply in process.replies() {
            let Some(asked) = self.asked.remove(&reply.number) else { continue };
            let id = reply.body["id"].as_str().unwrap_or_default().to_owned();
            let name = if id.is_empty() { String::new() } else { self.name(&id) };
            self.note(&format!(
                "{index} answers {} to {:?} {name}",
                reply.status,
                Short(&asked.what)
            ));
            self.take_reply(&asked.what, &reply)?;
        }
        Ok(())
    }

    fn take_reply(&mut self, what: &What, reply: &Reply) -> Verdict {
        if ![200, 204, 400, 401, 404, 409, 503].contains(&reply.status) {
            return Err(format!("{what:?} was answered {} {}", reply.status, reply.body));
        }
        let is_done = reply.status < 300;
        match what {
            What::Limit(_) if is_done => {
                let id = reply.body["id"].as_str().unwrap();
                self.judge.tell(id);
                self.actions.push(id.to_owned());
            }
            What::Cancel(id) if is_done => self.judge.tell_ended(id),
            What::Policy(charger, deadline) if is_done => {
                self.deadlines.insert(*charger, [deadline.clone()].into());
            }
            What::Look(expected) => {
                let shown = reply.body["deadline"].as_str().unwrap_or(NONE);
                if !expected.split(' ').any(|one| one == shown) {
                    return Err(format!("{expected} was to be seen, not {}", reply.body));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// After a while without faults: actions have ended in time, and all processes show what is in
    /// the database.
    fn look_all_over(&mut self) -> Verdict {
        let pending = self.judge.pending();
        let now = self.around.clock.now();
        if let Some(late) = pending.iter().find(|row| now - row.created_at > ENDED_WITHIN) {
            return Err(format!("{} is pending since {}", late.id, late.created_at));
        }
        for (index, process) in self.processes.iter().enumerate() {
            let Ok(process) = process else { return Err(format!("{index} does not run")) };
            for charger in HOMES.map(charger) {
                let since = now - FOLLOWED_WITHIN;
                let kept = self.judge.pending_since(charger, since);
                let overrides = self.judge.overridden_since(charger, since);
                let (shown, is_overridden) = process.app.cache().read(|tables| {
                    let control = tables.control();
                    let shown = control.pending(charger).map(|action| action.id.to_string());
                    (shown, control.active_override(charger).is_some())
                });
                if !kept.contains(&shown) {
                    return Err(format!("{index} shows {shown:?} pending, kept is {kept:?}"));
                }
                if !overrides.iter().any(|one| one.is_some() == is_overridden) {
                    return Err(format!(
                        "{index} shows another override of {charger} than is kept"
                    ));
                }
            }
        }
        self.ask_all_over()
    }

    /// Asks all processes for the policies that were acknowledged.
    fn ask_all_over(&mut self) -> Verdict {
        for index in 0..self.processes.len() {
            for (charger, deadlines) in self.deadlines.clone() {
                let expected: Vec<String> = deadlines.into_iter().collect();
                let path = format!("/chargers/{charger}/smart-charging-policy");
                let Ok(process) = &mut self.processes[index] else { continue };
                self.tally.requests += 1;
                process.ask((self.tally.requests, None), (Method::GET, &path), None);
                let what = What::Look(expected.join(" "));
                self.asked.insert(self.tally.requests, Asked { process: index, what });
            }
        }
        self.step()?;
        self.step()?;
        let is_open = self.asked.values().any(|asked| matches!(asked.what, What::Look(_)));
        if is_open { Err("a look has no answer".to_owned()) } else { Ok(()) }
    }
}

/// The pending action of a charger in the memory of a process.
fn shown(process: &Process, charger: Uuid) -> Option<String> {
    process.app.cache().read(|tables| {
        let pending = tables.control().pending(charger);
        pending.map(|action| action.id.to_string())
    })
}

/// The charger of a home.
fn charger(home: &str) -> Uuid {
    uuid_of(&format!("{home}-charger"))
}

/// A request without identifiers that differ from run to run.
struct Short<'a>(&'a What);

impl std::fmt::Debug for Short<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            What::Cancel(_) => f.write_str("Cancel"),
            other => write!(f, "{other:?}"),
        }
    }
}
