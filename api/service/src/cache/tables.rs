//! The tables, and the lock around them.
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, Utc};
use slackwater_control::device::place::whereabouts;
use slackwater_control::device::scope::DeviceKind;
use uuid::Uuid;

use crate::cache::control::Control;
use crate::cache::index::Index;
use crate::cache::plans::PlanTables;
use crate::cache::vendor_index::VendorIndex;
use slackwater_integration::profile::VendorCode;
use slackwater_integration::reading::{Facts, OtherEnd};
use slackwater_store::accounts::{self, Account};
use slackwater_store::actions;
use slackwater_store::database::Store;
use slackwater_store::devices::{self, Device};
use slackwater_store::error::StoreError;
use slackwater_store::locations::{self, Location};
use slackwater_store::users::{self, User};
use slackwater_store::{overrides, schedules};

/// Tables that many read at once and one changes.
#[derive(Debug, Default)]
pub struct Cache {
    tables: RwLock<Tables>,
}

/// All that is known.
#[derive(Debug, Default)]
pub struct Tables {
    clients: HashMap<Arc<str>, OfClient>,
    devices: HashMap<Uuid, Arc<Device>>,
    by_vendor: VendorIndex,
    control: Control,
    /// Policies and plans.
    pub plans: PlanTables,
}

/// Rows of a client.
#[derive(Debug, Default)]
pub struct OfClient {
    users: BTreeMap<Arc<str>, OfUser>,
    users_in_order: Index<Arc<str>>,
    lists: Lists,
}

/// Lists of devices by their kind.
type Lists = BTreeMap<DeviceKind, Index<Uuid>>;

/// Rows of a user.
#[derive(Debug)]
pub struct OfUser {
    /// The identifier that the client chose.
    pub id: Arc<str>,
    /// When the client first named it.
    pub created_at: DateTime<Utc>,
    /// True if the client let go of the user's accounts.
    pub is_deauthorised: bool,
    /// Its accounts with manufacturers.
    pub accounts: BTreeMap<VendorCode, Account>,
    /// Its places.
    pub locations: Vec<Location>,
    lists: Lists,
    by_vendor: BTreeMap<(VendorCode, String), Uuid>,
}

impl Cache {
    /// All that is kept.
    ///
    /// # Errors
    /// The database failed, or holds what no version of this service has written.
    pub async fn load(store: &Store) -> Result<Self, StoreError> {
        let mut tables = Tables { plans: PlanTables::load(store).await?, ..Tables::default() };
        for user in users::all_users(store).await? {
            let entry = tables.keep_user(&user.client_id, &user.id, user.created_at);
            entry.is_deauthorised = user.deauthorised_at.is_some();
        }
        for account in accounts::all_accounts(store).await? {
            tables.keep_account(account);
        }
        for location in locations::all_locations(store).await? {
            tables.keep_location(location);
        }
        devices::all_devices(store).await?.for_each(|device| tables.keep_device(device));
        for action in actions::all_pending_actions(store).await? {
            tables.control.keep_pending(action);
        }
        for override_ in overrides::all_active_overrides(store).await? {
            tables.control.keep_override(override_);
        }
        for schedule in schedules::all_schedules(store).await? {
            tables.control.keep_schedule(schedule);
        }
        Ok(Self { tables: RwLock::new(tables) })
    }

