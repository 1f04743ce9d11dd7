//! Which device to look at, and when: a queue of due times, not a scan.
use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use slackwater_control::schedule::steer::Tries;
use tokio::sync::{Notify, Semaphore};
use uuid::Uuid;

use crate::state::App;

/// Devices that are looked at in one change, at most.
pub(crate) const LOOKS_MAX: usize = 256;

/// Something to do about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Task {
    /// Pursue its pending action.
    Pursue(Uuid),
    /// Look at what whoever is in charge wants of it.
    Look(Uuid),
}

/// Tasks whose time has come: looks together, pursuits one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// Pursue the pending action of a device.
    Pursue(Uuid),
    /// Look at these devices.
    Look(Vec<Uuid>),
}

impl Due {
    /// One task for each device.
    pub(crate) fn tasks(&self) -> Vec<Task> {
        match self {
            Self::Pursue(id) => vec![Task::Pursue(*id)],
            Self::Look(ids) => ids.iter().map(|id| Task::Look(*id)).collect(),
        }
    }
}

/// What is to be done about devices, and when.
#[derive(Debug)]
pub struct Agenda {
    queue: Mutex<Queue>,
    tries: Mutex<HashMap<Uuid, Tries>>,
    wake: Notify,
    ended: Notify,
    permits: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Queue {
    due: BTreeSet<(DateTime<Utc>, Task)>,
    at: HashMap<Task, DateTime<Utc>>,
    /// What is under way, and when it is due again because of what came meanwhile.
    running: HashMap<Task, Option<DateTime<Utc>>>,
}

impl Queue {
    /// A task is due at the earliest time that anybody put it to.
    fn put(&mut self, task: Task, at: DateTime<Utc>) {
        if let Some(again) = self.running.get_mut(&task) {
            *again = Some(again.map_or(at, |earlier| earlier.min(at)));
            return;
        }
        if let Some(&earlier) = self.at.get(&task) {
            if earlier <= at {
                return;
            }
            self.due.remove(&(earlier, task));
        }
        self.at.insert(task, at);
        self.due.insert((at, task));
    }

    /// Takes the first task, if its time has come.
    fn pop(&mut self, now: DateTime<Utc>) -> Option<Task> {
        let (at, task) = self.due.first().copied().filter(|(at, _)| *at <= now)?;
        self.due.remove(&(at, task));
        self.at.remove(&task);
        self.running.insert(task, None);
        Some(task)
    }

    /// The next look that is due, if it is the first of all tasks.
    fn is_look_due(&self, now: DateTime<Utc>) -> bool {
        let first = self.due.first();
        first.is_some_and(|(at, task)| *at <= now && matches!(task, Task::Look(_)))
    }
}

impl Agenda {
    /// An empty agenda, on which so many pursuits are under way at one time.
    #[must_use]
    pub fn new(concurrency: u32) -> Self {
        Self {
            queue: Mutex::default(),
            tries: Mutex::default(),
            wake: Notify::new(),
            ended: Notify::new(),
            permits: Arc::new(Semaphore::new(concurrency as usize)),
        }
    }

    /// The permits of those who work on it.
    pub(crate) fn permits(&self) -> Arc<Semaphore> {
        Arc::clone(&self.permits)
    }

    /// Has something done at a time, or earlier if it was to be done earlier.
    pub fn put(&self, task: Task, at: DateTime<Utc>) {
        self.queue().put(task, at);
        self.wake.notify_one();
    }

    /// When a task is due; `None` if it is not, or is under way.
    #[must_use]
    pub fn due_at(&self, task: Task) -> Option<DateTime<Utc>> {
        self.queue().at.get(&task).copied()
    }

    /// Takes what is due, or says when the next task is.
    fn take(&self, now: DateTime<Utc>) -> Result<Due, Option<DateTime<Utc>>> {
        let mut queue = self.queue();
        let next = queue.due.first().map(|(at, _)| *at);
        let mut looks = match queue.pop(now).ok_or(next)? {
            Task::Pursue(id) => return Ok(Due::Pursue(id)),
            Task::Look(id) => vec![id],
        };
        while looks.len() < LOOKS_MAX && queue.is_look_due(now) {
            if let Some(Task::Look(id)) = queue.pop(now) {
                looks.push(id);
            }
        }
        Ok(Due::Look(looks))
    }

    /// Waits until something is due.
    pub(crate) async fn next(&self, app: &App) -> Due {
        loop {
            match self.take(app.now()) {
                Ok(due) => return due,
                Err(None) => self.wake.notified().await,
                Err(Some(at)) => tokio::select! {
                    () = app.clock().until(at) => {}
                    () = self.wake.notified() => {}
                },
            }
        }
    }

