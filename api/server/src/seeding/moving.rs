//! The people of a scenario as users of clients.
//!
//! A scenario knows names. A client knows identifiers: those of the first
//! client are the scenario's own, so that examples can be written down; another
//! client that is given the same scenario has others.
use std::collections::BTreeMap;

use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::charger::{Change, ChargerPatch};
use slackwater_control::policy::vehicle::VehiclePolicyRequest;
use tracing::warn;
use uuid::Uuid;

use crate::seeding::kept::restore_patches;
use crate::seeding::residents::SandboxSeeder;
use crate::seeding::samples::{Keep, write_recordings};
use slackwater_integration::profile::VendorCode;
use slackwater_integration::reading::Position;
use slackwater_sandbox::devices::Common;
use slackwater_sandbox::document::check::flex_request;
use slackwater_sandbox::generate::text_of;
use slackwater_sandbox::scenario::Scenario;
use slackwater_service::auth::secret::digest;
use slackwater_service::linking::connect::{NewAccount, NewDevice, NewUser, connect};
use slackwater_service::plans::patching::{
    PolicyError, keep_flex, patch_charger, set_comfort, set_vehicle,
};
use slackwater_store::error::StoreError;
use slackwater_store::locations::{Location, LocationFacts};
use slackwater_store::settings;

/// Before the name of a client: which scenario it was given.
const SETTLED: &str = "scenario_of_";

impl SandboxSeeder {
    /// Gives the client of the scenario all that is in it, at a start.
    ///
    /// A scenario is given once. At a later start with the same one all is as
    /// clients left it: what they changed stays, what they deleted is gone.
    ///
    /// # Errors
    /// The database failed. What is missing then is given at the next start.
    pub async fn seed(&self) -> Result<(), StoreError> {
        let scenario = self.sandbox.scenario();
        self.give_once(&scenario).await?;
        // After the scenario itself, which is told from others without its patches.
        restore_patches(self).await?;
        self.name_vendors();
        Ok(())
    }

    async fn give_once(&self, scenario: &Scenario) -> Result<(), StoreError> {
        let name = format!("{SETTLED}{}", self.client_id);
        let version = digest(&text_of(scenario));
        if settings::get_setting(self.app.store(), &name).await?.as_deref() == Some(&*version) {
            return Ok(());
        }
        self.apply_scenario(scenario, &self.client_id, Keep::New).await?;
        // Last of all, so that nothing is left out if the process ends before.
        settings::set_setting(self.app.store(), &name, &version).await
    }

    fn name_vendors(&self) {
        let vendors = self.sandbox.vendors().into_iter();
        self.app.set_vendors(vendors.map(|v| (v.profile().code.clone(), v)).collect());
    }

    /// Gives a client all that a scenario, or a patch of one, says is linked,
    /// and the environment its manufacturers. Returns the devices' identifiers.
    ///
    /// # Errors
    /// The database failed, and what was not reached is not linked.
    pub async fn apply_scenario(
        &self,
        what: &Scenario,
        client_id: &str,
        which: Keep,
    ) -> Result<Vec<Uuid>, StoreError> {
        self.name_vendors();
        let mut users: BTreeMap<String, NewUser> = BTreeMap::new();
        for location in &what.locations {
            let place = self.location_row(location, client_id);
            user_entry(&mut users, &location.user).locations.push(place);
        }
        for device in what.devices().map(|device| device.common()) {
            if let (true, Some(vendor)) = (device.is_linked, device.vendor.clone()) {
                self.add_device(user_entry(&mut users, &device.user), vendor, device, client_id);
            }
        }
        let ids = connect(&self.app, client_id, users.into_values().collect()).await?;
        write_recordings(self, what, client_id, which).await?;
        self.keep_policies(what, client_id, which).await?;
        Ok(ids)
    }

