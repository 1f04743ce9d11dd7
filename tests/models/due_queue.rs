//! The queue of due times: each schedule of its users, up to a number of steps, on the queue itself.
//!
//! `DueQueue`, its bell and `Clock` are the code of the service. Two workers wait in `next`, and are
//! polled by hand: at their start, and then only when they were woken, as a runtime polls them.
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_service::clock::Clock;
use slackwater_service::queue::due::{DueQueue, Entries};
use tokio::runtime::Builder;

/// Number of steps of a schedule. All shorter ones are part of it.
const STEPS: usize = 6;

type Queue = DueQueue<u8, ()>;
type Waiting = Pin<Box<dyn Future<Output = u8>>>;

/// Step of a schedule. Keys are due at minute 0, which is now, or at minute 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Put {
        key: u8,
        minute: i64,
    },
    Remove {
        key: u8,
    },
    /// The clock shows a minute more.
    Tick,
    /// A worker begins to wait, or is polled because it was woken.
    Poll {
        who: usize,
    },
    /// A worker is done with its key.
    Finish {
        who: usize,
    },
    /// A worker is dropped while it waits.
    Drop {
        who: usize,
    },
}

const STEPS_OF_ALL: [Step; 12] = [
    Step::Put { key: 1, minute: 0 },
    Step::Put { key: 1, minute: 1 },
    Step::Put { key: 2, minute: 0 },
    Step::Put { key: 2, minute: 1 },
    Step::Remove { key: 1 },
    Step::Tick,
    Step::Poll { who: 0 },
    Step::Poll { who: 1 },
    Step::Finish { who: 0 },
    Step::Finish { who: 1 },
    Step::Drop { who: 0 },
    Step::Drop { who: 1 },
];

/// Defect that is planted into the users of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defect {
    None,
    /// A key is put without a bell.
    PutsInSilence,
    /// A key that is put takes the key beside it out.
    ForgetsAnother,
}

/// Flag that a worker was woken.
#[derive(Default)]
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

enum Worker {
    Idle,
    Waits(Waiting, Arc<Bell>),
    Works,
}

/// The queue, its workers, and what was put and not taken since.
struct World {
    queue: Arc<Queue>,
    clock: Clock,
    minute: i64,
    workers: [Worker; 2],
    expected: BTreeSet<u8>,
    is_first_put: bool,
    is_first_started: bool,
    defect: Defect,
}

fn at(minute: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::minutes(minute)
}

impl World {
    fn new(defect: Defect) -> Self {
        Self {
            queue: Arc::default(),
            clock: Clock::fixed(at(0)),
            minute: 0,
            workers: [Worker::Idle, Worker::Idle],
            expected: BTreeSet::new(),
            is_first_put: false,
            is_first_started: false,
            defect,
        }
    }