    /// Looks at the tables. Do nothing slow in it: it holds up writers.
    pub fn read<T>(&self, look: impl FnOnce(&Tables) -> T) -> T {
        look(&self.tables.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the tables, after the database.
    pub fn write<T>(&self, change: impl FnOnce(&mut Tables) -> T) -> T {
        change(&mut self.tables.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Tables {
    /// A device of a client.
    #[must_use]
    pub fn device(&self, client_id: &str, id: Uuid) -> Option<&Arc<Device>> {
        self.devices.get(&id).filter(|device| &*device.client_id == client_id)
    }

    /// A device, whosever it is.
    #[must_use]
    pub fn any_device(&self, id: Uuid) -> Option<&Arc<Device>> {
        self.devices.get(&id)
    }

    /// Devices that a manufacturer calls so: one for each user who has linked it.
    #[must_use]
    pub fn devices_called(&self, vendor: &VendorCode, vendor_device: &str) -> Vec<Uuid> {
        let is_called = |id: &Uuid| {
            let device = self.devices.get(id);
            device.is_some_and(|one| one.vendor == *vendor && one.vendor_device == vendor_device)
        };
        self.by_vendor.find(vendor, vendor_device).filter(is_called).collect()
    }

    /// All users, as client and user, in no order.
    pub fn all_users(&self) -> impl Iterator<Item = (&str, &str)> {
        self.clients
            .iter()
            .flat_map(|(client, own)| own.users.keys().map(|user| (&**client, &**user)))
    }

    /// All devices, in no order.
    pub fn devices(&self) -> impl Iterator<Item = &Arc<Device>> {
        self.devices.values()
    }

    /// Pending actions, active overrides and schedules.
    #[must_use]
    pub const fn control(&self) -> &Control {
        &self.control
    }

    /// The same, to change it.
    pub const fn control_mut(&mut self) -> &mut Control {
        &mut self.control
    }

    /// A user of a client.
    #[must_use]
    pub fn user(&self, client_id: &str, user_id: &str) -> Option<&OfUser> {
        self.clients.get(client_id)?.users.get(user_id)
    }

    /// Users of a client whose identifiers begin with `prefix`, in the order of these, from `from`
    /// on.
    pub fn users_from<'a>(
        &'a self,
        client_id: &str,
        prefix: &'a str,
        from: &'a str,
    ) -> impl Iterator<Item = &'a OfUser> {
        let users = self.clients.get(client_id).map(|client| &client.users);
        let first = from.max(prefix);
        let ahead = users.into_iter().flat_map(move |users| {
            users.range::<str, _>((Bound::Included(first), Bound::Unbounded))
        });
        ahead.map(|(_, user)| user).take_while(move |user| user.id.starts_with(prefix))
    }

    /// A place of a client, whichever user's. Looks at all of its users.
    #[must_use]
    pub fn location(&self, client_id: &str, id: Uuid) -> Option<&Location> {
        self.clients.get(client_id)?.users.values().find_map(|user| user.location(id))
    }

    /// The place of its user at which a device is, as far as its owner lets that be
    /// known: a vehicle by its position, which needs the scope for it (AMB-67),
    /// anything else by what somebody said. `None` if it is at none. Whatever rests
    /// on where a device is asks here.
    #[must_use]
    pub fn whereabouts(&self, device: &Device) -> Option<&Location> {
        let user = self.user(&device.client_id, &device.user_id)?;
        if device.kind != DeviceKind::Vehicle {
            return user.location(device.location?.id?);
        }
        let Facts::Vehicle(facts) = &device.state.reading.as_deref()?.facts else { return None };
        let placed = user.locations.iter();
        let placed = placed.filter_map(|place| Some((place, place.facts.position?)));
        let position = facts.sighting.map(|sighting| sighting.position);
        whereabouts(position.as_ref(), &device.scopes, placed)
    }

    /// The users of a client, to cut a page from; `None` if there never was one.
    #[must_use]
    pub fn users(&self, client_id: &str) -> Option<&Index<Arc<str>>> {
        Some(&self.clients.get(client_id)?.users_in_order)
    }

    /// When a user that a client names now was created: after all of its others, also
    /// if the clock went back since.
    #[must_use]
    pub fn created_now(&self, client_id: &str, now: DateTime<Utc>) -> DateTime<Utc> {
        let last = self.users(client_id).and_then(Index::last_created);
        let next = last.filter(|last| *last > now.timestamp_micros());
        next.and_then(|last| DateTime::from_timestamp_micros(last + 1)).unwrap_or(now)
    }

    /// Devices of a kind of a client, or of one of its users, to cut a page from.
    #[must_use]
    pub fn list(
        &self,
        client_id: &str,
        user_id: Option<&str>,
        kind: DeviceKind,
    ) -> Option<&Index<Uuid>> {
        let client = self.clients.get(client_id)?;
        match user_id {
            None => client.lists.get(&kind),
            Some(user_id) => client.users.get(user_id)?.lists.get(&kind),
        }
    }

    /// The device of the same user that a device is plugged into, as far as
    /// either of them says so.
    #[must_use]
    pub fn other_end(&self, device: &Device) -> Option<&Arc<Device>> {
        let user = self.user(&device.client_id, &device.user_id)?;
        let named = plugged_into(device).and_then(|end| user.by_end(end));
        let id = named.or_else(|| {
            let other = match device.kind {
                DeviceKind::Vehicle => DeviceKind::Charger,
                DeviceKind::Charger => DeviceKind::Vehicle,
                _ => return None,
            };
            user.lists.get(&other)?.iter().copied().find(|id| {
                let end = self.devices.get(id).and_then(|other| plugged_into(other));
                end.is_some_and(|end| user.by_end(end) == Some(device.id))
            })
        });
        self.devices.get(&id?)
    }

    /// Keeps a user; one that is there stays.
    pub fn keep_user(
        &mut self,
        client_id: &str,
        user_id: &str,
        created_at: DateTime<Utc>,
    ) -> &mut OfUser {
        let client = self.clients.entry(client_id.into()).or_default();
        let id: Arc<str> = user_id.into();
        let order = &mut client.users_in_order;
        client.users.entry(id).or_insert_with_key(|id| {
            order.insert(created_at.timestamp_micros(), Arc::clone(id));
            OfUser::new(Arc::clone(id), created_at)
        })
    }

    /// Keeps a user with all accounts and places, in place of what was kept of
    /// them. Devices stay.
    pub fn replace_user(&mut self, user: &User, accounts: Vec<Account>, places: Vec<Location>) {
        let (client_id, id) = (user.client_id.as_str(), user.id.as_str());
        let before = self.keep_user(client_id, id, user.created_at).created_at;
        let Some(client) = self.clients.get_mut(client_id) else { return };
        let Some(kept) = client.users.get_mut(id) else { return };
        client.users_in_order.remove(before.timestamp_micros(), &kept.id);
        kept.created_at = user.created_at;
        client.users_in_order.insert(kept.created_at.timestamp_micros(), Arc::clone(&kept.id));
        kept.is_deauthorised = user.deauthorised_at.is_some();
        let by_vendor = accounts.into_iter().map(|account| (account.vendor.clone(), account));
        kept.accounts = by_vendor.collect();
        let is_same = kept.locations.len() == places.len()
            && places.iter().all(|place| kept.locations.contains(place));
        if !is_same {
            let before = std::mem::take(&mut kept.locations);
            self.plans.forget_resident((client_id, id), &before);
            for place in places {
                self.keep_location(place);
            }
        }
    }

    /// Keeps an account of a user who is known.
    pub fn keep_account(&mut self, account: Account) {
        if let Some(user) = self.user_mut(&account.client_id, &account.user_id) {
            user.accounts.insert(account.vendor.clone(), account);
        }
    }

    /// Remembers that the manufacturer does not accept an account, unless it was linked anew.
    pub fn refuse_account(&mut self, refused: &Account) {
        let user = self.user_mut(&refused.client_id, &refused.user_id);
        let account = user.and_then(|user| user.accounts.get_mut(&refused.vendor));
        if let Some(account) = account.filter(|known| known.created_at == refused.created_at) {
            account.is_valid = false;
        }
    }

    /// Keeps a place of a user who is known.
    pub fn keep_location(&mut self, location: Location) {
        self.plans.keep_place(&location);
        if let Some(user) = self.user_mut(&location.client_id, &location.user_id) {
            user.locations.retain(|other| other.id != location.id);
            user.locations.push(location);
        }
    }

    /// Keeps a device of a user who is known.
    pub fn keep_device(&mut self, mut device: Device) {
        let Some(client) = self.clients.get_mut(&device.client_id) else { return };
        let Some(user) = client.users.get_mut(&device.user_id) else { return };
        // One text for all devices of a user.
        device.user_id = Arc::clone(&user.id);
        let linked = device.linked_at.timestamp_micros();
        client.lists.entry(device.kind).or_default().insert(linked, device.id);
        user.lists.entry(device.kind).or_default().insert(linked, device.id);
        user.by_vendor.insert((device.vendor.clone(), device.vendor_device.clone()), device.id);
        self.by_vendor.insert(&device);
        self.devices.insert(device.id, Arc::new(device));
    }

    /// Keeps a device in place of what was kept under its identifier. What is to
    /// be done with it stays.
    pub fn replace_device(&mut self, device: Device) {
        if let Some(before) = self.devices.remove(&device.id) {
            self.unlist(&before);
        }
        self.keep_device(device);
    }

    /// Changes what is known of a device, if it is still there. Not what
    /// identifies it, nor whose it is.
    pub fn change_device(&mut self, id: Uuid, change: impl FnOnce(&mut Device)) {
        if let Some(device) = self.devices.get_mut(&id) {
            change(Arc::make_mut(device));
        }
    }

    /// Forgets a device.
    pub fn remove_device(&mut self, id: Uuid) {
        let Some(device) = self.devices.remove(&id) else { return };
        self.control.remove_target(id);
        self.plans.forget(id);
        self.unlist(&device);
    }

    /// Takes a device out of the lists of its client and user.
    fn unlist(&mut self, device: &Device) {
        self.by_vendor.remove(device);
        let linked = device.linked_at.timestamp_micros();
        let Some(client) = self.clients.get_mut(&device.client_id) else { return };
        if let Some(list) = client.lists.get_mut(&device.kind) {
            list.remove(linked, &device.id);
        }
        let Some(user) = client.users.get_mut(&device.user_id) else { return };
        if let Some(list) = user.lists.get_mut(&device.kind) {
            list.remove(linked, &device.id);
        }
        user.by_vendor.remove(&(device.vendor.clone(), device.vendor_device.clone()));
    }

    /// Forgets a user and all that is theirs.
    pub fn remove_user(&mut self, client_id: &str, user_id: &str) {
        for id in self.user(client_id, user_id).map(OfUser::device_ids).unwrap_or_default() {
            self.remove_device(id);
        }
        let Some(client) = self.clients.get_mut(client_id) else { return };
        if let Some(user) = client.users.remove(user_id) {
            client.users_in_order.remove(user.created_at.timestamp_micros(), &user.id);
            self.plans.forget_resident((client_id, user_id), &user.locations);
        }
    }

    /// Forgets an account of a user and the devices on it.
    pub fn remove_account(&mut self, client_id: &str, user_id: &str, vendor: &VendorCode) {
        let Some(user) = self.user_mut(client_id, user_id) else { return };
        user.accounts.remove(vendor);
        for id in user.devices_of(vendor) {
            self.remove_device(id);
        }
    }

    /// Changes a user who is known.
    pub fn user_mut(&mut self, client_id: &str, user_id: &str) -> Option<&mut OfUser> {
        self.clients.get_mut(client_id)?.users.get_mut(user_id)
    }
}

impl OfUser {
    fn new(id: Arc<str>, created_at: DateTime<Utc>) -> Self {
        Self {
            id,
            created_at,
            is_deauthorised: false,
            accounts: BTreeMap::new(),
            locations: Vec::new(),
            lists: Lists::new(),
            by_vendor: BTreeMap::new(),
        }
    }

    /// The device that a manufacturer calls so.
    #[must_use]
    pub fn by_vendor(&self, vendor: &VendorCode, vendor_device: &str) -> Option<Uuid> {
        self.by_vendor.get(&(vendor.clone(), vendor_device.to_owned())).copied()
    }

    fn by_end(&self, end: &OtherEnd) -> Option<Uuid> {
        self.by_vendor(&end.vendor, &end.device)
    }

    /// The place of that identifier.
    #[must_use]
    pub fn location(&self, id: Uuid) -> Option<&Location> {
        self.locations.iter().find(|location| location.id == id)
    }

    /// The devices on the account with a manufacturer.
    #[must_use]
    pub fn devices_of(&self, vendor: &VendorCode) -> Vec<Uuid> {
        let of_vendor = self.by_vendor.iter().filter(|((code, _), _)| code == vendor);
        of_vendor.map(|(_, id)| *id).collect()
    }

    /// All devices.
    #[must_use]
    pub fn device_ids(&self) -> Vec<Uuid> {
        self.lists.values().flat_map(Index::iter).copied().collect()
    }
}

/// End of a cable that a device names.
fn plugged_into(device: &Device) -> Option<&OtherEnd> {
    match &device.state.reading.as_ref()?.facts {
        Facts::Vehicle(facts) => facts.plugged_into.as_ref(),
        Facts::Charger(facts) => facts.plugged_into.as_ref(),
        _ => None,
    }
}

/// Devices under a policy, of the users of a client who have one of these locations.
pub fn planned_at(
    tables: &Tables,
    client_id: &str,
    places: impl IntoIterator<Item = Uuid>,
) -> BTreeSet<Uuid> {
    let residents = places.into_iter().filter_map(|place| tables.plans.resident(place));
    let own = residents.filter(|(client, _)| **client == *client_id);
    let users = own.filter_map(|(client, user)| tables.user(client, user));
    let ids = users.flat_map(OfUser::device_ids);
    ids.filter(|id| tables.plans.has_policy(*id)).collect()
}
