//! Policies and plans, beside the tables of users and devices.
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use slackwater_control::policy::charger::ChargerPolicy;
use slackwater_control::policy::comfort::ComfortPolicy;
use slackwater_control::policy::vehicle::VehiclePolicyRequest;
use uuid::Uuid;

use slackwater_store::database::Store;
use slackwater_store::error::StoreError;
use slackwater_store::locations::Location;
use slackwater_store::plans::{self, KeptPlan};
use slackwater_store::policies::{self, FlexRow, SmartPolicy};

/// A user of a client.
type Resident = (Arc<str>, Arc<str>);

/// Policies and plans of devices.
#[derive(Debug, Default)]
pub struct PlanTables {
    smart: HashMap<Uuid, SmartPolicy>,
    /// Comfort policies of the settings.
    configured: BTreeMap<Uuid, ComfortPolicy>,
    flex: HashMap<Uuid, Arc<FlexRow>>,
    flex_of: HashMap<Uuid, BTreeSet<Uuid>>,
    plans: HashMap<Uuid, Arc<KeptPlan>>,
    /// Owner of each location.
    places: HashMap<Uuid, Resident>,
    /// Users with a location, by zone and area.
    residents: BTreeMap<String, BTreeMap<Option<String>, BTreeSet<Resident>>>,
}

impl PlanTables {
    /// All that is kept. Areas are learnt from the places.
    ///
    /// # Errors
    /// The database failed, or holds what no version of this service has written.
    pub async fn load(store: &Store) -> Result<Self, StoreError> {
        let mut tables = Self::default();
        tables.smart.extend(policies::all_smart_policies(store).await?);
        for row in policies::all_flex_policies(store).await? {
            tables.keep_flex(row);
        }
        for plan in plans::all_plans(store).await? {
            tables.keep_plan(plan);
        }
        Ok(tables)
    }

    /// The smart charging policy of a charger; before anybody set one it is off.
    #[must_use]
    pub fn of_charger(&self, device_id: Uuid) -> ChargerPolicy {
        match self.smart.get(&device_id) {
            Some(SmartPolicy::Charger(policy)) => *policy,
            _ => ChargerPolicy::default(),
        }
    }

    /// The smart charging policy of a vehicle; before anybody set one it is off.
    #[must_use]
    pub fn of_vehicle(&self, device_id: Uuid) -> VehiclePolicyRequest {
        match self.smart.get(&device_id) {
            Some(SmartPolicy::Vehicle(policy)) => *policy,
            _ => VehiclePolicyRequest::default(),
        }
    }

    /// The smart charging policy of a device, if anybody set one.
    #[must_use]
    pub fn smart(&self, device_id: Uuid) -> Option<&SmartPolicy> {
        self.smart.get(&device_id)
    }

    /// The comfort policy of a unit: one that was set while the service ran, else that of the
    /// settings.
    #[must_use]
    pub fn comfort(&self, device_id: Uuid) -> Option<&ComfortPolicy> {
        match self.smart.get(&device_id) {
            Some(SmartPolicy::Comfort(policy)) => Some(policy),
            _ => self.configured.get(&device_id),
        }
    }

    /// Sets the comfort policies of the settings.
    pub fn set_configured(&mut self, policies: BTreeMap<Uuid, ComfortPolicy>) {
        self.configured = policies;
    }

    /// A flex policy.
    #[must_use]
    pub fn flex(&self, id: Uuid) -> Option<&Arc<FlexRow>> {
        self.flex.get(&id)
    }

    /// The flex policies of a vehicle, in the order of their identifiers.
    pub fn flex_of(&self, vehicle_id: Uuid) -> impl Iterator<Item = &Arc<FlexRow>> {
        let ids = self.flex_of.get(&vehicle_id).into_iter().flatten();
        ids.filter_map(|id| self.flex.get(id))
    }

    /// Returns `true` if a policy was ever set for a device.
    #[must_use]
    pub fn has_policy(&self, device_id: Uuid) -> bool {
        self.smart.contains_key(&device_id)
            || self.flex_of.contains_key(&device_id)
            || self.configured.contains_key(&device_id)
    }

    /// All devices that have a policy, in no order.
    pub fn with_policy(&self) -> impl Iterator<Item = Uuid> {
        self.smart.keys().chain(self.flex_of.keys()).chain(self.configured.keys()).copied()
    }

    /// The last plan of a device.
    #[must_use]
    pub fn plan(&self, device_id: Uuid) -> Option<&Arc<KeptPlan>> {
        self.plans.get(&device_id)
    }

