//! Queue of plans.
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, Utc};
use slackwater_control::policy::ask::Cause;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::clock::Clock;
use crate::queue::due::{DueQueue, Entries};

/// Device that is due for a plan, and the cause.
pub type Due = (Uuid, Cause);

/// Devices by the time at which they are planned next, each with the cause.
#[derive(Debug)]
pub struct PlanQueue {
    queue: DueQueue<Uuid, HashMap<Uuid, Cause>>,
    /// Rings when an area may wait for new plans.
    pub(crate) areas: Notify,
    /// Rings when work on an area has ended.
    pub(crate) areas_ended: Notify,
    /// Name of this process on leases of areas.
    owner: String,
    /// Plans that were read to plan a device beside them.
    loads_read: AtomicUsize,
}

type Plans = Entries<Uuid, HashMap<Uuid, Cause>>;

impl Default for PlanQueue {
    fn default() -> Self {
        let owner = Uuid::new_v4().to_string();
        let (areas, areas_ended) = (Notify::new(), Notify::new());
        let loads_read = AtomicUsize::new(0);
        Self { queue: DueQueue::default(), areas, areas_ended, owner, loads_read }
    }
}

fn put(plans: &mut Plans, id: Uuid, at: DateTime<Utc>, cause: Cause) {
    plans.state.insert(id, cause);
    plans.put(id, at);
}

fn take(plans: &mut Plans, now: DateTime<Utc>, count_max: usize) -> Option<Vec<Due>> {
    let mut taken = Vec::new();
    while let Some(id) = (taken.len() < count_max).then(|| plans.pop(now)).flatten() {
        taken.push((id, plans.state.remove(&id).unwrap_or(Cause::Review)));
    }
    (!taken.is_empty()).then_some(taken)
}

impl PlanQueue {
    /// Counts plans that were read to plan a device beside them.
    pub(crate) fn count_loads_read(&self, count: usize) {
        self.loads_read.fetch_add(count, Ordering::Relaxed);
    }

    /// Plans that were read so far to plan devices beside them, within limits of areas: a measure
    /// of the work, which must not grow with the square of the devices.
    #[must_use]
    pub fn loads_read(&self) -> usize {
        self.loads_read.load(Ordering::Relaxed)
    }

    /// Name of this process on leases of areas.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Plans for a device now. A stronger cause that waits already is not replaced by a reading or
    /// a review.
    pub fn schedule_now(&self, id: Uuid, cause: Cause) {
        self.queue.change(|plans| {
            let before = plans.state.get(&id).copied();
            let before = before.filter(|before| cause.is_look() && !before.is_look());
            put(plans, id, DateTime::<Utc>::MIN_UTC, before.unwrap_or(cause));
        });
    }

    /// Plans again at `at` for a device whose plan failed, unless it is due for another cause by
    /// now.
    pub fn retry_at(&self, id: Uuid, at: DateTime<Utc>, cause: Cause) {
        self.queue.change(|plans| {
            if !plans.state.contains_key(&id) {
                put(plans, id, at, cause);
            }
        });
    }

    /// Sets the time of the next review of a plan. Ignored if the device is due for another cause.
    pub fn schedule_review(&self, id: Uuid, at: Option<DateTime<Utc>>) {
        self.queue.change(|plans| {
            if plans.state.get(&id).is_some_and(|cause| *cause != Cause::Review) {
                return;
            }
            if let Some(at) = at {
                put(plans, id, at, Cause::Review);
            } else {
                plans.state.remove(&id);
                plans.remove(id);
            }
        });
    }

    /// Instant at which a device is due; `None` if it is not.
    #[must_use]
    pub fn due_at(&self, id: Uuid) -> Option<DateTime<Utc>> {
        self.queue.read(|plans| plans.due_at(id))
    }

    /// Takes at most `count_max` devices that are due at `now`.
    ///
    /// # Errors
    /// None is due: the first due time, if there is one.
    pub fn take(
        &self,
        now: DateTime<Utc>,
        count_max: usize,
    ) -> Result<Vec<Due>, Option<DateTime<Utc>>> {
        self.queue.take(|plans| take(plans, now, count_max))
    }

    /// Waits for devices that are due by the clock, and takes at most `count_max` of them.
    pub(crate) async fn next(&self, clock: &Clock, count_max: usize) -> Vec<Due> {
        self.queue.next(clock, |plans, now| take(plans, now, count_max)).await
    }

    /// Ends `count` of the devices that were taken.
    pub fn done(&self, count: usize) {
        self.queue.finish(count, |_| ());
    }

    /// Waits until everything that was due at `now` has been planned.
    pub async fn idle(&self, now: DateTime<Utc>) {
        self.queue.idle(now).await;
    }

    /// Returns `true` if everything that was due at `now` has been planned.
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

    #[test]
    fn a_review_moves_and_gives_way_to_what_is_sooner() {
        let plans = PlanQueue::default();
        let [one, two] = [1, 2].map(Uuid::from_u128);
        plans.schedule_review(one, Some(at(5)));
        plans.schedule_review(two, Some(at(7)));
        plans.schedule_review(one, Some(at(9)));
        assert_eq!(plans.take(at(6), 9), Err(Some(at(7))));
        plans.schedule_now(one, Cause::PluggedIn);
        plans.schedule_review(one, Some(at(30)));
        assert_eq!(plans.take(at(8), 1), Ok(vec![(one, Cause::PluggedIn)]));
        assert_eq!(plans.take(at(8), 9), Ok(vec![(two, Cause::Review)]));
        plans.schedule_now(one, Cause::Prices);
        plans.schedule_now(one, Cause::Reading);
        assert_eq!(plans.take(at(8), 9), Ok(vec![(one, Cause::Prices)]));
        plans.schedule_review(two, Some(at(9)));
        plans.schedule_review(two, None);
        assert_eq!(plans.take(at(59), 9), Err(None));
        assert_eq!(plans.due_at(two), None);
    }
}