    /// Ends a task that was taken; it is due again at `next`, if it is.
    pub(crate) fn done(&self, task: Task, next: Option<DateTime<Utc>>) {
        let mut queue = self.queue();
        let again = queue.running.remove(&task).flatten();
        if let Some(at) = [next, again].into_iter().flatten().min() {
            queue.put(task, at);
        }
        drop(queue);
        self.wake.notify_one();
        self.ended.notify_waiters();
    }

    /// What a device was told on end by who is in charge of it.
    pub(crate) fn tries(&self, id: Uuid) -> Option<Tries> {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner).get(&id).copied()
    }

    /// Remembers it.
    pub(crate) fn remember(&self, id: Uuid, tries: Option<Tries>) {
        let mut all = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        match tries {
            Some(tries) => all.insert(id, tries),
            None => all.remove(&id),
        };
    }

    /// Waits until all that was due at `now` has been done.
    pub async fn idle(&self, now: DateTime<Utc>) {
        loop {
            let mut ended = pin!(self.ended.notified());
            // Registered before the look, so that no end is missed.
            ended.as_mut().enable();
            if self.is_idle(now) {
                return;
            }
            ended.await;
        }
    }

    /// Whether all that was due at `now` is done.
    #[must_use]
    pub fn is_idle(&self, now: DateTime<Utc>) -> bool {
        let queue = self.queue();
        queue.running.is_empty() && queue.due.first().is_none_or(|(at, _)| *at > now)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has whoever is in charge of a device look at it before all else, because
/// something it depends on has changed. Costs nothing where nobody is.
pub fn look_again(app: &App, device_id: Uuid) {
    app.control().put(Task::Look(device_id), DateTime::<Utc>::MIN_UTC);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: u32) -> DateTime<Utc> {
        format!("2026-01-05T18:{minute:02}:00Z").parse().unwrap()
    }

    const IDS: [Uuid; 3] = [Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3)];

    #[test]
    fn the_earliest_time_counts() {
        let agenda = Agenda::new(1);
        let [one, other, _] = IDS;
        agenda.put(Task::Pursue(one), at(5));
        agenda.put(Task::Pursue(other), at(3));
        agenda.put(Task::Pursue(one), at(2));
        agenda.put(Task::Pursue(one), at(9));
        assert_eq!(agenda.due_at(Task::Pursue(one)), Some(at(2)));
        assert_eq!(agenda.take(at(1)), Err(Some(at(2))));
        assert_eq!(agenda.take(at(4)), Ok(Due::Pursue(one)));
        assert_eq!(agenda.take(at(4)), Ok(Due::Pursue(other)));
        assert_eq!(agenda.take(at(4)), Err(None));
    }

    #[test]
    fn looks_are_taken_together_and_in_order_with_pursuits() {
        let agenda = Agenda::new(1);
        let [one, two, three] = IDS;
        agenda.put(Task::Look(one), at(1));
        agenda.put(Task::Look(two), at(2));
        agenda.put(Task::Pursue(two), at(3));
        agenda.put(Task::Look(three), at(4));
        assert_eq!(agenda.take(at(9)), Ok(Due::Look(vec![one, two])));
        assert_eq!(agenda.take(at(9)), Ok(Due::Pursue(two)));
        assert_eq!(agenda.take(at(9)), Ok(Due::Look(vec![three])));
    }

    #[test]
    fn what_comes_meanwhile_is_not_lost() {
        let agenda = Agenda::new(1);
        let task = Task::Look(IDS[0]);
        agenda.put(task, at(0));
        agenda.take(at(0)).unwrap();
        agenda.put(task, at(1));
        assert_eq!(agenda.take(at(9)), Err(None), "it is under way");
        agenda.done(task, Some(at(30)));
        assert_eq!(agenda.due_at(task), Some(at(1)));
        agenda.take(at(1)).unwrap();
        agenda.done(task, None);
        assert_eq!(agenda.due_at(task), None);
    }

    #[tokio::test]
    async fn idle_is_when_nothing_is_due_or_under_way() {
        let agenda = Agenda::new(1);
        let task = Task::Pursue(IDS[0]);
        agenda.put(task, at(0));
        let work = async {
            assert_eq!(agenda.take(at(0)), Ok(Due::Pursue(IDS[0])));
            tokio::task::yield_now().await;
            agenda.done(task, Some(at(7)));
        };
        let wait = async {
            agenda.idle(at(0)).await;
            agenda.due_at(task)
        };
        let (waited, ()) = tokio::join!(wait, work);
        assert_eq!(waited, Some(at(7)));
        agenda.idle(at(6)).await;
    }
}
