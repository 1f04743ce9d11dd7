//! Devices by the names that their manufacturers call them by.
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use uuid::Uuid;

use slackwater_integration::profile::VendorCode;
use slackwater_store::devices::Device;

/// Identifiers of devices by a hash of manufacturer and name, of 24 bytes each.
///
/// Several users may have linked one device, and two names may have one hash: whoever looks a name up
/// compares it with those of the devices found.
#[derive(Debug, Default)]
pub struct VendorIndex {
    ids: BTreeSet<(u64, Uuid)>,
    hasher: RandomState,
}

impl VendorIndex {
    /// Adds a device.
    pub(crate) fn insert(&mut self, device: &Device) {
        self.ids.insert((self.hash(&device.vendor, &device.vendor_device), device.id));
    }

    /// Removes a device.
    pub(crate) fn remove(&mut self, device: &Device) {
        self.ids.remove(&(self.hash(&device.vendor, &device.vendor_device), device.id));
    }

    /// Devices that may have a name.
    pub(crate) fn find(&self, vendor: &VendorCode, name: &str) -> impl Iterator<Item = Uuid> {
        let hash = self.hash(vendor, name);
        self.ids.range((hash, Uuid::nil())..=(hash, Uuid::max())).map(|(_, id)| *id)
    }

    fn hash(&self, vendor: &VendorCode, name: &str) -> u64 {
        self.hasher.hash_one((vendor, name))
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use slackwater_control::device::scope::{DeviceKind, Granted};
    use slackwater_store::devices::DeviceState;

    use super::*;

    fn device(id: u128, vendor: &str, name: &str) -> Device {
        Device {
            id: Uuid::from_u128(id),
            client_id: "a".into(),
            user_id: "u".into(),
            kind: DeviceKind::Charger,
            vendor: VendorCode::parse(vendor).unwrap(),
            vendor_device: name.to_owned(),
            scopes: Granted::default(),
            linked_at: DateTime::UNIX_EPOCH,
            location: None,
            state: DeviceState::default(),
        }
    }

    #[test]
    fn a_name_leads_to_all_devices_of_its_manufacturer_until_they_are_removed() {
        let all = [device(1, "FJORD", "x"), device(2, "FJORD", "x"), device(3, "HEATH", "x")];
        let mut index = VendorIndex::default();
        for device in all.iter().chain([&all[0]]) {
            index.insert(device);
        }
        let found = |index: &VendorIndex, name: &str| -> Vec<u128> {
            let vendor = VendorCode::parse("FJORD").unwrap();
            index.find(&vendor, name).map(|id| id.as_u128()).collect()
        };
        assert_eq!((found(&index, "x"), found(&index, "y")), (vec![1, 2], vec![]));
        index.remove(&all[0]);
        assert_eq!(found(&index, "x"), [2]);
        for device in &all {
            index.remove(device);
        }
        assert!(index.ids.is_empty());
    }
}