    /// Does a step. Returns `false` if it cannot come now. Keys and workers are alike: the second
    /// comes after the first.
    fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Put { key: 2, .. } if !self.is_first_put => return false,
            Step::Poll { who: 1 } if !self.is_first_started => return false,
            Step::Put { key, minute } => self.put(key, at(minute)),
            Step::Remove { key } => {
                self.queue.change(|entries| entries.remove(key));
                return self.expected.remove(&key);
            }
            Step::Tick if self.minute == 0 => {
                self.minute = 1;
                self.clock.step(TimeDelta::minutes(1)).expect("a clock that stands still");
            }
            Step::Poll { who } => return self.poll(who),
            Step::Finish { who } if matches!(self.workers[who], Worker::Works) => {
                self.queue.finish(1, |_| ());
                self.workers[who] = Worker::Idle;
            }
            Step::Drop { who } if matches!(self.workers[who], Worker::Waits(..)) => {
                self.workers[who] = Worker::Idle;
            }
            Step::Tick | Step::Finish { .. } | Step::Drop { .. } => return false,
        }
        true
    }

    fn put(&mut self, key: u8, at: DateTime<Utc>) {
        self.expected.insert(key);
        self.is_first_put = true;
        let defect = self.defect;
        let change = |entries: &mut Entries<u8, ()>| {
            entries.put(key, at);
            if defect == Defect::ForgetsAnother {
                entries.remove(3 - key);
            }
        };
        if defect == Defect::PutsInSilence {
            // A look at the queue rings no bell.
            let looked: Result<(), _> = self.queue.take(|entries| {
                change(entries);
                Some(())
            });
            looked.expect("a look that cannot fail");
        } else {
            self.queue.change(change);
        }
    }

    /// Polls a worker that is idle or was woken.
    fn poll(&mut self, who: usize) -> bool {
        self.is_first_started = true;
        let (mut waiting, bell) = match std::mem::replace(&mut self.workers[who], Worker::Idle) {
            Worker::Idle => (self.wait(), Arc::default()),
            Worker::Waits(waiting, bell) if bell.0.swap(false, Ordering::SeqCst) => (waiting, bell),
            other => {
                self.workers[who] = other;
                return false;
            }
        };
        let waker = Waker::from(Arc::clone(&bell));
        self.workers[who] = match waiting.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => Worker::Waits(waiting, bell),
            Poll::Ready(key) => {
                assert!(self.expected.remove(&key), "key {key} was taken twice, or never put");
                Worker::Works
            }
        };
        true
    }

    fn wait(&self) -> Waiting {
        let (queue, clock) = (Arc::clone(&self.queue), self.clock.clone());
        Box::pin(async move { queue.next(&clock, Entries::pop).await })
    }

    /// Fault of the state after all who were woken had their turn; `None` if there is none.
    fn fault(&mut self) -> Option<&'static str> {
        while (0..2).any(|who| matches!(self.workers[who], Worker::Waits(..)) && self.poll(who)) {}
        let due_at = |key: &u8| self.queue.read(|entries| entries.due_at(*key));
        if self.expected.iter().any(|key| due_at(key).is_none()) {
            return Some("a key is lost");
        }
        let waits = self.workers.iter().any(|worker| matches!(worker, Worker::Waits(..)));
        let is_due = self.expected.iter().any(|key| due_at(key) <= Some(at(self.minute)));
        (waits && is_due).then_some("a worker sleeps while a key is due")
    }
}

/// A schedule with a fault, and the fault. `None` after all schedules had none.
fn search(defect: Defect, schedule: &mut Vec<Step>, count: &mut usize) -> Option<&'static str> {
    let mut world = World::new(defect);
    // Only the last step can be one that cannot come.
    if !schedule.iter().all(|step| world.step(*step)) {
        return None;
    }
    *count += 1;
    if let Some(fault) = world.fault() {
        return Some(fault);
    }
    if schedule.len() == STEPS {
        return None;
    }
    for step in STEPS_OF_ALL {
        schedule.push(step);
        if let Some(fault) = search(defect, schedule, count) {
            return Some(fault);
        }
        schedule.pop();
    }
    None
}

/// Searches within a runtime, whose timer never fires: the clock stands still.
fn check(defect: Defect) -> (Option<&'static str>, Vec<Step>, usize) {
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let _within = runtime.enter();
    let (mut schedule, mut count) = (Vec::new(), 0);
    let fault = search(defect, &mut schedule, &mut count);
    (fault, schedule, count)
}

#[test]
fn nothing_due_is_lost_in_any_schedule_of_two_workers() {
    let (fault, schedule, count) = check(Defect::None);
    assert_eq!(fault, None, "after {schedule:?}");
    println!("{count} schedules of the queue");
}

#[test]
fn planted_defects_of_the_queue_are_found() {
    let silent = check(Defect::PutsInSilence).0;
    assert_eq!(silent, Some("a worker sleeps while a key is due"));
    assert_eq!(check(Defect::ForgetsAnother).0, Some("a key is lost"));
}
