//! Rows that others changed, put into memory.
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::cache::device_change::DeviceChange;
use crate::cache::recorders::Recorder;
use crate::cache::tables::planned_at;
use crate::cache::tables::{OfUser, Tables};
use crate::plans::planner::replan_cause;
use crate::replicas::rows::ReloadedRows;
use crate::replicas::telling::{Environments, FollowUp};
use crate::state::App;
use slackwater_store::accounts::Account;
use slackwater_store::actions::Action;
use slackwater_store::devices::Device;
use slackwater_store::locations::Location;
use slackwater_store::notes::ChangedKeys;
use slackwater_store::overrides::Override;
use slackwater_store::plans::KeptPlan;
use slackwater_store::policies::{FlexRow, SmartPolicy};
use slackwater_store::rows::Pair;
use slackwater_store::samples::ChargeSession;
use slackwater_store::schedules::Schedule;
use slackwater_store::tariffs::{TariffRow, TariffSchedule};
use slackwater_store::users::User;

/// Puts rows into memory in place of what was there of the same keys, and tells
/// the jobs. What is the same as before stays untouched. Call it in the writer's
/// turn in which the rows were read.
pub fn apply_changes(worlds: &Environments, touched: &ChangedKeys, rows: ReloadedRows) {
    let Some(app) = worlds.shared() else { return };
    let ReloadedRows {
        users,
        accounts,
        locations,
        devices,
        smart,
        flex,
        plans,
        pending,
        overrides,
        schedules,
        ..
    } = rows;
    let told = app.cache().write(|tables| {
        let mut updater = CacheUpdater { worlds, app, tables, told: Vec::new() };
        updater.users(touched, users, (accounts, locations));
        updater.devices(touched, devices);
        updater.policies(touched, smart.into_iter().collect(), flex);
        updater.plans(touched, plans);
        updater.control(touched, (pending, overrides), schedules);
        updater.told
    });
    apply_recordings(app, touched, rows.until.into_iter().collect(), rows.sessions);
    for (client_id, job) in told {
        worlds.tell(&client_id, [job]);
    }
    let tariffs: HashMap<Pair, _> = rows
        .tariffs
        .into_iter()
        .map(|row| ((row.client_id.clone(), row.id.clone()), row))
        .collect();
    apply_prices(worlds, app, touched, (tariffs, rows.tariff_schedules.into_iter().collect()));
    let mut zones: HashMap<Pair, _> =
        rows.zones.into_iter().map(|row| ((row.client_id, row.id), row.zone)).collect();
    app.prices().write(|book| {
        for name in &touched.zones {
            book.replace_zone(name.clone(), zones.remove(name));
        }
    });
    let mut limits: HashMap<Pair, _> =
        rows.limits.into_iter().map(|row| (row.area, row.limit)).collect();
    for area in &touched.limits {
        app.limits().replace(area, limits.remove(area));
    }
}

/// The clients whose devices these may be.
pub(super) fn clients_met(
    tables: &Tables,
    touched: &ChangedKeys,
    rows: &ReloadedRows,
) -> BTreeSet<Arc<str>> {
    let devices = touched.all_devices();
    let known = devices.iter().filter_map(|id| tables.any_device(*id)).map(Arc::as_ref);
    let clients = known.chain(&rows.devices).map(|device| Arc::clone(&device.client_id));
    let places = touched.places.iter().filter_map(|place| tables.plans.resident(*place));
    let owners = places.map(|(client_id, _)| Arc::clone(client_id));
    let tariffs = touched.tariffs.iter().map(|(client_id, _)| client_id.as_str().into());
    clients.chain(owners).chain(tariffs).collect()
}

/// Changes the tables, and gathers what the jobs have to know of it.
struct CacheUpdater<'a> {
    worlds: &'a Environments,
    app: &'a App,
    tables: &'a mut Tables,
    told: Vec<(Arc<str>, FollowUp)>,
}

