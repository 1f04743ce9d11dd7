//! Deterministic simulation of the whole service: one process, one seed.
//!
//! One or two processes of the service, with their queues, leases, plans and deliveries, run on a
//! clock, a network, a database and devices that are simulated. The seed decides what a client
//! asks for and what fails: a process is killed at any call to something outside of it; connections
//! to the database break, also between a commit and its answer; requests to manufacturers and
//! receivers are lost, slow, doubled or not answered; processes lose each other's notes; clocks
//! jump. After each step of each process the judge looks at the rows, the events and what the
//! receiver got.
//!
//! `SEED=7 make simulate` repeats the run of a seed, `SEEDS=1000` runs so many from there on, and
//! `TRACE=1` prints their traces.
//!
//! | File | Holds |
//! |---|---|
//! | [`driver`], [`double`] | the driver of `sqlx` under the store |
//! | [`server`] | the database server: rows, notes, and failures |
//! | [`network`] | manufacturers and receivers behind a network |
//! | [`process`] | the service itself, as a process runs it |
//! | [`judge`] | what must hold |
//! | [`defects`] | defects that must be found |
//! | [`world`] | the run |
#![expect(clippy::unwrap_used, reason = "what goes wrong in a test ends it, in helpers too")]

mod defects;
mod dice;
mod double;
mod driver;
mod judge;
mod network;
mod process;
mod server;
mod world;

use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use defects::{DEFECTS, Defect};
use world::{Tally, World};

/// Seeds of a run of the tests.
const SEEDS: u64 = 40;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().filter(|text| !text.is_empty()).map(|text| text.parse().unwrap())
}

/// The trace, the counts and the verdict of a seed, on a thread of its own.
fn simulate(seed: u64, defect: Option<Defect>) -> (String, Tally, Result<(), String>) {
    thread::spawn(move || World::new(seed, defect).run()).join().unwrap()
}

/// The last lines of a trace. `TRACE=1` prints all of it.
fn end_of(trace: &str) -> String {
    let lines: Vec<&str> = trace.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}

/// Runs `work` on each number below `end`, on as many threads as there are processors.
fn in_parallel(end: u64, work: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < end);
    let repeat = || {
        while let Some(index) = take() {
            work(index);
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(repeat))));
}

#[test]
fn the_service_keeps_its_promises_whatever_fails() {
    let first = number("SEED").unwrap_or(1);
    let count = number("SEEDS").unwrap_or(if number("SEED").is_some() { 1 } else { SEEDS });
    let (all, broken) = (Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    in_parallel(count, |index| {
        let seed = first + index;
        let (trace, tally, verdict) = simulate(seed, None);
        all.lock().unwrap().add(tally);
        if env::var_os("TRACE").is_some() {
            println!("{trace}");
        }
        if let Err(promise) = verdict {
            let told = format!("seed {seed}: {promise}\nagain with: SEED={seed} make simulate");
            broken.lock().unwrap().push(format!("{}\n{told}", end_of(&trace)));
        }
    });
    let broken = broken.into_inner().unwrap();
    println!("seeds {first} to {}: {:?}", first + count - 1, all.into_inner().unwrap());
    assert!(broken.is_empty(), "{}\n{} of {count} seeds", broken.join("\n\n"), broken.len());
}

#[test]
fn a_seed_has_one_trace() {
    in_parallel(4, |index| {
        let seed = index + 1;
        let (first, ..) = simulate(seed, None);
        let (second, ..) = simulate(seed, None);
        let differs = first.lines().zip(second.lines()).enumerate().find(|(_, (a, b))| a != b);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(first, second, "seed {seed}");
        assert!(first.lines().count() > 1_000, "seed {seed} ends at once");
    });
}

#[test]
fn a_change_whose_answer_was_lost_is_shown() {
    let lost = thread::spawn(|| World::new(1, None).lose_answers()).join().unwrap().unwrap();
    assert!(lost > 0, "no answer to the commit of an order was lost");
}

#[test]
fn planted_defects_of_statements_are_found() {
    let missed = Mutex::new(Vec::new());
    in_parallel(DEFECTS.len() as u64, |index| {
        let defect = DEFECTS[index as usize];
        let broken = |seed| Some((seed, simulate(seed, Some(defect)).2.err()?));
        match (1..=SEEDS).find_map(broken) {
            Some((seed, promise)) => println!("{}: seed {seed}: {promise}", defect.name),
            None => missed.lock().unwrap().push(defect.name),
        }
    });
    assert_eq!(missed.into_inner().unwrap(), [""; 0], "not found");
}
