//! Queue of pursuits and evaluations.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use slackwater_control::schedule::steer::Tries;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::clock::Clock;
use crate::queue::due::{DueQueue, Entries};

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

/// Tasks by due time. A task that is put while it runs is due again at its end.
#[derive(Debug)]
pub struct OrderQueue {
    /// The state has the running tasks, each with the time at which it is due again.
    queue: DueQueue<Task, HashMap<Task, Option<DateTime<Utc>>>>,
    tries: Mutex<HashMap<Uuid, Tries>>,
    permits: Arc<Semaphore>,
}

type Tasks = Entries<Task, HashMap<Task, Option<DateTime<Utc>>>>;

/// Puts a task at the earliest time that was asked for.
fn put(tasks: &mut Tasks, task: Task, at: DateTime<Utc>) {
    if let Some(again) = tasks.state.get_mut(&task) {
        *again = Some(again.map_or(at, |earlier| earlier.min(at)));
    } else if tasks.due_at(task).is_none_or(|earlier| at < earlier) {
        tasks.put(task, at);
    }
}

fn pop(tasks: &mut Tasks, now: DateTime<Utc>) -> Option<Task> {
    let task = tasks.pop(now)?;
    tasks.state.insert(task, None);
    Some(task)
}

/// Takes the first task, and with an evaluation all others that follow it.
fn take(tasks: &mut Tasks, now: DateTime<Utc>) -> Option<Due> {
    let mut looks = match pop(tasks, now)? {
        Task::Pursue(id) => return Some(Due::Pursue(id)),
        Task::Look(id) => vec![id],
    };
    while looks.len() < LOOKS_MAX && matches!(tasks.first(now), Some(Task::Look(_))) {
        if let Some(Task::Look(id)) = pop(tasks, now) {
            looks.push(id);
        }
    }
    Some(Due::Look(looks))
}

impl OrderQueue {
    /// Empty queue whose workers run `concurrency` tasks at once.
    #[must_use]
    pub fn new(concurrency: u32) -> Self {
        Self {
            queue: DueQueue::default(),
            tries: Mutex::default(),
            permits: Arc::new(Semaphore::new(concurrency as usize)),
        }
    }

    /// Permits of tasks that run at once.
    pub(crate) fn permits(&self) -> Arc<Semaphore> {
        Arc::clone(&self.permits)
    }

    /// Puts a task at a time, or leaves it at an earlier one.
    pub fn put(&self, task: Task, at: DateTime<Utc>) {
        self.queue.change(|tasks| put(tasks, task, at));
    }

    /// Evaluates the controls of a device before all else. Costs nothing where there are none.
    pub fn schedule_evaluation(&self, device_id: Uuid) {
        self.put(Task::Look(device_id), DateTime::<Utc>::MIN_UTC);
    }

    /// Due time of a task; `None` if it has none, as while it is running.
    #[must_use]
    pub fn due_at(&self, task: Task) -> Option<DateTime<Utc>> {
        self.queue.read(|tasks| tasks.due_at(task))
    }

    /// Waits for the next task that is due by the clock, and takes it.
    pub(crate) async fn next(&self, clock: &Clock) -> Due {
        self.queue.next(clock, take).await
    }

    /// Ends a task that was taken; it is due again at `next`, if given.
    pub(crate) fn done(&self, task: Task, next: Option<DateTime<Utc>>) {
        self.queue.finish(1, |tasks| {
            let again = tasks.state.remove(&task).flatten();
            if let Some(at) = [next, again].into_iter().flatten().min() {
                put(tasks, task, at);
            }
        });
    }

    /// Consecutive identical orders to a device by its present controller.
    pub(crate) fn tries(&self, id: Uuid) -> Option<Tries> {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner).get(&id).copied()
    }

    /// Sets the consecutive identical orders to a device.
    pub(crate) fn remember(&self, id: Uuid, tries: Option<Tries>) {
        let mut all = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        match tries {
            Some(tries) => all.insert(id, tries),
            None => all.remove(&id),
        };
    }

    /// Waits until everything that was due at `now` is done.
    pub async fn idle(&self, now: DateTime<Utc>) {
        self.queue.idle(now).await;
    }

    /// Returns `true` if everything that was due at `now` is done.
    #[must_use]
    pub fn is_idle(&self, now: DateTime<Utc>) -> bool {
        self.queue.is_idle(now)
    }
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
        let orders = OrderQueue::new(1);
        let [one, other, _] = IDS;
        orders.put(Task::Pursue(one), at(5));
        orders.put(Task::Pursue(other), at(3));
        orders.put(Task::Pursue(one), at(2));
        orders.put(Task::Pursue(one), at(9));
        assert_eq!(orders.due_at(Task::Pursue(one)), Some(at(2)));
        assert_eq!(orders.queue.take(|entries| take(entries, at(1))), Err(Some(at(2))));
        assert_eq!(orders.queue.take(|entries| take(entries, at(4))), Ok(Due::Pursue(one)));
        assert_eq!(orders.queue.take(|entries| take(entries, at(4))), Ok(Due::Pursue(other)));
        assert_eq!(orders.queue.take(|entries| take(entries, at(4))), Err(None));
    }

    #[test]
    fn looks_are_taken_together_and_in_order_with_pursuits() {
        let orders = OrderQueue::new(1);
        let [one, two, three] = IDS;
        orders.put(Task::Look(one), at(1));
        orders.put(Task::Look(two), at(2));
        orders.put(Task::Pursue(two), at(3));
        orders.put(Task::Look(three), at(4));
        assert_eq!(
            orders.queue.take(|entries| take(entries, at(9))),
            Ok(Due::Look(vec![one, two]))
        );
        assert_eq!(orders.queue.take(|entries| take(entries, at(9))), Ok(Due::Pursue(two)));
        assert_eq!(orders.queue.take(|entries| take(entries, at(9))), Ok(Due::Look(vec![three])));
    }

    #[test]
    fn what_comes_meanwhile_is_not_lost() {
        let orders = OrderQueue::new(1);
        let task = Task::Look(IDS[0]);
        orders.put(task, at(0));
        orders.queue.take(|entries| take(entries, at(0))).unwrap();
        orders.put(task, at(1));
        assert_eq!(orders.queue.take(|entries| take(entries, at(9))), Err(None), "it is under way");
        orders.done(task, Some(at(30)));
        assert_eq!(orders.due_at(task), Some(at(1)));
        orders.queue.take(|entries| take(entries, at(1))).unwrap();
        orders.done(task, None);
        assert_eq!(orders.due_at(task), None);
    }
}