impl CacheUpdater<'_> {
    fn users(
        &mut self,
        touched: &ChangedKeys,
        users: Vec<User>,
        (accounts, locations): (Vec<Account>, Vec<Location>),
    ) {
        let mut users: HashMap<Pair, User> = users
            .into_iter()
            .map(|user| ((user.client_id.clone(), user.id.clone()), user))
            .collect();
        let mut accounts = grouped(accounts, |row| (row.client_id.clone(), row.user_id.clone()));
        let mut places = grouped(locations, |row| (row.client_id.clone(), row.user_id.clone()));
        for name in &touched.users {
            let Some(user) = users.remove(name) else {
                let user = self.tables.user(&name.0, &name.1);
                let gone = user.map(OfUser::device_ids).unwrap_or_default();
                self.tables.remove_user(&name.0, &name.1);
                self.app.recorders().forget(&gone);
                continue;
            };
            let accounts = accounts.remove(name).unwrap_or_default();
            let places = places.remove(name).unwrap_or_default();
            self.tables.replace_user(&user, accounts, places);
        }
    }

    fn devices(&mut self, touched: &ChangedKeys, devices: Vec<Device>) {
        let mut devices: HashMap<Uuid, Device> =
            devices.into_iter().map(|device| (device.id, device)).collect();
        for &id in &touched.devices {
            let before = self.tables.any_device(id).cloned();
            match (before, devices.remove(&id)) {
                (Some(before), Some(after)) if *before == after => {}
                (Some(before), Some(after)) => {
                    self.change_device(&DeviceChange { before, after: Arc::new(after) });
                }
                (None, Some(device)) => {
                    self.told.push((Arc::clone(&device.client_id), FollowUp::Watch(id)));
                    self.tables.keep_device(device);
                }
                (_, None) => {
                    self.tables.remove_device(id);
                    self.app.recorders().forget(&[id]);
                }
            }
        }
    }

    /// Changes what is known of a device, and has those looked at whose charging
    /// it may decide for: itself, and the other end of its cable.
    fn change_device(&mut self, change: &DeviceChange) {
        let (id, client_id) = (change.after.id, Arc::clone(&change.after.client_id));
        let world = self.worlds.of_client(&client_id);
        let cause = world.and_then(|app| replan_cause(app, self.tables, change));
        self.tables.replace_device(Device::clone(&change.after));
        let other = self.tables.any_device(id).and_then(|device| self.tables.other_end(device));
        let other = other.map(|other| other.id);
        let looks = [id].into_iter().chain(other).map(FollowUp::Look);
        let replans = cause.map(|_| FollowUp::Replan(id));
        let jobs = looks.chain(replans).map(|job| (Arc::clone(&client_id), job));
        self.told.extend(jobs);
    }

    fn policies(
        &mut self,
        touched: &ChangedKeys,
        mut smart: HashMap<Uuid, SmartPolicy>,
        flex: Vec<FlexRow>,
    ) {
        let mut flex = grouped(flex, |row| row.vehicle_id);
        for &id in &touched.policies {
            let flex = flex.remove(&id).unwrap_or_default();
            if self.tables.plans.replace_policies(id, smart.remove(&id), flex) {
                self.tell(id, &[FollowUp::Replan(id), FollowUp::Look(id)]);
            }
        }
    }

    fn plans(&mut self, touched: &ChangedKeys, plans: Vec<KeptPlan>) {
        let mut plans: HashMap<Uuid, _> =
            plans.into_iter().map(|plan| (plan.device_id, plan)).collect();
        for &id in &touched.plans {
            let before = self.tables.plans.plan(id);
            match plans.remove(&id) {
                Some(plan) if before.is_some_and(|before| **before == plan) => {}
                Some(plan) => {
                    let review = FollowUp::Review(id, plan.state.review_at);
                    self.tables.plans.keep_plan(plan);
                    self.tell(id, &[review, FollowUp::Look(id)]);
                }
                None => {
                    if self.tables.plans.remove_plan(id) {
                        self.tell(id, &[FollowUp::Review(id, None), FollowUp::Look(id)]);
                    }
                }
            }
        }
    }

    fn control(
        &mut self,
        touched: &ChangedKeys,
        (pending, overrides): (Vec<Action>, Vec<Override>),
        schedules: Vec<Schedule>,
    ) {
        let mut pending: HashMap<Uuid, Action> =
            pending.into_iter().map(|action| (action.target_id, action)).collect();
        let mut overrides: HashMap<Uuid, Override> =
            overrides.into_iter().map(|override_| (override_.target_id, override_)).collect();
        let mut schedules = grouped(schedules, |schedule| schedule.wish.target_id);
        for &id in &touched.control {
            let action = pending.remove(&id);
            let pursue = action.is_some().then_some(FollowUp::Pursue(id));
            let own = schedules.remove(&id).unwrap_or_default();
            let now = (action, overrides.remove(&id));
            if self.tables.control_mut().replace(id, now, own) {
                let jobs: Vec<FollowUp> = pursue.into_iter().chain([FollowUp::Look(id)]).collect();
                self.tell(id, &jobs);
            }
        }
    }

    fn tell(&mut self, device_id: Uuid, jobs: &[FollowUp]) {
        let Some(device) = self.tables.any_device(device_id) else { return };
        let client_id = &device.client_id;
        self.told.extend(jobs.iter().map(|job| (Arc::clone(client_id), *job)));
    }
}