    /// Keeps the policies of a scenario, or of a patch of one.
    ///
    /// A scenario that was accepted makes sense; a policy of a device that is
    /// not linked waits for a scenario in which it is.
    async fn keep_policies(
        &self,
        what: &Scenario,
        client_id: &str,
        which: Keep,
    ) -> Result<(), StoreError> {
        let is_meant = |is_there: bool| which == Keep::All || !is_there;
        let linked = |name: &str| {
            let id = self.id(name, client_id);
            self.app.cache().read(|tables| {
                let is_meant = is_meant(tables.plans.smart(id).is_some());
                tables.device(client_id, id).filter(|_| is_meant).cloned()
            })
        };
        for hvac in &what.hvacs {
            let Some(unit) = linked(&hvac.id).filter(|_| hvac.comfort.is_some()) else { continue };
            let policy = hvac.comfort.as_deref().cloned();
            skip_misfit(&hvac.id, set_comfort(&self.app, unit.id, policy).await)?;
        }
        for policy in &what.charger_policies {
            let Some(charger) = linked(&policy.charger) else { continue };
            let patch = ChargerPatch {
                is_enabled: Change::Set(policy.is_enabled),
                deadline: Change::Set(policy.deadline),
                charging_duration: Change::Set(policy.charging_duration),
            };
            patch_charger(&self.app, charger.id, patch).await?;
        }
        for policy in &what.vehicle_policies {
            let Some(vehicle) = linked(&policy.vehicle) else { continue };
            let request = VehiclePolicyRequest {
                is_enabled: policy.is_enabled,
                deadline: policy.deadline,
                minimum_charge_limit_percent: policy.minimum_charge_limit_percent,
            };
            skip_misfit(&policy.vehicle, set_vehicle(&self.app, &vehicle, request).await)?;
        }
        for policy in &what.flex_policies {
            let (id, vehicle_id) =
                (self.id(&policy.id, client_id), self.id(&policy.vehicle, client_id));
            let vehicle = self.app.cache().read(|tables| {
                let is_meant = is_meant(tables.plans.flex(id).is_some());
                tables.device(client_id, vehicle_id).filter(|_| is_meant).cloned()
            });
            let Some(vehicle) = vehicle else { continue };
            let places = (vehicle.id, self.id(&policy.location, client_id));
            let kept = keep_flex(&self.app, client_id, id, places, flex_request(policy)).await;
            skip_misfit(&policy.id, kept.map(|_| ()))?;
        }
        Ok(())
    }

    fn location_row(
        &self,
        location: &slackwater_sandbox::scenario::Location,
        client_id: &str,
    ) -> Location {
        Location {
            id: self.id(&location.id, client_id),
            client_id: client_id.to_owned(),
            user_id: location.user.clone(),
            facts: LocationFacts {
                time_zone: Some(location.time_zone.0),
                position: Some(Position {
                    latitude: location.latitude,
                    longitude: location.longitude,
                }),
                zone_id: location.zone.clone(),
                area_id: location.area.clone(),
            },
        }
    }

    fn add_device(&self, user: &mut NewUser, vendor: VendorCode, device: Common, client_id: &str) {
        // Where a vehicle is, it says itself.
        let stands = device.kind != DeviceKind::Vehicle;
        let new = NewDevice {
            id: Some(self.id(&device.id, client_id)),
            vendor_device: device.id,
            kind: device.kind,
            scopes: device.scopes.into_iter().collect(),
            location: stands.then(|| self.id(&device.location, client_id)),
        };
        match user.accounts.iter_mut().find(|account| account.vendor == vendor) {
            Some(account) => account.devices.push(new),
            None => user.accounts.push(NewAccount {
                connection: self.sandbox.connection(&user.id, &vendor),
                vendor,
                devices: vec![new],
            }),
        }
    }

    /// The scenario's name of a device, from that or from a client's identifier.
    #[must_use]
    pub fn device_name(&self, given: &str) -> String {
        let id = Uuid::parse_str(given).ok();
        let device =
            self.app.cache().read(|tables| id.and_then(|id| tables.any_device(id).cloned()));
        device.map_or_else(|| given.to_owned(), |device| device.vendor_device.clone())
    }

    /// Identifiers by which clients know a device.
    #[must_use]
    pub fn linked_as(&self, name: &str) -> Vec<Uuid> {
        self.app.cache().read(|tables| {
            let same = tables.devices().filter(|device| device.vendor_device == name);
            same.map(|device| device.id).collect()
        })
    }

    /// All devices on the accounts of a manufacturer.
    #[must_use]
    pub fn of_vendor(&self, code: &str) -> Vec<Uuid> {
        self.app.cache().read(|tables| {
            let same = tables.devices().filter(|device| device.vendor.as_str() == code);
            same.map(|device| device.id).collect()
        })
    }
}

/// A policy that does not fit a vehicle as it is now is left out, with a word in
/// the log; a failure of the database is one.
fn skip_misfit(name: &str, kept: Result<(), PolicyError>) -> Result<(), StoreError> {
    match kept {
        Ok(()) => Ok(()),
        Err(PolicyError::Store(error)) => Err(error),
        Err(reason) => {
            warn!(policy = name, %reason, "a policy of the scenario was left out");
            Ok(())
        }
    }
}

fn user_entry<'a>(users: &'a mut BTreeMap<String, NewUser>, id: &str) -> &'a mut NewUser {
    let new = || NewUser { id: id.to_owned(), accounts: Vec::new(), locations: Vec::new() };
    users.entry(id.to_owned()).or_insert_with(new)
}