    /// Users with a location in an area, or anywhere in a zone, as client and user.
    pub fn residents<'a>(
        &'a self,
        zone_id: &str,
        area_id: Option<&'a str>,
    ) -> impl Iterator<Item = &'a (Arc<str>, Arc<str>)> {
        let areas = self.residents.get(zone_id).into_iter().flatten();
        let wanted = move |area: &Option<String>| {
            area_id.is_none_or(|wanted| area.as_deref() == Some(wanted))
        };
        areas.filter(move |(area, _)| wanted(area)).flat_map(|(_, residents)| residents)
    }

    /// Areas with the number of users who have a location there, in order, with their zones.
    pub fn areas(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        let zones = self.residents.iter();
        let areas = zones.flat_map(|(zone, areas)| areas.iter().map(move |area| (zone, area)));
        areas.filter_map(|(zone, (area, residents))| {
            Some((zone.as_str(), area.as_deref()?, residents.len()))
        })
    }

    /// The first client after `after` that has users in an area. Costs a look at the tree.
    #[must_use]
    pub fn next_client_in(&self, zone_id: &str, area_id: &str, after: &str) -> Option<Arc<str>> {
        let residents = self.residents.get(zone_id)?.get(&Some(area_id.to_owned()))?;
        // No identifier holds a control character: this is behind all users of `after`.
        let behind: Resident = (format!("{after}\u{0}").into(), "".into());
        residents.range(behind..).next().map(|(client, _)| Arc::clone(client))
    }

    /// Owner of a location, as client and user.
    #[must_use]
    pub fn resident(&self, location_id: Uuid) -> Option<&(Arc<str>, Arc<str>)> {
        self.places.get(&location_id)
    }

    /// Keeps the smart charging policy of a device.
    pub fn keep_smart(&mut self, device_id: Uuid, policy: SmartPolicy) {
        self.smart.insert(device_id, policy);
    }

    /// Forgets the standing policy of a device.
    pub fn remove_smart(&mut self, device_id: Uuid) {
        self.smart.remove(&device_id);
    }

    /// Keeps a flex policy.
    pub fn keep_flex(&mut self, row: FlexRow) {
        if let Some(before) = self.flex.get(&row.id).map(|before| before.vehicle_id)
            && let Some(ids) = self.flex_of.get_mut(&before)
        {
            ids.remove(&row.id);
        }
        self.flex_of.entry(row.vehicle_id).or_default().insert(row.id);
        self.flex.insert(row.id, Arc::new(row));
    }

    /// Keeps a plan.
    pub fn keep_plan(&mut self, plan: KeptPlan) {
        self.plans.insert(plan.device_id, Arc::new(plan));
    }

    /// Keeps what is to be done with a device now, in place of all that was. Returns `true` if that
    /// is something else.
    pub fn replace_policies(
        &mut self,
        device_id: Uuid,
        smart: Option<SmartPolicy>,
        flex: Vec<FlexRow>,
    ) -> bool {
        let mut has_changed = self.smart.get(&device_id) != smart.as_ref();
        match smart {
            Some(policy) => self.keep_smart(device_id, policy),
            None => self.remove_smart(device_id),
        }
        let own: Vec<Uuid> = self.flex_of.get(&device_id).into_iter().flatten().copied().collect();
        for id in own.into_iter().filter(|id| flex.iter().all(|kept| kept.id != *id)) {
            self.remove_flex(id);
            has_changed = true;
        }
        for row in flex {
            if self.flex.get(&row.id).is_none_or(|before| **before != row) {
                self.keep_flex(row);
                has_changed = true;
            }
        }
        has_changed
    }

    fn remove_flex(&mut self, id: Uuid) {
        let Some(row) = self.flex.remove(&id) else { return };
        if let Some(ids) = self.flex_of.get_mut(&row.vehicle_id) {
            ids.remove(&id);
            if ids.is_empty() {
                self.flex_of.remove(&row.vehicle_id);
            }
        }
    }

    /// Forgets the plan of a device. Returns `true` if there was one.
    pub fn remove_plan(&mut self, device_id: Uuid) -> bool {
        self.plans.remove(&device_id).is_some()
    }

    /// Remembers where a place lies.
    pub(super) fn keep_place(&mut self, location: &Location) {
        let resident: Resident =
            (location.client_id.as_str().into(), location.user_id.as_str().into());
        self.places.insert(location.id, resident.clone());
        let Some(zone_id) = location.facts.zone_id.clone() else { return };
        let areas = self.residents.entry(zone_id).or_default();
        let residents = areas.entry(location.facts.area_id.clone()).or_default();
        residents.insert(resident);
    }

    /// Forgets a device.
    pub(super) fn forget(&mut self, device_id: Uuid) {
        self.smart.remove(&device_id);
        self.plans.remove(&device_id);
        for id in self.flex_of.remove(&device_id).into_iter().flatten() {
            self.flex.remove(&id);
        }
    }

    /// Forgets a user, who has these places.
    pub(super) fn forget_resident(
        &mut self,
        (client_id, user_id): (&str, &str),
        places: &[Location],
    ) {
        for place in places {
            self.places.remove(&place.id);
        }
        let who: Resident = (client_id.into(), user_id.into());
        for residents in self.residents.values_mut().flat_map(BTreeMap::values_mut) {
            residents.remove(&who);
        }
    }
}