fn apply_recordings(
    app: &App,
    touched: &ChangedKeys,
    mut until: HashMap<Uuid, DateTime<Utc>>,
    sessions: Vec<ChargeSession>,
) {
    let mut sessions = grouped(sessions, |session| session.measured.device_id);
    for &id in &touched.recordings {
        let sessions = sessions.remove(&id).unwrap_or_default();
        app.recorders().replace(id, Recorder { until: until.remove(&id), sessions });
    }
}

type Tariffs = (HashMap<Pair, TariffRow>, HashMap<Uuid, TariffSchedule>);

/// Tariffs and which of them places have; plans of devices there rest on them.
fn apply_prices(
    worlds: &Environments,
    app: &App,
    touched: &ChangedKeys,
    (mut tariffs, mut schedules): Tariffs,
) {
    let mut places: Vec<Uuid> = Vec::new();
    app.prices().write(|book| {
        for name in &touched.tariffs {
            if book.replace_tariff(name, tariffs.remove(name)) {
                places.extend(book.places_with(&name.1));
            }
        }
        for &id in &touched.places {
            let schedule = schedules.remove(&id);
            if book.schedule(id) != schedule.as_ref() {
                book.assign(id, schedule);
                places.push(id);
            }
        }
    });
    let by_client = app.cache().read(|tables| {
        let with_owner = |id| Some((Arc::clone(&tables.plans.resident(id)?.0), id));
        let places = places.into_iter().filter_map(with_owner);
        let mut by_client: BTreeMap<Arc<str>, Vec<Uuid>> = BTreeMap::new();
        places.for_each(|(client_id, id)| by_client.entry(client_id).or_default().push(id));
        let devices = by_client.into_iter().map(|(client_id, places)| {
            let ids = planned_at(tables, &client_id, places);
            (client_id, ids)
        });
        devices.collect::<Vec<_>>()
    });
    for (client_id, ids) in by_client {
        worlds.tell(&client_id, ids.into_iter().map(FollowUp::Replan));
    }
}

fn grouped<K: Hash + Eq, T>(rows: Vec<T>, key: impl Fn(&T) -> K) -> HashMap<K, Vec<T>> {
    let mut groups: HashMap<K, Vec<T>> = HashMap::new();
    for row in rows {
        groups.entry(key(&row)).or_default().push(row);
    }
    groups
}
