//! Pending actions, active overrides and schedules, in memory.
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use uuid::Uuid;

use crate::cache::index::Index;
use slackwater_store::actions::Action;
use slackwater_store::overrides::Override;
use slackwater_store::schedules::Schedule;

/// The tables. What ended is not among them.
#[derive(Debug, Default)]
pub struct Control {
    /// By the device.
    pending: HashMap<Uuid, Arc<Action>>,
    /// By the device.
    overrides: HashMap<Uuid, Arc<Override>>,
    schedules: HashMap<Uuid, Arc<Schedule>>,
    by_target: HashMap<Uuid, BTreeSet<Uuid>>,
    /// By client and user.
    lists: HashMap<(Arc<str>, Arc<str>), Index<Uuid>>,
}

impl Control {
    /// The pending action of a device.
    #[must_use]
    pub fn pending(&self, target_id: Uuid) -> Option<&Arc<Action>> {
        self.pending.get(&target_id)
    }

    /// All pending actions, in no order.
    pub fn all_pending(&self) -> impl Iterator<Item = &Arc<Action>> {
        self.pending.values()
    }

    /// The active override of a device.
    #[must_use]
    pub fn active_override(&self, target_id: Uuid) -> Option<&Arc<Override>> {
        self.overrides.get(&target_id)
    }

    /// A schedule of a client.
    #[must_use]
    pub fn schedule(&self, client_id: &str, id: Uuid) -> Option<&Arc<Schedule>> {
        self.schedules.get(&id).filter(|schedule| &*schedule.client_id == client_id)
    }

    /// The schedules of a device, in the order of their identifiers.
    pub fn schedules_of(&self, target_id: Uuid) -> impl Iterator<Item = &Arc<Schedule>> {
        let ids = self.by_target.get(&target_id).into_iter().flatten();
        ids.filter_map(|id| self.schedules.get(id))
    }

    /// The devices that have schedules.
    pub fn scheduled(&self) -> impl Iterator<Item = Uuid> {
        self.by_target.keys().copied()
    }

    /// A user's schedules, to cut a page from.
    #[must_use]
    pub fn list(&self, client_id: &str, user_id: &str) -> Option<&Index<Uuid>> {
        self.lists.get(&(client_id.into(), user_id.into()))
    }

    /// Keeps a pending action, in the place of the device's last one.
    pub fn keep_pending(&mut self, action: Action) {
        self.pending.insert(action.target_id, Arc::new(action));
    }

    /// Forgets an action that ended.
    pub fn remove_pending(&mut self, target_id: Uuid, id: Uuid) {
        if self.pending.get(&target_id).is_some_and(|action| action.id == id) {
            self.pending.remove(&target_id);
        }
    }

    /// Keeps an override; one that has ended is forgotten.
    pub fn keep_override(&mut self, override_: Override) {
        let target_id = override_.target_id;
        let is_current =
            self.overrides.get(&target_id).is_none_or(|current| current.id == override_.id);
        if override_.life.is_active() {
            self.overrides.insert(target_id, Arc::new(override_));
        } else if is_current {
            self.overrides.remove(&target_id);
        }
    }

    /// Keeps a schedule, in the place of what was kept of it.
    pub fn keep_schedule(&mut self, schedule: Schedule) {
        self.remove_schedule(schedule.id);
        let key = (Arc::clone(&schedule.client_id), Arc::clone(&schedule.user_id));
        let created = schedule.created_at.timestamp_micros();
        self.lists.entry(key).or_default().insert(created, schedule.id);
        self.by_target.entry(schedule.wish.target_id).or_default().insert(schedule.id);
        self.schedules.insert(schedule.id, Arc::new(schedule));
    }

    /// Edits a schedule in place; does nothing if it was deleted. `change` must not touch
    /// identifier, client, user or target: the indexes are not rebuilt.
    pub fn change_schedule(&mut self, id: Uuid, change: impl FnOnce(&mut Schedule)) {
        if let Some(schedule) = self.schedules.get_mut(&id) {
            change(Arc::make_mut(schedule));
        }
    }

    /// Forgets a schedule.
    pub fn remove_schedule(&mut self, id: Uuid) {
        let Some(schedule) = self.schedules.remove(&id) else { return };
        let key = (Arc::clone(&schedule.client_id), Arc::clone(&schedule.user_id));
        if let Some(list) = self.lists.get_mut(&key) {
            list.remove(schedule.created_at.timestamp_micros(), &id);
            if list.is_empty() {
                self.lists.remove(&key);
            }
        }
        let target_id = schedule.wish.target_id;
        if let Some(ids) = self.by_target.get_mut(&target_id) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_target.remove(&target_id);
            }
        }
    }

    /// Replaces all schedules and overrides of a device. Returns `true` if anything changed.
    pub fn replace(
        &mut self,
        target_id: Uuid,
        (pending, active): (Option<Action>, Option<Override>),
        schedules: Vec<Schedule>,
    ) -> bool {
        let mut has_changed = replace_in(&mut self.pending, target_id, pending);
        has_changed |= replace_in(&mut self.overrides, target_id, active);
        let gone: Vec<Uuid> =
            self.by_target.get(&target_id).into_iter().flatten().copied().collect();
        for id in gone.into_iter().filter(|id| schedules.iter().all(|kept| kept.id != *id)) {
            self.remove_schedule(id);
            has_changed = true;
        }
        for schedule in schedules {
            if self.schedules.get(&schedule.id).is_none_or(|before| **before != schedule) {
                self.keep_schedule(schedule);
                has_changed = true;
            }
        }
        has_changed
    }

    /// Forgets all about a device.
    pub fn remove_target(&mut self, target_id: Uuid) {
        self.pending.remove(&target_id);
        self.overrides.remove(&target_id);
        for id in self.by_target.get(&target_id).cloned().unwrap_or_default() {
            self.remove_schedule(id);
        }
    }
}

/// Puts a value in the place of another, or takes it away. Returns `true` if it is another value.
fn replace_in<T: PartialEq>(map: &mut HashMap<Uuid, Arc<T>>, id: Uuid, value: Option<T>) -> bool {
    if map.get(&id).map(|before| &**before) == value.as_ref() {
        return false;
    }
    match value {
        Some(value) => map.insert(id, Arc::new(value)),
        None => map.remove(&id),
    };
    true
}
